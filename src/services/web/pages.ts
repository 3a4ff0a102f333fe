// The HTML pages of the dashboard and the data they start with.
import {
  type Boot,
  BOOT_ELEMENT,
  type BootPage,
  hasNews,
  PAGE_PATHS,
  type PageName,
  type PagePath,
  type Theme,
  THEME_COOKIE,
} from "../../contract/api/boot.ts";
import {
  type CheckRow,
  comparePlaces,
  drawnAt,
  isUrgent,
  naturalKey,
  placeByNeed,
} from "../../contract/api/check-row.ts";
import type { Overview } from "../../contract/api/overview.ts";
import {
  checkName,
  checksTitle,
  LIST_WORDS,
  SILENT_WORDS,
  silentAction,
  STATE_WORDS,
} from "../../contract/api/words.ts";
import { isUniqueKey } from "../../core/identity.ts";
import { DAY_MS, type Instant, MINUTE_MS } from "../../core/instant.ts";
import { type Html, html, ICON_HREF, trusted } from "../../lib/http/html.ts";
import { basePath } from "../../lib/http/request-target.ts";
import { findUuidByUniqueKey } from "../../store/checks.ts";
import type { Db } from "../../store/db.ts";
import { medianAlertDelay } from "../../store/deliveries.ts";
import { listProjectsOfAccount } from "../../store/projects.ts";
import { projectHead } from "../api/checks.ts";
import type { Build, Entry } from "./assets.ts";
import { PAGE_HEADERS, renderPage } from "./plain-page.ts";
import { encodingFor } from "../../lib/http/compress.ts";
import {
  accountRoute,
  checkRoute,
  openRoute,
  projectRoute,
  type WebAccess,
  type WebAnswer,
  WebRefusal,
  type WebRequest,
  type WebRoute,
} from "./route.ts";

const MEASURED_EVERY_MS = MINUTE_MS;

/** A value that is measured at most once a minute, however many pages are shown. */
export function alertDelays(db: Db): (now: Instant) => Promise<number | null> {
  let taken: { at: Instant; delay: Promise<number | null> } | null = null;
  return (now) => {
    if (taken === null || Math.abs(now - taken.at) >= MEASURED_EVERY_MS) {
      taken = { at: now, delay: medianAlertDelay(db, { since: now - DAY_MS }).catch(() => null) };
    }
    return taken.delay;
  };
}

/** Light or dark, as chosen in the account or the browser. */
export function themeOf({ account, cookies }: WebRequest): Theme {
  const chosen = account?.theme ?? cookies[THEME_COOKIE];
  return chosen === "light" || chosen === "dark" ? chosen : "system";
}

/** The embedded data of a document; `page` is included unchanged. */
async function bootOf(request: WebRequest, page: BootPage | null): Promise<Boot> {
  const { context, account, now } = request;
  const [projects, alertDelayMs] = await Promise.all([
    account === null ? [] : listProjectsOfAccount(context.database, account.id),
    account === null ? null : context.alertDelayMs(now),
  ]);
  return {
    account: account && {
      email: account.email,
      name: account.name,
      zone: account.zone,
      theme: themeOf(request),
      density: account.density,
      isAdmin: account.isAdmin,
    },
    projects: projects.map((project) => projectHead(project, project.role)),
    site: {
      name: context.site.name,
      url: context.urls.site,
      base: basePath(new URL(context.site.url)),
      pingUrl: context.urls.ping,
      mailDomain: context.mailDomain,
      version: context.version,
      pushKey: context.pushKey,
    },
    alertDelayMs,
    serviceState: account === null ? "normal" : context.serviceState(),
    page,
    now,
  };
}

// The HTML contains the data of the first page as JSON and no inline script; the policy allows none.

/** The Content-Security-Policy: only resources and connections of this server. */
export function policyFor(siteUrl: URL): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    // Badges are previewed by their public URL.
    `img-src 'self' data: ${siteUrl.origin}`,
    "font-src 'self'",
    "connect-src 'self'",
    "worker-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; ");
}

export type DocumentParts = {
  load: Entry;
  boot: Boot;
  theme: Theme;
  title: string;
  /** Shown until the script has rendered the page; null: nothing. */
  firstSight: Html | null;
};

