// The form of a check: what is typed, what of it is a change, and what is sent. Pure.
import type { CheckPage } from "../../../../src/contract/web/check-page.ts";
import type { ScheduleRequest } from "../../../../src/contract/web/history.ts";

export type Settings = CheckPage["settings"];

export const UNIT_SECONDS = { minutes: 60, hours: 3_600, days: 86_400, weeks: 604_800 } as const;
export type Unit = keyof typeof UNIT_SECONDS;
/** A duration as it is typed. */
export type Span = { count: string; unit: Unit };

/** The largest unit in which it is a whole number. */
export function spanOf(seconds: number): Span {
  const units = (Object.keys(UNIT_SECONDS) as Unit[]).toReversed();
  const unit = units.find((one) => seconds % UNIT_SECONDS[one] === 0 && seconds >= UNIT_SECONDS[one]);
  const chosen = unit ?? "minutes";
  return { count: String(Number((seconds / UNIT_SECONDS[chosen]).toFixed(4))), unit: chosen };
}

/** Whole seconds; 0 for what is no number. */
export function secondsOf({ count, unit }: Span): number {
  const number = Number(count.replace(",", "."));
  return Number.isFinite(number) && number > 0 ? Math.round(number * UNIT_SECONDS[unit]) : 0;
}

const WHEN: readonly (keyof Settings)[] = ["kind", "timeoutSeconds", "schedule", "tz"];

/** Fields that are different now, as the server takes them: a schedule goes with its kind. */
export function changeOf(before: Settings, after: Settings): Partial<Settings> {
  const change: Partial<Settings> = {};
  const put = (key: keyof Settings) => Object.assign(change, { [key]: after[key] });
  for (const key of Object.keys(after) as (keyof Settings)[]) {
    if (before[key] !== after[key] && counts(key, after)) put(key);
  }
  if (WHEN.some((key) => key in change)) {
    put("kind");
    if (after.kind === "simple") put("timeoutSeconds");
    else {
      put("schedule");
      put("tz");
    }
  }
  return change;
}

/** What belongs to the other kind of schedule is kept by the server as it is. */
function counts(key: keyof Settings, { kind }: Settings): boolean {
  return kind === "simple" ? key !== "schedule" && key !== "tz" : key !== "timeoutSeconds";
}

/** What the server is asked about while somebody types. */
export function scheduleOf({ kind, timeoutSeconds, graceSeconds, schedule, tz }: Settings): ScheduleRequest {
  return { kind, timeoutSeconds, graceSeconds, schedule: schedule.trim(), tz };
}

/** Whether something is changed that the past can be replayed with. */
export function isOtherSchedule(before: Settings, after: Settings): boolean {
  const change = changeOf(before, after);
  return "kind" in change || "graceSeconds" in change;
}
