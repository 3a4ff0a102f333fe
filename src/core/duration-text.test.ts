// Durations as text, in each of the four formats.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { downtimeText, parseDuration, periodText, runText, sentenceText } from "./duration-text.ts";
import { PERIOD_SECONDS_MAX, PERIOD_SECONDS_MIN } from "./limits.ts";

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;
const WEEK = 7 * DAY;

test.each([
  ["45m", 45 * MINUTE],
  ["1h30m", HOUR + 30 * MINUTE],
  ["2d", 2 * DAY],
  ["1d1h1m1s", DAY + HOUR + MINUTE + 1],
  ["0s", 0],
  ["90", null],
  ["", null],
  ["1m1h", null],
  ["1.5h", null],
  ["1H", null],
  [" 1h", null],
])("%j is read as %j seconds", (text, seconds) => {
  expect(parseDuration(text)).toBe(seconds);
});

describe("periods", () => {
  test.each([
    [MINUTE, "1 minute"],
    [5 * MINUTE, "5 minutes"],
    [61, "1 minute"],
    [HOUR, "1 hour"],
    [90 * MINUTE, "1 hour 30 minutes"],
    [DAY, "1 day"],
    [DAY + HOUR + MINUTE, "1 day 1 hour 1 minute"],
    [WEEK, "1 week"],
    [8 * DAY, "8 days"],
    [2 * WEEK, "2 weeks"],
    [WEEK + HOUR, "7 days 1 hour"],
    [365 * DAY, "365 days"],
  ])("%i seconds are %j", (seconds, text) => {
    expect(periodText(seconds)).toBe(text);
  });

  test("every period that a check may have has words, and none speaks of zero", () => {
    fc.assert(
      fc.property(fc.integer({ min: PERIOD_SECONDS_MIN, max: PERIOD_SECONDS_MAX }), (seconds) => {
        expect(periodText(seconds)).toMatch(/^[1-9]\d* [a-z]+( [1-9]\d* [a-z]+)*$/);
      }),
    );
  });
});

describe("runs", () => {
  test.each([
    [0, "0 sec"],
    [9, "0 sec"],
    [10, "0.01 sec"],
    [120, "0.12 sec"],
    [999, "0.99 sec"],
    [1000, "1 sec"],
    [5999, "5 sec"],
    [62_000, "1 min 2 sec"],
    [60_000, "1 min 0 sec"],
    [3_600_000, "1 h 0 min 0 sec"],
    [100 * 3_600_000 + 1000, "100 h 0 min 1 sec"],
  ])("%i ms are %j", (durationMs, text) => {
    expect(runText(durationMs)).toBe(text);
  });
});

describe("downtimes", () => {
  test.each([
    [0, "0 sec", "0 seconds"],
    [1, "1 sec", "1 second"],
    [24, "24 sec", "24 seconds"],
    [12 * MINUTE + 24, "12 min 24 sec", "12 minutes, 24 seconds"],
    [12 * MINUTE + 1, "12 min 1 sec", "12 minutes, 1 second"],
    [6 * HOUR + 12 * MINUTE + 59, "6 h 12 min", "6 hours, 12 minutes"],
    [6 * HOUR + 59, "6 h", "6 hours"],
    [DAY + 6 * HOUR, "1 day 6 h", "1 day, 6 hours"],
    [3 * DAY + 6 * HOUR + 59 * MINUTE, "3 days 6 h", "3 days, 6 hours"],
    [400 * DAY, "400 days", "400 days"],
  ])("%i seconds are %j in a table and %j in a sentence", (seconds, table, sentence) => {
    expect(downtimeText(seconds)).toBe(table);
    expect(sentenceText(seconds)).toBe(sentence);
  });

  test("never more than two units are named", () => {
    fc.assert(
      fc.property(fc.nat(), (seconds) => {
        expect(sentenceText(seconds)).toMatch(/^\d+ [a-z]+(, [1-9]\d* [a-z]+)?$/);
      }),
    );
  });
});
