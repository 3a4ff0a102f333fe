// The document of the Overdue API: complete, with every reference defined, and with examples that match their schemas.
// The tests that send requests check that the server answers as documented.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Value } from "typebox/value";
import { describe, expect, test } from "vitest";
import { KINDS } from "../src/channels/registry.ts";
import { errorStatuses, type RouteDefinition } from "../src/contract/api/route.ts";
import { API_ROUTES } from "../src/contract/api/routes.ts";
import { validateBody } from "../src/contract/api/validate.ts";
import { overdueDocument } from "../src/contract/openapi.ts";
import { referencePage } from "../src/services/management/reference.ts";

const serverUrl = "https://overdue.example.org/api/overdue/v1";
const DOCUMENT = overdueDocument({ kinds: KINDS, serverUrl });
const ROUTES = Object.entries<RouteDefinition>(API_ROUTES).map(([id, definition]) => ({ id, definition }));
const OPERATIONS = Object.entries(DOCUMENT.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    method: method.toUpperCase(),
    path,
    ...operation,
  })),
);

function operationOf(id: string): (typeof OPERATIONS)[number] {
  const found = OPERATIONS.find(({ operationId }) => operationId === id);
  if (found === undefined) throw new Error(`no operation ${id}`);
  return found;
}

test("the file in docs/ is up to date", () => {
  const file = readFileSync(join(import.meta.dirname, "../docs/openapi-overdue.json"), "utf8");
  expect(JSON.parse(file)).toEqual(JSON.parse(JSON.stringify(DOCUMENT)));
});

test("every route is described once, with its method and path", () => {
  const described = OPERATIONS.map(({ operationId, method, path }) => `${operationId}: ${method} ${path}`);
  const defined = ROUTES.map(({ id, definition: { method, path } }) => `${id}: ${method} ${path}`);
  expect(described.toSorted()).toEqual(defined.toSorted());
});

test("every operation lists its success and all its errors", () => {
  for (const { id, definition } of ROUTES) {
    const statuses = [definition.success.status, ...errorStatuses(definition)].map(String);
    expect(Object.keys(operationOf(id).responses), id).toEqual(statuses);
  }
});

test("every operation lists the credentials that it accepts", () => {
  for (const { id, definition } of ROUTES) {
    const schemes = operationOf(id).security.flatMap((one) => Object.keys(one));
    const expected =
      definition.access === "anyone"
        ? []
        : ["token", ...(definition.keys === null ? [] : ["apiKey"]), "session"];
    expect(schemes, id).toEqual(expected);
  }
  expect(operationOf("getProject")).toMatchObject({ "x-scope": "read", "x-api-key": "readWrite" });
  expect(operationOf("createProject")).toMatchObject({ "x-scope": "write", "x-api-key": null });
  expect(operationOf("deleteProject")).toMatchObject({ "x-scope": "admin", "x-api-key": null });
});

test("every reference is defined, and every named schema is used", () => {
  const names = [...JSON.stringify(DOCUMENT).matchAll(/#\/components\/schemas\/(\w+)/g)].map(
    ([, name = ""]) => name,
  );
  expect([...new Set(names)].toSorted()).toEqual(Object.keys(DOCUMENT.components.schemas).toSorted());
});

/** Objects with fewer fields than this are written out. */
const FIELDS_MIN = 5;

test("no large schema is written out twice", () => {
  const seen = new Map<string, string>();
  const repeated: string[] = [];
  const walk = (value: unknown, path: string) => {
    if (typeof value !== "object" || value === null) return;
    const { properties = {} } = value as { properties?: object };
    if (Object.keys(properties).length >= FIELDS_MIN) {
      const json = JSON.stringify(value);
      const before = seen.get(json);
      if (before !== undefined) repeated.push(`${path} is ${before}`);
      seen.set(json, path);
    }
    for (const [key, one] of Object.entries(value)) if (key !== "example") walk(one, `${path}/${key}`);
  };
  walk(DOCUMENT, "");
  expect(repeated).toEqual([]);
});

test("the configuration of every kind of channel is described, with its secrets marked", () => {
  for (const { name, schema } of KINDS) {
    const described = DOCUMENT.components.schemas[`${name.charAt(0).toUpperCase()}${name.slice(1)}Config`];
    expect(Object.keys(described?.["properties"] as object)).toEqual(Object.keys(schema.properties));
  }
  const { SlackConfig } = DOCUMENT.components.schemas;
  expect(SlackConfig).toMatchObject({ required: ["url"], properties: { url: { writeOnly: true } } });
});

describe("the examples", () => {
  test("of responses match their schemas", () => {
    for (const { id, definition } of ROUTES) {
      const { schema, status, type = "application/json" } = definition.success;
      if (schema === null) continue;
      const example = operationOf(id).responses[status]?.content?.[type]?.example;
      expect([...Value.Errors(schema, example)], id).toEqual([]);
    }
  });

  test("of requests are valid", () => {
    for (const { id, definition } of ROUTES) {
      if (definition.body === undefined) continue;
      const example = operationOf(id).requestBody?.content["application/json"]?.example;
      expect(validateBody(definition.body, example), id).toMatchObject({ ok: true });
    }
  });
});

test("every parameter of a path and a query is described", () => {
  for (const { id, definition } of ROUTES) {
    const { parameters } = operationOf(id);
    const inPath = [...definition.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const named = (place: string) => parameters.filter((one) => one.in === place).map(({ name }) => name);
    expect(named("path"), id).toEqual(inPath);
    const { properties = {} } = (definition.query ?? {}) as { properties?: object };
    expect(named("query"), id).toEqual(Object.keys(properties));
    expect(named("header").includes("Idempotency-Key"), id).toBe(definition.idempotencyKey === true);
    for (const { name, schema } of parameters) expect(schema, `${id} ${name}`).toBeDefined();
  }
});

test("the reference page shows every operation, links to the other page, and has every id once", () => {
  const other = { title: "The other", url: "https://overdue.example.org/docs/api" };
  const home = "https://overdue.example.org/";
  const page = referencePage(DOCUMENT, { other, home, style: "", theme: "system" });
  for (const { id, definition } of ROUTES) {
    expect(page).toContain(`<section class="operation" id="${id}"`);
    expect(page).toContain(`<code>${definition.path}</code>`);
  }
  const ids = [...page.matchAll(/\bid="([^"]+)"/g)].map(([, id]) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const outside = [...page.matchAll(/href="(?!data:)([^#"][^"]*)"/g)].map(([, target]) => target);
  expect(outside).toEqual([home, home, `${serverUrl}/openapi.json`, other.url]);
  expect(page).toContain("curl -X PATCH");
  expect(page).toContain("Authorization: Bearer your-token");
});
