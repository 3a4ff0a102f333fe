// Handlers that create, change, and delete checks, one or many.
import type {
  BulkRequest,
  BulkResult,
  Check,
  CheckChange,
  checkRoutes,
  ScheduleGroup,
  SchedulesRequest,
  SchedulesResult,
} from "../../contract/api/checks.ts";
import { BULK_CHECKS_MAX } from "../../contract/api/limits.ts";
import type { ProblemExtras } from "../../contract/api/problem.ts";
import { pingUrl } from "../../contract/urls.ts";
import { mayDo } from "../../core/access.ts";
import type { CheckParams, CheckSettings } from "../../core/check.ts";
import { AppError, ERROR_TEXT, FIELD_PROBLEM, fieldText } from "../../core/errors.ts";
import { DAY_MS, type Instant } from "../../core/instant.ts";
import { TAGS_LENGTH_MAX, USER_AGENT_LENGTH_MAX } from "../../core/limits.ts";
import { DAYS_KEPT } from "../../core/retention.ts";
import { expandMacro } from "../../core/schedule/cron.ts";
import { problemSentence } from "../../core/schedule/problem.ts";
import { detectKind, findScheduleProblem } from "../../core/schedule/schedule.ts";
import {
  adjustCheck,
  type Adjustment,
  clearHistory,
  type Command,
  copyCheck,
  createCheck,
  type ConflictingEdits,
  pauseCheck,
  rescheduleChecks,
  restoreCheck,
  resumeCheck,
  type ScheduleParams,
  recordPingNow,
  transferCheck,
  trashCheck,
  updateCheck,
  updateCheckSince,
} from "../../operations/checks.ts";
import type { Once } from "../../operations/idempotency.ts";
import { findEmails } from "../../store/accounts.ts";
import { findChannelByUuid } from "../../store/channels.ts";
import { type BulkCheck, findBulkChecks } from "../../store/check-lists.ts";
import { findShownCheck } from "../../store/checks.ts";
import { findProjectEntry, type Project, type ProjectEntry } from "../../store/projects.ts";
import type { Person } from "../../store/sessions.ts";
import { presentRow } from "./checks.ts";
import { entityTag, idempotencyKey, ifMatch, notFound, sentenceOf } from "./params.ts";
import { type Actor, type ApiContext, type ApiHandlers, ApiProblem, type CheckRecord } from "./route.ts";

/** The parts of a request that handlers use to change checks. */
type ProjectRequest = {
  context: ApiContext;
  actor: Actor;
  account: Person | null;
  project: Project;
  now: Instant;
};
type CheckRequest = ProjectRequest & { check: CheckRecord };

/** Who makes a change, when, and up to which time pings have been read. */
function commandContext({ context, actor, now }: Pick<ProjectRequest, "context" | "actor" | "now">) {
  return { at: now, ...actor, visibility: context.visibility() };
}

function commandFor(
  request: Pick<ProjectRequest, "context" | "actor" | "now" | "project">,
  check: Pick<CheckRecord, "id">,
): Command & { checkId: number } {
  return { ...commandContext(request), projectId: request.project.id, checkId: check.id };
}

/** The expression as it is stored, with macros expanded. `kind` is the syntax that the request names. */
export function readExpression(typed: string, kind?: "cron" | "oncalendar"): string {
  const expression = expandMacro(typed) ?? typed;
  const detected = detectKind(expression);
  const isOther =
    kind !== undefined && kind !== detected && findScheduleProblem(expression, detected) === null;
  if (isOther) {
    const name = { cron: "a cron", oncalendar: "an OnCalendar" }[detected];
    throw new AppError("invalid", `This is ${name} expression. Choose that schedule type.`, "schedule");
  }
  const problem = findScheduleProblem(expression, kind ?? null);
  if (problem !== null) throw new AppError("invalid", problemSentence(problem), "schedule");
  return expression;
}

