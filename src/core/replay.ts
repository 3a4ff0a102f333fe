// Simulates other settings on the recorded runs, for users who change a schedule, a grace time, a threshold or a limit.
import type { AlertCause, AlertChange } from "./alert.ts";
import { passDeadlines, type Visibility } from "./deadline.ts";
import { type Instant, type Interval, MINUTE_MS, SECOND_MS } from "./instant.ts";
import { PERIOD_SECONDS_MAX, PERIOD_SECONDS_MIN } from "./limits.ts";
import { dueAfter } from "./run.ts";
import type { Signal } from "./signal.ts";
import {
  type CheckState,
  type Flip,
  type FlipReason,
  graceMs,
  NEW_STATE,
  runLimitMs,
  startLimitMs,
  type Timing,
} from "./state.ts";
import { applySignal } from "./transition.ts";

/** A recorded run. Without a start signal only its end is known. */
export type HistoricRun = { startAt: Instant | null; endAt: Instant; outcome: "success" | "fail" };

/** Recorded runs, oldest end first, and blind intervals. */
export type History = { runs: readonly HistoricRun[]; blind: readonly Interval[]; toAt: Instant };

/** An alert that would have been opened, and until when. */
export type ReplayedAlert = { at: Instant; reason: FlipReason; untilAt: Instant | null };

/** The same with its cause, and with the next success, which may be earlier than the end. */
type DetailedAlert = ReplayedAlert & { cause: AlertCause; answeredAt: Instant | null };

export type Comparison = {
  before: readonly ReplayedAlert[];
  after: readonly ReplayedAlert[];
  /** Correct alerts under the old settings: a failure, or a missing run. */
  realCount: number;
  /** Of these, alerts that the new settings would have missed. */
  missedCount: number;
  /** The shortest grace under which the new schedule raises only correct alerts; null: there is none. */
  quietGraceSeconds: number | null;
};

/** Minimum number of runs for proposing a shorter grace. */
const RUNS_TO_SHORTEN = 30;

/** The grace to propose; null: no better one. */
export function graceToPropose(
  { graceSeconds }: Pick<Timing, "graceSeconds">,
  { quietGraceSeconds: quiet, runCount }: Pick<Comparison, "quietGraceSeconds"> & { runCount: number },
): number | null {
  if (quiet === null || quiet === graceSeconds) return null;
  return quiet > graceSeconds || runCount >= RUNS_TO_SHORTEN ? quiet : null;
}

/** No rate limit. */
const NO_RATE = { ratePerMinute: Number.POSITIVE_INFINITY };

/**
 * The alerts that the history would have raised with the given settings.
 *
 * @internal Only tests use it.
 */
export function replayHistory(timing: Timing, history: History): ReplayedAlert[] {
  return plain(replayDetailed(timing, history));
}

function plain(alerts: readonly DetailedAlert[]): ReplayedAlert[] {
  return alerts.map(({ at, reason, untilAt }) => ({ at, reason, untilAt }));
}

function replayDetailed(timing: Timing, history: History): DetailedAlert[] {
  const visibility: Visibility = { watermarkAt: history.toAt, blind: history.blind };
  let state: CheckState = NEW_STATE;
  const flips: Flip[] = [];
  const changes: AlertChange[] = [];
  for (const signal of signalsOf(history.runs)) {
    const outcome = applySignal({ timing, state }, { signal, visibility, rules: NO_RATE });
    flips.push(...outcome.flips);
    changes.push(...outcome.alerts);
    state = outcome.state;
  }
  const passed = passDeadlines({ timing, state }, { visibility, beforeAt: history.toAt });
  return alertsOf({ flips: [...flips, ...passed.flips], changes: [...changes, ...passed.alerts] });
}

/** Compares the alerts of old and new settings. */
export function compareSettings(
  { before, after }: { before: Timing; after: Timing },
  history: History,
): Comparison {
  const alerts = replayDetailed(before, history);
  const real = alerts.filter((alert) => isReal(before, alert));
  const wouldNotify = replayDetailed(after, history);
  const isCovered = coverOf(wouldNotify);
  const missed = real.filter((alert) => !isCovered(alert));
  return {
    before: plain(alerts),
    after: plain(wouldNotify),
    realCount: real.length,
    missedCount: missed.length,
    quietGraceSeconds: quietGrace(after, { history, real }),
  };
}

/** Each run has its own ID here, so that overlapping runs stay separate. */
function signalsOf(runs: readonly HistoricRun[]): Signal[] {
  const signals = runs.flatMap(({ startAt, endAt, outcome }, index): Signal[] => {
    const rid = String(index);
    const end: Signal = { kind: outcome, at: endAt, rid: startAt === null ? null : rid, replayed: false };
    return startAt === null ? [end] : [{ kind: "start", at: startAt, rid, replayed: false }, end];
  });
  return signals.toSorted((one, other) => one.at - other.at);
}

