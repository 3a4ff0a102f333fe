// Compares an answer with what was expected of it and says every difference, short enough to read. Names that
// the expectation gives to parts of the answer are bound on the way.
import { type Expectation, spelledOut } from "../case-file.ts";
import { type Bindings, filled, loneHoleKind, textProblem } from "./template.ts";

export type Answer = {
  status: number;
  /** Names in lower case. */
  headers: Readonly<Record<string, string | undefined>>;
  body: Buffer;
};

export type Comparing = {
  bindings: Bindings;
  /** Names of fields that do no harm where nothing expects them. */
  tolerated: ReadonlySet<string>;
};

/** Fields that are shown where they are true, whether or not the expectation names them. */
const SHOWN_WHERE_TRUE = new Set(["filter_http_body", "filter_default_fail"]);
const SHOWN_LENGTH_MAX = 200;

/** All differences; none when the answer is as expected. */
export function differences(
  expected: Expectation,
  answer: Answer,
  { bindings, tolerated }: Comparing,
): string[] {
  const { status, headers, body } = answer;
  const out = status === expected.status ? [] : [`status: expected ${expected.status}, got ${status}`];
  for (const [name, template] of Object.entries(expected.headers ?? {})) {
    const problem = headerProblem(template, headers[name.toLowerCase()] ?? null, bindings);
    if (problem !== null) out.push(`header ${name}: ${problem}`);
  }
  const text = body.toString("utf8");
  if (expected.json !== undefined) out.push(...jsonDifferences(expected.json, body, { bindings, tolerated }));
  if (expected.text !== undefined) {
    const problem = textProblem({ template: spelledOut(expected.text), text }, bindings);
    if (problem !== null) out.push(`body: ${shortened(problem, 2 * SHOWN_LENGTH_MAX)}`);
  }
  if (expected.body_base64 !== undefined && body.toString("base64") !== expected.body_base64) {
    out.push(`body: expected the bytes ${expected.body_base64}, got ${shortened(body.toString("base64"))}`);
  }
  for (const part of expected.contains ?? []) {
    if (!text.includes(filled(part, bindings))) out.push(`body: does not contain ${JSON.stringify(part)}`);
  }
  return out;
}

function headerProblem(template: string | null, got: string | null, bindings: Bindings): string | null {
  if (template === null || got === null) {
    return template === got ? null : `expected ${template ?? "none"}, got ${got ?? "none"}`;
  }
  const list = /^\{\{list:(.*)\}\}$/.exec(template)?.[1];
  if (list === undefined) return textProblem({ template, text: got }, bindings);
  const items = (text: string) =>
    text
      .split(",")
      .map((item) => item.trim())
      .toSorted()
      .join();
  return items(list) === items(got) ? null : `expected in any order ${list}, got ${got}`;
}

function jsonDifferences(template: unknown, body: Buffer, how: Comparing): string[] {
  let got: unknown;
  try {
    // Bytes that are no UTF-8 are no JSON either.
    got = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    return [`body: expected JSON, got ${shortened(body.toString("utf8"))}`];
  }
  return valueDifferences(template, got, { ...how, where: "body" });
}

type Place = Comparing & { where: string };

function valueDifferences(template: unknown, got: unknown, at: Place): string[] {
  const unlike = `${at.where}: expected ${shown(template)}, got ${shown(got)}`;
  const kind = typeof template === "string" ? loneHoleKind(template) : null;
  if (kind === "any") return [];
  if (kind === "number" || kind === "int") {
    const isRight = typeof got === "number" && (kind === "number" || Number.isInteger(got));
    return isRight ? [] : [unlike];
  }
  if (typeof template === "string" && typeof got === "string") {
    const problem = textProblem({ template, text: got }, at.bindings);
    return problem === null ? [] : [`${at.where}: ${problem}`];
  }
  if (Array.isArray(template)) {
    return Array.isArray(got) ? listDifferences(template, got, at) : [unlike];
  }
  if (isObject(template)) {
    const { unordered } = template;
    if (Array.isArray(unordered) && Object.keys(template).length === 1) {
      return Array.isArray(got) ? setDifferences(unordered, got, at) : [unlike];
    }
    return isObject(got) ? fieldDifferences(template, got, at) : [unlike];
  }
  return template === got ? [] : [unlike];
}

function listDifferences(template: readonly unknown[], got: readonly unknown[], at: Place): string[] {
  const out: string[] = [];
  if (template.length !== got.length) {
    out.push(`${at.where}: expected ${template.length} items, got ${got.length}: ${shown(got)}`);
  }
  // Those that are there are compared all the same: later steps may need the names that they give.
  for (const [index, item] of template.slice(0, got.length).entries()) {
    out.push(...valueDifferences(item, got[index], { ...at, where: `${at.where}[${index}]` }));
  }
  return out;
}

/** Each expected item takes the first one that it matches. */
function setDifferences(template: readonly unknown[], got: readonly unknown[], at: Place): string[] {
  const out: string[] = [];
  if (template.length !== got.length) {
    out.push(`${at.where}: expected ${template.length} items in any order, got ${shown(got)}`);
  }
  const rest = [...got];
  for (const item of template) {
    const index = rest.findIndex((candidate) => {
      const trial = new Map(at.bindings);
      if (valueDifferences(item, candidate, { ...at, bindings: trial }).length > 0) return false;
      for (const [name, value] of trial) at.bindings.set(name, value);
      return true;
    });
    if (index === -1) out.push(`${at.where}: no item like ${shown(item)}`);
    else rest.splice(index, 1);
  }
  return out;
}

type Fields = Readonly<Record<string, unknown>>;

function fieldDifferences(template: Fields, got: Fields, at: Place): string[] {
  const out: string[] = [];
  for (const [key, value] of Object.entries(template)) {
    const where = `${at.where}.${key}`;
    if (Object.hasOwn(got, key)) out.push(...valueDifferences(value, got[key], { ...at, where }));
    else out.push(`${where}: missing, expected ${shown(value)}`);
  }
  for (const [key, value] of Object.entries(got)) {
    if (Object.hasOwn(template, key) || at.tolerated.has(key)) continue;
    if (SHOWN_WHERE_TRUE.has(key) && value === true) continue;
    out.push(`${at.where}.${key}: not expected, got ${shown(value)}`);
  }
  return out;
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function shown(value: unknown): string {
  return shortened(JSON.stringify(value) ?? String(value));
}

/** Enough of a text to recognise it. */
export function shortened(text: string, lengthMax = SHOWN_LENGTH_MAX): string {
  const line = text.replaceAll("\n", String.raw`\n`);
  return line.length <= lengthMax ? line : `${line.slice(0, lengthMax)}…`;
}
