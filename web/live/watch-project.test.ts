// A tab that uses the shared worker: it passes on events, answers roll calls, says when it leaves, and requests everything
// again when it has missed events.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { FromWorker, ToWorker } from "./live-worker.ts";
import { watchProject } from "./watch-project.ts";

vi.mock("../api.ts", () => ({
  operationUrl: (id: string, { project }: { project: string }) => `/below/${id}/${project}`,
}));

const sent: ToWorker[] = [];
let deliver: (event: { data: FromWorker }) => void;
const port = {
  addEventListener: (_: string, listener: typeof deliver) => (deliver = listener),
  postMessage: (message: ToWorker) => sent.push(message),
  start: () => undefined,
  close: vi.fn<() => void>(),
};
/** A fake window with the events of pages being shown and hidden. */
const page = new EventTarget();
const received: string[] = [];
const sink = {
  onEvent: ({ name }: { name: string }) => received.push(name),
  onState: (state: string) => received.push(state),
};

beforeEach(() => {
  sent.length = 0;
  received.length = 0;
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
  expect(sent).toEqual([
    {
      kind: "watch",
      addresses: {
        stream: "https://x.test/below/streamChanges/p",
        changes: "https://x.test/below/listChanges/p",
      },
      cursor: "7",
    },
  ]);
  deliver({ data: { kind: "state", state: "live" } });
  deliver({ data: { kind: "event", event: { name: "rows", data: "{}" } } });
  expect(received).toEqual(["live", "rows"]);
  deliver({ data: { kind: "there?" } });
  expect(sent.at(-1)).toEqual({ kind: "here" });
  leave();
  expect(sent.at(-1)).toEqual({ kind: "leave" });
  expect(port.close).toHaveBeenCalledOnce();
});

test("a tab that was taken for closed, or is restored from the cache, requests everything again", () => {
  const leave = watchProject("p", "7", sink);
  shown(false);
  expect(received).toEqual([]);
  deliver({ data: { kind: "lost" } });
  expect(received).toEqual(["reload"]);
  page.dispatchEvent(new Event("pagehide"));
  expect(sent.at(-1)).toEqual({ kind: "leave" });
  shown(true);
  expect(received).toEqual(["reload", "reload"]);
  leave();
  shown(true);
  expect(received).toHaveLength(2);
});
