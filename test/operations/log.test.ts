// The log in the database, with records given by hand: opening, heartbeats of recorders, applying, continuing after a
// loss, and leaving. No time without a receiving process may pass unseen, and no record may be applied twice.
import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { HOUR_MS, type Instant, MINUTE_MS, SECOND_MS } from "../../src/core/instant.ts";
import { type LogRecord, NO_REFUSALS } from "../../src/core/log.ts";
import type { AcceptedSignal } from "../../src/core/signal.ts";
import { enterIntake, readIntakes } from "../../src/operations/intakes.ts";
import { acceptLoss, leaveLog, openLog, tendRecorder } from "../../src/operations/log.ts";
import { recordLog } from "../../src/operations/record-log.ts";
import { listFlips } from "../../src/store/flips.ts";
import { readDatabaseClock } from "../../src/store/instance.ts";
import { findHeartbeats, listOpenIntakes } from "../../src/store/intakes.ts";
import { claimPartitions, listLogPartitions } from "../../src/store/log-partitions.ts";
import { listPings } from "../../src/store/pings.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();
const topicId = randomUUID();

beforeEach(async () => {
  await database.db.pool.query(
    "truncate intakes, blind_intervals, log_partitions, log_recorders, log_unknown cascade",
  );
});

const now = () => readDatabaseClock(database.db);
const open = () => openLog(database.db, { topicId, ends: [7] });

/** The only partition. */
async function partition() {
  const [found] = await listLogPartitions(database.db);
  if (found === undefined) throw new Error("there is no partition");
  return found;
}

function record(given: Partial<LogRecord> & { n: number; at: Instant }): LogRecord {
  return {
    edge: "a",
    kind: given.n === 1 ? "enter" : "more",
    watermarkAt: given.at - SECOND_MS,
    givenUp: [],
    refused: [],
    attributed: NO_REFUSALS,
    signals: [],
    ...given,
  };
}

/** Applies records at the position where the partition is. */
async function apply(...records: LogRecord[]) {
  const at = await partition();
  const to = at.nextOffset + records.length;
  return recordLog(database.db, [{ at, records, to, endOffset: to }], {
    rules: { ratePerMinute: 0 },
    pingLogRows: 100,
    routerRepeats: false,
    isInService: true,
    now: await now(),
    encode: () => Buffer.from("signal"),
  });
}

function ping(uuid: string, at: Instant): AcceptedSignal {
  return {
    target: { by: "uuid", uuid },
    source: { by: "http", action: "success", method: "GET" },
    rid: null,
    exitStatus: null,
    scheme: "http",
    remoteAddr: "127.0.0.1",
    ua: "test",
    body: null,
    at,
  };
}

async function newCheck() {
  const { id: projectId } = await sampleProject(database.db);
  return sampleCheck(database.db, { projectId });
}

async function blind() {
  const { rows } = await database.db.pool.query<{ reason: string; from_at: Instant; to_at: Instant }>(
    "select reason, from_at, to_at from blind_intervals order by from_at",
  );
  return rows.map(({ reason, from_at, to_at }) => ({ reason, from: from_at, to: to_at }));
}

/** The last heartbeat of a process that recorded without the log. */
async function directUntil(at: Instant, { isOpen = false } = {}): Promise<void> {
  const intakeId = randomUUID();
  await enterIntake(database.db, { intakeId, name: "direct", leaseMs: 10_000 });
  await database.db.pool.query(
    `update intakes set beat_at = to_timestamp($2 / 1000.0), watermark_at = to_timestamp($2 / 1000.0),
       lease_until_at = to_timestamp($2 / 1000.0) + interval '10 s', gap_ended_at = now() - interval '1 day',
       closed_at = case when $3 then null else now() end
     where id = $1`,
    [intakeId, at, isOpen],
  );
}

const recorder = { recorderId: randomUUID(), name: "host/1" };

describe("opening", () => {
  test("reports the time since the last process without the log", async () => {
    const at = await now();
    await directUntil(at - 10 * MINUTE_MS);
    await open();
    expect((await partition()).state.watermarkAt).toBeLessThan(at - 10 * MINUTE_MS);
    await apply(record({ n: 1, at }));
    expect(await blind()).toEqual([
      {
        reason: "no process received pings",
        from: expect.toSatisfy((from: Instant) => from <= at - 10 * MINUTE_MS),
        to: expect.toSatisfy((to: Instant) => to >= at),
      },
    ]);
  });

  test("begins at the end of the topic: what it has was applied in an earlier use", async () => {
    await open();
    expect((await partition()).nextOffset).toBe(7);
  });

  test("again changes nothing", async () => {
    await open();
    const before = await partition();
    await openLog(database.db, { topicId, ends: [9] });
    expect(await partition()).toEqual(before);
  });
});

