// Callbacks of Twilio, which report that a message or a call was not delivered. Only a failure is noted, in the delivery
// log of the channel.
import type { IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { decodeStatusPath, isTwilioSignature, reportedFailure } from "../../channels/kinds/twilio.ts";
import { SECOND_MS } from "../../core/instant.ts";
import { byteBudget, type ReadBody, readBody } from "../../lib/http/body.ts";
import type { HttpHandler } from "../../lib/http/listener.ts";
import { sitePath } from "../../lib/http/request-target.ts";
import {
  type AsyncHandler,
  asyncHandler,
  type HttpResponse,
  SAFETY_HEADERS,
} from "../../lib/http/response.ts";
import type { Log } from "../../lib/log.ts";
import { isUnreachable } from "../../lib/postgres-error.ts";
import { noteFailedDelivery } from "../../operations/deliveries.ts";
import type { Database } from "../../store/db.ts";

export type TwilioStatusOptions = {
  database: Database;
  siteUrl: string;
  /** Null: this server has no account at Twilio. */
  authToken: string | null;
  log: Log;
};

export type TwilioStatusHandler = HttpHandler & { answerCounts(): ReturnType<AsyncHandler["counts"]> };

const AT_ONCE_MAX = 50;
/** @internal Also a limit of tests. */
export const TWILIO_FORM_BYTES_MAX = 16_384;
const FORMS_BYTES_MAX = 1024 * 1024;
/** A callback may arrive before the notifier has saved that the message was sent. */
const WAITS_MAX = 5;
const WAIT_MS = SECOND_MS;

/** Handles callbacks. */
export function twilioStatusHandler(options: TwilioStatusOptions): TwilioStatusHandler {
  const pathOf = sitePath(new URL(options.siteUrl));
  const budget = byteBudget(FORMS_BYTES_MAX);
  const answers = asyncHandler({
    atOnceMax: AT_ONCE_MAX,
    answer: (request) => answer(options, { request, path: pathOf(request.url ?? ""), budget }),
    instead: (error) => {
      const isBusy = error === null || isUnreachable(error);
      if (!isBusy) options.log.error({ err: error }, "could not process a callback of Twilio");
      return status(isBusy ? 503 : 500);
    },
  });
  return {
    handles: ({ url = "" }) => decodeStatusPath(pathOf(url)) !== null,
    handle: (request, response) => answers.handle(request, response),
    answerCounts: () => answers.counts(),
  };
}

type Asked = { request: IncomingMessage; path: string; budget: ReturnType<typeof byteBudget> };

async function answer(
  { database, siteUrl, authToken }: TwilioStatusOptions,
  { request, path, budget }: Asked,
): Promise<HttpResponse> {
  // Without an account at Twilio there are no callbacks.
  if (authToken === null) return status(404);
  if (request.method !== "POST") return status(405, { Allow: "POST" });
  const limits = { keepBytes: TWILIO_FORM_BYTES_MAX, readBytesMax: TWILIO_FORM_BYTES_MAX, budget };
  const read = await new Promise<ReadBody>((resolve) => readBody(request, limits, resolve));
  if (read.kind !== "whole") return status(read.kind === "overflow" ? 503 : 413);
  const fields = new URLSearchParams(Buffer.from(read.body ?? []).toString("utf8"));
  // The URL that Twilio was given: a proxy may have changed what arrives here.
  const url = siteUrl + path;
  const signature = request.headers["x-twilio-signature"];
  if (typeof signature !== "string" || !isTwilioSignature(signature, { authToken, url, fields }))
    return status(403);
  const message = decodeStatusPath(path);
  const reason = reportedFailure(fields);
  if (message !== null && reason !== null) await note(database, { ...message, reason });
  return status(204);
}

async function note(database: Database, failed: Parameters<typeof noteFailedDelivery>[1]): Promise<void> {
  for (let waits = 0; (await noteFailedDelivery(database, failed)) === "pending"; waits += 1) {
    if (waits === WAITS_MAX) return;
    await sleep(WAIT_MS);
  }
}

function status(code: number, headers: Readonly<Record<string, string>> = {}): HttpResponse {
  return { status: code, headers: { ...SAFETY_HEADERS, "Cache-Control": "no-store", ...headers }, body: "" };
}
