// Intakes, the processes that receive pings: they register before they listen, send a heartbeat each second,
// declare others lost, and leave. Each step is one transaction on the database's clock; the rules are in
// core/watermark.ts.
import type { Visibility } from "../core/deadline.ts";
import { DAY_MS, type Instant, type Interval } from "../core/instant.ts";
import { DAYS_KEPT, keptFrom } from "../core/retention.ts";
import type { BatchNumber } from "../core/signal.ts";
import {
  type AttributedRefusals,
  type Blindness,
  blindTimes,
  type ClockReading,
  endsGap,
  hasLostBatches,
  HEARTBEAT_GAP_MS_MAX,
  type HeartbeatRequest,
  type HeartbeatResult,
  type IntakeEntered,
  type IntakeEntry,
  isLost,
  type Observation,
  SETTLE_MS,
  settledVisibility,
  settlingOf,
  WATERMARK_LAG_MS,
  withoutAttendedTime,
} from "../core/watermark.ts";
import { findCheckIdsBySlugs, findCheckIdsByUuids } from "../store/checks.ts";
import type { Database, Db } from "../store/db.ts";
import { findStoredIdentity, readDatabaseClock } from "../store/instance.ts";
import {
  closeIntake,
  closeIntakeIfFree,
  findHeartbeats,
  findSequence,
  insertBlindInterval,
  insertRefusedIntervals,
  type Intake,
  listBlindIntervalsAfter,
  listOpenIntakes,
  readVisibility,
  registerIntake,
  skipSequence,
  type StoredVisibility,
  writeHeartbeat as storeHeartbeat,
} from "../store/intakes.ts";
import { inTransaction, type TransactionOptions, type Tx } from "../store/transaction.ts";

type Limit = Pick<TransactionOptions, "giveUpAtMs">;

/**
 * Registers an intake before it listens. Its watermark and first heartbeat are set to the last heartbeat of
 * any intake: nothing fires until its own first heartbeat has reported the blind interval in between. If that
 * never comes, the next intake reports it.
 */
export function enterIntake(
  database: Database,
  { intakeId, name, leaseMs, unappliedAt }: IntakeEntry,
  limit: Limit = {},
): Promise<IntakeEntered> {
  return inTransaction(
    database,
    async (tx) => {
      const look = await lookAtClock(tx);
      const now = look.databaseAt;
      const { newestHeartbeatAt: lastHeartbeatAt } = await findHeartbeats(tx, { through: now });
      await registerIntake(tx, {
        id: intakeId,
        name,
        startedAt: now,
        heartbeatAt: lastHeartbeatAt ?? now,
        watermarkAt: Math.min(lastHeartbeatAt ?? now, unappliedAt ?? now, now) - WATERMARK_LAG_MS,
        leaseUntilAt: now + leaseMs,
        spoolEmpty: true,
      });
      return { look, lastHeartbeatAt };
    },
    limit,
  );
}

/** The reason of blind intervals in which acknowledged pings are missing from the database. */
export const LOST_COMMITS = "confirmed signals were lost by the database";

const REASON = {
  unproven: "the receiving process did not accept pings",
  refused: "pings were rejected",
  lost: "the receiving process was lost",
  broken: "the spool of the receiving process cannot be read",
  skipped: LOST_COMMITS,
};

/** Records a heartbeat: moves the watermark, and stores blind intervals before it in the same transaction. */
export function recordHeartbeat(
  database: Database,
  request: HeartbeatRequest,
  limit: Limit = {},
): Promise<HeartbeatResult> {
  return inTransaction(database, (tx) => applyHeartbeat(tx, request), limit);
}

