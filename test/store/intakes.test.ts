// Intakes, blind intervals, and quarantined signals.
import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import {
  advanceSequence,
  closeAllIntakes,
  closeIntake,
  closeIntakeIfFree,
  findHeartbeats,
  findSequence,
  insertBlindInterval,
  listBlindByReasons,
  listBlindIntervals,
  listBlindIntervalsAfter,
  listLostIntakes,
  listOpenIntakes,
  pruneBlindIntervals,
  pruneIntakes,
  readVisibility,
  registerIntake,
  skipSequence,
  writeHeartbeat,
} from "../../src/store/intakes.ts";
import {
  countRejectedSignals,
  deleteRejectedOfCheck,
  deleteRejectedSignal,
  insertRejectedSignal,
  listQuarantinedPings,
  listRejectedSignals,
  lockRejectedSignalAfter,
  pruneRejectedSignals,
} from "../../src/store/quarantine.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON } from "../support/sample.ts";
import { LANES } from "../../src/core/signal.ts";

const database = useDatabase();
const write = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(database.db, work);

async function register(given: { startedAt?: number; watermarkAt?: number } = {}): Promise<string> {
  const id = randomUUID();
  const startedAt = given.startedAt ?? MONDAY_NOON;
  const intake = { id, name: "host-1", startedAt, watermarkAt: startedAt, leaseUntilAt: startedAt + 600_000 };
  await write((tx) => registerIntake(tx, { ...intake, spoolEmpty: true, ...given }));
  return id;
}

const beat = (intakeId: string, at: number, gapEndedAt = MONDAY_NOON) => {
  const said = { watermarkAt: at - 1_000, leaseUntilAt: at + 10_000, spoolEmpty: false, spoolFill: 0.25 };
  return write((tx) => writeHeartbeat(tx, { intakeId, at, gapEndedAt, signalsPerMinute: 42, ...said }));
};
const look = () =>
  readVisibility(database.db, { from: 0, to: MONDAY_NOON * 2, gapsThrough: MONDAY_NOON + 60_000 });
const close = (intakeId: string, at: number) => write((tx) => closeIntake(tx, { intakeId, at, lost: false }));

beforeEach(async () => {
  await database.db.pool.query("truncate intakes, blind_intervals, rejected_signals cascade");
});

