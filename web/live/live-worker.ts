// The shared worker: one connection per browser and project, however many tabs look at it. Each tab has a port; what
// comes by the stream goes to all ports of its project.
import { type LiveAddresses, type LiveEvent, type LiveState, LiveStream } from "./live-stream.ts";

/** From a tab: watch a project from a cursor on, or stop. A tab that is closed cannot say so; it stops answering. */
export type ToWorker =
  | { kind: "watch"; addresses: LiveAddresses; cursor: string }
  | { kind: "leave" }
  | { kind: "here" };
export type FromWorker =
  | { kind: "event"; event: LiveEvent }
  | { kind: "state"; state: LiveState }
  | { kind: "there?" };

type Watcher = { port: MessagePort; heardAt: number };
type Watched = { stream: LiveStream; watchers: Set<Watcher>; state: LiveState };

const ROLL_CALL_MS = 30_000;
const SILENT_MS_MAX = 100_000;

const watched = new Map<string, Watched>();

function watch(watcher: Watcher, addresses: LiveAddresses, cursor: string): void {
  leave(watcher);
  const known = watched.get(addresses.stream);
  if (known !== undefined) {
    known.watchers.add(watcher);
    say(watcher, { kind: "state", state: known.state });
    known.stream.restart(cursor);
    return;
  }
  const watchers = new Set([watcher]);
  const one: Watched = {
    watchers,
    state: "reconnecting",
    stream: new LiveStream(addresses, cursor, {
      onEvent: (event) => tellAll(watchers, { kind: "event", event }),
      onState: (state) => {
        one.state = state;
        tellAll(watchers, { kind: "state", state });
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

function tellAll(watchers: ReadonlySet<Watcher>, message: FromWorker): void {
  for (const watcher of watchers) say(watcher, message);
}

function say({ port }: Watcher, message: FromWorker): void {
  port.postMessage(message);
}

addEventListener("connect", (event) => {
  const [port] = (event as MessageEvent).ports;
  if (port === undefined) return;
  const watcher: Watcher = { port, heardAt: Date.now() };
  port.addEventListener("message", ({ data }: MessageEvent<ToWorker>) => {
    watcher.heardAt = Date.now();
    if (data.kind === "watch") watch(watcher, data.addresses, data.cursor);
    else if (data.kind === "leave") leave(watcher);
  });
  port.start();
});

setInterval(() => {
  for (const { watchers } of watched.values()) {
    tellAll(watchers, { kind: "there?" });
    for (const watcher of watchers) if (Date.now() - watcher.heardAt > SILENT_MS_MAX) leave(watcher);
  }
}, ROLL_CALL_MS);
