// The log between edges, which receive pings, and recorders, which apply them: partitions, the settings that a topic
// needs, and what a record means for the watermark of its partition. Instants are on the database's clock.
import { DAY_MS, HOUR_MS, type Instant, type Interval, MINUTE_MS, SECOND_MS } from "./instant.ts";
import { type AcceptedSignal, targetKey } from "./signal.ts";
import {
  type AttributedRefusals,
  type Blindness,
  HEARTBEAT_GAP_MS_MAX,
  type Receiver,
  receivedThroughout,
  WATERMARK_LAG_MS,
} from "./watermark.ts";

/** Partitions of a new topic. All pings of a check are in one, for the life of the topic. */
export const LOG_PARTITIONS = 16;
/** Replicas of a new topic, and how many of them must have a record before a ping is acknowledged. */
export const LOG_REPLICAS = 3;
const IN_SYNC_MIN = 2;
/** How long recorders may be stopped without losing pings. */
const LOG_RETENTION_MS_MIN = 3 * DAY_MS;
const LOG_RETENTION_MS = 7 * DAY_MS;
/** A record never exceeds this; Kafka adds a header of less than a kilobyte. */
export const LOG_RECORD_BYTES_MAX = 1024 * 1024;
const MESSAGE_BYTES_MIN = LOG_RECORD_BYTES_MAX + 4096;
/** The longest ping body that certainly fits into a record. */
export const LOG_BODY_BYTES_MAX = 1_000_000;
/** An edge is lost when another one is this far ahead of it in a partition. */
export const EDGE_LOST_AFTER_MS = 10 * SECOND_MS;
/**
 * After a longer time without a confirmed record, an edge takes no pings for the partition until an empty record is
 * confirmed, because others may have declared it lost there.
 */
export const EDGE_PAUSE_MS_MAX = 5 * SECOND_MS;
/** The numbers of an edge are remembered this long after it is gone, because a record may be in the log twice. */
const EDGE_KEPT_MS = HOUR_MS;
/** After a longer time without a confirmed record, its numbers may be forgotten, and it enters again. */
export const EDGE_REENTERS_AFTER_MS = EDGE_KEPT_MS / 2;
/** Edges that a partition remembers; beyond that, those gone for the longest time are dropped. */
const EDGES_MAX = 1_000;
/** Signals whose receive times differ by at most this count in the order of the partition. */
export const LOG_ORDER_MS_MAX = 2 * SECOND_MS;
/** Intervals found by several partitions get the same limits, so that they are reported once. */
const BLIND_GRID_MS = 5 * SECOND_MS;
/** Numbers of records that an edge lists as given up; instead of a longer list, it enters again. */
export const GIVEN_UP_MAX = 1_000;

/**
 * The partition of a check. The first digits of a UUID are the slot of its project, which determines the cell, so the
 * last one is used.
 */
export function partitionOf(uuid: string, count: number): number {
  return Number.parseInt(uuid.slice(-2), 16) % count;
}

/** What is known of a topic. */
export type LogTopic = {
  partitions: readonly { replicas: number }[];
  settings: Readonly<Record<string, string>>;
};

/** The settings of a new topic. With one broker, every record is written to disk before it is confirmed. */
export function topicSettings({ brokers }: { brokers: number }): Readonly<Record<string, string>> {
  return {
    "cleanup.policy": "delete",
    "retention.ms": String(LOG_RETENTION_MS),
    "retention.bytes": "-1",
    "max.message.bytes": String(MESSAGE_BYTES_MIN),
    "unclean.leader.election.enable": "false",
    "message.timestamp.type": "LogAppendTime",
    ...(brokers < LOG_REPLICAS
      ? { "min.insync.replicas": "1", "flush.messages": "1" }
      : { "min.insync.replicas": String(IN_SYNC_MIN) }),
  };
}

