// Deliveries: one for each flip and channel, tried until settled, forgotten when old.
import { describe, expect, test } from "vitest";
import {
  type Attempt,
  deleteDeliveriesOfCheck,
  findOldestPendingAt,
  findPendingDeliveries,
  insertDeliveries,
  listDeliveriesOfChannel,
  listDeliveriesOfFlip,
  lockPendingDeliveries,
  type NewDelivery,
  pruneDeliveries,
  settleDeliveries,
  writeAttempt,
} from "../../src/store/alerts/deliveries.ts";
import { insertFlips } from "../../src/store/history/flips.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON } from "../support/sample.ts";

const database = useDatabase();
let nextId = 1_000;

const write = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(database.db, work);
const insert = (deliveries: NewDelivery[], at = MONDAY_NOON) =>
  write((tx) => insertDeliveries(tx, { deliveries, at }));

/** About a flip that no other test uses. */
function owed(given: Partial<NewDelivery> = {}): NewDelivery {
  return { channelId: nextId++, checkId: nextId++, flipId: nextId++, blindIntervalId: null, ...given };
}

async function insertOne(given: Partial<NewDelivery> = {}, at = MONDAY_NOON) {
  const [delivery] = await insert([owed(given)], at);
  if (delivery === undefined) throw new Error("no delivery");
  return delivery;
}

function attempt(deliveryId: number, outcome: Attempt["outcome"]): Attempt {
  const reason = outcome === "sent" ? null : "Received status code 500";
  const requestSummary = "POST https://example.org/hook";
  return {
    deliveryId,
    at: MONDAY_NOON + 10,
    requestSummary,
    responseCode: 500,
    responseExcerpt: "no",
    reason,
    outcome,
  };
}

describe("owing", () => {
  test("a delivery starts pending, may be tried at once, and carries a key of its own", async () => {
    const about = owed();
    const [delivery, other] = await insert([about, owed()]);
    expect(delivery).toMatchObject({
      ...about,
      state: "pending",
      createdAt: MONDAY_NOON,
      nextTryAt: MONDAY_NOON,
      attemptCount: 0,
      settledAt: null,
    });
    expect(delivery?.dedupeKey).not.toBe(other?.dedupeKey);
  });

  test("there is one for each flip and channel, and one notice for each blind interval and channel", async () => {
    const about = owed();
    const notice = owed({ flipId: null, checkId: null, blindIntervalId: 7 });
    expect((await insert([about, notice])).length).toBe(2);
    expect(await insert([about, notice])).toEqual([]);
    expect(
      (
        await insert([
          { ...about, channelId: 1 },
          { ...notice, channelId: 1 },
        ])
      ).length,
    ).toBe(2);
    expect((await listDeliveriesOfFlip(database.db, about.flipId ?? 0)).length).toBe(2);
  });
});

