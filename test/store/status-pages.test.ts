// Status pages: their rows, logos, domains, what is published, and which pages have changed.
import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { DAY_MS, HOUR_MS, type Instant } from "../../src/core/instant.ts";
import { DEFAULT_BRAND, type StatusGroup, type StatusPage } from "../../src/core/status-page.ts";
import { audit } from "../../src/operations/audit.ts";
import { listStatusChecks, readSnapshot } from "../../src/store/check-lists.ts";
import { insertFlips } from "../../src/store/flips.ts";
import {
  claimDomainChecks,
  countStatusNotes,
  countStatusPages,
  countStatusPosts,
  deleteStatusLogo,
  deleteStatusPost,
  findPageChecks,
  findStatusLogo,
  findStatusPage,
  findStatusPageById,
  findStatusPageIdBySlug,
  findStatusPost,
  insertStatusNote,
  insertStatusPage,
  insertStatusPost,
  listAnnouncedPages,
  listChangedPages,
  listServedPages,
  listStatusNotes,
  listStatusPages,
  listStatusPosts,
  lockAnnounced,
  pruneStatusPages,
  pruneStatusPosts,
  requestDomainCheck,
  type StatusPlan,
  type StoredPost,
  writeAnnounced,
  writeDomainCheck,
  writeStatusDomain,
  writeStatusLogo,
  writeStatusPage,
  writeStatusPageDeleted,
  writeStatusPost,
} from "../../src/store/status-pages.ts";
import { insertSubscriber } from "../../src/store/status-subscribers.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { flip } from "../support/owed.ts";
import { MONDAY_NOON, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();
const write = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(database.db, work);

const GROUPS: StatusGroup[] = [
  {
    name: "Billing",
    entries: [{ id: "5d1c0b7a", name: "Invoices", description: "", source: { kind: "tag", tag: "billing" } }],
  },
];

let slugCount = 0;
const plan = (given: Partial<StatusPlan> = {}): StatusPlan => ({
  slug: `page-${(slugCount += 1)}`,
  title: "Nordlight",
  description: "",
  brand: DEFAULT_BRAND,
  groups: GROUPS,
  passwordHash: null,
  ...given,
});

let projectId: number;

async function samplePage(given: Partial<StatusPlan> = {}): Promise<StatusPage> {
  const uuid = randomUUID();
  await write((tx) => insertStatusPage(tx, { ...plan(given), uuid, projectId, createdAt: MONDAY_NOON }));
  return read(uuid);
}

async function read(uuid: string): Promise<StatusPage> {
  const page = await findStatusPage(database.db, { projectId, uuid });
  if (page === null) throw new Error("the page is not there");
  return page;
}

const post = (pageId: number, given: Partial<StoredPost> = {}): Omit<StoredPost, "id" | "updatedAt"> => ({
  uuid: randomUUID(),
  pageId,
  kind: "incident",
  title: "Invoices are late",
  entries: ["5d1c0b7a"],
  from: MONDAY_NOON,
  until: null,
  incidentNumber: 3,
  silenceUuid: null,
  createdAt: MONDAY_NOON,
  ...given,
});

beforeEach(async () => {
  projectId = (await sampleProject(database.db)).id;
});

describe("pages", () => {
  test("are written, found and listed by title", async () => {
    const page = await samplePage({ title: "B" });
    expect(page).toMatchObject({ title: "B", groups: GROUPS, domain: null, logo: null, version: 1 });
    await write((tx) => writeStatusPage(tx, { ...plan({ slug: page.slug, title: "C" }), id: page.id }));
    expect(await read(page.uuid)).toMatchObject({ title: "C", version: 2 });
    const first = await samplePage({ title: "A" });
    const listed = await listStatusPages(database.db, { projectId, isDeleted: false, limit: 10 });
    expect(listed.map(({ title }) => title)).toEqual(["A", "C"]);
    expect(await countStatusPages(database.db, projectId)).toBe(2);
    expect(await findStatusPageIdBySlug(database.db, first.slug)).toBe(first.id);
    expect(await findStatusPageIdBySlug(database.db, "none")).toBeNull();
    expect(await findStatusPageById(database.db, first.id)).toEqual({ page: first, zone: "UTC" });
  });

  test("a deleted page is found by its UUID only, and removed after a while", async () => {
    const page = await samplePage();
    await write((tx) => writeStatusPageDeleted(tx, { id: page.id, at: MONDAY_NOON }));
    expect((await read(page.uuid)).deletedAt).toBe(MONDAY_NOON);
    expect(await findStatusPageById(database.db, page.id)).toBeNull();
    expect(await listStatusPages(database.db, { projectId, isDeleted: false, limit: 10 })).toEqual([]);
    expect(await listStatusPages(database.db, { projectId, isDeleted: true, limit: 10 })).toHaveLength(1);
    const prune = (before: Instant) => write((tx) => pruneStatusPages(tx, { before, limit: 10 }));
    expect(await prune(MONDAY_NOON)).toBe(0);
    expect(await prune(MONDAY_NOON + 1)).toBe(1);
  });

  test("checks are found in their project only", async () => {
    const one = await sampleCheck(database.db, { projectId, tags: "billing prod" });
    const other = await sampleCheck(database.db, { projectId, tags: "billings" });
    const foreign = await sampleCheck(database.db, {
      projectId: (await sampleProject(database.db)).id,
      tags: "billing",
    });
    const ids = [one.id, other.id, foreign.id];
    const found = await findPageChecks(database.db, { projectId, uuids: [foreign.uuid], ids });
    expect(new Set(found.map(({ id }) => id))).toEqual(new Set([one.id, other.id]));
    const tagged = await listStatusChecks(database.db, {
      projectId,
      checkIds: [foreign.id],
      tags: ["billing"],
      limit: 10,
    });
    expect(tagged.map(({ id }) => id)).toEqual([one.id]);
    expect(tagged[0]).toMatchObject({ createdAt: MONDAY_NOON, tags: "billing prod" });
  });
});

test("a logo is replaced and removed", async () => {
  const page = await samplePage();
  const logo = { type: "image/png", digest: "0".repeat(64), bytes: Buffer.from([1, 2]) } as const;
  await write((tx) => writeStatusLogo(tx, { pageId: page.id, ...logo }));
  await write((tx) => writeStatusLogo(tx, { pageId: page.id, ...logo, type: "image/webp" }));
  expect(await findStatusLogo(database.db, page.id)).toEqual({ ...logo, type: "image/webp" });
  expect((await read(page.uuid)).logo).toEqual({ type: "image/webp", digest: logo.digest });
  await write((tx) => deleteStatusLogo(tx, page.id));
  expect(await findStatusLogo(database.db, page.id)).toBeNull();
});

describe("domains", () => {
  const claim = (now: Instant) =>
    write((tx) => claimDomainChecks(tx, { now, limit: 10, untilAt: now + HOUR_MS }));
  const checked = { at: MONDAY_NOON, provedAt: MONDAY_NOON, lostAt: null, checkAt: MONDAY_NOON + DAY_MS };

  test("a new domain is due at once, and after that when its check says so", async () => {
    const page = await samplePage();
    await write((tx) => writeStatusDomain(tx, { id: page.id, domain: { name: "a.example", token: "t1" } }));
    expect((await claim(MONDAY_NOON)).map(({ id }) => id)).toContain(page.id);
    expect(await claim(MONDAY_NOON + 1)).toEqual([]);
    await write((tx) => writeDomainCheck(tx, { id: page.id, token: "t1", ...checked }));
    const { domain } = await read(page.uuid);
    expect(domain).toMatchObject({ name: "a.example", provedAt: MONDAY_NOON, checkedAt: MONDAY_NOON });
    expect(await claim(MONDAY_NOON + DAY_MS - 1)).toEqual([]);
    await write((tx) => requestDomainCheck(tx, page.id));
    expect(await claim(MONDAY_NOON)).toHaveLength(1);
  });

  test("a result for a domain that was changed meanwhile is dropped", async () => {
    const page = await samplePage();
    await write((tx) => writeStatusDomain(tx, { id: page.id, domain: { name: "b.example", token: "t1" } }));
    await write((tx) => writeDomainCheck(tx, { id: page.id, token: "t0", ...checked }));
    expect((await read(page.uuid)).domain?.provedAt).toBeNull();
    await write((tx) => writeStatusDomain(tx, { id: page.id, domain: null }));
    expect((await read(page.uuid)).domain).toBeNull();
  });

  test("a domain is proved by one page at a time", async () => {
    const [one, other] = [await samplePage(), await samplePage()];
    for (const { id } of [one, other]) {
      await write((tx) => writeStatusDomain(tx, { id, domain: { name: "c.example", token: `t${id}` } }));
      await write((tx) => writeDomainCheck(tx, { id, token: `t${id}`, ...checked }));
    }
    expect((await read(one.uuid)).domain?.provedAt).toBe(MONDAY_NOON);
    expect((await read(other.uuid)).domain?.provedAt).toBeNull();
  });
});

describe("posts", () => {
  test("are listed newest first with their notes", async () => {
    const page = await samplePage();
    const first = post(page.id);
    const id = await write((tx) => insertStatusPost(tx, first));
    const second = post(page.id, { kind: "maintenance", until: MONDAY_NOON + HOUR_MS });
    await write((tx) => insertStatusPost(tx, second));
    const listed = await listStatusPosts(database.db, {
      pageId: page.id,
      beforeId: Number.MAX_SAFE_INTEGER,
      limit: 10,
    });
    expect(listed.map(({ uuid }) => uuid)).toEqual([second.uuid, first.uuid]);
    expect(listed[1]).toEqual({ ...first, id, updatedAt: MONDAY_NOON });
    expect(await countStatusPosts(database.db, page.id)).toBe(2);
    for (const text of ["one", "two"]) {
      const note = { uuid: randomUUID(), postId: id, at: MONDAY_NOON, text };
      await write((tx) => insertStatusNote(tx, { ...note, accountId: null }));
    }
    const notes = await listStatusNotes(database.db, [id]);
    expect(notes.get(id)?.map(({ text }) => text)).toEqual(["two", "one"]);
    expect(await countStatusNotes(database.db, id)).toBe(2);
  });

  test("are changed, found on their page only, and deleted with their notes", async () => {
    const [page, other] = [await samplePage(), await samplePage()];
    const made = post(page.id);
    const id = await write((tx) => insertStatusPost(tx, made));
    const note = { uuid: randomUUID(), postId: id, at: MONDAY_NOON, text: "one", accountId: null };
    await write((tx) => insertStatusNote(tx, note));
    const later = MONDAY_NOON + HOUR_MS;
    await write((tx) =>
      writeStatusPost(tx, { id, title: "T", entries: [], from: MONDAY_NOON, until: later, updatedAt: later }),
    );
    const found = await findStatusPost(database.db, { pageId: page.id, uuid: made.uuid });
    expect(found).toMatchObject({ title: "T", entries: [], until: later, updatedAt: later });
    expect(await findStatusPost(database.db, { pageId: other.id, uuid: made.uuid })).toBeNull();
    await write((tx) => deleteStatusPost(tx, id));
    expect(await countStatusNotes(database.db, id)).toBe(0);
  });

  test("are removed a while after their end, and never while they are open", async () => {
    await database.db.pool.query("delete from status_posts");
    const page = await samplePage();
    await write((tx) => insertStatusPost(tx, post(page.id)));
    await write((tx) => insertStatusPost(tx, post(page.id, { until: MONDAY_NOON + 1 })));
    const before = MONDAY_NOON + DAY_MS;
    expect(await write((tx) => pruneStatusPosts(tx, { before, limit: 10 }))).toBe(1);
    expect(await countStatusPosts(database.db, page.id)).toBe(1);
  });
});

test("what subscribers know is locked by one process at a time", async () => {
  const page = await samplePage();
  const pages = () => listAnnouncedPages(database.db, { afterId: page.id - 1, limit: 10 });
  expect(await pages()).toEqual([]);
  const subscriber = { pageId: page.id, kind: "email", address: "a@example.org" } as const;
  await write((tx) =>
    insertSubscriber(tx, {
      ...subscriber,
      uuid: randomUUID(),
      createdAt: MONDAY_NOON,
      confirmedAt: MONDAY_NOON,
    }),
  );
  expect(await pages()).toEqual([page.id]);
  const announced = { "5d1c0b7a": { state: "down", next: null } } as const;
  await write((tx) => writeAnnounced(tx, { pageId: page.id, announced }));
  await write(async (tx) => {
    expect(await lockAnnounced(tx, page.id)).toEqual(announced);
    expect(await write((second) => lockAnnounced(second, page.id))).toBeNull();
  });
});

describe("changes", () => {
  const changed = async (since: number) =>
    (await listChangedPages(database.db, { since, limit: 1_000 })).map(({ id }) => id);
  /** A cursor after everything so far. A transaction of the server itself may hold it back for a while. */
  const cursor = async () => {
    const { xmax } = await readSnapshot(database.db);
    await expect
      .poll(async () => (await readSnapshot(database.db)).xmin, { timeout: 20_000 })
      .toBeGreaterThanOrEqual(xmax);
    return (await readSnapshot(database.db)).xmin;
  };

  test("a page is served with its proved domain only", async () => {
    const page = await samplePage({ passwordHash: "$argon2id$x" });
    await write((tx) => writeStatusDomain(tx, { id: page.id, domain: { name: "d.example", token: "t" } }));
    const served = async () => (await listServedPages(database.db)).find(({ id }) => id === page.id);
    const { id, uuid, slug } = page;
    const shown = { id, uuid, slug, version: 1, domain: null, passwordHash: "$argon2id$x", isDeleted: false };
    expect(await served()).toEqual(shown);
    const at = MONDAY_NOON;
    await write((tx) =>
      writeDomainCheck(tx, { id, token: "t", at, provedAt: at, lostAt: null, checkAt: null }),
    );
    expect(await served()).toEqual({ ...shown, domain: "d.example" });
  });

  test("flips and audited changes of the project are changes of its pages", async () => {
    const page = await samplePage();
    const check = await sampleCheck(database.db, { projectId });
    const quiet = await cursor();
    expect(await changed(quiet)).not.toContain(page.id);
    await write((tx) => insertFlips(tx, [{ checkId: check.id, flip: flip("down") }]));
    expect(await changed(quiet)).toContain(page.id);
    const after = await cursor();
    expect(await changed(after)).not.toContain(page.id);
    const by = { accountId: null, keyId: null };
    const what = { what: "check.paused", subject: "", before: null, after: null, at: MONDAY_NOON } as const;
    await write((tx) => audit(tx, { ...by, projectId, ...what }));
    expect(await changed(after)).toContain(page.id);
  });

  test("a page that is written or deleted has changed", async () => {
    const page = await samplePage();
    const since = await cursor();
    await write((tx) => writeStatusPageDeleted(tx, { id: page.id, at: MONDAY_NOON }));
    const pages = await listChangedPages(database.db, { since, limit: 10 });
    expect(pages.find(({ id }) => id === page.id)?.isDeleted).toBe(true);
  });
});
