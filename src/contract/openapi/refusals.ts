// What each refusal of the Management API means, for the OpenAPI document: a description and an example for each
// status. The texts are core's.
import { ERROR_TEXT, FIELD_PROBLEM, fieldText } from "../../core/errors.ts";
import type { ApiEndpoint } from "../versions.ts";

export type Refusal = { description: string; text: string };

const REFUSALS: Readonly<Record<number, Refusal>> = {
  400: {
    description:
      "The body is not a JSON object, or a field has an invalid type or value. Only the first problem is reported.",
    text: fieldText("timeout", FIELD_PROBLEM.tooSmall),
  },
  401: { description: "The API key is missing or invalid.", text: ERROR_TEXT.missingKey },
  403: {
    description:
      "The API key does not allow this operation: it is read-only, or it belongs to another project.",
    text: ERROR_TEXT.wrongKey,
  },
  404: { description: "The check does not exist.", text: ERROR_TEXT.notFound },
  409: { description: "The check is not paused.", text: ERROR_TEXT.notPaused },
  413: { description: "The request body is larger than 2.5 MiB.", text: ERROR_TEXT.bodyTooLarge },
  429: {
    description: "Too many requests with this API key. `Retry-After` contains the number of seconds to wait.",
    text: ERROR_TEXT.tooManyRequests,
  },
  500: { description: "Internal server error.", text: ERROR_TEXT.internal },
  503: { description: "The service is temporarily unavailable.", text: ERROR_TEXT.unavailable },
};

/** Where a status means something else, or something more. */
const SPECIAL: Readonly<Partial<Record<`${ApiEndpoint} ${number}`, Refusal>>> = {
  "createCheck 403": {
    description: "The API key is read-only, or the account has reached its check limit.",
    text: ERROR_TEXT.checkLimit,
  },
  "pauseCheck 400": { description: "The body is not a JSON object.", text: ERROR_TEXT.unparsableBody },
  "resumeCheck 400": { description: "The body is not a JSON object.", text: ERROR_TEXT.unparsableBody },
  "listFlips 400": {
    description: "A filter is invalid.",
    text: "invalid query parameter: seconds",
  },
  "getPingBody 404": {
    description: "The check or ping does not exist, or the ping has no stored body.",
    text: ERROR_TEXT.notFound,
  },
  "getStatus 503": {
    description: "The database query failed or took more than two seconds.",
    text: ERROR_TEXT.unavailable,
  },
};

/** What a status means in the answer to an endpoint. Throws for one that nobody has described. */
export function refusalOf(endpoint: ApiEndpoint, status: number): Refusal {
  const found = SPECIAL[`${endpoint} ${status}`] ?? REFUSALS[status];
  if (found === undefined) throw new Error(`no description for status ${status}`);
  return found;
}