describe("intakes", () => {
  test("all are closed at once, and none counts as lost", async () => {
    await register();
    await register();
    await write((tx) => closeAllIntakes(tx, { at: MONDAY_NOON }));
    expect(await listOpenIntakes(database.db)).toEqual([]);
    expect(await listLostIntakes(database.db, { from: 0, limit: 10 })).toEqual([]);
  });

  test("a batch number is claimed once and in order", async () => {
    const intakeId = await register();
    const advance = (seq: number) => write((tx) => advanceSequence(tx, { intakeId, lane: 0, seq }));
    expect(await findSequence(database.db, { intakeId, lane: 0 })).toBe(0);
    expect(await advance(1)).toBe(true);
    expect(await advance(1)).toBe(false);
    expect(await advance(3)).toBe(false);
    expect(await advance(2)).toBe(true);
    expect(await findSequence(database.db, { intakeId, lane: 0 })).toBe(2);
    expect(await findSequence(database.db, { intakeId: randomUUID(), lane: 0 })).toBeNull();
  });

  test("numbers that are missing for good are skipped, forwards only", async () => {
    const intakeId = await register({ watermarkAt: MONDAY_NOON - 1_000 });
    const skip = (seq: number) => write((tx) => skipSequence(tx, { intakeId, lane: 0, seq }));
    expect(await skip(5)).toBe(MONDAY_NOON - 1_000);
    expect(await skip(5)).toBeNull();
    expect(await skip(4)).toBeNull();
    expect(await findSequence(database.db, { intakeId, lane: 0 })).toBe(5);
    expect(await write((tx) => skipSequence(tx, { intakeId: randomUUID(), lane: 0, seq: 1 }))).toBeNull();
  });

  test("a batch that is rolled back has not been applied", async () => {
    const intakeId = await register();
    const failing = inTransaction(database.db, async (tx) => {
      await advanceSequence(tx, { intakeId, lane: 0, seq: 1 });
      throw new Error("poison");
    });
    await expect(failing).rejects.toThrow("poison");
    expect(await findSequence(database.db, { intakeId, lane: 0 })).toBe(0);
  });

  test("a heartbeat moves watermark and lease", async () => {
    const id = await register();
    expect(await beat(id, MONDAY_NOON + 5_000)).toBe(true);
    expect(await listOpenIntakes(database.db)).toEqual([
      {
        id,
        name: "host-1",
        startedAt: MONDAY_NOON,
        lastSeqs: Array.from({ length: LANES }, () => 0),
        watermarkAt: MONDAY_NOON + 4_000,
        heartbeatAt: MONDAY_NOON + 5_000,
        leaseUntilAt: MONDAY_NOON + 15_000,
        spoolEmpty: false,
        spoolFill: 0.25,
        signalsPerMinute: 42,
      },
    ]);
  });

  test("the watermark is that of the slowest open intake, and none without one", async () => {
    expect(await look()).toEqual({
      visibility: { watermarkAt: null, blind: [] },
      directWatermarkAt: null,
      newestHeartbeatAt: null,
      lastHeartbeatAt: null,
      gapEndedAt: null,
      holder: null,
    });
    const [fast, slow] = [await register(), await register()];
    await beat(fast, MONDAY_NOON + 60_000);
    await beat(slow, MONDAY_NOON + 30_000);
    expect(await look()).toMatchObject({
      visibility: { watermarkAt: MONDAY_NOON + 29_000 },
      newestHeartbeatAt: MONDAY_NOON + 60_000,
      holder: { id: slow, name: "host-1" },
    });
    expect((await listOpenIntakes(database.db)).map(({ id }) => id)).toEqual([slow, fast]);
    expect((await listOpenIntakes(database.db, { limit: 1 })).map(({ id }) => id)).toEqual([slow]);
    expect(await close(slow, MONDAY_NOON + 61_000)).toBe(true);
    expect((await look()).visibility.watermarkAt).toBe(MONDAY_NOON + 59_000);
    await close(fast, MONDAY_NOON + 61_000);
    expect(await look()).toMatchObject({ visibility: { watermarkAt: null }, newestHeartbeatAt: null });
  });

  test("the newest gap of all intakes is known, whichever ended it, but not one from another clock", async () => {
    const [first, second] = [await register(), await register()];
    await beat(first, MONDAY_NOON + 10_000, MONDAY_NOON + 5_000);
    await beat(second, MONDAY_NOON + 10_000, MONDAY_NOON + 9_000);
    const gapEndedAt = MONDAY_NOON + 9_000;
    await close(second, MONDAY_NOON + 11_000);
    expect((await look()).gapEndedAt).toBe(gapEndedAt);
    await beat(first, MONDAY_NOON + 12_000, MONDAY_NOON + 1_000_000);
    expect((await look()).gapEndedAt).toBe(gapEndedAt);
    const newestHeartbeatAt = MONDAY_NOON + 12_000;
    expect(await findHeartbeats(database.db, { through: newestHeartbeatAt })).toEqual({
      newestHeartbeatAt,
      gapEndedAt,
    });
  });

  test("watermark and blind times are those of one moment", async () => {
    const id = await register();
    await beat(id, MONDAY_NOON);
    const progress = { isDone: false };
    const writing = (async () => {
      for (let second = 1; second <= 200; second += 1) {
        const at = MONDAY_NOON + second * 1_000;
        await write(async (tx) => {
          await insertBlindInterval(tx, { intakeId: id, from: at - 1_000, to: at, reason: "test" });
          const said = { leaseUntilAt: at, spoolEmpty: true, spoolFill: 0, gapEndedAt: MONDAY_NOON };
          const intake = { intakeId: id, at, watermarkAt: at - 1_000 };
          await writeHeartbeat(tx, { ...intake, ...said, signalsPerMinute: 0 });
        });
      }
      progress.isDone = true;
    })();
    while (!progress.isDone) {
      const { visibility } = await look();
      expect(visibility.blind.length).toBe(((visibility.watermarkAt ?? 0) + 1_000 - MONDAY_NOON) / 1_000);
    }
    await writing;
  });

  test("a closed intake cannot send heartbeats or be closed again", async () => {
    const id = await register();
    await close(id, MONDAY_NOON + 1);
    expect(await close(id, MONDAY_NOON + 2)).toBe(false);
    expect(await beat(id, MONDAY_NOON + 3)).toBe(false);
  });

  test("another intake is closed unless its row is locked, without waiting", async () => {
    const [busy, free] = [await register(), await register()];
    const release = (intakeId: string) =>
      write((tx) => closeIntakeIfFree(tx, { intakeId, at: MONDAY_NOON + 1, lost: true }));
    await write(async (tx) => {
      await advanceSequence(tx, { intakeId: busy, lane: 0, seq: 1 });
      expect([await release(busy), await release(free)]).toEqual([false, true]);
    });
    expect((await listOpenIntakes(database.db)).map(({ id }) => id)).toEqual([busy]);
    expect([await release(busy), await release(busy)]).toEqual([true, false]);
    const lost = await listLostIntakes(database.db, { from: MONDAY_NOON, limit: 10 });
    expect(lost.map(({ intakeId }) => intakeId).toSorted()).toEqual([busy, free].toSorted());
  });

  test("the newest heartbeat is never pruned", async () => {
    const newest = async () =>
      (await findHeartbeats(database.db, { through: MONDAY_NOON })).newestHeartbeatAt;
    expect(await newest()).toBeNull();
    for (const startedAt of [MONDAY_NOON, MONDAY_NOON + 10, MONDAY_NOON + 20]) {
      await close(await register({ startedAt }), startedAt + 1);
    }
    const prune = (before: number) => write((tx) => pruneIntakes(tx, { before, limit: 10 }));
    expect(await prune(MONDAY_NOON + 1)).toBe(0);
    expect(await prune(MONDAY_NOON * 2)).toBe(2);
    expect(await newest()).toBe(MONDAY_NOON + 20);
  });
});

