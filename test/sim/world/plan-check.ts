// Generates one check: its settings and the actions of its job and users. Each check has its own random generator,
// so that it can be generated alone.
import { type Chance, chanceFrom } from "../../faults/chance.ts";
import type { Expectation, Settings } from "../model/history.ts";
import { type GeneratorContext, mixed, whenReachable } from "./generator-context.ts";
import { DEFAULT_NOTIFY_RULES, DEFAULT_RUN_RULES } from "../model/rules.ts";
import { policyChance, someNotifyRules, someRules, someTags } from "./plan-policy.ts";
import { planRuns } from "./plan-runs.ts";
import { type Action, CHANNELS_PER_PROJECT, type CheckPlan } from "./world.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

const ZONES = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "Australia/Lord_Howe",
  "Pacific/Auckland",
  "Pacific/Chatham",
  "America/Sao_Paulo",
  "Asia/Kolkata",
  "Africa/Casablanca",
];

/** With weights. Long periods are more likely, so that a run covers more days. */
const PERIOD_SECONDS: readonly (readonly [number, number])[] = [
  [600, 0.5],
  [1_800, 1],
  [3_600, 4],
  [10_800, 12],
  [21_600, 16],
  [43_200, 20],
  [86_400, 38],
  [604_800, 5],
];
const CRON: readonly (readonly [string, number])[] = [
  ["*/15 * * * *", 0.4],
  ["0 * * * *", 2.5],
  ["30 */2 * * *", 5],
  ["0 3 * * *", 15],
  ["30 2 * * *", 12],
  ["30 1 * * *", 8],
  ["*/30 2 * * *", 4],
  ["15 6,18 * * *", 8],
  ["0 9 * * 1-5", 8],
  ["0 0-6 * * *", 3],
  ["0 0 1 * *", 2],
  ["0 4 * * 0", 4],
  ["0 12 13 * 5", 1],
];
const ONCALENDAR: readonly (readonly [string, number])[] = [
  ["*:0/30", 0.5],
  ["hourly", 1.5],
  ["daily", 8],
  ["02:30", 8],
  ["01:30", 4],
  ["0/6:15", 6],
  ["Mon..Fri 06:00", 6],
  ["weekly", 3],
  ["*-*-01,15 03:00", 2],
];
const GRACE_SECONDS = [60, 300, 900, 1_800, 3_600, 7_200, 14_400];

export function planCheck(context: GeneratorContext, index: number): CheckPlan {
  const { base } = context;
  const { chance, policy, settings, createdTrueAt, ...drawn } = beginCheck(context, index);
  const related = policy === null ? UNRELATED : relations(context, index, { createdTrueAt, ...drawn });
  const { channels, parents } = { ...drawn, ...related };
  const edits = planEdits(context, { chance, policy }, { createdTrueAt, settings });
  const actions: Action[] = [];
  const parts = [{ trueAt: createdTrueAt, settings }, ...edits];
  for (const [place, part] of parts.entries()) {
    const to = parts[place + 1]?.trueAt ?? base.to;
    actions.push(...planRuns({ context, chance, index }, { from: part.trueAt, to, settings: part.settings }));
  }
  actions.push(
    ...edits.map(({ trueAt, settings: next }): Action => ({ trueAt, what: "edit", settings: next })),
  );
  actions.push(...planCommands(context, chance, createdTrueAt));
  const tags = policy === null ? [] : someTags(policy);
  const notify =
    policy === null ? DEFAULT_NOTIFY_RULES : someNotifyRules(policy, { hasParents: parents.length > 0 });
  if (policy !== null) actions.push(...planAcks(context, policy, createdTrueAt));
  actions.sort((one, other) => one.trueAt - other.trueAt);
  const name = `c${index}`;
  return { name, settings, channels, tags, parents, notify, createdTrueAt, actions: untilDeleted(actions) };
}

/** What is drawn first. */
function beginCheck(context: GeneratorContext, index: number) {
  const chance = chanceFrom(mixed(context.seed, index));
  const { base } = context;
  const manualResume = chance.fraction() < 0.2;
  const policy = context.hasPolicies ? policyChance(context.seed, index) : null;
  const settings = withRules(policy, someSettings(chance, { manualResume }));
  const isLater = chance.fraction() < 0.1;
  const createdTrueAt = isLater ? whenReachable(context, someTime(chance, base)) : base.from;
  const drawn = someChannels(chance, base.channelCount);
  // Some checks that others depend on have no channels.
  const channels = policy !== null && index % (4 * FAMILY) === 0 ? [] : drawn;
  return { chance, policy, settings, createdTrueAt, channels };
}

const UNRELATED = { parents: [] };
/** Of this many checks, the last ones depend on the first. */
const FAMILY = 8;
const CHILDREN = 3;

/** In a world with policies, some checks depend on another check of their project. */
function relations(
  context: GeneratorContext,
  index: number,
  child: { createdTrueAt: number; channels: readonly number[] },
): { parents: string[]; channels?: number[] } {
  const parentIndex = index - (index % FAMILY);
  if (index % FAMILY < FAMILY - CHILDREN) return UNRELATED;
  const parent = beginCheck(context, parentIndex);
  if (parent.createdTrueAt > child.createdTrueAt) return UNRELATED;
  const project = Math.floor((parent.channels[0] ?? 0) / CHANNELS_PER_PROJECT) * CHANNELS_PER_PROJECT;
  // A check without channels belongs to the first project.
  if (child.channels.length === 0 && project > 0) return UNRELATED;
  const count = Math.min(CHANNELS_PER_PROJECT, context.base.channelCount - project);
  const channels = new Set(child.channels.map((channel) => project + (channel % count)));
  return { parents: [`c${parentIndex}`], channels: [...channels].toSorted((one, other) => one - other) };
}