describe("applying", () => {
  /** A check whose deadline has passed five minutes ago, and an edge that ended ten minutes ago. */
  async function overdueCheck() {
    const check = await newCheck();
    const at = await now();
    await directUntil(at - HOUR_MS);
    await open();
    await apply(record({ n: 1, at: at - 59 * MINUTE_MS }));
    await database.db.pool.query("truncate blind_intervals");
    await database.db.pool.query("update log_partitions set gap_ended_at = now() - interval '1 day'");
    await apply(record({ n: 2, at: at - 10 * MINUTE_MS, kind: "leave", watermarkAt: at - 10 * MINUTE_MS }));
    await database.db.pool.query(
      `update check_states set status = 'up', last_ping_at = now() - interval '25 hours 5 min',
         newest_at = now() - interval '25 hours 5 min', down_at = now() - interval '5 min', sweep_at = now() - interval '5 min'
       where check_id = $1`,
      [check.id],
    );
    return { check, at };
  }

  const statuses = async (checkId: number) =>
    (await listFlips(database.db, { checkId, from: 0, limit: 10 })).map(({ to }) => to);

  test("knows a gap that an earlier transaction has reported", async () => {
    const { check, at } = await overdueCheck();
    await apply(record({ edge: "b", n: 1, at: at - SECOND_MS }));
    // As a minute later, when nothing else would hold it back.
    await database.db.pool.query("update log_partitions set gap_ended_at = now() - interval '1 day'");
    await apply(record({ edge: "b", n: 2, at, signals: [ping(check.uuid, at)] }));
    expect(await listPings(database.db, { checkId: check.id, afterN: 0, limit: 9 })).toHaveLength(1);
    expect(await statuses(check.id)).toEqual([]);
  });

  test("notices a missed deadline while pings were received", async () => {
    const { check, at } = await overdueCheck();
    // An edge that goes on where the other one ended.
    const from = at - 10 * MINUTE_MS;
    await apply(record({ edge: "b", n: 1, at: from, watermarkAt: from }));
    await apply(record({ edge: "b", n: 2, at, watermarkAt: at - SECOND_MS }));
    await apply(record({ edge: "b", n: 3, at, signals: [ping(check.uuid, at)] }));
    expect(await statuses(check.id)).toEqual(["up", "down"]);
  });

  test("waits for processes without the log", async () => {
    const { check, at } = await overdueCheck();
    const from = at - 10 * MINUTE_MS;
    await directUntil(from, { isOpen: true });
    await apply(record({ edge: "b", n: 1, at: from, watermarkAt: from }));
    await apply(record({ edge: "b", n: 2, at, watermarkAt: at - SECOND_MS }));
    await apply(record({ edge: "b", n: 3, at, signals: [ping(check.uuid, at)] }));
    expect(await statuses(check.id)).toEqual([]);
  });

  test("time without an edge is no gap if a process without the log received", async () => {
    const at = await now();
    await directUntil(at, { isOpen: true });
    await database.db.pool.query("update intakes set started_at = now() - interval '1 hour'");
    await open();
    await apply(record({ n: 1, at: at - 30 * MINUTE_MS }));
    await apply(record({ n: 2, at: at - 20 * MINUTE_MS, kind: "leave" }));
    const { gapEndedAt } = (await partition()).state;
    await apply(record({ edge: "b", n: 1, at }));
    expect(await blind()).toEqual([]);
    expect((await partition()).state.gapEndedAt).toBe(gapEndedAt);
  });

  test("is refused at a position that another recorder has moved", async () => {
    await open();
    const at = await partition();
    await apply(record({ n: 1, at: await now() }));
    const again = recordLog(database.db, [{ at, records: [], to: at.nextOffset + 1, endOffset: 9 }], {
      rules: { ratePerMinute: 0 },
      pingLogRows: 100,
      routerRepeats: false,
      isInService: true,
      now: await now(),
      encode: () => Buffer.from("signal"),
    });
    expect(await again).toBeNull();
  });
});

