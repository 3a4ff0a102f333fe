// How the planner combines alerts: group messages, incidents that are found, reopened and raised, and parents.
import { beforeEach, describe, expect, test } from "vitest";
import { type Channel, disableChannel } from "../../src/store/channels.ts";
import { findDeliveries } from "../../src/store/deliveries.ts";
import {
  addToDeliveries,
  findIncidentsByKey,
  findLastIncidents,
  hastenGroups,
  insertGroupDeliveries,
  listOpenings,
  listOverIncidents,
  listParents,
  listQueuedChecks,
  listRecipients,
  lockGroupQueues,
  raiseIncidents,
  removeOpenings,
  reopenIncidents,
  rescheduleGroups,
} from "../../src/store/planning.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { sampleIncident } from "../support/incidents.ts";
import { addChannel, assign, flip, owe, watchedCheck } from "../support/owed.ts";
import { MONDAY_NOON as NOW, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();
const write = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(database.db, work);
const set = (table: string, id: number, change: string) =>
  database.db.pool.query(`update ${table} set ${change} where id = $1`, [id]);
const disable = (channelId: number) =>
  write((tx) => disableChannel(tx, { channelId, at: NOW, reason: "gone" }));
const SENT = "state = 'sent', next_try_at = null, settled_at = '2026-11-16 12:00Z'";
const CLOSED = "closed_at = '2026-11-16 12:00Z', close_cause = 'recovered'";
const RESOLVED = "state = 'resolved', resolved_at = '2026-11-16 12:00Z'";

let projectId: number;

beforeEach(async () => {
  await database.db.pool.query(
    "truncate incidents, incident_events, alerts, deliveries, delivery_alerts cascade",
  );
  projectId = (await sampleProject(database.db)).id;
});

async function incidentOf(checkCount: number, given: { key?: string; severity?: "low" | "high" } = {}) {
  const checkIds: number[] = [];
  for (let i = 0; i < checkCount; i += 1) checkIds.push((await sampleCheck(database.db, { projectId })).id);
  const incident = await sampleIncident(database.db, { projectId, checkIds, ...given });
  return { ...incident, checkIds, alertId: incident.alertIds[0] ?? 0, checkId: checkIds[0] ?? 0 };
}

/** Group messages of an incident, each to a channel of its own. */
async function groupMessages(incidentId: number, count: number) {
  const channels: Channel[] = [];
  for (let i = 0; i < count; i += 1) channels.push(await addChannel(database.db, { projectId }));
  const deliveries = channels.map(({ id }) => ({
    incidentId,
    channelId: id,
    groupId: null,
    dueAt: NOW + 30_000,
  }));
  const ids = await write((tx) => insertGroupDeliveries(tx, { deliveries, at: NOW }));
  return ids.map((id, index) => ({ id, channelId: channels[index]?.id ?? 0 }));
}

const name = (
  deliveryIds: readonly number[],
  alertIds: readonly number[],
  change: "opened" | "closed" = "opened",
) =>
  write((tx) =>
    addToDeliveries(
      tx,
      deliveryIds.flatMap((deliveryId) => alertIds.map((alertId) => ({ deliveryId, alertId, change }))),
    ),
  );

describe("a grouped alert is sent to", () => {
  const recipients = async (checkId: number, channelIds: readonly number[] = []) => {
    const added = channelIds.map((channelId) => ({ alertId: 7, channelId }));
    const found = await write((tx) => listRecipients(tx, { alerts: [{ alertId: 7, checkId }], added }));
    return found.map(({ channelId, groupId }) => ({ channelId, groupId }));
  };

  test("the channels of its check and those added by rules, once each", async () => {
    const { check, channel } = await watchedCheck(database.db);
    const other = await addChannel(database.db, { projectId: check.projectId });
    expect(await recipients(check.id, [other.id, channel.id])).toEqual(
      [channel, other].map(({ id }) => ({ channelId: id, groupId: null })),
    );
  });

  test("the members of a group instead of the group, also disabled ones", async () => {
    const { check, channels } = await watchedCheck(database.db, { channelCount: 2 });
    const config = { members: channels.map(({ uuid }) => uuid) };
    const group = await addChannel(database.db, { projectId: check.projectId, kind: "group", config });
    await assign(database.db, check, [group]);
    await disable(channels[0]?.id ?? 0);
    const members = channels.map(({ id }) => ({ channelId: id, groupId: group.id }));
    expect(await recipients(check.id)).toEqual(members);
    expect(await recipients(check.id, [channels[1]?.id ?? 0])).toEqual(members);
    await disable(group.id);
    expect(await recipients(check.id)).toEqual([]);
  });

  test("no disabled channel, and none if there are none", async () => {
    const { check, channel } = await watchedCheck(database.db);
    await disable(channel.id);
    expect(await recipients(check.id, [channel.id])).toEqual([]);
    expect(await write((tx) => listRecipients(tx, { alerts: [], added: [] }))).toEqual([]);
  });
});

describe("a group message", () => {
  test("is due at its time, and is created in the given order", async () => {
    const { id: incidentId } = await incidentOf(0);
    const messages = await groupMessages(incidentId, 3);
    const ids = messages.map(({ id }) => id);
    expect(await findDeliveries(database.db, ids)).toMatchObject(
      messages.map(({ id, channelId }) => ({
        id,
        channelId,
        kind: "group",
        incidentId,
        checkId: null,
        state: "pending",
        createdAt: NOW,
        nextTryAt: NOW + 30_000,
      })),
    );
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
    expect(await write((tx) => insertGroupDeliveries(tx, { deliveries: [], at: NOW }))).toEqual([]);
  });

  test("takes more alerts until it is being sent", async () => {
    const { id: incidentId, alertIds } = await incidentOf(1);
    const [open, claimed, sent] = await groupMessages(incidentId, 3);
    const [again] = await write((tx) =>
      insertGroupDeliveries(tx, {
        deliveries: [{ incidentId, channelId: sent?.channelId ?? 0, groupId: null, dueAt: NOW }],
        at: NOW,
      }),
    );
    await name([open?.id ?? 0], alertIds);
    await set("deliveries", claimed?.id ?? 0, "message_id = id");
    await set("deliveries", sent?.id ?? 0, SENT);
    // An incident has messages about single checks too.
    const { check } = await watchedCheck(database.db);
    await owe(database.db, { check }, flip("down"));
    await database.db.pool.query("update deliveries set incident_id = $1 where kind = 'flip'", [incidentId]);
    const queues = await write((tx) => lockGroupQueues(tx, [incidentId]));
    expect(queues.toSorted((a, b) => a.channelId - b.channelId)).toEqual([
      { incidentId, channelId: open?.channelId, openId: open?.id, lastSentAt: null },
      { incidentId, channelId: sent?.channelId, openId: again, lastSentAt: NOW },
    ]);
    expect(await write((tx) => lockGroupQueues(tx, []))).toEqual([]);
  });

  test("cannot be claimed while the planner adds to it", async () => {
    const { id: incidentId } = await incidentOf(0);
    const [message] = await groupMessages(incidentId, 1);
    await write(async (tx) => {
      await lockGroupQueues(tx, [incidentId]);
      const { rows } = await database.db.pool.query(
        "select id from deliveries where id = $1 for update skip locked",
        [message?.id],
      );
      expect(rows).toEqual([]);
    });
  });

  test("names an opening that is unsaid, claimed, said or over", async () => {
    const { id: incidentId, alertId } = await incidentOf(1);
    const messages = await groupMessages(incidentId, 7);
    const [, bound, sent, dead, withdrawn, claimed, died] = messages.map(({ id }) => id);
    const ids = messages.map(({ id }) => id);
    await name(ids, [alertId]);
    await name(ids, [alertId]);
    await name(ids.slice(0, 1), [alertId], "closed");
    await set("deliveries", bound ?? 0, "message_id = id");
    const claim = (until: string) =>
      `message_id = id, claimed_by = gen_random_uuid(), claimed_until_at = '${until}'`;
    await set("deliveries", claimed ?? 0, claim("2026-11-16 12:00:01Z"));
    await set("deliveries", died ?? 0, claim("2026-11-16 12:00Z"));
    await set("deliveries", sent ?? 0, SENT);
    for (const [id, state] of [
      [dead, "dead"],
      [withdrawn, "withdrawn"],
    ] as const) {
      await set("deliveries", id ?? 0, `state = '${state}', next_try_at = null, settled_at = '2026-11-16'`);
    }
    const states = ["unsaid", "said", "said", "over", "over", "claimed", "said"] as const;
    expect(
      await write((tx) => listOpenings(tx, { alertIds: [alertId, 999_999], claimedAfter: NOW })),
    ).toEqual(
      messages.map(({ id, channelId }, index) => ({
        alertId,
        deliveryId: id,
        channelId,
        groupId: null,
        state: states[index],
      })),
    );
    expect(await write((tx) => listOpenings(tx, { alertIds: [], claimedAfter: NOW }))).toEqual([]);
  });

  test("without any line left is withdrawn", async () => {
    const { id: incidentId, alertIds } = await incidentOf(2);
    const messages = await groupMessages(incidentId, 4);
    const [empty, listed, recovered, claimed] = messages.map(({ id }) => id);
    const [first = 0, second = 0] = alertIds;
    await name([empty ?? 0, recovered ?? 0, claimed ?? 0], [first]);
    await name([listed ?? 0], alertIds);
    await name([recovered ?? 0], [second], "closed");
    await set("deliveries", claimed ?? 0, "message_id = id");
    const openings = messages.map(({ id }) => ({ deliveryId: id, alertId: first }));
    await write((tx) => removeOpenings(tx, { openings, at: NOW + 5 }));
    const { rows } = await database.db.pool.query<{ state: string; settled_at: number | null }>(
      "select state, settled_at from deliveries order by id",
    );
    const pending = { state: "pending", settled_at: null };
    expect(rows).toEqual([{ state: "withdrawn", settled_at: NOW + 5 }, pending, pending, pending]);
    expect(await write((tx) => listOpenings(tx, { alertIds: [first], claimedAfter: NOW }))).toEqual([]);
    expect(await write((tx) => listOpenings(tx, { alertIds: [second], claimedAfter: NOW }))).toMatchObject([
      { deliveryId: listed },
    ]);
  });

  test("that is not being sent can be due at another time", async () => {
    const { id: incidentId } = await incidentOf(0);
    const other = await incidentOf(0);
    const [open, claimed] = await groupMessages(incidentId, 2);
    const [unrelated] = await groupMessages(other.id, 1);
    await set("deliveries", claimed?.id ?? 0, "message_id = id");
    await write((tx) => rescheduleGroups(tx, [{ incidentId, dueAt: NOW + 9 }]));
    const { rows } = await database.db.pool.query("select id, next_try_at from deliveries order by id");
    expect(rows).toEqual([
      { id: open?.id, next_try_at: NOW + 9 },
      { id: claimed?.id, next_try_at: NOW + 30_000 },
      { id: unrelated?.id, next_try_at: NOW + 30_000 },
    ]);
  });

  test("that is not being sent can be due earlier, and not later", async () => {
    const { id: incidentId } = await incidentOf(0);
    const [sooner, later, claimed] = (await groupMessages(incidentId, 3)).map(({ id }) => id);
    await set("deliveries", claimed ?? 0, "message_id = id");
    const due = [
      { deliveryId: sooner ?? 0, dueAt: NOW + 9 },
      { deliveryId: later ?? 0, dueAt: NOW + 30_001 },
      { deliveryId: claimed ?? 0, dueAt: NOW + 9 },
    ];
    await write((tx) => hastenGroups(tx, due));
    const { rows } = await database.db.pool.query("select next_try_at from deliveries order by id");
    expect(rows.map(({ next_try_at: at }) => Number(at) - NOW)).toEqual([9, 30_000, 30_000]);
  });

  test("has the checks that are still down", async () => {
    const { id: incidentId, alertIds, checkIds } = await incidentOf(3);
    const [first, second] = await groupMessages(incidentId, 2);
    const [, recovered = 0, unnamed = 0] = alertIds;
    await name([first?.id ?? 0, second?.id ?? 0], alertIds.slice(0, 2));
    await name([first?.id ?? 0], [unnamed], "closed");
    await set("alerts", recovered, CLOSED);
    const queued = () => write((tx) => listQueuedChecks(tx, [incidentId]));
    expect(await queued()).toEqual([{ incidentId, checkId: checkIds[0] }]);
    await set("incidents", incidentId, "key = 'project'");
    expect(await queued()).toEqual([]);
    await set("incidents", incidentId, "key = null");
    await set("deliveries", first?.id ?? 0, "message_id = id");
    await set("deliveries", second?.id ?? 0, SENT);
    expect(await queued()).toEqual([]);
  });
});

describe("an incident", () => {
  const row = async (id: number) => {
    const { rows } = await database.db.pool.query<Record<string, unknown>>(
      `select state, severity, resolved_at, acknowledged_at, acknowledged_by, acknowledged_by_channel, reopen_count,
        flapping_at, next_step_at from incidents where id = $1`,
      [id],
    );
    return rows[0];
  };
  const ACKNOWLEDGED = "state = 'acknowledged', acknowledged_at = '2026-11-16 12:00Z', acknowledged_by = 3";

  test("is found by its key in its project until it is resolved", async () => {
    const open = await incidentOf(1, { key: "tag:db" });
    const acknowledged = await incidentOf(1, { key: "tag:web" });
    const resolved = await incidentOf(1, { key: "project" });
    await set("incidents", acknowledged.id, ACKNOWLEDGED);
    await set("incidents", resolved.id, RESOLVED);
    const find = (...keys: { projectId: number; key: string }[]) =>
      write((tx) => findIncidentsByKey(tx, keys));
    const keys = ["tag:db", "tag:web", "project", "tag:none"].map((key) => ({ projectId, key }));
    expect(await find(...keys)).toEqual([
      { id: open.id, projectId, key: "tag:db", openedAt: NOW },
      { id: acknowledged.id, projectId, key: "tag:web", openedAt: NOW },
    ]);
    expect(await find({ projectId: projectId + 1, key: "tag:db" })).toEqual([]);
    expect(await find()).toEqual([]);
  });

  test("is the last one of a check, with its reopenings", async () => {
    const { checkId, ...old } = await incidentOf(1);
    await set("alerts", old.alertId, CLOSED);
    const last = await sampleIncident(database.db, { projectId, checkIds: [checkId] });
    await set("incidents", last.id, `${RESOLVED}, flapping_at = '2026-11-16 12:00Z'`);
    await set("alerts", last.alertIds[0] ?? 0, CLOSED);
    // The newest alert is not planned yet.
    await database.db.pool.query(
      `insert into alerts (check_id, cause, opened_at, opened_flip_id, plan_at) values ($1, 'missed', now(), 1, now())`,
      [checkId],
    );
    for (const [at, kind] of [
      [NOW - 5, "reopened"],
      [NOW, "reopened"],
      [NOW + 5, "reopened"],
      [NOW + 6, "note"],
    ]) {
      await database.db.pool.query(
        "insert into incident_events (incident_id, at, kind, detail) values ($1, to_timestamp($2 / 1000.0), $3, '{}')",
        [last.id, at, kind],
      );
    }
    const unknown = await sampleCheck(database.db, { projectId });
    const find = (reopenedSince: number) =>
      write((tx) => findLastIncidents(tx, { checkIds: [checkId, unknown.id], reopenedSince }));
    const found = {
      checkId,
      alertId: last.alertIds[0],
      incidentId: last.id,
      resolvedAt: NOW,
      flappingAt: NOW,
      closedAt: NOW,
      reopenedAts: [NOW + 5],
    };
    expect(await find(NOW)).toEqual([found]);
    expect(await find(NOW + 5)).toEqual([{ ...found, reopenedAts: [] }]);
    expect(await write((tx) => findLastIncidents(tx, { checkIds: [], reopenedSince: 0 }))).toEqual([]);
  });

  test("is open again without its acknowledgement, and keeps since when it has been flapping", async () => {
    const { id: incidentId } = await incidentOf(1);
    await set("incidents", incidentId, `${RESOLVED}, acknowledged_at = now(), acknowledged_by_channel = 4`);
    const reopen = (flappingAt: number | null, nextStepAt: number | null) =>
      write((tx) => reopenIncidents(tx, [{ incidentId, flappingAt, nextStepAt }]));
    await reopen(null, NOW + 1);
    expect(await row(incidentId)).toEqual({
      state: "open",
      severity: "normal",
      resolved_at: null,
      acknowledged_at: null,
      acknowledged_by: null,

      acknowledged_by_channel: null,
      reopen_count: 1,
      flapping_at: null,
      next_step_at: NOW + 1,
    });
    await reopen(NOW + 2, null);
    await reopen(NOW + 3, null);
    expect(await row(incidentId)).toMatchObject({
      reopen_count: 3,
      flapping_at: NOW + 2,
      next_step_at: null,
    });
  });

  test("is raised by a more severe alert only, which ends its acknowledgement", async () => {
    const { id: incidentId } = await incidentOf(1);
    await set("incidents", incidentId, ACKNOWLEDGED);
    const raise = (severity: "low" | "normal" | "high") =>
      write((tx) => raiseIncidents(tx, [{ incidentId, severity }]));
    await raise("low");
    await raise("normal");
    expect(await row(incidentId)).toMatchObject({
      state: "acknowledged",
      severity: "normal",
      next_step_at: null,
    });
    await raise("high");
    expect(await row(incidentId)).toMatchObject({
      state: "open",
      severity: "high",
      acknowledged_at: null,
      acknowledged_by: null,
      next_step_at: 0,
    });
    const resolved = await incidentOf(1, { severity: "low" });
    await set("incidents", resolved.id, RESOLVED);
    await write((tx) => raiseIncidents(tx, [{ incidentId: resolved.id, severity: "high" }]));
    expect(await row(resolved.id)).toMatchObject({ state: "resolved", severity: "low" });
  });

  test("is over when all of its alerts are closed", async () => {
    const over = await incidentOf(2);
    const open = await incidentOf(2);
    const empty = await incidentOf(0);
    for (const id of [...over.alertIds, open.alertId]) await set("alerts", id, CLOSED);
    const ids = [over.id, open.id, empty.id];
    expect(await write((tx) => listOverIncidents(tx, { incidentIds: ids, planningIds: [] }))).toEqual(
      new Set([over.id]),
    );
    expect(await write((tx) => listOverIncidents(tx, { incidentIds: [], planningIds: [] }))).toEqual(
      new Set(),
    );
  });
});

describe("a check that others depend on", () => {
  const parent = async (checkId: number) => (await write((tx) => listParents(tx, [checkId])))[0];

  test("has its state, and no alert while it is up", async () => {
    const { check } = await watchedCheck(database.db);
    await database.db.pool.query(
      `update check_states set status = 'down', down_at = $2, sweep_at = $2, judged = '{"problem": "tolerated"}'
        where check_id = $1`,
      [check.id, new Date(NOW)],
    );
    const { alertId, checkId } = await incidentOf(1);
    await set("alerts", alertId, CLOSED);
    expect(await parent(check.id)).toEqual({
      checkId: check.id,
      status: "down",
      downAt: NOW,
      problem: "tolerated",
      hasChannel: true,
      alert: null,
    });
    expect(await parent(checkId)).toMatchObject({ status: "new", problem: null, alert: null });
    expect(await write((tx) => listParents(tx, []))).toEqual([]);
  });

  test("has notified if a message about its alert is pending or sent", async () => {
    const { check } = await watchedCheck(database.db);
    const [flipId = 0] = await owe(database.db, { check }, flip("down"));
    const hasDelivery = async () => (await parent(check.id))?.alert?.hasDelivery;
    const settle = (state: string) =>
      database.db.pool.query(
        "update deliveries set state = $2, next_try_at = null, settled_at = now() where flip_id = $1",
        [flipId, state],
      );
    expect(await parent(check.id)).toMatchObject({ alert: { heldBy: null, planAt: 0, hasDelivery: true } });
    for (const [state, has] of [
      ["sent", true],
      ["merged", true],
      ["dead", false],
      ["skipped", false],
    ] as const) {
      await settle(state);
      expect(await hasDelivery()).toBe(has);
    }
  });

  test("has notified if a process of the previous release has", async () => {
    const { check } = await watchedCheck(database.db);
    await owe(database.db, { check }, flip("down"));
    await database.db.pool.query("update deliveries set alert_id = null, incident_id = null");
    expect(await parent(check.id)).toMatchObject({ alert: { hasDelivery: true } });
  });

  test("has notified if a group message names it, and not while it is held", async () => {
    const { id: incidentId, alertId, checkId } = await incidentOf(1);
    expect(await parent(checkId)).toMatchObject({ alert: { incidentId, hasDelivery: false } });
    const [message] = await groupMessages(incidentId, 1);
    await name([message?.id ?? 0], [alertId]);
    expect(await parent(checkId)).toMatchObject({ alert: { hasDelivery: true } });
    await set("deliveries", message?.id ?? 0, "state = 'withdrawn', next_try_at = null, settled_at = now()");
    await set("alerts", alertId, "incident_id = null, held_by = 'silence', plan_at = '2026-11-16 12:00Z'");
    expect((await parent(checkId))?.alert).toEqual({
      incidentId: null,
      isCombined: false,
      heldBy: "silence",
      planAt: NOW,
      hasDelivery: false,
    });
  });
});
