// Generates how runs are judged, tags and silences. They have their own random generators, so that a world without
// them stays the same.
import { type Chance, chanceFrom } from "../../faults/chance.ts";
import type { NotifyRules, RunRules, Settings, SilenceTimes } from "../model/history.ts";
import { DEFAULT_RUN_RULES } from "../model/rules.ts";
import { type GeneratorContext, mixed, whenReachable } from "./generator-context.ts";
import { between } from "./plan-faults.ts";
import { type CheckPlan, projectOf, type SilencePlan } from "./world.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

const POLICY_STREAM = 0x706f6c69;
const SILENCE_STREAM = 0x73696c65;
const TAGS = ["db", "web", "nightly", "eu"];
const SILENCE_SCHEDULES = ["0 2 * * *", "30 1 * * *", "0 3 * * 1-5", "0 */6 * * *", "*/30 2 * * *"];
const SILENCE_ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Auckland"];

/** The random generator for the policy of a check. */
export function policyChance(seed: number, index: number): Chance {
  return chanceFrom(mixed(seed ^ POLICY_STREAM, index));
}

export function someTags(chance: Chance): string[] {
  return TAGS.filter(() => chance.fraction() < 0.3);
}

/** Rules that fit the settings; null for some checks. */
export function someRules(chance: Chance, settings: Settings): RunRules | null {
  const rules = { ...DEFAULT_RUN_RULES };
  const { graceSeconds } = settings;
  const periodSeconds = settings.kind === "simple" ? settings.periodSeconds : 3_600;
  const isChosen = (probability: number) => chance.fraction() < probability;
  if (isChosen(0.35)) {
    const count = chance.between(2, 4);
    rules.failures = { count, of: count + chance.pick([0, 0, 1, 3]) };
  }
  if (isChosen(0.35)) rules.missed = chance.between(2, 4);
  if (isChosen(0.3)) rules.recovery = chance.between(2, 4);
  if (isChosen(0.2)) rules.maxRunSeconds = chance.pick([0, 60, graceSeconds * 2, 7_200]);
  const startMax = rules.maxRunSeconds === null ? graceSeconds : 2 * graceSeconds;
  if (isChosen(0.2)) rules.startWithinSeconds = chance.between(60, startMax);
  if (isChosen(0.15)) rules.minRunSeconds = chance.between(1, Math.max(2, graceSeconds / 10));
  if (isChosen(0.15)) rules.minGapSeconds = chance.between(1, Math.floor(periodSeconds / 2));
  if (settings.kind === "cron" && isChosen(0.3)) rules.earlySeconds = chance.pick([60, 600, 3_600, 86_400]);
  return JSON.stringify(rules) === JSON.stringify(DEFAULT_RUN_RULES) ? null : rules;
}

/** How alerts are combined, delayed and repeated. Only alerts that are not combined are repeated. */
export function someNotifyRules(chance: Chance, { hasParents }: { hasParents: boolean }): NotifyRules {
  const isChosen = (probability: number) => chance.fraction() < probability;
  const isGrouped = isChosen(0.3);
  const isRepeated = isChosen(0.3) && !isGrouped && !hasParents;
  return {
    dependencyWaitSeconds: chance.pick([0, 120, 300]),
    isGrouped,
    groupWaitSeconds: chance.pick([0, 30, 300]),
    groupIntervalSeconds: chance.pick([60, 300, 3_600]),
    reopenWithinSeconds: isChosen(0.2) && !isGrouped && !hasParents ? chance.pick([600, 3_600]) : 0,
    ackTimeoutSeconds: isChosen(0.3) ? chance.pick([3_600, 86_400]) : 0,
    repeatSeconds: isRepeated ? chance.pick([300, 3_600, 21_600]) : null,
  };
}

