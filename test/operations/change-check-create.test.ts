// Creating checks: the resulting settings, their channels, when the limit applies, and which existing check a create
// with `unique` updates instead.
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { type CheckParams, DEFAULT_SETTINGS, type UniqueField } from "../../src/core/check.ts";
import { createCheck, type CreateRequest, deleteCheck } from "../../src/operations/checks.ts";
import { findCheckByUuid, listChecks, markCheckDeleted } from "../../src/store/checks.ts";
import { listEvents } from "../../src/store/events.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { creation, sampleChannel, sampleIntake, seenUntil } from "../support/checks-under-change.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON as NOW, sampleAccount, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();

async function create(projectId: number, given: Partial<CreateRequest> = {}) {
  const result = await createCheck(database.db, creation(projectId, given));
  if (result.kind === "refused" || result.kind === "not found") throw new Error(JSON.stringify(result));
  return result;
}

const newProject = () => sampleProject(database.db);

/** The settings of a check that is created with these parameters. */
async function settingsOf(params: CheckParams, deriveSlug = false) {
  const { check } = await create((await newProject()).id, { params, deriveSlug });
  const stored = await findCheckByUuid(database.db, check.uuid);
  expect(stored?.settings).toEqual(check.settings);
  return check.settings;
}

describe("a new check", () => {
  test("has the defaults and no pings, and the response is what is stored", async () => {
    const project = await newProject();
    const { kind, check } = await create(project.id, { at: NOW + 5 });
    expect(kind).toBe("created");
    expect(check).toEqual({ ...(await findCheckByUuid(database.db, check.uuid)), channelUuids: [] });
    expect(check).toMatchObject({
      projectId: project.id,
      settings: DEFAULT_SETTINGS,
      createdAt: NOW + 5,
      updatedAt: NOW + 5,
      state: { status: "new", pingCount: 0, lastPingAt: null },
    });
    expect(check.badgeUuid).not.toBe(check.uuid);
    expect(await listEvents(database.db, { checkId: check.id, limit: 10 })).toEqual([]);
  });

  test.each<[string, CheckParams, object]>([
    ["a timeout makes it simple", { timeoutSeconds: 60 }, { kind: "simple", timeoutSeconds: 60 }],
    ["a cron expression makes it cron", { schedule: "5 4 * * *" }, { kind: "cron", schedule: "5 4 * * *" }],
    ["any other expression makes it OnCalendar", { schedule: "daily" }, { kind: "oncalendar" }],
    [
      "of schedule and timeout the schedule is saved, and the timeout is not",
      { schedule: "5 4 * * *", timeoutSeconds: 60 },
      { kind: "cron", timeoutSeconds: 86_400 },
    ],
    [
      "a time zone is kept even without a schedule",
      { tz: "Asia/Tokyo" },
      { kind: "simple", tz: "Asia/Tokyo" },
    ],
    ["a subject turns the filter on", { subject: "ok" }, { successKw: "ok", filterSubject: true }],
    ["so does a failing subject", { subjectFail: "bad" }, { failureKw: "bad", filterSubject: true }],
    ["an empty subject turns it off", { subject: "" }, { successKw: "", filterSubject: false }],
    [
      "keywords in the same request win over the subject",
      { subject: "ok", successKw: "fine", filterSubject: false },
      { successKw: "fine", filterSubject: false },
    ],
    ["a name makes no slug", { name: "Hello World" }, { name: "Hello World", slug: "" }],
  ])("%s", async (_, params, expected) => {
    expect(await settingsOf(params)).toMatchObject(expected);
  });

  test("gets its slug from its name where the version says so, unless one is given", async () => {
    expect(await settingsOf({ name: "Hello World" }, true)).toMatchObject({ slug: "hello-world" });
    expect(await settingsOf({ name: "Hello World", slug: "mine" }, true)).toMatchObject({ slug: "mine" });
  });

  test("cannot be made in a project that does not exist", async () => {
    expect(await createCheck(database.db, creation(999_999_999))).toEqual({ kind: "not found" });
  });
});

