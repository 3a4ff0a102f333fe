// Handlers of status pages.
import { API_PATH } from "../../contract/api/route.ts";
import type {
  StatusPage,
  StatusPost,
  statusPageRoutes,
  StatusSubscriber,
} from "../../contract/api/status-pages.ts";
import { AppError } from "../../core/errors.ts";
import type { KeyKind } from "../../core/identity.ts";
import type { Instant } from "../../core/instant.ts";
import { PAGE_LENGTH_DEFAULT } from "../../core/limits.ts";
import {
  domainRecord,
  domainState,
  type StatusEntry,
  type StatusPage as StoredPage,
  webhookSecret,
} from "../../core/status-page.ts";
import { REFUSED, refusalOfUrl } from "../../lib/outgoing-http.ts";
import { listAudit } from "../../operations/audit.ts";
import {
  addStatusNote,
  checkStatusDomain,
  createStatusPage,
  createStatusPost,
  deleteStatusPage,
  findCheckUuids,
  getStatusPage,
  listStatusPages,
  listStatusPostPage,
  type PostWithNotes,
  readPageState,
  removeStatusLogo,
  removeStatusPost,
  restoreStatusPage,
  setStatusLogo,
  updateStatusPage,
  updateStatusPost,
} from "../../operations/status-pages.ts";
import { addWebhook, listSubscriberPage, removeSubscriber } from "../../operations/status-subscribers.ts";
import type { Project } from "../../store/projects.ts";
import { countSubscribers, type Subscriber } from "../../store/status-subscribers.ts";
import { changedBy, cursorNumber, cursorText, entityTag, ifMatch, uuidParam } from "./params.ts";
import { type ApiContext, type ApiHandlers, ApiProblem } from "./route.ts";

type Viewing = { context: ApiContext; project: Project; keyKind: KeyKind | null; now: Instant };

/** Pages of one project. A read-only key does not see the IDs of checks: they would allow sending pings. */
async function presentPages(viewing: Viewing, pages: readonly StoredPage[]): Promise<StatusPage[]> {
  const { context, project, keyKind } = viewing;
  const isReadOnly = keyKind === "readOnly";
  const uuids = isReadOnly
    ? new Map<number, string>()
    : await findCheckUuids(context.database, { projectId: project.id, pages });
  const shown: StatusPage[] = [];
  for (const page of pages) shown.push(await presentOne(viewing, { page, uuids }));
  return shown;
}

async function presentOne(
  { context, now }: Viewing,
  { page, uuids }: { page: StoredPage; uuids: ReadonlyMap<number, string> },
): Promise<StatusPage> {
  const { database, urls } = context;
  const url = `${urls.site}/status/${page.slug}/`;
  const { confirmed } = await countSubscribers(database, page.id);
  const presentEntry = ({ id, name, description, source }: StatusEntry) => ({
    id,
    name,
    description,
    check: source.kind === "check" ? (uuids.get(source.checkId) ?? null) : null,
    tag: source.kind === "tag" ? source.tag : null,
  });
  return {
    id: page.uuid,
    slug: page.slug,
    url,
    title: page.title,
    description: page.description,
    visibility: page.passwordHash === null ? "public" : "password",
    brand: { ...page.brand },
    logo:
      page.logo === null
        ? null
        : { type: page.logo.type, url: `${url}logo?v=${page.logo.digest.slice(0, 12)}` },
    domain: presentDomain(page),
    groups: page.groups.map(({ name, entries }) => ({ name, entries: entries.map(presentEntry) })),
    state: await readPageState(database, { page, now }),
    subscriberCount: confirmed,
    createdAt: page.createdAt,
    deletedAt: page.deletedAt,
    version: page.version,
  };
}

function presentDomain({ domain }: StoredPage): StatusPage["domain"] {
  if (domain === null) return null;
  const { name, value } = domainRecord(domain);
  return {
    name: domain.name,
    state: domainState(domain),
    recordName: name,
    recordValue: value,
    provedAt: domain.provedAt,
    checkedAt: domain.checkedAt,
  };
}

