// Subscribers of status pages: subscribing, confirming and unsubscribing, what they are told, and the password of a page.
import { randomUUID } from "node:crypto";
import { nextTryAt } from "../core/delivery.ts";
import type { Signing } from "../core/email.ts";
import { AppError } from "../core/errors.ts";
import { DAY_MS, type Instant } from "../core/instant.ts";
import {
  DELIVERY_ERROR_LENGTH_MAX,
  DELIVERY_LEASE_MS,
  STATUS_ATTEMPTS_MAX,
  STATUS_CONFIRM_DAYS,
  STATUS_FAILURES_MAX,
  STATUS_SUBSCRIBERS_MAX,
  STATUS_WEBHOOKS_MAX,
} from "../core/limits.ts";
import { countedAddress, type CountedAttempt } from "../core/sign-in.ts";
import { announce, isSubscriberToken, type StatusPage, subscriberOfToken } from "../core/status-page.ts";
import { isPassword } from "../lib/password-hash.ts";
import type { Database, Db } from "../store/db.ts";
import {
  findStatusPageById,
  listAnnouncedPages,
  lockAnnounced,
  type StatusPageName,
  writeAnnounced,
} from "../store/status-pages.ts";
import {
  claimMessages,
  confirmSubscriber,
  countSubscribers,
  deleteSubscriber,
  findSubscriber,
  findSubscriberByAddress,
  insertMessage,
  insertMessages,
  insertSubscriber,
  listSubscribers,
  lockSubscribers,
  noteSubscriberResult,
  type QueuedMessage,
  settleMessage,
  type Subscriber,
} from "../store/status-subscribers.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";
import { normalEmail } from "./accounts.ts";
import { countAttempts, countAttemptsIn } from "./attempts.ts";
import { type Actor, audit } from "./audit.ts";
import { type Page, pageOf, type PageRequest } from "./channels.ts";
import { inRetriedTransaction } from "./retry.ts";
import { getStatusPage, readEntryStates } from "./status-pages.ts";

type Changing = { by: Actor; at: Instant };

function attemptsOf(
  kind: "statusUnlock" | "statusSubscribe",
  { pageId, network }: { pageId: number; network: string },
): CountedAttempt[] {
  return [
    { kind: `${kind}There`, subject: `${pageId}\n${network}` },
    { kind: `${kind}ByNetwork`, subject: network },
    { kind: `${kind}ByPage`, subject: String(pageId) },
  ];
}

/** Whether a password opens a page. AppError `rate_limited` after too many attempts, right or wrong. */
export async function isPagePassword(
  database: Database,
  {
    page,
    password,
    network,
    now,
  }: {
    page: Pick<StatusPage, "id" | "passwordHash">;
    password: string;
    network: string;
    now: Instant;
  },
): Promise<boolean> {
  await countAttempts(database, attemptsOf("statusUnlock", { pageId: page.id, network }), { now });
  return isPassword(password, page.passwordHash);
}

/**
 * Asks an address to confirm. The answer is the same for addresses that are subscribed. AppError `invalid` for what is no
 * address, `rate_limited`, `not_found`, and `conflict` if the page has too many subscribers.
 */
export async function subscribeByEmail(
  database: Database,
  { pageId, address: given, network, at }: { pageId: number; address: string; network: string; at: Instant },
): Promise<void> {
  const address = normalEmail(given);
  await inRetriedTransaction(database, async (tx) => {
    await countAttemptsIn(
      tx,
      [
        ...attemptsOf("statusSubscribe", { pageId, network }),
        { kind: "statusSubscribeByAddress", subject: countedAddress(address) },
      ],
      { now: at },
    );
    if (!(await lockSubscribers(tx, pageId))) throw new AppError("not_found", "Status page not found.");
    const known = await findSubscriberByAddress(tx, { pageId, kind: "email", address });
    if (known?.confirmedAt !== undefined && known.confirmedAt !== null) return;
    const subscriberId = known?.id ?? (await addSubscriber(tx, { pageId, kind: "email", address, at }));
    await insertMessage(tx, { subscriberId, dedupeKey: `confirm:${at}`, about: { kind: "confirm" }, at });
  });
}