/** A change in the form that the operations accept. `current` contains the settings of the check, if it exists. */
function readChange(
  { kind, schedule, timeoutSeconds, channels, tags, ...given }: CheckChange,
  current: CheckRecord["settings"] | null,
): { params: CheckParams; channels: string | null } {
  const params: CheckParams = { ...given, ...(tags !== undefined && { tags: spaced(tags) }) };
  if (kind === "simple" || (kind === undefined && schedule === undefined)) {
    const period = timeoutSeconds ?? (kind === "simple" ? current?.timeoutSeconds : undefined);
    if (period !== undefined) params.timeoutSeconds = period;
  } else {
    const expression = schedule ?? current?.schedule;
    if (expression === undefined) throw new AppError("invalid", "The schedule is missing.", "schedule");
    params.schedule = readExpression(expression, kind);
  }
  const chosen = channels === undefined ? null : channels === "*" ? "*" : channels.join(",");
  return { params, channels: chosen };
}

function spaced(tags: string): string {
  return tags.split(/\s+/).filter(Boolean).join(" ");
}

/** Why a change was not made, as a sentence. */
const SENTENCES: Readonly<Record<string, string>> = {
  [ERROR_TEXT.checkLimit]: "The project owner has reached the check limit.",
  [ERROR_TEXT.notPaused]: "The check is not paused.",
  [fieldText("tags", FIELD_PROBLEM.tooLong)]: `Tags can have at most ${TAGS_LENGTH_MAX} characters in total.`,
};

type Outcome =
  | { kind: "refused"; code: AppError["code"]; text: string }
  | { kind: "not found" }
  | { kind: "other project" }
  | { kind: string };

/** The check was deleted or moved in the meantime. */
const NOT_THERE = "The check no longer exists.";

/** Returns the result of the change, or throws an AppError. */
function doneOrThrow<O extends Outcome>(
  outcome: O,
): Exclude<O, { kind: "refused" | "not found" | "other project" }> {
  if (outcome.kind === "refused") {
    const { code, text } = outcome as { code: AppError["code"]; text: string };
    throw new AppError(code, SENTENCES[text] ?? sentenceOf(text));
  }
  if (outcome.kind === "not found" || outcome.kind === "other project") {
    throw new AppError("not_found", NOT_THERE);
  }
  return outcome as Exclude<O, { kind: "refused" | "not found" | "other project" }>;
}

// The response to a change that is based on older settings than the current ones.

/** Who changed the checks last, and, for a single check, all changes merged into one. */
async function editConflict(
  { context, actor }: Pick<ProjectRequest, "context" | "actor">,
  { edits, version }: ConflictingEdits,
): Promise<{ text: string; conflict: NonNullable<ProblemExtras["conflict"]> }> {
  const [newest] = edits;
  const accountId = newest?.accountId ?? null;
  const emails =
    accountId === null ? new Map<number, string>() : await findEmails(context.database, [accountId]);
  const email = accountId === null ? undefined : emails.get(accountId);
  const isOne = new Set(edits.map(({ checkId }) => checkId)).size === 1;
  const ownEdits = isOne ? edits : [];
  const conflict = {
    by:
      accountId === null
        ? ({ kind: "key" } as const)
        : accountId === actor.accountId
          ? ({ kind: "you" } as const)
          : email === undefined
            ? null
            : ({ kind: "person", email } as const),
    at: newest?.at ?? version,
    // The oldest value of a field is the one that the change is based on; the newest is the current one.
    before: Object.assign({}, ...ownEdits.map(({ detail }) => detail["before"])),
    after: Object.assign({}, ...ownEdits.toReversed().map(({ detail }) => detail["after"])),
    version,
  };
  const text = isOne
    ? "Someone else changed this check while you were editing it."
    : "Someone else changed some of these checks while you were editing them.";
  return { text, conflict };
}

/** Creates a check of the project. */
export async function makeCheck(
  request: ProjectRequest,
  change: CheckChange,
  once: Once | null = null,
): Promise<{ uuid: string }> {
  const { context, project } = request;
  const { params, channels } = readChange(change, null);
  const { check } = doneOrThrow(
    await createCheck(context.database, {
      ...commandContext(request),
      projectId: project.id,
      projectUuid: project.uuid,
      params,
      channels: channels ?? "*",
      deriveSlug: change.slug === undefined,
      unique: [],
      checkLimitDefault: context.checkLimitDefault,
      once,
    }),
  );
  return check;
}

