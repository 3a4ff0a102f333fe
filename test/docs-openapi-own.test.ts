// Holds the document of our own API to what it promises: complete, without loose ends, with examples that keep their
// schemas. That the server answers so is seen by every test in test/own-api.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Value } from "typebox/value";
import { describe, expect, test } from "vitest";
import { CONFIG_RULES, KINDS } from "../src/channels/registry.ts";
import { ownDocument } from "../src/contract/own-openapi.ts";
import { OWN_ROUTES } from "../src/contract/own-routes.ts";
import { OWN_ENDPOINT_RIGHTS } from "../src/core/access.ts";
import { readChannelRequest } from "../src/core/channel.ts";
import { referencePage } from "../src/services/api/reference.ts";

const serverUrl = "https://overdue.example.org/api/overdue/v1";
const DOCUMENT = ownDocument({ kinds: KINDS, serverUrl });

test("is the one in docs/", () => {
  const file = readFileSync(join(import.meta.dirname, "../docs/openapi-overdue.json"), "utf8");
  expect(JSON.parse(file)).toEqual(JSON.parse(JSON.stringify(DOCUMENT)));
});

test("has every endpoint that a key may call, once", () => {
  const described = Object.values(DOCUMENT.paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  );
  expect(described.toSorted()).toEqual(Object.keys(OWN_ENDPOINT_RIGHTS).toSorted());
});

test("every reference leads somewhere", () => {
  const names = [...JSON.stringify(DOCUMENT).matchAll(/#\/components\/schemas\/(\w+)/g)].map(
    ([, name]) => name,
  );
  expect(names.length).toBeGreaterThan(50);
  expect(names.filter((name) => DOCUMENT.components.schemas[name ?? ""] === undefined)).toEqual([]);
});

test("describes the configuration of every kind, with its secrets marked", () => {
  for (const { name, schema } of KINDS) {
    const described = DOCUMENT.components.schemas[`${name.charAt(0).toUpperCase()}${name.slice(1)}Config`];
    expect(Object.keys(described?.["properties"] as object)).toEqual(Object.keys(schema.properties));
  }
  const { SlackConfig } = DOCUMENT.components.schemas;
  expect(SlackConfig).toMatchObject({ required: ["url"], properties: { url: { writeOnly: true } } });
});

describe("the examples", () => {
  test.each(OWN_ROUTES.filter(({ answer }) => answer.schema !== null))(
    "of answers to $endpoint keep their schema",
    ({ answer }) => {
      if (answer.schema === null) throw new Error("it was chosen for its schema");
      expect([...Value.Errors(answer.schema, answer.example)]).toEqual([]);
    },
  );

  test.each(OWN_ROUTES.filter(({ body }) => body !== null))(
    "of requests to $endpoint are taken",
    ({ body }) => {
      const read = readChannelRequest({ ...body?.example });
      if (!read.ok) throw new Error(read.text);
      const { kind = "ntfy", config = {} } = read.value;
      expect(CONFIG_RULES.read(kind, { topic: "x", ...config })).toMatchObject({ ok: true });
    },
  );
});

test("the reference page shows it, leads to the other one, and has every id once", () => {
  const other = { title: "The other", url: "https://overdue.example.org/docs/api" };
  const home = "https://overdue.example.org/";
  const page = referencePage(DOCUMENT, { other, home, style: "", theme: "system" });
  for (const { endpoint, path } of OWN_ROUTES) {
    expect(page).toContain(`<section class="operation" id="${endpoint}"`);
    expect(page).toContain(`<code>${path}</code>`);
  }
  const ids = [...page.matchAll(/\bid="([^"]+)"/g)].map(([, id]) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const outside = [...page.matchAll(/href="(?!data:)([^#"][^"]*)"/g)].map(([, target]) => target);
  expect(outside).toEqual([home, home, `${serverUrl}/openapi.json`, other.url]);
  expect(page).toContain("curl -X PATCH");
});
