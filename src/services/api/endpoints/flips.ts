// The flips of a check, found by its UUID or its unique key.
import { presentFlips } from "../../../contract/history/flip.ts";
import { AppError } from "../../../core/errors.ts";
import { readFlipFilter } from "../../../core/request/filters.ts";
import { listFlips as readFlips } from "../../../store/history/flips.ts";
import type { CheckHandler } from "../exchange.ts";

/** All flips that the filters let through, newest first. */
export const listFlips: CheckHandler = async ({ check, column, query, now }, { database }) => {
  const filter = readFlipFilter(query, now);
  if (!filter.ok) throw new AppError("invalid", filter.text);
  const { fromAt, beforeAt } = filter.value;
  const flips = await readFlips(database, {
    checkId: check.id,
    ...(fromAt !== null && { from: fromAt }),
    ...(beforeAt !== null && { before: beforeAt }),
  });
  // What was taken back has not happened: the job had spoken in time.
  const stand = flips.filter(({ takenBackAt }) => takenBackAt === null);
  return { status: 200, json: presentFlips(stand, column.flips) };
};
