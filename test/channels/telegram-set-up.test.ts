// A Telegram chat is connected by a code that somebody writes into it: on the real database, with a bot that keeps what
// was written to it until it is confirmed.
import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { readConfig, withMadeSecrets } from "../../src/channels/channel-config.ts";
import { telegram as kind } from "../../src/channels/kinds/telegram.ts";
import { DAY_MS } from "../../src/core/instant.ts";
import { createLog } from "../../src/lib/log.ts";
import { type GuardedHttp, guardedHttp } from "../../src/lib/outgoing-http.ts";
import { type ChatSetUp, connectChats } from "../../src/roles/notifier.ts";
import { type Channel, findChannelByUuid, insertChannel } from "../../src/store/channels.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { reroute } from "../receivers/reroute.ts";
import { startTelegram, TELEGRAM_TOKEN, type TelegramReceiver } from "../receivers/kinds/telegram.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON, sampleProject } from "../support/sample.ts";

const at = useDatabase();
let http: GuardedHttp;
let telegram: TelegramReceiver;
let setUp: ChatSetUp;

beforeAll(() => {
  http = guardedHttp({ allowPrivate: true, userAgent: "Overdue" });
});

afterAll(() => http.close());

beforeEach(async () => {
  telegram = await startTelegram();
  setUp = {
    database: at.db,
    http: reroute(http, { "https://api.telegram.org": telegram.url }),
    token: TELEGRAM_TOKEN,
    siteName: "Overdue",
    log: createLog({ level: "fatal" }),
  };
});

afterEach(() => telegram.close());

async function waitingChannel(createdAt = MONDAY_NOON): Promise<Channel & { code: string }> {
  const { id: projectId } = await sampleProject(at.db, { name: "Shop & Sons" });
  const read = readConfig(kind, {}, { strict: true });
  if (!read.ok) throw new Error(read.text);
  const { config, made } = withMadeSecrets(kind, read.value);
  const channel = { uuid: randomUUID(), projectId, kind: "telegram", name: "ops", config, createdAt };
  const stored = await inTransaction(at.db, (tx) => insertChannel(tx, channel));
  return { ...stored, code: made["setup_code"] ?? "" };
}

const configOf = async (channel: Channel) => (await findChannelByUuid(at.db, channel.uuid))?.config;

let updateId = 700;

/** Somebody writes to the bot. */
function write(text: string, message: object = {}, chat: object = {}): void {
  updateId += 1;
  telegram.updates.push({
    update_id: updateId,
    message: {
      message_id: 1,
      text,
      chat: { id: -42, type: "supergroup", title: "Ops\nroom", ...chat },
      ...message,
    },
  });
}

const look = (offset = 0, now = MONDAY_NOON + 1_000) => connectChats(setUp, { now, offset });

test("Telegram is not polled while no channel waits", async () => {
  // This one stands first, because the others leave channels that wait.
  write("/start abcdefghijklmnopqrstuvwx");
  expect(await look()).toEqual({ offset: 0, isMore: false, trouble: null });
  expect(telegram.received).toEqual([]);
});

test("the code connects its chat and topic, once, and the chat is notified", async () => {
  const channel = await waitingChannel();
  const other = await waitingChannel();
  write("hello");
  write(`/start@overdue_test_bot ${channel.code} `, { is_topic_message: true, message_thread_id: 9 });
  const { offset } = await look();
  expect(await configOf(channel)).toEqual({
    chat_id: "-42",
    chat_type: "supergroup",
    chat_name: "Ops room",
    thread_id: 9,
    setup_code: "",
  });
  expect(await configOf(other)).toMatchObject({ chat_id: "", setup_code: other.code });
  const greeting = telegram.received.at(-1)?.json;
  expect(greeting).toEqual({
    chat_id: "-42",
    message_thread_id: 9,
    text: expect.stringContaining("Shop & Sons"),
  });
  expect(telegram.problems).toEqual([]);

  // Somebody else writes the same code: it is used up.
  write(`/start ${channel.code}`, {}, { id: 13, type: "private" });
  await look(offset);
  expect(await configOf(channel)).toMatchObject({ chat_id: "-42" });
  // What was dealt with is confirmed and gone.
  expect(telegram.updates).toHaveLength(1);
});

