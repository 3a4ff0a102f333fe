import { describe, expect, test } from "vitest";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "./instant.ts";
import {
  covers,
  nextWindows,
  planSilence,
  runsIn,
  type Silence,
  type SilencePlan,
  type SilenceRequest,
  silenceState,
  silencedUntil,
  windowAt,
} from "./silence.ts";
import { NEW_STATE, type Timing } from "./state.ts";

/** Monday, 16 November 2026, 12:00 UTC. */
const NOW = Date.UTC(2026, 10, 16, 12);

const ONCE: Silence = {
  id: 1,
  uuid: "00000000-0000-4000-8000-000000000001",
  scope: { kind: "all" },
  from: NOW,
  until: NOW + 2 * HOUR_MS,
  untilSuccess: false,
  schedule: null,
  tz: null,
  durationSeconds: null,
  holdAfterSeconds: 0,
  reason: "DB upgrade",
  accountId: 7,
  endedAt: null,
  version: 1,
};

const DAILY: Silence = {
  ...ONCE,
  id: 2,
  until: null,
  schedule: "0 22 * * *",
  tz: "UTC",
  durationSeconds: 4 * 3_600,
  holdAfterSeconds: 3_600,
  reason: "Patch night",
};

const HOURLY: Timing = {
  kind: "cron",
  timeoutSeconds: 60,
  graceSeconds: 600,
  schedule: "0 * * * *",
  tz: "UTC",
  manualResume: false,
  rules: null,
};
const WEEKLY: Timing = { ...HOURLY, schedule: "0 12 * * 1" };

function asked(
  now: number,
  given: { openedAt?: number | null; lastSuccessAt?: number | null; timing?: Timing; tags?: string } = {},
) {
  const { openedAt = now, lastSuccessAt = null, timing = WEEKLY, tags = "" } = given;
  return { check: { id: 5, tags, timing }, alert: { openedAt, lastSuccessAt }, now };
}

describe("windows", () => {
  test("of a silence once: from the first to before the last instant", () => {
    const whole = { from: NOW, to: NOW + 2 * HOUR_MS };
    expect(windowAt(ONCE, NOW - 1)).toBeNull();
    expect(windowAt(ONCE, NOW)).toEqual(whole);
    expect(windowAt(ONCE, whole.to - 1)).toEqual(whole);
    expect(windowAt(ONCE, whole.to)).toBeNull();
  });

  test("end when a user ends the silence", () => {
    const endedAt = NOW + HOUR_MS;
    expect(windowAt({ ...ONCE, endedAt }, NOW)).toEqual({ from: NOW, to: endedAt });
    expect(windowAt({ ...ONCE, endedAt }, endedAt)).toBeNull();
    expect(nextWindows({ ...DAILY, endedAt }, { at: NOW, count: 3 })).toEqual([]);
    expect(nextWindows({ ...DAILY, endedAt: NOW + 11 * HOUR_MS }, { at: NOW, count: 3 })).toEqual([
      { from: NOW + 10 * HOUR_MS, to: NOW + 11 * HOUR_MS },
    ]);
    expect(nextWindows({ ...ONCE, endedAt: NOW - 1 }, { at: 0, count: 1 })).toEqual([]);
  });

  test("recur, and the first one begins no earlier than the silence", () => {
    const first = NOW + 10 * HOUR_MS;
    expect(nextWindows(DAILY, { at: NOW, count: 2 })).toEqual([
      { from: first, to: first + 4 * HOUR_MS },
      { from: first + DAY_MS, to: first + DAY_MS + 4 * HOUR_MS },
    ]);
    const from = first + HOUR_MS;
    expect(nextWindows({ ...DAILY, from }, { at: NOW, count: 1 })).toEqual([
      { from, to: first + 4 * HOUR_MS },
    ]);
  });

  test("that overlap or touch are one", () => {
    const weekend = { ...DAILY, schedule: "0 0 * * 6,0", durationSeconds: 86_400 };
    const saturday = Date.UTC(2026, 10, 21);
    const whole = { from: saturday, to: saturday + 2 * DAY_MS };
    expect(windowAt(weekend, saturday)).toEqual(whole);
    expect(windowAt(weekend, saturday + 30 * HOUR_MS)).toEqual(whole);
    const overlapping = { ...DAILY, schedule: "0,30 22-23 * * *", durationSeconds: 3_600 };
    const night = { from: NOW + 10 * HOUR_MS, to: NOW + 12.5 * HOUR_MS };
    expect(windowAt(overlapping, night.from + 5)).toEqual(night);
    expect(windowAt(overlapping, night.to - 1)).toEqual(night);
  });

  test("keep their length when clocks change, and end at another wall-clock time", () => {
    const night = { ...DAILY, from: 0, schedule: "0 0 * * *", tz: "Europe/Berlin" };
    const lengths = [Date.UTC(2026, 2, 28, 23), Date.UTC(2026, 9, 24, 22)].map((from) => {
      const window = windowAt(night, from);
      expect(window?.from).toBe(from);
      return (window?.to ?? 0) - from;
    });
    expect(lengths).toEqual([4 * HOUR_MS, 4 * HOUR_MS]);
    // 05:00 in summer time, and 03:00 in winter time, instead of 04:00.
    const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "short", timeZone: "Europe/Berlin" });
    const ends = [Date.UTC(2026, 2, 29), Date.UTC(2026, 9, 25)].map((at) => windowAt(night, at)?.to);
    expect(ends.map((at) => clock.format(at))).toEqual(["05:00", "03:00"]);
  });

  test("determine the state", () => {
    expect(silenceState(ONCE, NOW - 1)).toBe("upcoming");
    expect(silenceState(ONCE, NOW)).toBe("active");
    expect(silenceState(ONCE, NOW + 2 * HOUR_MS)).toBe("ended");
    expect(silenceState(DAILY, NOW)).toBe("upcoming");
    expect(silenceState({ ...DAILY, endedAt: NOW }, NOW)).toBe("ended");
  });
});

