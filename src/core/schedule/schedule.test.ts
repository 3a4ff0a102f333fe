// The schedule rules one by one: what is accepted, when it fires, and what happens at clock changes and at the limits
// of the range.

import { describe, expect, test } from "vitest";
import { detectKind, isValidSchedule, MAX_SCHEDULE_LENGTH, nextAfter, parseSchedule } from "./schedule.ts";
import { isZone, ZONE_NAMES, zoneOf } from "./zone.ts";

type Question = { text: string; tz?: string; from: string };

function next({ text, tz = "UTC", from }: Question): string | null {
  const schedule = parseSchedule({ text, tz });
  if (schedule === null) return "refused";
  const at = nextAfter(schedule, Date.parse(from));
  return at === null ? null : new Date(at).toISOString().replace(/:00\.000Z$|\.000Z$/, "");
}

describe("cron", () => {
  test.each([
    ["* * * * *", "UTC", "2024-05-01T12:00:30.500Z", "2024-05-01T12:01"],
    ["* * * * *", "UTC", "2024-05-01T12:00:00Z", "2024-05-01T12:01"],
    ["0 0 1 1 1", "UTC", "2024-01-02T00:00Z", "2024-01-08T00:00"],
    ["0 0 */2 * 1", "UTC", "2024-01-02T00:00Z", "2024-01-15T00:00"],
    ["0 0 1-31 * 1", "UTC", "2024-01-02T00:00Z", "2024-01-03T00:00"],
    ["0 12 * * 1#2", "UTC", "2024-05-01T00:00Z", "2024-05-13T12:00"],
    ["0 0 LW * *", "UTC", "2024-03-01T00:00Z", "2024-03-29T00:00"],
    ["0 0 * * 5L", "UTC", "2024-05-01T00:00Z", "2024-05-31T00:00"],
    ["0 0 29 2 *", "UTC", "2024-03-01T00:00Z", "2028-02-29T00:00"],
    ["0 0 29 2 *", "UTC", "2096-03-01T00:00Z", "2104-02-29T00:00"],
    ["0 0 * 2 MON#5", "UTC", "2024-03-01T00:00Z", "2044-02-29T00:00"],
    ["0 9 * * 1-5", "Asia/Tokyo", "2024-05-03T00:00Z", "2024-05-06T00:00"],
  ])("%s in %s", (text, tz, from, answer) => {
    expect(next({ text, tz, from })).toBe(answer);
  });

  test.each([
    [
      "a set time that is skipped fires when the gap ends",
      "30 2 * * *",
      "2024-03-10T05:00Z",
      "2024-03-10T07:00",
    ],
    ["several skipped times fire once", "0,30 2-3 * * *", "2024-03-10T07:00Z", "2024-03-10T07:30"],
    ["an interval has no firing in the gap", "*/30 2 * * *", "2024-03-10T05:00Z", "2024-03-11T06:00"],
    [
      "a set time that comes twice fires the first time",
      "30 1 * * *",
      "2024-11-03T04:00Z",
      "2024-11-03T05:30",
    ],
    ["and not the second time", "30 1 * * *", "2024-11-03T05:30Z", "2024-11-04T06:30"],
    ["nor after a start in the second pass", "30 1 * * *", "2024-11-03T06:10Z", "2024-11-04T06:30"],
    ["an interval fires in both passes", "*/30 1 * * *", "2024-11-03T05:30Z", "2024-11-03T06:00"],
    ["a fixed minute of every hour does so too", "30 * * * *", "2024-11-03T05:30Z", "2024-11-03T06:30"],
  ])("New York: %s", (_, text, from, answer) => {
    expect(next({ text, tz: "America/New_York", from })).toBe(answer);
  });

  test("a whole day that a zone leaves out is caught up when it ends", () => {
    const from = "2011-12-30T09:00Z";
    expect(next({ text: "0 12 30 12 *", tz: "Pacific/Apia", from })).toBe("2011-12-30T10:00");
  });

  test("half-hour changes and offsets with seconds are honoured", () => {
    expect(next({ text: "30 * * * *", tz: "Australia/Lord_Howe", from: "2024-10-05T15:20Z" })).toBe(
      "2024-10-05T15:30",
    );
    expect(next({ text: "0 12 * * *", tz: "Africa/Monrovia", from: "1971-06-01T00:00Z" })).toBe(
      "1971-06-01T12:44:30",
    );
  });

  test("an interval that always falls into a clock change never fires", () => {
    expect(next({ text: "*/30 2 * 3 SUN#2", tz: "America/New_York", from: "2024-01-01T00:00Z" })).toBeNull();
  });
});

