// Status pages: changing them, publishing on them, and what the public sees of them.
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { auditDifference, type AuditAction } from "../core/audit.ts";
import { AppError } from "../core/errors.ts";
import { newUuidIn } from "../core/identity.ts";
import { DAY_MS, type Instant, MINUTE_MS } from "../core/instant.ts";
import {
  STATUS_CHANGES_EACH_MAX,
  STATUS_CHANGES_SEARCHED_MAX,
  STATUS_CHECKS_MAX,
  STATUS_CHECKS_READ_MAX,
  STATUS_DAYS,
  STATUS_DELETED_DAYS,
  STATUS_LOGO_BYTES_MAX,
  STATUS_LOGO_PIXELS_MAX,
  STATUS_NOTES_MAX,
  STATUS_PAGES_MAX,
  STATUS_POSTS_MAX,
} from "../core/limits.ts";
import { nextWindow } from "../core/silence.ts";
import { isLogoSize, readLogo } from "../core/status-logo.ts";
import {
  afterDomainCheck,
  type Brand,
  brandProblem,
  DEFAULT_BRAND,
  type DomainAnswer,
  domainProblem,
  domainState,
  groupsProblem,
  incidentTimesProblem,
  maintenanceProblem,
  type PublicState,
  type StatusGroup,
  type StatusPage,
  type StatusProblem,
  type StatusView,
} from "../core/status-page.ts";
import { entryStates, type PageCheck, type PagePost, statusView, worstState } from "../core/status-view.ts";
import { hashPassword } from "../lib/password-hash.ts";
import { listStatusChecks, readSnapshot } from "../store/check-lists.ts";
import type { Database, Db } from "../store/db.ts";
import { listStatusChanges } from "../store/emails.ts";
import { findIncident } from "../store/incidents.ts";
import { listBlindIntervals } from "../store/intakes.ts";
import { lockSilencesOfProject as lockProject } from "../store/silences.ts";
import {
  claimDomainChecks,
  countStatusNotes,
  countStatusPages,
  countStatusPosts,
  deleteStatusLogo,
  deleteStatusPost as deletePost,
  findPageChecks,
  findStatusPage,
  findStatusPageById,
  findStatusPageIdBySlug,
  findStatusPost,
  insertStatusNote,
  insertStatusPage,
  insertStatusPost,
  listChangedPages,
  listServedPages,
  listStatusNotes,
  listStatusPages as listPages,
  listStatusPosts,
  requestDomainCheck,
  type ServedPage,
  type StatusPageName,
  type StatusPlan,
  type StoredNote,
  type StoredPost,
  writeDomainCheck,
  writeStatusDomain,
  writeStatusLogo,
  writeStatusPage,
  writeStatusPageDeleted,
  writeStatusPost,
} from "../store/status-pages.ts";
import { insertMessages } from "../store/status-subscribers.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";
import { type Actor, audit } from "./audit.ts";
import { type Page, pageOf, type PageRequest } from "./channels.ts";
import { inRetriedTransaction } from "./retry.ts";
import { getSilence } from "./silences.ts";

type Changing = { by: Actor; at: Instant };

const NO_PAGE = "Status page not found.";

/** The page of a project that is not deleted. Throws AppError `not_found`. */
export async function getStatusPage(db: Db, name: StatusPageName): Promise<StatusPage> {
  const page = await findStatusPage(db, name);
  if (page === null || page.deletedAt !== null) throw new AppError("not_found", NO_PAGE);
  return page;
}

/** The pages of a project by title: those in use, or those that can be restored. */
export function listStatusPages(
  db: Db,
  { projectId, isDeleted }: { projectId: number; isDeleted: boolean },
): Promise<StatusPage[]> {
  return listPages(db, { projectId, isDeleted, limit: STATUS_PAGES_MAX });
}

