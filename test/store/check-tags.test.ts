// The tags of the checks of a project, as needed for badges.
import { expect, test } from "vitest";
import { listTags, markCheckDeleted } from "../../src/store/checks.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();

test("each tag comes once, in order; other projects' and those of deleted checks do not come", async () => {
  const { id: projectId } = await sampleProject(database.db);
  const other = await sampleProject(database.db);
  for (const tags of ["db web", " web  db", "", "Db"]) await sampleCheck(database.db, { projectId, tags });
  await sampleCheck(database.db, { projectId: other.id, tags: "theirs" });
  const gone = await sampleCheck(database.db, { projectId, tags: "gone" });
  await inTransaction(database.db, (tx) => markCheckDeleted(tx, { checkId: gone.id, at: MONDAY_NOON }));
  expect(await listTags(database.db, { projectId, limit: 10 })).toEqual(["Db", "db", "web"]);
  expect(await listTags(database.db, { projectId, limit: 2 })).toEqual(["Db", "db"]);
});