async function addSubscriber(
  tx: Tx,
  { pageId, kind, address, at }: Pick<Subscriber, "pageId" | "kind" | "address"> & { at: Instant },
): Promise<number> {
  const counts = await countSubscribers(tx, pageId);
  if (counts.total >= STATUS_SUBSCRIBERS_MAX) {
    throw new AppError("conflict", "The page has too many subscribers.");
  }
  if (kind === "webhook" && counts.webhooks >= STATUS_WEBHOOKS_MAX) {
    throw new AppError("conflict", `A page can have at most ${STATUS_WEBHOOKS_MAX} webhooks.`);
  }
  // A member has entered the URL of a webhook. An address is confirmed by its owner.
  const confirmedAt = kind === "webhook" ? at : null;
  return insertSubscriber(tx, { uuid: randomUUID(), pageId, kind, address, createdAt: at, confirmedAt });
}

export type LinkedSubscriber = { subscriber: Subscriber; page: Pick<StatusPage, "id" | "slug" | "title"> };

/** The subscriber that a link of an email is for; null if it is not valid, or the subscription has ended. */
export async function findLinkedSubscriber(
  db: Db,
  {
    signing,
    purpose,
    token,
  }: { signing: Signing; purpose: "statusConfirm" | "statusUnsubscribe"; token: string },
): Promise<LinkedSubscriber | null> {
  const uuid = subscriberOfToken(token);
  const subscriber = uuid === null ? null : await findSubscriber(db, uuid);
  if (subscriber === null || !isSubscriberToken(token, { signing, purpose, of: subscriber })) return null;
  const found = await findStatusPageById(db, subscriber.pageId);
  return found === null ? null : { subscriber, page: found.page };
}

/** Confirms a subscription; null if the link is not valid or has expired. */
export function confirmSubscription(
  database: Database,
  { signing, token, at }: { signing: Signing; token: string; at: Instant },
): Promise<LinkedSubscriber | null> {
  return inRetriedTransaction(database, async (tx) => {
    const linked = await findLinkedSubscriber(tx, { signing, purpose: "statusConfirm", token });
    if (linked === null) return null;
    const { id, createdAt, confirmedAt } = linked.subscriber;
    if (confirmedAt === null && at - createdAt > STATUS_CONFIRM_DAYS * DAY_MS) return null;
    await confirmSubscriber(tx, { id, at });
    return linked;
  });
}

/** Ends a subscription; null if the link is not valid, or it has ended. */
export function unsubscribe(
  database: Database,
  { signing, token }: { signing: Signing; token: string },
): Promise<LinkedSubscriber | null> {
  return inRetriedTransaction(database, async (tx) => {
    const linked = await findLinkedSubscriber(tx, { signing, purpose: "statusUnsubscribe", token });
    if (linked !== null) await deleteSubscriber(tx, linked.subscriber.id);
    return linked;
  });
}

// For members.

export async function listSubscriberPage(
  db: Db,
  { projectId, uuid, from, limit }: StatusPageName & PageRequest,
): Promise<Page<Subscriber>> {
  const { id: pageId } = await getStatusPage(db, { projectId, uuid });
  const beforeId = from ?? Number.MAX_SAFE_INTEGER;
  return pageOf(await listSubscribers(db, { pageId, beforeId, limit: limit + 1 }), limit);
}

/** Adds a webhook. AppError `conflict` if the page has it already, or too many. */
export function addWebhook(
  database: Database,
  { projectId, uuid, url, by, at }: StatusPageName & Changing & { url: string },
): Promise<Subscriber> {
  return inRetriedTransaction(database, async (tx) => {
    const page = await getStatusPage(tx, { projectId, uuid });
    await lockSubscribers(tx, page.id);
    const named = { pageId: page.id, kind: "webhook", address: url } as const;
    if ((await findSubscriberByAddress(tx, named)) !== null) {
      throw new AppError("conflict", "The page has this webhook already.", "url");
    }
    await addSubscriber(tx, { ...named, at });
    await auditSubscriber(tx, { what: "statusPage.webhookAdded", page, side: { url }, by, at });
    const added = await findSubscriberByAddress(tx, named);
    if (added === null) throw new Error("a webhook was not added");
    return added;
  });
}

/** Ends a subscription. AppError `not_found`. */
export function removeSubscriber(
  database: Database,
  { projectId, uuid, subscriber, by, at }: StatusPageName & Changing & { subscriber: string },
): Promise<void> {
  return inRetriedTransaction(database, async (tx) => {
    const page = await getStatusPage(tx, { projectId, uuid });
    const found = await findSubscriber(tx, subscriber);
    if (found?.pageId !== page.id) throw new AppError("not_found", "Subscriber not found.");
    await deleteSubscriber(tx, found.id);
    // The log is kept longer than the subscription, so it does not name the address.
    await auditSubscriber(tx, {
      what: "statusPage.subscriberRemoved",
      page,
      side: { kind: found.kind },
      by,
      at,
    });
  });
}

