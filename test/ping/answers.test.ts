// Every form of a ping URL over real HTTP: what is answered, with which headers, in which order of errors, and
// what reaches the intake.
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { rawRequest } from "./raw-http.ts";
import {
  KEY,
  NO_SUCH_UUID,
  RID,
  startPingServer,
  stopPingServers,
  type TestServer,
  UUID,
} from "./ping-server.ts";

let server: TestServer;

beforeAll(async () => {
  server = await startPingServer();
});
beforeEach(() => {
  server.intake.signals.length = 0;
  server.intake.made.length = 0;
  server.intake.settings.length = 0;
  server.intake.resolvedCount = 0;
});
afterAll(stopPingServers);

async function ask(path: string, init?: RequestInit): Promise<{ status: number; text: string }> {
  const response = await fetch(server.origin + path, init);
  return { status: response.status, text: await response.text() };
}

const actions = () => server.intake.signals.map(({ source }) => source.by === "http" && source.action);

describe("by UUID", () => {
  test.each([
    [`/ping/${UUID}`, "success"],
    [`/ping/${UUID}/`, "success"],
    [`/ping/${UUID}/start`, "start"],
    [`/ping/${UUID}/fail`, "fail"],
    [`/ping/${UUID}/log`, "log"],
    [`/ping/${UUID}/0`, { exitStatus: 0 }],
    [`/ping/${UUID}/007`, { exitStatus: 7 }],
    [`/ping/${UUID}/255`, { exitStatus: 255 }],
    [`/ping/${UUID}/%73tart`, "start"],
    [`/ping/${UUID}?create=1&foo=bar&RID=x`, "success"],
    [`/ping/${UUID}?`, "success"],
    [`/ping/${UUID}?%zz=%`, "success"],
  ])("%s is %j", async (path, action) => {
    expect(await ask(path)).toEqual({ status: 200, text: "OK" });
    expect(actions()).toEqual([action]);
    expect(server.intake.signals[0]?.target).toEqual({ by: "uuid", uuid: UUID });
  });

  test("the signal holds all there is to know", async () => {
    const headers = { "user-agent": "curl/8.0", "content-type": "application/json", "x-api-key": "whatever" };
    await ask(`/ping/${UUID}/3?rid=${RID.toUpperCase()}`, { method: "POST", headers, body: "not json{" });
    expect(server.intake.signals).toEqual([
      {
        target: { by: "uuid", uuid: UUID },
        source: { by: "http", action: { exitStatus: 3 }, method: "POST" },
        rid: RID,
        exitStatus: 3,
        scheme: "http",
        remoteAddr: "127.0.0.1",
        ua: "curl/8.0",
        body: Buffer.from("not json{"),
        at: expect.any(Number),
        lateEnd: null,
      },
    ]);
  });

  test.each([
    `/ping/${NO_SUCH_UUID}`,
    `/ping/${NO_SUCH_UUID}/`,
    `/ping/${NO_SUCH_UUID}/start`,
    `/ping/${NO_SUCH_UUID}/0`,
    `/ping/${NO_SUCH_UUID}/256`,
    `/ping/${NO_SUCH_UUID}?rid=bad`,
    "/ping/",
    "/ping/abc",
    `/ping/${UUID.toUpperCase()}`,
    `/ping/${UUID.replaceAll("-", "")}`,
    `/ping/${UUID}/foo`,
    `/ping/${UUID}/-1`,
    `/ping/${UUID}/start/`,
    `/ping/${UUID}/start/fail`,
    `/ping/${UUID}//`,
  ])("%s is not found", async (path) => {
    expect(await ask(path)).toEqual({ status: 404, text: "not found" });
    expect(await ask(path, { method: "POST", body: "x" })).toEqual({ status: 404, text: "not found" });
    expect(actions()).toEqual([]);
  });

  test.each([
    [`/ping/${UUID}/256`, "invalid url format"],
    [`/ping/${UUID}/256?rid=bad`, "invalid url format"],
    [`/ping/${UUID}/START`, "invalid url format"],
    [`/ping/${UUID}?rid=`, "invalid uuid format"],
    [`/ping/${UUID}?rid=abc`, "invalid uuid format"],
    [`/ping/${UUID}?rid=${RID}&rid=bad`, "invalid uuid format"],
  ])("%s is refused with %j, and nothing is recorded", async (path, text) => {
    expect(await ask(path)).toEqual({ status: 400, text });
    expect(actions()).toEqual([]);
  });
});

