// The past of a check as its page tells it, on a real database: what was recorded and swept is what is read.
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, IncomingMessage, ServerResponse } from "node:http";
import { type AddressInfo, Socket } from "node:net";
import { beforeAll, describe, expect, test } from "vitest";
import type { CheckPage } from "../../src/contract/api/check-page.ts";
import type { ProjectEventsPage } from "../../src/contract/api/history.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/core/instant.ts";
import { STATUS_CHANGES_READ_MAX } from "../../src/core/limits.ts";
import type { AcceptedSignal } from "../../src/core/signal.ts";
import { recordSignals } from "../../src/operations/record-signals.ts";
import { sweepDeadlines } from "../../src/operations/sweep.ts";
import {
  expectationOf,
  previewOf,
  readAvailability,
  readCheckPage,
  readExplanation,
  readReplay,
} from "../../src/services/api/check.ts";
import {
  type EventsFile,
  rangeOf,
  readEvents,
  readProjectEvents,
  sendEventsFile,
} from "../../src/services/api/events.ts";
import type { ApiContext } from "../../src/services/api/route.ts";
import { readDurations, readRawBody, readRun, readRuns } from "../../src/services/api/runs.ts";
import { type CheckWithState, findCheckByUuid } from "../../src/store/checks.ts";
import { insertEvents } from "../../src/store/events.ts";
import { insertBlindInterval, registerIntake } from "../../src/store/intakes.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { sampleIntake } from "../support/checks-under-change.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();
const DAILY = { kind: "cron" as const, schedule: "0 3 * * *", tz: "Europe/Riga", graceSeconds: 3_000 };
/** 03:00 in Riga, which is two hours ahead of UTC in November. */
const THREE_AT_NIGHT = MONDAY_NOON - 11 * HOUR_MS;
const NOW = THREE_AT_NIGHT + 4 * DAY_MS + 5 * HOUR_MS;

let context: ApiContext;
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

/** A file of events as it comes out of a connection. */
async function received(file: EventsFile): Promise<string> {
  const server = createServer((_request, response) => void sendEventsFile(context, response, file));
  await once(server.listen(0, "127.0.0.1"), "listening");
  try {
    const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    return await answer.text();
  } finally {
    server.close();
  }
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
  const visibility = { watermarkAt: NOW, blind: [] };
  const signals = NIGHTS.map((sent) => signal(uuid, sent));
  await recordSignals(
    db,
    { intakeId, lane: 0, seq: 1, signals },
    {
      visibility,
      rules: { ratePerMinute: 0 },
      replayed: false,
      pingLogRows: 100,
      encode: () => Buffer.alloc(0),
    },
  );
  await sweepDeadlines(db, { now: NOW, visibility, limit: 100 });
  const found = await findCheckByUuid(db, uuid);
  if (found === null) throw new Error("the check has gone");
  check = found;
  context = {
    database: db,
    pingLogLimit: 100,
    objects: null,
  } as unknown as ApiContext;
});

async function pageOf(uuid: string, project: Awaited<ReturnType<typeof sampleProject>>): Promise<CheckPage> {
  const found = await findCheckByUuid(database.db, uuid);
  if (found === null) throw new Error("the check has gone");
  const where = { urls: { site: "https://x.test", ping: "https://x.test/ping" }, mailDomain: null };
  const asked = { check: { ...found, channelUuids: [] }, project, role: "readOnly" as const, now: NOW };
  return readCheckPage({ ...context, ...where } as ApiContext, asked);
}

