// Status pages: their settings, logos, domains, and what is published on them.
import type { Instant } from "../core/instant.ts";
import type { Announced, Brand, LogoType, StatusGroup, StatusPage } from "../core/status-page.ts";
import { lowerHalf } from "./check-lists.ts";
import { type Db, statement } from "./db.ts";
import type { Tx } from "./transaction.ts";
import { AT_ONCE, toNumberArray, toTextArray, toTimestamp } from "./values.ts";

type PageRow = {
  id: number;
  uuid: string;
  project_id: number;
  slug: string;
  title: string;
  description: string;
  brand: Brand;
  groups: StatusGroup[];
  password_hash: string | null;
  domain: string | null;
  domain_token: string | null;
  domain_proved_at: Instant | null;
  domain_checked_at: Instant | null;
  domain_lost_at: Instant | null;
  logo_type: LogoType | null;
  logo_digest: string | null;
  created_at: Instant;
  deleted_at: Instant | null;
  version: number;
};

const COLUMNS = `p.id, p.uuid, p.project_id, p.slug, p.title, p.description, p.brand, p.groups, p.password_hash, p.domain,
  p.domain_token, p.domain_proved_at, p.domain_checked_at, p.domain_lost_at, l.type as logo_type,
  l.digest as logo_digest, p.created_at, p.deleted_at, p.version`;

const FROM = "from status_pages p left join status_logos l on l.page_id = p.id";

function toPage(row: PageRow): StatusPage {
  const { domain, domain_token: token, logo_type: type, logo_digest: digest } = row;
  return {
    id: row.id,
    uuid: row.uuid,
    projectId: row.project_id,
    slug: row.slug,
    title: row.title,
    description: row.description,
    brand: row.brand,
    groups: row.groups,
    passwordHash: row.password_hash,
    domain:
      domain === null || token === null
        ? null
        : {
            name: domain,
            token,
            provedAt: row.domain_proved_at,
            checkedAt: row.domain_checked_at,
            lostAt: row.domain_lost_at,
          },
    logo: type === null || digest === null ? null : { type, digest },
    createdAt: row.created_at,
    deletedAt: row.deleted_at,
    version: row.version,
  };
}

/** What a user chooses. */
export type StatusPlan = Pick<
  StatusPage,
  "slug" | "title" | "description" | "brand" | "groups" | "passwordHash"
>;

function planValues(plan: StatusPlan): (string | null)[] {
  const { slug, title, description, brand, groups, passwordHash } = plan;
  return [slug, title, description, JSON.stringify(brand), JSON.stringify(groups), passwordHash];
}

const INSERT = statement<{ id: number }>({
  name: "status_pages.insert",
  text: `insert into status_pages (slug, title, description, brand, groups, password_hash, uuid, project_id, created_at,
      version)
    values ($1, $2, $3, $4::jsonb, $5::jsonb, $6, $7, $8, $9, 1) returning id`,
});

/** Inserts a page without a domain and returns its ID. */
export async function insertStatusPage(
  tx: Tx,
  page: StatusPlan & Pick<StatusPage, "uuid" | "projectId" | "createdAt">,
): Promise<number> {
  const { rows } = await tx.query(INSERT, [
    ...planValues(page),
    page.uuid,
    page.projectId,
    toTimestamp(page.createdAt),
  ]);
  if (rows[0] === undefined) throw new Error("a status page was not inserted");
  return rows[0].id;
}

const WRITE = statement({
  name: "status_pages.write",
  text: `update status_pages set slug = $1, title = $2, description = $3, brand = $4::jsonb, groups = $5::jsonb,
      password_hash = $6, version = version + 1 where id = $7`,
});

export async function writeStatusPage(tx: Tx, { id, ...plan }: StatusPlan & { id: number }): Promise<void> {
  await tx.query(WRITE, [...planValues(plan), id]);
}

const WRITE_DOMAIN = statement({
  name: "status_pages.write_domain",
  text: `update status_pages set domain = $2, domain_token = $3, domain_proved_at = null, domain_checked_at = null,
      domain_lost_at = null, domain_check_at = case when $2::text is not null then ${AT_ONCE} end
    where id = $1`,
});

/** Sets a domain that is not proved yet, or none. */
export async function writeStatusDomain(
  tx: Tx,
  { id, domain }: { id: number; domain: { name: string; token: string } | null },
): Promise<void> {
  await tx.query(WRITE_DOMAIN, [id, domain?.name ?? null, domain?.token ?? null]);
}

