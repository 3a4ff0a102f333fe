// Pausing, resuming and deleting a check: what stays, what is deleted, what is logged, and late signals.
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { CheckSettings } from "../../src/core/check.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/core/instant.ts";
import { deleteCheck, pauseCheck, resumeCheck, updateCheck } from "../../src/operations/checks.ts";
import {
  type CheckWithState,
  findCheckByUuid,
  findCheckIdsByUuids,
  markCheckDeleted,
  quarantineCheck,
} from "../../src/store/checks.ts";
import { fillNearMisses } from "../support/near-misses.ts";
import { fillAlerts } from "../support/owed.ts";
import { insertAlertDeliveries, insertNoticeDeliveries } from "../../src/store/planning.ts";
import { listEvents } from "../../src/store/events.ts";
import { listFlips } from "../../src/store/flips.ts";
import { insertRefusedIntervals } from "../../src/store/intakes.ts";
import { insertParents } from "../../src/store/policies.ts";
import { insertRejectedSignal } from "../../src/store/quarantine.ts";
import { addDayTotals, insertRunChunks } from "../../src/store/runs.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import {
  edit,
  sampleChannel,
  sampleIntake,
  seenUntil,
  type Sent,
  UNSEEN,
} from "../support/checks-under-change.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON as NOW, sampleAccount, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();

/** The account that gives the commands; the audit log requires an existing one. */
let accountId = 0;
beforeAll(async () => {
  accountId = (await sampleAccount(database.db)).id;
});

/** A check with a period and a grace period of an hour each, after these signals. */
async function newCheck(
  signals: readonly Omit<Sent, "uuid">[],
  settings: Partial<CheckSettings> = {},
): Promise<CheckWithState> {
  const { id: projectId } = await sampleProject(database.db);
  const hourly = { timeoutSeconds: 3_600, graceSeconds: 3_600 };
  const { uuid } = await sampleCheck(database.db, { projectId, ...hourly, ...settings });
  if (signals.length > 0) {
    await (await sampleIntake(database.db))(signals.map((signal) => ({ uuid, ...signal })));
  }
  return stored({ uuid });
}

async function stored({ uuid }: { uuid: string }): Promise<CheckWithState> {
  const check = await findCheckByUuid(database.db, uuid);
  if (check === null) throw new Error("the check is gone");
  return check;
}

const nameOf = ({ projectId, id }: CheckWithState) => ({ projectId, checkId: id });
const command = (check: CheckWithState, at = NOW + MINUTE_MS) => ({ ...nameOf(check), at, accountId });
const eventsOf = ({ id }: CheckWithState) => listEvents(database.db, { checkId: id, limit: 10 });
const flipsOf = ({ id }: CheckWithState) => listFlips(database.db, { checkId: id });

async function pause(check: CheckWithState, { at = NOW + MINUTE_MS, visibility = UNSEEN } = {}) {
  const result = await pauseCheck(database.db, { ...command(check, at), visibility });
  if (result.kind !== "paused") throw new Error(result.kind);
  const { channelUuids, ...answer } = result.check;
  expect(answer).toEqual(await stored(check));
  return { ...answer, channelUuids };
}

async function resume(check: CheckWithState, at = NOW + 2 * MINUTE_MS) {
  const result = await resumeCheck(database.db, { ...command(check, at), visibility: UNSEEN });
  if (result.kind !== "resumed") throw new Error(result.kind);
  const { channelUuids, ...answer } = result.check;
  expect(answer).toEqual(await stored(check));
  return { ...answer, channelUuids };
}

