// The Management API endpoints that list, create, change and delete checks.
import { setImmediate as nextTurn } from "node:timers/promises";
import { checkPresenter, type PresentableCheck, readCheckRequest } from "../../contract/check.ts";
import { type CheckRequest, isCheckWanted, type ListFilter, readListFilter } from "../../core/check.ts";
import { AppError, ERROR_TEXT } from "../../core/errors.ts";
import { sha1Hex } from "../../lib/secrets.ts";
import {
  createCheck as makeCheck,
  deleteCheck as removeCheck,
  pauseCheck as pause,
  resumeCheck as resume,
  updateCheck as changeCheck,
} from "../../operations/checks.ts";
import { type Assignment, listAssignmentsOfChecks } from "../../store/channels.ts";
import { type CheckWithState, listChecks as findChecks } from "../../store/checks.ts";
import type { Answer, ApiContext, CheckExchange, CheckHandler, Exchange, Handler } from "./exchange.ts";

const OK = 200;
const CREATED = 201;
/** A page of the list, as it is read and held: so many checks, and so many bytes of descriptions. */
const PAGE_CHECKS_MAX = 500;
const PAGE_DESCRIPTION_BYTES_MAX = 256 * 1024;
/** So many are presented without a pause: a few milliseconds, in which the process serves no other request. */
const PRESENTED_AT_ONCE = 100;

/** All checks of the project that the query wants, read and rendered page by page. */
export const listChecks: Handler = async (exchange, context) => {
  const filter = readListFilter(exchange.query, { bySlug: exchange.column.listBySlug });
  return { status: OK, pieces: checkPieces(exchange, context, filter) };
};

async function* checkPieces(
  exchange: Exchange,
  context: ApiContext,
  filter: ListFilter,
): AsyncGenerator<string> {
  const present = presenter(exchange, context);
  let before = '{"checks":[';
  for await (const page of checkPages(exchange, context, filter)) {
    const wanted = page.filter(({ settings }) => isCheckWanted(settings, filter));
    const checks = await withChannels(wanted, exchange, context);
    for (let from = 0; from < checks.length; from += PRESENTED_AT_ONCE) {
      if (from > 0) await nextTurn();
      const shownChecks = checks.slice(from, from + PRESENTED_AT_ONCE);
      yield before + shownChecks.map((check) => JSON.stringify(present(check))).join(",");
      before = ",";
    }
  }
  yield before === "," ? "]}" : `${before}]}`;
}

async function* checkPages(
  { project }: Exchange,
  { database }: ApiContext,
  { slug }: ListFilter,
): AsyncGenerator<CheckWithState[]> {
  const limit = PAGE_CHECKS_MAX;
  const bytesMax = PAGE_DESCRIPTION_BYTES_MAX;
  for (let afterId = 0; ; ) {
    const page = { afterId, limit, bytesMax };
    const checks = await findChecks(database, {
      projectId: project.id,
      page,
      ...(slug !== null && { slug }),
    });
    const last = checks.at(-1);
    if (last !== undefined) yield checks;
    const bytes = checks.reduce((sum, { settings }) => sum + Buffer.byteLength(settings.desc), 0);
    if (last === undefined || (checks.length < limit && bytes < bytesMax)) return;
    afterId = last.id;
  }
}

/** One check. */
export const getCheck: CheckHandler = async (exchange, context) => shown(exchange.check, exchange, context);

/** Makes a check, or updates the one that is meant. */
export const createCheck: Handler = async (exchange, context) => {
  const { project, column } = exchange;
  const done = await makeCheck(context.database, {
    ...understood(exchange),
    ...circumstances(exchange, context),
    projectId: project.id,
    deriveSlug: column.params.deriveSlug,
    checkLimitDefault: context.checkLimitDefault,
  });
  return outcome(done, exchange, context);
};

/** Changes what is given. */
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

/** Deletes for good. The answer has the check as it was. */
export const deleteCheck: CheckHandler = async (exchange, context) =>
  outcome(await removeCheck(context.database, command(exchange, context)), exchange, context);

/** What the body asks for. Throws AppError with the text of its first problem. */
function understood({ body, bodySchema, column }: Exchange): CheckRequest {
  if (bodySchema === null) throw new Error("the route of this endpoint has no body schema");
  const request = readCheckRequest(body, { schema: bodySchema, rules: column.params });
  if (!request.ok) throw new AppError("invalid", request.text);
  return request.value;
}

/** A key is no person: it is named itself. */
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

function outcome(done: Done, exchange: Exchange, context: ApiContext): Answer {
  if (done.kind === "refused") throw new AppError(done.code, done.text);
  // It was there, and the caller's, a moment ago.
  if (!("check" in done)) return gone();
  return { ...shown(done.check, exchange, context), status: done.kind === "created" ? CREATED : OK };
}

function gone(): never {
  throw new AppError("not_found", ERROR_TEXT.notFound);
}

function shown(check: PresentableCheck, exchange: Exchange, context: ApiContext): Answer {
  return { status: OK, json: presenter(exchange, context)(check) };
}

function presenter(exchange: Exchange, context: ApiContext) {
  return checkPresenter(exchange, { urls: context.urls, now: exchange.now, sha1Hex });
}

/** The checks with their channels, as far as the key may see those. */
async function withChannels(
  checks: readonly CheckWithState[],
  { keyKind, column }: Exchange,
  { database }: ApiContext,
): Promise<PresentableCheck[]> {
  if (checks.length === 0 || !column.keyFields[keyKind].includes("channels")) {
    return checks.map((check) => ({ ...check, channelUuids: [] }));
  }
  const assignments = await listAssignmentsOfChecks(
    database,
    checks.map(({ id }) => id),
  );
  const uuids = uuidsByCheck(assignments);
  return checks.map((check) => ({ ...check, channelUuids: uuids.get(check.id) ?? [] }));
}

function uuidsByCheck(assignments: readonly Assignment[]): Map<number, string[]> {
  const byCheck = new Map<number, string[]>();
  for (const { checkId, channelUuid } of assignments) {
    const known = byCheck.get(checkId);
    if (known === undefined) byCheck.set(checkId, [channelUuid]);
    else known.push(channelUuid);
  }
  for (const uuids of byCheck.values()) uuids.sort();
  return byCheck;
}
