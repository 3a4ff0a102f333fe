import { expect, test } from "vitest";
import { ConcurrencyByKey } from "./concurrency-by-key.ts";

const SOON = { withinMs: 10_000 };

function begun(limits: Partial<ConstructorParameters<typeof ConcurrencyByKey>[0]> = {}) {
  const concurrency = new ConcurrencyByKey({ runningMax: 3, perKeyMax: 2, waitingPerKeyMax: 5, ...limits });
  const order: string[] = [];
  const ends: (() => void)[] = [];
  const begin = async (key: string, name: string, limit = SOON) => {
    const end = await concurrency.begin(key, limit);
    order.push(end === null ? `${name} refused` : name);
    if (end !== null) ends.push(end);
  };
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return { order, ends, begin, settle };
}

test("one key leaves room for another, however many of its calls wait", async () => {
  const { order, begin, settle } = begun();
  for (let n = 1; n <= 5; n += 1) void begin("greedy", `greedy ${n}`);
  void begin("other", "other");
  await settle();
  expect(order).toEqual(["greedy 1", "greedy 2", "other"]);
});

test("keys take turns as calls end", async () => {
  const { order, ends, begin, settle } = begun({ runningMax: 1 });
  for (let n = 1; n <= 3; n += 1) void begin("greedy", `greedy ${n}`);
  void begin("other", "other 1");
  void begin("other", "other 2");
  await settle();
  for (let round = 0; round < 4; round += 1) {
    ends.shift()?.();
    await settle();
  }
  expect(order).toEqual(["greedy 1", "greedy 2", "other 1", "greedy 3", "other 2"]);
});

test("too many waiting calls are rejected immediately, and those whose wait times out", async () => {
  const { order, begin, settle } = begun({ waitingPerKeyMax: 1, perKeyMax: 1 });
  void begin("a", "first");
  const late = begin("a", "late", { withinMs: 20 });
  void begin("a", "third");
  await settle();
  expect(order).toEqual(["first", "third refused"]);
  await late;
  expect(order).toEqual(["first", "third refused", "late refused"]);
});
