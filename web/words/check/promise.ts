// The summary at the top of the check page: schedule, when it is late and alerts, the last success, and the status. Pure.
import type { CheckPage } from "../../../src/contract/web/check-page.ts";
import { type CheckRow, drawnAt } from "../../../src/contract/web/check-row.ts";
import { formatClock, formatDay, formatSpan, formatWhen, type Reader } from "../time.ts";

/** A part of the summary. `is` sets the emphasis; `isWhole` prevents a line break inside. */
type Part = { text: string; is?: "strong" | "bad" | "late"; isWhole?: true };

export type Told = {
  page: Pick<CheckPage, "expectation" | "settings" | "lastSuccessAt" | "hasSucceeded">;
  row: CheckRow;
  reader: Reader;
};

const SECOND_MS = 1_000;

const plain = (text: string): Part => ({ text });
const strong = (text: string): Part => ({ text, is: "strong" });
const time = (text: string): Part => ({ text, is: "strong", isWhole: true });

/** "at 03:00 every day, Europe/Riga time", to stand inside a sentence. */
export function insideSentence(sentence: string): string {
  const text = sentence.replace(/\.$/, "");
  return text.charAt(0).toLowerCase() + text.slice(1);
}

/** The whole summary, in parts. */
export function promiseOf(told: Told): Part[] {
  const { page, row, reader } = told;
  const state = drawnAt(row, reader.now);
  const expected = [plain("Expected "), strong(insideSentence(page.expectation.sentence))];
  return [...expected, ...deadlines(told), ...lastCame(told), ...standing(told, state), ...zoneNote(told)];
}

function deadlines({ page, row, reader }: Told): Part[] {
  const { fuse } = row;
  const state = drawnAt(row, reader.now);
  if (fuse === null || state === "down" || state === "running" || state === "paused" || state === "new") {
    const grace = formatSpan(page.settings.graceSeconds * SECOND_MS);
    return [plain(". Late after that. Alerts after "), time(grace), plain(".")];
  }
  const late = formatWhen(fuse.lateAt, reader);
  const alert = sameDayClock(fuse.alertAt, fuse.lateAt, reader);
  if (state === "late") {
    return [plain(". Late since "), time(late), plain(". Alerts at "), time(alert), plain(".")];
  }
  return [plain(". Late after "), time(late), plain(". Alerts at "), time(alert), plain(".")];
}

/** Only the time if the day was just shown. */
function sameDayClock(at: number, toldAt: number, reader: Reader): string {
  const clock = formatClock(at, reader.zone);
  return formatDay(at, reader) === formatDay(toldAt, reader) ? clock : formatWhen(at, reader);
}

function lastCame({ page: { lastSuccessAt, hasSucceeded }, row, reader }: Told): Part[] {
  if (row.state === "new") return [];
  if (lastSuccessAt === null)
    return [plain(hasSucceeded ? " The last success is older than the kept history." : " No success yet.")];
  const came = [plain(" Last success: "), time(formatWhen(lastSuccessAt, reader))];
  if (row.state === "down" && row.downReason === "timeout") return [...came, plain(". No success since.")];
  return [...came, plain(".")];
}

function standing({ page, row, reader }: Told, state: ReturnType<typeof drawnAt>): Part[] {
  const since = (at: number | null) => formatSpan(reader.now - (at ?? reader.now));
  switch (state) {
    case "down": {
      const failed =
        row.downReason !== "fail"
          ? []
          : row.exitStatus === null || row.exitStatus === 0
            ? [plain(" Then the job reported a failure.")]
            : [plain(" Then the job failed with exit code "), strong(String(row.exitStatus)), plain(".")];
      return [...failed, plain(" "), { text: `Down for ${since(row.downSince)}.`, is: "bad", isWhole: true }];
    }
    case "late": {
      const alertAt = row.fuse?.alertAt ?? reader.now;
      const text = alertAt > reader.now ? `Alert in ${formatSpan(alertAt - reader.now)}.` : "Alert is due.";
      return [plain(" "), { text, is: "late", isWhole: true }];
    }
    case "running": {
      const running = [plain(" Running for "), time(since(row.runningSince))];
      if (row.fuse === null) return [...running, plain(".")];
      const by = formatWhen(row.fuse.alertAt, reader);
      return [...running, plain(". Alerts if it hasn't finished by "), time(by), plain(".")];
    }
    case "paused":
      return [
        plain(" "),
        strong("Paused: no pings expected, no alerts sent."),
        plain(
          page.settings.manualResume ? " Pings don't resume the check." : " The next ping resumes the check.",
        ),
      ];
    case "new":
      return [plain(" Monitoring starts with the first ping.")];
    case "up":
      return [];
  }
}

/** Names the zone of the times if the schedule uses another time zone than the reader. */
function zoneNote({ page, reader }: Told): Part[] {
  const { kind, tz } = page.settings;
  if (kind === "simple" || formatClock(reader.now, reader.zone) === zoneClock(reader.now, tz)) return [];
  return [plain(` Times on this page are in ${reader.zone}.`)];
}

function zoneClock(at: number, zone: string): string {
  try {
    return formatClock(at, zone);
  } catch {
    // A zone this browser doesn't support: show the note.
    return "";
  }
}
