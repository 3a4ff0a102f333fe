// Handles pings over HTTP: decodes the URL, reads the body, passes the signal to the intake, and responds.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { ERROR_TEXT } from "../../core/errors.ts";
import { SECOND_MS } from "../../core/instant.ts";
import {
  PING_ANSWER_MS_MAX,
  PING_READ_BYTES_MAX,
  SCHEME_LENGTH_MAX,
  USER_AGENT_LENGTH_MAX,
} from "../../core/limits.ts";
import type { Acceptance, Resolution, SignalIntake } from "../../intake/intake.ts";
import { announcesBody, type BodyLimits, byteBudget, readBody } from "../../lib/http/body.ts";
import {
  type ClientAddress,
  clientAddressReader,
  type Forwarding,
  networkReader,
  proxyNetworks,
  trustedPeers,
} from "../../lib/http/client-address.ts";
import type { HttpHandler, RefusedConnection } from "../../lib/http/listener.ts";
import { RepeatedResponse } from "../../lib/http/response.ts";
import type { Log } from "../../lib/log.ts";
import {
  decodePing,
  type LocatePing,
  type PingFlaw,
  pingLocator,
  type PingRefusal,
  type PingRequest,
  type PublishedAddresses,
  settingsIn,
} from "./ping-url.ts";

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

/** `retryAfterSeconds` belongs to "unavailable", `warning` to "created". */
type AnswerMore = { retryAfterSeconds?: number | undefined; warning?: string | null | undefined };

export type PingAnswers = {
  /** Responds, unless that has already been done. */
  send(response: ServerResponse, kind: AnswerKind, more?: AnswerMore): void;
  /** Number of responses by type. */
  counts(): Readonly<Record<AnswerKind, number>>;
};

const METHODS = "GET, HEAD, POST, OPTIONS";
/** A cached response would hide a ping from the server, or a check that has been created since. */
const NO_CACHE = "max-age=0, no-cache, no-store, must-revalidate, private";
const ANY_ORIGIN = { "Access-Control-Allow-Origin": "*" };
/** What a sender can rely on beyond the URLs of Healthchecks; `at`: late ends. */
const FEATURES = "at";
const PREFLIGHT_SECONDS = "600";
/** The default of Retry-After. */
const RETRY_AFTER_SECONDS = 5;

export type PingAnswerOptions = {
  bodyLimitBytes: number;
  /** Called for requests whose target does not exist. */
  onMiss?: (request: IncomingMessage) => void;
};

const MISSES: ReadonlySet<AnswerKind> = new Set(["notFound", "invalidUrl", "methodNotAllowed"]);

