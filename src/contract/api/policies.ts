// Policies of checks, projects, and tags: when a problem is notified, how long runs may take, and what is combined.
import { type Static, type TSchema, Type } from "typebox";
import {
  ACK_TIMEOUT_SECONDS_MAX,
  CHANNELS_PER_PROJECT_MAX,
  DEFAULT_DEPENDENCY_WAIT_SECONDS,
  DEFAULT_GROUP_INTERVAL_SECONDS,
  DEFAULT_GROUP_WAIT_SECONDS,
  DEPENDENCY_WAIT_SECONDS_MAX,
  EARLY_SECONDS_MAX,
  GROUP_BY_MAX,
  GROUP_INTERVAL_SECONDS_MAX,
  GROUP_INTERVAL_SECONDS_MIN,
  GROUP_WAIT_SECONDS_MAX,
  MAX_RUN_SECONDS_MAX,
  MIN_RUN_SECONDS_MAX,
  NAME_LENGTH_MAX,
  OUTCOMES_MAX,
  PARENTS_MAX,
  PERIOD_SECONDS_MAX,
  REOPEN_WITHIN_SECONDS_MAX,
  REPEAT_SECONDS_MAX,
  TAG_RULES_MAX,
} from "../../core/limits.ts";
import { RULE } from "../check.ts";
import { route } from "./route.ts";
import { nullable, UuidText } from "./types.ts";

const integer = (minimum: number, maximum: number, description: string) =>
  Type.Integer({ minimum, maximum, description });
const outcomes = (description: string) => integer(1, OUTCOMES_MAX, description);

const Failures = Type.Object(
  { count: outcomes("Number of failed runs."), of: outcomes("Number of latest runs; at least `count`.") },
  {
    additionalProperties: false,
    description: "Notify on a failure if `count` of the last `of` runs were bad. Default: 1 of 1.",
  },
);

const Severity = Type.Enum(["low", "normal", "high"]);
export type Severity = Static<typeof Severity>;

const Severities = Type.Object(
  { failed: Severity, missed: Severity },
  {
    additionalProperties: false,
    description: "Of reported failures, and of missed or overlong runs. Default: `normal`.",
  },
);

const GroupBy = Type.Array(
  Type.String({
    maxLength: NAME_LENGTH_MAX,
    pattern: "^(source|project|tag:\\S+)$",
    [RULE]: "storable",
  }),
  {
    maxItems: GROUP_BY_MAX,
    description:
      "Combine checks that stop together into one notification: `source` by the IP address of their last pings, `tag:host-` by their tag that begins with `host-`, `project` all of them. Default: none.",
  },
);

/** The fields of any policy. Durations are in seconds. */
const FIELDS = {
  failures: Failures,
  missed: outcomes("Notify after this many missed runs in a row. Default: 1."),
  recovery: outcomes("Recovered after this many successes in a row. Default: 1."),
  startWithin: integer(
    0,
    PERIOD_SECONDS_MAX,
    "A run must start within this time after the expected time; at least 60. 0: the grace period applies.",
  ),
  maxRun: integer(
    0,
    MAX_RUN_SECONDS_MAX,
    "The longest time that a run may take; at least 60. 0: no limit. If not set, the grace period applies.",
  ),
  minRun: integer(
    0,
    MIN_RUN_SECONDS_MAX,
    "The success of a shorter run counts as a failure. 0: no limit, the default.",
  ),
  minGap: integer(
    0,
    PERIOD_SECONDS_MAX,
    "A run that starts sooner after the start of the previous one counts as a failure. 0: no limit, the default.",
  ),
  early: integer(
    0,
    EARLY_SECONDS_MAX,
    "A run may start this much before its scheduled time. Ignored for checks without a schedule. Default: 0.",
  ),
  dependencyWait: integer(
    0,
    DEPENDENCY_WAIT_SECONDS_MAX,
    `How long to wait for a late check that this one depends on. Default: ${DEFAULT_DEPENDENCY_WAIT_SECONDS}.`,
  ),
  groupBy: GroupBy,
  groupWait: integer(
    0,
    GROUP_WAIT_SECONDS_MAX,
    `How long to collect checks for the first combined notification. Default: ${DEFAULT_GROUP_WAIT_SECONDS}.`,
  ),
  groupInterval: integer(
    GROUP_INTERVAL_SECONDS_MIN,
    GROUP_INTERVAL_SECONDS_MAX,
    `The least time between combined notifications about one incident. Default: ${DEFAULT_GROUP_INTERVAL_SECONDS}.`,
  ),
  reopenWithin: integer(
    0,
    REOPEN_WITHIN_SECONDS_MAX,
    "A new problem within this time after the resolution reopens the incident. 0: never, the default.",
  ),
  ackTimeout: integer(
    0,
    ACK_TIMEOUT_SECONDS_MAX,
    "After this time, an acknowledgement ends and repeats resume. 0: never, the default.",
  ),
  repeat: integer(
    0,
    REPEAT_SECONDS_MAX,
    "Repeat the notification at this interval until it is acknowledged or recovered; at least 300. 0: never, the default.",
  ),
  severity: Severities,
};

