import { isIP } from "node:net";
import type { SMTPServerDataStream, SMTPServerSession } from "smtp-server";
import { DAY_MS, MINUTE_MS, SECOND_MS } from "../../core/instant.ts";
import {
  EMAIL_CHECK_BYTES_PER_DAY,
  EMAIL_CHECK_MESSAGES_PER_MINUTE,
  EMAIL_SEARCHED_BYTES_MAX,
  EMAIL_SEARCHED_LINES_MAX,
  EMAIL_WEIGHT_BYTES_MAX,
  USER_AGENT_LENGTH_MAX,
} from "../../core/limits.ts";
import { mailboxTarget, type SignalTarget } from "../../core/signal.ts";
import type { Acceptance, SignalIntake } from "../../intake/intake.ts";
import type { ByteBudget } from "../../lib/http/body.ts";
import type { Log } from "../../lib/log.ts";
import { MailDecoder } from "./decode.ts";

// Rate limits per sender and per check. The number of buckets is limited; the least recently used one is dropped
// first, because it is full again anyway.

const REMEMBERED_MAX = 50_000;

export type RateOptions = {
  /** The burst, and the amount per period. */
  amount: number;
  periodMs: number;
  monotonic?: () => number;
  rememberedMax?: number;
};

type Bucket = { left: number; atMs: number };

/** Named buckets of the same size. */
export class Rates {
  readonly #amount: number;
  readonly #perMs: number;
  readonly #monotonic: () => number;
  readonly #rememberedMax: number;
  readonly #buckets = new Map<string, Bucket>();

  constructor({ amount, periodMs, monotonic, rememberedMax }: RateOptions) {
    this.#amount = amount;
    this.#perMs = amount / periodMs;
    this.#monotonic = monotonic ?? (() => performance.now());
    this.#rememberedMax = rememberedMax ?? REMEMBERED_MAX;
  }

  /** Whether this amount is available; takes it if so. */
  take(name: string, amount: number): boolean {
    const bucket = this.#bucket(name);
    if (bucket.left < amount) return false;
    bucket.left -= amount;
    return true;
  }

  /** Whether this amount is available; takes nothing. */
  has(name: string, amount: number): boolean {
    return this.#bucket(name).left >= amount;
  }

  get size(): number {
    return this.#buckets.size;
  }

  #bucket(name: string): Bucket {
    const nowMs = this.#monotonic();
    const bucket = this.#buckets.get(name) ?? { left: this.#amount, atMs: nowMs };
    bucket.left = Math.min(this.#amount, bucket.left + (nowMs - bucket.atMs) * this.#perMs);
    bucket.atMs = nowMs;
    this.#buckets.delete(name);
    this.#buckets.set(name, bucket);
    if (this.#buckets.size > this.#rememberedMax) {
      const [quietest = name] = this.#buckets.keys();
      this.#buckets.delete(quietest);
    }
    return bucket;
  }
}

// Keeps the beginning and the end of a message. The middle of a long one is counted and dropped, which limits memory.

/** A quarter of the searched text is taken from the end, where logs report the result. */
const TAIL_BYTES = EMAIL_SEARCHED_BYTES_MAX / 4;
const SEARCHED_HEAD_BYTES = EMAIL_SEARCHED_BYTES_MAX - TAIL_BYTES;
const TAIL_LINES = EMAIL_SEARCHED_LINES_MAX / 4;
const HEAD_LINES = EMAIL_SEARCHED_LINES_MAX - TAIL_LINES;
const LINE_FEED = 0x0a;
/** Headers of a message to be truncated are searched in this part of it. */
const HEADER_BYTES_MAX = 64 * 1024;
const MULTIPART = /^content-type:\s*(?:multipart|message)\//im;

export type Collected = {
  /** The beginning, unmodified. */
  raw: Uint8Array;
  /** The part that is decoded and searched: the whole message, or a part that can still be parsed. */
  searched: Uint8Array;
};

/** Most messages fit into this size. Buffers of this size are cut from a larger one, which costs almost nothing. */
const FIRST_BYTES = 1024;

const NOTHING = Buffer.alloc(0);

export class MailCollector {
  readonly #headBytesMax: number;
  readonly #budget: ByteBudget;
  #head: Buffer = NOTHING;
  #headBytes = 0;
  /** The last bytes, in two alternating buffers; null before there are any. */
  #tail: { full: Buffer | null; filling: Buffer; used: number } | null = null;
  #lent = 0;

