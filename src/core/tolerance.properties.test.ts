// Properties of thresholds and run limits that hold for any history.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AlertChange } from "./alert.ts";
import { passDeadlines, type Visibility } from "./deadline.ts";
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS, SECOND_MS } from "./instant.ts";
import { DEFAULT_RULES, type Rules } from "./rules.ts";
import { nextAfter, parseSchedule } from "./schedule/schedule.ts";
import type { Signal } from "./signal.ts";
import { type CheckState, expectedAt, isAlertOpen, NEW_STATE, type Timing, viewAt } from "./state.ts";
import { applySignal } from "./transition.ts";

const EPOCH = Date.UTC(2026, 0, 1);
const END_AT = EPOCH + 900 * MINUTE_MS;
const RATE = { ratePerMinute: 0 };
const SEEN: Visibility = { watermarkAt: END_AT, blind: [] };
const UNSEEN: Visibility = { watermarkAt: null, blind: [] };

const small = fc.integer({ min: 1, max: 4 });
const thresholds = fc
  .record({ count: small, more: fc.integer({ min: 0, max: 3 }), missed: small, recovery: small })
  .map(({ count, more, missed, recovery }) => ({ failures: { count, of: count + more }, missed, recovery }));
const limits = fc.record({
  startWithinSeconds: fc.option(fc.integer({ min: 60, max: 1_200 })),
  maxRunSeconds: fc.option(fc.constantFrom(0, 120, 600, 6_000)),
});
const runRules = fc.record({
  minRunSeconds: fc.option(fc.integer({ min: 1, max: 600 })),
  minGapSeconds: fc.option(fc.integer({ min: 1, max: 3_600 })),
});

const timings = (rules: fc.Arbitrary<Partial<Rules>>): fc.Arbitrary<Timing> =>
  fc.record({
    kind: fc.constant("simple"),
    timeoutSeconds: fc.integer({ min: 1, max: 120 }).map((count) => count * 60),
    graceSeconds: fc.integer({ min: 6, max: 120 }).map((count) => count * 60),
    schedule: fc.constant(""),
    tz: fc.constant("UTC"),
    manualResume: fc.constant(false),
    rules: rules.map((some) => ({ ...DEFAULT_RULES, ...some })),
  });
const merged = (...parts: fc.Arbitrary<Partial<Rules>>[]): fc.Arbitrary<Partial<Rules>> =>
  fc.tuple(...parts).map((some) => Object.assign({}, ...some) as Partial<Rules>);

const instants = fc.integer({ min: 0, max: 600 }).map((count) => EPOCH + count * MINUTE_MS);
const histories = (kinds: readonly Signal["kind"][]): fc.Arbitrary<Signal[]> =>
  fc
    .uniqueArray(
      fc.record({
        kind: fc.constantFrom(...kinds),
        at: instants,
        rid: fc.constant(null),
        replayed: fc.constant(true),
      }),
      { maxLength: 14, selector: ({ at }) => at },
    )
    .map((signals) => signals.toSorted((one, other) => one.at - other.at));

type End = { state: CheckState; alerts: AlertChange[] };

/** Applies signals in this order, and then all deadlines until the end. */
function fold(timing: Timing, signals: readonly Signal[], visibility: Visibility): End {
  const end: End = { state: NEW_STATE, alerts: [] };
  for (const signal of signals) send(end, timing, { signal, visibility });
  return finish(end, timing);
}

function send(end: End, timing: Timing, given: { signal: Signal; visibility: Visibility }): void {
  const outcome = applySignal({ timing, state: end.state }, { ...given, rules: RATE });
  end.state = outcome.state;
  end.alerts.push(...outcome.alerts);
}

function sweep(end: End, timing: Timing, visibility: Visibility): void {
  const passed = passDeadlines({ timing, state: end.state }, { visibility, beforeAt: Infinity });
  end.state = passed.state;
  end.alerts.push(...passed.alerts);
}

function finish(end: End, timing: Timing): End {
  sweep(end, timing, SEEN);
  // Every change is one: no second opening, and no closing of nothing.
  let isOpen = false;
  for (const { kind } of end.alerts) {
    expect(kind).toBe(isOpen ? "closed" : "opened");
    isOpen = kind === "opened";
  }
  expect(isAlertOpen(end.state)).toBe(isOpen);
  return end;
}

type Expected = { kind: AlertChange["kind"]; at: Instant; cause: AlertChange["cause"] };