test("messages that were not stored are read again", async () => {
  const channel = await waitingChannel();
  write(`/start ${channel.code}`);
  const broken = { ...setUp, http: { send: () => Promise.reject(new Error("killed")) } };
  await expect(connectChats(broken, { now: MONDAY_NOON, offset: 0 })).rejects.toThrow("killed");
  await look();
  expect(await configOf(channel)).toMatchObject({ chat_id: "-42" });
});

test.each([
  ["a wrong code", () => "/start AAAAAAAAAAAAAAAAAAAAAAAA"],
  ["the code without the command", (code: string) => code],
  ["the code with more behind it", (code: string) => `/start ${code} please`],
  ["half of the code", (code: string) => `/start ${code.slice(0, 20)}`],
  ["a pattern", () => "/start %%%%%%%%%%%%%%%%%%%%%%%%"],
])("%s connects nothing", async (_name, text) => {
  const channel = await waitingChannel();
  write(text(channel.code));
  expect(await look()).toMatchObject({ trouble: null });
  expect(await configOf(channel)).toMatchObject({ chat_id: "", setup_code: channel.code });
});

test("a code is good for a day", async () => {
  const channel = await waitingChannel(MONDAY_NOON + 10 * DAY_MS);
  write(`/start ${channel.code}`);
  await look(0, MONDAY_NOON + 11 * DAY_MS + 1);
  expect(telegram.received).toEqual([]);
  // Somebody else still waits, so that the code is heard: it is not taken any more.
  await waitingChannel(MONDAY_NOON + 11 * DAY_MS);
  await look(0, MONDAY_NOON + 11 * DAY_MS + 1);
  expect(telegram.received).toHaveLength(1);
  expect(await configOf(channel)).toMatchObject({ chat_id: "" });
  await look(0, MONDAY_NOON + 11 * DAY_MS - 1);
  expect(await configOf(channel)).toMatchObject({ chat_id: "-42" });
});

test("posts in a channel count as well", async () => {
  const channel = await waitingChannel();
  telegram.updates.push({
    update_id: 9_000,
    channel_post: { text: `/start ${channel.code}`, chat: { id: -100_500, type: "channel", title: "News" } },
  });
  await look();
  expect(await configOf(channel)).toMatchObject({ chat_id: "-100500", chat_type: "channel" });
});

test("errors of Telegram are reported and lose nothing", async () => {
  const channel = await waitingChannel();
  write(`/start ${channel.code}`);
  const description = "Conflict: terminated by other getUpdates request";
  telegram.behave({ kind: "answer", answer: { status: 409, body: { ok: false, description } } });
  expect(await look(5)).toEqual({ offset: 5, isMore: false, trouble: description });
  telegram.behave({ kind: "hang up" });
  expect(await look(5)).toEqual({ offset: 5, isMore: false, trouble: "HTTP request failed" });
  telegram.behave({ kind: "answer", answer: { status: 200, body: "surprise" } });
  expect(await look(5)).toMatchObject({ offset: 5, trouble: expect.any(String) });
  telegram.behave({ kind: "judge" });
  await look(5);
  expect(await configOf(channel)).toMatchObject({ chat_id: "-42" });
});

test("many messages to the bot are read in batches", async () => {
  const channel = await waitingChannel();
  for (let count = 0; count < 150; count += 1) write("hello");
  write(`/start ${channel.code}`);
  const first = await look();
  expect(first.isMore).toBe(true);
  expect(await look(first.offset)).toMatchObject({ isMore: false });
  expect(await configOf(channel)).toMatchObject({ chat_id: "-42" });
});
