// What can go wrong with a request of ours, in the words that the owner of a channel reads.

export type OutgoingTrouble =
  /** It was not even tried, and will not be the next time either. */
  "refused" | "timeout" | "unresolved" | "unconnected" | "tls" | "redirects" | "broken";

const TEXT: Readonly<Record<OutgoingTrouble, string>> = {
  refused: "Refused",
  timeout: "Connection timed out",
  unresolved: "Could not resolve host",
  unconnected: "Connection failed",
  tls: "TLS handshake failed",
  redirects: "Too many redirects",
  broken: "HTTP request failed",
};

export type OutgoingErrorOptions = ErrorOptions & {
  text?: string;
  /** Whether the other side may have taken the request all the same. */
  mayHaveArrived?: boolean;
};

/** A request that got no answer. The message may be shown; it holds nothing of the address. */
export class OutgoingError extends Error {
  override readonly name = "OutgoingError";
  readonly trouble: OutgoingTrouble;
  readonly mayHaveArrived: boolean;

  constructor(trouble: OutgoingTrouble, { text, mayHaveArrived, ...options }: OutgoingErrorOptions = {}) {
    super(text ?? TEXT[trouble], options);
    this.trouble = trouble;
    this.mayHaveArrived = mayHaveArrived ?? (trouble === "timeout" || trouble === "broken");
  }
}

type Diagnosis = { trouble: OutgoingTrouble; mayHaveArrived?: boolean };

const UNRESOLVED: Diagnosis = { trouble: "unresolved" };
const UNCONNECTED: Diagnosis = { trouble: "unconnected" };
const TIMEOUT: Diagnosis = { trouble: "timeout" };
/** What cannot be written down as a request was not sent. */
const UNSENDABLE: Diagnosis = { trouble: "broken", mayHaveArrived: false };

const CODES: ReadonlyMap<string, Diagnosis> = new Map([
  ["ENOTFOUND", UNRESOLVED],
  ["EAI_AGAIN", UNRESOLVED],
  ["EAI_NONAME", UNRESOLVED],
  ["ENODATA", UNRESOLVED],
  ["ECONNREFUSED", UNCONNECTED],
  ["EHOSTUNREACH", UNCONNECTED],
  ["ENETUNREACH", UNCONNECTED],
  ["EADDRNOTAVAIL", UNCONNECTED],
  ["EACCES", UNCONNECTED],
  ["EPERM", UNCONNECTED],
  ["EINVAL", UNCONNECTED],
  // The next two speak of a proxy, which has not let us through.
  ["UND_ERR_ABORTED", UNCONNECTED],
  ["UND_ERR_PRX_CONN", UNCONNECTED],
  ["UND_ERR_PRX_TLS", { trouble: "tls" }],
  ["UND_ERR_CONNECT_TIMEOUT", { trouble: "timeout", mayHaveArrived: false }],
  ["UND_ERR_HEADERS_TIMEOUT", TIMEOUT],
  ["UND_ERR_BODY_TIMEOUT", TIMEOUT],
  ["ETIMEDOUT", TIMEOUT],
  ["UND_ERR_INVALID_ARG", UNSENDABLE],
  ["UND_ERR_NOT_SUPPORTED", UNSENDABLE],
]);

const TLS_CODES = /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|EPROTO|HOSTNAME_MISMATCH)/;
const CAUSES_MAX = 5;

/** What was thrown while connecting, sending or reading, as one of our own. */
export function outgoingErrorOf(thrown: unknown): OutgoingError {
  for (let cause = thrown, depth = 0; cause instanceof Error && depth < CAUSES_MAX; depth += 1) {
    if (cause instanceof OutgoingError) return cause;
    const diagnosis = diagnosisOf(cause);
    if (diagnosis !== null) return new OutgoingError(diagnosis.trouble, { ...diagnosis, cause: thrown });
    // Several addresses were tried; the first failure speaks for all.
    cause = cause instanceof AggregateError ? cause.errors[0] : cause.cause;
  }
  return new OutgoingError("broken", { cause: thrown });
}

function diagnosisOf(error: Error): Diagnosis | null {
  if (error.name === "TimeoutError") return { trouble: "timeout" };
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  return CODES.get(code) ?? (TLS_CODES.test(code) ? { trouble: "tls" } : null);
}
