// Signs of life in the database: entering, beating, leaving, and being declared lost. What was blind is written
// in the same transaction that moves the watermark, so whoever reads both never sees the one without the other.
import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import type { Instant } from "../../src/core/instant.ts";
import type { HeartbeatAccepted, HeartbeatRequest, Observation } from "../../src/core/watermark.ts";
import {
  enterIntake,
  leaveIntake,
  readIntakes,
  recordHeartbeat,
  skipLostBatches,
} from "../../src/operations/intakes.ts";
import { readDatabaseClock } from "../../src/store/instance.ts";
import {
  advanceSequence,
  findSequence,
  listBlindIntervals,
  listOpenIntakes,
} from "../../src/store/intakes.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();

beforeEach(async () => {
  await database.db.pool.query("truncate intakes, blind_intervals, refused_intervals");
});

const LEASE_MS = 10_000;

async function enter(name = "host/1") {
  const intakeId = randomUUID();
  const entered = await enterIntake(database.db, { intakeId, name, leaseMs: LEASE_MS });
  return { intakeId, ...entered };
}

/** Beats as an intake that has nothing to say, except what the test gives it. */
async function beat(
  intakeId: string,
  { observed = {}, ...request }: Partial<HeartbeatRequest> & { observed?: Partial<Observation> } = {},
) {
  return recordHeartbeat(database.db, {
    intakeId,
    leaseMs: LEASE_MS,
    beatAt: null,
    lookedAt: null,
    confirmedSeq: 0,
    watchingSinceAt: null,
    signs: new Map(),
    gone: [],
    broken: [],
    observe: async ({ databaseAt }) => ({
      watermarkAt: databaseAt - 1_000,
      acceptedUntilAt: null,
      skippedMs: 0,
      unproven: [],
      refused: [],
      spoolEmpty: true,
      spoolFill: 0,
      signalsPerMinute: 0,
      ...observed,
    }),
    ...request,
  });
}

async function beaten(...args: Parameters<typeof beat>): Promise<HeartbeatAccepted> {
  const result = await beat(...args);
  if (result.kind !== "beaten") throw new Error("the intake was closed");
  return result;
}

const now = () => readDatabaseClock(database.db);

/** Moves the last sign of an intake into the past, as time would. */
async function age(intakeId: string, ms: number): Promise<void> {
  await database.db.pool.query(
    `update intakes set beat_at = beat_at - $2 * interval '1 ms', watermark_at = watermark_at - $2 * interval '1 ms',
       lease_until_at = lease_until_at - $2 * interval '1 ms' where id = $1`,
    [intakeId, ms],
  );
}

async function blindTimes() {
  const at = await now();
  const found = await listBlindIntervals(database.db, { from: 0, to: at + 1_000 });
  return found.map(({ intakeId, from, to, reason }) => ({ intakeId, from, to, reason }));
}

describe("entering", () => {
  test("holds the watermark at the last sign of anybody's life", async () => {
    const first = await enter();
    expect(first.lastBeatAt).toBeNull();
    await age(first.intakeId, 600_000);
    const second = await enter();
    expect(second.lastBeatAt).toBeLessThan((await now()) - 599_000);
    const [, own] = await listOpenIntakes(database.db);
    expect(own?.watermarkAt).toBe((second.lastBeatAt ?? 0) - 1_000);
    expect(own?.leaseUntilAt).toBe(second.look.databaseAt + LEASE_MS);
  });

  test("and leaving again without having listened does not hide for how long nobody did", async () => {
    const first = await enter();
    await age(first.intakeId, 600_000);
    await leaveIntake(database.db, first);
    const never = await enter();
    await leaveIntake(database.db, never);
    expect((await enter()).lastBeatAt).toBe(never.lastBeatAt);
  });

  test("with signals that it took before it could enter holds the watermark before those", async () => {
    const before = await enter();
    await beaten(before.intakeId);
    const [intakeId, unappliedAt] = [randomUUID(), (await now()) - 5_000];
    await enterIntake(database.db, { intakeId, name: "late", leaseMs: LEASE_MS, unappliedAt });
    expect((await readIntakes(database.db)).visibility.watermarkAt).toBe(unappliedAt - 1_000);
  });

  test("twice, because the first answer was not heard, is entering once", async () => {
    const { intakeId } = await enter();
    await beaten(intakeId);
    const [row] = await listOpenIntakes(database.db);
    await enterIntake(database.db, { intakeId, name: "host/1", leaseMs: LEASE_MS });
    expect(await listOpenIntakes(database.db)).toEqual([row]);
  });

  test("looks at the clock between two readings of our own", async () => {
    const before = performance.now();
    const { look } = await enter();
    expect(look.sentAtMs).toBeGreaterThanOrEqual(before);
    expect(look.receivedAtMs).toBeLessThanOrEqual(performance.now());
    expect(look.sentAtMs).toBeLessThanOrEqual(look.receivedAtMs);
  });
});

