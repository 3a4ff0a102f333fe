// Late ends: successes and failures that the sender could not report in time. The properties compare the check with a
// separate model that sorts everything known by the time at which it happened.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { passDeadlines, type Visibility } from "./deadline.ts";
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS } from "./instant.ts";
import { DEFAULT_RULES } from "./rules.ts";
import type { Signal, SignalKind } from "./signal.ts";
import { type CheckState, downAtOf, type Flip, NEW_STATE, type Timing, type WatchedCheck } from "./state.ts";
import { applySignal, pause } from "./transition.ts";

const AT = Date.UTC(2026, 4, 1, 12);
const TIMING: Timing = {
  kind: "simple",
  timeoutSeconds: 3600,
  graceSeconds: 600,
  schedule: "",
  tz: "UTC",
  manualResume: false,
  rules: null,
};
const RULES = { ratePerMinute: 0 };
const SEEN: Visibility = { watermarkAt: AT + 1e10, blind: [] };
const UNSEEN: Visibility = { watermarkAt: null, blind: [] };

function minutes(count: number): Instant {
  return AT + count * MINUTE_MS;
}

function check(state: Partial<CheckState> = {}, timing: Partial<Timing> = {}): WatchedCheck {
  return { timing: { ...TIMING, ...timing }, state: { ...NEW_STATE, ...state } };
}

type Sent = { kind: SignalKind; at: Instant; rid?: string | null; replayed?: boolean };

function send(to: WatchedCheck, sent: Sent, visibility = SEEN) {
  const signal = { rid: null, replayed: false, ...sent };
  return applySignal(to, { signal, visibility, rules: RULES });
}

type Late = Sent & { endedAt: Instant; ranMs?: number | null };

function sendLate(to: WatchedCheck, { endedAt, ranMs = null, ...sent }: Late, visibility = SEEN) {
  const signal = { rid: null, replayed: false, ...sent, lateEnd: { endedAt, ranMs } };
  return applySignal(to, { signal, visibility, rules: RULES });
}

const UP = check({ status: "up", lastPingAt: AT, newestAt: AT });

