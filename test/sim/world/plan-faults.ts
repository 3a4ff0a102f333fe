// Generates the faults of a world, at full seconds. Faults of intakes do not overlap.
import type { Chance } from "../../faults/chance.ts";
import { clockStep, type Fault, type IntakeFault, type WorldHead } from "./world.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** No faults at the beginning and the end of the world. */
const CALM_MS = HOUR_MS;
/** Target number per world. Short worlds have faults more often, so that they contain several kinds. */
const INTAKE_FAULTS_COUNT = 300;
const INTAKE_GAP_MS_MIN = 30 * MINUTE_MS;
const INTAKE_GAP_MS_MAX = 6 * HOUR_MS;
/** Probability that a fault follows shortly after the previous one. */
const CHAINED = 0.15;
/** An intake that is cut off for longer than its lease is given up. */
const CUT_MS_MAX = 9 * MINUTE_MS;

type Base = Omit<WorldHead, "faults" | "silences">;
/** A kind of fault with its probability weight. */
type Draft = { weight: number; make: (from: number, given: { chance: Chance; base: Base }) => IntakeFault };

export function planFaults(base: Base, chance: Chance): Fault[] {
  const days = (base.to - base.from) / DAY_MS;
  const others = [
    ...spread(base, chance, { perDay: moreOften(1, days), lasts: [10 * SECOND_MS, 30 * MINUTE_MS] }).map(
      (span) => ({ kind: "sweeper-down" as const, ...span }),
    ),
    ...spread(base, chance, { perDay: moreOften(1, days), lasts: [5 * SECOND_MS, 20 * MINUTE_MS] }).map(
      (span) => ({ kind: "notifier-down" as const, ...span }),
    ),
    ...spread(base, chance, { perDay: moreOften(0.5, days), lasts: [HOUR_MS, 6 * HOUR_MS] }).map((span) => ({
      kind: "twice" as const,
      ...span,
    })),
  ];
  return [...planIntakeFaults(base, chance), ...others, ...planReceivers(base, chance)];
}

/** Faults of the planner, only in worlds with policies. */
export function planPlannerFaults(base: Base, chance: Chance): Fault[] {
  const days = (base.to - base.from) / DAY_MS;
  const lasts = [SECOND_MS, 5 * SECOND_MS] as const;
  const spans = spread(base, chance, { perDay: moreOften(2, days), lasts });
  return spans.map((span) => ({ kind: "planner-killed" as const, ...span }));
}

function moreOften(perDay: number, days: number): number {
  return perDay * Math.max(1, 20 / days);
}

function planReceivers(base: Base, chance: Chance): Fault[] {
  const faults: Fault[] = [];
  for (let channel = 0; channel < base.channelCount; channel += 1) {
    const lasts: [number, number] = [MINUTE_MS, 5 * HOUR_MS];
    for (const span of spread(base, chance, { perDay: 0.15, lasts })) {
      faults.push({ kind: "receiver-failing", channel, ...span });
    }
    // The first receiver always stays available.
    if (channel > 0 && chance.fraction() < 0.05) {
      const from = second(base.from + chance.fraction() * (base.to - base.from));
      faults.push({ kind: "receiver-gone", channel, from, to: base.to });
    }
  }
  return faults;
}

/** Non-overlapping intervals with the given frequency and range of lengths. */
function spread(
  base: Base,
  chance: Chance,
  { perDay, lasts }: { perDay: number; lasts: readonly [number, number] },
): { from: number; to: number }[] {
  const spans: { from: number; to: number }[] = [];
  let from = second(base.from + CALM_MS + waiting(chance, DAY_MS / perDay));
  while (from < base.to - CALM_MS) {
    const to = second(from + between(chance, lasts));
    if (to < base.to - CALM_MS) spans.push({ from, to });
    from = second(to + SECOND_MS + waiting(chance, DAY_MS / perDay));
  }
  return spans;
}

