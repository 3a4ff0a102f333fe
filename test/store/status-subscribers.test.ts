// Subscribers of status pages, and the queue of messages to them.
import { randomUUID } from "node:crypto";
import { beforeEach, expect, test } from "vitest";
import { DAY_MS, HOUR_MS, type Instant } from "../../src/core/instant.ts";
import { DEFAULT_BRAND, type StatusNews } from "../../src/core/status-page.ts";
import { insertStatusPage } from "../../src/store/status-pages.ts";
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
  pruneMessages,
  pruneSubscribers,
  settleMessage,
} from "../../src/store/status-subscribers.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON, sampleProject } from "../support/sample.ts";

const database = useDatabase();
const write = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(database.db, work);

let pageId: number;
let slug: string;

beforeEach(async () => {
  await database.db.pool.query("delete from status_pages");
  const projectId = (await sampleProject(database.db)).id;
  slug = `page-${projectId}`;
  const page = { title: "Nordlight", description: "", brand: DEFAULT_BRAND, groups: [], passwordHash: null };
  pageId = await write((tx) =>
    insertStatusPage(tx, { ...page, slug, uuid: randomUUID(), projectId, createdAt: MONDAY_NOON }),
  );
});

async function subscriber(address: string, confirmedAt: Instant | null = MONDAY_NOON) {
  const given = {
    uuid: randomUUID(),
    pageId,
    kind: "email",
    address,
    createdAt: MONDAY_NOON,
    confirmedAt,
  } as const;
  const id = await write((tx) => insertSubscriber(tx, given));
  return { ...given, id, failedCount: 0 };
}

const NEWS: StatusNews = {
  kind: "state",
  entry: "Invoices",
  from: "operational",
  to: "down",
  at: MONDAY_NOON,
};
const NEW = { dedupeKey: "state:1", about: NEWS, at: MONDAY_NOON };

const claim = (now: Instant, claimedBy = "one") =>
  write((tx) => claimMessages(tx, { now, limit: 10, claimedBy, untilAt: now + HOUR_MS }));

test("subscribers are found, counted, confirmed and deleted", async () => {
  const one = await subscriber("a@example.org", null);
  expect(await findSubscriber(database.db, one.uuid)).toEqual(one);
  expect(await findSubscriberByAddress(database.db, one)).toEqual(one);
  expect(await findSubscriberByAddress(database.db, { ...one, kind: "webhook" })).toBeNull();
  expect(await countSubscribers(database.db, pageId)).toEqual({ confirmed: 0, total: 1, webhooks: 0 });
  await write((tx) => confirmSubscriber(tx, { id: one.id, at: MONDAY_NOON + 1 }));
  await write((tx) => confirmSubscriber(tx, { id: one.id, at: MONDAY_NOON + 2 }));
  expect((await findSubscriber(database.db, one.uuid))?.confirmedAt).toBe(MONDAY_NOON + 1);
  const two = await subscriber("b@example.org");
  const listed = await listSubscribers(database.db, { pageId, beforeId: two.id + 1, limit: 10 });
  expect(listed.map(({ address }) => address)).toEqual(["b@example.org", "a@example.org"]);
  await write((tx) => deleteSubscriber(tx, one.id));
  expect(await countSubscribers(database.db, pageId)).toEqual({ confirmed: 1, total: 1, webhooks: 0 });
  expect(await write((tx) => lockSubscribers(tx, pageId))).toBe(true);
  expect(await write((tx) => lockSubscribers(tx, 0))).toBe(false);
});

test("failures are counted until a message is sent", async () => {
  const { id } = await subscriber("a@example.org");
  const note = (isSent: boolean) => write((tx) => noteSubscriberResult(tx, { id, isSent }));
  expect([await note(false), await note(false), await note(true)]).toEqual([1, 2, 0]);
});

test("subscriptions that were not confirmed are removed after a while", async () => {
  await subscriber("a@example.org", null);
  await subscriber("b@example.org");
  const prune = (before: Instant) => write((tx) => pruneSubscribers(tx, { before, limit: 10 }));
  expect(await prune(MONDAY_NOON)).toBe(0);
  expect(await prune(MONDAY_NOON + 1)).toBe(1);
});

test("a message is for confirmed subscribers, once for each", async () => {
  const one = await subscriber("a@example.org");
  await subscriber("b@example.org", null);
  expect(await write((tx) => insertMessages(tx, { pageId, ...NEW }))).toBe(1);
  expect(await write((tx) => insertMessages(tx, { pageId, ...NEW }))).toBe(0);
  await write((tx) => insertMessage(tx, { subscriberId: one.id, ...NEW }));
  const [message, ...rest] = await claim(MONDAY_NOON);
  expect(rest).toEqual([]);
  expect(message).toMatchObject({
    about: NEWS,
    attemptCount: 1,
    subscriber: one,
    page: { slug, title: "Nordlight", domain: null, isDeleted: false, zone: "UTC" },
  });
});

test("a claim is exclusive, and expires", async () => {
  await subscriber("a@example.org");
  await write((tx) => insertMessages(tx, { pageId, ...NEW }));
  const [first] = await claim(MONDAY_NOON);
  expect(await claim(MONDAY_NOON + HOUR_MS - 1, "two")).toEqual([]);
  const [second] = await claim(MONDAY_NOON + HOUR_MS, "two");
  expect([first?.uuid, second?.attemptCount]).toEqual([second?.uuid, 2]);
  const settle = (claimedBy: string, state: "pending" | "sent") =>
    write((tx) =>
      settleMessage(tx, {
        id: first?.id ?? 0,
        claimedBy,
        state,
        nextTryAt: state === "pending" ? MONDAY_NOON + DAY_MS : null,
        reason: null,
        at: MONDAY_NOON,
      }),
    );
  expect(await settle("one", "sent")).toBe(false);
  expect(await settle("two", "pending")).toBe(true);
  expect(await claim(MONDAY_NOON + DAY_MS - 1)).toEqual([]);
  expect(await claim(MONDAY_NOON + DAY_MS)).toHaveLength(1);
  expect(await settle("one", "sent")).toBe(true);
  expect(await claim(MONDAY_NOON + 10 * DAY_MS)).toEqual([]);
  expect(await write((tx) => pruneMessages(tx, { before: MONDAY_NOON + 1, limit: 10 }))).toBe(1);
});
