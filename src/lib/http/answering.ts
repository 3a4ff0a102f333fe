// Answers that a handler has to find out first: so many at once, each given once, however the finding out ends.
import type { IncomingMessage, ServerResponse } from "node:http";
import { SAFETY_HEADERS } from "./answer.ts";
import { writePieces } from "./write-pieces.ts";

/** One answer, whole, or in pieces that are made while they are sent. */
export type HttpAnswer = {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: string | AsyncIterable<string>;
};

export type AnsweringOptions = {
  answer: (request: IncomingMessage) => Promise<HttpAnswer>;
  /** What is said instead when `answer` fails; the error is null when there were too many requests to try. */
  instead: (error: unknown) => HttpAnswer;
  /** So many answers are worked on at once; whoever comes then is sent away. */
  atOnceMax: number;
};

export type Answering = {
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** How often each status was answered. */
  counts(): Readonly<Record<string, number>>;
};

/** Answers requests with what a function finds out for them: each once, however that ends. */
export function answering({ answer, instead, atOnceMax }: AnsweringOptions): Answering {
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

async function send(response: ServerResponse, { status, headers, body }: HttpAnswer): Promise<void> {
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
