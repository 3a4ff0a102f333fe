// Receives signals from HTTP and SMTP and makes them durable: accept, wait in a lane, numbered batch, database or
// spool, response. Decides here whether a signal is accepted; lane.ts forms batches, recorder.ts stores them.
import type { Instant, Interval } from "../core/instant.ts";
import { NO_PING_SETTINGS, type PingSettings } from "../core/ping-settings.ts";
import { type AcceptedSignal, LANES, laneOf, type SignalTarget } from "../core/signal.ts";
import type { AttributedRefusals } from "../core/watermark.ts";
import { CheckCreator, type CreateCheck, type Created } from "./check-creator.ts";
import { bytesOf, Lane, type LaneDeps } from "./lane.ts";
import {
  BatchRecorder,
  type DropReason,
  type Identity,
  type RecorderDeps,
  type Renewal,
  type Settled,
} from "./recorder.ts";
import { AttributedRefusalSet, type Refusal, Refusals } from "./refusals.ts";

/** The outcome of a signal. */
export type Acceptance =
  /** On stable storage, for a check that exists. */
  | { kind: "recorded" }
  /** The same, for a check that was created for it. The warning says which settings of the ping were ignored. */
  | { kind: "created"; warning?: string | null }
  /** The check does not exist, and was not created. */
  | { kind: "unknown" }
  /** Several checks of the project share the slug. */
  | { kind: "ambiguous" }
  /** Not acknowledged, although it may have been recorded: the sender should retry. */
  | { kind: "busy"; retryAfterSeconds: number };

/** What a target names; "busy" if that is unknown now. */
export type Resolution = "known" | "unknown" | "ambiguous" | "busy";

export type CreateOption = {
  /** Create the check if it does not exist. Only possible for a target with a slug. */
  create: boolean;
  /** Reads the settings that the ping carries; called only if the check is created. Null or absent: none. */
  settings?: (() => PingSettings) | null;
};

export type AcceptOptions = CreateOption & {
  /** The network of the sender (`networkOf`), if it is certain; null: unknown. */
  network: string | null;
};

export type SignalIntake = {
  /** The database's time as known to this process; it never goes backwards. */
  now(): Instant;
  /**
   * Accepts a completely received signal, in the order of calls. `signal.at` must be obtained from `now()` without
   * waiting in between, because the watermark relies on it. Settles within the response time limit.
   */
  accept(signal: AcceptedSignal, options: AcceptOptions): Promise<Acceptance>;
  /** Excuses missing pings of the checks that the rejected ping may have been for: one check, one network, or all. */
  refused(refusal: Refusal): void;
  /** Looks up (or creates) the check of a request that will be rejected for another reason; records nothing. */
  resolve(target: SignalTarget, options: CreateOption): Promise<Resolution>;
};

/** Signals waiting for batches, in all lanes; beyond this number, senders get 503. */
const QUEUE_SIGNALS_MAX = 20_000;
const QUEUE_BYTES_MAX = 128 * 1024 * 1024;
/**
 * Targets that were never seen get this share of the queue: a flood of made-up UUIDs leaves the rest to real checks.
 */
const UNKNOWN_SIGNALS_MAX = 5_000;
const UNKNOWN_BYTES_MAX = 32 * 1024 * 1024;
/** A signal that has waited this long is rejected: the response must be sent within two seconds. */
const WAIT_MS_MAX = 1_800;
const WAIT_CHECK_MS = 50;
/** Concurrent lookups of unknown targets while signals go to the spool. */
const LOOKUPS_MAX = 50;
/** If no signal could be acknowledged for this long, senders are rejected immediately. */
const BLOCKED_MS_MAX = 1_000;
const RETRY_AFTER_SECONDS = 5;

export type IntakeDeps = RecorderDeps & {
  find: (target: SignalTarget) => Promise<"known" | "unknown" | "ambiguous">;
  create: CreateCheck;
  /** Whether a signal that is only spooled may be acknowledged. */
  mayPromise: () => boolean;
};

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
  /** The newest batch of each lane under the current ID that the database has confirmed. */
  confirmed: { intakeId: string; seqs: readonly number[] };
};