describe("blind intervals", () => {
  test("those of a reason are listed, the newest first", async () => {
    const reason = `lost ${randomUUID()}`;
    const add = (from: number, to: number) =>
      write((tx) => insertBlindInterval(tx, { intakeId: null, from, to, reason }));
    const [old, first, second] = [await add(10, 20), await add(100, 200), await add(300, 400)];
    const list = (since: number, limit = 10) =>
      listBlindByReasons(database.db, { reasons: ["another", reason], since, limit });
    expect(await list(50)).toEqual([
      { id: second, from: 300, to: 400 },
      { id: first, from: 100, to: 200 },
    ]);
    expect((await list(0)).map(({ id }) => id)).toEqual([second, first, old]);
    expect((await list(0, 1)).map(({ id }) => id)).toEqual([second]);
  });

  const insert = (from: number, to: number | null) =>
    write((tx) => insertBlindInterval(tx, { intakeId: null, from, to, reason: "no intake" }));

  test("those that touch a stretch of time are listed, oldest first", async () => {
    const open = await insert(400, null);
    const second = await insert(200, 300);
    const first = await insert(100, 150);
    const list = async (from: number, to: number) =>
      (await listBlindIntervals(database.db, { from, to })).map(({ id }) => id);
    expect(await list(0, 1_000)).toEqual([first, second, open]);
    expect(await list(150, 200)).toEqual([first, second]);
    expect(await list(151, 199)).toEqual([]);
    expect(await list(301, 400)).toEqual([open]);
    const after = (id: number, from: number) => listBlindIntervalsAfter(database.db, { id, from });
    expect((await after(0, 0)).map(({ id }) => id)).toEqual([first, second, open]);
    expect((await after(0, 200)).map(({ id }) => id)).toEqual([second, open]);
    expect(await after(open, 0)).toEqual([
      { id: first, from: 100, to: 150 },
      { id: second, from: 200, to: 300 },
    ]);
    expect(await listBlindIntervals(database.db, { from: 0, to: 100 })).toEqual([
      { id: first, intakeId: null, from: 100, to: 150, reason: "no intake" },
    ]);
  });

  test("old ones are deleted, one that lasts is not", async () => {
    await insert(100, 150);
    const open = await insert(100, null);
    const pruned = await write((tx) => pruneBlindIntervals(tx, { before: 151, limit: 10 }));
    expect(pruned).toBe(1);
    expect((await listBlindIntervals(database.db, { from: 0, to: 1_000 })).map(({ id }) => id)).toEqual([
      open,
    ]);
  });
});

describe("rejected signals", () => {
  test("are kept with their bytes, listed newest first, and deleted when old", async () => {
    const rejected = (at: number) => ({
      intakeId: randomUUID(),
      seq: 12,
      checkId: 7,
      at,
      reason: "22021: invalid byte sequence",
      signal: Buffer.from([0, 1, 255]),
    });
    const [older, newer] = [rejected(MONDAY_NOON), rejected(MONDAY_NOON + 1)];
    await write((tx) => insertRejectedSignal(tx, older));
    await write((tx) => insertRejectedSignal(tx, newer));
    expect(await listRejectedSignals(database.db, 10)).toMatchObject([newer, older]);
    expect(await listQuarantinedPings(database.db, 1)).toMatchObject([
      { at: newer.at, reason: newer.reason, check: null },
    ]);
    expect(await countRejectedSignals(database.db)).toEqual({ count: 2, oldestAt: MONDAY_NOON });
    expect(await countRejectedSignals(database.db, 8)).toEqual({ count: 0, oldestAt: null });
    const oldest = await write((tx) => lockRejectedSignalAfter(tx, 0));
    expect(oldest).toMatchObject(older);
    const next = await write((tx) => lockRejectedSignalAfter(tx, oldest?.id ?? 0));
    expect(next).toMatchObject(newer);
    expect(await write((tx) => lockRejectedSignalAfter(tx, next?.id ?? 0))).toBeNull();
    const pruned = await write((tx) => pruneRejectedSignals(tx, { before: newer.at, limit: 10 }));
    expect(pruned).toBe(1);
    expect(await listRejectedSignals(database.db, 10)).toMatchObject([newer]);
    await write((tx) => deleteRejectedSignal(tx, next?.id ?? 0));
    expect(await listRejectedSignals(database.db, 10)).toEqual([]);
    await write((tx) => insertRejectedSignal(tx, older));
    await write((tx) => deleteRejectedOfCheck(tx, 7));
    expect(await countRejectedSignals(database.db)).toMatchObject({ count: 0 });
  });
});
