// GET /status/: a question to the database, for load balancers.
import { describe, expect, test } from "vitest";
import { UNKNOWN_KEY, useCast } from "./cast.ts";

const cast = useCast();
const dialect = useCast({ dialect: "healthchecks" });

const PATH = "/api/v3/status/";

describe("200", () => {
  test("without a key, with a good one and with a bad one", async () => {
    for (const given of [{}, { key: cast.owner.rw }, { key: cast.owner.ro }, { key: UNKNOWN_KEY }]) {
      const reply = await cast.ask(PATH, given);
      expect([reply.status, reply.json]).toEqual([200, { status: "ok" }]);
    }
  });

  test("HEAD, version 2, a query and the form without a slash", async () => {
    expect((await cast.ask(PATH, { method: "HEAD" })).status).toBe(200);
    for (const path of ["/api/v2/status/", `${PATH}?x=1`, "/api/v3/status"]) {
      expect((await cast.ask(path)).json, path).toEqual({ status: "ok" });
    }
  });

  test("OK in the other dialect, in every version", async () => {
    for (const version of [1, 2, 3]) {
      const reply = await dialect.ask(`/api/v${version}/status/`);
      expect([reply.status, reply.text]).toEqual([200, "OK"]);
    }
  });
});

describe("404", () => {
  test("version 1 has none", async () => {
    const reply = await cast.ask("/api/v1/status/");
    expect([reply.status, reply.json]).toEqual([404, { error: "not found" }]);
  });
});

describe("503", () => {
  test("while no connection is free for two seconds; afterwards it is well again", async () => {
    const { pool } = cast.serverDb;
    const taken = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()));
    const askedAtMs = performance.now();
    const reply = await cast.ask(PATH);
    const tookMs = performance.now() - askedAtMs;
    for (const client of taken) client.release();
    expect([reply.status, reply.json]).toEqual([503, { error: "service unavailable" }]);
    expect(tookMs).toBeGreaterThan(1_900);
    expect(tookMs).toBeLessThan(15_000);
    expect((await cast.ask(PATH)).status).toBe(200);
  });
});