/** The whole page. */
export function renderDocument({ load, boot, theme, title, firstSight }: DocumentParts): string {
  const at = (name: string) => `${boot.site.base}/web/assets/${name}`;
  // If there is something to paint, scripts load after it: fetching and compiling them would delay it.
  const preload = trusted(firstSight === null ? 'rel="modulepreload"' : 'data-rel="modulepreload"');
  const chosen = theme === "system" ? "" : trusted(` data-theme="${theme}"`);
  const dense = boot.account?.density === "compact" ? trusted(' data-density="compact"') : "";
  return html`<!doctype html>
<html lang="en"${chosen}${dense}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="${theme === "system" ? "light dark" : theme}">
<title>${title}</title>
<link rel="icon" type="image/svg+xml" href="${ICON_HREF}">
<link rel="apple-touch-icon" href="${at("icon-512-maskable.png")}">
<link rel="manifest" href="${boot.site.base}/manifest.webmanifest" crossorigin="use-credentials">
${load.styles.map((name) => html`<link rel="stylesheet" href="${at(name)}">\n`)}${load.preloads.map(
  (name) => html`<link ${preload} href="${at(name)}">\n`,
)}<script type="module" src="${at(load.script)}"></script>
</head>
<body>
<div id="app">${firstSight}</div>
<noscript>Enable JavaScript to use the dashboard.</noscript>
<script type="application/json" id="${BOOT_ELEMENT}">${trusted(embedded(boot))}</script>
</body>
</html>
`.source;
}

/** JSON that cannot end its script element. */
function embedded(boot: Boot): string {
  return JSON.stringify(boot).replaceAll("<", String.raw`\u003c`);
}

// The checks page before its script runs: the title and the first rows, in the places where the script draws them. No style
// attributes: the policy forbids them. The classes are those of web/pages/checks.

/** The maximum number of rows that a window shows without scrolling. */
const ROWS = { comfortable: 24, compact: 32 } as const;

/** Only for the checks page in its default order; every other page starts empty. */
export function initialRows(
  { url }: Pick<WebRequest, "url">,
  { account, page, site, now }: Boot,
): Html | null {
  if (page?.kind !== "checks" || page.total === 0 || url.includes("?")) return null;
  const { since } = page;
  // A line whose text depends on the reader's time zone reserves its space. A monitoring gap is shown below the list.
  const above = [
    ...(page.silent.downCount === 0 ? [] : [silentBand(page)]),
    ...(since === null || !hasNews(since) ? [] : [html`<p class="since">&nbsp;</p>`]),
    html`<div class="filters"><span class="chip is-quiet">&nbsp;</span></div>`,
  ];
  return html`<div class="shell">
<div class="rail"></div>
<main class="page" aria-busy="true">
<header class="top"><h1>${checksTitle(page.counts, page.total)}</h1><div class="search"><div class="input"></div></div></header>
${above}${list(page, { base: site.base, now, count: ROWS[account?.density ?? "comfortable"] })}
</main>
</div>`;
}

function silentBand({ silent, project }: Overview): Html {
  const action = silentAction(silent, project);
  return html`<section class="band no-channels-band" aria-label="${SILENT_WORDS.label}">
<svg class="icon" width="16" height="16" aria-hidden="true"></svg>
<div class="silent-text"><b>${SILENT_WORDS.title(silent.downCount)}</b> ${SILENT_WORDS.text(silent)}</div>
${action === null ? [] : [html`<span class="button is-primary">${action}</span>`]}</section>`;
}

type Drawn = { base: string; now: number; count: number };

function list({ checks }: Overview, at: Drawn): Html {
  const placed = checks.map((row) => ({ row, ...placeByNeed(row, row.state, naturalKey(row.name)) }));
  const sorted = placed.toSorted(comparePlaces).map(({ row }) => row);
  const urgent = sorted.filter(({ state }) => isUrgent(state));
  const calm = sorted.filter(({ state }) => !isUrgent(state));
  const isApart = urgent.length > 0 && calm.length > 0;
  const lines = [
    ...(urgent.length > 0 ? [heading(LIST_WORDS.needsAttention)] : []),
    ...urgent.map((row) => line(row, at)),
    ...(isApart ? [heading(LIST_WORDS.everythingElse)] : []),
    ...calm.map((row) => line(row, at)),
  ];
  const heads = Object.values(LIST_WORDS.columns).map(
    (text) => html`<span role="columnheader">${text}</span>`,
  );
  return html`<div class="list" role="table" aria-label="${LIST_WORDS.list}">
<div role="rowgroup"><div class="list-head" role="row" aria-rowindex="1">${heads}</div></div>
<div class="list-rows is-first" role="rowgroup">
${lines.slice(0, at.count).map((draw, index) => draw(index + 2))}</div>
</div>`;
}

