// Sends mails to one SMTP server over a few connections that are kept open. Each mail has an end in time, the wait for
// a free connection included, and it is known of each whether it may have arrived.
import { PassThrough } from "node:stream";
import { createTransport, type SendMailOptions } from "nodemailer";
import type { Mail, MailResult, MailSender, UnsentMail } from "./mail.ts";
import { type SmtpError, troubleOf } from "./smtp-trouble.ts";

/** starttls and tls are encrypted or fail; opportunistic takes what it can get; none is for a relay next door. */
export type SmtpSecurity = "starttls" | "tls" | "opportunistic" | "none";

export type MailSenderOptions = {
  host: string;
  port: number;
  security: SmtpSecurity;
  user: string | null;
  password: string | null;
  /** How we greet the server; without it, the name of this machine. */
  clientName?: string;
  /** What stands in From. */
  from: string;
  /** Mails that are sent at the same time, each over its own connection. */
  connectionsMax: number;
  /** For one mail, with the wait for its turn. */
  timeoutMs: number;
  /** Certificates to trust instead of the well-known ones. */
  ca?: string;
};

/** A connection is renewed after so many mails, and closed when it was idle for so long. */
const MAILS_PER_CONNECTION = 100;
const IDLE_MS = 30_000;
/** How long a closing sender waits for what has begun. */
const CLOSE_MS = 5_000;
/** Some servers look the caller up before they greet; the rest of the time is for the mail itself. */
const CONNECT_SHARE = 0.5;

/** So that no answering machine writes back. */
const MACHINE_WRITTEN = { "Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All" };

type Transport = ReturnType<typeof openTransport>;
/** Set when all of a mail has been given to the connection: from then on it may have arrived. */
type HandedOver = { isWhole: boolean };

/** Opens nothing: the first mail is the first connection. */
export function openMailSender(options: MailSenderOptions): MailSender {
  const turns = new Turns(options.connectionsMax);
  let transport = openTransport(options);
  let isClosed = false;
  const secrets = options.password === null ? [] : [options.password];

  const sendNow = async (mail: Mail, leftMs: number): Promise<MailResult> => {
    const used = transport;
    const handedOver: HandedOver = { isWhole: false };
    const outcome = await orLate(hand(used, { mail, handedOver, options }), leftMs);
    if (outcome !== "late") return read(outcome, { handedOver, secrets });
    // Some connection hangs, however alive it looks: all are given up, rather than one lost for ever.
    if (transport === used && !isClosed) transport = openTransport(options);
    used.close({ force: true });
    return late(handedOver.isWhole);
  };

  return {
    send: async (mail) => {
      const endsAtMs = performance.now() + options.timeoutMs;
      if (!(await turns.take(options.timeoutMs)))
        return unsent("All connections to the mail server are in use");
      try {
        if (isClosed) return unsent("Overdue is shutting down");
        return await sendNow(mail, endsAtMs - performance.now());
      } finally {
        turns.giveBack();
      }
    },
    trouble: async () => {
      const outcome = await orLate(asked(transport), options.timeoutMs);
      if (outcome === "late") return late(false).reason;
      return outcome === null ? null : troubleOf(outcome, { isHandedOver: false, secrets }).reason;
    },
    close: async () => {
      isClosed = true;
      await orLate(turns.allBack(), CLOSE_MS);
      transport.close({ force: true });
    },
  };
}

function openTransport(options: MailSenderOptions) {
  const { host, port, security, user, password, timeoutMs } = options;
  const connectMs = Math.ceil(timeoutMs * CONNECT_SHARE);
  const transport = createTransport({
    pool: true,
    host,
    port,
    secure: security === "tls",
    requireTLS: security === "starttls",
    ignoreTLS: security === "none",
    opportunisticTLS: security === "opportunistic",
    ...(user !== null && { auth: { user, pass: password ?? "" } }),
    ...(options.clientName !== undefined && { name: options.clientName }),
    tls: {
      ...(options.ca !== undefined && { ca: options.ca }),
      rejectUnauthorized: security !== "opportunistic",
    },
    maxConnections: options.connectionsMax,
    maxMessages: MAILS_PER_CONNECTION,
    // A connection that was closed while it was idle is the only thing that is tried again here.
    maxRequeues: 1,
    idleTimeout: IDLE_MS,
    connectionTimeout: connectMs,
    greetingTimeout: connectMs,
    dnsTimeout: connectMs,
    socketTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
    logger: false,
  });
  transport.use("stream", (mail, done) => {
    const handedOver: unknown = Reflect.get(mail.data, "handedOver");
    mail.message.transform(() => watched(handedOver));
    done();
  });
  return transport;
}

