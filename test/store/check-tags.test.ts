// The tags that the checks of a project carry, as the map of badges needs them.
import { expect, test } from "vitest";
import { listTagTexts } from "../../src/store/checks/check-search.ts";
import { markCheckDeleted } from "../../src/store/checks/checks.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();

test("each text of tags comes once; empty ones, other projects' and those of deleted checks do not come", async () => {
  const { id: projectId } = await sampleProject(database.db);
  const other = await sampleProject(database.db);
  for (const tags of ["db web", "db web", "", "Db"]) await sampleCheck(database.db, { projectId, tags });
  await sampleCheck(database.db, { projectId: other.id, tags: "theirs" });
  const gone = await sampleCheck(database.db, { projectId, tags: "gone" });
  await inTransaction(database.db, (tx) => markCheckDeleted(tx, { checkId: gone.id, at: MONDAY_NOON }));
  expect((await listTagTexts(database.db, projectId)).toSorted()).toEqual(["Db", "db web"]);
});
