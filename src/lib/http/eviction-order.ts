// Which connection is closed first when a server is full. Each network has a share of the limit; while a network holds
// more than that, one of its own connections is closed. Otherwise the oldest of all is closed.

export type Evictable = {
  /** The client network; null for connections that belong to no single client, such as those of a proxy. */
  network: string | null;
  /** It was used since it was last considered: it is passed over once. */
  isUsed: boolean;
};

export class EvictionOrder<Item extends Evictable> {
  readonly #networkShare: number;
  /** The oldest first. */
  readonly #all = new Set<Item>();
  readonly #networks = new Map<string, Set<Item>>();
  /** Networks with more than their share. There cannot be many, so the largest is found by looking at each. */
  readonly #large = new Set<Set<Item>>();

  constructor({ networkShare }: { networkShare: number }) {
    this.#networkShare = networkShare;
  }

  /** Adds an item at the end, unless it is there. Its network must not change before it is removed. */
  add(item: Item): void {
    if (this.#all.has(item)) return;
    this.#all.add(item);
    if (item.network === null) return;
    const own = this.#networks.get(item.network) ?? new Set();
    this.#networks.set(item.network, own.add(item));
    if (own.size > this.#networkShare) this.#large.add(own);
  }

  remove(item: Item): void {
    if (!this.#all.delete(item) || item.network === null) return;
    const own = this.#networks.get(item.network);
    own?.delete(item);
    if (own === undefined || own.size > this.#networkShare) return;
    this.#large.delete(own);
    if (own.size === 0) this.#networks.delete(item.network);
  }

  /**
   * The item to close, or null. Items for which `isBusy` holds are removed; the caller adds them again when that ends.
   * Each item passed over was used or became busy since it was added, so the work is bounded by the number of requests.
   */
  next(isBusy: (item: Item) => boolean): Item | null {
    for (;;) {
      const order = this.#largest() ?? this.#all;
      for (const item of order) {
        if (isBusy(item)) this.remove(item);
        else if (item.isUsed) {
          item.isUsed = false;
          order.delete(item);
          order.add(item);
        } else return item;
      }
      if (order === this.#all) return null;
    }
  }

  #largest(): Set<Item> | null {
    let largest: Set<Item> | null = null;
    for (const own of this.#large) if (own.size > (largest?.size ?? 0)) largest = own;
    return largest;
  }
}
