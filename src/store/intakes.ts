// Intakes, the processes that receive pings, with their batch numbers, watermarks and leases; blind and
// refused intervals. When a deadline may fire is decided in core.
import type { Visibility } from "../core/deadline.ts";
import { type Instant, type Interval, MINUTE_MS } from "../core/instant.ts";
import { type BatchNumber, LANES } from "../core/signal.ts";
import type { Receiver } from "../core/watermark.ts";
import { type Db, statement } from "./db.ts";
import type { Tx } from "./transaction.ts";
import { sqlInstant, toNumberArray, toTextArray, toTimestamp } from "./values.ts";

export type Intake = {
  /** Random for each start of a process. */
  id: string;
  /** Where it runs, for the admin. */
  name: string;
  startedAt: Instant;
  /** The newest recorded batch of each lane. */
  lastSeqs: readonly number[];
  watermarkAt: Instant;
  heartbeatAt: Instant;
  leaseUntilAt: Instant;
  spoolEmpty: boolean;
  /** From 0 to 1, at its last heartbeat. */
  spoolFill: number;
  /** Signals accepted in the minute before its last heartbeat; null: not reported. */
  signalsPerMinute: number | null;
};

type IntakeRow = {
  id: string;
  name: string;
  started_at: Instant;
  last_seqs: number[] | null;
  watermark_at: Instant;
  beat_at: Instant;
  lease_until_at: Instant;
  spool_empty: boolean;
  spool_fill: number;
  signals_per_minute: number | null;
};

const INTAKE_COLUMNS = `id, name, started_at, watermark_at, beat_at, lease_until_at, spool_empty, spool_fill,
  signals_per_minute, (select array_agg(last_seq order by lane) from intake_lanes where intake_id = id) as last_seqs`;

function toIntake(row: IntakeRow): Intake {
  return {
    id: row.id,
    name: row.name,
    startedAt: row.started_at,
    lastSeqs: row.last_seqs ?? [],
    watermarkAt: row.watermark_at,
    heartbeatAt: row.beat_at,
    leaseUntilAt: row.lease_until_at,
    spoolEmpty: row.spool_empty,
    spoolFill: row.spool_fill,
    signalsPerMinute: row.signals_per_minute,
  };
}

const REGISTER_INTAKE = statement({
  name: "intakes.register",
  text: `with registered as (
      insert into intakes (id, name, started_at, watermark_at, beat_at, lease_until_at, spool_empty)
      values ($1, $2, $3, $4, $7, $5, $6)
      on conflict (id) do nothing
      returning id
    )
    insert into intake_lanes (intake_id, lane)
    select id, lane from registered, generate_series(0, $8::int - 1) as lane`,
});

export type NewIntake = Omit<Intake, "lastSeqs" | "heartbeatAt" | "spoolFill" | "signalsPerMinute"> & {
  /** The last heartbeat of any intake; absent: its start. */
  heartbeatAt?: Instant;
};

/**
 * Registers an intake: from now on no deadline after its watermark fires. IDs are random, so an existing one is the
 * same intake, which missed the response.
 */
export async function registerIntake(tx: Tx, intake: NewIntake): Promise<void> {
  await tx.query(REGISTER_INTAKE, [
    intake.id,
    intake.name,
    toTimestamp(intake.startedAt),
    toTimestamp(intake.watermarkAt),
    toTimestamp(intake.leaseUntilAt),
    intake.spoolEmpty,
    toTimestamp(intake.heartbeatAt ?? intake.startedAt),
    LANES,
  ]);
}

const ADVANCE_SEQUENCE = statement({
  name: "intake_lanes.advance",
  text: "update intake_lanes set last_seq = $3 where intake_id = $1 and lane = $2 and last_seq = $3 - 1",
});

/** Claims a batch number at the start of its transaction. False: the batch was already applied. */
export async function advanceSequence(tx: Tx, { intakeId, lane, seq }: BatchNumber): Promise<boolean> {
  return (await tx.query(ADVANCE_SEQUENCE, [intakeId, lane, seq])).count === 1;
}

const FIND_SEQUENCE = statement<{ last_seq: number }>({
  name: "intake_lanes.find",
  text: "select last_seq from intake_lanes where intake_id = $1 and lane = $2",
});

