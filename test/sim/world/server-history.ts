// Derives the history of the server from the faults of a world: its turns, its blind intervals and its visibility.
// Used by the model and the driver.
import type { Hold, ServerHistory, ReceiverHistory, TimeSpan, Turn } from "../model/history.ts";
import { type Clocks, clocksOf } from "./clocks.ts";
import { UNCONFIRMED_MS_MAX } from "./receipt.ts";
import { type Fault, type IntakeFault, intakeFaults, type WorldHead } from "./world.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
/** Maximum time until the other intakes have recorded that an intake is gone and has left nothing. */
const GONE_MS_MAX = 12 * SECOND_MS;
/**
 * Missed deadlines are reported after a minute of fresh heartbeats; turns are placed at that time and right after
 * it.
 */
const SETTLED_MS = 60 * SECOND_MS;
const FULLY_SETTLED_MS = SETTLED_MS + 4 * SECOND_MS;
/** Maximum time until another notifier sends the messages that a killed one had claimed. */
const CLAIM_MS_MAX = 60 * SECOND_MS;
/** Smaller clock steps are ignored. */
const STEP_MS_MIN = 3 * SECOND_MS;

/** After the end of the world, only messages are sent: interval and maximum duration. */
const DRAIN_STEP_MS = 10 * MINUTE_MS;
const DRAIN_MS = 24 * 60 * MINUTE_MS;

/** The history of the server. */
export function serverHistory(head: WorldHead): ServerHistory {
  const clocks = clocksOf(head);
  const history = {
    holds: [] as Hold[],
    gaps: [] as Hold[],
    uncertain: [] as Hold[],
    blind: [] as TimeSpan[],
  };
  for (const fault of intakeFaults(head)) {
    const effect = effectOf(fault, { head, clocks });
    history.holds.push(...effect.holds);
    history.gaps.push(...effect.gaps);
    history.uncertain.push(...effect.uncertain);
    history.blind.push(...effect.blind);
  }
  return { ...history, turns: turnsOf(head, clocks) };
}

type Effect = { holds: Hold[]; gaps: Hold[]; uncertain: Hold[]; blind: TimeSpan[] };

function effectOf(fault: IntakeFault, { head, clocks }: { head: WorldHead; clocks: Clocks }): Effect {
  const { from, to } = fault;
  const isAlone = head.intakeCount === 1;
  const hold = (fromTrueAt: number, toTrueAt: number): Hold => ({
    fromTrueAt,
    toTrueAt,
    at: clocks.receiptAt(fromTrueAt),
  });
  const blindFrom = (fromTrueAt: number): TimeSpan => ({
    from: clocks.receiptAt(fromTrueAt),
    to: clocks.receiptAt(to),
  });
  const whole = hold(from, to);
  const nothing: Effect = { holds: [], gaps: [], uncertain: [], blind: [] };
  switch (fault.kind) {
    case "database-away": {
      const isRefusing = !isAlone && to - from > UNCONFIRMED_MS_MAX;
      return { ...nothing, gaps: [whole], blind: isRefusing ? [blindFrom(from + UNCONFIRMED_MS_MAX)] : [] };
    }
    case "intake-cut":
      return isAlone ? { ...nothing, gaps: [whole] } : { ...nothing, holds: [whole] };
    case "cut-crash":
      // After all intakes were down, a new intake cannot determine that the spool accepted pings in between.
      return isAlone
        ? { ...nothing, gaps: [whole], blind: [blindFrom(from)] }
        : { ...nothing, holds: [whole] };
    case "intake-crash":
      return isAlone
        ? { ...nothing, gaps: [whole], blind: [blindFrom(from)] }
        : { ...nothing, uncertain: [hold(from, from + GONE_MS_MAX)] };
    case "refusing":
      return { ...nothing, holds: [whole], blind: [blindFrom(from)] };
    case "all-stopped":
      return { ...nothing, gaps: [whole], blind: [blindFrom(from)] };
    case "clock-step": {
      const backMs = Math.max(0, -fault.byMs);
      const uncertain = [hold(from, from + backMs + SETTLED_MS)];
      const at = clocks.receiptAt(from);
      const jumped = fault.byMs > STEP_MS_MIN ? [{ from: at, to: clocks.databaseAt(from) + fault.byMs }] : [];
      // If the clock only returns to a time it has already shown, no time was skipped.
      return { ...nothing, uncertain, blind: jumped.filter((one) => one.to > one.from) };
    }
  }
}

