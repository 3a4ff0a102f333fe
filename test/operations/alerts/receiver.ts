// A real HTTP server that accepts and keeps messages, and the ports that send to it. It can be set to reject, to be
// slow, to disconnect, or to accept a message without responding.
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { FailedResult, SendResult } from "../../../src/core/delivery.ts";
import type { AlertMessage } from "../../../src/core/message.ts";
import type { Ports } from "../../../src/operations/deliveries.ts";
import type { Channel } from "../../../src/store/channels.ts";

export type Received = {
  channelId: number;
  dedupeKey: string;
  attempt: number;
  message: AlertMessage;
  /** On `performance.now()`. */
  atMs: number;
};

/** The response to a request; `taken` says whether the message counts as received. */
export type Behaviour =
  | { kind: "answers"; code: number; headers?: Record<string, string>; body?: string; afterMs?: number }
  /** Accepts the message and closes the connection without a response. */
  | { kind: "hangs up" };

const WELL: Behaviour = { kind: "answers", code: 200, body: "ok" };
const SEND_MS = 20_000;

export class Receiver {
  /** All requests, whatever the response. */
  readonly arrived: Received[] = [];
  /** Messages answered with 200, each deduplication key once. */
  readonly taken: Received[] = [];
  repeatCount = 0;
  readonly #keys = new Set<string>();
  readonly #server: Server;
  behaves: (received: Received) => Behaviour = () => WELL;

  private constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        this.#take(JSON.parse(Buffer.concat(chunks).toString()) as Omit<Received, "atMs">, response);
      });
    });
  }

  static async start(): Promise<Receiver> {
    const receiver = new Receiver();
    await new Promise<void>((resolve) => receiver.#server.listen(0, "127.0.0.1", resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  #take(sent: Omit<Received, "atMs">, response: ServerResponse): void {
    const received = { ...sent, atMs: performance.now() };
    this.arrived.push(received);
    const behaviour = this.behaves(received);
    if (behaviour.kind === "hangs up" || behaviour.code === 200) this.#keep(received);
    if (behaviour.kind === "hangs up") {
      response.destroy();
      return;
    }
    const { code, headers = {}, body = "", afterMs = 0 } = behaviour;
    setTimeout(() => response.writeHead(code, headers).end(body), afterMs);
  }

  #keep(received: Received): void {
    const key = `${received.channelId} ${received.dedupeKey}`;
    if (this.#keys.has(key)) this.repeatCount += 1;
    else this.taken.push(received);
    this.#keys.add(key);
  }

  /** The messages accepted for one channel, as words: the kind, and in brackets its contents. */
  saidTo(channel: { id: number }): string[] {
    return this.taken
      .filter(({ channelId }) => channelId === channel.id)
      .map(({ message }) => inWords(message));
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Everything is sent to this server, whatever the channel. */
  ports(given: Partial<Ports> = {}): Ports {
    const { url } = this;
    return {
      send: (channel, message, { dedupeKey, attempt }) =>
        post(url, { channelId: channel.id, dedupeKey, attempt, message }),
      isSubscribed: (channel: Channel, what) => channel.config[what] !== false,
      rateOf: () => null,
      ...given,
    };
  }
}

/** Sends like a channel kind: errors are results. */
export async function post(url: string, body: object): Promise<SendResult> {
  const failed: FailedResult = {
    kind: "failed",
    permanent: false,
    retryAfterMs: null,
    summary: "POST receiver",
    code: null,
    excerpt: null,
    reason: "Connection failed",
  };
  try {
    const signal = AbortSignal.timeout(SEND_MS);
    const response = await fetch(url, { method: "POST", body: JSON.stringify(body), signal });
    const answer = { summary: "POST receiver", code: response.status, excerpt: await response.text() };
    if (response.ok) return { kind: "sent", ...answer };
    const retryAfter = response.headers.get("retry-after");
    return {
      ...failed,
      ...answer,
      permanent: response.status === 410,
      retryAfterMs: retryAfter === null ? null : Number(retryAfter) * 1_000,
      reason: `Received status code ${response.status}`,
    };
  } catch {
    return failed;
  }
}

function inWords(message: AlertMessage): string {
  if (message.kind !== "down" && message.kind !== "up") return message.kind;
  const flips = message.flips.map(({ to, reason }) => (to === "up" ? "up" : reason));
  const corrections = message.corrections.map(() => "taken back");
  return `${message.kind} (${[...corrections, ...flips].join(", ")})`;
}
