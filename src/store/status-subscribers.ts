// Subscribers of status pages, and the queue of messages to them.
import type { Instant } from "../core/instant.ts";
import type { StatusNews } from "../core/status-page.ts";
import { type Db, statement } from "./db.ts";
import type { Tx } from "./transaction.ts";
import { toTimestamp } from "./values.ts";

export type SubscriberKind = "email" | "webhook";

export type Subscriber = {
  id: number;
  uuid: string;
  pageId: number;
  kind: SubscriberKind;
  address: string;
  createdAt: Instant;
  confirmedAt: Instant | null;
  failedCount: number;
};

type SubscriberRow = {
  id: number;
  uuid: string;
  page_id: number;
  kind: SubscriberKind;
  address: string;
  created_at: Instant;
  confirmed_at: Instant | null;
  failed_count: number;
};

const COLUMNS = "s.id, s.uuid, s.page_id, s.kind, s.address, s.created_at, s.confirmed_at, s.failed_count";

function toSubscriber(row: SubscriberRow): Subscriber {
  return {
    id: row.id,
    uuid: row.uuid,
    pageId: row.page_id,
    kind: row.kind,
    address: row.address,
    createdAt: row.created_at,
    confirmedAt: row.confirmed_at,
    failedCount: row.failed_count,
  };
}

const LOCK = statement({
  name: "status_subscribers.lock",
  text: "select id from status_pages where id = $1 and deleted_at is null for no key update",
});

/** Serializes new subscriptions of a page. False: there is no such page. */
export async function lockSubscribers(tx: Tx, pageId: number): Promise<boolean> {
  return (await tx.query(LOCK, [pageId])).count === 1;
}

const INSERT = statement<{ id: number }>({
  name: "status_subscribers.insert",
  text: `insert into status_subscribers (uuid, page_id, kind, address, created_at, confirmed_at)
    values ($1, $2, $3, $4, $5, $6) returning id`,
});

/** Inserts a subscriber and returns its ID. */
export async function insertSubscriber(
  tx: Tx,
  subscriber: Omit<Subscriber, "id" | "failedCount">,
): Promise<number> {
  const { uuid, pageId, kind, address, createdAt, confirmedAt } = subscriber;
  const values = [uuid, pageId, kind, address, toTimestamp(createdAt), toTimestamp(confirmedAt)];
  const [row] = (await tx.query(INSERT, values)).rows;
  if (row === undefined) throw new Error("a subscriber was not inserted");
  return row.id;
}

const FIND = statement<SubscriberRow>({
  name: "status_subscribers.find",
  text: `select ${COLUMNS} from status_subscribers s where s.uuid = $1`,
});

export async function findSubscriber(db: Db, uuid: string): Promise<Subscriber | null> {
  const [row] = (await db.query(FIND, [uuid])).rows;
  return row === undefined ? null : toSubscriber(row);
}

const FIND_BY_ADDRESS = statement<SubscriberRow>({
  name: "status_subscribers.find_by_address",
  text: `select ${COLUMNS} from status_subscribers s where s.page_id = $1 and s.kind = $2 and s.address = $3`,
});

export async function findSubscriberByAddress(
  db: Db,
  { pageId, kind, address }: Pick<Subscriber, "pageId" | "kind" | "address">,
): Promise<Subscriber | null> {
  const [row] = (await db.query(FIND_BY_ADDRESS, [pageId, kind, address])).rows;
  return row === undefined ? null : toSubscriber(row);
}

const CONFIRM = statement({
  name: "status_subscribers.confirm",
  text: "update status_subscribers set confirmed_at = $2 where id = $1 and confirmed_at is null",
});

/** Confirms a subscription. One that was confirmed before keeps its time. */
export async function confirmSubscriber(tx: Tx, { id, at }: { id: number; at: Instant }): Promise<void> {
  await tx.query(CONFIRM, [id, toTimestamp(at)]);
}

