// Recording a batch: what the database contains afterwards, that a number is applied once, that invalid signals block
// no others, and that several intakes at once neither deadlock nor miscount.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { MINUTE_MS } from "../../src/core/instant.ts";
import type { AcceptedSignal } from "../../src/core/signal.ts";
import { recordSignals } from "../../src/operations/record-signals.ts";
import { findCheckByUuid, lockStates, markCheckDeleted, updateCheck } from "../../src/store/checks.ts";
import { OutOfTimeError } from "../../src/store/errors.ts";
import { listEvents } from "../../src/store/events.ts";
import { listFlips } from "../../src/store/flips.ts";
import { registerIntake } from "../../src/store/intakes.ts";
import { findBody, listPings } from "../../src/store/pings.ts";
import { listRejectedSignals } from "../../src/store/quarantine.ts";
import { listPackedRuns } from "../../src/store/runs.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();

const OPTIONS = {
  visibility: { watermarkAt: null, blind: [] },
  rules: { ratePerMinute: 0 },
  replayed: false,
  pingLogRows: 100,
  encode: ({ ua }: AcceptedSignal) => Buffer.from(ua),
};

async function newIntake(): Promise<string> {
  const id = randomUUID();
  await inTransaction(database.db, (tx) =>
    registerIntake(tx, {
      id,
      name: "test",
      startedAt: MONDAY_NOON,
      watermarkAt: MONDAY_NOON,
      leaseUntilAt: MONDAY_NOON,
      spoolEmpty: true,
    }),
  );
  return id;
}

function signal(uuid: string, given: Partial<AcceptedSignal> = {}): AcceptedSignal {
  return {
    target: { by: "uuid", uuid },
    source: { by: "http", action: "success", method: "GET" },
    rid: null,
    exitStatus: null,
    scheme: "http",
    remoteAddr: "127.0.0.1",
    ua: "test",
    body: null,
    at: MONDAY_NOON,
    ...given,
  };
}

async function newCheck() {
  const project = await sampleProject(database.db);
  return sampleCheck(database.db, { projectId: project.id });
}

async function logOf(checkId: number) {
  return listPings(database.db, { checkId, afterN: 0, limit: 1_000 });
}

