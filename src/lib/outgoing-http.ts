import ipaddr from "ipaddr.js";
import { lookup as systemLookup, type LookupAddress, type LookupOptions, Resolver } from "node:dns";
import { readFileSync, statSync } from "node:fs";
import type * as undici from "undici";
import type { buildConnector, Dispatcher, ProxyAgent } from "undici";

// HTTP requests to URLs given by users, protected against SSRF: errors, policy, name lookup, connections,
// proxy and client.

/** Loaded when a client is opened: a process that sends nothing does not need it. */
type Undici = typeof undici;

export type OutgoingErrorKind =
  /** Not attempted; a retry would not help. */
  "refused" | "timeout" | "unresolved" | "unconnected" | "tls" | "redirects" | "broken";

const TEXT: Readonly<Record<OutgoingErrorKind, string>> = {
  refused: "Refused",
  timeout: "Connection timed out",
  unresolved: "Could not resolve host",
  unconnected: "Connection failed",
  tls: "TLS handshake failed",
  redirects: "Too many redirects",
  broken: "HTTP request failed",
};

export type OutgoingErrorOptions = ErrorOptions & {
  text?: string;
  /** Whether the receiver may have accepted the request anyway. */
  mayHaveArrived?: boolean;
};

/** A request without an answer. The message may be shown; it contains nothing of the URL. */
export class OutgoingError extends Error {
  override readonly name = "OutgoingError";
  readonly kind: OutgoingErrorKind;
  readonly mayHaveArrived: boolean;

  constructor(kind: OutgoingErrorKind, { text, mayHaveArrived, ...options }: OutgoingErrorOptions = {}) {
    super(text ?? TEXT[kind], options);
    this.kind = kind;
    this.mayHaveArrived = mayHaveArrived ?? (kind === "timeout" || kind === "broken");
  }
}

type Diagnosis = { kind: OutgoingErrorKind; mayHaveArrived?: boolean };

const UNRESOLVED: Diagnosis = { kind: "unresolved" };
const UNCONNECTED: Diagnosis = { kind: "unconnected" };
const TIMEOUT: Diagnosis = { kind: "timeout" };
/** A request that cannot be serialized was not sent. */
const UNSENDABLE: Diagnosis = { kind: "broken", mayHaveArrived: false };

const CODES: ReadonlyMap<string, Diagnosis> = new Map([
  ["ENOTFOUND", UNRESOLVED],
  ["EAI_AGAIN", UNRESOLVED],
  ["EAI_NONAME", UNRESOLVED],
  ["ENODATA", UNRESOLVED],
  ["ECONNREFUSED", UNCONNECTED],
  ["EHOSTUNREACH", UNCONNECTED],
  ["ENETUNREACH", UNCONNECTED],
  ["EADDRNOTAVAIL", UNCONNECTED],
  ["EACCES", UNCONNECTED],
  ["EPERM", UNCONNECTED],
  ["EINVAL", UNCONNECTED],
  // The next two are errors of a proxy.
  ["UND_ERR_ABORTED", UNCONNECTED],
  ["UND_ERR_PRX_CONN", UNCONNECTED],
  ["UND_ERR_PRX_TLS", { kind: "tls" }],
  ["UND_ERR_CONNECT_TIMEOUT", { kind: "timeout", mayHaveArrived: false }],
  ["UND_ERR_HEADERS_TIMEOUT", TIMEOUT],
  ["UND_ERR_BODY_TIMEOUT", TIMEOUT],
  ["ETIMEDOUT", TIMEOUT],
  ["UND_ERR_INVALID_ARG", UNSENDABLE],
  ["UND_ERR_NOT_SUPPORTED", UNSENDABLE],
]);

const TLS_CODES = /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|EPROTO|HOSTNAME_MISMATCH)/;
const CAUSES_MAX = 5;

