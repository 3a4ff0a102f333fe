// Finds checks whose deadline has passed, in batches: each is one transaction that locks due rows not held by
// others, recomputes them and writes flips and alerts. Several sweepers can run at once; a signal that is
// applied first leads to the same result.
import type { AlertChange } from "../core/alert.ts";
import { type Visibility, sweepCheck } from "../core/deadline.ts";
import { HOUR_MS, type Instant, type Interval, MINUTE_MS } from "../core/instant.ts";
import { ERROR_MESSAGE_LENGTH_MAX } from "../core/limits.ts";
import type { Flip, Timing } from "../core/state.ts";
import {
  type DueRange,
  findDueStates,
  findTimings,
  listDueChecks,
  listQuarantinedChecks,
  lockDueChecks,
  lockStates,
  moveSweep,
  quarantineCheck,
  type StoredState,
  type SweepMove,
  writeStates,
} from "../store/checks.ts";
import type { Database } from "../store/db.ts";
import { isOwnFault, isRefusedValue, postgresErrorName } from "../store/errors.ts";
import { type CheckEvent, insertEvents } from "../store/events.ts";
import { inSavepoint, inTransaction, type Tx } from "../store/transaction.ts";
import { planNotices, writeStatusChanges } from "./plan-deliveries.ts";
import { checkVisibilities, deadlineEvents } from "./record-signals.ts";

/** Rows per batch; signals of these checks wait while it runs. */
export const BATCH_ROWS = 500;
/** Concurrent batches: while one waits for the disk, the other proceeds. */
const LANES = 2;
/** Batches per call, after which the caller reads the watermark again. */
const BATCHES_MAX = 1_000;
/** A check that cannot be evaluated is retried after this time. */
const QUARANTINE_MS = HOUR_MS;
/** Checks beyond this number are found, and fail, in each sweep. */
const QUARANTINED_MAX = 10_000;
/** Two sweepers that plan the same notices can deadlock; one of them retries. */
const TRIES_MAX = 3;
/** How many due checks locked by others are listed. */
const LOCKED_NAMED_MAX = 100;

export type SweepOptions = SweepMoment & { limit?: number; batchesMax?: number };

export type Swept = {
  /** Checks that were locked and evaluated. */
  looked: number;
  /** Of these, checks whose deadline had moved or has to wait. */
  moved: number;
  /** Flips, and deadlines excused by a monitoring gap. */
  fired: number;
  excused: number;
  /** Checks that could not be evaluated and were quarantined. */
  quarantined: { checkId: number; reason: string }[];
  /** Age of the oldest deadline that fired; null if none did. */
  lagMs: number | null;
  /** Due, but locked by another transaction. */
  locked: number[];
  /** False: more checks are due. */
  isComplete: boolean;
};

/** Processes all deadlines before the watermark. Without a watermark, none fires. */
export async function sweepDeadlines(database: Database, options: SweepOptions): Promise<Swept> {
  const { now, visibility, limit = BATCH_ROWS, batchesMax = BATCHES_MAX } = options;
  const swept = nothingSwept();
  if (visibility.watermarkAt === null) return { ...swept, isComplete: true };
  const known = await listQuarantinedChecks(database, QUARANTINED_MAX);
  const except = known.filter(({ untilAt }) => untilAt > now).map(({ checkId }) => checkId);
  const range = { through: visibility.watermarkAt - 1, except, limit };
  const sweep: Sweep = {
    database,
    moment: { now, visibility, startedMs: performance.now() },
    range,
    batchesLeft: batchesMax,
    swept,
    isolatingBefore: Promise.resolve(),
  };
  // Usually one batch is enough.
  const first = await sweepOn(sweep, 0);
  if (first !== null) {
    await Promise.all(Array.from({ length: LANES }, () => sweepLane(sweep, first)));
  }
  if (!swept.isComplete) return swept;
  const left = await listDueChecks(database, { ...range, limit: LOCKED_NAMED_MAX });
  return { ...swept, locked: left.map(({ checkId }) => checkId) };
}

type Sweep = {
  database: Database;
  moment: StartedMoment;
  range: { through: Instant; except: number[]; limit: number };
  batchesLeft: number;
  swept: Swept;
  /** Settles when the last isolating batch has ended. */
  isolatingBefore: Promise<unknown>;
};

/** Sweeps batch after batch until no unlocked due checks are left. */
async function sweepLane(sweep: Sweep, from: Instant): Promise<void> {
  try {
    let next: Instant | null = from;
    while (next !== null && sweep.batchesLeft > 0) next = await sweepOn(sweep, next);
  } catch (error) {
    // The other lane ends after its batch.
    sweep.batchesLeft = 0;
    throw error;
  }
}

/** Sweeps one batch; returns where the next one begins, or null. */
async function sweepOn(sweep: Sweep, from: Instant): Promise<Instant | null> {
  const { range, swept } = sweep;
  sweep.batchesLeft -= 1;
  const batch = await sweepBatch(sweep, from);
  add(swept, batch);
  if (batch.looked < range.limit) {
    swept.isComplete = true;
    return null;
  }
  return batch.lastAt ?? from;
}

