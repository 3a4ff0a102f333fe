// The log as a whole: edges open it, recorders divide its partitions and send heartbeats for them, admins continue after
// a loss and leave it.
import { AppError } from "../core/errors.ts";
import { DAY_MS, type Instant, MINUTE_MS, SECOND_MS } from "../core/instant.ts";
import {
  absencesAfter,
  EDGE_LOST_AFTER_MS,
  LOST_BY_LOG,
  lossReadFrom,
  partitionIntakeId,
  partitionName,
  receivedUntil,
  resumeAt,
} from "../core/log.ts";
import { type ClockReading, HEARTBEAT_GAP_MS_MAX, WATERMARK_LAG_MS } from "../core/watermark.ts";
import type { Database } from "../store/db.ts";
import { findStoredIdentity } from "../store/instance.ts";
import {
  closeIntake,
  findHeartbeats,
  insertUncoveredBlindInterval,
  listOpenIntakes,
  listReceiversSince,
  registerIntake,
} from "../store/intakes.ts";
import {
  beatLogPartitions,
  claimPartitions,
  deleteLogPartitions,
  deleteRecorders,
  insertLogPartition,
  listLogPartitions,
  listLogPositions,
  listRecorders,
  lockClaims,
  lockLogPartitions,
  pruneUnknown,
  restartLogPartition,
  seeRecorder,
  shareLogPartitions,
  stopLogPartition,
  type StoredPartition,
} from "../store/log-partitions.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";
import { lookAtClock, releaseIntake } from "./intakes.ts";
import { inRetriedTransaction } from "./retry.ts";

/** A recorder that was not seen for this long is gone, and its partitions are free. */
export const RECORDER_LOST_AFTER_MS = 5 * SECOND_MS;
/** Edges read unknown UUIDs each second. */
const UNKNOWN_KEPT_MS = MINUTE_MS;
/** A partition is never declared lost: without a recorder, its watermark stays, and alerts wait. */
const LEASE_MS = 36_500 * DAY_MS;

/** Opens the log before an edge listens: from then on, no deadline fires before its pings are applied. */
export function openLog(
  database: Database,
  { topicId, ends }: { topicId: string; ends: readonly number[] },
): Promise<void> {
  return inRetriedTransaction(database, async (tx) => {
    await lockLogPartitions(tx);
    const { databaseAt: now } = await lookAtClock(tx);
    const stored = await listLogPartitions(tx);
    for (const { topicId: before } of stored) {
      if (before === topicId) continue;
      throw new AppError(
        "conflict",
        "OVERDUE_LOG names a different topic than before: the topic was deleted and re-created, or the setting was changed. Run `overdue log status`.",
      );
    }
    if (stored.length > 0 && stored.length !== ends.length) {
      throw new AppError(
        "conflict",
        `The topic of OVERDUE_LOG has ${ends.length} partitions instead of ${stored.length}. The number must not be changed.`,
      );
    }
    if (stored.length > 0) return;
    // The first record of an edge reports the time since the last heartbeat, as the first heartbeat of an intake does.
    const { newestHeartbeatAt, gapEndedAt } = await findHeartbeats(tx, { through: now });
    const watermarkAt = Math.min(newestHeartbeatAt ?? now, now) - WATERMARK_LAG_MS;
    // What the topic has from an earlier use was applied then, or given up.
    for (const [partition, nextOffset] of ends.entries()) {
      const intakeId = partitionIntakeId(topicId, partition);
      const at = { nextOffset, watermarkAt, gapEndedAt: gapEndedAt ?? now };
      await insertLogPartition(tx, { partition, topicId, intakeId, ...at });
    }
    await beat(tx, { own: await listLogPartitions(tx), behind: [], now });
  });
}

async function openIntake(
  tx: Tx,
  given: { intakeId: string; partition: number; watermarkAt: Instant; now: Instant },
): Promise<void> {
  const { intakeId, partition, watermarkAt, now } = given;
  await registerIntake(tx, {
    id: intakeId,
    name: partitionName(partition),
    startedAt: now,
    watermarkAt,
    leaseUntilAt: now + LEASE_MS,
    spoolEmpty: true,
  });
}

export type RecorderName = { recorderId: string; name: string };

/** Since when a recorder has sent heartbeats without a gap, and its last one. */
export type RecorderWatch = { sinceAt: Instant; lookedAt: Instant };

export type TendedRecorder = {
  partitions: readonly number[];
  look: ClockReading;
  watch: RecorderWatch;
  /** Names of intakes without the log that were declared lost. */
  lost: readonly string[];
};

/**
 * A heartbeat of a recorder: divides the partitions, passes their watermarks on, and declares intakes lost that record
 * without the log, because there may be no other one that does. `behind` are partitions with records left to apply.
 */
