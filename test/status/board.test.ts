// Which status pages a process serves, when it reads them again, and what it keeps.
import { expect, test, vi } from "vitest";
import { NOW, SAMPLE_VIEW } from "./sample-view.ts";
import { MINUTE_MS, SECOND_MS } from "../../src/core/instant.ts";
import type { StatusView } from "../../src/core/status-page.ts";
import type { ServedPage as ListedPage } from "../../src/store/status-pages.ts";
import {
  type Changes,
  type Documents,
  type Freshness,
  type ServedPage,
  StatusBoard,
} from "../../src/services/status/board.ts";
import { prepare } from "../../src/services/status/prepared.ts";

const file = await prepare({ type: "text/plain", body: Buffer.alloc(100), headers: {} });
const DOCUMENTS: Documents = { page: file, atom: file, rss: file, json: file };

function listed(id: number, more: Partial<ListedPage> = {}): ListedPage {
  return {
    id,
    uuid: `00000000-0000-4000-8000-00000000000${id % 10}`,
    slug: `page-${id}`,
    domain: null,
    version: 1,
    passwordHash: null,
    isDeleted: false,
    ...more,
  };
}

function createBoard(all: ListedPage[], { keptBytesMax }: { keptBytesMax?: number } = {}) {
  let now = NOW;
  let isAway = false;
  let changed: ListedPage[] = [];
  const rendered: Freshness[] = [];
  const throwIfAway = () => {
    if (isAway) throw new Error("connection refused");
  };
  const readChanges = vi.fn<(since: number | null) => Promise<Changes>>(async (since) => {
    throwIfAway();
    const pages = since === null ? all : changed;
    if (since !== null) changed = [];
    return { cursor: 1, pages };
  });
  const readView = vi.fn<(pageId: number) => Promise<StatusView | null>>(async (pageId) => {
    throwIfAway();
    return { ...SAMPLE_VIEW, slug: `page-${pageId}`, refreshAt: now + MINUTE_MS };
  });
  const board = new StatusBoard({
    readChanges,
    readView,
    render: async (_view, at) => {
      rendered.push({ confirmedAt: at.confirmedAt, isStale: at.isStale });
      return DOCUMENTS;
    },
    now: () => now,
    ...(keptBytesMax !== undefined && { keptBytesMax }),
  });
  return {
    board,
    readChanges,
    readView,
    rendered,
    pass: (ms: number) => {
      now += ms;
      return now;
    },
    setAway: (value: boolean) => {
      isAway = value;
    },
    change: (...pages: ListedPage[]) => {
      for (const page of pages) {
        const at = all.findIndex(({ id }) => id === page.id);
        if (at === -1) all.push(page);
        else all[at] = page;
      }
      changed.push(...pages);
    },
  };
}

function known(board: StatusBoard, slug: string): ServedPage {
  const found = board.ofSlug(slug);
  if (found === null) throw new Error(`${slug} is not served`);
  return found;
}

test("A request reads nothing while its page is up to date, and unknown slugs never do", async () => {
  const { board, readView, readChanges } = createBoard([listed(1)]);
  expect(board.isReady).toBe(false);
  await board.tick();
  expect(board.isReady).toBe(true);
  const page = known(board, "page-1");
  for (let count = 0; count < 100; count += 1) {
    expect(board.ready(page, NOW)).toBe(DOCUMENTS);
    expect(board.ofSlug(`unknown-${count}`)).toBeNull();
  }
  expect(readView).toHaveBeenCalledTimes(1);
  expect(readChanges).toHaveBeenCalledTimes(2);
});

test("A change is rendered by the next tick; another page is not read again", async () => {
  const at = createBoard([listed(1), listed(2)]);
  await at.board.tick();
  at.change(listed(1, { version: 2 }));
  at.pass(SECOND_MS);
  await at.board.tick();
  expect(at.readView.mock.calls.map(([id]) => id)).toEqual([1, 2, 1]);
});

test("Pages can be renamed, deleted, and moved to a domain", async () => {
  const at = createBoard([listed(1), listed(2)]);
  await at.board.tick();
  at.change(listed(1, { slug: "renamed", version: 2, domain: "status.example.org" }));
  at.change(listed(2, { isDeleted: true }));
  await at.board.tick();
  expect(at.board.ofSlug("page-1")).toBeNull();
  expect(at.board.ofSlug("renamed")).toBe(at.board.ofDomain("status.example.org"));
  expect(at.board.ofSlug("page-2")).toBeNull();
  expect(at.board.pageCount).toBe(1);
  at.change(listed(1, { slug: "renamed", version: 3 }));
  await at.board.tick();
  expect(at.board.ofDomain("status.example.org")).toBeNull();
  expect(at.board.hasDomains).toBe(false);
});