function nothingSwept(): Swept {
  const counts = { looked: 0, moved: 0, fired: 0, excused: 0 };
  return { ...counts, quarantined: [], lagMs: null, locked: [], isComplete: false };
}

function add(swept: Swept, batch: BatchSwept): void {
  swept.looked += batch.looked;
  swept.moved += batch.moved;
  swept.fired += batch.fired;
  swept.excused += batch.excused;
  swept.quarantined.push(...batch.quarantined);
  if (batch.lagMs !== null) swept.lagMs = Math.max(swept.lagMs ?? 0, batch.lagMs);
}

type Batch = { range: DueRange; moment: StartedMoment };
type BatchSwept = Pick<Swept, "looked" | "moved" | "fired" | "excused" | "quarantined" | "lagMs"> & {
  /** Where the next batch begins; null: this batch was empty. */
  lastAt: Instant | null;
};

async function sweepBatch(sweep: Sweep, from: Instant): Promise<BatchSwept> {
  const batch = { range: { ...sweep.range, from }, moment: sweep.moment };
  for (let tries = 1; ; tries += 1) {
    try {
      return await inTransaction(sweep.database, (tx) => sweepWhole(tx, batch));
    } catch (error) {
      if (needsQuarantine(error)) return sweepInTurn(sweep, batch);
      if (tries === TRIES_MAX || !isPassing(error)) throw error;
    }
  }
}

/**
 * Isolating batches run one at a time: a quarantined check stays due, so a concurrent batch could quarantine
 * it a second time. They share the sweep's list of exceptions, which is up to date when each begins.
 */
function sweepInTurn(sweep: Sweep, batch: Batch): Promise<BatchSwept> {
  const isolating = sweep.isolatingBefore.then(async () => {
    const done = await inTransaction(sweep.database, (tx) => sweepIsolating(tx, batch));
    sweep.range.except.push(...done.quarantined.map(({ checkId }) => checkId));
    return done;
  });
  sweep.isolatingBefore = isolating.catch(() => undefined);
  return isolating;
}

function isPassing(error: unknown): boolean {
  const name = postgresErrorName(error);
  return name === "deadlock_detected" || name === "lock_not_available";
}

/** The database rejects a value, or our code throws on one: a retry would not help. */
function needsQuarantine(error: unknown): boolean {
  return isRefusedValue(error) || isOwnFault(error);
}

async function sweepWhole(tx: Tx, { range, moment }: Batch): Promise<BatchSwept> {
  const due = await findDueStates(tx, range);
  const done = due.length === 0 ? NOTHING : await evaluateAndWrite(tx, due, moment);
  return { ...done, looked: due.length, quarantined: [], lastAt: due.at(-1)?.sweepAt ?? null };
}

/**
 * Sweeps a batch that contains a failing check. Reads only ids first, because the row itself may be
 * unreadable.
 */
async function sweepIsolating(tx: Tx, { range, moment }: Batch): Promise<BatchSwept> {
  const due = await lockDueChecks(tx, range);
  const checkIds = due.map(({ checkId }) => checkId);
  const done =
    checkIds.length === 0 ? { ...NOTHING, quarantined: [] } : await sweepInHalves(tx, checkIds, moment);
  return { ...done, looked: due.length, lastAt: due.at(-1)?.sweepAt ?? null };
}

type Done = Pick<Swept, "moved" | "fired" | "excused" | "lagMs">;
const NOTHING: Done = { moved: 0, fired: 0, excused: 0, lagMs: null };

/** Bisects the checks until the failing ones are isolated. */
async function sweepInHalves(
  tx: Tx,
  checkIds: readonly number[],
  moment: StartedMoment,
): Promise<Done & Pick<Swept, "quarantined">> {
  try {
    const done = await inSavepoint(tx, async (part) =>
      evaluateAndWrite(part, await lockStates(part, checkIds), moment),
    );
    return { ...done, quarantined: [] };
  } catch (error) {
    if (!needsQuarantine(error)) throw error;
    const [alone] = checkIds;
    if (alone !== undefined && checkIds.length === 1)
      return quarantineOne(tx, alone, { error, now: moment.now });
    const middle = Math.ceil(checkIds.length / 2);
    const first = await sweepInHalves(tx, checkIds.slice(0, middle), moment);
    const second = await sweepInHalves(tx, checkIds.slice(middle), moment);
    return {
      moved: first.moved + second.moved,
      fired: first.fired + second.fired,
      excused: first.excused + second.excused,
      lagMs: first.lagMs === null ? second.lagMs : Math.max(first.lagMs, second.lagMs ?? 0),
      quarantined: [...first.quarantined, ...second.quarantined],
    };
  }
}

async function quarantineOne(
  tx: Tx,
  checkId: number,
  { error, now }: { error: unknown; now: Instant },
): Promise<Done & Pick<Swept, "quarantined">> {
  const reason = (error instanceof Error ? error.message : String(error)).slice(0, ERROR_MESSAGE_LENGTH_MAX);
  await quarantineCheck(tx, { checkId, sinceAt: now, untilAt: now + QUARANTINE_MS, reason });
  return { ...NOTHING, quarantined: [{ checkId, reason }] };
}