describe("by ping key and slug", () => {
  test.each([
    [`/ping/${KEY}/known`, "success"],
    [`/ping/${KEY}/known/start`, "start"],
    [`/ping/${KEY}/known/fail`, "fail"],
    [`/ping/${KEY}/known/log`, "log"],
    [`/ping/${KEY}/known/7`, { exitStatus: 7 }],
    [`/ping/${KEY}/known?create=1`, "success"],
  ])("%s is %j", async (path, action) => {
    expect(await ask(path)).toEqual({ status: 200, text: "OK" });
    expect(actions()).toEqual([action]);
    expect(server.intake.signals[0]?.target).toEqual({ by: "slug", pingKey: KEY, slug: "known" });
  });

  test.each([
    [`/ping/${KEY}/unknown`, 404, "not found"],
    [`/ping/${KEY}/unknown/999`, 404, "not found"],
    [`/ping/${KEY}/unknown?rid=bad`, 404, "not found"],
    [`/ping/${KEY}/unknown?create=0`, 404, "not found"],
    [`/ping/nosuchkey/known`, 404, "not found"],
    [`/ping/nosuchkey/fresh?create=1`, 404, "not found"],
    [`/ping/${KEY.toUpperCase()}/known`, 404, "not found"],
    [`/ping/${KEY}/known/`, 404, "not found"],
    [`/ping/${KEY}/a%2Fb`, 404, "not found"],
    [`/ping/${KEY}/same`, 409, "ambiguous slug"],
    [`/ping/${KEY}/same/fail`, 409, "ambiguous slug"],
    [`/ping/${KEY}/same?create=1`, 409, "ambiguous slug"],
    [`/ping/${KEY}/same/300`, 409, "ambiguous slug"],
    [`/ping/${KEY}/same?rid=bad`, 409, "ambiguous slug"],
    [`/ping/${KEY}/Known`, 400, "invalid url format"],
    [`/ping/nosuchkey/KNOWN/start`, 400, "invalid url format"],
    [`/ping/${KEY}/known/256`, 400, "invalid url format"],
    [`/ping/${KEY}/known?rid=zzz`, 400, "invalid uuid format"],
  ])("%s is answered %i %s, and nothing is recorded or made", async (path, status, text) => {
    expect(await ask(path)).toEqual({ status, text });
    expect(actions()).toEqual([]);
    expect(server.intake.made).toEqual([]);
  });

  test("create=1 makes the missing check once, and says so once", async () => {
    expect(await ask(`/ping/${KEY}/fresh/start?create=1`)).toEqual({ status: 201, text: "Created" });
    expect(await ask(`/ping/${KEY}/fresh?create=1`)).toEqual({ status: 200, text: "OK" });
    expect(await ask(`/ping/${KEY}/fresh`)).toEqual({ status: 200, text: "OK" });
    expect(server.intake.made).toEqual(["fresh"]);
    expect(actions()).toEqual(["start", "success", "success"]);
  });

  test.each([
    [`/ping/${KEY}/z?create=1&rid=bad`, "invalid uuid format"],
    [`/ping/${KEY}/z/300?create=1`, "invalid url format"],
  ])("a check that %s made stays, although the signal is refused", async (path, text) => {
    expect(await ask(path)).toEqual({ status: 400, text });
    expect(server.intake.made).toEqual(["z"]);
    expect(actions()).toEqual([]);
  });
});

test("long paths are answered like short ones", async () => {
  const notFound = { status: 404, text: "not found" };
  const invalid = { status: 400, text: "invalid url format" };
  expect(await ask(`/ping/${"a".repeat(2_000)}`)).toEqual(notFound);
  expect(await ask(`/ping/${"a".repeat(1_000)}/${"b".repeat(1_000)}`)).toEqual(notFound);
  expect(await ask(`/ping/${UUID}/${"9".repeat(1_500)}`)).toEqual(invalid);
  expect(await ask(`/ping/${KEY}/${"s".repeat(101)}`)).toEqual(notFound);
  expect(await ask(`/ping/${KEY}/${"s".repeat(101)}?create=1`)).toEqual(invalid);
  expect(await ask(`/ping/${KEY}/${"s".repeat(100)}?create=1`)).toEqual({ status: 201, text: "Created" });
});

