// Runs the job at an interval: never twice at the same time, and without drift.
import { TIMER_MS_MAX } from "./limits.ts";
import type { JobEnd, Signals } from "./job.ts";

/** The next tick after a time; ticks that passed during a run are skipped. */
export function nextTick(at: { firstAt: number; everyMs: number; now: number }): number {
  const passed = Math.floor((at.now - at.firstAt) / at.everyMs);
  return at.firstAt + (passed + 1) * at.everyMs;
}

export type EveryOptions = {
  everyMs: number;
  jitterMs: number;
  signals: Signals;
  /** Runs the job once; reporting must end when the next run is due. */
  run: (nextRunAt: () => number) => Promise<JobEnd>;
};

/** Runs until a signal ends it, and returns that signal. SIGALRM starts a run at once, or right after the current. */
export async function runEvery({ everyMs, jitterMs, signals, run }: EveryOptions): Promise<NodeJS.Signals> {
  let firstAt = performance.now();
  const asked: { ending: NodeJS.Signals | null; runsNow: boolean } = { ending: null, runsNow: false };
  let wake = () => {};
  process.on("SIGALRM", () => {
    asked.runsNow = true;
    wake();
  });
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"] as const) {
    process.on(signal, () => {
      asked.ending = signal;
      wake();
    });
  }
  for (;;) {
    await run(() => nextTick({ firstAt, everyMs, now: performance.now() }));
    signals.onEnding = null;
    const dueAt = nextTick({ firstAt, everyMs, now: performance.now() }) + Math.random() * jitterMs;
    while (asked.ending === null && !asked.runsNow && performance.now() < dueAt) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.min(dueAt - performance.now(), TIMER_MS_MAX));
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    if (asked.ending !== null) return asked.ending;
    // As with runitor, the interval begins anew.
    if (asked.runsNow) firstAt = performance.now();
    asked.runsNow = false;
  }
}
