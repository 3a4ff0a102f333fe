// Fire drills through the whole program: by the API, with a webhook and email, by roles and keys.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { insertChannel } from "../../src/store/channels.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { newCheck } from "../management/asking.ts";
import { useCast } from "../management/cast.ts";
import { startReceiver, type Receiver } from "../receivers/receiver.ts";
import { startSmtp } from "../receivers/smtp.ts";
import { askApi } from "./asking.ts";

const smtp = await startSmtp();
let receiver: Receiver;
const cast = useCast({
  roles: ["web", "api", "ping", "sweeper", "notifier"],
  settings: {
    OVERDUE_SMTP_HOST: "127.0.0.1",
    OVERDUE_SMTP_PORT: String(smtp.port),
    OVERDUE_SMTP_TLS: "none",
    OVERDUE_MAIL_FROM: "Overdue <alerts@overdue.test>",
    OVERDUE_MAIL_VERIFICATION: "false",
    OVERDUE_CHANNELS_ALLOW_PRIVATE_IPS: "true",
  },
});
beforeAll(async () => {
  receiver = await startReceiver(() => ({ answer: { status: 200 } }));
});
afterAll(async () => {
  await smtp.close();
  await receiver.close();
});
beforeEach(async () => {
  smtp.received.length = 0;
  receiver.received.length = 0;
  await cast.db.pool.query("delete from channels");
  await addChannel("webhook", { url_down: receiver.url, url_up: receiver.url });
  await addChannel("email", { value: "ops@example.org", up: true, down: true });
});

async function addChannel(kind: string, config: Record<string, unknown>): Promise<void> {
  const createdAt = await cast.now();
  const channel = { uuid: randomUUID(), projectId: cast.owner.project.id, kind, name: kind, config, createdAt };
  await inTransaction(cast.db, (tx) => insertChannel(tx, channel));
}

type Drill = {
  id: string;
  endedAt: number | null;
  outcome: string | null;
  durationMs: number | null;
  channelCount: number;
  hops: { name: string; at: number }[];
  recipients: { channel: { name: string }; outcome: string; title: string; closing: object | null }[];
};

const start = (body: object, key = cast.owner.rw) =>
  askApi(cast, "/projects/{project}/fire-drills", { method: "POST", key, body });

const WAIT_MS = 60_000;

async function ended(id: string): Promise<Drill> {
  const end = performance.now() + WAIT_MS;
  for (;;) {
    const { json } = await askApi(cast, `/projects/{project}/fire-drills/${id}`, { key: cast.owner.rw });
    const drill = json as unknown as Drill;
    if (drill.endedAt !== null) return drill;
    if (performance.now() > end) throw new Error(`the drill did not end: ${JSON.stringify(drill)}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

test("a drill shows every hop and sends nothing", { timeout: 2 * WAIT_MS }, async () => {
  const { status, json } = await start({});
  expect(status).toBe(201);
  const again = await start({});
  expect(again.status).toBe(409);
  const drill = await ended((json as unknown as Drill).id);
  expect(drill).toMatchObject({ outcome: "ok", channelCount: 2 });
  expect(drill.hops.map(({ name }) => name)).toEqual([
    "deadline",
    "found",
    "written",
    "planned",
    "claimed",
    "rendered",
  ]);
  const times = drill.hops.map(({ at }) => at);
  expect(times).toEqual(times.toSorted((one, other) => one - other));
  expect(drill.recipients.map(({ outcome }) => outcome)).toEqual(["notSent", "notSent"]);
  for (const { title } of drill.recipients) expect(title).toContain("[Fire drill]");
  expect([receiver.received, smtp.received]).toEqual([[], []]);
  const list = await askApi(cast, "/projects/{project}/fire-drills", { key: cast.owner.ro });
  expect(list.json).toMatchObject({ fireDrills: [{ id: drill.id, outcome: "ok", startedBy: null }] });
});

test("an API key cannot send, and a read-only key starts none", async () => {
  expect((await start({ send: true })).status).toBe(403);
  expect((await start({}, cast.owner.ro)).status).toBe(403);
  expect((await start({ check: randomUUID() })).status).toBe(400);
  expect([receiver.received, smtp.received]).toEqual([[], []]);
});

test("the check of a drill is in no list while it runs", { timeout: 2 * WAIT_MS }, async () => {
  await newCheck(cast, { name: "nightly" });
  const names = async () => {
    const { json } = await cast.ask("/api/v3/checks/", { key: cast.owner.rw });
    return (json as { checks: { name: string }[] }).checks.map(({ name }) => name);
  };
  const before = await names();
  const { json } = await start({});
  expect(await names()).toEqual(before);
  await ended((json as unknown as Drill).id);
  expect(await names()).toEqual(before);
});
