// Limits of runs: when a run must start, how long it may and must take, and how soon the next one may follow.
import { describe, expect, test } from "vitest";
import { applyDeadline, type Visibility } from "./deadline.ts";
import { type Instant, MINUTE_MS } from "./instant.ts";
import { DEFAULT_RULES, type Rules } from "./rules.ts";
import type { SignalKind } from "./signal.ts";
import {
  type CheckState,
  deadlineOf,
  downAtOf,
  NEW_STATE,
  storedDeadline,
  type Timing,
  viewAt,
  viewWithStartedAt,
  type WatchedCheck,
} from "./state.ts";
import { applySignal } from "./transition.ts";

const AT = Date.UTC(2026, 4, 1, 12);
const SEEN: Visibility = { watermarkAt: AT + 1e10, blind: [] };
const minutes = (count: number): Instant => AT + count * MINUTE_MS;

/** Expected at minute 60, with 10 minutes of grace; the last success was at 0. */
function check(rules: Partial<Rules>, state: Partial<CheckState> = {}): WatchedCheck {
  const timing: Timing = {
    kind: "simple",
    timeoutSeconds: 3_600,
    graceSeconds: 600,
    schedule: "",
    tz: "UTC",
    manualResume: false,
    rules: { ...DEFAULT_RULES, ...rules },
  };
  return { timing, state: { ...NEW_STATE, status: "up", lastPingAt: AT, newestAt: AT, ...state } };
}

type Sent = { kind: SignalKind; at: number; rid?: string };

function send(to: WatchedCheck, ...sent: Sent[]) {
  let { state } = to;
  const outcomes = sent.map(({ kind, at, rid = null }) => {
    const signal = { kind, at: minutes(at), rid, replayed: false };
    const outcome = applySignal({ ...to, state }, { signal, visibility: SEEN, rules: { ratePerMinute: 0 } });
    state = outcome.state;
    return outcome;
  });
  const flips = outcomes.flatMap((outcome) =>
    outcome.flips.map(({ to: status, reason }) => [status, reason]),
  );
  return { state, flips, outcomes, last: outcomes.at(-1) };
}

describe("the deadline", () => {
  type Row = [
    string,
    Partial<Rules>,
    Partial<CheckState>,
    { from: number; at: number; cause: string } | null,
  ];
  const row = (from: number, at: number, cause: string) => ({ from, at, cause });
  const started = (at: number): Partial<CheckState> => ({ lastStartAt: minutes(at) });
  const NEW: Partial<CheckState> = { status: "new", lastPingAt: null, lastStartAt: minutes(5) };
  test.each<Row>([
    ["no run", {}, {}, row(60, 70, "missed")],
    ["no run, a limit to start", { startWithinSeconds: 300 }, {}, row(60, 65, "missed")],
    ["no run, a limit for the run", { maxRunSeconds: 7_200 }, {}, row(60, 70, "missed")],
    ["an early run", {}, started(55), row(55, 65, "overrun")],
    ["an early run, a limit to start", { startWithinSeconds: 300 }, started(55), row(55, 65, "overrun")],
    ["a run in time", {}, started(62), row(60, 70, "missed")],
    ["a run in time, a limit to start", { startWithinSeconds: 300 }, started(62), row(60, 70, "missed")],
    ["a run with its own limit", { maxRunSeconds: 7_200 }, started(62), row(62, 182, "overrun")],
    ["an early run with its own limit", { maxRunSeconds: 7_200 }, started(30), row(30, 150, "overrun")],
    ["a run without a limit", { maxRunSeconds: 0 }, started(62), row(122, 132, "missed")],
    [
      "a run without a limit, a limit to start",
      { maxRunSeconds: 0, startWithinSeconds: 300 },
      started(30),
      row(90, 95, "missed"),
    ],
    ["a new check with a run", {}, NEW, row(5, 15, "overrun")],
    ["a new check with a run with its own limit", { maxRunSeconds: 60 }, NEW, row(5, 6, "overrun")],
    ["a new check with a run without a limit", { maxRunSeconds: 0 }, NEW, row(65, 75, "missed")],
  ])("%s", (_, rules, state, expected) => {
    const watched = check(rules, state);
    const deadline = deadlineOf(watched);
    const inMinutes = deadline && {
      from: (deadline.from - AT) / MINUTE_MS,
      at: (deadline.at - AT) / MINUTE_MS,
      cause: deadline.cause,
    };
    expect(inMinutes).toEqual(expected);
    // What is stored says the same without evaluating the schedule.
    const { lastStartAt } = watched.state;
    expect(storedDeadline(watched.timing, { downAt: downAtOf(watched) ?? 0, lastStartAt })).toEqual(deadline);
  });

  test("of a run in a gap of ours excuses it, whichever limit it has", () => {
    for (const maxRunSeconds of [null, 7_200, 0]) {
      const watched = check({ maxRunSeconds }, { lastStartAt: minutes(30) });
      const deadline = deadlineOf(watched);
      const blind = [{ from: (deadline?.from ?? 0) + 1, to: (deadline?.from ?? 0) + 2 }];
      expect(applyDeadline(watched, { ...SEEN, blind })).toMatchObject({ kind: "excused" });
    }
  });
});

