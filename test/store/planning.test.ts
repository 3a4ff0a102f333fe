// Which deliveries are planned: to the enabled channels of a check, the members of a group, each flip once;
// corrections to notified channels, one notice per blind interval.
import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { disableChannel } from "../../src/store/channels.ts";
import { findDeliveries, listDeliveriesOfChannel, listDeliveriesOfFlip } from "../../src/store/deliveries.ts";
import {
  insertAlertDeliveries,
  retractAlertDeliveries,
  insertMessages,
  insertNoticeDeliveries,
  insertTestDeliveries,
  withdrawOpenings,
} from "../../src/store/planning.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { addChannel, assign, flip, owe, watchedCheck } from "../support/owed.ts";
import { MONDAY_NOON, sampleCheck } from "../support/sample.ts";

const database = useDatabase();
const write = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(database.db, work);
const alerts = async () =>
  (
    await database.db.pool.query<{ id: number; incident_id: number; opened_flip_id: number }>(
      "select id, incident_id, opened_flip_id from alerts order by id desc",
    )
  ).rows;
const retract = async (flipId = 0) => {
  const found = (await alerts()).find((one) => one.opened_flip_id === flipId);
  const alert = { alertId: found?.id ?? 0, flipId, incidentId: found?.incident_id ?? 0 };
  await write((tx) => retractAlertDeliveries(tx, { alerts: [alert], at: MONDAY_NOON + 9 }));
};
const log = (channel: { id: number }) =>
  listDeliveriesOfChannel(database.db, { channelId: channel.id, limit: 100 });

async function told(flipId = 0): Promise<number[]> {
  return (await listDeliveriesOfFlip(database.db, flipId)).map(({ channelId }) => channelId);
}

beforeEach(() => database.db.pool.query("truncate deliveries, notice_checks"));

test("an opening that was not sent can be withdrawn", async () => {
  const { check, channel } = await watchedCheck(database.db);
  const [flipId = 0] = await owe(database.db, { check }, flip("down"));
  const alertId = (await alerts()).find((one) => one.opened_flip_id === flipId)?.id ?? 0;
  await write((tx) =>
    withdrawOpenings(tx, { alerts: [{ alertId, flipId }], at: MONDAY_NOON, reason: "Resolved" }),
  );
  expect(await log(channel)).toMatchObject([{ state: "withdrawn", reason: "Resolved" }]);
});