const DELETE = statement({
  name: "status_subscribers.delete",
  text: "delete from status_subscribers where id = $1",
});

/** Deletes a subscriber with its messages. */
export async function deleteSubscriber(tx: Tx, id: number): Promise<void> {
  await tx.query(DELETE, [id]);
}

const LIST = statement<SubscriberRow>({
  name: "status_subscribers.list",
  text: `select ${COLUMNS} from status_subscribers s where s.page_id = $1 and s.id < $2
    order by s.id desc limit $3`,
});

/** The subscribers of a page, newest first, before the ID `beforeId`. */
export async function listSubscribers(
  db: Db,
  { pageId, beforeId, limit }: { pageId: number; beforeId: number; limit: number },
): Promise<Subscriber[]> {
  return (await db.query(LIST, [pageId, beforeId, limit])).rows.map(toSubscriber);
}

const COUNT = statement<{ confirmed: number; total: number; webhooks: number }>({
  name: "status_subscribers.count",
  text: `select count(*) filter (where confirmed_at is not null) as confirmed, count(*) as total,
      count(*) filter (where kind = 'webhook') as webhooks
    from status_subscribers where page_id = $1`,
});

/** How many subscribers a page has. */
export async function countSubscribers(
  db: Db,
  pageId: number,
): Promise<{ confirmed: number; total: number; webhooks: number }> {
  return (await db.query(COUNT, [pageId])).rows[0] ?? { confirmed: 0, total: 0, webhooks: 0 };
}

const NOTE_RESULT = statement<{ failed_count: number }>({
  name: "status_subscribers.note_result",
  text: `update status_subscribers set failed_count = case when $2 then 0 else failed_count + 1 end
    where id = $1 returning failed_count`,
});

/** Counts a message that was sent or given up; returns how many failed in a row. */
export async function noteSubscriberResult(
  tx: Tx,
  { id, isSent }: { id: number; isSent: boolean },
): Promise<number> {
  return (await tx.query(NOTE_RESULT, [id, isSent])).rows[0]?.failed_count ?? 0;
}

const PRUNE = statement({
  name: "status_subscribers.prune",
  text: `delete from status_subscribers where id in (
      select id from status_subscribers where confirmed_at is null and created_at < $1 order by created_at limit $2
    )`,
});

/** Deletes subscriptions from before an instant that were not confirmed. */
export async function pruneSubscribers(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE, [toTimestamp(before), limit])).count;
}

// Messages.

const INSERT_MESSAGES = statement({
  name: "status_messages.insert_all",
  text: `insert into status_messages (uuid, subscriber_id, dedupe_key, about, state, created_at, attempt_count, next_try_at)
    select gen_random_uuid(), s.id, $2, $3::jsonb, 'pending', $4::timestamptz, 0, $4::timestamptz
    from status_subscribers s where s.page_id = $1 and s.confirmed_at is not null
    on conflict (subscriber_id, dedupe_key) do nothing`,
});

export type NewMessage = { dedupeKey: string; about: StatusNews; at: Instant };

/** Adds a message for every confirmed subscriber of a page; returns how many. */
export async function insertMessages(
  tx: Tx,
  { pageId, dedupeKey, about, at }: NewMessage & { pageId: number },
): Promise<number> {
  const values = [pageId, dedupeKey, JSON.stringify(about), toTimestamp(at)];
  return (await tx.query(INSERT_MESSAGES, values)).count;
}

const INSERT_MESSAGE = statement({
  name: "status_messages.insert",
  text: `insert into status_messages (uuid, subscriber_id, dedupe_key, about, state, created_at, attempt_count, next_try_at)
    values (gen_random_uuid(), $1, $2, $3::jsonb, 'pending', $4::timestamptz, 0, $4::timestamptz)
    on conflict (subscriber_id, dedupe_key) do nothing`,
});

