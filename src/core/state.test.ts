// The status of a check at an instant.
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MINUTE_MS } from "./instant.ts";
import {
  type CheckState,
  deadlineOf,
  downAtOf,
  expectedAt,
  NEW_STATE,
  quickStatusAt,
  startedAt,
  statusAt,
  sweepAt,
  type Timing,
  viewAt,
  viewWithStartedAt,
  type WatchedCheck,
} from "./state.ts";

const AT = Date.UTC(2026, 4, 1, 12);
const SIMPLE: Timing = {
  kind: "simple",
  timeoutSeconds: 3600,
  graceSeconds: 600,
  schedule: "",
  tz: "UTC",
  manualResume: false,
  rules: null,
};

function minutesAfter(count: number): number {
  return AT + count * MINUTE_MS;
}

function check(state: Partial<CheckState>, timing: Partial<Timing> = {}): WatchedCheck {
  return { timing: { ...SIMPLE, ...timing }, state: { ...NEW_STATE, ...state } };
}

const UP = { status: "up", lastPingAt: AT } as const;

const nextPingAt = (of: WatchedCheck) => viewAt(of, AT).nextPingAt;

describe("the expected time", () => {
  test("of a simple check is its last ping plus its period", () => {
    expect(expectedAt(check(UP))).toBe(minutesAfter(60));
  });

  test("of a cron check is the next match in its own zone", () => {
    const cron = { kind: "cron", schedule: "30 15 * * *", tz: "Europe/Riga" } as const;
    expect(expectedAt(check(UP, cron))).toBe(minutesAfter(30));
  });

  test("of an OnCalendar check is the soonest of its lines", () => {
    const calendar = { kind: "oncalendar", schedule: "23:00\n12:45", tz: "UTC" } as const;
    expect(expectedAt(check(UP, calendar))).toBe(minutesAfter(45));
  });

  test("does not exist when the schedule never fires again: such a check stays up", () => {
    const past = check(UP, { kind: "oncalendar", schedule: "2019-01-01", tz: "UTC" });
    expect([expectedAt(past), downAtOf(past), nextPingAt(past)]).toEqual([null, null, null]);
    expect(statusAt(past, minutesAfter(1e6))).toBe("up");
  });

  test.each(["new", "down", "paused"] as const)("does not exist for a check that is %s", (status) => {
    expect(expectedAt(check({ status, lastPingAt: AT }))).toBeNull();
  });

  test("counts from the end of our blindness where that is later than the last ping", () => {
    expect(expectedAt(check({ ...UP, expectFromAt: minutesAfter(30) }))).toBe(minutesAfter(90));
    expect(expectedAt(check({ ...UP, expectFromAt: minutesAfter(-30) }))).toBe(minutesAfter(60));
  });
});

describe("the status shown", () => {
  test.each([
    [59, "up"],
    [60, "grace"],
    [70, "grace"],
    [100_000, "grace"],
  ])("at minute %i of an hourly check is %s: down is stored, never computed", (minute, status) => {
    expect(statusAt(check(UP), minutesAfter(minute))).toBe(status);
  });

  test.each(["new", "down", "paused"] as const)("of a check that is stored %s is just that", (status) => {
    expect(statusAt(check({ status, lastPingAt: AT }), minutesAfter(1e6))).toBe(status);
  });

  test("does not change when a run begins, but reads grace once the run is past its deadline", () => {
    const running = check({ ...UP, lastStartAt: minutesAfter(1) });
    expect(statusAt(running, minutesAfter(11))).toBe("up");
    expect(statusAt(running, minutesAfter(11) + 1)).toBe("grace");
  });

  test("in version 1 is started while a run is in time, whatever is stored", () => {
    for (const status of ["new", "up", "down", "paused"] as const) {
      const running = check({ status, lastPingAt: AT, lastStartAt: minutesAfter(1) });
      expect(viewWithStartedAt(running, minutesAfter(2)).status).toBe("started");
    }
    const overrun = check({ status: "down", lastPingAt: AT, lastStartAt: minutesAfter(1) });
    expect(viewWithStartedAt(overrun, minutesAfter(11)).status).toBe("down");
  });
});

describe("the next ping", () => {
  test("is the expected time of a check that is up", () => {
    expect(nextPingAt(check(UP))).toBe(minutesAfter(60));
  });

  test("is the start of the run in progress, from which grace counts", () => {
    expect(nextPingAt(check({ ...UP, lastStartAt: minutesAfter(1) }))).toBe(minutesAfter(1));
    expect(nextPingAt(check({ lastStartAt: minutesAfter(1) }))).toBe(minutesAfter(1));
  });

  test.each(["down", "paused"] as const)("is null for a check that is %s, even with a run", (status) => {
    expect(nextPingAt(check({ status, lastPingAt: AT, lastStartAt: AT }))).toBeNull();
  });

  test("is null for a check that was never pinged", () => {
    expect(nextPingAt(check({}))).toBeNull();
  });
});

