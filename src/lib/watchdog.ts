// Kills the process if its event loop is blocked, so that a supervisor restarts it. A blocked loop answers nothing,
// not even SIGTERM, and timers cannot detect it, so a separate thread does.
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { Log } from "./log.ts";
import type { WatchdogData } from "./watchdog-thread.ts";

/** CPU time that the main thread may use without a turn of its event loop. */
const BLOCKED_CPU_MS_MAX = 10_000;
const TICK_MS = 500;
/** Heap limit of the thread: small, but it must hold the list of all loaded scripts while it ends the process. */
const THREAD_HEAP_MB_MAX = 64;

export type WatchdogOptions = { log: Log; blockedCpuMsMax?: number };

/**
 * Monitors the event loop of the calling main thread until the process ends. Only CPU time counts: a process that is
 * stopped, suspended, swapped out or starved is not blocked. Reads the CPU time of the thread from /proc, so it works
 * on Linux only.
 */
export function startWatchdog({ log, blockedCpuMsMax = BLOCKED_CPU_MS_MAX }: WatchdogOptions): void {
  if (process.platform !== "linux") {
    log.warn("the watchdog requires Linux; blocked processes are not restarted");
    return;
  }
  const ticks = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  setInterval(() => Atomics.add(ticks, 0, 1), TICK_MS).unref();
  const worker = new Worker(new URL(`./watchdog-thread${extname(import.meta.url)}`, import.meta.url), {
    name: "watchdog",
    workerData: { ticks, blockedCpuMsMax } satisfies WatchdogData,
    resourceLimits: { maxOldGenerationSizeMb: THREAD_HEAP_MB_MAX },
  });
  worker.unref();
  worker.on("error", (error) => log.error({ err: error }, "the watchdog has stopped"));
}
