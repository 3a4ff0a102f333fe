// What the dashboard reads of many checks: compact rows, their order, counts, and changes since a cursor.
import { describe, expect, test, vi } from "vitest";
import { HOUR_MS, MINUTE_MS } from "../../src/core/instant.ts";
import { DEFAULT_RULES } from "../../src/core/rules.ts";
import { isAlertOpen, mayBeLate, quickStatusAt, statusAt } from "../../src/core/state.ts";
import { assignChannels, insertChannel } from "../../src/store/channels.ts";
import {
  countChecks,
  countDown,
  findBulkChecks,
  findLeanChecks,
  type LeanCheck,
  listChangedChecks,
  listCheckNames,
  listLeanChecks,
  listRecentMarks,
  listUrgentChecks,
  readSnapshot,
  tallyChecks,
  tallyStatuses,
  tallyTags,
} from "../../src/store/check-lists.ts";
import {
  deletedAtOf,
  findDeletedCheck,
  markCheckDeleted,
  moveCheck,
  updateCheck,
} from "../../src/store/checks.ts";
import { medianAlertDelay } from "../../src/store/deliveries.ts";
import { insertEvents } from "../../src/store/events.ts";
import {
  insertFlips,
  listChangedFlips,
  listDownSince,
  listNewestFlipIds,
  listNewestFlips,
} from "../../src/store/flips.ts";
import { countChecksMadeSince, findProjectEntry, findVisit, writeVisit } from "../../src/store/projects.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { sampleIntake } from "../support/checks-under-change.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON, sampleAccount, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();
const HOURLY = { timeoutSeconds: 3_600, graceSeconds: 600 };

/** One check of each kind at noon: down, up, running, new. */
async function sampleList() {
  const { db } = database;
  const project = await sampleProject(db);
  const make = (name: string, given: object = {}) =>
    sampleCheck(db, { projectId: project.id, name, ...HOURLY, ...given });
  const down = await make("down", { tags: "a b" });
  const up = await make("up", { tags: "b" });
  const running = await make("running", { kind: "cron", schedule: "30 12 * * *", tags: "c" });
  const fresh = await make("fresh");
  const record = await sampleIntake(db);
  await record([
    { uuid: up.uuid },
    { uuid: down.uuid, action: { exitStatus: 3 } },
    { uuid: running.uuid },
    { uuid: running.uuid, action: "start" },
  ]);
  return { project, down, up, running, fresh, record };
}

const names = (checks: readonly LeanCheck[]) => checks.map(({ name }) => name);

describe("lean rows", () => {
  test("come oldest first, in pages, with the reason why a check is down", async () => {
    const { db } = database;
    const { project, down } = await sampleList();
    await db.pool.query("update pings set exit_status = 3 where check_id = $1", [down.id]);
    const first = await listLeanChecks(db, { projectId: project.id, afterId: 0, limit: 3 });
    expect(names(first)).toEqual(["down", "up", "running"]);
    const rest = await listLeanChecks(db, { projectId: project.id, afterId: first[2]?.id ?? 0, limit: 3 });
    expect(names(rest)).toEqual(["fresh"]);
    expect(first[0]?.down).toEqual({ since: MONDAY_NOON, reason: "fail", exitStatus: 3 });
    expect(first[1]).toMatchObject({ down: null, channelCount: 0, downAt: MONDAY_NOON + 70 * MINUTE_MS });
    expect(names(await findLeanChecks(db, [down.uuid]))).toEqual(["down"]);
  });

  test("count their channels, and bulk requests see which they are", async () => {
    const { db } = database;
    const { project, up } = await sampleList();
    const uuid = crypto.randomUUID();
    await inTransaction(db, async (tx) => {
      const channel = {
        uuid,
        projectId: project.id,
        kind: "webhook",
        name: "",
        config: {},
        createdAt: MONDAY_NOON,
      };
      const { id } = await insertChannel(tx, channel);
      await assignChannels(tx, { checkId: up.id, channelIds: [id] });
    });
    expect((await findLeanChecks(db, [up.uuid]))[0]?.channelCount).toBe(1);
    const [bulk] = await findBulkChecks(db, { uuids: [up.uuid], projectId: project.id });
    expect(bulk).toEqual({ id: up.id, uuid: up.uuid, status: "up" });
    expect(await findBulkChecks(db, { uuids: [up.uuid], projectId: project.id + 1 })).toEqual([]);
  });

  test("are sorted by urgency", async () => {
    const { db } = database;
    const { project } = await sampleList();
    const at = async (now: number) =>
      names((await listUrgentChecks(db, { projectId: project.id, now, limit: 10 })).checks);
    expect(await at(MONDAY_NOON + MINUTE_MS)).toEqual(["down", "running", "up", "fresh"]);
    // Both are late by then: the run should have ended ten minutes after its start, and so comes first.
    expect(await at(MONDAY_NOON + HOUR_MS)).toEqual(["down", "running", "up", "fresh"]);
    const empty = await sampleProject(db);
    const none = await listUrgentChecks(db, { projectId: empty.id, now: MONDAY_NOON, limit: 10 });
    expect(none.checks).toEqual([]);
    expect(none.cursor).toBeGreaterThan(0);
  });
});

