// A check as its owner configured it: settings, their defaults, and what create and update do to them.
// The running state, which signals and silence change, is in state.ts.
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
import { detectKind, isValidSchedule } from "./schedule/schedule.ts";
import { isZone } from "./schedule/zone.ts";

/** What a check waits for: a period, or the next time of a cron or OnCalendar expression. */
export type CheckKind = "simple" | "cron" | "oncalendar";

export type CheckSettings = {
  name: string;
  slug: string;
  tags: string;
  desc: string;
  kind: CheckKind;
  /** Kept when the check turns into a cron check, as `schedule` is kept the other way round. */
  timeoutSeconds: number;
  graceSeconds: number;
  schedule: string;
  tz: string;
  manualResume: boolean;
  /** Empty: HEAD, GET and POST are signals. "POST": anything else is recorded as ignored. */
  methods: "" | "POST";
  startKw: string;
  successKw: string;
  failureKw: string;
  filterSubject: boolean;
  filterBody: boolean;
  filterHttpBody: boolean;
  filterDefaultFail: boolean;
};

/** What decides about a signal. The texts, which may be long, are not part of it. */
export type SignalSettings = Omit<CheckSettings, "name" | "slug" | "tags" | "desc">;

/** What a check has that nobody said anything about. Never applied to a check that exists. */
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
};

/**
 * What a request says about a check, already validated. An absent field says nothing. `subject` and
 * `subjectFail` are the older way to set the keywords; the kind follows from what is given.
 */
export type CheckParams = Partial<Omit<CheckSettings, "kind"> & { subject: string; subjectFail: string }>;

/** Whether a given name makes the slug, as it does in versions 1 and 2. A slug given beside it wins. */
export type SlugRule = { deriveSlug: boolean };

/** The settings of a new check. */
export function newCheck(params: CheckParams, rule: SlugRule): CheckSettings {
  return patchCheck(DEFAULT_SETTINGS, params, rule);
}

/** The settings of a check that made itself by its first ping. */
export function provisionedCheck(slug: string): CheckSettings {
  return { ...DEFAULT_SETTINGS, name: slug, slug };
}

/** The settings after an update: what the request gives, and everything else as it was. */
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

// The older fields filter by subject exactly while one of them is set; they cannot say it otherwise.
function keywordsOfSubjects(
  settings: Readonly<CheckSettings>,
  { subject, subjectFail }: { subject: string | undefined; subjectFail: string | undefined },
): Partial<CheckSettings> {
  if (subject === undefined && subjectFail === undefined) return {};
  const successKw = subject ?? settings.successKw;
  const failureKw = subjectFail ?? settings.failureKw;
  return { successKw, failureKw, filterSubject: successKw !== "" || failureKw !== "" };
}

/** The deprecated `subject`, as far as the keywords can be told in its words. */
export function subjectOf(settings: CheckSettings): string {
  return settings.filterSubject ? settings.successKw : "";
}

/** The deprecated `subject_fail`, likewise. */
export function subjectFailOf(settings: CheckSettings): string {
  return settings.filterSubject ? settings.failureKw : "";
}

/** How many checks the owner of a project has, and may have; null means without limit. */
export type CheckQuota = { checkCount: number; checkCountMax: number | null };

/** Whether another check may be made on request. */
export function mayCreateCheck({ checkCount, checkCountMax }: CheckQuota): boolean {
  return checkCountMax === null || checkCount < checkCountMax;
}

/** Whether another check may make itself: a job that is already sending is cut off later than its owner. */
export function mayProvisionCheck({ checkCount, checkCountMax }: CheckQuota): boolean {
  return checkCountMax === null || checkCount < checkCountMax * PROVISIONING_FACTOR;
}

// What a create or update request may say about a check, in the order in which clients see it judged, and the
// rules that a value has to keep beyond its shape. Shapes are judged by walking a schema, which is not done here.

/** In what the versions of the API differ here. A field that a version lacks is an unknown field to it. */
export type ParamRules = {
  /** Whether `slug` can be given. */
  slugParam: boolean;
  /** Whether a given name makes the slug; see check.ts. */
  deriveSlug: boolean;
  /** Whether the keyword lists and filters can be given, beside the older `subject` fields. */
  keywordParams: boolean;
  /** Whether a schedule may be an OnCalendar expression. */
  oncalendar: boolean;
  /** What `unique` may name. */
  uniqueFields: readonly UniqueField[];
};

type ParamField = {
  wire: string;
  key: keyof CheckParams | "channels" | "unique";
  /** The rule that has to hold for the field to exist. */
  onlyWith?: "slugParam" | "keywordParams";
};

/** Every field, in the order in which they are judged: only the first problem is told. */
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

/** Whether requests of a version have a field at all. */
export function hasParam(field: (typeof PARAM_FIELDS)[number], rules: ParamRules): boolean {
  return !("onlyWith" in field) || rules[field.onlyWith];
}

