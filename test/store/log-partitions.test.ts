// Positions in the log, claims of recorders, and unknown UUIDs.
import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { findCheckUuids, findCheckUuidsBySlugs } from "../../src/store/checks.ts";
import {
  closeIntake,
  insertUncoveredBlindInterval,
  listReceiversSince,
  registerIntake,
} from "../../src/store/intakes.ts";
import {
  advanceLogPartition,
  beatLogPartitions,
  claimPartitions,
  deleteLogPartitions,
  deleteRecorders,
  insertLogPartition,
  insertUnknown,
  listLogPartitions,
  listLogPositions,
  listRecorders,
  listUnknown,
  lockClaims,
  lockLogPartitions,
  pruneUnknown,
  restartLogPartition,
  seeRecorder,
  shareLogPartitions,
  stopLogPartition,
} from "../../src/store/log-partitions.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON as NOW, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();
const write = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(database.db, work);
const topicId = randomUUID();
const intakeId = randomUUID();

beforeEach(async () => {
  await database.db.pool.query(
    "truncate log_partitions, log_recorders, log_unknown, blind_intervals cascade",
  );
  await write(async (tx) => {
    await lockLogPartitions(tx);
    for (const partition of [0, 1, 2, 3]) {
      const own = partition === 0 ? intakeId : randomUUID();
      await insertLogPartition(tx, {
        partition,
        topicId,
        intakeId: own,
        nextOffset: 5,
        watermarkAt: NOW,
        gapEndedAt: NOW - 7,
      });
    }
  });
});

const first = async () => (await listLogPartitions(database.db))[0];

describe("a position", () => {
  const state = {
    edges: { e: { n: 1, enteredAt: NOW, at: NOW, watermarkAt: NOW, closedAt: null } },
    watermarkAt: NOW + 1,
    gapEndedAt: NOW - 2,
  };
  const advance = (from: number, given: { topicId?: string } = {}) =>
    write((tx) =>
      advanceLogPartition(tx, {
        partition: 0,
        topicId,
        from,
        to: from + 2,
        state,
        endOffset: 9,
        at: NOW + 2,
        ...given,
      }),
    );

  test("is listed with the others", async () => {
    await advance(5);
    await write((tx) => stopLogPartition(tx, { partition: 3, nextOffset: 5, reason: "gone" }));
    expect(await listLogPositions(database.db)).toEqual([
      { partition: 0, topicId, nextOffset: 7, isStopped: false },
      { partition: 1, topicId, nextOffset: 5, isStopped: false },
      { partition: 2, topicId, nextOffset: 5, isStopped: false },
      { partition: 3, topicId, nextOffset: 5, isStopped: true },
    ]);
  });

  test("moves only from where it is, in its own topic", async () => {
    expect(await advance(4)).toBe(false);
    expect(await advance(5, { topicId: randomUUID() })).toBe(false);
    expect(await advance(5)).toBe(true);
    expect(await advance(5)).toBe(false);
    expect(await first()).toEqual({
      partition: 0,
      topicId,
      intakeId,
      nextOffset: 7,
      state,
      endOffset: 9,
      readAt: NOW + 2,
      stopped: null,
    });
  });

  test("stays while the partition is stopped, until it is restarted", async () => {
    const stop = (nextOffset: number) =>
      write((tx) => stopLogPartition(tx, { partition: 0, nextOffset, reason: "gone" }));
    expect([await stop(4), await stop(5), await stop(5)]).toEqual([false, true, false]);
    expect(await advance(5)).toBe(false);
    const other = randomUUID();
    await write((tx) =>
      restartLogPartition(tx, {
        partition: 0,
        topicId: other,
        intakeId,
        nextOffset: 0,
        watermarkAt: NOW + 5,
        gapEndedAt: NOW + 6,
      }),
    );
    expect(await first()).toMatchObject({
      topicId: other,
      nextOffset: 0,
      stopped: null,
      state: { edges: {}, watermarkAt: NOW + 5, gapEndedAt: NOW + 6 },
    });
  });

  test("is passed on to its intake, which is opened again", async () => {
    const intake = { id: intakeId, name: "log partition 0", startedAt: NOW, watermarkAt: NOW - 9 };
    await write((tx) => registerIntake(tx, { ...intake, leaseUntilAt: NOW, spoolEmpty: true }));
    await database.db.pool.query("update intakes set closed_at = now() where id = $1", [intakeId]);
    const partitions = [0, 1].map((partition) => ({ partition, receivedUntil: NOW + 3 }));
    const beat = async (gapEndedAt: number | null) => {
      expect(await write((tx) => beatLogPartitions(tx, { partitions, gapEndedAt }))).toBe(1);
      const { rows } = await database.db.pool.query(
        "select closed_at, watermark_at, beat_at, gap_ended_at from intakes where id = $1",
        [intakeId],
      );
      return rows;
    };
    const passed = { closed_at: null, watermark_at: NOW, beat_at: NOW + 3 };
    expect(await beat(null)).toEqual([{ ...passed, gap_ended_at: NOW - 7 }]);
    expect(await beat(NOW + 2)).toEqual([{ ...passed, gap_ended_at: NOW + 2 }]);
  });

  test("is deleted with all others", async () => {
    await write((tx) => deleteLogPartitions(tx));
    expect(await listLogPartitions(database.db)).toEqual([]);
  });
});