describe("what has changed", () => {
  test("is found by the cursor of an earlier read: settings, states, and nothing else", async () => {
    const { db } = database;
    const { project, up, fresh, record } = await sampleList();
    const projectIds = [project.id];
    const look = () => listUrgentChecks(db, { projectId: project.id, now: MONDAY_NOON, limit: 10 });
    const since = async (cursor: number) =>
      names(await listChangedChecks(db, { projectIds, since: cursor, limit: 10 })).toSorted();
    // While another transaction is open, the cursor stays before it, and newer changes are returned again.
    const { cursor, checks } = await vi.waitFor(async () => {
      const seen = await look();
      expect(await since(seen.cursor)).toEqual([]);
      return seen;
    }, 40_000);
    const changed = () => since(cursor);
    await record([{ uuid: fresh.uuid }]);
    expect(await changed()).toEqual(["fresh"]);
    await inTransaction(db, (tx) =>
      updateCheck(tx, { checkId: up.id, patch: { name: "renamed" }, at: MONDAY_NOON }),
    );
    expect(await changed()).toEqual(["fresh", "renamed"]);
    const now = await findLeanChecks(db, [up.uuid]);
    expect(now[0]?.change).toBeGreaterThan(checks.find(({ id }) => id === up.id)?.change ?? Infinity);
  });

  test("is not missed when a transaction that began earlier commits later", async () => {
    const { db } = database;
    const { project, up, fresh } = await sampleList();
    const projectIds = [project.id];
    const slow = await db.pool.connect();
    try {
      await slow.query("begin");
      await slow.query("update checks set name = 'slow' where id = $1", [up.id]);
      await inTransaction(db, (tx) =>
        updateCheck(tx, { checkId: fresh.id, patch: { name: "quick" }, at: MONDAY_NOON }),
      );
      const { xmin, xmax } = await readSnapshot(db);
      expect(xmin).toBeLessThan(xmax);
      await slow.query("commit");
      expect(names(await listChangedChecks(db, { projectIds, since: xmin, limit: 10 }))).toContain("slow");
    } finally {
      slow.release();
    }
  });

  test("is another number, read later, also where the one who wrote last had begun first", async () => {
    const { db } = database;
    const { project, up } = await sampleList();
    const read = async () => {
      const { checks } = await listUrgentChecks(db, { projectId: project.id, now: MONDAY_NOON, limit: 10 });
      return checks.find(({ uuid }) => uuid === up.uuid) ?? expect.fail("it is there");
    };
    const slow = await db.pool.connect();
    try {
      await slow.query("begin");
      await slow.query("select pg_current_xact_id()");
      const patch = { name: "quick" };
      await inTransaction(db, (tx) => updateCheck(tx, { checkId: up.id, patch, at: MONDAY_NOON }));
      const quick = await read();
      await slow.query("update check_states set ping_count = ping_count + 1 where check_id = $1", [up.id]);
      expect((await read()).change).toBe(quick.change);
      await slow.query("commit");
      const late = await read();
      expect(late.lastXid).toBe(quick.lastXid);
      expect(late.change).not.toBe(quick.change);
      expect(late.readingOrder).toBeGreaterThan(quick.readingOrder);
    } finally {
      slow.release();
    }
  });

  test("includes flips, except retracted ones", async () => {
    const { db } = database;
    const { project, up } = await sampleList();
    const projectIds = [project.id];
    // Until all concurrent writers have finished, earlier changes would be returned again.
    const { xmax } = await readSnapshot(db);
    const since = await vi.waitFor(async () => {
      const { xmin } = await readSnapshot(db);
      expect(xmin).toBeGreaterThanOrEqual(xmax);
      return xmin;
    }, 40_000);
    const flip = { at: MONDAY_NOON, from: "up" as const, to: "down" as const, reason: "timeout" as const };
    const [id] = await inTransaction(db, (tx) => insertFlips(tx, [{ checkId: up.id, flip }]));
    const expected = {
      id,
      projectId: project.id,
      uuid: up.uuid,
      name: "up",
      at: MONDAY_NOON,
      from: "up",
      to: "down",
      reason: "timeout",
    };
    expect(await listChangedFlips(db, { projectIds, since, limit: 100 })).toEqual([expected]);
    expect(await listNewestFlips(db, projectIds)).toEqual([expected]);
    const newest = { projectId: project.id, lookedAt: 100, limit: 10 };
    expect((await listNewestFlipIds(db, newest))[0]).toBe(id);
    expect(await listNewestFlipIds(db, { ...newest, limit: 0 })).toEqual([]);
    await db.pool.query("update flips set taken_back_at = now() where id = $1", [id]);
    expect(await listChangedFlips(db, { projectIds, since, limit: 100 })).toEqual([]);
    expect(await listNewestFlips(db, projectIds)).not.toMatchObject([{ id }]);
  });

  test("has the last flip of a project, however many others have flipped since", async () => {
    const { db } = database;
    const { project, up, fresh } = await sampleList();
    const loud = await sampleList();
    const flipAt = (at: number) => ({ at, from: "up", to: "down", reason: "fail" }) as const;
    const [last] = await inTransaction(db, (tx) =>
      insertFlips(tx, [
        { checkId: up.id, flip: flipAt(MONDAY_NOON + 2) },
        { checkId: up.id, flip: flipAt(MONDAY_NOON) },
        { checkId: fresh.id, flip: flipAt(MONDAY_NOON + 1) },
      ]),
    );
    await db.pool.query(
      `insert into flips (check_id, at, from_status, to_status, reason)
        select $1, $2::timestamptz + i * interval '1 s', 'up', 'down', 'fail' from generate_series(1, 2500) i`,
      [loud.up.id, new Date(MONDAY_NOON)],
    );
    const newest = await listNewestFlips(db, [project.id, loud.project.id, (await sampleProject(db)).id]);
    expect(newest.map(({ projectId, at }) => [projectId, at])).toEqual([
      [loud.project.id, MONDAY_NOON + 2_500_000],
      [project.id, MONDAY_NOON + 2],
    ]);
    expect(newest[1]?.id).toBe(last);
  });

  test("shows in the number and the names of the checks", async () => {
    const { db } = database;
    const { project, up, fresh } = await sampleList();
    const other = await sampleProject(db);
    await inTransaction(db, async (tx) => {
      await markCheckDeleted(tx, { checkId: fresh.id, at: MONDAY_NOON });
      await moveCheck(tx, { checkId: up.id, projectId: other.id, at: MONDAY_NOON });
    });
    const projectIds = [project.id, other.id];
    expect(await countChecks(db, projectIds)).toEqual(
      new Map([
        [project.id, 2],
        [other.id, 1],
      ]),
    );
    expect(await countDown(db, projectIds)).toEqual(new Map([[project.id, 1]]));
    const listed = await listCheckNames(db, projectIds);
    expect(listed.filter(({ projectId }) => projectId === other.id).map(({ uuid }) => uuid)).toEqual([
      up.uuid,
    ]);
    expect((await findDeletedCheck(db, fresh.uuid))?.id).toBe(fresh.id);
    expect(await findDeletedCheck(db, up.uuid)).toBeNull();
    expect(await deletedAtOf(db, fresh.id)).toBe(MONDAY_NOON);
    expect(await deletedAtOf(db, up.id)).toBeNull();
  });
});

