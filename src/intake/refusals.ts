// When pings were rejected, as intervals, because a job that could not send its ping must not be reported as down.
// There are two kinds: the intake could not accept any ping, or only some pings were rejected, which excuses only the
// checks they may have been for. Rejections in close succession form one interval.
import type { Instant, Interval } from "../core/instant.ts";
import { type SignalTarget, targetKey } from "../core/signal.ts";
import type { AttributedRefusals } from "../core/watermark.ts";
import { wideNetworkOf } from "../lib/http/client-address.ts";

/** A ping or a connection that was rejected before a ping could be passed on. */
export type Refusal = {
  /** From `now()`. */
  at: Instant;
  /** The target of the ping; null if unknown. */
  target: SignalTarget | null;
  network: string | null;
};

/** An interval ends after this long without a rejection. */
const REFUSAL_PAUSE_MS = 5_000;
/** Unreported intervals; beyond this number, the newest ones are merged, including the time between them. */
const ENDED_MAX = 100;

/** Intervals in which no ping could be accepted. */
export class Refusals {
  #sinceAt: Instant | null = null;
  #lastAt: Instant = 0;
  #ended: { from: Instant; to: Instant }[] = [];
  #count = 0;

  /** Number of rejections, for the admin. */
  get count(): number {
    return this.#count;
  }

  /** Records that a signal received at this instant was rejected. */
  note(at: Instant): void {
    this.#count += 1;
    this.#end(at);
    this.#sinceAt = this.#sinceAt === null ? at : Math.min(this.#sinceAt, at);
    this.#lastAt = Math.max(this.#lastAt, at);
  }

  /** Since when pings have been rejected; null if the last rejection is long enough ago. */
  sinceAt(now: Instant): Instant | null {
    this.#end(now);
    return this.#sinceAt;
  }

