// The timeline by the Overdue API: rows with their marks, lanes with their counts, filters, pages, and what surrounds
// them.
import { beforeEach, describe, expect, test } from "vitest";
import { type Mark, unpackMarks } from "../../src/contract/api/timeline-marks.ts";
import type { Timeline, TimelineRow } from "../../src/contract/api/timeline.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/core/instant.ts";
import { TIMELINE_ROWS_MAX } from "../../src/core/limits.ts";
import { addDayTotals } from "../../src/store/runs.ts";
import { insertBlindInterval } from "../../src/store/intakes.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { newCheck } from "../management/asking.ts";
import { useCast } from "../management/cast.ts";
import { sampleIntake } from "../support/checks-under-change.ts";
import { sampleCheck } from "../support/sample.ts";
import { askApi } from "./asking.ts";

const cast = useCast({ settings: { OVERDUE_API_RATE_LIMIT: "0" } });

const TIMELINE = "/projects/{project}/timeline";
const ask = (query = "") => askApi(cast, `${TIMELINE}${query}`, { key: cast.owner.rw });

async function read(query = ""): Promise<Timeline> {
  const { status, text, json } = await ask(query);
  if (status !== 200) throw new Error(`${status} ${text}`);
  return json as unknown as Timeline;
}

function rowsOf({ groups }: Timeline): TimelineRow[] {
  return groups.flatMap(({ rows }) => rows);
}

function marksOf(timeline: Timeline, name: string): Mark[] {
  const row = rowsOf(timeline).find((one) => one.name === name);
  if (row === undefined) throw new Error(`${name} is not shown`);
  return unpackMarks(timeline, row);
}

/** Runs of a check, each with its minutes before now and its length. */
async function ran(
  uuid: string,
  runs: readonly { ago: number; took: number; failed?: boolean }[],
): Promise<void> {
  const record = await sampleIntake(cast.db);
  const now = await cast.now();
  for (const { ago, took, failed } of runs) {
    const at = now - ago * MINUTE_MS;
    await record([
      { uuid, action: "start", at: at - took * MINUTE_MS },
      { uuid, action: failed === true ? "fail" : "success", at },
    ]);
  }
}

beforeEach(async () => {
  for (const table of ["blind_intervals", "silences", "pings", "check_days", "flips"]) {
    await cast.db.pool.query(`delete from ${table}`);
  }
  await cast.db.pool.query("delete from checks where project_id = $1", [cast.owner.project.id]);
});

