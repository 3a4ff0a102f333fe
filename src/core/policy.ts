// Policies: when a problem of a check is notified, how long its runs may take, and what is combined. A check inherits
// each field that it does not set from the rules of its tags and from its project.
import type { Severity } from "./incident.ts";
import { sentenceText } from "./duration-text.ts";
import {
  DEFAULT_DEPENDENCY_WAIT_SECONDS,
  DEFAULT_GROUP_INTERVAL_SECONDS,
  DEFAULT_GROUP_WAIT_SECONDS,
  MAX_RUN_SECONDS_MIN,
  PERIOD_SECONDS_MIN,
  REPEAT_SECONDS_MIN,
} from "./limits.ts";
import { DEFAULT_RULES, type Rules } from "./rules.ts";

/**
 * What applies to a check. Durations are in seconds. Thresholds and run limits are explained in rules.ts; null means
 * the same there.
 */
export type EffectivePolicy = {
  failures: { count: number; of: number };
  missed: number;
  recovery: number;
  startWithin: number | null;
  maxRun: number | null;
  minRun: number | null;
  minGap: number | null;
  early: number;
  /** How long an alert waits for a late check that this one depends on. */
  dependencyWait: number;
  /** `source`, `project`, or `tag:` with the prefix of a tag. */
  groupBy: readonly string[];
  groupWait: number;
  groupInterval: number;
  /** 0: never. */
  reopenWithin: number;
  /** 0: never. */
  ackTimeout: number;
  /** Null: never. */
  repeat: number | null;
  severity: { failed: Severity; missed: Severity };
};

export type PolicyField = keyof EffectivePolicy;

/**
 * What is set for a check, a tag, or a project; absent fields are inherited. Where null means "none", 0 is stored, so
 * that an inherited value can be switched off.
 */
export type Policy = { [Field in PolicyField]?: NonNullable<EffectivePolicy[Field]> };

/** Null resets a field to its inherited value. */
export type PolicyChange = { [Field in PolicyField]?: NonNullable<EffectivePolicy[Field]> | null };

export type TagRule<ChannelId> = { tag: string; policy: Policy; channels: readonly ChannelId[] };

/** What determines the policy of a check; tag rules in their order. */
export type PolicySources = {
  own: Policy;
  tagRules: readonly Pick<TagRule<unknown>, "tag" | "policy">[];
  tags: readonly string[];
  project: Policy;
};

/** Where the value of a field comes from. */
export type Origin = "check" | "project" | "default" | `tag:${string}`;
export type Origins = Readonly<Record<PolicyField, Origin>>;

export const DEFAULT_POLICY: EffectivePolicy = {
  failures: DEFAULT_RULES.failures,
  missed: DEFAULT_RULES.missed,
  recovery: DEFAULT_RULES.recovery,
  startWithin: DEFAULT_RULES.startWithinSeconds,
  maxRun: DEFAULT_RULES.maxRunSeconds,
  minRun: DEFAULT_RULES.minRunSeconds,
  minGap: DEFAULT_RULES.minGapSeconds,
  early: DEFAULT_RULES.earlySeconds,
  dependencyWait: DEFAULT_DEPENDENCY_WAIT_SECONDS,
  groupBy: [],
  groupWait: DEFAULT_GROUP_WAIT_SECONDS,
  groupInterval: DEFAULT_GROUP_INTERVAL_SECONDS,
  reopenWithin: 0,
  ackTimeout: 0,
  repeat: null,
  severity: { failed: "normal", missed: "normal" },
};

const FIELDS = Object.keys(DEFAULT_POLICY) as PolicyField[];

/** Fields of which 0 means none. For the longest run it means no limit, which differs from none. */
const OFF_AT_ZERO: readonly PolicyField[] = ["startWithin", "minRun", "minGap", "repeat"];

/** Each field from the check, else from the first matching rule that sets it, else from the project, else the default. */
export function effectivePolicy({ own, tagRules, tags, project }: PolicySources): {
  policy: EffectivePolicy;
  origins: Origins;
} {
  const matching = tagRules.filter(({ tag }) => tags.includes(tag));
  const levels: { policy: Policy; origin: Origin }[] = [
    { policy: own, origin: "check" },
    ...matching.map(({ tag, policy }) => ({ policy, origin: `tag:${tag}` as const })),
    { policy: project, origin: "project" },
  ];
  const found = FIELDS.map((field) => {
    const level = levels.find(({ policy }) => policy[field] !== undefined);
    if (level === undefined) return { field, value: DEFAULT_POLICY[field], origin: "default" as const };
    const value = level.policy[field];
    return { field, value: value === 0 && OFF_AT_ZERO.includes(field) ? null : value, origin: level.origin };
  });
  return {
    policy: Object.fromEntries(found.map(({ field, value }) => [field, value])) as EffectivePolicy,
    origins: Object.fromEntries(found.map(({ field, origin }) => [field, origin])) as Origins,
  };
}

