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
import { type CheckState, type View, viewAt, viewWithStartedAt } from "../core/state.ts";
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
  VERSIONS,
} from "./versions.ts";

const SUBJECTS: readonly CheckField[] = ["subject", "subject_fail"];
const EXTENSIONS: readonly CheckField[] = ["filter_http_body", "filter_default_fail"];

/** Determines the response: the fields depend on the version, the endpoint and the key. */
export type Showing = { column: VersionColumn; endpoint: ApiEndpoint; keyKind: KeyKind };

/** The fields of a check in their order, without the last ones, which depend on its kind. */
function shownFields({ column, endpoint, keyKind }: Showing): CheckField[] {
  const hasSubjects = column.subjectsOn.includes(endpoint);
  const common = column.checkFields.filter((field) => hasSubjects || !SUBJECTS.includes(field));
  return [...common, ...column.keyFields[keyKind]];
}

/** Whether a field may be missing although the response generally contains it. */
function isSometimesShown(field: CheckField, column: VersionColumn): boolean {
  return field === "last_duration" || (column.extensions === "whenSet" && EXTENSIONS.includes(field));
}

/** The schema of a check in a response. */
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

/** A check of version 3 for a read-write key; for the types of the client. */
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

/** The keyword under which a schema names the rule of core that a text must match in addition to its type. */
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

/**
 * The schema of a request body in a version, its fields in core's order. An update ignores `unique`, but validates it.
 */
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

/** The subset of JSON Schema that request bodies use. */
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
 * The text of the first problem of a body, or null. Types are strict: nothing is converted, and null does not mean that
 * a field is absent. Fields that are not in the schema are ignored.
 */
