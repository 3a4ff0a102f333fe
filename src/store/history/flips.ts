// Flips: stored changes of status to up or to down. They are written with the state that they belong to.
import type { Instant } from "../../core/instant.ts";
import type { Flip, FlipReason, StoredStatus } from "../../core/machine/state.ts";
import { type Db, statement } from "../db.ts";
import { newestOfProject, type ProjectPage, projectPage } from "./newest-of-project.ts";
import { amongOldest } from "../pruning.ts";
import type { Tx } from "../transaction.ts";
import { toNumberArray, toTimestamp } from "../values.ts";

export type StoredFlip = Flip & {
  id: number;
  checkId: number;
  /** Set when a success that was received in time, but applied late, proved the flip wrong. */
  takenBackAt: Instant | null;
};

type FlipRow = {
  id: number;
  check_id: number;
  at: Instant;
  from_status: StoredStatus;
  to_status: "up" | "down";
  reason: FlipReason;
  taken_back_at: Instant | null;
};

const COLUMNS = "id, check_id, at, from_status, to_status, reason, taken_back_at";

function toFlip(row: FlipRow): StoredFlip {
  return {
    id: row.id,
    checkId: row.check_id,
    at: row.at,
    from: row.from_status,
    to: row.to_status,
    reason: row.reason,
    takenBackAt: row.taken_back_at,
  };
}

const INSERT = statement<{ id: number }>({
  name: "flips.insert",
  text: `insert into flips (check_id, at, from_status, to_status, reason)
    select n.check_id, n.at, n.from_status, n.to_status, n.reason
    from unnest($1::bigint[], $2::timestamptz[], $3::text[], $4::text[], $5::text[])
      with ordinality as n (check_id, at, from_status, to_status, reason, position)
    order by n.position
    returning id`,
});

/** Adds flips and returns their ids in the same order, which is also the order of the ids. */
export async function insertFlips(
  tx: Tx,
  flips: readonly { checkId: number; flip: Flip }[],
): Promise<number[]> {
  const { rows } = await tx.query(INSERT, [
    flips.map(({ checkId }) => checkId),
    flips.map(({ flip }) => toTimestamp(flip.at)),
    flips.map(({ flip }) => flip.from),
    flips.map(({ flip }) => flip.to),
    flips.map(({ flip }) => flip.reason),
  ]);
  return rows.map(({ id }) => id);
}

const TAKE_BACK = statement<{ id: number }>({
  name: "flips.take_back",
  text: `update flips set taken_back_at = $3
    where check_id = $1 and at = $2 and reason = 'timeout' and taken_back_at is null
    returning id`,
});

/** Marks the silence flip of a deadline as proved wrong; returns its id, or null when there is none. */
export async function takeBackFlip(
  tx: Tx,
  flip: { checkId: number; deadlineAt: Instant; at: Instant },
): Promise<number | null> {
  const { rows } = await tx.query(TAKE_BACK, [
    flip.checkId,
    toTimestamp(flip.deadlineAt),
    toTimestamp(flip.at),
  ]);
  return rows[0]?.id ?? null;
}

const FIND = statement<FlipRow>({
  name: "flips.find",
  text: `select ${COLUMNS} from flips where id = any ($1::bigint[])`,
});

/** The flips that messages are about, in no particular order; those that are forgotten are left out. */
export async function findFlips(db: Db, flipIds: readonly number[]): Promise<StoredFlip[]> {
  return (await db.query(FIND, [toNumberArray(flipIds)])).rows.map(toFlip);
}

const FIND_BEFORE = statement<FlipRow>({
  name: "flips.find_before",
  text: `select before.* from unnest($1::bigint[], $2::bigint[]) as n (check_id, flip_id)
    cross join lateral (
      select ${COLUMNS} from flips f
      where f.check_id = n.check_id and f.id < n.flip_id and f.taken_back_at is null
      order by f.at desc, f.id desc limit 1
    ) as before`,
});

/** For each of these flips the one before it in its check that still counts, if there is one. */
export async function findFlipsBefore(
  db: Db,
  flips: readonly { checkId: number; flipId: number }[],
): Promise<StoredFlip[]> {
  const { rows } = await db.query(FIND_BEFORE, [
    toNumberArray(flips.map(({ checkId }) => checkId)),
    toNumberArray(flips.map(({ flipId }) => flipId)),
  ]);
  return rows.map(toFlip);
}

const LIST = statement<FlipRow>({
  name: "flips.list",
  text: `select ${COLUMNS} from flips
    where check_id = $1 and ($2::timestamptz is null or at >= $2) and ($3::timestamptz is null or at < $3)
      and ($5::timestamptz is null or (at, id) < ($5, $6))
    order by at desc, id desc limit $4`,
});

export type FlipRange = {
  checkId: number;
  from?: Instant;
  before?: Instant;
  limit?: number;
  /** The last flip of the page before. */
  after?: { at: Instant; id: number };
};

/** The flips of a check in [from, before), newest first; an absent end or limit is open. Taken-back ones included. */
export async function listFlips(db: Db, range: FlipRange): Promise<StoredFlip[]> {
  const { rows } = await db.query(LIST, [
    range.checkId,
    toTimestamp(range.from ?? null),
    toTimestamp(range.before ?? null),
    range.limit ?? null,
    toTimestamp(range.after?.at ?? null),
    range.after?.id ?? null,
  ]);
  return rows.map(toFlip);
}

const LIST_OF_PROJECT = statement<FlipRow>({
  name: "flips.list_of_project",
  text: newestOfProject({ table: "flips", columns: COLUMNS }),
});

/** The newest flips of a project's checks, newest first, in [from, before); an absent end is open. */
export async function listFlipsOfProject(db: Db, page: ProjectPage): Promise<StoredFlip[]> {
  return (await db.query(LIST_OF_PROJECT, projectPage(page))).rows.map(toFlip);
}

const PRUNE = statement({
  name: "flips.prune",
  text: `delete from flips where ${amongOldest("flips")}`,
});

/** Looks at the `limit` oldest rows and forgets those from before an instant; returns how many. */
export async function pruneFlips(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE, [toTimestamp(before), limit])).count;
}

const DELETE_OF_CHECK = statement({
  name: "flips.delete_of_check",
  text: "delete from flips where check_id = $1",
});

/** Removes the flips of a check that is deleted for good, or whose history is cleared. */
export async function deleteFlipsOfCheck(tx: Tx, checkId: number): Promise<void> {
  await tx.query(DELETE_OF_CHECK, [checkId]);
}
