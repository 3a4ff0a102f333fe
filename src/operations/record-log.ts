// Applies records of the log: position and effects are committed together, so each record is applied once.
import { SECOND_MS, type Instant } from "../core/instant.ts";
import {
  isPartitionName,
  LOG_ORDER_MS_MAX,
  type LogRecord,
  type PartitionState,
  takeRecord,
  type TakeRules,
} from "../core/log.ts";
import type { AcceptedSignal } from "../core/signal.ts";
import type { Blindness, Receiver } from "../core/watermark.ts";
import type { Database } from "../store/db.ts";
import { insertUncoveredBlindInterval, listOpenIntakes } from "../store/intakes.ts";
import { advanceLogPartition, insertUnknown, type StoredPartition } from "../store/log-partitions.ts";
import { readLogVisibility, storeAttributed } from "./intakes.ts";
import { type ClaimedOptions, recordClaimed } from "./record-signals.ts";

/** Records of one partition that are applied next. */
export type LogPart = {
  at: StoredPartition;
  records: readonly LogRecord[];
  /** The position after them. */
  to: number;
  /** The end of the partition. */
  endOffset: number;
};

export type LogOptions = Omit<ClaimedOptions, "isAcknowledged"> & {
  /** False: deadlines do not fire. */
  isInService: boolean;
  /** A router sends pings again that an edge did not answer. */
  routerRepeats: boolean;
  now: Instant;
};

export type AppliedLog = {
  /** The partitions as stored now. */
  parts: readonly StoredPartition[];
  lost: readonly string[];
  blind: readonly Blindness[];
  /** Confirmed records are missing from the log. */
  isIncomplete: boolean;
  signalCount: number;
};

/**
 * Applies records of several partitions in one transaction. Null: another recorder has applied some of them, so nothing
 * was done.
 */
export async function recordLog(
  database: Database,
  parts: readonly LogPart[],
  { routerRepeats, isInService, now, ...options }: LogOptions,
): Promise<AppliedLog | null> {
  const isEntering = parts.some(({ records }) => records.some(({ kind }) => kind === "enter"));
  const others = isEntering ? await listReceiversWithoutLog(database) : [];
  const taken = parts.map((part) => takePart(part, { routerRepeats, others }));
  const signals = taken.flatMap((one) => one.signals);
  const blind = distinct(taken.flatMap((one) => one.blind));
  const [first] = parts;
  const batch = { intakeId: first?.at.intakeId ?? "", seq: first?.at.nextOffset ?? 0, signals };
  const result = await recordClaimed(
    database,
    {
      ...batch,
      claim: async (tx) => {
        // In one order, so that two recorders wait for each other instead of both failing.
        const inOrder = taken.toSorted((one, other) => one.part.at.partition - other.part.at.partition);
        const claims = inOrder.map(({ part, state }) =>
          advanceLogPartition(tx, {
            partition: part.at.partition,
            topicId: part.at.topicId,
            from: part.at.nextOffset,
            to: part.to,
            state,
            endOffset: part.endOffset,
            at: now,
          }),
        );
        if ((await Promise.all(claims)).includes(false)) throw new TakenError();
        for (const one of blind) await insertUncoveredBlindInterval(tx, { intakeId: batch.intakeId, ...one });
        for (const { part, attributed } of taken) {
          for (const one of attributed) await storeAttributed(tx, part.at.intakeId, one);
        }
        return null;
      },
      look: async (tx) => {
        const { visibility, isMixed } = await readLogVisibility(tx, {
          watermarkAt: Math.min(...parts.map(({ at }) => at.state.watermarkAt)),
          gapEndedAt: Math.max(...taken.map(({ state }) => state.gapEndedAt)),
          now,
        });
        return {
          visibility: {
            watermarkAt: isInService ? visibility.watermarkAt : null,
            blind: [...visibility.blind, ...blind].toSorted((one, other) => one.from - other.from),
          },
          replayed: { orderMs: isMixed ? 0 : LOG_ORDER_MS_MAX },
        };
      },
      after: async (tx, results) => {
        const uuids = unknownOf(signals, results);
        if (uuids.length > 0) await insertUnknown(tx, { uuids, at: now });
      },
    },
    { ...options, isAcknowledged: true },
  ).catch((error: unknown) => {
    if (error instanceof TakenError) return null;
    throw error;
  });
  if (result === null) return null;
  return {
    parts: taken.map(({ part, state }) => ({
      ...part.at,
      nextOffset: part.to,
      state,
      endOffset: part.endOffset,
      readAt: now,
    })),
    lost: [...new Set(taken.flatMap((one) => one.lost))],
    blind,
    isIncomplete: taken.some((one) => one.isIncomplete),
    signalCount: signals.length,
  };
}

async function listReceiversWithoutLog(database: Database): Promise<Receiver[]> {
  return (await listOpenIntakes(database)).filter(({ name }) => !isPartitionName(name));
}

/** Another recorder was faster: the transaction is rolled back. */
class TakenError extends Error {
  override readonly name = "TakenError";
}

type TakenPart = {
  part: LogPart;
  state: PartitionState;
  signals: AcceptedSignal[];
  blind: Blindness[];
  attributed: LogRecord["attributed"][];
  lost: string[];
  isIncomplete: boolean;
};

function takePart(part: LogPart, rules: TakeRules): TakenPart {
  const taken: TakenPart = {
    part,
    state: part.at.state,
    signals: [],
    blind: [],
    attributed: [],
    lost: [],
    isIncomplete: false,
  };
  for (const record of part.records) {
    const { isNew, state, blind, lost, isIncomplete } = takeRecord(taken.state, record, rules);
    if (!isNew) continue;
    taken.state = state;
    taken.signals.push(...record.signals);
    taken.blind.push(...blind);
    taken.lost.push(...lost);
    taken.isIncomplete ||= isIncomplete;
    const { targets, networks } = record.attributed;
    if (targets.length + networks.length > 0) taken.attributed.push(record.attributed);
  }
  return taken;
}

function distinct(blind: readonly Blindness[]): Blindness[] {
  return [...new Map(blind.map((one) => [`${one.from} ${one.to} ${one.reason}`, one])).values()];
}

function unknownOf(signals: readonly AcceptedSignal[], results: readonly string[]): string[] {
  const uuids = new Set<string>();
  for (const [index, { target }] of signals.entries()) {
    if (results[index] === "unknown" && target.by === "uuid") uuids.add(target.uuid);
  }
  return [...uuids];
}

/** Records of a partition that are applied together span at most this time, because they see one watermark. */
const SPAN_MS_MAX = 2 * SECOND_MS;

/** How many of these records are applied together. */
export function countTogether(
  records: readonly Pick<LogRecord, "watermarkAt" | "signals">[],
  { from, signalsMax }: { from: Instant; signalsMax: number },
): number {
  let signals = 0;
  for (const [index, record] of records.entries()) {
    signals += record.signals.length;
    const isTooFar = record.watermarkAt - from > SPAN_MS_MAX;
    if (index > 0 && (signals > signalsMax || isTooFar)) return index;
  }
  return records.length;
}
