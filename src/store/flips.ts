// Flips, the stored status changes to up or down, written together with the state.
import type { Instant } from "../core/instant.ts";
import type { Flip, FlipReason, StoredStatus } from "../core/state.ts";
import { lowerHalf } from "./check-lists.ts";
import { amongOldest, type Db, statement } from "./db.ts";
import type { Tx } from "./transaction.ts";
import { toNumberArray, toTimestamp } from "./values.ts";

export type StoredFlip = Flip & {
  id: number;
  checkId: number;
  /** Set if a signal that was received in time but applied late has retracted the flip. */
  retractedAt: Instant | null;
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

const FLIP_COLUMNS = "id, check_id, at, from_status, to_status, reason, taken_back_at";

function toFlip(row: FlipRow): StoredFlip {
  return {
    id: row.id,
    checkId: row.check_id,
    at: row.at,
    from: row.from_status,
    to: row.to_status,
    reason: row.reason,
    retractedAt: row.taken_back_at,
  };
}

const INSERT_FLIPS = statement<{ id: number }>({
  name: "flips.insert",
  text: `insert into flips (check_id, at, from_status, to_status, reason)
    select n.check_id, n.at, n.from_status, n.to_status, n.reason
    from unnest($1::bigint[], $2::timestamptz[], $3::text[], $4::text[], $5::text[])
      with ordinality as n (check_id, at, from_status, to_status, reason, position)
    order by n.position
    returning id`,
});

/** Inserts flips and returns their ids in the same order. */
export async function insertFlips(
  tx: Tx,
  flips: readonly { checkId: number; flip: Flip }[],
): Promise<number[]> {
  const { rows } = await tx.query(INSERT_FLIPS, [
    flips.map(({ checkId }) => checkId),
    flips.map(({ flip }) => toTimestamp(flip.at)),
    flips.map(({ flip }) => flip.from),
    flips.map(({ flip }) => flip.to),
    flips.map(({ flip }) => flip.reason),
  ]);
  return rows.map(({ id }) => id);
}

const TAKE_BACK_FLIP = statement<{ id: number }>({
  name: "flips.take_back",
  text: `update flips set taken_back_at = $3
    where check_id = $1 and at = $2 and reason = 'timeout' and taken_back_at is null
    returning id`,
});

/** Marks the flip of a deadline as retracted; returns its id, or null if there is none. */
export async function retractFlip(
  tx: Tx,
  flip: { checkId: number; deadlineAt: Instant; at: Instant },
): Promise<number | null> {
  const { rows } = await tx.query(TAKE_BACK_FLIP, [
    flip.checkId,
    toTimestamp(flip.deadlineAt),
    toTimestamp(flip.at),
  ]);
  return rows[0]?.id ?? null;
}

const FIND_FLIPS = statement<FlipRow>({
  name: "flips.find",
  text: `select ${FLIP_COLUMNS} from flips where id = any ($1::bigint[])`,
});

/** These flips, in no particular order, without deleted ones. */
export async function findFlips(db: Db, flipIds: readonly number[]): Promise<StoredFlip[]> {
  return (await db.query(FIND_FLIPS, [toNumberArray(flipIds)])).rows.map(toFlip);
}

const FIND_FLIPS_BEFORE = statement<FlipRow>({
  name: "flips.find_before",
  text: `select before.* from unnest($1::bigint[], $2::bigint[]) as n (check_id, flip_id)
    cross join lateral (
      select ${FLIP_COLUMNS} from flips f
      where f.check_id = n.check_id and f.id < n.flip_id and f.taken_back_at is null
      order by f.at desc, f.id desc limit 1
    ) as before`,
});

/** For each of these flips, the previous one of its check that was not retracted, if any. */
export async function findFlipsBefore(
  db: Db,
  flips: readonly { checkId: number; flipId: number }[],
): Promise<StoredFlip[]> {
  const { rows } = await db.query(FIND_FLIPS_BEFORE, [
    toNumberArray(flips.map(({ checkId }) => checkId)),
    toNumberArray(flips.map(({ flipId }) => flipId)),
  ]);
  return rows.map(toFlip);
}

const LIST_FLIPS = statement<FlipRow>({
  name: "flips.list",
  text: `select ${FLIP_COLUMNS} from flips
    where check_id = $1 and ($2::timestamptz is null or at >= $2) and ($3::timestamptz is null or at < $3)
      and ($5::timestamptz is null or (at, id) < ($5, $6))
    order by at desc, id desc limit $4`,
});

export type FlipRange = {
  checkId: number;
  from?: Instant;
  before?: Instant;
  limit?: number;
  /** The last flip of the previous page. */
  after?: { at: Instant; id: number };
};

/**
 * The flips of a check in [from, before), newest first; an absent bound or limit is open. Includes retracted
 * ones.
 */
export async function listFlips(db: Db, range: FlipRange): Promise<StoredFlip[]> {
  const { rows } = await db.query(LIST_FLIPS, [
    range.checkId,
    toTimestamp(range.from ?? null),
    toTimestamp(range.before ?? null),
    range.limit ?? null,
    toTimestamp(range.after?.at ?? null),
    range.after?.id ?? null,
  ]);
  return rows.map(toFlip);
}

const LIST_FLIPS_OF_PROJECT = statement<FlipRow>({
  name: "flips.list_of_project",
  text: newestOfProject({ table: "flips", columns: FLIP_COLUMNS }),
});

/** The newest flips of a project's checks, newest first, in [from, before); an absent end is open. */
export async function listFlipsOfProject(db: Db, page: ProjectPage): Promise<StoredFlip[]> {
  return (await db.query(LIST_FLIPS_OF_PROJECT, projectPage(page))).rows.map(toFlip);
}

const PRUNE_FLIPS = statement({
  name: "flips.prune",
  text: `delete from flips where ${amongOldest("flips")}`,
});

/** Deletes those of the `limit` oldest rows from before an instant; returns how many. */
export async function pruneFlips(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE_FLIPS, [toTimestamp(before), limit])).count;
}

