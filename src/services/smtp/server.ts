// The port at which signals arrive by mail: who may say what, within which limits, and how it opens and closes.
// Decoding and recording are in receive.ts.
import type { AddressInfo } from "node:net";
import { domainToUnicode } from "node:url";
import type {
  SMTPServerAddress,
  SMTPServerDataStream,
  SMTPServerOptions,
  SMTPServerSession,
} from "smtp-server";
import { MINUTE_MS, SECOND_MS } from "../../core/instant.ts";
import { EMAIL_BYTES_MAX, EMAIL_RECIPIENTS_MAX, PING_READ_BYTES_MAX } from "../../core/limits.ts";
import { mailboxTarget } from "../../core/request/mailbox.ts";
import type { SignalIntake } from "../../intake/intake.ts";
import { formatListenAddress, type ListenAddress } from "../../lib/address.ts";
import { byteBudget } from "../../lib/http/body.ts";
import { networkOf } from "../../lib/http/client-address.ts";
import type { Log } from "../../lib/log.ts";
import { type MailConnection, MailListener } from "./connection.ts";
import { Crowd, type CrowdCounts } from "./crowd.ts";
import { MailAnswer, type MailOutcome, MailReceiver, noteRefused } from "./receive.ts";

export type MailServerOptions = {
  intake: SignalIntake;
  listen: ListenAddress;
  /** The domain of the addresses; mail for any other is refused. */
  domain: string;
  /** PEM texts. Without them there is no STARTTLS. */
  certificate: { cert: string; key: string } | null;
  /** Every connection begins with the PROXY line of a balancer, which says who it is from. */
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
  /** Takes no new connections and no new messages; what has begun is still answered. */
  stopAccepting(): void;
  /** Resolves when nobody is connected any more. */
  stop(): Promise<void>;
  address(): ListenAddress | null;
  trouble(): string | null;
  counts(): { answers: Readonly<Record<MailOutcome, number>>; connections: CrowdCounts };
};

const IDLE_MS = 5 * MINUTE_MS;
/** A message, or the next one, has to be whole by then, however steadily its bytes drip. */
const UNPRODUCTIVE_MS = 15 * MINUTE_MS;
const BYTES_HELD_MAX = 256 * 1024 * 1024;
const STOP_GRACE_MS = 5 * SECOND_MS;
const BACKLOG = 4_096;
/** Of commands. A line of a message may be as long as the message: what cron mails is not wrapped. */
const COMMAND_BYTES_MAX = 2_048;
const SHUTTING_DOWN = "Server shutting down";
const ERROR_LOG_PAUSE_MS = 1_000;

/** Commands that have no use here, or would be answered with a joke. */
const NO_COMMANDS = ["AUTH", "XCLIENT", "XFORWARD", "WIZ", "SHELL", "KILL"];

type Answer = (error?: Error | null) => void;

/** A server that does not listen yet. */
export function mailServer(options: MailServerOptions): MailServer {
  const { intake, log } = options;
  const receiver = new MailReceiver({
    ...options,
    budget: byteBudget(options.bytesHeldMax ?? BYTES_HELD_MAX),
  });
  const crowd = new Crowd({
    connectionsMax: options.connectionsMax,
    peerConnectionsMax: options.peerConnectionsMax,
    unproductiveMs: options.unproductiveMs ?? UNPRODUCTIVE_MS,
    onRefused: ({ session, remoteAddress }) => noteRefused(intake, session, networkOf(remoteAddress)),
  });
  const connections = new Map<string, MailConnection>();
  const listener = new MailListener(
    listenerOptions(options, { receiver, crowd, connections }),
    (connection) => {
      connections.set(connection.id, connection);
      crowd.enter(connection);
    },
  );
  listener.on("error", errorLog(log));
  let address: ListenAddress | null = null;
  let closing: Promise<void> | null = null;
  const close = () => {
    closing ??= new Promise((resolve) => listener.close(() => resolve()));
    crowd.closeIdle(SHUTTING_DOWN);
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
    trouble: () => (listener.server.listening ? null : "not receiving pings by email"),
    counts: () => ({ answers: receiver.counts(), connections: crowd.counts() }),
  };
}

type Parts = { receiver: MailReceiver; crowd: Crowd; connections: Map<string, MailConnection> };

function listenerOptions(options: MailServerOptions, parts: Parts): SMTPServerOptions {
  const { certificate, connectionsMax, isBehindProxy } = options;
  const domain = comparable(options.domain);
  const isOf = (named: string) => named === options.domain || comparable(named) === domain;
  return {
    name: options.domain,
    // Without a certificate of the operator's own: the library's is known to everybody.
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
    // Those that have not said yet who they are from are not in the crowd.
    ...(isBehindProxy ? { useProxy: true, maxClients: 2 * connectionsMax } : {}),
    logger: false,
    onMailFrom: (_sender: SMTPServerAddress, session: SMTPServerSession, answer: Answer) =>
      answering(answer, () => parts.receiver.checkPeer(networkOf(session.remoteAddress))),
    onRcptTo: ({ address }: SMTPServerAddress, session: SMTPServerSession, answer: Answer) =>
      answering(answer, () => {
        const at = address.lastIndexOf("@");
        if (at === -1 || !isOf(address.slice(at + 1))) throw new MailAnswer(550, "5.1.1 Recipient rejected");
        const target = mailboxTarget(address.slice(0, at));
        if (target === null) throw new MailAnswer(550, "5.1.1 Invalid mailbox");
        parts.receiver.checkTarget(target, networkOf(session.remoteAddress));
      }),
    onData: (stream, session, answer) => void receiveData(parts, options, { stream, session, answer }),
    onClose: (session: SMTPServerSession) => {
      const connection = parts.connections.get(session.id);
      parts.connections.delete(session.id);
      if (connection !== undefined) parts.crowd.leave(connection);
    },
  };
}

type Data = {
  stream: SMTPServerDataStream;
  session: SMTPServerSession;
  answer: (error?: Error | null, message?: string) => void;
};

async function receiveData(
  { receiver, crowd, connections }: Parts,
  { intake, log }: MailServerOptions,
  { stream, session, answer }: Data,
): Promise<void> {
  const connection = connections.get(session.id);
  const network = networkOf(session.remoteAddress);
  // Somebody who sends without end is heard no further.
  stream.on("data", () => {
    if (stream.byteLength > PING_READ_BYTES_MAX) connection?.send(421, "5.3.4 Message is too large", false);
  });
  const onWhole = () => {
    if (connection === undefined) return;
    connection.isAnswering = true;
    crowd.progressed(connection);
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

/** Letter case does not count in domains, and names of other scripts have two spellings. */
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
      // A server that listens on host and port has an AddressInfo; the other kinds are for pipes.
      resolve({ host, port: (listener.server.address() as AddressInfo).port });
    });
  });
}

/** Connections that break are everyday; a line a second says that there are some. */
function errorLog(log: Log): (error: Error) => void {
  let lastMs = Number.NEGATIVE_INFINITY;
  return (error) => {
    const nowMs = performance.now();
    if (nowMs - lastMs < ERROR_LOG_PAUSE_MS) return;
    lastMs = nowMs;
    log.debug({ err: error }, "an SMTP connection failed");
  };
}
