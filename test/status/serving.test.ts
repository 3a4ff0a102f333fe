// Public status pages over HTTP: caching, compression, methods, passwords, domains and subscriptions.
import { request as httpRequest } from "node:http";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type { StatusPage } from "../../src/core/status-page.ts";
import { useDashboard } from "../web/dashboard.ts";
import { sampleCheck } from "../support/sample.ts";
import { proveDomain, samplePage } from "./pages.ts";

const cast = useDashboard({ settings: { OVERDUE_SMTP_HOST: "127.0.0.1", OVERDUE_SMTP_PORT: "9" } });

type Answer = { status: number; headers: Record<string, string | undefined>; bytes: Buffer; text: string };

/** Without the conveniences of fetch, which decompresses, follows redirects and does not send a Host. */
function send(
  path: string,
  {
    method = "GET",
    headers = {},
    body,
  }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const url = new URL(cast.site);
    const sent = httpRequest(
      { host: url.hostname, port: url.port, path, method, headers, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => {
          const bytes = Buffer.concat(chunks);
          const shown = response.headers as Record<string, string | undefined>;
          resolve({ status: response.statusCode ?? 0, headers: shown, bytes, text: bytes.toString("utf8") });
        });
        response.on("error", reject);
      },
    );
    sent.on("error", reject);
    sent.end(body);
  });
}

function submit(path: string, fields: Record<string, string>, headers: Record<string, string> = {}) {
  return send(path, {
    method: "POST",
    headers: {
      Origin: cast.site,
      "Sec-Fetch-Site": "same-origin",
      "Content-Type": "application/x-www-form-urlencoded",
      ...headers,
    },
    body: new URLSearchParams(fields).toString(),
  });
}

let count = 0;

/** A page with one check, which is served within a second or so. */
async function servedPage(
  request: Partial<Parameters<typeof samplePage>[1]> = {},
): Promise<StatusPage & { path: string }> {
  count += 1;
  const slug = `page-${count}`;
  const projectId = cast.owner.project.id;
  const { uuid } = await sampleCheck(cast.db, { projectId, name: `secret job ${count}` });
  const groups = [{ name: "Shop", entries: [{ name: "Checkout", check: uuid, tag: null }] }];
  const page = await samplePage(cast.db, { slug, title: "Nordlight", projectId, groups, ...request });
  const path = `/status/${slug}/`;
  await expect.poll(async () => (await send(path)).status).not.toBe(404);
  return { ...page, path };
}

