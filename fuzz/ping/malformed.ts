// Randomly generated malformed requests: each kind of fault has a name, and the bytes follow from the random source
// alone. Whether a server should refuse them is not decided here; some are merely unusual.
import type { Chance } from "../chance.ts";

/** What is sent on a connection, piece by piece, and how the connection is closed. */
export type Attempt = {
  /** The kind of fault. */
  fault: string;
  pieces: readonly Buffer[];
  /** "finish": we close our half and read. "stay": we read until the server closes. "abandon": we close immediately. */
  end: "finish" | "stay" | "abandon";
};

/** Targets of attempts: existing checks, and a key and a slug. */
export type Targets = { uuids: readonly [string, ...string[]]; pingKey: string; slug: string };

type Fault = (chance: Chance, targets: Targets) => Buffer | string | readonly (Buffer | string)[];

const CRLF = "\r\n";
const LONG_MAX = 40_000;
const LARGE_BODY_BYTES_MAX = 300_000;

type Parts = {
  method: string;
  path: string;
  version: string;
  headers: readonly string[];
  body: string;
  lineEnd: string;
};

function request(given: Partial<Parts>): string {
  const parts = {
    method: "GET",
    path: "/",
    version: "HTTP/1.1",
    headers: ["Host: localhost"],
    body: "",
    lineEnd: CRLF,
    ...given,
  };
  const { method, path, version, headers, body, lineEnd } = parts;
  return [`${method} ${path} ${version}`, ...headers, "", body].join(lineEnd);
}

function goodPath(chance: Chance, { uuids, pingKey, slug }: Targets): string {
  const action = chance.pick(["", "", "/start", "/fail", "/log", "/0", "/255"]);
  const isBySlug = chance.oneIn(8);
  return isBySlug ? `/ping/${pingKey}/${slug}${action}` : `/ping/${chance.pick(uuids)}${action}`;
}

function withBody(chance: Chance, targets: Targets, body: string): string {
  const headers = ["Host: localhost", `Content-Length: ${Buffer.byteLength(body, "latin1")}`];
  return request({ method: "POST", path: goodPath(chance, targets), headers, body });
}

/** Characters of one byte each, printable or not. */
function noise(chance: Chance, lengthMax: number): string {
  return chance.bytes(1 + chance.below(lengthMax)).toString("latin1");
}

function words(chance: Chance, lengthMax: number): string {
  const length = 1 + chance.below(lengthMax);
  return Array.from({ length }, () => String.fromCharCode(33 + chance.below(94))).join("");
}

function long(chance: Chance, piece: string): string {
  return piece.repeat(Math.ceil((1 + chance.below(LONG_MAX)) / piece.length));
}

const METHODS: readonly [string, ...string[]] = [
  "get",
  "PUT",
  "PATCH",
  "DELETE",
  "TRACE",
  "CONNECT",
  "PROPFIND",
  "M-SEARCH",
  "PRI",
  "QUERY",
  "G\0ET",
  "GET GET",
  "",
];

const ODD_PATHS: readonly [string, ...string[]] = [
  "",
  "*",
  "//",
  "/ping",
  "/ping/",
  "/ping//",
  "/ping/../ping/",
  "/./ping/%2e%2e/x",
  "ping/x",
  "http://",
  "http://localhost",
  "http://[::1/ping/x",
  "https://user:password@localhost/ping/x",
  "/ping/%",
  "/ping/%2",
  "/ping/%zz",
  "/ping/%00",
  "/ping/%c0%af",
  "/ping/%ff%fe",
  "/ping/%ed%a0%80",
  "/ping/a\\b",
  "/ping/x?rid",
  "/ping/x?%",
  "/ping/x#fragment",
  "/ping/key/slug/start/more",
  "/healthz",
  "/api/v3/checks/",
];

const ODD_ACTIONS: readonly [string, ...string[]] = [
  "256",
  "-1",
  "1e3",
  "00000000000000000001",
  "99999999999999999999",
  "START",
  "start/",
  "fail?",
  "log%00",
  "%73tart",
  "é",
  "",
  "..",
  " ",
];

