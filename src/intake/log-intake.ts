// Receives signals and appends them to the log: an edge. A ping is acknowledged when its record is confirmed. Recorders
// read the log and apply them.
import { type Instant, SECOND_MS } from "../core/instant.ts";
import { NO_REFUSALS, partitionOf } from "../core/log.ts";
import { NO_PING_SETTINGS, type PingSettings } from "../core/ping-settings.ts";
import type { AcceptedSignal, SignalTarget } from "../core/signal.ts";
import { HEARTBEAT_EVERY_MS, HEARTBEAT_GAP_MS_MAX, TICK_GAP_MS_MAX, watermarkOf } from "../core/watermark.ts";
import { CheckCreator, type CreateCheck } from "./check-creator.ts";
import {
  type Acceptance,
  type AcceptOptions,
  acceptanceOf,
  type CreateOption,
  type Resolution,
  type SignalIntake,
} from "./intake.ts";
import { LogPartition, type LogPartitionDeps } from "./log-partition.ts";
import { encodeForLog } from "./log-record.ts";
import type { KnownTargets, Settled } from "./recorder.ts";
import { AttributedRefusalSet, type Refusal, Refusals } from "./refusals.ts";

/** Signals waiting for a record, in all partitions; beyond this number, senders get 503. */
const QUEUE_SIGNALS_MAX = 20_000;
const QUEUE_BYTES_MAX = 128 * 1024 * 1024;
/** Concurrent lookups of targets that this process does not know. */
const LOOKUPS_MAX = 1_000;
/** How often an edge notices that it runs, and sends heartbeats that are due. */
const TICK_MS = 250;
/** Equal successes of one check in a row and in one second that are appended; more of them are only counted. */
const REPEATED_MAX = 100;
/** A signal that waits longer for its record is rejected: the response must be sent within two seconds. */
const WAIT_MS_MAX = 1_400;
/** How often rejected pings are passed on to partitions. */
const REPORT_EVERY_MS = HEARTBEAT_EVERY_MS;
/** How often the goodbye is tried. */
const LEAVE_TRIES = 3;

export type LogIntakeDeps = {
  /** Random. */
  newEdge: () => string;
  partitions: number;
  append: LogPartitionDeps["append"];
  isBusy: LogPartitionDeps["isBusy"];
  /** The database's time, extrapolated. */
  now: () => Instant;
  monotonic: () => number;
  known: KnownTargets;
  /** The UUID of a target in the database. */
  find: (target: SignalTarget) => Promise<{ uuid: string } | "unknown" | "ambiguous">;
  create: CreateCheck;
  /** Why every ping is rejected; null: they are accepted. */
  refusal: () => string | null;
  onError: (error: unknown, what: string) => void;
};

/** The state of an edge, for metrics and the admin. */
export type LogIntakeState = {
  queued: number;
  takenCount: number;
  refusedCount: number;
  /** Acknowledged without being appended, because the check sent too many. */
  thinnedCount: number;
  /** Records that were confirmed, and that were not in time. */
  confirmedCount: number;
  unconfirmedCount: number;
  /** No record of any partition could be confirmed for a while. */
  isBlocked: boolean;
};

/** Equal successes of a check, and the outcome of the last one that was appended. */
type Repeated = { method: string; count: number; last: Promise<Settled> };

export class LogIntake implements SignalIntake {
  readonly #deps: LogIntakeDeps;
  readonly #refusals = new Refusals();
  readonly #attributed = new AttributedRefusalSet();
  readonly #creator: CheckCreator;
  readonly #partitions: readonly LogPartition[];
  /** By UUID, of one second. */
  readonly #repeated = new Map<string, Repeated>();
  #second = 0;
  #queuedCount = 0;
  #queuedBytes = 0;
  /** Signals whose checks are being looked up, in the order in which they were received. */
  readonly #lookups = new Set<{ at: Instant }>();
  #takenCount = 0;
  #thinnedCount = 0;
  #confirmedCount = 0;
  #unconfirmedCount = 0;
  /** Receive time of the oldest rejected ping that is not reported to partitions yet; null: there is none. */
  #unreportedSinceAt: Instant | null = null;
  #reportedMs = Number.NEGATIVE_INFINITY;
  #isFlushPlanned = false;
  #isOpen = false;
  #timer: NodeJS.Timeout | null = null;
  #seen: { ms: number; at: Instant };
  /** What was received since then may be in the sockets, or the port is closed; null: signals are read in time. */
  #heldSinceAt: Instant | null = null;
  /** Whether the port is open. */
  #isListening = true;