describe("a batch", () => {
  test("moves the state, logs each signal with its body, and writes the flip", async () => {
    const check = await newCheck();
    const intakeId = await newIntake();
    const body = Buffer.from([0, 255, 10]);
    const signals = [
      signal(check.uuid, { source: { by: "http", action: "start", method: "POST" } }),
      signal(check.uuid, {
        at: MONDAY_NOON + 5_000,
        body,
        source: { by: "http", action: { exitStatus: 3 }, method: "POST" },
        exitStatus: 3,
      }),
    ];
    const result = await recordSignals(database.db, { intakeId, lane: 0, seq: 1, signals }, OPTIONS);
    expect(result).toEqual(["recorded", "recorded"]);
    const pings = await logOf(check.id);
    expect(pings.map(({ n, kind, exitStatus, durationMs }) => ({ n, kind, exitStatus, durationMs }))).toEqual(
      [
        { n: 2, kind: "fail", exitStatus: 3, durationMs: 5_000 },
        { n: 1, kind: "start", exitStatus: null, durationMs: null },
      ],
    );
    expect((await findBody(database.db, { checkId: check.id, n: 2 }))?.body).toEqual(body);
    const flips = await listFlips(database.db, { checkId: check.id });
    expect(flips).toMatchObject([{ from: "new", to: "down", reason: "fail", at: MONDAY_NOON + 5_000 }]);
    const stored = await findCheckByUuid(database.db, check.uuid);
    expect(stored?.state).toMatchObject({ status: "down", pingCount: 2, lastStartAt: null });
    expect(stored?.today).toMatchObject({ failCount: 1, timedCount: 1, durationSumMs: 5_000 });
  });

  test("is applied once, however often its number is given", async () => {
    const check = await newCheck();
    const batch = { intakeId: await newIntake(), lane: 0, seq: 1, signals: [signal(check.uuid)] };
    expect(await recordSignals(database.db, batch, OPTIONS)).toEqual(["recorded"]);
    expect(await recordSignals(database.db, batch, OPTIONS)).toBe("applied before");
    expect(await logOf(check.id)).toHaveLength(1);
  });

  test("is not taken for applied when batches before it, or its intake, are not there", async () => {
    const check = await newCheck();
    const intakeId = await newIntake();
    const record = (id: string, seq: number) =>
      recordSignals(database.db, { intakeId: id, lane: 0, seq, signals: [signal(check.uuid)] }, OPTIONS);
    expect(await record(intakeId, 2)).toBe("out of sequence");
    expect(await record(randomUUID(), 1)).toBe("out of sequence");
    expect(await record(intakeId, 1)).toEqual(["recorded"]);
    expect(await record(intakeId, 2)).toEqual(["recorded"]);
    expect(await logOf(check.id)).toHaveLength(2);
  });

  test("keeps what cannot be read any more with its reason, once", async () => {
    const check = await newCheck();
    const intakeId = await newIntake();
    const unreadable = [{ at: MONDAY_NOON, reason: "cut off", bytes: Buffer.from([1, 2, 3]) }];
    const record = () =>
      recordSignals(
        database.db,
        { intakeId, lane: 0, seq: 1, signals: [signal(check.uuid)] },
        { ...OPTIONS, unreadable },
      );
    expect(await record()).toEqual(["recorded"]);
    expect(await record()).toBe("applied before");
    const rejected = (await listRejectedSignals(database.db, 100)).filter((one) => one.intakeId === intakeId);
    expect(rejected).toMatchObject([{ seq: 1, reason: "unreadable: cut off", signal: unreadable[0]?.bytes }]);
  });

  test("waits for a locked check, as long as there is time", async () => {
    const check = await newCheck();
    const batch = { intakeId: await newIntake(), lane: 0, seq: 1, signals: [signal(check.uuid)] };
    const held = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const holding = inTransaction(database.db, async (tx) => {
      await lockStates(tx, [check.id]);
      held.resolve();
      await released.promise;
    });
    await held.promise;
    const within = (ms: number) => ({ ...OPTIONS, giveUpAtMs: performance.now() + ms });
    await expect(recordSignals(database.db, batch, within(300))).rejects.toThrow(OutOfTimeError);
    const second = recordSignals(database.db, batch, within(20_000));
    // Longer than one lock timeout.
    await sleep(700);
    released.resolve();
    expect(await second).toEqual(["recorded"]);
    await holding;
    expect(await logOf(check.id)).toHaveLength(1);
  });

  test("distinguishes unknown, deleted and ambiguous targets and records the rest", async () => {
    const project = await sampleProject(database.db);
    const { id: projectId, pingKey } = project;
    if (pingKey === null) throw new Error("the sample has a ping key");
    const gone = await sampleCheck(database.db, { projectId });
    await inTransaction(database.db, (tx) => markCheckDeleted(tx, { checkId: gone.id, at: MONDAY_NOON }));
    const one = await sampleCheck(database.db, { projectId, slug: "one" });
    await sampleCheck(database.db, { projectId, slug: "twin" });
    await sampleCheck(database.db, { projectId, slug: "twin" });
    const by = (slug: string) => signal("", { target: { by: "slug", pingKey, slug } });
    const signals = [signal(randomUUID()), signal(gone.uuid), by("one"), by("twin"), by("none")];
    const result = await recordSignals(
      database.db,
      { intakeId: await newIntake(), lane: 0, seq: 1, signals },
      OPTIONS,
    );
    expect(result).toEqual(["unknown", "unknown", "recorded", "ambiguous", "unknown"]);
    expect(await logOf(one.id)).toHaveLength(1);
  });

  test("classifies by the settings of the moment, with bytes that are no text", async () => {
    const check = await newCheck();
    await inTransaction(database.db, (tx) =>
      updateCheck(tx, {
        checkId: check.id,
        patch: { filterHttpBody: true, failureKw: "ERROR", methods: "" },
        at: MONDAY_NOON,
      }),
    );
    const body = Buffer.concat([Buffer.from([0xff, 0xc3]), Buffer.from(" ERROR")]);
    const signals = [signal(check.uuid, { body }), signal(check.uuid)];
    await recordSignals(database.db, { intakeId: await newIntake(), lane: 0, seq: 1, signals }, OPTIONS);
    expect((await logOf(check.id)).map(({ kind }) => kind)).toEqual(["ign", "fail"]);
  });

  test("quarantines an invalid signal with its reason and records the others", async () => {
    const check = await newCheck();
    const poison = signal(check.uuid, { ua: "nul \u0000 here", at: MONDAY_NOON + 1 });
    const signals = [signal(check.uuid), poison, signal(check.uuid, { at: MONDAY_NOON + 2 })];
    const intakeId = await newIntake();
    const result = await recordSignals(database.db, { intakeId, lane: 0, seq: 1, signals }, OPTIONS);
    expect(result).toEqual(["recorded", "rejected", "recorded"]);
    expect((await logOf(check.id)).map(({ n }) => n)).toEqual([2, 1]);
    const [rejected] = await listRejectedSignals(database.db, 1);
    expect(rejected).toMatchObject({ intakeId, seq: 1, at: MONDAY_NOON + 1 });
    expect(rejected?.reason).toMatch(/0x00/);
  });

  test("isolates what the database refuses, and refuses what our own code fails on", async () => {
    const check = await newCheck();
    const signals = Array.from({ length: 60 }, (_, index) =>
      signal(check.uuid, {
        ua: index === 7 || index === 41 ? "nul \u0000" : "fine",
        // Not a time: our own code fails on it before the database can reject it.
        at: index === 23 ? Number.NaN : MONDAY_NOON + index,
      }),
    );
    const intakeId = await newIntake();
    const result = await recordSignals(database.db, { intakeId, lane: 0, seq: 1, signals }, OPTIONS);
    const results = typeof result === "string" ? [] : result;
    const indexesOf = (wanted: string) => results.flatMap((one, index) => (one === wanted ? [index] : []));
    expect(indexesOf("rejected")).toEqual([7, 41]);
    // Its sender still waits, so nothing is acknowledged and nothing is stored.
    expect(indexesOf("failed")).toEqual([23]);
    expect((await logOf(check.id)).map(({ n }) => n)[0]).toBe(57);
    const kept = (await listRejectedSignals(database.db, 100)).filter((one) => one.intakeId === intakeId);
    expect(kept.map(({ checkId }) => checkId)).toEqual([check.id, check.id]);
  });

  test("retries an acknowledged batch before it quarantines signals that our own code fails on", async () => {
    const check = await newCheck();
    const faults: unknown[] = [];
    const bad = signal(check.uuid, { at: Number.NaN });
    const batch = { intakeId: await newIntake(), lane: 0, seq: 1, signals: [signal(check.uuid), bad] };
    const options = { ...OPTIONS, replayed: true, onFault: (error: unknown) => void faults.push(error) };
    await expect(recordSignals(database.db, batch, options)).rejects.toThrow(Error);
    expect(await logOf(check.id)).toEqual([]);
    const result = await recordSignals(database.db, batch, { ...options, quarantinesFailed: true });
    expect(result).toEqual(["recorded", "rejected"]);
    expect(faults).toHaveLength(1);
    expect((await listRejectedSignals(database.db, 1))[0]).toMatchObject({ checkId: check.id, seq: 1 });
  });

  test("trims the log every hundredth ping, and keeps what left it as runs and the last success's body", async () => {
    const check = await newCheck();
    const intakeId = await newIntake();
    const many = (from: number, count: number) =>
      Array.from({ length: count }, (_, index) =>
        signal(check.uuid, {
          at: MONDAY_NOON + (from + index) * MINUTE_MS,
          body: Buffer.from(`body ${from + index + 1}`),
          source: { by: "http", action: from + index === 0 ? "success" : "log", method: "POST" },
        }),
      );
    const options = { ...OPTIONS, pingLogRows: 50 };
    await recordSignals(database.db, { intakeId, lane: 0, seq: 1, signals: many(0, 99) }, options);
    expect(await logOf(check.id)).toHaveLength(99);
    await recordSignals(database.db, { intakeId, lane: 0, seq: 2, signals: many(99, 1) }, options);
    const kept = await logOf(check.id);
    expect([kept.length, kept.at(-1)?.n]).toEqual([50, 51]);
    expect(await findBody(database.db, { checkId: check.id, n: 1 })).not.toBeNull();
    expect(await findBody(database.db, { checkId: check.id, n: 2 })).toBeNull();
    const runs = await listPackedRuns(database.db, { checkId: check.id, from: 0, limit: 100 });
    expect(runs).toEqual([{ endAt: MONDAY_NOON, outcome: "success", durationMs: null }]);
  });

  test("leaves a note in the history when a deadline passed unseen", async () => {
    const check = await newCheck();
    const intakeId = await newIntake();
    await recordSignals(database.db, { intakeId, lane: 0, seq: 1, signals: [signal(check.uuid)] }, OPTIONS);
    const late = signal(check.uuid, { at: MONDAY_NOON + 10_000 * MINUTE_MS });
    await recordSignals(database.db, { intakeId, lane: 0, seq: 2, signals: [late] }, OPTIONS);
    const events = await listEvents(database.db, { checkId: check.id, limit: 10 });
    expect(events).toMatchObject([{ kind: "not_observed", detail: { cause: "silence" } }]);
    expect(await listFlips(database.db, { checkId: check.id })).toHaveLength(1);
  });
});

