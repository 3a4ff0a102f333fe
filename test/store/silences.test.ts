// Silences: their rows, the checks they cover, and the alerts that they hold.
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { DAY_MS, HOUR_MS, type Instant } from "../../src/core/instant.ts";
import { covers, type SilencePlan } from "../../src/core/silence.ts";
import { insertFlips, retractFlip } from "../../src/store/flips.ts";
import {
  countSilences,
  endSilence,
  findChecksOfSilences,
  findChecksToSilence,
  findLastSuccesses,
  findSilence,
  findSilencesByIds,
  insertSilence,
  listCoveredChecks,
  listCurrentSilences,
  listSilences,
  lockSilencesOfProject,
  pruneSilences,
  releaseHeldAlerts,
  type StoredSilence,
  writeSilence,
} from "../../src/store/silences.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { flip } from "../support/owed.ts";
import { MONDAY_NOON, sampleAccount, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();

const write = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(database.db, work);

const ONCE: SilencePlan = {
  scope: { kind: "all" },
  from: MONDAY_NOON,
  until: MONDAY_NOON + HOUR_MS,
  untilSuccess: false,
  schedule: null,
  tz: null,
  durationSeconds: null,
  holdAfterSeconds: 0,
  reason: "DB upgrade",
};

const RECURRING: SilencePlan = {
  ...ONCE,
  until: null,
  schedule: "0 22 * * 6",
  tz: "Europe/Riga",
  durationSeconds: 3_600,
  holdAfterSeconds: 600,
};

async function sampleSilence(
  projectId: number,
  plan: Partial<SilencePlan> = {},
  accountId: number | null = null,
): Promise<StoredSilence> {
  const uuid = randomUUID();
  await write((tx) =>
    insertSilence(tx, { ...ONCE, ...plan, uuid, projectId, accountId, createdAt: MONDAY_NOON }),
  );
  const silence = await findSilence(database.db, { projectId, uuid });
  if (silence === null) throw new Error("the silence that was just inserted is not there");
  return silence;
}

describe("a silence", () => {
  test("is found in its project, with the address of its author", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const account = await sampleAccount(database.db);
    const silence = await sampleSilence(projectId, RECURRING, account.id);
    expect(silence).toEqual({
      ...RECURRING,
      id: expect.any(Number),
      uuid: expect.any(String),
      projectId,
      accountId: account.id,
      email: account.email,
      createdAt: MONDAY_NOON,
      endedAt: null,
      version: 1,
    });
    const { id: otherId } = await sampleProject(database.db);
    expect(await findSilence(database.db, { projectId: otherId, uuid: silence.uuid })).toBeNull();
    const byKey = await sampleSilence(projectId);
    expect(byKey).toMatchObject({ ...ONCE, accountId: null, email: null });
  });

  test("has checks, a tag, or neither, and all of it can be changed", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const silence = await sampleSilence(projectId, { scope: { kind: "checks", checkIds: [3, 5] } });
    expect(silence.scope).toEqual({ kind: "checks", checkIds: [3, 5] });
    const changed: SilencePlan = { ...RECURRING, scope: { kind: "tag", tag: 'd"b' }, reason: "Other" };
    await write((tx) => writeSilence(tx, { ...changed, id: silence.id }));
    const name = { projectId, uuid: silence.uuid };
    expect(await findSilence(database.db, name)).toEqual({ ...silence, ...changed, version: 2 });
    await write((tx) => writeSilence(tx, { ...ONCE, untilSuccess: true, id: silence.id }));
    expect(await findSilence(database.db, name)).toEqual({
      ...silence,
      ...ONCE,
      untilSuccess: true,
      version: 3,
    });
  });

  test("is found by its id in any project", async () => {
    const { id: firstId } = await sampleProject(database.db);
    const { id: secondId } = await sampleProject(database.db);
    const silences = [await sampleSilence(firstId), await sampleSilence(secondId, RECURRING)];
    const ids = silences.map(({ id }) => id);
    expect(await findSilencesByIds(database.db, [...ids.toReversed(), 999_999])).toEqual(silences);
    expect(await findSilencesByIds(database.db, [])).toEqual([]);
  });

  test("ends once", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const { id, uuid } = await sampleSilence(projectId);
    await write((tx) => endSilence(tx, { id, at: MONDAY_NOON + 5 }));
    await write((tx) => endSilence(tx, { id, at: MONDAY_NOON + 9 }));
    expect(await findSilence(database.db, { projectId, uuid })).toMatchObject({
      endedAt: MONDAY_NOON + 5,
      version: 2,
    });
  });
});