describe("pausing", () => {
  test("ends the run and the waiting, and keeps the last ping and the channels", async () => {
    const check = await newCheck([{}, { action: "start", at: NOW + 5_000 }]);
    const channel = await sampleChannel(database.db, { projectId: check.projectId });
    await updateCheck(database.db, { ...nameOf(check), ...edit({ channels: "*" }) });
    const paused = await pause(check);
    expect(paused).toMatchObject({
      state: { status: "paused", lastPingAt: NOW, lastStartAt: null, pingCount: 2 },
      downAt: null,
      channelUuids: [channel.uuid],
    });
  });

  test("is an event and no flip", async () => {
    const check = await newCheck([{}]);
    const flips = await flipsOf(check);
    await pause(check);
    expect(await flipsOf(check)).toEqual(flips);
    expect(await eventsOf(check)).toMatchObject([
      { kind: "paused", at: NOW + MINUTE_MS, accountId, detail: { from: "up" } },
    ]);
  });

  test.each(["new", "up", "down"] as const)("works on a check that is %s", async (status) => {
    const signals = { new: [], up: [{}], down: [{ action: "fail" as const }] }[status];
    const check = await newCheck(signals);
    expect(check.state.status).toBe(status);
    expect((await pause(check)).state.status).toBe("paused");
  });

  test("twice is once, but for what was received before the second time and is replayed after it", async () => {
    const check = await newCheck([]);
    const paused = await pause(check);
    const at = NOW + HOUR_MS;
    const state = { ...paused.state, commandAt: at, newestAt: at };
    expect(await pause(check, { at })).toEqual({ ...paused, state });
    expect(await eventsOf(check)).toHaveLength(1);
    const record = await sampleIntake(database.db);
    await record([{ uuid: check.uuid, at: at - MINUTE_MS }], { replayed: true });
    expect((await stored(check)).state).toMatchObject({ status: "paused", pingCount: 1, lastPingAt: null });
  });

  test("after a deadline that was seen to pass writes its flip first", async () => {
    const check = await newCheck([{}]);
    const at = NOW + 3 * HOUR_MS;
    await pause(check, { at, visibility: seenUntil(at) });
    expect(await flipsOf(check)).toMatchObject([
      { at: NOW + 2 * HOUR_MS, from: "up", to: "down", reason: "timeout" },
      { to: "up" },
    ]);
    expect((await stored(check)).state).toMatchObject({ status: "paused", missed: null });
  });

  test("after a deadline with an unknown outcome writes none, and one in a blind interval an event", async () => {
    const unsure = await newCheck([{}]);
    const at = NOW + 4 * HOUR_MS;
    await pause(unsure, { at });
    expect(await flipsOf(unsure)).toHaveLength(1);
    const excused = await newCheck([{}]);
    const blind = [{ from: NOW + HOUR_MS, to: NOW + 2 * HOUR_MS }];
    await pause(excused, { at, visibility: { watermarkAt: at, blind } });
    expect(await flipsOf(excused)).toHaveLength(1);
    expect((await eventsOf(excused)).map(({ kind }) => kind)).toEqual(["paused", "not_observed"]);
  });

  test("is ended by a success, not by a start, and not by what was received before it", async () => {
    const check = await newCheck([]);
    await pause(check);
    const { uuid } = check;
    const record = await sampleIntake(database.db);
    await record([{ uuid, at: NOW }], { replayed: true });
    expect((await stored(check)).state).toMatchObject({ status: "paused", pingCount: 1, lastPingAt: null });
    await record([{ uuid, action: "start", at: NOW + HOUR_MS }]);
    expect(await stored(check)).toMatchObject({ state: { status: "paused" }, downAt: NOW + 2 * HOUR_MS });
    await record([{ uuid, at: NOW + HOUR_MS }]);
    expect((await stored(check)).state.status).toBe("up");
  });
});

describe("resuming", () => {
  test("makes a check new again that keeps its count and its last duration", async () => {
    const check = await newCheck([{ action: "start" }, { at: NOW + 5_000 }]);
    await pause(check);
    const resumed = await resume(check);
    expect(resumed).toMatchObject({
      state: { status: "new", lastPingAt: null, lastStartAt: null, pingCount: 2, lastDurationMs: 5_000 },
      downAt: null,
    });
    const [event] = await eventsOf(check);
    expect(event).toMatchObject({ kind: "resumed", at: NOW + 2 * MINUTE_MS, accountId });
    expect(await flipsOf(check)).toHaveLength(1);
  });

  test("ends a pause that listens to no ping", async () => {
    const check = await newCheck([], { manualResume: true });
    await pause(check);
    const record = await sampleIntake(database.db);
    await record([{ uuid: check.uuid, at: NOW + HOUR_MS }]);
    expect((await stored(check)).state).toMatchObject({ status: "paused", pingCount: 1 });
    await resume(check, NOW + HOUR_MS);
    await record([{ uuid: check.uuid, at: NOW + 2 * HOUR_MS }]);
    expect((await stored(check)).state.status).toBe("up");
  });

  test("is refused when the check is not paused, and changes nothing", async () => {
    const check = await newCheck([{}]);
    const refused = await resumeCheck(database.db, { ...command(check), visibility: UNSEEN });
    expect(refused).toEqual({ kind: "refused", code: "conflict", text: "check is not paused" });
    expect(await stored(check)).toEqual(check);
    expect(await eventsOf(check)).toEqual([]);
  });
});

