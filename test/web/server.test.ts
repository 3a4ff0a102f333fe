// The server of the dashboard: sessions, same-origin checks, invalid requests, pages, and built files.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Boot, PAGE_PATHS } from "../../src/contract/api/boot.ts";
import { uniqueKey } from "../../src/core/identity.ts";
import { API_BODY_BYTES_MAX } from "../../src/core/limits.ts";
import { sha1Hex } from "../../src/lib/secrets.ts";
import { folderAssets } from "../../src/services/web/assets.ts";
import { policyFor, renderDocument } from "../../src/services/web/pages.ts";
import { sampleCheck } from "../support/sample.ts";
import { useDashboard } from "./dashboard.ts";

const at = useDashboard({ roles: ["web", "api"] });
const project = () => `/api/overdue/v1/projects/${at.owner.project.uuid}`;

describe("access", () => {
  test("a signed-out user gets 401 as data, and the sign-in page as a page", async () => {
    const data = await at.browse(`${project()}/overview`, { as: null });
    expect(data).toMatchObject({
      status: 401,
      json: { status: 401, detail: expect.stringContaining("Sign in") },
    });
    const page = await at.browse(`/projects/${at.owner.project.uuid}/checks/`, { as: null });
    expect(page.status).toBe(303);
    const next = encodeURIComponent(`/projects/${at.owner.project.uuid}/checks/`);
    expect(page.headers.get("location")).toBe(`/accounts/login/?next=${next}`);
  });

  test("a non-member does not learn whether a project or a check exists", async () => {
    const check = await sampleCheck(at.db, { projectId: at.owner.project.id });
    const as = at.stranger.account;
    const unknown = "00000000-0000-4000-8000-000000000000";
    const answers = await Promise.all(
      [
        `${project()}/overview`,
        `/api/overdue/v1/projects/${unknown}/overview`,
        `/api/overdue/v1/checks/${check.uuid}/badge`,
        `/api/overdue/v1/checks/${unknown}/badge`,
        "/api/overdue/v1/checks/not-a-uuid/badge",
      ].map((path) => at.browse(path, { as })),
    );
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(404);
  });

  test("a member without the right gets 403 with a sentence", async () => {
    await at.join(at.stranger.account, "readOnly");
    const { status, json } = await at.browse(`${project()}/checks`, {
      method: "POST",
      as: at.stranger.account,
      body: {},
    });
    const overview = await at.browse(`${project()}/overview`, { as: at.stranger.account });
    await at.db.pool.query("delete from members where project_id = $1 and account_id = $2", [
      at.owner.project.id,
      at.stranger.account.id,
    ]);
    const detail = "Your role in this project doesn't allow this.";
    expect({ status, json }).toMatchObject({ status: 403, json: { status: 403, detail } });
    expect(overview.status).toBe(200);
  });

  test("an invalid session opens nothing", async () => {
    const { status } = await at.browse("/api/overdue/v1/projects", {
      as: null,
      headers: { Cookie: "overdue_session=x" },
    });
    expect(status).toBe(401);
  });
});

describe("the origin of a change", () => {
  const change = (headers: Record<string, string>) =>
    at.headersOf(at.owner.account).then(({ Cookie = "" }) =>
      at.ask(`${project()}/checks`, {
        method: "POST",
        headers: { Cookie, "Content-Type": "application/json", ...headers },
        body: {},
      }),
    );

  test("can be our own pages, according to either header", async () => {
    expect((await change({ "Sec-Fetch-Site": "same-origin" })).status).toBe(201);
    expect((await change({ Origin: at.site })).status).toBe(201);
  });

  test("cannot be another site", async () => {
    for (const headers of [
      { "Sec-Fetch-Site": "cross-site", Origin: at.site },
      { "Sec-Fetch-Site": "same-site" },
      { Origin: "https://evil.example" },
      { Origin: "null" },
    ]) {
      expect((await change(headers)).status, JSON.stringify(headers)).toBe(403);
    }
  });

  test("is explained if a proxy removed or changed a header", async () => {
    const lost = await change({});
    expect((lost.json as { detail: string }).detail).toMatch(/neither an Origin nor a Sec-Fetch-Site header/);
    const other = await change({ Origin: "https://checks.example.org" });
    expect((other.json as { detail: string }).detail).toMatch(/Host header is 127\.0\.0\.1/);
  });

  test("is not needed to read", async () => {
    const { Cookie = "" } = await at.headersOf(at.owner.account);
    expect((await at.ask("/api/overdue/v1/projects", { headers: { Cookie } })).status).toBe(200);
  });
});

