// Holds the OpenAPI document and the reference page to what they promise: complete, without loose ends, with examples
// that keep their own schemas, readable for everyone. That the server does what they say is test/management/openapi.test.ts.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Value } from "typebox/value";
import { describe, expect, test } from "vitest";
import { readCheckRequest } from "../src/contract/check.ts";
import { openApiDocument, REQUEST_EXAMPLES } from "../src/contract/openapi.ts";
import { refusalStatuses, ROUTES } from "../src/contract/routes.ts";
import { VERSIONS } from "../src/contract/versions.ts";
import { DARK, LIGHT, PAIRS, styleWith, TOKENS } from "../src/services/management/reference-style.ts";
import { type PageOptions, referencePage } from "../src/services/management/reference.ts";

const COLUMN = VERSIONS.standard[3];
const DOCUMENT = openApiDocument({ column: COLUMN, serverUrl: "https://overdue.example.org/api/v3" });
const OPERATIONS = Object.entries(DOCUMENT.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
);

const PAGE: PageOptions = {
  other: { title: "Another page", url: "https://overdue.example.org/docs/api/overdue" },
  home: "https://overdue.example.org/",
  style: styleWith(null),
  theme: "system",
};

/** Every value of a key, however deep it lies. */
function valuesOf(value: unknown, key: string): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, one]) => [
    ...(name === key ? [one] : []),
    ...valuesOf(one, key),
  ]);
}

describe("the OpenAPI document", () => {
  test("is the one in docs/", () => {
    const file = readFileSync(join(import.meta.dirname, "../docs/openapi.json"), "utf8");
    expect(JSON.parse(file)).toEqual(JSON.parse(JSON.stringify(DOCUMENT)));
    expect(DOCUMENT.openapi).toBe("3.1.0");
  });

  test("has every route of version 3, by its operation id", () => {
    const described = OPERATIONS.map(
      ({ path, method, operation }) => `${method} ${path} ${operation.operationId}`,
    );
    const served = ROUTES.map(({ path, method, endpoint }) => `${method} ${path} ${endpoint}`);
    expect(described.toSorted()).toEqual(served.toSorted());
    expect(described).toHaveLength(13);
  });

  test.each(ROUTES)("$endpoint lists every status that it answers", (route) => {
    const operation = OPERATIONS.find((one) => one.operation.operationId === route.endpoint)?.operation;
    const statuses = [
      ...Object.keys(route.responses),
      ...(route.isTagged ? ["304"] : []),
      ...refusalStatuses(route).map(String),
    ];
    expect(Object.keys(operation?.responses ?? {}).toSorted()).toEqual(statuses.toSorted());
  });

  test("refers to nothing that is not there, and has no schema that nobody needs", () => {
    const references = new Set(valuesOf(DOCUMENT, "$ref").map(String));
    const names = Object.keys(DOCUMENT.components.schemas).map((name) => `#/components/schemas/${name}`);
    expect([...references].toSorted()).toEqual(names.toSorted());
  });

  test("has an example for every parameter that is needed, every body and every answer", () => {
    for (const { operation } of OPERATIONS) {
      const needed = operation.parameters.filter(({ required }) => required);
      expect(needed.filter(({ example }) => example === undefined)).toEqual([]);
      const contents = [operation.requestBody, ...Object.values(operation.responses)].flatMap((one) =>
        Object.values(one?.content ?? {}),
      );
      expect(contents.filter(({ example }) => example === undefined)).toEqual([]);
    }
  });

  test("needs a key wherever one is needed, and lets a POST carry it in its body", () => {
    for (const { method, operation } of OPERATIONS) {
      const { operationId, security, requestBody } = operation;
      if (operationId === "getStatus") expect(security).toEqual([]);
      else expect(security).toEqual(method === "POST" ? [{ apiKey: [] }, {}] : [{ apiKey: [] }]);
      if (method === "POST") {
        const body = JSON.stringify(requestBody).includes("CheckRequest")
          ? DOCUMENT.components.schemas["CheckRequest"]
          : requestBody;
        expect(valuesOf(body, "api_key"), operationId).toHaveLength(1);
      }
    }
    expect(DOCUMENT.components.securitySchemes).toMatchObject({
      apiKey: { in: "header", name: "X-Api-Key" },
    });
  });

  test("what is deprecated is marked so", () => {
    const { ChangedCheck, CheckRequest } = DOCUMENT.components.schemas;
    for (const schema of [ChangedCheck, CheckRequest]) {
      const properties = schema?.["properties"] as Record<string, { deprecated?: boolean }>;
      const deprecated = Object.keys(properties).filter((name) => properties[name]?.deprecated === true);
      expect(deprecated.toSorted()).toEqual(["subject", "subject_fail"]);
    }
  });

  test("what is ours beyond the specification is marked so", () => {
    const { Check, ReadOnlyCheck, CheckRequest } = DOCUMENT.components.schemas;
    for (const schema of [Check, ReadOnlyCheck, CheckRequest]) {
      const properties = schema?.["properties"] as Record<string, { "x-extension"?: boolean }>;
      const ours = Object.keys(properties).filter((name) => properties[name]?.["x-extension"] === true);
      expect(ours.toSorted()).toEqual(["filter_default_fail", "filter_http_body"]);
    }
  });

  test("says nothing that only the program understands", () => {
    expect(valuesOf(DOCUMENT, "x-rule")).toEqual([]);
  });

  test.each(Object.keys(VERSIONS.healthchecks).map(Number) as (1 | 2 | 3)[])(
    "can be made for version %i of the other dialect",
    (version) => {
      const column = VERSIONS.healthchecks[version];
      const paths = Object.keys(openApiDocument({ column, serverUrl: "https://example.org" }).paths);
      expect(paths.length).toBe(Object.keys(DOCUMENT.paths).length);
    },
  );
});