  /** The finished intervals that have not been reported, oldest first. */
  ended(now: Instant): readonly Interval[] {
    this.#end(now);
    return [...this.#ended];
  }

  /** The first `count` intervals have been reported. */
  markReported(count: number): void {
    this.#ended.splice(0, count);
  }

  #end(now: Instant): void {
    if (this.#sinceAt === null || now - this.#lastAt < REFUSAL_PAUSE_MS) return;
    const stretch = { from: this.#sinceAt, to: this.#lastAt };
    this.#sinceAt = null;
    this.#lastAt = 0;
    const newest = this.#ended.at(-1);
    if (this.#ended.length >= ENDED_MAX && newest !== undefined) newest.to = stretch.to;
    else this.#ended.push(stretch);
  }
}

/**
 * Checks whose pings were rejected between two heartbeats; beyond this number, the network of the sender is recorded
 * instead.
 */
const TARGETS_MAX = 20_000;
/** The same for targets that may not exist: anyone can name any number of them. */
const UNKNOWN_TARGETS_MAX = 5_000;
const UNKNOWN_TARGETS_PER_NETWORK_MAX = 100;
/**
 * Targets that one heartbeat stores. It has 2 s on a database that is busy at such times, and a failed heartbeat is
 * repeated with the same targets: storing all at once could make every heartbeat of an intake fail.
 */
const TARGETS_PER_BEAT_MAX = 2_000;
/** Networks beyond this number are recorded by the block that contains them. */
const NETWORKS_MAX = 1_000;
/** Blocks beyond this number are no longer distinguished. */
const BLOCKS_MAX = 500;

type Stretch = { from: Instant; to: Instant };

/** Rejections that excuse only one check or one network, collected until the next heartbeat stores them. */
export class AttributedRefusalSet {
  readonly #targets = new Map<string, Stretch & { target: SignalTarget }>();
  readonly #networks = new Map<string, Stretch & { network: string }>();
  readonly #unknownCounts = new Map<string, number>();
  #unknownCount = 0;
  #blockCount = 0;
  #count = 0;

  /** Number of recorded rejections, for metrics. */
  get count(): number {
    return this.#count;
  }

  /**
   * Records a rejection by its target or network. False: neither is known, or there is no room, so it may have been
   * for any check.
   */
  note({ at, target, network, isKnown }: Refusal & { isKnown: boolean }): boolean {
    const isNoted =
      (target !== null && this.#noteTarget({ at, target, network, isKnown })) ||
      (hasName(network) && this.#noteNetwork(network, at)) ||
      // A sender with an unknown address can make up any number of targets, and must not excuse every check in this
      // way.
      (target !== null && !isKnown && !hasName(network));
    if (isNoted) this.#count += 1;
    return isNoted;
  }

  /** What one heartbeat stores: a limited number of targets, those recorded first. */
  pending(): AttributedRefusals {
    const targets = [...this.#targets.values()].slice(0, TARGETS_PER_BEAT_MAX);
    return {
      targets: targets.map((one) => ({ ...one })),
      networks: Array.from(this.#networks.values(), (one) => ({ ...one })),
    };
  }

  /** Since when there are rejections that do not fit into one heartbeat; null: all fit. */
  restSinceAt(): Instant | null {
    if (this.#targets.size <= TARGETS_PER_BEAT_MAX) return null;
    const rest = [...this.#targets.values()].slice(TARGETS_PER_BEAT_MAX);
    return rest.reduce((sinceAt, { from }) => Math.min(sinceAt, from), Infinity);
  }

  /** These are stored; intervals extended since then are kept. */
  markStored({ targets, networks }: AttributedRefusals): void {
    for (const { target, to } of targets) {
      const key = targetKey(target);
      if (this.#targets.get(key)?.to === to) this.#targets.delete(key);
    }
    for (const { network, to } of networks) {
      if (this.#networks.get(network)?.to !== to) continue;
      this.#networks.delete(network);
      if (network.endsWith("/8") || network.endsWith("/32")) this.#blockCount -= 1;
    }
    // Quotas are per heartbeat, and for what one can store.
    if (this.#targets.size > TARGETS_PER_BEAT_MAX) return;
    this.#unknownCounts.clear();
    this.#unknownCount = 0;
  }

  #noteTarget(refusal: Refusal & { target: SignalTarget; isKnown: boolean }): boolean {
    const { at, target, network, isKnown } = refusal;
    const key = targetKey(target);
    const known = this.#targets.get(key);
    if (known !== undefined) {
      extend(known, at);
      return true;
    }
    if (this.#targets.size >= TARGETS_MAX || (!isKnown && !this.#takeUnknown(network ?? ""))) return false;
    this.#targets.set(key, { target, from: at, to: at });
    return true;
  }

  #takeUnknown(network: string): boolean {
    const count = this.#unknownCounts.get(network) ?? 0;
    if (count >= UNKNOWN_TARGETS_PER_NETWORK_MAX || this.#unknownCount >= UNKNOWN_TARGETS_MAX) return false;
    this.#unknownCounts.set(network, count + 1);
    this.#unknownCount += 1;
    return true;
  }

  #noteNetwork(network: string, at: Instant): boolean {
    const known = this.#networks.get(network) ?? this.#networks.get(wideNetworkOf(network));
    if (known !== undefined) {
      extend(known, at);
      return true;
    }
    const isWide = this.#networks.size - this.#blockCount >= NETWORKS_MAX;
    if (isWide && this.#blockCount >= BLOCKS_MAX) return false;
    if (isWide) this.#blockCount += 1;
    const noted = isWide ? wideNetworkOf(network) : network;
    this.#networks.set(noted, { network: noted, from: at, to: at });
    return true;
  }
}

function hasName(network: string | null): network is string {
  return network !== null && network !== "";
}

function extend(stretch: Stretch, at: Instant): void {
  stretch.from = Math.min(stretch.from, at);
  stretch.to = Math.max(stretch.to, at);
}
