// The intake that records signals in the database. It decides whether a signal is accepted directly, accepted through
// the spool, or rejected. Batches are created and numbered in batches/batch-queue.ts.
import type { Instant, Interval } from "../core/instant.ts";
import type { AcceptedSignal, SignalTarget } from "../core/signal.ts";
import type { AttributedRefusals } from "../core/watermark.ts";
import { ConcurrencyByKey } from "../lib/concurrency-by-key.ts";
import { BatchQueue, type Renewal } from "./batches/batch-queue.ts";
import type { Identity, IntakeDeps } from "./batches/dependencies.ts";
import type { DropReason } from "./batches/outcome-counts.ts";
import { AttributedRefusalSet, Refusals } from "./batches/refusals.ts";
import type { Settled } from "./batches/waiting-queue.ts";
import type { Acceptance, AcceptOptions, CreateOption, Refusal, Resolution, SignalIntake } from "./intake.ts";

/** Concurrent lookups of unknown targets while signals go to the spool. */
const LOOKUPS_MAX = 50;
/** Concurrent creations of checks; one connection is left for lookups, and one key leaves room for the others. */
const CREATES_MAX = 3;
const CREATES_PER_KEY_MAX = 2;
/** Beyond this number per key, and after this time, the sender is asked to retry. */
const CREATES_WAITING_PER_KEY_MAX = 1_000;
const CREATE_WAIT_MS_MAX = 1_000;
/** Ping keys that are remembered as valid. All other keys share one quota, so that made-up keys gain nothing. */
const VALID_KEYS_MAX = 10_000;
/** The key of that shared quota. No ping key is empty. */
const UNVERIFIED = "";
/** If no signal could be acknowledged for this long, senders are rejected immediately. */
const BLOCKED_MS_MAX = 1_000;
const RETRY_AFTER_SECONDS = 5;

/** The state of the intake, for heartbeats, metrics and the admin. */
export type IntakeState = {
  /** Receive time of the oldest signal that was accepted but not applied; null if there is none. */
  oldestUnappliedAt: Instant | null;
  /** Since when no ping could be accepted; null while pings are accepted. */
  refusingSinceAt: Instant | null;
  /** Finished intervals of that kind. */
  refused: readonly Interval[];
  /** Rejections that concern only some checks and are not stored yet: as many as one heartbeat stores. */
  attributed: AttributedRefusals;
  /** Since when there are more of them; null: there are not. */
  unstoredSinceAt: Instant | null;
  refusedCount: number;
  /** Acknowledged signals. */
  takenCount: number;
  /** Signals that were acknowledged and spooled but could not be recorded, by reason. */
  dropped: Readonly<Record<DropReason, number>>;
  /** Signals that the database rejected, or that could not be decoded: quarantined with the reason. */
  rejectedCount: number;
  /** Signals that were rejected because of an error in our code. */
  failedCount: number;
  /** Signals that were recorded from the spool. */
  replayedCount: number;
  isSpooling: boolean;
  /**
   * During the fallback: whether the last write to the database succeeded, so that unknown checks can be looked up.
   */
  isAnswering: boolean;
  /** No ping can be accepted. */
  isBlocked: boolean;
  queued: number;
  /** The newest batch under the current ID that the database has confirmed. */
  confirmed: { intakeId: string; seq: number };
};

export class DatabaseIntake implements SignalIntake {
  readonly #deps: IntakeDeps;
  readonly #refusals = new Refusals();
  readonly #attributed = new AttributedRefusalSet();
  readonly #creates: ConcurrencyByKey;
  /** Ping keys that this process has seen to be valid. The most recently used is last. */
  readonly #validKeys = new Set<string>();
  readonly #line: BatchQueue;
  #lookups = 0;
  #takenCount = 0;
  #isStopped = false;

