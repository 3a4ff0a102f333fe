// The body of a create or update request: from any JSON value to parameters that the rules can trust, or
// to the text of the first problem. The order of the fields is part of what clients see.
import type { CheckParams } from "../check.ts";
import { type Checked, ERROR_TEXT, FIELD_PROBLEM, type FieldProblem, fieldText } from "../errors.ts";
import { hasSlugCharacters } from "../identity.ts";
import {
  KEYWORDS_LENGTH_MAX,
  NAME_LENGTH_MAX,
  PERIOD_SECONDS_MAX,
  PERIOD_SECONDS_MIN,
  SCHEDULE_LENGTH_MAX,
  SLUG_LENGTH_MAX,
  TAGS_LENGTH_MAX,
} from "../limits.ts";
import { isValidSchedule } from "../schedule/schedule.ts";
import { isZone } from "../schedule/zone.ts";
import type { UniqueField } from "./unique.ts";

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

/** A request that was understood. `channels` is null when it is not given; see channels.ts. */
export type CheckRequest = {
  params: CheckParams;
  channels: string | null;
  unique: readonly UniqueField[];
};

type Judge = (value: unknown, rules: ParamRules) => FieldProblem | null;
type Field = {
  wire: string;
  key: keyof CheckParams | "channels";
  judge: Judge;
  /** The rule that has to hold for the field to exist. */
  onlyWith?: "slugParam" | "keywordParams";
};

const boolean: Judge = (value) => (typeof value === "boolean" ? null : FIELD_PROBLEM.notBoolean);

const methods: Judge = (value) => (value === "" || value === "POST" ? null : FIELD_PROBLEM.unexpected);

const seconds: Judge = (value) => {
  // The reference reads true and false as 1 and 0, and clients may have seen its answer.
  if (typeof value === "boolean") return FIELD_PROBLEM.tooSmall;
  if (typeof value !== "number" || !Number.isInteger(value)) return FIELD_PROBLEM.notNumber;
  if (value < PERIOD_SECONDS_MIN) return FIELD_PROBLEM.tooSmall;
  return value > PERIOD_SECONDS_MAX ? FIELD_PROBLEM.tooLarge : null;
};

function text(lengthMax: number): Judge {
  return (value) => {
    if (typeof value !== "string") return FIELD_PROBLEM.notString;
    if (isLongerThan(value, lengthMax)) return FIELD_PROBLEM.tooLong;
    return isStorable(value) ? null : FIELD_PROBLEM.unstorable;
  };
}

/** These have no limit of their own; the size of a request bounds them. */
const unlimitedText = text(Number.POSITIVE_INFINITY);
const keywords = text(KEYWORDS_LENGTH_MAX);

const slug: Judge = (value) => {
  if (typeof value !== "string") return FIELD_PROBLEM.notString;
  if (isLongerThan(value, SLUG_LENGTH_MAX)) return FIELD_PROBLEM.tooLong;
  return hasSlugCharacters(value) ? null : FIELD_PROBLEM.pattern;
};

const schedule: Judge = (value, { oncalendar }) => {
  if (typeof value !== "string") return FIELD_PROBLEM.notString;
  if (isLongerThan(value, SCHEDULE_LENGTH_MAX)) return FIELD_PROBLEM.tooLong;
  if (!isValidSchedule(value, { oncalendar: true })) return FIELD_PROBLEM.schedule;
  return isValidSchedule(value, { oncalendar }) ? null : FIELD_PROBLEM.cronOnly;
};

const tz: Judge = (value) => {
  if (typeof value !== "string") return FIELD_PROBLEM.notString;
  return isZone(value) ? null : FIELD_PROBLEM.timezone;
};