test("a silence covers its checks, checks with its tag, or all checks", () => {
  const check = { id: 5, tags: "prod  db" };
  expect(covers({ scope: { kind: "all" } }, check)).toBe(true);
  expect(covers({ scope: { kind: "tag", tag: "db" } }, check)).toBe(true);
  expect(covers({ scope: { kind: "tag", tag: "d" } }, check)).toBe(false);
  expect(covers({ scope: { kind: "checks", checkIds: [4, 5] } }, check)).toBe(true);
  expect(covers({ scope: { kind: "checks", checkIds: [4] } }, check)).toBe(false);
});

describe("an alert is held", () => {
  test("until the end of the window", () => {
    expect(silencedUntil([ONCE], asked(NOW))).toEqual({ silence: ONCE, until: NOW + 2 * HOUR_MS });
    expect(silencedUntil([ONCE], asked(NOW - 1))).toBeNull();
    expect(silencedUntil([ONCE], asked(NOW + 2 * HOUR_MS, { openedAt: NOW }))).toBeNull();
    expect(silencedUntil([], asked(NOW))).toBeNull();
  });

  test("only if the silence covers its check", () => {
    const silence: Silence = { ...ONCE, scope: { kind: "tag", tag: "db" } };
    expect(silencedUntil([silence], asked(NOW))).toBeNull();
    expect(silencedUntil([silence], asked(NOW, { tags: "db" }))).not.toBeNull();
  });

  test("until the end of the last of several windows that overlap or follow one another", () => {
    const later: Silence = { ...ONCE, id: 3, from: NOW + 2 * HOUR_MS, until: NOW + 3 * HOUR_MS };
    const overlapping: Silence = { ...ONCE, id: 4, from: NOW + HOUR_MS, until: NOW + 2.5 * HOUR_MS };
    const separate: Silence = { ...ONCE, id: 5, from: NOW + 3 * HOUR_MS + 1, until: NOW + 4 * HOUR_MS };
    const expected = { silence: later, until: NOW + 3 * HOUR_MS };
    expect(silencedUntil([ONCE, later, separate], asked(NOW))).toEqual(expected);
    expect(silencedUntil([separate, later, overlapping, ONCE], asked(NOW))).toEqual(expected);
  });

  test("after the window until the next deadline of its check, at most for the given time", () => {
    const held: Silence = { ...ONCE, holdAfterSeconds: 3_600 };
    const end = NOW + 2 * HOUR_MS;
    expect(silencedUntil([held], asked(NOW))?.until).toBe(end + HOUR_MS);
    // The run at 14:00 has to be reported by 14:10.
    expect(silencedUntil([held], asked(NOW, { timing: HOURLY }))?.until).toBe(end + 10 * MINUTE_MS);
    const simple: Timing = { ...HOURLY, kind: "simple", timeoutSeconds: 1_800, graceSeconds: 60 };
    expect(silencedUntil([held], asked(NOW + 5, { timing: simple }))?.until).toBe(end + MINUTE_MS + 5);
    expect(silencedUntil([held], asked(end + 1, { openedAt: NOW, timing: HOURLY }))?.until).toBe(
      end + 10 * MINUTE_MS,
    );
    expect(silencedUntil([held], asked(end + 10 * MINUTE_MS, { openedAt: NOW, timing: HOURLY }))).toBeNull();
  });

  test("after the window only if it opened before its end", () => {
    const held: Silence = { ...ONCE, holdAfterSeconds: 3_600 };
    const end = NOW + 2 * HOUR_MS;
    expect(silencedUntil([held], asked(end + 1, { openedAt: end - 1 }))).not.toBeNull();
    expect(silencedUntil([held], asked(end + 1, { openedAt: end }))).toBeNull();
    expect(silencedUntil([held], asked(end + 1, { openedAt: null }))).toBeNull();
  });

  test("not for the run that failed, although its deadline lies after the window", () => {
    const timing: Timing = { ...HOURLY, schedule: "0 12 * * *", graceSeconds: 6 * 3_600 };
    const held: Silence = { ...ONCE, holdAfterSeconds: 86_400 };
    const until = silencedUntil([held], asked(NOW + MINUTE_MS, { timing }))?.until;
    expect(until).toBe(NOW + 2 * HOUR_MS + DAY_MS);
  });

  test("by a silence that another one ends within the wait", () => {
    const held: Silence = { ...ONCE, holdAfterSeconds: 3_600 };
    const next: Silence = { ...ONCE, id: 3, from: NOW + 2.5 * HOUR_MS, until: NOW + 5 * HOUR_MS };
    expect(silencedUntil([held, next], asked(NOW))).toEqual({ silence: next, until: NOW + 5 * HOUR_MS });
  });

  test("after a recurring window", () => {
    const first = NOW + 10 * HOUR_MS;
    expect(silencedUntil([DAILY], asked(first))).toEqual({ silence: DAILY, until: first + 5 * HOUR_MS });
    const late = asked(first + 4.5 * HOUR_MS, { openedAt: first });
    expect(silencedUntil([DAILY], late)?.until).toBe(first + 5 * HOUR_MS);
  });

  test("until the next success: not if there was one before the problem", () => {
    const silence: Silence = { ...ONCE, untilSuccess: true };
    expect(silencedUntil([silence], asked(NOW + 5, { lastSuccessAt: NOW - 1 }))).not.toBeNull();
    expect(silencedUntil([silence], asked(NOW + 5, { lastSuccessAt: null }))).not.toBeNull();
    expect(silencedUntil([silence], asked(NOW + 5, { lastSuccessAt: NOW }))).toBeNull();
    expect(silencedUntil([ONCE], asked(NOW + 5, { lastSuccessAt: NOW }))).not.toBeNull();
  });
});

