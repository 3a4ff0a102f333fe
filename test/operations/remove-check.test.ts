// Deleting a check leaves nothing of it in any table, and affects no other. The tables are found by their column, so
// that a new table that is missing here fails.
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { removeCheck } from "../../src/operations/checks.ts";
import { assignChannels, insertChannel } from "../../src/store/channels.ts";
import { quarantineCheck } from "../../src/store/checks.ts";
import { fillNearMisses } from "../support/near-misses.ts";
import { fillAlerts } from "../support/owed.ts";
import { insertAlertDeliveries, insertNoticeDeliveries } from "../../src/store/planning.ts";
import { insertEvents } from "../../src/store/events.ts";
import { insertFlips } from "../../src/store/flips.ts";
import { insertRefusedIntervals } from "../../src/store/intakes.ts";
import { insertBodies, insertPings } from "../../src/store/pings.ts";
import { insertParents } from "../../src/store/policies.ts";
import { insertRejectedSignal } from "../../src/store/quarantine.ts";
import { addDayTotals, insertRunChunks } from "../../src/store/runs.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON as NOW, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();

/** How many rows each table that has a check_id holds for a check. */
async function rowCounts(checkId: number): Promise<Record<string, number>> {
  const tables = await database.db.pool.query<{ name: string }>(
    `select table_name as name from information_schema.columns
      where table_schema = 'public' and column_name = 'check_id' and table_name <> 'fire_drills' order by 1`,
  );
  const counts: Record<string, number> = {};
  for (const { name } of tables.rows) {
    const { rowCount } = await database.db.pool.query(`select from ${name} where check_id = $1`, [checkId]);
    counts[name] = rowCount ?? 0;
  }
  return counts;
}

/** One row in every table that can hold one for a check. */
async function fill(
  tx: Tx,
  ids: { checkId: number; channelId: number; parentId: number; projectId: number },
): Promise<void> {
  const { checkId, channelId, parentId, projectId } = ids;
  await fillNearMisses(tx, { checkId, projectId });
  await assignChannels(tx, { checkId, channelIds: [channelId] });
  await insertParents(tx, { checkId, parentIds: [parentId] });
  const flip = { at: NOW, from: "up", to: "down", reason: "fail" } as const;
  const [flipId] = await insertFlips(tx, [{ checkId, flip }]);
  const owed = { alertId: checkId, incidentId: 1, checkId, flipId: flipId ?? 0, isClosing: false };
  await insertAlertDeliveries(tx, { news: [owed], added: [], at: NOW });
  await fillAlerts(tx, { checkId, flipId: flipId ?? 0 });
  const notices = [{ checkId, blind: { from: NOW, to: NOW } }];
  await insertNoticeDeliveries(tx, { notices, at: NOW, notifyAt: NOW });
  await insertEvents(tx, [{ checkId, at: NOW, kind: "paused", accountId: null, detail: {} }]);
  const origin = { scheme: "http", method: "GET", remoteAddr: null, ua: "", rid: null, exitStatus: null };
  await insertPings(tx, [
    { checkId, n: 1, at: NOW, kind: "success", durationMs: null, bodySize: 1, ...origin },
  ]);
  await insertBodies(tx, [{ checkId, n: 1, at: NOW, body: Buffer.from("x") }]);
  await insertRunChunks(tx, [{ checkId, runs: [{ endAt: NOW, outcome: "success", durationMs: null }] }]);
  const totals = {
    day: "2026-11-16",
    successCount: 1,
    failCount: 0,
    timedCount: 0,
    durationSumMs: 0,
    durationMaxMs: 0,
  };
  await addDayTotals(tx, [{ checkId, totals }]);
  const refused = { checkId, network: null, from: NOW, to: NOW };
  await insertRefusedIntervals(tx, { intakeId: randomUUID(), intervals: [refused] });
  const signal = Buffer.from("x");
  await insertRejectedSignal(tx, { intakeId: randomUUID(), seq: 1, checkId, at: NOW, reason: "why", signal });
  await quarantineCheck(tx, { checkId, sinceAt: NOW, untilAt: NOW, reason: "why" });
}

test("nothing of a removed check is left, and its neighbour keeps everything", async () => {
  const project = await sampleProject(database.db);
  const check = await sampleCheck(database.db, { projectId: project.id });
  const neighbour = await sampleCheck(database.db, { projectId: project.id });
  const { id: parentId } = await sampleCheck(database.db, { projectId: project.id });
  await inTransaction(database.db, async (tx) => {
    const channel = {
      uuid: randomUUID(),
      projectId: project.id,
      kind: "email",
      name: "",
      config: {},
      createdAt: NOW,
    };
    const { id: channelId } = await insertChannel(tx, channel);
    for (const { id } of [check, neighbour])
      await fill(tx, { checkId: id, channelId, parentId, projectId: project.id });
  });
  const before = await rowCounts(check.id);
  expect(Object.keys(before).length).toBeGreaterThanOrEqual(9);
  expect(before).toEqual(Object.fromEntries(Object.keys(before).map((name) => [name, 1])));

  expect(await inTransaction(database.db, (tx) => removeCheck(tx, check.id))).toBe(true);
  const after = await rowCounts(check.id);
  expect(after).toEqual(Object.fromEntries(Object.keys(before).map((name) => [name, 0])));
  expect(await rowCounts(neighbour.id)).toEqual(before);
});

test("a check that is gone already is no error", async () => {
  expect(await inTransaction(database.db, (tx) => removeCheck(tx, 999_999_999))).toBe(false);
});