/**
 * What the state machine needs of a policy; null if all of it is the default. Without a limit for runs, the grace period
 * ends the wait for a run, so that it also limits an inherited time to start.
 */
export function rulesOf(policy: EffectivePolicy, { graceSeconds }: { graceSeconds: number }): Rules | null {
  const { failures, startWithin, maxRun } = policy;
  const isCapped = startWithin !== null && maxRun === null && startWithin >= graceSeconds;
  const rules: Rules = {
    // One of the last five is as many as one of one.
    failures: failures.count === 1 ? DEFAULT_RULES.failures : failures,
    missed: policy.missed,
    recovery: policy.recovery,
    startWithinSeconds: isCapped ? graceSeconds : startWithin,
    maxRunSeconds: maxRun,
    minRunSeconds: policy.minRun,
    minGapSeconds: policy.minGap,
    earlySeconds: policy.early,
  };
  return isSameRules(rules, DEFAULT_RULES) ? null : rules;
}

/** Whether two checks are judged in the same way. The order of stored fields does not matter. */
export function isSameRules(one: Rules | null, other: Rules | null): boolean {
  return rulesText(one) === rulesText(other);
}

function rulesText(rules: Rules | null): string {
  if (rules === null) return "";
  const { failures, missed, recovery } = rules;
  const { startWithinSeconds, maxRunSeconds, minRunSeconds, minGapSeconds, earlySeconds } = rules;
  const limits = [startWithinSeconds, maxRunSeconds, minRunSeconds, minGapSeconds, earlySeconds];
  return JSON.stringify([failures.count, failures.of, missed, recovery, ...limits]);
}

/** The channels to notify: those assigned to the check and those of all matching rules, each with its first origin. */
export function routedChannels<ChannelId>({
  assigned,
  tagRules,
  tags,
}: {
  assigned: readonly ChannelId[];
  tagRules: readonly Pick<TagRule<ChannelId>, "tag" | "channels">[];
  tags: readonly string[];
}): { channel: ChannelId; origin: Origin }[] {
  const origins = new Map<ChannelId, Origin>(assigned.map((channel) => [channel, "check"]));
  for (const { tag, channels } of tagRules.filter((rule) => tags.includes(rule.tag))) {
    for (const channel of channels) if (!origins.has(channel)) origins.set(channel, `tag:${tag}`);
  }
  return [...origins].map(([channel, origin]) => ({ channel, origin }));
}

/** A policy with some fields changed. Its fields have a fixed order. */
export function changedPolicy(policy: Policy, change: PolicyChange): Policy {
  const merged = { ...policy, ...change };
  const given = FIELDS.map((field) => [field, ordered(merged[field])] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== undefined && value !== null));
}

