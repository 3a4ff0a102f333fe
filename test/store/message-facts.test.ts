// The data of messages in addition to their flips.
import { describe, expect, test } from "vitest";
import { findCheckByUuid, markCheckDeleted } from "../../src/store/checks.ts";
import {
  findAlertFacts,
  findChecksForMessages,
  findGroupFacts,
  findNoticedChecks,
  findProjectHealth,
  listDeliveriesOfChannel,
  listGroupLines,
  listGroupMembers,
  separateAlerts,
} from "../../src/store/deliveries.ts";
import { addToDeliveries, insertGroupDeliveries, insertNoticeDeliveries } from "../../src/store/planning.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { sampleIncident } from "../support/incidents.ts";
import { addChannel, assign, flip, owe, watchedCheck } from "../support/owed.ts";
import { MONDAY_NOON, sampleCheck, sampleProject } from "../support/sample.ts";

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

const query = (text: string, values: unknown[]) => database.db.pool.query(text, values);
const setRow = (table: "alerts" | "deliveries" | "incidents", id: number, set: string) =>
  query(`update ${table} set ${set} where id = $1`, [id]);
const SENT = "state = 'sent', next_try_at = null, settled_at = now()";
const CLOSED = "closed_at = now(), close_cause = 'recovered'";

/** An incident of checks with these names. */
async function incidentOf(
  names: readonly string[],
  { projectId, ...given }: { projectId?: number; key?: string; severity?: "high" } = {},
) {
  const project = projectId ?? (await sampleProject(database.db)).id;
  const checks = [];
  for (const name of names) checks.push(await sampleCheck(database.db, { projectId: project, name }));
  const checkIds = checks.map(({ id }) => id);
  const incident = await sampleIncident(database.db, { projectId: project, checkIds, ...given });
  return { ...incident, checks };
}

describe("a message about an alert", () => {
  const facts = async (alertId: number) => (await findAlertFacts(database.db, [alertId, 999_999]))[0];

  test("has its incident, its cause, and how many other checks are down with it", async () => {
    const { id, number, projectId, alertIds } = await incidentOf(["a", "b", "c"], { severity: "high" });
    const [alertId = 0, , closed = 0] = alertIds;
    await setRow("alerts", closed, CLOSED);
    expect(await facts(alertId)).toEqual({
      alertId,
      incidentId: id,
      number,
      severity: "high",
      isAcknowledged: false,
      cause: "missed",
      openedAt: MONDAY_NOON,
      heldBy: null,
      silenceReason: null,
      parentName: null,
      hasAckLinks: true,
      dependentCount: 1,
    });
    await query("update projects set has_ack_links = false where id = $1", [projectId]);
    await setRow("incidents", id, "state = 'acknowledged', acknowledged_at = now()");
    expect(await facts(alertId)).toMatchObject({ hasAckLinks: false, isAcknowledged: true });
    expect(await findAlertFacts(database.db, [])).toEqual([]);
  });

  test("has the rule that held it: the reason of the silence, or the name of the parent", async () => {
    const { projectId, alertIds, checks } = await incidentOf(["child"]);
    const [alertId = 0] = alertIds;
    const parent = await sampleCheck(database.db, { projectId, name: "router" });
    await query("insert into check_parents (check_id, parent_id) values ($1, $2)", [
      checks[0]?.id,
      parent.id,
    ]);
    const { rows } = await query(
      `insert into silences (uuid, project_id, reason, created_at, from_at, until_at, until_success, hold_after_seconds,
        version) values (gen_random_uuid(), $1, 'DB upgrade', now(), now(), now(), false, 0, 1) returning id`,
      [projectId],
    );
    expect(await facts(alertId)).toMatchObject({ heldBy: null, parentName: null });
    await setRow("alerts", alertId, `held_by = 'silence', silence_id = ${rows[0].id}`);
    expect(await facts(alertId)).toMatchObject({
      heldBy: "silence",
      silenceReason: "DB upgrade",
      parentName: null,
    });
    await setRow("alerts", alertId, "held_by = 'dependency', silence_id = null");
    expect(await facts(alertId)).toMatchObject({
      heldBy: "dependency",
      silenceReason: null,
      parentName: "router",
    });
  });

  test("has none if its incident was deleted", async () => {
    const { id, alertIds } = await incidentOf(["a"]);
    await query("delete from incidents where id = $1", [id]);
    expect(await facts(alertIds[0] ?? 0)).toBeUndefined();
  });
});

