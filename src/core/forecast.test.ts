import { describe, expect, test } from "vitest";
import { fixesOf, forecastWindow, type Surprise, surprisesOf } from "./forecast.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "./instant.ts";
import { FORECAST_PER_SCHEDULE_MAX } from "./limits.ts";
import { clockChanges, zoneOf } from "./schedule/zone.ts";

const NOW = Date.UTC(2026, 10, 18, 12);
const WINDOW = forecastWindow(NOW);

const found = (schedule: string, tz = "UTC") => surprisesOf({ schedule, tz }, WINDOW);
const days = (schedule: string, tz = "UTC") => found(schedule, tz).map(({ kind, date }) => `${kind} ${date}`);
const fixes = (schedule: string, tz = "UTC") => {
  const [surprise] = found(schedule, tz);
  if (surprise === undefined) throw new Error("no surprise");
  return fixesOf({ schedule, tz }, surprise, WINDOW).map((fix) => [fix.kind, fix.schedule, fix.tz]);
};

describe("clock changes", () => {
  test.each([
    // Cron at a set time catches up when the gap ends, and runs once in the repeated hour.
    ["30 3 * * *", "Europe/Riga", ["moved 2027-03-28"]],
    // A star makes it run whenever the clock shows the time.
    ["*/10 3 * * *", "Europe/Riga", ["missed 2027-03-28", "repeated 2027-10-31"]],
    // OnCalendar leaves a skipped time out.
    ["*-*-* 03:30", "Europe/Riga", ["missed 2027-03-28"]],
    ["0 */3 * * *", "Europe/Riga", ["missed 2027-03-28", "repeated 2027-10-31"]],
    ["30 3 * * 1-5", "Europe/Riga", []],
    ["30 2 * * *", "Europe/Riga", []],
    ["30 3 * * *", "UTC", []],
    // The line has its own zone.
    ["*-*-* 02:30 America/New_York", "UTC", ["missed 2027-03-14"]],
    ["30 0 * * *", "Africa/Cairo", ["moved 2027-04-30"]],
  ])("%s in %s", (schedule, tz, expected) => {
    expect(days(schedule, tz)).toEqual(expected);
  });

  test.each(["* * * * *", "*/5 * * * *", "0 * * * *", "15,45 * * * *", "0 0-23 * * *", "*:0/10", "hourly"])(
    "%s runs through a change of a whole hour",
    (schedule) => {
      expect(days(schedule, "Europe/Riga")).toEqual([]);
    },
  );

  test("an hourly job misses a run when half an hour is skipped", () => {
    expect(days("0 * * * *", "Australia/Lord_Howe")).toEqual(["missed 2027-10-03"]);
  });

  test("a surprise has its time and its arithmetic", () => {
    expect(found("*-*-* 03:30", "Europe/Riga")).toEqual([
      {
        kind: "missed",
        date: "2027-03-28",
        at: Date.UTC(2027, 2, 28, 1),
        zone: "Europe/Riga",
        span: { from: Date.UTC(2027, 2, 28, 3) / 1_000, to: Date.UTC(2027, 2, 28, 4) / 1_000 },
        count: 1,
        usual: 1,
        reading: Date.UTC(2027, 2, 28, 3, 30) / 1_000,
      },
    ]);
  });
});

describe("days that do not exist", () => {
  test.each([
    ["0 23 31 * *", ["2026-11-30", "2027-02-28", "2027-04-30", "2027-06-30", "2027-09-30"]],
    ["*-*-31 05:00", ["2026-11-30", "2027-02-28", "2027-04-30", "2027-06-30", "2027-09-30"]],
    ["0 0 30 * *", ["2027-02-28"]],
    ["0 0 29 2 *", ["2027-02-28"]],
    ["0 0 15,30 * *", ["2027-02-28"]],
    ["0 0 31 1,3 *", []],
    ["0 0 28 * *", []],
    ["0 0 L * *", []],
    // Ways to write the last days, or every other day.
    ["0 0 28-31 * *", []],
    ["0 0 */2 * *", []],
  ])("%s", (schedule, dates) => {
    expect(days(schedule)).toEqual(dates.map((date) => `skipped ${date}`));
  });
});