/** The newest recorded batch number of a lane; null if the intake is unknown. */
export async function findSequence(
  db: Db,
  { intakeId, lane }: Omit<BatchNumber, "seq">,
): Promise<number | null> {
  return (await db.query(FIND_SEQUENCE, [intakeId, lane])).rows[0]?.last_seq ?? null;
}

const SKIP_SEQUENCE = statement<{ watermark_at: Instant }>({
  name: "intake_lanes.skip",
  text: `update intake_lanes set last_seq = $3 from intakes
    where intake_id = $1 and lane = $2 and last_seq < $3 and id = intake_id
    returning watermark_at`,
});

/**
 * Skips to a batch number although earlier batches are lost. Returns the watermark, after which signals may
 * be missing; null if nothing is missing or the intake is unknown.
 */
export async function skipSequence(tx: Tx, { intakeId, lane, seq }: BatchNumber): Promise<Instant | null> {
  return (await tx.query(SKIP_SEQUENCE, [intakeId, lane, seq])).rows[0]?.watermark_at ?? null;
}

const WRITE_HEARTBEAT = statement({
  name: "intakes.beat",
  text: `update intakes set beat_at = $2, watermark_at = $3, lease_until_at = $4, spool_empty = $5,
      spool_fill = $6, gap_ended_at = $7, signals_per_minute = $8
    where id = $1 and closed_at is null`,
});

export type Heartbeat = {
  intakeId: string;
  at: Instant;
  watermarkAt: Instant;
  leaseUntilAt: Instant;
  spoolEmpty: boolean;
  /** From 0 to 1. */
  spoolFill: number;
  signalsPerMinute: number;
  /** When a heartbeat last ended a gap of all intakes. */
  gapEndedAt: Instant;
};

/**
 * Records a heartbeat and moves the watermark. A blind interval before it belongs into the same transaction.
 * False: the intake was closed or declared lost, and must register again.
 */
export async function writeHeartbeat(tx: Tx, beat: Heartbeat): Promise<boolean> {
  const { count } = await tx.query(WRITE_HEARTBEAT, [
    beat.intakeId,
    toTimestamp(beat.at),
    toTimestamp(beat.watermarkAt),
    toTimestamp(beat.leaseUntilAt),
    beat.spoolEmpty,
    beat.spoolFill,
    toTimestamp(beat.gapEndedAt),
    beat.signalsPerMinute,
  ]);
  return count === 1;
}

const LIST_OPEN_INTAKES = statement<IntakeRow>({
  name: "intakes.list_open",
  text: `select ${INTAKE_COLUMNS} from intakes where closed_at is null order by watermark_at limit $1`,
});

/** Open intakes, the one with the earliest watermark first: all, or at most `limit`. */
export async function listOpenIntakes(
  db: Db,
  { limit = null }: { limit?: number | null } = {},
): Promise<Intake[]> {
  return (await db.query(LIST_OPEN_INTAKES, [limit])).rows.map(toIntake);
}

const LIST_FILLED_SPOOLS = statement<{ name: string; spool_fill: number }>({
  name: "intakes.list_filled",
  text: `select name, spool_fill from intakes where closed_at is null and spool_fill >= $1
    order by spool_fill desc, name limit $2`,
});

/** Open intakes whose spool was filled to this share at their last heartbeat, fullest first. */
export async function listFilledSpools(
  db: Db,
  { fillMin, limit }: { fillMin: number; limit: number },
): Promise<{ name: string; fill: number }[]> {
  const { rows } = await db.query(LIST_FILLED_SPOOLS, [fillMin, limit]);
  return rows.map(({ name, spool_fill }) => ({ name, fill: spool_fill }));
}

const LIST_LOST_INTAKES = statement<{ id: string; name: string; closed_at: Instant }>({
  name: "intakes.list_lost",
  text: `select id, name, closed_at from intakes where lost and closed_at >= $1
    order by closed_at desc, id limit $2`,
});

/** Intakes declared lost since an instant, newest first. */
export async function listLostIntakes(
  db: Db,
  { from, limit }: { from: Instant; limit: number },
): Promise<{ intakeId: string; name: string; lostAt: Instant }[]> {
  const { rows } = await db.query(LIST_LOST_INTAKES, [toTimestamp(from), limit]);
  return rows.map(({ id, name, closed_at }) => ({ intakeId: id, name, lostAt: closed_at }));
}

