// Deliveries of the real database through the real sender to receivers that judge: groups, chats that move, channels
// that are given up, and tests.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { type GuardedHttp, guardedHttp } from "../../src/lib/outgoing-http.ts";
import type { Ports } from "../../src/operations/deliveries.ts";
import { planTest } from "../../src/operations/plan-deliveries.ts";
import { deliverDue } from "../../src/operations/send-loop.ts";
import { disableChannel, findChannelById } from "../../src/store/channels.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { startNtfy } from "../receivers/kinds/ntfy.ts";
import type { Receiver } from "../receivers/receiver.ts";
import { reroute } from "../receivers/reroute.ts";
import { SLACK_PATH, startSlack } from "../receivers/kinds/slack.ts";
import { startTelegram, type TelegramReceiver } from "../receivers/kinds/telegram.ts";
import { startWebhook } from "../receivers/kinds/webhook.ts";
import { useDatabase } from "../support/database.ts";
import { addChannel, assign, flip, owe } from "../support/owed.ts";
import { MONDAY_NOON, sampleCheck, sampleProject } from "../support/sample.ts";
import { sampleSender } from "./sample-kinds.ts";

const at = useDatabase();
let http: GuardedHttp;
let slack: Receiver;
let ntfy: Receiver;
let webhook: Receiver;
let telegram: TelegramReceiver;
let ports: Ports;

beforeAll(() => {
  http = guardedHttp({ allowPrivate: true, userAgent: "Overdue" });
});

afterAll(() => http.close());

beforeEach(async () => {
  slack = await startSlack();
  ntfy = await startNtfy();
  webhook = await startWebhook();
  telegram = await startTelegram();
  const sender = sampleSender({
    http: reroute(http, {
      "https://hooks.slack.com": slack.url,
      "https://ntfy.sh": ntfy.url,
      "https://hooks.example.org": webhook.url,
      "https://api.telegram.org": telegram.url,
    }),
  });
  ports = sender;
});

afterEach(async () => {
  for (const receiver of [slack, ntfy, webhook, telegram]) await receiver.close();
});

const counts = () => [slack, ntfy, webhook, telegram].map(({ received }) => received.length);
const deliver = (now = MONDAY_NOON) => deliverDue(at.db, { now, ports });
/** How what is due ended, of messages that their receivers find nothing wrong with. */
async function outcomes(now?: number): Promise<string[]> {
  const settled = await deliver(now);
  const problems = [slack, ntfy, webhook, telegram].flatMap((receiver) => receiver.problems);
  return [...settled.flatMap((one) => [...(one.outcomes?.values() ?? [])]), ...problems].toSorted();
}

const SLACK = { url: `https://hooks.slack.com${SLACK_PATH}` };
const NTFY = { topic: "overdue" };
const WEBHOOK = { url_down: "https://hooks.example.org/$STATUS", secret: "" };

test("a group notifies each member separately, including disabled ones, and no others", async () => {
  const { id: projectId } = await sampleProject(at.db);
  const { id: strangerId } = await sampleProject(at.db);
  const check = await sampleCheck(at.db, { projectId });
  const healthy = await addChannel(at.db, { projectId, kind: "slack", config: SLACK });
  const failing = await addChannel(at.db, { projectId, kind: "ntfy", config: NTFY });
  const disabled = await addChannel(at.db, { projectId, kind: "webhook", config: WEBHOOK });
  const stranger = await addChannel(at.db, { projectId: strangerId, kind: "webhook", config: WEBHOOK });
  const nested = await addChannel(at.db, { projectId, kind: "group", config: { members: [healthy.uuid] } });
  const members = [healthy, failing, disabled, stranger, nested].map(({ uuid }) => uuid);
  const group = await addChannel(at.db, { projectId, kind: "group", config: { members } });
  await inTransaction(at.db, (tx) =>
    disableChannel(tx, { channelId: disabled.id, at: MONDAY_NOON, reason: "for the test" }),
  );
  await assign(at.db, check, [group]);
  await owe(at.db, { check }, flip("down"));
  ntfy.behave({ kind: "answer", answer: { status: 500 } });
  expect(await outcomes()).toEqual(["retry", "sent", "sent"]);
  expect(counts()).toEqual([1, 1, 1, 0]);
  // Only the member that has failed is told again.
  ntfy.behave({ kind: "judge" });
  expect(await outcomes(MONDAY_NOON + 60_000)).toEqual(["sent"]);
  expect(counts()).toEqual([1, 2, 1, 0]);
});

test("a chat that has moved is remembered at its new place", async () => {
  const { id: projectId } = await sampleProject(at.db);
  const check = await sampleCheck(at.db, { projectId });
  const channel = await addChannel(at.db, { projectId, kind: "telegram", config: { chat_id: "-77" } });
  await assign(at.db, check, [channel]);
  telegram.migrated.set("-77", -100_077);
  await owe(at.db, { check }, flip("down"));
  expect(await outcomes()).toEqual(["sent"]);
  expect((await findChannelById(at.db, channel.id))?.config).toMatchObject({ chat_id: "-100077" });
  await owe(at.db, { check }, flip("up", MONDAY_NOON + 1_000));
  expect(await outcomes(MONDAY_NOON + 1_000)).toEqual(["sent"]);
  expect(telegram.received.map(({ json }) => json["chat_id"])).toEqual(["-77", "-100077", "-100077"]);
});

test("a deleted Slack webhook disables its channel, and the others are notified", async () => {
  const { id: projectId } = await sampleProject(at.db);
  const check = await sampleCheck(at.db, { projectId });
  const gone = await addChannel(at.db, {
    projectId,
    kind: "slack",
    config: { url: "https://hooks.slack.com/gone" },
  });
  await addChannel(at.db, { projectId, kind: "ntfy", config: NTFY });
  await assign(at.db, check, [gone]);
  await owe(at.db, { check }, flip("down"));
  await deliver();
  const channel = await findChannelById(at.db, gone.id);
  expect(channel).toMatchObject({
    disabledAt: MONDAY_NOON,
    disabledReason: expect.stringMatching(/no longer exists/),
  });
  await deliver(MONDAY_NOON + 1_000);
  expect(ntfy.received.map(({ json }) => json["title"])).toEqual([expect.stringMatching(/was disabled$/)]);
});

test("the button sends a test through every kind, and to each member of a group", async () => {
  const { id: projectId } = await sampleProject(at.db);
  const first = await addChannel(at.db, { projectId, kind: "slack", config: SLACK });
  const second = await addChannel(at.db, { projectId, kind: "webhook", config: WEBHOOK });
  const members = [first.uuid, second.uuid];
  const group = await addChannel(at.db, { projectId, kind: "group", config: { members } });
  await inTransaction(at.db, (tx) => planTest(tx, { channelId: group.id, at: MONDAY_NOON }));
  expect(await outcomes()).toEqual(["sent", "sent"]);
  expect(JSON.stringify(slack.received[0]?.json)).toContain("TEST is DOWN");
  expect(webhook.received[0]?.path).toBe("/down");
});