async function evaluateAndWrite(tx: Tx, due: readonly StoredState[], moment: StartedMoment): Promise<Done> {
  const evaluated = due.filter((stored) => !isOnlyMoved(stored, moment.visibility));
  const checkIds = evaluated.map(({ checkId }) => checkId);
  // Read after the lock: the previous holder may have changed the settings.
  const [timings, visibilityOf] = await Promise.all([
    evaluated.length === 0 ? new Map() : findTimings(tx, checkIds),
    checkVisibilities(tx, evaluated, moment.visibility),
  ]);
  const writes = evaluateDue(due, { moment, timings, visibilityOf });
  await write(tx, writes, moment);
  const oldestAt = Math.min(...writes.flips.map(({ flip }) => flip.at));
  return {
    moved: writes.moves.length,
    fired: writes.flips.length,
    excused: writes.notices.length,
    lagMs: writes.flips.length === 0 ? null : moment.now - oldestAt,
  };
}

async function write(tx: Tx, writes: DueWrites, { now: at, startedMs }: StartedMoment): Promise<void> {
  const { states, moves, flips, alerts, notices, events } = writes;
  // Sent together, in this order: none depends on the result of another.
  await Promise.all([
    states.length > 0 ? writeStates(tx, states) : null,
    moves.length > 0 ? moveSweep(tx, moves) : null,
    events.length > 0 ? insertEvents(tx, events) : null,
  ]);
  if (flips.length + alerts.length > 0) {
    const writtenAt = at + Math.max(0, Math.round(performance.now() - startedMs));
    await writeStatusChanges(tx, { flips, alerts, swept: { foundAt: at, writtenAt } });
  }
  await planNotices(tx, notices, at);
}

/** How often a check in the trash is visited; nothing else happens to it. */
const DELETED_LOOK_MS = 10 * MINUTE_MS;

export type SweepMoment = { now: Instant; visibility: Visibility };

/** `startedMs`: when the sweep began, by the clock of the process. */
type StartedMoment = SweepMoment & { startedMs: number };

/** Everything that a batch of due checks writes. */
export type DueWrites = {
  states: StoredState[];
  moves: SweepMove[];
  flips: { checkId: number; flip: Flip }[];
  alerts: { checkId: number; change: AlertChange }[];
  notices: { checkId: number; blind: Interval }[];
  events: Omit<CheckEvent, "id">[];
};

/** The deadline is after the watermark, or there is none: the schedule is not needed. */
function isOnlyMoved({ downAt }: StoredState, { watermarkAt }: Visibility): boolean {
  return downAt === null || watermarkAt === null || downAt >= watermarkAt;
}

/** Evaluates locked checks. `timings` has those that are not only moved, without deleted ones. */
function evaluateDue(
  due: readonly StoredState[],
  {
    moment,
    timings,
    visibilityOf,
  }: {
    moment: SweepMoment;
    timings: ReadonlyMap<number, Timing>;
    /** The visibility of a check, including refused pings that concern it alone. */
    visibilityOf: (checkId: number) => Visibility;
  },
): DueWrites {
  const writes: DueWrites = { states: [], moves: [], flips: [], alerts: [], notices: [], events: [] };
  for (const stored of due) {
    const { checkId } = stored;
    const timing = timings.get(checkId);
    if (isOnlyMoved(stored, moment.visibility)) writes.moves.push({ checkId, sweepAt: stored.downAt });
    else if (timing === undefined) {
      const lookAt = moment.now + DELETED_LOOK_MS;
      writes.moves.push({ checkId, sweepAt: lookAt, heldUntilAt: lookAt });
    } else evaluateOne(writes, { stored, timing, moment: { ...moment, visibility: visibilityOf(checkId) } });
  }
  return writes;
}

function evaluateOne(
  writes: DueWrites,
  { stored, timing, moment }: { stored: StoredState; timing: Timing; moment: SweepMoment },
): void {
  const { checkId } = stored;
  const swept = sweepCheck({ timing, state: stored.state }, moment);
  const { state, downAt, lookAt } = swept;
  if (state === stored.state) {
    // Otherwise the check would never alert again.
    if (downAt === null) throw new Error("the deadline of the check can no longer be calculated");
    if (downAt === stored.downAt) {
      const heldUntilAt = lookAt !== null && lookAt > downAt ? lookAt : null;
      writes.moves.push({ checkId, sweepAt: lookAt, heldUntilAt });
      return;
    }
  }
  // If it has to wait beyond the next deadline, the next sweep moves it.
  writes.states.push({ ...stored, state, downAt, sweepAt: downAt });
  for (const flip of swept.flips) writes.flips.push({ checkId, flip });
  for (const change of swept.alerts) writes.alerts.push({ checkId, change });
  for (const { blind } of swept.notices) writes.notices.push({ checkId, blind });
  writes.events.push(...deadlineEvents(checkId, { ...swept, unobserved: null }));
}
