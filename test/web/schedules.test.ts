// Schedules of many checks at once, over HTTP: what is set, what takes it back, and what is refused.
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { CheckPage } from "../../src/contract/api/check-page.ts";
import type { SchedulesResult } from "../../src/contract/api/checks.ts";
import { useDashboard } from "./dashboard.ts";
import { checkPath, ownerChecks } from "./owner-checks.ts";

const at = useDashboard({ roles: ["web", "api"] });

const { project, post, make, rowOf } = ownerChecks(at);

describe("schedules of many checks", () => {
  const NIGHTLY = {
    kind: "cron",
    timeoutSeconds: 60,
    graceSeconds: 1200,
    schedule: "0 3 * * *",
    tz: "Europe/Riga",
  };
  const set = async (groups: object[]) => {
    const { status, json } = await post(`${project()}/checks/schedules`, { groups });
    return { status, answer: json as SchedulesResult };
  };
  const settingsOf = async (row: { id: string }) =>
    ((await at.browse(checkPath(row))).json as CheckPage).settings;

  test("are set for all at once, and what each had before takes it back", async () => {
    const [period, calendar, nightly] = await Promise.all([
      make({ name: "by period", timeoutSeconds: 300, graceSeconds: 60 }),
      make({ name: "by calendar", kind: "oncalendar", schedule: "Mon *-*-* 09:00", tz: "Asia/Tokyo" }),
      make({ name: "nightly", ...NIGHTLY }),
    ]);
    const checks = [period, calendar, nightly];
    const before = await Promise.all(checks.map(settingsOf));
    const unknown = randomUUID();
    const ids = [...checks.map(({ id }) => id), unknown];
    const { answer } = await set([{ ids, timing: NIGHTLY }]);
    expect(answer.done.toSorted()).toEqual(checks.map(({ id }) => id).toSorted());
    expect(answer.unchanged).toEqual([nightly.id]);
    expect(answer.failed).toEqual([{ id: unknown, error: "The check no longer exists." }]);
    const { timeoutSeconds: _, ...expected } = NIGHTLY;
    for (const check of checks) expect(await settingsOf(check)).toMatchObject(expected);
    // What belongs to a period stays with whoever had one.
    expect((await settingsOf(period)).timeoutSeconds).toBe(300);
    expect(answer.previous).toHaveLength(2);
    expect((await set(answer.previous)).answer.done.toSorted()).toEqual([period.id, calendar.id].toSorted());
    const after = await Promise.all(checks.map(settingsOf));
    expect(after[0]).toMatchObject({ kind: "simple", timeoutSeconds: 300, graceSeconds: 60 });
    expect(after.slice(1)).toEqual(before.slice(1));
    expect(await rowOf(period.id)).toMatchObject({ expected: "every 5 minutes" });
  });

  test("of the maximum number of checks, each different, are set and undone", async () => {
    const { id: projectId } = at.owner.project;
    await at.db.pool.query(
      `with made as (
          insert into checks (uuid, badge_uuid, unique_key,
            project_id, created_at, updated_at, name, slug, tags, description, kind,
              timeout_seconds, grace_seconds, schedule, tz, manual_resume, methods, start_kw, success_kw, failure_kw,
              filter_subject, filter_body, filter_http_body, filter_default_fail)
            select gen_random_uuid(), gen_random_uuid(), gen_random_uuid()::text,
              $1, now(), now(), 'many ' || n, '', 'many', '', 'simple',
              60 + n, 60, '* * * * *', 'UTC', false, '', '', '', '', false, false, false, false
            from generate_series(1, 1000) as n returning id)
        insert into check_states (check_id, status, ping_count, coalesced_count, rate_count)
          select id, 'new', 0, 0, 0 from made`,
      [projectId],
    );
    const { rows } = await at.db.pool.query<{ uuid: string }>(
      "select uuid from checks where project_id = $1 and tags = 'many'",
      [projectId],
    );
    const ids = rows.map(({ uuid }) => uuid);
    const { answer } = await set([{ ids, timing: NIGHTLY }]);
    expect([answer.done.length, answer.previous.length]).toEqual([1000, 1000]);
    const back = await set(answer.previous);
    expect([back.status, back.answer.done.length, back.answer.previous.length]).toEqual([200, 1000, 1]);
    const again = await at.db.pool.query<{ count: number }>(
      "select count(distinct timeout_seconds)::int as count from checks where tags = 'many' and kind = 'simple'",
    );
    expect(again.rows).toEqual([{ count: 1000 }]);
  });

  test.each([
    [{ schedule: "61 3 * * *" }, "schedule", "Invalid schedule: minute: 61 is out of range 0-59."],
    [
      { schedule: "Mon *-*-* 09:00" },
      "schedule",
      "This is an OnCalendar expression. Choose that schedule type.",
    ],
    [{ graceSeconds: 5 }, "graceSeconds", "The grace period must be at least 1 minute."],
    [{ tz: "Mars" }, "tz", "Unknown time zone: Mars."],
  ])("%j is refused beside its field, and nothing is changed", async (wrong, field, error) => {
    const row = await make({ timeoutSeconds: 300 });
    const groups = [{ ids: [row.id], timing: { ...NIGHTLY, ...wrong } }];
    const { status, json } = await post(`${project()}/checks/schedules`, { groups });
    expect({ status, json }).toMatchObject({ status: 400, json: { detail: error, field } });
    expect(await settingsOf(row)).toMatchObject({ kind: "simple", timeoutSeconds: 300 });
  });

  test("that were edited after the form was read are not overwritten, and the undo does not overwrite either", async () => {
    const [one, other] = [await make({ name: "one" }), await make({ name: "other" })];
    const { readAt } = (await at.browse(checkPath(one))).json as CheckPage;
    const edit = (graceSeconds: number) =>
      at.browse(checkPath(other), { method: "PATCH", body: { graceSeconds } });
    await edit(7_200);
    const groups = [{ ids: [one.id, other.id], timing: NIGHTLY }];
    const refused = await post(`${project()}/checks/schedules`, { groups, version: readAt });
    expect(refused).toMatchObject({
      status: 409,
      json: { conflict: { by: { kind: "you" }, after: { graceSeconds: 7_200 } } },
    });
    expect(await settingsOf(one)).toMatchObject({ kind: "simple" });
    const { version } = (refused.json as { conflict: { version: number } }).conflict;
    const done = await post(`${project()}/checks/schedules`, { groups, version });
    expect(done.status).toBe(200);
    const { previous, version: saved } = done.json as SchedulesResult;
    await edit(3_600);
    expect((await post(`${project()}/checks/schedules`, { groups: previous, version: saved })).status).toBe(
      409,
    );
    expect(await settingsOf(other)).toMatchObject({ kind: "cron", graceSeconds: 3_600 });
  });

  test("a check that is named twice is refused, and so are more than fit", async () => {
    const row = await make();
    const group = { ids: [row.id], timing: NIGHTLY };
    expect((await set([group, group])).answer).toMatchObject({
      detail: "A check is listed twice.",
      field: "ids",
    });
    const many = [0, 1].map(() => ({
      ids: Array.from({ length: 501 }, () => randomUUID()),
      timing: NIGHTLY,
    }));
    expect((await set(many)).answer).toMatchObject({
      detail: "You can change at most 1000 checks at once.",
      field: "ids",
    });
  });
});
