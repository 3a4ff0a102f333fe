// What becomes due by time alone: steps of incidents, reminders, and windows of silences.
import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { HOUR_MS } from "../../src/core/instant.ts";
import { disableChannel } from "../../src/store/channels.ts";
import { markCheckDeleted } from "../../src/store/checks.ts";
import { listDeliveriesOfChannel } from "../../src/store/deliveries.ts";
import { addToDeliveries, insertGroupDeliveries } from "../../src/store/planning.ts";
import { findSilence, insertSilence } from "../../src/store/silences.ts";
import {
  claimDueIncidents,
  claimEndedWindows,
  hasDueSteps,
  insertRepeats,
  listOpenAlerts,
  listOpenAlertsOfProject,
  reviewSteps,
  setNextSteps,
  setWindowEnds,
} from "../../src/store/steps.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { sampleIncident } from "../support/incidents.ts";
import { addChannel, assign, flip, owe, watchedCheck } from "../support/owed.ts";
import { MONDAY_NOON as NOW, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();
const write = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(database.db, work);
const query = async <Row extends object>(text: string, values: unknown[] = []) =>
  (await database.db.pool.query<Row>(text, values)).rows;
const set = (table: string, id: number, change: string) =>
  query(`update ${table} set ${change} where id = $1`, [id]);
const SENT = "state = 'sent', next_try_at = null, settled_at = '2026-11-16 12:00Z'";

let projectId: number;

beforeEach(async () => {
  await query("truncate incidents, incident_events, alerts, deliveries, delivery_alerts, silences cascade");
  projectId = (await sampleProject(database.db)).id;
});

const newCheck = async () => (await sampleCheck(database.db, { projectId })).id;
const open = async (nextStepAt?: number) => {
  const checkId = await newCheck();
  const given = nextStepAt === undefined ? {} : { nextStepAt };
  const incident = await sampleIncident(database.db, { projectId, checkIds: [checkId], ...given });
  return { ...incident, checkId, alertId: incident.alertIds[0] ?? 0 };
};
const ACKNOWLEDGED = `state = 'acknowledged', acknowledged_at = '2026-11-16 12:00Z', acknowledged_by = 3,
  acknowledged_by_channel = 4`;
const NOTIFIED = "notified_at = '2026-11-16 12:00Z'";

async function newSilence(): Promise<{ id: number; uuid: string }> {
  const uuid = randomUUID();
  const plan = {
    ...({ scope: { kind: "all" }, reason: "", untilSuccess: false } as const),
    schedule: null,
    tz: null,
    durationSeconds: null,
    holdAfterSeconds: 0,
    from: NOW,
    until: NOW + HOUR_MS,
  };
  await write((tx) => insertSilence(tx, { ...plan, uuid, projectId, accountId: null, createdAt: NOW }));
  return { id: (await findSilence(database.db, { projectId, uuid }))?.id ?? 0, uuid };
}

describe("steps are due", () => {
  test("when one of an incident is, or a window of a silence ends", async () => {
    expect(await hasDueSteps(database.db, NOW)).toBe(false);
    const { id } = await open(NOW);
    expect(await hasDueSteps(database.db, NOW - 1)).toBe(false);
    expect(await hasDueSteps(database.db, NOW)).toBe(true);
    await set("incidents", id, "next_step_at = null");
    expect(await hasDueSteps(database.db, NOW)).toBe(false);
    const silence = await newSilence();
    await write((tx) => setWindowEnds(tx, [{ silenceId: silence.id, at: NOW }]));
    expect(await hasDueSteps(database.db, NOW - 1)).toBe(false);
    expect(await hasDueSteps(database.db, NOW)).toBe(true);
    await open(NOW + HOUR_MS);
    expect(await hasDueSteps(database.db, NOW)).toBe(true);
  });

  test("oldest first, not those of another transaction, and at most as many as asked for", async () => {
    const [second, first, later] = [await open(NOW), await open(NOW - 1), await open(NOW + 1)];
    await open();
    const claim = (tx: Tx, limit: number) => claimDueIncidents(tx, { now: NOW, limit });
    const ids = (claimed: readonly { id: number }[]) => claimed.map(({ id }) => id);
    await write(async (tx) => {
      expect(ids(await claim(tx, 1))).toEqual([first.id]);
      expect(ids(await write((other) => claim(other, 9)))).toEqual([second.id]);
    });
    expect(ids(await write((tx) => claim(tx, 9)))).not.toContain(later.id);
  });

  test("with what was sent about the incident, and whether something is not", async () => {
    const { id, projectId: mine } = await open(NOW);
    const claim = () => write((tx) => claimDueIncidents(tx, { now: NOW, limit: 9 }));
    const fresh = {
      id,
      projectId: mine,
      state: "open",
      acknowledgedAt: null,
      hasUnsent: false,
      lastSentAt: null,
    };
    expect(await claim()).toEqual([fresh]);
    const channel = await addChannel(database.db, { projectId });
    const message = { incidentId: id, channelId: channel.id, groupId: null, dueAt: NOW };
    const [first = 0, second = 0, dead = 0] = await write((tx) =>
      insertGroupDeliveries(tx, { deliveries: [message, message, message], at: NOW }),
    );
    await set("deliveries", first, SENT);
    await set("deliveries", dead, "state = 'dead', next_try_at = null, settled_at = '2026-11-16 13:00Z'");
    expect(await claim()).toEqual([{ ...fresh, hasUnsent: true, lastSentAt: NOW }]);
    await set("deliveries", second, "state = 'sent', next_try_at = null, settled_at = '2026-11-16 12:30Z'");
    await set("incidents", id, ACKNOWLEDGED);
    expect(await claim()).toEqual([
      { ...fresh, state: "acknowledged", acknowledgedAt: NOW, lastSentAt: NOW + HOUR_MS / 2 },
    ]);
  });
});

describe("the next step", () => {
  const row = async (id: number) =>
    (
      await query<Record<string, unknown>>(
        "select state, acknowledged_at, acknowledged_by, acknowledged_by_channel, next_step_at from incidents where id = $1",
        [id],
      )
    )[0];

  test("is set, and can end an acknowledgement", async () => {
    const [kept, ended] = [await open(NOW), await open(NOW)];
    for (const { id } of [kept, ended]) await set("incidents", id, ACKNOWLEDGED);
    await write((tx) =>
      setNextSteps(tx, [
        { incidentId: kept.id, at: null, endsAcknowledgement: false },
        { incidentId: ended.id, at: NOW + 1, endsAcknowledgement: true },
      ]),
    );
    expect(await row(kept.id)).toEqual({
      state: "acknowledged",
      acknowledged_at: NOW,
      acknowledged_by: 3,
      acknowledged_by_channel: 4,
      next_step_at: null,
    });
    expect(await row(ended.id)).toEqual({
      state: "open",
      acknowledged_at: null,
      acknowledged_by: null,
      acknowledged_by_channel: null,
      next_step_at: NOW + 1,
    });
    await write((tx) => setNextSteps(tx, []));
  });

  test("is due at once for the incidents of a project that are not resolved", async () => {
    const [one, acknowledged, resolved] = [await open(), await open(NOW + HOUR_MS), await open()];
    await set("incidents", acknowledged.id, ACKNOWLEDGED);
    await set("incidents", resolved.id, "state = 'resolved', resolved_at = now()");
    const mine = projectId;
    projectId = (await sampleProject(database.db)).id;
    const other = await open();
    await write((tx) => reviewSteps(tx, mine));
    expect(await row(one.id)).toMatchObject({ state: "open", next_step_at: 0 });
    expect(await row(acknowledged.id)).toMatchObject({ state: "acknowledged", next_step_at: 0 });
    for (const { id } of [resolved, other]) expect(await row(id)).toMatchObject({ next_step_at: null });
  });
});

describe("open alerts", () => {
  test("of incidents are those that were notified and whose check is not deleted", async () => {
    const checks = [await newCheck(), await newCheck(), await newCheck(), await newCheck()];
    const [known = 0, , , deleted = 0] = checks;
    await query("update checks set tags = 'db web' where id = $1", [known]);
    const { id, alertIds } = await sampleIncident(database.db, { projectId, checkIds: checks });
    const [notified = 0, , closed = 0, trashed = 0] = alertIds;
    for (const alertId of [notified, closed, trashed]) await set("alerts", alertId, NOTIFIED);
    await set("alerts", closed, "closed_at = now(), close_cause = 'recovered'");
    await write((tx) => markCheckDeleted(tx, { checkId: deleted, at: NOW }));
    const alert = {
      id: notified,
      incidentId: id,
      checkId: known,
      projectId,
      tags: "db web",
      cause: "missed",
      openedAt: NOW,
      notifiedAt: NOW,
      isAcknowledged: false,
    };
    expect(await write((tx) => listOpenAlerts(tx, [id]))).toEqual([alert]);
    await set("incidents", id, ACKNOWLEDGED);
    const acknowledged = [{ ...alert, isAcknowledged: true }];
    expect(await write((tx) => listOpenAlerts(tx, [id]))).toEqual(acknowledged);
    expect(await write((tx) => listOpenAlertsOfProject(tx, { projectId, limit: 9 }))).toEqual(acknowledged);
    expect(await write((tx) => listOpenAlerts(tx, []))).toEqual([]);
  });

  test("of a project are limited, without those of other projects", async () => {
    const [first, second] = [await open(), await open()];
    const list = async (limit: number, of = projectId) =>
      (await write((tx) => listOpenAlertsOfProject(tx, { projectId: of, limit }))).map(({ id }) => id);
    for (const { alertId } of [first, second]) await set("alerts", alertId, NOTIFIED);
    expect(await list(9)).toEqual([first.alertId, second.alertId]);
    expect(await list(1)).toEqual([first.alertId]);
    expect(await list(9, projectId + 1)).toEqual([]);
  });
});

describe("a reminder", () => {
  const remind = (...alertIds: number[]) => write((tx) => insertRepeats(tx, { alertIds, at: NOW + HOUR_MS }));
  const log = async (channel: { id: number } | undefined) =>
    (await listDeliveriesOfChannel(database.db, { channelId: channel?.id ?? 0, limit: 9 })).toReversed();
  const kinds = async (channel: { id: number } | undefined) => (await log(channel)).map(({ kind }) => kind);
  const mark = (channel: { id: number } | undefined, change: string) =>
    query(`update deliveries set ${change} where channel_id = $1`, [channel?.id]);
  const alertOf = async (checkId: number) =>
    (
      await query<{ id: number; incident_id: number }>(
        "select id, incident_id from alerts where check_id = $1",
        [checkId],
      )
    )[0] ?? { id: 0, incident_id: 0 };

  test("goes to the channels that have got the problem, each time", async () => {
    const { check, channels } = await watchedCheck(database.db, { channelCount: 4 });
    const [sent, merged, unsent, dead] = channels;
    const [flipId] = await owe(database.db, { check }, flip("down"));
    await mark(sent, SENT);
    await mark(merged, "state = 'merged', next_try_at = null, settled_at = now()");
    await mark(dead, "state = 'dead', next_try_at = null, settled_at = now()");
    const { id: alertId, incident_id: incidentId } = await alertOf(check.id);
    await remind(alertId);
    await remind(alertId);
    expect((await log(sent)).slice(1)).toMatchObject(
      [1, 2].map(() => ({
        kind: "repeat",
        state: "pending",
        checkId: check.id,
        flipId,
        alertId,
        incidentId,
        createdAt: NOW + HOUR_MS,
        nextTryAt: NOW + HOUR_MS,
      })),
    );
    expect(await kinds(merged)).toEqual(["flip", "repeat", "repeat"]);
    for (const channel of [unsent, dead]) expect(await kinds(channel)).toEqual(["flip"]);
  });

  test("goes to a disabled channel only by a group", async () => {
    const { check, channels } = await watchedCheck(database.db, { channelCount: 2 });
    const [off, member] = channels;
    const config = { members: [member?.uuid] };
    const group = await addChannel(database.db, { projectId: check.projectId, kind: "group", config });
    await assign(database.db, check, [...channels.slice(0, 1), group]);
    await owe(database.db, { check }, flip("down"));
    for (const channel of channels) {
      await mark(channel, SENT);
      await write((tx) => disableChannel(tx, { channelId: channel.id, at: NOW, reason: "gone" }));
    }
    await remind((await alertOf(check.id)).id);
    expect(await kinds(off)).toEqual(["flip"]);
    expect(await log(member)).toMatchObject([{ kind: "flip" }, { kind: "repeat", groupId: group.id }]);
  });

  test("follows a problem that a process of the previous release has notified", async () => {
    const { check, channel } = await watchedCheck(database.db);
    await owe(database.db, { check }, flip("down"));
    await mark(channel, `${SENT}, alert_id = null, incident_id = null`);
    const { id: alertId, incident_id: incidentId } = await alertOf(check.id);
    await remind(alertId);
    await remind(alertId);
    const repeat = { kind: "repeat", alertId, incidentId };
    expect(await log(channel)).toMatchObject([{ kind: "flip", alertId: null }, repeat, repeat]);
  });

  test("about several checks is one message for each channel", async () => {
    const { id: incidentId, alertIds } = await sampleIncident(database.db, {
      projectId,
      checkIds: [await newCheck(), await newCheck(), await newCheck()],
    });
    const [sent, unsent, off] = [
      await addChannel(database.db, { projectId }),
      await addChannel(database.db, { projectId }),
      await addChannel(database.db, { projectId }),
    ];
    const deliveries = [sent, sent, unsent, off].map(({ id }) => ({
      incidentId,
      channelId: id,
      groupId: null,
      dueAt: NOW,
    }));
    const ids = await write((tx) => insertGroupDeliveries(tx, { deliveries, at: NOW }));
    const lines = ids.flatMap((deliveryId, index) =>
      alertIds
        .slice(0, index === 0 ? 2 : 3)
        .map((alertId) => ({ deliveryId, alertId, change: "opened" as const })),
    );
    await write((tx) => addToDeliveries(tx, lines));
    for (const channel of [sent, off]) await mark(channel, SENT);
    await write((tx) => disableChannel(tx, { channelId: off.id, at: NOW, reason: "gone" }));
    await remind(...alertIds.slice(1));
    const [, , reminder, ...others] = await log(sent);
    expect(reminder).toMatchObject({ kind: "group", incidentId, state: "pending", createdAt: NOW + HOUR_MS });
    expect(others).toEqual([]);
    const named = await query(
      "select alert_id, change from delivery_alerts where delivery_id = $1 order by 1",
      [reminder?.id],
    );
    expect(named).toEqual(alertIds.slice(1).map((id) => ({ alert_id: id, change: "opened" })));
    for (const channel of [unsent, off]) expect(await log(channel)).toHaveLength(1);
    await remind();
  });
});

describe("the window of a silence", () => {
  const ended = (now: number, limit = 9) => write((tx) => claimEndedWindows(tx, { now, limit }));

  test("of one that is new is looked at, then at its end, then no more", async () => {
    const { id: silenceId } = await newSilence();
    expect(await ended(NOW)).toEqual([{ silenceId, endsAt: 0 }]);
    await write((tx) => setWindowEnds(tx, [{ silenceId, at: NOW + HOUR_MS }]));
    expect(await ended(NOW + HOUR_MS - 1)).toEqual([]);
    expect(await ended(NOW + HOUR_MS)).toEqual([{ silenceId, endsAt: NOW + HOUR_MS }]);
    await write((tx) => setWindowEnds(tx, [{ silenceId, at: null }]));
    expect(await ended(NOW + 9 * HOUR_MS)).toEqual([]);
  });

  test("is claimed once, the oldest first", async () => {
    const [second, first] = [await newSilence(), await newSilence()];
    await write((tx) =>
      setWindowEnds(tx, [
        { silenceId: second.id, at: NOW },
        { silenceId: first.id, at: NOW - 1 },
      ]),
    );
    await write(async (tx) => {
      const claimed = await claimEndedWindows(tx, { now: NOW, limit: 1 });
      expect(claimed).toEqual([{ silenceId: first.id, endsAt: NOW - 1 }]);
      expect(await ended(NOW)).toEqual([{ silenceId: second.id, endsAt: NOW }]);
    });
    await write((tx) => setWindowEnds(tx, []));
  });
});
