// The role that receives signals by HTTP: the handler in front of the intake, and what it tells about itself. It is
// listened for after the intake has entered, and leaves after the last answer was given.
import type { RecentMisses } from "../lib/http/recent-misses.ts";
import { addFigures, type Metrics } from "../lib/metrics.ts";
import { type PingHandler, pingHandler } from "../services/ping/handler.ts";
import type { Receiving, ReceivingResources } from "./receiving.ts";
import { type SharedReceiving, sharedReceiving } from "./shared-receiving.ts";
import type { SitePart } from "./site.ts";

export type SignalRoleResources = ReceivingResources & {
  metrics: Metrics;
  receiving?: SharedReceiving;
  misses?: RecentMisses;
};

/** The role as a part of the public port. */
export function pingRole(resources: SignalRoleResources): SitePart {
  const { config, metrics, receiving = sharedReceiving(resources) } = resources;
  let handler: PingHandler | null = null;
  receiving.addFigures();
  addFigures(metrics, [
    {
      name: "overdue_ping_answers_total",
      help: "Ping responses by result.",
      kind: "counter",
      label: "answer",
      readEach: () => handler?.counts().answers ?? {},
    },
  ]);
  return {
    name: "ping",
    // With a spool it goes on receiving while the database is away.
    needsDatabase: config.spoolFolder === null,
    open: async () => {
      handler = handlerFor(await receiving.join(), resources);
      return [handler];
    },
    opened: () => receiving.opened(),
    turnedAway: (refused) => handler?.refused(refused),
    closing: () => receiving.closing(),
    close: () => receiving.leave(),
    trouble: () => (handler === null ? "has not started" : receiving.trouble()),
  };
}

function handlerFor({ intake }: Receiving, { config, log, misses }: SignalRoleResources): PingHandler {
  return pingHandler({
    intake,
    siteUrl: new URL(config.siteUrl),
    pingUrl: config.pingUrl === null ? null : new URL(config.pingUrl),
    trustedProxies: config.trustedProxies,
    bodyLimitBytes: config.pingBodyLimitBytes,
    log,
    ...(misses !== undefined && { onMiss: (request) => misses.note(request) }),
  });
}