export const Policy = Type.Partial(Type.Object(FIELDS), {
  description: "The fields that are set. Others are inherited. Durations are in seconds.",
});
export type Policy = Static<typeof Policy>;

export const EffectivePolicy = Type.Object(
  {
    ...FIELDS,
    startWithin: nullable(FIELDS.startWithin, "Null: the grace period applies."),
    maxRun: nullable(FIELDS.maxRun, "0: no limit. Null: the grace period applies."),
    minRun: nullable(FIELDS.minRun, "Null: no limit."),
    minGap: nullable(FIELDS.minGap, "Null: no limit."),
    repeat: nullable(FIELDS.repeat, "Null: never."),
  },
  { description: "All fields as they apply. Durations are in seconds." },
);
export type EffectivePolicy = Static<typeof EffectivePolicy>;

const DependsOn = Type.Array(UuidText, {
  maxItems: PARENTS_MAX,
  description:
    "The checks of the project that this one depends on. While one of them is down and notified, this one is not notified separately.",
});

const Origin = Type.String({ description: "`default`, `project`, or `tag:` with the tag of the rule." });
const origins = Object.fromEntries(Object.keys(FIELDS).map((name) => [name, Origin]));

const Sentence = Type.String({ description: "The policy in words." });
const Version = Type.Integer({
  description: "Identifies this state of the policy. The `ETag` is this number in quotes.",
});

export const CheckPolicy = Type.Object({
  own: Type.Object(
    { ...Policy.properties, dependsOn: DependsOn },
    { description: "What is set for the check. Durations are in seconds." },
  ),
  inherited: EffectivePolicy,
  origins: Type.Object(origins as { [Name in keyof typeof FIELDS]: typeof Origin }, {
    description: "Where the inherited fields come from.",
  }),
  effective: EffectivePolicy,
  sentence: Sentence,
  channels: Type.Array(
    Type.Object({
      id: UuidText,
      origin: Type.String({ description: "`check` if assigned, or `tag:` with the tag of the rule." }),
    }),
    { description: "The channels that are notified." },
  ),
  version: Version,
});
export type CheckPolicy = Static<typeof CheckPolicy>;

export const ProjectPolicy = Type.Object({
  own: Policy,
  effective: EffectivePolicy,
  sentence: Sentence,
  ackLinks: Type.Boolean({
    description: "Whether notifications contain a link to acknowledge the problem without signing in.",
  }),
  version: Version,
});
export type ProjectPolicy = Static<typeof ProjectPolicy>;

/** Each field can be null, which resets it to the inherited value. */
function resettable<Fields extends Record<string, TSchema>>(fields: Fields) {
  const entries = Object.entries(fields).map(([name, schema]) => [name, nullable(schema)]);
  type Resettable = { [Name in keyof Fields]: ReturnType<typeof nullable<Fields[Name]>> };
  return Object.fromEntries(entries) as Resettable;
}

const CHANGES = resettable(FIELDS);

const { failures, missed, recovery, startWithin, maxRun, minRun, minGap, early } = CHANGES;
/** The fields that decide whether a run raises an alert. */
export const RULE_CHANGES = {
  failures,
  missed,
  recovery,
  startWithin,
  maxRun,
  minRun,
  minGap,
  early,
};

const CheckPolicyChange = Type.Partial(Type.Object({ ...CHANGES, dependsOn: nullable(DependsOn) }), {
  additionalProperties: false,
});
export type CheckPolicyChange = Static<typeof CheckPolicyChange>;

const ProjectPolicyChange = Type.Partial(
  Type.Object({ ...CHANGES, ackLinks: ProjectPolicy.properties.ackLinks }),
  { additionalProperties: false },
);
export type ProjectPolicyChange = Static<typeof ProjectPolicyChange>;

export const TagRule = Type.Object(
  {
    tag: Type.String({
      minLength: 1,
      maxLength: NAME_LENGTH_MAX,
      pattern: "^\\S+$",
      [RULE]: "storable",
      description: "The rule applies to checks with this tag.",
    }),
    policy: Type.Partial(Type.Object(FIELDS), {
      additionalProperties: false,
      description: "The fields that the rule sets. The first rule that sets a field applies.",
    }),
    channels: Type.Array(UuidText, {
      maxItems: CHANNELS_PER_PROJECT_MAX,
      description: "Channels that are notified in addition to those assigned to the check.",
    }),
  },
  { additionalProperties: false },
);
export type TagRule = Static<typeof TagRule>;

const rules = Type.Array(TagRule, { maxItems: TAG_RULES_MAX, description: "The rules in their order." });

export const TagRules = Type.Object({ rules, version: Version });
export type TagRules = Static<typeof TagRules>;

const TagRulesChange = Type.Object({ rules }, { additionalProperties: false });

