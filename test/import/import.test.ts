// Imports from a source in memory into a real database: what is written, repeated runs, finishing, and undoing.
import { describe, expect, test } from "vitest";
import type { ImportSource } from "../../src/core/import-source.ts";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../src/core/instant.ts";
import {
  chooseImport,
  compareImport,
  finishImport,
  listImportStatuses,
  undoImport,
} from "../../src/operations/import-move.ts";
import { deleteCheck, updateCheck } from "../../src/operations/checks.ts";
import { findCheckByUuid } from "../../src/store/checks.ts";
import { readDatabaseClock } from "../../src/store/instance.ts";
import { useDatabase } from "../support/database.ts";
import {
  addPing,
  type MemoryContent,
  memorySource,
  missDeadline,
  pingedCheck,
  sourceAccount,
  sourceChannel,
  sourceCheck,
  sourceProject,
  uuidOf,
} from "./memory-source.ts";
import { importInto } from "./run-import.ts";

const here = useDatabase();
let sourceCount = 0;

/** A source of one project with four checks: up, late but up, down by its deadline, down by a failure. */
async function content(first: number, more: Partial<MemoryContent> = {}): Promise<MemoryContent> {
  const now = await readDatabaseClock(here.db);
  sourceCount += 1;
  const channelUuids = [uuidOf(first, 2)];
  const checks = [0, 1, 2, 3].map((index) =>
    pingedCheck(first + index, {
      now,
      count: 5,
      channelUuids,
      agoMs: index === 2 ? 3 * HOUR_MS : 10 * MINUTE_MS,
    }),
  );
  if (checks[2] !== undefined) missDeadline(checks[2]);
  if (checks[3] !== undefined) addPing(checks[3], now - MINUTE_MS, "fail");
  return {
    name: `source ${sourceCount}`,
    accounts: [sourceAccount("owner@example.org")],
    projects: [{ project: sourceProject(first, { channels: [sourceChannel(first)] }), checks }],
    ...more,
  };
}

const rows = async (sql: string, values: unknown[] = []) => (await here.db.pool.query(sql, values)).rows;

/** Everything that is stored about checks of a project, without ids. */
async function storedChecks(projectUuid: string) {
  return rows(
    `select c.uuid, c.badge_uuid, c.name, c.slug, c.tags, s.status, s.ping_count, s.last_ping_at, s.down_at,
        s.last_success_n, s.day, s.day_success_count,
        (select json_agg(json_build_array(n, at, kind, body_size) order by n) from pings where check_id = c.id) as pings,
        (select json_agg(json_build_array(at, from_status, to_status, reason) order by at) from flips
          where check_id = c.id and taken_back_at is null) as flips,
        (select count(*)::int from alerts where check_id = c.id and closed_at is null) as alerts
      from checks c join check_states s on s.check_id = c.id join projects p on p.id = c.project_id
      where p.uuid = $1 order by c.uuid`,
    [projectUuid],
  );
}

async function deliveriesOf(projectUuid: string) {
  return rows(
    `select d.kind, d.state from deliveries d join channels ch on ch.id = d.channel_id
      join projects p on p.id = ch.project_id where p.uuid = $1`,
    [projectUuid],
  );
}

