// Planted fault: an intake vouches for everything up to now, although signals wait in its spool.
import { rewriteQueries } from "./rewritten-query.ts";

/** The place of the watermark among the values of a beat; see src/store/intakes.ts. */
const WATERMARK = 2;

rewriteQueries((query) => {
  if (query.name !== "intakes.beat" || query.values === undefined) return query;
  return { ...query, values: query.values.with(WATERMARK, new Date()) };
});
