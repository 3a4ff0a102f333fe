// One alias, near miss and mark of a surprise of a check, for tests that look into every table.
import { randomUUID } from "node:crypto";
import { addSighting } from "../../src/core/near-miss.ts";
import { insertAlias, writeNearMiss } from "../../src/store/near-misses.ts";
import { insertForecastMarks } from "../../src/store/forecast.ts";
import type { Tx } from "../../src/store/transaction.ts";
import { MONDAY_NOON as NOW } from "./sample.ts";

export async function fillNearMisses(
  tx: Tx,
  { checkId, projectId }: { checkId: number; projectId: number },
): Promise<void> {
  await insertAlias(tx, { checkId, address: { uuid: randomUUID() }, accountId: null, createdAt: NOW });
  await writeNearMiss(tx, {
    projectId,
    kind: "uuid",
    bySlug: false,
    address: randomUUID(),
    checkId,
    deletedName: null,
    deletedAt: null,
    method: "GET",
    remoteAddr: null,
    ua: "",
    ...addSighting(null, { count: 1, firstAt: NOW, lastAt: NOW, arrivals: [] }),
    reopenBefore: NOW,
  });
  const marks = [{ checkId, kind: "missed" as const, subject: "UTC 0 3 * * *" }];
  await insertForecastMarks(tx, { projectId, marks, accountId: null, at: NOW });
}
