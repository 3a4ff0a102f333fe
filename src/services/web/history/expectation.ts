// What a schedule means, for people: a sentence, and the next times.
import type { Expectation } from "../../../contract/web/check-page.ts";
import type { SchedulePreview, ScheduleRemark, ScheduleRequest } from "../../../contract/web/history.ts";
import { sentenceText } from "../../../core/schedule/wording/durations.ts";
import { type Instant, SECOND_MS } from "../../../core/instant.ts";
import { DEFAULT_SCHEDULE } from "../../../core/limits.ts";
import { expectedAt } from "../../../core/machine/status.ts";
import { expandMacro } from "../../../core/schedule/macros.ts";
import { noteSentence, scheduleNotes } from "../../../core/schedule/notes.ts";
import { problemSentence } from "../../../core/schedule/problem.ts";
import {
  detectKind,
  findScheduleProblem,
  nextAfter,
  parseSchedule,
} from "../../../core/schedule/schedule.ts";
import { describe } from "../../../core/schedule/wording/describe.ts";
import type { CheckWithState } from "../../../store/checks/checks.ts";

const TIMES_SHOWN = 10;

type When = Pick<ScheduleRequest, "kind" | "timeoutSeconds" | "schedule" | "tz">;

/** What is expected of a check from now on. */
export function expectationOf({ settings, state }: CheckWithState, now: Instant): Expectation {
  const first = settings.kind === "simple" ? expectedAt({ timing: settings, state }) : null;
  return { sentence: whenSentence(settings), nextAt: nextTimes(settings, { now, first }) };
}

/** The same for settings that somebody is typing. A period is counted as if a signal came now. */
export function previewOf(typed: ScheduleRequest, now: Instant): SchedulePreview {
  const expanded = typed.kind === "simple" ? null : expandMacro(typed.schedule);
  const request = { ...typed, schedule: expanded ?? typed.schedule };
  const shared = { scheduleKind: writtenKind(request), expanded };
  if (request.kind !== "simple") {
    // A form with one field for both languages says cron.
    const problem = findScheduleProblem(request.schedule, request.kind === "cron" ? null : request.kind);
    if (problem !== null) return { error: problemSentence(problem), ...shared };
  }
  const first = now + request.timeoutSeconds * SECOND_MS;
  const nextAt = nextTimes(request, { now, first });
  const { tz } = request;
  return { sentence: whenSentence(request), nextAt, tz, remarks: remarksOf(request), ...shared };
}

function remarksOf({ kind, schedule }: When): ScheduleRemark[] {
  if (kind === "simple") return [];
  return scheduleNotes(schedule).map((note) => ({
    kind: note.kind === "single" ? "warning" : "note",
    text: noteSentence(note),
  }));
}

/** A Simple check has an expression that nobody wrote, unless it was a Cron check once. */
function writtenKind({ kind, schedule }: When): SchedulePreview["scheduleKind"] {
  const isUnwritten = schedule.trim() === "" || (kind === "simple" && schedule === DEFAULT_SCHEDULE);
  return isUnwritten ? null : detectKind(schedule);
}

/** When a signal is expected, as a sentence. */
export function whenSentence({ kind, timeoutSeconds, schedule: text, tz }: When): string {
  if (kind === "simple") return `Every ${withoutOne(sentenceText(timeoutSeconds))}.`;
  const schedule = parseSchedule({ text, tz });
  return schedule === null ? text : describe(schedule);
}

/** "Every day", not "every 1 day". */
function withoutOne(duration: string): string {
  return duration.replace(/^1 (?=\D+$)/, "");
}

function nextTimes(
  { kind, timeoutSeconds, schedule: text, tz }: When,
  { now, first }: { now: Instant; first: Instant | null },
): Instant[] {
  if (kind === "simple") {
    if (first === null) return [];
    return Array.from({ length: TIMES_SHOWN }, (_, index) => first + index * timeoutSeconds * SECOND_MS);
  }
  const schedule = parseSchedule({ text, tz });
  const times: Instant[] = [];
  for (let at = schedule && nextAfter(schedule, now); at !== null && times.length < TIMES_SHOWN; ) {
    times.push(at);
    at = schedule && nextAfter(schedule, at);
  }
  return times;
}
