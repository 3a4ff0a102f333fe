// An HTTP port shared by several services: connection limits, timeouts, eviction, pipelining, and graceful
// shutdown.
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { formatListenAddress, type ListenAddress } from "../address.ts";
import type { Log } from "../log.ts";
import type { Service } from "../service.ts";
import { announcesBody } from "./body.ts";
import { networkReader, trustedPeers } from "./client-address.ts";
import { plainResponse, SAFETY_HEADERS, sendPlainResponse } from "./response.ts";

export type HttpHandler = {
  /**
   * Whether a request is for this handler. Called for every request: must be cheap and without side effects.
   */
  handles(request: IncomingMessage): boolean;
  /**
   * Answers the request. Exceptions are logged and answered 500. The listener passes `again`, with which a handler that no
   * longer accepts the request gives it to the others.
   */
  handle(
    request: IncomingMessage,
    response: ServerResponse,
    again?: (request: IncomingMessage, response: ServerResponse) => void,
  ): void;
};

export type HttpListenerOptions = {
  name: string;
  listen: ListenAddress;
  /** Tried in this order; unmatched requests are answered 404. */
  handlers: readonly HttpHandler[];
  /** Maximum number of connections; lower if the system's limit requires it. */
  connectionsMax: number;
  /**
   * An incomplete request gets 408 after this time; a client that does not read its response for as long is
   * disconnected.
   */
  requestTimeoutMs: number;
  /** A response must begin within this time after its request, and a streamed one must not pause for longer. */
  answerTimeoutMs?: number;
  /** Several processes can listen on the same port; the system distributes connections among them. */
  reusePort?: boolean;
  /** Called for unmatched requests. */
  onUnmatched?: (request: IncomingMessage) => void;
  /** The page for browsers at an unmatched path. */
  unmatchedPage?: { headers: Readonly<Record<string, string>>; html: string };
  /** How long an idle connection is kept open. */
  keepAliveMs?: number;
  /** The proxies whose X-Forwarded-For header names the client. */
  trustedProxies?: readonly string[];
  onRefused?: (refused: RefusedConnection) => void;
  /** How long a stopping listener waits for requests that have begun. */
  stopGraceMs?: number;
  log: Log;
};

export type HttpListener = Service & {
  /** The listen address with the actual port instead of 0; null before the start. */
  address(): ListenAddress | null;
  /** Null while it listens, otherwise the problem. */
  problem(): string | null;
  connectionCounts(): ConnectionCounts;
};

/** Longer than the minute for which load balancers keep connections: the client should close first. */
const KEEP_ALIVE_MS = 75_000;
/** Longer than any statement may take, and longer than streams pause. */
const ANSWER_TIMEOUT_MS = 60_000;
const STOP_GRACE_MS = 5_000;
/**
 * How long a stopping listener waits for the next request of connections in use, in order to close them with its
 * response.
 */
const STOP_DRAIN_MS = 1_000;
const STOP_CHECK_MS = 20;
const HEADER_BYTES_MAX = 16 * 1024;
/** Backlog of the socket; at the top of the hour thousands of jobs connect at once. */
const BACKLOG = 4_096;
/** Timeouts are detected with at most this delay. */
const TIMEOUT_CHECK_MS = 1_000;
/** Descriptors reserved for other uses than connections. */
const DESCRIPTORS_KEPT = 256;
const CONNECTIONS_MIN = 16;

/** A listener that is not open yet. */
export function httpListener(options: HttpListenerOptions): HttpListener {
  const log = options.log.child({ listener: options.name });
  const server = createListeningServer(options);
  const connectionsMax = allowedConnections(options.connectionsMax);
  const connections = new HttpConnections(server, {
    connectionsMax,
    unreadMs: options.requestTimeoutMs,
    answerMs: options.answerTimeoutMs ?? ANSWER_TIMEOUT_MS,
    trustedProxies: options.trustedProxies ?? [],
    ...(options.onRefused === undefined ? {} : { onRefused: options.onRefused }),
    log,
  });
  let address: ListenAddress | null = null;
  let isStopping = false;
  const pipelining = new Pipelining(server);
  const dispatch = (request: IncomingMessage, response: ServerResponse) => {
    pipelining.handle(request, response, () => {
      if (connections.begin(request, response)) handle(request, response);
    });
  };
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    if (isStopping) response.shouldKeepAlive = false;
    try {
      const handler = options.handlers.find((one) => one.handles(request));
      if (handler === undefined) {
        options.onUnmatched?.(request);
        answerUnmatched(options, request, response);
      } else handler.handle(request, response, handle);
    } catch (error) {
      log.error({ err: error, method: request.method }, "request failed");
      sendPlainResponse(response, 500);
    }
  };
  server.on("request", dispatch);
  // An unknown expectation is ignored.
  server.on("checkExpectation", dispatch);
  return {
    name: options.name,
    start: async () => {
      address = await open(server, options);
      server.on("error", (error) => log.error({ err: error }, "listener failed"));
      log.info(
        { url: `http://${formatListenAddress(address)}`, connectionsMax },
        `${options.name} listening`,
      );
    },
    stop: () => {
      isStopping = true;
      return close(server, { graceMs: options.stopGraceMs ?? STOP_GRACE_MS, connections });
    },
    address: () => address,
    problem: () => (server.listening ? null : "not listening"),
    connectionCounts: () => connections.counts(),
  };
}

