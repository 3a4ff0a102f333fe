// How much a JSON text holds, counted without reading it: a reader needs seconds for a million values or endless nesting,
// and everything else waits meanwhile. In UTF-8 no byte of a longer character looks like one of these.

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPENING = [0x5b, 0x7b];
const CLOSING = [0x5d, 0x7d];

export type JsonBounds = { valuesMax: number; nestingMax: number };

/** Whether a text has more values, or is nested deeper, than allowed. A list in a list may count twice, never less than once. */
export function isBeyondBounds(bytes: Uint8Array, { valuesMax, nestingMax }: JsonBounds): boolean {
  let depth = 0;
  let values = 1;
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
      if (depth > nestingMax || values > valuesMax) return true;
    }
  }
  return false;
}
