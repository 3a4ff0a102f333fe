// Browsers and the API: preflights, the headers that let pages of other sites read answers, HEAD, and the headers
// that every answer has. On every route that there is, and on every kind of answer.
import { beforeAll, describe, expect, test } from "vitest";
import { ROUTES } from "../../src/contract/routes.ts";
import { uniqueKey } from "../../src/core/identity.ts";
import { sha1Hex } from "../../src/lib/secrets.ts";
import { ALL_VERSIONS, checksAt, newCheck, refusal, signals } from "./asking.ts";
import { type Reply, UNKNOWN_KEY, UNKNOWN_UUID, useCast } from "./cast.ts";

const cast = useCast();
const other = useCast({ dialect: "healthchecks" });
const strict = useCast({ settings: { OVERDUE_API_RATE_LIMIT: "1" } });
const DIALECTS = ["standard", "healthchecks"] as const;
const STAGES = { standard: cast, healthchecks: other };

/** The methods of each path, written out. */
const METHODS: Readonly<Record<string, string>> = {
  "/checks/": "GET, OPTIONS, POST",
  "/checks/UUID": "DELETE, GET, OPTIONS, POST",
  "/checks/UNIQUE": "GET, OPTIONS",
  "/checks/UUID/pause": "OPTIONS, POST",
  "/checks/UUID/resume": "OPTIONS, POST",
  "/checks/UUID/pings/": "GET, OPTIONS",
  "/checks/UUID/pings/1/body": "GET, OPTIONS",
  "/checks/UUID/flips/": "GET, OPTIONS",
  "/checks/UNIQUE/flips/": "GET, OPTIONS",
  "/channels/": "GET, OPTIONS",
  "/badges/": "GET, OPTIONS",
  "/status/": "GET, OPTIONS",
};
const NOT_IN_FIRST = ["/checks/UUID/resume", "/checks/UUID/pings/1/body", "/status/"];

const uuids = { standard: "", healthchecks: "" };

beforeAll(async () => {
  for (const dialect of DIALECTS) {
    const { uuid } = await newCheck(STAGES[dialect], { name: "seen", tags: "a" });
    await signals(STAGES[dialect], uuid, [{ body: "hello" }]);
    uuids[dialect] = uuid;
  }
});

function placeOf(path: string, uuid: string): string {
  return path.replace("UUID", uuid).replace("UNIQUE", uniqueKey(uuid, sha1Hex));
}

function expectCors({ headers }: Reply, methods: string | null): void {
  expect(headers.get("access-control-allow-origin")).toBe("*");
  expect(headers.get("access-control-allow-headers")).toBe("X-Api-Key");
  if (methods !== null) expect(headers.get("access-control-allow-methods")).toBe(methods);
  expect(headers.get("access-control-max-age")).toBe("600");
  // No cookie of anybody's is meant here: a star and credentials would not go together.
  expect(headers.get("access-control-allow-credentials")).toBeNull();
  expect(headers.get("x-content-type-options")).toBe("nosniff");
}

test("every path of the contract is in the table", () => {
  const paths = new Set(
    Object.keys(METHODS).map((path) => path.replace(/UUID|UNIQUE/, "{check}").replace("1", "{n}")),
  );
  expect([...new Set(ROUTES.map(({ path }) => path))].toSorted()).toEqual([...paths].toSorted());
});

describe("OPTIONS", () => {
  test.each(DIALECTS)(
    "%s: 204 on every path in every version, without a key and without a body",
    async (dialect) => {
      for (const version of ALL_VERSIONS) {
        for (const [path, methods] of Object.entries(METHODS)) {
          if (dialect === "standard" && version === 1 && NOT_IN_FIRST.includes(path)) continue;
          const place = `/api/v${version}${placeOf(path, uuids[dialect])}`;
          const bare = place.replace(/\/$/, "");
          for (const url of [bare, `${bare}/`]) {
            const reply = await STAGES[dialect].ask(url, {
              method: "OPTIONS",
              headers: { Origin: "https://example.org", "Access-Control-Request-Method": "POST" },
            });
            expect([url, reply.status, reply.text]).toEqual([url, 204, ""]);
            expectCors(reply, methods);
          }
        }
      }
    },
  );

  test("404 where nothing is", async () => {
    for (const path of [
      "/api/v3/nothing",
      "/api/v4/checks/",
      "/api/v3/checks/not-a-uuid",
      `/api/v1/checks/${uuids.standard}/resume`,
      "/api/v1/status/",
    ]) {
      expect(refusal(await cast.ask(path, { method: "OPTIONS" })), path).toBe("404 not found");
    }
  });

  test("does not reveal whether a check exists", async () => {
    const there = await cast.ask(checksAt() + uuids.standard, { method: "OPTIONS" });
    const absent = await cast.ask(checksAt() + UNKNOWN_UUID, { method: "OPTIONS" });
    const told = ({ status, headers }: Reply) => [status, [...headers].filter(([name]) => name !== "date")];
    expect(told(there)).toEqual(told(absent));
  });

  test("costs no key anything and is never refused for coming too often", async () => {
    for (let asked = 0; asked < 20; asked++) {
      expect((await strict.ask(checksAt(), { method: "OPTIONS", key: strict.mate.rw })).status).toBe(204);
    }
    expect((await strict.ask(checksAt(), { key: strict.mate.rw })).status).toBe(200);
  });

  test("of badges and documents, too", async () => {
    const { badge_url } = (await cast.ask(checksAt() + uuids.standard, { key: cast.owner.rw })).json as {
      badge_url: string;
    };
    for (const path of [new URL(badge_url).pathname, "/api/v3/openapi.json", "/docs/api"]) {
      const { status, headers } = await cast.ask(path, { method: "OPTIONS" });
      expect([path, status, headers.get("access-control-allow-origin")]).toEqual([path, 204, "*"]);
    }
  });
});

