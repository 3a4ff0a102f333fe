// Rules of the state machine that the state table cannot show: run IDs, durations, retracted flips, coalescing, and
// the parts of each outcome.
import { describe, expect, test } from "vitest";
import { applyDeadline, type Visibility } from "./deadline.ts";
import { MINUTE_MS } from "./instant.ts";
import { DEFAULT_RULES } from "./rules.ts";
import type { SignalKind } from "./signal.ts";
import { type CheckState, NEW_STATE, type Timing, type WatchedCheck } from "./state.ts";
import { applySignal, applySignals, pause, resume } from "./transition.ts";

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
const SEEN: Visibility = { watermarkAt: AT + 1e10, blind: [] };
const UNSEEN: Visibility = { watermarkAt: null, blind: [] };

function minutes(count: number): number {
  return AT + count * MINUTE_MS;
}

function check(state: Partial<CheckState> = {}, timing: Partial<Timing> = {}): WatchedCheck {
  return { timing: { ...TIMING, ...timing }, state: { ...NEW_STATE, ...state } };
}

type Sent = { kind: SignalKind; at: number; rid?: string | null; replayed?: boolean };

function send(to: WatchedCheck, sent: Sent, visibility = SEEN, ratePerMinute = 60) {
  const signal = { rid: null, replayed: false, ...sent };
  return applySignal(to, { signal, visibility, rules: { ratePerMinute } });
}

describe("a start whose run has already ended", () => {
  const ended = send(check(), { kind: "success", at: AT, rid: "a" }).state;

  test("is logged and arms nothing", () => {
    const { state, n, flips } = send(check(ended), { kind: "start", at: AT + 1, rid: "a" });
    expect(n).toBe(2);
    expect(flips).toEqual([]);
    expect(state).toMatchObject({ status: "up", lastStartAt: null, lastStartRid: null });
  });

  test("arms nothing after a failure either, and not when it is repeated after its run", () => {
    const running = send(check(), { kind: "start", at: AT, rid: "a" }).state;
    const failed = send(check(running), { kind: "fail", at: AT + 1, rid: "a" }).state;
    expect(send(check(failed), { kind: "start", at: AT + 2, rid: "a" }).state.lastStartAt).toBeNull();
  });

  test("does not replace the run that is in progress", () => {
    const running = send(check(ended), { kind: "start", at: AT + 1, rid: "b" }).state;
    const { state } = send(check(running), { kind: "start", at: AT + 2, rid: "a" });
    expect(state).toMatchObject({ lastStartAt: AT + 1, lastStartRid: "b" });
  });

  test("still arms when it names another run, or none", () => {
    expect(send(check(ended), { kind: "start", at: AT + 1, rid: "b" }).state.lastStartAt).toBe(AT + 1);
    expect(send(check(ended), { kind: "start", at: AT + 1 }).state.lastStartAt).toBe(AT + 1);
  });

  test("is disarmed by the end that is replayed after it", () => {
    const started = send(check(), { kind: "start", at: AT + 5, rid: "a" }).state;
    const { state, run } = send(check(started), { kind: "success", at: AT, rid: "a", replayed: true });
    expect(state).toMatchObject({ status: "up", lastStartAt: null, lastDurationMs: null });
    expect(run).toMatchObject({ startAt: null, durationMs: null });
  });

  test("is recognized among the newest ended runs only, so that a state stays small", () => {
    let state: CheckState = ended;
    for (let index = 0; index < 8; index += 1) {
      state = send(check(state), { kind: "success", at: AT + index + 1, rid: `other ${index}` }).state;
    }
    expect(state.endedRids).toHaveLength(8);
    expect(send(check(state), { kind: "start", at: AT + 20, rid: "a" }).state.lastStartAt).toBe(AT + 20);
  });
});

