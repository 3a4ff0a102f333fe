// The OpenAPI document as it is served, held against the server that serves it: its example requests are sent, and
// what comes back has to be what it says, in status, schema and shape. The refusals that it lists are provoked.
import { Errors } from "typebox/schema";
import { beforeAll, describe, expect, test } from "vitest";
import type { OpenApiDocument, OpenApiOperation } from "../../src/contract/openapi.ts";
import type { ApiEndpoint } from "../../src/contract/versions.ts";
import { type Asked, type Reply, UNKNOWN_UUID, useCast } from "./cast.ts";

const cast = useCast({ roles: ["ping", "api"] });
const BASE = "/api/v3";
const RUN = "2f9e4c5a-6d0b-4f43-9c61-8a7e5d1b3c20";
/** More than any body may have. */
const TOO_LARGE = " ".repeat(3 * 1024 * 1024);

let served: OpenApiDocument<ApiEndpoint>;

beforeAll(async () => {
  served = (await cast.ask(`${BASE}/openapi.json`)).json as OpenApiDocument<ApiEndpoint>;
});

type Placed = { path: string; method: string; operation: OpenApiOperation };

function placed(endpoint: ApiEndpoint): Placed {
  for (const [path, methods] of Object.entries(served.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      if (operation.operationId === endpoint) return { path, method: method.toUpperCase(), operation };
    }
  }
  throw new Error(`${endpoint} is not described`);
}

/** The example request of an operation, about this check. */
function exampleOf(endpoint: ApiEndpoint, uuid: string): { path: string; asked: Asked } {
  const { path, method, operation } = placed(endpoint);
  let filled = path.replace("{check}", uuid);
  const query = new URLSearchParams();
  for (const { name, in: place, example } of operation.parameters) {
    if (place === "path") filled = filled.replace(`{${name}}`, String(example));
    if (place !== "query" || example === undefined) continue;
    for (const one of typeof example === "object" ? example : [example]) query.append(name, String(one));
  }
  const body = operation.requestBody?.content["application/json"]?.example;
  const asked = { method, key: cast.owner.rw, ...(body !== undefined && { body }) };
  return { path: `${BASE}${filled}?${query.toString()}`, asked };
}

/** What is wrong with an answer by the document; empty when nothing is. */
function problems(endpoint: ApiEndpoint, { status, headers, text, json }: Reply): unknown[] {
  const response = placed(endpoint).operation.responses[String(status)];
  if (response === undefined) return [`${status} is not described`];
  const [type = "", content] = Object.entries(response.content ?? {})[0] ?? [];
  if (content === undefined) return text === "" ? [] : ["a body is not described"];
  if (!(headers.get("content-type") ?? "").startsWith(type)) return [`is no ${type}`];
  const [isRight, errors] = Errors(
    { ...content.schema, components: served.components },
    type === "text/plain" ? text : json,
  );
  return isRight ? [] : errors;
}

