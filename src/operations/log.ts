// The log as a whole: edges open it, recorders divide its partitions and send heartbeats for them, admins continue after
// a loss and leave it.
import { AppError } from "../core/errors.ts";
import { DAY_MS, type Instant, MINUTE_MS, SECOND_MS } from "../core/instant.ts";
import { EDGE_LOST_AFTER_MS, LOST_BY_LOG, partitionIntakeId, partitionName } from "../core/log.ts";
import { type ClockReading, endsGap, SETTLE_MS, WATERMARK_LAG_MS } from "../core/watermark.ts";
import type { Database } from "../store/db.ts";
import { findStoredIdentity } from "../store/instance.ts";
import {
  closeIntake,
  findHeartbeats,
  insertUncoveredBlindInterval,
  registerIntake,
} from "../store/intakes.ts";
import {
  beatLogPartitions,
  claimPartitions,
  deleteLogPartitions,
  deleteRecorders,
  insertLogPartition,
  listLogPartitions,
  listRecorders,
  lockLogPartitions,
  pruneUnknown,
  restartLogPartition,
  seeRecorder,
  stopLogPartition,
  type StoredPartition,
} from "../store/log-partitions.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";
import { lookAtClock } from "./intakes.ts";

/** A recorder that was not seen for this long is gone, and its partitions are free. */
export const RECORDER_LOST_AFTER_MS = 5 * SECOND_MS;
/** Edges read unknown UUIDs each second. */
const UNKNOWN_KEPT_MS = MINUTE_MS;
/** A partition is never declared lost: without a recorder, its watermark stays, and alerts wait. */
const LEASE_MS = 36_500 * DAY_MS;

/** A topic as found in Kafka. */
export type LogTopicNow = {
  topicId: string;
  /** The first readable position of each partition. */
  starts: readonly number[];
};

