// The shared worker: one stream for the tabs of a project, told to all of them, for as long as one of them is there.
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import type { LiveEvent, LiveState } from "./live-stream.ts";
import type { FromWorker, ToWorker } from "./live-worker.ts";

type StreamListener = { onEvent: (event: LiveEvent) => void; onState: (state: LiveState) => void };

/** The streams that were opened, with what was asked of them. */
const streams = vi.hoisted(
  (): { address: string; cursors: string[]; isClosed: boolean; sink: StreamListener }[] => [],
);

vi.mock("./live-stream.ts", () => ({
  LiveStream: class {
    readonly #one: (typeof streams)[number];
    constructor({ stream }: { stream: string }, cursor: string, sink: StreamListener) {
      this.#one = { address: stream, cursors: [cursor], isClosed: false, sink };
      streams.push(this.#one);
    }
    restart(cursor: string) {
      this.#one.cursors.push(cursor);
    }
    close() {
      this.#one.isClosed = true;
    }
  },
}));

let connect: (event: { ports: object[] }) => void;

beforeAll(async () => {
  vi.useFakeTimers();
  vi.stubGlobal("addEventListener", (_: string, listener: typeof connect) => (connect = listener));
  await import("./live-worker.ts");
});
afterAll(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});
beforeEach(() => {
  streams.length = 0;
});

/** A tab: what it says, and what it is told. */
function openTab() {
  const heard: FromWorker[] = [];
  let listener: (event: { data: ToWorker }) => void = () => undefined;
  const port = {
    addEventListener: (_: string, hears: typeof listener) => (listener = hears),
    postMessage: (message: FromWorker) => heard.push(message),
    start: () => undefined,
  };
  connect({ ports: [port] });
  const say = (data: ToWorker) => listener({ data });
  const watch = (stream: string, cursor: string) =>
    say({ kind: "watch", addresses: { stream, changes: "" }, cursor });
  return { heard, say, watch };
}

test("two tabs of a project have one stream, and both hear what comes", () => {
  const [one, other] = [openTab(), openTab()];
  one.watch("/a", "5");
  streams[0]?.sink.onState("live");
  other.watch("/a", "5");
  expect(streams).toHaveLength(1);
  // Who joins is told at once how things are.
  expect(other.heard).toEqual([{ kind: "state", state: "live" }]);
  const event = { name: "rows", data: "{}" };
  streams[0]?.sink.onEvent(event);
  for (const { heard } of [one, other]) expect(heard.at(-1)).toEqual({ kind: "event", event });
  for (const tab of [one, other]) tab.say({ kind: "leave" });
});

test("a tab that joins has the stream begin again: it may know less than was told", () => {
  const [one, other] = [openTab(), openTab()];
  one.watch("/b", "9");
  other.watch("/b", "7");
  expect(streams.map(({ cursors }) => cursors)).toEqual([["9", "7"]]);
  for (const tab of [one, other]) tab.say({ kind: "leave" });
});

test("the stream ends with its last tab, and with a tab that looks at another project", () => {
  const [one, other] = [openTab(), openTab()];
  one.watch("/c", "1");
  other.watch("/c", "1");
  one.say({ kind: "leave" });
  expect(streams[0]?.isClosed).toBe(false);
  other.watch("/d", "1");
  expect(streams.map(({ address, isClosed }) => [address, isClosed])).toEqual([
    ["/c", true],
    ["/d", false],
  ]);
  other.say({ kind: "leave" });
});

test("a tab that was closed cannot say so: it is given up when it answers no more", () => {
  const [there, gone] = [openTab(), openTab()];
  gone.watch("/e", "1");
  there.watch("/f", "1");
  for (let call = 0; call < 5; call += 1) {
    vi.advanceTimersByTime(30_000);
    expect(there.heard.at(-1)).toEqual({ kind: "there?" });
    there.say({ kind: "here" });
  }
  expect(streams.map(({ isClosed }) => isClosed)).toEqual([true, false]);
  there.say({ kind: "leave" });
});

test("after a night in which the computer slept, every tab that answers is still there", () => {
  const tab = openTab();
  tab.watch("/g", "1");
  // Timers stand still meanwhile, and the clock does not.
  vi.setSystemTime(Date.now() + 8 * 3_600_000);
  vi.advanceTimersByTime(30_000);
  expect(tab.heard.at(-1)).toEqual({ kind: "there?" });
  expect(streams[0]?.isClosed).toBe(false);
  tab.say({ kind: "here" });
  vi.advanceTimersByTime(30_000);
  expect(streams[0]?.isClosed).toBe(false);
  tab.say({ kind: "leave" });
});

test("a tab that was put to sleep and taken for closed is told so when it wakes, once", () => {
  const tab = openTab();
  tab.watch("/h", "1");
  vi.advanceTimersByTime(5 * 30_000);
  expect(streams[0]?.isClosed).toBe(true);
  const before = tab.heard.length;
  // It answers all calls that have waited for it.
  for (let call = 0; call < 3; call += 1) tab.say({ kind: "here" });
  expect(tab.heard.slice(before)).toEqual([{ kind: "lost" }]);
  tab.watch("/h", "9");
  expect(streams.at(-1)).toMatchObject({ address: "/h", cursors: ["9"], isClosed: false });
  tab.say({ kind: "leave" });
});

test("a tab that has left by itself is not told that it was lost", () => {
  const tab = openTab();
  tab.watch("/i", "1");
  tab.say({ kind: "leave" });
  const before = tab.heard.length;
  tab.say({ kind: "here" });
  expect(tab.heard).toHaveLength(before);
});