describe("a run", () => {
  const running = check({
    status: "up",
    lastPingAt: AT,
    newestAt: minutes(1),
    lastStartAt: minutes(1),
    lastStartRid: "a",
  });

  test("ends with a success of the same run id, which measures it", () => {
    const { state, run } = send(running, { kind: "success", at: minutes(3), rid: "a" });
    expect(state).toMatchObject({ lastStartAt: null, lastDurationMs: 2 * MINUTE_MS, lastPingAt: minutes(3) });
    expect(run).toEqual({
      startAt: minutes(1),
      endAt: minutes(3),
      outcome: "success",
      durationMs: 2 * MINUTE_MS,
    });
  });

  test("continues after a success of another run, which does not measure it", () => {
    const { state, run } = send(running, { kind: "success", at: minutes(3), rid: "b" });
    expect(state).toMatchObject({
      status: "up",
      lastStartAt: minutes(1),
      lastStartRid: "a",
      lastDurationMs: null,
    });
    expect(run).toMatchObject({ startAt: null, durationMs: null });
  });

  test("that has overrun and taken the check down does not take it down again after a success of another run", () => {
    const up = send(running, { kind: "success", at: minutes(30), rid: "b" });
    expect(up.flips.map(({ to }) => to)).toEqual(["down", "up"]);
    expect(applyDeadline(check(up.state), SEEN)).toMatchObject({ flip: { at: minutes(100) } });
    const tolerant = { rules: { ...DEFAULT_RULES, missed: 2 } };
    const tolerated = send(
      { ...running, ...check({}, tolerant), state: running.state },
      { kind: "success", at: minutes(30), rid: "b" },
    );
    expect(tolerated.flips.map(({ to }) => to)).toEqual(["down", "up"]);
    expect(applyDeadline(check(tolerated.state, tolerant), SEEN)).toMatchObject({
      flip: { at: minutes(100) },
    });
  });

  test("that has overrun while the check was down does not take it down after a success of another run", () => {
    const failed = { ...running.state, status: "down" } as const;
    const { state, flips } = send(check(failed), { kind: "success", at: minutes(30), rid: "b" });
    expect(flips).toMatchObject([{ at: minutes(30), to: "up" }]);
    expect(applyDeadline(check(state), SEEN)).toMatchObject({ flip: { at: minutes(100) } });
    // In time, or the end may have been missed.
    const early = send(check(failed), { kind: "success", at: minutes(11), rid: "b" });
    expect(applyDeadline(check(early.state), SEEN)).toMatchObject({ flip: { at: minutes(11) } });
    const blind = { ...SEEN, blind: [{ from: minutes(5), to: minutes(21) }] };
    const unseen = send(check(failed), { kind: "success", at: minutes(30), rid: "b" }, blind);
    expect(applyDeadline(check(unseen.state), blind)).toMatchObject({ kind: "excused" });
  });

  test("that began after the missed deadline is still watched after a success of another run", () => {
    const down = send(running, { kind: "start", at: minutes(30), rid: "c" }).state;
    const { state } = send(check(down), { kind: "success", at: minutes(31), rid: "b" });
    expect(applyDeadline(check(state), SEEN)).toMatchObject({ flip: { at: minutes(40) } });
  });

  test("ends unmeasured with a success that names no run", () => {
    const { state } = send(running, { kind: "success", at: minutes(3) });
    expect(state).toMatchObject({ lastStartAt: null, lastStartRid: null, lastDurationMs: null });
  });

  test("ends with any failure", () => {
    const { state } = send(running, { kind: "fail", at: minutes(3), rid: "b" });
    expect(state).toMatchObject({ status: "down", lastStartAt: null, lastDurationMs: null });
  });

  test("without a run ID continues after a success that names one", () => {
    const anonymous = check({ ...running.state, lastStartRid: null });
    const { state } = send(anonymous, { kind: "success", at: minutes(3), rid: "b" });
    expect(state).toMatchObject({ lastStartAt: minutes(1), lastDurationMs: null });
  });

  test("is replaced by a newer start, and only the newest is watched", () => {
    const { state } = send(running, { kind: "start", at: minutes(2), rid: "b" });
    expect(state).toMatchObject({ lastStartAt: minutes(2), lastStartRid: "b", lastPingAt: AT });
  });
});