/** The alerts of successes and failures, from a plain list of outcomes. */
function alertsOf(
  { timeoutSeconds, graceSeconds, rules }: Timing,
  signals: readonly Signal[],
  { withDeadlines }: { withDeadlines: boolean },
): Expected[] {
  const { failures, missed, recovery } = rules ?? DEFAULT_RULES;
  let outcomes: ("success" | "failed" | "missed")[] = [];
  const changes: Expected[] = [];
  let [isOpen, isDown] = [false, false];
  let base: Instant | null = null;
  const open = (at: Instant, cause: "failed" | "missed") => {
    isOpen = true;
    changes.push({ kind: "opened", at, cause });
  };
  const pass = (until: Instant) => {
    for (;;) {
      if (!withDeadlines || base === null || (isOpen && isDown)) return;
      const deadlineAt = base + (timeoutSeconds + graceSeconds) * SECOND_MS;
      if (deadlineAt >= until) return;
      base += timeoutSeconds * SECOND_MS;
      isDown = true;
      outcomes.push("missed");
      const last = outcomes.slice(-missed);
      if (!isOpen && last.length === missed && last.every((one) => one === "missed"))
        open(deadlineAt, "missed");
    }
  };
  for (const { kind, at } of signals) {
    pass(at);
    base = at;
    isDown = kind === "fail";
    outcomes.push(isDown ? "failed" : "success");
    if (isDown) {
      const bad = outcomes.slice(-failures.of).filter((one) => one !== "success").length;
      if (!isOpen && bad >= failures.count) open(at, "failed");
    } else if (isOpen) {
      const last = outcomes.slice(-recovery);
      if (last.length < recovery || last.some((one) => one !== "success")) continue;
      isOpen = false;
      outcomes = [];
      changes.push({ kind: "closed", at, cause: "recovered" });
    }
  }
  pass(END_AT);
  return changes;
}

const plain = (changes: readonly AlertChange[]): Expected[] =>
  changes.map(({ kind, at, cause }) => ({ kind, at, cause }));

describe("an alert", () => {
  test("opens at the earliest outcome that reaches a threshold, and closes at the earliest that recovers", () => {
    fc.assert(
      fc.property(timings(thresholds), histories(["success", "fail"]), (timing, signals) => {
        const { alerts } = fold(timing, signals, SEEN);
        expect(plain(alerts)).toEqual(alertsOf(timing, signals, { withDeadlines: true }));
      }),
      { numRuns: 1_000 },
    );
  });

  test("under the default rules opens and closes with each flip", () => {
    fc.assert(
      fc.property(timings(fc.constant({})), histories(["success", "fail", "start"]), (timing, signals) => {
        const explicit = fold(timing, signals, SEEN);
        const none = fold({ ...timing, rules: null }, signals, SEEN);
        expect(explicit.alerts).toEqual(none.alerts);
        expect(none.state).toEqual({ ...explicit.state, judged: null });
        for (const { flip, at, kind } of none.alerts) {
          expect(flip).toMatchObject({ at, to: kind === "opened" ? "down" : "up" });
        }
      }),
    );
  });

  test("is not opened by a deadline that was excused or not observed, but by failures then", () => {
    // An interval of a minute in every grace period.
    const blind = Array.from({ length: 200 }, (_, index) => ({
      from: EPOCH + index * 5 * MINUTE_MS,
      to: EPOCH + (index * 5 + 1) * MINUTE_MS,
    }));
    const away = [{ from: EPOCH, to: null }];
    fc.assert(
      fc.property(timings(thresholds), histories(["success", "fail"]), (timing, signals) => {
        const failures = alertsOf(timing, signals, { withDeadlines: false });
        for (const visibility of [UNSEEN, { ...SEEN, blind }, { ...SEEN, blind: away }]) {
          const end: End = { state: NEW_STATE, alerts: [] };
          for (const signal of signals) send(end, timing, { signal, visibility });
          sweep(end, timing, visibility);
          expect(plain(end.alerts)).toEqual(failures);
          expect(end.state.judged?.missed ?? 0).toBe(0);
        }
      }),
    );
  });
});

describe("the sweeper", () => {
  test("changes nothing by when it looks, however blind we were", () => {
    const rules = merged(thresholds, limits, runRules);
    const gaps = fc.array(fc.tuple(instants, fc.integer({ min: 1, max: 60 })), { maxLength: 3 });
    const looks = fc.array(fc.boolean(), { minLength: 14, maxLength: 14 });
    const kinds = ["success", "fail", "start"] as const;
    fc.assert(
      fc.property(timings(rules), histories(kinds), gaps, looks, (timing, signals, found, looked) => {
        const blind = found
          .map(([from, count]) => ({ from, to: from + count * MINUTE_MS }))
          .toSorted((one, other) => one.from - other.from);
        const live = (isLooking: (index: number) => boolean) => {
          const end: End = { state: NEW_STATE, alerts: [] };
          for (const [index, signal] of signals.entries()) {
            const visibility = { watermarkAt: signal.at, blind };
            if (isLooking(index)) sweep(end, timing, visibility);
            send(end, timing, { signal: { ...signal, replayed: false }, visibility });
          }
          sweep(end, timing, { ...SEEN, blind });
          return end;
        };
        expect(live((index) => looked[index] === true)).toEqual(live(() => false));
      }),
      { numRuns: 500 },
    );
  });
});

/** What must not depend on the order in which a history was applied. */
function essence({ state }: End) {
  const { status, lastPingAt, lastStartAt, judged } = state;
  return { status, lastPingAt, lastStartAt, judged, isOpen: isAlertOpen(state) };
}

