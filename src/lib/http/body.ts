// Reads the body of a request: the first bytes are kept, the rest is read and discarded, so that a client that sends
// too much still gets a response. Content types and encodings are ignored.
import type { IncomingMessage } from "node:http";

export type BodyLimits = {
  keepBytes: number;
  /** Maximum number of bytes read; the rest of a longer body is not waited for. */
  readBytesMax: number;
  budget: ByteBudget;
};

export type ReadBody =
  /** The request is complete. An empty body counts as none. */
  | { kind: "whole"; body: Uint8Array | null }
  /** The body is longer than the read limit; the kept part is final. */
  | { kind: "endless"; body: Uint8Array | null }
  /** The client disconnected before the end: there was no request. */
  | { kind: "broken" }
  /** All bodies together exceed the memory limit. */
  | { kind: "overflow" };

/** Total number of bytes that all bodies together may use. */
export type ByteBudget = {
  /** False, without taking anything, if the limit would be exceeded. */
  take(bytes: number): boolean;
  giveBack(bytes: number): void;
};

export function byteBudget(bytesMax: number): ByteBudget {
  let held = 0;
  return {
    take: (bytes) => {
      if (held + bytes > bytesMax) return false;
      held += bytes;
      return true;
    },
    giveBack: (bytes) => {
      held -= bytes;
    },
  };
}

/** Whether a body follows the headers; a request without a body needs no reading. */
export function announcesBody({ headers }: IncomingMessage): boolean {
  const length = headers["content-length"];
  return (length !== undefined && length !== "0") || headers["transfer-encoding"] !== undefined;
}

/** Reads to the end or to the limit, and then calls `done` once. */
export function readBody(request: IncomingMessage, limits: BodyLimits, done: (read: ReadBody) => void): void {
  const kept = new KeptBytes(limits);
  let readBytes = 0;
  const settle = (kind: ReadBody["kind"]) => {
    request.off("data", take).off("end", end).off("close", broken);
    const body = kept.finish();
    done(kind === "whole" || kind === "endless" ? { kind, body } : { kind });
  };
  const take = (chunk: Buffer) => {
    readBytes += chunk.length;
    if (!kept.add(chunk)) settle("overflow");
    else if (readBytes > limits.readBytesMax) settle("endless");
  };
  const end = () => settle("whole");
  const broken = () => settle("broken");
  request.on("data", take).on("end", end).on("close", broken);
}

/** Grows by doubling: a body in a thousand pieces costs no more memory than one in a single piece. */
class KeptBytes {
  readonly #limits: BodyLimits;
  #buffer: Uint8Array | null = null;
  #used = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  /** False if the budget does not allow it. */
  add(chunk: Buffer): boolean {
    const room = this.#limits.keepBytes - this.#used;
    if (room <= 0) return true;
    const part = chunk.length <= room ? chunk : new Uint8Array(chunk.subarray(0, room));
    if (this.#buffer === null) {
      if (!this.#limits.budget.take(part.length)) return false;
      this.#buffer = part;
    } else {
      if (!this.#makeRoomFor(part.length)) return false;
      this.#buffer.set(part, this.#used);
    }
    this.#used += part.length;
    return true;
  }

  /** The kept bytes, or null for none; returns the memory to the budget. */
  finish(): Uint8Array | null {
    const buffer = this.#buffer;
    if (buffer === null) return null;
    this.#limits.budget.giveBack(buffer.length);
    return this.#used === buffer.length ? buffer : buffer.slice(0, this.#used);
  }

  #makeRoomFor(bytes: number): boolean {
    const buffer = this.#buffer ?? new Uint8Array();
    const needed = this.#used + bytes;
    if (needed <= buffer.length) return true;
    const capacity = Math.min(this.#limits.keepBytes, Math.max(needed, 2 * buffer.length));
    if (!this.#limits.budget.take(capacity - buffer.length)) return false;
    this.#buffer = new Uint8Array(capacity);
    this.#buffer.set(buffer.subarray(0, this.#used));
    return true;
  }
}

// Counts the values of a JSON text without parsing it: parsing a million values or deep nesting takes seconds and
// blocks everything else. In UTF-8, no byte of a multi-byte character equals one of these.

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPENING = [0x5b, 0x7b];
const CLOSING = [0x5d, 0x7d];

export type JsonBounds = { valuesMax: number; nestingMax: number };

/** Whether a text has more values, or is nested deeper, than allowed. A list in a list may count twice, never less than once. */
export function isBeyondBounds(bytes: Uint8Array, { valuesMax, nestingMax }: JsonBounds): boolean {
  let depth = 0;
  let values = 1;
  let isInText = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (isInText) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) isInText = false;
    } else if (byte === QUOTE) isInText = true;
    else if (CLOSING.includes(byte)) depth -= 1;
    else if (byte === COMMA || OPENING.includes(byte)) {
      // One of these precedes each value except the first.
      values += 1;
      if (byte !== COMMA) depth += 1;
      if (depth > nestingMax || values > valuesMax) return true;
    }
  }
  return false;
}
