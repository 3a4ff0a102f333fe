// What is held of a message while it comes in: its beginning and its end. The middle of a long one is counted and
// let go, so that a message costs little memory however long it is.
import { EMAIL_SEARCHED_BYTES_MAX, EMAIL_SEARCHED_LINES_MAX } from "../../core/limits.ts";
import type { ByteBudget } from "../../lib/http/body.ts";

/** A quarter of what is searched is taken from the end: that is where a log says how it went. */
const TAIL_BYTES = EMAIL_SEARCHED_BYTES_MAX / 4;
const SEARCHED_HEAD_BYTES = EMAIL_SEARCHED_BYTES_MAX - TAIL_BYTES;
const TAIL_LINES = EMAIL_SEARCHED_LINES_MAX / 4;
const HEAD_LINES = EMAIL_SEARCHED_LINES_MAX - TAIL_LINES;
const LINE_FEED = 0x0a;
/** Headers of a message that is to be cut are looked for in this much of it. */
const HEADER_BYTES_MAX = 64 * 1024;
const MULTIPART = /^content-type:\s*(?:multipart|message)\//im;

export type Collected = {
  /** The beginning, as it came. */
  raw: Uint8Array;
  /** What is decoded and searched: the whole message, or so much of it that it can still be read. */
  searched: Uint8Array;
};

/** What most messages fit in. Pieces of this size are cut from a larger one, which costs next to nothing. */
const FIRST_BYTES = 1024;

const NOTHING = Buffer.alloc(0);

export class MailCollector {
  readonly #headBytesMax: number;
  readonly #budget: ByteBudget;
  #head: Buffer = NOTHING;
  #headBytes = 0;
  /** The last bytes, in two pieces that take turns; null before there are any. */
  #tail: { full: Buffer | null; filling: Buffer; used: number } | null = null;
  #lent = 0;

  constructor({ keepBytes, budget }: { keepBytes: number; budget: ByteBudget }) {
    this.#headBytesMax = Math.max(keepBytes, SEARCHED_HEAD_BYTES);
    this.#budget = budget;
  }

  /** False when all messages together are more than memory may hold. */
  add(chunk: Buffer): boolean {
    const mine = chunk.subarray(0, this.#headBytesMax - this.#headBytes);
    if (mine.length > 0) {
      if (!this.#makeRoomFor(mine.length)) return false;
      mine.copy(this.#head, this.#headBytes);
      this.#headBytes += mine.length;
    }
    return mine.length === chunk.length || this.#addTail(chunk.subarray(mine.length));
  }

  /** What was collected. It is counted as held until it is dropped. */
  finish({ keepBytes }: { keepBytes: number }): Collected {
    const head = this.#head.subarray(0, this.#headBytes);
    const { full, filling, used } = this.#tail ?? { full: null, filling: NOTHING, used: 0 };
    const tail = used === 0 ? NOTHING : Buffer.concat([full ?? NOTHING, filling.subarray(0, used)]);
    // A copy: what is kept must not hold the rest.
    return { raw: Buffer.from(head.subarray(0, keepBytes)), searched: searchedOf(head, tail) };
  }

  /** Lets go of everything. */
  drop(): void {
    this.#budget.giveBack(this.#lent);
    this.#lent = 0;
    this.#head = NOTHING;
    this.#tail = null;
  }

  /** Grows by doubling: a message in a million pieces costs no more than one in a single piece. */
  #makeRoomFor(bytes: number): boolean {
    const needed = this.#headBytes + bytes;
    if (needed <= this.#head.length) return true;
    const wanted = Math.max(needed, 2 * this.#head.length, FIRST_BYTES);
    const capacity = Math.min(this.#headBytesMax, wanted);
    if (!this.#borrow(capacity - this.#head.length)) return false;
    const grown = capacity === FIRST_BYTES ? Buffer.allocUnsafe(capacity) : Buffer.allocUnsafeSlow(capacity);
    this.#head.copy(grown, 0, 0, this.#headBytes);
    this.#head = grown;
    return true;
  }

  #addTail(chunk: Buffer): boolean {
    if (this.#tail === null && !this.#borrow(2 * TAIL_BYTES)) return false;
    this.#tail ??= { full: null, filling: Buffer.allocUnsafeSlow(TAIL_BYTES), used: 0 };
    const tail = this.#tail;
    for (let rest = chunk; rest.length > 0; ) {
      if (tail.used === TAIL_BYTES) {
        [tail.full, tail.filling] = [tail.filling, tail.full ?? Buffer.allocUnsafeSlow(TAIL_BYTES)];
        tail.used = 0;
      }
      const taken = rest.copy(tail.filling, tail.used);
      tail.used += taken;
      rest = rest.subarray(taken);
    }
    return true;
  }

  #borrow(bytes: number): boolean {
    if (!this.#budget.take(bytes)) return false;
    this.#lent += bytes;
    return true;
  }
}

/**
 * The whole, or its first lines and, where it is a single text, its last ones too. The parts of a long message
 * begin with its text; what is left out then are attachments.
 */
function searchedOf(head: Buffer, tail: Buffer): Uint8Array {
  const isWhole = head.length + tail.length <= EMAIL_SEARCHED_BYTES_MAX;
  const whole = tail.length === 0 ? head : Buffer.concat([head, tail]);
  if (isWhole && lineEnd(whole, EMAIL_SEARCHED_LINES_MAX) === whole.length) return whole;
  const first = firstLines(head.subarray(0, SEARCHED_HEAD_BYTES));
  const headers = first.subarray(0, HEADER_BYTES_MAX).toString("latin1");
  const endAt = headers.search(/\r?\n\r?\n/);
  if (MULTIPART.test(endAt === -1 ? headers : headers.slice(0, endAt))) return first;
  const last = whole.subarray(Math.max(first.length, whole.length - TAIL_BYTES));
  return Buffer.concat([first, lastLines(last)]);
}

/** Where so many lines end, or the bytes do. */
function lineEnd(bytes: Buffer, lines: number): number {
  let at = -1;
  for (let count = 0; count < lines; count += 1) {
    at = bytes.indexOf(LINE_FEED, at + 1);
    if (at === -1) return bytes.length;
  }
  return at + 1;
}

/** Whole lines from the beginning; a single endless one is taken as it is. */
function firstLines(bytes: Buffer): Buffer {
  const end = lineEnd(bytes, HEAD_LINES);
  const last = bytes.lastIndexOf(LINE_FEED, end - 1);
  return last === -1 ? bytes : bytes.subarray(0, last + 1);
}

/** Whole lines from the end. What stands before the first of them is the end of a line that was cut. */
function lastLines(bytes: Buffer): Buffer {
  let at = bytes.length - 1;
  for (let count = 0; count < TAIL_LINES && at > 0; count += 1) at = bytes.lastIndexOf(LINE_FEED, at - 1);
  const start = at > 0 ? at : bytes.indexOf(LINE_FEED);
  return start === -1 ? bytes : bytes.subarray(start + 1);
}