describe("expected runs in a window", () => {
  const window = { from: NOW, to: NOW + 3 * HOUR_MS };
  const up = { ...NEW_STATE, status: "up" as const, lastPingAt: NOW - 30 * MINUTE_MS };

  test("are counted by schedule or interval", () => {
    expect(runsIn({ timing: HOURLY, state: up }, window)).toEqual({ count: 3, firstAt: NOW });
    const simple: Timing = { ...HOURLY, kind: "simple", timeoutSeconds: 3_600 };
    expect(runsIn({ timing: simple, state: up }, window)).toEqual({
      count: 3,
      firstAt: NOW + 30 * MINUTE_MS,
    });
    const earlier = { ...up, lastPingAt: NOW - 1.5 * HOUR_MS };
    expect(runsIn({ timing: simple, state: earlier }, window).firstAt).toBe(NOW + 30 * MINUTE_MS);
  });

  test("are none where none are expected, and limited", () => {
    const none = { count: 0, firstAt: null };
    expect(runsIn({ timing: HOURLY, state: NEW_STATE }, window)).toEqual(none);
    expect(runsIn({ timing: HOURLY, state: { ...up, status: "paused" } }, window)).toEqual(none);
    expect(runsIn({ timing: { ...HOURLY, schedule: "0 11 * * *" }, state: up }, window)).toEqual(none);
    const minutely = { timing: { ...HOURLY, schedule: "* * * * *" }, state: up };
    expect(runsIn(minutely, window).count).toBe(100);
  });
});

