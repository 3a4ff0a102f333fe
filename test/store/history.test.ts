// The log with its bodies, packed runs and daily totals.
import { describe, expect, test } from "vitest";
import type { DayTotals } from "../../src/core/run.ts";
import type { SignalKind } from "../../src/core/signal.ts";
import { isRefusedValue, postgresErrorName } from "../../src/store/errors.ts";
import {
  deleteBodiesOfCheck,
  deletePingsOfCheck,
  findBody,
  findEnds,
  findLastPings,
  findPing,
  insertBodies,
  insertPings,
  listBodyStarts,
  listLoggedRuns,
  listPings,
  type Ping,
  pruneBodies,
  prunePings,
  trimBodies,
  trimPings,
} from "../../src/store/pings.ts";
import {
  addDayTotals,
  deleteDaysOfCheck,
  deleteRunChunksOfCheck,
  insertRunChunks,
  listDays,
  listPackedRuns,
  pruneDays,
  pruneRunChunks,
  trimDays,
  trimRunChunks,
} from "../../src/store/runs.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON } from "../support/sample.ts";

const database = useDatabase();
let nextCheckId = 1;

const write = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(database.db, work);

function samplePing(checkId: number, n: number, given: Partial<Ping> = {}): Ping {
  return {
    checkId,
    n,
    at: MONDAY_NOON + n * 1_000,
    kind: "success",
    durationMs: null,
    scheme: "http",
    method: "GET",
    remoteAddr: "127.0.0.1",
    ua: "curl/8.0",
    rid: null,
    exitStatus: null,
    bodySize: null,
    ...given,
  };
}

async function logged(kinds: SignalKind[]) {
  const checkId = nextCheckId++;
  const pings = kinds.map((kind, i) => samplePing(checkId, i + 1, { kind }));
  await write((tx) => insertPings(tx, pings));
  return { checkId, pings };
}

