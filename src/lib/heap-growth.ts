// Lets the heap grow only as far as the load requires. V8 trades memory for time, however little time there is to gain:
// on a machine with much memory, its heap grows to several times of what is in use even at a low load.
import { PerformanceObserver } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";

const CHECK_MS = 1_000;
const US_PER_MS = 1_000;
/** The heap may grow while garbage collection takes a larger share of the time than this. */
const GROW_SHARE_MIN = 0.04;
/** After this many checks with a smaller share, unused memory is returned to the system. */
const QUIET_SHARE_MAX = 0.005;
const QUIET_CHECKS_MIN = 20;
/** Weight of the newest check in the average. A single full collection must not let the heap grow. */
const NEWEST_WEIGHT = 0.35;

type Mode = "save" | "keep" | "grow";

/**
 * V8 reads its size limits when a heap is created, but these flags at each collection: by which factor the young
 * generation grows, and by how many percent the old generation may grow before the next full collection.
 */
export const FLAGS: Readonly<Record<Mode, readonly string[]>> = {
  save: ["--memory-saver-mode", "--semi-space-growth-factor=1", "--heap-growing-percent=50"],
  keep: ["--no-memory-saver-mode", "--semi-space-growth-factor=1", "--heap-growing-percent=50"],
  grow: ["--no-memory-saver-mode", "--semi-space-growth-factor=2", "--heap-growing-percent=100"],
};

/** Adjusts the heaps of all threads to the load of the calling one, until the process ends. */
export function adjustHeapGrowth(): void {
  let collectingMs = 0;
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) collectingMs += duration;
  }).observe({ entryTypes: ["gc"] });
  const nextMode = heapModes();
  let mode: Mode | null = null;
  let used = performance.eventLoopUtilization();
  let cpu = process.threadCpuUsage();
  setInterval(() => {
    const { active, idle } = performance.eventLoopUtilization(used);
    const { user, system } = process.threadCpuUsage(cpu);
    // On a busy machine, collections take longer because they wait for a processor.
    const runningShare = Math.min(1, (user + system) / US_PER_MS / active);
    const next = nextMode((collectingMs / (active + idle)) * runningShare);
    collectingMs = 0;
    used = performance.eventLoopUtilization();
    cpu = process.threadCpuUsage();
    if (next === mode) return;
    mode = next;
    for (const flag of FLAGS[mode]) setFlagsFromString(flag);
  }, CHECK_MS).unref();
}

/** Returns a function that decides, given the share of the time since its last call that collections took. */
export function heapModes(): (share: number) => Mode {
  let average = 0;
  let quietChecks = 0;
  return (share) => {
    average += NEWEST_WEIGHT * (share - average);
    quietChecks = average < QUIET_SHARE_MAX ? quietChecks + 1 : 0;
    if (Math.min(share, average) > GROW_SHARE_MIN) return "grow";
    return quietChecks < QUIET_CHECKS_MIN ? "keep" : "save";
  };
}
