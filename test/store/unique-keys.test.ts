// The stored unique keys of checks.
import { expect, test } from "vitest";
import { uniqueKey } from "../../src/core/identity.ts";
import { sha1Hex } from "../../src/lib/secrets.ts";
import { findUuidByUniqueKey } from "../../src/store/checks.ts";
import { useDatabase } from "../support/database.ts";
import { sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();

test("a key is stored with its check, and finds it in its project only", async () => {
  const { id: projectId } = await sampleProject(database.db);
  const { uuid } = await sampleCheck(database.db, { projectId });
  const key = uniqueKey(uuid, sha1Hex);
  const find = (projectIds: number[]) => findUuidByUniqueKey(database.db, { key, projectIds });
  expect([await find([projectId]), await find([0])]).toEqual([uuid, null]);
  await database.db.pool.query("update checks set deleted_at = now() where uuid = $1", [uuid]);
  expect(await find([projectId])).toBeNull();
});