describe("pings", () => {
  test("the newest at an instant is found, for several checks at once", async () => {
    const a = await logged(["success", "start", "fail"]);
    const b = await logged(["success"]);
    const moment = ({ checkId }: { checkId: number }, seconds: number) => ({
      checkId,
      at: MONDAY_NOON + seconds * 1_000,
    });
    const last = await findLastPings(database.db, [moment(a, 2), moment(b, 9)]);
    expect(last).toEqual([a.pings[1], b.pings[0]]);
    expect(await findLastPings(database.db, [moment(a, 0)])).toEqual([]);
  });

  test("the newest end of a run is found by its id, for several runs at once", async () => {
    const [one, other] = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"];
    const a = nextCheckId++;
    const b = nextCheckId++;
    await write((tx) =>
      insertPings(tx, [
        samplePing(a, 1, { kind: "start", rid: other }),
        samplePing(a, 2, { kind: "success", rid: one }),
        samplePing(a, 3, { kind: "fail", rid: one }),
        samplePing(a, 4, { kind: "log", rid: one }),
        samplePing(b, 1, { kind: "success", rid: other }),
      ]),
    );
    const wanted = [a, b].flatMap((checkId) => [one, other].map((rid) => ({ checkId, rid })));
    const found = await findEnds(database.db, wanted);
    expect(found.toSorted((x, y) => x.checkId - y.checkId)).toEqual([
      { checkId: a, rid: one, at: samplePing(a, 3).at },
      { checkId: b, rid: other, at: samplePing(b, 1).at },
    ]);
  });

  test("come back with everything that was logged", async () => {
    const checkId = nextCheckId++;
    const full = samplePing(checkId, 5_000_000_000, {
      kind: "fail",
      durationMs: 3_000_000_000,
      scheme: "https",
      method: "POST",
      remoteAddr: "2001:db8::1",
      ua: `weird "agent" {with} \\ , NULL ü`,
      rid: "0c0e6bb8-1d7f-4d4f-9a41-3a7ef0a9e8b1",
      exitStatus: 255,
      bodySize: 10_000,
    });
    const bare = samplePing(checkId, 1, { remoteAddr: null, ua: "", method: "", scheme: "email" });
    await write((tx) => insertPings(tx, [full, bare]));
    expect(await findPing(database.db, { checkId, n: 5_000_000_000 })).toEqual(full);
    expect(await findPing(database.db, { checkId, n: 1 })).toEqual(bare);
    expect(await findPing(database.db, { checkId, n: 2 })).toBeNull();
  });

  test("are listed newest first, of every kind, above a number and no more than asked for", async () => {
    const { checkId, pings } = await logged(["success", "start", "fail", "log", "ign"]);
    const list = (afterN: number, limit: number) => listPings(database.db, { checkId, afterN, limit });
    expect(await list(0, 100)).toEqual(pings.toReversed());
    expect((await list(0, 2)).map(({ n }) => n)).toEqual([5, 4]);
    expect((await list(3, 100)).map(({ n }) => n)).toEqual([5, 4]);
  });

  test("are trimmed for several checks at once, and give back the runs that go", async () => {
    const one = await logged(["start", "success", "fail", "log", "success"]);
    const two = await logged(["success", "success"]);
    const untouched = await logged(["success"]);
    const runs = await write((tx) =>
      trimPings(tx, [
        { checkId: two.checkId, through: 1 },
        { checkId: one.checkId, through: 4 },
      ]),
    );
    const run = (checkId: number, n: number, outcome: "success" | "fail") => {
      return { checkId, endAt: MONDAY_NOON + n * 1_000, outcome, durationMs: null };
    };
    expect(runs).toEqual([
      run(one.checkId, 2, "success"),
      run(one.checkId, 3, "fail"),
      run(two.checkId, 1, "success"),
    ]);
    const left = async (checkId: number) =>
      (await listPings(database.db, { checkId, afterN: 0, limit: 100 })).map(({ n }) => n);
    expect(await left(one.checkId)).toEqual([5]);
    expect(await left(two.checkId)).toEqual([2]);
    expect(await left(untouched.checkId)).toEqual([1]);
    expect(await listLoggedRuns(database.db, { checkId: one.checkId, from: 0 })).toEqual([
      { endAt: MONDAY_NOON + 5_000, outcome: "success", durationMs: null },
    ]);
    expect(await listLoggedRuns(database.db, { checkId: one.checkId, from: MONDAY_NOON + 5_001 })).toEqual(
      [],
    );
  });

  test("are pruned by age, at most so many at a time, and give back the runs that go", async () => {
    const { checkId } = await logged(["start", "success", "fail", "log"]);
    const untouched = await logged(["success"]);
    const prune = (limit: number) =>
      write((tx) => prunePings(tx, { checkIds: [checkId], before: MONDAY_NOON + 4_000, limit }));
    expect((await prune(2)).count).toBe(2);
    expect((await prune(9)).count).toBe(1);
    expect(await prune(9)).toEqual({ count: 0, runs: [] });
    expect((await listPings(database.db, { checkId, afterN: 0, limit: 9 })).map(({ n }) => n)).toEqual([4]);
    const all = { checkIds: [untouched.checkId], before: MONDAY_NOON + 60_000, limit: 9 };
    const run = {
      checkId: untouched.checkId,
      endAt: MONDAY_NOON + 1_000,
      outcome: "success",
      durationMs: null,
    };
    expect(await write((tx) => prunePings(tx, all))).toEqual({ count: 1, runs: [run] });
  });

  test("that recording has locked are skipped when old ones are pruned", async () => {
    const { checkId } = await logged(["success", "success"]);
    const pruned = await write(async (tx) => {
      await trimPings(tx, [{ checkId, through: 1 }]);
      return write((other) =>
        prunePings(other, { checkIds: [checkId], before: MONDAY_NOON + 9_000, limit: 9 }),
      );
    });
    expect(pruned.count).toBe(1);
  });

  test("go with their check", async () => {
    const { checkId } = await logged(["success"]);
    await write((tx) => deletePingsOfCheck(tx, checkId));
    expect(await listPings(database.db, { checkId, afterN: 0, limit: 100 })).toEqual([]);
  });

  test("with a value that the database cannot hold are refused as such", async () => {
    const bad = write((tx) => insertPings(tx, [samplePing(1, 1, { ua: "nul \0" })]));
    expect(isRefusedValue(await bad.catch((error: unknown) => error))).toBe(true);
  });
});

