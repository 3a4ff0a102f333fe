// GET /checks/<uuid>/pings/<n>/body: what a signal carried, byte for byte, wherever it lies.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, describe, expect, test } from "vitest";
import { sampleIntake, type Sent } from "../support/checks-under-change.ts";
import { MONDAY_NOON, sampleCheck } from "../support/sample.ts";
import { type Cast, UNKNOWN_KEY, UNKNOWN_UUID, useCast } from "./cast.ts";

/** Stands in for an object store: what it answers is up to the test. */
const store = { answer: { status: 200, body: "from the store" }, calls: 0 };
const storeServer = createServer((_, response) => {
  store.calls += 1;
  response.writeHead(store.answer.status).end(store.answer.body);
}).listen(0, "127.0.0.1");
await once(storeServer, "listening");
afterAll(() => storeServer.close());

const cast = useCast();
const few = useCast({ settings: { OVERDUE_PING_LOG_LIMIT: "2" } });
const stored = useCast({
  settings: {
    S3_ENDPOINT: `127.0.0.1:${(storeServer.address() as AddressInfo).port}`,
    S3_SECURE: "False",
    S3_BUCKET: "bodies",
    S3_ACCESS_KEY: "overdue",
    S3_SECRET_KEY: "not-a-real-secret",
  },
});

async function heard(on: Cast, sent: readonly Omit<Sent, "uuid">[]): Promise<string> {
  const { uuid } = await sampleCheck(on.db, { projectId: on.owner.project.id });
  const record = await sampleIntake(on.db);
  await record(sent.map((one, index) => ({ uuid, at: MONDAY_NOON + index, ...one })));
  return uuid;
}

/** As if the body had been moved: only the key of its object is left. */
async function moveAway(on: Cast, uuid: string): Promise<void> {
  await on.db.pool.query(
    `update ping_bodies set body = null, object_key = 'moved', moving_until = now()
      where check_id = (select id from checks where uuid = $1)`,
    [uuid],
  );
}

const path = (uuid: string, n: number | string = 1, version = 3) =>
  `/api/v${version}/checks/${uuid}/pings/${n}/body`;

describe("200", () => {
  test("the bytes as they were sent, always as plain text without sniffing", async () => {
    const body = Buffer.from([0, 255, 10, 13, 0x3c, 0x70, 0x3e]);
    const uuid = await heard(cast, [{ body }, { body: "<p>ā</p>" }]);
    const reply = await cast.ask(path(uuid), { key: cast.owner.rw });
    expect(reply.status).toBe(200);
    expect(reply.bytes).toEqual(body);
    expect(reply.headers.get("content-type")).toBe("text/plain");
    expect(reply.headers.get("x-content-type-options")).toBe("nosniff");
    expect((await cast.ask(path(uuid, 2), { key: cast.owner.rw })).text).toBe("<p>ā</p>");
  });

  test("zeros in front of the number and a slash at the end do not matter; version 2 has it, too", async () => {
    const uuid = await heard(cast, [{ body: "x" }]);
    for (const where of [path(uuid, "01"), `${path(uuid)}/`, path(uuid, 1, 2)]) {
      expect((await cast.ask(where, { key: cast.owner.rw })).text, where).toBe("x");
    }
  });

  test("HEAD is answered like GET, without the body", async () => {
    const uuid = await heard(cast, [{ body: "x" }]);
    const reply = await cast.ask(path(uuid), { method: "HEAD", key: cast.owner.rw });
    expect([reply.status, reply.text]).toEqual([200, ""]);
  });

  test("a body that was moved comes from the object store", async () => {
    const uuid = await heard(stored, [{ body: "y" }]);
    await moveAway(stored, uuid);
    const reply = await stored.ask(path(uuid), { key: stored.owner.rw });
    expect([reply.status, reply.text]).toEqual([200, "from the store"]);
  });
});

describe("401", () => {
  test.each([
    ["no key", undefined, "missing api key"],
    ["a key that nobody has", UNKNOWN_KEY, "wrong api key"],
  ])("%s", async (_, key, error) => {
    const uuid = await heard(cast, [{ body: "secret" }]);
    const reply = await cast.ask(path(uuid), key === undefined ? {} : { key });
    expect([reply.status, reply.json]).toEqual([401, { error }]);
  });
});

describe("403", () => {
  test("a read-only key, and any key of another project", async () => {
    const uuid = await heard(cast, [{ body: "secret" }]);
    for (const key of [cast.owner.ro, cast.mate.rw, cast.stranger.rw]) {
      const reply = await cast.ask(path(uuid), { key });
      expect([reply.status, reply.json]).toEqual([403, { error: "wrong api key" }]);
    }
  });
});

describe("404", () => {
  test("a ping without a body, with an empty one, and numbers that do not exist", async () => {
    const uuid = await heard(cast, [{}, { body: "x" }]);
    for (const n of [1, 3, 0, "-1", "x", "1.5", "99999999999999999999", "9007199254740993"]) {
      const reply = await cast.ask(path(uuid, n), { key: cast.owner.rw });
      expect([reply.status, reply.json], String(n)).toEqual([404, { error: "not found" }]);
    }
  });

  test("a ping that has left the log, although its row is still there", async () => {
    const uuid = await heard(few, [{ body: "a" }, { body: "b" }, { body: "c" }]);
    const statuses = await Promise.all(
      [1, 2, 3].map(async (n) => (await few.ask(path(uuid, n), { key: few.owner.rw })).status),
    );
    expect(statuses).toEqual([404, 200, 200]);
  });

  test("a check that does not exist, and version 1, which has no bodies", async () => {
    const uuid = await heard(cast, [{ body: "x" }]);
    for (const where of [path(UNKNOWN_UUID), path(uuid, 1, 1)]) {
      const reply = await cast.ask(where, { key: cast.owner.rw });
      expect([reply.status, reply.json], where).toEqual([404, { error: "not found" }]);
    }
  });
});

describe("503", () => {
  test("a body that was moved to a store that is not configured any more", async () => {
    const uuid = await heard(cast, [{ body: "x" }]);
    await moveAway(cast, uuid);
    const reply = await cast.ask(path(uuid), { key: cast.owner.rw });
    expect([reply.status, reply.json]).toEqual([503, { error: "service unavailable" }]);
  });

  test("a store that fails, and after three failures it is not asked again", async () => {
    const uuid = await heard(stored, [{ body: "z" }]);
    await moveAway(stored, uuid);
    store.answer = { status: 403, body: "" };
    store.calls = 0;
    for (let time = 1; time <= 5; time++) {
      const reply = await stored.ask(path(uuid), { key: stored.owner.rw });
      expect([reply.status, reply.json]).toEqual([503, { error: "service unavailable" }]);
      expect(store.calls).toBe(Math.min(time, 3));
    }
  });
});
