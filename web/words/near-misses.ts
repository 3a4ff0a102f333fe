// Texts of the near misses page, and of aliases on the page of a check.
import type { NearMiss } from "../../src/contract/api/near-misses.ts";
import { checkName } from "../../src/contract/api/words.ts";
import { plural } from "./format.ts";

export const nearMissWords = {
  tab: "Near misses",
  title: (count: number) => {
    if (count === 0) return "No near misses";
    return count === 1 ? "1 job uses a wrong ping URL" : `${count} jobs use a wrong ping URL`;
  },
  titleIgnored: "Ignored near misses",
  about:
    "These requests don't reach a check as intended. Usually the cause is a typo, a deleted check, or a job that has no check yet.",
  none: "If a job sends pings to a URL that is almost right, or to a deleted check, you see it here.",
  noneIgnored: "You haven't ignored any near misses.",
  ignored: (count: number) => `Ignored: ${count}`,
  back: "Back to near misses",
  inWeek: (count: number) => (count === 1 ? "request in 7 days" : "requests in 7 days"),
  sparkLabel: (count: number, days: number) =>
    count === 0 ? "No requests in 7 days" : `${plural(count, "request")} on ${plural(days, "day")}`,
  from: "from",
  unknownSource: "an unknown address",
  last: "last",
  first: "first",
  request: "Request",
  meant: "check",
  alias: "Add as an alias",
  aliasOf: (check: string) => `Add as an alias of ${check}`,
  aliasLong: (address: string) => `Add ${address} as an alias`,
  create: "Create a check",
  createEvery: (every: string) => `Create a check: ${every}`,
  createLong: (address: string, every: string | null) =>
    `Create a check for ${address}${every === null ? "" : `, ${every}`}`,
  restore: "Restore the check",
  restoreLong: (check: string) => `Restore ${check}`,
  fix: "Show how to fix it",
  ignore: "Ignore",
  ignoreLong: (address: string) => `Ignore ${address}`,
  unignore: "Stop ignoring",
  unignoreLong: (address: string) => `Stop ignoring ${address}`,
  doneAlias: (address: string, check: string) => `Pings to ${address} now count for ${check}.`,
  doneCreate: (name: string) => `Created the check ${name}.`,
  doneRestore: (name: string) => `Restored ${name}.`,
  doneIgnore: (address: string) => `Ignored: ${address}.`,
  doneUnignore: (address: string) => `No longer ignored: ${address}.`,
  choose: {
    title: "Add as an alias",
    text: (address: string) => `Requests to ${address} will count as pings of this check.`,
    label: "Check",
    act: "Add alias",
  },
} as const;

export const aliasWords = {
  title: "Also pinged at",
  text: "Requests to these addresses count as pings of this check.",
  remove: "Remove",
  removeLong: (address: string) => `Remove the alias ${address}`,
  removed: (address: string) => `Removed the alias ${address}.`,
} as const;

const UNITS = [
  [604_800, "week"],
  [86_400, "day"],
  [3_600, "hour"],
  [60, "minute"],
] as const;

/** "every 6 hours", "every day". */
export function everyText(seconds: number): string {
  const [length, unit] = UNITS.find(([one]) => seconds % one === 0) ?? [1, "second"];
  const count = seconds / length;
  return count === 1 ? `every ${unit}` : `every ${count} ${unit}s`;
}

/** What it probably is. `day` formats the day of a deletion. */
export function missTitle(miss: NearMiss, day: (at: number) => string): string {
  const { kind, check, deleted } = miss;
  const name = check === null ? null : checkName(check);
  switch (kind) {
    case "uuid":
      return name === null ? "A mistyped UUID" : `It looks like ${name}, with a mistyped UUID`;
    case "slug":
      return name === null ? "A job without a check" : `It looks like ${name}, with a mistyped slug`;
    case "deleted":
      return `A check that was deleted on ${day(check?.deletedAt ?? deleted?.at ?? miss.firstAt)}`;
    case "method":
      return `Pings can't be sent with ${miss.method}`;
    case "suffix":
      return "The end of the URL is not valid";
    case "http":
      return "Sent without encryption";
  }
}

/** Why, and what it means. */
export function missText(miss: NearMiss): string {
  const { kind, check, deleted, schedule } = miss;
  const name = check === null ? "the check" : checkName(check);
  const regular = schedule === null ? "" : ` Requests come ${everyText(schedule.timeoutSeconds)}.`;
  switch (kind) {
    case "uuid":
      return `No check has this UUID, but ${name} has almost the same. Until the URL is fixed, ${name} doesn't get these pings.${regular}`;
    case "slug":
      return check === null
        ? `The ping key is right, but no check has this slug.${regular}`
        : `The ping key is right, but no check has this slug. Until the URL is fixed, ${name} doesn't get these pings.${regular}`;
    case "deleted":
      return deleted === null
        ? `${name} is in the trash, but its job still sends pings.${regular}`
        : `${deleted.name} can't be restored any more, but its job still sends pings.${regular}`;
    case "method":
      return `The URL of ${name} is right, but only GET, HEAD and POST are accepted. These pings are lost.`;
    case "suffix":
      return `The beginning is right, but the rest is not known, so ${name} doesn't get these pings. Use start, fail, log, or an exit code from 0 to 255.`;
    case "http":
      return `${name} gets these pings, but they are sent over http. If a proxy redirects them to https, the output of the job is lost.`;
  }
}

/** The differing part in the middle of two texts: what both begin and end with, and what is between. */
export function differenceOf(
  given: string,
  wanted: string,
): { start: string; given: string; wanted: string; end: string } {
  const most = Math.min(given.length, wanted.length);
  let start = 0;
  while (start < most && given[start] === wanted[start]) start += 1;
  let end = 0;
  while (end < most - start && given.at(-1 - end) === wanted.at(-1 - end)) end += 1;
  return {
    start: given.slice(0, start),
    given: given.slice(start, given.length - end),
    wanted: wanted.slice(start, wanted.length - end),
    end: end === 0 ? "" : given.slice(-end),
  };
}
