// Retries quarantined pings: each is recorded in its own transaction, as a replayed one with its original receive
// time, and leaves the quarantine on success.
import type { AcceptedSignal } from "../core/signal.ts";
import type { Database } from "../store/db.ts";
import { isOwnFault, isRefusedValue } from "../store/errors.ts";
import { deleteRejectedSignal, lockRejectedSignalAfter } from "../store/quarantine.ts";
import { inTransaction } from "../store/transaction.ts";
import { applyBatch, lockTargetsOf, type RecordOptions } from "./record-signals.ts";

export type RetryOptions = Pick<RecordOptions, "visibility" | "rules" | "pingLogRows"> & {
  /** Null: it cannot be decoded, and stays. */
  decode: (bytes: Uint8Array) => AcceptedSignal | null;
  /** Pings that remain after this time wait for the next call. */
  withinMs: number;
};

export type Retried = {
  recorded: number;
  /** Its check no longer exists, or several share its slug; deleted. */
  dropped: number;
  /** Still quarantined. */
  failed: number;
};

/** Retries every quarantined ping once, oldest first, within the time limit. */
export async function retryQuarantined(database: Database, options: RetryOptions): Promise<Retried> {
  const retried: Retried = { recorded: 0, dropped: 0, failed: 0 };
  const endMs = performance.now() + options.withinMs;
  let afterId = 0;
  while (performance.now() < endMs) {
    const one = await retryAfter(database, { ...options, afterId });
    if (one === null) break;
    retried[one.result] += 1;
    afterId = one.id;
  }
  return retried;
}

async function retryAfter(
  database: Database,
  options: RetryOptions & { afterId: number },
): Promise<{ id: number; result: keyof Retried } | null> {
  let id: number | null = null;
  try {
    return await inTransaction(database, async (tx) => {
      const found = await lockRejectedSignalAfter(tx, options.afterId);
      if (found === null) return null;
      ({ id } = found);
      const signal = options.decode(found.signal);
      if (signal === null) return { id: found.id, result: "failed" };
      const targets = await lockTargetsOf(tx, [signal]);
      const [result] = await applyBatch(tx, [signal], { ...options, replayed: true, targets });
      await deleteRejectedSignal(tx, found.id);
      return { id: found.id, result: result === "recorded" ? "recorded" : "dropped" };
    });
  } catch (error) {
    if (id === null || !(isRefusedValue(error) || isOwnFault(error))) throw error;
    return { id, result: "failed" };
  }
}
