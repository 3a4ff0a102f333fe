// Generates a world from a seed. The same seed and size give the same world on every machine.
import { chanceFrom } from "../../faults/chance.ts";
import { Schedules } from "../model/schedule.ts";
import type { GeneratorContext } from "./generator-context.ts";
import { planCheck } from "./plan-check.ts";
import { planFaults, planPlannerFaults } from "./plan-faults.ts";
import { planSilences } from "./plan-policy.ts";
import { receptionOf } from "./receipt.ts";
import type { World, WorldHead } from "./world.ts";

const DAY_MS = 86_400_000;

/** Shortly before daylight saving changes in New York, Berlin, Auckland or Lord Howe. */
const BEGINNINGS = [
  "2026-03-05",
  "2026-03-26",
  "2026-04-02",
  "2026-09-24",
  "2026-10-01",
  "2026-10-22",
  "2027-03-11",
];

/** Shorter turns are more precise but slower. */
const TURN_SECONDS = 300;
const CHECKS_PER_CHANNEL = 25;
const CHANNELS_MIN = 6;

const PLANNER_STREAM = 0x706c616e;

export type WorldSize = {
  seed: number;
  days: number;
  checks: number;
  intakes?: number;
  /** Whether checks have policies and silences. */
  policies?: boolean;
};

export function generateWorld({ seed, days, checks, intakes, policies = false }: WorldSize): World {
  const chance = chanceFrom(seed);
  const from = Date.parse(`${chance.pick(BEGINNINGS)}T00:00Z`);
  const drawnIntakes = chance.pick([1, 2, 2, 2, 3]);
  const base = {
    from,
    to: from + days * DAY_MS,
    intakeCount: intakes ?? drawnIntakes,
    channelCount: Math.max(CHANNELS_MIN, Math.ceil(checks / CHECKS_PER_CHANNEL)),
    turnSeconds: TURN_SECONDS,
  };
  const head: WorldHead = { ...base, faults: planFaults(base, chance), silences: [] };
  const context: GeneratorContext = {
    seed,
    base,
    reception: receptionOf(head),
    schedules: new Schedules(from),
    hasPolicies: policies,
  };
  const world = { head, checkCount: checks, check: (index: number) => planCheck(context, index) };
  if (!policies) return world;
  const faults = [...head.faults, ...planPlannerFaults(base, chanceFrom(seed ^ PLANNER_STREAM))];
  return { ...world, head: { ...head, faults, silences: planSilences(context, world) } };
}