describe("a start", () => {
  test("within its limit satisfies the slot, if runs have their own limit", () => {
    const { state, flips } = send(
      check({ startWithinSeconds: 300, maxRunSeconds: 7_200 }),
      { kind: "start", at: 64 },
      { kind: "success", at: 180 },
    );
    expect(flips).toEqual([]);
    expect(state.lastDurationMs).toBe(116 * MINUTE_MS);
  });

  test("after its limit comes too late", () => {
    const rules = { startWithinSeconds: 300, maxRunSeconds: 7_200 };
    expect(send(check(rules), { kind: "start", at: 66 }).flips).toEqual([["down", "timeout"]]);
  });

  test("that replaces a deadline whose outcome is unknown is noted, but not one that stays", () => {
    const rules = [{ maxRunSeconds: 7_200 }, { startWithinSeconds: 300 }, {}];
    const noted = rules.map((some) => {
      const signal = { kind: "start" as const, at: minutes(75), rid: null, replayed: false };
      const visibility = { watermarkAt: minutes(60), blind: [] };
      const outcome = applySignal(check(some), { signal, visibility, rules: { ratePerMinute: 0 } });
      return outcome.notObserved !== null;
    });
    expect(noted).toEqual([true, true, false]);
  });

  test("again makes a run without a limit watched from its own next slot", () => {
    const { state } = send(check({ maxRunSeconds: 0 }), { kind: "start", at: 5 }, { kind: "start", at: 50 });
    expect(deadlineOf({ ...check({ maxRunSeconds: 0 }), state })?.from).toBe(minutes(110));
  });
});

describe("what is shown", () => {
  const at = (rules: Partial<Rules>, start: number | null, now: number) => {
    const watched = check(rules, start === null ? {} : { lastStartAt: minutes(start) });
    const { status, nextPingAt } = viewAt(watched, minutes(now));
    const v1 = viewWithStartedAt(watched, minutes(now)).status;
    return [status, nextPingAt === null ? null : (nextPingAt - AT) / MINUTE_MS, v1];
  };
  test.each<[string, Partial<Rules>, number | null, number, unknown[]]>([
    ["late from the expected time", { startWithinSeconds: 300 }, null, 60, ["grace", 60, "grace"]],
    ["not late before it", { startWithinSeconds: 1_200 }, null, 59, ["up", 60, "up"]],
    ["a limited run is not late in the next slot", { maxRunSeconds: 7_200 }, 55, 65, ["up", 55, "started"]],
    ["a limited run is late after its limit", { maxRunSeconds: 600 }, 20, 31, ["grace", 20, "grace"]],
    ["an unlimited run is late in the next slot", { maxRunSeconds: 0 }, 20, 80, ["grace", 20, "started"]],
    ["an unlimited run is in time before", { maxRunSeconds: 0 }, 20, 79, ["up", 20, "started"]],
    ["a run by the grace period is as ever", {}, 55, 62, ["grace", 55, "started"]],
  ])("%s", (_, rules, start, now, expected) => {
    expect(at(rules, start, now)).toEqual(expected);
  });

  test("stays the same until the given instant", () => {
    for (const rules of [{ maxRunSeconds: 7_200 }, { maxRunSeconds: 0 }, { startWithinSeconds: 300 }]) {
      const watched = check(rules, { lastStartAt: minutes(20) });
      const { status, until } = viewAt(watched, minutes(21));
      expect(viewAt(watched, until - 1).status).toBe(status);
      expect(viewAt(watched, until).status).toBe("grace");
    }
  });
});

