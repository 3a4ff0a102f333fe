// Planted fault: pings from the log are applied without storing the position with them. The next process that reads the
// partition applies them again.
import { rewriteQueries } from "./rewritten-query.ts";

const TOGETHER = "set next_offset = $4, edges = $5, watermark_at = $6";
/** The parameters have to be used, or their types would be unknown. */
const APART = `set watermark_at = case when $4::bigint is null or $5::jsonb is null then watermark_at else $6 end`;

rewriteQueries((query) =>
  query.name === "log_partitions.advance" && query.text !== undefined
    ? {
        ...query,
        text: query.text.replace(TOGETHER, APART).replace("next_offset = $3", "$3::bigint is not null"),
      }
    : query,
);
