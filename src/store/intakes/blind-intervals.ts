// Time in which we could not receive. What it excuses is decided in core.
import type { Instant, Interval } from "../../core/instant.ts";
import { type Db, statement } from "../db.ts";
import type { Tx } from "../transaction.ts";
import { toTimestamp } from "../values.ts";

export type BlindInterval = Interval & {
  id: number;
  /** The intake that was blind; null when it was nobody in particular. */
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

const INSERT = statement<{ id: number }>({
  name: "blind_intervals.insert",
  text: `insert into blind_intervals (intake_id, from_at, to_at, reason)
    values ($1, $2, $3, $4) returning id`,
});

const LIST_BY_REASON = statement<{ id: number; from_at: Instant; to_at: Instant }>({
  name: "blind_intervals.list_by_reason",
  text: `select id, from_at, to_at from blind_intervals
    where to_at >= $2 and reason = $1 order by to_at desc limit $3`,
});

/** Those of a reason that have ended since an instant, the newest first. */
export async function listBlindByReason(
  db: Db,
  { reason, since, limit }: { reason: string; since: Instant; limit: number },
): Promise<{ id: number; from: Instant; to: Instant }[]> {
  const { rows } = await db.query(LIST_BY_REASON, [reason, toTimestamp(since), limit]);
  return rows.map(({ id, from_at: from, to_at: to }) => ({ id, from, to }));
}

/** Adds a blind interval and returns its id. One that lasts has no end yet. */
export async function insertBlindInterval(tx: Tx, blind: Omit<BlindInterval, "id">): Promise<number> {
  const { rows } = await tx.query(INSERT, [
    blind.intakeId,
    toTimestamp(blind.from),
    toTimestamp(blind.to),
    blind.reason,
  ]);
  const [row] = rows;
  if (row === undefined) throw new Error("an insert that must return an id returned none");
  return row.id;
}

const LIST_OVERLAPPING = statement<BlindRow>({
  name: "blind_intervals.list_overlapping",
  text: `select id, intake_id, from_at, to_at, reason from blind_intervals
    where (to_at >= $1 or to_at is null) and from_at <= $2
    order by from_at, id`,
});

/** The blind intervals that touch a stretch of time, oldest first. */
export async function listBlindIntervals(
  db: Db,
  { from, to }: { from: Instant; to: Instant },
): Promise<BlindInterval[]> {
  const { rows } = await db.query(LIST_OVERLAPPING, [toTimestamp(from), toTimestamp(to)]);
  return rows.map((row) => ({
    id: row.id,
    intakeId: row.intake_id,
    from: row.from_at,
    to: row.to_at,
    reason: row.reason,
  }));
}

const LIST_AFTER = statement<{ id: number; from_at: Instant; to_at: Instant | null }>({
  name: "blind_intervals.list_after",
  text: `select id, from_at, to_at from blind_intervals
    where id > $1 and (to_at >= $2 or to_at is null)
    order by from_at, id`,
});

/** The blind intervals after a number that have not ended before an instant, oldest first. */
export async function listBlindIntervalsAfter(
  db: Db,
  { id, from }: { id: number; from: Instant },
): Promise<(Interval & { id: number })[]> {
  const { rows } = await db.query(LIST_AFTER, [id, toTimestamp(from)]);
  return rows.map((row) => ({ id: row.id, from: row.from_at, to: row.to_at }));
}

const PRUNE = statement({
  name: "blind_intervals.prune",
  text: `delete from blind_intervals
    where id in (select id from blind_intervals where to_at < $1 order by to_at limit $2)`,
});

/** Forgets at most `limit` blind intervals that ended before an instant; returns how many. */
export async function pruneBlindIntervals(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE, [toTimestamp(before), limit])).count;
}
