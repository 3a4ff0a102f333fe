// States of checks: written completely, locked in one order, found when due and shared between sweepers.
import { describe, expect, test } from "vitest";
import type { DayTotals } from "../../src/core/run.ts";
import { type CheckState, NEW_STATE } from "../../src/core/state.ts";
import {
  findCheckByUuid,
  findDueStates,
  insertState,
  lockStates,
  moveSweep,
  type StoredState,
  updateCheck,
  writeStates,
} from "../../src/store/checks.ts";
import { statement } from "../../src/store/db.ts";
import { isRefusedValue, postgresErrorName } from "../../src/store/errors.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();

/** Every field set, and each to a different value, so that swapped columns are detected. */
const BUSY: CheckState = {
  status: "down",
  lastPingAt: MONDAY_NOON + 1,
  lastStartAt: MONDAY_NOON + 2,
  lastStartRid: "0c0e6bb8-1d7f-4d4f-9a41-3a7ef0a9e8b1",
  lastDurationMs: 5_000_000_000,
  newestAt: MONDAY_NOON + 3,
  commandAt: MONDAY_NOON + 4,
  expectFromAt: MONDAY_NOON + 5,
  missed: { deadlineAt: MONDAY_NOON + 6, from: "up" },
  judged: {
    outcomes: 4_294_967_295,
    missed: 2,
    problem: "tolerated",
    runBeganAt: MONDAY_NOON + 8,
    chain: { expectFromAt: null, deadlines: [{ at: MONDAY_NOON + 9, expectFromAt: MONDAY_NOON + 10 }] },
  },
  pingCount: 9_000_000_001,
  coalescedCount: 8_000_000_002,
  endedRids: ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"],
  rateMinuteAt: MONDAY_NOON + 7,
  rateCount: 59,
};

const TODAY: DayTotals = {
  day: "2026-11-16",
  successCount: 11,
  failCount: 12,
  timedCount: 13,
  durationSumMs: 14,
  durationMaxMs: 15,
};

/** The state of a check after `insertState`, with the changes of the test. */
function fresh(checkId: number, given: Partial<StoredState> = {}): StoredState {
  return {
    checkId,
    state: NEW_STATE,
    downAt: null,
    sweepAt: null,
    lastSuccessN: null,
    today: null,
    ...given,
  };
}

const HOT_UPDATES = statement<{ count: number }>({
  name: "test.hot_updates",
  text: "select pg_stat_get_xact_tuples_hot_updated('check_states'::regclass) as count",
});

async function sampleChecks(count: number) {
  const { id: projectId } = await sampleProject(database.db);
  const checks = [];
  for (let i = 0; i < count; i++) checks.push(await sampleCheck(database.db, { projectId }));
  return checks;
}

const write = (states: StoredState[]) => inTransaction(database.db, (tx) => writeStates(tx, states));
const lock = (ids: number[]) => inTransaction(database.db, (tx) => lockStates(tx, ids));

describe("writing and reading", () => {
  test("a written state comes back as it was, field by field", async () => {
    const [check] = await sampleChecks(1);
    const checkId = check?.id ?? 0;
    const busy = {
      checkId,
      state: BUSY,
      downAt: MONDAY_NOON + 9,
      sweepAt: MONDAY_NOON + 8,
      lastSuccessN: 9_000_000_000,
      today: TODAY,
    };
    await write([busy]);
    expect(await lock([checkId])).toEqual([busy]);
    const idle = fresh(checkId);
    await write([idle]);
    expect(await lock([checkId])).toEqual([idle]);
  });

  test("a batch writes each check its own state", async () => {
    const checks = await sampleChecks(3);
    const states = checks.map(({ id }, i) =>
      fresh(id, {
        state: { ...NEW_STATE, pingCount: i + 1 },
        downAt: MONDAY_NOON + i,
        sweepAt: MONDAY_NOON + i,
      }),
    );
    await write(states.toReversed());
    expect(await lock(checks.map((check) => check.id).toReversed())).toEqual(states);
  });

  test("a check that is not there is not locked, and writing it is an error", async () => {
    expect(await lock([999_999])).toEqual([]);
    await expect(write([fresh(999_999)])).rejects.toThrow("wrote 0 of 1 states");
  });

  test("the sweeper's mark may not lie after the deadline", async () => {
    const [check] = await sampleChecks(1);
    const checkId = check?.id ?? 0;
    for (const sweepAt of [MONDAY_NOON + 1, null]) {
      const late = write([fresh(checkId, { downAt: MONDAY_NOON, sweepAt })]);
      expect(isRefusedValue(await late.catch((error: unknown) => error))).toBe(true);
    }
  });

  test("a check has one state", async () => {
    const [check] = await sampleChecks(1);
    const second = inTransaction(database.db, (tx) => insertState(tx, check?.id ?? 0));
    expect(postgresErrorName(await second.catch((error: unknown) => error))).toBe("unique_violation");
  });

  test("a rewrite is a HOT update exactly when it leaves the sweeper's mark alone", async () => {
    const checks = await sampleChecks(20);
    const states = (downAt: number, sweepAt: number) =>
      checks.map(({ id }) => fresh(id, { downAt, sweepAt }));
    await write(states(MONDAY_NOON, MONDAY_NOON));
    await inTransaction(database.db, async (tx) => {
      const hotUpdates = async () => (await tx.query(HOT_UPDATES, [])).rows[0]?.count ?? -1;
      await writeStates(tx, states(MONDAY_NOON + 60_000, MONDAY_NOON));
      expect(await hotUpdates()).toBe(20);
      await writeStates(tx, states(MONDAY_NOON + 60_000, MONDAY_NOON + 60_000));
      expect(await hotUpdates()).toBe(20);
    });
  });
});