describe("An import", () => {
  test("without --write only reports", async () => {
    const source = memorySource(await content(100));
    const report = await importInto(here, source, { isWriting: false });
    expect(report.isWritten).toBe(false);
    expect(report.refusals).toEqual([]);
    expect(report.projects[0]?.counts).toMatchObject({ created: 4, left: 0, pings: 21 });
    expect(await rows("select 1 from checks where uuid = $1", [uuidOf(100)])).toEqual([]);
    expect(await rows("select 1 from imports where source = $1", [source.name])).toEqual([]);
  });

  test("takes checks with their states, pings, bodies and flips", async () => {
    const given = await content(200);
    const report = await importInto(here, memorySource(given));
    expect(report.findings).toEqual([]);
    expect(report.projects[0]?.counts).toMatchObject({ created: 4, pings: 21, bodies: 4, flips: 6 });
    const stored = await storedChecks(uuidOf(200, 3));
    expect(stored.map(({ status, ping_count, alerts }) => [status, ping_count, alerts])).toEqual([
      ["up", 5, 0],
      ["up", 5, 0],
      ["down", 5, 1],
      ["down", 6, 1],
    ]);
    const [first] = stored;
    const lastPingAt = given.projects[0]?.checks[0]?.check.lastPingAt ?? 0;
    expect(first?.last_ping_at).toBe(lastPingAt);
    expect(first?.down_at).toBe(lastPingAt + HOUR_MS + 10 * MINUTE_MS);
    expect(first?.pings).toHaveLength(5);
    expect(first?.slug).toBe("check-200");
    const silences = await rows(
      "select s.reason, s.check_ids, s.tag from silences s join projects p on p.id = s.project_id where p.uuid = $1",
      [uuidOf(200, 3)],
    );
    expect(silences).toEqual([{ reason: expect.stringContaining("Import"), check_ids: null, tag: null }]);
  });

  test("run twice changes nothing", async () => {
    const given = await content(300);
    await importInto(here, memorySource(given));
    const before = await storedChecks(uuidOf(300, 3));
    const report = await importInto(here, memorySource(given));
    expect(report.projects[0]?.counts).toMatchObject({ created: 0, updated: 0, unchanged: 4, pings: 0 });
    expect(await storedChecks(uuidOf(300, 3))).toEqual(before);
  });

  test("run again takes new pings, changed settings and new checks", async () => {
    const given = await content(400);
    await importInto(here, memorySource(given));
    const [first, second] = given.projects[0]?.checks ?? [];
    if (first === undefined || second === undefined) throw new Error("no checks");
    const now = await readDatabaseClock(here.db);
    addPing(first, now - SECOND_MS);
    second.check = { ...second.check, name: "Renamed", graceS: 1_200 };
    given.projects[0]?.checks.push(pingedCheck(410, { now, count: 2 }));
    const report = await importInto(here, memorySource(given));
    expect(report.projects[0]?.counts).toMatchObject({ created: 1, updated: 2, unchanged: 2, pings: 3 });
    const check = await findCheckByUuid(here.db, first.check.uuid);
    expect(check?.state).toMatchObject({ pingCount: 6, lastPingAt: now - SECOND_MS, status: "up" });
    expect(check?.downAt).toBe(now - SECOND_MS + HOUR_MS + 10 * MINUTE_MS);
    const renamed = await findCheckByUuid(here.db, second.check.uuid);
    expect(renamed?.settings).toMatchObject({ name: "Renamed", graceSeconds: 1_200 });
  });

  test("run again leaves checks alone that were edited or deleted here", async () => {
    const given = await content(500);
    await importInto(here, memorySource(given));
    const [first, second] = given.projects[0]?.checks ?? [];
    if (first === undefined || second === undefined) throw new Error("no checks");
    const found = await findCheckByUuid(here.db, first.check.uuid);
    const other = await findCheckByUuid(here.db, second.check.uuid);
    if (found === null || other === null) throw new Error("not imported");
    const at = await readDatabaseClock(here.db);
    const visibility = { watermarkAt: null, blind: [] };
    await updateCheck(here.db, {
      projectId: found.projectId,
      uuid: found.uuid,
      params: { name: "Ours" },
      channels: null,
      deriveSlug: false,
      accountId: null,
      at,
      visibility,
    });
    await deleteCheck(here.db, { projectId: other.projectId, uuid: other.uuid });
    first.check = { ...first.check, name: "Theirs" };
    const report = await importInto(here, memorySource(given));
    expect(report.findings.map(({ level, kind }) => [level, kind])).toEqual([
      ["edited", "check"],
      ["edited", "check"],
    ]);
    expect((await findCheckByUuid(here.db, found.uuid))?.settings.name).toBe("Ours");
    expect(await findCheckByUuid(here.db, other.uuid)).toBeNull();
  });

  test("refuses a project that exists here, and checks with a UUID that exists", async () => {
    const given = await content(600);
    await importInto(here, memorySource(given));
    const again = await importInto(here, memorySource({ ...given, name: "another source" }));
    expect(again.isWritten).toBe(false);
    expect(again.refusals).toEqual([expect.stringContaining('The project "Project 600" exists here')]);
    expect(again.findings.map(({ level }) => level)).toContain("collision");
  });

  test("refuses channels that cannot be taken, unless they are skipped", async () => {
    const given = await content(700);
    const shell = sourceChannel(701, { kind: "shell", value: '{"cmd_down": "x"}' });
    const [project] = given.projects;
    if (project === undefined) throw new Error("no project");
    project.project = { ...project.project, channels: [shell] };
    const lost = { ...pingedCheck(710, { now: 0, count: 0, channelUuids: [shell.uuid] }) };
    project.checks = [lost];
    const refused = await importInto(here, memorySource(given));
    expect(refused.refusals).toEqual([expect.stringContaining("1 channel of")]);
    const report = await importInto(here, memorySource(given), { skipsUnknownChannels: true });
    expect(report.isWritten).toBe(true);
    expect(report.findings.map(({ kind, level }) => [kind, level])).toEqual([
      ["channel", "impossible"],
      ["check", "adapted"],
    ]);
  });

  test("into a project silences only the imported checks", async () => {
    const given = await content(800);
    await importInto(here, memorySource(given));
    const [project] = given.projects;
    const now = await readDatabaseClock(here.db);
    const api: MemoryContent = {
      name: "an API",
      accounts: [],
      projects: [
        {
          project: sourceProject(0, {
            ref: "api",
            uuid: null,
            pingKey: null,
            badgeKey: null,
            ownerEmail: null,
            channels: [sourceChannel(820, { name: "Hook 800", value: null })],
          }),
          checks: [pingedCheck(850, { now, count: 3, channelUuids: [uuidOf(820, 2)] })],
        },
      ],
    };
    const refused = await importInto(here, memorySource(api));
    expect(refused.refusals).toHaveLength(2);
    const into = project?.project.uuid ?? "";
    const report = await importInto(here, memorySource(api), { into });
    expect(report.refusals).toEqual([]);
    const check = await findCheckByUuid(here.db, uuidOf(850));
    const [silence] = await rows(
      "select check_ids from silences where check_ids is not null order by id desc limit 1",
    );
    expect(silence).toEqual({ check_ids: [check?.id] });
    // The channel of the same kind and name is assigned.
    expect(await rows("select count(*)::int from check_channels where check_id = $1", [check?.id])).toEqual([
      { count: 1 },
    ]);
    const again = await importInto(here, memorySource(api), { into });
    expect(again.projects[0]?.counts).toMatchObject({ unchanged: 1, created: 0 });
  });

  test("can be compared with its source", async () => {
    const given = await content(900);
    await importInto(here, memorySource(given));
    const source = memorySource(given);
    expect(await compareImport(here.db, source)).toMatchObject({ compared: 4, differenceCount: 0 });
    const [first] = given.projects[0]?.checks ?? [];
    if (first === undefined) throw new Error("no check");
    first.check = { ...first.check, status: "down" };
    expect(await compareImport(here.db, source)).toMatchObject({
      differences: [{ uuid: uuidOf(900), source: "down", here: "up" }],
    });
  });
});

