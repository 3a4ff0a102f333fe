// Near misses and the aliases of checks: their rows, and the searches for what a request was meant for.
import type { Instant } from "../core/instant.ts";
import type { Deletion, MissedCheck, NearMissKind, Tally } from "../core/near-miss.ts";
import { type Db, statement } from "./db.ts";
import type { Tx } from "./transaction.ts";
import { toNumberArray, toTextArray, toTimestamp } from "./values.ts";

// What a request was meant for. Each search uses an index and serves many requests at once.

type MissedRow = { id: number; project_id: number; uuid: string; is_deleted: boolean };

function toMissed(row: MissedRow): MissedCheck {
  return { id: row.id, projectId: row.project_id, uuid: row.uuid, isDeleted: row.is_deleted };
}

const FIND_MISSED = statement<MissedRow>({
  name: "near_misses.find_checks",
  text: `select id, project_id, uuid, deleted_at is not null as is_deleted from checks
    where uuid = any ($1::uuid[])`,
});

/** The checks with these UUIDs, including those in the trash. */
export async function findMissedChecks(db: Db, uuids: readonly string[]): Promise<MissedCheck[]> {
  return (await db.query(FIND_MISSED, [toTextArray(uuids)])).rows.map(toMissed);
}

const piece = (position: number) =>
  `'${position}' || substr(replace(uuid::text, '-', ''), ${position * 8 + 1}, 8)`;

const FIND_SIMILAR = statement<MissedRow>({
  name: "near_misses.find_similar",
  text: `select id, project_id, uuid, deleted_at is not null as is_deleted from checks
    where (array[${[0, 1, 2, 3].map(piece).join(", ")}]) && $1::text[] limit $2`,
});

/** Checks whose UUIDs have one of these pieces (`uuidPieces`), at most `limit`. */
export async function findSimilarChecks(
  db: Db,
  { pieces, limit }: { pieces: readonly string[]; limit: number },
): Promise<MissedCheck[]> {
  return (await db.query(FIND_SIMILAR, [toTextArray(pieces), limit])).rows.map(toMissed);
}

const FIND_DELETIONS = statement<{ uuid: string; project_id: number; subject: string; at: Instant }>({
  name: "near_misses.find_deletions",
  text: `select distinct on (before ->> 'uuid') before ->> 'uuid' as uuid, project_id, subject, at from audit_entries
    where what = 'check.deleted' and before ->> 'uuid' = any ($1::text[]) and project_id is not null
    order by before ->> 'uuid', id desc`,
});

/** The last deletion of each of these UUIDs, by UUID. */
export async function findDeletions(db: Db, uuids: readonly string[]): Promise<Map<string, Deletion>> {
  const { rows } = await db.query(FIND_DELETIONS, [toTextArray(uuids)]);
  return new Map(
    rows.map(({ uuid, project_id, subject, at }) => [uuid, { projectId: project_id, name: subject, at }]),
  );
}

const FIND_PROJECTS = statement<{ ping_key: string; id: number }>({
  name: "near_misses.find_projects",
  text: "select ping_key, id from projects where ping_key = any ($1::text[])",
});

/** The projects with these ping keys, by key. */
export async function findProjectsByPingKeys(db: Db, keys: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await db.query(FIND_PROJECTS, [toTextArray(keys)]);
  return new Map(rows.map(({ ping_key, id }) => [ping_key, id]));
}

export type SlugOfProject = { projectId: number; slug: string };

const FIND_BY_SLUGS = statement<{ project_id: number; slug: string; id: number }>({
  name: "near_misses.find_by_slugs",
  text: `select c.project_id, c.slug, min(c.id) as id
    from unnest($1::bigint[], $2::text[]) as n (project_id, slug)
    join checks c on c.project_id = n.project_id and c.slug = n.slug
    where c.deleted_at is null and c.slug <> ''
    group by c.project_id, c.slug`,
});

/** The checks with these slugs; of several with the same slug, the oldest. */
export async function findChecksBySlugs(
  db: Db,
  slugs: readonly SlugOfProject[],
): Promise<(SlugOfProject & { id: number })[]> {
  const { rows } = await db.query(FIND_BY_SLUGS, [
    toNumberArray(slugs.map(({ projectId }) => projectId)),
    toTextArray(slugs.map(({ slug }) => slug)),
  ]);
  return rows.map(({ project_id, slug, id }) => ({ projectId: project_id, slug, id }));
}