/** Responses of a service that stores this much of a body; clients read the value and send no more. */
function pingAnswers({ bodyLimitBytes, onMiss }: PingAnswerOptions): PingAnswers {
  const answers = answerTable(String(bodyLimitBytes));
  const counts = { ...NONE_YET };
  const date = httpDate();
  return {
    send: (response, kind, { retryAfterSeconds = RETRY_AFTER_SECONDS, warning = null } = {}) => {
      if (response.headersSent) return;
      counts[kind] += 1;
      if (onMiss !== undefined && MISSES.has(kind)) onMiss(response.req);
      if (kind === "unavailable") {
        const more = ["Retry-After", String(retryAfterSeconds)];
        return answers[kind].send(response, { date: date(), more });
      }
      if (warning === null) return answers[kind].send(response, { date: date() });
      answers[kind].send(response, { date: date(), more: ["Overdue-Warning", warning] });
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

const STATUS: Readonly<Record<AnswerKind, number>> = {
  ok: 200,
  created: 201,
  preflight: 204,
  invalidUrl: 400,
  invalidRunId: 400,
  notFound: 404,
  methodNotAllowed: 405,
  ambiguous: 409,
  unavailable: 503,
};

function answerTable(bodyLimit: string): Record<AnswerKind, RepeatedResponse> {
  const recorded = { ...ANY_ORIGIN, "Ping-Body-Limit": bodyLimit, "Ping-Features": FEATURES };
  return {
    ok: makeAnswer("ok", "OK", recorded),
    created: makeAnswer("created", "Created", recorded),
    preflight: makeAnswer("preflight", "", {
      ...ANY_ORIGIN,
      "Access-Control-Allow-Methods": METHODS,
      "Access-Control-Allow-Headers": "*",
      "Access-Control-Max-Age": PREFLIGHT_SECONDS,
    }),
    invalidUrl: makeAnswer("invalidUrl", ERROR_TEXT.invalidUrl),
    invalidRunId: makeAnswer("invalidRunId", ERROR_TEXT.invalidRunId),
    notFound: makeAnswer("notFound", ERROR_TEXT.notFound),
    methodNotAllowed: makeAnswer("methodNotAllowed", ERROR_TEXT.methodNotAllowed, { Allow: METHODS }),
    ambiguous: makeAnswer("ambiguous", ERROR_TEXT.ambiguousSlug),
    unavailable: makeAnswer("unavailable", ERROR_TEXT.unavailable),
  };
}

function makeAnswer(kind: AnswerKind, text: string, more: Record<string, string> = {}): RepeatedResponse {
  return new RepeatedResponse({
    status: STATUS[kind],
    text,
    headers: { "Cache-Control": NO_CACHE, ...more },
  });
}

/** The date in HTTP format, updated once per second. */
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

// Every response is sent within a fixed time. One timer serves all of them, because a timer per request would cost
// more than decoding the request.

export type PendingAnswer = { readonly response: ServerResponse; readonly startedAtMs: number };

export type PendingAnswers = {
  /** Starts the time limit of a response. */
  add(response: ServerResponse): PendingAnswer;
  /** False if the time limit has passed: the request has already been answered. */
  remove(pendingAnswer: PendingAnswer): boolean;
  count(): number;
};

/** Maximum delay of a timeout. */
const CHECK_EVERY_MS = 50;

/** `late` is called for each response that was not settled in time, and must send one. */
function pendingAnswers(options: { withinMs: number; late(pending: PendingAnswer): void }): PendingAnswers {
  // All have the same time limit, so they expire in the order of insertion.
  const pending = new Set<PendingAnswer>();
  let timer: NodeJS.Timeout | null = null;
  const check = () => {
    const now = performance.now();
    for (const pendingAnswer of pending) {
      if (pendingAnswer.startedAtMs + options.withinMs > now) break;
      pending.delete(pendingAnswer);
      options.late(pendingAnswer);
    }
    if (pending.size > 0 || timer === null) return;
    clearInterval(timer);
    timer = null;
  };
  return {
    add: (response) => {
      const pendingAnswer = { response, startedAtMs: performance.now() };
      pending.add(pendingAnswer);
      timer ??= setInterval(check, CHECK_EVERY_MS);
      return pendingAnswer;
    },
    remove: (pendingAnswer) => pending.delete(pendingAnswer),
    count: () => pending.size,
  };
}

// Pipelined signals of one connection are passed on in the order in which they were sent. Otherwise a request without
// a body would overtake the previous one, whose body arrives later.

/** A position in the queue; its work is null until the request is complete. */
type Place = { work: (() => void) | null };

class SendingOrder {
  /** Only connections on which a body is being read have a queue. */
  readonly #lines = new WeakMap<Socket, Place[]>();

  /** Runs the work of a complete request: immediately, unless others on its connection come first. */
  whole(socket: Socket, work: () => void): void {
    const line = this.#lines.get(socket);
    if (line === undefined) work();
    else line.push({ work });
  }

  /** Reserves a position for an incomplete request. The returned function must be called, with its work or none. */
  unfinished(socket: Socket): (work: () => void) => void {
    const line = this.#lines.get(socket) ?? [];
    const place: Place = { work: null };
    this.#lines.set(socket, line);
    line.push(place);
    return (work) => {
      place.work = work;
      this.#advance(socket, line);
    };
  }

  #advance(socket: Socket, line: Place[]): void {
    for (;;) {
      const [first] = line;
      if (first === undefined) return void this.#lines.delete(socket);
      if (first.work === null) return;
      line.shift();
      first.work();
    }
  }
}

export type PingHandlerOptions = PublishedAddresses & {
  intake: SignalIntake;
  /** Addresses and ranges of the proxies whose forwarding headers are trusted. */
  trustedProxies: readonly string[];
  /** How much of a body is stored. */
  bodyLimitBytes: number;
  log: Log;
  /** Called for requests whose target does not exist. */
  onMiss?: (request: IncomingMessage) => void;
  /** Called for recorded pings that a proxy received without encryption, although the site has it. */
  onInsecure?: (request: IncomingMessage) => void;
  /** The path of the check whose alias a malformed path is; null: it is none. Called only for such paths. */
  resolveAlias?: (rest: string) => string | null;
  /** Called for responses that had to wait for the intake, with the time since the last byte of the request. */
  onAnswered?: (answered: { status: number; ms: number }) => void;
  /** Time limit of a response after the last byte of its request. */
  answerWithinMs?: number;
  /** How much of a body is read. */
  readBytesMax?: number;
  /** Total size of incomplete bodies in memory. */
  bodyBytesHeldMax?: number;
  /** Maximum number of pending responses. */
  pendingMax?: number;
  /** Concurrent check lookups for invalid requests. */
  flawedMax?: number;
};

export type PingCounts = { answers: Readonly<Record<AnswerKind, number>>; pending: number };

export type PingHandler = HttpHandler & {
  counts(): PingCounts;
  /** A connection was rejected, or closed during a request. */
  refused(connection: RefusedConnection): void;
};

/** The guaranteed response time, minus the time for detecting and sending. */
const ANSWER_WITHIN_MS = PING_ANSWER_MS_MAX - 200;
const BODY_BYTES_HELD_MAX = 256 * 1024 * 1024;
const PENDING_MAX = 20_000;
/**
 * Invalid requests wait for a lookup and are never recorded. Beyond this number they get 503, so that there is room
 * for pings.
 */
const FLAWED_MAX = 500;
/** How long a sender that keeps sending may continue after the response, so that it can read it. */
const LINGER_MS = 2_000;
const ERROR_LOG_PAUSE_MS = 1_000;

type Deps = {
  intake: SignalIntake;
  locate: LocatePing;
  clientOf(forwarding: Forwarding): ClientAddress;
  networkOf: ReturnType<typeof networkReader>;
  answers: PingAnswers;
  pending: PendingAnswers;
  pendingMax: number;
  flawedMax: number;
  /** Running lookups for invalid requests, answered or not. */
  flawedCount: number;
  bodyLimits: BodyLimits;
  order: SendingOrder;
  resolveAlias: NonNullable<PingHandlerOptions["resolveAlias"]>;
  /** Null: the site has no encryption. */
  noteScheme: ((request: IncomingMessage, scheme: string) => void) | null;
  onAnswered: NonNullable<PingHandlerOptions["onAnswered"]>;
  logFailure(error: unknown): void;
};

/** Handles requests to ping URLs. */
export function pingHandler(options: PingHandlerOptions): PingHandler {
  const answers = pingAnswers(options);
  const isProxy = proxyNetworks(options.trustedProxies);
  const deps: Deps = {
    intake: options.intake,
    locate: pingLocator(options),
    clientOf: clientAddressReader(options.trustedProxies, { schemeLengthMax: SCHEME_LENGTH_MAX }),
    networkOf: networkReader(options.trustedProxies),
    answers,
    pending: pendingAnswers({
      withinMs: options.answerWithinMs ?? ANSWER_WITHIN_MS,
      late: (pendingAnswer) => sendAnswer(deps, { pendingAnswer, kind: "unavailable" }),
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
    resolveAlias: options.resolveAlias ?? (() => null),
    noteScheme: schemeNoter(options),
    onAnswered: options.onAnswered ?? (() => {}),
    logFailure: failureLog(options.log),
  };
  return {
    handles: (request) => deps.locate(request.url ?? "", request.headers.host) !== null,
    handle: (request, response) => handle(deps, request, response),
    counts: () => ({ answers: answers.counts(), pending: deps.pending.count() }),
    refused: (connection) => noteRefused(deps, { ...connection, isProxy }),
  };
}

/**
 * A proxy that passes on every ping as unencrypted is behind another one that has encryption. So unencrypted pings count
 * only once the proxies have passed on an encrypted one.
 */
function schemeNoter({ siteUrl, trustedProxies, onInsecure }: PingHandlerOptions): Deps["noteScheme"] {
  if (siteUrl.protocol !== "https:" || onInsecure === undefined) return null;
  const isTrusted = trustedPeers(trustedProxies);
  let hasSeenEncrypted = false;
  return (request, scheme) => {
    if (scheme === "https") hasSeenEncrypted = true;
    else if (hasSeenEncrypted && scheme === "http" && request.headers["x-forwarded-proto"] !== undefined) {
      if (isTrusted(request.socket.remoteAddress ?? "")) onInsecure(request);
    }
  };
}

/** The target of the rejected connection, if known; a proxy itself stands for any network. */
function noteRefused(
  { intake, locate }: Deps,
  { network, request, isProxy }: RefusedConnection & { isProxy: (network: string) => boolean },
): void {
  const at = intake.now();
  const located = request === null ? null : locate(request.url ?? "", request.headers.host);
  // A request for anything but a ping URL is not a ping.
  if (request !== null && located === null) return;
  const ping = located === null ? null : decodePing(located);
  if (typeof ping === "string") return;
  intake.refused({ at, target: ping?.target ?? null, network: isProxy(network) ? null : network });
}

function handle(deps: Deps, request: IncomingMessage, response: ServerResponse): void {
  const { answers } = deps;
  const { method } = request;
  if (method === "OPTIONS") return answers.send(response, "preflight");
  if (method !== "GET" && method !== "POST" && method !== "HEAD") {
    return answers.send(response, "methodNotAllowed");
  }
  const ping = decode(deps, deps.locate(request.url ?? "", request.headers.host) ?? "");
  if (typeof ping === "string") return answers.send(response, ping);
  if (ping.flaw !== null) return void refuse(deps, { ping, flaw: ping.flaw, response });
  const received = { ping, request, response };
  if (!announcesBody(request)) {
    return deps.order.whole(request.socket, () => void record(deps, { ...received, body: null }));
  }
  const proceed = deps.order.unfinished(request.socket);
  readBody(request, deps.bodyLimits, (read) => {
    proceed(() => {
      if (read.kind === "broken") return;
      if (read.kind === "overflow") return rejectBusy(deps, received);
      if (read.kind === "endless") response.once("finish", () => cutOff(request));
      void record(deps, { ...received, body: read.body });
    });
  });
}

function decode({ resolveAlias }: Deps, rest: string): PingRequest | PingRefusal {
  const ping = decodePing(rest);
  if (typeof ping !== "string" && ping.target.by === "uuid") return ping;
  // What is not a UUID may be an alias of one.
  const aliased = resolveAlias(rest);
  return aliased === null ? ping : decodePing(aliased);
}

type Received = {
  ping: PingRequest;
  request: IncomingMessage;
  response: ServerResponse;
  body: Uint8Array | null;
};

/** The request is complete: the time limit of the response starts here. */
async function record(deps: Deps, { ping, request, response, body }: Received): Promise<void> {
  const { intake, pending } = deps;
  if (pending.count() >= deps.pendingMax) return rejectBusy(deps, { ping, request, response });
  const { headers, method = "GET" } = request;
  const { remoteAddr, scheme } = deps.clientOf({
    peer: request.socket.remoteAddress,
    forwardedFor: headers["x-forwarded-for"],
    forwardedProto: headers["x-forwarded-proto"],
  });
  const { target, action, rid, create, lateEnd } = ping;
  const at = intake.now();
  const signal = {
    target,
    source: { by: "http" as const, action, method },
    rid,
    exitStatus: typeof action === "string" ? null : action.exitStatus,
    scheme,
    remoteAddr,
    ua: (headers["user-agent"] ?? "").slice(0, USER_AGENT_LENGTH_MAX),
    body,
    at,
    // The clock of the sender is ahead by more than the delay, so that the receive time is the better one.
    lateEnd: lateEnd !== null && lateEnd.endedAt > at ? null : lateEnd,
  };
  const network = senderOf(deps, request);
  const pendingAnswer = pending.add(response);
  try {
    const settings = create ? () => settingsIn(request.url ?? "") : null;
    const accepted = await intake.accept(signal, { create, settings, network });
    if (!pending.remove(pendingAnswer)) return;
    const retryAfterSeconds = accepted.kind === "busy" ? accepted.retryAfterSeconds : undefined;
    const warning = accepted.kind === "created" ? accepted.warning : null;
    sendAnswer(deps, { pendingAnswer, kind: ANSWER_TO[accepted.kind], retryAfterSeconds, warning });
    if (accepted.kind === "recorded") deps.noteScheme?.(request, scheme);
  } catch (error) {
    intake.refused({ at: signal.at, target, network });
    fail(deps, { pendingAnswer, error });
  }
}

const ANSWER_TO: Readonly<Record<Acceptance["kind"], AnswerKind>> = {
  recorded: "ok",
  created: "created",
  unknown: "notFound",
  ambiguous: "ambiguous",
  busy: "unavailable",
};

/** An unknown check is reported first, then the problem of the request. */
async function refuse(
  deps: Deps,
  { ping, flaw, response }: { ping: PingRequest; flaw: PingFlaw; response: ServerResponse },
): Promise<void> {
  const { intake, answers, pending } = deps;
  const isFull = pending.count() >= deps.pendingMax || deps.flawedCount >= deps.flawedMax;
  if (isFull) return answers.send(response, "unavailable");
  const pendingAnswer = pending.add(response);
  deps.flawedCount += 1;
  try {
    const settings = ping.create ? () => settingsIn(response.req.url ?? "") : null;
    const resolution = await intake.resolve(ping.target, { create: ping.create, settings });
    if (pending.remove(pendingAnswer)) {
      sendAnswer(deps, { pendingAnswer, kind: answerToFlaw(resolution, flaw) });
    }
  } catch (error) {
    fail(deps, { pendingAnswer, error });
  } finally {
    deps.flawedCount -= 1;
  }
}

function answerToFlaw(resolution: Resolution, flaw: PingFlaw): AnswerKind {
  if (resolution === "known") return flaw;
  return resolution === "busy" ? ANSWER_TO.busy : ANSWER_TO[resolution];
}

/**
 * The signal is complete but cannot be accepted: the rejection is recorded, so that its check is not reported as
 * down.
 */
function rejectBusy(deps: Deps, { ping, request, response }: Omit<Received, "body">): void {
  const { intake, answers } = deps;
  intake.refused({ at: intake.now(), target: ping.target, network: senderOf(deps, request) });
  answers.send(response, "unavailable");
}

/** The verified network of a request: the logged address may come from a header that the sender wrote. */
function senderOf({ networkOf }: Deps, { socket, headers }: IncomingMessage): string {
  return networkOf({ peer: socket.remoteAddress, forwardedFor: headers["x-forwarded-for"] });
}

/** The intake failed: the signal was not accepted, so the sender should retry. */
function fail(deps: Deps, { pendingAnswer, error }: { pendingAnswer: PendingAnswer; error: unknown }): void {
  deps.logFailure(error);
  if (deps.pending.remove(pendingAnswer)) sendAnswer(deps, { pendingAnswer, kind: "unavailable" });
}

type Answer = AnswerMore & { pendingAnswer: PendingAnswer; kind: AnswerKind };

function sendAnswer({ answers, onAnswered }: Deps, { pendingAnswer, kind, ...more }: Answer): void {
  const { response, startedAtMs } = pendingAnswer;
  answers.send(response, kind, more);
  onAnswered({ status: STATUS[kind], ms: performance.now() - startedAtMs });
}

/**
 * Keeps reading for a while, because closing immediately could discard the response of a client that is still
 * sending.
 */
function cutOff(request: IncomingMessage): void {
  const timer = setTimeout(() => request.destroy(), LINGER_MS);
  request.resume().once("close", () => clearTimeout(timer));
}

/** At most one line per second: if this happens, it affects every request. */
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