describe("a group message", () => {
  async function groupMessage(incidentId: number, given: { projectId: number; channelId?: number }) {
    const { projectId, channelId = (await addChannel(database.db, { projectId })).id } = given;
    const deliveries = [{ incidentId, channelId, groupId: null, dueAt: MONDAY_NOON }];
    const [deliveryId = 0] = await inTransaction(database.db, (tx) =>
      insertGroupDeliveries(tx, { deliveries, at: MONDAY_NOON }),
    );
    return { incidentId, deliveryId, channelId };
  }
  const say = (
    { deliveryId }: { deliveryId: number },
    alertIds: readonly number[],
    change: "opened" | "closed" = "opened",
  ) =>
    inTransaction(database.db, (tx) =>
      addToDeliveries(
        tx,
        alertIds.map((alertId) => ({ deliveryId, alertId, change })),
      ),
    );
  const facts = (message: Awaited<ReturnType<typeof groupMessage>>) => findGroupFacts(database.db, message);

  test("has its incident, and the alerts that the channel knows about", async () => {
    const { id, number, projectId, alertIds } = await incidentOf(["a", "b", "c"], { key: "tag:db" });
    const [first = 0, second = 0] = alertIds;
    const message = await groupMessage(id, { projectId });
    await say(message, [first, second]);
    const { rows } = await query("select uuid from projects where id = $1", [projectId]);
    expect(await facts(message)).toEqual({
      incidentId: id,
      projectId,
      number,
      severity: "normal",
      isAcknowledged: false,
      isBehind: false,
      key: "tag:db",
      projectUuid: rows[0].uuid,
      hasAckLinks: true,
      isUpdate: false,
      downCount: 2,
      since: MONDAY_NOON,
      cause: "missed",
      parent: null,
    });
    await setRow("alerts", first, `${CLOSED}, cause = 'overrun'`);
    await setRow("alerts", second, "opened_at = '2026-11-16 12:01Z'");
    expect(await facts(message)).toMatchObject({ downCount: 1, since: MONDAY_NOON + 60_000, cause: null });
    await setRow("alerts", second, CLOSED);
    expect(await facts(message)).toMatchObject({ downCount: 0, since: MONDAY_NOON });
    expect(await facts({ ...message, incidentId: 999_999 })).toBeNull();
  });

  test("is an update after one that was, or may have been, sent to the channel", async () => {
    const { id, projectId, alertIds } = await incidentOf(["a"], { key: "project" });
    const first = await groupMessage(id, { projectId });
    const second = await groupMessage(id, { projectId, channelId: first.channelId });
    const elsewhere = await groupMessage(id, { projectId });
    await say(first, alertIds);
    expect(await facts(second)).toMatchObject({ isUpdate: false, downCount: 1 });
    await setRow("deliveries", first.deliveryId, "message_id = id");
    expect(await facts(second)).toMatchObject({ isUpdate: true });
    await setRow("deliveries", first.deliveryId, `message_id = null, ${SENT}`);
    expect(await facts(second)).toMatchObject({ isUpdate: true });
    expect(await facts(first)).toMatchObject({ isUpdate: false });
    expect(await facts(elsewhere)).toMatchObject({ isUpdate: false, downCount: 0, since: null, cause: null });
  });

  test("has the check that the others depend on, and whether that is down and notified", async () => {
    const { check, channel } = await watchedCheck(database.db, { name: "router" });
    const { projectId } = check;
    const [flipId] = await owe(database.db, { check }, flip("down"));
    const { rows } = await query("select id, incident_id from alerts where check_id = $1", [check.id]);
    const { id: alertId, incident_id: incidentId } = rows[0];
    const child = await incidentOf(["child"], { projectId });
    await setRow("alerts", child.alertIds[0] ?? 0, `incident_id = ${incidentId}`);
    const link = [child.checks[0]?.id, check.id];
    await query("insert into check_parents (check_id, parent_id) values ($1, $2)", link);
    const message = await groupMessage(incidentId, { projectId, channelId: channel.id });
    await say(message, child.alertIds);
    const parent = async () => (await facts(message))?.parent;
    expect(await parent()).toEqual({ name: "router", isDown: true });
    await query("update deliveries set alert_id = null, incident_id = null where flip_id = $1", [flipId]);
    expect(await parent()).toEqual({ name: "router", isDown: true });
    await query(
      "update deliveries set state = 'dead', next_try_at = null, settled_at = now() where flip_id = $1",
      [flipId],
    );
    expect(await parent()).toEqual({ name: "router", isDown: false });
    await query(`update deliveries set ${SENT} where flip_id = $1`, [flipId]);
    expect(await parent()).toEqual({ name: "router", isDown: true });
    await setRow("alerts", alertId, CLOSED);
    expect(await parent()).toEqual({ name: "router", isDown: false });
  });

  test("names the first checks by name, without deleted ones, and counts all", async () => {
    const { id, projectId, alertIds, checks } = await incidentOf(["c", "a", "b", "gone", "up"]);
    const message = await groupMessage(id, { projectId });
    const [c, a, b, gone, up] = checks.map(({ uuid, settings: { name }, id: checkId }) => ({
      line: { uuid, name },
      check: { id: checkId },
    }));
    await say(message, alertIds.slice(0, 4));
    await say(message, alertIds.slice(4), "closed");
    await markDeleted(gone?.check ?? { id: 0 });
    const lines = (limit: number) => listGroupLines(database.db, { ...message, limit });
    const closed = { checks: [up?.line], count: 1 };
    expect(await lines(9)).toEqual({ opened: { checks: [a?.line, b?.line, c?.line], count: 3 }, closed });
    expect(await lines(2)).toEqual({ opened: { checks: [a?.line, b?.line], count: 3 }, closed });
    const memberIds = async (includesClosed: boolean) => {
      const members = await listGroupMembers(database.db, { ...message, includesClosed, limit: 9 });
      return members.map(({ checkId }) => checkId);
    };
    expect(await memberIds(false)).toEqual([c, a, b].map((one) => one?.check.id));
    await setRow("alerts", alertIds[0] ?? 0, CLOSED);
    expect(await memberIds(false)).toEqual([a, b].map((one) => one?.check.id));
    expect(await memberIds(true)).toEqual([c, a, b].map((one) => one?.check.id));
    const none = { checks: [], count: 0 };
    const empty = await groupMessage(id, { projectId });
    expect(await listGroupLines(database.db, { ...empty, limit: 9 })).toEqual({ opened: none, closed: none });
  });

  test("leaves out what an earlier message to the same channel has said", async () => {
    const { id, projectId, alertIds } = await incidentOf(["a", "b"]);
    const [first = 0] = alertIds;
    const before = await groupMessage(id, { projectId });
    const reminder = await groupMessage(id, { projectId, channelId: before.channelId });
    const elsewhere = await groupMessage(id, { projectId });
    await say(before, [first]);
    for (const message of [reminder, elsewhere]) await say(message, alertIds);
    const names = async (message: { deliveryId: number; channelId: number }) =>
      (await listGroupLines(database.db, { ...message, limit: 9 })).opened.checks.map(({ name }) => name);
    expect(await names(reminder)).toEqual(["a", "b"]);
    await setRow("deliveries", before.deliveryId, SENT);
    expect(await names(reminder)).toEqual(["b"]);
    const members = await listGroupMembers(database.db, { ...reminder, includesClosed: false, limit: 9 });
    expect(members.map(({ alertId, isSaid }) => [alertId, isSaid])).toEqual([
      [first, true],
      [alertIds[1], false],
    ]);
    expect(await names(elsewhere)).toEqual(["a", "b"]);
    await say(reminder, [first], "closed");
    expect((await listGroupLines(database.db, { ...reminder, limit: 9 })).closed.count).toBe(1);
  });

  test("moves the openings of alerts to a message of their own", async () => {
    const { id, projectId, alertIds } = await incidentOf(["a", "b"]);
    const message = await groupMessage(id, { projectId });
    await say(message, alertIds);
    const [first = 0] = alertIds;
    await say(message, [first], "closed");
    await inTransaction(database.db, (tx) =>
      separateAlerts(tx, { deliveryId: message.deliveryId, alertIds: [first], at: MONDAY_NOON }),
    );
    const named = async (of: { deliveryId: number; channelId: number }) => {
      const { opened, closed } = await listGroupLines(database.db, { ...of, limit: 9 });
      return [opened, closed].map(({ checks }) => checks.map(({ name }) => name).join(" "));
    };
    expect(await named(message)).toEqual(["b", "a"]);
    const { rows } = await query(
      "select id, channel_id, state from deliveries where incident_id = $1 and kind = 'group' order by id",
      [id],
    );
    expect(rows).toHaveLength(2);
    const { id: deliveryId, channel_id: channelId, state } = rows[1];
    expect([channelId, state]).toEqual([message.channelId, "pending"]);
    expect(await named({ deliveryId, channelId })).toEqual(["a", ""]);
  });
});
