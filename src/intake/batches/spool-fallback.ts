// The fallback to the spool: batches that the database did not confirm are kept on disk under their numbers and
// replayed later, oldest first. The fallback ends when the database has everything.
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import type { Instant } from "../../core/instant.ts";
import type { AcceptedSignal, Batch } from "../../core/signal.ts";
import type { BatchSpool, Identity, IntakeDeps, Numbered, SpooledBatch } from "./dependencies.ts";
import { type Recorded, Replay } from "./replay.ts";

/** No sender waits for a replayed batch, and the signals of a failing batch are recorded one by one. */
const REPLAY_MS_MAX = 10_000;
/** Pause between two attempts to record a batch. */
const RETRY_MS = 250;
/**
 * After this many attempts of a batch, signals that our own code fails on are quarantined, so that later batches can
 * proceed.
 */
const TRIES_MAX = 5;
/**
 * Signals are collected for at least this long, and until the database has accepted this many batches: otherwise
 * small batches would be added faster than they are replayed.
 */
const COLLECT_MS_MIN = 50;
const COLLECT_REPLAYS = 2;
/** Maximum wait of a sender for this. */
const COLLECT_MS_MAX = 1_000;
const COLLECT_CHECK_MS = 5;

/** The outcome of a batch, and how many of its signals could not be decoded. */
export type Applied = { result: Recorded; unreadableCount: number };

/** What the fallback needs of the batch queue that it is part of. */
export type BatchQueueView = {
  identity(): Identity;
  /** The newest batch of the current identity that the database has confirmed. */
  confirmed(): { intakeId: string; seq: number };
  /** Settles when the batch in flight has ended; null if there is none. */
  landing(): Promise<void> | null;
  /** The database has the batch. */
  onApplied(batch: Batch, applied: Applied): void;
  /** The database has everything. */
  onOver(): void;
};

export type SpoolFallbackDeps = Pick<
  IntakeDeps,
  "record" | "skipTo" | "closeOrphan" | "hasEntered" | "clock" | "onError" | "monotonic"
> & { line: BatchQueueView };

export class SpoolFallback {
  readonly #deps: SpoolFallbackDeps;
  readonly #replay: Replay;
  #isOn = false;
  #isAnswering = false;
  #spooledAt: Instant | null = null;
  #beganAtMs = 0;
  /** Not confirmed, and its senders have been notified of that. */
  #stuck: Numbered | null = null;
  #stuckAtMs = 0;
  #mustResend = false;
  #appendCount = 0;
  #replayCount = 0;
  #draining: Promise<void> | null = null;
  #stopByMs: number | null = null;
  /** The batch that was tried last, and the number of attempts. */
  #tried = { name: "", count: 0 };