const side = (comparison: string, direction: string) => `select c.id, c.slug from checks c
        where c.project_id = n.project_id and c.slug ${comparison} n.slug and c.deleted_at is null and c.slug <> ''
        order by c.slug ${direction} limit $3`;

const FIND_SLUG_NEIGHBORS = statement<{ project_id: number; id: number; slug: string }>({
  name: "near_misses.find_slug_neighbors",
  text: `select n.project_id, c.id, c.slug
    from unnest($1::bigint[], $2::text[]) as n (project_id, slug)
    cross join lateral ((${side(">=", "asc")}) union all (${side("<", "desc")})) c`,
});

/** Checks of these projects whose slugs are next to the given ones in the alphabet, at most `limitEach` on each side. */
export async function findSlugNeighbors(
  db: Db,
  { slugs, limitEach }: { slugs: readonly SlugOfProject[]; limitEach: number },
): Promise<(SlugOfProject & { id: number })[]> {
  const { rows } = await db.query(FIND_SLUG_NEIGHBORS, [
    toNumberArray(slugs.map(({ projectId }) => projectId)),
    toTextArray(slugs.map(({ slug }) => slug)),
    limitEach,
  ]);
  return rows.map(({ project_id, slug, id }) => ({ projectId: project_id, slug, id }));
}

// The rows of near misses.

export type NearMissName = { projectId: number; kind: NearMissKind; address: string };

/** The newest request. */
export type NearMissSource = { method: string; remoteAddr: string | null; ua: string };

export type NearMiss = NearMissName &
  NearMissSource &
  Tally & {
    id: number;
    bySlug: boolean;
    checkId: number | null;
    deletedName: string | null;
    deletedAt: Instant | null;
    ignoredAt: Instant | null;
    resolvedAt: Instant | null;
  };

type NearMissRow = {
  id: number;
  project_id: number;
  kind: NearMissKind;
  by_slug: boolean;
  address: string;
  check_id: number | null;
  deleted_name: string | null;
  deleted_at: Instant | null;
  method: string;
  remote_addr: string | null;
  ua: string;
  count: number;
  first_at: Instant;
  last_at: Instant;
  spark: number[];
  spark_bar: number;
  arrivals: number[];
  ignored_at: Instant | null;
  resolved_at: Instant | null;
};

const COLUMNS = `m.id, m.project_id, m.kind, m.by_slug, m.address, m.check_id, m.deleted_name, m.deleted_at, m.method,
  m.remote_addr, m.ua, m.count, m.first_at, m.last_at, m.spark, m.spark_bar, m.arrivals, m.ignored_at, m.resolved_at`;

function toNearMiss(row: NearMissRow): NearMiss {
  return {
    id: row.id,
    projectId: row.project_id,
    kind: row.kind,
    bySlug: row.by_slug,
    address: row.address,
    checkId: row.check_id,
    deletedName: row.deleted_name,
    deletedAt: row.deleted_at,
    method: row.method,
    remoteAddr: row.remote_addr,
    ua: row.ua,
    count: row.count,
    firstAt: row.first_at,
    lastAt: row.last_at,
    spark: row.spark,
    sparkBar: row.spark_bar,
    arrivals: row.arrivals,
    ignoredAt: row.ignored_at,
    resolvedAt: row.resolved_at,
  };
}

const LOCK = statement({
  name: "near_misses.lock_all",
  text: "select pg_advisory_xact_lock(7064531927)",
});

/** Serializes the processes that write near misses, until the transaction ends. */
export async function lockNearMisses(tx: Tx): Promise<void> {
  await tx.query(LOCK, []);
}

const FIND_NAMED = statement<NearMissRow>({
  name: "near_misses.find_named",
  text: `select ${COLUMNS} from unnest($1::bigint[], $2::text[], $3::text[]) as n (project_id, kind, address)
    join near_misses m on m.project_id = n.project_id and m.kind = n.kind and m.address = n.address`,
});

/** Those of these near misses that are stored. */
export async function findNamedNearMisses(db: Db, names: readonly NearMissName[]): Promise<NearMiss[]> {
  const { rows } = await db.query(FIND_NAMED, [
    toNumberArray(names.map(({ projectId }) => projectId)),
    toTextArray(names.map(({ kind }) => kind)),
    toTextArray(names.map(({ address }) => address)),
  ]);
  return rows.map(toNearMiss);
}

