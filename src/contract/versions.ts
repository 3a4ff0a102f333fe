// The fields of a check, and every difference between versions and dialects of the Management API as one table.
import { type Static, Type } from "typebox";
import { type Dialect, type Endpoint, ENDPOINT_RIGHTS } from "../core/access.ts";
import { type ParamRules, UNIQUE_FIELDS } from "../core/check.ts";
import type { KeyKind } from "../core/identity.ts";
import { PERIOD_SECONDS_MAX, PERIOD_SECONDS_MIN } from "../core/limits.ts";

const UUID_PATTERN = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$";
const UNIQUE_KEY_PATTERN = "^[0-9a-f]{40}$";

/** Marks a field that is an extension of ours. */
export const EXTENSION = "x-extension";

/** An instant without a fraction: always UTC, always with its offset. */
const InstantText = Type.String({ format: "date-time", examples: ["2026-03-01T04:00:00+00:00"] });
const Url = (description: string) => Type.String({ format: "uri", description });

export const Uuid = Type.String({ format: "uuid", pattern: UUID_PATTERN });
export const UniqueKey = Type.String({ pattern: UNIQUE_KEY_PATTERN });

export const CHECK_FIELDS = {
  name: Type.String({ description: "Name of the check." }),
  slug: Type.String({ description: "Slug. Empty if the check has none." }),
  tags: Type.String({ description: "Tags, separated by spaces." }),
  desc: Type.String({ description: "Description." }),
  grace: Type.Integer({
    minimum: PERIOD_SECONDS_MIN,
    maximum: PERIOD_SECONDS_MAX,
    description: "Grace period in seconds.",
  }),
  n_pings: Type.Integer({ minimum: 0, description: "Number of pings received." }),
  status: Type.Unsafe<"new" | "started" | "up" | "grace" | "down" | "paused">({
    type: "string",
    enum: ["new", "started", "up", "grace", "down", "paused"],
    description: "Status of the check. `started` is used only in version 1.",
  }),
  started: Type.Boolean({ description: "Whether a run is in progress." }),
  last_ping: Type.Union([InstantText, Type.Null()], { description: "Time of the last ping." }),
  next_ping: Type.Union([InstantText, Type.Null()], { description: "Time when the next ping is expected." }),
  manual_resume: Type.Boolean({ description: "Whether a paused check ignores pings until it is resumed." }),
  methods: Type.Unsafe<"" | "POST">({
    type: "string",
    enum: ["", "POST"],
    description: "Empty if HEAD, GET, and POST are accepted as pings; `POST` if only POST is accepted.",
  }),
  subject: Type.String({
    deprecated: true,
    description: "Deprecated: `success_kw` if `filter_subject` is true, otherwise empty.",
  }),
  subject_fail: Type.String({
    deprecated: true,
    description: "Deprecated: `failure_kw` if `filter_subject` is true, otherwise empty.",
  }),
  start_kw: Type.String({ description: "Comma-separated keywords for Start pings." }),
  success_kw: Type.String({ description: "Comma-separated keywords for Success pings." }),
  failure_kw: Type.String({ description: "Comma-separated keywords for Failure pings." }),
  filter_subject: Type.Boolean({ description: "Whether keywords are matched in the subject of emails." }),
  filter_body: Type.Boolean({ description: "Whether keywords are matched in the body of emails." }),
  filter_http_body: Type.Boolean({
    [EXTENSION]: true,
    description: "Extension: whether keywords are matched in the body of HTTP pings.",
  }),
  filter_default_fail: Type.Boolean({
    [EXTENSION]: true,
    description: "Extension: whether a message that matches no keyword is a failure.",
  }),
  badge_url: Url("URL of the SVG badge of the check."),
  last_duration: Type.Integer({
    [EXTENSION]: true,
    minimum: 0,
    description: "Duration of the last completed run in seconds.",
  }),
  uuid: Type.String({ format: "uuid", pattern: UUID_PATTERN, description: "Identifier of the check." }),
  ping_url: Url("URL to send pings to."),
  update_url: Url("URL to get, update, or delete the check."),
  pause_url: Url("URL to pause the check."),
  resume_url: Url("URL to resume the check."),
  channels: Type.String({ description: "Comma-separated UUIDs of the integrations of the check." }),
  unique_key: Type.String({
    pattern: UNIQUE_KEY_PATTERN,
    description: "Identifies the check for read-only keys, which cannot see its UUID.",
  }),
  timeout: Type.Integer({
    minimum: PERIOD_SECONDS_MIN,
    maximum: PERIOD_SECONDS_MAX,
    description: "Expected period in seconds. Only for checks without a schedule.",
  }),
  schedule: Type.String({ description: "Cron or OnCalendar expression. Only for checks with a schedule." }),
  tz: Type.String({ description: "Time zone of the schedule." }),
} as const;

