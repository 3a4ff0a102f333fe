// An edge with a scripted log: what it appends, and when it answers.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { scriptedLog } from "./scripted-log.ts";

beforeEach(() => vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }));
afterEach(() => vi.useRealTimers());

const turn = () => new Promise((resolve) => setImmediate(resolve));

const http = (action: "success" | "start" | "fail" | "log" | { exitStatus: number }, method = "GET") => ({
  source: { by: "http" as const, action, method },
});

test("while a leader has not answered, pings are gathered in one record of each of its partitions", async () => {
  const busy = new Set<number>();
  const { intake, behaviour, hanging, records, send, uuidIn } = scriptedLog({
    isBusy: (one) => busy.has(one),
  });
  const sendTo = (partition: number) => send({ target: { by: "uuid", uuid: uuidIn(partition) } });
  await intake.enter();
  behaviour.set(0, "hangs");
  const first = sendTo(0);
  await turn();
  busy.add(0).add(1);
  const others = [sendTo(1)];
  await turn();
  others.push(sendTo(1), sendTo(1));
  await turn();
  expect(records.filter(({ kind }) => kind === "more")).toEqual([]);
  busy.clear();
  hanging[0]?.confirm();
  expect(await Promise.all([first, ...others])).toEqual(Array.from({ length: 4 }, () => "recorded"));
  const sizes = records.filter(({ kind }) => kind === "more").map(({ signals }) => signals.length);
  expect(sizes).toEqual([1, 3]);
  behaviour.clear();
  await intake.leave();
});

test("pings are sent when a leader has answered, although none of its records was settled", async () => {
  let isBusy = true;
  const { intake, send } = scriptedLog({ isBusy: () => isBusy });
  await intake.enter();
  const answer = send();
  await turn();
  isBusy = false;
  intake.noteIdle();
  expect(await answer).toBe("recorded");
  await intake.leave();
});

test("a record that failed at once is not sent again before the next tick", async () => {
  const { intake, behaviour, tried, settle, pass } = scriptedLog({ partitions: 1 });
  await intake.enter();
  behaviour.set(0, "fails");
  const before = tried.length;
  intake.listen();
  await settle();
  expect(tried.length - before).toBe(1);
  await pass(500);
  expect(tried.length - before).toBe(3);
  behaviour.clear();
  await intake.leave();
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
