// Settings of checks: every way to find them, changing only the given fields, deleting both ways.
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { DEFAULT_SETTINGS } from "../../src/core/check.ts";
import { DEFAULT_RULES } from "../../src/core/rules.ts";
import { NEW_STATE } from "../../src/core/state.ts";
import {
  countChecksOwnedBy,
  deleteCheckRow,
  findCheckByBadgeUuid,
  findCheckByUuid,
  findCheckNames,
  findChecksByIds,
  findChecksBySlug,
  findChecksDeletedBefore,
  findOldestMatch,
  findShownCheck,
  insertCheck,
  listCheckIdsAfter,
  listChecks,
  listDeletedChecks,
  lockCreation,
  lockOwnedChecks,
  lockStates,
  markCheckDeleted,
  restoreCheck,
  updateCheck,
  updateSchedules,
} from "../../src/store/checks.ts";
import { postgresErrorName } from "../../src/store/errors.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON, sampleAccount, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();

/** Every field different from its default, so that swapped columns are detected. */
const UNUSUAL = {
  name: "Nightly backup",
  slug: "nightly-backup",
  tags: "prod db",
  desc: "of the big one",
  kind: "cron",
  timeoutSeconds: 120,
  graceSeconds: 240,
  schedule: "5 4 * * *",
  tz: "Europe/Riga",
  manualResume: true,
  methods: "POST",
  startKw: "begin",
  successKw: "done",
  failureKw: "broke",
  filterSubject: true,
  filterBody: true,
  filterHttpBody: true,
  filterDefaultFail: true,
  rules: { ...DEFAULT_RULES, failures: { count: 2, of: 3 }, maxRunSeconds: 0 },
} as const;

describe("finding", () => {
  test("a check comes back with every setting and the state of a new one", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const check = await sampleCheck(database.db, { projectId, ...UNUSUAL });
    expect(check).toMatchObject({
      projectId,
      settings: UNUSUAL,
      state: NEW_STATE,
      downAt: null,
      sweepAt: null,
    });
    expect(check.createdAt).toBe(MONDAY_NOON);
    expect(await findCheckByBadgeUuid(database.db, check.badgeUuid)).toEqual(check);
    expect(await findCheckByUuid(database.db, randomUUID())).toBeNull();
    expect(await findCheckByBadgeUuid(database.db, randomUUID())).toBeNull();
  });

  test("a uuid belongs to one check only", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const { uuid } = await sampleCheck(database.db, { projectId });
    const again = inTransaction(database.db, (tx) =>
      insertCheck(tx, {
        uuid,
        badgeUuid: randomUUID(),
        projectId,
        settings: DEFAULT_SETTINGS,
        createdAt: MONDAY_NOON,
      }),
    );
    expect(postgresErrorName(await again.catch((error: unknown) => error))).toBe("unique_violation");
  });

  test("a slug is looked up inside the project of the ping key", async () => {
    const project = await sampleProject(database.db);
    const other = await sampleProject(database.db);
    const check = await sampleCheck(database.db, { projectId: project.id, slug: "db" });
    await sampleCheck(database.db, { projectId: other.id, slug: "db" });
    await sampleCheck(database.db, { projectId: project.id, slug: "" });
    const find = (slug: string) => findChecksBySlug(database.db, { pingKey: project.pingKey ?? "", slug });
    expect(await find("db")).toEqual([check]);
    expect(await find("nope")).toEqual([]);
    expect(await find("")).toEqual([]);
    expect(await findChecksBySlug(database.db, { pingKey: "nope", slug: "db" })).toEqual([]);
  });

  test("an ambiguous slug gives the two oldest checks", async () => {
    const project = await sampleProject(database.db);
    const checks = [];
    for (let i = 0; i < 3; i++) {
      checks.push(await sampleCheck(database.db, { projectId: project.id, slug: "twice" }));
    }
    const found = await findChecksBySlug(database.db, { pingKey: project.pingKey ?? "", slug: "twice" });
    expect(found.map((check) => check.uuid)).toEqual(checks.slice(0, 2).map((check) => check.uuid));
  });

  test("many are found by id", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const first = await sampleCheck(database.db, { projectId, name: "a" });
    const second = await sampleCheck(database.db, { projectId, name: "b" });
    const found = await findChecksByIds(database.db, [second.id, first.id, 999_999]);
    expect(await findCheckNames(database.db, [first.id, 999_999])).toEqual([
      { id: first.id, uuid: first.uuid, name: first.settings.name, tz: first.settings.tz },
    ]);
    expect(found.map((check) => check.settings.name).toSorted()).toEqual(["a", "b"]);
  });

  test("a project's checks are listed oldest first, or by slug", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const first = await sampleCheck(database.db, { projectId, slug: "one" });
    const second = await sampleCheck(database.db, { projectId, slug: "two" });
    const shown = ({ id, uuid, badgeUuid, settings }: typeof first) => ({ id, uuid, badgeUuid, settings });
    const listed = (more: Partial<Parameters<typeof listChecks>[1]>) =>
      listChecks(database.db, { projectId, ...more });
    expect(await listed({})).toMatchObject([shown(first), shown(second)]);
    expect(await listed({ slug: "two" })).toMatchObject([shown(second)]);
    const page = { afterId: 0, limit: 10, bytesMax: 1 };
    expect(await listed({ page })).toMatchObject([shown(first), shown(second)]);
    await database.db.pool.query("update checks set description = 'long' where id = $1", [first.id]);
    const paged = async (afterId: number) =>
      (await listChecks(database.db, { projectId, page: { ...page, afterId } })).map(({ id }) => id);
    expect([await paged(0), await paged(first.id)]).toEqual([[first.id], [second.id]]);
  });

  test("the oldest check that has all the given values is the match", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const plain = await sampleCheck(database.db, { projectId, name: "job" });
    const tagged = await sampleCheck(database.db, {
      projectId,
      name: "job",
      tags: "prod",
      timeoutSeconds: 90,
    });
    await sampleCheck(database.db, { projectId, name: "job", tags: "prod" });
    const find = (criteria: Parameters<typeof findOldestMatch>[1]["criteria"]) =>
      findOldestMatch(database.db, { projectId, criteria });
    expect(await find({ name: "job" })).toEqual(plain);
    expect(await find({ name: "job", tags: "prod" })).toEqual(tagged);
    expect(await find({ timeoutSeconds: 90, graceSeconds: 3600, slug: "" })).toEqual(tagged);
    expect(await find({ name: "job", tags: "test" })).toBeNull();
    const elsewhere = await sampleProject(database.db);
    expect(
      await findOldestMatch(database.db, { projectId: elsewhere.id, criteria: { name: "job" } }),
    ).toBeNull();
  });

  test("an owner's checks are counted over all projects, deleted ones not", async () => {
    const owner = await sampleAccount(database.db);
    for (let i = 0; i < 2; i++) {
      const { id: projectId } = await sampleProject(database.db, { ownerId: owner.id });
      await sampleCheck(database.db, { projectId });
      const { id } = await sampleCheck(database.db, { projectId });
      if (i === 0) {
        await inTransaction(database.db, (tx) => markCheckDeleted(tx, { checkId: id, at: MONDAY_NOON }));
      }
    }
    expect(await countChecksOwnedBy(database.db, owner.id)).toBe(3);
  });
});

