// `overdue log` with a real broker: create, status and leave, and what it says if something is wrong.
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { DAY_MS } from "../../src/core/instant.ts";
import { stage } from "../log/stage.ts";
import { isKafkaInstalled, KafkaCluster, WHY_SKIPPED } from "../support/kafka-cluster.ts";
import { useOwnPostgres } from "../support/own-postgres.ts";
import { freePort } from "../support/ports.ts";
import { callOverdue } from "./run-overdue.ts";

/** Durable: the commands refuse another one. */
const own = useOwnPostgres();

function log(args: readonly string[], topic: string | null) {
  return callOverdue(["log", ...args], {
    OVERDUE_DATABASE_URL: own.server.url(),
    ...(topic !== null && { OVERDUE_LOG: topic }),
  });
}

test("without OVERDUE_LOG, it says what to set", async () => {
  const { code, err } = await log(["status"], null);
  expect([code, err]).toEqual([2, expect.stringContaining("Set OVERDUE_LOG to a Kafka topic")]);
});

/** What `overdue doctor` says about the log. */
async function diagnosed(topic: string) {
  const { out } = await callOverdue(["doctor", "--json"], {
    OVERDUE_DATABASE_URL: own.server.url(),
    OVERDUE_LOG: topic,
    OVERDUE_SPOOL_FOLDER: "off",
  });
  const { findings } = JSON.parse(out) as { findings: { about: string; level: string; text: string }[] };
  const [{ level, text } = { level: "", text: "" }] = findings.filter(({ about }) => about === "log");
  return [level, text];
}

test("a broker that does not answer is named as the problem", async () => {
  const { code, err } = await log(["create"], `kafka://127.0.0.1:${await freePort()}/overdue`);
  expect([code, err]).toEqual([1, expect.stringContaining("No Kafka broker can be reached")]);
  const found = await diagnosed(`kafka://127.0.0.1:${await freePort()}/overdue`);
  expect(found).toEqual(["problem", expect.stringContaining("No Kafka broker can be reached")]);
});

test.each(["0", "257", "x"])("%s partitions are refused", async (count) => {
  const { code, err } = await log(["create", "--partitions", count], "kafka://127.0.0.1:1/overdue");
  expect([code, err]).toEqual([2, expect.stringContaining("must be 1 to 256")]);
});

describe.skipIf(!isKafkaInstalled)(`with a broker${WHY_SKIPPED}`, () => {
  let cluster: KafkaCluster;
  beforeAll(async () => {
    cluster = await KafkaCluster.start();
  });
  afterAll(() => cluster.stop());

  test("a topic is created once, and shown", async () => {
    const topic = cluster.url("overdue-cli");
    expect((await log(["status"], topic)).err).toContain("Create it with: overdue log create");
    expect(await diagnosed(topic)).toEqual(["problem", "The topic of OVERDUE_LOG does not exist."]);
    const created = await log(["create", "--partitions", "3"], topic);
    expect([created.code, created.out]).toEqual([
      0,
      expect.stringContaining("Created the topic: 3 partitions, 1 replica."),
    ]);
    expect(JSON.parse((await log(["create", "--json"], topic)).out)).toEqual({
      created: false,
      partitions: 3,
      replicas: 1,
      problems: [],
    });
    expect((await log(["status"], topic)).out).toBe("No process uses the log.\nNo recorder is running.\n");
    const safe = "The topic of OVERDUE_LOG has safe settings (partitions: 3).";
    expect(await diagnosed(topic)).toEqual(["ok", safe]);
    await cluster.change("overdue-cli", { "flush.messages": "10" });
    const unsafe = expect.stringContaining("could lose confirmed pings: it has one replica");
    expect(await diagnosed(topic)).toEqual(["problem", unsafe]);
    await cluster.change("overdue-cli", { "flush.messages": "1" });
    expect((await log(["accept-loss"], topic)).out).toBe("No partition is stopped.\n");
    expect((await log(["leave"], topic)).out).toBe("Left the log. Alerts no longer wait for it.\n");
  });

  test("it is shown that recorders are behind", async () => {
    const it = await stage(cluster, {
      url: own.server.url(),
      topicWith: { "message.timestamp.type": "CreateTime" },
    });
    try {
      await cluster.append(it.topic, { partition: 0, at: Date.now() - 4 * DAY_MS });
      await cluster.change(it.topic, { "message.timestamp.type": "LogAppendTime" });
      await it.stopOne(await it.startEdge());
      await own.db.pool.query(
        "update log_partitions set watermark_at = watermark_at - interval '2 minutes' where partition = 1",
      );
      await own.db.pool.query("update log_partitions set next_offset = 0 where partition = 0");
      const { out } = await log(["status"], cluster.url(it.topic));
      expect(out).toMatch(
        /^Recorders are 1[2-9]\d seconds behind, and alerts for missing pings wait for them\.$/m,
      );
      expect(out).toContain("Half of the topic's retention is used. At 90%, pings are rejected.");
      expect(out).toContain("No recorder is running.");
      expect(JSON.parse((await log(["status", "--json"], cluster.url(it.topic))).out)).toMatchObject({
        problems: [],
        retention_half_used: true,
        recorders: [],
      });
      await it.startRecorder();
      const shown = async () =>
        JSON.parse((await log(["status", "--json"], cluster.url(it.topic))).out) as object;
      await expect.poll(shown, { timeout: 60_000 }).toMatchObject({
        seconds_behind: 0,
        retention_half_used: false,
        recorders: [{ name: expect.any(String) }],
      });
    } finally {
      await it.stop();
      await own.db.pool.query("truncate log_partitions, log_recorders, intakes cascade");
    }
  }, 180_000);

  test("the log can be left although Kafka is gone", async () => {
    const { code, out } = await log(["leave", "--kafka-is-gone"], "kafka://127.0.0.1:1/gone");
    expect([code, out]).toEqual([0, "Left the log. Alerts no longer wait for it.\n"]);
  });
});
