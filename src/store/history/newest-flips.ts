// Flips of many checks: the newest of each project, and those of a project since an instant. It only reads.
import type { Instant } from "../../core/instant.ts";
import type { FlipReason, StoredStatus } from "../../core/machine/state.ts";
import { type Db, statement } from "../db.ts";
import { toNumberArray, toTimestamp } from "../values.ts";
import { lowerHalf } from "../checks/snapshot.ts";

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

const COLUMNS = "f.id, c.project_id, c.uuid, c.name, f.at, f.from_status, f.to_status, f.reason";

function toNamed(row: NamedRow): NamedFlip {
  const { id, project_id: projectId, uuid, name, at, from_status: from, to_status: to, reason } = row;
  return { id, projectId, uuid, name, at, from, to, reason };
}

/** So many of the newest flips of all are looked through first. */
const LOOKED_THROUGH_FIRST = 2_000;

// Most projects have one among the newest of all, which are read at once. Of the others each check is asked for its
// last one by its index: with 3 million flips and a project of 10,000 checks that took 390 ms, the first way 25. Within
// a project the first goes by the order of writing and the second by time, which differ for replayed signals alone.
const NEWEST = statement<NamedRow>({
  name: "newest_flips.of_projects",
  text: `with recent as (
      select distinct on (c.project_id) ${COLUMNS}
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
      select ${COLUMNS} from checks c cross join lateral (
        select * from flips where check_id = c.id and taken_back_at is null order by at desc, id desc limit 1
      ) as f
      where c.project_id = p.id and c.deleted_at is null order by f.at desc, f.id desc limit 1
    ) as n`,
});

/** The newest flip of each of these projects; one that never had any is left out. */
export async function listNewestFlips(db: Db, projectIds: readonly number[]): Promise<NamedFlip[]> {
  return (await db.query(NEWEST, [toNumberArray(projectIds)])).rows.map(toNamed);
}

const CHANGED = statement<NamedRow>({
  name: "newest_flips.changed",
  text: `select ${COLUMNS} from (select *, xmin as written_by from flips order by id desc limit $3) as f
    join checks c on c.id = f.check_id
    where age(f.written_by) <= age($2::text::xid) and c.project_id = any ($1::bigint[]) and c.deleted_at is null
      and f.taken_back_at is null
    order by f.id`,
});

/** The flips of these projects that were written since a cursor, of the `limit` newest of all; see checks/snapshot.ts. */
export async function listChangedFlips(
  db: Db,
  { projectIds, since, limit }: { projectIds: readonly number[]; since: number; limit: number },
): Promise<NamedFlip[]> {
  const { rows } = await db.query(CHANGED, [toNumberArray(projectIds), String(lowerHalf(since)), limit]);
  return rows.map(toNamed);
}

const NEWEST_IDS = statement<{ id: number }>({
  name: "newest_flips.ids",
  text: `select f.id from (select id, check_id from flips order by id desc limit $2) as f
    join checks c on c.id = f.check_id where c.project_id = $1 order by f.id desc limit $3`,
});

/** The ids of a project's newest flips, at most `limit`, of the `lookedAt` newest of all. */
export async function listNewestFlipIds(
  db: Db,
  { projectId, lookedAt, limit }: { projectId: number; lookedAt: number; limit: number },
): Promise<number[]> {
  return (await db.query(NEWEST_IDS, [projectId, lookedAt, limit])).rows.map(({ id }) => id);
}

const DOWN_SINCE = statement<{ uuid: string; name: string; is_down: boolean }>({
  name: "newest_flips.down_since",
  text: `select c.uuid, c.name, s.status = 'down' as is_down
    from checks c join check_states s on s.check_id = c.id
    where c.project_id = $1 and c.deleted_at is null and exists (
      select from flips f where f.check_id = c.id and f.at > $2 and f.to_status = 'down' and f.taken_back_at is null
    )
    order by s.status <> 'down', c.name, c.id limit $3`,
});

/** The checks of a project that went down after an instant, and whether they are down now; those that are, first. */
export async function listDownSince(
  db: Db,
  { projectId, since, limit }: { projectId: number; since: Instant; limit: number },
): Promise<{ uuid: string; name: string; isDown: boolean }[]> {
  const { rows } = await db.query(DOWN_SINCE, [projectId, toTimestamp(since), limit]);
  return rows.map(({ uuid, name, is_down: isDown }) => ({ uuid, name, isDown }));
}
