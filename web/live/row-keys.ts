// What a row is compared and found by, made once for each row. Pure but for remembering.
import type { CheckRow } from "../../src/contract/web/check-row.ts";

/** Digits are filled up to this, so that text order is number order. */
const DIGITS = 12;

const names = new WeakMap<CheckRow, string>();
const texts = new WeakMap<CheckRow, string>();

/** "job-9" before "job-10", and case does not matter. */
export function nameKey(row: CheckRow): string {
  let key = names.get(row);
  if (key === undefined) {
    key = row.name.toLowerCase().replaceAll(/\d+/g, (digits) => digits.padStart(DIGITS, "0"));
    names.set(row, key);
  }
  return key;
}

/** Everything that a search looks at, in small letters. */
export function searchText(row: CheckRow): string {
  let text = texts.get(row);
  if (text === undefined) {
    text = `${row.name}\n${row.slug}\n${row.id}\n${row.tags.join("\n")}`.toLowerCase();
    texts.set(row, text);
  }
  return text;
}
