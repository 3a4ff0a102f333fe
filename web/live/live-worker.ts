// The shared worker: one connection per browser and project for all tabs. Each tab has a port.
import { type LiveAddresses, type LiveEvent, type LiveState, LiveStream } from "./live-stream.ts";

/** From a tab: watch a project from a cursor on, or stop. A closed tab cannot send a message; it stops answering. */
export type ToWorker =
  | { kind: "watch"; addresses: LiveAddresses; cursor: string }
  | { kind: "leave" }
  | { kind: "here" };
/** To a tab. "lost": it was taken for closed, and has missed the events since then. */
export type FromWorker =
  | { kind: "event"; event: LiveEvent }
  | { kind: "state"; state: LiveState }
  | { kind: "there?" }
  | { kind: "lost" };

type Watcher = {
  port: MessagePort;
  /** Roll calls in a row that it has not answered. */
  unansweredCount: number;
  /** The port was considered closed; if it answers after all, its tab has to reload. */
  isGivenUp: boolean;
};
type Watched = { stream: LiveStream; watchers: Set<Watcher>; state: LiveState };

const ROLL_CALL_MS = 30_000;
/** Counted and not timed: after the computer slept overnight, every tab would have been silent for hours. */
const UNANSWERED_COUNT_MAX = 3;

const watched = new Map<string, Watched>();

function watch(watcher: Watcher, addresses: LiveAddresses, cursor: string): void {
  leave(watcher);
  const known = watched.get(addresses.stream);
  if (known !== undefined) {
    known.watchers.add(watcher);
    post(watcher, { kind: "state", state: known.state });
    known.stream.restart(cursor);
    return;
  }
  const watchers = new Set([watcher]);
  const one: Watched = {
    watchers,
    state: "reconnecting",
    stream: new LiveStream(addresses, cursor, {
      onEvent: (event) => postToAll(watchers, { kind: "event", event }),
      onState: (state) => {
        one.state = state;
        postToAll(watchers, { kind: "state", state });
      },
    }),
  };
  watched.set(addresses.stream, one);
}

function leave(watcher: Watcher): void {
  for (const [address, { watchers, stream }] of watched) {
    if (!watchers.delete(watcher) || watchers.size > 0) continue;
    stream.close();
    watched.delete(address);
  }
}

function postToAll(watchers: ReadonlySet<Watcher>, message: FromWorker): void {
  for (const watcher of watchers) post(watcher, message);
}

function post({ port }: Watcher, message: FromWorker): void {
  port.postMessage(message);
}

addEventListener("connect", (event) => {
  const [port] = (event as MessageEvent).ports;
  if (port === undefined) return;
  const watcher: Watcher = { port, unansweredCount: 0, isGivenUp: false };
  port.addEventListener("message", ({ data }: MessageEvent<ToWorker>) => {
    watcher.unansweredCount = 0;
    if (data.kind === "watch") watch(watcher, data.addresses, data.cursor);
    else if (data.kind === "leave") leave(watcher);
    // The browser may suspend a background tab, and resume it long after.
    else if (watcher.isGivenUp) post(watcher, { kind: "lost" });
    watcher.isGivenUp = false;
  });
  port.start();
});

setInterval(() => {
  for (const watcher of [...watched.values()].flatMap(({ watchers }) => [...watchers])) call(watcher);
}, ROLL_CALL_MS);

function call(watcher: Watcher): void {
  if (watcher.unansweredCount >= UNANSWERED_COUNT_MAX) {
    watcher.isGivenUp = true;
    leave(watcher);
    return;
  }
  watcher.unansweredCount += 1;
  post(watcher, { kind: "there?" });
}
