// Invalid requests to every route of the Overdue API, made from its schemas: each field of each body and each query
// parameter is wrong once. The response is 400 and names the field. Other strange values never cause a server error.
import type { TSchema } from "typebox";
import { Value } from "typebox/value";
import { beforeAll, describe, expect, test } from "vitest";
import { exampleOf } from "../../src/contract/api/examples.ts";
import { API_PATH, paramsOf, type RouteDefinition } from "../../src/contract/api/route.ts";
import { API_ROUTES } from "../../src/contract/api/routes.ts";
import { validateBody } from "../../src/contract/api/validate.ts";
import { sampleCheck } from "../support/sample.ts";
import { useDashboard } from "../web/dashboard.ts";

const at = useDashboard();

const ROUTES = Object.entries<RouteDefinition>(API_ROUTES)
  .filter(([, { success }]) => success.type !== "text/event-stream")
  .map(([id, definition]) => ({ id, definition }));
type TestedRoute = (typeof ROUTES)[number];

let names: Readonly<Record<string, string>> = {};
let deletedCheck = "";

beforeAll(async () => {
  const { db, owner } = at;
  const projectId = owner.project.id;
  const check = await sampleCheck(db, { projectId });
  const deleted = await sampleCheck(db, { projectId });
  await db.pool.query("update checks set deleted_at = now() where id = $1", [deleted.id]);
  const channel = await at.channel(owner, { name: "hook", kind: "webhook" });
  await db.pool.query("update accounts set is_operator = true where id = $1", [owner.account.id]);
  names = { project: owner.project.uuid, check: check.uuid, channel: channel.uuid };
  deletedCheck = deleted.uuid;
});

function pathOf({ path, deleted }: RouteDefinition, given: Readonly<Record<string, string>> = {}): string {
  const known: Record<string, string> = {
    ...names,
    ...(deleted === true && { check: deletedCheck }),
    ...given,
  };
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(known[name] ?? "1"));
  return API_PATH + filled;
}

type Node = {
  type?: string;
  properties?: Readonly<Record<string, Node>>;
  required?: readonly string[];
  items?: Node;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  maxItems?: number;
};

/** Values of which every field rejects some. */
function candidatesFor({ minimum = 0, maximum = 0, maxLength = 0, maxItems = 0 }: Node): unknown[] {
  return [
    null,
    true,
    "",
    "\0",
    "\ud800",
    "x".repeat(maxLength + 1),
    minimum - 1,
    maximum + 1,
    0.5,
    1e308,
    [],
    [null],
    Array.from({ length: Math.min(maxItems, 2_000) + 1 }, () => "x"),
    {},
    { wrong: 1 },
  ];
}

type Wrong = { body: unknown; field: string; value: unknown };

/** Bodies with one wrong field, for every field at every depth. `put` puts a value of this object into the whole body. */
function wrongBodies(schema: TSchema, node: Node, value: unknown, put: (value: object) => unknown): Wrong[] {
  const base = value as Readonly<Record<string, unknown>>;
  const wrong: Wrong[] = [];
  for (const [field, inner] of Object.entries(node.properties ?? {})) {
    for (const candidate of candidatesFor(inner)) {
      const body = put({ ...base, [field]: candidate });
      if (!validateBody(schema, body).ok) wrong.push({ body, field, value: candidate });
    }
    if (node.required?.includes(field) === true) {
      const { [field]: _, ...rest } = base;
      wrong.push({ body: put(rest), field, value: undefined });
    }
    const { items, properties } = inner;
    if (properties !== undefined) {
      const nested = base[field] ?? exampleOf(inner, field);
      wrong.push(...wrongBodies(schema, inner, nested, (one) => put({ ...base, [field]: one })));
    }
    if (items?.properties !== undefined) {
      wrong.push(...wrongBodies(schema, items, exampleOf(items), (one) => put({ ...base, [field]: [one] })));
    }
  }
  wrong.push({ body: put({ ...base, notAField: 1 }), field: "notAField", value: 1 });
  return wrong;
}

