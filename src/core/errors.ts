// Error codes and texts for callers. Any other error is reported as `internal`, without details.

/** Error codes, independent of the protocol. */
export type ErrorCode =
  | "invalid"
  | "unauthenticated"
  | "forbidden"
  | "not_found"
  | "method_not_allowed"
  | "conflict"
  | "precondition_failed"
  | "too_large"
  | "unprocessable"
  | "rate_limited"
  | "unavailable"
  | "internal";

/** The HTTP status of each code. */
export const HTTP_STATUS: Readonly<Record<ErrorCode, number>> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  precondition_failed: 412,
  too_large: 413,
  unprocessable: 422,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
};

/** Fixed texts. Clients compare some of them, so they are part of the API. */
export const ERROR_TEXT = {
  unparsableBody: "could not parse request body",
  notAnObject: "json validation error: value is not an object",
  uniqueItem: "json validation error: an item in 'unique' has unexpected value",
  missingKey: "missing api key",
  wrongKey: "wrong api key",
  checkLimit: "check limit reached",
  notFound: "not found",
  methodNotAllowed: "method not allowed",
  notPaused: "check is not paused",
  emptyChannel: "empty channel identifier",
  bodyTooLarge: "request body too large",
  tooManyRequests: "too many requests",
  internal: "internal server error",
  unavailable: "service unavailable",
  /** Ping URLs return these as plain text. */
  invalidUrl: "invalid url format",
  invalidRunId: "invalid uuid format",
  ambiguousSlug: "ambiguous slug",
} as const;

/** What can be wrong with one field of a request. */
export const FIELD_PROBLEM = {
  notString: "is not a string",
  notNumber: "is not a number",
  notBoolean: "is not a boolean",
  notArray: "is not an array",
  tooLong: "is too long",
  tooSmall: "is too small",
  tooLarge: "is too large",
  pattern: "does not match pattern",
  unexpected: "has unexpected value",
  unstorable: "contains a character that cannot be stored",
  schedule: "is not a valid cron or OnCalendar expression",
  cronOnly: "is not a valid cron expression",
  timezone: "is not a valid timezone",
} as const;

export type FieldProblem = (typeof FIELD_PROBLEM)[keyof typeof FIELD_PROBLEM];

/** Either a valid value, or the text that describes what is wrong with the request. */
export type Checked<T> = { ok: true; value: T } | { ok: false; text: string };

/** The text for a field of a JSON body; `field` is its name on the wire. */
export function fieldText(field: string, problem: FieldProblem): string {
  return `json validation error: ${field} ${problem}`;
}

/** The text for a query filter that cannot be read. */
export function queryText(parameter: string): string {
  return `invalid query parameter: ${parameter}`;
}

/** The text for an item of `channels` that names no integration, or more than one. */
export function channelText(problem: "invalid" | "non-unique", identifier: string): string {
  return `${problem} channel identifier: ${identifier}`;
}

/** An error that the caller may see. Thrown by operations; services translate it to their protocol. */
export class AppError extends Error {
  override readonly name = "AppError";
  readonly code: ErrorCode;
  /** The form field it concerns, if known. */
  readonly field: string | null;

  constructor(code: ErrorCode, text: string, field: string | null = null) {
    super(text);
    this.code = code;
    this.field = field;
  }
}

/** The public form of any thrown error: an AppError as it is, others without details. */
export function refusalOf(thrown: unknown): { code: ErrorCode; text: string } {
  if (thrown instanceof AppError) return { code: thrown.code, text: thrown.message };
  return { code: "internal", text: ERROR_TEXT.internal };
}
