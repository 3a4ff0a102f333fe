// Time formats, at the boundaries where the text changes.
import { describe, expect, test } from "vitest";
import {
  dayNumber,
  formatAgo,
  formatBrief,
  formatClock,
  formatDuration,
  formatExact,
  formatSpan,
  formatUntil,
  formatWhen,
  knownZone,
} from "./format.ts";

const S = 1_000;
const MIN = 60 * S;
const H = 60 * MIN;
const D = 24 * H;
const NOW = Date.UTC(2026, 10, 15, 8, 30);

describe("Durations", () => {
  test.each([
    [0, "0 ms"],
    [320, "320 ms"],
    [4_200, "4.2 s"],
    [5_000, "5 s"],
    [48 * S, "48 s"],
    [13 * MIN + 2 * S, "13 min 2 s"],
    [60 * MIN, "1 h"],
    [2 * H + 11 * MIN + 59 * S, "2 h 11 min"],
    [D + 2 * H + 30 * MIN, "1 d 2 h"],
    [16 * D + 5 * H, "16 d"],
  ])("%d ms reads %s", (ms, words) => expect(formatDuration(ms)).toBe(words));

  test.each([
    [4_200, "4.2 s"],
    [6 * MIN + 54 * S, "7 min"],
    [H + 12 * MIN, "1 h 12 min"],
  ])("in little room %d ms reads %s", (ms, words) => expect(formatBrief(ms)).toBe(words));

  test("a live duration is rounded to a useful precision", () => {
    expect(formatSpan(4_200)).toBe("4 s");
    expect(formatSpan(10 * MIN + 51 * S)).toBe("10 min");
    expect(formatSpan(15 * H + 35 * MIN)).toBe("15 h");
    expect(formatSpan(-1)).toBe("0 s");
  });
});

describe("Moments relative to now", () => {
  test.each([
    [NOW - 2 * S, "just now"],
    [NOW - 12 * MIN - 40 * S, "12 min ago"],
    [NOW - 64 * MIN, "1 h 4 min ago"],
    [NOW - 6 * D - 2 * H, "6 d 2 h ago"],
  ])("%d is %s", (at, words) => expect(formatAgo(at, NOW)).toBe(words));

  test("in the future", () => {
    expect(formatUntil(NOW + 4 * MIN + 20 * S, NOW)).toBe("in 4 min");
    expect(formatUntil(NOW + 27 * H, NOW)).toBe("in 1 d 3 h");
    expect(formatUntil(NOW, NOW)).toBe("now");
  });
});

describe("Moments in the user's zone", () => {
  const riga = { now: NOW, zone: "Europe/Riga" };
  test.each([
    [NOW, "today 10:30"],
    [NOW - D, "yesterday 10:30"],
    [NOW + D, "tomorrow 10:30"],
    [NOW - 3 * D, "Thu 10:30"],
    [Date.UTC(2026, 8, 17, 1, 0), "17 Sept 04:00"],
    [Date.UTC(2025, 8, 17, 1, 0), "17 Sept 2025, 04:00"],
  ])("%d reads %s", (at, words) => expect(formatWhen(at, riga)).toBe(words));

  test("the day is the user's, not UTC's", () => {
    const late = Date.UTC(2026, 10, 15, 23, 30);
    expect(dayNumber(late, "Europe/Riga")).toBe(dayNumber(late, "UTC") + 1);
    // Half past one in Riga, where the day has just begun: UTC's today was yesterday there.
    expect(formatWhen(NOW, { now: late, zone: "Europe/Riga" })).toBe("yesterday 10:30");
    expect(formatWhen(NOW, { now: late, zone: "UTC" })).toBe("today 08:30");
  });

  test("the exact form has day, second and zone", () => {
    expect(formatExact(NOW, "Europe/Riga")).toBe("Sunday 15 November 2026 at 10:30:00 EET");
    expect(formatClock(NOW, "UTC")).toBe("08:30");
  });

  test("a zone that this browser does not support is read as UTC", () => {
    expect(knownZone("Mars/Olympus")).toBe("UTC");
    expect(knownZone("Europe/Riga")).toBe("Europe/Riga");
  });
});
