// Properties of the state machine that hold for any history, however it is split or shuffled.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { applyDeadline, passDeadlines, type Visibility } from "./deadline.ts";
import { type Instant, MINUTE_MS } from "./instant.ts";
import type { Signal } from "./signal.ts";
import {
  type CheckState,
  deadlineOf,
  downAtOf,
  expectedAt,
  type Flip,
  NEW_STATE,
  statusAt,
  type Timing,
  type WatchedCheck,
} from "./state.ts";
import { applySignal, applySignals, pause, resume } from "./transition.ts";

const EPOCH = Date.UTC(2026, 0, 1);
const END_AT = EPOCH + 10_000 * MINUTE_MS;
const RULES = { ratePerMinute: 0 };
const UNSEEN: Visibility = { watermarkAt: null, blind: [] };
const SEEN: Visibility = { watermarkAt: END_AT, blind: [] };

const timings: fc.Arbitrary<Timing> = fc.record({
  kind: fc.constant("simple"),
  timeoutSeconds: fc.integer({ min: 60, max: 36_000 }),
  graceSeconds: fc.integer({ min: 60, max: 36_000 }),
  schedule: fc.constant(""),
  tz: fc.constant("UTC"),
  manualResume: fc.boolean(),
  rules: fc.constant(null),
});
const instants = fc.integer({ min: 0, max: 600 }).map((minutes) => EPOCH + minutes * MINUTE_MS);
const kinds = fc.constantFrom<Signal["kind"]>("success", "fail", "start", "log", "ign");
const rids = fc.constantFrom(null, "a", "b");
const signals = fc.record({ kind: kinds, at: instants, rid: rids, replayed: fc.boolean() });
const anonymousSignals = fc.record({
  kind: kinds,
  at: instants,
  rid: fc.constant(null),
  replayed: fc.constant(true),
});
const sights: fc.Arbitrary<Visibility> = fc.record({
  watermarkAt: fc.option(instants),
  blind: fc
    .array(fc.tuple(instants, fc.integer({ min: 1, max: 60 })), { maxLength: 3 })
    .map((blind) =>
      blind
        .map(([from, minutes]) => ({ from, to: from + minutes * MINUTE_MS }))
        .toSorted((one, other) => one.from - other.from),
    ),
});

/** The visible part of a state. */
function essence({ status, lastPingAt, lastStartAt }: CheckState) {
  return { status, lastPingAt, lastStartAt };
}

function watched(timing: Timing, state: CheckState = NEW_STATE): WatchedCheck {
  return { timing, state };
}

function afterDeadlines(check: WatchedCheck, visibility: Visibility): CheckState {
  return passDeadlines(check, { visibility, beforeAt: Infinity }).state;
}