async function auditSubscriber(
  tx: Tx,
  {
    what,
    page,
    side,
    by,
    at,
  }: Changing & {
    what: "statusPage.webhookAdded" | "statusPage.subscriberRemoved";
    page: StatusPage;
    side: object;
  },
): Promise<void> {
  const isAdded = what === "statusPage.webhookAdded";
  const sides = { before: isAdded ? null : side, after: isAdded ? side : null };
  await audit(tx, { ...by, projectId: page.projectId, what, subject: page.title, ...sides, at });
}

// Messages.

const PAGES_PER_TURN = 50;

/**
 * Compares the states of pages that have subscribers with what those know, and queues messages. Returns the page to
 * continue after; null: all were compared.
 */
export async function announceStates(
  database: Database,
  { now, afterId }: { now: Instant; afterId: number },
): Promise<{ messages: number; lastId: number | null }> {
  const ids = await listAnnouncedPages(database, { afterId, limit: PAGES_PER_TURN });
  let messages = 0;
  for (const pageId of ids) messages += await announcePage(database, { pageId, now });
  return { messages, lastId: ids.length < PAGES_PER_TURN ? null : (ids.at(-1) ?? null) };
}

async function announcePage(
  database: Database,
  { pageId, now }: { pageId: number; now: Instant },
): Promise<number> {
  const found = await findStatusPageById(database, pageId);
  if (found === null) return 0;
  const { page } = found;
  const states = await readEntryStates(database, { page, now });
  const current = [...states].map(([id, state]) => ({ id, state }));
  const names = new Map(page.groups.flatMap(({ entries }) => entries.map(({ id, name }) => [id, name])));
  return inTransaction(database, async (tx) => {
    const before = await lockAnnounced(tx, pageId);
    if (before === null) return 0;
    const { known, news } = announce(before, current, now);
    if (JSON.stringify(known) === JSON.stringify(before)) return 0;
    await writeAnnounced(tx, { pageId, announced: known });
    let count = 0;
    for (const { entryId, from, to, at } of news) {
      const about = { kind: "state", entry: names.get(entryId) ?? "", from, to, at } as const;
      count += await insertMessages(tx, { pageId, dedupeKey: `state:${entryId}:${at}`, about, at: now });
    }
    return count;
  });
}

export type ClaimedMessage = QueuedMessage & { claimedBy: string };

/** Claims due messages, oldest first. If the process dies, the claim expires. */
export function claimStatusMessages(
  database: Database,
  { now, limit }: { now: Instant; limit: number },
): Promise<ClaimedMessage[]> {
  const claimedBy = randomUUID();
  return inTransaction(database, async (tx) => {
    const messages = await claimMessages(tx, { now, limit, claimedBy, untilAt: now + DELIVERY_LEASE_MS });
    return messages.map((message) => ({ ...message, claimedBy }));
  });
}

/** Whether a message is still wanted. */
export function isMessageDue({ about, subscriber, page }: QueuedMessage): boolean {
  if (page.isDeleted) return false;
  return (about.kind === "confirm") === (subscriber.confirmedAt === null);
}

export type MessageResult = { kind: "sent" } | { kind: "failed"; permanent: boolean; reason: string };

/** Settles a message that was sent, failed, or (null) is no longer wanted. Too many failures end the subscription. */
export async function settleStatusMessage(
  database: Database,
  message: ClaimedMessage,
  { result, now }: { result: MessageResult | null; now: Instant },
): Promise<void> {
  const { id, claimedBy, attemptCount: attempt, createdAt, subscriber } = message;
  const failed = result?.kind === "failed" ? result : null;
  const isFinal = failed !== null && (failed.permanent || attempt >= STATUS_ATTEMPTS_MAX);
  const retryAt =
    failed === null || isFinal ? null : nextTryAt({ attempt, createdAt, now, retryAfterMs: null });
  const state = result?.kind === "sent" ? "sent" : retryAt === null ? "dead" : "pending";
  const reason =
    failed?.reason.slice(0, DELIVERY_ERROR_LENGTH_MAX) ?? (result === null ? "No longer needed" : null);
  await inTransaction(database, async (tx) => {
    const isMine = await settleMessage(tx, { id, claimedBy, state, nextTryAt: retryAt, reason, at: now });
    if (!isMine || state === "pending" || result === null) return;
    const failures = await noteSubscriberResult(tx, { id: subscriber.id, isSent: state === "sent" });
    const isGone = failed?.permanent === true && subscriber.kind === "email";
    if (isGone || failures >= STATUS_FAILURES_MAX) await deleteSubscriber(tx, subscriber.id);
  });
}
