// What the log benchmark runs on: a durable PostgreSQL with checks, and a Kafka broker with a topic.
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { topicSettings } from "../../src/core/log.ts";
import { KafkaTopic } from "../../src/lib/kafka.ts";
import type { KafkaAddress } from "../../src/lib/kafka-address.ts";
import { openLog } from "../../src/operations/log.ts";
import { openDatabase } from "../../src/store/db.ts";
import { KafkaCluster } from "../../test/support/kafka-cluster.ts";
import { createPingScale, type PingScale } from "../ping/ping-scale.ts";
import { onEngine } from "../store/engine.ts";
import type { LogSize } from "./sizes.ts";

/** A file system in memory, on Linux. */
const MEMORY_FOLDER = "/dev/shm";
/** Fixed, so that a larger machine does not give it more. */
const JAVA = ["-Xms512m", "-Xmx512m", "-XX:+UseSerialGC"];
const UUID_LINE_LENGTH = 37;
const TOPIC = "overdue";
/**
 * With one broker, every record is written to disk, together with an index of this size. A replicated topic does neither,
 * so both are kept cheap.
 */
const CHEAP_FLUSH = { "segment.index.bytes": "65536" };

export type LogStage = {
  scale: PingScale;
  cluster: KafkaCluster;
  address: KafkaAddress;
  /** For OVERDUE_LOG. */
  url: string;
  /** Some of the UUIDs, one per line. */
  uuidsPath: string;
  /** Of a process of PostgreSQL. */
  sessionPid: number;
  partitions: number;
  /** Bytes of the topic. */
  topicBytes(): Promise<number>;
  /** Another topic of the same kind, which nobody reads. */
  createTopic(name: string): Promise<KafkaAddress>;
};

/** Runs a benchmark on a new stage, which is removed at its end, or when it is interrupted. */
export async function onLogStage<T>(
  size: LogSize,
  whenInterrupted: (cleanUp: () => Promise<void>) => void,
  work: (stage: LogStage) => Promise<T>,
): Promise<T> {
  return onEngine(whenInterrupted, async (engine, folder) => {
    const isInMemory = existsSync(MEMORY_FOLDER);
    const parent = await mkdtemp(join(isInMemory ? MEMORY_FOLDER : tmpdir(), "overdue-bench-"));
    let cluster: KafkaCluster | null = null;
    const cleanUp = async () => {
      await cluster?.stop();
      await rm(parent, { recursive: true, force: true });
    };
    whenInterrupted(cleanUp);
    try {
      console.log(
        isInMemory
          ? "one Kafka broker, data in memory: like a replicated topic, it confirms without waiting for a disk"
          : "one Kafka broker, data on a disk: it waits for the disk for every record, a replicated topic does not",
      );
      cluster = await KafkaCluster.start({ parent, java: JAVA });
      const { checks: checkCount, pingsPerCheck } = size;
      const scale = await createPingScale(engine, { checkCount, pingsPerCheck, folder });
      try {
        return await work(await prepare({ cluster, scale, folder, parent }, size));
      } finally {
        await scale.close();
      }
    } finally {
      await cleanUp();
    }
  });
}

type Prepared = { cluster: KafkaCluster; scale: PingScale; folder: string; parent: string };

async function prepare({ cluster, scale, folder, parent }: Prepared, size: LogSize): Promise<LogStage> {
  const { partitions } = size;
  const createTopic = async (name: string) => {
    const address = cluster.address(name);
    const topic = await KafkaTopic.open(address);
    const settings = { ...topicSettings({ brokers: 1 }), ...CHEAP_FLUSH };
    await topic.create({ partitions, replicas: 1, settings });
    await topic.close();
    return address;
  };
  const address = await createTopic(TOPIC);
  await openEmptyLog(scale.url, address, partitions);
  const uuidsPath = join(folder, "pinged.txt");
  const all = await readFile(scale.uuidsPath, "latin1");
  await writeFile(uuidsPath, all.slice(0, size.pingedChecks * UUID_LINE_LENGTH));
  const { rows } = await scale.admin.query<{ pid: number }>("select pg_backend_pid() as pid");
  return {
    scale,
    cluster,
    address,
    url: cluster.url(TOPIC),
    uuidsPath,
    sessionPid: rows[0]?.pid ?? 0,
    partitions,
    topicBytes: () => bytesOf(parent),
    createTopic,
  };
}

/** As the first edge does. */
async function openEmptyLog(url: string, address: KafkaAddress, partitions: number): Promise<void> {
  const database = openDatabase({ url, applicationName: "overdue-bench", onError: () => {} });
  const topic = await KafkaTopic.open(address);
  const ends = Array.from({ length: partitions }, () => 0);
  await openLog(database, { topicId: (await topic.describe())?.topicId ?? "", ends });
  await topic.close();
  await database.close();
}

async function bytesOf(parent: string): Promise<number> {
  const names = await readdir(parent, { recursive: true });
  const own = names.filter((name) => name.includes(`/${TOPIC}-`) && name.endsWith(".log"));
  const sizes = await Promise.all(own.map(async (name) => (await stat(join(parent, name))).size));
  return sizes.reduce((sum, one) => sum + one, 0);
}
