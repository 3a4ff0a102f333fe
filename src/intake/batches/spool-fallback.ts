// The fallback to the spool: batches that the database did not confirm are kept on disk under their numbers and replayed
// later, oldest first. It ends when the database has everything.
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import type { Instant } from "../../core/instant.ts";
import type { AcceptedSignal, Batch } from "../../core/signal.ts";
import type { BatchSpool, Identity, IntakeDeps, Numbered, SpooledBatch } from "./dependencies.ts";
import { type Recorded, Replay } from "./replay.ts";

/** Nobody waits for a replayed batch, and one with a poisonous signal is recorded one by one. */
const REPLAY_MS_MAX = 10_000;
/** Pause between two tries of a batch that the database did not take. */
const RETRY_MS = 250;
/** After so many tries of a batch, what our own code fails on is quarantined, so that those behind it go on. */
const TRIES_MAX = 5;
/** Signals are collected at least this long, and until the database has taken so many batches meanwhile: */
const COLLECT_MS_MIN = 50;
const COLLECT_REPLAYS = 2;
/** otherwise small batches would be added faster than they are replayed. Nobody waits longer for it than this. */
const COLLECT_MS_MAX = 1_000;
const COLLECT_CHECK_MS = 5;

/** What became of a batch, and how many signals of it could not be read any more. */
export type Applied = { result: Recorded; unreadableCount: number };

/** What the detour asks of the line of batches that it is part of. */
export type BatchQueueView = {
  identity(): Identity;
  /** The newest batch of the present identity that the database has confirmed. */
  confirmed(): { intakeId: string; seq: number };
  /** Settles when the batch in flight has landed; null when none is. */
  landing(): Promise<void> | null;
  /** The database has the batch. */
  onApplied(batch: Batch, applied: Applied): void;
  /** The database has everything. */
  onOver(): void;
};

export type SpoolFallbackDeps = Pick<
  IntakeDeps,
  "record" | "skipTo" | "closeOrphan" | "hasEntered" | "clock" | "onTrouble" | "monotonic"
> & { line: BatchQueueView };

export class SpoolFallback {
  readonly #parts: SpoolFallbackDeps;
  readonly #replay: Replay;
  #isOn = false;
  #isAnswering = false;
  #spooledAt: Instant | null = null;
  #beganAtMs = 0;
  /** Confirmed by nobody, and its senders have been told so. */
  #stuck: Numbered | null = null;
  #stuckAtMs = 0;
  #mustResend = false;
  #appendCount = 0;
  #replayCount = 0;
  #draining: Promise<void> | null = null;
  #stopByMs: number | null = null;
  /** The batch that was tried last, and how often. */
  #tried = { name: "", count: 0 };

