// How often may be asked: headers on every answer, 429 beyond, and guessing is slow without hurting anyone else.
import { describe, expect, test } from "vitest";
import { UNKNOWN_KEY, useCast } from "./cast.ts";

const PER_MINUTE = 40;
const CHECKS = "/api/v3/checks/";

const cast = useCast({ settings: { OVERDUE_API_RATE_LIMIT: String(PER_MINUTE) } });

/** As if the request came from there; the proxy that says so is this machine, which is trusted. */
const from = (address: string) => ({ "X-Forwarded-For": address });

describe("a key", () => {
  test("gets what is left of its limit, and is rejected beyond it", async () => {
    const first = await cast.ask(CHECKS, { key: cast.owner.rw });
    expect(first.headers.get("ratelimit-limit")).toBe(String(PER_MINUTE));
    expect(first.headers.get("ratelimit-remaining")).toBe(String(PER_MINUTE - 1));
    expect(Number(first.headers.get("ratelimit-reset"))).toBeGreaterThan(0);
    // Together, and again: what is allowed grows by the second, and a busy machine takes its time to answer.
    const askAll = () =>
      Promise.all(Array.from({ length: PER_MINUTE }, () => cast.ask(CHECKS, { key: cast.owner.rw })));
    let refused: Awaited<ReturnType<typeof cast.ask>> | undefined;
    for (let tries = 0; tries < 5 && refused === undefined; tries++)
      refused = (await askAll()).find(({ status }) => status === 429);
    expect(refused?.json).toEqual({ error: "too many requests" });
    expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(refused?.headers.get("ratelimit-remaining")).toBe("0");
    expect(refused?.headers.get("access-control-allow-origin")).toBe("*");
  });

  test("is not charged for what others ask", async () => {
    expect((await cast.ask(CHECKS, { key: cast.stranger.rw })).status).toBe(200);
  });
});

describe("wrong keys", () => {
  test("are slowed down by network, and then no new key of that network is looked at", async () => {
    const guess = (address: string) => cast.ask(CHECKS, { key: UNKNOWN_KEY, headers: from(address) });
    const statuses = [];
    // One customer has a whole network of such addresses.
    for (let host = 1; host <= 6; host++) statuses.push((await guess(`2001:db8:1:2::${host}`)).status);
    expect(statuses).toEqual([401, 401, 401, 401, 429, 429]);
    const right = await cast.ask(CHECKS, { key: cast.mate.rw, headers: from("2001:db8:1:2::99") });
    expect(right.status).toBe(429);
    expect((await guess("2001:db8:1:3::1")).status).toBe(401);
  });

  test("do not hurt a key that was in use before", async () => {
    const address = "192.0.2.7";
    expect((await cast.ask(CHECKS, { key: cast.stranger.ro, headers: from(address) })).status).toBe(200);
    for (let asked = 0; asked < 10; asked++) await cast.ask(CHECKS, { headers: from(address) });
    expect((await cast.ask(CHECKS, { headers: from(address) })).status).toBe(429);
    expect((await cast.ask(CHECKS, { key: cast.stranger.ro, headers: from(address) })).status).toBe(200);
  });
});
