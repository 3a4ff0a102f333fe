// Creating, changing and deleting checks, one or many, with the same operations as the API.
import type { EditConflict } from "../../contract/api/boot.ts";
import {
  type BulkAnswer,
  BulkRequest,
  CheckChange,
  type ScheduleGroup,
  type SchedulesAnswer,
  SchedulesRequest,
  TransferRequest,
} from "../../contract/api/checks.ts";
import type { ScheduleRequest } from "../../contract/api/history.ts";
import { BULK_CHECKS_MAX } from "../../contract/api/limits.ts";
import { mayDo } from "../../core/access.ts";
import type { CheckParams, CheckSettings } from "../../core/check.ts";
import { AppError, ERROR_TEXT, FIELD_PROBLEM, fieldText } from "../../core/errors.ts";
import { DAY_MS } from "../../core/instant.ts";
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
import { findEmails } from "../../store/accounts.ts";
import { findChannelByUuid } from "../../store/channels.ts";
import { type BulkCheck, findBulkChecks } from "../../store/check-lists.ts";
import { findProjectEntry, type Project, type ProjectEntry } from "../../store/projects.ts";
import { presentRow } from "./checks.ts";
import {
  type CheckRecord,
  type CheckRequest,
  checkRoute,
  type ProjectRequest,
  projectRoute,
  sentenceOf,
  type WebAnswer,
  WebRefusal,
  type WebRoute,
} from "../web/route.ts";

type Circumstances = Pick<ProjectRequest, "context" | "account" | "project" | "now">;

/** Who does it, when, and how far we have seen. */
function commandContext({ context, account, now }: Omit<Circumstances, "project">) {
  return { at: now, accountId: account.id, keyId: null, visibility: context.visibility() };
}

/** A check of the project to be commanded. */
function commandFor(request: Circumstances, check: Pick<CheckRecord, "id">): Command & { checkId: number } {
  return { ...commandContext(request), projectId: request.project.id, checkId: check.id };
}

/** The expression as it is stored, macros spelled out. `kind` is the language that the form says it is in. */
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

/** What a change asks for, in the words of the operations. `current` is what the check is now, if it is there. */
function readChange(
  { kind, schedule, timeoutSeconds, channels, tags, ...given }: Omit<CheckChange, "version">,
  current: CheckRecord["settings"] | null,
): { params: CheckParams; channels: string | null } {
  const params: CheckParams = { ...given, ...(tags !== undefined && { tags: spaced(tags) }) };
  if (kind === "simple" || (kind === undefined && schedule === undefined)) {
    const period = timeoutSeconds ?? (kind === "simple" ? current?.timeoutSeconds : undefined);
    if (period !== undefined) params.timeoutSeconds = period;
  } else {
    const expression = schedule ?? current?.schedule;
    if (expression === undefined) throw new WebRefusal("invalid", "The schedule is missing.", "schedule");
    params.schedule = readExpression(expression, kind);
  }
  const chosen = channels === undefined ? null : channels === "*" ? "*" : channels.join(",");
  return { params, channels: chosen };
}

function spaced(tags: string): string {
  return tags.split(/\s+/).filter(Boolean).join(" ");
}

/** Why something was not done, as a sentence. */
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

/** Passes on what was done, and throws the sentence to refuse with for everything else. */
function doneOrThrow<O extends Outcome>(
  outcome: O,
): Exclude<O, { kind: "refused" | "not found" | "other project" }> {
  if (outcome.kind === "refused") {
    const { code, text } = outcome as { code: AppError["code"]; text: string };
    throw new WebRefusal(code, SENTENCES[text] ?? sentenceOf(text));
  }
  if (outcome.kind === "not found" || outcome.kind === "other project") {
    throw new WebRefusal("not_found", NOT_THERE);
  }
  return outcome as Exclude<O, { kind: "refused" | "not found" | "other project" }>;
}

// The answer to a form that was opened before another user changed the same checks.

