// Records a numbered batch of signals: one transaction, in which each check is locked, its signals are folded
// through the rules, and what follows for it is written, the messages that are owed included. When it returns, the
// batch is on disk.
import type { AcceptedSignal, Batch, SignalResult } from "../core/accepted.ts";
import type { Instant } from "../core/instant.ts";
import { ERROR_MESSAGE_LENGTH_MAX } from "../core/limits.ts";
import type { Database } from "../store/db.ts";
import { isRefusedValue, postgresErrorName } from "../store/errors.ts";
import { advanceSequence, findSequence } from "../store/intakes/intakes.ts";
import { insertRejectedSignal } from "../store/intakes/rejected-signals.ts";
import { inSavepoint, inTransaction, type Tx } from "../store/transaction.ts";
import { type FoldContext, foldSignals, noWrites } from "./recording/fold-batch.ts";
import { needsOwnSight, ownSights } from "./recording/own-sight.ts";
import { type LockedTargets, lockTargetsOf } from "./recording/resolve-targets.ts";
import { type LogLimits, writeBatch } from "./recording/write-batch.ts";

export type RecordOptions = FoldContext &
  LogLimits & {
    /** How a signal is kept that the database refuses. */
    encode(signal: AcceptedSignal): Buffer;
    /** What was part of the batch and cannot be read any more: kept with its reason, like a refused signal. */
    unreadable?: readonly { at: Instant; reason: string; bytes: Uint8Array }[];
    /** On `performance.now()`: no confirmed commit by then, and it fails. */
    giveUpAtMs?: number;
  };

/**
 * "applied before": the number of the batch has been used, so it is on disk already. "out of sequence": batches
 * that belong before it are not there, or the intake itself is unknown, so nothing was done.
 */
export type RecordResult = readonly SignalResult[] | "applied before" | "out of sequence";

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
  const limit = giveUpAtMs === undefined ? {} : { giveUpAtMs };
  for (;;) {
    try {
      return await inTransaction(database, (tx) => recordWhole(tx, batch, options), limit);
    } catch (error) {
      if (isPoison(error)) {
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
    await insertRejectedSignal(tx, { intakeId, seq, at, reason: clipped(`unreadable: ${reason}`), signal });
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
  await lockTargetsOf(tx, batch.signals);
  return applyInHalves(tx, batch, options);
}

/** Halves the signals until the poisonous ones stand alone: a few of them cost a few tries, not hundreds. */
async function applyInHalves(tx: Tx, batch: Batch, options: RecordOptions): Promise<SignalResult[]> {
  const { signals } = batch;
  try {
    return await inSavepoint(tx, async (part) => {
      const targets = await lockTargetsOf(part, signals);
      return applyBatch(part, signals, { ...options, targets });
    });
  } catch (error) {
    if (!isPoison(error)) throw error;
    const [alone] = signals;
    if (alone !== undefined && signals.length === 1) {
      const reason = clipped(error instanceof Error ? error.message : String(error));
      const { intakeId, seq } = batch;
      // Its time may be what is wrong with it.
      const at = Number.isSafeInteger(alone.at) ? alone.at : 0;
      await insertRejectedSignal(tx, { intakeId, seq, at, reason, signal: options.encode(alone) });
      return ["rejected"];
    }
    const middle = Math.ceil(signals.length / 2);
    const first = await applyInHalves(tx, { ...batch, signals: signals.slice(0, middle) }, options);
    const second = await applyInHalves(tx, { ...batch, signals: signals.slice(middle) }, options);
    return [...first, ...second];
  }
}

/** The database refuses a value, or our own code stumbles over one: trying again would not help. */
function isPoison(error: unknown): boolean {
  return isRefusedValue(error) || error instanceof TypeError || error instanceof RangeError;
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
