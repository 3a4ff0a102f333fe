// Made-up requests to every route of the Management API, valid and broken ones, in every version and dialect: whatever
// is sent, the answer has a status that the route has, and a body as its schema says. The long runs have a command of
// their own.
import fc from "fast-check";
import type { TSchema } from "typebox";
import { Value } from "typebox/value";
import { describe, expect, test } from "vitest";
import { RULE } from "../src/contract/check.ts";
import type { Route } from "../src/contract/route.ts";
import { ErrorBody, refusalStatuses, ROUTES } from "../src/contract/routes.ts";
import { hasEndpoint, VERSION_NUMBERS, type VersionNumber, VERSIONS } from "../src/contract/versions.ts";
import type { Dialect } from "../src/core/access.ts";
import { type KeyKind, uniqueKey } from "../src/core/identity.ts";
import { sha1Hex } from "../src/lib/secrets.ts";
import { type Cast, type Reply, UNKNOWN_KEY, UNKNOWN_UUID, useCast } from "./management/cast.ts";
import { rawRequest } from "./ping/raw-http.ts";

/** In each dialect, besides those that are always sent. */
const REQUESTS = 120;
const RAW_REQUESTS = 300;
const CHECKS = 4;
const RUN_MS_MAX = 300_000;

/** Values for texts whose rules a schema cannot say. */
const RIGHT_TEXTS: Readonly<Record<string, readonly string[]>> = {
  schedule: ["* * * * *", "0 3 * * mon", "daily"],
  cron: ["* * * * *", "0 3 * * mon"],
  zone: ["UTC", "Europe/Riga"],
};

/** The part of JSON Schema that requests are made of. */
type Node = {
  type?: string;
  enum?: readonly unknown[];
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  pattern?: string;
  items?: Node;
  [RULE]?: string;
};

/** What a schema allows. */
function allowed(node: Node, name: string): fc.Arbitrary<unknown> {
  if (node.enum !== undefined) return fc.constantFrom(...node.enum);
  if (name === "channels") return fc.constantFrom("", "*", "Ops");
  const texts = RIGHT_TEXTS[node[RULE] ?? ""];
  if (texts !== undefined) return fc.constantFrom(...texts);
  const { minimum = 0, maximum = 1_000, maxLength = 50 } = node;
  if (node.pattern !== undefined) return fc.stringMatching(new RegExp(node.pattern), { maxLength });
  if (node.type === "integer") return fc.integer({ min: minimum, max: maximum });
  if (node.type === "boolean") return fc.boolean();
  if (node.type === "array") return fc.array(allowed(node.items ?? {}, ""), { maxLength: 3 });
  if (node.type === "string") return fc.string({ maxLength, unit: "grapheme" });
  throw new Error(`nobody knows how to make up a ${name}`);
}

/** Anything that JSON can say, and texts and numbers at the edge of what is allowed. */
const anything = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.string({ unit: "binary", maxLength: 600 }),
  fc.constantFrom(
    59,
    60,
    31_536_000,
    31_536_001,
    1e300,
    -0,
    1.5,
    "\u0000",
    "\ud800",
    "x".repeat(501),
    "* * *",
  ),
);

const oddText = fc.constantFrom("\u0000", "", " 1 ", "1.0", "-1", "٣", "%", "\u{1f44b}");

const oddQuery = fc.string({
  unit: fc.constantFrom("%", "&", "=", "+", "tag", "start", "seconds", "0", "ff", "[", "]", ";", "?"),
  maxLength: 40,
});

function fieldsOf(schema: TSchema): [name: string, node: Node][] {
  const { properties } = schema as unknown as { properties: Record<string, Node> };
  return Object.entries(properties).filter(([name]) => name !== "api_key");
}

const ODD_PIECES = ["1e999", "9".repeat(40), '"\\ud800"', '"__proto__":{},', "}", "[".repeat(50)];
const bytesOf = (text: string) => Buffer.from(text);