describe("signals", () => {
  test("folded one by one end as the batch does", () => {
    fc.assert(
      fc.property(timings, fc.array(signals, { maxLength: 20 }), sights, (timing, batch, visibility) => {
        const options = { signals: batch, visibility, rules: RULES };
        const whole = applySignals(watched(timing), options);
        const cut = Math.floor(batch.length / 2);
        const first = applySignals(watched(timing), { ...options, signals: batch.slice(0, cut) });
        const second = applySignals(watched(timing, first.state), { ...options, signals: batch.slice(cut) });
        expect(second.state).toEqual(whole.state);
        expect([...first.outcomes, ...second.outcomes]).toEqual(whole.outcomes);
      }),
    );
  });

  test("in any order of replay end as if they had come in order of time", () => {
    // Distinct times: two signals in the same millisecond have no order to restore.
    const history = fc.uniqueArray(anonymousSignals, { maxLength: 12, selector: ({ at }) => at });
    fc.assert(
      fc.property(timings, history, fc.infiniteStream(fc.nat()), (timing, sorted, keys) => {
        const shuffled = sorted
          .map((signal) => ({ signal, key: keys.next().value ?? 0 }))
          .toSorted((one, other) => one.key - other.key)
          .map(({ signal }) => signal);
        const ordered = sorted.toSorted((one, other) => one.at - other.at);
        const fold = (batch: readonly Signal[]) => {
          const { state } = applySignals(watched(timing), {
            signals: batch,
            visibility: UNSEEN,
            rules: RULES,
          });
          return essence(afterDeadlines(watched(timing, state), SEEN));
        };
        expect(fold(shuffled)).toEqual(fold(ordered));
      }),
      { numRuns: 500 },
    );
  });

  test("that name their runs end the same in any order of replay, even if a start overtakes its end", () => {
    const named = fc.record({
      kind: fc.constantFrom<Signal["kind"]>("success", "start"),
      at: instants,
      rid: fc.constantFrom("a", "b", "c"),
      replayed: fc.constant(true),
    });
    // One start and one end of each run, as a job sends them, at distinct times and in any order.
    const history = fc.uniqueArray(named, {
      maxLength: 6,
      comparator: (one, other) => one.at === other.at || (one.rid === other.rid && one.kind === other.kind),
    });
    fc.assert(
      fc.property(timings, history, (timing, shuffled) => {
        const ordered = shuffled.toSorted((one, other) => one.at - other.at);
        const fold = (batch: readonly Signal[]) => {
          const { state } = applySignals(watched(timing), {
            signals: batch,
            visibility: UNSEEN,
            rules: RULES,
          });
          return { status: state.status, lastPingAt: state.lastPingAt };
        };
        expect(fold(shuffled)).toEqual(fold(ordered));
        const ended = new Set(shuffled.filter(({ kind }) => kind === "success").map(({ rid }) => rid));
        const { state } = applySignals(watched(timing), {
          signals: shuffled,
          visibility: UNSEEN,
          rules: RULES,
        });
        expect([...ended]).not.toContain(state.lastStartRid);
      }),
      { numRuns: 500 },
    );
  });

  test("end the same even if a deadline fired too early and had to be retracted", () => {
    const history = fc.uniqueArray(anonymousSignals, { maxLength: 8, selector: ({ at }) => at });
    fc.assert(
      fc.property(timings, history, fc.array(instants, { maxLength: 8 }), (timing, shuffled, sweeps) => {
        let state: CheckState = NEW_STATE;
        for (const [index, signal] of shuffled.entries()) {
          const sweptAt = sweeps[index];
          if (sweptAt !== undefined) {
            state = afterDeadlines(watched(timing, state), { watermarkAt: sweptAt, blind: [] });
          }
          state = applySignal(watched(timing, state), { signal, visibility: UNSEEN, rules: RULES }).state;
        }
        const ordered = shuffled.toSorted((one, other) => one.at - other.at);
        const inOrder = applySignals(watched(timing), { signals: ordered, visibility: UNSEEN, rules: RULES });
        expect(essence(afterDeadlines(watched(timing, state), SEEN))).toEqual(
          essence(afterDeadlines(watched(timing, inOrder.state), SEEN)),
        );
      }),
      { numRuns: 500 },
    );
  });

  test("count one log row each, numbered without gap", () => {
    fc.assert(
      fc.property(timings, fc.array(signals, { maxLength: 20 }), sights, (timing, batch, visibility) => {
        const { outcomes } = applySignals(watched(timing), { signals: batch, visibility, rules: RULES });
        expect(outcomes.map(({ n }) => n)).toEqual(batch.map((_, index) => index + 1));
      }),
    );
  });

  test("that are ignored change nothing but the count", () => {
    fc.assert(
      fc.property(
        timings,
        fc.array(signals, { maxLength: 10 }),
        signals,
        sights,
        (timing, past, signal, visibility) => {
          const { state } = applySignals(watched(timing), { signals: past, visibility, rules: RULES });
          const ignored = { ...signal, kind: "ign" as const };
          const outcome = applySignal(watched(timing, state), { signal: ignored, visibility, rules: RULES });
          const { newestAt, pingCount, rateMinuteAt, rateCount } = outcome.state;
          expect(outcome.state).toEqual({ ...state, newestAt, pingCount, rateMinuteAt, rateCount });
          expect(outcome.flips).toEqual([]);
        },
      ),
    );
  });

  test("never cause a flip that the same history in order of time would not end with", () => {
    fc.assert(
      fc.property(timings, fc.array(signals, { maxLength: 12 }), sights, (timing, batch, visibility) => {
        const { outcomes } = applySignals(watched(timing), { signals: batch, visibility, rules: RULES });
        for (const { flips, recordedAs, at } of outcomes) {
          const last = flips.at(-1);
          if (last?.reason === "fail") expect(recordedAs).toBe("fail");
          if (last?.reason === "success") expect(last).toMatchObject({ to: "up", at });
        }
      }),
    );
  });
});

/** One event of a check, in order of time. */
const happenings = fc.oneof(
  { weight: 8, arbitrary: signals.map((signal) => ({ what: "signal" as const, signal })) },
  { weight: 2, arbitrary: fc.constant({ what: "sweep" as const }) },
  { weight: 1, arbitrary: fc.constant({ what: "pause" as const }) },
  { weight: 1, arbitrary: fc.constant({ what: "resume" as const }) },
);
type Happening = typeof happenings extends fc.Arbitrary<infer Value> ? Value : never;

