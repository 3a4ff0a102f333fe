// Sending pending deliveries: the contents of messages, which channels are notified, and the delivery log afterwards.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CHANNEL_SENDS_MAX } from "../../../src/core/delivery.ts";
import { MINUTE_MS, SECOND_MS } from "../../../src/core/instant.ts";
import type { FlipMessage } from "../../../src/core/message.ts";
import { DEFAULT_RULES } from "../../../src/core/rules.ts";
import { claimDeliveries } from "../../../src/operations/deliveries.ts";
import { planNotices, planTest } from "../../../src/operations/plan-deliveries.ts";
import { deliverDue } from "../../../src/operations/send-loop.ts";
import { deleteChannel, disableChannel, findChannelById } from "../../../src/store/channels.ts";
import { markCheckDeleted, moveCheck } from "../../../src/store/checks.ts";
import { listDeliveriesOfChannel } from "../../../src/store/deliveries.ts";
import { insertMessages } from "../../../src/store/planning.ts";
import { inTransaction, type Tx } from "../../../src/store/transaction.ts";
import { sampleIntake } from "../../support/checks-under-change.ts";
import { useDatabase } from "../../support/database.ts";
import { addChannel, assign, flip, owe, watchedCheck } from "../../support/owed.ts";
import { MONDAY_NOON as NOW, sampleCheck } from "../../support/sample.ts";
import { Receiver } from "./receiver.ts";

const database = useDatabase();
const write = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(database.db, work);

let receiver: Receiver;
beforeAll(async () => {
  receiver = await Receiver.start();
});
afterAll(() => receiver.stop());
beforeEach(() => database.db.pool.query("truncate deliveries"));

const deliver = (now = NOW + MINUTE_MS) => deliverDue(database.db, { now, ports: receiver.ports() });
const record = async (channel: { id: number }) =>
  (await listDeliveriesOfChannel(database.db, { channelId: channel.id, limit: 100 })).toReversed();
const states = async (channel: { id: number }) => (await record(channel)).map(({ state }) => state);

function lastTo(channel: { id: number }): FlipMessage {
  const message = receiver.taken.findLast(({ channelId }) => channelId === channel.id)?.message;
  if (message?.kind !== "down" && message?.kind !== "up") throw new Error("no message about a flip");
  return message;
}

