// Changing policies: what is refused, which rules follow for which checks, and what happens to checks that are down.
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { CheckSettings } from "../../src/core/check.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/core/instant.ts";
import type { Policy } from "../../src/core/policy.ts";
import { DEFAULT_RULES } from "../../src/core/rules.ts";
import { listAudit } from "../../src/operations/audit.ts";
import {
  adjustCheck,
  copyCheck,
  createCheck,
  provisionCheck,
  rescheduleChecks,
  restoreCheck,
  transferCheck,
  trashCheck,
  updateCheck,
} from "../../src/operations/checks.ts";
import { deleteChannel } from "../../src/operations/channels.ts";
import {
  type CheckPolicyEdit,
  checkPolicyVersion,
  type PolicyEdit,
  projectPolicyVersion,
  type ProjectPolicyEdit,
  setTagRules,
  updateCheckPolicy,
  updateProjectPolicy,
} from "../../src/operations/policies.ts";
import { type CheckWithState, findCheckByUuid, findChecksBySlug } from "../../src/store/checks.ts";
import { listEvents } from "../../src/store/events.ts";
import {
  findProjectPolicy,
  listCheckPolicies,
  listPolicies,
  listTagRules,
  lockPolicies,
} from "../../src/store/policies.ts";
import type { Project } from "../../src/store/projects.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import {
  creation,
  edit,
  sampleChannel,
  sampleIntake,
  seenUntil,
  UNSEEN,
} from "../support/checks-under-change.ts";
import { useDatabase } from "../support/database.ts";
import { sampleIncident } from "../support/incidents.ts";
import { MONDAY_NOON as NOW, sampleAccount, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();

const BY = { accountId: null, keyId: null };
const editing = (given: Partial<PolicyEdit> = {}): PolicyEdit => ({
  by: BY,
  at: NOW,
  visibility: UNSEEN,
  expected: null,
  ...given,
});

async function newCheck(settings: Partial<CheckSettings> = {}) {
  const project = await sampleProject(database.db);
  return { project, check: await sampleCheck(database.db, { projectId: project.id, ...settings }) };
}

const ofCheck = (
  { id, projectId }: CheckWithState,
  change: Policy,
  given: Partial<CheckPolicyEdit> = {},
): Promise<void> =>
  updateCheckPolicy(database.db, { ...editing(), projectId, checkId: id, change, ...given });
const dependOn = (check: CheckWithState, parents: readonly CheckWithState[]) =>
  ofCheck(check, {}, { dependsOn: parents.map(({ uuid }) => uuid) });
const ofProject = (project: Project, change: Policy, given: Partial<ProjectPolicyEdit> = {}) =>
  updateProjectPolicy(database.db, { ...editing(), project, change, ...given });
const ofTags = (project: Project, rules: Readonly<Record<string, Policy>>) =>
  setTagRules(database.db, {
    ...editing(),
    project,
    rules: Object.entries(rules).map(([tag, policy]) => ({ tag, policy, channels: [] })),
  });

async function stored({ uuid }: { uuid: string }): Promise<CheckWithState> {
  const check = await findCheckByUuid(database.db, uuid);
  if (check === null) throw new Error("the check is gone");
  return check;
}

const rulesOf = async (check: { uuid: string }) => (await stored(check)).settings.rules;
const missed = (count: number) => ({ ...DEFAULT_RULES, missed: count });
const parentsOf = async ({ id }: CheckWithState) =>
  (await listCheckPolicies(database.db, [id]))[0]?.parents.map((parent) => parent.uuid);

describe("the policy of a check", () => {
  test("changes the given fields, and null resets one", async () => {
    const { check } = await newCheck();
    await ofCheck(check, { missed: 2, repeat: 3600 });
    await ofCheck(check, { recovery: 3 }, { change: { recovery: 3, repeat: null } });
    const [policy] = await listPolicies(database.db, [check.id]);
    expect(policy?.own).toEqual({ missed: 2, recovery: 3 });
    expect(await rulesOf(check)).toEqual({ ...DEFAULT_RULES, missed: 2, recovery: 3 });
    await ofCheck(check, {}, { change: { missed: null, recovery: null } });
    expect(await rulesOf(check)).toBeNull();
  });

  test("is in the history and in the audit log, once", async () => {
    const { check, project } = await newCheck({ name: "backup" });
    const { id: accountId } = await sampleAccount(database.db);
    const by = { accountId, keyId: null };
    await ofCheck(check, { missed: 2 }, { by });
    await ofCheck(check, { missed: 2 }, { by, at: NOW + 1 });
    const detail = { before: { missed: null }, after: { missed: 2 } };
    expect(await listEvents(database.db, { checkId: check.id, limit: 10 })).toMatchObject([
      { kind: "edited", accountId, at: NOW, detail },
    ]);
    const { entries } = await listAudit(database.db, { projectId: project.id });
    expect(entries).toMatchObject([{ what: "check.changed", subject: "backup", ...detail }]);
  });

  test.each<[string, Partial<CheckPolicyEdit>, string]>([
    ["more failures than runs", { change: { failures: { count: 3, of: 2 } } }, "failures"],
    ["a start limit beyond the grace period", { change: { startWithin: 7200 } }, "startWithin"],
    ["an unknown check to depend on", { dependsOn: [randomUUID()] }, "dependsOn"],
  ])("refuses %s", async (_, given, field) => {
    const { check } = await newCheck({ graceSeconds: 3600 });
    await expect(ofCheck(check, {}, given)).rejects.toMatchObject({ code: "invalid", field });
    expect((await listCheckPolicies(database.db, [check.id]))[0]?.own).toEqual({});
  });

  test("accepts a longer start limit with a limit for runs, also an inherited one", async () => {
    const { check, project } = await newCheck({ graceSeconds: 3600 });
    await ofProject(project, { maxRun: 0 });
    await ofCheck(check, { startWithin: 7200 });
    expect((await rulesOf(check))?.startWithinSeconds).toBe(7200);
    await expect(ofProject(project, {}, { change: { maxRun: null } })).resolves.toBeUndefined();
    expect((await rulesOf(check))?.startWithinSeconds).toBe(3600);
  });

  test("is refused if it was changed since the expected version", async () => {
    const { check } = await newCheck();
    const versionOf = async () => {
      const [policy] = await listCheckPolicies(database.db, [check.id]);
      return policy === undefined ? 0 : checkPolicyVersion(policy);
    };
    const first = await versionOf();
    await ofCheck(check, { missed: 2 }, { expected: [first] });
    const late = ofCheck(check, { missed: 3 }, { expected: [first] });
    await expect(late).rejects.toMatchObject({ code: "precondition_failed" });
    await ofCheck(check, { missed: 3 }, { expected: [await versionOf()] });
    expect(await rulesOf(check)).toEqual(missed(3));
  });

  test("of a check that is gone or in another project is not found", async () => {
    const { check } = await newCheck();
    const { project } = await newCheck();
    const elsewhere = ofCheck(check, { missed: 2 }, { projectId: project.id });
    await expect(elsewhere).rejects.toMatchObject({ code: "not_found" });
    await expect(ofCheck({ ...check, id: 999_999 }, {})).rejects.toMatchObject({ code: "not_found" });
  });
});

describe("a check that is down", () => {
  /** Down since its first deadline, 13:00, if it tolerates no missed run; seen until 13:30. */
  async function late(policy: Policy) {
    const { check, project } = await newCheck({ timeoutSeconds: 1800, graceSeconds: 1800 });
    await ofCheck(check, policy);
    await (await sampleIntake(database.db))([{ uuid: check.uuid }]);
    return { check, project, at: NOW + HOUR_MS + 10 * MINUTE_MS, visibility: seenUntil(NOW + 2 * HOUR_MS) };
  }

  test("counts its passed deadline by the old policy", async () => {
    const { check, at, visibility } = await late({});
    await ofCheck(check, { missed: 3 }, { at, visibility });
    const { state } = await stored(check);
    expect(state).toMatchObject({ status: "down", judged: null });
  });

  test("opens its alert at once if it reaches the new threshold", async () => {
    const { check, project, at, visibility } = await late({ missed: 3 });
    await ofCheck(check, { repeat: 300 }, { at, visibility });
    expect((await stored(check)).state).toMatchObject({
      status: "down",
      judged: { missed: 1, problem: "tolerated" },
    });
    await ofCheck(check, {}, { change: { missed: null }, at: at + 1, visibility });
    expect((await stored(check)).state.judged?.problem ?? null).toBeNull();
    await ofProject(project, { missed: 2 }, { at: at + 2, visibility });
  });

  test("does so as well if the policy of its project changes", async () => {
    const { check, project, at, visibility } = await late({});
    await ofProject(project, { missed: 3 });
    await ofProject(project, { missed: 3, repeat: 300 }, { at, visibility });
    expect((await stored(check)).state.status).toBe("up");
    await ofProject(project, { missed: 1 }, { at, visibility });
    expect((await stored(check)).state).toMatchObject({ status: "down", judged: null });
    expect((await stored(check)).downAt).toBeNull();
  });
});

test("a change of any policy makes the planner look at the open incidents of the project", async () => {
  const { check, project } = await newCheck({ tags: "db" });
  const { id } = await sampleIncident(database.db, { projectId: project.id, checkIds: [check.id] });
  const isDue = async () => {
    const { rows } = await database.db.pool.query<{ next_step_at: number | null }>(
      `with before as (select next_step_at from incidents where id = $1), reset as (
          update incidents set next_step_at = null where id = $1
        )
        select next_step_at from before`,
      [id],
    );
    return rows[0]?.next_step_at === 0;
  };
  expect(await isDue()).toBe(false);
  await ofCheck(check, { repeat: 3600 });
  expect(await isDue()).toBe(true);
  await ofCheck(check, { repeat: 3600 });
  expect(await isDue()).toBe(false);
  await ofProject(project, { repeat: 3600 });
  expect(await isDue()).toBe(true);
  await ofTags(project, { db: { repeat: 3600 } });
  expect(await isDue()).toBe(true);
});

describe("dependencies", () => {
  /** Transactions that wait for an advisory lock in this database. */
  async function waitingLocks(): Promise<number> {
    const { rowCount } = await database.db.pool.query(
      `select from pg_locks where locktype = 'advisory' and not granted
        and database = (select oid from pg_database where datname = current_database())`,
    );
    return rowCount ?? 0;
  }

  async function three() {
    const project = await sampleProject(database.db);
    const make = () => sampleCheck(database.db, { projectId: project.id });
    return { project, a: await make(), b: await make(), c: await make() };
  }

  test("are replaced, and refused in a cycle", async () => {
    const { a, b, c } = await three();
    await dependOn(a, [b, c]);
    expect(await parentsOf(a)).toEqual([b.uuid, c.uuid]);
    await dependOn(b, [c]);
    await expect(dependOn(c, [a])).rejects.toMatchObject({ code: "invalid", field: "dependsOn" });
    await expect(dependOn(a, [a])).rejects.toMatchObject({ code: "invalid", field: "dependsOn" });
    await dependOn(a, [c]);
    expect(await parentsOf(a)).toEqual([c.uuid]);
    await ofCheck(a, { missed: 2 });
    expect(await parentsOf(a)).toEqual([c.uuid]);
    await dependOn(a, []);
    expect(await parentsOf(a)).toEqual([]);
  });

  test("that would form a cycle at the same time are refused for one of both", async () => {
    const { a, b, project } = await three();
    const done = await inTransaction(database.db, async (tx) => {
      await lockPolicies(tx, project.id);
      const both = Promise.allSettled([dependOn(a, [b]), dependOn(b, [a])]);
      await expect.poll(waitingLocks, { timeout: 10_000 }).toBe(2);
      return { both };
    });
    expect((await done.both).map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  });

  test("end when one of the checks moves to another project", async () => {
    const { a, b, c, project } = await three();
    await dependOn(a, [b]);
    await dependOn(b, [c]);
    const to = await sampleProject(database.db);
    const command = { ...BY, at: NOW, visibility: UNSEEN, checkLimitDefault: null };
    await transferCheck(database.db, { ...command, projectId: project.id, checkId: b.id, to, from: project });
    const links = await database.db.pool.query(
      "select from check_parents where check_id = any ($1) or parent_id = any ($1)",
      [[a.id, b.id, c.id]],
    );
    expect(links.rowCount).toBe(0);
  });
});

describe("rules of checks", () => {
  test("follow the project and the tags, and a check of its own policy keeps that", async () => {
    const project = await sampleProject(database.db);
    const other = await sampleProject(database.db);
    const make = (tags: string, projectId = project.id) => sampleCheck(database.db, { projectId, tags });
    const [plain, prod, own, foreign] = [
      await make(""),
      await make("db prod"),
      await make("prod"),
      await make("prod", other.id),
    ];
    await ofCheck(own, { missed: 5 });
    await ofProject(project, { missed: 2 });
    const all = async () => Promise.all([plain, prod, own, foreign].map(rulesOf));
    expect(await all()).toEqual([missed(2), missed(2), missed(5), null]);
    await ofTags(project, { prod: { missed: 3 }, db: { missed: 4 } });
    expect(await all()).toEqual([missed(2), missed(3), missed(5), null]);
    await ofTags(project, { db: { missed: 4 } });
    expect(await all()).toEqual([missed(2), missed(4), missed(5), null]);
    await ofProject(project, {}, { change: { missed: null } });
    expect(await all()).toEqual([null, missed(4), missed(5), null]);
  });

  test("change only where they differ", async () => {
    const { check, project } = await newCheck();
    const versionOf = async () => {
      const { rows } = await database.db.pool.query<{ xmin: string }>(
        "select xmin from checks where id = $1",
        [check.id],
      );
      return rows[0]?.xmin;
    };
    const before = await versionOf();
    await ofProject(project, { repeat: 300, severity: { failed: "low", missed: "high" } });
    expect(await versionOf()).toBe(before);
    await ofProject(project, { missed: 2 });
    expect(await versionOf()).not.toBe(before);
  });

  test("of many checks change in portions", async () => {
    const project = await sampleProject(database.db);
    const { rows } = await database.db.pool.query<{ id: number }>(
      `insert into checks (uuid, badge_uuid, project_id, created_at, updated_at, unique_key, name, slug, tags,
          description, kind, timeout_seconds, grace_seconds, schedule, tz, manual_resume, methods, start_kw, success_kw,
          failure_kw, filter_subject, filter_body, filter_http_body, filter_default_fail)
        select gen_random_uuid(), gen_random_uuid(), $1, now(), now(), n::text, '', '', '', '', 'simple', 3600, 3600,
          '* * * * *', 'UTC', false, '', '', '', '', false, false, false, false
        from generate_series(1, 1100) as n returning id`,
      [project.id],
    );
    await database.db.pool.query(
      `insert into check_states (check_id, status, ping_count, coalesced_count, rate_count)
        select id, 'new', 0, 0, 0 from checks where project_id = $1`,
      [project.id],
    );
    await ofProject(project, { missed: 2 });
    const found = await database.db.pool.query<{ count: number }>(
      "select count(*) as count from checks where project_id = $1 and rules->>'missed' = '2'",
      [project.id],
    );
    expect(found.rows[0]?.count).toBe(rows.length);
  });

  test("are there from the start, however a check is created", async () => {
    const project = await sampleProject(database.db);
    await ofProject(project, { missed: 2 });
    await ofTags(project, { prod: { missed: 3 } });
    const { id: projectId, pingKey } = project;
    const created = await createCheck(database.db, creation(projectId, { params: { tags: "prod" } }));
    if (created.kind !== "created") throw new Error(created.kind);
    expect(created.check.settings.rules).toEqual(missed(3));
    expect(await rulesOf(created.check)).toEqual(missed(3));
    const slug = { pingKey: pingKey ?? "", slug: "job" };
    await provisionCheck(database.db, { ...slug, at: NOW, checkLimitDefault: null });
    const [provisioned] = await findChecksBySlug(database.db, slug);
    expect(provisioned?.settings.rules).toEqual(missed(2));
  });

  test("of a copy are those of the original, with its policy and dependencies", async () => {
    const { check, project } = await newCheck();
    const parent = await sampleCheck(database.db, { projectId: project.id });
    await ofCheck(check, { missed: 4, repeat: 300 }, { dependsOn: [parent.uuid] });
    const request = { ...edit(), projectId: project.id, projectUuid: project.uuid, checkLimitDefault: null };
    const done = await copyCheck(database.db, { ...request, checkId: check.id });
    if (done.kind !== "copied") throw new Error(done.kind);
    const copy = await stored(done.check);
    expect(copy.settings.rules).toEqual(missed(4));
    const [policy] = await listCheckPolicies(database.db, [copy.id]);
    expect(policy).toMatchObject({ own: { missed: 4, repeat: 300 }, parents: [{ id: parent.id }] });
  });

  test("follow tags and the grace period of a check, by any edit", async () => {
    const { check, project } = await newCheck({ graceSeconds: 3600 });
    const { projectId, id: checkId } = check;
    await ofTags(project, { prod: { missed: 3 }, slow: { startWithin: 7200 } });
    const update = (params: object) => updateCheck(database.db, { projectId, checkId, ...edit({ params }) });
    const result = await update({ tags: "prod" });
    expect(result).toMatchObject({ check: { settings: { rules: missed(3) } } });
    expect(await rulesOf(check)).toEqual(missed(3));
    await adjustCheck(database.db, {
      projectId,
      checkId,
      ...edit(),
      adjustment: { tag: "prod", isOn: false },
    });
    expect(await rulesOf(check)).toBeNull();
    await update({ tags: "slow" });
    expect((await rulesOf(check))?.startWithinSeconds).toBe(3600);
    await update({ graceSeconds: 7200 });
    expect((await rulesOf(check))?.startWithinSeconds).toBe(7200);
    const wanted = new Map([[checkId, { graceSeconds: 60 }]]);
    await rescheduleChecks(database.db, { ...edit(), projectId, wanted });
    expect((await rulesOf(check))?.startWithinSeconds).toBe(60);
    const events = await listEvents(database.db, { checkId, limit: 10 });
    expect(JSON.stringify(events)).not.toContain("rules");
  });

  test("follow the project that a check moves to, and policies that change while it is in the trash", async () => {
    const { check, project } = await newCheck();
    const to = await sampleProject(database.db);
    await ofProject(to, { missed: 3 });
    const command = { ...BY, at: NOW, visibility: UNSEEN, checkLimitDefault: null };
    await transferCheck(database.db, {
      ...command,
      projectId: project.id,
      checkId: check.id,
      to,
      from: project,
    });
    expect(await rulesOf(check)).toEqual(missed(3));
    await trashCheck(database.db, { ...command, projectId: to.id, checkId: check.id });
    await ofProject(to, { missed: 4 });
    await restoreCheck(database.db, { ...command, projectId: to.id, uuid: check.uuid });
    expect(await rulesOf(check)).toEqual(missed(4));
  });

  test("are right after edits at the same time", async () => {
    const project = await sampleProject(database.db);
    const checks = [];
    for (let i = 0; i < 8; i++) checks.push(await sampleCheck(database.db, { projectId: project.id }));
    await Promise.all([
      ofProject(project, { missed: 2 }),
      ...checks.map(({ id: checkId }) =>
        updateCheck(database.db, { projectId: project.id, checkId, ...edit({ params: { tags: "prod" } }) }),
      ),
      ofTags(project, { prod: { recovery: 2 } }),
    ]);
    const wanted = { ...missed(2), recovery: 2 };
    expect(await Promise.all(checks.map(rulesOf))).toEqual(checks.map(() => wanted));
  });
});

describe("policies of projects and tags", () => {
  test("are audited, and refused after a concurrent change", async () => {
    const project = await sampleProject(database.db, { name: "Backups" });
    const by = { accountId: (await sampleAccount(database.db)).id, keyId: null };
    const before = await findProjectPolicy(database.db, project.id);
    const expected = [before === null ? 0 : projectPolicyVersion(before)];
    await ofProject(project, { missed: 2 }, { ackLinks: false, by, expected });
    const late = ofProject(project, { missed: 3 }, { by, expected });
    await expect(late).rejects.toMatchObject({ code: "precondition_failed" });
    const { entries } = await listAudit(database.db, { projectId: project.id });
    const after = { missed: 2, ackLinks: false };
    expect(entries).toMatchObject([
      { what: "project.policyChanged", subject: "Backups", before: { missed: null, ackLinks: true }, after },
    ]);
  });

  test("refuse what does not fit, and channels of other projects", async () => {
    const project = await sampleProject(database.db);
    const wrong = { repeat: 10 };
    await expect(ofProject(project, wrong)).rejects.toMatchObject({ code: "invalid", field: "repeat" });
    await expect(ofTags(project, { a: wrong })).rejects.toMatchObject({ code: "invalid", field: "repeat" });
    const foreign = await sampleChannel(database.db, { projectId: (await sampleProject(database.db)).id });
    const rules = [{ tag: "a", policy: {}, channels: [foreign.uuid] }];
    const refused = setTagRules(database.db, { ...editing(), project, rules });
    await expect(refused).rejects.toMatchObject({ code: "invalid", field: "channels" });
  });

  test("lose a channel that is deleted", async () => {
    const project = await sampleProject(database.db);
    const kept = await sampleChannel(database.db, { projectId: project.id });
    const gone = await sampleChannel(database.db, { projectId: project.id });
    const rules = [{ tag: "a", policy: {}, channels: [gone.uuid, kept.uuid] }];
    await setTagRules(database.db, { ...editing(), project, rules });
    await deleteChannel(database.db, {
      projectId: project.id,
      uuid: gone.uuid,
      by: BY,
      at: NOW,
      expected: null,
    });
    const left = (await listTagRules(database.db, [project.id])).get(project.id);
    expect(left).toEqual([{ tag: "a", policy: {}, channels: [kept.id] }]);
  });
});