/** The UUIDs of the checks on pages of a project, without deleted ones, by ID. */
export async function findCheckUuids(
  db: Db,
  { projectId, pages }: { projectId: number; pages: readonly StatusPage[] },
): Promise<Map<number, string>> {
  const ids = pages.flatMap((page) => sourcesOf(page).checkIds);
  if (ids.length === 0) return new Map();
  const found = await findPageChecks(db, { projectId, uuids: [], ids });
  return new Map(found.map(({ id, uuid }) => [id, uuid]));
}

function sourcesOf({ groups }: Pick<StatusPage, "groups">): { checkIds: number[]; tags: string[] } {
  const sources = groups.flatMap(({ entries }) => entries.map(({ source }) => source));
  return {
    checkIds: [...new Set(sources.flatMap((source) => (source.kind === "check" ? [source.checkId] : [])))],
    tags: [...new Set(sources.flatMap((source) => (source.kind === "tag" ? [source.tag] : [])))],
  };
}

// What the public sees.

function readChecks(db: Db, page: StatusPage): Promise<PageCheck[]> {
  return listStatusChecks(db, { projectId: page.projectId, ...sourcesOf(page), limit: STATUS_CHECKS_MAX });
}

async function readPosts(db: Db, pageId: number): Promise<PagePost[]> {
  const posts = await listStatusPosts(db, {
    pageId,
    beforeId: Number.MAX_SAFE_INTEGER,
    limit: STATUS_POSTS_MAX,
  });
  const notes =
    posts.length === 0
      ? new Map()
      : await listStatusNotes(
          db,
          posts.map(({ id }) => id),
        );
  return posts.map(({ id, uuid, kind, title, entries, from, until, updatedAt }) => ({
    id: uuid,
    kind,
    title,
    entries,
    from,
    until,
    updatedAt,
    notes: (notes.get(id) ?? []).map((note: StoredNote) => ({ id: note.uuid, at: note.at, text: note.text })),
  }));
}

/** Everything that the public sees of a page, in six statements; null: there is no such page. */
export async function loadStatusView(
  db: Db,
  { pageId, now }: { pageId: number; now: Instant },
): Promise<StatusView | null> {
  const found = await findStatusPageById(db, pageId);
  if (found === null) return null;
  const { page, zone } = found;
  const from = now - (STATUS_DAYS + 1) * DAY_MS;
  const [checks, posts, blind] = await Promise.all([
    readChecks(db, page),
    readPosts(db, pageId),
    listBlindIntervals(db, { from, to: now }),
  ]);
  const read = historyChecks(page, checks);
  const changes = await listStatusChanges(db, { checkIds: read, from, limitEach: STATUS_CHANGES_EACH_MAX });
  const history = new Map(read.map((id) => [id, changes.get(id) ?? { changes: [], isCut: false }]));
  return statusView({ page, zone, checks, history, blind, posts, now });
}

/** Checks that the page names come first; of tags, the oldest checks. */
function historyChecks(page: StatusPage, checks: readonly PageCheck[]): number[] {
  const named = new Set(sourcesOf(page).checkIds);
  const sorted = checks.toSorted(
    (one, other) => Number(named.has(other.id)) - Number(named.has(one.id)) || one.id - other.id,
  );
  return sorted.slice(0, STATUS_CHECKS_READ_MAX).map(({ id }) => id);
}

/** The states of the entries of a page now. */
export async function readEntryStates(
  db: Db,
  { page, now }: { page: StatusPage; now: Instant },
): Promise<Map<string, PublicState>> {
  const [checks, posts] = [await readChecks(db, page), await readPosts(db, page.id)];
  return entryStates({ page, checks, posts, now }).states;
}

/** The state of a page now. */
export async function readPageState(db: Db, asked: { page: StatusPage; now: Instant }): Promise<PublicState> {
  return worstState([...(await readEntryStates(db, asked)).values()]);
}

/**
 * The pages that may have changed since a cursor, and the next cursor. Without one, all pages. Changes by the clock are
 * in the `refreshAt` of a view.
 */
