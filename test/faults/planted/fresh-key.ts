// Planted fault: every attempt of a message has its own key, so that its receiver cannot recognize a repetition.
import { rewriteQueries } from "./rewritten-query.ts";

const CLAIMED = "claimed_by = $5,";

rewriteQueries((query) =>
  query.name === "claims.claim" && query.text !== undefined
    ? { ...query, text: query.text.replace(CLAIMED, `dedupe_key = gen_random_uuid(), ${CLAIMED}`) }
    : query,
);
