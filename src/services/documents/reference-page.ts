// The reference page of the Management API: the OpenAPI document as one HTML file that needs nothing else, no script
// and no network. Everything that it shows comes from the document.
import type { JsonSchema } from "../../contract/openapi/components.ts";
import type { OpenApiDocument, OpenApiOperation, OpenApiParameter } from "../../contract/openapi/document.ts";
import type { Theme } from "../../contract/web/boot.ts";
import { fieldsHtml, schemaType } from "./reference-schema.ts";
import { ICON_HREF, MARK_SVG } from "../../lib/http/house-mark.ts";
import { escapeHtml } from "../../lib/http/html.ts";
import { proseHtml } from "./reference-text.ts";

type Placed = { method: string; path: string; operation: OpenApiOperation<string> };

export type PageOptions = {
  /** The page of another document of the installation. */
  other: { title: string; url: string };
  /** Where the brand leads: the dashboard. */
  home: string;
  style: string;
  theme: Theme;
};

/** The page for a document. */
export function referencePage(document: OpenApiDocument<string>, options: PageOptions): string {
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
<nav class="rail" aria-label="Operations"><a class="brand" href="${escapeHtml(home)}">${MARK_SVG}Overdue</a>
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

function keyText({ security }: OpenApiOperation<string>): string {
  if (security.length === 0) return "No API key required.";
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

/** The request of an operation's example, as somebody would type it. */
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
  const isSaid = method === "DELETE" || method === "PATCH" || (method === "POST" && !hasBody(operation));
  if (isSaid) lines[0] = `curl -X ${method} '${base}${filled}'`;
  if (operation.security.length > 0) lines.push("-H 'X-Api-Key: your-key'");
  const body = operation.requestBody?.content["application/json"]?.example;
  if (body !== undefined)
    lines.push(`-d '${JSON.stringify(body, null, 2).replaceAll("'", String.raw`'\''`)}'`);
  return lines.join(" \\\n  ");
}

/** Something to send makes it a POST by itself. */
function hasBody({ requestBody }: OpenApiOperation<string>): boolean {
  return requestBody !== undefined;
}

function schemaHtml(name: string, schema: JsonSchema): string {
  return `<h3 id="schema-${name}">${name}</h3>${fieldsHtml(schema)}`;
}

function proseInline(text: string): string {
  return proseHtml(text).replace(/^<p>|<\/p>$/g, "");
}