describe("counts", () => {
  test("say what core says, at every instant, but for those that they name as uncertain", async () => {
    const { db } = database;
    const { project } = await sampleList();
    const checks = await listLeanChecks(db, { projectId: project.id, afterId: 0, limit: 10 });
    for (const minutes of [0, 1, 9, 10, 11, 29, 30, 31, 59, 60, 69, 70, 71, 24 * 60]) {
      const now = MONDAY_NOON + minutes * MINUTE_MS;
      const [tally] = await tallyChecks(db, { projectIds: [project.id], now });
      const uncertain = checks.filter(({ id }) => tally?.uncertain.includes(id));
      const late = checks.filter((check) => statusAt(check, now) === "grace").length;
      const hidden = uncertain.filter((check) => statusAt(check, now) === "grace").length;
      expect(tally?.total).toBe(4);
      expect(tally?.byRank[1], `late after ${minutes} minutes`).toBe(late - hidden);
      expect(tally?.byRank).toEqual([1, late - hidden, 2 - (late - hidden), 1, 0]);
      expect(tally?.runningByRank.reduce((sum, count) => sum + count, 0)).toBe(1);
    }
  });

  test("say what core says for checks with limits of their own, idle and running", async () => {
    const { db } = database;
    const project = await sampleProject(db);
    const record = await sampleIntake(db);
    const limits = [
      { startWithinSeconds: 300 },
      { maxRunSeconds: 1_800 },
      { maxRunSeconds: 0 },
      { maxRunSeconds: 0, startWithinSeconds: 1_200 },
      { maxRunSeconds: 7_200, startWithinSeconds: 1_200, earlySeconds: 600 },
    ];
    for (const limit of limits) {
      const rules = { ...DEFAULT_RULES, failures: { count: 2, of: 2 }, ...limit };
      for (const when of [{}, { kind: "cron" as const, schedule: "30 * * * *" }]) {
        for (const start of [null, 5, 35, 65]) {
          const check = await sampleCheck(db, { projectId: project.id, ...HOURLY, ...when, rules });
          await record([{ uuid: check.uuid }]);
          const at = MONDAY_NOON + (start ?? 0) * MINUTE_MS;
          if (start !== null) await record([{ uuid: check.uuid, action: "start", at }]);
        }
        const tolerated = await sampleCheck(db, { projectId: project.id, ...HOURLY, ...when, rules });
        await record([{ uuid: tolerated.uuid, action: "fail" }]);
      }
    }
    const checks = await listLeanChecks(db, { projectId: project.id, afterId: 0, limit: 100 });
    const down = checks.filter(({ state }) => state.status === "down");
    expect([checks.length, down.length]).toEqual([50, 10]);
    for (const check of down) expect(isAlertOpen(check.state) || check.downAt === null).toBe(false);
    for (let minutes = 0; minutes < 240; minutes += 5) {
      const now = MONDAY_NOON + minutes * MINUTE_MS;
      const [tally] = await tallyChecks(db, { projectIds: [project.id], now });
      const isLate = (check: LeanCheck) => statusAt(check, now) === "grace";
      const late = checks.filter(isLate).length;
      const hidden = checks.filter((check) => tally?.uncertain.includes(check.id) && isLate(check)).length;
      expect(tally?.byRank, `after ${minutes} minutes`).toEqual([
        10,
        late - hidden,
        40 - late + hidden,
        0,
        0,
      ]);
      for (const check of checks) expect(quickStatusAt(check, now)).toBe(statusAt(check, now));
      const badge = { badgeKey: project.badgeKey, tag: null, now };
      const uncertain = checks.filter((check) => mayBeLate(check, now)).map(({ id }) => id);
      expect((await tallyStatuses(db, badge))?.uncertain.toSorted((a, b) => a - b)).toEqual(uncertain);
    }
  });

  test("of tags have the worst of their checks, the most used first", async () => {
    const { db } = database;
    const { project } = await sampleList();
    const asked = { projectId: project.id, now: MONDAY_NOON + MINUTE_MS };
    expect(await tallyTags(db, { ...asked, limit: 10 })).toEqual([
      { tag: "b", count: 2, rank: 0 },
      { tag: "a", count: 1, rank: 0 },
      { tag: "c", count: 1, rank: 2 },
    ]);
    expect(await tallyTags(db, { ...asked, limit: 1 })).toHaveLength(1);
  });
});

