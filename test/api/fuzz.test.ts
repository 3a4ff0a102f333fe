// Whatever is sent, the answer is one of those that are documented, in the form that is documented, and never 5xx.
// Bodies, queries, paths, headers and methods at random; the long runs have a command of their own.
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { PARAM_FIELDS } from "../../src/core/request/check-params.ts";
import { rawRequest } from "../ping/raw-http.ts";
import { checksAt, newCheck } from "./asking.ts";
import { type Cast, type Reply, useCast } from "./cast.ts";

const RUNS = 300;
const settings = { OVERDUE_API_RATE_LIMIT: "0" };
const cast = useCast({ settings });
const other = useCast({ dialect: "healthchecks", settings });
const STAGES: readonly Cast[] = [cast, other];

const uuids = new Map<Cast, string>();

beforeAll(async () => {
  for (const stage of STAGES) uuids.set(stage, (await newCheck(stage)).uuid);
});

const stages = fc.constantFrom(0, 1).map((index) => STAGES[index] ?? cast);
const versions = fc.constantFrom(1, 2, 3);

/** Texts as they are sent by mistake or on purpose. */
const texts = fc.oneof(
  fc.string({ unit: "binary", maxLength: 300 }),
  fc.string({ unit: "grapheme", maxLength: 120 }),
  fc.constantFrom(
    "",
    "*",
    ",",
    "\u0000",
    "\ud800",
    "'; drop table checks; --",
    "%s%n",
    "../../etc/passwd",
    "__proto__",
  ),
  fc.string({
    unit: fc.constantFrom("*", "/", "-", ",", " ", "0", "1", "5", "9", "M", "o", "n", "L", "#", ":"),
    maxLength: 60,
  }),
);
const values = fc.oneof(
  texts,
  fc.double(),
  fc.integer(),
  fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }).map((big) => ({ raw: big.toString() })),
  fc.boolean(),
  fc.constant(null),
  fc.array(texts, { maxLength: 4 }),
  fc.jsonValue({ maxDepth: 3 }),
);
const WIRE = PARAM_FIELDS.map(({ wire }) => wire);
const PLAUSIBLE: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  timeout: fc.integer({ min: 50, max: 90 }),
  grace: fc.integer({ min: 31_535_990, max: 31_536_010 }),
  schedule: fc.constantFrom("* * * * *", "0 0 30 2 *", "Mon 8:00", "*-*-31 0:00", "0 0 * * 0#5", "@daily"),
  tz: fc.constantFrom("UTC", "Europe/Riga", "America/St_Johns", "Mars/X"),
  unique: fc.subarray(["name", "slug", "tags", "timeout", "grace", "x"]),
  methods: fc.constantFrom("", "POST", "GET"),
  channels: fc.constantFrom("", "*", "x", ","),
  slug: fc.stringMatching(/^[a-z0-9_-]{0,101}$/),
  manual_resume: fc.boolean(),
  filter_subject: fc.boolean(),
  filter_body: fc.boolean(),
  filter_http_body: fc.boolean(),
  filter_default_fail: fc.boolean(),
};
/** A field of ours with a value that may be right, or that with any value, or any other. */
const members = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .constantFrom(...WIRE)
      .chain((name) => fc.tuple(fc.constant(name), PLAUSIBLE[name] ?? texts)),
  },
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom(...WIRE), values) },
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom("api_key", "toString", "constructor", "x"), values) },
);
const objects = fc.array(members, { maxLength: 6 }).map((pairs) => Object.fromEntries(pairs) as object);

/** JSON as it may come, with numbers that no reader of ours can hold. */
function written(value: object): string {
  return JSON.stringify(value, (_, one: unknown) => (isRaw(one) ? `@@${one.raw}@@` : one)).replace(
    /"@@(-?\d+)@@"/g,
    "$1",
  );
}

function isRaw(value: unknown): value is { raw: string } {
  return (
    typeof value === "object" &&
    value !== null &&
    "raw" in value &&
    typeof value.raw === "string" &&
    /^-?\d+$/.test(value.raw)
  );
}

const STATUSES = [200, 201, 304, 400, 401, 403, 404, 405, 409, 413];

function expectGood({
  status,
  json,
  headers,
  text,
}: Pick<Reply, "status" | "json" | "headers" | "text">): void {
  expect(STATUSES, text).toContain(status);
  expect(headers.get("access-control-allow-origin")).toBe("*");
  if (status < 400 || text === "") return;
  expect(Object.keys(json as object)).toEqual(["error"]);
  expect(text.length).toBeLessThan(5_000);
}

test("bodies of create and update", async () => {
  await fc.assert(
    fc.asyncProperty(stages, versions, fc.boolean(), objects, async (stage, version, isUpdate, body) => {
      const path = isUpdate ? (uuids.get(stage) ?? "") : "";
      const url = `/api/v${version}/checks/${path}`;
      const reply = await stage.ask(url, { method: "POST", key: stage.owner.rw, body: written(body) });
      expectGood(reply);
      if (reply.status >= 300) return;
      // What was taken can be read again, and says the same.
      const { update_url } = reply.json as { update_url: string };
      const again = await stage.ask(new URL(update_url).pathname, { key: stage.owner.rw });
      expect(again.status).toBe(200);
      expect(reply.json).toMatchObject(again.json as object);
    }),
    { numRuns: RUNS },
  );
});

