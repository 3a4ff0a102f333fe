// What the snippets of a check are filled in with.
import type { CheckPage } from "../../../../src/contract/web/check-page.ts";
import type { Facts } from "./snippet.ts";

type Times = Pick<Facts, "cron" | "calendar">;

/** Once a day: for whatever has no line of its own, to be changed. */
const DAILY: Times = { cron: "0 3 * * *", calendar: "*-*-* 03:00:00" };
const WEEKLY: Times = { cron: "0 3 * * 0", calendar: "Sun *-*-* 03:00:00" };
const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;

export function factsOf({ settings, addresses }: CheckPage, { bySlug }: { bySlug: boolean }): Facts {
  // More than one line is more than one schedule: a crontab takes one.
  const [first = ""] = settings.schedule.split("\n");
  return {
    url: bySlug && addresses.slugUrl !== null ? addresses.slugUrl : addresses.url,
    mail: addresses.mail,
    ...timesOf(settings.kind === "simple" ? settings.timeoutSeconds : DAY),
    ...(settings.kind === "cron" && { cron: first.trim() }),
    ...(settings.kind === "oncalendar" && { calendar: first.trim() }),
    isPostOnly: settings.methods === "POST",
  };
}

/** A job that runs about as often as a signal is expected. */
export function timesOf(everySeconds: number): Times {
  const minutes = everySeconds / MINUTE;
  const hours = everySeconds / HOUR;
  if (everySeconds === MINUTE) return { cron: "* * * * *", calendar: "*-*-* *:*:00" };
  if (Number.isInteger(minutes) && minutes < 60 && 60 % minutes === 0) {
    return { cron: `*/${minutes} * * * *`, calendar: `*-*-* *:00/${minutes}:00` };
  }
  if (everySeconds === HOUR) return { cron: "0 * * * *", calendar: "*-*-* *:00:00" };
  if (Number.isInteger(hours) && hours < 24 && 24 % hours === 0) {
    return { cron: `0 */${hours} * * *`, calendar: `*-*-* 00/${hours}:00:00` };
  }
  return everySeconds === WEEK ? WEEKLY : DAILY;
}