/** What a text has to keep besides its length and its characters. */
export const TEXT_RULES = {
  storable: (text: string) => (isStorable(text) ? null : FIELD_PROBLEM.unstorable),
  schedule: (text: string) => (isValidSchedule(text, { oncalendar: true }) ? null : FIELD_PROBLEM.schedule),
  /** An expression that other versions would take is told apart from one that nobody would. */
  cron: (text: string) => {
    if (!isValidSchedule(text, { oncalendar: true })) return FIELD_PROBLEM.schedule;
    return isValidSchedule(text, { oncalendar: false }) ? null : FIELD_PROBLEM.cronOnly;
  },
  zone: (text: string) => (isZone(text) ? null : FIELD_PROBLEM.timezone),
} as const satisfies Record<string, (text: string) => FieldProblem | null>;

export type TextRule = keyof typeof TEXT_RULES;

/** PostgreSQL keeps neither NUL nor half of a surrogate pair in a text. */
function isStorable(value: string): boolean {
  return !value.includes("\0") && value.isWellFormed();
}

/**
 * Whether a text is longer than a limit in code points, not in UTF-16 units: an emoji is one character to whoever
 * typed it. Nothing longer than twice the limit needs counting, whatever it is made of.
 */
export function isLongerThan(value: string, lengthMax: number): boolean {
  if (value.length <= lengthMax) return false;
  return value.length > 2 * lengthMax || Array.from(value).length > lengthMax;
}

/** A JSON value as the object that every request body is. `null`, which some clients send, is an empty one. */
export function requestObject(json: unknown): Checked<Readonly<Record<string, unknown>>> {
  if (json === null) return { ok: true, value: {} };
  if (typeof json !== "object" || Array.isArray(json)) return { ok: false, text: ERROR_TEXT.notAnObject };
  return { ok: true, value: json as Record<string, unknown> };
}

/** A request that was understood. `channels` is null when it is not given; see channels.ts. */
export type CheckRequest = {
  params: CheckParams;
  channels: string | null;
  unique: readonly UniqueField[];
};

/**
 * What a body says, whose fields have been judged. Fields that the rules do not know are not looked at, and each
 * name in `unique` counts once.
 */
export function checkRequestOf(body: Readonly<Record<string, unknown>>, rules: ParamRules): CheckRequest {
  const values: Record<string, unknown> = {};
  for (const field of PARAM_FIELDS) {
    if (Object.hasOwn(body, field.wire) && hasParam(field, rules)) values[field.key] = body[field.wire];
  }
  const { channels = null, unique = [], ...params } = values;
  // Each value has been judged under the type of its key.
  return {
    params,
    channels: channels as string | null,
    unique: [...new Set(unique as readonly UniqueField[])],
  };
}

// Upsert: which existing check a create request with `unique` means. This file decides what has to be
// equal and which match wins; finding the candidates is the store's.

/** The fields that `unique` may name, as they are called on the wire. */
export const UNIQUE_FIELDS = ["name", "slug", "tags", "timeout", "grace"] as const;
export type UniqueField = (typeof UNIQUE_FIELDS)[number];

/** What a check must have stored to be the one that is meant. */
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
 * The criteria of a request, or null when it can match nothing: `unique` names no field, or one that the
 * request does not give. A derived slug is not given.
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

/** Whether stored settings meet the criteria. The period counts even while a schedule has replaced it. */
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

// The query filters of the flips of a check and of the list of checks. A query is a list of pairs, as a
// URL has them; parameters that no filter knows are not looked at.

/** The decoded names and values of a query string, in order. */
export type QueryPairs = Iterable<readonly [name: string, value: string]>;

/** Which flips are wanted: from one instant on, and before another; null is no bound. */
export type FlipFilter = { fromAt: Instant | null; beforeAt: Instant | null };

/**
 * The flips that a query asks for. All of `seconds`, `start` and `end` have to hold; of a repeated one the
 * last counts. `seconds` may be empty or 0, which filters nothing.
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

// Form fields with whole numbers are sometimes filled in as 5.0.
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

/** Which checks are wanted: with that slug, null for any, and with all of these tags. */
export type ListFilter = { slug: string | null; tags: readonly string[] };

/** The checks that a query asks for. Version 1 knows no filter by slug. An empty slug filters nothing. */
export function readListFilter(query: QueryPairs, { bySlug }: { bySlug: boolean }): ListFilter {
  const pairs = [...query];
  const slug = bySlug ? (lastValues(pairs).get("slug") ?? "") : "";
  const tags = new Set(pairs.filter(([name]) => name === "tag").map(([, value]) => value));
  return { slug: slug === "" ? null : slug, tags: [...tags] };
}

/** Whether a check is wanted. An empty tag is wanted of nobody, so it leaves none. */
export function isCheckWanted(check: Pick<CheckSettings, "slug" | "tags">, filter: ListFilter): boolean {
  if (filter.slug !== null && filter.slug !== check.slug) return false;
  if (filter.tags.length === 0) return true;
  // Split once: a query may name as many tags as a check has, and a list has thousands of checks.
  const tags = new Set(splitTags(check.tags));
  return filter.tags.every((tag) => tags.has(tag));
}

function lastValues(query: QueryPairs): Map<string, string> {
  return new Map(query);
}