describe("the newest marks of checks", () => {
  test("are runs, missed deadlines, monitoring gaps and pauses, in order of time", async () => {
    const { db } = database;
    const { up, down } = await sampleList();
    await inTransaction(db, async (tx) => {
      const flip = { from: "up" as const, to: "down" as const, reason: "timeout" as const };
      await insertFlips(tx, [{ checkId: up.id, flip: { ...flip, at: MONDAY_NOON + HOUR_MS } }]);
      const event = { checkId: up.id, accountId: null, detail: {} };
      await insertEvents(tx, [
        { ...event, kind: "not_observed", at: MONDAY_NOON + 2 * HOUR_MS },
        { ...event, kind: "paused", at: MONDAY_NOON + 3 * HOUR_MS },
        { ...event, kind: "edited", at: MONDAY_NOON + 4 * HOUR_MS },
      ]);
    });
    const marks = await listRecentMarks(db, { checkIds: [up.id, down.id], limit: 30 });
    const kinds = (checkId: number) =>
      marks.filter((mark) => mark.checkId === checkId).map(({ kind }) => kind);
    expect(kinds(up.id)).toEqual(["success", "missed", "unseen", "paused"]);
    expect(kinds(down.id)).toEqual(["fail"]);
    expect(await listRecentMarks(db, { checkIds: [], limit: 30 })).toEqual([]);
  });
});

