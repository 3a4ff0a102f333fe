// The role that people see: the dashboard, its data and its pages. It only works with the database.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Config } from "../config.ts";
import { SECOND_MS } from "../core/instant.ts";
import type { ServiceState } from "../core/machine/database-identity.ts";
import { reachOf } from "../channels/config/address-warnings.ts";
import { publicUrls } from "../contract/urls.ts";
import type { RecentMisses } from "../lib/http/recent-misses.ts";
import type { Log } from "../lib/log.ts";
import { loopService } from "../lib/loop.ts";
import { addFigures, type Metrics } from "../lib/metrics.ts";
import { signingWith } from "../operations/alerts/mail/signing.ts";
import { secretKeyOf } from "../operations/api-key.ts";
import { guardedObjects } from "../operations/bodies/read-body.ts";
import type { WebHouse } from "../services/web/house.ts";
import { receivingTrouble } from "../services/web/checks/overview.ts";
import { LiveHub } from "../services/web/live/hub.ts";
import { alertDelays } from "../services/web/shell/alert-delay.ts";
import { folderAssets } from "../services/web/shell/assets.ts";
import { type WebHandler, webHandler } from "../services/web/server.ts";
import type { Database } from "../store/db.ts";
import { resolverOf, signInOf } from "./sign-in.ts";
import type { SitePart } from "./site.ts";
import { type Watching, watchIntakes } from "./watching.ts";
import { objectStoreOf } from "./ways-out/object-store.ts";
import { missesOf, setUpPartsOf } from "./ways-out/set-up.ts";

export type WebResources = {
  config: Config;
  database: Database;
  log: Log;
  metrics: Metrics;
  misses?: RecentMisses;
  serviceState?: () => ServiceState;
};

/** So often it is looked for what has changed, while somebody watches. */
const LIVE_EVERY_MS = SECOND_MS;

/** The role as a part of the public port. */
export function webRole(resources: WebResources): SitePart {
  const { config, database, log, metrics } = resources;
  const ending = new AbortController();
  const watching = watchIntakes("web-sight", { database, log, metrics: metrics.loops });
  const live = new LiveHub({
    database,
    now: () => watching.now(),
    receiving: (now) => receivingTrouble(watching, now),
  });
  const liveLoop = loopService("web-live", {
    idleMs: LIVE_EVERY_MS,
    log,
    metrics: metrics.loops,
    tick: async () => {
      await live.tick();
      return "idle";
    },
  });
  const loops = [watching, liveLoop];
  let handler: WebHandler | null = null;
  addFigures(metrics, [
    {
      name: "overdue_dashboard_streams",
      help: "Dashboard pages that receive live updates.",
      kind: "gauge",
      read: () => live.size,
    },
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
      const house = await makeHouse(resources, { watching, live, signal: ending.signal });
      handler = await webHandler({ house, trustedProxies: config.trustedProxies });
      for (const loop of loops) await loop.start();
      return [handler];
    },
    // Streams would never end by themselves; the browsers come back to whoever is there then.
    closing: () => live.close(),
    close: async () => {
      ending.abort();
      for (const loop of loops.toReversed()) await loop.stop();
      await handler?.close();
    },
    trouble: () => (handler === null ? "has not started" : (watching.trouble() ?? liveLoop.trouble())),
  };
}

async function makeHouse(
  { config, database, log, metrics, misses = missesOf(config), serviceState }: WebResources,
  { watching, live, signal }: { watching: Watching; live: LiveHub; signal: AbortSignal },
): Promise<WebHouse> {
  const secretKey = await secretKeyOf(database, config.secretKey);
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
    sight: () => watching.sight(),
    secretKey,
    signing: signingWith(secretKey),
    objects: objects === null ? null : guardedObjects(objects, { now: () => watching.now() }),
    resolveSession: resolverOf(config, { database, secretKey }),
    signIn: signInOf(config),
    setUp: setUpPartsOf(config, misses),
    live,
    now: () => watching.now(),
    assets: folderAssets(builtFolder()),
    alertDelayMs: alertDelays(database),
    serviceState: serviceState ?? (() => "normal"),
    log,
  };
}

/** Where the build leaves the browser's part: the same place for the sources and for the built program. */
function builtFolder(): string {
  return fileURLToPath(new URL("../../dist/web", import.meta.url));
}

const LETTERS = /^inter-latin-wght-normal-[\w-]+\.woff2$/;

/** The path below the site of the dashboard's letters; null: nothing is built. */
export function lettersPath(): string | null {
  try {
    const name = readdirSync(join(builtFolder(), "assets")).find((file) => LETTERS.test(file));
    return name === undefined ? null : `/web/assets/${name}`;
  } catch {
    return null;
  }
}
