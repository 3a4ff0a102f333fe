// New schedules for several checks at once: each has the same result as an edit, all of them or none, and each change
// is audited.
import { describe, expect, test } from "vitest";
import type { CheckSettings } from "../../src/core/check.ts";
import { HOUR_MS } from "../../src/core/instant.ts";
import { listAudit } from "../../src/operations/audit.ts";
import {
  pauseCheck,
  rescheduleChecks,
  type Rescheduled,
  type ScheduleParams,
  updateCheck,
} from "../../src/operations/checks.ts";
import { type CheckWithState, findCheckByUuid, markCheckDeleted } from "../../src/store/checks.ts";
import { listEvents } from "../../src/store/events.ts";
import { listFlips } from "../../src/store/flips.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { edit, sampleIntake, seenUntil } from "../support/checks-under-change.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON as NOW, sampleAccount, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();

const CRON = { schedule: "0 15 * * *", tz: "Europe/Riga", graceSeconds: 600 } as const;

type Wanted = { check: CheckWithState; params: ScheduleParams };

type More = { accountId?: number; at?: number; version?: number };

async function reschedule(wanted: readonly Wanted[], more: More = {}): Promise<Rescheduled[]> {
  const done = await tryToReschedule(wanted, more);
  if ("kind" in done) throw new Error("it was overtaken");
  return done;
}

function tryToReschedule(wanted: readonly Wanted[], more: More = {}) {
  const { accountId = null, at = NOW, version } = more;
  return rescheduleChecks(database.db, {
    ...(version !== undefined && { version }),
    projectId: wanted[0]?.check.projectId ?? 0,
    wanted: new Map(wanted.map(({ check, params }) => [check.id, params])),
    accountId,
    at,
    visibility: seenUntil(at),
  });
}

async function stored({ uuid }: { uuid: string }): Promise<CheckWithState> {
  const check = await findCheckByUuid(database.db, uuid);
  if (check === null) throw new Error("the check is gone");
  return check;
}

/** Everything that a change writes, except what identifies the check. */
async function traceOf(check: CheckWithState) {
  const { settings, state, downAt, sweepAt, updatedAt } = await stored(check);
  const flips = await listFlips(database.db, { checkId: check.id });
  const events = await listEvents(database.db, { checkId: check.id, limit: 10 });
  return {
    settings,
    state,
    downAt,
    sweepAt,
    updatedAt,
    flips: flips.map(({ at, from, to, reason }) => ({ at, from, to, reason })),
    events: events.map(({ at, kind, accountId, detail }) => ({ at, kind, accountId, detail })),
  };
}

