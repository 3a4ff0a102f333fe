// The role that receives pings over HTTP, and the intake of the process. It accepts connections after the intake is
// registered, and the intake is closed after the last response.
import { randomUUID } from "node:crypto";
import { accessSync, constants } from "node:fs";
import { hostname } from "node:os";
import { type Config, ConfigError } from "../config/config.ts";
import { DatabaseClock } from "../core/database-clock.ts";
import { type Instant, SECOND_MS } from "../core/instant.ts";
import { MALFORMED_ALIASES_MAX, SCHEME_LENGTH_MAX } from "../core/limits.ts";
import type { PingSettings } from "../core/ping-settings.ts";
import { type Batch, LANES, type SignalTarget } from "../core/signal.ts";
import { type ClockReading, type IntakeEntered, leaseMsOf } from "../core/watermark.ts";
import { encodeSignal } from "../intake/accepted-codec.ts";
import { Heartbeat, type HeartbeatDeps, type Limit } from "../intake/heartbeat.ts";
import { DatabaseIntake, type IntakeDeps } from "../intake/intake.ts";
import { type IntakeFiles, openIntakeFiles } from "../intake/intake-files.ts";
import type { RecordHow } from "../intake/recorder.ts";
import { SpoolError } from "../intake/spool.ts";
import { folderOwner } from "../intake/spool-file.ts";
import { clientAddressReader, networkReader } from "../lib/http/client-address.ts";
import type { UnmatchedRequests } from "../lib/http/unmatched-requests.ts";
import type { Log } from "../lib/log.ts";
import { type Loop, loopService } from "../lib/loop.ts";
import {
  addFigures,
  addHistogram,
  ANSWER_SECONDS,
  type Figure,
  type Metrics,
  statusClass,
} from "../lib/metrics.ts";
import { isUnreachable } from "../lib/postgres-error.ts";
import { provisionCheck } from "../operations/checks.ts";
import { enterIntake, leaveIntake, recordHeartbeat, skipLostBatches } from "../operations/intakes.ts";
import { recordNearMisses } from "../operations/near-misses.ts";
import { findAliases, type RecordResult, recordSignals } from "../operations/record-signals.ts";
import { type PingHandler, pingHandler, type PingHandlerOptions } from "../services/ping/handler.ts";
import { NearMissCollector } from "../services/ping/near-miss-collector.ts";
import { pingLocator, type PublishedAddresses } from "../services/ping/ping-url.ts";
import { findCheckIdsBySlugs, findCheckIdsByUuids } from "../store/checks.ts";
import { type Database, type DatabaseOptions, openDatabase } from "../store/db.ts";
import { CommitInDoubtError, OutOfTimeError } from "../store/errors.ts";
import { findStoredSecret, readDatabaseClock } from "../store/instance.ts";
import { listMalformedAliases } from "../store/near-misses.ts";
import type { ServerRole } from "./public-server.ts";

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
    // With a spool, it keeps receiving while the database is unavailable.
    needsDatabase: config.spoolFolder === null,
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

function publishedAddresses(config: Config): PublishedAddresses {
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
      opening ??= receiving?.heartbeat.start() ?? null;
      await opening;
    },
    closing: () => receiving?.heartbeat.stopAccepting(),
    leave: async () => {
      joined -= 1;
      if (joined === 0) await receiving?.stop();
    },
    problem: () => (receiving === null ? null : problemOf(receiving)),
    current: () => receiving,
    addFigures: () => {
      if (hasFigures) return;
      hasFigures = true;
      addFigures(
        resources.metrics,
        figures(() => receiving),
      );
    },
  };
}