describe("lists", () => {
  test("are by project, newest first, in pages, of current or ended ones", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const over = await sampleSilence(projectId, { from: MONDAY_NOON - 9, until: MONDAY_NOON });
    const current = await sampleSilence(projectId);
    const recurring = await sampleSilence(projectId, RECURRING);
    const { id } = await sampleSilence(projectId);
    await write((tx) => endSilence(tx, { id, at: MONDAY_NOON }));
    const page = { projectId, beforeId: Number.MAX_SAFE_INTEGER, now: MONDAY_NOON, limit: 10 };
    const ids = async (given: Partial<Parameters<typeof listSilences>[1]>) => {
      const found = await listSilences(database.db, { ...page, ended: null, ...given });
      return found.map((silence) => silence.id);
    };
    expect(await ids({})).toEqual([id, recurring.id, current.id, over.id]);
    expect(await ids({ ended: false })).toEqual([recurring.id, current.id]);
    expect(await ids({ ended: true })).toEqual([id, over.id]);
    expect(await ids({ ended: false, now: MONDAY_NOON - 1 })).toEqual([
      id,
      recurring.id,
      current.id,
      over.id,
    ]);
    expect(await ids({ beforeId: recurring.id, limit: 1 })).toEqual([current.id]);
    expect(await countSilences(database.db, { projectId, now: MONDAY_NOON })).toBe(2);
    expect(await countSilences(database.db, { projectId, now: MONDAY_NOON + HOUR_MS })).toBe(1);
  });

  test("of those that may hold an alert include the time after their end", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const { id: otherId } = await sampleProject(database.db);
    const held = await sampleSilence(projectId, { holdAfterSeconds: 60 });
    const other = await sampleSilence(otherId);
    const { id, uuid } = await sampleSilence(projectId, RECURRING);
    await write((tx) => endSilence(tx, { id, at: MONDAY_NOON + HOUR_MS }));
    const ended = await findSilence(database.db, { projectId, uuid });
    const at = async (since: Instant) => {
      const found = await listCurrentSilences(database.db, { projectIds: [projectId, otherId], since });
      return [...found].toSorted(([a], [b]) => a - b);
    };
    expect(await at(MONDAY_NOON)).toEqual([
      [projectId, [held, ended]],
      [otherId, [other]],
    ]);
    const end = MONDAY_NOON + HOUR_MS;
    expect(await at(end - 1)).toHaveLength(2);
    expect(await at(end)).toEqual([[projectId, [held, ended]]]);
    expect(await at(end + 60_000)).toEqual([[projectId, [ended]]]);
    expect(await at(end + 600_000)).toEqual([]);
  });
});

test("the lock of a project returns its UUID", async () => {
  const { id, uuid } = await sampleProject(database.db);
  expect(await write((tx) => lockSilencesOfProject(tx, id))).toBe(uuid);
  expect(await write((tx) => lockSilencesOfProject(tx, 999_999))).toBeNull();
});

