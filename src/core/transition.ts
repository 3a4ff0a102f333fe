// What signals, pause and resume do to the state of a check. Pure functions: the caller stores the result.
// state-table.ts lists all transitions.
import {
  extendedDeadline,
  type Notice,
  passDeadlines,
  type PassedDeadlines,
  type Visibility,
} from "./deadline.ts";
import { type Instant, MINUTE_MS } from "./instant.ts";
import type { Signal, SignalKind } from "./signal.ts";
import {
  type CheckState,
  type Deadline,
  type Flip,
  ignoresSignals,
  type Silence,
  type WatchedCheck,
} from "./state.ts";

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
  /** Replayed after something newer was applied: logged, without effect on the check. */
  late: boolean;
  flips: readonly Flip[];
  /** Deadline of the flip that this signal retracts, if any. */
  retractedAt: Instant | null;
  notices: readonly Notice[];
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

/** Whether channels are notified: not when a check comes up for the first time or after a pause. */
export function isNotified(flip: Flip): boolean {
  return !(flip.to === "up" && (flip.from === "new" || flip.from === "paused"));
}

/** Applies one signal to a check. */
export function applySignal(
  check: WatchedCheck,
  { signal, visibility, rules }: { signal: Signal; visibility: Visibility; rules: SignalRules },
): Outcome {
  const kind = acceptsSignal(check, signal) ? signal.kind : "ign";
  const acts = kind === "start" && hasEnded(check.state, signal.rid) ? "log" : kind;
  const newestAt = check.state.newestAt ?? signal.at;
  const at = signal.replayed ? signal.at : Math.max(signal.at, newestAt);
  // Whether it was in time depends on when it was received, whatever has been applied since.
  const passed = passBefore(check, { kind: acts, at: signal.at, visibility });
  const judged = { kind: acts, at, rid: signal.rid };
  const effect = takeEffect({ timing: check.timing, state: passed.state }, judged, visibility);
  const flips = [...passed.flips, ...effect.flips];
  const changes =
    flips.length > 0 || effect.retractedAt !== null || (effect.run?.durationMs ?? null) !== null;
  const counted = countSignal(effect.state, { at, perMinute: rules.ratePerMinute });
  const coalesced = counted.isOver && !changes && kind !== "start" && kind !== "fail";
  const state = {
    ...counted.state,
    newestAt: Math.max(newestAt, at),
    endedRids: endedAfter(counted.state.endedRids, judged),
    pingCount: counted.state.pingCount + 1,
    coalescedCount: counted.state.coalescedCount + (coalesced ? 1 : 0),
  };
  return {
    state,
    recordedAs: kind,
    at,
    n: coalesced ? null : state.pingCount,
    late: effect.late,
    flips,
    retractedAt: effect.retractedAt,
    notices: passed.notices,
    notObserved: passed.unobserved,
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

function endedAfter(endedRids: readonly string[], { kind, rid }: Judged): readonly string[] {
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
  const { state } = check;
  if (kind === "log" || kind === "ign") return { state, flips: [], notices: [], unobserved: null };
  const passed = passDeadlines(check, { visibility, beforeAt: at });
  // A start does not replace a missing success, which is left to the sweeper. It does replace an older run.
  const answers = kind !== "start" || passed.unobserved?.cause === "overrun";
  return answers ? passed : { ...passed, unobserved: null };
}

type Effect = {
  state: CheckState;
  flips: readonly Flip[];
  late: boolean;
  retractedAt: Instant | null;
  run: Run | null;
};
/** A signal with the kind and time that apply to the check. */
type Judged = { kind: SignalKind; at: Instant; rid: string | null };

function takeEffect(check: WatchedCheck, judged: Judged, visibility: Visibility): Effect {
  const { state } = check;
  const unchanged = { state, flips: [], late: false, retractedAt: null, run: null };
  if (judged.kind === "log" || judged.kind === "ign") return unchanged;
  // Compared with what determined the status, not with the newest log entry: a success that was received in
  // time must prevent its alert even if a start was applied before it.
  const decidedAt = Math.max(state.lastPingAt ?? -Infinity, state.commandAt ?? -Infinity);
  if (judged.at < decidedAt) return overtaken(check, { unchanged, judged, visibility });
  if (judged.kind === "start") return begin(unchanged, judged);
  if (state.silence !== null && judged.at <= state.silence.deadlineAt) {
    return retractFlip(check, { judged, silence: state.silence, visibility });
  }
  return complete(state, judged);
}

/**
 * Too late to change the status, but the run took place. If it is the run in progress, it has ended, and an
 * alert about its overrun is retracted.
 */
function overtaken(
  { timing, state }: WatchedCheck,
  { unchanged, judged, visibility }: { unchanged: Effect; judged: Judged; visibility: Visibility },
): Effect {
  const { kind, at } = judged;
  if (kind === "start") return { ...unchanged, late: true };
  const outcome = kind === "fail" ? "fail" : "success";
  const late = {
    ...unchanged,
    late: true,
    run: { startAt: null, endAt: at, outcome, durationMs: null } as const,
  };
  if (!endsRun(state, judged)) return late;
  const ended = { ...state, lastStartAt: null, lastStartRid: null };
  const { silence } = state;
  if (silence === null || at > silence.deadlineAt) return { ...late, state: ended };
  const before = { ...ended, status: silence.from, silence: null };
  const next = extendedDeadline({ timing, state: before }, visibility.blind);
  const standsAnyway = next !== null && next.firesAt <= silence.deadlineAt;
  return standsAnyway
    ? { ...late, state: ended }
    : { ...late, state: before, retractedAt: silence.deadlineAt };
}

/** A run begins. Only the newest start counts. */
function begin(unchanged: Effect, { at, rid }: Judged): Effect {
  const { state } = unchanged;
  if (state.lastStartAt !== null && at < state.lastStartAt) return { ...unchanged, late: true };
  return { ...unchanged, state: { ...state, lastStartAt: at, lastStartRid: rid } };
}

/** A success or failure: sets the status, and ends the run that it belongs to. */
function complete(state: CheckState, judged: Judged): Effect {
  const to = judged.kind === "fail" ? "down" : "up";
  const { at } = judged;
  const ended = endsRun(state, judged);
  const { lastStartAt } = state;
  const measured = ended && lastStartAt !== null && lastStartAt <= at && judged.rid === state.lastStartRid;
  const startAt = measured ? state.lastStartAt : null;
  const durationMs = startAt === null ? null : at - startAt;
  const flip: Flip = { at, from: state.status, to, reason: to === "down" ? "fail" : "success" };
  return {
    state: {
      ...state,
      status: to,
      lastPingAt: at,
      lastDurationMs: durationMs,
      expectFromAt: null,
      silence: null,
      ...(ended ? { lastStartAt: null, lastStartRid: null } : {}),
    },
    flips: state.status === to ? [] : [flip],
    late: false,
    retractedAt: null,
    run: { startAt, endAt: at, outcome: to === "down" ? "fail" : "success", durationMs },
  };
}

/**
 * A failure, or a success without a run id, ends any run; a success with a run id ends only that run. A start
 * newer than the signal has not ended, unless it has the same run id.
 */
function endsRun({ lastStartAt, lastStartRid }: CheckState, { kind, at, rid }: Judged): boolean {
  if (lastStartAt === null) return false;
  if (lastStartAt > at) return rid !== null && rid === lastStartRid;
  return kind === "fail" || rid === null || rid === lastStartRid;
}

/**
 * A success or failure that was received before the deadline but applied after it had fired: restores the
 * state before the deadline, and checks whether it would have fired with this signal known.
 */
function retractFlip(
  { timing, state }: WatchedCheck,
  { judged, silence, visibility }: { judged: Judged; silence: Silence; visibility: Visibility },
): Effect {
  const effect = complete({ ...state, status: silence.from, silence: null }, judged);
  const next = extendedDeadline({ timing, state: effect.state }, visibility.blind);
  if (next !== null && next.firesAt <= silence.deadlineAt) {
    // It would have fired anyway: the flip stands, only the state before it is corrected.
    const down = {
      ...effect.state,
      status: "down" as const,
      silence: { ...silence, from: effect.state.status },
    };
    return { ...effect, state: down, flips: [] };
  }
  return { ...effect, retractedAt: silence.deadlineAt };
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
  const rest = { lastStartAt: null, lastStartRid: null, expectFromAt: null, silence: null };
  return {
    ...passed,
    state: { ...passed.state, ...rest, status: "paused", ...commanded },
  };
}

/**
 * Resumes a paused check, as if new: nothing is expected until the next signal. Null if it is not paused, for
 * example because a run in the paused check overran its deadline and took it down.
 */
export function resume(check: WatchedCheck, moment: CommandMoment): PassedDeadlines | null {
  const passed = passDeadlines(check, { visibility: moment.visibility, beforeAt: moment.at });
  if (passed.state.status !== "paused") return null;
  const cleared = { lastPingAt: null, lastStartAt: null, lastStartRid: null, expectFromAt: null };
  return {
    ...passed,
    state: { ...passed.state, ...cleared, status: "new", ...commandedAt(passed.state, moment) },
  };
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