describe("a replayed signal", () => {
  const startedSince = check({
    status: "up",
    lastPingAt: AT,
    lastStartAt: minutes(30),
    newestAt: minutes(30),
  });

  test("that a newer start has overtaken still moves the last success, so its alert never comes", () => {
    const outcome = send(startedSince, { kind: "success", at: minutes(20), replayed: true }, UNSEEN);
    expect(outcome).toMatchObject({ late: false, at: minutes(20) });
    expect(outcome.state).toMatchObject({
      lastPingAt: minutes(20),
      lastStartAt: minutes(30),
      newestAt: minutes(30),
    });
  });

  test("that a newer success has overtaken is logged with its own time and the next number", () => {
    const up = check({ status: "up", lastPingAt: minutes(30), newestAt: minutes(30), pingCount: 7 });
    const outcome = send(up, { kind: "fail", at: minutes(20), replayed: true });
    expect(outcome).toMatchObject({ late: true, at: minutes(20), n: 8, flips: [] });
    expect(outcome.state).toMatchObject({ status: "up", lastPingAt: minutes(30), newestAt: minutes(30) });
  });

  test("that a newer success of another run has overtaken still ends its own run", () => {
    const running = {
      lastStartAt: minutes(10),
      lastStartRid: "a",
      lastPingAt: minutes(30),
      newestAt: minutes(30),
    };
    const ended = { lastStartAt: null, lastStartRid: null, lastPingAt: minutes(30) };
    const signal = { kind: "success", at: minutes(20), rid: "a", replayed: true } as const;
    const up = check({ status: "up", ...running });
    expect(send(up, signal)).toMatchObject({ late: true, flips: [], state: { status: "up", ...ended } });
    expect(send(up, { ...signal, rid: "c" }).state).toMatchObject({ lastStartRid: "a" });
    const missed = { deadlineAt: minutes(40), from: "up" } as const;
    const down = check({ status: "down", missed, ...running });
    expect(send(down, signal)).toMatchObject({
      late: true,
      retractedAt: minutes(40),
      state: { status: "up", missed: null, ...ended },
    });
  });

  test("that a pause with manual resume has overtaken is logged as what it was", () => {
    const deaf = check(
      { status: "paused", commandAt: minutes(30), newestAt: minutes(30) },
      { manualResume: true },
    );
    expect(send(deaf, { kind: "success", at: minutes(20), replayed: true })).toMatchObject({
      recordedAs: "success",
      late: true,
    });
    expect(send(deaf, { kind: "success", at: minutes(31), replayed: true })).toMatchObject({
      recordedAs: "ign",
    });
  });

  test("that a pause has overtaken changes nothing", () => {
    const paused = check({ status: "paused", commandAt: minutes(30), newestAt: minutes(30) });
    expect(send(paused, { kind: "success", at: minutes(20), replayed: true })).toMatchObject({
      late: true,
      state: { status: "paused", lastPingAt: null },
    });
  });

  test("may not start a run once a newer success has been applied", () => {
    const up = check({ status: "up", lastPingAt: minutes(30), newestAt: minutes(30) });
    expect(send(up, { kind: "start", at: minutes(20), rid: "a", replayed: true })).toMatchObject({
      late: true,
      state: { lastStartAt: null },
    });
  });

  test("leaves a direct signal with the newest applied instant as its time at least", () => {
    const up = check({ status: "up", lastPingAt: minutes(30), newestAt: minutes(30) });
    expect(send(up, { kind: "success", at: minutes(29) })).toMatchObject({ at: minutes(30), late: false });
  });
});