/** Why every ping is rejected; null if pings of known checks are accepted. */
function problemOf({ intake, heartbeat, spooling }: StartedIntake): string | null {
  const { isBlocked, isSpooling, isAnswering } = intake.state();
  if (isBlocked) return "pings are rejected: the database is unavailable or read-only, and there is no spool";
  if (!isSpooling) return null;
  if (!isAnswering && spooling.knownCount() === 0)
    return "pings are rejected: the database is unavailable, and no checks are known on this machine yet";
  if (!heartbeat.mayPromise()) return "pings are rejected: the lease has expired";
  const spool = spooling.state();
  if (spool?.full === true)
    return "pings are rejected: the database is unavailable, and the spool or its disk is full";
  if (spool !== null && spool.failed !== null) return `pings are rejected: the spool failed: ${spool.failed}`;
  return null;
}

function figures(receiving: () => StartedIntake | null): Figure[] {
  const intake = () => receiving()?.intake.state() ?? null;
  const heartbeat = () => receiving()?.heartbeat.state() ?? null;
  const spool = () => receiving()?.spooling.state() ?? null;
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
    gauge("intake_queued", "Pings waiting for a batch.", () => intake()?.queued ?? null),
    gauge("intake_detour", "1 while pings are stored in the spool.", () => {
      const state = intake();
      return state === null ? null : Number(state.isSpooling);
    }),
    counter("intake_taken", "Accepted pings.", () => intake()?.takenCount ?? null),
    counter("intake_refused", "Rejected pings.", () => intake()?.refusedCount ?? null),
    {
      name: "overdue_intake_dropped_total",
      help: "Accepted pings that were dropped because the check no longer exists or the slug is ambiguous.",
      kind: "counter",
      label: "reason",
      readEach: () => intake()?.dropped ?? {},
    },
    counter("intake_rejected", "Quarantined pings.", () => intake()?.rejectedCount ?? null),
    counter(
      "intake_failed",
      "Pings rejected because of an error in Overdue.",
      () => intake()?.failedCount ?? null,
    ),
    counter("intake_replayed", "Pings recorded from the spool.", () => intake()?.replayedCount ?? null),
    gauge("intake_beat_age_seconds", "Time since the last successful heartbeat.", () =>
      seconds(heartbeat()?.sinceHeartbeatMs),
    ),
    counter("intake_beat_errors", "Failed heartbeats.", () => heartbeat()?.failures ?? null),
    gauge("watermark_lag_seconds", "Watermark lag.", () => seconds(heartbeat()?.watermarkLagMs)),
    counter("intakes_lost", "Other receiving processes declared lost.", () => heartbeat()?.lost ?? null),
    counter("blind_intervals", "Recorded monitoring gaps.", () => heartbeat()?.blind ?? null),
    gauge("spool_signals", "Pings in the spool.", () => spool()?.signals ?? null),
    gauge("spool_bytes", "Size of the spool.", () => spool()?.bytes ?? null),
    gauge("spool_lost_files", "Unreadable spool files.", () => spool()?.lostFiles.length ?? null),
    gauge(
      "known_checks",
      "Checks known without access to the database.",
      () => receiving()?.spooling.knownCount() ?? null,
    ),
  ];
}

// Creates an intake: its database connections, the spool, the known checks, the operations it calls, and its
// heartbeat.

/** One for each lane, one for the heartbeat, and one while a broken one is being released. */
export const INTAKE_CONNECTIONS_MAX = LANES + 2;
/** For looking up and creating unknown checks: API requests must not delay pings. */
export const LOOKUP_CONNECTIONS_MAX = 4;
const CONNECT_TIMEOUT_MS = 2_000;
const STATEMENT_TIMEOUT_MS = 10_000;
/** Registering is part of starting, and may take longer. */
const ENTER_MS_MAX = 10_000;
/** Errors repeat with every batch: log one line for each kind of error in this time. */
const TROUBLE_LOG_PAUSE_MS = 10_000;

export type IntakeResources = {
  config: Config;
  databaseOptions: DatabaseOptions;
  log: Log;
  metrics?: Metrics;
  /** False until the schema of the database has been verified. */
  isPrepared?: () => boolean;
};