describe("a late end", () => {
  // The intake of this test counts from here.
  const NOW = 1_700_000_000;

  test("has the time at which the run ended, beside that of receipt", async () => {
    expect(await ask(`/ping/${UUID}?rid=${RID}&at=${NOW - 3_600}&ran=30`)).toEqual({
      status: 200,
      text: "OK",
    });
    const lateEnd = { endedAt: (NOW - 3_600) * 1_000, ranMs: 30_000 };
    expect(server.intake.signals).toMatchObject([{ rid: RID, lateEnd }]);
    expect(server.intake.signals[0]?.at).toBeGreaterThan(NOW * 1_000);
  });

  test.each([NOW + 1_000_000, "2099-01-01T00:00:00Z", "home", ""])(
    "at=%s is an ordinary ping",
    async (at) => {
      expect(await ask(`/ping/${UUID}?at=${at}`)).toEqual({ status: 200, text: "OK" });
      expect(server.intake.signals).toMatchObject([{ lateEnd: null }]);
    },
  );
});

describe("settings in the URL", () => {
  const created = async (path: string, init?: RequestInit) => {
    const response = await fetch(server.origin + path, init);
    return { status: response.status, warning: response.headers.get("overdue-warning") };
  };

  test.each(["GET", "POST", "HEAD"])("of a %s that creates the check are passed on", async (method) => {
    const query = "create=1&name=Nightly+job&timeout=2h&max_run=1h";
    expect(await created(`/ping/${KEY}/fresh?${query}`, { method })).toEqual({ status: 201, warning: null });
    expect(server.intake.settings).toEqual([
      { params: { name: "Nightly job", timeoutSeconds: 7_200 }, policy: { maxRun: 3_600 }, warning: null },
    ]);
  });

  test("are not read for a check that exists, or without create=1", async () => {
    await ask(`/ping/${KEY}/known?create=1&timeout=x`);
    await ask(`/ping/${KEY}/unknown?timeout=x`);
    await ask(`/ping/${UUID}?create=1&timeout=x`);
    expect(server.intake.settings).toEqual([]);
  });

  test("that cannot be used are named in a header, and the ping counts", async () => {
    const hostile = encodeURIComponent('x\r\nSet-Cookie: a=b\u0000"é\ud83d\ude00');
    expect(await created(`/ping/${KEY}/fresh?create=1&schedule=${hostile}&name=%ff&channels=*`)).toEqual({
      status: 201,
      warning:
        "Ignored settings: schedule contains a character that cannot be stored; name is not valid percent-encoded UTF-8; channels cannot be set by a ping.",
    });
    expect(actions()).toEqual(["success"]);
  });
});

