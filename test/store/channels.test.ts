// Channels and their assignment to checks.
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  assignChannels,
  assignToAllChecks,
  deleteChannel,
  disableChannel,
  findChannelById,
  findChannelByUuid,
  findChannelsByIds,
  findChannelUuids,
  insertChannel,
  listAssignmentsOfChecks,
  listChannels,
  lockChannels,
  noteSendings,
  replaceConfig,
  type Sending,
  writeChannel,
} from "../../src/store/channels.ts";
import { listSilentChecks } from "../../src/store/check-lists.ts";
import { listChannelUuids } from "../../src/store/checks.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();

const write = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(database.db, work);

function sampleChannel(projectId: number, name = "Ops") {
  const config = { url: "https://example.org/hook", headers: { "X-Quote": `"'` } };
  return write((tx) =>
    insertChannel(tx, {
      uuid: randomUUID(),
      projectId,
      kind: "webhook",
      name,
      config,
      createdAt: MONDAY_NOON,
    }),
  );
}

describe("channels", () => {
  test("are found by uuid and id and listed oldest first, with their config", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const first = await sampleChannel(projectId);
    const second = await sampleChannel(projectId, "Dev");
    expect(first.config).toEqual({ url: "https://example.org/hook", headers: { "X-Quote": `"'` } });
    expect(await listChannels(database.db, projectId)).toEqual([first, second]);
    expect(await findChannelByUuid(database.db, second.uuid)).toEqual(second);
    expect(await findChannelById(database.db, first.id)).toEqual(first);
    expect(await findChannelByUuid(database.db, randomUUID())).toBeNull();
    expect(await findChannelById(database.db, 999_999)).toBeNull();
  });

  test("have UUIDs that are found by id, and listed for a project with a version", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const none = await listChannelUuids(database.db, projectId);
    expect(none.uuids).toEqual(new Map());
    const first = await sampleChannel(projectId);
    const second = await sampleChannel(projectId, "Dev");
    const other = await sampleChannel((await sampleProject(database.db)).id);
    const found = await findChannelUuids(database.db, [other.id, first.id, 999_999]);
    expect(found.toSorted((a, b) => a.id - b.id)).toEqual([
      { id: first.id, uuid: first.uuid },
      { id: other.id, uuid: other.uuid },
    ]);
    const listed = await listChannelUuids(database.db, projectId);
    expect(listed.uuids).toEqual(
      new Map([
        [first.id, first.uuid],
        [second.id, second.uuid],
      ]),
    );
    expect(listed.version).not.toBe(none.version);
    expect(await listChannelUuids(database.db, projectId)).toEqual(listed);
    await write((tx) => deleteChannel(tx, second.id));
    const after = await listChannelUuids(database.db, projectId);
    expect(after.uuids).toEqual(new Map([[first.id, first.uuid]]));
    expect(after.version).not.toBe(listed.version);
  });

  test("are disabled once with a reason, and a change gives a new chance", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const { id: channelId } = await sampleChannel(projectId);
    const disable = () =>
      write((tx) => disableChannel(tx, { channelId, at: MONDAY_NOON, reason: "gone (410)" }));
    expect(await disable()).toBe(true);
    expect(await disable()).toBe(false);
    expect(await findChannelById(database.db, channelId)).toMatchObject({
      disabledAt: MONDAY_NOON,
      disabledReason: "gone (410)",
    });
    expect(await write((tx) => writeChannel(tx, { channelId, config: { url: "x" } }))).toBe(true);
    expect(await findChannelById(database.db, channelId)).toMatchObject({
      name: "Ops",
      config: { url: "x" },
      disabledAt: null,
      disabledReason: null,
    });
    expect(await write((tx) => writeChannel(tx, { channelId, name: "Renamed" }))).toBe(true);
    expect(await findChannelById(database.db, channelId)).toMatchObject({
      name: "Renamed",
      config: { url: "x" },
    });
    expect(await write((tx) => writeChannel(tx, { channelId: 999_999, name: "x" }))).toBe(false);
  });

  test("remember how the last sending went", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const { id: channelId } = await sampleChannel(projectId);
    const note = (sending: Omit<Sending, "channelId">, at: number) =>
      write((tx) => noteSendings(tx, { sendings: [{ channelId, ...sending }], at }));
    const bad = { durationMs: 120, error: "timed out", failureCount: 2, holdUntilAt: MONDAY_NOON + 9 };
    await note(bad, MONDAY_NOON);
    expect(await findChannelById(database.db, channelId)).toMatchObject({
      lastNotifyAt: MONDAY_NOON,
      lastNotifyDurationMs: 120,
      lastError: "timed out",
      failureCount: 2,
    });
    await note({ durationMs: 80, error: null, failureCount: 0, holdUntilAt: null }, MONDAY_NOON + 1);
    expect(await findChannelById(database.db, channelId)).toMatchObject({ lastError: null, failureCount: 0 });
  });

  test("several are found and locked at once, with the names of their projects", async () => {
    const { id: projectId, name: projectName } = await sampleProject(database.db);
    const [a, b] = [await sampleChannel(projectId), await sampleChannel(projectId)];
    const found = await findChannelsByIds(database.db, [b.id, a.id, 999_999]);
    expect(found).toEqual(
      expect.arrayContaining([a, b].map((one) => ({ ...one, projectName, projectZone: "UTC" }))),
    );
    expect(found).toHaveLength(2);
    expect(await write((tx) => lockChannels(tx, [b.id, a.id]))).toEqual([a, b]);
  });

  test("a receiver may change the config, but not over the head of the owner", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const { id: channelId, config: before } = await sampleChannel(projectId);
    const after = { url: "https://example.org/moved" };
    const replace = () => write((tx) => replaceConfig(tx, { channelId, before, after }));
    expect(await replace()).toBe(true);
    expect((await findChannelById(database.db, channelId))?.config).toEqual(after);
    expect(await replace()).toBe(false);
  });
});

