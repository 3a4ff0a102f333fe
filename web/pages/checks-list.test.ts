// The text of a row in each state.
import { expect, test } from "vitest";
import type { CheckRow } from "../../src/contract/api/check-row.ts";
import { lastText, nextText } from "./checks-list.tsx";

const NOW = Date.UTC(2026, 10, 15, 8, 0);
const MIN = 60_000;
const reader = { now: NOW, zone: "Europe/Riga" };

const plain: CheckRow = {
  id: "a",
  name: "a",
  slug: "a",
  tags: [],
  state: "up",
  runningSince: null,
  expected: "",
  lastPingAt: NOW - 12 * MIN,
  lastDurationMs: null,
  fuse: { fromAt: NOW - 12 * MIN, lateAt: NOW + 4 * MIN, alertAt: NOW + 5 * MIN },
  downSince: null,
  downReason: null,
  exitStatus: null,
  channelCount: 0,
  change: 1,
  readingOrder: 1,
};

const down = { state: "down", fuse: null, downSince: NOW - 131 * MIN } as const;

test.each<[string, Partial<CheckRow>, string, string]>([
  ["up", {}, "12 min ago", "in 4 min"],
  ["up with nothing awaited", { fuse: null }, "12 min ago", "no ping expected"],
  [
    "late",
    { fuse: { fromAt: NOW - 64 * MIN, lateAt: NOW - MIN, alertAt: NOW + 11 * MIN } },
    "12 min ago",
    "alert in 11 min",
  ],
  ["late past its deadline", { fuse: { fromAt: 0, lateAt: 1, alertAt: 2 } }, "12 min ago", "alert is due"],
  ["running", { runningSince: NOW - 22 * MIN }, "running 22 min", "due by 10:05"],
  ["down by missed deadline", { ...down, downReason: "timeout" }, "12 min ago", "down for 2 h 11 min"],
  ["down by failure", { ...down, downReason: "fail", exitStatus: 3 }, "12 min ago", "failed, exit 3"],
  ["down by failure without a status", { ...down, downReason: "fail" }, "12 min ago", "failed"],
  ["paused", { state: "paused", fuse: null }, "12 min ago", "paused"],
  ["new", { state: "new", fuse: null, lastPingAt: null }, "never", "waiting for the first ping"],
])("a row that is %s", (_what, change, last, next) => {
  const row = { ...plain, ...change };
  expect([lastText(row, reader).text, nextText(row, reader).text]).toEqual([last, next]);
});

test("a deadline on another day is shown with its day", () => {
  const alertAt = NOW + 30 * 60 * MIN;
  const row = { ...plain, runningSince: NOW, fuse: { fromAt: NOW, lateAt: alertAt - 1, alertAt } };
  expect(nextText(row, reader).text).toBe("due by tomorrow 16:00");
});