describe("bodies", () => {
  const bytes = (n: number) => Buffer.from([n, 0, 255, 92, 34, 10]);
  const insert = (checkId: number, numbers: number[]) =>
    write((tx) =>
      insertBodies(
        tx,
        numbers.map((n) => ({ checkId, n, at: MONDAY_NOON, body: bytes(n) })),
      ),
    );

  test("come back byte for byte", async () => {
    const checkId = nextCheckId++;
    await insert(checkId, [1, 2]);
    expect(await findBody(database.db, { checkId, n: 2 })).toEqual({
      checkId,
      n: 2,
      at: MONDAY_NOON,
      body: bytes(2),
    });
    expect(await findBody(database.db, { checkId, n: 3 })).toBeNull();
    const again = insert(checkId, [1]);
    expect(postgresErrorName(await again.catch((error: unknown) => error))).toBe("unique_violation");
  });

  test("are read by their beginnings, for lists", async () => {
    const checkId = nextCheckId++;
    await insert(checkId, [1, 2]);
    const starts = await listBodyStarts(database.db, { checkId, ns: [2, 3], bytes: 4 });
    expect([...starts]).toEqual([[2, bytes(2).subarray(0, 4)]]);
  });

  test("are pruned by age, at most so many at a time", async () => {
    const checkId = nextCheckId++;
    await insert(checkId, [1, 2, 3]);
    const prune = (before: number) =>
      write((tx) => pruneBodies(tx, { checkIds: [checkId], before, limit: 2 }));
    expect(await prune(MONDAY_NOON)).toBe(0);
    expect(await prune(MONDAY_NOON + 1)).toBe(2);
    expect(await prune(MONDAY_NOON + 1)).toBe(1);
    expect(await findBody(database.db, { checkId, n: 3 })).toBeNull();
  });

  test("are trimmed but for the one to keep, which goes when another takes its place", async () => {
    const checkId = nextCheckId++;
    const other = nextCheckId++;
    await insert(checkId, [1, 2, 3, 4]);
    await insert(other, [1]);
    const left = async () => {
      const found = await Promise.all([1, 2, 3, 4].map((n) => findBody(database.db, { checkId, n })));
      return found.flatMap((one) => (one === null ? [] : [one.n]));
    };
    await write((tx) =>
      trimBodies(tx, [
        { checkId, through: 3, keepN: 2 },
        { checkId: other, through: 1, keepN: null },
      ]),
    );
    expect(await left()).toEqual([2, 4]);
    expect(await findBody(database.db, { checkId: other, n: 1 })).toBeNull();
    await write((tx) => trimBodies(tx, [{ checkId, through: 3, keepN: 4 }]));
    expect(await left()).toEqual([4]);
    await write((tx) => deleteBodiesOfCheck(tx, checkId));
    expect(await left()).toEqual([]);
  });
});

