import { expect, test } from "vitest";
import { addStarts, crowdDays, type CrowdJob, crowdOf, jobGroups, noStarts } from "./crowd.ts";
import { changesIn, forecastWindow, surprisesOf } from "./forecast.ts";
import { MINUTE_MS } from "./instant.ts";
import { nextAfter, parseSchedule } from "./schedule/schedule.ts";
import { allSteps } from "./steps.ts";
import { CROWD_DAYS_MAX, CROWD_SPREAD_MINUTES_MAX, FORECAST_CHECKS_LISTED_MAX } from "./limits.ts";

const WINDOW = forecastWindow(Date.UTC(2026, 10, 18, 12));
const TZ = "Europe/Riga";

function plan(jobs: readonly CrowdJob[], tz = TZ) {
  const groups = jobGroups(jobs);
  const starts = noStarts(WINDOW);
  const changesOf = changesIn(WINDOW);
  for (const group of groups) addStarts(starts, group, changesOf);
  return { crowd: allSteps(crowdOf(starts, groups, tz)), days: allSteps(crowdDays(starts, groups, tz)) };
}

const jobs = (count: number, schedule: string, given: Partial<CrowdJob> = {}, from = 1): CrowdJob[] =>
  Array.from({ length: count }, (_, index) => ({
    id: from + index,
    schedule,
    tz: TZ,
    durationMs: null,
    ...given,
  }));

test("a minute with many jobs is crowded, and few jobs are not", () => {
  expect(plan(jobs(9, "0 2 * * *")).crowd).toMatchObject({ minute: 120, count: 9 });
  expect(plan(jobs(4, "0 2 * * *")).crowd).toBeNull();
  expect(plan([]).crowd).toBeNull();
});

test("jobs that run often or end at once do not count", () => {
  expect(plan(jobs(20, "* * * * *")).crowd).toBeNull();
  expect(plan(jobs(20, "0 2 * * *", { durationMs: 5_000 })).crowd).toBeNull();
});

test("spread out, fewer run at once, and all end in time", () => {
  const nine = Array.from({ length: 9 }, (_, index) => ({
    id: index + 1,
    schedule: "0 2 * * *",
    tz: TZ,
    durationMs: (index + 1) * 5 * MINUTE_MS,
  }));
  const { crowd } = plan(nine);
  expect(crowd).toMatchObject({ count: 9, atOnce: 3, spreadMinutes: 70, endMinute: 205 });
  expect(crowd?.hours[2]).toBe(9);
  expect(Math.max(...(crowd?.spreadHours ?? []))).toBe(3);
  // The longest three keep their time.
  expect(crowd?.moves.map(({ id, schedule }) => [id, schedule])).toEqual([
    [6, "40 2 * * *"],
    [5, "40 2 * * *"],
    [4, "50 2 * * *"],
    [3, "10 3 * * *"],
    [2, "10 3 * * *"],
    [1, "10 3 * * *"],
  ]);
});

test("a job is not moved to another day, or far away", () => {
  const { crowd } = plan(jobs(60, "50 23 * * *"));
  for (const { schedule } of crowd?.moves ?? []) {
    const [minute = 0, hour = 0] = schedule.split(" ").map(Number);
    expect(hour * 60 + minute).toBeGreaterThanOrEqual(23 * 60 + 50);
  }
  const far = plan(jobs(100, "0 2 * * *")).crowd;
  expect(Math.max(...(far?.moves ?? []).map(({ minutes }) => minutes))).toBeLessThanOrEqual(
    CROWD_SPREAD_MINUTES_MAX,
  );
  expect(far?.moves.length).toBeLessThanOrEqual(FORECAST_CHECKS_LISTED_MAX);
});

test("starts are those of the schedule, also around clock changes", () => {
  for (const [schedule, tz] of [
    ["30 3 * * *", "Europe/Riga"],
    ["*/30 3 * * *", "Europe/Riga"],
    ["*-*-* 00:30", "Africa/Cairo"],
    ["0 2,14 * * *", "Australia/Lord_Howe"],
    ["0 2 * * 1-5", "America/New_York"],
    ["0 */6 * * *", "America/Santiago"],
  ] as const) {
    const parsed = parseSchedule({ text: schedule, tz });
    if (parsed === null) throw new Error(schedule);
    const starts = noStarts(WINDOW);
    addStarts(starts, { schedule: parsed, jobs: jobs(1, schedule, { tz }) }, changesIn(WINDOW));
    const expected = noStarts(WINDOW);
    let at = nextAfter(parsed, WINDOW.from - 1_000);
    while (at !== null && at < WINDOW.until) {
      const minute = Math.floor((at - WINDOW.from) / MINUTE_MS);
      expected.counts[minute] = (expected.counts[minute] ?? 0) + 1;
      at = nextAfter(parsed, at);
    }
    expect([
      schedule,
      Buffer.compare(Buffer.from(starts.counts.buffer), Buffer.from(expected.counts.buffer)),
    ]).toEqual([schedule, 0]);
  }
});

test("days on which nightly and monthly jobs meet are found", () => {
  const all = [...jobs(9, "0 2 * * *"), ...jobs(5, "0 2 1 */3 *", {}, 10), ...jobs(5, "0 2 1 1 *", {}, 15)];
  expect(plan(all).days.map(({ date, count, usual }) => [date, count, usual])).toEqual([
    ["2027-01-01", 19, 9],
    ["2027-04-01", 14, 9],
    ["2027-07-01", 14, 9],
    ["2027-10-01", 14, 9],
  ]);
  expect(plan(all).days[1]?.ids).toHaveLength(14);
});

test("clock changes of other zones make no day crowded", () => {
  const all = ["America/New_York", "Australia/Sydney", "UTC"].flatMap((tz, index) =>
    jobs(8, "0 9 * * *", { tz }, index * 8 + 1),
  );
  expect(plan(all).days).toEqual([]);
});

test("at most a dozen days are listed, the most crowded ones", () => {
  const all = [...jobs(9, "0 4 * * 0"), ...jobs(3, "0 4 1 * *", {}, 20)];
  expect(plan(all).days).toHaveLength(CROWD_DAYS_MAX);
});

test("ten thousand different schedules are computed in seconds", () => {
  const zones = [
    "Europe/Riga",
    "UTC",
    "America/New_York",
    "Asia/Tokyo",
    "Europe/London",
    "Australia/Sydney",
    "America/Chicago",
  ];
  const many = Array.from({ length: 10_000 }, (_, index) => ({
    id: index,
    schedule: `${index % 60} ${Math.floor(index / 60) % 24} * * *`,
    tz: zones[index % zones.length] ?? "UTC",
    durationMs: 60_000,
  }));
  const before = performance.now();
  const surprises = many.flatMap((job) => surprisesOf(job, WINDOW)).length;
  const between = performance.now();
  const { crowd } = plan(many);
  const after = performance.now();
  console.info(
    `10,000 schedules: surprises ${Math.round(between - before)} ms, crowded minutes ${Math.round(after - between)} ms`,
  );
  expect(surprises).toBeGreaterThan(0);
  expect(crowd).not.toBeNull();
});
