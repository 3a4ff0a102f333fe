// Appends records of a given size to every partition of a topic, again and again, in its own process: with the product's
// code, and with the protocol layer of the client package alone. Both take turns that are so short that a busy moment
// affects both.
import { ConnectionPool, produceV11 } from "@platformatic/kafka";
import { KafkaTopic } from "../../src/lib/kafka.ts";
import type { KafkaAddress } from "../../src/lib/kafka-address.ts";

/** The configuration of the process, its only argument, as JSON. */
export type AppendOrder = {
  address: KafkaAddress;
  partitions: number;
  recordBytes: number;
  /** How long each of them appends. */
  warmUpSeconds: number;
  seconds: number;
};

export type Appended = { records: number; elapsedMs: number; cpuMs: number };
export type BothAppended = { ours: Appended; bare: Appended };

const TURN_MS = 100;

const CONFIRMED_MS_MAX = 10_000;
const ACKS_ALL = -1;

const order = JSON.parse(process.argv[2] ?? "") as AppendOrder;
const numbers = Array.from({ length: order.partitions }, (_, partition) => partition);
const value = Buffer.alloc(order.recordBytes, "abcdefghijklmnopqrstuvwxyz");

type Way = { sendOnce(): Promise<unknown>; close(): Promise<unknown> };

async function ours(): Promise<Way> {
  const topic = await KafkaTopic.open(order.address);
  return {
    sendOnce: () => {
      const giveUpAtMs = performance.now() + CONFIRMED_MS_MAX;
      return Promise.all(numbers.map((partition) => topic.append({ partition, value, giveUpAtMs })));
    },
    close: () => topic.close(),
  };
}

async function bare(): Promise<Way> {
  const { topic, brokers } = order.address;
  const [broker] = brokers;
  if (broker === undefined) throw new Error("there is no broker");
  const pool = new ConnectionPool("bench", { requestTimeout: CONFIRMED_MS_MAX });
  const connection = await pool.get(broker);
  const options = { compression: "none", producerId: -1n, producerEpoch: -1 } as const;
  return {
    sendOnce: () => {
      const messages = numbers.map((partition) => ({ topic, partition, value }));
      return produceV11.api.async(connection, ACKS_ALL, CONFIRMED_MS_MAX, messages, options);
    },
    close: () => pool.close(),
  };
}

const ways = { ours: await ours(), bare: await bare() };

/** Adds a turn of one of them to what it did before. */
async function takeTurn(way: Way, sum: Appended): Promise<void> {
  const beganMs = performance.now();
  const before = process.cpuUsage();
  while (performance.now() < beganMs + TURN_MS) {
    await way.sendOnce();
    sum.records += numbers.length;
  }
  const { user, system } = process.cpuUsage(before);
  sum.elapsedMs += performance.now() - beganMs;
  sum.cpuMs += (user + system) / 1_000;
}

async function append(seconds: number): Promise<BothAppended> {
  const none = () => ({ records: 0, elapsedMs: 0, cpuMs: 0 });
  const both: BothAppended = { ours: none(), bare: none() };
  while (both.ours.elapsedMs < seconds * 1_000) {
    await takeTurn(ways.ours, both.ours);
    await takeTurn(ways.bare, both.bare);
  }
  return both;
}

await append(order.warmUpSeconds);
const appended = await append(order.seconds);
await Promise.all([ways.ours.close(), ways.bare.close()]);
console.log(JSON.stringify(appended));
