// Callbacks of Twilio on a real listener: only a signed one is believed, and only a failure is noted.
import { createHmac, randomUUID } from "node:crypto";
import { beforeEach, expect, test } from "vitest";
import { createLog } from "../../src/lib/log.ts";
import { twilioStatusHandler } from "../../src/services/web/twilio-status.ts";
import { listLoggedDeliveries, type LoggedDelivery } from "../../src/store/deliveries.ts";
import { insertTestDeliveries } from "../../src/store/planning.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { servePlainly, stopServingAtEnd } from "../management/plain-server.ts";
import { useDatabase } from "../support/database.ts";
import { addChannel } from "../support/owed.ts";
import { MONDAY_NOON, sampleProject } from "../support/sample.ts";

const database = useDatabase();
stopServingAtEnd();
const SITE = "https://overdue.example.org/watch";
const TOKEN = "token-of-the-account";
const FAILED = { MessageSid: "SM0123", MessageStatus: "undelivered", ErrorCode: "30003" };

let origin: string;
let channel: { id: number; uuid: string };
let delivery: LoggedDelivery;

beforeEach(async () => {
  const { id: projectId } = await sampleProject(database.db);
  channel = await addChannel(database.db, { projectId });
  await inTransaction(database.db, (tx) =>
    insertTestDeliveries(tx, { channelId: channel.id, at: MONDAY_NOON }),
  );
  delivery = await read();
  await settle("sent");
  origin ??= await servePlainly(
    twilioStatusHandler({
      database: database.db,
      siteUrl: SITE,
      authToken: TOKEN,
      log: createLog({ level: "fatal" }),
    }),
  );
});

const settle = (state: string) =>
  database.db.pool.query(
    `update deliveries set state = $2, message_id = id, settled_at = case when $2 = 'pending' then null else now() end,
       next_try_at = case when $2 = 'pending' then now() end
     where id = $1`,
    [delivery.id, state],
  );

async function read(): Promise<LoggedDelivery> {
  const page = { channelIds: [channel.id], beforeId: null, limit: 1 };
  const [one] = await listLoggedDeliveries(database.db, page);
  if (one === undefined) throw new Error("a delivery was planned");
  return one;
}

const pathOf = (dedupeKey = delivery.dedupeKey) => `/integrations/twilio/status/${channel.uuid}.${dedupeKey}`;

function signatureOf(path: string, fields: Record<string, string>): string {
  const names = Object.keys(fields).toSorted();
  const message = SITE + path + names.map((name) => name + fields[name]).join("");
  return createHmac("sha1", TOKEN).update(message).digest("base64");
}

function report(
  fields: Record<string, string>,
  {
    path = pathOf(),
    signature = signatureOf(path, fields),
  }: { path?: string; signature?: string | null } = {},
) {
  const headers = signature === null ? {} : { "X-Twilio-Signature": signature };
  return fetch(`${origin}/watch${path}`, { method: "POST", headers, body: new URLSearchParams(fields) });
}

test("a message that was not delivered is noted and stays sent", async () => {
  expect((await report(FAILED)).status).toBe(204);
  expect(await read()).toMatchObject({
    state: "sent",
    nextTryAt: null,
    reason: "The carrier did not deliver the message (Twilio error 30003)",
  });
});

test("a delivered one is not", async () => {
  expect((await report({ MessageStatus: "delivered" })).status).toBe(204);
  expect((await read()).reason).toBeNull();
});

test("a proxy may have removed the path of the site", async () => {
  const headers = { "X-Twilio-Signature": signatureOf(pathOf(), FAILED) };
  const body = new URLSearchParams(FAILED);
  expect((await fetch(origin + pathOf(), { method: "POST", headers, body })).status).toBe(204);
  expect((await read()).reason).not.toBeNull();
});

test.each([
  ["no signature", null],
  ["a wrong one", "RSOYDt4T1cUTdK1PDd93/VVr8B8="],
])("with %s it is refused", async (_what, signature) => {
  expect((await report(FAILED, { signature })).status).toBe(403);
  expect((await read()).reason).toBeNull();
});

test("a signature is valid for one message and its fields only", async () => {
  const signature = signatureOf(pathOf(), FAILED);
  expect((await report({ ...FAILED, ErrorCode: "1" }, { signature })).status).toBe(403);
  expect((await report(FAILED, { path: pathOf(randomUUID()), signature })).status).toBe(403);
  expect((await read()).reason).toBeNull();
});

test("an unknown message gets the same answer", async () => {
  const answer = await report(FAILED, { path: pathOf(randomUUID()) });
  expect([answer.status, await answer.text()]).toEqual([204, ""]);
});

test("a report that comes before the message is settled waits for that", async () => {
  await settle("pending");
  const reported = report(FAILED);
  await new Promise((resolve) => setTimeout(resolve, 100));
  await settle("sent");
  expect((await reported).status).toBe(204);
  expect((await read()).reason).not.toBeNull();
});

test("other methods and large bodies are refused", async () => {
  expect((await fetch(`${origin}/watch${pathOf()}`)).status).toBe(405);
  expect((await report({ ...FAILED, more: "x".repeat(20_000) })).status).toBe(413);
  expect((await fetch(`${origin}/watch/integrations/twilio/status/x`)).status).toBe(404);
});

test("without an account at Twilio there are no callbacks", async () => {
  const options = {
    database: database.db,
    siteUrl: SITE,
    authToken: null,
    log: createLog({ level: "fatal" }),
  };
  const closed = await servePlainly(twilioStatusHandler(options));
  expect((await fetch(closed + pathOf(), { method: "POST" })).status).toBe(404);
});