/** A check as it is after a change, with its ETag. */
async function answer(
  { context, project, now }: ProjectRequest,
  { uuid }: { uuid: string },
): Promise<{ json: Check; headers: { ETag: string } }> {
  const [row, check] = await Promise.all([
    presentRow(context, { check: { uuid }, now }),
    findShownCheck(context.database, uuid),
  ]);
  if (check === null) throw notFound();
  const version = check.updatedAt;
  const { rules: _, ...settings } = check.settings;
  const json = {
    ...row,
    projectId: project.uuid,
    settings,
    channelIds: [...check.channelUuids],
    version,
    createdAt: check.createdAt,
    pingAddresses: {
      url: pingUrl(context.urls, uuid),
      email: context.mailDomain === null ? null : `${uuid}@${context.mailDomain}`,
    },
  };
  return { json, headers: entityTag({ version }) };
}

/** Changes the settings. With If-Match, throws if they were changed since that version. */
async function changeSettings(
  request: CheckRequest,
  { change, versions }: { change: CheckChange; versions: readonly number[] | null },
): Promise<void> {
  const { context, check } = request;
  const { database } = context;
  const edit = { ...commandFor(request, check), ...readChange(change, check.settings), deriveSlug: false };
  if (versions === null) return void doneOrThrow(await updateCheck(database, edit));
  const version = Math.max(...versions);
  if (!Number.isFinite(version)) {
    throw new AppError("precondition_failed", "If-Match must be the ETag of an earlier response.");
  }
  const outcome = await updateCheckSince(database, { ...edit, version });
  if (outcome.kind === "overtaken") {
    const { text, conflict } = await editConflict(request, outcome);
    throw new ApiProblem("precondition_failed", text, { conflict });
  }
  doneOrThrow(outcome);
}

/** Another project in which the caller may edit checks. API keys have only one project. */
async function projectToEnter(
  { context, account }: Pick<ProjectRequest, "context" | "account">,
  projectUuid: string,
): Promise<ProjectEntry> {
  if (account === null) {
    throw new AppError("forbidden", "API keys can't move checks. Use a personal access token.");
  }
  const entry = await findProjectEntry(context.database, { accountId: account.id, projectUuid });
  if (entry === null) throw new AppError("not_found", "Project not found.", "project");
  if (!mayDo(entry.role, "editChecks")) {
    const text = `Your role in the project ${entry.project.name} doesn't allow this.`;
    throw new AppError("forbidden", text, "project");
  }
  return entry;
}

// Bulk actions: each check is changed by the operation for one check, a few at once. A refusal is reported and does not
// stop the others.

/** Checks that are processed concurrently: a request must not use all connections. */
const AT_ONCE = 4;

async function changeMany(request: ProjectRequest, body: BulkRequest): Promise<BulkResult> {
  const { context, project } = request;
  const act = await actOf(request, body);
  const ids = [...new Set(body.ids)];
  const found = await findBulkChecks(context.database, { uuids: ids, projectId: project.id });
  const checks = new Map(found.map((check) => [check.uuid, check]));
  const result: BulkResult = { done: [], unchanged: [], failed: [] };
  await each(ids, async (id) => {
    const outcome = await outcomeOf(checks.get(id), act);
    if ("error" in outcome) return void result.failed.push({ id, ...outcome });
    result.done.push(id);
    if (!outcome.isChanged) result.unchanged.push(id);
  });
  return result;
}

/** Whether anything was changed. */
type Act = (check: BulkCheck) => Promise<{ isChanged: boolean }>;

const CHANGED = { isChanged: true };

/**
 * Runs the work for each item, a few at once. After an error nothing more is started, and the error is thrown once all
 * have ended.
 */
export async function each(ids: readonly string[], work: (id: string) => Promise<void>): Promise<void> {
  const waiting = [...ids];
  const worker = async () => {
    try {
      for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) await work(id);
    } finally {
      waiting.length = 0;
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: AT_ONCE }, worker));
  for (const one of ended) if (one.status === "rejected") throw one.reason;
}

/** Any error but an AppError ends the request. */
async function outcomeOf(
  check: BulkCheck | undefined,
  act: Act,
): Promise<{ isChanged: boolean } | { error: string }> {
  if (check === undefined) return { error: NOT_THERE };
  try {
    const { isChanged } = await act(check);
    return { isChanged };
  } catch (error) {
    if (error instanceof AppError) return { error: sentenceOf(error.message) };
    throw error;
  }
}

