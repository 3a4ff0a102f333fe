// When sending fails: retries with growing delays, expired deliveries, channels that are disabled or wait, and
// messages with an unknown outcome.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../../../src/core/instant.ts";
import { claimDeliveries, type Ports } from "../../../src/operations/deliveries.ts";
import { planTest } from "../../../src/operations/plan-deliveries.ts";
import { deliverDue } from "../../../src/operations/send-loop.ts";
import { type Channel, findChannelById } from "../../../src/store/channels.ts";
import { listDeliveriesOfChannel } from "../../../src/store/deliveries.ts";
import { listRefusals } from "../../../src/store/provider-refusals.ts";
import { inTransaction } from "../../../src/store/transaction.ts";
import { useDatabase } from "../../support/database.ts";
import { addChannel, assign, flip, owe, refusal, SENT, retract, watchedCheck } from "../../support/owed.ts";
import { MONDAY_NOON as NOW, sampleCheck } from "../../support/sample.ts";
import { type Behaviour, Receiver } from "./receiver.ts";

const database = useDatabase();

let receiver: Receiver;
beforeAll(async () => {
  receiver = await Receiver.start();
});
afterAll(() => receiver.stop());
beforeEach(async () => {
  receiver.behaves = () => ({ kind: "answers", code: 200 });
  await database.db.pool.query("truncate deliveries");
});

const REFUSES: Behaviour = { kind: "answers", code: 500, body: "broken\0 pipe" };
const behave = (behaviour: Behaviour) => {
  receiver.behaves = () => behaviour;
};
const deliver = (now: number, given: Partial<Ports> = {}) =>
  deliverDue(database.db, { now, ports: receiver.ports(given) });
const record = async (channel: { id: number }) =>
  (await listDeliveriesOfChannel(database.db, { channelId: channel.id, limit: 100 })).toReversed();
const states = async (channel: { id: number }) => (await record(channel)).map(({ state }) => state);
const reread = async (channel: Channel) => findChannelById(database.db, channel.id);

describe("a refused message", () => {
  test("is tried again, and the record says what was answered", async () => {
    const one = await watchedCheck(database.db);
    await owe(database.db, one, flip("down"));
    behave(REFUSES);
    await deliver(NOW);
    expect(await record(one.channel)).toMatchObject([
      {
        state: "pending",
        attemptCount: 1,
        attemptedAt: NOW,
        nextTryAt: NOW + 15 * SECOND_MS,
        responseCode: 500,
        responseExcerpt: "broken pipe",
        reason: "Received status code 500",
        messageId: null,
      },
    ]);
    expect(await reread(one.channel)).toMatchObject({
      failureCount: 1,
      lastError: "Received status code 500",
    });
    await deliver(NOW + 15 * SECOND_MS - 1);
    expect(receiver.arrived.filter(({ channelId }) => channelId === one.channel.id)).toHaveLength(1);
    behave({ kind: "answers", code: 200 });
    await deliver(NOW + 15 * SECOND_MS);
    expect(await states(one.channel)).toEqual(["sent"]);
    expect(await reread(one.channel)).toMatchObject({ failureCount: 0, lastError: null });
  });

  test("is dead in the end, after a day of tries", async () => {
    const one = await watchedCheck(database.db);
    await owe(database.db, one, flip("down"));
    behave(REFUSES);
    let now = NOW;
    while ((await states(one.channel))[0] === "pending" && now < NOW + 7 * DAY_MS) {
      await deliver(now);
      now = (await record(one.channel))[0]?.nextTryAt ?? now;
    }
    const [dead] = await record(one.channel);
    expect(dead).toMatchObject({ state: "dead", reason: "Received status code 500", nextTryAt: null });
    expect((dead?.settledAt ?? 0) - NOW).toBeGreaterThanOrEqual(DAY_MS);
    expect(dead?.attemptCount).toBeLessThan(40);
    expect(await reread(one.channel)).toMatchObject({ disabledAt: null });
  });

  test("that expires does not expire newer changes", async () => {
    const one = await watchedCheck(database.db);
    await owe(database.db, one, flip("down"));
    await database.db.pool.query("update deliveries set attempt_count = 30");
    await owe(database.db, { check: one.check, at: NOW + 2 * DAY_MS }, flip("up", NOW + 2 * DAY_MS));
    behave(REFUSES);
    await deliver(NOW + 2 * DAY_MS);
    expect(await states(one.channel)).toEqual(["dead", "pending"]);
    behave({ kind: "answers", code: 200 });
    await deliver(NOW + 2 * DAY_MS + MINUTE_MS);
    expect(receiver.saidTo(one.channel)).toEqual(["up (up)"]);
  });

  test("keeps the order: later changes are sent with it", async () => {
    const one = await watchedCheck(database.db);
    await owe(database.db, one, flip("down"));
    behave(REFUSES);
    await deliver(NOW);
    await owe(database.db, one, flip("up", NOW + 1));
    await deliver(NOW + 1);
    behave({ kind: "answers", code: 200 });
    await deliver(NOW + HOUR_MS);
    expect(receiver.saidTo(one.channel)).toEqual(["up (timeout, up)"]);
    expect(await states(one.channel)).toEqual(["merged", "sent"]);
  });
});

