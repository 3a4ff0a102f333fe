// Status pages by the Overdue API: created, changed, deleted and restored, and what is published on them.
import { beforeEach, describe, expect, test } from "vitest";
import type { StatusPage, StatusPost } from "../../src/contract/api/status-pages.ts";
import { STATUS_PAGES_MAX } from "../../src/core/limits.ts";
import { changedStatusPages, loadStatusView } from "../../src/operations/status-pages.ts";
import { listAuditEntries } from "../../src/store/audit.ts";
import { findStatusPage } from "../../src/store/status-pages.ts";
import { type Asked, UNKNOWN_UUID } from "../management/cast.ts";
import { sampleIncident } from "../support/incidents.ts";
import { sampleCheck } from "../support/sample.ts";
import { useDashboard } from "../web/dashboard.ts";
import { type ApiReply, askApi } from "./asking.ts";

const cast = useDashboard({ settings: { OVERDUE_API_RATE_LIMIT: "0" } });

const PAGES = "/projects/{project}/status-pages";
const HOUR_MS = 3_600_000;
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const ask = (path: string, given: Asked = {}) => askApi(cast, path, { key: cast.owner.rw, ...given });
const create = (body: object) => ask(PAGES, { method: "POST", body });
const change = (id: string, body: object, headers: Record<string, string> = {}) =>
  ask(`${PAGES}/${id}`, { method: "PATCH", body, headers });

let count = 0;
const slug = () => `page-${(count += 1)}`;

async function newPage(body: object = {}): Promise<StatusPage> {
  return pageIn(await create({ slug: slug(), title: "Nordlight", ...body }));
}

function pageIn({ status, text, json }: ApiReply): StatusPage {
  if (status !== 201 && status !== 200 && status !== 202) throw new Error(`${status} ${text}`);
  return json as unknown as StatusPage;
}

function postIn({ status, text, json }: ApiReply): StatusPost {
  if (status !== 201 && status !== 200) throw new Error(`${status} ${text}`);
  return json as unknown as StatusPost;
}

async function storedPage(uuid: string) {
  const page = await findStatusPage(cast.db, { projectId: cast.owner.project.id, uuid });
  if (page === null) throw new Error("the page is not there");
  return page;
}

beforeEach(async () => {
  await cast.db.pool.query("delete from status_pages");
});

