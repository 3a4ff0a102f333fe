// What signals, pause and resume do to the state of a check. Pure functions: the caller stores the result.
// state-table.ts lists all transitions.
import type { AlertCause, AlertChange, CloseCause } from "./alert.ts";
import {
  extendedDeadline,
  fireDeadline,
  nonePassed,
  type Notice,
  passDeadlines,
  type PassedDeadlines,
  type Visibility,
} from "./deadline.ts";
import { DAY_MS, type Instant, MINUTE_MS, SECOND_MS } from "./instant.ts";
import { LATE_END_DAYS_MAX } from "./limits.ts";
import type { Signal, SignalKind } from "./signal.ts";
import {
  type CheckState,
  type Deadline,
  deadlineOf,
  type Flip,
  type FlipReason,
  graceMs,
  ignoresSignals,
  isAlertOpen,
  type Missed,
  runLimitMs,
  type Timing,
  type WatchedCheck,
} from "./state.ts";
import {
  alertChanges,
  judgedBefore,
  judgedResolved,
  judgedUnder,
  judgeFailure,
  judgeSuccess,
  NO_ALERTS,
} from "./tolerance.ts";

/** A run that a signal ended. Without a start signal, only its end is known. */
export type Run = {
  startAt: Instant | null;
  endAt: Instant;
  outcome: "success" | "fail";
  durationMs: number | null;
};

export type Outcome = {
  state: CheckState;
  recordedAs: SignalKind;
  /** The time to log. A direct signal is never older than signals applied before it. */
  at: Instant;
  /** Number of the log row; null if the signal was coalesced. */
  n: number | null;
  /** Replayed or reported after something newer was applied: logged, without effect on the status of the check. */
  late: boolean;
  flips: readonly Flip[];
  /** Changes of the alert, in order. */
  alerts: readonly AlertChange[];
  /** Deadline of the flip that this signal retracts, if any. */
  retractedAt: Instant | null;
  notices: readonly Notice[];
  /** Deadlines that passed while the check was down. */
  repeated: readonly Deadline[];
  /**
   * A deadline passed while its outcome was unknown, and the job has pinged since: no alert, but an event in
   * the history.
   */
  notObserved: Deadline | null;
  run: Run | null;
};

export type SignalRules = { ratePerMinute: number };

/**
 * Start and end of a run arrive on separate connections, so they can be out of order by seconds, not by many
 * runs.
 */
const ENDED_RIDS_MAX = 8;

/** Applies one signal to a check. */
export function applySignal(
  check: WatchedCheck,
  { signal, visibility, rules }: { signal: Signal; visibility: Visibility; rules: SignalRules },
): Outcome {
  const kind = acceptsSignal(check, signal) ? signal.kind : "ign";
  const newestAt = check.state.newestAt ?? signal.at;
  const at = signal.replayed ? signal.at : Math.max(signal.at, newestAt);
  const { rid } = signal;
  const lateEnd = kind === "success" || kind === "fail" ? (signal.lateEnd ?? null) : null;
  const isTooLate = lateEnd !== null && at - lateEnd.endedAt > LATE_END_DAYS_MAX * DAY_MS;
  const acts = isTooLate || (kind === "start" && hasEnded(check.state, rid)) ? "log" : kind;
  // Whether it was in time depends on when it was received, whatever has been applied since.
  const passed = passBefore(check, { kind: acts, at: signal.at, visibility });
  const applied: AppliedSignal =
    lateEnd === null
      ? { kind: acts, at, endAt: at, rid, ranMs: null, isLateEnd: false }
      : { kind: acts, at, endAt: Math.min(lateEnd.endedAt, at), rid, ranMs: lateEnd.ranMs, isLateEnd: true };
  const effect = takeEffect({ timing: check.timing, state: passed.state }, applied, visibility);
  const flips = [...passed.flips, ...effect.flips];
  const alerts = passed.alerts.length === 0 ? effect.alerts : [...passed.alerts, ...effect.alerts];
  const changes =
    flips.length + alerts.length > 0 ||
    effect.retractedAt !== null ||
    (effect.run?.durationMs ?? null) !== null;
  const counted = countSignal(effect.state, { at, perMinute: rules.ratePerMinute });
  const coalesced = counted.isOver && !changes && kind !== "start" && kind !== "fail" && lateEnd === null;
  const state = {
    ...counted.state,
    newestAt: Math.max(newestAt, at),
    endedRids: endedAfter(counted.state.endedRids, applied),
    pingCount: counted.state.pingCount + 1,
    coalescedCount: counted.state.coalescedCount + (coalesced ? 1 : 0),
  };
  return {
    state,
    recordedAs: kind,
    at,
    n: coalesced ? null : state.pingCount,
    late: effect.late || isTooLate,
    flips,
    alerts,
    retractedAt: effect.retractedAt,
    notices: passed.notices,
    repeated: passed.repeated,
    // A late end can leave the deadline as it is.
    notObserved: lateEnd === null ? passed.unobserved : null,
    run: effect.run,
  };
}