describe("rows", () => {
  test("runs with their real lengths, failures, and what is ahead", async () => {
    const { uuid } = await newCheck(cast, { name: "backup", tags: "db nightly", schedule: "* * * * *" });
    await ran(uuid, [
      { ago: 180, took: 20 },
      { ago: 90, took: 30, failed: true },
    ]);
    const timeline = await read();
    expect(timeline).toMatchObject({ mode: "rows", total: 1, next: null, lanes: [], lanesFrom: null });
    expect(timeline.groups).toMatchObject([
      { tag: "db", count: 1, downCount: 1, lateCount: 0, stopped: null },
    ]);
    expect(timeline.counts).toMatchObject({ down: 1, up: 0 });
    const marks = marksOf(timeline, "backup");
    const length = ({ from, to }: Mark) => Math.round((to - from) / MINUTE_MS);
    expect(marks.filter(({ kind }) => kind === "failed").map(length)).toEqual([30]);
    expect(marks.find(({ kind }) => kind === "failed")?.n).toBe(4);
    const success = marks.find(({ kind }) => kind === "ran" || kind === "late");
    expect(success === undefined ? 0 : length(success)).toBe(20);
    expect(marks.some(({ kind, from }) => kind === "ahead" && from >= timeline.now)).toBe(true);
    expect(rowsOf(timeline)[0]).toMatchObject({ state: "down", tags: ["db", "nightly"] });
    expect(timeline.load.isEstimate).toBe(false);
    expect(timeline.load.peak?.count).toBe(1);
  });

  test("silences, monitoring gaps, and clock changes surround them", async () => {
    const { uuid } = await newCheck(cast, { name: "backup", schedule: "0 3 * * *", tz: "Europe/Riga" });
    const now = await cast.now();
    const body = { checks: [uuid], duration: 3_600, reason: "Upgrade" };
    await askApi(cast, "/projects/{project}/silences", { key: cast.owner.rw, method: "POST", body });
    await inTransaction(cast.db, async (tx) => {
      const gap = { intakeId: null, reason: "an outage" };
      await insertBlindInterval(tx, { ...gap, from: now - 2 * HOUR_MS, to: now - HOUR_MS });
      await insertBlindInterval(tx, { ...gap, from: now - 90 * MINUTE_MS, to: now - 30 * MINUTE_MS });
    });
    const timeline = await read("?range=30d&zone=America/New_York");
    expect(timeline.gaps).toEqual([{ from: now - 2 * HOUR_MS, to: now - 30 * MINUTE_MS }]);
    expect(timeline.silences).toMatchObject([{ reason: "Upgrade", tag: null, isForAll: false }]);
    const silenced = marksOf(timeline, "backup").find(({ kind }) => kind === "silenced");
    expect(silenced?.n).toBe(0);
    for (const change of timeline.clockChanges) {
      expect(change.at).toBeGreaterThanOrEqual(timeline.from);
      expect(change.isOwn).toBe(change.zone === "America/New_York");
    }
  });

  test("filters by tag, text and state", async () => {
    await newCheck(cast, { name: "backup eu", tags: "db" });
    await newCheck(cast, { name: "report", tags: "mail db" });
    const names = async (query: string) => rowsOf(await read(query)).map(({ name }) => name);
    expect(await names("?tag=mail")).toEqual(["report"]);
    expect(await names("?q=EU%20db")).toEqual(["backup eu"]);
    expect(await names("?q=nothing")).toEqual([]);
    expect(await names("?state=new&group=none")).toEqual(["backup eu", "report"]);
    expect(await names("?state=trouble")).toEqual([]);
    const { tags } = await read("?tag=mail");
    expect(tags).toEqual([
      { name: "db", count: 2 },
      { name: "mail", count: 1 },
    ]);
  });

  test("more than a page are continued, and counted as lanes unless rows are requested", async () => {
    const { id: projectId } = cast.owner.project;
    for (let i = 0; i <= TIMELINE_ROWS_MAX; i += 1) {
      await sampleCheck(cast.db, { projectId, name: `job ${i}`, tags: i % 2 === 0 ? "even" : "odd" });
    }
    const first = await read("?mode=rows");
    expect(rowsOf(first)).toHaveLength(TIMELINE_ROWS_MAX);
    const second = await read(`?mode=rows&cursor=${first.next}`);
    expect(second.next).toBeNull();
    const all = [...rowsOf(first), ...rowsOf(second)].map(({ id }) => id);
    expect(new Set(all).size).toBe(TIMELINE_ROWS_MAX + 1);
    const density = await read();
    expect(density).toMatchObject({ mode: "density", total: TIMELINE_ROWS_MAX + 1, groups: [], next: null });
    expect(density.lanes.map(({ tag, count }) => [tag, count])).toEqual([
      ["even", 76],
      ["odd", 75],
    ]);
  });
});

