// Settings of a check: defaults, create and update requests, upsert and list filters. The running state is in
// state.ts.
import { type Checked, ERROR_TEXT, FIELD_PROBLEM, type FieldProblem, queryText } from "./errors.ts";
import { slugify, splitTags } from "./identity.ts";
import { type Instant, SECOND_MS } from "./instant.ts";
import {
  DEFAULT_GRACE_SECONDS,
  DEFAULT_SCHEDULE,
  DEFAULT_TIMEOUT_SECONDS,
  DEFAULT_TZ,
  FLIP_FILTER_SECONDS_MAX,
  FLIP_FILTER_UNIX_SECONDS_MAX,
  PROVISIONING_FACTOR,
} from "./limits.ts";
import type { Rules } from "./rules.ts";
import { detectKind, isValidSchedule } from "./schedule/schedule.ts";
import { isZone } from "./schedule/zone.ts";

/** How a check is scheduled: a period, or a cron or OnCalendar expression. */
export type CheckKind = "simple" | "cron" | "oncalendar";

export type CheckSettings = {
  name: string;
  slug: string;
  tags: string;
  desc: string;
  kind: CheckKind;
  /** Kept when the check becomes a cron check, as `schedule` is kept the other way round. */
  timeoutSeconds: number;
  graceSeconds: number;
  schedule: string;
  tz: string;
  manualResume: boolean;
  /** Empty: HEAD, GET and POST are accepted. "POST": other methods are recorded as ignored. */
  methods: "" | "POST";
  startKw: string;
  successKw: string;
  failureKw: string;
  filterSubject: boolean;
  filterBody: boolean;
  filterHttpBody: boolean;
  filterDefaultFail: boolean;
  /** How runs are judged; null: the defaults. Derived from policies, so no edit of the check sets it. */
  rules: Rules | null;
};

/** The settings needed to apply a signal, without the texts, which may be long. */
export type SignalSettings = Omit<CheckSettings, "name" | "slug" | "tags" | "desc">;

/** Defaults of a new check. Never applied to an existing one. */
export const DEFAULT_SETTINGS: Readonly<CheckSettings> = {
  name: "",
  slug: "",
  tags: "",
  desc: "",
  kind: "simple",
  timeoutSeconds: DEFAULT_TIMEOUT_SECONDS,
  graceSeconds: DEFAULT_GRACE_SECONDS,
  schedule: DEFAULT_SCHEDULE,
  tz: DEFAULT_TZ,
  manualResume: false,
  methods: "",
  startKw: "",
  successKw: "",
  failureKw: "",
  filterSubject: false,
  filterBody: false,
  filterHttpBody: false,
  filterDefaultFail: false,
  rules: null,
};

/**
 * The validated fields of a request; absent fields are not changed. `subject` and `subjectFail` are
 * deprecated ways to set the keywords; the kind follows from the given fields.
 */
export type CheckParams = Partial<
  Omit<CheckSettings, "kind" | "rules"> & { subject: string; subjectFail: string }
>;

/** Whether a given name sets the slug, as in versions 1 and 2. An explicit slug wins. */
export type SlugRule = { deriveSlug: boolean };

/** The settings of a new check. */
export function newCheck(params: CheckParams, rule: SlugRule): CheckSettings {
  return patchCheck(DEFAULT_SETTINGS, params, rule);
}

/** The settings of a check created by its first ping, with those that the ping carries. */
export function provisionedCheck(slug: string, params: CheckParams = {}): CheckSettings {
  return patchCheck({ ...DEFAULT_SETTINGS, name: slug, slug }, params, { deriveSlug: false });
}

/** The settings after an update. */
export function patchCheck(
  settings: Readonly<CheckSettings>,
  params: CheckParams,
  { deriveSlug }: SlugRule,
): CheckSettings {
  const { subject, subjectFail, schedule, timeoutSeconds, ...given } = params;
  const derived = deriveSlug && given.name !== undefined ? { slug: slugify(given.name) } : {};
  const patched = {
    ...settings,
    ...derived,
    ...keywordsOfSubjects(settings, { subject, subjectFail }),
    ...given,
  };
  if (schedule !== undefined) return { ...patched, kind: detectKind(schedule), schedule };
  if (timeoutSeconds !== undefined) return { ...patched, kind: "simple", timeoutSeconds };
  return patched;
}