/** Users acknowledge problems, or try to. */
function planAcks(context: GeneratorContext, chance: Chance, createdTrueAt: number): Action[] {
  const count = chance.fraction() < 0.5 ? 0 : 6;
  return Array.from({ length: count }, () => whenReachable(context, someTime(chance, context.base)))
    .filter((trueAt) => trueAt > createdTrueAt)
    .map((trueAt) => ({ trueAt, what: "ack" }));
}

/** Settings with their own rules, in a world with policies. */
function withRules(policy: Chance | null, settings: Settings): Settings {
  return policy === null ? settings : { ...settings, rules: someRules(policy, settings) };
}

function untilDeleted(actions: Action[]): Action[] {
  const end = actions.findIndex(({ what }) => what === "delete");
  return end < 0 ? actions : actions.slice(0, end + 1);
}

function someSettings(chance: Chance, { manualResume }: { manualResume: boolean }): Settings {
  const expects = someExpectation(chance);
  const mostSeconds = expects.kind === "simple" ? expects.periodSeconds : 14_400;
  const graceSeconds = chance.pick(GRACE_SECONDS.filter((one) => one <= mostSeconds));
  return { ...expects, graceSeconds, manualResume, rules: null };
}

function someExpectation(chance: Chance): Expectation {
  const kind = weightedPick(chance, [
    ["simple", 50],
    ["cron", 35],
    ["oncalendar", 15],
  ]);
  if (kind === "simple") return { kind, periodSeconds: weightedPick(chance, PERIOD_SECONDS) };
  const tz = chance.pick(ZONES);
  if (kind === "cron") return { kind, schedule: weightedPick(chance, CRON), tz };
  return { kind: "oncalendar", schedule: weightedPick(chance, ONCALENDAR), tz };
}

function someChannels(chance: Chance, count: number): number[] {
  const roll = chance.fraction();
  // Some checks have no channels.
  if (roll < 0.03) return [];
  const first = chance.between(0, count - 1);
  const channels = new Set([first]);
  const project = first - (first % CHANNELS_PER_PROJECT);
  const last = Math.min(count, project + CHANNELS_PER_PROJECT) - 1;
  if (roll > 0.7) channels.add(chance.between(project, last));
  return [...channels].toSorted((one, other) => one - other);
}

type Part = { trueAt: number; settings: Settings };

function planEdits(
  context: GeneratorContext,
  { chance, policy }: { chance: Chance; policy: Chance | null },
  { createdTrueAt, settings }: { createdTrueAt: number; settings: Settings },
): Part[] {
  const roll = chance.fraction();
  const count = roll < 0.8 ? 0 : roll < 0.93 ? 1 : 3;
  const times = Array.from({ length: count }, () => ({
    trueAt: someTime(chance, context.base),
    ofRules: false,
  }));
  // In a world with policies, some users change how runs are judged.
  const changes = policy === null || policy.fraction() < 0.6 ? [] : [policy, policy];
  for (const of of changes) times.push({ trueAt: someTime(of, context.base), ofRules: true });
  let current = settings;
  let editedTrueAt = 0;
  return times
    .filter(({ trueAt }) => trueAt > createdTrueAt)
    .toSorted((one, other) => one.trueAt - other.trueAt)
    .map(({ trueAt, ofRules }) => {
      current = ofRules ? withRules(policy, current) : edited(chance, current);
      const reachedTrueAt = whenReachable(context, trueAt);
      // Without policies, the worlds of a seed stay what they were.
      editedTrueAt = policy === null ? reachedTrueAt : Math.max(reachedTrueAt, editedTrueAt);
      return { trueAt: editedTrueAt, settings: current };
    });
}

function edited(chance: Chance, current: Settings): Settings {
  const fresh = { ...someSettings(chance, current), rules: current.rules };
  // Half of the edits change only the grace period.
  const next = chance.fraction() < 0.5 ? { ...current, graceSeconds: fresh.graceSeconds } : fresh;
  const { startWithinSeconds, maxRunSeconds } = next.rules ?? DEFAULT_RUN_RULES;
  // Without a limit for runs, the start may not take longer than the grace period.
  const graceMin = maxRunSeconds === null ? (startWithinSeconds ?? 0) : 0;
  return { ...next, graceSeconds: Math.max(next.graceSeconds, graceMin) };
}

function planCommands(context: GeneratorContext, chance: Chance, createdTrueAt: number): Action[] {
  const actions: Action[] = [];
  const add = (trueAt: number, what: "pause" | "resume" | "delete") => {
    const at = whenReachable(context, trueAt);
    if (at > createdTrueAt && at < context.base.to) actions.push({ trueAt: at, what });
  };
  const roll = chance.fraction();
  const pauses = roll < 0.85 ? 0 : roll < 0.95 ? 1 : 3;
  for (let pause = 0; pause < pauses; pause += 1) {
    const trueAt = someTime(chance, context.base);
    add(trueAt, "pause");
    if (chance.fraction() < 0.7) add(trueAt + Math.floor(chance.fraction() * 2 * DAY_MS), "resume");
  }
  // Occasionally, a user resumes a check that is not paused.
  if (chance.fraction() < 0.02) add(someTime(chance, context.base), "resume");
  if (chance.fraction() < 0.03) add(someTime(chance, context.base), "delete");
  return actions;
}

function someTime(chance: Chance, { from, to }: { from: number; to: number }): number {
  return Math.floor(from + HOUR_MS + chance.fraction() * (to - from - 2 * HOUR_MS));
}

function weightedPick<T>(chance: Chance, choices: readonly (readonly [T, number])[]): T {
  let roll = chance.fraction() * choices.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [choice, weight] of choices) {
    roll -= weight;
    if (roll < 0) return choice;
  }
  throw new Error("no choices");
}
