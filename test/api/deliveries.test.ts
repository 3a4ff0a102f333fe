// From a channel that is made by API to the message at its receiver and back to the delivery log: the whole program,
// with real signals and a real receiver.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Delivery } from "../../src/contract/api/channels.ts";
import { createLog } from "../../src/lib/log.ts";
import { newCheck } from "../management/asking.ts";
import { useCast } from "../management/cast.ts";
import type { Receiver } from "../receivers/receiver.ts";
import { startWebhook } from "../receivers/kinds/webhook.ts";
import { askApi, type Made, newChannel } from "./asking.ts";

const lines: string[] = [];
const cast = useCast({
  roles: ["ping", "api", "sweeper", "notifier"],
  settings: {
    OVERDUE_API_RATE_LIMIT: "0",
    OVERDUE_CHANNELS_ALLOW_PRIVATE_IPS: "true",
  },
  log: createLog({ level: "trace", destination: { write: (line) => void lines.push(line) } }),
});

/** Planted wherever a secret can stand. */
const PLANTED = "pl4nted-s3cret-0815";
const HEADER_SECRET = "he4der-s3cret-4711";

let receiver: Receiver;
let channel: Made;

beforeAll(async () => {
  receiver = await startWebhook();
});

afterAll(() => receiver.close());

beforeEach(async () => {
  receiver.behave({ kind: "judge" });
  receiver.received.length = 0;
  channel = await newChannel(cast, {
    kind: "webhook",
    name: "Hook",
    config: {
      url_down: `${receiver.url}/${PLANTED}/$STATUS`,
      url_up: `${receiver.url}/${PLANTED}/$STATUS`,
      body_down: "$NAME is $STATUS",
      headers_down: { Authorization: `Bearer ${HEADER_SECRET}` },
    },
    checks: [],
  });
});

async function logOf(id: string, key = cast.owner.rw): Promise<Delivery[]> {
  const { json } = await askApi(cast, `/channels/${id}/deliveries`, { key });
  return json["deliveries"] as Delivery[];
}

async function until<T>(look: () => Promise<T | null | undefined | false>): Promise<T> {
  for (let tries = 0; tries < 600; tries += 1) {
    const found = await look();
    if (found !== null && found !== undefined && found !== false) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("it did not happen within thirty seconds");
}

async function read(id: number): Promise<Delivery> {
  return (await askApi(cast, `/projects/{project}/deliveries/${id}`, { key: cast.owner.rw }))
    .json as unknown as Delivery;
}

async function pressTest(id = channel.id): Promise<Delivery[]> {
  const { json } = await askApi(cast, `/channels/${id}/test`, { method: "POST", key: cast.owner.rw });
  return json["deliveries"] as Delivery[];
}

test("a failing check notifies a webhook created by API, and its log shows it", async () => {
  const check = await newCheck(cast, { name: "Nightly", channels: channel.id });
  expect((await cast.ask(`/ping/${check.uuid}`)).status).toBe(200);
  expect((await cast.ask(`/ping/${check.uuid}/fail`, { method: "POST", body: "disk full" })).status).toBe(
    200,
  );
  const [told] = await until(async () => receiver.received.length > 0 && receiver.received);
  expect(told).toMatchObject({ method: "POST", path: `/${PLANTED}/down`, body: "Nightly is down" });
  expect(told?.headers["webhook-signature"]).toMatch(/^v1,/);
  const delivery = await until(async () => (await logOf(channel.id)).find(({ state }) => state === "sent"));
  expect(delivery).toMatchObject({
    channel: { id: channel.id },
    kind: "flip",
    to: "down",
    check: { id: check.uuid, name: "Nightly" },
    attempts: 1,
    responseCode: 200,
    response: "thanks",
    nextAttemptAt: null,
    reason: null,
  });
  expect(delivery.request).toBe(`POST ${new URL(receiver.url).host}`);
  expect(delivery.settledAt).toBeGreaterThanOrEqual(delivery.createdAt);
  const { json } = await askApi(cast, `/channels/${channel.id}`, { key: cast.owner.rw });
  expect(json).toMatchObject({ checkCount: 1, lastError: null, lastNotifiedAt: expect.any(Number) });
});

describe("a test", () => {
  test("is sent within seconds, and its delivery shows the result", async () => {
    const [planned] = await pressTest();
    expect(planned).toMatchObject({ kind: "test", state: "pending", attempts: 0, check: null });
    const done = await until(async () => {
      const one = await read(planned?.id ?? 0);
      return one.state === "sent" && one;
    });
    expect(done).toMatchObject({ attempts: 1, responseCode: 200 });
    expect(receiver.received.map(({ body }) => body)).toEqual(["TEST is down"]);
  });

  test("reaches a disabled channel, and each member of a group, whose log the group shows", async () => {
    const other = await newChannel(cast, {
      kind: "webhook",
      config: { url_down: `${receiver.url}/other` },
      isEnabled: false,
      checks: [],
    });
    const group = await newChannel(cast, { kind: "group", config: { members: [channel.id, other.id] } });
    const planned = await pressTest(group.id);
    expect(planned.map((one) => String(one.channel?.id)).toSorted()).toEqual(
      [channel.id, other.id].toSorted(),
    );
    await until(async () => receiver.received.length === 2);
    expect((await logOf(group.id)).map(({ id }) => String(id)).toSorted()).toEqual(
      planned.map(({ id }) => String(id)).toSorted(),
    );
  });

  test("cannot be pressed without end", async () => {
    const statuses: number[] = [];
    for (let n = 0; n < 12; n += 1) {
      const { status } = await askApi(cast, `/channels/${channel.id}/test`, {
        method: "POST",
        key: cast.owner.rw,
      });
      statuses.push(status);
    }
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 202), 429, 429]);
  });
});