describe("OnCalendar", () => {
  test.each([
    ["12:34", "UTC", "2024-05-01T12:34Z", "2024-05-02T12:34"],
    ["12:34", "Europe/Riga", "2024-05-01T00:00Z", "2024-05-01T09:34"],
    ["12:34 Europe/Riga", "UTC", "2024-05-01T00:00Z", "2024-05-01T09:34"],
    ["12:34 UTC", "Europe/Riga", "2024-05-01T00:00Z", "2024-05-01T12:34"],
    ["*-*~1 12:00", "UTC", "2024-02-10T00:00Z", "2024-02-29T12:00"],
    ["*-*~5/2", "UTC", "2024-02-25T00:00Z", "2024-02-27T00:00"],
    ["*-*~1..6/2", "UTC", "2024-02-24T00:00Z", "2024-02-25T00:00"],
    ["Mon *-*-1..7 09:00", "UTC", "2024-05-10T00:00Z", "2024-06-03T09:00"],
    ["*:*:0/20", "UTC", "2024-05-01T00:00:05Z", "2024-05-01T00:00:20"],
    ["daily", "America/New_York", "2024-05-01T00:00Z", "2024-05-01T04:00"],
    ["03:30", "Europe/Riga", "2021-03-28T00:00Z", "2021-03-29T00:30"],
    ["*:0/30", "Europe/Riga", "2021-10-31T00:40Z", "2021-10-31T02:00"],
    ["*:0/30", "Europe/Riga", "2021-10-31T01:10Z", "2021-10-31T01:30"],
    ["2019-01-01", "UTC", "2024-05-01T00:00Z", null],
    ["10:00\n15:00 Asia/Tokyo", "UTC", "2024-05-01T05:00Z", "2024-05-01T06:00"],
    ["Sun *-3-8..14 02:30", "America/New_York", "2024-01-01T00:00Z", null],
  ])("%j in %s", (text, tz, from, answer) => {
    expect(next({ text, tz, from })).toBe(answer);
  });
});

describe("accepted expressions", () => {
  test("five words on one line are cron, whatever they are, and all else is OnCalendar", () => {
    expect(["0 0 * * *", " 0\t0 * * *\n", "a b c d é"].map(detectKind)).toEqual(["cron", "cron", "cron"]);
    expect(["0 0 * *\n*", "daily", "", "* * * * * *"].map(detectKind)).toEqual(Array(4).fill("oncalendar"));
  });

  test("OnCalendar is refused where only cron is allowed", () => {
    expect(isValidSchedule("daily", { oncalendar: true })).toBe(true);
    expect(isValidSchedule("daily", { oncalendar: false })).toBe(false);
    expect(isValidSchedule("0 0 * * *", { oncalendar: false })).toBe(true);
  });

  test("a schedule that never fires is read but not accepted", () => {
    for (const text of ["0 0 */20 * 1L", "*-02-30", "1999-01-01"]) {
      expect(parseSchedule({ text, tz: "UTC" })).not.toBeNull();
      expect(isValidSchedule(text, { oncalendar: true })).toBe(false);
    }
  });

  test("the length counts before trimming", () => {
    const text = "0 0 * * *".padEnd(MAX_SCHEDULE_LENGTH);
    expect(isValidSchedule(text, { oncalendar: false })).toBe(true);
    expect(isValidSchedule(`${text} `, { oncalendar: false })).toBe(false);
  });

  test.each(["0 0 * * ſun", "0 0 * * １", "0\u00a00 * * *", "12:00\u0000", "12:00\u2028"])(
    "%j is refused",
    (text) => {
      expect(parseSchedule({ text, tz: "UTC" })).toBeNull();
    },
  );

  test("a zone that is not on the list refuses the schedule", () => {
    expect(parseSchedule({ text: "0 0 * * *", tz: "utc" })).toBeNull();
    expect(parseSchedule({ text: "0 0 * * *", tz: "UTC" })).not.toBeNull();
    expect(parseSchedule({ text: "0 * * *", tz: "UTC 0" })).toBeNull();
    expect(isZone("Europe/Kiev")).toBe(true);
    expect(zoneOf("BST")).toBeNull();
  });

  test("the runtime knows every zone on the list", () => {
    for (const name of ZONE_NAMES) {
      expect(() => new Intl.DateTimeFormat("en-US", { timeZone: name })).not.toThrow();
    }
    expect(new Set(ZONE_NAMES).size).toBe(ZONE_NAMES.length);
  });
});

