// Whether the data has moved to another database (a restore, a copy, pg_upgrade), and whether this server is then the
// one in service. A failover to a standby changes neither of the two numbers.
import { type Instant, MINUTE_MS, SECOND_MS } from "./instant.ts";

/** How long a process that listens asks the public URL who answers, before it concludes that it is not us. */
export const ASK_MS_MAX = MINUTE_MS;
/** Without a process that listens, the URL cannot be checked. */
export const UNASKED_MS_MAX = 5 * MINUTE_MS;
export const ASK_TIMEOUT_MS = 5 * SECOND_MS;

export type DatabaseIdentity = {
  /** Of the cluster; null where it may not be read. */
  systemIdentifier: string | null;
  databaseOid: number;
};

/** normal: in service. checking: it is being found out. safe: pings are recorded, and nothing is sent. */
export type ServiceState = "normal" | "checking" | "safe";

export function isSameDatabase(stored: DatabaseIdentity, actual: DatabaseIdentity): boolean {
  const isSameCluster =
    stored.systemIdentifier === null ||
    actual.systemIdentifier === null ||
    stored.systemIdentifier === actual.systemIdentifier;
  return isSameCluster && stored.databaseOid === actual.databaseOid;
}

/** What a process knows while the state is "checking". */
export type Asking = {
  now: Instant;
  /** Since when the state has been "checking". */
  sinceAt: Instant;
  /** The public URL that the data was last served at; null: none is known. */
  storedSiteUrl: string | null;
  /** The public URL of this process; null where it does not listen. */
  siteUrl: string | null;
  /** For how long this process has asked; null: not yet. */
  askedMs: number | null;
  askMsMax: number;
};

export type Verdict = { kind: "ask" } | { kind: "wait" } | { kind: "safe"; reason: string };

/** What a process does next in the state "checking", short of an answer. */
export function verdictOf(asking: Asking): Verdict {
  const { siteUrl, storedSiteUrl } = asking;
  if (siteUrl === null) {
    if (asking.now - asking.sinceAt < UNASKED_MS_MAX) return { kind: "wait" };
    return { kind: "safe", reason: "No process that serves the public URL has started." };
  }
  // Asking the new URL would only show that we answer there. The old one may still be in service.
  if (storedSiteUrl !== null && storedSiteUrl !== siteUrl) {
    return { kind: "safe", reason: `The public URL has changed from ${storedSiteUrl} to ${siteUrl}.` };
  }
  if ((asking.askedMs ?? 0) < asking.askMsMax) return { kind: "ask" };
  return { kind: "safe", reason: `This server is not reachable at the public URL ${siteUrl}.` };
}