const WRITE_DELETED = statement({
  name: "status_pages.write_deleted",
  text: "update status_pages set deleted_at = $2, version = version + 1 where id = $1",
});

/** Deletes a page for the time being, or (null) restores it. */
export async function writeStatusPageDeleted(
  tx: Tx,
  { id, at }: { id: number; at: Instant | null },
): Promise<void> {
  await tx.query(WRITE_DELETED, [id, toTimestamp(at)]);
}

const FIND = statement<PageRow>({
  name: "status_pages.find",
  text: `select ${COLUMNS} ${FROM} where p.uuid = $1 and p.project_id = $2`,
});

export type StatusPageName = { projectId: number; uuid: string };

/** The page of a project, also if it is deleted. */
export async function findStatusPage(
  db: Db,
  { projectId, uuid }: StatusPageName,
): Promise<StatusPage | null> {
  const [row] = (await db.query(FIND, [uuid, projectId])).rows;
  return row === undefined ? null : toPage(row);
}

const FIND_BY_ID = statement<PageRow & { zone: string }>({
  name: "status_pages.find_by_id",
  text: `select ${COLUMNS}, r.tz as zone from status_pages p left join status_logos l on l.page_id = p.id
      join projects r on r.id = p.project_id
    where p.id = $1 and p.deleted_at is null`,
});

/** A page that is not deleted, and the time zone of its project. */
export async function findStatusPageById(
  db: Db,
  id: number,
): Promise<{ page: StatusPage; zone: string } | null> {
  const [row] = (await db.query(FIND_BY_ID, [id])).rows;
  return row === undefined ? null : { page: toPage(row), zone: row.zone };
}

const LIST = statement<PageRow>({
  name: "status_pages.list",
  text: `select ${COLUMNS} ${FROM} where p.project_id = $1 and (p.deleted_at is not null) = $2
    order by p.title, p.id limit $3`,
});

/** The pages of a project by title: those in use, or the deleted ones. */
export async function listStatusPages(
  db: Db,
  { projectId, isDeleted, limit }: { projectId: number; isDeleted: boolean; limit: number },
): Promise<StatusPage[]> {
  return (await db.query(LIST, [projectId, isDeleted, limit])).rows.map(toPage);
}

const COUNT = statement<{ count: number }>({
  name: "status_pages.count",
  text: "select count(*) as count from status_pages where project_id = $1",
});

/** How many pages a project has, with deleted ones. */
export async function countStatusPages(db: Db, projectId: number): Promise<number> {
  return (await db.query(COUNT, [projectId])).rows[0]?.count ?? 0;
}

const FIND_SLUG = statement<{ id: number }>({
  name: "status_pages.find_slug",
  text: "select id from status_pages where slug = $1",
});

/** The page of any project with this slug, also if it is deleted. */
export async function findStatusPageIdBySlug(db: Db, slug: string): Promise<number | null> {
  return (await db.query(FIND_SLUG, [slug])).rows[0]?.id ?? null;
}

/** A page as the public server needs to know it. */
export type ServedPage = Pick<StatusPage, "id" | "uuid" | "slug" | "version" | "passwordHash"> & {
  /** The proved domain. */
  domain: string | null;
  isDeleted: boolean;
};

type ServedRow = {
  id: number;
  uuid: string;
  slug: string;
  version: number;
  password_hash: string | null;
  domain: string | null;
  is_deleted: boolean;
};

function toServed(row: ServedRow): ServedPage {
  const { id, uuid, slug, version, domain } = row;
  return { id, uuid, slug, version, domain, passwordHash: row.password_hash, isDeleted: row.is_deleted };
}

const SERVED = `p.id, p.uuid, p.slug, p.version, p.password_hash,
  case when p.domain_proved_at is not null then p.domain end as domain, p.deleted_at is not null as is_deleted`;

const LIST_SERVED = statement<ServedRow>({
  name: "status_pages.list_served",
  text: `select ${SERVED} from status_pages p where p.deleted_at is null`,
});

/** All pages that are served. */
export async function listServedPages(db: Db): Promise<ServedPage[]> {
  return (await db.query(LIST_SERVED, [])).rows.map(toServed);
}

