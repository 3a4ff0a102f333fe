// A tab that uses the shared worker: it passes on events, answers roll calls, says when it leaves, and requests everything
// again when it has missed events.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { FromWorker, ToWorker } from "./live-worker.ts";
import { watchProject } from "./watch-project.ts";

vi.mock("../api.ts", () => ({
  operationUrl: (id: string, { project }: { project: string }) => `/below/${id}/${project}`,
}));

const said: ToWorker[] = [];
let hears: (event: { data: FromWorker }) => void;
const port = {
  addEventListener: (_: string, listener: typeof hears) => (hears = listener),
  postMessage: (message: ToWorker) => said.push(message),
  start: () => undefined,
  close: vi.fn<() => void>(),
};
/** A fake window with the events of pages being shown and hidden. */
const page = new EventTarget();
const told: string[] = [];
const sink = {
  onEvent: ({ name }: { name: string }) => told.push(name),
  onState: (state: string) => told.push(state),
};

beforeEach(() => {
  said.length = 0;
  told.length = 0;
  port.close.mockReset();
  vi.stubGlobal(
    "SharedWorker",
    class {
      port = port;
    },
  );
  vi.stubGlobal("location", { href: "https://x.test/below/checks/" });
  vi.stubGlobal("addEventListener", page.addEventListener.bind(page));
  vi.stubGlobal("removeEventListener", page.removeEventListener.bind(page));
});
afterEach(() => vi.unstubAllGlobals());

const shown = (persisted: boolean) => page.dispatchEvent(Object.assign(new Event("pageshow"), { persisted }));

test("a tab sends absolute URLs, passes on events, and answers every roll call", () => {
  const leave = watchProject("p", "7", sink);
  expect(said).toEqual([
    {
      kind: "watch",
      addresses: {
        stream: "https://x.test/below/streamChanges/p",
        changes: "https://x.test/below/listChanges/p",
      },
      cursor: "7",
    },
  ]);
  hears({ data: { kind: "state", state: "live" } });
  hears({ data: { kind: "event", event: { name: "rows", data: "{}" } } });
  expect(told).toEqual(["live", "rows"]);
  hears({ data: { kind: "there?" } });
  expect(said.at(-1)).toEqual({ kind: "here" });
  leave();
  expect(said.at(-1)).toEqual({ kind: "leave" });
  expect(port.close).toHaveBeenCalledOnce();
});

test("a tab that was taken for closed, or is restored from the cache, requests everything again", () => {
  const leave = watchProject("p", "7", sink);
  shown(false);
  expect(told).toEqual([]);
  hears({ data: { kind: "lost" } });
  expect(told).toEqual(["reload"]);
  page.dispatchEvent(new Event("pagehide"));
  expect(said.at(-1)).toEqual({ kind: "leave" });
  shown(true);
  expect(told).toEqual(["reload", "reload"]);
  leave();
  shown(true);
  expect(told).toHaveLength(2);
});
