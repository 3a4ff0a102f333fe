// A world as it is planned: checks with what their jobs and owners do, and what goes wrong with the server and the
// receivers. All times are on the true clock. What follows from it is told by history.ts.
import type { Settings, SignalKind } from "../model/history.ts";

/** What a job or an owner does, whether or not anybody is there to take it. */
export type Action = { trueAt: number } & (
  | { what: SignalKind; rid: string | null }
  | { what: "pause" | "resume" | "delete" }
  | { what: "edit"; settings: Settings }
);

export type CheckPlan = {
  name: string;
  createdTrueAt: number;
  settings: Settings;
  /** Numbers of the channels that hear of it. */
  channels: readonly number[];
  /** In the order of time. */
  actions: readonly Action[];
};

/** From and to are turns: the last one before, and the first one after. */
type Span = { from: number; to: number };

/** What can happen to those who receive; only one at a time. */
export type IntakeFault =
  | ({ kind: "database-away" } & Span)
  /** One intake does not reach the database, and spools. */
  | ({ kind: "intake-cut"; intake: number } & Span)
  /** The same, and it dies in between; its next start finds the spool. */
  | ({ kind: "cut-crash"; intake: number; crashesAt: number } & Span)
  | ({ kind: "intake-crash"; intake: number } & Span)
  /** One intake answers 503. */
  | ({ kind: "refusing"; intake: number } & Span)
  /** Every process is stopped, cleanly or not; the sweeper may be back before anybody listens. */
  | ({ kind: "all-stopped"; isClean: boolean; isSweeperFirst: boolean } & Span)
  /** The database's clock is set. */
  | { kind: "clock-step"; from: number; to: number; byMs: number };

/** What can happen to the others; at any time, but each kind only once at a time. */
export type OtherFault =
  | ({ kind: "sweeper-down" } & Span)
  /** Killed in the middle of sending. */
  | ({ kind: "notifier-down" } & Span)
  /** Two sweepers and two notifiers at once. */
  | ({ kind: "twice" } & Span)
  | ({ kind: "receiver-failing"; channel: number } & Span)
  | { kind: "receiver-gone"; channel: number; from: number; to: number };

export type Fault = IntakeFault | OtherFault;

/** What all checks of a world share. */
export type WorldHead = {
  from: number;
  to: number;
  intakeCount: number;
  channelCount: number;
  /** How far turns are apart when nothing happens. */
  turnSeconds: number;
  faults: readonly Fault[];
};

/** Channels belong to projects, so many to each, in order; a check and its channels belong to the same one. */
export const CHANNELS_PER_PROJECT = 4;

export function projectOf({ channels }: Pick<CheckPlan, "channels">): number {
  const projects = new Set(channels.map((channel) => Math.floor(channel / CHANNELS_PER_PROJECT)));
  if (projects.size > 1) throw new Error(`channels of several projects: ${channels.join(", ")}`);
  const [project = 0] = projects;
  return project;
}

/** A whole world. Its checks are made one at a time, because there may be more of them than fit in memory. */
export type World = {
  head: WorldHead;
  checkCount: number;
  check(index: number): CheckPlan;
};

/** After the clock was set, no other fault of intakes for so long; longer where it was set back. */
const AFTER_STEP_MS = 120_000;

/** The database's clock is set, and left alone until that has been digested. */
export function clockStep(from: number, byMs: number): IntakeFault {
  return { kind: "clock-step", from, byMs, to: from + Math.max(0, -byMs) + AFTER_STEP_MS };
}

const INTAKE_FAULTS: ReadonlySet<Fault["kind"]> = new Set<IntakeFault["kind"]>([
  "database-away",
  "intake-cut",
  "cut-crash",
  "intake-crash",
  "refusing",
  "all-stopped",
  "clock-step",
]);

export function isIntakeFault(fault: Fault): fault is IntakeFault {
  return INTAKE_FAULTS.has(fault.kind);
}

/** The faults of those who receive, in the order of time. Throws when two of them are at the same time. */
export function intakeFaults({ faults }: WorldHead): IntakeFault[] {
  const found = faults.filter(isIntakeFault).toSorted((one, other) => one.from - other.from);
  for (const [index, fault] of found.entries()) {
    const before = found[index - 1];
    if (before !== undefined && fault.from < before.to) {
      throw new Error(`two faults of intakes at the same time: ${before.kind}, ${fault.kind}`);
    }
  }
  return found;
}

/** A world that ends earlier: what lies beyond the end has never been planned. */
export function shortened(world: World, to: number): World {
  const faults = world.head.faults.filter(({ from }) => from < to).map((fault) => cut(fault, to));
  return {
    ...world,
    head: { ...world.head, to, faults },
    check: (index) => {
      const plan = world.check(index);
      return { ...plan, actions: plan.actions.filter(({ trueAt }) => trueAt <= to) };
    },
  };
}

function cut(fault: Fault, to: number): Fault {
  if (fault.to <= to) return fault;
  if (isIntakeFault(fault)) throw new Error(`the world would end in the middle of ${fault.kind}`);
  // It lasts until after the last turn.
  return { ...fault, to: to + 1 };
}
