// Serves the documentation site. Files are read when they are requested, and a few megabytes of answers are kept: anybody
// can request the largest file again and again, and compressing it each time would delay pings.
import { createHash } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { extname, join, relative, sep } from "node:path";
import { DOCS_BASE, EXAMPLE_URL } from "../../contract/docs-site.ts";
import type { PublicUrls } from "../../contract/urls.ts";
import { compress, encodingFor } from "../../lib/http/compress.ts";
import { entityTag, matchesTag } from "../../lib/http/entity-tag.ts";
import type { HttpHandler } from "../../lib/http/listener.ts";
import { basePath, sitePath } from "../../lib/http/request-target.ts";
import { asyncHandler, DATA_POLICY, type HttpResponse } from "../../lib/http/response.ts";
import { PAGE_HEADERS, renderPage } from "./plain-page.ts";

export type DocsOptions = {
  urls: Pick<PublicUrls, "site" | "ping">;
  siteName: string;
  /** Where the built site is. */
  folder: string;
};

const ROOT = "/docs";
/** The API reference is not part of the site. */
const NOT_OURS = /^\/docs\/api(?:\/|$)/;
const METHODS = "GET, HEAD";
/** Each can hold one file, at most a megabyte, and its compressed form. */
const AT_ONCE_MAX = 100;
/** Bytes of answers that are kept. All pages and scripts, compressed, have less. */
const KEPT_BYTES_MAX = 4_000_000;
/** Written last: once it changes, all files of the new build are there. */
const LAST_WRITTEN = "hashmap.json";
const NOT_FOUND_PAGE = "404.html";
/** Names in this folder contain a hash of the content. */
const HASHED = "assets/";

const NO_CACHE = "no-cache";
const FOREVER = "public, max-age=31536000, immutable";
/** The name does not change with the URLs of the server. */
const AN_HOUR = "public, max-age=3600";

type FileType = { type: string; isText: boolean };

const TYPES: Readonly<Record<string, FileType>> = {
  ".html": { type: "text/html; charset=utf-8", isText: true },
  ".js": { type: "text/javascript; charset=utf-8", isText: true },
  ".css": { type: "text/css; charset=utf-8", isText: true },
  ".svg": { type: "image/svg+xml", isText: true },
  ".json": { type: "application/json; charset=utf-8", isText: true },
  ".png": { type: "image/png", isText: false },
  ".woff2": { type: "font/woff2", isText: false },
};
const UNKNOWN_TYPE: FileType = { type: "application/octet-stream", isText: false };

/** Handles requests to the site. Needs neither a session nor the database. */
export function docsHandler({ urls, siteName, folder }: DocsOptions): HttpHandler {
  const siteUrl = new URL(urls.site);
  const pathOf = sitePath(siteUrl);
  const root = `${basePath(siteUrl)}${ROOT}/`;
  const fill = filler(urls, root);
  const currentBuild = buildReader(folder);

  const prepare = async (name: string, encoding: Encoding): Promise<Prepared> => {
    const { type, isText } = TYPES[extname(name)] ?? UNKNOWN_TYPE;
    const bytes = await readFile(join(folder, name));
    const filled = isText ? fill(bytes.toString("utf8")) : null;
    const content = filled === null ? bytes : Buffer.from(filled.text);
    const tag = entityTag(content);
    const headers = {
      "Content-Security-Policy": name.endsWith(".html") ? pagePolicy(content.toString("utf8")) : DATA_POLICY,
      "Cache-Control": cacheControl(name, filled?.hasUrls ?? false),
      // The same for each encoding.
      ETag: `W/${tag}`,
      Vary: "Accept-Encoding",
      "X-Robots-Tag": "noindex",
    };
    const packed = await compress(content, isText ? (encoding ?? undefined) : undefined);
    return { tag, type, headers, body: packed.bytes, encoding: packed.encoding };
  };

  const fileAnswer = async (name: string, { request, build }: Asked): Promise<HttpResponse> => {
    const asked = encodingFor(request.headers["accept-encoding"]);
    const { tag, type, headers, body, encoding } = await build.answers.get(`${asked} ${name}`, () =>
      prepare(name, asked),
    );
    const isNotFound = name === NOT_FOUND_PAGE;
    if (!isNotFound && matchesTag(request.headers["if-none-match"], tag))
      return { status: 304, headers, body: "" };
    return {
      status: isNotFound ? 404 : 200,
      headers: {
        ...headers,
        "Content-Type": type,
        ...(encoding !== null && { "Content-Encoding": encoding }),
      },
      body,
    };
  };

  const answer = async (request: IncomingMessage): Promise<HttpResponse> => {
    const { method, url = "" } = request;
    if (method !== "GET" && method !== "HEAD") return plain(405, { Allow: METHODS });
    const build = await currentBuild();
    if (build === null) return { status: 404, headers: PAGE_HEADERS, body: notBuilt(urls.site, siteName) };
    const found = locate(build.names, pathOf(url));
    if (found === null) return fileAnswer(NOT_FOUND_PAGE, { request, build });
    if ("name" in found) return fileAnswer(found.name, { request, build });
    const queryAt = url.indexOf("?");
    const query = queryAt === -1 ? "" : url.slice(queryAt);
    return plain(302, { Location: `${root}${found.redirect}${query}` });
  };
  const answers = asyncHandler({ atOnceMax: AT_ONCE_MAX, answer, instead: () => plain(503) });
  return {
    handles: ({ url = "" }) => {
      const path = pathOf(url);
      return (path === ROOT || path.startsWith(`${ROOT}/`)) && !NOT_OURS.test(path);
    },
    handle: (request, response) => answers.handle(request, response),
  };
}

