// Puts an intake together for a process that receives signals: its own connections, the spool, what is known,
// the operations it calls, and the heart that beats for it. Protocols are joined to it elsewhere.
import { randomUUID } from "node:crypto";
import { accessSync, constants } from "node:fs";
import { hostname } from "node:os";
import { type Config, ConfigError } from "../config.ts";
import type { Batch, SignalTarget } from "../core/accepted.ts";
import { type Instant, SECOND_MS } from "../core/instant.ts";
import type { Entered } from "../core/machine/intake-beat.ts";
import { type ClockLook, leaseMsOf } from "../core/machine/watermark.ts";
import { encodeSignal } from "../intake/accepted-codec.ts";
import type { HeartParts, Limit } from "../intake/beat/parts.ts";
import { DatabaseClock } from "../intake/clock.ts";
import { DirectIntake } from "../intake/direct.ts";
import type { IntakeParts, RecordHow } from "../intake/direct/parts.ts";
import { Heart } from "../intake/heart.ts";
import { SpoolError } from "../intake/spool/refusal.ts";
import { makeSpooling, type Spooling } from "../intake/spooling.ts";
import { isUnreachable } from "../lib/connection-trouble.ts";
import type { Log } from "../lib/log.ts";
import { hmacSha256Hex } from "../lib/secrets/hashes.ts";
import { provisionCheck } from "../operations/change-check.ts";
import { beatIntake, enterIntake, leaveIntake, skipLostBatches } from "../operations/intake-beat.ts";
import { recordSignals, type RecordResult } from "../operations/record-signals.ts";
import { findCheckIdsBySlugs, findCheckIdsByUuids } from "../store/checks/ping-targets.ts";
import { type Database, type DatabaseOptions, openDatabase } from "../store/db.ts";
import { CommitInDoubtError, OutOfTimeError } from "../store/errors.ts";
import { findStoredSecret } from "../store/instance.ts";

/** One for the batch, one for the beat, and one while a broken one is still being let go of. */
export const RECEIVING_CONNECTIONS_MAX = 3;
/** For finding and making checks that nobody here knows yet: the API's requests must not keep signals waiting. */
export const LOOKUP_CONNECTIONS_MAX = 4;
const CONNECT_TIMEOUT_MS = 2_000;
const STATEMENT_TIMEOUT_MS = 10_000;
/** Entering is part of starting, and may take its time. */
const ENTER_MS_MAX = 10_000;
/** While something goes wrong it does so for every batch: one line for each kind of trouble in this time. */
const TROUBLE_LOG_PAUSE_MS = 10_000;

export type ReceivingResources = {
  config: Config;
  databaseOptions: DatabaseOptions;
  log: Log;
  /** False while nobody knows whether the database has the schema of this code. */
  isPrepared?: () => boolean;
};

export type Receiving = {
  intake: DirectIntake;
  heart: Heart;
  spooling: Spooling;
  /** Takes nothing more, gives the database what it can, says goodbye if nothing is left, lets go of everything. */
  stop(): Promise<void>;
};

/**
 * Enters, and is ready to take signals. The heart has to be started once somebody listens. With a spool it is
 * ready, too, while the database is away, and enters later.
 */
