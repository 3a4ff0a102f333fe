// The fields that a change in the audit log changed, before and after. Pure.
import { FIELD_NAMES } from "../../../src/contract/web/field-names.ts";
import { recordWords as words } from "../../words/record.ts";
import { formatSpan } from "../../words/time.ts";

export type Difference = { field: string; before: string | null; after: string | null };
type Side = Readonly<Record<string, unknown>> | null;

const VALUE_LENGTH_MAX = 120;
/** Tells programs what was changed; people know it by its name. */
const SUBJECT_ID = "uuid";

/** The fields in which two sides differ; null on a side that did not exist. Fields that are the same are left out. */
export function differences(before: Side, after: Side): Difference[] {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])].filter(
    (name) => name !== SUBJECT_ID,
  );
  return names
    .map((name) => ({
      field: fieldWords(name),
      before: sideWords(before, name),
      after: sideWords(after, name),
    }))
    .filter((one) => one.before !== one.after);
}

function sideWords(side: Side, name: string): string | null {
  if (side === null || !(name in side)) return null;
  const value = side[name];
  return name.endsWith("Seconds") && typeof value === "number"
    ? formatSpan(value * 1_000)
    : valueWords(value);
}

/** "grace period" for "graceSeconds", "url down" for "url_down". */
export function fieldWords(name: string): string {
  const known = FIELD_NAMES[name];
  if (known !== undefined) return known;
  return name
    .replaceAll("_", " ")
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase();
}

/** A value as one short text. */
export function valueWords(value: unknown): string {
  if (value === null || value === undefined) return words.nothing;
  if (value === "") return words.empty;
  if (typeof value === "boolean") return value ? words.yes : words.no;
  if (Array.isArray(value)) return value.length === 0 ? words.nothing : cut(value.map(valueWords).join(", "));
  if (typeof value === "string") return cut(words.names[value] ?? value);
  return cut(JSON.stringify(value));
}

function cut(text: string): string {
  return text.length > VALUE_LENGTH_MAX ? `${text.slice(0, VALUE_LENGTH_MAX - 1)}…` : text;
}
