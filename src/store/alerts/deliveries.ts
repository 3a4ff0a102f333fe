// The record of every message that is owed: read, counted and forgotten here. Rows are written by planning.ts, in
// the transaction of what they are about, and settled by claims.ts.
import type { Instant } from "../../core/instant.ts";
import { type Db, statement } from "../db.ts";
import type { Tx } from "../transaction.ts";
import { toTimestamp } from "../values.ts";

/**
 * `merged`: told together with a later one. `withdrawn`: its flip was taken back before it was told, or check or
 * channel are gone. `skipped`: the channel does not want to hear of it. `dead`: given up.
 */
export type SettledState = "sent" | "merged" | "withdrawn" | "skipped" | "dead";

export type DeliveryKind = "flip" | "correction" | "notice" | "disabled" | "operator" | "test";

export type Delivery = {
  id: number;
  kind: DeliveryKind;
  /** Sent to receivers that can use it: that of a message is the key of its oldest delivery. */
  dedupeKey: string;
  channelId: number;
  /** The group by which the channel is told; null: directly. */
  groupId: number | null;
  /** Of a flip and a correction. */
  checkId: number | null;
  flipId: number | null;
  /** Of a notice. */
  blindFromAt: Instant | null;
  blindToAt: Instant | null;
  /** What the message says, where no other row does. */
  about: Readonly<Record<string, unknown>> | null;
  state: "pending" | SettledState;
  createdAt: Instant;
  /** Tries that were begun. */
  attemptCount: number;
  /** Null once it is settled. */
  nextTryAt: Instant | null;
  attemptedAt: Instant | null;
  settledAt: Instant | null;
  requestSummary: string | null;
  responseCode: number | null;
  responseExcerpt: string | null;
  reason: string | null;
  /** The oldest delivery of the message that it was told with, or may have been. */
  messageId: number | null;
};

export type DeliveryRow = {
  id: number;
  kind: DeliveryKind;
  dedupe_key: string;
  channel_id: number;
  group_id: number | null;
  check_id: number | null;
  flip_id: number | null;
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
};

/** The columns of a delivery, for the statements that write and return one. */
export const DELIVERY_COLUMNS = `d.id, d.kind, d.dedupe_key, d.channel_id, d.group_id, d.check_id, d.flip_id,
  d.blind_from_at, d.blind_to_at, d.about, d.state, d.created_at, d.attempt_count, d.next_try_at, d.attempted_at, d.settled_at,
  d.request_summary, d.response_code, d.response_excerpt, d.reason, d.message_id`;

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
    blindFromAt: row.blind_from_at,
    blindToAt: row.blind_to_at,
    about: row.about,
    state: row.state,
    createdAt: row.created_at,
    attemptCount: row.attempt_count,
    // What is due at once lies in 1970, so that a clock that is set back cannot hold it up.
    nextTryAt: row.next_try_at === null ? null : Math.max(row.next_try_at, row.created_at),
    attemptedAt: row.attempted_at,
    settledAt: row.settled_at,
    requestSummary: row.request_summary,
    responseCode: row.response_code,
    responseExcerpt: row.response_excerpt,
    reason: row.reason,
    messageId: row.message_id,
  };
}

const UNSENT = statement<{ count: number; oldest_at: Instant | null }>({
  name: "deliveries.count_unsent",
  text: "select count(*) as count, min(created_at) as oldest_at from deliveries where state = 'pending'",
});

/** How many messages are owed, and since when the oldest of them has been waiting; null when none is. */
export async function countUnsent(db: Db): Promise<{ count: number; oldestAt: Instant | null }> {
  const { rows } = await db.query(UNSENT, []);
  return { count: rows[0]?.count ?? 0, oldestAt: rows[0]?.oldest_at ?? null };
}

const FIND = statement<DeliveryRow>({
  name: "deliveries.find",
  text: `select ${DELIVERY_COLUMNS} from deliveries d where d.id = any ($1::bigint[]) order by d.id`,
});

/**
 * These deliveries as they are now, oldest first; those that are forgotten are left out.
 *
 * @internal Only tests use it.
 */
export async function findDeliveries(db: Db, deliveryIds: readonly number[]): Promise<Delivery[]> {
  return (await db.query(FIND, [deliveryIds])).rows.map(toDelivery);
}

const LIST_OF_CHANNEL = statement<DeliveryRow>({
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
  const { rows } = await db.query(LIST_OF_CHANNEL, [page.channelId, page.beforeId ?? null, page.limit]);
  return rows.map(toDelivery);
}

const LIST_OF_FLIP = statement<DeliveryRow>({
  name: "deliveries.list_of_flip",
  text: `select ${DELIVERY_COLUMNS} from deliveries d where d.flip_id = $1 order by d.id`,
});

/** Who was told of a flip, and how that went; corrections of it included. */
export async function listDeliveriesOfFlip(db: Db, flipId: number): Promise<Delivery[]> {
  return (await db.query(LIST_OF_FLIP, [flipId])).rows.map(toDelivery);
}

// By address, so that the plan reads the oldest rows by the key and nothing else, whatever the limit.
const PRUNE = statement<{ count: number }>({
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
    )
    select count(*) as count from gone`,
});

/** Looks at the `limit` oldest rows and forgets those settled before an instant; returns how many. */
export async function pruneDeliveries(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE, [toTimestamp(before), limit])).rows[0]?.count ?? 0;
}

const DELETE_OF_CHECK = statement({
  name: "deliveries.delete_of_check",
  text: `with unnoticed as (delete from notice_checks where check_id = $1)
    delete from deliveries d using flips f where f.check_id = $1 and d.flip_id = f.id`,
});

/** Removes the deliveries of a check that is deleted for good. They are found by its flips, so before those go. */
export async function deleteDeliveriesOfCheck(tx: Tx, checkId: number): Promise<void> {
  await tx.query(DELETE_OF_CHECK, [checkId]);
}
