// How bodies leave the database: which are found, claims, when the bytes are deleted, and that every object that may
// exist is known until it is deleted.
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { MOVABLE_BODY_BYTES_MIN } from "../../src/core/limits.ts";
import {
  claimBodies,
  deleteBodiesOfCheck,
  deleteObjectRemovals,
  findBody,
  findMovableBodies,
  findObjectRemovals,
  insertBodies,
  markBodiesMoved,
  trimBodies,
} from "../../src/store/pings.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON as NOW, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();
const LATER = NOW + 60_000;
let check: { id: number; uuid: string };

const write = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(database.db, work);
const find = (given: { bytesMin?: number; now?: number; limit?: number } = {}) =>
  write((tx) => findMovableBodies(tx, { bytesMin: MOVABLE_BODY_BYTES_MIN, now: NOW, limit: 10, ...given }));
const body = (n: number) => ({ checkId: check.id, n, objectKey: `key-${n}` });
const claim = (numbers: number[], until = LATER) =>
  write((tx) => claimBodies(tx, { bodies: numbers.map(body), until }));
const mark = (numbers: number[]) => write((tx) => markBodiesMoved(tx, numbers.map(body)));
const kept = (n: number) => findBody(database.db, { checkId: check.id, n });
const removals = async (now: number) =>
  (await findObjectRemovals(database.db, { now, limit: 100 })).map(({ objectKey }) => objectKey);

async function insert(sizes: number[]): Promise<void> {
  const bodies = sizes.map((size, i) => ({
    checkId: check.id,
    n: i + 1,
    at: NOW,
    body: Buffer.alloc(size, i),
  }));
  await write((tx) => insertBodies(tx, bodies));
}

let projectId: number;
beforeAll(async () => {
  projectId = (await sampleProject(database.db)).id;
});
beforeEach(async () => {
  await database.db.pool.query("truncate ping_bodies, object_removals");
  check = await sampleCheck(database.db, { projectId });
});

describe("bodies that may be moved", () => {
  test("are those of the size asked for, and never the small ones", async () => {
    await insert([1, 1_999, 2_000, 2_001, 9_000]);
    const numbers = async (bytesMin: number) =>
      (await find({ bytesMin })).map(({ n }) => n).toSorted((a, b) => a - b);
    expect(await numbers(2_000)).toEqual([3, 4, 5]);
    expect(await numbers(2_001)).toEqual([4, 5]);
    expect(await numbers(1)).toEqual([3, 4, 5]);
    expect(await find({ limit: 2 })).toHaveLength(2);
    const [largest] = await find({ bytesMin: 9_000 });
    expect(largest).toEqual({ checkId: check.id, checkUuid: check.uuid, n: 5, at: NOW, objectKey: null });
  });

  test("belong to one mover until its claim ends, and keep their key for the next", async () => {
    await insert([5_000]);
    expect(await claim([1])).toBe(1);
    expect(await find({ now: LATER - 1 })).toEqual([]);
    expect(await find({ now: LATER })).toMatchObject([{ n: 1, objectKey: "key-1" }]);
    const other = { checkId: check.id, n: 1, objectKey: "another key" };
    expect(await write((tx) => claimBodies(tx, { bodies: [other], until: LATER }))).toBe(0);
  });

  test("are let go by a claim that ends now", async () => {
    await insert([5_000]);
    await claim([1]);
    await claim([1], NOW);
    expect(await find()).toHaveLength(1);
  });

  test("are skipped while they are locked, without waiting", async () => {
    await insert([5_000, 5_000]);
    await claim([1, 2], NOW);
    await write(async (tx) => {
      await trimBodies(tx, [{ checkId: check.id, through: 1, keepN: null }]);
      expect(await find()).toMatchObject([{ n: 2 }]);
      expect(await claim([1, 2])).toBe(1);
      expect(await mark([1, 2])).toBe(1);
    });
    expect(await kept(1)).toBeNull();
  });
});

