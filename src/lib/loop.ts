// A service that repeats a bounded piece of work. The tick decides whether to continue immediately; tests call the
// tick, not the timer. A tick that throws is logged, counted and followed by a growing pause; it never ends the
// process.
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Log } from "./log.ts";
import type { LoopMetrics } from "./metrics.ts";
import type { Service } from "./service.ts";

/** "again": continue immediately. "idle": nothing to do for now. */
export type TickResult = "again" | "idle";

export type LoopOptions = {
  idleMs: number;
  /** One bounded piece of work. The signal fires when the loop is asked to stop. */
  tick(signal: AbortSignal): Promise<TickResult>;
  log: Log;
  metrics: LoopMetrics;
  /** Maximum age of the last successful tick before the loop counts as stuck. */
  staleMs?: number;
  errorPauseMinMs?: number;
  errorPauseMaxMs?: number;
};

export type Loop = Service & {
  /** Null while ticks succeed often enough, otherwise the problem. */
  problem(): string | null;
};

const ERROR_PAUSE_MIN_MS = 1_000;
/** Maximum pause after failures: pending alerts and open pages wait for it. */
const ERROR_PAUSE_MAX_MS = 10_000;
/** A loop is stuck when it has missed this many of its idle pauses, but never sooner than the floor. */
const STALE_IDLE_COUNT = 10;
const STALE_MIN_MS = 60_000;

/** A service that ticks until it is stopped; stopping waits for the running tick. */
export function loopService(name: string, options: LoopOptions): Loop {
  const { idleMs, staleMs = Math.max(STALE_MIN_MS, idleMs * STALE_IDLE_COUNT) } = options;
  const log = options.log.child({ loop: name });
  const stopping = new AbortController();
  let running: Promise<void> = Promise.resolve();
  let lastGoodAtMs = performance.now();
  let errorCount = 0;

  const tickOnce = async (): Promise<number> => {
    try {
      const result = await options.tick(stopping.signal);
      options.metrics.ticks.inc({ loop: name });
      options.metrics.lastRun.setToCurrentTime({ loop: name });
      lastGoodAtMs = performance.now();
      errorCount = 0;
      return result === "again" ? 0 : idleMs;
    } catch (error) {
      options.metrics.errors.inc({ loop: name });
      const pauseMs = errorPause(errorCount, options);
      errorCount += 1;
      log.error({ err: error, errorCount, pauseMs }, "tick failed");
      return pauseMs;
    }
  };

  const tickUntilStopped = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const pauseMs = await tickOnce();
      await (pauseMs === 0 ? nextTurn() : pause(pauseMs, stopping.signal));
    }
  };

  return {
    name,
    start: async () => {
      lastGoodAtMs = performance.now();
      options.metrics.ticks.inc({ loop: name }, 0);
      options.metrics.errors.inc({ loop: name }, 0);
      running = tickUntilStopped();
    },
    stop: async () => {
      stopping.abort();
      await running;
    },
    problem: () => {
      const ageMs = performance.now() - lastGoodAtMs;
      return ageMs <= staleMs ? null : `no successful tick for ${Math.round(ageMs / 1_000)} s`;
    },
  };
}

function errorPause(earlierErrors: number, options: LoopOptions): number {
  const min = options.errorPauseMinMs ?? ERROR_PAUSE_MIN_MS;
  const max = options.errorPauseMaxMs ?? ERROR_PAUSE_MAX_MS;
  return Math.min(max, min * 2 ** Math.min(earlierErrors, 30));
}

/** Waits, at most until the signal is aborted. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}
