// The queue in the deliveries: claims, one sender for each check and channel, and leases that expire.
import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { deleteChannel, lockBuckets, writeBuckets } from "../../src/store/channels.ts";
import {
  claimMessages,
  type ClaimRequest,
  findDeliveries,
  findWaitingChannels,
  listDeliveriesOfChannel,
  postponeDeliveries,
  settleClaimed,
  type Settlement,
} from "../../src/store/deliveries.ts";
import { insertTestDeliveries } from "../../src/store/planning.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { openTestDatabase, useDatabase } from "../support/database.ts";
import { assign, flip, owe, watchedCheck } from "../support/owed.ts";
import { MONDAY_NOON as NOW, sampleCheck } from "../support/sample.ts";

const database = useDatabase();
const LEASE_MS = 60_000;
const write = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(database.db, work);

beforeEach(() => database.db.pool.query("truncate deliveries"));

type Given = Partial<ClaimRequest> & { channel: { id: number }; allowance?: number };

function request({ channel, allowance = 10, ...given }: Given): ClaimRequest {
  const allowances = new Map([[channel.id, allowance]]);
  return { now: NOW, allowances, claimedBy: randomUUID(), leaseMs: LEASE_MS, partsMax: 100, ...given };
}
const claim = (given: Given) => write((tx) => claimMessages(tx, request(given)));
const flipIds = (messages: Awaited<ReturnType<typeof claim>>) =>
  messages.map(({ deliveries }) => deliveries.map(({ flipId }) => flipId));

function settlement(deliveryId: number, given: Partial<Settlement>): Settlement {
  const answer = { summary: "POST example.org", code: 500, excerpt: `"no" {}` };
  return { deliveryId, claimedBy: "", outcome: "sent", unbinds: false, answer, reason: null, ...given };
}
const settle = (...settlements: Settlement[]) =>
  write((tx) => settleClaimed(tx, { settlements, at: NOW + 5 }));

describe("waiting channels", () => {
  test("are visited in order, with their health, including deleted ones", async () => {
    const [a, b, gone] = [
      await watchedCheck(database.db),
      await watchedCheck(database.db),
      await watchedCheck(database.db),
    ];
    for (const one of [a, b, gone]) await owe(database.db, one, flip("down"), flip("up"));
    await write((tx) => deleteChannel(tx, gone.channel.id));
    await database.db.pool.query("update deliveries set next_try_at = '2100-01-01' where channel_id = $1", [
      b.channel.id,
    ]);
    const well = { kind: "webhook", isDisabled: false, failureCount: 0, lastNotifyDurationMs: null };
    const channel = { ...well, holdUntilAt: null, bucketFullAt: null };
    const waiting = [
      { channelId: a.channel.id, ownerId: expect.any(Number) as number, isDue: true, channel },
      { channelId: b.channel.id, ownerId: expect.any(Number) as number, isDue: false, channel },
      { channelId: gone.channel.id, ownerId: null, isDue: true, channel: null },
    ];
    const find = (after: number, limit = 10) => findWaitingChannels(database.db, { now: NOW, after, limit });
    expect(await find(0)).toEqual(waiting);
    expect(await find(0, 2)).toEqual(waiting.slice(0, 2));
    expect(await find(a.channel.id)).toEqual(waiting.slice(1));
    expect(await find(gone.channel.id)).toEqual([]);
  });

  test("have a bucket that one at a time takes from", async () => {
    const { channel } = await watchedCheck(database.db);
    await write(async (tx) => {
      expect(await lockBuckets(tx, [channel.id, 999_999])).toEqual(new Map([[channel.id, null]]));
      expect(await write((other) => lockBuckets(other, [channel.id]))).toEqual(new Map());
      await writeBuckets(tx, new Map([[channel.id, NOW + 7]]));
    });
    expect(await write((tx) => lockBuckets(tx, [channel.id]))).toEqual(new Map([[channel.id, NOW + 7]]));
  });
});

