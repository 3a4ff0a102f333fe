// The Management API endpoints that list, create, change and delete checks.
import { setImmediate as nextTurn } from "node:timers/promises";
import { type PresentableCheck, readCheckRequest } from "../../contract/check.ts";
import { type CheckRequest, isCheckWanted, type ListFilter, readListFilter } from "../../core/check.ts";
import { AppError, ERROR_TEXT } from "../../core/errors.ts";
import type { Instant } from "../../core/instant.ts";
import {
  createCheck as makeCheck,
  deleteCheck as removeCheck,
  pauseCheck as pause,
  resumeCheck as resume,
  updateCheck as changeCheck,
} from "../../operations/checks.ts";
import { findChannelUuids } from "../../store/channels.ts";
import {
  listChannelUuids,
  listChecks as findChecks,
  type ListedCheck,
  type ListedChecks,
  type ListVersion,
  readListVersion,
} from "../../store/checks.ts";
import { matchesTag } from "../../lib/http/entity-tag.ts";
import type { Database } from "../../store/db.ts";
import {
  type Answer,
  type ApiContext,
  type CheckExchange,
  type CheckHandler,
  type Exchange,
  type Handler,
  type HandlerContext,
  JSON_TYPE,
} from "./exchange.ts";

const OK = 200;
const CREATED = 201;
/** A page of the list in memory: the number of checks, and the bytes of descriptions. */
const PAGE_CHECKS_MAX = 500;
const PAGE_DESCRIPTION_BYTES_MAX = 256 * 1024;
/** Checks that are serialized without yielding: a millisecond or two, in which the process serves no other request. */
const SERIALIZED_AT_ONCE = 100;
/** The text of an empty array. */
const NO_CHANNELS = "{}";

/** All checks of the project that match the query, read and rendered page by page. */
export const listChecks: Handler = async (exchange, context) => {
  const { project, query, column, keyKind, ifNoneMatch, now } = exchange;
  const filter = readListFilter(query, { bySlug: column.listBySlug });
  const listed = { projectId: project.id, slug: filter.slug };
  const name = JSON.stringify([project.id, keyKind, column.number, filter.slug, ...filter.tags]);
  const known = context.lists.get(name);
  const isUnchanged =
    known !== null &&
    matchesTag(ifNoneMatch, known.tag) &&
    known.from <= now &&
    now < known.until &&
    isSameVersion(known.version, await readListVersion(context.database, listed));
  if (isUnchanged) return { status: OK, unchanged: known.tag };
  const seen: Seen = { checks: 0n, channels: "", until: Infinity };
  const onTag = (tag: string) => {
    const version = { checks: String(seen.checks), channels: seen.channels };
    context.lists.set(name, { tag, version, from: now, until: seen.until });
  };
  return { status: OK, pieces: checkPieces(exchange, context, { listed, filter, seen }), onTag };
};

function isSameVersion(one: ListVersion, other: ListVersion): boolean {
  return one.checks === other.checks && one.channels === other.channels;
}

/** The inputs of a list; complete after its last piece. */
type Seen = { checks: bigint; channels: string; until: Instant };
type Listing = { listed: ListedChecks; filter: ListFilter; seen: Seen };

async function* checkPieces(
  exchange: Exchange,
  context: HandlerContext,
  { listed, filter, seen }: Listing,
): AsyncGenerator<string> {
  const { column, keyKind, now } = exchange;
  const { database } = context;
  const serialize = context.serializerOf(exchange);
  const withChannels = column.keyFields[keyKind].includes("channels");
  // Before the checks: a channel that changes afterwards makes the list a different version.
  const { uuids, version } = await listChannelUuids(database, listed.projectId);
  const channels = new ChannelSets(database, uuids);
  seen.channels = version;
  let text = '{"checks":[';
  let isFirst = true;
  for await (const page of checkPages(database, { ...listed, withChannels })) {
    for (const [index, check] of page.entries()) {
      if (index > 0 && index % SERIALIZED_AT_ONCE === 0) {
        yield text;
        text = "";
        await nextTurn();
      }
      seen.checks += BigInt(check.version);
      if (!isCheckWanted(check.settings, filter)) continue;
      const ids = check.channelIds ?? NO_CHANNELS;
      const { json, until } = serialize(
        { ...check, channelUuids: channels.get(ids) ?? (await channels.add(ids)) },
        now,
      );
      if (until < seen.until) seen.until = until;
      text += isFirst ? json : `,${json}`;
      isFirst = false;
    }
    yield text;
    text = "";
  }
  yield `${text}]}`;
}

