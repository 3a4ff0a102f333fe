// Runs every cell of the state table through the rules, so that docs/contribute/state-machine.md stays correct.
import { describe, expect, test } from "vitest";
import { applyDeadline, type DeadlineOutcome, type Visibility } from "./deadline.ts";
import { type Instant, MINUTE_MS } from "./instant.ts";
import {
  type Cell,
  isCell,
  OTHER_EVENTS,
  type OtherEvent,
  renderStateTable,
  SIGNAL_TIMINGS,
  SIGNALS,
  type SignalTiming,
  type Situation,
  SITUATIONS,
  STATE_TABLE,
} from "./state-table.ts";
import { DEFAULT_RULES } from "./rules.ts";
import {
  type CheckState,
  deadlineOf,
  type Flip,
  NEW_STATE,
  type Timing,
  type WatchedCheck,
} from "./state.ts";
import { applySignal, type Outcome, pause, resume } from "./transition.ts";

const PING_AT = 1_000_000 * MINUTE_MS;
const RUN_AT = PING_AT + 5 * MINUTE_MS;
const FAR_AT = PING_AT + 1_000_000 * MINUTE_MS;
const TIMING: Timing = {
  kind: "simple",
  timeoutSeconds: 3600,
  graceSeconds: 600,
  schedule: "",
  tz: "UTC",
  manualResume: false,
  rules: null,
};
/** Two failures, two missed runs or two successes in a row. */
const TOLERANT: Timing = {
  ...TIMING,
  rules: { ...DEFAULT_RULES, failures: { count: 2, of: 2 }, missed: 2, recovery: 2 },
};
const JUDGED = { missed: 0, runBeganAt: null, chain: null };
const RULES = { ratePerMinute: 60 };
const CLEAR: Visibility = { watermarkAt: FAR_AT, blind: [] };

/** A check in this situation, with its last success, failure or command at PING_AT. */
function checkIn(situation: Situation, running: boolean): WatchedCheck {
  const run = running ? { lastStartAt: RUN_AT, newestAt: RUN_AT } : {};
  const known = { ...NEW_STATE, lastPingAt: PING_AT, newestAt: PING_AT };
  const commanded = { ...NEW_STATE, commandAt: PING_AT, newestAt: PING_AT };
  const up: WatchedCheck = { timing: TIMING, state: { ...known, ...run, status: "up" } };
  switch (situation) {
    case "new":
      return { timing: TIMING, state: { ...commanded, ...run } };
    case "up":
      return up;
    case "down by failure":
      return { timing: TIMING, state: { ...known, ...run, status: "down" } };
    case "down by missed deadline": {
      const outcome = applyDeadline(up, CLEAR);
      if (outcome.kind !== "fired") throw new Error("the deadline must fire");
      return { timing: TIMING, state: outcome.state };
    }
    case "down, tolerated": {
      const judged = { ...JUDGED, outcomes: 0b1, problem: "tolerated" as const };
      return { timing: TOLERANT, state: { ...known, ...run, status: "down", judged } };
    }
    case "up, recovering": {
      const judged = { ...JUDGED, outcomes: 0b10, problem: "recovering" as const };
      return { timing: TOLERANT, state: { ...known, ...run, status: "up", judged } };
    }
    case "paused":
      return { timing: TIMING, state: { ...commanded, ...run, status: "paused" } };
    case "paused, manual resume":
      return {
        timing: { ...TIMING, manualResume: true },
        state: { ...commanded, ...run, status: "paused" },
      };
  }
}

/** Receive time and visibility for a signal with the given timing; null if there is no deadline to pass. */
function momentOf(check: WatchedCheck, timing: SignalTiming): { at: Instant; visibility: Visibility } | null {
  const deadlineAt = deadlineOf(check)?.at ?? null;
  const missedAt = check.state.missed?.deadlineAt ?? null;
  switch (timing) {
    case "in time":
      return { at: deadlineAt ?? (missedAt ?? RUN_AT) + MINUTE_MS, visibility: CLEAR };
    case "past, seen":
      return deadlineAt === null ? null : { at: deadlineAt + 1, visibility: CLEAR };
    case "past, unseen":
      return deadlineAt === null
        ? null
        : { at: deadlineAt + 1, visibility: { watermarkAt: deadlineAt, blind: [] } };
    case "late":
      return { at: missedAt ?? PING_AT - 1, visibility: CLEAR };
  }
}

type Told = {
  before: CheckState;
  after: CheckState;
  flips?: Outcome["flips"];
  alerts?: Outcome["alerts"];
  retracted?: boolean;
  repeated?: boolean;
  notObserved?: boolean;
  notice?: boolean;
};

