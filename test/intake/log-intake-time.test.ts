// When the watermark of an edge with a scripted log moves: never past pings that it may not have received.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { scriptedLog, START_AT } from "./scripted-log.ts";

beforeEach(() => vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }));
afterEach(() => vi.useRealTimers());

describe("a process that did not run", () => {
  test.each([
    ["because it was stopped", { ms: 6_000, aheadMs: 0 }],
    ["because the machine was suspended, or the database's clock was set", { ms: 0, aheadMs: 600_000 }],
  ])("%s reports the time, and takes pings after records are confirmed", async (_, by) => {
    const { intake, clock, records, applied, pass, send } = scriptedLog();
    await intake.enter();
    await pass(2_000);
    const from = intake.now();
    clock.ms += by.ms;
    clock.aheadMs += by.aheadMs;
    const to = intake.now();
    records.length = 0;
    // Before its timer runs.
    const answer = send();
    expect(await answer).toBe("busy");
    await pass(1_500);
    expect(await send()).toBe("recorded");
    for (const partition of [0, 1]) {
      const own = records.filter((one) => one.partition === partition);
      expect(own[0]).toMatchObject({ signals: [], refused: [{ from }] });
      const [blind] = applied(partition, from).blind;
      expect(blind?.from).toBeLessThanOrEqual(from);
      expect(blind?.to).toBeGreaterThanOrEqual(to);
    }
    await intake.leave();
  });

  test("for two seconds holds the watermark until what is in the sockets was read", async () => {
    const { intake, clock, records, pass, send } = scriptedLog();
    await intake.enter();
    await pass(2_000);
    const from = intake.now();
    clock.ms += 2_000;
    records.length = 0;
    // The first ping that is read from a socket.
    expect(await send()).toBe("recorded");
    for (const record of records) expect(record).toMatchObject({ watermarkAt: from - 1_000, refused: [] });
    await pass(1_500);
    expect(records.at(-1)?.watermarkAt).toBeGreaterThan(from);
    await intake.leave();
  });
});

test("a pause while records are made does not move their watermarks", async () => {
  let pausedMs = 0;
  let readings = Number.NEGATIVE_INFINITY;
  const { intake, records, send } = scriptedLog({
    now: () => {
      readings += 1;
      // After the check for pauses.
      if (readings === 2) pausedMs = 2_500;
      return START_AT + pausedMs;
    },
  });
  await intake.enter();
  readings = 0;
  expect(await send({ at: START_AT })).toBe("recorded");
  const [record] = records.filter(({ signals }) => signals.length > 0);
  expect(record).toMatchObject({ at: START_AT + 2_500, watermarkAt: START_AT - 1_000 });
  await intake.leave();
});

describe("while the port is closed", () => {
  test("the watermark waits for the start, and a long one is reported if no other edge listens", async () => {
    const { intake, records, pass, applied } = scriptedLog();
    await intake.enter({ isListening: false });
    await pass(10_000);
    for (const { watermarkAt } of records) expect(watermarkAt).toBe(START_AT - 1_000);
    intake.listen();
    await pass(2_000);
    expect(records.at(-1)?.watermarkAt).toBeGreaterThan(START_AT + 10_000);
    for (const partition of [0, 1]) {
      expect(applied(partition).blind).toEqual([
        { from: START_AT - 5_000, to: START_AT + 10_000, reason: "no process received pings" },
      ]);
    }
    await intake.leave();
  });

  test("a quick start leaves no gap", async () => {
    const { intake, pass, applied } = scriptedLog();
    await intake.enter({ isListening: false });
    await pass(1_000);
    intake.listen();
    await pass(5_000);
    expect(applied(0)).toMatchObject({ blind: [], watermarkAt: START_AT + 5_000 });
    await intake.leave();
  });

  test("the watermark stays where it was closed, while the last requests are answered", async () => {
    const { intake, pass, applied, send } = scriptedLog();
    await intake.enter();
    await pass(3_000);
    const closedAt = intake.now();
    intake.stopListening();
    await pass(5_000);
    expect(await send()).toBe("recorded");
    await intake.leave();
    for (const partition of [0, 1]) expect(applied(partition).watermarkAt).toBe(closedAt - 1_000);
  });
});

describe("a ping whose check has to be looked up", () => {
  const target = { by: "slug" as const, pingKey: "0123456789012345678901", slug: "backup" };
  const uuid = "00000000-0000-4000-8000-000000000001";

  test("keeps its receive time, and the watermark waits for it", async () => {
    const found = Promise.withResolvers<{ uuid: string }>();
    const { intake, records, pass, send, applied } = scriptedLog({ find: () => found.promise });
    await intake.enter();
    await pass(2_000);
    const at = intake.now();
    const answer = send({ target, at });
    await pass(3_000);
    for (const partition of [0, 1]) expect(applied(partition).watermarkAt).toBeLessThan(at);
    found.resolve({ uuid });
    expect(await answer).toBe("recorded");
    expect(records.flatMap(({ signals }) => signals)).toMatchObject([{ at, target: { by: "uuid", uuid } }]);
    await pass(2_000);
    for (const partition of [0, 1]) expect(applied(partition).watermarkAt).toBeGreaterThan(at);
    await intake.leave();
  });
});