export type Heartbeats = {
  /** The last heartbeat of any intake, open or not; null before the first start. */
  newestHeartbeatAt: Instant | null;
  /** When a heartbeat last ended a gap of all intakes; null if unknown. */
  gapEndedAt: Instant | null;
};

const FIND_HEARTBEATS = statement<{ beat_at: Instant | null; gap_ended_at: Instant | null }>({
  name: "intakes.find_beats",
  text: `select max(beat_at) as beat_at, max(gap_ended_at) filter (where gap_ended_at <= $1) as gap_ended_at
    from intakes`,
});

/** The heartbeats of all intakes. Gaps after `through` are left from before the clock was set back. */
export async function findHeartbeats(db: Db, { through }: { through: Instant }): Promise<Heartbeats> {
  const [row] = (await db.query(FIND_HEARTBEATS, [toTimestamp(through)])).rows;
  return { newestHeartbeatAt: row?.beat_at ?? null, gapEndedAt: row?.gap_ended_at ?? null };
}

const LIST_RECEIVERS_SINCE = statement<{ started_at: Instant; beat_at: Instant }>({
  name: "intakes.list_receivers_since",
  text: "select started_at, beat_at from intakes where beat_at >= $1 and not id = any ($2::uuid[])",
});

/** The intakes that have sent a heartbeat since an instant, also those that have ended. */
export async function listReceiversSince(
  db: Db,
  { at, except }: { at: Instant; except: readonly string[] },
): Promise<Receiver[]> {
  const { rows } = await db.query(LIST_RECEIVERS_SINCE, [toTimestamp(at), except]);
  return rows.map(({ started_at, beat_at }) => ({ startedAt: started_at, heartbeatAt: beat_at }));
}

const CLOSE_INTAKE = statement({
  name: "intakes.close",
  text: "update intakes set closed_at = $2, lost = $3 where id = $1 and closed_at is null",
});

/** Closes an intake. False: it was closed before. */
export async function closeIntake(
  tx: Tx,
  { intakeId, at, lost }: { intakeId: string; at: Instant; lost: boolean },
): Promise<boolean> {
  return (await tx.query(CLOSE_INTAKE, [intakeId, toTimestamp(at), lost])).count === 1;
}

const CLOSE_ALL_INTAKES = statement({
  name: "intakes.close_all",
  text: "update intakes set closed_at = $1, lost = false where closed_at is null",
});

/** Closes every intake. Those that are alive register again with their next heartbeat. */
export async function closeAllIntakes(tx: Tx, { at }: { at: Instant }): Promise<void> {
  await tx.query(CLOSE_ALL_INTAKES, [toTimestamp(at)]);
}

const CLOSE_INTAKE_IF_FREE = statement({
  name: "intakes.close_if_free",
  text: `with own as (select id from intakes where id = $1 and closed_at is null for update skip locked),
      free as (select lane from intake_lanes where intake_id = $1 for update skip locked)
    update intakes set closed_at = $2, lost = $3
    where id in (select id from own)
      and (select count(*) from free) = (select count(*) from intake_lanes where intake_id = $1)`,
});

/**
 * Closes another intake, unless one of its rows is locked: a lock means that it is alive, so do not wait for it. False:
 * it is still open, or was already closed.
 */
export async function closeIntakeIfFree(
  tx: Tx,
  { intakeId, at, lost }: { intakeId: string; at: Instant; lost: boolean },
): Promise<boolean> {
  return (await tx.query(CLOSE_INTAKE_IF_FREE, [intakeId, toTimestamp(at), lost])).count === 1;
}

const PRUNE_INTAKES = statement({
  name: "intakes.prune",
  text: `delete from intakes
    where id in (
      select id from intakes
      where closed_at < $1 and beat_at < (select max(beat_at) from intakes)
      order by closed_at limit $2
    )`,
});

/**
 * Deletes at most `limit` intakes closed before an instant; returns how many. The newest heartbeat is kept:
 * the next start measures the gap from it.
 */
export async function pruneIntakes(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE_INTAKES, [toTimestamp(before), limit])).count;
}

export type BlindInterval = Interval & {
  id: number;
  /** The intake; null if none in particular. */
  intakeId: string | null;
  reason: string;
};

type BlindRow = {
  id: number;
  intake_id: string | null;
  from_at: Instant;
  to_at: Instant | null;
  reason: string;
};

