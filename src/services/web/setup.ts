// The setup pages: the public URL, the test email, and the wait for the first ping.
import { randomUUID } from "node:crypto";
import { pingUrl } from "../../contract/urls.ts";
import {
  AddressQuery,
  type AddressReport,
  type AddressTest,
  type Arrival,
  type Echo,
  type MailTest,
  MailTestRequest,
  type NearMiss,
  type Problem,
  type SetUp,
  type Waiting,
} from "../../contract/api/setup.ts";
import { curlLine } from "../../contract/api/words.ts";
import { mayDo } from "../../core/access.ts";
import { isUuid } from "../../core/identity.ts";
import { MINUTE_MS } from "../../core/instant.ts";
import { basePath } from "../../lib/http/request-target.ts";
import { listPings, type Ping } from "../../store/pings.ts";
import {
  accountRoute,
  type CheckRequest,
  checkRoute,
  openRoute,
  type SetupContext,
  WebRefusal,
  type WebRoute,
} from "./route.ts";

export type MissedRequest = { method: string; target: string };

/** What is known of the check that a first ping is waited for. */
export type WaitedFor = {
  uuid: string;
  slug: string;
  pingKey: string | null;
  /** The path in front of a UUID in this installation, such as "/ping". */
  pingPath: string;
};

const METHODS_TAKEN = ["GET", "HEAD", "POST"];
const ACTIONS = "start, fail, log or an exit code from 0 to 255";
const SIGNAL = /^(start|fail|log|\d{1,3})$/;
/** Beyond these it is another UUID, and not a slip. */
const DIFFERENCES_MAX = 4;
const CUT_LENGTH_MIN = 8;
const UUID_LENGTH = 36;

/** What is wrong, as a sentence or two; null when nothing says that this check was meant. */
export function explainMiss({ method, target }: MissedRequest, check: WaitedFor): string | null {
  const path = pathOf(target);
  const segments = path.split("/").filter((segment) => segment !== "");
  const at = segments.findIndex((segment) => segment.toLowerCase() === check.uuid);
  if (at !== -1) return explainRightUuid({ method, segments, at }, check);
  if (check.pingKey !== null && segments.includes(check.pingKey)) return explainRightKey(segments, check);
  const near = segments.map((segment) => explainNearUuid(segment.toLowerCase(), check.uuid));
  return near.find((text) => text !== null) ?? null;
}

/**
 * What a stranger's request looks like to whoever runs the installation; null when it was no try to ping, or when it
 * may have failed for another reason than that there is no such check.
 */
export function explainUnmatched({ method, target }: MissedRequest, pingPath: string): string | null {
  const segments = pathOf(target).split("/").filter(Boolean);
  const at = segments.findIndex((segment) => isUuid(segment.toLowerCase()));
  const uuid = segments[at];
  if (uuid === undefined || `/${segments.slice(0, at).join("/")}` !== pingPath) return null;
  const [action, ...rest] = segments.slice(at + 1);
  const isSignal = rest.length === 0 && (action === undefined || SIGNAL.test(action));
  if (!isSignal || !METHODS_TAKEN.includes(method)) return null;
  return `No check with the UUID ${uuid}. It may have been deleted, or belong to another server.`;
}

function explainRightUuid(
  { method, segments, at }: { method: string; segments: readonly string[]; at: number },
  { pingPath, uuid }: WaitedFor,
): string | null {
  const before = `/${segments.slice(0, at).join("/")}`;
  const after = segments.slice(at + 1);
  if (before !== pingPath && (before === "/" || !before.endsWith(pingPath))) {
    return `The UUID is correct, but the path before it is "${before}" instead of "${pingPath}". Use ${pingPath}/${uuid}`;
  }
  if (!METHODS_TAKEN.includes(method)) {
    return `The URL is correct, but the method is ${method}. Use ${METHODS_TAKEN.join(", ")}.`;
  }
  if (after.length > 0) {
    return `The UUID is correct, but "/${after.join("/")}" after it is not valid. Use ${ACTIONS}, or nothing.`;
  }
  return null;
}