describe("the page of a check", () => {
  test("shows the last success however many failures followed, and that there was one when the log no longer has it", async () => {
    const { db } = database;
    const project = await sampleProject(db);
    const { uuid } = await sampleCheck(db, { projectId: project.id });
    const record = await sampleIntake(db);
    const page = async () => {
      const { lastSuccessAt, hasSucceeded } = await pageOf(uuid, project);
      return { lastSuccessAt, hasSucceeded };
    };
    const fail = (count: number, from: number) =>
      record(
        Array.from({ length: count }, (_, index) => ({
          uuid,
          action: "fail" as const,
          at: from + index * MINUTE_MS,
        })),
      );
    await fail(1, NOW - DAY_MS);
    expect(await page()).toEqual({ lastSuccessAt: null, hasSucceeded: false });
    const at = NOW - DAY_MS + HOUR_MS;
    await record([{ uuid, action: "success", at }]);
    expect(await page()).toEqual({ lastSuccessAt: at, hasSucceeded: true });
    // More than a page of runs has.
    await fail(60, at + HOUR_MS);
    expect(await page()).toEqual({ lastSuccessAt: at, hasSucceeded: true });
    await fail(140, at + 3 * HOUR_MS);
    expect(await page()).toEqual({ lastSuccessAt: null, hasSucceeded: true });
  });

  test("shows when the missing ping was expected, and nothing like that for a run that took too long", async () => {
    const { db } = database;
    const project = await sampleProject(db);
    const record = await sampleIntake(db);
    const hourly = { kind: "simple" as const, timeoutSeconds: 3_600, graceSeconds: 600 };
    const visibility = { watermarkAt: NOW + DAY_MS, blind: [] };
    const missedBy = async (action: "success" | "start") => {
      const { uuid } = await sampleCheck(db, { projectId: project.id, ...hourly });
      await record([{ uuid, action, at: NOW }]);
      await sweepDeadlines(db, { now: NOW + DAY_MS, visibility, limit: 100 });
      return (await pageOf(uuid, project)).missedAt;
    };
    expect(await missedBy("success")).toBe(NOW + HOUR_MS);
    expect(await missedBy("start")).toBeNull();
  });
});

describe("runs", () => {
  test("that end between reading the check and its log are not shown a second time as running", async () => {
    const { db } = database;
    const { id: projectId } = await sampleProject(db);
    const { uuid } = await sampleCheck(db, { projectId });
    const record = await sampleIntake(db);
    await record([{ uuid, action: "start", at: NOW }]);
    const before = await findCheckByUuid(db, uuid);
    await record([{ uuid, action: "success", at: NOW + MINUTE_MS }]);
    if (before === null) throw new Error("the check has gone");
    const { runs } = await readRuns(context, before, { before: null });
    expect(runs.map(({ outcome, at }) => [outcome, at])).toEqual([["success", NOW + MINUTE_MS]]);
  });

  test("are told newest first, with the night on which nothing came", async () => {
    const { runs, next } = await readRuns(context, check, { before: null });
    expect(runs.map(({ outcome, isLate, durationMs }) => [outcome, isLate, durationMs])).toEqual([
      ["missing", false, null],
      ["success", true, null],
      ["fail", false, MINUTE_MS],
      ["success", false, 12 * MINUTE_MS],
      ["success", false, 10 * MINUTE_MS],
    ]);
    expect(next).toBeNull();
    expect(runs[2]).toMatchObject({ exitStatus: 3, excerpt: "begin no space left end" });
    expect((await readRuns(context, check, { before: runs[2]?.at ?? 0 })).runs).toHaveLength(2);
  });

  test("one of them is compared with the success before it", async () => {
    const run = await readRun(context, { check, n: 6 });
    expect(run).toMatchObject({ kind: "fail", exitStatus: 3, olderN: 5, newerN: 7, flip: { to: "down" } });
    expect(run.diff?.lines).toEqual([
      { mark: " ", text: "begin" },
      { mark: "-", text: "409 files" },
      { mark: "+", text: "no space left" },
      { mark: " ", text: "end" },
    ]);
    expect((await readRawBody(context, { check, n: 6 })).toString()).toBe("begin\nno space left\nend");
    await expect(readRun(context, { check, n: 99 })).rejects.toMatchObject({ code: "not_found" });
    await expect(readRawBody(context, { check, n: 5 })).rejects.toMatchObject({ code: "not_found" });
  });

  test("their durations are points", async () => {
    const { points } = await readDurations(context, { check, now: NOW });
    expect(points.map(({ n, durationMs }) => [n, durationMs / MINUTE_MS])).toEqual([
      [2, 10],
      [4, 12],
      [6, 1],
    ]);
  });
});

describe("an alert is explained", () => {
  test("by silence: what was expected in the zone of the check, and the rule", async () => {
    const { steps, zone, isEditedSince } = await readExplanation(context, { check, flipId: null });
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
    const { flip } = await readRun(context, { check, n: 6 });
    const { steps } = await readExplanation(context, { check, flipId: flip?.id ?? 0 });
    expect(steps.map(({ kind }) => kind)).toEqual(["success", "started", "failed", "down"]);
    expect(steps[2]).toMatchObject({ exitStatus: 3, n: 6 });
    await expect(readExplanation(context, { check, flipId: 999_999 })).rejects.toMatchObject({
      code: "not_found",
    });
  });
});