describe("a late success", () => {
  test("counts from when the run ended, and is logged when it was received", () => {
    const { state, at, run, flips } = sendLate(UP, {
      kind: "success",
      at: minutes(65),
      endedAt: minutes(30),
      ranMs: 5_000,
    });
    expect(at).toBe(minutes(65));
    expect(flips).toEqual([]);
    expect(state).toMatchObject({ status: "up", lastPingAt: minutes(30), lastDurationMs: 5_000 });
    expect(downAtOf(check(state))).toBe(minutes(30 + 70));
    expect(run).toEqual({
      startAt: minutes(30) - 5_000,
      endAt: minutes(30),
      outcome: "success",
      durationMs: 5_000,
    });
  });

  test("after the deadline recovers the check, and the missed deadline stays in the history", () => {
    const { state, flips, alerts, retractedAt } = sendLate(UP, {
      kind: "success",
      at: minutes(90),
      endedAt: minutes(60),
    });
    expect(flips).toEqual([
      { at: minutes(70), from: "up", to: "down", reason: "timeout" },
      { at: minutes(90), from: "down", to: "up", reason: "success" },
    ]);
    expect(alerts.map(({ kind }) => kind)).toEqual(["opened", "closed"]);
    expect(retractedAt).toBeNull();
    expect(downAtOf(check(state))).toBe(minutes(60 + 70));
  });

  test("does not recover a check that is overdue again", () => {
    const down = send(UP, { kind: "log", at: minutes(71) });
    const fired = passDeadlines(check(down.state), { visibility: SEEN, beforeAt: Infinity }).state;
    const { state, flips, alerts, run } = sendLate(check(fired), {
      kind: "success",
      at: minutes(200),
      endedAt: minutes(60),
    });
    expect(flips).toEqual([]);
    expect(alerts).toEqual([]);
    expect(state).toMatchObject({ status: "down", lastPingAt: minutes(60), missed: fired.missed });
    expect(run).toMatchObject({ endAt: minutes(60) });
    expect(downAtOf(check(state))).toBeNull();
  });

  test("recovers a check at the deadline of the next run, but not after it", () => {
    const fired = passDeadlines(UP, { visibility: SEEN, beforeAt: Infinity }).state;
    const at = (received: Instant) =>
      sendLate(check(fired), { kind: "success", at: received, endedAt: minutes(60) }).state.status;
    expect(at(minutes(130))).toBe("up");
    expect(at(minutes(130) + 1)).toBe("down");
  });

  test("of a new check that is overdue already leaves it to the deadline", () => {
    const { state, flips } = sendLate(check(), { kind: "success", at: minutes(200), endedAt: AT });
    expect(flips).toEqual([]);
    const passed = passDeadlines(check(state), { visibility: SEEN, beforeAt: Infinity });
    expect(passed.flips).toEqual([{ at: minutes(70), from: "up", to: "down", reason: "timeout" }]);
  });

  test("is only logged after a newer success, failure or pause", () => {
    const newer = send(UP, { kind: "fail", at: minutes(40) }).state;
    const { state, flips, late, run } = sendLate(check(newer), {
      kind: "success",
      at: minutes(50),
      endedAt: minutes(30),
      ranMs: 1_000,
    });
    expect({ flips, late }).toEqual({ flips: [], late: true });
    expect(state).toMatchObject({ status: "down", lastPingAt: minutes(40) });
    expect(run).toMatchObject({ endAt: minutes(30), durationMs: 1_000 });
    const paused = pause(UP, { at: minutes(40), visibility: SEEN }).state;
    expect(
      sendLate(check(paused), { kind: "success", at: minutes(50), endedAt: minutes(30) }).state,
    ).toMatchObject({ status: "paused" });
  });

  test("leaves a run that began later in progress, and does not hide that it takes too long", () => {
    const running = send(UP, { kind: "start", at: minutes(35), rid: "b" }).state;
    const early = sendLate(check(running), {
      kind: "success",
      at: minutes(40),
      endedAt: minutes(30),
      rid: "a",
    });
    expect(early.state).toMatchObject({ status: "up", lastStartAt: minutes(35), lastStartRid: "b" });
    const { state, flips } = sendLate(check(running), {
      kind: "success",
      at: minutes(50),
      endedAt: minutes(30),
      rid: "a",
    });
    expect(flips.map(({ to, at }) => ({ to, at }))).toEqual([{ to: "down", at: minutes(45) }]);
    expect(state.status).toBe("down");
  });

  test("of the run that took too long recovers the check, even if another run has ended since", () => {
    const running = send(UP, { kind: "start", at: minutes(1), rid: "a" }).state;
    const other = send(check(running), { kind: "success", at: minutes(5), rid: "b" }).state;
    const down = passDeadlines(check(other), { visibility: SEEN, beforeAt: minutes(20) }).state;
    expect(down.status).toBe("down");
    const { state, flips, alerts } = sendLate(check(down), {
      kind: "success",
      at: minutes(30),
      endedAt: minutes(4),
      rid: "a",
    });
    expect(flips).toEqual([{ at: minutes(30), from: "down", to: "up", reason: "success" }]);
    expect(alerts).toMatchObject([{ kind: "closed", cause: "recovered" }]);
    expect(state).toMatchObject({ status: "up", lastPingAt: minutes(5), lastStartAt: null, missed: null });
    const tooLate = sendLate(check(down), {
      kind: "success",
      at: minutes(100),
      endedAt: minutes(4),
      rid: "a",
    });
    expect(tooLate.state.status).toBe("down");
    // A failure, too: the newer success counts.
    const failed = sendLate(check(down), { kind: "fail", at: minutes(30), endedAt: minutes(4), rid: "a" });
    expect(failed.state.status).toBe("up");
  });

  test("that was received in time and replayed after the deadline takes the alert back", () => {
    const fired = passDeadlines(UP, { visibility: SEEN, beforeAt: Infinity }).state;
    const { retractedAt, state } = sendLate(check(fired), {
      kind: "success",
      at: minutes(65),
      endedAt: minutes(30),
      replayed: true,
    });
    expect(retractedAt).toBe(minutes(70));
    expect(state).toMatchObject({ status: "up", lastPingAt: minutes(30) });
  });

  test("does not bring a deadline forward that a monitoring gap has moved", () => {
    const excused = check({ ...UP.state, expectFromAt: minutes(50) });
    const { state } = sendLate(excused, { kind: "success", at: minutes(60), endedAt: minutes(10) }, UNSEEN);
    expect(downAtOf(check(state))).toBe(minutes(50 + 70));
  });

  test("that was reported as too short counts as a failure", () => {
    const rules = { ...DEFAULT_RULES, minRunSeconds: 60 };
    const { flips } = sendLate(check(UP.state, { rules }), {
      kind: "success",
      at: minutes(50),
      endedAt: minutes(30),
      ranMs: 1_000,
    });
    expect(flips).toMatchObject([{ at: minutes(50), to: "down", reason: "tooFast" }]);
  });

  test("of more than a week ago, or of a kind that ends no run, is only logged", () => {
    const old = { kind: "success", at: AT, endedAt: AT - 7 * DAY_MS - 1 } as const;
    expect(sendLate(check(), old)).toMatchObject({
      state: { status: "new", lastPingAt: null },
      recordedAs: "success",
      n: 1,
      late: true,
      run: null,
    });
    expect(sendLate(check(), { ...old, endedAt: AT - 7 * DAY_MS }).state.lastPingAt).toBe(AT - 7 * DAY_MS);
    expect(sendLate(UP, { kind: "start", at: minutes(5), endedAt: AT - HOUR_MS }).state.lastStartAt).toBe(
      minutes(5),
    );
  });

  test("always has a log row, because repetitions are recognized by it", () => {
    const signal = { kind: "success" as const, rid: "a", replayed: false };
    const rules = { ratePerMinute: 1 };
    const busy = { ...UP.state, rateMinuteAt: minutes(1), rateCount: 5 };
    const late = { ...signal, at: minutes(1), lateEnd: { endedAt: AT, ranMs: null } };
    expect(applySignal(check(busy), { signal: late, visibility: SEEN, rules }).n).not.toBeNull();
    const plain = { ...signal, at: minutes(1) };
    expect(applySignal(check(busy), { signal: plain, visibility: SEEN, rules }).n).toBeNull();
  });
});