describe("pages", () => {
  test("a page is there afterwards, under its Location", async () => {
    const check = await sampleCheck(cast.db, { projectId: cast.owner.project.id });
    const groups = [
      { name: "Billing", entries: [{ name: "Invoices", check: check.uuid, tag: null, description: "All" }] },
    ];
    const reply = await create({ slug: "nordlight", title: " Nordlight ", groups });
    const page = pageIn(reply);
    expect(page).toMatchObject({
      slug: "nordlight",
      title: "Nordlight",
      url: `${cast.site}/status/nordlight/`,
      visibility: "public",
      logo: null,
      domain: null,
      state: "unknown",
      subscriberCount: 0,
      version: 1,
      groups: [{ name: "Billing", entries: [{ name: "Invoices", check: check.uuid, tag: null }] }],
    });
    expect(reply.headers.get("Location")).toMatch(new RegExp(`/status-pages/${page.id}$`));
    expect((await ask(`${PAGES}/${page.id}`)).json).toEqual(reply.json);
    const seen = await ask(`${PAGES}/${page.id}`, { key: cast.owner.ro });
    expect(pageIn(seen).groups[0]?.entries[0]).toMatchObject({ name: "Invoices", check: null });
    const entries = await listAuditEntries(cast.db, {
      projectId: cast.owner.project.id,
      beforeId: Number.MAX_SAFE_INTEGER,
      limit: 1,
    });
    expect(entries[0]).toMatchObject({ what: "statusPage.created", subject: "Nordlight" });
  });

  test("an address belongs to one page of the server", async () => {
    const page = await newPage();
    const second = await create({ slug: page.slug, title: "Other" });
    expect([second.status, second.json["field"]]).toEqual([409, "slug"]);
    const other = await newPage();
    expect((await change(other.id, { slug: page.slug })).status).toBe(409);
    expect((await change(page.id, { slug: page.slug, title: "Same" })).status).toBe(200);
  });

  test("checks of other projects are refused", async () => {
    const foreign = await sampleCheck(cast.db, { projectId: cast.stranger.project.id });
    const groups = [{ name: "", entries: [{ name: "Theirs", check: foreign.uuid, tag: null }] }];
    const reply = await create({ slug: slug(), title: "Nordlight", groups });
    expect([reply.status, reply.json["field"]]).toEqual([400, "groups"]);
  });

  test.each([
    [
      "neither check nor tag",
      { groups: [{ name: "", entries: [{ name: "A", check: null, tag: null }] }] },
      "groups",
    ],
    [
      "a name of spaces",
      { groups: [{ name: "", entries: [{ name: " ", check: null, tag: "db" }] }] },
      "groups",
    ],
    [
      "colors that cannot be read",
      { brand: { background: "#ffffff", accent: null, ink: null, button: null } },
      "brand",
    ],
    ["an address instead of a domain", { domain: "127.0.0.1" }, "domain"],
    ["a title of spaces", { title: " " }, "title"],
  ])("%s is refused", async (_, body, field) => {
    const reply = await create({ slug: slug(), title: "Nordlight", ...body });
    expect([reply.status, reply.json["field"]]).toEqual([400, field]);
  });

  test("a project has a limited number of pages", async () => {
    await cast.db.pool.query(
      `insert into status_pages (uuid, project_id, slug, title, description, brand, groups, created_at, version)
       select gen_random_uuid(), $1, 'many-' || n, 'Many', '', '{}', '[]', now(), 1
       from generate_series(1, $2::int) as n`,
      [cast.owner.project.id, STATUS_PAGES_MAX],
    );
    expect((await create({ slug: slug(), title: "One more" })).status).toBe(403);
  });

  test("an edit of an old version is refused, and says what was changed", async () => {
    const page = await newPage();
    await change(page.id, { title: "Newer" });
    const reply = await change(page.id, { title: "Older", version: page.version });
    expect(reply.status).toBe(409);
    expect(reply.json).toMatchObject({ conflict: { after: { title: "Newer" }, version: 2 } });
    expect((await change(page.id, { title: "Older" }, { "If-Match": '"1"' })).status).toBe(412);
  });

  test("a password is stored as a hash and never returned", async () => {
    const page = await newPage({ password: "correct horse" });
    expect(page.visibility).toBe("password");
    const stored = await storedPage(page.id);
    expect(stored.passwordHash).toMatch(/^\$argon2id\$/);
    expect(JSON.stringify(page)).not.toContain("argon2");
    await change(page.id, { title: "Same password" });
    expect((await storedPage(page.id)).passwordHash).toBe(stored.passwordHash);
    expect(pageIn(await change(page.id, { password: null })).visibility).toBe("public");
    const { rows } = await cast.db.pool.query<{ text: string }>(
      "select coalesce(string_agg(before::text || after::text, ''), '') as text from audit_entries",
    );
    expect(rows[0]?.text).not.toContain("correct horse");
    expect(rows[0]?.text).not.toContain("argon2");
  });

  test("a deleted page can be restored", async () => {
    const page = await newPage();
    expect((await ask(`${PAGES}/${page.id}`, { method: "DELETE" })).status).toBe(204);
    expect((await ask(`${PAGES}/${page.id}`)).status).toBe(404);
    expect((await ask(PAGES)).json["pages"]).toEqual([]);
    const deleted = (await ask(`${PAGES}?state=deleted`)).json["pages"] as StatusPage[];
    expect(deleted.map(({ id }) => id)).toEqual([page.id]);
    expect(pageIn(await ask(`${PAGES}/${page.id}/restore`, { method: "POST" })).deletedAt).toBeNull();
    expect((await ask(`${PAGES}/${page.id}`)).status).toBe(200);
    expect((await ask(`${PAGES}/${UNKNOWN_UUID}/restore`, { method: "POST" })).status).toBe(404);
    await cast.db.pool.query("update status_pages set deleted_at = now() - interval '8 days'");
    expect((await ask(`${PAGES}/${page.id}/restore`, { method: "POST" })).status).toBe(404);
  });
});

