// Planted fault: every try at a message has a key of its own, so that its receiver cannot tell a repetition from news.
import { rewriteQueries } from "./rewritten-query.ts";

const CLAIMED = "claimed_by = $5,";

rewriteQueries((query) =>
  query.name === "claims.claim" && query.text !== undefined
    ? { ...query, text: query.text.replace(CLAIMED, `dedupe_key = gen_random_uuid(), ${CLAIMED}`) }
    : query,
);
