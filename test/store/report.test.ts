import { beforeAll, describe, expect, test } from "vitest";
import { DAY_MS, MINUTE_MS } from "../../src/core/instant.ts";
import { listDayAverages, listReportAlerts, listRisingChecks } from "../../src/store/report.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();
const NOW = MONDAY_NOON;
const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10);

describe("alerts", () => {
  let projectId = 0;
  let checkId = 0;

  const alert = async (
    at: number,
    { minutes = 5, dropped = false, incidentId = null as number | null } = {},
  ) => {
    await database.db.pool.query(
      `insert into alerts (check_id, incident_id, cause, opened_at, opened_flip_id, closed_at, close_cause, planned_at,
          plan_at, dropped_at) values ($1, $2, 'missed', $3, 1, $4, 'recovered', $4, to_timestamp(0), $5)`,
      [checkId, incidentId, new Date(at), new Date(at + minutes * MINUTE_MS), dropped ? new Date(at) : null],
    );
  };

  beforeAll(async () => {
    projectId = (await sampleProject(database.db)).id;
    checkId = (await sampleCheck(database.db, { projectId })).id;
    const { rows } = await database.db.pool.query<{ id: number }>(
      `insert into incidents (project_id, number, state, severity, opened_at, resolved_at, reopen_count)
        values ($1, 1, 'resolved', 'normal', now(), now(), 0) returning id`,
      [projectId],
    );
    const incidentId = rows[0]?.id ?? 0;
    await alert(NOW - DAY_MS);
    await alert(NOW - 2 * DAY_MS, { incidentId });
    await alert(NOW - 3 * DAY_MS);
    await alert(NOW - 4 * DAY_MS, { dropped: true });
    await alert(NOW - 40 * DAY_MS);
    await database.db.pool.query(
      "insert into incident_events (incident_id, at, kind, detail) values ($1, $2, 'acknowledged', '{}')",
      [incidentId, new Date(NOW - 2 * DAY_MS + MINUTE_MS)],
    );
    await database.db.pool.query(
      "insert into events (check_id, at, kind, detail) values ($1, $2, 'edited', '{}'), ($1, $3, 'edited', '{}')",
      [checkId, new Date(NOW - 3 * DAY_MS + MINUTE_MS), new Date(NOW - DAY_MS + 6 * MINUTE_MS)],
    );
  });

  const listed = (limit: number) =>
    listReportAlerts(database.db, { projectId, from: NOW - 30 * DAY_MS, limit });

  test("come newest first, with what was done about them; silenced and old ones do not come", async () => {
    const openedAt = NOW - DAY_MS;
    expect(await listed(10)).toEqual([
      {
        checkId,
        openedAt,
        closedAt: openedAt + 5 * MINUTE_MS,
        closeCause: "recovered",
        isAcknowledged: false,
        isEdited: false,
      },
      expect.objectContaining({ openedAt: NOW - 2 * DAY_MS, isAcknowledged: true, isEdited: false }),
      expect.objectContaining({ openedAt: NOW - 3 * DAY_MS, isAcknowledged: false, isEdited: true }),
    ]);
    expect(await listed(1)).toHaveLength(1);
  });

  test("of another project do not come", async () => {
    const other = await sampleProject(database.db);
    expect(await listReportAlerts(database.db, { projectId: other.id, from: 0, limit: 10 })).toEqual([]);
  });
});

describe("durations", () => {
  const runs = async (checkId: number, count: number, averageOf: (day: number) => number) => {
    for (let day = 0; day < count; day += 1) {
      await database.db.pool.query("insert into check_days values ($1, $2, 2, 0, 2, $3, 0)", [
        checkId,
        dayOf(NOW - (count - day) * DAY_MS),
        2 * averageOf(day),
      ]);
    }
  };

  test("those that rose most come first; checks with too few days are left out", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const make = async () => (await sampleCheck(database.db, { projectId })).id;
    const [flat, rising, steep, young] = [await make(), await make(), await make(), await make()];
    await runs(flat, 20, () => 1_000);
    await runs(rising, 20, (day) => 1_000 + 10 * day);
    await runs(steep, 20, (day) => 1_000 + 100 * day);
    await runs(young, 5, (day) => 1_000 + 1_000 * day);
    const wanted = { projectId, fromDay: dayOf(NOW - 30 * DAY_MS), daysMin: 14 };
    expect(await listRisingChecks(database.db, { ...wanted, limit: 10 })).toEqual({
      ids: [steep, rising, flat],
      comparedCount: 3,
    });
    expect(await listRisingChecks(database.db, { ...wanted, limit: 1 })).toEqual({
      ids: [steep],
      comparedCount: 3,
    });
  });

  test("the average of each day with a measured run comes, oldest first", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const { id: checkId } = await sampleCheck(database.db, { projectId });
    await runs(checkId, 3, (day) => 500 + day);
    await database.db.pool.query("insert into check_days values ($1, $2, 4, 0, 0, 0, 0)", [
      checkId,
      dayOf(NOW),
    ]);
    expect(
      await listDayAverages(database.db, { checkIds: [checkId], fromDay: dayOf(NOW - 2 * DAY_MS) }),
    ).toEqual([
      { checkId, day: dayOf(NOW - 2 * DAY_MS), averageMs: 501 },
      { checkId, day: dayOf(NOW - DAY_MS), averageMs: 502 },
    ]);
  });
});