export type CheckField = keyof typeof CHECK_FIELDS;

/** The types of the field values. */
export type CheckValues = { [Field in CheckField]: Static<(typeof CHECK_FIELDS)[Field]> };

/** These depend on the kind of a check, and follow all others in every version. */
export const TIMING_FIELDS = { simple: ["timeout"], scheduled: ["schedule", "tz"] } as const;

// Handlers read the column of their version and never compare version numbers.

export type VersionNumber = 1 | 2 | 3;

/** The endpoints of the Management API; badges and metrics have their own protocols. */
export type ApiEndpoint = Exclude<Endpoint, "getBadge" | "scrapeMetrics">;

export type PingField =
  | "type"
  | "date"
  | "n"
  | "scheme"
  | "remote_addr"
  | "method"
  | "ua"
  | "rid"
  | "body_url";

export type VersionColumn = {
  number: VersionNumber;
  dialect: Dialect;
  /** Which endpoints exist. */
  endpoints: readonly ApiEndpoint[];
  /** What a create or update request may contain. */
  params: ParamRules;
  /** Whether the list of checks can be filtered by slug. */
  listBySlug: boolean;
  /** The fields of a check that every key gets, in their order. */
  checkFields: readonly CheckField[];
  /** The fields that identify a check or allow changing it, by what the key may do. */
  keyFields: Readonly<Record<KeyKind, readonly CheckField[]>>;
  /** Which responses contain the deprecated `subject` and `subject_fail`. */
  subjectsOn: readonly ApiEndpoint[];
  /** Extensions: shown always, or only if they differ from the default. */
  extensions: "always" | "whenSet";
  /** Whether a run in progress is a separate status. */
  startedIsStatus: boolean;
  /** The fields of a ping; `duration` follows them if it is known. */
  pingFields: readonly PingField[];
  /** The list of flips: an array, or the field of an object. */
  flips: "array" | "object";
  /** The success response of the status endpoint: a JSON object, or plain text. */
  statusAnswer: "json" | "text";
};

const ALL_ENDPOINTS = (Object.keys(ENDPOINT_RIGHTS) as Endpoint[]).filter(
  (endpoint) => endpoint !== "getBadge" && endpoint !== "scrapeMetrics",
);

const CHANGES = [
  "createCheck",
  "updateCheck",
  "pauseCheck",
  "resumeCheck",
  "deleteCheck",
] as const satisfies readonly ApiEndpoint[];

const NOT_IN_VERSION_1: readonly ApiEndpoint[] = ["resumeCheck", "getPingBody", "getStatus"];

const FIELDS_1 = [
  "name",
  "slug",
  "tags",
  "desc",
  "grace",
  "n_pings",
  "status",
  "last_ping",
  "next_ping",
  "manual_resume",
  "methods",
  "subject",
  "subject_fail",
] as const satisfies readonly CheckField[];

const FIELDS_3 = [
  "name",
  "slug",
  "tags",
  "desc",
  "grace",
  "n_pings",
  "status",
  "started",
  "last_ping",
  "next_ping",
  "manual_resume",
  "methods",
  "subject",
  "subject_fail",
  "start_kw",
  "success_kw",
  "failure_kw",
  "filter_subject",
  "filter_body",
  "filter_http_body",
  "filter_default_fail",
  "badge_url",
] as const satisfies readonly CheckField[];

