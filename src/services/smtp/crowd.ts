// How many may be connected: in all, and from one network. When it is full, idle connections of the network that holds
// the most are closed first, so that a network that only holds connections keeps no other out.
import { networkOf } from "../../lib/http/client-address.ts";
import type { MailConnection } from "./connection.ts";

export type CrowdOptions = {
  connectionsMax: number;
  /** From one network. */
  peerConnectionsMax: number;
  /** A connection that has brought no whole message for so long is closed. */
  unproductiveMs: number;
  /** A connection was refused, or closed in the middle of a message, because there were too many. */
  onRefused: (connection: MailConnection) => void;
  monotonic?: () => number;
};

export type CrowdCounts = { open: number; refused: number; cutOff: number };

const CHECK_EVERY_MS = 1_000;
/** Connections that are compared to make room for one. */
const LOOKED_AT_MAX = 32;
const FULL = "Too many connections, try again later";
const TOO_LONG = "Timeout waiting for a message";

export class Crowd {
  readonly #options: CrowdOptions;
  readonly #monotonic: () => number;
  /** In the order of their last progress, the oldest first. */
  readonly #connections = new Set<MailConnection>();
  readonly #peers = new Map<string, number>();
  readonly #peerOf = new Map<MailConnection, string>();
  #refused = 0;
  #cutOff = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: CrowdOptions) {
    this.#options = options;
    this.#monotonic = options.monotonic ?? (() => performance.now());
  }

  /** A connection is there. Makes room for it, or sends it away when there is none to be made. */
  enter(connection: MailConnection): void {
    const { connectionsMax, peerConnectionsMax, onRefused } = this.#options;
    const peer = networkOf(connection.remoteAddress);
    const ofPeer = this.#peers.get(peer) ?? 0;
    const isAllowed = ofPeer < peerConnectionsMax;
    if (!isAllowed || (this.#connections.size >= connectionsMax && !this.#makeRoom())) {
      onRefused(connection);
      return this.#sendAway(connection);
    }
    connection.progressAtMs = this.#monotonic();
    this.#connections.add(connection);
    this.#peers.set(peer, ofPeer + 1);
    this.#peerOf.set(connection, peer);
    this.#timer ??= setInterval(() => this.#closeUnproductive(), CHECK_EVERY_MS).unref();
  }

  /** It has brought a whole message. */
  progressed(connection: MailConnection): void {
    connection.progressAtMs = this.#monotonic();
    if (this.#connections.delete(connection)) this.#connections.add(connection);
  }

  leave(connection: MailConnection): void {
    const peer = this.#peerOf.get(connection);
    if (!this.#connections.delete(connection) || peer === undefined) return;
    this.#peerOf.delete(connection);
    const left = (this.#peers.get(peer) ?? 1) - 1;
    if (left === 0) this.#peers.delete(peer);
    else this.#peers.set(peer, left);
    if (this.#connections.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  counts(): CrowdCounts {
    return { open: this.#connections.size, refused: this.#refused, cutOff: this.#cutOff };
  }

  /** Says goodbye to whoever is in the middle of nothing. */
  closeIdle(words: string): void {
    for (const connection of this.#connections) {
      if (!connection.isInTransaction && !connection.isAnswering) this.#close(connection, words);
    }
  }

  #makeRoom(): boolean {
    const victim = this.#findVictim();
    if (victim === null) return false;
    if (victim.isInTransaction) this.#options.onRefused(victim);
    this.#cutOff += 1;
    this.#close(victim, FULL);
    return true;
  }

  /**
   * Among those without progress for longest: idle ones first, then those of the network that has the most. Few are
   * looked at, because this is asked for every connection while the port is full.
   */
  #findVictim(): MailConnection | null {
    let victim: MailConnection | null = null;
    let mostOfPeer = -1;
    let lookedAt = 0;
    for (const connection of this.#connections) {
      if (connection.isAnswering) continue;
      lookedAt += 1;
      if (lookedAt > LOOKED_AT_MAX) break;
      const isMoreIdle = victim !== null && victim.isInTransaction && !connection.isInTransaction;
      const isLessIdle = victim !== null && !victim.isInTransaction && connection.isInTransaction;
      const ofPeer = this.#peers.get(this.#peerOf.get(connection) ?? "") ?? 0;
      if (isLessIdle || (!isMoreIdle && ofPeer <= mostOfPeer)) continue;
      victim = connection;
      mostOfPeer = ofPeer;
    }
    return victim;
  }

  #closeUnproductive(): void {
    const sinceMs = this.#monotonic() - this.#options.unproductiveMs;
    for (const connection of this.#connections) {
      if (connection.progressAtMs > sinceMs) break;
      if (!connection.isAnswering) this.#close(connection, TOO_LONG);
    }
  }

  #sendAway(connection: MailConnection): void {
    this.#refused += 1;
    // It has not begun to listen to its socket: once it does, it hears this and is closed.
    setImmediate(() => this.#close(connection, FULL));
  }

  /** Whoever does not read is not waited for: the socket is let go once the words had time to leave. */
  #close(connection: MailConnection, words: string): void {
    this.leave(connection);
    connection.send(421, words, false);
    setTimeout(() => connection._socket.destroy(), CHECK_EVERY_MS).unref();
  }
}