/** Converts an error of connecting, sending or reading to an OutgoingError. */
export function outgoingErrorOf(thrown: unknown): OutgoingError {
  for (let cause = thrown, depth = 0; cause instanceof Error && depth < CAUSES_MAX; depth += 1) {
    if (cause instanceof OutgoingError) return cause;
    const diagnosis = diagnosisOf(cause);
    if (diagnosis !== null) return new OutgoingError(diagnosis.kind, { ...diagnosis, cause: thrown });
    // Several addresses were tried; the first error is reported.
    cause = cause instanceof AggregateError ? cause.errors[0] : cause.cause;
  }
  return new OutgoingError("broken", { cause: thrown });
}

function diagnosisOf(error: Error): Diagnosis | null {
  if (error.name === "TimeoutError") return { kind: "timeout" };
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  return CODES.get(code) ?? (TLS_CODES.test(code) ? { kind: "tls" } : null);
}

// The policy checks schemes, ports and addresses without a lookup; names are checked when connecting.

export type DestinationPolicy = {
  /** Whether hosts in private networks may be reached, such as a local chat server. */
  allowPrivate: boolean;
};

/** Why a URL is not called. The texts are shown to the user who entered it. */
export const REFUSED = {
  incomplete: "Invalid URL",
  scheme: "Only http and https URLs are allowed",
  credentials: "Redirects to URLs that contain a user name or password are not followed",
  port: "This port is reserved for a protocol other than HTTP",
  address: "Connections to private IP addresses are not allowed",
} as const;

export type RefusedText = (typeof REFUSED)[keyof typeof REFUSED];

/** Private ranges. All other non-global addresses are never called. */
const PRIVATE_RANGES = new Set(["loopback", "private", "uniqueLocal", "carrierGradeNat"]);

/** Metadata services of cloud providers outside of the local ranges. */
const METADATA_ADDRESSES = new Set([
  "168.63.129.16",
  "100.100.100.200",
  "192.0.0.192",
  "fd00:ec2::254",
  "fd20:ce::254",
  "fd00:42::42",
]);

const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3");
/**
 * An obsolete form that resolvers still print. The parser treats it as a mapped address, which is a different one.
 */
const COMPATIBLE = /^[0:]*::(0:)*[0-9]+\./;
const NAT64 = ipaddr.IPv6.parseCIDR("64:ff9b::/96");

/** Whether an IP address may be connected to. Text that is none may not. */
export function isAllowedAddress(text: string, { allowPrivate }: DestinationPolicy): boolean {
  const bare = text.replace(/^\[|\]$/g, "").replace(/%.*$/s, "");
  if (!ipaddr.isValid(bare) || COMPATIBLE.test(bare)) return false;
  // An IPv4-mapped IPv6 address is checked as IPv4.
  const address = ipaddr.process(bare);
  if (METADATA_ADDRESSES.has(address.toString())) return false;
  if (address instanceof ipaddr.IPv6 && address.match(NAT64)) return isGlobal(embedded(address));
  return isGlobal(address) || (allowPrivate && PRIVATE_RANGES.has(address.range()));
}

function isGlobal(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address.range() !== "unicast" || METADATA_ADDRESSES.has(address.toString())) return false;
  // Obsolete forms of IPv4 in IPv6 lie outside of the allocated space.
  return address instanceof ipaddr.IPv4 || address.match(GLOBAL_UNICAST);
}

/** The target of an address translator: machines without IPv4 reach all of it in this way. */
function embedded(address: ipaddr.IPv6): ipaddr.IPv4 {
  return new ipaddr.IPv4(address.toByteArray().slice(-4));
}

/** Whether a host of a URL is an address, not a name. */
export function isLiteralAddress(hostname: string): boolean {
  return ipaddr.isValid(hostname.replace(/^\[|\]$/g, ""));
}

/** Names of the machine itself, without a lookup. */
const OWN_NAME = /^(.+\.)?localhost\.?$/i;

