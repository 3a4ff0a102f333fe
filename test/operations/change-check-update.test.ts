// Updating checks: only given fields change, the deadline follows the new settings, passed deadlines count by the old
// ones, and the history shows who changed what.
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { type CheckParams, type CheckSettings, DEFAULT_SETTINGS } from "../../src/core/check.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/core/instant.ts";
import { type Edit, updateCheck } from "../../src/operations/checks.ts";
import { type CheckWithState, findCheckByUuid, markCheckDeleted } from "../../src/store/checks.ts";
import { listEvents } from "../../src/store/events.ts";
import { listFlips } from "../../src/store/flips.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { edit, sampleChannel, sampleIntake, seenUntil } from "../support/checks-under-change.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON as NOW, sampleAccount, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();

async function newCheck(settings: Partial<CheckSettings> = {}): Promise<CheckWithState> {
  const { id: projectId } = await sampleProject(database.db);
  return sampleCheck(database.db, { projectId, ...settings });
}

/** A check that came up at noon, with a period and a grace period of an hour each unless the test says otherwise. */
async function newUpCheck(settings: Partial<CheckSettings> = {}): Promise<CheckWithState> {
  const check = await newCheck({ timeoutSeconds: 3_600, graceSeconds: 3_600, ...settings });
  await (await sampleIntake(database.db))([{ uuid: check.uuid }]);
  return stored(check);
}

async function stored({ uuid }: { uuid: string }): Promise<CheckWithState> {
  const check = await findCheckByUuid(database.db, uuid);
  if (check === null) throw new Error("the check is gone");
  return check;
}

/** Updates, and verifies that the response is what is stored. */
async function update(check: CheckWithState, given: Partial<Edit>) {
  const result = await updateCheck(database.db, { ...check, checkId: check.id, ...edit(given) });
  if (result.kind !== "updated") throw new Error(JSON.stringify(result));
  const { channelUuids, ...answer } = result.check;
  expect(answer).toEqual(await stored(check));
  return { ...answer, channelUuids };
}

const eventsOf = ({ id }: CheckWithState) => listEvents(database.db, { checkId: id, limit: 10 });
const flipsOf = ({ id }: CheckWithState) => listFlips(database.db, { checkId: id });