async function applyHeartbeat(tx: Tx, request: HeartbeatRequest): Promise<HeartbeatResult> {
  const { intakeId, leaseMs, heartbeatAt: lastAt, lookedAt } = request;
  const look = await lookAtClock(tx);
  const observed = await request.observe(look);
  const now = look.databaseAt;
  const [open, heartbeats, identity] = await Promise.all([
    // All of them: the watermark is the earliest of all.
    listOpenIntakes(tx),
    findHeartbeats(tx, { through: now + SETTLE_MS }),
    findStoredIdentity(tx),
  ]);
  const own = open.find(({ id }) => id === intakeId);
  if (own === undefined) return { kind: "closed" };
  const { others, lost } = await releaseIntake(tx, { request, now, open: open.filter((one) => one !== own) });
  const unproven = withoutAttendedTime(observed.unproven, {
    since: lookedAt === null ? lastAt : null,
    others,
  });
  const blind = ownBlindness({ ...observed, unproven }, { heartbeatAt: lastAt ?? now, now });
  for (const one of blind) await insertBlindInterval(tx, { intakeId, ...one });
  if (observed.attributed !== undefined) await storeAttributed(tx, intakeId, observed.attributed);
  // If confirmed batches are missing from the database, they are sent again; until then the watermark must
  // not pass them.
  const isBehind = hasLostBatches(own.lastSeqs, request.confirmedSeqs);
  const watermarkAt = isBehind ? Math.min(observed.watermarkAt, own.watermarkAt) : observed.watermarkAt;
  const visibility = {
    watermarkAt: Math.min(watermarkAt, ...others.map((one) => one.watermarkAt)),
    blind: await listBlindIntervalsAfter(tx, {
      id: request.blindAfterId ?? 0,
      from: excusing(now).from,
    }),
  };
  const heartbeatAt = observed.acceptedUntilAt ?? Math.max(now, lastAt ?? now);
  // While it is unknown whether this database is in service, and for a minute after, no deadline fires.
  const isOutOfService = identity !== null && identity.state !== "normal";
  const isGap =
    isOutOfService || endsGap({ now, newestHeartbeatAt: heartbeats.newestHeartbeatAt, lookedAt, isBehind });
  const freshSinceAt = isGap ? now : (heartbeats.gapEndedAt ?? now);
  const isOpen = await storeHeartbeat(tx, {
    intakeId,
    at: heartbeatAt,
    watermarkAt,
    leaseUntilAt: now + leaseMs,
    spoolEmpty: observed.spoolEmpty,
    spoolFill: observed.spoolFill,
    signalsPerMinute: observed.signalsPerMinute,
    gapEndedAt: freshSinceAt,
  });
  if (!isOpen) return { kind: "closed" };
  return {
    kind: "accepted",
    look,
    heartbeatAt,
    lastSeqs: own.lastSeqs,
    others,
    lost,
    blind,
    visibility,
    freshSinceAt,
  };
}

type Watch = Pick<HeartbeatRequest, "gone" | "broken" | "signs" | "lookedAt" | "watchingSinceAt">;

/**
 * Closes intakes that have ended, and declares lost those that are silent beyond their lease or cannot be
 * read. Silence counts only while this intake has observed it: not across a gap in its own heartbeats or a
 * clock change.
 */
export async function releaseIntake(
  tx: Tx,
  { request, now, open }: { request: Watch; now: Instant; open: readonly Intake[] },
): Promise<{ others: Intake[]; lost: Intake[] }> {
  const { gone, broken, signs, lookedAt: lastAt } = request;
  const isWatching = lastAt === null || now - lastAt <= HEARTBEAT_GAP_MS_MAX;
  const watchingSinceAt = isWatching ? request.watchingSinceAt : null;
  const others: Intake[] = [];
  const lost: Intake[] = [];
  for (const intake of open) {
    const { id: intakeId, heartbeatAt, leaseUntilAt, watermarkAt } = intake;
    const lastSignAt = Math.max(heartbeatAt, signs.get(intakeId) ?? heartbeatAt);
    const isBroken = broken.includes(intakeId);
    const isGone = gone.includes(intakeId);
    const isGivenUp =
      isBroken || isLost({ lastSignAt, leaseMs: leaseUntilAt - heartbeatAt, watchingSinceAt, now });
    const close = () => closeIntakeIfFree(tx, { intakeId, at: now, lost: !isGone });
    if ((!isGone && !isGivenUp) || !(await close())) {
      others.push(intake);
      continue;
    }
    if (isGone) continue;
    const reason = isBroken ? REASON.broken : REASON.lost;
    await insertBlindInterval(tx, { intakeId, from: Math.min(watermarkAt, now), to: now, reason });
    lost.push(intake);
  }
  return { others, lost };
}

function ownBlindness(
  { skippedMs, unproven, refused }: Observation,
  { heartbeatAt, now }: { heartbeatAt: Instant; now: Instant },
): Blindness[] {
  const bounded = (reason: string) => (one: Interval) => ({
    from: one.from,
    to: Math.max(one.from, one.to ?? now),
    reason,
  });
  return [
    ...blindTimes({ heartbeatAt, now, skippedMs, unproven }).map(bounded(REASON.unproven)),
    ...refused.map(bounded(REASON.refused)),
  ];
}

/** Stores rejected pings by check. Only existing targets count. */
export async function storeAttributed(
  tx: Tx,
  intakeId: string,
  { targets, networks }: AttributedRefusals,
): Promise<void> {
  const uuids = targets.flatMap(({ target }) => (target.by === "uuid" ? [target.uuid] : []));
  const pairs = targets.flatMap(({ target }) => (target.by === "slug" ? [target] : []));
  const [byUuid, bySlug] = await Promise.all([
    uuids.length === 0 ? new Map<string, number>() : findCheckIdsByUuids(tx, uuids),
    pairs.length === 0 ? [] : findCheckIdsBySlugs(tx, pairs),
  ]);
  const idOf = new Map(pairs.map((pair, index) => [pair, bySlug[index] ?? null]));
  const ofChecks = targets.flatMap(({ target, from, to }) => {
    const checkId = target.by === "uuid" ? byUuid.get(target.uuid) : idOf.get(target);
    return typeof checkId === "number" ? [{ checkId, network: null, from, to }] : [];
  });
  const ofNetworks = networks.map((one) => ({ checkId: null, ...one }));
  const intervals = [...ofChecks, ...ofNetworks];
  if (intervals.length > 0) await insertRefusedIntervals(tx, { intakeId, intervals });
}

