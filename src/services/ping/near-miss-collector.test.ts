// The requests in memory: how they are counted, how many are kept, and how networks share the lookups.
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { describe, expect, test } from "vitest";
import { NEAR_MISS_ADDRESSES_PER_NETWORK_MAX, NEAR_MISS_LOOKUPS_MAX } from "../../core/limits.ts";
import { NearMissCollector } from "./near-miss-collector.ts";

const UUID = "1a9f61d7-0c1b-4f0e-9d3a-5b7c8e2f4a60";
const NOW = Date.UTC(2026, 10, 16, 12);

function newCollector(now = () => NOW): NearMissCollector {
  return new NearMissCollector({
    locate: (url) => (url.startsWith("/ping/") ? url.slice("/ping".length) : null),
    clientOf: ({ peer }) => ({ remoteAddr: peer ?? null, scheme: "http" }),
    networkOf: ({ peer }) => peer ?? "",
    now,
  });
}

function requestOf(
  path: string,
  { from = "203.0.113.7", method = "GET", ua = "curl" } = {},
): IncomingMessage {
  const given = {
    url: `/ping/${path}`,
    method,
    headers: { "user-agent": ua },
    socket: { remoteAddress: from },
  };
  return given as unknown as IncomingMessage;
}

const textsOf = (collector: NearMissCollector) =>
  collector.take().map(({ attempt }) => (attempt.by === "uuid" ? attempt.text : attempt.slug));

describe("requests", () => {
  test("with one address are counted together, with the source of the newest", () => {
    let now = NOW;
    const collector = newCollector(() => now);
    collector.note(requestOf(`${UUID}/start`));
    now += 1_000;
    collector.note(requestOf(`${UUID}?rid=1`, { method: "POST", ua: "x".repeat(300) }));
    expect(collector.take()).toEqual([
      {
        attempt: { by: "uuid", text: UUID, suffix: null, action: "start" },
        manner: { isMethodAllowed: true, isInsecure: false },
        sighting: { count: 2, firstAt: NOW, lastAt: NOW + 1_000, arrivals: [NOW + 1_000] },
        source: { method: "POST", remoteAddr: "203.0.113.7", ua: "x".repeat(200) },
      },
    ]);
    expect(collector.take()).toEqual([]);
  });

  test.each(["favicon.ico", "", "%zz", `${UUID}/${"x".repeat(500)}`, "..%2f..%2fetc/passwd"])(
    "to %j are not kept",
    (path) => {
      const collector = newCollector();
      collector.note(requestOf(path));
      expect(collector.size).toBe(0);
    },
  );

  test("from one network keep a limited number of addresses, those seen again first", () => {
    const collector = newCollector();
    collector.note(requestOf(UUID));
    collector.note(requestOf(UUID));
    for (let count = 0; count < 10_000; count += 1) collector.note(requestOf(randomUUID()));
    expect(collector.size).toBe(NEAR_MISS_ADDRESSES_PER_NETWORK_MAX);
    const texts = textsOf(collector);
    expect(texts).toHaveLength(NEAR_MISS_ADDRESSES_PER_NETWORK_MAX);
    expect(texts[0]).toBe(UUID);
  });

  test("from many networks are bounded, and a flood of one leaves a turn to each other", () => {
    const collector = newCollector();
    collector.note(requestOf(UUID));
    for (let at = 0; at < 20_000; at += 1) {
      collector.note(requestOf(randomUUID(), { from: `192.0.2.${at % 200}` }));
    }
    expect(collector.size).toBeLessThanOrEqual(NEAR_MISS_LOOKUPS_MAX * NEAR_MISS_ADDRESSES_PER_NETWORK_MAX);
    const texts = textsOf(collector);
    expect(texts).toHaveLength(NEAR_MISS_LOOKUPS_MAX);
    expect(texts).toContain(UUID);
    for (let at = 0; at < 5_000; at += 1) collector.note(requestOf(randomUUID(), { from: `10.${at}` }));
    expect(collector.size).toBe(NEAR_MISS_LOOKUPS_MAX);
  });
});

describe("a malformed alias", () => {
  test("is replaced by the UUID of its check, with what follows it", () => {
    const collector = newCollector();
    const cut = UUID.slice(0, 35);
    expect(collector.resolveAlias(`/${cut}`)).toBeNull();
    collector.setAliases(new Map([[cut, UUID]]));
    expect(collector.resolveAlias(`/${cut}`)).toBe(`/${UUID}`);
    expect(collector.resolveAlias(`/${cut}/start?rid=1`)).toBe(`/${UUID}/start?rid=1`);
    expect(collector.resolveAlias(`/${UUID.slice(0, 34)}`)).toBeNull();
    expect(collector.resolveAlias("/")).toBeNull();
  });
});