function firstProblem(schema: TSchema, body: Readonly<Record<string, unknown>>): string | null {
  for (const [field, node] of Object.entries(propertiesOf(schema))) {
    // API keys are validated by core/access.ts.
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

/** Cached: there are only as many as the schemas contain. */
function patternOf(source: string): RegExp {
  const known = PATTERNS.get(source);
  if (known !== undefined) return known;
  const pattern = new RegExp(source, "u");
  PATTERNS.set(source, pattern);
  return pattern;
}

function validateInteger({ minimum, maximum }: Node, value: unknown): Problem {
  // The reference server treats true and false as 1 and 0; its clients expect the same error.
  if (typeof value === "boolean") return FIELD_PROBLEM.tooSmall;
  if (typeof value !== "number" || Number.isNaN(value)) return FIELD_PROBLEM.notNumber;
  // A number with hundreds of digits in JSON is a whole number too, but out of range.
  if (Number.isFinite(value) && !Number.isInteger(value)) return FIELD_PROBLEM.notNumber;
  if (minimum !== undefined && value < minimum) return FIELD_PROBLEM.tooSmall;
  return maximum !== undefined && value > maximum ? FIELD_PROBLEM.tooLarge : null;
}

function validateItems({ items }: Node, value: unknown): Problem {
  if (!Array.isArray(value)) return FIELD_PROBLEM.notArray;
  const isBad = (item: unknown) => items !== undefined && validateNode(items, item) !== null;
  return (value as unknown[]).some(isBad) ? "item" : null;
}

/** The parameters in a body, or the text of its first problem. `schema` is that of the rules' version. */
export function readCheckRequest(
  body: Readonly<Record<string, unknown>>,
  { schema, rules }: { schema: TSchema; rules: ParamRules },
): Checked<CheckRequest> {
  const text = firstProblem(schema, body);
  return text === null ? { ok: true, value: checkRequestOf(body, rules) } : { ok: false, text };
}

/** A check with everything that is shown. The channels are in text order. */
export type PresentableCheck = {
  uuid: string;
  badgeUuid: string;
  settings: CheckSettings;
  state: ShownState;
  channelUuids: readonly string[];
};

/** The part of a state that is shown. */
export type ShownState = Pick<
  CheckState,
  "status" | "lastPingAt" | "lastStartAt" | "lastDurationMs" | "expectFromAt" | "pingCount"
>;

/** Common to all responses of a server. */
export type Surroundings = { urls: PublicUrls; sha1Hex: Sha1Hex };

type ShownView = View<CheckValues["status"]>;
/** The JSON text of a value; empty leaves the field out. */
type Write = (check: PresentableCheck, view: ShownView) => string;
type Context = Surroundings & { column: VersionColumn; addresses: CheckUrls };

/** Characters that JSON has to escape, including unpaired surrogates. */
// oxlint-disable-next-line no-control-regex -- JSON escapes control characters.
const NEEDS_ESCAPE = /[\u0000-\u001f"\\\ud800-\udfff]/;

function quoted(text: string): string {
  return NEEDS_ESCAPE.test(text) ? JSON.stringify(text) : `"${text}"`;
}

function quotedInstant(at: Instant | null): string {
  return at === null ? "null" : `"${isoSeconds(at)}"`;
}

/** Placeholder for a UUID that is not known yet. */
const ANY_UUID = "00000000-0000-0000-0000-000000000000";

/** Writes a URL that contains a UUID. Only the UUID varies, and it needs no escaping. */
function urlWriter(urlOf: (uuid: string) => string, uuidOf: (check: PresentableCheck) => string): Write {
  const text = JSON.stringify(urlOf(ANY_UUID));
  const at = text.lastIndexOf(ANY_UUID);
  const before = text.slice(0, at);
  const after = text.slice(at + ANY_UUID.length);
  return (check) => before + uuidOf(check) + after;
}

const uuidOf = ({ uuid }: PresentableCheck) => uuid;

/** An extension, which the standard dialect shows only if it differs from the default. */
function extensionWriter(
  { extensions }: VersionColumn,
  valueOf: (settings: CheckSettings) => boolean,
): Write {
  const off = extensions === "whenSet" ? "" : "false";
  return ({ settings }) => (valueOf(settings) ? "true" : off);
}

/** How each field is written. */
const WRITERS: { readonly [Field in CheckField]: (context: Context) => Write } = {
  name: () => (check) => quoted(check.settings.name),
  slug: () => (check) => quoted(check.settings.slug),
  tags: () => (check) => quoted(check.settings.tags),
  desc: () => (check) => quoted(check.settings.desc),
  grace: () => (check) => String(check.settings.graceSeconds),
  n_pings: () => (check) => String(check.state.pingCount),
  status: () => (_check, view) => `"${view.status}"`,
  started: () => (check) => (check.state.lastStartAt === null ? "false" : "true"),
  last_ping: () => (check) => quotedInstant(check.state.lastPingAt),
  next_ping: () => (_check, view) => quotedInstant(view.nextPingAt),
  manual_resume: () => (check) => String(check.settings.manualResume),
  methods: () => (check) => quoted(check.settings.methods),
  subject: () => (check) => quoted(subjectOf(check.settings)),
  subject_fail: () => (check) => quoted(subjectFailOf(check.settings)),
  start_kw: () => (check) => quoted(check.settings.startKw),
  success_kw: () => (check) => quoted(check.settings.successKw),
  failure_kw: () => (check) => quoted(check.settings.failureKw),
  filter_subject: () => (check) => String(check.settings.filterSubject),
  filter_body: () => (check) => String(check.settings.filterBody),
  filter_http_body: ({ column }) => extensionWriter(column, ({ filterHttpBody }) => filterHttpBody),
  filter_default_fail: ({ column }) => extensionWriter(column, ({ filterDefaultFail }) => filterDefaultFail),
  badge_url: ({ urls }) =>
    urlWriter(
      (uuid) => checkBadgeUrl(urls, uuid),
      ({ badgeUuid }) => badgeUuid,
    ),
  // A duration of zero means that it is unknown.
  last_duration: () => (check) =>
    check.state.lastDurationMs ? String(Math.floor(check.state.lastDurationMs / SECOND_MS)) : "",
  uuid: () => (check) => `"${check.uuid}"`,
  ping_url: ({ urls }) => urlWriter((uuid) => pingUrl(urls, uuid), uuidOf),
  update_url: ({ addresses }) => urlWriter(addresses.update, uuidOf),
  pause_url: ({ addresses }) => urlWriter(addresses.pause, uuidOf),
  resume_url: ({ addresses }) => urlWriter(addresses.resume, uuidOf),
  channels: () => (check) => `"${check.channelUuids.join(",")}"`,
  unique_key:
    ({ sha1Hex }) =>
    (check) =>
      quoted(uniqueKey(check.uuid, sha1Hex)),
  timeout: () => (check) => String(check.settings.timeoutSeconds),
  schedule: () => (check) => quoted(check.settings.schedule),
  tz: () => (check) => quoted(check.settings.tz),
};

/** A check as JSON text. The text changes at `until`, even if the check does not change. */
export type SerializedCheck = { json: string; until: Instant };
export type CheckSerializer = (check: PresentableCheck, now: Instant) => SerializedCheck;

/**
 * A serializer for one type of response, created once and used for all of them: the fields and constant parts are
 * determined here. Produces the same text as JSON.stringify.
 */
export function checkSerializer(showing: Showing, surroundings: Surroundings): CheckSerializer {
  const { column } = showing;
  const context = { ...surroundings, column, addresses: checkUrls(surroundings.urls, column.number) };
  const fieldsOf = (names: readonly CheckField[]) =>
    names.map((field, index) => ({
      before: `${index === 0 ? "" : ","}"${field}":`,
      write: WRITERS[field](context),
    }));
  const common = shownFields(showing);
  const simple = fieldsOf([...common, ...TIMING_FIELDS.simple]);
  const scheduled = fieldsOf([...common, ...TIMING_FIELDS.scheduled]);
  const viewOf: (of: { timing: CheckSettings; state: ShownState }, now: Instant) => ShownView =
    column.startedIsStatus ? viewWithStartedAt : viewAt;
  return (check, now) => {
    const { settings, state } = check;
    const view = viewOf({ timing: settings, state }, now);
    let json = "{";
    for (const { before, write } of settings.kind === "simple" ? simple : scheduled) {
      const value = write(check, view);
      if (value !== "") json += before + value;
    }
    return { json: `${json}}`, until: view.until };
  };
}

/** The check as version 3 of the API shows it to a read-write key, for messages to channels. */
export function messageCheckJson(
  surroundings: Surroundings,
): (...shown: Parameters<CheckSerializer>) => Readonly<Record<string, unknown>> {
  const showing = { column: VERSIONS.standard[3], endpoint: "getCheck", keyKind: "readWrite" } as const;
  const serialize = checkSerializer(showing, surroundings);
  return (check, now) => JSON.parse(serialize(check, now).json) as Record<string, unknown>;
}
