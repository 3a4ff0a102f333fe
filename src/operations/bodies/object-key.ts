// Where a body lies in an object store: one prefix for each check, and below it the newest first. Keys are
// written down with the body, so a change here concerns new ones only.
import type { Instant } from "../../core/instant.ts";

const FIRST_LETTER = "a".charCodeAt(0);
const LAST_LETTER = "z".charCodeAt(0);
const NINE = "9".charCodeAt(0);
const BASE = 36;

/**
 * The key of one body. Keys sort descending by number: a letter for the count of digits, then a letter for each
 * digit, both counted backwards. The time makes sure that a number that is given anew never meets an old object.
 */
export function objectKeyOf({ checkUuid, n, at }: { checkUuid: string; n: number; at: Instant }): string {
  const digits = String(n);
  const length = String.fromCharCode(LAST_LETTER + 1 - digits.length);
  const letters = digits.replace(/./g, (digit) =>
    String.fromCharCode(FIRST_LETTER + NINE - digit.charCodeAt(0)),
  );
  return `${checkUuid}/${length}${letters}-${n}-${at.toString(BASE)}`;
}
