// The headers that the owner of a webhook adds to its requests: an object, or a text with one `Name: value` a line.
import type { Checked } from "../../core/errors.ts";
import { isOwnHeader } from "../../lib/outgoing/guarded-http.ts";

const HEADER_LENGTH_MAX = 1_000;
/** Of a header in a text: the colon, the end of the line, and blanks. */
const SEPARATORS_LENGTH_MAX = 10;

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const SIGNATURE = /^webhook-(id|timestamp|signature)$/i;

const PLAIN = /^(accept|content-type|user-agent)$/i;

/** Whether a header says how to read a request; any other may hold a key. */
export function isPlainHeader(name: string): boolean {
  return PLAIN.test(name);
}

/** Headers by their names as they were given, or the end of a sentence that says what is wrong. */
export function readHeaders(
  given: unknown,
  { countMax }: { countMax: number },
): Checked<Record<string, string>> {
  // Longer texts hold more headers than there may be, or longer ones.
  const lengthMax = countMax * (2 * HEADER_LENGTH_MAX + SEPARATORS_LENGTH_MAX);
  if (typeof given === "string" && given.length > lengthMax) {
    return wrong(`must be at most ${lengthMax} characters long`);
  }
  const entries = typeof given === "string" ? entriesOfLines(given) : entriesOf(given);
  if (entries === null) return wrong('must be an object with string values, or lines such as "X-Token: abc"');
  if (entries.length > countMax) return wrong(`must contain at most ${countMax} headers`);
  const seen = new Set<string>();
  for (const [name, value] of entries) {
    const problem =
      problemOf(name, value) ?? (seen.has(name.toLowerCase()) ? "is given more than once" : null);
    if (problem !== null) return wrong(`contains the header ${JSON.stringify(name)}, which ${problem}`);
    seen.add(name.toLowerCase());
  }
  return { ok: true, value: Object.fromEntries(entries) };
}

function entriesOf(given: unknown): [string, string][] | null {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return null;
  const entries = Object.entries(given);
  if (!entries.every((entry): entry is [string, string] => typeof entry[1] === "string")) return null;
  return entries.map(([name, value]) => [name.trim(), value.trim()]);
}

function entriesOfLines(text: string): [string, string][] | null {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "");
  const entries = lines.map((line): [string, string] => {
    const colon = line.indexOf(":");
    return colon === -1 ? ["", ""] : [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
  });
  return entries.some(([name, value]) => name === "" || value === "") ? null : entries;
}

function problemOf(name: string, value: string): string | null {
  if (!TOKEN.test(name)) return "is not a valid header name";
  if (isOwnHeader(name)) return "is managed by the connection and cannot be set";
  if (SIGNATURE.test(name)) return "is reserved for the request signature";
  if (value === "") return "has no value";
  if (name.length > HEADER_LENGTH_MAX || value.length > HEADER_LENGTH_MAX) {
    return `is longer than ${HEADER_LENGTH_MAX} characters`;
  }
  // A line break would begin another header.
  return /(?!\t)\p{Cc}/u.test(value) ? "contains a control character" : null;
}

function wrong(text: string): { ok: false; text: string } {
  return { ok: false, text };
}