export class DatabaseIntake implements SignalIntake {
  readonly #deps: IntakeDeps;
  readonly #refusals = new Refusals();
  readonly #attributed = new AttributedRefusalSet();
  readonly #creator: CheckCreator;
  readonly #recorder: BatchRecorder;
  readonly #lanes: readonly Lane[];
  #waitCheck: NodeJS.Timeout | null = null;
  #lookups = 0;
  #takenCount = 0;
  #isStopped = false;

  constructor(deps: IntakeDeps) {
    this.#deps = deps;
    this.#creator = new CheckCreator(deps);
    const recorder = new BatchRecorder(deps);
    const isKnown = ({ target, at }: AcceptedSignal) => deps.known.knows(target, at);
    const onRefused: LaneDeps["onRefused"] = ({ signal, network }) => this.#noteRefused(signal, network);
    this.#recorder = recorder;
    this.#lanes = Array.from(
      { length: LANES },
      (_, lane) => new Lane(lane, { recorder, isKnown, onRefused }),
    );
  }

  now(): Instant {
    return this.#deps.clock.now();
  }

  async accept(signal: AcceptedSignal, options: AcceptOptions): Promise<Acceptance> {
    const acceptance = await this.#accept(signal, options);
    if (acceptance.kind === "recorded" || acceptance.kind === "created") this.#takenCount += 1;
    return acceptance;
  }

  async #accept(
    signal: AcceptedSignal,
    { create, settings = null, network }: AcceptOptions,
  ): Promise<Acceptance> {
    const result = await this.#take(signal, network);
    if (result === "recorded") this.#creator.noteValidKey(signal.target);
    if (result !== "unknown" || !create) return acceptanceOf(result);
    const given = settings?.() ?? NO_PING_SETTINGS;
    const made = await this.#create(signal.target, given);
    if (made === "busy") this.#noteRefused({ ...signal, at: this.now() }, network);
    if (made === "unknown" || made === "busy") return acceptanceOf(made);
    // The watermark may have passed it in the meantime.
    const again = await this.#take({ ...signal, at: this.now() }, network);
    if (again !== "recorded" || made !== "created") return acceptanceOf(again);
    return { kind: "created", warning: given.warning };
  }

  async resolve(target: SignalTarget, { create, settings = null }: CreateOption): Promise<Resolution> {
    try {
      const found = await this.#deps.find(target);
      if (found === "known") this.#creator.noteValidKey(target);
      if (found !== "unknown" || !create) return found;
    } catch (error) {
      this.#deps.onError(error, "looking up a check");
      return this.#deps.known.knows(target, this.now()) ? "known" : "busy";
    }
    const made = await this.#create(target, settings?.() ?? NO_PING_SETTINGS);
    return made === "created" || made === "exists" ? "known" : made;
  }

  refused(refusal: Refusal): void {
    const { target, at } = refusal;
    const isKnown = target !== null && this.#deps.known.knows(target, at);
    if (this.#isBlocked() || !this.#attributed.note({ ...refusal, isKnown })) this.#refusals.note(at);
  }

  state(): IntakeState {
    const now = this.now();
    const recorder = this.#recorder;
    return {
      oldestUnappliedAt: this.#oldestAt(),
      refusingSinceAt: this.#refusals.sinceAt(now),
      refused: this.#refusals.ended(now),
      attributed: this.#attributed.pending(),
      unstoredSinceAt: this.#attributed.restSinceAt(),
      refusedCount: this.#refusals.count + this.#attributed.count,
      takenCount: this.#takenCount,
      dropped: { ...recorder.counts.dropped },
      rejectedCount: recorder.counts.rejected,
      failedCount: recorder.counts.failed,
      replayedCount: recorder.counts.replayed,
      isSpooling: recorder.isSpooling,
      isAnswering: recorder.isAnswering,
      isBlocked: recorder.isBlocked,
      queued: this.#queued("length"),
      confirmed: recorder.confirmed,
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
    return this.#recorder.adopt();
  }

  /** The database has all confirmed batches: those confirmed long ago need not be kept. */
  tidy(): void {
    this.#recorder.tidy();
  }

  /** The database is missing batches that it had confirmed: they are sent again before anything else. */
  resend(): void {
    this.#recorder.resend();
  }

  /**
   * Numbers batches under another ID once none of the old ID is in progress; resolves with the identity that is out
   * of use.
   */
  renew(renewal: Renewal): Promise<Identity> {
    return this.#recorder.renew(renewal);
  }

  /** Accepts nothing more, and settles accepted signals; true if the database has everything. */
  async stop({ withinMs }: { withinMs: number }): Promise<boolean> {
    this.#isStopped = true;
    const byMs = this.#deps.monotonic() + withinMs;
    await Promise.all(this.#lanes.map((lane) => lane.finish()));
    return this.#recorder.stop(byMs);
  }

  #take(signal: AcceptedSignal, network: string | null): Promise<Settled> {
    const recorder = this.#recorder;
    if (this.#isStopped) return this.#refuse(signal, network);
    if (!recorder.isSpooling) return this.#enqueue(signal, network);
    // Short problems are waited out.
    if (recorder.isBlocked) {
      return recorder.blockedMs() > BLOCKED_MS_MAX
        ? this.#refuse(signal, network)
        : this.#enqueue(signal, network);
    }
    if (!this.#deps.mayPromise()) return this.#refuse(signal, network);
    const isKnown = this.#deps.known.knows(signal.target, signal.at);
    return isKnown ? this.#enqueue(signal, network) : this.#lookUp(signal, network);
  }

  /** Resolves with the outcome of the signal within two seconds. */
  #enqueue(signal: AcceptedSignal, network: string | null): Promise<Settled> {
    if (!this.#hasRoom(signal)) return this.#refuse(signal, network);
    this.#waitCheck ??= setInterval(() => this.#checkWaiting(), WAIT_CHECK_MS);
    return new Promise((settle) => {
      this.#lanes[laneOf(signal.target)]?.push({ signal, network, sinceMs: this.#deps.monotonic(), settle });
    });
  }

  #hasRoom(signal: AcceptedSignal): boolean {
    const count = this.#queued("length");
    const bytes = this.#queued("bytes") + bytesOf(signal);
    if (count >= QUEUE_SIGNALS_MAX || bytes > QUEUE_BYTES_MAX) return false;
    const isShareUsed = count >= UNKNOWN_SIGNALS_MAX || bytes > UNKNOWN_BYTES_MAX;
    return !isShareUsed || this.#deps.known.knows(signal.target, signal.at);
  }

  #queued(what: "length" | "bytes"): number {
    let sum = 0;
    for (const lane of this.#lanes) sum += lane[what];
    return sum;
  }

  #checkWaiting(): void {
    const thanMs = this.#deps.monotonic() - WAIT_MS_MAX;
    for (const lane of this.#lanes) lane.settleOlder(thanMs);
    if (this.#waitCheck === null || this.#lanes.some(({ isIdle }) => !isIdle)) return;
    clearInterval(this.#waitCheck);
    this.#waitCheck = null;
  }

  /** Receive time of the oldest signal that was accepted but not applied; null if there is none. */
  #oldestAt(): Instant | null {
    const pending = [this.#recorder.oldestAt, ...this.#lanes.map(({ oldestAt }) => oldestAt)];
    const oldest = Math.min(...pending.map((at) => at ?? Infinity));
    return oldest === Infinity ? null : oldest;
  }

  /** No ping can be accepted, whatever its target. */
  #isBlocked(): boolean {
    const recorder = this.#recorder;
    return recorder.isBlocked || (recorder.isSpooling && !this.#deps.mayPromise());
  }

  /**
   * During the fallback, a target that was never seen is not acknowledged unless it can be looked up in the database.
   */
  async #lookUp(signal: AcceptedSignal, network: string | null): Promise<Settled> {
    if (!this.#recorder.isAnswering || this.#lookups >= LOOKUPS_MAX) return this.#refuse(signal, network);
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

  async #create(target: SignalTarget, settings: PingSettings): Promise<Created> {
    const { isSpooling, isAnswering } = this.#recorder;
    if (isSpooling && !isAnswering) return "busy";
    return this.#creator.create(target, settings);
  }

  #refuse(signal: AcceptedSignal, network: string | null): Promise<"busy"> {
    this.#noteRefused(signal, network);
    return Promise.resolve("busy");
  }

  #noteRefused({ target, at }: AcceptedSignal, network: string | null): void {
    this.refused({ at, target, network });
  }
}

/** The outcome of a signal for its sender. */
export function acceptanceOf(result: Settled): Acceptance {
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
