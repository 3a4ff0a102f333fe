// The dashboard below a path of its host, with a proxy that removes the path and one that does not.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { useDashboard } from "./dashboard.ts";

const at = useDashboard({
  roles: ["web", "api"],
  settings: { OVERDUE_SITE_URL: "http://127.0.0.1:1/watch" },
});

describe("below a path", () => {
  test.each(["", "/watch"])("requests are found when the proxy leaves %j of it", async (base) => {
    expect((await at.browse(`${base}/api/overdue/v1/projects`)).status).toBe(200);
    const page = await at.browse(`${base}/projects/${at.owner.project.uuid}/integrations/`);
    expect(page.headers.get("location")).toBe(`/watch/projects/${at.owner.project.uuid}/channels/`);
    const signIn = await at.browse(`${base}/`, { as: null });
    expect(signIn.headers.get("location")).toBe("/watch/accounts/login/?next=%2F");
  });

  test.each(["", "/watch"])("the app that can be installed stays there (proxy leaves %j)", async (base) => {
    const { headers, text } = await at.browse(`${base}/manifest.webmanifest`, { as: null });
    expect(headers.get("content-type")).toBe("application/manifest+json");
    const manifest = JSON.parse(text) as { icons: { src: string }[] };
    expect(manifest).toMatchObject({ id: "/watch/", start_url: "/watch/", scope: "/watch/" });
    expect(manifest.icons.map(({ src }) => src)).toContain("/watch/web/assets/icon-192.png");
  });

  test("the page loads its files from there, and knows its own base", async () => {
    const { status, text } = await at.browse(`/projects/${at.owner.project.uuid}/checks/`);
    // Whether the browser's part is built depends on who runs this.
    if (status === 503) return expect(text).toMatch(/npm run build/);
    expect(text).toMatch(/src="\/watch\/web\/assets\/[\w.-]+\.js"/);
    expect(text).toContain('"base":"/watch"');
    expect(text).toContain('href="/watch/manifest.webmanifest"');
  });
});

/** The file that is packaged, with the ping URL filled in. */
const SCRIPT = readFileSync(join(import.meta.dirname, "../../deploy/overdue-run"), "utf8");
const SERVED = SCRIPT.replace("od_default=''", "od_default='http://127.0.0.1:1/watch/ping'");

test.each(["", "/watch"])("overdue-run is served with the ping URL (proxy leaves %j)", async (base) => {
  const { status, headers, text } = await at.browse(`${base}/overdue-run`, { as: null });
  expect([status, headers.get("content-type"), headers.get("cache-control")]).toEqual([
    200,
    "text/plain; charset=utf-8",
    "no-cache",
  ]);
  expect(SERVED).not.toBe(SCRIPT);
  expect(text).toBe(SERVED);
  const tag = headers.get("etag") ?? "";
  const known = { as: null, headers: { "If-None-Match": `W/${tag}` } } as const;
  expect(await at.browse(`${base}/overdue-run`, known)).toMatchObject({ status: 304, text: "" });
  const stale = { as: null, headers: { "If-None-Match": '"other"' } } as const;
  expect((await at.browse(`${base}/overdue-run`, stale)).status).toBe(200);
  const head = await at.browse(`${base}/overdue-run`, { as: null, method: "HEAD" });
  expect([head.status, head.headers.get("content-length"), head.text]).toEqual([
    200,
    String(Buffer.byteLength(SERVED)),
    "",
  ]);
  expect((await at.browse(`${base}/overdue-run`, { as: null, method: "POST" })).status).toBe(405);
  expect((await at.browse(`${base}/overdue-run/more`, { as: null })).status).toBe(404);
});