const INSERT_BLIND_INTERVAL = statement<{ id: number }>({
  name: "blind_intervals.insert",
  text: `insert into blind_intervals (intake_id, from_at, to_at, reason)
    values ($1, $2, $3, $4) returning id`,
});

const INSERT_UNCOVERED = statement({
  name: "blind_intervals.insert_uncovered",
  text: `insert into blind_intervals (intake_id, from_at, to_at, reason)
    select $1, $2, $3, $4
    where not exists (
      select from blind_intervals where to_at >= $3::timestamptz and from_at <= $2::timestamptz and reason = $4
    )`,
});

/** Stores a blind interval, unless one with the same reason contains it: several partitions of the log report the same. */
export async function insertUncoveredBlindInterval(
  tx: Tx,
  { intakeId, from, to, reason }: { intakeId: string; from: Instant; to: Instant; reason: string },
): Promise<void> {
  await tx.query(INSERT_UNCOVERED, [intakeId, toTimestamp(from), toTimestamp(to), reason]);
}

const LIST_BLIND_BY_REASONS = statement<{ id: number; from_at: Instant; to_at: Instant }>({
  name: "blind_intervals.list_by_reasons",
  text: `select id, from_at, to_at from blind_intervals
    where to_at >= $2 and reason = any ($1::text[]) order by to_at desc limit $3`,
});

/** Blind intervals with one of these reasons that ended since an instant, newest first. */
export async function listBlindByReasons(
  db: Db,
  { reasons, since, limit }: { reasons: readonly string[]; since: Instant; limit: number },
): Promise<{ id: number; from: Instant; to: Instant }[]> {
  const { rows } = await db.query(LIST_BLIND_BY_REASONS, [reasons, toTimestamp(since), limit]);
  return rows.map(({ id, from_at: from, to_at: to }) => ({ id, from, to }));
}

/** Inserts a blind interval and returns its id. One that lasts has no end. */
export async function insertBlindInterval(tx: Tx, blind: Omit<BlindInterval, "id">): Promise<number> {
  const { rows } = await tx.query(INSERT_BLIND_INTERVAL, [
    blind.intakeId,
    toTimestamp(blind.from),
    toTimestamp(blind.to),
    blind.reason,
  ]);
  const [row] = rows;
  if (row === undefined) throw new Error("the insert returned no ID");
  return row.id;
}

const LIST_BLIND_INTERVALS = statement<BlindRow>({
  name: "blind_intervals.list_overlapping",
  text: `select id, intake_id, from_at, to_at, reason from blind_intervals
    where (to_at >= $1 or to_at is null) and from_at <= $2
    order by from_at, id`,
});

/** Blind intervals that overlap a range, oldest first. */
export async function listBlindIntervals(
  db: Db,
  { from, to }: { from: Instant; to: Instant },
): Promise<BlindInterval[]> {
  const { rows } = await db.query(LIST_BLIND_INTERVALS, [toTimestamp(from), toTimestamp(to)]);
  return rows.map((row) => ({
    id: row.id,
    intakeId: row.intake_id,
    from: row.from_at,
    to: row.to_at,
    reason: row.reason,
  }));
}

const LIST_BLIND_INTERVALS_AFTER = statement<{ id: number; from_at: Instant; to_at: Instant | null }>({
  name: "blind_intervals.list_after",
  text: `select id, from_at, to_at from blind_intervals
    where id > $1 and (to_at >= $2 or to_at is null)
    order by from_at, id`,
});

/** Blind intervals with a higher id that have not ended before an instant, oldest first. */
export async function listBlindIntervalsAfter(
  db: Db,
  { id, from }: { id: number; from: Instant },
): Promise<(Interval & { id: number })[]> {
  const { rows } = await db.query(LIST_BLIND_INTERVALS_AFTER, [id, toTimestamp(from)]);
  return rows.map((row) => ({ id: row.id, from: row.from_at, to: row.to_at }));
}

const PRUNE_BLIND_INTERVALS = statement({
  name: "blind_intervals.prune",
  text: `delete from blind_intervals
    where id in (select id from blind_intervals where to_at < $1 order by to_at limit $2)`,
});

/** Deletes at most `limit` blind intervals that ended before an instant; returns how many. */
export async function pruneBlindIntervals(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE_BLIND_INTERVALS, [toTimestamp(before), limit])).count;
}

