// What an edge with a scripted log reports: no missing ping raises an alert because it was rejected here.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { scriptedLog, START_AT } from "./scripted-log.ts";
import { LOG_RECORD_BYTES_MAX } from "../../src/core/log.ts";

beforeEach(() => vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }));
afterEach(() => vi.useRealTimers());

const uuids = (records: readonly { attributed: { targets: readonly { target: object }[] } }[]) =>
  records.flatMap(({ attributed }) => attributed.targets.map(({ target }) => target));

describe("a partition that is not confirmed", () => {
  test("has records that fit into the log, however many pings are refused", async () => {
    const { intake, behaviour, tried, uuidIn, send, pass, applied } = scriptedLog();
    await intake.enter();
    behaviour.set(1, "fails");
    for (let round = 0; round < 12; round += 1) {
      const target = (n: number) => ({ by: "uuid" as const, uuid: uuidIn(1, round * 1_000 + n) });
      const answers = Array.from({ length: 1_000 }, (_, n) => send({ target: target(n) }));
      expect(new Set(await Promise.all(answers))).toEqual(new Set(["busy"]));
      await pass(1_000);
    }
    const bytes = tried.map((record) => record.bytes);
    expect(Math.max(...bytes)).toBeLessThan(LOG_RECORD_BYTES_MAX);
    behaviour.clear();
    await pass(2_000);
    // More checks than fit into a record: nothing is believed about any check.
    expect(applied(1).blind[0]).toMatchObject({ from: START_AT, reason: "pings were rejected" });
    await intake.leave();
  });

  test("takes pings again after an empty record, and they are reported in the others meanwhile", async () => {
    const { intake, behaviour, records, tried, uuidIn, send, pass } = scriptedLog();
    await intake.enter();
    const target = { by: "uuid" as const, uuid: uuidIn(1) };
    behaviour.set(1, "fails");
    await pass(6_000);
    records.length = 0;
    tried.length = 0;
    expect(await send({ target })).toBe("busy");
    expect(await send()).toBe("recorded");
    await pass(2_000);
    // Other edges go on in its partition, so the report must not wait for it.
    expect(uuids(records.filter(({ partition }) => partition === 0))).toContainEqual(target);
    expect(tried.filter(({ partition }) => partition === 1).flatMap(({ signals }) => signals)).toEqual([]);
    behaviour.clear();
    expect(await send({ target })).toBe("busy");
    await pass(1_250);
    expect(await send({ target })).toBe("recorded");
    const [first] = records.filter(({ partition }) => partition === 1);
    expect(first).toMatchObject({ kind: "more", signals: [] });
    await intake.leave();
  });

  test("keeps nobody waiting for more than two seconds, however much is queued", async () => {
    const { intake, behaviour, hanging, uuidIn, pass, send, clock } = scriptedLog();
    await intake.enter();
    behaviour.set(1, "hangs");
    const target = { by: "uuid" as const, uuid: uuidIn(1) };
    const body = Buffer.alloc(700_000);
    const answeredMs: number[] = [];
    for (let n = 0; n < 5; n += 1) {
      void send({ target, body }).then((kind) => answeredMs.push(kind === "busy" ? clock.ms : Infinity));
    }
    await pass(1_750);
    for (const { fail } of hanging.splice(0)) fail();
    await pass(250);
    expect(answeredMs).toHaveLength(5);
    expect(Math.max(...answeredMs)).toBeLessThanOrEqual(2_000);
    behaviour.clear();
    for (const { confirm } of hanging.splice(0)) confirm();
    await intake.leave();
  });

  test("holds its watermark until the refused pings are reported", async () => {
    const { intake, behaviour, records, uuidIn, send, pass, clock } = scriptedLog();
    await intake.enter();
    await pass(3_000);
    const target = { by: "uuid" as const, uuid: uuidIn(1) };
    behaviour.set(1, "fails");
    const at = START_AT + clock.ms;
    expect(await send({ target, at })).toBe("busy");
    behaviour.clear();
    await pass(3_000);
    const own = records.filter(({ partition }) => partition === 1);
    const reportedIn = own.findIndex((record) => uuids([record]).length > 0);
    expect(reportedIn).toBeGreaterThan(0);
    for (const { watermarkAt } of own.slice(0, reportedIn)) expect(watermarkAt).toBeLessThan(at);
    expect(own.at(-1)?.watermarkAt).toBeGreaterThan(at);
    await intake.leave();
  });
});

describe("a ping by slug that is refused", () => {
  const target = { by: "slug" as const, pingKey: "0123456789012345678901", slug: "backup" };

  test("is reported in every partition while its check is not known", async () => {
    const { intake, records, send, pass } = scriptedLog({
      find: async () => {
        throw new Error("the database is away");
      },
    });
    await intake.enter();
    records.length = 0;
    expect(await send({ target })).toBe("busy");
    await pass(1_000);
    for (const number of [0, 1]) {
      expect(uuids(records.filter(({ partition }) => partition === number))).toEqual([target]);
    }
    await intake.leave();
  });

  test("is reported by UUID in the partition of its check if it is known", async () => {
    const uuid = "00000000-0000-4000-8000-000000000001";
    const { intake, behaviour, records, send, pass } = scriptedLog({ find: async () => ({ uuid }) });
    await intake.enter();
    records.length = 0;
    behaviour.set(1, "fails");
    expect(await send({ target })).toBe("busy");
    behaviour.clear();
    await pass(2_000);
    expect(uuids(records)).toEqual([{ by: "uuid", uuid }]);
    expect(records.find((record) => uuids([record]).length > 0)?.partition).toBe(1);
    await intake.leave();
  });
});

describe("the goodbye of an edge", () => {
  test("reports what was refused until then, also by the last records", async () => {
    const { intake, behaviour, records, hanging, send, uuidIn, settle } = scriptedLog();
    await intake.enter();
    behaviour.set(1, "hangs");
    const target = { by: "uuid" as const, uuid: uuidIn(1) };
    const answer = send({ target });
    await settle();
    // It may have been for any check, and the time has not ended.
    intake.refused({ at: intake.now(), target: null, network: null });
    const leaving = intake.leave();
    await settle();
    behaviour.clear();
    for (const { fail } of hanging) fail();
    expect(await leaving).toBe(true);
    expect(await answer).toBe("busy");
    for (const number of [0, 1]) {
      const last = records.findLast(({ partition }) => partition === number);
      expect(last).toMatchObject({ kind: "leave", refused: [{ from: START_AT, to: START_AT }] });
    }
    expect(uuids(records)).toEqual([target]);
  });

  test("follows a registration that was confirmed in some partitions only", async () => {
    const { intake, behaviour, records } = scriptedLog();
    behaviour.set(1, "fails");
    await expect(intake.enter()).rejects.toThrow("did not confirm the registration");
    expect(records.map(({ partition, kind }) => [partition, kind])).toEqual([
      [0, "enter"],
      [0, "leave"],
    ]);
  });

  test("is the last record, also after a pause", async () => {
    const { intake, records, clock, pass, behaviour, hanging, settle } = scriptedLog();
    await intake.enter();
    clock.ms += 6_000;
    behaviour.set(0, "hangs").set(1, "hangs");
    await pass(250);
    const leaving = intake.leave();
    behaviour.clear();
    for (const { confirm } of hanging) confirm();
    expect(await leaving).toBe(true);
    const count = records.length;
    await pass(5_000);
    await settle();
    expect(records.length).toBe(count);
    for (const number of [0, 1])
      expect(records.findLast(({ partition }) => partition === number)?.kind).toBe("leave");
  });
});