describe("a message", () => {
  test("states what happened, with the last ping, its output and the state of the other checks", async () => {
    const one = await watchedCheck(database.db, { name: "nightly", tags: "db prod" });
    const { check, channel } = one;
    const { projectId } = check;
    const neighbour = await sampleCheck(database.db, { projectId, name: "other 10" });
    const another = await sampleCheck(database.db, { projectId, name: "other 9" });
    for (const { id } of [neighbour, another]) {
      await database.db.pool.query("update check_states set status = 'down' where check_id = $1", [id]);
    }
    const send = await sampleIntake(database.db);
    await send([{ uuid: check.uuid, at: NOW - MINUTE_MS }]);
    await send([
      { uuid: check.uuid, action: { exitStatus: 3 }, at: NOW, body: "no space left \u{1F4BE}", ua: "cron" },
    ]);
    await send([{ uuid: check.uuid, action: "log", at: NOW + 1, body: "later" }]);
    const settled = await deliver(NOW + 5 * SECOND_MS);
    expect(settled).toMatchObject([{ waitedMs: [5 * SECOND_MS], disabled: null }]);
    expect(lastTo(channel)).toMatchObject({
      kind: "down",
      at: NOW + 5 * SECOND_MS,
      since: NOW,
      reason: "fail",
      flips: [{ at: NOW, from: "up", to: "down", reason: "fail" }],
      corrections: [],
      downtimeMs: null,
      check: {
        uuid: check.uuid,
        projectName: "Backups",
        settings: { name: "nightly", tags: "db prod" },
        state: { status: "down", pingCount: 3 },
        channelUuids: [channel.uuid],
      },
      lastPing: { n: 2, kind: "fail", at: NOW, ua: "cron", bodySize: 18, body: "no space left \u{1F4BE}" },
      otherChecks: {
        total: 2,
        downCount: 2,
        down: [
          { uuid: another.uuid, name: "other 9" },
          { uuid: neighbour.uuid, name: "other 10" },
        ],
      },
    });
    await send([{ uuid: check.uuid, at: NOW + 10 * MINUTE_MS }]);
    await deliver(NOW + 11 * MINUTE_MS);
    expect(lastTo(channel)).toMatchObject({
      kind: "up",
      downtimeMs: 10 * MINUTE_MS,
      lastPing: { n: 4, body: null },
    });
    expect(receiver.saidTo(channel)).toEqual(["down (fail)", "up (up)"]);
  });

  test("after several failures has the output of the last one", async () => {
    const rules = { ...DEFAULT_RULES, failures: { count: 3, of: 3 } };
    const { check, channel } = await watchedCheck(database.db, { name: "flaky", rules });
    const send = await sampleIntake(database.db);
    await send([{ uuid: check.uuid, at: NOW - MINUTE_MS }]);
    for (const n of [0, 1, 2]) {
      await send([{ uuid: check.uuid, action: "fail", at: NOW + n * SECOND_MS, body: `attempt ${n}` }]);
    }
    await deliver();
    expect(lastTo(channel)).toMatchObject({
      kind: "down",
      since: NOW,
      tolerance: { kind: "failures", count: 3, of: 3 },
      lastPing: { n: 4, at: NOW + 2 * SECOND_MS, body: "attempt 2" },
    });
  });

  test("is recorded with its answer, and its channel remembers how it went", async () => {
    const one = await watchedCheck(database.db);
    await owe(database.db, one, flip("down"));
    await deliver();
    expect(await record(one.channel)).toMatchObject([
      {
        state: "sent",
        attemptCount: 1,
        settledAt: NOW + MINUTE_MS,
        requestSummary: "POST receiver",
        responseCode: 200,
        responseExcerpt: "ok",
        reason: null,
      },
    ]);
    expect(await findChannelById(database.db, one.channel.id)).toMatchObject({
      lastNotifyAt: NOW + MINUTE_MS,
      lastError: null,
      failureCount: 0,
    });
  });

  test("distinguishes a check without other checks from one whose other checks are up", async () => {
    const alone = await watchedCheck(database.db);
    await owe(database.db, alone, flip("down"));
    const one = await watchedCheck(database.db);
    await sampleCheck(database.db, { projectId: one.check.projectId });
    await owe(database.db, one, flip("down"));
    await deliver();
    expect(lastTo(alone.channel).otherChecks).toBeNull();
    expect(lastTo(one.channel).otherChecks).toEqual({ total: 1, downCount: 0, down: [] });
  });
});

describe("what has gathered", () => {
  test("a down and an up that were not sent yet are one message, which settles both", async () => {
    const one = await watchedCheck(database.db);
    await owe(database.db, one, flip("down"), flip("up", NOW + 1));
    await deliver();
    expect(receiver.saidTo(one.channel)).toEqual(["up (timeout, up)"]);
    expect(await states(one.channel)).toEqual(["merged", "sent"]);
  });

  test("up, fail and up inside one batch of signals are one message that names the failure", async () => {
    const one = await watchedCheck(database.db);
    const send = await sampleIntake(database.db);
    const signal = (action: "success" | "fail", minute: number) => ({
      uuid: one.check.uuid,
      action,
      at: NOW + minute * MINUTE_MS,
    });
    await send([signal("success", 0), signal("fail", 1), signal("success", 2)]);
    await deliver(NOW + 3 * MINUTE_MS);
    expect(receiver.saidTo(one.channel)).toEqual(["up (fail, up)"]);
    expect(lastTo(one.channel).downtimeMs).toBe(MINUTE_MS);
  });

  test("a first success is not notified", async () => {
    const one = await watchedCheck(database.db);
    await (await sampleIntake(database.db))([{ uuid: one.check.uuid }]);
    await deliver();
    expect(await record(one.channel)).toEqual([]);
  });

  test("is sent to each channel separately, in order", async () => {
    const { check, channels } = await watchedCheck(database.db, { channelCount: 2 });
    const [fast, slow] = channels;
    await owe(database.db, { check }, flip("down"));
    const refusing = receiver.ports({
      send: async (channel, message, sending) =>
        channel.id === slow?.id
          ? {
              kind: "failed",
              permanent: false,
              retryAfterMs: null,
              summary: "",
              code: 500,
              excerpt: "",
              reason: "",
            }
          : receiver.ports().send(channel, message, sending),
    });
    await deliverDue(database.db, { now: NOW, ports: refusing });
    await owe(database.db, { check }, flip("up", NOW + 1));
    await deliver();
    expect(receiver.saidTo(fast ?? { id: 0 })).toEqual(["down (timeout)", "up (up)"]);
    expect(receiver.saidTo(slow ?? { id: 0 })).toEqual(["up (timeout, up)"]);
  });
});

