// Pings that a trusted proxy received over http, although the site has https.
import { afterAll, expect, test } from "vitest";
import { startPingServer, stopPingServers, UUID } from "./ping-server.ts";

afterAll(stopPingServers);

async function noted(siteUrl: string, schemes: readonly (string | null)[], proxies = ["127.0.0.0/8"]) {
  const found: string[] = [];
  const server = await startPingServer({
    siteUrl: new URL(siteUrl),
    trustedProxies: proxies,
    onInsecure: (request) => found.push(request.url ?? ""),
  });
  for (const [at, scheme] of schemes.entries()) {
    const headers = scheme === null ? {} : { "x-forwarded-proto": scheme };
    const { status } = await fetch(`${server.origin}/ping/${UUID}/${at}`, { headers });
    expect(status).toBe(200);
  }
  return found;
}

test("count once the proxy has passed on an encrypted one", async () => {
  const found = await noted("https://overdue.example.org", ["http", "https", "http", "https", "http"]);
  expect(found).toEqual([`/ping/${UUID}/2`, `/ping/${UUID}/4`]);
});

test("do not count without a proxy, from one that is not trusted, or without encryption on the site", async () => {
  expect(await noted("https://overdue.example.org", ["https", null])).toEqual([]);
  expect(await noted("https://overdue.example.org", ["https", "http"], ["192.0.2.1"])).toEqual([]);
  expect(await noted("http://overdue.example.org", ["https", "http"])).toEqual([]);
});
