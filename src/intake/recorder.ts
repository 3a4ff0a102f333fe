// Makes batches durable: in the database or, while it is unavailable, in the spool, from where they are replayed in
// the order in which they were spooled. A number is assigned once and stays with its batch until the database has it.
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import type { DatabaseClock } from "../core/database-clock.ts";
import type { Instant } from "../core/instant.ts";
import {
  type AcceptedSignal,
  type Batch,
  type BatchNumber,
  LANES,
  type SignalResult,
  type SignalTarget,
} from "../core/signal.ts";

/** Without a confirmation within this time, the batch is in doubt. */
const RECORD_MS_MAX = 1_000;
/** A signal that has waited this long no longer waits for the database, so that there is time left for the spool. */
const RECORD_UNTIL_MS = 1_500;
/** With less time than this left, the database is not tried if there is a spool. */
const RECORD_MS_MIN = 200;
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
 * While signals go to the spool, each lane collects them for at least this long, and until the database has accepted
 * this many batches: otherwise small batches would be added faster than they are replayed.
 */
const COLLECT_MS_MIN = 50 * LANES;
const COLLECT_REPLAYS = 2 * LANES;
/** Maximum wait of a sender for this. */
const COLLECT_MS_MAX = 1_000;
const COLLECT_CHECK_MS = 5;

/** "busy": not acknowledged. */
export type Settled = SignalResult | "busy";

/** The outcome of a batch. "out of sequence": earlier batches are missing from the database. */
export type Recorded = readonly SignalResult[] | "applied before" | "out of sequence";

/** Bytes of a spooled batch that cannot be decoded. */
export type Unreadable = { reason: string; bytes: Uint8Array };

export type SpooledBatch = Batch & {
  /** The last batch of an intake that is gone. */
  isLast: boolean;
  unreadable: readonly Unreadable[];
  /** Receive time of the oldest signal in the spool; it may be in a later batch, of another lane. */
  oldestAt: Instant;
};

/** The spool as used here; see spool.ts. */
export type BatchSpool = {
  /** Resolves when the batch is on disk; rejects if it cannot be acknowledged. */
  append(batch: Batch): Promise<void>;
  /** The first batch that is not removed yet. */
  oldest(): Promise<SpooledBatch | null>;
  remove(batch: BatchNumber): Promise<boolean>;
};

/**
 * The ID that batches are numbered under, and where they are stored while the database is unavailable. Without a
 * spool, pings are rejected.
 */
export type Identity = { intakeId: string; spool: BatchSpool | null };

export type Renewal = {
  identity: Identity;
  /** The old spool does not respond any more: the new one has taken over its batches, and none is waited for. */
  isAbandoning: boolean;
};

/** The targets that are known to exist, while the database is unavailable. */
export type KnownTargets = {
  remember(target: SignalTarget, now: Instant): void;
  knows(target: SignalTarget, now: Instant): boolean;
  remove(target: SignalTarget): void;
};

export type RecordHow = {
  replayed: boolean;
  unreadable: readonly Unreadable[];
  giveUpAtMs: number;
  /** Signals that cannot be recorded because of an error in our code are quarantined. */
  quarantinesFailed: boolean;
};

export type RecorderDeps = {
  identity: Identity;
  clock: DatabaseClock;
  /** Resolves when the batch is durable in the database; rejects by `giveUpAtMs` if it may not be. */
  record: (batch: Batch, how: RecordHow) => Promise<Recorded>;
  /**
   * Lets a lane continue after a number although batches up to it are lost; this is reported and counts as blind.
   */
  skipTo: (batch: BatchNumber) => Promise<void>;
  known: KnownTargets;
  /** An intake that is gone has no signals left: it can be closed. */
  closeOrphan: (intakeId: string) => Promise<void>;
  /** Whether the intake is registered; before that, nothing can be recorded. */
  hasEntered: () => boolean;
  onError: (error: unknown, what: string) => void;
  monotonic: () => number;
};

/** Why an acknowledged signal was dropped: its check no longer exists, or several now share its slug. */
export type DropReason = Extract<SignalResult, "unknown" | "ambiguous">;

/** Signals that were recorded late or differently than accepted: nothing else reports them. */
export type OutcomeCounts = {
  /** Acknowledged, spooled and then not recorded. */
  dropped: Record<DropReason, number>;
  /** Quarantined with the reason. */
  rejected: number;
  /** Rejected because of an error in our code. */
  failed: number;
  /** Recorded from the spool, with their receive time. */
  replayed: number;
};

