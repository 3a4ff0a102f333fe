// Writes down who did what to a check, in the transaction that does it. Where nobody is named, as for a check that
// makes itself by its first ping, nothing is written.
import type { AuditWord } from "../../core/accounts/audit-words.ts";
import type { Instant } from "../../core/instant.ts";
import type { Check } from "../../store/checks/checks.ts";
import type { Tx } from "../../store/transaction.ts";
import { auditAll } from "../accounts/audit.ts";

export type CheckAudit = {
  what: Extract<AuditWord, `check.${string}`>;
  check: Pick<Check, "uuid" | "projectId" | "settings">;
  /** A person or a key. */
  by: { accountId: number | null; keyId?: number | null };
  before?: object;
  after?: object;
  at: Instant;
};

/** Notes what was done to a check; it is named by its name, and without one by its UUID. */
export async function auditCheck(tx: Tx, done: CheckAudit): Promise<void> {
  await auditChecks(tx, [done]);
}

/** Notes what was done to several checks, each by itself. */
export async function auditChecks(tx: Tx, done: readonly CheckAudit[]): Promise<void> {
  const changes = done.flatMap(({ what, check, by, before, after, at }) => {
    const { accountId, keyId = null } = by;
    if (accountId === null && keyId === null) return [];
    const subject = check.settings.name === "" ? check.uuid : check.settings.name;
    const sides = { before: before ?? null, after: after ?? null };
    return [{ projectId: check.projectId, accountId, keyId, what, subject, ...sides, at }];
  });
  if (changes.length > 0) await auditAll(tx, changes);
}
