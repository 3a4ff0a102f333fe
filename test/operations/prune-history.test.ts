// What the housekeeper deletes and keeps, on a real database, with the time as an argument.
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { DAY_MS, type Instant } from "../../src/core/instant.ts";
import { DEFAULT_RETENTION } from "../../src/core/retention.ts";
import { dayOf } from "../../src/core/run.ts";
import { createKeys } from "../../src/operations/api-keys.ts";
import { pruneHistory } from "../../src/operations/prune-history.ts";
import { openSession } from "../../src/operations/sessions.ts";
import { listApiKeys } from "../../src/store/api-keys.ts";
import { findCheckByUuid, markCheckDeleted } from "../../src/store/checks.ts";
import { listDeliveriesOfChannel } from "../../src/store/deliveries.ts";
import { insertEvents, listEvents } from "../../src/store/events.ts";
import { insertFlips, listFlips } from "../../src/store/flips.ts";
import {
  closeIntake,
  findSequence,
  insertBlindInterval,
  listBlindIntervals,
  registerIntake,
} from "../../src/store/intakes.ts";
import { findBody, insertBodies, insertPings, listPings } from "../../src/store/pings.ts";
import { insertRejectedSignal, listRejectedSignals } from "../../src/store/quarantine.ts";
import { addDayTotals, insertRunChunks, listDays, listPackedRuns } from "../../src/store/runs.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { flip as owedFlip, owe, watchedCheck } from "../support/owed.ts";
import { MONDAY_NOON as NOW, sampleAccount, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();
/** One in which no newer rows precede older ones. */
const fresh = useDatabase();
const write = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(database.db, work);

async function newCheck(db = database.db) {
  const project = await sampleProject(db);
  return { project, check: await sampleCheck(db, { projectId: project.id }) };
}

function flip(checkId: number, at: Instant) {
  return { checkId, flip: { at, from: "up", to: "down", reason: "timeout" } as const };
}

/** Everything is written twice, once old enough to be deleted; the rule is the same for all kinds. */
const OLD = NOW - 400 * DAY_MS;
const YOUNG = NOW - 5 * DAY_MS;

describe("old data is deleted and newer data stays", () => {
  test("flips and events", async () => {
    const { check } = await newCheck();
    await write((tx) => insertFlips(tx, [flip(check.id, OLD), flip(check.id, YOUNG)]));
    const event = { checkId: check.id, kind: "paused", accountId: null, detail: {} };
    await write((tx) =>
      insertEvents(tx, [
        { ...event, at: OLD },
        { ...event, at: YOUNG },
      ]),
    );
    const { removed, isComplete } = await pruneHistory(database.db, {
      retention: DEFAULT_RETENTION,
      now: NOW,
    });
    expect(removed).toMatchObject({ flips: 1, events: 1 });
    expect(isComplete).toBe(false);
    expect((await pruneHistory(database.db, { retention: DEFAULT_RETENTION, now: NOW })).isComplete).toBe(
      true,
    );
    expect((await listFlips(database.db, { checkId: check.id })).map(({ at }) => at)).toEqual([YOUNG]);
    expect((await listEvents(database.db, { checkId: check.id, limit: 9 })).map(({ at }) => at)).toEqual([
      YOUNG,
    ]);
  });

  test("deliveries that were settled; one that is still owed stays, however old", async () => {
    const { check, channel } = await watchedCheck(database.db);
    await owe(database.db, { check, at: OLD }, owedFlip("down", YOUNG), owedFlip("up", YOUNG));
    await database.db.pool.query(
      "update deliveries set state = 'sent', next_try_at = null, settled_at = $1 where id in (select min(id) from deliveries)",
      [new Date(OLD)],
    );
    const { removed } = await pruneHistory(database.db, { retention: DEFAULT_RETENTION, now: NOW });
    expect(removed).toMatchObject({ deliveries: 1 });
    const left = await listDeliveriesOfChannel(database.db, { channelId: channel.id, limit: 9 });
    expect(left.map(({ state }) => state)).toEqual(["pending"]);
  });

  test("blind intervals that have ended, closed intakes, rejected signals", async () => {
    const intakes = [randomUUID(), randomUUID(), randomUUID()] as const;
    for (const id of intakes) {
      const at = id === intakes[0] ? OLD : YOUNG;
      const intake = { id, name: "test", startedAt: at, watermarkAt: at, leaseUntilAt: at, spoolEmpty: true };
      await write((tx) => registerIntake(tx, intake));
      if (id !== intakes[2]) await write((tx) => closeIntake(tx, { intakeId: id, at, lost: false }));
      await write((tx) => insertBlindInterval(tx, { intakeId: id, from: OLD, to: at, reason: "test" }));
      const signal = { intakeId: id, seq: 1, checkId: null, at, reason: "test", signal: Buffer.from("x") };
      await write((tx) => insertRejectedSignal(tx, signal));
    }
    const { removed } = await pruneHistory(database.db, { retention: DEFAULT_RETENTION, now: NOW });
    expect(removed).toMatchObject({ blindIntervals: 1, intakes: 1, rejectedSignals: 1 });
    const left = await Promise.all(intakes.map((id) => findSequence(database.db, { intakeId: id, lane: 0 })));
    expect(left).toEqual([null, 0, 0]);
    expect(await listBlindIntervals(database.db, { from: OLD, to: NOW })).toHaveLength(2);
    expect(await listRejectedSignals(database.db, 9)).toHaveLength(2);
  });

  test("unused sessions, sign-ins, and audit log entries", async () => {
    const { id: accountId } = await sampleAccount(database.db);
    for (const [index, now] of [OLD, YOUNG].entries()) {
      const session = { accountId, method: "link", now, ua: "", remoteAddr: null } as const;
      await write((tx) => openSession(tx, session));
      await database.db.pool.query(
        `insert into audit_entries (at, project_id, account_id, key_id, what, subject, before, after)
          values ($1, null, null, null, 'account.changed', $2, '{}', '{}')`,
        [new Date(now), String(index)],
      );
    }
    const { removed } = await pruneHistory(database.db, { retention: DEFAULT_RETENTION, now: NOW });
    expect(removed).toMatchObject({ sessions: 1, signIns: 1, auditEntries: 1 });
    const left = await database.db.pool.query(
      "select 1 from sessions union all select 1 from sign_ins union all select 1 from audit_entries",
    );
    expect(left.rowCount).toBe(3);
  });

  test("revoked keys; a key in use stays, however old", async () => {
    const { project } = await newCheck();
    const request = {
      projectUuid: project.uuid,
      kinds: ["readOnly"],
      name: "",
      secretKey: "s",
      replace: true,
    } as const;
    for (const now of [OLD - 2, OLD - 1]) await createKeys(database.db, { ...request, now });
    const { removed } = await pruneHistory(database.db, { retention: DEFAULT_RETENTION, now: NOW });
    expect(removed).toMatchObject({ revokedKeys: 1 });
    const keys = await listApiKeys(database.db, project.id);
    expect(keys.map(({ createdAt }) => createdAt)).toEqual([OLD - 1]);
  });
});

test("runs of a check that is no longer pinged", async () => {
  const { check } = await newCheck();
  const totals = { successCount: 1, failCount: 0, timedCount: 0, durationSumMs: 0, durationMaxMs: 0 };
  const checkId = check.id;
  await write(async (tx) => {
    for (const at of [OLD, YOUNG]) {
      await addDayTotals(tx, [{ checkId, totals: { ...totals, day: dayOf(at) } }]);
      await insertRunChunks(tx, [{ checkId, runs: [{ endAt: at, outcome: "success", durationMs: null }] }]);
    }
  });
  const { removed, runsThrough } = await pruneHistory(database.db, {
    retention: DEFAULT_RETENTION,
    now: NOW,
  });
  expect([removed["runHistory"], runsThrough]).toEqual([2, 0]);
  expect(await listDays(database.db, { checkId, fromDay: "2000-01-01" })).toMatchObject([
    { day: dayOf(YOUNG) },
  ]);
  const left = await listPackedRuns(database.db, { checkId, from: 0, limit: 100 });
  expect(left.map(({ endAt }) => endAt)).toEqual([YOUNG]);
});

describe("pings past an age", () => {
  const logOf = async (checkId: number) => {
    const ping = { checkId, kind: "success", durationMs: 7, scheme: "http", method: "GET" } as const;
    const rest = { remoteAddr: null, ua: "", rid: null, exitStatus: null, bodySize: 1 };
    const body = Buffer.from("x");
    const pings = [OLD, NOW - 40 * DAY_MS, YOUNG].map((at, i) => ({ ...ping, ...rest, n: i + 1, at }));
    await write((tx) => insertPings(tx, pings));
    await write((tx) =>
      insertBodies(
        tx,
        pings.map(({ n, at }) => ({ checkId, n, at, body })),
      ),
    );
  };
  const kept = async (checkId: number) =>
    (await listPings(database.db, { checkId, afterN: 0, limit: 9 })).map(({ n }) => n);

  test("are kept without a limit, and deleted with their bodies with one; their runs stay", async () => {
    const { check } = await newCheck();
    const checkId = check.id;
    await logOf(checkId);
    const unlimited = await pruneHistory(database.db, { retention: DEFAULT_RETENTION, now: NOW });
    expect(unlimited.removed["pings"]).toBe(0);
    expect(await kept(checkId)).toEqual([3, 2, 1]);
    const retention = { ...DEFAULT_RETENTION, ping: 30 };
    const { removed } = await pruneHistory(database.db, { retention, now: NOW });
    expect(removed["pings"]).toBe(2);
    expect(await kept(checkId)).toEqual([3]);
    const bodies = await Promise.all([1, 2, 3].map((n) => findBody(database.db, { checkId, n })));
    expect(bodies.map((one) => one?.n ?? null)).toEqual([null, null, 3]);
    // The run of the oldest is past the period of the run history.
    const runs = await listPackedRuns(database.db, { checkId, from: 0, limit: 9 });
    expect(runs).toEqual([{ endAt: NOW - 40 * DAY_MS, outcome: "success", durationMs: 7 }]);
  });

  test("go in portions: the same checks are searched again until none is left", async () => {
    const { check } = await newCheck();
    await logOf(check.id);
    const retention = { ...DEFAULT_RETENTION, ping: 1 };
    let runsAfter = check.id - 1;
    const rounds: unknown[] = [];
    for (let round = 0; round < 4; round += 1) {
      const done = await pruneHistory(database.db, { retention, now: NOW, rowsMax: 2, runsAfter });
      rounds.push([done.removed["pings"], done.runsThrough]);
      runsAfter = done.runsThrough;
    }
    expect(rounds.slice(0, 2)).toEqual([
      [2, check.id - 1],
      [1, 0],
    ]);
    expect(await kept(check.id)).toEqual([]);
  });
});

test("other periods follow the settings", async () => {
  const { check } = await newCheck(fresh.db);
  await inTransaction(fresh.db, (tx) => insertFlips(tx, [flip(check.id, NOW - 100 * DAY_MS)]));
  const retention = { ...DEFAULT_RETENTION, flip: 101 };
  expect((await pruneHistory(fresh.db, { retention, now: NOW })).removed["flips"]).toBe(0);
  const shorter = { ...DEFAULT_RETENTION, flip: 99 };
  expect((await pruneHistory(fresh.db, { retention: shorter, now: NOW })).removed["flips"]).toBe(1);
});

describe("a check deleted from the dashboard", () => {
  test("goes with its history after seven days, not before", async () => {
    const { check, channel } = await watchedCheck(database.db);
    const { check: neighbour, channel: itsChannel } = await watchedCheck(database.db);
    for (const { id } of [check, neighbour]) {
      await owe(database.db, { check: { id }, at: YOUNG }, owedFlip("down", YOUNG));
      const event = { checkId: id, at: YOUNG, kind: "paused", accountId: null, detail: {} };
      await write((tx) => insertEvents(tx, [event]));
    }
    await write((tx) => markCheckDeleted(tx, { checkId: check.id, at: NOW }));
    const early = await pruneHistory(database.db, { retention: DEFAULT_RETENTION, now: NOW + 7 * DAY_MS });
    expect(early.removed).toMatchObject({ deletedChecks: 0 });
    const late = await pruneHistory(database.db, { retention: DEFAULT_RETENTION, now: NOW + 7 * DAY_MS + 1 });
    expect(late.removed).toMatchObject({ deletedChecks: 1 });
    for (const { id, channelId, left } of [
      { id: check.id, channelId: channel.id, left: 0 },
      { id: neighbour.id, channelId: itsChannel.id, left: 1 },
    ]) {
      expect(await listFlips(database.db, { checkId: id })).toHaveLength(left);
      expect(await listEvents(database.db, { checkId: id, limit: 9 })).toHaveLength(left);
      expect(await listDeliveriesOfChannel(database.db, { channelId, limit: 9 })).toHaveLength(left);
    }
    expect(await findCheckByUuid(database.db, neighbour.uuid)).not.toBeNull();
  });
});

describe("the work is bounded", () => {
  const prune = (limits: { rowsMax?: number; checksMax?: number }) =>
    pruneHistory(fresh.db, { retention: DEFAULT_RETENTION, now: NOW, ...limits });

  test("at most so many rows go at a time, until a round finds nothing", async () => {
    const { check } = await newCheck(fresh.db);
    const flips = [1, 2, 3].map((minute) => flip(check.id, OLD + minute));
    await inTransaction(fresh.db, (tx) => insertFlips(tx, flips));
    expect(await prune({ rowsMax: 2 })).toMatchObject({ removed: { flips: 2 }, isComplete: false });
    expect(await prune({ rowsMax: 2 })).toMatchObject({ removed: { flips: 1 }, isComplete: false });
    expect(await prune({ rowsMax: 2 })).toMatchObject({ removed: { flips: 0 }, isComplete: true });
  });

  test("so do deleted checks", async () => {
    for (const _ of [1, 2]) {
      const { check } = await newCheck(fresh.db);
      await inTransaction(fresh.db, (tx) => markCheckDeleted(tx, { checkId: check.id, at: OLD }));
    }
    expect(await prune({ checksMax: 1 })).toMatchObject({ removed: { deletedChecks: 1 }, isComplete: false });
    expect(await prune({ checksMax: 9 })).toMatchObject({ removed: { deletedChecks: 1 }, isComplete: false });
    expect(await prune({ checksMax: 9 })).toMatchObject({ removed: { deletedChecks: 0 }, isComplete: true });
  });

  test("removed projects are looked for once all checks were gone through, not in every round", async () => {
    const { project } = await newCheck(fresh.db);
    const removed = await sampleProject(fresh.db);
    await fresh.db.pool.query("delete from members where project_id = $1", [removed.id]);
    await fresh.db.pool.query(
      `insert into checks overriding system value select (jsonb_populate_record(c, jsonb_build_object(
          'id', c.id + i, 'uuid', gen_random_uuid(), 'badge_uuid', gen_random_uuid()))).*
        from checks c, generate_series(1, 200) i where c.project_id = $1`,
      [project.id],
    );
    const first = await prune({});
    expect(first.runsThrough).toBeGreaterThan(0);
    expect(first.removed).not.toHaveProperty("projects");
    const last = await pruneHistory(fresh.db, {
      retention: DEFAULT_RETENTION,
      now: NOW,
      runsAfter: first.runsThrough,
    });
    expect(last).toMatchObject({ removed: { projects: 1 }, runsThrough: 0 });
  });
});
