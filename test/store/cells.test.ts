import { randomBytes, randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { insertApiKey } from "../../src/store/api-keys.ts";
import {
  findApiKeyDigests,
  findCheckIds,
  findProjectKeys,
  ID_TABLE_NAMES,
  listIds,
} from "../../src/store/cells.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();

test("ids of this database are found, others are not", async () => {
  const { db } = database;
  const project = await sampleProject(db);
  const check = await sampleCheck(db, { projectId: project.id });
  const digest = randomBytes(32);
  const key = { projectId: project.id, kind: "readWrite", name: "", prefix: "odw_12345678" } as const;
  await inTransaction(db, (tx) =>
    insertApiKey(tx, { ...key, digest, secretId: "current", createdAt: MONDAY_NOON }),
  );
  const checks = await findCheckIds(db, [check.uuid, check.badgeUuid, randomUUID()]);
  expect(checks.toSorted()).toEqual([check.uuid, check.badgeUuid].toSorted());
  const keys = await findProjectKeys(db, [project.pingKey ?? "", project.badgeKey, "unknown"]);
  expect(new Set(keys)).toEqual(new Set([project.pingKey, project.badgeKey]));
  expect(await findApiKeyDigests(db, [randomBytes(32), digest])).toEqual([digest]);
});

test("all ids are listed in pages", async () => {
  const { db } = database;
  const project = await sampleProject(db);
  await sampleCheck(db, { projectId: project.id });
  const found: (string | null)[] = [];
  for (const table of ID_TABLE_NAMES) {
    for (let afterId: number | null = 0; afterId !== null; ) {
      const { ids, lastId }: Awaited<ReturnType<typeof listIds>> = await listIds(db, {
        table,
        afterId,
        limit: 1,
      });
      found.push(...ids);
      afterId = lastId;
    }
  }
  const { rows } = await db.pool.query<{ id: string }>(
    `select uuid::text as id from checks union all select badge_uuid::text from checks
     union all select uuid::text from projects union all select ping_key from projects
     union all select badge_key from projects union all select prefix from api_keys`,
  );
  expect(found).toHaveLength(rows.length);
  expect(new Set(found)).toEqual(new Set(rows.map(({ id }) => id)));
});