function explainRightKey(segments: readonly string[], { pingKey, slug }: WaitedFor): string {
  const given = segments[segments.indexOf(pingKey ?? "") + 1];
  const wanted =
    slug === "" ? "This check has no slug yet. Add one, or use its UUID." : `The slug is "${slug}".`;
  if (given === undefined) return `The ping key is correct, but the slug after it is missing. ${wanted}`;
  if (given === slug)
    return `The ping key and slug are correct, but the rest of the URL is not valid. Use ${ACTIONS}, or nothing.`;
  return `The ping key is correct, but no check has the slug "${given}". ${wanted} To create a check with the slug you sent, add ?create=1.`;
}

function explainNearUuid(given: string, wanted: string): string | null {
  if (given.length < CUT_LENGTH_MIN || given.length > UUID_LENGTH + DIFFERENCES_MAX) return null;
  if (given.length < UUID_LENGTH && wanted.startsWith(given)) {
    return `The UUID is incomplete: only ${given.length} of ${UUID_LENGTH} characters.`;
  }
  if (given.length < UUID_LENGTH && wanted.endsWith(given)) {
    return `The first ${UUID_LENGTH - given.length} characters of the UUID are missing.`;
  }
  if (given.replaceAll("-", "") === wanted.replaceAll("-", ""))
    return "The hyphens in the UUID are missing or misplaced.";
  const differences = editDistance(given, wanted);
  if (differences > DIFFERENCES_MAX) return null;
  const count = differences === 1 ? "one character" : `${differences} characters`;
  return `The UUID differs from this check's UUID by ${count}. Copy the command again.`;
}

/** How many characters have to be changed, added or removed to make one of the other. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const same = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(same, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}

function pathOf(target: string): string {
  const path = target.split("?", 1)[0] ?? "";
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

const SHOWN_MAX = 5;
/** Older tries belong to another story. */
const MISSES_AGE_MS = 15 * MINUTE_MS;
/** Misses are dated by the clock of this process, checks by that of the database. */
const CLOCKS_APART_MS = 1_000;
const SHOWN_KINDS = { success: "success", start: "start", fail: "fail", log: "log", ign: "ignored" } as const;

/** The answer for a check; misses of strangers are shown to whoever runs the installation only. */
async function waitingFor({ context, account, project, role, check, now }: CheckRequest): Promise<Waiting> {
  const { uuid, settings } = check;
  const pings = await listPings(context.database, { checkId: check.id, afterN: 0, limit: SHOWN_MAX });
  const wanted = {
    uuid,
    slug: settings.slug,
    // Tries with the ping key show it.
    pingKey: mayDo(role, "manageKeys") ? project.pingKey : null,
    pingPath: basePath(new URL(context.urls.ping)),
  };
  // Before it was there, nobody can have meant it.
  const ageMs = Math.min(MISSES_AGE_MS, context.now() - check.createdAt + CLOCKS_APART_MS);
  const nearMisses = context.setUp.missesSince(Date.now() - ageMs).flatMap((miss): NearMiss[] => {
    const text =
      explainMiss(miss, wanted) ?? (account.isOperator ? explainUnmatched(miss, wanted.pingPath) : null);
    if (text === null) return [];
    const { at, method, remoteAddr, ua } = miss;
    return [{ at, method, remoteAddr, ua, address: `${miss.host}${miss.target}`, text }];
  });
  const address = pingUrl(context.urls, uuid);
  const onlyPost = settings.methods === "POST";
  return {
    now,
    channels: check.channelUuids.length,
    arrivals: pings.map(arrivalOf),
    nearMisses: nearMisses.slice(0, SHOWN_MAX),
    curl: curlLine(address, { onlyPost }),
    hints: hintsFor({ address, onlyPost, ignored: pings.some(({ kind }) => kind === "ign") }),
  };
}

function arrivalOf({ n, at, kind, scheme, method, remoteAddr, ua }: Ping): Arrival {
  const by = scheme === "email" ? "email" : "http";
  return { n, at, kind: SHOWN_KINDS[kind], by, method, remoteAddr, ua };
}

