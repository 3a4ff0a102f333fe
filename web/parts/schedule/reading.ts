// When signals are expected, as a form has it, and what becomes of what is typed when the server has read it. Pure.
import type { SchedulePreview, ScheduleRequest } from "../../../src/contract/web/history.ts";

export type Schedule = ScheduleRequest;

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
  was: Schedule,
  { kind, schedule, readAs, readerZone, isZoneChosen }: ReadSchedule,
): Partial<Schedule> {
  if (was.kind !== kind || was.schedule !== schedule || readAs === kind) return {};
  const isOwnClock = readAs === null && was.tz === UNCHOSEN_ZONE && !isZoneChosen;
  return { schedule: SAMPLES[kind], ...(isOwnClock && { tz: readerZone }) };
}

/** What the server is asked about while somebody types. */
export function scheduleOf({ kind, timeoutSeconds, graceSeconds, schedule, tz }: Schedule): Schedule {
  return { kind, timeoutSeconds, graceSeconds, schedule: schedule.trim(), tz };
}
