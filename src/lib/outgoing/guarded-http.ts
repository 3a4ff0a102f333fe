// HTTP requests to addresses that somebody else has chosen: judged before each hop, bounded in time and size.
// It repeats nothing: whether a request is worth another try is for the caller to decide.
import { type Dispatcher, request } from "undici";
import type { ConnectorOptions } from "./connector.ts";
import { REFUSED } from "./destination.ts";
import { OutgoingError, outgoingErrorOf } from "./outgoing-error.ts";
import { type Way, wayOut } from "./way-out.ts";

export type OutgoingRequest = {
  method: "GET" | "POST" | "PUT" | "DELETE";
  url: string;
  headers?: Readonly<Record<string, string>>;
  body?: string;
  /** Less than the usual time for everything, redirects included. */
  timeoutMs?: number;
};

export type OutgoingAnswer = {
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The beginning of the body as text. */
  text: string;
};

export type GuardedHttp = {
  /** The final answer, whatever its status. Throws OutgoingError. */
  send(what: OutgoingRequest): Promise<OutgoingAnswer>;
  close(): Promise<void>;
};

export type GuardedHttpOptions = ConnectorOptions & {
  userAgent: string;
  /** A proxy that all requests go through. The target is judged before the proxy hears of it. */
  proxyUrl?: string | null;
};

const TIMEOUT_MS_MAX = 30_000;
const REDIRECTS_MAX = 3;
const ANSWER_BYTES_MAX = 64 * 1024;
const REDIRECT_STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Headers that stay with the body, or with whom they were meant for. */
const BODY_HEADERS: ReadonlySet<string> = new Set(["content-type", "content-encoding", "content-language"]);

/**
 * Headers that say where a request goes or where it ends, and not what is in it. A proxy might believe `host` and
 * not the address that was judged.
 */
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

/** Whether a header is ours to write; whoever gives one is not heard. */
export function isOwnHeader(name: string): boolean {
  return OWN_HEADERS.has(name.toLowerCase());
}

type Hop = {
  method: OutgoingRequest["method"];
  url: URL;
  headers: Record<string, string>;
  body: string | null;
};

/** A client that keeps connections for a moment. Close it at the end. */
export function guardedHttp(options: GuardedHttpOptions): GuardedHttp {
  const way = wayOut(options);
  return {
    send: async (what) => {
      const signal = AbortSignal.timeout(Math.min(what.timeoutMs ?? TIMEOUT_MS_MAX, TIMEOUT_MS_MAX));
      try {
        return await follow(firstHop(what, options.userAgent), { way, signal });
      } catch (error) {
        throw outgoingErrorOf(error);
      }
    },
    close: () => way.close(),
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

/** A user name and password in the address become the header that they stand for, as browsers and curl have it. */
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
    // A bare %, which means itself.
    return text;
  }
}

async function follow(
  first: Hop,
  { way, signal }: { way: Way; signal: AbortSignal },
): Promise<OutgoingAnswer> {
  let hop = first;
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
    await way.judge(hop.url, signal);
    const { method, url, headers, body } = hop;
    const answer = await request(url.href, { method, headers, body, dispatcher: way.dispatcher(), signal });
    const location = REDIRECT_STATUSES.has(answer.statusCode) ? answer.headers["location"] : undefined;
    const text = await readBeginning(answer.body);
    if (typeof location !== "string") {
      return { status: answer.statusCode, headers: answer.headers, text };
    }
    hop = nextHop(hop, { status: answer.statusCode, location });
  }
  throw new OutgoingError("redirects");
}

function nextHop(hop: Hop, { status, location }: { status: number; location: string }): Hop {
  if (!URL.canParse(location, hop.url.href)) throw new OutgoingError("broken", { mayHaveArrived: false });
  const url = new URL(location, hop.url.href);
  const becomesGet = status === 303 || (hop.method === "POST" && (status === 301 || status === 302));
  // What was meant for one server, keys above all, is not told to another.
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

/** A receiver that never stops talking is heard for a while and then left. */
async function readBeginning(body: Dispatcher.ResponseData["body"]): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    // Leaving the loop closes the connection.
    if (bytes >= ANSWER_BYTES_MAX) break;
  }
  return Buffer.concat(chunks).subarray(0, ANSWER_BYTES_MAX).toString("utf8");
}
