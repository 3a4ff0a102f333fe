// Who is behind an entry of the audit log, as a page says it.
import type { ChangedBy } from "../../../contract/web/check-row.ts";
import type { AuditEntry } from "../../../store/accounts/audit.ts";

export function changedBy(entry: AuditEntry | undefined, accountId: number): ChangedBy {
  if (entry === undefined) return null;
  if (entry.accountId === accountId) return { kind: "you" };
  if (entry.email !== null) return { kind: "person", email: entry.email };
  return entry.keyId === null ? null : { kind: "key" };
}
