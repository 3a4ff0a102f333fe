// The SMTP server that receives pings by email: connections, connection limits, and commands. Messages are handled in
// receive.ts.
import type { AddressInfo, Socket } from "node:net";
import { domainToUnicode } from "node:url";
import {
  SMTPServer,
  type SMTPServerAddress,
  type SMTPServerDataStream,
  type SMTPServerOptions,
  type SMTPServerSession,
} from "smtp-server";
import { SMTPConnection, type SMTPConnectionOptions } from "smtp-server/lib/smtp-connection.js";
import { MINUTE_MS, SECOND_MS } from "../../core/instant.ts";
import { EMAIL_BYTES_MAX, EMAIL_RECIPIENTS_MAX, PING_READ_BYTES_MAX } from "../../core/limits.ts";
import { mailboxTarget } from "../../core/signal.ts";
import type { SignalIntake } from "../../intake/intake.ts";
import { formatListenAddress, type ListenAddress } from "../../lib/address.ts";
import { byteBudget } from "../../lib/http/body.ts";
import { networkOf } from "../../lib/http/client-address.ts";
import type { Log } from "../../lib/log.ts";
import { MailAnswer, type MailOutcome, MailReceiver, noteRefused } from "./receive.ts";

/** The success reply that jobs and clients of the reference server expect. */
const OK_TEXT = "OK";
const REPLACED_TEXTS: ReadonlySet<unknown> = new Set(["Accepted", "Flushed"]);
const SENDER_LENGTH_MAX = 320;
/**
 * A sender that violates the standard: without a domain, without angle brackets, with spaces. Devices send all of
 * these.
 */
const ODD_SENDER = /^mail from:\s*(?:<([^<>]*)>|([^\s<>]*))(?:\s+(.*))?$/i;
// eslint-disable-next-line no-control-regex -- control characters are what this finds
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

export class MailConnection extends SMTPConnection {
  /** When it was opened, or last sent a complete message. */
  progressAtMs = performance.now();
  /** A message is complete, and its sender waits for the reply. */
  isAnswering = false;

  get isInTransaction(): boolean {
    return Boolean(this.session.envelope?.mailFrom);
  }

  override send(code: number, data?: string | string[] | null, context?: string | false): void {
    super.send(code, code === 250 && REPLACED_TEXTS.has(data) ? OK_TEXT : data, context);
  }

  /** The sender is only displayed: a message must not be lost because its sender has an unusual name. */
  override _parseAddressCommand(name: string, command: string | Buffer): SMTPServerAddress | false {
    const parsed = super._parseAddressCommand(name, command);
    if (parsed !== false || name !== "mail from") return parsed;
    const [, inAngles, bare = ""] = ODD_SENDER.exec(command.toString()) ?? [];
    const address = (inAngles ?? bare).trim();
    if (address === "" || address.length > SENDER_LENGTH_MAX || CONTROL.test(address)) return false;
    return { address, args: false };
  }
}

/** The library's server with our connection class. */
class MailListener extends SMTPServer {
  readonly #onOpen: (connection: MailConnection) => void;

  constructor(options: SMTPServerOptions, onOpen: (connection: MailConnection) => void) {
    super(options);
    this.#onOpen = onOpen;
  }

  override connect(socket: Socket, socketOptions?: SMTPConnectionOptions | null): void {
    const connection = new MailConnection(this, socket, socketOptions);
    this.connections.add(connection);
    connection.on("error", (error: Error) => this._onError(error));
    this.#onOpen(connection);
    connection.init();
  }
}

// Limits connections in total and per network. When the server is full, idle connections of the network with the most
// connections are closed first, so that one network cannot keep the others out.

export type ConnectionLimitOptions = {
  connectionsMax: number;
  /** From one network. */
  peerConnectionsMax: number;
  /** A connection without a complete message for this long is closed. */
  unproductiveMs: number;
  /** A connection was rejected, or closed during a message, because there were too many. */
  onRefused: (connection: MailConnection) => void;
  monotonic?: () => number;
};

export type ConnectionCounts = { open: number; refused: number; cutOff: number };

const CHECK_EVERY_MS = 1_000;
/** Number of connections that are compared when one has to be closed. */
const LOOKED_AT_MAX = 32;
const FULL = "Too many connections, try again later";
const TOO_LONG = "Timeout waiting for a message";

