// Handlers of the setup page: the public URL and the test email.
import { randomUUID } from "node:crypto";
import type {
  AddressReport,
  AddressTest,
  adminRoutes,
  Echo,
  MailTest,
  SetupProblem,
} from "../../contract/api/admin.ts";
import { AppError } from "../../core/errors.ts";
import type { ApiContext, ApiHandlers } from "./route.ts";

// Tests the public URL: what a browser's request looks like when it arrives, and whether a request to the URL comes back.
// Reports what a proxy removed, and what to set.

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Headers that browsers send with every request and that proxies add; never a secret. */
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
export const ECHO_PATH = "/web/set-up/echo";

/** Headers that must arrive, and what breaks without them. */
const SENT: readonly { name: string; value: (siteUrl: URL) => string; breaks: string }[] = [
  { name: "origin", value: ({ origin }) => origin, breaks: "Without it, forms are rejected." },
  { name: "sec-fetch-site", value: () => "same-origin", breaks: "Without it, forms may be rejected." },
  { name: "x-api-key", value: () => "probe", breaks: "Without it, the API doesn't work." },
  { name: "last-event-id", value: () => "1", breaks: "Without it, live updates restart from the beginning." },
  { name: "if-none-match", value: () => '"probe"', breaks: "Without it, every response is sent in full." },
];

/** The headers of a request as they arrived, limited to those above. */
export function echo(
  headers: Headers,
  { version, peer, remoteAddr }: { version: string; peer: string | undefined; remoteAddr: string },
): Echo {
  const names = [...SHOWN, ...SENT.map(({ name }) => name), "x-overdue-probe"];
  const arrived = names.flatMap((name) => {
    const value = textOf(headers[name]);
    return value === null ? [] : [[name, value] as const];
  });
  const forwarded = textOf(headers["x-forwarded-for"])?.split(",").at(-1)?.trim();
  const peerAddress = peer?.replace(/^::ffff:/, "");
  const isProxyUntrusted = forwarded !== undefined && forwarded !== peerAddress && remoteAddr === peerAddress;
  return { overdue: version, headers: Object.fromEntries(arrived), isProxyUntrusted };
}

/** Compares the URL that a browser used with the configured one. */
function reportAddress(
  headers: Headers,
  given: { used: string; siteUrl: URL; remoteAddr: string },
): AddressReport {
  const { siteUrl, remoteAddr } = given;
  const configured = addressOf(siteUrl);
  const usedUrl = URL.parse(given.used);
  const used = usedUrl === null ? given.used : addressOf(usedUrl);
  const problems: SetupProblem[] = [];
  if (used !== configured) {
    problems.push({
      text: `You opened ${used}, but the public URL is ${configured}. Links in emails and ping URLs use the public URL.`,
      advice: `Set OVERDUE_SITE_URL=${used} and restart the server, or open ${configured} instead.`,
    });
  }
  problems.push(...hostProblems(headers, usedUrl), ...schemeProblems(headers, usedUrl));
  return {
    used,
    configured,
    matches: used === configured,
    remoteAddr,
    problems,
    headers: SHOWN.map((name) => ({ name, value: textOf(headers[name]) })),
  };
}

function hostProblems(headers: Headers, used: URL | null): SetupProblem[] {
  const host = textOf(headers["host"]);
  const forwarded = textOf(headers["x-forwarded-host"]);
  if (used === null || host === used.host || forwarded === used.host) return [];
  return [
    {
      text: `The proxy replaced the Host header: the browser sent ${used.host}, but the server received ${host ?? "no Host header"}.`,
      advice:
        "nginx: proxy_set_header Host $host; or, with a port in the URL, $host:$server_port; Apache: ProxyPreserveHost On. Caddy, HAProxy and Traefik forward it by default.",
    },
  ];
}

function schemeProblems(headers: Headers, used: URL | null): SetupProblem[] {
  if (used?.protocol !== "https:" || textOf(headers["x-forwarded-proto"]) === "https") return [];
  return [
    {
      text: "The public URL uses HTTPS, but the X-Forwarded-Proto header is missing.",
      advice:
        "nginx: proxy_set_header X-Forwarded-Proto $scheme; HAProxy: http-request set-header X-Forwarded-Proto https. Also add the proxy to OVERDUE_TRUSTED_PROXIES.",
    },
  ];
}

const UNTRUSTED_PROXY: SetupProblem = {
  text: "The proxy is not trusted, so the addresses of clients are not known and all of them share one rate limit.",
  advice: "Add the address of the proxy to OVERDUE_TRUSTED_PROXIES, and restart the server.",
};

/** Sends a request to the public URL and compares what was sent with what arrived. Never throws. */
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
  const problems = [
    ...lost.map(({ name, breaks }) => ({
      text: `The ${name} header was removed on the way to the server. ${breaks}`,
      advice: "Configure the proxy to forward all request headers.",
    })),
    ...schemeProblems(echoed.headers, siteUrl),
    ...(echoed.isProxyUntrusted ? [UNTRUSTED_PROXY] : []),
  ];
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

type Outcome = { status: number; location: string | null; echoed: Echo | null } | { problem: SetupProblem };

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

/** At most as much as an echo can have: another server may send without end. */
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

function foreignServerProblem(at: { url: string; status: number; location: string | null }): SetupProblem {
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

async function testMail(
  mail: ApiContext["mail"],
  { to, siteName }: { to: string; siteName: string },
): Promise<MailTest> {
  if (mail === null) {
    const text =
      "No mail server is configured. Set OVERDUE_SMTP_HOST and the related settings, then restart the server.";
    return { isSent: false, text, code: null, reply: null, tookMs: 0 };
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
    const text = `${mail.host} accepted the email. Check that it arrives, and look in your spam folder too.`;
    return { isSent: true, text, code: result.code, reply: result.response, tookMs };
  }
  // The response of the server says what is wrong.
  const text =
    result.code === null
      ? `${result.reason}: ${mail.host}. Check OVERDUE_SMTP_HOST, OVERDUE_SMTP_PORT and OVERDUE_SMTP_TLS.`
      : result.reason;
  return { isSent: false, text, code: result.code, reply: result.response, tookMs };
}

const LOOKS_LIKE_MAIL = /^[^\s@<>]+@[^\s@<>]+$/;

type SetupRoutes = Pick<typeof adminRoutes, "getSetup" | "checkAddress" | "testAddress" | "testMail">;

export const setupHandlers: ApiHandlers<SetupRoutes> = {
  getSetup: async ({ context: { urls, port, mail } }) => ({
    json: {
      site: { url: urls.site, pingUrl: urls.ping, port },
      mail: { isConfigured: mail !== null, host: mail?.host ?? null, from: mail?.from ?? null },
    },
  }),
  checkAddress: async ({ context, query, headers, remoteAddr }) => ({
    json: reportAddress(headers, {
      used: query.at,
      siteUrl: new URL(context.urls.site),
      remoteAddr: remoteAddr ?? "",
    }),
  }),
  testAddress: async ({ context }) => ({ json: await testAddress(new URL(context.urls.site)) }),
  testMail: async ({ context, body }) => {
    if (!LOOKS_LIKE_MAIL.test(body.to)) throw new AppError("invalid", "Not a valid email address.", "to");
    return { json: await testMail(context.mail, { to: body.to, siteName: context.site.name }) };
  },
};
