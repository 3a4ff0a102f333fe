import { PassThrough } from "node:stream";
import { createTransport, type SendMailOptions } from "nodemailer";
import { MASK } from "./setting-value.ts";

// Sends emails to an SMTP server over a few persistent connections, with a time limit each, and classifies
// errors, including whether the email may have arrived.

/** One complete email to one address; only the date and the sender address are added. */
export type Mail = {
  to: string;
  subject: string;
  text: string;
  html: string;
  /** With its angle brackets. The same email sent again has the same ID. */
  messageId: string;
  /** The emails that this one refers to, oldest first. */
  references?: readonly string[];
  headers?: Readonly<Record<string, string>>;
  /** Where bounces go; without it, to the sender. */
  returnPath?: string;
};

export type MailResult = SentMail | UnsentMail;

export type SentMail = { kind: "sent"; code: number | null; response: string };

export type UnsentMail = {
  kind: "failed";
  /** The server permanently rejects this address. All other errors may be temporary. */
  permanent: boolean;
  /** A sentence for users. */
  reason: string;
  /** The response of the server; null if there was none. */
  code: number | null;
  response: string | null;
  /** Whether the server may have accepted it anyway. */
  inDoubt: boolean;
};

/** Sends emails, a limited number at a time. */
export type MailSender = {
  /** Never throws: errors are results. */
  send(mail: Mail): Promise<MailResult>;
  /** Checks whether the server accepts emails; null if it does, otherwise the problem. */
  problem(): Promise<string | null>;
  /** No more emails are sent; running ones get a short time to finish. */
  close(): Promise<void>;
};

/**
 * starttls and tls require encryption; opportunistic uses it if available; none is for a relay on the same machine.
 */
export type SmtpSecurity = "starttls" | "tls" | "opportunistic" | "none";

export type MailSenderOptions = {
  host: string;
  port: number;
  security: SmtpSecurity;
  user: string | null;
  password: string | null;
  /** The name in the SMTP greeting; without it, the name of this machine. */
  clientName?: string;
  /** The From header. */
  from: string;
  /** Concurrent emails, each over its own connection. */
  connectionsMax: number;
  /** For one email, including the wait for a connection. */
  timeoutMs: number;
  /** Certificates to trust instead of the well-known ones. */
  ca?: string;
};

/** A connection is renewed after this many emails, and closed after this idle time. */
const MAILS_PER_CONNECTION = 100;
const IDLE_MS = 30_000;
/** How long a closing sender waits for running operations. */
const CLOSE_MS = 5_000;
/** Some servers look up the client before they greet; the rest of the time is for the email itself. */
const CONNECT_SHARE = 0.5;

/** Prevents automatic replies. */
const MACHINE_WRITTEN = { "Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All" };

type Transport = ReturnType<typeof openTransport>;
/** Set when the entire email has been written to the connection: from then on it may have arrived. */
type HandedOver = { isWhole: boolean };

