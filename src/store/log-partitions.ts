// Positions of recorders in the log, who reads which partition, and UUIDs that recorders found to be unknown.
import type { Instant } from "../core/instant.ts";
import type { EdgeState, PartitionProgress, PartitionState } from "../core/log.ts";
import { type Db, statement } from "./db.ts";
import type { Tx } from "./transaction.ts";
import { sqlInstant, toNumberArray, toTimestamp } from "./values.ts";

export type StoredPartition = PartitionProgress & {
  partition: number;
  topicId: string;
  intakeId: string;
  readAt: Instant | null;
};

type PartitionRow = {
  partition: number;
  topic_id: string;
  intake_id: string;
  next_offset: number;
  edges: Record<string, EdgeState>;
  watermark_at: Instant;
  gap_ended_at: Instant;
  end_offset: number;
  read_at: Instant | null;
  stopped: string | null;
};

const COLUMNS =
  "partition, topic_id, intake_id, next_offset, edges, watermark_at, gap_ended_at, end_offset, read_at, stopped";

function toPartition(row: PartitionRow): StoredPartition {
  return {
    partition: row.partition,
    topicId: row.topic_id,
    intakeId: row.intake_id,
    nextOffset: row.next_offset,
    state: { edges: row.edges, watermarkAt: row.watermark_at, gapEndedAt: row.gap_ended_at },
    endOffset: row.end_offset,
    readAt: row.read_at,
    stopped: row.stopped,
  };
}

const LIST_PARTITIONS = statement<PartitionRow>({
  name: "log_partitions.list",
  text: `select ${COLUMNS} from log_partitions order by partition`,
});

/** All partitions, in order. Empty: there was never a log, or it was left. */
export async function listLogPartitions(db: Db): Promise<StoredPartition[]> {
  return (await db.query(LIST_PARTITIONS, [])).rows.map(toPartition);
}

type PositionRow = { partition: number; topic_id: string; next_offset: number; is_stopped: boolean };

const LIST_POSITIONS = statement<PositionRow>({
  name: "log_partitions.positions",
  text: `select partition, topic_id, next_offset, stopped is not null as is_stopped
    from log_partitions order by partition`,
});

export type LogPosition = { partition: number; topicId: string; nextOffset: number; isStopped: boolean };

/** The positions of all partitions, in order. */
export async function listLogPositions(db: Db): Promise<LogPosition[]> {
  const { rows } = await db.query(LIST_POSITIONS, []);
  return rows.map(({ partition, topic_id, next_offset, is_stopped }) => ({
    partition,
    topicId: topic_id,
    nextOffset: next_offset,
    isStopped: is_stopped,
  }));
}

/** An arbitrary number that no other advisory lock in the database uses. */
const PARTITIONS_LOCK = 7_305_046;

const LOCK_PARTITIONS = statement({
  name: "log_partitions.lock",
  text: `select pg_advisory_xact_lock(${PARTITIONS_LOCK})`,
});

const SHARE_PARTITIONS = statement({
  name: "log_partitions.share",
  text: `select pg_advisory_xact_lock_shared(${PARTITIONS_LOCK})`,
});

/** Waits for a process that opens, leaves or restarts the log. */
export async function shareLogPartitions(tx: Tx): Promise<void> {
  await tx.query(SHARE_PARTITIONS, []);
}

/** One process at a time opens, leaves or restarts the log. Recorders, which write all the time, do not wait for it. */
export async function lockLogPartitions(tx: Tx): Promise<void> {
  await tx.query(LOCK_PARTITIONS, []);
}

const INSERT_PARTITION = statement({
  name: "log_partitions.insert",
  text: `with added as (
      insert into log_partitions (partition, topic_id, intake_id, next_offset, watermark_at, gap_ended_at)
      values ($1, $2, $3, $4, $5, $6) returning partition
    )
    insert into log_claims (partition) select partition from added`,
});

export type NewPartition = Pick<StoredPartition, "partition" | "topicId" | "intakeId" | "nextOffset"> & {
  watermarkAt: Instant;
  gapEndedAt: Instant;
};

/** Adds a partition of a new log. */
export async function insertLogPartition(tx: Tx, given: NewPartition): Promise<void> {
  await tx.query(INSERT_PARTITION, valuesOf(given));
}

function valuesOf(given: NewPartition): unknown[] {
  const { partition, topicId, intakeId, nextOffset, watermarkAt, gapEndedAt } = given;
  return [partition, topicId, intakeId, nextOffset, toTimestamp(watermarkAt), toTimestamp(gapEndedAt)];
}