describe("a late end", () => {
  const RID = "11111111-1111-4111-8111-111111111111";
  const lateEnd = { endedAt: MONDAY_NOON - 3_600_000, ranMs: 90_000 };

  async function recorder() {
    const check = await newCheck();
    const intakeId = await newIntake();
    let seq = 0;
    return {
      check,
      record: (signals: readonly Partial<AcceptedSignal>[], options = {}) => {
        seq += 1;
        const batch = { intakeId, lane: 0, seq, signals: signals.map((one) => signal(check.uuid, one)) };
        return recordSignals(database.db, batch, { ...OPTIONS, ...options });
      },
    };
  }

  test("is logged at the time of receipt, counts from its end, and is marked in the history", async () => {
    const { check, record } = await recorder();
    expect(await record([{ rid: RID, lateEnd }])).toEqual(["recorded"]);
    expect(await logOf(check.id)).toMatchObject([
      { n: 1, at: MONDAY_NOON, kind: "success", durationMs: 90_000 },
    ]);
    const stored = await findCheckByUuid(database.db, check.uuid);
    expect(stored?.state).toMatchObject({ status: "up", lastPingAt: lateEnd.endedAt });
    expect(await listEvents(database.db, { checkId: check.id, limit: 10 })).toMatchObject([
      { kind: "late_end", at: MONDAY_NOON, detail: { n: 1, outcome: "success", ...lateEnd } },
    ]);
  });

  test("is recorded once, however often it is sent", async () => {
    const { check, record } = await recorder();
    const late = { rid: RID, lateEnd };
    expect(await record([late, late])).toEqual(["recorded", "recorded"]);
    expect(await record([{ ...late, at: MONDAY_NOON + 5_000 }])).toEqual(["recorded"]);
    expect(await record([{ ...late, at: MONDAY_NOON + 9_000 }], { replayed: true })).toEqual(["recorded"]);
    expect(await logOf(check.id)).toHaveLength(1);
    expect(await listEvents(database.db, { checkId: check.id, limit: 10 })).toHaveLength(1);
    expect((await findCheckByUuid(database.db, check.uuid))?.state.pingCount).toBe(1);
  });

  test("is not recorded after the same end, which was recorded although its sender got no answer", async () => {
    const { check, record } = await recorder();
    await record([{ rid: RID, at: lateEnd.endedAt - 2_000 }]);
    expect(await record([{ rid: RID, lateEnd }])).toEqual(["recorded"]);
    expect(await logOf(check.id)).toHaveLength(1);
  });

  test("is another one with another run id, without one, or long after an end with the same", async () => {
    const { check, record } = await recorder();
    await record([{ rid: RID, at: lateEnd.endedAt - 6 * MINUTE_MS }]);
    const other = { rid: RID.replaceAll("1", "2"), lateEnd };
    await record([{ rid: RID, lateEnd }, { lateEnd }, { lateEnd }, other]);
    expect(await logOf(check.id)).toHaveLength(5);
  });

  test("of a start, by the keywords in its body, is a start", async () => {
    const { check, record } = await recorder();
    await inTransaction(database.db, (tx) =>
      updateCheck(tx, { checkId: check.id, patch: { filterHttpBody: true, startKw: "go" }, at: MONDAY_NOON }),
    );
    await record([
      { lateEnd, body: Buffer.from("go"), source: { by: "http", action: "success", method: "POST" } },
    ]);
    expect(await logOf(check.id)).toMatchObject([{ kind: "start" }]);
    expect(await listEvents(database.db, { checkId: check.id, limit: 10 })).toEqual([]);
  });
});

