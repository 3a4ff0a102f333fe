// The deliveries as a queue: which channels have something to send, who sends it, and how it ended. How many a
// channel may be given, and what follows from a result, is decided in core.
import type { ChannelHealth } from "../../core/alerts/channel-health.ts";
import type { Instant } from "../../core/instant.ts";
import { type Db, statement } from "../db.ts";
import type { Tx } from "../transaction.ts";
import { sqlInstant, toNumberArray, toTextArray, toTimestamp } from "../values.ts";
import {
  type Delivery,
  DELIVERY_COLUMNS,
  type DeliveryRow,
  type SettledState,
  toDelivery,
} from "./deliveries.ts";

/** A channel with unsent messages. */
export type WaitingChannel = {
  channelId: number;
  /** The account that owns its project; null: the channel or its project is gone. */
  ownerId: number | null;
  /** Whether one of them may be tried now. */
  isDue: boolean;
  /** Null: the channel is gone, and its messages are only to be settled. */
  channel: (ChannelHealth & { kind: string; isDisabled: boolean }) | null;
};

type WaitingRow = {
  channel_id: number;
  owner_id: number | null;
  is_due: boolean;
  kind: string | null;
  is_disabled: boolean;
  failure_count: number;
  last_notify_duration_ms: number | null;
  hold_until_at: Instant | null;
  bucket_full_at: Instant | null;
};

// From channel to channel by the index, however many messages one of them has waiting.
const FIND_CHANNELS = statement<WaitingRow>({
  name: "claims.find_channels",
  text: `with recursive visited (channel_id, next_try_at, nth) as (
      (
        select channel_id, next_try_at, 1 from deliveries
        where state = 'pending' and channel_id > $2 order by channel_id, next_try_at limit 1
      )
      union all
      select following.channel_id, following.next_try_at, visited.nth + 1
      from visited cross join lateral (
        select channel_id, next_try_at from deliveries
        where state = 'pending' and channel_id > visited.channel_id order by channel_id, next_try_at limit 1
      ) as following
      where visited.nth < $3
    )
    select v.channel_id, v.next_try_at <= $1 as is_due,
      (select m.account_id from members m where m.project_id = ch.project_id and m.role = 'owner') as owner_id,
      ch.kind, ch.disabled_at is not null as is_disabled,
      ch.failure_count, ch.last_notify_duration_ms, ch.hold_until_at, ch.bucket_full_at
    from visited v left join channels ch on ch.id = v.channel_id
    order by v.channel_id`,
});

/** Channels with unsent messages after the given one, in the order of their ids, at most `limit`. */
export async function findWaitingChannels(
  db: Db,
  { now, after, limit }: { now: Instant; after: number; limit: number },
): Promise<WaitingChannel[]> {
  const { rows } = await db.query(FIND_CHANNELS, [toTimestamp(now), after, limit]);
  return rows.map((row) => ({
    channelId: row.channel_id,
    ownerId: row.owner_id,
    isDue: row.is_due,
    channel:
      row.kind === null
        ? null
        : {
            kind: row.kind,
            isDisabled: row.is_disabled,
            failureCount: row.failure_count,
            lastNotifyDurationMs: row.last_notify_duration_ms,
            holdUntilAt: row.hold_until_at,
            bucketFullAt: row.bucket_full_at,
          },
  }));
}

const LOCK_BUCKETS = statement<{ id: number; bucket_full_at: Instant | null }>({
  name: "claims.lock_buckets",
  text: `select id, bucket_full_at from channels where id = any ($1::bigint[])
    order by id for no key update skip locked`,
});

/** Locks the buckets of channels and returns those that nobody else is busy with. */
export async function lockBuckets(
  tx: Tx,
  channelIds: readonly number[],
): Promise<Map<number, Instant | null>> {
  const { rows } = await tx.query(LOCK_BUCKETS, [toNumberArray(channelIds)]);
  return new Map(rows.map((row) => [row.id, row.bucket_full_at]));
}

const WRITE_BUCKETS = statement({
  name: "claims.write_buckets",
  text: `update channels ch set bucket_full_at = ${sqlInstant("n.full_at")}
    from unnest($1::bigint[], $2::bigint[]) as n (channel_id, full_at) where ch.id = n.channel_id`,
});

