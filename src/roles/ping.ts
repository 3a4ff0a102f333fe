// The role that receives signals by HTTP: an intake, the listener in front of it, and what both tell about
// themselves. It listens after the intake has entered, and leaves after the last answer was given.
import type { ListenAddress } from "../lib/address.ts";
import { addFigures, type Figure, type Metrics } from "../lib/metrics.ts";
import { SECOND_MS } from "../core/instant.ts";
import type { Service } from "../lib/service.ts";
import { type PingService, pingService } from "../services/ping/service.ts";
import { type Receiving, type ReceivingResources, startReceiving } from "./receiving.ts";

export type PingRole = Service & {
  trouble(): string | null;
  needsDatabase: boolean;
  /** Where it listens, the real port instead of 0; null before it has started. */
  address(): ListenAddress | null;
};

type Running = { receiving: Receiving; service: PingService };

/** The role as a part of a process. */
export function pingRole(resources: ReceivingResources & { metrics: Metrics }): PingRole {
  const { config, metrics } = resources;
  let running: Running | null = null;
  addFigures(
    metrics,
    figures(() => running),
  );
  return {
    name: "ping",
    // With a spool it goes on receiving while the database is away.
    needsDatabase: config.spoolFolder === null,
    start: async () => {
      running = await start(resources);
    },
    stop: async () => {
      if (running === null) return;
      const { receiving, service } = running;
      receiving.heart.stopAccepting();
      try {
        await service.stop();
      } finally {
        await receiving.stop();
      }
    },
    trouble: () => (running === null ? "has not started" : troubleOf(running)),
    address: () => running?.service.address() ?? null,
  };
}

async function start(resources: ReceivingResources): Promise<Running> {
  const { config, log } = resources;
  const receiving = await startReceiving(resources);
  const service = pingService({
    intake: receiving.intake,
    listen: config.listen,
    reusePort: config.reusePort,
    connectionsMax: config.connectionsMax,
    requestTimeoutMs: config.requestTimeoutSeconds * SECOND_MS,
    siteUrl: new URL(config.siteUrl),
    pingUrl: config.pingUrl === null ? null : new URL(config.pingUrl),
    trustedProxies: config.trustedProxies,
    bodyLimitBytes: config.pingBodyLimitBytes,
    log,
  });
  try {
    await service.start();
  } catch (error) {
    await receiving.stop();
    throw error;
  }
  await receiving.heart.start();
  return { receiving, service };
}

function troubleOf({ receiving, service }: Running): string | null {
  const { intake, heart } = receiving;
  if (intake.state().isBlocked)
    return "signals are refused: the database is away, and nothing takes its place";
  if (intake.state().isDetour && !heart.mayPromise()) return "signals are refused: the lease has ended";
  return service.trouble();
}

function figures(running: () => Running | null): Figure[] {
  const intake = () => running()?.receiving.intake.state() ?? null;
  const heart = () => running()?.receiving.heart.state() ?? null;
  const spool = () => running()?.receiving.spooling.state() ?? null;
  const connections = () => running()?.service.connectionCounts() ?? null;
  const seconds = (ms: number | null = null) => (ms === null ? null : ms / SECOND_MS);
  const gauge = (name: string, help: string, read: () => number | null): Figure => ({
    name: `overdue_${name}`,
    help,
    kind: "gauge",
    read,
  });
  const counter = (name: string, help: string, read: () => number | null): Figure => ({
    name: `overdue_${name}_total`,
    help,
    kind: "counter",
    read,
  });
  return [
    {
      name: "overdue_ping_answers_total",
      help: "Answers to pings, by what they said.",
      kind: "counter",
      label: "answer",
      readEach: () => running()?.service.pingCounts().answers ?? {},
    },
    gauge("ping_connections", "Open connections of senders.", () => connections()?.open ?? null),
    counter("ping_connections_refused", "Connections turned away.", () => connections()?.refused ?? null),
    gauge("intake_queued", "Signals that wait for a batch.", () => intake()?.queued ?? null),
    gauge("intake_detour", "1 while signals go through the spool.", () => (intake()?.isDetour ? 1 : 0)),
    counter("intake_refused", "Signals that were not promised.", () => intake()?.refusedCount ?? null),
    gauge("intake_beat_age_seconds", "Time since the last good beat.", () => seconds(heart()?.sinceBeatMs)),
    counter("intake_beat_errors", "Beats that failed.", () => heart()?.failures ?? null),
    gauge("watermark_lag_seconds", "How far the watermark is behind.", () =>
      seconds(heart()?.watermarkLagMs),
    ),
    counter("intakes_lost", "Other intakes that were declared lost.", () => heart()?.lost ?? null),
    counter("blind_intervals", "Blind times that were recorded.", () => heart()?.blind ?? null),
    gauge("spool_signals", "Signals in the spool.", () => spool()?.signals ?? null),
    gauge("spool_bytes", "Size of the spool.", () => spool()?.bytes ?? null),
    gauge("spool_lost_files", "Spool files nobody can read.", () => spool()?.lostFiles.length ?? null),
    gauge(
      "known_checks",
      "Checks known without the database.",
      () => running()?.receiving.spooling.knownCount() ?? null,
    ),
  ];
}