describe("packed runs", () => {
  const run = (endAt: number, durationMs: number | null = 1_500) =>
    ({ endAt, outcome: endAt % 2 === 0 ? "success" : "fail", durationMs }) as const;

  test("are listed oldest first over all chunks, from an instant on", async () => {
    const checkId = nextCheckId++;
    const [first, second] = [
      [run(1_000), run(2_001, null)],
      [run(3_000), run(2_500)],
    ];
    await write((tx) =>
      insertRunChunks(tx, [
        { checkId, runs: second },
        { checkId, runs: first },
        { checkId: nextCheckId++, runs: first },
      ]),
    );
    const list = (from: number, limit = 100) => listPackedRuns(database.db, { checkId, from, limit });
    expect(await list(0)).toEqual([run(1_000), run(2_001, null), run(2_500), run(3_000)]);
    expect(await list(2_001)).toEqual([run(2_001, null), run(2_500), run(3_000)]);
    expect(await list(3_001)).toEqual([]);
    expect(await list(0, 3)).toEqual([run(2_001, null), run(2_500), run(3_000)]);
  });

  test("of a check that has many, no more are unpacked than are asked for", async () => {
    const checkId = nextCheckId++;
    await write((tx) => insertRunChunks(tx, [{ checkId, runs: [run(5_000), run(6_000)] }]));
    await database.db.pool.query(
      `insert into run_chunks (check_id, from_at, to_at, run_count, runs)
       values ($1, to_timestamp(1), to_timestamp(2), 1, decode('ff', 'hex'))`,
      [checkId],
    );
    const list = (limit: number) => listPackedRuns(database.db, { checkId, from: 0, limit });
    expect(await list(2)).toEqual([run(5_000), run(6_000)]);
    await expect(list(3)).rejects.toThrow("packed runs end in the middle");
  });

  test("are deleted chunk by chunk, and with their check", async () => {
    const checkId = nextCheckId++;
    const chunks = [[run(1_000), run(2_000)], [run(3_000)]].map((runs) => ({ checkId, runs }));
    await write((tx) => insertRunChunks(tx, chunks));
    const ends = async () =>
      (await listPackedRuns(database.db, { checkId, from: 0, limit: 100 })).map((one) => one.endAt);
    const trim = (before: number) => write((tx) => trimRunChunks(tx, { checkIds: [checkId], before }));
    await trim(2_000);
    expect(await ends()).toEqual([1_000, 2_000, 3_000]);
    await trim(2_001);
    expect(await ends()).toEqual([3_000]);
    await write((tx) => deleteRunChunksOfCheck(tx, checkId));
    expect(await ends()).toEqual([]);
  });

  test("old ones are pruned, except locked ones", async () => {
    const checkIds = [nextCheckId++, nextCheckId++];
    const chunks = checkIds.flatMap((checkId) => [1_000, 5_000].map((at) => ({ checkId, runs: [run(at)] })));
    await write((tx) => insertRunChunks(tx, chunks));
    const prune = () => write((tx) => pruneRunChunks(tx, { checkIds, before: 5_000 }));
    await write(async (tx) => {
      await trimRunChunks(tx, { checkIds: checkIds.slice(0, 1), before: 2_000 });
      expect(await prune()).toBe(1);
    });
    expect(await prune()).toBe(0);
    for (const checkId of checkIds) {
      const left = await listPackedRuns(database.db, { checkId, from: 0, limit: 100 });
      expect(left.map(({ endAt }) => endAt)).toEqual([5_000]);
    }
  });
});

describe("days", () => {
  const totals = (day: string, given: Partial<DayTotals> = {}): DayTotals => {
    return {
      day,
      successCount: 1,
      failCount: 2,
      timedCount: 3,
      durationSumMs: 40,
      durationMaxMs: 30,
      ...given,
    };
  };

  test("are added up, within a batch and with stored ones", async () => {
    const checkId = nextCheckId++;
    const add = (days: DayTotals[]) =>
      write((tx) =>
        addDayTotals(
          tx,
          days.map((one) => ({ checkId, totals: one })),
        ),
      );
    await add([totals("2026-11-15"), totals("2026-11-16"), totals("2026-11-15", { durationMaxMs: 35 })]);
    await add([totals("2026-11-15", { durationMaxMs: 5 })]);
    const list = (fromDay: string) => listDays(database.db, { checkId, fromDay });
    expect(await list("2026-11-15")).toEqual([
      {
        day: "2026-11-15",
        successCount: 3,
        failCount: 6,
        timedCount: 9,
        durationSumMs: 120,
        durationMaxMs: 35,
      },
      totals("2026-11-16"),
    ]);
    expect(await list("2026-11-16")).toEqual([totals("2026-11-16")]);

    await write((tx) => trimDays(tx, { checkIds: [checkId], beforeDay: "2026-11-16" }));
    expect((await list("2000-01-01")).map(({ day }) => day)).toEqual(["2026-11-16"]);
    await write((tx) => deleteDaysOfCheck(tx, checkId));
    expect(await list("2000-01-01")).toEqual([]);
  });

  test("that are old are pruned, except locked ones", async () => {
    const checkIds = [nextCheckId++, nextCheckId++];
    const days = checkIds.flatMap((checkId) =>
      ["2026-08-01", "2026-11-16"].map((day) => ({ checkId, totals: totals(day) })),
    );
    await write((tx) => addDayTotals(tx, days));
    const beforeDay = "2026-11-16";
    const prune = () => write((tx) => pruneDays(tx, { checkIds, beforeDay }));
    await write(async (tx) => {
      await trimDays(tx, { checkIds: checkIds.slice(0, 1), beforeDay });
      expect(await prune()).toBe(1);
    });
    expect(await prune()).toBe(0);
    for (const checkId of checkIds) {
      expect(await listDays(database.db, { checkId, fromDay: "2000-01-01" })).toEqual([totals("2026-11-16")]);
    }
  });
});