/**
 * Checks a URL while the user types it: "private" if only the server's policy forbids it, "never", "port", or
 * null. A name may still be rejected after its lookup.
 */
export function foreseenRefusal(url: URL, policy: DestinationPolicy): "private" | "never" | "port" | null {
  const bare = new URL(url);
  // Also removed before the request; see takeLogin.
  bare.username = "";
  bare.password = "";
  if (OWN_NAME.test(bare.hostname)) bare.hostname = "127.0.0.1";
  const refusal = refusalOfUrl(bare, policy);
  if (refusal === null) return null;
  if (refusal === REFUSED.port) return "port";
  if (refusal !== REFUSED.address) return "never";
  return refusalOfUrl(bare, { ...policy, allowPrivate: true }) === null ? "private" : "never";
}

/** Ports of other protocols that might interpret a request as a command. */
const FOREIGN_PORTS: ReadonlySet<number> = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
  109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515,
  526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1433, 1521, 1719, 1720,
  1723, 2049, 2375, 2376, 3306, 3389, 3659, 4045, 4190, 5060, 5061, 5432, 6000, 6379, 6566, 6665, 6666, 6667,
  6668, 6669, 6679, 6697, 9042, 10080, 11211, 27017,
]);

const PORT_OF_SCHEME = new Map([
  ["http:", 80],
  ["https:", 443],
]);

/** Why a URL must not be called, without a lookup; null if it may. */
export function refusalOfUrl(url: URL, policy: DestinationPolicy): RefusedText | null {
  const usual = PORT_OF_SCHEME.get(url.protocol);
  if (usual === undefined) return REFUSED.scheme;
  if (url.username !== "" || url.password !== "") return REFUSED.credentials;
  if (FOREIGN_PORTS.has(url.port === "" ? usual : Number(url.port))) return REFUSED.port;
  if (isLiteralAddress(url.hostname) && !isAllowedAddress(url.hostname, policy)) return REFUSED.address;
  return null;
}

// Name lookups for URLs given by users. The system resolver uses the few threads of the process, two at a
// time, and may take half a minute for a name whose server does not answer, which would delay lookups of the
// database and mail servers. So names are first resolved by DNS without threads, and by the system one at a
// time.

