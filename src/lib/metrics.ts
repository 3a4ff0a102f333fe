// The metrics registry of a process, passed on explicitly, so that tests and several processes in one do not
// mix.
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";

export type LoopMetrics = {
  ticks: Counter<"loop">;
  errors: Counter<"loop">;
  lastRun: Gauge<"loop">;
};

/** The counts of a connection pool. */
export type PoolCounts = {
  readonly totalCount: number;
  readonly idleCount: number;
  readonly waitingCount: number;
  readonly options: { readonly max: number };
};

export type Metrics = {
  registry: Registry;
  loops: LoopMetrics;
  /** The connection pools of the process by name. */
  pools: Map<string, PoolCounts>;
  version: string;
};

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
  const metrics = { registry, loops: loopMetrics(registry), pools: new Map<string, PoolCounts>(), version };
  addPoolFigures(metrics);
  return metrics;
}

function addPoolFigures(metrics: Metrics): void {
  const gauge = (name: string, help: string, read: (pool: PoolCounts) => number): Figure => ({
    name: `overdue_database_${name}`,
    help,
    kind: "gauge",
    label: "pool",
    readEach: () => Object.fromEntries([...metrics.pools].map(([pool, counts]) => [pool, read(counts)])),
  });
  addFigures(metrics, [
    gauge("connections", "Open database connections by pool.", ({ totalCount }) => totalCount),
    gauge("connections_idle", "Idle database connections by pool.", ({ idleCount }) => idleCount),
    gauge("connections_max", "Maximum database connections by pool.", ({ options }) => options.max),
    gauge(
      "queued",
      "Statements and transactions waiting for a connection, by pool.",
      ({ waitingCount }) => waitingCount,
    ),
  ]);
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

/** The number of events so far; null: not known yet. */
export function counter(name: string, help: string, read: () => number | null): Figure {
  return { name: `overdue_${name}_total`, help, kind: "counter", read };
}

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
      const total: Counter = new Counter({
        ...shared,
        collect: () => collect(total, (labels, value) => total.inc(labels, value)),
      });
    }
  }
}

/** Bounds of the histograms of response times, from a ping on an idle server to the time limit of the API. */
export const ANSWER_SECONDS: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20,
];

/** The label of a status: each value of a label costs one series per bucket. */
export function statusClass(status: number): string {
  return `${Math.floor(status / 100)}xx`;
}

/** Adds a histogram of durations in seconds and returns the function that records one. */
export function addHistogram<Label extends string = never>(
  { registry }: Metrics,
  given: { name: string; help: string; bucketsSeconds: readonly number[]; labelNames?: readonly Label[] },
): (seconds: number, labels?: Readonly<Record<Label, string>>) => void {
  const { name, help, bucketsSeconds, labelNames = [] } = given;
  const buckets = [...bucketsSeconds];
  const histogram = new Histogram({ name, help, buckets, labelNames, registers: [registry] });
  return (seconds, labels) => histogram.observe(labels ?? {}, seconds);
}