export async function changedStatusPages(
  db: Db,
  { since }: { since: number | null },
): Promise<{ cursor: number; pages: ServedPage[] }> {
  // Read before the changes: those in between are returned twice, and never missed.
  const { xmin: cursor, xmax } = await readSnapshot(db);
  // A cursor from another database: everything may have changed.
  const isUsable = since !== null && since <= xmax;
  const pages = isUsable
    ? await listChangedPages(db, { since, limit: STATUS_CHANGES_SEARCHED_MAX })
    : await listServedPages(db);
  return { cursor, pages };
}

// Changes.

export type EntryRequest = {
  id?: string;
  name: string;
  description?: string;
  check: string | null;
  tag: string | null;
};
export type GroupRequest = { name: string; entries: readonly EntryRequest[] };

/** Fields that are not given stay as they are. */
export type StatusPageRequest = {
  slug?: string;
  title?: string;
  description?: string;
  brand?: Brand;
  /** Null: anyone can read the page. */
  password?: string | null;
  domain?: string | null;
  groups?: readonly GroupRequest[];
};

const ENTRY_ID_BYTES = 4;

/** Throws AppError `invalid` for a check that the project does not have. */
async function groupsOf(
  db: Db,
  { projectId, groups }: { projectId: number; groups: readonly GroupRequest[] },
): Promise<StatusGroup[]> {
  const entries = groups.flatMap((group) => group.entries);
  if (entries.some(({ check, tag }) => (check === null) === (tag === null))) {
    throw new AppError("invalid", "Give each entry either a check or a tag.", "groups");
  }
  const uuids = [...new Set(entries.flatMap(({ check }) => check ?? []))];
  const found = uuids.length === 0 ? [] : await findPageChecks(db, { projectId, uuids, ids: [] });
  const ids = new Map(found.map(({ id, uuid }) => [uuid, id]));
  const sourceOf = ({ check, tag }: EntryRequest) => {
    if (check === null) return { kind: "tag", tag: tag ?? "" } as const;
    const checkId = ids.get(check);
    if (checkId === undefined) throw new AppError("invalid", `The project has no check ${check}.`, "groups");
    return { kind: "check", checkId } as const;
  };
  return groups.map(({ name, entries: chosen }) => ({
    name: name.trim(),
    entries: chosen.map((entry) => ({
      id: entry.id ?? randomBytes(ENTRY_ID_BYTES).toString("hex"),
      name: entry.name.trim(),
      description: entry.description?.trim() ?? "",
      source: sourceOf(entry),
    })),
  }));
}

function throwProblem(problem: StatusProblem | null): void {
  if (problem !== null) throw new AppError("invalid", problem.text, problem.field);
}

/** Throws AppError `conflict` if another page has the slug. */
async function requireFreeSlug(
  db: Db,
  { slug, pageId }: { slug: string; pageId: number | null },
): Promise<void> {
  const owner = await findStatusPageIdBySlug(db, slug);
  if (owner !== null && owner !== pageId) {
    throw new AppError("conflict", "Another status page has this address. Choose another one.", "slug");
  }
}

type PlannedPage = StatusPlan & { domain: string | null };

/** What the request asks for. Throws AppError `invalid`. */
async function planOf(
  db: Db,
  given: {
    projectId: number;
    request: Omit<StatusPageRequest, "password"> & { passwordHash?: string | null };
    before: PlannedPage;
    ownHosts: readonly string[];
  },
): Promise<PlannedPage> {
  const { projectId, request, before, ownHosts } = given;
  const groups =
    request.groups === undefined ? before.groups : await groupsOf(db, { projectId, groups: request.groups });
  const plan = {
    slug: request.slug ?? before.slug,
    title: request.title?.trim() ?? before.title,
    description: request.description?.trim() ?? before.description,
    brand: request.brand ?? before.brand,
    groups,
    passwordHash: request.passwordHash === undefined ? before.passwordHash : request.passwordHash,
    domain: request.domain === undefined ? before.domain : request.domain,
  };
  if (plan.title === "") throw new AppError("invalid", "Enter a title.", "title");
  throwProblem(brandProblem(plan.brand));
  throwProblem(groupsProblem(plan.groups));
  if (plan.domain !== null && plan.domain !== before.domain)
    throwProblem(domainProblem(plan.domain, ownHosts));
  return plan;
}

