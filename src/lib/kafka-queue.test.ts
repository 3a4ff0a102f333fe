// Requests per leader: one at a time, with everything that waits.
import { expect, test } from "vitest";
import { KafkaQueue, type Leaders } from "./kafka-queue.ts";

type Item = { partition: number; bytes: number };

const BROKERS = new Map([1, 2].map((id) => [id, { host: `broker-${id}`, port: 9092 }]));

/** Even partitions are led by broker 1, odd ones by broker 2; those from 100 on have no leader. */
function scripted() {
  const numbers = Array.from({ length: 10 }, (_, partition) => partition);
  const leaders: Leaders = {
    topicId: "topic",
    brokers: BROKERS,
    leaderOf: new Map(numbers.map((partition) => [partition, 1 + (partition % 2)])),
    epochOf: new Map(),
  };
  const sent: { host: string; partitions: number[]; end: (error?: Error) => void }[] = [];
  const failed: { partitions: number[]; error: unknown }[] = [];
  const partitionsOf = (items: readonly Item[]) => items.map(({ partition }) => partition);
  const queue = new KafkaQueue<Item>({
    leaders: async () => leaders,
    gatherMs: 0,
    bytesMax: 100,
    bytesOf: ({ bytes }) => bytes,
    send: ({ host }, items) =>
      new Promise((resolve, reject) => {
        const end = (error?: Error) => (error === undefined ? resolve() : reject(error));
        sent.push({ host, partitions: partitionsOf(items), end });
      }),
    fail: (items, error) => failed.push({ partitions: partitionsOf(items), error }),
  });
  const add = (...partitions: number[]) => {
    const items = partitions.map((partition) => ({ partition, bytes: 40 }));
    queue.add(items);
    return items;
  };
  const shown = () => sent.map(({ host, partitions }) => [host, ...partitions]);
  return { queue, add, sent, shown, failed };
}

/** A leader that is no longer busy gets what waits after the current phase of the event loop. */
const turn = async () => {
  for (let phase = 0; phase < 2; phase += 1) await new Promise((resolve) => setImmediate(resolve));
};

test("a leader gets one request at a time; one that hangs delays no other", async () => {
  const { queue, add, sent, shown } = scripted();
  add(0);
  add(1);
  await turn();
  expect(shown()).toEqual([
    ["broker-1", 0],
    ["broker-2", 1],
  ]);
  const [given] = add(2);
  add(0, 3);
  await turn();
  expect(sent).toHaveLength(2);
  expect([1, 2].map((leader) => queue.isBusy(leader))).toEqual([true, true]);
  sent[1]?.end();
  await turn();
  expect(shown().slice(2)).toEqual([["broker-2", 3]]);
  sent[2]?.end();
  await turn();
  expect([1, 2].map((leader) => queue.isBusy(leader))).toEqual([true, false]);
  // It was given up while its leader did not answer, so nothing of it is left.
  if (given !== undefined) queue.delete(given);
  sent[0]?.end();
  await turn();
  expect(shown().slice(3)).toEqual([["broker-1", 0]]);
});

test("a request has one item of a partition, and a bounded size", async () => {
  const { add, sent, shown } = scripted();
  add(0, 0, 2, 4, 6);
  await turn();
  sent[0]?.end();
  await turn();
  sent[1]?.end();
  await turn();
  expect(shown()).toEqual([
    ["broker-1", 0, 2],
    ["broker-1", 0, 4],
    ["broker-1", 6],
  ]);
});

test("items of a failed request, and of a partition without a leader, are returned", async () => {
  const { add, sent, failed } = scripted();
  add(0, 100);
  await turn();
  expect(failed).toEqual([{ partitions: [100], error: null }]);
  const error = new Error("no connection");
  sent[0]?.end(error);
  await turn();
  expect(failed[1]).toEqual({ partitions: [0], error });
});
