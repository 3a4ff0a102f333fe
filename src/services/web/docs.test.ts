import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { createServer, request as send, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { docsHandler, locate } from "./docs.ts";

const SCRIPT = 'const base = "/__overdue_docs__/";';
const PAGE = `<!DOCTYPE html><script type="module" src="/__overdue_docs__/assets/app.a1.js"></script>
<script id="first">${SCRIPT}</script><a href="/__overdue_docs__/guide/pings">Pings</a>
curl https://overdue.example.org/ping/5bf6 and https://overdue.example.org/docs/api`;

const FILES: Readonly<Record<string, string>> = {
  "index.html": PAGE,
  "404.html": "<h1>Page not found</h1>",
  "guide/pings.html": PAGE.repeat(20),
  "guide/channels/index.html": "<h1>Channels</h1>",
  "assets/app.a1.js": `import("/__overdue_docs__/assets/x.js")`,
  "assets/guide.b2.js": "`https://overdue.example.org/ping/5bf6`",
  "favicon.svg": "<svg/>",
  "hashmap.json": "{}",
};

type Answer = { status: number; headers: Readonly<Record<string, unknown>>; text: string };

let folder = "";
const servers: Server[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "overdue-docs-"));
  for (const [name, text] of Object.entries(FILES)) await put(name, text);
});
afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true });
});

async function put(name: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, name)), { recursive: true });
  await writeFile(join(folder, name), text);
}

type Site = { site?: string; ping?: string; folder?: string };