/** Why pings that were confirmed by this topic could be lost. Empty: they could not. */
export function topicProblems({ partitions, settings }: LogTopic): string[] {
  const number = (name: string) => Number(settings[name] ?? Number.NaN);
  const replicas = Math.min(...partitions.map((one) => one.replicas));
  const problems: string[] = [];
  if (partitions.length === 0) problems.push("it has no partitions");
  const isSingle = replicas === 1;
  if (isSingle && number("flush.messages") !== 1) {
    problems.push("it has one replica, and flush.messages is not 1");
  }
  if (!isSingle && replicas < LOG_REPLICAS)
    problems.push(`it has ${replicas} replicas instead of ${LOG_REPLICAS}`);
  if (!isSingle && !(number("min.insync.replicas") >= IN_SYNC_MIN)) {
    problems.push(`min.insync.replicas is less than ${IN_SYNC_MIN}`);
  }
  if (settings["unclean.leader.election.enable"] !== "false") {
    problems.push("unclean.leader.election.enable is not false");
  }
  if (settings["cleanup.policy"] !== "delete") problems.push("cleanup.policy is not delete");
  const retentionMs = number("retention.ms");
  if (retentionMs !== -1 && !(retentionMs >= LOG_RETENTION_MS_MIN)) {
    problems.push("retention.ms is less than 72 hours");
  }
  if (number("retention.bytes") !== -1) problems.push("retention.bytes is not -1");
  // Retention would count from the clock of the sender.
  if (settings["message.timestamp.type"] !== "LogAppendTime") {
    problems.push("message.timestamp.type is not LogAppendTime");
  }
  if (!(number("max.message.bytes") >= MESSAGE_BYTES_MIN)) {
    problems.push(`max.message.bytes is less than ${MESSAGE_BYTES_MIN}`);
  }
  return problems;
}

/** The id of the intake that represents a partition: while it is open, no deadline after its watermark fires. */
export function partitionIntakeId(topicId: string, partition: number): string {
  return topicId.slice(0, -2) + partition.toString(16).padStart(2, "0");
}

/** The name of that intake. */
export function partitionName(partition: number): string {
  return `log partition ${partition}`;
}

/** Whether the intake of this name is a partition, not a process. */
export function isPartitionName(name: string): boolean {
  return name.startsWith("log partition ");
}

/** What one edge took for one partition in one turn. Without signals, it is a heartbeat. */
export type LogRecord = {
  /** Random for each start of an edge. */
  edge: string;
  /** "enter": the edge listens from now on, and earlier numbers that are missing were given up. "leave": its last record. */
  kind: "enter" | "more" | "leave";
  /** Of this edge in this partition, from 1. */
  n: number;
  /** When it was made. */
  at: Instant;
  /** All signals that the edge accepted before this instant for this partition are in the log up to this record. */
  watermarkAt: Instant;
  /** Earlier numbers that were not confirmed: their senders were asked to retry. */
  givenUp: readonly number[];
  /** Times in which the edge rejected pings, or did not run. */
  refused: readonly Interval[];
  attributed: AttributedRefusals;
  signals: readonly AcceptedSignal[];
};

export const NO_REFUSALS: AttributedRefusals = { targets: [], networks: [] };

/** Intervals in a record; more of them are merged with the time between them. */
const REFUSED_MAX = 100;
/** Checks and networks in a record: 0.7 MiB at most. More of them count as a time in which all pings were rejected. */
const REFUSED_TARGETS_MAX = 2_000;
const REFUSED_NETWORKS_MAX = 2_000;

/** Rejected pings that an edge has yet to report in a partition. */
export type LogReports = Pick<LogRecord, "refused" | "attributed">;

export const NO_REPORTS: LogReports = { refused: [], attributed: NO_REFUSALS };

/** Both reports as one that fits into a record, whatever their sizes. */
export function mergeReports(one: LogReports, other: LogReports): LogReports {
  if (isEmptyReport(other)) return one;
  if (isEmptyReport(one) && fits(other)) return other;
  const targets = joined([...one.attributed.targets, ...other.attributed.targets], ({ target }) =>
    targetKey(target),
  );
  const networks = joined(
    [...one.attributed.networks, ...other.attributed.networks],
    ({ network }) => network,
  );
  const refused = [...one.refused, ...other.refused];
  const areTargetsKept = targets.length <= REFUSED_TARGETS_MAX;
  const areNetworksKept = networks.length <= REFUSED_NETWORKS_MAX;
  if (!areTargetsKept) refused.push(hull(targets));
  if (!areNetworksKept) refused.push(hull(networks));
  return {
    refused: refused.length <= REFUSED_MAX ? refused : [hull(refused)],
    attributed: { targets: areTargetsKept ? targets : [], networks: areNetworksKept ? networks : [] },
  };
}

