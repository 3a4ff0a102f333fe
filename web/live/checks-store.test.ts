// The store shares one stream between all subscribers, ends it with the last one, and retries after an error. Late,
// duplicate or missing events do not make it show wrong data.
import { beforeEach, expect, test, vi } from "vitest";
import { ApiError, call } from "../api.ts";
import { checksStore, onFlip } from "./checks-store.ts";
import { watchProject } from "./watch-project.ts";

vi.mock("../api.ts", () => ({
  call: vi.fn<() => Promise<unknown>>(),
  ApiError: class extends Error {
    readonly status: number;
    constructor(status: number) {
      super(`answered ${status}`);
      this.status = status;
    }
  },
}));
vi.mock("../boot.ts", () => ({ takeBootPage: () => null }));
vi.mock("./watch-project.ts", () => ({ watchProject: vi.fn<() => () => void>() }));

const asked = vi.mocked(call as (id: string) => Promise<unknown>);
const watched = vi.mocked(watchProject);
const left = vi.fn<() => void>();

const overview = (id: string) => ({
  project: { id, name: "Workshop", may: [] },
  checks: [],
  details: [],
  total: 0,
  since: null,
  monitoringGap: null,
  counts: { down: 0 },
  tags: [],
  cursor: "1",
  flips: [7],
});

/** A row with the fields that the store uses. */
const row = (id: string, change = 1) => ({ id, name: id, slug: "", tags: [], change, readingOrder: change });
const emit = (name: string, data: unknown) =>
  watched.mock.lastCall?.[2].onEvent({ name, data: JSON.stringify(data) });

/** A store with all its rows: the first from the overview, all of them from one page of the list. */
async function completeStore(id: string, first: object[], all: object[]) {
  asked.mockImplementation(async (operation) =>
    operation === "getOverview"
      ? { ...overview(id), checks: first, total: all.length }
      : { checks: all, next: null },
  );
  const store = checksStore(id);
  store.listen(() => undefined);
  await vi.waitFor(() => expect(store.snapshot().isComplete).toBe(true), 5_000);
  return store;
}

beforeEach(() => {
  asked.mockReset();
  watched.mockReset().mockReturnValue(left);
  left.mockReset();
});

test("the shell and a page of one project share one stream, which ends with the last of them", async () => {
  asked.mockImplementation(async () => overview("one"));
  const shellLeaves = checksStore("one").listen(() => undefined);
  await vi.waitFor(() => expect(watched).toHaveBeenCalledOnce());
  const pageLeaves = checksStore("one").listen(() => undefined);
  pageLeaves();
  expect(asked).toHaveBeenCalledOnce();
  expect(watched).toHaveBeenCalledOnce();
  expect(left).not.toHaveBeenCalled();
  shellLeaves();
  expect(left).toHaveBeenCalledOnce();
});

test("a new subscriber after an error causes a retry, although there are others already", async () => {
  asked.mockRejectedValueOnce(new Error("the server is away"));
  const store = checksStore("two");
  store.listen(() => undefined);
  await vi.waitFor(() => expect(store.snapshot().error).not.toBeNull());
  asked.mockImplementation(async () => overview("two"));
  store.listen(() => undefined);
  await vi.waitFor(() => expect(store.snapshot().project?.id).toBe("two"));
  expect(store.snapshot().error).toBeNull();
});

test("a subscriber to changes loads no more rows than came with the page; a subscriber to rows loads all", async () => {
  asked.mockImplementation(async (id) =>
    id === "getOverview"
      ? { ...overview("three"), checks: [row("a")], total: 2 }
      : { checks: [row("a"), row("b")], next: null },
  );
  const store = checksStore("three");
  const shellLeaves = store.watch(() => undefined);
  await vi.waitFor(() => expect(store.snapshot().project?.id).toBe("three"));
  expect(asked).toHaveBeenCalledOnce();
  const pageLeaves = store.listen(() => undefined);
  await vi.waitFor(() => expect(store.snapshot().isComplete).toBe(true), 5_000);
  expect([...store.snapshot().rows.keys()]).toEqual(["a", "b"]);
  expect(asked).toHaveBeenCalledTimes(2);
  pageLeaves();
  expect(left).not.toHaveBeenCalled();
  shellLeaves();
  expect(left).toHaveBeenCalledOnce();
});

