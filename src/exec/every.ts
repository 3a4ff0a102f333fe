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
  let isAsked = false;
  let ending: NodeJS.Signals | null = null;
  let wake = () => {};
  const ended = (signal: NodeJS.Signals) => {
    ending = signal;
    wake();
  };
  process.on("SIGALRM", () => {
    isAsked = true;
    wake();
  });
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"] as const)
    process.on(signal, () => ended(signal));
  for (;;) {
    await run(() => nextTick({ firstAt, everyMs, now: performance.now() }));
    signals.onEnding = null;
    const dueAt = nextTick({ firstAt, everyMs, now: performance.now() }) + Math.random() * jitterMs;
    while (ending === null && !isAsked && performance.now() < dueAt) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.min(dueAt - performance.now(), TIMER_MS_MAX));
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    if (ending !== null) return ending;
    // As with runitor, the interval begins anew.
    if (isAsked) firstAt = performance.now();
    isAsked = false;
  }
}
