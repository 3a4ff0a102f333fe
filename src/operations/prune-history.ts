// Deletes data past its retention period, a limited number of rows per transaction.
import { DAY_MS, type Instant } from "../core/instant.ts";
import { keptFrom } from "../core/retention.ts";
import { dayOf } from "../core/run.ts";
import { pruneApiKeys } from "../store/api-keys.ts";
import { pruneAuditEntries } from "../store/audit.ts";
import { pruneIdempotencyKeys } from "../store/channels.ts";
import { listCheckIdsAfter } from "../store/checks.ts";
import type { Database } from "../store/db.ts";
import { pruneDeliveries } from "../store/deliveries.ts";
import { pruneEmails } from "../store/emails.ts";
import { pruneEvents } from "../store/events.ts";
import { pruneFlips } from "../store/flips.ts";
import { pruneBlindIntervals, pruneIntakes, pruneRefusedIntervals } from "../store/intakes.ts";
import { pruneInvitations } from "../store/invitations.ts";
import { pruneRemovedProjects } from "../store/projects.ts";
import { pruneRejectedSignals } from "../store/quarantine.ts";
import { pruneDays, pruneRunChunks } from "../store/runs.ts";
import { pruneSessions } from "../store/sessions.ts";
import { pruneAttempts, pruneSignIns, pruneSteps, pruneTokens } from "../store/sign-in.ts";
import { pruneAccessTokens } from "../store/tokens.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";
import { removeDeletedChecks } from "./checks.ts";

/** Few at a time: a check is deleted with its whole history. */
const PRUNE_CHECKS_MAX = 20;
/** Checks searched for old runs at a time; most delete theirs when they get new ones. */
const PRUNE_RUNS_CHECKS = 200;
/** Rows deleted per transaction: a few milliseconds of work. */
const PRUNE_ROWS_MAX = 1_000;

type Prune = (tx: Tx, rows: { before: Instant; limit: number }) => Promise<number>;

/** All data with a retention period. */
const PRUNED: Readonly<Record<string, { prune: Prune; keptFrom: (now: Instant) => Instant }>> = {
  // Deliveries before flips: a delivery refers to its flip, so the flip is deleted last.
  deliveries: { prune: pruneDeliveries, keptFrom: (now) => keptFrom("delivery", now) },
  letters: { prune: pruneEmails, keptFrom: (now) => keptFrom("delivery", now) },
  flips: { prune: pruneFlips, keptFrom: (now) => keptFrom("flip", now) },
  events: { prune: pruneEvents, keptFrom: (now) => keptFrom("event", now) },
  blindIntervals: { prune: pruneBlindIntervals, keptFrom: (now) => keptFrom("blindInterval", now) },
  refusedIntervals: { prune: pruneRefusedIntervals, keptFrom: (now) => keptFrom("refusedInterval", now) },
  // An intake explains the blind intervals that name it.
  intakes: { prune: pruneIntakes, keptFrom: (now) => keptFrom("blindInterval", now) },
  rejectedSignals: { prune: pruneRejectedSignals, keptFrom: (now) => keptFrom("rejectedSignal", now) },
  idempotencyKeys: { prune: pruneIdempotencyKeys, keptFrom: (now) => keptFrom("idempotencyKey", now) },
  sessions: { prune: pruneSessions, keptFrom: (now) => keptFrom("session", now) },
  signIns: { prune: pruneSignIns, keptFrom: (now) => keptFrom("signIn", now) },
  auditEntries: { prune: pruneAuditEntries, keptFrom: (now) => keptFrom("auditEntry", now) },
  // A revoked key is a fact about the project's past, like its other events.
  revokedKeys: { prune: pruneApiKeys, keptFrom: (now) => keptFrom("event", now) },
  accessTokens: { prune: pruneAccessTokens, keptFrom: (now) => keptFrom("accessToken", now) },
  signInTokens: { prune: pruneTokens, keptFrom: (now) => now - DAY_MS },
  signInSteps: { prune: pruneSteps, keptFrom: (now) => now },
  attempts: { prune: pruneAttempts, keptFrom: (now) => now },
  invitations: { prune: pruneInvitations, keptFrom: (now) => now },
};

export type PruneOptions = {
  now: Instant;
  rowsMax?: number;
  checksMax?: number;
  /**
   * The check after which old runs are searched; 0 is the beginning, then the value that the previous round returned.
   */
  runsAfter?: number;
};
export type Pruned = {
  removed: Record<string, number>;
  isComplete: boolean;
  /** The check up to which old runs have been searched; 0 if there are no more. */
  runsThrough: number;
};

/**
 * Deletes at most this many rows of each kind; `isComplete` means that nothing was left to delete. A kind that
 * considers only its oldest rows may skip some of them, so only a round without deletions is the last one.
 */
export async function pruneHistory(database: Database, options: PruneOptions): Promise<Pruned> {
  const { now, rowsMax = PRUNE_ROWS_MAX, checksMax = PRUNE_CHECKS_MAX } = options;
  const removed: Record<string, number> = {};
  for (const [name, { prune, keptFrom: from }] of Object.entries(PRUNED)) {
    removed[name] = await inTransaction(database, (tx) => prune(tx, { before: from(now), limit: rowsMax }));
  }
  const runs = await pruneRuns(database, options);
  removed["runHistory"] = runs.removed;
  removed["deletedChecks"] = await removeDeletedChecks(database, { now, limit: checksMax });
  // A deleted project waits for its checks. All projects are searched, so not in every round.
  if (runs.through === 0) {
    removed["projects"] = await inTransaction(database, (tx) => pruneRemovedProjects(tx, { limit: rowsMax }));
  }
  const isComplete = runs.through === 0 && Object.values(removed).every((count) => count === 0);
  return { removed, isComplete, runsThrough: runs.through };
}

/**
 * Checks that are no longer pinged keep their last runs: these are deleted here, for some of the checks at a time.
 */
async function pruneRuns(
  database: Database,
  { now, runsAfter = 0 }: PruneOptions,
): Promise<{ removed: number; through: number }> {
  const before = keptFrom("run", now);
  const checkIds = await listCheckIdsAfter(database, { afterId: runsAfter, limit: PRUNE_RUNS_CHECKS });
  const removed = await inTransaction(database, async (tx) => {
    const days = await pruneDays(tx, { checkIds, beforeDay: dayOf(before) });
    return days + (await pruneRunChunks(tx, { checkIds, before }));
  });
  const isLast = checkIds.length < PRUNE_RUNS_CHECKS;
  return { removed, through: isLast ? 0 : (checkIds.at(-1) ?? 0) };
}