const WRITE = statement({
  name: "near_misses.write",
  text: `insert into near_misses as m (project_id, kind, by_slug, address, check_id, deleted_name, deleted_at, method,
      remote_addr, ua, count, first_at, last_at, spark, spark_bar, arrivals)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14::bigint[], $15, $16::bigint[])
    on conflict (project_id, kind, address) do update set check_id = excluded.check_id,
      deleted_name = excluded.deleted_name, deleted_at = excluded.deleted_at, method = excluded.method,
      remote_addr = excluded.remote_addr, ua = excluded.ua, count = excluded.count, first_at = excluded.first_at,
      last_at = excluded.last_at, spark = excluded.spark, spark_bar = excluded.spark_bar,
      arrivals = excluded.arrivals,
      resolved_at = case when m.resolved_at < $17 then null else m.resolved_at end`,
});

export type WrittenNearMiss = Omit<NearMiss, "id" | "ignoredAt" | "resolvedAt">;

/** Inserts or replaces a near miss. One that was resolved before `reopenBefore` is open again. */
export async function writeNearMiss(
  tx: Tx,
  { reopenBefore, ...miss }: WrittenNearMiss & { reopenBefore: Instant },
): Promise<void> {
  await tx.query(WRITE, [
    miss.projectId,
    miss.kind,
    miss.bySlug,
    miss.address,
    miss.checkId,
    miss.deletedName,
    toTimestamp(miss.deletedAt),
    miss.method,
    miss.remoteAddr,
    miss.ua,
    miss.count,
    toTimestamp(miss.firstAt),
    toTimestamp(miss.lastAt),
    toNumberArray(miss.spark),
    miss.sparkBar,
    toNumberArray(miss.arrivals),
    toTimestamp(reopenBefore),
  ]);
}

const LIST_RANKED = statement<{
  id: number;
  count: number;
  last_at: Instant;
  is_likely: boolean;
  project_id: number;
}>({
  name: "near_misses.list_ranked",
  text: `select id, project_id, count, last_at, check_id is not null or ignored_at is not null as is_likely
    from near_misses where project_id = any ($1::bigint[])`,
});

export type RankedNearMiss = {
  id: number;
  projectId: number;
  count: number;
  lastAt: Instant;
  isLikely: boolean;
};

/** All near misses of projects, with what decides which of them are kept. */
export async function listRankedNearMisses(db: Db, projectIds: readonly number[]): Promise<RankedNearMiss[]> {
  return (await db.query(LIST_RANKED, [toNumberArray(projectIds)])).rows.map((row) => ({
    id: row.id,
    projectId: row.project_id,
    count: row.count,
    lastAt: row.last_at,
    isLikely: row.is_likely,
  }));
}

const DELETE = statement({
  name: "near_misses.delete",
  text: "delete from near_misses where id = any ($1::bigint[])",
});

export async function deleteNearMisses(tx: Tx, ids: readonly number[]): Promise<void> {
  await tx.query(DELETE, [toNumberArray(ids)]);
}

type ShownRow = NearMissRow & {
  check_uuid: string | null;
  check_name: string | null;
  check_slug: string | null;
  check_deleted_at: Instant | null;
};

/** With the check that it was meant for, if the check is in the same project. */
export type ShownNearMiss = NearMiss & {
  check: { uuid: string; name: string; slug: string; deletedAt: Instant | null } | null;
};

const SHOWN = `select ${COLUMNS}, c.uuid as check_uuid, c.name as check_name, c.slug as check_slug,
    c.deleted_at as check_deleted_at
  from near_misses m left join checks c on c.id = m.check_id and c.project_id = m.project_id`;
/** A restored check has no near miss; one that left the trash cannot be restored. */
const IS_OPEN = `m.resolved_at is null and not (m.kind = 'deleted' and c.id is not null and c.deleted_at is null)`;

function toShown(row: ShownRow): ShownNearMiss {
  const { check_uuid: uuid, check_name: name, check_slug: slug } = row;
  const isThere = uuid !== null && name !== null && slug !== null;
  return {
    ...toNearMiss(row),
    check: isThere ? { uuid, name, slug, deletedAt: row.check_deleted_at } : null,
  };
}

