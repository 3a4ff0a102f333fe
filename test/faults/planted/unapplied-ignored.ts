// Planted fault: sweepers assume that everything in the log has been applied, although no recorder runs.
import { rewriteQueries } from "./rewritten-query.ts";

const WATERMARK = "(select min(watermark_at) from open) as watermark_at";
const HEARTBEAT = "(select max(beat_at) from open) as beat_at";

rewriteQueries((query) =>
  query.name === "sight.read" && query.text !== undefined
    ? {
        ...query,
        text: query.text
          .replace(WATERMARK, "clock_timestamp() as watermark_at")
          .replace(HEARTBEAT, "clock_timestamp() as beat_at"),
      }
    : query,
);