describe("the shown status", () => {
  const instants = fc.integer({ min: -90, max: 200 }).map(minutesAfter);
  const maybe = fc.option(instants, { nil: null });
  const checks = fc.record({
    timing: fc.record({
      kind: fc.constantFrom("simple", "cron", "oncalendar"),
      timeoutSeconds: fc.constantFrom(60, 3_600),
      graceSeconds: fc.constantFrom(60, 600, 7_200),
      schedule: fc.constantFrom("*/7 * * * *", "0 13 * * *", "12:45", "2019-01-01"),
      tz: fc.constantFrom("UTC", "Europe/Riga"),
      manualResume: fc.boolean(),
      rules: fc.constant(null),
    }),
    status: fc.constantFrom("new", "up", "down", "paused"),
    lastPingAt: maybe,
    lastStartAt: maybe,
    expectFromAt: maybe,
  });

  test("stays the same until the instant that is given with it, and changes there", () => {
    const offset = fc.integer({ min: 0, max: 300 * MINUTE_MS });
    fc.assert(
      fc.property(checks, instants, offset, ({ timing, ...state }, now, after) => {
        const of = check(state, timing);
        for (const view of [viewAt, viewWithStartedAt]) {
          const { status, until } = view(of, now);
          const later = now + after;
          expect(until).toBeGreaterThan(now);
          if (later < until) expect(view(of, later).status).toBe(status);
          if (until === Infinity) continue;
          expect(view(of, until - 1).status).toBe(status);
          // A run that is late already when it overruns shows the same status after it in some states.
          if (view === viewAt) expect(view(of, until).status).toBe("grace");
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe("the deadline", () => {
  test("is a grace after the expected time or after the start, whichever is sooner", () => {
    expect(deadlineOf(check(UP))).toEqual({ from: minutesAfter(60), at: minutesAfter(70), cause: "missed" });
    const running = check({ ...UP, lastStartAt: minutesAfter(59) });
    expect(deadlineOf(running)).toEqual({ from: minutesAfter(59), at: minutesAfter(69), cause: "overrun" });
    const late = check({ ...UP, lastStartAt: minutesAfter(61) });
    expect(deadlineOf(late)).toEqual({ from: minutesAfter(60), at: minutesAfter(70), cause: "missed" });
  });

  test("exists for a new or paused check only through a run", () => {
    expect(downAtOf(check({ lastStartAt: AT }))).toBe(minutesAfter(10));
    expect(downAtOf(check({ status: "paused", lastStartAt: AT }))).toBe(minutesAfter(10));
    expect(downAtOf(check({ status: "paused", lastStartAt: AT }, { manualResume: true }))).toBeNull();
  });
});

test("a run is in progress from its start until something ends it, whatever the clock says", () => {
  expect(startedAt(check({ ...UP, lastStartAt: minutesAfter(1) }))).toBe(minutesAfter(1));
  expect(startedAt(check(UP))).toBeNull();
});

test("the sweeper's mark moves only when the deadline comes before it", () => {
  expect(sweepAt({ current: null, deadline: 5 })).toBe(5);
  expect(sweepAt({ current: 3, deadline: 5 })).toBe(3);
  expect(sweepAt({ current: 9, deadline: 5 })).toBe(5);
  expect(sweepAt({ current: 9, deadline: null })).toBe(9);
  expect(sweepAt({ current: null, deadline: null })).toBeNull();
});

// The optimized status must always equal the computed one.

const NOON = Date.UTC(2026, 10, 16, 12);
/** Within three days around noon, so that periods, graces and instants meet. */
const instant = fc.integer({ min: -2_160, max: 2_160 }).map((minutes) => NOON + minutes * MINUTE_MS);
const maybe = fc.option(instant);

const timing: fc.Arbitrary<Timing> = fc.record({
  kind: fc.constantFrom("simple", "cron", "oncalendar"),
  timeoutSeconds: fc.integer({ min: 60, max: 90_000 }),
  graceSeconds: fc.integer({ min: 60, max: 90_000 }),
  schedule: fc.constantFrom("*/20 * * * *", "0 3 * * *", "12:30", "2019-01-01"),
  tz: fc.constantFrom("UTC", "Europe/Riga"),
  manualResume: fc.boolean(),
  rules: fc.constant(null),
});
const state: fc.Arbitrary<CheckState> = fc
  .record({
    status: fc.constantFrom("new", "up", "down", "paused"),
    lastPingAt: maybe,
    lastStartAt: maybe,
    expectFromAt: maybe,
  })
  .map((given) => ({ ...NEW_STATE, ...given }));
const anyCheck: fc.Arbitrary<WatchedCheck> = fc.record({ timing, state });

test("with the stored deadline at hand the status is the same", () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(anyCheck, instant, (watched, now) => {
      const status = statusAt(watched, now);
      seen.add(status);
      expect(quickStatusAt({ ...watched, downAt: downAtOf(watched) }, now)).toBe(status);
    }),
    { numRuns: 5_000 },
  );
  // Otherwise the test compares nothing.
  expect([...seen].toSorted()).toEqual(["down", "grace", "new", "paused", "up"]);
});

test("the moment at which grace begins counts as late", () => {
  const up = { ...NEW_STATE, status: "up", lastPingAt: NOON } as const;
  const hourly = {
    kind: "simple",
    timeoutSeconds: 3_600,
    graceSeconds: 600,
    schedule: "",
    tz: "UTC",
    manualResume: false,
    rules: null,
  } as const;
  const watched = { timing: hourly, state: up, downAt: NOON + 70 * MINUTE_MS };
  expect(quickStatusAt(watched, NOON + 60 * MINUTE_MS - 1)).toBe("up");
  expect(quickStatusAt(watched, NOON + 60 * MINUTE_MS)).toBe("grace");
});