const LIST = statement<ShownRow>({
  name: "near_misses.list",
  text: `${SHOWN} where m.project_id = $1 and (m.ignored_at is not null) = $2 and ${IS_OPEN}
    order by m.last_at desc, m.id desc limit $3`,
});

/** Open or ignored near misses of a project, last seen first. */
export async function listNearMisses(
  db: Db,
  { projectId, isIgnored, limit }: { projectId: number; isIgnored: boolean; limit: number },
): Promise<ShownNearMiss[]> {
  return (await db.query(LIST, [projectId, isIgnored, limit])).rows.map(toShown);
}

const COUNT = statement<{ open: number; ignored: number }>({
  name: "near_misses.count",
  text: `select count(*) filter (where m.ignored_at is null) as open,
      count(*) filter (where m.ignored_at is not null) as ignored
    from near_misses m left join checks c on c.id = m.check_id and c.project_id = m.project_id
    where m.project_id = $1 and ${IS_OPEN}`,
});

export async function countNearMisses(db: Db, projectId: number): Promise<{ open: number; ignored: number }> {
  return (await db.query(COUNT, [projectId])).rows[0] ?? { open: 0, ignored: 0 };
}

const FIND = statement<ShownRow>({
  name: "near_misses.find",
  text: `${SHOWN} where m.project_id = $1 and m.id = $2`,
});

export async function findNearMiss(
  db: Db,
  { projectId, id }: { projectId: number; id: number },
): Promise<ShownNearMiss | null> {
  const { rows } = await db.query(FIND, [projectId, id]);
  return rows[0] === undefined ? null : toShown(rows[0]);
}

const MARK = statement({
  name: "near_misses.mark",
  text: "update near_misses set ignored_at = $2, resolved_at = $3 where id = $1",
});

/** Sets when a near miss was ignored and resolved. */
export async function markNearMiss(
  tx: Tx,
  { id, ignoredAt, resolvedAt }: Pick<NearMiss, "id" | "ignoredAt" | "resolvedAt">,
): Promise<void> {
  await tx.query(MARK, [id, toTimestamp(ignoredAt), toTimestamp(resolvedAt)]);
}

const REOPEN = statement({
  name: "near_misses.reopen",
  text: `update near_misses set resolved_at = null
    where project_id = $1 and address = $2 and by_slug = $3 and resolved_at is not null`,
});

/** An alias was removed: the near misses with its address are open again. */
export async function reopenNearMisses(
  tx: Tx,
  { projectId, address, bySlug }: { projectId: number; address: string; bySlug: boolean },
): Promise<void> {
  await tx.query(REOPEN, [projectId, address, bySlug]);
}

const PRUNE = statement({
  name: "near_misses.prune",
  text: `delete from near_misses where id in (
      select id from near_misses where last_at < $1 order by last_at limit $2
    )`,
});

/** Deletes at most `limit` near misses that were last seen before an instant; returns how many. */
export async function pruneNearMisses(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE, [toTimestamp(before), limit])).count;
}

// Aliases.

export type Alias = {
  id: number;
  checkId: number;
  address: string;
  bySlug: boolean;
  createdAt: Instant;
  /** Of the account that added it, unless it was closed. */
  email: string | null;
};

/** One of the three; `projectId` belongs to the slug. */
export type AliasAddress = { uuid: string } | { projectId: number; slug: string } | { malformed: string };

const INSERT_ALIAS = statement<{ id: number }>({
  name: "check_aliases.insert",
  text: `insert into check_aliases (check_id, uuid, project_id, slug, malformed, account_id, created_at)
    values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing returning id`,
});

/** The ID of the new alias; null if the address is an alias already. */
export async function insertAlias(
  tx: Tx,
  {
    checkId,
    address,
    accountId,
    createdAt,
  }: { checkId: number; address: AliasAddress; accountId: number | null; createdAt: Instant },
): Promise<number | null> {
  const { rows } = await tx.query(INSERT_ALIAS, [
    checkId,
    "uuid" in address ? address.uuid : null,
    "slug" in address ? address.projectId : null,
    "slug" in address ? address.slug : null,
    "malformed" in address ? address.malformed : null,
    accountId,
    toTimestamp(createdAt),
  ]);
  return rows[0]?.id ?? null;
}