describe("a late failure", () => {
  test("takes the check down when it is received", () => {
    const { state, flips, alerts } = sendLate(UP, { kind: "fail", at: minutes(50), endedAt: minutes(30) });
    expect(flips).toEqual([{ at: minutes(50), from: "up", to: "down", reason: "fail" }]);
    expect(alerts).toMatchObject([{ kind: "opened", cause: "failed" }]);
    expect(state).toMatchObject({ status: "down", lastPingAt: minutes(30) });
  });

  test("is only logged after a newer success", () => {
    const newer = send(UP, { kind: "success", at: minutes(40) }).state;
    const { state, flips, run } = sendLate(check(newer), {
      kind: "fail",
      at: minutes(50),
      endedAt: minutes(30),
    });
    expect(flips).toEqual([]);
    expect(state).toMatchObject({ status: "up", lastPingAt: minutes(40) });
    expect(run).toMatchObject({ outcome: "fail", endAt: minutes(30) });
  });
});

test("a start after the late end of its run arms nothing", () => {
  const ended = sendLate(UP, { kind: "success", at: minutes(50), endedAt: minutes(30), rid: "a" }).state;
  expect(send(check(ended), { kind: "start", at: minutes(51), rid: "a" }).state.lastStartAt).toBeNull();
});

// The model. It keeps no state: it sorts what is known by the time at which it happened and starts from the beginning.

