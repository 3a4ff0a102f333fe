// Finding checks by something other than their own names: by slug, by project, by values, by age of deletion.
// It only reads; checks.ts writes.
import type { Instant } from "../../core/instant.ts";
import type { UniqueCriteria } from "../../core/request/unique.ts";
import { STATE_COLUMNS, type StateRow } from "./check-states.ts";
import {
  CHECK_COLUMNS,
  type CheckRow,
  type CheckWithState,
  SELECT_WITH_STATE,
  toCheckWithState,
} from "./checks.ts";
import { type Db, statement } from "../db.ts";
import { toTimestamp } from "../values.ts";

const FIND_BY_SLUG = statement<CheckRow & StateRow>({
  name: "checks.find_by_slug",
  text: `select ${CHECK_COLUMNS}, ${STATE_COLUMNS}
    from projects p
    join checks c on c.project_id = p.id
    join check_states s on s.check_id = c.id
    where p.ping_key = $1 and c.slug = $2 and c.slug <> '' and c.deleted_at is null
    order by c.id limit 2`,
});

/** The checks that a ping by key and slug may mean: none, one, or the first two of an ambiguous slug. */
export async function findChecksBySlug(
  db: Db,
  { pingKey, slug }: { pingKey: string; slug: string },
): Promise<CheckWithState[]> {
  return (await db.query(FIND_BY_SLUG, [pingKey, slug])).rows.map(toCheckWithState);
}

const FIND_SHOWN = statement<CheckRow & StateRow & { channel_uuids: string[] }>({
  name: "checks.find_shown",
  text: `select ${CHECK_COLUMNS}, ${STATE_COLUMNS},
      array(select ch.uuid from check_channels cc join channels ch on ch.id = cc.channel_id
        where cc.check_id = c.id order by ch.uuid)::text[] as channel_uuids
    from checks c join check_states s on s.check_id = c.id
    where c.uuid = $1 and c.deleted_at is null`,
});

/** The check with this UUID, in whatever project, with the UUIDs of its channels in the order of their texts. */
export async function findShownCheck(
  db: Db,
  uuid: string,
): Promise<(CheckWithState & { channelUuids: string[] }) | null> {
  const { rows } = await db.query(FIND_SHOWN, [uuid]);
  const [row] = rows;
  return row === undefined ? null : { ...toCheckWithState(row), channelUuids: row.channel_uuids };
}

const FIND_DELETED = statement<CheckRow & StateRow & { channel_uuids: string[] }>({
  name: "checks.find_deleted",
  text: `select ${CHECK_COLUMNS}, ${STATE_COLUMNS},
      array(select ch.uuid from check_channels cc join channels ch on ch.id = cc.channel_id
        where cc.check_id = c.id order by ch.uuid)::text[] as channel_uuids
    from checks c join check_states s on s.check_id = c.id
    where c.uuid = $1 and c.deleted_at is not null`,
});

/** The check with this UUID that was deleted and can be taken back, in whatever project. */
export async function findDeletedCheck(
  db: Db,
  uuid: string,
): Promise<(CheckWithState & { channelUuids: string[] }) | null> {
  const { rows } = await db.query(FIND_DELETED, [uuid]);
  const [row] = rows;
  return row === undefined ? null : { ...toCheckWithState(row), channelUuids: row.channel_uuids };
}

const FIND_OLDEST_MATCH = statement<CheckRow & StateRow>({
  name: "checks.find_oldest_match",
  text: `${SELECT_WITH_STATE}
    where c.project_id = $1 and c.deleted_at is null
      and ($2::text is null or c.name = $2) and ($3::text is null or c.slug = $3)
      and ($4::text is null or c.tags = $4) and ($5::int is null or c.timeout_seconds = $5)
      and ($6::int is null or c.grace_seconds = $6)
    order by c.id limit 1`,
});

/** The oldest check of a project that has all of these values; an absent one is not compared. */
export async function findOldestMatch(
  db: Db,
  { projectId, criteria }: { projectId: number; criteria: UniqueCriteria },
): Promise<CheckWithState | null> {
  const { name, slug, tags, timeoutSeconds, graceSeconds } = criteria;
  const wanted = [name, slug, tags, timeoutSeconds, graceSeconds].map((value) => value ?? null);
  const { rows } = await db.query(FIND_OLDEST_MATCH, [projectId, ...wanted]);
  return rows[0] === undefined ? null : toCheckWithState(rows[0]);
}

