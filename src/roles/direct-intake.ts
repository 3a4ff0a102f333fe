// The intake of a process without a log: its database connections, the spool, the known checks, the operations it calls,
// and its heartbeat.
import { randomUUID } from "node:crypto";
import { accessSync, constants } from "node:fs";
import { hostname } from "node:os";
import { type Config, ConfigError } from "../config/config.ts";
import { DatabaseClock } from "../core/database-clock.ts";
import { type Instant, SECOND_MS } from "../core/instant.ts";
import { type Batch, LANES, type SignalTarget } from "../core/signal.ts";
import { type ClockReading, type IntakeEntered, leaseMsOf } from "../core/watermark.ts";
import { encodeSignal } from "../intake/accepted-codec.ts";
import { Heartbeat, type HeartbeatDeps, type Limit } from "../intake/heartbeat.ts";
import { DatabaseIntake, type IntakeDeps } from "../intake/intake.ts";
import { type IntakeFiles, openIntakeFiles } from "../intake/intake-files.ts";
import type { RecordHow } from "../intake/recorder.ts";
import { SpoolError } from "../intake/spool.ts";
import { folderOwner } from "../intake/spool-file.ts";
import type { Log } from "../lib/log.ts";
import { counter, type Figure } from "../lib/metrics.ts";
import { isUnreachable } from "../lib/postgres-error.ts";
import { troubleLog } from "../lib/trouble-log.ts";
import { enterIntake, leaveIntake, recordHeartbeat, skipLostBatches } from "../operations/intakes.ts";
import { findAliases, type RecordResult, recordSignals } from "../operations/record-signals.ts";
import { findCheckIdsBySlugs, findCheckIdsByUuids } from "../store/checks.ts";
import { type Database, openDatabase } from "../store/db.ts";
import { CommitInDoubtError, OutOfTimeError } from "../store/errors.ts";
import { findStoredSecret } from "../store/instance.ts";
import {
  creator,
  type IntakeResources,
  LOOKUP_CONNECTIONS_MAX,
  type StartedIntake,
} from "./started-intake.ts";

/** One for each lane, one for the heartbeat, and one while a broken one is being released. */
export const INTAKE_CONNECTIONS_MAX = LANES + 2;
const TROUBLE = "receiving pings failed";
const CONNECT_TIMEOUT_MS = 2_000;
const STATEMENT_TIMEOUT_MS = 10_000;
/** Registering is part of starting, and may take longer. */
const ENTER_MS_MAX = 10_000;

/** An intake that records pings in the database before they are answered. */
export type DirectIntake = StartedIntake & {
  intake: DatabaseIntake;
  heartbeat: Heartbeat;
  spooling: IntakeFiles;
};

/**
 * Registers, and is then ready to accept pings. The heartbeat has to be started once a role listens. With a spool, it
 * is also ready while the database is unavailable, and registers later.
 */
export async function startDirectIntake(resources: IntakeResources): Promise<DirectIntake> {
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
      start: () => heartbeat.start(),
      stopAccepting: () => heartbeat.stopAccepting(),
      problem: () => problemOf({ intake, heartbeat, spooling }),
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
    onError: troubleLog(log, TROUBLE),
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
  const logFault = troubleLog(deps.log, TROUBLE);
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
    create: creator(database, { checkLimitDefault, now }),
  };
}

/** Why every ping is rejected; null if pings of known checks are accepted. */
function problemOf({
  intake,
  heartbeat,
  spooling,
}: Pick<DirectIntake, "intake" | "heartbeat" | "spooling">): string | null {
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

/** The metrics of such an intake. */
export function directFigures(started: () => StartedIntake | null): Figure[] {
  const receiving = () => started() as DirectIntake | null;
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