test("a page of one check is notified that it may have been removed, by its ID or by the total", async () => {
  const many = { ...overview("fifteen"), checks: [row("a")], total: 500 };
  asked.mockImplementation(async (id) => (id === "getOverview" ? many : { checks: [], next: null }));
  const store = checksStore("fifteen");
  store.watch(() => undefined);
  await vi.waitFor(() => expect(store.snapshot().total).toBe(500));
  const removalVersions: number[] = [];
  const hear = (event: object) => {
    emit("checks", event);
    removalVersions.push(store.snapshot().removalVersion);
  };
  hear({ checks: [row("b")], removed: [], total: 501 });
  hear({ checks: [], removed: [], total: 501 });
  hear({ checks: [row("c")], removed: ["x"], total: 501 });
  hear({ checks: [], removed: [], total: 500 });
  expect(removalVersions).toEqual([0, 0, 1, 2]);
  asked.mockImplementation(async () => ({ ...many, total: 499 }));
  store.reload();
  await vi.waitFor(() => expect(store.snapshot().total).toBe(499));
  expect(store.snapshot().removalVersion).toBe(3);
});

test("a visible page that cannot be refetched shows an error, and is requested again", async () => {
  vi.useFakeTimers();
  asked.mockImplementation(async () => overview("four"));
  const store = checksStore("four");
  store.listen(() => undefined);
  await vi.advanceTimersByTimeAsync(1);
  watched.mock.lastCall?.[2].onState("live");
  asked.mockRejectedValueOnce(new ApiError(503, {}));
  store.reload();
  await vi.advanceTimersByTimeAsync(1);
  expect(store.snapshot().live).toBe("reconnecting");
  await vi.advanceTimersByTimeAsync(5_000);
  expect(watched).toHaveBeenCalledTimes(2);
  expect(store.snapshot().error).toBeNull();
  vi.useRealTimers();
});

test("the rest of a long list is requested again after an error, and the stream stays live meanwhile", async () => {
  vi.useFakeTimers();
  let isAway = true;
  asked.mockImplementation(async (id) => {
    if (id === "getOverview") return { ...overview("eleven"), checks: [row("a")], total: 2 };
    if (isAway) throw new ApiError(503, {});
    return { checks: [row("a"), row("b")], next: null };
  });
  const store = checksStore("eleven");
  store.listen(() => undefined);
  await vi.advanceTimersByTimeAsync(1);
  watched.mock.lastCall?.[2].onState("live");
  // Twice: after the page itself was fetched, and after a retry of the rest only.
  await vi.advanceTimersByTimeAsync(8_000);
  expect([store.snapshot().isComplete, store.snapshot().live]).toEqual([false, "live"]);
  isAway = false;
  await vi.advanceTimersByTimeAsync(5_000);
  expect([...store.snapshot().rows.keys()]).toEqual(["a", "b"]);
  expect([store.snapshot().isComplete, store.snapshot().error]).toEqual([true, null]);
  expect(watched).toHaveBeenCalledOnce();
  vi.useRealTimers();
});

test("a page of a project that the user has lost is reloaded, so that the server can refuse it", async () => {
  const reload = vi.fn<() => void>();
  vi.stubGlobal("location", { reload });
  asked.mockImplementation(async () => overview("five"));
  const store = checksStore("five");
  store.listen(() => undefined);
  await vi.waitFor(() => expect(store.snapshot().project?.id).toBe("five"));
  asked.mockRejectedValueOnce(new ApiError(404, {}));
  store.reload();
  await vi.waitFor(() => expect(reload).toHaveBeenCalledOnce());
  vi.unstubAllGlobals();
});

