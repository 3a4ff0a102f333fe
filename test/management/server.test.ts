// The API as a server: one port for all roles, the order in which requests are refused, bodies of any size and
// kind, tags, limits, and what is said when something of ours fails.
import { describe, expect, test, vi } from "vitest";
import { AppError } from "../../src/core/errors.ts";
import { RawConnection } from "../ping/raw-http.ts";
import { UNKNOWN_KEY, UNKNOWN_UUID, useCast } from "./cast.ts";

const cast = useCast({
  roles: ["ping", "api"],
  settings: { OVERDUE_API_URL: "http://api.example.org" },
});
const CHECKS = "/api/v3/checks/";

async function newCheck(body: object = {}): Promise<string> {
  const { json } = await cast.ask(CHECKS, { method: "POST", key: cast.owner.rw, body });
  return (json as { uuid: string }).uuid;
}

function connect(): Promise<RawConnection> {
  return RawConnection.open(Number(new URL(cast.site).port));
}

describe("the port", () => {
  test("is shared: pings and the API are answered on the same connection", async () => {
    const uuid = await newCheck();
    expect((await cast.ask(`/ping/${uuid}`)).text).toBe("OK");
    const { json } = await cast.ask(CHECKS + uuid, { key: cast.owner.rw });
    expect(json).toMatchObject({ status: "up", n_pings: 1 });
  });

  test("serves version 3 on the API's own host, and names it in answers", async () => {
    const uuid = await newCheck();
    const connection = await connect();
    connection.send(
      `GET /v3/checks/${uuid} HTTP/1.1\r\nHost: api.example.org\r\nX-Api-Key: ${cast.owner.rw}\r\n\r\n`,
    );
    const answer = await connection.next();
    expect(answer?.status).toBe(200);
    expect(JSON.parse(answer?.body ?? "")).toMatchObject({
      update_url: `http://api.example.org/v3/checks/${uuid}`,
    });
    connection.send("GET /v1/checks/ HTTP/1.1\r\nHost: api.example.org\r\n\r\n");
    expect((await connection.next())?.status).toBe(404);
    connection.close();
  });
});

describe("the order of refusals", () => {
  const unparsable = { method: "POST", body: "{" };

  test("an unknown path comes first, then the method, the body, the key, the check and the values", async () => {
    const foreign = await newCheck();
    const { rw } = cast.owner;
    const steps: [string, Parameters<typeof cast.ask>[1], number, string][] = [
      ["/api/v3/nothing", unparsable, 404, "not found"],
      [`${CHECKS}not-a-uuid`, unparsable, 404, "not found"],
      [CHECKS, { ...unparsable, method: "PUT" }, 405, "method not allowed"],
      [CHECKS, unparsable, 400, "could not parse request body"],
      [CHECKS, { method: "POST", body: "[]" }, 400, "json validation error: value is not an object"],
      [CHECKS + UNKNOWN_UUID, { method: "POST", body: { timeout: 1 } }, 401, "missing api key"],
      [CHECKS + UNKNOWN_UUID, { method: "POST", key: UNKNOWN_KEY, body: {} }, 401, "wrong api key"],
      [CHECKS + UNKNOWN_UUID, { method: "POST", key: rw, body: { timeout: 1 } }, 404, "not found"],
      [
        CHECKS + foreign,
        { method: "POST", key: cast.stranger.rw, body: { timeout: 1 } },
        403,
        "wrong api key",
      ],
      [
        CHECKS + foreign,
        { method: "POST", key: rw, body: { timeout: 1 } },
        400,
        "json validation error: timeout is too small",
      ],
    ];
    for (const [path, given, status, error] of steps) {
      const reply = await cast.ask(path, given);
      expect([reply.status, reply.json], `${given?.method} ${path}`).toEqual([status, { error }]);
      expect(reply.headers.get("access-control-allow-origin")).toBe("*");
      expect(reply.headers.get("content-type")).toBe("application/json");
    }
  });

  test("a path that cannot be decoded, or is far too long, is not found", async () => {
    for (const path of [
      "/api/v3/checks/%zz",
      `/api/v3/${"x".repeat(5_000)}`,
      `/api/v3/checks/${"1".repeat(200)}`,
    ]) {
      expect(await cast.ask(path, { key: cast.owner.rw })).toMatchObject({
        status: 404,
        json: { error: "not found" },
      });
    }
  });
});

test("an unsupported method is answered with the supported ones", async () => {
  const uuid = await newCheck();
  const allowed = async (path: string) => (await cast.ask(path, { method: "PUT" })).headers.get("allow");
  expect(await allowed(CHECKS + uuid)).toBe("DELETE, GET, HEAD, OPTIONS, POST");
  expect(await allowed(`${CHECKS}${uuid}/pause`)).toBe("OPTIONS, POST");
});

describe("a key", () => {
  test("may be in the body of a POST, and nowhere else", async () => {
    const { rw } = cast.owner;
    expect((await cast.ask(CHECKS, { method: "POST", body: { api_key: rw } })).status).toBe(201);
    expect((await cast.ask(`${CHECKS}?api_key=${rw}`)).status).toBe(401);
    const both = await cast.ask(CHECKS, {
      method: "POST",
      headers: { "X-Api-Key": "" },
      body: { api_key: rw },
    });
    expect(both.status).toBe(401);
  });

  test("that was revoked is unknown at once", async () => {
    const { rw } = cast.mate;
    expect((await cast.ask(CHECKS, { key: rw })).status).toBe(200);
    await cast.db.pool.query("update api_keys set revoked_at = now() where project_id = $1", [
      cast.mate.project.id,
    ]);
    expect(await cast.ask(CHECKS, { key: rw })).toMatchObject({
      status: 401,
      json: { error: "wrong api key" },
    });
  });
});