describe("changing", () => {
  test("an update writes the given fields and leaves the others", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const { id: checkId } = await sampleCheck(database.db, { projectId });
    const update = (patch: Partial<typeof DEFAULT_SETTINGS>) =>
      inTransaction(database.db, (tx) => updateCheck(tx, { checkId, patch, at: MONDAY_NOON + 1_000 }));
    expect((await update({ name: "new", manualResume: true }))?.settings).toEqual({
      ...DEFAULT_SETTINGS,
      name: "new",
      manualResume: true,
    });
    expect((await update({ name: "", manualResume: false }))?.settings).toEqual(DEFAULT_SETTINGS);
    const whole = await update(UNUSUAL);
    expect(whole?.settings).toEqual({ ...UNUSUAL, rules: null });
    expect(whole?.updatedAt).toBe(MONDAY_NOON + 1_000);
    expect(whole?.createdAt).toBe(MONDAY_NOON);
  });

  test("an update of several schedules writes each its own, and nothing else", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const one = await sampleCheck(database.db, { projectId, name: "one" });
    const two = await sampleCheck(database.db, { projectId, name: "two" });
    const gone = await sampleCheck(database.db, { projectId });
    const { kind, timeoutSeconds, graceSeconds, schedule, tz } = UNUSUAL;
    const when = { kind, timeoutSeconds, graceSeconds, schedule, tz };
    const several = { ...when, kind: "oncalendar" as const, schedule: "Mon *-*-* 03:00\nTue *-*-* 04:00" };
    const count = await inTransaction(database.db, async (tx) => {
      await markCheckDeleted(tx, { checkId: gone.id, at: MONDAY_NOON });
      const changes = [
        { checkId: one.id, settings: { ...UNUSUAL, ...when } },
        { checkId: two.id, settings: { ...UNUSUAL, ...several } },
        { checkId: gone.id, settings: { ...UNUSUAL, ...when } },
      ];
      return updateSchedules(tx, { changes, at: MONDAY_NOON + 1_000 });
    });
    expect(count).toBe(2);
    const after = async ({ uuid }: { uuid: string }) => findCheckByUuid(database.db, uuid);
    expect((await after(one))?.settings).toEqual({ ...one.settings, ...when });
    expect((await after(two))?.settings).toEqual({ ...two.settings, ...several });
    expect((await after(two))?.updatedAt).toBe(MONDAY_NOON + 1_000);
  });

  /** The order in which two concurrent transactions enter and leave the same lock. */
  async function orderOf(lock: (tx: Tx) => Promise<void>): Promise<string[]> {
    const order: string[] = [];
    const pass = () =>
      inTransaction(database.db, async (tx) => {
        await lock(tx);
        order.push("in");
        await new Promise((resolve) => setImmediate(resolve));
        order.push("out");
      });
    await Promise.all([pass(), pass()]);
    return order;
  }

  test("of two creations of the same thing, or for the same owner, the second waits for the first", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const inTurn = ["in", "out", "in", "out"];
    expect(await orderOf((tx) => lockCreation(tx, { projectId, what: "slug:db" }))).toEqual(inTurn);
    expect(await orderOf((tx) => lockOwnedChecks(tx, projectId))).toEqual(inTurn);
  });
});