function isEmptyReport({ refused, attributed }: LogReports): boolean {
  return refused.length + attributed.targets.length + attributed.networks.length === 0;
}

function fits({ refused, attributed: { targets, networks } }: LogReports): boolean {
  return (
    refused.length <= REFUSED_MAX &&
    targets.length <= REFUSED_TARGETS_MAX &&
    networks.length <= REFUSED_NETWORKS_MAX
  );
}

/** One interval for each key, with the time between those that had the same. */
function joined<T extends { from: Instant; to: Instant }>(all: readonly T[], keyOf: (one: T) => string): T[] {
  const byKey = new Map<string, T>();
  for (const one of all) {
    const key = keyOf(one);
    const known = byKey.get(key);
    byKey.set(
      key,
      known === undefined
        ? one
        : { ...one, from: Math.min(known.from, one.from), to: Math.max(known.to, one.to) },
    );
  }
  return [...byKey.values()];
}

function hull(intervals: readonly Interval[]): Interval {
  let from = Infinity;
  let to: Instant | null = -Infinity;
  for (const one of intervals) {
    from = Math.min(from, one.from);
    to = one.to === null || to === null ? null : Math.max(to, one.to);
  }
  return { from, to };
}

/** An edge, as of the newest record of it that was applied. */
export type EdgeState = {
  n: number;
  enteredAt: Instant;
  at: Instant;
  watermarkAt: Instant;
  /** Null: it is open. */
  closedAt: Instant | null;
  /** The end of its last pause in this partition. Absent: it had none. */
  pausedUntilAt?: Instant;
};

/** What is stored of a partition together with its position. */
export type PartitionState = {
  edges: Readonly<Record<string, EdgeState>>;
  /** Never goes backwards. */
  watermarkAt: Instant;
  /** When an edge last ended a time without any. */
  gapEndedAt: Instant;
};

export type TakenRecord = {
  /** False: it was applied before. */
  isNew: boolean;
  state: PartitionState;
  blind: readonly Blindness[];
  /** Edges that were declared lost. */
  lost: readonly string[];
  /** Confirmed records are missing from the log. */
  isIncomplete: boolean;
};

const REASON = {
  absent: "no process received pings",
  refused: "pings were rejected",
  lost: "a receiving process was lost",
  missing: "the log lost confirmed pings",
} as const;

/** The reason of blind intervals in which the log has lost pings that it had confirmed. */
export const LOST_BY_LOG = REASON.missing;

/** `routerRepeats`: a router sends pings again that an edge did not answer, so the loss of one of several edges is no gap. */
export type TakeRules = {
  routerRepeats: boolean;
  /** Processes that receive without the log. */
  others: readonly Receiver[];
};

