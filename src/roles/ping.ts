// The role that receives signals by HTTP: an intake, the handler in front of it, and what both tell about
// themselves. It is listened for after the intake has entered, and leaves after the last answer was given.
import type { HttpHandler } from "../lib/http/listener.ts";
import { addFigures, type Figure, type Metrics } from "../lib/metrics.ts";
import { SECOND_MS } from "../core/instant.ts";
import { type PingHandler, pingHandler } from "../services/ping/handler.ts";
import { type Receiving, type ReceivingResources, startReceiving } from "./receiving.ts";
import type { SitePart } from "./site.ts";

type Running = { receiving: Receiving; handler: PingHandler };

/** The role as a part of the public port. */
export function pingRole(resources: ReceivingResources & { metrics: Metrics }): SitePart {
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
    open: async (): Promise<readonly HttpHandler[]> => {
      running = await start(resources);
      return [running.handler];
    },
    // From the first beat on others rely on us: somebody has to listen by then.
    opened: async () => running?.receiving.heart.start(),
    closing: () => running?.receiving.heart.stopAccepting(),
    close: async () => running?.receiving.stop(),
    trouble: () => (running === null ? "has not started" : troubleOf(running)),
  };
}

async function start(resources: ReceivingResources): Promise<Running> {
  const { config, log } = resources;
  const receiving = await startReceiving(resources);
  const handler = pingHandler({
    intake: receiving.intake,
    siteUrl: new URL(config.siteUrl),
    pingUrl: config.pingUrl === null ? null : new URL(config.pingUrl),
    trustedProxies: config.trustedProxies,
    bodyLimitBytes: config.pingBodyLimitBytes,
    log,
  });
  return { receiving, handler };
}

function troubleOf({ receiving }: Running): string | null {
  const { intake, heart } = receiving;
  if (intake.state().isBlocked)
    return "signals are refused: the database is away, and nothing takes its place";
  if (intake.state().isDetour && !heart.mayPromise()) return "signals are refused: the lease has ended";
  return null;
}

function figures(running: () => Running | null): Figure[] {
  const intake = () => running()?.receiving.intake.state() ?? null;
  const heart = () => running()?.receiving.heart.state() ?? null;
  const spool = () => running()?.receiving.spooling.state() ?? null;
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
      readEach: () => running()?.handler.counts().answers ?? {},
    },
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