const DELETE_ADDRESS = statement({
  name: "check_aliases.delete_address",
  text: `delete from check_aliases a using checks c
    where c.id = a.check_id and c.project_id = $1
      and (a.uuid = $2 or (a.project_id = $1 and a.slug = $3) or a.malformed = $4)`,
});

/** Deletes the alias of a project's check with this address, so that it can be added to another check. */
export async function deleteAliasAddress(
  tx: Tx,
  { projectId, address }: { projectId: number; address: AliasAddress },
): Promise<void> {
  await tx.query(DELETE_ADDRESS, [
    projectId,
    "uuid" in address ? address.uuid : null,
    "slug" in address ? address.slug : null,
    "malformed" in address ? address.malformed : null,
  ]);
}

const LIST_ALIASES = statement<{
  id: number;
  check_id: number;
  address: string;
  by_slug: boolean;
  created_at: Instant;
  email: string | null;
}>({
  name: "check_aliases.list",
  text: `select a.id, a.check_id, coalesce(a.uuid::text, a.slug, a.malformed) as address, a.slug is not null as by_slug,
      a.created_at, o.email
    from check_aliases a left join accounts o on o.id = a.account_id
    where a.check_id = $1 order by a.id`,
});

/** The aliases of a check, oldest first. */
export async function listAliases(db: Db, checkId: number): Promise<Alias[]> {
  const { rows } = await db.query(LIST_ALIASES, [checkId]);
  return rows.map((row) => ({
    id: row.id,
    checkId: row.check_id,
    address: row.address,
    bySlug: row.by_slug,
    createdAt: row.created_at,
    email: row.email,
  }));
}

const DELETE_ALIAS = statement({
  name: "check_aliases.delete",
  text: "delete from check_aliases where check_id = $1 and id = $2",
});

/** False: the check has no such alias. */
export async function deleteAlias(
  tx: Tx,
  { checkId, id }: { checkId: number; id: number },
): Promise<boolean> {
  return (await tx.query(DELETE_ALIAS, [checkId, id])).count > 0;
}

const BY_UUID = statement<{ uuid: string; check_id: number }>({
  name: "check_aliases.by_uuid",
  text: `select a.uuid, a.check_id from check_aliases a join checks c on c.id = a.check_id
    where a.uuid = any ($1::uuid[]) and c.deleted_at is null`,
});

/** The checks of which these UUIDs are aliases, by UUID. */
export async function findAliasesByUuid(db: Db, uuids: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await db.query(BY_UUID, [toTextArray(uuids)]);
  return new Map(rows.map(({ uuid, check_id }) => [uuid, check_id]));
}

const BY_SLUG = statement<{ position: number; check_id: number }>({
  name: "check_aliases.by_slug",
  text: `select n.position, a.check_id
    from unnest($1::text[], $2::text[]) with ordinality as n (ping_key, slug, position)
    join projects p on p.ping_key = n.ping_key
    join check_aliases a on a.project_id = p.id and a.slug = n.slug
    join checks c on c.id = a.check_id and c.project_id = p.id
    where c.deleted_at is null`,
});

/** For each pair, in order: the check of which it is an alias, or null. */
export async function findAliasesBySlug(
  db: Db,
  pairs: readonly { pingKey: string; slug: string }[],
): Promise<(number | null)[]> {
  const found: (number | null)[] = pairs.map(() => null);
  const { rows } = await db.query(BY_SLUG, [
    toTextArray(pairs.map(({ pingKey }) => pingKey)),
    toTextArray(pairs.map(({ slug }) => slug)),
  ]);
  for (const { position, check_id } of rows) found[position - 1] = check_id;
  return found;
}

const LIST_MALFORMED = statement<{ malformed: string; uuid: string }>({
  name: "check_aliases.list_malformed",
  text: `select a.malformed, c.uuid from check_aliases a join checks c on c.id = a.check_id
    where a.malformed is not null and c.deleted_at is null order by a.id desc limit $1`,
});

/** Aliases that are not UUIDs, with the UUIDs of their checks: the newest. */
export async function listMalformedAliases(db: Db, limit: number): Promise<Map<string, string>> {
  const { rows } = await db.query(LIST_MALFORMED, [limit]);
  return new Map(rows.map(({ malformed, uuid }) => [malformed, uuid]));
}
