// Refusals of our own API in the form of RFC 9457: a type for programs, a sentence for people.
import { type Static, Type } from "typebox";
import { type ErrorCode, HTTP_STATUS } from "../../core/errors.ts";

export const PROBLEM_TYPE = "application/problem+json";

export const ProblemSchema = Type.Object({
  type: Type.String({ description: "What kind of problem it is: the same text in every release." }),
  title: Type.String({ description: "The same for people." }),
  status: Type.Integer({ description: "The status of the answer." }),
  detail: Type.String({ description: "What is the matter this time. For people: the words may change." }),
});

export type Problem = Static<typeof ProblemSchema>;

const TITLES: Readonly<Record<ErrorCode, string>> = {
  invalid: "The request cannot be served as it is",
  unauthenticated: "No valid API key",
  forbidden: "Not allowed",
  not_found: "Not found",
  method_not_allowed: "No such method here",
  conflict: "Something is in the way",
  precondition_failed: "Changed meanwhile",
  too_large: "Too large",
  unprocessable: "Idempotency-Key used twice",
  rate_limited: "Too many requests",
  internal: "A fault of the server",
  unavailable: "Not now",
};

/** The problem that a refusal is. */
export function problemOf(code: ErrorCode, detail: string): Problem {
  return {
    type: `urn:overdue:problem:${code.replaceAll("_", "-")}`,
    title: TITLES[code],
    status: HTTP_STATUS[code],
    detail,
  };
}