const DELETE_FLIPS_OF_CHECK = statement({
  name: "flips.delete_of_check",
  text: "delete from flips where check_id = $1",
});

/** Deletes the flips of a check. */
export async function deleteFlipsOfCheck(tx: Tx, checkId: number): Promise<void> {
  await tx.query(DELETE_FLIPS_OF_CHECK, [checkId]);
}

export type NamedFlip = {
  id: number;
  projectId: number;
  uuid: string;
  name: string;
  at: Instant;
  from: StoredStatus;
  to: "up" | "down";
  reason: FlipReason;
};

type NamedRow = {
  id: number;
  project_id: number;
  uuid: string;
  name: string;
  at: Instant;
  from_status: StoredStatus;
  to_status: "up" | "down";
  reason: FlipReason;
};

const NAMED_FLIP_COLUMNS = "f.id, c.project_id, c.uuid, c.name, f.at, f.from_status, f.to_status, f.reason";

function toNamed(row: NamedRow): NamedFlip {
  const { id, project_id: projectId, uuid, name, at, from_status: from, to_status: to, reason } = row;
  return { id, projectId, uuid, name, at, from, to, reason };
}

/** Newest flips of all checks that are searched first. */
const LOOKED_THROUGH_FIRST = 2_000;

// Most projects have a flip among the newest of all, which are read at once. For other projects, each check is
// searched by its index: with 3 million flips and a project of 10,000 checks that took 390 ms, the first way 25 ms.
// Within a project, the first is ordered by insertion and the second by time, which differ only for replayed signals.
const LIST_NEWEST_FLIPS = statement<NamedRow>({
  name: "newest_flips.of_projects",
  text: `with recent as (
      select distinct on (c.project_id) ${NAMED_FLIP_COLUMNS}
      from (select * from flips order by id desc limit ${LOOKED_THROUGH_FIRST}) as f
        join checks c on c.id = f.check_id
      where c.project_id = any ($1::bigint[]) and c.deleted_at is null and f.taken_back_at is null
      order by c.project_id, f.id desc
    )
    select * from recent
    union all
    select n.* from (
      select p.id from unnest($1::bigint[]) as p (id)
      where not exists (select from recent r where r.project_id = p.id) offset 0
    ) as p cross join lateral (
      select ${NAMED_FLIP_COLUMNS} from checks c cross join lateral (
        select * from flips where check_id = c.id and taken_back_at is null order by at desc, id desc limit 1
      ) as f
      where c.project_id = p.id and c.deleted_at is null order by f.at desc, f.id desc limit 1
    ) as n`,
});

