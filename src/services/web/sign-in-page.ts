import { html, type Html, ICON_HREF, LOGO_SVG, trusted } from "../../lib/http/html.ts";
import { basePath } from "../../lib/http/request-target.ts";
import { themeOf } from "./pages.ts";
import type { WebAnswer, WebRequest } from "./route.ts";

// The HTML, style and script of the sign-in pages. They work without the script, which only handles passkeys, and load
// nothing from other sites. Colors come from the dashboard's style sheet if it is built.

export const SIGN_IN_STYLE = `
.sign-in { margin: 0; min-height: 100vh; padding: 10vh 16px 32px; box-sizing: border-box;
  background: var(--bg, Canvas); color: var(--ink, CanvasText); font: 400 1rem/1.5 var(--font, system-ui, sans-serif); }
.sign-in *, .sign-in *::before { box-sizing: border-box; }
.sign-in-head, .sign-in-card { max-width: 26rem; margin: 0 auto; overflow-wrap: anywhere; }
.sign-in-head { padding: 0 4px 16px; }
.sign-in-head a { display: inline-flex; gap: 8px; align-items: center; color: inherit; text-decoration: none;
  font-weight: 650; font-size: 1.0625rem; letter-spacing: -0.015em; }
.sign-in-head circle { fill: var(--down-mark, #d33); }
.sign-in-card { padding: 28px 28px 30px; background: var(--surface, Canvas); border: 1px solid var(--line, GrayText);
  border-radius: var(--radius-l, 12px); box-shadow: var(--shadow-m, none); }
.sign-in-card h1 { margin: 0 0 12px; font-size: 1.375rem; line-height: 1.3; font-weight: 620; letter-spacing: -0.01em; }
.sign-in-card p { margin: 0 0 10px; color: var(--ink-2, inherit); }
.sign-in-card form { margin: 16px 0 0; }
.sign-in-field { margin: 0 0 14px; }
.sign-in-field label { display: block; margin: 0 0 4px; font-size: 0.875rem; font-weight: 560; }
.sign-in-field input { width: 100%; min-height: 44px; padding: 8px 12px; font: inherit; color: inherit;
  background: var(--bg, Field); border: 1px solid var(--line-strong, GrayText); border-radius: var(--radius-m, 8px); }
.sign-in-field input[aria-invalid] { border-color: var(--down, CanvasText); }
.sign-in-card code { white-space: nowrap; }
.sign-in-card .sign-in-hint { margin: 4px 0 0; font-size: 0.8125rem; color: var(--ink-3, inherit); }
.sign-in-card > .sign-in-hint { margin-top: 12px; }
.sign-in-hint a { color: var(--accent, LinkText); font-weight: 500; white-space: nowrap; }
.sign-in-card button, .sign-in-button { display: block; width: 100%; min-height: 44px; padding: 10px 18px; text-align: center;
  font: inherit; font-weight: 600; line-height: 22px; cursor: pointer; text-decoration: none; border: 1px solid transparent;
  border-radius: var(--radius-m, 8px); background: var(--accent, ButtonFace); color: var(--accent-ink, ButtonText); }
.sign-in-card button:hover { background: var(--accent-hover, ButtonFace); }
.sign-in-card .is-quiet, .sign-in-card button.is-quiet:hover { background: var(--surface, ButtonFace); color: var(--ink, ButtonText);
  border-color: var(--line-strong, GrayText); }
.sign-in-card button.is-quiet:hover, .sign-in-button.is-quiet:hover { background: var(--raised, ButtonFace); }
.sign-in :focus-visible { outline: 2px solid var(--accent, Highlight); outline-offset: 2px; }
.sign-in-card .sign-in-trouble { padding: 10px 12px; border-radius: var(--radius-m, 8px); color: var(--down, inherit);
  background: var(--down-soft, transparent); border: 1px solid currentColor; }
.sign-in-or { display: flex; align-items: center; gap: 12px; margin: 18px 0 !important; font-size: 0.8125rem; }
.sign-in-or::before, .sign-in-or::after { content: ""; flex: 1; border-top: 1px solid var(--line, GrayText); }
.sign-in-passkey { margin: 0 0 10px; }
.sign-in-passkey:last-child { margin: 0; }
.sign-in-passkey .sign-in-trouble { margin-top: 10px; }
.sign-in-card [hidden] { display: none; }
@media (max-width: 480px) { .sign-in { padding-top: 24px; } .sign-in-card { padding: 22px 18px 24px; } }
`;

export const PASSKEY_SCRIPT = `"use strict";
// Asks the browser for a passkey, and the server whether it is right.
(() => {
  const knows = typeof PublicKeyCredential === "function" && "parseRequestOptionsFromJSON" in PublicKeyCredential;
  if (!knows) return;
  const post = async (address, body) => {
    const answer = await fetch(address, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    const said = await answer.json();
    if (!answer.ok) throw new Error(said.error);
    return said;
  };
  for (const box of document.querySelectorAll(".sign-in-passkey")) {
    const button = box.querySelector("button");
    const trouble = box.querySelector(".sign-in-trouble");
    box.hidden = false;
    button.addEventListener("click", async () => {
      trouble.hidden = true;
      button.disabled = true;
      try {
        const { api, next } = box.dataset;
        const options = await post(api + "/options", { next });
        const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
        const credential = await navigator.credentials.get({ publicKey });
        const done = await post(api, { next, response: credential.toJSON() });
        location.assign(done.next);
      } catch (error) {
        const isOver = error instanceof DOMException;
        trouble.textContent = isOver ? "The passkey request was canceled or timed out. Try again." : error.message;
        trouble.hidden = false;
        button.disabled = false;
      }
    });
  }
})();
`;

