// Requests to the routes of the dashboard that a browser would not send: unusual values in paths, queries and bodies,
// broken framing, missing or foreign cookies and origins. They follow from the random source alone.
import type { WebRoute } from "../../src/services/web/route.ts";
import type { Chance } from "../chance.ts";
import type { Attempt } from "../ping/malformed.ts";

/** A signed-in user, and their resources. */
export type Actor = { token: string; names: Readonly<Record<string, string>> };

export type WebTargets = {
  routes: readonly [WebRoute, ...WebRoute[]];
  origin: string;
  actors: readonly [Actor, ...Actor[]];
};

export type WebAttempt = Attempt & { route: WebRoute };

const CRLF = "\r\n";
const UNKNOWN_UUID = "00000000-0000-4000-8000-000000000000";
const NESTING_MAX = 20_000;
const LARGE_BYTES_MAX = 2 * 1024 * 1024;

const VALUES: readonly [unknown, ...unknown[]] = [
  null,
  "",
  "\0",
  "\ud800",
  "../../etc/passwd",
  "'; drop table checks; --",
  "<script>alert(1)</script>",
  "://:".repeat(5_000),
  '<a=""=">'.repeat(3_000),
  "* * * * *",
  "*/90 * * * *",
  "Europe/Riga",
  "http://127.0.0.1:1/",
  "someone@example.org",
  UNKNOWN_UUID,
  -1,
  0,
  1,
  60,
  0.5,
  1e308,
  2 ** 53,
  true,
  false,
  [],
  [null],
  ["x"],
  {},
  { __proto__: 1, constructor: "x" },
  "x".repeat(10_000),
  "é".repeat(300),
];

const TEXTS: readonly [string, ...string[]] = [
  "",
  "0",
  "1",
  "-1",
  "99999999999999999999",
  "\0",
  "%",
  "ü/../..",
  "..%2f..",
  UNKNOWN_UUID,
  "x".repeat(290),
  "x".repeat(3_000),
  "://:".repeat(700),
];

const TYPES: readonly [string, ...string[]] = [
  "application/json",
  "application/json",
  "application/json; charset=utf-8",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=x",
  "text/plain",
  "a",
  "",
];

type Parts = { method: string; path: string; headers: string[]; body: Buffer; length: string | null };

type Fault = (chance: Chance, parts: Parts, targets: WebTargets) => void;

/** Each changes a randomly generated request. */
const FAULTS: Readonly<Record<string, Fault>> = {
  none: () => {},
  "no length": (_chance, parts) => {
    parts.length = null;
    parts.body = Buffer.alloc(0);
  },
  "body cut short": (chance, parts) => {
    parts.length = String(parts.body.length + 1 + chance.below(1_000));
  },
  "body longer than said": (chance, parts) => {
    parts.length = String(chance.below(parts.body.length + 1));
  },
  "length twice": (chance, parts) => parts.headers.push(`Content-Length: ${chance.below(10)}`),
  "length and chunks": (_chance, parts) => parts.headers.push("Transfer-Encoding: chunked"),
  "broken chunks": (chance, parts) => {
    parts.length = null;
    parts.headers.push("Transfer-Encoding: chunked");
    parts.body = Buffer.concat([Buffer.from(`${chance.below(100).toString(16)}${CRLF}`), parts.body]);
  },
  "random body": (chance, parts) => setBody(parts, chance.bytes(1 + chance.below(5_000))),
  "cut json": (chance, parts) => setBody(parts, parts.body.subarray(0, chance.below(parts.body.length + 1))),
  "deep json": (chance, parts) => setBody(parts, Buffer.from("[".repeat(chance.below(NESTING_MAX)))),
  "many values": (chance, parts) =>
    setBody(parts, Buffer.from(JSON.stringify(Array.from({ length: chance.below(50_000) }, () => 1)))),
  "large body": (chance, parts) => setBody(parts, Buffer.alloc(chance.below(LARGE_BYTES_MAX), 0x61)),
  "strange cookie": (chance, parts, { actors }) => {
    const token = chance.pick(["", "x", "x".repeat(5_000), `${actors[0].token}x`, "a=b=c;;=", "%zz"]);
    parts.headers = parts.headers.filter((line) => !line.startsWith("Cookie:"));
    parts.headers.push(`Cookie: overdue_session=${token}; ;=;overdue_session=`);
  },
  "no cookie": (_chance, parts) => {
    parts.headers = parts.headers.filter((line) => !line.startsWith("Cookie:"));
  },
  "foreign origin": (chance, parts) => {
    const origin = chance.pick(["null", "https://evil.example", "http://localhost:1", "://:".repeat(500)]);
    parts.headers = parts.headers.filter((line) => !/^(?:Origin|Sec-Fetch-Site):/.test(line));
    parts.headers.push(`Origin: ${origin}`);
  },
  "other method": (chance, parts) => {
    parts.method = chance.pick(["HEAD", "OPTIONS", "TRACE", "PUT", "PATCH", "DELETE", "POST", "PROPFIND"]);
  },
  "strange headers": (chance, parts) => {
    const value = chance.pick(TEXTS).replaceAll("\0", "");
    for (const name of ["Accept", "Accept-Encoding", "If-None-Match", "Last-Event-Id", "X-Forwarded-For"])
      parts.headers.push(`${name}: ${value.slice(0, 2_000)}`);
  },
  expectation: (chance, parts) => parts.headers.push(`Expect: ${chance.pick(["100-continue", "x"])}`),
  upgrade: (_chance, parts) => parts.headers.push("Upgrade: websocket"),
  "random path": (chance, parts) => {
    parts.path = `/web/${chance
      .bytes(1 + chance.below(200))
      .toString("latin1")
      .replaceAll(/[\s\0]/g, "")}`;
  },
};

