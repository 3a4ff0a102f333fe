// The connections of an HTTP server: how many there may be, who has to go when there are too many, and what is
// said to those whose bytes are no HTTP. Answers that are owed to somebody are never cut off here.
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { answerPlainly, plainAnswer } from "./answer.ts";
import { announcesBody } from "./body.ts";
import { networkReader, trustedPeers } from "./client-address.ts";
import { type Evictable, EvictionOrder } from "./eviction-order.ts";
import type { Log } from "../log.ts";

export type ConnectionCounts = {
  open: number;
  /** Closed while idle or unfinished, to make room for newcomers. */
  evicted: number;
  /** Turned away with 503, because everyone else was being served. */
  refused: number;
  /** Answered 408: a request was not complete in time. */
  timedOut: number;
  /** Answered 503, or cut off: no byte of an answer was produced in time. */
  unanswered: number;
  /** Cut off: the client did not read its answer in time. */
  unread: number;
  /** Answered 400 or another status that says that the bytes cannot be read. */
  malformed: number;
};

/** A connection that was refused, or closed in the middle of a request, because there were too many. */
export type RefusedConnection = {
  /** The client network (`networkOf`), read from the forwarding headers of trusted proxies where there are any. */
  network: string;
  /** The unfinished request; null when no request was read. */
  request: IncomingMessage | null;
};

type Connection = Evictable & {
  readonly socket: Socket;
  /** It comes from a trusted proxy, so its requests may be of many clients. */
  readonly isProxied: boolean;
  /** The newest request, until it is complete and answered. */
  request: IncomingMessage | null;
  /** The newest answer that is owed. Answers leave in order, so the others are owed no longer than this one. */
  response: ServerResponse | null;
  /** The number of sweeps when it was opened or last sent a request. */
  usedAtSweep: number;
  /** How much of its answers the system had taken at the last sweep. */
  sentBytes: number;
  /** How many sweeps in a row have found an answer owed and nothing more sent. */
  quietSweeps: number;
  /** It has been told that it will be closed. */
  isDoomed: boolean;
};

export type ConnectionLimits = {
  connectionsMax: number;
  /** A client that takes nothing of its answer for this long is cut off. */
  unreadMs: number;
  /** An answer has to begin within this time of its request, and a streamed one may not pause for longer. */
  answerMs: number;
  /** The proxies whose X-Forwarded-For header names the client. */
  trustedProxies?: readonly string[];
  onRefused?: (refused: RefusedConnection) => void;
};

/** A network that holds more than this part of the limit is the first to lose connections when it is reached. */
const NETWORK_SHARE = 1 / 64;
/** Deadlines are checked this often at least. */
const SWEEP_MS_MAX = 1_000;
/** Being turned away with an answer takes a connection too; beyond this many the answer is left out. */
const REFUSALS_AT_ONCE_MAX = 100;
/** How long the other side may take to read the last words before the connection is cut. */
const LINGER_MS = 1_000;
const WARNING_PAUSE_MS = 60_000;

const BAD_REQUEST = 400;
const METHOD_NOT_ALLOWED = 405;
const REQUEST_TIMEOUT = 408;
const UNAVAILABLE = 503;
const STATUS_OF_ERROR: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: REQUEST_TIMEOUT,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  HPE_HEADER_OVERFLOW: 431,
};

/** Watches over the connections of a server that does not listen yet. */
export class HttpConnections {
  readonly #server: Server;
  readonly #limits: ConnectionLimits;
  readonly #warn: (fields: object, text: string) => void;
  readonly #connections = new Map<Socket, Connection>();
  /** Those that may be closed to make room. Requests that wait for an answer are found and removed when it is needed. */
  readonly #order: EvictionOrder<Connection>;
  readonly #counts = { evicted: 0, refused: 0, timedOut: 0, unanswered: 0, unread: 0, malformed: 0 };
  readonly #answered: (this: ServerResponse) => void;
  readonly #isTrusted: (peer: string) => boolean;
  readonly #networkOf: ReturnType<typeof networkReader>;
  readonly #sweepMs: number;
  #sweeps = 0;