async function actOf(request: ProjectRequest, { action, ...given }: BulkRequest): Promise<Act> {
  const { database, checkLimitDefault } = request.context;
  const command = (check: BulkCheck) => commandFor(request, check);
  switch (action) {
    case "pause":
      return async (check) => {
        doneOrThrow(await pauseCheck(database, command(check)));
        return { isChanged: check.status !== "paused" };
      };
    case "resume":
      return async (check) => {
        if (check.status !== "paused") return { isChanged: false };
        doneOrThrow(await resumeCheck(database, command(check)));
        return CHANGED;
      };
    case "delete":
      return async (check) => {
        doneOrThrow(await trashCheck(database, command(check)));
        return CHANGED;
      };
    case "restore":
      return async (check) => {
        const { checkId: _, ...by } = command(check);
        doneOrThrow(await restoreCheck(database, { ...by, uuid: check.uuid, checkLimitDefault }));
        return CHANGED;
      };
    case "addTag":
    case "removeTag":
      return adjusting(request, { tag: needed(given.tag, "tag"), isOn: action === "addTag" });
    case "addChannel":
    case "removeChannel": {
      const channel = await ownChannel(request, needed(given.channel, "channel"));
      return adjusting(request, { channel, isOn: action === "addChannel" });
    }
    case "move": {
      const { project: to } = await projectToEnter(request, needed(given.project, "project"));
      return moving(request, to);
    }
  }
}

function needed(value: string | undefined, field: string): string {
  if (value === undefined) throw new AppError("invalid", `${field} is missing.`, field);
  return value;
}

function adjusting(request: ProjectRequest, adjustment: Adjustment): Act {
  const { database } = request.context;
  return async (check) =>
    doneOrThrow(await adjustCheck(database, { ...commandFor(request, check), adjustment }));
}

async function ownChannel({ context, project }: ProjectRequest, uuid: string): Promise<string> {
  const found = await findChannelByUuid(context.database, uuid);
  if (found?.projectId !== project.id) throw new AppError("invalid", "Channel not found.", "channel");
  return uuid;
}

function moving(request: ProjectRequest, to: Project): Act {
  const { context, project: from } = request;
  const { checkLimitDefault } = context;
  return async (check) => {
    doneOrThrow(
      await transferCheck(context.database, { ...commandFor(request, check), checkLimitDefault, to, from }),
    );
    return CHANGED;
  };
}

// Bulk schedule changes: all or none. The response contains the previous schedules, so that the change can be undone.

async function rescheduleMany(request: ProjectRequest, body: SchedulesRequest): Promise<SchedulesResult> {
  const { context, project } = request;
  const params = paramsOf(body);
  const found = await findBulkChecks(context.database, {
    uuids: [...params.keys()],
    projectId: project.id,
  });
  const wanted = new Map(found.map(({ id, uuid }) => [id, params.get(uuid) ?? {}]));
  const rescheduled = await rescheduleChecks(context.database, {
    ...commandContext(request),
    projectId: project.id,
    wanted,
    ...(body.version !== undefined && { version: body.version }),
  });
  if ("kind" in rescheduled) {
    const { text, conflict } = await editConflict(request, rescheduled);
    throw new ApiProblem("conflict", text, { conflict });
  }
  const uuids = new Map(found.map(({ id, uuid }) => [id, uuid]));
  const done = rescheduled.map(({ checkId, ...outcome }) => ({ id: uuids.get(checkId) ?? "", ...outcome }));
  const there = new Set(done.map(({ id }) => id));
  return {
    done: [...there],
    unchanged: done.filter(({ isChanged }) => !isChanged).map(({ id }) => id),
    failed: [...params.keys()].filter((id) => !there.has(id)).map((id) => ({ id, error: NOT_THERE })),
    previous: grouped(done.filter(({ isChanged }) => isChanged)),
    version: request.now,
  };
}

/** The requested changes by the UUID of the check. */
function paramsOf({ groups }: SchedulesRequest): Map<string, ScheduleParams> {
  const params = new Map<string, ScheduleParams>();
  for (const { ids, timing } of groups) {
    const wanted = readTiming(timing);
    for (const id of ids) {
      if (params.has(id)) throw new AppError("invalid", "A check is listed twice.", "ids");
      params.set(id, wanted);
    }
  }
  if (params.size > BULK_CHECKS_MAX) {
    throw new AppError("invalid", `You can change at most ${BULK_CHECKS_MAX} checks at once.`, "ids");
  }
  return params;
}

