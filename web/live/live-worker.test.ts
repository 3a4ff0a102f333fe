// The shared worker: one stream for all tabs of a project, for as long as one of them is open.
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import type { LiveEvent, LiveState } from "./live-stream.ts";
import type { FromWorker, ToWorker } from "./live-worker.ts";

type StreamListener = { onEvent: (event: LiveEvent) => void; onState: (state: LiveState) => void };

/** The streams that were opened, with their arguments. */
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

/** A tab: the messages that it sends and receives. */
function openTab() {
  const heard: FromWorker[] = [];
  let listener: (event: { data: ToWorker }) => void = () => undefined;
  const port = {
    addEventListener: (_: string, handler: typeof listener) => (listener = handler),
    postMessage: (message: FromWorker) => heard.push(message),
    start: () => undefined,
  };
  connect({ ports: [port] });
  const send = (data: ToWorker) => listener({ data });
  const watch = (stream: string, cursor: string) =>
    send({ kind: "watch", addresses: { stream, changes: "" }, cursor });
  return { heard, say: send, watch };
}

test("two tabs of a project share one stream, and both get its events", () => {
  const [one, other] = [openTab(), openTab()];
  one.watch("/a", "5");
  streams[0]?.sink.onState("live");
  other.watch("/a", "5");
  expect(streams).toHaveLength(1);
  // A tab that joins gets the current status immediately.
  expect(other.heard).toEqual([{ kind: "state", state: "live" }]);
  const event = { name: "rows", data: "{}" };
  streams[0]?.sink.onEvent(event);
  for (const { heard } of [one, other]) expect(heard.at(-1)).toEqual({ kind: "event", event });
  for (const tab of [one, other]) tab.say({ kind: "leave" });
});

test("a tab that joins restarts the stream: its data may be older than the events already sent", () => {
  const [one, other] = [openTab(), openTab()];
  one.watch("/b", "9");
  other.watch("/b", "7");
  expect(streams.map(({ cursors }) => cursors)).toEqual([["9", "7"]]);
  for (const tab of [one, other]) tab.say({ kind: "leave" });
});

test("the stream ends with its last tab, and with a tab that switches to another project", () => {
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

test("a closed tab cannot send a message: it is removed when it stops answering", () => {
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

test("after the computer slept overnight, every tab that answers is still connected", () => {
  const tab = openTab();
  tab.watch("/g", "1");
  // Timers stop during sleep, but the clock does not.
  vi.setSystemTime(Date.now() + 8 * 3_600_000);
  vi.advanceTimersByTime(30_000);
  expect(tab.heard.at(-1)).toEqual({ kind: "there?" });
  expect(streams[0]?.isClosed).toBe(false);
  tab.say({ kind: "here" });
  vi.advanceTimersByTime(30_000);
  expect(streams[0]?.isClosed).toBe(false);
  tab.say({ kind: "leave" });
});

test("a suspended tab that was taken for closed is notified once when it resumes", () => {
  const tab = openTab();
  tab.watch("/h", "1");
  vi.advanceTimersByTime(5 * 30_000);
  expect(streams[0]?.isClosed).toBe(true);
  const before = tab.heard.length;
  // It answers all roll calls that were queued for it.
  for (let call = 0; call < 3; call += 1) tab.say({ kind: "here" });
  expect(tab.heard.slice(before)).toEqual([{ kind: "lost" }]);
  tab.watch("/h", "9");
  expect(streams.at(-1)).toMatchObject({ address: "/h", cursors: ["9"], isClosed: false });
  tab.say({ kind: "leave" });
});

test('a tab that has left does not get a "lost" message', () => {
  const tab = openTab();
  tab.watch("/i", "1");
  tab.say({ kind: "leave" });
  const before = tab.heard.length;
  tab.say({ kind: "here" });
  expect(tab.heard).toHaveLength(before);
});