describe("the channels of a new check", () => {
  async function projectWithChannels() {
    const { id: projectId } = await newProject();
    const ops = await sampleChannel(database.db, { projectId, name: "Ops" });
    const hook = await sampleChannel(database.db, { projectId, name: "Hook" });
    const unnamed = await sampleChannel(database.db, { projectId });
    await sampleChannel(database.db, { projectId, name: "Twin" });
    await sampleChannel(database.db, { projectId, name: "Twin" });
    return { projectId, ops: ops.uuid, hook: hook.uuid, unnamed: unnamed.uuid };
  }

  test("are those named by name or UUID, each once, in the order of their UUIDs", async () => {
    const { projectId, ops, hook, unnamed } = await projectWithChannels();
    const { check } = await create(projectId, { channels: `Hook,${unnamed},${ops},Ops` });
    expect(check.channelUuids).toEqual([ops, hook, unnamed].toSorted());
  });

  test("are all for a star, and none without a word or with an empty one", async () => {
    const { projectId } = await projectWithChannels();
    expect((await create(projectId, { channels: "*" })).check.channelUuids).toHaveLength(5);
    expect((await create(projectId, { channels: "" })).check.channelUuids).toEqual([]);
    expect((await create(projectId, { channels: null })).check.channelUuids).toEqual([]);
  });

  test("must each belong to the project, or nothing is created", async () => {
    const { projectId } = await projectWithChannels();
    const other = await projectWithChannels();
    for (const [channels, text] of [
      ["Ops,,Hook", "empty channel identifier"],
      ["Ops, Hook", "invalid channel identifier:  Hook"],
      [other.ops, `invalid channel identifier: ${other.ops}`],
      ["Twin", "non-unique channel identifier: Twin"],
    ] as const) {
      const refused = await createCheck(database.db, creation(projectId, { channels }));
      expect(refused).toEqual({ kind: "refused", code: "invalid", text });
    }
    expect(await listChecks(database.db, { projectId })).toEqual([]);
  });
});

describe("the limit of checks", () => {
  const REFUSED = { kind: "refused", code: "forbidden", text: "check limit reached" };

  test("counts the owner's checks in all projects, and a deletion makes room", async () => {
    const { id: ownerId } = await sampleAccount(database.db);
    const one = await sampleProject(database.db, { ownerId });
    const two = await sampleProject(database.db, { ownerId });
    const limited = { checkLimitDefault: 2 };
    const { check } = await create(one.id, limited);
    await create(two.id, limited);
    expect(await createCheck(database.db, creation(one.id, limited))).toEqual(REFUSED);
    expect(await createCheck(database.db, creation(two.id, limited))).toEqual(REFUSED);
    await deleteCheck(database.db, { projectId: one.id, checkId: check.id });
    expect((await create(two.id, limited)).kind).toBe("created");
  });

  test("is the account's own where it has one, in both directions", async () => {
    const frugal = await sampleAccount(database.db, { checkLimit: 0 });
    const strict = await sampleProject(database.db, { ownerId: frugal.id });
    expect(await createCheck(database.db, creation(strict.id))).toEqual(REFUSED);
    const rich = await sampleAccount(database.db, { checkLimit: 1 });
    const lenient = await sampleProject(database.db, { ownerId: rich.id });
    expect((await create(lenient.id, { checkLimitDefault: 0 })).kind).toBe("created");
  });

  test("is reported before the channels, and does not apply to a match of unique", async () => {
    const { id: projectId } = await newProject();
    const limited = { checkLimitDefault: 1, unique: ["name"] as const };
    await create(projectId, { ...limited, params: { name: "job" } });
    const other = creation(projectId, { ...limited, params: { name: "x" }, channels: "nope" });
    expect(await createCheck(database.db, other)).toEqual(REFUSED);
    expect((await create(projectId, { ...limited, params: { name: "job", desc: "d" } })).kind).toBe(
      "updated",
    );
  });
});

