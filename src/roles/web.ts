// The dashboard role. Needs the database.
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { reachOf } from "../channels/registry.ts";
import type { Config } from "../config/config.ts";
import { objectStoreOf } from "../config/connections.ts";
import { publicUrls } from "../contract/urls.ts";
import type { ServiceState } from "../core/database-identity.ts";
import { trustedPeers } from "../lib/http/client-address.ts";
import type { HttpHandler } from "../lib/http/listener.ts";
import type { Log } from "../lib/log.ts";
import { addFigures, type Metrics } from "../lib/metrics.ts";
import { guardedObjects } from "../operations/ping-bodies.ts";
import { pushKeysOf, secretsOf, signingWith } from "../operations/secrets.ts";
import { type WatermarkLoop, watermarkLoop } from "../operations/watermark-loop.ts";
import { folderAssets } from "../services/web/assets.ts";
import { docsHandler } from "../services/web/docs.ts";
import { alertDelays } from "../services/web/pages.ts";
import type { SignInContext, WebContext } from "../services/web/route.ts";
import { type WebHandler, webHandler } from "../services/web/server.ts";
import { sessionResolver } from "../services/web/session.ts";
import type { Database } from "../store/db.ts";
import type { ServerRole } from "./public-server.ts";

export type WebResources = {
  config: Config;
  database: Database;
  log: Log;
  metrics: Metrics;
  serviceState?: () => ServiceState;
};

/** The role as a part of the public port. */
export function webRole(resources: WebResources): ServerRole {
  const { config, database, log, metrics } = resources;
  const ending = new AbortController();
  const watermark = watermarkLoop("web-sight", { database, log, metrics: metrics.loops });
  let handler: WebHandler | null = null;
  addFigures(metrics, [
    {
      name: "overdue_dashboard_answers_total",
      help: "Dashboard responses by status.",
      kind: "counter",
      label: "status",
      readEach: () => handler?.answerCounts() ?? {},
    },
  ]);
  return {
    name: "web",
    needsDatabase: true,
    open: async () => {
      const context = await makeWebContext(resources, { watermark, signal: ending.signal });
      handler = await webHandler({ context, trustedProxies: config.trustedProxies });
      await watermark.start();
      return [handler, docsOf(config)];
    },
    close: async () => {
      ending.abort();
      await watermark.stop();
      await handler?.close();
    },
    problem: () => (handler === null ? "has not started" : watermark.problem()),
  };
}

async function makeWebContext(
  { config, database, log, metrics, serviceState }: WebResources,
  { watermark, signal }: { watermark: WatermarkLoop; signal: AbortSignal },
): Promise<WebContext> {
  const secrets = await secretsOf(database, config);
  const objects = objectStoreOf(config, { signal });
  return {
    database,
    urls: publicUrls(config),
    site: { name: config.siteName, url: config.siteUrl },
    mailDomain: config.pingMailListen === null ? null : config.pingMailDomain,
    version: metrics.version,
    mailVerification: config.mailVerification,
    destinations: reachOf(config),
    checkLimitDefault: config.checkLimit,
    pingLogLimit: config.pingLogLimit,
    signalsPerMinute: config.signalsPerMinute,
    visibility: () => watermark.visibility(),
    secrets,
    signing: signingWith(secrets),
    pushKey: (await pushKeysOf(database, secrets)).publicKey,
    objects: objects === null ? null : guardedObjects(objects, { now: () => watermark.now() }),
    resolveSession: resolverOf(config, { database, secretKey: secrets.current }),
    signIn: await signInOf(config),
    now: () => watermark.now(),
    assets: folderAssets(builtFolder("web")),
    alertDelayMs: alertDelays(database),
    serviceState: serviceState ?? (() => "normal"),
    log,
  };
}

function docsOf(config: Config): HttpHandler {
  return docsHandler({ urls: publicUrls(config), siteName: config.siteName, folder: builtFolder("docs") });
}

/** Where a part of the build is: the same place for the sources and for the built program. */
function builtFolder(part: "web" | "docs"): string {
  return fileURLToPath(new URL(`../../dist/${part}`, import.meta.url));
}

const FONT_FILE = /^inter-latin-wght-normal-[\w-]+\.woff2$/;

/** The file of the dashboard's font; null: the dashboard is not built. */
export function fontFile(): string | null {
  try {
    const folder = join(builtFolder("web"), "assets");
    const name = readdirSync(folder).find((file) => FONT_FILE.test(file));
    return name === undefined ? null : join(folder, name);
  } catch {
    return null;
  }
}

/** The path of the dashboard's font; null: the dashboard is not built. */
export function fontPath(): string | null {
  const file = fontFile();
  return file === null ? null : `/web/assets/${basename(file)}`;
}

/** The configured sign-in methods. */
async function signInOf(config: Config): Promise<SignInContext> {
  return {
    registrationOpen: config.registrationOpen,
    mail: config.smtpHost !== null,
    proxyHeader: config.remoteUserHeader,
    oidc: await oidcOf(config),
  };
}

async function oidcOf(config: Config): Promise<SignInContext["oidc"]> {
  const issuer = config.oidcIssuer;
  const clientId = config.oidcClientId;
  if (issuer === null || clientId === null) return null;
  const { oidcClient } = await import("../services/web/oidc.ts");
  return oidcClient({
    issuer,
    clientId,
    clientSecret: config.oidcClientSecret,
    name: config.oidcName,
    createsAccounts: config.oidcCreatesAccounts,
    redirectUri: `${config.siteUrl}/accounts/oidc/`,
  });
}

/** Finds the session of a request, by its cookie or by the header of an authenticating proxy. */
export function resolverOf(
  config: Config,
  { database, secretKey }: { database: Database; secretKey: string },
): ReturnType<typeof sessionResolver> {
  return sessionResolver({
    database,
    secretKey,
    siteUrl: new URL(config.siteUrl),
    proxyHeader: config.remoteUserHeader,
    isTrusted: trustedPeers(config.trustedProxies),
  });
}
