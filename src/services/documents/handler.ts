// The documents of the API by HTTP: the OpenAPI document and the reference page. Both are made once, at the start;
// they need neither a key nor the database.
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { KindFacts } from "../../contract/own/channel.ts";
import { ownDocument } from "../../contract/own/document.ts";
import { OWN_API_PATH } from "../../contract/own/routes.ts";
import { openApiDocument } from "../../contract/openapi/document.ts";
import { type Theme, THEME_COOKIE } from "../../contract/web/boot.ts";
import { apiBase, type PublicUrls } from "../../contract/urls.ts";
import { VERSIONS } from "../../contract/versions.ts";
import type { Dialect } from "../../core/access.ts";
import { ERROR_TEXT } from "../../core/errors.ts";
import { answering, type HttpAnswer } from "../../lib/http/answering.ts";
import { basePath, hostMatcher, sitePath } from "../../lib/http/request-target.ts";
import type { HttpHandler } from "../../lib/http/listener.ts";
import { type PageOptions, referencePage } from "./reference-page.ts";
import { styleWith } from "./reference-style.ts";

export type DocumentsHandlerOptions = {
  urls: PublicUrls;
  dialect: Dialect;
  /** The kinds of channels, which our own API has to describe. */
  kinds: readonly KindFacts[];
  /** The address of the dashboard's letters; null: they are not built. */
  font: string | null;
};

const DOCUMENT_PATH = "/api/v3/openapi.json";
/** On the host of the API, if it has one of its own. */
const DOCUMENT_PATH_OF_API = "/v3/openapi.json";
const OWN_DOCUMENT_PATH = `${OWN_API_PATH}/openapi.json`;
const PAGE_PATHS: readonly string[] = ["/docs/api", "/docs/api/"];
const OWN_PAGE_PATHS: readonly string[] = ["/docs/api/overdue", "/docs/api/overdue/"];
const METHODS = "GET, HEAD, OPTIONS";
/** So many are sent at once. */
const AT_ONCE_MAX = 200;
const RETRY_AFTER_SECONDS = "5";

const SHARED = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Allow-Methods": METHODS,
  /** It changes with a new release only, but then at once. */
  "Cache-Control": "no-cache",
};

/** Handles the addresses of the documents. */
export function documentsHandler({ urls, dialect, kinds, font }: DocumentsHandlerOptions): HttpHandler {
  const document = openApiDocument({ column: VERSIONS[dialect][3], serverUrl: apiBase(urls, 3) });
  const own = ownDocument({ kinds, serverUrl: urls.site + OWN_API_PATH });
  const pages = { compatible: `${urls.site}/docs/api`, own: `${urls.site}/docs/api/overdue` };
  const openApi = jsonAnswer(document);
  const ownOpenApi = jsonAnswer(own);
  const around = { home: `${urls.site}/`, style: styleWith(font) };
  const page = themed({
    document,
    options: { ...around, other: { title: own.info.title, url: pages.own } },
  });
  const ownPage = themed({
    document: own,
    options: { ...around, other: { title: document.info.title, url: pages.compatible } },
  });
  const site = new URL(urls.site);
  const pathOf = sitePath(site);
  const isForApi = apiHost(urls.api === null ? null : new URL(urls.api), site);
  const found = ({ url = "", headers }: IncomingMessage): HttpAnswer | null => {
    const path = pathOf(url);
    if (PAGE_PATHS.includes(path)) return page[themeOf(headers.cookie)];
    if (OWN_PAGE_PATHS.includes(path)) return ownPage[themeOf(headers.cookie)];
    if (path === OWN_DOCUMENT_PATH) return ownOpenApi;
    return path === DOCUMENT_PATH || isForApi(path, headers.host) ? openApi : null;
  };
  const answers = answering({
    atOnceMax: AT_ONCE_MAX,
    answer: async (request) => answerTo(request.method ?? "", found(request)),
    instead: () => refusal(503, ERROR_TEXT.unavailable),
  });
  return {
    handles: (request) => found(request) !== null,
    handle: (request, response) => answers.handle(request, response),
  };
}

/** Tells whether a path on a host is the document's on the host of the API. */
function apiHost(api: URL | null, site: URL): (path: string, host: string | undefined) => boolean {
  if (api === null) return () => false;
  const isNamed = hostMatcher(api, site);
  const documentPath = `${basePath(api)}${DOCUMENT_PATH_OF_API}`;
  return (path, host) => path === documentPath && isNamed(host);
}

function answerTo(method: string, found: HttpAnswer | null): HttpAnswer {
  if (found === null) return refusal(404, ERROR_TEXT.notFound);
  if (method === "OPTIONS") return { status: 204, headers: SHARED, body: "" };
  return method === "GET" || method === "HEAD" ? found : refusal(405, ERROR_TEXT.methodNotAllowed);
}

function jsonAnswer(document: object): HttpAnswer {
  return good(`${JSON.stringify(document, null, 2)}\n`, { "Content-Type": "application/json" });
}

type Page = { document: Parameters<typeof referencePage>[0]; options: Omit<PageOptions, "theme"> };

/** A page in each theme. */
function themed({ document, options }: Page): Readonly<Record<Theme, HttpAnswer>> {
  const inTheme = (theme: Theme) => pageAnswer(referencePage(document, { ...options, theme }), options.style);
  return { system: inTheme("system"), light: inTheme("light"), dark: inTheme("dark") };
}

const CHOSEN_THEME = new RegExp(`(?:^|; )${THEME_COOKIE}=(light|dark)(?:;|$)`);

/** The theme that was chosen on the dashboard, in this browser. */
function themeOf(cookie: string | undefined): Theme {
  return (CHOSEN_THEME.exec(cookie ?? "")?.[1] ?? "system") as Theme;
}

function pageAnswer(html: string, style: string): HttpAnswer {
  return good(html, {
    "Content-Type": "text/html; charset=utf-8",
    Vary: "Cookie",
    "Content-Security-Policy": pagePolicy(style),
  });
}

function good(body: string, headers: Record<string, string>): HttpAnswer {
  return { status: 200, headers: { ...SHARED, ...headers }, body };
}

function refusal(status: number, error: string): HttpAnswer {
  const allow = status === 405 ? { Allow: METHODS } : {};
  const retry = status === 503 ? { "Retry-After": RETRY_AFTER_SECONDS } : {};
  return {
    status,
    headers: { ...SHARED, ...allow, ...retry, "Content-Type": "application/json" },
    body: JSON.stringify({ error }),
  };
}

/** The page runs nothing and loads nothing but letters; its own style sheet and icon are all that it may use besides. */
function pagePolicy(style: string): string {
  const digest = createHash("sha256").update(style).digest("base64");
  return `default-src 'none'; style-src 'sha256-${digest}'; font-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
}