/** Writes buckets that this transaction has locked. */
export async function writeBuckets(tx: Tx, fullAtById: ReadonlyMap<number, Instant>): Promise<void> {
  await tx.query(WRITE_BUCKETS, [
    toNumberArray([...fullAtById.keys()]),
    toNumberArray([...fullAtById.values()]),
  ]);
}

/**
 * A lease that ends further ahead than any can is left from before the clock was set back. Twice as far, because
 * whoever looks may have looked at the clock before the one who claimed.
 */
const isFree = (claimedUntil: string) =>
  `(${claimedUntil} is null or ${claimedUntil} <= $3 or ${claimedUntil} > $4)`;

// How many are wanted is known only row by row, so the planner would rather read and sort everything that waits.
const IN_ORDER = statement({
  name: "claims.in_order",
  text: "select set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true)",
});

// The oldest unsent delivery of a check and channel is the key to all of them: only who locks it may send. A newer
// one that is due lets it be tried at once, unless it must first be repeated as it was. Nothing here waits for a lock.
const CLAIM = statement<DeliveryRow & { was_bound: boolean }>({
  name: "claims.claim",
  text: `with head as (
      select h.id, h.check_id, h.channel_id, h.message_id is not null as was_bound
      from deliveries h
      where h.state = 'pending' and ${isFree("h.claimed_until_at")} and h.id in (
        select due.head_id
        from unnest($1::bigint[], $2::int[]) as w (channel_id, allowance)
        cross join lateral (
          select coalesce(first.id, d.id) as head_id
          from deliveries d
          left join lateral (
            select p.id, p.message_id, p.next_try_at, p.claimed_until_at from deliveries p
            where p.state = 'pending' and p.check_id = d.check_id and p.channel_id = d.channel_id
            order by p.id limit 1
          ) as first on true
          where d.state = 'pending' and d.channel_id = w.channel_id and d.next_try_at <= $3
            and ($8::bigint is null or d.id = $8)
            and ${isFree("coalesce(first.claimed_until_at, d.claimed_until_at)")}
            and (first.message_id is null or first.next_try_at <= $3)
          order by d.next_try_at, d.id
          limit w.allowance
        ) as due
      )
      for update skip locked
    ), part as (
      select member.id, head.id as message_id, head.was_bound
      from head cross join lateral (
        select p.id from deliveries p
        where p.state = 'pending' and p.check_id = head.check_id and p.channel_id = head.channel_id
          and p.id > head.id and (not head.was_bound or p.message_id = head.id)
        order by p.id limit $7
        for update skip locked
      ) as member
      union all
      select id, id, was_bound from head
    )
    update deliveries d set claimed_by = $5, claimed_until_at = $6, attempt_count = d.attempt_count + 1,
      attempted_at = $3, message_id = part.message_id
    from part where d.id = part.id
    returning ${DELIVERY_COLUMNS}, part.was_bound`,
});

export type ClaimRequest = {
  now: Instant;
  /** How many messages each channel may be given. */
  allowances: ReadonlyMap<number, number>;
  /** Names the claim; whoever settles has to show it. */
  claimedBy: string;
  leaseMs: number;
  /** Deliveries that one message tells of, at most. */
  partsMax: number;
  /** Only this delivery; left out: whichever are due. */
  onlyId?: number;
};

/** Claims messages that are due: the deliveries of each, oldest first. `wasBound`: it may have been sent before. */
export async function claimMessages(
  tx: Tx,
  { now, allowances, claimedBy, leaseMs, partsMax, onlyId }: ClaimRequest,
): Promise<{ deliveries: Delivery[]; wasBound: boolean }[]> {
  const [, { rows }] = await Promise.all([
    tx.query(IN_ORDER, []),
    tx.query(CLAIM, [
      toNumberArray([...allowances.keys()]),
      toNumberArray([...allowances.values()]),
      toTimestamp(now),
      toTimestamp(now + 2 * leaseMs),
      claimedBy,
      toTimestamp(now + leaseMs),
      partsMax - 1,
      onlyId ?? null,
    ]),
  ]);
  const messages = Map.groupBy(
    rows.toSorted((one, other) => one.id - other.id),
    (row) => row.message_id,
  );
  return [...messages.values()].map((parts) => ({
    deliveries: parts.map(toDelivery),
    wasBound: parts[0]?.was_bound ?? false,
  }));
}

