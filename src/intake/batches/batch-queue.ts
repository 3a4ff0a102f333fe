// The batch queue: waiting signals are numbered and sent to the database one batch at a time, or to the spool if that
// fails. A number is assigned once and stays with its batch until the database has it.
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import type { Instant } from "../../core/instant.ts";
import type { AcceptedSignal, Batch } from "../../core/signal.ts";
import type { Identity, IntakeDeps, Numbered } from "./dependencies.ts";
import { OutcomeCounts } from "./outcome-counts.ts";
import type { Recorded } from "./replay.ts";
import { type Applied, oldestOf, SpoolFallback } from "./spool-fallback.ts";
import { BATCH_SIGNALS_MAX, type Settled, type Waiting, WaitingQueue } from "./waiting-queue.ts";

/** Without a confirmation within this time, the batch is in doubt. */
const RECORD_MS_MAX = 1_000;
/** A signal that has waited this long no longer waits for the database, so that there is time left for the spool. */
const RECORD_UNTIL_MS = 1_500;
/** With less time than this left, the database is not tried if there is a spool. */
const RECORD_MS_MIN = 200;
/** A signal that has waited this long is rejected: the response must be sent within two seconds. */
const WAIT_MS_MAX = 1_800;
const WAIT_CHECK_MS = 50;
/** While no signal can be acknowledged, the queue checks this often whether that has changed. */
const BLOCKED_CHECK_MS = 5;

export type BatchQueueDeps = IntakeDeps & {
  /** A signal is not acknowledged, and its sender gets 503. */
  onRefused: (refused: Pick<Waiting, "signal" | "network">) => void;
};

export type Renewal = {
  identity: Identity;
  /** The old spool does not respond any more: the new one has taken over its batches, and none is waited for. */
  isAbandoning: boolean;
};

export class BatchQueue {
  readonly fallback: SpoolFallback;
  readonly outcomes = new OutcomeCounts();
  readonly #deps: BatchQueueDeps;
  readonly #queue = new WaitingQueue();
  #identity: Identity;
  #renewal: (Renewal & { done: (discarded: Identity) => void }) | null = null;
  #seq = 0;
  #confirmedSeq = 0;
  /** The batch that is being recorded or spooled, and a promise that settles with it. */
  #inFlight: (Numbered & { landing: Promise<void> }) | null = null;
  #working: Promise<void> | null = null;
  #waitCheck: NodeJS.Timeout | null = null;

  constructor(deps: BatchQueueDeps) {
    this.#deps = deps;
    this.#identity = deps.identity;
    const { record, skipTo, closeOrphan, hasEntered, clock, onError, monotonic } = deps;
    const line = {
      identity: () => this.#identity,
      confirmed: () => this.confirmed,
      landing: () => this.#inFlight?.landing ?? null,
      onApplied: (batch: Batch, applied: Applied) => this.#onApplied(batch, applied),
      onOver: () => this.#renewIfIdle(),
    };
    const database = { record, skipTo, closeOrphan, hasEntered };
    this.fallback = new SpoolFallback({ ...database, clock, onError, monotonic, line });
  }

  get length(): number {
    return this.#queue.length;
  }