test("processes that read whether the log was left wait for one that leaves it, but not for each other", async () => {
  const order: string[] = [];
  const leaving = Promise.withResolvers<void>();
  const isLocked = Promise.withResolvers<void>();
  const left = write(async (tx) => {
    await lockLogPartitions(tx);
    isLocked.resolve();
    await leaving.promise;
    order.push("left");
  });
  await isLocked.promise;
  const together = Promise.withResolvers<void>();
  let sharing = 0;
  const read = () =>
    write(async (tx) => {
      await shareLogPartitions(tx);
      order.push("read");
      if (++sharing === 2) together.resolve();
      await together.promise;
    });
  const reads = [read(), read()];
  await expect.poll(waitingForLocks).toBe(2);
  leaving.resolve();
  await Promise.all([left, ...reads]);
  expect(order).toEqual(["left", "read", "read"]);
});

async function waitingForLocks(): Promise<number> {
  const { rows } = await database.db.pool.query(
    "select from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())",
  );
  return rows.length;
}

test("recorders claim, keep, release and take over partitions", async () => {
  const [one, other] = [randomUUID(), randomUUID()];
  const claim = (recorderId: string, countMax: number, now = NOW) =>
    write((tx) => claimPartitions(tx, { recorderId, countMax, until: now + 5_000, now }));
  expect(await claim(one, 4)).toEqual([0, 1, 2, 3]);
  expect(await claim(other, 2)).toEqual([]);
  expect(await claim(one, 2)).toEqual([0, 1]);
  expect(await claim(other, 2)).toEqual([2, 3]);
  expect(await claim(one, 4, NOW + 5_001)).toEqual([0, 1, 2, 3]);
});

test("claims that are locked are not kept or taken", async () => {
  const recorderId = randomUUID();
  const claim = () =>
    write((tx) => claimPartitions(tx, { recorderId, countMax: 4, until: NOW + 5_000, now: NOW }));
  const claimLocked = () =>
    write(async (tx) => {
      await lockClaims(tx);
      return claim();
    });
  expect(await claimLocked()).toEqual([]);
  expect(await claim()).toEqual([0, 1, 2, 3]);
  // Nor released, which would wait for the lock.
  expect(await claimLocked()).toEqual([]);
  expect(await claim()).toEqual([0, 1, 2, 3]);
});