  constructor(server: Server, limits: ConnectionLimits & { log: Log }) {
    const { connectionsMax, unreadMs, answerMs, trustedProxies = [], log } = limits;
    this.#server = server;
    this.#limits = limits;
    this.#order = new EvictionOrder({ networkShare: Math.ceil(connectionsMax * NETWORK_SHARE) });
    this.#isTrusted = trustedPeers(trustedProxies);
    this.#networkOf = networkReader(trustedProxies);
    this.#warn = warnings(log);
    this.#sweepMs = Math.min(SWEEP_MS_MAX, Math.ceil(Math.min(unreadMs, answerMs) / 2));
    const finish = (response: ServerResponse) => this.#finish(response);
    // One function for all answers: it is attached to each of them.
    this.#answered = function () {
      finish(this);
    };
    server.maxConnections = connectionsMax + REFUSALS_AT_ONCE_MAX;
    server.on("listening", () => {
      const timer = setInterval(() => this.#sweep(), this.#sweepMs).unref();
      server.once("close", () => clearInterval(timer));
    });
    server.on("connection", (socket) => this.#admit(socket));
    // Beyond those that are told so.
    server.on("drop", (dropped) => this.#refuse(dropped?.remoteAddress));
    server.on("clientError", (error: NodeJS.ErrnoException, stream) => {
      this.#complain(stream as Socket, STATUS_OF_ERROR[error.code ?? ""] ?? BAD_REQUEST);
    });
    // Nobody is connected any further from here. By now the server has let go of the socket, errors and all.
    server.on("connect", (_request, stream) => {
      stream.on("error", () => stream.destroy());
      this.#complain(stream as Socket, METHOD_NOT_ALLOWED);
    });
  }

  /** Must be told of each request before it is handled; false for one that nobody may handle any more. */
  begin(request: IncomingMessage, response: ServerResponse): boolean {
    const connection = this.#connections.get(request.socket);
    if (connection === undefined || connection.isDoomed) return false;
    connection.request = request;
    connection.response = response;
    connection.isUsed = true;
    connection.usedAtSweep = this.#sweeps;
    response.on("close", this.#answered);
    // Only a body keeps the client behind a proxy from being done with its request.
    if (connection.isProxied && announcesBody(request)) this.#assign(connection, this.#clientOf(request));
    return true;
  }

  /** Whether a connection was opened, or sent a request, within the last second or two. */
  wereUsedLately(): boolean {
    const sweeps = Math.ceil(SWEEP_MS_MAX / this.#sweepMs);
    return [...this.#connections.values()].some(({ usedAtSweep }) => usedAtSweep >= this.#sweeps - sweeps);
  }

  /** Closes whoever neither waits for an answer nor is in the middle of a request. */
  closeIdle(): void {
    this.#server.closeIdleConnections();
    // Those that never sent a byte are not idle in the server's eyes: a request of theirs is awaited.
    for (const { socket } of this.#connections.values()) if (socket.bytesRead === 0) socket.destroy();
  }

  counts(): ConnectionCounts {
    return { open: this.#connections.size, ...this.#counts };
  }

  #admit(socket: Socket): void {
    const peer = socket.remoteAddress;
    const isProxied = peer !== undefined && this.#isTrusted(peer);
    const connection: Connection = {
      socket,
      isProxied,
      network: isProxied ? null : this.#networkOf({ peer, forwardedFor: undefined }),
      request: null,
      response: null,
      isUsed: false,
      usedAtSweep: this.#sweeps,
      sentBytes: 0,
      quietSweeps: 0,
      isDoomed: false,
    };
    if (this.#connections.size >= this.#limits.connectionsMax) this.#makeRoomFor(connection);
    this.#connections.set(socket, connection);
    if (!connection.isDoomed) this.#order.add(connection);
    socket.once("close", () => {
      this.#connections.delete(socket);
      this.#order.remove(connection);
    });
    // The parser lets some requests pass that can no longer come to their end; nobody should wait for them.
    socket.once("end", () => {
      if (connection.request?.complete === false) this.#complain(socket, BAD_REQUEST);
    });
  }

  #finish(response: ServerResponse): void {
    const connection = this.#connections.get(response.req.socket);
    if (connection === undefined || connection.response !== response) return;
    connection.response = null;
    if (response.req.complete) connection.request = null;
    if (connection.isProxied && connection.network !== null) this.#assign(connection, null);
    this.#order.add(connection);
  }

  #assign(connection: Connection, network: string | null): void {
    this.#order.remove(connection);
    connection.network = network;
    this.#order.add(connection);
  }

  /** The client network that a proxy names; null when it names none. */
  #clientOf({ socket, headers }: IncomingMessage): string | null {
    const forwardedFor = headers["x-forwarded-for"];
    if (forwardedFor === undefined) return null;
    return this.#networkOf({ peer: socket.remoteAddress, forwardedFor }) || null;
  }

  /** Ends every answer that neither begins, nor goes on, nor is taken. Requests that are not complete get 408 by Node. */
  #sweep(): void {
    this.#sweeps += 1;
    const { unreadMs, answerMs } = this.#limits;
    for (const connection of this.#connections.values()) {
      const { socket, request, response } = connection;
      const sentBytes = sentBytesOf(socket);
      // A request that is not complete has a deadline of its own, which a doomed connection has passed.
      const isWaiting = response !== null && (connection.isDoomed || request?.complete !== false);
      const isQuiet = isWaiting && sentBytes === connection.sentBytes;
      connection.sentBytes = sentBytes;
      connection.quietSweeps = isQuiet ? connection.quietSweeps + 1 : 0;
      if (!isQuiet) continue;
      const isUnread = socket.writableLength > 0;
      if (isUnread) this.#order.add(connection);
      // One more, because the first came at any time after the last change.
      if (connection.quietSweeps <= Math.ceil((isUnread ? unreadMs : answerMs) / this.#sweepMs)) continue;
      this.#counts[isUnread ? "unread" : "unanswered"] += 1;
      if (!isUnread) this.#warn({ method: request?.method }, "a request was not answered in time");
      giveUp(connection, response);
    }
  }

  #makeRoomFor(newcomer: Connection): void {
    const victim = this.#order.next(isServed);
    if (victim === null) {
      this.#refuse(newcomer.socket.remoteAddress);
      dismiss(newcomer, UNAVAILABLE);
    } else {
      this.#counts.evicted += 1;
      const { request, socket } = victim;
      if (request?.complete === false) {
        const forwardedFor = request.headers["x-forwarded-for"];
        const network = this.#networkOf({ peer: socket.remoteAddress, forwardedFor });
        this.#limits.onRefused?.({ network, request });
      }
      this.#order.remove(victim);
      socket.destroy();
    }
    this.#warn({ connectionsMax: this.#limits.connectionsMax, ...this.#counts }, "too many connections");
  }

  #refuse(peer: string | undefined): void {
    this.#counts.refused += 1;
    this.#limits.onRefused?.({ network: this.#networkOf({ peer, forwardedFor: undefined }), request: null });
  }

  #complain(socket: Socket, status: number): void {
    const connection = this.#connections.get(socket);
    if (connection?.isDoomed) return;
    if (connection === undefined || !socket.writable) return void socket.destroy();
    this.#counts[status === REQUEST_TIMEOUT ? "timedOut" : "malformed"] += 1;
    reportError(connection, status);
  }
}

/** It has done its part and waits for an answer; once that is given, whether it is read is its own affair. */
function isServed({ socket, request, response, isDoomed, quietSweeps }: Connection): boolean {
  if (isDoomed) return true;
  const isStuck = quietSweeps > 0 && socket.writableLength > 0;
  return request?.complete === true && response !== null && !response.writableEnded && !isStuck;
}

/** Where Node keeps what it writes to; it has no documented name. */
const HANDLE = "_handle";
type WithHandle = Socket & { [HANDLE]?: { writeQueueSize?: number } | null };

/** How much of what was written the system has taken, also of a single large piece. */
function sentBytesOf(socket: WithHandle): number {
  return (socket.bytesWritten ?? 0) - socket.writableLength - (socket[HANDLE]?.writeQueueSize ?? 0);
}

/** Answers 503 if there is still something to say it to, and closes the connection. */
function giveUp(connection: Connection, response: ServerResponse): void {
  connection.isDoomed = true;
  // Behind another unanswered request it has no socket yet.
  if (response.headersSent || response.socket === null) return void connection.socket.destroy();
  response.shouldKeepAlive = false;
  answerPlainly(response, UNAVAILABLE);
}

/** Tells the sender what is wrong with its bytes, behind all answers that are still owed to it. */
function reportError(connection: Connection, status: number): void {
  const { socket, request, response } = connection;
  connection.isDoomed = true;
  if (request !== null && !request.complete) {
    // The fault lies in a request that is being handled, so this is its answer, unless it has one.
    if (response === null || response.headersSent) return void socket.destroy();
    response.shouldKeepAlive = false;
    return answerPlainly(response, status);
  }
  if (response === null) dismiss(connection, status);
  else response.once("close", () => dismiss(connection, status));
}

/** Last words on a connection on which no answer is owed. */
function dismiss(connection: Connection, status: number): void {
  const { socket } = connection;
  connection.isDoomed = true;
  if (!socket.writable) return void socket.destroy();
  // Closing at once would throw away what the other side has not read yet if more of its bytes come in.
  socket.end(plainAnswer(status), "latin1");
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once("close", () => clearTimeout(timer));
}

function warnings(log: Log): (fields: object, text: string) => void {
  let lastAtMs = Number.NEGATIVE_INFINITY;
  return (fields, text) => {
    const now = performance.now();
    if (now - lastAtMs < WARNING_PAUSE_MS) return;
    lastAtMs = now;
    log.warn(fields, text);
  };
}