const ODD_QUERIES: readonly [string, ...string[]] = [
  "rid=",
  "rid=x",
  "rid=%",
  "rid=11111111-1111-4111-8111-11111111111",
  "rid=11111111-1111-4111-8111-111111111111&rid=x",
  "create=1&create=%31",
  "create=1&rid=x",
  "=&=&=",
  "&&&&",
  "rid[]=1",
  "%00=%00",
  "at=",
  "at=1e400",
  "at=99999999999.999999999&ran=999999999",
  "at=0&ran=0.0000001",
  "at=2026-02-30T25:61:61Z",
  "at=0000-01-01T00:00:00Z",
  "at=9999-12-31T23:59:59-23:59",
  "at=%00&ran=%ff",
];

/** Names and values of settings that a new check can have. The check exists, or is created by one of them. */
const SETTINGS: readonly [string, ...string[]] = [
  "name",
  "tags",
  "desc",
  "timeout",
  "schedule",
  "tz",
  "grace",
  "start_within",
  "max_run",
  "min_run",
  "early",
  "keep_alive",
  "channels",
  "__proto__",
];

const ODD_VALUES: readonly [string, ...string[]] = [
  "",
  "0",
  "1h",
  "99999999999999999999",
  "-1",
  "%00",
  "%zz",
  "%ed%a0%80",
  "%0d%0aSet-Cookie:%20a=b",
  "%F0%9F%98%80".repeat(120),
  "*+*+*+*+*",
  "0+0+30+2+*",
  "Mon..Fri+*-*-*+25:00",
  "Europe/Riga",
  "../../etc/passwd",
];

/** Slugs that the run creates, at most. */
const NEW_SLUGS_MAX = 50;

/** A ping that creates a check with settings, or finds it created; or a late end. */
function settings(chance: Chance, { pingKey, uuids }: Targets): string {
  if (chance.oneIn(2)) {
    const at = `at=${Math.floor(chance.below(4_000_000_000))}&ran=${chance.below(1_000_000)}`;
    return request({ path: `/ping/${chance.pick(uuids)}${chance.pick(["", "/fail", "/3"])}?${at}` });
  }
  const pairs = Array.from({ length: chance.below(8) }, () => {
    const value = chance.oneIn(4) ? encodeURIComponent(noise(chance, 40)) : chance.pick(ODD_VALUES);
    return `${chance.pick(SETTINGS)}=${value}`;
  });
  return request({
    path: `/ping/${pingKey}/new-${chance.below(NEW_SLUGS_MAX)}?${["create=1", ...pairs].join("&")}`,
  });
}

const ODD_LENGTHS: readonly [string, ...string[]] = [
  "-1",
  "+1",
  "1e3",
  "0x10",
  "1,1",
  "1, 2",
  "18446744073709551616",
  "99999999999999999999",
  "",
  " ",
  "abc",
  "1 ",
  "٣",
];

const ODD_HEADERS: readonly [string, ...string[]] = [
  "NoColon",
  ": value",
  " Host: folded",
  "\tfolded",
  "Host : space",
  "Ho st: space",
  "Host: a\0b",
  "X: \x01\x02\x7f",
  "X: \xff\xfe",
  "Héader: x",
  "X: a\rb",
  "X: a\nb",
  "Host: a\r\nHost: b",
  "Host:",
  "Host: [::1",
  "Host: ../../",
  "Connection: keep-alive, close, upgrade",
  "Connection: Upgrade\r\nUpgrade: websocket",
  "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__",
  "Expect: 100-continue",
  "Expect: 200-ok",
  "Transfer-Encoding: identity",
  "Transfer-Encoding: gzip",
  "Transfer-Encoding: gzip, chunked",
  "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
  "Transfer-Encoding: xchunked",
  "Transfer-Encoding : chunked",
  "Content-Encoding: bomb",
  "Trailer: X",
  "TE: trailers, deflate;q=0.5",
  "X-Forwarded-For: 1.2.3.4, nonsense, ::::",
  "X-Forwarded-For: " + "1.1.1.1,".repeat(500),
  "X-Forwarded-For: \xff",
  "X-Forwarded-Proto: gopher",
  "X-Forwarded-Proto: \x80",
  "Range: bytes=0-99999999999999999999",
  "If-None-Match: *",
];

const CHUNK_SIZES: readonly [string, ...string[]] = [
  "zz",
  "-1",
  "ffffffffffffffffff",
  "7fffffff",
  "0x5",
  "",
  " 5",
  "5;" + "e".repeat(20_000),
  '5;a="\r\n"',
  "5\n",
];

