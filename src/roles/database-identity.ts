// Determines after a restore whether this server is the one in service: it stores a random value in its database and
// requests it from its own public URL. Only a server on the same database can answer.
import type { ServerResponse } from "node:http";
import { hostname } from "node:os";
import type { Config } from "../config/config.ts";
import type { AddressTest } from "../contract/api/admin.ts";
import { ASK_MS_MAX, ASK_TIMEOUT_MS, type ServiceState } from "../core/database-identity.ts";
import { isUuid } from "../core/identity.ts";
import { SECOND_MS } from "../core/instant.ts";
import type { HttpHandler } from "../lib/http/listener.ts";
import { sitePath } from "../lib/http/request-target.ts";
import { SAFETY_HEADERS, sendPlainResponse } from "../lib/http/response.ts";
import type { Log } from "../lib/log.ts";
import { type Loop, loopService } from "../lib/loop.ts";
import { addFigures, type Metrics } from "../lib/metrics.ts";
import { type GuardedHttp, guardedHttp } from "../lib/outgoing-http.ts";
import {
  checkIdentity,
  createChallenge,
  enterSafeMode,
  nextVerdict,
  resumeAfterRestore,
} from "../operations/database-identity.ts";
import type { Database } from "../store/db.ts";
import { findChallengeAnswer } from "../store/instance.ts";
import type { ServerRole } from "./public-server.ts";

const LOOK_EVERY_MS = 2 * SECOND_MS;
/** Outside of a check, one request in this time is answered. */
const ANSWER_EVERY_MS = 200;
const PATH = "/.well-known/overdue-instance/";
const HTTP = { ok: 200, notFound: 404, notAllowed: 405, unavailable: 503 };
const STATES: readonly ServiceState[] = ["normal", "checking", "safe"];

export type IdentityResources = {
  config: Config;
  database: Database;
  log: Log;
  metrics: Metrics;
  /** How long the public URL is requested. Tests shorten it. */
  askMsMax?: number;
};

export type IdentityWatch = {
  /** Checks once, before any part of the process evaluates deadlines or sends something. */
  look(): Promise<void>;
  /** Checks repeatedly, and requests the public URL. The public port must be open. */
  loop: Loop;
  /** Answers at the public URL. */
  part: ServerRole;
  /** The state as of the last check. */
  state(): ServiceState;
};

/** `listens`: this process has the public port, so it can be the one that answers. */
export function identityWatch(
  resources: IdentityResources,
  { listens }: { listens: boolean },
): IdentityWatch {
  const { config, database, log, metrics } = resources;
  const siteUrl = listens ? config.siteUrl : null;
  const notice = { channelUuid: config.adminChannel, host: hostname() };
  let state: ServiceState = "normal";
  let askingSinceMs: number | null = null;
  let http: GuardedHttp | null = null;
  addFigures(metrics, [
    {
      name: "overdue_service_state",
      help: "1 for the current state: normal, checking (after a restore), or safe (no notifications are sent).",
      kind: "gauge",
      label: "state",
      readEach: () => Object.fromEntries(STATES.map((name) => [name, Number(name === state)])),
    },
  ]);
  const look = async () => {
    const found = await checkIdentity(database, { siteUrl });
    if (found === "checking" && state !== "checking") {
      log.warn(
        "the database was restored, copied, or upgraded; no notifications are sent until the production server is identified",
      );
    }
    if (found !== "checking") askingSinceMs = null;
    state = found;
  };
  const isReachedByPublicUrl = async (): Promise<boolean> => {
    askingSinceMs ??= performance.now();
    // The operator has chosen the URL, and it may be in a private network.
    http ??= guardedHttp({ allowPrivate: true, userAgent: "Overdue", proxyUrl: config.outgoingProxy });
    return isAnsweredByUs(http, { siteUrl: config.siteUrl, challenge: await createChallenge(database) });
  };
  const decide = async () => {
    const askedMs = askingSinceMs === null ? null : performance.now() - askingSinceMs;
    const { askMsMax = ASK_MS_MAX } = resources;
    const verdict = await nextVerdict(database, { siteUrl, askedMs, askMsMax });
    if (verdict?.kind === "safe") {
      const { reason } = verdict;
      if (!(await enterSafeMode(database, { ...notice, reason }))) return;
      log.error(
        { reason },
        "safe mode: pings are recorded but no notifications are sent; see overdue admin restore confirm",
      );
    } else if (verdict?.kind === "ask" && (await isReachedByPublicUrl())) {
      if (!(await resumeAfterRestore(database, { ...notice, siteUrl: config.siteUrl }))) return;
      log.warn("this server is reachable at the public URL; monitoring continues with the restored database");
    }
  };
  const loop = loopService("database-identity", {
    idleMs: LOOK_EVERY_MS,
    log,
    metrics: metrics.loops,
    tick: async () => {
      await look();
      if (state === "checking") {
        await decide();
        await look();
      }
      return "idle";
    },
  });
  return {
    look,
    state: () => state,
    loop: {
      ...loop,
      stop: async () => {
        await http?.close();
        await loop.stop();
      },
    },
    part: {
      name: "identity",
      needsDatabase: true,
      open: async () => [challengeHandler({ ...resources, isChecking: () => state === "checking" })],
      close: async () => {},
      problem: () => null,
    },
  };
}