/** What is wrong with the response to an invalid request; null: nothing. */
async function problemOf(
  { definition }: TestedRoute,
  path: string,
  wrong: Partial<Wrong>,
): Promise<string | null> {
  const { body, field, value } = wrong;
  const reply = await at.browse(path, { method: definition.method, ...("body" in wrong && { body }) });
  const json = reply.json as { field?: unknown; detail?: unknown } | null;
  const isText = typeof json?.detail === "string" && json.detail.length > 0;
  // A problem inside of a list or an object names the inner field.
  const isInside = typeof value === "object" && value !== null;
  const isNamed = isInside ? typeof json?.field === "string" : json?.field === field;
  if (reply.status === 400 && isText && (field === undefined || isNamed)) return null;
  return `${reply.status} ${reply.text.slice(0, 200)} to ${path} with ${field} = ${JSON.stringify(value)?.slice(0, 100)}`;
}

async function problemsOf(asked: readonly (() => Promise<string | null>)[]): Promise<string[]> {
  const problems: string[] = [];
  for (const one of asked) {
    const problem = await one();
    if (problem !== null) problems.push(problem);
  }
  return problems;
}

const WITH_BODY = ROUTES.filter(({ definition }) => definition.body !== undefined);
const WITH_QUERY = ROUTES.filter(({ definition }) => definition.query !== undefined);
const WITH_PARAMETERS = ROUTES.filter(({ definition }) => paramsOf(definition.path).length > 0);

let requests = 0;

describe("invalid bodies are answered with 400 and the field", () => {
  test.each(WITH_BODY)("$id", async (route) => {
    const { body: schema, bodyExample } = route.definition;
    if (schema === undefined) throw new Error("it was chosen for its body");
    const node = schema as Node;
    const base = bodyExample ?? exampleOf(node);
    const wrong: Partial<Wrong>[] = [
      ...wrongBodies(schema, node, base, (whole) => whole),
      ...[true, 1, "text", [], "{"].map((body) => ({ body })),
      // These are the same as an empty object.
      ...(validateBody(schema, {}).ok ? [] : [{ body: null }, { body: "" }]),
    ];
    requests += wrong.length;
    const path = pathOf(route.definition);
    expect(await problemsOf(wrong.map((one) => () => problemOf(route, path, one)))).toEqual([]);
  });
});

const STRANGE = [
  "0",
  "-1",
  "1.5",
  "99999999999999999999",
  // As a time: the first moment of the year 10000, and later than any.
  "253402300800000",
  "9007199254740991",
  "\0",
  "ü/../..",
  "'; drop table checks; --",
  "x".repeat(290),
];

describe("strange queries never cause a server error, and invalid ones are answered with 400 and the field", () => {
  test.each(WITH_QUERY)("$id", async (route) => {
    const { query: schema } = route.definition;
    const { properties = {} } = schema as Node;
    const path = pathOf(route.definition);
    const problems: string[] = [];
    for (const [field, node] of Object.entries(properties)) {
      for (const text of [...STRANGE, "", "x".repeat((node.maxLength ?? 290) + 1)]) {
        const isNumber = node.type === "integer" || node.type === "number";
        const value = isNumber && /^-?\d{1,15}$/.test(text) ? Number(text) : text;
        const target = `${path}?${field}=${encodeURIComponent(text)}`;
        requests += 1;
        if (Value.Check(node as TSchema, value) && text !== "\0") {
          const { status } = await at.browse(target, { method: route.definition.method });
          if (status >= 500) problems.push(`${status} to ${target}`);
        } else problems.push(...(await problemsOf([() => problemOf(route, target, { field, value })])));
      }
    }
    for (const query of ["?%zz=1&=&&x", "?".repeat(50)]) {
      const { status } = await at.browse(path + query, { method: route.definition.method });
      if (status >= 500) problems.push(`${status} to ${query}`);
    }
    expect(problems).toEqual([]);
  });
});

describe("strange paths never cause a server error", () => {
  test.each(WITH_PARAMETERS)("$id", async (route) => {
    const { definition } = route;
    const last = paramsOf(definition.path).at(-1) ?? "";
    const problems: string[] = [];
    for (const text of STRANGE) {
      const path = pathOf(definition, { [last]: text });
      const body = definition.body === undefined ? {} : { body: definition.bodyExample ?? {} };
      const { status } = await at.browse(path, { method: definition.method, ...body });
      requests += 1;
      if (status >= 500) problems.push(`${status} to ${path}`);
    }
    expect(problems).toEqual([]);
  });
});

test("there were requests", () => {
  console.log(`invalid input: ${ROUTES.length} routes, ${requests} requests`);
  expect(requests).toBeGreaterThan(100);
});