class ConnectionLimit {
  readonly #options: ConnectionLimitOptions;
  readonly #monotonic: () => number;
  /** Ordered by their last progress, oldest first. */
  readonly #connections = new Set<MailConnection>();
  readonly #peers = new Map<string, number>();
  readonly #peerOf = new Map<MailConnection, string>();
  #refused = 0;
  #cutOff = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: ConnectionLimitOptions) {
    this.#options = options;
    this.#monotonic = options.monotonic ?? (() => performance.now());
  }

  /** Accepts a connection, if necessary by closing another one, or rejects it. */
  add(connection: MailConnection): void {
    const { connectionsMax, peerConnectionsMax, onRefused } = this.#options;
    const peer = networkOf(connection.remoteAddress);
    const ofPeer = this.#peers.get(peer) ?? 0;
    const isAllowed = ofPeer < peerConnectionsMax;
    if (!isAllowed || (this.#connections.size >= connectionsMax && !this.#makeRoom())) {
      onRefused(connection);
      return this.#refuse(connection);
    }
    connection.progressAtMs = this.#monotonic();
    this.#connections.add(connection);
    this.#peers.set(peer, ofPeer + 1);
    this.#peerOf.set(connection, peer);
    this.#timer ??= setInterval(() => this.#closeStalled(), CHECK_EVERY_MS).unref();
  }

  /** The connection has sent a complete message. */
  progressed(connection: MailConnection): void {
    connection.progressAtMs = this.#monotonic();
    if (this.#connections.delete(connection)) this.#connections.add(connection);
  }

  remove(connection: MailConnection): void {
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

  counts(): ConnectionCounts {
    return { open: this.#connections.size, refused: this.#refused, cutOff: this.#cutOff };
  }

  /** Closes connections without a transaction. */
  closeIdle(words: string): void {
    for (const connection of this.#connections) {
      if (!connection.isInTransaction && !connection.isAnswering) this.#close(connection, words);
    }
  }

  #makeRoom(): boolean {
    const candidate = this.#findConnectionToClose();
    if (candidate === null) return false;
    if (candidate.isInTransaction) this.#options.onRefused(candidate);
    this.#cutOff += 1;
    this.#close(candidate, FULL);
    return true;
  }

  /**
   * Among the connections without progress for longest: idle ones first, then those of the network with the most
   * connections. Only a few are compared, because this runs for every connection while the port is full.
   */
  #findConnectionToClose(): MailConnection | null {
    let candidate: MailConnection | null = null;
    let mostOfPeer = -1;
    let lookedAt = 0;
    for (const connection of this.#connections) {
      if (connection.isAnswering) continue;
      lookedAt += 1;
      if (lookedAt > LOOKED_AT_MAX) break;
      const isMoreIdle = candidate !== null && candidate.isInTransaction && !connection.isInTransaction;
      const isLessIdle = candidate !== null && !candidate.isInTransaction && connection.isInTransaction;
      const ofPeer = this.#peers.get(this.#peerOf.get(connection) ?? "") ?? 0;
      if (isLessIdle || (!isMoreIdle && ofPeer <= mostOfPeer)) continue;
      candidate = connection;
      mostOfPeer = ofPeer;
    }
    return candidate;
  }

  #closeStalled(): void {
    const sinceMs = this.#monotonic() - this.#options.unproductiveMs;
    for (const connection of this.#connections) {
      if (connection.progressAtMs > sinceMs) break;
      if (!connection.isAnswering) this.#close(connection, TOO_LONG);
    }
  }

  #refuse(connection: MailConnection): void {
    this.#refused += 1;
    // The connection is not initialized yet; it is closed right after that.
    setImmediate(() => this.#close(connection, FULL));
  }

  /** Does not wait for the client to read: the socket is destroyed once the text had time to be sent. */
  #close(connection: MailConnection, words: string): void {
    this.remove(connection);
    connection.send(421, words, false);
    setTimeout(() => connection._socket.destroy(), CHECK_EVERY_MS).unref();
  }
}

