// The role that receives pings over HTTP, and the intake of the process. It accepts connections after the intake is
// registered, and the intake is closed after the last response.
import type { Config } from "../config/config.ts";
import { SECOND_MS } from "../core/instant.ts";
import { MALFORMED_ALIASES_MAX, SCHEME_LENGTH_MAX } from "../core/limits.ts";
import { clientAddressReader, networkReader } from "../lib/http/client-address.ts";
import type { UnmatchedRequests } from "../lib/http/unmatched-requests.ts";
import type { Log } from "../lib/log.ts";
import { type Loop, loopService } from "../lib/loop.ts";
import { addFigures, addHistogram, ANSWER_SECONDS, type Metrics, statusClass } from "../lib/metrics.ts";
import { recordNearMisses } from "../operations/near-misses.ts";
import { type PingHandler, pingHandler, type PingHandlerOptions } from "../services/ping/handler.ts";
import { NearMissCollector } from "../services/ping/near-miss-collector.ts";
import { pingLocator, type PublishedAddresses } from "../services/ping/ping-url.ts";
import type { Database } from "../store/db.ts";
import { readDatabaseClock } from "../store/instance.ts";
import { listMalformedAliases } from "../store/near-misses.ts";
import { directFigures, startDirectIntake } from "./direct-intake.ts";
import type { ServerRole } from "./public-server.ts";
import { type IntakeResources, needsDatabaseToReceive, type StartedIntake } from "./started-intake.ts";

export type SignalRoleResources = IntakeResources & {
  metrics: Metrics;
  receiving?: SharedIntake;
  misses?: UnmatchedRequests;
  nearMisses?: NearMissCollector;
};

/** The role as a part of the public port. */
export function pingRole(resources: SignalRoleResources): ServerRole {
  const { config, metrics, receiving = sharedIntake(resources) } = resources;
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
  const observe = addHistogram(metrics, {
    name: "overdue_ping_answer_seconds",
    help: "From the last byte of a ping until it was answered, by status.",
    bucketsSeconds: ANSWER_SECONDS,
    labelNames: ["status"],
  });
  return {
    name: "ping",
    needsDatabase: needsDatabaseToReceive(config),
    open: async () => {
      handler = handlerFor(await receiving.join(), {
        ...resources,
        onAnswered: ({ status, ms }) => observe(ms / SECOND_MS, { status: statusClass(status) }),
      });
      return [handler];
    },
    opened: () => receiving.opened(),
    connectionRefused: (refused) => handler?.refused(refused),
    closing: () => receiving.closing(),
    close: () => receiving.leave(),
    problem: () => (handler === null ? "has not started" : receiving.problem()),
  };
}

function handlerFor(
  { intake }: StartedIntake,
  {
    config,
    log,
    misses,
    nearMisses,
    onAnswered,
  }: SignalRoleResources & Pick<PingHandlerOptions, "onAnswered">,
): PingHandler {
  return pingHandler({
    intake,
    ...publishedAddresses(config),
    trustedProxies: config.trustedProxies,
    bodyLimitBytes: config.pingBodyLimitBytes,
    log,
    ...(onAnswered !== undefined && { onAnswered }),
    onMiss: (request) => {
      misses?.note(request);
      nearMisses?.note(request);
    },
    ...(nearMisses !== undefined && {
      onInsecure: (request) => nearMisses.note(request, { isInsecure: true }),
      resolveAlias: (rest) => nearMisses.resolveAlias(rest),
    }),
  });
}

/** The URLs below which this server receives pings. */
export function publishedAddresses(config: Config): PublishedAddresses {
  return {
    siteUrl: new URL(config.siteUrl),
    pingUrl: config.pingUrl === null ? null : new URL(config.pingUrl),
    pingAliases: config.pingAliases?.map((url) => new URL(url)) ?? null,
  };
}

// Near misses: counted in memory, and looked up every few seconds, so that a ping never waits for it.

/** An empty collector for the requests of this process. */
export function nearMissCollector({
  config,
  receiving,
}: {
  config: Config;
  receiving: SharedIntake;
}): NearMissCollector {
  return new NearMissCollector({
    locate: pingLocator(publishedAddresses(config)),
    clientOf: clientAddressReader(config.trustedProxies, { schemeLengthMax: SCHEME_LENGTH_MAX }),
    networkOf: networkReader(config.trustedProxies),
    now: () => receiving.current()?.intake.now() ?? Date.now(),
  });
}

const NEAR_MISSES_EVERY_MS = 3 * SECOND_MS;

/** Records what was counted, and reads the malformed aliases. What is not recorded when the process ends is lost. */
export function nearMissLoop({
  database,
  nearMisses,
  log,
  metrics,
}: {
  database: Database;
  nearMisses: NearMissCollector;
  log: Log;
  metrics: Metrics;
}): Loop {
  return loopService("near-misses", {
    idleMs: NEAR_MISSES_EVERY_MS,
    log,
    metrics: metrics.loops,
    tick: async () => {
      nearMisses.setAliases(await listMalformedAliases(database, MALFORMED_ALIASES_MAX));
      const taken = nearMisses.take();
      if (taken.length > 0)
        await recordNearMisses(database, taken, { now: await readDatabaseClock(database) });
      return "idle";
    },
  });
}

// The one intake of a process, shared by its roles. It registers with the first role, sends heartbeats once all listen,
// and is closed after the last role.

export type SharedIntake = {
  /** Registers the intake for the first role; each role that joined has to leave. */
  join(): Promise<StartedIntake>;
  /** The joined roles listen. From the first heartbeat on, other processes rely on that. */
  opened(): Promise<void>;
  /** The joined roles are about to stop listening. */
  closing(): void;
  /** A joined role passes on no more pings. The last one stops the intake. */
  leave(): Promise<void>;
  /** The problem of the intake; null if there is none, or no role has joined. */
  problem(): string | null;
  current(): StartedIntake | null;
  /** Adds the metrics of the intake to those of the process, once. */
  addFigures(): void;
};

async function startIntake(resources: IntakeResources & { metrics: Metrics }): Promise<StartedIntake> {
  if (resources.config.logTopic === null) return startDirectIntake(resources);
  // Its code is loaded only if there is a log.
  return (await import("./edge-intake.ts")).startEdgeIntake(resources);
}

/** An intake that no role has joined yet. */
export function sharedIntake(resources: IntakeResources & { metrics: Metrics }): SharedIntake {
  let starting: Promise<StartedIntake> | null = null;
  let receiving: StartedIntake | null = null;
  let joined = 0;
  let opening: Promise<void> | null = null;
  let hasFigures = false;
  return {
    join: async () => {
      starting ??= startIntake(resources);
      try {
        receiving = await starting;
      } catch (error) {
        starting = null;
        throw error;
      }
      joined += 1;
      return receiving;
    },
    opened: async () => {
      opening ??= receiving?.start() ?? null;
      await opening;
    },
    closing: () => receiving?.stopAccepting(),
    leave: async () => {
      joined -= 1;
      if (joined === 0) await receiving?.stop();
    },
    problem: () => receiving?.problem() ?? null,
    current: () => receiving,
    addFigures: () => {
      // An edge adds its own when it starts.
      if (hasFigures || resources.config.logTopic !== null) return;
      hasFigures = true;
      addFigures(
        resources.metrics,
        directFigures(() => receiving),
      );
    },
  };
}
