// Detects that the data has moved to another database (a restore, a copy, pg_upgrade), and decides whether this
// server is the one in service. A failover to a standby changes neither number.
import { type Instant, MINUTE_MS, SECOND_MS } from "./instant.ts";

/**
 * How long a listening process requests the public URL before it concludes that another server, or none, answers
 * there.
 */
export const ASK_MS_MAX = MINUTE_MS;
/** Without a process that listens, the URL cannot be checked. */
export const UNASKED_MS_MAX = 5 * MINUTE_MS;
export const ASK_TIMEOUT_MS = 5 * SECOND_MS;

export type DatabaseIdentity = {
  /** System identifier of the cluster; null if it cannot be read. */
  systemIdentifier: string | null;
  databaseOid: number;
};

/** normal: in service. checking: not decided yet. safe: pings are recorded, and nothing is sent. */
export type ServiceState = "normal" | "checking" | "safe";

export function isSameDatabase(stored: DatabaseIdentity, actual: DatabaseIdentity): boolean {
  const isSameCluster =
    stored.systemIdentifier === null ||
    actual.systemIdentifier === null ||
    stored.systemIdentifier === actual.systemIdentifier;
  return isSameCluster && stored.databaseOid === actual.databaseOid;
}

/** The input of the decision while the state is "checking". */
export type Asking = {
  now: Instant;
  /** Since when the state has been "checking". */
  sinceAt: Instant;
  /** The public URL that the data was last served at; null if unknown. */
  storedSiteUrl: string | null;
  /** The public URL of this process; null if it does not listen. */
  siteUrl: string | null;
  /** How long this process has requested the URL; null: not yet. */
  askedMs: number | null;
  askMsMax: number;
};

export type Verdict = { kind: "ask" } | { kind: "wait" } | { kind: "safe"; reason: string };

/** The next step in the state "checking" without an answer. */
export function verdictOf(asking: Asking): Verdict {
  const { siteUrl, storedSiteUrl } = asking;
  if (siteUrl === null) {
    if (asking.now - asking.sinceAt < UNASKED_MS_MAX) return { kind: "wait" };
    return { kind: "safe", reason: "No process that serves the public URL has started." };
  }
  // Requesting the new URL would only show that this server answers there. The old one may still be in service.
  if (storedSiteUrl !== null && storedSiteUrl !== siteUrl) {
    return { kind: "safe", reason: `The public URL has changed from ${storedSiteUrl} to ${siteUrl}.` };
  }
  if ((asking.askedMs ?? 0) < asking.askMsMax) return { kind: "ask" };
  return { kind: "safe", reason: `This server is not reachable at the public URL ${siteUrl}.` };
}