// The deprecated fields filter by subject if one of them is set; they have no separate switch.
function keywordsOfSubjects(
  settings: Readonly<CheckSettings>,
  { subject, subjectFail }: { subject: string | undefined; subjectFail: string | undefined },
): Partial<CheckSettings> {
  if (subject === undefined && subjectFail === undefined) return {};
  const successKw = subject ?? settings.successKw;
  const failureKw = subjectFail ?? settings.failureKw;
  return { successKw, failureKw, filterSubject: successKw !== "" || failureKw !== "" };
}

/** The deprecated `subject`, as far as the keywords can be expressed in it. */
export function subjectOf(settings: CheckSettings): string {
  return settings.filterSubject ? settings.successKw : "";
}

/** The deprecated `subject_fail`. */
export function subjectFailOf(settings: CheckSettings): string {
  return settings.filterSubject ? settings.failureKw : "";
}

/** Number of checks that the owner of a project has and may have; null means unlimited. */
export type CheckQuota = { checkCount: number; checkCountMax: number | null };

/** Whether another check may be created on request. */
export function mayCreateCheck({ checkCount, checkCountMax }: CheckQuota): boolean {
  return checkCountMax === null || checkCount < checkCountMax;
}

/**
 * Whether a ping may create another check. The limit is higher, so that a job that already sends pings is not
 * cut off first.
 */
export function mayProvisionCheck({ checkCount, checkCountMax }: CheckQuota): boolean {
  return checkCountMax === null || checkCount < checkCountMax * PROVISIONING_FACTOR;
}

/** Differences between API versions. Fields that a version does not support are unknown fields to it. */
export type ParamRules = {
  /** Whether `slug` can be given. */
  slugParam: boolean;
  /** Whether a given name sets the slug. */
  deriveSlug: boolean;
  /** Whether keyword lists and filters can be given, in addition to the deprecated `subject` fields. */
  keywordParams: boolean;
  /** Whether a schedule may be an OnCalendar expression. */
  oncalendar: boolean;
  /** What `unique` may name. */
  uniqueFields: readonly UniqueField[];
};

type ParamField = {
  wire: string;
  key: keyof CheckParams | "channels" | "unique";
  /** The rule that enables the field. */
  onlyWith?: "slugParam" | "keywordParams";
};

/** All fields in the order of validation: only the first problem is reported. */
export const PARAM_FIELDS = [
  { wire: "channels", key: "channels" },
  { wire: "desc", key: "desc" },
  { wire: "failure_kw", key: "failureKw", onlyWith: "keywordParams" },
  { wire: "filter_subject", key: "filterSubject", onlyWith: "keywordParams" },
  { wire: "filter_body", key: "filterBody", onlyWith: "keywordParams" },
  { wire: "filter_http_body", key: "filterHttpBody", onlyWith: "keywordParams" },
  { wire: "filter_default_fail", key: "filterDefaultFail", onlyWith: "keywordParams" },
  { wire: "grace", key: "graceSeconds" },
  { wire: "manual_resume", key: "manualResume" },
  { wire: "methods", key: "methods" },
  { wire: "name", key: "name" },
  { wire: "schedule", key: "schedule" },
  { wire: "slug", key: "slug", onlyWith: "slugParam" },
  { wire: "start_kw", key: "startKw", onlyWith: "keywordParams" },
  { wire: "subject", key: "subject" },
  { wire: "subject_fail", key: "subjectFail" },
  { wire: "success_kw", key: "successKw", onlyWith: "keywordParams" },
  { wire: "tags", key: "tags" },
  { wire: "timeout", key: "timeoutSeconds" },
  { wire: "tz", key: "tz" },
  { wire: "unique", key: "unique" },
] as const satisfies readonly ParamField[];

/** The name of a field on the wire. */
export type BodyField = (typeof PARAM_FIELDS)[number]["wire"];