/** A check paused with manual resume ignores signals, except those received before the pause. */
function acceptsSignal(check: WatchedCheck, signal: Signal): boolean {
  return !ignoresSignals(check) || (signal.replayed && signal.at < (check.state.commandAt ?? -Infinity));
}

function hasEnded({ endedRids }: CheckState, rid: string | null): boolean {
  return rid !== null && endedRids.includes(rid);
}

function endedAfter(endedRids: readonly string[], { kind, rid }: AppliedSignal): readonly string[] {
  if (rid === null || (kind !== "success" && kind !== "fail") || endedRids.includes(rid)) return endedRids;
  return [...endedRids, rid].slice(-ENDED_RIDS_MAX);
}

/** Applies a batch of signals to one check, in order. */
export function applySignals(
  check: WatchedCheck,
  { signals, visibility, rules }: { signals: readonly Signal[]; visibility: Visibility; rules: SignalRules },
): { state: CheckState; outcomes: readonly Outcome[] } {
  let state = check.state;
  const outcomes: Outcome[] = [];
  for (const signal of signals) {
    const outcome = applySignal({ timing: check.timing, state }, { signal, visibility, rules });
    outcomes.push(outcome);
    state = outcome.state;
  }
  return { state, outcomes };
}

/**
 * Deadlines before the signal are applied first, so that the result does not depend on whether the sweeper or
 * the signal comes first. If the outcome of a deadline is unknown, it does not fire: the job has pinged
 * again, and the alert might be false.
 */
function passBefore(
  check: WatchedCheck,
  { kind, at, visibility }: { kind: SignalKind; at: Instant; visibility: Visibility },
): PassedDeadlines {
  if (kind === "log" || kind === "ign") return nonePassed(check.state);
  const passed = passDeadlines(check, { visibility, beforeAt: at });
  const { unobserved } = passed;
  if (kind !== "start" || unobserved === null || startReplaces(unobserved, check.timing)) return passed;
  return { ...passed, unobserved: null };
}

/**
 * Whether a start replaces a deadline. It always replaces an older run. Under the default rules it does not replace a
 * missing success, which is left to the sweeper.
 */
function startReplaces({ cause, from, at }: Deadline, timing: Timing): boolean {
  if (cause === "overrun" || (timing.rules?.maxRunSeconds ?? null) !== null) return true;
  return at !== from + graceMs(timing);
}

type Effect = {
  state: CheckState;
  flips: readonly Flip[];
  alerts: readonly AlertChange[];
  late: boolean;
  retractedAt: Instant | null;
  run: Run | null;
};
/** A signal with the kind and times that apply to the check. */
type AppliedSignal = {
  kind: SignalKind;
  at: Instant;
  /** When the run ended; before `at` only for a late end. */
  endAt: Instant;
  rid: string | null;
  /** Duration of the run as reported by a late end. */
  ranMs: number | null;
  isLateEnd: boolean;
};

function takeEffect(check: WatchedCheck, signal: AppliedSignal, visibility: Visibility): Effect {
  const { state } = check;
  const unchanged = { state, flips: [], alerts: NO_ALERTS, late: false, retractedAt: null, run: null };
  if (signal.kind === "log" || signal.kind === "ign") return unchanged;
  // Compared with what determined the status, not with the newest log entry: a success that was received in
  // time must prevent its alert even if a start was applied before it.
  const decidedAt = Math.max(state.lastPingAt ?? -Infinity, state.commandAt ?? -Infinity);
  if (signal.endAt < decidedAt) return overtaken(check, { unchanged, signal, visibility });
  // Under the default rules, a start satisfies no deadline.
  const answers = signal.kind !== "start" || check.timing.rules !== null;
  if (answers && state.missed !== null && signal.at <= Math.max(...missedInARow(state, state.missed))) {
    return takeBack(check, { signal, missed: state.missed, visibility });
  }
  return signal.isLateEnd ? completeLate(check, signal, visibility) : applyNow(check, signal, visibility);
}