export type MailServerOptions = {
  intake: SignalIntake;
  listen: ListenAddress;
  /** The domain of the addresses; mail for any other is rejected, except for the aliases. */
  domain: string;
  aliases?: readonly string[];
  /** PEM texts. Without them, STARTTLS is off. */
  certificate: { cert: string; key: string } | null;
  /** Every connection begins with the PROXY line of a load balancer, which contains the client address. */
  isBehindProxy: boolean;
  connectionsMax: number;
  peerConnectionsMax: number;
  peerMessagesPerMinute: number;
  keptBytes: number;
  keptBytesBeyond: number;
  log: Log;
  idleMs?: number;
  unproductiveMs?: number;
  answerWithinMs?: number;
  bytesHeldMax?: number;
  stopGraceMs?: number;
};

export type MailServer = {
  start(): Promise<void>;
  /** Accepts no new connections or messages; running ones are still answered. */
  stopAccepting(): void;
  /** Resolves when all connections are closed. */
  stop(): Promise<void>;
  address(): ListenAddress | null;
  problem(): string | null;
  counts(): { answers: Readonly<Record<MailOutcome, number>>; connections: ConnectionCounts };
};

const IDLE_MS = 5 * MINUTE_MS;
/** A message must be complete by then, however slowly its bytes arrive. */
const UNPRODUCTIVE_MS = 15 * MINUTE_MS;
const BYTES_HELD_MAX = 256 * 1024 * 1024;
const STOP_GRACE_MS = 5 * SECOND_MS;
const BACKLOG = 4_096;
/** For commands. A line of a message may be as long as the message: cron output is not wrapped. */
const COMMAND_BYTES_MAX = 2_048;
const SHUTTING_DOWN = "Server shutting down";
const ERROR_LOG_PAUSE_MS = 1_000;

/** Commands that have no use here, or whose default reply is a joke. */
const NO_COMMANDS = ["AUTH", "XCLIENT", "XFORWARD", "WIZ", "SHELL", "KILL"];

type Answer = (error?: Error | null) => void;

/** A server that does not listen yet. */
export function mailServer(options: MailServerOptions): MailServer {
  const { intake, log } = options;
  const receiver = new MailReceiver({
    ...options,
    budget: byteBudget(options.bytesHeldMax ?? BYTES_HELD_MAX),
  });
  const connectionLimit = new ConnectionLimit({
    connectionsMax: options.connectionsMax,
    peerConnectionsMax: options.peerConnectionsMax,
    unproductiveMs: options.unproductiveMs ?? UNPRODUCTIVE_MS,
    onRefused: ({ session, remoteAddress }) => noteRefused(intake, session, networkOf(remoteAddress)),
  });
  const connections = new Map<string, MailConnection>();
  const listener = new MailListener(
    listenerOptions(options, { receiver, connectionLimit, connections }),
    (connection) => {
      connections.set(connection.id, connection);
      connectionLimit.add(connection);
    },
  );
  listener.on("error", errorLog(log));
  let address: ListenAddress | null = null;
  let closing: Promise<void> | null = null;
  const close = () => {
    closing ??= new Promise((resolve) => listener.close(() => resolve()));
    connectionLimit.closeIdle(SHUTTING_DOWN);
    return closing;
  };
  return {
    start: async () => {
      address = await open(listener, options.listen);
      log.info({ address: formatListenAddress(address), domain: options.domain }, "receiving pings by email");
    },
    stopAccepting: () => void close(),
    stop: async () => (address === null ? undefined : close()),
    address: () => address,
    problem: () => (listener.server.listening ? null : "not receiving pings by email"),
    counts: () => ({ answers: receiver.counts(), connections: connectionLimit.counts() }),
  };
}

type Deps = {
  receiver: MailReceiver;
  connectionLimit: ConnectionLimit;
  connections: Map<string, MailConnection>;
};