function bodyOf(schema: TSchema): fc.Arbitrary<unknown> {
  const fields = fieldsOf(schema);
  const right = fc.record(Object.fromEntries(fields.map(([name, node]) => [name, allowed(node, name)])), {
    requiredKeys: [],
  });
  const wrongField = fc.tuple(fc.constantFrom(...fields.map(([name]) => name)), anything);
  // A good body of which a piece was replaced: with bytes, or with what no reader can hold.
  const piece = fc.oneof(fc.uint8Array({ maxLength: 4 }), fc.constantFrom(...ODD_PIECES.map(bytesOf)));
  const broken = fc
    .tuple(right, fc.double({ min: 0, max: 1, noNaN: true }), piece)
    .map(([body, where, odd]) => {
      const good = bytesOf(JSON.stringify(body));
      const at = Math.floor(where * good.length);
      return Buffer.concat([good.subarray(0, at), odd, good.subarray(at + odd.length)]);
    });
  const oneWrong = fc.tuple(right, wrongField).map(([body, [name, value]]) => ({ ...body, [name]: value }));
  return fc.oneof(
    { arbitrary: right, weight: 5 },
    { arbitrary: oneWrong, weight: 4 },
    { arbitrary: fc.oneof(fc.constant(undefined), fc.jsonValue(), fc.uint8Array()), weight: 1 },
    { arbitrary: broken, weight: 1 },
  );
}

type Sent = {
  version: VersionNumber;
  route: Route;
  key: "rw" | "ro" | "stranger" | "unknown" | "none";
  keyInBody: boolean;
  /** Which of the checks, and how it is named. */
  check: number;
  named: "uuid" | "uniqueKey" | "unknown" | "junk";
  junk: string;
  n: number;
  hasOtherSlash: boolean;
  query: readonly [string, string][];
  /** Put behind the query as it is. */
  tail: string;
  body: unknown;
};