// Whatever changes a check is in the audit log, except for pings; those that change a status write a flip.
const LIST_CHANGED = statement<ServedRow>({
  name: "status_pages.list_changed",
  text: `with changed as (
      select a.project_id from (
        select project_id, xmin as written_by from audit_entries order by id desc limit $2
      ) as a where age(a.written_by) <= age($1::text::xid)
      union
      select c.project_id from (
        select check_id, xmin as written_by from flips order by id desc limit $2
      ) as f join checks c on c.id = f.check_id where age(f.written_by) <= age($1::text::xid)
    )
    select ${SERVED} from status_pages p
    where age(p.xmin) <= age($1::text::xid) or p.project_id in (select project_id from changed)`,
});

/**
 * The pages that were written since a cursor, or whose projects were: among the `limit` newest changes of all projects;
 * see check-lists.ts. With deleted ones.
 */
export async function listChangedPages(
  db: Db,
  { since, limit }: { since: number; limit: number },
): Promise<ServedPage[]> {
  return (await db.query(LIST_CHANGED, [String(lowerHalf(since)), limit])).rows.map(toServed);
}

const PRUNE = statement({
  name: "status_pages.prune",
  text: `delete from status_pages where id in (
      select id from status_pages where deleted_at < $1 order by id limit $2
    )`,
});

/** Deletes pages that were deleted before an instant, with everything that belongs to them. */
export async function pruneStatusPages(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE, [toTimestamp(before), limit])).count;
}

// Logos.

const WRITE_LOGO = statement({
  name: "status_logos.write",
  text: `insert into status_logos (page_id, type, digest, bytes) values ($1, $2, $3, $4)
    on conflict (page_id) do update set type = excluded.type, digest = excluded.digest, bytes = excluded.bytes`,
});

export type StatusLogo = { type: LogoType; digest: string; bytes: Buffer };

export async function writeStatusLogo(
  tx: Tx,
  { pageId, type, digest, bytes }: StatusLogo & { pageId: number },
): Promise<void> {
  await tx.query(WRITE_LOGO, [pageId, type, digest, bytes]);
}

const DELETE_LOGO = statement({
  name: "status_logos.delete",
  text: "delete from status_logos where page_id = $1",
});

export async function deleteStatusLogo(tx: Tx, pageId: number): Promise<void> {
  await tx.query(DELETE_LOGO, [pageId]);
}

const FIND_LOGO = statement<StatusLogo>({
  name: "status_logos.find",
  text: "select type, digest, bytes from status_logos where page_id = $1",
});

export async function findStatusLogo(db: Db, pageId: number): Promise<StatusLogo | null> {
  return (await db.query(FIND_LOGO, [pageId])).rows[0] ?? null;
}

// Domains.

const REQUEST_DOMAIN_CHECK = statement({
  name: "status_pages.request_domain",
  text: `update status_pages set domain_check_at = ${AT_ONCE} where id = $1 and domain is not null`,
});

/** DNS is asked about the domain of a page as soon as possible. */
export async function requestDomainCheck(tx: Tx, pageId: number): Promise<void> {
  await tx.query(REQUEST_DOMAIN_CHECK, [pageId]);
}

const CLAIM_DOMAINS = statement<PageRow>({
  name: "status_pages.claim_domains",
  text: `with due as (
      select id from status_pages
      where domain_check_at is not null and domain_check_at <= $1 and deleted_at is null
      order by domain_check_at, id limit $2 for update skip locked
    ), claimed as (
      update status_pages p set domain_check_at = $3 from due where p.id = due.id returning p.*
    )
    select ${COLUMNS} from claimed p left join status_logos l on l.page_id = p.id order by p.id`,
});

/** Claims domains that are due. Unless written before `untilAt`, they are due again then. */
export async function claimDomainChecks(
  tx: Tx,
  { now, limit, untilAt }: { now: Instant; limit: number; untilAt: Instant },
): Promise<StatusPage[]> {
  const { rows } = await tx.query(CLAIM_DOMAINS, [toTimestamp(now), limit, toTimestamp(untilAt)]);
  return rows.map(toPage);
}

const WRITE_DOMAIN_CHECK = statement({
  name: "status_pages.write_domain_check",
  text: `update status_pages p set domain_checked_at = $3, domain_lost_at = $5, domain_check_at = $6,
      domain_proved_at = case when not exists (
          select from status_pages o where o.domain = p.domain and o.domain_proved_at is not null and o.id <> p.id
        ) then $4::timestamptz end
    where p.id = $1 and p.domain_token = $2`,
});

export type CheckedDomain = {
  id: number;
  token: string;
  at: Instant;
  provedAt: Instant | null;
  lostAt: Instant | null;
  checkAt: Instant | null;
};