/** Names and types without values; of a list its first item, of the map of badges the one that is always there. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf);
  if (value === null || typeof value !== "object") return value === null ? "null" : typeof value;
  const entries = Object.entries(value).filter(
    ([name], _, all) => name === "*" || !all.some(([one]) => one === "*"),
  );
  return Object.fromEntries(entries.map(([name, one]) => [name, shapeOf(one)]));
}

async function replayed(endpoint: ApiEndpoint, uuid: string, status = 200): Promise<Reply> {
  const { path, asked } = exampleOf(endpoint, uuid);
  const reply = await cast.ask(path, asked);
  expect(reply.status, `${endpoint}: ${reply.text}`).toBe(status);
  expect(problems(endpoint, reply), endpoint).toEqual([]);
  const [content] = Object.values(placed(endpoint).operation.responses[String(status)]?.content ?? {});
  const named = Object.keys(placed(endpoint).operation.responses[String(status)]?.headers ?? {});
  expect(
    named.filter((name) => !reply.headers.has(name)),
    endpoint,
  ).toEqual([]);
  const shown: unknown = content?.example;
  expect(shapeOf(typeof shown === "string" ? reply.text : reply.json), endpoint).toEqual(shapeOf(shown));
  return reply;
}

test("every example request gets the answer that its example shows", async () => {
  await cast.channel(cast.owner, { name: "On call", kind: "email" });
  await cast.channel(cast.owner, { name: "", kind: "sms" });
  const made = (await replayed("createCheck", "", 201)).json as Record<string, unknown>;
  const uuid = String(made["uuid"]);
  const created = placed("createCheck").operation.responses["201"]?.content?.["application/json"]?.example;
  const changing = ["badge_url", "uuid", "ping_url", "update_url", "pause_url", "resume_url", "channels"];
  const steady = Object.entries(created as object).filter(([name]) => !changing.includes(name));
  expect(made).toMatchObject(Object.fromEntries(steady));

  await cast.ask(`/ping/${uuid}/start?rid=${RUN}`);
  await cast.ask(`/ping/${uuid}?rid=${RUN}`, { method: "POST", body: "42 tables dumped, 0 errors\n" });
  const order: ApiEndpoint[] = ["createCheck", "getCheck", "listChecks", "updateCheck", "listPings"];
  order.push("getPingBody", "listFlips", "listChannels", "listBadges", "getStatus", "pauseCheck");
  order.push("resumeCheck", "deleteCheck");
  const statuses: Record<string, unknown> = {};
  for (const endpoint of order) {
    // The example is deleted while it is up.
    if (endpoint === "deleteCheck") await cast.ask(`/ping/${uuid}`);
    const { json } = await replayed(endpoint, uuid);
    statuses[endpoint] = (json as { status?: unknown } | null)?.status;
  }
  expect(statuses).toMatchObject({ getCheck: "up", pauseCheck: "paused", resumeCheck: "new" });
  const all = Object.values(served.paths).flatMap((methods) => Object.values(methods));
  expect(order.toSorted()).toEqual(all.map(({ operationId }) => operationId).toSorted());
});

test("an answer that is not as described would be noticed", async () => {
  const reply = await cast.ask(`${BASE}/channels/`, { key: cast.owner.rw });
  expect(problems("listChannels", reply)).toEqual([]);
  expect(problems("listChannels", { ...reply, json: { channels: [{ id: 1 }] } })).not.toEqual([]);
  expect(problems("listChannels", { ...reply, status: 418 })).toEqual(["418 is not described"]);
});

test("an answer to a read-only key is described as well", async () => {
  await cast.ask(`${BASE}/checks/`, { method: "POST", key: cast.owner.rw, body: { name: "Seen" } });
  for (const endpoint of ["listChecks", "listBadges"] as const) {
    const reply = await cast.ask(`${BASE}${placed(endpoint).path}`, { key: cast.owner.ro });
    expect({ status: reply.status, problems: problems(endpoint, reply) }).toEqual({
      status: 200,
      problems: [],
    });
    expect(reply.text.includes("unique_key")).toBe(endpoint === "listChecks");
  }
});

test("an answer that has not changed is a 304 where the document says so", async () => {
  const headers = {
    "If-None-Match": String((await cast.ask(`${BASE}/checks/`, { key: cast.owner.rw })).headers.get("etag")),
  };
  const reply = await cast.ask(`${BASE}/checks/`, { key: cast.owner.rw, headers });
  expect({ status: reply.status, problems: problems("listChecks", reply) }).toEqual({
    status: 304,
    problems: [],
  });
});

describe("refusals", () => {
  /** Nobody can be made to wait, break or flood for a test of words; each of these has a test of its own. */
  const NOT_PROVOKED = ["429", "500", "503"];

  type Provoked = { asked?: Asked; uuid?: string; query?: string };

  /** How an operation is made to refuse with each of its statuses. */
  function provocation(status: string, { method }: Placed): Provoked {
    switch (status) {
      case "400":
        return method === "GET" ? { query: "seconds=x" } : { asked: { body: "x" } };
      case "401":
        return { asked: { key: "" } };
      case "403":
        return { asked: { key: method === "GET" ? cast.stranger.rw : cast.owner.ro } };
      case "404":
        return { uuid: UNKNOWN_UUID };
      case "413":
        return { asked: { body: TOO_LARGE } };
      default:
        return {};
    }
  }

  test("every one that is listed can be provoked, and is as described", async () => {
    const body = { slug: "refused" };
    const made = (await cast.ask(`${BASE}/checks/`, { method: "POST", key: cast.owner.rw, body })).json;
    const { uuid } = made as { uuid: string };
    const all = Object.values(served.paths).flatMap((methods) => Object.values(methods));
    const provoked: string[] = [];
    for (const { operationId, responses } of all) {
      const place = placed(operationId);
      for (const status of Object.keys(responses)) {
        if (status < "400" || NOT_PROVOKED.includes(status)) continue;
        const how = provocation(status, place);
        const path = place.path.replace("{check}", how.uuid ?? uuid).replace("{n}", "1");
        const asked = { method: place.method, key: cast.owner.rw, ...how.asked };
        if (operationId === "listChannels" && status === "403") asked.key = cast.owner.ro;
        const reply = await cast.ask(`${BASE}${path}?${how.query ?? ""}`, asked);
        expect(`${operationId} ${reply.status}`, reply.text).toBe(`${operationId} ${status}`);
        expect(problems(operationId, reply)).toEqual([]);
        provoked.push(`${operationId} ${status}`);
      }
    }
    expect(provoked).toHaveLength(40);
  });

  test.each([
    ["createCheck", 400, { method: "POST", body: { timeout: 1 } }, ""],
    ["listFlips", 400, {}, "seconds=x"],
    ["resumeCheck", 409, { method: "POST" }, ""],
  ] as [ApiEndpoint, number, Asked, string][])(
    "the example of %s %i is the actual response",
    async (endpoint, status, asked, query) => {
      const body = { slug: "said", unique: ["slug"] };
      const made = (await cast.ask(`${BASE}/checks/`, { method: "POST", key: cast.owner.rw, body })).json;
      const path = placed(endpoint).path.replace("{check}", (made as { uuid: string }).uuid);
      const reply = await cast.ask(`${BASE}${path}?${query}`, { key: cast.owner.rw, ...asked });
      const described = placed(endpoint).operation.responses[String(status)];
      expect(reply.json).toEqual(described?.content?.["application/json"]?.example);
    },
  );
});