describe("a heartbeat of a recorder", () => {
  const tend =
    (given: { behind?: number[]; sinceMs?: number } = {}) =>
    async () => {
      const at = await now();
      const watch =
        given.sinceMs === undefined ? null : { sinceAt: at - given.sinceMs, lookedAt: at - SECOND_MS };
      return tendRecorder(database.db, { ...recorder, behind: given.behind ?? [], watch });
    };
  const heartbeatAt = async () => (await readIntakes(database.db)).lastHeartbeatAt ?? 0;

  test("does not claim that pings are received without an edge", async () => {
    const at = await now();
    await directUntil(at - 2 * MINUTE_MS);
    await open();
    await apply(record({ n: 1, at: at - MINUTE_MS }));
    await apply(record({ n: 2, at: at - 30 * SECOND_MS, kind: "leave" }));
    await tend()();
    expect(await heartbeatAt()).toBe(at - 30 * SECOND_MS);
    // Records are left: an edge may have sent them a moment ago.
    await tend({ behind: [0] })();
    expect(await heartbeatAt()).toBeGreaterThanOrEqual(at);
    await apply(record({ edge: "b", n: 1, at }));
    await tend()();
    expect(await heartbeatAt()).toBeGreaterThanOrEqual(at);
  });

  test("declares a process without the log lost, after its lease, if it was watched that long", async () => {
    await open();
    await directUntil((await now()) - 20 * SECOND_MS, { isOpen: true });
    const names = async () => (await listOpenIntakes(database.db)).map(({ name }) => name).toSorted();
    expect((await tend({ sinceMs: 9 * SECOND_MS })()).lost).toEqual([]);
    expect(await names()).toEqual(["direct", "log partition 0"]);
    expect((await tend({ sinceMs: 11 * SECOND_MS })()).lost).toEqual(["direct"]);
    expect(await names()).toEqual(["log partition 0"]);
    expect((await blind()).map(({ reason }) => reason)).toEqual(["the receiving process was lost"]);
  });
});