  constructor(deps: LogIntakeDeps) {
    this.#deps = deps;
    this.#creator = new CheckCreator(deps);
    this.#seen = { ms: deps.monotonic(), at: deps.now() };
    const own: LogPartitionDeps = {
      append: deps.append,
      isBusy: deps.isBusy,
      monotonic: deps.monotonic,
      now: deps.now,
      watermarkAt: (oldestAt) => this.#watermarkAt(oldestAt),
      onSettled: (error) => this.#noteSettled(error),
    };
    const edge = deps.newEdge();
    this.#partitions = Array.from(
      { length: deps.partitions },
      (_, number) => new LogPartition(number, edge, own),
    );
  }

  now(): Instant {
    return this.#deps.now();
  }

  /**
   * Registers in every partition. Throws if a record is not confirmed; pings are accepted after that. If it does not
   * listen yet, the watermark waits for `listen`.
   */
  async enter({ isListening = true } = {}): Promise<void> {
    this.#isListening = isListening;
    if (!isListening) this.#hold(this.now());
    const entered = await Promise.all(this.#partitions.map((partition) => partition.send()));
    if (entered.includes(false)) {
      // Otherwise alerts would wait until others notice.
      await this.#sayGoodbye();
      throw new Error("the log did not confirm the registration of this process");
    }
    this.#isOpen = true;
    this.#seen = { ms: this.#deps.monotonic(), at: this.now() };
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  /** The port is open: the next record of each partition says so. */
  listen(): void {
    this.#isListening = true;
    this.#heldSinceAt = null;
    for (const partition of this.#partitions) partition.enter();
    this.#flush();
  }

  /** The port is about to be closed: the watermark stays. */
  stopListening(): void {
    this.#isListening = false;
    this.#hold(this.now());
  }

  async accept(signal: AcceptedSignal, options: AcceptOptions): Promise<Acceptance> {
    const result = await this.#take(signal, options.network);
    if (result === "recorded") this.#takenCount += 1;
    if (result !== "unknown" || !options.create) return acceptanceOf(result);
    return this.#acceptNew(signal, options);
  }

  async resolve(target: SignalTarget, { create, settings = null }: CreateOption): Promise<Resolution> {
    const found = await this.#find(target);
    if (found === "busy") return this.#deps.known.knows(target, this.now()) ? "known" : "busy";
    if (found !== "unknown") return found === "ambiguous" ? found : "known";
    if (!create) return "unknown";
    const made = await this.#creator.create(target, settings?.() ?? NO_PING_SETTINGS);
    return made === "created" || made === "exists" ? "known" : made;
  }

  refused(refusal: Refusal): void {
    const { target, at } = refusal;
    this.#unreportedSinceAt = Math.min(this.#unreportedSinceAt ?? at, at);
    const isKnown = target !== null && this.#deps.known.knows(target, at);
    if (this.#isBlocked() || !this.#attributed.note({ ...refusal, isKnown })) this.#refusals.note(at);
  }

  state(): LogIntakeState {
    return {
      queued: this.#queuedCount,
      takenCount: this.#takenCount,
      refusedCount: this.#refusals.count + this.#attributed.count,
      thinnedCount: this.#thinnedCount,
      confirmedCount: this.#confirmedCount,
      unconfirmedCount: this.#unconfirmedCount,
      isBlocked: this.#isBlocked(),
    };
  }

  /** A leader has answered: what waits for it can be sent. */
  noteIdle(): void {
    this.#planFlush();
  }

  /** Accepts nothing more, appends what was accepted, and unregisters. True if everything was confirmed. */
  async leave(): Promise<boolean> {
    this.#isOpen = false;
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    await Promise.all(this.#partitions.map((partition) => partition.finish()));
    const now = this.now();
    // It is not known until when the last ones go on.
    if (this.#unreportedSinceAt !== null) this.#distribute(now);
    const restAt = this.#unreportedSinceAt;
    if (restAt !== null) {
      const rest = { refused: [{ from: restAt, to: now }], attributed: NO_REFUSALS };
      for (const partition of this.#partitions) partition.report(rest);
    }
    return this.#sayGoodbye();
  }

  async #sayGoodbye(): Promise<boolean> {
    const left = this.#partitions.map(async (partition) => {
      for (let tries = 1; tries <= LEAVE_TRIES; tries += 1) if (await partition.leave()) return true;
      return false;
    });
    return !(await Promise.all(left)).includes(false);
  }

  /** Creates the check. */
  async #acceptNew(signal: AcceptedSignal, { settings = null, network }: AcceptOptions): Promise<Acceptance> {
    const given: PingSettings = settings?.() ?? NO_PING_SETTINGS;
    const made = await this.#creator.create(signal.target, given);
    if (made === "busy") this.#noteRefused({ ...signal, at: this.now() }, network);
    if (made === "unknown" || made === "busy") return acceptanceOf(made);
    const again = await this.#take({ ...signal, at: this.now() }, network);
    if (again === "recorded") this.#takenCount += 1;
    if (again !== "recorded" || made !== "created") return acceptanceOf(again);
    return { kind: "created", warning: given.warning };
  }

  #take(signal: AcceptedSignal, network: string | null): Promise<Settled> {
    if (!this.#isOpen) return this.#refuse(signal, network);
    if (this.#deps.refusal() !== null) return this.#refuseAll(signal);
    const { target } = signal;
    if (target.by === "uuid" && this.#deps.known.knows(target, signal.at)) {
      return this.#enqueue(target.uuid, signal, network);
    }
    return this.#lookUp(signal, network);
  }

  /** It keeps its receive time, because the lookup is our delay: the watermark waits for it. */
  async #lookUp(signal: AcceptedSignal, network: string | null): Promise<Settled> {
    if (this.#lookups.size >= LOOKUPS_MAX) return this.#refuse(signal, network);
    const pending = { at: signal.at };
    this.#lookups.add(pending);
    try {
      const found = await this.#find(signal.target);
      if (found === "busy") return await this.#refuse(signal, network);
      if (typeof found === "string") return found;
      return this.#enqueue(found.uuid, signal, network);
    } finally {
      this.#lookups.delete(pending);
    }
  }

  async #find(target: SignalTarget): Promise<{ uuid: string } | "unknown" | "ambiguous" | "busy"> {
    try {
      const found = await this.#deps.find(target);
      if (typeof found !== "string") {
        this.#deps.known.remember({ by: "uuid", uuid: found.uuid }, this.now());
        this.#creator.noteValidKey(target);
      }
      return found;
    } catch (error) {
      this.#deps.onError(error, "looking up a check");
      return "busy";
    }
  }

  /** Beyond a number of equal successes in a row, the next ones share the outcome of the last one. */
  #enqueue(uuid: string, signal: AcceptedSignal, network: string | null): Promise<Settled> {
    const method = plainMethodOf(signal);
    if (method === null) {
      this.#repeated.delete(uuid);
      return this.#append(uuid, signal, network);
    }
    const second = Math.floor(signal.at / SECOND_MS);
    if (second !== this.#second) {
      this.#second = second;
      this.#repeated.clear();
    }
    const before = this.#repeated.get(uuid);
    if (before === undefined || before.method !== method) {
      const last = this.#append(uuid, signal, network);
      this.#repeated.set(uuid, { method, count: 1, last });
      return last;
    }
    before.count += 1;
    if (before.count > REPEATED_MAX) return this.#share(before.last, signal, network);
    before.last = this.#append(uuid, signal, network);
    return before.last;
  }

  async #share(last: Promise<Settled>, signal: AcceptedSignal, network: string | null): Promise<Settled> {
    const result = await last;
    if (result === "busy") this.#noteRefused(signal, network);
    else this.#thinnedCount += 1;
    return result;
  }

  #append(uuid: string, given: AcceptedSignal, network: string | null): Promise<Settled> {
    const signal: AcceptedSignal =
      given.target.by === "uuid" ? given : { ...given, target: { by: "uuid", uuid } };
    const encoded = encodeForLog(signal);
    const nowMs = this.#deps.monotonic();
    const partition = this.#partitions[partitionOf(uuid, this.#partitions.length)];
    const isFull =
      this.#queuedCount >= QUEUE_SIGNALS_MAX || this.#queuedBytes + encoded.length > QUEUE_BYTES_MAX;
    if (isFull || !this.#isOpen || partition === undefined || partition.isBlocked(nowMs))
      return this.#refuse(signal, network);
    this.#queuedCount += 1;
    this.#queuedBytes += encoded.length;
    return new Promise((resolve) => {
      const settle = (result: "recorded" | "busy") => {
        this.#queuedCount -= 1;
        this.#queuedBytes -= encoded.length;
        if (result === "busy") this.#noteRefused(signal, network);
        resolve(result);
      };
      partition.push({ encoded, at: signal.at, sinceMs: nowMs, settle });
      this.#planFlush();
    });
  }

  /** Signals that arrive in the same turn of the event loop are sent together. */
  #planFlush(): void {
    if (this.#isFlushPlanned) return;
    this.#isFlushPlanned = true;
    setImmediate(() => {
      this.#isFlushPlanned = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (!this.#isOpen) return;
    this.#noteTime();
    this.#distributeReports();
    for (const partition of this.#partitions) {
      if (partition.isReady()) void this.#send(partition);
    }
  }

  /** What waits after a failure is sent with the next tick or ping. */
  async #send(partition: LogPartition): Promise<void> {
    if (await partition.send()) this.#planFlush();
  }

  #distributeReports(): void {
    if (this.#unreportedSinceAt === null) return;
    const nowMs = this.#deps.monotonic();
    if (nowMs - this.#reportedMs < REPORT_EVERY_MS) return;
    this.#reportedMs = nowMs;
    this.#distribute(this.now());
  }

  /**
   * Passes rejected pings on to partitions, whose next records report them. A ping of one check is reported in the
   * partition of the check, or in all partitions if it is blocked, or is not known.
   */
  #distribute(now: Instant): void {
    const refused = this.#refusals.ended(now);
    const attributed = this.#attributed.pending();
    const count = this.#partitions.length;
    const nowMs = this.#deps.monotonic();
    const byPartition = Map.groupBy(attributed.targets, ({ target }) => {
      const number = target.by === "uuid" ? partitionOf(target.uuid, count) : null;
      return number === null || this.#partitions[number]?.isBlocked(nowMs) === true ? null : number;
    });
    for (const [number, partition] of this.#partitions.entries()) {
      const targets = [...(byPartition.get(null) ?? []), ...(byPartition.get(number) ?? [])];
      partition.report({ refused, attributed: { targets, networks: attributed.networks } });
    }
    this.#refusals.markReported(refused.length);
    this.#attributed.markStored(attributed);
    const left = [this.#refusals.sinceAt(now), this.#attributed.restSinceAt()].filter((at) => at !== null);
    this.#unreportedSinceAt = left.length === 0 ? null : Math.min(...left);
  }

  #watermarkAt(oldestAt: Instant | null): Instant {
    const [looking] = this.#lookups;
    const oldest = Math.min(oldestAt ?? Infinity, looking?.at ?? Infinity, this.#heldSinceAt ?? Infinity);
    return watermarkOf({
      // Until then, pauses of this process were noticed.
      now: this.#seen.at,
      oldestUnappliedAt: oldest === Infinity ? null : oldest,
      refusingSinceAt: this.#unreportedSinceAt,
    });
  }

  #tick(): void {
    // What arrived during a gap has been read from the sockets before this tick.
    if (!this.#noteTime() && this.#isListening) this.#heldSinceAt = null;
    const thanMs = this.#seen.ms - WAIT_MS_MAX;
    for (const partition of this.#partitions) partition.settleOlder(thanMs);
    this.#flush();
  }

  /**
   * Whether this process has not run for a while, or the clocks have jumped: the machine was suspended, or the
   * database's clock was set. Pings from that time may still be in the sockets, so the watermark waits for the next
   * tick; a longer time is reported, and partitions take no pings until records are confirmed.
   */
  #noteTime(): boolean {
    const last = this.#seen;
    const seen = { ms: this.#deps.monotonic(), at: this.now() };
    this.#seen = seen;
    const gapMs = Math.max(seen.ms - last.ms, seen.at - last.at);
    if (gapMs <= TICK_GAP_MS_MAX) return false;
    this.#hold(last.at);
    if (gapMs <= HEARTBEAT_GAP_MS_MAX) return true;
    const pause = { refused: [{ from: last.at, to: seen.at }], attributed: NO_REFUSALS };
    for (const partition of this.#partitions) {
      partition.report(pause);
      partition.block();
    }
    return true;
  }

  #hold(at: Instant): void {
    this.#heldSinceAt = Math.min(this.#heldSinceAt ?? at, at);
  }

  #noteSettled(error: unknown): void {
    if (error === null) {
      this.#confirmedCount += 1;
      return;
    }
    this.#unconfirmedCount += 1;
    this.#deps.onError(error, "appending pings to the log");
  }

  /** Whether no ping can be accepted. Heartbeats find out when records are confirmed again. */
  #isBlocked(): boolean {
    const nowMs = this.#deps.monotonic();
    return this.#partitions.every((partition) => partition.isBlocked(nowMs));
  }

  #refuse(signal: AcceptedSignal, network: string | null): Promise<"busy"> {
    this.#noteRefused(signal, network);
    return Promise.resolve("busy");
  }

  /** No ping is accepted, whatever its target. */
  #refuseAll({ at }: AcceptedSignal): Promise<"busy"> {
    this.refused({ at, target: null, network: null });
    return Promise.resolve("busy");
  }

  #noteRefused({ target, at }: AcceptedSignal, network: string | null): void {
    this.refused({ at, target, network });
  }
}

/** The method of a success that carries nothing else, so that several in a row mean the same as one; else null. */
function plainMethodOf({ source, body, rid, exitStatus, lateEnd }: AcceptedSignal): string | null {
  if (source.by !== "http" || source.action !== "success") return null;
  return body === null && rid === null && exitStatus === null && (lateEnd ?? null) === null
    ? source.method
    : null;
}
