// The rules of the log with a real broker and a real database: what was lost stops its partition and never raises an
// alert, edges that are lost or whose clocks are off, recorders that take over, and changes between acknowledging and
// applying a ping.
import { randomBytes, randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test, vi } from "vitest";
import { HOUR_MS } from "../../src/core/instant.ts";
import { topicSettings } from "../../src/core/log.ts";
import { restoreBackup, writeBackup } from "../../src/operations/backup.ts";
import { pauseCheck } from "../../src/operations/checks.ts";
import { acceptLoss } from "../../src/operations/log.ts";
import { findCheckByUuid } from "../../src/store/checks.ts";
import { type Database, openDatabase } from "../../src/store/db.ts";
import { readDatabaseClock } from "../../src/store/instance.ts";
import {
  claimPartitions,
  listLogPartitions,
  listLogPositions,
  seeRecorder,
} from "../../src/store/log-partitions.ts";
import { listPings } from "../../src/store/pings.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { signal } from "../intake/scripted-ports.ts";
import { UNSEEN } from "../support/checks-under-change.ts";
import { useDatabase } from "../support/database.ts";
import { isKafkaInstalled, KafkaCluster, WHY_SKIPPED } from "../support/kafka-cluster.ts";
import { sampleCheck, sampleProject } from "../support/sample.ts";
import {
  checkDueAt,
  lossTopicOf,
  ping,
  pingUntilAccepted,
  type Stage,
  stage,
  type StageOptions,
  sweep,
} from "./stage.ts";

const SOON_MS = 120_000;
vi.setConfig({ testTimeout: 2 * SOON_MS, hookTimeout: 2 * SOON_MS });
const PARTITIONS = 2;