/** Hashed before the transaction, because it takes long. */
async function withHash({ password, ...request }: StatusPageRequest) {
  if (password === undefined) return request;
  return { ...request, passwordHash: password === null ? null : await hashPassword(password) };
}

const DOMAIN_TOKEN_BYTES = 18;

function newDomain(name: string | null): { name: string; token: string } | null {
  return name === null ? null : { name, token: randomBytes(DOMAIN_TOKEN_BYTES).toString("base64url") };
}

const EMPTY: PlannedPage = {
  slug: "",
  title: "",
  description: "",
  brand: DEFAULT_BRAND,
  groups: [],
  passwordHash: null,
  domain: null,
};

export type CreateStatusPage = Changing & {
  projectId: number;
  request: StatusPageRequest & { slug: string; title: string };
  /** Hosts that serve something else. */
  ownHosts: readonly string[];
};

/** Creates a page. AppError `invalid`; `conflict` for a slug in use; `forbidden` beyond the limit of the project. */
export async function createStatusPage(database: Database, given: CreateStatusPage): Promise<StatusPage> {
  const { projectId, ownHosts, by, at } = given;
  const request = await withHash(given.request);
  return inRetriedTransaction(database, async (tx) => {
    const projectUuid = await lockProject(tx, projectId);
    if (projectUuid === null) throw new AppError("not_found", "Project not found.");
    if ((await countStatusPages(tx, projectId)) >= STATUS_PAGES_MAX) {
      const text = `A project can have at most ${STATUS_PAGES_MAX} status pages, with deleted ones.`;
      throw new AppError("forbidden", text);
    }
    const plan = await planOf(tx, { projectId, request, before: EMPTY, ownHosts });
    await requireFreeSlug(tx, { slug: plan.slug, pageId: null });
    const uuid = newUuidIn(projectUuid, randomUUID, tx.slots);
    const id = await insertStatusPage(tx, { ...plan, uuid, projectId, createdAt: at });
    if (plan.domain !== null) await writeStatusDomain(tx, { id, domain: newDomain(plan.domain) });
    const page = await getStatusPage(tx, { projectId, uuid });
    await auditPage(tx, { what: "statusPage.created", page, before: null, after: sideOf(page), by, at });
    return page;
  });
}

/** The versions that the change applies to; null: any. */
type Expected = { expected: readonly number[] | null };

async function lockPage(tx: Tx, { expected, ...name }: StatusPageName & Expected): Promise<StatusPage> {
  await lockProject(tx, name.projectId);
  const page = await getStatusPage(tx, name);
  if (expected !== null && !expected.includes(page.version)) {
    throw new AppError("precondition_failed", "The status page was changed after you loaded it.");
  }
  return page;
}

export type UpdateStatusPage = StatusPageName &
  Changing &
  Expected & { change: StatusPageRequest; ownHosts: readonly string[] };

/** Changes the given fields. AppError as `createStatusPage`, and `precondition_failed`. */
export async function updateStatusPage(database: Database, given: UpdateStatusPage): Promise<StatusPage> {
  const { projectId, uuid, expected, ownHosts, by, at } = given;
  const request = await withHash(given.change);
  return inRetriedTransaction(database, async (tx) => {
    const before = await lockPage(tx, { projectId, uuid, expected });
    if (Object.keys(request).length === 0) return before;
    const domainBefore = before.domain?.name ?? null;
    const plan = await planOf(tx, {
      projectId,
      request,
      before: { ...before, domain: domainBefore },
      ownHosts,
    });
    await requireFreeSlug(tx, { slug: plan.slug, pageId: before.id });
    await writeStatusPage(tx, { ...plan, id: before.id });
    if (plan.domain !== domainBefore) {
      await writeStatusDomain(tx, { id: before.id, domain: newDomain(plan.domain) });
    }
    const after = await getStatusPage(tx, { projectId, uuid });
    const shown = auditDifference(sideOf(before), sideOf(after));
    if (shown !== null) await auditPage(tx, { what: "statusPage.changed", page: after, ...shown, by, at });
    return after;
  });
}