describe("a claim", () => {
  test("takes all changes of a check and channel as one message, and no process claims it again", async () => {
    const one = await watchedCheck(database.db);
    const ids = await owe(database.db, one, flip("down"), flip("up"));
    const messages = await claim(one);
    expect(flipIds(messages)).toEqual([ids]);
    const head = messages[0]?.deliveries[0];
    expect(messages).toMatchObject([
      { wasBound: false, deliveries: [{ attemptCount: 1, attemptedAt: NOW }, { messageId: head?.id }] },
    ]);
    expect(await claim(one)).toEqual([]);
    await owe(database.db, one, flip("down"));
    expect(await claim({ ...one, now: NOW + LEASE_MS - 1 })).toEqual([]);
  });

  test("gives a channel no more than its share, the longest waiting first", async () => {
    const one = await watchedCheck(database.db);
    const checks = [one.check];
    for (let i = 0; i < 2; i += 1)
      checks.push(await sampleCheck(database.db, { projectId: one.check.projectId }));
    const ids: number[] = [];
    for (const check of checks) {
      await assign(database.db, check, [one.channel]);
      ids.push(...(await owe(database.db, { check }, flip("down"))));
    }
    expect(flipIds(await claim({ ...one, allowance: 2 }))).toEqual([[ids[0]], [ids[1]]]);
    expect(flipIds(await claim({ ...one, allowance: 2 }))).toEqual([[ids[2]]]);
  });

  test("has a limited number of changes; the rest goes into the next message", async () => {
    const one = await watchedCheck(database.db);
    const ids = await owe(database.db, one, flip("down"), flip("up"), flip("down"));
    const claimedBy = randomUUID();
    const [message] = await claim({ ...one, partsMax: 2, claimedBy });
    expect(message?.deliveries.map(({ flipId }) => flipId)).toEqual(ids.slice(0, 2));
    await settle(...(message?.deliveries ?? []).map(({ id }) => settlement(id, { claimedBy })));
    expect(flipIds(await claim({ ...one, partsMax: 2 }))).toEqual([ids.slice(2)]);
  });

  test("can be claimed by others when its lease has expired, or is further ahead than possible", async () => {
    for (const now of [NOW + LEASE_MS, NOW - LEASE_MS - 1]) {
      await database.db.pool.query("truncate deliveries");
      const one = await watchedCheck(database.db);
      const [first] = await owe(database.db, one, flip("down"));
      await claim(one);
      // Newer changes wait: the message may have been sent, and must be repeated unchanged.
      await owe(database.db, one, flip("up"));
      const again = await claim({ ...one, now });
      expect(flipIds(again)).toEqual([[first]]);
      expect(again[0]).toMatchObject({ wasBound: true, deliveries: [{ attemptCount: 2 }] });
    }
  });

  test("names when a sender was interrupted, unless an attempt before was in doubt", async () => {
    const one = await watchedCheck(database.db);
    await owe(database.db, one, flip("down"));
    const [message] = await claim(one);
    expect(message).toMatchObject({ wasBound: false, interruptedAt: null });
    const claimedBy = randomUUID();
    const later = { ...one, now: NOW + LEASE_MS };
    expect(await claim({ ...later, claimedBy })).toMatchObject([{ wasBound: true, interruptedAt: NOW }]);
    const inDoubt = { answer: { summary: "POST", code: null, excerpt: null }, unbinds: false };
    const id = message?.deliveries[0]?.id ?? 0;
    await settle(settlement(id, { claimedBy, outcome: { retryAt: NOW }, ...inDoubt }));
    await claim(later);
    const again = await claim({ ...one, now: NOW + 2 * LEASE_MS });
    expect(again).toMatchObject([{ wasBound: true, interruptedAt: null }]);
  });

  test("cannot be claimed by a process that read the clock a moment before", async () => {
    const one = await watchedCheck(database.db);
    await owe(database.db, one, flip("down"));
    await claim(one);
    expect(await claim({ ...one, now: NOW - 1_000 })).toEqual([]);
  });

  test("waits for no lock: messages held by others are skipped", async () => {
    const one = await watchedCheck(database.db);
    const [, second] = await owe(database.db, one, flip("down"), flip("up"));
    await write(async (tx) => {
      await tx.query({ name: "hold", text: "select from deliveries where flip_id = $1 for update" }, [
        second,
      ]);
      expect(await claim(one)).toMatchObject([{ deliveries: [{ kind: "flip" }] }]);
    });
  });

  test("of two at the same moment one has each message", async () => {
    const one = await watchedCheck(database.db);
    const checks = [one.check];
    for (let i = 0; i < 9; i += 1)
      checks.push(await sampleCheck(database.db, { projectId: one.check.projectId }));
    for (const check of checks) {
      await assign(database.db, check, [one.channel]);
      await owe(database.db, { check }, flip("down"), flip("up"));
    }
    const other = openTestDatabase(database.url);
    const both = await Promise.all(
      [database.db, other].map((db) =>
        inTransaction(db, (tx) => claimMessages(tx, request({ ...one, allowance: 20 }))),
      ),
    );
    await other.close();
    const claimed = flipIds(both.flat()).flat();
    const left = flipIds(await claim({ ...one, allowance: 20 })).flat();
    const all = [...claimed, ...left].map(Number).toSorted((a, b) => a - b);
    expect(new Set(all).size).toBe(20);
    expect(all).toHaveLength(20);
    expect(both.flat().every(({ deliveries }) => deliveries.length === 2)).toBe(true);
  });

  test("messages without a check are independent", async () => {
    const { channel } = await watchedCheck(database.db);
    for (let i = 0; i < 2; i += 1)
      await write((tx) => insertTestDeliveries(tx, { channelId: channel.id, at: NOW }));
    expect(await claim({ channel, allowance: 1 })).toHaveLength(1);
    expect(await claim({ channel })).toHaveLength(1);
    expect(await claim({ channel })).toEqual([]);
  });
});