describe("a beat", () => {
  test("moves watermark, lease and sign of life on the database's clock", async () => {
    const { intakeId } = await enter();
    const result = await beaten(intakeId);
    const [row] = await listOpenIntakes(database.db);
    expect(row).toMatchObject({
      beatAt: result.look.databaseAt,
      watermarkAt: result.look.databaseAt - 1_000,
      leaseUntilAt: result.look.databaseAt + LEASE_MS,
    });
    expect(result.visibility).toEqual({ watermarkAt: row?.watermarkAt, blind: [] });
  });

  test("after a start writes the time in which nobody listened, in the same breath as it moves the watermark", async () => {
    const before = await enter();
    await age(before.intakeId, 600_000);
    await leaveIntake(database.db, { intakeId: before.intakeId });
    const { intakeId, lastBeatAt } = await enter();
    const listensAt = await now();
    const unproven = [{ from: lastBeatAt ?? 0, to: listensAt }];
    // Somebody who looks all the while never finds the watermark moved without the blind time.
    const done = new AbortController();
    let looks = 0;
    const watching = (async () => {
      while (!done.signal.aborted) {
        const { visibility } = await readIntakes(database.db);
        looks += 1;
        const isMoved = (visibility.watermarkAt ?? 0) > (lastBeatAt ?? 0);
        expect(isMoved && visibility.blind.length === 0).toBe(false);
      }
    })();
    await expect.poll(() => looks).toBeGreaterThan(3);
    const result = await beaten(intakeId, { beatAt: lastBeatAt, observed: { unproven } });
    await expect.poll(() => looks).toBeGreaterThan(6);
    done.abort();
    await watching;
    const reason = "the receiving process did not accept pings";
    expect(await blindTimes()).toEqual([{ intakeId, from: lastBeatAt, to: listensAt, reason }]);
    expect(result.visibility.blind).toMatchObject([{ from: lastBeatAt, to: listensAt }]);
  });

  test("after a start writes nothing when somebody has beaten a moment ago", async () => {
    await enter();
    const { intakeId, lastBeatAt } = await enter();
    const unproven = [{ from: lastBeatAt ?? 0, to: await now() }];
    await beaten(intakeId, { beatAt: lastBeatAt, observed: { unproven } });
    expect(await blindTimes()).toEqual([]);
  });

  test("after a slow start writes nothing when another one has received all the while", async () => {
    const there = await enter();
    await age(there.intakeId, 10_000);
    await database.db.pool.query("update intakes set started_at = started_at - interval '1 minute'");
    const { intakeId, lastBeatAt } = await enter();
    // The start took ten seconds, in which the other one went on beating.
    await beaten(there.intakeId, { beatAt: lastBeatAt });
    const unproven = [{ from: lastBeatAt ?? 0, to: await now() }];
    const { blind } = await beaten(intakeId, { beatAt: lastBeatAt, observed: { unproven } });
    expect(blind).toEqual([]);
    expect(await blindTimes()).toEqual([]);
  });

  test("writes refusals, and the time that passed only for the database", async () => {
    const { intakeId } = await enter();
    const at = await now();
    const refused = [{ from: at - 30_000, to: at - 20_000 }];
    const beatAt = at - 60_000;
    const result = await beaten(intakeId, { beatAt, observed: { refused, skippedMs: 50_000 } });
    expect(await blindTimes()).toEqual([
      {
        intakeId,
        from: beatAt,
        to: result.look.databaseAt,
        reason: "the receiving process did not accept pings",
      },
      { intakeId, ...refused[0], reason: "pings were rejected" },
    ]);
  });

  test("of an intake that listens no more vouches for nothing after that", async () => {
    const { intakeId } = await enter();
    const stoppedAt = (await now()) - 5_000;
    await beaten(intakeId, { observed: { acceptedUntilAt: stoppedAt, watermarkAt: stoppedAt - 1_000 } });
    expect(await listOpenIntakes(database.db)).toMatchObject([
      { beatAt: stoppedAt, watermarkAt: stoppedAt - 1_000 },
    ]);
    await leaveIntake(database.db, { intakeId });
    expect((await enter()).lastBeatAt).toBe(stoppedAt);
  });

  test("tells what the database has of this intake's batches", async () => {
    const { intakeId } = await enter();
    await inTransaction(database.db, (tx) => advanceSequence(tx, { intakeId, seq: 1 }));
    expect((await beaten(intakeId)).lastSeq).toBe(1);
  });

  test("sees as far as the slowest of all open intakes", async () => {
    const slow = await enter("slow");
    const { intakeId } = await enter("fast");
    await age(slow.intakeId, 5_000);
    const result = await beaten(intakeId);
    const slowAt = result.others[0]?.watermarkAt;
    expect(result.others.map(({ name }) => name)).toEqual(["slow"]);
    expect(result.visibility.watermarkAt).toBe(slowAt);
    expect((await readIntakes(database.db)).visibility.watermarkAt).toBe(slowAt);
  });

  test("hears of blind times after the ones that are known, of whomever", async () => {
    const { intakeId } = await enter();
    const at = await now();
    const refused = (from: Instant) => ({ observed: { refused: [{ from, to: from + 1 }] } });
    const first = await beaten(intakeId, refused(at - 50));
    const [known] = first.visibility.blind;
    const other = await enter();
    await beaten(other.intakeId, { ...refused(at - 90), blindAfterId: known?.id ?? 0 });
    const { blind } = (await beaten(intakeId, { blindAfterId: known?.id ?? 0 })).visibility;
    expect(blind).toMatchObject([{ from: at - 90, to: at - 89 }]);
    expect((await beaten(intakeId, { blindAfterId: blind[0]?.id ?? 0 })).visibility.blind).toEqual([]);
    expect((await beaten(intakeId)).visibility.blind).toHaveLength(2);
  });

  test("whose own observation fails writes nothing", async () => {
    const { intakeId } = await enter();
    const [before] = await listOpenIntakes(database.db);
    const failing = beat(intakeId, { observe: () => Promise.reject(new Error("on purpose")) });
    await expect(failing).rejects.toThrow("on purpose");
    expect(await listOpenIntakes(database.db)).toEqual([before]);
  });
});

