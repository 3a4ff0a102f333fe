// Rate limits of the Overdue API, and its responses while the database is unavailable.
import { describe, expect, test, vi } from "vitest";
import { UNKNOWN_KEY, useCast } from "../management/cast.ts";
import { askApi } from "./asking.ts";

const LIMIT = 30;

describe("requests", () => {
  const cast = useCast({ settings: { OVERDUE_API_RATE_LIMIT: String(LIMIT) } });

  test("are counted by key, together with those of the Management API, and reported in headers", async () => {
    const first = await askApi(cast, "/channel-kinds", { key: cast.owner.rw });
    expect(first.headers.get("ratelimit-limit")).toBe(String(LIMIT));
    expect(Number(first.headers.get("ratelimit-remaining"))).toBe(LIMIT - 1);
    const compatible = await cast.ask("/api/v3/channels/", { key: cast.owner.rw });
    expect(Number(compatible.headers.get("ratelimit-remaining"))).toBeLessThanOrEqual(LIMIT - 1);
    let last = await askApi(cast, "/channel-kinds", { key: cast.owner.rw });
    expect(Number(last.headers.get("ratelimit-remaining"))).toBeLessThanOrEqual(LIMIT - 2);
    // More than the limit, because permits are added while a slow machine sends the requests.
    for (let n = 0; n < 10 * LIMIT && last.status === 200; n += 1) {
      last = await askApi(cast, "/channel-kinds", { key: cast.owner.rw });
    }
    expect([last.status, last.detail]).toEqual([429, "Too many requests."]);
    expect(Number(last.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(last.headers.get("ratelimit-remaining")).toBe("0");
    expect((await askApi(cast, "/channel-kinds", { key: cast.owner.ro })).status).toBe(200);
  });

  test("for a file have the same headers", async () => {
    const { project, rw: key } = cast.stranger;
    const file = await askApi(cast, `/projects/${project.uuid}/events.json`, { key });
    expect(file.headers.get("ratelimit-limit")).toBe(String(LIMIT));
    expect(file.headers.get("access-control-allow-origin")).toBe("*");
  });

  test("with unknown keys are limited by network", async () => {
    const statuses = new Set<number>();
    for (let n = 0; n < LIMIT / 10 + 2; n += 1) {
      statuses.add((await askApi(cast, "/channel-kinds", { key: UNKNOWN_KEY })).status);
    }
    expect([...statuses]).toEqual([401, 429]);
  });
});

describe("a fault", () => {
  const cast = useCast({ settings: { OVERDUE_API_RATE_LIMIT: "0" } });

  test("of ours is reported without its details, and a database that is down as 503", async () => {
    const query = vi.spyOn(cast.serverDb, "query");
    query.mockRejectedValue(new Error("planted detail"));
    const fault = await askApi(cast, "/projects/{project}/channels", { key: cast.owner.rw });
    expect([fault.status, fault.detail]).toEqual([500, "Internal server error."]);
    query.mockRejectedValue(Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }));
    const away = await askApi(cast, "/projects/{project}/channels", { key: cast.owner.rw });
    expect([away.status, away.headers.get("retry-after")]).toEqual([503, "5"]);
    query.mockRestore();
    expect((await askApi(cast, "/projects/{project}/channels", { key: cast.owner.rw })).status).toBe(200);
  });
});
