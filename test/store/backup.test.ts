// What a backup reads besides the rows, and how a restore puts bodies back.
import { expect, test } from "vitest";
import { listAppliedMigrations, listMovedBodies, placeBodies, readCatalog } from "../../src/store/backup.ts";
import { statement } from "../../src/store/db.ts";
import { listOwnMigrations } from "../../src/store/migrate.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";

const database = useDatabase();

test("the catalog has each table with its columns, its last number, and its foreign keys", async () => {
  const { tables, references } = await readCatalog(database.db);
  const bodies = tables.find(({ name }) => name === "ping_bodies");
  expect(bodies).toEqual({
    name: "ping_bodies",
    columns: ["check_id", "n", "at", "body", "object_key", "moving_until"],
    identity: null,
  });
  expect(tables.find(({ name }) => name === "projects")?.identity).toEqual({ column: "id", last: null });
  expect(references).toContainEqual({ from: "checks", to: "projects" });
});

test("all migrations have been applied", async () => {
  expect(await listAppliedMigrations(database.db)).toEqual(listOwnMigrations());
});

test("bodies from an object store are listed in order, and put back", async () => {
  const { pool } = database.db;
  await pool.query(
    `insert into ping_bodies (check_id, n, at, body, object_key, moving_until) values
      (1, 1, now(), 'small', null, null), (1, 2, now(), null, 'a', now()), (2, 1, now(), null, 'b', now()),
      (2, 2, now(), 'moving', 'c', now())`,
  );
  const all = [
    { checkId: 1, n: 2, objectKey: "a" },
    { checkId: 2, n: 1, objectKey: "b" },
  ];
  expect(await listMovedBodies(database.db, { after: { checkId: 0, n: 0 }, limit: 9 })).toEqual(all);
  expect(await listMovedBodies(database.db, { after: { checkId: 0, n: 0 }, limit: 1 })).toEqual([all[0]]);
  expect(await listMovedBodies(database.db, { after: { checkId: 1, n: 2 }, limit: 9 })).toEqual([all[1]]);

  const restored = statement({
    name: "test.restored_bodies",
    text: "create temporary table restored_bodies on commit drop as select 1::bigint as check_id, 2::bigint as n, 'large'::bytea as body",
  });
  const placed = await inTransaction(database.db, async (tx) => {
    await tx.query(restored, []);
    return placeBodies(tx, { hasObjectStore: false });
  });
  expect(placed).toEqual({ placed: 1, missing: 1 });
  const { rows } = await pool.query(
    "select check_id::int, n::int, convert_from(body, 'UTF8') as body, object_key from ping_bodies order by 1, 2",
  );
  expect(rows).toEqual([
    { check_id: 1, n: 1, body: "small", object_key: null },
    { check_id: 1, n: 2, body: "large", object_key: null },
    { check_id: 2, n: 2, body: "moving", object_key: null },
  ]);
});
