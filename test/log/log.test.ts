// Pings through a real Kafka broker into a real database: acknowledged, applied once, in order, also across restarts of
// edges and recorders.
import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { topicSettings } from "../../src/core/log.ts";
import { acceptLoss, leaveLog } from "../../src/operations/log.ts";
import { findCheckByUuid } from "../../src/store/checks.ts";
import { listOpenIntakes } from "../../src/store/intakes.ts";
import { listLogPartitions } from "../../src/store/log-partitions.ts";
import { listPings } from "../../src/store/pings.ts";
import { useDatabase } from "../support/database.ts";
import { isKafkaInstalled, KafkaCluster, WHY_SKIPPED } from "../support/kafka-cluster.ts";
import { sampleCheck, sampleProject } from "../support/sample.ts";
import { lossTopicOf, ping, pingUntilAccepted, type Stage, stage } from "./stage.ts";

const SOON_MS = 120_000;
const LIMIT = 100_000;

describe.skipIf(!isKafkaInstalled)(`with a log${WHY_SKIPPED}`, () => {
  const database = useDatabase();
  let cluster: KafkaCluster;
  let it: Stage;

  beforeAll(async () => {
    cluster = await KafkaCluster.start();
  });
  afterAll(() => cluster.stop());
  beforeEach(async () => {
    await database.db.pool.query("truncate intakes, blind_intervals, log_partitions cascade");
    it = await stage(cluster, { url: database.url });
  });
  afterEach(() => it.stop());

  const newCheck = async () => {
    const { id: projectId } = await sampleProject(database.db);
    return sampleCheck(database.db, { projectId });
  };

  const numbersOf = async (uuid: string) => {
    const check = await findCheckByUuid(database.db, uuid);
    const pings = await listPings(database.db, { checkId: check?.id ?? 0, afterN: 0, limit: LIMIT });
    return pings.map(({ n }) => n).toSorted((one, other) => one - other);
  };

  function expectSoon(question: () => Promise<unknown>) {
    return expect.poll(question, { timeout: SOON_MS, interval: 50 });
  }

  test("acknowledged pings are applied once and in order", async () => {
    const checks = await Promise.all(Array.from({ length: 20 }, newCheck));
    const [edge] = await Promise.all([it.startEdge(), it.startRecorder()]);
    let retries = 0;
    for (let round = 1; round <= 50; round += 1) {
      const answers = checks.map(({ uuid }) => pingUntilAccepted(edge, uuid, `${uuid} ${round}`));
      for (const attempts of await Promise.all(answers)) retries += attempts - 1;
    }
    for (const { uuid } of checks) {
      await expectSoon(async () => (await numbersOf(uuid)).length).toBeGreaterThanOrEqual(50);
      const numbers = await numbersOf(uuid);
      // A ping that was not acknowledged in time may have been recorded, too.
      const count = retries === 0 ? 50 : numbers.length;
      expect(numbers).toEqual(Array.from({ length: count }, (_, index) => index + 1));
    }
  });

  test("an edge starts while recorders write positions", async () => {
    await it.stopOne(await it.startEdge());
    const recorder = await database.db.pool.connect();
    try {
      await recorder.query("begin");
      await recorder.query("update log_partitions set end_offset = end_offset");
      await expect(it.startEdge()).resolves.toBeDefined();
    } finally {
      await recorder.query("rollback");
      recorder.release();
    }
  });

  test("unknown checks are refused, also after they were deleted", async () => {
    const check = await newCheck();
    const [edge] = await Promise.all([it.startEdge(), it.startRecorder()]);
    await expectSoon(() => ping(edge, randomUUID(), "x")).toBe("unknown");
    await pingUntilAccepted(edge, check.uuid, "x");
    await database.db.pool.query("update checks set deleted_at = now() where id = $1", [check.id]);
    await expectSoon(() => ping(edge, check.uuid, "x")).toBe("unknown");
  });

  test("while no recorder runs, pings are acknowledged, the watermark waits, and then all are applied", async () => {
    const check = await newCheck();
    const edge = await it.startEdge();
    const [before] = await listOpenIntakes(database.db);
    for (let n = 0; n < 10; n += 1) await pingUntilAccepted(edge, check.uuid, `ping ${n}`);
    const [during] = await listOpenIntakes(database.db);
    expect(during?.watermarkAt).toBe(before?.watermarkAt);
    await it.startRecorder();
    await expectSoon(async () => (await numbersOf(check.uuid)).length).toBeGreaterThanOrEqual(10);
    await expectSoon(async () => (await listOpenIntakes(database.db))[0]?.watermarkAt ?? 0).toBeGreaterThan(
      before?.watermarkAt ?? Infinity,
    );
  });

  test("recorders divide the partitions, and others take those of one that ends", async () => {
    const check = await newCheck();
    const [edge, first] = await Promise.all([it.startEdge(), it.startRecorder(), it.startRecorder()]);
    const claims = async () => {
      const { rows } = await database.db.pool.query<{ count: number }>(
        "select count(*)::int as count from log_claims where recorder_id is not null group by recorder_id order by 1",
      );
      return rows.map(({ count }) => count);
    };
    await expectSoon(claims).toEqual([2, 2]);
    await it.stopOne(first);
    await expectSoon(claims).toEqual([4]);
    await pingUntilAccepted(edge, check.uuid, "x");
    await expectSoon(async () => (await numbersOf(check.uuid)).length).toBeGreaterThanOrEqual(1);
  });

  test("an edge that ends leaves no gap, but time without any edge is one", async () => {
    const [first, recorder] = await Promise.all([it.startEdge(), it.startRecorder()]);
    const second = await it.startEdge();
    await it.stopOne(first);
    const edges = async () =>
      Object.values((await listLogPartitions(database.db))[0]?.state.edges ?? {}).filter(
        ({ closedAt }) => closedAt === null,
      ).length;
    await expectSoon(edges).toBe(1);
    const { rows } = await database.db.pool.query("select reason from blind_intervals");
    expect(rows).toEqual([]);
    await it.stopOne(second);
    await expectSoon(edges).toBe(0);
    // As if it had ended a minute ago.
    await it.stopOne(recorder);
    await database.db.pool.query(
      "update log_partitions set watermark_at = watermark_at - interval '1 minute'",
    );
    await Promise.all([it.startEdge(), it.startRecorder()]);
    await expectSoon(async () => {
      const found = await database.db.pool.query<{ reason: string }>(
        "select distinct reason from blind_intervals",
      );
      return found.rows.map(({ reason }) => reason);
    }).toEqual(["no process received pings"]);
  });

  test("a position that is not in the log stops its partition until the loss is accepted", async () => {
    const edge = await it.startEdge();
    await it.stopOne(edge);
    await database.db.pool.query("update log_partitions set next_offset = 1000 where partition = 1");
    await it.startRecorder();
    const stopped = async () => (await listLogPartitions(database.db)).map((one) => one.stopped);
    await expectSoon(stopped).toEqual([
      null,
      "record 1000 is not in the log (its offset is not in the topic)",
      null,
      null,
    ]);
    expect(await acceptLoss(database.db, await lossTopicOf(it.kafka))).toBe(1);
    await expectSoon(stopped).toEqual([null, null, null, null]);
    const at = async () => (await listLogPartitions(database.db))[1]?.nextOffset ?? 0;
    await expectSoon(at).toBeGreaterThan(0);
    const { rows } = await database.db.pool.query("select distinct reason from blind_intervals");
    expect(rows).toContainEqual({ reason: "the log lost confirmed pings" });
  });

  test("a topic that was deleted and created again stops all partitions, also if it has their positions", async () => {
    const check = await newCheck();
    const [edge, recorder] = await Promise.all([it.startEdge(), it.startRecorder()]);
    await pingUntilAccepted(edge, check.uuid, "before");
    await expectSoon(async () => (await numbersOf(check.uuid)).length).toBeGreaterThanOrEqual(1);
    await it.stopOne(recorder);
    const { rows } = await database.db.pool.query<{ most: number }>(
      "select max(next_offset)::int as most from log_partitions",
    );
    await cluster.deleteTopic(it.topic);
    await expectSoon(() =>
      it.kafka.create({ partitions: 4, replicas: 1, settings: topicSettings({ brokers: 1 }) }),
    ).toBe(true);
    for (const partition of [0, 1, 2, 3]) {
      const end = async () => (await it.kafka.ends([partition])).get(partition)?.end ?? 0;
      await expectSoon(async () => {
        const giveUpAtMs = performance.now() + SOON_MS;
        await it.kafka.append({ partition, value: Buffer.from("another"), giveUpAtMs });
        return end();
      }).toBeGreaterThan((rows[0]?.most ?? 0) + 1);
    }
    await it.startRecorder();
    await expectSoon(async () =>
      (await listLogPartitions(database.db)).map(({ stopped }) => stopped?.replace(/\d+/, "N")),
    ).toEqual(Array.from({ length: 4 }, () => "record N is not in the log (the topic was replaced)"));
  });

  test("the log is left when no edge is open and nothing is left to apply", async () => {
    const [edge] = await Promise.all([it.startEdge(), it.startRecorder()]);
    const readTopic = async () => {
      const found = await it.kafka.ends([0, 1, 2, 3]);
      const { topicId = "" } = (await it.kafka.describe()) ?? {};
      return { topicId, ends: [0, 1, 2, 3].map((partition) => found.get(partition)?.end ?? 0) };
    };
    await expect(leaveLog(database.db, { readTopic })).rejects.toThrow(/records left|still append/);
    await it.stopOne(edge);
    await expectSoon(async () =>
      leaveLog(database.db, { readTopic }).then(
        () => "left",
        (error: Error) => error.message,
      ),
    ).toBe("left");
    expect(await listOpenIntakes(database.db)).toEqual([]);
    // Again, with the same topic.
    await it.startEdge();
    expect(await listOpenIntakes(database.db)).toHaveLength(4);
  });
});
