// Reading a check waits for the log, but not for long, and not for a Kafka that is away.
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { LogWait, type LogWaitDeps } from "./log-wait.ts";

/** In the second of two partitions. */
const UUID = "6b1e0c36-64fc-4f4b-8f0a-2f5d4a7c9e01";

function scripted(given: Partial<LogWaitDeps> = {}) {
  const clock = { ms: 0 };
  const stored = [
    { partition: 0, topicId: "t", nextOffset: 0, isStopped: false },
    { partition: 1, topicId: "t", nextOffset: 5, isStopped: false },
  ];
  const asked: number[] = [];
  const wait = new LogWait({
    end: async (partition) => {
      asked.push(partition);
      return 7;
    },
    positions: async () => stored.map((one) => ({ ...one })),
    monotonic: () => clock.ms,
    ...given,
  });
  const read = (uuid = UUID) => {
    const state = { isDone: false };
    void wait.forCheck(uuid).then(() => (state.isDone = true));
    return state;
  };
  return { wait, clock, stored, asked, read };
}

async function turns(): Promise<void> {
  for (let count = 0; count < 10; count += 1) await turn();
}

describe("reading a check", () => {
  test("waits until its partition is applied up to where the log ended", async () => {
    const { stored, asked, read } = scripted();
    const state = read();
    await turns();
    expect([asked, state.isDone]).toEqual([[1], false]);
    stored[1] = { partition: 1, topicId: "t", nextOffset: 7, isStopped: false };
    await expect.poll(() => state.isDone, { timeout: 10_000 }).toBe(true);
  });

  test("does not wait longer than half a second", async () => {
    const { wait } = scripted({ monotonic: () => performance.now() });
    const startedMs = performance.now();
    await wait.forCheck(UUID);
    expect(performance.now() - startedMs).toBeGreaterThan(450);
  });

  test("does not wait without partitions, or for one that is stopped", async () => {
    const { wait: empty } = scripted({ positions: async () => [] });
    await expect(empty.forCheck(UUID)).resolves.toBeUndefined();
    const { wait, stored } = scripted();
    stored[1] = { partition: 1, topicId: "t", nextOffset: 5, isStopped: true };
    await expect(wait.forCheck(UUID)).resolves.toBeUndefined();
  });

  test("does not wait for a Kafka that is away, and does not ask it again for a while", async () => {
    let asked = 0;
    const { wait, clock } = scripted({
      end: async () => {
        asked += 1;
        throw new Error("away");
      },
    });
    await wait.forCheck(UUID);
    await wait.forCheck(UUID);
    expect(asked).toBe(1);
    clock.ms += 5_001;
    await wait.forCheck(UUID);
    expect(asked).toBe(2);
  });

  test("a Kafka that does not answer costs one wait, not one for each request", async () => {
    const { wait, clock } = scripted({ end: () => new Promise(() => {}) });
    await wait.forCheck(UUID);
    clock.ms += 500;
    const startedMs = performance.now();
    for (let count = 0; count < 20; count += 1) await wait.forCheck(UUID);
    expect(performance.now() - startedMs).toBeLessThan(5_000);
  });

  test("of more than 100 requests at once, the others do not wait", async () => {
    const { read } = scripted();
    const waiting = Array.from({ length: 100 }, () => read());
    const beyond = read();
    await turns();
    expect([beyond.isDone, waiting.some(({ isDone }) => isDone)]).toEqual([true, false]);
  });

  test("an error of the database is left to the request itself", async () => {
    const { wait } = scripted({ positions: () => Promise.reject(new Error("away")) });
    await expect(wait.forCheck(UUID)).resolves.toBeUndefined();
  });
});