describe("every kind of answer", () => {
  test("carries the headers", async () => {
    const { rw: key } = cast.owner;
    const place = checksAt() + uuids.standard;
    const tag = (await cast.ask(place, { key })).headers.get("etag") ?? "";
    await strict.ask(checksAt(), { key: strict.owner.rw });
    const answers: [number, Reply, string | null][] = [
      [200, await cast.ask(checksAt(), { key }), "GET, OPTIONS, POST"],
      [201, await cast.ask(checksAt(), { method: "POST", key }), "GET, OPTIONS, POST"],
      [304, await cast.ask(place, { key, headers: { "If-None-Match": tag } }), "DELETE, GET, OPTIONS, POST"],
      [400, await cast.ask(checksAt(), { method: "POST", key, body: "{" }), "GET, OPTIONS, POST"],
      [401, await cast.ask(checksAt(), { key: UNKNOWN_KEY }), "GET, OPTIONS, POST"],
      [403, await cast.ask(place, { key: cast.stranger.rw }), "DELETE, GET, OPTIONS, POST"],
      [404, await cast.ask(checksAt() + UNKNOWN_UUID, { key }), "DELETE, GET, OPTIONS, POST"],
      [404, await cast.ask("/api/v3/nothing", { key }), null],
      [405, await cast.ask(place, { method: "PUT", key }), "DELETE, GET, OPTIONS, POST"],
      [409, await cast.ask(`${place}/resume`, { method: "POST", key }), "OPTIONS, POST"],
      [
        413,
        await cast.ask(checksAt(), { method: "POST", key, body: " ".repeat(2_621_441) }),
        "GET, OPTIONS, POST",
      ],
      [429, await strict.ask(checksAt(), { key: strict.owner.rw }), "GET, OPTIONS, POST"],
    ];
    for (const [status, reply, methods] of answers) {
      expect(reply.status, reply.text).toBe(status);
      expectCors(reply, methods);
      if (status >= 400) {
        expect(reply.headers.get("content-type")).toBe("application/json");
        expect(Object.keys(reply.json as object)).toEqual(["error"]);
        expect(reply.headers.get("cache-control")).toBe("no-store");
      }
    }
  });

  test("whatever origin asks, and none is named back", async () => {
    const reply = await cast.ask(checksAt(), {
      key: cast.owner.rw,
      headers: { Origin: "https://evil.example\u00e9", Cookie: "session=1" },
    });
    expectCors(reply, "GET, OPTIONS, POST");
    expect(JSON.stringify([...reply.headers])).not.toContain("evil");
    expect(reply.headers.get("set-cookie")).toBeNull();
  });
});

describe("HEAD", () => {
  /** Headers that may differ between two answers to the same question. */
  const OWN = ["date", "ratelimit-remaining", "ratelimit-reset", "connection", "keep-alive"];
  const told = ({ headers }: Reply) => [...headers].filter(([name]) => !OWN.includes(name));

  test.each(DIALECTS)("%s: on every GET route like GET, without the body", async (dialect) => {
    const stage = STAGES[dialect];
    for (const version of ALL_VERSIONS) {
      for (const [path, methods] of Object.entries(METHODS)) {
        if (!methods.includes("GET")) continue;
        const place = `/api/v${version}${placeOf(path, uuids[dialect])}`;
        for (const key of [stage.owner.rw, stage.owner.ro, stage.stranger.rw, UNKNOWN_KEY]) {
          const get = await stage.ask(place, { key });
          const head = await stage.ask(place, { method: "HEAD", key });
          expect([place, head.status, head.text]).toEqual([place, get.status, ""]);
          expect(told(head), place).toEqual(told(get));
        }
      }
    }
  });

  test("on badges, documents and pages for scrapers", async () => {
    const { badge_url } = (await cast.ask(checksAt() + uuids.standard, { key: cast.owner.rw })).json as {
      badge_url: string;
    };
    const badge = new URL(badge_url).pathname;
    for (const path of [badge, badge.replace("svg", "json"), "/api/v3/openapi.json", "/docs/api"]) {
      const [get, head] = [await cast.ask(path), await cast.ask(path, { method: "HEAD" })];
      expect([path, head.status, head.text]).toEqual([path, 200, ""]);
      expect(head.headers.get("content-length"), path).toBe(String(get.bytes.length));
    }
    const scrape = `/projects/${cast.owner.project.uuid}/metrics/${cast.owner.ro}`;
    const head = await cast.ask(scrape, { method: "HEAD" });
    expect([head.status, head.text]).toEqual([200, ""]);
  });

  test("405 where only changes are made, and nothing is changed", async () => {
    for (const path of ["pause", "resume"]) {
      const reply = await cast.ask(`${checksAt()}${uuids.standard}/${path}`, {
        method: "HEAD",
        key: cast.owner.rw,
      });
      expect([reply.status, reply.text]).toEqual([405, ""]);
    }
    const { json } = await cast.ask(checksAt() + uuids.standard, { key: cast.owner.rw });
    expect(json).toMatchObject({ status: "up" });
  });
});