function applyNow(check: WatchedCheck, signal: AppliedSignal, visibility: Visibility): Effect {
  return signal.kind === "start" ? begin(check.state, signal) : complete(check, signal, visibility);
}

/**
 * Too late to change the status, but the run took place. If it is the run in progress, it has ended, and an
 * alert about its overrun is retracted.
 */
function overtaken(
  { timing, state }: WatchedCheck,
  { unchanged, signal, visibility }: { unchanged: Effect; signal: AppliedSignal; visibility: Visibility },
): Effect {
  const { kind, at, endAt, ranMs } = signal;
  if (kind === "start") return { ...unchanged, late: true };
  const outcome = kind === "fail" ? "fail" : "success";
  const startAt = ranMs === null ? null : endAt - ranMs;
  const late = { ...unchanged, late: true, run: { startAt, endAt, outcome, durationMs: ranMs } as const };
  if (!endsRun(state, signal)) return late;
  const ended = { ...state, lastStartAt: null, lastStartRid: null };
  const { missed } = state;
  if (missed === null) return { ...late, state: ended };
  const isInTime = at <= Math.min(...missedInARow(state, missed));
  const isRecovery = signal.isLateEnd && missed.from === "up";
  if (!isInTime && !isRecovery) return { ...late, state: ended };
  const before = beforeMissed(ended, missed);
  const next = extendedDeadline({ timing, state: before }, visibility.blind);
  const standsAnyway = next !== null && next.firesAt <= (isInTime ? missed.deadlineAt : at);
  if (standsAnyway) return { ...late, state: ended };
  if (isInTime) {
    return { ...late, state: before, retractedAt: flipAt(missed), alerts: takenBack({ state, before, at }) };
  }
  const flip: Flip = { at, from: "down", to: "up", reason: "success" };
  const change = { at, flip, opens: "failed", closes: "recovered" } as const;
  return {
    ...late,
    state: before,
    flips: [flip],
    alerts: alertChanges({ before: state, after: before }, change),
  };
}

/** A run begins. Only the newest start counts. */
function begin(state: CheckState, { at, rid }: AppliedSignal): Effect {
  const effect = { flips: [], alerts: NO_ALERTS, retractedAt: null, run: null };
  if (state.lastStartAt !== null && at < state.lastStartAt) return { ...effect, state, late: true };
  return { ...effect, state: { ...state, lastStartAt: at, lastStartRid: rid }, late: false };
}

/**
 * A late success recovers the check only if nothing is overdue since then. A check that is down stays so without a
 * change, and one that is not goes down by its deadline. A late failure has the effect of any other.
 */
function completeLate(check: WatchedCheck, signal: AppliedSignal, visibility: Visibility): Effect {
  const effect = complete(check, signal, visibility);
  if (effect.state.status !== "up") return effect;
  const since = passDeadlines(
    { timing: check.timing, state: effect.state },
    { visibility: { watermarkAt: Infinity, blind: visibility.blind }, beforeAt: signal.at },
  );
  const isBeforeOverrun = !endsRun(check.state, signal) && signal.endAt < overrunFrom(check);
  const isOverdue = since.state.status === "down" || isBeforeOverrun;
  if (!isOverdue) return effect;
  if (check.state.status !== "down") return { ...effect, flips: [] };
  const { lastPingAt, lastDurationMs, lastStartAt, lastStartRid } = effect.state;
  const { missed } = check.state;
  // Before the deadline it was up, as is known now.
  const wasUp = missed !== null && missed.from !== "down" && signal.endAt <= missed.deadlineAt;
  const state: CheckState = {
    ...check.state,
    lastPingAt,
    lastDurationMs,
    lastStartAt,
    lastStartRid,
    missed: wasUp ? { ...missed, from: "up" } : missed,
  };
  return { ...effect, state, flips: [], alerts: NO_ALERTS };
}

/** When the run began that took the check down and was replaced by a newer start; -Infinity if there is none. */
function overrunFrom({ timing, state }: WatchedCheck): Instant {
  const { missed, lastStartAt } = state;
  if (missed === null || lastStartAt === null || lastStartAt <= missed.deadlineAt) return -Infinity;
  const before = { ...beforeMissed(state, missed), ...NO_RUN };
  const isSlotMissed = deadlineOf({ timing, state: before })?.at === missed.deadlineAt;
  return isSlotMissed ? -Infinity : missed.deadlineAt - runLimitMs(timing);
}