describe("schedules of several checks", () => {
  test("are not overwritten when one of them was edited after the version", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const [one, other] = [
      await sampleCheck(database.db, { projectId }),
      await sampleCheck(database.db, { projectId }),
    ];
    const wanted = [one, other].map((check) => ({ check, params: CRON }));
    const editOther = (params: object, at: number) =>
      updateCheck(database.db, {
        projectId,
        checkId: other.id,
        ...edit({ params, at, visibility: seenUntil(at) }),
      });
    // Another setting is not a schedule.
    await editOther({ name: "renamed" }, NOW + 1);
    await editOther({ graceSeconds: 7_200 }, NOW + 2);
    expect(await tryToReschedule(wanted, { at: NOW + 3, version: NOW + 1 })).toMatchObject({
      kind: "overtaken",
      version: NOW + 2,
      edits: [{ checkId: other.id, detail: { after: { graceSeconds: 7_200 } } }],
    });
    expect((await stored(one)).settings).toEqual(one.settings);
    expect((await stored(other)).settings).toMatchObject({ graceSeconds: 7_200 });
    // A client that has seen the edit overwrites it.
    expect(await reschedule(wanted, { at: NOW + 4, version: NOW + 2 })).toHaveLength(2);
    expect((await stored(other)).settings).toMatchObject({ name: "renamed", ...CRON });
  });

  test("have the same result as individual edits", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const { id: accountId } = await sampleAccount(database.db);
    const record = await sampleIntake(database.db);
    const at = NOW + 3 * HOUR_MS;
    const make = async (settings: Partial<CheckSettings>, state: "new" | "up" | "paused") => {
      const made = await sampleCheck(database.db, { projectId, timeoutSeconds: 3_600, ...settings });
      if (state === "up") await record([{ uuid: made.uuid }]);
      const by = { projectId, checkId: made.id, at: NOW, accountId, visibility: seenUntil(NOW) };
      if (state === "paused") await pauseCheck(database.db, by);
      return stored(made);
    };
    const kinds = [
      [{ graceSeconds: 3_600 }, "new", CRON],
      // Its deadline has passed by the old schedule, and counts.
      [{ graceSeconds: 3_600 }, "up", CRON],
      [{ graceSeconds: 86_400 }, "up", { timeoutSeconds: 60, graceSeconds: 60 }],
      [{ kind: "cron", schedule: "5 4 * * *" }, "paused", { timeoutSeconds: 60, graceSeconds: 60 }],
      [{ kind: "simple", graceSeconds: 60 }, "up", { timeoutSeconds: 3_600, graceSeconds: 60 }],
    ] as const;
    const pairs = [];
    for (const [settings, state, params] of kinds) {
      pairs.push({ check: await make(settings, state), twin: await make(settings, state), params });
    }
    const outcome = await reschedule(pairs, { accountId, at });
    expect(outcome.map(({ isChanged }) => isChanged)).toEqual([true, true, true, true, false]);
    expect(outcome.map(({ before }) => before)).toEqual(pairs.map(({ check }) => check.settings));
    for (const { twin, params } of pairs) {
      await updateCheck(database.db, {
        projectId,
        checkId: twin.id,
        ...edit({ params, accountId, at, visibility: seenUntil(at) }),
      });
    }
    // The last one already has the new schedule, and is not changed.
    for (const { check, twin } of pairs.slice(0, -1))
      expect(await traceOf(check)).toEqual(await traceOf(twin));
    expect(await stored(pairs[4]?.check ?? { uuid: "" })).toEqual(pairs[4]?.check);
  });

  test("are each on record, with what they were and by whom", async () => {
    const account = await sampleAccount(database.db);
    const { id: projectId } = await sampleProject(database.db);
    const one = await sampleCheck(database.db, { projectId, name: "one", timeoutSeconds: 60 });
    const two = await sampleCheck(database.db, { projectId, name: "two", timeoutSeconds: 120 });
    const params = { timeoutSeconds: 300 };
    await reschedule(
      [one, two].map((check) => ({ check, params })),
      { accountId: account.id },
    );
    const { entries } = await listAudit(database.db, { projectId });
    expect(
      entries.map(({ what, subject, before, after, email }) => [what, subject, before, after, email]),
    ).toEqual(
      [two, one].map(({ settings: { name, timeoutSeconds } }) => [
        "check.changed",
        name,
        { timeoutSeconds },
        params,
        account.email,
      ]),
    );
  });

  test("are changed all or none", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const checks = [
      await sampleCheck(database.db, { projectId }),
      await sampleCheck(database.db, { projectId }),
    ];
    const wanted = checks.map((check) => ({ check, params: CRON }));
    // This ID does not exist: the last write fails.
    await expect(reschedule(wanted, { accountId: 987_654_321 })).rejects.toThrow("foreign key");
    expect(await Promise.all(checks.map(stored))).toEqual(checks);
  });

  test("are left as they are in another project, and of a check that was deleted", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const [there, deleted] = [
      await sampleCheck(database.db, { projectId }),
      await sampleCheck(database.db, { projectId }),
    ];
    await inTransaction(database.db, (tx) => markCheckDeleted(tx, { checkId: deleted.id, at: NOW }));
    const { id: otherId } = await sampleProject(database.db);
    const foreign = await sampleCheck(database.db, { projectId: otherId });
    const outcome = await reschedule([there, deleted, foreign].map((check) => ({ check, params: CRON })));
    expect(outcome.map(({ checkId }) => checkId)).toEqual([there.id]);
    expect((await stored(there)).settings).toMatchObject({ kind: "cron", ...CRON });
    expect(await stored(foreign)).toEqual(foreign);
  });
});
