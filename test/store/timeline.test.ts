// What the timeline reads: checks, runs, flips and events of several checks at once, and daily totals by tag.
import { describe, expect, test } from "vitest";
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS } from "../../src/core/instant.ts";
import { insertEvents } from "../../src/store/events.ts";
import { insertFlips, retractFlip } from "../../src/store/flips.ts";
import { insertPings } from "../../src/store/pings.ts";
import { addDayTotals, insertRunChunks } from "../../src/store/runs.ts";
import {
  listFlipsOfChecks,
  listLoggedRunsOfChecks,
  listPackedRunsOfChecks,
  listTimelineChecks,
  listTimelineEvents,
  sumTagDays,
} from "../../src/store/timeline.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { flip } from "../support/owed.ts";
import { MONDAY_NOON, sampleAccount, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();

const write = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(database.db, work);

async function newProject() {
  const { id: ownerId } = await sampleAccount(database.db);
  return sampleProject(database.db, { ownerId });
}

async function checks(...tags: string[]) {
  const { id: projectId } = await newProject();
  const made = [];
  for (const text of tags) made.push(await sampleCheck(database.db, { projectId, tags: text }));
  return { projectId, ids: made.map(({ id }) => id), made };
}

const RANGE = { from: MONDAY_NOON, to: MONDAY_NOON + DAY_MS };

test("the checks of a project, with what a schedule and a day need", async () => {
  const { id: projectId } = await newProject();
  const simple = await sampleCheck(database.db, { projectId, name: "beat", tags: "db", timeoutSeconds: 300 });
  const cron = await sampleCheck(database.db, {
    projectId,
    kind: "cron",
    schedule: "0 3 * * *",
    tz: "Europe/Riga",
  });
  await database.db.pool.query(
    "update check_states set day = '2026-11-15', day_success_count = 3, day_fail_count = 1, day_timed_count = 4, day_duration_sum_ms = 900, day_duration_max_ms = 500 where check_id = $1",
    [simple.id],
  );
  const given = { projectId, from: MONDAY_NOON - 1, limit: 10 };
  const found = await listTimelineChecks(database.db, { ...given, hasDays: true });
  expect(found).toMatchObject([
    {
      id: simple.id,
      uuid: simple.uuid,
      name: "beat",
      tags: "db",
      createdAt: MONDAY_NOON,
      timing: { kind: "simple", timeoutSeconds: 300 },
      state: { status: "new" },
      today: { day: "2026-11-15", successCount: 3, failCount: 1, durationSumMs: 900 },
    },
    { id: cron.id, timing: { kind: "cron", schedule: "0 3 * * *", tz: "Europe/Riga" }, today: null },
  ]);
  const [later] = await listTimelineChecks(database.db, { ...given, from: MONDAY_NOON, hasDays: false });
  expect(later).toMatchObject({ createdAt: null, today: null });
  expect(await listTimelineChecks(database.db, { ...given, hasDays: false, limit: 1 })).toHaveLength(1);
});

describe("runs", () => {
  test("in the log: those that ended in the range, in order of their end", async () => {
    const { ids } = await checks("a", "b", "c");
    const [one = 0, two = 0, other = 0] = ids;
    const ping = (
      checkId: number,
      n: number,
      at: Instant,
      kind: "success" | "fail" | "start" = "success",
    ) => ({
      checkId,
      n,
      at,
      kind,
      durationMs: kind === "start" ? null : 2_000,
      scheme: "http",
      method: "GET",
      remoteAddr: null,
      ua: "",
      rid: null,
      exitStatus: null,
      bodySize: null,
    });
    await write((tx) =>
      insertPings(tx, [
        ping(one, 1, RANGE.from - 1),
        ping(one, 2, RANGE.from + HOUR_MS, "fail"),
        ping(one, 3, RANGE.from + HOUR_MS + 1, "start"),
        ping(two, 1, RANGE.from),
        ping(two, 2, RANGE.to),
        ping(other, 1, RANGE.from),
      ]),
    );
    expect(await listLoggedRunsOfChecks(database.db, { checkIds: [one, two], ...RANGE })).toEqual([
      { checkId: two, n: 1, endAt: RANGE.from, outcome: "success", durationMs: 2_000 },
      { checkId: one, n: 2, endAt: RANGE.from + HOUR_MS, outcome: "fail", durationMs: 2_000 },
    ]);
  });

  test("packed: the newest are unpacked, of older ones the number is known", async () => {
    const { ids } = await checks("a");
    const [checkId = 0] = ids;
    const hour = (index: number) => ({
      endAt: MONDAY_NOON + index * HOUR_MS,
      outcome: "success" as const,
      durationMs: 1_000,
    });
    const chunk = (first: number) => ({ checkId, runs: [hour(first), hour(first + 1), hour(first + 2)] });
    await write((tx) => insertRunChunks(tx, [chunk(-4), chunk(2), chunk(5)]));
    const range = { checkIds: [checkId], from: MONDAY_NOON - 3 * HOUR_MS, to: MONDAY_NOON + DAY_MS };
    const whole = await listPackedRunsOfChecks(database.db, { ...range, limit: 100 });
    expect(whole.sums).toEqual([]);
    expect(whole.runs.map(({ endAt }) => (endAt - MONDAY_NOON) / HOUR_MS)).toEqual([
      -3, -2, 2, 3, 4, 5, 6, 7,
    ]);
    const part = await listPackedRunsOfChecks(database.db, { ...range, limit: 3 });
    expect(part.runs.map(({ endAt }) => (endAt - MONDAY_NOON) / HOUR_MS)).toEqual([5, 6, 7]);
    expect(part.sums).toEqual([
      { checkId, from: MONDAY_NOON - 4 * HOUR_MS, to: MONDAY_NOON - 2 * HOUR_MS, count: 3 },
      { checkId, from: MONDAY_NOON + 2 * HOUR_MS, to: MONDAY_NOON + 4 * HOUR_MS, count: 3 },
    ]);
  });
});

test("flips: in the range, oldest first, without retracted ones, and no more than the limits", async () => {
  const { ids } = await checks("a", "b");
  const [one = 0, two = 0] = ids;
  const at = (minutes: number) => MONDAY_NOON + minutes * MINUTE_MS;
  await write((tx) =>
    insertFlips(tx, [
      { checkId: one, flip: flip("down", at(-1)) },
      { checkId: one, flip: flip("down", at(1), { reason: "timeout" }) },
      { checkId: one, flip: flip("up", at(2)) },
      { checkId: one, flip: flip("down", at(4), { reason: "timeout" }) },
      { checkId: two, flip: flip("down", at(3)) },
    ]),
  );
  await write((tx) => retractFlip(tx, { checkId: one, deadlineAt: at(4), at: at(5) }));
  const range = { checkIds: ids, ...RANGE };
  const found = await listFlipsOfChecks(database.db, { ...range, limit: 10, limitEach: 10 });
  expect(found.map(({ checkId, at: when, to }) => [checkId, (when - MONDAY_NOON) / MINUTE_MS, to])).toEqual([
    [one, 1, "down"],
    [one, 2, "up"],
    [two, 3, "down"],
  ]);
  const newest = await listFlipsOfChecks(database.db, { ...range, limit: 1, limitEach: 10 });
  expect(newest.map(({ checkId }) => checkId)).toEqual([two]);
  const each = await listFlipsOfChecks(database.db, { ...range, limit: 10, limitEach: 1 });
  expect(each.map(({ checkId, to }) => [checkId, to])).toEqual([
    [one, "up"],
    [two, "down"],
  ]);
});

test("events: pauses, missed runs and changes of the schedule, not other edits", async () => {
  const { ids } = await checks("a");
  const [checkId = 0] = ids;
  const event = { checkId, accountId: null };
  const at = (minutes: number) => MONDAY_NOON + minutes * MINUTE_MS;
  await write((tx) =>
    insertEvents(tx, [
      { ...event, at: at(1), kind: "paused", detail: {} },
      { ...event, at: at(2), kind: "resumed", detail: {} },
      { ...event, at: at(3), kind: "edited", detail: { before: { name: "a" }, after: { name: "b" } } },
      { ...event, at: at(4), kind: "edited", detail: { before: {}, after: { schedule: "0 4 * * *" } } },
      { ...event, at: at(5), kind: "missed", detail: { from: at(0) } },
      { ...event, at: at(6), kind: "not_observed", detail: {} },
    ]),
  );
  const range = { checkIds: ids, ...RANGE };
  const found = await listTimelineEvents(database.db, { ...range, limitEach: 10 });
  expect(found.map(({ kind, at: when }) => [kind, (when - MONDAY_NOON) / MINUTE_MS])).toEqual([
    ["paused", 1],
    ["resumed", 2],
    ["edited", 4],
    ["missed", 5],
  ]);
  expect(found[3]?.detail).toEqual({ from: at(0) });
  const newest = await listTimelineEvents(database.db, { ...range, limitEach: 1 });
  expect(newest.map(({ kind }) => kind)).toEqual(["missed"]);
});

describe("daily totals by tag", () => {
  const totals = (day: string, successCount: number) => ({
    day,
    successCount,
    failCount: 1,
    timedCount: successCount,
    durationSumMs: 10 * successCount,
    durationMaxMs: 10,
  });
  const DAYS = { fromDay: "2026-11-10", toDay: "2026-11-11", tag: null, checkIds: null, tagsMax: 10 };
  const row = (tag: string | null, day: string, successCount: number, failCount = 1) => ({
    tag,
    day,
    successCount,
    failCount,
    durationSumMs: 10 * successCount,
    missedCount: 0,
  });
  const byTag = (days: Awaited<ReturnType<typeof sumTagDays>>) =>
    days.toSorted((one, other) => (`${one.tag} ${one.day}` < `${other.tag} ${other.day}` ? -1 : 1));

  async function filled() {
    const made = await checks("db prod", "db", "", "etl prod");
    const [one = 0, two = 0, three = 0, four = 0] = made.ids;
    await write((tx) =>
      addDayTotals(tx, [
        { checkId: one, totals: totals("2026-11-09", 50) },
        { checkId: one, totals: totals("2026-11-10", 1) },
        { checkId: two, totals: totals("2026-11-10", 2) },
        { checkId: two, totals: totals("2026-11-11", 3) },
        { checkId: three, totals: totals("2026-11-10", 4) },
        { checkId: four, totals: totals("2026-11-10", 5) },
      ]),
    );
    return made;
  }

  test("are added up by the first tag", async () => {
    const { projectId } = await filled();
    expect(byTag(await sumTagDays(database.db, { ...DAYS, projectId }))).toEqual([
      row("db", "2026-11-10", 3, 2),
      row("db", "2026-11-11", 3),
      row("etl", "2026-11-10", 5),
      row(null, "2026-11-10", 4),
    ]);
  });

  test("of one tag, of some checks, and with few tags told apart", async () => {
    const { projectId, ids } = await filled();
    expect(byTag(await sumTagDays(database.db, { ...DAYS, projectId, tag: "prod" }))).toEqual([
      row("db", "2026-11-10", 1),
      row("etl", "2026-11-10", 5),
    ]);
    expect(await sumTagDays(database.db, { ...DAYS, projectId, checkIds: ids.slice(2, 3) })).toEqual([
      row(null, "2026-11-10", 4),
    ]);
    expect(byTag(await sumTagDays(database.db, { ...DAYS, projectId, tagsMax: 1 }))).toEqual([
      row("db", "2026-11-10", 3, 2),
      row("db", "2026-11-11", 3),
      row(null, "2026-11-10", 9, 2),
    ]);
  });

  test("include missed deadlines", async () => {
    const { projectId, ids } = await checks("db");
    const [checkId = 0] = ids;
    const at = Date.UTC(2026, 10, 11, 23, 59);
    await write((tx) =>
      insertFlips(tx, [
        { checkId, flip: flip("down", at, { reason: "timeout" }) },
        { checkId, flip: flip("up", at + 1) },
        { checkId, flip: flip("down", at + 2, { reason: "fail" }) },
        { checkId, flip: flip("down", at + 2 * MINUTE_MS, { reason: "timeout" }) },
      ]),
    );
    expect(await sumTagDays(database.db, { ...DAYS, projectId })).toEqual([
      { ...row("db", "2026-11-11", 0, 0), missedCount: 1 },
    ]);
  });
});
