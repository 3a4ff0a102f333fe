// What each refusal of the Management API means, for the OpenAPI document: a description and an example for each
// status. The texts are core's.
import { ERROR_TEXT, FIELD_PROBLEM, fieldText } from "../../core/errors.ts";
import type { ApiEndpoint } from "../versions.ts";

export type Refusal = { description: string; text: string };

const REFUSALS: Readonly<Record<number, Refusal>> = {
  400: {
    description:
      "The body is no JSON object, or a field of it has a wrong type or value. Only the first problem is told.",
    text: fieldText("timeout", FIELD_PROBLEM.tooSmall),
  },
  401: { description: "The API key is missing, or nobody has it.", text: ERROR_TEXT.missingKey },
  403: {
    description: "The API key is valid, but may not do this: it is read-only, or belongs to another project.",
    text: ERROR_TEXT.wrongKey,
  },
  404: { description: "There is no such check.", text: ERROR_TEXT.notFound },
  409: { description: "The check is not paused.", text: ERROR_TEXT.notPaused },
  413: { description: "The request body is larger than 2.5 MiB.", text: ERROR_TEXT.bodyTooLarge },
  429: {
    description: "The key has made too many requests; `Retry-After` says when to come again.",
    text: ERROR_TEXT.tooManyRequests,
  },
  500: { description: "A fault of the server.", text: ERROR_TEXT.internal },
  503: { description: "The service cannot answer now.", text: ERROR_TEXT.unavailable },
};

/** Where a status means something else, or something more. */
const SPECIAL: Readonly<Partial<Record<`${ApiEndpoint} ${number}`, Refusal>>> = {
  "createCheck 403": {
    description: "The API key may not write, or the account has as many checks as it may have.",
    text: ERROR_TEXT.checkLimit,
  },
  "pauseCheck 400": { description: "The body is no JSON object.", text: ERROR_TEXT.unparsableBody },
  "resumeCheck 400": { description: "The body is no JSON object.", text: ERROR_TEXT.unparsableBody },
  "listFlips 400": {
    description: "A filter cannot be read.",
    text: "invalid query parameter: seconds",
  },
  "getPingBody 404": {
    description: "There is no such check or ping, or the ping has no stored body.",
    text: ERROR_TEXT.notFound,
  },
  "getStatus 503": {
    description: "The test query failed, or took more than two seconds.",
    text: ERROR_TEXT.unavailable,
  },
};

/** What a status means in the answer to an endpoint. Throws for one that nobody has described. */
export function refusalOf(endpoint: ApiEndpoint, status: number): Refusal {
  const found = SPECIAL[`${endpoint} ${status}`] ?? REFUSALS[status];
  if (found === undefined) throw new Error(`nobody has said what ${status} means`);
  return found;
}
