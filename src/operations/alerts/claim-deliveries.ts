// Finds messages that are due and claims them for whoever sends them. Channels are visited in turn, and each is given
// only so many at a time, so that neither a slow receiver nor a long queue stands before the others.
import { randomUUID } from "node:crypto";
import { takeMessages } from "../../core/alerts/bucket.ts";
import { accountShare, allowance, CHANNEL_SENDS_MAX, isTroubled } from "../../core/alerts/channel-health.ts";
import type { Rate } from "../../core/alerts/sending.ts";
import type { Instant } from "../../core/instant.ts";
import { DELIVERY_LEASE_MS, MESSAGE_FLIPS_MAX } from "../../core/limits.ts";
import {
  claimMessages,
  findWaitingChannels,
  lockBuckets,
  type WaitingChannel,
  writeBuckets,
} from "../../store/alerts/claims.ts";
import type { Delivery } from "../../store/alerts/deliveries.ts";
import type { Database } from "../../store/db.ts";
import { inTransaction, type Tx } from "../../store/transaction.ts";

/** A message that one sender has to himself until the lease ends. */
export type Claim = {
  /** Names the claim; settling shows it. */
  claimedBy: string;
  channelId: number;
  /** The account that owns the channel's project; null: nobody, or the channel is gone. */
  ownerId: number | null;
  /** The same for every try at the same message. */
  dedupeKey: string;
  /** Which try this is, from 1 on. */
  attempt: number;
  /** It may have been sent before, so it has to say the same again. */
  isRepeat: boolean;
  /** Its channel fails, or takes its time. */
  isTroubled: boolean;
  /** Everything that the message settles, oldest first; at least one. */
  deliveries: readonly [Delivery, ...Delivery[]];
};

/** Senders that are free, and how many each account holds. */
export type Senders = { free: number; heldBy: ReadonlyMap<number, number> };

export type ClaimOptions = {
  now: Instant;
  /** Messages to claim at most. */
  limit: number;
  rateOf: (kind: string) => Rate | null;
  /** The channel after which to go on; 0 begins anew. */
  after?: number;
  /** Messages that this process is sending, by channel. */
  inFlight?: ReadonlyMap<number, number>;
  /** The senders of this process, and those that channels in trouble may have; left out: accounts are not limited. */
  senders?: { all: Senders; troubled: Senders };
  /** Messages to one channel at the same time. */
  sendsMax?: number;
  leaseMs?: number;
  /** Only this delivery; left out: whichever are due. */
  onlyId?: number;
};

/** Channels that one claim looks at. */
const CHANNELS_VISITED_MAX = 500;

/** Messages of a channel that is gone or disabled. */
const UNSENT_MAX = 16;

/** Claims what is due. `after` is where the next call goes on: 0 when all channels have been visited. */
export async function claimDeliveries(
  database: Database,
  options: ClaimOptions,
): Promise<{ claims: Claim[]; after: number }> {
  const { now, after = 0 } = options;
  const waiting = await findWaitingChannels(database, { now, after, limit: CHANNELS_VISITED_MAX });
  const shares = shareOut(waiting, options);
  if (shares.given.size === 0) return { claims: [], after: shares.after };
  const claims = await inTransaction(database, (tx) => claimShares(tx, shares, options));
  return { claims, after: shares.after };
}

/** What is left to give, and how much of it each account may have. */
class Pool {
  readonly #isShared: boolean;
  readonly #held: Map<number, number>;
  free: number;

  /** Without `heldBy` one account may have everything. */
  constructor(free: number, heldBy?: ReadonlyMap<number, number>) {
    this.free = free;
    this.#isShared = heldBy !== undefined;
    this.#held = new Map(heldBy);
  }

