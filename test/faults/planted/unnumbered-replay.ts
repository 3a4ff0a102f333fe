// Planted fault: the number of a batch is not compared with the newest applied one, so that a batch in doubt is
// recorded a second time.
import { rewriteQueries } from "./rewritten-query.ts";

const UNCHECKED =
  "update intake_lanes set last_seq = greatest(last_seq, $3) where intake_id = $1 and lane = $2";

rewriteQueries((query) => (query.name === "intake_lanes.advance" ? { ...query, text: UNCHECKED } : query));