describe("a run that breaks a rule", () => {
  test("is logged as a success and takes the check down, because it was too short", () => {
    const { flips, last, state } = send(
      check({ minRunSeconds: 300 }),
      { kind: "start", at: 10 },
      { kind: "success", at: 12 },
    );
    expect(flips).toEqual([["down", "tooFast"]]);
    expect(last).toMatchObject({ recordedAs: "success", run: { outcome: "success" } });
    expect(last?.alerts).toMatchObject([{ kind: "opened", cause: "tooFast" }]);
    expect(state).toMatchObject({ status: "down", lastPingAt: minutes(12), missed: null });
  });

  test("needs its own start to be too short", () => {
    const rules = { minRunSeconds: 300 };
    expect(send(check(rules), { kind: "success", at: 1 }).flips).toEqual([]);
    const other = send(
      check(rules),
      { kind: "start", at: 1, rid: "a" },
      { kind: "success", at: 2, rid: "b" },
    );
    expect(other.flips).toEqual([]);
    expect(send(check(rules), { kind: "start", at: 1 }, { kind: "success", at: 6 }).flips).toEqual([]);
  });

  test("comes too soon after the start of the run before, or after its end if that is all there is", () => {
    const rules = { minGapSeconds: 1_800 };
    const ends = send(check(rules), { kind: "success", at: 10 }, { kind: "success", at: 39 });
    expect(ends.flips).toEqual([["down", "tooOften"]]);
    const apart = send(check(rules), { kind: "success", at: 10 }, { kind: "success", at: 40 });
    expect(apart.flips).toEqual([]);
    const starts = send(
      check(rules),
      { kind: "start", at: 5 },
      { kind: "success", at: 14 },
      { kind: "start", at: 34 },
      { kind: "success", at: 36 },
    );
    expect(starts.flips).toEqual([["down", "tooOften"]]);
    expect(starts.last?.alerts).toMatchObject([{ kind: "opened", cause: "tooOften" }]);
  });

  test("once per duplicate: judged at the end, and a later run in order recovers", () => {
    const { flips } = send(
      check({ minGapSeconds: 1_800 }),
      { kind: "start", at: 10, rid: "a" },
      { kind: "start", at: 11, rid: "b" },
      { kind: "success", at: 20, rid: "a" },
      { kind: "success", at: 21, rid: "b" },
      { kind: "success", at: 60 },
    );
    expect(flips).toEqual([
      ["down", "tooOften"],
      ["up", "success"],
    ]);
  });

  test("counts as a failed run", () => {
    const rules = { minRunSeconds: 300, failures: { count: 2, of: 2 } };
    const { outcomes } = send(
      check(rules),
      { kind: "start", at: 10 },
      { kind: "success", at: 11 },
      { kind: "start", at: 20 },
      { kind: "success", at: 21 },
    );
    expect(outcomes.flatMap(({ alerts }) => alerts)).toMatchObject([{ at: minutes(21), cause: "tooFast" }]);
  });
});