describe("a delivery that fails", () => {
  test("waits with its next attempt and the reason, and is retried on request", async () => {
    receiver.behave({ kind: "answer", answer: { status: 500, body: `no: ${PLANTED} ${HEADER_SECRET}` } });
    const check = await newCheck(cast, { name: "Waiting", channels: channel.id });
    await cast.ask(`/ping/${check.uuid}/fail`);
    const waiting = await until(async () =>
      (await logOf(channel.id)).find(({ attempts, reason }) => attempts === 1 && reason !== null),
    );
    const { id } = waiting;
    expect(waiting).toMatchObject({
      state: "pending",
      responseCode: 500,
      reason: expect.stringContaining("500"),
    });
    expect(waiting.nextAttemptAt).toBeGreaterThan(waiting.createdAt + 5_000);
    receiver.behave({ kind: "judge" });
    const retry = await askApi(cast, `/projects/{project}/deliveries/${id}/retry`, {
      method: "POST",
      key: cast.owner.rw,
    });
    expect(retry.json).toMatchObject({ state: "pending" });
    await until(async () => (await read(id)).state === "sent");
    const settled = await askApi(cast, `/projects/{project}/deliveries/${id}/retry`, {
      method: "POST",
      key: cast.owner.rw,
    });
    expect([settled.status, settled.detail]).toEqual([
      409,
      "The delivery cannot be retried: its state is sent.",
    ]);
  });

  test("and was given up can be tried again, but not through a disabled channel", async () => {
    const check = await newCheck(cast, { name: "Given up", channels: channel.id });
    await cast.ask(`/ping/${check.uuid}/fail`);
    const { id } = await until(async () => (await logOf(channel.id)).find(({ state }) => state === "sent"));
    await cast.db.pool.query("update deliveries set state = 'dead', reason = 'for the test' where id = $1", [
      id,
    ]);
    const ask = (body: object) =>
      askApi(cast, `/channels/${channel.id}`, { method: "PATCH", key: cast.owner.rw, body });
    await ask({ isEnabled: false });
    const refused = await askApi(cast, `/projects/{project}/deliveries/${id}/retry`, {
      method: "POST",
      key: cast.owner.rw,
    });
    expect([refused.status, refused.detail]).toEqual([409, "The channel is disabled. Enable it first."]);
    await ask({ isEnabled: true });
    receiver.received.length = 0;
    await askApi(cast, `/projects/{project}/deliveries/${id}/retry`, { method: "POST", key: cast.owner.rw });
    await until(async () => receiver.received.length === 1);
    await until(async () => (await read(id)).state === "sent");
  });
});

test("the log comes in pages, newest first", async () => {
  for (let n = 0; n < 3; n += 1) await pressTest();
  const path = `/channels/${channel.id}/deliveries?limit=2`;
  const first = await askApi(cast, path, { key: cast.owner.rw });
  const cursor = String(first.json["next"]);
  const second = await askApi(cast, `${path}&cursor=${cursor}`, { key: cast.owner.rw });
  const ids = [first, second].flatMap(({ json }) => (json["deliveries"] as Delivery[]).map(({ id }) => id));
  expect([ids.length, second.json["next"]]).toEqual([3, null]);
  expect(ids).toEqual(ids.toSorted((one, other) => other - one));
});

test("no secret of a channel is in any answer, in the log of the server or in an excerpt", async () => {
  receiver.behave({
    kind: "answer",
    answer: { status: 400, body: `you said ${PLANTED} and ${HEADER_SECRET}` },
  });
  const [planned] = await pressTest();
  await until(async () => (await read(planned?.id ?? 0)).responseCode === 400);
  const { secret = "" } = channel.generated;
  const texts: string[] = [];
  for (const key of [cast.owner.rw, cast.owner.ro]) {
    for (const path of [
      "/projects/{project}/channels",
      `/channels/${channel.id}`,
      `/channels/${channel.id}/deliveries`,
      `/channels/${channel.id}/checks`,
      `/projects/{project}/deliveries/${planned?.id ?? ""}`,
    ]) {
      texts.push((await askApi(cast, path, { key })).text);
    }
  }
  for (const body of [
    { config: { secret: "short" } },
    { config: { url_down: 7 } },
    { config: { body_down: 1 } },
  ]) {
    texts.push(
      (await askApi(cast, `/channels/${channel.id}`, { method: "PATCH", key: cast.owner.rw, body })).text,
    );
  }
  texts.push((await cast.ask("/api/v3/channels/", { key: cast.owner.rw })).text, lines.join(""));
  const { rows } = await cast.db.pool.query("select * from audit_entries");
  texts.push(JSON.stringify(rows));
  expect(texts.join("")).toContain("you said");
  expect(lines.join("")).toContain('"msg":"overdue api"');
  for (const hidden of [PLANTED, HEADER_SECRET, secret]) {
    expect(hidden.length).toBeGreaterThan(10);
    for (const text of texts) expect(text.includes(hidden), hidden).toBe(false);
  }
});
