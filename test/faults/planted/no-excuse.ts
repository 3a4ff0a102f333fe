// Planted fault: time in which no pings could be received excuses nothing.
import { rewriteQueries } from "./rewritten-query.ts";

const LIST = "from blind_intervals where";

rewriteQueries((query) =>
  query.name === "sight.read" && query.text !== undefined
    ? { ...query, text: query.text.replace(LIST, `${LIST} false and`) }
    : query,
);