describe("ambiguous and ending schedules", () => {
  test("two day fields match either", () => {
    expect(found("0 8 1-7 * 1")).toMatchObject([{ kind: "either", count: 112, usual: 12 }]);
    expect(found("0 8 */2 * 1")).toEqual([]);
    expect(found("0 8 * * 1")).toEqual([]);
  });

  test("a year in the past or in the next 12 months", () => {
    expect(days("2027-03-01 08:00")).toEqual(["last 2027-03-01"]);
    expect(days("2020-03-01 08:00")).toEqual(["ended 2020-03-01"]);
    expect(days("2026..2030-03-01 08:00")).toEqual([]);
    expect(days("2027-*-* 08:00\n*-*-* 09:00")).toEqual([]);
  });

  test("a date that never comes", () => {
    expect(found("*-02-30")).toMatchObject([{ kind: "ended", date: "" }]);
    expect(found("0 0 30 2 *")).toEqual([]);
    expect(found("nonsense")).toEqual([]);
  });
});

describe("fixes", () => {
  test.each([
    [
      "30 3 * * *",
      "Europe/Riga",
      [
        ["later", "30 4 * * *", "Europe/Riga"],
        ["utc", "30 1 * * *", "UTC"],
      ],
    ],
    [
      "*-*-* 02:30",
      "America/New_York",
      [
        ["later", "*-*-* 03:30", "America/New_York"],
        ["utc", "*-*-* 07:30", "UTC"],
      ],
    ],
    ["*/30 1 * * *", "America/New_York", [["once", "0-59/30 1 * * *", "America/New_York"]]],
    [
      "0 2 * * *",
      "Australia/Lord_Howe",
      [
        ["later", "30 2 * * *", "Australia/Lord_Howe"],
        ["utc", "30 15 * * *", "UTC"],
      ],
    ],
    // In UTC it would be another day.
    ["30 0 * * 5", "Africa/Cairo", [["later", "30 1 * * 5", "Africa/Cairo"]]],
    ["0 23 31 * *", "UTC", [["lastDay", "0 23 L * *", "UTC"]]],
    ["0 0 15,30 * *", "UTC", [["lastDay", "0 0 15,L * *", "UTC"]]],
    ["*-*-31 05:00", "UTC", [["lastDay", "*-*~01 05:00", "UTC"]]],
    ["0 8 1-7 * 1", "UTC", [["nth", "0 8 * * 1#1", "UTC"]]],
    ["0 8 25-31 * 5", "UTC", [["nth", "0 8 * * 5L", "UTC"]]],
    ["0 0 13 * 5", "UTC", [["both", "Fri *-*-13 00:00", "UTC"]]],
    ["0 0 1 * 0-6", "UTC", []],
    ["2027-03-01 08:00", "UTC", []],
  ])("%s in %s", (schedule, tz, expected) => {
    expect(fixes(schedule, tz)).toEqual(expected);
  });

  test("a fixed schedule does not have the surprise", () => {
    for (const [schedule, tz] of [
      ["30 3 * * *", "Europe/Riga"],
      ["0 23 31 * *", "UTC"],
      ["0 8 1-7 * 1", "UTC"],
    ] as const) {
      for (const [, text = "", zone = ""] of fixes(schedule, tz)) expect(days(text, zone)).toEqual([]);
    }
  });
});

test("the answer is the same all day", () => {
  expect(forecastWindow(NOW + 11 * HOUR_MS)).toEqual(WINDOW);
  expect(forecastWindow(NOW + 12 * HOUR_MS)).not.toEqual(WINDOW);
});

test("the surprises of a schedule are bounded", () => {
  const zones = ["Europe/Riga", "America/New_York", "Australia/Sydney", "Africa/Cairo"];
  const lines = zones.map((zone) => `*-*-29 02:30 ${zone}`).join("\n");
  expect(found(lines.slice(0, 100)).length).toBeLessThanOrEqual(FORECAST_PER_SCHEDULE_MAX);
});

// The proof: clocks of 2027, read minute by minute from Intl, against what the forecast says.

const ZONES: [zone: string, changes: number][] = [
  ["Europe/Riga", 2],
  ["America/New_York", 2],
  ["America/Los_Angeles", 2],
  ["Europe/London", 2],
  ["Australia/Sydney", 2],
  ["Australia/Lord_Howe", 2],
  ["America/Santiago", 2],
  ["Africa/Cairo", 2],
  ["Asia/Beirut", 2],
  ["Pacific/Auckland", 2],
  ["Asia/Tokyo", 0],
  ["UTC", 0],
];
const YEAR = { from: Date.UTC(2027, 0, 1), until: Date.UTC(2028, 0, 1) };