/** A success or failure: sets the status, and ends the run that it belongs to. */
function complete({ timing, state }: WatchedCheck, signal: AppliedSignal, { blind }: Visibility): Effect {
  const { at, endAt, ranMs, isLateEnd } = signal;
  const ended = endsRun(state, signal);
  const { lastStartAt, expectFromAt } = state;
  const measured = ended && lastStartAt !== null && lastStartAt <= endAt && signal.rid === state.lastStartRid;
  const startAt = ranMs !== null ? endAt - ranMs : measured ? lastStartAt : null;
  const durationMs = startAt === null ? null : endAt - startAt;
  const reason = signal.kind === "fail" ? "fail" : judgeRun({ timing, state }, { startAt, endAt });
  const to = reason === "success" ? "up" : "down";
  const judge = to === "up" ? judgeSuccess : judgeFailure;
  const completed: CheckState = {
    ...state,
    status: to,
    lastPingAt: endAt,
    lastDurationMs: durationMs,
    expectFromAt: isLateEnd && expectFromAt !== null && expectFromAt > endAt ? expectFromAt : null,
    missed: null,
    judged: judge(state, timing.rules, startAt ?? endAt),
    ...(ended ? NO_RUN : {}),
  };
  const after = isRunMissed(timing, { before: state, completed }, blind)
    ? { ...completed, ...NO_RUN }
    : completed;
  const flip: Flip | null = state.status === to ? null : { at, from: state.status, to, reason };
  const opens = reason === "tooFast" || reason === "tooOften" ? reason : "failed";
  return {
    state: after,
    flips: flip === null ? [] : [flip],
    alerts: alertChanges({ before: state, after }, { at, flip, opens, closes: "recovered" }),
    late: false,
    retractedAt: null,
    run: { startAt, endAt, outcome: signal.kind === "fail" ? "fail" : "success", durationMs },
  };
}

/** Whether the success of a run counts: it is a failure if the run breaks a rule. */
function judgeRun(
  { timing, state }: WatchedCheck,
  { startAt, endAt }: { startAt: Instant | null; endAt: Instant },
): Exclude<FlipReason, "fail" | "timeout"> {
  const { minRunSeconds = null, minGapSeconds = null } = timing.rules ?? {};
  if (minRunSeconds !== null && startAt !== null && endAt - startAt < minRunSeconds * SECOND_MS) {
    return "tooFast";
  }
  const previousAt = state.judged?.runBeganAt ?? null;
  const isTooOften =
    minGapSeconds !== null &&
    previousAt !== null &&
    (startAt ?? endAt) - previousAt < minGapSeconds * SECOND_MS;
  return isTooOften ? "tooOften" : "success";
}

/**
 * A failure, or a success without a run id, ends any run; a success with a run id ends only that run. A start
 * newer than the signal has not ended, unless it has the same run id.
 */
function endsRun({ lastStartAt, lastStartRid }: CheckState, { kind, endAt, rid }: AppliedSignal): boolean {
  if (lastStartAt === null) return false;
  if (lastStartAt > endAt) return rid !== null && rid === lastStartRid;
  return kind === "fail" || rid === null || rid === lastStartRid;
}

const NO_RUN = { lastStartAt: null, lastStartRid: null };

/**
 * Whether a run that continues after a success of another one was missed before: it took the check down, or overran
 * while it was down. It must not take the check down now.
 */
function isRunMissed(
  timing: Timing,
  { before, completed }: { before: CheckState; completed: CheckState },
  blind: Visibility["blind"],
): boolean {
  const { lastStartAt, lastPingAt } = completed;
  if (before.status !== "down" || lastStartAt === null) return false;
  const { missed } = before;
  if (missed !== null) {
    const missedAt = Math.max(...missedInARow(before, missed));
    // The run went on after a late end.
    if (lastPingAt !== null && lastPingAt <= missedAt) return false;
    if (lastStartAt <= missedAt) return true;
  }
  const next = extendedDeadline({ timing, state: completed }, blind);
  if (next === null || next.isBlindNow || next.deadline.cause !== "overrun") return false;
  return next.firesAt < (lastPingAt ?? -Infinity);
}

/** The missed deadlines in a row. Under the default rules there is one. */
function missedInARow({ judged }: CheckState, { deadlineAt }: Missed): readonly Instant[] {
  return judged?.chain?.deadlines.map(({ at }) => at) ?? [deadlineAt];
}

/** When the flip of a missed deadline happened; null if the check was down before. */
function flipAt({ deadlineAt, from }: Missed): Instant | null {
  return from === "down" ? null : deadlineAt;
}