/** Passes everything on, and notes when it was all. */
function watched(handedOver: unknown): PassThrough {
  return new PassThrough({
    flush: (done) => {
      if (isHandedOver(handedOver)) handedOver.isWhole = true;
      done();
    },
  });
}

function isHandedOver(value: unknown): value is HandedOver {
  return typeof value === "object" && value !== null && "isWhole" in value;
}

type Outcome = { info: { response: string } } | { error: SmtpError };

async function hand(
  transport: Transport,
  { mail, handedOver, options }: { mail: Mail; handedOver: HandedOver; options: MailSenderOptions },
): Promise<Outcome> {
  const { to, subject, text, html, messageId, references = [], headers = {}, returnPath } = mail;
  const answered = references.at(-1);
  const given: SendMailOptions & { handedOver: HandedOver } = {
    from: options.from,
    // As an object, so that nothing in it is taken for a second address.
    to: { name: "", address: to },
    ...(returnPath !== undefined && { envelope: { from: returnPath, to } }),
    subject,
    text,
    html,
    messageId,
    ...(answered !== undefined && { inReplyTo: answered, references: [...references] }),
    headers: { ...MACHINE_WRITTEN, ...headers },
    handedOver,
  };
  try {
    return { info: await transport.sendMail(given) };
  } catch (error) {
    return { error: error instanceof Error ? error : {} };
  }
}

function read(
  outcome: Outcome,
  { handedOver, secrets }: { handedOver: HandedOver; secrets: readonly string[] },
): MailResult {
  if ("error" in outcome) return troubleOf(outcome.error, { isHandedOver: handedOver.isWhole, secrets });
  const { response } = outcome.info;
  const digits = /^\d{3}/.exec(response)?.[0];
  return { kind: "sent", code: digits === undefined ? null : Number(digits), response };
}

function unsent(reason: string): UnsentMail {
  return { kind: "failed", permanent: false, reason, code: null, response: null, inDoubt: false };
}

function late(inDoubt: boolean): UnsentMail {
  return { ...unsent("The mail server did not respond in time"), inDoubt };
}

async function asked(transport: Transport): Promise<SmtpError | null> {
  try {
    await transport.verify();
    return null;
  } catch (error) {
    return error instanceof Error ? error : {};
  }
}

/** What comes of it, unless it takes longer; it is then left to its fate. */
async function orLate<T>(work: Promise<T>, ms: number): Promise<T | "late"> {
  const { promise: over, resolve } = Promise.withResolvers<"late">();
  const timer = setTimeout(() => resolve("late"), Math.max(0, ms));
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}

/** So many may do something at once; the others wait in line, each for as long as it can. */
class Turns {
  #free: number;
  readonly #size: number;
  readonly #waiting = new Set<() => void>();
  #onAllBack: (() => void) | null = null;

  constructor(size: number) {
    this.#free = size;
    this.#size = size;
  }

  /** False when the wait was in vain. */
  take(waitMs: number): Promise<boolean> {
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve(true);
    }
    return new Promise((resolve) => {
      const called = () => {
        clearTimeout(timer);
        resolve(true);
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(called);
        resolve(false);
      }, waitMs);
      this.#waiting.add(called);
    });
  }

  giveBack(): void {
    for (const next of this.#waiting) {
      this.#waiting.delete(next);
      return next();
    }
    this.#free += 1;
    if (this.#free === this.#size) this.#onAllBack?.();
  }

  /** When nobody has a turn any more. */
  allBack(): Promise<void> {
    if (this.#free === this.#size) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onAllBack = resolve;
    });
  }
}