const REASONS: Readonly<Record<AlertCause, FlipReason>> = {
  failed: "fail",
  missed: "timeout",
  overrun: "timeout",
  tooFast: "tooFast",
  tooOften: "tooOften",
};

/** Both in order of time. */
function alertsOf({
  flips,
  changes,
}: {
  flips: readonly Flip[];
  changes: readonly AlertChange[];
}): DetailedAlert[] {
  const alerts: DetailedAlert[] = [];
  const successes = flips.filter(({ to }) => to === "up").map(({ at }) => at);
  let next = 0;
  for (const change of changes) {
    const { at } = change;
    if (change.kind === "closed") {
      const open = alerts.at(-1);
      if (open !== undefined) open.untilAt = at;
      continue;
    }
    while (next < successes.length && (successes[next] ?? 0) < at) next += 1;
    const { cause } = change;
    const answeredAt = successes[next] ?? null;
    alerts.push({ at, reason: REASONS[cause], untilAt: null, cause, answeredAt });
  }
  return alerts;
}

/**
 * A failure is one, and so are several missed runs. A missing ping is one if a run was skipped: the ping that finally arrived was closer to the next
 * run than to the missing one, and arrived after another run was due or more than another grace period after the
 * alert. Without the second condition, every late run would count if the grace period is longer than half the period.
 */
function isReal(timing: Timing, { at, reason, cause, answeredAt }: DetailedAlert): boolean {
  if (reason !== "timeout" || answeredAt === null || (timing.rules?.missed ?? 1) > 1) return true;
  const limitMs = cause === "overrun" ? runLimitMs(timing) : startLimitMs(timing);
  const dueAt = at - limitMs;
  const nextDueAt = dueAfter(timing, dueAt);
  if (nextDueAt === null || answeredAt - dueAt <= nextDueAt - answeredAt) return false;
  if (answeredAt - at > limitMs) return true;
  const laterDueAt = dueAfterAlert(timing, { at, dueAt, periodMs: nextDueAt - dueAt });
  return laterDueAt !== null && laterDueAt <= answeredAt;
}

/** Whether a longer grace period would have prevented an alert. */
function isByGrace({ rules }: Timing, { cause }: DetailedAlert): boolean {
  if (cause === "overrun") return (rules?.maxRunSeconds ?? null) === null;
  return cause === "missed" && (rules?.startWithinSeconds ?? null) === null;
}

/** The first time after an alert at which a run was due, if the runs had followed their schedule. */
function dueAfterAlert(
  timing: Timing,
  { at, dueAt, periodMs }: { at: Instant; dueAt: Instant; periodMs: number },
): Instant | null {
  if (timing.kind !== "simple") return dueAfter(timing, at);
  return dueAt + (Math.floor((at - dueAt) / periodMs) + 1) * periodMs;
}

/**
 * Returns whether the check would have been down at some time during an alert. Uses binary search: for two weeks of a
 * job that fails every minute, comparing all pairs would block the process for seconds.
 */
function coverOf(alerts: readonly ReplayedAlert[]): (alert: ReplayedAlert) => boolean {
  const latestEnds: number[] = [];
  for (const { untilAt } of alerts) {
    latestEnds.push(Math.max(latestEnds.at(-1) ?? 0, untilAt ?? Number.POSITIVE_INFINITY));
  }
  return ({ at, untilAt }) => {
    const end = untilAt ?? Number.POSITIVE_INFINITY;
    let [low, high] = [0, alerts.length];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((alerts[middle]?.at ?? end) < end) low = middle + 1;
      else high = middle;
    }
    return (latestEnds[low - 1] ?? 0) > at;
  };
}

/** With the shortest grace period, every late run shows how late it was; longer ones are not late runs. */
function quietGrace(
  timing: Timing,
  { history, real }: { history: History; real: readonly ReplayedAlert[] },
): number | null {
  const strict = { ...timing, graceSeconds: PERIOD_SECONDS_MIN };
  const late = replayDetailed(strict, history).filter(
    (alert) => !isReal(strict, alert) && isByGrace(strict, alert),
  );
  const neededMs = late.map(({ at, answeredAt }) => (answeredAt ?? at) - at + graceMs(strict));
  const longestMs = Math.max(PERIOD_SECONDS_MIN * SECOND_MS, ...neededMs);
  const graceSeconds = (Math.ceil(longestMs / MINUTE_MS) * MINUTE_MS) / SECOND_MS;
  if (graceSeconds > PERIOD_SECONDS_MAX) return null;
  const quiet = { ...timing, graceSeconds };
  const alerts = replayDetailed(quiet, history);
  const isQuiet = alerts.every((alert) => isReal(quiet, alert));
  return isQuiet && real.every(coverOf(alerts)) ? graceSeconds : null;
}
