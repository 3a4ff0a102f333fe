// The admin HTTP server of every process: /healthz, /readyz and /metrics.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Registry } from "prom-client";
import type { ListenAddress } from "./address.ts";
import { httpListener } from "./http/listener.ts";
import type { Log } from "./log.ts";
import type { Service } from "./service.ts";

/** One condition of readiness: null if it holds, otherwise the problem. */
export type ReadyCheck = { name: string; problem(): Promise<string | null> };

export type AdminServerOptions = {
  listen: ListenAddress;
  registry: Registry;
  /** Called for each request, because roles start and stop while the server runs. */
  readyChecks(): readonly ReadyCheck[];
  /** A check that takes longer counts as failed. */
  readyTimeoutMs?: number;
  log: Log;
};

export type AdminServer = Service & {
  /** Where it listens, the real port instead of 0; null before start. */
  address(): ListenAddress | null;
};

type Answer = { status: number; type: string; body: string };

/** Typical timeout of a probe. */
const READY_TIMEOUT_MS = 2_000;
const CONNECTIONS_MAX = 100;
const REQUEST_TIMEOUT_MS = 5_000;
/** Readiness and metrics have their own, shorter limits. */
const ANSWER_TIMEOUT_MS = 10_000;
/** It is stopped last, and its clients expect it to stop. */
const STOP_GRACE_MS = 200;
const JSON_TYPE = "application/json; charset=utf-8";

/** The server behind /healthz, /readyz and /metrics. */
export function adminServer(options: AdminServerOptions): AdminServer {
  const log = options.log.child({ service: "admin" });
  const answerReady = shared(() => readiness(options));
  const routes: Record<string, () => Promise<Answer>> = {
    "/healthz": async () => json(200, { status: "ok" }),
    "/readyz": answerReady,
    "/metrics": async () => ({
      status: 200,
      type: options.registry.contentType,
      body: await options.registry.metrics(),
    }),
  };
  return httpListener({
    name: "admin",
    listen: options.listen,
    handlers: [
      {
        handles: () => true,
        handle: (request, response) => {
          respond({ request, response, routes }).catch((error: unknown) => {
            log.error({ err: error, path: request.url }, "admin request failed");
            send(response, { answer: json(500, { error: "internal error" }), withBody: true });
          });
        },
      },
    ],
    connectionsMax: CONNECTIONS_MAX,
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    answerTimeoutMs: ANSWER_TIMEOUT_MS,
    stopGraceMs: STOP_GRACE_MS,
    log: options.log,
  });
}

async function respond({
  request,
  response,
  routes,
}: {
  request: IncomingMessage;
  response: ServerResponse;
  routes: Record<string, () => Promise<Answer>>;
}): Promise<void> {
  const withBody = request.method !== "HEAD";
  const path = (request.url ?? "").split("?")[0] ?? "";
  const route = routes[path];
  if (route === undefined) {
    const body = { error: "not found", paths: Object.keys(routes) };
    return send(response, { answer: json(404, body), withBody });
  }
  if (request.method !== "GET" && request.method !== "HEAD") {
    response.setHeader("allow", "GET, HEAD");
    return send(response, { answer: json(405, { error: "method not allowed" }), withBody });
  }
  send(response, { answer: await route(), withBody });
}

function send(response: ServerResponse, { answer, withBody }: { answer: Answer; withBody: boolean }): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(answer.status, {
    "content-type": answer.type,
    "content-length": Buffer.byteLength(answer.body),
    "cache-control": "no-store",
  });
  response.end(withBody ? answer.body : undefined);
}

function json(status: number, body: unknown): Answer {
  return { status, type: JSON_TYPE, body: `${JSON.stringify(body)}\n` };
}

/** 200 if every check passes, otherwise 503 with the failed checks and reasons. */
async function readiness({
  readyChecks,
  readyTimeoutMs = READY_TIMEOUT_MS,
}: Pick<AdminServerOptions, "readyChecks" | "readyTimeoutMs">): Promise<Answer> {
  const results = await Promise.all(
    readyChecks().map(
      async (check) => [check.name, (await problemWithin(check, readyTimeoutMs)) ?? "ok"] as const,
    ),
  );
  const ready = results.every(([, result]) => result === "ok");
  const body = { status: ready ? "ready" : "not ready", checks: Object.fromEntries(results) };
  return json(ready ? 200 : 503, body);
}

async function problemWithin(check: ReadyCheck, timeoutMs: number): Promise<string | null> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<string>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, `no response within ${timeoutMs} ms`);
  });
  try {
    return await Promise.race([check.problem(), timeout]);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    clearTimeout(timer);
  }
}

/** Calls made while one is in progress share its result, so that probes cannot accumulate on the database. */
function shared<T>(work: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | null = null;
  return () => {
    underWay ??= work().finally(() => {
      underWay = null;
    });
    return underWay;
  };
}
