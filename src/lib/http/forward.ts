// Passes a request on to another server and streams the response back. Neither body is held in memory.
import {
  Agent as HttpAgent,
  type ClientRequest,
  type IncomingMessage,
  request as httpRequest,
  type ServerResponse,
} from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { announcesBody } from "./body.ts";

export type ForwardOptions = {
  /** The origin of the server. */
  url: string;
  /** Headers that are set; they replace those of the request. Names in lower case. */
  headers: Readonly<Record<string, string>>;
  /** Maximum time without progress until the response begins. */
  timeoutMs: number;
  bodyBytesMax: number;
};

/** `connect`: the request was not sent. `answer`: it may have been received. */
export type ForwardResult = "forwarded" | "connect" | "answer" | "tooLarge";

export type Forwarder = {
  /** If the result is not "forwarded", nothing was sent to the client. */
  forward(
    request: IncomingMessage,
    response: ServerResponse,
    options: ForwardOptions,
  ): Promise<ForwardResult>;
  close(): void;
};

/** Shorter than servers keep connections open, so that a connection is not closed while it is reused. */
const IDLE_CONNECTION_MS = 30_000;
const CONNECTIONS_MAX = 256;

/** Headers of one connection, not of the message. */
const HOP_HEADERS: ReadonlySet<string> = new Set([
  "connection",
  "expect",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

export function forwarder(): Forwarder {
  const settings = { keepAlive: true, timeout: IDLE_CONNECTION_MS, maxSockets: CONNECTIONS_MAX };
  const agents = { http: new HttpAgent(settings), https: new HttpsAgent(settings) };
  return {
    forward: (request, response, options) => {
      const isTls = options.url.startsWith("https:");
      const given = {
        method: request.method,
        path: pathOf(request.url ?? "/"),
        headers: requestHeaders(request, options),
      };
      const outgoing = isTls
        ? httpsRequest(options.url, { ...given, agent: agents.https })
        : httpRequest(options.url, { ...given, agent: agents.http });
      return exchange(outgoing, { request, response, options });
    },
    close: () => {
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}

type Exchange = { request: IncomingMessage; response: ServerResponse; options: ForwardOptions };

function exchange(
  outgoing: ClientRequest,
  { request, response, options: { timeoutMs, bodyBytesMax } }: Exchange,
): Promise<ForwardResult> {
  const { promise, resolve } = Promise.withResolvers<ForwardResult>();
  let isConnected = false;
  let bodyBytes = 0;
  const fail = (result: ForwardResult) => {
    clearTimeout(timer);
    request.unpipe(outgoing);
    outgoing.destroy();
    resolve(result);
  };
  const timer = setTimeout(() => fail(isConnected ? "answer" : "connect"), timeoutMs);
  // The client is gone: the request must not go on without it.
  response.once("close", () => {
    if (!response.writableFinished) fail("answer");
  });
  outgoing.once("socket", (socket) => {
    if (socket.connecting) socket.once("connect", () => (isConnected = true));
    else isConnected = true;
  });
  outgoing.once("error", () => fail(isConnected ? "answer" : "connect"));
  outgoing.once("response", (incoming) => {
    clearTimeout(timer);
    response.writeHead(incoming.statusCode ?? BAD_GATEWAY, messageHeaders(incoming));
    incoming.pipe(response);
    // A partial response must not look complete.
    incoming.once("error", () => response.destroy());
    incoming.once("close", () => {
      if (!incoming.complete) response.destroy();
    });
    resolve("forwarded");
  });
  if (!announcesBody(request)) outgoing.end();
  else {
    request.on("data", (chunk: Buffer) => {
      bodyBytes += chunk.length;
      timer.refresh();
      if (bodyBytes > bodyBytesMax) fail("tooLarge");
    });
    request.pipe(outgoing);
  }
  return promise;
}

const BAD_GATEWAY = 502;

/** Clients of a proxy send the whole URL. */
function pathOf(url: string): string {
  if (url.startsWith("/")) return url;
  const parsed = URL.parse(url);
  return parsed === null ? "/" : parsed.pathname + parsed.search;
}

function requestHeaders(request: IncomingMessage, { url, headers: set }: ForwardOptions): string[] {
  const { host, "transfer-encoding": encoding } = request.headers;
  return [
    ...pairs(request).filter(([name]) => set[name.toLowerCase()] === undefined),
    ...(host === undefined ? [["host", new URL(url).host]] : []),
    ...(encoding === undefined ? [] : [["transfer-encoding", "chunked"]]),
    ...Object.entries(set),
  ].flat();
}

function messageHeaders(message: IncomingMessage): string[] {
  return pairs(message).flat();
}

/** The headers of a message without those of its connection. */
function pairs(message: IncomingMessage): [string, string][] {
  const named = (message.headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase());
  const found: [string, string][] = [];
  for (let at = 0; at < message.rawHeaders.length; at += 2) {
    const name = message.rawHeaders[at] ?? "";
    const lower = name.toLowerCase();
    if (!HOP_HEADERS.has(lower) && !named.includes(lower))
      found.push([name, message.rawHeaders[at + 1] ?? ""]);
  }
  return found;
}