describe("after a loss", () => {
  const lossTopic = ({ id = topicId, start = 0, since = 100 } = {}) => ({
    topicId: id,
    starts: [start],
    firstSince: async () => since,
  });
  const stop = () => database.db.pool.query("update log_partitions set stopped = 'gone'");

  test("records that were applied are skipped, and the time is a gap", async () => {
    const check = await newCheck();
    await open();
    const at = await now();
    const first = record({ n: 1, at: at - 5 * SECOND_MS, signals: [ping(check.uuid, at - 5 * SECOND_MS)] });
    await apply(first);
    await stop();
    expect(await acceptLoss(database.db, lossTopic({ since: 7 }))).toBe(1);
    expect(await partition()).toMatchObject({ nextOffset: 7, stopped: null });
    await apply(first, record({ n: 2, at, signals: [ping(check.uuid, at)] }));
    expect(await listPings(database.db, { checkId: check.id, afterN: 0, limit: 9 })).toHaveLength(2);
    expect((await blind()).map(({ reason }) => reason)).toEqual(["the log lost confirmed pings"]);
  });

  test("a topic with fewer partitions is refused", async () => {
    await open();
    await stop();
    await expect(acceptLoss(database.db, { ...lossTopic(), starts: [] })).rejects.toThrow("fewer partitions");
  });

  test("what the topic still has is applied, however old it is", async () => {
    await open();
    await stop();
    expect(await acceptLoss(database.db, lossTopic({ start: 9, since: 50 }))).toBe(1);
    expect(await partition()).toMatchObject({ nextOffset: 9, stopped: null });
  });

  test("a partition that is not stopped stays in its topic, although another one is named", async () => {
    await open();
    const before = await partition();
    await expect(acceptLoss(database.db, lossTopic({ id: randomUUID() }))).rejects.toThrow("is not stopped");
    expect(await partition()).toEqual(before);
    expect(await acceptLoss(database.db, lossTopic())).toBe(0);
  });

  test("waits for heartbeats of recorders that have begun, which would open the old intake again", async () => {
    await open();
    await stop();
    const { intakeId } = await partition();
    const isClaimed = Promise.withResolvers<void>();
    const ending = Promise.withResolvers<void>();
    const heartbeat = inTransaction(database.db, async (tx) => {
      await claimPartitions(tx, { recorderId: randomUUID(), countMax: 1, until: 0, now: await now() });
      isClaimed.resolve();
      await ending.promise;
    });
    await isClaimed.promise;
    let isAccepted = false;
    const accepting = acceptLoss(database.db, lossTopic({ id: randomUUID(), since: 0 })).finally(() => {
      isAccepted = true;
    });
    await expect.poll(waitingForRows).toBe(1);
    expect(isAccepted).toBe(false);
    ending.resolve();
    await Promise.all([heartbeat, accepting]);
    expect((await listOpenIntakes(database.db)).map(({ id }) => id)).not.toContain(intakeId);
  });

  async function waitingForRows(): Promise<number> {
    const { rows } = await database.db.pool.query(
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    return rows.length;
  }
});

describe("leaving", () => {
  const leave = (end: number, id = topicId) =>
    leaveLog(database.db, { readTopic: async () => ({ topicId: id, ends: [end] }) });

  test("waits for records and edges", async () => {
    await open();
    await expect(leave(8)).rejects.toThrow("1 records left");
    await apply(record({ n: 1, at: await now() }));
    await expect(leave(8)).rejects.toThrow("still append");
    await apply(record({ n: 2, at: await now(), kind: "leave" }));
    await leave(9);
    expect([await listLogPartitions(database.db), await listOpenIntakes(database.db)]).toEqual([[], []]);
    expect(await blind()).toEqual([]);
  });

  test("records that are appended and applied while it reads the topic are not lost ones", async () => {
    await open();
    const at = await now();
    const after = record({ n: 2, at, kind: "leave" });
    await apply(record({ n: 1, at }));
    let isRead = false;
    const readTopic = async () => {
      // The second time, because the first one is before the transaction.
      if (isRead) await apply(after);
      isRead = true;
      return { topicId, ends: [8] };
    };
    await leaveLog(database.db, { readTopic });
    expect(await listLogPartitions(database.db)).toEqual([]);
    expect(await blind()).toEqual([]);
  });

  test("another topic, such as one that was created again, is refused", async () => {
    await open();
    await expect(leave(0, randomUUID())).rejects.toThrow("does not name the topic in use");
    expect(await listLogPartitions(database.db)).toHaveLength(1);
  });

  test("a partition that is stopped, or has fewer records than were applied, is a gap", async () => {
    await open();
    await leave(6);
    expect((await blind()).map(({ reason }) => reason)).toEqual(["the log lost confirmed pings"]);
    await open();
    await database.db.pool.query("truncate blind_intervals; update log_partitions set stopped = 'gone'");
    await leave(7);
    expect((await blind()).map(({ reason }) => reason)).toEqual(["the log lost confirmed pings"]);
  });

  test("the time between the last edge and the first process without the log is a gap", async () => {
    const at = await now();
    await directUntil(at - 10 * MINUTE_MS);
    await open();
    const endedAt = at - MINUTE_MS;
    await apply(record({ n: 1, at: at - 2 * MINUTE_MS }));
    await apply(record({ n: 2, at: endedAt, watermarkAt: endedAt, kind: "leave" }));
    await database.db.pool.query("truncate blind_intervals");
    // Recorders were behind when it started, and passed for edges that receive.
    await directUntil(at, { isOpen: true });
    await leave(9);
    expect(await blind()).toEqual([
      {
        reason: "no process received pings",
        from: expect.toSatisfy((from: Instant) => from <= endedAt),
        to: expect.toSatisfy((to: Instant) => to >= at),
      },
    ]);
  });

  test("the next process measures its gap from the last edge, not from the last heartbeat of a recorder", async () => {
    const at = await now();
    await directUntil(at - 10 * MINUTE_MS);
    await open();
    await apply(record({ n: 1, at: at - 2 * MINUTE_MS }));
    await apply(record({ n: 2, at: at - MINUTE_MS, watermarkAt: at - MINUTE_MS, kind: "leave" }));
    // Recorders were behind, and passed for edges that receive.
    await database.db.pool.query("update intakes set beat_at = now() where closed_at is null");
    await leave(9);
    const { newestHeartbeatAt } = await findHeartbeats(database.db, { through: at });
    expect(newestHeartbeatAt).toBeLessThanOrEqual(at - MINUTE_MS);
  });

  test("is no gap if a process without the log received before the last edge ended", async () => {
    const at = await now();
    await directUntil(at, { isOpen: true });
    await database.db.pool.query("update intakes set started_at = now() - interval '1 hour'");
    await open();
    await apply(record({ n: 1, at: at - 2 * MINUTE_MS }));
    await apply(record({ n: 2, at: at - MINUTE_MS, watermarkAt: at - MINUTE_MS, kind: "leave" }));
    await database.db.pool.query("truncate blind_intervals");
    await leave(9);
    expect(await blind()).toEqual([]);
  });

  test("without Kafka is a gap", async () => {
    await open();
    await leaveLog(database.db, { readTopic: null });
    expect((await blind()).map(({ reason }) => reason)).toEqual(["the log lost confirmed pings"]);
  });
});
