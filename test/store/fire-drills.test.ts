// Rows of fire drills: the project of one, its messages, what is due, and weekly schedules.
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { HOUR_MS } from "../../src/core/instant.ts";
import {
  deleteDrillProject,
  deleteDrillSchedule,
  endOverdueDrills,
  findAsCheck,
  findDrill,
  findDrillSchedule,
  findDrillsOfChecks,
  findLastDrill,
  hasDrillWork,
  insertDrill,
  insertDrillProject,
  listDrillDeliveries,
  listDrillMessages,
  listDrills,
  lockDrillAlert,
  lockDrillsOfProject,
  lockDueSchedule,
  lockNextDrill,
  trimDrills,
  writeDrillClosing,
  writeDrillMessage,
  writeDrillProgress,
  writeDrillSchedule,
} from "../../src/store/fire-drills.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { sampleIncident } from "../support/incidents.ts";
import { addChannel } from "../support/owed.ts";
import { MONDAY_NOON, sampleCheck, sampleProject } from "../support/sample.ts";

const at = useDatabase();
const write = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(at.db, work);

async function sampleDrill(given: { isSent?: boolean; startedAt?: number; projectId?: number } = {}) {
  const projectId = given.projectId ?? (await sampleProject(at.db)).id;
  const as = await sampleCheck(at.db, { projectId, name: "Nightly backup" });
  const uuid = randomUUID();
  const startedAt = given.startedAt ?? MONDAY_NOON;
  const drillProjectId = await write((tx) =>
    insertDrillProject(tx, { projectId, uuid: randomUUID(), badgeKey: randomUUID(), at: startedAt }),
  );
  const check = await sampleCheck(at.db, { projectId: drillProjectId });
  await write((tx) =>
    insertDrill(tx, {
      uuid,
      projectId,
      drillProjectId,
      checkId: check.id,
      asCheckId: as.id,
      asName: "Nightly backup",
      isSent: given.isSent ?? false,
      isScheduled: false,
      accountId: null,
      notes: ["A note, with a comma."],
      startedAt,
      deadlineAt: startedAt + 1_000,
    }),
  );
  const drill = await findDrill(at.db, { projectId, uuid });
  if (drill === null) throw new Error("the drill was not inserted");
  return { drill, projectId, drillProjectId, check, as };
}

const PROGRESS = {
  foundAt: MONDAY_NOON + 1_100,
  writtenAt: MONDAY_NOON + 1_110,
  plannedAt: MONDAY_NOON + 1_200,
  heldReason: null,
  heldUntilAt: null,
  closedAt: null,
  endedAt: MONDAY_NOON + 2_000,
  outcome: "ok",
} as const;

test("a drill is found with the check that it simulates, until that is deleted", async () => {
  const { drill, as, check, projectId } = await sampleDrill({ isSent: true });
  expect(drill).toMatchObject({
    asCheck: { id: as.id, uuid: as.uuid },
    asName: "Nightly backup",
    isSent: true,
    notes: ["A note, with a comma."],
    endedAt: null,
  });
  expect(await findAsCheck(at.db, { projectId, uuid: as.uuid })).toEqual({
    id: as.id,
    name: "Nightly backup",
  });
  expect(await findDrillsOfChecks(at.db, [check.id, as.id])).toEqual([
    expect.objectContaining({ checkId: check.id, drillId: drill.id, projectId, isSent: true }),
  ]);
  await at.db.pool.query("update checks set deleted_at = now() where id = $1", [as.id]);
  expect(await findDrill(at.db, { projectId, uuid: drill.uuid })).toMatchObject({ asCheck: null });
  expect(await findAsCheck(at.db, { projectId, uuid: as.uuid })).toBeNull();
});

test("one runs for each project", async () => {
  const { projectId, drill } = await sampleDrill();
  expect(await write((tx) => lockDrillsOfProject(tx, projectId))).toBe(true);
  expect(await write((tx) => lockDrillsOfProject(tx, 0))).toBe(false);
  await expect(sampleDrill({ projectId })).rejects.toThrow("fire_drills_running");
  await write((tx) => endOverdueDrills(tx, { projectId, startedBefore: MONDAY_NOON, at: MONDAY_NOON }));
  expect((await listDrills(at.db, { projectId, limit: 10 })).map(({ outcome }) => outcome)).toEqual([null]);
  await write((tx) => endOverdueDrills(tx, { projectId, startedBefore: MONDAY_NOON + 1, at: MONDAY_NOON }));
  expect(await findDrill(at.db, { projectId, uuid: drill.uuid })).toMatchObject({ outcome: "timedOut" });
});

test("a project of a drill has the policies of its project, and no members", async () => {
  const { id: projectId } = await sampleProject(at.db);
  await at.db.pool.query(
    "insert into tag_rules (project_id, position, tag, policy, channel_ids) values ($1, 0, 'db', '{}', '{7}')",
    [projectId],
  );
  const { drillProjectId } = await sampleDrill({ projectId });
  const count = async (table: string) =>
    (await at.db.pool.query(`select from ${table} where project_id = $1`, [drillProjectId])).rowCount;
  expect([await count("tag_rules"), await count("members"), await count("checks")]).toEqual([1, 0, 1]);
});