describe("an intake that is silent", () => {
  const watchingSinceAt: Instant = 0;

  test("is declared lost when its lease is over, its time since its watermark is blind, and it hears of it", async () => {
    const silent = await enter("silent");
    const { intakeId } = await enter();
    await age(silent.intakeId, LEASE_MS + 500);
    const watermarkAt = (await listOpenIntakes(database.db)).find(
      ({ id }) => id === silent.intakeId,
    )?.watermarkAt;
    const result = await beaten(intakeId, { watchingSinceAt });
    expect(result.lost.map(({ name }) => name)).toEqual(["silent"]);
    expect(result.others).toEqual([]);
    expect(await blindTimes()).toEqual([
      {
        intakeId: silent.intakeId,
        from: watermarkAt,
        to: result.look.databaseAt,
        reason: "the receiving process was lost",
      },
    ]);
    expect(result.visibility).toMatchObject({
      watermarkAt: result.look.databaseAt - 1_000,
      blind: [{ to: expect.any(Number) }],
    });
    expect(await beat(silent.intakeId)).toEqual({ kind: "closed" });
    const { rows } = await database.db.pool.query("select lost from intakes where id = $1", [
      silent.intakeId,
    ]);
    expect(rows).toEqual([{ lost: true }]);
  });

  test("is not lost before, nor while nobody could have heard it, nor while it records", async () => {
    const silent = await enter("silent");
    const { intakeId } = await enter();
    await age(silent.intakeId, LEASE_MS - 5_000);
    expect((await beaten(intakeId, { watchingSinceAt })).lost).toEqual([]);
    await age(silent.intakeId, LEASE_MS);
    expect((await beaten(intakeId, { watchingSinceAt: (await now()) - 2_000 })).lost).toEqual([]);
    expect((await beaten(intakeId)).lost).toEqual([]);
    const signs = new Map([[silent.intakeId, (await now()) - 1_000]]);
    expect((await beaten(intakeId, { watchingSinceAt, signs })).lost).toEqual([]);
    expect((await beaten(intakeId, { watchingSinceAt })).lost).toHaveLength(1);
  });

  test("is not lost by the first beat after an outage, or after a step of the database's clock", async () => {
    const silent = await enter("silent");
    const { intakeId } = await enter();
    await age(silent.intakeId, 10 * LEASE_MS);
    const lookedAt = (await now()) - 4_000;
    expect((await beaten(intakeId, { watchingSinceAt, lookedAt })).lost).toEqual([]);
    expect((await beaten(intakeId, { watchingSinceAt, lookedAt: await now() })).lost).toHaveLength(1);
  });

  test("whose row somebody works on is left alone, and nobody waits for it", async () => {
    const [silent, gone] = [await enter("silent"), await enter("gone")];
    const { intakeId } = await enter();
    await age(silent.intakeId, 2 * LEASE_MS);
    const judge = () => beaten(intakeId, { watchingSinceAt, gone: [gone.intakeId] });
    await inTransaction(database.db, async (tx) => {
      for (const other of [silent, gone]) await advanceSequence(tx, { intakeId: other.intakeId, seq: 1 });
      const { others, lost } = await judge();
      expect([others.map(({ name }) => name).toSorted(), lost]).toEqual([["gone", "silent"], []]);
    });
    const { others, lost } = await judge();
    expect([others, lost.map(({ name }) => name)]).toEqual([[], ["silent"]]);
  });

  test("is declared lost by one of several that notice at the same time", async () => {
    const silent = await enter("silent");
    const others = await Promise.all([enter(), enter(), enter()]);
    await age(silent.intakeId, 2 * LEASE_MS);
    const results = await Promise.all(others.map(({ intakeId }) => beaten(intakeId, { watchingSinceAt })));
    expect(results.flatMap(({ lost }) => lost)).toHaveLength(1);
    expect(await blindTimes()).toHaveLength(1);
  });

  test("and is known to be gone without a rest is closed without any blind time", async () => {
    const gone = await enter("gone");
    const { intakeId } = await enter();
    const result = await beaten(intakeId, { gone: [gone.intakeId, randomUUID()] });
    expect([result.others, result.lost]).toEqual([[], []]);
    expect(await blindTimes()).toEqual([]);
    expect(await listOpenIntakes(database.db)).toHaveLength(1);
  });

  test("and whose spool cannot be read is lost at once", async () => {
    const broken = await enter("broken");
    const { intakeId } = await enter();
    const result = await beaten(intakeId, { broken: [broken.intakeId] });
    expect(result.lost.map(({ name }) => name)).toEqual(["broken"]);
    expect(await blindTimes()).toMatchObject([
      { reason: "the spool of the receiving process cannot be read" },
    ]);
  });
});