export async function startReceiving(resources: ReceivingResources): Promise<Receiving> {
  const { config, databaseOptions, log } = resources;
  const timeouts = { connectTimeoutMs: CONNECT_TIMEOUT_MS, statementTimeoutMs: STATEMENT_TIMEOUT_MS };
  const database = openDatabase({
    ...databaseOptions,
    ...timeouts,
    applicationName: "overdue-intake",
    connectionsMax: RECEIVING_CONNECTIONS_MAX,
    plansOnce: true,
  });
  const lookupDatabase = openDatabase({
    ...databaseOptions,
    ...timeouts,
    applicationName: "overdue-intake-lookups",
    connectionsMax: LOOKUP_CONNECTIONS_MAX,
  });
  const closeDatabases = () => Promise.all([database.close(), lookupDatabase.close()]);
  const spooling = makeSpooling({ folder: config.spoolFolder, bytesMax: config.spoolBytesMax });
  try {
    const { intake, heart } = await join(resources, { database, lookupDatabase, spooling });
    return {
      intake,
      heart,
      spooling,
      stop: async () => {
        const withinMs = (config.stopTimeoutSeconds * SECOND_MS) / 2;
        const isEmpty = await intake.stop({ withinMs });
        if (!isEmpty) log.warn("pings remain in the spool; the next start records them in the database");
        const hasLeft = await heart.stop({ isEmpty });
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

/** A folder that cannot be made or written to is a matter of the settings, and the message says which. */
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

/** SQLite says only that it cannot open a file. */
function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

type Parts = { database: Database; lookupDatabase: Database; spooling: Spooling };

async function join(
  resources: ReceivingResources,
  { database, lookupDatabase, spooling }: Parts,
): Promise<{ intake: DirectIntake; heart: Heart }> {
  const { config, log } = resources;
  const name = `${hostname()}/${process.pid}`;
  const lostAfterMs = config.intakeLostAfterSeconds * SECOND_MS;
  const leaseMs = leaseMsOf({ hasSpool: config.spoolFolder !== null, lostAfterMs });
  const intakeId = randomUUID();
  const monotonic = () => performance.now();
  // The file comes before the row: a row without a file would hold up everybody if this process died now.
  const spool = await spooling.open(intakeId).catch(refuseFolder(config.spoolFolder));
  const known = await spooling.openKnown(Date.now());
  const enter = entrance(resources, { database, spooling });
  const arriving = { spooling, hasSpool: spool !== null, log };
  const arrived = await arrive((limit) => enter({ intakeId, name, leaseMs }, limit), arriving);
  const { entered, look, lastBeat } = arrived;
  const clock = new DatabaseClock(look);
  const identity = { intakeId, spool };
  const sight = () => heart.sight();
  const intake = new DirectIntake({
    identity,
    clock,
    known,
    record: recorder(database, { config, sight, now: () => clock.now(), log }),
    skipTo: skipper(database, { name, log }),
    ...lookups(lookupDatabase, { checkLimitDefault: config.checkLimit, now: () => clock.now() }),
    closeOrphan: async (id) => void (await leaveIntake(database, { intakeId: id })),
    hasEntered: () => heart.hasEntered(),
    mayPromise: () => heart.mayPromise(),
    onTrouble: troubleLog(log),
    monotonic,
  });
  const heart = new Heart({
    name,
    leaseMs,
    identity,
    entered,
    lastBeat,
    intake,
    clock,
    log,
    monotonic,
    enter,
    beat: (request, limit) => beatIntake(database, request, limit),
    leave: (going, limit) => leaveIntake(database, going, limit),
    ...spoolParts(spooling),
    wall: () => Date.now(),
  });
  await intake.adopt();
  return { intake, heart };
}

/** What the heart needs of the spool. */
function spoolParts(spooling: Spooling) {
  return {
    openSpool: (id: string) => spooling.open(id),
    closeSpool: (old: Parameters<Spooling["closeOne"]>[0]) => spooling.closeOne(old),
    spoolTrouble: (inUse: Parameters<Spooling["trouble"]>[0]) => spooling.trouble(inUse),
    spoolFill: () => spooling.fill(),
    findOrphans: () => spooling.findOrphans(),
    letGo: (intakeIds: Parameters<Spooling["letGo"]>[0]) => spooling.letGo(intakeIds),
    noteBeat: (beat: Parameters<Spooling["noteBeat"]>[0]) => spooling.noteBeat(beat),
  };
}

/** Nobody may touch the tables before they are known to be the right ones. */
function entrance(
  { config, isPrepared = () => true }: ReceivingResources,
  { database, spooling }: Pick<Parts, "database" | "spooling">,
): HeartParts["enter"] {
  return async (entry, limit) => {
    if (!isPrepared()) throw new DatabaseAwayError("The database has not been migrated yet.");
    await claimSpool(database, { spooling, folder: config.spoolFolder });
    return enterIntake(database, entry, limit);
  };
}

/** What the owner of a folder is known by there is no secret. */
const OWNER_MESSAGE = "spool folder";

/**
 * Whoever finds signals in the folder gives them to its database. Those of another server would be dropped there, because
 * it has no such checks. So nothing is replayed before the folder is known to be that of this server.
 */
async function claimSpool(
  database: Database,
  { spooling, folder }: { spooling: Spooling; folder: string | null },
): Promise<void> {
  const secret = await findStoredSecret(database);
  if (secret === null || (await spooling.claim(hmacSha256Hex({ key: secret, message: OWNER_MESSAGE }))))
    return;
  throw new ConfigError([
    `Cannot use OVERDUE_SPOOL_FOLDER: ${folder} contains pings of another Overdue server. Use a separate folder for each server on this machine. If the other server no longer exists, delete its files there.`,
  ]);
}

class DatabaseAwayError extends Error {
  override readonly name = "DatabaseAwayError";
}

type Arrival = {
  entered: Entered | null;
  /** The database's clock, as far as it is known. */
  look: ClockLook;
  lastBeat: HeartParts["lastBeat"];
};

/** Enters, or, with a spool and without the database, goes by what the last beat on this machine said. */
async function arrive(
  enter: (limit: Limit) => Promise<Entered>,
  { spooling, hasSpool, log }: { spooling: Spooling; hasSpool: boolean; log: Log },
): Promise<Arrival> {
  try {
    const entered = await enter({ giveUpAtMs: performance.now() + ENTER_MS_MAX });
    const { look } = entered;
    return { entered, look, lastBeat: { ms: look.sentAtMs, isAlone: true } };
  } catch (error) {
    if (!hasSpool || !isAway(error)) throw error;
    log.warn({ err: error }, "the database is unavailable; pings for known checks are stored in the spool");
  }
  const last = await spooling.lastBeat();
  const [nowMs, wallAt] = [performance.now(), Date.now()];
  const databaseAt = wallAt + (last?.databaseAheadMs ?? 0);
  return {
    entered: null,
    look: { databaseAt, sentAtMs: nowMs, receivedAtMs: nowMs },
    lastBeat: {
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
  parts: { config: Config; sight: Heart["sight"]; now: () => Instant; log: Log },
): (batch: Batch, how: RecordHow) => Promise<RecordResult> {
  const { config, sight, now } = parts;
  const rules = { ratePerMinute: config.signalsPerMinute };
  const pingLogRows = config.pingLogLimit;
  const logFault = troubleLog(parts.log);
  return (batch, { replayed, unreadable, giveUpAtMs, quarantinesFailed }) =>
    recordSignals(database, batch, {
      rules,
      pingLogRows,
      replayed,
      giveUpAtMs,
      quarantinesFailed,
      onFault: (error) => logFault(error, replayed ? "a ping was quarantined" : "a ping was rejected"),
      sight: sight(),
      unreadable: unreadable.map((one) => ({ ...one, at: now() })),
      encode: (signal) => Buffer.from(encodeSignal(signal)),
    });
}

function skipper(database: Database, { name, log }: { name: string; log: Log }): IntakeParts["skipTo"] {
  return async (batch) => {
    const isSkipped = await skipLostBatches(database, { ...batch, name });
    if (isSkipped) log.error(batch, "confirmed pings were lost; recorded a monitoring gap");
  };
}

/** These go by the connections of the whole process: they must not hold up a batch. */
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
      return id === undefined || id === null ? "unknown" : "known";
    },
    create: async (target: SignalTarget) => {
      if (target.by === "uuid") return "unknown" as const;
      const { pingKey, slug } = target;
      return provisionCheck(database, { pingKey, slug, at: now(), checkLimitDefault });
    },
  };
}

function troubleLog(log: Log): (error: unknown, what: string) => void {
  const lastMs = new Map<string, number>();
  return (error, what) => {
    const nowMs = performance.now();
    if (nowMs - (lastMs.get(what) ?? Number.NEGATIVE_INFINITY) < TROUBLE_LOG_PAUSE_MS) return;
    lastMs.set(what, nowMs);
    log.warn({ err: error, what }, "receiving pings failed");
  };
}