describe("the log", () => {
  const everything = () => ({
    projectId: check.projectId,
    types: ["flip", "event"] as const,
    text: "",
    from: null,
    to: null,
  });

  test("has signals and changes, of the types that are asked for", async () => {
    const all = await readEvents(context, check, {
      before: null,
      types: ["ping", "flip", "event"],
      pingKinds: null,
    });
    expect(all.events.filter(({ type }) => type === "ping")).toHaveLength(NIGHTS.length);
    const failure = all.events.findIndex((row) => row.type === "ping" && row.kind === "fail");
    expect(all.events[failure - 1], "what it caused stands above it").toMatchObject({
      type: "flip",
      to: "down",
    });
    const flips = await readEvents(context, check, { before: null, types: ["flip"], pingKinds: null });
    expect(flips.events.map((row) => row.type === "flip" && row.to)).toEqual(["down", "up", "down", "up"]);
    const failures = await readEvents(context, check, { before: null, types: ["ping"], pingKinds: ["fail"] });
    expect(failures.events.map((row) => row.type === "ping" && row.kind)).toEqual(["fail"]);
  });

  test("has every signal once, page by page, also those that came at one instant", async () => {
    const { db } = database;
    const { id: projectId } = await sampleProject(db);
    const { uuid } = await sampleCheck(db, { projectId });
    const record = await sampleIntake(db);
    // The hundredth, which ends a page, is one of five at its instant.
    const sent = Array.from(
      { length: 150 },
      (_, index) => NOW - 10 * Math.min(index, Math.max(98, index - 4)),
    );
    await record(sent.toReversed().map((at) => ({ uuid, at, body: `output ${at}` })));
    const found = await findCheckByUuid(db, uuid);
    if (found === null) throw new Error("the check has gone");
    const logs = { ...context, pingLogLimit: 1_000 };
    const first = await readEvents(logs, found, { before: null, types: ["ping"], pingKinds: null });
    const second = await readEvents(logs, found, {
      before: Number(first.next),
      types: ["ping"],
      pingKinds: null,
    });
    const signals = [...first.events, ...second.events].filter(({ type }) => type === "ping");
    expect([first.events.length, second.next]).toEqual([103, null]);
    expect(new Set(signals.map((row) => row.type === "ping" && row.n)).size).toBe(sent.length);
    expect(signals.every((row) => row.type === "ping" && row.excerpt === `output ${row.at}`)).toBe(true);
  });

  test("of a project names the check", async () => {
    const { events } = await readProjectEvents(context, { ...everything(), before: null });
    expect(events).toHaveLength(4);
    expect(new Set(events.map((event) => event.check.name))).toEqual(new Set(["nightly"]));
    expect(events[0]?.check.zone).toBe("Europe/Riga");
  });

  test("of a project is searched and cut by the server, by the clocks of a zone", async () => {
    const ask = async (change: object) =>
      (await readProjectEvents(context, { ...everything(), before: null, ...change })).events.map(
        ({ at }) => at,
      );
    const all = await ask({});
    expect(await ask({ text: "NIGHTLY came UP" })).toEqual([all[1], all[3]]);
    expect(await ask({ text: "nothing like it" })).toEqual([]);
    // 03:50 in Riga is when the last night without anything was told.
    const minute = "2026-11-20T03:50";
    expect(await ask(rangeOf({ from: minute, zone: "Europe/Riga" }))).toEqual([all[0]]);
    expect(await ask(rangeOf({ to: minute, zone: "Europe/Riga" }))).toEqual(all);
    expect(await ask(rangeOf({ from: minute, to: minute, zone: "Europe/Riga" }))).toEqual([all[0]]);
    expect(await ask(rangeOf({ from: minute, zone: "UTC" }))).toEqual([]);
  });

  test("of a project is sent as a file, in the same choice", async () => {
    const file = (format: EventsFile["format"], change: object) =>
      received({ format, chosen: { ...everything(), ...change } });
    const lines = (await file("csv", { text: "came up" })).trimEnd().split("\r\n");
    expect(lines[0]).toBe('"When","Check","Event","By"');
    expect(lines.slice(1).map((line) => line.split(",").slice(1))).toEqual([
      ['"nightly"', '"came up"', '""'],
      ['"nightly"', '"came up"', '""'],
    ]);
    const { events, isComplete } = JSON.parse(await file("json", {})) as {
      events: object[];
      isComplete: boolean;
    };
    expect(isComplete).toBe(true);
    expect(events).toHaveLength(4);
    expect(events[0]).toMatchObject({ type: "flip", to: "down", check: { name: "nightly" } });
    expect(JSON.parse(await file("json", { text: "nothing like it" }))).toEqual({
      events: [],
      isComplete: true,
    });
  });

  describe("of another project", () => {
    let chosen: EventsFile["chosen"];

    beforeAll(async () => {
      const { db } = database;
      const project = await sampleProject(db);
      const made = await sampleCheck(db, { projectId: project.id, name: "=1+1" });
      chosen = { ...everything(), projectId: project.id };
      const pauses = [0, 1, 2].map((hour) => ({ at: NOW - hour * HOUR_MS, kind: "paused", detail: {} }));
      const about = { checkId: made.id, accountId: null };
      await inTransaction(db, (tx) =>
        insertEvents(
          tx,
          pauses.map((pause) => ({ ...about, ...pause })),
        ),
      );
      await db.pool.query(
        `insert into flips (check_id, at, from_status, to_status, reason, taken_back_at)
         values ($1, $2, 'up', 'down', 'timeout', $3)`,
        [made.id, new Date(NOW - DAY_MS), new Date(NOW - HOUR_MS)],
      );
    });

    test("a spreadsheet takes no name for a formula, and none for the end of its cell", async () => {
      const { db } = database;
      const project = await sampleProject(db);
      const names = ["=1+1", "+1", "-1", "@SUM(1)", "\tcmd", 'a "b", c'];
      for (const [index, name] of names.entries()) {
        const { id } = await sampleCheck(db, { projectId: project.id, name });
        const event = { checkId: id, accountId: null, at: NOW - index, kind: "paused", detail: {} };
        await inTransaction(db, (tx) => insertEvents(tx, [event]));
      }
      const text = await received({ format: "csv", chosen: { ...everything(), projectId: project.id } });
      const cells = text.trimEnd().split("\r\n").slice(1);
      const cell = (line: string) => /^"[^"]*",(?<cell>"(?:[^"]|"")*"),/.exec(line)?.groups?.["cell"];
      expect(cells.map(cell)).toEqual([
        `"'=1+1"`,
        `"'+1"`,
        `"'-1"`,
        `"'@SUM(1)"`,
        `"'\tcmd"`,
        '"a ""b"", c"',
      ]);
    });

    test("a file holds no formula for a spreadsheet", async () => {
      const lines = (await received({ format: "csv", chosen })).trimEnd().split("\r\n").slice(1);
      expect(lines).toHaveLength(4);
      expect(lines.map((line) => line.split(",")[1])).toEqual(lines.map(() => `"'=1+1"`));
    });

    test("a file that was cut says so, whatever was looked for", async () => {
      const readMax = 2;
      const cut = (await received({ format: "csv", chosen, readMax })).trimEnd().split("\r\n");
      expect(cut).toHaveLength(1 + readMax + 1);
      expect(cut.at(-1)).toMatch(/^"","","Incomplete: only the latest 2 events were searched.*",""$/);
      const json = async (change: Partial<EventsFile>) =>
        JSON.parse(await received({ format: "json", chosen, ...change })) as unknown;
      expect(await json({ readMax })).toMatchObject({ events: [{}, {}], isComplete: false });
      const rare = { ...chosen, text: "went down" };
      expect(await json({ readMax, chosen: rare })).toEqual({ events: [], isComplete: false });
      expect(await json({ readMax: 4, chosen: rare })).toMatchObject({ events: [{}], isComplete: true });
    });

    test("events at the same instant are complete, page by page and in a file", async () => {
      const { db } = database;
      const project = await sampleProject(db);
      const { id } = await sampleCheck(db, { projectId: project.id });
      const at = new Date(NOW - HOUR_MS);
      await db.pool.query(
        `insert into flips (check_id, at, from_status, to_status, reason)
         select $1, $2, 'up', 'down', 'fail' from generate_series(1, 150)`,
        [id, at],
      );
      await db.pool.query(
        `insert into events (check_id, at, kind, account_id, detail)
         select $1, $2, 'paused', null, '{}' from generate_series(1, 1100)`,
        [id, at],
      );
      const all = { ...chosen, projectId: project.id };
      const seen: string[] = [];
      let before: string | null = null;
      do {
        const page: ProjectEventsPage = await readProjectEvents(context, { ...all, before });
        seen.push(...page.events.map((event) => `${event.type} ${event.id}`));
        before = page.next;
      } while (before !== null);
      expect([seen.length, new Set(seen).size]).toEqual([1_250, 1_250]);
      expect((await received({ format: "csv", chosen: all })).trimEnd().split("\r\n")).toHaveLength(1_251);
    });

    test("a file is not read further than its reader takes it", async () => {
      const { db } = database;
      const project = await sampleProject(db);
      const { id } = await sampleCheck(db, { projectId: project.id });
      await db.pool.query(
        `insert into events (check_id, at, kind, account_id, detail)
         select $1, $2::timestamptz - n * interval '1 second', 'paused', null, '{}' from generate_series(1, 5000) n`,
        [id, new Date(NOW)],
      );
      // Without a connection, what is written stays in the answer.
      const response = new ServerResponse(new IncomingMessage(new Socket()));
      const file = { format: "csv", chosen: { ...chosen, projectId: project.id } } as const;
      const sent = sendEventsFile(context, response, file);
      const lineBytes = 50;
      await expect.poll(() => response.writableLength).toBeGreaterThan(1_000 * lineBytes);
      const held = response.writableLength;
      for (let n = 0; n < 20; n += 1) await readProjectEvents(context, { ...file.chosen, before: null });
      expect(response.writableLength).toBe(held);
      expect(response.listenerCount("drain")).toBe(1);
      Object.assign(response, { destroyed: true });
      response.emit("close");
      await sent;
      expect(response.writableLength).toBeLessThan(3 * held);
    });

    test("an alarm that was taken back is called so, and found by it", async () => {
      const { events } = await readProjectEvents(context, { ...chosen, text: "Corrected", before: null });
      expect(events).toMatchObject([{ type: "flip", retractedAt: NOW - HOUR_MS }]);
      expect(await received({ format: "csv", chosen })).toContain(
        '"went down: no ping before the deadline; corrected: a ping was received in time"',
      );
    });
  });
});

