// Every difference between the versions of the Management API, and between the two dialects, as one table:
// whatever answers a request reads its column and never asks for a version. What the values mean is said here.
import { type Dialect, ENDPOINT_RIGHTS, type Endpoint } from "../core/access.ts";
import type { KeyKind } from "../core/identity.ts";
import type { ParamRules } from "../core/request/check-params.ts";
import { UNIQUE_FIELDS } from "../core/request/unique.ts";
import type { CheckField } from "./check-fields.ts";

export type VersionNumber = 1 | 2 | 3;

/** What the Management API can be asked; badges and scrapes have protocols of their own. */
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
  /** What a create or update request may say. */
  params: ParamRules;
  /** Whether the list of checks can be filtered by slug. */
  listBySlug: boolean;
  /** The fields of a check that everyone sees, in their order. */
  checkFields: readonly CheckField[];
  /** The fields that identify a check or let somebody change it, by what the key may do. */
  keyFields: Readonly<Record<KeyKind, readonly CheckField[]>>;
  /** Which answers carry the deprecated `subject` and `subject_fail`. */
  subjectsOn: readonly ApiEndpoint[];
  /** Fields of ours beyond the description: shown always, or only where they are not what everyone has. */
  extensions: "always" | "whenSet";
  /** Whether a run in progress is a status of its own. */
  startedIsStatus: boolean;
  /** The fields of a ping; `duration` comes after them where it is known. */
  pingFields: readonly PingField[];
  /** The list of flips: bare, or as the field of an object. */
  flips: "array" | "object";
  /** What the status call says when all is well: a JSON object, or two letters. */
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

/** What the reference server has in every version, and whoever was written against it may look for. */
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

/** Whether a version of the API has an endpoint at all. */
export function hasEndpoint(column: VersionColumn, endpoint: ApiEndpoint): boolean {
  return column.endpoints.includes(endpoint);
}

/**
 * The column by which a list is answered that was asked for by POST without a slash. The only client that does so
 * knows flips as an array, whatever server it speaks to.
 */
export function postedColumn(column: VersionColumn): VersionColumn {
  return { ...column, flips: "array" };
}
