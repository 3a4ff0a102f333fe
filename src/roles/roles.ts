// The list of roles, and how a process starts and stops. The binary and the tests call the same `run`.
import type { Config } from "../config/config.ts";
import { retentionOf } from "../config/retention.ts";
import { givenSpoolFolder } from "../config/spool-folder.ts";
import type { CellView } from "../core/cells.ts";
import type { ServiceState } from "../core/database-identity.ts";
import { HOUR_MS, SECOND_MS } from "../core/instant.ts";
import type { ListenAddress } from "../lib/address.ts";
import { adminServer } from "../lib/admin-server.ts";
import type { UnmatchedRequests } from "../lib/http/unmatched-requests.ts";
import type { Log } from "../lib/log.ts";
import { type Loop, loopService } from "../lib/loop.ts";
import type { Metrics } from "../lib/metrics.ts";
import { explainConnection } from "../lib/postgres-error.ts";
import { type Service, startServices } from "../lib/service.ts";
import { isNotReadyYet, prepareDatabase, type PrepareOptions } from "../operations/prepare-database.ts";
import type { NearMissCollector } from "../services/ping/near-miss-collector.ts";
import type { Database, DatabaseOptions } from "../store/db.ts";
import { isReadOnly, readDatabaseClock } from "../store/instance.ts";
import { identityWatch } from "./database-identity.ts";
import type { RoleName } from "./names.ts";
import type { SharedIntake } from "./ping.ts";
import { missesOf, type PublicServer, publicServer, type ServerRole } from "./public-server.ts";

const READ_ONLY =
  "The database is read-only, such as a standby. Set OVERDUE_DATABASE_URL to the primary server, or promote this one.";

/** What roles are created from. */
export type Resources = {
  config: Config;
  /** The cells, if this server is one of several. */
  cells?: CellView | null;
  database: Database;
  /** How the database was opened, for parts that need their own connection. */
  databaseOptions: DatabaseOptions;
  log: Log;
  metrics: Metrics;
  /** False until the schema of the database has been verified. */
  isPrepared?: () => boolean;
  /** The one intake of the process. */
  receiving?: SharedIntake;
  /** Requests to this process that matched no route. */
  misses?: UnmatchedRequests;
  /** Requests to this process that reached no check. */
  nearMisses?: NearMissCollector;
  /** Whether this database is in service, or a restored copy. */
  serviceState?: () => ServiceState;
  /** How long the public URL is requested after a restore. Tests shorten it. */
  askMsMax?: number;
};

/** A part of the process without a public port: it can be started, stopped, and checked. */
type InnerRole = Service & { problem(): string | null };

/** Roles that serve HTTP share the public port; the others run separately. */
type Role = InnerRole | ServerRole;

const HOUSEKEEPER_IDLE_MS = HOUR_MS;
/** If the database has not been reached or migrated by then, roles that can run without it start. */
const EARLY_AFTER_MS = SECOND_MS;

/** Without a log, nothing of it is loaded. */
const NO_RECORDER = {
  name: "recorder",
  start: async () => {},
  stop: async () => {},
  problem: () => null,
} satisfies Loop;

/** The code of a role is loaded when the role is created. */
const ROLES = {
  /** Receives pings by HTTP. Several may run, also on one machine. */
  ping: async (resources) => (await import("./ping.ts")).pingRole(resources),
  /** Receives pings by email, if configured. Several may run. */
  smtp: async (resources) => (await import("./smtp.ts")).smtpRole(resources),
  /** Serves the Management API, badges and metrics. Several may run. */
  api: async (resources) => (await import("./api.ts")).apiRole(resources),
  /** Serves the dashboard. Several may run. */
  web: async (resources) => (await import("./web.ts")).webRole(resources),
  /** Applies pings from the log, if there is one. Several may run: they divide its partitions. */
  recorder: async (resources) =>
    resources.config.logTopic === null
      ? NO_RECORDER
      : (await import("./recorder.ts")).recorderRole(resources),
  /**
   * Processes deadlines and monitors the server. Several may run: each takes checks that the others have not locked.
   */
  sweeper: async (resources) => (await import("./sweeper.ts")).sweeperRole(resources),
  /** Sends pending notifications. Several may run: each sends what others have not claimed. */
  notifier: async (resources) => (await import("./notifier.ts")).notifierRole(resources),
  /** Moves large bodies to the object store, if there is one. Several may run: each moves what the others do not. */
  mover: async (resources) => (await import("./mover.ts")).moverRole(resources),
  /**
   * Deletes data past its retention period, and replaces what was made with the previous secret key. Several may run:
   * each takes what it finds.
   */
  housekeeper: async ({ config, database, log, metrics }) => {
    const [{ pruneHistory }, { secretRenewal }] = await Promise.all([
      import("../operations/prune-history.ts"),
      import("../operations/secrets.ts"),
    ]);
    const retention = retentionOf(config);
    const renewSecrets = secretRenewal(database, { settings: config, log });
    let runsAfter = 0;
    return loopService("housekeeper", {
      idleMs: HOUSEKEEPER_IDLE_MS,
      log,
      metrics: metrics.loops,
      tick: async () => {
        const now = await readDatabaseClock(database);
        const { isComplete, removed, runsThrough } = await pruneHistory(database, {
          now,
          retention,
          runsAfter,
        });
        runsAfter = runsThrough;
        if (Object.values(removed).some((count) => count > 0)) log.info({ removed }, "history pruned");
        const areSecretsRenewed = await renewSecrets(now);
        return isComplete && areSecretsRenewed ? "idle" : "again";
      },
    });
  },
} satisfies Record<RoleName, (resources: Resources) => Promise<Role>>;

