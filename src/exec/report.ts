// Sends pings: what is requested, which answers are worth another try, and for how long.
import { Agent, type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import {
  PAUSE_JITTER,
  PAUSES_MS,
  REDIRECTS_MAX,
  RETRY_AFTER_MS_MAX,
  SERVER_TEXT_CHARS_MAX,
} from "./limits.ts";
import { type Environment, messageOf, type Target } from "./settings.ts";

export type Ping = {
  target: Target;
  /** `start`, `fail`, `log`, an exit code, or empty for a success. */
  suffix: string;
  runId: string | null;
  body: Buffer;
  /** When the run ended and how long it took, for an end that is reported late. */
  late?: { endedAtMs: number; ranMs: number | null };
};

/** What a server has announced. */
export type Server = {
  bodyLimit: number | null;
  /** Whether it accepts the time of a late end. Null if not known. */
  acceptsLateEnds: boolean | null;
};

export type Answer =
  | { kind: "sent"; server: Server; warning: string | null }
  | { kind: "failed"; reason: string; retryAfterMs: number | null }
  | { kind: "refused"; reason: string };

export type Sender = {
  userAgent: string;
  environment: Environment;
  tryMs: number;
  retriesMax: number | null;
};

/** The URL of a ping. */
export function urlOf({ target, suffix, runId, late }: Ping): string {
  const path = [...target.handle, ...(suffix === "" ? [] : [suffix])].map(encodeURIComponent).join("/");
  const query = new URLSearchParams();
  if (runId !== null) query.set("rid", runId);
  for (const [name, value] of target.query) query.set(name, value);
  if (late !== undefined) {
    query.set("at", new Date(late.endedAtMs).toISOString());
    if (late.ranMs !== null) query.set("ran", String(late.ranMs / 1_000));
  }
  const text = query.toString();
  return `${target.baseUrl}/${path}${text === "" ? "" : `?${text}`}`;
}

/** The request of a ping as --dry-run prints it. UUIDs and ping keys are secrets. */
export function describePing(ping: Ping): string {
  const { target } = ping;
  const [secret = "", ...rest] = target.handle;
  const shown = `${secret.slice(0, 4)}***`;
  const url = urlOf({ ...ping, target: { ...target, handle: [shown, ...rest] } }).replace("***", "…");
  const headers = Object.keys(target.headers).map((name) => `, header ${name}`);
  return `POST ${withoutPassword(url)} (${ping.body.length} bytes${headers.join("")})`;
}

function withoutPassword(text: string): string {
  return text.replace(/^(https?:\/\/)[^/@]*@/i, "$1…@");
}

/** One try. Never throws. */
function sendOnce(
  ping: Ping,
  { sender, timeoutMs, signal }: { sender: Sender; timeoutMs: number; signal?: AbortSignal | undefined },
): Promise<Answer> {
  return new Promise((resolve) => {
    let current: ClientRequest | undefined;
    const fail = (reason: string) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      current?.destroy();
      resolve({ kind: "failed", reason, retryAfterMs: null });
    };
    const abort = () => fail("stopped");
    const timer = setTimeout(() => fail(`no response within ${timeoutMs} ms`), timeoutMs);
    signal?.addEventListener("abort", abort);
    const go = async (url: URL, redirects: number) => {
      const request = url.protocol === "https:" ? (await import("node:https")).request : requestHttp;
      const agent =
        url.protocol === "https:"
          ? new (await import("node:https")).Agent({ proxyEnv: proxiesIn(sender.environment) })
          : new Agent({ proxyEnv: proxiesIn(sender.environment) });
      current = request(url, {
        method: "POST",
        agent,
        headers: {
          "User-Agent": sender.userAgent,
          "Content-Type": "text/plain",
          ...ping.target.headers,
          "Content-Length": ping.body.length,
        },
      });
      current.on("error", (error) => fail(messageOf(error) || "connection failed"));
      current.on("response", (response) => {
        response.on("error", () => {});
        response.resume();
        const next = redirectOf(url, response);
        if (next !== null && redirects < REDIRECTS_MAX) {
          go(next, redirects + 1).catch((error: unknown) => fail(messageOf(error)));
          return;
        }
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
        resolve(answerOf(response));
        current?.destroy();
      });
      current.end(ping.body);
    };
    if (signal?.aborted === true) abort();
    else
      Promise.resolve(ping)
        .then((given) => go(new URL(urlOf(given)), 0))
        .catch((error: unknown) => fail(messageOf(error)));
  });
}

const PROXIES = ["http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"];

function proxiesIn(environment: Environment): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of PROXIES) if (environment[name] !== undefined) found[name] = environment[name];
  return found;
}

/** Where a response redirects to. Only on the same host: the URL contains a key. */
function redirectOf(url: URL, { statusCode = 0, headers }: IncomingMessage): URL | null {
  if (![301, 302, 307, 308].includes(statusCode) || headers.location === undefined) return null;
  const next = URL.parse(headers.location, url.href);
  const isSame =
    next?.hostname === url.hostname && (next.protocol === "https:" || next.protocol === url.protocol);
  return isSame ? next : null;
}

function answerOf({ statusCode = 0, headers }: IncomingMessage): Answer {
  const header = (name: string) => [headers[name] ?? ""].flat().join(", ");
  if (statusCode >= 200 && statusCode < 300) {
    const limit = header("ping-body-limit");
    return {
      kind: "sent",
      server: {
        bodyLimit: /^\d{1,12}$/.test(limit) ? Number(limit) : null,
        acceptsLateEnds: header("ping-features")
          .split(/[\s,]+/)
          .includes("at"),
      },
      warning: printable(header("overdue-warning")) || null,
    };
  }
  const reason = `HTTP ${statusCode}`;
  // A redirect to another host may be that of a network that wants a sign-in first.
  const isRefused = statusCode >= 400 && statusCode < 500 && ![408, 429].includes(statusCode);
  if (isRefused) return { kind: "refused", reason };
  return { kind: "failed", reason, retryAfterMs: retryAfterOf(header("retry-after")) };
}

function retryAfterOf(text: string): number | null {
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now();
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), RETRY_AFTER_MS_MAX) : null;
}

function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, "?").slice(0, SERVER_TEXT_CHARS_MAX);
}

export type SendOptions = {
  sender: Sender;
  deadline?: number;
  noRetry?: AbortSignal;
  signal?: AbortSignal;
};

/**
 * Tries until the ping is sent or refused, the tries are used up, or the time is over. `deadline` is a time of
 * performance.now(). When `noRetry` is aborted, the current try is the last; `signal` also ends that.
 */
export async function send(ping: Ping, options: SendOptions): Promise<Answer> {
  const { sender, deadline = Number.POSITIVE_INFINITY, signal } = options;
  const stop = AbortSignal.any([options.noRetry, signal].filter((given) => given !== undefined));
  for (let tries = 0; ; tries += 1) {
    const leftMs = deadline - performance.now();
    const timeoutMs = Math.max(1, Math.min(sender.tryMs, leftMs));
    const answer = await sendOnce(ping, { sender, timeoutMs, signal });
    if (answer.kind !== "failed" || tries >= (sender.retriesMax ?? PAUSES_MS.length)) return answer;
    const base = answer.retryAfterMs ?? PAUSES_MS[Math.min(tries, PAUSES_MS.length - 1)] ?? 0;
    const pauseMs = base * (1 + PAUSE_JITTER * (2 * Math.random() - 1));
    if (stop.aborted || performance.now() + pauseMs >= deadline) return answer;
    const hasSlept = await sleep(pauseMs, true, { signal: stop }).catch(() => false);
    if (!hasSlept) return answer;
  }
}
