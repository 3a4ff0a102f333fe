// Sends a message as one HTTP request and interprets the response. Kinds pass the rules that are special to their receiver.
import type { FailedResult, SendResult } from "../core/delivery.ts";
import { type Instant, SECOND_MS } from "../core/instant.ts";
import { RESPONSE_EXCERPT_LENGTH_MAX } from "../core/limits.ts";
import { OutgoingError, type OutgoingRequest, type OutgoingResponse } from "../lib/outgoing-http.ts";
import { hostOf } from "./channel-config.ts";
import type { Outgoing } from "./channel-kind.ts";
import { clipStart, printable } from "./message-text.ts";

const SUCCESS_STATUSES: ReadonlySet<number> = new Set([200, 201, 202, 204]);

/** Rules of a particular receiver. */
export type ReceiverRules = {
  /** Why a response means that the receiver rejects messages permanently; null: it does not. */
  permanentReason?(answer: OutgoingResponse): string | null;
  /** The requested delay, if it is not in the standard header. */
  retryAfterMs?(answer: OutgoingResponse): number | null;
};

/** A single request that sends a message. */
export async function sendRequest(
  request: OutgoingRequest,
  { http, now }: Pick<Outgoing, "http" | "now">,
  rules: ReceiverRules = {},
): Promise<SendResult> {
  const summary = summaryOf(request);
  try {
    return interpret(await http.send(request), { summary, now, rules });
  } catch (error) {
    return failedToSend(error, summary);
  }
}

/** Method and host of a request. The path is omitted: for many receivers it is the secret. */
function summaryOf({ method, url }: Pick<OutgoingRequest, "method" | "url">): string {
  return `${method} ${hostOf(url)}`;
}

/** Interprets a response. */
export function interpret(
  answer: OutgoingResponse,
  { summary, now, rules = {} }: { summary: string; now: Instant; rules?: ReceiverRules },
): SendResult {
  const { status: code } = answer;
  const outcome = { summary, code, excerpt: excerptOf(answer.text) };
  if (SUCCESS_STATUSES.has(code)) return { kind: "sent", ...outcome };
  const permanentReason = rules.permanentReason?.(answer) ?? null;
  return {
    kind: "failed",
    ...outcome,
    permanent: permanentReason !== null,
    reason: permanentReason ?? `Received status code ${code}`,
    retryAfterMs: rules.retryAfterMs?.(answer) ?? retryAfterMs(answer, now),
  };
}

/** A request without a response. Errors other than network errors are bugs and rethrown. */
export function failedToSend(error: unknown, summary: string): FailedResult {
  if (!(error instanceof OutgoingError)) throw error;
  return { ...notTried(error.message, summary), inDoubt: error.mayHaveArrived };
}

/** A message that is not sent. */
export function notTried(reason: string, summary = "not sent"): FailedResult {
  return {
    kind: "failed",
    permanent: false,
    retryAfterMs: null,
    summary,
    code: null,
    excerpt: null,
    reason,
    inDoubt: false,
  };
}

function excerptOf(text: string): string | null {
  const shown = printable(text).trim();
  return shown === "" ? null : clipStart(shown, RESPONSE_EXCERPT_LENGTH_MAX);
}

/** Retry-After, in either of its formats. */
function retryAfterMs({ headers }: OutgoingResponse, now: Instant): number | null {
  const header = headers["retry-after"];
  if (typeof header !== "string") return null;
  if (/^\s*\d+(\.\d+)?\s*$/.test(header)) return Math.ceil(Number(header) * SECOND_MS);
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}

/** The body of a response as an object; empty if it is not one. */
export function jsonOf(answer: OutgoingResponse): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(answer.text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
