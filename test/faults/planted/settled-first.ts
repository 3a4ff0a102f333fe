// Planted fault: a message counts as sent as soon as it is claimed, so that a kill in between loses it.
import { rewriteQueries } from "./rewritten-query.ts";

const CLAIMED = "claimed_by = $5, claimed_until_at = $6";
/** The parameters have to be used, or their types would be unknown. */
const SENT = `state = case when $5::uuid is null or $6::timestamptz is null then d.state else 'sent' end,
  settled_at = $3, next_try_at = null`;

rewriteQueries((query) =>
  query.name === "claims.claim" && query.text !== undefined
    ? { ...query, text: query.text.replace(CLAIMED, SENT) }
    : query,
);