function listenerOptions(options: MailServerOptions, deps: Deps): SMTPServerOptions {
  const { certificate, connectionsMax, isBehindProxy } = options;
  const domains = [options.domain, ...(options.aliases ?? [])].map(comparable);
  const isOf = (named: string) => named === options.domain || domains.includes(comparable(named));
  return {
    name: options.domain,
    // Only with the operator's own certificate: the library's private key is public.
    disabledCommands: certificate === null ? [...NO_COMMANDS, "STARTTLS"] : NO_COMMANDS,
    ...certificate,
    authOptional: true,
    disableReverseLookup: true,
    lenientAddressParsing: true,
    size: EMAIL_BYTES_MAX,
    rejectOversized: true,
    maxRecipients: EMAIL_RECIPIENTS_MAX,
    maxCommandLength: COMMAND_BYTES_MAX,
    socketTimeout: options.idleMs ?? IDLE_MS,
    closeTimeout: options.stopGraceMs ?? STOP_GRACE_MS,
    // Connections without a PROXY line so far do not count toward the connection limit.
    ...(isBehindProxy ? { useProxy: true, maxClients: 2 * connectionsMax } : {}),
    logger: false,
    onMailFrom: (_sender: SMTPServerAddress, session: SMTPServerSession, answer: Answer) =>
      answering(answer, () => deps.receiver.checkPeer(networkOf(session.remoteAddress))),
    onRcptTo: ({ address }: SMTPServerAddress, session: SMTPServerSession, answer: Answer) =>
      answering(answer, () => {
        const at = address.lastIndexOf("@");
        if (at === -1 || !isOf(address.slice(at + 1))) throw new MailAnswer(550, "5.1.1 Recipient rejected");
        const target = mailboxTarget(address.slice(0, at));
        if (target === null) throw new MailAnswer(550, "5.1.1 Invalid mailbox");
        deps.receiver.checkTarget(target, networkOf(session.remoteAddress));
      }),
    onData: (stream, session, answer) => void receiveData(deps, options, { stream, session, answer }),
    onClose: (session: SMTPServerSession) => {
      const connection = deps.connections.get(session.id);
      deps.connections.delete(session.id);
      if (connection !== undefined) deps.connectionLimit.remove(connection);
    },
  };
}

type Data = {
  stream: SMTPServerDataStream;
  session: SMTPServerSession;
  answer: (error?: Error | null, message?: string) => void;
};

async function receiveData(
  { receiver, connectionLimit, connections }: Deps,
  { intake, log }: MailServerOptions,
  { stream, session, answer }: Data,
): Promise<void> {
  const connection = connections.get(session.id);
  const network = networkOf(session.remoteAddress);
  // The connection of a message beyond the limit is closed.
  stream.on("data", () => {
    if (stream.byteLength > PING_READ_BYTES_MAX) connection?.send(421, "5.3.4 Message is too large", false);
  });
  const onWhole = () => {
    if (connection === undefined) return;
    connection.isAnswering = true;
    connectionLimit.progressed(connection);
  };
  try {
    await receiver.receive(stream, { session, network, onWhole });
    answer(null, "OK");
  } catch (error) {
    if (error instanceof MailAnswer) answer(error);
    else {
      noteRefused(intake, session, network);
      log.error({ err: error }, "could not receive an email");
      answer(new MailAnswer(451, "4.3.0 Temporarily unavailable, try again later"));
    }
  } finally {
    if (connection !== undefined) connection.isAnswering = false;
  }
}

/** Domains are case-insensitive, and internationalized names have two spellings. */
function comparable(domain: string): string {
  return domainToUnicode(domain.toLowerCase());
}

function answering(answer: Answer, check: () => void): void {
  try {
    check();
  } catch (error) {
    return answer(error instanceof Error ? error : new Error(String(error)));
  }
  answer();
}

function open(listener: MailListener, { host, port }: ListenAddress): Promise<ListenAddress> {
  return new Promise((resolve, reject) => {
    listener.server.once("error", reject);
    listener.listen({ host, port, backlog: BACKLOG }, () => {
      listener.server.removeListener("error", reject);
      // A server that listens on host and port has an AddressInfo; other types are for pipes.
      resolve({ host, port: (listener.server.address() as AddressInfo).port });
    });
  });
}

/** Broken connections are common; at most one line per second is logged. */
function errorLog(log: Log): (error: Error) => void {
  let lastMs = Number.NEGATIVE_INFINITY;
  return (error) => {
    const nowMs = performance.now();
    if (nowMs - lastMs < ERROR_LOG_PAUSE_MS) return;
    lastMs = nowMs;
    log.debug({ err: error }, "an SMTP connection failed");
  };
}
