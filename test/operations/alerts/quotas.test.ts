// Monthly limits of what the provider bills: what counts, what is stopped, and who is notified.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { HOUR_MS } from "../../../src/core/instant.ts";
import type { QuotaLimit } from "../../../src/core/quota.ts";
import { retryDelivery, type Ports } from "../../../src/operations/deliveries.ts";
import { deliverDue } from "../../../src/operations/send-loop.ts";
import { type Channel, findChannelById } from "../../../src/store/channels.ts";
import { listDeliveriesOfChannel } from "../../../src/store/deliveries.ts";
import { useDatabase } from "../../support/database.ts";
import { addChannel, assign, flip, owe } from "../../support/owed.ts";
import { MONDAY_NOON as NOW, sampleAccount, sampleCheck, sampleProject } from "../../support/sample.ts";
import { Receiver } from "./receiver.ts";

const database = useDatabase();
const NEXT_MONTH = Date.parse("2026-12-01T00:00:00Z");
const REASON =
  "The account has reached its limit of 2 text and WhatsApp messages per month, which resets on 2026-12-01 00:00 UTC";

let receiver: Receiver;
beforeAll(async () => {
  receiver = await Receiver.start();
});
afterAll(() => receiver.stop());
beforeEach(async () => {
  receiver.behaves = () => ({ kind: "answers", code: 200 });
  await database.db.pool.query("truncate deliveries, channel_quotas, letters");
});

const LIMITS: Readonly<Record<string, QuotaLimit>> = {
  sms: { quota: "messages", limit: 2 },
  whatsapp: { quota: "messages", limit: 2 },
  call: { quota: "calls", limit: 1 },
};
const deliver = (now: number, given: Partial<Ports> = {}) =>
  deliverDue(database.db, {
    now,
    ports: receiver.ports({ quotaOf: (kind) => LIMITS[kind] ?? null, ...given }),
  });
const record = async (channel: { id: number }) =>
  (await listDeliveriesOfChannel(database.db, { channelId: channel.id, limit: 100 })).toReversed();
const states = async (channel: { id: number }) => (await record(channel)).map(({ state }) => state);
const counted = async () =>
  (
    await database.db.pool.query<{ quota: string; used: number }>(
      "select quota, used_count::int as used from channel_quotas where used_count > 0 order by quota",
    )
  ).rows.map(({ quota, used }) => [quota, used]);

/** Messages about so many checks that are due to the channel. */
async function oweMany(
  { projectId, channels }: { projectId: number; channels: readonly Channel[] },
  count: number,
): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    const check = await sampleCheck(database.db, { projectId });
    await assign(database.db, check, channels);
    await owe(database.db, { check }, flip("down"));
  }
}

async function projectWith(...kinds: string[]) {
  const { id: ownerId } = await sampleAccount(database.db);
  const { id: projectId } = await sampleProject(database.db, { ownerId });
  const channels: Channel[] = [];
  for (const kind of kinds) channels.push(await addChannel(database.db, { projectId, kind }));
  const [first] = channels;
  if (first === undefined) throw new Error("a project needs a channel");
  return { projectId, ownerId, channels, first };
}