describe("a receiver that asks to be left alone", () => {
  test("is, by all messages of the channel, for as long as it asks", async () => {
    const one = await watchedCheck(database.db);
    const other = await sampleCheck(database.db, { projectId: one.check.projectId });
    await assign(database.db, other, [one.channel]);
    await owe(database.db, one, flip("down"));
    behave({ kind: "answers", code: 429, headers: { "retry-after": "300" } });
    await deliver(NOW);
    behave({ kind: "answers", code: 200 });
    await owe(database.db, { check: other }, flip("down"));
    await deliver(NOW + 5 * MINUTE_MS - 1);
    expect(receiver.saidTo(one.channel)).toEqual([]);
    await deliver(NOW + 5 * MINUTE_MS);
    expect(receiver.saidTo(one.channel)).toEqual(["down (timeout)", "down (timeout)"]);
  });
});

describe("a receiver that refuses for good", () => {
  test("has its channel disabled with the reason, and the owner is notified by the others, by email if there is one", async () => {
    const { check, channels } = await watchedCheck(database.db, { channelCount: 2 });
    const [gone, chat] = channels;
    const { projectId } = check;
    await addChannel(database.db, { projectId, kind: "group" });
    if (gone === undefined || chat === undefined) throw new Error("no channels");
    await owe(database.db, { check }, flip("down"));
    receiver.behaves = ({ channelId }) => ({ kind: "answers", code: channelId === gone.id ? 410 : 200 });
    const settled = await deliver(NOW);
    expect(settled.flatMap(({ disabled }) => disabled ?? [])).toEqual([
      { channelId: gone.id, uuid: gone.uuid, kind: "webhook", reason: "Received status code 410" },
    ]);
    expect(await states(gone)).toEqual(["dead"]);
    expect(await reread(gone)).toMatchObject({ disabledAt: NOW, disabledReason: "Received status code 410" });
    expect(receiver.saidTo(chat)).toEqual(["down (timeout)", "disabled"]);
    expect(receiver.taken.at(-1)?.message).toMatchObject({
      channel: { uuid: gone.uuid, kind: "webhook" },
      reason: "Received status code 410",
      projectName: "Backups",
    });
    await owe(database.db, { check }, flip("up", NOW + 1));
    expect(await states(gone)).toEqual(["dead"]);
    const mail = await addChannel(database.db, { projectId, kind: "email" });
    receiver.behaves = ({ channelId }) => ({ kind: "answers", code: channelId === chat.id ? 410 : 200 });
    await deliver(NOW + 1);
    expect(receiver.saidTo(mail)).toEqual(["disabled"]);
  });

  test("a channel is kept where only the message is refused for good, and by a test", async () => {
    const one = await watchedCheck(database.db);
    await owe(database.db, one, flip("down"));
    await deliver(NOW, { send: async () => refusal({ permanent: true, keepsChannel: true }) });
    expect(await states(one.channel)).toEqual(["dead"]);
    await inTransaction(database.db, (tx) => planTest(tx, { channelId: one.channel.id, at: NOW }));
    await deliver(NOW, { send: async () => refusal({ permanent: true }) });
    expect(await states(one.channel)).toEqual(["dead", "dead"]);
    expect(await reread(one.channel)).toMatchObject({ disabledAt: null, failureCount: 1 });
  });

  test("a test that fails is not tried again", async () => {
    const { channel } = await watchedCheck(database.db);
    await inTransaction(database.db, (tx) => planTest(tx, { channelId: channel.id, at: NOW }));
    behave(REFUSES);
    await deliver(NOW);
    expect(await record(channel)).toMatchObject([{ state: "dead", responseCode: 500 }]);
  });
});

