// The bytes of a request body as the JSON object that it has to be. Stricter than most readers: no byte-order
// mark, no broken UTF-8, neither nesting nor values without end. The content type is not looked at.
import { AppError, ERROR_TEXT } from "../../core/errors.ts";
import { requestObject } from "../../core/request/check-params.ts";
import { isBeyondBounds, type JsonBounds } from "../../lib/http/json-bounds.ts";

/**
 * Deeper than any body of ours is, and far from where recursion hurts; a thousand names of checks are far below. A million
 * values would take seconds, and nobody has shown a key yet.
 */
const BOUNDS: JsonBounds = { nestingMax: 100, valuesMax: 10_000 };

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
  if (isBeyondBounds(bytes, BOUNDS)) throw new AppError("invalid", ERROR_TEXT.unparsableBody);
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