  constructor(deps: SpoolFallbackDeps) {
    this.#deps = deps;
    const { monotonic } = deps;
    const giveUpAtMs = () => Math.min(monotonic() + REPLAY_MS_MAX, this.#stopByMs ?? Infinity);
    this.#replay = new Replay({
      record: (batch, unreadable) => {
        const quarantinesFailed = this.#countTry(batch) > TRIES_MAX;
        return deps.record(batch, {
          replayed: true,
          unreadable,
          giveUpAtMs: giveUpAtMs(),
          quarantinesFailed,
        });
      },
      skipTo: (batch) => deps.skipTo(batch),
      monotonic,
    });
  }

  /** While it is active, batches reach the database only through here. */
  get isOn(): boolean {
    return this.#isOn;
  }

  /** Whether the last write to the database succeeded. */
  get isAnswering(): boolean {
    return this.#isAnswering;
  }

  /**
   * No signal can be acknowledged: there is no spool, or it did not accept a batch, which later ones must not
   * overtake.
   */
  get isBlocked(): boolean {
    return this.#isOn && (this.#stuck !== null || this.#deps.line.identity().spool === null);
  }

  /** How long no signal could be acknowledged. */
  blockedMs(): number {
    if (!this.isBlocked) return 0;
    return this.#deps.monotonic() - (this.#stuck === null ? this.#beganAtMs : this.#stuckAtMs);
  }

  /** Receive time of the oldest signal that waits here. */
  get oldestAt(): Instant | null {
    const stuckAt = this.#stuck?.oldestAt ?? null;
    if (stuckAt === null || this.#spooledAt === null) return stuckAt ?? this.#spooledAt;
    return Math.min(stuckAt, this.#spooledAt);
  }

  /** Records that the database has confirmed a batch that was recorded directly. */
  confirm(batch: Batch): void {
    this.#replay.confirm(batch);
  }

  /** Drops batches that were confirmed long ago. */
  tidy(): void {
    this.#replay.tidy();
  }

  /** Searches for spools of intakes that are gone. An unregistered intake can also only record through here. */
  async adopt(): Promise<void> {
    const left = (await this.#deps.line.identity().spool?.oldest()) ?? null;
    if (left !== null) {
      const oldestAt = oldestOf(left.signals) ?? this.#deps.clock.now();
      this.#spooledAt = Math.min(this.#spooledAt ?? oldestAt, oldestAt);
    }
    if (left !== null || !this.#deps.hasEntered()) this.#begin();
  }

  /** The database is missing batches that it had confirmed: they are sent again before anything else. */
  resend(): void {
    this.#mustResend = true;
    this.#begin();
  }

  #begin(): void {
    this.#turnOn();
    this.#draining ??= this.#drain();
  }

  #turnOn(): void {
    if (!this.#isOn) this.#beganAtMs = this.#deps.monotonic();
    this.#isOn = true;
  }

  /** Stores a batch on disk; false if that failed, and then nothing may follow until it is settled. */
  async append(numbered: Numbered, { mustResend = false } = {}): Promise<boolean> {
    this.#turnOn();
    this.#mustResend ||= mustResend;
    const isKept = await this.#keep(numbered);
    if (!isKept) {
      this.#stuck = numbered;
      this.#stuckAtMs = this.#deps.monotonic();
    }
    this.#begin();
    return isKept;
  }

  /** Resolves when the next batch may be created: after collecting for a while, or when the fallback has ended. */
  async collect(isFull: () => boolean): Promise<void> {
    const sinceMs = this.#deps.monotonic();
    const replaysBefore = this.#replayCount;
    const hasCollected = () => {
      const collectedMs = this.#deps.monotonic() - sinceMs;
      if (!this.#isOn || isFull() || collectedMs >= COLLECT_MS_MAX) return true;
      if (collectedMs < COLLECT_MS_MIN) return false;
      return !this.#isAnswering || this.#replayCount - replaysBefore >= COLLECT_REPLAYS;
    };
    while (!hasCollected()) await pause(COLLECT_CHECK_MS);
  }

  /**
   * Gives up the unconfirmed batch, together with the ID it was numbered under. The contents of the old spool must be
   * in the new one by now.
   */
  abandon(): void {
    this.#stuck = null;
    this.#begin();
  }

  /** Records as much as possible in the database until then; true if it has everything. */
  async stop(byMs: number): Promise<boolean> {
    this.#stopByMs = byMs;
    // A running attempt may take longer; its outcome is determined by the next start.
    if (this.#draining !== null) await Promise.race([this.#draining, pause(byMs - this.#deps.monotonic())]);
    return !this.#isOn;
  }

  async #keep(numbered: Numbered, { isRetry = false } = {}): Promise<boolean> {
    const { spool } = this.#deps.line.identity();
    if (spool === null) return false;
    try {
      await spool.append(numbered.batch);
      this.#appendCount += 1;
      this.#spooledAt ??= numbered.oldestAt;
      return true;
    } catch (error) {
      if (!isRetry) this.#deps.onError(error, "spooling pings");
      return false;
    }
  }

  async #drain(): Promise<void> {
    this.#isAnswering = false;
    // A batch that is recorded directly began before the fallback, and comes first.
    await this.#deps.line.landing();
    for (;;) {
      // Yields to the event loop in each pass, in case the database and the spool both fail immediately.
      await nextTurn();
      try {
        if (!this.#deps.hasEntered()) await pause(RETRY_MS);
        else if (await this.#isOver()) break;
      } catch (error) {
        this.#isAnswering = false;
        this.#deps.onError(error, "replaying pings");
        if (this.#stopByMs !== null) break;
        await pause(RETRY_MS);
      }
      const hasTime = this.#stopByMs === null || this.#deps.monotonic() < this.#stopByMs;
      if (!hasTime || (this.#stopByMs !== null && !this.#deps.hasEntered())) break;
    }
    this.#draining = null;
  }

  /** Records one more batch, oldest first; true if there is none, and the fallback has ended. */
  async #isOver(): Promise<boolean> {
    const { line } = this.#deps;
    if (this.#mustResend) await this.#resendAll();
    const { spool } = line.identity();
    if (this.#stuck !== null && (await this.#keep(this.#stuck, { isRetry: true }))) this.#stuck = null;
    const appendsBefore = this.#appendCount;
    const batch = (await spool?.oldest()) ?? null;
    if (spool !== null && batch !== null) {
      await this.#replaySpooled(spool, batch);
      return false;
    }
    if (this.#stuck !== null) {
      await this.#apply(this.#stuck.batch);
      this.#stuck = null;
      return false;
    }
    const landing = line.landing();
    if (landing !== null) {
      await landing;
      return false;
    }
    if (appendsBefore !== this.#appendCount || this.#mustResend) return false;
    this.#spooledAt = null;
    this.#isOn = false;
    line.onOver();
    return true;
  }

  async #replaySpooled(spool: BatchSpool, batch: SpooledBatch): Promise<void> {
    this.#spooledAt = oldestOf(batch.signals) ?? this.#spooledAt;
    await this.#apply(batch, batch.unreadable);
    if (batch.isLast) await this.#deps.closeOrphan(batch.intakeId);
    await spool.remove(batch);
    this.#replayCount += 1;
  }

  async #apply(batch: Batch, unreadable: SpooledBatch["unreadable"] = []): Promise<void> {
    const result = await this.#replay.apply(batch, unreadable);
    this.#deps.line.onApplied(batch, { result, unreadableCount: unreadable.length });
    this.#isAnswering = true;
  }

  #countTry({ intakeId, seq }: Batch): number {
    const name = `${intakeId} ${seq}`;
    this.#tried = { name, count: this.#tried.name === name ? this.#tried.count + 1 : 1 };
    return this.#tried.count;
  }

  async #resendAll(): Promise<void> {
    this.#mustResend = false;
    try {
      await this.#replay.resend(this.#deps.line.confirmed());
    } catch (error) {
      this.#mustResend = true;
      throw error;
    }
  }
}

/** When the first of these signals was received; null if there are none. */
export function oldestOf(signals: readonly AcceptedSignal[]): Instant | null {
  return signals.reduce<Instant | null>((oldest, { at }) => Math.min(oldest ?? at, at), null);
}