/** Reads the next page while a page is being processed. */
async function* checkPages(
  database: Database,
  listed: ListedChecks & { withChannels: boolean },
): AsyncGenerator<ListedCheck[]> {
  const limit = PAGE_CHECKS_MAX;
  const bytesMax = PAGE_DESCRIPTION_BYTES_MAX;
  const read = (afterId: number) => {
    const page = findChecks(database, { ...listed, page: { afterId, limit, bytesMax } });
    // If the list is abandoned, the page is not awaited.
    page.catch(() => undefined);
    return page;
  };
  for (let next: Promise<ListedCheck[]> | null = read(0); next !== null; ) {
    const page: ListedCheck[] = await next;
    const last = page.at(-1);
    if (last === undefined) return;
    const bytes = page.reduce((sum, { settings }) => sum + Buffer.byteLength(settings.desc), 0);
    next = page.length < limit && bytes < bytesMax ? null : read(last.id);
    yield page;
  }
}

/** The UUIDs of channels by the text of their id array. Most checks of a project have the same channels. */
class ChannelSets {
  readonly #database: Database;
  readonly #uuids: Map<number, string>;
  readonly #sets = new Map<string, readonly string[]>();

  constructor(database: Database, uuids: Map<number, string>) {
    this.#database = database;
    this.#uuids = uuids;
  }

  get(text: string): readonly string[] | undefined {
    return this.#sets.get(text);
  }

  /** The same for a set that was not requested before. Reads channels that were created after the others. */
  async add(text: string): Promise<readonly string[]> {
    const ids = text.slice(1, -1).split(",").filter(Boolean).map(Number);
    const missing = ids.filter((id) => !this.#uuids.has(id));
    if (missing.length > 0) {
      for (const { id, uuid } of await findChannelUuids(this.#database, missing)) this.#uuids.set(id, uuid);
    }
    const set = ids.flatMap((id) => this.#uuids.get(id) ?? []).toSorted();
    this.#sets.set(text, set);
    return set;
  }
}

/** One check. */
export const getCheck: CheckHandler = async (exchange, context) => shown(exchange.check, exchange, context);

/** Creates a check, or updates the matching one. */
export const createCheck: Handler = async (exchange, context) => {
  const { project, column } = exchange;
  const done = await makeCheck(context.database, {
    ...understood(exchange),
    ...circumstances(exchange, context),
    projectId: project.id,
    projectUuid: project.uuid,
    deriveSlug: column.params.deriveSlug,
    checkLimitDefault: context.checkLimitDefault,
  });
  return outcome(done, exchange, context);
};

/** Changes the given fields. */
export const updateCheck: CheckHandler = async (exchange, context) => {
  const { project, column, check } = exchange;
  const done = await changeCheck(context.database, {
    ...understood(exchange),
    ...circumstances(exchange, context),
    projectId: project.id,
    checkId: check.id,
    deriveSlug: column.params.deriveSlug,
  });
  return outcome(done, exchange, context);
};

export const pauseCheck: CheckHandler = async (exchange, context) =>
  outcome(await pause(context.database, command(exchange, context)), exchange, context);

export const resumeCheck: CheckHandler = async (exchange, context) =>
  outcome(await resume(context.database, command(exchange, context)), exchange, context);

/** Deletes permanently. The response contains the check as it was. */
export const deleteCheck: CheckHandler = async (exchange, context) =>
  outcome(await removeCheck(context.database, command(exchange, context)), exchange, context);

/** The parameters in the body. Throws AppError with the text of its first problem. */
function understood({ body, bodySchema, column }: Exchange): CheckRequest {
  if (bodySchema === null) throw new Error("the route of this endpoint has no body schema");
  const request = readCheckRequest(body, { schema: bodySchema, rules: column.params });
  if (!request.ok) throw new AppError("invalid", request.text);
  return request.value;
}

/** An API key is not a user, so the key itself is named. */
function circumstances({ now, keyId }: Exchange, context: ApiContext) {
  return { at: now, accountId: null, keyId, visibility: context.visibility() };
}

function command(exchange: CheckExchange, context: ApiContext) {
  return {
    ...circumstances(exchange, context),
    projectId: exchange.project.id,
    checkId: exchange.check.id,
  };
}

type Done = Awaited<
  ReturnType<typeof makeCheck | typeof changeCheck | typeof pause | typeof resume | typeof removeCheck>
>;

function outcome(done: Done, exchange: Exchange, context: HandlerContext): Answer {
  if (done.kind === "refused") throw new AppError(done.code, done.text);
  // The check existed in the caller's project a moment ago.
  if (!("check" in done)) return gone();
  return { ...shown(done.check, exchange, context), status: done.kind === "created" ? CREATED : OK };
}

function gone(): never {
  throw new AppError("not_found", ERROR_TEXT.notFound);
}

function shown(check: PresentableCheck, exchange: Exchange, context: HandlerContext): Answer {
  const { json } = context.serializerOf(exchange)(check, exchange.now);
  return { status: OK, content: json, type: JSON_TYPE };
}