test("intakes that have received since an instant are listed, also those that have ended", async () => {
  const register = (startedAt: number) => {
    const id = randomUUID();
    const times = { startedAt, watermarkAt: startedAt, leaseUntilAt: NOW };
    return write((tx) => registerIntake(tx, { id, name: "direct", ...times, spoolEmpty: true })).then(
      () => id,
    );
  };
  await database.db.pool.query("truncate intakes cascade");
  const [early, late] = [await register(NOW), await register(NOW + 5_000)];
  await write((tx) => closeIntake(tx, { intakeId: late, at: NOW + 6_000, lost: false }));
  const since = async (at: number, except: string[] = []) =>
    (await listReceiversSince(database.db, { at, except }))
      .map(({ startedAt }) => startedAt)
      .toSorted((one, other) => one - other);
  expect(await since(NOW)).toEqual([NOW, NOW + 5_000]);
  expect(await since(NOW, [early])).toEqual([NOW + 5_000]);
  expect(await since(NOW + 1)).toEqual([NOW + 5_000]);
  expect(await since(NOW + 5_001)).toEqual([]);
});

test("recorders are listed while they are seen", async () => {
  const recorderId = randomUUID();
  const see = (at: number) => write((tx) => seeRecorder(tx, { recorderId, name: "host/1", at }));
  await see(NOW);
  await see(NOW + 1);
  expect(await listRecorders(database.db)).toEqual([{ recorderId, name: "host/1", seenAt: NOW + 1 }]);
  await write((tx) => deleteRecorders(tx, { seenBefore: NOW + 1 }));
  expect(await listRecorders(database.db)).toHaveLength(1);
  await write((tx) => deleteRecorders(tx, { recorderId, seenBefore: 0 }));
  expect(await listRecorders(database.db)).toEqual([]);
});

test("unknown UUIDs are read after the last one, and deleted by age", async () => {
  const uuids = [randomUUID(), randomUUID()];
  await write((tx) => insertUnknown(tx, { uuids, at: NOW }));
  const read = await listUnknown(database.db, { afterId: 0, limit: 10 });
  expect(read.map(({ uuid }) => uuid).toSorted()).toEqual(uuids.toSorted());
  expect(await listUnknown(database.db, { afterId: read[0]?.id ?? 0, limit: 10 })).toHaveLength(1);
  await write((tx) => pruneUnknown(tx, { before: NOW }));
  expect(await listUnknown(database.db, { afterId: 0, limit: 10 })).toHaveLength(2);
  await write((tx) => pruneUnknown(tx, { before: NOW + 1 }));
  expect(await listUnknown(database.db, { afterId: 0, limit: 10 })).toEqual([]);
});

test("a blind interval is stored once, unless it is longer or has another reason", async () => {
  const insert = (from: number, to: number, reason = "a") =>
    write((tx) => insertUncoveredBlindInterval(tx, { intakeId, from, to, reason }));
  await insert(NOW, NOW + 10);
  await insert(NOW, NOW + 10);
  await insert(NOW + 1, NOW + 9);
  await insert(NOW, NOW + 11);
  await insert(NOW, NOW + 10, "b");
  const { rows } = await database.db.pool.query("select from blind_intervals");
  expect(rows).toHaveLength(3);
});

test("UUIDs of checks are found by slug and by id", async () => {
  const { id: projectId } = await sampleProject(database.db);
  const check = await sampleCheck(database.db, { projectId, slug: "backup" });
  for (const slug of ["twice", "twice"]) await sampleCheck(database.db, { projectId, slug });
  const { rows } = await database.db.pool.query<{ ping_key: string }>(
    "select ping_key from projects where id = $1",
    [projectId],
  );
  const pingKey = rows[0]?.ping_key ?? "";
  const pairs = ["backup", "twice", "none"].map((slug) => ({ pingKey, slug }));
  expect(await findCheckUuidsBySlugs(database.db, pairs)).toEqual([
    { uuid: check.uuid },
    "ambiguous",
    "unknown",
  ]);
  expect(await findCheckUuids(database.db, [check.id, -1])).toEqual(new Map([[check.id, check.uuid]]));
  expect(await findCheckUuids(database.db, [])).toEqual(new Map());
});
