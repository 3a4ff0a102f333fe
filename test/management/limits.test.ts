// Where the API ends: bodies that are too large, too slow or cut off, requests on one another's heels, too many of
// them, bytes that want to be something else, and a database that is away. Never a hang, never a guess.
import { afterAll, beforeAll, describe, expect, inject, test, vi } from "vitest";
import { API_BODY_BYTES_MAX } from "../../src/core/limits.ts";
import { DatabaseProxy } from "../faults/stage/proxy.ts";
import { RawConnection, rawRequest } from "../ping/raw-http.ts";
import { checksAt, newCheck, readCheck, refusal, type Shown, signals } from "./asking.ts";
import { type Cast, UNKNOWN_KEY, UNKNOWN_UUID, useCast } from "./cast.ts";

const cast = useCast({ settings: { OVERDUE_REQUEST_TIMEOUT: "2", OVERDUE_API_RATE_LIMIT: "0" } });

let proxy: DatabaseProxy;
beforeAll(async () => {
  proxy = await DatabaseProxy.open({ targetPort: Number(new URL(inject("postgresUrl")).port) });
});
afterAll(() => proxy.close());
const cut = useCast({ databaseUrl: (url) => proxy.urlFor(url) });
const strict = useCast({ settings: { OVERDUE_API_RATE_LIMIT: "30" } });
const generous = useCast();

const portOf = ({ site }: Cast) => Number(new URL(site).port);
const head = (method: string, path: string, more = "") =>
  `${method} ${path} HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${cast.owner.rw}\r\n${more}`;
const post = (more: string, body = "") => `${head("POST", checksAt(), more)}\r\n${body}`;

async function countChecks(): Promise<number> {
  const { rows } = await cast.db.pool.query<{ count: string }>("select count(*) from checks");
  return Number(rows[0]?.count);
}

describe("the size of a body", () => {
  const padded = (size: number) => {
    const start = '{"name": "padded", "x": "';
    return `${start}${"y".repeat(size - start.length - 2)}"}`;
  };

  test("up to the limit it is read, one byte beyond it is refused, on every POST", async () => {
    const { uuid } = await newCheck(cast);
    for (const path of ["", uuid, `${uuid}/pause`]) {
      const send = (size: number) =>
        cast.ask(checksAt() + path, { method: "POST", key: cast.owner.rw, body: padded(size) });
      expect((await send(API_BODY_BYTES_MAX)).status, path).toBeLessThan(300);
      expect(refusal(await send(API_BODY_BYTES_MAX + 1)), path).toBe("413 request body too large");
    }
  });

  test("it is rejected before the key is checked, and nothing is created", async () => {
    const before = await countChecks();
    const reply = await cast.ask(checksAt(), {
      method: "POST",
      key: UNKNOWN_KEY,
      body: padded(API_BODY_BYTES_MAX + 1),
    });
    expect(refusal(reply)).toBe("413 request body too large");
    expect(await countChecks()).toBe(before);
  });

  test("in chunks it is counted as well", async () => {
    const connection = await RawConnection.open(portOf(cast));
    connection.send(post("Transfer-Encoding: chunked\r\n"));
    const size = 64 * 1024;
    const chunk = `${size.toString(16)}\r\n${" ".repeat(size)}\r\n`;
    for (let sent = 0; sent <= API_BODY_BYTES_MAX; sent += size) connection.send(chunk);
    connection.send("0\r\n\r\n");
    expect((await connection.next())?.status).toBe(413);
    connection.send(post("Transfer-Encoding: chunked\r\n", "2\r\n{}\r\n0\r\n\r\n"));
    expect((await connection.next())?.status).toBe(201);
    connection.close();
  });

  test("of a request that reads none it does not matter, and the next request is understood", async () => {
    const { uuid } = await newCheck(cast);
    const connection = await RawConnection.open(portOf(cast));
    const size = 100_000;
    for (const [method, path, status] of [
      ["GET", checksAt(), 200],
      ["GET", `${checksAt()}${uuid}/flips/`, 200],
      ["PUT", checksAt(), 405],
      ["POST", "/api/v3/nothing", 404],
      ["OPTIONS", checksAt(), 204],
      ["DELETE", checksAt() + UNKNOWN_UUID, 404],
    ] as const) {
      connection.send(`${head(method, path, `Content-Length: ${size}\r\n`)}\r\n${"x".repeat(size)}`);
      expect((await connection.next())?.status, `${method} ${path}`).toBe(status);
    }
    connection.close();
  });
});