/** Writes the result of a check, unless the domain was changed. A domain that another page has proved is not proved. */
export async function writeDomainCheck(tx: Tx, check: CheckedDomain): Promise<void> {
  const { id, token, at, provedAt, lostAt, checkAt } = check;
  await tx.query(WRITE_DOMAIN_CHECK, [
    id,
    token,
    toTimestamp(at),
    toTimestamp(provedAt),
    toTimestamp(lostAt),
    toTimestamp(checkAt),
  ]);
}

// What is published.

export type StoredPost = {
  id: number;
  uuid: string;
  pageId: number;
  kind: "incident" | "maintenance";
  title: string;
  /** IDs of entries. */
  entries: readonly string[];
  from: Instant;
  until: Instant | null;
  incidentNumber: number | null;
  silenceUuid: string | null;
  createdAt: Instant;
  updatedAt: Instant;
};

type PostRow = {
  id: number;
  uuid: string;
  page_id: number;
  kind: "incident" | "maintenance";
  title: string;
  entries: string[];
  from_at: Instant;
  until_at: Instant | null;
  incident_number: number | null;
  silence_uuid: string | null;
  created_at: Instant;
  updated_at: Instant;
};

const POST_COLUMNS = `id, uuid, page_id, kind, title, entries, from_at, until_at, incident_number, silence_uuid,
  created_at, updated_at`;

function toPost(row: PostRow): StoredPost {
  return {
    id: row.id,
    uuid: row.uuid,
    pageId: row.page_id,
    kind: row.kind,
    title: row.title,
    entries: row.entries,
    from: row.from_at,
    until: row.until_at,
    incidentNumber: row.incident_number,
    silenceUuid: row.silence_uuid,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

const INSERT_POST = statement<{ id: number }>({
  name: "status_posts.insert",
  text: `insert into status_posts (uuid, page_id, kind, title, entries, from_at, until_at, incident_number, silence_uuid,
      created_at, updated_at)
    values ($1, $2, $3, $4, $5::jsonb, $6, $7, $8, $9, $10, $10) returning id`,
});

/** Inserts a post and returns its ID. */
export async function insertStatusPost(tx: Tx, post: Omit<StoredPost, "id" | "updatedAt">): Promise<number> {
  const { rows } = await tx.query(INSERT_POST, [
    post.uuid,
    post.pageId,
    post.kind,
    post.title,
    JSON.stringify(post.entries),
    toTimestamp(post.from),
    toTimestamp(post.until),
    post.incidentNumber,
    post.silenceUuid,
    toTimestamp(post.createdAt),
  ]);
  if (rows[0] === undefined) throw new Error("a post was not inserted");
  return rows[0].id;
}

const WRITE_POST = statement({
  name: "status_posts.write",
  text: `update status_posts set title = $2, entries = $3::jsonb, from_at = $4, until_at = $5, updated_at = $6
    where id = $1`,
});

export async function writeStatusPost(
  tx: Tx,
  post: Pick<StoredPost, "id" | "title" | "entries" | "from" | "until" | "updatedAt">,
): Promise<void> {
  await tx.query(WRITE_POST, [
    post.id,
    post.title,
    JSON.stringify(post.entries),
    toTimestamp(post.from),
    toTimestamp(post.until),
    toTimestamp(post.updatedAt),
  ]);
}

const DELETE_POST = statement({
  name: "status_posts.delete",
  text: "delete from status_posts where id = $1",
});

/** Deletes a post with its notes. */
export async function deleteStatusPost(tx: Tx, postId: number): Promise<void> {
  await tx.query(DELETE_POST, [postId]);
}

const FIND_POST = statement<PostRow>({
  name: "status_posts.find",
  text: `select ${POST_COLUMNS} from status_posts where uuid = $1 and page_id = $2`,
});

export async function findStatusPost(
  db: Db,
  { pageId, uuid }: { pageId: number; uuid: string },
): Promise<StoredPost | null> {
  const [row] = (await db.query(FIND_POST, [uuid, pageId])).rows;
  return row === undefined ? null : toPost(row);
}

const LIST_POSTS = statement<PostRow>({
  name: "status_posts.list",
  text: `select ${POST_COLUMNS} from status_posts where page_id = $1 and id < $2 order by id desc limit $3`,
});

/** What is published on a page, newest first, before the ID `beforeId`. */
export async function listStatusPosts(
  db: Db,
  { pageId, beforeId, limit }: { pageId: number; beforeId: number; limit: number },
): Promise<StoredPost[]> {
  return (await db.query(LIST_POSTS, [pageId, beforeId, limit])).rows.map(toPost);
}

const COUNT_POSTS = statement<{ count: number }>({
  name: "status_posts.count",
  text: "select count(*) as count from status_posts where page_id = $1",
});

export async function countStatusPosts(db: Db, pageId: number): Promise<number> {
  return (await db.query(COUNT_POSTS, [pageId])).rows[0]?.count ?? 0;
}

const PRUNE_POSTS = statement({
  name: "status_posts.prune",
  text: `delete from status_posts where id in (
      select id from status_posts where until_at < $1 order by until_at limit $2
    )`,
});

/** Deletes posts that ended before an instant. */
export async function pruneStatusPosts(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE_POSTS, [toTimestamp(before), limit])).count;
}

