// Writes down who did what to a check, in the transaction that does it. Where nobody is named, as for a check that
// makes itself by its first ping, nothing is written.
import type { AuditWord } from "../../core/accounts/audit-words.ts";
import type { Instant } from "../../core/instant.ts";
import type { Check } from "../../store/checks/checks.ts";
import type { Tx } from "../../store/transaction.ts";
import { audit } from "../accounts/audit.ts";

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
export async function auditCheck(tx: Tx, { what, check, by, before, after, at }: CheckAudit): Promise<void> {
  const { accountId, keyId = null } = by;
  if (accountId === null && keyId === null) return;
  await audit(tx, {
    projectId: check.projectId,
    accountId,
    keyId,
    what,
    subject: check.settings.name === "" ? check.uuid : check.settings.name,
    before: before ?? null,
    after: after ?? null,
    at,
  });
}