/** Deletes a page for the time being: it can be restored for STATUS_DELETED_DAYS. */
export function deleteStatusPage(
  database: Database,
  { projectId, uuid, expected, by, at }: StatusPageName & Changing & Expected,
): Promise<void> {
  return inRetriedTransaction(database, async (tx) => {
    const page = await lockPage(tx, { projectId, uuid, expected });
    await writeStatusPageDeleted(tx, { id: page.id, at });
    await auditPage(tx, { what: "statusPage.deleted", page, before: sideOf(page), after: null, by, at });
  });
}

/** Restores a deleted page. One that is not deleted stays as it is. AppError `not_found`. */
export function restoreStatusPage(
  database: Database,
  { projectId, uuid, by, at }: StatusPageName & Changing,
): Promise<StatusPage> {
  return inRetriedTransaction(database, async (tx) => {
    await lockProject(tx, projectId);
    const found = await findStatusPage(tx, { projectId, uuid });
    if (found === null || at - (found.deletedAt ?? at) > STATUS_DELETED_DAYS * DAY_MS) {
      throw new AppError("not_found", NO_PAGE);
    }
    if (found.deletedAt === null) return found;
    await writeStatusPageDeleted(tx, { id: found.id, at: null });
    const page = await getStatusPage(tx, { projectId, uuid });
    await auditPage(tx, { what: "statusPage.restored", page, before: null, after: sideOf(page), by, at });
    return page;
  });
}

/** The audit log has the public texts. The hash of a password is not in it, only whether there is one. */
function sideOf(page: StatusPage) {
  const { uuid, slug, title, description, brand, groups, domain, passwordHash } = page;
  return {
    uuid,
    slug,
    title,
    description,
    brand,
    groups: groups.map(({ name, entries }) => ({ name, entries: entries.map((entry) => entry.name) })),
    domain: domain?.name ?? null,
    visibility: passwordHash === null ? "public" : "password",
  };
}

async function auditPage(
  tx: Tx,
  {
    what,
    page,
    before,
    after,
    by,
    at,
  }: Changing & { what: AuditAction; page: StatusPage; before: object | null; after: object | null },
): Promise<void> {
  await audit(tx, { ...by, projectId: page.projectId, what, subject: page.title, before, after, at });
}

/** Sets the logo. AppError `invalid` if it is not an accepted image. */
export function setStatusLogo(
  database: Database,
  { projectId, uuid, bytes, by, at }: StatusPageName & Changing & { bytes: Buffer },
): Promise<StatusPage> {
  if (bytes.length > STATUS_LOGO_BYTES_MAX) {
    const text = `The logo can have at most ${STATUS_LOGO_BYTES_MAX / 1024} KiB.`;
    throw new AppError("invalid", text, "image");
  }
  const image = readLogo(bytes);
  if (image === null) throw new AppError("invalid", "Use a PNG, JPEG, or WebP image.", "image");
  if (!isLogoSize(image)) {
    const text = `The logo can be at most ${STATUS_LOGO_PIXELS_MAX} pixels wide and high.`;
    throw new AppError("invalid", text, "image");
  }
  const digest = createHash("sha256").update(bytes).digest("hex");
  return inRetriedTransaction(database, async (tx) => {
    const page = await lockPage(tx, { projectId, uuid, expected: null });
    await writeStatusLogo(tx, { pageId: page.id, type: image.type, digest, bytes });
    const side = { type: image.type, bytes: bytes.length };
    await auditPage(tx, { what: "statusPage.logoChanged", page, before: null, after: side, by, at });
    return getStatusPage(tx, { projectId, uuid });
  });
}

