// The only list of roles, and how a process made of them starts and stops. The binary and the tests call the
// same `run`. A role is named here when it exists, not before.
import type { Config } from "./config.ts";
import { HOUR_MS, SECOND_MS } from "./core/instant.ts";
import type { ListenAddress } from "./lib/address.ts";
import { adminServer } from "./lib/admin-server.ts";
import type { Log } from "./lib/log.ts";
import { loopService } from "./lib/loop.ts";
import type { Metrics } from "./lib/metrics.ts";
import { didYouMean } from "./lib/nearest-name.ts";
import { type Service, startServices } from "./lib/service.ts";
import { prepareDatabase } from "./operations/prepare-database.ts";
import { pruneHistory } from "./operations/prune-history.ts";
import { apiRole } from "./roles/api.ts";
import { moverRole } from "./roles/mover.ts";
import { pingRole } from "./roles/ping.ts";
import { type Site, type SitePart, siteService } from "./roles/site.ts";
import type { Database, DatabaseOptions } from "./store/db.ts";
import { readDatabaseClock } from "./store/instance.ts";

/** Everything a role may be made of. */
export type Resources = {
  config: Config;
  database: Database;
  /** How the database was opened, for what needs a connection of its own. */
  databaseOptions: DatabaseOptions;
  log: Log;
  metrics: Metrics;
};

/** A part of the process that needs no port: it can be started, stopped, and asked whether its work goes on. */
type InnerRole = Service & { trouble(): string | null };

/** Roles that answer outsiders share the public port; the others are parts of the process by themselves. */
type Role = InnerRole | SitePart;

const HOUSEKEEPER_IDLE_MS = HOUR_MS;

const ROLES = {
  /** Receives signals by HTTP. Several may run, also on one machine. */
  ping: pingRole,
  /** Answers about checks: the Management API, badges, scrapers. Several may run. */
  api: apiRole,
  /** Moves large bodies to the object store, if there is one. Several may run: each moves what others do not. */
  mover: moverRole,
  /** Forgets what is older than it needs to be. Several may run: each removes what it finds. */
  housekeeper: ({ database, log, metrics }) =>
    loopService("housekeeper", {
      idleMs: HOUSEKEEPER_IDLE_MS,
      log,
      metrics: metrics.loops,
      tick: async () => {
        const now = await readDatabaseClock(database);
        const { isComplete, removed } = await pruneHistory(database, { now });
        if (Object.values(removed).some((count) => count > 0)) log.info({ removed }, "history pruned");
        return isComplete ? "idle" : "again";
      },
    }),
} satisfies Record<string, (resources: Resources) => Role>;

export type RoleName = keyof typeof ROLES;

export const ROLE_NAMES: readonly RoleName[] = Object.keys(ROLES) as RoleName[];

/** Someone asked for a role that does not exist; the message lists those that do. */
export class UnknownRoleError extends Error {
  override readonly name = "UnknownRoleError";
}

/** The named roles in the order of the list; null and "all" mean every one. Throws UnknownRoleError. */
export function chooseRoles(names: readonly string[] | null): RoleName[] {
  if (names === null || names.includes("all")) return [...ROLE_NAMES];
  const known: readonly string[] = ROLE_NAMES;
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const there = [...known, "all"].join(", ");
    throw new UnknownRoleError(
      `There is no role "${unknown}".${didYouMean(unknown, known)} There are: ${there}.`,
    );
  }
  return ROLE_NAMES.filter((name) => names.includes(name));
}

export type RunningProcess = {
  /** Where the admin server listens, the real port instead of 0. */
  adminAddress: ListenAddress | null;
  /** Where the roles listen, those that do. */
  addresses: Readonly<Partial<Record<RoleName, ListenAddress>>>;
  /** Stops everything in reverse order; returns the names of what did not stop well. */
  stop(): Promise<string[]>;
};

/**
 * Starts the admin server, makes the database ready, and starts the roles. The admin server comes first, so
 * that a process that waits can be seen waiting. Takes over the pool: it is closed last, or when this fails.
 */
export async function run(
  roles: readonly RoleName[],
  resources: Resources,
  { signal }: { signal: AbortSignal },
): Promise<RunningProcess> {
  const { config, database, log, metrics } = resources;
  const built: Role[] = roles.map((name) => ROLES[name](resources));
  const siteParts = built.filter(isSitePart);
  const site = siteParts.length === 0 ? null : siteService(siteParts, resources);
  const inner = built.filter((role): role is InnerRole => !isSitePart(role));
  const needsDatabase = built.length === 0 || built.some((role) => !isSitePart(role) || role.needsDatabase);
  let phase: "starting" | "running" | "stopping" = "starting";
  const admin = adminServer({
    listen: config.adminListen,
    registry: metrics.registry,
    log,
    readyChecks: () => [
      { name: "process", trouble: async () => (phase === "running" ? null : phase) },
      // Whoever can do without it goes on being sent work.
      ...(needsDatabase
        ? [{ name: "database", trouble: () => readDatabaseClock(database).then(() => null) }]
        : []),
      ...[...built, ...(site === null ? [] : [site])].map((part) => ({
        name: part.name,
        trouble: async () => part.trouble(),
      })),
    ],
  });
  const pool: Service = { name: "pool", start: async () => {}, stop: () => database.close() };
  const running = await startServices(
    [pool, admin, schemaService(resources, signal), ...(site === null ? [] : [site]), ...inner],
    {
      log,
      stopTimeoutMs: config.stopTimeoutSeconds * SECOND_MS,
    },
  );
  phase = "running";
  return {
    adminAddress: admin.address(),
    addresses: addressesOf(siteParts, site),
    stop: () => {
      phase = "stopping";
      return running.stop();
    },
  };
}

function isSitePart(role: Role): role is SitePart {
  return "open" in role;
}

function addressesOf(parts: readonly SitePart[], site: Site | null): RunningProcess["addresses"] {
  const address = site?.address() ?? null;
  return address === null ? {} : Object.fromEntries(parts.map(({ name }) => [name, address]));
}

/** Started means that the schema is the one this code knows; it then needs no further care. */
function schemaService({ config, databaseOptions, log }: Resources, signal: AbortSignal): Service {
  return {
    name: "schema",
    start: async () => {
      const applied = await prepareDatabase({
        database: databaseOptions,
        migrate: config.migrateOnStart,
        waitMs: config.databaseWaitSeconds * SECOND_MS,
        onWaiting: (error) => log.warn({ err: error }, "waiting for the database"),
        signal,
      });
      if (applied.length > 0) log.info({ applied }, "schema migrated");
    },
    stop: async () => {},
  };
}
