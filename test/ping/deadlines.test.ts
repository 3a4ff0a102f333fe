// That an answer leaves in time whatever the intake does: it hangs, it fails, it is full.
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { awakeMs } from "../support/awake.ts";
import { KEY, NO_SUCH_UUID, startPingServer, stopPingServers, type TestServer, UUID } from "./ping-server.ts";
import { RawConnection, rawRequest } from "./raw-http.ts";

let server: TestServer;

beforeAll(async () => {
  server = await startPingServer();
});
beforeEach(() => {
  server.intake.acceptance = null;
  server.intake.resolution = null;
});
afterAll(stopPingServers);

const get = (path = `/ping/${UUID}`) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
const ask = (path?: string) => rawRequest(server.port, get(path));
const never = () => new Promise<never>(() => {});

/** What came, and after how long; without the time in which the machine let neither side do anything. */
async function timed<T>(work: Promise<T>): Promise<[T, number]> {
  const startedAt = awakeMs();
  return [await work, awakeMs() - startedAt];
}

test("an intake that hangs: 503 with Retry-After within 2 s", async () => {
  server.intake.acceptance = never;
  const startedAt = performance.now();
  const [answer, takenMs] = await timed(ask());
  expect(answer).toMatchObject({ status: 503, body: "service unavailable", headers: { "retry-after": "5" } });
  expect(performance.now() - startedAt).toBeGreaterThan(1_500);
  expect(takenMs).toBeLessThan(2_000);
  expect(server.service.pingCounts()).toMatchObject({ pending: 0 });
});

test("a look-up that hangs: 503 within 2 s", async () => {
  server.intake.resolution = never;
  const [answer, takenMs] = await timed(ask(`/ping/${UUID}?rid=bad`));
  expect(answer).toMatchObject({ status: 503 });
  expect(takenMs).toBeLessThan(2_000);
});

test("the time runs from the last byte, not from the first", async () => {
  const head = `POST /ping/${UUID} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n`;
  const connection = await RawConnection.open(server.port, head);
  await pause(2_200);
  connection.send("hi");
  expect(await connection.next()).toMatchObject({ status: 200 });
  connection.close();
});

test("an answer that comes too late from the intake is not sent a second time", async () => {
  const other = await startPingServer({ answerWithinMs: 100 });
  other.intake.acceptance = async () => {
    await pause(300);
    return { kind: "recorded" };
  };
  const connection = await RawConnection.open(other.port, get());
  expect(await connection.next()).toMatchObject({ status: 503 });
  await pause(400);
  other.intake.acceptance = null;
  connection.send(get());
  expect(await connection.next()).toMatchObject({ status: 200 });
  connection.close();
  expect(other.service.pingCounts().answers).toMatchObject({ ok: 1, unavailable: 1 });
});

test("an intake that fails: 503", async () => {
  server.intake.acceptance = () => Promise.reject(new Error("planted"));
  server.intake.resolution = () => Promise.reject(new Error("planted"));
  expect(await ask()).toMatchObject({ status: 503, headers: { "retry-after": "5" } });
  expect(server.intake.refusals).toHaveLength(1);
  expect(await ask(`/ping/${UUID}/256`)).toMatchObject({ status: 503 });
  expect(server.intake.refusals).toHaveLength(1);
});

test("an intake that throws at once: 503", async () => {
  server.intake.acceptance = () => {
    throw new Error("planted");
  };
  expect(await ask()).toMatchObject({ status: 503 });
});

test("an intake that is full says how long it wants to be left alone", async () => {
  server.intake.acceptance = async () => ({ kind: "busy", retryAfterSeconds: 17 });
  server.intake.resolution = async () => "busy";
  expect(await ask()).toMatchObject({ status: 503, headers: { "retry-after": "17" } });
  expect(await ask(`/ping/${KEY}/z?create=1&rid=bad`)).toMatchObject({
    status: 503,
    headers: { "retry-after": "5" },
  });
});

test("HEAD gets the same without a body", async () => {
  server.intake.acceptance = async () => ({ kind: "busy", retryAfterSeconds: 1 });
  const text = `HEAD /ping/${UUID} HTTP/1.1\r\nHost: x\r\n\r\n`;
  expect(await rawRequest(server.port, text, { withoutBody: true })).toMatchObject({ status: 503, body: "" });
});

test("what can be refused without the intake is refused although it hangs", async () => {
  server.intake.acceptance = never;
  server.intake.resolution = never;
  expect(await ask("/ping/abc")).toMatchObject({ status: 404 });
  expect(await ask(`/ping/${KEY}/Upper`)).toMatchObject({ status: 400 });
  expect(
    await rawRequest(server.port, `PUT /ping/${NO_SUCH_UUID} HTTP/1.1\r\nHost: x\r\n\r\n`),
  ).toMatchObject({
    status: 405,
  });
});

test("beyond the limit of pending responses, senders get 503 immediately", async () => {
  const narrow = await startPingServer({ pendingMax: 10, answerWithinMs: 60_000 });
  const gate = Promise.withResolvers<void>();
  narrow.intake.acceptance = async () => {
    await gate.promise;
    return { kind: "recorded" };
  };
  const waiting = await RawConnection.open(narrow.port, get().repeat(10));
  await expect.poll(() => narrow.service.pingCounts().pending).toBe(10);
  expect(await rawRequest(narrow.port, get())).toMatchObject({
    status: 503,
    headers: { "retry-after": "5" },
  });
  expect(narrow.intake.refusals).toHaveLength(1);
  expect(await rawRequest(narrow.port, get(`/ping/${UUID}?rid=bad`))).toMatchObject({ status: 503 });
  // That one would have been no signal in any case.
  expect(narrow.intake.refusals).toHaveLength(1);
  gate.resolve();
  for (let n = 0; n < 10; n += 1) expect(await waiting.next()).toMatchObject({ status: 200 });
  expect(await rawRequest(narrow.port, get())).toMatchObject({ status: 200 });
  waiting.close();
});

test("requests that will be refused leave room for pings while look-ups hang", async () => {
  const narrow = await startPingServer({ pendingMax: 20, flawedMax: 10, answerWithinMs: 60_000 });
  const gate = Promise.withResolvers<void>();
  narrow.intake.resolution = async () => {
    await gate.promise;
    return "known";
  };
  const flawed = get(`/ping/${UUID}?rid=bad`);
  const answers = Array.from({ length: 30 }, () => rawRequest(narrow.port, flawed));
  await expect.poll(() => narrow.service.pingCounts().answers.unavailable).toBe(20);
  expect(await rawRequest(narrow.port, get())).toMatchObject({ status: 200 });
  expect(narrow.intake.resolvedCount).toBe(10);
  gate.resolve();
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 400)).toHaveLength(10);
  expect(await rawRequest(narrow.port, flawed)).toMatchObject({ status: 400 });
});