/** Who changed them last, and, of a single check, everything that was changed, as one change. */
async function editConflict(
  { context, account }: Pick<CheckRequest, "context" | "account">,
  { edits, version }: ConflictingEdits,
): Promise<WebRefusal> {
  const [newest] = edits;
  const accountId = newest?.accountId ?? null;
  const emails =
    accountId === null ? new Map<number, string>() : await findEmails(context.database, [accountId]);
  const email = accountId === null ? undefined : emails.get(accountId);
  const isOne = new Set(edits.map(({ checkId }) => checkId)).size === 1;
  const ownEdits = isOne ? edits : [];
  const conflict: EditConflict = {
    by:
      accountId === null
        ? { kind: "key" }
        : accountId === account.id
          ? { kind: "you" }
          : email === undefined
            ? null
            : { kind: "person", email },
    at: newest?.at ?? version,
    // The oldest value of a field is what the form began with, the newest what it is now.
    before: Object.assign({}, ...ownEdits.map(({ detail }) => detail["before"])),
    after: Object.assign({}, ...ownEdits.toReversed().map(({ detail }) => detail["after"])),
    version,
  };
  return new WebRefusal(
    "conflict",
    isOne
      ? "Someone else changed this check while you were editing it."
      : "Someone else changed some of these checks while you were editing them.",
    null,
    conflict,
  );
}

// Each of these routes answers with the row after the change.

const CREATED = 201;

const create = projectRoute({
  name: "create check",
  method: "POST",
  path: "/web/api/projects/:project/checks",
  access: "editChecks",
  body: CheckChange,
  answer: async (request) => ({
    status: CREATED,
    ...(await row(request, await makeCheck(request, request.body))),
  }),
});

/** Creates a check of the project. */
export async function makeCheck(request: ProjectRequest, change: CheckChange): Promise<{ uuid: string }> {
  const { context, project } = request;
  const { params, channels } = readChange(change, null);
  const { check } = doneOrThrow(
    await createCheck(context.database, {
      ...commandContext(request),
      projectId: project.id,
      params,
      // A check created by hand uses all channels.
      channels: channels ?? "*",
      deriveSlug: change.slug === undefined,
      unique: [],
      checkLimitDefault: context.checkLimitDefault,
    }),
  );
  return check;
}

const update = checkRoute({
  name: "change check",
  method: "PATCH",
  path: "/web/api/checks/:check",
  access: "editChecks",
  body: CheckChange,
  answer: async (request) => {
    const { context, check } = request;
    const { version, ...change } = request.body;
    const edit = { ...commandFor(request, check), ...readChange(change, check.settings), deriveSlug: false };
    if (version === undefined) doneOrThrow(await updateCheck(context.database, edit));
    else {
      const outcome = await updateCheckSince(context.database, { ...edit, version });
      if (outcome.kind === "overtaken") throw await editConflict(request, outcome);
      doneOrThrow(outcome);
    }
    return row(request, check);
  },
});

/** The row of a check, as the list has it. */
async function row(request: ProjectRequest, check: { uuid: string }): Promise<{ json: unknown }> {
  return { json: await presentRow(request.context, { check, now: request.now }) };
}

/** A route that does something to a check and takes no body. */
function verb(word: string, act: (request: CheckRequest) => Promise<WebAnswer>): WebRoute {
  return checkRoute({
    name: `${word} check`,
    method: "POST",
    path: `/web/api/checks/:check/${word}`,
    access: "editChecks",
    answer: act,
  });
}

const pause = verb("pause", async (request) => {
  doneOrThrow(await pauseCheck(request.context.database, commandFor(request, request.check)));
  return row(request, request.check);
});

const resume = verb("resume", async (request) => {
  doneOrThrow(await resumeCheck(request.context.database, commandFor(request, request.check)));
  return row(request, request.check);
});

const ping = verb("ping", async (request) => {
  const { context, check, remoteAddr, ua } = request;
  const { pingLogLimit: pingLogRows, signalsPerMinute: ratePerMinute } = context;
  const sender = {
    remoteAddr: remoteAddr === "" ? null : remoteAddr,
    ua: ua.slice(0, USER_AGENT_LENGTH_MAX),
  };
  const how = { pingLogRows, rules: { ratePerMinute } };
  doneOrThrow(
    await recordPingNow(context.database, {
      ...commandFor(request, check),
      uuid: check.uuid,
      ...sender,
      ...how,
    }),
  );
  return row(request, check);
});

const copy = verb("copy", async (request) => {
  const { checkLimitDefault, database } = request.context;
  const { check } = doneOrThrow(
    await copyCheck(database, { ...commandFor(request, request.check), checkLimitDefault }),
  );
  return { status: CREATED, ...(await row(request, check)) };
});