type Life = { state: CheckState; flips: (Flip | "pause")[]; noticeCount: number };

function live(timing: Timing, history: readonly Happening[], blind: Visibility["blind"] = []): Life {
  const life: Life = { state: NEW_STATE, flips: [], noticeCount: 0 };
  let now: Instant = EPOCH;
  const pass = (passed: { state: CheckState; flips: readonly Flip[]; notices: readonly unknown[] }) => {
    life.state = passed.state;
    life.flips.push(...passed.flips);
    life.noticeCount += passed.notices.length;
  };
  for (const happening of history) {
    now += 7 * MINUTE_MS;
    const check = watched(timing, life.state);
    const visibility = { watermarkAt: now, blind };
    if (happening.what === "signal") {
      const signal = { ...happening.signal, at: now, replayed: false };
      pass(applySignal(check, { signal, visibility, rules: RULES }));
    } else if (happening.what === "sweep") {
      pass(sweepOnce(check, visibility));
    } else if (happening.what === "pause") {
      pass(pause(check, { at: now, visibility }));
      life.flips.push("pause");
    } else {
      const outcome = resume(check, { at: now, visibility });
      if (outcome !== null) pass(outcome);
    }
  }
  return life;
}

/** One pass of the sweeper, which finds one deadline at a time. */
function sweepOnce(check: WatchedCheck, visibility: Visibility) {
  const outcome = applyDeadline(check, visibility);
  const state = outcome.kind === "fired" || outcome.kind === "excused" ? outcome.state : check.state;
  return {
    state,
    flips: outcome.kind === "fired" && outcome.flip !== null ? [outcome.flip] : [],
    notices: outcome.kind === "excused" ? [outcome.notice] : [],
  };
}

describe("a life of signals, sweeps, pauses and resumes", () => {
  test("has flips that alternate between down and up from one pause to the next", () => {
    fc.assert(
      fc.property(timings, fc.array(happenings, { maxLength: 40 }), (timing, history) => {
        let last: string | null = null;
        for (const flip of live(timing, history).flips) {
          if (flip === "pause") {
            last = null;
            continue;
          }
          expect(flip.to).not.toBe(last);
          expect(flip.from).not.toBe(flip.to);
          last = flip.to;
        }
      }),
    );
  });

  test("does not depend on when the sweeper looked, however blind we were", () => {
    const histories = fc.array(happenings, { maxLength: 40 });
    fc.assert(
      fc.property(timings, histories, sights, (timing, history, { blind }) => {
        const unswept = history.map((one) =>
          // A log entry replaces the sweep, so that the same time passes.
          one.what === "sweep"
            ? { what: "signal" as const, signal: { kind: "log" as const, at: 0, rid: null, replayed: false } }
            : one,
        );
        const end = (lived: Life) => {
          const visibility = { ...SEEN, blind };
          const passed = passDeadlines(watched(timing, lived.state), { visibility, beforeAt: Infinity });
          return {
            ...essence(passed.state),
            flips: [...lived.flips, ...passed.flips],
            noticeCount: lived.noticeCount + passed.notices.length,
          };
        };
        expect(end(live(timing, history, blind))).toEqual(end(live(timing, unswept, blind)));
      }),
      { numRuns: 500 },
    );
  });

  test("is not changed by reading it, and a new deadline is a grace period after the expected time", () => {
    fc.assert(
      fc.property(timings, fc.array(happenings, { maxLength: 40 }), instants, (timing, history, now) => {
        const { state } = live(timing, history);
        const check = watched(timing, state);
        const before = JSON.stringify(check);
        statusAt(check, now);
        const deadline = deadlineOf(check);
        expect(JSON.stringify(check)).toBe(before);
        expect(downAtOf(check)).toBe(deadline?.at ?? null);
        const expected = expectedAt(check);
        if (state.lastStartAt === null && expected !== null) {
          expect(deadline?.at).toBe(expected + timing.graceSeconds * 1000);
        }
      }),
    );
  });

  test("never puts the deadline earlier than a grace after the last start or success", () => {
    fc.assert(
      fc.property(timings, fc.array(happenings, { maxLength: 40 }), (timing, history) => {
        const { state } = live(timing, history);
        const at = downAtOf(watched(timing, state));
        if (at === null) return;
        const since = Math.min(state.lastStartAt ?? Infinity, state.lastPingAt ?? Infinity);
        expect(at).toBeGreaterThanOrEqual(since + timing.graceSeconds * 1000);
      }),
    );
  });
});