export type StartedIntake = {
  intake: DatabaseIntake;
  heartbeat: Heartbeat;
  spooling: IntakeFiles;
  /**
   * Accepts no more pings, writes what it can to the database, unregisters if nothing is left, and releases
   * everything.
   */
  stop(): Promise<void>;
};

/**
 * Registers, and is then ready to accept pings. The heartbeat has to be started once a role listens. With a spool, it
 * is also ready while the database is unavailable, and registers later.
 */
export async function startIntake(resources: IntakeResources): Promise<StartedIntake> {
  const { config, databaseOptions, log, metrics } = resources;
  const timeouts = { connectTimeoutMs: CONNECT_TIMEOUT_MS, statementTimeoutMs: STATEMENT_TIMEOUT_MS };
  const database = openDatabase({
    ...databaseOptions,
    ...timeouts,
    applicationName: "overdue-intake",
    connectionsMax: INTAKE_CONNECTIONS_MAX,
    plansOnce: true,
  });
  const lookupDatabase = openDatabase({
    ...databaseOptions,
    ...timeouts,
    applicationName: "overdue-intake-lookups",
    connectionsMax: LOOKUP_CONNECTIONS_MAX,
  });
  metrics?.pools.set("intake", database.pool).set("intake-lookups", lookupDatabase.pool);
  const closeDatabases = () => Promise.all([database.close(), lookupDatabase.close()]);
  const spooling = openIntakeFiles({ folder: config.spoolFolder, bytesMax: config.spoolBytesMax });
  try {
    const { intake, heartbeat } = await join(resources, { database, lookupDatabase, spooling });
    return {
      intake,
      heartbeat,
      spooling,
      stop: async () => {
        const withinMs = (config.stopTimeoutSeconds * SECOND_MS) / 2;
        const isEmpty = await intake.stop({ withinMs });
        if (!isEmpty) log.warn("pings remain in the spool; the next start records them in the database");
        const hasLeft = await heartbeat.stop({ isEmpty });
        await spooling.close({ hasLeft });
        await closeDatabases();
      },
    };
  } catch (error) {
    await spooling.close({ hasLeft: true });
    await closeDatabases();
    throw error;
  }
}

/** A folder that cannot be created or written to is an error in the settings, and the message names the setting. */
function refuseFolder(folder: string | null): (error: unknown) => never {
  return (error) => {
    const isOfSystem = error instanceof Error && "syscall" in error && "path" in error;
    if (folder === null || !(isOfSystem || error instanceof SpoolError)) throw error;
    const why = isWritable(folder) ? error.message : `no permission to write to ${folder}; ${error.message}`;
    throw new ConfigError([
      `Cannot use OVERDUE_SPOOL_FOLDER (${why}). Set it to a folder on a local disk that this user can write to.`,
    ]);
  };
}

/** The error of SQLite says only that it cannot open a file. */
function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

type Deps = { database: Database; lookupDatabase: Database; spooling: IntakeFiles };

