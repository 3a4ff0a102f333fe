// The form of a check: what is typed, what of it is a change, and what is sent. Pure.
import type { CheckPage } from "../../../../src/contract/web/check-page.ts";

export type Settings = CheckPage["settings"];

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

/** Whether something is changed that the past can be replayed with. */
export function isOtherSchedule(before: Settings, after: Settings): boolean {
  const change = changeOf(before, after);
  return "kind" in change || "graceSeconds" in change;
}
