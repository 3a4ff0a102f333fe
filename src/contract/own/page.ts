// Pages of lists in our own API: where one begins is a text that clients hand back as they got it.
import { Type } from "typebox";
import { PAGE_LENGTH_DEFAULT, PAGE_LENGTH_MAX } from "../../core/limits.ts";
import { type Checked, queryText } from "../../core/errors.ts";
import type { QueryParameter } from "../route.ts";

const MARK = "c";
const RADIX = 36;
/** Enough digits for every number that is exact. */
const CURSOR = /^c[0-9a-z]{1,11}$/;

/** The cursor that stands for what follows a row. */
export function cursorOf(next: number | null): string | null {
  return next === null ? null : MARK + next.toString(RADIX);
}

export const NextCursor = Type.Union([Type.String(), Type.Null()], {
  description: "Send as `cursor` to get the next page. Null on the last page.",
});

export const PAGE_QUERY: readonly QueryParameter[] = [
  {
    name: "cursor",
    description: "The `next_cursor` of the previous page.",
    schema: Type.String({ pattern: CURSOR.source }),
    isRepeatable: false,
  },
  {
    name: "limit",
    description: `Maximum number of items on the page. Default: ${PAGE_LENGTH_DEFAULT}.`,
    schema: Type.Integer({ minimum: 1, maximum: PAGE_LENGTH_MAX }),
    isRepeatable: false,
  },
];

/** Which page a query asks for. */
export function readPage(query: URLSearchParams): Checked<{ from: number | null; limit: number }> {
  const cursor = query.get("cursor");
  const from = cursor === null ? null : CURSOR.test(cursor) ? Number.parseInt(cursor.slice(1), RADIX) : NaN;
  if (from !== null && !Number.isSafeInteger(from)) return { ok: false, text: queryText("cursor") };
  const given = query.get("limit");
  const limit = given === null ? PAGE_LENGTH_DEFAULT : /^\d{1,4}$/.test(given) ? Number(given) : 0;
  return limit >= 1 && limit <= PAGE_LENGTH_MAX
    ? { ok: true, value: { from, limit } }
    : { ok: false, text: queryText("limit") };
}
