// What a row is compared and found by, made once for each row. Pure but for remembering.
import { type CheckRow, naturalKey } from "../../src/contract/web/check-row.ts";

const names = new WeakMap<CheckRow, string>();
const texts = new WeakMap<CheckRow, string>();

/** The key of its name. */
export function nameKey(row: CheckRow): string {
  let key = names.get(row);
  if (key === undefined) {
    key = naturalKey(row.name);
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

/** Answers and the stream may bring versions of a row in any order. */
export function newerOf(known: CheckRow | undefined, row: CheckRow): CheckRow {
  return known !== undefined && known.readingOrder > row.readingOrder ? known : row;
}
