// A link between a process and its database that can be cut: completely, or exactly around one COMMIT. It forwards
// whole messages, so that a cut never leaves half of one.
import { createServer, type Server, type Socket, connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../support/ports.ts";
import { asksForCommit, confirmsCommit, isAtRest, type WireMessage, WireReader, writesLog } from "./wire.ts";

/**
 * What happens to the next COMMIT of a batch. unsent: it never arrives, and the connection breaks. unsent-silent: it
 * never arrives, and there is no response. late: it arrives long after the sender has given up. applied: it arrives,
 * its response does not, and the connection breaks. applied-silent: it arrives, and there is no response.
 */
export type CommitFault = "unsent" | "unsent-silent" | "late" | "applied" | "applied-silent";

export const COMMIT_FAULTS: readonly CommitFault[] = [
  "unsent",
  "unsent-silent",
  "late",
  "applied",
  "applied-silent",
];

/** By then the sender has spooled its batch and tries to replay it. */
const LATE_MS = 3_000;

type Link = {
  client: Socket;
  server: Socket;
  /** The running transaction has written to the ping log. */
  isBatch: boolean;
  fault: CommitFault | null;
  /** Nothing is forwarded any more, in either direction. */
  isSilent: boolean;
};

export class DatabaseProxy {
  readonly port: number;
  readonly #server: Server;
  #targetPort: number;
  #isCut = false;
  #isSilent = false;
  readonly #links = new Set<Link>();
  #armed: { fault: CommitFault; done: () => void } | null = null;
  /** Called when the database has committed a batch, before the response is forwarded. */
  onBatchCommitted: () => void = () => {};

  private constructor({ port, targetPort }: { port: number; targetPort: number }) {
    this.port = port;
    this.#targetPort = targetPort;
    this.#server = createServer((client) => this.#accept(client));
  }

  /** Listens on loopback in front of a server on loopback. */
  static async open({ targetPort }: { targetPort: number }): Promise<DatabaseProxy> {
    const proxy = new DatabaseProxy({ port: await freePort(), targetPort });
    await new Promise<void>((resolve, reject) => {
      proxy.#server.once("error", reject);
      proxy.#server.listen(proxy.port, "127.0.0.1", () => resolve());
    });
    return proxy;
  }

  /** The same URL with the proxy in between. */
  urlFor(url: string): string {
    const through = new URL(url);
    through.port = String(this.port);
    // The response to a TLS request is not a message, and encrypted data cannot be cut at messages.
    through.searchParams.set("sslmode", "disable");
    return through.href;
  }

  /** Breaks every connection, and every new one immediately. */
  cut(): void {
    this.#isCut = true;
    this.#breakAll();
  }

  /** Keeps every connection, and new ones too, but forwards nothing any more. */
  silence(): void {
    this.#isSilent = true;
    for (const link of this.#links) link.isSilent = true;
  }

  /** From now on connections work; silenced ones are broken. */
  heal(): void {
    if (this.#isSilent) this.#breakAll();
    this.#isCut = false;
    this.#isSilent = false;
  }

  /** Forwards to another server from now on. */
  redirect(targetPort: number): void {
    this.#targetPort = targetPort;
    this.#breakAll();
  }

  /** Applies the fault to the next COMMIT of a batch; resolves when that has happened. */
  strike(fault: CommitFault): Promise<void> {
    return new Promise((done) => {
      this.#armed = { fault, done };
    });
  }

  async close(): Promise<void> {
    this.#breakAll();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #breakAll(): void {
    for (const link of this.#links) breakLink(link);
    this.#links.clear();
  }

  #accept(client: Socket): void {
    client.on("error", () => {});
    if (this.#isCut) {
      client.destroy();
      return;
    }
    const server = connect({ host: "127.0.0.1", port: this.#targetPort });
    const link: Link = { client, server, isBatch: false, fault: null, isSilent: this.#isSilent };
    this.#links.add(link);
    const fromClient = new WireReader({ from: "client" });
    const fromServer = new WireReader({ from: "server" });
    client.setNoDelay(true);
    server.setNoDelay(true);
    server.on("error", () => {});
    client.on("data", (chunk: Buffer) => {
      for (const message of fromClient.read(chunk)) this.#toServer(link, message);
    });
    server.on("data", (chunk: Buffer) => {
      for (const message of fromServer.read(chunk)) this.#toClient(link, message);
    });
    // A silenced link stays open for the other side, like a network that drops packets.
    const end = () => {
      if (link.isSilent && link.fault !== null) return;
      breakLink(link);
      this.#links.delete(link);
    };
    client.on("close", end);
    server.on("close", end);
  }

  #toServer(link: Link, message: WireMessage): void {
    if (link.isSilent) return;
    if (writesLog(message)) link.isBatch = true;
    if (asksForCommit(message) && link.isBatch && this.#armed !== null) this.#beginFault(link, message);
    else link.server.write(message.bytes);
  }

  #beginFault(link: Link, message: WireMessage): void {
    if (this.#armed === null) return;
    const { fault, done } = this.#armed;
    this.#armed = null;
    link.fault = fault;
    if (fault === "applied" || fault === "applied-silent") {
      link.server.write(message.bytes);
      link.server.once("close", done);
      return;
    }
    if (fault === "unsent") breakLink(link);
    else link.isSilent = true;
    if (fault === "late") void this.#sendLate(link, message);
    done();
  }

  /** The sender is gone by then; the server has waited in the middle of its transaction. */
  async #sendLate(link: Link, message: WireMessage): Promise<void> {
    await sleep(LATE_MS);
    if (!link.server.destroyed) link.server.end(message.bytes);
  }

  #toClient(link: Link, message: WireMessage): void {
    if (link.isSilent) return;
    const isEnd = confirmsCommit(message);
    if (isEnd && link.isBatch) {
      link.isBatch = false;
      this.onBatchCommitted();
      if (link.fault === "applied") return breakLink(link);
      if (link.fault === "applied-silent") {
        link.isSilent = true;
        link.server.destroy();
        return;
      }
    }
    if (isAtRest(message)) link.isBatch = false;
    link.client.write(message.bytes);
  }
}

function breakLink({ client, server }: Link): void {
  client.destroy();
  server.destroy();
}