/** Whether a version supports a field. */
export function hasParam(field: (typeof PARAM_FIELDS)[number], rules: ParamRules): boolean {
  return !("onlyWith" in field) || rules[field.onlyWith];
}

/** Validation of a text beyond its length and characters. */
export const TEXT_RULES = {
  storable: (text: string) => (isStorable(text) ? null : FIELD_PROBLEM.unstorable),
  schedule: (text: string) => (isValidSchedule(text, { oncalendar: true }) ? null : FIELD_PROBLEM.schedule),
  /** Distinguishes expressions that other versions accept from invalid ones. */
  cron: (text: string) => {
    if (!isValidSchedule(text, { oncalendar: true })) return FIELD_PROBLEM.schedule;
    return isValidSchedule(text, { oncalendar: false }) ? null : FIELD_PROBLEM.cronOnly;
  },
  zone: (text: string) => (isZone(text) ? null : FIELD_PROBLEM.timezone),
} as const satisfies Record<string, (text: string) => FieldProblem | null>;

export type TextRule = keyof typeof TEXT_RULES;

/** PostgreSQL cannot store NUL or half a surrogate pair in a text. */
function isStorable(value: string): boolean {
  return !value.includes("\0") && value.isWellFormed();
}

/**
 * Whether a text is longer than a limit in code points, not UTF-16 units: an emoji counts as one character. A
 * text longer than twice the limit needs no counting.
 */
export function isLongerThan(value: string, lengthMax: number): boolean {
  if (value.length <= lengthMax) return false;
  return value.length > 2 * lengthMax || Array.from(value).length > lengthMax;
}

/** A JSON request body as an object. `null`, which some clients send, counts as empty. */
export function requestObject(json: unknown): Checked<Readonly<Record<string, unknown>>> {
  if (json === null) return { ok: true, value: {} };
  if (typeof json !== "object" || Array.isArray(json)) return { ok: false, text: ERROR_TEXT.notAnObject };
  return { ok: true, value: json as Record<string, unknown> };
}

/** A parsed request. `channels` is null if not given; see channel.ts. */
export type CheckRequest = {
  params: CheckParams;
  channels: string | null;
  unique: readonly UniqueField[];
};

/** Parses a validated body. Unknown fields are ignored; repeated names in `unique` count once. */
export function checkRequestOf(body: Readonly<Record<string, unknown>>, rules: ParamRules): CheckRequest {
  const values: Record<string, unknown> = {};
  for (const field of PARAM_FIELDS) {
    if (Object.hasOwn(body, field.wire) && hasParam(field, rules)) values[field.key] = body[field.wire];
  }
  const { channels = null, unique = [], ...params } = values;
  // Each value was validated for its key.
  return {
    params,
    channels: channels as string | null,
    unique: [...new Set(unique as readonly UniqueField[])],
  };
}

/** The fields that `unique` may contain, by their names on the wire. */
export const UNIQUE_FIELDS = ["name", "slug", "tags", "timeout", "grace"] as const;
export type UniqueField = (typeof UNIQUE_FIELDS)[number];

/** The values that a check must have to match. */
export type UniqueCriteria = Partial<
  Pick<CheckSettings, "name" | "slug" | "tags" | "timeoutSeconds" | "graceSeconds">
>;

const SETTING_OF = {
  name: "name",
  slug: "slug",
  tags: "tags",
  timeout: "timeoutSeconds",
  grace: "graceSeconds",
} as const satisfies Record<UniqueField, keyof CheckSettings & keyof CheckParams>;

/**
 * The criteria of a request; null if it cannot match: `unique` is empty or names a field that the request
 * does not have. A derived slug does not count.
 */
export function uniqueCriteria(params: CheckParams, unique: readonly UniqueField[]): UniqueCriteria | null {
  if (unique.length === 0) return null;
  const criteria: Record<string, string | number> = {};
  for (const field of unique) {
    const setting = SETTING_OF[field];
    const value = params[setting];
    if (value === undefined) return null;
    criteria[setting] = value;
  }
  return criteria;
}

