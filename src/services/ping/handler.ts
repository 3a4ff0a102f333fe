// From an HTTP request to its answer: decode, read the body, hand the signal to the intake, say what became of
// it. The hot path; everything it needs is handed in, and every wait in it has an end.
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  PING_ANSWER_MS_MAX,
  PING_READ_BYTES_MAX,
  SCHEME_LENGTH_MAX,
  USER_AGENT_LENGTH_MAX,
} from "../../core/limits.ts";
import type { Acceptance, Resolution, SignalIntake } from "../../intake/intake.ts";
import {
  type ClientAddress,
  clientAddressReader,
  type Forwarding,
  networkReader,
  proxyNetworks,
} from "../../lib/http/client-address.ts";
import type { RefusedConnection } from "../../lib/http/connections.ts";
import { announcesBody, type BodyLimits, byteBudget, readBody } from "../../lib/http/body.ts";
import type { HttpHandler } from "../../lib/http/listener.ts";
import type { Log } from "../../lib/log.ts";
import { type AnswerKind, type PingAnswers, pingAnswers } from "./answer.ts";
import { decodePing, type PingFlaw, type PingRequest } from "./decode.ts";
import { type LocatePing, type PublishedAddresses, pingLocator } from "./locate.ts";
import { type Owed, type PendingAnswers, pendingAnswers } from "./pending.ts";
import { SendingOrder } from "./sending-order.ts";

export type PingHandlerOptions = PublishedAddresses & {
  intake: SignalIntake;
  /** Addresses and ranges of the proxies whose forwarding headers are believed. */
  trustedProxies: readonly string[];
  /** How much of a body is kept. */
  bodyLimitBytes: number;
  log: Log;
  /** Told of requests that meant something which is not there. */
  onMiss?: (request: IncomingMessage) => void;
  /** How long after its last byte a request is answered at the latest. */
  answerWithinMs?: number;
  /** How much of a body is read at all. */
  readBytesMax?: number;
  /** How many bytes of unfinished bodies are held together. */
  bodyBytesHeldMax?: number;
  /** How many answers may be owed at once. */
  pendingMax?: number;
  /** How many checks of flawed requests are looked up at once. */
  flawedMax?: number;
};

export type PingCounts = { answers: Readonly<Record<AnswerKind, number>>; pending: number };

export type PingHandler = HttpHandler & {
  counts(): PingCounts;
  /** A connection was refused, or closed in the middle of a request. */
  refused(connection: RefusedConnection): void;
};

/** The promise, less what noticing and sending may take. */
const ANSWER_WITHIN_MS = PING_ANSWER_MS_MAX - 200;
const BODY_BYTES_HELD_MAX = 256 * 1024 * 1024;
const PENDING_MAX = 20_000;
/** Flawed requests wait for a look-up and are never recorded. Beyond this number they get 503, so that pings have room. */
const FLAWED_MAX = 500;
/** How long a sender who does not come to an end may go on after the answer, so that it gets to read it. */
const LINGER_MS = 2_000;
const ERROR_LOG_PAUSE_MS = 1_000;

type Parts = {
  intake: SignalIntake;
  locate: LocatePing;
  clientOf(forwarding: Forwarding): ClientAddress;
  networkOf: ReturnType<typeof networkReader>;
  answers: PingAnswers;
  pending: PendingAnswers;
  pendingMax: number;
  flawedMax: number;
  /** Look-ups for flawed requests that are under way, answered or not. */
  flawedCount: number;
  bodyLimits: BodyLimits;
  order: SendingOrder;
  logFailure(error: unknown): void;
};

/** Handles what comes to the ping addresses. */
export function pingHandler(options: PingHandlerOptions): PingHandler {
  const answers = pingAnswers(options);
  const isProxy = proxyNetworks(options.trustedProxies);
  const parts: Parts = {
    intake: options.intake,
    locate: pingLocator(options),
    clientOf: clientAddressReader(options.trustedProxies, { schemeLengthMax: SCHEME_LENGTH_MAX }),
    networkOf: networkReader(options.trustedProxies),
    answers,
    pending: pendingAnswers({
      withinMs: options.answerWithinMs ?? ANSWER_WITHIN_MS,
      late: (response) => answers.send(response, "unavailable"),
    }),
    pendingMax: options.pendingMax ?? PENDING_MAX,
    flawedMax: options.flawedMax ?? FLAWED_MAX,
    flawedCount: 0,
    bodyLimits: {
      keepBytes: options.bodyLimitBytes,
      readBytesMax: options.readBytesMax ?? PING_READ_BYTES_MAX,
      budget: byteBudget(options.bodyBytesHeldMax ?? BODY_BYTES_HELD_MAX),
    },
    order: new SendingOrder(),
    logFailure: failureLog(options.log),
  };
  return {
    handles: (request) => parts.locate(request.url ?? "", request.headers.host) !== null,
    handle: (request, response) => handle(parts, request, response),
    counts: () => ({ answers: answers.counts(), pending: parts.pending.count() }),
    refused: (connection) => noteRefused(parts, { ...connection, isProxy }),
  };
}

/** What the refused connection wanted to ping, as far as that is known; a proxy itself stands for any network. */
function noteRefused(
  { intake, locate }: Parts,
  { network, request, isProxy }: RefusedConnection & { isProxy: (network: string) => boolean },
): void {
  const at = intake.now();
  const located = request === null ? null : locate(request.url ?? "", request.headers.host);
  // A request for anything else than a ping URL was no ping.
  if (request !== null && located === null) return;
  const ping = located === null ? null : decodePing(located);
  if (typeof ping === "string") return;
  intake.refused({ at, target: ping?.target ?? null, network: isProxy(network) ? null : network });
}

