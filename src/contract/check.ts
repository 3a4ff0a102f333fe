// A check in the Management API: response schemas, request schemas by version, validation, and presentation as JSON.
import { type Static, type TObject, type TSchema, Type } from "typebox";
import {
  type BodyField,
  type CheckRequest,
  checkRequestOf,
  type CheckSettings,
  hasParam,
  isLongerThan,
  PARAM_FIELDS,
  type ParamRules,
  subjectFailOf,
  subjectOf,
  TEXT_RULES,
  type TextRule,
  UNIQUE_FIELDS,
} from "../core/check.ts";
import { type Checked, ERROR_TEXT, FIELD_PROBLEM, type FieldProblem, fieldText } from "../core/errors.ts";
import { type KeyKind, type Sha1Hex, uniqueKey } from "../core/identity.ts";
import { type Instant, SECOND_MS } from "../core/instant.ts";
import {
  DEFAULT_GRACE_SECONDS,
  DEFAULT_TIMEOUT_SECONDS,
  DEFAULT_TZ,
  DESCRIPTION_LENGTH_MAX,
  KEYWORDS_LENGTH_MAX,
  NAME_LENGTH_MAX,
  PERIOD_SECONDS_MAX,
  PERIOD_SECONDS_MIN,
  SCHEDULE_LENGTH_MAX,
  SLUG_LENGTH_MAX,
  TAGS_LENGTH_MAX,
} from "../core/limits.ts";
import { type CheckState, nextPingAt, statusAt, statusWithStartedAt } from "../core/state.ts";
import { isoSeconds } from "./timestamp.ts";
import { checkBadgeUrl, checkUrls, type CheckUrls, pingUrl, type PublicUrls } from "./urls.ts";
import {
  type ApiEndpoint,
  CHECK_FIELDS,
  type CheckField,
  type CheckValues,
  EXTENSION,
  TIMING_FIELDS,
  type VersionColumn,
} from "./versions.ts";

const SUBJECTS: readonly CheckField[] = ["subject", "subject_fail"];
const EXTENSIONS: readonly CheckField[] = ["filter_http_body", "filter_default_fail"];

/** Which answer is meant: what is shown depends on the version, the endpoint and the key. */
export type Showing = { column: VersionColumn; endpoint: ApiEndpoint; keyKind: KeyKind };

/** The fields of a check in the order in which they are shown, those at its end by its kind left out. */
function shownFields({ column, endpoint, keyKind }: Showing): CheckField[] {
  const hasSubjects = column.subjectsOn.includes(endpoint);
  const common = column.checkFields.filter((field) => hasSubjects || !SUBJECTS.includes(field));
  return [...common, ...column.keyFields[keyKind]];
}

/** Whether a field may be missing although its answer shows it in general. */
function isSometimesShown(field: CheckField, column: VersionColumn): boolean {
  return field === "last_duration" || (column.extensions === "whenSet" && EXTENSIONS.includes(field));
}

/** The schema of a check in an answer. */
export function checkSchema(showing: Showing): TObject {
  const properties: Record<string, TSchema> = {};
  for (const field of shownFields(showing)) {
    const schema = field === "status" ? statusSchema(showing.column) : CHECK_FIELDS[field];
    properties[field] = isSometimesShown(field, showing.column) ? Type.Optional(schema) : schema;
  }
  for (const field of [...TIMING_FIELDS.simple, ...TIMING_FIELDS.scheduled]) {
    properties[field] = Type.Optional(CHECK_FIELDS[field]);
  }
  return Type.Object(properties, { additionalProperties: false });
}

/** A status of version 3. */
const Status = Type.Unsafe<"new" | "up" | "grace" | "down" | "paused">({
  type: "string",
  enum: ["new", "up", "grace", "down", "paused"],
  description: "Status of the check.",
});

function statusSchema(column: VersionColumn): TSchema {
  return column.startedIsStatus ? CHECK_FIELDS.status : Status;
}

const { name, slug, tags, desc, grace, n_pings, started, last_ping, next_ping, manual_resume, methods } =
  CHECK_FIELDS;
const { start_kw, success_kw, failure_kw, filter_subject, filter_body, badge_url } = CHECK_FIELDS;

const COMMON_3 = {
  name,
  slug,
  tags,
  desc,
  grace,
  n_pings,
  status: Status,
  started,
  last_ping,
  next_ping,
  manual_resume,
  methods,
  start_kw,
  success_kw,
  failure_kw,
  filter_subject,
  filter_body,
  badge_url,
  subject: Type.Optional(CHECK_FIELDS.subject),
  subject_fail: Type.Optional(CHECK_FIELDS.subject_fail),
  filter_http_body: Type.Optional(CHECK_FIELDS.filter_http_body),
  filter_default_fail: Type.Optional(CHECK_FIELDS.filter_default_fail),
  last_duration: Type.Optional(CHECK_FIELDS.last_duration),
  timeout: Type.Optional(CHECK_FIELDS.timeout),
  schedule: Type.Optional(CHECK_FIELDS.schedule),
  tz: Type.Optional(CHECK_FIELDS.tz),
};
const { uuid: uuidField, ping_url, update_url, pause_url, resume_url, channels, unique_key } = CHECK_FIELDS;

