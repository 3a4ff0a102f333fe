// Deliveries: one row per message part and channel. Planning inserts them in the transaction of the flip, the
// notifier claims and settles them, and the delivery log reads them.
import type { AlertCause } from "../core/alert.ts";
import type { ChannelHealth } from "../core/delivery.ts";
import type { DrillMode } from "../core/fire-drill.ts";
import type { Severity } from "../core/incident.ts";
import type { AttemptedDelivery } from "../core/channel-health.ts";
import type { Instant } from "../core/instant.ts";
import type { OtherChecks } from "../core/message.ts";
import type { HoldRule } from "../core/plan.ts";
import {
  type CheckRow,
  type CheckWithState,
  SELECT_WITH_STATE,
  type StateRow,
  toCheckWithState,
} from "./checks.ts";
import { type Db, statement } from "./db.ts";
import type { Tx } from "./transaction.ts";
import { sqlInstant, toNumberArray, toTextArray, toTimestamp } from "./values.ts";

/**
 * `merged`: sent together with a later one. `withdrawn`: its flip was retracted before it was sent, or the
 * check or channel was deleted. `skipped`: the channel is not subscribed to it. `dead`: given up.
 */
export type SettledState = "sent" | "merged" | "withdrawn" | "skipped" | "dead";

export type DeliveryKind =
  | "flip"
  | "correction"
  | "repeat"
  | "group"
  | "notice"
  | "disabled"
  | "operator"
  | "test";

export type Delivery = {
  id: number;
  kind: DeliveryKind;
  /** Sent to receivers that support deduplication: the key of the oldest delivery of the message. */
  dedupeKey: string;
  channelId: number;
  /** The group that the channel is a member of; null: assigned directly. */
  groupId: number | null;
  /** For flips and corrections. */
  checkId: number | null;
  flipId: number | null;
  alertId: number | null;
  incidentId: number | null;
  /** A silence held it until then. */
  heldUntilAt: Instant | null;
  /** For notices. */
  blindFromAt: Instant | null;
  blindToAt: Instant | null;
  /** The contents of the message, if no other row has them. */
  about: Readonly<Record<string, unknown>> | null;
  state: "pending" | SettledState;
  createdAt: Instant;
  /** Attempts started. */
  attemptCount: number;
  /** Null after it is settled. */
  nextTryAt: Instant | null;
  attemptedAt: Instant | null;
  settledAt: Instant | null;
  requestSummary: string | null;
  responseCode: number | null;
  responseExcerpt: string | null;
  reason: string | null;
  /** The oldest delivery of the message that it was, or may have been, sent with. */
  messageId: number | null;
  /** Part of a fire drill; `quiet`: only rendered. */
  fireDrill: DrillMode | null;
};

export type DeliveryRow = {
  id: number;
  kind: DeliveryKind;
  dedupe_key: string;
  channel_id: number;
  group_id: number | null;
  check_id: number | null;
  flip_id: number | null;
  alert_id: number | null;
  incident_id: number | null;
  held_until_at: Instant | null;
  blind_from_at: Instant | null;
  blind_to_at: Instant | null;
  about: Record<string, unknown> | null;
  state: Delivery["state"];
  created_at: Instant;
  attempt_count: number;
  next_try_at: Instant | null;
  attempted_at: Instant | null;
  settled_at: Instant | null;
  request_summary: string | null;
  response_code: number | null;
  response_excerpt: string | null;
  reason: string | null;
  message_id: number | null;
  fire_drill: DrillMode | null;
};

/** The columns of a delivery, for the statements that write and return one. */
export const DELIVERY_COLUMNS = `d.id, d.kind, d.dedupe_key, d.channel_id, d.group_id, d.check_id, d.flip_id,
  d.alert_id, d.incident_id, d.held_until_at, d.blind_from_at, d.blind_to_at, d.about, d.state, d.created_at, d.attempt_count, d.next_try_at, d.attempted_at, d.settled_at,
  d.request_summary, d.response_code, d.response_excerpt, d.reason, d.message_id, d.fire_drill`;

/** A row of these columns as a domain value. */
export function toDelivery(row: DeliveryRow): Delivery {
  return {
    id: row.id,
    kind: row.kind,
    dedupeKey: row.dedupe_key,
    channelId: row.channel_id,
    groupId: row.group_id,
    checkId: row.check_id,
    flipId: row.flip_id,
    alertId: row.alert_id,
    incidentId: row.incident_id,
    heldUntilAt: row.held_until_at,
    blindFromAt: row.blind_from_at,
    blindToAt: row.blind_to_at,
    about: row.about,
    state: row.state,
    createdAt: row.created_at,
    attemptCount: row.attempt_count,
    // Deliveries due at once have the instant 0, so that a clock set back cannot delay them.
    nextTryAt: row.next_try_at === null ? null : Math.max(row.next_try_at, row.created_at),
    attemptedAt: row.attempted_at,
    settledAt: row.settled_at,
    requestSummary: row.request_summary,
    responseCode: row.response_code,
    responseExcerpt: row.response_excerpt,
    reason: row.reason,
    messageId: row.message_id,
    fireDrill: row.fire_drill,
  };
}

const COUNT_UNSENT = statement<{ count: number; oldest_at: Instant | null }>({
  name: "deliveries.count_unsent",
  text: "select count(*) as count, min(created_at) as oldest_at from deliveries where state = 'pending'",
});