describe("a create with unique", () => {
  const upsert = (projectId: number, params: CheckParams, unique: readonly UniqueField[]) =>
    create(projectId, { params, unique, at: NOW + 1_000 });

  test.each<[UniqueField, CheckParams]>([
    ["name", { name: "job" }],
    ["slug", { slug: "job" }],
    ["tags", { tags: "prod db" }],
    ["timeout", { timeoutSeconds: 120 }],
    ["grace", { graceSeconds: 120 }],
  ])("by %s updates the check that has the same", async (field, params) => {
    const { id: projectId } = await newProject();
    await create(projectId, { params: { name: "decoy", tags: "decoy" } });
    const made = await upsert(projectId, params, [field]);
    expect(made.kind).toBe("created");
    const again = await upsert(projectId, { ...params, desc: "again" }, [field]);
    expect(again).toMatchObject({
      kind: "updated",
      check: { uuid: made.check.uuid, settings: { desc: "again" } },
    });
  });

  test("updates the oldest of several, and all named fields must match", async () => {
    const { id: projectId } = await newProject();
    await create(projectId, { params: { name: "job", tags: "test" } });
    const oldest = await create(projectId, { params: { name: "job", tags: "prod" } });
    await create(projectId, { params: { name: "job", tags: "prod" } });
    const updated = await upsert(projectId, { name: "job", tags: "prod", desc: "d" }, ["name", "tags"]);
    expect(updated.check.uuid).toBe(oldest.check.uuid);
    expect((await upsert(projectId, { name: "job", tags: "none" }, ["name", "tags"])).kind).toBe("created");
  });

  test("makes a new one when a named field is not given, or unique is empty", async () => {
    const { id: projectId } = await newProject();
    await create(projectId, { params: { name: "job" } });
    expect((await upsert(projectId, {}, ["name"])).kind).toBe("created");
    expect((await upsert(projectId, { name: "job" }, ["name", "slug"])).kind).toBe("created");
    expect((await upsert(projectId, { name: "job" }, [])).kind).toBe("created");
    const derived = { params: { name: "job" }, unique: ["slug"] as const, deriveSlug: true };
    expect((await create(projectId, derived)).check.settings.slug).toBe("job");
    expect((await create(projectId, derived)).kind).toBe("created");
  });

  test("finds a cron check by the timeout that it has kept", async () => {
    const { id: projectId } = await newProject();
    const { check } = await create(projectId, { params: { schedule: "0 * * * *" } });
    const updated = await upsert(projectId, { timeoutSeconds: 86_400 }, ["timeout"]);
    expect(updated).toMatchObject({
      kind: "updated",
      check: { uuid: check.uuid, settings: { kind: "simple" } },
    });
  });

  test("looks neither into other projects nor at deleted checks", async () => {
    const { id: projectId } = await newProject();
    await sampleCheck(database.db, { projectId: (await newProject()).id, name: "job" });
    const gone = await sampleCheck(database.db, { projectId, name: "job" });
    await inTransaction(database.db, (tx) => markCheckDeleted(tx, { checkId: gone.id, at: NOW }));
    expect((await upsert(projectId, { name: "job" }, ["name"])).kind).toBe("created");
  });

  test("keeps the state, the signals and the channels of its match, and fields that are not given", async () => {
    const { id: projectId } = await newProject();
    const channel = await sampleChannel(database.db, { projectId, name: "Ops" });
    const { check } = await create(projectId, { params: { name: "job", tags: "prod" }, channels: "*" });
    await (await sampleIntake(database.db))([{ uuid: check.uuid, action: "fail" }]);
    const { check: after } = await upsert(projectId, { name: "job", graceSeconds: 60 }, ["name"]);
    expect(after).toMatchObject({
      settings: { ...check.settings, graceSeconds: 60 },
      state: { status: "down", pingCount: 1, lastPingAt: NOW },
      channelUuids: [channel.uuid],
      updatedAt: NOW + 1_000,
    });
  });

  test("changes nothing of its match when a channel is refused, not even by a deadline", async () => {
    const { id: projectId } = await newProject();
    const { check } = await create(projectId, { params: { name: "job" } });
    await (await sampleIntake(database.db))([{ uuid: check.uuid }]);
    const before = await findCheckByUuid(database.db, check.uuid);
    const request = creation(projectId, {
      params: { name: "job", desc: "new" },
      unique: ["name"],
      channels: randomUUID(),
      visibility: seenUntil(NOW * 2),
    });
    expect(await createCheck(database.db, request)).toMatchObject({ kind: "refused", code: "invalid" });
    expect(await findCheckByUuid(database.db, check.uuid)).toEqual(before);
  });
});