describe("leaving", () => {
  test("closes the intake once, with the refusals that had not been told", async () => {
    const { intakeId } = await enter();
    const at = await now();
    expect(await leaveIntake(database.db, { intakeId, refused: [{ from: at - 10, to: null }] })).toBe(true);
    expect(await leaveIntake(database.db, { intakeId })).toBe(false);
    expect(await blindTimes()).toMatchObject([{ intakeId, from: at - 10, reason: "pings were rejected" }]);
    expect((await readIntakes(database.db)).visibility.watermarkAt).toBeNull();
  });
});

describe("batches that the database has lost for good", () => {
  test("are skipped, and the time since the watermark is blind", async () => {
    const { intakeId } = await enter();
    const { look } = await beaten(intakeId);
    const skip = () => skipLostBatches(database.db, { intakeId, seq: 7, name: "host/1" });
    expect(await skip()).toBe(true);
    expect(await findSequence(database.db, intakeId)).toBe(7);
    expect(await blindTimes()).toMatchObject([
      { intakeId, from: look.databaseAt - 1_000, reason: "confirmed signals were lost by the database" },
    ]);
    expect(await skip()).toBe(false);
    expect(await blindTimes()).toHaveLength(1);
  });

  test("of an intake that an older state of the database does not know can go on as well", async () => {
    const known = await enter();
    await age(known.intakeId, 60_000);
    const intakeId = randomUUID();
    expect(await skipLostBatches(database.db, { intakeId, seq: 41, name: "host/2" })).toBe(true);
    expect(await findSequence(database.db, intakeId)).toBe(41);
    const [blind] = await blindTimes();
    expect((blind?.to ?? 0) - (blind?.from ?? 0)).toBeGreaterThan(59_000);
    // It holds nothing back: the intake itself enters anew.
    expect((await listOpenIntakes(database.db)).map(({ id }) => id)).toEqual([known.intakeId]);
  });
});

