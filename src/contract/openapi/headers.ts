// The headers of answers that say something a client may act on, for the OpenAPI document. None is required: a limit
// of requests can be switched off.
import { ENDPOINT_RIGHTS } from "../../core/access.ts";
import type { Route } from "../route.ts";

export type Headers = Readonly<
  Record<string, { description: string; schema: { type: "string" | "integer" } }>
>;

export const RETRY: Headers = {
  "Retry-After": { description: "Seconds to wait before retrying.", schema: { type: "integer" } },
};
export const TAG: Headers = {
  ETag: { description: "Identifies this version of the response.", schema: { type: "string" } },
};
export const RATE: Headers = {
  "RateLimit-Limit": {
    description: "Number of requests per minute allowed for the API key.",
    schema: { type: "integer" },
  },
  "RateLimit-Remaining": { description: "Number of requests left.", schema: { type: "integer" } },
  "RateLimit-Reset": {
    description: "Seconds until the limit is fully restored.",
    schema: { type: "integer" },
  },
};

/** The headers of an answer, as a field of its description; nothing where there are none. */
export function headersOf(
  { endpoint, isTagged }: Pick<Route, "endpoint" | "isTagged">,
  status: number,
): { headers?: Headers } {
  const isKeyed = ENDPOINT_RIGHTS[endpoint] !== "open";
  const isGood = status < 300;
  const headers = {
    ...(isTagged && isGood && TAG),
    ...(isKeyed && (isGood || status === 429) && RATE),
    ...((status === 429 || status === 503) && RETRY),
  };
  return Object.keys(headers).length === 0 ? {} : { headers };
}
