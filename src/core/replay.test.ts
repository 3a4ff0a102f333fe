// Histories that are easy to count by hand, evaluated with other settings.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DEFAULT_SETTINGS } from "./check.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "./instant.ts";
import { compareSettings, graceToPropose, type HistoricRun, replayHistory } from "./replay.ts";
import { DEFAULT_RULES, type Rules } from "./rules.ts";
import type { Timing } from "./state.ts";

const T = Date.UTC(2026, 5, 1);
const DAILY: Timing = {
  ...DEFAULT_SETTINGS,
  kind: "cron",
  schedule: "0 3 * * *",
  tz: "UTC",
  graceSeconds: 600,
};

/** One run per day, each late by this many minutes; null: the run is missing. */
function days(...late: (number | null)[]): HistoricRun[] {
  return late.flatMap((minutes, day) =>
    minutes === null
      ? []
      : [
          {
            startAt: null,
            endAt: T + day * DAY_MS + 3 * HOUR_MS + minutes * MINUTE_MS,
            outcome: "success" as const,
          },
        ],
  );
}

function after(count: number) {
  return T + count * DAY_MS;
}

describe("history under given settings", () => {
  test("raises no alert if every run arrives within its grace period", () => {
    expect(replayHistory(DAILY, { runs: days(0, 5, 9), blind: [], toAt: after(3) })).toEqual([]);
  });

  test("raises one for a late run, which its success ends", () => {
    const [alert, ...others] = replayHistory(DAILY, { runs: days(0, 30, 0), blind: [], toAt: after(3) });
    expect(others).toEqual([]);
    expect(alert).toEqual({
      at: after(1) + 3 * HOUR_MS + 10 * MINUTE_MS,
      reason: "timeout",
      untilAt: after(1) + 3 * HOUR_MS + 30 * MINUTE_MS,
    });
  });

  test("raises one that still lasts when nothing came any more", () => {
    const [alert] = replayHistory(DAILY, { runs: days(0), blind: [], toAt: after(3) });
    expect(alert).toMatchObject({ reason: "timeout", untilAt: null });
  });

  test("raises one for a failure, however long the grace", () => {
    const runs = [...days(0), { startAt: null, endAt: after(1) + 3 * HOUR_MS, outcome: "fail" as const }];
    const patient = { ...DAILY, graceSeconds: 86_400 };
    expect(replayHistory(patient, { runs, blind: [], toAt: after(2) })).toMatchObject([{ reason: "fail" }]);
  });

  test("raises none for what our own blindness hides", () => {
    const dueAt = after(1) + 3 * HOUR_MS;
    const blind = [{ from: dueAt - MINUTE_MS, to: dueAt + MINUTE_MS }];
    expect(replayHistory(DAILY, { runs: days(0, null, 0), blind, toAt: after(3) })).toEqual([]);
  });

  test("keeps overlapping runs apart: the earlier one's end does not end the later one", () => {
    const runs: HistoricRun[] = [
      { startAt: T, endAt: T + 4 * MINUTE_MS, outcome: "success" },
      { startAt: T + 3 * MINUTE_MS, endAt: T + 40 * MINUTE_MS, outcome: "success" },
    ];
    const hourly = { ...DAILY, kind: "simple" as const, timeoutSeconds: 3_600 };
    expect(replayHistory(hourly, { runs, blind: [], toAt: T + HOUR_MS })).toMatchObject([
      { at: T + 13 * MINUTE_MS, reason: "timeout", untilAt: T + 40 * MINUTE_MS },
    ]);
  });
});

describe("history under thresholds and limits", () => {
  const rules = (some: Partial<Rules>): Timing => ({ ...DAILY, rules: { ...DEFAULT_RULES, ...some } });
  const failing = (...failed: boolean[]) =>
    days(...failed.map(() => 0)).map((run, day) => ({
      ...run,
      outcome: failed[day] === true ? ("fail" as const) : ("success" as const),
    }));

  test("raises an alert only when a threshold is reached, until enough successes", () => {
    const runs = failing(true, false, true, true, false, false, true);
    const timing = rules({ failures: { count: 2, of: 2 }, recovery: 2 });
    expect(replayHistory(timing, { runs, blind: [], toAt: after(7) })).toEqual([
      { at: after(3) + 3 * HOUR_MS, reason: "fail", untilAt: after(5) + 3 * HOUR_MS },
    ]);
    const missing = { runs: days(0, null, 0, null, null, 0), blind: [], toAt: after(6) };
    expect(replayHistory(rules({ missed: 2 }), missing)).toEqual([
      {
        at: after(4) + 3 * HOUR_MS + 10 * MINUTE_MS,
        reason: "timeout",
        untilAt: after(5) + 3 * HOUR_MS,
      },
    ]);
  });

  test("raises none for a long run within its own limit, and one for a run that is too short", () => {
    const run = (day: number, long: number): HistoricRun => ({
      startAt: after(day) + 3 * HOUR_MS,
      endAt: after(day) + 3 * HOUR_MS + long * MINUTE_MS,
      outcome: "success",
    });
    const history = { runs: [run(0, 90), run(1, 90), run(2, 2)], blind: [], toAt: after(3) };
    expect(replayHistory(DAILY, history)).toHaveLength(2);
    const limited = rules({ maxRunSeconds: 7_200, minRunSeconds: 600 });
    expect(replayHistory(limited, history)).toEqual([
      { at: after(2) + 3 * HOUR_MS + 2 * MINUTE_MS, reason: "tooFast", untilAt: null },
    ]);
    expect(compareSettings({ before: DAILY, after: limited }, history)).toMatchObject({
      before: { length: 2 },
      after: { length: 1 },
      realCount: 0,
      missedCount: 0,
    });
    const short = rules({ maxRunSeconds: 3_600 });
    expect(replayHistory(short, history)).toMatchObject([{ reason: "timeout" }, { reason: "timeout" }]);
    // No grace period prevents a run from being too long for its own limit.
    expect(compareSettings({ before: short, after: short }, history).quietGraceSeconds).toBeNull();
  });
});

