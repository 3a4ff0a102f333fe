// A real HTTP server in place of a provider: it validates every request by the provider's documented format, responds
// like the provider, and can be set to be slow, fail, redirect or disconnect.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { OutgoingRequest } from "../../src/lib/outgoing-http.ts";

export type Received = {
  method: string;
  /** With the query. */
  path: string;
  headers: IncomingMessage["headers"];
  /** The bytes as UTF-8; an encoded body in base64. */
  body: string;
  /** The body, where it is JSON. */
  json: Readonly<Record<string, unknown>>;
};

export type Answer = { status: number; body?: string | object; headers?: Record<string, string> };

/** How the next requests are treated instead of being validated. */
export type Behaviour =
  | { kind: "judge" }
  | { kind: "answer"; answer: Answer }
  /** Waits before it validates. */
  | { kind: "slow"; ms: number }
  | { kind: "redirect"; to: string; status?: number }
  /** Accepts the request and closes the connection without a response. */
  | { kind: "hang up" };

export type Receiver = {
  url: string;
  /** All requests, whatever the response. */
  received: Received[];
  /** Violations of the provider's documentation. */
  problems: string[];
  behave(behaviour: Behaviour): void;
  close(): Promise<void>;
};

/** What a response means for the message and its channel; see `Answers` of the program. */
export type Meaning = "sent" | "gone" | "once" | "ours" | "wait" | "retry";

/** What tests need to know about the receiver of a channel kind. Each file in kinds/ exports one as `receiver`. */
export type KindReceiver = {
  /** A configuration as somebody would send it to the API. */
  config: Readonly<Record<string, unknown>>;
  /** Where the program sends requests, of which all go to the receiver instead. */
  origins: readonly string[];
  start(): Promise<Receiver>;
  /** A message that may have arrived is not sent again. */
  isSentOnce?: true;
  /** A request as golden files show it, if it is not text: decrypted, and without what is random. */
  readable?(request: OutgoingRequest): OutgoingRequest;
  /** Responses that the provider documents. */
  answers: readonly { status: number; body: string | object; means: Meaning }[];
};

/** The provider's reaction to a request. `problems` are also kept by the receiver. */
export type Verdict = { answer: Answer; problems?: readonly string[] };

const BODY_BYTES_MAX = 4 * 1024 * 1024;

export async function startReceiver(judge: (request: Received) => Verdict): Promise<Receiver> {
  const received: Received[] = [];
  const problems: string[] = [];
  const sockets = new Set<Socket>();
  let behaviour: Behaviour = { kind: "judge" };
  const handle = async (incoming: IncomingMessage, response: ServerResponse) => {
    const request = await readRequest(incoming);
    received.push(request);
    const now = behaviour;
    if (now.kind === "hang up") {
      incoming.socket.destroy();
      return;
    }
    if (now.kind === "redirect")
      return write(response, { status: now.status ?? 307, headers: { Location: now.to } });
    if (now.kind === "answer") return write(response, now.answer);
    if (now.kind === "slow") await new Promise((resolve) => setTimeout(resolve, now.ms));
    const verdict = judge(request);
    problems.push(...(verdict.problems ?? []));
    write(response, verdict.answer);
  };
  const server = createServer((incoming, response) => {
    handle(incoming, response).catch((error: unknown) =>
      problems.push(`the receiver failed: ${String(error)}`),
    );
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    problems,
    behave: (next) => {
      behaviour = next;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readRequest(incoming: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) throw new Error("a body is larger than any provider takes");
    chunks.push(chunk);
  }
  const { method = "", url = "", headers } = incoming;
  const whole = Buffer.concat(chunks);
  const isPlain = headers["content-encoding"] === undefined;
  const body = isPlain ? new TextDecoder("utf-8", { fatal: true }).decode(whole) : whole.toString("base64");
  return { method, path: url, headers, body, json: parse(body) };
}

function parse(body: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function write(response: ServerResponse, { status, body = "", headers = {} }: Answer): void {
  const isPlain = typeof body === "string";
  response.writeHead(status, { "Content-Type": isPlain ? "text/plain" : "application/json", ...headers });
  response.end(isPlain ? body : JSON.stringify(body));
}

/** The problems of a request that must be a POST of JSON. */
export function jsonProblems({ method, headers, body, json }: Received): string[] {
  const problems: string[] = [];
  if (method !== "POST") problems.push(`the method is ${method} and not POST`);
  if (!/^application\/json(;|$)/.test(headers["content-type"] ?? "")) {
    problems.push(`the content type is ${headers["content-type"]} and not application/json`);
  }
  if (Object.keys(json).length === 0) problems.push(`the body is no JSON object: ${body.slice(0, 80)}`);
  return problems;
}

/** Whether a value is a text within length limits; characters are counted as UTF-16 units. */
export function isText(value: unknown, { min = 1, max }: { min?: number; max: number }): value is string {
  return typeof value === "string" && value.length >= min && value.length <= max;
}

/** The objects of a list; other items are left out. */
export function objectsOf(value: unknown): Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "object" && item !== null) : [];
}

/** Any value as text: a string unchanged, everything else as JSON. */
export function said(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "nothing");
}