describe("invalid requests", () => {
  test.each([
    ["incomplete JSON", "{", 400, "Could not parse request body."],
    ["a list", "[]", 400, "The request is not a JSON object."],
    ["a text", '"text"', 400, "The request is not a JSON object."],
    ["null", "null", 400, "The request is not a JSON object."],
    ["a long body", `{"name":"${"x".repeat(API_BODY_BYTES_MAX)}"}`, 413, "Request body too large."],
    ["many values", `{"channels":[${"1,".repeat(400_000)}1]}`, 400, "Could not parse request body."],
  ])("to the API: %s", async (_what, body, status, detail) => {
    const answer = await at.browse(`${project()}/checks`, { method: "POST", body });
    expect(answer).toMatchObject({ status, json: { status, detail } });
  });

  test.each([
    ["incomplete JSON", "{", 400, "The request body is not valid JSON."],
    ["a list", "[]", 400, "The request is not a JSON object."],
    ["a text", '"text"', 400, "The request is not a JSON object."],
    ["a long body", `{"password":"${"x".repeat(2_000_000)}"}`, 413, "The request is too large."],
    ["many values", `{"password":[${"1,".repeat(400_000)}1]}`, 413, "The request is too large."],
  ])("to the dashboard: %s", async (_what, body, status, error) => {
    const answer = await at.browse("/web/account/password", { method: "PUT", body });
    expect(answer).toMatchObject({ status, json: { error } });
  });

  test("a text can have any number of commas", async () => {
    const desc = ',[{\\"'.repeat(10_000);
    const body = JSON.stringify({ name: "Commas", desc });
    expect((await at.browse(`${project()}/checks`, { method: "POST", body })).status).toBe(201);
  });

  const wide = (count: number) =>
    JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, 1])));

  // Parsing a megabyte of names takes seconds and blocks everything else.
  test.each([
    ["a body larger than any passkey response", "POST", "/web/sign-in/passkey", wide(90_000), 413],
    ["a short body", "POST", "/web/sign-in/passkey", `{"response":${wide(5_000)}}`, 400],
    ["a body that is only read with a session", "PUT", "/web/account/password", "{", 401],
  ])("signed-out users are answered without delay: %s", async (_what, method, path, body, status) => {
    const headers = { "Content-Type": "application/json", "Sec-Fetch-Site": "same-origin" };
    expect((await at.ask(path, { method, headers, body })).status).toBe(status);
  });

  test("a form with too many fields is rejected", async () => {
    const form = { "Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin" };
    const send = (body: string) =>
      at.ask("/accounts/login/password/", { method: "POST", headers: form, body });
    expect((await send("a=&".repeat(340_000))).status).toBe(413);
    expect((await send("a=&".repeat(15_000))).status).toBe(413);
  });

  test("an unknown URL gets a page or data", async () => {
    const data = await at.browse("/web/nothing");
    expect({ status: data.status, json: data.json }).toEqual({
      status: 404,
      json: { error: "No page exists at this URL." },
    });
    const page = await at.browse("/projects/x/y/z/");
    expect(page.status).toBe(404);
    expect(page.headers.get("content-type")).toMatch(/^text\/html/);
    expect((await at.browse("/projects/%zz/checks/")).status).toBe(400);
  });

  test("foreign paths are left to other handlers", async () => {
    expect((await at.ask("/api/v3/status/")).status).toBe(200);
    expect((await at.ask("/elsewhere")).headers.get("content-type")).toMatch(/^text\/plain/);
  });
});

describe("pages", () => {
  test("each page answers those who may see it, with a policy that allows no inline script", async () => {
    const check = await sampleCheck(at.db, { projectId: at.owner.project.id });
    await at.db.pool.query("update accounts set is_operator = true where id = $1", [at.owner.account.id]);
    for (const { name, path } of PAGE_PATHS) {
      const url = path
        .replace(":project", at.owner.project.uuid)
        .replace(":check", check.uuid)
        .replace(":n", "1");
      const { status, headers, text } = await at.browse(url);
      // Whether the browser's part is built depends on who runs this.
      expect([200, 503], name).toContain(status);
      expect(headers.get("content-type"), name).toMatch(/^text\/html/);
      expect(headers.get("content-security-policy"), name).not.toMatch(/unsafe|script-src[^;]*sha/);
      if (status === 503) expect(text).toMatch(/npm run build/);
    }
  });

  test("old URLs redirect to the new ones", async () => {
    const { headers } = await at.browse(`/projects/${at.owner.project.uuid}/integrations/`);
    expect(headers.get("location")).toBe(`/projects/${at.owner.project.uuid}/channels/`);
    const check = await sampleCheck(at.db, { projectId: at.owner.project.id });
    const key = uniqueKey(check.uuid, sha1Hex);
    expect((await at.browse(`/cloaked/${key}/`)).headers.get("location")).toBe(
      `/checks/${check.uuid}/details/`,
    );
    expect((await at.browse(`/cloaked/${key}/`, { as: at.stranger.account })).status).toBe(404);
    const leadsTo = async (path: string) => (await at.browse(path)).headers.get("location");
    expect(await leadsTo(`/checks/${check.uuid}/log/`)).toBe(`/checks/${check.uuid}/details/`);
    expect(await leadsTo("/accounts/profile/appearance/")).toBe("/accounts/profile/");
    expect(await leadsTo("/accounts/profile/notifications/")).toBe("/accounts/profile/");
  });
});

