// How the pages of signing in look: a card with a few sentences, fields and buttons. They work without a script, load
// nothing from elsewhere, and take their colours from the style sheet of the dashboard where it is built.
import { ICON_HREF, MARK_SVG } from "../../../lib/http/house-mark.ts";
import { html, type Html, trusted } from "../../../lib/http/html.ts";
import { basePath } from "../../../lib/http/request-target.ts";
import type { Asking, WebAnswer } from "../route.ts";
import { themeOf } from "../shell/boot.ts";

export type FormPage = {
  title: string;
  /** What went wrong, said before everything else. */
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

/** The path of a page as a browser needs it. */
export function siteHref({ house }: Pick<Asking, "house">, path: string): string {
  return `${basePath(new URL(house.site.url))}${path}`;
}

/** The page as an answer. */
export async function formPage(ask: Asking, page: FormPage): Promise<WebAnswer> {
  const { house } = ask;
  const { status = 200, cookies = [] } = page;
  const build = await house.assets.build();
  const styles = [...(build?.entry.styles ?? []).map((name) => `/web/assets/${name}`), STYLE_PATH];
  return {
    status,
    cookies,
    html: render(ask, page, styles),
    headers: {
      "Content-Security-Policy": POLICY,
      "X-Robots-Tag": "noindex",
      "Cache-Control": "no-store",
    },
  };
}

function render(ask: Asking, page: FormPage, styles: readonly string[]): string {
  const { site } = ask.house;
  const theme = themeOf(ask);
  const { title, trouble = null, sentences = [], parts = [], hasScript = false } = page;
  return html`<!doctype html>
<html lang="en"${theme !== "system" && html` data-theme="${theme}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} – ${site.name}</title>
<link rel="icon" href="${ICON_HREF}">
${styles.map((path) => html`<link rel="stylesheet" href="${siteHref(ask, path)}">\n`)}${
  hasScript && html`<script src="${siteHref(ask, SCRIPT_PATH)}" defer></script>\n`
}</head>
<body class="sign-in">
<header class="sign-in-head"><a href="${siteHref(ask, "/")}">${trusted(MARK_SVG)}<span>${site.name}</span></a></header>
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
  /** Where a page has two fields of a name. */
  id?: string;
  label: string;
  type?: "text" | "email" | "password";
  value?: string;
  autocomplete: string;
  hint?: string;
  isRequired?: boolean;
  /** The cursor is put there. */
  isFirst?: boolean;
  /** What went wrong is about this field. */
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

/** The address of an account. `username` is what a password is kept with in the browser. */
export function emailField(of: Omit<FieldOf, "name" | "label" | "type">): Html {
  return field({ name: "email", label: "Email address", type: "email", ...of });
}

/** A form of ours; what is hidden travels along. */
export function form(
  ask: Asking,
  of: {
    action: string;
    parts: readonly Html[];
    button: string;
    isQuiet?: boolean;
    hidden?: Readonly<Record<string, string | null>>;
  },
): Html {
  const { action, parts, button, isQuiet = false, hidden = {} } = of;
  return html`<form method="post" action="${siteHref(ask, action)}">
${Object.entries(hidden).map(([name, value]) =>
  value === null ? html`` : html`<input type="hidden" name="${name}" value="${value}">\n`,
)}${parts}<button type="submit"${isQuiet && trusted(' class="is-quiet"')}>${button}</button>
</form>
`;
}

/** A line between two ways. */
export function divider(text: string): Html {
  return html`<p class="sign-in-or"><span>${text}</span></p>\n`;
}

/** A link that looks like a button. */
export function buttonLink(ask: Asking, { path, text }: { path: string; text: string }): Html {
  return html`<p><a class="sign-in-button is-quiet" href="${siteHref(ask, path)}">${text}</a></p>\n`;
}

/** A button for a passkey. Hidden until the script finds that the browser knows passkeys. */
export function passkeyButton(
  ask: Asking,
  { api, next, text }: { api: string; next: string | null; text: string },
): Html {
  return html`<div class="sign-in-passkey" hidden data-api="${siteHref(ask, api)}" data-next="${next ?? ""}">
<button type="button" class="is-quiet">${text}</button>
<p class="sign-in-trouble" role="alert" hidden></p>
</div>
`;
}