/** A check of version 3 as whoever has a read-write key sees it; for the types of the client. */
export const Check = Type.Object({
  ...COMMON_3,
  uuid: uuidField,
  ping_url,
  update_url,
  pause_url,
  resume_url,
  channels,
});
export type Check = Static<typeof Check>;

/** The same with a read-only key. */
export const ReadOnlyCheck = Type.Object({ ...COMMON_3, unique_key });
export type ReadOnlyCheck = Static<typeof ReadOnlyCheck>;

// What a create or update request may contain, by version. The validator, OpenAPI and the client types use it.

/** The key under which a schema names the rule of core that a text has to keep besides its shape. */
export const RULE = "x-rule";

type TextLimits = {
  maxLength?: number;
  pattern?: string;
  default?: string;
  deprecated?: true;
  description: string;
};

function textSchema(rule: TextRule, limits: TextLimits) {
  return Type.String({ ...limits, [RULE]: rule });
}

const seconds = (options: { default: number; description: string }) =>
  Type.Integer({ minimum: PERIOD_SECONDS_MIN, maximum: PERIOD_SECONDS_MAX, ...options });
const keywords = (description: string) =>
  textSchema("storable", { maxLength: KEYWORDS_LENGTH_MAX, description });
const oldKeywords = (description: string) =>
  textSchema("storable", { maxLength: KEYWORDS_LENGTH_MAX, deprecated: true, description });
const flag = (description: string) => Type.Boolean({ default: false, description });
const extension = (description: string) => Type.Boolean({ [EXTENSION]: true, default: false, description });

/** In version 3; other versions lack some of them, or accept less. */
const FIELDS = {
  channels: textSchema("storable", {
    description:
      "Integrations: `*` for all, an empty string for none, or a comma-separated list of UUIDs or names.",
  }),
  desc: textSchema("storable", { maxLength: DESCRIPTION_LENGTH_MAX, description: "Description." }),
  failure_kw: keywords("Comma-separated keywords for Failure pings."),
  filter_subject: flag("Match keywords in the subject of emails."),
  filter_body: flag("Match keywords in the body of emails."),
  filter_http_body: extension("Extension: match keywords in the body of HTTP pings."),
  filter_default_fail: extension("Extension: treat a message that matches no keyword as a failure."),
  grace: seconds({ default: DEFAULT_GRACE_SECONDS, description: "Grace period in seconds." }),
  manual_resume: flag("Whether a paused check ignores pings until it is resumed."),
  methods: Type.Unsafe<"" | "POST">({
    type: "string",
    enum: ["", "POST"],
    default: "",
    description: "Empty to accept HEAD, GET, and POST as pings; `POST` to accept only POST.",
  }),
  name: textSchema("storable", { maxLength: NAME_LENGTH_MAX, default: "", description: "Name." }),
  schedule: textSchema("schedule", {
    maxLength: SCHEDULE_LENGTH_MAX,
    description: "Cron or OnCalendar expression. Takes precedence over `timeout`.",
  }),
  slug: textSchema("storable", {
    maxLength: SLUG_LENGTH_MAX,
    pattern: "^[a-z0-9_-]*$",
    default: "",
    description: "Slug.",
  }),
  start_kw: keywords("Comma-separated keywords for Start pings."),
  subject: oldKeywords("Deprecated: sets `success_kw` and `filter_subject`."),
  subject_fail: oldKeywords("Deprecated: sets `failure_kw` and `filter_subject`."),
  success_kw: keywords("Comma-separated keywords for Success pings."),
  tags: textSchema("storable", {
    maxLength: TAGS_LENGTH_MAX,
    default: "",
    description: "Tags, separated by spaces.",
  }),
  timeout: seconds({ default: DEFAULT_TIMEOUT_SECONDS, description: "Expected period in seconds." }),
  tz: textSchema("zone", { default: DEFAULT_TZ, description: "Time zone of the schedule." }),
  unique: Type.Array(
    Type.Unsafe<(typeof UNIQUE_FIELDS)[number]>({ type: "string", enum: [...UNIQUE_FIELDS] }),
    {
      default: [],
      description: "Fields used to find an existing check. If one matches, it is updated instead.",
    },
  ),
} as const satisfies Record<BodyField, TSchema>;

const ApiKeyField = Type.String({ description: "The API key, if it is not sent in the header." });