/** The state before the first of the missed deadlines in a row. */
function beforeMissed(state: CheckState, { from }: Missed): CheckState {
  const { judged } = state;
  const problem = from === "down" ? "tolerated" : judged?.problem === "recovering" ? "recovering" : null;
  return {
    ...state,
    status: from,
    missed: null,
    judged: judgedBefore(judged, { count: judged?.missed ?? 0, problem }),
    expectFromAt: judged?.chain ? judged.chain.expectFromAt : state.expectFromAt,
  };
}

/** The state after so many of the missed deadlines in a row, which were tolerated. */
function afterMissed(state: CheckState, count: number): CheckState {
  const { judged } = state;
  return {
    ...state,
    judged: judgedBefore(judged, { count: (judged?.missed ?? 0) - count, problem: "tolerated" }),
    expectFromAt: judged?.chain?.deadlines[count - 1]?.expectFromAt ?? null,
  };
}

/** An alert that was opened by missed deadlines which are taken back is closed. */
function takenBack({
  state,
  before,
  at,
}: {
  state: CheckState;
  before: CheckState;
  at: Instant;
}): readonly AlertChange[] {
  const isOver = isAlertOpen(state) && !isAlertOpen(before);
  return isOver ? [{ kind: "closed", at, cause: "takenBack", flip: null }] : NO_ALERTS;
}

/**
 * A signal that was received before a deadline but applied after it had fired: restores the state before the
 * deadline, and checks whether it would have fired with this signal known.
 */
function takeBack(
  { timing, state }: WatchedCheck,
  { signal, missed, visibility }: { signal: AppliedSignal; missed: Missed; visibility: Visibility },
): Effect {
  // Everything before the last deadline had been applied when it fired.
  const seen = { watermarkAt: Infinity, blind: visibility.blind };
  const deadlines = missedInARow(state, missed);
  const keptCount = deadlines.filter((at) => at < signal.at).length;
  const isFirst = keptCount === 0;
  const before = isFirst ? beforeMissed(state, missed) : afterMissed(state, keptCount);
  const effect = applyNow({ timing, state: before }, signal, visibility);
  if (effect.late) return { ...effect, state };
  const standing = isFirst ? standingDeadline({ timing, state: effect.state }, { missed, visibility }) : null;
  const known =
    standing === null
      ? effect.state
      : {
          ...fireDeadline({ timing, state: effect.state }, standing).state,
          missed: { ...missed, from: effect.state.status },
        };
  const again = passDeadlines(
    { timing, state: known },
    { visibility: seen, beforeAt: Math.max(...deadlines) + 1 },
  );
  if (standing !== null) {
    const change = { at: signal.at, flip: null, opens: "missed", closes: "takenBack" } as const;
    const alerts = alertChanges({ before: state, after: again.state }, change);
    return { ...effect, state: again.state, flips: [], alerts };
  }
  return {
    ...effect,
    state: again.state,
    flips: [...effect.flips, ...again.flips],
    alerts: [...takenBack({ state, before, at: signal.at }), ...effect.alerts, ...again.alerts],
    retractedAt: isFirst ? flipAt(missed) : null,
  };
}

/** The deadline that would have fired anyway, so that the flip stands and only the state before it is corrected. */
function standingDeadline(
  check: WatchedCheck,
  { missed, visibility }: { missed: Missed; visibility: Visibility },
): Deadline | null {
  const next = check.state.status === "down" ? null : extendedDeadline(check, visibility.blind);
  return next !== null && next.firesAt <= missed.deadlineAt ? next.deadline : null;
}

/** A state without missed deadlines, and what it takes back. */
export type TakenBack = Pick<Effect, "state" | "alerts" | "retractedAt">;

/** Takes back deadlines that were missed since an instant, because of a gap known only now. Null: there are none. */
export function takeBackMissed(
  state: CheckState,
  { since, at }: { since: Instant; at: Instant },
): TakenBack | null {
  const { missed } = state;
  if (missed === null || Math.min(...missedInARow(state, missed)) < since) return null;
  const before = beforeMissed(state, missed);
  return { state: before, alerts: takenBack({ state, before, at }), retractedAt: flipAt(missed) };
}

type CommandMoment = { at: Instant; visibility: Visibility };

/**
 * Pauses a check. A deadline that passed before still counts. A paused check stays paused, but the command is
 * the newest: signals received before it and replayed later do not end the pause.
 */