  constructor({ keepBytes, budget }: { keepBytes: number; budget: ByteBudget }) {
    this.#headBytesMax = Math.max(keepBytes, SEARCHED_HEAD_BYTES);
    this.#budget = budget;
  }

  /** False if all messages together exceed the memory limit. */
  add(chunk: Buffer): boolean {
    const mine = chunk.subarray(0, this.#headBytesMax - this.#headBytes);
    if (mine.length > 0) {
      if (!this.#makeRoomFor(mine.length)) return false;
      mine.copy(this.#head, this.#headBytes);
      this.#headBytes += mine.length;
    }
    return mine.length === chunk.length || this.#addTail(chunk.subarray(mine.length));
  }

  /** The collected message. It counts toward the limit until it is released. */
  finish({ keepBytes }: { keepBytes: number }): Collected {
    const head = this.#head.subarray(0, this.#headBytes);
    const { full, filling, used } = this.#tail ?? { full: null, filling: NOTHING, used: 0 };
    const tail = used === 0 ? NOTHING : Buffer.concat([full ?? NOTHING, filling.subarray(0, used)]);
    // A copy: the stored part must not keep the rest in memory.
    return { raw: Buffer.from(head.subarray(0, keepBytes)), searched: searchedOf(head, tail) };
  }

  /** Releases everything. */
  drop(): void {
    this.#budget.giveBack(this.#lent);
    this.#lent = 0;
    this.#head = NOTHING;
    this.#tail = null;
  }

  /** Grows by doubling: a message in a million chunks costs no more than one in a single chunk. */
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
 * The whole message, or its first lines and, if it is a single text, its last ones, too. A long multipart message
 * begins with its text; only attachments are omitted then.
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

/** The position after this many lines or bytes. */
function lineEnd(bytes: Buffer, lines: number): number {
  let at = -1;
  for (let count = 0; count < lines; count += 1) {
    at = bytes.indexOf(LINE_FEED, at + 1);
    if (at === -1) return bytes.length;
  }
  return at + 1;
}

/** Whole lines from the beginning; a single endless line is taken unchanged. */
function firstLines(bytes: Buffer): Buffer {
  const end = lineEnd(bytes, HEAD_LINES);
  const last = bytes.lastIndexOf(LINE_FEED, end - 1);
  return last === -1 ? bytes : bytes.subarray(0, last + 1);
}

/** Whole lines from the end. A truncated line before the first of them is dropped. */
function lastLines(bytes: Buffer): Buffer {
  let at = bytes.length - 1;
  for (let count = 0; count < TAIL_LINES && at > 0; count += 1) at = bytes.lastIndexOf(LINE_FEED, at - 1);
  const start = at > 0 ? at : bytes.indexOf(LINE_FEED);
  return start === -1 ? bytes : bytes.subarray(start + 1);
}

// Receives a message: decodes it, passes one signal per recipient to the intake, and responds. A success response
// means that all of them are on stable storage.

export type MailReceiverOptions = {
  intake: SignalIntake;
  /** How much of a raw message is stored. */
  keptBytes: number;
  /** How much of it is stored once its check has used up its daily quota. */
  keptBytesBeyond: number;
  /** Per network and minute; 0 means no limit. */
  peerMessagesPerMinute: number;
  /** Total size of incomplete messages in memory. */
  budget: ByteBudget;
  log: Log;
  /** Time limit of the response after a message was read and decoded. */
  answerWithinMs?: number;
};

/** An SMTP reply with its code. */
export class MailAnswer extends Error {
  override readonly name = "MailAnswer";
  readonly responseCode: number;

  constructor(responseCode: number, words: string) {
    super(words);
    this.responseCode = responseCode;
  }
}

export type MailOutcome = "recorded" | "unknown" | "ambiguous" | "busy" | "tooLarge" | "tooMany" | "broken";

const NOT_NOW = () => new MailAnswer(451, "4.3.0 Temporarily unavailable, try again later");
const TOO_LARGE = () => new MailAnswer(552, "5.3.4 Message is too large");
const TOO_MANY_OF_CHECK = () =>
  new MailAnswer(450, "4.2.1 Too many messages for this check, try again later");
const TOO_MANY_OF_PEER = () =>
  new MailAnswer(450, "4.7.1 Too many messages from your network, try again later");
const UNKNOWN_LOG_PAUSE_MS = 1_000;
/** Longer than the intake takes at most, and shorter than the timeout of any mail program. */
const ANSWER_WITHIN_MS = 30 * SECOND_MS;

export class MailReceiver {
  readonly #options: MailReceiverOptions;
  readonly #decoder = new MailDecoder();
  readonly #checkMessages = new Rates({ amount: EMAIL_CHECK_MESSAGES_PER_MINUTE, periodMs: MINUTE_MS });
  readonly #checkBytes = new Rates({ amount: EMAIL_CHECK_BYTES_PER_DAY, periodMs: DAY_MS });
  readonly #peerMessages: Rates | null;
  readonly #counts: Record<MailOutcome, number> = {
    recorded: 0,
    unknown: 0,
    ambiguous: 0,
    busy: 0,
    tooLarge: 0,
    tooMany: 0,
    broken: 0,
  };
  #unknownLoggedMs = Number.NEGATIVE_INFINITY;

  constructor(options: MailReceiverOptions) {
    const { peerMessagesPerMinute: amount } = options;
    this.#options = options;
    this.#peerMessages = amount === 0 ? null : new Rates({ amount, periodMs: MINUTE_MS });
  }

  counts(): Readonly<Record<MailOutcome, number>> {
    return this.#counts;
  }

  /** Throws a MailAnswer if the network sends too much. */
  checkPeer(network: string): void {
    if (this.#peerMessages === null || this.#peerMessages.has(network, 1)) return;
    this.#counts.tooMany += 1;
    const { intake } = this.#options;
    intake.refused({ at: intake.now(), target: null, network });
    throw TOO_MANY_OF_PEER();
  }

  /** Throws a MailAnswer if the check receives too much. */
  checkTarget(target: SignalTarget, network: string): void {
    if (this.#checkMessages.has(nameOf(target), 1)) return;
    this.#counts.tooMany += 1;
    const { intake } = this.#options;
    intake.refused({ at: intake.now(), target, network });
    throw TOO_MANY_OF_CHECK();
  }

  /**
   * Reads the message and creates its signals. Resolves when all of them are durable or have no check; throws the
   * reply for the sender otherwise. `onWhole` is called when the message is complete.
   */
  async receive(
    stream: SMTPServerDataStream,
    { session, network, onWhole }: { session: SMTPServerSession; network: string; onWhole: () => void },
  ): Promise<void> {
    const { intake, keptBytes, budget } = this.#options;
    const collector = new MailCollector({ keepBytes: keptBytes, budget });
    const end = await readAll(stream, collector);
    if (end !== "whole") {
      collector.drop();
      if (end === "broken") this.#counts.broken += 1;
      if (end === "too large") this.#counts.tooLarge += 1;
      if (end === "overflow") {
        this.#counts.busy += 1;
        noteRefused(intake, session, network);
      }
      throw end === "too large" ? TOO_LARGE() : NOT_NOW();
    }
    onWhole();
    const targets = targetsOf(session);
    this.#peerMessages?.take(network, 1);
    const share = Math.floor(EMAIL_WEIGHT_BYTES_MAX / (2 * Math.max(1, targets.length)));
    const { raw, searched } = collector.finish({ keepBytes: Math.min(keptBytes, share) });
    // Until the intake has accepted it, it counts toward the limit here.
    const { subject, text } = await this.#decoder.decode(searched).finally(() => collector.drop());
    const source = { by: "email" as const, subject, text: text.slice(0, share) };
    const accepting = this.#acceptAll(targets, { source, raw, session, network });
    const accepted = await this.#inTime(accepting, () => noteRefused(intake, session, network));
    this.#conclude(targets, accepted);
  }

  /** The intake settles within two seconds; if it does not, the sender still gets a reply. */
  #inTime<T>(accepting: Promise<T>, onLate: () => void): Promise<T> {
    const { answerWithinMs = ANSWER_WITHIN_MS } = this.#options;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#counts.busy += 1;
        onLate();
        reject(NOT_NOW());
      }, answerWithinMs);
      accepting.then(resolve, reject).finally(() => clearTimeout(timer));
    });
  }

