// Records a numbered batch of signals: one transaction, in which each check is locked, its signals are folded
// through the rules, and what follows for it is written, the messages that are owed included. When it returns, the
// batch is on disk.
import type { AcceptedSignal, Batch, SignalResult } from "../core/accepted.ts";
import type { Instant } from "../core/instant.ts";
import { ERROR_MESSAGE_LENGTH_MAX } from "../core/limits.ts";
import type { Database } from "../store/db.ts";
import { isOwnFault, isRefusedValue, postgresErrorName } from "../store/errors.ts";
import { advanceSequence, findSequence } from "../store/intakes/intakes.ts";
import { insertRejectedSignal } from "../store/intakes/rejected-signals.ts";
import { inSavepoint, inTransaction, type Tx } from "../store/transaction.ts";
import { type FoldContext, foldSignals, noWrites } from "./recording/fold-batch.ts";
import { needsOwnSight, ownSights } from "./recording/own-sight.ts";
import { type LockedTargets, lockTargetsOf, type Resolved } from "./recording/resolve-targets.ts";
import { type LogLimits, writeBatch } from "./recording/write-batch.ts";

export type RecordOptions = FoldContext &
  LogLimits & {
    /** How a signal is kept that the database refuses. */
    encode: (signal: AcceptedSignal) => Buffer;
    /** What was part of the batch and cannot be read any more: kept with its reason, like a refused signal. */
    unreadable?: readonly { at: Instant; reason: string; bytes: Uint8Array }[];
    /**
     * The batch was promised and has failed before because of an error of our own: what causes it is quarantined, so
     * that the batches behind it go on.
     */
    quarantinesFailed?: boolean;
    /** Called for each ping that an error of our own kept from being recorded. */
    onFault?: (error: unknown) => void;
    /** On `performance.now()`: no confirmed commit by then, and it fails. */
    giveUpAtMs?: number;
  };

/**
 * "applied before": the number of the batch has been used, so it is on disk already. "out of sequence": batches
 * that belong before it are not there, or the intake itself is unknown, so nothing was done.
 */
export type RecordResult = readonly SignalResult[] | "applied before" | "out of sequence";

/** A batch whose commit is not confirmed by then goes to the spool, so that its pings are answered in time. */
const COMMIT_MS_MAX = 1_000;
/** With less time than this, another try would only be cut off. */
const RETRY_MS_MIN = 100;

/**
 * Records a batch once, however often it is called with the same number. Throws CommitInDoubtError when the
 * end of the transaction is unknown: the same batch may then be given again. A signal that the database
 * refuses is put aside with its reason and holds up nobody.
 */
export async function recordSignals(
  database: Database,
  batch: Batch,
  options: RecordOptions,
): Promise<RecordResult> {
  const { giveUpAtMs } = options;
  const limit = { commitTimeoutMs: COMMIT_MS_MAX, ...(giveUpAtMs !== undefined && { giveUpAtMs }) };
  for (;;) {
    try {
      return await inTransaction(database, (tx) => recordWhole(tx, batch, options), limit);
    } catch (error) {
      if (isIsolable(error, options)) {
        return inTransaction(database, (tx) => recordCarefully(tx, batch, options), limit);
      }
      if (!isPassing(error) || performance.now() + RETRY_MS_MIN > (giveUpAtMs ?? 0)) throw error;
    }
  }
}

/** Somebody else held a check for too long; nothing was done, and the next moment it may be free. */
function isPassing(error: unknown): boolean {
  const name = postgresErrorName(error);
  return name === "lock_not_available" || name === "deadlock_detected";
}

async function recordWhole(tx: Tx, batch: Batch, options: RecordOptions): Promise<RecordResult> {
  // Sent together: what was locked and read is not used unless the number was free.
  const numbering = takeNumber(tx, batch);
  const [obstacle, targets] = await Promise.all([numbering, lockTargetsOf(tx, batch.signals)]);
  if (obstacle !== null) return obstacle;
  await keepUnreadable(tx, batch, options);
  return applyBatch(tx, batch.signals, { ...options, targets });
}

/** Claims the number of the batch; otherwise why it cannot be applied. */
async function takeNumber(tx: Tx, batch: Batch): Promise<"applied before" | "out of sequence" | null> {
  if (await advanceSequence(tx, batch)) return null;
  const lastSeq = await findSequence(tx, batch.intakeId);
  return lastSeq !== null && lastSeq >= batch.seq ? "applied before" : "out of sequence";
}

async function keepUnreadable(tx: Tx, batch: Batch, { unreadable = [] }: RecordOptions): Promise<void> {
  const { intakeId, seq } = batch;
  for (const { at, reason, bytes } of unreadable) {
    const signal = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    await insertRejectedSignal(tx, {
      intakeId,
      seq,
      checkId: null,
      at,
      reason: clipped(`unreadable: ${reason}`),
      signal,
    });
  }
}

