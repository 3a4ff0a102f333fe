// The API role: the Management API, the Overdue API, badges, Prometheus metrics, and the API documents. Needs the database.
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { providersOf } from "../channels/providers.ts";
import { KINDS, reachOf } from "../channels/registry.ts";
import type { Config } from "../config/config.ts";
import { mailServerOf, objectStoreOf } from "../config/connections.ts";
import { retentionOf } from "../config/retention.ts";
import { publicUrls } from "../contract/urls.ts";
import type { ServiceState } from "../core/database-identity.ts";
import { SECOND_MS } from "../core/instant.ts";
import type { HttpHandler } from "../lib/http/listener.ts";
import type { UnmatchedRequests } from "../lib/http/unmatched-requests.ts";
import type { Log } from "../lib/log.ts";
import { loopService } from "../lib/loop.ts";
import {
  addFigures,
  addHistogram,
  ANSWER_SECONDS,
  type Figure,
  type Metrics,
  statusClass,
} from "../lib/metrics.ts";
import { addressIn } from "../lib/setting-value.ts";
import { guardedObjects } from "../operations/ping-bodies.ts";
import { pushKeysOf, secretsOf, signingWith } from "../operations/secrets.ts";
import { recordTokenUses } from "../operations/tokens.ts";
import { type WatermarkLoop, watermarkLoop } from "../operations/watermark-loop.ts";
import { keyUseLoop, KeyUses } from "../services/api/auth.ts";
import { type BadgeHandler, badgeHandler } from "../services/management/badges.ts";
import { type PrometheusHandler, prometheusHandler } from "../services/management/prometheus.ts";
import { referenceHandler } from "../services/management/reference.ts";
import { type ApiHandler, apiHandler } from "../services/management/server.ts";
import type { ApiAnswered } from "../services/api/server.ts";
import { recentMonitoringGap } from "../services/api/checks.ts";
import { LiveHub } from "../services/api/live-hub.ts";
import type { ApiContext as OverdueContext } from "../services/api/route.ts";
import { type AckHandler, ackHandler } from "../services/web/ack.ts";
import { type CalendarHandler, calendarHandler } from "../services/web/calendar.ts";
import { type MailPagesHandler, mailPagesHandler } from "../services/web/mail-pages.ts";
import { overdueRunHandler } from "../services/web/overdue-run.ts";
import { type TwilioStatusHandler, twilioStatusHandler } from "../services/web/twilio-status.ts";
import type { Database } from "../store/db.ts";
import type { ServerRole } from "./public-server.ts";
import { openLogWait } from "./log-wait.ts";
import { fontPath, resolverOf } from "./web.ts";

export type ApiResources = {
  config: Config;
  database: Database;
  log: Log;
  metrics: Metrics;
  misses?: UnmatchedRequests;
  serviceState?: () => ServiceState;
};

type Parts = {
  onAnswered: (answered: ApiAnswered) => void;
  watermark: WatermarkLoop;
  uses: KeyUses;
  tokenUses: KeyUses;
  live: LiveHub;
  awaitLog: ((uuid: string) => Promise<void>) | null;
  signal: AbortSignal;
};

/** How often changes are read while clients receive live updates. */
const LIVE_EVERY_MS = SECOND_MS;

type Handlers = {
  api: ApiHandler;
  overdue: Counting;
  badge: BadgeHandler;
  scrape: PrometheusHandler;
  documents: HttpHandler;
  web: MailPagesHandler;
  ack: AckHandler;
  calendar: CalendarHandler;
  twilio: TwilioStatusHandler;
  wrapper: HttpHandler;
};