test("A page that vanished without a change is found when all pages are read", async () => {
  const all = [listed(1), listed(2)];
  const at = createBoard(all);
  await at.board.tick();
  all.pop();
  at.pass(SECOND_MS);
  await at.board.tick();
  expect(at.board.ofSlug("page-2")).not.toBeNull();
  at.pass(MINUTE_MS);
  await at.board.tick();
  expect(at.board.ofSlug("page-2")).toBeNull();
});

test("Requests at the same time wait for the same work", async () => {
  const at = createBoard([listed(1)]);
  await at.board.tick();
  const now = at.pass(MINUTE_MS);
  const page = known(at.board, "page-1");
  expect(at.board.ready(page, now)).toBeNull();
  await Promise.all(Array.from({ length: 50 }, () => at.board.documents(page, now)));
  expect(at.readView).toHaveBeenCalledTimes(2);
  expect(at.rendered).toHaveLength(2);
});

test("While the database is unavailable, the last known state is shown with its time", async () => {
  const at = createBoard([listed(1)]);
  await at.board.tick();
  at.setAway(true);
  const page = known(at.board, "page-1");
  at.pass(5 * SECOND_MS);
  await expect(at.board.tick()).rejects.toThrow("connection refused");
  const later = at.pass(5 * MINUTE_MS);
  expect(await at.board.documents(page, later)).toBe(DOCUMENTS);
  expect(at.rendered.at(-1)).toEqual({ confirmedAt: NOW, isStale: true });
  // Rendered again only now and then, and the database is left alone.
  const count = at.rendered.length;
  await at.board.documents(page, later + SECOND_MS);
  expect(at.rendered).toHaveLength(count);
  expect(at.readView).toHaveBeenCalledTimes(1);
  at.setAway(false);
  const back = at.pass(MINUTE_MS);
  await at.board.tick();
  await at.board.documents(page, back);
  expect(at.rendered.at(-1)).toEqual({ confirmedAt: back, isStale: false });
});

test("The database fails between two ticks: the page is still there", async () => {
  const at = createBoard([listed(1)]);
  await at.board.tick();
  at.setAway(true);
  const page = known(at.board, "page-1");
  expect(await at.board.documents(page, at.pass(2 * MINUTE_MS))).toBe(DOCUMENTS);
  expect(at.rendered.at(-1)).toEqual({ confirmedAt: NOW, isStale: true });
});

test("Setting a password drops what was rendered without it", async () => {
  const at = createBoard([listed(1)]);
  await at.board.tick();
  const page = known(at.board, "page-1");
  at.setAway(true);
  at.change(listed(1, { version: 2, passwordHash: "hash" }));
  at.setAway(false);
  at.readView.mockRejectedValueOnce(new Error("connection refused"));
  await expect(at.board.tick()).rejects.toThrow("connection refused");
  expect(page.documents).toBeNull();
  expect(page.listed.passwordHash).toBe("hash");
});

test("Beyond the limit, the oldest pages are dropped and rendered when they are requested", async () => {
  const pages = Array.from({ length: 40 }, (_, index) => listed(index + 1));
  const keptBytesMax = 10 * (JSON.stringify(SAMPLE_VIEW).length * 3 + 1_000);
  const at = createBoard(pages, { keptBytesMax });
  let result = await at.board.tick();
  for (let count = 0; result === "again" && count < 10; count += 1) result = await at.board.tick();
  expect(result).toBe("idle");
  expect(at.board.keptBytes).toBeLessThanOrEqual(keptBytesMax);
  const reads = at.readView.mock.calls.length;
  expect(reads).toBeLessThan(pages.length);
  const last = known(at.board, "page-40");
  expect(await at.board.documents(last, NOW)).toBe(DOCUMENTS);
  expect(at.readView).toHaveBeenCalledTimes(reads + 1);
  expect(at.board.keptBytes).toBeLessThanOrEqual(keptBytesMax);
  expect(known(at.board, "page-1").view).toBeNull();
});