export type RunningProcess = {
  /** The address of the admin server with the actual port instead of 0. */
  adminAddress: ListenAddress | null;
  /** The addresses of the roles that listen. */
  addresses: Readonly<Partial<Record<RoleName, ListenAddress>>>;
  /** Stops everything in reverse order; returns the names of parts that did not stop cleanly. */
  stop(): Promise<string[]>;
};

/**
 * Starts the admin server, prepares the database, and starts the roles. The admin server comes first, so that a
 * waiting process can be observed. While the database is unavailable, roles that can run without it do not wait.
 * Takes over the pool: it is closed last, or if this fails.
 */
export async function run(
  roles: readonly RoleName[],
  given: Resources,
  { signal }: { signal: AbortSignal },
): Promise<RunningProcess> {
  const { database, log, metrics } = given;
  metrics.pools.set("shared", database.pool);
  const config = { ...given.config, spoolFolder: givenSpoolFolder(given.config) };
  const resources = { ...given, config };
  let isPrepared = false;
  const prepared = { ...resources, isPrepared: () => isPrepared };
  const known = {
    ...prepared,
    ...(await intakeOf(roles, prepared)),
    misses: missesOf(config),
    serviceState: () => identity.state(),
  };
  const built: Role[] = [];
  for (const name of roles) built.push(await ROLES[name](known));
  const siteParts = built.filter(isSitePart);
  const listens = siteParts.some(({ ownAddress }) => ownAddress === undefined);
  const identity = identityWatch(known, { listens });
  // First: a domain of a status page serves nothing else.
  const statusParts = roles.includes("web") ? [(await import("./status.ts")).statusPart(known)] : [];
  const cells = known.cells ?? null;
  const cellParts = cells === null ? [] : [await cellPartOf(roles, { ...known, cells })];
  const allParts = listens ? [...statusParts, identity.part, ...cellParts, ...siteParts] : siteParts;
  const site = siteParts.length === 0 ? null : publicServer(allParts, known);
  const inner = built.filter((role): role is InnerRole => !isSitePart(role));
  const needsDatabase = built.length === 0 || built.some((role) => !isSitePart(role) || role.needsDatabase);
  // A sweeper does not detect its own absence: if none runs, another process has to report it.
  const watchOfSweeper =
    roles.includes("sweeper") || !needsDatabase ? [] : [(await import("./sweeper.ts")).healthLoop(known)];
  const nearMisses = known.nearMisses === undefined ? [] : [await nearMissesOf(known, known.nearMisses)];
  let phase: "starting" | "running" | "stopping" = "starting";
  const admin = adminServer({
    listen: config.adminListen,
    registry: metrics.registry,
    log,
    readyChecks: () => [
      { name: "process", problem: async () => (phase === "running" ? null : phase) },
      // Roles that do not need the database keep receiving requests.
      ...(needsDatabase
        ? [{ name: "database", problem: async () => ((await isReadOnly(database)) ? READ_ONLY : null) }]
        : []),
      ...[...built, ...(site === null ? [] : [site])].map((part) => ({
        name: part.name,
        problem: async () => part.problem(),
      })),
    ],
  });
  const pool: Service = { name: "pool", start: async () => {}, stop: () => database.close() };
  const order = inOrder({
    first: [pool, admin],
    schema: (limits) =>
      schemaService(known, {
        ...limits,
        signal,
        onReady: async () => {
          // Before any part evaluates deadlines or sends something: the data may have been restored.
          if (roles.length > 0) await identity.look();
          isPrepared = true;
        },
      }),
    waitMs: config.databaseWaitSeconds * SECOND_MS,
    isPrepared: () => isPrepared,
    hasEarly: siteParts.some((part) => !part.needsDatabase),
    onEarly: () => {
      if (!needsDatabase) phase = "running";
    },
    site,
    inner: roles.length === 0 ? inner : [identity.loop, ...nearMisses, ...watchOfSweeper, ...inner],
  });
  const running = await startServices(order, {
    log,
    stopTimeoutMs: config.stopTimeoutSeconds * SECOND_MS,
  });
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

/** The intake that the receiving roles share. */
async function intakeOf(
  roles: readonly RoleName[],
  resources: Resources,
): Promise<Pick<Resources, "receiving" | "nearMisses">> {
  if (!roles.includes("ping") && !roles.includes("smtp")) return {};
  const { nearMissCollector, sharedIntake } = await import("./ping.ts");
  const receiving = sharedIntake(resources);
  if (!roles.includes("ping")) return { receiving };
  return { receiving, nearMisses: nearMissCollector({ ...resources, receiving }) };
}

/** Forwards requests for other cells. */
async function cellPartOf(
  roles: readonly RoleName[],
  resources: Resources & { cells: CellView },
): Promise<ServerRole> {
  return (await import("./cells.ts")).cellPart(roles, resources);
}

/** Records requests that reached no check. */
async function nearMissesOf(resources: Resources, nearMisses: NearMissCollector): Promise<Service> {
  return (await import("./ping.ts")).nearMissLoop({ ...resources, nearMisses });
}

type StartPlan = {
  first: readonly Service[];
  schema: (limits: SchemaLimits) => Service;
  waitMs: number;
  isPrepared: () => boolean;
  /** Whether any role can start while the database is unavailable. */
  hasEarly: boolean;
  /** All roles that can start have started, and the process waits for the database. */
  onEarly: () => void;
  site: PublicServer | null;
  inner: readonly Service[];
};

/** Each is created when the previous one has started, because the order may depend on what was found. */
function* inOrder(plan: StartPlan): Generator<Service> {
  const { schema, site, hasEarly } = plan;
  yield* plan.first;
  yield hasEarly
    ? ifThere(schema({ waitMs: EARLY_AFTER_MS, lockWaitMs: EARLY_AFTER_MS }))
    : schema({ waitMs: plan.waitMs });
  const isEarly = !plan.isPrepared();
  if (site !== null) yield site;
  if (isEarly) {
    plan.onEarly();
    yield schema({ waitMs: Number.POSITIVE_INFINITY });
    if (site !== null) yield site.rest;
  }
  yield* plan.inner;
}

function isSitePart(role: Role): role is ServerRole {
  return "open" in role;
}

function addressesOf(parts: readonly ServerRole[], site: PublicServer | null): RunningProcess["addresses"] {
  const address = site?.address() ?? null;
  const found = parts.map(({ name, ownAddress }) => [
    name,
    ownAddress === undefined ? address : ownAddress(),
  ]);
  return Object.fromEntries(found.filter(([, one]) => one !== null));
}

/** How long to wait for the database and for locked tables, as in PrepareOptions. */
type SchemaLimits = Pick<PrepareOptions, "waitMs" | "lockWaitMs">;
type SchemaOptions = SchemaLimits & { signal: AbortSignal; onReady: () => Promise<void> };

/** Started means that the schema matches this code. */
function schemaService(
  { config, databaseOptions, log }: Resources,
  { signal, onReady, ...limits }: SchemaOptions,
): Service {
  return {
    name: "schema",
    start: async () => {
      const applied = await prepareDatabase({
        database: databaseOptions,
        migrate: config.migrateOnStart,
        ...limits,
        onWaiting: (error) =>
          log.warn({ err: error, reason: explainConnection(error) }, "waiting for the database"),
        onTurn: () => log.info("waiting for another process to finish migrating the database"),
        onLocked: ({ step, holders }) =>
          log.warn(
            { migration: step, holders },
            "migration is waiting for a table lock held by another session",
          ),
        signal,
      });
      await onReady();
      if (applied.length > 0) log.info({ applied }, "database migrated");
    },
    stop: async () => {},
  };
}

/**
 * The same service, except that an unreachable database, or one that waits for a lock to be migrated, does not make
 * it fail.
 */
function ifThere(service: Service): Service {
  return {
    name: `${service.name}, if available`,
    stop: () => service.stop(),
    start: () =>
      service.start().catch((error: unknown) => {
        if (!isNotReadyYet(error)) throw error;
      }),
  };
}
