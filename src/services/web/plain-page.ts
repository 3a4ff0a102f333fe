// A plain page for links in emails and for errors: a few sentences and at most one button, no scripts.
import { createHash } from "node:crypto";
import { DARK, FONT, LIGHT, type Palette } from "../../channels/email-layout.ts";
import { type Html, html, ICON_HREF, LOGO_SVG, trusted } from "../../lib/http/html.ts";

export type Page = {
  title: string;
  sentences: readonly string[];
  /** The label of the button, which sends a POST to the same URL. */
  button?: string;
  /** The button undoes something, so it must not look like the main action. */
  isUndo?: boolean;
  /** Hidden fields that the button sends. */
  fields?: Readonly<Record<string, string>>;
  /** The label of the link to the dashboard, for users who have access. */
  home?: string;
};

const STYLE = `
:root { color-scheme: light dark; ${variables(LIGHT)} }
@media (prefers-color-scheme: dark) { :root { ${variables(DARK)} } }
* { box-sizing: border-box; }
body { margin: 0; padding: 12vh 16px 32px; background: var(--ground); color: var(--ink); font: 400 16px/1.55 ${FONT}; }
main, header { max-width: 480px; margin: 0 auto; overflow-wrap: anywhere; }
header { padding: 0 4px 14px; font-weight: 650; font-size: 17px; letter-spacing: -0.015em; }
header a { display: inline-flex; align-items: center; gap: 8px; color: var(--ink); text-decoration: none; }
header circle { fill: var(--badMark); }
main { padding: 26px 28px 30px; background: var(--surface); border: 1px solid var(--line); border-radius: 12px; }
h1 { margin: 0 0 10px; font-size: 22px; line-height: 1.3; font-weight: 620; letter-spacing: -0.01em; }
p { margin: 0 0 8px; color: var(--ink2); }
p:last-child { margin: 0; }
.home { margin-top: 18px !important; }
.home a { color: var(--accent); font-weight: 600; text-decoration: none; }
.home a:hover { text-decoration: underline; text-underline-offset: 3px; }
form { margin: 20px 0 0; }
button { width: 100%; min-height: 44px; padding: 10px 18px; border: 0; border-radius: 8px; background: var(--accent); color: var(--onAccent); font: 600 15px/20px ${FONT}; cursor: pointer; }
button.undo { background: none; border: 1px solid var(--line); color: var(--ink); }
a:focus-visible, button:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
@media (max-width: 480px) { body { padding-top: 24px; } main { padding: 22px 18px 24px; } }
`;

function variables(palette: Palette): string {
  return Object.entries(palette)
    .map(([name, colour]) => `--${name}: ${colour};`)
    .join(" ");
}

/** Headers of every page: no scripts, no external resources, and no Referer, because the URL is a secret. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy": [
    "default-src 'none'",
    `style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; "),
  "Cache-Control": "no-store",
  "X-Robots-Tag": "noindex",
};

/** The whole page. */
export function renderPage(page: Page, site: { name: string; url: string }): string {
  const { title, sentences, button, isUndo = false, fields = {}, home } = page;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${title} – ${site.name}</title>
<link rel="icon" href="${ICON_HREF}">
<style>${trusted(STYLE)}</style>
</head>
<body>
<header><a href="${site.url}/">${trusted(LOGO_SVG)}${site.name}</a></header>
<main>
<h1>${title}</h1>
${sentences.map((text) => html`<p>${text}</p>\n`)}${
  button !== undefined &&
  html`<form method="post">${hiddenFields(fields)}<button type="submit"${isUndo && trusted(' class="undo"')}>${button}</button></form>\n`
}${home !== undefined && html`<p class="home"><a href="${site.url}/">${home}</a></p>\n`}</main>
</body>
</html>
`.source;
}

function hiddenFields(fields: Readonly<Record<string, string>>): Html[] {
  return Object.entries(fields).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  );
}
