// The store opens one stream for all who listen, ends it with the last of them, and tries again after trouble.
import { beforeEach, expect, test, vi } from "vitest";
import { get, Trouble } from "../api/api.ts";
import { checksStore } from "./checks-store.ts";
import { watchProject } from "./watch-project.ts";

vi.mock("../api/api.ts", () => ({
  get: vi.fn<() => Promise<unknown>>(),
  Trouble: class extends Error {
    readonly status: number;
    constructor(status: number) {
      super(`answered ${status}`);
      this.status = status;
    }
  },
}));
vi.mock("../boot/boot.ts", () => ({ takeBootPage: () => null }));
vi.mock("./watch-project.ts", () => ({ watchProject: vi.fn<() => () => void>() }));

const asked = vi.mocked(get);
const watched = vi.mocked(watchProject);
const left = vi.fn<() => void>();

const overview = (id: string) => ({
  project: { id, name: "Workshop", may: [] },
  rows: [],
  details: [],
  total: 0,
  since: null,
  receiving: null,
  counts: { down: 0 },
  tags: [],
  cursor: "1",
});

beforeEach(() => {
  asked.mockReset();
  watched.mockReset().mockReturnValue(left);
  left.mockReset();
});

test("the shell and a page that listen to one project have one stream, which ends with the last of them", async () => {
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

test("a page that begins to listen after trouble has it tried again, although somebody listens already", async () => {
  asked.mockRejectedValueOnce(new Error("the server is away"));
  const store = checksStore("two");
  store.listen(() => undefined);
  await vi.waitFor(() => expect(store.snapshot().trouble).not.toBeNull());
  asked.mockImplementation(async () => overview("two"));
  store.listen(() => undefined);
  await vi.waitFor(() => expect(store.snapshot().project?.id).toBe("two"));
  expect(store.snapshot().trouble).toBeNull();
});

test("whoever only watches has no more rows fetched than come with the page; whoever listens has all of them", async () => {
  const row = (id: string) => ({ id, name: id, slug: "", tags: [], change: 1 });
  asked.mockImplementation(async (path) =>
    path.endsWith("/overview")
      ? { ...overview("three"), rows: [row("a")], total: 2 }
      : { rows: [row("a"), row("b")], next: null },
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

test("a page on screen that cannot be asked for anew says so, and is asked for again", async () => {
  vi.useFakeTimers();
  asked.mockImplementation(async () => overview("four"));
  const store = checksStore("four");
  store.listen(() => undefined);
  await vi.advanceTimersByTimeAsync(1);
  watched.mock.lastCall?.[2].onState("live");
  asked.mockRejectedValueOnce(new Trouble(503, {}));
  store.reload();
  await vi.advanceTimersByTimeAsync(1);
  expect(store.snapshot().live).toBe("reconnecting");
  await vi.advanceTimersByTimeAsync(5_000);
  expect(watched).toHaveBeenCalledTimes(2);
  expect(store.snapshot().trouble).toBeNull();
  vi.useRealTimers();
});

test("a page of a project that is not ours any more is loaded anew, to be told so by the server", async () => {
  const reload = vi.fn<() => void>();
  vi.stubGlobal("location", { reload });
  asked.mockImplementation(async () => overview("five"));
  const store = checksStore("five");
  store.listen(() => undefined);
  await vi.waitFor(() => expect(store.snapshot().project?.id).toBe("five"));
  asked.mockRejectedValueOnce(new Trouble(404, {}));
  store.reload();
  await vi.waitFor(() => expect(reload).toHaveBeenCalledOnce());
  vi.unstubAllGlobals();
});
