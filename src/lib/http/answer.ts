// How an HTTP server answers in plain text: what belongs to no service (nothing there, cannot be read, too slow,
// too many), the headers that every answer has, and answers that are given thousands of times a second.
import { type ServerResponse, STATUS_CODES } from "node:http";

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
export function answerPlainly(response: ServerResponse, status: number): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, headersFor(status));
  // To HEAD the server sends no body, whatever it is given.
  response.end(textFor(status), "latin1");
}

/** The same as bytes, for a connection that has no request to answer. It says that it will be closed. */
export function plainAnswer(status: number): string {
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
export class RepeatedAnswer {
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
