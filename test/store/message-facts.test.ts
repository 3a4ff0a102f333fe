// The data of messages in addition to their flips.
import { describe, expect, test } from "vitest";
import { findCheckByUuid, markCheckDeleted } from "../../src/store/checks.ts";
import {
  findChecksForMessages,
  findNoticedChecks,
  findProjectHealth,
  listDeliveriesOfChannel,
} from "../../src/store/deliveries.ts";
import { insertNoticeDeliveries } from "../../src/store/planning.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { addChannel, assign, watchedCheck } from "../support/owed.ts";
import { MONDAY_NOON, sampleCheck } from "../support/sample.ts";

const database = useDatabase();

const setState = (check: { id: number }, set: string) =>
  database.db.pool.query(`update check_states set ${set} where check_id = $1`, [check.id]);
const markDeleted = (check: { id: number }) =>
  inTransaction(database.db, (tx) => markCheckDeleted(tx, { checkId: check.id, at: MONDAY_NOON }));

test("checks come with their states, deleted ones do not", async () => {
  const { check } = await watchedCheck(database.db);
  const deleted = await sampleCheck(database.db, { projectId: check.projectId });
  await markDeleted(deleted);
  const told = await findChecksForMessages(database.db, [check.id, deleted.id, 999_999]);
  expect(told).toEqual([await findCheckByUuid(database.db, check.uuid)]);
});

test("the checks of a project are counted, and those that are down listed unless they are many", async () => {
  const { check } = await watchedCheck(database.db, { name: "one" });
  const { projectId } = check;
  const down = await sampleCheck(database.db, { projectId, name: "two" });
  const deleted = await sampleCheck(database.db, { projectId });
  await setState(down, "status = 'down'");
  await setState(deleted, "status = 'down'");
  await markDeleted(deleted);
  const health = async (listedMax: number) =>
    (await findProjectHealth(database.db, { projectIds: [projectId], listedMax })).get(projectId);
  const listed = [{ uuid: down.uuid, name: "two" }];
  expect(await health(1)).toEqual({ total: 2, downCount: 1, down: listed });
  expect(await health(0)).toEqual({ total: 2, downCount: 1, down: [] });
});

describe("a notice names", () => {
  const blind = { from: MONDAY_NOON, to: MONDAY_NOON + 60_000 };

  test("the checks that were added to it, and those that still wait because of the same time", async () => {
    const { check, channel } = await watchedCheck(database.db, { name: "b" });
    const { projectId } = check;
    const waiting = await sampleCheck(database.db, { projectId, name: "a", graceSeconds: 3_600 });
    const byGroup = await sampleCheck(database.db, { projectId, name: "c", graceSeconds: 3_600 });
    const heard = await sampleCheck(database.db, { projectId, name: "d", graceSeconds: 60 });
    const members = [channel.uuid];
    const group = await addChannel(database.db, { projectId, kind: "group", config: { members } });
    await assign(database.db, waiting, [channel]);
    await assign(database.db, byGroup, [group]);
    await assign(database.db, heard, [channel]);
    for (const one of [waiting, byGroup, heard]) {
      await setState(one, "down_at = '2026-11-16 13:00+00', sweep_at = '2026-11-16 13:00+00'");
    }
    const notices = [{ checkId: check.id, blind }];
    await inTransaction(database.db, (tx) =>
      insertNoticeDeliveries(tx, { notices, at: MONDAY_NOON, notifyAt: MONDAY_NOON }),
    );
    const [delivery] = await listDeliveriesOfChannel(database.db, { channelId: channel.id, limit: 1 });
    const noticed = (limit: number) =>
      findNoticedChecks(database.db, {
        deliveryId: delivery?.id ?? 0,
        channelId: channel.id,
        blindFromAt: blind.from,
        blindToAt: blind.to,
        limit,
      });
    const facts = [waiting, check, byGroup].map(({ uuid, settings }) => ({ uuid, name: settings.name }));
    expect(await noticed(9)).toEqual({ checks: facts, checkCount: 3 });
    expect(await noticed(2)).toEqual({ checks: facts.slice(0, 2), checkCount: 3 });
    for (const one of [check, waiting, byGroup]) await markDeleted(one);
    expect(await noticed(9)).toEqual({ checks: [], checkCount: 0 });
  });
});