const clear = verb("clear", async (request) => {
  doneOrThrow(await clearHistory(request.context.database, commandFor(request, request.check)));
  return row(request, request.check);
});

const remove = checkRoute({
  name: "delete check",
  method: "DELETE",
  path: "/web/api/checks/:check",
  access: "editChecks",
  answer: async (request) => {
    const { context, check, now } = request;
    doneOrThrow(await trashCheck(context.database, commandFor(request, check)));
    return { json: { id: check.uuid, goneAt: now + DAYS_KEPT.deletedCheck * DAY_MS } };
  },
});

const restore = checkRoute({
  name: "restore check",
  method: "POST",
  path: "/web/api/checks/:check/restore",
  access: "editChecks",
  deleted: true,
  answer: async (request) => {
    const { check, context } = request;
    const { checkId: _, ...by } = commandFor(request, check);
    const { checkLimitDefault } = context;
    doneOrThrow(await restoreCheck(context.database, { ...by, uuid: check.uuid, checkLimitDefault }));
    return row(request, check);
  },
});

const transfer = checkRoute({
  name: "transfer check",
  method: "POST",
  path: "/web/api/checks/:check/transfer",
  access: "editChecks",
  body: TransferRequest,
  answer: async (request) => {
    const { context, check, project: from, body } = request;
    const { project: to } = await projectToEnter(request, body.project);
    const { checkLimitDefault } = context;
    doneOrThrow(
      await transferCheck(context.database, { ...commandFor(request, check), checkLimitDefault, to, from }),
    );
    return row(request, check);
  },
});

/** A project in which this person may change checks, too. */
async function projectToEnter(
  { context, account }: Pick<ProjectRequest, "context" | "account">,
  projectUuid: string,
): Promise<ProjectEntry> {
  const entry = await findProjectEntry(context.database, { accountId: account.id, projectUuid });
  if (entry === null) throw new WebRefusal("not_found", "Project not found.", "project");
  if (!mayDo(entry.role, "editChecks")) {
    const sentence = `Your role in the project ${entry.project.name} doesn't allow this.`;
    throw new WebRefusal("forbidden", sentence, "project");
  }
  return entry;
}

export const changeRoutes: readonly WebRoute[] = [
  create,
  update,
  pause,
  resume,
  ping,
  copy,
  clear,
  remove,
  restore,
  transfer,
];

// Bulk actions: each check is changed by the operation for one check, a few at once. A refusal is reported and does not
// stop the others.

/** So many are worked on at once: a request must not take all connections. */
const AT_ONCE = 4;

const bulk = projectRoute({
  name: "change many checks",
  method: "POST",
  path: "/web/api/projects/:project/bulk",
  access: "editChecks",
  body: BulkRequest,
  answer: async (request) => {
    const { context, project, body } = request;
    const act = await actOf(request, body);
    const ids = [...new Set(body.ids)];
    const found = await findBulkChecks(context.database, { uuids: ids, projectId: project.id });
    const checks = new Map(found.map((check) => [check.uuid, check]));
    const answer: BulkAnswer = { done: [], same: [], refused: [] };
    await each(ids, async (id) => {
      const outcome = await outcomeOf(checks.get(id), act);
      if ("error" in outcome) return void answer.refused.push({ id, ...outcome });
      answer.done.push(id);
      if (!outcome.isChanged) answer.same.push(id);
    });
    return { json: answer };
  },
});

/** Whether there was anything to change. */
type Act = (check: BulkCheck) => Promise<{ isChanged: boolean }>;

const CHANGED = { isChanged: true };

/** Does it for each, a few at once. After an error nothing more is started, and the error is thrown once all have ended. */
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

/** What is no refusal is a fault, and ends the whole. */
async function outcomeOf(
  check: BulkCheck | undefined,
  act: Act,
): Promise<{ isChanged: boolean } | { error: string }> {
  if (check === undefined) return { error: NOT_THERE };
  try {
    const { isChanged } = await act(check);
    return { isChanged };
  } catch (error) {
    if (error instanceof WebRefusal || error instanceof AppError) return { error: error.message };
    throw error;
  }
}

