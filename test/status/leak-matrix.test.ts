// Nothing but what was written for the public leaves a status page: every representation of every kind of page is
// searched for everything else that the server knows about its project.
import { randomUUID } from "node:crypto";
import { request as httpRequest } from "node:http";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { type StatusPage, subscriberToken } from "../../src/core/status-page.ts";
import { addNote } from "../../src/operations/incidents.ts";
import { secretsOf, signingWith } from "../../src/operations/secrets.ts";
import { createSilence } from "../../src/operations/silences.ts";
import { createStatusPost, setStatusLogo } from "../../src/operations/status-pages.ts";
import { addWebhook } from "../../src/operations/status-subscribers.ts";
import { findSubscriberByAddress } from "../../src/store/status-subscribers.ts";
import { sampleIncident } from "../support/incidents.ts";
import { sampleCheck, sampleProject } from "../support/sample.ts";
import { useDashboard } from "../web/dashboard.ts";
import { proveDomain, samplePage } from "./pages.ts";

const cast = useDashboard({
  roles: ["web", "api"],
  settings: { OVERDUE_SMTP_HOST: "127.0.0.1", OVERDUE_SMTP_PORT: "9" },
});

const READY_MS = 60_000;
const PASSWORD = "zq-password-correct";
const BY = { accountId: null, keyId: null };
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

type Answer = { status: number; headers: string; cookie: string; body: Buffer; text: string };
type Sent = { method?: string; headers?: Record<string, string>; body?: string };