describe("a channel that is not subscribed", () => {
  test("is skipped, and that is final", async () => {
    const { check } = await watchedCheck(database.db);
    const { projectId } = check;
    const downOnly = await addChannel(database.db, { projectId, config: { up: false } });
    const upOnly = await addChannel(database.db, { projectId, config: { down: false, notice: false } });
    await assign(database.db, check, [downOnly, upOnly]);
    await owe(database.db, { check }, flip("down"));
    await deliver();
    await owe(database.db, { check }, flip("up", NOW + 1));
    await deliver();
    expect(receiver.saidTo(downOnly)).toEqual(["down (timeout)"]);
    expect(receiver.saidTo(upOnly)).toEqual(["up (up)"]);
    expect(await states(downOnly)).toEqual(["sent", "skipped"]);
    expect(await states(upOnly)).toEqual(["skipped", "sent"]);
    await write((tx) => planNotices(tx, [{ checkId: check.id, blind: { from: NOW, to: NOW + 1 } }], NOW));
    await deliver(NOW + MINUTE_MS);
    expect(receiver.saidTo(downOnly).at(-1)).toBe("notice");
    expect((await states(upOnly)).at(-1)).toBe("skipped");
  });

  test("is notified of a failure that is over, if it is subscribed to failures", async () => {
    const { check } = await watchedCheck(database.db);
    const downOnly = await addChannel(database.db, { projectId: check.projectId, config: { up: false } });
    await assign(database.db, check, [downOnly]);
    await owe(database.db, { check }, flip("down"), flip("up", NOW + 1));
    await deliver();
    expect(receiver.saidTo(downOnly)).toEqual(["down (timeout, up)"]);
    expect(await states(downOnly)).toEqual(["sent", "skipped"]);
  });
});

describe("nothing is sent", () => {
  test("about a check that was deleted, or to a channel that was", async () => {
    const gone = await watchedCheck(database.db, { channelCount: 2 });
    await owe(database.db, gone, flip("down"));
    await write((tx) => deleteChannel(tx, gone.channel.id));
    await write((tx) => markCheckDeleted(tx, { checkId: gone.check.id, at: NOW }));
    await deliver();
    for (const channel of gone.channels) {
      expect(receiver.saidTo(channel)).toEqual([]);
      expect(await states(channel)).toEqual(["withdrawn"]);
    }
    expect((await record(gone.channels[1] ?? { id: 0 }))[0]?.reason).toBe("The check was deleted");
    expect((await record(gone.channel))[0]?.reason).toBe("The channel was deleted");
  });

  test("about a check that was moved in the meantime: the old project gets nothing about the new one", async () => {
    const [left, joined] = [
      await watchedCheck(database.db),
      await watchedCheck(database.db, { name: "secret" }),
    ];
    const { projectId } = joined.check;
    await owe(database.db, left, flip("down"));
    const notices = [{ checkId: left.check.id, blind: { from: NOW, to: NOW + 1 } }];
    await write((tx) => planNotices(tx, notices, NOW));
    await write((tx) => moveCheck(tx, { checkId: left.check.id, projectId, at: NOW }));
    await assign(database.db, left.check, [joined.channel]);
    await deliver();
    expect(receiver.saidTo(left.channel)).toEqual([]);
    expect(await record(left.channel)).toMatchObject([
      { state: "withdrawn", reason: "The check was moved to another project" },
      { state: "withdrawn", reason: "The checks were deleted or moved" },
    ]);
    await owe(database.db, left, flip("up", NOW + 1));
    await deliver();
    expect(receiver.saidTo(joined.channel)).toEqual(["up (up)"]);
  });

  test("to a disabled channel, whose messages are dead; but a test is, and what comes by a group", async () => {
    const one = await watchedCheck(database.db);
    const { channel, check } = one;
    await owe(database.db, one, flip("down"));
    await write((tx) => disableChannel(tx, { channelId: channel.id, at: NOW, reason: "gone (410)" }));
    await write((tx) => planTest(tx, { channelId: channel.id, at: NOW }));
    await deliver();
    expect(await record(channel)).toMatchObject([
      { state: "dead", reason: "The channel is disabled: gone (410)" },
      { state: "sent" },
    ]);
    const members = [channel.uuid];
    const group = await addChannel(database.db, {
      projectId: check.projectId,
      kind: "group",
      config: { members },
    });
    await assign(database.db, check, [group]);
    await owe(database.db, one, flip("up", NOW + 1));
    await deliver();
    expect(receiver.saidTo(channel)).toEqual(["test", "up (up)"]);
  });
});