/** The role as a part of the public port. */
export function apiRole(resources: ApiResources): ServerRole {
  const { config, database, log, metrics } = resources;
  const ending = new AbortController();
  const watermark = watermarkLoop("api-sight", { database, log, metrics: metrics.loops });
  const uses = new KeyUses();
  const tokenUses = new KeyUses();
  const live = new LiveHub({
    database,
    now: () => watermark.now(),
    monitoringGap: (now) => recentMonitoringGap(watermark, now),
  });
  const liveLoop = loopService("api-live", {
    idleMs: LIVE_EVERY_MS,
    log,
    metrics: metrics.loops,
    tick: async () => {
      await live.tick();
      return "idle";
    },
  });
  const writing = { database, log, metrics: metrics.loops };
  const loops = [
    watermark,
    liveLoop,
    keyUseLoop({ ...writing, uses }),
    keyUseLoop({ ...writing, name: "token-uses", uses: tokenUses, record: recordTokenUses }),
  ];
  let handlers: Handlers | null = null;
  let logWait: Awaited<ReturnType<typeof openLogWait>> | null = null;
  addFigures(metrics, [
    {
      name: "overdue_dashboard_streams",
      help: "Clients that receive live updates.",
      kind: "gauge",
      read: () => live.size,
    },
    answers("api", "Management API responses by status.", () => handlers?.api),
    answers("own_api", "Overdue API responses by status.", () => handlers?.overdue),
    answers("badge", "Badge responses by status.", () => handlers?.badge),
    answers("scrape", "Project metrics responses by status.", () => handlers?.scrape),
    answers("web", "Responses of pages linked from emails, by status.", () => handlers?.web),
    answers("ack", "Responses of pages that acknowledge incidents, by status.", () => handlers?.ack),
    answers("calendar", "Responses of calendar feeds, by status.", () => handlers?.calendar),
    answers("twilio", "Responses to status callbacks of Twilio, by status.", () => handlers?.twilio),
  ]);
  const observe = addHistogram(metrics, {
    name: "overdue_api_answer_seconds",
    help: "Time to answer API requests; of live updates, until the stream begins.",
    bucketsSeconds: ANSWER_SECONDS,
    labelNames: ["api", "route", "status"],
  });
  const onAnswered = ({ api, isRead, status, ms }: ApiAnswered) =>
    observe(ms / SECOND_MS, { api, route: isRead ? "read" : "write", status: statusClass(status) });
  return {
    name: "api",
    needsDatabase: true,
    open: async () => {
      if (config.logTopic !== null) logWait = await openLogWait(config.logTopic, database);
      const awaitLog = logWait?.forCheck ?? null;
      const parts = { watermark, uses, tokenUses, live, awaitLog, onAnswered, signal: ending.signal };
      handlers = await makeHandlers(resources, parts);
      for (const loop of loops) await loop.start();
      const { api, badge, scrape, documents, web, ack, calendar, twilio, wrapper } = handlers;
      // The API handles every path below its own, so handlers with a path there come before it.
      return [badge, scrape, documents, web, ack, calendar, twilio, wrapper, api];
    },
    // Streams never end on their own; clients reconnect to another process.
    closing: () => live.close(),
    close: async () => {
      ending.abort();
      for (const loop of loops.toReversed()) await loop.stop();
      await handlers?.api.close();
      await logWait?.close();
    },
    problem: () => (handlers === null ? "has not started" : (watermark.problem() ?? liveLoop.problem())),
  };
}

