// The sweeper on a real database: what fires, what only moves, several sweepers at once, and what the watermark holds
// back.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { HOUR_MS } from "../../../src/core/instant.ts";
import { DEFAULT_RULES } from "../../../src/core/rules.ts";
import { isAlertOpen } from "../../../src/core/state.ts";
import { pauseCheck } from "../../../src/operations/checks.ts";
import { sweepDeadlines } from "../../../src/operations/sweep.ts";
import { findCheckByUuid, lockStates, markCheckDeleted } from "../../../src/store/checks.ts";
import { statement } from "../../../src/store/db.ts";
import { listEvents } from "../../../src/store/events.ts";
import { insertRefusedIntervals } from "../../../src/store/intakes.ts";
import { inTransaction } from "../../../src/store/transaction.ts";
import { sampleIntake } from "../../support/checks-under-change.ts";
import { useDatabase } from "../../support/database.ts";
import { MONDAY_NOON } from "../../support/sample.ts";
import {
  HOURLY_DOWN_AT,
  makeManyWatched,
  makeWatched,
  makeWorld,
  owedFlips,
  sightUntil,
  storedRow,
} from "../../support/sweeping.ts";

const database = useDatabase();
const sweep = (watermarkAt: number | null, limit?: number) =>
  sweepDeadlines(database.db, {
    now: (watermarkAt ?? MONDAY_NOON) + 1_000,
    visibility: sightUntil(watermarkAt),
    ...(limit === undefined ? {} : { limit }),
  });

describe("a deadline that has passed", () => {
  test("fires once, dated at the deadline, with a delivery for each channel", async () => {
    const world = await makeWorld(database, { channels: 2 });
    const check = await makeWatched(database, world);
    const swept = await sweep(HOURLY_DOWN_AT + 30_000);
    expect(swept).toMatchObject({ looked: 1, fired: 1, moved: 0, lagMs: 31_000, isComplete: true });
    const flip = { checkId: check.id, at: HOURLY_DOWN_AT, to: "down", reason: "timeout", owed: 2 };
    expect(await owedFlips(database, world)).toEqual([flip]);
    expect(await storedRow(database, check.id)).toMatchObject({
      status: "down",
      down_at: null,
      sweep_at: null,
    });
    const found = await findCheckByUuid(database.db, check.uuid);
    expect(found?.state.missed).toEqual({ deadlineAt: HOURLY_DOWN_AT, from: "up" });
    expect(await sweep(HOURLY_DOWN_AT + 60_000)).toMatchObject({ looked: 0, fired: 0 });
    expect(await owedFlips(database, world)).toHaveLength(1);
  });

  test("that is tolerated leaves the next one armed, which adds an event instead of a flip", async () => {
    const world = await makeWorld(database);
    const rules = { ...DEFAULT_RULES, missed: 3 };
    const check = await makeWatched(database, world, { settings: { rules } });
    const stored = async () => (await findCheckByUuid(database.db, check.uuid)) ?? expect.fail("it is there");
    await sweep(HOURLY_DOWN_AT + 1);
    expect(await storedRow(database, check.id)).toMatchObject({
      status: "down",
      down_at: HOURLY_DOWN_AT + HOUR_MS,
      sweep_at: HOURLY_DOWN_AT + HOUR_MS,
    });
    expect(isAlertOpen((await stored()).state)).toBe(false);
    await sweep(HOURLY_DOWN_AT + HOUR_MS + 1);
    await sweep(HOURLY_DOWN_AT + 5 * HOUR_MS);
    const { state, downAt } = await stored();
    expect([isAlertOpen(state), downAt, state.judged?.missed]).toEqual([true, null, 3]);
    expect(await owedFlips(database, world)).toMatchObject([{ at: HOURLY_DOWN_AT }]);
    const events = await listEvents(database.db, { checkId: check.id, limit: 10 });
    expect(events.map(({ kind, at, detail }) => [kind, at, detail["cause"]]).toReversed()).toEqual([
      ["missed", HOURLY_DOWN_AT + HOUR_MS, "missed"],
      ["missed", HOURLY_DOWN_AT + 2 * HOUR_MS, "missed"],
    ]);
    const record = await sampleIntake(database.db, { visibility: sightUntil(HOURLY_DOWN_AT + 6 * HOUR_MS) });
    await record([{ uuid: check.uuid, at: HOURLY_DOWN_AT + 6 * HOUR_MS }]);
    expect((await stored()).state).toMatchObject({ status: "up", judged: null });
  });

  test("does not fire at the deadline itself, but right after", async () => {
    const world = await makeWorld(database);
    await makeWatched(database, world);
    expect(await sweep(HOURLY_DOWN_AT)).toMatchObject({ fired: 0 });
    expect(await sweep(HOURLY_DOWN_AT + 1)).toMatchObject({ fired: 1 });
  });

  test("fires for a run that lasts too long, and for one in a paused check", async () => {
    const world = await makeWorld(database);
    const run = { lastStartAt: MONDAY_NOON + 1_000 };
    await makeWatched(database, world, { state: run });
    await makeWatched(database, world, { state: { ...run, status: "paused" } });
    expect(await sweep(MONDAY_NOON + 601_001)).toMatchObject({ fired: 2 });
    const flips = await owedFlips(database, world);
    expect(flips.map(({ at }) => at)).toEqual([MONDAY_NOON + 601_000, MONDAY_NOON + 601_000]);
  });

  test("of a deleted check that may be restored waits, and fires when it was", async () => {
    const world = await makeWorld(database);
    const check = await makeWatched(database, world);
    await inTransaction(database.db, (tx) =>
      markCheckDeleted(tx, { checkId: check.id, at: HOURLY_DOWN_AT - 1 }),
    );
    expect(await sweep(HOURLY_DOWN_AT + 1_000)).toMatchObject({ looked: 1, moved: 1, fired: 0 });
    expect(await sweep(HOURLY_DOWN_AT + 2_000)).toMatchObject({ looked: 0 });
    await database.db.pool.query("update checks set deleted_at = null where id = $1", [check.id]);
    expect(await sweep(HOURLY_DOWN_AT + 1_200_000)).toMatchObject({ fired: 1 });
    expect(await owedFlips(database, world)).toMatchObject([{ at: HOURLY_DOWN_AT }]);
  });

  test("is looked for in batches until nothing is left", async () => {
    const world = await makeWorld(database);
    await makeManyWatched(database, world, 23);
    const limited = await sweepDeadlines(database.db, {
      now: HOURLY_DOWN_AT + 2_000,
      visibility: sightUntil(HOURLY_DOWN_AT + 1_000),
      limit: 5,
      batchesMax: 2,
    });
    expect(limited).toMatchObject({ fired: 10, isComplete: false });
    expect(await sweep(HOURLY_DOWN_AT + 1_000, 5)).toMatchObject({ fired: 13, isComplete: true });
    expect(await owedFlips(database, world)).toHaveLength(23);
  });
});

