// The past of a check as its page tells it, on a real database: what was recorded and swept is what is read.
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { AcceptedSignal } from "../../src/core/accepted.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/core/instant.ts";
import { sweepDeadlines } from "../../src/operations/alerts/sweep-deadlines.ts";
import { recordSignals } from "../../src/operations/record-signals.ts";
import { readAvailability } from "../../src/services/web/history/availability.ts";
import { readDurations } from "../../src/services/web/history/durations.ts";
import { readEvents, readProjectEvents } from "../../src/services/web/history/events.ts";
import { expectationOf, previewOf } from "../../src/services/web/history/expectation.ts";
import { readExplanation } from "../../src/services/web/history/explain.ts";
import { readReplay } from "../../src/services/web/history/replay.ts";
import { readRawBody, readRun } from "../../src/services/web/history/run.ts";
import { readRuns } from "../../src/services/web/history/runs.ts";
import type { WebHouse } from "../../src/services/web/house.ts";
import { type CheckWithState, findCheckByUuid } from "../../src/store/checks/checks.ts";
import { registerIntake } from "../../src/store/intakes/intakes.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();
const DAILY = { kind: "cron" as const, schedule: "0 3 * * *", tz: "Europe/Riga", graceSeconds: 3_000 };
/** 03:00 in Riga, which is two hours ahead of UTC in November. */
const THREE_AT_NIGHT = MONDAY_NOON - 11 * HOUR_MS;
const NOW = THREE_AT_NIGHT + 4 * DAY_MS + 5 * HOUR_MS;

let house: WebHouse;
let check: CheckWithState;

type Sent = { at: number; action: "success" | "start" | { exitStatus: number }; body?: string };

function signal(uuid: string, { at, action, body }: Sent): AcceptedSignal {
  return {
    target: { by: "uuid", uuid },
    source: { by: "http", action, method: "POST" },
    rid: null,
    exitStatus: typeof action === "object" ? action.exitStatus : null,
    scheme: "https",
    remoteAddr: "192.0.2.1",
    ua: "curl",
    body: body === undefined ? null : Buffer.from(body),
    at,
  };
}

/** Three good nights, one failure, one night without anything. */
const NIGHTS: Sent[] = [
  { at: THREE_AT_NIGHT, action: "start" },
  { at: THREE_AT_NIGHT + 10 * MINUTE_MS, action: "success", body: "begin\n412 files\nend" },
  { at: THREE_AT_NIGHT + DAY_MS, action: "start" },
  { at: THREE_AT_NIGHT + DAY_MS + 12 * MINUTE_MS, action: "success", body: "begin\n409 files\nend" },
  { at: THREE_AT_NIGHT + 2 * DAY_MS, action: "start" },
  {
    at: THREE_AT_NIGHT + 2 * DAY_MS + MINUTE_MS,
    action: { exitStatus: 3 },
    body: "begin\nno space left\nend",
  },
  { at: THREE_AT_NIGHT + 3 * DAY_MS + 40 * MINUTE_MS, action: "success" },
];

beforeAll(async () => {
  const { db } = database;
  const project = await sampleProject(db);
  const { uuid } = await sampleCheck(db, { projectId: project.id, name: "nightly", ...DAILY });
  const intakeId = randomUUID();
  await inTransaction(db, (tx) =>
    registerIntake(tx, {
      id: intakeId,
      name: "test",
      startedAt: MONDAY_NOON,
      watermarkAt: NOW,
      leaseUntilAt: NOW,
      spoolEmpty: true,
    }),
  );
  const sight = { watermarkAt: NOW, blind: [] };
  const signals = NIGHTS.map((sent) => signal(uuid, sent));
  await recordSignals(
    db,
    { intakeId, seq: 1, signals },
    { sight, rules: { ratePerMinute: 0 }, replayed: false, pingLogRows: 100, encode: () => Buffer.alloc(0) },
  );
  await sweepDeadlines(db, { now: NOW, sight, limit: 100 });
  const found = await findCheckByUuid(db, uuid);
  if (found === null) throw new Error("the check has gone");
  check = found;
  house = {
    database: db,
    pingLogLimit: 100,
    objects: null,
  } as unknown as WebHouse;
});

describe("runs", () => {
  test("are told newest first, with the night on which nothing came", async () => {
    const { runs, before } = await readRuns(house, check, { before: null });
    expect(runs.map(({ outcome, isLate, durationMs }) => [outcome, isLate, durationMs])).toEqual([
      ["missing", false, null],
      ["success", true, null],
      ["fail", false, MINUTE_MS],
      ["success", false, 12 * MINUTE_MS],
      ["success", false, 10 * MINUTE_MS],
    ]);
    expect(before).toBeNull();
    expect(runs[2]).toMatchObject({ exitStatus: 3, excerpt: "begin no space left end" });
    expect((await readRuns(house, check, { before: runs[2]?.at ?? 0 })).runs).toHaveLength(2);
  });

  test("one of them is compared with the success before it", async () => {
    const run = await readRun(house, { check, n: 6 });
    expect(run).toMatchObject({ kind: "fail", exitStatus: 3, olderN: 5, newerN: 7, flip: { to: "down" } });
    expect(run.diff?.lines).toEqual([
      { mark: " ", text: "begin" },
      { mark: "-", text: "409 files" },
      { mark: "+", text: "no space left" },
      { mark: " ", text: "end" },
    ]);
    expect((await readRawBody(house, { check, n: 6 })).toString()).toBe("begin\nno space left\nend");
    await expect(readRun(house, { check, n: 99 })).rejects.toMatchObject({ code: "not_found" });
    await expect(readRawBody(house, { check, n: 5 })).rejects.toMatchObject({ code: "not_found" });
  });

  test("their durations are points", async () => {
    const { points } = await readDurations(house, { check, now: NOW });
    expect(points.map(({ n, durationMs }) => [n, durationMs / MINUTE_MS])).toEqual([
      [2, 10],
      [4, 12],
      [6, 1],
    ]);
  });
});

