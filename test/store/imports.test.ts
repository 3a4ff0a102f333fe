// What imports have written, and the statements that write and delete in bulk.
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { DEFAULT_SETTINGS } from "../../src/core/check.ts";
import { MINUTE_MS } from "../../src/core/instant.ts";
import { insertFlips, listFlips } from "../../src/store/flips.ts";
import {
  assignImportedChannels,
  COPY_PING_BODIES_IN,
  COPY_PINGS_IN,
  countImportItems,
  countPingsSinceImport,
  deleteImportedAccount,
  deleteImportedKey,
  deleteImportedProject,
  deleteImportItems,
  dropStatusChanges,
  findImportedChecks,
  findImportItems,
  findImportOf,
  findTakenIdentifiers,
  type ImportItem,
  insertHeldAlerts,
  insertImport,
  insertImportedChecks,
  insertMoveGaps,
  listImportItems,
  listImports,
  lockImport,
  lockUntoldAlerts,
  markImport,
  oweRecoveries,
  pingBodyLine,
  pingLine,
  writeImportItems,
} from "../../src/store/imports.ts";
import { listRefusedIntervals } from "../../src/store/intakes.ts";
import { findBody, listPings } from "../../src/store/pings.ts";
import { findProjectById } from "../../src/store/projects.ts";
import { inBulkTransaction, inTransaction } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { sampleChannel } from "../support/checks-under-change.ts";
import { MONDAY_NOON, sampleProject } from "../support/sample.ts";

const here = useDatabase();

const newImport = async (source = randomUUID()) => ({
  source,
  id: await inTransaction(here.db, (tx) => insertImport(tx, { uuid: randomUUID(), source, at: MONDAY_NOON })),
});

function item(targetId: number, more: Partial<ImportItem> = {}): ImportItem {
  return {
    kind: "check",
    sourceRef: `ref ${targetId}`,
    targetId,
    isCreated: true,
    fingerprint: "f",
    sourceStatus: "down",
    pingCount: 0,
    readAt: MONDAY_NOON,
    detail: { a: 1 },
    ...more,
  };
}

async function newChecks(count: number) {
  const project = await sampleProject(here.db);
  const checks = Array.from({ length: count }, (_, index) => ({
    uuid: randomUUID(),
    badgeUuid: randomUUID(),
    projectId: project.id,
    settings: { ...DEFAULT_SETTINGS, name: `check ${index}`, slug: `s-${index}`, filterBody: index === 1 },
    createdAt: MONDAY_NOON - index,
  }));
  const ids = await inTransaction(here.db, (tx) => insertImportedChecks(tx, { checks, at: MONDAY_NOON }));
  return { project, checks, ids };
}

test("an import is found by its source until it is undone", async () => {
  const { id, source } = await newImport();
  expect(await findImportOf(here.db, source)).toMatchObject({ id, source, finishedAt: null });
  await expect(newImport(source)).rejects.toThrow("imports_current");
  await inTransaction(here.db, async (tx) => {
    expect(await lockImport(tx, id)).toMatchObject({ id });
    await expect(inTransaction(here.db, (other) => lockImport(other, id))).rejects.toThrow(
      "could not obtain lock",
    );
    await markImport(tx, id, {
      runAt: MONDAY_NOON + 1,
      finishedAt: MONDAY_NOON + 2,
      undoneAt: MONDAY_NOON + 3,
    });
  });
  expect(await findImportOf(here.db, source)).toBeNull();
  expect((await listImports(here.db, 1))[0]).toMatchObject({
    id,
    runAt: MONDAY_NOON + 1,
    finishedAt: MONDAY_NOON + 2,
    undoneAt: MONDAY_NOON + 3,
  });
});

test("items are written, updated, paged, counted and deleted", async () => {
  const { id: importId } = await newImport();
  const items = [1, 2, 3].map((targetId) => item(targetId));
  await inTransaction(here.db, (tx) => writeImportItems(tx, { importId, items }));
  const changed = item(2, { fingerprint: null, isCreated: false, sourceStatus: "up", pingCount: 7 });
  await inTransaction(here.db, (tx) => writeImportItems(tx, { importId, items: [changed] }));
  const found = await findImportItems(here.db, { importId, kind: "check", refs: ["ref 2", "ref 9"] });
  expect([...found.values()]).toEqual([{ ...changed, isCreated: true }]);
  const page = await listImportItems(here.db, { importId, kind: "check", after: null, limit: 2 });
  expect(page.map(({ targetId }) => targetId)).toEqual([1, 2]);
  const next = await listImportItems(here.db, { importId, kind: "check", after: page[1] ?? null, limit: 2 });
  expect(next).toEqual([item(3)]);
  await inTransaction(here.db, (tx) => deleteImportItems(tx, { importId, kind: "check", targetIds: [1] }));
  expect(await countImportItems(here.db, importId)).toEqual([{ kind: "check", count: 2, created: 2 }]);
});

test("checks are inserted in order, with states and channels, and their identifiers are taken", async () => {
  const { project, checks, ids } = await newChecks(3);
  const found = await findImportedChecks(here.db, [...checks.map(({ uuid }) => uuid), randomUUID()]);
  expect([...found.values()].map(({ id }) => id).toSorted((a, b) => a - b)).toEqual(ids);
  expect(found.get(checks[0]?.uuid ?? "")).toMatchObject({ status: "new", pingCount: 0, isDeleted: false });
  const channel = await sampleChannel(here.db, { projectId: project.id, name: "c" });
  const pairs = ids.map((checkId) => ({ checkId, channelId: channel.id }));
  await inTransaction(here.db, (tx) => assignImportedChannels(tx, [...pairs, ...pairs]));
  const taken = await findTakenIdentifiers(here.db, {
    check: [checks[0]?.uuid ?? ""],
    badge: [checks[1]?.badgeUuid ?? "", randomUUID()],
    channel: [channel.uuid],
    project: [project.uuid],
    pingKey: [project.pingKey ?? ""],
    badgeKey: [project.badgeKey],
    apiKey: ["00".repeat(32)],
  });
  expect(taken.map(({ what }) => what).toSorted()).toEqual([
    "badge",
    "badgeKey",
    "channel",
    "check",
    "pingKey",
    "project",
  ]);
  expect(await findProjectById(here.db, project.id)).toMatchObject({ uuid: project.uuid });
});