/** Opens nothing: the first email opens the first connection. */
export function openMailSender(options: MailSenderOptions): MailSender {
  const turns = new SendSlots(options.connectionsMax);
  let transport = openTransport(options);
  let isClosed = false;
  const secrets = options.password === null ? [] : [options.password];

  const sendNow = async (mail: Mail, leftMs: number): Promise<MailResult> => {
    const used = transport;
    const handedOver: HandedOver = { isWhole: false };
    const outcome = await orLate(hand(used, { mail, handedOver, options }), leftMs);
    if (outcome !== "late") return read(outcome, { handedOver, secrets });
    // Some connection hangs: all are closed, because a single one cannot be.
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
    problem: async () => {
      const outcome = await orLate(asked(transport), options.timeoutMs);
      if (outcome === "late") return late(false).reason;
      return outcome === null ? null : smtpFailureOf(outcome, { isHandedOver: false, secrets }).reason;
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
    // Only a connection that was closed while idle is retried here.
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

/** Passes everything through, and records the end. */
function watched(handedOver: unknown): PassThrough {
  return new PassThrough({
    flush: (done) => {
      if (isHandedOverMark(handedOver)) handedOver.isWhole = true;
      done();
    },
  });
}

function isHandedOverMark(value: unknown): value is HandedOver {
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
    // As an object, so that nothing in it is parsed as a second address.
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
  if ("error" in outcome) return smtpFailureOf(outcome.error, { isHandedOver: handedOver.isWhole, secrets });
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

/** The result, unless it takes longer; the operation itself is not canceled. */
async function orLate<T>(work: Promise<T>, ms: number): Promise<T | "late"> {
  const { promise: over, resolve } = Promise.withResolvers<"late">();
  const timer = setTimeout(() => resolve("late"), Math.max(0, ms));
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}

/** Limits concurrency; waiting callers have a time limit. */
class SendSlots {
  #free: number;
  readonly #size: number;
  readonly #waiting = new Set<() => void>();
  #onAllBack: (() => void) | null = null;

  constructor(size: number) {
    this.#free = size;
    this.#size = size;
  }

  /** False if the wait timed out. */
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

  /** Resolves when no operation is running. */
  allBack(): Promise<void> {
    if (this.#free === this.#size) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onAllBack = resolve;
    });
  }
}

/** The errors of the mail library, as far as they are used. */
export type SmtpError = {
  code?: unknown;
  originalCode?: unknown;
  command?: unknown;
  response?: unknown;
  responseCode?: unknown;
  message?: unknown;
};

/** Maximum length of a shown response. */
const RESPONSE_LENGTH_MAX = 300;

/** Class, subject and detail of an enhanced status code, which most servers send after the three digits. */
const ENHANCED = /^\d{3}[ -](?<class>[245])\.(?<subject>\d{1,3})\.(?<detail>\d{1,3})\b/;

/** Interprets an error. `isHandedOver`: the entire email had been given to the server. */
export function smtpFailureOf(
  error: SmtpError,
  { isHandedOver, secrets }: { isHandedOver: boolean; secrets: readonly string[] },
): UnsentMail {
  const response = typeof error.response === "string" ? cleaned(error.response, secrets) : null;
  const code = typeof error.responseCode === "number" ? error.responseCode : null;
  return {
    kind: "failed",
    permanent: error.command === "RCPT TO" && code !== null && isForGood(code, response ?? ""),
    reason: reasonOf(error, { code, response }),
    code,
    response,
    inDoubt: code === null && isHandedOver,
  };
}

/**
 * Whether a rejected recipient is permanent. A rejection of us (relaying, blocked, not authenticated) and a full
 * mailbox are not: treating them as such would disable every address at once.
 */
function isForGood(code: number, response: string): boolean {
  if (code < 550 || code > 559 || code === 552) return false;
  const { class: digit, subject, detail } = ENHANCED.exec(response)?.groups ?? {};
  if (digit === undefined) return !/\brelay/i.test(response);
  if (digit !== "5") return false;
  if (subject === "2") return detail !== "2";
  return subject === "0" || subject === "1" || subject === "5" || subject === "6";
}

function reasonOf(
  error: SmtpError,
  { code, response }: { code: number | null; response: string | null },
): string {
  const said = response === null ? "" : `: ${response}`;
  if (error.code === "EAUTH" || error.code === "ENOAUTH") return `The mail server rejected the login${said}`;
  // Also with a response: a server without STARTTLS rejects that command.
  if (error.code === "ETLS")
    return `Could not establish a trusted encrypted connection to the mail server${said}`;
  if (code !== null) {
    if (error.command === "RCPT TO") return `The mail server rejected the recipient address${said}`;
    return `The mail server rejected the email${said}`;
  }
  switch (error.code) {
    case "EDNS":
      return "Could not resolve the host name of the mail server";
    case "ETIMEDOUT":
      return "The mail server did not respond in time";
    case "ECONNECTION":
      return "The mail server closed the connection";
    case "EENVELOPE":
      return "The email address is invalid";
    case "ESOCKET":
      return socketReason(error.originalCode);
    default:
      return "The email could not be sent";
  }
}

function socketReason(code: unknown): string {
  if (code === "ECONNREFUSED") return "The mail server refused the connection";
  if (typeof code !== "string") return "The connection to the mail server failed";
  // Codes of the handshake may contain CERTIFICATE: then the server rejects ours.
  const isHandshake = /^ERR_SSL_|^EPROTO$/.test(code);
  if (!isHandshake && /CERT|SELF_SIGNED|UNABLE_TO/.test(code)) {
    return `The mail server's certificate is not trusted (${code})`;
  }
  if (isHandshake || /TLS|SSL/.test(code)) return `The TLS handshake with the mail server failed (${code})`;
  return "The connection to the mail server failed";
}

function cleaned(response: string, secrets: readonly string[]): string {
  let text = response.replace(/\s+/g, " ").trim();
  for (const secret of secrets) {
    if (secret === "") continue;
    for (const form of [secret, Buffer.from(secret).toString("base64")]) text = text.replaceAll(form, MASK);
  }
  return text.slice(0, RESPONSE_LENGTH_MAX);
}