type Line = (index: number) => Html;

function heading(text: string): Line {
  return (index) =>
    html`<div class="list-group" role="row" aria-rowindex="${index}"><span role="cell"><h2>${text}</h2></span></div>\n`;
}

function line(row: CheckRow, { base, now }: Drawn): Line {
  const state = drawnAt(row, now);
  return (index) =>
    html`<div class="row is-${state}" role="row" aria-rowindex="${index}">
<span class="row-state" role="cell"><span class="state is-${state}"><i class="shape"></i><span class="state-word">${STATE_WORDS[state]}</span></span></span>
<span class="row-name" role="cell"><a class="row-link clip" href="${base}/checks/${row.id}/details/">${checkName(row)}</a></span>
<span class="row-expected clip" role="cell">${row.expected}</span>
<span class="row-beats" role="cell"></span><span class="row-spark" role="cell"></span>
<span class="row-when" role="cell"><span>&nbsp;</span><span class="fuse"></span></span>
</div>
`;
}

/** The initial data of a page; a page that is not listed here requests its data itself. */
export type PageData = Partial<Record<PageName, (request: WebRequest) => Promise<BootPage | null>>>;

const ACCESS: Readonly<Record<PagePath["for"], WebAccess>> = {
  anyone: "anyone",
  account: "account",
  operator: "operator",
  member: "view",
};

/** The routes of all pages. */
export function pageRoutes(data: PageData): WebRoute[] {
  return PAGE_PATHS.map(({ name, path, for: readers }) => ({
    name: `page ${name}`,
    method: "GET",
    path,
    access: ACCESS[readers],
    answer: async (request) => shellAnswer(request, { name, page: (await data[name]?.(request)) ?? null }),
  }));
}

async function shellAnswer(
  request: WebRequest,
  { name, page }: { name: PageName | "board"; page: BootPage | null },
): Promise<WebAnswer> {
  const { context } = request;
  const build = await context.assets.build();
  if (build === null) return notBuilt(request);
  const boot = await bootOf(request, page);
  const firstSight = initialRows(request, boot);
  const parts = {
    load: loadFor(build, name),
    boot,
    theme: themeOf(request),
    title: context.site.name,
    firstSight,
  };
  return {
    html: renderDocument(parts),
    headers: { "Content-Security-Policy": policyFor(new URL(context.site.url)), "X-Robots-Tag": "noindex" },
  };
}

/** The page of a shared wall board: as for a visitor without a session, even if there is one. */
export function boardAnswer(request: WebRequest): Promise<WebAnswer> {
  return shellAnswer({ ...request, session: null, account: null }, { name: "board", page: null });
}

/** A run is shown over the page of its check. */
const PARTS: Partial<Record<string, string>> = { run: "check" };

function loadFor({ entry, pages }: Build, name: PageName | "board"): Entry {
  const own = pages.get(PARTS[name] ?? name);
  if (own === undefined) return entry;
  return {
    ...entry,
    styles: [...entry.styles, ...own.styles],
    preloads: [...entry.preloads, ...own.preloads],
  };
}

function notBuilt({ context }: WebRequest): WebAnswer {
  const { "Content-Type": _, ...headers } = PAGE_HEADERS;
  const sentences = [
    "The dashboard has not been built. Run “npm run build” in the program directory, then reload this page.",
    "Pings, the API and alerts work without the dashboard.",
  ];
  return {
    status: 503,
    html: renderPage({ title: "Dashboard not built", sentences }, context.site),
    headers,
  };
}

/** File names contain a content hash, so a name never has other contents. */
const CACHE_IMMUTABLE = "public, max-age=31536000, immutable";

/** A worker has the policy of its own file, and the shared worker connects to the stream. */
const ASSET_POLICY = "default-src 'none'; connect-src 'self'; frame-ancestors 'none'";