export type StoredNote = { uuid: string; postId: number; at: Instant; text: string };

const INSERT_NOTE = statement({
  name: "status_notes.insert",
  text: "insert into status_notes (uuid, post_id, at, text, account_id) values ($1, $2, $3, $4, $5)",
});

export async function insertStatusNote(
  tx: Tx,
  note: StoredNote & { accountId: number | null },
): Promise<void> {
  await tx.query(INSERT_NOTE, [note.uuid, note.postId, toTimestamp(note.at), note.text, note.accountId]);
}

const LIST_NOTES = statement<{ uuid: string; post_id: number; at: Instant; text: string }>({
  name: "status_notes.list",
  text: `select uuid, post_id, at, text from status_notes where post_id = any ($1::bigint[])
    order by post_id, id desc`,
});

/** The notes of posts, newest first, by post. */
export async function listStatusNotes(
  db: Db,
  postIds: readonly number[],
): Promise<Map<number, StoredNote[]>> {
  const { rows } = await db.query(LIST_NOTES, [toNumberArray(postIds)]);
  const notes = rows.map(({ uuid, post_id: postId, at, text }) => ({ uuid, postId, at, text }));
  return Map.groupBy(notes, ({ postId }) => postId);
}

const COUNT_NOTES = statement<{ count: number }>({
  name: "status_notes.count",
  text: "select count(*) as count from status_notes where post_id = $1",
});

export async function countStatusNotes(db: Db, postId: number): Promise<number> {
  return (await db.query(COUNT_NOTES, [postId])).rows[0]?.count ?? 0;
}

// What subscribers know.

const LIST_ANNOUNCED = statement<{ id: number }>({
  name: "status_pages.list_announced",
  text: `select p.id from status_pages p
    where p.deleted_at is null and p.id > $1
      and exists (select from status_subscribers s where s.page_id = p.id and s.confirmed_at is not null)
    order by p.id limit $2`,
});

/** Pages with subscribers, by ID after `afterId`. */
export async function listAnnouncedPages(
  db: Db,
  { afterId, limit }: { afterId: number; limit: number },
): Promise<number[]> {
  return (await db.query(LIST_ANNOUNCED, [afterId, limit])).rows.map(({ id }) => id);
}

const LOCK_ANNOUNCED = statement<{ announced: Announced }>({
  name: "status_pages.lock_announced",
  text: "select announced from status_pages where id = $1 and deleted_at is null for no key update skip locked",
});

/** Locks what subscribers know; null if another process does, or the page is gone. */
export async function lockAnnounced(tx: Tx, pageId: number): Promise<Announced | null> {
  return (await tx.query(LOCK_ANNOUNCED, [pageId])).rows[0]?.announced ?? null;
}

const WRITE_ANNOUNCED = statement({
  name: "status_pages.write_announced",
  text: "update status_pages set announced = $2::jsonb where id = $1",
});

export async function writeAnnounced(
  tx: Tx,
  { pageId, announced }: { pageId: number; announced: Announced },
): Promise<void> {
  await tx.query(WRITE_ANNOUNCED, [pageId, JSON.stringify(announced)]);
}

const FIND_CHECKS = statement<{ id: number; uuid: string }>({
  name: "status_pages.find_checks",
  text: `select id, uuid from checks
    where project_id = $1 and deleted_at is null and (uuid = any ($2::uuid[]) or id = any ($3::bigint[]))`,
});

/** Those of these checks, by UUID or ID, that belong to the project. */
export async function findPageChecks(
  db: Db,
  { projectId, uuids, ids }: { projectId: number; uuids: readonly string[]; ids: readonly number[] },
): Promise<{ id: number; uuid: string }[]> {
  return (await db.query(FIND_CHECKS, [projectId, toTextArray(uuids), toNumberArray(ids)])).rows;
}
