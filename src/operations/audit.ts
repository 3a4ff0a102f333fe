// The audit log, written in the transaction of the change. Fields that may contain a secret are redacted
// here, whatever the caller passes.
import { AUDIT_PAGE_MAX, AUDIT_SUBJECT_LENGTH_MAX, type AuditAction, auditSide } from "../core/audit.ts";
import type { Instant } from "../core/instant.ts";
import { type AuditEntry, insertAuditEntries, listAuditEntries } from "../store/audit.ts";
import type { Db } from "../store/db.ts";
import type { Tx } from "../store/transaction.ts";

/** The actor: an account, an API key, or (both null) the command line. */
export type Actor = { accountId: number | null; keyId: number | null };

export type Change = Actor & {
  /** Null: about an account or the server. */
  projectId: number | null;
  what: AuditAction;
  /** The name of what is changed. */
  subject: string;
  before: object | null;
  after: object | null;
  at: Instant;
};

/** Adds an entry. */
export async function audit(tx: Tx, change: Change): Promise<void> {
  await auditAll(tx, [change]);
}

/** Adds entries in this order. */
export async function auditAll(tx: Tx, changes: readonly Change[]): Promise<void> {
  const entries = changes.map((change) => ({
    ...change,
    subject: change.subject.slice(0, AUDIT_SUBJECT_LENGTH_MAX),
    before: auditSide(change.before),
    after: auditSide(change.after),
  }));
  await insertAuditEntries(tx, entries);
}

/**
 * A page of the audit log of a project, or (null) of entries without a project, newest first, and where the
 * next page begins.
 */
export async function listAudit(
  db: Db,
  { projectId, beforeId = Number.MAX_SAFE_INTEGER }: { projectId: number | null; beforeId?: number },
): Promise<{ entries: AuditEntry[]; nextBeforeId: number | null }> {
  const found = await listAuditEntries(db, { projectId, beforeId, limit: AUDIT_PAGE_MAX + 1 });
  const entries = found.slice(0, AUDIT_PAGE_MAX);
  return { entries, nextBeforeId: found.length > AUDIT_PAGE_MAX ? (entries.at(-1)?.id ?? null) : null };
}