const EXAMPLE_DEFAULTS: EffectivePolicy = {
  failures: { count: 1, of: 1 },
  missed: 1,
  recovery: 1,
  startWithin: null,
  maxRun: null,
  minRun: null,
  minGap: null,
  early: 0,
  dependencyWait: DEFAULT_DEPENDENCY_WAIT_SECONDS,
  groupBy: [],
  groupWait: DEFAULT_GROUP_WAIT_SECONDS,
  groupInterval: DEFAULT_GROUP_INTERVAL_SECONDS,
  reopenWithin: 0,
  ackTimeout: 0,
  repeat: null,
  severity: { failed: "normal", missed: "normal" },
};
const EXAMPLE_CHANNEL = "5c2bbd30-6b2e-4a0f-9d3b-0f6f2f3c8a11";
const EXAMPLE_PARENT = "f618072a-7bde-4eee-af63-71a77c5723bc";

const EXAMPLE_CHECK_POLICY: CheckPolicy = {
  own: { failures: { count: 3, of: 3 }, dependsOn: [EXAMPLE_PARENT] },
  inherited: { ...EXAMPLE_DEFAULTS, repeat: 3600 },
  origins: {
    ...(Object.fromEntries(Object.keys(FIELDS).map((name) => [name, "default"])) as CheckPolicy["origins"]),
    repeat: "tag:prod",
  },
  effective: { ...EXAMPLE_DEFAULTS, failures: { count: 3, of: 3 }, repeat: 3600 },
  sentence:
    "Notifies after 3 failed runs in a row or 1 missed run. Recovers after 1 success. Repeats every hour until acknowledged or recovered.",
  channels: [{ id: EXAMPLE_CHANNEL, origin: "check" }],
  version: 162_254_319_821_477,
};

const EXAMPLE_PROJECT_POLICY: ProjectPolicy = {
  own: { missed: 2 },
  effective: { ...EXAMPLE_DEFAULTS, missed: 2 },
  sentence: "Notifies on every failure and after 2 missed runs in a row. Recovers after 1 success.",
  ackLinks: true,
  version: 90_071_992_547_409,
};

const EXAMPLE_RULES: TagRule[] = [{ tag: "prod", policy: { repeat: 3600 }, channels: [EXAMPLE_CHANNEL] }];

const CHECK_POLICY = "/checks/{check}/policy";
const PROJECT_POLICY = "/projects/{project}/policy";
const TAG_RULES = "/projects/{project}/tag-rules";
const READ = { method: "GET", access: "view", keys: "readOnly", tag: "Policies", etag: true } as const;
/** API keys have the role of a member, who may not edit these. */
const MANAGE = { access: "editPolicies", keys: null, tag: "Policies", etag: true } as const;

const checkPolicy = { status: 200, schema: CheckPolicy, example: EXAMPLE_CHECK_POLICY } as const;
const projectPolicy = { status: 200, schema: ProjectPolicy, example: EXAMPLE_PROJECT_POLICY } as const;
const tagRules = {
  status: 200,
  schema: TagRules,
  example: { rules: EXAMPLE_RULES, version: EXAMPLE_PROJECT_POLICY.version },
} as const;

export const policyRoutes = {
  getCheckPolicy: route({
    ...READ,
    path: CHECK_POLICY,
    summary: "Get the policy of a check",
    description:
      "Returns what is set for the check, what it inherits from tag rules and the project, and what applies.",
    success: { ...checkPolicy, description: "The policy." },
  }),
  updateCheckPolicy: route({
    method: "PATCH",
    access: "editChecks",
    keys: "readWrite",
    tag: "Policies",
    etag: true,
    path: CHECK_POLICY,
    summary: "Update the policy of a check",
    description:
      "Changes the given fields. A field set to null is inherited again. Deadlines that have passed count by the previous policy. If the check is down and the new thresholds are met, it is notified at once.",
    body: CheckPolicyChange,
    bodyExample: { failures: { count: 3, of: 3 }, repeat: null },
    success: { ...checkPolicy, description: "The updated policy." },
  }),
  getProjectPolicy: route({
    ...READ,
    path: PROJECT_POLICY,
    summary: "Get the policy of a project",
    description: "Returns what is set for all checks of the project, and what applies without tag rules.",
    success: { ...projectPolicy, description: "The policy." },
  }),
  updateProjectPolicy: route({
    ...MANAGE,
    method: "PATCH",
    path: PROJECT_POLICY,
    summary: "Update the policy of a project",
    description:
      "Changes the given fields for all checks that do not set them themselves or by a tag rule. A field set to null gets its default again.",
    body: ProjectPolicyChange,
    bodyExample: { missed: 2, ackLinks: true },
    success: { ...projectPolicy, description: "The updated policy." },
  }),
  getTagRules: route({
    ...READ,
    path: TAG_RULES,
    summary: "List tag rules",
    description:
      "Returns the tag rules of a project in their order. For each field of a policy, the first matching rule that sets it applies. The channels of all matching rules are notified.",
    success: { ...tagRules, description: "The tag rules." },
  }),
  setTagRules: route({
    ...MANAGE,
    method: "PUT",
    path: TAG_RULES,
    summary: "Replace the tag rules",
    description: "Replaces all tag rules of a project.",
    body: TagRulesChange,
    bodyExample: { rules: EXAMPLE_RULES },
    success: { ...tagRules, description: "The new tag rules." },
  }),
};
