// Appends records of a given size to every partition of a topic, again and again, in its own process: with the product's
// code, or with the protocol layer of the client package alone.
import { ConnectionPool, produceV11 } from "@platformatic/kafka";
import { KafkaTopic } from "../../src/lib/kafka.ts";
import type { KafkaAddress } from "../../src/lib/kafka-address.ts";

/** The configuration of the process, its only argument, as JSON. */
export type AppendOrder = {
  by: "ours" | "bare";
  address: KafkaAddress;
  partitions: number;
  recordBytes: number;
  warmUpSeconds: number;
  seconds: number;
};

export type Appended = { records: number; elapsedMs: number; cpuMs: number };

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

const way = await (order.by === "ours" ? ours() : bare());

async function send(seconds: number): Promise<Appended> {
  const beganMs = performance.now();
  const before = process.cpuUsage();
  let records = 0;
  while (performance.now() < beganMs + seconds * 1_000) {
    await way.sendOnce();
    records += numbers.length;
  }
  const { user, system } = process.cpuUsage(before);
  return { records, elapsedMs: performance.now() - beganMs, cpuMs: (user + system) / 1_000 };
}

await send(order.warmUpSeconds);
const appended = await send(order.seconds);
await way.close();
console.log(JSON.stringify(appended));
