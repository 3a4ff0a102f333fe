// Deletes data past its retention period, a limited number of rows per transaction.
import type { Instant } from "../core/instant.ts";
import { DAYS_KEPT, keptFrom, type RetentionDays } from "../core/retention.ts";
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
import { pruneAlerts, pruneIncidents } from "../store/incidents.ts";
import { pruneBlindIntervals, pruneIntakes, pruneRefusedIntervals } from "../store/intakes.ts";
import { pruneInvitations } from "../store/invitations.ts";
import { pruneNearMisses } from "../store/near-misses.ts";
import { pruneBodies, prunePings } from "../store/pings.ts";
import { pruneRemovedProjects } from "../store/projects.ts";
import { pruneRejectedSignals } from "../store/quarantine.ts";
import { insertRunChunks, pruneDays, pruneRunChunks } from "../store/runs.ts";
import { pruneSessions } from "../store/sessions.ts";
import { pruneSilences } from "../store/silences.ts";
import { pruneAttempts, pruneSignIns, pruneSteps, pruneTokens } from "../store/sign-in.ts";
import { pruneAccessTokens } from "../store/tokens.ts";
import { pruneStatusPages, pruneStatusPosts } from "../store/status-pages.ts";
import { pruneMessages, pruneSubscribers } from "../store/status-subscribers.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";
import { removeDeletedChecks } from "./checks.ts";

/** Few at a time: a check is deleted with its whole history. */
const PRUNE_CHECKS_MAX = 20;
/** Checks searched for old runs and pings at a time. */
const PRUNE_RUNS_CHECKS = 200;
/** Rows deleted per transaction: a few milliseconds of work. */
const PRUNE_ROWS_MAX = 1_000;

type Prune = (tx: Tx, rows: { before: Instant; limit: number }) => Promise<number>;

/** All data with a retention period in days, except what is searched check by check. */
const PRUNED: Readonly<Record<string, { prune: Prune; days: (retention: RetentionDays) => number }>> = {
  // Deliveries before flips: a delivery refers to its flip, so the flip is deleted last.
  deliveries: { prune: pruneDeliveries, days: ({ delivery }) => delivery },
  letters: { prune: pruneEmails, days: ({ delivery }) => delivery },
  incidents: { prune: pruneIncidents, days: () => DAYS_KEPT.incident },
  // Those that were dropped before they had an incident.
  alerts: { prune: pruneAlerts, days: () => DAYS_KEPT.incident },
  flips: { prune: pruneFlips, days: ({ flip }) => flip },
  events: { prune: pruneEvents, days: ({ event }) => event },
  statusPages: { prune: pruneStatusPages, days: () => DAYS_KEPT.deletedStatusPage },
  statusPosts: { prune: pruneStatusPosts, days: () => DAYS_KEPT.statusPost },
  statusSubscribers: { prune: pruneSubscribers, days: () => DAYS_KEPT.unconfirmedSubscriber },
  statusMessages: { prune: pruneMessages, days: ({ delivery }) => delivery },
  silences: { prune: pruneSilences, days: () => DAYS_KEPT.silence },
  blindIntervals: { prune: pruneBlindIntervals, days: () => DAYS_KEPT.blindInterval },
  refusedIntervals: { prune: pruneRefusedIntervals, days: () => DAYS_KEPT.refusedInterval },
  // An intake explains the blind intervals that name it.
  intakes: { prune: pruneIntakes, days: () => DAYS_KEPT.blindInterval },
  rejectedSignals: { prune: pruneRejectedSignals, days: () => DAYS_KEPT.rejectedSignal },
  nearMisses: { prune: pruneNearMisses, days: () => DAYS_KEPT.nearMiss },
  idempotencyKeys: { prune: pruneIdempotencyKeys, days: () => DAYS_KEPT.idempotencyKey },
  sessions: { prune: pruneSessions, days: () => DAYS_KEPT.session },
  signIns: { prune: pruneSignIns, days: () => DAYS_KEPT.signIn },
  auditEntries: { prune: pruneAuditEntries, days: ({ auditEntry }) => auditEntry },
  // A revoked key is a fact about the project's past, like its other events.
  revokedKeys: { prune: pruneApiKeys, days: ({ event }) => event },
  accessTokens: { prune: pruneAccessTokens, days: () => DAYS_KEPT.accessToken },
  signInTokens: { prune: pruneTokens, days: () => 1 },
  signInSteps: { prune: pruneSteps, days: () => 0 },
  attempts: { prune: pruneAttempts, days: () => 0 },
  invitations: { prune: pruneInvitations, days: () => 0 },
};