/** Browsers that navigate request a page; programs do not. */
function answerUnmatched(
  { unmatchedPage: page }: HttpListenerOptions,
  { method, headers }: IncomingMessage,
  response: ServerResponse,
): void {
  const isPerson = method === "GET" && (headers.accept ?? "").includes("text/html");
  if (!isPerson || page === undefined) return sendPlainResponse(response, 404);
  const length = { "Content-Length": String(Buffer.byteLength(page.html)) };
  response.writeHead(404, { ...SAFETY_HEADERS, ...page.headers, ...length });
  response.end(page.html);
}

function createListeningServer({
  requestTimeoutMs,
  keepAliveMs = KEEP_ALIVE_MS,
}: HttpListenerOptions): Server {
  const server = createServer({
    requestTimeout: requestTimeoutMs,
    headersTimeout: requestTimeoutMs,
    connectionsCheckingInterval: Math.min(TIMEOUT_CHECK_MS, Math.ceil(requestTimeoutMs / 2)),
    keepAliveTimeout: keepAliveMs,
    maxHeaderSize: HEADER_BYTES_MAX,
  });
  // A client may close its half of the connection and still expect the response. There is no documented way to set
  // this property.
  return Object.assign(server, { httpAllowHalfOpen: true });
}

/** The requested number, or fewer if the system's limit would leave the process without other descriptors. */
function allowedConnections(wanted: number): number {
  const limit = descriptorLimit();
  return limit === null ? wanted : Math.min(wanted, Math.max(CONNECTIONS_MIN, limit - DESCRIPTORS_KEPT));
}

/** The maximum number of open files and sockets of this process; null if unknown. */
function descriptorLimit(): number | null {
  try {
    const found = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"));
    return found === null ? null : Number(found[1]);
  } catch {
    return null;
  }
}

function open(
  server: Server,
  { listen: { host, port }, reusePort = false }: HttpListenerOptions,
): Promise<ListenAddress> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port, reusePort, backlog: BACKLOG }, () => {
      server.removeListener("error", reject);
      // A server that listens on host and port has an AddressInfo; other types are for pipes.
      resolve({ host, port: (server.address() as AddressInfo).port });
    });
  });
}

/**
 * Accepts no new connections. Connections in use are closed with the response to their next request, because a
 * request sent while the connection is closed would be lost. Idle ones are closed after that, and all others after
 * the grace period.
 */
async function close(
  server: Server,
  { graceMs, connections }: { graceMs: number; connections: HttpConnections },
): Promise<void> {
  const drainMs = connections.wereUsedLately() ? Math.min(STOP_DRAIN_MS, graceMs / 2) : 0;
  const closeIdleAtMs = performance.now() + drainMs;
  const closed = new Promise<void>((resolve, reject) => {
    const closeIdle = server.closeIdleConnections.bind(server);
    // Node would close idle connections immediately.
    server.closeIdleConnections = () => {};
    server.close((error) => (error === undefined ? resolve() : reject(error)));
    server.closeIdleConnections = closeIdle;
  });
  // Not immediately: unread bytes in the sockets may be a request.
  const idle = setInterval(() => {
    if (performance.now() >= closeIdleAtMs) connections.closeIdle();
  }, STOP_CHECK_MS);
  const grace = setTimeout(() => server.closeAllConnections(), graceMs);
  try {
    await closed;
  } finally {
    clearInterval(idle);
    clearTimeout(grace);
  }
}

