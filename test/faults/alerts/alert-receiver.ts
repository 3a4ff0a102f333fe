// A real HTTP server that receives webhooks. It records accepted messages by their key, and can be set to accept
// nothing, to accept without responding, to be slow, to fail and to disconnect.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** A message: its channel, its check, and the key that repetitions share. */
export type Arrival = {
  channel: string;
  what: "down" | "up" | "notice";
  /** The check; empty for a notice. */
  uuid: string;
  key: string;
  body: string;
  /** On this process's clock. */
  at: number;
};

/**
 * deaf: requests wait, and are accepted once it listens again, if the sender is still connected. mute: it accepts
 * them, but does not respond.
 */
export type Manner =
  | "well"
  | "deaf"
  | "mute"
  | { slowMs: number }
  | { failsWith: number }
  /** It accepts the message, and closes the connection. */
  | "hangs up";

type Waiting = { request: IncomingMessage; response: ServerResponse; body: string };

const BODY_BYTES_MAX = 1024 * 1024;

export class AlertReceiver {
  /** All accepted messages in order, including repetitions. */
  readonly arrivals: Arrival[] = [];
  readonly #server: Server;
  #manner: (channel: string) => Manner = () => "well";
  #deaf: Waiting[] = [];
  #mute: Waiting[] = [];

  private constructor() {
    this.#server = createServer((request, response) => {
      void this.#hear(request, response).catch(() => response.destroy());
    });
  }

  static async start(): Promise<AlertReceiver> {
    const made = new AlertReceiver();
    await new Promise<void>((resolve, reject) => {
      made.#server.once("error", reject);
      made.#server.listen(0, "127.0.0.1", () => resolve());
    });
    return made;
  }

  /** The configuration of a webhook that sends everything here, under a name. */
  configFor(channel: string): Record<string, string> {
    const { port } = this.#server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/${channel}`;
    return {
      url_down: `${url}/down/$CODE`,
      body_down: "$NAME is $STATUS",
      url_up: `${url}/up/$CODE`,
      body_up: "$NAME is $STATUS",
      url_notice: `${url}/notice/`,
      // Signed, because the key of a message is sent with its signature.
      secret: `whsec_${Buffer.alloc(24, 7).toString("base64")}`,
    };
  }

  /** Sets its behavior by channel. Waiting requests are served if the new behavior allows it. */
  behave(manner: Manner | ((channel: string) => Manner)): void {
    this.#manner = typeof manner === "function" ? manner : () => manner;
    for (const one of this.#deaf.splice(0)) void this.#serve(one);
    for (const one of this.#mute.splice(0)) {
      if (this.#mannerOf(one) === "mute") this.#mute.push(one);
      else one.response.writeHead(200).end("ok");
    }
  }

  /** Number of requests waiting for a response. */
  get waitingCount(): number {
    return [...this.#deaf, ...this.#mute].filter(({ response }) => !response.destroyed).length;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #hear(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > BODY_BYTES_MAX) throw new Error("a webhook request is too large");
      chunks.push(chunk);
    }
    await this.#serve({ request, response, body: Buffer.concat(chunks).toString("utf8") });
  }

  #mannerOf({ request }: Waiting): Manner {
    return this.#manner(request.url?.split("/")[1] ?? "");
  }

  async #serve(waiting: Waiting): Promise<void> {
    const { request, response, body } = waiting;
    const manner = this.#mannerOf(waiting);
    if (manner === "deaf") {
      this.#deaf.push(waiting);
      return;
    }
    if (typeof manner === "object" && "slowMs" in manner) await sleep(manner.slowMs);
    // A sender that has disconnected has to send it again.
    if (response.destroyed || request.socket.destroyed) return;
    if (typeof manner === "object" && "failsWith" in manner) {
      response.writeHead(manner.failsWith).end("not now");
      return;
    }
    this.#take(request, body);
    if (manner === "mute") this.#mute.push(waiting);
    else if (manner === "hangs up") request.socket.destroy();
    else response.writeHead(200).end("ok");
  }

  #take({ url = "", headers }: IncomingMessage, body: string): void {
    const [, channel = "", what = "", uuid = ""] = url.split("/");
    const key = headers["webhook-id"];
    this.arrivals.push({
      channel,
      what: what === "down" || what === "up" ? what : "notice",
      uuid,
      key: typeof key === "string" ? key : "",
      body,
      at: Date.now(),
    });
  }
}
