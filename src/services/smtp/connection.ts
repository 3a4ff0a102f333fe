// One SMTP connection, as the library makes it, with the few answers and leniencies that are ours. It knows
// commands and addresses; what becomes of a message is decided elsewhere.
import type { Socket } from "node:net";
import { SMTPServer, type SMTPServerAddress, type SMTPServerOptions } from "smtp-server";
import { SMTPConnection, type SMTPConnectionOptions } from "smtp-server/lib/smtp-connection.js";

/** What jobs and the clients of the reference hear when all is well. */
const WELL = "OK";
const SAID_INSTEAD: ReadonlySet<unknown> = new Set(["Accepted", "Flushed"]);
const SENDER_LENGTH_MAX = 320;
/** A sender that no standard knows: without a domain, without angles, with blanks. Devices write all of these. */
const ODD_SENDER = /^mail from:\s*(?:<([^<>]*)>|([^\s<>]*))(?:\s+(.*))?$/i;
// eslint-disable-next-line no-control-regex -- they are what is looked for
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

export class MailConnection extends SMTPConnection {
  /** When it was opened, or last brought a whole message. */
  progressAtMs = performance.now();
  /** A message is whole, and its sender waits for our answer. */
  isAnswering = false;

  get isInTransaction(): boolean {
    return Boolean(this.session.envelope?.mailFrom);
  }

  override send(code: number, data?: string | string[] | null, context?: string | false): void {
    super.send(code, code === 250 && SAID_INSTEAD.has(data) ? WELL : data, context);
  }

  /** Who a message is from is only shown: it must not be lost because its sender has a strange name. */
  override _parseAddressCommand(name: string, command: string | Buffer): SMTPServerAddress | false {
    const parsed = super._parseAddressCommand(name, command);
    if (parsed !== false || name !== "mail from") return parsed;
    const [, inAngles, bare = ""] = ODD_SENDER.exec(command.toString()) ?? [];
    const address = (inAngles ?? bare).trim();
    if (address === "" || address.length > SENDER_LENGTH_MAX || CONTROL.test(address)) return false;
    return { address, args: false };
  }
}

/** The library's server with our connections. */
export class MailListener extends SMTPServer {
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