/** Sends a request with its own Host, and follows nothing. */
function send(path: string, { method = "GET", headers = {}, body }: Sent = {}): Promise<Answer> {
  const { hostname, port } = new URL(cast.site);
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ host: hostname, port, path, method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const bytes = Buffer.concat(chunks);
        resolve({
          status: response.statusCode ?? 0,
          headers: response.rawHeaders.join("\n"),
          cookie: (response.headers["set-cookie"] ?? []).map((one) => one.split(";", 1)[0]).join("; "),
          body: bytes,
          text: bytes.toString("utf8"),
        });
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

/** What the public may not see. */
const secrets = new Set<string>();
const secret = (text: string) => {
  secrets.add(text);
  return text;
};

/** A kind of page: where it is, and how it is asked for. */
type Place = {
  name: string;
  page: () => StatusPage;
  home: () => string;
  host: () => string;
  origin: () => string;
};

const pages = new Map<string, StatusPage>();

function pageNamed(slug: string): StatusPage {
  const page = pages.get(slug);
  if (page === undefined) throw new Error(`there is no page ${slug}`);
  return page;
}

const onSite = (name: string, slug: string): Place => ({
  name,
  page: () => pageNamed(slug),
  home: () => `/status/${slug}/`,
  host: () => new URL(cast.site).host,
  origin: () => cast.site,
});
const onDomain = (name: string, slug: string): Place => ({
  name,
  page: () => pageNamed(slug),
  home: () => "/",
  host: () => `${slug}.example.org`,
  origin: () => `https://${slug}.example.org`,
});

const OPEN = [onSite("a public page", "pq-open"), onDomain("a domain", "pq-domain")];
const LOCKED = [
  onSite("a page with a password", "pq-locked"),
  onDomain("a domain with a password", "pq-domain-locked"),
];
const PLACES = [...OPEN, ...LOCKED];

const PUBLIC = {
  title: "Pq Nordlight",
  entry: "Pq Invoices",
  post: "Pq Late invoices",
  note: "Pq We are on it.",
};

async function newPage(given: { slug: string; password?: string; domain?: string }): Promise<void> {
  const { db, owner } = cast;
  const projectId = owner.project.id;
  const listed = await secretCheck(projectId, "listed");
  await secretCheck(projectId, "tagged", `zq-tag-${given.slug}`);
  const { number } = await sampleIncident(db, { projectId, checkIds: [listed.id] });
  const at = await cast.now();
  const member = { accountId: owner.account.id, keyId: null };
  await addNote(db, { projectId, number, text: secret(`zq-note-${given.slug}`), by: member, at });
  const silence = await createSilence(db, {
    projectId,
    request: {
      scope: { checks: null, tag: secret(`zq-silenced-${given.slug}`) },
      durationSeconds: 3_600,
      reason: secret(`zq-reason-${given.slug}`),
    },
    once: null,
    by: BY,
    at,
  });
  const page = await samplePage(db, {
    projectId,
    title: PUBLIC.title,
    ...given,
    groups: [
      {
        name: "Pq Billing",
        entries: [
          { id: "aaaa1111", name: PUBLIC.entry, check: listed.uuid, tag: null },
          { id: "bbbb2222", name: "Pq Payouts", check: null, tag: `zq-tag-${given.slug}` },
        ],
      },
    ],
  });
  pages.set(given.slug, page);
  const hidden = [page.uuid, "aaaa1111", "bbbb2222", page.passwordHash, page.domain?.token, silence.uuid];
  for (const text of hidden) if (typeof text === "string") secret(text);
  const name = { projectId, uuid: page.uuid };
  await setStatusLogo(db, { ...name, bytes: Buffer.from(PIXEL, "base64"), by: BY, at });
  const post = { title: PUBLIC.post, text: PUBLIC.note, entries: ["aaaa1111"], from: null, until: null };
  await createStatusPost(db, {
    ...name,
    request: { ...post, kind: "incident", incident: number, silence: null },
    by: BY,
    at,
  });
  await createStatusPost(db, {
    ...name,
    request: { ...post, kind: "maintenance", title: "Pq Upgrade", incident: null, silence: silence.uuid },
    by: BY,
    at,
  });
  const url = secret(`https://zq-hook-${given.slug}.example.org/zq-path`);
  secret((await addWebhook(db, { ...name, url, by: BY, at })).uuid);
  if (given.domain !== undefined) await proveDomain(db, page);
}

async function secretCheck(projectId: number, kind: string, tag = `zq-other-${kind}`) {
  const unique = randomUUID().slice(0, 8);
  const name = secret(`zq-name-${kind}-${unique}`);
  const check = await sampleCheck(cast.db, {
    projectId,
    name: `${name} <b>"'&`,
    tags: `${secret(`zq-only-${unique}`)} ${secret(tag)}`,
    desc: secret(`zq-desc-${unique}`),
    slug: secret(`zq-slug-${unique}`),
  });
  secret(check.uuid);
  secret(check.badgeUuid);
  return check;
}

beforeAll(async () => {
  const { db, owner, stranger } = cast;
  await secretCheck(owner.project.id, "unlisted");
  await secretCheck(stranger.project.id, "foreign");
  await secretCheck((await sampleProject(db)).id, "other");
  for (const player of [owner, stranger]) {
    const { uuid, badgeKey } = player.project;
    for (const text of [uuid, badgeKey, player.pingKey, player.account.email, player.rw]) secret(text);
  }
  for (const text of [cast.secretKey, PASSWORD]) secret(text);
  await newPage({ slug: "pq-open" });
  await newPage({ slug: "pq-locked", password: PASSWORD });
  await newPage({ slug: "pq-domain", domain: "pq-domain.example.org" });
  await newPage({ slug: "pq-domain-locked", password: PASSWORD, domain: "pq-domain-locked.example.org" });
  for (const place of PLACES) {
    // A page is served a moment after it was created, and shows what is published a moment after that.
    await vi.waitFor(
      async () => {
        const headers = {
          Host: place.host(),
          ...(LOCKED.includes(place) && { Cookie: await unlock(place) }),
        };
        const { text } = await send(`${place.home()}status.json`, { headers });
        if (!text.includes("Pq Upgrade"))
          throw new Error(`not published on ${place.name}: ${text.slice(0, 200)}`);
      },
      { timeout: READY_MS, interval: 500 },
    );
  }
}, 3 * READY_MS);

async function tokensOf({ page }: Place): Promise<Record<"statusConfirm" | "statusUnsubscribe", string>> {
  const { db } = cast;
  const pageId = page().id;
  const address = "reader@example.org";
  await db.pool.query(
    `insert into status_subscribers (uuid, page_id, kind, address, created_at)
     values (gen_random_uuid(), $1, 'email', $2, now()) on conflict do nothing`,
    [pageId, address],
  );
  const found = await findSubscriberByAddress(db, { pageId, kind: "email", address });
  if (found === null) throw new Error("the subscriber is not there");
  const signing = signingWith(await secretsOf(db, { secretKey: null, secretKeyPrevious: null }));
  return {
    statusConfirm: subscriberToken(signing, "statusConfirm", found),
    statusUnsubscribe: subscriberToken(signing, "statusUnsubscribe", found),
  };
}

const formHeaders = (place: Place, headers: Record<string, string> = {}) => ({
  Host: place.host(),
  Origin: place.origin(),
  "Sec-Fetch-Site": "same-origin",
  "Content-Type": "application/x-www-form-urlencoded",
  ...headers,
});

/** Every answer of a page, by what was asked. */
async function answersOf(place: Place, cookie: string): Promise<Map<string, Answer>> {
  // Each reader has the attempts of a new network.
  await cast.db.pool.query("delete from attempts");
  const home = place.home();
  const shown: Record<string, string> = cookie === "" ? {} : { Cookie: cookie };
  const headers = { Host: place.host(), ...shown };
  const { statusConfirm, statusUnsubscribe } = await tokensOf(place);
  const gets = [
    ...DOCUMENTS,
    "logo",
    "subscribe",
    "unlock",
    "nothing",
    "%00%ff",
    `confirm/${statusConfirm}/`,
    `unsubscribe/${statusUnsubscribe}/`,
    "confirm/wrong/",
  ];
  const answers = new Map<string, Answer>();
  for (const path of gets) answers.set(`GET ${path}`, await send(home + path, { headers }));
  if (home !== "/") answers.set("GET without a slash", await send(home.slice(0, -1), { headers }));
  answers.set("HEAD", await send(home, { method: "HEAD", headers }));
  answers.set("DELETE", await send(home, { method: "DELETE", headers }));
  const posts: [string, string][] = [
    ["subscribe", "email=new-reader%40example.org"],
    ["subscribe", "email=wrong"],
    ["unlock", "password=wrong"],
    [`confirm/${statusConfirm}/`, ""],
    [`unsubscribe/${statusUnsubscribe}/`, "List-Unsubscribe=One-Click"],
    ["confirm/wrong/", ""],
  ];
  for (const [path, body] of posts) {
    const given = { method: "POST", headers: formHeaders(place, shown), body };
    answers.set(`POST ${path} ${body}`, await send(home + path, given));
  }
  const elsewhere = {
    method: "POST",
    headers: { ...headers, Origin: "https://evil.example" },
    body: "email=a",
  };
  answers.set("POST from elsewhere", await send(`${home}subscribe`, elsewhere));
  return answers;
}

/** Where secrets were found. */
function leaksIn(answers: ReadonlyMap<string, Answer>): string[] {
  const leaks: string[] = [];
  for (const [asked, { headers, text, body }] of answers) {
    const all = `${headers}\n${text}\n${body.toString("latin1")}`;
    for (const one of secrets) if (all.includes(one)) leaks.push(`${asked}: ${one}`);
  }
  return leaks;
}

async function unlock(place: Place): Promise<string> {
  await cast.db.pool.query("delete from attempts");
  const body = `password=${PASSWORD}`;
  const { status, cookie, headers } = await send(`${place.home()}unlock`, {
    method: "POST",
    headers: formHeaders(place),
    body,
  });
  expect(status).toBe(303);
  // For this page alone.
  expect(headers).toContain(`Path=${place.home()};`);
  expect(headers).not.toContain("Domain=");
  return cookie;
}

const DOCUMENTS = ["", "feed.atom", "feed.rss", "status.json"];

function expectOpen(answers: ReadonlyMap<string, Answer>): void {
  expect(leaksIn(answers)).toEqual([]);
  for (const path of DOCUMENTS) {
    const { status, text } = answers.get(`GET ${path}`) ?? { status: 0, text: "" };
    expect([path, status]).toEqual([path, 200]);
    for (const shown of [PUBLIC.title, PUBLIC.post, PUBLIC.note]) expect(text).toContain(shown);
  }
  expect(answers.get("GET ")?.text).toContain(PUBLIC.entry);
  expect(answers.get("GET status.json")?.text).toContain(PUBLIC.entry);
  const logo = answers.get("GET logo");
  expect([logo?.status, logo?.body.toString("base64")]).toEqual([200, PIXEL]);
  expect(logo?.headers).toMatch(/content-type\nimage\/png/i);
  expect(logo?.headers).toMatch(/x-content-type-options\nnosniff/i);
  expect([...answers].filter(([, { status }]) => status >= 500).map(([asked]) => asked)).toEqual([]);
}

test("there is enough to leak, and the search finds it", () => {
  expect(secrets.size).toBeGreaterThan(60);
  const [first = ""] = secrets;
  const answer = { status: 200, headers: "", cookie: "", body: Buffer.alloc(0), text: `a ${first} b` };
  expect(leaksIn(new Map([["GET", answer]]))).toHaveLength(1);
});

test.each(OPEN)("$name leaks nothing", async (place) => {
  expectOpen(await answersOf(place, ""));
});

test.each(OPEN)("$name leaks nothing to members either", async (place) => {
  const { Cookie = "" } = await cast.headersOf(cast.owner.account);
  expectOpen(await answersOf(place, Cookie));
});

describe.each(LOCKED)("$name", (place) => {
  test("leaks nothing to readers who know it", async () => {
    expectOpen(await answersOf(place, await unlock(place)));
  });

  test.each(["a stranger", "a member"])("shows %s its title and nothing else", async (who) => {
    const { Cookie = "" } = who === "a member" ? await cast.headersOf(cast.owner.account) : {};
    const answers = await answersOf(place, Cookie);
    expect(leaksIn(answers)).toEqual([]);
    for (const path of DOCUMENTS) {
      const { status, text } = answers.get(`GET ${path}`) ?? { status: 0, text: "" };
      expect([path, status]).toEqual([path, 403]);
      for (const shown of [PUBLIC.entry, PUBLIC.post, PUBLIC.note, "Pq Billing"]) {
        expect(text).not.toContain(shown);
      }
    }
  });

  test("is not opened by the cookie of another page", async () => {
    for (const other of LOCKED.filter((one) => one !== place)) {
      const headers = { Host: place.host(), Cookie: await unlock(other) };
      expect((await send(place.home(), { headers })).status).toBe(403);
    }
  });
});

test("on a domain there is nothing but its page", async () => {
  const { Cookie = "" } = await cast.headersOf(cast.owner.account);
  const headers = { Host: "pq-domain.example.org", Cookie, "X-Api-Key": cast.owner.rw };
  const project = cast.owner.project.uuid;
  const paths = [
    `/projects/${project}/checks/`,
    `/api/overdue/v1/projects/${project}`,
    "/api/v3/checks/",
    "/accounts/login/",
    "/docs/",
    "/status/pq-open/",
    "/status/pq-domain/",
    "/status/pq-locked/",
  ];
  const answers = new Map<string, Answer>();
  for (const path of paths) answers.set(path, await send(path, { headers }));
  expect([...answers].map(([path, { status }]) => [path, status])).toEqual(paths.map((path) => [path, 404]));
  expect(leaksIn(answers)).toEqual([]);
});

test("an unknown page says nothing", async () => {
  const headers = { Host: new URL(cast.site).host };
  const answers = new Map([
    ["slug", await send("/status/pq-nothing/", { headers })],
    ["list", await send("/status/", { headers })],
  ]);
  expect([...answers.values()].map(({ status }) => status)).toEqual([404, 404]);
  expect(leaksIn(answers)).toEqual([]);
});