export type NameLookup = (
  hostname: string,
  options: LookupOptions & { all: true },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

type Resolve = (
  hostname: string,
  done: (error: NodeJS.ErrnoException | null, addresses: string[]) => void,
) => void;

export type NameLookupDeps = {
  resolve4: Resolve;
  resolve6: Resolve;
  system: NameLookup;
  /** Whether the hosts file of this machine has a name, which then takes precedence over DNS. */
  isListed: (hostname: string) => boolean;
};

const DNS_TIMEOUT_MS = 2_000;
const DNS_TRIES = 2;
/** Lookups waiting for the system resolver; further ones fail. */
export const WAITING_MAX = 100;

/** The name servers do not answer. The system would query them again and delay other lookups. */
const UNANSWERED_CODES = ["ETIMEOUT", "ESERVFAIL"];

type Asked = { hostname: string; options: LookupOptions & { all: true }; done: Parameters<NameLookup>[2] };

/** A lookup that never occupies more than one thread. */
export function nameLookup({ resolve4, resolve6, system, isListed }: NameLookupDeps): NameLookup {
  const waiting: Asked[] = [];
  let isAsking = false;
  const askNext = () => {
    const next = isAsking ? undefined : waiting.shift();
    if (next === undefined) return;
    isAsking = true;
    system(next.hostname, next.options, (error, addresses) => {
      isAsking = false;
      next.done(error, addresses);
      askNext();
    });
  };
  const askSystem = (asked: Asked) => {
    if (waiting.length >= WAITING_MAX)
      return asked.done(passing(`too many concurrent DNS lookups: ${asked.hostname}`), []);
    waiting.push(asked);
    askNext();
  };
  return (hostname, options, done) => {
    const asked = { hostname, options, done };
    // Single-label names can only be resolved by the system: by its hosts file or search domain.
    const isOfOneLabel = !hostname.replace(/\.$/, "").includes(".");
    if (isOfOneLabel || hostname.endsWith(".localhost") || isListed(hostname)) return askSystem(asked);
    const wanted = familiesOf(options);
    const found: LookupAddress[] = [];
    let left = wanted.length;
    let isUnanswered = false;
    for (const family of wanted) {
      (family === 4 ? resolve4 : resolve6)(hostname, (error, addresses) => {
        if (error === null) found.push(...addresses.map((address) => ({ address, family })));
        else if (UNANSWERED_CODES.includes(error.code ?? "")) isUnanswered = true;
        left -= 1;
        if (left > 0) return;
        if (found.length === 0) {
          return isUnanswered ? done(passing(`no DNS server responds: ${hostname}`), []) : askSystem(asked);
        }
        done(
          null,
          found.toSorted((one, other) => one.family - other.family),
        );
      });
    }
  };
}

function familiesOf({ family }: LookupOptions): number[] {
  if (family === 4 || family === "IPv4") return [4];
  return family === 6 || family === "IPv6" ? [6] : [4, 6];
}

/** A temporary error with the system's code. */
function passing(message: string): NodeJS.ErrnoException {
  return Object.assign(new Error(message), { code: "EAI_AGAIN" });
}

const HOSTS_FILE = "/etc/hosts";
/** A longer file is not read, because it is read in the event loop; its names are looked up in DNS first. */
const HOSTS_BYTES_MAX = 1024 * 1024;

/** Reads a hosts file when it has changed. */
export function hostsList(path: string): (hostname: string) => boolean {
  let version = "";
  let names: ReadonlySet<string> = new Set();
  return (hostname) => {
    const stat = statSync(path, { throwIfNoEntry: false });
    const found = stat === undefined ? "" : `${stat.ino} ${stat.mtimeMs} ${stat.size}`;
    if (found !== version) {
      names = stat === undefined || stat.size > HOSTS_BYTES_MAX ? new Set() : namesIn(path);
      version = found;
    }
    return names.has(hostname.toLowerCase().replace(/\.$/, ""));
  };
}

function namesIn(path: string): Set<string> {
  try {
    const lines = readFileSync(path, "utf8").toLowerCase().split("\n");
    return new Set(lines.flatMap((line) => (line.split("#")[0] ?? "").trim().split(/\s+/).slice(1)));
  } catch {
    return new Set();
  }
}

const resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: DNS_TRIES });

/** The hosts file of this machine. */
const guardedNameLookup = nameLookup({
  resolve4: (hostname, done) => resolver.resolve4(hostname, done),
  resolve6: (hostname, done) => resolver.resolve6(hostname, done),
  system: systemLookup,
  isListed: hostsList(HOSTS_FILE),
});

// Connections for URLs given by users. A literal address is checked before, a name by each of its addresses,
// and the peer again after connecting, because a name may resolve differently a moment later.

const CONNECT_MS_MAX = 10_000;

type LookupDone = (
  error: NodeJS.ErrnoException | null,
  address: string | LookupAddress[],
  family?: number,
) => void;

/** `lookup` is for tests. */
export type ConnectorOptions = DestinationPolicy & { lookup?: NameLookup };

/** An undici connector for allowed addresses only. */
function guardedConnector(undici: Undici, options: ConnectorOptions): buildConnector.connector {
  // One request per connection at a time, so that slow ones delay no others.
  const connect = undici.buildConnector({
    timeout: CONNECT_MS_MAX,
    allowH2: false,
    lookup: guardedLookup(options),
  });
  return (target, done) => {
    const { hostname } = target;
    if (isLiteralAddress(hostname) && !isAllowedAddress(hostname, options)) {
      return done(new OutgoingError("refused", { text: REFUSED.address }), null);
    }
    connect(target, (error, socket) => {
      // On failure there is no socket, whatever the types say.
      if (error !== null) return done(error, null);
      if (isAllowedAddress(socket.remoteAddress ?? "", options)) return done(null, socket);
      socket.destroy();
      return done(new OutgoingError("refused", { text: REFUSED.address }), null);
    });
  };
}