test("a receiver may move: the new configuration is kept", async () => {
  const one = await watchedCheck(database.db);
  await owe(database.db, one, flip("down"));
  await deliver(NOW, { send: async () => ({ ...SENT, kind: "sent", config: { chat: 7 } }) });
  expect(await reread(one.channel)).toMatchObject({ config: { chat: 7 }, disabledAt: null });
});

test("a refusal of the server's own key disables no channel, and is noted until a message is accepted", async () => {
  const one = await watchedCheck(database.db);
  await owe(database.db, one, flip("down"));
  const reason = "The provider does not accept the key (OVERDUE_KEY)";
  const ours = refusal({ code: 401, isOurs: true, reason });
  await deliver(NOW, { send: async () => ours });
  const refusals = () => listRefusals(database.db, { from: NOW });
  expect(await states(one.channel)).toEqual(["pending"]);
  expect(await reread(one.channel)).toMatchObject({ disabledAt: null, failureCount: 1 });
  expect(await refusals()).toEqual([{ kind: one.channel.kind, reason, since: NOW }]);
  await deliver(NOW + HOUR_MS, { send: async () => ({ ...SENT, isOurs: true }) });
  expect(await states(one.channel)).toEqual(["sent"]);
  expect(await refusals()).toEqual([]);
});

describe("a rate", () => {
  const rateOf = () => ({ perMinute: 6, burst: 2 });

  test("applies to the channel, whichever process sends, and the rest waits", async () => {
    const one = await watchedCheck(database.db);
    const checks = [one.check];
    for (let i = 0; i < 4; i += 1)
      checks.push(await sampleCheck(database.db, { projectId: one.check.projectId }));
    for (const check of checks) {
      await assign(database.db, check, [one.channel]);
      await owe(database.db, { check }, flip("down"));
    }
    const sent: number[] = [];
    for (const seconds of [0, 1, 9, 10, 29, 30]) {
      const before = receiver.taken.length;
      await Promise.all([
        deliver(NOW + seconds * SECOND_MS, { rateOf }),
        deliver(NOW + seconds * SECOND_MS, { rateOf }),
      ]);
      sent.push(receiver.taken.length - before);
    }
    expect(sent).toEqual([2, 0, 0, 1, 1, 1]);
    expect(await states(one.channel)).toEqual(Array.from({ length: 5 }, () => "sent"));
  });
});

describe("a message with an unknown outcome", () => {
  test("is repeated unchanged, with the same key, before anything newer is sent", async () => {
    const one = await watchedCheck(database.db);
    await owe(database.db, one, flip("down"));
    behave({ kind: "hangs up" });
    await deliver(NOW);
    expect(await record(one.channel)).toMatchObject([{ state: "pending", responseCode: null }]);
    await owe(database.db, one, flip("up", NOW + 1));
    await deliver(NOW + 1);
    const arrived = () => receiver.arrived.filter(({ channelId }) => channelId === one.channel.id);
    expect(arrived()).toHaveLength(1);
    behave(REFUSES);
    await deliver(NOW + 15 * SECOND_MS);
    behave({ kind: "answers", code: 200 });
    await deliver(NOW + HOUR_MS);
    expect(arrived().map(({ dedupeKey }) => dedupeKey === arrived()[0]?.dedupeKey)).toEqual([
      true,
      true,
      true,
      false,
    ]);
    expect(arrived().map(({ attempt }) => attempt)).toEqual([1, 2, 3, 1]);
    expect(receiver.saidTo(one.channel)).toEqual(["down (timeout)", "up (up)"]);
    expect(await states(one.channel)).toEqual(["sent", "sent"]);
  });

  test("is not settled by a process that has lost the claim", async () => {
    const one = await watchedCheck(database.db);
    await owe(database.db, one, flip("down"));
    const slow = deliver(NOW, {
      send: async () => {
        await deliver(NOW + MINUTE_MS);
        return refusal();
      },
    });
    expect((await slow).map(({ outcomes }) => outcomes)).toEqual([null]);
    expect(await states(one.channel)).toEqual(["sent"]);
  });
});

