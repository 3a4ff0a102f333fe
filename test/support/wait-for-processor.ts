// Delays each test while the hypervisor gives the processor to other machines. Tests then fail for want of time and
// not because of a fault: a page that needs half a second took more than a minute.
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { beforeEach } from "vitest";

/** The part of the processor that other machines may take; tests start below it. */
const STOLEN_MAX = 0.6;
const SAMPLE_MS = 1_000;
/** How long the tests of a worker wait in total; then they run anyway. */
const WAIT_MS_MAX = 15 * 60_000;
/** Linux counts processor time in this unit. */
const TICK_MS = 10;

// Tests replace timers.
const { setTimeout: startTimer } = globalThis;

let sampledAt = performance.now();
let sampled = stolenMs();
let waitedMs = 0;

/** What other machines have taken since the start; 0 where the kernel does not say. */
function stolenMs(): number {
  try {
    const [, , , , , , , , stolen] = readFileSync("/proc/stat", "utf8").split(/\s+/, 9);
    return Number(stolen ?? 0) * TICK_MS;
  } catch {
    return 0;
  }
}

function stolenShare(): number {
  const elapsedMs = performance.now() - sampledAt;
  if (elapsedMs < SAMPLE_MS) return 0;
  const stolen = stolenMs();
  const share = (stolen - sampled) / elapsedMs / availableParallelism();
  sampled = stolen;
  sampledAt = performance.now();
  return share;
}

beforeEach(async () => {
  while (waitedMs < WAIT_MS_MAX && stolenShare() > STOLEN_MAX) {
    const startedAt = performance.now();
    await new Promise((resolve) => startTimer(resolve, SAMPLE_MS));
    waitedMs += performance.now() - startedAt;
  }
}, 2 * WAIT_MS_MAX);
