// Refusals of our own API in the form of RFC 9457: a type for programs, a sentence for people.
import { type Static, Type } from "typebox";
import { type ErrorCode, HTTP_STATUS } from "../../core/errors.ts";

export const PROBLEM_TYPE = "application/problem+json";

export const ProblemSchema = Type.Object({
  type: Type.String({ description: "Identifies the type of problem. Stable across releases." }),
  title: Type.String({ description: "A short summary of the problem type." }),
  status: Type.Integer({ description: "The HTTP status code." }),
  detail: Type.String({
    description: "A description of this occurrence for people. The wording may change.",
  }),
});

export type Problem = Static<typeof ProblemSchema>;

const TITLES: Readonly<Record<ErrorCode, string>> = {
  invalid: "Invalid request",
  unauthenticated: "Missing or invalid API key",
  forbidden: "Forbidden",
  not_found: "Not found",
  method_not_allowed: "Method not allowed",
  conflict: "Conflict",
  precondition_failed: "Precondition failed",
  too_large: "Request body too large",
  unprocessable: "Idempotency-Key already used",
  rate_limited: "Too many requests",
  internal: "Internal server error",
  unavailable: "Service unavailable",
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
