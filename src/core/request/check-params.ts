// What a create or update request may say about a check, in the order in which clients see it judged, and the
// rules that a value has to keep beyond its shape. Shapes are judged by walking a schema, which is not done here.
import type { CheckParams } from "../check.ts";
import { type Checked, ERROR_TEXT, FIELD_PROBLEM, type FieldProblem } from "../errors.ts";
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