describe("the documents themselves", () => {
  test("are served to anyone, to other sites too", async () => {
    const reply = await cast.ask(`${BASE}/openapi.json`);
    expect(reply.headers.get("content-type")).toBe("application/json");
    expect(reply.headers.get("access-control-allow-origin")).toBe("*");
    expect(served.servers[0]?.url).toBe(`${cast.site}/api/v3`);
  });

  test("the page runs no script, loads only fonts, and links back", async () => {
    for (const path of ["/docs/api", "/docs/api/"]) {
      const { status, headers, text } = await cast.ask(path);
      expect(status).toBe(200);
      expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(headers.get("content-security-policy")).toMatch(
        /^default-src 'none'; style-src 'sha256-[^']+'; font-src 'self';/,
      );
      expect(text).toContain(`<a class="brand" href="${cast.site}/">`);
      expect(text).toContain("<h1>Overdue Management API</h1>");
    }
  });

  test("the page is shown in the theme that was chosen on the dashboard", async () => {
    for (const [cookie, root] of [
      ["overdue_theme=dark", '<html lang="en" data-theme="dark">'],
      ["a=b; overdue_theme=light; c=d", '<html lang="en" data-theme="light">'],
      ["overdue_theme=system", '<html lang="en">'],
      ["not_overdue_theme=dark", '<html lang="en">'],
    ] as const) {
      const { text, headers } = await cast.ask("/docs/api", { headers: { cookie } });
      expect(text).toContain(root);
      expect(headers.get("vary")).toBe("Cookie");
    }
  });

  test("know GET, HEAD and OPTIONS, and nothing beside their paths", async () => {
    const head = await cast.ask("/docs/api", { method: "HEAD" });
    expect([head.status, head.text]).toEqual([200, ""]);
    expect((await cast.ask(`${BASE}/openapi.json`, { method: "OPTIONS" })).status).toBe(204);
    const refused = await cast.ask("/docs/api", { method: "POST" });
    expect([refused.status, refused.headers.get("allow"), refused.json]).toEqual([
      405,
      "GET, HEAD, OPTIONS",
      { error: "method not allowed" },
    ]);
    expect((await cast.ask("/docs/apis")).status).toBe(404);
    expect((await cast.ask("/api/v1/openapi.json")).status).toBe(404);
  });
});
