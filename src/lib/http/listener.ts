// One HTTP port that several services share: each request goes to the first handler that wants it. It bounds
// connections and times, survives whatever bytes come, and stops without cutting off an answer.
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { formatListenAddress, type ListenAddress } from "../address.ts";
import { answerPlainly, SAFETY_HEADERS } from "./answer.ts";
import { type ConnectionCounts, HttpConnections, type RefusedConnection } from "./connections.ts";
import { Pipelining } from "./pipelining.ts";
import type { Log } from "../log.ts";
import type { Service } from "../service.ts";

export type HttpHandler = {
  /** Whether a request is for this handler. Asked for every request, so it is cheap and changes nothing. */
  handles(request: IncomingMessage): boolean;
  /** Answers the request, sooner or later. What it throws is logged and answered 500. */
  handle(request: IncomingMessage, response: ServerResponse): void;
};

export type HttpListenerOptions = {
  name: string;
  listen: ListenAddress;
  /** Asked in this order; a request that none of them wants is answered 404. */
  handlers: readonly HttpHandler[];
  /** The most connections at once; fewer where the system does not let the process have that many. */
  connectionsMax: number;
  /** A request that is not complete after this is answered 408; an answer that is not read for as long is cut off. */
  requestTimeoutMs: number;
  /** An answer has to begin within this time of its request, and a streamed one may not pause for longer. */
  answerTimeoutMs?: number;
  /** Several processes may listen on the same port, and the system spreads connections over them. */
  reusePort?: boolean;
  /** Told of requests that nobody wants. */
  onUnwanted?: (request: IncomingMessage) => void;
  /** What a person is shown instead of a word in plain text who goes to an address that nobody wants. */
  unwantedPage?: { headers: Readonly<Record<string, string>>; html: string };
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
  /** Where it listens, the real port instead of 0; null before start. */
  address(): ListenAddress | null;
  /** Null while it listens, otherwise what is the matter. */
  trouble(): string | null;
  connectionCounts(): ConnectionCounts;
};

/** Longer than the minute for which balancers keep connections: the side that sends should close first. */
const KEEP_ALIVE_MS = 75_000;
/** Longer than any statement may take, and than streams pause. */
const ANSWER_TIMEOUT_MS = 60_000;
const STOP_GRACE_MS = 5_000;
/** How long a stopping listener waits for the next request of connections in use, to close them by its answer. */
const STOP_DRAIN_MS = 1_000;
const STOP_CHECK_MS = 20;
const HEADER_BYTES_MAX = 16 * 1024;
/** How many connections the system may hold ready; at full hours thousands of jobs call at once. */
const BACKLOG = 4_096;
/** A timeout is noticed this much late at most. */
const TIMEOUT_CHECK_MS = 1_000;
/** Files, databases and everything else that a process opens besides connections to its listeners. */
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
        options.onUnwanted?.(request);
        answerUnwanted(options, request, response);
      } else handler.handle(request, response);
    } catch (error) {
      log.error({ err: error, method: request.method }, "request failed");
      answerPlainly(response, 500);
    }
  };
  server.on("request", dispatch);
  // An expectation that nobody knows is no reason to turn a request away.
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
    trouble: () => (server.listening ? null : "not listening"),
    connectionCounts: () => connections.counts(),
  };
}

/** A browser that goes somewhere asks for a page; programs do not. */
function answerUnwanted(
  { unwantedPage: page }: HttpListenerOptions,
  { method, headers }: IncomingMessage,
  response: ServerResponse,
): void {
  const isPerson = method === "GET" && (headers.accept ?? "").includes("text/html");
  if (!isPerson || page === undefined) return answerPlainly(response, 404);
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
  // Whoever has sent all it has to say may close its half and still wants the answer. The property has no
  // documented way to be set, and without it such a request is answered into a closed connection.
  return Object.assign(server, { httpAllowHalfOpen: true });
}

/** As many as wanted, less where the system's limit would leave the process without descriptors of its own. */
function allowedConnections(wanted: number): number {
  const limit = descriptorLimit();
  return limit === null ? wanted : Math.min(wanted, Math.max(CONNECTIONS_MIN, limit - DESCRIPTORS_KEPT));
}

/** How many files and sockets this process may have open; null where the system does not say. */
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
      // A server that listens on host and port has an AddressInfo; the other kinds are for pipes.
      resolve({ host, port: (server.address() as AddressInfo).port });
    });
  });
}

/**
 * Takes no new connections. Those in use are closed by the answer to their next request: closed while it is on its way,
 * it would be lost. The idle ones are closed after that, and after the grace all others.
 */
async function close(
  server: Server,
  { graceMs, connections }: { graceMs: number; connections: HttpConnections },
): Promise<void> {
  const drainMs = connections.wereUsedLately() ? Math.min(STOP_DRAIN_MS, graceMs / 2) : 0;
  const closeIdleAtMs = performance.now() + drainMs;
  const closed = new Promise<void>((resolve, reject) => {
    const closeIdle = server.closeIdleConnections.bind(server);
    // Node would close idle connections at once.
    server.closeIdleConnections = () => {};
    server.close((error) => (error === undefined ? resolve() : reject(error)));
    server.closeIdleConnections = closeIdle;
  });
  // Not at once: what lies unread in the sockets may be a request.
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
