// The connections of an HTTP server: how many there may be, who has to go when there are too many, and what is
// said to those whose bytes are no HTTP. Answers that are owed to somebody are never cut off here.
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { answerPlainly, plainAnswer } from "./answer.ts";
import { networkReader } from "./client-address.ts";
import type { Log } from "../log.ts";

export type ConnectionCounts = {
  open: number;
  /** Closed while idle or unfinished, to make room for newcomers. */
  evicted: number;
  /** Turned away with 503, because everyone else was being served. */
  refused: number;
  /** Answered 408: a request was not complete in time. */
  timedOut: number;
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

type Connection = {
  readonly socket: Socket;
  /** The newest request, until it is complete and answered. */
  request: IncomingMessage | null;
  /** The newest answer that is owed. Answers leave in order, so the others are owed no longer than this one. */
  response: ServerResponse | null;
  /** A request came since the last search for somebody to close. */
  isUsed: boolean;
  /** The answer that was given and not taken when this was last looked at. */
  unread: ServerResponse | null;
  /** It has been told that it will be closed. */
  isDoomed: boolean;
};

export type ConnectionLimits = {
  connectionsMax: number;
  /** Whoever does not take an answer for this long, or twice as long at most, is cut off. */
  unreadMs: number;
  /** The proxies whose X-Forwarded-For header names the client. */
  trustedProxies?: readonly string[];
  onRefused?: (refused: RefusedConnection) => void;
};

/** How many connections are looked at for one newcomer. */
const LOOKED_AT_MAX = 64;
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
  readonly #connectionsMax: number;
  readonly #warn: (fields: object, text: string) => void;
  /** In the order in which they came, except that whoever was looked at and spared goes to the end. */
  readonly #connections = new Map<Socket, Connection>();
  readonly #counts = { evicted: 0, refused: 0, timedOut: 0, malformed: 0 };
  readonly #answered: (this: ServerResponse) => void;
  readonly #onRefused: (refused: RefusedConnection) => void;
  readonly #networkOf: ReturnType<typeof networkReader>;

  constructor(server: Server, limits: ConnectionLimits & { log: Log }) {
    const { connectionsMax, unreadMs, onRefused = () => {}, log } = limits;
    const connections = this.#connections;
    this.#server = server;
    this.#connectionsMax = connectionsMax;
    this.#onRefused = onRefused;
    this.#networkOf = networkReader(limits.trustedProxies ?? []);
    this.#warn = warnings(log);
    // One function for all answers: it is attached to each of them.
    this.#answered = function () {
      const connection = connections.get(this.req.socket);
      if (connection === undefined || connection.response !== this) return;
      connection.response = null;
      if (this.req.complete) connection.request = null;
    };
    server.maxConnections = connectionsMax + REFUSALS_AT_ONCE_MAX;
    server.on("listening", () => {
      const timer = setInterval(() => this.#cutOffUnread(), unreadMs).unref();
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
    response.on("close", this.#answered);
    return true;
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
    const connection: Connection = {
      socket,
      request: null,
      response: null,
      isUsed: false,
      unread: null,
      isDoomed: false,
    };
    if (this.#connections.size >= this.#connectionsMax) this.#makeRoomFor(connection);
    this.#connections.set(socket, connection);
    socket.once("close", () => this.#connections.delete(socket));
    // The parser lets some requests pass that can no longer come to their end; nobody should wait for them.
    socket.once("end", () => {
      if (connection.request?.complete === false) this.#complain(socket, BAD_REQUEST);
    });
  }

  /** Nothing else bounds how long a connection may refuse to take what it asked for. */
  #cutOffUnread(): void {
    for (const connection of this.#connections.values()) {
      const given = connection.response?.writableEnded ? connection.response : null;
      if (given !== null && given === connection.unread) connection.socket.destroy();
      connection.unread = given;
    }
  }

  #makeRoomFor(newcomer: Connection): void {
    const victim = findVictim(this.#connections);
    if (victim === null) {
      this.#refuse(newcomer.socket.remoteAddress);
      dismiss(newcomer, UNAVAILABLE);
    } else {
      this.#counts.evicted += 1;
      const { request, socket } = victim;
      if (request?.complete === false) {
        const forwardedFor = request.headers["x-forwarded-for"];
        this.#onRefused({ network: this.#networkOf({ peer: socket.remoteAddress, forwardedFor }), request });
      }
      victim.socket.destroy();
    }
    this.#warn({ connectionsMax: this.#connectionsMax, ...this.#counts }, "too many connections");
  }

  #refuse(peer: string | undefined): void {
    this.#counts.refused += 1;
    this.#onRefused({ network: this.#networkOf({ peer, forwardedFor: undefined }), request: null });
  }

  #complain(socket: Socket, status: number): void {
    const connection = this.#connections.get(socket);
    if (connection?.isDoomed) return;
    if (connection === undefined || !socket.writable) return void socket.destroy();
    this.#counts[status === REQUEST_TIMEOUT ? "timedOut" : "malformed"] += 1;
    reportError(connection, status);
  }
}

/**
 * The connection that is given up for a new one, or null. It goes round: whoever sent a request since the last
 * round is spared once, and whoever waits for an answer always.
 */
function findVictim(connections: Map<Socket, Connection>): Connection | null {
  let lookedAt = 0;
  for (const [socket, connection] of connections) {
    lookedAt += 1;
    if (lookedAt > LOOKED_AT_MAX) return null;
    if (!isServed(connection) && !connection.isUsed && !connection.isDoomed) return connection;
    connection.isUsed = false;
    connections.delete(socket);
    connections.set(socket, connection);
  }
  return null;
}

/** It has done its part and waits for an answer; once that is given, whether it is read is its own affair. */
function isServed({ request, response }: Connection): boolean {
  return request?.complete === true && response !== null && !response.writableEnded;
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