export type PruneOptions = {
  now: Instant;
  retention: RetentionDays;
  rowsMax?: number;
  checksMax?: number;
  /**
   * The check after which old runs and pings are searched; 0 is the beginning, then the value that the previous round
   * returned.
   */
  runsAfter?: number;
};
export type Pruned = {
  removed: Record<string, number>;
  isComplete: boolean;
  /** The check up to which old runs and pings have been searched; 0 if there are no more. */
  runsThrough: number;
};

/**
 * Deletes at most this many rows of each kind; `isComplete` means that nothing was left to delete. A kind that
 * considers only its oldest rows may skip some of them, so only a round without deletions is the last one.
 */
export async function pruneHistory(database: Database, options: PruneOptions): Promise<Pruned> {
  const { now, retention, rowsMax = PRUNE_ROWS_MAX, checksMax = PRUNE_CHECKS_MAX } = options;
  const removed: Record<string, number> = {};
  for (const [name, { prune, days }] of Object.entries(PRUNED)) {
    const before = keptFrom(days(retention), now);
    removed[name] = await inTransaction(database, (tx) => prune(tx, { before, limit: rowsMax }));
  }
  const runs = await pruneChecks(database, { ...options, rowsMax });
  removed["pings"] = runs.pings;
  removed["runHistory"] = runs.runHistory;
  removed["deletedChecks"] = await removeDeletedChecks(database, { now, limit: checksMax });
  // A deleted project waits for its checks. All projects are searched, so not in every round.
  if (runs.through === 0) {
    removed["projects"] = await inTransaction(database, (tx) => pruneRemovedProjects(tx, { limit: rowsMax }));
  }
  const isComplete = runs.through === 0 && Object.values(removed).every((count) => count === 0);
  return { removed, isComplete, runsThrough: runs.through };
}

/** Deletes old runs and pings of some of the checks at a time. */
async function pruneChecks(
  database: Database,
  { now, retention, rowsMax, runsAfter = 0 }: PruneOptions & { rowsMax: number },
): Promise<{ runHistory: number; pings: number; through: number }> {
  const checkIds = await listCheckIdsAfter(database, { afterId: runsAfter, limit: PRUNE_RUNS_CHECKS });
  const { ping: pingDays } = retention;
  const rows = { checkIds, limit: rowsMax, now };
  const pings =
    pingDays === null
      ? { removed: 0, isComplete: true }
      : await prunePingLogs(database, { ...rows, before: keptFrom(pingDays, now) });
  if (!pings.isComplete) return { runHistory: 0, pings: pings.removed, through: runsAfter };
  const before = keptFrom(DAYS_KEPT.run, now);
  // Checks that are no longer pinged keep their last runs; others delete theirs when they get new ones.
  const runHistory = await inTransaction(database, async (tx) => {
    const days = await pruneDays(tx, { checkIds, beforeDay: dayOf(before) });
    return days + (await pruneRunChunks(tx, { checkIds, before }));
  });
  const isLast = checkIds.length < PRUNE_RUNS_CHECKS;
  return { runHistory, pings: pings.removed, through: isLast ? 0 : (checkIds.at(-1) ?? 0) };
}

type LogRows = { checkIds: readonly number[]; before: Instant; limit: number; now: Instant };

/** Deletes old pings with their bodies. As when a log is trimmed, their runs stay in the run history. */
async function prunePingLogs(
  database: Database,
  rows: LogRows,
): Promise<{ removed: number; isComplete: boolean }> {
  const runsFrom = keptFrom(DAYS_KEPT.run, rows.now);
  return inTransaction(database, async (tx) => {
    const { count, runs } = await prunePings(tx, rows);
    const bodyCount = await pruneBodies(tx, rows);
    const byCheck = Map.groupBy(
      runs.filter(({ endAt }) => endAt >= runsFrom),
      ({ checkId }) => checkId,
    );
    const chunks = [...byCheck].map(([checkId, ended]) => ({ checkId, runs: ended }));
    if (chunks.length > 0) await insertRunChunks(tx, chunks);
    return { removed: count, isComplete: count < rows.limit && bodyCount < rows.limit };
  });
}