async function presentPage(viewing: Viewing, page: StoredPage): Promise<StatusPage> {
  const [shown] = await presentPages(viewing, [page]);
  if (shown === undefined) throw new Error("a status page was not presented");
  return shown;
}

function presentPost(post: PostWithNotes): StatusPost {
  return {
    id: post.uuid,
    kind: post.kind,
    title: post.title,
    entries: [...post.entries],
    from: post.from,
    until: post.until,
    incident: post.incidentNumber,
    silence: post.silenceUuid,
    notes: post.notes.map(({ uuid, at, text }) => ({ id: uuid, at, text })),
    createdAt: post.createdAt,
    updatedAt: post.updatedAt,
  };
}

function presentSubscriber(subscriber: Subscriber): StatusSubscriber {
  const { uuid, kind, address, createdAt, confirmedAt, failedCount } = subscriber;
  return { id: uuid, kind, address, createdAt, confirmedAt, failedCount };
}

function nameOf({ project, params }: { project: Project; params: { page: string } }) {
  return { projectId: project.id, uuid: uuidParam(params.page) };
}

function postNameOf(request: { project: Project; params: { page: string; post: string } }) {
  return { ...nameOf(request), post: uuidParam(request.params.post) };
}

/** The hosts of this server, which cannot be the domain of a page. */
function ownHosts({ urls, mailDomain }: ApiContext): string[] {
  const hosts = [urls.site, urls.ping, urls.api].flatMap((url) => URL.parse(url ?? "")?.hostname ?? []);
  return mailDomain === null ? hosts : [...hosts, mailDomain];
}

/** The error for a request based on a version of the page that is no longer the latest. */
async function versionConflict(
  { database }: ApiContext,
  name: { projectId: number; uuid: string },
  { accountId, now }: { accountId: number | null; now: Instant },
): Promise<ApiProblem> {
  const { version } = await getStatusPage(database, name);
  const { entries } = await listAudit(database, { projectId: name.projectId });
  // The change is recent, so it is on the newest page of the audit log.
  const entry = entries.find(({ what }) => what === "statusPage.changed");
  return new ApiProblem("conflict", "Someone else changed this status page while you were editing it.", {
    conflict: {
      by: changedBy(entry, accountId),
      at: entry?.at ?? now,
      before: { ...entry?.before },
      after: { ...entry?.after },
      version,
    },
  });
}

