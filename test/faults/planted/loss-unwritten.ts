// Planted fault: whoever is given up leaves a blind time behind that lies long ago, and so excuses nobody.
import { rewriteQueries } from "./rewritten-query.ts";

/** The places of its ends among the values; see src/store/intakes.ts. */
const [FROM, TO, REASON] = [1, 2, 3];
const LONG_AGO = new Date(0);

rewriteQueries((query) => {
  const { name, values } = query;
  if (name !== "blind_intervals.insert" || values?.[REASON] !== "the receiving process was lost")
    return query;
  return { ...query, values: values.with(FROM, LONG_AGO).with(TO, LONG_AGO) };
});