/** Silences of all projects: of single checks, by tag, and of everything. */
export function planSilences(
  context: GeneratorContext,
  { checkCount, check }: { checkCount: number; check: (index: number) => CheckPlan },
): SilencePlan[] {
  const { base, seed } = context;
  const chance = chanceFrom(mixed(seed ^ SILENCE_STREAM, 0));
  const days = (base.to - base.from) / DAY_MS;
  const count = Math.ceil(Math.min(checkCount, 100) * Math.min(days, 30) * 0.1) + 3;
  return Array.from({ length: count }, () => {
    // A silence belongs to the project of some check.
    const plan = check(chance.between(0, checkCount - 1));
    const project = projectOf(plan);
    const deletedTrueAt = plan.actions.find(({ what }) => what === "delete")?.trueAt ?? base.to;
    // A check that does not exist yet, or no longer, cannot be named.
    const from = plan.createdTrueAt + HOUR_MS;
    const to = Math.max(from, deletedTrueAt - HOUR_MS);
    const trueAt = whenReachable(context, Math.floor(between(chance, [from, to])));
    const scope = trueAt < deletedTrueAt ? someScope(chance, plan) : { kind: "all" as const };
    const times = someTimes(chance, trueAt);
    return { project, scope, trueAt, times, changes: someChanges(context, chance, { trueAt, times }) };
  });
}

function someScope(chance: Chance, { name, tags }: CheckPlan): SilencePlan["scope"] {
  const roll = chance.fraction();
  const [tag] = tags;
  if (roll < 0.2) return { kind: "all" };
  if (roll < 0.5 && tag !== undefined) return { kind: "tag", tag };
  return { kind: "checks", names: [name] };
}

function someTimes(chance: Chance, trueAt: number): SilenceTimes {
  const holdAfterSeconds = chance.pick([0, 0, 600, 3_600]);
  if (chance.fraction() < 0.3) {
    return {
      kind: "recurring",
      from: trueAt,
      isUntilSuccess: false,
      holdAfterSeconds,
      schedule: chance.pick(SILENCE_SCHEDULES),
      tz: chance.pick(SILENCE_ZONES),
      durationSeconds: chance.pick([1_200, 3_600, 7_200, 10_800]),
    };
  }
  const from =
    trueAt + (chance.fraction() < 0.5 ? 0 : wholeMinutes(between(chance, [MINUTE_MS, 12 * HOUR_MS])));
  const until = from + wholeMinutes(between(chance, [5 * MINUTE_MS, 36 * HOUR_MS]));
  return { kind: "once", from, until, isUntilSuccess: chance.fraction() < 0.25, holdAfterSeconds };
}

/** Some silences are extended or shortened, and some are ended. */
function someChanges(
  context: GeneratorContext,
  chance: Chance,
  { trueAt, times }: { trueAt: number; times: SilenceTimes },
): SilencePlan["changes"] {
  const changes: { trueAt: number; times: SilenceTimes | null }[] = [];
  const lengthMs = times.kind === "once" ? times.until - trueAt : 3 * DAY_MS;
  const later = (fraction: number) => whenReachable(context, Math.floor(trueAt + lengthMs * fraction));
  if (chance.fraction() < 0.25) {
    const changedAt = later(chance.fraction() * 0.4);
    const changed: SilenceTimes =
      times.kind === "once"
        ? { ...times, until: changedAt + wholeMinutes(between(chance, [10 * MINUTE_MS, 12 * HOUR_MS])) }
        : { ...times, durationSeconds: chance.pick([600, 5_400]), holdAfterSeconds: 1_800 };
    // The new end must lie after the beginning.
    const isValid = changed.kind === "recurring" || changed.until > changed.from + 10 * MINUTE_MS;
    if (isValid) changes.push({ trueAt: changedAt, times: changed });
  }
  if (chance.fraction() < 0.25) changes.push({ trueAt: later(0.45 + chance.fraction() * 0.5), times: null });
  return changes.filter((change) => change.trueAt < context.base.to);
}

function wholeMinutes(ms: number): number {
  return Math.ceil(ms / MINUTE_MS) * MINUTE_MS;
}
