// Receives signals and appends them to the log: an edge. A ping is acknowledged when its record is confirmed. Recorders
// read the log and apply them.
import type { Instant, Interval } from "../core/instant.ts";
import { EDGE_PAUSE_MS_MAX, NO_REFUSALS, partitionOf } from "../core/log.ts";
import { NO_PING_SETTINGS, type PingSettings } from "../core/ping-settings.ts";
import type { AcceptedSignal, SignalTarget } from "../core/signal.ts";
import { HEARTBEAT_GAP_MS_MAX, TICK_GAP_MS_MAX, watermarkOf } from "../core/watermark.ts";
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
/** Partitions that are not confirmed for this long no longer hold back the others. */
const TURN_MS_MAX = 20;
/** How often an edge notices that it runs, and sends heartbeats that are due. */
const TICK_MS = 250;
/** Pings of one check per second that are appended; more of them are acknowledged and only counted. */
const SIGNALS_PER_SECOND_MAX = 100;
const SECOND_MS = 1_000;
/** If no record could be confirmed for this long, senders are rejected immediately. */
const BLOCKED_MS_MAX = 3_000;

export type LogIntakeDeps = {
  /** A new one each time: random. */
  newEdge: () => string;
  partitions: number;
  append: LogPartitionDeps["append"];
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
  /** Records that were not confirmed in time. */
  unconfirmedCount: number;
  /** No record could be confirmed for a while. */
  isBlocked: boolean;
};

export class LogIntake implements SignalIntake {
  readonly #deps: LogIntakeDeps;
  readonly #refusals = new Refusals();
  readonly #attributed = new AttributedRefusalSet();
  readonly #creator: CheckCreator;
  readonly #partitions: readonly LogPartition[];
  readonly #perSecond = new Map<string, number>();
  #second = 0;
  #queuedCount = 0;
  #queuedBytes = 0;
  #lookups = 0;
  #takenCount = 0;
  #thinnedCount = 0;
  #unconfirmedCount = 0;
  /** Since when no record was confirmed although one was sent; null: the last one was. */
  #failingSinceMs: number | null = null;
  #hasRefusals = false;
  #isFlushPlanned = false;
  #isTurnUnderWay = false;
  #isOpen = false;
  #timer: NodeJS.Timeout | null = null;
  #tickedMs: number;
  #renewing: Promise<void> | null = null;
  /** It could not register again yet. */
  #mustRenew = false;

  constructor(deps: LogIntakeDeps) {
    this.#deps = deps;
    this.#creator = new CheckCreator(deps);
    this.#tickedMs = deps.monotonic();
    const own: LogPartitionDeps = {
      append: deps.append,
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

  /** Registers in every partition. Throws if a record is not confirmed; pings are accepted after that. */
  async enter(): Promise<void> {
    this.#distributeReports();
    const entered = await Promise.all(this.#partitions.map((partition) => partition.send("enter")));
    if (entered.includes(false)) throw new Error("the log did not confirm the registration of this process");
    this.#isOpen = true;
    this.#tickedMs = this.#deps.monotonic();
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS);
  }

  async accept(signal: AcceptedSignal, options: AcceptOptions): Promise<Acceptance> {
    const acceptance = await this.#accept(signal, options);
    if (acceptance.kind === "recorded" || acceptance.kind === "created") this.#takenCount += 1;
    return acceptance;
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
    this.#hasRefusals = true;
    const isKnown = target !== null && this.#deps.known.knows(target, at);
    if (this.#isBlocked() || !this.#attributed.note({ ...refusal, isKnown })) this.#refusals.note(at);
  }

  state(): LogIntakeState {
    return {
      queued: this.#queuedCount,
      takenCount: this.#takenCount,
      refusedCount: this.#refusals.count + this.#attributed.count,
      thinnedCount: this.#thinnedCount,
      unconfirmedCount: this.#unconfirmedCount,
      isBlocked: this.#isBlocked(),
    };
  }

  /** Accepts nothing more, appends what was accepted, and unregisters. True if everything was confirmed. */
  async leave(): Promise<boolean> {
    this.#isOpen = false;
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    await this.#renewing;
    this.#distributeReports();
    const left = this.#partitions.map(async (partition) => {
      await partition.idle();
      while (partition.length > 0) await partition.send();
      return partition.send("leave");
    });
    return !(await Promise.all(left)).includes(false);
  }

  async #accept(
    signal: AcceptedSignal,
    { create, settings = null, network }: AcceptOptions,
  ): Promise<Acceptance> {
    const result = await this.#take(signal, network);
    if (result !== "unknown" || !create) return acceptanceOf(result);
    const given: PingSettings = settings?.() ?? NO_PING_SETTINGS;
    const made = await this.#creator.create(signal.target, given);
    if (made === "busy") this.#noteRefused({ ...signal, at: this.now() }, network);
    if (made === "unknown" || made === "busy") return acceptanceOf(made);
    const again = await this.#take({ ...signal, at: this.now() }, network);
    if (again !== "recorded" || made !== "created") return acceptanceOf(again);
    return { kind: "created", warning: given.warning };
  }