describe("Finishing an import", () => {
  const importedId = async ({ name }: Pick<ImportSource, "name">) => {
    const [found] = await rows("select id, uuid from imports where source = $1", [name]);
    return found as { id: number; uuid: string };
  };

  test("ends the silence, tells nobody again, and cannot be repeated", async () => {
    const given = await content(1_000);
    await importInto(here, memorySource(given));
    const { id, uuid } = await importedId(given);
    const done = await finishImport(here.db, { importId: id, now: await readDatabaseClock(here.db) });
    expect(done).toMatchObject({ checks: 4, takenBack: 0, down: 2 });
    const alerts = await rows(
      `select a.notified_at is not null as told, a.incident_id is not null as incident from alerts a
        join checks c on c.id = a.check_id join projects p on p.id = c.project_id where p.uuid = $1`,
      [uuidOf(1_000, 3)],
    );
    expect(alerts).toEqual([
      { told: true, incident: true },
      { told: true, incident: true },
    ]);
    expect(await deliveriesOf(uuidOf(1_000, 3))).toEqual([]);
    await expect(
      finishImport(here.db, { importId: id, now: await readDatabaseClock(here.db) }),
    ).rejects.toThrow("already finished");
    await expect(importInto(here, memorySource(given))).rejects.toThrow("was finished");
    await expect(chooseImport(here.db, { uuid, isFinished: true })).resolves.toMatchObject({ id });
  });

  test("undo removes everything that nobody has changed", async () => {
    const given = await content(1_100, { accounts: [sourceAccount("only-here@example.org")] });
    const [project] = given.projects;
    if (project === undefined) throw new Error("no project");
    project.project = { ...project.project, ownerEmail: "only-here@example.org" };
    await importInto(here, memorySource(given));
    const { id } = await importedId(given);
    const plan = await undoImport(here.db, { importId: id, isWriting: false });
    expect(plan.removed).toMatchObject({ check: 4, channel: 1, project: 1, account: 1 });
    expect(await storedChecks(uuidOf(1_100, 3))).toHaveLength(4);
    const undone = await undoImport(here.db, { importId: id, isWriting: true });
    expect(undone).toMatchObject({ removed: { check: 4, channel: 1, project: 1, account: 1 }, stays: [] });
    expect(await rows("select 1 from projects where uuid = $1", [uuidOf(1_100, 3)])).toEqual([]);
    expect(await rows("select 1 from accounts where email = $1", ["only-here@example.org"])).toEqual([]);
    const [status] = (await listImportStatuses(here.db)).filter(({ source }) => source === given.name);
    expect(status?.undoneAt).not.toBeNull();
    // It can be imported again.
    expect((await importInto(here, memorySource(given))).projects[0]?.counts.created).toBe(4);
  });

  test("undo keeps checks that were changed, and what they need", async () => {
    const given = await content(1_200);
    await importInto(here, memorySource(given));
    const { id } = await importedId(given);
    await rows("update checks set name = 'Ours' where uuid = $1", [uuidOf(1_200)]);
    const undone = await undoImport(here.db, { importId: id, isWriting: true });
    expect(undone.removed.check).toBe(3);
    expect(undone.stays.map(({ kind, why }) => [kind, why])).toEqual([
      ["check", "It was changed here."],
      ["channel", "Checks that stay use it."],
      ["project", "It is in use."],
      ["account", "It was here before the import."],
    ]);
  });

  test("a check of the source that nobody has pinged is taken as new", async () => {
    const given = await content(1_300);
    given.projects[0]?.checks.push({ check: sourceCheck(1_310), pings: [], flips: [] });
    await importInto(here, memorySource(given));
    expect((await findCheckByUuid(here.db, uuidOf(1_310)))?.state.status).toBe("new");
  });
});