function planIntakeFaults(base: Base, chance: Chance): Fault[] {
  const faults: Fault[] = [];
  const meanMs = Math.min(
    Math.max((base.to - base.from) / INTAKE_FAULTS_COUNT, INTAKE_GAP_MS_MIN),
    INTAKE_GAP_MS_MAX,
  );
  let from = second(base.from + CALM_MS + waiting(chance, meanMs));
  let aheadMs = 0;
  for (;;) {
    // A clock step is reverted before the next fault.
    const fault = aheadMs === 0 ? draw(chance).make(from, { chance, base }) : clockStep(from, -aheadMs);
    if (fault.to > base.to - CALM_MS) return faults;
    if (fault.kind === "clock-step") aheadMs += fault.byMs;
    faults.push(fault);
    const gapMs =
      chance.fraction() < CHAINED
        ? between(chance, [2 * SECOND_MS, 10 * MINUTE_MS])
        : waiting(chance, meanMs);
    from = second(fault.to + SECOND_MS + gapMs);
  }
}

const DRAFTS: readonly Draft[] = [
  {
    weight: 20,
    make: (from, { chance }) => {
      const isLong = chance.fraction() < 0.05;
      const lastsMs = between(chance, isLong ? [HOUR_MS, 4 * HOUR_MS] : [5 * SECOND_MS, 40 * MINUTE_MS]);
      return { kind: "database-away", from, to: second(from + lastsMs) };
    },
  },
  {
    weight: 28,
    make: (from, { chance, base }) => {
      const lastsMs = between(chance, [5 * SECOND_MS, base.intakeCount === 1 ? 2 * HOUR_MS : CUT_MS_MAX]);
      return { kind: "intake-cut", intake: anIntake(chance, base), from, to: second(from + lastsMs) };
    },
  },
  {
    weight: 8,
    make: (from, { chance, base }) => {
      const lastsMs = between(chance, [30 * SECOND_MS, base.intakeCount === 1 ? HOUR_MS : CUT_MS_MAX]);
      const crashesAt = second(from + 10 * SECOND_MS + chance.fraction() * (lastsMs - 20 * SECOND_MS));
      return {
        kind: "cut-crash",
        intake: anIntake(chance, base),
        from,
        crashesAt,
        to: second(from + lastsMs),
      };
    },
  },
  {
    weight: 17,
    make: (from, { chance, base }) => {
      const to = second(from + between(chance, [5 * SECOND_MS, 30 * MINUTE_MS]));
      return { kind: "intake-crash", intake: anIntake(chance, base), from, to };
    },
  },
  {
    weight: 10,
    make: (from, { chance, base }) => {
      const to = second(from + between(chance, [5 * SECOND_MS, 15 * MINUTE_MS]));
      return { kind: "refusing", intake: anIntake(chance, base), from, to };
    },
  },
  {
    weight: 12,
    make: (from, { chance }) => {
      const lastsMs = between(chance, [6 * SECOND_MS, 40 * MINUTE_MS]);
      const isSweeperFirst = chance.fraction() < 0.5;
      const isClean = chance.fraction() < 0.4;
      return { kind: "all-stopped", from, to: second(from + lastsMs), isClean, isSweeperFirst };
    },
  },
  {
    weight: 5,
    make: (from, { chance }) => {
      const byMs = second(between(chance, [2 * SECOND_MS, 5 * MINUTE_MS]));
      return clockStep(from, chance.fraction() < 0.5 ? byMs : -byMs);
    },
  },
];

function draw(chance: Chance): Draft {
  let roll = chance.fraction() * DRAFTS.reduce((sum, { weight }) => sum + weight, 0);
  for (const draft of DRAFTS) {
    roll -= draft.weight;
    if (roll < 0) return draft;
  }
  throw new Error("the weights do not add up");
}

function anIntake(chance: Chance, { intakeCount }: Base): number {
  return chance.between(0, intakeCount - 1);
}

/** A random value between the two, distributed evenly on a logarithmic scale. */
export function between(chance: Chance, [least, most]: readonly [number, number]): number {
  return least * (most / least) ** chance.fraction();
}

/** A random waiting time with the given mean. */
function waiting(chance: Chance, meanMs: number): number {
  return -Math.log(1 - chance.fraction()) * meanMs;
}

function second(at: number): number {
  return Math.round(at / SECOND_MS) * SECOND_MS;
}