describe("lanes", () => {
  test("count expected runs of checks that were up, and pull out those in trouble", async () => {
    const well = await newCheck(cast, { name: "well", tags: "db", timeout: 600 });
    const ill = await newCheck(cast, { name: "ill", tags: "db", timeout: 600 });
    await ran(well.uuid, [{ ago: 1, took: 1 }]);
    await ran(ill.uuid, [{ ago: 1, took: 1, failed: true }]);
    await cast.db.pool.query("update checks set created_at = now() - interval '2 days'");
    const timeline = await read("?mode=density&range=6h");
    expect(timeline.lanesFrom).toBe("schedule");
    const [lane] = timeline.lanes;
    expect(lane).toMatchObject({ tag: "db", isRest: false, count: 2, downCount: 1, moreCount: 0 });
    expect(lane?.rows.map(({ name }) => name)).toEqual(["ill"]);
    const sum = (counts: readonly number[] = []) => counts.reduce((all, one) => all + one, 0);
    // Four hours back, two hours ahead, every ten minutes.
    expect(Math.abs(sum(lane?.ran) + sum(lane?.failed) - 48)).toBeLessThanOrEqual(2);
    expect(sum(lane?.failed)).toBeGreaterThanOrEqual(1);
    expect(Math.abs(sum(lane?.ahead) - 24)).toBeLessThanOrEqual(2);
    expect(timeline.load.isEstimate).toBe(true);
  });

  test("over a month, they are daily totals", async () => {
    const { uuid } = await newCheck(cast, { name: "well", tags: "db", schedule: "0 * * * *" });
    const { rows } = await cast.db.pool.query<{ id: number }>("select id from checks where uuid = $1", [
      uuid,
    ]);
    const checkId = Number(rows[0]?.id);
    const day = new Date((await cast.now()) - 3 * DAY_MS).toISOString().slice(0, 10);
    const sums = { timedCount: 24, durationSumMs: 2 * DAY_MS, durationMaxMs: HOUR_MS };
    await inTransaction(cast.db, (tx) =>
      addDayTotals(tx, [{ checkId, totals: { day, successCount: 22, failCount: 2, ...sums } }]),
    );
    // Totals are kept for a minute, and no other test asks for those of this tag.
    const timeline = await read("?mode=density&range=30d&tag=db");
    expect(timeline).toMatchObject({ lanesFrom: "days", columnMs: DAY_MS });
    const column = (Date.parse(day) - timeline.columnsFrom) / DAY_MS;
    const [lane] = timeline.lanes;
    expect([lane?.ran[column], lane?.failed[column], lane?.missed[column]]).toEqual([22, 2, 0]);
    expect(timeline.load).toMatchObject({ measure: "mean", columnMs: DAY_MS });
    expect(timeline.load.counts[column]).toBe(2);
    const filtered = await read("?mode=density&range=30d&q=other");
    expect(filtered.lanes).toEqual([]);
  });

  test("those of a project without checks are none", async () => {
    expect(await read("?mode=density&range=90d")).toMatchObject({
      total: 0,
      lanes: [],
      load: { peak: null },
    });
  });
});

describe("ranges", () => {
  test("are given, or chosen", async () => {
    const now = await cast.now();
    const [from, to] = [now - 3 * HOUR_MS, now + HOUR_MS];
    expect(await read(`?from=${from}&to=${to}`)).toMatchObject({ from, to });
    const week = await read("?range=7d");
    expect(week.to - week.from).toBe(7 * DAY_MS);
  });

  test.each([
    ["only one end", () => "?from=1000", "Give both from and to."],
    [
      "too short",
      (now: number) => `?from=${now}&to=${now + 1}`,
      "to must be at least 10 minutes after from.",
    ],
    [
      "backwards",
      (now: number) => `?from=${now}&to=${now - DAY_MS}`,
      "to must be at least 10 minutes after from.",
    ],
    [
      "too long",
      (now: number) => `?from=${now - 99 * DAY_MS}&to=${now}`,
      "The range can be at most 98 days long.",
    ],
    ["too far", (now: number) => `?from=${now}&to=${now + 9 * DAY_MS}`, "to can be at most 8 days from now."],
  ])("%s are refused", async (_, query, sentence) => {
    const reply = await ask(query(await cast.now()));
    expect([reply.status, reply.detail]).toEqual([400, sentence]);
  });
});
