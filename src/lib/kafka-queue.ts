// What waits for the leaders of its partitions. A leader gets one request at a time, because it answers them in order;
// everything that waits for it then is sent with the next one. A leader that hangs does not delay requests to others.
import type { KafkaBroker } from "./kafka-address.ts";

export type Leaders = {
  topicId: string;
  brokers: ReadonlyMap<number, KafkaBroker>;
  leaderOf: ReadonlyMap<number, number>;
  /** A higher one is newer. */
  epochOf: ReadonlyMap<number, number>;
};

type KafkaQueueDeps<T> = {
  leaders: () => Promise<Leaders>;
  /** How long items are gathered before they are sent; 0: those of the same turn of the event loop. */
  gatherMs: number;
  bytesMax: number;
  bytesOf: (item: T) => number;
  send: (leader: KafkaBroker, items: readonly T[]) => Promise<void>;
  /** A leader has answered, or has not in time. What is added in the same phase of the event loop is sent next, too. */
  onIdle?: (() => void) | undefined;
  /** The request failed, or the items were not sent. The error is null if their partitions have no leader. */
  fail: (items: readonly T[], error: unknown) => void;
};

export class KafkaQueue<T extends { partition: number }> {
  readonly #deps: KafkaQueueDeps<T>;
  readonly #waiting = new Set<T>();
  readonly #busy = new Set<number>();
  #isPlanned = false;

  constructor(deps: KafkaQueueDeps<T>) {
    this.#deps = deps;
  }

  add(items: readonly T[]): void {
    for (const item of items) this.#waiting.add(item);
    this.plan();
  }

  delete(item: T): void {
    this.#waiting.delete(item);
  }

  /** Whether this leader has not answered the last request. */
  isBusy(leader: number): boolean {
    return this.#busy.has(leader);
  }

  clear(): readonly T[] {
    const items = [...this.#waiting];
    this.#waiting.clear();
    return items;
  }

  /** Sends what waits, such as after a change of leaders. */
  plan(): void {
    if (this.#isPlanned || this.#waiting.size === 0) return;
    this.#isPlanned = true;
    const send = () => void this.#send();
    if (this.#deps.gatherMs === 0) queueMicrotask(send);
    else setTimeout(send, this.#deps.gatherMs);
  }

  async #send(): Promise<void> {
    const { leaders, fail } = this.#deps;
    try {
      const { brokers, leaderOf } = await leaders();
      this.#isPlanned = false;
      const byLeader = Map.groupBy(this.#waiting, ({ partition }) => leaderOf.get(partition) ?? -1);
      for (const [id, items] of byLeader) {
        if (!this.#busy.has(id)) this.#sendTo(id, brokers.get(id) ?? null, items);
      }
    } catch (error) {
      this.#isPlanned = false;
      fail(this.clear(), error);
    }
  }

  #sendTo(id: number, leader: KafkaBroker | null, items: readonly T[]): void {
    const { send, fail } = this.#deps;
    const own = leader === null ? items : this.#firstOf(items);
    for (const item of own) this.#waiting.delete(item);
    if (leader === null) {
      fail(own, null);
      return;
    }
    this.#busy.add(id);
    void send(leader, own)
      .catch((error: unknown) => fail(own, error))
      .finally(() => {
        this.#busy.delete(id);
        this.#deps.onIdle?.();
        setImmediate(() => this.plan());
      });
  }

  /** What fits into a request: one item of each partition, because an answer is about a partition. */
  #firstOf(items: readonly T[]): T[] {
    const { bytesMax, bytesOf } = this.#deps;
    const own = new Map<number, T>();
    let bytes = 0;
    for (const item of items) {
      if (own.has(item.partition)) continue;
      bytes += bytesOf(item);
      if (own.size > 0 && bytes > bytesMax) break;
      own.set(item.partition, item);
    }
    return [...own.values()];
  }
}