describe("a monthly limit", () => {
  test("stops what is beyond, and the channel stays enabled", async () => {
    const one = await projectWith("sms");
    await oweMany(one, 4);
    await deliver(NOW);
    expect((await states(one.first)).toSorted()).toEqual(["dead", "dead", "sent", "sent"]);
    const dead = (await record(one.first)).filter(({ state }) => state === "dead");
    expect(dead.map(({ reason, nextTryAt }) => [reason, nextTryAt])).toEqual([
      [REASON, null],
      [REASON, null],
    ]);
    expect(await findChannelById(database.db, one.first.id)).toMatchObject({ disabledAt: null });
    expect(await counted()).toEqual([["messages", 2]]);
  });

  test("applies to all channels and projects of the account that share it, and to no other account", async () => {
    const one = await projectWith("sms", "whatsapp", "call", "webhook");
    const { id: projectId } = await sampleProject(database.db, { ownerId: one.ownerId });
    const second = { projectId, channels: [await addChannel(database.db, { projectId, kind: "sms" })] };
    const other = await projectWith("sms");
    await oweMany(one, 1);
    await deliver(NOW);
    await oweMany(second, 1);
    await oweMany(other, 1);
    await deliver(NOW);
    const all = [...one.channels, ...second.channels, ...other.channels];
    const ended = await Promise.all(all.map(async (channel) => [channel.kind, (await states(channel))[0]]));
    expect(ended).toEqual([
      ["sms", "sent"],
      ["whatsapp", "sent"],
      ["call", "sent"],
      ["webhook", "sent"],
      ["sms", "dead"],
      ["sms", "sent"],
    ]);
  });

  test("counts a message once, however often it is tried", async () => {
    const one = await projectWith("sms");
    await oweMany(one, 1);
    receiver.behaves = () => ({ kind: "answers", code: 500 });
    await deliver(NOW);
    await deliver(NOW + HOUR_MS);
    expect(await counted()).toEqual([["messages", 1]]);
    receiver.behaves = () => ({ kind: "answers", code: 200 });
    await deliver(NOW + 2 * HOUR_MS);
    expect(await states(one.first)).toEqual(["sent"]);
    expect(await counted()).toEqual([["messages", 1]]);
  });

  test("does not count what the channel is not subscribed to", async () => {
    const one = await projectWith("sms");
    await oweMany(one, 2);
    await deliver(NOW, { isSubscribed: () => false });
    expect(await states(one.first)).toEqual(["skipped", "skipped"]);
    expect(await counted()).toEqual([]);
  });

  test("starts again with the next month, and a stopped message can be retried then", async () => {
    const one = await projectWith("sms");
    await oweMany(one, 3);
    await deliver(NOW);
    const stopped = (await record(one.first)).find(({ state }) => state === "dead");
    if (stopped === undefined) throw new Error("one is stopped");
    const retry = (at: number) =>
      retryDelivery(database.db, { projectId: one.projectId, deliveryId: stopped.id, at });
    await retry(NOW);
    await deliver(NEXT_MONTH - 1);
    expect((await record(one.first)).find(({ id }) => id === stopped.id)).toMatchObject({ state: "dead" });
    await retry(NEXT_MONTH);
    await deliver(NEXT_MONTH);
    expect(await states(one.first)).toEqual(["sent", "sent", "sent"]);
    expect(await counted()).toEqual([["messages", 1]]);
  });

  test("is kept by several notifiers", async () => {
    const one = await projectWith("sms", "sms", "sms");
    await oweMany(one, 2);
    await Promise.all([deliver(NOW), deliver(NOW), deliver(NOW)]);
    const all = (await Promise.all(one.channels.map(states))).flat();
    expect(all.filter((state) => state === "sent")).toHaveLength(2);
    expect(all.filter((state) => state === "dead")).toHaveLength(4);
  });
});

describe("the owner", () => {
  const notices = async (channel: Channel) =>
    (await record(channel)).filter(({ kind }) => kind === "disabled").map(({ about }) => about);

  test("is notified once a month, by channels that the limit does not stop", async () => {
    const one = await projectWith("sms", "whatsapp", "email");
    const [, whatsapp, email] = one.channels;
    if (whatsapp === undefined || email === undefined) throw new Error("there are three channels");
    const project = { ...one, channels: [one.first] };
    await oweMany(project, 4);
    await deliver(NOW);
    await oweMany(project, 1);
    await deliver(NOW + HOUR_MS);
    const notice = {
      kind: "disabled",
      channel: { uuid: one.first.uuid, kind: "sms" },
      reason: REASON,
      isLimit: true,
    };
    expect(await notices(email)).toMatchObject([notice]);
    expect(await notices(whatsapp)).toEqual([]);
    await oweMany(project, 3);
    await deliver(NEXT_MONTH);
    expect(await notices(email)).toHaveLength(2);
  });

  test("is notified by email if there is no such channel", async () => {
    const one = await projectWith("sms");
    await oweMany(one, 3);
    await deliver(NOW);
    const { rows } = await database.db.pool.query("select kind, channel_id, about from letters");
    expect(rows).toEqual([
      { kind: "disabled", channel_id: one.first.id, about: { reason: REASON, isLimit: true } },
    ]);
  });
});