/** Closes an intake that has no signals left. False: it was already closed. */
export function leaveIntake(
  database: Database,
  {
    intakeId,
    refused = [],
    attributed,
  }: { intakeId: string; refused?: readonly Interval[]; attributed?: AttributedRefusals },
  limit: Limit = {},
): Promise<boolean> {
  return inTransaction(
    database,
    async (tx) => {
      const now = (await lookAtClock(tx)).databaseAt;
      for (const { from, to } of refused) {
        const until = Math.max(from, to ?? now);
        await insertBlindInterval(tx, { intakeId, from, to: until, reason: REASON.refused });
      }
      if (attributed !== undefined) await storeAttributed(tx, intakeId, attributed);
      return closeIntake(tx, { intakeId, at: now, lost: false });
    },
    limit,
  );
}

/**
 * Lets an intake continue after a batch number although the database has lost batches up to it that cannot be
 * sent again: that time is a blind interval. False: nothing was missing.
 */
export function skipLostBatches(
  database: Database,
  { name, ...batch }: BatchNumber & { name: string },
  limit: Limit = {},
): Promise<boolean> {
  return inTransaction(
    database,
    async (tx) => {
      const now = (await lookAtClock(tx)).databaseAt;
      const { intakeId, seq } = batch;
      let from = await skipSequence(tx, batch);
      if (from === null) {
        if ((await findSequence(tx, batch)) !== null) return false;
        // It ended before it was registered, or this is an older state of the database.
        from = Math.min((await findHeartbeats(tx, { through: now })).newestHeartbeatAt ?? now, now);
        const intake = { id: intakeId, name, startedAt: from, watermarkAt: from, leaseUntilAt: now };
        await registerIntake(tx, { ...intake, spoolEmpty: false });
        await skipSequence(tx, batch);
        await closeIntake(tx, { intakeId, at: now, lost: seq > 0 });
        if (seq === 0) return false;
      }
      await insertBlindInterval(tx, { intakeId, from: Math.min(from, now), to: now, reason: REASON.skipped });
      return true;
    },
    limit,
  );
}

export type IntakesView = StoredVisibility & {
  now: Instant;
  /** The reading that `now` comes from. */
  clock: ClockReading;
  /** The visibility to use: without a watermark until heartbeats are fresh after a gap. */
  settled: StoredVisibility["visibility"];
};

/**
 * Reads the visibility, for processes that are not intakes. All get the same result, whenever they started.
 */
export async function readIntakes(database: Db): Promise<IntakesView> {
  const clock = await lookAtClock(database);
  const { databaseAt: now } = clock;
  const stored = await readVisibility(database, { ...excusing(now), gapsThrough: now + SETTLE_MS });
  return {
    ...stored,
    now,
    clock,
    settled: settledVisibility(settlingOf({ now, ...stored }), stored.visibility),
  };
}

/**
 * The visibility for records of the log, whose partitions have this watermark and these gaps: the intakes of partitions
 * are behind it, but those without the log count. `isMixed`: there are some.
 */
export async function readLogVisibility(
  tx: Tx,
  { watermarkAt, gapEndedAt, now }: { watermarkAt: Instant; gapEndedAt: Instant; now: Instant },
): Promise<{ visibility: Visibility; isMixed: boolean }> {
  const stored = await readVisibility(tx, { ...excusing(now), gapsThrough: now + SETTLE_MS });
  const { directWatermarkAt, visibility } = stored;
  const endedAt = Math.max(gapEndedAt, stored.gapEndedAt ?? gapEndedAt);
  const settling = settlingOf({ now, newestHeartbeatAt: now, gapEndedAt: endedAt });
  const earliest = Math.min(watermarkAt, directWatermarkAt ?? watermarkAt);
  return {
    visibility: settledVisibility(settling, { ...visibility, watermarkAt: earliest }),
    isMixed: directWatermarkAt !== null,
  };
}

/** The range of blind intervals that can still excuse a deadline. */
function excusing(now: Instant): { from: Instant; to: Instant } {
  // One that begins in the future is left from before the database's clock was set back.
  return { from: keptFrom(DAYS_KEPT.blindInterval, now), to: now + DAY_MS };
}

/** Reads the database's clock. */
export async function lookAtClock(db: Db): Promise<ClockReading> {
  const sentAtMs = performance.now();
  const databaseAt = await readDatabaseClock(db);
  return { databaseAt, sentAtMs, receivedAtMs: performance.now() };
}
