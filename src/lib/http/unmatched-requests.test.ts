// The list of unmatched requests is small, and its entries are short.
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { expect, test } from "vitest";
import { unmatchedRequests } from "./unmatched-requests.ts";

function request(url: string, headers: Record<string, string> = {}): IncomingMessage {
  return Object.assign(new IncomingMessage(new Socket()), { method: "GET", url, headers });
}

test("the newest come first, those before an instant are omitted, and old ones are dropped", () => {
  let now = 0;
  const misses = unmatchedRequests({ now: () => now, remoteAddrOf: () => "192.0.2.1" });
  for (now = 1; now <= 500; now += 1) misses.note(request(`/${now}`, { host: "a", "user-agent": "curl" }));
  expect(misses.since(499)).toEqual([
    { at: 500, method: "GET", host: "a", target: "/500", remoteAddr: "192.0.2.1", ua: "curl" },
    expect.objectContaining({ at: 499 }),
  ]);
  expect(misses.since(0)).toHaveLength(200);
});

test("long texts are truncated", () => {
  const misses = unmatchedRequests({ now: () => 1, remoteAddrOf: () => null });
  misses.note(request(`/${"x".repeat(5_000)}`, { host: "h".repeat(5_000), "user-agent": "u".repeat(5_000) }));
  const [kept] = misses.since(0);
  expect([kept?.target.length, kept?.host.length, kept?.ua.length]).toEqual([200, 200, 200]);
});
