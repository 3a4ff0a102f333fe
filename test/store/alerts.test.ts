// Alerts in the database: what the state machine writes, and what the planner finds.
import { expect, test } from "vitest";
import type { AlertChange } from "../../src/core/alert.ts";
import {
  claimAlerts,
  closeAlertOfTrashed,
  deleteAlertsOfCheck,
  findMovedAlert,
  hasUnplannedAlerts,
  holdAlerts,
  lockPlanner,
  markPlanned,
  postponeAlert,
  reopenAlertOfRestored,
  setIncidentOfAlert,
  writeAlerts,
} from "../../src/store/alerts.ts";
import { insertFlips } from "../../src/store/flips.ts";
import { insertIncidents, resolveIncidents } from "../../src/store/planning.ts";
import { releaseHeldAlerts } from "../../src/store/silences.ts";
import { reviewIncidents, reviewSteps } from "../../src/store/steps.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { flip, watchedCheck } from "../support/owed.ts";
import { MONDAY_NOON as NOW } from "../support/sample.ts";

const database = useDatabase();
const write = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(database.db, work);
const opened = (at = NOW): AlertChange => ({ kind: "opened", at, cause: "missed", flip: null });
const closed = (at: number): AlertChange => ({ kind: "closed", at, cause: "recovered", flip: null });
const rows = async (checkId: number) =>
  (
    await database.db.pool.query<Record<string, unknown>>(
      "select * from alerts where check_id = $1 order by id",
      [checkId],
    )
  ).rows;
const claim = (now = NOW) => write((tx) => claimAlerts(tx, { now, limit: 100 }));
const newIncident = (projectId: number) =>
  ({ projectId, openedAt: NOW, severity: "normal", key: null, nextStepAt: null }) as const;

async function openOne() {
  const { check } = await watchedCheck(database.db);
  const [flipId = 0] = await write((tx) => insertFlips(tx, [{ checkId: check.id, flip: flip("down") }]));
  await write((tx) => writeAlerts(tx, [{ checkId: check.id, change: opened(), flipId }]));
  return { check, flipId, alert: (await claim()).find(({ checkId }) => checkId === check.id) };
}

test("an alert is unplanned until it is planned, and again when it closes", async () => {
  const { check, flipId, alert } = await openOne();
  expect(alert).toMatchObject({ openedFlipId: flipId, closed: null, notifiedAt: null, heldBy: null });
  expect(await hasUnplannedAlerts(database.db, NOW)).toBe(true);
  const planned = { alertId: alert?.id ?? 0, incidentId: 1, notifiedAt: NOW, isDropped: false };
  await write((tx) => markPlanned(tx, [planned], NOW));
  expect((await claim()).some(({ checkId }) => checkId === check.id)).toBe(false);
  await write((tx) => writeAlerts(tx, [{ checkId: check.id, change: closed(NOW + 5), flipId: null }]));
  expect((await claim()).find(({ checkId }) => checkId === check.id)).toMatchObject({
    incidentId: 1,
    notifiedAt: NOW,
    closed: { at: NOW + 5, cause: "recovered" },
  });
});

test("changes of one transaction become one row for each alert", async () => {
  const { check } = await openOne();
  const changes = [closed(NOW + 1), opened(NOW + 2), closed(NOW + 3), opened(NOW + 4)];
  await write((tx) =>
    writeAlerts(
      tx,
      changes.map((change, index) => ({ checkId: check.id, change, flipId: index })),
    ),
  );
  const all = await rows(check.id);
  expect(all.map((row) => [row["opened_at"], row["closed_at"]])).toEqual([
    [NOW, NOW + 1],
    [NOW + 2, NOW + 3],
    [NOW + 4, null],
  ]);
});

test("an alert that opens without a flip belongs to the newest flip to down", async () => {
  const { check, flipId } = await openOne();
  await write((tx) =>
    writeAlerts(tx, [
      { checkId: check.id, change: closed(NOW + 1), flipId: null },
      { checkId: check.id, change: opened(NOW + 2), flipId: null },
    ]),
  );
  expect((await rows(check.id)).map((row) => row["opened_flip_id"])).toEqual([flipId, flipId]);
});

test("an alert without a flip does not belong to a flip that follows it in the same transaction", async () => {
  const { check } = await watchedCheck(database.db);
  await write(async (tx) => {
    const changes = [flip("down"), flip("up", NOW + 2), flip("down", NOW + 3)];
    const [first] = await insertFlips(
      tx,
      changes.map((change) => ({ checkId: check.id, flip: change })),
    );
    await writeAlerts(tx, [{ checkId: check.id, change: opened(NOW + 1), flipId: null }]);
    expect(first).toBeGreaterThan(0);
    const { rows: found } = await tx.query(
      {
        name: "found",
        text: "select opened_flip_id from alerts where check_id = $1",
      },
      [check.id],
    );
    expect(found).toEqual([{ opened_flip_id: first }]);
  });
});

