// Schedules in plain English, for both languages: what a person reads beside the expression. Says what
// was written, not when it fires next.

import type { Line } from "../firing.ts";
import type { ParsedSchedule } from "../schedule.ts";
import { dayPhrase } from "./days.ts";
import { WEEKDAYS } from "./phrases.ts";
import { MAX_LISTED_TIMES, timePhrase } from "./times.ts";

/**
 * One sentence that says when the schedule fires and by which clock. More times of a day than `listedMax` are told by
 * their stride, where they have one.
 */
export function describe(schedule: ParsedSchedule, listedMax = MAX_LISTED_TIMES): string {
  const zones = new Set(schedule.lines.map((line) => line.zone.name));
  const [zone = ""] = zones;
  const oneOfMany = zones.size > 1;
  const phrases = schedule.lines.map((line) => {
    const phrase = linePhrase(line, listedMax);
    return oneOfMany ? `${phrase}, ${zonePhrase(line.zone.name)}` : phrase;
  });
  const told = [...new Set(phrases)];
  const text = told.join("; and ");
  if (oneOfMany) return sentence(text);
  return sentence(
    told.length === 1 ? `${text}, ${zonePhrase(zone)}` : `${text} (all in ${zonePhrase(zone)})`,
  );
}

function linePhrase({ calendar: { rule } }: Line, listedMax: number): string {
  const time = timePhrase(rule, listedMax);
  const days = dayPhrase(rule);
  const named = days.everyDay && time.partOfDay ? `every day ${days.text}`.trimEnd() : days.text;
  if (named === "") return time.text;
  // "At 09:00, Monday to Friday", but "At 09:00 every Monday".
  const apart = WEEKDAYS.some((name) => named.startsWith(name));
  return `${time.text}${apart ? "," : ""} ${named}`;
}

function zonePhrase(name: string): string {
  return name === "UTC" ? name : `${name} time`;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
