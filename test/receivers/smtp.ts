// A real SMTP server on loopback that keeps received emails, and can reject, be slow, or disconnect at any point.
// With TLS it uses a certificate created for the run.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import PostalMime, { type Email } from "postal-mime";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";

export type ReceivedMail = {
  from: string;
  to: string[];
  /** As received. */
  raw: string;
  mail: Email;
  /** The first header with that name, unfolded; null if there is none. */
  header(name: string): string | null;
};

export type SmtpBehaviour = {
  /** A reply such as "550 5.1.1 No such user" to the named command. Null: accepted. */
  onMailFrom?: string | null;
  onRcptTo?: (address: string) => string | null;
  /** After the whole email was received. */
  onData?: string | null;
  /** Disconnects: before the greeting, at RCPT, or after the whole email was received. */
  hangUp?: "greeting" | "rcpt" | "data" | null;
  /** Delay before the greeting and before the reply to an email. */
  greetingMs?: number;
  dataMs?: number;
};

export type SmtpOptions = {
  security?: "none" | "starttls" | "tls";
  login?: { user: string; password: string };
};

export type SmtpReceiver = {
  port: number;
  /** Accepted emails in order. */
  received: ReceivedMail[];
  /** Certificate to trust; empty without TLS. */
  ca: string;
  /** Total number of connections, and the maximum at the same time. */
  connections: { total: number; most: number };
  behave(behaviour: SmtpBehaviour): void;
  close(): Promise<void>;
};

type State = Pick<SmtpReceiver, "received" | "connections"> & { behaviour: SmtpBehaviour; open: number };

/** Starts a server; the caller closes it. */
export async function startSmtp({ security = "none", login }: SmtpOptions = {}): Promise<SmtpReceiver> {
  const identity = security === "none" ? null : certificate();
  const state: State = { received: [], connections: { total: 0, most: 0 }, behaviour: {}, open: 0 };
  const withoutTls = security === "starttls" ? [] : ["STARTTLS"];
  const server: SMTPServer = new SMTPServer({
    secure: security === "tls",
    ...(identity !== null && { key: identity.key, cert: identity.cert }),
    disabledCommands: [...withoutTls, ...(login === undefined ? ["AUTH"] : [])],
    authOptional: login === undefined,
    disableReverseLookup: true,
    logger: false,
    onAuth: ({ username, password }, _session, done) => {
      if (username === login?.user && password === login?.password) done(null, { user: username });
      else done(refusal("535 5.7.8 Authentication failed"));
    },
    ...conversation(state, (id) => cut(server, id)),
  });
  // Clients that disconnect cause errors here; tests do so on purpose.
  server.on("error", () => {});
  const port = await new Promise<number>((resolve) => {
    const listening = server.listen(0, "127.0.0.1", () => {
      const address = listening.address();
      resolve(typeof address === "object" && address !== null ? address.port : 0);
    });
  });
  return {
    port,
    received: state.received,
    ca: identity?.cert ?? "",
    connections: state.connections,
    behave: (next) => {
      state.behaviour = next;
    },
    close: () => {
      for (const { id } of connectionsOf(server)) cut(server, id);
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

type Conversation = Pick<SMTPServerOptions, "onConnect" | "onClose" | "onMailFrom" | "onRcptTo" | "onData">;

/** The reply at each point, as currently set by the test. */
function conversation(state: State, hangUp: (id: string) => void): Conversation {
  return {
    onConnect: (session, done) => {
      state.connections.total += 1;
      state.open += 1;
      state.connections.most = Math.max(state.connections.most, state.open);
      if (state.behaviour.hangUp === "greeting") return hangUp(session.id);
      setTimeout(() => done(), state.behaviour.greetingMs ?? 0);
    },
    onClose: () => {
      state.open -= 1;
    },
    onMailFrom: (_address, _session, done) => done(given(state.behaviour.onMailFrom)),
    onRcptTo: ({ address }, session, done) => {
      if (state.behaviour.hangUp === "rcpt") return hangUp(session.id);
      done(given(state.behaviour.onRcptTo?.(address)));
    },
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        if (state.behaviour.hangUp === "data") return hangUp(session.id);
        const { onData: answer, dataMs = 0 } = state.behaviour;
        const keep = async () => {
          const mail = await take(Buffer.concat(chunks), session.envelope);
          await sleep(dataMs);
          if (typeof answer !== "string") state.received.push(mail);
          done(given(answer));
        };
        void keep();
      });
    },
  };
}

type Envelope = { mailFrom: { address: string } | false; rcptTo: { address: string }[] };

async function take(raw: Buffer, { mailFrom, rcptTo }: Envelope): Promise<ReceivedMail> {
  const mail = await PostalMime.parse(raw);
  return {
    from: mailFrom === false ? "" : mailFrom.address,
    to: rcptTo.map(({ address }) => address),
    raw: raw.toString("latin1"),
    mail,
    header: (name) => mail.headers.find(({ key }) => key === name.toLowerCase())?.value ?? null,
  };
}

function given(answer: string | null | undefined): Error | null {
  return typeof answer === "string" ? refusal(answer) : null;
}

function refusal(answer: string): Error {
  const [, code = "", text = ""] = /^(\d{3}) (.*)$/.exec(answer) ?? [];
  return Object.assign(new Error(text), { responseCode: Number(code) });
}

/** Where the server keeps the socket of a connection. */
const SOCKET = "_socket";
type Connection = { id: string; [SOCKET]: { destroy(): void } };

function connectionsOf(server: SMTPServer): Connection[] {
  return [...(server.connections as unknown as Set<Connection>)];
}

function cut(server: SMTPServer, id: string): void {
  connectionsOf(server)
    .find((connection) => connection.id === id)
    ?.[SOCKET].destroy();
}

/** A self-signed certificate for 127.0.0.1, valid for an hour. */
function certificate(): { key: string; cert: string } {
  const folder = mkdtempSync(join(tmpdir(), "overdue-smtp-"));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  try {
    const request = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    const subject = ["-days", "1", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
    execFileSync("openssl", [...request, "-keyout", key, "-out", cert, ...subject], { stdio: "ignore" });
    return { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