describe("how it has been", () => {
  test("is told by day, over all, and by month", async () => {
    const { days, last90Days, months } = await readAvailability(context, { check, now: NOW });
    expect(days).toHaveLength(90);
    const last = days.slice(-5);
    expect(last.map(({ successCount, failCount }) => [successCount, failCount])).toEqual([
      [1, 0],
      [1, 0],
      [0, 1],
      [1, 0],
      [0, 0],
    ]);
    expect(days.filter(({ isBeforeCreation }) => isBeforeCreation)).toHaveLength(85);
    const downMs = DAY_MS + 39 * MINUTE_MS + (4 * HOUR_MS + 10 * MINUTE_MS);
    expect(last90Days).toMatchObject({ downCount: 2, downMs, unmonitoredDays: 0 });
    expect(last.reduce((sum, day) => sum + (day.downMs ?? 0), 0)).toBe(downMs);
    expect(months.map(({ month, count }) => [month, count])).toEqual([
      ["2026-11", 2],
      ["2026-10", null],
      ["2026-09", null],
    ]);
  });

  test("of a check that changes without end is read to a limit, and said to be uncounted before that", async () => {
    const { db } = database;
    const project = await sampleProject(db);
    const made = await sampleCheck(db, { projectId: project.id, name: "flapping" });
    await db.pool.query("update checks set created_at = $2 where id = $1", [
      made.id,
      new Date(NOW - 40 * DAY_MS),
    ]);
    // Down and up each minute, for as many minutes as are read and some more.
    await db.pool.query(
      `insert into flips (check_id, at, from_status, to_status, reason)
       select $1, $2::timestamptz - n * interval '1 minute', case n % 2 when 0 then 'up' else 'down' end,
         case n % 2 when 0 then 'down' else 'up' end, case n % 2 when 0 then 'fail' else 'success' end
       from generate_series(1, $3) n`,
      [made.id, new Date(NOW), STATUS_CHANGES_READ_MAX + 100],
    );
    const flapping = await findCheckByUuid(db, made.uuid);
    if (flapping === null) throw new Error("the check is gone");
    const { days, last90Days, months } = await readAvailability(context, { check: flapping, now: NOW });
    expect(last90Days).toEqual({
      upShare: null,
      downCount: null,
      downMs: null,
      unmonitoredDays: expect.any(Number),
    });
    expect(days.at(-2)?.downMs).toBe(DAY_MS / 2);
    expect(days.slice(50, 86).map(({ downMs }) => downMs)).toEqual(Array.from({ length: 36 }, () => null));
    expect(months.map(({ count, isUncounted }) => [count, isUncounted])).toEqual([
      [null, true],
      [null, true],
      [null, false],
    ]);
  });

  test("is not said to be unseen for a restart of seconds, but for an hour, or when a signal was due", async () => {
    const { db } = database;
    const blind = (from: number, ms: number) =>
      inTransaction(db, (tx) =>
        insertBlindInterval(tx, { intakeId: null, from, to: from + ms, reason: "restart" }),
      );
    const unseen = async () => {
      const { days, last90Days } = await readAvailability(context, { check, now: NOW });
      const hatched = days.slice(-5).map(({ isUnmonitored }) => isUnmonitored);
      expect(last90Days.unmonitoredDays).toBe(hatched.filter(Boolean).length);
      return hatched;
    };
    await blind(THREE_AT_NIGHT + 9 * HOUR_MS, 4_000);
    expect(await unseen()).toEqual([false, false, false, false, false]);
    await blind(THREE_AT_NIGHT + DAY_MS + 9 * HOUR_MS, HOUR_MS);
    expect(await unseen()).toEqual([false, true, false, false, false]);
    const missed = {
      checkId: check.id,
      at: THREE_AT_NIGHT,
      kind: "not_observed",
      accountId: null,
      detail: {},
    };
    await inTransaction(db, (tx) => insertEvents(tx, [missed]));
    expect(await unseen()).toEqual([true, true, false, false, false]);
  });

  test("nothing of it is hidden by a thousand changes of settings, and a thousand pauses after them", async () => {
    const { db } = database;
    const event = { checkId: check.id, accountId: null, detail: {} };
    const missedAt = THREE_AT_NIGHT + 2 * DAY_MS + 5 * HOUR_MS;
    const after = (kind: string, from: number) =>
      Array.from({ length: 1_000 }, (_, i) => ({ ...event, at: from + i, kind }));
    await inTransaction(db, (tx) =>
      insertEvents(tx, [
        { ...event, at: missedAt, kind: "not_observed" },
        ...after("edited", NOW),
        ...after("paused", NOW + MINUTE_MS),
      ]),
    );
    const { days } = await readAvailability(context, { check, now: NOW });
    expect(days.at(-3)?.isUnmonitored).toBe(true);
    const { runs } = await readRuns(context, check, { before: NOW - DAY_MS });
    expect(runs.filter(({ outcome }) => outcome === "unmonitored").map(({ at }) => at)).toContain(missedAt);
    expect((await readExplanation(context, { check, flipId: null })).isEditedSince).toBe(true);
  });
});

