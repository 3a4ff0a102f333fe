// The stored unique keys of checks.
import { expect, test } from "vitest";
import { uniqueKey } from "../../src/core/identity.ts";
import { sha1Hex } from "../../src/lib/secrets.ts";
import { findUuidByUniqueKey, listWithoutUniqueKey, writeUniqueKeys } from "../../src/store/checks.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();

test("a key is stored with its check, or written afterwards, and finds it in its project only", async () => {
  const { id: projectId } = await sampleProject(database.db);
  const { id, uuid } = await sampleCheck(database.db, { projectId });
  const key = uniqueKey(uuid, sha1Hex);
  const find = (projectIds: number[]) => findUuidByUniqueKey(database.db, { key, projectIds });
  const without = () => listWithoutUniqueKey(database.db, { projectIds: [projectId], afterId: 0, limit: 10 });
  expect([await find([projectId]), await find([0]), await without()]).toEqual([uuid, null, []]);
  await database.db.pool.query("update checks set unique_key = null where id = $1", [id]);
  expect([await find([projectId]), await without()]).toEqual([null, [{ id, uuid, isDeleted: false }]]);
  await inTransaction(database.db, (tx) => writeUniqueKeys(tx, [{ id, key }]));
  expect([await find([projectId]), await without()]).toEqual([uuid, []]);
});