  #take(signal: AcceptedSignal, network: string | null): Promise<Settled> {
    if (!this.#isOpen || this.#isBlocked() || this.#deps.refusal() !== null)
      return this.#refuse(signal, network);
    const { target } = signal;
    if (target.by === "uuid" && this.#deps.known.knows(target, signal.at)) {
      return this.#enqueue(target.uuid, signal, network);
    }
    return this.#lookUp(signal, network);
  }

  async #lookUp(signal: AcceptedSignal, network: string | null): Promise<Settled> {
    const found = await this.#find(signal.target);
    if (found === "busy") return this.#refuse({ ...signal, at: this.now() }, network);
    if (typeof found === "string") return found;
    // The watermark may have passed it in the meantime.
    return this.#enqueue(found.uuid, { ...signal, at: this.now() }, network);
  }

  async #find(target: SignalTarget): Promise<{ uuid: string } | "unknown" | "ambiguous" | "busy"> {
    if (this.#lookups >= LOOKUPS_MAX) return "busy";
    this.#lookups += 1;
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
    } finally {
      this.#lookups -= 1;
    }
  }

  #enqueue(uuid: string, signal: AcceptedSignal, network: string | null): Promise<Settled> {
    if (this.#isTooMany(uuid, signal)) {
      this.#thinnedCount += 1;
      return Promise.resolve("recorded");
    }
    const { target } = signal;
    const encoded = encodeForLog(target.by === "uuid" ? signal : { ...signal, target: { by: "uuid", uuid } });
    const isFull =
      this.#queuedCount >= QUEUE_SIGNALS_MAX || this.#queuedBytes + encoded.length > QUEUE_BYTES_MAX;
    if (isFull || !this.#isOpen) return this.#refuse(signal, network);
    this.#queuedCount += 1;
    this.#queuedBytes += encoded.length;
    return new Promise((resolve) => {
      const settle = (result: "recorded" | "busy") => {
        this.#queuedCount -= 1;
        this.#queuedBytes -= encoded.length;
        if (result === "busy") this.#noteRefused(signal, network);
        resolve(result);
      };
      const waiting = { encoded, at: signal.at, sinceMs: this.#deps.monotonic(), settle };
      this.#partitions[partitionOf(uuid, this.#partitions.length)]?.push(waiting);
      this.#planFlush();
    });
  }

  /** Only plain successes are dropped: a start, a failure, or a body may mean something else. */
  #isTooMany(uuid: string, { source, body, rid, at }: AcceptedSignal): boolean {
    const second = Math.floor(at / SECOND_MS);
    if (second !== this.#second) {
      this.#second = second;
      this.#perSecond.clear();
    }
    const count = (this.#perSecond.get(uuid) ?? 0) + 1;
    this.#perSecond.set(uuid, count);
    if (count <= SIGNALS_PER_SECOND_MAX) return false;
    return source.by === "http" && source.action === "success" && body === null && rid === null;
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

  /**
   * Sends the next record of every partition that has one. What arrives before they are confirmed waits for the next
   * turn, so that records and requests are few and large under load.
   */
  #flush(): void {
    if (!this.#isOpen) return;
    this.#distributeReports();
    if (this.#isTurnUnderWay) return;
    const sends: Promise<void>[] = [];
    for (const partition of this.#partitions) {
      if (partition.isReady()) sends.push(partition.send().then(() => this.#afterSend(partition)));
    }
    if (sends.length === 0) return;
    this.#isTurnUnderWay = true;
    let isOver = false;
    const end = () => {
      clearTimeout(timer);
      if (isOver) return;
      isOver = true;
      this.#isTurnUnderWay = false;
      if (this.#queuedCount > 0) this.#planFlush();
    };
    const timer = setTimeout(end, TURN_MS_MAX);
    void Promise.all(sends).then(end);
  }

  #afterSend(partition: LogPartition): void {
    if (partition.length > 0) this.#planFlush();
  }

  /** Every partition gets what concerns all checks; a rejected ping of one check is reported in its partition. */
  #distributeReports(): void {
    if (!this.#hasRefusals) return;
    const now = this.now();
    const refused = this.#refusals.ended(now);
    const attributed = this.#attributed.pending();
    this.#hasRefusals = this.#refusals.sinceAt(now) !== null || this.#attributed.restSinceAt() !== null;
    if (refused.length + attributed.targets.length + attributed.networks.length === 0) return;
    const count = this.#partitions.length;
    const byPartition = Map.groupBy(attributed.targets, ({ target }) =>
      target.by === "uuid" ? partitionOf(target.uuid, count) : 0,
    );
    for (const [number, partition] of this.#partitions.entries()) {
      partition.report(refused, { targets: byPartition.get(number) ?? [], networks: attributed.networks });
    }
    this.#refusals.markReported(refused.length);
    this.#attributed.markStored(attributed);
  }

  #watermarkAt(oldestAt: Instant | null): Instant {
    const now = this.now();
    return watermarkOf({
      now,
      oldestUnappliedAt: oldestAt,
      refusingSinceAt: this.#refusals.sinceAt(now),
      unstoredSinceAt: this.#attributed.restSinceAt(),
    });
  }

  #tick(): void {
    const nowMs = this.#deps.monotonic();
    const gapMs = nowMs - this.#tickedMs;
    this.#tickedMs = nowMs;
    if (gapMs > EDGE_PAUSE_MS_MAX) this.#mustRenew = true;
    if (gapMs > HEARTBEAT_GAP_MS_MAX + TICK_GAP_MS_MAX) this.#reportPause(gapMs);
    if (!this.#mustRenew) return this.#flush();
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = null;
    });
  }

  /** This process did not run for so long that others may have declared it lost: it registers again. */
  async #renew(): Promise<void> {
    this.#isOpen = false;
    await Promise.all(this.#partitions.map((partition) => partition.idle()));
    const edge = this.#deps.newEdge();
    for (const partition of this.#partitions) partition.renew(edge);
    try {
      await this.enter();
      this.#mustRenew = false;
    } catch (error) {
      // The next tick tries again.
      this.#deps.onError(error, "registering again");
    }
  }

  #reportPause(gapMs: number): void {
    const now = this.now();
    const pause: Interval = { from: now - Math.min(gapMs, now), to: now };
    for (const partition of this.#partitions) partition.report([pause], NO_REFUSALS);
  }

  #noteSettled(error: unknown): void {
    if (error === null) {
      this.#failingSinceMs = null;
      return;
    }
    this.#unconfirmedCount += 1;
    this.#failingSinceMs ??= this.#deps.monotonic();
    this.#deps.onError(error, "appending pings to the log");
  }

  /** While it is blocked, heartbeats find out whether records are confirmed again. */
  #isBlocked(): boolean {
    return this.#failingSinceMs !== null && this.#deps.monotonic() - this.#failingSinceMs > BLOCKED_MS_MAX;
  }

  #refuse(signal: AcceptedSignal, network: string | null): Promise<"busy"> {
    this.#noteRefused(signal, network);
    return Promise.resolve("busy");
  }

  #noteRefused({ target, at }: AcceptedSignal, network: string | null): void {
    this.refused({ at, target, network });
  }
}