/** A run of a job, in minutes. Pings that are not sent have no time. */
type JobRun = {
  startedAt: Instant;
  endedAt: Instant;
  outcome: "success" | "fail";
  startReceivedAt: Instant | null;
  endReceivedAt: Instant;
};

/** `isOld`: the end of a newer run was received before. It ends its run, and says nothing about the check. */
type Fact = { at: Instant; what: "start" | "success" | "fail"; run: number; isOld: boolean };

/** What is known at an instant, in order of time. A start that is received after the end of its run is not used. */
function knownFacts(runs: readonly JobRun[], now: Instant): Fact[] {
  const facts = runs.flatMap((run, index): Fact[] => {
    const { startReceivedAt, endReceivedAt, endedAt, outcome } = run;
    const isEndKnown = endReceivedAt <= now;
    const isOld = runs.some((other) => other.endReceivedAt < endReceivedAt && other.endedAt > endedAt);
    const isStartKnown = startReceivedAt !== null && startReceivedAt <= Math.min(now, endReceivedAt);
    const startAt = isEndKnown ? Math.min(startReceivedAt ?? 0, endedAt - 1) : (startReceivedAt ?? 0);
    return [
      ...(isStartKnown ? [{ at: startAt, what: "start" as const, run: index, isOld: false }] : []),
      ...(isEndKnown ? [{ at: endedAt, what: outcome, run: index, isOld }] : []),
    ];
  });
  return facts.toSorted((one, other) => one.at - other.at);
}

/** Whether the check is up at an instant, by the text of docs/contribute/state-machine.md. */
function modelStatus(
  facts: readonly Fact[],
  { period, grace, now }: Record<"period" | "grace" | "now", number>,
) {
  let status: "new" | "up" | "down" = "new";
  let lastAt = 0;
  let missedAt = -Infinity;
  let running: { at: Instant; run: number } | null = null;
  const deadline = () => {
    if (status === "down") return Infinity;
    const expected = status === "up" ? lastAt + period : Infinity;
    if (running !== null && running.at < expected) return running.at + grace;
    return expected + grace;
  };
  for (const { at, what, run, isOld } of facts) {
    if (deadline() < at) {
      missedAt = deadline();
      status = "down";
    }
    if (what === "start") {
      running = { at, run };
      continue;
    }
    const isOwn: boolean = running?.run === run;
    if (isOld) {
      if (what === "fail" || isOwn) running = null;
      continue;
    }
    // It was the problem, or has become one since.
    const isOver: boolean =
      running !== null && status === "down" && (running.at <= missedAt || running.at + grace < at);
    if (what === "fail" || isOwn || isOver) running = null;
    status = what === "fail" ? "down" : "up";
    missedAt = -Infinity;
    lastAt = at;
  }
  return deadline() < now ? "down" : status;
}

/**
 * Runs one after the other. A start can be missing, or be overtaken by the end of its run, but not by the start of the
 * next one. An end can be received much later, after those of other runs.
 */
const jobs = fc
  .array(
    fc.record({
      restLength: fc.integer({ min: 1, max: 90 }),
      length: fc.integer({ min: 1, max: 30 }),
      isFailure: fc.integer({ min: 0, max: 3 }).map((one) => one === 0),
      startDelay: fc.option(fc.constantFrom(0, 0, 1, 1_000)),
      endDelay: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 400 })),
    }),
    { minLength: 1, maxLength: 7 },
  )
  .map((given) => {
    let now = AT;
    return given.map(({ restLength, length, isFailure, startDelay, endDelay }, index): JobRun => {
      // Each run has its own seconds, so that no two pings are received at the same time.
      const startedAt = now + index * 2_000;
      const endedAt = startedAt + length * MINUTE_MS;
      now = endedAt - index * 2_000 + restLength * MINUTE_MS;
      const lastStartAt = endDelay > 0 ? endedAt - 500 : endedAt + restLength * MINUTE_MS - 500;
      const startAt = startedAt + (startDelay ?? 0) * MINUTE_MS + 500;
      return {
        startedAt,
        endedAt,
        outcome: isFailure ? "fail" : "success",
        startReceivedAt: startDelay === null ? null : Math.min(startAt, lastStartAt),
        endReceivedAt: endedAt + endDelay * MINUTE_MS,
      };
    });
  });