export const statusPageHandlers: ApiHandlers<typeof statusPageRoutes> = {
  listStatusPages: async (request) => {
    const { context, project, query } = request;
    const isDeleted = query.state === "deleted";
    const pages = await listStatusPages(context.database, { projectId: project.id, isDeleted });
    return { json: { pages: await presentPages(request, pages) } };
  },
  createStatusPage: async (request) => {
    const { context, project, actor, body, now } = request;
    const page = await createStatusPage(context.database, {
      projectId: project.id,
      request: body,
      ownHosts: ownHosts(context),
      by: actor,
      at: now,
    });
    const path = `${API_PATH}/projects/${project.uuid}/status-pages/${page.uuid}`;
    const json = await presentPage(request, page);
    return { headers: { ...entityTag(page), Location: `${context.urls.site}${path}` }, json };
  },
  getStatusPage: async (request) => {
    const page = await getStatusPage(request.context.database, nameOf(request));
    return { headers: entityTag(page), json: await presentPage(request, page) };
  },
  updateStatusPage: async (request) => {
    const { context, account, actor, body, headers, now } = request;
    const { version, ...change } = body;
    const matched = ifMatch(headers);
    const name = nameOf(request);
    try {
      const page = await updateStatusPage(context.database, {
        ...name,
        change,
        expected: matched ?? (version === undefined ? null : [version]),
        ownHosts: ownHosts(context),
        by: actor,
        at: now,
      });
      return { headers: entityTag(page), json: await presentPage(request, page) };
    } catch (error) {
      const isConflict = error instanceof AppError && error.code === "precondition_failed";
      if (!isConflict || matched !== null) throw error;
      throw await versionConflict(context, name, { accountId: account?.id ?? null, now });
    }
  },
  deleteStatusPage: async (request) => {
    const { context, actor, headers, now } = request;
    const expected = ifMatch(headers);
    await deleteStatusPage(context.database, { ...nameOf(request), expected, by: actor, at: now });
    return { json: null };
  },
  restoreStatusPage: async (request) => {
    const { context, actor, now } = request;
    const page = await restoreStatusPage(context.database, { ...nameOf(request), by: actor, at: now });
    return { json: await presentPage(request, page) };
  },
  setStatusLogo: async (request) => {
    const { context, actor, body, now } = request;
    const bytes = Buffer.from(body.image, "base64");
    const page = await setStatusLogo(context.database, { ...nameOf(request), bytes, by: actor, at: now });
    return { json: await presentPage(request, page) };
  },
  removeStatusLogo: async (request) => {
    const { context, actor, now } = request;
    await removeStatusLogo(context.database, { ...nameOf(request), by: actor, at: now });
    return { json: null };
  },
  checkStatusDomain: async (request) => {
    const page = await checkStatusDomain(request.context.database, nameOf(request));
    return { json: await presentPage(request, page) };
  },
  listStatusPosts: async (request) => {
    const { cursor, limit = PAGE_LENGTH_DEFAULT } = request.query;
    const { items, next } = await listStatusPostPage(request.context.database, {
      ...nameOf(request),
      from: cursorNumber(cursor),
      limit,
    });
    return { json: { posts: items.map(presentPost), next: cursorText(next) } };
  },
  createStatusPost: async (request) => {
    const { context, actor, body, now } = request;
    const { kind, title, text, entries = [], from = null, until = null } = body;
    const { incident = null, silence = null } = body;
    const post = await createStatusPost(context.database, {
      ...nameOf(request),
      request: { kind, title, text, entries, from, until, incident, silence },
      by: actor,
      at: now,
    });
    return { json: presentPost(post) };
  },
  updateStatusPost: async (request) => {
    const { context, actor, body: change, now } = request;
    const post = await updateStatusPost(context.database, {
      ...postNameOf(request),
      change,
      by: actor,
      at: now,
    });
    return { json: presentPost(post) };
  },
  addStatusNote: async (request) => {
    const { context, actor, body, now } = request;
    const { text, isResolved = false } = body;
    const name = postNameOf(request);
    const post = await addStatusNote(context.database, { ...name, text, isResolved, by: actor, at: now });
    return { json: presentPost(post) };
  },
  deleteStatusPost: async (request) => {
    const { context, actor, now } = request;
    await removeStatusPost(context.database, { ...postNameOf(request), by: actor, at: now });
    return { json: null };
  },
  listStatusSubscribers: async (request) => {
    const { cursor, limit = PAGE_LENGTH_DEFAULT } = request.query;
    const { items, next } = await listSubscriberPage(request.context.database, {
      ...nameOf(request),
      from: cursorNumber(cursor),
      limit,
    });
    return { json: { subscribers: items.map(presentSubscriber), next: cursorText(next) } };
  },
  addStatusWebhook: async (request) => {
    const { context, actor, body, now } = request;
    const url = URL.parse(body.url);
    const refusal = url === null ? REFUSED.incomplete : refusalOfUrl(url, context.destinations);
    if (refusal !== null) throw new AppError("invalid", `${refusal}.`, "url");
    const added = await addWebhook(context.database, {
      ...nameOf(request),
      url: body.url,
      by: actor,
      at: now,
    });
    return { json: { ...presentSubscriber(added), secret: webhookSecret(context.signing, added.uuid) } };
  },
  removeStatusSubscriber: async (request) => {
    const { context, actor, params, now } = request;
    const subscriber = uuidParam(params.subscriber);
    await removeSubscriber(context.database, { ...nameOf(request), subscriber, by: actor, at: now });
    return { json: null };
  },
};