describe("a missing ping that a late run ended", () => {
  const real = (timing: Timing, runs: readonly number[], toAt: number) =>
    compareSettings(
      { before: timing, after: timing },
      { runs: runs.map((endAt) => ({ startAt: null, endAt, outcome: "success" as const })), blind: [], toAt },
    ).realCount;
  const EVERY_MINUTE: Timing = { ...DAILY, kind: "simple", timeoutSeconds: 60, graceSeconds: 60 };

  test.each([
    [1, 0],
    [56, 0],
    [61, 1],
  ])("%i s after the alert, with a grace as long as the period: %i real failures", (seconds, count) => {
    const alertAt = T + 2 * MINUTE_MS;
    const runs = [T, alertAt + seconds * 1_000];
    expect(real(EVERY_MINUTE, runs, alertAt + 2 * MINUTE_MS)).toBe(count);
    const cron = { ...EVERY_MINUTE, kind: "cron" as const, schedule: "* * * * *" };
    expect(real(cron, runs, alertAt + 2 * MINUTE_MS)).toBe(count);
  });

  test("with a long grace, the next run on time shows that one never came", () => {
    const patient = { ...DAILY, graceSeconds: 20 * 3_600 };
    const on = (day: number) => T + day * DAY_MS + 3 * HOUR_MS + MINUTE_MS;
    expect(real(patient, [on(0), on(2), on(3)], after(4))).toBe(1);
    expect(real(patient, [on(0), on(1) + 21 * HOUR_MS, on(2)], after(3))).toBe(0);
  });

  test("after many periods is a real failure, however long the grace", () => {
    expect(real(EVERY_MINUTE, [T, T + HOUR_MS], T + HOUR_MS + MINUTE_MS)).toBe(1);
  });
});

describe("a change of settings", () => {
  const history = { runs: days(0, 30, 0, null, 0, 45, 0), blind: [], toAt: after(7) };

  test("is compared by its alerts, and by the correct ones among them", () => {
    const {
      before,
      after: then,
      realCount,
      missedCount,
    } = compareSettings({ before: DAILY, after: { ...DAILY, graceSeconds: 3_600 } }, history);
    expect([before.length, then.length, realCount, missedCount]).toEqual([3, 1, 1, 0]);
  });

  test("that would hide a missing run is reported as missing it", () => {
    const patient = { ...DAILY, graceSeconds: 2 * 86_400 };
    expect(compareSettings({ before: DAILY, after: patient }, history)).toMatchObject({
      realCount: 1,
      missedCount: 1,
    });
  });

  test("comes with the shortest grace period that raises only correct alerts", () => {
    const { quietGraceSeconds } = compareSettings({ before: DAILY, after: DAILY }, history);
    expect(quietGraceSeconds).toBe(45 * 60);
    const quiet = { ...DAILY, graceSeconds: quietGraceSeconds ?? 0 };
    expect(replayHistory(quiet, history)).toHaveLength(1);
    expect(replayHistory({ ...quiet, graceSeconds: quiet.graceSeconds - 60 }, history)).toHaveLength(2);
  });

  test.each([
    [{ quietGraceSeconds: 900, runCount: 1 }, 900],
    [{ quietGraceSeconds: 300, runCount: 29 }, null],
    [{ quietGraceSeconds: 300, runCount: 30 }, 300],
    [{ quietGraceSeconds: 600, runCount: 30 }, null],
    [{ quietGraceSeconds: null, runCount: 30 }, null],
  ])("from a grace of ten minutes, with %j, is proposed %s", (known, proposed) => {
    expect(graceToPropose({ graceSeconds: 600 }, known)).toBe(proposed);
  });

  test("to what it was changes nothing", () => {
    const lateness = fc.array(fc.oneof(fc.constant(null), fc.integer({ min: 0, max: 300 })), {
      maxLength: 30,
    });
    fc.assert(
      fc.property(lateness, (late) => {
        const all = { runs: days(...late), blind: [], toAt: after(late.length) };
        const { before, after: then, missedCount } = compareSettings({ before: DAILY, after: DAILY }, all);
        expect(then).toEqual(before);
        expect(missedCount).toBe(0);
      }),
    );
  });
});