/** The schema of a request body in a version, its fields in core's order. An update has no use for `unique`, but judges it. */
export function checkBodySchema(rules: ParamRules): TObject {
  const properties: Record<string, TSchema> = {};
  for (const field of PARAM_FIELDS) {
    if (hasParam(field, rules)) properties[field.wire] = Type.Optional(narrowed(field.wire, rules));
  }
  return Type.Object({ ...properties, api_key: Type.Optional(ApiKeyField) });
}

function narrowed(wire: BodyField, { oncalendar, uniqueFields }: ParamRules): TSchema {
  const schema: TSchema = FIELDS[wire];
  if (wire === "schedule" && !oncalendar)
    return { ...schema, [RULE]: "cron", description: "Cron expression." };
  if (wire === "unique") return { ...schema, items: { type: "string", enum: [...uniqueFields] } };
  return schema;
}

const CheckBody = Type.Partial(Type.Object({ ...FIELDS, api_key: ApiKeyField }));
/** What version 3 accepts; for the types of the client. */
export type CheckBody = Static<typeof CheckBody>;

// Validates a request body field by field in schema order and reports the first problem. No general validator is used,
// because the order and the texts are part of the API.

/** The part of JSON Schema that our bodies are made of. */
type Node = {
  type?: "string" | "integer" | "boolean" | "array";
  enum?: readonly unknown[];
  maxLength?: number;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  items?: Node;
  [RULE]?: TextRule;
};

/**
 * The text of the first problem of a body, or null. Types are strict: nothing is converted, and null is no way to
 * leave a field out. Fields that the schema does not know are not looked at.
 */
function firstProblem(schema: TSchema, body: Readonly<Record<string, unknown>>): string | null {
  for (const [field, node] of Object.entries(propertiesOf(schema))) {
    // Every key is told by its own rules; see core/access.ts.
    if (field === "api_key" || !Object.hasOwn(body, field)) continue;
    const problem = validateNode(node, body[field]);
    if (problem !== null) return problem === "item" ? ERROR_TEXT.uniqueItem : fieldText(field, problem);
  }
  return null;
}

function propertiesOf(schema: TSchema): Readonly<Record<string, Node>> {
  if (!("properties" in schema)) throw new Error("the schema of a body must be an object schema");
  return schema.properties as Readonly<Record<string, Node>>;
}

type Problem = FieldProblem | "item" | null;

const VALIDATORS: Readonly<Record<NonNullable<Node["type"]>, (node: Node, value: unknown) => Problem>> = {
  string: validateText,
  integer: validateInteger,
  boolean: (_node, value) => (typeof value === "boolean" ? null : FIELD_PROBLEM.notBoolean),
  array: validateItems,
};

function validateNode(node: Node, value: unknown): Problem {
  if (node.enum !== undefined) return node.enum.includes(value) ? null : FIELD_PROBLEM.unexpected;
  if (node.type === undefined) throw new Error("a body field without a type cannot be validated");
  return VALIDATORS[node.type](node, value);
}

function validateText(node: Node, value: unknown): Problem {
  if (typeof value !== "string") return FIELD_PROBLEM.notString;
  if (node.maxLength !== undefined && isLongerThan(value, node.maxLength)) return FIELD_PROBLEM.tooLong;
  if (node.pattern !== undefined && !patternOf(node.pattern).test(value)) return FIELD_PROBLEM.pattern;
  const rule = node[RULE];
  return rule === undefined ? null : TEXT_RULES[rule](value);
}

const PATTERNS = new Map<string, RegExp>();

/** As many as the schemas name, and no more. */
function patternOf(source: string): RegExp {
  const known = PATTERNS.get(source);
  if (known !== undefined) return known;
  const pattern = new RegExp(source, "u");
  PATTERNS.set(source, pattern);
  return pattern;
}

function validateInteger({ minimum, maximum }: Node, value: unknown): Problem {
  // The reference reads true and false as 1 and 0, and clients may have seen its answer.
  if (typeof value === "boolean") return FIELD_PROBLEM.tooSmall;
  if (typeof value !== "number" || Number.isNaN(value)) return FIELD_PROBLEM.notNumber;
  // What JSON writes with hundreds of digits is a whole number too, and none that a number can hold.
  if (Number.isFinite(value) && !Number.isInteger(value)) return FIELD_PROBLEM.notNumber;
  if (minimum !== undefined && value < minimum) return FIELD_PROBLEM.tooSmall;
  return maximum !== undefined && value > maximum ? FIELD_PROBLEM.tooLarge : null;
}

function validateItems({ items }: Node, value: unknown): Problem {
  if (!Array.isArray(value)) return FIELD_PROBLEM.notArray;
  const isBad = (item: unknown) => items !== undefined && validateNode(items, item) !== null;
  return (value as unknown[]).some(isBad) ? "item" : null;
}

