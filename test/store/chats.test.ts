// Telegram channels that wait for their chat: found, connected by their code once, and not if they are too old.
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { connectChat, insertChannel, isAnyChatWaiting, listChannels } from "../../src/store/channels.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON, sampleProject } from "../support/sample.ts";

const database = useDatabase();

test("a chat is connected by its code, once and in time", async () => {
  const project = await sampleProject(database.db);
  expect(await isAnyChatWaiting(database.db, MONDAY_NOON - 1)).toBe(false);
  const channel = { projectId: project.id, kind: "telegram", name: "Ops", config: { setup_code: "c0de" } };
  await inTransaction(database.db, (tx) =>
    insertChannel(tx, { ...channel, uuid: randomUUID(), createdAt: MONDAY_NOON }),
  );
  expect(await isAnyChatWaiting(database.db, MONDAY_NOON - 1)).toBe(true);
  const connect = (since: number) =>
    inTransaction(database.db, (tx) =>
      connectChat(tx, { code: "c0de", config: { chat_id: 7, setup_code: "" }, since }),
    );
  expect(await connect(MONDAY_NOON)).toBeNull();
  expect(await connect(MONDAY_NOON - 1)).toMatchObject({ name: "Ops", projectName: project.name });
  expect(await connect(MONDAY_NOON - 1)).toBeNull();
  expect(await isAnyChatWaiting(database.db, MONDAY_NOON - 1)).toBe(false);
  const [stored] = await listChannels(database.db, project.id);
  expect(stored?.config).toEqual({ chat_id: 7, setup_code: "" });
});