function handle(parts: Parts, request: IncomingMessage, response: ServerResponse): void {
  const { answers } = parts;
  const { method } = request;
  if (method === "OPTIONS") return answers.send(response, "preflight");
  if (method !== "GET" && method !== "POST" && method !== "HEAD") {
    return answers.send(response, "methodNotAllowed");
  }
  const ping = decodePing(parts.locate(request.url ?? "", request.headers.host) ?? "");
  if (typeof ping === "string") return answers.send(response, ping);
  if (ping.flaw !== null) return void refuse(parts, { ping, flaw: ping.flaw, response });
  const received = { ping, request, response };
  if (!announcesBody(request)) {
    return parts.order.whole(request.socket, () => void record(parts, { ...received, body: null }));
  }
  const proceed = parts.order.unfinished(request.socket);
  readBody(request, parts.bodyLimits, (read) => {
    proceed(() => {
      if (read.kind === "broken") return;
      if (read.kind === "overflow") return turnAway(parts, received);
      if (read.kind === "endless") response.once("finish", () => cutOff(request));
      void record(parts, { ...received, body: read.body });
    });
  });
}

type Received = {
  ping: PingRequest;
  request: IncomingMessage;
  response: ServerResponse;
  body: Uint8Array | null;
};

/** The request is whole: from here on the clock runs. */
async function record(parts: Parts, { ping, request, response, body }: Received): Promise<void> {
  const { intake, answers, pending } = parts;
  if (pending.count() >= parts.pendingMax) return turnAway(parts, { ping, request, response });
  const { headers, method = "GET" } = request;
  const { remoteAddr, scheme } = parts.clientOf({
    peer: request.socket.remoteAddress,
    forwardedFor: headers["x-forwarded-for"],
    forwardedProto: headers["x-forwarded-proto"],
  });
  const { target, action, rid, create } = ping;
  const signal = {
    target,
    source: { by: "http" as const, action, method },
    rid,
    exitStatus: typeof action === "string" ? null : action.exitStatus,
    scheme,
    remoteAddr,
    ua: (headers["user-agent"] ?? "").slice(0, USER_AGENT_LENGTH_MAX),
    body,
    at: intake.now(),
  };
  const network = senderOf(parts, request);
  const owed = pending.owe(response);
  try {
    const accepted = await intake.accept(signal, { create, network });
    if (!pending.settle(owed)) return;
    const retryAfterSeconds = accepted.kind === "busy" ? accepted.retryAfterSeconds : undefined;
    answers.send(response, ANSWER_TO[accepted.kind], retryAfterSeconds);
  } catch (error) {
    intake.refused({ at: signal.at, target, network });
    fail(parts, { owed, error });
  }
}

const ANSWER_TO: Readonly<Record<Acceptance["kind"], AnswerKind>> = {
  recorded: "ok",
  created: "created",
  unknown: "notFound",
  ambiguous: "ambiguous",
  busy: "unavailable",
};

/** Whether the check exists comes first; only then is it told what is wrong with the request. */
async function refuse(
  parts: Parts,
  { ping, flaw, response }: { ping: PingRequest; flaw: PingFlaw; response: ServerResponse },
): Promise<void> {
  const { intake, answers, pending } = parts;
  const isFull = pending.count() >= parts.pendingMax || parts.flawedCount >= parts.flawedMax;
  if (isFull) return answers.send(response, "unavailable");
  const owed = pending.owe(response);
  parts.flawedCount += 1;
  try {
    const resolution = await intake.resolve(ping.target, { create: ping.create });
    if (pending.settle(owed)) answers.send(response, answerToFlaw(resolution, flaw));
  } catch (error) {
    fail(parts, { owed, error });
  } finally {
    parts.flawedCount -= 1;
  }
}

function answerToFlaw(resolution: Resolution, flaw: PingFlaw): AnswerKind {
  if (resolution === "known") return flaw;
  return resolution === "busy" ? ANSWER_TO.busy : ANSWER_TO[resolution];
}

/** The signal is whole and cannot be handed over: that time must not be held against its check. */
function turnAway(parts: Parts, { ping, request, response }: Omit<Received, "body">): void {
  const { intake, answers } = parts;
  intake.refused({ at: intake.now(), target: ping.target, network: senderOf(parts, request) });
  answers.send(response, "unavailable");
}

/** The network that a request certainly comes from: the logged address may be what the sender wrote into a header. */
function senderOf({ networkOf }: Parts, { socket, headers }: IncomingMessage): string {
  return networkOf({ peer: socket.remoteAddress, forwardedFor: headers["x-forwarded-for"] });
}

/** The intake broke its word: nothing was promised to the sender, so it should try again. */
function fail(parts: Parts, { owed, error }: { owed: Owed; error: unknown }): void {
  parts.logFailure(error);
  if (parts.pending.settle(owed)) parts.answers.send(owed.response, "unavailable");
}

/** Reads on for a while, because closing at once could take the answer away from a sender that still sends. */
function cutOff(request: IncomingMessage): void {
  const timer = setTimeout(() => request.destroy(), LINGER_MS);
  request.resume().once("close", () => clearTimeout(timer));
}

/** One line a second at most: when this happens, it happens to every request. */
function failureLog(log: Log): (error: unknown) => void {
  let lastLoggedAtMs = Number.NEGATIVE_INFINITY;
  let failureCount = 0;
  return (error) => {
    failureCount += 1;
    const now = performance.now();
    if (now - lastLoggedAtMs < ERROR_LOG_PAUSE_MS) return;
    log.error({ err: error, failureCount }, "could not receive a ping");
    lastLoggedAtMs = now;
    failureCount = 0;
  };
}