export type ConnectionCounts = {
  open: number;
  /** Closed while idle or incomplete, to make room for new connections. */
  evicted: number;
  /** Rejected with 503, because all other connections were in use. */
  refused: number;
  /** Answered 408: a request was not complete in time. */
  timedOut: number;
  /** Answered 503, or disconnected: no byte of a response was produced in time. */
  unanswered: number;
  /** Disconnected: the client did not read its response in time. */
  unread: number;
  /** Answered 400 or another status for malformed requests. */
  malformed: number;
};

/** A connection that was rejected, or closed during a request, because there were too many. */
export type RefusedConnection = {
  /** The client network (`networkOf`), from the forwarding headers of trusted proxies if present. */
  network: string;
  /** The incomplete request; null if no request was read. */
  request: IncomingMessage | null;
};

type Connection = Evictable & {
  readonly socket: Socket;
  /** It comes from a trusted proxy, so its requests may belong to many clients. */
  readonly isProxied: boolean;
  /** The newest request, until it is complete and answered. */
  request: IncomingMessage | null;
  /** The newest pending response. Responses are sent in order, so no other is pending for longer. */
  response: ServerResponse | null;
  /** The number of sweeps when it was opened or last sent a request. */
  usedAtSweep: number;
  /** How much of its responses the system had accepted at the last sweep. */
  sentBytes: number;
  /** Number of consecutive sweeps with a pending response and no progress. */
  quietSweeps: number;
  /** The client has been notified that the connection will be closed. */
  isDoomed: boolean;
};

export type ConnectionLimits = {
  connectionsMax: number;
  /** A client that reads nothing of its response for this long is disconnected. */
  unreadMs: number;
  /** A response must begin within this time after its request, and a streamed one must not pause for longer. */
  answerMs: number;
  /** The proxies whose X-Forwarded-For header names the client. */
  trustedProxies?: readonly string[];
  onRefused?: (refused: RefusedConnection) => void;
};

/** A network that holds more than this share of the limit is the first to lose connections at the limit. */
const NETWORK_SHARE = 1 / 64;
/** Deadlines are checked this often at least. */
const SWEEP_MS_MAX = 1_000;
/** Rejecting with a response also takes a connection; beyond this many, the response is omitted. */
const REFUSALS_AT_ONCE_MAX = 100;
/** How long the client may take to read the last response before the connection is closed. */
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

