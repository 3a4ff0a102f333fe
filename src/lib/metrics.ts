// The metrics registry of a process, passed on explicitly, so that tests and several processes in one do not
// mix.
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";

export type LoopMetrics = {
  ticks: Counter<"loop">;
  errors: Counter<"loop">;
  lastRun: Gauge<"loop">;
};

export type Metrics = { registry: Registry; loops: LoopMetrics; version: string };

/** A registry with the metrics of the process, the build, and the loops. */
export function createMetrics({ version }: { version: string }): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const build = new Gauge({
    name: "overdue_build_info",
    help: "Build information. Always 1.",
    labelNames: ["version", "node"],
    registers: [registry],
  });
  build.set({ version, node: process.versions.node }, 1);
  return { registry, loops: loopMetrics(registry), version };
}

function loopMetrics(registry: Registry): LoopMetrics {
  const registers = [registry];
  const labelNames = ["loop"] as const;
  return {
    ticks: new Counter({
      name: "overdue_loop_ticks_total",
      help: "Successful ticks by loop.",
      labelNames,
      registers,
    }),
    errors: new Counter({
      name: "overdue_loop_errors_total",
      help: "Failed ticks by loop.",
      labelNames,
      registers,
    }),
    lastRun: new Gauge({
      name: "overdue_loop_last_success_timestamp_seconds",
      help: "Time of the last successful tick by loop.",
      labelNames,
      registers,
    }),
  };
}

/** A metric that is read on request: one number, or one per label value. */
export type Figure = { name: string; help: string; kind: "gauge" | "counter" } & (
  | { read: () => number | null }
  | { label: string; readEach: () => Readonly<Record<string, number>> }
);

/** Adds metrics to the registry. A value of null is omitted. */
export function addFigures({ registry }: Metrics, figures: readonly Figure[]): void {
  for (const figure of figures) {
    const { name, help, kind } = figure;
    const labelNames = "label" in figure ? [figure.label] : [];
    const collect = (
      metric: { reset(): void; remove(labels: Record<string, string>): void },
      set: (labels: Record<string, string>, value: number) => void,
    ) => {
      metric.reset();
      if ("label" in figure) {
        for (const [word, value] of Object.entries(figure.readEach())) set({ [figure.label]: word }, value);
        return;
      }
      // Without a label, a reset leaves a zero, which would be a value.
      metric.remove({});
      const value = figure.read();
      if (value !== null) set({}, value);
    };
    const shared = { name, help, labelNames, registers: [registry] };
    if (kind === "gauge") {
      const gauge: Gauge = new Gauge({
        ...shared,
        collect: () => collect(gauge, (labels, value) => gauge.set(labels, value)),
      });
    } else {
      const counter: Counter = new Counter({
        ...shared,
        collect: () => collect(counter, (labels, value) => counter.inc(labels, value)),
      });
    }
  }
}

/** Adds a histogram of durations in seconds and returns the function that records one. */
export function addHistogram(
  { registry }: Metrics,
  given: { name: string; help: string; bucketsSeconds: readonly number[] },
): (seconds: number) => void {
  const { name, help, bucketsSeconds } = given;
  const histogram = new Histogram({ name, help, buckets: [...bucketsSeconds], registers: [registry] });
  return (seconds) => histogram.observe(seconds);
}