async function actOf(request: ProjectRequest, { do: what, ...given }: BulkRequest): Promise<Act> {
  const { database, checkLimitDefault } = request.context;
  const command = (check: BulkCheck) => commandFor(request, check);
  switch (what) {
    case "pause":
      return async (check) => {
        doneOrThrow(await pauseCheck(database, command(check)));
        return { isChanged: check.status !== "paused" };
      };
    case "resume":
      return async (check) => {
        // Those that are not paused are as wanted.
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
      return adjusting(request, { tag: needed(given.tag, "tag"), isOn: what === "addTag" });
    case "addChannel":
    case "removeChannel": {
      const channel = await ownChannel(request, needed(given.channel, "channel"));
      return adjusting(request, { channel, isOn: what === "addChannel" });
    }
    case "move": {
      const { project: to } = await projectToEnter(request, needed(given.project, "project"));
      return moving(request, to);
    }
  }
}

function needed(value: string | undefined, field: string): string {
  if (value === undefined) throw new WebRefusal("invalid", `${field} is missing.`, field);
  return value;
}

function adjusting(request: ProjectRequest, adjustment: Adjustment): Act {
  const { database } = request.context;
  return async (check) =>
    doneOrThrow(await adjustCheck(database, { ...commandFor(request, check), adjustment }));
}

async function ownChannel({ context, project }: ProjectRequest, uuid: string): Promise<string> {
  const found = await findChannelByUuid(context.database, uuid);
  if (found?.projectId !== project.id) throw new WebRefusal("invalid", "Channel not found.", "channel");
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

export const bulkRoutes: readonly WebRoute[] = [bulk];

// Bulk schedule changes: all or none. The answer contains the previous schedules, so that the change can be undone.

const schedules = projectRoute({
  name: "set schedules of checks",
  method: "POST",
  path: "/web/api/projects/:project/schedules",
  access: "editChecks",
  body: SchedulesRequest,
  answer: async (request) => {
    const { context, project, body } = request;
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
    if ("kind" in rescheduled) throw await editConflict(request, rescheduled);
    const uuids = new Map(found.map(({ id, uuid }) => [id, uuid]));
    const done = rescheduled.map(({ checkId, ...outcome }) => ({ id: uuids.get(checkId) ?? "", ...outcome }));
    const there = new Set(done.map(({ id }) => id));
    const answer: SchedulesAnswer = {
      done: [...there],
      same: done.filter(({ isChanged }) => !isChanged).map(({ id }) => id),
      refused: [...params.keys()].filter((id) => !there.has(id)).map((id) => ({ id, error: NOT_THERE })),
      back: grouped(done.filter(({ isChanged }) => isChanged)),
      version: request.now,
    };
    return { json: answer };
  },
});

/** What is asked of each check, by its UUID. */
function paramsOf({ groups }: SchedulesRequest): Map<string, ScheduleParams> {
  const params = new Map<string, ScheduleParams>();
  for (const { ids, when } of groups) {
    const wanted = readWhen(when);
    for (const id of ids) {
      if (params.has(id)) throw new WebRefusal("invalid", "A check is listed twice.", "ids");
      params.set(id, wanted);
    }
  }
  if (params.size > BULK_CHECKS_MAX) {
    throw new WebRefusal("invalid", `You can change at most ${BULK_CHECKS_MAX} checks at once.`, "ids");
  }
  return params;
}

/** What belongs to the kind of a schedule: a check keeps its expression when it waits for a period, and the reverse. */
function readWhen({ kind, timeoutSeconds, graceSeconds, schedule, tz }: ScheduleRequest): ScheduleParams {
  if (kind === "simple") return { timeoutSeconds, graceSeconds };
  return readChange({ kind, schedule, tz, graceSeconds }, null).params;
}

/** By what counts of their schedules: those that had the same are one group. */
function grouped(checks: readonly { id: string; before: CheckSettings }[]): ScheduleGroup[] {
  const groups = new Map<string, ScheduleGroup>();
  for (const { id, before } of checks) {
    const { kind, timeoutSeconds, graceSeconds, schedule, tz } = before;
    const when: ScheduleRequest = { kind, timeoutSeconds, graceSeconds, schedule, tz };
    const key = JSON.stringify([graceSeconds, ...(kind === "simple" ? [timeoutSeconds] : [schedule, tz])]);
    const group = groups.get(key) ?? { ids: [], when };
    group.ids.push(id);
    groups.set(key, group);
  }
  return [...groups.values()];
}

export const scheduleRoutes: readonly WebRoute[] = [schedules];