test("progress is written, the newest that ended is found, and old ones are trimmed", async () => {
  const { drill, projectId, drillProjectId, check } = await sampleDrill();
  await write((tx) => writeDrillProgress(tx, { drillId: drill.id, ...PROGRESS }));
  expect(await findDrill(at.db, { projectId, uuid: drill.uuid })).toMatchObject(PROGRESS);
  expect(await findLastDrill(at.db)).toMatchObject({ id: drill.id, projectName: "Backups" });
  await write((tx) => trimDrills(tx, { projectId, kept: 0 }));
  expect(await listDrills(at.db, { projectId, limit: 10 })).toHaveLength(1);
  await at.db.pool.query("delete from checks where id = $1", [check.id]);
  await write((tx) => deleteDrillProject(tx, drillProjectId));
  expect(await findDrill(at.db, { projectId, uuid: drill.uuid })).toMatchObject({ checkId: null });
  await write((tx) => trimDrills(tx, { projectId, kept: 0 }));
  expect(await listDrills(at.db, { projectId, limit: 10 })).toEqual([]);
});

test("drills that are not removed are locked one after the other", async () => {
  const { drill, check } = await sampleDrill();
  expect(await hasDrillWork(at.db, MONDAY_NOON)).toBe(true);
  await write(async (tx) => {
    expect(await lockNextDrill(tx, drill.id - 1)).toMatchObject({ id: drill.id });
    // Another process leaves it out.
    expect(await write((other) => lockNextDrill(other, drill.id - 1))).toBeNull();
  });
  expect(await write((tx) => lockNextDrill(tx, drill.id))).toBeNull();
  expect(await write((tx) => lockDrillAlert(tx, check.id))).toBeNull();
  await sampleIncident(at.db, { projectId: check.projectId, checkIds: [check.id] });
  expect(await write((tx) => lockDrillAlert(tx, check.id))).toMatchObject({
    plannedAt: MONDAY_NOON,
    heldBy: null,
  });
  expect(await listDrillDeliveries(at.db, check.id)).toEqual([]);
});

test("a message is replaced by a later attempt, and closed", async () => {
  const { drill, projectId } = await sampleDrill();
  const { id, uuid, kind, name } = await addChannel(at.db, { projectId });
  const first = {
    drillId: drill.id,
    channel: { id, uuid, kind, name },
    claimedAt: MONDAY_NOON + 1,
    renderedAt: MONDAY_NOON + 2,
    answeredAt: MONDAY_NOON + 3,
    outcome: "retrying",
    reason: "HTTP 500",
    code: 500,
    title: "Title",
    body: "Text",
    requests: [{ method: "POST", url: "https://example.org", body: "{}" }],
  } as const;
  await write((tx) => writeDrillMessage(tx, first));
  const again = { ...first, claimedAt: MONDAY_NOON + 9, outcome: "sent", reason: null, code: 200 } as const;
  await write((tx) => writeDrillMessage(tx, again));
  const closing = { at: MONDAY_NOON + 20, outcome: "sent", reason: null } as const;
  await write((tx) => writeDrillClosing(tx, { drillId: drill.id, channelId: id, ...closing }));
  const { drillId: _, ...expected } = { ...again, claimedAt: MONDAY_NOON + 1, closing };
  expect((await listDrillMessages(at.db, [drill.id])).get(drill.id)).toEqual([expected]);
});

test("a weekly drill is due once it is locked by one process", async () => {
  const { id: projectId } = await sampleProject(at.db);
  const as = await sampleCheck(at.db, { projectId, name: "Nightly backup" });
  const schedule = {
    projectId,
    weekday: 0,
    minute: 540,
    tz: "UTC",
    asCheckId: as.id,
    isSent: true,
    accountId: null,
    nextAt: MONDAY_NOON,
  };
  await write((tx) => writeDrillSchedule(tx, schedule));
  const stored = { ...schedule, asCheck: { uuid: as.uuid, name: "Nightly backup" } };
  expect(await findDrillSchedule(at.db, projectId)).toEqual(stored);
  expect(await write((tx) => lockDueSchedule(tx, MONDAY_NOON - 1))).toBeNull();
  expect(await write((tx) => lockDueSchedule(tx, MONDAY_NOON))).toEqual(stored);
  await write((tx) => writeDrillSchedule(tx, { ...schedule, nextAt: MONDAY_NOON + HOUR_MS }));
  expect(await write((tx) => lockDueSchedule(tx, MONDAY_NOON))).toBeNull();
  await write((tx) => deleteDrillSchedule(tx, projectId));
  expect(await findDrillSchedule(at.db, projectId)).toBeNull();
});
