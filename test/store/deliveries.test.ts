// Deliveries as a log: listed, counted, and deleted when old.
import { describe, expect, test } from "vitest";
import {
  countUnsent,
  deleteDeliveriesOfCheck,
  findDeliveries,
  listDeliveriesOfChannel,
  listDeliveriesOfFlip,
  listRecentDeliveries,
  pruneDeliveries,
} from "../../src/store/deliveries.ts";
import { insertNoticeDeliveries } from "../../src/store/planning.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { flip, owe, watchedCheck } from "../support/owed.ts";
import { MONDAY_NOON } from "../support/sample.ts";

const database = useDatabase();
const write = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(database.db, work);
const settleAll = (at: number) =>
  database.db.pool.query(
    "update deliveries set state = 'sent', next_try_at = null, settled_at = $1 where state = 'pending'",
    [new Date(at)],
  );

describe("the record", () => {
  test("a delivery starts pending, is due at once, and has its own key", async () => {
    const { check, channels } = await watchedCheck(database.db, { channelCount: 2 });
    const [flipId = 0] = await owe(database.db, { check }, flip("down"));
    const deliveries = await listDeliveriesOfFlip(database.db, flipId);
    expect(deliveries).toMatchObject(
      channels.map(({ id: channelId }) => ({
        kind: "flip",
        channelId,
        checkId: check.id,
        flipId,
        state: "pending",
        createdAt: MONDAY_NOON,
        nextTryAt: MONDAY_NOON,
        attemptCount: 0,
        settledAt: null,
        messageId: null,
        about: null,
      })),
    );
    expect(deliveries[0]?.dedupeKey).not.toBe(deliveries[1]?.dedupeKey);
    expect(await findDeliveries(database.db, [deliveries[1]?.id ?? 0, 999_999])).toEqual([deliveries[1]]);
  });

  test("the newest attempted deliveries of each channel, oldest first", async () => {
    const { check, channel } = await watchedCheck(database.db);
    await owe(database.db, { check }, flip("down"), flip("up"), flip("down"), flip("up"));
    const ids = (await listDeliveriesOfChannel(database.db, { channelId: channel.id, limit: 10 })).map(
      ({ id }) => id,
    );
    const [newest, waiting, failing, sent] = ids;
    const { pool } = database.db;
    await pool.query(
      "update deliveries set state = 'sent', attempt_count = 2, next_try_at = null, attempted_at = $2, settled_at = $2 where id = $1",
      [sent, new Date(MONDAY_NOON)],
    );
    await pool.query("update deliveries set attempt_count = 1, reason = 'timeout' where id = $1", [failing]);
    await pool.query("update deliveries set attempt_count = 1 where id = $1", [waiting]);
    const list = (limit: number) => listRecentDeliveries(database.db, { projectId: check.projectId, limit });
    expect(newest).toBeGreaterThan(sent ?? 0);
    expect((await list(30)).get(channel.uuid)).toMatchObject([
      { state: "sent", attemptCount: 2, attemptedAt: MONDAY_NOON, settledAt: MONDAY_NOON },
      { state: "pending", attemptCount: 1, settledAt: null },
    ]);
    expect((await list(3)).get(channel.uuid)).toHaveLength(1);
  });

  test("the log of a channel goes back page by page", async () => {
    const { check, channel } = await watchedCheck(database.db);
    await owe(database.db, { check }, flip("down"), flip("up"), flip("down"));
    const page = async (before?: { id: number }) => {
      const cursor = before === undefined ? {} : { beforeId: before.id };
      return listDeliveriesOfChannel(database.db, { channelId: channel.id, limit: 2, ...cursor });
    };
    const [newest, middle] = await page();
    const [oldest] = await page(middle);
    expect((newest?.id ?? 0) > (middle?.id ?? 0) && (middle?.id ?? 0) > (oldest?.id ?? 0)).toBe(true);
    expect(await page(oldest)).toEqual([]);
  });

  test("it is known how many are unsent, and since when the oldest waits", async () => {
    await settleAll(MONDAY_NOON);
    expect(await countUnsent(database.db)).toEqual({ count: 0, oldestAt: null });
    const { check } = await watchedCheck(database.db);
    await owe(database.db, { check, at: MONDAY_NOON + 5 }, flip("down"));
    await owe(database.db, { check, at: MONDAY_NOON + 9 }, flip("up"));
    expect(await countUnsent(database.db)).toEqual({ count: 2, oldestAt: MONDAY_NOON + 5 });
  });
});

describe("pruning", () => {
  test("settled ones are deleted when they are old, with the contents of a notice; pending ones never", async () => {
    await database.db.pool.query("truncate deliveries, notice_checks");
    const { check } = await watchedCheck(database.db);
    const blind = { from: MONDAY_NOON, to: MONDAY_NOON + 1 };
    const notices = [{ checkId: check.id, blind }];
    await write((tx) => insertNoticeDeliveries(tx, { notices, at: MONDAY_NOON, notifyAt: MONDAY_NOON }));
    await settleAll(MONDAY_NOON + 10);
    await owe(database.db, { check }, flip("down"));
    const prune = (before: number) => write((tx) => pruneDeliveries(tx, { before, limit: 100 }));
    const noted = async () => (await database.db.pool.query("select from notice_checks")).rowCount;
    expect(await prune(MONDAY_NOON + 10)).toBe(0);
    expect(await noted()).toBe(1);
    expect(await prune(MONDAY_NOON + 11)).toBe(1);
    expect(await noted()).toBe(0);
    expect(await prune(MONDAY_NOON * 2)).toBe(0);
  });

  test("those of a deleted check go with it", async () => {
    const gone = await watchedCheck(database.db);
    const [goneFlip = 0] = await owe(database.db, gone, flip("down"));
    const kept = await watchedCheck(database.db);
    const [keptFlip = 0] = await owe(database.db, kept, flip("down"));
    await write((tx) => deleteDeliveriesOfCheck(tx, gone.check.id));
    expect(await listDeliveriesOfFlip(database.db, goneFlip)).toEqual([]);
    expect(await listDeliveriesOfFlip(database.db, keptFlip)).toHaveLength(1);
  });
});
