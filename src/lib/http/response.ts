// How an HTTP server answers in plain text: what belongs to no service (nothing there, cannot be read, too slow,
// too many), the headers that every answer has, and answers that are given thousands of times a second.
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";

/** Headers of every answer: what is served here is not to be guessed at, framed or told of elsewhere. */
export const SAFETY_HEADERS: Readonly<Record<string, string>> = {
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "same-origin",
  "Cross-Origin-Opener-Policy": "same-origin",
  "X-Frame-Options": "DENY",
};

const TEXT_TYPE = "text/plain; charset=utf-8";

const RETRY_AFTER_SECONDS = 5;

/** Gives the answer that a status stands for; one that has begun already is cut off instead. */
export function sendPlainResponse(response: ServerResponse, status: number): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, headersFor(status));
  // To HEAD the server sends no body, whatever it is given.
  response.end(textFor(status), "latin1");
}

/** The same as bytes, for a connection that has no request to answer. It says that it will be closed. */
export function plainResponse(status: number): string {
  const headers = { Date: new Date().toUTCString(), Connection: "close", ...headersFor(status) };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${textFor(status)}`;
}

/** Where Node keeps the head of an answer between writeHead and the first byte that is sent. */
const HEAD = "_header";
type WithHead = ServerResponse & { [HEAD]?: string | null };

/**
 * A plain-text answer that is given again and again; between two calls only the date changes. Putting the head
 * together once a second, and not once for each answer, saves a fifth of what a small request costs.
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

  /** `date` is that of this second. An answer with headers of its own takes the longer way. */
  send(response: WithHead, { date, more }: { date: string; more?: readonly string[] }): void {
    // The field has no documented name, so it is used only where it is, and where the connection goes on as it
    // is: whatever else there is to say about connections is left to Node.
    const isPlain =
      response[HEAD] === null && response.shouldKeepAlive && response.useChunkedEncodingByDefault;
    if (isPlain && more === undefined) response[HEAD] = this.#headAt(date);
    else response.writeHead(this.#status, [...this.#headers, "Expires", date, ...(more ?? [])]);
    // To HEAD the server sends no body, whatever it is given.
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

// Answers that a handler has to find out first: so many at once, each given once, however the finding out ends.

/** One answer, whole, or in pieces that are made while they are sent. */
export type HttpResponse = {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: string | AsyncIterable<string>;
};

export type AsyncHandlerOptions = {
  answer: (request: IncomingMessage) => Promise<HttpResponse>;
  /** What is said instead when `answer` fails; the error is null when there were too many requests to try. */
  instead: (error: unknown) => HttpResponse;
  /** So many answers are worked on at once; whoever comes then is sent away. */
  atOnceMax: number;
};

export type AsyncHandler = {
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** How often each status was answered. */
  counts(): Readonly<Record<string, number>>;
};

/** Answers requests with what a function finds out for them: each once, however that ends. */
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
      // Half of it may have been sent: the rest will never come, and the other side must not take it for whole.
      response.destroy();
    } finally {
      atOnce -= 1;
    }
  };
  return { handle: (request, response) => void respond(request, response), counts: () => ({ ...counts }) };
}

async function send(response: ServerResponse, { status, headers, body }: HttpResponse): Promise<void> {
  if (response.destroyed) return;
  if (typeof body === "string") {
    const length = status === 204 ? {} : { "Content-Length": String(Buffer.byteLength(body)) };
    response.writeHead(status, { ...headers, ...length, ...SAFETY_HEADERS });
    // To HEAD the server sends no body, whatever it is given.
    response.end(body);
    return;
  }
  response.writeHead(status, { ...headers, ...SAFETY_HEADERS });
  if (response.req.method === "HEAD") response.end();
  else await writePieces(response, body);
}

// Writes an answer piece by piece, as fast as the client reads and no faster.

/** A client that takes nothing for so long is disconnected: its answer holds memory. */
const STALLED_MS_MAX = 30_000;

/**
 * Writes all pieces and ends the response. Stops, and ends the source, when the client disconnects or stalls. Other
 * requests are served between two pieces. Rejects when the source fails; the response is then half sent.
 */
export async function writePieces(
  response: ServerResponse,
  pieces: AsyncIterable<string>,
  { stalledMsMax = STALLED_MS_MAX }: { stalledMsMax?: number } = {},
): Promise<void> {
  for await (const piece of pieces) {
    if (response.destroyed) return;
    if (response.write(piece)) await nextTurn();
    else await drained(response, stalledMsMax);
  }
  response.end();
}

/** Resolves when the client has taken what was written, or has gone. */
async function drained(response: ServerResponse, stalledMsMax: number): Promise<void> {
  if (response.destroyed) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(() => response.destroy(), stalledMsMax);
  response.on("drain", resolve).on("close", resolve);
  await promise;
  clearTimeout(timer);
  response.off("drain", resolve).off("close", resolve);
}
