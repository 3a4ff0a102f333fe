// An edge with a scripted log: what it appends, and when it answers.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { scriptedLog } from "./scripted-log.ts";

beforeEach(() => vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }));
afterEach(() => vi.useRealTimers());

const http = (action: "success" | "start" | "fail" | "log" | { exitStatus: number }, method = "GET") => ({
  source: { by: "http" as const, action, method },
});

describe("more than 100 pings of a check within a second", () => {
  test("are acknowledged; all but plain successes are appended, too", async () => {
    const { intake, records, send } = scriptedLog();
    await intake.enter();
    const answers = await Promise.all(Array.from({ length: 150 }, () => send()));
    const others = await Promise.all([
      send({ body: Buffer.from("x") }),
      send({ rid: "00000000-0000-4000-8000-000000000009" }),
      send({ lateEnd: { endedAt: 5, ranMs: null } }),
      send(http("start")),
      send(http("fail")),
      send(http({ exitStatus: 1 })),
    ]);
    expect(new Set([...answers, ...others])).toEqual(new Set(["recorded"]));
    expect(records.flatMap((record) => record.signals)).toHaveLength(106);
    expect(intake.state()).toMatchObject({ takenCount: 156, thinnedCount: 50 });
    await intake.leave();
  });

  test.each([
    ["a failure", http("fail")],
    ["messages", http("log")],
    ["a ping with another method, which may be ignored", http("success", "HEAD")],
  ])("count from the last other one: a success after %s is appended", async (_, other) => {
    const { intake, records, send } = scriptedLog();
    await intake.enter();
    await Promise.all(Array.from({ length: 101 }, () => send()));
    await Promise.all(Array.from({ length: 101 }, () => send({ ...other, body: Buffer.from("x") })));
    await send({ ...other, ua: "other" });
    await send({ ua: "last" });
    const uas = records.flatMap((record) => record.signals.map(({ ua }) => ua));
    expect(uas.slice(-2)).toEqual(["other", "last"]);
    await intake.leave();
  });

  test("are refused if the last one that was appended is not confirmed", async () => {
    const { intake, behaviour, send, records } = scriptedLog({ partitions: 1 });
    await intake.enter();
    behaviour.set(0, "fails");
    const answers = await Promise.all(Array.from({ length: 105 }, () => send()));
    expect(answers.filter((kind) => kind === "recorded")).toEqual([]);
    expect(intake.state()).toMatchObject({ takenCount: 0, refusedCount: 105 });
    behaviour.clear();
    await intake.leave();
    expect(records.at(-1)?.attributed.targets).toHaveLength(1);
  });
});