describe("deleting", () => {
  test("a marked check is not found until it is restored", async () => {
    const project = await sampleProject(database.db);
    const check = await sampleCheck(database.db, { projectId: project.id, slug: "gone", name: "Gone" });
    const mark = (at: number) =>
      inTransaction(database.db, (tx) => markCheckDeleted(tx, { checkId: check.id, at }));
    expect(await mark(MONDAY_NOON)).toBe(true);
    expect(await mark(MONDAY_NOON + 1)).toBe(false);

    expect(await findCheckByUuid(database.db, check.uuid)).toBeNull();
    expect(await findCheckByBadgeUuid(database.db, check.badgeUuid)).toBeNull();
    expect(await findChecksByIds(database.db, [check.id])).toEqual([]);
    expect(await findChecksBySlug(database.db, { pingKey: project.pingKey ?? "", slug: "gone" })).toEqual([]);
    expect(await listChecks(database.db, { projectId: project.id })).toEqual([]);
    const criteria = { name: "Gone" };
    expect(await findOldestMatch(database.db, { projectId: project.id, criteria })).toBeNull();
    const patch = { name: "x" };
    const updated = await inTransaction(database.db, (tx) =>
      updateCheck(tx, { checkId: check.id, patch, at: MONDAY_NOON }),
    );
    expect(updated).toBeNull();
    const bin = (from: number, limit = 9) =>
      listDeletedChecks(database.db, { projectId: project.id, from, limit });
    expect(await bin(MONDAY_NOON)).toEqual([
      { id: check.id, uuid: check.uuid, name: "Gone", deletedAt: MONDAY_NOON },
    ]);
    expect([await bin(MONDAY_NOON + 1), await bin(0, 0)]).toEqual([[], []]);

    const restore = () => inTransaction(database.db, (tx) => restoreCheck(tx, check.id));
    expect(await restore()).toBe(true);
    expect(await restore()).toBe(false);
    expect(await findCheckByUuid(database.db, check.uuid)).toEqual(check);
  });

  test("what was marked before an instant is found, and goes for good with its state", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const { id: checkId } = await sampleCheck(database.db, { projectId });
    const at = Date.UTC(2020, 0, 1);
    await inTransaction(database.db, (tx) => markCheckDeleted(tx, { checkId, at }));
    expect(await findChecksDeletedBefore(database.db, { before: at, limit: 10 })).toEqual([]);
    expect(await findChecksDeletedBefore(database.db, { before: at + 1, limit: 10 })).toEqual([checkId]);
    // A search over all checks finds it until then.
    const portion = { afterId: checkId - 1, limit: 1 };
    expect(await listCheckIdsAfter(database.db, portion)).toEqual([checkId]);
    expect(await listCheckIdsAfter(database.db, { afterId: checkId, limit: 9 })).toEqual([]);
    const remove = () => inTransaction(database.db, (tx) => deleteCheckRow(tx, checkId));
    expect(await remove()).toBe(true);
    expect(await remove()).toBe(false);
    expect(await inTransaction(database.db, (tx) => lockStates(tx, [checkId]))).toEqual([]);
  });
});

test("a check is found as it is shown: with its state and its channels, in whatever project", async () => {
  const { id: projectId } = await sampleProject(database.db);
  const check = await sampleCheck(database.db, { projectId });
  expect(await findShownCheck(database.db, check.uuid)).toMatchObject({
    uuid: check.uuid,
    state: NEW_STATE,
    channelUuids: [],
  });
  expect(await findShownCheck(database.db, randomUUID())).toBeNull();
});