const asset = openRoute({
  name: "asset",
  method: "GET",
  path: "/web/assets/:name",
  access: "anyone",
  answer: async ({ context, params, headers }) => {
    const accepted = headers["accept-encoding"];
    const encoding = encodingFor(Array.isArray(accepted) ? accepted.join() : accepted);
    const found = await context.assets.read(params["name"] ?? "", encoding);
    if (found === null) throw new WebRefusal("not_found", "File not found.");
    return {
      packed: found.bytes,
      encoding: found.encoding,
      type: found.asset.type,
      headers: { "Cache-Control": CACHE_IMMUTABLE, "Content-Security-Policy": ASSET_POLICY },
    };
  },
});

/** The service worker loads the icons of notifications, and nothing else. */
const WORKER_POLICY = "default-src 'none'; img-src 'self'; frame-ancestors 'none'";

/** At the root, because a worker may act for paths below its own only. */
const serviceWorker = openRoute({
  name: "service worker",
  method: "GET",
  path: "/service-worker.js",
  access: "anyone",
  answer: async ({ context }) => {
    const found = await context.assets.read("service-worker.js", null);
    if (found === null) throw new WebRefusal("not_found", "File not found.");
    return {
      content: found.bytes,
      type: found.asset.type,
      headers: { "Cache-Control": "no-cache", "Content-Security-Policy": WORKER_POLICY },
    };
  },
});

/** The background of the icons. */
const APP_COLOR = "#17181d";

/** Makes the dashboard installable: as an app, or on the home screen of a phone. */
const appManifest = openRoute({
  name: "web app manifest",
  method: "GET",
  path: "/manifest.webmanifest",
  access: "anyone",
  answer: async ({ context }) => {
    const base = `${basePath(new URL(context.site.url))}/`;
    const icon = (name: string, sizes: string, purpose: string) => ({
      src: `${base}web/assets/${name}`,
      sizes,
      type: "image/png",
      purpose,
    });
    const manifest = {
      name: context.site.name,
      short_name: context.site.name,
      id: base,
      start_url: base,
      scope: base,
      display: "standalone",
      theme_color: APP_COLOR,
      background_color: APP_COLOR,
      icons: [
        icon("icon-192.png", "192x192", "any"),
        icon("icon-512.png", "512x512", "any"),
        icon("icon-512-maskable.png", "512x512", "maskable"),
      ],
    };
    return {
      content: JSON.stringify(manifest),
      type: "application/manifest+json",
      headers: { "Cache-Control": "no-cache" },
    };
  },
});

/** The reference server's name for channels. */
const integrations = projectRoute({
  name: "old path of channels",
  method: "GET",
  path: "/projects/:project/integrations/",
  access: "view",
  answer: async ({ project }) => ({ redirect: `/projects/${project.uuid}/channels/` }),
});

/** The reference server had the log of a check on a separate page. */
const log = checkRoute({
  name: "old path of a log",
  method: "GET",
  path: "/checks/:check/log/",
  access: "view",
  answer: async ({ check }) => ({ redirect: `/checks/${check.uuid}/details/` }),
});

/** The reference server had parts of the account on separate pages. */
const accountParts = (["appearance", "notifications"] as const).map((part) =>
  accountRoute({
    name: `old path of ${part}`,
    method: "GET",
    path: `/accounts/profile/${part}/`,
    access: "account",
    answer: async () => ({ redirect: "/accounts/profile/" }),
  }),
);

/** Links in reports name a check by its unique key, which is useless without an account. */
const cloaked = accountRoute({
  name: "check by unique key",
  method: "GET",
  path: "/cloaked/:uniqueKey/",
  access: "account",
  answer: async ({ context, account, params }) => {
    const key = params["uniqueKey"] ?? "";
    const projects = isUniqueKey(key) ? await listProjectsOfAccount(context.database, account.id) : [];
    const projectIds = projects.map(({ id }) => id);
    const uuid =
      projects.length === 0 ? null : await findUuidByUniqueKey(context.database, { key, projectIds });
    if (uuid !== null) return { redirect: `/checks/${uuid}/details/` };
    throw new WebRefusal("not_found", "Check not found, or you don't have access.");
  },
});

export const shellRoutes: readonly WebRoute[] = [
  asset,
  serviceWorker,
  appManifest,
  integrations,
  log,
  ...accountParts,
  cloaked,
];