const FOREIGN: readonly [Buffer, ...Buffer[]] = [
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x12\x04\0\0\0\0\0", "latin1"),
  Buffer.from("160301020001000001fc0303", "hex"),
  Buffer.from("EHLO localhost\r\nMAIL FROM:<>\r\n", "latin1"),
  Buffer.from("SSH-2.0-OpenSSH_9.6\r\n", "latin1"),
  Buffer.from("*1\r\n$4\r\nPING\r\n", "latin1"),
  Buffer.from("\0\0\0\x08\x04\xd2\x16\x2f", "latin1"),
  Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "latin1"),
];

/** A valid request with some of its bytes changed, removed or doubled. */
function mutilated(chance: Chance, targets: Targets): Buffer {
  const body = chance.oneIn(2) ? noise(chance, 200) : "";
  const bytes = Buffer.from(
    body === "" ? request({ path: goodPath(chance, targets) }) : withBody(chance, targets, body),
    "latin1",
  );
  let result = bytes;
  for (let times = 1 + chance.below(4); times > 0; times--) {
    const at = chance.below(result.length);
    const [before, after] = [result.subarray(0, at), result.subarray(at)];
    const kind = chance.below(4);
    if (kind === 0) result = Buffer.concat([before, chance.bytes(1), after.subarray(1)]);
    else if (kind === 1) result = Buffer.concat([before, after.subarray(1 + chance.below(20))]);
    else if (kind === 2) result = Buffer.concat([before, chance.bytes(1 + chance.below(20)), after]);
    else result = Buffer.concat([before, before.subarray(-chance.below(30)), after]);
  }
  return result;
}

function chunked(chance: Chance, targets: Targets): string {
  const headers = ["Host: localhost", "Transfer-Encoding: chunked"];
  const size = chance.pick(CHUNK_SIZES);
  const end = chance.pick(["0\r\n\r\n", "0\r\n", "0\r\nTrailer: x\r\n\r\n", "", "\r\n", "5\r\nabc"]);
  const body = `3\r\nabc\r\n${chance.oneIn(2) ? `${size}\r\nhello\r\n` : ""}${end}`;
  return request({ method: "POST", path: goodPath(chance, targets), headers, body });
}

function oddLength(chance: Chance, targets: Targets): string {
  const lengths = [`Content-Length: ${chance.pick(ODD_LENGTHS)}`];
  if (chance.oneIn(3)) lengths.push(`Content-Length: ${chance.below(9)}`);
  if (chance.oneIn(4)) lengths.push("Transfer-Encoding: chunked");
  const headers = ["Host: localhost", ...lengths];
  return request({ method: "POST", path: goodPath(chance, targets), headers, body: words(chance, 20) });
}

function cutOff(chance: Chance, targets: Targets): Buffer {
  const whole = Buffer.from(withBody(chance, targets, words(chance, 500)), "latin1");
  return whole.subarray(0, chance.below(whole.length));
}

function pipelined(chance: Chance, targets: Targets): (string | Buffer)[] {
  const pieces: (string | Buffer)[] = [];
  for (let times = 1 + chance.below(8); times > 0; times--) {
    pieces.push(request({ path: goodPath(chance, targets) }));
    if (chance.oneIn(3)) pieces.push(withBody(chance, targets, noise(chance, 50)));
  }
  pieces.push(chance.oneIn(2) ? noise(chance, 300) : chance.pick(ODD_HEADERS));
  return pieces;
}

