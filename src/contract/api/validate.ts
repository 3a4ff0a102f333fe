// Validates bodies and queries against compiled schemas and returns the first error as a sentence. Converts numbers in
// queries.
import type { Static, TSchema } from "typebox";
import { Compile, type Validator } from "typebox/compile";
import { TEXT_RULES, type TextRule } from "../../core/check.ts";
import { sentenceText } from "../../core/duration-text.ts";
import { RULE } from "../check.ts";
import { FIELD_NAMES } from "./field-names.ts";

/** The schema of a body or a query, and the type of its values. */
export type Schema = TSchema;
export type ValueOf<S extends Schema> = Static<S>;

export type Validated = { ok: true; value: unknown } | { ok: false; error: string; field?: string };

type Node = { type?: string; properties?: Record<string, Node>; items?: Node; [RULE]?: TextRule };

const COMPILED = new WeakMap<Schema, Validator>();

/** The validator of a schema, compiled when it is first used. */
function validatorOf(schema: Schema): Validator {
  const known = COMPILED.get(schema);
  if (known !== undefined) return known;
  const validator: Validator = Compile(schema);
  COMPILED.set(schema, validator);
  return validator;
}

/** Whether a body matches its schema, and otherwise the first problem. */
export function validateBody(schema: Schema, body: unknown): Validated {
  const validator = validatorOf(schema);
  // The errors are only collected if there are any: the compiled check is much faster.
  const [first] = validator.Check(body) ? [] : validator.Errors(body);
  if (first !== undefined) return refusal(first);
  return brokenRule(schema, body) ?? { ok: true, value: body };
}

/** A query according to its schema: unknown names are omitted, and numbers are converted. */
export function validateQuery(schema: Schema, query: URLSearchParams): Validated {
  const { properties = {} } = schema as Node;
  const value: Record<string, unknown> = {};
  for (const [name, node] of Object.entries(properties)) {
    const text = query.get(name);
    if (text === null) continue;
    const isNumber = node.type === "integer" || node.type === "number";
    value[name] = isNumber && /^-?\d{1,15}$/.test(text) ? Number(text) : text;
  }
  return validateBody(schema, value);
}

/** How much of an unknown field name an error repeats. */
const FIELD_NAME_LENGTH_MAX = 100;

type Problem = { keyword: string; instancePath: string; params: object };

function refusal({ keyword, instancePath, params }: Problem): Validated {
  const given = params as Record<string, unknown>;
  const missing = (given["requiredProperties"] ?? given["additionalProperties"]) as string[] | undefined;
  // The innermost name is the one with a form field; numbers are only positions in a list.
  const names = [...instancePath.split("/").slice(1), ...(missing?.slice(0, 1) ?? [])];
  const field = names.findLast((name) => !/^\d+$/.test(name))?.slice(0, FIELD_NAME_LENGTH_MAX);
  const error =
    field === undefined
      ? "The request is not a JSON object."
      : `${shownName(field)} ${problemText(keyword, fieldName(field, given))}.`;
  return { ok: false, error, ...(field !== undefined && { field }) };
}

/** "The grace period" for "graceSeconds"; a field without a form field keeps its name. */
function shownName(field: string): string {
  const name = FIELD_NAMES[field];
  return name === undefined ? field : `The ${name}`;
}

/** Limits of durations are given in minutes, hours and days. */
function fieldName(field: string, given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { limit } = given;
  const isDuration = field.endsWith("Seconds") && typeof limit === "number";
  return isDuration ? { ...given, limit: sentenceText(limit) } : given;
}

const WORDS_FOR_TYPES: Readonly<Record<string, string>> = {
  string: "text",
  integer: "a whole number",
  number: "a number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
};

function problemText(keyword: string, params: Readonly<Record<string, unknown>>): string {
  const limit = String(params["limit"]);
  switch (keyword) {
    case "required":
      return "is missing";
    case "boolean":
    case "additionalProperties":
      return "is not allowed";
    case "type":
      return `must be ${WORDS_FOR_TYPES[String(params["type"])] ?? "of another type"}`;
    case "minimum":
      return `must be at least ${limit}`;
    case "maximum":
      return `must be at most ${limit}`;
    case "minLength":
      return limit === "1" ? "must not be empty" : `must have at least ${limit} characters`;
    case "maxLength":
      return `must have at most ${limit} characters`;
    case "minItems":
      return `must have at least ${limit} items`;
    case "maxItems":
      return `must have at most ${limit} items`;
    case "pattern":
      return "contains characters that are not allowed";
    default:
      return "is not an allowed value";
  }
}

const RULE_ERRORS: Readonly<Record<TextRule, string>> = {
  storable: "contains a character that can't be stored",
  schedule: "is not a valid cron or OnCalendar expression",
  cron: "is not a valid cron expression",
  zone: "is not a known time zone",
};

function brokenRule({ properties = {} }: Node, value: unknown): Validated | null {
  if (typeof value !== "object" || value === null) return null;
  for (const [field, given] of Object.entries(value)) {
    if (isTooDeep(given, DEPTH_MAX))
      return { ok: false, error: `${shownName(field)} is nested too deeply.`, field };
    const node = properties[field];
    // First, because the field that is reported is the innermost one that the schema declares.
    const inner = declaresFields(node) ? brokenInside(node, given) : null;
    if (inner !== null) return inner;
    const rule = node?.[RULE];
    const broken = isStorable(given) ? rule : "storable";
    if (broken === undefined || (broken === rule && isKept(rule, given))) continue;
    const error =
      broken === "zone"
        ? `Unknown time zone: ${String(given)}.`
        : `${shownName(field)} ${RULE_ERRORS[broken]}.`;
    return { ok: false, error, field };
  }
  return null;
}

/** Whether a schema is of an object with declared fields, or of a list of them. */
function declaresFields(node: Node | undefined): boolean {
  return node !== undefined && (node.properties !== undefined || declaresFields(node.items));
}

/** Checks the rules of the fields of an object, or of each object in a list. */
function brokenInside(node: Node | undefined, given: unknown): Validated | null {
  if (node === undefined || typeof given !== "object") return null;
  if (!Array.isArray(given)) return brokenRule(node, given);
  for (const item of given) {
    const broken = brokenInside(node.items, item);
    if (broken !== null) return broken;
  }
  return null;
}

/** No valid value is nested deeper; without a limit, walking through it could overflow the stack. */
const DEPTH_MAX = 20;

function isTooDeep(given: unknown, levels: number): boolean {
  if (typeof given !== "object" || given === null) return false;
  return levels === 0 || Object.values(given).some((inner) => isTooDeep(inner, levels - 1));
}

function isKept(rule: TextRule, given: unknown): boolean {
  return typeof given !== "string" || TEXT_RULES[rule](given) === null;
}

/** The database must be able to store any text, or at least to search for it. */
function isStorable(given: unknown): boolean {
  if (typeof given === "string") return TEXT_RULES.storable(given) === null;
  if (typeof given !== "object" || given === null) return true;
  return Object.entries(given).every(([name, inner]) => isStorable(name) && isStorable(inner));
}