/** A batch on its way to the database or the spool. `landed` settles when it is there, or has failed. */
type Flight = { batch: Batch; oldestAt: Instant; sinceMs: number; landed: Promise<void> };

export class BatchRecorder {
  readonly counts: OutcomeCounts = {
    dropped: { unknown: 0, ambiguous: 0 },
    rejected: 0,
    failed: 0,
    replayed: 0,
  };
  readonly #deps: RecorderDeps;
  readonly #recent = new RecentBatches();
  #identity: Identity;
  #renewal: (Renewal & { done: (discarded: Identity) => void }) | null = null;
  /** The newest number of each lane, and the newest that the database has confirmed. */
  #seqs: number[] = zeroes();
  #confirmedSeqs: number[] = zeroes();
  readonly #flights = new Set<Flight>();
  #isSpooling = false;
  #spoolingSinceMs = 0;
  #isAnswering = false;
  #spooledAt: Instant | null = null;
  /** Batches that neither the database nor the spool has accepted: the next ones of their lanes must not overtake. */
  #stuck: Flight[] = [];
  #stuckSinceMs = 0;
  #mustResend = false;
  #appendCount = 0;
  #replayCount = 0;
  #draining: Promise<void> | null = null;
  #stopByMs: number | null = null;
  /** The batch that was replayed last, and the number of attempts. */
  #tried = { name: "", count: 0 };
  /** How many signals of a spooled batch were rejected anyway; only for batches that were in doubt. */
  readonly #refusedCounts = new Map<string, number>();

  constructor(deps: RecorderDeps) {
    this.#deps = deps;
    this.#identity = deps.identity;
  }

  /** While this is true, batches reach the database only through the spool. */
  get isSpooling(): boolean {
    return this.#isSpooling;
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
    return this.#isSpooling && (this.#stuck.length > 0 || this.#identity.spool === null);
  }

  /** How long no signal could be acknowledged. */
  blockedMs(): number {
    if (!this.isBlocked) return 0;
    return this.#deps.monotonic() - (this.#stuck.length > 0 ? this.#stuckSinceMs : this.#spoolingSinceMs);
  }

  /** Whether a batch may begin now: not while none could be acknowledged, or the ID is about to change. */
  mayBegin(): boolean {
    this.#renewIfIdle();
    return !this.isBlocked && !this.#isRenewalDue();
  }

