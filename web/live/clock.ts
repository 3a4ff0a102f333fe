// One clock for the page, in the server's time. It stops while the tab is hidden.
import { useSyncExternalStore } from "react";
import { clockBehindMs } from "../boot.ts";

const STEP_MS = 1_000;
const MINUTE_MS = 60_000;

const listeners = new Set<() => void>();
let shownAt = serverNow();
let timer: ReturnType<typeof setInterval> | null = null;

/** The server's clock, as estimated by this browser. */
export function serverNow(): number {
  return Date.now() + clockBehindMs;
}

/** Now, to the second; the component is rendered every second. */
export function useNow(): number {
  return useSyncExternalStore(listen, () => shownAt);
}

/** Now, to the minute: for what does not change by the second. */
export function useMinute(): number {
  return useSyncExternalStore(listen, () => Math.floor(shownAt / MINUTE_MS) * MINUTE_MS);
}

function listen(listener: () => void): () => void {
  listeners.add(listener);
  start();
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) stop();
  };
}

function start(): void {
  if (timer !== null || document.hidden) return;
  timer = setInterval(notify, STEP_MS);
}

function stop(): void {
  if (timer !== null) clearInterval(timer);
  timer = null;
}

function notify(): void {
  shownAt = serverNow();
  for (const listener of listeners) listener();
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    stop();
    return;
  }
  notify();
  if (listeners.size > 0) start();
});