test("an intake that died before it could enter holds nothing back, and nothing of it counts as lost", async () => {
  const known = await enter();
  const intakeId = randomUUID();
  expect(await skipLostBatches(database.db, { intakeId, seq: 0, name: "host/2" })).toBe(false);
  expect(await blindTimes()).toEqual([]);
  expect((await listOpenIntakes(database.db)).map(({ id }) => id)).toEqual([known.intakeId]);
  const { rows } = await database.db.pool.query("select lost, last_seq from intakes where id = $1", [
    intakeId,
  ]);
  expect(rows).toEqual([{ lost: false, last_seq: 0 }]);
  expect(await inTransaction(database.db, (tx) => advanceSequence(tx, { intakeId, seq: 1 }))).toBe(true);
});

describe("settling", () => {
  /** Lets time pass for everybody's past, as if so much more of it lay back. */
  async function ageAll(ms: number): Promise<void> {
    await database.db.pool.query(
      `update intakes set beat_at = beat_at - $1 * interval '1 ms', watermark_at = watermark_at - $1 * interval '1 ms',
         gap_ended_at = gap_ended_at - $1 * interval '1 ms'`,
      [ms],
    );
  }

  /** Whoever looks has nothing but the database: it is always as if it had just started. */
  const isSettled = async () => (await readIntakes(database.db)).settled.watermarkAt !== null;

  /** Beats so often that nobody misses one, for a time that passes in a moment. */
  async function beatThrough(intakeId: string, seconds: number): Promise<void> {
    for (let passed = 0; passed < seconds; passed += 2) {
      await ageAll(2_000);
      await beaten(intakeId);
    }
  }

  test("takes a minute after the first start, for everybody who looks alike", async () => {
    const { intakeId } = await enter();
    expect(await isSettled()).toBe(false);
    const { freshSinceAt, look } = await beaten(intakeId);
    expect(freshSinceAt).toBe(look.databaseAt);
    await beatThrough(intakeId, 56);
    expect(await isSettled()).toBe(false);
    await beatThrough(intakeId, 4);
    expect(await isSettled()).toBe(true);
    expect((await beaten(intakeId)).freshSinceAt).toBeLessThan((await now()) - 59_000);
  });

  test("begins anew after a time without any beat, and is known in the same breath in which beats return", async () => {
    const { intakeId } = await enter();
    await beaten(intakeId);
    await beatThrough(intakeId, 62);
    await ageAll(4_000);
    expect(await isSettled()).toBe(false);
    await beaten(intakeId);
    expect(await isSettled()).toBe(false);
    await beatThrough(intakeId, 62);
    expect(await isSettled()).toBe(true);
  });

  test("does not begin anew when one of several was silent, restarts or leaves", async () => {
    const [first, second] = [await enter("a"), await enter("b")];
    await beaten(first.intakeId);
    await beatThrough(first.intakeId, 62);
    await beaten(second.intakeId);
    expect(await isSettled()).toBe(true);
    await leaveIntake(database.db, first);
    const third = await enter("a");
    await beaten(third.intakeId, { beatAt: third.lastBeatAt });
    expect(await isSettled()).toBe(true);
  });

  test("begins anew when the database's clock went back", async () => {
    const { intakeId } = await enter();
    await beaten(intakeId);
    await beatThrough(intakeId, 62);
    await beaten(intakeId, { lookedAt: (await now()) + 5_000 });
    expect(await isSettled()).toBe(false);
  });

  test("begins anew when the database lacks what it had confirmed, and the watermark stays where it was", async () => {
    const { intakeId } = await enter();
    await inTransaction(database.db, (tx) => advanceSequence(tx, { intakeId, seq: 1 }));
    await beaten(intakeId, { confirmedSeq: 1 });
    await beatThrough(intakeId, 62);
    const [before] = await listOpenIntakes(database.db);
    const behind = await beaten(intakeId, { confirmedSeq: 2 });
    expect(behind.visibility.watermarkAt).toBe(before?.watermarkAt);
    expect((await listOpenIntakes(database.db))[0]?.watermarkAt).toBe(before?.watermarkAt);
    expect(await isSettled()).toBe(false);
    await inTransaction(database.db, (tx) => advanceSequence(tx, { intakeId, seq: 2 }));
    const caughtUp = await beaten(intakeId, { confirmedSeq: 2 });
    expect(caughtUp.visibility.watermarkAt).toBe(caughtUp.look.databaseAt - 1_000);
  });

  test("is on record by the first beat of an installation that had beaten without it", async () => {
    const { intakeId } = await enter();
    await beaten(intakeId);
    await database.db.pool.query("update intakes set gap_ended_at = null");
    expect(await isSettled()).toBe(false);
    expect((await beaten(intakeId)).freshSinceAt).toBeGreaterThan((await now()) - 5_000);
  });
});