async function join(
  resources: IntakeResources,
  { database, lookupDatabase, spooling }: Deps,
): Promise<{ intake: DatabaseIntake; heartbeat: Heartbeat }> {
  const { config, log } = resources;
  const name = `${hostname()}/${process.pid}`;
  const lostAfterMs = config.intakeLostAfterSeconds * SECOND_MS;
  const leaseMs = leaseMsOf({ hasSpool: config.spoolFolder !== null, lostAfterMs });
  const intakeId = randomUUID();
  const monotonic = () => performance.now();
  // The file is created before the row: a row without a file would delay all alerts if this process died now.
  const spool = await spooling.open(intakeId).catch(refuseFolder(config.spoolFolder));
  const known = await spooling.openKnown(Date.now());
  const enter = entrance(resources, { database, spooling });
  const arriving = { spooling, hasSpool: spool !== null, log };
  const arrived = await arrive((limit) => enter({ intakeId, name, leaseMs }, limit), arriving);
  const { entered, look, lastHeartbeat } = arrived;
  const clock = new DatabaseClock(look, () => performance.now());
  const identity = { intakeId, spool };
  const visibility = () => heartbeat.visibility();
  const intake = new DatabaseIntake({
    identity,
    clock,
    known,
    record: recorder(database, { config, visibility, now: () => clock.now(), log }),
    skipTo: skipper(database, { name, log }),
    ...lookups(lookupDatabase, { checkLimitDefault: config.checkLimit, now: () => clock.now() }),
    closeOrphan: async (id) => void (await leaveIntake(database, { intakeId: id })),
    hasEntered: () => heartbeat.hasEntered(),
    mayPromise: () => heartbeat.mayPromise(),
    onError: errorLog(log),
    monotonic,
  });
  const heartbeat = new Heartbeat({
    name,
    leaseMs,
    identity,
    entered,
    lastHeartbeat,
    intake,
    clock,
    log,
    monotonic,
    enter,
    sendHeartbeat: (request, limit) => recordHeartbeat(database, request, limit),
    leave: (going, limit) => leaveIntake(database, going, limit),
    ...spoolParts(spooling),
    wall: () => Date.now(),
  });
  await intake.adopt();
  return { intake, heartbeat };
}

/** What the heartbeat needs from the spool. */
function spoolParts(spooling: IntakeFiles) {
  return {
    openSpool: (id: string) => spooling.open(id),
    closeSpool: (old: Parameters<IntakeFiles["closeOne"]>[0]) => spooling.closeOne(old),
    spoolProblem: (inUse: Parameters<IntakeFiles["problem"]>[0]) => spooling.problem(inUse),
    spoolFill: () => spooling.fill(),
    findOrphans: () => spooling.findOrphans(),
    releaseIntakes: (intakeIds: Parameters<IntakeFiles["releaseIntakes"]>[0]) =>
      spooling.releaseIntakes(intakeIds),
    noteHeartbeat: (heartbeat: Parameters<IntakeFiles["noteHeartbeat"]>[0]) =>
      spooling.noteHeartbeat(heartbeat),
  };
}

/** No statement may run before the schema has been verified. */
function entrance(
  { config, isPrepared = () => true }: IntakeResources,
  { database, spooling }: Pick<Deps, "database" | "spooling">,
): HeartbeatDeps["enter"] {
  return async (entry, limit) => {
    if (!isPrepared()) throw new DatabaseAwayError("The database has not been migrated yet.");
    await claimSpool(database, { spooling, folder: config.spoolFolder });
    return enterIntake(database, entry, limit);
  };
}

/**
 * A process records the pings it finds in the folder in its own database. Pings of another server would be dropped
 * there, because their checks do not exist. So nothing is replayed before the folder is known to belong to this
 * server.
 */
async function claimSpool(
  database: Database,
  { spooling, folder }: { spooling: IntakeFiles; folder: string | null },
): Promise<void> {
  const secret = await findStoredSecret(database);
  if (secret === null || (await spooling.claim(folderOwner(secret)))) return;
  throw new ConfigError([
    `Cannot use OVERDUE_SPOOL_FOLDER: ${folder} contains pings of another Overdue server. Use a separate folder for each server on this machine. If the other server no longer exists, delete its files there.`,
  ]);
}

class DatabaseAwayError extends Error {
  override readonly name = "DatabaseAwayError";
}

type Arrival = {
  entered: IntakeEntered | null;
  /** The database's clock, as far as it is known. */
  look: ClockReading;
  lastHeartbeat: HeartbeatDeps["lastHeartbeat"];
};