/** Every kind of fault. */
const FAULTS: Readonly<Record<string, Fault>> = {
  method: (chance, targets) => {
    const method = chance.oneIn(3) ? words(chance, 40) : chance.pick(METHODS);
    return request({ method, path: goodPath(chance, targets) });
  },
  "long method": (chance) => request({ method: long(chance, "A") }),
  path: (chance) =>
    request({ path: chance.oneIn(3) ? `/ping/${noise(chance, 80)}` : chance.pick(ODD_PATHS) }),
  "long path": (chance) =>
    request({ path: `/ping/${long(chance, chance.pick(["a", "/a", "%61", "?a=1&"]))}` }),
  action: (chance, { uuids, pingKey, slug }) => {
    const base = chance.oneIn(3) ? `/ping/${pingKey}/${slug}` : `/ping/${chance.pick(uuids)}`;
    return request({ path: `${base}/${chance.pick(ODD_ACTIONS)}` });
  },
  query: (chance, targets) => {
    const query = chance.oneIn(3) ? words(chance, 100) : chance.pick(ODD_QUERIES);
    return request({ path: `${goodPath(chance, targets)}?${query}` });
  },
  settings,
  "unknown address": (chance) =>
    request({
      path: `/ping/${chance.oneIn(2) ? words(chance, 36) : "00000000-0000-4000-8000-000000000000"}`,
    }),
  "unknown key with create": (chance) =>
    request({ path: `/ping/${chance.bytes(11).toString("hex")}/slug?create=1` }),
  version: (chance, targets) => {
    const version = chance.pick([
      "HTTP/0.9",
      "HTTP/1.2",
      "HTTP/2.0",
      "HTTP/9.9",
      "HTTP/11",
      "http/1.1",
      "HTTP",
      "",
    ]);
    return request({ path: goodPath(chance, targets), version });
  },
  "no version": (chance, targets) => `GET ${goodPath(chance, targets)}\r\n\r\n`,
  header: (chance, targets) => {
    const odd = chance.oneIn(4) ? noise(chance, 100) : chance.pick(ODD_HEADERS);
    return request({ path: goodPath(chance, targets), headers: ["Host: localhost", odd] });
  },
  "long header": (chance, targets) =>
    request({ path: goodPath(chance, targets), headers: [`X: ${long(chance, "x")}`] }),
  "many headers": (chance, targets) => {
    const headers = Array.from({ length: 1 + chance.below(3_000) }, (_, index) => `X-${index}: 1`);
    return request({ path: goodPath(chance, targets), headers });
  },
  "no host": (chance, targets) => request({ path: goodPath(chance, targets), headers: [] }),
  length: oddLength,
  chunks: chunked,
  "body of noise": (chance, targets) => withBody(chance, targets, noise(chance, 3_000)),
  "large body": (chance, targets) =>
    withBody(chance, targets, "x".repeat(chance.below(LARGE_BODY_BYTES_MAX))),
  "bytes behind the body": (chance, targets) => `${withBody(chance, targets, "body")}${noise(chance, 200)}`,
  "cut off": cutOff,
  pipelined,
  "line ends": (chance, targets) =>
    request({ path: goodPath(chance, targets), lineEnd: chance.pick(["\n", "\r", "\n\r", "\r\r\n", "\0"]) }),
  "leading lines": (chance, targets) =>
    `${chance.pick(["\r\n", "\n\n\n", " ", "\t", "\0"]).repeat(1 + chance.below(30))}${request({ path: goodPath(chance, targets) })}`,
  mutilated,
  noise: (chance) => noise(chance, 2_000),
  "another protocol": (chance) => chance.pick(FOREIGN),
  nothing: () => "",
};

const NAMES = Object.keys(FAULTS) as [string, ...string[]];
/** One in this many senders does not wait for the response. */
const ABANDONED_ONE_IN = 25;
/** One in this many requests arrives in pieces. */
const IN_PIECES_ONE_IN = 10;
const PIECES_MAX = 5;

/** One attempt. */
export function malformedAttempt(chance: Chance, targets: Targets): Attempt {
  const fault = chance.pick(NAMES);
  const made = FAULTS[fault]?.(chance, targets) ?? "";
  const list = typeof made === "string" || Buffer.isBuffer(made) ? [made] : made;
  const bytes = Buffer.concat(
    list.map((one) => (typeof one === "string" ? Buffer.from(one, "latin1") : one)),
  );
  const end = chance.oneIn(ABANDONED_ONE_IN) ? "abandon" : "finish";
  return { fault, pieces: chance.oneIn(IN_PIECES_ONE_IN) ? inPieces(chance, bytes) : [bytes], end };
}

function inPieces(chance: Chance, bytes: Buffer): Buffer[] {
  const cuts = Array.from({ length: chance.below(PIECES_MAX) }, () => chance.below(bytes.length + 1));
  const places = [0, ...cuts.toSorted((one, other) => one - other), bytes.length];
  return places.slice(1).map((to, index) => bytes.subarray(places[index], to));
}