/** An object with its fields in alphabetical order; the database stores them in its own. */
function ordered(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** All fields of a policy, null where it inherits; for the audit log. */
export function wholePolicy(policy: Policy): Record<PolicyField, unknown> {
  return Object.fromEntries(FIELDS.map((field) => [field, policy[field] ?? null])) as Record<
    PolicyField,
    unknown
  >;
}

export type PolicyProblem = { field: PolicyField; text: string };

/** Durations that are 0 or at least this long. */
const LEAST = [
  { field: "startWithin", name: "start limit", seconds: PERIOD_SECONDS_MIN },
  { field: "maxRun", name: "longest run", seconds: MAX_RUN_SECONDS_MIN },
  { field: "repeat", name: "repeat interval", seconds: REPEAT_SECONDS_MIN },
] as const;

/** What is wrong with a policy whose fields are within their limits; null: nothing. */
export function policyProblem(policy: Policy): PolicyProblem | null {
  const { failures, groupBy } = policy;
  if (failures !== undefined && failures.count > failures.of) {
    return { field: "failures", text: "The number of failures can't be greater than the number of runs." };
  }
  for (const { field, name, seconds } of LEAST) {
    const value = policy[field] ?? 0;
    if (value > 0 && value < seconds) {
      return { field, text: `The ${name} must be at least ${sentenceText(seconds)}.` };
    }
  }
  if (groupBy !== undefined && new Set(groupBy).size < groupBy.length) {
    return { field: "groupBy", text: "The grouping contains the same value twice." };
  }
  return null;
}

/** Why the start limit of a check does not fit its grace period; null: it does. */
export function startLimitProblem(
  { startWithin, maxRun }: Pick<EffectivePolicy, "startWithin" | "maxRun">,
  { graceSeconds }: { graceSeconds: number },
): PolicyProblem | null {
  if (startWithin === null || maxRun !== null || startWithin <= graceSeconds) return null;
  const text =
    "The start limit is longer than the grace period. Also set the longest run, or use a shorter start limit.";
  return { field: "startWithin", text };
}

/** A policy in words, for pages and the API. Settings that have no effect are left out. */
export function policySentence(policy: EffectivePolicy): string {
  return [
    ...thresholdSentences(policy),
    ...runSentences(policy),
    ...groupSentences(policy),
    ...repeatSentences(policy),
    ...severitySentences(policy),
  ].join(" ");
}

function thresholdSentences({ failures: { count, of }, missed, recovery }: EffectivePolicy): string[] {
  const successes = recovery === 1 ? "1 success" : `${recovery} successes in a row`;
  const recovers = `Recovers after ${successes}.`;
  if (count === 1 && missed === 1) {
    const notifies = "Notifies on every failure and missed run.";
    return recovery === 1 ? [notifies] : [notifies, recovers];
  }
  const misses = missed === 1 ? "1 missed run" : `${missed} missed runs in a row`;
  const failures =
    count === of ? `${count} failed runs in a row` : `${count} failures in the last ${of} runs`;
  const notifies = count === 1 ? `on every failure and after ${misses}` : `after ${failures} or ${misses}`;
  return [`Notifies ${notifies}.`, recovers];
}

function runSentences({ startWithin, maxRun, minRun, minGap, early }: EffectivePolicy): string[] {
  const limits = [
    startWithin === null ? null : `start within ${sentenceText(startWithin)} of the expected time`,
    maxRun === null || maxRun === 0 ? null : `take at most ${sentenceText(maxRun)}`,
    minRun === null ? null : `take at least ${sentenceText(minRun)}`,
    minGap === null ? null : `start at least ${sentenceText(minGap)} apart`,
  ].filter((limit) => limit !== null);
  return [
    ...(limits.length > 0 ? [`Runs must ${listed(limits, "and")}.`] : []),
    ...(maxRun === 0 ? ["Runs may take any amount of time."] : []),
    ...(early > 0 ? [`Runs may start up to ${sentenceText(early)} early.`] : []),
  ];
}

function groupSentences({ groupBy, groupWait, groupInterval, reopenWithin }: EffectivePolicy): string[] {
  const keys = groupBy.map((key) =>
    key === "source"
      ? "source address"
      : key === "project"
        ? "project"
        : `tag “${key.slice("tag:".length)}…”`,
  );
  const wait = groupWait === 0 ? "immediately" : `after ${sentenceText(groupWait)}`;
  const combines = [
    `Groups missed runs by ${listed(keys, "or")}.`,
    `Sends the first grouped notification ${wait}, and updates at most every ${every(groupInterval)}.`,
  ];
  const reopens = `A new problem within ${sentenceText(reopenWithin)} reopens the incident.`;
  return [...(keys.length > 0 ? combines : []), ...(reopenWithin > 0 ? [reopens] : [])];
}

function repeatSentences({ repeat, ackTimeout }: EffectivePolicy): string[] {
  if (repeat === null) return [];
  const repeats = `Repeats every ${every(repeat)} until acknowledged or recovered.`;
  return ackTimeout === 0 ? [repeats] : [repeats, `Acknowledgements end after ${sentenceText(ackTimeout)}.`];
}

function severitySentences({ severity: { failed, missed } }: EffectivePolicy): string[] {
  if (failed === "normal" && missed === "normal") return [];
  if (failed === missed) return [`Problems have ${failed} severity.`];
  return [`Failures have ${failed} severity, missed runs ${missed} severity.`];
}

/** "hour" for "1 hour"; longer durations stay as they are. */
function every(seconds: number): string {
  return sentenceText(seconds).replace(/^1 (\w+)$/, "$1");
}

/** "a", "a and b", "a, b, and c". */
function listed(items: readonly string[], word: "and" | "or"): string {
  const last = items.at(-1) ?? "";
  if (items.length < 3) return items.join(` ${word} `);
  return `${items.slice(0, -1).join(", ")}, ${word} ${last}`;
}