/** Opens the log before an edge listens: from then on, no deadline fires before its pings are applied. */
export function openLog(database: Database, { topicId, starts }: LogTopicNow): Promise<ClockReading> {
  return inTransaction(database, async (tx) => {
    await lockLogPartitions(tx);
    const look = await lookAtClock(tx);
    const stored = await listLogPartitions(tx);
    for (const { topicId: before } of stored) {
      if (before === topicId) continue;
      throw new AppError(
        "conflict",
        "The topic of OVERDUE_LOG is another one than before: it was deleted and created again, or the setting was changed. Run `overdue log status`.",
      );
    }
    if (stored.length > 0 && stored.length !== starts.length) {
      throw new AppError(
        "conflict",
        `The topic of OVERDUE_LOG has ${starts.length} partitions instead of ${stored.length}. The number must not be changed.`,
      );
    }
    const watermarkAt = look.databaseAt - WATERMARK_LAG_MS;
    for (const [partition, nextOffset] of stored.length > 0 ? [] : starts.entries()) {
      const intakeId = partitionIntakeId(topicId, partition);
      await insertLogPartition(tx, { partition, topicId, intakeId, nextOffset, watermarkAt });
      await openIntake(tx, { intakeId, partition, watermarkAt, now: look.databaseAt });
    }
    // Opens those that were closed when the log was left before.
    await beat(tx, { own: await listLogPartitions(tx), now: look.databaseAt });
    return look;
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

/** A heartbeat of a recorder: divides the partitions, and passes their watermarks on. Returns its partitions. */
export function tendRecorder(database: Database, { recorderId, name }: RecorderName): Promise<number[]> {
  return inTransaction(database, async (tx) => {
    const { databaseAt: now } = await lookAtClock(tx);
    const seenBefore = now - RECORDER_LOST_AFTER_MS;
    await seeRecorder(tx, { recorderId, name, at: now });
    await deleteRecorders(tx, { seenBefore });
    const recorders = await listRecorders(tx);
    const stored = await listLogPartitions(tx);
    const countMax = Math.ceil(stored.length / Math.max(1, recorders.length));
    const until = now + RECORDER_LOST_AFTER_MS;
    const partitions = await claimPartitions(tx, { recorderId, countMax, until, now });
    const own = stored.filter(({ partition }) => partitions.includes(partition));
    await beat(tx, { own, now });
    await pruneUnknown(tx, { before: now - UNKNOWN_KEPT_MS });
    return partitions;
  });
}

async function beat(tx: Tx, { own, now }: { own: readonly StoredPartition[]; now: Instant }): Promise<void> {
  if (own.length === 0) return;
  const [heartbeats, identity] = await Promise.all([
    findHeartbeats(tx, { through: now + SETTLE_MS }),
    findStoredIdentity(tx),
  ]);
  const isOutOfService = identity !== null && identity.state !== "normal";
  const { newestHeartbeatAt } = heartbeats;
  const isGap = isOutOfService || endsGap({ now, newestHeartbeatAt, lookedAt: null, isBehind: false });
  const gapEndedAt = isGap ? now : (heartbeats.gapEndedAt ?? now);
  const partitions = own.map(({ partition }) => partition);
  if ((await beatLogPartitions(tx, { partitions, at: now, gapEndedAt })) === own.length) return;
  // Their intakes were closed and deleted, such as after a restore.
  for (const { partition, intakeId, state } of own) {
    await openIntake(tx, { intakeId, partition, watermarkAt: state.watermarkAt, now });
  }
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

/**
 * Continues with stopped partitions at the first readable record, also of another topic. The time since their watermarks
 * is a monitoring gap. Returns how many were stopped.
 */
export function acceptLoss(database: Database, { topicId, starts }: LogTopicNow): Promise<number> {
  return inTransaction(database, async (tx) => {
    await lockLogPartitions(tx);
    const { databaseAt: now } = await lookAtClock(tx);
    const stopped = (await listLogPartitions(tx)).filter(
      (one) => one.stopped !== null || one.topicId !== topicId,
    );
    if (stopped.some(({ partition }) => starts[partition] === undefined)) {
      throw new AppError("conflict", "The topic has fewer partitions than before. Create one with as many.");
    }
    for (const { partition, intakeId: before, state } of stopped) {
      const intakeId = partitionIntakeId(topicId, partition);
      const watermarkAt = now - WATERMARK_LAG_MS;
      const gap = { from: Math.min(state.watermarkAt, now), to: now, reason: LOST_BY_LOG };
      await insertUncoveredBlindInterval(tx, { intakeId: before, ...gap });
      const nextOffset = starts[partition] ?? 0;
      await restartLogPartition(tx, { partition, topicId, intakeId, nextOffset, watermarkAt });
      if (before !== intakeId) await closeIntake(tx, { intakeId: before, at: now, lost: false });
      await openIntake(tx, { intakeId, partition, watermarkAt, now });
    }
    await beat(tx, { own: await listLogPartitions(tx), now });
    return stopped.length;
  });
}

/**
 * Leaves the log: alerts no longer wait for it. AppError `conflict` while an edge is open, or records are left. `ends` are
 * the ends of the partitions in Kafka; null: Kafka is gone.
 */
export function leaveLog(database: Database, { ends }: { ends: readonly number[] | null }): Promise<void> {
  return inTransaction(database, async (tx) => {
    await lockLogPartitions(tx);
    const { databaseAt: now } = await lookAtClock(tx);
    for (const { partition, intakeId, nextOffset, state } of await listLogPartitions(tx)) {
      const left = ends === null ? 0 : (ends[partition] ?? 0) - nextOffset;
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
      // A process that is open ended without a goodbye.
      const isGap = open.length > 0 || ends === null;
      if (isGap) await insertUncoveredBlindInterval(tx, { intakeId, ...gap });
      await closeIntake(tx, { intakeId, at: now, lost: false });
    }
    await deleteLogPartitions(tx);
  });
}
