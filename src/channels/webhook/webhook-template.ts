// Placeholders of webhooks: what each stands for, and how they are put into an address, a header and a body.
import type { CheckFacts, FlipMessage } from "../../core/alerts/message.ts";
import { splitTags } from "../../core/identity.ts";
import { isoText } from "../words/time-text.ts";

/** Placeholders in the order in which they are tried, and what makes their values: most are asked for by nobody. */
export type Values = readonly (readonly [placeholder: string, value: () => string])[];

/** The values of a message about a check. `$BODY` has a meaning in bodies only. */
export function placeholderValues(
  { check, kind, since, lastPing }: FlipMessage,
  { checkJson, isBody }: { checkJson: (check: CheckFacts) => unknown; isBody: boolean },
): Values {
  const { name, slug, tags } = check.settings;
  const body = lastPing?.body ?? "";
  return [
    ["$CODE", () => check.uuid],
    ["$STATUS", () => kind],
    ["$NOW", () => isoText(since)],
    // Longer names first: what begins with $NAME_JSON begins with $NAME, too.
    ["$NAME_JSON", () => asciiJson(name)],
    ["$NAME", () => name],
    ["$SLUG", () => slug],
    ["$TAGS", () => tags],
    ["$JSON", () => asciiJson(checkJson(check))],
    ...(isBody ? bodyValues(body) : []),
    ["$EXITSTATUS", () => String(lastPing?.exitStatus ?? -1)],
    // With one tag or more, $TAG10 is the first of them and a zero.
    ...splitTags(tags).map((tag, index) => [`$TAG${index + 1}`, () => tag] as const),
  ];
}

/** What stands for the last output. */
export function bodyValues(body: string): Values {
  return [
    ["$BODY_JSON", () => asciiJson(body)],
    ["$BODY", () => body],
  ];
}

/** JSON that may stand in a header, too: letters beyond ASCII are written as escapes. */
export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** A few placeholders of a short template can stand for more than any receiver takes. */
export class TooMuchError extends Error {
  override readonly name = "TooMuchError";
}

const ADDRESS_LENGTH_MAX = 32_000;
const HEADER_LENGTH_MAX = 32_000;
const BODY_LENGTH_MAX = 2_000_000;

/**
 * The template with its placeholders replaced, in one pass: what stands in a value is never looked at. Each piece
 * that begins with a dollar is one placeholder and what follows it, or stays as it is. Throws TooMuchError.
 */
export function fill(template: string, values: Values, lengthMax = BODY_LENGTH_MAX): string {
  const [head = "", ...pieces] = template.split("$");
  const filled = [head];
  let { length } = head;
  for (const piece of pieces) {
    const text = fillPiece(`$${piece}`, values);
    length += text.length;
    if (length > lengthMax)
      throw new TooMuchError(`the filled template is longer than ${lengthMax} characters`);
    filled.push(text);
  }
  return filled.join("");
}

function fillPiece(piece: string, values: Values): string {
  const found = values.find(([placeholder]) => piece.startsWith(placeholder));
  return found === undefined ? piece : found[1]() + piece.slice(found[0].length);
}

/** Values are percent-encoded, but for their slashes; the template is not. */
export function fillAddress(template: string, values: Values): string {
  const encoded = values.map(([placeholder, value]) => [placeholder, () => percentEncoded(value())] as const);
  return fill(template, encoded, ADDRESS_LENGTH_MAX);
}

function percentEncoded(text: string): string {
  return encodeURIComponent(text.toWellFormed())
    .replaceAll("%2F", "/")
    .replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** A header holds one line of Latin-1: letters beyond it become references, and line breaks spaces. */
export function fillHeader(template: string, values: Values): string {
  return fill(template, values, HEADER_LENGTH_MAX)
    .replace(/\p{Cc}+/gu, " ")
    .replace(/[\u0100-\u{10ffff}]/gu, (character) => `&#${character.codePointAt(0)};`)
    .trim();
}