describe("an update", () => {
  test.each<[string, Partial<CheckSettings>, CheckParams, Partial<CheckSettings>]>([
    ["changes the given field", {}, { name: "new" }, { name: "new" }],
    ["may empty a text", { tags: "prod" }, { tags: "" }, { tags: "" }],
    ["may take a flag back", { manualResume: true }, { manualResume: false }, { manualResume: false }],
    ["turns cron by a schedule", {}, { schedule: "5 4 * * *" }, { kind: "cron", schedule: "5 4 * * *" }],
    [
      "prefers the schedule",
      {},
      { schedule: "daily", timeoutSeconds: 60 },
      { kind: "oncalendar", schedule: "daily" },
    ],
    [
      "turns simple by a timeout and keeps the schedule",
      { kind: "cron", schedule: "5 4 * * *" },
      { timeoutSeconds: 60 },
      { kind: "simple", timeoutSeconds: 60 },
    ],
    [
      "keeps the kind of a cron check by its zone",
      { kind: "cron" },
      { tz: "Asia/Tokyo" },
      { tz: "Asia/Tokyo" },
    ],
    [
      "leaves the other keywords when the subject goes",
      { successKw: "a", failureKw: "b", filterSubject: true },
      { subject: "" },
      { successKw: "", filterSubject: true },
    ],
    [
      "turns the filter off with the last subject",
      { failureKw: "b", filterSubject: true },
      { subjectFail: "" },
      { failureKw: "", filterSubject: false },
    ],
  ])("%s, and nothing else", async (_, before, params, expected) => {
    const check = await newCheck({ name: "job", ...before });
    const { settings } = await update(check, { params });
    expect(settings).toEqual({ ...DEFAULT_SETTINGS, name: "job", ...before, ...expected });
  });

  test("derives the slug only from a name that is given, and only where the version says so", async () => {
    const check = await newCheck({ name: "old", slug: "old" });
    expect((await update(check, { params: { name: "New One" } })).settings.slug).toBe("old");
    const deriveSlug = true;
    expect((await update(check, { params: { desc: "d" }, deriveSlug })).settings.slug).toBe("old");
    expect((await update(check, { params: { name: "New One" }, deriveSlug })).settings.slug).toBe("new-one");
  });

  test("finds its check by ID or by UUID, and distinguishes a missing one from a foreign one", async () => {
    const check = await newCheck();
    const { projectId, uuid } = check;
    const found = await updateCheck(database.db, {
      projectId,
      uuid,
      ...edit({ params: { name: "by uuid" } }),
    });
    expect(found).toMatchObject({ kind: "updated", check: { settings: { name: "by uuid" } } });
    const foreign = await newCheck();
    const absent = [{ uuid: randomUUID() }, { checkId: 999_999_999 }];
    for (const name of absent) {
      expect(await updateCheck(database.db, { projectId, ...name, ...edit() })).toEqual({
        kind: "not found",
      });
    }
    for (const name of [{ uuid: foreign.uuid }, { checkId: foreign.id }]) {
      const request = { projectId, ...name, ...edit({ params: { name: "stolen" } }) };
      expect(await updateCheck(database.db, request)).toEqual({ kind: "other project" });
    }
    expect((await stored(foreign)).settings.name).toBe("");
    await inTransaction(database.db, (tx) => markCheckDeleted(tx, { checkId: check.id, at: NOW }));
    for (const name of [{ uuid }, { checkId: check.id }]) {
      expect(await updateCheck(database.db, { projectId, ...name, ...edit() })).toEqual({
        kind: "not found",
      });
    }
  });

  test("replaces the channels when they are given, and only then", async () => {
    const check = await newCheck();
    const { projectId } = check;
    const ops = await sampleChannel(database.db, { projectId, name: "Ops" });
    const hook = await sampleChannel(database.db, { projectId, name: "Hook" });
    const all = [ops.uuid, hook.uuid].toSorted();
    expect((await update(check, { channels: "*" })).channelUuids).toEqual(all);
    expect((await update(check, { params: { name: "x" } })).channelUuids).toEqual(all);
    expect((await update(check, { channels: "Hook" })).channelUuids).toEqual([hook.uuid]);
    expect((await update(check, { channels: ops.uuid })).channelUuids).toEqual([ops.uuid]);
    expect((await update(check, { channels: "" })).channelUuids).toEqual([]);
  });

  test("changes nothing when a channel is refused", async () => {
    const check = await newUpCheck();
    const request = {
      ...edit({ params: { name: "x" }, channels: "nope", visibility: seenUntil(NOW + DAY_MS) }),
    };
    const refused = await updateCheck(database.db, {
      projectId: check.projectId,
      checkId: check.id,
      ...request,
    });
    expect(refused).toEqual({ kind: "refused", code: "invalid", text: "invalid channel identifier: nope" });
    expect(await stored(check)).toEqual(check);
    expect(await eventsOf(check)).toEqual([]);
  });
});