describe("a success that was received before the deadline that fired", () => {
  function missedCheck(state: Partial<CheckState>): WatchedCheck {
    const before = check(state);
    const outcome = applyDeadline(before, SEEN);
    if (outcome.kind !== "fired") throw new Error("the deadline must fire");
    return { timing: before.timing, state: outcome.state };
  }

  test("takes the flip back, at the very instant of the deadline too", () => {
    const down = missedCheck({ status: "up", lastPingAt: AT });
    const outcome = send(down, { kind: "success", at: minutes(70), replayed: true });
    expect(outcome).toMatchObject({
      retractedAt: minutes(70),
      flips: [],
      alerts: [{ kind: "closed", cause: "takenBack", flip: null }],
      state: { status: "up", missed: null },
    });
  });

  test("is an ordinary recovery one millisecond later", () => {
    const down = missedCheck({ status: "up", lastPingAt: AT });
    const outcome = send(down, { kind: "success", at: minutes(70) + 1, replayed: true });
    expect(outcome.retractedAt).toBeNull();
    expect(outcome.flips).toEqual([{ at: minutes(70) + 1, from: "down", to: "up", reason: "success" }]);
  });

  test("does not, if the run that overran began after it", () => {
    const down = missedCheck({ status: "up", lastPingAt: AT, lastStartAt: minutes(5) });
    const outcome = send(down, { kind: "success", at: minutes(4), replayed: true });
    expect(outcome).toMatchObject({ retractedAt: null, flips: [] });
    expect(outcome.state).toMatchObject({ status: "down", lastPingAt: minutes(4), lastStartAt: minutes(5) });
    expect(outcome.state.missed).toEqual({ deadlineAt: minutes(15), from: "up" });
  });

  test("brings a check up that a missed deadline had taken down before its first success", () => {
    const down = missedCheck({ status: "new", lastStartAt: AT });
    const outcome = send(down, { kind: "success", at: minutes(5), replayed: true });
    expect(outcome.retractedAt).toBe(minutes(10));
    expect(outcome.flips).toEqual([{ at: minutes(5), from: "new", to: "up", reason: "success" }]);
  });

  test("so does a failure, which replaces the missed deadline", () => {
    const down = missedCheck({ status: "up", lastPingAt: AT });
    const outcome = send(down, { kind: "fail", at: minutes(50), replayed: true });
    expect(outcome).toMatchObject({ retractedAt: minutes(70), state: { status: "down", missed: null } });
    expect(outcome.flips).toEqual([{ at: minutes(50), from: "up", to: "down", reason: "fail" }]);
    const recovered = send(
      { timing: TIMING, state: outcome.state },
      { kind: "success", at: minutes(55), replayed: true },
    );
    expect(recovered.flips).toEqual([{ at: minutes(55), from: "down", to: "up", reason: "success" }]);
  });
});

describe("a direct signal", () => {
  test("that was received in time is in time, even if something newer was applied before it", () => {
    const up = check({ status: "up", lastPingAt: AT, newestAt: minutes(70) + 5 });
    const outcome = send(up, { kind: "success", at: minutes(70) });
    expect(outcome).toMatchObject({ at: minutes(70) + 5, flips: [], notObserved: null });
  });

  test("after an excuse and the deadline that followed it reports both", () => {
    const up = check({ status: "up", lastPingAt: AT, newestAt: AT });
    const visibility = { ...SEEN, blind: [{ from: minutes(61), to: minutes(65) }] };
    const outcome = send(up, { kind: "success", at: minutes(1000) }, visibility);
    expect(outcome.notices).toHaveLength(1);
    expect(outcome.flips.map(({ to, at }) => [to, at])).toEqual([
      ["down", minutes(135)],
      ["up", minutes(1000)],
    ]);
  });
});

describe("beyond the rate limit", () => {
  const busy = check({
    status: "up",
    lastPingAt: AT,
    newestAt: AT,
    pingCount: 60,
    rateMinuteAt: AT,
    rateCount: 60,
  });

  test("a plain success moves the state and is counted, but leaves no row", () => {
    const outcome = send(busy, { kind: "success", at: AT + 1 });
    expect(outcome.n).toBeNull();
    expect(outcome.state).toMatchObject({ lastPingAt: AT + 1, pingCount: 61, coalescedCount: 1 });
    expect(send({ ...busy, state: outcome.state }, { kind: "fail", at: AT + 2 }).n).toBe(62);
  });

  test.each(["log", "ign"] as const)("a %s signal leaves no row either", (kind) => {
    expect(send(busy, { kind, at: AT + 1 }).n).toBeNull();
  });

  test.each(["start", "fail"] as const)("a %s signal is logged all the same", (kind) => {
    expect(send(busy, { kind, at: AT + 1 }).n).toBe(61);
  });

  test("a success that changes the status, or ends a measured run, is logged all the same", () => {
    const down = check({ ...busy.state, status: "down" });
    expect(send(down, { kind: "success", at: AT + 1 }).n).toBe(61);
    const running = check({ ...busy.state, lastStartAt: AT });
    expect(send(running, { kind: "success", at: AT + 1 }).n).toBe(61);
  });

  test("the next minute begins anew, and an older one is not counted against it", () => {
    expect(send(busy, { kind: "success", at: AT + MINUTE_MS }).n).toBe(61);
    const old = send(busy, { kind: "log", at: AT - 1, replayed: true });
    expect(old.state).toMatchObject({ rateMinuteAt: AT, rateCount: 60 });
    const overfull = check({ ...busy.state, rateCount: 61 });
    expect(send(overfull, { kind: "log", at: AT - 1, replayed: true }).n).toBe(61);
  });

  test("a limit of zero is no limit", () => {
    expect(send(busy, { kind: "success", at: AT + 1 }, SEEN, 0).n).toBe(61);
  });

  test("sixty pings of a minute are logged and the sixty-first is not", () => {
    const signals = Array.from({ length: 61 }, (_, index) => ({
      kind: "success" as const,
      at: AT + index,
      rid: null,
      replayed: false,
    }));
    const { outcomes } = applySignals(check(), { signals, visibility: SEEN, rules: { ratePerMinute: 60 } });
    expect(outcomes.map(({ n }) => n).slice(58)).toEqual([59, 60, null]);
  });
});

