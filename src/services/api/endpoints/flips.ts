// The flips of a check, found by its UUID or its unique key.
import { type FlipJson, presentFlip } from "../../../contract/history/flip.ts";
import { AppError } from "../../../core/errors.ts";
import { readFlipFilter } from "../../../core/request/filters.ts";
import { listFlips as readFlips } from "../../../store/history/flips.ts";
import type { CheckExchange, CheckHandler, House } from "../exchange.ts";

/** So many are read and rendered at once; a check that flaps has hundreds of thousands. */
const PAGE_FLIPS_MAX = 1_000;

/** All flips that the filters let through, newest first. */
export const listFlips: CheckHandler = async (exchange, house) => {
  const filter = readFlipFilter(exchange.query, exchange.now);
  if (!filter.ok) throw new AppError("invalid", filter.text);
  return { status: 200, pieces: flipPieces(exchange, house, filter.value) };
};

type Range = { fromAt: number | null; beforeAt: number | null };

async function* flipPieces(
  { check, column }: CheckExchange,
  { database }: House,
  { fromAt, beforeAt }: Range,
): AsyncGenerator<string> {
  const [begin, end] = column.flips === "array" ? ["[", "]"] : ['{"flips":[', "]}"];
  const range = {
    checkId: check.id,
    ...(fromAt !== null && { from: fromAt }),
    ...(beforeAt !== null && { before: beforeAt }),
    limit: PAGE_FLIPS_MAX,
  };
  let text = begin;
  let after: { at: number; id: number } | undefined;
  let isFirst = true;
  for (;;) {
    const flips = await readFlips(database, { ...range, ...(after !== undefined && { after }) });
    // A flip that was taken back has not happened: the job had spoken in time.
    const listed = flips.filter(({ takenBackAt }) => takenBackAt === null).map(presentFlip);
    if (listed.length > 0) {
      text += (isFirst ? "" : ",") + listed.map((flip: FlipJson) => JSON.stringify(flip)).join(",");
      isFirst = false;
    }
    after = flips.at(-1);
    if (flips.length < PAGE_FLIPS_MAX) break;
    yield text;
    text = "";
  }
  yield text + end;
}