/** The allowed addresses of a name; an error if there are none. */
function guardedLookup(
  options: ConnectorOptions,
): (hostname: string, lookup: LookupOptions, done: LookupDone) => void {
  const { lookup = guardedNameLookup } = options;
  return (hostname, wanted, done) => {
    lookup(hostname, { ...wanted, all: true }, (error, addresses) => {
      if (error !== null) return done(error, []);
      const allowed = addresses.filter(({ address }) => isAllowedAddress(address, options));
      const [first] = allowed;
      if (first === undefined) return done(new OutgoingError("refused", { text: REFUSED.address }), []);
      if (wanted.all === true) return done(null, allowed);
      return done(null, first.address, first.family);
    });
  };
}

/**
 * Whether every address of a name is allowed. Stricter than for direct connections, because a proxy may pick
 * any of them.
 */
function judgeName(hostname: string, options: ConnectorOptions): Promise<void> {
  const { lookup = guardedNameLookup } = options;
  return new Promise((resolve, reject) => {
    lookup(hostname, { all: true }, (error, addresses) => {
      if (error !== null) return reject(error);
      const isAllowed =
        addresses.length > 0 && addresses.every(({ address }) => isAllowedAddress(address, options));
      return isAllowed ? resolve() : reject(new OutgoingError("refused", { text: REFUSED.address }));
    });
  });
}

// Direct connections, or a proxy. Either way, the target is checked first.

export type OutgoingRoute = {
  /** Throws for a target that may not be called. */
  judge(url: URL, signal: AbortSignal): Promise<void>;
  /** The dispatcher of the next request. */
  dispatcher(): Dispatcher;
  /** Pending requests fail; a hanging connection is not waited for. */
  close(): Promise<void>;
};

/** Many channels share the few hosts of the large providers. */
const CONNECTIONS_PER_ORIGIN_MAX = 32;
const KEEP_ALIVE_MS = 4_000;
/** A proxy client keeps every plain origin it was used for; it is replaced before there are many. */
const PROXIED_REQUESTS_MAX = 1_000;

const LIMITS = {
  connections: CONNECTIONS_PER_ORIGIN_MAX,
  keepAliveTimeout: KEEP_ALIVE_MS,
  // Overrides the keep-alive time that the server requests.
  keepAliveMaxTimeout: KEEP_ALIVE_MS,
  allowH2: false,
};

/** Direct connections, or through the proxy. */
function outgoingRoute(
  undici: Undici,
  options: ConnectorOptions & { proxyUrl?: string | null },
): OutgoingRoute {
  const { proxyUrl = null } = options;
  return proxyUrl === null ? directRoute(undici, options) : proxiedRoute(undici, { uri: proxyUrl, options });
}

function directRoute(undici: Undici, options: ConnectorOptions): OutgoingRoute {
  const agent = new undici.Agent({ ...LIMITS, connect: guardedConnector(undici, options) });
  return {
    judge: async (url) => refuseByUrl(url, options),
    dispatcher: () => agent,
    close: () => agent.destroy(),
  };
}