describe("logos", () => {
  const put = (id: string, image: string) => ask(`${PAGES}/${id}/logo`, { method: "PUT", body: { image } });

  test("an image is recognized by its bytes", async () => {
    const page = await newPage();
    expect(pageIn(await put(page.id, PIXEL)).logo?.type).toBe("image/png");
    expect((await ask(`${PAGES}/${page.id}/logo`, { method: "DELETE" })).status).toBe(204);
    expect(pageIn(await ask(`${PAGES}/${page.id}`)).logo).toBeNull();
  });

  test("SVG and other texts are refused", async () => {
    const page = await newPage();
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>').toString("base64");
    const reply = await put(page.id, svg);
    expect([reply.status, reply.json["field"]]).toEqual([400, "image"]);
  });
});

test("a domain comes with the record that proves it, and a new one has to be proved again", async () => {
  const page = await newPage({ domain: "status.example.org" });
  expect(page.domain).toMatchObject({ state: "unproved", recordName: "_overdue.status.example.org" });
  expect(page.domain?.recordValue).toMatch(/^overdue-status-page=[\w-]{24}$/);
  await cast.db.pool.query("update status_pages set domain_proved_at = now(), domain_check_at = null");
  expect(pageIn(await ask(`${PAGES}/${page.id}/domain/check`, { method: "POST" })).domain?.state).toBe(
    "proved",
  );
  const { rows } = await cast.db.pool.query<{ due: boolean }>(
    "select domain_check_at <= now() as due from status_pages",
  );
  expect(rows).toEqual([{ due: true }]);
  const kept = pageIn(await change(page.id, { title: "T", domain: "status.example.org" }));
  expect(kept.domain?.state).toBe("proved");
  const moved = pageIn(await change(page.id, { domain: "other.example.org" }));
  expect(moved.domain?.state).toBe("unproved");
  expect(moved.domain?.recordValue).not.toBe(page.domain?.recordValue);
  const host = new URL(cast.site).hostname;
  expect((await change(page.id, { domain: host })).status).toBe(400);
});

describe("what is published", () => {
  const publish = (id: string, body: object) => ask(`${PAGES}/${id}/posts`, { method: "POST", body });
  const INCIDENT = { kind: "incident", title: "Invoices are late", text: "We are on it." };

  test("an incident is published with its own text, and resolved by a note", async () => {
    const projectId = cast.owner.project.id;
    const check = await sampleCheck(cast.db, { projectId });
    const { number } = await sampleIncident(cast.db, { projectId, checkIds: [check.id] });
    const page = await newPage({
      groups: [{ name: "", entries: [{ id: "aaaaaaaa", name: "Invoices", check: check.uuid, tag: null }] }],
    });
    const post = postIn(await publish(page.id, { ...INCIDENT, incident: number, entries: ["aaaaaaaa"] }));
    expect(post).toMatchObject({ kind: "incident", until: null, incident: number, entries: ["aaaaaaaa"] });
    expect(post.notes.map(({ text }) => text)).toEqual(["We are on it."]);
    const note = { text: "All were sent.", isResolved: true };
    const path = `${PAGES}/${page.id}/posts/${post.id}`;
    const resolved = postIn(await ask(`${path}/notes`, { method: "POST", body: note }));
    expect(resolved.notes.map(({ text }) => text)).toEqual(["All were sent.", "We are on it."]);
    expect(resolved.until).not.toBeNull();
    const reopened = postIn(await ask(path, { method: "PATCH", body: { title: "Late", until: null } }));
    expect([reopened.title, reopened.until]).toEqual(["Late", null]);
    const listed = (await ask(`${PAGES}/${page.id}/posts`)).json["posts"] as StatusPost[];
    expect(listed.map(({ title }) => title)).toEqual(["Late"]);
    expect((await ask(path, { method: "DELETE" })).status).toBe(204);
    expect((await ask(path, { method: "DELETE" })).status).toBe(404);
  });

  test.each([
    ["an entry of another page", { entries: ["ffffffff"] }, "entries"],
    ["an incident that does not exist", { incident: 999 }, "incident"],
    ["a beginning in the future", { from: 4_000_000_000_000 }, "from"],
    ["maintenance without an end", { kind: "maintenance" }, "until"],
    ["a silence that does not exist", { kind: "maintenance", silence: UNKNOWN_UUID }, "silence"],
    ["a title of spaces", { title: " " }, "title"],
    ["a note of spaces", { text: " " }, "text"],
  ])("%s is refused", async (_, body, field) => {
    const page = await newPage();
    const reply = await publish(page.id, { ...INCIDENT, ...body });
    expect([reply.status, reply.json["field"]]).toEqual([400, field]);
  });

  test("maintenance takes the times of a silence, and not its reason", async () => {
    const page = await newPage();
    const silence = (
      await ask("/projects/{project}/silences", {
        method: "POST",
        body: { duration: 7_200, reason: "secret reason" },
      })
    ).json as { id: string; from: number };
    const body = { kind: "maintenance", title: "Upgrade", text: "Late exports.", silence: silence.id };
    const post = postIn(await publish(page.id, body));
    expect([post.from, post.until]).toEqual([silence.from, silence.from + 2 * HOUR_MS]);
    const { id: pageId } = await storedPage(page.id);
    const view = await loadStatusView(cast.db, { pageId, now: silence.from + HOUR_MS });
    expect(view?.maintenance.map(({ title }) => title)).toEqual(["Upgrade"]);
    expect(JSON.stringify(view)).not.toContain("secret reason");
  });
});