type Encoding = ReturnType<typeof encodingFor>;
type Prepared = {
  tag: string;
  type: string;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
  encoding: string | null;
};
type Build = { version: string; names: ReadonlySet<string>; answers: KeptAnswers };
type Asked = { request: IncomingMessage; build: Build };

/** The current build; null: there is none. */
function buildReader(folder: string): () => Promise<Build | null> {
  let known: Build | null = null;
  return async () => {
    const built = await stat(join(folder, LAST_WRITTEN)).catch(() => null);
    if (built === null) return null;
    const version = `${built.mtimeMs}/${built.size}`;
    if (known?.version === version) return known;
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const names = entries
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => relative(folder, join(parentPath, name)).replaceAll(sep, "/"));
    known = { version, names: new Set(names), answers: new KeptAnswers() };
    return known;
  };
}

/** Prepared answers. Those that were unused for the longest time are dropped. */
class KeptAnswers {
  readonly #kept = new Map<string, { answer: Promise<Prepared>; byteCount: number }>();
  #byteCount = 0;

  /** Requests at the same time wait for the same preparation. */
  async get(key: string, prepare: () => Promise<Prepared>): Promise<Prepared> {
    const known = this.#kept.get(key);
    const entry = known ?? { answer: prepare(), byteCount: 0 };
    // The last in the order of the map is the one that was used last.
    this.#kept.delete(key);
    this.#kept.set(key, entry);
    if (known !== undefined) return entry.answer;
    try {
      const prepared = await entry.answer;
      entry.byteCount = prepared.body.length;
      this.#byteCount += entry.byteCount;
      this.#dropExcess();
      return prepared;
    } catch (error) {
      this.#kept.delete(key);
      throw error;
    }
  }

  #dropExcess(): void {
    for (const [key, { byteCount }] of this.#kept) {
      if (this.#byteCount <= KEPT_BYTES_MAX) return;
      // Not prepared yet.
      if (byteCount === 0) continue;
      this.#kept.delete(key);
      this.#byteCount -= byteCount;
    }
  }
}

type Located = { name: string } | { redirect: string };

/** The file for a path, or where it is instead. Only names in the list are ever read. */
export function locate(names: ReadonlySet<string>, path: string): Located | null {
  if (path === ROOT) return { redirect: "" };
  const asked = decoded(path.slice(ROOT.length + 1));
  if (asked.endsWith(".html") && asked !== NOT_FOUND_PAGE && names.has(asked)) {
    return { redirect: asked.replace(/(?:(?<=^|\/)index)?\.html$/, "") };
  }
  if (names.has(asked) && asked !== NOT_FOUND_PAGE) return { name: asked };
  if (asked === "" || asked.endsWith("/")) {
    if (names.has(`${asked}index.html`)) return { name: `${asked}index.html` };
    const page = asked.slice(0, -1);
    return names.has(`${page}.html`) ? { redirect: page } : null;
  }
  if (names.has(`${asked}.html`)) return { name: `${asked}.html` };
  return names.has(`${asked}/index.html`) ? { redirect: `${asked}/` } : null;
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Characters without a meaning in HTML, JavaScript and the shell. */
const HARMLESS = /^https?:\/\/[\w.:[\]-]+(?:\/[\w.~%-]+)*$/;

type Filled = { text: string; hasUrls: boolean };

/** Replaces the URLs of the build by those of this server. */
function filler({ site, ping }: DocsOptions["urls"], root: string): (text: string) => Filled {
  const isHarmless = HARMLESS.test(site) && HARMLESS.test(ping);
  return (text) => {
    const placed = text.replaceAll(DOCS_BASE, () => root);
    if (!isHarmless) return { text: placed, hasUrls: false };
    const filled = placed.replaceAll(`${EXAMPLE_URL}/ping`, () => ping).replaceAll(EXAMPLE_URL, () => site);
    return { text: filled, hasUrls: text.includes(EXAMPLE_URL) };
  };
}

function cacheControl(name: string, hasUrls: boolean): string {
  if (!name.startsWith(HASHED)) return NO_CACHE;
  return hasUrls ? AN_HOUR : FOREVER;
}

/**
 * Only the scripts of the build run, and nothing is loaded from elsewhere. Styles may be inline: the highlighter gives
 * each word of a sample its two colors in an attribute, and the theme switch adds a style element.
 */
function pagePolicy(html: string): string {
  const hashes = inlineScripts(html).map(
    (source) => `'sha256-${createHash("sha256").update(source).digest("base64")}'`,
  );
  return [
    "default-src 'none'",
    ["script-src 'self'", ...new Set(hashes)].join(" "),
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

function inlineScripts(html: string): string[] {
  return html
    .split("<script")
    .slice(1)
    .filter((part) => !part.slice(0, part.indexOf(">")).includes(" src="))
    .map((part) => part.slice(part.indexOf(">") + 1, part.indexOf("</script>")));
}

function notBuilt(siteUrl: string, siteName: string): string {
  return renderPage(
    {
      title: "The documentation is not built",
      sentences: ["Run npm run build -- --only docs in the checkout of this server, then reload this page."],
      home: "Go to the dashboard",
    },
    { name: siteName, url: siteUrl },
  );
}

function plain(status: number, headers: Readonly<Record<string, string>> = {}): HttpResponse {
  return {
    status,
    headers: { "Cache-Control": NO_CACHE, "Content-Security-Policy": DATA_POLICY, ...headers },
    body: "",
  };
}
