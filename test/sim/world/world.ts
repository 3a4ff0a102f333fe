// The plan of a world: checks with the actions of their jobs and users, and the faults of the server and the
// receivers. All times are on the true clock. Histories are derived from it.
import type { NotifyRules, Settings, SignalKind, SilenceTimes } from "../model/history.ts";
import { DEFAULT_NOTIFY_RULES } from "../model/rules.ts";

/** An action of a job or a user, whether or not the server is available. */
export type Action = { trueAt: number } & (
  | { what: SignalKind; rid: string | null }
  /** `ack`: somebody acknowledges the problem, if there is one. */
  | { what: "pause" | "resume" | "delete" | "ack" }
  | { what: "edit"; settings: Settings }
);

export type CheckPlan = {
  name: string;
  createdTrueAt: number;
  settings: Settings;
  /** Indexes of the channels of the check. */
  channels: readonly number[];
  tags: readonly string[];
  /** Names of the checks that it depends on. */
  parents: readonly string[];
  notify: NotifyRules;
  /** In order of time. */
  actions: readonly Action[];
};

/** `from` is the last turn before the fault, `to` the first one after it. */
type Span = { from: number; to: number };

/** Faults of the receiving side; they do not overlap. */
export type IntakeFault =
  | ({ kind: "database-away" } & Span)
  /** One intake cannot reach the database and spools pings. */
  | ({ kind: "intake-cut"; intake: number } & Span)
  /** Same, and the intake dies before the end; its next start finds the spool. */
  | ({ kind: "cut-crash"; intake: number; crashesAt: number } & Span)
  | ({ kind: "intake-crash"; intake: number } & Span)
  /** One intake answers 503. */
  | ({ kind: "refusing"; intake: number } & Span)
  /** All processes are stopped, with or without a clean shutdown; the sweeper may start before the intakes. */
  | ({ kind: "all-stopped"; isClean: boolean; isSweeperFirst: boolean } & Span)
  /** The database clock is changed. */
  | { kind: "clock-step"; from: number; to: number; byMs: number };

/** Faults of the sending side; faults of the same kind do not overlap. */
export type OtherFault =
  | ({ kind: "sweeper-down" } & Span)
  /** Killed while sending. */
  | ({ kind: "notifier-down" } & Span)
  /** Killed in the middle of planning, before it sends. Another one is started at once. */
  | ({ kind: "planner-killed" } & Span)
  /** Two sweepers and two notifiers at once. */
  | ({ kind: "twice" } & Span)
  | ({ kind: "receiver-failing"; channel: number } & Span)
  | { kind: "receiver-gone"; channel: number; from: number; to: number };

export type Fault = IntakeFault | OtherFault;

/** A silence, the time at which a user creates it, and what users do with it later. Its times are on the database clock. */
export type SilencePlan = {
  project: number;
  scope: { kind: "all" } | { kind: "tag"; tag: string } | { kind: "checks"; names: readonly string[] };
  trueAt: number;
  times: SilenceTimes;
  /** In order of time. Null ends it. */
  changes: readonly { trueAt: number; times: SilenceTimes | null }[];
};

/** Whether a silence covers a check. */
export function isSilencedBy({ project, scope }: SilencePlan, plan: CheckPlan): boolean {
  if (projectOf(plan) !== project) return false;
  if (scope.kind === "all") return true;
  return scope.kind === "tag" ? plan.tags.includes(scope.tag) : scope.names.includes(plan.name);
}

/** Shared by all checks of a world. */
export type WorldHead = {
  from: number;
  to: number;
  intakeCount: number;
  channelCount: number;
  /** Regular interval between turns. */
  turnSeconds: number;
  faults: readonly Fault[];
  silences: readonly SilencePlan[];
};

/**
 * Channels are assigned to projects in order, this many per project. A check and its channels belong to the same
 * project.
 */
export const CHANNELS_PER_PROJECT = 4;

export function projectOf({ channels }: Pick<CheckPlan, "channels">): number {
  const projects = new Set(channels.map((channel) => Math.floor(channel / CHANNELS_PER_PROJECT)));
  if (projects.size > 1) throw new Error(`channels of several projects: ${channels.join(", ")}`);
  const [project = 0] = projects;
  return project;
}

/** Checks are generated on demand, because all of them together may not fit in memory. */
export type World = {
  head: WorldHead;
  checkCount: number;
  check(index: number): CheckPlan;
};

/** Minimum time between a clock step and the next fault of intakes; longer after a backward step. */
const AFTER_STEP_MS = 120_000;

/** A clock step, including the time until the server has settled. */
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

/** The faults of intakes in order of time. Throws if two of them overlap. */
export function intakeFaults({ faults }: WorldHead): IntakeFault[] {
  const found = faults.filter(isIntakeFault).toSorted((one, other) => one.from - other.from);
  for (const [index, fault] of found.entries()) {
    const before = found[index - 1];
    if (before !== undefined && fault.from < before.to) {
      throw new Error(`faults of intakes overlap: ${before.kind}, ${fault.kind}`);
    }
  }
  return found;
}

/** The same world without silences, or without dependencies, groups, repeats and acknowledgements. */
export function without(world: World, parts: { silences?: true; notifyRules?: true }): World {
  const head = parts.silences ? { ...world.head, silences: [] } : world.head;
  if (!parts.notifyRules) return { ...world, head };
  return {
    ...world,
    head,
    check: (index) => {
      const plan = world.check(index);
      const actions = plan.actions.filter(({ what }) => what !== "ack");
      return { ...plan, actions, parents: [], notify: DEFAULT_NOTIFY_RULES };
    },
  };
}

/** The same world with an earlier end. */
export function shortened(world: World, to: number): World {
  const faults = world.head.faults.filter(({ from }) => from < to).map((fault) => cut(fault, to));
  return {
    ...world,
    head: {
      ...world.head,
      to,
      faults,
      silences: world.head.silences
        .filter(({ trueAt }) => trueAt <= to)
        .map((silence) => ({ ...silence, changes: silence.changes.filter(({ trueAt }) => trueAt <= to) })),
    },
    check: (index) => {
      const plan = world.check(index);
      return { ...plan, actions: plan.actions.filter(({ trueAt }) => trueAt <= to) };
    },
  };
}

function cut(fault: Fault, to: number): Fault {
  if (fault.to <= to) return fault;
  if (isIntakeFault(fault)) throw new Error(`the world would end during ${fault.kind}`);
  // The fault continues past the last turn.
  return { ...fault, to: to + 1 };
}