describe("A public page", () => {
  test("can be cached, is compressed, and answers 304 and HEAD", async () => {
    const { path } = await servedPage();
    const whole = await send(path);
    expect(whole.status).toBe(200);
    expect(whole.text).toContain("Checkout");
    expect(whole.headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "public, max-age=15, s-maxage=15, stale-while-revalidate=60, stale-if-error=86400",
      vary: "Accept-Encoding",
      "x-content-type-options": "nosniff",
    });
    expect(whole.headers["content-security-policy"]).toMatch(/^default-src 'none'; style-src 'sha256-/);
    expect(whole.headers["set-cookie"]).toBeUndefined();
    expect(Number(whole.headers["content-length"])).toBe(whole.bytes.length);

    const br = await send(path, { headers: { "Accept-Encoding": "gzip, br" } });
    expect(br.headers["content-encoding"]).toBe("br");
    const gzip = await send(path, { headers: { "Accept-Encoding": "gzip" } });
    expect(gzip.headers["content-encoding"]).toBe("gzip");
    // They may have been rendered in different minutes.
    const withoutTime = (bytes: Buffer) => bytes.toString("utf8").replaceAll(/\d\d:\d\d/g, "");
    expect(withoutTime(brotliDecompressSync(br.bytes))).toBe(withoutTime(whole.bytes));
    expect(withoutTime(gunzipSync(gzip.bytes))).toBe(withoutTime(whole.bytes));

    const head = await send(path, { method: "HEAD" });
    expect(head.status).toBe(200);
    expect(head.bytes).toHaveLength(0);
    expect(Number(head.headers["content-length"])).toBeGreaterThan(1_000);

    await expect
      .poll(async () => {
        const { headers } = await send(path);
        const again = await send(path, { headers: { "If-None-Match": headers["etag"] ?? "" } });
        return [again.status, again.bytes.length];
      })
      .toEqual([304, 0]);
  });

  test("has feeds, JSON for other sites, and no other files", async () => {
    const { path } = await servedPage();
    for (const [name, type] of [
      ["feed.atom", "application/atom+xml; charset=utf-8"],
      ["feed.rss", "application/rss+xml; charset=utf-8"],
      ["status.json", "application/json; charset=utf-8"],
    ]) {
      const { status, headers } = await send(path + name);
      expect({ name, status, type: headers["content-type"] }).toEqual({ name, status: 200, type });
      expect(headers["access-control-allow-origin"]).toBe("*");
    }
    const json = JSON.parse((await send(`${path}status.json`)).text) as object;
    expect(json).toMatchObject({ title: "Nordlight", groups: [{ entries: [{ name: "Checkout" }] }] });
    for (const name of ["x", "logo", "feed.atom/", "../", "%2e%2e/admin", "confirm/", "confirm/wrong"]) {
      expect([name, (await send(path + name)).status]).toEqual([name, 404]);
    }
  });

  test("is found with its slash, by GET, and not under another name", async () => {
    const { path, slug } = await servedPage();
    const redirected = await send(`/status/${slug}`);
    expect([redirected.status, redirected.headers["location"]]).toEqual([301, path]);
    for (const method of ["PUT", "DELETE", "PATCH", "POST", "OPTIONS"]) {
      expect([method, (await send(path, { method })).status]).toEqual([method, 405]);
    }
    for (const other of [
      "/status/",
      "/status",
      "/status/none/",
      "/status/%00/",
      `/status/${"x".repeat(5_000)}/`,
    ]) {
      expect([other.slice(0, 20), (await send(other)).status]).toEqual([other.slice(0, 20), 404]);
    }
  });

  test("shows a change within seconds, and is gone after its deletion", async () => {
    const { path, id } = await servedPage();
    await cast.db.pool.query(
      "update status_pages set title = 'Renamed', version = version + 1 where id = $1",
      [id],
    );
    await expect.poll(async () => (await send(path)).text.includes("Renamed")).toBe(true);
    await cast.db.pool.query(
      "update status_pages set deleted_at = now(), version = version + 1 where id = $1",
      [id],
    );
    await expect.poll(async () => (await send(path)).status).toBe(404);
  });
});

describe("A page with a password", () => {
  test("is shown only after it was entered, to this browser, on this page", async () => {
    const { path } = await servedPage({ password: "correct horse" });
    const other = await servedPage({ password: "correct horse" });
    for (const name of ["", "feed.atom", "feed.rss", "status.json"]) {
      const { status, headers, text } = await send(path + name);
      expect([name, status, headers["cache-control"]]).toEqual([name, 403, "private, no-store"]);
      expect(text).not.toContain("Checkout");
    }
    const wrong = await submit(`${path}unlock`, { password: "wrong" });
    expect(wrong.status).toBe(403);
    expect(wrong.text).toContain("Wrong password.");
    expect(wrong.headers["set-cookie"]).toBeUndefined();
    const crossSite = await submit(
      `${path}unlock`,
      { password: "correct horse" },
      { "Sec-Fetch-Site": "cross-site" },
    );
    expect([crossSite.status, crossSite.headers["set-cookie"]]).toEqual([403, undefined]);

    const opened = await submit(`${path}unlock`, { password: "correct horse" });
    expect([opened.status, opened.headers["location"]]).toEqual([303, path]);
    const cookie = String(opened.headers["set-cookie"]);
    expect(cookie).toContain(`; Path=${path}; HttpOnly; SameSite=Lax; Max-Age=2592000`);
    const headers = { Cookie: cookie.split(";", 1)[0] ?? "" };
    const shown = await send(path, { headers });
    expect([shown.status, shown.headers["cache-control"]]).toEqual([200, "private, no-store"]);
    expect(shown.text).toContain("Checkout");
    expect(shown.headers["access-control-allow-origin"]).toBeUndefined();
    expect((await send(other.path, { headers })).status).toBe(403);
    expect((await send(path, { headers: { Cookie: "overdue_status=x" } })).status).toBe(403);
  });

  test("counts attempts", async () => {
    const { path, id } = await servedPage({ password: "correct horse" });
    await cast.db.pool.query(
      "update status_pages set password_hash = password_hash, version = version + 1 where id = $1",
      [id],
    );
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 25; attempt += 1) {
      statuses.push((await submit(`${path}unlock`, { password: "wrong" })).status);
    }
    expect(statuses.at(0)).toBe(403);
    expect(statuses.at(-1)).toBe(429);
    expect((await submit(`${path}unlock`, { password: "correct horse" })).status).toBe(429);
  });
});