describe("checks", () => {
  test("are those of the project that are not deleted", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const b = await sampleCheck(database.db, { projectId, name: "b", tags: "db prod" });
    const a = await sampleCheck(database.db, { projectId, name: "a", tags: "prod,db" });
    const gone = await sampleCheck(database.db, { projectId, name: "gone", tags: "db" });
    await database.db.pool.query("update checks set deleted_at = now() where id = $1", [gone.id]);
    const elsewhere = await sampleCheck(database.db, { projectId: (await sampleProject(database.db)).id });
    const named = [a, b].map(({ id, uuid, settings }) => ({ id, uuid, name: settings.name }));
    const all = [b, a, gone, elsewhere];
    const uuids = all.map(({ uuid }) => uuid);
    expect(await findChecksToSilence(database.db, { projectId, uuids })).toEqual(named.toReversed());
    const checkIds = all.map(({ id }) => id);
    expect(await findChecksOfSilences(database.db, { projectId, checkIds })).toEqual(named);

    const covered = (scope: SilencePlan["scope"], limit = 10) =>
      listCoveredChecks(database.db, { projectId, scope, limit });
    expect(await covered({ kind: "all" })).toEqual({ checks: named, total: 2 });
    expect(await covered({ kind: "all" }, 1)).toEqual({ checks: named.slice(0, 1), total: 2 });
    expect(await covered({ kind: "tag", tag: "db" })).toEqual({ checks: named.slice(1), total: 1 });
    expect(await covered({ kind: "tag", tag: "d" })).toEqual({ checks: [], total: 0 });
    expect(await covered({ kind: "checks", checkIds })).toEqual({ checks: named, total: 2 });
    // The same rule in core.
    for (const scope of [
      { kind: "tag", tag: "db" } as const,
      { kind: "checks", checkIds: [a.id] } as const,
    ]) {
      const { checks } = await covered(scope);
      const expected = [b, a].filter(({ id, settings }) => covers({ scope }, { id, tags: settings.tags }));
      expect(checks.map(({ id }) => id)).toEqual(expected.map(({ id }) => id));
    }
  });

  test("have a last success before an instant", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const [first, second] = [
      await sampleCheck(database.db, { projectId }),
      await sampleCheck(database.db, { projectId }),
    ];
    const log = (checkId: number, n: number, kind: string, at: Instant) =>
      database.db.pool.query(
        `insert into pings (check_id, n, at, kind, scheme, method, ua)
         values ($1, $2, to_timestamp($4::float8 / 1000), $3, 'http', 'GET', '')`,
        [checkId, n, kind, at],
      );
    await log(first.id, 1, "s", MONDAY_NOON);
    await log(first.id, 2, "s", MONDAY_NOON + 10);
    await log(first.id, 3, "f", MONDAY_NOON + 15);
    await log(first.id, 4, "s", MONDAY_NOON + 20);
    await log(second.id, 1, "b", MONDAY_NOON);
    const asked = [
      { checkId: first.id, beforeAt: MONDAY_NOON + 20 },
      { checkId: second.id, beforeAt: MONDAY_NOON + 20 },
      { checkId: first.id, beforeAt: MONDAY_NOON + 21 },
      { checkId: first.id, beforeAt: MONDAY_NOON },
    ];
    expect(await findLastSuccesses(database.db, asked)).toEqual([
      MONDAY_NOON + 10,
      null,
      MONDAY_NOON + 20,
      null,
    ]);
    expect(await findLastSuccesses(database.db, [])).toEqual([]);
  });

  test("have a last success only while they were up", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const { id: checkId } = await sampleCheck(database.db, { projectId });
    const success = (n: number, at: Instant) =>
      database.db.pool.query(
        `insert into pings (check_id, n, at, kind, scheme, method, ua)
         values ($1, $2, to_timestamp($3::float8 / 1000), 's', 'http', 'GET', '')`,
        [checkId, n, at],
      );
    for (const [index, minute] of [0, 10, 20, 30, 40, 50].entries()) {
      await success(index + 1, MONDAY_NOON + minute);
    }
    const flips = [flip("down", MONDAY_NOON), flip("up", MONDAY_NOON + 10)];
    // The runs after it were too short, also the first one after a pause.
    flips.push(flip("down", MONDAY_NOON + 30, { reason: "tooFast" }));
    flips.push(flip("down", MONDAY_NOON + 50, { from: "new", reason: "tooFast" }));
    const takenBack = flip("down", MONDAY_NOON + 15);
    await inTransaction(database.db, async (tx) => {
      await insertFlips(
        tx,
        [...flips, takenBack].map((one) => ({ checkId, flip: one })),
      );
      await retractFlip(tx, { checkId, deadlineAt: takenBack.at, at: MONDAY_NOON + 20 });
    });
    const asked = [5, 11, 25, 35, 45, 55].map((after) => ({ checkId, beforeAt: MONDAY_NOON + after }));
    const last = MONDAY_NOON + 20;
    const expected = [null, MONDAY_NOON + 10, last, last, last, last];
    expect(await findLastSuccesses(database.db, asked)).toEqual(expected);
  });
});

test("held alerts of a project are due at once, and no others", async () => {
  const { id: projectId } = await sampleProject(database.db);
  const { id: otherId } = await sampleProject(database.db);
  const later = new Date(MONDAY_NOON);
  const alert = async (of: number, values: { planned?: boolean; held?: boolean } = {}) => {
    const check = await sampleCheck(database.db, { projectId: of });
    const { planned = false, held = true } = values;
    const { rows } = await database.db.pool.query<{ id: number }>(
      `insert into alerts (check_id, cause, opened_at, opened_flip_id, planned_at, plan_at, held_by)
       values ($1, 'failed', $2, 1, $3, $2, $4) returning id`,
      [check.id, later, planned ? later : null, held ? "silence" : null],
    );
    return rows[0]?.id;
  };
  const held = await alert(projectId);
  await alert(projectId, { planned: true });
  await alert(projectId, { held: false });
  await alert(otherId);
  await write((tx) => releaseHeldAlerts(tx, projectId));
  const { rows } = await database.db.pool.query("select id from alerts where plan_at = to_timestamp(0)");
  expect(rows).toEqual([{ id: held }]);
});

test("silences that ended long ago are deleted, a limited number at a time", async () => {
  const { id: projectId } = await sampleProject(database.db);
  const before = MONDAY_NOON - 93 * DAY_MS;
  const kept = await sampleSilence(projectId, { from: before - 9, until: before });
  const recurring = await sampleSilence(projectId, { ...RECURRING, from: before - DAY_MS });
  await sampleSilence(projectId, { from: before - 9, until: before - 1 });
  await sampleSilence(projectId, { from: before - 9, until: before - 1 });
  const { id } = await sampleSilence(projectId, RECURRING);
  await write((tx) => endSilence(tx, { id, at: before - 1 }));
  expect(await write((tx) => pruneSilences(tx, { before, limit: 2 }))).toBe(2);
  expect(await write((tx) => pruneSilences(tx, { before, limit: 2 }))).toBe(1);
  const page = { projectId, beforeId: Number.MAX_SAFE_INTEGER, ended: null, now: MONDAY_NOON, limit: 10 };
  expect(await listSilences(database.db, page)).toEqual([recurring, kept]);
});
