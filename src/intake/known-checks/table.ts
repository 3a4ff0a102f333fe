// The known fingerprints, and the day on which each was last seen: an open-addressing hash table in typed arrays, ten
// bytes per slot. It is split into shards, so that growing or clearing one never delays pings for long.
import type { Fingerprint } from "./fingerprint.ts";

/** Whole days since 1970; it fits 16 bits until the year 2149. */
export type Day = number;

/** For how many days after it was last seen a fingerprint is known. */
export const KNOWN_DAYS = 30;

const SHARDS = 256;
const SLOTS_MIN = 16;
/** A shard grows beyond this load factor, so that searches stay short. */
const LOAD_MAX = 0.7;
/** If the table is full, this share of a shard is dropped at once, so that the cost is spread over many additions. */
const CLEARED_SHARE = 1 / 16;

export class KnownTable {
  readonly #countMax: number;
  readonly #shards: Shard[] = Array.from({ length: SHARDS }, () => new Shard(SLOTS_MIN));
  #count = 0;

  constructor({ countMax }: { countMax: number }) {
    this.#countMax = countMax;
  }

  get count(): number {
    return this.#count;
  }

  get isFull(): boolean {
    return this.#count >= this.#countMax;
  }

  /** Memory used by the slots. */
  get bytes(): number {
    return this.#shards.reduce((sum, shard) => sum + shard.bytes, 0);
  }

  /** Whether it was seen within the last 30 days. */
  has(fingerprint: Fingerprint, today: Day): boolean {
    const day = this.#shardOf(fingerprint).dayOf(fingerprint);
    return day !== null && day >= today - KNOWN_DAYS;
  }

  /** Records that it was seen. True if that is new: it was unknown, or not yet seen on this day. */
  set(fingerprint: Fingerprint, day: Day): boolean {
    const shard = this.#shardOf(fingerprint);
    const before = shard.dayOf(fingerprint);
    if (before !== null && before >= day) return false;
    if (before === null) {
      if (this.#count >= this.#countMax) this.#makeRoom(shard);
      this.#count += 1;
    }
    shard.set(fingerprint, day);
    return true;
  }

  /** True if it was present. */
  delete(fingerprint: Fingerprint): boolean {
    const wasThere = this.#shardOf(fingerprint).delete(fingerprint);
    if (wasThere) this.#count -= 1;
    return wasThere;
  }

  /** Drops the least recently seen entries, from one shard only; all shards are alike. */
  #makeRoom(wanted: Shard): void {
    const shard = wanted.count > 0 ? wanted : this.#shards.find(({ count }) => count > 0);
    if (shard === undefined) return;
    const before = shard.count;
    const days = shard.days().toSorted();
    const lastDropped = days[Math.ceil(days.length * CLEARED_SHARE) - 1] ?? 0;
    let toDrop = Math.ceil(days.length * CLEARED_SHARE);
    shard.keepOnly((_fingerprint, day) => {
      if (day > lastDropped || toDrop === 0) return true;
      toDrop -= 1;
      return false;
    });
    this.#count -= before - shard.count;
  }

  #shardOf(fingerprint: Fingerprint): Shard {
    const shard = this.#shards[fingerprint % SHARDS];
    if (shard === undefined) throw new RangeError(`${fingerprint} is not a fingerprint`);
    return shard;
  }
}

class Shard {
  count = 0;
  /** Zero marks a free slot. */
  #fingerprints: Float64Array;
  #days: Uint16Array;

  constructor(slots: number) {
    this.#fingerprints = new Float64Array(slots);
    this.#days = new Uint16Array(slots);
  }

  get bytes(): number {
    return this.#fingerprints.byteLength + this.#days.byteLength;
  }

  dayOf(fingerprint: Fingerprint): Day | null {
    const slot = this.#slotOf(fingerprint);
    return this.#fingerprints[slot] === fingerprint ? (this.#days[slot] ?? null) : null;
  }

  set(fingerprint: Fingerprint, day: Day): void {
    let slot = this.#slotOf(fingerprint);
    if (this.#fingerprints[slot] !== fingerprint) {
      if (this.count + 1 > this.#fingerprints.length * LOAD_MAX) {
        this.#rebuild(this.#fingerprints.length * 2, () => true);
        slot = this.#slotOf(fingerprint);
      }
      this.#fingerprints[slot] = fingerprint;
      this.count += 1;
    }
    this.#days[slot] = day;
  }

  delete(fingerprint: Fingerprint): boolean {
    const [fingerprints, days] = [this.#fingerprints, this.#days];
    const mask = fingerprints.length - 1;
    let hole = this.#slotOf(fingerprint);
    if (fingerprints[hole] !== fingerprint) return false;
    // Moves following entries up if the hole would separate them from the slot where their search begins.
    for (let at = (hole + 1) & mask; fingerprints[at] !== 0; at = (at + 1) & mask) {
      const home = this.#homeOf(fingerprints[at] ?? 0);
      if (((at - home) & mask) < ((at - hole) & mask)) continue;
      fingerprints[hole] = fingerprints[at] ?? 0;
      days[hole] = days[at] ?? 0;
      hole = at;
    }
    fingerprints[hole] = 0;
    this.count -= 1;
    return true;
  }

  /** The days of all entries. */
  days(): Uint16Array {
    return this.#days.filter((_day, slot) => this.#fingerprints[slot] !== 0);
  }

  keepOnly(keep: (fingerprint: Fingerprint, day: Day) => boolean): void {
    this.#rebuild(this.#fingerprints.length, keep);
  }

  /** The slot of the fingerprint, or the free one where it belongs. */
  #slotOf(fingerprint: Fingerprint): number {
    const fingerprints = this.#fingerprints;
    const mask = fingerprints.length - 1;
    let slot = this.#homeOf(fingerprint);
    while (fingerprints[slot] !== fingerprint && fingerprints[slot] !== 0) slot = (slot + 1) & mask;
    return slot;
  }

  /** Uses other bits of the number than the choice of the shard. */
  #homeOf(fingerprint: Fingerprint): number {
    return Math.floor(fingerprint / SHARDS) & (this.#fingerprints.length - 1);
  }

  #rebuild(slots: number, keep: (fingerprint: Fingerprint, day: Day) => boolean): void {
    const [fingerprints, days] = [this.#fingerprints, this.#days];
    this.#fingerprints = new Float64Array(slots);
    this.#days = new Uint16Array(slots);
    this.count = 0;
    for (let at = 0; at < fingerprints.length; at += 1) {
      const fingerprint = fingerprints[at] ?? 0;
      const day = days[at] ?? 0;
      if (fingerprint !== 0 && keep(fingerprint, day)) this.set(fingerprint, day);
    }
  }
}
