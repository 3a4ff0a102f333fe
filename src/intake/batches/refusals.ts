// When pings were refused, as stretches of time, because a job that could not deliver its ping must not be reported as
// silent. Two kinds: the intake could promise nothing to anybody, or only some pings were refused, which excuses only
// the checks that they may have been for. Refusals that follow closely on each other are one stretch.
import type { Instant, Interval } from "../../core/instant.ts";
import type { SignalTarget } from "../../core/signal.ts";
import type { AttributedRefusals } from "../../core/watermark.ts";
import { wideNetworkOf } from "../../lib/http/client-address.ts";
import type { Refusal } from "../intake.ts";

/** Without a refusal for this long, a stretch is over. */
const REFUSAL_PAUSE_MS = 5_000;
/** Stretches that wait to be told; beyond it the newest ones are joined, and the time between them with them. */
const ENDED_MAX = 100;

/** Times in which nothing could be promised to anybody. */
export class Refusals {
  #sinceAt: Instant | null = null;
  #lastAt: Instant = 0;
  #ended: { from: Instant; to: Instant }[] = [];
  #count = 0;

  /** How many there were, for the operator. */
  get count(): number {
    return this.#count;
  }

  /** A signal that was received at this instant is not promised. */
  note(at: Instant): void {
    this.#count += 1;
    this.#end(at);
    this.#sinceAt = this.#sinceAt === null ? at : Math.min(this.#sinceAt, at);
    this.#lastAt = Math.max(this.#lastAt, at);
  }

  /** Since when senders are refused; null when the last refusal lies long enough back. */
  sinceAt(now: Instant): Instant | null {
    this.#end(now);
    return this.#sinceAt;
  }

  /** The stretches that are over and have not been forgotten, oldest first. */
  ended(now: Instant): readonly Interval[] {
    this.#end(now);
    return [...this.#ended];
  }

  /** The first so many stretches have been told. */
  forget(count: number): void {
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

/** Checks whose pings were refused between two heartbeats; beyond it the network of the sender is noted instead. */
const TARGETS_MAX = 20_000;
/** The same for targets that may not exist: strangers can name as many as they like. */
const UNKNOWN_TARGETS_MAX = 5_000;
const UNKNOWN_TARGETS_PER_NETWORK_MAX = 100;
/**
 * Targets that one heartbeat stores. It has 2 s on a database that is busy at such times, and one that fails is made
 * again with the same targets: stored all at once, they could keep an intake from ever beating again.
 */
const TARGETS_PER_BEAT_MAX = 2_000;
/** Networks beyond this number are noted by the block that they are part of. */
const NETWORKS_MAX = 1_000;
/** Blocks beyond this number cannot be told apart any more. */
const BLOCKS_MAX = 500;

type Stretch = { from: Instant; to: Instant };

/** Refusals that excuse only one check or one network, collected until the next heartbeat stores them. */
export class AttributedRefusalSet {
  readonly #targets = new Map<string, Stretch & { target: SignalTarget }>();
  readonly #networks = new Map<string, Stretch & { network: string }>();
  readonly #unknownCounts = new Map<string, number>();
  #unknownCount = 0;
  #blockCount = 0;
  #count = 0;

  /** How many refusals were noted, for metrics. */
  get count(): number {
    return this.#count;
  }

  /**
   * Notes a refusal by what it may have been for. False: neither is known, or there is no room, so that it may have been
   * for any check.
   */
  note({ at, target, network, isKnown }: Refusal & { isKnown: boolean }): boolean {
    const isNoted =
      (target !== null && this.#noteTarget({ at, target, network, isKnown })) ||
      (hasName(network) && this.#noteNetwork(network, at)) ||
      // A sender that hides its address can make up targets without end, and must not excuse every check by that.
      (target !== null && !isKnown && !hasName(network));
    if (isNoted) this.#count += 1;
    return isNoted;
  }

  /** What one heartbeat stores: of the targets so many, those that were noted first. */
  pending(): AttributedRefusals {
    const targets = [...this.#targets.values()].slice(0, TARGETS_PER_BEAT_MAX);
    return {
      targets: targets.map((one) => ({ ...one })),
      networks: Array.from(this.#networks.values(), (one) => ({ ...one })),
    };
  }

  /** Since when there are refusals that do not fit into one heartbeat; null: all do. */
  restSinceAt(): Instant | null {
    if (this.#targets.size <= TARGETS_PER_BEAT_MAX) return null;
    const rest = [...this.#targets.values()].slice(TARGETS_PER_BEAT_MAX);
    return rest.reduce((sinceAt, { from }) => Math.min(sinceAt, from), Infinity);
  }

  /** These are stored; what was extended since then is kept. */
  forget({ targets, networks }: AttributedRefusals): void {
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

function targetKey(target: SignalTarget): string {
  return target.by === "uuid" ? target.uuid : `${target.pingKey}/${target.slug}`;
}