describe.skipIf(!isKafkaInstalled)(`with a log${WHY_SKIPPED}`, () => {
  const database = useDatabase();
  let cluster: KafkaCluster;
  const stages: Stage[] = [];

  beforeAll(async () => {
    cluster = await KafkaCluster.start();
  });
  afterAll(() => cluster.stop());
  beforeEach(() =>
    database.db.pool.query("truncate intakes, blind_intervals, log_partitions, checks cascade"),
  );
  afterEach(async () => {
    for (const one of stages.splice(0)) await one.stop();
  });

  const newStage = async (given: Omit<StageOptions, "url" | "partitions"> = {}) => {
    const made = await stage(cluster, { url: database.url, partitions: PARTITIONS, ...given });
    stages.push(made);
    return made;
  };

  const newCheck = async (given: { slug?: string; projectId?: number } = {}) => {
    const projectId = given.projectId ?? (await sampleProject(database.db)).id;
    return sampleCheck(database.db, { ...given, projectId });
  };

  const pingsOf = async (uuid: string, db: Database = database.db) => {
    const check = await findCheckByUuid(db, uuid);
    const pings = await listPings(db, { checkId: check?.id ?? 0, afterN: 0, limit: 10_000 });
    return pings.toSorted((one, other) => one.n - other.n);
  };
  const wordsOf = async (uuid: string, db?: Database) => (await pingsOf(uuid, db)).map(({ ua }) => ua);
  const stateOf = async (uuid: string) => (await findCheckByUuid(database.db, uuid))?.state;

  const reasons = async () => {
    const { rows } = await database.db.pool.query<{ reason: string }>(
      "select distinct reason from blind_intervals order by 1",
    );
    return rows.map(({ reason }) => reason);
  };

  function expectSoon(question: () => unknown) {
    return expect.poll(question, { timeout: SOON_MS, interval: 50 });
  }

  const stopped = async () => (await listLogPartitions(database.db)).map((one) => one.stopped);

  /** Sweeps until the watermark has passed an instant; returns how many alerts were raised. */
  const sweepUntil = async (at: number) => {
    let fired = 0;
    await expectSoon(async () => {
      const swept = await sweep(database.db);
      fired += swept.fired;
      return swept.watermarkAt;
    }).toBeGreaterThan(at);
    return fired;
  };

  test("records that were deleted before they were applied stop their partition, and raise no alert", async () => {
    const it = await newStage();
    const recorder = await it.startRecorder();
    const edge = await it.startEdge();
    const before = await newCheck();
    await pingUntilAccepted(edge, before.uuid, "x");
    await expectSoon(() => wordsOf(before.uuid)).toEqual(["x"]);
    // Its pings are among the deleted records.
    await it.stopOne(recorder);
    const now = await readDatabaseClock(database.db);
    const quiet = await checkDueAt(database, now + 2_000);
    await pingUntilAccepted(edge, quiet.uuid, "lost");
    const ends = await it.kafka.ends([0, 1]);
    for (const [partition, { end }] of ends)
      await cluster.deleteRecords(it.topic, { partition, before: end });
    await it.startRecorder();
    await expectSoon(stopped).toEqual([
      expect.stringContaining("is not in the log (its offset is not in the topic)"),
      expect.stringContaining("is not in the log (its offset is not in the topic)"),
    ]);
    expect((await sweep(database.db)).watermarkAt).toBeLessThan((quiet.downAt ?? 0) + 1_000);
    expect(await acceptLoss(database.db, await lossTopicOf(it.kafka))).toBe(PARTITIONS);
    expect(await reasons()).toContain("the log lost confirmed pings");
    expect(await sweepUntil(quiet.downAt ?? Infinity)).toBe(0);
    expect((await stateOf(quiet.uuid))?.status).toBe("up");
    // What is missing afterwards is reported.
    const soon = (await readDatabaseClock(database.db)) + 10_000;
    const late = await checkDueAt(database, soon, { afterSeconds: 2 });
    expect(await sweepUntil(late.downAt ?? Infinity)).toBe(1);
    expect((await stateOf(late.uuid))?.status).toBe("down");
  });

  test("another topic under the same name is not read, even if it has more records", async () => {
    const it = await newStage();
    const [edge, recorder] = await Promise.all([it.startEdge(), it.startRecorder()]);
    const check = await newCheck();
    await pingUntilAccepted(edge, check.uuid, "first");
    await expectSoon(() => wordsOf(check.uuid)).toEqual(["first"]);
    await it.stopOne(recorder);
    const positions = (await listLogPositions(database.db)).map(({ nextOffset }) => nextOffset);
    await cluster.deleteTopic(it.topic);
    const create = () =>
      it.kafka
        .create({ partitions: PARTITIONS, replicas: 1, settings: topicSettings({ brokers: 1 }) })
        .catch(() => false);
    await expectSoon(create).toBe(true);
    const other = await it.startBareEdge();
    const beyond = async () => {
      await pingUntilAccepted(other, check.uuid, "other");
      const ends = await it.kafka.ends([0, 1]);
      return positions.every((position, partition) => (ends.get(partition)?.end ?? 0) > position + 1);
    };
    await expectSoon(beyond).toBe(true);
    await it.startRecorder();
    await expectSoon(stopped).toEqual([
      expect.stringContaining("is not in the log (the topic was replaced)"),
      expect.stringContaining("is not in the log (the topic was replaced)"),
    ]);
    expect(await wordsOf(check.uuid)).toEqual(["first"]);
    await expect(it.startEdge()).rejects.toThrow("OVERDUE_LOG names a different topic than before");
    await expectSoon(() => edge.problem()).toBe("pings are rejected: the topic was deleted");
    expect(await ping(edge, check.uuid, "x")).toBe("busy");
    expect(await acceptLoss(database.db, await lossTopicOf(it.kafka))).toBe(2);
    await expectSoon(async () => (await wordsOf(check.uuid)).length).toBeGreaterThan(1);
    expect(await reasons()).toContain("the log lost confirmed pings");
  });

  test("a topic that could lose pings is refused at the start", async () => {
    const it = await newStage({ topicWith: { "retention.ms": String(HOUR_MS) } });
    await expect(it.startEdge()).rejects.toThrow("retention.ms is less than 72 hours. Change its settings.");
    const unclean = await newStage({ topicWith: { "unclean.leader.election.enable": "true" } });
    await expect(unclean.startEdge()).rejects.toThrow("unclean.leader.election.enable is not false");
  });

  test("if recorders are behind by 90% of the retention, pings are rejected", async () => {
    const it = await newStage({
      topicWith: { "retention.ms": String(100 * HOUR_MS), "message.timestamp.type": "CreateTime" },
    });
    await cluster.append(it.topic, { partition: 0, at: Date.now() - 91 * HOUR_MS });
    await cluster.change(it.topic, { "message.timestamp.type": "LogAppendTime" });
    await it.stopOne(await it.startEdge());
    await database.db.pool.query("update log_partitions set next_offset = 0");
    const edge = await it.startEdge();
    const check = await newCheck();
    await expectSoon(() => edge.problem()).toBe(
      "pings are rejected: recorders are so far behind that Kafka would soon delete pings before they are applied",
    );
    expect(await ping(edge, check.uuid, "x")).toBe("busy");
    await it.startRecorder();
    await expectSoon(() => ping(edge, check.uuid, "y")).toBe("recorded");
  });

  /** One of two edges is killed, and the other one is then far ahead of it. */
  async function loseOne(it: Stage): Promise<void> {
    const staying = await it.startBareEdge();
    // Its clock is ahead, as if it had entered later.
    const lost = await it.startBareEdge({ offMs: 5_000 });
    await openPartitions(it);
    await it.startRecorder();
    const isClosed = async (edge: string) => {
      const stored = await listLogPartitions(database.db);
      return stored.map(({ state }) => (state.edges[edge] ? state.edges[edge].closedAt !== null : null));
    };
    await expectSoon(() => isClosed(staying.edge())).toEqual([false, false]);
    await expectSoon(() => isClosed(lost.edge())).toEqual([false, false]);
    lost.cutOff();
    staying.clock.offMs = 20_000;
    await expectSoon(() => isClosed(lost.edge())).toEqual([true, true]);
  }

  test("the loss of an edge is a gap", async () => {
    await loseOne(await newStage());
    expect(await reasons()).toContain("a receiving process was lost");
  });

  test("the loss of one of several edges is none, if a router repeats pings", async () => {
    await loseOne(await newStage({ settings: { OVERDUE_LOG_ROUTER_REPEATS: "true" } }));
    expect(await reasons()).not.toContain("a receiving process was lost");
  });

  test("edges whose clocks differ: the order of the log counts up to two seconds, and nothing is lost", async () => {
    const it = await newStage();
    const [right, behind, wrong] = [
      await it.startBareEdge(),
      await it.startBareEdge({ offMs: -1_500 }),
      await it.startBareEdge({ offMs: -5_000 }),
    ];
    await openPartitions(it);
    const check = await newCheck();
    const at = right.intake.now();
    await pingUntilAccepted(right, check.uuid, "start", { action: "start", at });
    await pingUntilAccepted(behind, check.uuid, "success", { at: at - 1_500 });
    // Received before the others, as far as anyone knows: it is a failure of the past.
    await pingUntilAccepted(wrong, check.uuid, "fail", { action: "fail", at: at - 5_000 });
    await it.startRecorder();
    await expectSoon(async () => (await wordsOf(check.uuid)).toSorted()).toEqual([
      "fail",
      "start",
      "success",
    ]);
    expect(await stateOf(check.uuid)).toMatchObject({ status: "up", lastStartAt: null, pingCount: 3 });
  });

  /** As an edge with a database does. */
  async function openPartitions(it: Stage): Promise<void> {
    await it.stopOne(await it.startEdge());
  }

  test("the partitions of a recorder that was killed are taken over, and nothing is applied twice", async () => {
    const it = await newStage();
    const edge = await it.startEdge();
    const checks = await Promise.all(Array.from({ length: 4 }, () => newCheck()));
    // It claims a partition, and is never heard of again.
    await inTransaction(database.db, async (tx) => {
      const now = await readDatabaseClock(database.db);
      const recorderId = randomUUID();
      await seeRecorder(tx, { recorderId, name: "killed", at: now });
      await claimPartitions(tx, { recorderId, countMax: 1, until: now + 5_000, now });
    });
    await Promise.all([it.startRecorder(), it.startRecorder()]);
    const words = Array.from({ length: 40 }, (_, index) => `ping ${index}`);
    for (const word of words) {
      for (const { uuid } of checks) await pingUntilAccepted(edge, uuid, word);
      // Claims may be wrong at any time.
      await database.db.pool.query("update log_claims set recorder_id = null where random() < 0.3");
    }
    for (const { uuid } of checks) {
      await expectSoon(async () => new Set(await wordsOf(uuid)).size).toBe(words.length);
      const found = await pingsOf(uuid);
      expect(found.map(({ n }) => n)).toEqual(found.map((_, index) => index + 1));
      expect(new Set(found.map(({ ua }) => ua)).size).toBe(words.length);
    }
  });

  test("slugs that are swapped, and checks that are paused or deleted, before a ping is applied", async () => {
    const it = await newStage();
    const edge = await it.startEdge();
    const { id: projectId, pingKey } = await sampleProject(database.db);
    const one = await newCheck({ projectId, slug: "one" });
    const two = await newCheck({ projectId, slug: "two" });
    const paused = await newCheck();
    const deleted = await newCheck();
    const bySlug = async (slug: string) => {
      const target = { by: "slug", pingKey: pingKey ?? "", slug } as const;
      const sent = signal(`to ${slug}`, { target, at: edge.intake.now() });
      return (await edge.intake.accept(sent, { create: false, network: null })).kind;
    };
    await expectSoon(() => bySlug("one")).toBe("recorded");
    await expectSoon(() => bySlug("two")).toBe("recorded");
    await pingUntilAccepted(edge, paused.uuid, "before the pause");
    await pingUntilAccepted(edge, deleted.uuid, "before it was deleted");
    const { pool } = database.db;
    await pool.query(
      "update checks set slug = case slug when 'one' then 'two' else 'one' end where project_id = $1",
      [projectId],
    );
    const at = await readDatabaseClock(database.db);
    await pauseCheck(database.db, {
      uuid: paused.uuid,
      projectId: paused.projectId,
      at,
      accountId: null,
      visibility: UNSEEN,
    });
    await pool.query("update checks set deleted_at = now() where id = $1", [deleted.id]);
    await it.startRecorder();
    await expectSoon(() => wordsOf(one.uuid)).toContain("to one");
    await expectSoon(() => wordsOf(two.uuid)).toContain("to two");
    expect(await wordsOf(two.uuid)).not.toContain("to one");
    await expectSoon(async () => (await stateOf(paused.uuid))?.pingCount).toBe(1);
    expect((await stateOf(paused.uuid))?.status).toBe("paused");
    await expectSoon(() => ping(edge, deleted.uuid, "x")).toBe("unknown");
    // If the database is slow, the edge uses what it knows.
    const toOne = async () => {
      await bySlug("one");
      return wordsOf(two.uuid);
    };
    await expectSoon(toOne).toContain("to one");
    // A new ping ends the pause.
    await pingUntilAccepted(edge, paused.uuid, "after the pause");
    await expectSoon(async () => (await stateOf(paused.uuid))?.status).toBe("up");
  });

  test("a restored backup continues at its positions, and applies each ping once", async () => {
    const it = await newStage();
    const [edge, recorder] = await Promise.all([it.startEdge(), it.startRecorder()]);
    const check = await newCheck();
    await pingUntilAccepted(edge, check.uuid, "before the backup");
    await expectSoon(() => wordsOf(check.uuid)).toEqual(["before the backup"]);
    const archive = await backUp();
    for (const word of ["1", "2", "3"]) await pingUntilAccepted(edge, check.uuid, word);
    await expectSoon(async () => (await wordsOf(check.uuid)).at(-1)).toBe("3");
    const expected = await wordsOf(check.uuid);
    await it.stopOne(recorder);
    const restored = await restore(archive);
    try {
      expect(await wordsOf(check.uuid, restored.db)).toEqual(["before the backup"]);
      await it.startRecorder({ url: restored.url });
      await expectSoon(() => wordsOf(check.uuid, restored.db)).toEqual(expected);
      await pingUntilAccepted(edge, check.uuid, "after");
      await expectSoon(async () => (await wordsOf(check.uuid, restored.db)).at(-1)).toBe("after");
      const found = await pingsOf(check.uuid, restored.db);
      expect(found.map(({ n }) => n)).toEqual(found.map((_, index) => index + 1));
    } finally {
      for (const one of stages.splice(0)) await one.stop();
      await restored.drop();
    }
  });

  const optionsFor = (url: string) => ({
    url,
    applicationName: "overdue-test",
    requireDurable: false,
    onError: () => {},
  });

  async function backUp(): Promise<Buffer> {
    const written: Buffer[] = [];
    await writeBackup({
      database: database.db,
      databaseOptions: optionsFor(database.url),
      sink: { write: async (bytes) => void written.push(bytes) },
      objects: null,
      version: "1.0.0",
      settings: { text: "# none\n", hasSecrets: false },
      onProgress: () => {},
    });
    return Buffer.concat(written);
  }

  async function restore(archive: Buffer): Promise<{ url: string; db: Database; drop: () => Promise<void> }> {
    const name = `test_${randomBytes(8).toString("hex")}`;
    const onServer = async (sql: string) => {
      const admin = new pg.Client({ connectionString: inject("postgresUrl") });
      await admin.connect();
      try {
        await admin.query(sql);
      } finally {
        await admin.end();
      }
    };
    await onServer(`create database ${name} template template0`);
    const url = inject("postgresUrl").replace(/\/postgres$/, `/${name}`);
    await restoreBackup({
      databaseOptions: optionsFor(url),
      source: async function* all() {
        yield archive;
      },
      hasObjectStore: false,
      notice: { channelUuid: null, host: "here" },
      onProgress: () => {},
    });
    const db = openDatabase(optionsFor(url));
    const drop = async () => {
      await db.close();
      await onServer(`drop database ${name} with (force)`);
    };
    return { url, db, drop };
  }
});