describe("visits and entries", () => {
  test("an account enters its projects as what it is there, and no others", async () => {
    const { db } = database;
    const owner = await sampleAccount(db);
    const stranger = await sampleAccount(db);
    const project = await sampleProject(db, { ownerId: owner.id });
    const entry = await findProjectEntry(db, { accountId: owner.id, projectUuid: project.uuid });
    expect(entry).toEqual({ project, role: "owner" });
    expect(await findProjectEntry(db, { accountId: owner.id, projectId: project.id })).toEqual(entry);
    expect(await findProjectEntry(db, { accountId: stranger.id, projectId: project.id })).toBeNull();
    expect(await findProjectEntry(db, { accountId: stranger.id, projectUuid: project.uuid })).toBeNull();
  });

  test("the last visit is kept, and what went down or was made since is found", async () => {
    const { db } = database;
    const owner = await sampleAccount(db);
    const project = await sampleProject(db, { ownerId: owner.id });
    const visitor = { projectId: project.id, accountId: owner.id };
    expect(await findVisit(db, visitor)).toBeNull();
    await inTransaction(db, (tx) => writeVisit(tx, { ...visitor, at: MONDAY_NOON }));
    await inTransaction(db, (tx) => writeVisit(tx, { ...visitor, at: MONDAY_NOON - HOUR_MS }));
    expect(await findVisit(db, visitor)).toBe(MONDAY_NOON);
    const check = await sampleCheck(db, { projectId: project.id, name: "one", ...HOURLY });
    await (await sampleIntake(db))([{ uuid: check.uuid, action: "fail" }]);
    const since = MONDAY_NOON - 1;
    expect(await listDownSince(db, { projectId: project.id, since, limit: 5 })).toEqual([
      { uuid: check.uuid, name: "one", isDown: true },
    ]);
    expect(await listDownSince(db, { projectId: project.id, since: MONDAY_NOON, limit: 5 })).toEqual([]);
    expect(await countChecksMadeSince(db, { projectId: project.id, since })).toBe(1);
  });

  test("there is no delay while no alert was delivered", async () => {
    expect(await medianAlertDelay(database.db, { since: MONDAY_NOON })).toBeNull();
  });
});