describe("sending", () => {
  test("what a channel has to be told of a check comes in order, and only what is pending", async () => {
    const [channelId, checkId] = [nextId++, nextId++];
    const deliveries = await insert([
      owed({ channelId, checkId }),
      owed({ channelId, checkId }),
      owed({ checkId }),
    ]);
    const pending = () => write((tx) => lockPendingDeliveries(tx, { checkId, channelId, limit: 10 }));
    expect(await pending()).toEqual(deliveries.slice(0, 2));
    await write((tx) => writeAttempt(tx, attempt(deliveries[0]?.id ?? 0, "sent")));
    expect(await pending()).toEqual(deliveries.slice(1, 2));
  });

  test("a failed attempt is written down and postpones the next", async () => {
    const { id } = await insertOne();
    const retryAt = MONDAY_NOON + 60_000;
    expect(await write((tx) => writeAttempt(tx, attempt(id, { retryAt })))).toBe(true);
    const due = async (through: number) =>
      (await findPendingDeliveries(database.db, { through, limit: 1_000 })).find((one) => one.id === id);
    expect(await due(retryAt - 1)).toBeUndefined();
    expect(await due(retryAt)).toMatchObject({
      state: "pending",
      attemptCount: 1,
      attemptedAt: MONDAY_NOON + 10,
      nextTryAt: retryAt,
      settledAt: null,
      requestSummary: "POST https://example.org/hook",
      responseCode: 500,
      responseExcerpt: "no",
      reason: "Received status code 500",
    });
  });

  test.each(["sent", "dead"] as const)("a delivery that is %s is settled and stays so", async (outcome) => {
    const { id, channelId } = await insertOne();
    expect(await write((tx) => writeAttempt(tx, attempt(id, outcome)))).toBe(true);
    expect(await write((tx) => writeAttempt(tx, attempt(id, "sent")))).toBe(false);
    const [settled] = await listDeliveriesOfChannel(database.db, { channelId, limit: 1 });
    expect(settled).toMatchObject({
      state: outcome,
      settledAt: MONDAY_NOON + 10,
      nextTryAt: null,
      attemptCount: 1,
    });
  });

  test("deliveries can be settled unsent, those that are pending", async () => {
    const { id: sent } = await insertOne();
    await write((tx) => writeAttempt(tx, attempt(sent, "sent")));
    const { id, channelId } = await insertOne();
    const settle = {
      deliveryIds: [sent, id],
      state: "merged" as const,
      at: MONDAY_NOON + 20,
      reason: "with 7",
    };
    expect(await write((tx) => settleDeliveries(tx, settle))).toBe(1);
    const [merged] = await listDeliveriesOfChannel(database.db, { channelId, limit: 1 });
    expect(merged).toMatchObject({ state: "merged", settledAt: MONDAY_NOON + 20, reason: "with 7" });
  });
});

describe("watching and forgetting", () => {
  test("the oldest unsent one is known", async () => {
    const { id } = await insertOne({}, MONDAY_NOON - 5_000);
    expect(await findOldestPendingAt(database.db)).toBe(MONDAY_NOON - 5_000);
    await write((tx) => writeAttempt(tx, attempt(id, "sent")));
    expect(await findOldestPendingAt(database.db)).toBe(MONDAY_NOON);
  });

  test("the log of a channel goes back page by page", async () => {
    const channelId = nextId++;
    const ids = (await insert([owed({ channelId }), owed({ channelId }), owed({ channelId })])).map(
      ({ id }) => id,
    );
    const page = async (beforeId?: number) =>
      (
        await listDeliveriesOfChannel(database.db, {
          channelId,
          limit: 2,
          ...(beforeId === undefined ? {} : { beforeId }),
        })
      ).map(({ id }) => id);
    expect(await page()).toEqual([ids[2], ids[1]]);
    expect(await page(ids[1])).toEqual([ids[0]]);
  });

  test("settled ones are forgotten when they are old, pending ones never", async () => {
    await database.db.pool.query("truncate deliveries");
    const { id } = await insertOne();
    await insertOne();
    await write((tx) => writeAttempt(tx, attempt(id, "dead")));
    const prune = (before: number) => write((tx) => pruneDeliveries(tx, { before, limit: 100 }));
    expect(await prune(MONDAY_NOON + 10)).toBe(0);
    expect(await prune(MONDAY_NOON + 11)).toBe(1);
    expect(await prune(MONDAY_NOON * 2)).toBe(0);
  });

  test("those of a deleted check go with it", async () => {
    const flip = { at: MONDAY_NOON, from: "up", to: "down", reason: "fail" } as const;
    const checkId = nextId++;
    const [flipId] = await write((tx) => insertFlips(tx, [{ checkId, flip }]));
    await insertOne({ checkId, flipId: flipId ?? 0 });
    const kept = owed();
    await insert([kept]);
    await write((tx) => deleteDeliveriesOfCheck(tx, checkId));
    expect(await listDeliveriesOfFlip(database.db, flipId ?? 0)).toEqual([]);
    expect((await listDeliveriesOfFlip(database.db, kept.flipId ?? 0)).length).toBe(1);
  });
});
