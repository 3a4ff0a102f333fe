// Planted fault: an intake publishes a watermark of now, although signals wait in its spool.
import { rewriteQueries } from "./rewritten-query.ts";

/** The position of the watermark among the parameters of a heartbeat; see src/store/intakes.ts. */
const WATERMARK = 2;

rewriteQueries((query) => {
  if (query.name !== "intakes.beat" || query.values === undefined) return query;
  return { ...query, values: query.values.with(WATERMARK, new Date()) };
});
