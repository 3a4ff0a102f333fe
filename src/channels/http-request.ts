// Sends a message as one HTTP request and interprets the response. Kinds define what the responses of their receiver mean.
import type { FailedResult, SendResult } from "../core/delivery.ts";
import { type Instant, SECOND_MS } from "../core/instant.ts";
import { RESPONSE_EXCERPT_LENGTH_MAX } from "../core/limits.ts";
import { OutgoingError, type OutgoingRequest, type OutgoingResponse } from "../lib/outgoing-http.ts";
import { hostOf } from "./channel-config.ts";
import type { Outgoing } from "./channel-kind.ts";
import { clipStart, printable } from "./message-text.ts";

const SUCCESS_STATUSES: readonly number[] = [200, 201, 202, 204];

/** A response, recognized by its status and, if given, by its body. */
export type AnswerRule = {
  status: number | readonly number[];
  /** Fields of a JSON body: equal values, or texts that match. */
  json?: Readonly<Record<string, unknown>>;
  /** The whole body matches. */
  text?: RegExp;
};

/** Why the receiver rejects this message, or all messages: a sentence without its period. Shown to the owner. */
type Refusal = AnswerRule & { reason: string };

/** How long the receiver asks to wait, if not in the standard header. */
type Pause = { ms?(answer: OutgoingResponse, now: Instant): number | null };

/** What the responses of a receiver mean. The first list with a matching rule decides, in this order. */
export type Answers = {
  /** The receiver rejects all messages permanently: the channel is disabled. */
  gone?: readonly Refusal[];
  /** This message is not tried again; the channel stays enabled. 413 means that for all receivers. */
  once?: readonly Refusal[];
  /**
   * The server's own key is refused: an admin is told, and no channel is disabled. The message is tried again, unless a
   * rule of `once` matches, too. Only given if the request uses that key.
   */
  ours?: readonly (Refusal & Pause)[];
  /** The message is retried later. */
  wait?: readonly (AnswerRule & Pause)[];
  /** The message was accepted. If omitted: 200, 201, 202 and 204. */
  ok?: readonly AnswerRule[];
};

/** Why a receiver would reject all messages, each reason once. */
export function rejectionsIn({ gone = [] }: Answers): string[] {
  return [...new Set(gone.map(({ reason }) => reason))];
}

/** What no receiver accepts later, either. */
const TOO_LARGE: Refusal = { status: 413, reason: "The message is too long" };

const OK: readonly AnswerRule[] = [{ status: SUCCESS_STATUSES }];

function matches({ status, json, text }: AnswerRule, answer: OutgoingResponse): boolean {
  const isStatus = typeof status === "number" ? status === answer.status : status.includes(answer.status);
  if (!isStatus || (text !== undefined && !text.test(answer.text))) return false;
  if (json === undefined) return true;
  const body = jsonOf(answer);
  return Object.entries(json).every(([name, value]) =>
    value instanceof RegExp ? value.test(said(body[name])) : body[name] === value,
  );
}

function said(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** All client errors that a retry cannot fix, for receivers that block senders after retries. */
export const CLIENT_ERRORS: readonly number[] = Array.from({ length: 100 }, (_, index) => 400 + index).filter(
  (status) => ![408, 425, 429].includes(status),
);

/** A single request that sends a message. */
export async function sendRequest(
  request: OutgoingRequest,
  { http, now }: Pick<Outgoing, "http" | "now">,
  answers: Answers = {},
): Promise<SendResult> {
  const summary = summaryOf(request);
  try {
    return interpret(await http.send(request), { summary, now, answers });
  } catch (error) {
    return failedToSend(error, summary);
  }
}

/** Method and host of a request. The path is omitted: for many receivers it is the secret. */
export function summaryOf({ method, url }: Pick<OutgoingRequest, "method" | "url">): string {
  return `${method} ${hostOf(url)}`;
}

/** Interprets a response. */
export function interpret(
  answer: OutgoingResponse,
  { summary, now, answers = {} }: { summary: string; now: Instant; answers?: Answers },
): SendResult {
  const { status: code } = answer;
  const outcome = { summary, code, excerpt: excerptOf(answer.text) };
  const { gone = [], once = [], ours = [], wait = [], ok = OK } = answers;
  const found = <Rule extends AnswerRule>(rules: readonly Rule[]) =>
    rules.find((rule) => matches(rule, answer));
  const isGone = found(gone);
  const isOnce = isGone === undefined ? found([...once, TOO_LARGE]) : undefined;
  const isOurs = isGone === undefined ? found(ours) : undefined;
  const refusal = isGone ?? isOurs ?? isOnce;
  const waiting = refusal === undefined ? found(wait) : isOurs;
  if (refusal === undefined && waiting === undefined && found(ok) !== undefined)
    return { kind: "sent", ...outcome, ...(ours.length === 0 ? {} : { isOurs: true as const }) };
  return {
    kind: "failed",
    ...outcome,
    permanent: isGone !== undefined || isOnce !== undefined,
    ...(isOnce === undefined ? {} : { keepsChannel: true as const }),
    ...(isOurs === undefined ? {} : { isOurs: true as const }),
    reason: refusal === undefined ? unexpected(code) : `${refusal.reason} (HTTP ${code})`,
    retryAfterMs: waiting?.ms?.(answer, now) ?? retryAfterMs(answer, now),
  };
}

function unexpected(code: number): string {
  return SUCCESS_STATUSES.includes(code)
    ? `The response indicates that the message was not accepted (HTTP ${code})`
    : `Received status code ${code}`;
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

/** How long to wait until the Unix time, in seconds, in a header of a response. */
export function untilTimeIn(header: string): (answer: OutgoingResponse, now: Instant) => number | null {
  return ({ headers }, now) => {
    const seconds = headers[header];
    if (typeof seconds !== "string" || !/^\d+$/.test(seconds)) return null;
    return Math.max(0, Number(seconds) * SECOND_MS - now);
  };
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
