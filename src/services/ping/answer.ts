// What a ping URL answers: status, text and headers of each answer, put together once. Decides nothing.
import type { IncomingMessage, ServerResponse } from "node:http";
import { ERROR_TEXT } from "../../core/errors.ts";
import { SECOND_MS } from "../../core/instant.ts";
import { RepeatedAnswer } from "../../lib/http/answer.ts";

export type AnswerKind =
  | "ok"
  | "created"
  | "preflight"
  | "invalidUrl"
  | "invalidRunId"
  | "notFound"
  | "methodNotAllowed"
  | "ambiguous"
  | "unavailable";

export type PingAnswers = {
  /** Answers, unless that has been done already. `retryAfterSeconds` belongs to "unavailable". */
  send(response: ServerResponse, kind: AnswerKind, retryAfterSeconds?: number): void;
  /** How often each answer was given. */
  counts(): Readonly<Record<AnswerKind, number>>;
};

const METHODS = "GET, HEAD, POST, OPTIONS";
/** A cached answer would be a signal that nobody received, or a check that nobody finds. */
const NO_CACHE = "max-age=0, no-cache, no-store, must-revalidate, private";
const ANY_ORIGIN = { "Access-Control-Allow-Origin": "*" };
const PREFLIGHT_SECONDS = "600";
/** When nobody knows better, for those who are told to come again. */
const RETRY_AFTER_SECONDS = 5;

export type PingAnswerOptions = {
  bodyLimitBytes: number;
  /** Told of requests that meant something which is not there. */
  onMiss?: (request: IncomingMessage) => void;
};

const MISSES: ReadonlySet<AnswerKind> = new Set(["notFound", "invalidUrl", "methodNotAllowed"]);

/** Answers for a service that keeps this much of a body; clients read the figure and send no more. */
export function pingAnswers({ bodyLimitBytes, onMiss }: PingAnswerOptions): PingAnswers {
  const answers = answerTable(String(bodyLimitBytes));
  const counts = { ...NONE_YET };
  const date = httpDate();
  return {
    send: (response, kind, retryAfterSeconds = RETRY_AFTER_SECONDS) => {
      if (response.headersSent) return;
      counts[kind] += 1;
      if (onMiss !== undefined && MISSES.has(kind)) onMiss(response.req);
      if (kind !== "unavailable") return answers[kind].send(response, { date: date() });
      answers[kind].send(response, { date: date(), more: ["Retry-After", String(retryAfterSeconds)] });
    },
    counts: () => ({ ...counts }),
  };
}

const NONE_YET: Readonly<Record<AnswerKind, number>> = {
  ok: 0,
  created: 0,
  preflight: 0,
  invalidUrl: 0,
  invalidRunId: 0,
  notFound: 0,
  methodNotAllowed: 0,
  ambiguous: 0,
  unavailable: 0,
};

function answerTable(bodyLimit: string): Record<AnswerKind, RepeatedAnswer> {
  const recorded = { ...ANY_ORIGIN, "Ping-Body-Limit": bodyLimit };
  return {
    ok: makeAnswer(200, "OK", recorded),
    created: makeAnswer(201, "Created", recorded),
    preflight: makeAnswer(204, "", {
      ...ANY_ORIGIN,
      "Access-Control-Allow-Methods": METHODS,
      "Access-Control-Allow-Headers": "*",
      "Access-Control-Max-Age": PREFLIGHT_SECONDS,
    }),
    invalidUrl: makeAnswer(400, ERROR_TEXT.invalidUrl),
    invalidRunId: makeAnswer(400, ERROR_TEXT.invalidRunId),
    notFound: makeAnswer(404, ERROR_TEXT.notFound),
    methodNotAllowed: makeAnswer(405, ERROR_TEXT.methodNotAllowed, { Allow: METHODS }),
    ambiguous: makeAnswer(409, ERROR_TEXT.ambiguousSlug),
    unavailable: makeAnswer(503, ERROR_TEXT.unavailable),
  };
}

function makeAnswer(status: number, text: string, more: Record<string, string> = {}): RepeatedAnswer {
  return new RepeatedAnswer({ status, text, headers: { "Cache-Control": NO_CACHE, ...more } });
}

/** The date as HTTP writes it, made anew when the second is over. */
function httpDate(): () => string {
  let text = "";
  let secondAt = 0;
  return () => {
    const now = Date.now();
    // The clock may also be set back.
    if (now - secondAt >= SECOND_MS || now < secondAt) {
      secondAt = now - (now % SECOND_MS);
      text = new Date(now).toUTCString();
    }
    return text;
  };
}
