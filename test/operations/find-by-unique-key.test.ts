// Unique keys: found by an index, and stored for checks that were created before they were.
import { expect, test, vi } from "vitest";
import { uniqueKey } from "../../src/core/identity.ts";
import * as hashes from "../../src/lib/secrets.ts";
import { findByUniqueKey } from "../../src/operations/checks.ts";
import { useDatabase } from "../support/database.ts";
import { sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();
const keyOf = (uuid: string) => uniqueKey(uuid, hashes.sha1Hex);

test("a check is found in its project without reading the others, and nowhere else", async () => {
  const project = await sampleProject(database.db);
  const other = await sampleProject(database.db);
  const { uuid } = await sampleCheck(database.db, { projectId: project.id });
  for (let count = 0; count < 20; count++) await sampleCheck(database.db, { projectId: project.id });
  const asked = vi.spyOn(database.db, "query");
  const find = (projectId: number) =>
    findByUniqueKey(database.db, { key: keyOf(uuid), projectIds: [projectId] });
  expect(await find(project.id)).toBe(uuid);
  expect(asked.mock.calls.map(([{ name }]) => name)).toEqual(["checks.find_by_unique_key"]);
  asked.mockRestore();
  expect(await find(other.id)).toBeNull();
  await database.db.pool.query("update checks set deleted_at = now() where uuid = $1", [uuid]);
  expect(await find(project.id)).toBeNull();
});

test("the keys of older checks are stored by the first lookup", async () => {
  const { id: projectId } = await sampleProject(database.db);
  const made = [];
  for (let count = 0; count < 3; count++) made.push(await sampleCheck(database.db, { projectId }));
  await database.db.pool.query("update checks set unique_key = null where project_id = $1", [projectId]);
  const [first] = made;
  const key = keyOf(first?.uuid ?? "");
  expect(await findByUniqueKey(database.db, { key, projectIds: [projectId] })).toBe(first?.uuid);
  const { rows } = await database.db.pool.query<{ uuid: string; unique_key: string }>(
    "select uuid, unique_key from checks where project_id = $1",
    [projectId],
  );
  expect(rows.map((row) => row.unique_key)).toEqual(rows.map((row) => keyOf(row.uuid)));
});