describe("assignments", () => {
  test("are replaced as a whole and listed by project and by check", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const check = await sampleCheck(database.db, { projectId });
    const other = await sampleCheck(database.db, { projectId });
    const [a, b] = [await sampleChannel(projectId), await sampleChannel(projectId)];
    const assign = (checkId: number, channelIds: number[]) =>
      write((tx) => assignChannels(tx, { checkId, channelIds }));
    await assign(check.id, [a.id, b.id]);
    await assign(other.id, [b.id]);
    await assign(check.id, [b.id]);
    const expected = [
      { checkId: check.id, channelId: b.id, channelUuid: b.uuid },
      { checkId: other.id, channelId: b.id, channelUuid: b.uuid },
    ];
    expect(await listAssignmentsOfChecks(database.db, [other.id, check.id])).toEqual(expected);
    await assign(check.id, []);
    expect(await listAssignmentsOfChecks(database.db, [check.id])).toEqual([]);
  });

  test("a channel can be given to all checks of its project, and takes its assignments with it", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const ids = [];
    for (let i = 0; i < 3; i++) ids.push((await sampleCheck(database.db, { projectId })).id);
    const stranger = await sampleCheck(database.db, { projectId: (await sampleProject(database.db)).id });
    const { id: channelId } = await sampleChannel(projectId);
    const assign = () => write((tx) => assignToAllChecks(tx, { projectId, channelId }));
    await assign();
    await assign();
    const assigned = await listAssignmentsOfChecks(database.db, [...ids, stranger.id]);
    expect(assigned.map(({ checkId }) => checkId)).toEqual(ids);
    expect(await write((tx) => deleteChannel(tx, channelId))).toBe(true);
    expect(await write((tx) => deleteChannel(tx, channelId))).toBe(false);
    expect(await listAssignmentsOfChecks(database.db, ids)).toEqual([]);
  });

  test("checks that are down and notify none of the given channels are listed and counted", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const checks = [];
    for (let i = 0; i < 4; i++) checks.push(await sampleCheck(database.db, { projectId }));
    const [silent, other, notified, up] = checks;
    if (silent === undefined || other === undefined || notified === undefined || up === undefined) return;
    const down = [silent.id, other.id, notified.id];
    await database.db.pool.query("update check_states set status = 'down' where check_id = any ($1)", [down]);
    const [used, disabled] = [await sampleChannel(projectId), await sampleChannel(projectId)];
    await write((tx) => assignChannels(tx, { checkId: notified.id, channelIds: [used.id] }));
    await write((tx) => assignChannels(tx, { checkId: other.id, channelIds: [disabled.id] }));
    const list = (limit: number, channelIds = [used.id]) =>
      listSilentChecks(database.db, { projectId, channelIds, limit });
    expect(await list(10)).toEqual({ uuids: [silent.uuid, other.uuid], total: 2 });
    expect(await list(1)).toEqual({ uuids: [silent.uuid], total: 2 });
    expect((await list(10, [])).total).toBe(3);
  });
});
