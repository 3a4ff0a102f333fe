// Whatever is sent to whichever route: the answer is a refusal with a sentence, and never a fault of ours.
import { beforeAll, describe, expect, test } from "vitest";
import type { WebRoute } from "../../src/services/web/route.ts";
import { WEB_ROUTES } from "../../src/services/web/routes.ts";
import type { Channel } from "../../src/store/channels.ts";
import { sampleCheck } from "../support/sample.ts";
import { useDashboard } from "./dashboard.ts";

const at = useDashboard({ roles: ["web", "api"] });

let names: Record<string, string> = {};
let channel: Channel;

beforeAll(async () => {
  const check = await sampleCheck(at.db, { projectId: at.owner.project.id });
  channel = await at.channel(at.owner, { name: "hook", kind: "webhook" });
  await at.db.pool.query("update accounts set is_operator = true where id = $1", [at.owner.account.id]);
  names = { project: at.owner.project.uuid, check: check.uuid, channel: channel.uuid };
});

/** The path with everything it names filled in; what the server does not look up gets something strange. */
function pathOf({ path }: WebRoute, strange: string): string {
  return path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(names[name] ?? strange));
}

const STRANGE = [
  "0",
  "-1",
  "99999999999999999999",
  // As an instant: the first of the year 10000, and later than any.
  "253402300800000",
  "9007199254740991",
  "\0",
  "ü/../..",
  "'; drop table checks; --",
  "x".repeat(290),
];

/** Values that no field of ours should choke on. */
const VALUES: readonly unknown[] = [
  null,
  "",
  "\0",
  "\ud800",
  -1,
  1e308,
  0.5,
  true,
  [],
  [null],
  {},
  "x".repeat(10_000),
  ["x".repeat(100)],
  { __proto__: 1, constructor: "x" },
];

function bodiesFor({ body }: WebRoute): unknown[] {
  const { properties = {} } = (body ?? {}) as { properties?: Record<string, unknown> };
  const fields = Object.keys(properties);
  const each = fields.flatMap((field) => VALUES.map((value) => ({ [field]: value })));
  const all = VALUES.map((value) => Object.fromEntries(fields.map((field) => [field, value])));
  return [...VALUES, ...each, ...all];
}

function queriesFor({ query }: WebRoute): string[] {
  const { properties = {} } = (query ?? {}) as { properties?: Record<string, unknown> };
  const fields = Object.keys(properties);
  return [
    "",
    ...fields.flatMap((field) => STRANGE.map((value) => `?${field}=${encodeURIComponent(value)}`)),
    ...fields.map((field) => `?${field}=&${field}=2`),
    "?%zz=1&=&&x",
  ];
}

/** What is wrong with the answer; null: nothing. */
async function troubleOf(route: WebRoute, path: string, body?: unknown): Promise<string | null> {
  const { method } = route;
  const given = body === undefined ? {} : { body: JSON.stringify(body) };
  const { status, json } = await at.browse(path, { method, ...given });
  const what = `${status} to ${method} ${path.slice(0, 200)} ${JSON.stringify(body)?.slice(0, 200)}`;
  const isData = path.startsWith("/web/");
  // Without built files a page says so with 503, which is no fault.
  if (status >= 500 && (isData || status !== 503)) return what;
  const sentence = (json as { error?: unknown } | null)?.error;
  return status >= 400 && isData && typeof sentence !== "string" ? `${what}, without a sentence` : null;
}

async function troublesOf(asked: readonly Promise<string | null>[]): Promise<string[]> {
  return (await Promise.all(asked)).filter((trouble) => trouble !== null);
}

const reading = WEB_ROUTES.filter(({ method, name }) => method === "GET" && name !== "live");
const changing = WEB_ROUTES.filter(({ method, body }) => method !== "GET" && body !== undefined);

describe("bad input is refused, whatever it is", () => {
  test.each(reading.map((route) => [route.name, route] as const))("reading: %s", async (_name, route) => {
    const troubles = await troublesOf([
      ...queriesFor(route).map((query) => troubleOf(route, pathOf(route, "1") + query)),
      ...STRANGE.map((strange) => troubleOf(route, pathOf(route, strange))),
    ]);
    expect(troubles).toEqual([]);
  });

  test.each(changing.map((route) => [route.name, route] as const))("changing: %s", async (_name, route) => {
    const troubles: string[] = [];
    for (const body of bodiesFor(route)) {
      troubles.push(...(await troublesOf([troubleOf(route, pathOf(route, "1"), body)])));
    }
    troubles.push(
      ...(await troublesOf(STRANGE.map((strange) => troubleOf(route, pathOf(route, strange), {})))),
    );
    expect(troubles).toEqual([]);
  });
});