function hintsFor(at: { address: string; onlyPost: boolean; ignored: boolean }): string[] {
  const { protocol, hostname } = new URL(at.address);
  const hints: string[] = [];
  if (at.ignored) {
    hints.push(
      at.onlyPost
        ? "Received a request with a method other than POST. This check accepts only POST, so the request was logged and ignored."
        : "Received a ping, but the keyword filters of this check ignored it.",
    );
  }
  if (hostname === "localhost" || hostname.startsWith("127.") || hostname === "[::1]") {
    hints.push(
      "This URL works only on this machine. For jobs on other machines, set OVERDUE_SITE_URL to a host name they can reach.",
    );
  }
  if (protocol === "https:") {
    hints.push(
      "The URL uses HTTPS. Most proxies redirect HTTP requests, and curl follows redirects only with -L.",
    );
  }
  return hints;
}

// Tests the public URL: what a browser's request looks like when it arrives, and whether a request to the URL comes back.
// Reports what a proxy removed, and what to set.

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** What browsers send with every request, and what proxies say about themselves; never a secret. */
const SHOWN = [
  "host",
  "origin",
  "sec-fetch-site",
  "x-forwarded-for",
  "x-forwarded-proto",
  "x-forwarded-host",
  "forwarded",
  "via",
];
const SHOWN_LENGTH_MAX = 200;
const TEST_TIMEOUT_MS = 10_000;
const ECHO_BYTES_MAX = 16_384;
const ECHO_PATH = "/web/api/set-up/echo";

/** What has to arrive of our own request, and what breaks without it. */
const SENT: readonly { name: string; value: (siteUrl: URL) => string; breaks: string }[] = [
  { name: "origin", value: ({ origin }) => origin, breaks: "Without it, forms are rejected." },
  { name: "sec-fetch-site", value: () => "same-origin", breaks: "Without it, forms may be rejected." },
  { name: "x-api-key", value: () => "probe", breaks: "Without it, the API doesn't work." },
  { name: "last-event-id", value: () => "1", breaks: "Without it, live updates restart from the beginning." },
  { name: "if-none-match", value: () => '"probe"', breaks: "Without it, every response is sent in full." },
];

/** What of a request arrived, for whoever sent it: names that are shown, and those of our test. */
function echo(headers: Headers, version: string): Echo {
  const names = [...SHOWN, ...SENT.map(({ name }) => name), "x-overdue-probe"];
  const arrived = names.flatMap((name) => {
    const value = textOf(headers[name]);
    return value === null ? [] : [[name, value] as const];
  });
  return { overdue: version, headers: Object.fromEntries(arrived) };
}

/** Compares the address that a browser used with the one that is set. */
function reportAddress(
  headers: Headers,
  given: { used: string; siteUrl: URL; remoteAddr: string },
): AddressReport {
  const { siteUrl, remoteAddr } = given;
  const set = addressOf(siteUrl);
  const usedUrl = URL.parse(given.used);
  const used = usedUrl === null ? given.used : addressOf(usedUrl);
  const problems: Problem[] = [];
  if (used !== set) {
    problems.push({
      text: `You opened ${used}, but the public URL is ${set}. Links in emails and ping URLs use the public URL.`,
      advice: `Set OVERDUE_SITE_URL=${used} and restart the server, or open ${set} instead.`,
    });
  }
  problems.push(...hostProblems(headers, usedUrl), ...schemeProblems(headers, usedUrl));
  return {
    used,
    set,
    agrees: used === set,
    remoteAddr,
    problems,
    headers: SHOWN.map((name) => ({ name, value: textOf(headers[name]) })),
  };
}

function hostProblems(headers: Headers, used: URL | null): Problem[] {
  const host = textOf(headers["host"]);
  const forwarded = textOf(headers["x-forwarded-host"]);
  if (used === null || host === used.host || forwarded === used.host) return [];
  return [
    {
      text: `The proxy replaced the Host header: the browser sent ${used.host}, but the server received ${host ?? "no Host header"}.`,
      advice:
        "nginx: proxy_set_header Host $host; Apache: ProxyPreserveHost On. Caddy, HAProxy and Traefik forward it by default.",
    },
  ];
}