/** The newest flip of each of these projects, if any. */
export async function listNewestFlips(db: Db, projectIds: readonly number[]): Promise<NamedFlip[]> {
  return (await db.query(LIST_NEWEST_FLIPS, [toNumberArray(projectIds)])).rows.map(toNamed);
}

const LIST_CHANGED_FLIPS = statement<NamedRow>({
  name: "newest_flips.changed",
  text: `select ${NAMED_FLIP_COLUMNS} from (select *, xmin as written_by from flips order by id desc limit $3) as f
    join checks c on c.id = f.check_id
    where age(f.written_by) <= age($2::text::xid) and c.project_id = any ($1::bigint[]) and c.deleted_at is null
      and f.taken_back_at is null
    order by f.id`,
});

/** Flips of these projects written since a cursor, among the `limit` newest of all; see check-lists.ts. */
export async function listChangedFlips(
  db: Db,
  { projectIds, since, limit }: { projectIds: readonly number[]; since: number; limit: number },
): Promise<NamedFlip[]> {
  const { rows } = await db.query(LIST_CHANGED_FLIPS, [
    toNumberArray(projectIds),
    String(lowerHalf(since)),
    limit,
  ]);
  return rows.map(toNamed);
}

const LIST_NEWEST_FLIP_IDS = statement<{ id: number }>({
  name: "newest_flips.ids",
  text: `select f.id from (select id, check_id from flips order by id desc limit $2) as f
    join checks c on c.id = f.check_id where c.project_id = $1 order by f.id desc limit $3`,
});

/** The IDs of a project's newest flips, at most `limit`, among the `lookedAt` newest of all. */
export async function listNewestFlipIds(
  db: Db,
  { projectId, lookedAt, limit }: { projectId: number; lookedAt: number; limit: number },
): Promise<number[]> {
  return (await db.query(LIST_NEWEST_FLIP_IDS, [projectId, lookedAt, limit])).rows.map(({ id }) => id);
}

const LIST_DOWN_SINCE = statement<{ uuid: string; name: string; is_down: boolean }>({
  name: "newest_flips.down_since",
  text: `select c.uuid, c.name, s.status = 'down' as is_down
    from checks c join check_states s on s.check_id = c.id
    where c.project_id = $1 and c.deleted_at is null and exists (
      select from flips f where f.check_id = c.id and f.at > $2 and f.to_status = 'down' and f.taken_back_at is null
    )
    order by s.status <> 'down', c.name, c.id limit $3`,
});

/**
 * The checks of a project that went down after an instant, and whether they are still down; those that are come
 * first.
 */
export async function listDownSince(
  db: Db,
  { projectId, since, limit }: { projectId: number; since: Instant; limit: number },
): Promise<{ uuid: string; name: string; isDown: boolean }[]> {
  const { rows } = await db.query(LIST_DOWN_SINCE, [projectId, toTimestamp(since), limit]);
  return rows.map(({ uuid, name, is_down: isDown }) => ({ uuid, name, isDown }));
}

/**
 * In [from, before); an absent bound is open. With `beforeId`, entries at `before` with a smaller ID are included:
 * thousands can have the same time.
 */
export type ProjectPage = {
  projectId: number;
  from?: Instant;
  before?: Instant;
  beforeId?: number;
  limit: number;
};

/** SQL for such a page; the table has the alias `one`. Its parameters: `projectPage`. */
export function newestOfProject({ table, columns }: { table: string; columns: string }): string {
  return `select newest.* from checks c
    cross join lateral (
      select ${columns} from ${table} one
      where one.check_id = c.id and ($2::timestamptz is null or (one.at, one.id) < ($2, $5))
        and ($4::timestamptz is null or one.at >= $4)
      order by one.at desc, one.id desc limit $3
    ) as newest
    where c.project_id = $1 and c.deleted_at is null
    order by newest.at desc, newest.id desc limit $3`;
}

export function projectPage({ projectId, from, before, beforeId = 0, limit }: ProjectPage) {
  return [projectId, toTimestamp(before ?? null), limit, toTimestamp(from ?? null), beforeId];
}