export type FormPage = {
  title: string;
  /** The error, shown first. */
  trouble?: string | null;
  sentences?: readonly string[];
  parts?: readonly Html[];
  /** Loads the script for passkeys. */
  hasScript?: boolean;
  status?: number;
  cookies?: readonly string[];
};

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

export const SCRIPT_PATH = "/accounts/assets/passkey.js";
export const STYLE_PATH = "/accounts/assets/sign-in.css";

/** The path of a page with the site's base path. */
export function siteHref({ context }: Pick<WebRequest, "context">, path: string): string {
  return `${basePath(new URL(context.site.url))}${path}`;
}

/** The page as a response. */
export async function formPage(request: WebRequest, page: FormPage): Promise<WebAnswer> {
  const { context } = request;
  const { status = 200, cookies = [] } = page;
  const build = await context.assets.build();
  const styles = [...(build?.entry.styles ?? []).map((name) => `/web/assets/${name}`), STYLE_PATH];
  return {
    status,
    cookies,
    html: render(request, page, styles),
    headers: {
      "Content-Security-Policy": POLICY,
      "X-Robots-Tag": "noindex",
      "Cache-Control": "no-store",
    },
  };
}

function render(request: WebRequest, page: FormPage, styles: readonly string[]): string {
  const { site } = request.context;
  const theme = themeOf(request);
  const { title, trouble = null, sentences = [], parts = [], hasScript = false } = page;
  return html`<!doctype html>
<html lang="en"${theme !== "system" && html` data-theme="${theme}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} – ${site.name}</title>
<link rel="icon" href="${ICON_HREF}">
${styles.map((path) => html`<link rel="stylesheet" href="${siteHref(request, path)}">\n`)}${
  hasScript && html`<script src="${siteHref(request, SCRIPT_PATH)}" defer></script>\n`
}</head>
<body class="sign-in">
<header class="sign-in-head"><a href="${siteHref(request, "/")}">${trusted(LOGO_SVG)}<span>${site.name}</span></a></header>
<main class="sign-in-card">
<h1>${title}</h1>
${trouble !== null && html`<p class="sign-in-trouble" id="trouble" role="alert">${trouble}</p>\n`}${sentences.map(
  (text) => html`<p>${text}</p>\n`,
)}${parts}</main>
</body>
</html>
`.source;
}

export type FieldOf = {
  name: string;
  /** If a page has two fields with the same name. */
  id?: string;
  label: string;
  type?: "text" | "email" | "password";
  value?: string;
  autocomplete: string;
  hint?: string;
  isRequired?: boolean;
  /** The field gets the focus. */
  isFirst?: boolean;
  /** The error concerns this field. */
  isWrong?: boolean;
  inputmode?: "numeric";
};

/** A field with its label. */
export function field(of: FieldOf): Html {
  const { name, label, type = "text", value = "", autocomplete, hint = null, inputmode } = of;
  const { isRequired = true, isFirst = false, isWrong = false, id = `field-${name}` } = of;
  const described = [...(isWrong ? ["trouble"] : []), ...(hint === null ? [] : [`hint-${id}`])];
  return html`<div class="sign-in-field">
<label for="${id}">${label}</label>
<input id="${id}" name="${name}" type="${type}" value="${value}" autocomplete="${autocomplete}"${
    inputmode !== undefined && html` inputmode="${inputmode}"`
  }${isRequired && trusted(" required")}${isFirst && trusted(" autofocus")}${isWrong && trusted(' aria-invalid="true"')}${
    described.length > 0 && html` aria-describedby="${described.join(" ")}"`
  }>
${hint !== null && html`<p class="sign-in-hint" id="hint-${id}">${hint}</p>\n`}</div>
`;
}

/** The email address of an account. `username` is what the browser stores a password with. */
export function emailField(of: Omit<FieldOf, "name" | "label" | "type">): Html {
  return field({ name: "email", label: "Email address", type: "email", ...of });
}

/** A form with its hidden fields. */
export function form(
  request: WebRequest,
  of: {
    action: string;
    parts: readonly Html[];
    button: string;
    isQuiet?: boolean;
    hidden?: Readonly<Record<string, string | null>>;
  },
): Html {
  const { action, parts, button, isQuiet = false, hidden = {} } = of;
  return html`<form method="post" action="${siteHref(request, action)}">
${Object.entries(hidden).map(([name, value]) =>
  value === null ? html`` : html`<input type="hidden" name="${name}" value="${value}">\n`,
)}${parts}<button type="submit"${isQuiet && trusted(' class="is-quiet"')}>${button}</button>
</form>
`;
}

/** A separator between two sign-in methods. */
export function divider(text: string): Html {
  return html`<p class="sign-in-or"><span>${text}</span></p>\n`;
}

/** A link that looks like a button. */
export function buttonLink(request: WebRequest, { path, text }: { path: string; text: string }): Html {
  return html`<p><a class="sign-in-button is-quiet" href="${siteHref(request, path)}">${text}</a></p>\n`;
}

/** A button for a passkey. Hidden until the script detects that the browser supports passkeys. */
export function passkeyButton(
  request: WebRequest,
  { api, next, text }: { api: string; next: string | null; text: string },
): Html {
  return html`<div class="sign-in-passkey" hidden data-api="${siteHref(request, api)}" data-next="${next ?? ""}">
<button type="button" class="is-quiet">${text}</button>
<p class="sign-in-trouble" role="alert" hidden></p>
</div>
`;
}