const timings = fc
  .record({ period: fc.integer({ min: 20, max: 200 }), grace: fc.integer({ min: 5, max: 100 }) })
  .map(({ period, grace }) => ({ ...TIMING, timeoutSeconds: period * 60, graceSeconds: grace * 60 }));

type Received = { at: Instant; signal: Signal };

function receivedOf(runs: readonly JobRun[]): Received[] {
  const received = runs.flatMap((run, index): Received[] => {
    const rid = `run ${index}`;
    const { startReceivedAt, endReceivedAt: at, endedAt, outcome } = run;
    const end: Signal = { kind: outcome, at, rid, replayed: false };
    const start: Signal = { kind: "start", at: startReceivedAt ?? 0, rid, replayed: false };
    return [
      ...(startReceivedAt === null ? [] : [{ at: startReceivedAt, signal: start }]),
      { at, signal: endedAt === at ? end : { ...end, lateEnd: { endedAt, ranMs: null } } },
    ];
  });
  return received.toSorted((one, other) => one.at - other.at);
}

/** Whether a start was received while the end of another run was unknown: a check remembers the newest start only. */
function isRunForgotten(runs: readonly JobRun[], now: Instant): boolean {
  const starts = runs.map(({ startReceivedAt }) => startReceivedAt ?? Infinity).filter((at) => at <= now);
  return starts.some((at) =>
    runs.some((run) => (run.startReceivedAt ?? Infinity) < at && run.endReceivedAt > at),
  );
}

describe("starts, ends and late ends in any order", () => {
  test("leave the check as the sorted history does, with every change in order of time", () => {
    let [count, differenceCount] = [0, 0];
    fc.assert(
      fc.property(timings, jobs, (timing, runs) => {
        const period = timing.timeoutSeconds * 1_000;
        const grace = timing.graceSeconds * 1_000;
        let state = NEW_STATE;
        const flips: Flip[] = [];
        let differs = false;
        for (const { at, signal } of receivedOf(runs)) {
          const visibility: Visibility = { watermarkAt: at, blind: [] };
          const outcome = applySignal({ timing, state }, { signal, visibility, rules: RULES });
          const swept = passDeadlines({ timing, state: outcome.state }, { visibility, beforeAt: at });
          state = swept.state;
          flips.push(...outcome.flips, ...swept.flips);
          expect(outcome.retractedAt).toBeNull();
          const expected = modelStatus(knownFacts(runs, at), { period, grace, now: at });
          // That a forgotten run took too long may not be known. An end that is only logged may not recover the check,
          // which then stays down until the next success.
          const isExcused = isRunForgotten(runs, at) || (outcome.late && expected === "up") || differs;
          if (!isExcused) expect(state.status).toBe(expected);
          differs = state.status !== expected;
          differenceCount += differs ? 1 : 0;
          count += 1;
        }
        for (const [index, flip] of flips.entries()) {
          const before = flips[index - 1];
          if (before === undefined) continue;
          expect(flip.at).toBeGreaterThanOrEqual(before.at);
          expect(flip.to).not.toBe(before.to);
        }
      }),
      { numRuns: 2_000 },
    );
    // The exception is rare.
    expect(differenceCount).toBeLessThan(count / 200);
  });
});
