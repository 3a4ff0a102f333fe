// What a notifier counts about deliveries: how they ended, how long people waited, and what is still owed.
import { type Instant, SECOND_MS } from "../../core/instant.ts";
import { addFigures, addHistogram, type Metrics } from "../../lib/metrics.ts";
import type { Settled } from "../../operations/alerts/settle-deliveries.ts";

/** Fine where the promise lies, and up to the hours that a receiver may be away. */
const WAITED_SECONDS = [0.5, 1, 2, 3, 5, 10, 30, 60, 120, 300, 900, 3_600, 14_400, 86_400];

export type DeliveryCounts = {
  add(settled: Settled): void;
  setUnsent(unsent: { count: number; oldestAt: Instant | null }, now: Instant): void;
};

/** Adds the figures to the metrics of a process, all of them at zero. */
export function deliveryCounts(metrics: Metrics): DeliveryCounts {
  const settled: Record<string, number> = {
    sent: 0,
    merged: 0,
    withdrawn: 0,
    skipped: 0,
    dead: 0,
    retry: 0,
    lost: 0,
  };
  let unsent: { count: number; oldestSeconds: number } | null = null;
  addFigures(metrics, [
    {
      name: "overdue_deliveries_total",
      help: "Deliveries by result. retry: the attempt failed and will be retried; lost: another process took over.",
      kind: "counter",
      label: "state",
      readEach: () => settled,
    },
    {
      name: "overdue_deliveries_unsent",
      help: "Pending notifications. Updated every few seconds.",
      kind: "gauge",
      read: () => unsent?.count ?? null,
    },
    {
      name: "overdue_delivery_oldest_unsent_seconds",
      help: "Age of the oldest pending notification. 0 if there are none.",
      kind: "gauge",
      read: () => unsent?.oldestSeconds ?? null,
    },
  ]);
  const observe = addHistogram(metrics, {
    name: "overdue_delivery_seconds",
    help: "From a deadline, or from the signal that changed a check, until the receiver had taken the message.",
    bucketsSeconds: WAITED_SECONDS,
  });
  return {
    add: ({ outcomes, waitedMs }) => {
      for (const outcome of outcomes?.values() ?? ["lost"]) settled[outcome] = (settled[outcome] ?? 0) + 1;
      for (const ms of waitedMs) observe(ms / SECOND_MS);
    },
    setUnsent: ({ count, oldestAt }, now) => {
      unsent = { count, oldestSeconds: oldestAt === null ? 0 : Math.max(0, now - oldestAt) / SECOND_MS };
    },
  };
}
