// Signals that wait to become part of a batch, in order of arrival: limited in number, bytes and time.
import type { Instant } from "../../core/instant.ts";
import type { AcceptedSignal, SignalResult } from "../../core/signal.ts";

/** A batch with more signals would keep its checks locked for too long. */
export const BATCH_SIGNALS_MAX = 500;
/** Total size of the bodies of a batch; a single larger one gets its own batch. */
const BATCH_BYTES_MAX = 8 * 1024 * 1024;
/** Signals waiting for the next batches; beyond this number, senders get 503. */
const QUEUE_SIGNALS_MAX = 20_000;
const QUEUE_BYTES_MAX = 128 * 1024 * 1024;
/**
 * Targets that were never seen get this share of the queue: a flood of made-up UUIDs leaves the rest to real checks.
 */
const UNKNOWN_SIGNALS_MAX = 5_000;
const UNKNOWN_BYTES_MAX = 32 * 1024 * 1024;

/** "busy": not acknowledged. */
export type Settled = SignalResult | "busy";

export type Waiting = {
  readonly signal: AcceptedSignal;
  /** The network of the sender; null: unknown. */
  readonly network: string | null;
  /** On the monotonic clock. */
  readonly sinceMs: number;
  /** The first call counts. */
  readonly settle: (result: Settled) => void;
};

export class WaitingQueue {
  #waiting: Waiting[] = [];
  #bytes = 0;

  get length(): number {
    return this.#waiting.length;
  }

  /** Receive time of the first one; later ones follow in order. */
  get oldestAt(): Instant | null {
    return this.#waiting[0]?.signal.at ?? null;
  }

  /** Null if there is no room. `isKnown` is called only if the share for unknown targets is used up. */
  push(waiting: Omit<Waiting, "settle">, isKnown: () => boolean): Promise<Settled> | null {
    const bytes = bytesOf(waiting.signal);
    const { length } = this.#waiting;
    if (length >= QUEUE_SIGNALS_MAX || this.#bytes + bytes > QUEUE_BYTES_MAX) return null;
    const isShareUsed = length >= UNKNOWN_SIGNALS_MAX || this.#bytes + bytes > UNKNOWN_BYTES_MAX;
    if (isShareUsed && !isKnown()) return null;
    this.#bytes += bytes;
    return new Promise((settle) => {
      this.#waiting.push({ ...waiting, settle });
    });
  }

  /** The first ones, as many as fit into one batch. */
  takeBatch(): Waiting[] {
    let count = 0;
    let bytes = 0;
    for (const { signal } of this.#waiting) {
      bytes += bytesOf(signal);
      if (count > 0 && (count >= BATCH_SIGNALS_MAX || bytes > BATCH_BYTES_MAX)) break;
      count += 1;
    }
    return this.#take(count);
  }

  /** Those that have waited since before a time. */
  takeOlder(thanMs: number): Waiting[] {
    const first = this.#waiting.findIndex(({ sinceMs }) => sinceMs > thanMs);
    return this.#take(first === -1 ? this.#waiting.length : first);
  }

  takeAll(): Waiting[] {
    return this.#take(this.#waiting.length);
  }

  #take(count: number): Waiting[] {
    if (count === 0) return [];
    const taken = this.#waiting.splice(0, count);
    for (const { signal } of taken) this.#bytes -= bytesOf(signal);
    return taken;
  }
}

/** The text that is searched for keywords is stored in addition to the body. */
function bytesOf({ body, source }: AcceptedSignal): number {
  return (body?.length ?? 0) + (source.by === "email" ? source.text.length : 0);
}
