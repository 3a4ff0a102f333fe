// Plain-text responses of an HTTP server: errors that belong to no service, headers of every response, and responses
// that are sent thousands of times per second.
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";

/** Headers of every response: no content sniffing, framing or referrers. */
export const SAFETY_HEADERS: Readonly<Record<string, string>> = {
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "same-origin",
  "Cross-Origin-Opener-Policy": "same-origin",
  "X-Frame-Options": "DENY",
};

/** The Content-Security-Policy of responses that are not pages. */
export const DATA_POLICY = "default-src 'none'; frame-ancestors 'none'";

const TEXT_TYPE = "text/plain; charset=utf-8";

const RETRY_AFTER_SECONDS = 5;

/** Sends the response of a status; if one has already begun, closes the connection instead. */
export function sendPlainResponse(response: ServerResponse, status: number): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, headersFor(status));
  // The server sends no body in response to HEAD.
  response.end(textFor(status), "latin1");
}

/** The same as bytes, for a connection without a request. It announces that the connection is closed. */
export function plainResponse(status: number): string {
  const headers = { Date: new Date().toUTCString(), Connection: "close", ...headersFor(status) };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${textFor(status)}`;
}

/** The internal property of Node that holds the head of a response between writeHead and the first byte sent. */
const HEAD = "_header";
type WithHead = ServerResponse & { [HEAD]?: string | null };

/**
 * A plain-text response that is sent repeatedly; only the date changes between calls. Building the head once per
 * second instead of once per response saves a fifth of the cost of a small request.
 */
export class RepeatedResponse {
  readonly #status: number;
  readonly #text: string;
  readonly #headers: readonly string[];
  #date = "";
  #head = "";

  constructor({ status, text, headers }: { status: number; text: string; headers: Record<string, string> }) {
    const content = text === "" ? {} : { "Content-Type": TEXT_TYPE, "Content-Length": String(text.length) };
    this.#status = status;
    this.#text = text;
    this.#headers = Object.entries({ ...content, ...headers, ...SAFETY_HEADERS }).flat();
  }

  /** `date` is that of the current second. A response with its own headers takes the slower path. */
  send(response: WithHead, { date, more }: { date: string; more?: readonly string[] }): void {
    // The property is undocumented, so it is used only if it exists and the connection stays open: Node handles all
    // other cases.
    const isPlain =
      response[HEAD] === null && response.shouldKeepAlive && response.useChunkedEncodingByDefault;
    if (isPlain && more === undefined) response[HEAD] = this.#headAt(date);
    else response.writeHead(this.#status, [...this.#headers, "Expires", date, ...(more ?? [])]);
    // The server sends no body in response to HEAD.
    response.end(this.#text, "latin1");
  }

  #headAt(date: string): string {
    if (date === this.#date) return this.#head;
    const lines = [
      `HTTP/1.1 ${this.#status} ${STATUS_CODES[this.#status]}`,
      `Date: ${date}`,
      `Expires: ${date}`,
    ];
    for (let at = 0; at < this.#headers.length; at += 2) {
      lines.push(`${this.#headers[at]}: ${this.#headers[at + 1]}`);
    }
    this.#head = `${lines.join("\r\n")}\r\n\r\n`;
    this.#date = date;
    return this.#head;
  }
}

function textFor(status: number): string {
  return (STATUS_CODES[status] ?? "").toLowerCase();
}

function headersFor(status: number): Record<string, string> {
  return {
    "Content-Type": TEXT_TYPE,
    "Content-Length": String(textFor(status).length),
    "Cache-Control": "no-store",
    ...(status === 503 && { "Retry-After": String(RETRY_AFTER_SECONDS) }),
    ...SAFETY_HEADERS,
  };
}

// Asynchronous responses: a limited number at once, each sent once, however the handler ends.

/** One response, complete or streamed in chunks. */
export type HttpResponse = {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: string | Uint8Array | AsyncIterable<string>;
};

export type AsyncHandlerOptions = {
  answer: (request: IncomingMessage) => Promise<HttpResponse>;
  /** The response if `answer` fails; the error is null if there were too many requests. */
  instead: (error: unknown) => HttpResponse;
  /** Maximum concurrent responses; further requests are rejected. */
  atOnceMax: number;
};

export type AsyncHandler = {
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** Number of responses by status. */
  counts(): Readonly<Record<string, number>>;
};

/** Responds to requests with the results of a function, each once, however it ends. */
export function asyncHandler({ answer, instead, atOnceMax }: AsyncHandlerOptions): AsyncHandler {
  const counts: Record<string, number> = {};
  let atOnce = 0;
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    atOnce += 1;
    try {
      const found = atOnce > atOnceMax ? instead(null) : await answer(request).catch(instead);
      counts[found.status] = (counts[found.status] ?? 0) + 1;
      await send(response, found);
    } catch {
      // Half of it may have been sent: the rest is missing, and the client must not treat it as complete.
      response.destroy();
    } finally {
      atOnce -= 1;
    }
  };
  return { handle: (request, response) => void respond(request, response), counts: () => ({ ...counts }) };
}

async function send(response: ServerResponse, { status, headers, body }: HttpResponse): Promise<void> {
  if (response.destroyed) return;
  if (typeof body === "string" || body instanceof Uint8Array) {
    const length = status === 204 ? {} : { "Content-Length": String(Buffer.byteLength(body)) };
    response.writeHead(status, { ...headers, ...length, ...SAFETY_HEADERS });
    // The server sends no body in response to HEAD.
    response.end(body);
    return;
  }
  response.writeHead(status, { ...headers, ...SAFETY_HEADERS });
  if (response.req.method === "HEAD") response.end();
  else await writePieces(response, body);
}

// Streams a response as fast as the client reads.

/** A client that reads nothing for this long is disconnected, because its response uses memory. */
const STALLED_MS_MAX = 30_000;

/**
 * Writes all chunks and ends the response. Stops, and ends the source, if the client disconnects or stalls. Other
 * requests are served between chunks. Rejects if the source fails; the response is then incomplete.
 */
export async function writePieces(
  response: ServerResponse,
  pieces: AsyncIterable<string | Uint8Array>,
  { stalledMsMax = STALLED_MS_MAX }: { stalledMsMax?: number } = {},
): Promise<void> {
  for await (const piece of pieces) {
    if (response.destroyed) return;
    if (response.write(piece)) await nextTurn();
    else await drained(response, stalledMsMax);
  }
  response.end();
}

/** Resolves when the client has read the written data, or has disconnected. */
async function drained(response: ServerResponse, stalledMsMax: number): Promise<void> {
  if (response.destroyed) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(() => response.destroy(), stalledMsMax);
  response.on("drain", resolve).on("close", resolve);
  await promise;
  clearTimeout(timer);
  response.off("drain", resolve).off("close", resolve);
}
