// Moving bodies, reading them back wherever they are, and removing what nobody refers to, with a real store that
// goes away, refuses, and comes back.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type ObjectStore, ObjectStoreError } from "../../src/lib/object-store.ts";
import { removeCheck } from "../../src/operations/checks.ts";
import { moveBodies, type MoveOptions, readBody } from "../../src/operations/ping-bodies.ts";
import { findBody, insertBodies, trimBodies } from "../../src/store/pings.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { isS3ServerInstalled, S3Server, WHY_SKIPPED } from "../support/s3-server.ts";
import { MONDAY_NOON as NOW, sampleCheck, sampleProject } from "../support/sample.ts";

const PUT_AND_DIE = fileURLToPath(new URL("put-and-die.ts", import.meta.url));
/** Every claim of these tests has ended by then. */
const LATER = NOW + 3_600_000;

describe.skipIf(!isS3ServerInstalled)(`with a real store${WHY_SKIPPED}`, () => {
  const database = useDatabase();
  let server: S3Server;
  let objects: ObjectStore;
  let check: { id: number; uuid: string };

  beforeAll(async () => {
    server = await S3Server.make();
    await server.start();
    objects = server.open();
  });
  afterAll(() => server.remove());
  beforeEach(async () => {
    await database.db.pool.query("truncate ping_bodies, object_removals");
    check = await sampleCheck(database.db, { projectId: (await sampleProject(database.db)).id });
  });

  const move = (given: Partial<MoveOptions> = {}) =>
    moveBodies(database.db, { objects, now: NOW, bytesMin: 2_000, callMsMax: 1_000, ...given });
  const read = (n: number, from: Pick<ObjectStore, "get"> | null = objects) =>
    readBody(database.db, { objects: from, checkId: check.id, n });
  const stored = () => objects.list(`${check.uuid}/`, { limit: 100 });
  const isInDatabase = async (n: number) =>
    ((await findBody(database.db, { checkId: check.id, n }))?.body ?? null) !== null;

  async function insert(bodies: Buffer[]): Promise<Buffer[]> {
    const rows = bodies.map((body, i) => ({ checkId: check.id, n: i + 1, at: NOW + i, body }));
    await inTransaction(database.db, (tx) => insertBodies(tx, rows));
    return bodies;
  }

  test("large bodies move, small ones stay, and both read as they came, byte for byte", async () => {
    const every = Buffer.from(Array.from({ length: 2_560 }, (_, i) => i % 256));
    const bodies = await insert([Buffer.from("small"), randomBytes(10_000), every, Buffer.alloc(1_999, 7)]);
    expect(await move()).toEqual({ moved: 2, removed: 0, isComplete: true, problem: null });
    expect(await Promise.all([1, 2, 3, 4].map(isInDatabase))).toEqual([true, false, false, true]);
    expect((await stored()).map((key) => Number(key.split("-").at(-2)))).toEqual([3, 2]);
    for (const [i, body] of bodies.entries()) expect(await read(i + 1)).toEqual({ kind: "found", body });
    expect(await read(5)).toEqual({ kind: "none" });
    expect(await move({ now: LATER })).toMatchObject({ moved: 0, isComplete: true });
  });

  test("a piece has an end, and several movers share the work", async () => {
    await insert(Array.from({ length: 10 }, () => randomBytes(3_000)));
    expect(await move({ bodiesMax: 4 })).toMatchObject({ moved: 4, isComplete: false });
    const both = await Promise.all([move(), move()]);
    expect(both.map(({ moved }) => moved).reduce((a, b) => a + b)).toBe(6);
    expect(await stored()).toHaveLength(10);
  });

  test("while the store is unavailable bodies stay and are readable; when it is back they are moved", async () => {
    const [first, second] = await insert([randomBytes(5_000), randomBytes(5_000)]);
    await move({ bodiesMax: 1 });
    const [moved, staying] = (await isInDatabase(1)) ? [2, 1] : [1, 2];
    await server.stop();
    const result = await move();
    expect(result).toMatchObject({ moved: 0, removed: 0, isComplete: false });
    expect(result.problem).toContain("ECONNREFUSED");
    const [movedBody, stayingBody] = moved === 1 ? [first, second] : [second, first];
    expect(await read(staying)).toEqual({ kind: "found", body: stayingBody });
    expect(await read(moved)).toMatchObject({ kind: "unavailable" });
    expect(await read(moved, null)).toMatchObject({ kind: "unavailable" });
    await server.start();
    // Not only when the claim has ended: whoever failed has let go of it.
    expect(await move()).toMatchObject({ moved: 1, problem: null });
    expect(await read(moved)).toEqual({ kind: "found", body: movedBody });
    expect(await read(staying)).toEqual({ kind: "found", body: stayingBody });
  });

  test("a mover killed after the store has confirmed loses nothing, and leaves nothing behind", async () => {
    const [body] = await insert([randomBytes(10_000)]);
    const options = {
      endpoint: `http://127.0.0.1:${server.port}`,
      bucket: server.bucket,
      region: "us-east-1",
      accessKey: server.accessKey,
      secretKey: server.secretKey,
      timeoutMs: 5_000,
      objectBytesMax: 20_000,
    };
    const child = spawn(process.execPath, [PUT_AND_DIE, database.url, JSON.stringify(options), String(NOW)], {
      stdio: "ignore",
    });
    const [, signal] = await once(child, "exit");
    expect(signal).toBe("SIGKILL");
    expect(await stored()).toHaveLength(1);
    expect(await isInDatabase(1)).toBe(true);
    expect(await move()).toMatchObject({ moved: 0 });
    expect(await move({ now: LATER })).toMatchObject({ moved: 1 });
    expect(await stored()).toHaveLength(1);
    expect(await read(1)).toEqual({ kind: "found", body });
  });

  test("an object that was begun by a mover that died goes when its body is trimmed first", async () => {
    await insert([randomBytes(10_000)]);
    const away = new ObjectStoreError("unavailable", "gone");
    const half: MoveOptions["objects"] = {
      put: async (key, bytes) => {
        await objects.put(key, bytes);
        throw away;
      },
      delete: (key) => objects.delete(key),
    };
    await move({ objects: half });
    expect(await stored()).toHaveLength(1);
    await inTransaction(database.db, (tx) =>
      trimBodies(tx, [{ checkId: check.id, through: 1, keepN: null }]),
    );
    expect(await move({ now: LATER })).toMatchObject({ removed: 1 });
    expect(await stored()).toEqual([]);
  });

  test("wrong credentials are reported, and everything stays", async () => {
    const bodies = await insert(Array.from({ length: 20 }, () => randomBytes(3_000)));
    const wrong = server.open({ secretKey: "wrong" });
    const result = await move({ objects: wrong });
    expect(result).toMatchObject({ moved: 0, isComplete: false });
    expect(result.problem).toBe("PUT: HTTP 403 SignatureDoesNotMatch");
    expect(await stored()).toEqual([]);
    for (const [i, body] of bodies.entries()) expect(await read(i + 1)).toEqual({ kind: "found", body });
    expect(await move()).toMatchObject({ moved: 20 });
    expect(await read(1, wrong)).toMatchObject({ kind: "unavailable" });
  });

  test("one object that the store refuses does not hold up the others", async () => {
    await insert(Array.from({ length: 10 }, () => randomBytes(3_000)));
    const refusing: MoveOptions["objects"] = {
      put: (key, bytes) =>
        key.includes("-5-")
          ? Promise.reject(new ObjectStoreError("refused", "too pretty"))
          : objects.put(key, bytes),
      delete: (key) => objects.delete(key),
    };
    expect(await move({ objects: refusing })).toMatchObject({ moved: 9, problem: "too pretty" });
    expect(await isInDatabase(5)).toBe(true);
  });

  test("objects go with what trimming removes, also after an outage", async () => {
    await insert(Array.from({ length: 6 }, () => randomBytes(3_000)));
    await move();
    await inTransaction(database.db, (tx) => trimBodies(tx, [{ checkId: check.id, through: 5, keepN: 2 }]));
    await server.stop();
    expect(await move({ now: LATER })).toMatchObject({ removed: 0, isComplete: false });
    await server.start();
    expect(await move({ now: LATER, removalsMax: 3 })).toMatchObject({ removed: 3, isComplete: false });
    expect(await move({ now: LATER })).toMatchObject({ removed: 1, isComplete: true });
    expect((await stored()).map((key) => Number(key.split("-").at(-2)))).toEqual([6, 2]);
    expect(await read(2)).toMatchObject({ kind: "found" });
    expect(await read(1)).toEqual({ kind: "none" });
  });

  test("nothing is left in the store of a check that was removed", async () => {
    await insert(Array.from({ length: 3 }, () => randomBytes(3_000)));
    await move();
    expect(await stored()).toHaveLength(3);
    await inTransaction(database.db, (tx) => removeCheck(tx, check.id));
    expect(await move({ now: LATER })).toMatchObject({ removed: 3, isComplete: true });
    expect(await stored()).toEqual([]);
  });

  test("a body that is trimmed while it is being read is none, and one that the store lost is unavailable", async () => {
    await insert([randomBytes(3_000), randomBytes(3_000)]);
    await move();
    const trimming: Pick<ObjectStore, "get"> = {
      get: async (key) => {
        await inTransaction(database.db, (tx) =>
          trimBodies(tx, [{ checkId: check.id, through: 1, keepN: null }]),
        );
        await objects.delete(key);
        return objects.get(key);
      },
    };
    expect(await read(1, trimming)).toEqual({ kind: "none" });
    const [key = ""] = await stored();
    await objects.delete(key);
    expect(await read(2)).toMatchObject({ kind: "unavailable" });
  });
});
