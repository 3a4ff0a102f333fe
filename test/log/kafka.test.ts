// A topic in a cluster of three real brokers: one that hangs or is killed, a topic that was created again, and many
// partitions.
import { randomUUID } from "node:crypto";
import { Admin } from "@platformatic/kafka";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { KafkaTopic, type ReadResult } from "../../src/lib/kafka.ts";
import type { KafkaAddress } from "../../src/lib/kafka-address.ts";
import { isKafkaInstalled, KafkaCluster, WHY_SKIPPED } from "../support/kafka-cluster.ts";

const LONG_MS = 60_000;
const READ = { waitMs: 500, bytesMax: 2 * 1024 * 1024 };
const BIG = Buffer.alloc(900_000);

describe.skipIf(!isKafkaInstalled)(`three brokers${WHY_SKIPPED}`, () => {
  let cluster: KafkaCluster;
  const open: KafkaTopic[] = [];

  beforeAll(async () => {
    cluster = await KafkaCluster.start({ brokers: 3 });
  });
  afterAll(() => cluster.stop());
  afterEach(async () => {
    for (const topic of open.splice(0)) await topic.close();
  });

  async function openTopic(address: KafkaAddress): Promise<KafkaTopic> {
    const topic = await KafkaTopic.open(address);
    open.push(topic);
    return topic;
  }

  /** With one replica, only the broker that leads a partition matters for it. */
  async function newTopic({ partitions, replicas = 1, first = 1 }: NewTopic) {
    const all = cluster.address();
    const { brokers } = all;
    const rotated = [...brokers.slice(first - 1), ...brokers.slice(0, first - 1)].slice(0, 1);
    const address = { ...all, brokers: rotated };
    const topic = await openTopic(address);
    await topic.create({ partitions, replicas, settings: {} });
    return { topic, address, ...(await described(topic)) };
  }

  type NewTopic = { partitions: number; replicas?: 1 | 3; first?: number };

  async function described(topic: KafkaTopic) {
    const found = await topic.describe();
    if (found === null) throw new Error("there is no topic");
    return { topicId: found.topicId, leaders: found.partitions.map(({ leader }) => leader) };
  }

  const append = (
    topic: KafkaTopic,
    partition: number,
    { ms = LONG_MS, value = Buffer.from(`to ${partition}`) }: { ms?: number; value?: Buffer } = {},
  ) => topic.append({ partition, value, giveUpAtMs: performance.now() + ms });

  test("a broker that hangs delays only the partitions that it leads", async () => {
    // The hung broker is the only one in the address, so the others are known from its metadata.
    const { topic, address, topicId, leaders } = await newTopic({ partitions: 6 });
    const partitions = [...leaders.keys()];
    const others = partitions.filter((partition) => leaders[partition] !== 1);
    const own = partitions.filter((partition) => leaders[partition] === 1);
    expect([others.length, own.length]).toEqual([4, 2]);
    await Promise.all(partitions.map((partition) => append(topic, partition)));
    await cluster.signal(1, "SIGSTOP");
    try {
      for (let round = 1; round <= 3; round += 1) {
        const beganMs = performance.now();
        const givenUp = own.map((partition) =>
          append(topic, partition, { ms: 1_000, value: BIG }).then(
            () => "confirmed",
            (error: unknown) => String(error),
          ),
        );
        await Promise.all(others.map((partition) => append(topic, partition)));
        for (const outcome of await Promise.all(givenUp)) expect(outcome).toContain("was not confirmed");
        expect(performance.now() - beganMs).toBeLessThan(8_000);
      }
      for (const partition of others) {
        const result = await topic.read({ topicId, partition, offset: 0, ...READ });
        expect(result).toMatchObject({ kind: "records", end: 4 });
      }
      expect((await topic.describe())?.topicId).toBe(topicId);
      // What was not written does not hold up the end.
      const last = append(topic, own[0] ?? 0, { value: BIG }).catch(() => "failed");
      await topic.close();
      expect(await last).toBe("failed");
    } finally {
      await cluster.signal(1, "SIGCONT");
    }
    const again = await openTopic(address);
    await Promise.all(own.map((partition) => append(again, partition)));
  });

  test("when the leader is killed, the next one confirms and is read", async () => {
    const { topic, topicId, leaders } = await newTopic({ partitions: 1, replicas: 3, first: 2 });
    const values = Array.from({ length: 20 }, (_, n) => `record ${n}`);
    const reading = readUntil(topic, { topicId, partition: 0 }, "record 19");
    for (const [n, value] of values.entries()) {
      if (n === 5) await cluster.signal(leaders[0] ?? 0, "SIGKILL");
      await append(topic, 0, { value: Buffer.from(value) });
    }
    // A record can be in the log twice, but each is there, and in order.
    expect([...new Set(await reading)]).toEqual(values);
    await cluster.restart(leaders[0] ?? 0);
  });

  test("another topic of the same name is not read", async () => {
    const { topic, address, topicId } = await newTopic({ partitions: 2 });
    await append(topic, 0);
    const read = (id: string, partition: number) =>
      topic.read({ topicId: id, partition, offset: 0, ...READ });
    expect((await read(topicId, 0)).kind).toBe("records");
    // There is no such partition, but that does not mean that records are lost.
    expect((await read(topicId, 7)).kind).toBe("unavailable");
    const admin = new Admin({ clientId: "test", bootstrapBrokers: [...cluster.address().brokers] });
    await admin.deleteTopics({ topics: [address.topic] });
    await admin.close();
    // A topic that does not exist is not another one.
    await expect.poll(() => kindOf(read(topicId, 0)), { timeout: LONG_MS }).toBe("unavailable");
    const other = await openTopic(cluster.address(address.topic));
    await expect.poll(() => created(other), { timeout: LONG_MS }).toBe(true);
    const now = await described(other);
    await append(other, 0);
    await append(other, 0);
    const lost = { kind: "lost", reason: "the topic was replaced" };
    await expect.poll(() => read(topicId, 0), { timeout: LONG_MS }).toEqual(lost);
    await expect.poll(() => read(topicId, 7), { timeout: LONG_MS }).toEqual(lost);
    await expect.poll(() => kindOf(read(now.topicId, 0)), { timeout: LONG_MS }).toBe("records");
    const beyond = await topic.read({ topicId: now.topicId, partition: 0, offset: 99, ...READ });
    expect(beyond).toEqual({ kind: "lost", reason: "its offset is not in the topic" });
  });

  const created = (topic: KafkaTopic) => topic.create({ partitions: 2, replicas: 1, settings: {} });

  test("a record is read at once, also among hundreds of partitions", async () => {
    const partitions = 240;
    const { topic, topicId } = await newTopic({ partitions });
    const delaysMs: number[] = [];
    const ending = new AbortController();
    const arrived = new Map<string, () => void>();
    const follow = async (partition: number) => {
      for (let offset = 0; !ending.signal.aborted; ) {
        const result = await topic.read({ topicId, partition, offset, ...READ });
        if (result.kind !== "records") continue;
        for (const record of result.records) {
          offset = record.offset + 1;
          arrived.get(record.value.toString())?.();
        }
      }
    };
    const following = Array.from({ length: partitions }, (_, partition) => follow(partition));
    for (let n = 0; n < 15; n += 1) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const name = randomUUID();
      arrived.set(name, resolve);
      await append(topic, (n * 31) % partitions, { value: Buffer.from(name) });
      const beganMs = performance.now();
      await promise;
      delaysMs.push(performance.now() - beganMs);
    }
    ending.abort();
    await Promise.all(following);
    delaysMs.sort((one, other) => one - other);
    // A few milliseconds on an idle machine; one long poll after the other takes seconds.
    expect(delaysMs[7]).toBeLessThan(300);
  });

  test("an error of a topic does not mean that it was deleted", async () => {
    const missing = await openTopic(cluster.address());
    expect(await missing.describe()).toBeNull();
    const refused = await openTopic(cluster.address(".."));
    await expect(refused.describe()).rejects.toThrow("error 17");
  });
});

async function kindOf(reading: Promise<ReadResult>): Promise<string> {
  return (await reading).kind;
}

async function readUntil(
  topic: KafkaTopic,
  from: { topicId: string; partition: number },
  last: string,
): Promise<string[]> {
  const values: string[] = [];
  for (let offset = 0; values.at(-1) !== last; ) {
    const result = await topic.read({ ...from, offset, ...READ });
    if (result.kind === "lost") throw new Error(result.reason);
    if (result.kind === "unavailable") continue;
    for (const { offset: own, value } of result.records) {
      values.push(value.toString());
      offset = own + 1;
    }
  }
  return values;
}