  constructor(parts: SpoolFallbackDeps) {
    this.#parts = parts;
    const { monotonic } = parts;
    const giveUpAtMs = () => Math.min(monotonic() + REPLAY_MS_MAX, this.#stopByMs ?? Infinity);
    this.#replay = new Replay({
      record: (batch, unreadable) => {
        const quarantinesFailed = this.#countTry(batch) > TRIES_MAX;
        return parts.record(batch, {
          replayed: true,
          unreadable,
          giveUpAtMs: giveUpAtMs(),
          quarantinesFailed,
        });
      },
      skipTo: (batch) => parts.skipTo(batch),
      monotonic,
    });
  }

  /** While it is on, nothing goes to the database but through here. */
  get isOn(): boolean {
    return this.#isOn;
  }

  /** Whether the database took the last thing it was given. */
  get isAnswering(): boolean {
    return this.#isAnswering;
  }

  /** Nothing can be promised: there is no spool, or it did not take a batch, and nothing can overtake that. */
  get isBlocked(): boolean {
    return this.#isOn && (this.#stuck !== null || this.#parts.line.identity().spool === null);
  }

  /** For how long nothing could be promised. */
  blockedMs(): number {
    if (!this.isBlocked) return 0;
    return this.#parts.monotonic() - (this.#stuck === null ? this.#beganAtMs : this.#stuckAtMs);
  }

  /** Receive time of the oldest signal that waits here. */
  get oldestAt(): Instant | null {
    const stuckAt = this.#stuck?.oldestAt ?? null;
    if (stuckAt === null || this.#spooledAt === null) return stuckAt ?? this.#spooledAt;
    return Math.min(stuckAt, this.#spooledAt);
  }

  /** The database has confirmed a batch that was recorded directly. */
  confirm(batch: Batch): void {
    this.#replay.confirm(batch);
  }

  /** Forgets what was confirmed long ago. */
  tidy(): void {
    this.#replay.tidy();
  }

  /** Looks for what intakes that are gone have left. An intake that has not entered knows no other way either. */
  async adopt(): Promise<void> {
    const left = (await this.#parts.line.identity().spool?.oldest()) ?? null;
    if (left !== null) {
      const oldestAt = oldestOf(left.signals) ?? this.#parts.clock.now();
      this.#spooledAt = Math.min(this.#spooledAt ?? oldestAt, oldestAt);
    }
    if (left !== null || !this.#parts.hasEntered()) this.#begin();
  }

  /** The database does not have what it had confirmed: it is given once more, before anything else. */
  resend(): void {
    this.#mustResend = true;
    this.#begin();
  }

  #begin(): void {
    this.#turnOn();
    this.#draining ??= this.#drain();
  }

  #turnOn(): void {
    if (!this.#isOn) this.#beganAtMs = this.#parts.monotonic();
    this.#isOn = true;
  }

  /** Keeps a batch on disk; false when that failed, and then nothing may follow until it is settled. */
  async append(numbered: Numbered, { mustResend = false } = {}): Promise<boolean> {
    this.#turnOn();
    this.#mustResend ||= mustResend;
    const isKept = await this.#keep(numbered);
    if (!isKept) {
      this.#stuck = numbered;
      this.#stuckAtMs = this.#parts.monotonic();
    }
    this.#begin();
    return isKept;
  }

  /** Resolves when the next batch may be made: after some collecting, or when the detour is over. */
  async collect(isFull: () => boolean): Promise<void> {
    const sinceMs = this.#parts.monotonic();
    const replaysBefore = this.#replayCount;
    const hasCollected = () => {
      const collectedMs = this.#parts.monotonic() - sinceMs;
      if (!this.#isOn || isFull() || collectedMs >= COLLECT_MS_MAX) return true;
      if (collectedMs < COLLECT_MS_MIN) return false;
      return !this.#isAnswering || this.#replayCount - replaysBefore >= COLLECT_REPLAYS;
    };
    while (!hasCollected()) await pause(COLLECT_CHECK_MS);
  }

  /**
   * Gives up the batch that nobody confirmed, together with the id it was numbered under. What lies in the old
   * spool has to be in the new one by now.
   */
  abandon(): void {
    this.#stuck = null;
    this.#begin();
  }

  /** Gives the database what it can until then; true when it has everything. */
  async stop(byMs: number): Promise<boolean> {
    this.#stopByMs = byMs;
    // What is under way may take longer; whether it ends well is then for the next start to find out.
    if (this.#draining !== null) await Promise.race([this.#draining, pause(byMs - this.#parts.monotonic())]);
    return !this.#isOn;
  }

  async #keep(numbered: Numbered, { isRetry = false } = {}): Promise<boolean> {
    const { spool } = this.#parts.line.identity();
    if (spool === null) return false;
    try {
      await spool.append(numbered.batch);
      this.#appendCount += 1;
      this.#spooledAt ??= numbered.oldestAt;
      return true;
    } catch (error) {
      if (!isRetry) this.#parts.onTrouble(error, "spooling pings");
      return false;
    }
  }

  async #drain(): Promise<void> {
    this.#isAnswering = false;
    // One that is recorded directly was begun before the detour, and comes first.
    await this.#parts.line.landing();
    for (;;) {
      // One turn of the event loop per pass, in case the database and the spool both fail at once.
      await nextTurn();
      try {
        if (!this.#parts.hasEntered()) await pause(RETRY_MS);
        else if (await this.#isOver()) break;
      } catch (error) {
        this.#isAnswering = false;
        this.#parts.onTrouble(error, "replaying pings");
        if (this.#stopByMs !== null) break;
        await pause(RETRY_MS);
      }
      const hasTime = this.#stopByMs === null || this.#parts.monotonic() < this.#stopByMs;
      if (!hasTime || (this.#stopByMs !== null && !this.#parts.hasEntered())) break;
    }
    this.#draining = null;
  }

  /** Gives the database one more batch, oldest first; true when there is none, and the detour has ended. */
  async #isOver(): Promise<boolean> {
    const { line } = this.#parts;
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
    if (batch.isLast) await this.#parts.closeOrphan(batch.intakeId);
    await spool.remove(batch);
    this.#replayCount += 1;
  }

  async #apply(batch: Batch, unreadable: SpooledBatch["unreadable"] = []): Promise<void> {
    const result = await this.#replay.apply(batch, unreadable);
    this.#parts.line.onApplied(batch, { result, unreadableCount: unreadable.length });
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
      await this.#replay.resend(this.#parts.line.confirmed());
    } catch (error) {
      this.#mustResend = true;
      throw error;
    }
  }
}

/** When the first of these signals was received; null when there are none. */
export function oldestOf(signals: readonly AcceptedSignal[]): Instant | null {
  return signals.reduce<Instant | null>((oldest, { at }) => Math.min(oldest ?? at, at), null);
}