test("whoever only looks finds no watermark when nobody is open", async () => {
  expect(await readIntakes(database.db)).toMatchObject({
    newestBeatAt: null,
    visibility: { watermarkAt: null },
  });
  const { intakeId } = await enter();
  const { look } = await beaten(intakeId);
  expect(await readIntakes(database.db)).toMatchObject({
    newestBeatAt: look.databaseAt,
    visibility: { watermarkAt: look.databaseAt - 1_000 },
  });
});

describe("refusals of single pings", () => {
  async function stored() {
    const { rows } = await database.db.pool.query(
      "select check_id, network, from_at, to_at from refused_intervals order by id",
    );
    return rows;
  }

  test("are stored with the checks that they were for, and those for no check are dropped", async () => {
    const project = await sampleProject(database.db);
    const [projectId, pingKey] = [project.id, project.pingKey ?? ""];
    const byUuid = await sampleCheck(database.db, { projectId });
    const bySlug = await sampleCheck(database.db, { projectId, slug: "backup" });
    const { intakeId } = await enter();
    const at = await now();
    const stretch = { from: at, to: at + 5 };
    const result = await beaten(intakeId, {
      observed: {
        attributed: {
          targets: [
            { target: { by: "uuid", uuid: randomUUID() }, ...stretch },
            { target: { by: "uuid", uuid: byUuid.uuid }, ...stretch },
            { target: { by: "slug", pingKey, slug: "backup" }, ...stretch },
            { target: { by: "slug", pingKey, slug: "missing" }, ...stretch },
          ],
          networks: [{ network: "192.0.2.1", ...stretch }],
        },
      },
    });
    expect(await stored()).toEqual([
      { check_id: byUuid.id, network: null, from_at: at, to_at: at + 5 },
      { check_id: bySlug.id, network: null, from_at: at, to_at: at + 5 },
      { check_id: null, network: "192.0.2.1", from_at: at, to_at: at + 5 },
    ]);
    // Nobody else is excused, and the watermark moves.
    expect(result.blind).toEqual([]);
    expect(await blindTimes()).toEqual([]);
    expect(result.visibility.watermarkAt).toBe(result.look.databaseAt - 1_000);
  });

  test("that go on extend what is stored, and begin anew after a while", async () => {
    const { intakeId } = await enter();
    const at = await now();
    const refused = async (from: number) => {
      const networks = [{ network: "192.0.2.1", from, to: from + 1_000 }];
      await beaten(intakeId, { observed: { attributed: { targets: [], networks } } });
    };
    await refused(at);
    await refused(at + 60_000);
    await refused(at + 3_600_000);
    expect(await stored()).toMatchObject([
      { from_at: at, to_at: at + 61_000 },
      { from_at: at + 3_600_000, to_at: at + 3_601_000 },
    ]);
  });

  test("are stored when the intake leaves, too", async () => {
    const { intakeId } = await enter();
    const at = await now();
    const attributed = { targets: [], networks: [{ network: "192.0.2.1", from: at, to: at }] };
    await leaveIntake(database.db, { intakeId, attributed });
    expect(await stored()).toHaveLength(1);
  });
});
