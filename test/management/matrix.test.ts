// Who may do what, over every route of the running server: the routes are asked of the server itself, the answers
// are a literal table, and a route that the table does not know makes the test fail.
import type { FastifyInstance, FastifyServerOptions } from "fastify";
import type { IncomingMessage } from "node:http";
import { beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { Dialect } from "../../src/core/access.ts";
import { badgeSignature } from "../../src/core/badge.ts";
import { uniqueKey } from "../../src/core/identity.ts";
import type { HttpHandler, HttpListenerOptions } from "../../src/lib/http/listener.ts";
import { hmacSha1, sha1, sha1Hex } from "../../src/lib/secrets.ts";
import { sampleIntake } from "../support/checks-under-change.ts";
import { sampleCheck } from "../support/sample.ts";
import { findRoute } from "./api-response.ts";
import { type Cast, UNKNOWN_KEY, UNKNOWN_UUID, useCast } from "./cast.ts";
import { type Credential, CREDENTIALS, type Keys, makeKeys } from "./credentials.ts";

/** What the framework was told, of all the methods that a client of ours can send. */
type Registered = { url: string; method: string };
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/** What the server that was started last is made of, as it told the framework and the listener. */
const seen = vi.hoisted(() => ({
  routes: [] as Registered[],
  handlers: [] as HttpHandler[],
  /** Whether a route and a handler are added that no table knows. */
  isPlanting: false,
}));

vi.mock(import("fastify"), async (original) => {
  const real = await original();
  const fastify = ((options: FastifyServerOptions) => {
    const app = real.fastify(options) as unknown as FastifyInstance;
    app.addHook("onRoute", ({ url, method }) => {
      for (const one of [method].flat()) if (METHODS.includes(one)) seen.routes.push({ url, method: one });
    });
    if (seen.isPlanting) app.get("/v3/planted", () => "");
    return app;
  }) as unknown as typeof real.fastify;
  return { ...real, fastify };
});

vi.mock(import("../../src/lib/http/listener.ts"), async (original) => {
  const real = await original();
  const planted: HttpHandler = {
    handles: ({ url }) => url === "/planted",
    handle: (_request, response) => void response.end(),
  };
  return {
    ...real,
    httpListener: (options: HttpListenerOptions) => {
      // The admin listener is another server.
      if (options.name !== "site") return real.httpListener(options);
      const handlers = seen.isPlanting ? [planted, ...options.handlers] : options.handlers;
      seen.handlers.push(...handlers);
      return real.httpListener({ ...options, handlers });
    },
  };
});

type Cells = Readonly<Record<Credential, string>>;

/** The status and, for a refusal, its text, in the order of the credentials. */
function cells(...texts: readonly [string, string, string, string, string, string, string, string]): Cells {
  return Object.fromEntries(CREDENTIALS.map((name, index) => [name, texts[index]])) as Cells;
}

const M = "401 missing api key";
const W = "401 wrong api key";
const F = "403 wrong api key";
/** The other dialect forbids without a word. */
const E = "403 ";
const N = "404 not found";

// biome-ignore format: a table is read by its columns.
const STANDARD: Readonly<Record<string, Cells>> = {
  //                                          none malformed unknown revoked ro   rw   other rw, other ro
  "GET /checks":                        cells(M, M, W, W, "200", "200", "200", "200"),
  "POST /checks":                       cells(M, M, W, W, F, "201", "201", F),
  "GET /checks/:uuid":                  cells(M, M, W, W, "200", "200", F, F),
  "GET /checks/:uniqueKey":             cells(M, M, W, W, "200", "200", N, N),
  "POST /checks/:uuid":                 cells(M, M, W, W, F, "200", F, F),
  "DELETE /checks/:uuid":               cells(M, M, W, W, F, "200", F, F),
  "POST /checks/:uuid/pause":           cells(M, M, W, W, F, "200", F, F),
  "POST /checks/:uuid/resume":          cells(M, M, W, W, F, "200", F, F),
  "GET /checks/:uuid/pings":            cells(M, M, W, W, F, "200", F, F),
  "GET /checks/:uuid/pings/:n/body":    cells(M, M, W, W, F, "200", F, F),
  "GET /checks/:uuid/flips":            cells(M, M, W, W, "200", "200", F, F),
  "GET /checks/:uniqueKey/flips":       cells(M, M, W, W, "200", "200", N, N),
  "POST /checks/:uuid/pings":           cells(M, M, W, W, F, "200", F, F),
  "POST /checks/:uuid/flips":           cells(M, M, W, W, "200", "200", F, F),
  "POST /checks/:uniqueKey/flips":      cells(M, M, W, W, "200", "200", N, N),
  "GET /channels":                      cells(M, M, W, W, F, "200", "200", F),
  "GET /badges":                        cells(M, M, W, W, "200", "200", "200", "200"),
  "GET /status":                        cells("200", "200", "200", "200", "200", "200", "200", "200"),
};

// biome-ignore format: a table is read by its columns.
const HEALTHCHECKS: Readonly<Record<string, Cells>> = {
  //                                          none malformed unknown revoked ro   rw   other rw, other ro
  "GET /checks":                        cells(M, M, W, W, "200", "200", "200", "200"),
  "POST /checks":                       cells(M, M, W, W, W, "201", "201", W),
  "GET /checks/:uuid":                  cells(M, M, W, W, "200", "200", E, E),
  "GET /checks/:uniqueKey":             cells(M, M, W, W, "200", "200", N, N),
  "POST /checks/:uuid":                 cells(M, M, W, W, W, "200", E, W),
  "DELETE /checks/:uuid":               cells(M, M, W, W, W, "200", E, W),
  "POST /checks/:uuid/pause":           cells(M, M, W, W, W, "200", E, W),
  "POST /checks/:uuid/resume":          cells(M, M, W, W, W, "200", E, W),
  "GET /checks/:uuid/pings":            cells(M, M, W, W, W, "200", E, W),
  "GET /checks/:uuid/pings/:n/body":    cells(M, M, W, W, W, "200", E, W),
  "GET /checks/:uuid/flips":            cells(M, M, W, W, "200", "200", E, E),
  "GET /checks/:uniqueKey/flips":       cells(M, M, W, W, "200", "200", N, N),
  "POST /checks/:uuid/pings":           cells(M, M, W, W, W, "200", E, W),
  "POST /checks/:uuid/flips":           cells(M, M, W, W, "200", "200", E, E),
  "POST /checks/:uniqueKey/flips":      cells(M, M, W, W, "200", "200", N, N),
  "GET /channels":                      cells(M, M, W, W, W, "200", "200", W),
  "GET /badges":                        cells(M, M, W, W, "200", "200", "200", "200"),
  "GET /status":                        cells("200", "200", "200", "200", "200", "200", "200", "200"),
};

const TABLES: Readonly<Record<Dialect, Readonly<Record<string, Cells>>>> = {
  standard: STANDARD,
  healthchecks: HEALTHCHECKS,
};

/** What a version, or a form of the address, does not have. */
const ABSENT: Readonly<Record<string, readonly string[]>> = {
  "standard v1": ["POST /checks/:uuid/resume", "GET /checks/:uuid/pings/:n/body", "GET /status"],
  slash: ["POST /checks/:uuid/pings", "POST /checks/:uuid/flips", "POST /checks/:uniqueKey/flips"],
};

const OPEN = cells("200", "200", "200", "200", "200", "200", "200", "200");
/** The key stands in the header that scrapers send; the other project's keys open the other project's page. */
const SCRAPE = cells(M, "400 wrong api key", F, F, "200", F, F, "200");
const CLOSED = cells(F, F, F, F, F, F, F, F);

const NOT_FOUND = cells(N, N, N, N, N, N, N, N);
const WITHOUT_TEXT = cells("404 ", "404 ", "404 ", "404 ", "404 ", "404 ", "404 ", "404 ");
const FORGED = cells("404", "404", "404", "404", "404", "404", "404", "404");

const FEED_GONE = "404 This calendar feed does not exist. Create a new one on the forecast page.\n";
const FEED = cells(FEED_GONE, FEED_GONE, FEED_GONE, FEED_GONE, FEED_GONE, FEED_GONE, FEED_GONE, FEED_GONE);

/** What is served beside the API, in the same dialect whatever the API's: who answers, and what. */
const PLAIN: readonly { handler: string; path: string; cells: Cells }[] = [
  { handler: "ping", path: "/ping/UUID", cells: OPEN },
  { handler: "ping", path: "/ping/UUID/fail", cells: OPEN },
  { handler: "ping", path: "/ping/PINGKEY/SLUG", cells: OPEN },
  { handler: "badge", path: "/badge/BADGEKEY/SIGNATURE.json", cells: OPEN },
  { handler: "badge", path: "/b/2/BADGEUUID.svg", cells: OPEN },
  { handler: "scrape", path: "/projects/PROJECT/metrics", cells: SCRAPE },
  { handler: "scrape", path: "/projects/PROJECT/metrics/KEY", cells: SCRAPE },
  { handler: "scrape", path: "/checks/metrics/KEY", cells: SCRAPE },
  { handler: "scrape", path: "/api/v1/metrics/", cells: CLOSED },
  { handler: "scrape", path: "/api/v2/metrics/", cells: CLOSED },
  { handler: "scrape", path: "/api/v3/metrics/", cells: CLOSED },
  { handler: "documents", path: "/api/v3/openapi.json", cells: OPEN },
  { handler: "documents", path: "/docs/api", cells: OPEN },
  { handler: "documents", path: "/docs/api/overdue", cells: OPEN },
  { handler: "documents", path: "/api/overdue/v1/openapi.json", cells: OPEN },
  // test/api/matrix.test.ts tests who may use the routes of the Overdue API.
  { handler: "own", path: "/api/overdue/v1/", cells: FORGED },
  // Links in mails carry their own permission; without it nothing is said, whatever key comes along.
  { handler: "web", path: "/integrations/UUID/verify/forged/", cells: FORGED },
  { handler: "ack", path: "/ack/forged", cells: FORGED },
  {
    handler: "twilio",
    path: `/integrations/twilio/status/${UNKNOWN_UUID}.${UNKNOWN_UUID}`,
    cells: WITHOUT_TEXT,
  },
  { handler: "calendar", path: `/calendar/${"x".repeat(43)}.ics`, cells: FEED },
  { handler: "wrapper", path: "/overdue-run", cells: OPEN },
  // Answered only while the server asks its own public URL who is there.
  { handler: "identity", path: "/.well-known/overdue-instance/UUID", cells: NOT_FOUND },
];

type Server = { cast: Cast; routes: readonly Registered[]; handlers: readonly HttpHandler[] };

/** A started server and what it consists of. */
function useServer(dialect: Dialect, { isPlanting = false } = {}): Server {
  const server = { routes: [] as Registered[], handlers: [] as HttpHandler[] };
  beforeAll(() => {
    Object.assign(seen, { routes: [], handlers: [], isPlanting });
  });
  const cast = useCast({
    dialect,
    roles: ["ping", "api"],
    settings: { OVERDUE_API_RATE_LIMIT: "0", OVERDUE_SIGNALS_PER_MINUTE: "0" },
  });
  beforeAll(() => {
    server.routes.push(...seen.routes);
    server.handlers.push(...seen.handlers);
  });
  return { cast, ...server };
}

/** One thing that can be asked of the API, as the server says. */
type Served = { version: string; hasSlash: boolean; method: string; row: string; url: string };

/** The forms in which the check of a path can be named; a path without one has one form. */
function namings(url: string): string[] {
  return url.includes(":check") ? [":uuid", ":uniqueKey"].map((name) => url.replace(":check", name)) : [url];
}

/**
 * The registered routes that do not answer 404 or 405, without those that the Overdue API defines: these are tested in
 * test/api/matrix.test.ts.
 */
async function servedRoutes({ cast, routes }: Server, sample: Sample): Promise<Served[]> {
  const served: Served[] = [];
  for (const { url: registered, method } of routes) {
    if (findRoute(method, `/api${registered}`) !== null) continue;
    for (const form of namings(registered)) {
      const url = `/api${form}`;
      const { status } = await cast.ask(placeOf(url, sample), { method });
      if (status === 404 || status === 405) continue;
      const [, version = "", path = ""] = /^\/(v\d+)(\/.*)$/.exec(form) ?? [];
      const row = `${method} ${path.replace(/\/$/, "")}`;
      served.push({ version, hasSlash: path.endsWith("/"), method, row, url });
    }
  }
  return served;
}

type Sample = { uuid: string; badgeUuid: string };

function placeOf(url: string, { uuid }: Sample): string {
  return url.replace(":uuid", uuid).replace(":uniqueKey", uniqueKey(uuid, sha1Hex)).replace(":n", "1");
}

/** Reads no body, so no key in one. */
function isReadByPost(row: string): boolean {
  return /^POST .*\/(pings|flips)$/.test(row);
}

/** The names of the routes that the table has no row for. */
function withoutRow(served: readonly Served[], table: Readonly<Record<string, Cells>>): string[] {
  return served.filter(({ row }) => table[row] === undefined).map(({ method, url }) => `${method} ${url}`);
}

/** Handlers of the listener, besides the API's, that no row of the plain table is for. */
function handlersWithoutRow({ handlers }: Server, paths: readonly string[]): number {
  const claimed = paths.map((path) => handlers.find((one) => one.handles(asked(path))));
  return handlers.filter((one) => !claimed.includes(one)).length;
}

function asked(url: string): IncomingMessage {
  return { url, headers: { host: "127.0.0.1" }, method: "GET" } as unknown as IncomingMessage;
}

const OWN_NAME = "The owner's secret job";

/** A check of the owner's with a ping that has a body. */
async function makeSample(cast: Cast, { isPaused = false } = {}): Promise<Sample> {
  const { uuid, badgeUuid } = await sampleCheck(cast.db, {
    projectId: cast.owner.project.id,
    name: OWN_NAME,
    slug: `job-${Math.random().toString(36).slice(2)}`,
  });
  if (isPaused) await cast.ask(`/api/v3/checks/${uuid}/pause`, { method: "POST", key: cast.owner.rw });
  return { uuid, badgeUuid };
}

/** Everything that is stored of the owner's checks. */
async function stored({ db, owner }: Cast): Promise<unknown> {
  const { rows } = await db.pool.query(
    `select to_jsonb(c) as check, to_jsonb(s) as state from checks c join check_states s on s.check_id = c.id
     where c.project_id = $1 order by c.id`,
    [owner.project.id],
  );
  return rows;
}

describe.each(["standard", "healthchecks"] as const)("in the dialect %s", (dialect) => {
  const server = useServer(dialect);
  const { cast } = server;
  const table = TABLES[dialect];
  let keys: Keys;
  let sample: Sample;
  let routes: readonly Served[];

  beforeAll(async () => {
    keys = await makeKeys(cast);
    sample = await makeSample(cast);
    const record = await sampleIntake(cast.db);
    await record([{ uuid: sample.uuid, body: OWN_NAME }]);
    routes = await servedRoutes(server, sample);
  });

  test("every route of the server has a row, and every row a route", () => {
    expect(withoutRow(routes, table)).toEqual([]);
    for (const version of ["v1", "v2", "v3"]) {
      for (const hasSlash of [false, true]) {
        const absent = [
          ...(ABSENT[`${dialect} ${version}`] ?? []),
          ...((hasSlash ? ABSENT["slash"] : null) ?? []),
        ];
        const rows = routes.filter((route) => route.version === version && route.hasSlash === hasSlash);
        const expected = Object.keys(table).filter((row) => !absent.includes(row));
        expect(rows.map(({ row }) => row).toSorted(), `${version} ${hasSlash}`).toEqual(expected.toSorted());
      }
    }
  });

  test.each(CREDENTIALS)("every route answers %s as the table says", async (credential) => {
    const key = keys[credential];
    for (const { method, row, url } of routes) {
      const isWrite = method !== "GET" && !isReadByPost(row);
      const target = isWrite ? await makeSample(cast, { isPaused: row.endsWith("resume") }) : sample;
      const before = isWrite ? await stored(cast) : null;
      const given = { method, ...(key === undefined ? {} : { key }) };
      const reply = await cast.ask(placeOf(url, target), given);
      const expected = table[row]?.[credential] ?? "";
      expect(`${method} ${url}: ${said(reply)}`).toBe(`${method} ${url}: ${expected}`);
      const isRefused = !expected.startsWith("2");
      if (isWrite && (isRefused || credential.startsWith("other")))
        expect(await stored(cast), row).toEqual(before);
      if (credential.startsWith("other")) expect(reply.text, row).not.toContain(OWN_NAME);
      if (isWrite) await cast.db.pool.query("delete from checks where uuid = $1", [target.uuid]);
    }
  });

  test.each(CREDENTIALS)("a key in the body of a POST is like one in the header: %s", async (credential) => {
    for (const { row, url } of routes.filter(
      (route) => route.method === "POST" && !isReadByPost(route.row),
    )) {
      const target = await makeSample(cast, { isPaused: row.endsWith("resume") });
      const reply = await cast.ask(placeOf(url, target), {
        method: "POST",
        body: { api_key: keys[credential] },
      });
      expect(`${row}: ${said(reply)}`).toBe(`${row}: ${table[row]?.[credential]}`);
    }
  });

  test.each(CREDENTIALS)("HEAD has the status of GET: %s", async (credential) => {
    const key = keys[credential];
    const given = key === undefined ? {} : { key };
    for (const { row, url } of routes.filter(({ method }) => method === "GET")) {
      const status = Number(table[row]?.[credential].slice(0, 3));
      const head = await cast.ask(placeOf(url, sample), { method: "HEAD", ...given });
      expect([head.status, head.text], `HEAD ${url}`).toEqual([status, ""]);
    }
  });

  describe("beside the API", () => {
    let places: Readonly<Record<string, string>>;

    beforeEach(async () => {
      const { owner, secretKey } = cast;
      const { badgeKey } = owner.project;
      const { rows } = await cast.db.pool.query<{ slug: string }>("select slug from checks where uuid = $1", [
        sample.uuid,
      ]);
      places = {
        BADGEUUID: sample.badgeUuid,
        UUID: sample.uuid,
        PINGKEY: owner.pingKey,
        SLUG: rows[0]?.slug ?? "",
        BADGEKEY: badgeKey,
        SIGNATURE: badgeSignature({ badgeKey, tag: "*", secret: secretKey }, { sha1, hmacSha1 }),
        PROJECT: owner.project.uuid,
      };
    });

    const placeIn = (path: string, key: string) =>
      Object.entries({ ...places, KEY: key }).reduce(
        (text, [name, value]) => text.replace(new RegExp(`\\b${name}\\b`), value),
        path,
      );

    test("every handler of the listener has a row", () => {
      const paths = PLAIN.map(({ path }) => placeIn(path, UNKNOWN_KEY));
      expect(handlersWithoutRow(server, [...paths, "/api/v3/checks/"])).toBe(0);
      const byName = new Map<string, HttpHandler | undefined>();
      for (const [index, { handler }] of PLAIN.entries()) {
        const one = server.handlers.find((each) => each.handles(asked(paths[index] ?? "")));
        expect(byName.get(handler) ?? one, paths[index]).toBe(one);
        byName.set(handler, one);
      }
      expect(new Set(byName.values()).size).toBe(byName.size);
    });

    test.each(CREDENTIALS)("every address answers %s as the table says", async (credential) => {
      const key = keys[credential];
      for (const row of PLAIN) {
        const isInPath = row.path.endsWith("KEY");
        // There is no address without a key where the key is a part of the address.
        if (isInPath && key === undefined) continue;
        const headers =
          key === undefined || isInPath ? {} : { Authorization: `Bearer ${key}`, "X-Api-Key": key };
        const reply = await cast.ask(placeIn(row.path, key ?? ""), { headers });
        expect(`${row.path}: ${said(reply)}`).toBe(`${row.path}: ${row.cells[credential]}`);
        if (row.handler === "scrape" && credential.startsWith("other")) {
          expect(reply.text, row.path).not.toContain(OWN_NAME);
        }
      }
    });
  });
});

describe("a server with a route and a handler that no table knows", () => {
  const server = useServer("standard", { isPlanting: true });

  test("does not pass", async () => {
    const routes = await servedRoutes(server, await makeSample(server.cast));
    expect(withoutRow(routes, STANDARD)).toEqual(["GET /api/v3/planted"]);
    const link = `/integrations/${UNKNOWN_UUID}/verify/forged/`;
    const paths = [
      "/ping/x",
      "/b/x",
      "/checks/metrics/x",
      "/docs/api",
      "/.well-known/overdue-instance/x",
      link,
      "/ack/forged",
      `/integrations/twilio/status/${UNKNOWN_UUID}.${UNKNOWN_UUID}`,
      `/calendar/${"x".repeat(43)}.ics`,
      "/overdue-run",
      "/api/overdue/v1/",
      "/api/v3/checks/",
    ];
    expect(handlersWithoutRow(server, paths)).toBe(1);
  });
});

function said({ status, json, text }: { status: number; json: unknown; text: string }): string {
  // A page for people says the same in more words.
  if (status < 300 || /^<!doctype html>|"type":"urn:/i.test(text)) return String(status);
  const error = (json as { error?: string } | null)?.error ?? text;
  return `${status} ${error}`;
}