/** Registers or, with a spool and without the database, uses what the last heartbeat on this machine stored. */
async function arrive(
  enter: (limit: Limit) => Promise<IntakeEntered>,
  { spooling, hasSpool, log }: { spooling: IntakeFiles; hasSpool: boolean; log: Log },
): Promise<Arrival> {
  try {
    const entered = await enter({ giveUpAtMs: performance.now() + ENTER_MS_MAX });
    const { look } = entered;
    return { entered, look, lastHeartbeat: { ms: look.sentAtMs, isAlone: true } };
  } catch (error) {
    if (!hasSpool || !isAway(error)) throw error;
    log.warn({ err: error }, "the database is unavailable; pings for known checks are stored in the spool");
  }
  const last = await spooling.lastHeartbeat();
  const [nowMs, wallAt] = [performance.now(), Date.now()];
  const databaseAt = wallAt + (last?.databaseAheadMs ?? 0);
  return {
    entered: null,
    look: { databaseAt, sentAtMs: nowMs, receivedAtMs: nowMs },
    lastHeartbeat: {
      ms: last === null ? Number.NEGATIVE_INFINITY : nowMs - Math.max(0, wallAt - last.wallAt),
      isAlone: last?.isAlone ?? false,
    },
  };
}

function isAway(error: unknown): boolean {
  return (
    error instanceof DatabaseAwayError ||
    error instanceof OutOfTimeError ||
    error instanceof CommitInDoubtError ||
    isUnreachable(error)
  );
}

function recorder(
  database: Database,
  deps: { config: Config; visibility: Heartbeat["visibility"]; now: () => Instant; log: Log },
): (batch: Batch, how: RecordHow) => Promise<RecordResult> {
  const { config, visibility, now } = deps;
  const rules = { ratePerMinute: config.signalsPerMinute };
  const pingLogRows = config.pingLogLimit;
  const logFault = errorLog(deps.log);
  return (batch, { replayed, unreadable, giveUpAtMs, quarantinesFailed }) =>
    recordSignals(database, batch, {
      rules,
      pingLogRows,
      replayed,
      giveUpAtMs,
      quarantinesFailed,
      onFault: (error) => logFault(error, replayed ? "a ping was quarantined" : "a ping was rejected"),
      visibility: visibility(),
      unreadable: unreadable.map((one) => ({ ...one, at: now() })),
      encode: (signal) => Buffer.from(encodeSignal(signal)),
    });
}

function skipper(database: Database, { name, log }: { name: string; log: Log }): IntakeDeps["skipTo"] {
  return async (batch) => {
    const isSkipped = await skipLostBatches(database, { ...batch, name });
    if (isSkipped) log.error(batch, "confirmed pings were lost; recorded a monitoring gap");
  };
}

/** These use the shared connection pool of the process: they must not delay a batch. */
function lookups(
  database: Database,
  { checkLimitDefault, now }: { checkLimitDefault: number | null; now: () => Instant },
) {
  return {
    find: async (target: SignalTarget) => {
      const id =
        target.by === "uuid"
          ? (await findCheckIdsByUuids(database, [target.uuid])).get(target.uuid)
          : (await findCheckIdsBySlugs(database, [target]))[0];
      if (id === "ambiguous") return id;
      if (id !== undefined && id !== null) return "known";
      const [alias = null] = await findAliases(database, [target]);
      return alias === null ? "unknown" : "known";
    },
    create: async (target: SignalTarget, settings: PingSettings) => {
      if (target.by === "uuid") return "unknown" as const;
      const { pingKey, slug } = target;
      return provisionCheck(database, { pingKey, slug, given: settings, at: now(), checkLimitDefault });
    },
  };
}

function errorLog(log: Log): (error: unknown, what: string) => void {
  const lastMs = new Map<string, number>();
  return (error, what) => {
    const nowMs = performance.now();
    if (nowMs - (lastMs.get(what) ?? Number.NEGATIVE_INFINITY) < TROUBLE_LOG_PAUSE_MS) return;
    lastMs.set(what, nowMs);
    log.warn({ err: error, what }, "receiving pings failed");
  };
}