/** A server of the folder. Returns what gets its answers; 421 means that the request was not its own. */
async function serve({ site = "https://overdue.test", ping, folder: given }: Site = {}) {
  const handler = docsHandler({
    urls: { site, ping: ping ?? `${site}/ping` },
    siteName: "Overdue",
    folder: given ?? folder,
  });
  const server = createServer((request, response) => {
    if (handler.handles(request)) handler.handle(request, response);
    else response.writeHead(421).end();
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return (path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Answer> =>
    new Promise((resolve, reject) => {
      // Unlike fetch, this sends the path unchanged.
      const asked = send({ host: "127.0.0.1", port, path, method, headers, agent: false }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on("data", (chunk: Buffer) => chunks.push(chunk));
        answer.on("end", () =>
          resolve({
            status: answer.statusCode ?? 0,
            headers: answer.headers,
            text: Buffer.concat(chunks).toString("utf8"),
          }),
        );
      });
      asked.on("error", reject).end();
    });
}

test("the URLs of the build become those of the server", async () => {
  const get = await serve({ ping: "https://ping.overdue.test" });
  const { status, text } = await get("/docs/");
  expect(status).toBe(200);
  expect(text).toContain('<a href="/docs/guide/pings">');
  expect(text).toContain("curl https://ping.overdue.test/5bf6 and https://overdue.test/docs/api");
  expect((await get("/docs/assets/guide.b2.js")).text).toBe("`https://ping.overdue.test/5bf6`");
});

test("a site below a path has its documentation below that path, with or without a proxy that removes it", async () => {
  const get = await serve({ site: "https://example.test/overdue" });
  for (const path of ["/overdue/docs/", "/docs/"]) {
    expect((await get(path)).text).toContain('<a href="/overdue/docs/guide/pings">');
  }
  expect((await get("/docs/guide/pings/")).headers["location"]).toBe("/overdue/docs/guide/pings");
});

test("a URL with characters that have a meaning elsewhere is not inserted", async () => {
  const get = await serve({ site: "https://example.test", ping: "https://example.test/`$&" });
  const { text } = await get("/docs/");
  expect(text).toContain("curl https://overdue.example.org/ping/5bf6");
  expect(text).toContain('<a href="/docs/guide/pings">');
});

test.each([
  ["/docs", "/docs/"],
  ["/docs?q=1", "/docs/?q=1"],
  ["/docs/index.html", "/docs/"],
  ["/docs/guide/pings/", "/docs/guide/pings"],
  ["/docs/guide/pings.html?q=1", "/docs/guide/pings?q=1"],
  ["/docs/guide/channels", "/docs/guide/channels/"],
  ["/docs/guide/channels/index.html", "/docs/guide/channels/"],
])("%s redirects to %s", async (path, location) => {
  const get = await serve();
  expect(await get(path)).toMatchObject({ status: 302, headers: { location } });
});

test.each(["/docs/", "/docs/guide/pings", "/docs/guide/channels/", "/docs/favicon.svg"])(
  "%s is served",
  async (path) => {
    const get = await serve();
    expect((await get(path)).status).toBe(200);
    expect(await get(path, {}, "HEAD")).toMatchObject({ status: 200, text: "" });
  },
);

test.each([
  "/docs/nothing",
  "/docs/404",
  "/docs/404.html",
  "/docs/../package.json",
  "/docs/..%2f..%2fpackage.json",
  "/docs/%2e%2e/package.json",
  "/docs//etc/passwd",
  "/docs/guide",
  "/docs/guide/",
  "/docs/%",
  "/docs/%00",
])("%s is the page for what does not exist", async (path) => {
  const get = await serve();
  const answer = await get(path);
  expect(answer).toMatchObject({ status: 404, text: "<h1>Page not found</h1>" });
});

test.each(["/docs/api", "/docs/api/", "/docs/api/overdue", "/docsx", "/"])("%s is not ours", async (path) => {
  const get = await serve();
  expect((await get(path)).status).toBe(421);
});

test("only reading is allowed", async () => {
  const get = await serve();
  expect(await get("/docs/", {}, "POST")).toMatchObject({ status: 405, headers: { allow: "GET, HEAD" } });
});

test("the policy names the inline scripts as they are served, and no other host", async () => {
  const get = await serve();
  const policy = String((await get("/docs/")).headers["content-security-policy"]);
  const hash = createHash("sha256").update('const base = "/docs/";').digest("base64");
  expect(policy).toContain(`script-src 'self' 'sha256-${hash}';`);
  expect(policy).not.toMatch(/https?:|script-src[^;]*unsafe/);
});

test("hashed files are cached forever, unless they contain URLs of the server", async () => {
  const get = await serve();
  const cached = async (path: string) => (await get(path)).headers["cache-control"];
  expect(await cached("/docs/assets/app.a1.js")).toBe("public, max-age=31536000, immutable");
  expect(await cached("/docs/assets/guide.b2.js")).toBe("public, max-age=3600");
  expect(await cached("/docs/")).toBe("no-cache");
  expect(await cached("/docs/favicon.svg")).toBe("no-cache");
  expect(await cached("/docs/nothing")).toBe("no-cache");
});

test("a page that the browser already has is not sent again", async () => {
  const get = await serve();
  const { etag } = (await get("/docs/")).headers;
  expect(await get("/docs/", { "if-none-match": String(etag) })).toMatchObject({ status: 304, text: "" });
  expect((await get("/docs/", { "if-none-match": 'W/"other"' })).status).toBe(200);
});

test("pages are compressed", async () => {
  const get = await serve();
  const { headers } = await get("/docs/guide/pings", { "accept-encoding": "gzip, br" });
  expect(headers).toMatchObject({ "content-encoding": "br", vary: "Accept-Encoding" });
  expect(Number(headers["content-length"])).toBeLessThan(1_000);
});

test("a new build is served without a restart", async () => {
  const get = await serve();
  await put("guide/new.html", "new");
  expect((await get("/docs/")).status).toBe(200);
  expect((await get("/docs/guide/new")).status).toBe(200);
  await put("guide/newer.html", "newer");
  expect((await get("/docs/guide/newer")).status).toBe(404);
  await utimes(join(folder, "hashmap.json"), 1, 1);
  expect((await get("/docs/guide/newer")).status).toBe(200);
});

test("a file is prepared once for many requests, and a failure is not kept", async () => {
  const get = await serve();
  const br = { "accept-encoding": "br" };
  const first = await Promise.all(Array.from({ length: 20 }, () => get("/docs/guide/pings", br)));
  await rm(join(folder, "guide/pings.html"));
  const { headers } = await get("/docs/guide/pings", br);
  expect(new Set([...first.map((answer) => answer.headers["etag"]), headers["etag"]]).size).toBe(1);
  expect((await get("/docs/guide/pings")).status).toBe(503);
  await put("guide/pings.html", "back");
  expect((await get("/docs/guide/pings")).text).toBe("back");
});

test("what is kept has a limit: the answer that was unused for the longest time goes", async () => {
  for (const name of ["a", "b", "c"]) await put(`${name}.html`, name.repeat(1_900_000));
  const get = await serve();
  const kept = async (name: string) => (await get(`/docs/${name}`)).status === 200;
  for (const name of ["a", "b", "a", "c"]) await get(`/docs/${name}`);
  for (const name of ["a", "b", "c"]) await rm(join(folder, `${name}.html`));
  expect([await kept("a"), await kept("b"), await kept("c")]).toEqual([true, false, true]);
});

test("without a build, a page says how to make one", async () => {
  const get = await serve({ folder: join(folder, "none") });
  const { status, text } = await get("/docs/guide/pings");
  expect(status).toBe(404);
  expect(text).toContain("npm run build -- --only docs");
});

test("a page and a folder of the same name are both reachable", () => {
  const names = new Set(["guide.html", "guide/index.html"]);
  expect(locate(names, "/docs/guide")).toEqual({ name: "guide.html" });
  expect(locate(names, "/docs/guide/")).toEqual({ name: "guide/index.html" });
});

const BUILT = join(import.meta.dirname, "../../../dist/docs");

describe.skipIf(!existsSync(join(BUILT, "hashmap.json")))("the real build", () => {
  test("has no trace of the placeholders, and all its scripts are in the policy", async () => {
    const get = await serve({ site: "https://example.test/overdue", folder: BUILT });
    const { status, text, headers } = await get("/overdue/docs/");
    expect(status).toBe(200);
    const sources = [...text.matchAll(/(?:src|href)="(?<at>[^"#]+)"/g)].map(
      ({ groups }) => groups?.["at"] ?? "",
    );
    expect(sources.length).toBeGreaterThan(10);
    for (const source of sources)
      expect(source).toMatch(/^(?:\.|\/overdue\/docs\/|https:\/\/example\.test\/overdue)/);
    const files = sources.filter((source) => /\.(?:js|css|svg)$/.test(source));
    for (const file of files) {
      const answer = await get(file);
      expect(answer.status, file).toBe(200);
      expect(answer.text).not.toMatch(/__overdue_docs__|https:\/\/overdue\.example\.org/);
    }
    const inline = [...text.matchAll(/<script(?: id="[\w-]+")?>/g)].length;
    expect(inline).toBe(3);
    expect(String(headers["content-security-policy"]).match(/'sha256-/g)).toHaveLength(inline);
  });
});