describe("a moved body", () => {
  test("has no bytes left, says where they are, and is not found again", async () => {
    await insert([5_000, 5_000]);
    await claim([1, 2]);
    expect(await mark([1])).toBe(1);
    const at = { checkId: check.id, at: NOW };
    expect(await kept(1)).toEqual({ ...at, n: 1, body: null, objectKey: "key-1" });
    expect(await kept(2)).toEqual({ ...at, n: 2, body: Buffer.alloc(5_000, 1) });
    expect(await find({ now: LATER })).toMatchObject([{ n: 2 }]);
    expect(await mark([1])).toBe(0);
    expect(await claim([1])).toBe(0);
  });

  test("was claimed before: without a claim, or under another key, the bytes stay", async () => {
    await insert([5_000, 5_000]);
    expect(await mark([1])).toBe(0);
    await claim([2]);
    const other = { checkId: check.id, n: 2, objectKey: "another key" };
    expect(await write((tx) => markBodiesMoved(tx, [other]))).toBe(0);
    expect(await kept(1)).toMatchObject({ body: Buffer.alloc(5_000, 0) });
    expect(await kept(2)).toMatchObject({ body: Buffer.alloc(5_000, 1) });
  });
});

describe("objects of bodies that go", () => {
  const trim = (through: number, keepN: number | null = null) =>
    write((tx) => trimBodies(tx, [{ checkId: check.id, through, keepN }]));

  test("are noted when a log is trimmed, also those that may only have been begun", async () => {
    await insert([5_000, 5_000, 5_000, 5_000, 10]);
    await claim([1, 2, 3]);
    await mark([1, 3]);
    await trim(5, 3);
    // The holder of the claim may still be sending.
    expect(await removals(LATER - 1)).toEqual([]);
    expect((await removals(LATER)).toSorted()).toEqual(["key-1", "key-2"]);
    expect(await kept(3)).toMatchObject({ objectKey: "key-3" });
  });

  test("are noted when a check goes", async () => {
    await insert([5_000, 5_000]);
    await claim([1]);
    await mark([1]);
    await write((tx) => deleteBodiesOfCheck(tx, check.id));
    expect(await removals(LATER)).toEqual(["key-1"]);
  });

  test("are noted only if the bodies really go", async () => {
    await insert([5_000]);
    await claim([1]);
    const undone = write(async (tx) => {
      await trimBodies(tx, [{ checkId: check.id, through: 1, keepN: null }]);
      throw new Error("no");
    });
    await expect(undone).rejects.toThrow("no");
    expect(await removals(LATER)).toEqual([]);
  });

  test("are deleted one by one, and no more are returned than requested", async () => {
    await insert([5_000, 5_000, 5_000]);
    await claim([1, 2, 3]);
    await trim(3);
    const found = await findObjectRemovals(database.db, { now: LATER, limit: 2 });
    expect(found).toHaveLength(2);
    expect(
      await write((tx) =>
        deleteObjectRemovals(
          tx,
          found.map(({ id }) => id),
        ),
      ),
    ).toBe(2);
    expect(await removals(LATER)).toHaveLength(1);
  });
});

test("a body without bytes must say where they are", async () => {
  await insert([5_000]);
  await expect(database.db.pool.query("update ping_bodies set body = null")).rejects.toThrow(
    "ping_bodies_somewhere",
  );
});

test("movable bodies are found by their index, however many small ones there are", async () => {
  await insert([5_000]);
  await database.db.pool.query(
    `insert into ping_bodies (check_id, n, at, body)
      select $1, i, now(), convert_to(repeat('x', 100), 'UTF8') from generate_series(10, 20000) i`,
    [check.id],
  );
  await database.db.pool.query("set local lock_timeout = 0; analyze ping_bodies");
  const texts: string[] = [];
  const recorder = {
    query: async ({ text }: { text: string }) => {
      texts.push(text);
      return { rows: [], count: 0 };
    },
  };
  await findMovableBodies(recorder as unknown as Tx, { bytesMin: 1, now: NOW, limit: 1 });
  const client = await database.db.pool.connect();
  try {
    await client.query("set plan_cache_mode = force_generic_plan");
    await client.query(`prepare movable (int, timestamptz, int) as ${texts[0]}`);
    const { rows } = await client.query("explain (format json) execute movable (5000, now(), 10)");
    expect(JSON.stringify(rows)).toContain('"Index Name":"ping_bodies_movable"');
  } finally {
    client.release(true);
  }
});