test("several intakes at once, over the same checks in opposite orders, lose nothing and number without gap", async () => {
  const checks = await Promise.all(Array.from({ length: 8 }, newCheck));
  const uuids = checks.map(({ uuid }) => uuid);
  const intakes = await Promise.all(Array.from({ length: 4 }, newIntake));
  const batches = 25;
  await Promise.all(
    intakes.map(async (intakeId, lane) => {
      for (let seq = 1; seq <= batches; seq += 1) {
        const order = (lane + seq) % 2 === 0 ? uuids : uuids.toReversed();
        const signals = order.map((uuid) => signal(uuid, { at: MONDAY_NOON + seq }));
        // On a busy machine a check may be locked for longer than one lock timeout.
        const options = { ...OPTIONS, pingLogRows: 1_000, giveUpAtMs: performance.now() + 30_000 };
        await recordSignals(database.db, { intakeId, lane: 0, seq, signals }, options);
      }
    }),
  );
  const expected = Array.from(
    { length: intakes.length * batches },
    (_, index) => intakes.length * batches - index,
  );
  for (const { id, uuid } of checks) {
    expect((await logOf(id)).map(({ n }) => n)).toEqual(expected);
    expect((await findCheckByUuid(database.db, uuid))?.state.pingCount).toBe(intakes.length * batches);
  }
});
