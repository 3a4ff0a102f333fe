// What can be done to one check, each by the same operation as in the API: how a request of the browser becomes one,
// and how its outcome is told to a person. Bulk requests go through here as well.
import type { CheckChange } from "../../../contract/web/requests/checks.ts";
import type { CheckParams } from "../../../core/check.ts";
import { type AppError, ERROR_TEXT, FIELD_PROBLEM, fieldText } from "../../../core/errors.ts";
import { TAGS_LENGTH_MAX } from "../../../core/limits.ts";
import { expandMacro } from "../../../core/schedule/macros.ts";
import { problemSentence } from "../../../core/schedule/problem.ts";
import { detectKind, findScheduleProblem } from "../../../core/schedule/schedule.ts";
import type { Command } from "../../../operations/change-check.ts";
import { type CheckRecord, type ProjectAsk, WebRefusal } from "../route.ts";
import { sentenceOf } from "../serving/sentence.ts";

type Circumstances = Pick<ProjectAsk, "house" | "account" | "project" | "now">;

/** Who does it, when, and how far we have seen. */
export function circumstances({ house, account, now }: Omit<Circumstances, "project">) {
  return { at: now, accountId: account.id, keyId: null, sight: house.sight() };
}

/** A check of the project to be commanded. */
export function commandFor(
  ask: Circumstances,
  check: Pick<CheckRecord, "id">,
): Command & { checkId: number } {
  return { ...circumstances(ask), projectId: ask.project.id, checkId: check.id };
}

/** The expression as it is stored, macros spelled out. `kind` is the language that the form says it is in. */
export function readExpression(typed: string, kind?: "cron" | "oncalendar"): string {
  const expression = expandMacro(typed) ?? typed;
  const detected = detectKind(expression);
  const isOther =
    kind !== undefined && kind !== detected && findScheduleProblem(expression, detected) === null;
  if (isOther) {
    const name = { cron: "a cron", oncalendar: "an OnCalendar" }[detected];
    throw new WebRefusal("invalid", `This is ${name} expression. Choose that schedule type.`, "schedule");
  }
  const problem = findScheduleProblem(expression, kind ?? null);
  if (problem !== null) throw new WebRefusal("invalid", problemSentence(problem), "schedule");
  return expression;
}

/** What a change asks for, in the words of the operations. `current` is what the check is now, if it is there. */
export function readChange(
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

/** Said of a check that somebody has deleted or moved meanwhile. */
export const NOT_THERE = "The check no longer exists.";

/** Passes on what was done, and throws the sentence to refuse with for everything else. */
export function done<O extends Outcome>(
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
