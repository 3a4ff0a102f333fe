// Interval, errors and end of a loop. Pauses are a few milliseconds long; each test waits for the tick it concerns
// instead of sleeping.
import { expect, test, vi } from "vitest";
import { createLog } from "./log.ts";
import { type LoopOptions, loopService, type TickResult } from "./loop.ts";
import { createMetrics } from "./metrics.ts";

const HOUR_MS = 3_600_000;

function started(options: Partial<LoopOptions> & Pick<LoopOptions, "tick">) {
  const lines: string[] = [];
  const log = createLog({ level: "info", destination: { write: (line) => lines.push(line) } });
  const metrics = createMetrics({ version: "0" });
  const loop = loopService("test", { idleMs: HOUR_MS, log, metrics: metrics.loops, ...options });
  return { loop, lines, metrics };
}

/** A tick that returns values from a list, and promises for "the nth tick has begun". */
function scripted(results: (TickResult | Error)[]) {
  const begun = results.map(() => Promise.withResolvers<void>());
  let count = 0;
  const tick = async (): Promise<TickResult> => {
    const index = count++;
    begun[index]?.resolve();
    const result = results[index] ?? "idle";
    if (result instanceof Error) throw result;
    return result;
  };
  return { tick, tickBegun: (nth: number) => begun[nth - 1]?.promise, tickCount: () => count };
}

test("'again' ticks immediately and 'idle' waits", async () => {
  const script = scripted(["again", "again", "idle", "idle"]);
  const { loop } = started({ tick: script.tick });
  await loop.start();
  await script.tickBegun(3);
  await loop.stop();
  expect(script.tickCount()).toBe(3);
});

test("a loop that always has more to do does not block the rest of the process", async () => {
  // Without its limit, a loop that never yields would hang this test instead of failing it.
  const tickCountMax = 100_000;
  let tickCount = 0;
  const { loop } = started({
    tick: async () => {
      tickCount += 1;
      return tickCount < tickCountMax ? "again" : "idle";
    },
  });
  await loop.start();
  // However busy the machine is: after two timers have run, the loop has had its turns.
  await new Promise((resolve) => setTimeout(() => setTimeout(resolve, 1), 1));
  await loop.stop();
  expect(tickCount).toBeGreaterThan(0);
  expect(tickCount).toBeLessThan(tickCountMax);
});

test("a tick that throws is logged, counted and retried after a pause", async () => {
  const script = scripted([new Error("planted"), "idle"]);
  const { loop, lines, metrics } = started({ tick: script.tick, errorPauseMinMs: 1 });
  await loop.start();
  await script.tickBegun(2);
  await loop.stop();
  expect(lines.join()).toContain("planted");
  const text = await metrics.registry.metrics();
  expect(text).toContain('overdue_loop_errors_total{loop="test"} 1');
  expect(text).toContain('overdue_loop_ticks_total{loop="test"} 1');
  expect(text).toMatch(/overdue_loop_last_success_timestamp_seconds{loop="test"} \d{10}/);
});

test("the pause after errors doubles up to its limit, and is reset by a successful tick", async () => {
  const error = new Error("planted");
  const script = scripted([error, error, error, error, "again", error, "idle"]);
  const { loop, lines } = started({ tick: script.tick, errorPauseMinMs: 1, errorPauseMaxMs: 4 });
  await loop.start();
  await script.tickBegun(7);
  await loop.stop();
  expect(lines.map((line) => JSON.parse(line)["pauseMs"])).toEqual([1, 2, 4, 4, 1]);
});

test("after an hour of errors the work continues within ten seconds", async () => {
  vi.useFakeTimers();
  try {
    // Not when a longer pause happens to end.
    const awayMs = HOUR_MS + 20_000;
    const end = Date.now() + awayMs;
    let isDone = false;
    const tick = async (): Promise<TickResult> => {
      if (Date.now() < end) throw new Error("the database is away");
      isDone = true;
      return "idle";
    };
    const { loop } = started({ tick });
    await loop.start();
    await vi.advanceTimersByTimeAsync(awayMs + 10_000);
    expect(isDone).toBe(true);
    await loop.stop();
  } finally {
    vi.useRealTimers();
  }
});

test("stopping waits for the running tick, and signals it", async () => {
  const begun = Promise.withResolvers<void>();
  let ended = false;
  const { loop } = started({
    tick: async (signal) => {
      begun.resolve();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      await new Promise((resolve) => setTimeout(resolve, 5));
      ended = true;
      return "again";
    },
  });
  await loop.start();
  await begun.promise;
  await loop.stop();
  expect(ended).toBe(true);
});

test("stopping cuts a pause short", async () => {
  const script = scripted(["idle"]);
  const { loop } = started({ tick: script.tick, idleMs: HOUR_MS });
  await loop.start();
  await script.tickBegun(1);
  await loop.stop();
  expect(script.tickCount()).toBe(1);
});

test("a loop reports a problem once its last successful tick is too old", async () => {
  const script = scripted([new Error("planted"), new Error("planted"), "idle"]);
  const fresh = started({ tick: script.tick, errorPauseMinMs: 1, staleMs: HOUR_MS });
  await fresh.loop.start();
  expect(fresh.loop.problem()).toBeNull();
  await fresh.loop.stop();

  const stale = started({ tick: () => Promise.reject(new Error("planted")), staleMs: -1 });
  await stale.loop.start();
  expect(stale.loop.problem()).toMatch(/no successful tick for \d+ s/);
  await stale.loop.stop();
});