test("a recovery and a problem that a process of the previous release wrote in between", async () => {
  const { check } = await openOne();
  const up = { checkId: check.id, flip: flip("up", NOW + 1) };
  const down = { checkId: check.id, flip: flip("down", NOW + 2) };
  const [upId, downId] = await write((tx) => insertFlips(tx, [up, down]));
  // The new release closes the problem of which it has no alert, and opens the next one.
  await write((tx) => writeAlerts(tx, [{ checkId: check.id, change: opened(NOW + 3), flipId: downId ?? 0 }]));
  expect(await rows(check.id)).toMatchObject([
    { closed_flip_id: upId, planned_at: null },
    { opened_flip_id: downId, closed_at: null },
  ]);
  await database.db.pool.query("delete from alerts where check_id = $1", [check.id]);
  const [lastId = 0] = await write((tx) =>
    insertFlips(tx, [{ checkId: check.id, flip: flip("up", NOW + 4) }]),
  );
  await write((tx) => writeAlerts(tx, [{ checkId: check.id, change: closed(NOW + 4), flipId: lastId }]));
  expect(await rows(check.id)).toMatchObject([{ opened_flip_id: downId, closed_flip_id: lastId }]);
});

test("a held alert is found when its time has come, or when the rules of its project change", async () => {
  const { check, alert } = await openOne();
  const held = { alertId: alert?.id ?? 0, until: NOW + 60_000, rule: "silence", silenceId: 7 } as const;
  const isFound = async (now: number) => (await claim(now)).some(({ checkId }) => checkId === check.id);
  await write((tx) => holdAlerts(tx, [held]));
  expect(await isFound(NOW + 59_999)).toBe(false);
  expect(await isFound(NOW + 60_000)).toBe(true);
  await write((tx) => releaseHeldAlerts(tx, check.projectId));
  expect(await isFound(NOW)).toBe(true);
});

test("the alert of a check in the trash is closed, and open again when it is restored", async () => {
  const { check, alert } = await openOne();
  const [incidentId = 0] = await write((tx) => insertIncidents(tx, [newIncident(check.projectId)]));
  const planned = { alertId: alert?.id ?? 0, incidentId, notifiedAt: NOW, isDropped: false };
  await write((tx) => markPlanned(tx, [planned], NOW));
  const trashed = { checkId: check.id, at: NOW + 1 };
  expect(await write((tx) => closeAlertOfTrashed(tx, trashed))).toBe(incidentId);
  await write((tx) => resolveIncidents(tx, [incidentId]));
  const state = async () =>
    (await database.db.pool.query("select state, next_step_at from incidents where id = $1", [incidentId]))
      .rows;
  expect(await state()).toEqual([{ state: "resolved", next_step_at: null }]);
  await write((tx) => reopenAlertOfRestored(tx, check.id));
  expect(await rows(check.id)).toMatchObject([{ closed_at: null, notified_at: NOW }]);
  expect(await state()).toEqual([{ state: "open", next_step_at: 0 }]);
});

test("an alert moves to an incident of another project, and is deleted with its check", async () => {
  const { check, alert } = await openOne();
  const [from = 0, to = 0] = await write((tx) =>
    insertIncidents(tx, [newIncident(check.projectId), newIncident(check.projectId)]),
  );
  const planned = { alertId: alert?.id ?? 0, incidentId: from, notifiedAt: NOW, isDropped: false };
  await write((tx) => markPlanned(tx, [planned], NOW));
  expect(await write((tx) => findMovedAlert(tx, check.id))).toEqual({ incidentId: from, openedAt: NOW });
  await write((tx) => setIncidentOfAlert(tx, { checkId: check.id, incidentId: to }));
  expect(await write((tx) => deleteAlertsOfCheck(tx, check.id))).toEqual([to]);
  const left = await database.db.pool.query("select id from incidents where id = any ($1)", [[from, to]]);
  expect(left.rows).toEqual([{ id: from }]);
});

test("one planner at a time", async () => {
  await write(async (tx) => {
    expect(await lockPlanner(tx)).toBe(true);
    expect(await write((other) => lockPlanner(other))).toBe(false);
  });
  expect(await write((tx) => lockPlanner(tx))).toBe(true);
});

test("an alert that could not be planned is tried again later", async () => {
  const { check, alert } = await openOne();
  await write((tx) => postponeAlert(tx, { alertId: alert?.id ?? 0, until: NOW + 5 }));
  expect((await claim()).some(({ checkId }) => checkId === check.id)).toBe(false);
  expect((await claim(NOW + 5)).some(({ checkId }) => checkId === check.id)).toBe(true);
});

test("an alert opens although its flip was deleted by age", async () => {
  const { check } = await watchedCheck(database.db);
  await write((tx) => writeAlerts(tx, [{ checkId: check.id, change: opened(), flipId: null }]));
  expect(await rows(check.id)).toMatchObject([{ opened_flip_id: 0 }]);
});

test("the next steps of incidents that are not resolved become due", async () => {
  const { check } = await watchedCheck(database.db);
  const created = [newIncident(check.projectId), newIncident(check.projectId)];
  const [open = 0, over = 0] = await write((tx) => insertIncidents(tx, created));
  await write((tx) => resolveIncidents(tx, [over]));
  await write((tx) => reviewIncidents(tx, [open, over]));
  const { rows: steps } = await database.db.pool.query(
    "select next_step_at from incidents where id = any ($1) order by id",
    [[open, over]],
  );
  expect(steps).toEqual([{ next_step_at: 0 }, { next_step_at: null }]);
  await database.db.pool.query("update incidents set next_step_at = null where id = $1", [open]);
  await write((tx) => reviewSteps(tx, check.projectId));
  const { rows: again } = await database.db.pool.query("select next_step_at from incidents where id = $1", [
    open,
  ]);
  expect(again).toEqual([{ next_step_at: 0 }]);
});