describe("a schedule in words and times", () => {
  test("is shown for the check, and for what is typed", () => {
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
    const kindOf = (change: { kind?: "cron"; schedule?: string }) =>
      previewOf({ ...typed, ...change }, NOW).scheduleKind;
    expect(kindOf({})).toBeNull();
    expect(kindOf({ schedule: "* * * * *" })).toBeNull();
    expect(kindOf({ kind: "cron", schedule: "* * * * *" })).toBe("cron");
    expect(kindOf({ schedule: "0 3 * * *" })).toBe("cron");
    expect(kindOf({ kind: "cron", schedule: "Mon *-*-* 03:00" })).toBe("oncalendar");
    expect(kindOf({ kind: "cron", schedule: "61 * * * *" })).toBe("cron");
  });

  test("another grace is tried on the past before it is saved", async () => {
    const wanted = { ...DAILY, timeoutSeconds: 86_400, graceSeconds: 60 };
    const replay = await readReplay(context, { check, wanted, now: NOW });
    expect([replay.runCount, replay.before.length, replay.after.length]).toEqual([4, 2, 4]);
    expect(replay).toMatchObject({ realCount: 2, missedCount: 0 });
    const bad = readReplay(context, { check, wanted: { ...wanted, schedule: "never" }, now: NOW });
    await expect(bad).rejects.toThrow(/^Invalid schedule: day of week: unknown name NEVER/);
  });
});