test("an older row does not replace a newer one, whether it comes from a page or from the stream", async () => {
  const store = await completeStore("six", [row("a", 5)], [row("a", 3), row("b", 3)]);
  const changes = () => [...store.snapshot().rows.values()].map(({ id, change }) => `${id}${change}`);
  expect(changes()).toEqual(["a5", "b3"]);
  emit("checks", { checks: [row("a", 4), row("b", 6)], removed: [], total: 2 });
  expect(changes()).toEqual(["a5", "b6"]);
});

test("a row that came with the page but is on none of the list pages has been removed", async () => {
  const store = await completeStore("seven", [row("gone"), row("a")], [row("a"), row("b"), row("c")]);
  expect([...store.snapshot().rows.keys()]).toEqual(["a", "b", "c"]);
  expect(store.snapshot().total).toBe(3);
});

test("everything is requested again if the server counts another number of checks", async () => {
  await completeStore("eight", [row("a")], [row("a"), row("b")]);
  const overviews = () => asked.mock.calls.filter(([id]) => id === "getOverview").length;
  emit("checks", { checks: [row("c")], removed: ["b"], total: 2 });
  expect(overviews()).toBe(1);
  emit("checks", { checks: [], removed: [], total: 3 });
  expect(overviews()).toBe(2);
});

test("everything is requested again on a new stream if the server has too many events to send", async () => {
  const store = await completeStore("twelve", [row("a")], [row("a")]);
  asked.mockImplementation(async () => ({
    ...overview("twelve"),
    checks: [row("a", 9)],
    total: 1,
    cursor: "8",
  }));
  emit("reload", { reason: "Too many changes since the last update." });
  expect(left).toHaveBeenCalledOnce();
  await vi.waitFor(() => expect(store.snapshot().rows.get("a")?.change).toBe(9));
  expect(watched.mock.lastCall?.[1]).toBe("8");
});

test("a flip that is repeated after a reconnection is announced once", async () => {
  await completeStore("nine", [row("a")], [row("a")]);
  const received: string[] = [];
  const stop = onFlip(({ to }) => received.push(to));
  const flip = { id: 8, check: "a", name: "a", to: "down", at: 1, reason: "fail" };
  for (const one of [flip, flip, { ...flip, id: 9, to: "up", at: 2 }, flip]) emit("flip", one);
  expect(received).toEqual(["down", "up"]);
  stop();
});

test("a flip that the page has already shown is not announced when the stream sends it", async () => {
  await completeStore("thirteen", [row("a")], [row("a")]);
  const received: number[] = [];
  const stop = onFlip(({ id }) => received.push(id));
  const flip = { check: "a", name: "a", to: "up", at: 1, reason: "success" };
  for (const id of [7, 6, 8]) emit("flip", { ...flip, id });
  expect(received).toEqual([6, 8]);
  stop();
});

test("of two versions of a row, the one that was read later wins, whichever was written first", async () => {
  const store = await completeStore("fourteen", [row("a", 11)], [row("a", 11)]);
  emit("checks", { checks: [{ ...row("a", 10), name: "later", readingOrder: 12 }], removed: [], total: 1 });
  expect(store.snapshot().rows.get("a")?.name).toBe("later");
  emit("checks", { checks: [{ ...row("a", 13), name: "earlier", readingOrder: 9 }], removed: [], total: 1 });
  expect(store.snapshot().rows.get("a")?.name).toBe("later");
});

test("details are requested once, again after their row has changed, and again after an error", async () => {
  const store = await completeStore("ten", [row("a")], [row("a")]);
  asked.mockReset().mockImplementation(async () => ({ checks: [{ id: "a", recentRuns: "u" }] }));
  await store.fetchDetails(["a"]);
  await store.fetchDetails(["a"]);
  expect(asked).toHaveBeenCalledOnce();
  emit("checks", { checks: [row("a", 2)], removed: [], total: 1 });
  asked.mockRejectedValueOnce(new Error("the server is away"));
  await store.fetchDetails(["a"]);
  await store.fetchDetails(["a"]);
  expect(asked).toHaveBeenCalledTimes(3);
  expect(store.snapshot().details.get("a")?.recentRuns).toBe("u");
});