export function tendRecorder(
  database: Database,
  {
    recorderId,
    name,
    behind,
    watch,
  }: RecorderName & { behind: readonly number[]; watch: RecorderWatch | null },
): Promise<TendedRecorder> {
  return inTransaction(database, async (tx) => {
    const look = await lookAtClock(tx);
    const now = look.databaseAt;
    const seenBefore = now - RECORDER_LOST_AFTER_MS;
    await seeRecorder(tx, { recorderId, name, at: now });
    await deleteRecorders(tx, { seenBefore });
    const recorders = await listRecorders(tx);
    const stored = await listLogPartitions(tx);
    const countMax = Math.ceil(stored.length / Math.max(1, recorders.length));
    const until = now + RECORDER_LOST_AFTER_MS;
    const partitions = await claimPartitions(tx, { recorderId, countMax, until, now });
    const own = stored.filter(({ partition }) => partitions.includes(partition));
    await beat(tx, { own, behind, now });
    const ofPartitions = new Set(stored.map(({ intakeId }) => intakeId));
    const open = (await listOpenIntakes(tx)).filter(({ id }) => !ofPartitions.has(id));
    const isGap = watch === null || now < watch.lookedAt || now - watch.lookedAt > HEARTBEAT_GAP_MS_MAX;
    const sinceAt = isGap ? now : watch.sinceAt;
    const { lost } = await releaseIntake(tx, {
      request: { gone: [], broken: [], signs: new Map(), lookedAt: now, watchingSinceAt: sinceAt },
      now,
      open,
    });
    await pruneUnknown(tx, { before: now - UNKNOWN_KEPT_MS });
    return { partitions, look, watch: { sinceAt, lookedAt: now }, lost: lost.map((one) => one.name) };
  });
}

type Beaten = { own: readonly StoredPartition[]; behind: readonly number[]; now: Instant };

async function beat(tx: Tx, { own, behind, now }: Beaten): Promise<void> {
  if (own.length === 0) return;
  const identity = await findStoredIdentity(tx);
  const isOutOfService = identity !== null && identity.state !== "normal";
  const given = {
    partitions: own.map(({ partition, state }) => ({
      partition,
      receivedUntil: receivedUntil(state, { now, hasMore: behind.includes(partition) }),
    })),
    gapEndedAt: isOutOfService ? now : null,
  };
  if ((await beatLogPartitions(tx, given)) === own.length) return;
  // They are new, or their intakes were closed and deleted, such as after a restore.
  for (const { partition, intakeId, state } of own) {
    await openIntake(tx, { intakeId, partition, watermarkAt: state.watermarkAt, now });
  }
  await beatLogPartitions(tx, given);
}

/** A recorder ends; others take its partitions at once. */
export function leaveRecorder(database: Database, { recorderId }: { recorderId: string }): Promise<void> {
  return inTransaction(database, async (tx) => {
    const { databaseAt: now } = await lookAtClock(tx);
    await claimPartitions(tx, { recorderId, countMax: 0, until: now, now });
    await deleteRecorders(tx, { recorderId, seenBefore: now - RECORDER_LOST_AFTER_MS });
  });
}

/** Stops a partition whose next record is no longer in the log. False: another recorder has moved or stopped it. */
export function stopPartition(
  database: Database,
  given: { partition: number; nextOffset: number; reason: string },
): Promise<boolean> {
  return inTransaction(database, (tx) => stopLogPartition(tx, given));
}

/** A topic in Kafka, as far as continuing after a loss needs it. */
export type LossTopic = {
  topicId: string;
  /** The first record of each partition. */
  starts: readonly number[];
  /** The first record of a partition since an instant. */
  firstSince: (partition: number, at: Instant) => Promise<number>;
};

/**
 * Continues with stopped partitions, also in another topic. The time since their watermarks is a monitoring gap. Returns
 * how many were stopped.
 */
export async function acceptLoss(database: Database, topic: LossTopic): Promise<number> {
  const { topicId } = topic;
  const nextOffsets = await findResumePositions(database, topic);
  return inRetriedTransaction(database, async (tx) => {
    await lockLogPartitions(tx);
    // A heartbeat that has begun would open the old intakes again.
    await lockClaims(tx);
    const { databaseAt: now } = await lookAtClock(tx);
    const stored = await listLogPartitions(tx);
    const running = stored.find((one) => one.stopped === null && one.topicId !== topicId);
    if (running !== undefined) {
      throw new AppError(
        "conflict",
        `OVERDUE_LOG does not name the topic in use, and partition ${running.partition} is not stopped. Correct OVERDUE_LOG. If the topic was replaced, try again when recorders have stopped all partitions.`,
      );
    }
    const restarted: number[] = [];
    for (const { partition, intakeId: before, state, stopped } of stored) {
      const nextOffset = nextOffsets.get(partition);
      // One that has stopped in the meantime is left for the next time.
      if (stopped === null || nextOffset === undefined) continue;
      const intakeId = partitionIntakeId(topicId, partition);
      const gap = { from: Math.min(state.watermarkAt, now), to: now, reason: LOST_BY_LOG };
      await insertUncoveredBlindInterval(tx, { intakeId: before, ...gap });
      const at = { nextOffset, watermarkAt: now - WATERMARK_LAG_MS, gapEndedAt: now };
      await restartLogPartition(tx, { partition, topicId, intakeId, ...at });
      if (before !== intakeId) await closeIntake(tx, { intakeId: before, at: now, lost: false });
      restarted.push(partition);
    }
    const own = (await listLogPartitions(tx)).filter(({ partition }) => restarted.includes(partition));
    await beat(tx, { own, behind: [], now });
    return restarted.length;
  });
}