/** Whether a server on our database answers at the public URL. No response means no. */
async function isAnsweredByUs(
  http: GuardedHttp,
  { siteUrl, challenge }: { siteUrl: string; challenge: { id: string; answer: string } },
): Promise<boolean> {
  try {
    const url = `${siteUrl.replace(/(?<!\/)\/+$/, "")}${PATH}${challenge.id}`;
    const { status, text } = await http.send({ method: "GET", url, timeoutMs: ASK_TIMEOUT_MS });
    return status === HTTP.ok && text.trim() === challenge.answer;
  } catch {
    return false;
  }
}

/** Requests the public URL from the command line: whether this server answers there, and what a proxy changes. */
export async function testPublicUrl(
  { siteUrl, outgoingProxy }: Pick<Config, "siteUrl" | "outgoingProxy">,
  challenge: { id: string; answer: string } | null,
): Promise<{ isThisServer: boolean | null; test: AddressTest }> {
  const { testAddress } = await import("../services/api/setup.ts");
  const http = guardedHttp({ allowPrivate: true, userAgent: "Overdue", proxyUrl: outgoingProxy });
  try {
    const [isThisServer, test] = await Promise.all([
      challenge === null ? null : isAnsweredByUs(http, { siteUrl, challenge }),
      testAddress(new URL(siteUrl)),
    ]);
    return { isThisServer, test };
  } finally {
    await http.close();
  }
}

function challengeHandler({
  config,
  database,
  log,
  isChecking,
}: IdentityResources & { isChecking: () => boolean }): HttpHandler {
  const pathOf = sitePath(new URL(config.siteUrl));
  // Anyone can send such requests, so outside of a check, when only `overdue doctor` does, few of them reach the
  // database.
  let answeredMs = Number.NEGATIVE_INFINITY;
  const mayAnswer = () => {
    const nowMs = performance.now();
    if (!isChecking() && nowMs - answeredMs < ANSWER_EVERY_MS) return false;
    answeredMs = nowMs;
    return true;
  };
  return {
    handles: ({ url = "" }) => pathOf(url).startsWith(PATH),
    handle: (request, response) => {
      request.resume();
      const id = pathOf(request.url ?? "").slice(PATH.length);
      if (request.method !== "GET") return sendPlainResponse(response, HTTP.notAllowed);
      if (!isUuid(id) || !mayAnswer()) return sendPlainResponse(response, HTTP.notFound);
      answerChallenge(database, { id, response }).catch((error: unknown) => {
        log.warn({ err: error }, "could not answer a request about the identity of this server");
        sendPlainResponse(response, HTTP.unavailable);
      });
    },
  };
}

async function answerChallenge(
  database: Database,
  { id, response }: { id: string; response: ServerResponse },
): Promise<void> {
  const answer = await findChallengeAnswer(database, id);
  if (answer === null) return sendPlainResponse(response, HTTP.notFound);
  const headers = { "Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store" };
  response.writeHead(HTTP.ok, { ...headers, ...SAFETY_HEADERS });
  response.end(answer);
}
