// Days, weeks and months as people name them: `14 November`, `2 to 8 November`, `October 2026`.
import type { Period } from "../../core/alerts/downtime.ts";
import { type LocalDay, localDay, type PeriodLength } from "../../core/alerts/local-time.ts";
import { MONTHS } from "../../core/schedule/wording/phrases.ts";

export type Naming = {
  length: PeriodLength;
  zone: string /** Where there is little room. */;
  isBrief?: boolean;
};

/** What a period is called, by the clock of a zone. */
export function periodName({ from, to }: Period, { length, zone, isBrief = false }: Naming): string {
  const monthOf = ({ month }: LocalDay) =>
    (MONTHS[month - 1] ?? "").slice(0, isBrief ? BRIEF_LENGTH : undefined);
  const dayName = (day: LocalDay) => `${day.day} ${monthOf(day)}`;
  const first = localDay(from, zone);
  if (length === "monthly") return `${monthOf(first)} ${first.year}`;
  if (length === "daily") return dayName(first);
  const last = localDay(to - 1, zone);
  const beginning = first.month === last.month ? String(first.day) : dayName(first);
  return `${beginning} to ${dayName(last)}`;
}

const BRIEF_LENGTH = 3;
