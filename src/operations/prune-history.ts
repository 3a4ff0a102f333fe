// Forgets what core/retention.ts allows to be forgotten, a bounded number of rows at a time, so that neither a
// long absence nor a large installation makes one long transaction of it.
import { keptFrom } from "../core/retention.ts";
import type { Instant } from "../core/instant.ts";
import { pruneBlindIntervals } from "../store/intakes/blind-intervals.ts";
import type { Database } from "../store/db.ts";
import { pruneDeliveries } from "../store/alerts/deliveries.ts";
import { pruneLetters } from "../store/alerts/letters.ts";
import { pruneEvents } from "../store/history/events.ts";
import { pruneFlips } from "../store/history/flips.ts";
import { pruneIntakes } from "../store/intakes/intakes.ts";
import { pruneApiKeys } from "../store/keys.ts";
import { pruneRejectedSignals } from "../store/intakes/rejected-signals.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";
import { removeDeletedChecks } from "./remove-check.ts";

/** A check takes its whole history with it, so few are removed at a time. */
const PRUNE_CHECKS_MAX = 20;
/** Rows that one transaction removes at most: a few milliseconds of work, far from any time limit. */
const PRUNE_ROWS_MAX = 1_000;

type Prune = (tx: Tx, rows: { before: Instant; limit: number }) => Promise<number>;

/** Everything that grows with time, and from when on it is kept. */
const PRUNED: Readonly<Record<string, { prune: Prune; keptFrom: (now: Instant) => Instant }>> = {
  // Deliveries before flips: what was sent is explained by its flip, so the flip goes last.
  deliveries: { prune: pruneDeliveries, keptFrom: (now) => keptFrom("delivery", now) },
  letters: { prune: pruneLetters, keptFrom: (now) => keptFrom("delivery", now) },
  flips: { prune: pruneFlips, keptFrom: (now) => keptFrom("flip", now) },
  events: { prune: pruneEvents, keptFrom: (now) => keptFrom("event", now) },
  blindIntervals: { prune: pruneBlindIntervals, keptFrom: (now) => keptFrom("blindInterval", now) },
  // An intake explains the blind intervals that name it.
  intakes: { prune: pruneIntakes, keptFrom: (now) => keptFrom("blindInterval", now) },
  rejectedSignals: { prune: pruneRejectedSignals, keptFrom: (now) => keptFrom("rejectedSignal", now) },
  // A revoked key is a fact about the project's past, like its other events.
  revokedKeys: { prune: pruneApiKeys, keptFrom: (now) => keptFrom("event", now) },
};

export type PruneOptions = { now: Instant; rowsMax?: number; checksMax?: number };
export type Pruned = { removed: Record<string, number>; isComplete: boolean };

/**
 * Removes at most so many rows of each kind; `isComplete` says that nothing was left to remove. A kind that
 * looks at its oldest rows may skip some of them, so only a round without any finding is the last one.
 */
export async function pruneHistory(
  database: Database,
  { now, rowsMax = PRUNE_ROWS_MAX, checksMax = PRUNE_CHECKS_MAX }: PruneOptions,
): Promise<Pruned> {
  const removed: Record<string, number> = {};
  for (const [name, { prune, keptFrom: from }] of Object.entries(PRUNED)) {
    removed[name] = await inTransaction(database, (tx) => prune(tx, { before: from(now), limit: rowsMax }));
  }
  removed["deletedChecks"] = await removeDeletedChecks(database, { now, limit: checksMax });
  return { removed, isComplete: Object.values(removed).every((count) => count === 0) };
}
