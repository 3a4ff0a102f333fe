// The API reference page, rendered from the OpenAPI document as one HTML file without scripts, and its handler.
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { type Theme, THEME_COOKIE } from "../../contract/api/boot.ts";
import { API_PATH } from "../../contract/api/route.ts";
import {
  type JsonSchema,
  type KindSchema,
  type OpenApiDocument,
  openApiDocument,
  type OpenApiOperation,
  type OpenApiParameter,
  overdueDocument,
} from "../../contract/openapi.ts";
import { apiBase, type PublicUrls } from "../../contract/urls.ts";
import { VERSIONS } from "../../contract/versions.ts";
import type { Dialect } from "../../core/access.ts";
import { ERROR_TEXT } from "../../core/errors.ts";
import { escapeHtml, ICON_HREF, LOGO_SVG } from "../../lib/http/html.ts";
import type { HttpHandler } from "../../lib/http/listener.ts";
import { basePath, hostMatcher, sitePath } from "../../lib/http/request-target.ts";
import { asyncHandler, type HttpResponse } from "../../lib/http/response.ts";
import { RETRY_AFTER_SECONDS } from "../api/auth.ts";
import { styleWith } from "./reference-style.ts";

/** Paragraphs, `code`, and **bold** as HTML; other text is escaped. */
function proseHtml(text: string): string {
  return text
    .split("\n\n")
    .map((paragraph) => {
      const html = escapeHtml(paragraph)
        .replace(/`([^`]+)`/g, "<code>$1</code>")
        .replace(/\*\*([^*]+)\*\*/g, "<strong>$1</strong>");
      return `<p>${html}</p>`;
    })
    .join("\n");
}

/** The fields of an object, or a link to where they are described, or the type of anything else. */
function fieldsHtml(schema: JsonSchema): string {
  const link = linkHtml(schema);
  if (link !== null) return `<p>${link}</p>`;
  const properties = (schema["properties"] ?? {}) as Readonly<Record<string, JsonSchema>>;
  const required = (schema["required"] ?? []) as readonly string[];
  const items = Object.entries(properties).map(([name, field]) =>
    fieldHtml(name, { field, isRequired: required.includes(name) }),
  );
  return items.length === 0 ? `<p>${escapeHtml(schemaType(schema))}</p>` : `<dl>${items.join("")}</dl>`;
}

function fieldHtml(name: string, { field, isRequired }: { field: JsonSchema; isRequired: boolean }): string {
  const facts = [linkHtml(field) ?? escapeHtml(schemaType(field)), ...boundsOf(field).map(escapeHtml)];
  if (isRequired) facts.push("required");
  const flags = [
    ...(field["deprecated"] === true ? ["deprecated"] : []),
    ...(field["x-extension"] === true ? ["extension"] : []),
  ].map((flag) => ` <span class="flag">${flag}</span>`);
  const description = typeof field["description"] === "string" ? proseHtml(field["description"]) : "";
  return `<dt><code>${escapeHtml(name)}</code> <span class="muted">${facts.join(", ")}</span>${flags.join("")}</dt><dd>${description.replace(/^<p>|<\/p>$/g, "")}</dd>`;
}

function linkHtml(schema: JsonSchema): string | null {
  const target = typeof schema["$ref"] === "string" ? schema["$ref"] : null;
  const name = target?.split("/").at(-1);
  return name === undefined ? null : `<a href="#schema-${name}">${name}</a>`;
}

/** The type of a value in a few words: "string or null", "array of string". */
function schemaType(schema: JsonSchema): string {
  const { $ref, type, anyOf, enum: values, const: only, format, items, additionalProperties } = schema;
  if (typeof $ref === "string") return $ref.split("/").at(-1) ?? "";
  if (Array.isArray(anyOf)) {
    return [...new Set((anyOf as JsonSchema[]).map((one) => schemaType(one)))].join(" or ");
  }
  if (only !== undefined) return JSON.stringify(only);
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(" or ");
  if (type === "array") return `array of ${schemaType((items ?? {}) as JsonSchema)}`;
  if (type === "object" && typeof additionalProperties === "object") {
    return `map of ${schemaType(additionalProperties as JsonSchema)}`;
  }
  const name = typeof type === "string" ? type : "any value";
  return typeof format === "string" ? `${name} (${format})` : name;
}

type Bounds = { minimum?: number; maximum?: number; maxLength?: number; default?: unknown };

function boundsOf(schema: JsonSchema): string[] {
  const { minimum, maximum, maxLength, default: fallback } = schema as Bounds;
  const bounds: string[] = [];
  if (minimum !== undefined && maximum !== undefined) bounds.push(`${minimum} to ${maximum}`);
  else if (minimum !== undefined) bounds.push(`at least ${minimum}`);
  if (maxLength !== undefined) bounds.push(`at most ${maxLength} characters`);
  if (fallback !== undefined) bounds.push(`default ${JSON.stringify(fallback)}`);
  return bounds;
}

type Placed = { method: string; path: string; operation: OpenApiOperation };

export type PageOptions = {
  /** The page of another document of this server. */
  other: { title: string; url: string };
  /** The link of the brand: the dashboard. */
  home: string;
  style: string;
  theme: Theme;
};

/** The page for a document. */
export function referencePage(document: OpenApiDocument, options: PageOptions): string {
  const { other, home, style, theme } = options;
  const { info, tags, components } = document;
  const base = document.servers[0]?.url ?? "";
  const placed = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, operation]): Placed => ({ method: method.toUpperCase(), path, operation }),
    ),
  );
  const groups = tags.map((tag) => ({
    ...tag,
    placed: placed.filter(({ operation }) => operation.tags.includes(tag.name)),
  }));
  const navigation = groups
    .map(
      ({ name, placed: inGroup }) =>
        `<p>${escapeHtml(name)}</p><ul>${inGroup.map(navigationItem).join("")}</ul>`,
    )
    .join("");
  const sections = groups
    .map(
      (group) =>
        `<h2>${escapeHtml(group.name)}</h2><p>${escapeHtml(group.description)}</p>${group.placed
          .map((one) => operationHtml(one, { base, schemas: components.schemas }))
          .join("")}`,
    )
    .join("");
  const schemas = Object.entries(components.schemas)
    .map(([name, schema]) => schemaHtml(name, schema))
    .join("");
  return `<!doctype html>
<html lang="en"${theme === "system" ? "" : ` data-theme="${theme}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(info.title)}</title>
<link rel="icon" href="${ICON_HREF}">
<style>${style}</style>
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<nav class="rail" aria-label="Operations"><a class="brand" href="${escapeHtml(home)}">${LOGO_SVG}Overdue</a>
<a class="back" href="${escapeHtml(home)}">← Dashboard</a>
<details><summary>Contents</summary>${navigation}<p>Types</p><ul><li><a href="#schemas">Schemas</a></li></ul></details></nav>
<header><h1>${escapeHtml(info.title)}</h1><p class="muted">Version ${escapeHtml(info.version)} at <code>${escapeHtml(base)}</code>. Also available as an <a href="${escapeHtml(`${base}/openapi.json`)}">OpenAPI document</a>. See also: <a href="${escapeHtml(other.url)}">${escapeHtml(other.title)}</a>.</p></header>
<main id="content" tabindex="-1">
${proseHtml(info.description)}
${sections}
<h2 id="schemas">Schemas</h2>
${schemas}
</main>
<footer><p class="muted">Generated from the source code of this server.</p></footer>
</body>
</html>
`;
}

function navigationItem({ operation }: Placed): string {
  return `<li><a href="#${operation.operationId}">${escapeHtml(operation.summary)}</a></li>`;
}

type Context = { base: string; schemas: Readonly<Record<string, JsonSchema>> };

function operationHtml({ method, path, operation }: Placed, context: Context): string {
  const { operationId, summary, description, parameters, requestBody, responses } = operation;
  const body = requestBody?.content["application/json"];
  return `<section class="operation" id="${operationId}" aria-labelledby="${operationId}-title">
<h3 id="${operationId}-title">${escapeHtml(summary)}</h3>
<p class="request"><span class="method ${method.toLowerCase()}">${method}</span><code>${escapeHtml(path)}</code></p>
<p>${proseInline(description)} <span class="muted">${keyText(operation)}</span></p>
${parametersHtml(parameters)}
${body === undefined ? "" : `<h4>Request body</h4><p>${proseInline(requestBody?.description ?? "")}</p>${fieldsHtml(body.schema)}`}
<h4>Example</h4>
<pre tabindex="0" role="group" aria-label="Example request"><code>${escapeHtml(curlCommand({ method, path, operation }, context.base))}</code></pre>
<h4>Responses</h4>
${Object.entries(responses)
  .map(([status, response]) => answerHtml(status, response))
  .join("")}
</section>
`;
}

function keyText(operation: OpenApiOperation): string {
  const { security, "x-scope": scope, "x-api-key": key } = operation;
  if (security.length === 0) return "No authentication required.";
  if (scope !== undefined) {
    const keys =
      key === null || key === undefined
        ? "API keys are not accepted."
        : `Accepts ${key === "readOnly" ? "all API keys" : "read-write API keys"} of the project.`;
    return `Requires a token with the scope <code>${scope}</code> or higher. ${keys}`;
  }
  return security.some((one) => Object.keys(one).length === 0)
    ? "Requires an API key in the header or the body."
    : "Requires an API key.";
}

function parametersHtml(parameters: readonly OpenApiParameter[]): string {
  if (parameters.length === 0) return "";
  const items = parameters.map(
    ({ name, in: place, required, description, schema }) =>
      `<dt><code>${escapeHtml(name)}</code> <span class="muted">${place}, ${escapeHtml(schemaType(schema))}${required ? ", required" : ""}</span></dt><dd>${proseInline(description)}</dd>`,
  );
  return `<h4>Parameters</h4><dl>${items.join("")}</dl>`;
}

function answerHtml(status: string, response: OpenApiOperation["responses"][string]): string {
  const [content] = Object.entries(response.content ?? {});
  const isOpen = status.startsWith("2") ? " open" : "";
  const example =
    content === undefined ? "" : exampleHtml(content[1].example, `Example of a ${status} response`);
  const schema = content === undefined ? "" : ` <span class="muted">${schemaLink(content[1].schema)}</span>`;
  return `<details${isOpen}><summary><strong>${status}</strong> ${proseInline(response.description)}</summary>${schema}${example}</details>`;
}

function schemaLink(schema: JsonSchema): string {
  const names = [...JSON.stringify(schema).matchAll(/#\/components\/schemas\/(\w+)/g)].map(
    ([, name]) => name ?? "",
  );
  const links = [...new Set(names)].map((name) => `<a href="#schema-${name}">${name}</a>`);
  return links.length === 0 ? escapeHtml(schemaType(schema)) : `Schema: ${links.join(", ")}`;
}

function exampleHtml(example: unknown, label: string): string {
  const text = typeof example === "string" ? example : JSON.stringify(example, null, 2);
  return `<pre tabindex="0" role="group" aria-label="${label}"><code>${escapeHtml(text)}</code></pre>`;
}

/** The request of an operation's example, as a command line. */
function curlCommand({ method, path, operation }: Placed, base: string): string {
  const filled = operation.parameters
    .filter((parameter) => parameter.in === "path")
    .reduce((text, { name, example }) => text.replace(`{${name}}`, String(example)), path);
  const query = new URLSearchParams();
  for (const { name, in: place, example } of operation.parameters) {
    if (place !== "query" || example === undefined) continue;
    for (const one of typeof example === "object" ? example : [example]) query.append(name, String(one));
  }
  const lines = [`curl '${base}${filled}${query.size === 0 ? "" : `?${query.toString()}`}'`];
  const isDefault = method === "GET" || (method === "POST" && hasBody(operation));
  if (!isDefault) lines[0] = `curl -X ${method} '${base}${filled}'`;
  if (operation.security.some((one) => "token" in one)) lines.push("-H 'Authorization: Bearer your-token'");
  else if (operation.security.length > 0) lines.push("-H 'X-Api-Key: your-key'");
  const body = operation.requestBody?.content["application/json"]?.example;
  if (body !== undefined)
    lines.push(`-d '${JSON.stringify(body, null, 2).replaceAll("'", String.raw`'\''`)}'`);
  return lines.join(" \\\n  ");
}

/** curl sends a POST by default if there is a body. */
function hasBody({ requestBody }: OpenApiOperation): boolean {
  return requestBody !== undefined;
}

function schemaHtml(name: string, schema: JsonSchema): string {
  return `<h3 id="schema-${name}">${name}</h3>${fieldsHtml(schema)}`;
}

function proseInline(text: string): string {
  return proseHtml(text).replace(/^<p>|<\/p>$/g, "");
}

// Each document and page is created when it is first requested, and then kept. They need neither a key nor the database.

export type ReferenceHandlerOptions = {
  urls: PublicUrls;
  dialect: Dialect;
  /** The kinds of channels, whose configurations the Overdue API describes. */
  kinds: readonly KindSchema[];
  /** The URL of the dashboard's font; null: the dashboard is not built. */
  font: string | null;
};

const DOCUMENT_PATH = "/api/v3/openapi.json";
/** On the host of the API, if it has a separate one. */
const DOCUMENT_PATH_OF_API = "/v3/openapi.json";
const OVERDUE_DOCUMENT_PATH = `${API_PATH}/openapi.json`;
const PAGE_PATHS: readonly string[] = ["/docs/api", "/docs/api/"];
const OVERDUE_PAGE_PATHS: readonly string[] = ["/docs/api/overdue", "/docs/api/overdue/"];
const METHODS = "GET, HEAD, OPTIONS";
/** Maximum concurrent responses. */
const AT_ONCE_MAX = 200;

const SHARED = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Allow-Methods": METHODS,
  /** It changes only with a new release, but must then be updated immediately. */
  "Cache-Control": "no-cache",
};

/** Handles requests to the document URLs. */
export function referenceHandler({ urls, dialect, kinds, font }: ReferenceHandlerOptions): HttpHandler {
  const document = () => openApiDocument({ column: VERSIONS[dialect][3], serverUrl: apiBase(urls, 3) });
  const overdue = () => overdueDocument({ kinds, serverUrl: urls.site + API_PATH });
  const openApi = once(() => jsonAnswer(document()));
  const overdueOpenApi = once(() => jsonAnswer(overdue()));
  const around = { home: `${urls.site}/`, style: styleWith(font) };
  const page = themed(() => ({
    document: document(),
    options: { ...around, other: { title: overdue().info.title, url: `${urls.site}/docs/api/overdue` } },
  }));
  const overduePage = themed(() => ({
    document: overdue(),
    options: { ...around, other: { title: document().info.title, url: `${urls.site}/docs/api` } },
  }));
  const site = new URL(urls.site);
  const pathOf = sitePath(site);
  const isForApi = apiHost(urls.api === null ? null : new URL(urls.api), site);
  const found = ({ url = "", headers }: IncomingMessage): (() => HttpResponse) | null => {
    const path = pathOf(url);
    if (PAGE_PATHS.includes(path)) return page[themeOf(headers.cookie)];
    if (OVERDUE_PAGE_PATHS.includes(path)) return overduePage[themeOf(headers.cookie)];
    if (path === OVERDUE_DOCUMENT_PATH) return overdueOpenApi;
    return path === DOCUMENT_PATH || isForApi(path, headers.host) ? openApi : null;
  };
  const answers = asyncHandler({
    atOnceMax: AT_ONCE_MAX,
    answer: async (request) => answerTo(request.method ?? "", found(request)),
    instead: () => refusal(503, ERROR_TEXT.unavailable),
  });
  return {
    handles: (request) => found(request) !== null,
    handle: (request, response) => answers.handle(request, response),
  };
}

/** Whether a path on a host is that of the document on the API host. */
function apiHost(api: URL | null, site: URL): (path: string, host: string | undefined) => boolean {
  if (api === null) return () => false;
  const isNamed = hostMatcher(api, site);
  const documentPath = `${basePath(api)}${DOCUMENT_PATH_OF_API}`;
  return (path, host) => path === documentPath && isNamed(host);
}

function answerTo(method: string, found: (() => HttpResponse) | null): HttpResponse {
  if (found === null) return refusal(404, ERROR_TEXT.notFound);
  if (method === "OPTIONS") return { status: 204, headers: SHARED, body: "" };
  return method === "GET" || method === "HEAD" ? found() : refusal(405, ERROR_TEXT.methodNotAllowed);
}

/** Creates a value when it is first needed. */
function once<T>(create: () => T): () => T {
  let made: { value: T } | null = null;
  return () => (made ??= { value: create() }).value;
}

function jsonAnswer(document: object): HttpResponse {
  return good(`${JSON.stringify(document, null, 2)}\n`, { "Content-Type": "application/json" });
}

type Page = { document: Parameters<typeof referencePage>[0]; options: Omit<PageOptions, "theme"> };

/** The page in each theme. */
function themed(page: () => Page): Readonly<Record<Theme, () => HttpResponse>> {
  const inTheme = (theme: Theme) =>
    once(() => {
      const { document, options } = page();
      return pageAnswer(referencePage(document, { ...options, theme }), options.style);
    });
  return { system: inTheme("system"), light: inTheme("light"), dark: inTheme("dark") };
}

const CHOSEN_THEME = new RegExp(`(?:^|; )${THEME_COOKIE}=(light|dark)(?:;|$)`);

/** The theme chosen in the dashboard, in this browser. */
function themeOf(cookie: string | undefined): Theme {
  return (CHOSEN_THEME.exec(cookie ?? "")?.[1] ?? "system") as Theme;
}

function pageAnswer(html: string, style: string): HttpResponse {
  return good(html, {
    "Content-Type": "text/html; charset=utf-8",
    Vary: "Cookie",
    "Content-Security-Policy": pagePolicy(style),
  });
}

function good(body: string, headers: Record<string, string>): HttpResponse {
  return { status: 200, headers: { ...SHARED, ...headers }, body };
}

function refusal(status: number, error: string): HttpResponse {
  const allow = status === 405 ? { Allow: METHODS } : {};
  const retry = status === 503 ? { "Retry-After": RETRY_AFTER_SECONDS } : {};
  return {
    status,
    headers: { ...SHARED, ...allow, ...retry, "Content-Type": "application/json" },
    body: JSON.stringify({ error }),
  };
}

/** The page has no scripts, and loads nothing but its font. */
function pagePolicy(style: string): string {
  const digest = createHash("sha256").update(style).digest("base64");
  return `default-src 'none'; style-src 'sha256-${digest}'; font-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
}