  get confirmed(): { intakeId: string; seq: number } {
    return { intakeId: this.#identity.intakeId, seq: this.#confirmedSeq };
  }

  /** Receive time of the oldest signal that was accepted but not applied; null if there is none. */
  get oldestAt(): Instant | null {
    const pending = [this.#inFlight?.oldestAt, this.#queue.oldestAt, this.fallback.oldestAt];
    const oldest = Math.min(...pending.map((at) => at ?? Infinity));
    return oldest === Infinity ? null : oldest;
  }

  /** Resolves with the outcome of the signal within two seconds. */
  enqueue(signal: AcceptedSignal, network: string | null): Promise<Settled> {
    const { known, monotonic } = this.#deps;
    const queued = this.#queue.push({ signal, network, sinceMs: monotonic() }, () =>
      known.knows(signal.target, signal.at),
    );
    if (queued === null) {
      this.#deps.onRefused({ signal, network });
      return Promise.resolve("busy");
    }
    this.#working ??= this.#work();
    this.#waitCheck ??= setInterval(() => this.#checkWaiting(), WAIT_CHECK_MS);
    return queued;
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

  /** Settles accepted signals; true if the database has everything. Nothing may be enqueued afterwards. */
  async stop(byMs: number): Promise<boolean> {
    while (this.#working !== null) await this.#working;
    return this.fallback.stop(byMs);
  }

  async #work(): Promise<void> {
    do {
      // Every pass yields to the event loop: timers and sockets run whatever the awaits below resolve to, and signals
      // that arrived together are recorded together.
      await nextTurn();
      if (this.fallback.isOn) await this.fallback.collect(() => this.#queue.length >= BATCH_SIGNALS_MAX);
      this.#renewIfIdle();
      // If no signal can be acknowledged now, signals wait: this may end before they have waited too long.
      if (this.fallback.isBlocked) {
        await pause(BLOCKED_CHECK_MS);
        continue;
      }
      const next = this.#nextBatch();
      if (next === null) continue;
      const { promise: landing, resolve: land } = Promise.withResolvers<void>();
      this.#inFlight = { ...next, landing };
      await (this.#mustSpool(next) ? this.#append(next) : this.#record(next));
      this.#inFlight = null;
      land();
    } while (this.#queue.length > 0);
    this.#working = null;
  }

  /** The first waiting signals as a numbered batch; null if none of them can be acknowledged. */
  #nextBatch(): Numbered | null {
    let waiting = this.#queue.takeBatch();
    if (this.fallback.isOn) {
      const { known } = this.#deps;
      const isKnown = ({ signal }: Waiting) => known.knows(signal.target, signal.at);
      this.#refuse(waiting.filter((one) => !isKnown(one)));
      waiting = waiting.filter(isKnown);
    }
    const signals = waiting.map(({ signal }) => signal);
    const oldestAt = oldestOf(signals);
    if (oldestAt === null) return null;
    this.#seq += 1;
    const batch = { intakeId: this.#identity.intakeId, seq: this.#seq, signals };
    return { batch, waiting, oldestAt, sinceMs: waiting[0]?.sinceMs ?? this.#deps.monotonic() };
  }

  #mustSpool({ sinceMs }: Numbered): boolean {
    if (this.fallback.isOn) return true;
    const leftMs = sinceMs + RECORD_UNTIL_MS - this.#deps.monotonic();
    return leftMs < RECORD_MS_MIN && this.#identity.spool !== null;
  }

  async #record(next: Numbered): Promise<void> {
    const { batch, waiting, sinceMs } = next;
    const nowMs = this.#deps.monotonic();
    const latestMs = Math.max(sinceMs + RECORD_UNTIL_MS, nowMs + RECORD_MS_MIN);
    const giveUpAtMs = Math.min(nowMs + RECORD_MS_MAX, latestMs);
    let result: Recorded;
    try {
      result = await this.#deps.record(batch, {
        replayed: false,
        unreadable: [],
        giveUpAtMs,
        quarantinesFailed: false,
      });
    } catch (error) {
      this.#deps.onError(error, "recording pings");
      return this.#append(next);
    }
    if (result === "out of sequence") return this.#append(next, { mustResend: true });
    if (result === "applied before") return this.#giveUp(next);
    this.#confirmedSeq = batch.seq;
    this.fallback.confirm(batch);
    this.outcomes.noteDirect(result);
    this.#settle(waiting, result);
  }

  async #append(next: Numbered, options: { mustResend?: boolean } = {}): Promise<void> {
    const { known } = this.#deps;
    if (!(await this.fallback.append(next, options))) return this.#refuse(next.waiting);
    const isKnown = ({ signal }: Waiting) => known.knows(signal.target, signal.at);
    for (const one of next.waiting) if (isKnown(one)) one.settle("recorded");
    const unknown = next.waiting.filter((one) => !isKnown(one));
    this.outcomes.noteRefused(next.batch, unknown.length);
    this.#refuse(unknown);
  }

  /** This batch was not sent before, so another process uses the number, and the batch is not recorded. */
  #giveUp({ batch, waiting }: Numbered): void {
    const error = new Error(`batch ${batch.seq} of intake ${batch.intakeId} was applied by another process`);
    this.#deps.onError(error, "recording pings");
    this.#refuse(waiting);
  }

  #onApplied(batch: Batch, { result, unreadableCount }: Applied): void {
    if (batch.intakeId === this.#identity.intakeId)
      this.#confirmedSeq = Math.max(this.#confirmedSeq, batch.seq);
    if (typeof result === "string") return;
    this.outcomes.noteReplayed(batch, result, unreadableCount);
    for (const [index, signal] of batch.signals.entries()) this.#learn(signal, result[index]);
  }

  #settle(waiting: readonly Waiting[], results: readonly Settled[]): void {
    for (const [index, one] of waiting.entries()) {
      const result = results[index] ?? "unknown";
      this.#learn(one.signal, result);
      if (result === "failed") this.#refuse([one]);
      else one.settle(result);
    }
  }

  #learn({ target, at }: AcceptedSignal, result: Settled | undefined): void {
    if (result === "recorded") this.#deps.known.remember(target, at);
    else if (result === "unknown") this.#deps.known.remove(target);
  }

  #refuse(waiting: readonly Waiting[]): void {
    for (const one of waiting) {
      this.#deps.onRefused(one);
      one.settle("busy");
    }
  }

  /** A sender that has waited too long gets a response, whatever happens to the batch. */
  #checkWaiting(): void {
    const thanMs = this.#deps.monotonic() - WAIT_MS_MAX;
    this.#refuse(this.#queue.takeOlder(thanMs));
    // These may still be recorded; if they are not, they count as rejected then.
    for (const { sinceMs, settle } of this.#inFlight?.waiting ?? []) if (sinceMs <= thanMs) settle("busy");
    if (this.#working !== null || this.#waitCheck === null) return;
    clearInterval(this.#waitCheck);
    this.#waitCheck = null;
  }

  #renewIfIdle(): void {
    if (this.#renewal === null || this.#inFlight !== null) return;
    const { identity, isAbandoning, done } = this.#renewal;
    if (this.fallback.isOn && !isAbandoning) return;
    const discarded = this.#identity;
    this.#renewal = null;
    this.#identity = identity;
    this.#seq = 0;
    this.#confirmedSeq = 0;
    if (isAbandoning) this.fallback.abandon();
    done(discarded);
  }
}