describe("a check that is due for a look and not down", () => {
  test("gets its mark moved to where its deadline is now, and nothing else", async () => {
    const world = await makeWorld(database);
    const check = await makeWatched(database, world, { sweepAt: MONDAY_NOON - 1_000 });
    const ping = await sampleIntake(database.db);
    await ping([{ uuid: check.uuid, at: MONDAY_NOON + 60_000 }]);
    expect((await storedRow(database, check.id)).sweep_at).toBe(MONDAY_NOON - 1_000);
    expect(await sweep(MONDAY_NOON + 61_000)).toMatchObject({ looked: 1, moved: 1, fired: 0 });
    const downAt = HOURLY_DOWN_AT + 60_000;
    expect(await storedRow(database, check.id)).toEqual({
      status: "up",
      down_at: downAt,
      sweep_at: downAt,
      held_until_at: null,
    });
  });

  test("loses its mark when no ping is expected any more", async () => {
    const world = await makeWorld(database);
    const check = await makeWatched(database, world);
    const { projectId } = world;
    const at = MONDAY_NOON + 1_000;
    const command = { projectId, checkId: check.id, at, accountId: null, visibility: sightUntil(null) };
    await pauseCheck(database.db, command);
    expect(await storedRow(database, check.id)).toMatchObject({ down_at: null, sweep_at: HOURLY_DOWN_AT });
    expect(await sweep(HOURLY_DOWN_AT + 1_000)).toMatchObject({ moved: 1, fired: 0 });
    expect(await storedRow(database, check.id)).toMatchObject({ status: "paused", sweep_at: null });
  });
});

describe("the watermark", () => {
  test("holds back deadlines at or after it, whatever the clock says", async () => {
    const world = await makeWorld(database);
    await makeWatched(database, world);
    const visibility = sightUntil(HOURLY_DOWN_AT - 1);
    const late = await sweepDeadlines(database.db, { now: HOURLY_DOWN_AT + 3_600_000, visibility });
    expect(late).toMatchObject({ looked: 0, fired: 0, isComplete: true });
    expect(await sweep(null)).toMatchObject({ looked: 0, isComplete: true });
    expect(await owedFlips(database, world)).toEqual([]);
    expect(await sweep(HOURLY_DOWN_AT + 1)).toMatchObject({ fired: 1 });
  });
});