/** Outside of a transaction, because Kafka may take its time. Stopped partitions do not move. */
async function findResumePositions(
  database: Database,
  { topicId, starts, firstSince }: LossTopic,
): Promise<ReadonlyMap<number, number>> {
  const found = new Map<number, number>();
  for (const one of await listLogPartitions(database)) {
    if (one.stopped === null) continue;
    const start = starts[one.partition];
    if (start === undefined) {
      throw new AppError("conflict", "The topic has fewer partitions than before. Create one with as many.");
    }
    const since = await firstSince(one.partition, lossReadFrom(one.state));
    found.set(one.partition, resumeAt(one, { topicId, start, since }));
  }
  return found;
}

/** Whether the log of this topic was left. Waits for a process that leaves it at the moment. */
export function isLogLeft(database: Database, { topicId }: { topicId: string }): Promise<boolean> {
  return inTransaction(database, async (tx) => {
    await shareLogPartitions(tx);
    return (await listLogPartitions(tx)).every((one) => one.topicId !== topicId);
  });
}

/** A topic in Kafka, and the positions of the next records of its partitions. */
export type TopicEnds = { topicId: string; ends: readonly number[] };

/**
 * Leaves the log: alerts no longer wait for it. AppError `conflict` while an edge is open, records are left, or the topic
 * is another one. `readTopic` is called after no edge can start any more; null: Kafka is gone.
 */
export async function leaveLog(
  database: Database,
  { readTopic }: { readTopic: (() => Promise<TopicEnds>) | null },
): Promise<void> {
  // If Kafka is slow, it fails here, and not in a transaction that PostgreSQL ends.
  await readTopic?.();
  await inRetriedTransaction(database, async (tx) => {
    await lockLogPartitions(tx);
    const { databaseAt: now } = await lookAtClock(tx);
    // Before the topic is read: recorders go on.
    const positions = new Map(
      (await listLogPositions(tx)).map(({ partition, nextOffset }) => [partition, nextOffset]),
    );
    const topic = (await readTopic?.()) ?? null;
    // Before intakes, as heartbeats of recorders do.
    await lockClaims(tx);
    const stored = await listLogPartitions(tx);
    // The next process measures its gap from there, also if a heartbeat took recorders that were behind for edges.
    await beat(tx, { own: stored, behind: [], now });
    const others = await listReceiversSince(tx, {
      at: Math.min(now, ...stored.map(({ state }) => state.watermarkAt)),
      except: stored.map(({ intakeId }) => intakeId),
    });
    for (const { partition, topicId, intakeId, nextOffset, state, stopped } of stored) {
      if (topic !== null && topicId !== topic.topicId) {
        throw new AppError(
          "conflict",
          "OVERDUE_LOG does not name the topic in use, which may still have unapplied records. Run `overdue log status`.",
        );
      }
      const end = topic?.ends[partition] ?? 0;
      const left = end - nextOffset;
      if (left > 0) {
        throw new AppError(
          "conflict",
          `Partition ${partition} has ${left} records left. Keep recorders running until none is left.`,
        );
      }
      const open = Object.values(state.edges).filter(({ closedAt }) => closedAt === null);
      if (open.some(({ at }) => now - at <= EDGE_LOST_AFTER_MS)) {
        throw new AppError(
          "conflict",
          "Processes still append pings to the log. Restart them without OVERDUE_LOG first.",
        );
      }
      const gap = { from: Math.min(state.watermarkAt, now), to: now, reason: LOST_BY_LOG };
      // A process that is open ended without a goodbye. A partition that is stopped, or has fewer records, lacks some.
      const isShorter = topic === null || end < (positions.get(partition) ?? 0);
      const isGap = open.length > 0 || stopped !== null || isShorter;
      for (const one of isGap ? [gap] : absencesAfter(state, others)) {
        await insertUncoveredBlindInterval(tx, { intakeId, ...one });
      }
      await closeIntake(tx, { intakeId, at: now, lost: false });
    }
    await deleteLogPartitions(tx);
  });
}