/** Either a check or a network; see `networkOf`. */
export type RefusedInterval = {
  checkId: number | null;
  network: string | null;
  from: Instant;
  to: Instant;
  /** Pings went to another server, as in a blind interval; otherwise some were rejected. */
  isGap?: boolean;
};

/** Rejections within this time extend the previous interval, so that a long attack leaves few rows. */
const EXTENDED_WITHIN_MS = 10 * MINUTE_MS;

const INSERT_REFUSED_INTERVALS = statement({
  name: "refused_intervals.insert",
  text: `with given as (
      select g.check_id, g.network, ${sqlInstant("g.from_at")} as from_at, ${sqlInstant("g.to_at")} as to_at
      from unnest($2::bigint[], $3::text[], $4::bigint[], $5::bigint[]) as g (check_id, network, from_at, to_at)
    ), of_checks as (
      update refused_intervals r set to_at = greatest(r.to_at, g.to_at) from given g
      where r.intake_id = $1 and r.check_id = g.check_id
        and r.to_at >= g.from_at - $6 * interval '1 ms' and r.from_at <= g.from_at
      returning r.check_id
    ), of_networks as (
      update refused_intervals r set to_at = greatest(r.to_at, g.to_at) from given g
      where r.intake_id = $1 and r.network = g.network
        and r.to_at >= g.from_at - $6 * interval '1 ms' and r.from_at <= g.from_at
      returning r.network
    )
    insert into refused_intervals (intake_id, check_id, network, from_at, to_at)
    select distinct on (g.check_id, g.network) $1::uuid, g.check_id, g.network, g.from_at, g.to_at from given g
    where not exists (select 1 from of_checks o where o.check_id = g.check_id)
      and not exists (select 1 from of_networks o where o.network = g.network)
    order by g.check_id, g.network, g.from_at`,
});

/** Stores intervals of one intake; one that continues an earlier one extends it. */
export async function insertRefusedIntervals(
  tx: Tx,
  { intakeId, intervals }: { intakeId: string; intervals: readonly RefusedInterval[] },
): Promise<void> {
  await tx.query(INSERT_REFUSED_INTERVALS, [
    intakeId,
    toNumberArray(intervals.map(({ checkId }) => checkId)),
    toTextArray(intervals.map(({ network }) => network)),
    toNumberArray(intervals.map(({ from }) => from)),
    toNumberArray(intervals.map(({ to }) => to)),
    EXTENDED_WITHIN_MS,
  ]);
}

type RefusedRow = {
  check_id: number | null;
  network: string | null;
  from_at: Instant;
  to_at: Instant;
  is_gap: boolean;
};

/** Maximum number of networks distinguished in one sweep. */
const NETWORKS_READ_MAX = 10_000;

const LIST_REFUSED_INTERVALS = statement<RefusedRow>({
  name: "refused_intervals.list",
  text: `(select check_id, network, from_at, to_at, is_gap from refused_intervals
      where check_id = any ($1::bigint[]) and to_at >= $2)
    union all
    (select check_id, null, at, at, false from rejected_signals where check_id = any ($1::bigint[]) and at >= $2)
    union all
    (select check_id, network, from_at, to_at, false from refused_intervals
      where network is not null and to_at >= $2 order by to_at desc limit ${NETWORKS_READ_MAX})`,
});

/** Intervals of rejected or quarantined pings since an instant: of these checks, and of any network. */
export async function listRefusedIntervals(
  db: Db,
  { checkIds, from }: { checkIds: readonly number[]; from: Instant },
): Promise<RefusedInterval[]> {
  const { rows } = await db.query(LIST_REFUSED_INTERVALS, [toNumberArray(checkIds), toTimestamp(from)]);
  return rows.map((row) => ({
    checkId: row.check_id,
    network: row.network,
    from: row.from_at,
    to: row.to_at,
    ...(row.is_gap ? { isGap: true } : {}),
  }));
}

/** The newest pings are enough to know where a job sends from. */
const ADDRESSES_MAX = 10;

const LIST_RECENT_ADDRESSES = statement<{ check_id: number; remote_addr: string }>({
  name: "refused_intervals.addresses",
  text: `select c.check_id, p.remote_addr
    from unnest($1::bigint[]) as c (check_id)
    cross join lateral (
      select remote_addr from pings where check_id = c.check_id order by n desc limit ${ADDRESSES_MAX}
    ) as p
    where p.remote_addr is not null`,
});