describe("a body", () => {
  test("is JSON whatever its type, and may be missing", async () => {
    const { rw: key } = cast.owner;
    for (const type of [
      "text/plain",
      "application/x-www-form-urlencoded",
      "nonsense; ; /",
      "application/json",
    ]) {
      const reply = await cast.ask(CHECKS, {
        method: "POST",
        key,
        headers: { "Content-Type": type },
        body: '{"name": "x"}',
      });
      expect([reply.status, type]).toEqual([201, type]);
    }
    const uuid = await newCheck();
    expect((await cast.ask(`${CHECKS}${uuid}/pause`, { method: "POST", key })).status).toBe(200);
  });

  test("that is too large is rejected, and the connection continues", async () => {
    const connection = await connect();
    const size = 2_621_441;
    const head = `POST ${CHECKS} HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${cast.owner.rw}\r\n`;
    connection.send(`${head}Content-Length: ${size}\r\n\r\n${" ".repeat(size)}`);
    const refused = await connection.next();
    expect([refused?.status, refused?.body]).toEqual([413, '{"error":"request body too large"}']);
    connection.send(`${head}Content-Length: 2\r\n\r\n{}`);
    expect((await connection.next())?.status).toBe(201);
    connection.close();
  });

  test("that never ends is answered and cut off", async () => {
    const connection = await connect();
    connection.send(`POST ${CHECKS} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n`);
    const piece = " ".repeat(1024 * 1024);
    for (let sent = 0; sent < 24; sent++) connection.send(piece);
    const refused = await connection.next();
    expect([refused?.status, refused?.headers["connection"]]).toEqual([413, "close"]);
    connection.close();
  });
});

describe("a tag", () => {
  test.each(["", "?tag=none"])("saves sending the same list%s again", async (query) => {
    const first = await cast.ask(CHECKS + query, { key: cast.owner.ro });
    const tag = first.headers.get("etag") ?? "";
    for (const sent of [tag, `W/${tag}`, `"x", ${tag}`, "*"]) {
      const again = await cast.ask(CHECKS + query, {
        key: cast.owner.ro,
        headers: { "If-None-Match": sent },
      });
      expect([again.status, again.text, again.headers.get("etag")]).toEqual([304, "", tag]);
      expect(again.headers.get("access-control-allow-origin")).toBe("*");
    }
  });

  test("of a check changes with the check", async () => {
    const { rw: key } = cast.owner;
    const uuid = await newCheck();
    const tag = (await cast.ask(CHECKS + uuid, { key })).headers.get("etag") ?? "";
    await cast.ask(CHECKS + uuid, { method: "POST", key, body: { name: "other" } });
    const after = await cast.ask(CHECKS + uuid, { key, headers: { "If-None-Match": tag } });
    expect(after.status).toBe(200);
    expect(after.headers.get("etag")).not.toBe(tag);
  });
});

describe("HEAD", () => {
  test("is answered like GET, without the body", async () => {
    const uuid = await newCheck();
    const get = await cast.ask(CHECKS + uuid, { key: cast.owner.rw });
    const head = await cast.ask(CHECKS + uuid, { method: "HEAD", key: cast.owner.rw });
    expect([head.status, head.text]).toEqual([200, ""]);
    expect(head.headers.get("content-length")).toBe(String(get.bytes.length));
    expect(head.headers.get("etag")).toBe(get.headers.get("etag"));
  });
});

describe("fifty identical creates at once", () => {
  test("make one check", async () => {
    const body = { name: "Once", unique: ["name"] };
    const replies = await Promise.all(
      Array.from({ length: 50 }, () => cast.ask(CHECKS, { method: "POST", key: cast.stranger.rw, body })),
    );
    const count = (wanted: number) => replies.filter(({ status }) => status === wanted).length;
    expect([count(201), count(200)]).toEqual([1, 49]);
    expect(new Set(replies.map(({ json }) => (json as { uuid: string }).uuid)).size).toBe(1);
  });
});

describe("when something of ours fails", () => {
  test("the client gets no details", async () => {
    const query = vi
      .spyOn(cast.serverDb, "query")
      .mockRejectedValue(new Error("relation secret_table is gone"));
    const reply = await cast.ask(CHECKS, { key: cast.owner.rw });
    query.mockRestore();
    expect([reply.status, reply.json]).toEqual([500, { error: "internal server error" }]);
  });

  test("a database that is down is 503, with Retry-After", async () => {
    const away = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    for (const error of [away, new AppError("unavailable", "service unavailable")]) {
      const query = vi.spyOn(cast.serverDb, "query").mockRejectedValue(error);
      const reply = await cast.ask(CHECKS, { key: cast.owner.rw });
      query.mockRestore();
      expect([reply.status, reply.json]).toEqual([503, { error: "service unavailable" }]);
      expect(Number(reply.headers.get("retry-after"))).toBeGreaterThan(0);
    }
  });
});

describe("the list", () => {
  test("of many checks takes as few statements as that of one", async () => {
    for (let made = 0; made < 5; made++) await newCheck({ tags: "many" });
    const query = vi.spyOn(cast.serverDb, "query");
    const { json } = await cast.ask(`${CHECKS}?tag=many`, { key: cast.owner.rw });
    const names = query.mock.calls.map(([statement]) => statement.name);
    query.mockRestore();
    expect((json as { checks: unknown[] }).checks).toHaveLength(5);
    const own = names.filter((name) => /^(keys\.find|checks\.|check_channels\.)/.test(name));
    expect(own).toEqual(["keys.find_with_project", "checks.list_channels", "checks.list"]);
  });
});