function turnsOf(head: WorldHead, clocks: Clocks): Turn[] {
  const times = new Set<number>([head.from, head.to]);
  const add = (trueAt: number) => {
    if (trueAt > head.from && trueAt < head.to) times.add(trueAt);
  };
  for (let at = head.from; at < head.to; at += head.turnSeconds * SECOND_MS) add(at);
  for (const fault of head.faults) for (const at of turnsAround(fault)) add(at);
  const faults = head.faults.filter(({ kind }) => kind !== "receiver-failing" && kind !== "receiver-gone");
  const turns = [...times].toSorted((one, other) => one - other).map((at) => turnAt(at, { faults, clocks }));
  for (let at = DRAIN_STEP_MS; at <= DRAIN_MS; at += DRAIN_STEP_MS) {
    const trueAt = head.to + at;
    turns.push({ trueAt, at: clocks.receiptAt(trueAt), sweeping: "no", sending: "yes" });
  }
  return turns;
}

/** The times at which something changes, and those at which everything has settled. */
function turnsAround(fault: Fault): number[] {
  const { from, to } = fault;
  const after = (at: number) => [at, at + SETTLED_MS, at + FULLY_SETTLED_MS];
  if (fault.kind === "clock-step") {
    return [...after(from), from + Math.max(0, -fault.byMs) + FULLY_SETTLED_MS];
  }
  if (fault.kind === "all-stopped" && fault.isSweeperFirst) return [from, sweeperBackAt(fault), ...after(to)];
  if (fault.kind === "cut-crash") return [from, fault.crashesAt, ...after(to)];
  // There are many receivers; their faults take effect at the next regular turn.
  if (fault.kind === "receiver-failing" || fault.kind === "receiver-gone") return [];
  return [from, ...after(to)];
}

/** When the sweeper starts, in a fault in which it starts before the intakes. */
function sweeperBackAt({ from, to }: { from: number; to: number }): number {
  return Math.floor((from + to) / 2 / SECOND_MS) * SECOND_MS;
}

function turnAt(trueAt: number, { faults, clocks }: { faults: readonly Fault[]; clocks: Clocks }): Turn {
  const turn: Turn = { trueAt, at: clocks.receiptAt(trueAt), sweeping: "yes", sending: "yes" };
  for (const fault of faults) {
    const isDuring = fault.from < trueAt && trueAt < fault.to;
    if (fault.kind === "database-away" && isDuring) return { ...turn, sweeping: "no", sending: "no" };
    if (fault.kind === "all-stopped") {
      const isBack = fault.isSweeperFirst && trueAt >= sweeperBackAt(fault);
      if (isDuring && !isBack) return { ...turn, sweeping: "no", sending: "no" };
      if (isDuring && turn.sweeping === "yes") turn.sweeping = "maybe";
    }
    if (fault.kind === "sweeper-down" && isDuring) turn.sweeping = "no";
    if (fault.kind === "notifier-down") {
      // The notifier is killed during its first turn, and its claims stay locked for a while.
      const isClaimed = fault.from <= trueAt && trueAt <= fault.from + CLAIM_MS_MAX;
      if (isDuring) turn.sending = "no";
      else if (isClaimed && turn.sending === "yes") turn.sending = "maybe";
    }
    // It may have claimed messages.
    if (fault.kind === "planner-killed") {
      const isClaimed = fault.from <= trueAt && trueAt <= fault.from + CLAIM_MS_MAX;
      if (isClaimed && turn.sending === "yes") turn.sending = "maybe";
    }
    if (fault.kind === "clock-step") {
      const backMs = Math.max(0, -fault.byMs);
      const isSettling = fault.from < trueAt && trueAt < fault.from + backMs + FULLY_SETTLED_MS;
      if (isSettling && turn.sending === "yes") turn.sending = "maybe";
    }
  }
  return turn;
}

/** The history of the receiver of a channel. */
export function receiverHistory({ faults }: WorldHead, channel: number): ReceiverHistory {
  const failing: TimeSpan[] = [];
  let goneTrueAt: number | null = null;
  for (const fault of faults) {
    if (fault.kind === "receiver-failing" && fault.channel === channel) {
      failing.push({ from: fault.from, to: fault.to });
    }
    if (fault.kind === "receiver-gone" && fault.channel === channel) goneTrueAt = fault.from;
  }
  return { failing, goneTrueAt };
}
