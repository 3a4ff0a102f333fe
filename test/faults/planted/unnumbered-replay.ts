// Planted fault: the number of a batch is not compared with the newest applied one, so that a batch in doubt is
// recorded a second time.
import { rewriteQueries } from "./rewritten-query.ts";

const UNCHECKED = "update intakes set last_seq = greatest(last_seq, $2) where id = $1";

rewriteQueries((query) => (query.name === "intakes.advance" ? { ...query, text: UNCHECKED } : query));