describe("an alert is explained", () => {
  test("by silence: what was expected in the zone of the check, and the rule", async () => {
    const { steps, zone, isEditedSince } = await readExplanation(house, { check, flipId: null });
    expect([zone, isEditedSince]).toEqual(["Europe/Riga", false]);
    const dueAt = THREE_AT_NIGHT + 4 * DAY_MS;
    expect(steps).toMatchObject([
      { kind: "success", n: 7 },
      {
        kind: "expected",
        at: dueAt,
        offsetMinutes: 120,
        clockChange: { at: Date.UTC(2026, 9, 25, 1), beforeMinutes: 180 },
      },
      { kind: "down", at: dueAt + 50 * MINUTE_MS, rule: "silence", graceSeconds: 3_000 },
    ]);
  });

  test("by a failure, with its exit code", async () => {
    const { flip } = await readRun(house, { check, n: 6 });
    const { steps } = await readExplanation(house, { check, flipId: flip?.id ?? 0 });
    expect(steps.map(({ kind }) => kind)).toEqual(["success", "started", "failed", "down"]);
    expect(steps[2]).toMatchObject({ exitStatus: 3, n: 6 });
    await expect(readExplanation(house, { check, flipId: 999_999 })).rejects.toMatchObject({
      code: "not_found",
    });
  });
});

describe("the log", () => {
  test("has signals and changes, of the types that are asked for", async () => {
    const all = await readEvents(house, check, { before: null, types: ["signal", "flip", "event"] });
    expect(all.events.filter(({ type }) => type === "signal")).toHaveLength(NIGHTS.length);
    const flips = await readEvents(house, check, { before: null, types: ["flip"] });
    expect(flips.events.map((row) => row.type === "flip" && row.to)).toEqual(["down", "up", "down", "up"]);
  });

  test("of a project names the check", async () => {
    const asked = { projectId: check.projectId, before: null, types: ["flip", "event"] as const };
    const { events } = await readProjectEvents(house, asked);
    expect(events).toHaveLength(4);
    expect(new Set(events.map((event) => event.check.name))).toEqual(new Set(["nightly"]));
  });
});

describe("how it has been", () => {
  test("is told by day, over all, and by month", async () => {
    const { days, ninety, months } = await readAvailability(house, { check, now: NOW });
    expect(days).toHaveLength(90);
    const last = days.slice(-5);
    expect(last.map(({ successCount, failCount }) => [successCount, failCount])).toEqual([
      [1, 0],
      [1, 0],
      [0, 1],
      [1, 0],
      [0, 0],
    ]);
    expect(days.filter(({ isBefore }) => isBefore)).toHaveLength(85);
    const downMs = DAY_MS + 39 * MINUTE_MS + (4 * HOUR_MS + 10 * MINUTE_MS);
    expect(ninety).toMatchObject({ downCount: 2, downMs, unseenDays: 0 });
    expect(last.reduce((sum, day) => sum + day.downMs, 0)).toBe(downMs);
    expect(months.map(({ month, count }) => [month, count])).toEqual([
      ["2026-11", 2],
      ["2026-10", null],
      ["2026-09", null],
    ]);
  });
});

describe("a schedule in words and times", () => {
  test("is told for the check, and for what somebody types", () => {
    const { sentence, nextAt } = expectationOf(check, NOW);
    expect(sentence).toBe("At 03:00 every day, Europe/Riga time.");
    expect(nextAt).toHaveLength(10);
    expect(nextAt[0]).toBe(THREE_AT_NIGHT + 5 * DAY_MS);
    const typed = {
      kind: "simple" as const,
      timeoutSeconds: 3_600,
      graceSeconds: 60,
      schedule: "",
      tz: "UTC",
    };
    expect(previewOf(typed, NOW)).toMatchObject({ sentence: "Every hour." });
    expect(previewOf({ ...typed, kind: "cron", schedule: "61 * * * *" }, NOW)).toHaveProperty("error");
  });

  test("another grace is tried on the past before it is saved", async () => {
    const wanted = { ...DAILY, timeoutSeconds: 86_400, graceSeconds: 60 };
    const replay = await readReplay(house, { check, wanted, now: NOW });
    expect([replay.runCount, replay.before.length, replay.after.length]).toEqual([4, 2, 4]);
    expect(replay).toMatchObject({ realCount: 2, missedCount: 0 });
    const bad = readReplay(house, { check, wanted: { ...wanted, schedule: "never" }, now: NOW });
    await expect(bad).rejects.toThrow(/neither a cron/);
  });
});