  /** The newest batch of each lane under the current ID that the database has confirmed. */
  get confirmed(): { intakeId: string; seqs: readonly number[] } {
    return { intakeId: this.#identity.intakeId, seqs: [...this.#confirmedSeqs] };
  }

  /** Receive time of the oldest signal that was passed to `deliver` and is not in the database. */
  get oldestAt(): Instant | null {
    let oldest = this.#spooledAt ?? Infinity;
    for (const { oldestAt } of this.#flights) oldest = Math.min(oldest, oldestAt);
    for (const { oldestAt } of this.#stuck) oldest = Math.min(oldest, oldestAt);
    return oldest === Infinity ? null : oldest;
  }

  /**
   * Numbers the signals as the next batch of a lane and makes it durable. Resolves with the outcome of each signal;
   * the lane has to wait for it. `sinceMs`: since when the first of their senders has waited.
   */
  async deliver(
    signals: readonly AcceptedSignal[],
    { lane, sinceMs }: { lane: number; sinceMs: number },
  ): Promise<readonly Settled[]> {
    const seq = (this.#seqs[lane] ?? 0) + 1;
    this.#seqs[lane] = seq;
    const batch = { intakeId: this.#identity.intakeId, lane, seq, signals };
    const { promise: landed, resolve: land } = Promise.withResolvers<void>();
    const flight = { batch, oldestAt: oldestOf(signals), sinceMs, landed };
    this.#flights.add(flight);
    try {
      return await (this.#mustSpool(flight) ? this.#spool(flight) : this.#record(flight));
    } finally {
      this.#flights.delete(flight);
      land();
    }
  }

  /** Resolves when a batch that is in progress has ended, or after this time; at once if there is none. */
  async landing(withinMs: number): Promise<void> {
    if (this.#flights.size === 0) return;
    const { promise: timeout, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, withinMs);
    await Promise.race([timeout, ...Array.from(this.#flights, ({ landed }) => landed)]);
    clearTimeout(timer);
  }

  /** Resolves when the next batch may be spooled: after collecting for a while, or when spooling has ended. */
  async collect(isFull: () => boolean): Promise<void> {
    const sinceMs = this.#deps.monotonic();
    const replaysBefore = this.#replayCount;
    const hasCollected = () => {
      const collectedMs = this.#deps.monotonic() - sinceMs;
      if (!this.#isSpooling || isFull() || collectedMs >= COLLECT_MS_MAX) return true;
      if (collectedMs < COLLECT_MS_MIN) return false;
      return !this.#isAnswering || this.#replayCount - replaysBefore >= COLLECT_REPLAYS;
    };
    while (!hasCollected()) await pause(COLLECT_CHECK_MS);
  }

  /** Drops batches that were confirmed long ago from memory, now that the database has shown that it has them all. */
  tidy(): void {
    this.#recent.drop(this.#deps.monotonic());
  }

  /** Searches for spools of intakes that are gone. An unregistered intake also has to begin with the spool. */
  async adopt(): Promise<void> {
    const left = (await this.#identity.spool?.oldest()) ?? null;
    if (left !== null) this.#noteSpooled(left.oldestAt);
    if (left !== null || !this.#deps.hasEntered()) this.#startSpooling();
  }

  /** The database is missing batches that it had confirmed: they are sent again before anything else. */
  resend(): void {
    this.#mustResend = true;
    this.#startSpooling();
  }

  /**
   * Numbers batches under another ID as soon as none of the old ID is in progress. Resolves with the identity that is
   * then out of use: the old one, or the new one if another has replaced it in the meantime.
   */
  renew(renewal: Renewal): Promise<Identity> {
    this.#renewal?.done(this.#renewal.identity);
    return new Promise((done) => {
      this.#renewal = { ...renewal, done };
      this.#renewIfIdle();
    });
  }

  /** Records as much as possible in the database until then; true if it has everything. */
  async stop(byMs: number): Promise<boolean> {
    this.#stopByMs = byMs;
    // A running attempt may take longer; its outcome is determined by the next start.
    if (this.#draining !== null) await Promise.race([this.#draining, pause(byMs - this.#deps.monotonic())]);
    return !this.#isSpooling;
  }

  #isRenewalDue(): boolean {
    return this.#renewal !== null && (!this.#isSpooling || this.#renewal.isAbandoning);
  }

  #renewIfIdle(): void {
    if (this.#renewal === null || !this.#isRenewalDue() || this.#flights.size > 0) return;
    const { identity, isAbandoning, done } = this.#renewal;
    const discarded = this.#identity;
    this.#renewal = null;
    this.#identity = identity;
    this.#seqs = zeroes();
    this.#confirmedSeqs = zeroes();
    if (isAbandoning) {
      // Their senders were told to retry, and the numbers are given up together with the ID.
      this.#stuck = [];
      this.#startSpooling();
    }
    done(discarded);
  }

  #mustSpool({ sinceMs }: Flight): boolean {
    if (this.#isSpooling) return true;
    const leftMs = sinceMs + RECORD_UNTIL_MS - this.#deps.monotonic();
    return leftMs < RECORD_MS_MIN && this.#identity.spool !== null;
  }

  async #record(flight: Flight): Promise<readonly Settled[]> {
    const { batch, sinceMs } = flight;
    const nowMs = this.#deps.monotonic();
    const latestMs = Math.max(sinceMs + RECORD_UNTIL_MS, nowMs + RECORD_MS_MIN);
    const giveUpAtMs = Math.min(nowMs + RECORD_MS_MAX, latestMs);
    let result: Recorded;
    try {
      const how = { replayed: false, unreadable: [], giveUpAtMs, quarantinesFailed: false };
      result = await this.#deps.record(batch, how);
    } catch (error) {
      this.#deps.onError(error, "recording pings");
      return this.#spool(flight);
    }
    if (result === "out of sequence") {
      this.#mustResend = true;
      return this.#spool(flight);
    }
    if (result === "applied before") {
      // This batch was not sent before, so another process uses the number, and the batch is not recorded.
      const error = new Error(`${nameOf(batch)} was applied by another process`);
      this.#deps.onError(error, "recording pings");
      return batch.signals.map(() => "busy");
    }
    this.#confirm(batch);
    this.#learn(batch, result);
    this.counts.rejected += countOf(result, "rejected");
    this.counts.failed += countOf(result, "failed");
    return result;
  }

  async #spool(flight: Flight): Promise<readonly Settled[]> {
    const { batch } = flight;
    this.#turnOn();
    const isKept = await this.#append(flight);
    if (!isKept) {
      if (this.#stuck.length === 0) this.#stuckSinceMs = this.#deps.monotonic();
      this.#stuck.push(flight);
    }
    this.#startSpooling();
    if (!isKept) return batch.signals.map(() => "busy");
    const { known } = this.#deps;
    const results = batch.signals.map(({ target, at }) => (known.knows(target, at) ? "recorded" : "busy"));
    const refused = countOf(results, "busy");
    if (refused > 0) this.#refusedCounts.set(nameOf(batch), refused);
    return results;
  }

  async #append({ batch, oldestAt }: Flight, { isRetry = false } = {}): Promise<boolean> {
    const { spool } = this.#identity;
    if (spool === null) return false;
    try {
      await spool.append(batch);
      this.#appendCount += 1;
      this.#noteSpooled(oldestAt);
      return true;
    } catch (error) {
      if (!isRetry) this.#deps.onError(error, "spooling pings");
      return false;
    }
  }

  #noteSpooled(oldestAt: Instant): void {
    this.#spooledAt = Math.min(this.#spooledAt ?? oldestAt, oldestAt);
  }

  #turnOn(): void {
    if (!this.#isSpooling) this.#spoolingSinceMs = this.#deps.monotonic();
    this.#isSpooling = true;
  }

  #startSpooling(): void {
    this.#turnOn();
    this.#draining ??= this.#drain();
  }

  async #drain(): Promise<void> {
    this.#isAnswering = false;
    // Batches that are recorded directly began before, and come first.
    await Promise.all(Array.from(this.#flights, ({ landed }) => landed));
    for (;;) {
      // Yields to the event loop in each pass, in case the database and the spool both fail immediately.
      await nextTurn();
      try {
        if (!this.#deps.hasEntered()) await pause(RETRY_MS);
        else if (await this.#isDrained()) break;
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

  /** Replays one more batch, in the order of the spool; true if there is none, and spooling has ended. */
  async #isDrained(): Promise<boolean> {
    if (this.#mustResend) await this.#resendRecent();
    for (const flight of this.#stuck) {
      if (!(await this.#append(flight, { isRetry: true }))) break;
      this.#stuck = this.#stuck.filter((one) => one !== flight);
    }
    const { spool } = this.#identity;
    const appendsBefore = this.#appendCount;
    const batch = (await spool?.oldest()) ?? null;
    if (spool !== null && batch !== null) {
      await this.#replaySpooled(spool, batch);
      return false;
    }
    const [stuck] = this.#stuck;
    if (stuck !== undefined) {
      await this.#replay(stuck.batch);
      this.#stuck = this.#stuck.filter((one) => one !== stuck);
      return false;
    }
    const [flight] = this.#flights;
    if (flight !== undefined) {
      await flight.landed;
      return false;
    }
    if (appendsBefore !== this.#appendCount || this.#mustResend) return false;
    this.#spooledAt = null;
    this.#isSpooling = false;
    this.#renewIfIdle();
    return true;
  }

  async #replaySpooled(spool: BatchSpool, batch: SpooledBatch): Promise<void> {
    this.#spooledAt = batch.oldestAt;
    await this.#replay(batch, batch.unreadable);
    if (batch.isLast) await this.#deps.closeOrphan(batch.intakeId);
    await spool.remove(batch);
    this.#replayCount += 1;
  }

  /** Resolves when the batch is in the database, now or already before. Throws if that is not possible now. */
  async #replay(batch: Batch, unreadable: readonly Unreadable[] = []): Promise<void> {
    let result = await this.#recordLate(batch, unreadable);
    if (result === "out of sequence") {
      for (const earlier of this.#recent.before(batch)) await this.#recordAgain(earlier);
      result = await this.#recordAgain(batch, unreadable);
    }
    this.#confirm(batch);
    this.#isAnswering = true;
    if (typeof result === "string") return;
    this.#learn(batch, result);
    this.#countReplayed(batch, result, unreadable.length);
  }

  /** Skips what is missing before the batch if nothing else helps. */
  async #recordAgain(batch: Batch, unreadable: readonly Unreadable[] = []): Promise<Recorded> {
    const result = await this.#recordLate(batch, unreadable);
    if (result !== "out of sequence") return result;
    const { intakeId, lane, seq } = batch;
    await this.#deps.skipTo({ intakeId, lane, seq: seq - 1 });
    const again = await this.#recordLate(batch, unreadable);
    if (again === "out of sequence") throw new Error(`${nameOf(batch)} is out of sequence`);
    return again;
  }

  #recordLate(batch: Batch, unreadable: readonly Unreadable[]): Promise<Recorded> {
    const name = nameOf(batch);
    this.#tried = { name, count: this.#tried.name === name ? this.#tried.count + 1 : 1 };
    return this.#deps.record(batch, {
      replayed: true,
      unreadable,
      giveUpAtMs: Math.min(this.#deps.monotonic() + REPLAY_MS_MAX, this.#stopByMs ?? Infinity),
      quarantinesFailed: this.#tried.count > TRIES_MAX,
    });
  }

  /** Sends all batches of the last minute again, and then lets each lane continue with its newest number. */
  async #resendRecent(): Promise<void> {
    this.#mustResend = false;
    try {
      for (const batch of this.#recent.all()) await this.#recordAgain(batch);
      const { intakeId, seqs } = this.confirmed;
      for (const [lane, seq] of seqs.entries()) {
        if (seq > 0) await this.#deps.skipTo({ intakeId, lane, seq });
      }
    } catch (error) {
      this.#mustResend = true;
      throw error;
    }
  }

  #confirm(batch: Batch): void {
    this.#recent.add(batch, this.#deps.monotonic());
    const { intakeId, lane, seq } = batch;
    if (intakeId !== this.#identity.intakeId) return;
    this.#confirmedSeqs[lane] = Math.max(this.#confirmedSeqs[lane] ?? 0, seq);
  }

  #learn({ signals }: Batch, results: readonly SignalResult[]): void {
    const { known } = this.#deps;
    for (const [index, { target, at }] of signals.entries()) {
      if (results[index] === "recorded") known.remember(target, at);
      else if (results[index] === "unknown") known.remove(target);
    }
  }

  /** The senders of the batch already have their responses. */
  #countReplayed(batch: Batch, results: readonly SignalResult[], unreadableCount: number): void {
    const name = nameOf(batch);
    const refused = this.#refusedCounts.get(name) ?? 0;
    this.#refusedCounts.delete(name);
    this.counts.replayed += countOf(results, "recorded");
    this.counts.rejected += countOf(results, "rejected") + unreadableCount;
    this.counts.dropped.unknown += Math.max(0, countOf(results, "unknown") - refused);
    this.counts.dropped.ambiguous += countOf(results, "ambiguous");
  }
}

/** A standby that is further behind should not be promoted. */
const KEPT_MS = 60_000;
const KEPT_BYTES_MAX = 32 * 1024 * 1024;
/** Approximate size of a signal without its body. */
const SIGNAL_BYTES = 400;

/**
 * The batches confirmed in the last minute, kept in memory: a standby that takes over may lack the newest commits, and
 * then they are sent again. Limited in time and bytes.
 */
export class RecentBatches {
  readonly #bytesMax: number;
  readonly #kept: { batch: Batch; bytes: number; atMs: number }[] = [];
  #bytes = 0;

  constructor({ bytesMax = KEPT_BYTES_MAX }: { bytesMax?: number } = {}) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Records that the database confirmed the batch at this time on the monotonic clock. */
  add(batch: Batch, nowMs: number): void {
    const bytes = batch.signals.reduce((sum, { body }) => sum + SIGNAL_BYTES + (body?.length ?? 0), 0);
    this.#kept.push({ batch, bytes, atMs: nowMs });
    this.#bytes += bytes;
    this.#dropWhile(() => this.#bytes > this.#bytesMax);
  }

  /** Drops batches that are too old at this time. */
  drop(nowMs: number): void {
    this.#dropWhile(({ atMs }) => nowMs - atMs > KEPT_MS);
  }

  #dropWhile(mustDrop: (oldest: { atMs: number }) => boolean): void {
    let count = 0;
    for (const kept of this.#kept) {
      if (!mustDrop(kept)) break;
      this.#bytes -= kept.bytes;
      count += 1;
    }
    if (count > 0) this.#kept.splice(0, count);
  }

  /** All kept batches, in the order of confirmation. */
  all(): Batch[] {
    return this.#kept.map(({ batch }) => batch);
  }

  /** Those of the same lane before a number. */
  before({ intakeId, lane, seq }: BatchNumber): Batch[] {
    return this.all().filter(
      (batch) => batch.intakeId === intakeId && batch.lane === lane && batch.seq < seq,
    );
  }
}

function zeroes(): number[] {
  return Array.from({ length: LANES }, () => 0);
}

function nameOf({ intakeId, lane, seq }: BatchNumber): string {
  return `batch ${seq} of lane ${lane} of intake ${intakeId}`;
}

function oldestOf(signals: readonly AcceptedSignal[]): Instant {
  return signals.reduce((oldest, { at }) => Math.min(oldest, at), Infinity);
}

function countOf(results: readonly Settled[], wanted: Settled): number {
  return results.filter((result) => result === wanted).length;
}
