// That the uses of keys reach the database: in batches, outside of requests, and whatever happens in between.
import { describe, expect, test } from "vitest";
import { createLog } from "../../src/lib/log.ts";
import { createMetrics } from "../../src/lib/metrics.ts";
import { addApiKey } from "../../src/operations/api-keys.ts";
import { keyUseLoop, KeyUses, writeKeyUses } from "../../src/services/api/auth.ts";
import { listApiKeys } from "../../src/store/api-keys.ts";
import type { Database } from "../../src/store/db.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { useCast } from "./cast.ts";

const cast = useCast();

const usedAt = async (projectId: number) =>
  (await listApiKeys(cast.db, projectId)).map(({ lastUsedAt }) => lastUsedAt);

const keyIds = async (projectId: number) => (await listApiKeys(cast.db, projectId)).map(({ id }) => id);

/** A database to which nothing can be written. */
const away = () => {
  const pool = { connect: () => Promise.reject(new Error("the database is away")) };
  return { pool } as unknown as Database;
};

describe("uses of keys", () => {
  test("are written for many keys at once, and an older use changes nothing", async () => {
    const { id } = cast.mate.project;
    const uses = new KeyUses();
    const [first = 0, second = 0] = await keyIds(id);
    uses.note({ keyId: second, at: 2_000 });
    uses.note({ keyId: first, at: 3_000 });
    expect(await writeKeyUses({ uses, database: cast.db })).toBe("idle");
    expect(await usedAt(id)).toEqual([3_000, 2_000]);
    uses.note({ keyId: first, at: 1_000 });
    await writeKeyUses({ uses, database: cast.db });
    expect(await usedAt(id)).toEqual([3_000, 2_000]);
  });

  test("are written a thousand at a time", async () => {
    const uses = new KeyUses();
    for (let keyId = 1; keyId <= 1_001; keyId++) uses.note({ keyId: 1_000_000 + keyId, at: 1 });
    expect(await writeKeyUses({ uses, database: cast.db })).toBe("again");
    expect(await writeKeyUses({ uses, database: cast.db })).toBe("idle");
  });

  test("wait while the database is down, and a newer one of the same key wins", async () => {
    const uses = new KeyUses();
    const [keyId = 0] = await keyIds(cast.owner.project.id);
    uses.note({ keyId, at: 5_000 });
    await expect(writeKeyUses({ uses, database: away() })).rejects.toThrow("the database is away");
    uses.note({ keyId, at: 4_000 });
    expect(uses.take(10)).toEqual([{ keyId, at: 5_000 }]);
  });

  test("that are left when the loop is stopped are written, and a failure then delays nothing", async () => {
    const projectId = cast.stranger.project.id;
    const [keyId = 0] = await keyIds(projectId);
    const log = createLog({ level: "fatal" });
    const metrics = createMetrics({ version: "0" }).loops;
    const uses = new KeyUses();
    const loop = keyUseLoop({ uses, database: cast.db, log, metrics });
    await loop.start();
    uses.note({ keyId, at: 7_000 });
    await loop.stop();
    expect((await usedAt(projectId))[0]).toBe(7_000);
    uses.note({ keyId, at: 8_000 });
    const failing = keyUseLoop({ uses, database: away(), log, metrics });
    await failing.start();
    await failing.stop();
    expect((await usedAt(projectId))[0]).toBe(7_000);
  });
});

test("a request with a key is noted, and written within a moment", async () => {
  const { secretKey, owner } = cast;
  const now = await cast.now();
  const request = { project: owner.project, kind: "readOnly", name: "new", secretKey, now } as const;
  const key = await inTransaction(cast.db, (tx) => addApiKey(tx, request));
  const last = async () => (await usedAt(owner.project.id)).at(-1) ?? null;
  expect(await last()).toBeNull();
  expect((await cast.ask("/api/v3/checks/", { key })).status).toBe(200);
  await expect.poll(last, { timeout: 20_000 }).toBeGreaterThanOrEqual(now);
});