const DELETE_PARTITIONS = statement({
  name: "log_partitions.delete",
  text: "delete from log_partitions",
});

/** Deletes all positions: the log is no longer used. */
export async function deleteLogPartitions(tx: Tx): Promise<void> {
  await tx.query(DELETE_PARTITIONS, []);
}

const ADVANCE_PARTITION = statement({
  name: "log_partitions.advance",
  text: `update log_partitions set next_offset = $4, edges = $5, watermark_at = $6, gap_ended_at = $7,
      end_offset = $8, read_at = $9
    where partition = $1 and topic_id = $2 and next_offset = $3 and stopped is null`,
});

export type Advance = {
  partition: number;
  topicId: string;
  from: number;
  to: number;
  state: PartitionState;
  endOffset: number;
  at: Instant;
};

/**
 * Moves the position, in the transaction that applies the records in between. False: another recorder has applied them,
 * or the partition was stopped.
 */
export async function advanceLogPartition(tx: Tx, advance: Advance): Promise<boolean> {
  const { partition, topicId, from, to, state, endOffset, at } = advance;
  const { count } = await tx.query(ADVANCE_PARTITION, [
    partition,
    topicId,
    from,
    to,
    JSON.stringify(state.edges),
    toTimestamp(state.watermarkAt),
    toTimestamp(state.gapEndedAt),
    endOffset,
    toTimestamp(at),
  ]);
  return count === 1;
}

const STOP_PARTITION = statement({
  name: "log_partitions.stop",
  text: "update log_partitions set stopped = $3 where partition = $1 and next_offset = $2 and stopped is null",
});

/** Stops a partition at a position until an admin decides. False: it has moved, or was stopped before. */
export async function stopLogPartition(
  tx: Tx,
  { partition, nextOffset, reason }: { partition: number; nextOffset: number; reason: string },
): Promise<boolean> {
  return (await tx.query(STOP_PARTITION, [partition, nextOffset, reason])).count === 1;
}

const RESTART_PARTITION = statement({
  name: "log_partitions.restart",
  text: `update log_partitions
    set topic_id = $2, intake_id = $3, next_offset = $4, watermark_at = $5, gap_ended_at = $6, stopped = null
    where partition = $1`,
});

/**
 * Continues at another position, or in another topic. What is in between is lost. Edges stay known, so that records that
 * were applied are skipped.
 */
export async function restartLogPartition(tx: Tx, given: NewPartition): Promise<void> {
  await tx.query(RESTART_PARTITION, valuesOf(given));
}

const BEAT_PARTITIONS = statement({
  name: "log_partitions.beat",
  text: `update intakes
    set beat_at = ${sqlInstant("given.received_until")}, watermark_at = own.watermark_at,
      gap_ended_at = greatest(own.gap_ended_at, $3), closed_at = null, lost = false
    from unnest($1::bigint[], $2::bigint[]) as given (partition, received_until)
    join log_partitions as own on own.partition = given.partition
    where id = own.intake_id`,
});

/**
 * A heartbeat for partitions: passes their watermarks on to their intakes, which are opened again if another process has
 * closed them. `gapEndedAt`: no partition may count as settled before; null if only their own gaps count. Returns how
 * many exist.
 */
export async function beatLogPartitions(
  tx: Tx,
  {
    partitions,
    gapEndedAt,
  }: {
    partitions: readonly { partition: number; receivedUntil: Instant }[];
    gapEndedAt: Instant | null;
  },
): Promise<number> {
  const { count } = await tx.query(BEAT_PARTITIONS, [
    toNumberArray(partitions.map(({ partition }) => partition)),
    toNumberArray(partitions.map(({ receivedUntil }) => receivedUntil)),
    toTimestamp(gapEndedAt),
  ]);
  return count;
}

// Claims

const SEE_RECORDER = statement({
  name: "log_recorders.see",
  text: `insert into log_recorders (id, name, seen_at) values ($1, $2, $3)
    on conflict (id) do update set seen_at = excluded.seen_at`,
});

/** A recorder runs. */
export async function seeRecorder(
  tx: Tx,
  { recorderId, name, at }: { recorderId: string; name: string; at: Instant },
): Promise<void> {
  await tx.query(SEE_RECORDER, [recorderId, name, toTimestamp(at)]);
}

const DELETE_RECORDERS = statement({
  name: "log_recorders.delete",
  text: "delete from log_recorders where id = $1 or seen_at < $2",
});