describe("the examples", () => {
  const answers = ROUTES.flatMap((route) =>
    Object.entries(route.responses).map(([status, response]) => ({
      name: `${route.endpoint} ${status}`,
      response,
    })),
  );

  test.each(answers)("of $name keep their schema", ({ response }) => {
    const schema = response.schema({ column: COLUMN, keyKind: "readWrite" });
    expect([...Value.Errors(schema, response.example)]).toEqual([]);
  });

  test.each(["createCheck", "updateCheck"] as const)("of a request to %s are accepted", (endpoint) => {
    const route = ROUTES.find((one) => one.endpoint === endpoint);
    const schema = route?.body?.(COLUMN);
    if (schema === undefined) throw new Error("the route takes a body");
    const read = readCheckRequest(REQUEST_EXAMPLES[endpoint]?.body ?? {}, { schema, rules: COLUMN.params });
    expect(read.ok).toBe(true);
  });
});

describe("the reference page", () => {
  const page = referencePage(DOCUMENT, PAGE);

  test("loads nothing and runs nothing", () => {
    expect(page).not.toMatch(
      /<script|<link(?! rel="icon" href="data:)|<img|<iframe|@import|url\(|\bsrc=|\bon\w+=/i,
    );
  });

  test("leads nowhere but to its own parts and to the document", () => {
    const targets = [...page.matchAll(/href="([^"]+)"/g)].map(([, target = ""]) => target);
    const ids = [...page.matchAll(/\bid="([^"]+)"/g)].map(([, id = ""]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const outside = targets.filter((target) => !/^(#|data:)/.test(target));
    expect(outside).toEqual([
      PAGE.home,
      PAGE.home,
      "https://overdue.example.org/api/v3/openapi.json",
      PAGE.other.url,
    ]);
    expect(targets.filter((target) => target.startsWith("#") && !ids.includes(target.slice(1)))).toEqual([]);
  });

  test("shows every operation, every status and every field", () => {
    for (const { path, operation } of OPERATIONS) {
      const start = page.indexOf(`<section class="operation" id="${operation.operationId}"`);
      const section = page.slice(start, page.indexOf("</section>", start));
      expect(section).toContain(`<code>${path}</code>`);
      for (const status of Object.keys(operation.responses))
        expect(section).toContain(`<strong>${status}</strong>`);
    }
    for (const name of Object.keys(
      DOCUMENT.components.schemas["Check"]?.["properties"] as Record<string, unknown>,
    )) {
      expect(page).toContain(`<dt><code>${name}</code>`);
    }
  });

  test("has one heading of the first rank, and skips no rank", () => {
    const ranks = [...page.matchAll(/<h(\d)/g)].map(([, rank]) => Number(rank));
    expect(ranks.filter((rank) => rank === 1)).toHaveLength(1);
    ranks.forEach((rank, index) => expect(rank - (ranks[index - 1] ?? 0)).toBeLessThanOrEqual(1));
  });

  test("escapes what the document holds", () => {
    const info = { ...DOCUMENT.info, title: `<b>"a" & 'b'</b>` };
    expect(referencePage({ ...DOCUMENT, info }, PAGE)).toContain(
      "<h1>&lt;b&gt;&quot;a&quot; &amp; &#39;b&#39;&lt;/b&gt;</h1>",
    );
  });

  test.each([
    ["light", LIGHT],
    ["dark", DARK],
  ] as const)("can be read in its %s colours by people with weak eyes", (_, palette) => {
    for (const [front, back] of PAIRS) {
      expect(contrast(palette[front], palette[back]), `${front} on ${back}`).toBeGreaterThanOrEqual(4.5);
    }
    expect(contrast("#777777", "#ffffff")).toBeLessThan(4.5);
  });
});

test("the page has the colours of the dashboard", () => {
  const tokens = readFileSync(join(import.meta.dirname, "../web/styles/tokens.css"), "utf8");
  for (const [colour, token] of Object.entries(TOKENS)) {
    const pair = new RegExp(`--${token}: light-dark\\(oklch\\(([^)]+)\\), oklch\\(([^)]+)\\)\\);`).exec(
      tokens,
    );
    const [light, dark] = [pair?.[1], pair?.[2]].map((numbers) => (numbers ?? "").split(" ").map(Number));
    for (const [palette, numbers] of [
      [LIGHT, light],
      [DARK, dark],
    ] as const) {
      const [lightness = 0, chroma = 0, hue = 0] = numbers ?? [];
      const channels = hexChannels(palette[colour as keyof typeof TOKENS]);
      const wanted = srgbOf({ lightness, chroma, hue });
      channels.forEach((channel, index) =>
        expect(Math.abs(channel - (wanted[index] ?? 0)), `${colour} is --${token}`).toBeLessThanOrEqual(2),
      );
    }
  }
});

function hexChannels(colour: string): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
}

/** A colour of OKLCH in sRGB, from 0 to 255; what a screen cannot show is cut off. */
function srgbOf({ lightness, chroma, hue }: Record<"lightness" | "chroma" | "hue", number>): number[] {
  const [a, b] = [chroma * Math.cos((hue * Math.PI) / 180), chroma * Math.sin((hue * Math.PI) / 180)];
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ].map((linear) => {
    const share = Math.min(1, Math.max(0, linear));
    return 255 * (share <= 0.0031308 ? 12.92 * share : 1.055 * share ** (1 / 2.4) - 0.055);
  });
}

/** The contrast of two colours as WCAG 2 defines it. */
function contrast(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].toSorted((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
