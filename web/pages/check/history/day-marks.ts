// What a day of the strip was like: how it is drawn, and in words. Pure.
import type { DayMark } from "../../../../src/contract/web/check-page.ts";
import { historyWords as words } from "../../../words/check/page.ts";

export type DayKind = "up" | "down" | "unseen" | "uncounted" | "quiet" | "before";

export function kindOfDay({ isBefore, downMs, failCount, successCount, isUnseen }: DayMark): DayKind {
  if (isBefore) return "before";
  if ((downMs ?? 0) > 0 || failCount > 0) return "down";
  if (isUnseen) return "unseen";
  if (downMs === null) return "uncounted";
  return successCount > 0 ? "up" : "quiet";
}

/** Whether the table twin lists a day: it was not simply good, or without a signal. */
export function isToldApart(day: DayMark): boolean {
  const kind = kindOfDay(day);
  return ["down", "unseen", "uncounted"].includes(kind) || (kind !== "before" && day.unseenMs > 0);
}

/** What a day was like, in a few words. */
export function dayText({ isBefore, downMs, failCount, successCount, unseenMs }: DayMark): string {
  if (isBefore) return words.day.before;
  const said = [
    successCount > 0 ? words.day.success(successCount) : null,
    failCount > 0 ? words.day.fail(failCount) : null,
    downMs === null ? words.day.uncounted : downMs > 0 ? words.day.down(downMs) : null,
    unseenMs > 0 ? words.day.unseen(unseenMs) : null,
  ].filter((text) => text !== null);
  return said.length === 0 ? words.day.nothing : said.join(", ");
}

/** The strip as a whole, in one sentence. Days that were not fully observed may be good ones otherwise. */
export function stripText(kinds: readonly DayKind[], unseenDays: number): string {
  const count = (kind: DayKind) => kinds.filter((one) => one === kind).length;
  const said = [
    words.good(count("up")),
    count("down") > 0 ? words.bad(count("down")) : null,
    count("quiet") > 0 ? words.quiet(count("quiet")) : null,
    count("uncounted") > 0 ? words.uncountedDays(count("uncounted")) : null,
    unseenDays > 0 ? words.unseen(unseenDays) : null,
  ].filter((text) => text !== null);
  return words.strip(said);
}
