// Heartbeats in the database: registering, sending, leaving, and being declared lost. Blind intervals are written in
// the transaction that moves the watermark, so that no reader sees one without the other.
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
import { LANES } from "../../src/core/signal.ts";

const database = useDatabase();

beforeEach(async () => {
  await database.db.pool.query("truncate intakes, blind_intervals, refused_intervals cascade");
});

const LEASE_MS = 10_000;

async function enter(name = "host/1") {
  const intakeId = randomUUID();
  const entered = await enterIntake(database.db, { intakeId, name, leaseMs: LEASE_MS });
  return { intakeId, ...entered };
}

/** Sends a heartbeat without anything to report, except what the test passes. */
async function send(
  intakeId: string,
  { observed = {}, ...request }: Partial<HeartbeatRequest> & { observed?: Partial<Observation> } = {},
) {
  return recordHeartbeat(database.db, {
    intakeId,
    leaseMs: LEASE_MS,
    heartbeatAt: null,
    lookedAt: null,
    confirmedSeqs: [0],
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

async function sendAccepted(...args: Parameters<typeof send>): Promise<HeartbeatAccepted> {
  const result = await send(...args);
  if (result.kind !== "accepted") throw new Error("the intake was closed");
  return result;
}

const now = () => readDatabaseClock(database.db);

/** Moves the last heartbeat of an intake into the past. */
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
  test("holds the watermark at the last heartbeat of any intake", async () => {
    const first = await enter();
    expect(first.lastHeartbeatAt).toBeNull();
    await age(first.intakeId, 600_000);
    const second = await enter();
    expect(second.lastHeartbeatAt).toBeLessThan((await now()) - 599_000);
    const [, own] = await listOpenIntakes(database.db);
    expect(own?.watermarkAt).toBe((second.lastHeartbeatAt ?? 0) - 1_000);
    expect(own?.leaseUntilAt).toBe(second.look.databaseAt + LEASE_MS);
  });

  test("and leaving again without having listened does not hide how long no process listened", async () => {
    const first = await enter();
    await age(first.intakeId, 600_000);
    await leaveIntake(database.db, first);
    const never = await enter();
    await leaveIntake(database.db, never);
    expect((await enter()).lastHeartbeatAt).toBe(never.lastHeartbeatAt);
  });

  test("with signals that it took before it could enter holds the watermark before those", async () => {
    const before = await enter();
    await sendAccepted(before.intakeId);
    const [intakeId, unappliedAt] = [randomUUID(), (await now()) - 5_000];
    await enterIntake(database.db, { intakeId, name: "late", leaseMs: LEASE_MS, unappliedAt });
    expect((await readIntakes(database.db)).visibility.watermarkAt).toBe(unappliedAt - 1_000);
  });

  test("twice, because the first response was lost, is registering once", async () => {
    const { intakeId } = await enter();
    await sendAccepted(intakeId);
    const [row] = await listOpenIntakes(database.db);
    await enterIntake(database.db, { intakeId, name: "host/1", leaseMs: LEASE_MS });
    expect(await listOpenIntakes(database.db)).toEqual([row]);
  });

  test("reads the clock between two readings of our own", async () => {
    const before = performance.now();
    const { look } = await enter();
    expect(look.sentAtMs).toBeGreaterThanOrEqual(before);
    expect(look.receivedAtMs).toBeLessThanOrEqual(performance.now());
    expect(look.sentAtMs).toBeLessThanOrEqual(look.receivedAtMs);
  });
});

describe("a heartbeat", () => {
  test("moves watermark, lease and sign of life on the database's clock", async () => {
    const { intakeId } = await enter();
    const result = await sendAccepted(intakeId);
    const [row] = await listOpenIntakes(database.db);
    expect(row).toMatchObject({
      heartbeatAt: result.look.databaseAt,
      watermarkAt: result.look.databaseAt - 1_000,
      leaseUntilAt: result.look.databaseAt + LEASE_MS,
    });
    expect(result.visibility).toEqual({ watermarkAt: row?.watermarkAt, blind: [] });
  });

  test("after a start records the time in which no process listened, in the transaction that moves the watermark", async () => {
    const before = await enter();
    await age(before.intakeId, 600_000);
    await leaveIntake(database.db, { intakeId: before.intakeId });
    const { intakeId, lastHeartbeatAt } = await enter();
    const listensAt = await now();
    const unproven = [{ from: lastHeartbeatAt ?? 0, to: listensAt }];
    // A concurrent reader never finds the watermark moved without the blind interval.
    const done = new AbortController();
    let looks = 0;
    const watching = (async () => {
      while (!done.signal.aborted) {
        const { visibility } = await readIntakes(database.db);
        looks += 1;
        const isMoved = (visibility.watermarkAt ?? 0) > (lastHeartbeatAt ?? 0);
        expect(isMoved && visibility.blind.length === 0).toBe(false);
      }
    })();
    await expect.poll(() => looks).toBeGreaterThan(3);
    const result = await sendAccepted(intakeId, { heartbeatAt: lastHeartbeatAt, observed: { unproven } });
    await expect.poll(() => looks).toBeGreaterThan(6);
    done.abort();
    await watching;
    const reason = "the receiving process did not accept pings";
    expect(await blindTimes()).toEqual([{ intakeId, from: lastHeartbeatAt, to: listensAt, reason }]);
    expect(result.visibility.blind).toMatchObject([{ from: lastHeartbeatAt, to: listensAt }]);
  });

  test("after a start records nothing if another intake has just sent a heartbeat", async () => {
    await enter();
    const { intakeId, lastHeartbeatAt } = await enter();
    const unproven = [{ from: lastHeartbeatAt ?? 0, to: await now() }];
    await sendAccepted(intakeId, { heartbeatAt: lastHeartbeatAt, observed: { unproven } });
    expect(await blindTimes()).toEqual([]);
  });

  test("after a slow start writes nothing when another one has received all the while", async () => {
    const there = await enter();
    await age(there.intakeId, 10_000);
    await database.db.pool.query("update intakes set started_at = started_at - interval '1 minute'");
    const { intakeId, lastHeartbeatAt } = await enter();
    // The start took ten seconds, in which the other one kept sending heartbeats.
    await sendAccepted(there.intakeId, { heartbeatAt: lastHeartbeatAt });
    const unproven = [{ from: lastHeartbeatAt ?? 0, to: await now() }];
    const { blind } = await sendAccepted(intakeId, { heartbeatAt: lastHeartbeatAt, observed: { unproven } });
    expect(blind).toEqual([]);
    expect(await blindTimes()).toEqual([]);
  });

  test("writes refusals, and the time that passed only for the database", async () => {
    const { intakeId } = await enter();
    const at = await now();
    const refused = [{ from: at - 30_000, to: at - 20_000 }];
    const heartbeatAt = at - 60_000;
    const result = await sendAccepted(intakeId, { heartbeatAt, observed: { refused, skippedMs: 50_000 } });
    expect(await blindTimes()).toEqual([
      {
        intakeId,
        from: heartbeatAt,
        to: result.look.databaseAt,
        reason: "the receiving process did not accept pings",
      },
      { intakeId, ...refused[0], reason: "pings were rejected" },
    ]);
  });

  test("of an intake that no longer listens confirms nothing after that", async () => {
    const { intakeId } = await enter();
    const stoppedAt = (await now()) - 5_000;
    await sendAccepted(intakeId, {
      observed: { acceptedUntilAt: stoppedAt, watermarkAt: stoppedAt - 1_000 },
    });
    expect(await listOpenIntakes(database.db)).toMatchObject([
      { heartbeatAt: stoppedAt, watermarkAt: stoppedAt - 1_000 },
    ]);
    await leaveIntake(database.db, { intakeId });
    expect((await enter()).lastHeartbeatAt).toBe(stoppedAt);
  });

  test("returns which of this intake's batches the database has", async () => {
    const { intakeId } = await enter();
    await inTransaction(database.db, (tx) => advanceSequence(tx, { intakeId, lane: 0, seq: 1 }));
    expect((await sendAccepted(intakeId)).lastSeqs).toEqual([
      1,
      ...Array.from({ length: LANES - 1 }, () => 0),
    ]);
  });

  test("sees as far as the slowest of all open intakes", async () => {
    const slow = await enter("slow");
    const { intakeId } = await enter("fast");
    await age(slow.intakeId, 5_000);
    const result = await sendAccepted(intakeId);
    const slowAt = result.others[0]?.watermarkAt;
    expect(result.others.map(({ name }) => name)).toEqual(["slow"]);
    expect(result.visibility.watermarkAt).toBe(slowAt);
    expect((await readIntakes(database.db)).visibility.watermarkAt).toBe(slowAt);
  });

  test("returns blind intervals after the known ones, of any intake", async () => {
    const { intakeId } = await enter();
    const at = await now();
    const refused = (from: Instant) => ({ observed: { refused: [{ from, to: from + 1 }] } });
    const first = await sendAccepted(intakeId, refused(at - 50));
    const [known] = first.visibility.blind;
    const other = await enter();
    await sendAccepted(other.intakeId, { ...refused(at - 90), blindAfterId: known?.id ?? 0 });
    const { blind } = (await sendAccepted(intakeId, { blindAfterId: known?.id ?? 0 })).visibility;
    expect(blind).toMatchObject([{ from: at - 90, to: at - 89 }]);
    expect((await sendAccepted(intakeId, { blindAfterId: blind[0]?.id ?? 0 })).visibility.blind).toEqual([]);
    expect((await sendAccepted(intakeId)).visibility.blind).toHaveLength(2);
  });

  test("whose own observation fails writes nothing", async () => {
    const { intakeId } = await enter();
    const [before] = await listOpenIntakes(database.db);
    const failing = send(intakeId, { observe: () => Promise.reject(new Error("on purpose")) });
    await expect(failing).rejects.toThrow("on purpose");
    expect(await listOpenIntakes(database.db)).toEqual([before]);
  });
});

describe("an intake without heartbeats", () => {
  const watchingSinceAt: Instant = 0;

  test("is declared lost when its lease is over, the time since its watermark is blind, and it is notified", async () => {
    const silent = await enter("silent");
    const { intakeId } = await enter();
    await age(silent.intakeId, LEASE_MS + 500);
    const watermarkAt = (await listOpenIntakes(database.db)).find(
      ({ id }) => id === silent.intakeId,
    )?.watermarkAt;
    const result = await sendAccepted(intakeId, { watchingSinceAt });
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
    expect(await send(silent.intakeId)).toEqual({ kind: "closed" });
    const { rows } = await database.db.pool.query("select lost from intakes where id = $1", [
      silent.intakeId,
    ]);
    expect(rows).toEqual([{ lost: true }]);
  });

  test("is not lost before, nor while no intake could have observed it, nor while it records", async () => {
    const silent = await enter("silent");
    const { intakeId } = await enter();
    await age(silent.intakeId, LEASE_MS - 5_000);
    expect((await sendAccepted(intakeId, { watchingSinceAt })).lost).toEqual([]);
    await age(silent.intakeId, LEASE_MS);
    expect((await sendAccepted(intakeId, { watchingSinceAt: (await now()) - 2_000 })).lost).toEqual([]);
    expect((await sendAccepted(intakeId)).lost).toEqual([]);
    const signs = new Map([[silent.intakeId, (await now()) - 1_000]]);
    expect((await sendAccepted(intakeId, { watchingSinceAt, signs })).lost).toEqual([]);
    expect((await sendAccepted(intakeId, { watchingSinceAt })).lost).toHaveLength(1);
  });

  test("is not lost by the first heartbeat after an outage, or after a step of the database's clock", async () => {
    const silent = await enter("silent");
    const { intakeId } = await enter();
    await age(silent.intakeId, 10 * LEASE_MS);
    const lookedAt = (await now()) - 4_000;
    expect((await sendAccepted(intakeId, { watchingSinceAt, lookedAt })).lost).toEqual([]);
    expect((await sendAccepted(intakeId, { watchingSinceAt, lookedAt: await now() })).lost).toHaveLength(1);
  });

  test("whose row is locked is skipped without waiting", async () => {
    const [silent, gone] = [await enter("silent"), await enter("gone")];
    const { intakeId } = await enter();
    await age(silent.intakeId, 2 * LEASE_MS);
    const judge = () => sendAccepted(intakeId, { watchingSinceAt, gone: [gone.intakeId] });
    await inTransaction(database.db, async (tx) => {
      for (const other of [silent, gone])
        await advanceSequence(tx, { intakeId: other.intakeId, lane: 0, seq: 1 });
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
    const results = await Promise.all(
      others.map(({ intakeId }) => sendAccepted(intakeId, { watchingSinceAt })),
    );
    expect(results.flatMap(({ lost }) => lost)).toHaveLength(1);
    expect(await blindTimes()).toHaveLength(1);
  });

  test("and is known to be gone without a rest is closed without any blind time", async () => {
    const gone = await enter("gone");
    const { intakeId } = await enter();
    const result = await sendAccepted(intakeId, { gone: [gone.intakeId, randomUUID()] });
    expect([result.others, result.lost]).toEqual([[], []]);
    expect(await blindTimes()).toEqual([]);
    expect(await listOpenIntakes(database.db)).toHaveLength(1);
  });

  test("and whose spool cannot be read is lost at once", async () => {
    const broken = await enter("broken");
    const { intakeId } = await enter();
    const result = await sendAccepted(intakeId, { broken: [broken.intakeId] });
    expect(result.lost.map(({ name }) => name)).toEqual(["broken"]);
    expect(await blindTimes()).toMatchObject([
      { reason: "the spool of the receiving process cannot be read" },
    ]);
  });
});

describe("leaving", () => {
  test("closes the intake once, with rejections that had not been reported", async () => {
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
    const { look } = await sendAccepted(intakeId);
    const skip = () => skipLostBatches(database.db, { intakeId, lane: 0, seq: 7, name: "host/1" });
    expect(await skip()).toBe(true);
    expect(await findSequence(database.db, { intakeId, lane: 0 })).toBe(7);
    expect(await blindTimes()).toMatchObject([
      { intakeId, from: look.databaseAt - 1_000, reason: "confirmed signals were lost by the database" },
    ]);
    expect(await skip()).toBe(false);
    expect(await blindTimes()).toHaveLength(1);
  });

  test("of an intake that is missing from an older state of the database can continue as well", async () => {
    const known = await enter();
    await age(known.intakeId, 60_000);
    const intakeId = randomUUID();
    expect(await skipLostBatches(database.db, { intakeId, lane: 0, seq: 41, name: "host/2" })).toBe(true);
    expect(await findSequence(database.db, { intakeId, lane: 0 })).toBe(41);
    const [blind] = await blindTimes();
    expect((blind?.to ?? 0) - (blind?.from ?? 0)).toBeGreaterThan(59_000);
    // It holds nothing back: the intake itself registers again.
    expect((await listOpenIntakes(database.db)).map(({ id }) => id)).toEqual([known.intakeId]);
  });
});

test("an intake that died before it could enter holds nothing back, and nothing of it counts as lost", async () => {
  const known = await enter();
  const intakeId = randomUUID();
  expect(await skipLostBatches(database.db, { intakeId, lane: 0, seq: 0, name: "host/2" })).toBe(false);
  expect(await blindTimes()).toEqual([]);
  expect((await listOpenIntakes(database.db)).map(({ id }) => id)).toEqual([known.intakeId]);
  const { rows } = await database.db.pool.query("select lost from intakes where id = $1", [intakeId]);
  expect(rows).toEqual([{ lost: false }]);
  expect(await inTransaction(database.db, (tx) => advanceSequence(tx, { intakeId, lane: 0, seq: 1 }))).toBe(
    true,
  );
});

describe("settling", () => {
  /** Moves all times of the database into the past. */
  async function ageAll(ms: number): Promise<void> {
    await database.db.pool.query(
      `update intakes set beat_at = beat_at - $1 * interval '1 ms', watermark_at = watermark_at - $1 * interval '1 ms',
         gap_ended_at = gap_ended_at - $1 * interval '1 ms'`,
      [ms],
    );
  }

  /** A reader has only the database: it is always as if it had just started. */
  const isSettled = async () => (await readIntakes(database.db)).settled.watermarkAt !== null;

  /** Sends heartbeats without gaps for a simulated time. */
  async function sendThrough(intakeId: string, seconds: number): Promise<void> {
    for (let passed = 0; passed < seconds; passed += 2) {
      await ageAll(2_000);
      await sendAccepted(intakeId);
    }
  }

  test("takes a minute after the first start, for every process", async () => {
    const { intakeId } = await enter();
    expect(await isSettled()).toBe(false);
    const { freshSinceAt, look } = await sendAccepted(intakeId);
    expect(freshSinceAt).toBe(look.databaseAt);
    await sendThrough(intakeId, 56);
    expect(await isSettled()).toBe(false);
    await sendThrough(intakeId, 4);
    expect(await isSettled()).toBe(true);
    expect((await sendAccepted(intakeId)).freshSinceAt).toBeLessThan((await now()) - 59_000);
  });

  test("restarts after a time without any heartbeat, and is stored with the heartbeat that ends it", async () => {
    const { intakeId } = await enter();
    await sendAccepted(intakeId);
    await sendThrough(intakeId, 62);
    await ageAll(4_000);
    expect(await isSettled()).toBe(false);
    await sendAccepted(intakeId);
    expect(await isSettled()).toBe(false);
    await sendThrough(intakeId, 62);
    expect(await isSettled()).toBe(true);
  });

  test("does not restart when one of several stops, restarts or leaves", async () => {
    const [first, second] = [await enter("a"), await enter("b")];
    await sendAccepted(first.intakeId);
    await sendThrough(first.intakeId, 62);
    await sendAccepted(second.intakeId);
    expect(await isSettled()).toBe(true);
    await leaveIntake(database.db, first);
    const third = await enter("a");
    await sendAccepted(third.intakeId, { heartbeatAt: third.lastHeartbeatAt });
    expect(await isSettled()).toBe(true);
  });

  test("begins anew when the database's clock went back", async () => {
    const { intakeId } = await enter();
    await sendAccepted(intakeId);
    await sendThrough(intakeId, 62);
    await sendAccepted(intakeId, { lookedAt: (await now()) + 5_000 });
    expect(await isSettled()).toBe(false);
  });

  test("begins anew when the database lacks what it had confirmed, and the watermark stays where it was", async () => {
    const { intakeId } = await enter();
    await inTransaction(database.db, (tx) => advanceSequence(tx, { intakeId, lane: 0, seq: 1 }));
    await sendAccepted(intakeId, { confirmedSeqs: [1] });
    await sendThrough(intakeId, 62);
    const [before] = await listOpenIntakes(database.db);
    const behind = await sendAccepted(intakeId, { confirmedSeqs: [2] });
    expect(behind.visibility.watermarkAt).toBe(before?.watermarkAt);
    expect((await listOpenIntakes(database.db))[0]?.watermarkAt).toBe(before?.watermarkAt);
    expect(await isSettled()).toBe(false);
    await inTransaction(database.db, (tx) => advanceSequence(tx, { intakeId, lane: 0, seq: 2 }));
    const caughtUp = await sendAccepted(intakeId, { confirmedSeqs: [2] });
    expect(caughtUp.visibility.watermarkAt).toBe(caughtUp.look.databaseAt - 1_000);
  });

  test("is stored by the first heartbeat of a server that had run without it", async () => {
    const { intakeId } = await enter();
    await sendAccepted(intakeId);
    await database.db.pool.query("update intakes set gap_ended_at = null");
    expect(await isSettled()).toBe(false);
    expect((await sendAccepted(intakeId)).freshSinceAt).toBeGreaterThan((await now()) - 5_000);
  });
});

test("a process that only reads finds no watermark when no intake is open", async () => {
  expect(await readIntakes(database.db)).toMatchObject({
    newestHeartbeatAt: null,
    visibility: { watermarkAt: null },
  });
  const { intakeId } = await enter();
  const { look } = await sendAccepted(intakeId);
  expect(await readIntakes(database.db)).toMatchObject({
    newestHeartbeatAt: look.databaseAt,
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
    const result = await sendAccepted(intakeId, {
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
    // No other check is excused, and the watermark moves.
    expect(result.blind).toEqual([]);
    expect(await blindTimes()).toEqual([]);
    expect(result.visibility.watermarkAt).toBe(result.look.databaseAt - 1_000);
  });

  test("that continue extend the stored interval, and begin a new one after a while", async () => {
    const { intakeId } = await enter();
    const at = await now();
    const refused = async (from: number) => {
      const networks = [{ network: "192.0.2.1", from, to: from + 1_000 }];
      await sendAccepted(intakeId, { observed: { attributed: { targets: [], networks } } });
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
