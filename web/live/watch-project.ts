// Subscribes a tab to a project: through the shared worker, or directly where there is none (some phones).
import { operationUrl } from "../api.ts";
import { type LiveEvent, type LiveState, LiveStream, reloadEvent } from "./live-stream.ts";
import type { FromWorker, ToWorker } from "./live-worker.ts";

type StreamListener = { onEvent: (event: LiveEvent) => void; onState: (state: LiveState) => void };

/** Subscribes until the returned function is called. */
export function watchProject(project: string, cursor: string, sink: StreamListener): () => void {
  const addresses = {
    stream: new URL(operationUrl("streamChanges", { project }), location.href).href,
    changes: new URL(operationUrl("listChanges", { project }), location.href).href,
  };
  if (typeof SharedWorker === "undefined") {
    const stream = new LiveStream(addresses, cursor, sink);
    return () => stream.close();
  }
  const worker = new SharedWorker(new URL("./live-worker.ts", import.meta.url), {
    type: "module",
    name: "overdue-live",
  });
  const post = (message: ToWorker) => worker.port.postMessage(message, []);
  worker.port.addEventListener("message", ({ data }: MessageEvent<FromWorker>) => {
    if (data.kind === "event") sink.onEvent(data.event);
    else if (data.kind === "state") sink.onState(data.state);
    else if (data.kind === "lost") sink.onEvent(reloadEvent("The tab was suspended."));
    else post({ kind: "here" });
  });
  worker.port.start();
  post({ kind: "watch", addresses, cursor });
  const leave = () => post({ kind: "leave" });
  // The browser may restore the page from its back/forward cache, together with this state.
  const comeBack = ({ persisted }: PageTransitionEvent) => {
    if (persisted) sink.onEvent(reloadEvent("The page was restored from the browser cache."));
  };
  addEventListener("pagehide", leave);
  addEventListener("pageshow", comeBack);
  return () => {
    removeEventListener("pagehide", leave);
    removeEventListener("pageshow", comeBack);
    leave();
    worker.port.close();
  };
}