test("bodies that are any bytes", async () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    objects
      .map((object) => Buffer.from(written(object)))
      .chain((good) =>
        fc
          .tuple(fc.nat(good.length), fc.uint8Array({ maxLength: 4 }))
          .map(([at, odd]) => Buffer.concat([good.subarray(0, at), odd, good.subarray(at + odd.length)])),
      ),
  );
  const paths = fc.constantFrom("", "UUID", "UUID/pause", "UUID/resume");
  await fc.assert(
    fc.asyncProperty(stages, versions, paths, bytes, async (stage, version, path, body) => {
      const url = `/api/v${version}/checks/${path.replace("UUID", uuids.get(stage) ?? "")}`;
      expectGood(await stage.ask(url, { method: "POST", key: stage.owner.rw, body: Buffer.from(body) }));
    }),
    { numRuns: RUNS },
  );
});

test("queries", async () => {
  const names = fc.oneof(
    fc.constantFrom("tag", "slug", "start", "end", "seconds"),
    fc.string({ maxLength: 5 }),
  );
  const queries = fc.oneof(
    fc
      .array(fc.tuple(names, texts), { maxLength: 6 })
      .map((pairs) =>
        new URLSearchParams(
          pairs.map(([name, text]): [string, string] => [name, text.toWellFormed()]),
        ).toString(),
      ),
    fc.string({
      unit: fc.constantFrom("%", "&", "=", "+", "t", "a", "g", "0", "f", "[", "]", ";", "?"),
      maxLength: 40,
    }),
    fc
      .tuple(fc.constantFrom("start", "end", "seconds"), fc.oneof(fc.double(), fc.integer(), fc.bigInt()))
      .map(([name, n]) => `${name}=${n}`),
  );
  const paths = fc.constantFrom(
    "checks/",
    "checks/UUID",
    "checks/UUID/flips/",
    "checks/UUID/pings/",
    "channels/",
    "badges/",
  );
  await fc.assert(
    fc.asyncProperty(stages, versions, paths, queries, async (stage, version, path, query) => {
      const url = `/api/v${version}/${path.replace("UUID", uuids.get(stage) ?? "")}?${query}`;
      expectGood(await stage.ask(url, { key: stage.owner.rw }));
    }),
    { numRuns: RUNS },
  );
});

const SEGMENTS = fc.oneof(
  fc.constantFrom(
    "checks",
    "UUID",
    "pause",
    "pings",
    "1",
    "body",
    "flips",
    "..",
    ".",
    "",
    "%2e%2e",
    "%00",
    "v3",
    "channels",
  ),
  fc.string({ unit: fc.constantFrom(...Array.from("abc/%.:;@&=+$,-_!~*'()019\u00ff")), maxLength: 30 }),
  fc.constantFrom("9".repeat(15), "9".repeat(16), "-1", "1e3", "0x1", "f".repeat(40), "a".repeat(200)),
);
const METHODS = fc.constantFrom(
  "GET",
  "POST",
  "DELETE",
  "HEAD",
  "PUT",
  "PATCH",
  "OPTIONS",
  "PROPFIND",
  "M-SEARCH",
  "TRACE",
);
const HEADERS = fc.array(
  fc.tuple(
    fc.constantFrom(
      "X-Api-Key",
      "If-None-Match",
      "Content-Type",
      "Accept",
      "X-Forwarded-For",
      "Authorization",
      "Cookie",
      "Expect",
      "Range",
    ),
    fc.string({
      unit: fc
        .integer({ min: 0x20, max: 0xff })
        .filter((code) => code !== 0x7f)
        .map((code) => String.fromCharCode(code)),
      maxLength: 60,
    }),
  ),
  { maxLength: 4 },
);

test("paths, methods and headers, byte by byte", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(SEGMENTS, { maxLength: 6 }), METHODS, HEADERS, async (path, method, sent) => {
      const place = path.join("/").replaceAll("UUID", uuids.get(cast) ?? "");
      const lines = sent.map(([name, value]) => `${name}: ${value}\r\n`).join("");
      const text = `${method} /api/v3/${place} HTTP/1.1\r\nHost: x\r\n${lines}Content-Length: 0\r\n\r\n`;
      const { status } = await rawRequest(Number(new URL(cast.site).port), text, {
        withoutBody: method === "HEAD",
      });
      expect([...STATUSES, 204, 100, 417], text).toContain(status);
    }),
    { numRuns: RUNS * 2 },
  );
});

test("the server is as well as before", async () => {
  for (const stage of STAGES) {
    expect((await stage.ask(checksAt() + (uuids.get(stage) ?? ""), { key: stage.owner.rw })).status).toBe(
      200,
    );
    expect((await stage.ask(checksAt(), { key: stage.owner.rw })).status).toBe(200);
  }
});