/** Applies what a record says about its edge. */
export function takeRecord(
  before: PartitionState,
  record: LogRecord,
  { routerRepeats, others: withoutLog }: TakeRules,
): TakenRecord {
  const known = before.edges[record.edge];
  if (known !== undefined && record.n <= known.n) {
    return { isNew: false, state: before, blind: [], lost: [], isIncomplete: false };
  }
  const others = Object.entries(before.edges).filter(([id]) => id !== record.edge);
  const open = others.filter(([, edge]) => edge.closedAt === null);
  const isEntering = record.kind === "enter";
  const isIncomplete = !isEntering && isMissing(known?.n ?? 0, record);
  const blind: Blindness[] = record.refused.map(({ from, to }) =>
    blindness(REASON.refused, from, to ?? record.at),
  );
  if (isIncomplete) {
    blind.push(blindness(REASON.missing, known?.watermarkAt ?? before.watermarkAt, record.at));
  }
  // The watermark of an edge that has closed its port, but has not left yet, stays behind.
  const isAttended = open.some(
    ([, edge]) =>
      edge.enteredAt <= before.watermarkAt &&
      edge.at - edge.watermarkAt <= HEARTBEAT_GAP_MS_MAX + WATERMARK_LAG_MS,
  );
  const isAbsence =
    isEntering &&
    !isAttended &&
    record.at - before.watermarkAt > HEARTBEAT_GAP_MS_MAX + WATERMARK_LAG_MS &&
    !receivedThroughout(withoutLog, { from: before.watermarkAt, to: record.at });
  if (isAbsence) blind.push(blindness(REASON.absent, before.watermarkAt, record.at));
  const own: EdgeState = {
    n: record.n,
    enteredAt: isEntering || known === undefined ? record.at : known.enteredAt,
    at: record.at,
    watermarkAt: record.watermarkAt,
    closedAt: record.kind === "leave" ? record.at : null,
    ...pauseAfter(known, record),
  };
  // If this edge could not append either, the others get the same time to return.
  const watchingSinceAt = own.pausedUntilAt ?? -Infinity;
  const isSilent = (edge: EdgeState) => record.at - Math.max(edge.at, watchingSinceAt) > EDGE_LOST_AFTER_MS;
  const lost = open.filter(([, edge]) => isSilent(edge));
  const live = [own, ...open.map(([, edge]) => edge).filter((edge) => !isSilent(edge))];
  for (const [, edge] of lost) {
    const isRepeated = routerRepeats && live.some(({ enteredAt }) => enteredAt <= edge.watermarkAt);
    if (!isRepeated) blind.push(blindness(REASON.lost, edge.watermarkAt, record.at));
  }
  const lostIds = new Set(lost.map(([id]) => id));
  const kept = others
    .map(([id, edge]) => [id, lostIds.has(id) ? { ...edge, closedAt: record.at } : edge] as const)
    .filter(([, { closedAt }]) => closedAt === null || record.at - closedAt < EDGE_KEPT_MS)
    .toSorted(([, one], [, other]) => other.at - one.at)
    .slice(0, EDGES_MAX - 1);
  const edges = Object.fromEntries([...kept, [record.edge, own] as const]);
  const state = {
    edges,
    watermarkAt: watermarkAfter(before, edges, own),
    gapEndedAt: isAbsence || (lost.length > 0 && live.length === 1) ? record.at : before.gapEndedAt,
  };
  return { isNew: true, state, blind, lost: [...lostIds], isIncomplete };
}

function pauseAfter(
  known: EdgeState | undefined,
  { at }: LogRecord,
): Pick<EdgeState, "pausedUntilAt"> | undefined {
  if (known === undefined) return undefined;
  if (at - known.at > EDGE_PAUSE_MS_MAX) return { pausedUntilAt: at };
  return known.pausedUntilAt === undefined ? undefined : { pausedUntilAt: known.pausedUntilAt };
}

/** Without an open edge, nothing after the last one is known. */
function watermarkAfter(
  before: PartitionState,
  edges: Readonly<Record<string, EdgeState>>,
  own: EdgeState,
): Instant {
  const open = Object.values(edges).filter(({ closedAt }) => closedAt === null);
  const earliest = open.length === 0 ? own.watermarkAt : Math.min(...open.map((edge) => edge.watermarkAt));
  return Math.max(before.watermarkAt, earliest);
}

/**
 * Until when edges are known to have received pings. `hasMore`: records are left to apply, so that edges may be alive
 * although nothing new of them was applied.
 */
export function receivedUntil(
  { edges, watermarkAt }: PartitionState,
  { now, hasMore }: { now: Instant; hasMore: boolean },
): Instant {
  const all = Object.values(edges);
  const isAlive = all.some(({ at, closedAt }) => closedAt === null && now - at <= EDGE_LOST_AFTER_MS);
  return isAlive || hasMore ? now : Math.max(watermarkAt, ...all.map(({ at }) => at));
}

/**
 * After the last edge has ended and everything was applied: times in which no process received, until the last one without
 * the log started. First heartbeats cannot report such a time if recorders were behind, because the heartbeats of recorders
 * then count as those of an edge.
 */
export function absencesAfter({ watermarkAt }: PartitionState, withoutLog: readonly Receiver[]): Blindness[] {
  const found: Blindness[] = [];
  let receivedUntilAt = watermarkAt;
  for (const { startedAt, heartbeatAt } of withoutLog.toSorted(
    (one, other) => one.startedAt - other.startedAt,
  )) {
    if (startedAt - receivedUntilAt > HEARTBEAT_GAP_MS_MAX + WATERMARK_LAG_MS)
      found.push(blindness(REASON.absent, receivedUntilAt, startedAt));
    receivedUntilAt = Math.max(receivedUntilAt, heartbeatAt);
  }
  return found;
}

/** Kafka's clock, and that of the database, may differ by this. */
const CLOCKS_DIFFER_MS_MAX = 10 * MINUTE_MS;