/** Number of pending deliveries, and since when the oldest has been waiting; null if none. */
export async function countUnsent(db: Db): Promise<{ count: number; oldestAt: Instant | null }> {
  const { rows } = await db.query(COUNT_UNSENT, []);
  return { count: rows[0]?.count ?? 0, oldestAt: rows[0]?.oldest_at ?? null };
}

const FIND_DELIVERIES = statement<DeliveryRow>({
  name: "deliveries.find",
  text: `select ${DELIVERY_COLUMNS} from deliveries d where d.id = any ($1::bigint[]) order by d.id`,
});

/**
 * These deliveries, oldest first, without deleted ones.
 *
 * @internal Only tests use it.
 */
export async function findDeliveries(db: Db, deliveryIds: readonly number[]): Promise<Delivery[]> {
  return (await db.query(FIND_DELIVERIES, [deliveryIds])).rows.map(toDelivery);
}

const LIST_DELIVERIES_OF_CHANNEL = statement<DeliveryRow>({
  name: "deliveries.list_of_channel",
  text: `select ${DELIVERY_COLUMNS} from deliveries d
    where d.channel_id = $1 and ($2::bigint is null or d.id < $2) order by d.id desc limit $3`,
});

/**
 * The delivery log of a channel, newest first, from before `beforeId` if that is given.
 *
 * @internal Only tests use it.
 */
export async function listDeliveriesOfChannel(
  db: Db,
  page: { channelId: number; beforeId?: number; limit: number },
): Promise<Delivery[]> {
  const { rows } = await db.query(LIST_DELIVERIES_OF_CHANNEL, [
    page.channelId,
    page.beforeId ?? null,
    page.limit,
  ]);
  return rows.map(toDelivery);
}

// The newest rows are taken first: a channel with many others that were never sent is not searched.
const LIST_RECENT_OF_PROJECT = statement<{
  channel_uuid: string;
  state: AttemptedDelivery["state"];
  attempt_count: number;
  created_at: Instant;
  attempted_at: Instant | null;
  settled_at: Instant | null;
}>({
  name: "deliveries.list_recent_of_project",
  text: `select ch.uuid as channel_uuid, d.state, d.attempt_count, d.created_at, d.attempted_at, d.settled_at
    from channels ch cross join lateral (
      select * from deliveries where channel_id = ch.id and fire_drill is null order by id desc limit $2
    ) d
    where ch.project_id = $1 and d.attempt_count > 0
      and (d.state in ('sent', 'dead') or (d.state = 'pending' and d.reason is not null))
    order by d.id`,
});

/** The newest deliveries that were attempted, by channel, at most `limit` for each, oldest first. */
export async function listRecentDeliveries(
  db: Db,
  { projectId, limit }: { projectId: number; limit: number },
): Promise<ReadonlyMap<string, AttemptedDelivery[]>> {
  const { rows } = await db.query(LIST_RECENT_OF_PROJECT, [projectId, limit]);
  return Map.groupBy(
    rows.map((row) => ({
      channelUuid: row.channel_uuid,
      state: row.state,
      attemptCount: row.attempt_count,
      createdAt: row.created_at,
      attemptedAt: row.attempted_at,
      settledAt: row.settled_at,
    })),
    ({ channelUuid }) => channelUuid,
  );
}

const LIST_DELIVERIES_OF_FLIP = statement<DeliveryRow>({
  name: "deliveries.list_of_flip",
  text: `select ${DELIVERY_COLUMNS} from deliveries d where d.flip_id = $1 order by d.id`,
});

/** The deliveries of a flip, including corrections. */
export async function listDeliveriesOfFlip(db: Db, flipId: number): Promise<Delivery[]> {
  return (await db.query(LIST_DELIVERIES_OF_FLIP, [flipId])).rows.map(toDelivery);
}

// By ctid, so that the plan reads only the oldest rows by the key, whatever the limit.
const PRUNE_DELIVERIES = statement<{ count: number }>({
  name: "deliveries.prune",
  text: `with gone as (
      delete from deliveries
      where ctid = any (array(
        select ctid from (select ctid, settled_at from deliveries order by id limit $2) as oldest
        where settled_at < $1
      ))
      returning id
    ), forgotten as (
      delete from notice_checks using gone where delivery_id = gone.id
    ), unlisted as (
      delete from delivery_alerts using gone where delivery_id = gone.id
    )
    select count(*) as count from gone`,
});

/** Deletes those of the `limit` oldest rows that were settled before an instant; returns how many. */
export async function pruneDeliveries(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE_DELIVERIES, [toTimestamp(before), limit])).rows[0]?.count ?? 0;
}

const DELETE_DELIVERIES_OF_CHECK = statement({
  name: "deliveries.delete_of_check",
  text: `with unnoticed as (delete from notice_checks where check_id = $1)
    delete from deliveries d using flips f where f.check_id = $1 and d.flip_id = f.id`,
});

/** Deletes the deliveries of a check. They are found by its flips, so this comes before deleting those. */
export async function deleteDeliveriesOfCheck(tx: Tx, checkId: number): Promise<void> {
  await tx.query(DELETE_DELIVERIES_OF_CHECK, [checkId]);
}

