// Three real brokers: what is acknowledged survives the loss of one, nothing is acknowledged by one alone, and a topic
// that could lose pings gets none.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { partitionOf } from "../../src/core/log.ts";
import { findCheckByUuid } from "../../src/store/checks.ts";
import { listPings } from "../../src/store/pings.ts";
import { useDatabase } from "../support/database.ts";
import { isKafkaInstalled, KafkaCluster, WHY_SKIPPED } from "../support/kafka-cluster.ts";
import { sampleCheck, sampleProject } from "../support/sample.ts";
import { checkDueAt, ping, pingUntilAccepted, type Stage, stage, sweep } from "./stage.ts";

const SOON_MS = 180_000;
vi.setConfig({ testTimeout: 2 * SOON_MS, hookTimeout: 2 * SOON_MS });

describe.skipIf(!isKafkaInstalled)(`with three brokers${WHY_SKIPPED}`, () => {
  const database = useDatabase();
  let cluster: KafkaCluster;
  let it: Stage;

  beforeAll(async () => {
    cluster = await KafkaCluster.start({ brokers: 3 });
  });
  afterAll(() => cluster.stop());
  beforeEach(async () => {
    await database.db.pool.query("truncate intakes, blind_intervals, log_partitions cascade");
    it = await stage(cluster, { url: database.url, partitions: 2 });
  });
  afterEach(async () => {
    try {
      await it.stop();
    } finally {
      await cluster.restartEnded();
    }
  });

  const newCheck = async () => {
    const { id: projectId } = await sampleProject(database.db);
    return sampleCheck(database.db, { projectId });
  };

  const pingsOf = async (uuid: string) => {
    const check = await findCheckByUuid(database.db, uuid);
    const pings = await listPings(database.db, { checkId: check?.id ?? 0, afterN: 0, limit: 10_000 });
    return pings.toSorted((one, other) => one.n - other.n);
  };

  const reasons = async () => {
    const { rows } = await database.db.pool.query<{ reason: string }>(
      "select distinct reason from blind_intervals order by 1",
    );
    return rows.map(({ reason }) => reason);
  };

  function expectSoon(question: () => unknown) {
    return expect.poll(question, { timeout: SOON_MS, interval: 50 });
  }

  const inSync = async () => {
    const found = await it.kafka.describe().catch(() => null);
    return found?.partitions.map((one) => one.inSync) ?? [];
  };

  test("the leader is killed while two edges send: starts and ends of runs stay in order", async () => {
    const check = await newCheck();
    const [one, other] = await Promise.all([it.startEdge(), it.startEdge()]);
    await it.startRecorder();
    const { partitions } = (await it.kafka.describe()) ?? { partitions: [] };
    const leader = partitions[partitionOf(check.uuid, partitions.length)]?.leader ?? 0;
    let isKilled = false;
    let rounds = 0;
    const run = async () => {
      // Some before, and enough to begin after the kill.
      for (let left = 10; left > 0; left -= isKilled ? 1 : 0) {
        await pingUntilAccepted(one, check.uuid, `start ${rounds}`, { action: "start" });
        await pingUntilAccepted(other, check.uuid, `success ${rounds}`);
        rounds += 1;
      }
    };
    const running = run();
    await expectSoon(() => rounds).toBeGreaterThan(5);
    await cluster.signal(leader, "SIGKILL");
    isKilled = true;
    await running;
    // Not their number: a ping whose answer was lost may be there twice, before the last one is.
    await expectSoon(async () => (await pingsOf(check.uuid)).at(-1)?.ua).toBe(`success ${rounds - 1}`);
    const { state } = (await findCheckByUuid(database.db, check.uuid)) ?? {};
    const found = await pingsOf(check.uuid);
    const clocks = { one: one.intake.now(), other: other.intake.now() };
    const seen = JSON.stringify({ clocks, newest: found.slice(-6).map(({ n, ua, at }) => ({ n, ua, at })) });
    // The last success ended the last run.
    expect(state, seen).toMatchObject({ status: "up", lastStartAt: null });
    expect(found.map(({ n }) => n)).toEqual(found.map((_, index) => index + 1));
    // A ping whose answer was lost may be there twice, but never after its successor.
    const order = found.map(({ ua }) => ua).filter((ua, index, all) => ua !== all[index - 1]);
    expect(order).toEqual(
      Array.from({ length: rounds }, (_, round) => [`start ${round}`, `success ${round}`]).flat(),
    );
    await cluster.restart(leader);
    await expectSoon(inSync).toEqual([3, 3]);
  });

  test("two are killed: nothing is acknowledged, and the time is a monitoring gap", async () => {
    const check = await newCheck();
    const edge = await it.startEdge();
    await it.startRecorder();
    await pingUntilAccepted(edge, check.uuid, "before");
    const [, second = 0, third = 0] = cluster.brokerIds;
    await Promise.all([cluster.signal(second, "SIGKILL"), cluster.signal(third, "SIGKILL")]);
    const accepted: string[] = [];
    // Two replicas have a record that was sent before the kill.
    await expectSoon(() => ping(edge, check.uuid, "meanwhile")).toBe("busy");
    for (let n = 0; n < 20; n += 1) {
      if ((await ping(edge, check.uuid, `alone ${n}`)) === "recorded") accepted.push(`alone ${n}`);
    }
    expect(accepted).toEqual([]);
    await expectSoon(() => edge.problem()).toBe("pings are rejected: the log does not confirm them");
    // From now on, rejected pings count for all checks. A deadline in that time raises no alert.
    expect(await ping(edge, check.uuid, "blocked")).toBe("busy");
    const dueAt = edge.intake.now() + 1_000;
    const quiet = await checkDueAt(database, dueAt);
    await expectSoon(() => edge.intake.now()).toBeGreaterThan(dueAt);
    expect(await ping(edge, check.uuid, "still blocked")).toBe("busy");
    await cluster.restart(second, third);
    await pingUntilAccepted(edge, check.uuid, "after");
    await expectSoon(async () => (await pingsOf(check.uuid)).at(-1)?.ua).toBe("after");
    expect(edge.problem()).toBeNull();
    await expectSoon(reasons).toContain("pings were rejected");
    let fired = 0;
    const sweptUntil = async () => {
      const swept = await sweep(database.db);
      fired += swept.fired;
      return swept.watermarkAt;
    };
    await expectSoon(sweptUntil).toBeGreaterThan(dueAt);
    expect(fired).toBe(0);
    expect((await findCheckByUuid(database.db, quiet.uuid))?.state.status).toBe("up");
    await expectSoon(inSync).toEqual([3, 3]);
  });

  test("a topic that is weakened gets no pings until it is strong again", async () => {
    const check = await newCheck();
    const edge = await it.startEdge();
    await pingUntilAccepted(edge, check.uuid, "strong");
    await cluster.change(it.topic, { "min.insync.replicas": "1" });
    await expectSoon(() => ping(edge, check.uuid, "weak")).toBe("busy");
    expect(edge.problem()).toBe("pings are rejected: min.insync.replicas is less than 2");
    await expect(it.startEdge()).rejects.toThrow("min.insync.replicas is less than 2. Change its settings.");
    await cluster.change(it.topic, { "min.insync.replicas": "2" });
    await expectSoon(() => ping(edge, check.uuid, "strong")).toBe("recorded");
    expect(edge.problem()).toBeNull();
  });
});