describe("subscribers", () => {
  test("API keys do not see addresses, and members add webhooks", async () => {
    const page = await newPage();
    const path = `/api/overdue/v1/projects/${cast.owner.project.uuid}/status-pages/${page.id}/subscribers`;
    expect((await cast.ask(path, { key: cast.owner.rw })).status).toBe(403);
    const body = { url: "https://hooks.example.org/status" };
    const added = await cast.browse(path, { method: "POST", body });
    expect(added.status).toBe(201);
    expect(added.json).toMatchObject({ kind: "webhook", address: body.url });
    expect((added.json as { secret: string }).secret.length).toBeGreaterThan(30);
    const listed = await cast.browse(path);
    expect(listed.json).toMatchObject({ subscribers: [{ kind: "webhook" }], next: null });
    expect(listed.text).not.toContain("secret");
    const bad = await cast.browse(path, { method: "POST", body: { url: "http://169.254.169.254/latest" } });
    expect([bad.status, (bad.json as { field: string }).field]).toEqual([400, "url"]);
    const { id } = added.json as { id: string };
    expect((await cast.browse(`${path}/${id}`, { method: "DELETE" })).status).toBe(204);
  });
});

describe("views", () => {
  test("take at most ten statements, whatever is on the page", async () => {
    const projectId = cast.owner.project.id;
    const checks = await Promise.all(
      Array.from({ length: 5 }, (_, index) =>
        sampleCheck(cast.db, { projectId, name: `zq-check-${index}`, tags: "zqtag" }),
      ),
    );
    const entries = checks.map(({ uuid }, index) => ({ name: `Service ${index}`, check: uuid, tag: null }));
    const page = await newPage({
      groups: [{ name: "All", entries: [...entries, { name: "Together", check: null, tag: "zqtag" }] }],
    });
    const { id: pageId } = await storedPage(page.id);
    let statements = 0;
    const counted = {
      query: (...given: Parameters<typeof cast.db.query>) => {
        statements += 1;
        return cast.db.query(...given);
      },
    } as unknown as typeof cast.db;
    const view = await loadStatusView(counted, { pageId, now: await cast.now() });
    expect(statements).toBeLessThanOrEqual(10);
    expect(view?.groups[0]?.entries).toHaveLength(6);
    const text = JSON.stringify(view);
    for (const hidden of ["zq-check", "zqtag", page.id, ...checks.map(({ uuid }) => uuid)]) {
      expect(text).not.toContain(hidden);
    }
    expect(await loadStatusView(cast.db, { pageId: 0, now: 0 })).toBeNull();
  });

  test("a cursor from another database returns all pages", async () => {
    const page = await newPage();
    const all = await changedStatusPages(cast.db, { since: null });
    expect(all.pages.map(({ uuid }) => uuid)).toEqual([page.id]);
    const strange = await changedStatusPages(cast.db, { since: Number.MAX_SAFE_INTEGER });
    expect(strange.pages).toEqual(all.pages);
    await change(page.id, { title: "Other" });
    const changed = await changedStatusPages(cast.db, { since: all.cursor });
    expect(changed.pages.map(({ version }) => version)).toEqual([2]);
  });
});