describe("settling", () => {
  test("is done by the holder of the claim, and once", async () => {
    const one = await watchedCheck(database.db);
    await owe(database.db, one, flip("down"));
    const claimedBy = randomUUID();
    const [message] = await claim({ ...one, claimedBy });
    const id = message?.deliveries[0]?.id ?? 0;
    expect(await settle(settlement(id, { claimedBy: randomUUID() }))).toEqual(new Set());
    expect(await settle(settlement(id, { claimedBy }))).toEqual(new Set([id]));
    expect(await settle(settlement(id, { claimedBy }))).toEqual(new Set());
    expect(await findDeliveries(database.db, [id])).toMatchObject([
      {
        state: "sent",
        settledAt: NOW + 5,
        nextTryAt: null,
        messageId: id,
        requestSummary: "POST example.org",
        responseCode: 500,
        responseExcerpt: `"no" {}`,
        reason: null,
      },
    ]);
  });

  test("without sending keeps what an earlier try was answered", async () => {
    const one = await watchedCheck(database.db);
    await owe(database.db, one, flip("down"));
    const retry = { outcome: { retryAt: NOW }, unbinds: true };
    for (const given of [retry, { outcome: "withdrawn" as const, answer: null, reason: "gone" }]) {
      const claimedBy = randomUUID();
      const [message] = await claim({ ...one, claimedBy });
      await settle(settlement(message?.deliveries[0]?.id ?? 0, { claimedBy, ...given }));
    }
    const [delivery] = await listDeliveriesOfChannel(database.db, { channelId: one.channel.id, limit: 1 });
    expect(delivery).toMatchObject({
      state: "withdrawn",
      reason: "gone",
      responseCode: 500,
      attemptCount: 2,
    });
  });

  test("a newer change makes a rejected message due at once, and joins it", async () => {
    const one = await watchedCheck(database.db);
    const [first] = await owe(database.db, one, flip("down"));
    const claimedBy = randomUUID();
    const [message] = await claim({ ...one, claimedBy });
    const id = message?.deliveries[0]?.id ?? 0;
    await settle(settlement(id, { claimedBy, outcome: { retryAt: NOW + 1_000 }, unbinds: true }));
    expect(await claim({ ...one, now: NOW + 999 })).toEqual([]);
    const [second] = await owe(database.db, one, flip("up"));
    const again = await claim({ ...one, now: NOW + 999 });
    expect(flipIds(again)).toEqual([[first, second]]);
    expect(again[0]?.wasBound).toBe(false);
  });

  test("a newer change waits behind a message in doubt, and is not read repeatedly", async () => {
    const one = await watchedCheck(database.db);
    const [first] = await owe(database.db, one, flip("down"));
    const claimedBy = randomUUID();
    const [message] = await claim({ ...one, claimedBy });
    const id = message?.deliveries[0]?.id ?? 0;
    const [second] = await owe(database.db, one, flip("up"));
    const retryAt = NOW + 1_000;
    await settle(settlement(id, { claimedBy, outcome: { retryAt } }));
    expect(await claim({ ...one, now: NOW + 999 })).toEqual([]);
    const pair = { checkId: one.check.id, channelId: one.channel.id };
    await write((tx) => postponeDeliveries(tx, [{ ...pair, untilAt: retryAt }]));
    const nextTries = async () =>
      (await listDeliveriesOfChannel(database.db, { channelId: one.channel.id, limit: 9 })).map(
        ({ nextTryAt }) => nextTryAt,
      );
    expect(await nextTries()).toEqual([retryAt, retryAt]);
    const repeated = { now: retryAt, claimedBy: randomUUID() };
    expect(flipIds(await claim({ ...one, ...repeated }))).toEqual([[first]]);
    await settle(settlement(id, { claimedBy: repeated.claimedBy }));
    await write((tx) => postponeDeliveries(tx, [{ ...pair, untilAt: null }]));
    expect(flipIds(await claim(one))).toEqual([[second]]);
  });
});
