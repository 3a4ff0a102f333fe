// Incidents of projects: lists, changes, timeline, and how long they are kept.
import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { acknowledge, resolve } from "../../src/core/incident.ts";
import { findAccountNames } from "../../src/store/accounts.ts";
import {
  closeResolvedAlerts,
  countNotes,
  countOpenIncidents,
  findIncident,
  findIncidentById,
  findOpenNumbers,
  insertIncidentEvents,
  listIncidentAlerts,
  listIncidentChecks,
  listIncidentDeliveries,
  listIncidentEvents,
  listOpenAlertChecks,
  listProjectIncidents,
  listChecksWithAlert,
  lockIncidents,
  pruneAlerts,
  pruneIncidents,
  withdrawRepeats,
  writeIncidents,
} from "../../src/store/incidents.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { sampleIncident } from "../support/incidents.ts";
import { MONDAY_NOON, sampleAccount, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();
const write = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(database.db, work);
const ANN = { accountId: 7, channelId: null };

let projectId: number;

beforeEach(async () => {
  await database.db.pool.query("truncate incidents, incident_events, alerts, deliveries cascade");
  projectId = (await sampleProject(database.db)).id;
});

const open = async (names: string[], given: { key?: string; severity?: "high" } = {}) => {
  const checks = await Promise.all(
    names.map((name) => sampleCheck(database.db, { projectId, name, tags: `tag-${name}` })),
  );
  const incident = await sampleIncident(database.db, {
    projectId,
    checkIds: checks.map(({ id }) => id),
    ...given,
  });
  return { ...incident, checks };
};

const change = async (
  number: number,
  how: (incident: Parameters<typeof resolve>[0]) => Parameters<typeof resolve>[0],
) =>
  write(async (tx) => {
    const locked = await lockIncidents(tx, { projectId, numbers: [number] });
    await writeIncidents(
      tx,
      locked.map((incident) => ({ ...how(incident), id: incident.id })),
    );
  });

const list = async (state: "open" | "resolved" | "all", before: number | null = null, limit = 10) =>
  (await listProjectIncidents(database.db, { projectId, state, before, limit })).map(({ number }) => number);

describe("the list", () => {
  test("is newest first, page by page and by state", async () => {
    for (const name of ["a", "b", "c"]) await open([name]);
    await sampleIncident(database.db, { projectId: (await sampleProject(database.db)).id, checkIds: [] });
    await change(2, (incident) => resolve(incident, MONDAY_NOON));
    await change(3, (incident) => acknowledge(incident, { at: MONDAY_NOON, by: ANN }));
    expect(await list("all")).toEqual([3, 2, 1]);
    expect(await list("open")).toEqual([3, 1]);
    expect(await list("resolved")).toEqual([2]);
    expect(await list("all", 3, 1)).toEqual([2]);
    expect(await list("open", 3)).toEqual([1]);
    expect(await countOpenIncidents(database.db, projectId)).toEqual({ open: 1, acknowledged: 1 });
  });

  test("counts checks and open alerts, and names the first checks", async () => {
    const { id, checks } = await open(["a", "b", "c"], { key: "project", severity: "high" });
    const [first] = checks;
    await write((tx) =>
      closeResolvedAlerts(tx, { incidentId: id, checkIds: [first?.id ?? 0], at: MONDAY_NOON + 5 }),
    );
    const [listed] = await listProjectIncidents(database.db, {
      projectId,
      state: "open",
      before: null,
      limit: 1,
    });
    expect(listed).toEqual({
      id,
      projectId,
      number: 1,
      key: "project",
      state: "open",
      severity: "high",
      openedAt: MONDAY_NOON,
      acknowledged: null,
      resolvedAt: null,
      nextStepAt: null,
      reopenCount: 0,
      flappingAt: null,
      cause: "missed",
      checkCount: 3,
      openCount: 2,
    });
    const named = await listIncidentChecks(database.db, { incidentIds: [id], projectId, limit: 2 });
    expect(named).toEqual(
      checks.slice(0, 2).map(({ uuid, settings: { name, tags } }) => ({ incidentId: id, uuid, name, tags })),
    );
  });

  test("has no names of checks that were deleted or moved", async () => {
    const { id, checks } = await open(["a", "b", "c"]);
    const other = await sampleProject(database.db);
    await database.db.pool.query("update checks set deleted_at = now() where id = $1", [checks[0]?.id]);
    await database.db.pool.query("update checks set project_id = $2 where id = $1", [
      checks[1]?.id,
      other.id,
    ]);
    const named = await listIncidentChecks(database.db, { incidentIds: [id], projectId, limit: 5 });
    expect(named.map(({ name }) => name)).toEqual(["c"]);
    const alerts = await listIncidentAlerts(database.db, { incidentId: id, projectId, limit: 5 });
    expect(alerts.map(({ check }) => check?.name ?? null)).toEqual([null, null, "c"]);
  });
});

test("an incident is found by its number in its project, and by its id for a link", async () => {
  const { id } = await open(["a"]);
  expect(await findIncident(database.db, { projectId, number: 1 })).toMatchObject({ id, checkCount: 1 });
  expect(await findIncident(database.db, { projectId, number: 2 })).toBeNull();
  expect(await findIncident(database.db, { projectId: projectId + 1, number: 1 })).toBeNull();
  expect(await findIncidentById(database.db, id)).toMatchObject({
    number: 1,
    projectName: "Backups",
    projectZone: "UTC",
    hasAckLinks: true,
  });
  expect(await findIncidentById(database.db, id + 999)).toBeNull();
});

test("a change is written, and the planner looks at the incident", async () => {
  await open(["a"]);
  await change(1, (incident) => acknowledge(incident, { at: MONDAY_NOON + 9, by: ANN }));
  expect(await findIncident(database.db, { projectId, number: 1 })).toMatchObject({
    state: "acknowledged",
    acknowledged: { at: MONDAY_NOON + 9, by: ANN },
    nextStepAt: 0,
  });
  await change(1, (incident) => resolve(incident, MONDAY_NOON + 10));
  expect(await findIncident(database.db, { projectId, number: 1 })).toMatchObject({
    state: "resolved",
    acknowledged: { at: MONDAY_NOON + 9, by: ANN },
    resolvedAt: MONDAY_NOON + 10,
    nextStepAt: null,
  });
});

test("open incidents are found by their checks, within the project", async () => {
  const one = await open(["a", "b"]);
  const two = await open(["c"]);
  const uuids = [...one.checks, ...two.checks].map(({ uuid }) => uuid);
  const numbers = (checkUuids: string[], of = projectId) =>
    findOpenNumbers(database.db, { projectId: of, checkUuids });
  expect(await numbers([...uuids, randomUUID()])).toEqual([1, 2]);
  expect(await numbers(uuids, projectId + 1)).toEqual([]);
  const checkIds = await listOpenAlertChecks(database.db, { incidentId: one.id, limit: 10 });
  expect(checkIds).toEqual(one.checks.map(({ id }) => id).toSorted((a, b) => a - b));
  expect(
    await write((tx) => closeResolvedAlerts(tx, { incidentId: one.id, checkIds, at: MONDAY_NOON })),
  ).toHaveLength(2);
  expect(
    await write((tx) => closeResolvedAlerts(tx, { incidentId: one.id, checkIds, at: MONDAY_NOON })),
  ).toEqual([]);
  expect(await numbers(uuids)).toEqual([2]);
  expect(await listChecksWithAlert(database.db, projectId)).toEqual(new Set([two.checks[0]?.id]));
});

test("the timeline has the newest events, and all notes", async () => {
  const { id: incidentId } = await open(["a"]);
  const at = MONDAY_NOON;
  await write((tx) =>
    insertIncidentEvents(tx, [
      { incidentId, at, kind: "note", by: ANN, text: "“Disk full” \\ {1,2}" },
      { incidentId, at, kind: "reopened", by: null },
      { incidentId, at: at + 1, kind: "acknowledged", by: { accountId: null, channelId: 3 } },
      { incidentId, at: at + 2, kind: "resolved", by: { accountId: null, channelId: null } },
    ]),
  );
  const events = await listIncidentEvents(database.db, { incidentId, limit: 2 });
  expect(events.map(({ at: when, kind, by, text }) => ({ at: when, kind, by, text }))).toEqual([
    { at, kind: "note", by: ANN, text: "“Disk full” \\ {1,2}" },
    { at: at + 1, kind: "acknowledged", by: { accountId: null, channelId: 3 }, text: null },
    { at: at + 2, kind: "resolved", by: { accountId: null, channelId: null }, text: null },
  ]);
  const all = await listIncidentEvents(database.db, { incidentId, limit: 9 });
  expect(all.find(({ kind }) => kind === "reopened")?.by).toBeNull();
  expect(await countNotes(database.db, incidentId)).toBe(1);
});

test("alerts have the rule that holds them, until they are released", async () => {
  const { id, alertIds } = await open(["a", "b", "c"]);
  await database.db.pool.query(
    `with quiet as (
        insert into silences (uuid, project_id, reason, created_at, from_at, until_at, until_success,
          hold_after_seconds, version)
        values (gen_random_uuid(), $1, 'DB upgrade', now(), now(), now(), false, 0, 1) returning id
      )
      update alerts a set held_by = 'silence', silence_id = quiet.id,
        planned_at = case when a.id = $2 then null else now() end, dropped_at = case when a.id = $3 then now() end,
        closed_at = $4, close_cause = 'recovered'
      from quiet`,
    [projectId, alertIds[0], alertIds[1], new Date(MONDAY_NOON + 60_000)],
  );
  const alerts = await listIncidentAlerts(database.db, { incidentId: id, projectId, limit: 5 });
  expect(alerts.map(({ held }) => held)).toEqual([
    { by: "silence", isDropped: false, reason: "DB upgrade" },
    { by: "silence", isDropped: true, reason: "DB upgrade" },
    null,
  ]);
  expect(alerts[0]).toMatchObject({ closed: { at: MONDAY_NOON + 60_000, cause: "recovered" } });
  expect(await listIncidentAlerts(database.db, { incidentId: id, projectId, limit: 1 })).toHaveLength(1);
});

test("deliveries are listed with their checks, and unsent repeats are withdrawn", async () => {
  const { id, checks, alertIds } = await open(["a"]);
  await database.db.pool.query(
    `insert into deliveries (kind, dedupe_key, channel_id, check_id, flip_id, alert_id, incident_id, state, created_at,
        attempt_count, next_try_at, message_id)
      select kind, gen_random_uuid(), 5, $1, a.opened_flip_id, a.id, $2, 'pending', $4, 0, $4, bound
      from alerts a, (values ('flip', null), ('repeat', null), ('repeat', 4)) as d (kind, bound)
      where a.id = $3`,
    [checks[0]?.id, id, alertIds[0], new Date(MONDAY_NOON)],
  );
  await write((tx) =>
    withdrawRepeats(tx, { incidentIds: [id], at: MONDAY_NOON + 5, reason: "acknowledged" }),
  );
  const deliveries = await listIncidentDeliveries(database.db, { incidentId: id, projectId, limit: 5 });
  expect(deliveries).toMatchObject([
    { kind: "flip", state: "pending", check: { uuid: checks[0]?.uuid, name: "a" } },
    { kind: "repeat", state: "withdrawn", reason: "acknowledged", settledAt: MONDAY_NOON + 5 },
    // It may have been sent.
    { kind: "repeat", state: "pending" },
  ]);
  expect(await listIncidentDeliveries(database.db, { incidentId: id, projectId, limit: 1 })).toMatchObject([
    { kind: "repeat", state: "pending" },
  ]);
});

test("names of accounts are their addresses if they have none", async () => {
  const [named, unnamed] = [
    await sampleAccount(database.db, { name: "Ann" }),
    await sampleAccount(database.db, { name: "" }),
  ];
  expect(await findAccountNames(database.db, [named.id, unnamed.id, 999_999])).toEqual(
    new Map([
      [named.id, "Ann"],
      [unnamed.id, unnamed.email],
    ]),
  );
});

test("resolved incidents are deleted with their alerts and events, and open ones do not block others", async () => {
  const kept = await open(["a"]);
  const gone = await open(["b"]);
  await write((tx) =>
    insertIncidentEvents(
      tx,
      [kept, gone].map(({ id }) => ({ incidentId: id, at: MONDAY_NOON, kind: "reopened", by: null })),
    ),
  );
  await change(2, (incident) => resolve(incident, MONDAY_NOON));
  const prune = (before: number) => write((tx) => pruneIncidents(tx, { before, limit: 1 }));
  expect([await prune(MONDAY_NOON), await prune(MONDAY_NOON + 1), await prune(MONDAY_NOON + 1)]).toEqual([
    0, 1, 0,
  ]);
  expect(await list("all")).toEqual([1]);
  for (const { id, count } of [
    { ...kept, count: 1 },
    { ...gone, count: 0 },
  ]) {
    expect(await listIncidentAlerts(database.db, { incidentId: id, projectId, limit: 5 })).toHaveLength(
      count,
    );
    expect(await listIncidentEvents(database.db, { incidentId: id, limit: 5 })).toHaveLength(count);
  }
});

test("alerts without an incident are deleted when they are old and planned", async () => {
  await open(["a", "b", "c"]);
  await database.db.pool.query("update alerts set incident_id = null");
  await database.db.pool.query(
    `update alerts set closed_at = $1, close_cause = 'recovered', planned_at = case when rank > 1 then now() end
      from (select id as of, row_number() over (order by id) as rank from alerts) as ranked
      where id = of and rank < 3`,
    [new Date(MONDAY_NOON)],
  );
  const prune = (before: number) => write((tx) => pruneAlerts(tx, { before, limit: 10 }));
  expect([await prune(MONDAY_NOON), await prune(MONDAY_NOON + 1)]).toEqual([0, 1]);
  expect((await database.db.pool.query("select from alerts")).rowCount).toBe(2);
});
