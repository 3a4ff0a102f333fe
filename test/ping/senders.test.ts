// Who sent a ping, as the signal remembers it: address, scheme and user agent, with and without proxies.
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { startPingServer, stopPingServers, type TestServer, UUID } from "./ping-server.ts";
import { rawRequest } from "./raw-http.ts";

let trusting: TestServer;
let wary: TestServer;

beforeAll(async () => {
  trusting = await startPingServer({ trustedProxies: ["127.0.0.0/8"] });
  wary = await startPingServer({ trustedProxies: ["10.0.0.0/8"] });
});
beforeEach(() => {
  for (const { intake } of [trusting, wary]) intake.signals.length = 0;
});
afterAll(stopPingServers);

async function sender({ port, intake }: TestServer, headers: string) {
  const text = `GET /ping/${UUID} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;
  expect(await rawRequest(port, text)).toMatchObject({ status: 200, body: "OK" });
  const { remoteAddr, scheme, ua } = intake.signals.at(-1) ?? {};
  return { remoteAddr, scheme, ua };
}

const DIRECT = { remoteAddr: "127.0.0.1", scheme: "http", ua: "" };

test("without headers the peer is the sender", async () => {
  expect(await sender(trusting, "")).toEqual(DIRECT);
});

test.each([
  ["X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Proto: https\r\n", { remoteAddr: "1.2.3.4", scheme: "https" }],
  ["x-forwarded-for: 5.6.7.8, 1.1.1.1\r\n", { remoteAddr: "5.6.7.8" }],
  ["X-Forwarded-For: 5.6.7.8\r\nX-Forwarded-For: 1.1.1.1\r\n", { remoteAddr: "5.6.7.8" }],
  ["X-Forwarded-For: 9.9.9.9:1234\r\n", { remoteAddr: "9.9.9.9" }],
  ["X-Forwarded-For: 2001:DB8::0001\r\n", { remoteAddr: "2001:db8::1" }],
  ["X-Forwarded-For: ::ffff:1.1.1.1\r\n", { remoteAddr: "::ffff:1.1.1.1" }],
  ["X-Forwarded-For: fe80::1%eth0\r\n", { remoteAddr: "fe80::1" }],
  ["X-Forwarded-For: unknown\r\n", { remoteAddr: null }],
  ["X-Forwarded-Proto: averylongscheme\r\n", {}],
])("a trusted proxy that says %j is believed as far as it makes sense", async (headers, expected) => {
  expect(await sender(trusting, headers)).toEqual({ ...DIRECT, ...expected });
});

test("headers of an untrusted peer are ignored", async () => {
  const headers =
    "X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Proto: https\r\nForwarded: for=1.2.3.4\r\nX-Real-IP: 1.2.3.4\r\n";
  expect(await sender(wary, headers)).toEqual(DIRECT);
});

test("a service that listens for both families knows its IPv4 peers by their usual name", async () => {
  const both = await startPingServer({ listen: { host: "::", port: 0 } });
  expect(await sender(both, "")).toEqual(DIRECT);
  expect(await sender(both, "X-Forwarded-For: 1.2.3.4\r\n")).toEqual({ ...DIRECT, remoteAddr: "1.2.3.4" });
});

test("the user agent is kept, cut to 200 characters", async () => {
  expect(await sender(trusting, "User-Agent: curl/8.0\r\n")).toEqual({ ...DIRECT, ua: "curl/8.0" });
  expect((await sender(trusting, `User-Agent: ${"u".repeat(300)}\r\n`)).ua).toBe("u".repeat(200));
  expect((await sender(trusting, "User-Agent: caf\xe9\r\n")).ua).toBe("café");
});