async function makeHandlers(
  { config, database, log, metrics, misses, serviceState = () => "normal" }: ApiResources,
  { watermark, uses, tokenUses, live, awaitLog, onAnswered, signal }: Parts,
): Promise<Handlers> {
  const secrets = await secretsOf(database, config);
  const signing = signingWith(secrets);
  const siteUrl = new URL(config.siteUrl);
  const urls = publicUrls(config);
  const objects = objectStoreOf(config, { signal });
  const now = () => Date.now();
  const keyUsed = uses.note.bind(uses);
  const context = {
    database,
    urls,
    checkLimitDefault: config.checkLimit,
    pingLogLimit: config.pingLogLimit,
    visibility: () => watermark.visibility(),
    secrets,
    objects: objects === null ? null : guardedObjects(objects, { now }),
    awaitLog,
    log,
  };
  const monotonic = () => performance.now();
  const overdue: OverdueContext = {
    ...context,
    site: { name: config.siteName, url: config.siteUrl },
    mailDomain: config.pingMailListen === null ? null : config.pingMailDomain,
    version: metrics.version,
    mailVerification: config.mailVerification,
    sendsMail: config.smtpHost !== null,
    mail: await testMailSender(config),
    port: config.listen.port,
    signIn: {
      registrationOpen: config.registrationOpen,
      oidcIssuer: config.oidcClientId === null ? null : config.oidcIssuer,
      proxyHeader: config.remoteUserHeader,
    },
    destinations: reachOf(config),
    accounts: providersOf(config, await pushKeysOf(database, secrets)),
    retention: retentionOf(config),
    signalsPerMinute: config.signalsPerMinute,
    signing,
    live,
    missesSince: (at) => misses?.since(at) ?? [],
    now: () => watermark.now(),
    serviceState,
  };
  const resolve = resolverOf(config, { database, secretKey: secrets.current });
  const api = await apiHandler({
    context,
    siteUrl,
    apiUrl: config.apiUrl === null ? null : new URL(config.apiUrl),
    dialect: config.apiDialect,
    requestsPerMinute: config.apiRequestsPerMinute,
    trustedProxies: config.trustedProxies,
    keyUsed,
    monotonic,
    onAnswered,
    overdue: {
      context: overdue,
      resolveSession: async (source) => (await resolve(source)).session,
      tokenUsed: tokenUses.note.bind(tokenUses),
    },
  });
  const identify = (request: IncomingMessage, key: string | undefined) =>
    api.auth.identifyKey({ network: api.auth.networkOf(request), key });
  const fontFile = fontPath();
  return {
    api,
    overdue: { answerCounts: () => api.overdueCounts() },
    badge: badgeHandler({ database, siteUrl, siteName: config.siteName, secrets, now, log }),
    scrape: prometheusHandler({ database, siteUrl, identify, now, log, keyUsed }),
    documents: referenceHandler({
      urls,
      dialect: config.apiDialect,
      kinds: KINDS,
      font: fontFile === null ? null : urls.site + fontFile,
    }),
    web: mailPagesHandler({
      database,
      site: { name: config.siteName, url: config.siteUrl },
      signing,
      now,
      log,
    }),
    ack: ackHandler({
      database,
      site: { name: config.siteName, url: config.siteUrl },
      signing,
      trustedProxies: config.trustedProxies,
      now,
      monotonic,
      log,
    }),
    calendar: calendarHandler({
      database,
      siteUrl: config.siteUrl,
      trustedProxies: config.trustedProxies,
      now,
      monotonic,
      log,
    }),
    twilio: twilioStatusHandler({
      database,
      siteUrl: config.siteUrl,
      authToken: config.twilioAuthToken,
      log,
    }),
    wrapper: overdueRunHandler({ siteUrl, pingUrl: urls.ping, script: await readWrapper() }),
  };
}

/** The same place for the sources and for the built program. */
function readWrapper(): Promise<string> {
  return readFile(new URL("../../deploy/overdue-run", import.meta.url), "utf8");
}

/** Well below the time limit of a response. */
const TEST_MAIL_MS_MAX = 15 * SECOND_MS;

/** Sends test emails, each over a new connection, so that the configuration is what is tested. */
async function testMailSender(config: Config): Promise<OverdueContext["mail"]> {
  const server = mailServerOf(config);
  if (server === null) return null;
  const { openMailSender } = await import("../lib/mail-sender.ts");
  const timeoutMs = Math.min(server.timeoutMs, TEST_MAIL_MS_MAX);
  return {
    host: `${server.host}:${server.port}`,
    from: server.from,
    send: async (mail) => {
      const sender = openMailSender({ ...server, timeoutMs });
      try {
        const domain = addressIn(server.from).split("@").at(-1) ?? "localhost";
        return await sender.send({ ...mail, messageId: `<${randomUUID()}@${domain}>` });
      } finally {
        await sender.close();
      }
    },
  };
}

type Counting = { answerCounts(): Readonly<Record<string, number>> };

function answers(of: string, help: string, handler: () => Counting | undefined): Figure {
  return {
    name: `overdue_${of}_answers_total`,
    help,
    kind: "counter",
    label: "status",
    readEach: () => handler()?.answerCounts() ?? {},
  };
}
