// The public address, tried: what a browser's request looks like when it arrives here, and whether a request of our
// own to the address comes back. Says what a proxy lost, and what to set.
import { randomUUID } from "node:crypto";
import type { AddressReport, AddressTest, Echo, Problem } from "../../../contract/web/set-up.ts";

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
  { name: "origin", value: ({ origin }) => origin, breaks: "Forms are refused without it." },
  { name: "sec-fetch-site", value: () => "same-origin", breaks: "Forms may be refused without it." },
  { name: "x-api-key", value: () => "probe", breaks: "The API cannot be used without it." },
  { name: "last-event-id", value: () => "1", breaks: "The live view starts over without it." },
  { name: "if-none-match", value: () => '"probe"', breaks: "Every answer is sent in full without it." },
];

/** What of a request arrived, for whoever sent it: names that are shown, and those of our test. */
export function echo(headers: Headers, version: string): Echo {
  const names = [...SHOWN, ...SENT.map(({ name }) => name), "x-overdue-probe"];
  const arrived = names.flatMap((name) => {
    const value = textOf(headers[name]);
    return value === null ? [] : [[name, value] as const];
  });
  return { overdue: version, headers: Object.fromEntries(arrived) };
}

/** Compares the address that a browser used with the one that is set. */
export function reportAddress(
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
      text: `You are at ${used}, but the public address is set to ${set}. Links in mails and ping addresses use the one that is set.`,
      advice: `Set OVERDUE_SITE_URL=${used} and start again; or open ${set} instead.`,
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
      text: `The proxy replaced the header Host: the browser sent ${used.host}, and ${host ?? "nothing"} arrived.`,
      advice:
        "nginx: proxy_set_header Host $host; Apache: ProxyPreserveHost On. Caddy, HAProxy and Traefik pass it on.",
    },
  ];
}

function schemeProblems(headers: Headers, used: URL | null): Problem[] {
  if (used?.protocol !== "https:" || textOf(headers["x-forwarded-proto"]) === "https") return [];
  return [
    {
      text: "The browser speaks https, but nothing says so here: the header X-Forwarded-Proto did not arrive.",
      advice:
        "nginx: proxy_set_header X-Forwarded-Proto $scheme; HAProxy: http-request set-header X-Forwarded-Proto https. And name the proxy in OVERDUE_TRUSTED_PROXIES.",
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
    return { ...base, status, isOurs: false, problems: [strangerProblem({ url, status, location })] };
  }
  const lost = SENT.filter(({ name, value }) => echoed.headers[name] !== value(siteUrl));
  const ours = new Set([...Object.keys(sent), "host", "x-overdue-probe"]);
  const added = Object.entries(echoed.headers).filter(([name]) => !ours.has(name));
  const problems = lost.map(({ name, breaks }) => ({
    text: `The header ${name} was lost on the way. ${breaks}`,
    advice: "Let the proxy pass on all headers of a request.",
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
        text: `This server cannot reach its own public address: ${said}.`,
        advice:
          "If browsers and jobs elsewhere can, nothing is wrong: some networks do not let a server call itself from outside. Otherwise look at the name, the port and the certificate.",
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

function strangerProblem(at: { url: string; status: number; location: string | null }): Problem {
  if (at.location !== null) {
    const target = URL.parse(at.location, at.url);
    const suggested = target?.href.split(ECHO_PATH, 1)[0] ?? at.location;
    return {
      text: `The public address answers with a redirect to ${at.location}. A redirect turns a POST into a GET, and curl follows it only when told to.`,
      advice: `Set OVERDUE_SITE_URL=${suggested} and start again.`,
    };
  }
  return {
    text: `At the public address somebody else answers, with status ${at.status}.`,
    advice: "Look where the proxy sends requests for this name, and whether it keeps the path.",
  };
}

function addressOf(url: URL): string {
  return `${url.origin}${url.pathname.replace(/(?<!\/)\/+$/, "")}`;
}

function textOf(value: string | string[] | undefined): string | null {
  if (value === undefined) return null;
  return (typeof value === "string" ? value : value.join(", ")).slice(0, SHOWN_LENGTH_MAX);
}