/** What happened, in the table's notation. */
function cellOf({ before, after, flips = [], alerts = [], ...told }: Told): Cell {
  const { retracted, repeated, notObserved, notice } = told;
  if (sameButForTheLog(before, after) && flips.length === 0 && !notice && !notObserved) return "=";
  const notified = alerts.filter(({ cause }) => cause !== "takenBack" && cause !== "paused");
  const marked = (flip: Flip | null) => (notified.some((change) => change.flip === flip) ? "!" : "");
  const arrows = flips.map((flip) => (flip.to === "up" ? "↑" : "↓") + marked(flip)).join("") + marked(null);
  const status = after.status + (after.lastStartAt === null ? "" : "*");
  const marks = [retracted ? "⤺" : "", repeated ? "+" : "", notObserved ? "?" : "", notice ? "✉" : ""];
  return [status, arrows, ...marks].filter((part) => part !== "").join(" ");
}

function sameButForTheLog(before: CheckState, after: CheckState): boolean {
  const { newestAt, pingCount, rateMinuteAt, rateCount } = before;
  const rest = { ...after, newestAt, pingCount, rateMinuteAt, rateCount };
  return JSON.stringify(rest) === JSON.stringify(before);
}

function firedBy({ flip, alerts }: Extract<DeadlineOutcome, { kind: "fired" }>) {
  return { flips: flip === null ? [] : [flip], alerts, repeated: flip === null };
}

function happens(check: WatchedCheck, event: OtherEvent): Cell {
  const before = check.state;
  if (event === "pause") {
    const outcome = pause(check, { at: RUN_AT + 1, visibility: CLEAR });
    return cellOf({ before, after: outcome.state, flips: outcome.flips, alerts: outcome.alerts });
  }
  if (event === "resume") {
    const outcome = resume(check, { at: RUN_AT + 1, visibility: CLEAR });
    return outcome === null ? "✗" : cellOf({ before, after: outcome.state, flips: outcome.flips });
  }
  const deadline = deadlineOf(check);
  const hidden = deadline === null ? [] : [{ from: deadline.from + 1, to: deadline.from + 2 }];
  const outcome = applyDeadline(check, event === "deadline" ? CLEAR : { ...CLEAR, blind: hidden });
  switch (outcome.kind) {
    case "none":
      return "–";
    case "waits":
      throw new Error("the watermark is far ahead, so nothing waits");
    case "fired":
      return cellOf({ before, after: outcome.state, ...firedBy(outcome) });
    case "excused":
      return cellOf({ before, after: outcome.state, notice: true });
  }
}

const rows = SITUATIONS.flatMap((situation) =>
  (["idle", "running"] as const).map((run) => ({ situation, run, row: STATE_TABLE[situation][run] })),
);

describe.each(rows)("a check that is $situation, $run", ({ situation, run, row }) => {
  const cells = (Object.keys(SIGNAL_TIMINGS) as SignalTiming[]).flatMap((timing) =>
    SIGNALS.map((kind, column) => ({ kind, timing, expected: row[timing][column] })),
  );
  test.each(cells)("signal $kind $timing: $expected", ({ kind, timing, expected }) => {
    const check = checkIn(situation, run === "running");
    const moment = momentOf(check, timing);
    if (moment === null) {
      expect(expected).toBe("–");
      return;
    }
    const { at, visibility } = moment;
    const signal = { kind, at, rid: null, replayed: timing === "late" };
    const outcome = applySignal(check, { signal, visibility, rules: RULES });
    expect(
      cellOf({
        before: check.state,
        after: outcome.state,
        flips: outcome.flips,
        alerts: outcome.alerts,
        repeated: outcome.repeated.length > 0,
        retracted: outcome.retractedAt !== null,
        notObserved: outcome.notObserved !== null,
        notice: outcome.notices.length > 0,
      }),
    ).toBe(expected);
    expect(outcome.state.pingCount).toBe(check.state.pingCount + 1);
  });
  test.each(Object.keys(OTHER_EVENTS) as OtherEvent[])("%s", (event) => {
    expect(happens(checkIn(situation, run === "running"), event)).toBe(row[event]);
  });
});

describe("the table itself", () => {
  const every = rows.flatMap(({ row }) => Object.values(row).flat());

  test("has no empty cell and no cell outside its notation", () => {
    expect(every).toHaveLength(SITUATIONS.length * 2 * (4 * SIGNALS.length + 4));
    expect(every.filter((cell) => !isCell(cell))).toEqual([]);
  });

  test("would notice an empty or misspelt cell", () => {
    expect(["", "upp", "up ↑↑↑", "down !!"].filter(isCell)).toEqual([]);
  });

  test("is printed whole", () => {
    const printed = renderStateTable();
    for (const name of [
      "new",
      "down (failure)",
      "down (missed deadline)",
      "down, tolerated",
      "paused, manual resume",
    ])
      expect(printed).toContain(`| ${name}, running |`);
    expect(printed.split("\n").filter((line) => line.startsWith("| "))).toHaveLength(5 * 17);
  });
});
