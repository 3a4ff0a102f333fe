// What a process counts about itself, in one registry that is handed on: no global state, so that tests and
// several processes in one do not mix. Knows no domain word.
import { collectDefaultMetrics, Counter, Gauge, Registry } from "prom-client";

export type LoopMetrics = {
  ticks: Counter<"loop">;
  errors: Counter<"loop">;
  lastRun: Gauge<"loop">;
};

export type Metrics = { registry: Registry; loops: LoopMetrics };

/** A registry with the process's own figures, the build, and the loops. */
export function createMetrics({ version }: { version: string }): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const build = new Gauge({
    name: "overdue_build_info",
    help: "Always 1; the labels say what is running.",
    labelNames: ["version", "node"],
    registers: [registry],
  });
  build.set({ version, node: process.versions.node }, 1);
  return { registry, loops: loopMetrics(registry) };
}

function loopMetrics(registry: Registry): LoopMetrics {
  const registers = [registry];
  const labelNames = ["loop"] as const;
  return {
    ticks: new Counter({
      name: "overdue_loop_ticks_total",
      help: "Ticks that ended well, by loop.",
      labelNames,
      registers,
    }),
    errors: new Counter({
      name: "overdue_loop_errors_total",
      help: "Ticks that threw, by loop.",
      labelNames,
      registers,
    }),
    lastRun: new Gauge({
      name: "overdue_loop_last_success_timestamp_seconds",
      help: "When a tick last ended well, by loop.",
      labelNames,
      registers,
    }),
  };
}