/** With a proxy, names are looked up here as well, to check their addresses. */
function proxiedRoute(
  undici: Undici,
  { uri, options }: { uri: string; options: ConnectorOptions },
): OutgoingRoute {
  let agent = new undici.ProxyAgent({ ...LIMITS, uri });
  let requests = 0;
  const retired = new Set<ProxyAgent>();
  return {
    judge: async (url, signal) => {
      refuseByUrl(url, options);
      if (!isLiteralAddress(url.hostname)) await within(signal, judgeName(url.hostname, options));
    },
    dispatcher: () => {
      requests += 1;
      if (requests > PROXIED_REQUESTS_MAX) {
        const old = agent;
        retired.add(old);
        // Ends after its last request, or fails when everything is closed.
        const forget = () => retired.delete(old);
        void old.close().then(forget, forget);
        agent = new undici.ProxyAgent({ ...LIMITS, uri });
        requests = 1;
      }
      return agent;
    },
    close: async () => {
      await Promise.all([agent, ...retired].map((one) => one.destroy()));
    },
  };
}

function refuseByUrl(url: URL, options: ConnectorOptions): void {
  const refusal = refusalOfUrl(url, options);
  if (refusal !== null) throw new OutgoingError("refused", { text: refusal });
}

/** A lookup that takes longer than the whole request may take is abandoned. */
async function within(signal: AbortSignal, looking: Promise<void>): Promise<void> {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = () => reject(new OutgoingError("timeout", { mayHaveArrived: false }));
  signal.addEventListener("abort", stop, { once: true });
  try {
    await Promise.race([looking, promise]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

// The HTTP client for URLs given by users: checked before each hop, limited in time and size. It does not
// retry.

export type OutgoingRequest = {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  url: string;
  headers?: Readonly<Record<string, string>>;
  body?: string | Uint8Array;
  /** Less than the usual time for everything, redirects included. */
  timeoutMs?: number;
  /** Read more of the response than usual. */
  answerBytesMax?: number;
};

export type OutgoingResponse = {
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The beginning of the body as text. */
  text: string;
};

/** A response whose bytes matter, such as a list of another server. The caller sets the limits. */
export type OutgoingDownload = {
  url: string;
  headers?: Readonly<Record<string, string>>;
  timeoutMs: number;
  bytesMax: number;
};

export type DownloadedResponse = {
  status: number;
  headers: OutgoingResponse["headers"];
  bytes: Uint8Array;
  /** False if the response has more bytes than allowed. */
  isWhole: boolean;
};

export type GuardedHttp = {
  /** The final response, whatever its status. Throws OutgoingError. */
  send(what: OutgoingRequest): Promise<OutgoingResponse>;
  /** The same for a GET request, with the bytes of the response. */
  download(what: OutgoingDownload): Promise<DownloadedResponse>;
  close(): Promise<void>;
};

export type GuardedHttpOptions = ConnectorOptions & {
  userAgent: string;
  /** A proxy for all requests. The target is checked first. */
  proxyUrl?: string | null;
};

const TIMEOUT_MS_MAX = 30_000;
const REDIRECTS_MAX = 3;
const ANSWER_BYTES_MAX = 64 * 1024;
/** For any request. */
const ANSWER_BYTES_LIMIT = 4 * 1024 * 1024;
const REDIRECT_STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Headers that belong to the body, or to the original server. */
const BODY_HEADERS: ReadonlySet<string> = new Set(["content-type", "content-encoding", "content-language"]);

/** Headers of routing and framing. A proxy might use `host` instead of the checked URL. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Whether a header is reserved; a given value is ignored. */
export function isOwnHeader(name: string): boolean {
  return OWN_HEADERS.has(name.toLowerCase());
}

type Hop = {
  method: OutgoingRequest["method"];
  url: URL;
  headers: Record<string, string>;
  body: string | Uint8Array | null;
};

/** A client that keeps connections for a moment. Close it at the end. */
export function guardedHttp(options: GuardedHttpOptions): GuardedHttp {
  const opened = import("undici").then((undici) => ({ undici, way: outgoingRoute(undici, options) }));
  const call = async (
    what: OutgoingRequest,
    { timeoutMs, bytesMax }: { timeoutMs: number; bytesMax: number },
  ): Promise<DownloadedResponse> => {
    const client = await opened;
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      return await follow(firstHop(what, options.userAgent), { ...client, signal, bytesMax });
    } catch (error) {
      throw outgoingErrorOf(error);
    }
  };
  return {
    send: async (what) => {
      const { status, headers, bytes } = await call(what, {
        timeoutMs: Math.min(what.timeoutMs ?? TIMEOUT_MS_MAX, TIMEOUT_MS_MAX),
        bytesMax: Math.min(what.answerBytesMax ?? ANSWER_BYTES_MAX, ANSWER_BYTES_LIMIT),
      });
      return {
        status,
        headers,
        text: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8"),
      };
    },
    download: (what) => call({ method: "GET", ...what }, what),
    close: async () => (await opened).way.close(),
  };
}

function firstHop({ method, url: text, headers = {}, body }: OutgoingRequest, userAgent: string): Hop {
  if (!URL.canParse(text)) throw new OutgoingError("refused", { text: REFUSED.incomplete });
  const url = new URL(text);
  const named = Object.entries(headers)
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .filter(([name]) => !OWN_HEADERS.has(name));
  return {
    method,
    headers: { "user-agent": userAgent, ...takeLogin(url), ...Object.fromEntries(named) },
    url,
    body: body ?? null,
  };
}

/** Credentials in the URL become an Authorization header, as in browsers and curl. */
function takeLogin(url: URL): Record<string, string> {
  const { username, password } = url;
  if (username === "" && password === "") return {};
  url.username = "";
  url.password = "";
  const login = Buffer.from(`${decodedLogin(username)}:${decodedLogin(password)}`, "utf8");
  return { authorization: `Basic ${login.toString("base64")}` };
}

function decodedLogin(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A literal %.
    return text;
  }
}

async function follow(
  first: Hop,
  {
    undici,
    way,
    signal,
    bytesMax,
  }: { undici: Undici; way: OutgoingRoute; signal: AbortSignal; bytesMax: number },
): Promise<DownloadedResponse> {
  let hop = first;
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
    await way.judge(hop.url, signal);
    const { method, url, headers, body } = hop;
    const dispatcher = way.dispatcher();
    const answer = await undici.request(url.href, { method, headers, body, dispatcher, signal });
    const location = REDIRECT_STATUSES.has(answer.statusCode) ? answer.headers["location"] : undefined;
    const { bytes, isWhole } = await readBeginning(answer.body, bytesMax);
    if (typeof location !== "string") {
      return { status: answer.statusCode, headers: answer.headers, bytes, isWhole };
    }
    hop = nextHop(hop, { status: answer.statusCode, location });
  }
  throw new OutgoingError("redirects");
}

