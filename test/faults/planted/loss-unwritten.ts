// Planted fault: the blind interval of a lost intake is stored with a time long ago, and so excuses no check.
import { rewriteQueries } from "./rewritten-query.ts";

/** The positions of its start and end among the parameters; see src/store/intakes.ts. */
const [FROM, TO, REASON] = [1, 2, 3];
const LONG_AGO = new Date(0);

rewriteQueries((query) => {
  const { name, values } = query;
  if (name !== "blind_intervals.insert" || values?.[REASON] !== "the receiving process was lost")
    return query;
  return { ...query, values: values.with(FROM, LONG_AGO).with(TO, LONG_AGO) };
});