describe("deleting", () => {
  /** How many rows each table that has a check_id holds for a check. */
  async function rowCounts(checkId: number): Promise<[string, number][]> {
    const tables = await database.db.pool.query<{ name: string }>(
      `select table_name as name from information_schema.columns
        where table_schema = 'public' and column_name = 'check_id' and table_name <> 'fire_drills' order by 1`,
    );
    const counts: [string, number][] = [];
    for (const { name } of tables.rows) {
      const { rowCount } = await database.db.pool.query(`select from ${name} where check_id = $1`, [checkId]);
      counts.push([name, rowCount ?? 0]);
    }
    return counts;
  }

  test("answers with the check as it was, and leaves nothing of it anywhere", async () => {
    const check = await newCheck([{ body: "hello" }]);
    const channel = await sampleChannel(database.db, { projectId: check.projectId, name: "Ops" });
    await updateCheck(database.db, { ...nameOf(check), ...edit({ channels: "*" }) });
    const [flip] = await flipsOf(check);
    const owed = { alertId: 1, incidentId: 1, checkId: check.id, flipId: flip?.id ?? 0, isClosing: false };
    const notices = [{ checkId: check.id, blind: { from: NOW, to: NOW } }];
    const counts = { successCount: 1, failCount: 0, timedCount: 0, durationSumMs: 0, durationMaxMs: 0 };
    await inTransaction(database.db, async (tx) => {
      await insertAlertDeliveries(tx, { news: [owed], added: [], at: NOW });
      await fillAlerts(tx, owed);
      await fillNearMisses(tx, { checkId: check.id, projectId: check.projectId });
      await insertParents(tx, { checkId: check.id, parentIds: [check.id] });
      await insertNoticeDeliveries(tx, { notices, at: NOW, notifyAt: NOW });
      await quarantineCheck(tx, { checkId: check.id, sinceAt: NOW, untilAt: NOW, reason: "why" });
      const runs = [{ endAt: NOW, outcome: "success", durationMs: null } as const];
      await insertRunChunks(tx, [{ checkId: check.id, runs }]);
      await addDayTotals(tx, [{ checkId: check.id, totals: { day: "2026-11-15", ...counts } }]);
      const refused = { checkId: check.id, network: null, from: NOW, to: NOW };
      await insertRefusedIntervals(tx, { intakeId: randomUUID(), intervals: [refused] });
    });
    await inTransaction(database.db, (tx) =>
      insertRejectedSignal(tx, {
        intakeId: randomUUID(),
        seq: 1,
        checkId: check.id,
        at: NOW,
        reason: "why",
        signal: Buffer.from("x"),
      }),
    );
    const before = await stored(check);
    const rows = await rowCounts(check.id);
    expect(rows.filter(([, count]) => count === 0)).toEqual([]);

    const deleted = await deleteCheck(database.db, { projectId: check.projectId, uuid: check.uuid });
    expect(deleted).toEqual({ kind: "deleted", check: { ...before, channelUuids: [channel.uuid] } });
    expect(await rowCounts(check.id)).toEqual(rows.map(([name]) => [name, 0]));
    expect(await findCheckIdsByUuids(database.db, [check.uuid])).toEqual(new Map());
    const record = await sampleIntake(database.db);
    expect(await record([{ uuid: check.uuid }])).toEqual(["unknown"]);
  });

  test("of a check that is deleted already, or was marked, finds none", async () => {
    const check = await newCheck([]);
    await deleteCheck(database.db, nameOf(check));
    expect(await deleteCheck(database.db, nameOf(check))).toEqual({ kind: "not found" });
    const marked = await newCheck([]);
    await inTransaction(database.db, (tx) => markCheckDeleted(tx, { checkId: marked.id, at: NOW }));
    expect(await deleteCheck(database.db, nameOf(marked))).toEqual({ kind: "not found" });
  });
});

test("a missing check is distinguished from one of another project, whatever the command", async () => {
  const check = await newCheck([]);
  const { id: projectId } = await sampleProject(database.db);
  const rest = { at: NOW, accountId: null, visibility: UNSEEN };
  for (const verb of [pauseCheck, resumeCheck, deleteCheck]) {
    expect(await verb(database.db, { projectId, uuid: check.uuid, ...rest })).toEqual({
      kind: "other project",
    });
    expect(await verb(database.db, { projectId, checkId: check.id, ...rest })).toEqual({
      kind: "other project",
    });
    expect(await verb(database.db, { projectId, uuid: randomUUID(), ...rest })).toEqual({
      kind: "not found",
    });
  }
  expect(await stored(check)).toEqual(check);
});