/** From which time on the records of a partition may not be applied. */
export function lossReadFrom({ watermarkAt }: PartitionState): Instant {
  return watermarkAt - CLOCKS_DIFFER_MS_MAX;
}

/**
 * Where a partition continues after a loss. `start` is the first record that its topic has, `since` the first one since
 * `lossReadFrom`. Records that were applied are skipped, so the earlier position is taken.
 */
export function resumeAt(
  { topicId, nextOffset }: { topicId: string; nextOffset: number },
  found: { topicId: string; start: number; since: number },
): number {
  if (topicId !== found.topicId) return found.since;
  return Math.min(Math.max(nextOffset, found.start), found.since);
}

/** Where recorders are in a partition. */
export type PartitionProgress = {
  state: PartitionState;
  nextOffset: number;
  /** The end of the partition when it was last read. */
  endOffset: number;
  /** Why no record is applied; null: they are. */
  stopped: string | null;
};

/** Since when pings are not applied. Without an edge, a partition whose records are all applied stays where it is. */
export function unappliedSince(partitions: readonly PartitionProgress[]): Instant | null {
  const waiting = partitions.filter(
    ({ state, nextOffset, endOffset }) =>
      endOffset > nextOffset || Object.values(state.edges).some(({ closedAt }) => closedAt === null),
  );
  return waiting.length === 0 ? null : Math.min(...waiting.map(({ state }) => state.watermarkAt));
}

export type OpenEdge = { id: string; enteredAt: Instant; at: Instant };

/** The edges that are open in some partition, as far as their records are applied, in the order of their start. */
export function openEdges(partitions: readonly PartitionProgress[]): OpenEdge[] {
  const edges = new Map<string, OpenEdge>();
  for (const { state } of partitions) {
    for (const [id, { enteredAt, at, closedAt }] of Object.entries(state.edges)) {
      if (closedAt !== null) continue;
      const other = edges.get(id);
      edges.set(id, {
        id,
        enteredAt: Math.min(enteredAt, other?.enteredAt ?? enteredAt),
        at: Math.max(at, other?.at ?? at),
      });
    }
  }
  return [...edges.values()].toSorted((one, other) => one.enteredAt - other.enteredAt);
}

/** Whether a number between two records of an edge was neither applied nor given up. */
function isMissing(lastN: number, { n, givenUp }: LogRecord): boolean {
  const between = n - lastN - 1;
  if (between === 0) return false;
  const listed = new Set(givenUp.filter((one) => one > lastN && one < n));
  return listed.size < between;
}

function blindness(reason: string, from: Instant, to: Instant): Blindness {
  const start = Math.floor(from / BLIND_GRID_MS) * BLIND_GRID_MS;
  return { reason, from: start, to: Math.max(start, Math.ceil(to / BLIND_GRID_MS) * BLIND_GRID_MS) };
}

/**
 * Whether a signal of the log is compared with what was applied since it was received, like one from a spool. Others
 * count in the order of the partition, because the clocks of edges differ a little. `orderMs` is 0 while pings are also
 * recorded without the log, because then the order of the partition is not the order of the check.
 */
export function isReplayedFromLog(
  at: Instant,
  { newestAt, commandAt }: { newestAt: Instant | null; commandAt: Instant | null },
  orderMs: number,
): boolean {
  return at < (newestAt ?? -Infinity) - orderMs || at < (commandAt ?? -Infinity);
}

/** From this share of the retention on, admins are told that recorders are behind. */
export const LOG_RETENTION_REPORTED = 0.5;
/** The same for the shortest retention: health problems are found without Kafka. */
export const LOG_BEHIND_REPORTED_MS = LOG_RETENTION_MS_MIN * LOG_RETENTION_REPORTED;
/** From this share of the retention on, edges reject pings: the log would delete them before they are applied. */
export const LOG_RETENTION_REFUSED = 0.9;

/** How long a topic keeps records; null: forever. */
export function retentionMsOf(settings: LogTopic["settings"]): number | null {
  const ms = Number(settings["retention.ms"] ?? -1);
  return ms > 0 ? ms : null;
}

/** Whether recorders have not applied everything before these positions. */
export function isBehind(
  positions: readonly { partition: number; nextOffset: number }[],
  before: ReadonlyMap<number, number>,
): boolean {
  return positions.some(({ partition, nextOffset }) => nextOffset < (before.get(partition) ?? 0));
}
