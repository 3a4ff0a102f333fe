// The HTML of every page of the dashboard: what to load, and the data of the first page as JSON. It holds no inline
// script, and the policy allows none.
import { BOOT_ELEMENT, type Boot, type Theme } from "../../../contract/web/boot.ts";
import { ICON_HREF } from "../../../lib/http/house-mark.ts";
import { type Html, html, trusted } from "../../../lib/http/html.ts";
import type { Entry } from "./assets.ts";

/** What a page may do: load from here, talk to here, and nothing else. */
export function policyFor(siteUrl: URL): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    // Badges are previewed by their public address.
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
  /** What is seen until the script has drawn the page; null: nothing. */
  firstSight: Html | null;
};

/** The whole page. */
export function renderDocument({ load, boot, theme, title, firstSight }: DocumentParts): string {
  const at = (name: string) => `${boot.site.base}/web/assets/${name}`;
  // While there is something to paint, scripts wait for it: to fetch and compile them takes the processor from it.
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

/** JSON that no text in it can end. */
function embedded(boot: Boot): string {
  return JSON.stringify(boot).replaceAll("<", String.raw`\u003c`);
}