/** The addresses that the newest pings of these checks came from. */
export async function listRecentAddresses(
  db: Db,
  checkIds: readonly number[],
): Promise<Map<number, Set<string>>> {
  const { rows } = await db.query(LIST_RECENT_ADDRESSES, [toNumberArray(checkIds)]);
  const found = new Map<number, Set<string>>();
  for (const { check_id, remote_addr } of rows) {
    const known = found.get(check_id);
    if (known === undefined) found.set(check_id, new Set([remote_addr]));
    else known.add(remote_addr);
  }
  return found;
}

const DELETE_REFUSED_OF_CHECK = statement({
  name: "refused_intervals.delete_of_check",
  text: "delete from refused_intervals where check_id = $1",
});

export async function deleteRefusedOfCheck(tx: Tx, checkId: number): Promise<void> {
  await tx.query(DELETE_REFUSED_OF_CHECK, [checkId]);
}

const PRUNE_REFUSED_INTERVALS = statement({
  name: "refused_intervals.prune",
  text: `delete from refused_intervals
    where id in (select id from refused_intervals where to_at < $1 order by to_at limit $2)`,
});

/** Deletes at most `limit` intervals that ended before an instant; returns how many. */
export async function pruneRefusedIntervals(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE_REFUSED_INTERVALS, [toTimestamp(before), limit])).count;
}

export type StoredVisibility = {
  /** Of all open intakes; the watermark is null when there is none. */
  visibility: Visibility;
  /** The earliest watermark of open intakes that record without the log; null if there are none. */
  directWatermarkAt: Instant | null;
  /** The newest heartbeat of open intakes; null if there are none. */
  newestHeartbeatAt: Instant | null;
  /** The newest heartbeat of all intakes; null before the first start. */
  lastHeartbeatAt: Instant | null;
  /** When a heartbeat last ended a gap of all intakes; null if unknown. */
  gapEndedAt: Instant | null;
  /** The intake with the earliest watermark; null if none is open. */
  holder: { id: string; name: string } | null;
};

type VisibilityRow = {
  watermark_at: Instant | null;
  direct_watermark_at: Instant | null;
  beat_at: Instant | null;
  last_beat_at: Instant | null;
  gap_ended_at: Instant | null;
  holder_id: string | null;
  holder_name: string | null;
  blind_from: Instant[];
  blind_to: (Instant | null)[];
};

const READ_VISIBILITY = statement<VisibilityRow>({
  name: "sight.read",
  text: `with
      open as (select id, name, watermark_at, beat_at from intakes where closed_at is null),
      holder as (select id, name from open order by watermark_at, id limit 1),
      blind as (
        select id, from_at, to_at from blind_intervals where (to_at >= $1 or to_at is null) and from_at <= $2
      )
    select (select min(watermark_at) from open) as watermark_at,
      (
        select min(watermark_at) from open where id not in (select intake_id from log_partitions)
      ) as direct_watermark_at, (select max(beat_at) from open) as beat_at,
      (select max(beat_at) from intakes) as last_beat_at,
      (select max(gap_ended_at) from intakes where gap_ended_at <= $3) as gap_ended_at,
      (select id from holder) as holder_id, (select name from holder) as holder_name,
      array(select from_at from blind order by from_at, id) as blind_from,
      array(select to_at from blind order by from_at, id) as blind_to`,
});

/** The visibility, in one snapshot, with the blind intervals that overlap a range. */
export async function readVisibility(
  db: Db,
  { from, to, gapsThrough }: { from: Instant; to: Instant; gapsThrough: Instant },
): Promise<StoredVisibility> {
  const values = [toTimestamp(from), toTimestamp(to), toTimestamp(gapsThrough)];
  const [row] = (await db.query(READ_VISIBILITY, values)).rows;
  if (row === undefined) throw new Error("the statement returned no row");
  const { watermark_at: watermarkAt, blind_from, blind_to, holder_id, holder_name } = row;
  const blind = blind_from.map((begin, index) => ({ from: begin, to: blind_to[index] ?? null }));
  return {
    visibility: { watermarkAt, blind },
    directWatermarkAt: row.direct_watermark_at,
    newestHeartbeatAt: row.beat_at,
    lastHeartbeatAt: row.last_beat_at,
    gapEndedAt: row.gap_ended_at,
    holder: holder_id === null || holder_name === null ? null : { id: holder_id, name: holder_name },
  };
}