/** Adds a message for one subscriber. */
export async function insertMessage(
  tx: Tx,
  { subscriberId, dedupeKey, about, at }: NewMessage & { subscriberId: number },
): Promise<void> {
  await tx.query(INSERT_MESSAGE, [subscriberId, dedupeKey, JSON.stringify(about), toTimestamp(at)]);
}

export type QueuedMessage = {
  id: number;
  uuid: string;
  about: StatusNews;
  createdAt: Instant;
  attemptCount: number;
  subscriber: Subscriber;
  page: {
    uuid: string;
    slug: string;
    title: string;
    domain: string | null;
    isDeleted: boolean;
    zone: string;
  };
};

type MessageRow = {
  message_id: number;
  message_uuid: string;
  about: StatusNews;
  message_created_at: Instant;
  attempt_count: number;
  page_uuid: string;
  slug: string;
  title: string;
  domain: string | null;
  is_deleted: boolean;
  zone: string;
} & SubscriberRow;

const CLAIM = statement<MessageRow>({
  name: "status_messages.claim",
  text: `with due as (
      select id from status_messages where state = 'pending' and next_try_at <= $1
      order by next_try_at, id limit $2 for update skip locked
    ), claimed as (
      update status_messages m set claimed_by = $3, next_try_at = $4, attempt_count = m.attempt_count + 1
      from due where m.id = due.id returning m.*
    )
    select m.id as message_id, m.uuid as message_uuid, m.about, m.created_at as message_created_at, m.attempt_count,
      p.uuid as page_uuid, p.slug, p.title, case when p.domain_proved_at is not null then p.domain end as domain,
      p.deleted_at is not null as is_deleted, r.tz as zone, ${COLUMNS}
    from claimed m join status_subscribers s on s.id = m.subscriber_id join status_pages p on p.id = s.page_id
      join projects r on r.id = p.project_id
    order by m.id`,
});

/** Claims due messages, oldest first. Unless settled before `untilAt`, they are due again then. */
export async function claimMessages(
  tx: Tx,
  claim: { now: Instant; limit: number; claimedBy: string; untilAt: Instant },
): Promise<QueuedMessage[]> {
  const values = [toTimestamp(claim.now), claim.limit, claim.claimedBy, toTimestamp(claim.untilAt)];
  return (await tx.query(CLAIM, values)).rows.map((row) => ({
    id: row.message_id,
    uuid: row.message_uuid,
    about: row.about,
    createdAt: row.message_created_at,
    attemptCount: row.attempt_count,
    subscriber: toSubscriber(row),
    page: {
      uuid: row.page_uuid,
      slug: row.slug,
      title: row.title,
      domain: row.domain,
      isDeleted: row.is_deleted,
      zone: row.zone,
    },
  }));
}

const SETTLE = statement({
  name: "status_messages.settle",
  text: `update status_messages set state = $3, settled_at = $4, next_try_at = $5, reason = $6, claimed_by = null
    where id = $1 and claimed_by = $2 and state = 'pending'`,
});

export type MessageOutcome = {
  id: number;
  claimedBy: string;
  state: "pending" | "sent" | "dead";
  /** When it is retried; set only if pending. */
  nextTryAt: Instant | null;
  reason: string | null;
  at: Instant;
};

/** Records the result of an attempt. False: the claim had expired. */
export async function settleMessage(tx: Tx, end: MessageOutcome): Promise<boolean> {
  const { id, claimedBy, state, nextTryAt, reason, at } = end;
  const settledAt = state === "pending" ? null : at;
  const values = [id, claimedBy, state, toTimestamp(settledAt), toTimestamp(nextTryAt), reason];
  return (await tx.query(SETTLE, values)).count === 1;
}

const PRUNE_MESSAGES = statement({
  name: "status_messages.prune",
  text: `delete from status_messages where id in (
      select id from status_messages where created_at < $1 order by created_at limit $2
    )`,
});

/** Deletes messages from before an instant. */
export async function pruneMessages(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE_MESSAGES, [toTimestamp(before), limit])).count;
}