describe("a request", () => {
  const plan = (request: SilenceRequest, before: SilencePlan | null = null) =>
    planSilence(request, { now: NOW, before });
  const planned = (request: SilenceRequest, before: SilencePlan | null = null): SilencePlan => {
    const result = plan(request, before);
    if (!result.ok) throw new Error(result.text);
    return result.value;
  };

  test("gets the defaults", () => {
    expect(planned({ durationSeconds: 7_200, reason: " DB upgrade " })).toEqual({
      scope: { kind: "all" },
      from: NOW,
      until: NOW + 2 * HOUR_MS,
      untilSuccess: false,
      schedule: null,
      tz: null,
      durationSeconds: null,
      holdAfterSeconds: 0,
      reason: "DB upgrade",
    });
    expect(planned({ schedule: "0 22 * * 6", durationSeconds: 3_600 })).toMatchObject({
      from: NOW,
      until: null,
      tz: "UTC",
      durationSeconds: 3_600,
      holdAfterSeconds: 3_600,
    });
    expect(planned({ untilSuccess: true })).toMatchObject({ until: NOW + 90 * DAY_MS, untilSuccess: true });
  });

  test("may come from a clock that is a little slow", () => {
    expect(planned({ from: NOW - MINUTE_MS, durationSeconds: 60 }).from).toBe(NOW);
  });

  test.each<[string, SilenceRequest]>([
    ["from", { from: NOW - MINUTE_MS - 1, durationSeconds: 60 }],
    ["from", { from: NOW + 90 * DAY_MS + 1, durationSeconds: 60 }],
    ["until", {}],
    ["until", { until: NOW }],
    ["until", { until: NOW + HOUR_MS, from: NOW + HOUR_MS }],
    ["until", { until: NOW + 90 * DAY_MS + 1 }],
    ["duration", { from: NOW + 1, durationSeconds: 90 * 86_400 }],
    ["duration", { until: NOW + HOUR_MS, durationSeconds: 60 }],
    ["tz", { durationSeconds: 60, tz: "Europe/Riga" }],
    ["duration", { schedule: "0 22 * * *" }],
    ["duration", { schedule: "0 22 * * *", durationSeconds: 59 }],
    ["duration", { schedule: "0 22 * * *", durationSeconds: 7 * 86_400 + 1 }],
    ["until", { schedule: "0 22 * * *", durationSeconds: 60, until: NOW + HOUR_MS }],
    ["untilSuccess", { schedule: "0 22 * * *", durationSeconds: 60, untilSuccess: true }],
    ["schedule", { schedule: "at night", durationSeconds: 60 }],
    ["schedule", { schedule: "0 22 * * *", tz: "Mars/Olympus", durationSeconds: 60 }],
    ["schedule", { schedule: "2020-01-01 10:00:00", durationSeconds: 60 }],
    ["holdAfter", { durationSeconds: 60, holdAfterSeconds: 86_401 }],
    ["holdAfter", { durationSeconds: 60, holdAfterSeconds: -1 }],
    ["reason", { durationSeconds: 60, reason: "x".repeat(201) }],
  ])("is refused for %s: %j", (field, request) => {
    expect(plan(request)).toMatchObject({ ok: false, field });
  });

  test.each([
    ["0 0 * * *", 86_400],
    ["* * * * *", 60],
    ["*/5 * * * *", 604_800],
  ])("is refused if the windows have no pause: %s for %i s", (schedule, durationSeconds) => {
    expect(plan({ schedule, durationSeconds })).toMatchObject({ ok: false, field: "duration" });
  });

  test("at the limits is accepted", () => {
    expect(plan({ until: NOW + 90 * DAY_MS, reason: "🚀".repeat(200) }).ok).toBe(true);
    expect(plan({ from: NOW + 90 * DAY_MS - 1, until: NOW + 90 * DAY_MS }).ok).toBe(true);
    expect(plan({ schedule: "0 0 1 * *", durationSeconds: 7 * 86_400, holdAfterSeconds: 86_400 }).ok).toBe(
      true,
    );
    expect(plan({ schedule: "0 0 * * 6,0", durationSeconds: 86_400 }).ok).toBe(true);
  });

  test("changes only what it names", () => {
    const { id: _, uuid: __, accountId: ___, endedAt: ____, version: _____, ...before } = ONCE;
    expect(planned({ reason: "Longer" }, { ...before, from: NOW - DAY_MS })).toEqual({
      ...before,
      from: NOW - DAY_MS,
      reason: "Longer",
    });
    expect(planned({ from: before.from, durationSeconds: 3 * 3_600 }, before).until).toBe(NOW + 3 * HOUR_MS);
    expect(planned({ schedule: "0 22 * * *", durationSeconds: 3_600 }, before)).toMatchObject({
      until: null,
      tz: "UTC",
      holdAfterSeconds: 3_600,
    });
    expect(planned({ schedule: null, durationSeconds: 3_600 }, DAILY)).toMatchObject({
      until: NOW + HOUR_MS,
      schedule: null,
      tz: null,
      durationSeconds: null,
      holdAfterSeconds: 0,
    });
    expect(plan({ schedule: null }, DAILY)).toMatchObject({ ok: false, field: "until" });
  });
});