  #acceptAll(
    targets: readonly SignalTarget[],
    message: {
      source: { by: "email"; subject: string; text: string };
      raw: Uint8Array;
      session: SMTPServerSession;
      network: string;
    },
  ): Promise<Acceptance[]> {
    const { intake } = this.#options;
    const { source, raw, session, network } = message;
    const { mailFrom } = session.envelope;
    const sender = mailFrom === false || mailFrom.address === "" ? "<>" : mailFrom.address;
    const shared = {
      source,
      rid: null,
      exitStatus: null,
      scheme: "email",
      remoteAddr: isIP(session.remoteAddress) === 0 ? null : session.remoteAddress,
      ua: `Email from ${sender}`.slice(0, USER_AGENT_LENGTH_MAX),
    };
    return Promise.all(
      targets.map((target) => {
        this.#checkMessages.take(nameOf(target), 1);
        const body = this.#keptOf(raw, target);
        // Emails never create checks: a mistyped address must not get one.
        return intake.accept({ ...shared, target, body, at: intake.now() }, { create: false, network });
      }),
    );
  }

  /**
   * For a check that has used up its daily quota, only the beginning is stored; keywords have been searched by then.
   */
  #keptOf(raw: Uint8Array, target: SignalTarget): Uint8Array | null {
    if (raw.length === 0) return null;
    const { keptBytesBeyond } = this.#options;
    if (raw.length <= keptBytesBeyond || this.#checkBytes.take(nameOf(target), raw.length)) return raw;
    return keptBytesBeyond === 0 ? null : raw.subarray(0, keptBytesBeyond);
  }

  #conclude(targets: readonly SignalTarget[], accepted: readonly Acceptance[]): void {
    for (const [index, { kind }] of accepted.entries()) {
      const outcome = kind === "created" ? "recorded" : kind;
      this.#counts[outcome] += 1;
      const target = targets[index];
      if ((kind === "unknown" || kind === "ambiguous") && target !== undefined) this.#logLost(target, kind);
    }
    if (accepted.some(({ kind }) => kind === "busy")) throw NOT_NOW();
  }

  /** The sender is not informed, so that existing checks cannot be guessed. At most one line per second. */
  #logLost(target: SignalTarget, kind: "unknown" | "ambiguous"): void {
    const nowMs = performance.now();
    if (nowMs - this.#unknownLoggedMs < UNKNOWN_LOG_PAUSE_MS) return;
    this.#unknownLoggedMs = nowMs;
    // The ping key is a secret.
    const named = target.by === "uuid" ? { uuid: target.uuid } : { slug: target.slug };
    const words =
      kind === "unknown"
        ? "received an email for a check that does not exist"
        : "received an email for an ambiguous slug";
    this.#options.log.info(named, words);
  }
}

