// Sends the requests of cases to a server, one after the other over a kept connection, with the headers that
// the case names and none besides those that HTTP needs.
import { Agent, type IncomingMessage, request } from "node:http";
import { type Send, spelledOut } from "./case-file.ts";
import type { Answer } from "./judging/comparison.ts";

const ANSWER_WAIT_MS = 30_000;

/** A request whose holes are filled. */
export type FilledRequest = {
  method: string;
  path: string;
  headers: Readonly<Record<string, string>>;
  body: Buffer | null;
};

/** What a step sends, as bytes. JSON says that it is JSON unless the step says otherwise. */
export function requestOf(send: Send): FilledRequest {
  const { method, path, headers = {} } = send;
  if (send.json !== undefined) {
    const body = Buffer.from(JSON.stringify(send.json));
    return { method, path, headers: { "Content-Type": "application/json", ...headers }, body };
  }
  if (send.body !== undefined) return { method, path, headers, body: Buffer.from(spelledOut(send.body)) };
  const bytes = send.body_base64 === undefined ? null : Buffer.from(send.body_base64, "base64");
  return { method, path, headers, body: bytes };
}

export type CaseClient = { send(what: FilledRequest): Promise<Answer>; close(): void };

/** A client of the server at an address such as `http://127.0.0.1:8000`. */
export function caseClient(site: string): CaseClient {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    send: async (what) => {
      try {
        return await sendOnce(what, { site, agent });
      } catch (error) {
        // A kept connection may have been closed meanwhile; a second try gets a new one.
        if (!(error instanceof StaleConnectionError)) throw error;
        return sendOnce(what, { site, agent });
      }
    },
    close: () => agent.destroy(),
  };
}

/** The connection had been used before, and nothing came back over it. */
class StaleConnectionError extends Error {
  override readonly name = "StaleConnectionError";
}

function sendOnce(
  { method, path, headers, body }: FilledRequest,
  { site, agent }: { site: string; agent: Agent },
): Promise<Answer> {
  const { hostname, port } = new URL(site);
  // Answers hold whole addresses, and later steps follow them.
  const target = path.startsWith(`${site}/`) ? path.slice(site.length) : path;
  return new Promise((resolve, reject) => {
    const length = body === null ? {} : { "Content-Length": String(body.length) };
    const options = { agent, hostname, port, method, path: target, headers: { ...headers, ...length } };
    const outgoing = request(options, (response) => {
      collect(response).then(resolve, reject);
    });
    let isLate = false;
    outgoing.setTimeout(ANSWER_WAIT_MS, () => {
      isLate = true;
      outgoing.destroy(new Error(`no answer within ${ANSWER_WAIT_MS} ms`));
    });
    outgoing.on("error", (error) => {
      const isStale = outgoing.reusedSocket && !isLate;
      reject(isStale ? new StaleConnectionError(error.message, { cause: error }) : error);
    });
    outgoing.end(body ?? undefined);
  });
}

async function collect(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const headers = Object.entries(response.headersDistinct).map(([name, values]) => [
    name,
    values?.join(", "),
  ]);
  return {
    status: response.statusCode ?? 0,
    headers: Object.fromEntries(headers) as Answer["headers"],
    body: Buffer.concat(chunks),
  };
}
