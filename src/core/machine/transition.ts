// What signals, pause and resume do to a check. Pure: state in, state and consequences out; the caller
// stores them. The whole machine is laid out as a table in state-table.ts.
import { applyDeadline, extendedDeadline, type Notice, type Sight } from "./deadline.ts";
import type { Instant } from "../instant.ts";
import { countSignal, isOverRate } from "./rate.ts";
import type { Signal, SignalKind } from "../signal.ts";
import type { CheckState, Flip } from "./state.ts";
import { type Deadline, isDeaf, type WatchedCheck } from "./status.ts";

/** A run that a signal ended. Without a start signal only its end is known. */
export type Run = {
  startAt: Instant | null;
  endAt: Instant;
  outcome: "success" | "fail";
  durationMs: number | null;
};

export type Outcome = {
  state: CheckState;
  recordedAs: SignalKind;
  /** The time to log. A direct signal is never older than what has been applied before it. */
  at: Instant;
  /** Number of the log row; null when the signal was coalesced. */
  n: number | null;
  /** Replayed, and overtaken by something newer: logged, without effect on the check. */
  late: boolean;
  flips: readonly Flip[];
  /** Deadline of the silence flip that this signal proved wrong. */
  takenBackAt: Instant | null;
  notice: Notice | null;
  /** A deadline passed while we could not tell, and the job has spoken since: no alert, but history says so. */
  notObserved: Deadline | null;
  run: Run | null;
};

export type SignalRules = { ratePerMinute: number };

/** Whether people are told: a check that comes up for the first time, or after a pause, is no news. */
export function isNotified(flip: Flip): boolean {
  return !(flip.to === "up" && (flip.from === "new" || flip.from === "paused"));
}

/** What one signal does to a check. */
export function applySignal(
  check: WatchedCheck,
  { signal, sight, rules }: { signal: Signal; sight: Sight; rules: SignalRules },
): Outcome {
  const kind = isDeaf(check) ? "ign" : signal.kind;
  const newestAt = check.state.newestAt ?? signal.at;
  const at = signal.replayed ? signal.at : Math.max(signal.at, newestAt);
  const past = passDeadline(check, { at, kind, sight });
  const effect = takeEffect(
    { timing: check.timing, state: past.state },
    { kind, at, rid: signal.rid },
    sight,
  );
  const flips = [...past.flips, ...effect.flips];
  const plain =
    flips.length === 0 && effect.takenBackAt === null && (effect.run?.durationMs ?? null) === null;
  const counted = countSignal(effect.state, at);
  const coalesced = plain && kind !== "start" && kind !== "fail" && isOverRate(counted, rules.ratePerMinute);
  const state = {
    ...counted,
    newestAt: Math.max(newestAt, at),
    pingCount: counted.pingCount + (coalesced ? 0 : 1),
    coalescedCount: counted.coalescedCount + (coalesced ? 1 : 0),
  };
  return {
    state,
    recordedAs: kind,
    at,
    n: coalesced ? null : state.pingCount,
    late: effect.late,
    flips,
    takenBackAt: effect.takenBackAt,
    notice: past.notice,
    notObserved: past.notObserved,
    run: effect.run,
  };
}

/** What a batch of signals for one check does, in order. */
export function applySignals(
  check: WatchedCheck,
  { signals, sight, rules }: { signals: readonly Signal[]; sight: Sight; rules: SignalRules },
): { state: CheckState; outcomes: readonly Outcome[] } {
  let state = check.state;
  const outcomes: Outcome[] = [];
  for (const signal of signals) {
    const outcome = applySignal({ timing: check.timing, state }, { signal, sight, rules });
    outcomes.push(outcome);
    state = outcome.state;
  }
  return { state, outcomes };
}

type Past = {
  state: CheckState;
  flips: readonly Flip[];
  notice: Notice | null;
  notObserved: Deadline | null;
};

/**
 * A deadline that lies before the signal comes first, so that it does not matter whether the sweeper or
 * the signal was quicker. If we cannot tell whether something in time is still on its way, the deadline
 * stays silent: the job has spoken again, and an alarm might be our own fault.
 */
function passDeadline(
  check: WatchedCheck,
  { at, kind, sight }: { at: Instant; kind: SignalKind; sight: Sight },
): Past {
  const none = { state: check.state, flips: [], notice: null, notObserved: null };
  if (kind === "log" || kind === "ign") return none;
  const extended = extendedDeadline(check, sight.blind);
  if (extended === null || at <= extended.at) return none;
  const outcome = applyDeadline(check, sight);
  switch (outcome.kind) {
    case "fired":
      return { ...none, state: outcome.state, flips: [outcome.flip] };
    case "excused":
      return { ...none, state: outcome.state, notice: outcome.notice };
    case "waits": {
      // A start does not answer for the success that is missing; it only replaces an older run.
      const answered = kind !== "start" || extended.deadline.cause === "overrun";
      return { ...none, notObserved: answered ? extended.deadline : null };
    }
    case "none":
      return none;
  }
}