function schemeProblems(headers: Headers, used: URL | null): Problem[] {
  if (used?.protocol !== "https:" || textOf(headers["x-forwarded-proto"]) === "https") return [];
  return [
    {
      text: "The browser uses HTTPS, but the X-Forwarded-Proto header is missing.",
      advice:
        "nginx: proxy_set_header X-Forwarded-Proto $scheme; HAProxy: http-request set-header X-Forwarded-Proto https. Also add the proxy to OVERDUE_TRUSTED_PROXIES.",
    },
  ];
}

/** Calls the public address and compares what was sent with what arrived. Never throws. */
export async function testAddress(siteUrl: URL): Promise<AddressTest> {
  const url = `${addressOf(siteUrl)}${ECHO_PATH}`;
  const probe = randomUUID();
  const sent = Object.fromEntries(SENT.map(({ name, value }) => [name, value(siteUrl)]));
  const startedAt = performance.now();
  const outcome = await call(url, { ...sent, "x-overdue-probe": probe });
  const tookMs = Math.round(performance.now() - startedAt);
  const base = { url, tookMs, lost: [], added: [] };
  if ("problem" in outcome) {
    return { ...base, status: null, isOurs: false, problems: [outcome.problem] };
  }
  const { status, location, echoed } = outcome;
  const isOurs = echoed?.headers["x-overdue-probe"] === probe;
  if (echoed === null || !isOurs) {
    return { ...base, status, isOurs: false, problems: [foreignServerProblem({ url, status, location })] };
  }
  const lost = SENT.filter(({ name, value }) => echoed.headers[name] !== value(siteUrl));
  const ours = new Set([...Object.keys(sent), "host", "x-overdue-probe"]);
  const added = Object.entries(echoed.headers).filter(([name]) => !ours.has(name));
  const problems = lost.map(({ name, breaks }) => ({
    text: `The ${name} header was removed on the way to the server. ${breaks}`,
    advice: "Configure the proxy to forward all request headers.",
  }));
  return {
    url,
    tookMs,
    status,
    isOurs,
    problems,
    lost: lost.map(({ name }) => name),
    added: added.map(([name, value]) => ({ name, value })),
  };
}

type Outcome = { status: number; location: string | null; echoed: Echo | null } | { problem: Problem };

async function call(url: string, headers: Record<string, string>): Promise<Outcome> {
  try {
    const response = await fetch(url, {
      headers,
      redirect: "manual",
      signal: AbortSignal.timeout(TEST_TIMEOUT_MS),
    });
    const location = response.headers.get("location");
    return { status: response.status, location, echoed: readEcho(await beginningOf(response)) };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const said =
      cause instanceof Error ? cause.message || String("code" in cause && cause.code) : String(cause);
    return {
      problem: {
        text: `The server can't reach its own public URL: ${said}.`,
        advice:
          "If browsers and jobs on other machines can reach it, you can ignore this. Some networks don't let a server connect to its own public address. Otherwise, check the host name, port and certificate.",
      },
    };
  }
}

/** As much as an echo can have: whoever answers there may never come to an end. */
async function beginningOf({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    if (text.length > ECHO_BYTES_MAX) break;
  }
  return text.slice(0, ECHO_BYTES_MAX);
}

function readEcho(text: string): Echo | null {
  try {
    const value = JSON.parse(text) as Partial<Echo> | null;
    return typeof value?.headers === "object" ? (value as Echo) : null;
  } catch {
    return null;
  }
}

function foreignServerProblem(at: { url: string; status: number; location: string | null }): Problem {
  if (at.location !== null) {
    const target = URL.parse(at.location, at.url);
    const suggested = target?.href.split(ECHO_PATH, 1)[0] ?? at.location;
    return {
      text: `The public URL redirects to ${at.location}. Redirects turn POST requests into GET requests, and curl follows them only with -L.`,
      advice: `Set OVERDUE_SITE_URL=${suggested} and restart the server.`,
    };
  }
  return {
    text: `Another server answers at the public URL (HTTP ${at.status}).`,
    advice: "Check where the proxy forwards requests for this host name, and that it keeps the path.",
  };
}