/** The number of kinds of faults. */
export const FAULT_KINDS = Object.keys(FAULTS) as [string, ...string[]];

/** One random request. */
export function webAttempt(chance: Chance, targets: WebTargets): WebAttempt {
  const route = chance.pick(targets.routes);
  const fault = chance.pick(FAULT_KINDS);
  const actor = chance.pick(targets.actors);
  const body = Buffer.from(JSON.stringify(bodyFor(chance, route)));
  const parts: Parts = {
    method: route.method,
    path: pathFor(chance, { route, actor }),
    headers: [
      `Host: ${new URL(targets.origin).host}`,
      `Origin: ${targets.origin}`,
      "Sec-Fetch-Site: same-origin",
      `Cookie: overdue_session=${actor.token}`,
      `Content-Type: ${chance.pick(TYPES)}`,
    ],
    body: route.method === "GET" ? Buffer.alloc(0) : body,
    length: route.method === "GET" ? null : String(body.length),
  };
  FAULTS[fault]?.(chance, parts, targets);
  // An event stream ends only when the client closes it, and an incomplete request at its timeout.
  const isEndless = route.name === "live" || /cut short|chunks/.test(fault);
  const end = isEndless || chance.oneIn(3) ? (chance.oneIn(10) ? "abandon" : "finish") : "stay";
  const times = fault === "none" && chance.oneIn(10) ? 3 : 1;
  const bytes = Buffer.concat(
    Array.from({ length: times }, (_, index) => bytesOf(parts, { isLast: index === times - 1 })),
  );
  const cutAt = chance.below(bytes.length);
  const pieces = chance.oneIn(4) ? [bytes.subarray(0, cutAt), bytes.subarray(cutAt)] : [bytes];
  return { route, fault, pieces, end };
}

function bytesOf({ method, path, headers, body, length }: Parts, { isLast }: { isLast: boolean }): Buffer {
  const lines = [
    `${method} ${path} HTTP/1.1`,
    ...headers,
    ...(length === null ? [] : [`Content-Length: ${length}`]),
    ...(isLast ? ["Connection: close"] : []),
  ];
  return Buffer.concat([Buffer.from(`${lines.join(CRLF)}${CRLF}${CRLF}`, "latin1"), body]);
}

function setBody(parts: Parts, body: Buffer): void {
  parts.body = body;
  parts.length = String(body.length);
}

function pathFor(chance: Chance, { route, actor }: { route: WebRoute; actor: Actor }): string {
  const isStrange = chance.oneIn(4);
  const path = route.path.replaceAll(/:(\w+)|\*/g, (_, name: string | undefined) => {
    const known = actor.names[name ?? ""];
    return encodeURIComponent(known === undefined || isStrange ? chance.pick(TEXTS) : known);
  });
  return path + queryFor(chance, route);
}

function queryFor(chance: Chance, { query }: WebRoute): string {
  const fields = fieldsOf(query);
  if (fields.length === 0 && !chance.oneIn(10)) return "";
  if (chance.oneIn(10)) return `?${chance.pick(["%zz=1&=&&x", "__proto__=1", "a=".repeat(1_000)])}`;
  const given = fields.filter(() => chance.oneIn(2));
  return given.length === 0
    ? ""
    : `?${given.map((field) => `${field}=${encodeURIComponent(chance.pick(TEXTS))}`).join("&")}`;
}

function bodyFor(chance: Chance, { body }: WebRoute): unknown {
  if (chance.oneIn(10)) return chance.pick(VALUES);
  const given = fieldsOf(body).filter(() => !chance.oneIn(3));
  return Object.fromEntries(given.map((field) => [field, chance.pick(VALUES)]));
}

function fieldsOf(schema: unknown): string[] {
  const { properties = {} } = (schema ?? {}) as { properties?: Record<string, unknown> };
  return Object.keys(properties);
}