const KEY_FIELDS_1 = {
  readWrite: ["ping_url", "update_url", "pause_url", "channels"],
  readOnly: ["unique_key"],
} as const satisfies VersionColumn["keyFields"];

const KEY_FIELDS_3 = {
  readWrite: ["uuid", "ping_url", "update_url", "pause_url", "resume_url", "channels"],
  readOnly: ["unique_key"],
} as const satisfies VersionColumn["keyFields"];

const PING_FIELDS_1 = ["type", "date", "n", "scheme", "remote_addr", "method", "ua"] as const;
const PING_FIELDS_3 = [...PING_FIELDS_1, "rid", "body_url"] as const;

const STANDARD_3: VersionColumn = {
  number: 3,
  dialect: "standard",
  endpoints: ALL_ENDPOINTS,
  params: {
    slugParam: true,
    deriveSlug: false,
    keywordParams: true,
    oncalendar: true,
    uniqueFields: UNIQUE_FIELDS,
  },
  listBySlug: true,
  checkFields: FIELDS_3,
  keyFields: KEY_FIELDS_3,
  subjectsOn: CHANGES,
  extensions: "whenSet",
  startedIsStatus: false,
  pingFields: PING_FIELDS_3,
  flips: "array",
  statusAnswer: "json",
};

const STANDARD_2: VersionColumn = {
  ...STANDARD_3,
  number: 2,
  params: { ...STANDARD_3.params, deriveSlug: true },
};

const STANDARD_1: VersionColumn = {
  ...STANDARD_3,
  number: 1,
  endpoints: ALL_ENDPOINTS.filter((endpoint) => !NOT_IN_VERSION_1.includes(endpoint)),
  params: {
    slugParam: false,
    deriveSlug: true,
    keywordParams: false,
    oncalendar: false,
    uniqueFields: UNIQUE_FIELDS.filter((field) => field !== "slug"),
  },
  listBySlug: false,
  checkFields: FIELDS_1,
  keyFields: KEY_FIELDS_1,
  subjectsOn: ALL_ENDPOINTS,
  startedIsStatus: true,
  pingFields: PING_FIELDS_1,
};

/** Common to all versions in the reference server's dialect; clients written for it may rely on them. */
const REFERENCE = {
  dialect: "healthchecks",
  endpoints: ALL_ENDPOINTS,
  listBySlug: true,
  checkFields: [...FIELDS_3, "last_duration"],
  keyFields: KEY_FIELDS_3,
  subjectsOn: ALL_ENDPOINTS,
  extensions: "always",
  pingFields: PING_FIELDS_3,
  flips: "object",
  statusAnswer: "text",
} as const satisfies Partial<VersionColumn>;

/** The columns: one for each version in each dialect. */
export const VERSIONS: Readonly<Record<Dialect, Readonly<Record<VersionNumber, VersionColumn>>>> = {
  standard: { 1: STANDARD_1, 2: STANDARD_2, 3: STANDARD_3 },
  healthchecks: {
    1: {
      ...STANDARD_1,
      ...REFERENCE,
      params: {
        ...STANDARD_1.params,
        slugParam: true,
        keywordParams: true,
        uniqueFields: UNIQUE_FIELDS,
      },
    },
    2: { ...STANDARD_2, ...REFERENCE },
    3: { ...STANDARD_3, ...REFERENCE },
  },
};

export const VERSION_NUMBERS: readonly VersionNumber[] = [1, 2, 3];

/** Whether a version of the API has an endpoint. */
export function hasEndpoint(column: VersionColumn, endpoint: ApiEndpoint): boolean {
  return column.endpoints.includes(endpoint);
}

/**
 * The column for a list that was requested by POST without a slash. The only client that does so expects flips as an
 * array, whatever the server.
 */
export function postedColumn(column: VersionColumn): VersionColumn {
  return { ...column, flips: "array" };
}
