// What a role needs of an intake, whether it records pings in the database or appends them to a log.
import type { Config } from "../config/config.ts";
import type { Instant } from "../core/instant.ts";
import type { CreateCheck } from "../intake/check-creator.ts";
import type { SignalIntake } from "../intake/intake.ts";
import type { Log } from "../lib/log.ts";
import type { Metrics } from "../lib/metrics.ts";
import { provisionCheck } from "../operations/checks.ts";
import type { Database, DatabaseOptions } from "../store/db.ts";

export type IntakeResources = {
  config: Config;
  databaseOptions: DatabaseOptions;
  log: Log;
  metrics?: Metrics;
  /** False until the schema of the database has been verified. */
  isPrepared?: () => boolean;
};

/** An intake that is registered and ready to accept pings. */
export type StartedIntake = {
  intake: SignalIntake;
  /** The roles listen. From then on, other processes rely on that. */
  start(): Promise<void>;
  /** The roles are about to stop listening. */
  stopAccepting(): void;
  /** Accepts no more pings, makes the accepted ones durable, unregisters, and releases everything. */
  stop(): Promise<void>;
  /** Why every ping is rejected; null if pings are accepted. */
  problem(): string | null;
};

/** With a spool, pings are received while the database is unavailable; with a log, it is needed to start. */
export function needsDatabaseToReceive({
  spoolFolder,
  logTopic,
}: Pick<Config, "spoolFolder" | "logTopic">): boolean {
  return spoolFolder === null || logTopic !== null;
}

/** For looking up and creating unknown checks: API requests must not delay pings. */
export const LOOKUP_CONNECTIONS_MAX = 4;

/** Creates the checks of pings with `create=1`. */
export function creator(
  database: Database,
  { checkLimitDefault, now }: { checkLimitDefault: number | null; now: () => Instant },
): CreateCheck {
  return async (target, settings) => {
    if (target.by === "uuid") return "unknown";
    const { pingKey, slug } = target;
    return provisionCheck(database, { pingKey, slug, given: settings, at: now(), checkLimitDefault });
  };
}