function addressOf(url: URL): string {
  return `${url.origin}${url.pathname.replace(/(?<!\/)\/+$/, "")}`;
}

function textOf(value: string | string[] | undefined): string | null {
  if (value === undefined) return null;
  return (typeof value === "string" ? value : value.join(", ")).slice(0, SHOWN_LENGTH_MAX);
}

const LOOKS_LIKE_MAIL = /^[^\s@<>]+@[^\s@<>]+$/;

export const setUpRoutes: readonly WebRoute[] = [
  accountRoute({
    name: "setUp.show",
    method: "GET",
    path: "/web/api/set-up",
    access: "operator",
    answer: async ({ context }) => {
      const { mail } = context.setUp;
      const shown: SetUp = {
        site: { url: context.urls.site, pingUrl: context.urls.ping, port: context.setUp.port },
        mail: { isSet: mail !== null, host: mail?.host ?? null, from: mail?.from ?? null },
      };
      return { json: shown };
    },
  }),
  accountRoute({
    name: "setUp.address",
    method: "GET",
    path: "/web/api/set-up/address",
    access: "operator",
    query: AddressQuery,
    answer: async ({ context, query, headers, remoteAddr }) => ({
      json: reportAddress(headers, { used: query.at, siteUrl: new URL(context.urls.site), remoteAddr }),
    }),
  }),
  accountRoute({
    name: "setUp.testAddress",
    method: "POST",
    path: "/web/api/set-up/address-test",
    access: "operator",
    answer: async ({ context }) => ({ json: await testAddress(new URL(context.urls.site)) }),
  }),
  openRoute({
    name: "setUp.echo",
    method: "GET",
    path: "/web/api/set-up/echo",
    access: "anyone",
    answer: async ({ context, headers }) => ({
      json: echo(headers, context.version),
      headers: { "Cache-Control": "no-store" },
    }),
  }),
  accountRoute({
    name: "setUp.testMail",
    method: "POST",
    path: "/web/api/set-up/mail-test",
    access: "operator",
    body: MailTestRequest,
    answer: async ({ context, body }) => {
      if (!LOOKS_LIKE_MAIL.test(body.to)) throw new WebRefusal("invalid", "Not a valid email address.", "to");
      return { json: await testMail(context.setUp.mail, { to: body.to, siteName: context.site.name }) };
    },
  }),
  checkRoute({
    name: "check.waiting",
    method: "GET",
    path: "/web/api/checks/:check/waiting",
    access: "view",
    answer: async (request) => ({ json: await waitingFor(request) }),
  }),
];

async function testMail(
  mail: SetupContext["mail"],
  { to, siteName }: { to: string; siteName: string },
): Promise<MailTest> {
  if (mail === null) {
    const said =
      "No mail server is configured. Set OVERDUE_SMTP_HOST and the related settings, then restart the server.";
    return { isSent: false, said, code: null, answer: null, tookMs: 0 };
  }
  const startedAt = performance.now();
  const result = await mail.send({
    to,
    subject: `${siteName}: test email`,
    text: `This is a test email from ${siteName}. Alerts will come from the same address.\n`,
    html: "<p>This is a test email. Alerts will come from the same address.</p>",
  });
  const tookMs = Math.round(performance.now() - startedAt);
  if (result.kind === "sent") {
    const said = `${mail.host} accepted the email. Check that it arrives, and look in your spam folder too.`;
    return { isSent: true, said, code: result.code, answer: result.response, tookMs };
  }
  // The response of the server says what is wrong.
  const said =
    result.code === null
      ? `${result.reason}: ${mail.host}. Check OVERDUE_SMTP_HOST, OVERDUE_SMTP_PORT and OVERDUE_SMTP_TLS.`
      : result.reason;
  return { isSent: false, said, code: result.code, answer: result.response, tookMs };
}
