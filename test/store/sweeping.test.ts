// What the sweeper reads in addition to states: names of due checks, schedules, marks, and quarantined checks.
import { beforeEach, describe, expect, test } from "vitest";
import { HOUR_MS } from "../../src/core/instant.ts";
import {
  deleteQuarantineOfCheck,
  findDueStates,
  findTimings,
  listDueChecks,
  listQuarantinedChecks,
  lockDueChecks,
  lockStates,
  markCheckDeleted,
  moveSweep,
  quarantineCheck,
  releaseQuarantinedChecks,
} from "../../src/store/checks.ts";
import { isRefusedValue } from "../../src/store/errors.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON } from "../support/sample.ts";
import { HOURLY_DOWN_AT, makeManyWatched, makeWorld, storedRow, type World } from "../support/sweeping.ts";

const database = useDatabase();
const write = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(database.db, work);
let world: World;

beforeEach(async () => {
  await database.db.pool.query("truncate checks, poisoned_checks cascade");
  world = await makeWorld(database);
});

/** Checks that are due one second after the other. */
async function dueChecks(count: number): Promise<number[]> {
  const ids = (await makeManyWatched(database, world, count)).map(({ id }) => id);
  const moves = ids.map((checkId, index) => ({ checkId, sweepAt: MONDAY_NOON + index * 1_000 }));
  await write((tx) => moveSweep(tx, moves));
  return ids;
}

describe("due checks", () => {
  test("are named in the order in which they are due, within the range and without the exceptions", async () => {
    const ids = await dueChecks(5);
    const [, second = 0] = ids;
    const range = { from: MONDAY_NOON + 1_000, through: MONDAY_NOON + 3_000, limit: 10 };
    const names = (found: readonly { checkId: number }[]) => found.map(({ checkId }) => checkId);
    expect(names(await listDueChecks(database.db, range))).toEqual(ids.slice(1, 4));
    expect(names(await listDueChecks(database.db, { ...range, except: [second] }))).toEqual(ids.slice(2, 4));
    expect(await listDueChecks(database.db, { ...range, limit: 1 })).toEqual([
      { checkId: second, sweepAt: MONDAY_NOON + 1_000 },
    ]);
    expect(names(await write((tx) => lockDueChecks(tx, range)))).toEqual(ids.slice(1, 4));
    expect(names(await write((tx) => findDueStates(tx, { ...range, except: [second] })))).toEqual(
      ids.slice(2, 4),
    );
  });

  test("that are locked are listed, without locking or waiting", async () => {
    const [held = 0, free = 0] = await dueChecks(2);
    const range = { through: MONDAY_NOON + 5_000, limit: 10 };
    await write(async (tx) => {
      await lockStates(tx, [held]);
      expect(await listDueChecks(database.db, range)).toHaveLength(2);
      const locked = await write((other) => lockDueChecks(other, range));
      expect(locked.map(({ checkId }) => checkId)).toEqual([free]);
    });
  });
});

test("timings are those of the checks that are not deleted", async () => {
  const [first, second] = await makeManyWatched(database, world, 2);
  if (first === undefined || second === undefined) throw new Error("there are two");
  await write((tx) => markCheckDeleted(tx, { checkId: second.id, at: MONDAY_NOON }));
  const { kind, timeoutSeconds, graceSeconds, schedule, tz, manualResume, rules } = first.settings;
  expect(await findTimings(database.db, [first.id, second.id])).toEqual(
    new Map([[first.id, { kind, timeoutSeconds, graceSeconds, schedule, tz, manualResume, rules }]]),
  );
});

describe("the mark of the sweeper", () => {
  test("may lie beyond the deadline only where a hold says so", async () => {
    const [check] = await makeManyWatched(database, world, 1);
    const checkId = check?.id ?? 0;
    const sweepAt = HOURLY_DOWN_AT + 1;
    const error = await write((tx) => moveSweep(tx, [{ checkId, sweepAt }])).catch(
      (thrown: unknown) => thrown,
    );
    expect(isRefusedValue(error)).toBe(true);
    await write((tx) => moveSweep(tx, [{ checkId, sweepAt, heldUntilAt: sweepAt }]));
    expect(await storedRow(database, checkId)).toMatchObject({ sweep_at: sweepAt, held_until_at: sweepAt });
    await write((tx) => moveSweep(tx, [{ checkId, sweepAt: HOURLY_DOWN_AT }]));
    expect(await storedRow(database, checkId)).toMatchObject({
      sweep_at: HOURLY_DOWN_AT,
      held_until_at: null,
    });
  });
});

test("a repeated quarantine keeps its start, and is deleted when its time is over", async () => {
  const aside = { checkId: 7, sinceAt: MONDAY_NOON, untilAt: MONDAY_NOON + HOUR_MS, reason: "first" };
  await write((tx) => quarantineCheck(tx, aside));
  await write((tx) => quarantineCheck(tx, { ...aside, checkId: 8, sinceAt: MONDAY_NOON - 1 }));
  const again = { ...aside, untilAt: MONDAY_NOON + 2 * HOUR_MS, reason: "second" };
  await write((tx) => quarantineCheck(tx, { ...again, sinceAt: MONDAY_NOON + HOUR_MS }));
  expect(await listQuarantinedChecks(database.db, 1)).toMatchObject([{ checkId: 8 }]);
  await write((tx) => releaseQuarantinedChecks(tx, { through: MONDAY_NOON + HOUR_MS }));
  expect(await listQuarantinedChecks(database.db, 10)).toEqual([again]);
  await write((tx) => deleteQuarantineOfCheck(tx, 7));
  expect(await listQuarantinedChecks(database.db, 10)).toEqual([]);
});
