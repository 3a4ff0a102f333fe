// The summary of a check, state by state.
import { describe, expect, test } from "vitest";
import type { CheckRow } from "../../src/contract/api/check-row.ts";
import { expectationOf, insideSentence, type SummaryFacts } from "./check.ts";

const NOW = Date.UTC(2026, 10, 15, 4, 1);
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const EXPECTED = Date.UTC(2026, 10, 15, 1);

const row = (change: Partial<CheckRow>): CheckRow => ({
  id: "x",
  name: "nightly-backup",
  slug: "",
  tags: [],
  state: "up",
  runningSince: null,
  expected: "",
  lastPingAt: NOW - DAY,
  lastDurationMs: null,
  fuse: null,
  downSince: null,
  downReason: null,
  exitStatus: null,
  tolerance: null,
  channelCount: 1,
  change: 1,
  readingOrder: 1,
  ...change,
});

type Success = Pick<SummaryFacts["page"], "lastSuccessAt" | "hasSucceeded">;
const SUCCEEDED: Success = { lastSuccessAt: EXPECTED - DAY + 14 * 60_000, hasSucceeded: true };

function summary(
  change: Partial<CheckRow>,
  { zone = "Europe/Riga", manualResume = false, success = SUCCEEDED } = {},
): string {
  const settings = { kind: "cron", tz: "Europe/Riga", graceSeconds: 3_000, manualResume };
  const expectation = { sentence: "At 03:00 every day, Europe/Riga time.", nextAt: [] };
  const facts = { page: { expectation, settings, ...success }, row: row(change), reader: { now: NOW, zone } };
  return expectationOf(facts as unknown as SummaryFacts)
    .map(({ text }) => text)
    .join("");
}

describe("the summary of a check", () => {
  test("that is up has the times when it becomes late and when it alerts", () => {
    const fuse = { fromAt: NOW - HOUR, lateAt: EXPECTED + DAY, alertAt: EXPECTED + DAY + 50 * 60_000 };
    expect(summary({ fuse })).toBe(
      "Expected at 03:00 every day, Europe/Riga time. Late after tomorrow 03:00. Alerts at 03:50. Last success: yesterday 03:14.",
    );
  });
  test("that is late counts down to the alert", () => {
    const fuse = { fromAt: NOW - DAY, lateAt: NOW - 60_000, alertAt: NOW + 11 * 60_000 };
    expect(summary({ fuse })).toContain("Late since today 06:00. Alerts at 06:12.");
    expect(summary({ fuse })).toMatch(/Alert in 11 min\.$/);
  });
  test("that fails distinguishes a success older than the log from one that never happened", () => {
    const failed = { state: "down", downReason: "fail", downSince: NOW - HOUR } as const;
    const forgotten = summary(failed, { success: { lastSuccessAt: null, hasSucceeded: true } });
    const never = summary(failed, { success: { lastSuccessAt: null, hasSucceeded: false } });
    expect(forgotten).toContain(
      "Alerts after 50 min. The last success is older than the kept history. Then the job reported a failure.",
    );
    expect(never).toContain("No success yet. Then the job reported a failure.");
  });
  test("that went silent has the reason and the duration", () => {
    const text = summary({ state: "down", downReason: "timeout", downSince: NOW - 131 * 60_000 });
    expect(text).toBe(
      "Expected at 03:00 every day, Europe/Riga time. Late after that. Alerts after 50 min. Last success: yesterday 03:14. No success since. Down for 2 h 11 min.",
    );
  });
  test("that failed has the exit code", () => {
    const text = summary({ state: "down", downReason: "fail", exitStatus: 3, downSince: NOW - 60_000 });
    expect(text).toMatch(/Then the job failed with exit code 3\. Down for 1 min\.$/);
  });
  test("that runs has the time by when it has to end", () => {
    const fuse = { fromAt: NOW - HOUR, lateAt: NOW + HOUR, alertAt: NOW + HOUR };
    expect(summary({ runningSince: NOW - 22 * 60_000, fuse })).toMatch(
      /Running for 22 min. Alerts if it hasn't finished by today 07:01\.$/,
    );
  });
  test("that is paused has what ends the pause", () => {
    expect(summary({ state: "paused" })).toMatch(/no alerts sent\. The next ping resumes the check\.$/);
    expect(summary({ state: "paused" }, { manualResume: true })).toMatch(/Pings don't resume the check\.$/);
  });
  test("that is new mentions no success", () => {
    expect(summary({ state: "new", lastPingAt: null })).toMatch(
      /after 50 min\. Monitoring starts with the first ping\.$/,
    );
  });
  test("names the time zone if the zones differ", () => {
    expect(summary({}, { zone: "America/New_York" })).toMatch(/in America\/New_York\.$/);
  });
});

test("a description of the schedule can be part of another sentence", () => {
  expect(insideSentence("Every 5 minutes, UTC.")).toBe("every 5 minutes, UTC");
});
