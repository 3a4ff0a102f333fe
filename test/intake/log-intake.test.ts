// An edge with a scripted log: what it appends, and when it answers.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { signal } from "./scripted-ports.ts";
import type { HttpAction } from "../../src/core/signal.ts";
import { LogIntake } from "../../src/intake/log-intake.ts";
import { type DecodedRecord, decodeRecord } from "../../src/intake/log-record.ts";

const UUID = "6b1e0c36-64fc-4f4b-8f0a-2f5d4a7c9e01";
const START_MS = 1_800_000_000_000;

beforeEach(() => vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }));
afterEach(() => vi.useRealTimers());

/** An edge whose clock the test moves. */
function scripted({ partitions = 2 } = {}) {
  const clock = { ms: 0 };
  const records: Extract<DecodedRecord, { ok: true }>["record"][] = [];
  let edges = 0;
  const intake = new LogIntake({
    newEdge: () => {
      edges += 1;
      return `00000000-0000-4000-8000-${String(edges).padStart(12, "0")}`;
    },
    partitions,
    append: async ({ value }) => {
      const decoded = decodeRecord(value);
      if (decoded.ok) records.push(decoded.record);
      return records.length;
    },
    now: () => START_MS + clock.ms,
    monotonic: () => clock.ms,
    known: { knows: () => true, remember: () => {}, remove: () => {} },
    find: async () => "unknown",
    create: async () => "unknown",
    refusal: () => null,
    onError: () => {},
  });
  const send = async (action: HttpAction = "success", given: { body?: Buffer | null } = {}) => {
    const sent = signal("job", {
      target: { by: "uuid", uuid: UUID },
      source: { by: "http", action, method: "GET" },
      body: null,
      at: intake.now(),
      ...given,
    });
    return (await intake.accept(sent, { create: false, network: null })).kind;
  };
  return { intake, records, clock, send };
}

describe("an edge that did not run for more than five seconds", () => {
  test("answers nothing before it has entered every partition again", async () => {
    const { intake, records, clock, send } = scripted();
    await intake.enter();
    expect(await send()).toBe("recorded");
    clock.ms += 6_000;
    // Before its timer runs.
    expect(await send()).toBe("busy");
    records.length = 0;
    vi.advanceTimersByTime(250);
    await vi.waitFor(async () => expect(await send()).toBe("recorded"));
    const [first] = records;
    expect(first).toMatchObject({ kind: "enter", n: 1, edge: expect.stringMatching(/2$/) });
    expect(new Set(records.map(({ edge }) => edge)).size).toBe(1);
    // The time is reported in every partition, so that a missing ping raises no alert.
    const entered = records.filter(({ kind }) => kind === "enter");
    expect(entered).toHaveLength(2);
    for (const { refused } of entered) {
      expect(refused).toContainEqual({ from: START_MS, to: START_MS + 6_000 });
    }
    await intake.leave();
  });
});

describe("more than 100 pings of a check within a second", () => {
  test("are acknowledged; starts, failures and pings with a body are appended, too", async () => {
    const { intake, records, send } = scripted();
    await intake.enter();
    const answers = await Promise.all(Array.from({ length: 150 }, () => send()));
    const others = await Promise.all([
      send("start"),
      send("fail"),
      send({ exitStatus: 1 }),
      send("success", { body: Buffer.from("x") }),
    ]);
    expect(new Set([...answers, ...others])).toEqual(new Set(["recorded"]));
    const signals = records.flatMap((record) => record.signals);
    expect(signals).toHaveLength(104);
    expect(intake.state()).toMatchObject({ takenCount: 154, thinnedCount: 50 });
    expect(signals.slice(100).map(({ source }) => source.by === "http" && source.action)).toEqual([
      "start",
      "fail",
      { exitStatus: 1 },
      "success",
    ]);
    await intake.leave();
  });
});