/** What clocks of the zone show, for each minute of UTC from a day before the year to a day after it. */
function clockReadings(zone: string): number[] {
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone: zone,
    dateStyle: "short",
    timeStyle: "short",
    hourCycle: "h23",
  });
  const readings: number[] = [];
  let offset = 0;
  for (let at = YEAR.from - DAY_MS; at < YEAR.until + DAY_MS; at += MINUTE_MS) {
    // Offsets change on halves of an hour, and are constant between them.
    if (at % (30 * MINUTE_MS) === 0) {
      const [day = 0, month = 0, year = 0, hour = 0, minute = 0] = format.format(at).split(/\D+/).map(Number);
      offset = Date.UTC(year, month - 1, day, hour, minute) - at;
    }
    readings.push((at + offset) / MINUTE_MS);
  }
  return readings;
}

/** How often each half hour of each day of 2027 is shown, by "2027-03-28 03:30". */
function shownTimes(zone: string): Map<string, number> {
  const shown = new Map<string, number>();
  for (let at = YEAR.from; at < YEAR.until; at += 30 * MINUTE_MS) {
    shown.set(new Date(at).toISOString().slice(0, 16).replace("T", " "), 0);
  }
  for (const reading of clockReadings(zone)) {
    if (reading % 30 !== 0) continue;
    const text = new Date(reading * MINUTE_MS).toISOString().slice(0, 16).replace("T", " ");
    const count = shown.get(text);
    if (count !== undefined) shown.set(text, count + 1);
  }
  return shown;
}

describe.each(ZONES)("all half hours of 2027 in %s", (zone, changeCount) => {
  const shown = shownTimes(zone);
  const irregular = [...shown].filter(([, count]) => count !== 1);
  const times = Array.from({ length: 48 }, (_, index) => ({ hour: index >> 1, minute: (index & 1) * 30 }));
  const clock = (time: { hour: number; minute: number }) =>
    `${String(time.hour).padStart(2, "0")}:${String(time.minute).padStart(2, "0")}`;
  const daysShown = (time: { hour: number; minute: number }, count: number) =>
    irregular
      .filter(([text, seen]) => text.endsWith(clock(time)) && seen === count)
      .map(([text]) => text.slice(0, 10));
  const daysOf = (all: readonly Surprise[], kind: Surprise["kind"]) =>
    all.filter((one) => one.kind === kind).map(({ date }) => date);

  test("clock changes are found, and none is invented", () => {
    const known = zoneOf(zone);
    const changes =
      known === null ? [] : clockChanges(known, { from: YEAR.from / 1_000, to: YEAR.until / 1_000 });
    expect(changes).toHaveLength(changeCount);
    const skippedHalves = irregular.filter(([, count]) => count === 0).length;
    const repeatedHalves = irregular.filter(([, count]) => count === 2).length;
    expect(changes.filter(({ before, after }) => after > before)).toHaveLength(skippedHalves > 0 ? 1 : 0);
    expect(changes.filter(({ before, after }) => after < before)).toHaveLength(repeatedHalves > 0 ? 1 : 0);
  });

  test("OnCalendar misses exactly the times that no clock shows", () => {
    for (const time of times) {
      const all = surprisesOf({ schedule: `*-*-* ${clock(time)}`, tz: zone }, YEAR);
      expect([clock(time), daysOf(all, "missed")]).toEqual([clock(time), daysShown(time, 0)]);
      expect(all.filter(({ kind }) => kind !== "missed")).toEqual([]);
    }
  });

  test("cron at a set time moves exactly these, and repeats none", () => {
    for (const time of times) {
      const all = surprisesOf({ schedule: `${time.minute} ${time.hour} * * *`, tz: zone }, YEAR);
      expect([clock(time), daysOf(all, "moved")]).toEqual([clock(time), daysShown(time, 0)]);
      expect(all.filter(({ kind }) => kind !== "moved")).toEqual([]);
    }
  });

  test("cron with a star misses and repeats exactly the hours that clocks do", () => {
    for (let hour = 0; hour < 24; hour += 1) {
      const all = surprisesOf({ schedule: `*/30 ${hour} * * *`, tz: zone }, YEAR);
      const halves = [0, 30].map((minute) => ({ hour, minute }));
      const union = (count: number) => [...new Set(halves.flatMap((half) => daysShown(half, count)))];
      expect([hour, daysOf(all, "missed")]).toEqual([hour, union(0)]);
      expect([hour, daysOf(all, "repeated")]).toEqual([hour, union(2)]);
      expect(all.filter(({ kind }) => kind === "moved")).toEqual([]);
    }
  });
});
