// The record of every message that is owed: written with its flip, settled by whoever sends it. When to try
// again, and what to say, is decided elsewhere.
import type { Instant } from "../../core/instant.ts";
import { type Db, statement } from "../db.ts";
import type { Tx } from "../transaction.ts";
import { toTimestamp } from "../values.ts";

/** `merged`: told together with a later one. `withdrawn`: its flip was taken back before it was told. */
export type SettledState = "sent" | "merged" | "withdrawn" | "dead";

export type Delivery = {
  id: number;
  /** Sent to receivers that can use it: the same for every attempt. */
  dedupeKey: string;
  channelId: number;
  checkId: number | null;
  /** What it is about: a flip, or a blind interval (a notice); neither in a test. */
  flipId: number | null;
  blindIntervalId: number | null;
  state: "pending" | SettledState;
  createdAt: Instant;
  attemptCount: number;
  /** Null once it is settled. */
  nextTryAt: Instant | null;
  attemptedAt: Instant | null;
  settledAt: Instant | null;
  requestSummary: string | null;
  responseCode: number | null;
  responseExcerpt: string | null;
  reason: string | null;
};

type DeliveryRow = {
  id: number;
  dedupe_key: string;
  channel_id: number;
  check_id: number | null;
  flip_id: number | null;
  blind_interval_id: number | null;
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
};

const COLUMNS = `id, dedupe_key, channel_id, check_id, flip_id, blind_interval_id, state, created_at,
  attempt_count, next_try_at, attempted_at, settled_at, request_summary, response_code, response_excerpt,
  reason`;

function toDelivery(row: DeliveryRow): Delivery {
  return {
    id: row.id,
    dedupeKey: row.dedupe_key,
    channelId: row.channel_id,
    checkId: row.check_id,
    flipId: row.flip_id,
    blindIntervalId: row.blind_interval_id,
    state: row.state,
    createdAt: row.created_at,
    attemptCount: row.attempt_count,
    nextTryAt: row.next_try_at,
    attemptedAt: row.attempted_at,
    settledAt: row.settled_at,
    requestSummary: row.request_summary,
    responseCode: row.response_code,
    responseExcerpt: row.response_excerpt,
    reason: row.reason,
  };
}

const INSERT = statement<DeliveryRow>({
  name: "deliveries.insert",
  text: `insert into deliveries (dedupe_key, channel_id, check_id, flip_id, blind_interval_id, state,
      created_at, attempt_count, next_try_at)
    select gen_random_uuid(), n.channel_id, n.check_id, n.flip_id, n.blind_interval_id, 'pending', $5, 0, $5
    from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
      with ordinality as n (channel_id, check_id, flip_id, blind_interval_id, position)
    order by n.position
    on conflict do nothing
    returning ${COLUMNS}`,
});

export type NewDelivery = Pick<Delivery, "channelId" | "checkId" | "flipId" | "blindIntervalId">;

/** Adds deliveries that may be tried at once and returns them. Those that exist already are left out. */
export async function insertDeliveries(
  tx: Tx,
  { deliveries, at }: { deliveries: readonly NewDelivery[]; at: Instant },
): Promise<Delivery[]> {
  const { rows } = await tx.query(INSERT, [
    deliveries.map((delivery) => delivery.channelId),
    deliveries.map((delivery) => delivery.checkId),
    deliveries.map((delivery) => delivery.flipId),
    deliveries.map((delivery) => delivery.blindIntervalId),
    toTimestamp(at),
  ]);
  return rows.map(toDelivery);
}

const LOCK_IN_TURN = statement<DeliveryRow>({
  name: "deliveries.lock_in_turn",
  text: `select ${COLUMNS} from deliveries
    where check_id = $1 and channel_id = $2 and state = 'pending'
    order by id limit $3 for update`,
});

/** Locks what a channel has still to be told of a check, oldest first. */
export async function lockPendingDeliveries(
  tx: Tx,
  of: { checkId: number; channelId: number; limit: number },
): Promise<Delivery[]> {
  return (await tx.query(LOCK_IN_TURN, [of.checkId, of.channelId, of.limit])).rows.map(toDelivery);
}

const FIND_PENDING = statement<DeliveryRow>({
  name: "deliveries.find_pending",
  text: `select ${COLUMNS} from deliveries
    where state = 'pending' and next_try_at <= $1 order by next_try_at limit $2`,
});

/** Deliveries whose next try is due, the longest waiting first. */
export async function findPendingDeliveries(
  db: Db,
  { through, limit }: { through: Instant; limit: number },
): Promise<Delivery[]> {
  return (await db.query(FIND_PENDING, [toTimestamp(through), limit])).rows.map(toDelivery);
}

