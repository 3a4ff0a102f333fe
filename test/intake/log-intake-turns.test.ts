// An edge sends the records of its partitions in turns. The log is scripted.
import { setImmediate as immediate } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { signal } from "./scripted-ports.ts";
import { LogIntake } from "../../src/intake/log-intake.ts";
import { decodeRecord } from "../../src/intake/log-record.ts";

/** In partition 0 and in partition 1 of two. */
const FIRST = "6b1e0c36-64fc-4f4b-8f0a-2f5d4a7c9e00";
const SECOND = "6b1e0c36-64fc-4f4b-8f0a-2f5d4a7c9e01";

/** Longer than the edge waits for a partition. */
const WAITED_MS = 100;

beforeEach(() => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => vi.useRealTimers());

/** Lets the edge send what is due. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await immediate();
}

type Sent = { partition: number; signals: number; confirm: () => void };

/** An edge that has entered; its later records are confirmed by the test. */
async function scripted() {
  const sent: Sent[] = [];
  let isEntered = false;
  const intake = new LogIntake({
    newEdge: () => "00000000-0000-4000-8000-000000000001",
    partitions: 2,
    append: ({ partition, value }) => {
      if (!isEntered) return Promise.resolve(0);
      const decoded = decodeRecord(value);
      const { promise, resolve } = Promise.withResolvers<number>();
      const signals = decoded.ok ? decoded.record.signals.length : 0;
      sent.push({ partition, signals, confirm: () => resolve(sent.length) });
      return promise;
    },
    now: () => 1_800_000_000_000,
    // Time stands still, so that there are no heartbeats.
    monotonic: () => 0,
    known: { knows: () => true, remember: () => {}, remove: () => {} },
    find: async () => "unknown",
    create: async () => "unknown",
    refusal: () => null,
    onError: () => {},
  });
  await intake.enter();
  isEntered = true;
  const ping = async (uuid: string) => {
    const accepted = signal("job", { target: { by: "uuid", uuid }, at: intake.now() });
    return (await intake.accept(accepted, { create: false, network: null })).kind;
  };
  const stop = async () => {
    const leaving = intake.leave();
    for (let turn = 0; turn < 5; turn += 1) {
      for (const { confirm } of sent) confirm();
      await settle();
    }
    expect(await leaving).toBe(true);
  };
  return { sent, ping, stop };
}

test("What arrives before a turn is confirmed is sent together in the next one", async () => {
  const { sent, ping, stop } = await scripted();
  const first = ping(FIRST);
  await settle();
  expect(sent).toHaveLength(1);
  const others = Promise.all([SECOND, FIRST].map(ping));
  await settle();
  const last = ping(SECOND);
  await settle();
  expect(sent).toHaveLength(1);
  sent[0]?.confirm();
  expect(await first).toBe("recorded");
  await settle();
  expect(sent.slice(1)).toMatchObject([
    { partition: 0, signals: 1 },
    { partition: 1, signals: 2 },
  ]);
  for (const { confirm } of sent) confirm();
  expect([...(await others), await last]).toEqual(["recorded", "recorded", "recorded"]);
  await stop();
});

test("A partition that is not confirmed does not hold back another one for long", async () => {
  const { sent, ping, stop } = await scripted();
  const hanging = ping(FIRST);
  await settle();
  const other = ping(SECOND);
  await settle();
  vi.advanceTimersByTime(WAITED_MS);
  await settle();
  expect(sent).toMatchObject([{ partition: 0 }, { partition: 1 }]);
  sent[1]?.confirm();
  expect(await other).toBe("recorded");
  sent[0]?.confirm();
  expect(await hanging).toBe("recorded");
  await stop();
});