describe("a flip that is retracted", () => {
  test("before it was sent is not sent", async () => {
    const one = await watchedCheck(database.db);
    await owe(database.db, one, flip("down"));
    await retract(database.db, { check: one.check, deadlineAt: NOW });
    await deliver(NOW);
    expect(receiver.saidTo(one.channel)).toEqual([]);
    expect(await states(one.channel)).toEqual(["withdrawn"]);
  });

  test("after it was sent is corrected once, with the reason", async () => {
    const one = await watchedCheck(database.db);
    await owe(database.db, one, flip("down"));
    await deliver(NOW);
    await retract(database.db, { check: one.check, deadlineAt: NOW });
    await deliver(NOW + 1);
    await deliver(NOW + 2);
    expect(receiver.saidTo(one.channel)).toEqual(["down (timeout)", "up (taken back)"]);
    expect(receiver.taken.at(-1)?.message).toMatchObject({
      reason: "retracted",
      since: NOW - 1,
      corrections: [{ at: NOW, retractedAt: NOW - 1 }],
      flips: [],
    });
  });

  test("after it may have been sent is corrected without being sent again", async () => {
    const one = await watchedCheck(database.db);
    await owe(database.db, one, flip("down"));
    behave({ kind: "hangs up" });
    await deliver(NOW);
    await retract(database.db, { check: one.check, deadlineAt: NOW });
    behave({ kind: "answers", code: 200 });
    await deliver(NOW + MINUTE_MS);
    expect(receiver.saidTo(one.channel)).toEqual(["down (timeout)", "up (taken back)"]);
    expect(await states(one.channel)).toEqual(["withdrawn", "sent"]);
  });

  test("while the receiver rejects it is not sent, nor is its correction", async () => {
    const one = await watchedCheck(database.db);
    await owe(database.db, one, flip("down"));
    await deliver(NOW, {
      send: async () => {
        await retract(database.db, { check: one.check, deadlineAt: NOW });
        return refusal();
      },
    });
    await deliver(NOW + MINUTE_MS);
    expect(receiver.saidTo(one.channel)).toEqual([]);
    expect(await states(one.channel)).toEqual(["withdrawn", "withdrawn"]);
  });

  test("with a failure after it leaves one message about the failure", async () => {
    const one = await watchedCheck(database.db);
    await owe(database.db, one, flip("down"));
    await deliver(NOW);
    await retract(database.db, { check: one.check, deadlineAt: NOW });
    await owe(database.db, one, flip("down", NOW + 5, { reason: "fail" }));
    await deliver(NOW + 6);
    expect(receiver.saidTo(one.channel)).toEqual(["down (timeout)", "down (taken back, fail)"]);
  });
});

describe("fairness", () => {
  test("a claim visits all channels, and gives each only so many", async () => {
    const busy = await watchedCheck(database.db);
    for (let i = 0; i < 30; i += 1) {
      const check = await sampleCheck(database.db, { projectId: busy.check.projectId });
      await assign(database.db, check, [busy.channel]);
      await owe(database.db, { check }, flip("down"));
    }
    const quiet = await watchedCheck(database.db);
    await owe(database.db, quiet, flip("down"));
    const claim = (after: number, limit: number) =>
      claimDeliveries(database.db, { now: NOW, limit, after, rateOf: () => null });
    const first = await claim(0, 8);
    expect(Map.groupBy(first.claims, ({ channelId }) => channelId).get(busy.channel.id)).toHaveLength(4);
    expect(first.claims.some(({ channelId }) => channelId === quiet.channel.id)).toBe(true);
    const second = await claim(0, 2);
    expect(second.after).toBe(busy.channel.id);
  });
});
