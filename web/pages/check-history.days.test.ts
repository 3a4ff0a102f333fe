// A day of the strip, as a drawing and as text.
import { expect, test } from "vitest";
import { dayText, isListed, kindOfDay, stripText } from "./check-history.tsx";

const DAY = {
  day: "2026-11-15",
  successCount: 0,
  failCount: 0,
  downMs: 0,
  unmonitoredMs: 0,
  isUnmonitored: false,
  isBeforeCreation: false,
};

test("problems come before monitoring gaps, and those before days without a ping", () => {
  expect(kindOfDay({ ...DAY, successCount: 3 })).toBe("up");
  expect(kindOfDay({ ...DAY, downMs: 1, isUnmonitored: true })).toBe("down");
  expect(kindOfDay({ ...DAY, failCount: 1 })).toBe("down");
  expect(kindOfDay({ ...DAY, isUnmonitored: true, successCount: 3 })).toBe("unmonitored");
  expect(kindOfDay({ ...DAY, unmonitoredMs: 4_000, successCount: 3 })).toBe("up");
  expect(kindOfDay({ ...DAY, downMs: null, successCount: 3 })).toBe("uncounted");
  expect(kindOfDay({ ...DAY, downMs: null, failCount: 1 })).toBe("down");
  expect(kindOfDay(DAY)).toBe("quiet");
  expect(kindOfDay({ ...DAY, isBeforeCreation: true, downMs: 5 })).toBe("before");
});

test("a day lists everything that happened on it", () => {
  const text = dayText({ ...DAY, successCount: 1, failCount: 2, downMs: 3_600_000, unmonitoredMs: 60_000 });
  expect(text).toBe("1 success, 2 failures, down for 1 h, not monitored for 1 min (our outage)");
  expect(dayText(DAY)).toBe("no pings");
});

test("days with problems, with a monitoring gap or without a count are listed", () => {
  expect(isListed({ ...DAY, downMs: 1 })).toBe(true);
  expect(isListed({ ...DAY, isUnmonitored: true })).toBe(true);
  expect(isListed({ ...DAY, unmonitoredMs: 4_000, successCount: 3 })).toBe(true);
  expect(isListed({ ...DAY, downMs: null, successCount: 3 })).toBe(true);
  expect(isListed({ ...DAY, successCount: 3 })).toBe(false);
  expect(isListed(DAY)).toBe(false);
  expect(isListed({ ...DAY, isBeforeCreation: true, downMs: null, unmonitoredMs: 4_000 })).toBe(false);
});

test("the strip counts days of each kind, and leaves out kinds with none", () => {
  expect(stripText(["before", "up", "up"], 0)).toBe("Last 90 days: 2 good days");
  expect(stripText(["up", "down", "quiet", "uncounted", "uncounted", "unmonitored"], 1)).toBe(
    "Last 90 days: 1 good day, 1 day with problems, 1 day without pings, 2 days with too many status changes to count, 1 day not fully monitored (our outage)",
  );
});
