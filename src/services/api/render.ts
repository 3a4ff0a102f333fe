// An answer as it goes over the wire: bytes, content type, and the headers that every answer of the API carries.
import { createHash } from "node:crypto";
import type { Route } from "../../contract/route.ts";
import { HTTP_STATUS, type ErrorCode } from "../../core/errors.ts";
import type { RateVerdict } from "../../core/request/rate-limit.ts";
import { SAFETY_HEADERS } from "../../lib/http/answer.ts";
import type { SentAnswer } from "./exchange.ts";

export type Rendered = {
  status: number;
  headers: Record<string, string>;
  /** Null: no body, or a stream. */
  bytes: Uint8Array | null;
  stream?: AsyncGenerator<string>;
  /** To be called once when the answer was sent, or cannot be. */
  release?: () => void;
};

const OK = 200;
const NO_CONTENT = 204;
const NOT_MODIFIED = 304;
const JSON_TYPE = "application/json";
const PREFLIGHT_SECONDS = 600;
/** How long somebody should wait whom we could not serve. */
const RETRY_AFTER_SECONDS = 5;
const ALL_METHODS = ["DELETE", "GET", "POST"];

/** Browsers on any site may call the API: what protects it is the key, which no browser sends by itself. */
function corsHeaders(methods: readonly string[] = ALL_METHODS): Record<string, string> {
  return {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Headers": "X-Api-Key",
    "Access-Control-Allow-Methods": [...methods, "OPTIONS"].toSorted().join(", "),
    "Access-Control-Max-Age": String(PREFLIGHT_SECONDS),
  };
}

/** What a request learns about how many more it may make. */
function rateHeaders(rate: RateVerdict | null): Record<string, string> {
  if (rate === null) return {};
  return {
    "RateLimit-Limit": String(rate.limit),
    "RateLimit-Remaining": String(rate.remaining),
    "RateLimit-Reset": String(rate.resetSeconds),
    ...(!rate.isAllowed && { "Retry-After": String(rate.retryAfterSeconds) }),
  };
}

/** A refusal as an answer. An empty text stands for an empty body, as one of the dialects wants it. */
export function refusal(code: ErrorCode, text: string): SentAnswer {
  const status = HTTP_STATUS[code];
  const headers = code === "unavailable" ? { "Retry-After": String(RETRY_AFTER_SECONDS) } : {};
  return text === ""
    ? { status, headers, content: "", type: "text/plain" }
    : { status, headers, json: { error: text } };
}

/** The answer to a preflight. */
export function preflight(methods: readonly string[]): Rendered {
  return { status: NO_CONTENT, headers: { ...SAFETY_HEADERS, ...corsHeaders(methods) }, bytes: null };
}

export type RenderOptions = {
  route: Pick<Route, "isTagged"> | null;
  methods?: readonly string[];
  rate: RateVerdict | null;
  ifNoneMatch: string | undefined;
};

/** Renders an answer. One that the sender has already, by its tag, is not sent again. */
export function render(answer: SentAnswer, { route, methods, rate, ifNoneMatch }: RenderOptions): Rendered {
  const bytes = bytesOf(answer);
  const isTagged = route?.isTagged === true && answer.status === OK;
  // What is sent while it is made has no tag: nobody knows yet what it will be.
  const tag = isTagged && bytes !== null ? entityTag(bytes) : null;
  const headers = {
    // What is true of a check now need not be so a second later; a tag only saves sending it again.
    "Cache-Control": tag === null ? "no-store" : "private, no-cache",
    ...SAFETY_HEADERS,
    ...corsHeaders(methods),
    ...rateHeaders(rate),
    ...answer.headers,
    ...(tag !== null && { ETag: tag }),
  };
  const release = "release" in answer ? { release: answer.release } : {};
  if (tag !== null && matches(ifNoneMatch, tag)) {
    return { status: NOT_MODIFIED, headers, bytes: null, ...release };
  }
  const type = "type" in answer ? answer.type : JSON_TYPE;
  const stream = "stream" in answer ? { stream: answer.stream } : {};
  return {
    status: answer.status,
    headers: { ...headers, "Content-Type": type },
    bytes,
    ...stream,
    ...release,
  };
}

function bytesOf(answer: SentAnswer): Buffer | null {
  if ("stream" in answer) return null;
  return Buffer.from("json" in answer ? JSON.stringify(answer.json) : answer.content);
}

function entityTag(bytes: Uint8Array): string {
  return `"${createHash("sha1").update(bytes).digest("base64url")}"`;
}

/** Whether the sender has the answer already. Proxies that compress mark tags as weak; the content is the same. */
function matches(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === "*") return true;
  return header.split(",").some((item) => item.trim().replace(/^W\//, "") === tag);
}
