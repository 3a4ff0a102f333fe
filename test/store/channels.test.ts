// Channels and their assignment to checks.
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  deleteChannel,
  disableChannel,
  findChannelById,
  findChannelByUuid,
  insertChannel,
  listChannels,
  noteSending,
  updateChannel,
} from "../../src/store/alerts/channels.ts";
import {
  assignChannels,
  assignToAllChecks,
  listAssignmentsOfChecks,
  listAssignmentsOfProject,
} from "../../src/store/alerts/check-channels.ts";
import type { Tx } from "../../src/store/transaction.ts";
import { inTransaction } from "../../src/store/transaction.ts";
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
    expect(await write((tx) => updateChannel(tx, { channelId, config: { url: "x" } }))).toBe(true);
    expect(await findChannelById(database.db, channelId)).toMatchObject({
      name: "Ops",
      config: { url: "x" },
      disabledAt: null,
      disabledReason: null,
    });
    expect(await write((tx) => updateChannel(tx, { channelId, name: "Renamed" }))).toBe(true);
    expect(await findChannelById(database.db, channelId)).toMatchObject({
      name: "Renamed",
      config: { url: "x" },
    });
    expect(await write((tx) => updateChannel(tx, { channelId: 999_999, name: "x" }))).toBe(false);
  });

  test("remember how the last sending went", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const { id: channelId } = await sampleChannel(projectId);
    await write((tx) => noteSending(tx, { channelId, at: MONDAY_NOON, durationMs: 120, error: "timed out" }));
    expect(await findChannelById(database.db, channelId)).toMatchObject({
      lastNotifyAt: MONDAY_NOON,
      lastNotifyDurationMs: 120,
      lastError: "timed out",
    });
    await write((tx) => noteSending(tx, { channelId, at: MONDAY_NOON + 1, durationMs: 80, error: null }));
    expect((await findChannelById(database.db, channelId))?.lastError).toBeNull();
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
    expect(await listAssignmentsOfProject(database.db, projectId)).toEqual(expect.arrayContaining(expected));
    expect((await listAssignmentsOfProject(database.db, projectId)).length).toBe(2);
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
});