describe("a replay", () => {
  test("ends in the same alert even if deadlines fired too early and had to be taken back", () => {
    const rules = merged(thresholds, limits, runRules);
    const sweeps = fc.array(instants, { minLength: 14, maxLength: 14 });
    const kinds = ["success", "fail", "start"] as const;
    fc.assert(
      fc.property(timings(rules), histories(kinds), sweeps, (timing, signals, watermarks) => {
        const replayed: End = { state: NEW_STATE, alerts: [] };
        for (const [index, signal] of signals.entries()) {
          // A watermark that is wrong: pings before it are still to come.
          sweep(replayed, timing, { watermarkAt: watermarks[index] ?? null, blind: [] });
          send(replayed, timing, { signal, visibility: SEEN });
        }
        expect(essence(finish(replayed, timing))).toEqual(essence(fold(timing, signals, SEEN)));
      }),
      { numRuns: 2_000 },
    );
  });

  test("in any order ends in the same alert, if no outcome before the last one counts", () => {
    const rules = merged(thresholds, limits).map((some) => ({
      ...some,
      failures: DEFAULT_RULES.failures,
      recovery: 1,
    }));
    fc.assert(
      fc.property(
        timings(rules),
        histories(["success", "fail", "start", "log"]),
        fc.infiniteStream(fc.nat()),
        (timing, signals, keys) => {
          const shuffled = signals
            .map((signal) => ({ signal, key: keys.next().value ?? 0 }))
            .toSorted((one, other) => one.key - other.key)
            .map(({ signal }) => signal);
          const { judged: _, ...replayed } = essence(fold(timing, shuffled, UNSEEN));
          expect(essence(fold(timing, signals, UNSEEN))).toMatchObject(replayed);
        },
      ),
      { numRuns: 500 },
    );
  });

  test("of one ping that was received in time leaves no alert open", () => {
    fc.assert(
      fc.property(timings(merged(thresholds, limits)), fc.nat({ max: 900 }), (timing, count) => {
        const first = { kind: "success" as const, at: EPOCH, rid: null, replayed: false };
        const end: End = { state: NEW_STATE, alerts: [] };
        send(end, timing, { signal: first, visibility: SEEN });
        sweep(end, timing, { watermarkAt: EPOCH + count * MINUTE_MS, blind: [] });
        if (!isAlertOpen(end.state)) return;
        // Just before the last of the deadlines that opened it.
        const openedAt = end.alerts[0]?.at ?? 0;
        send(end, timing, { signal: { ...first, at: openedAt - 1, replayed: true }, visibility: UNSEEN });
        expect(isAlertOpen(end.state)).toBe(false);
        expect(end.alerts.at(-1)).toMatchObject({ kind: "closed", cause: "takenBack" });
      }),
    );
  });
});

describe("a ping before its expected time", () => {
  const zones = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago"];
  const schedules = ["0 * * * *", "30 2 * * *", "*/7 * * * *", "0 3 * * 0", "15,45 1-3 * * *"];
  // Around the changes of clocks in spring and autumn.
  const around = [Date.UTC(2026, 2, 29), Date.UTC(2026, 9, 25), Date.UTC(2026, 3, 5), Date.UTC(2026, 2, 8)];

  test("satisfies it only in the second half of the gap, and one in time never the next one", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.constantFrom(...schedules),
        fc.integer({ min: 1, max: 86_400 }),
        fc.constantFrom(...around),
        fc.integer({ min: -2 * 86_400, max: 2 * 86_400 }),
        (tz, schedule, earlySeconds, day, offset) => {
          const lastPingAt = day + offset * SECOND_MS;
          const parsed = parseSchedule({ text: schedule, tz });
          if (parsed === null) throw new Error("the schedule is invalid");
          // From far before, so that the slot before is found without searching backward.
          let before = 0;
          let next = nextAfter(parsed, lastPingAt - 8 * DAY_MS) ?? 0;
          while (next <= lastPingAt) [before, next] = [next, nextAfter(parsed, next) ?? 0];
          const later = nextAfter(parsed, next);
          const leadMs = Math.min(earlySeconds * SECOND_MS, (next - before) / 2);
          const expected = next - lastPingAt <= leadMs ? later : next;
          const timing: Timing = {
            kind: "cron",
            timeoutSeconds: 60,
            graceSeconds: 600,
            schedule,
            tz,
            manualResume: false,
            rules: { ...DEFAULT_RULES, earlySeconds },
          };
          const state: CheckState = { ...NEW_STATE, status: "up", lastPingAt };
          expect(expectedAt({ timing, state })).toBe(expected);
          expect(expectedAt({ timing, state: { ...state, lastPingAt: before } })).toBe(next);
          expect(viewAt({ timing, state }, lastPingAt).nextPingAt).toBe(expected);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test("changes nothing for a simple check", () => {
    const timing: Timing = {
      kind: "simple",
      timeoutSeconds: 3_600,
      graceSeconds: 600,
      schedule: "0 * * * *",
      tz: "UTC",
      manualResume: false,
      rules: { ...DEFAULT_RULES, earlySeconds: 86_400 },
    };
    const state: CheckState = { ...NEW_STATE, status: "up", lastPingAt: EPOCH + 1 };
    expect(expectedAt({ timing, state })).toBe(EPOCH + 1 + HOUR_MS);
  });
});