/** How a claimed delivery ended, or when it is tried again. */
export type Settlement = {
  deliveryId: number;
  claimedBy: string;
  outcome: SettledState | { retryAt: Instant };
  /** Whether the next try may say something else, since the receiver has surely not taken this one. */
  unbinds: boolean;
  /** Null: it was settled without being sent. */
  answer: { summary: string; code: number | null; excerpt: string | null } | null;
  /** Why it was not sent; null when it was. */
  reason: string | null;
};

const HOLD = statement({
  name: "claims.hold",
  text: "select id from deliveries where id = any ($1::bigint[]) order by id for update",
});

const SETTLE = statement<{ id: number }>({
  name: "claims.settle",
  text: `update deliveries d set state = n.state, settled_at = case when n.state <> 'pending' then $2::timestamptz end,
      next_try_at = ${sqlInstant("n.next_try_at")}, claimed_by = null, claimed_until_at = null,
      message_id = case when n.unbinds then null else d.message_id end,
      request_summary = coalesce(n.summary, d.request_summary),
      response_code = case when n.summary is null then d.response_code else n.code end,
      response_excerpt = case when n.summary is null then d.response_excerpt else n.excerpt end, reason = n.reason
    from unnest($1::bigint[], $3::uuid[], $4::text[], $5::bigint[], $6::boolean[], $7::text[], $8::int[],
      $9::text[], $10::text[])
      as n (id, claimed_by, state, next_try_at, unbinds, summary, code, excerpt, reason)
    where d.id = n.id and d.claimed_by = n.claimed_by
    returning d.id`,
});

/** Settles claimed deliveries and returns the ids of those whose claim still held; the others are somebody else's. */
export async function settleClaimed(
  tx: Tx,
  { settlements, at }: { settlements: readonly Settlement[]; at: Instant },
): Promise<Set<number>> {
  const ids = toNumberArray(settlements.map(({ deliveryId }) => deliveryId));
  const texts = (value: (of: Settlement) => string | null) => toTextArray(settlements.map(value));
  const numbers = (value: (of: Settlement) => number | null) => toNumberArray(settlements.map(value));
  // One order of locks for all who settle.
  await tx.query(HOLD, [ids]);
  const { rows } = await tx.query(SETTLE, [
    ids,
    toTimestamp(at),
    texts(({ claimedBy }) => claimedBy),
    texts(({ outcome }) => (typeof outcome === "string" ? outcome : "pending")),
    numbers(({ outcome }) => (typeof outcome === "string" ? null : outcome.retryAt)),
    texts(({ unbinds }) => String(unbinds)),
    texts(({ answer }) => answer?.summary ?? null),
    numbers(({ answer }) => answer?.code ?? null),
    texts(({ answer }) => answer?.excerpt ?? null),
    texts(({ reason }) => reason),
  ]);
  return new Set(rows.map(({ id }) => id));
}

const POSTPONE = statement({
  name: "claims.postpone",
  text: `update deliveries d set next_try_at = ${sqlInstant("n.next_try_at")}
    from unnest($1::bigint[], $2::bigint[], $3::bigint[]) as n (check_id, channel_id, next_try_at)
    where d.check_id = n.check_id and d.channel_id = n.channel_id and d.state = 'pending' and d.message_id is null`,
});

/**
 * When news that stands behind a message may be looked at: with it, while that has to be repeated, and at once
 * (null) when it is settled. The caller holds the claim of the message, so nobody else moves them.
 */
export async function postponeNews(
  tx: Tx,
  pairs: readonly { checkId: number; channelId: number; untilAt: Instant | null }[],
): Promise<void> {
  await tx.query(POSTPONE, [
    toNumberArray(pairs.map(({ checkId }) => checkId)),
    toNumberArray(pairs.map(({ channelId }) => channelId)),
    toNumberArray(pairs.map(({ untilAt }) => untilAt ?? 0)),
  ]);
}