describe("a flip is owed", () => {
  test("once to each channel, in the order of the flips, however often it is planned", async () => {
    const { check, channel } = await watchedCheck(database.db);
    const ids = await owe(database.db, { check }, flip("down"), flip("up", MONDAY_NOON + 1));
    const [{ id: alertId, incident_id: incidentId } = { id: 0, incident_id: 0 }] = await alerts();
    const news = ids.map((flipId, index) => ({
      alertId,
      incidentId,
      checkId: check.id,
      flipId,
      isClosing: index === 1,
    }));
    await write((tx) => insertAlertDeliveries(tx, { news, added: [], at: MONDAY_NOON }));
    expect((await log(channel)).map(({ flipId }) => flipId)).toEqual(ids.toReversed());
  });

  test("not to a disabled channel, nor without channels", async () => {
    const { check, channels } = await watchedCheck(database.db, { channelCount: 2 });
    const [off, on] = channels;
    await write((tx) => disableChannel(tx, { channelId: off?.id ?? 0, at: MONDAY_NOON, reason: "gone" }));
    const [flipId] = await owe(database.db, { check }, flip("down"));
    expect(await told(flipId)).toEqual([on?.id]);
    const other = await watchedCheck(database.db);
    await assign(database.db, other.check, []);
    expect(await told((await owe(database.db, other, flip("down")))[0])).toEqual([]);
  });

  test("a recovery also to a channel that got the problem and was removed since, and to one added since", async () => {
    const { check, channel } = await watchedCheck(database.db);
    await owe(database.db, { check }, flip("down"));
    const added = await addChannel(database.db, { projectId: check.projectId });
    await assign(database.db, check, [added]);
    const [flipId] = await owe(database.db, { check }, flip("up"));
    expect(await told(flipId)).toEqual([channel.id, added.id]);
  });

  test("not again for a flip that a process of the previous release has planned", async () => {
    const { check, channel } = await watchedCheck(database.db);
    const [flipId] = await owe(database.db, { check }, flip("down"));
    await database.db.pool.query("update deliveries set alert_id = null, incident_id = null");
    await database.db.pool.query("delete from alerts where check_id = $1", [check.id]);
    const [up] = await owe(database.db, { check }, flip("up", MONDAY_NOON + 1));
    expect((await log(channel)).map((one) => one.flipId)).toEqual([up, flipId]);
  });

  test("to the members of a group instead of the group, and to no channel twice", async () => {
    const { check, channels } = await watchedCheck(database.db, { channelCount: 3 });
    const [a, b, c] = channels;
    const stranger = (await watchedCheck(database.db)).channel;
    const { projectId } = check;
    const inner = await addChannel(database.db, { projectId, kind: "group", config: { members: [c?.uuid] } });
    const members = [a?.uuid, b?.uuid, stranger.uuid, inner.uuid, randomUUID(), "nonsense", null];
    const group = await addChannel(database.db, { projectId, kind: "group", config: { members } });
    await assign(database.db, check, [group, ...channels.slice(0, 1)]);
    expect(await told((await owe(database.db, { check }, flip("down")))[0])).toEqual([a?.id, b?.id]);
  });

  test("to a disabled channel only by a group, which is then noted", async () => {
    const { check, channel } = await watchedCheck(database.db);
    const config = { members: [channel.uuid] };
    const group = await addChannel(database.db, { projectId: check.projectId, kind: "group", config });
    await write((tx) => disableChannel(tx, { channelId: channel.id, at: MONDAY_NOON, reason: "gone" }));
    await assign(database.db, check, [channel, group]);
    const [flipId] = await owe(database.db, { check }, flip("down"));
    const blind = { from: MONDAY_NOON, to: MONDAY_NOON };
    const notices = [{ checkId: check.id, blind }];
    await write((tx) => insertNoticeDeliveries(tx, { notices, at: MONDAY_NOON, notifyAt: MONDAY_NOON }));
    await database.db.pool.query("update deliveries set message_id = id");
    await retract(flipId);
    const planned = (await log(channel)).map(({ kind, groupId }) => ({ kind, groupId }));
    const kinds = ["correction", "notice", "flip"];
    expect(planned).toEqual(kinds.map((kind) => ({ kind, groupId: group.id })));
  });

  test("to no channel by a malformed group", async () => {
    const { check } = await watchedCheck(database.db);
    const { projectId } = check;
    const broken = [{}, { members: "all" }, { members: { a: 1 } }].map((config) =>
      addChannel(database.db, { projectId, kind: "group", config }),
    );
    await assign(database.db, check, await Promise.all(broken));
    expect(await told((await owe(database.db, { check }, flip("down")))[0])).toEqual([]);
  });
});

describe("a flip that is retracted", () => {
  const mark = (channel: { id: number } | undefined, set: string) =>
    database.db.pool.query(`update deliveries set ${set} where channel_id = $1`, [channel?.id]);

  test("is not sent any more, and corrected if it was sent or may have been", async () => {
    const { check, channels } = await watchedCheck(database.db, { channelCount: 6 });
    const [unsent, sent, merged, doubtful, dead, unheard] = channels;
    const [flipId] = await owe(database.db, { check }, flip("down"));
    const settled = (state: string) => `state = '${state}', next_try_at = null, settled_at = '2026-11-16'`;
    await mark(sent, settled("sent"));
    await mark(merged, settled("merged"));
    await mark(doubtful, "message_id = id");
    await mark(dead, settled("dead"));
    await mark(unheard, settled("skipped"));
    await retract(flipId);
    await retract(flipId);
    const states = async (channel: { id: number } | undefined) =>
      (await log(channel ?? { id: 0 })).map(({ kind, state }) => `${kind} ${state}`);
    expect(await states(unsent)).toEqual(["flip withdrawn"]);
    expect(await states(sent)).toEqual(["correction pending", "flip sent"]);
    expect(await states(merged)).toEqual(["correction pending", "flip merged"]);
    expect(await states(doubtful)).toEqual(["correction pending", "flip pending"]);
    expect(await states(dead)).toEqual(["flip dead"]);
    expect(await states(unheard)).toEqual(["flip skipped"]);
  });

  test("is not corrected to a channel that was disabled since", async () => {
    const { check, channel } = await watchedCheck(database.db);
    const [flipId] = await owe(database.db, { check }, flip("down"));
    await mark(channel, "state = 'sent', next_try_at = null, settled_at = '2026-11-16'");
    await write((tx) => disableChannel(tx, { channelId: channel.id, at: MONDAY_NOON, reason: "gone" }));
    await retract(flipId);
    expect(await log(channel)).toHaveLength(1);
  });
});