describe("A domain", () => {
  test("serves its page at / and nothing else, and takes no session", async () => {
    const page = await servedPage({ domain: "status.example.org" });
    const host = (path: string, more: Record<string, string> = {}, method = "GET") =>
      send(path, { method, headers: { Host: "status.example.org", ...more } });
    // Not proved yet: it is any unknown host.
    expect((await host("/")).text).not.toContain("Checkout");
    await proveDomain(cast.db, page);
    await expect.poll(async () => (await host("/")).text.includes("Checkout")).toBe(true);
    for (const name of ["status.example.org:8000", "STATUS.example.org", "status.example.org."]) {
      const { status, text } = await send("/", { headers: { Host: name } });
      expect([name, status, text.includes("Checkout")]).toEqual([name, 200, true]);
    }
    expect((await host("/feed.atom")).text).toContain("https://status.example.org/");
    const session = await cast.headersOf(cast.owner.account);
    const project = cast.owner.project.uuid;
    for (const path of [
      `/projects/${project}/checks/`,
      `/api/overdue/v1/projects/${project}/checks`,
      "/api/v3/checks/",
      `/status/${page.slug}/`,
      "/accounts/login/",
      "/admin/",
      "/docs/",
      "/web/account",
      "/.well-known/overdue-instance/x",
    ]) {
      const { status, headers } = await host(path, {
        Cookie: session["Cookie"] ?? "",
        "X-Api-Key": cast.owner.rw,
      });
      expect([path, status, headers["set-cookie"]]).toEqual([path, 404, undefined]);
    }
    // An absolute request target names the host, too.
    expect((await send(`http://status.example.org/admin/`)).status).toBe(404);
    const elsewhere = await send("/", { headers: { Host: "other.example.org" } });
    expect(elsewhere.text).not.toContain("Checkout");
  });

  test("has its own forms", async () => {
    const page = await servedPage({ domain: "locked.example.org", password: "correct horse" });
    await proveDomain(cast.db, page);
    const at = { Host: "locked.example.org", Origin: "https://locked.example.org" };
    await expect.poll(async () => (await send("/", { headers: at })).status).toBe(403);
    const opened = await submit("/unlock", { password: "correct horse" }, at);
    expect([opened.status, opened.headers["location"]]).toEqual([303, "/"]);
    expect(String(opened.headers["set-cookie"])).toContain("; Path=/; HttpOnly");
  });
});

describe("Subscribing", () => {
  test("sends a link; nothing changes until its button is pressed", async () => {
    const { path, id } = await servedPage();
    expect((await send(path)).text).toContain('action="subscribe"');
    const asked = await submit(`${path}subscribe`, { email: "ada@example.org" });
    expect(asked.status).toBe(200);
    expect(asked.text).toContain("Check your email");
    // The answer does not tell whether an address is known.
    const again = await submit(`${path}subscribe`, { email: "ada@example.org" });
    expect(again.text).toBe(asked.text);
    const { rows } = await cast.db.pool.query<{ confirmed_at: Date | null }>(
      "select confirmed_at from status_subscribers where page_id = $1",
      [id],
    );
    expect(rows).toEqual([{ confirmed_at: null }]);
  });

  test.each([
    ["no address", { email: "nobody" }, {}, 400],
    ["another field", { mail: "ada@example.org" }, {}, 400],
    ["another site", { email: "ada@example.org" }, { "Sec-Fetch-Site": "cross-site" }, 403],
  ] as const)("is refused: %s", async (_what, fields, headers, status) => {
    const { path } = await servedPage();
    expect((await submit(`${path}subscribe`, fields as Record<string, string>, headers)).status).toBe(status);
  });

  test("a body that is too long is refused", async () => {
    const { path } = await servedPage();
    expect((await submit(`${path}subscribe`, { email: "x".repeat(10_000) })).status).toBe(400);
  });
});
