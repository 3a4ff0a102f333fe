// Records a numbered batch of signals: one transaction, in which each check is locked, its signals are folded
// through the rules, and everything that follows is written. When it returns, the batch is on disk.
import type { AcceptedSignal, Batch, SignalResult } from "../core/accepted.ts";
import { lockStates } from "../store/checks/check-states.ts";
import { findChecksByIds } from "../store/checks/checks.ts";
import type { Database } from "../store/db.ts";
import { isRefusedValue } from "../store/errors.ts";
import { advanceSequence } from "../store/intakes/intakes.ts";
import { insertRejectedSignal } from "../store/intakes/rejected-signals.ts";
import { inSavepoint, inTransaction, type Tx } from "../store/transaction.ts";
import { type FoldContext, foldSignals, noWrites } from "./recording/fold-batch.ts";
import { resolveTargets } from "./recording/resolve-targets.ts";
import { type LogLimits, writeBatch } from "./recording/write-batch.ts";

export type RecordOptions = FoldContext &
  LogLimits & {
    /** How a signal is kept that the database refuses. */
    encode(signal: AcceptedSignal): Buffer;
  };

/** "applied before": the number of the batch has been used, so it is on disk already. */
export type RecordResult = readonly SignalResult[] | "applied before";

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
  try {
    return await inTransaction(database, (tx) => recordWhole(tx, batch, options));
  } catch (error) {
    if (!isRefusedValue(error)) throw error;
    return inTransaction(database, (tx) => recordOneByOne(tx, batch, options));
  }
}

async function recordWhole(tx: Tx, batch: Batch, options: RecordOptions): Promise<RecordResult> {
  if (!(await advanceSequence(tx, batch))) return "applied before";
  return applyBatch(tx, batch.signals, options);
}

/** The careful way, for a batch in which something is poisonous. */
async function recordOneByOne(tx: Tx, batch: Batch, options: RecordOptions): Promise<RecordResult> {
  if (!(await advanceSequence(tx, batch))) return "applied before";
  const results: SignalResult[] = [];
  for (const signal of batch.signals) {
    try {
      const [result = "unknown"] = await inSavepoint(tx, () => applyBatch(tx, [signal], options));
      results.push(result);
    } catch (error) {
      if (!isRefusedValue(error)) throw error;
      const { intakeId, seq } = batch;
      const reason = error instanceof Error ? error.message : String(error);
      await insertRejectedSignal(tx, {
        intakeId,
        seq,
        at: signal.at,
        reason,
        signal: options.encode(signal),
      });
      results.push("rejected");
    }
  }
  return results;
}

async function applyBatch(
  tx: Tx,
  signals: readonly AcceptedSignal[],
  options: RecordOptions,
): Promise<SignalResult[]> {
  const resolved = await resolveTargets(tx, signals);
  const byCheck = new Map<number, AcceptedSignal[]>();
  let newestAt = 0;
  for (const [index, signal] of signals.entries()) {
    newestAt = Math.max(newestAt, signal.at);
    const id = resolved[index];
    if (typeof id !== "number") continue;
    const mine = byCheck.get(id);
    if (mine === undefined) byCheck.set(id, [signal]);
    else mine.push(signal);
  }
  if (byCheck.size === 0) return resolved.map((one) => (typeof one === "number" ? "unknown" : one));
  const ids = [...byCheck.keys()].toSorted((one, other) => one - other);
  const states = await lockStates(tx, ids);
  // Read after the locks: settings are those of the moment of applying, and a check may be gone by now.
  const checks = new Map((await findChecksByIds(tx, ids)).map((check) => [check.id, check]));
  const writes = noWrites();
  for (const stored of states) {
    const settings = checks.get(stored.checkId)?.settings;
    const mine = byCheck.get(stored.checkId);
    if (settings !== undefined && mine !== undefined) {
      foldSignals(writes, { stored, settings, signals: mine }, options);
    }
  }
  await writeBatch(tx, writes, { pingLogRows: options.pingLogRows, now: newestAt });
  const written = new Set(writes.states.map(({ checkId }) => checkId));
  return resolved.map((one) => (typeof one === "number" ? (written.has(one) ? "recorded" : "unknown") : one));
}
