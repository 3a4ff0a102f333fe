// From a message to its answer: hold what is needed of it, decode it, hand a signal for each recipient to the intake,
// and say what became of them. A good answer means that every one of them is on stable storage.
import { isIP } from "node:net";
import type { SMTPServerDataStream, SMTPServerSession } from "smtp-server";
import type { SignalTarget } from "../../core/accepted.ts";
import { DAY_MS, MINUTE_MS, SECOND_MS } from "../../core/instant.ts";
import {
  EMAIL_CHECK_BYTES_PER_DAY,
  EMAIL_CHECK_MESSAGES_PER_MINUTE,
  EMAIL_WEIGHT_BYTES_MAX,
  USER_AGENT_LENGTH_MAX,
} from "../../core/limits.ts";
import { mailboxTarget } from "../../core/request/mailbox.ts";
import type { Acceptance, SignalIntake } from "../../intake/intake.ts";
import type { ByteBudget } from "../../lib/http/body.ts";
import type { Log } from "../../lib/log.ts";
import { MailCollector } from "./collect.ts";
import { MailDecoder } from "./decode.ts";
import { Rates } from "./rates.ts";

export type MailReceiverOptions = {
  intake: SignalIntake;
  /** How much of a message is kept as it came. */
  keptBytes: number;
  /** How much of it is kept once its check has used up its bytes of the day. */
  keptBytesBeyond: number;
  /** Of one network, in a minute; 0 means without limit. */
  peerMessagesPerMinute: number;
  /** How many bytes of unfinished messages are held together. */
  budget: ByteBudget;
  log: Log;
  /** How long after its last byte was read and decoded a message is answered at the latest. */
  answerWithinMs?: number;
};

/** What a sender is told, with the code of the protocol. */
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
/** Longer than the intake takes at the worst, and shorter than any mail program's patience. */
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

  /** Throws what a network is told that sends too much. */
  checkPeer(network: string): void {
    if (this.#peerMessages === null || this.#peerMessages.has(network, 1)) return;
    this.#counts.tooMany += 1;
    const { intake } = this.#options;
    intake.refused({ at: intake.now(), target: null, network });
    throw TOO_MANY_OF_PEER();
  }

  /** Throws what the sender is told for whose check there is too much. */
  checkTarget(target: SignalTarget, network: string): void {
    if (this.#checkMessages.has(nameOf(target), 1)) return;
    this.#counts.tooMany += 1;
    const { intake } = this.#options;
    intake.refused({ at: intake.now(), target, network });
    throw TOO_MANY_OF_CHECK();
  }

  /**
   * Reads the message to its end and makes signals of it. Resolves when all of them are durable, or belong to nobody;
   * throws the answer that the sender gets instead. `onWhole` is called when there is nothing more to come.
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
    // Until it is the intake's to hold, it counts as held here.
    const { subject, text } = await this.#decoder.decode(searched).finally(() => collector.drop());
    const source = { by: "email" as const, subject, text: text.slice(0, share) };
    const accepting = this.#acceptAll(targets, { source, raw, session, network });
    const accepted = await this.#inTime(accepting, () => noteRefused(intake, session, network));
    this.#conclude(targets, accepted);
  }

  /** The intake promises to settle within two seconds; should it ever not, nobody is kept waiting for it. */
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
        // Nobody is made by mail: whoever mistypes an address must not get a check for it.
        return intake.accept({ ...shared, target, body, at: intake.now() }, { create: false, network });
      }),
    );
  }

  /** A check that has had its bytes of the day gets the beginning only; what the message says has been read by then. */
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

  /** The sender hears nothing of it, so that nobody can find out which checks there are. One line a second. */
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

/** A message is not recorded: the checks that it was for are excused, or its network if it had not named any. */
export function noteRefused(intake: SignalIntake, session: SMTPServerSession, network: string): void {
  const at = intake.now();
  const targets = targetsOf(session);
  for (const target of targets) intake.refused({ at, target, network });
  if (targets.length === 0) intake.refused({ at, target: null, network });
}

/** The recipients were looked at when they were named; none of them is anything else by now. */
function targetsOf({ envelope }: SMTPServerSession): SignalTarget[] {
  // A connection that is refused at once has no envelope yet.
  return (envelope?.rcptTo ?? [])
    .map(({ address }) => mailboxTarget(address.slice(0, address.lastIndexOf("@"))))
    .filter((target) => target !== null);
}

type End = "whole" | "too large" | "overflow" | "broken";

/** Reads to the end whatever happens, because only then is an answer heard. */
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
    // The sender went away: there was no message.
    stream.once("error", () => resolve("broken"));
    stream.once("close", () => resolve("broken"));
  });
}