describe("at the limits", () => {
  test("instants outside the covered time are answered, not thrown at", () => {
    const schedule = parseSchedule({ text: "0 0 * * *", tz: "Europe/Riga" });
    if (schedule === null) throw new Error("refused");
    const far = [Number.NaN, Number.POSITIVE_INFINITY, 1e300, Date.parse("2300-01-01T00:00Z")];
    expect(far.map((at) => nextAfter(schedule, at))).toEqual([null, null, null, null]);
    expect(nextAfter(schedule, Number.NEGATIVE_INFINITY)).toBe(Date.parse("1970-01-01T21:00Z"));
    expect(nextAfter(schedule, -1e15)).toBe(Date.parse("1970-01-01T21:00Z"));
  });

  test("every year from 1970 to 2199 ends and begins where the calendar says", () => {
    for (let year = 1970; year < 2200; year += 1) {
      const midnight = new Date(Date.UTC(year + 1, 0));
      const from = new Date(midnight.getTime() - 1_000).toISOString();
      expect(next({ text: "* * * * *", from })).toBe(`${year + 1}-01-01T00:00`);
      expect(next({ text: "0 0 1 1 *", from })).toBe(`${year + 1}-01-01T00:00`);
      expect(next({ text: "0 0 31 12 *", from: `${year}-12-30T12:00Z` })).toBe(`${year}-12-31T00:00`);
    }
  });

  test("the last second of 2199 fires, by the clock of the zone", () => {
    const text = "2199-12-31 23:59:59";
    expect(next({ text, from: "2199-12-31T23:59:58Z" })).toBe("2199-12-31T23:59:59");
    expect(next({ text, tz: "America/Phoenix", from: "2199-12-31T23:59:58Z" })).toBe("2200-01-01T06:59:59");
    expect(next({ text, tz: "America/Phoenix", from: "2200-01-01T06:59:59Z" })).toBeNull();
  });

  test("a text asked for again is the same object, and far more texts than are kept still work", () => {
    const first = parseSchedule({ text: "1 2 3 4 5", tz: "UTC" });
    expect(parseSchedule({ text: "1 2 3 4 5", tz: "UTC" })).toBe(first);
    expect(parseSchedule({ text: "1 2 3 4 5", tz: "Europe/Riga" })).not.toBe(first);
    for (let count = 0; count < 10_000; count += 1) {
      const minute = count % 60;
      const text = `${minute} ${Math.floor(count / 60) % 24} ${1 + (Math.floor(count / 1_440) % 28)} * *`;
      expect(parseSchedule({ text, tz: "UTC" })).not.toBeNull();
    }
    const again = parseSchedule({ text: "1 2 3 4 5", tz: "UTC" });
    expect(again).not.toBe(first);
    expect(again).toEqual(first);
  });
});