/** Deletes a recorder that has ended, or those that were not seen since an instant. */
export async function deleteRecorders(
  tx: Tx,
  { recorderId = null, seenBefore }: { recorderId?: string | null; seenBefore: Instant },
): Promise<void> {
  await tx.query(DELETE_RECORDERS, [recorderId, toTimestamp(seenBefore)]);
}

const LIST_RECORDERS = statement<{ id: string; name: string; seen_at: Instant }>({
  name: "log_recorders.list",
  text: "select id, name, seen_at from log_recorders order by id",
});

export type Recorder = { recorderId: string; name: string; seenAt: Instant };

/** The recorders that were seen lately. */
export async function listRecorders(db: Db): Promise<Recorder[]> {
  const { rows } = await db.query(LIST_RECORDERS, []);
  return rows.map(({ id, name, seen_at }) => ({ recorderId: id, name, seenAt: seen_at }));
}

const RENEW_CLAIMS = statement<{ partition: number }>({
  name: "log_claims.renew",
  text: `update log_claims set claimed_until_at = $2
    where recorder_id = $1 and partition in (
      select partition from log_claims where recorder_id = $1 order by partition limit $3 for update skip locked
    ) returning partition`,
});

const TAKE_CLAIMS = statement<{ partition: number }>({
  name: "log_claims.take",
  text: `update log_claims set recorder_id = $1, claimed_until_at = $2
    where partition in (
      select partition from log_claims where recorder_id is null or claimed_until_at < $4
      order by partition limit $3 for update skip locked
    ) returning partition`,
});

const RELEASE_CLAIMS = statement({
  name: "log_claims.release",
  text: `update log_claims set recorder_id = null, claimed_until_at = null
    where partition in (
      select partition from log_claims where recorder_id = $1 and not partition = any ($2::smallint[])
      order by partition for update skip locked
    )`,
});

const LOCK_CLAIMS = statement({
  name: "log_claims.lock",
  text: "select from log_claims order by partition for update",
});

/** Waits for heartbeats of recorders that have begun; others send none for these partitions until the transaction ends. */
export async function lockClaims(tx: Tx): Promise<void> {
  await tx.query(LOCK_CLAIMS, []);
}

export type ClaimRequest = { recorderId: string; countMax: number; until: Instant; now: Instant };

/** Keeps or takes at most `countMax` partitions, and releases the others. Returns those that are claimed. */
export async function claimPartitions(
  tx: Tx,
  { recorderId, countMax, until, now }: ClaimRequest,
): Promise<number[]> {
  const kept = (await tx.query(RENEW_CLAIMS, [recorderId, toTimestamp(until), countMax])).rows;
  await tx.query(RELEASE_CLAIMS, [recorderId, kept.map(({ partition }) => partition)]);
  const room = countMax - kept.length;
  const taken =
    room <= 0
      ? []
      : (await tx.query(TAKE_CLAIMS, [recorderId, toTimestamp(until), room, toTimestamp(now)])).rows;
  return [...kept, ...taken].map(({ partition }) => partition).toSorted((one, other) => one - other);
}

// Unknown UUIDs

const INSERT_UNKNOWN = statement({
  name: "log_unknown.insert",
  text: "insert into log_unknown (uuid, at) select unnest($1::uuid[]), $2",
});

/** Tells edges that these checks do not exist. */
export async function insertUnknown(
  tx: Tx,
  { uuids, at }: { uuids: readonly string[]; at: Instant },
): Promise<void> {
  await tx.query(INSERT_UNKNOWN, [uuids, toTimestamp(at)]);
}

const PRUNE_UNKNOWN = statement({
  name: "log_unknown.prune",
  text: "delete from log_unknown where at < $1",
});

/** Deletes those that every edge has read. */
export async function pruneUnknown(tx: Tx, { before }: { before: Instant }): Promise<void> {
  await tx.query(PRUNE_UNKNOWN, [toTimestamp(before)]);
}

const LIST_UNKNOWN = statement<{ id: number; uuid: string }>({
  name: "log_unknown.list",
  text: "select id, uuid from log_unknown where id > $1 order by id limit $2",
});

/** UUIDs that were added after the one with this id. */
export async function listUnknown(
  db: Db,
  { afterId, limit }: { afterId: number; limit: number },
): Promise<{ id: number; uuid: string }[]> {
  return (await db.query(LIST_UNKNOWN, [afterId, limit])).rows;
}