// The length of a stored description is known without reading it, so that what a page leaves out costs nothing.
const LIST = statement<CheckRow & StateRow>({
  name: "checks.list",
  text: `select * from (
      select ${CHECK_COLUMNS}, ${STATE_COLUMNS},
        sum(octet_length(c.description)) over (order by c.id) - octet_length(c.description) as bytes_before
      from checks c join check_states s on s.check_id = c.id
      where c.project_id = $1 and c.deleted_at is null and ($2::text is null or c.slug = $2) and c.id > $3
      order by c.id limit $4
    ) as page
    where $5::bigint is null or bytes_before < $5
    order by id`,
});

/** A page of checks: so many rows at most, and no further one after so many bytes of descriptions. */
export type CheckPage = { afterId: number; limit: number; bytesMax: number };

/** The checks of a project, oldest first: all of them, or a page; with a slug only those that have it. */
export async function listChecks(
  db: Db,
  { projectId, slug, page }: { projectId: number; slug?: string; page?: CheckPage },
): Promise<CheckWithState[]> {
  // No text in the database has a NUL, and none may be asked for.
  if (slug?.includes("\0") === true) return [];
  const { rows } = await db.query(LIST, [
    projectId,
    slug ?? null,
    page?.afterId ?? 0,
    page?.limit ?? null,
    page?.bytesMax ?? null,
  ]);
  return rows.map(toCheckWithState);
}

const LIST_TAGS = statement<{ tag: string }>({
  name: "checks.list_tags",
  text: `select tag from (
      select distinct t.tag from checks c cross join lateral unnest(string_to_array(c.tags, ' ')) as t (tag)
      where c.project_id = $1 and c.deleted_at is null and t.tag <> ''
    ) as tags
    order by tag collate "C" limit $2`,
});

/** The tags of a project, each once, in the order of their code points; at most `limit`. */
export async function listTags(
  db: Db,
  { projectId, limit }: { projectId: number; limit: number },
): Promise<string[]> {
  return (await db.query(LIST_TAGS, [projectId, limit])).rows.map(({ tag }) => tag);
}

const COUNT_OWNED = statement<{ count: number }>({
  name: "checks.count_owned",
  text: `select count(*) as count
    from members m join checks c on c.project_id = m.project_id
    where m.account_id = $1 and m.role = 'owner' and c.deleted_at is null`,
});

/** How many checks there are in all projects that an account owns: what its limit is compared with. */
export async function countChecksOwnedBy(db: Db, accountId: number): Promise<number> {
  return (await db.query(COUNT_OWNED, [accountId])).rows[0]?.count ?? 0;
}

const LIST_DELETED = statement<{ id: number; uuid: string; name: string; deleted_at: Instant }>({
  name: "checks.list_deleted",
  text: `select id, uuid, name, deleted_at from checks
    where project_id = $1 and deleted_at >= $2 order by deleted_at desc limit $3`,
});

export type DeletedCheck = { id: number; uuid: string; name: string; deletedAt: Instant };

/** The checks of a project that were deleted since an instant, the last deleted first, at most `limit`. */
export async function listDeletedChecks(
  db: Db,
  { projectId, from, limit }: { projectId: number; from: Instant; limit: number },
): Promise<DeletedCheck[]> {
  const { rows } = await db.query(LIST_DELETED, [projectId, toTimestamp(from), limit]);
  return rows.map(({ id, uuid, name, deleted_at }) => ({ id, uuid, name, deletedAt: deleted_at }));
}

const LIST_IDS_AFTER = statement<{ id: number }>({
  name: "checks.list_ids_after",
  text: "select id from checks where id > $1 order by id limit $2",
});

/** The next ids of all checks of the installation, deleted or not: for whoever goes through them in portions. */
export async function listCheckIdsAfter(
  db: Db,
  { afterId, limit }: { afterId: number; limit: number },
): Promise<number[]> {
  return (await db.query(LIST_IDS_AFTER, [afterId, limit])).rows.map(({ id }) => id);
}

const DELETED_AT = statement<{ deleted_at: Instant | null }>({
  name: "checks.deleted_at",
  text: "select deleted_at from checks where id = $1",
});

/** When a check was marked as deleted; null when it is not, or is not there. */
export async function deletedAtOf(db: Db, checkId: number): Promise<Instant | null> {
  return (await db.query(DELETED_AT, [checkId])).rows[0]?.deleted_at ?? null;
}

const FIND_DELETED_BEFORE = statement<{ id: number }>({
  name: "checks.find_deleted_before",
  text: "select id from checks where deleted_at < $1 order by deleted_at limit $2",
});

/** Ids of checks that were marked before an instant, at most `limit`: their days of grace are over. */
export async function findChecksDeletedBefore(
  db: Db,
  { before, limit }: { before: Instant; limit: number },
): Promise<number[]> {
  return (await db.query(FIND_DELETED_BEFORE, [toTimestamp(before), limit])).rows.map((row) => row.id);
}