  constructor(deps: IntakeDeps) {
    this.#deps = deps;
    this.#creates = new ConcurrencyByKey({
      runningMax: CREATES_MAX,
      perKeyMax: CREATES_PER_KEY_MAX,
      waitingPerKeyMax: CREATES_WAITING_PER_KEY_MAX,
    });
    this.#line = new BatchQueue({
      ...deps,
      onRefused: ({ signal, network }) => this.#noteRefused(signal, network),
    });
  }

  now(): Instant {
    return this.#deps.clock.now();
  }

  async accept(signal: AcceptedSignal, options: AcceptOptions): Promise<Acceptance> {
    const acceptance = await this.#accept(signal, options);
    if (acceptance.kind === "recorded" || acceptance.kind === "created") this.#takenCount += 1;
    return acceptance;
  }

  async #accept(signal: AcceptedSignal, { create, network }: AcceptOptions): Promise<Acceptance> {
    const result = await this.#take(signal, network);
    if (result === "recorded") this.#noteValidKey(signal.target);
    if (result !== "unknown" || !create) return acceptanceOf(result);
    const made = await this.#create(signal.target);
    if (made === "busy") this.#noteRefused({ ...signal, at: this.now() }, network);
    if (made === "unknown" || made === "busy") return acceptanceOf(made);
    // The watermark may have passed it in the meantime.
    const again = await this.#take({ ...signal, at: this.now() }, network);
    return again === "recorded" && made === "created" ? { kind: "created" } : acceptanceOf(again);
  }

  async resolve(target: SignalTarget, { create }: CreateOption): Promise<Resolution> {
    try {
      const found = await this.#deps.find(target);
      if (found === "known") this.#noteValidKey(target);
      if (found !== "unknown" || !create) return found;
    } catch (error) {
      this.#deps.onError(error, "looking up a check");
      return this.#deps.known.knows(target, this.now()) ? "known" : "busy";
    }
    const made = await this.#create(target);
    return made === "created" || made === "exists" ? "known" : made;
  }

  refused(refusal: Refusal): void {
    const { target, at } = refusal;
    const isKnown = target !== null && this.#deps.known.knows(target, at);
    if (this.#isBlocked() || !this.#attributed.note({ ...refusal, isKnown })) this.#refusals.note(at);
  }

  state(): IntakeState {
    const now = this.now();
    this.#line.fallback.tidy();
    return {
      oldestUnappliedAt: this.#line.oldestAt,
      refusingSinceAt: this.#refusals.sinceAt(now),
      refused: this.#refusals.ended(now),
      attributed: this.#attributed.pending(),
      unstoredSinceAt: this.#attributed.restSinceAt(),
      refusedCount: this.#refusals.count + this.#attributed.count,
      takenCount: this.#takenCount,
      dropped: this.#line.outcomes.dropped,
      rejectedCount: this.#line.outcomes.rejected,
      failedCount: this.#line.outcomes.failed,
      replayedCount: this.#line.outcomes.replayed,
      isSpooling: this.#line.fallback.isOn,
      isAnswering: this.#line.fallback.isAnswering,
      isBlocked: this.#line.fallback.isBlocked,
      queued: this.#line.length,
      confirmed: this.#line.confirmed,
    };
  }

  /** The first `count` intervals of rejections have been reported. */
  markRefusalsReported(count: number): void {
    this.#refusals.markReported(count);
  }

  /** These are stored. */
  markRefusalsStored(stored: AttributedRefusals): void {
    this.#attributed.markStored(stored);
  }

  /** Searches for spools of intakes that are gone. Must also be called before the first signal. */
  adopt(): Promise<void> {
    return this.#line.fallback.adopt();
  }

  /** The database is missing batches that it had confirmed: they are sent again before anything else. */
  resend(): void {
    this.#line.fallback.resend();
  }

  /**
   * Numbers batches under another ID once none of the old ID is in progress; resolves with the identity that is out
   * of use.
   */
  renew(renewal: Renewal): Promise<Identity> {
    return this.#line.renew(renewal);
  }

  /** Accepts nothing more, and settles accepted signals; true if the database has everything. */
  stop({ withinMs }: { withinMs: number }): Promise<boolean> {
    this.#isStopped = true;
    return this.#line.stop(this.#deps.monotonic() + withinMs);
  }

  #take(signal: AcceptedSignal, network: string | null): Promise<Settled> {
    const { fallback } = this.#line;
    if (this.#isStopped) return this.#refuse(signal, network);
    if (!fallback.isOn) return this.#line.enqueue(signal, network);
    // Short problems are waited out.
    if (fallback.isBlocked) {
      return fallback.blockedMs() > BLOCKED_MS_MAX
        ? this.#refuse(signal, network)
        : this.#line.enqueue(signal, network);
    }
    if (!this.#deps.mayPromise()) return this.#refuse(signal, network);
    const isKnown = this.#deps.known.knows(signal.target, signal.at);
    return isKnown ? this.#line.enqueue(signal, network) : this.#lookUp(signal, network);
  }

  /** No ping can be accepted, whatever its target. */
  #isBlocked(): boolean {
    const { fallback } = this.#line;
    return fallback.isBlocked || (fallback.isOn && !this.#deps.mayPromise());
  }

  /**
   * During the fallback, a target that was never seen is not acknowledged unless it can be looked up in the database.
   */
  async #lookUp(signal: AcceptedSignal, network: string | null): Promise<Settled> {
    if (!this.#line.fallback.isAnswering || this.#lookups >= LOOKUPS_MAX)
      return this.#refuse(signal, network);
    this.#lookups += 1;
    try {
      const found = await this.#deps.find(signal.target);
      if (found !== "known") return found;
    } catch (error) {
      this.#deps.onError(error, "looking up a check");
      return await this.#refuse(signal, network);
    } finally {
      this.#lookups -= 1;
    }
    this.#deps.known.remember(signal.target, signal.at);
    return this.#take({ ...signal, at: this.now() }, network);
  }

  async #create(target: SignalTarget): Promise<"created" | "exists" | "unknown" | "busy"> {
    const { fallback } = this.#line;
    if (fallback.isOn && !fallback.isAnswering) return "busy";
    const isValid = target.by === "slug" && this.#validKeys.has(target.pingKey);
    const end = await this.#creates.begin(isValid ? target.pingKey : UNVERIFIED, {
      withinMs: CREATE_WAIT_MS_MAX,
    });
    if (end === null) return "busy";
    try {
      const made = await this.#deps.create(target);
      if (made !== "unknown") this.#noteValidKey(target);
      return made;
    } catch (error) {
      this.#deps.onError(error, "creating a check");
      return "busy";
    } finally {
      end();
    }
  }

  #noteValidKey(target: SignalTarget): void {
    if (target.by !== "slug") return;
    this.#validKeys.delete(target.pingKey);
    this.#validKeys.add(target.pingKey);
    if (this.#validKeys.size <= VALID_KEYS_MAX) return;
    const [oldest = ""] = this.#validKeys;
    this.#validKeys.delete(oldest);
  }

  #refuse(signal: AcceptedSignal, network: string | null): Promise<"busy"> {
    this.#noteRefused(signal, network);
    return Promise.resolve("busy");
  }

  #noteRefused({ target, at }: AcceptedSignal, network: string | null): void {
    this.refused({ at, target, network });
  }
}

function acceptanceOf(result: Settled): Acceptance {
  switch (result) {
    case "recorded":
    // The database rejected the signal, and it was quarantined with the reason: it is on disk anyway.
    case "rejected":
      return { kind: "recorded" };
    case "unknown":
      return { kind: "unknown" };
    case "ambiguous":
      return { kind: "ambiguous" };
    case "busy":
    case "failed":
      return { kind: "busy", retryAfterSeconds: RETRY_AFTER_SECONDS };
  }
}