describe("other messages", () => {
  test("a notice waits for other checks, names all of them, and is sent once", async () => {
    const { check, channel } = await watchedCheck(database.db, { name: "b" });
    const other = await sampleCheck(database.db, { projectId: check.projectId, name: "a" });
    await assign(database.db, other, [channel]);
    const blind = { from: NOW - MINUTE_MS, to: NOW };
    const plan = (checkId: number, at: number) => write((tx) => planNotices(tx, [{ checkId, blind }], at));
    await plan(check.id, NOW);
    await deliver(NOW + MINUTE_MS - 1);
    expect(receiver.saidTo(channel)).toEqual([]);
    await plan(other.id, NOW + 30 * SECOND_MS);
    await deliver(NOW + MINUTE_MS);
    await plan(other.id, NOW + 2 * MINUTE_MS);
    await deliver(NOW + 5 * MINUTE_MS);
    expect(receiver.saidTo(channel)).toEqual(["notice"]);
    expect(receiver.taken.at(-1)?.message).toMatchObject({
      kind: "notice",
      projectName: "Backups",
      blind,
      checkCount: 2,
      checks: [
        { uuid: other.uuid, name: "a" },
        { uuid: check.uuid, name: "b" },
      ],
    });
  });

  test("given contents are passed on unchanged", async () => {
    const { channel } = await watchedCheck(database.db);
    const about = {
      kind: "operator",
      at: NOW,
      isOver: false,
      trouble: "watermarkHeld",
      since: NOW,
      title: "t",
      text: "x",
    };
    const messages = [{ channelId: channel.id, kind: "operator" as const, about }];
    await write((tx) => insertMessages(tx, { messages, at: NOW }));
    await deliver();
    expect(receiver.taken.at(-1)?.message).toEqual(about);
  });

  test("a test names the channel", async () => {
    const { channel } = await watchedCheck(database.db);
    await write((tx) => planTest(tx, { channelId: channel.id, at: NOW }));
    await deliver();
    const { uuid, kind, name } = channel;
    expect(receiver.taken.at(-1)?.message).toMatchObject({ kind: "test", channel: { uuid, kind, name } });
  });
});

test("delivering ends although another process holds due messages, and others have to wait", async () => {
  const [held, waiting] = [await watchedCheck(database.db), await watchedCheck(database.db)];
  await owe(database.db, held, flip("down"));
  const taken = await claimDeliveries(database.db, { now: NOW, limit: 1, rateOf: () => null });
  expect(taken.claims).toHaveLength(1);
  await owe(database.db, waiting, flip("down"));
  await database.db.pool.query("update deliveries set next_try_at = $2 where channel_id = $1", [
    waiting.channel.id,
    new Date(NOW + 60 * MINUTE_MS),
  ]);
  expect(await deliver(NOW + SECOND_MS)).toEqual([]);
  expect([await states(held.channel), await states(waiting.channel)]).toEqual([["pending"], ["pending"]]);
});

test("everything is delivered that others do not hold, in more than one turn", async () => {
  // Messages of one channel for three turns, and more held channels than one claim visits.
  const one = await watchedCheck(database.db);
  const checks = [one.check];
  while (checks.length < 2 * CHANNEL_SENDS_MAX + 1) {
    checks.push(await sampleCheck(database.db, { projectId: one.check.projectId }));
    await assign(database.db, checks.at(-1) ?? one.check, [one.channel]);
  }
  const heldCount = 40;
  for (let index = 0; index < heldCount; index += 1) {
    await owe(database.db, await watchedCheck(database.db), flip("down"));
  }
  const options = { now: NOW, limit: heldCount * CHANNEL_SENDS_MAX, rateOf: () => null };
  expect((await claimDeliveries(database.db, options)).claims).toHaveLength(heldCount);
  for (const check of checks) await owe(database.db, { check }, flip("down"));
  expect(await deliver(NOW + SECOND_MS)).toHaveLength(checks.length);
});

test("an error that a server would log is thrown", async () => {
  await owe(database.db, await watchedCheck(database.db), flip("down"));
  const ports = receiver.ports({ send: () => Promise.reject(new TypeError("a bug")) });
  const delivering = deliverDue(database.db, { now: NOW, ports });
  await expect(delivering).rejects.toMatchObject({ errors: [{ err: { message: "a bug" } }] });
});