/** What is stored of an error message. Half of a surrogate pair could not be stored. */
function clipped(message: string): string {
  return message.slice(0, ERROR_MESSAGE_LENGTH_MAX).toWellFormed();
}

/** The careful way, for a batch in which something is poisonous. */
async function recordCarefully(tx: Tx, batch: Batch, options: RecordOptions): Promise<RecordResult> {
  const obstacle = await takeNumber(tx, batch);
  if (obstacle !== null) return obstacle;
  await keepUnreadable(tx, batch, options);
  // All locks at once, in the order of every writer; the parts below then find them held.
  const { resolved } = await lockTargetsOf(tx, batch.signals);
  const checkIds = new Map(batch.signals.map((signal, index) => [signal, resolved[index]]));
  return applyInHalves(tx, batch, { ...options, checkIds });
}

type Isolating = RecordOptions & { checkIds: ReadonlyMap<AcceptedSignal, Resolved | undefined> };

/** Halves the signals until the poisonous ones stand alone: a few of them cost a few tries, not hundreds. */
async function applyInHalves(tx: Tx, batch: Batch, options: Isolating): Promise<SignalResult[]> {
  const { signals } = batch;
  try {
    return await inSavepoint(tx, async (part) => {
      const targets = await lockTargetsOf(part, signals);
      return applyBatch(part, signals, { ...options, targets });
    });
  } catch (error) {
    if (!isIsolable(error, options)) throw error;
    const [alone] = signals;
    if (alone !== undefined && signals.length === 1)
      return [await isolate(tx, { ...batch, alone, error }, options)];
    const middle = Math.ceil(signals.length / 2);
    const first = await applyInHalves(tx, { ...batch, signals: signals.slice(0, middle) }, options);
    const second = await applyInHalves(tx, { ...batch, signals: signals.slice(middle) }, options);
    return [...first, ...second];
  }
}

/** Quarantines one signal, or refuses it where its sender still waits and the error is our own. */
async function isolate(
  tx: Tx,
  { intakeId, seq, alone, error }: Omit<Batch, "signals"> & { alone: AcceptedSignal; error: unknown },
  { encode, replayed, checkIds, onFault }: Isolating,
): Promise<SignalResult> {
  if (!isRefusedValue(error)) onFault?.(error);
  if (!isRefusedValue(error) && !replayed) return "failed";
  const reason = clipped(error instanceof Error ? error.message : String(error));
  // Its time may be what is wrong with it.
  const at = Number.isSafeInteger(alone.at) ? alone.at : 0;
  const found = checkIds.get(alone);
  const checkId = typeof found === "number" ? found : null;
  await insertRejectedSignal(tx, { intakeId, seq, checkId, at, reason, signal: encode(alone) });
  return "rejected";
}

/**
 * Whether single signals can be the cause: the database refuses a value, or our own code fails on one. While a sender
 * waits, only errors that code raises on a value count, because any other may pass; a batch that was promised is tried
 * again before anything of it is quarantined.
 */
function isIsolable(error: unknown, { replayed, quarantinesFailed = false }: RecordOptions): boolean {
  if (isRefusedValue(error)) return true;
  if (replayed) return quarantinesFailed && isOwnFault(error);
  return error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;
}

/** Folds signals through the rules and writes what follows, inside the caller's transaction. */
export async function applyBatch(
  tx: Tx,
  signals: readonly AcceptedSignal[],
  options: FoldContext & LogLimits & { targets: LockedTargets },
): Promise<SignalResult[]> {
  const { resolved, states, settings } = options.targets;
  const byCheck = new Map<number, AcceptedSignal[]>();
  let batchAt = 0;
  for (const [index, signal] of signals.entries()) {
    batchAt = Math.max(batchAt, signal.at);
    const id = resolved[index];
    if (typeof id !== "number") continue;
    const mine = byCheck.get(id);
    if (mine === undefined) byCheck.set(id, [signal]);
    else mine.push(signal);
  }
  if (byCheck.size === 0) return resolved.map((one) => (typeof one === "number" ? "unknown" : one));
  const writes = noWrites();
  const passed = states.filter((stored) => needsOwnSight(stored, batchAt));
  const sight = await ownSights(tx, passed, options.sight);
  for (const stored of states) {
    const given = settings.get(stored.checkId);
    const mine = byCheck.get(stored.checkId);
    if (given !== undefined && mine !== undefined) {
      const context = { ...options, sight: sight(stored.checkId) };
      foldSignals(writes, { stored, settings: given, signals: mine }, context);
    }
  }
  await writeBatch(tx, writes, { pingLogRows: options.pingLogRows, now: batchAt });
  const written = new Set(writes.states.map(({ checkId }) => checkId));
  return resolved.map((one) => (typeof one === "number" ? (written.has(one) ? "recorded" : "unknown") : one));
}