/** The fields of the kind: a check keeps its expression while it has an interval, and vice versa. */
function readTiming({
  kind,
  timeoutSeconds,
  graceSeconds,
  schedule,
  tz,
}: ScheduleGroup["timing"]): ScheduleParams {
  if (kind === "simple") return { timeoutSeconds, graceSeconds };
  return readChange({ kind, schedule, tz, graceSeconds }, null).params;
}

/** The previous schedules; checks that had the same schedule form one group. */
export function grouped(checks: readonly { id: string; before: CheckSettings }[]): ScheduleGroup[] {
  const groups = new Map<string, ScheduleGroup>();
  for (const { id, before } of checks) {
    const { kind, timeoutSeconds, graceSeconds, schedule, tz } = before;
    const timing = { kind, timeoutSeconds, graceSeconds, schedule, tz };
    const key = JSON.stringify([graceSeconds, ...(kind === "simple" ? [timeoutSeconds] : [schedule, tz])]);
    const group = groups.get(key) ?? { ids: [], timing };
    group.ids.push(id);
    groups.set(key, group);
  }
  return [...groups.values()];
}

export const checkHandlers: Omit<
  ApiHandlers<typeof checkRoutes>,
  "readCrontab" | "importCrontab" | "listBadges" | "getCheckBadge"
> = {
  createCheck: async (request) => {
    const key = idempotencyKey(request.headers);
    const once = key === null ? null : { key, request: `createCheck ${JSON.stringify(request.body)}` };
    return answer(request, await makeCheck(request, request.body, once));
  },
  updateCheck: async (request) => {
    await changeSettings(request, { change: request.body, versions: ifMatch(request.headers) });
    return answer(request, request.check);
  },
  deleteCheck: async (request) => {
    const { context, check, now } = request;
    doneOrThrow(await trashCheck(context.database, commandFor(request, check)));
    return { json: { id: check.uuid, expiresAt: now + DAYS_KEPT.deletedCheck * DAY_MS } };
  },
  restoreCheck: async (request) => {
    const { check, context } = request;
    const { checkId: _, ...by } = commandFor(request, check);
    const { checkLimitDefault } = context;
    doneOrThrow(await restoreCheck(context.database, { ...by, uuid: check.uuid, checkLimitDefault }));
    return answer(request, check);
  },
  pauseCheck: async (request) => {
    doneOrThrow(await pauseCheck(request.context.database, commandFor(request, request.check)));
    return answer(request, request.check);
  },
  resumeCheck: async (request) => {
    doneOrThrow(await resumeCheck(request.context.database, commandFor(request, request.check)));
    return answer(request, request.check);
  },
  pingCheck: async (request) => {
    const { context, check, remoteAddr, ua } = request;
    const { pingLogLimit: pingLogRows, signalsPerMinute: ratePerMinute } = context;
    doneOrThrow(
      await recordPingNow(context.database, {
        ...commandFor(request, check),
        uuid: check.uuid,
        remoteAddr,
        ua: ua.slice(0, USER_AGENT_LENGTH_MAX),
        pingLogRows,
        rules: { ratePerMinute },
      }),
    );
    return answer(request, check);
  },
  copyCheck: async (request) => {
    const { checkLimitDefault, database } = request.context;
    const copy = { ...commandFor(request, request.check), projectUuid: request.project.uuid };
    const { check } = doneOrThrow(await copyCheck(database, { ...copy, checkLimitDefault }));
    return answer(request, check);
  },
  clearCheckHistory: async (request) => {
    doneOrThrow(await clearHistory(request.context.database, commandFor(request, request.check)));
    return answer(request, request.check);
  },
  transferCheck: async (request) => {
    const { context, check, project: from, body } = request;
    const { project: to } = await projectToEnter(request, body.project);
    const { checkLimitDefault } = context;
    doneOrThrow(
      await transferCheck(context.database, { ...commandFor(request, check), checkLimitDefault, to, from }),
    );
    return answer({ ...request, project: to }, check);
  },
  changeChecks: async (request) => ({ json: await changeMany(request, request.body) }),
  setSchedules: async (request) => ({ json: await rescheduleMany(request, request.body) }),
};
