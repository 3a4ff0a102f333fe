// PostgreSQL's wire protocol, as far as a proxy needs it: where a message begins and ends, and which ones begin, fill
// and end a transaction that records signals.

/** One complete message. `type` is empty for the first packets of a client, which have none. */
export type WireMessage = { type: string; bytes: Buffer };

const TYPE_BYTES = 1;
const LENGTH_BYTES = 4;
const SSL_REQUEST = 80_877_103;
const GSS_REQUEST = 80_877_104;

/** Splits a byte stream into messages; incomplete ones wait for the rest. */
export class WireReader {
  #rest: Buffer = Buffer.alloc(0);
  #isTyped: boolean;

  constructor({ from }: { from: "client" | "server" }) {
    this.#isTyped = from === "server";
  }

  read(chunk: Buffer): WireMessage[] {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const messages: WireMessage[] = [];
    for (;;) {
      const headBytes = (this.#isTyped ? TYPE_BYTES : 0) + LENGTH_BYTES;
      if (this.#rest.length < headBytes) return messages;
      const end = headBytes - LENGTH_BYTES + this.#rest.readUInt32BE(headBytes - LENGTH_BYTES);
      if (this.#rest.length < end) return messages;
      const bytes = this.#rest.subarray(0, end);
      messages.push({ type: this.#isTyped ? String.fromCharCode(bytes[0] ?? 0) : "", bytes });
      if (!this.#isTyped) this.#isTyped = !asksForEncryption(bytes);
      this.#rest = this.#rest.subarray(end);
    }
  }
}

/** After such a request the real first packet follows. */
function asksForEncryption(bytes: Buffer): boolean {
  const code = bytes.length >= 8 ? bytes.readUInt32BE(4) : 0;
  return code === SSL_REQUEST || code === GSS_REQUEST;
}

/** Statements are named after their table, and prepared ones are executed by that name. */
const WRITES_LOG = /\bpings\.insert|insert into pings\b/;

/** Whether the client's message writes to the ping log. */
export function writesLog({ type, bytes }: WireMessage): boolean {
  return (type === "P" || type === "B" || type === "Q") && WRITES_LOG.test(textIn(bytes));
}

/** Whether the client's message ends a transaction. */
export function asksForCommit({ type, bytes }: WireMessage): boolean {
  return (type === "Q" || type === "P") && /^commit\b/i.test(statementIn(type, bytes));
}

/** Whether the server's message confirms a commit. */
export function confirmsCommit({ type, bytes }: WireMessage): boolean {
  return type === "C" && bytes.toString("latin1", TYPE_BYTES + LENGTH_BYTES, bytes.length - 1) === "COMMIT";
}

/** Whether the server's message says that no transaction is running. */
export function isAtRest({ type, bytes }: WireMessage): boolean {
  return type === "Z" && bytes.toString("latin1", TYPE_BYTES + LENGTH_BYTES) === "I";
}

/** Names and statements come first; the parameters behind them are not parsed. */
const LOOKED_AT_BYTES = 2_000;

function textIn(bytes: Buffer): string {
  return bytes.toString("latin1", TYPE_BYTES + LENGTH_BYTES, LOOKED_AT_BYTES);
}

function statementIn(type: string, bytes: Buffer): string {
  const text = textIn(bytes);
  // A prepared statement begins with its name.
  return type === "P" ? text.slice(text.indexOf("\0") + 1) : text;
}