describe("a notice", () => {
  const blind = { from: MONDAY_NOON, to: MONDAY_NOON + 60_000 };
  const plan = (checkIds: readonly number[], about = blind) =>
    write((tx) =>
      insertNoticeDeliveries(tx, {
        notices: checkIds.map((checkId) => ({ checkId, blind: about })),
        at: MONDAY_NOON + 1,
        notifyAt: MONDAY_NOON + 2,
      }),
    );
  const checksOf = async (deliveryId = 0) =>
    (
      await database.db.pool.query<{ check_id: number }>(
        "select check_id from notice_checks where delivery_id = $1 order by check_id",
        [deliveryId],
      )
    ).rows.map(({ check_id }) => check_id);

  test("is owed once for each channel and blind time, and names all checks", async () => {
    const { check, channel } = await watchedCheck(database.db);
    const other = await sampleCheck(database.db, { projectId: check.projectId });
    await assign(database.db, other, [channel]);
    await plan([check.id, check.id]);
    await plan([other.id]);
    await plan([other.id], { ...blind, to: blind.to + 1 });
    const [second, first] = await log(channel);
    expect(first).toMatchObject({
      kind: "notice",
      checkId: null,
      blindFromAt: blind.from,
      blindToAt: blind.to,
      createdAt: MONDAY_NOON + 1,
      nextTryAt: MONDAY_NOON + 2,
    });
    expect(await checksOf(first?.id)).toEqual([check.id, other.id]);
    expect(await checksOf(second?.id)).toEqual([other.id]);
    expect(await log(channel)).toHaveLength(2);
  });

  test("takes no more checks once it is being sent", async () => {
    const { check, channel } = await watchedCheck(database.db);
    const other = await sampleCheck(database.db, { projectId: check.projectId });
    await assign(database.db, other, [channel]);
    await plan([check.id]);
    await database.db.pool.query("update deliveries set message_id = id");
    await plan([other.id]);
    expect(await checksOf((await log(channel))[0]?.id)).toEqual([check.id]);
  });
});

describe("other messages", () => {
  test("say what they were given", async () => {
    const { channel } = await watchedCheck(database.db);
    const about = { kind: "operator", text: `held "since" 3 {min}` };
    const messages = [{ channelId: channel.id, kind: "operator" as const, about }];
    await write((tx) => insertMessages(tx, { messages, at: MONDAY_NOON }));
    expect(await log(channel)).toMatchObject([{ kind: "operator", about, checkId: null, flipId: null }]);
  });

  test("a test goes to a channel, disabled or not, and to each member of a group", async () => {
    const { check, channels } = await watchedCheck(database.db, { channelCount: 2 });
    const [channelId = 0] = channels.map(({ id }) => id);
    await write((tx) => disableChannel(tx, { channelId, at: MONDAY_NOON, reason: "gone" }));
    const ids = await write((tx) => insertTestDeliveries(tx, { channelId, at: MONDAY_NOON }));
    expect(await findDeliveries(database.db, ids)).toMatchObject([{ kind: "test", channelId }]);
    const config = { members: channels.map(({ uuid }) => uuid) };
    const group = await addChannel(database.db, { projectId: check.projectId, kind: "group", config });
    const both = await write((tx) => insertTestDeliveries(tx, { channelId: group.id, at: MONDAY_NOON }));
    const tested = await findDeliveries(database.db, both);
    expect(tested.map((one) => one.channelId)).toEqual(channels.map(({ id }) => id));
  });
});
