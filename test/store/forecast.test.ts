// The forecast: schedules with usual durations, marks, and calendar feeds.
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import {
  deleteForecastFeed,
  deleteForecastMarks,
  deleteOldForecastMarks,
  findForecastFeed,
  findForecastFeedOwner,
  type ForecastMark,
  insertForecastMarks,
  listForecastChecks,
  listForecastMarks,
  trimForecastMarks,
  writeForecastFeed,
} from "../../src/store/forecast.ts";
import { addDayTotals } from "../../src/store/runs.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON, sampleAccount, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();

const write = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(database.db, work);
const CRON = { kind: "cron", schedule: "30 3 * * *", tz: "Europe/Riga" } as const;

test("checks with an expression are listed with their mean duration, without paused and deleted ones", async () => {
  const { id: projectId } = await sampleProject(database.db);
  const timed = await sampleCheck(database.db, { projectId, ...CRON, name: "backup" });
  await sampleCheck(database.db, { projectId, kind: "simple" });
  const paused = await sampleCheck(database.db, { projectId, ...CRON });
  const deleted = await sampleCheck(database.db, { projectId, ...CRON });
  const last = await sampleCheck(database.db, { projectId, ...CRON, name: "last" });
  const { pool } = database.db;
  await pool.query("update check_states set status = 'paused' where check_id = $1", [paused.id]);
  await pool.query("update checks set deleted_at = now() where id = $1", [deleted.id]);
  const totals = {
    successCount: 2,
    failCount: 0,
    timedCount: 2,
    durationSumMs: 60_000,
    durationMaxMs: 40_000,
  };
  await write((tx) =>
    addDayTotals(tx, [
      { checkId: timed.id, totals: { ...totals, day: "2026-11-15" } },
      { checkId: timed.id, totals: { ...totals, day: "2026-10-01", durationSumMs: 9_000_000 } },
    ]),
  );
  const list = (limit: number) =>
    listForecastChecks(database.db, { projectId, sinceDay: "2026-11-02", limit });
  const { schedule, tz } = CRON;
  expect(await list(10)).toEqual([
    { id: timed.id, uuid: timed.uuid, name: "backup", schedule, tz, durationMs: 30_000 },
    { id: last.id, uuid: last.uuid, name: "last", schedule, tz, durationMs: null },
  ]);
  expect(await list(1)).toHaveLength(1);
});

test("marks are added once, replaced with the schedule, deleted, and trimmed", async () => {
  const { id: projectId } = await sampleProject(database.db);
  const { id: checkId } = await sampleCheck(database.db, { projectId, ...CRON });
  const other = await sampleCheck(database.db, { projectId: (await sampleProject(database.db)).id, ...CRON });
  const of = (subject: string): ForecastMark => ({ checkId, kind: "moved", subject });
  const add = (marks: ForecastMark[], at = MONDAY_NOON) =>
    write((tx) => insertForecastMarks(tx, { projectId, marks, accountId: null, at }));
  expect(await add([of("one"), { ...of("one"), checkId: other.id }])).toBe(1);
  expect(await add([of("one")])).toBe(0);
  await write((tx) => deleteOldForecastMarks(tx, { projectId, marks: [of("two")] }));
  expect(await listForecastMarks(database.db, projectId)).toEqual([]);
  await add([of("two")]);
  for (const [index, subject] of ["a", "b", "c"].entries()) {
    await add([{ checkId: null, kind: "crowded", subject }], MONDAY_NOON + index);
  }
  expect(await add([{ checkId: null, kind: "crowded", subject: "c" }])).toBe(0);
  await write((tx) => trimForecastMarks(tx, { projectId, keep: 2 }));
  const subjects = async () =>
    (await listForecastMarks(database.db, projectId)).map(({ subject }) => subject).toSorted();
  expect(await subjects()).toEqual(["b", "c", "two"]);
  const gone = [of("two"), { checkId: null, kind: "crowded", subject: "b" } as const];
  expect(await write((tx) => deleteForecastMarks(tx, { projectId, marks: gone }))).toBe(2);
  expect(await subjects()).toEqual(["c"]);
});

test("a feed is found by its digest, replaced, and deleted", async () => {
  const { id: projectId } = await sampleProject(database.db);
  const { id: accountId } = await sampleAccount(database.db);
  const owner = { projectId, accountId };
  const digest = (text: string) => createHash("sha256").update(text).digest();
  expect(await findForecastFeed(database.db, owner)).toBeNull();
  await write((tx) => writeForecastFeed(tx, { ...owner, digest: digest("one"), at: MONDAY_NOON }));
  expect(await findForecastFeedOwner(database.db, digest("one"))).toEqual(owner);
  await write((tx) => writeForecastFeed(tx, { ...owner, digest: digest("two"), at: MONDAY_NOON + 1 }));
  expect(await findForecastFeedOwner(database.db, digest("one"))).toBeNull();
  expect(await findForecastFeed(database.db, owner)).toBe(MONDAY_NOON + 1);
  expect(await write((tx) => deleteForecastFeed(tx, owner))).toBe(true);
  expect(await write((tx) => deleteForecastFeed(tx, owner))).toBe(false);
  expect(await findForecastFeedOwner(database.db, digest("two"))).toBeNull();
});