function nameOf(target: SignalTarget): string {
  return target.by === "uuid" ? target.uuid : `${target.pingKey}+${target.slug}`;
}

/** A message is not recorded: the checks it was for are excused, or its network if it had not named any. */
export function noteRefused(intake: SignalIntake, session: SMTPServerSession, network: string): void {
  const at = intake.now();
  const targets = targetsOf(session);
  for (const target of targets) intake.refused({ at, target, network });
  if (targets.length === 0) intake.refused({ at, target: null, network });
}

/** The recipients were parsed when they were named, so all of them are valid. */
function targetsOf({ envelope }: SMTPServerSession): SignalTarget[] {
  // A connection that is rejected immediately has no envelope yet.
  return (envelope?.rcptTo ?? [])
    .map(({ address }) => mailboxTarget(address.slice(0, address.lastIndexOf("@"))))
    .filter((target) => target !== null);
}

type End = "whole" | "too large" | "overflow" | "broken";

/** Always reads to the end, because the client reads the reply only then. */
function readAll(stream: SMTPServerDataStream, collector: MailCollector): Promise<End> {
  return new Promise((resolve) => {
    let isOverflow = false;
    stream.on("data", (chunk: Buffer) => {
      if (isOverflow || stream.sizeExceeded || collector.add(chunk)) return;
      isOverflow = true;
      collector.drop();
    });
    stream.once("end", () => {
      if (stream.sizeExceeded) resolve("too large");
      else resolve(isOverflow ? "overflow" : "whole");
    });
    // The sender disconnected: there was no message.
    stream.once("error", () => resolve("broken"));
    stream.once("close", () => resolve("broken"));
  });
}
