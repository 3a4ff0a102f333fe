// Errors of the Overdue API as problem details (RFC 9457): a type for programs, a sentence for people.
import { type Static, Type } from "typebox";
import { type ErrorCode, HTTP_STATUS } from "../../core/errors.ts";

export const PROBLEM_TYPE = "application/problem+json";

const ChangedBySchema = Type.Union(
  [
    Type.Object({ kind: Type.Literal("you") }),
    Type.Object({ kind: Type.Literal("person"), email: Type.String() }),
    Type.Object({ kind: Type.Literal("key") }),
    Type.Null(),
  ],
  { description: "Who made the change. Null if that is unknown." },
);

export const EditConflictSchema = Type.Object(
  {
    by: ChangedBySchema,
    at: Type.Integer(),
    before: Type.Record(Type.String(), Type.Unknown()),
    after: Type.Record(Type.String(), Type.Unknown()),
    version: Type.Integer({ description: "Send this version to overwrite the change." }),
  },
  { description: "What was changed since the version that the request is based on." },
);

export const ProblemSchema = Type.Object({
  type: Type.String({ description: "Identifies the type of problem. Stable across releases." }),
  title: Type.String({ description: "A short summary of the problem type." }),
  status: Type.Integer({ description: "The HTTP status code." }),
  detail: Type.String({
    description: "A description of this occurrence for people. The wording may change.",
  }),
  field: Type.Optional(Type.String({ description: "The field of the request that the problem is about." })),
  conflict: Type.Optional(EditConflictSchema),
});
export type Problem = Static<typeof ProblemSchema>;

const TITLES: Readonly<Record<ErrorCode, string>> = {
  invalid: "Invalid request",
  unauthenticated: "Missing or invalid credentials",
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

/** The type of the problem that a request needs a recent re-authentication. */
export const REAUTH_PROBLEM = "urn:overdue:problem:reauthentication-required";

export type ProblemExtras = Pick<Problem, "field" | "conflict">;

export function problemOf(code: ErrorCode, detail: string, extras: ProblemExtras = {}): Problem {
  return {
    type: `urn:overdue:problem:${code.replaceAll("_", "-")}`,
    title: TITLES[code],
    status: HTTP_STATUS[code],
    detail,
    ...extras,
  };
}

export function reauthProblem(detail: string): Problem {
  return { ...problemOf("forbidden", detail), type: REAUTH_PROBLEM, title: "Re-authentication required" };
}