describe("a body that comes oddly", () => {
  test("byte by byte, in chunks with extensions and trailers, or announced by an expectation", async () => {
    const slow = await RawConnection.open(portOf(cast));
    slow.send(post("Content-Length: 14\r\n"));
    for (const byte of '{"name": "ab"}') {
      slow.send(byte);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(JSON.parse((await slow.next())?.body ?? "")).toMatchObject({ name: "ab" });
    slow.close();
    const chunks = '7;ext="v"\r\n{"name"\r\n6\r\n: "c"}\r\n0\r\nX-Trailer: y\r\n\r\n';
    const chunked = await rawRequest(portOf(cast), post("Transfer-Encoding: chunked\r\n", chunks));
    expect([chunked.status, JSON.parse(chunked.body)]).toMatchObject([201, { name: "c" }]);
    const expecting = await RawConnection.open(portOf(cast));
    expecting.send(post("Expect: 100-continue\r\nContent-Length: 2\r\n"));
    expect((await expecting.next())?.status).toBe(100);
    expecting.send("{}");
    expect((await expecting.next())?.status).toBe(201);
    expecting.close();
  });

  test("that stops in the middle times out, creates nothing, and delays no other", async () => {
    const before = await countChecks();
    const stuck = await RawConnection.open(portOf(cast));
    stuck.send(post("Content-Length: 100\r\n", '{"name": '));
    expect((await cast.ask(checksAt(), { key: cast.owner.rw })).status).toBe(200);
    const answer = await stuck.next();
    expect(answer?.status).toBe(408);
    await stuck.closed();
    expect(await countChecks()).toBe(before);
  });

  test("that is given up makes nothing", async () => {
    const before = await countChecks();
    for (const ending of ["close", "closeHalf"] as const) {
      const connection = await RawConnection.open(portOf(cast));
      connection.send(post("Content-Length: 100\r\n", '{"name": "x"}'));
      await new Promise((resolve) => setTimeout(resolve, 50));
      connection[ending]();
      await new Promise((resolve) => setTimeout(resolve, 50));
      connection.close();
    }
    expect(await countChecks()).toBe(before);
  });

  test.each([
    ["two lengths", "Content-Length: 2\r\nContent-Length: 3\r\n", "{}x"],
    ["a length and chunks", "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", "2\r\n{}\r\n0\r\n\r\n"],
    ["a length that is none", "Content-Length: -1\r\n", "{}"],
    ["a length with a sign", "Content-Length: +2\r\n", "{}"],
    ["an encoding that nobody knows", "Transfer-Encoding: xchunked\r\n", "{}"],
    ["a chunk without a size", "Transfer-Encoding: chunked\r\n", "zz\r\n{}\r\n0\r\n\r\n"],
    ["a folded header", "X-Fold: a\r\n b\r\nContent-Length: 2\r\n", "{}"],
    ["a space before the colon", "X-Api-Key2 : x\r\nContent-Length: 2\r\n", "{}"],
    ["a header with a control character", "X-Odd: a\u0000b\r\nContent-Length: 2\r\n", "{}"],
  ])("%s: rejected, nothing is created, and the rest is not a request", async (_, headers, body) => {
    const before = await countChecks();
    const connection = await RawConnection.open(portOf(cast));
    connection.send(`${post(headers, body)}${head("GET", checksAt())}\r\n`);
    const answer = await connection.next();
    expect(answer?.status).toBe(400);
    await connection.closed();
    expect(await countChecks()).toBe(before);
  });
});

describe("requests on one another's heels", () => {
  test("are answered in their order, whatever each takes", async () => {
    const { uuid } = await newCheck(cast);
    const connection = await RawConnection.open(portOf(cast));
    const renamed = '{"name":"piped"}';
    connection.send(
      [
        `${head("GET", checksAt())}\r\n`,
        `${head("POST", checksAt() + uuid, `Content-Length: ${renamed.length}\r\n`)}\r\n${renamed}`,
        `${head("GET", checksAt() + UNKNOWN_UUID)}\r\n`,
        `${head("HEAD", checksAt() + uuid)}\r\n`,
        `${head("OPTIONS", checksAt())}\r\n`,
        `${head("PUT", checksAt())}\r\n`,
        `${head("DELETE", checksAt() + uuid)}\r\n`,
        `${head("GET", checksAt() + uuid)}\r\n`,
      ].join(""),
    );
    const statuses = [];
    for (const method of ["GET", "POST", "GET", "HEAD", "OPTIONS", "PUT", "DELETE"]) {
      statuses.push((await connection.next({ withoutBody: method === "HEAD" }))?.status);
    }
    expect(statuses).toEqual([200, 200, 404, 200, 204, 405, 200]);
    expect((await connection.next())?.status).toBe(404);
    connection.close();
  });

  test("take turns: each sees what the one before it has changed", async () => {
    const { uuid } = await newCheck(cast);
    const connection = await RawConnection.open(portOf(cast));
    const names = Array.from({ length: 20 }, (_, n) => `name-${n + 10}`);
    const rename = (name: string) => {
      const body = JSON.stringify({ name });
      const update = head("POST", checksAt() + uuid, `Content-Length: ${body.length}\r\n`);
      return `${update}\r\n${body}${head("GET", checksAt() + uuid)}\r\n`;
    };
    connection.send(names.map(rename).join(""));
    const seen: unknown[] = [];
    for (const _ of names) {
      await connection.next();
      seen.push((JSON.parse((await connection.next())?.body ?? "{}") as Shown)["name"]);
    }
    expect(seen).toEqual(names);
    connection.close();
  });

  test("hundreds of them at once are all answered", async () => {
    const connection = await RawConnection.open(portOf(cast));
    const COUNT = 300;
    connection.send(`${head("GET", checksAt() + UNKNOWN_UUID)}\r\n`.repeat(COUNT));
    for (let n = 0; n < COUNT; n++) expect((await connection.next())?.status).toBe(404);
    connection.close();
  });

  test("a half-closed connection still gets its answer", async () => {
    const connection = await RawConnection.open(portOf(cast));
    connection.send(post("Content-Length: 2\r\n", "{}"));
    connection.closeHalf();
    expect((await connection.next())?.status).toBe(201);
    connection.close();
  });
});

describe("names that want to be headers or more", () => {
  const EVIL = "x\r\nSet-Cookie: a=b\r\n\r\n<script>alert(1)</script>\u2028\u0085";

  test("stay in the JSON; no header of any answer has anything of them", async () => {
    const { uuid } = await newCheck(cast, { name: EVIL, tags: EVIL, desc: EVIL, success_kw: EVIL });
    await signals(cast, uuid, [{ body: EVIL, ua: EVIL }]);
    for (const path of ["", uuid, `${uuid}/pings/`, `${uuid}/pings/1/body`, `${uuid}/flips/`, "../badges/"]) {
      const place = new URL(checksAt() + path, cast.site).pathname;
      const reply = await rawRequest(portOf(cast), `${head("GET", place)}\r\n`);
      expect(reply.status, place).toBe(200);
      expect(reply.headerLines.join("\n").toLowerCase()).not.toMatch(/cookie|script/);
      expect(reply.headers["x-content-type-options"]).toBe("nosniff");
      expect(reply.headers["content-type"]).toMatch(/^(application\/json|text\/plain)$/);
    }
    expect(await readCheck(cast, uuid)).toMatchObject({ name: EVIL });
  });

  test("in an address, a header, or an error text neither", async () => {
    for (const path of [
      `${checksAt()}%0d%0aSet-Cookie:%20a=b`,
      `${checksAt()}?tag=%0d%0aSet-Cookie:a`,
      `/api/v3/%0d%0aSet-Cookie:a`,
      `/badge/%0d%0a/${"x".repeat(8)}/Set-Cookie.svg`,
      "/projects/%0d%0aSet-Cookie/metrics/",
    ]) {
      const { headers, status } = await cast.ask(path, { key: cast.owner.rw });
      expect(status, path).toBeLessThan(500);
      expect(headers.get("set-cookie"), path).toBeNull();
    }
    const reply = await cast.ask(checksAt(), {
      method: "POST",
      key: cast.owner.rw,
      body: { channels: EVIL },
    });
    expect(refusal(reply)).toBe(`400 invalid channel identifier: ${EVIL}`);
    expect(reply.headers.get("content-type")).toBe("application/json");
  });

  test("two keys are no key", async () => {
    const twice = `X-Api-Key: ${cast.owner.rw}\r\n`;
    const reply = await rawRequest(portOf(cast), `${head("GET", checksAt(), twice)}\r\n`);
    expect([reply.status, reply.body]).toEqual([401, '{"error":"missing api key"}']);
  });
});

describe("too many requests", () => {
  test("of one key: 429 with the headers, in every version, whether it is in the header or in the body", async () => {
    const { rw: key } = strict.owner;
    let last = Number.POSITIVE_INFINITY;
    for (let asked = 0; asked < 30; asked++) {
      const version = (asked % 3) + 1;
      const isPost = asked % 2 === 0;
      const reply = await strict.ask(
        `/api/v${version}/checks/`,
        isPost ? { method: "POST", body: { api_key: key } } : { key },
      );
      expect(reply.status).toBe(isPost ? 201 : 200);
      expect(reply.headers.get("ratelimit-limit")).toBe("30");
      const remaining = Number(reply.headers.get("ratelimit-remaining"));
      // It fills up again all the time, two requests a second or less.
      expect(remaining).toBeLessThanOrEqual(last);
      last = remaining;
      if (remaining === 0) break;
    }
    const replies = [];
    for (let asked = 0; asked < 5; asked++) replies.push(await strict.ask(checksAt(), { key }));
    const refused = replies.find(({ status }) => status === 429);
    expect(refused?.json).toEqual({ error: "too many requests" });
    for (const name of ["retry-after", "ratelimit-reset"]) {
      expect(Number(refused?.headers.get(name)), name).toBeGreaterThan(0);
      expect(Number(refused?.headers.get(name)), name).toBeLessThanOrEqual(60);
    }
    expect(refused?.headers.get("ratelimit-remaining")).toBe("0");
    expect((await strict.ask(checksAt(), { key: strict.owner.ro })).status).toBe(200);
  });

  test("the status call needs no key and has no limit, and neither have preflights", async () => {
    for (let asked = 0; asked < 40; asked++) {
      expect((await strict.ask("/api/v3/status/")).status).toBe(200);
      expect((await strict.ask(checksAt(), { method: "OPTIONS" })).status).toBe(204);
    }
  });

  test("of wrong keys: by network, and a good key from elsewhere does not notice", async () => {
    const guess = (n: number, address: string) =>
      strict.ask(checksAt() + UNKNOWN_UUID, {
        key: `odw_${String(n).padStart(28, "0")}`,
        headers: { "X-Forwarded-For": address },
      });
    const statuses = [];
    for (let n = 0; n < 8; n++) statuses.push((await guess(n, "198.51.100.7")).status);
    expect(statuses).toEqual([401, 401, 401, 429, 429, 429, 429, 429]);
    // Who writes other addresses to the left of what the proxy adds is still the same.
    expect((await guess(8, "192.0.2.77, 198.51.100.7")).status).toBe(429);
    expect((await guess(9, "198.51.100.8")).status).toBe(401);
    expect((await strict.ask(checksAt(), { key: strict.stranger.rw })).status).toBe(200);
  });

  test("a plan over five hundred checks passes by default", async () => {
    const { rw: key } = generous.owner;
    const uuids: string[] = [];
    for (let n = 0; n < 25; n++) uuids.push((await newCheck(generous, { name: `n${n}` })).uuid);
    const statuses = new Set<number>();
    for (let n = 0; n < 1_000; n += 20) {
      const batch = Array.from({ length: 20 }, (_, k) =>
        generous.ask(checksAt() + (uuids[(n + k) % uuids.length] ?? ""), { key }),
      );
      for (const { status } of await Promise.all(batch)) statuses.add(status);
    }
    expect(statuses).toEqual(new Set([200]));
  });
});

describe("a database that is down", () => {
  test("503 as JSON with a time to come back, on every route, and all is well once it is back", async () => {
    const { rw: key } = cut.owner;
    const { uuid } = await newCheck(cut);
    const { badge_url } = (await cut.ask(checksAt() + uuid, { key })).json as Shown;
    proxy.cut();
    try {
      for (const [method, path] of [
        ["GET", checksAt()],
        ["POST", checksAt()],
        ["GET", checksAt() + uuid],
        ["POST", checksAt() + uuid],
        ["DELETE", checksAt() + uuid],
        ["POST", `${checksAt()}${uuid}/pause`],
        ["POST", `${checksAt()}${uuid}/resume`],
        ["GET", `${checksAt()}${uuid}/pings/`],
        ["GET", `${checksAt()}${uuid}/pings/1/body`],
        ["GET", `${checksAt()}${uuid}/flips/`],
        ["GET", "/api/v3/channels/"],
        ["GET", "/api/v3/badges/"],
        ["GET", "/api/v3/status/"],
        ["GET", new URL(String(badge_url)).pathname],
        ["GET", `/checks/metrics/${cut.owner.ro}`],
      ] as const) {
        const reply = await cut.ask(path, { method, key });
        expect(`${method} ${path}: ${refusal(reply)}`).toBe(`${method} ${path}: 503 service unavailable`);
        expect(Number(reply.headers.get("retry-after")), path).toBeGreaterThan(0);
        expect(reply.headers.get("cache-control"), path).toContain("no-store");
      }
      expect((await cut.ask("/api/v3/openapi.json")).status).toBe(200);
      expect((await cut.ask(checksAt(), { method: "OPTIONS" })).status).toBe(204);
    } finally {
      proxy.heal();
    }
    await vi.waitFor(async () => expect((await cut.ask(checksAt() + uuid, { key })).status).toBe(200), {
      timeout: 10_000,
    });
  });

  test("connections that are ended in the middle are no fault of the caller either", async () => {
    const { rw: key } = cut.owner;
    const statuses = new Set<number>();
    for (let round = 0; round < 15; round++) {
      const asked = Array.from({ length: 6 }, () => cut.ask(checksAt(), { method: "POST", key, body: {} }));
      await cut.db.pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and application_name = 'overdue-api'`,
      );
      for (const { status } of await Promise.all(asked)) statuses.add(status);
    }
    statuses.delete(201);
    expect([...statuses]).toEqual(statuses.size === 0 ? [] : [503]);
  });
});