describe("commands", () => {
  test("a pause after a deadline that we saw pass reports it first", () => {
    const overdue = check({ status: "up", lastPingAt: AT, newestAt: AT });
    const outcome = pause(overdue, { at: minutes(80), visibility: SEEN });
    expect(outcome.flips).toEqual([{ at: minutes(70), from: "up", to: "down", reason: "timeout" }]);
    expect(outcome.state).toMatchObject({
      status: "paused",
      lastPingAt: AT,
      missed: null,
      commandAt: minutes(80),
    });
  });

  test("a pause after a deadline that we could not see says so", () => {
    const overdue = check({ status: "up", lastPingAt: AT, newestAt: AT });
    const outcome = pause(overdue, { at: minutes(80), visibility: UNSEEN });
    expect(outcome).toMatchObject({
      flips: [],
      alerts: [],
      repeated: [],
      unobserved: { at: minutes(70) },
      state: { status: "paused" },
    });
  });

  test("a resume resets pings and runs but not their number", () => {
    const paused = check({ status: "paused", lastPingAt: AT, pingCount: 9, lastDurationMs: 5, newestAt: AT });
    expect(resume(paused, { at: minutes(1), visibility: SEEN })?.state).toMatchObject({
      status: "new",
      lastPingAt: null,
      pingCount: 9,
      lastDurationMs: 5,
      commandAt: minutes(1),
    });
  });

  test("resuming a check that is not paused is refused", () => {
    expect(resume(check({ status: "up" }), { at: AT, visibility: SEEN })).toBeNull();
  });

  test("a second pause outdates earlier signals, and keeps a run in progress", () => {
    const running = { lastStartAt: minutes(5), lastStartRid: "a", newestAt: minutes(5) };
    const paused = check({ status: "paused", commandAt: AT, ...running });
    const moment = { at: minutes(30), visibility: UNSEEN };
    const twice = pause(paused, moment);
    const commanded = { commandAt: minutes(30), newestAt: minutes(30) };
    expect(twice).toEqual({
      state: { ...paused.state, ...commanded },
      flips: [],
      alerts: [],
      repeated: [],
      notices: [],
      unobserved: null,
    });
    for (const kind of ["success", "fail"] as const) {
      const signal = { kind, at: minutes(14), rid: "b", replayed: true } as const;
      expect(send(paused, signal).state.status).not.toBe("paused");
      expect(send({ ...paused, state: twice.state }, signal)).toMatchObject({
        late: true,
        flips: [],
        alerts: [],
        repeated: [],
        state: { status: "paused" },
      });
    }
  });

  test("a second pause does not hide that a run in the paused check may have gone unseen", () => {
    const paused = check({ status: "paused", commandAt: AT, lastStartAt: AT, newestAt: AT });
    const blind = [{ from: minutes(2), to: minutes(4) }];
    const outcome = pause(paused, { at: minutes(30), visibility: { watermarkAt: minutes(30), blind } });
    expect(outcome).toMatchObject({
      notices: [{ deadline: { at: minutes(10) } }],
      state: { status: "paused", lastStartAt: null, commandAt: minutes(30) },
    });
  });

  test("a run that overran in a paused check comes first: the check is down, so it is paused, not resumed", () => {
    const overrun = check({ status: "paused", lastStartAt: AT, newestAt: AT });
    const moment = { at: minutes(80), visibility: SEEN };
    expect(resume(overrun, moment)).toBeNull();
    expect(pause(overrun, moment)).toMatchObject({
      flips: [{ at: minutes(10), to: "down" }],
      state: { status: "paused" },
    });
  });
});