describe("methods", () => {
  test("HEAD is a signal and answered like GET, without the body", async () => {
    const text = `HEAD /ping/${UUID} HTTP/1.1\r\nHost: x\r\n\r\n`;
    const answer = await rawRequest(server.port, text, { withoutBody: true });
    expect(answer).toMatchObject({
      status: 200,
      body: "",
      headers: { "content-length": "2", "ping-body-limit": "10000", "ping-features": "at" },
    });
    expect(server.intake.signals[0]?.source).toMatchObject({ method: "HEAD" });
  });

  test("HEAD is refused without a body, too", async () => {
    const text = `HEAD /ping/${NO_SUCH_UUID} HTTP/1.1\r\nHost: x\r\n\r\n`;
    expect(await rawRequest(server.port, text, { withoutBody: true })).toMatchObject({
      status: 404,
      body: "",
    });
  });

  test.each(["PUT", "PATCH", "DELETE", "TRACE", "PROPFIND", "SEARCH"])(
    "%s is refused and never a signal",
    async (method) => {
      for (const path of [
        `/ping/${UUID}`,
        `/ping/${UUID}/fail`,
        `/ping/${KEY}/known`,
        `/ping/${NO_SUCH_UUID}`,
        "/ping/",
      ]) {
        const answer = await rawRequest(server.port, `${method} ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
        expect(answer).toMatchObject({ status: 405, body: "method not allowed" });
        expect(answer.headers["allow"]).toBe("GET, HEAD, POST, OPTIONS");
      }
      expect(actions()).toEqual([]);
    },
  );

  test("a rejected method may have a body, and the connection continues", async () => {
    const put = `PUT /ping/${UUID} HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc`;
    const get = `GET /ping/${UUID} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
    expect(await rawRequest(server.port, put + get)).toMatchObject({ status: 405 });
    expect(actions()).toEqual(["success"]);
  });

  test.each([`/ping/${UUID}`, `/ping/${KEY}/known`, `/ping/${NO_SUCH_UUID}`])(
    "OPTIONS on %s is a preflight, never a signal",
    async (path) => {
      const response = await fetch(server.origin + path, {
        method: "OPTIONS",
        headers: { origin: "http://example.org", "access-control-request-method": "POST" },
      });
      expect(response.status).toBe(204);
      expect(await response.text()).toBe("");
      expect(response.headers.get("content-type")).toBeNull();
      expect(response.headers.get("access-control-allow-origin")).toBe("*");
      expect(response.headers.get("access-control-allow-methods")).toContain("POST");
      expect(actions()).toEqual([]);
      expect(server.intake.resolvedCount).toBe(0);
    },
  );
});

describe("headers", () => {
  const SAFETY = [
    "X-Content-Type-Options: nosniff",
    "Referrer-Policy: same-origin",
    "Cross-Origin-Opener-Policy: same-origin",
    "X-Frame-Options: DENY",
  ];
  const CACHE = "Cache-Control: max-age=0, no-cache, no-store, must-revalidate, private";
  const RECORDED = ["Access-Control-Allow-Origin: *", "Ping-Body-Limit: 10000", "Ping-Features: at"];

  /** All header lines but the dates, sorted. */
  async function headerLines(path: string): Promise<string[]> {
    const { headerLines: lines, headers } = await rawRequest(
      server.port,
      `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`,
    );
    const expires = Date.parse(headers["expires"] ?? "");
    expect(Math.abs(Date.now() - expires)).toBeLessThan(30_000);
    expect(headers["expires"]).toMatch(/^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/);
    expect(Math.abs(Date.parse(headers["date"] ?? "") - expires)).toBeLessThanOrEqual(10_000);
    return lines.filter((line) => !/^(Date|Expires):/.test(line)).toSorted();
  }

  const always = (length: number) => [
    "Content-Type: text/plain; charset=utf-8",
    `Content-Length: ${length}`,
    CACHE,
    ...SAFETY,
  ];

  test.each([
    [`/ping/${UUID}`, [...always(2), ...RECORDED]],
    [`/ping/${KEY}/fresh?create=1`, [...always(7), ...RECORDED]],
    [`/ping/${NO_SUCH_UUID}`, always(9)],
    [`/ping/${UUID}/256`, always(18)],
    [`/ping/${UUID}?rid=x`, always(19)],
    [`/ping/${KEY}/same`, always(14)],
  ])("of %s are exactly these", async (path, expected) => {
    expect(await headerLines(path)).toEqual(expected.toSorted());
  });

  test("move with the clock where they are dates", async () => {
    const text = `GET /ping/${UUID} HTTP/1.1\r\nHost: x\r\n\r\n`;
    const first = await rawRequest(server.port, text);
    await pause(1_100);
    const second = await rawRequest(server.port, text);
    for (const name of ["date", "expires"]) {
      const passedMs = Date.parse(second.headers[name] ?? "") - Date.parse(first.headers[name] ?? "");
      expect(passedMs).toBeGreaterThanOrEqual(1_000);
    }
  });

  test("the limit of a body is the one that is set", async () => {
    const other = await startPingServer({ bodyLimitBytes: 100_000 });
    const response = await fetch(`${other.origin}/ping/${UUID}`);
    expect(response.headers.get("ping-body-limit")).toBe("100000");
  });
});

describe("on the ping host", () => {
  const onHost = (host: string, path: string) =>
    rawRequest(server.port, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);

  test("pings come to the root", async () => {
    expect(await onHost("ping.example.org", `/${UUID}/fail`)).toMatchObject({ status: 200, body: "OK" });
    expect(await onHost("ping.example.org:443", `/${KEY}/known?rid=${RID}`)).toMatchObject({ status: 200 });
    expect(await onHost("ping.example.org", `/ping/${UUID}`)).toMatchObject({ status: 200 });
    expect(actions()).toEqual(["fail", "success", "success"]);
  });

  test("everything else there is not found, in the words of a ping URL", async () => {
    for (const path of ["/", "/favicon.ico", "/api/v3/checks/"]) {
      expect(await onHost("ping.example.org", path)).toMatchObject({ status: 404, body: "not found" });
    }
  });

  test("the root of another host is not for pings", async () => {
    expect(await onHost("localhost", `/${UUID}`)).toMatchObject({ status: 404 });
    expect(actions()).toEqual([]);
  });
});
