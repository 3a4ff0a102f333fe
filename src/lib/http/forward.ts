// Passes a request on to another server and streams the response back. Neither body is held in memory. How a body is
// framed is decided here and never taken from what the client names in Connection: the target trusts our connections, so
// a body must not be readable as a second request.
import {
  Agent as HttpAgent,
  type ClientRequest,
  type IncomingMessage,
  request as httpRequest,
  type ServerResponse,
} from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { announcesBody } from "./body.ts";
import { requestTarget } from "./request-target.ts";

export type ForwardOptions = {
  /** The origin of the server. */
  url: string;
  /** Headers that are set; they replace those of the request. Names in lower case. */
  headers: Readonly<Record<string, string>>;
  /** Headers that are not passed on. Names in lower case. */
  without: readonly string[];
  connectTimeoutMs: number;
  /** Maximum time without progress, once connected, until the response begins. */
  timeoutMs: number;
  bodyBytesMax: number;
};

/** `connect`: the request was not sent, and its body not read. `answer`: it may have been received. */
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

/** Headers of a request that are set here. */
const OWN_HEADERS: ReadonlySet<string> = new Set(["content-length", "host"]);

export function forwarder(): Forwarder {
  const settings = { keepAlive: true, timeout: IDLE_CONNECTION_MS };
  const agents = { http: new HttpAgent(settings), https: new HttpsAgent(settings) };
  return {
    forward: (request, response, options) => {
      const isTls = options.url.startsWith("https:");
      const { path = "/", host } = requestTarget(request.url ?? "/", request.headers.host) ?? {};
      const given = {
        method: request.method,
        path: path.startsWith("/") ? path : `/${path}`,
        headers: requestHeaders(request, { ...options, host: host ?? new URL(options.url).host }),
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

function exchange(outgoing: ClientRequest, { request, response, options }: Exchange): Promise<ForwardResult> {
  const { connectTimeoutMs, timeoutMs, bodyBytesMax, url } = options;
  const { promise, resolve } = Promise.withResolvers<ForwardResult>();
  let isConnected = false;
  let bodyBytes = 0;
  const fail = (result: ForwardResult) => {
    clearTimeout(timer);
    response.off("close", end);
    request.unpipe(outgoing);
    outgoing.destroy();
    resolve(result);
  };
  const failed = () => fail(isConnected ? "answer" : "connect");
  let timer = setTimeout(failed, connectTimeoutMs);
  // Either the client is gone, or it has its whole response and nothing more is needed of the request.
  const end = () => {
    if (!outgoing.writableFinished || !response.writableFinished) fail("answer");
    // The client has to be able to send the rest of its body.
    if (response.writableFinished) request.resume();
  };
  response.once("close", end);
  outgoing.on("error", failed);
  outgoing.once("response", (incoming) => {
    clearTimeout(timer);
    if (response.headersSent || response.destroyed) return fail("answer");
    response.writeHead(incoming.statusCode ?? BAD_GATEWAY, messageHeaders(incoming));
    incoming.pipe(response);
    // A partial response must not look complete.
    incoming.once("error", () => response.destroy());
    incoming.once("close", () => {
      if (!incoming.complete) response.destroy();
    });
    resolve("forwarded");
  });
  // The body is not read before, so that the request can be sent to another server.
  outgoing.once("socket", (socket) => {
    const send = () => {
      isConnected = true;
      clearTimeout(timer);
      timer = setTimeout(failed, timeoutMs);
      if (!announcesBody(request)) return void outgoing.end();
      request.on("data", (chunk: Buffer) => {
        bodyBytes += chunk.length;
        timer.refresh();
        if (bodyBytes > bodyBytesMax) fail("tooLarge");
      });
      request.pipe(outgoing);
    };
    if (socket.connecting) socket.once(url.startsWith("https:") ? "secureConnect" : "connect", send);
    else send();
  });
  return promise;
}

const BAD_GATEWAY = 502;

function requestHeaders(
  request: IncomingMessage,
  { headers: set, without, host }: ForwardOptions & { host: string },
): string[] {
  const { "content-length": length, "transfer-encoding": encoding } = request.headers;
  const isPassed = (name: string) =>
    !OWN_HEADERS.has(name) && !without.includes(name) && set[name] === undefined;
  return [
    ["host", host],
    ...pairs(request).filter(([name]) => isPassed(name.toLowerCase())),
    ...(encoding !== undefined
      ? [["transfer-encoding", "chunked"]]
      : length === undefined
        ? []
        : [["content-length", length]]),
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