describe("the deadline of an edited check", () => {
  test("comes nearer with a shorter period, and so does the sweeper's mark", async () => {
    const check = await newUpCheck();
    expect(check).toMatchObject({ downAt: NOW + 2 * HOUR_MS, sweepAt: NOW + 2 * HOUR_MS });
    const after = await update(check, { params: { timeoutSeconds: 60 } });
    const deadline = NOW + MINUTE_MS + HOUR_MS;
    expect(after).toMatchObject({ downAt: deadline, sweepAt: deadline, state: check.state });
  });

  test("moves away with a longer one, and the mark stays where it is", async () => {
    const check = await newUpCheck();
    const after = await update(check, { params: { graceSeconds: 7_200 } });
    expect(after).toMatchObject({ downAt: NOW + 3 * HOUR_MS, sweepAt: NOW + 2 * HOUR_MS });
  });

  test("follows a schedule and its zone", async () => {
    const check = await newUpCheck();
    const cron = await update(check, { params: { schedule: "0 15 * * *" } });
    expect(cron.downAt).toBe(NOW + 4 * HOUR_MS);
    expect((await update(cron, { params: { tz: "Europe/Riga" } })).downAt).toBe(NOW + 2 * HOUR_MS);
  });

  test("is none for a check that was never up, or whose schedule never fires again", async () => {
    const fresh = await newCheck();
    expect((await update(fresh, { params: { timeoutSeconds: 60 } })).downAt).toBeNull();
    const check = await newUpCheck();
    const over = await update(check, { params: { schedule: "2001-01-01" } });
    expect(over).toMatchObject({ downAt: null, state: { status: "up" }, sweepAt: NOW + 2 * HOUR_MS });
  });

  test("is left to the sweeper when the edit puts it into the past", async () => {
    const check = await newUpCheck();
    const at = NOW + 90 * MINUTE_MS;
    const after = await update(check, {
      at,
      params: { timeoutSeconds: 60, graceSeconds: 60 },
      visibility: seenUntil(at),
    });
    expect(after).toMatchObject({ downAt: NOW + 2 * MINUTE_MS, state: { status: "up" } });
    expect(await flipsOf(check)).toHaveLength(1);
  });

  test("that was seen to pass fires by the old settings first, whatever is edited", async () => {
    for (const params of [{ timeoutSeconds: 31_536_000 }, { name: "new" }]) {
      const check = await newUpCheck();
      const at = NOW + 3 * HOUR_MS;
      const after = await update(check, { at, params, visibility: seenUntil(at) });
      const deadlineAt = NOW + 2 * HOUR_MS;
      expect(after).toMatchObject({
        downAt: null,
        state: { status: "down", missed: { deadlineAt, from: "up" } },
      });
      const [flip] = await flipsOf(check);
      expect(flip).toMatchObject({ at: deadlineAt, from: "up", to: "down", reason: "timeout" });
    }
  });

  test("that passed while it could not be seen does not fire", async () => {
    const check = await newUpCheck();
    const at = NOW + 3 * HOUR_MS;
    const after = await update(check, { at, params: { timeoutSeconds: 86_400 } });
    expect(after).toMatchObject({ downAt: NOW + DAY_MS + HOUR_MS, state: { status: "up" } });
  });

  test("that passed while we were blind leaves a note, and a later one still fires", async () => {
    const blind = [{ from: NOW + HOUR_MS, to: NOW + 2 * HOUR_MS }];
    const once = await newUpCheck();
    const at = NOW + 3.5 * HOUR_MS;
    const excused = await update(once, { at, params: { name: "x" }, visibility: { watermarkAt: at, blind } });
    expect(excused.state).toMatchObject({ status: "up", expectFromAt: NOW + 2 * HOUR_MS });
    expect(await eventsOf(once)).toMatchObject([
      { kind: "edited" },
      { kind: "not_observed", detail: { at: NOW + 2 * HOUR_MS, blind: blind[0] } },
    ]);
    const twice = await newUpCheck();
    const visibility = { watermarkAt: NOW + 9 * HOUR_MS, blind };
    const fired = await update(twice, {
      at: NOW + 9 * HOUR_MS,
      params: { timeoutSeconds: 86_400 },
      visibility,
    });
    expect(fired.state).toMatchObject({ status: "down", missed: { deadlineAt: NOW + 4 * HOUR_MS } });
    expect((await eventsOf(twice)).map(({ kind }) => kind)).toEqual(["edited", "not_observed"]);
  });
});

describe("the history of an edited check", () => {
  test("has what changed, before and after, and by whom", async () => {
    const check = await newCheck({ name: "old", tags: "prod" });
    const channel = await sampleChannel(database.db, { projectId: check.projectId, name: "Ops" });
    const at = NOW + 7;
    const { id: accountId } = await sampleAccount(database.db);
    await update(check, { at, accountId, params: { name: "new", tags: "prod" }, channels: "Ops" });
    expect(await eventsOf(check)).toMatchObject([
      {
        at,
        kind: "edited",
        accountId,
        detail: { before: { name: "old", channels: [] }, after: { name: "new", channels: [channel.uuid] } },
      },
    ]);
    const [event] = await eventsOf(check);
    expect(JSON.stringify(event)).not.toContain("s3cret");
  });

  test("stays empty, and the check untouched, when everything is the same", async () => {
    const check = await newCheck({ name: "same" });
    const after = await update(check, { at: NOW + 7, params: { name: "same" }, channels: "" });
    expect(after.updatedAt).toBe(NOW);
    expect(await eventsOf(check)).toEqual([]);
  });

  test("keeps only the beginning of a long text, and cuts no character in half", async () => {
    const check = await newCheck({ desc: "x".repeat(100_000) });
    await update(check, { params: { desc: `y${"😀".repeat(1_000)}` } });
    const [event] = await eventsOf(check);
    expect(event?.detail).toEqual({
      before: { desc: `${"x".repeat(200)}…` },
      after: { desc: `y${"😀".repeat(199)}…` },
    });
  });
});