/** In the order in which they are judged; `unique` comes last. */
const FIELDS: readonly Field[] = [
  { wire: "channels", key: "channels", judge: unlimitedText },
  { wire: "desc", key: "desc", judge: unlimitedText },
  { wire: "failure_kw", key: "failureKw", judge: keywords, onlyWith: "keywordParams" },
  { wire: "filter_subject", key: "filterSubject", judge: boolean, onlyWith: "keywordParams" },
  { wire: "filter_body", key: "filterBody", judge: boolean, onlyWith: "keywordParams" },
  { wire: "filter_http_body", key: "filterHttpBody", judge: boolean, onlyWith: "keywordParams" },
  { wire: "filter_default_fail", key: "filterDefaultFail", judge: boolean, onlyWith: "keywordParams" },
  { wire: "grace", key: "graceSeconds", judge: seconds },
  { wire: "manual_resume", key: "manualResume", judge: boolean },
  { wire: "methods", key: "methods", judge: methods },
  { wire: "name", key: "name", judge: text(NAME_LENGTH_MAX) },
  { wire: "schedule", key: "schedule", judge: schedule },
  { wire: "slug", key: "slug", judge: slug, onlyWith: "slugParam" },
  { wire: "start_kw", key: "startKw", judge: keywords, onlyWith: "keywordParams" },
  { wire: "subject", key: "subject", judge: keywords },
  { wire: "subject_fail", key: "subjectFail", judge: keywords },
  { wire: "success_kw", key: "successKw", judge: keywords, onlyWith: "keywordParams" },
  { wire: "tags", key: "tags", judge: text(TAGS_LENGTH_MAX) },
  { wire: "timeout", key: "timeoutSeconds", judge: seconds },
  { wire: "tz", key: "tz", judge: tz },
];

/** A JSON value as the object that every request body is. `null`, which some clients send, is an empty one. */
export function requestObject(json: unknown): Checked<Readonly<Record<string, unknown>>> {
  if (json === null) return { ok: true, value: {} };
  if (typeof json !== "object" || Array.isArray(json)) return { ok: false, text: ERROR_TEXT.notAnObject };
  return { ok: true, value: json as Record<string, unknown> };
}

/**
 * What a request body says about a check, or its first problem. Types are strict: nothing is converted,
 * and null is no way to leave a field out. Unknown fields are not looked at.
 */
export function readCheckRequest(
  body: Readonly<Record<string, unknown>>,
  rules: ParamRules,
): Checked<CheckRequest> {
  const values: Record<string, unknown> = {};
  for (const { wire, key, judge, onlyWith } of FIELDS) {
    if (!Object.hasOwn(body, wire) || (onlyWith !== undefined && !rules[onlyWith])) continue;
    const problem = judge(body[wire], rules);
    if (problem !== null) return { ok: false, text: fieldText(wire, problem) };
    values[key] = body[wire];
  }
  const unique = Object.hasOwn(body, "unique") ? readUnique(body["unique"], rules) : noUnique;
  if (!unique.ok) return unique;
  const { channels = null, ...params } = values;
  // Each value has been judged under the type of its key in the table above.
  return { ok: true, value: { params, channels: channels as string | null, unique: unique.value } };
}

const noUnique: Checked<readonly UniqueField[]> = { ok: true, value: [] };

function readUnique(value: unknown, { uniqueFields }: ParamRules): Checked<readonly UniqueField[]> {
  if (!Array.isArray(value)) return { ok: false, text: fieldText("unique", FIELD_PROBLEM.notArray) };
  const named = new Set<UniqueField>();
  for (const item of value as unknown[]) {
    const field = uniqueFields.find((allowed) => allowed === item);
    if (field === undefined) return { ok: false, text: ERROR_TEXT.uniqueItem };
    named.add(field);
  }
  return { ok: true, value: [...named] };
}

// Code points, not UTF-16 units: an emoji is one character to whoever typed it. Nothing longer than twice
// the limit needs counting, whatever it is made of.
function isLongerThan(value: string, lengthMax: number): boolean {
  if (value.length <= lengthMax) return false;
  return value.length > 2 * lengthMax || Array.from(value).length > lengthMax;
}

/** PostgreSQL keeps neither NUL nor half of a surrogate pair in a text. */
function isStorable(value: string): boolean {
  return !value.includes("\0") && value.isWellFormed();
}