/** Removes the logo, if there is one. */
export function removeStatusLogo(
  database: Database,
  { projectId, uuid, by, at }: StatusPageName & Changing,
): Promise<void> {
  return inRetriedTransaction(database, async (tx) => {
    const page = await lockPage(tx, { projectId, uuid, expected: null });
    if (page.logo === null) return;
    await deleteStatusLogo(tx, page.id);
    const before = { type: page.logo.type };
    await auditPage(tx, { what: "statusPage.logoChanged", page, before, after: null, by, at });
  });
}

// Domains.

/** DNS is asked as soon as possible. AppError `conflict` without a domain. */
export function checkStatusDomain(
  database: Database,
  { projectId, uuid }: StatusPageName,
): Promise<StatusPage> {
  return inRetriedTransaction(database, async (tx) => {
    const page = await getStatusPage(tx, { projectId, uuid });
    if (page.domain === null) throw new AppError("conflict", "The status page has no domain.");
    await requestDomainCheck(tx, page.id);
    return page;
  });
}

const DOMAINS_PER_TURN = 20;
const DOMAIN_LEASE_MS = 5 * MINUTE_MS;

/** Asks DNS about domains that are due; returns how many changed their state, and whether there may be more. */
export async function checkDomains(
  database: Database,
  { ask, now }: { ask: (page: StatusPage) => Promise<DomainAnswer>; now: () => Promise<Instant> },
): Promise<{ changed: number; isMore: boolean }> {
  const startedAt = await now();
  const pages = await inTransaction(database, (tx) =>
    claimDomainChecks(tx, { now: startedAt, limit: DOMAINS_PER_TURN, untilAt: startedAt + DOMAIN_LEASE_MS }),
  );
  let changed = 0;
  for (const page of pages) {
    const { domain } = page;
    if (domain === null) continue;
    const answer = await ask(page);
    const at = await now();
    const result = afterDomainCheck(domain, { answer, now: at });
    await inTransaction(database, (tx) =>
      writeDomainCheck(tx, { id: page.id, token: domain.token, at, ...result }),
    );
    if (domainState(domain) !== domainState({ ...domain, ...result })) changed += 1;
  }
  return { changed, isMore: pages.length === DOMAINS_PER_TURN };
}

// What is published.

export type PostWithNotes = StoredPost & { notes: readonly StoredNote[] };
export type PostName = StatusPageName & { post: string };

async function withNotes(db: Db, posts: readonly StoredPost[]): Promise<PostWithNotes[]> {
  const notes =
    posts.length === 0
      ? null
      : await listStatusNotes(
          db,
          posts.map(({ id }) => id),
        );
  return posts.map((post) => ({ ...post, notes: notes?.get(post.id) ?? [] }));
}

/** What is published on a page, newest first. */
export async function listStatusPostPage(
  db: Db,
  { projectId, uuid, from, limit }: StatusPageName & PageRequest,
): Promise<Page<PostWithNotes>> {
  const { id: pageId } = await getStatusPage(db, { projectId, uuid });
  const beforeId = from ?? Number.MAX_SAFE_INTEGER;
  const { items, next } = pageOf(await listStatusPosts(db, { pageId, beforeId, limit: limit + 1 }), limit);
  return { items: await withNotes(db, items), next };
}

/** Throws AppError `not_found`. */
async function getPost(db: Db, { pageId, uuid }: { pageId: number; uuid: string }): Promise<PostWithNotes> {
  const post = await findStatusPost(db, { pageId, uuid });
  const [found] = post === null ? [] : await withNotes(db, [post]);
  if (found === undefined) throw new AppError("not_found", "Incident or maintenance not found.");
  return found;
}

export type PostRequest = {
  kind: "incident" | "maintenance";
  title: string;
  text: string;
  entries: readonly string[];
  from: Instant | null;
  until: Instant | null;
  incident: number | null;
  silence: string | null;
};

