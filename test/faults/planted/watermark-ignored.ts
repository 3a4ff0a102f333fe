// Planted fault: the sweeper assumes that everything up to now has been applied, whatever the watermarks say.
import { rewriteQueries } from "./rewritten-query.ts";

const VOUCHED = "(select min(watermark_at) from open) as watermark_at";

rewriteQueries((query) =>
  query.name === "sight.read" && query.text !== undefined
    ? { ...query, text: query.text.replace(VOUCHED, "clock_timestamp() as watermark_at") }
    : query,
);