type Effect = {
  state: CheckState;
  flips: readonly Flip[];
  late: boolean;
  takenBackAt: Instant | null;
  run: Run | null;
};
type Told = { kind: SignalKind; at: Instant; rid: string | null };

function takeEffect(check: WatchedCheck, told: Told, sight: Sight): Effect {
  const { state } = check;
  const unchanged = { state, flips: [], late: false, takenBackAt: null, run: null };
  if (told.kind === "log" || told.kind === "ign") return unchanged;
  // Measured against what has decided the status, not against any newer line in the log: a success that
  // was received in time must prevent its alert even if a start has overtaken it.
  const decidedAt = Math.max(state.lastPingAt ?? -Infinity, state.commandAt ?? -Infinity);
  if (told.at < decidedAt) return { ...unchanged, late: true };
  if (told.kind === "start") return begin(unchanged, told);
  if (told.kind === "success" && state.silence !== null && told.at <= state.silence.deadlineAt) {
    return takeBack(check, told, sight);
  }
  return complete(state, told);
}

/** A run begins. Only the newest start is watched. */
function begin(unchanged: Effect, { at, rid }: Told): Effect {
  const { state } = unchanged;
  if (state.lastStartAt !== null && at < state.lastStartAt) return { ...unchanged, late: true };
  return { ...unchanged, state: { ...state, lastStartAt: at, lastStartRid: rid } };
}

/** A success or a failure: the status follows it, and it ends the run that it belongs to. */
function complete(state: CheckState, told: Told): Effect {
  const to = told.kind === "fail" ? "down" : "up";
  const { at } = told;
  const ended = endsRun(state, told);
  const measured = ended && state.lastStartAt !== null && told.rid === state.lastStartRid;
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
    takenBackAt: null,
    run: { startAt, endAt: at, outcome: to === "down" ? "fail" : "success", durationMs },
  };
}

/**
 * A failure, or a success that names no run, ends whatever is running; a success that names a run ends
 * only that one. A start that is newer than the signal has not ended.
 */
function endsRun({ lastStartAt, lastStartRid }: CheckState, { kind, at, rid }: Told): boolean {
  if (lastStartAt === null || lastStartAt > at) return false;
  return kind === "fail" || rid === null || rid === lastStartRid;
}

/**
 * A success that was received before the deadline but applied after it had fired: go back to before the
 * deadline, and see whether it would have fired with this success known.
 */
function takeBack({ timing, state }: WatchedCheck, told: Told, sight: Sight): Effect {
  const { silence } = state;
  if (silence === null) return complete(state, told);
  const effect = complete({ ...state, status: silence.from, silence: null }, told);
  const still = extendedDeadline({ timing, state: effect.state }, sight.blind);
  if (still !== null && still.at <= silence.deadlineAt) {
    return {
      ...effect,
      state: { ...effect.state, status: "down", silence: { ...silence, from: "up" } },
      flips: [],
    };
  }
  return { ...effect, takenBackAt: silence.deadlineAt };
}

export type CommandOutcome = { state: CheckState; flips: readonly Flip[]; notice: Notice | null };

/** Stops watching. A deadline that had passed before still counts. Null: it is paused already. */
export function pause(
  check: WatchedCheck,
  { at, sight }: { at: Instant; sight: Sight },
): CommandOutcome | null {
  if (check.state.status === "paused") return null;
  const { state, flips, notice } = passDeadline(check, { at, kind: "fail", sight });
  const commandAt = Math.max(at, state.newestAt ?? at);
  const rest = { lastStartAt: null, lastStartRid: null, expectFromAt: null, silence: null };
  return { state: { ...state, ...rest, status: "paused", commandAt, newestAt: commandAt }, flips, notice };
}

/** Watches again, as if new: nothing is expected until the next signal. Null: it is not paused. */
export function resume({ state }: WatchedCheck, { at }: { at: Instant }): CheckState | null {
  if (state.status !== "paused") return null;
  const commandAt = Math.max(at, state.newestAt ?? at);
  const cleared = { lastPingAt: null, lastStartAt: null, lastStartRid: null, expectFromAt: null };
  return { ...state, ...cleared, status: "new", commandAt, newestAt: commandAt };
}
