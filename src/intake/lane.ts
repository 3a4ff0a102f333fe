// One lane of an intake: signals wait here, in order of arrival, and become batches, one after the other.
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import type { Instant } from "../core/instant.ts";
import type { AcceptedSignal } from "../core/signal.ts";
import type { BatchRecorder, Settled } from "./recorder.ts";

/** A batch with more signals would keep its checks locked for too long. */
const BATCH_SIGNALS_MAX = 500;
/** Total size of the bodies of a batch; a single larger one gets its own batch. */
const BATCH_BYTES_MAX = 8 * 1024 * 1024;
/**
 * With fewer signals than this, a lane waits for another one to finish its batch, because each batch costs as much as
 * 20 to 30 signals; but no longer than this.
 */
const BATCH_SIGNALS_MIN = 256;
const OTHERS_MS_MAX = 20;
/** While no batch may begin, the lane checks this often whether that has changed. */
const BLOCKED_CHECK_MS = 5;

export type Waiting = {
  readonly signal: AcceptedSignal;
  /** The network of the sender; null: unknown. */
  readonly network: string | null;
  /** On the monotonic clock. */
  readonly sinceMs: number;
  /** The first call counts. */
  readonly settle: (result: Settled) => void;
};

export type LaneDeps = {
  recorder: BatchRecorder;
  isKnown: (signal: AcceptedSignal) => boolean;
  /** A signal is not acknowledged, and its sender gets 503. */
  onRefused: (refused: Pick<Waiting, "signal" | "network">) => void;
};

export class Lane {
  readonly #number: number;
  readonly #deps: LaneDeps;
  readonly #waiting: Waiting[] = [];
  #bytes = 0;
  /** The senders of the batch that is being recorded or spooled. */
  #sending: readonly Waiting[] = [];
  #working: Promise<void> | null = null;

  constructor(number: number, deps: LaneDeps) {
    this.#number = number;
    this.#deps = deps;
  }

  /** Signals that wait for a batch. */
  get length(): number {
    return this.#waiting.length;
  }

  /** The size of their bodies. */
  get bytes(): number {
    return this.#bytes;
  }

  get isIdle(): boolean {
    return this.#working === null;
  }

  /** Receive time of the first waiting signal; later ones follow in order. */
  get oldestAt(): Instant | null {
    return this.#waiting[0]?.signal.at ?? null;
  }

  push(waiting: Waiting): void {
    this.#bytes += bytesOf(waiting.signal);
    this.#waiting.push(waiting);
    this.#working ??= this.#work();
  }

  /** Senders that have waited since before a time get a response, whatever happens to the batch. */
  settleOlder(thanMs: number): void {
    const first = this.#waiting.findIndex(({ sinceMs }) => sinceMs > thanMs);
    this.#refuse(this.#take(first === -1 ? this.#waiting.length : first));
    // These may still be recorded; if they are not, they count as rejected then.
    for (const { sinceMs, settle } of this.#sending) if (sinceMs <= thanMs) settle("busy");
  }

  /** Resolves when nothing waits. */
  async finish(): Promise<void> {
    while (this.#working !== null) await this.#working;
  }

  async #work(): Promise<void> {
    const { recorder } = this.#deps;
    do {
      // Every pass yields to the event loop: timers and sockets run whatever the awaits below resolve to, and signals
      // that arrived together are recorded together.
      await nextTurn();
      if (this.#waiting.length < BATCH_SIGNALS_MIN) await recorder.landing(OTHERS_MS_MAX);
      if (recorder.isSpooling) await recorder.collect(() => this.#waiting.length >= BATCH_SIGNALS_MAX);
      // If no signal can be acknowledged now, signals wait: this may end before they have waited too long.
      if (recorder.mayBegin()) await this.#send();
      else await pause(BLOCKED_CHECK_MS);
    } while (this.#waiting.length > 0);
    this.#working = null;
  }

  async #send(): Promise<void> {
    const { recorder, isKnown } = this.#deps;
    let batch = this.#takeBatch();
    if (recorder.isSpooling) {
      // Only known checks can be acknowledged from the spool.
      this.#refuse(batch.filter(({ signal }) => !isKnown(signal)));
      batch = batch.filter(({ signal }) => isKnown(signal));
    }
    const [first] = batch;
    if (first === undefined) return;
    this.#sending = batch;
    const signals = batch.map(({ signal }) => signal);
    const results = await recorder.deliver(signals, { lane: this.#number, sinceMs: first.sinceMs });
    this.#sending = [];
    for (const [index, one] of batch.entries()) {
      const result = results[index] ?? "unknown";
      if (result === "busy" || result === "failed") this.#refuse([one]);
      else one.settle(result);
    }
  }

  #takeBatch(): Waiting[] {
    let count = 0;
    let bytes = 0;
    for (const { signal } of this.#waiting) {
      bytes += bytesOf(signal);
      if (count > 0 && (count >= BATCH_SIGNALS_MAX || bytes > BATCH_BYTES_MAX)) break;
      count += 1;
    }
    return this.#take(count);
  }

  #take(count: number): Waiting[] {
    if (count === 0) return [];
    const taken = this.#waiting.splice(0, count);
    for (const { signal } of taken) this.#bytes -= bytesOf(signal);
    return taken;
  }

  #refuse(refused: readonly Waiting[]): void {
    for (const one of refused) {
      this.#deps.onRefused(one);
      one.settle("busy");
    }
  }
}

/** The text that is searched for keywords is stored in addition to the body. */
export function bytesOf({ body, source }: AcceptedSignal): number {
  return (body?.length ?? 0) + (source.by === "email" ? source.text.length : 0);
}
