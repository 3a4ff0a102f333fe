// The bytes of a request body as the JSON object that it has to be. Stricter than most readers: no byte-order
// mark, no broken UTF-8, neither nesting nor values without end. The content type is not looked at.
import { AppError, ERROR_TEXT } from "../../core/errors.ts";
import { requestObject } from "../../core/request/check-params.ts";

/** Deeper than any body of ours is, and far from where recursion hurts. */
const NESTING_MAX = 100;
/** A thousand names of checks are far below. A million values would take seconds, and nobody has shown a key yet. */
const VALUES_MAX = 10_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPENING = [0x5b, 0x7b];
const CLOSING = [0x5d, 0x7d];

/** What a number that is read as infinite must have, at least: an exponent of two digits, or very many digits. */
const MAY_OVERFLOW = /[eE]\+?\d{2}|\d{300}/;

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The object in a body; an empty body and a literal null are an empty one. Throws AppError for anything else. */
export function parseBody(bytes: Uint8Array | null): Readonly<Record<string, unknown>> {
  if (bytes === null || bytes.length === 0) return {};
  const object = requestObject(parseJson(bytes));
  if (!object.ok) throw new AppError("invalid", object.text);
  return object.value;
}

function parseJson(bytes: Uint8Array): unknown {
  if (isTooMuch(bytes)) throw new AppError("invalid", ERROR_TEXT.unparsableBody);
  try {
    return parseNumbers(decoder.decode(bytes));
  } catch (error) {
    // What the parser says would quote the body, in which there may be a key.
    if (error instanceof SyntaxError || error instanceof TypeError)
      throw new AppError("invalid", ERROR_TEXT.unparsableBody);
    throw error;
  }
}

/**
 * A whole number with hundreds of digits is read as infinite, and it is too large for whoever wanted one. With a
 * fraction or an exponent it is no whole number, and one that nothing can hold: that is read as NaN.
 */
function parseNumbers(text: string): unknown {
  if (!MAY_OVERFLOW.test(text)) return JSON.parse(text);
  const reviver = (_key: string, value: unknown, { source = "" }: { source?: string }): unknown =>
    (value === Infinity || value === -Infinity) && /[.eE]/.test(source) ? Number.NaN : value;
  // The compiler does not know the third argument yet.
  return JSON.parse(text, reviver as (key: string, value: unknown) => unknown);
}

/** In UTF-8 no byte of a longer character looks like one of these, so the bytes need no decoding. */
function isTooMuch(bytes: Uint8Array): boolean {
  let depth = 0;
  let values = 0;
  let isInText = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (isInText) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) isInText = false;
    } else if (byte === QUOTE) isInText = true;
    else if (CLOSING.includes(byte)) depth -= 1;
    else if (byte === COMMA || OPENING.includes(byte)) {
      // One of these stands before each value but the first.
      values += 1;
      if (byte !== COMMA) depth += 1;
      if (depth > NESTING_MAX || values > VALUES_MAX) return true;
    }
  }
  return false;
}