describe("locking", () => {
  test("two batches over the same checks, named in opposite orders, do not deadlock", async () => {
    const ids = (await sampleChecks(10)).map((check) => check.id);
    const count = async (order: number[]) => {
      for (let round = 0; round < 10; round++) {
        const countOne = inTransaction(database.db, async (tx) => {
          const locked = await lockStates(tx, order);
          await writeStates(
            tx,
            locked.map((one) => ({ ...one, state: { ...one.state, pingCount: one.state.pingCount + 1 } })),
          );
        });
        // On a busy machine the others may hold the checks longer than one lock timeout; that round is repeated.
        const isDone = await countOne.then(
          () => true,
          (error: unknown) => {
            if (postgresErrorName(error) !== "lock_not_available") throw error;
            return false;
          },
        );
        if (!isDone) round--;
      }
    };
    await Promise.all([count(ids), count(ids.toReversed()), count(ids)]);
    expect((await lock(ids)).map(({ state }) => state.pingCount)).toEqual(ids.map(() => 30));
  });

  test("settings read after the lock are those of the edit that it waited for", async () => {
    const [check] = await sampleChecks(1);
    const { id: checkId, uuid } = check ?? { id: 0, uuid: "" };
    let locked = () => {};
    const editorHasLock = new Promise<void>((resolve) => (locked = resolve));
    const edit = inTransaction(database.db, async (tx) => {
      await lockStates(tx, [checkId]);
      locked();
      await updateCheck(tx, { checkId, patch: { graceSeconds: 77 }, at: MONDAY_NOON });
      await new Promise((resolve) => setTimeout(resolve, 50));
    });
    await editorHasLock;
    const seen = await inTransaction(database.db, async (tx) => {
      await lockStates(tx, [checkId]);
      return (await findCheckByUuid(tx, uuid))?.settings.graceSeconds;
    });
    await edit;
    expect(seen).toBe(77);
  });

  test("a lock that is held for long is given up with its own error", async () => {
    const [check] = await sampleChecks(1);
    const checkId = check?.id ?? 0;
    await inTransaction(database.db, async (tx) => {
      await lockStates(tx, [checkId]);
      const other = await lock([checkId]).catch((error: unknown) => error);
      expect(postgresErrorName(other)).toBe("lock_not_available");
    });
  });
});

describe("sweeping", () => {
  // Long ago, so that the other tests' states are not due yet.
  const START = Date.UTC(2001, 0, 1);

  async function dueChecks(count: number) {
    const checks = await sampleChecks(count);
    const state: CheckState = { ...NEW_STATE, status: "up" };
    // The newest check is due first, so that the order of the table differs from that of the deadlines.
    const states = checks
      .toReversed()
      .map(({ id }, i) => fresh(id, { state, downAt: START + i, sweepAt: START + i }));
    await write(states.toReversed());
    return states;
  }

  test("due checks come longest due first, no more than asked for, and those after the instant do not", async () => {
    const states = await dueChecks(5);
    const find = (through: number, limit: number) =>
      inTransaction(database.db, (tx) => findDueStates(tx, { through, limit }));
    expect(await find(START + 3, 3)).toEqual(states.slice(0, 3));
    expect(await find(START + 1, 100)).toEqual(states.slice(0, 2));
    expect(await find(START - 1, 100)).toEqual([]);

    await inTransaction(database.db, (tx) =>
      moveSweep(tx, [
        ...states.slice(1).map(({ checkId }) => ({ checkId, sweepAt: START })),
        { checkId: states[0]?.checkId ?? 0, sweepAt: START - 50 },
      ]),
    );
    expect((await find(START - 50, 100)).map(({ checkId }) => checkId)).toEqual([states[0]?.checkId]);
    await write(states.map((one) => ({ ...one, downAt: null, sweepAt: null })));
    expect(await find(START + 100, 100)).toEqual([]);
  });

  test("several sweepers share due checks without waiting for each other", async () => {
    const states = await dueChecks(6);
    const [first, second] = await inTransaction(database.db, async (one) => {
      const mine = await findDueStates(one, { through: START + 100, limit: 4 });
      const theirs = await inTransaction(database.db, (two) =>
        findDueStates(two, { through: START + 100, limit: 4 }),
      );
      return [mine, theirs];
    });
    expect(first.length).toBe(4);
    expect(second.length).toBe(2);
    expect([...first, ...second]).toEqual(states);
    await write(states.map((one) => ({ ...one, downAt: null, sweepAt: null })));
  });
});