/** Tracks the connections of a server that is not listening yet. */
export class HttpConnections {
  readonly #server: Server;
  readonly #limits: ConnectionLimits;
  readonly #warn: (fields: object, text: string) => void;
  readonly #connections = new Map<Socket, Connection>();
  /** Connections that may be closed to make room. Those with a pending response are removed when they are found. */
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
    // One function for all responses, because it is attached to each of them.
    this.#answered = function () {
      finish(this);
    };
    server.maxConnections = connectionsMax + REFUSALS_AT_ONCE_MAX;
    server.on("listening", () => {
      const timer = setInterval(() => this.#sweep(), this.#sweepMs).unref();
      server.once("close", () => clearInterval(timer));
    });
    server.on("connection", (socket) => this.#admit(socket));
    // Connections rejected without a response.
    server.on("drop", (dropped) => this.#refuse(dropped?.remoteAddress));
    server.on("clientError", (error: NodeJS.ErrnoException, stream) => {
      this.#complain(stream as Socket, STATUS_OF_ERROR[error.code ?? ""] ?? BAD_REQUEST);
    });
    // The connection is lost. By now the server has detached its error handlers.
    server.on("connect", (_request, stream) => {
      stream.on("error", () => stream.destroy());
      this.#complain(stream as Socket, METHOD_NOT_ALLOWED);
    });
  }

  /** Must be called for each request before it is handled; false if it must not be handled any more. */
  begin(request: IncomingMessage, response: ServerResponse): boolean {
    const connection = this.#connections.get(request.socket);
    if (connection === undefined || connection.isDoomed) return false;
    connection.request = request;
    connection.response = response;
    connection.isUsed = true;
    connection.usedAtSweep = this.#sweeps;
    response.on("close", this.#answered);
    // Only a request with a body can be incomplete behind a proxy.
    if (connection.isProxied && announcesBody(request)) this.#assign(connection, this.#clientOf(request));
    return true;
  }

  /** Whether a connection was opened, or sent a request, within the last second or two. */
  wereUsedLately(): boolean {
    const sweeps = Math.ceil(SWEEP_MS_MAX / this.#sweepMs);
    return [...this.#connections.values()].some(({ usedAtSweep }) => usedAtSweep >= this.#sweeps - sweeps);
  }

  /** Closes connections without a pending answer or unfinished request. */
  closeIdle(): void {
    this.#server.closeIdleConnections();
    // For the server, connections that never sent a byte are not idle: it is waiting for their request.
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
    // The parser accepts some requests that can no longer be completed; they must not be waited for.
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

  /** The client network named by a proxy; null if it names none. */
  #clientOf({ socket, headers }: IncomingMessage): string | null {
    const forwardedFor = headers["x-forwarded-for"];
    if (forwardedFor === undefined) return null;
    return this.#networkOf({ peer: socket.remoteAddress, forwardedFor }) || null;
  }

  /**
   * Ends every response that does not begin, does not continue, or is not read. Node answers incomplete requests with
   * 408.
   */
  #sweep(): void {
    this.#sweeps += 1;
    const { unreadMs, answerMs } = this.#limits;
    for (const connection of this.#connections.values()) {
      const { socket, request, response } = connection;
      const sentBytes = sentBytesOf(socket);
      // An incomplete request has its own deadline.
      const isWaiting = response !== null && (connection.isDoomed || request?.complete !== false);
      const isQuiet = isWaiting && sentBytes === connection.sentBytes;
      connection.sentBytes = sentBytes;
      connection.quietSweeps = isQuiet ? connection.quietSweeps + 1 : 0;
      if (!isQuiet) continue;
      const isUnread = socket.writableLength > 0;
      if (isUnread) this.#order.add(connection);
      // One more, because the first sweep came at an arbitrary time after the last change.
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

/** The request is complete and waits for a response; after that, reading it is up to the client. */
function isServed({ socket, request, response, isDoomed, quietSweeps }: Connection): boolean {
  if (isDoomed) return true;
  const isStuck = quietSweeps > 0 && socket.writableLength > 0;
  return request?.complete === true && response !== null && !response.writableEnded && !isStuck;
}

/** The internal property of Node that holds the output; it has no documented name. */
const HANDLE = "_handle";
type WithHandle = Socket & { [HANDLE]?: { writeQueueSize?: number } | null };

/** How much of the written data the system has accepted, also of a single large chunk. */
function sentBytesOf(socket: WithHandle): number {
  return (socket.bytesWritten ?? 0) - socket.writableLength - (socket[HANDLE]?.writeQueueSize ?? 0);
}

/** Answers 503 if that is still possible, and closes the connection. */
function giveUp(connection: Connection, response: ServerResponse): void {
  connection.isDoomed = true;
  // Behind another unanswered request it has no socket yet.
  if (response.headersSent || response.socket === null) return void connection.socket.destroy();
  response.shouldKeepAlive = false;
  sendPlainResponse(response, UNAVAILABLE);
}

/** Answers a malformed request, after all pending responses. */
function reportError(connection: Connection, status: number): void {
  const { socket, request, response } = connection;
  connection.isDoomed = true;
  if (request !== null && !request.complete) {
    // The error is in a request that is being handled, so this is its response, unless it has one.
    if (response === null || response.headersSent) return void socket.destroy();
    response.shouldKeepAlive = false;
    return sendPlainResponse(response, status);
  }
  if (response === null) dismiss(connection, status);
  else response.once("close", () => dismiss(connection, status));
}

/** A last response on a connection without pending responses. */
function dismiss(connection: Connection, status: number): void {
  const { socket } = connection;
  connection.isDoomed = true;
  if (!socket.writable) return void socket.destroy();
  // Closing immediately would discard what the client has not read yet if more of its bytes arrive.
  socket.end(plainResponse(status), "latin1");
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

// Which connection is closed first when a server is full. Each network has a share of the limit; while a network
// exceeds it, one of its own connections is closed. Otherwise the oldest of all is closed.

export type Evictable = {
  /** The client network; null for connections that belong to no single client, such as those of a proxy. */
  network: string | null;
  /** It was used since it was last considered, so it is skipped once. */
  isUsed: boolean;
};

export class EvictionOrder<Item extends Evictable> {
  readonly #networkShare: number;
  /** Oldest first. */
  readonly #all = new Set<Item>();
  readonly #networks = new Map<string, Set<Item>>();
  /** Networks above their share. There cannot be many, so the largest is found by a linear search. */
  readonly #large = new Set<Set<Item>>();

  constructor({ networkShare }: { networkShare: number }) {
    this.#networkShare = networkShare;
  }

  /** Adds an item at the end, unless it is present. Its network must not change before it is removed. */
  add(item: Item): void {
    if (this.#all.has(item)) return;
    this.#all.add(item);
    if (item.network === null) return;
    const own = this.#networks.get(item.network) ?? new Set();
    this.#networks.set(item.network, own.add(item));
    if (own.size > this.#networkShare) this.#large.add(own);
  }

  remove(item: Item): void {
    if (!this.#all.delete(item) || item.network === null) return;
    const own = this.#networks.get(item.network);
    own?.delete(item);
    if (own === undefined || own.size > this.#networkShare) return;
    this.#large.delete(own);
    if (own.size === 0) this.#networks.delete(item.network);
  }

  /**
   * The item to close, or null. Items for which `isBusy` holds are removed; the caller adds them again when that ends.
   * Each item passed over was used or became busy since it was added, so the work is bounded by the number of requests.
   */
  next(isBusy: (item: Item) => boolean): Item | null {
    for (;;) {
      const order = this.#largest() ?? this.#all;
      for (const item of order) {
        if (isBusy(item)) this.remove(item);
        else if (item.isUsed) {
          item.isUsed = false;
          order.delete(item);
          order.add(item);
        } else return item;
      }
      if (order === this.#all) return null;
    }
  }

  #largest(): Set<Item> | null {
    let largest: Set<Item> | null = null;
    for (const own of this.#large) if (own.size > (largest?.size ?? 0)) largest = own;
    return largest;
  }
}

// HTTP/1.1 lets a client send requests without waiting for answers. Node parses all of them at once; this bounds how
// many of one connection are handled at a time. Beyond that, the server stops reading until answers have been sent.

/** Requests of one connection that are handled concurrently. At least 2: the newest may still wait for its body. */
const PIPELINED_REQUESTS_MAX = 32;

type PipelinedConnection = {
  /** Requests that have been parsed and whose answers have not been sent. */
  unanswered: number;
  /** Those of them that wait to be handled, at most as many as one read from the socket holds (64 KiB). */
  readonly held: { response: ServerResponse; handle: () => void }[];
  isPaused: boolean;
};

export class Pipelining {
  readonly #connections = new WeakMap<Socket, PipelinedConnection>();
  readonly #answered: (this: ServerResponse) => void;

  constructor(server: Server) {
    const onAnswered = (socket: Socket) => this.#onAnswered(socket);
    // One function for all responses, because it is attached to each of them.
    this.#answered = function () {
      onAnswered(this.req.socket);
    };
    server.on("connection", (socket) => {
      const connection: PipelinedConnection = { unanswered: 0, held: [], isPaused: false };
      this.#connections.set(socket, connection);
      // Reading a request's body resumes the socket.
      socket.on("resume", () => {
        if (connection.isPaused) socket.pause();
      });
      socket.once("close", () => connection.held.splice(0));
    });
  }

  /** Handles the request now, or once enough earlier requests of its connection have been answered. */
  handle(request: IncomingMessage, response: ServerResponse, handle: () => void): void {
    const { socket } = request;
    const connection = this.#connections.get(socket);
    if (connection === undefined) return handle();
    connection.unanswered += 1;
    response.on("close", this.#answered);
    if (connection.unanswered >= PIPELINED_REQUESTS_MAX && !connection.isPaused) {
      connection.isPaused = true;
      socket.pause();
    }
    if (connection.unanswered > PIPELINED_REQUESTS_MAX) connection.held.push({ response, handle });
    else handle();
  }

  #onAnswered(socket: Socket): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    const { held } = connection;
    connection.unanswered -= 1;
    while (held.length > 0 && connection.unanswered - held.length < PIPELINED_REQUESTS_MAX) {
      const next = held.shift();
      // A request that could not be read completely has been answered with an error.
      if (next !== undefined && !next.response.writableEnded && !next.response.destroyed) next.handle();
    }
    if (!connection.isPaused || connection.unanswered >= PIPELINED_REQUESTS_MAX) return;
    connection.isPaused = false;
    socket.resume();
  }
}

export class RequestQueue {
  readonly #last = new WeakMap<Socket, Promise<void>>();

  /**
   * Queues a request of a connection. `before` must be awaited first, null if no request is in progress; `end` must
   * be called once in any case.
   */
  take(socket: Socket): { before: Promise<void> | null; end: () => void } {
    const before = this.#last.get(socket) ?? null;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last.set(socket, promise);
    const end = () => {
      if (this.#last.get(socket) === promise) this.#last.delete(socket);
      resolve();
    };
    return { before, end };
  }
}