describe("built files", () => {
  let folder = "";
  const script = `export const text = ${JSON.stringify("x".repeat(5_000))};`;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "overdue-assets-"));
    await mkdir(join(folder, ".vite"));
    await mkdir(join(folder, "assets"));
    await writeFile(join(folder, "assets", "main-1.js"), script);
    await writeFile(join(folder, "assets", "main-1.css"), "body{}");
    await writeFile(join(folder, "assets", "checks-1.js"), "export {}");
    await writeManifest("main-1.js");
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const writeManifest = (main: string) =>
    writeFile(
      join(folder, ".vite", "manifest.json"),
      JSON.stringify({
        "main.tsx": {
          file: `assets/${main}`,
          isEntry: true,
          css: ["assets/main-1.css"],
          imports: ["_shared.js"],
        },
        "_shared.js": { file: "assets/shared-1.js" },
        "pages/checks.tsx": { file: "assets/checks-1.js", imports: ["main.tsx"] },
      }),
    );

  test("a page lists what to load, and what its own part needs in addition", async () => {
    const build = await folderAssets(folder).build();
    expect(build?.entry).toEqual({ script: "main-1.js", styles: ["main-1.css"], preloads: ["shared-1.js"] });
    expect(build?.pages.get("checks")).toEqual({ styles: [], preloads: ["checks-1.js"] });
  });

  test("files are compressed as the browser takes them, and only where it helps", async () => {
    const assets = folderAssets(folder);
    const br = await assets.read("main-1.js", "br");
    expect(brotliDecompressSync(br?.bytes ?? Buffer.alloc(0)).toString()).toBe(script);
    const gzip = await assets.read("main-1.js", "gzip");
    expect(gunzipSync(gzip?.bytes ?? Buffer.alloc(0)).toString()).toBe(script);
    expect((await assets.read("main-1.css", "br"))?.encoding).toBeNull();
    expect((await assets.read("main-1.js", null))?.bytes.toString()).toBe(script);
    expect(await assets.read("../.vite/manifest.json", null)).toBeNull();
  });

  test("a new build is noticed; without one there is none", async () => {
    const assets = folderAssets(folder);
    await assets.build();
    await writeFile(join(folder, "assets", "main-22.js"), "export {}");
    await writeManifest("main-22.js");
    expect((await assets.build())?.entry.script).toBe("main-22.js");
    expect(await folderAssets(join(folder, "nowhere")).build()).toBeNull();
  });

  test("no text of the data can end its element", () => {
    const boot = {
      site: { base: "/over" },
      account: { name: "</script><script>alert(1)</script>" },
    } as unknown as Boot;
    const load = { script: "main-1.js", styles: ["main-1.css"], preloads: [] };
    const page = renderDocument({ load, boot, theme: "dark", title: "<b>Overdue</b>", firstSight: null });
    expect(page.match(/<\/script>/g)).toHaveLength(2);
    expect(page).toContain('<html lang="en" data-theme="dark">');
    const compact = { ...boot, account: { density: "compact" } } as Boot;
    expect(renderDocument({ load, boot: compact, theme: "system", title: "", firstSight: null })).toContain(
      '<html lang="en" data-density="compact">',
    );
    expect(page).toContain('src="/over/web/assets/main-1.js"');
    expect(page).toContain("&lt;b&gt;Overdue");
    const data = /id="boot">(?<json>.*)<\/script>/.exec(page)?.groups?.["json"] ?? "";
    expect(JSON.parse(data)).toEqual(boot);
    expect(policyFor(new URL("https://a.example/"))).toMatch(/^default-src 'none'; script-src 'self';/);
  });
});
