// Serves public status pages as a part of the public port. It opens without the database, so that readers get a page that
// says so, and keeps the last known pages while the database is unavailable.
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import type { Config } from "../config/config.ts";
import type { Signing } from "../core/email.ts";
import { SECOND_MS } from "../core/instant.ts";
import type { Log } from "../lib/log.ts";
import { loopService } from "../lib/loop.ts";
import { addFigures, type Metrics } from "../lib/metrics.ts";
import { secretsOf, signingWith } from "../operations/secrets.ts";
import { changedStatusPages, loadStatusView } from "../operations/status-pages.ts";
import { StatusBoard } from "../services/status/board.ts";
import { renderDocuments } from "../services/status/documents.ts";
import { hostName, type StatusFont, type StatusHandler, statusHandler } from "../services/status/handler.ts";
import type { Database } from "../store/db.ts";
import type { ServerRole } from "./public-server.ts";
import { fontFile } from "./web.ts";

export type StatusResources = {
  config: Config;
  database: Database;
  log: Log;
  metrics: Metrics;
  /** False until the schema of the database has been verified. */
  isPrepared?: () => boolean;
};

/** How often changes of all pages are read. */
const CHANGES_EVERY_MS = SECOND_MS;

export function statusPart({ config, database, log, metrics, isPrepared }: StatusResources): ServerRole {
  const site = { name: config.siteName, url: config.siteUrl };
  const font = readFont();
  const now = () => Date.now();
  let signing: Signing | null = null;
  let handler: StatusHandler | null = null;
  const board = new StatusBoard({
    readChanges: (since) => changedStatusPages(database, { since }),
    readView: (pageId, at) => loadStatusView(database, { pageId, now: at }),
    render: (view, options) =>
      renderDocuments(view, {
        ...options,
        site,
        fontName: font?.name ?? null,
        hasEmail: config.smtpHost !== null,
      }),
    now,
  });
  const loop = loopService("status-pages", {
    idleMs: CHANGES_EVERY_MS,
    log,
    metrics: metrics.loops,
    tick: async () => {
      // Before the first migration, there are no tables.
      if (isPrepared?.() === false) return "idle";
      signing ??= signingWith(await secretsOf(database, config));
      return board.tick();
    },
  });
  addFigures(metrics, [
    {
      name: "overdue_status_page_answers_total",
      help: "Responses of public status pages, by status.",
      kind: "counter",
      label: "status",
      readEach: () => handler?.answerCounts() ?? {},
    },
    {
      name: "overdue_status_pages_kept_bytes",
      help: "Memory used by status pages that are ready to be sent.",
      kind: "gauge",
      read: () => board.keptBytes,
    },
  ]);
  return {
    name: "status-pages",
    needsDatabase: false,
    open: async () => {
      handler = statusHandler({
        board,
        database,
        signing: () => signing,
        site,
        ownHosts: ownHostsOf(config),
        trustedProxies: config.trustedProxies,
        font,
        now,
        log,
      });
      await loop.start();
      return [handler];
    },
    close: () => loop.stop(),
    // Without the database, other parts of the process report it.
    problem: () => null,
  };
}

/** Hosts that serve something else, so that no page can take them over. */
function ownHostsOf({ siteUrl, apiUrl, pingUrl }: Config): ReadonlySet<string> {
  const urls = [siteUrl, apiUrl, pingUrl].flatMap((url) => (url === null ? [] : [new URL(url).host]));
  return new Set(urls.flatMap((host) => hostName(host) ?? []));
}

function readFont(): StatusFont | null {
  const file = fontFile();
  return file === null ? null : { name: basename(file), bytes: readFileSync(file) };
}