describe("several sweepers", () => {
  const WHO = statement<{ pid: number }>({ name: "test.who", text: "select pg_backend_pid() as pid" });
  // No other transaction: the two lanes of a sweep may wait for each other briefly to extend a table.
  const WAITING_FOR = "select from pg_stat_activity where $1::int = any (pg_blocking_pids(pid))";

  test("at once let each deadline fire once", async () => {
    const world = await makeWorld(database);
    const checks = await makeManyWatched(database, world, 60);
    const swept = await Promise.all([1, 2, 3].map(() => sweep(HOURLY_DOWN_AT + 1_000, 7)));
    expect(swept.reduce((sum, { fired }) => sum + fired, 0)).toBe(60);
    const flips = await owedFlips(database, world);
    expect(flips.map(({ checkId }) => checkId)).toEqual(checks.map(({ id }) => id));
    expect(new Set(flips.map(({ owed }) => owed))).toEqual(new Set([1]));
  });

  test("leave to others what these hold, and say so", async () => {
    const world = await makeWorld(database);
    const [held, free] = await makeManyWatched(database, world, 2);
    if (held === undefined || free === undefined) throw new Error("there are two");
    await inTransaction(database.db, async (tx) => {
      await lockStates(tx, [held.id]);
      const [holder] = (await tx.query(WHO, [])).rows;
      const waiting = async () => (await database.db.pool.query(WAITING_FOR, [holder?.pid])).rowCount;
      const over = new AbortController();
      const sweeping = sweep(HOURLY_DOWN_AT + 1_000).finally(() => over.abort());
      while (!over.signal.aborted) expect(await waiting()).toBe(0);
      const swept = await sweeping;
      expect(swept).toMatchObject({ looked: 1, fired: 1, locked: [held.id], isComplete: true });
    });
    expect((await owedFlips(database, world)).map(({ checkId }) => checkId)).toEqual([free.id]);
    expect(await sweep(HOURLY_DOWN_AT + 1_000)).toMatchObject({ fired: 1, locked: [] });
  });
});

describe("a signal that races the sweeper", () => {
  test("in time keeps the check up, whichever transaction gets the lock first", async () => {
    const world = await makeWorld(database);
    const checks = await makeManyWatched(database, world, 40);
    const ping = await sampleIntake(database.db);
    const uuids = checks.map(({ uuid }) => uuid);
    const pinging = (async () => {
      for (const uuid of uuids) await ping([{ uuid, at: HOURLY_DOWN_AT - 1 }], { replayed: true });
    })();
    // A watermark that is too early, as if pending signals had been lost: the signal then retracts its flip.
    for (let n = 0; n < 20; n += 1) {
      await sweep(HOURLY_DOWN_AT + 1_000, 3);
      await sleep(5);
    }
    await pinging;
    const { rows } = await database.db.pool.query(
      `select s.status, f.taken_back_at is null as stands, count(*)::int
       from check_states s left join flips f on f.check_id = s.check_id
       where s.check_id = any ($1) group by 1, 2`,
      [checks.map(({ id }) => id)],
    );
    for (const row of rows) expect(row.status).toBe("up");
    const standing = await owedFlips(database, world);
    const { rows: left } = await database.db.pool.query(
      "select count(*)::int as count from flips where check_id = any ($1) and taken_back_at is null",
      [checks.map(({ id }) => id)],
    );
    expect(left[0].count, `${standing.length} flips were made`).toBe(0);
  });
});

describe("a deadline that refused pings may explain", () => {
  const refuse = (interval: { checkId?: number; network?: string }, at: number) =>
    inTransaction(database.db, (tx) =>
      insertRefusedIntervals(tx, {
        intakeId: randomUUID(),
        intervals: [{ checkId: null, network: null, from: at, to: at, ...interval }],
      }),
    );

  test("is excused for the check whose ping was refused, and for no other", async () => {
    const world = await makeWorld(database);
    const [refused, other] = [await makeWatched(database, world), await makeWatched(database, world)];
    // Before the expected time: a job is often slightly early.
    await refuse({ checkId: refused.id }, MONDAY_NOON + 3_599_000);
    expect(await sweep(HOURLY_DOWN_AT + 1_000)).toMatchObject({ fired: 1, excused: 1 });
    expect(await storedRow(database, refused.id)).toMatchObject({ status: "up" });
    expect(await storedRow(database, other.id)).toMatchObject({ status: "down" });
  });

  test("is excused for the checks that ping from the network, and for no other", async () => {
    const world = await makeWorld(database);
    const sends = async (remoteAddr: string) => {
      const check = await makeWatched(database, world);
      await database.db.pool.query(
        `insert into pings (check_id, n, at, kind, scheme, method, remote_addr, ua)
          values ($1, 1, now(), 's', 'http', 'GET', $2, '')`,
        [check.id, remoteAddr],
      );
      return check.id;
    };
    const same = await sends("2001:db8:1:2::9");
    const other = await sends("2001:db8:1:3::9");
    const inBlock = await sends("198.51.100.7");
    const without = (await makeWatched(database, world)).id;
    await refuse({ network: "2001:db8:1:2::/64" }, MONDAY_NOON + 3_700_000);
    await refuse({ network: "198.0.0.0/8" }, MONDAY_NOON + 3_700_000);
    // The deadline waits for retries, and is excused if none arrives.
    await sweep(MONDAY_NOON + 3_700_000 + 600_001);
    const statusOf = async (id: number) => (await storedRow(database, id)).status;
    expect(await Promise.all([same, other, inBlock, without].map(statusOf))).toEqual([
      "up",
      "down",
      "up",
      "down",
    ]);
  });
});