test("pings and bodies are copied, whatever they contain", async () => {
  const { ids } = await newChecks(1);
  const [checkId = 0] = ids;
  const body = Buffer.from([0, 9, 10, 13, 92, 255]);
  const ping = {
    n: 3,
    at: MONDAY_NOON,
    kind: "fail" as const,
    durationMs: 12,
    scheme: "https",
    method: "POST",
    remoteAddr: null,
    ua: "tab\t line\n back\\slash \\N \r ü",
    rid: randomUUID(),
    exitStatus: 7,
    body,
  };
  const options = {
    url: here.url,
    applicationName: "overdue-test",
    requireDurable: false,
    onError: () => {},
  };
  await inBulkTransaction(options, { kind: "load" }, async (tx) => {
    for (const [text, line] of [
      [COPY_PINGS_IN, pingLine(checkId, ping)],
      [COPY_PING_BODIES_IN, pingBodyLine(checkId, ping, body)],
    ] as const) {
      const copy = await tx.copyIn(text);
      await copy.write(Buffer.from(line));
      await copy.end();
    }
  });
  const { body: _, ...logged } = ping;
  expect(await listPings(here.db, { checkId, afterN: 0, limit: 10 })).toEqual([
    { checkId, ...logged, bodySize: body.length },
  ]);
  expect(await findBody(here.db, { checkId, n: 3 })).toMatchObject({ body });
});

test("held alerts can be told, dropped, or owe a recovery", async () => {
  const { ids } = await newChecks(3);
  const alerts = ids.map((checkId) => ({
    checkId,
    cause: "missed" as const,
    openedAt: MONDAY_NOON,
    flipId: 0,
  }));
  const held = { alerts, silenceId: 1, until: MONDAY_NOON + MINUTE_MS };
  await inTransaction(here.db, (tx) => insertHeldAlerts(tx, held));
  await inTransaction(here.db, (tx) => insertHeldAlerts(tx, held));
  const [first = 0, second = 0] = ids;
  const flip = { at: MONDAY_NOON + 5, from: "up", to: "down", reason: "timeout" } as const;
  await inTransaction(here.db, (tx) => insertFlips(tx, [{ checkId: first, flip }]));
  const dropped = { checks: [{ checkId: first, after: MONDAY_NOON }], at: MONDAY_NOON + 9 };
  await inTransaction(here.db, (tx) => dropStatusChanges(tx, dropped));
  expect(await listFlips(here.db, { checkId: first, limit: 10 })).toEqual([]);
  const untold = await inTransaction(here.db, (tx) => lockUntoldAlerts(tx, ids));
  expect(untold.map(({ checkId }) => checkId)).toEqual(ids.slice(1));
  await here.db.pool.query(
    "update alerts set closed_at = opened_at + interval '1 minute', close_cause = 'recovered', planned_at = opened_at where check_id = $1",
    [second],
  );
  const owed = await inTransaction(here.db, (tx) =>
    oweRecoveries(
      tx,
      ids.map((checkId) => ({ checkId, readAt: MONDAY_NOON + 1 })),
    ),
  );
  expect(owed).toBe(1);
});

test("a gap of a check is extended by a repeated call, and read as a gap", async () => {
  const { ids } = await newChecks(1);
  const [checkId = 0] = ids;
  const importUuid = randomUUID();
  const gaps = [{ checkId, from: MONDAY_NOON }];
  for (const to of [MONDAY_NOON + 10, MONDAY_NOON + 20]) {
    await inTransaction(here.db, (tx) => insertMoveGaps(tx, { importUuid, gaps, to }));
  }
  expect(await listRefusedIntervals(here.db, { checkIds: [checkId], from: 0 })).toEqual([
    { checkId, network: null, from: MONDAY_NOON, to: MONDAY_NOON + 20, isGap: true },
  ]);
});

test("undoing deletes only what nothing refers to", async () => {
  const { project, ids } = await newChecks(1);
  const { id: importId } = await newImport();
  await inTransaction(here.db, (tx) => writeImportItems(tx, { importId, items: [item(ids[0] ?? 0)] }));
  await here.db.pool.query("update check_states set ping_count = 4 where check_id = $1", [ids[0]]);
  expect(await countPingsSinceImport(here.db, importId)).toBe(4);
  const { rows } = await here.db.pool.query<{ account_id: number }>(
    "select account_id from members where project_id = $1",
    [project.id],
  );
  const accountId = rows[0]?.account_id ?? 0;
  await inTransaction(here.db, async (tx) => {
    await deleteImportedKey(tx, 0);
    expect(await deleteImportedProject(tx, project.id)).toBe(false);
    expect(await deleteImportedAccount(tx, accountId)).toBe(false);
  });
  await here.db.pool.query("delete from checks where project_id = $1", [project.id]);
  await inTransaction(here.db, async (tx) => {
    expect(await deleteImportedProject(tx, project.id)).toBe(true);
    expect(await deleteImportedAccount(tx, accountId)).toBe(true);
  });
});