/** Whether settings meet the criteria. The period counts even if the check has a schedule. */
export function meetsCriteria(settings: CheckSettings, criteria: UniqueCriteria): boolean {
  const keys = Object.keys(criteria) as (keyof UniqueCriteria)[];
  return keys.every((key) => settings[key] === criteria[key]);
}

/**
 * Of the checks of one project, the oldest that meets the criteria, or null.
 *
 * @internal Only tests use it.
 */
export function oldestMatch<C extends { id: number | bigint; settings: CheckSettings }>(
  candidates: Iterable<C>,
  criteria: UniqueCriteria,
): C | null {
  let oldest: C | null = null;
  for (const candidate of candidates) {
    if (!meetsCriteria(candidate.settings, criteria)) continue;
    if (oldest === null || candidate.id < oldest.id) oldest = candidate;
  }
  return oldest;
}

/** The decoded names and values of a query string, in order. */
export type QueryPairs = Iterable<readonly [name: string, value: string]>;

/** Flips from one instant on and before another; null means no bound. */
export type FlipFilter = { fromAt: Instant | null; beforeAt: Instant | null };

/**
 * Parses the filter for flips. `seconds`, `start` and `end` must all hold; the last of repeated ones counts.
 * An empty or zero `seconds` filters nothing.
 */
export function readFlipFilter(query: QueryPairs, now: Instant): Checked<FlipFilter> {
  const values = lastValues(query);
  const seconds = values.get("seconds") ?? "";
  const newest = seconds.trim() === "" ? 0 : readSeconds(seconds);
  if (newest === null) return { ok: false, text: queryText("seconds") };
  const start = readTimestamp(values.get("start"));
  if (start === "unreadable") return { ok: false, text: queryText("start") };
  const end = readTimestamp(values.get("end"));
  if (end === "unreadable") return { ok: false, text: queryText("end") };
  const recentAt = newest === 0 ? null : now - newest * SECOND_MS;
  return { ok: true, value: { fromAt: latest([start, recentAt]), beforeAt: end } };
}

// Some clients send whole numbers as 5.0.
function readSeconds(text: string): number | null {
  return readWholeNumber(text.trim().replace(/\.0*$/, ""), FLIP_FILTER_SECONDS_MAX);
}

function readTimestamp(text: string | undefined): Instant | null | "unreadable" {
  if (text === undefined) return null;
  const seconds = readWholeNumber(text.trim(), FLIP_FILTER_UNIX_SECONDS_MAX);
  return seconds === null ? "unreadable" : seconds * SECOND_MS;
}

function readWholeNumber(digits: string, max: number): number | null {
  if (!/^[0-9]+$/.test(digits)) return null;
  const number = Number(digits);
  return number <= max ? number : null;
}

function latest(bounds: readonly (Instant | null)[]): Instant | null {
  const instants = bounds.filter((bound) => bound !== null);
  return instants.length === 0 ? null : Math.max(...instants);
}

/** Filter for checks: by slug (null for any), and with all of these tags. */
export type ListFilter = { slug: string | null; tags: readonly string[] };

/** Parses the filter for checks. Version 1 has no filter by slug. An empty slug filters nothing. */
export function readListFilter(query: QueryPairs, { bySlug }: { bySlug: boolean }): ListFilter {
  const pairs = [...query];
  const slug = bySlug ? (lastValues(pairs).get("slug") ?? "") : "";
  const tags = new Set(pairs.filter(([name]) => name === "tag").map(([, value]) => value));
  return { slug: slug === "" ? null : slug, tags: [...tags] };
}

/** Whether a check matches the filter. An empty tag matches no check. */
export function isCheckWanted(check: Pick<CheckSettings, "slug" | "tags">, filter: ListFilter): boolean {
  if (filter.slug !== null && filter.slug !== check.slug) return false;
  if (filter.tags.length === 0) return true;
  // Split once: a query may name as many tags as a check has, for thousands of checks.
  const tags = new Set(splitTags(check.tags));
  return filter.tags.every((tag) => tags.has(tag));
}

function lastValues(query: QueryPairs): Map<string, string> {
  return new Map(query);
}
