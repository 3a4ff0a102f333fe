// Sends a message as one HTTP request and interprets the response. Kinds pass the rules that are special to their receiver.
import type { FailedResult, SendResult } from "../core/delivery.ts";
import { type Instant, SECOND_MS } from "../core/instant.ts";
import { RESPONSE_EXCERPT_LENGTH_MAX } from "../core/limits.ts";
import { OutgoingError, type OutgoingRequest, type OutgoingResponse } from "../lib/outgoing-http.ts";
import { hostOf } from "./channel-config.ts";
import type { Outgoing } from "./channel-kind.ts";
import { clipStart, printable } from "./message-text.ts";

const SUCCESS_STATUSES: ReadonlySet<number> = new Set([200, 201, 202, 204]);

/** What a receiver has of its own. */
export type ReceiverRules = {
  /** Why an answer means that nothing sent there will ever be taken; null: it may be, another time. */
  permanentReason?(answer: OutgoingResponse): string | null;
  /** How long it asks to be left alone, where it does not say so in the usual header. */
  retryAfterMs?(answer: OutgoingResponse): number | null;
};

/** A request that is all that a message needs. */
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

/** What was asked of whom. The path is left out: for many receivers it is the secret. */
function summaryOf({ method, url }: Pick<OutgoingRequest, "method" | "url">): string {
  return `${method} ${hostOf(url)}`;
}

/** What an answer means. */
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

/** A request that got no answer. Anything but trouble on the way is a fault of ours, and thrown again. */
export function failedToSend(error: unknown, summary: string): FailedResult {
  if (!(error instanceof OutgoingError)) throw error;
  return { ...notTried(error.message, summary), inDoubt: error.mayHaveArrived };
}

/** A message that is not even tried. */
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

/** Retry-After, in either of its forms. */
function retryAfterMs({ headers }: OutgoingResponse, now: Instant): number | null {
  const header = headers["retry-after"];
  if (typeof header !== "string") return null;
  if (/^\s*\d+(\.\d+)?\s*$/.test(header)) return Math.ceil(Number(header) * SECOND_MS);
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}

/** The body of an answer as an object; an empty one when it is none. */
export function jsonOf(answer: OutgoingResponse): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(answer.text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