const WRITE_ATTEMPT = statement({
  name: "deliveries.write_attempt",
  text: `update deliveries set attempt_count = attempt_count + 1, attempted_at = $2, request_summary = $3,
      response_code = $4, response_excerpt = $5, reason = $6, state = $7, next_try_at = $8,
      settled_at = case when $8::timestamptz is null then $2::timestamptz end
    where id = $1 and state = 'pending'`,
});

export type Attempt = {
  deliveryId: number;
  at: Instant;
  requestSummary: string;
  responseCode: number | null;
  responseExcerpt: string | null;
  /** Why it failed; null when it went well. */
  reason: string | null;
  outcome: { retryAt: Instant } | "sent" | "dead";
};

/** Writes down one attempt and what follows from it. False: somebody else has settled the delivery. */
export async function writeAttempt(tx: Tx, attempt: Attempt): Promise<boolean> {
  const { outcome } = attempt;
  const retry = typeof outcome === "object";
  const { count } = await tx.query(WRITE_ATTEMPT, [
    attempt.deliveryId,
    toTimestamp(attempt.at),
    attempt.requestSummary,
    attempt.responseCode,
    attempt.responseExcerpt,
    attempt.reason,
    retry ? "pending" : outcome,
    retry ? toTimestamp(outcome.retryAt) : null,
  ]);
  return count === 1;
}

const SETTLE = statement({
  name: "deliveries.settle",
  text: `update deliveries set state = $2, settled_at = $3, next_try_at = null, reason = $4
    where id = any ($1::bigint[]) and state = 'pending'`,
});

/** Settles deliveries without sending them; returns how many were still pending. */
export async function settleDeliveries(
  tx: Tx,
  settle: { deliveryIds: readonly number[]; state: SettledState; at: Instant; reason: string },
): Promise<number> {
  const { deliveryIds, state, at, reason } = settle;
  return (await tx.query(SETTLE, [deliveryIds, state, toTimestamp(at), reason])).count;
}

const OLDEST_PENDING = statement<{ created_at: Instant | null }>({
  name: "deliveries.oldest_pending",
  text: "select min(created_at) as created_at from deliveries where state = 'pending'",
});

/** Since when the oldest unsent message has been waiting; null when none is. */
export async function findOldestPendingAt(db: Db): Promise<Instant | null> {
  return (await db.query(OLDEST_PENDING, [])).rows[0]?.created_at ?? null;
}

const LIST_OF_CHANNEL = statement<DeliveryRow>({
  name: "deliveries.list_of_channel",
  text: `select ${COLUMNS} from deliveries
    where channel_id = $1 and ($2::bigint is null or id < $2) order by id desc limit $3`,
});

/** The delivery log of a channel, newest first, from before `beforeId` if that is given. */
export async function listDeliveriesOfChannel(
  db: Db,
  page: { channelId: number; beforeId?: number; limit: number },
): Promise<Delivery[]> {
  const { rows } = await db.query(LIST_OF_CHANNEL, [page.channelId, page.beforeId ?? null, page.limit]);
  return rows.map(toDelivery);
}

const LIST_OF_FLIP = statement<DeliveryRow>({
  name: "deliveries.list_of_flip",
  text: `select ${COLUMNS} from deliveries where flip_id = $1 order by id`,
});

/** Who was told of a flip, and how that went. */
export async function listDeliveriesOfFlip(db: Db, flipId: number): Promise<Delivery[]> {
  return (await db.query(LIST_OF_FLIP, [flipId])).rows.map(toDelivery);
}

// By address, so that the plan reads the oldest rows by the key and nothing else, whatever the limit.
const PRUNE = statement({
  name: "deliveries.prune",
  text: `delete from deliveries
    where ctid = any (array(
      select ctid from (select ctid, settled_at from deliveries order by id limit $2) as oldest where settled_at < $1
    ))`,
});

/** Looks at the `limit` oldest rows and forgets those settled before an instant; returns how many. */
export async function pruneDeliveries(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE, [toTimestamp(before), limit])).count;
}

const DELETE_OF_CHECK = statement({
  name: "deliveries.delete_of_check",
  text: "delete from deliveries d using flips f where f.check_id = $1 and d.flip_id = f.id",
});

/** Removes the deliveries of a check that is deleted for good. They are found by its flips, so before those. */
export async function deleteDeliveriesOfCheck(tx: Tx, checkId: number): Promise<void> {
  await tx.query(DELETE_OF_CHECK, [checkId]);
}