/** What a body says about a check, or the text of its first problem. `schema` is that of the rules' version. */
export function readCheckRequest(
  body: Readonly<Record<string, unknown>>,
  { schema, rules }: { schema: TSchema; rules: ParamRules },
): Checked<CheckRequest> {
  const text = firstProblem(schema, body);
  return text === null ? { ok: true, value: checkRequestOf(body, rules) } : { ok: false, text };
}

/** A check with everything that can be seen of it. The channels stand in the order of their texts. */
export type PresentableCheck = {
  uuid: string;
  badgeUuid: string;
  settings: CheckSettings;
  state: CheckState;
  channelUuids: readonly string[];
};

/** With what a check is presented, besides itself. */
export type Surroundings = { urls: PublicUrls; now: Instant; sha1Hex: Sha1Hex };

type Context = {
  showing: Showing;
  surroundings: Surroundings;
  addresses: CheckUrls;
};
type ValueOf<Field extends CheckField> = (
  check: PresentableCheck,
  context: Context,
) => CheckValues[Field] | undefined;

function shownInstant(at: Instant | null): string | null {
  return at === null ? null : isoSeconds(at);
}

/** The value of each field; undefined leaves it out. */
const VALUES: { readonly [Field in CheckField]: ValueOf<Field> } = {
  name: ({ settings }) => settings.name,
  slug: ({ settings }) => settings.slug,
  tags: ({ settings }) => settings.tags,
  desc: ({ settings }) => settings.desc,
  grace: ({ settings }) => settings.graceSeconds,
  n_pings: ({ state }) => state.pingCount,
  status: ({ settings, state }, { showing, surroundings }) => {
    const statusOf = showing.column.startedIsStatus ? statusWithStartedAt : statusAt;
    return statusOf({ timing: settings, state }, surroundings.now);
  },
  started: ({ state }) => state.lastStartAt !== null,
  last_ping: ({ state }) => shownInstant(state.lastPingAt),
  next_ping: ({ settings, state }) => shownInstant(nextPingAt({ timing: settings, state })),
  manual_resume: ({ settings }) => settings.manualResume,
  methods: ({ settings }) => settings.methods,
  subject: ({ settings }) => subjectOf(settings),
  subject_fail: ({ settings }) => subjectFailOf(settings),
  start_kw: ({ settings }) => settings.startKw,
  success_kw: ({ settings }) => settings.successKw,
  failure_kw: ({ settings }) => settings.failureKw,
  filter_subject: ({ settings }) => settings.filterSubject,
  filter_body: ({ settings }) => settings.filterBody,
  filter_http_body: ({ settings }) => settings.filterHttpBody,
  filter_default_fail: ({ settings }) => settings.filterDefaultFail,
  badge_url: ({ badgeUuid }, { surroundings }) => checkBadgeUrl(surroundings.urls, badgeUuid),
  // A run that took no time at all is one of which nothing is known.
  last_duration: ({ state }) =>
    state.lastDurationMs ? Math.floor(state.lastDurationMs / SECOND_MS) : undefined,
  uuid: ({ uuid }) => uuid,
  ping_url: ({ uuid }, { surroundings }) => pingUrl(surroundings.urls, uuid),
  update_url: ({ uuid }, { addresses }) => addresses.update(uuid),
  pause_url: ({ uuid }, { addresses }) => addresses.pause(uuid),
  resume_url: ({ uuid }, { addresses }) => addresses.resume(uuid),
  channels: ({ channelUuids }) => channelUuids.join(","),
  unique_key: ({ uuid }, { surroundings }) => uniqueKey(uuid, surroundings.sha1Hex),
  timeout: ({ settings }) => settings.timeoutSeconds,
  schedule: ({ settings }) => settings.schedule,
  tz: ({ settings }) => settings.tz,
};

/** Presents any number of checks for the same answer. */
export function checkPresenter(
  showing: Showing,
  surroundings: Surroundings,
): (check: PresentableCheck) => Record<string, unknown> {
  const addresses = checkUrls(surroundings.urls, showing.column.number);
  const context: Context = { showing, surroundings, addresses };
  const common = shownFields(showing).map((field) => ({
    field,
    valueOf: VALUES[field] as ValueOf<CheckField>,
    isOptional: isSometimesShown(field, showing.column),
  }));
  return (check) => {
    const json: Record<string, unknown> = {};
    for (const { field, valueOf, isOptional } of common) {
      const value = valueOf(check, context);
      if (!isOptional || (value !== undefined && value !== false)) json[field] = value;
    }
    const timing = check.settings.kind === "simple" ? TIMING_FIELDS.simple : TIMING_FIELDS.scheduled;
    for (const field of timing) json[field] = VALUES[field](check, context);
    return json;
  };
}
