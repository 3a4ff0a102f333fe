// The holes in recorded texts, `{{…}}`: filled with known values in what is sent, matched and given names in
// what is expected. It knows texts only; JSON and HTTP are in comparison.ts.
import { createHash } from "node:crypto";
import { uniqueKey } from "../../../src/core/identity.ts";
import { SECOND_MS } from "../../../src/core/instant.ts";
import { isExactNumber } from "../case-file.ts";

/** Values by name: those that the run gives, and those that earlier answers of the case gave. */
export type Bindings = Map<string, string>;

/** A request needs a value that no earlier answer gave. */
export class UnboundError extends Error {
  override readonly name = "UnboundError";
}

type Hole = { kind: string; name: string };
/** A time named in relation to another: so many seconds later or earlier, or at their next full multiple. */
type Relation = { name: string; sign: "+" | "-" | "^"; seconds: number };

const HOLE = /\{\{([^{}]+)\}\}/g;
const RELATION = /^(?<name>\w+)(?<sign>[-+^])(?<seconds>\d+)$/;
const WHOLE_SECONDS = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d`;

/** What a hole of a kind accepts. */
const PATTERNS: Readonly<Record<string, string>> = {
  uuid: "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
  sha1: "[0-9a-f]{40}",
  int: String.raw`-?\d+`,
  number: String.raw`-?\d+(?:\.\d+)?`,
  time: String.raw`${WHOLE_SECONDS}\+00:00`,
  microtime: String.raw`${WHOLE_SECONDS}\.\d{6}\+00:00`,
  url: String.raw`https?://[^\s"]+`,
  any: "[^/]+",
  text: ".+",
};

/** A text as a pattern that matches nothing but itself. */
function literally(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}

const sha1Hex = (text: string): string => createHash("sha1").update(text).digest("hex");

/** Other forms of a value that is known. */
const FORMS: Readonly<Record<string, (value: string) => string>> = {
  upper: (value) => value.toUpperCase(),
  bare: (value) => value.replaceAll("-", ""),
  key: (value) => uniqueKey(value, sha1Hex),
};

function parseHole(text: string): Hole {
  const colonAt = text.indexOf(":");
  if (colonAt !== -1) return { kind: text.slice(0, colonAt), name: text.slice(colonAt + 1) };
  return Object.hasOwn(PATTERNS, text) ? { kind: text, name: "" } : { kind: "", name: text };
}

/** The kind of a template that is one hole and nothing else; null for every other. */
export function loneHoleKind(template: string): string | null {
  const match = /^\{\{([^{}]+)\}\}$/.exec(template);
  return match?.[1] === undefined ? null : parseHole(match[1]).kind;
}

function relationOf(name: string): Relation | null {
  const groups = RELATION.exec(name)?.groups;
  if (groups === undefined) return null;
  const { name: base = "", sign, seconds } = groups;
  return { name: base, sign: sign as Relation["sign"], seconds: Number(seconds) };
}

function shifted(unixSeconds: number, { sign, seconds }: Relation): number {
  if (sign === "^") return (Math.floor(unixSeconds / seconds) + 1) * seconds;
  return sign === "+" ? unixSeconds + seconds : unixSeconds - seconds;
}

function unixSecondsOf(time: string): number {
  return Math.floor(Date.parse(time) / SECOND_MS);
}

/** An instant as the API shows it, without a fraction. */
function timeText(unixSeconds: number): string {
  return `${new Date(unixSeconds * SECOND_MS).toISOString().slice(0, "2026-01-31T12:00:00".length)}+00:00`;
}

function bound(name: string, bindings: Bindings): string {
  const value = bindings.get(name);
  if (value === undefined) throw new UnboundError(name);
  return value;
}

/** The value of a hole that needs nothing but what is known; throws UnboundError. */
function valueOf({ kind, name }: Hole, bindings: Bindings): string {
  if (kind === "sorted") {
    const values = name.split(",").map((one) => bound(one, bindings));
    return values.toSorted().join(",");
  }
  const relation = relationOf(name);
  if (kind === "unix" || (kind === "time" && relation !== null)) {
    const base = unixSecondsOf(bound(relation?.name ?? name, bindings));
    const seconds = relation === null ? base : shifted(base, relation);
    return kind === "unix" ? String(seconds) : timeText(seconds);
  }
  return (FORMS[kind] ?? String)(bound(name, bindings));
}

/** What is sent, with its holes filled, however deep they lie. Throws UnboundError. */
export function filled<T>(value: T, bindings: Bindings): T;
export function filled(value: unknown, bindings: Bindings): unknown {
  if (typeof value === "string") {
    return value.replace(HOLE, (_, text: string) => valueOf(parseHole(text), bindings));
  }
  if (Array.isArray(value)) return value.map((item: unknown) => filled(item, bindings));
  if (typeof value !== "object" || value === null || isExactNumber(value)) return value;
  const entries = Object.entries(value).map(([key, one]) => [filled(key, bindings), filled(one, bindings)]);
  return Object.fromEntries(entries);
}

/** Matches a text as a whole and names what it finds. Returns null, or what is wrong. */
export function textProblem(
  { template, text }: { template: string; text: string },
  bindings: Bindings,
): string | null {
  if (template === text && !template.includes("{{")) return null;
  const found: string[] = [];
  let pattern = "";
  let end = 0;
  try {
    for (const match of template.matchAll(HOLE)) {
      pattern += literally(template.slice(end, match.index));
      end = match.index + match[0].length;
      pattern += holePattern(parseHole(match[1] ?? ""), { bindings, found });
    }
  } catch (error) {
    if (error instanceof UnboundError) return `nothing is known by the name ${error.message}`;
    throw error;
  }
  const groups = new RegExp(`^${pattern}${literally(template.slice(end))}$`, "su").exec(text);
  if (groups === null) return `expected ${JSON.stringify(template)}, got ${JSON.stringify(text)}`;
  found.forEach((name, index) => {
    if (name !== "") bindings.set(name, groups[index + 1] ?? "");
  });
  return null;
}

/** What a hole matches; a name that is new goes to the end of `found`, in the order of the groups. */
function holePattern(hole: Hole, { bindings, found }: { bindings: Bindings; found: string[] }): string {
  const { kind, name } = hole;
  const pattern = Object.hasOwn(PATTERNS, kind) && relationOf(name) === null ? PATTERNS[kind] : undefined;
  if (pattern === undefined || bindings.has(name)) return literally(valueOf(hole, bindings));
  const earlier = name === "" ? -1 : found.indexOf(name);
  // A name that occurs twice in one text must be the same both times.
  if (earlier !== -1) return `\\${earlier + 1}(?:)`;
  found.push(name);
  return `(${pattern})`;
}