export function pause(check: WatchedCheck, moment: CommandMoment): PassedDeadlines {
  const passed = passDeadlines(check, { visibility: moment.visibility, beforeAt: moment.at });
  const commanded = commandedAt(passed.state, moment);
  // The run continues; a deadline with unknown outcome is left to the sweeper.
  if (passed.state.status === "paused")
    return { ...passed, state: { ...passed.state, ...commanded }, unobserved: null };
  const rest = { lastStartAt: null, lastStartRid: null, expectFromAt: null, missed: null, judged: null };
  const state: CheckState = { ...passed.state, ...rest, status: "paused", ...commanded };
  return { ...passed, state, alerts: alertsAfter(passed, state, { at: moment.at, closes: "paused" }) };
}

/**
 * Resumes a paused check, as if new: nothing is expected until the next signal. Null if it is not paused, for
 * example because a run in the paused check overran its deadline and took it down.
 */
export function resume(check: WatchedCheck, moment: CommandMoment): PassedDeadlines | null {
  const passed = passDeadlines(check, { visibility: moment.visibility, beforeAt: moment.at });
  if (passed.state.status !== "paused") return null;
  const cleared = {
    lastPingAt: null,
    lastStartAt: null,
    lastStartRid: null,
    expectFromAt: null,
    judged: null,
  };
  return {
    ...passed,
    state: { ...passed.state, ...cleared, status: "new", ...commandedAt(passed.state, moment) },
  };
}

/**
 * Edits the timing of a check. Deadlines that have passed count by the old timing; then a tolerated problem that
 * reaches a threshold of the new one becomes an alert, and a recovering check with enough successes has recovered.
 */
export function reviseTiming(
  check: WatchedCheck,
  { timing, at, visibility }: CommandMoment & { timing: Timing },
): PassedDeadlines {
  const passed = passDeadlines(check, { visibility, beforeAt: at });
  const judged = judgedUnder(passed.state, timing.rules);
  // Deadlines after the watermark are left to the sweeper, with the timing in force then.
  if (judged === passed.state.judged) return { ...passed, unobserved: null };
  const state = { ...passed.state, judged };
  const opens = passed.state.missed === null ? "failed" : "missed";
  return { ...passed, state, alerts: alertsAfter(passed, state, { at, opens }), unobserved: null };
}

/**
 * Closes the alert of a check although it has not recovered. If it is down, it stays so, and its next failed or missed
 * run counts as the first one. Null if no alert is open.
 */
export function resolveAlert(check: WatchedCheck, { at, visibility }: CommandMoment): PassedDeadlines | null {
  const passed = passDeadlines(check, { visibility, beforeAt: at });
  if (!isAlertOpen(passed.state)) return null;
  const isDown = passed.state.status === "down";
  const state = {
    ...passed.state,
    judged: isDown ? judgedResolved(passed.state) : null,
    expectFromAt: isDown ? at : passed.state.expectFromAt,
  };
  const alerts = alertsAfter(passed, state, { at, closes: "resolved" });
  return { ...passed, state, alerts, unobserved: null };
}

/** The changes of the alert by passed deadlines and a command after them. */
function alertsAfter(
  { state: before, alerts }: PassedDeadlines,
  after: CheckState,
  { at, opens = "missed", closes = "recovered" }: { at: Instant; opens?: AlertCause; closes?: CloseCause },
): readonly AlertChange[] {
  const changes = alertChanges({ before, after }, { at, flip: null, opens, closes });
  return changes.length === 0 ? alerts : [...alerts, ...changes];
}

function commandedAt({ newestAt }: CheckState, { at }: CommandMoment) {
  const commandAt = Math.max(at, newestAt ?? at);
  return { commandAt, newestAt: commandAt };
}

/**
 * Counts a signal in the minute in which it was received, and returns whether it exceeds the limit (0: no
 * limit). Beyond it, a plain success or log signal changes the state but gets no log row.
 */
function countSignal(
  state: CheckState,
  { at, perMinute }: { at: Instant; perMinute: number },
): { state: CheckState; isOver: boolean } {
  const minuteAt = Math.floor(at / MINUTE_MS) * MINUTE_MS;
  // A replayed signal of an older minute is neither counted nor limited.
  if (state.rateMinuteAt !== null && minuteAt < state.rateMinuteAt) return { state, isOver: false };
  const rateCount = state.rateMinuteAt === minuteAt ? state.rateCount + 1 : 1;
  return {
    state: { ...state, rateMinuteAt: minuteAt, rateCount },
    isOver: perMinute > 0 && rateCount > perMinute,
  };
}