const usually = <T>(usual: T, others: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof(
    { arbitrary: fc.constant(usual), weight: 3 },
    { arbitrary: fc.constantFrom(usual, ...others), weight: 1 },
  );

function requestTo(dialect: Dialect, version: VersionNumber, route: Route): fc.Arbitrary<Sent> {
  const column = VERSIONS[dialect][version];
  const parameters = route.query.map(({ name, schema }) => {
    const value = fc.oneof(allowed(schema as Node, name), fc.string({ maxLength: 12 }), oddText);
    return value.map((one): [string, string] => [name, String(one)]);
  });
  return fc.record({
    version: fc.constant(version),
    route: fc.constant(route),
    key: usually<Sent["key"]>("rw", ["ro", "ro", "stranger", "unknown", "none"]),
    keyInBody: fc.boolean(),
    check: fc.nat(CHECKS - 1),
    named: usually<Sent["named"]>("uuid", ["uniqueKey", "unknown", "junk"]),
    junk: fc.oneof(
      fc.string({ maxLength: 40 }).map((text) => `~${text}`),
      fc.stringMatching(/^[0-9a-f-]{32,41}$/),
    ),
    n: fc.oneof(fc.constant(1), fc.constantFrom(0, 2, 3, 999_999, 2 ** 31, 2 ** 53, 1e30)),
    hasOtherSlash: fc.boolean(),
    query: parameters.length === 0 ? fc.constant([]) : fc.array(fc.oneof(...parameters), { maxLength: 3 }),
    tail: fc.oneof({ arbitrary: fc.constant(""), weight: 3 }, { arbitrary: oddQuery, weight: 1 }),
    body: route.body === null ? fc.constantFrom(undefined, {}, [], "x") : bodyOf(route.body(column)),
  });
}

/** Every route of every version. */
function places(dialect: Dialect): { version: VersionNumber; route: Route }[] {
  return VERSION_NUMBERS.flatMap((version) =>
    ROUTES.filter(({ endpoint }) => hasEndpoint(VERSIONS[dialect][version], endpoint)).map((route) => ({
      version,
      route,
    })),
  );
}

/** A request that has to be answered well. */
const PLAIN = {
  key: "rw",
  keyInBody: true,
  check: 0,
  named: "uuid",
  junk: "",
  n: 1,
  hasOtherSlash: false,
  query: [],
  tail: "",
  body: {},
} as const satisfies Partial<Sent>;

/** One of each type of JSON: no field allows them all. */
const TYPES: readonly unknown[] = [null, true, 0, 1.5, "\u0000", [], {}];

/**
 * What is always sent: a plain request to every route, one about no check, an odd one with each filter, each
 * field with each type.
 */
function alwaysSent(dialect: Dialect): Sent[] {
  const all = places(dialect);
  const plain = all.map((place): Sent => ({ ...PLAIN, ...place }));
  const update = plain.find(({ version, route }) => version === 3 && route.endpoint === "updateCheck");
  const schema = update?.route.body?.(VERSIONS[dialect][3]);
  if (update === undefined || schema === undefined) throw new Error("checks cannot be updated");
  const bodies = fieldsOf(schema).flatMap(([name]) => TYPES.map((value) => ({ [name]: value })));
  const queries = plain.flatMap((sent) =>
    sent.route.query.map(({ name }): Sent => ({ ...sent, query: [[name, "\u0000"]] })),
  );
  const absent = plain.filter(({ route }) => route.namedBy.length > 0);
  return [
    ...plain,
    ...queries,
    ...absent.map((sent): Sent => ({ ...sent, named: "unknown" })),
    ...bodies.map((body): Sent => ({ ...update, body })),
  ];
}

/** Checks that can be asked about: each has a ping with a body, and one that was deleted is replaced. */
class Pool {
  readonly uuids: string[] = [];
  readonly #cast: Cast;

  constructor(cast: Cast) {
    this.#cast = cast;
  }

  async fill(): Promise<void> {
    while (this.uuids.length < CHECKS) {
      const asked = { method: "POST", key: this.#cast.owner.rw, body: { name: "Known", tags: "a b" } };
      const { uuid } = (await this.#cast.ask("/api/v3/checks/", asked)).json as { uuid: string };
      await this.#cast.ask(`/ping/${uuid}`, { method: "POST", body: "hello" });
      await this.#cast.ask(`/ping/${uuid}/fail`);
      this.uuids.push(uuid);
    }
  }

  pause(uuid: string): Promise<Reply> {
    return this.#cast.ask(`/api/v3/checks/${uuid}/pause`, { method: "POST", key: this.#cast.owner.rw });
  }

  remove(uuid: string): void {
    this.uuids.splice(this.uuids.indexOf(uuid), 1);
  }
}

function send(cast: Cast, sent: Sent, uuid: string): Promise<Reply> {
  const keys = { rw: cast.owner.rw, ro: cast.owner.ro, stranger: cast.stranger.rw, unknown: UNKNOWN_KEY };
  const key = sent.key === "none" ? undefined : keys[sent.key];
  const names = { uuid, uniqueKey: uniqueKey(uuid, sha1Hex), unknown: UNKNOWN_UUID, junk: sent.junk };
  const { method, path } = sent.route;
  const filled = path
    .replace("{check}", encodeURIComponent(names[sent.named]))
    .replace("{n}", String(sent.n));
  const slashed = filled.endsWith("/") ? filled.slice(0, -1) : `${filled}/`;
  const query = new URLSearchParams(sent.query);
  const url = `/api/v${sent.version}${sent.hasOtherSlash ? slashed : filled}?${query.toString()}${sent.tail}`;
  if (method !== "POST") return cast.ask(url, { method, ...(key !== undefined && { key }) });
  if (key !== undefined && sent.keyInBody && isObject(sent.body)) {
    return cast.ask(url, { method, body: { ...sent.body, api_key: key } });
  }
  return cast.ask(url, { method, body: sent.body, ...(key !== undefined && { key }) });
}

function isObject(body: unknown): body is object {
  return typeof body === "object" && body !== null && !Array.isArray(body) && !(body instanceof Uint8Array);
}

/** What is wrong with an answer; null when nothing is. */
function problem(dialect: Dialect, { version, route, key, named }: Sent, reply: Reply): string | null {
  const { status, text, json, headers } = reply;
  const isJson = headers.get("content-type")?.startsWith("application/json") ?? false;
  const value = isJson ? json : text;
  const good = route.responses[status];
  if (good !== undefined) {
    const keyKind: KeyKind = key === "ro" ? "readOnly" : "readWrite";
    const schema = good.schema({ column: VERSIONS[dialect][version], keyKind });
    const type = headers.get("content-type") ?? "none";
    if (good.type !== undefined && !type.startsWith(good.type)) return `is ${type}`;
    return Value.Check(schema, value) ? null : `is not by its schema: ${text.slice(0, 2_000)}`;
  }
  // A path that names a check as this operation cannot may be known to other methods only.
  const isElsewhere = named === "junk" || (named === "uniqueKey" && !route.namedBy.includes("uniqueKey"));
  const statuses = [
    ...refusalStatuses(route),
    ...(isElsewhere && route.namedBy.length > 0 ? [404, 405] : []),
  ];
  if (status >= 500 || !statuses.includes(status)) return `has the status ${status}: ${text.slice(0, 2_000)}`;
  // The reference says nothing about the checks of others.
  if (dialect === "healthchecks" && status === 403 && text === "") return null;
  return Value.Check(ErrorBody, value) ? null : `is no error: ${text.slice(0, 2_000)}`;
}

/** What was taken can be read again, and says the same. */
async function expectReadAgain(cast: Cast, key: Sent["key"], { status, json }: Reply): Promise<void> {
  if (status >= 300) return;
  // A stranger makes checks as well, in a project of its own.
  const { rw } = key === "stranger" ? cast.stranger : cast.owner;
  const { update_url } = json as { update_url: string };
  const again = await cast.ask(new URL(update_url).pathname, { key: rw });
  expect(again.status).toBe(200);
  expect(json).toMatchObject(again.json as object);
}

const SEGMENTS = fc.oneof(
  fc.constantFrom("checks", "UUID", "pause", "pings", "1", "body", "flips", "channels", "v3"),
  fc.constantFrom("..", ".", "", "%2e%2e", "%00"),
  fc.string({ unit: fc.constantFrom(...Array.from("abc/%.:;@&=+$,-_!~*'()019\u00ff")), maxLength: 30 }),
  fc.constantFrom("9".repeat(15), "9".repeat(16), "-1", "1e3", "0x1", "f".repeat(40), "a".repeat(200)),
);
const METHODS = "GET POST DELETE HEAD PUT PATCH OPTIONS PROPFIND M-SEARCH TRACE".split(" ");
const HEADERS =
  "X-Api-Key If-None-Match Content-Type Accept X-Forwarded-For Authorization Cookie Expect Range";
const headerValue = fc.string({
  unit: fc
    .integer({ min: 0x20, max: 0xff })
    .filter((code) => code !== 0x7f)
    .map((code) => String.fromCharCode(code)),
  maxLength: 60,
});
const SAID_TO_BYTES = [100, 200, 201, 204, 304, 400, 401, 403, 404, 405, 409, 413, 417];

describe.each<Dialect>(["standard", "healthchecks"])("in the dialect %s", (dialect) => {
  const cast = useCast({ dialect, roles: ["ping", "api"] });

  test(
    "whatever is asked, the answer is one that the route has",
    async () => {
      await cast.channel(cast.owner, { name: "Ops", kind: "email" });
      const pool = new Pool(cast);
      const seen = new Set<string>();
      const requests = fc.oneof(
        ...places(dialect).map(({ version, route }) => ({
          arbitrary: requestTo(dialect, version, route),
          weight: route.body === null ? 1 : 3,
        })),
      );
      const property = fc.asyncProperty(requests, async (sent) => {
        const { endpoint } = sent.route;
        await pool.fill();
        const uuid = pool.uuids[sent.check] ?? UNKNOWN_UUID;
        if (endpoint === "resumeCheck" && sent.keyInBody) await pool.pause(uuid);
        const reply = await send(cast, sent, uuid);
        if (endpoint === "deleteCheck" && reply.status === 200) pool.remove(uuid);
        seen.add(`${endpoint} ${reply.status}`);
        expect(problem(dialect, sent, reply), `${endpoint}, version ${sent.version}`).toBeNull();
        if (endpoint === "createCheck" || endpoint === "updateCheck") {
          await expectReadAgain(cast, sent.key, reply);
        }
      });
      const examples = alwaysSent(dialect).map((sent): [Sent] => [sent]);
      await fc.assert(property, { examples, numRuns: REQUESTS + examples.length, endOnFailure: true });
      // Otherwise the property would hold for a server that refuses everything.
      const good = ROUTES.map(({ endpoint }) => `${endpoint} ${endpoint === "createCheck" ? 201 : 200}`);
      expect([...seen]).toEqual(expect.arrayContaining([...good, "updateCheck 400", "getCheck 404"]));
    },
    RUN_MS_MAX,
  );

  test(
    "whatever paths, methods and headers are made of, they are answered, and the server is well afterwards",
    async () => {
      const pool = new Pool(cast);
      await pool.fill();
      const [uuid = UNKNOWN_UUID] = pool.uuids;
      const port = Number(new URL(cast.site).port);
      const headers = fc.array(fc.tuple(fc.constantFrom(...HEADERS.split(" ")), headerValue), {
        maxLength: 4,
      });
      const paths = fc.array(SEGMENTS, { maxLength: 6 });
      const property = fc.asyncProperty(
        paths,
        fc.constantFrom(...METHODS),
        headers,
        async (path, method, sent) => {
          const lines = sent.map(([name, value]) => `${name}: ${value}\r\n`).join("");
          const place = path.join("/").replaceAll("UUID", uuid);
          const text = `${method} /api/v3/${place} HTTP/1.1\r\nHost: x\r\n${lines}Content-Length: 0\r\n\r\n`;
          const { status } = await rawRequest(port, text, { withoutBody: method === "HEAD" });
          expect(SAID_TO_BYTES, text).toContain(status);
        },
      );
      await fc.assert(property, { numRuns: RAW_REQUESTS, endOnFailure: true });
      expect((await cast.ask(`/api/v3/checks/${uuid}`, { key: cast.owner.rw })).status).toBe(200);
    },
    RUN_MS_MAX,
  );
});