function nextHop(hop: Hop, { status, location }: { status: number; location: string }): Hop {
  if (!URL.canParse(location, hop.url.href)) throw new OutgoingError("broken", { mayHaveArrived: false });
  const url = new URL(location, hop.url.href);
  const becomesGet = status === 303 || (hop.method === "POST" && (status === 301 || status === 302));
  // Headers for one server, especially credentials, are not sent to another.
  const stays = url.origin === hop.url.origin;
  const headers = Object.entries(hop.headers).filter(
    ([name]) =>
      (stays || name === "user-agent" || BODY_HEADERS.has(name)) && !(becomesGet && BODY_HEADERS.has(name)),
  );
  return {
    url,
    method: becomesGet ? "GET" : hop.method,
    headers: Object.fromEntries(headers),
    body: becomesGet ? null : hop.body,
  };
}

/** An endless response is read for a limited time. */
async function readBeginning(
  body: Dispatcher.ResponseData["body"],
  bytesMax: number,
): Promise<Pick<DownloadedResponse, "bytes" | "isWhole">> {
  const chunks: Buffer[] = [];
  let count = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    count += chunk.length;
    // Leaving the loop closes the connection.
    if (count > bytesMax) break;
  }
  return { bytes: Buffer.concat(chunks).subarray(0, bytesMax), isWhole: count <= bytesMax };
}