/** Throws AppError `invalid` for an entry that the page does not have. */
function requireEntries(page: StatusPage, entries: readonly string[]): void {
  const known = new Set(page.groups.flatMap((group) => group.entries.map(({ id }) => id)));
  const missing = entries.find((id) => !known.has(id));
  if (missing !== undefined) throw new AppError("invalid", `The page has no entry ${missing}.`, "entries");
}

/** The times of a post. Throws AppError `invalid`. */
async function timesOf(
  db: Db,
  { projectId, request, at }: { projectId: number; request: PostRequest; at: Instant },
): Promise<{ from: Instant; until: Instant | null }> {
  const { kind, silence: uuid } = request;
  if (kind === "incident") {
    if (uuid !== null) throw new AppError("invalid", "Only maintenance is made from a silence.", "silence");
    const times = { from: request.from ?? at, until: request.until };
    throwProblem(incidentTimesProblem(times, at));
    return times;
  }
  if (request.incident !== null) {
    throw new AppError("invalid", "Maintenance is not about an incident.", "incident");
  }
  const silence = uuid === null ? null : await findSilenceOf(db, { projectId, uuid });
  const window = silence === null ? null : nextWindow(silence, at);
  const times = {
    from: request.from ?? window?.from ?? at,
    until: request.until ?? window?.to ?? null,
  };
  throwProblem(maintenanceProblem(times, at));
  return times;
}

async function findSilenceOf(db: Db, name: { projectId: number; uuid: string }) {
  try {
    return await getSilence(db, name);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw new AppError("invalid", error.message, "silence");
  }
}

async function requireIncident(db: Db, { projectId, number }: { projectId: number; number: number | null }) {
  if (number !== null && (await findIncident(db, { projectId, number })) === null) {
    throw new AppError("invalid", `The project has no incident ${number}.`, "incident");
  }
}

function publicNames(page: StatusPage, ids: readonly string[]): string[] {
  return page.groups.flatMap(({ entries }) =>
    entries.filter(({ id }) => ids.includes(id)).map(({ name }) => name),
  );
}

/** Queues a message about a note for all subscribers. */
async function tellSubscribers(
  tx: Tx,
  { page, post, note, at }: { page: StatusPage; post: StoredPost; note: StoredNote; at: Instant },
): Promise<void> {
  const { title, from, until } = post;
  const said = { title, text: note.text, entries: publicNames(page, post.entries), at };
  const about =
    post.kind === "incident"
      ? ({ kind: "incident", ...said, isResolved: until !== null } as const)
      : ({ kind: "maintenance", ...said, from, until: until ?? from } as const);
  await insertMessages(tx, { pageId: page.id, dedupeKey: `note:${note.uuid}`, about, at });
}

/** Publishes an incident or maintenance with its first note. AppError `invalid`; `conflict` beyond the limit. */
export function createStatusPost(
  database: Database,
  { projectId, uuid, request, by, at }: StatusPageName & Changing & { request: PostRequest },
): Promise<PostWithNotes> {
  return inRetriedTransaction(database, async (tx) => {
    const page = await lockPage(tx, { projectId, uuid, expected: null });
    if ((await countStatusPosts(tx, page.id)) >= STATUS_POSTS_MAX) {
      const text = `A page can have at most ${STATUS_POSTS_MAX} incidents and maintenance. Remove an old one.`;
      throw new AppError("conflict", text);
    }
    requireEntries(page, request.entries);
    await requireIncident(tx, { projectId, number: request.incident });
    const times = await timesOf(tx, { projectId, request, at });
    const title = request.title.trim();
    if (title === "") throw new AppError("invalid", "Enter a title.", "title");
    const post = {
      uuid: randomUUID(),
      pageId: page.id,
      kind: request.kind,
      title,
      entries: request.entries,
      ...times,
      incidentNumber: request.incident,
      silenceUuid: request.silence,
      createdAt: at,
    };
    const id = await insertStatusPost(tx, post);
    const stored = { ...post, id, updatedAt: at };
    await addNote(tx, { page, post: stored, text: request.text, by, at });
    const after = { kind: post.kind, title, text: request.text.trim(), ...times };
    await auditPage(tx, { what: "statusPage.published", page, before: null, after, by, at });
    return getPost(tx, { pageId: page.id, uuid: post.uuid });
  });
}

