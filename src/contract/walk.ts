// Judges a request body by walking its schema, field by field in the order of the schema, with core's texts. It is
// ours because clients see the order and the texts: no general validator gives them. Only the first problem is told.
import type { TSchema } from "typebox";
import { type Checked, ERROR_TEXT, FIELD_PROBLEM, type FieldProblem, fieldText } from "../core/errors.ts";
import {
  type CheckRequest,
  checkRequestOf,
  isLongerThan,
  type ParamRules,
  TEXT_RULES,
  type TextRule,
} from "../core/request/check-params.ts";
import { RULE } from "./check-body.ts";

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
    const problem = judge(node, body[field]);
    if (problem !== null) return problem === "item" ? ERROR_TEXT.uniqueItem : fieldText(field, problem);
  }
  return null;
}

function propertiesOf(schema: TSchema): Readonly<Record<string, Node>> {
  if (!("properties" in schema)) throw new Error("the schema of a body must be an object schema");
  return schema.properties as Readonly<Record<string, Node>>;
}

type Problem = FieldProblem | "item" | null;

const JUDGES: Readonly<Record<NonNullable<Node["type"]>, (node: Node, value: unknown) => Problem>> = {
  string: judgeText,
  integer: judgeInteger,
  boolean: (_node, value) => (typeof value === "boolean" ? null : FIELD_PROBLEM.notBoolean),
  array: judgeItems,
};

function judge(node: Node, value: unknown): Problem {
  if (node.enum !== undefined) return node.enum.includes(value) ? null : FIELD_PROBLEM.unexpected;
  if (node.type === undefined) throw new Error("a body field without a type cannot be validated");
  return JUDGES[node.type](node, value);
}

function judgeText(node: Node, value: unknown): Problem {
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

function judgeInteger({ minimum, maximum }: Node, value: unknown): Problem {
  // The reference reads true and false as 1 and 0, and clients may have seen its answer.
  if (typeof value === "boolean") return FIELD_PROBLEM.tooSmall;
  if (typeof value !== "number" || Number.isNaN(value)) return FIELD_PROBLEM.notNumber;
  // What JSON writes with hundreds of digits is a whole number too, and none that a number can hold.
  if (Number.isFinite(value) && !Number.isInteger(value)) return FIELD_PROBLEM.notNumber;
  if (minimum !== undefined && value < minimum) return FIELD_PROBLEM.tooSmall;
  return maximum !== undefined && value > maximum ? FIELD_PROBLEM.tooLarge : null;
}

function judgeItems({ items }: Node, value: unknown): Problem {
  if (!Array.isArray(value)) return FIELD_PROBLEM.notArray;
  const isBad = (item: unknown) => items !== undefined && judge(items, item) !== null;
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