/** A channel with unsent messages. */
export type WaitingChannel = {
  channelId: number;
  /** The account that owns its project; null: the channel or its project was deleted. */
  ownerId: number | null;
  /** Whether one of them is due. */
  isDue: boolean;
  /** Null: the channel was deleted, and its messages are only settled. */
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

// Skips from channel to channel by the index, however many messages each has.
const FIND_WAITING_CHANNELS = statement<WaitingRow>({
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
  const { rows } = await db.query(FIND_WAITING_CHANNELS, [toTimestamp(now), after, limit]);
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

/**
 * A lease that ends too far in the future is left from before the clock was set back. Twice the maximum,
 * because the clock may have been read before the claim was made.
 */
const isFree = (claimedUntil: string) =>
  `(${claimedUntil} is null or ${claimedUntil} <= $3 or ${claimedUntil} > $4)`;

// The limit differs per row, so the planner would otherwise read and sort everything.
const READ_IN_ORDER = statement({
  name: "claims.in_order",
  text: "select set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true)",
});

// The oldest unsent delivery of a check and channel is locked for all of them: only its holder may send. A
// newer one that is due makes it due at once, unless it must be repeated unchanged. Nothing here waits for a
// lock.
const CLAIM_MESSAGES = statement<DeliveryRow & { was_bound: boolean; interrupted_at: Instant | null }>({
  name: "claims.claim",
  text: `with head as (
      select h.id, h.check_id, h.channel_id, h.message_id is not null as was_bound,
        case when h.claimed_by is not null and (h.request_summary is null or h.response_code is not null)
          then h.attempted_at end as interrupted_at
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
      select member.id, head.id as message_id, head.was_bound, head.interrupted_at
      from head cross join lateral (
        select p.id from deliveries p
        where p.state = 'pending' and p.check_id = head.check_id and p.channel_id = head.channel_id
          and p.id > head.id and (not head.was_bound or p.message_id = head.id)
        order by p.id limit $7
        for update skip locked
      ) as member
      union all
      select id, id, was_bound, interrupted_at from head
    )
    update deliveries d set claimed_by = $5, claimed_until_at = $6, attempt_count = d.attempt_count + 1,
      attempted_at = $3, message_id = part.message_id
    from part where d.id = part.id
    returning ${DELIVERY_COLUMNS}, part.was_bound, part.interrupted_at`,
});

export type ClaimRequest = {
  now: Instant;
  /** Messages that may be claimed per channel. */
  allowances: ReadonlyMap<number, number>;
  /** Identifies the claim when it is settled. */
  claimedBy: string;
  leaseMs: number;
  /** Maximum deliveries per message. */
  partsMax: number;
  /** Only this delivery; if omitted, all that are due. */
  onlyId?: number;
};

/**
 * Claims messages that are due: the deliveries of each, oldest first. `wasBound`: it may have been sent before.
 * `interruptedAt`: only by a sender that claimed it then and has not reported since.
 */
export async function claimMessages(
  tx: Tx,
  { now, allowances, claimedBy, leaseMs, partsMax, onlyId }: ClaimRequest,
): Promise<{ deliveries: Delivery[]; wasBound: boolean; interruptedAt: Instant | null }[]> {
  const [, { rows }] = await Promise.all([
    tx.query(READ_IN_ORDER, []),
    tx.query(CLAIM_MESSAGES, [
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
    interruptedAt: parts[0]?.interrupted_at ?? null,
  }));
}

/** The outcome of a claimed delivery, or when it is retried. */
export type Settlement = {
  deliveryId: number;
  claimedBy: string;
  outcome: SettledState | { retryAt: Instant } | { heldUntil: Instant };
  /**
   * Whether the next attempt may have other contents, because the receiver has certainly not accepted this
   * one.
   */
  unbinds: boolean;
  /** The attempt does not count; also if it is held. */
  isUntried?: true;
  /** Null: settled without sending. */
  answer: { summary: string; code: number | null; excerpt: string | null } | null;
  /** Why it was not sent; null when it was. */
  reason: string | null;
};

const HOLD_CLAIMED = statement({
  name: "claims.hold",
  text: "select id from deliveries where id = any ($1::bigint[]) order by id for update",
});

const SETTLE_CLAIMED = statement<{ id: number }>({
  name: "claims.settle",
  text: `update deliveries d set state = n.state, settled_at = case when n.state <> 'pending' then $2::timestamptz end,
      next_try_at = ${sqlInstant("n.next_try_at")}, claimed_by = null, claimed_until_at = null,
      held_until_at = case when n.is_held then ${sqlInstant("n.next_try_at")} else d.held_until_at end,
      attempt_count = d.attempt_count - case when n.is_untried then 1 else 0 end,
      message_id = case when n.unbinds then null else d.message_id end,
      request_summary = coalesce(n.summary, d.request_summary),
      response_code = case when n.summary is null then d.response_code else n.code end,
      response_excerpt = case when n.summary is null then d.response_excerpt else n.excerpt end, reason = n.reason
    from unnest($1::bigint[], $3::uuid[], $4::text[], $5::bigint[], $6::boolean[], $7::text[], $8::int[],
      $9::text[], $10::text[], $11::boolean[], $12::boolean[])
      as n (id, claimed_by, state, next_try_at, unbinds, summary, code, excerpt, reason, is_held, is_untried)
    where d.id = n.id and d.claimed_by = n.claimed_by
    returning d.id`,
});

/** Settles claimed deliveries; returns the ids of those whose claim was still held. */
export async function settleClaimed(
  tx: Tx,
  { settlements, at }: { settlements: readonly Settlement[]; at: Instant },
): Promise<Set<number>> {
  const ids = toNumberArray(settlements.map(({ deliveryId }) => deliveryId));
  const texts = (value: (of: Settlement) => string | null) => toTextArray(settlements.map(value));
  const numbers = (value: (of: Settlement) => number | null) => toNumberArray(settlements.map(value));
  // The same lock order in all transactions.
  await tx.query(HOLD_CLAIMED, [ids]);
  const { rows } = await tx.query(SETTLE_CLAIMED, [
    ids,
    toTimestamp(at),
    texts(({ claimedBy }) => claimedBy),
    texts(({ outcome }) => (typeof outcome === "string" ? outcome : "pending")),
    numbers(({ outcome }) => nextTryOf(outcome)),
    texts(({ unbinds }) => String(unbinds)),
    texts(({ answer }) => answer?.summary ?? null),
    numbers(({ answer }) => answer?.code ?? null),
    texts(({ answer }) => answer?.excerpt ?? null),
    texts(({ reason }) => reason),
    texts(({ outcome }) => String(isHeld(outcome))),
    texts(({ outcome, isUntried }) => String(isUntried === true || isHeld(outcome))),
  ]);
  return new Set(rows.map(({ id }) => id));
}

function isHeld(outcome: Settlement["outcome"]): boolean {
  return typeof outcome !== "string" && "heldUntil" in outcome;
}

function nextTryOf(outcome: Settlement["outcome"]): Instant | null {
  if (typeof outcome === "string") return null;
  return "heldUntil" in outcome ? outcome.heldUntil : outcome.retryAt;
}

const POSTPONE_DELIVERIES = statement({
  name: "claims.postpone",
  text: `update deliveries d set next_try_at = ${sqlInstant("n.next_try_at")}
    from unnest($1::bigint[], $2::bigint[], $3::bigint[]) as n (check_id, channel_id, next_try_at)
    where d.check_id = n.check_id and d.channel_id = n.channel_id and d.state = 'pending' and d.message_id is null`,
});

/**
 * When deliveries behind a message may be sent: with it, while it has to be repeated, and at once (null) when
 * it is settled. The caller holds the claim of the message.
 */
export async function postponeDeliveries(
  tx: Tx,
  pairs: readonly { checkId: number; channelId: number; untilAt: Instant | null }[],
): Promise<void> {
  await tx.query(POSTPONE_DELIVERIES, [
    toNumberArray(pairs.map(({ checkId }) => checkId)),
    toNumberArray(pairs.map(({ channelId }) => channelId)),
    toNumberArray(pairs.map(({ untilAt }) => untilAt ?? 0)),
  ]);
}

export type LoggedDelivery = Delivery & {
  channel: { uuid: string; kind: string; name: string };
  /** Null if assigned directly, or the group was deleted. */
  groupUuid: string | null;
  /** Null if it is about no check, or the check was deleted or moved. */
  check: { uuid: string; name: string } | null;
  /** The new status; null if it is about no change, or the flip was deleted. */
  flipTo: "up" | "down" | null;
};

type LoggedRow = DeliveryRow & {
  channel_uuid: string;
  channel_kind: string;
  channel_name: string;
  group_uuid: string | null;
  check_uuid: string | null;
  check_name: string | null;
  flip_to: "up" | "down" | null;
};

const LOGGED_COLUMNS = `${DELIVERY_COLUMNS}, ch.uuid as channel_uuid, ch.kind as channel_kind, ch.name as channel_name,
  g.uuid as group_uuid, c.uuid as check_uuid, c.name as check_name, f.to_status as flip_to`;

const LOGGED_JOINS = `join channels ch on ch.id = d.channel_id
  left join channels g on g.id = d.group_id
  left join checks c on c.id = d.check_id and c.project_id = ch.project_id and c.deleted_at is null
  left join flips f on f.id = d.flip_id`;

function toLogged(row: LoggedRow): LoggedDelivery {
  return {
    ...toDelivery(row),
    channel: { uuid: row.channel_uuid, kind: row.channel_kind, name: row.channel_name },
    groupUuid: row.group_uuid,
    check: row.check_uuid === null ? null : { uuid: row.check_uuid, name: row.check_name ?? "" },
    flipTo: row.flip_to,
  };
}

// Reads the newest few per channel by the index, however long its log is.
const LIST_LOGGED_DELIVERIES = statement<LoggedRow>({
  name: "delivery_log.list",
  text: `select ${LOGGED_COLUMNS}
    from (
      select newest.* from unnest($1::bigint[]) as wanted (channel_id)
        cross join lateral (
          select one.* from deliveries one
          where one.channel_id = wanted.channel_id and ($2::bigint is null or one.id < $2) and one.fire_drill is null
          order by one.id desc limit $3
        ) as newest
      order by newest.id desc limit $3
    ) as d ${LOGGED_JOINS}
    order by d.id desc`,
});

/** The deliveries of these channels, newest first, from before `beforeId` if that is given. */
export async function listLoggedDeliveries(
  db: Db,
  page: { channelIds: readonly number[]; beforeId: number | null; limit: number },
): Promise<LoggedDelivery[]> {
  const { rows } = await db.query(LIST_LOGGED_DELIVERIES, [
    toNumberArray(page.channelIds),
    page.beforeId,
    page.limit,
  ]);
  return rows.map(toLogged);
}

const FIND_LOGGED_DELIVERIES = statement<LoggedRow>({
  name: "delivery_log.find",
  text: `select ${LOGGED_COLUMNS} from deliveries d ${LOGGED_JOINS}
    where d.id = any ($1::bigint[]) and ch.project_id = $2 and d.fire_drill is null order by d.id`,
});

/**
 * Those of these deliveries that belong to a project, oldest first. Deliveries of deleted channels are left
 * out.
 */
export async function findLoggedDeliveries(
  db: Db,
  { projectId, deliveryIds }: { projectId: number; deliveryIds: readonly number[] },
): Promise<LoggedDelivery[]> {
  return (await db.query(FIND_LOGGED_DELIVERIES, [toNumberArray(deliveryIds), projectId])).rows.map(toLogged);
}

/** How many of a channel's newest deliveries are searched for one that its receiver reports about. */
const REPORTED_READ_MAX = 1_000;

const NOTE_REPORT = statement<{ state: Delivery["state"] }>({
  name: "delivery_log.note_report",
  text: `with newest as (
      select d.id, d.dedupe_key, d.message_id, d.state from deliveries d join channels ch on ch.id = d.channel_id
      where ch.uuid = $1 order by d.id desc limit ${REPORTED_READ_MAX}
    ), message as (
      select n.id, n.state from newest n
      where n.message_id = (select head.id from newest head where head.dedupe_key = $2)
    ), noted as (
      update deliveries d set reason = $3 from message m where d.id = m.id and d.state in ('sent', 'merged')
    )
    select state from message order by id desc limit 1`,
});

/**
 * Notes what a receiver reports about a message that it accepted. Returns the state of the message, which is only
 * noted if that is `sent` or `merged`; null if there is no such message.
 */
export async function noteReport(
  tx: Tx,
  { channelUuid, dedupeKey, reason }: { channelUuid: string; dedupeKey: string; reason: string },
): Promise<Delivery["state"] | null> {
  return (await tx.query(NOTE_REPORT, [channelUuid, dedupeKey, reason])).rows[0]?.state ?? null;
}

// A message is retried as a whole, so that its parts are not sent separately.
const REOPEN_DELIVERY = statement<{ id: number }>({
  name: "delivery_log.reopen",
  text: `with wanted as (
      select id from deliveries
      where channel_id = $2 and state in ('pending', 'dead') and claimed_by is null
        and (id = $1 or message_id = (select message_id from deliveries where id = $1 and state = 'dead'))
      order by id for update
    )
    update deliveries d set state = 'pending', next_try_at = to_timestamp(0), settled_at = null, reason = null,
      message_id = case when d.state = 'dead' then null else d.message_id end
    from wanted where d.id = wanted.id
    returning d.id`,
});

/** Makes an unsent delivery due at once, even if it was given up. False: it is being sent or is settled. */
export async function reopenDelivery(
  tx: Tx,
  { deliveryId, channelId }: { deliveryId: number; channelId: number },
): Promise<boolean> {
  const { rows } = await tx.query(REOPEN_DELIVERY, [deliveryId, channelId]);
  return rows.some(({ id }) => id === deliveryId);
}

/** How many of a channel's newest deliveries are searched for tests. */
const TESTS_READ_MAX = 200;

const COUNT_RECENT_TESTS = statement<{ count: number }>({
  name: "delivery_log.count_tests",
  text: `select count(*) as count
    from unnest($1::bigint[]) as wanted (channel_id)
      cross join lateral (
        select one.kind, one.created_at from deliveries one
        where one.channel_id = wanted.channel_id order by one.id desc limit ${TESTS_READ_MAX}
      ) as newest
    where newest.kind = 'test' and newest.created_at > $2
    group by wanted.channel_id order by count desc limit 1`,
});

/** The largest number of tests that one of these channels got after an instant. */
export async function countRecentTests(
  db: Db,
  { channelIds, after }: { channelIds: readonly number[]; after: Instant },
): Promise<number> {
  const { rows } = await db.query(COUNT_RECENT_TESTS, [toNumberArray(channelIds), toTimestamp(after)]);
  return rows[0]?.count ?? 0;
}

/** What a message says about an alert and its incident. */
export type AlertFacts = {
  alertId: number;
  incidentId: number;
  number: number;
  severity: Severity;
  isAcknowledged: boolean;
  cause: AlertCause;
  openedAt: Instant;
  heldBy: HoldRule | null;
  silenceReason: string | null;
  parentName: string | null;
  hasAckLinks: boolean;
  /** Other checks of the incident that are down. */
  dependentCount: number;
};

type AlertFactsRow = {
  id: number;
  incident_id: number;
  number: number;
  severity: AlertFacts["severity"];
  is_acknowledged: boolean;
  cause: AlertCause;
  opened_at: Instant;
  held_by: HoldRule | null;
  silence_reason: string | null;
  parent_name: string | null;
  has_ack_links: boolean;
  dependents: number;
};

const FIND_ALERT_FACTS = statement<AlertFactsRow>({
  name: "message_facts.find_alerts",
  text: `select a.id, i.id as incident_id, i.number, i.severity, i.state = 'acknowledged' as is_acknowledged, a.cause,
      a.opened_at, a.held_by, s.reason as silence_reason,
      p.has_ack_links, (
        select parent.name from check_parents l join checks parent on parent.id = l.parent_id
        where a.held_by = 'dependency' and l.check_id = a.check_id order by parent.id limit 1
      ) as parent_name, (
        select count(*) from alerts other
        where other.incident_id = a.incident_id and other.closed_at is null and other.check_id <> a.check_id
      ) as dependents
    from alerts a join incidents i on i.id = a.incident_id join projects p on p.id = i.project_id
      left join silences s on s.id = a.silence_id
    where a.id = any ($1::bigint[])`,
});

/** What messages say about these alerts; in no particular order. */
export async function findAlertFacts(db: Db, alertIds: readonly number[]): Promise<AlertFacts[]> {
  return (await db.query(FIND_ALERT_FACTS, [toNumberArray(alertIds)])).rows.map((row) => ({
    alertId: row.id,
    incidentId: row.incident_id,
    number: row.number,
    severity: row.severity,
    isAcknowledged: row.is_acknowledged,
    cause: row.cause,
    openedAt: row.opened_at,
    heldBy: row.held_by,
    silenceReason: row.silence_reason,
    parentName: row.parent_name,
    hasAckLinks: row.has_ack_links,
    dependentCount: row.dependents,
  }));
}

/** A group message, without the checks that it names. */
export type GroupFacts = {
  incidentId: number;
  projectId: number;
  number: number;
  severity: AlertFacts["severity"];
  key: string | null;
  projectUuid: string;
  hasAckLinks: boolean;
  /** A message about the incident was, or may have been, sent to the channel before. */
  isUpdate: boolean;
  /** An earlier message about the incident to the channel is not sent yet. */
  isBehind: boolean;
  isAcknowledged: boolean;
  /** Alerts that are open and that the channel knows of, or that this message names. */
  downCount: number;
  since: Instant | null;
  /** Null: not the same for all. */
  cause: AlertCause | null;
  /** The check that the others depend on, while its alert is open and notified, or of which it was. */
  parent: { name: string; isDown: boolean } | null;
};

type GroupFactsRow = {
  id: number;
  project_id: number;
  number: number;
  severity: AlertFacts["severity"];
  key: string | null;
  project_uuid: string;
  has_ack_links: boolean;
  is_update: boolean;
  is_behind: boolean;
  is_acknowledged: boolean;
  down_count: number;
  since: Instant | null;
  cause: AlertCause | null;
  causes: number;
  parent_name: string | null;
  is_parent_down: boolean | null;
};

const FIND_GROUP_FACTS = statement<GroupFactsRow>({
  name: "message_facts.find_group",
  text: `with named as (
      select a.id, a.opened_at, a.closed_at, a.cause,
        bool_or(d.id = $3 or d.state <> 'pending' or (d.id < $3 and d.held_until_at is null)) as is_told
      from deliveries d join delivery_alerts da on da.delivery_id = d.id and da.change = 'opened'
        join alerts a on a.id = da.alert_id
      where d.incident_id = $1 and d.channel_id = $2 and d.kind = 'group' and a.incident_id = $1
      group by a.id
    ), told as (
      select * from named where is_told
    )
    select i.id, i.project_id, i.number, i.severity, i.key, p.uuid as project_uuid, p.has_ack_links, exists (
        select from deliveries d where d.incident_id = $1 and d.channel_id = $2 and d.kind = 'group' and d.id < $3
          and (d.state = 'sent' or d.message_id is not null)
      ) as is_update, exists (
        select from deliveries d where d.incident_id = $1 and d.channel_id = $2 and d.kind = 'group' and d.id < $3
          and d.state = 'pending' and d.message_id is not null
      ) as is_behind, i.state = 'acknowledged' as is_acknowledged,
      (select count(*) from told where closed_at is null) as down_count,
      (select coalesce(min(opened_at) filter (where closed_at is null), min(opened_at)) from told) as since,
      (select min(cause) from told) as cause, (select count(distinct cause) from told) as causes,
      parent.name as parent_name, parent.is_down as is_parent_down
    from incidents i join projects p on p.id = i.project_id
      left join lateral (
        select c.name, a.closed_at is null and exists (
            select from deliveries d
            where d.flip_id = a.opened_flip_id and d.kind = 'flip' and (d.alert_id = a.id or d.alert_id is null)
              and d.state in ('pending', 'sent', 'merged')
          ) as is_down
        from alerts a join checks c on c.id = a.check_id
        where i.key is null and a.incident_id = i.id and a.id not in (select id from named) and exists (
            select from check_parents l join alerts child on child.check_id = l.check_id and child.incident_id = i.id
            where l.parent_id = a.check_id
          ) and exists (select from deliveries d where d.flip_id = a.opened_flip_id and d.kind = 'flip')
        order by is_down desc, a.id desc limit 1
      ) as parent on true
    where i.id = $1`,
});

/** What a group message says about its incident; null if the incident was deleted. */
export async function findGroupFacts(
  db: Db,
  { incidentId, channelId, deliveryId }: { incidentId: number; channelId: number; deliveryId: number },
): Promise<GroupFacts | null> {
  const [row] = (await db.query(FIND_GROUP_FACTS, [incidentId, channelId, deliveryId])).rows;
  if (row === undefined) return null;
  return {
    incidentId: row.id,
    projectId: row.project_id,
    number: row.number,
    severity: row.severity,
    key: row.key,
    projectUuid: row.project_uuid,
    hasAckLinks: row.has_ack_links,
    isUpdate: row.is_update,
    isBehind: row.is_behind,
    isAcknowledged: row.is_acknowledged,
    downCount: row.down_count,
    since: row.since,
    cause: row.causes === 1 ? row.cause : null,
    parent: row.parent_name === null ? null : { name: row.parent_name, isDown: row.is_parent_down ?? false },
  };
}

type GroupLineRow = { change: "opened" | "closed"; uuid: string; name: string; count: number };

/** An earlier message than $1 to the channel $2 says the same about the alert. */
const IS_SAID = `exists (
    select from delivery_alerts said join deliveries d on d.id = said.delivery_id
    where said.alert_id = da.alert_id and said.change = da.change and said.delivery_id < $1
      and d.channel_id = $2 and (d.state = 'sent' or d.message_id is not null)
  )`;

// Leaves out what an earlier message to the channel has said: a reminder names the same checks. Without checks that
// were moved to another project.
const LIST_GROUP_LINES = statement<GroupLineRow>({
  name: "message_facts.list_group",
  text: `select change, uuid, name, count from (
      select da.change, c.uuid, c.name, count(*) over (partition by da.change) as count,
        row_number() over (partition by da.change order by c.name, c.id) as nth
      from delivery_alerts da join alerts a on a.id = da.alert_id
        join checks c on c.id = a.check_id and c.deleted_at is null
      where da.delivery_id = $1 and c.project_id = (select project_id from channels where id = $2) and not ${IS_SAID}
    ) as listed
    where nth <= $3 order by change, nth`,
});

/** The checks that a group message names: the first ones by name, and how many there are. */
export async function listGroupLines(
  db: Db,
  { deliveryId, channelId, limit }: { deliveryId: number; channelId: number; limit: number },
): Promise<Record<"opened" | "closed", { checks: { uuid: string; name: string }[]; count: number }>> {
  const { rows } = await db.query(LIST_GROUP_LINES, [deliveryId, channelId, limit]);
  const of = (change: "opened" | "closed") => {
    const mine = rows.filter((row) => row.change === change);
    return { checks: mine.map(({ uuid, name }) => ({ uuid, name })), count: mine[0]?.count ?? 0 };
  };
  return { opened: of("opened"), closed: of("closed") };
}

/** A check that a group message says is down. */
export type GroupMember = {
  alertId: number;
  checkId: number;
  tags: string;
  openedAt: Instant;
  /** An earlier message has told the channel. */
  isSaid: boolean;
};

const LIST_GROUP_MEMBERS = statement<{
  alert_id: number;
  check_id: number;
  tags: string;
  opened_at: Instant;
  is_said: boolean;
}>({
  name: "message_facts.list_group_members",
  text: `select a.id as alert_id, c.id as check_id, c.tags, a.opened_at, ${IS_SAID} as is_said
    from delivery_alerts da join alerts a on a.id = da.alert_id and (a.closed_at is null or $4)
      join checks c on c.id = a.check_id and c.deleted_at is null
    where da.delivery_id = $1 and da.change = 'opened'
    order by a.id limit $3`,
});

/** Checks that a group message says are down, at most `limit`; `includesClosed`: also those that have recovered since. */
export async function listGroupMembers(
  db: Db,
  {
    deliveryId,
    channelId,
    includesClosed,
    limit,
  }: { deliveryId: number; channelId: number; includesClosed: boolean; limit: number },
): Promise<GroupMember[]> {
  const { rows } = await db.query(LIST_GROUP_MEMBERS, [deliveryId, channelId, limit, includesClosed]);
  return rows.map((row) => ({
    alertId: row.alert_id,
    checkId: row.check_id,
    tags: row.tags,
    openedAt: row.opened_at,
    isSaid: row.is_said,
  }));
}

const SEPARATE_ALERTS = statement({
  name: "deliveries.separate_alerts",
  text: `with separate as (
      insert into deliveries (kind, dedupe_key, channel_id, group_id, incident_id, state, created_at, attempt_count,
        next_try_at)
      select kind, gen_random_uuid(), channel_id, group_id, incident_id, 'pending', created_at, 0, $3
      from deliveries where id = $1
      returning id
    )
    update delivery_alerts set delivery_id = separate.id from separate
    where delivery_id = $1 and alert_id = any ($2::bigint[]) and change = 'opened'`,
});

/** Moves alerts that a group message says have opened to a message of their own, due at `at`. */
export async function separateAlerts(
  tx: Tx,
  { deliveryId, alertIds, at }: { deliveryId: number; alertIds: readonly number[]; at: Instant },
): Promise<void> {
  await tx.query(SEPARATE_ALERTS, [deliveryId, toNumberArray(alertIds), toTimestamp(at)]);
}

const FIND_CHECKS_FOR_MESSAGES = statement<CheckRow & StateRow>({
  name: "message_facts.find_checks",
  text: `${SELECT_WITH_STATE} where c.id = any ($1::bigint[]) and c.deleted_at is null`,
});

/** The checks that messages are about, with their states; deleted ones are left out. In no particular order. */
export async function findChecksForMessages(db: Db, checkIds: readonly number[]): Promise<CheckWithState[]> {
  return (await db.query(FIND_CHECKS_FOR_MESSAGES, [toNumberArray(checkIds)])).rows.map(toCheckWithState);
}

type ProjectHealthRow = {
  project_id: number;
  total: number;
  down_count: number;
  uuids: string[] | null;
  names: string[] | null;
};

const FIND_PROJECT_HEALTH = statement<ProjectHealthRow>({
  name: "message_facts.list_down",
  text: `select tally.project_id, tally.total, tally.down_count, listed.uuids, listed.names
    from (
      select c.project_id, count(*) as total, count(*) filter (where s.status = 'down') as down_count
      from checks c join check_states s on s.check_id = c.id
      where c.project_id = any ($1::bigint[]) and c.deleted_at is null
      group by c.project_id
    ) as tally
    left join lateral (
      select array_agg(c.uuid::text) as uuids, array_agg(c.name) as names
      from checks c join check_states s on s.check_id = c.id
      where c.project_id = tally.project_id and c.deleted_at is null and s.status = 'down'
    ) as listed on tally.down_count <= $2`,
});

/** The state of projects: counts, and the checks that are down if there are at most `listedMax`. */
export async function findProjectHealth(
  db: Db,
  { projectIds, listedMax }: { projectIds: readonly number[]; listedMax: number },
): Promise<Map<number, OtherChecks>> {
  const { rows } = await db.query(FIND_PROJECT_HEALTH, [toNumberArray(projectIds), listedMax]);
  return new Map(
    rows.map((row) => {
      const down = (row.uuids ?? []).map((uuid, index) => ({ uuid, name: row.names?.[index] ?? "" }));
      return [row.project_id, { total: row.total, downCount: row.down_count, down }];
    }),
  );
}

type NoticedRow = { uuid: string; name: string; count: number };

// Includes checks of the channel that still wait because of the same gap: they are excused later, after the
// notice is sent. Checks moved to another project are left out.
const FIND_NOTICED_CHECKS = statement<NoticedRow>({
  name: "message_facts.list_noticed",
  // The checks are found first and their project is checked afterwards (`offset 0`): otherwise the planner reads all
  // checks of the project for each of them.
  text: `with told as materialized (
      select check_id from notice_checks where delivery_id = $1
      union
      select s.check_id
      from channels ch
      join channels heard on heard.project_id = ch.project_id
        and (heard.id = ch.id or (heard.kind = 'group' and heard.config -> 'members' ? ch.uuid::text))
      join check_channels cc on cc.channel_id = heard.id
      join check_states s on s.check_id = cc.check_id
      join checks w on w.id = s.check_id
      where ch.id = $2 and s.down_at >= $3 and coalesce(
          case when (w.rules ->> 'maxRunSeconds')::int > 0 then s.last_start_at end,
          s.down_at - greatest(w.grace_seconds, (w.rules ->> 'startWithinSeconds')::int) * interval '1 second'
        ) <= $4
    )
    select uuid, name, count(*) over () as count
    from (select c.id, c.uuid, c.name, c.project_id
      from told join checks c on c.id = told.check_id where c.deleted_at is null offset 0) as found
    where project_id = (select project_id from channels where id = $2)
    order by name, id limit $5`,
});

/** The checks of a notice: the first by name, and their number. */
export async function findNoticedChecks(
  db: Db,
  notice: { deliveryId: number; channelId: number; blindFromAt: Instant; blindToAt: Instant; limit: number },
): Promise<{ checks: { uuid: string; name: string }[]; checkCount: number }> {
  const { rows } = await db.query(FIND_NOTICED_CHECKS, [
    notice.deliveryId,
    notice.channelId,
    toTimestamp(notice.blindFromAt),
    toTimestamp(notice.blindToAt),
    notice.limit,
  ]);
  return { checks: rows.map(({ uuid, name }) => ({ uuid, name })), checkCount: rows[0]?.count ?? 0 };
}

/** Newest deliveries that are searched; there is no index on their times. */
const DELIVERIES_MAX = 1_000;

const MEDIAN_ALERT_DELAY = statement<{ delay_ms: number | null }>({
  name: "alert_delay.median",
  text: `select percentile_cont(0.5) within group (order by extract(epoch from d.settled_at - f.at) * 1000) as delay_ms
    from (select flip_id, settled_at, state from deliveries where kind = 'flip' and fire_drill is null order by id desc limit $2) as d
    join flips f on f.id = d.flip_id
    where d.state = 'sent' and d.settled_at >= $1 and f.reason = 'timeout' and f.to_status = 'down'`,
});

/**
 * Median delay of alerts about missed deadlines delivered since an instant, in milliseconds; null if none.
 */
export async function medianAlertDelay(db: Db, { since }: { since: Instant }): Promise<number | null> {
  const delayMs =
    (await db.query(MEDIAN_ALERT_DELAY, [toTimestamp(since), DELIVERIES_MAX])).rows[0]?.delay_ms ?? null;
  return delayMs === null ? null : Math.round(delayMs);
}