async function addNote(
  tx: Tx,
  { page, post, text: given, by, at }: Changing & { page: StatusPage; post: StoredPost; text: string },
): Promise<void> {
  const text = given.trim();
  if (text === "") throw new AppError("invalid", "Enter a note.", "text");
  const note = { uuid: randomUUID(), postId: post.id, at, text };
  await insertStatusNote(tx, { ...note, accountId: by.accountId });
  await tellSubscribers(tx, { page, post, note, at });
}

/** Adds a public note, and ends the incident or maintenance if it says so. AppError `invalid`, `conflict`. */
export function addStatusNote(
  database: Database,
  {
    projectId,
    uuid,
    post: postUuid,
    text,
    isResolved,
    by,
    at,
  }: PostName & Changing & { text: string; isResolved: boolean },
): Promise<PostWithNotes> {
  return inRetriedTransaction(database, async (tx) => {
    const page = await lockPage(tx, { projectId, uuid, expected: null });
    const before = await getPost(tx, { pageId: page.id, uuid: postUuid });
    if ((await countStatusNotes(tx, before.id)) >= STATUS_NOTES_MAX) {
      throw new AppError("conflict", `There can be at most ${STATUS_NOTES_MAX} notes.`);
    }
    const isOpen = before.until === null || before.until > at;
    const until = isResolved && isOpen ? Math.max(at, before.from) : before.until;
    const post = { ...before, until, updatedAt: at };
    await writeStatusPost(tx, post);
    await addNote(tx, { page, post, text, by, at });
    const after = { title: post.title, text: text.trim(), isResolved };
    await auditPage(tx, { what: "statusPage.published", page, before: null, after, by, at });
    return getPost(tx, { pageId: page.id, uuid: postUuid });
  });
}

export type PostChange = {
  title?: string;
  entries?: readonly string[];
  from?: Instant;
  until?: Instant | null;
};

/** Changes the given fields, without telling subscribers. AppError `invalid`. */
export function updateStatusPost(
  database: Database,
  { projectId, uuid, post: postUuid, change, by, at }: PostName & Changing & { change: PostChange },
): Promise<PostWithNotes> {
  return inRetriedTransaction(database, async (tx) => {
    const page = await lockPage(tx, { projectId, uuid, expected: null });
    const before = await getPost(tx, { pageId: page.id, uuid: postUuid });
    const post = { ...before, ...change, title: change.title?.trim() ?? before.title, updatedAt: at };
    if (post.title === "") throw new AppError("invalid", "Enter a title.", "title");
    if (change.entries !== undefined) requireEntries(page, change.entries);
    if (change.from !== undefined || change.until !== undefined) {
      throwProblem(post.kind === "incident" ? incidentTimesProblem(post, at) : maintenanceProblem(post, at));
    }
    await writeStatusPost(tx, post);
    const shown = auditDifference(postSide(before), postSide(post));
    if (shown !== null) await auditPage(tx, { what: "statusPage.postChanged", page, ...shown, by, at });
    return getPost(tx, { pageId: page.id, uuid: postUuid });
  });
}

function postSide({ title, entries, from, until }: StoredPost) {
  return { title, entries, from, until };
}

/** Removes a post with its notes. */
export function removeStatusPost(
  database: Database,
  { projectId, uuid, post: postUuid, by, at }: PostName & Changing,
): Promise<void> {
  return inRetriedTransaction(database, async (tx) => {
    const page = await lockPage(tx, { projectId, uuid, expected: null });
    const post = await getPost(tx, { pageId: page.id, uuid: postUuid });
    await deletePost(tx, post.id);
    const before = { ...postSide(post), notes: post.notes.map(({ text }) => text) };
    await auditPage(tx, { what: "statusPage.postRemoved", page, before, after: null, by, at });
  });
}
