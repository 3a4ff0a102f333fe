// The form of a check: what is typed, what of it is a change, and what is sent. Pure.
import type { CheckPage } from "../../../../src/contract/web/check-page.ts";
import type { SchedulePreview, ScheduleRequest } from "../../../../src/contract/web/history.ts";

export type Settings = CheckPage["settings"];

const WHEN: readonly (keyof Settings)[] = ["kind", "timeoutSeconds", "schedule", "tz"];

/** What is put in when somebody changes to a kind that has no expression yet. */
const SAMPLES = { cron: "0 3 * * *", oncalendar: "*-*-* 03:00" } as const;

/** The zone of a check for which nobody has chosen one. */
const UNCHOSEN_ZONE = "UTC";

export type ReadSchedule = {
  /** The kind that was chosen, and the expression that the server was asked about then. */
  kind: "cron" | "oncalendar";
  schedule: string;
  /** Whose language the server says that it is. */
  readAs: SchedulePreview["scheduleKind"];
  readerZone: string;
  /** Somebody has chosen the zone in this form: it stays, also where it is the one that checks begin with. */
  isZoneChosen: boolean;
};

/**
 * What follows from the server's answer: an expression in another language gives way to a sample, and whoever writes
 * the first one most likely means the own clock. Nothing, if something else was chosen or written meanwhile.
 */
export function readChange(
  was: Settings,
  { kind, schedule, readAs, readerZone, isZoneChosen }: ReadSchedule,
): Partial<Settings> {
  if (was.kind !== kind || was.schedule !== schedule || readAs === kind) return {};
  const isOwnClock = readAs === null && was.tz === UNCHOSEN_ZONE && !isZoneChosen;
  return { schedule: SAMPLES[kind], ...(isOwnClock && { tz: readerZone }) };
}

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