  leftFor(ownerId: number | null): number {
    if (!this.#isShared || ownerId === null) return this.free;
    return accountShare({ held: this.#held.get(ownerId) ?? 0, free: this.free });
  }

  take(count: number, ownerId: number | null): void {
    this.free -= count;
    if (ownerId !== null) this.#held.set(ownerId, (this.#held.get(ownerId) ?? 0) + count);
  }
}

type Shares = {
  /** How many messages each channel may be given. */
  given: Map<number, number>;
  owners: Map<number, number | null>;
  troubled: Set<number>;
  limited: Map<number, { waiting: WaitingChannel; rate: Rate }>;
  after: number;
};

/** Goes from channel to channel until nothing is left to give. */
function shareOut(waiting: readonly WaitingChannel[], options: ClaimOptions): Shares {
  const { limit, rateOf, senders } = options;
  const given = new Map<number, number>();
  const owners: Shares["owners"] = new Map();
  const limited: Shares["limited"] = new Map();
  const troubled = new Set<number>();
  let left = limit;
  let lastGiven = 0;
  // Where the next claim goes on if an account got less than it wanted: its other channels have their turn then.
  let cutAt = 0;
  const all = new Pool(senders?.all.free ?? limit, senders?.all.heldBy);
  const careful = new Pool(senders?.troubled.free ?? limit, senders?.troubled.heldBy);
  for (const one of waiting) {
    if (left === 0) return { given, owners, troubled, limited, after: cutAt === 0 ? lastGiven : cutAt };
    if (!one.isDue) continue;
    const { ownerId } = one;
    const wanted = Math.min(left, shareOf(one, { ...options, troubledLeft: careful.leftFor(ownerId) }));
    const share = Math.min(wanted, all.leftFor(ownerId));
    if (share < wanted && cutAt === 0) cutAt = lastGiven;
    if (share === 0) continue;
    lastGiven = one.channelId;
    given.set(one.channelId, share);
    owners.set(one.channelId, ownerId);
    left -= share;
    all.take(share, ownerId);
    if (one.channel === null) continue;
    if (isTroubled(one.channel)) {
      troubled.add(one.channelId);
      careful.take(share, ownerId);
    }
    const rate = rateOf(one.channel.kind);
    if (rate !== null) limited.set(one.channelId, { waiting: one, rate });
  }
  const last = waiting.length < CHANNELS_VISITED_MAX ? 0 : (waiting.at(-1)?.channelId ?? 0);
  return { given, owners, troubled, limited, after: cutAt === 0 ? last : cutAt };
}

function shareOf(
  { channelId, channel }: WaitingChannel,
  options: ClaimOptions & { troubledLeft?: number },
): number {
  const { now, limit, rateOf, inFlight, troubledLeft = limit, sendsMax = CHANNEL_SENDS_MAX } = options;
  // Little or nothing is sent there: what waits is settled.
  if (channel === null || channel.isDisabled) return UNSENT_MAX;
  const underway = { inFlight: inFlight?.get(channelId) ?? 0, sendsMax, troubledLeft };
  return allowance(channel, { rate: rateOf(channel.kind), now, underway });
}

async function claimShares(tx: Tx, shares: Shares, options: ClaimOptions): Promise<Claim[]> {
  const { given, owners, troubled, limited } = shares;
  const { now, leaseMs = DELIVERY_LEASE_MS, onlyId } = options;
  const buckets = limited.size === 0 ? new Map() : await lockBuckets(tx, [...limited.keys()]);
  shareAgain(shares, { buckets, options });
  const claimedBy = randomUUID();
  const messages = await claimMessages(tx, {
    now,
    allowances: given,
    claimedBy,
    leaseMs,
    partsMax: MESSAGE_FLIPS_MAX,
    ...(onlyId !== undefined && { onlyId }),
  });
  const claims = messages.map((message) => toClaim(message, { claimedBy, owners, troubled }));
  const taken = Map.groupBy(
    claims.filter(({ channelId }) => limited.has(channelId)),
    ({ channelId }) => channelId,
  );
  if (taken.size > 0) await writeBuckets(tx, bucketsAfter(taken, { limited, buckets, now }));
  return claims;
}

/** Of those with a limit, by what is in the locked buckets; whoever else holds one is taking from it. */
function shareAgain(
  { given, limited }: Shares,
  { buckets, options }: { buckets: ReadonlyMap<number, Instant | null>; options: ClaimOptions },
): void {
  for (const [channelId, { waiting }] of limited) {
    const fullAt = buckets.get(channelId);
    if (fullAt === undefined || waiting.channel === null) given.delete(channelId);
    else {
      const share = shareOf({ ...waiting, channel: { ...waiting.channel, bucketFullAt: fullAt } }, options);
      given.set(channelId, Math.min(given.get(channelId) ?? 0, share));
    }
  }
}

function bucketsAfter(
  taken: ReadonlyMap<number, readonly Claim[]>,
  at: { limited: Shares["limited"]; buckets: ReadonlyMap<number, Instant | null>; now: Instant },
): Map<number, Instant> {
  const after = new Map<number, Instant>();
  for (const [channelId, claims] of taken) {
    const rate = at.limited.get(channelId)?.rate;
    if (rate === undefined) continue;
    const fullAt = at.buckets.get(channelId) ?? null;
    after.set(channelId, takeMessages(fullAt, { rate, now: at.now, count: claims.length }));
  }
  return after;
}

function toClaim(
  { deliveries, wasBound }: { deliveries: readonly Delivery[]; wasBound: boolean },
  { claimedBy, owners, troubled }: { claimedBy: string } & Pick<Shares, "owners" | "troubled">,
): Claim {
  const [head, ...rest] = deliveries;
  if (head === undefined) throw new Error("a message without deliveries was claimed");
  return {
    claimedBy,
    channelId: head.channelId,
    ownerId: owners.get(head.channelId) ?? null,
    dedupeKey: head.dedupeKey,
    attempt: head.attemptCount,
    isRepeat: wasBound,
    isTroubled: troubled.has(head.channelId),
    deliveries: [head, ...rest],
  };
}
