// Puts an intake together for a process that receives signals: its own connections, the spool, what is known,
// the operations it calls, and the heart that beats for it. Protocols are joined to it elsewhere.
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Config } from "../config.ts";
import type { Batch, SignalTarget } from "../core/accepted.ts";
import { type Instant, SECOND_MS } from "../core/instant.ts";
import { leaseMsOf } from "../core/machine/watermark.ts";
import { encodeSignal } from "../intake/accepted-codec.ts";
import { DatabaseClock } from "../intake/clock.ts";
import { DirectIntake } from "../intake/direct.ts";
import type { RecordHow } from "../intake/direct/parts.ts";
import { Heart } from "../intake/heart.ts";
import { makeSpooling, type Spooling } from "../intake/spooling.ts";
import type { Log } from "../lib/log.ts";
import { provisionCheck } from "../operations/change-check.ts";
import { beatIntake, enterIntake, leaveIntake, skipLostBatches } from "../operations/intake-beat.ts";
import { recordSignals, type RecordResult } from "../operations/record-signals.ts";
import { findCheckIdsBySlugs, findCheckIdsByUuids } from "../store/checks/ping-targets.ts";
import { type Database, type DatabaseOptions, openDatabase } from "../store/db.ts";

/** One for the batch, one for the beat, and one while a broken one is still being let go of. */
const CONNECTIONS_MAX = 3;
const CONNECT_TIMEOUT_MS = 2_000;
const STATEMENT_TIMEOUT_MS = 10_000;
/** Entering is part of starting, and may take its time. */
const ENTER_MS_MAX = 10_000;
/** While something goes wrong it does so for every batch: one line for each kind of trouble in this time. */
const TROUBLE_LOG_PAUSE_MS = 10_000;

export type ReceivingResources = {
  config: Config;
  database: Database;
  databaseOptions: DatabaseOptions;
  log: Log;
};

export type Receiving = {
  intake: DirectIntake;
  heart: Heart;
  spooling: Spooling;
  /** Takes nothing more, gives the database what it can, says goodbye if nothing is left, lets go of everything. */
  stop(): Promise<void>;
};

/** Enters, and is ready to take signals. The heart has to be started once somebody listens. */
export async function startReceiving(resources: ReceivingResources): Promise<Receiving> {
  const { config, databaseOptions, log } = resources;
  const database = openDatabase({
    ...databaseOptions,
    applicationName: "overdue-intake",
    connectionsMax: CONNECTIONS_MAX,
    plansOnce: true,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  });
  const spooling = makeSpooling({ folder: config.spoolFolder, bytesMax: config.spoolBytesMax });
  try {
    const { intake, heart } = await join(resources, { database, spooling });
    return {
      intake,
      heart,
      spooling,
      stop: async () => {
        const withinMs = (config.stopTimeoutSeconds * SECOND_MS) / 2;
        const isEmpty = await intake.stop({ withinMs });
        if (!isEmpty) log.warn("signals are left in the spool; the next start gives them to the database");
        await heart.stop({ isEmpty });
        await spooling.close();
        await database.close();
      },
    };
  } catch (error) {
    await spooling.close();
    await database.close();
    throw error;
  }
}

async function join(
  resources: ReceivingResources,
  { database, spooling }: { database: Database; spooling: Spooling },
): Promise<{ intake: DirectIntake; heart: Heart }> {
  const { config, log } = resources;
  const name = `${hostname()}/${process.pid}`;
  const lostAfterMs = config.intakeLostAfterSeconds * SECOND_MS;
  const leaseMs = leaseMsOf({ hasSpool: config.spoolFolder !== null, lostAfterMs });
  const intakeId = randomUUID();
  const monotonic = () => performance.now();
  const entry = { intakeId, name, leaseMs };
  const entered = await enterIntake(database, entry, { giveUpAtMs: monotonic() + ENTER_MS_MAX });
  const clock = new DatabaseClock(entered.look);
  const { spool, known } = await openFolder(spooling, { intakeId, now: clock.now() }).catch(
    async (error: unknown) => {
      // Nobody has to wait for an intake that never came to be.
      await leaveIntake(database, { intakeId }).catch(() => false);
      throw error;
    },
  );
  const identity = { intakeId, spool };
  const sight = () => heart.sight();
  const intake = new DirectIntake({
    identity,
    clock,
    known,
    record: recorder(database, { config, sight, now: () => clock.now() }),
    skipTo: async (batch) => {
      const isSkipped = await skipLostBatches(database, { ...batch, name });
      if (isSkipped) log.error(batch, "confirmed signals are lost, and that time is blind");
    },
    ...lookups(resources, { now: () => clock.now() }),
    closeOrphan: async (id) => void (await leaveIntake(database, { intakeId: id })),
    mayPromise: () => heart.mayPromise(),
    onTrouble: troubleLog(log),
    monotonic,
  });
  const heart = new Heart({
    name,
    leaseMs,
    identity,
    entered,
    intake,
    clock,
    log,
    monotonic,
    enter: (next, limit) => enterIntake(database, next, limit),
    beat: (request, limit) => beatIntake(database, request, limit),
    leave: (going, limit) => leaveIntake(database, going, limit),
    openSpool: (id) => spooling.open(id),
    closeSpool: (old) => spooling.closeOne(old),
    spoolTrouble: (inUse) => spooling.trouble(inUse),
    findOrphans: () => spooling.findOrphans(),
    wall: () => Date.now(),
  });
  await intake.adopt();
  return { intake, heart };
}

async function openFolder(spooling: Spooling, { intakeId, now }: { intakeId: string; now: Instant }) {
  return { spool: await spooling.open(intakeId), known: await spooling.openKnown(now) };
}

function recorder(
  database: Database,
  parts: { config: Config; sight: Heart["sight"]; now: () => Instant },
): (batch: Batch, how: RecordHow) => Promise<RecordResult> {
  const { config, sight, now } = parts;
  const rules = { ratePerMinute: config.signalsPerMinute };
  const pingLogRows = config.pingLogLimit;
  return (batch, { replayed, unreadable, giveUpAtMs }) =>
    recordSignals(database, batch, {
      rules,
      pingLogRows,
      replayed,
      giveUpAtMs,
      sight: sight(),
      unreadable: unreadable.map((one) => ({ ...one, at: now() })),
      encode: (signal) => Buffer.from(encodeSignal(signal)),
    });
}

/** These go by the connections of the whole process: they must not hold up a batch. */
function lookups({ config, database }: ReceivingResources, { now }: { now: () => Instant }) {
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
      return provisionCheck(database, { pingKey, slug, at: now(), checkLimitDefault: config.checkLimit });
    },
  };
}

function troubleLog(log: Log): (error: unknown, what: string) => void {
  const lastMs = new Map<string, number>();
  return (error, what) => {
    const nowMs = performance.now();
    if (nowMs - (lastMs.get(what) ?? Number.NEGATIVE_INFINITY) < TROUBLE_LOG_PAUSE_MS) return;
    lastMs.set(what, nowMs);
    log.warn({ err: error, what }, "intake in trouble");
  };
}
