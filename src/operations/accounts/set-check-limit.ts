// Gives an account a limit of its own for the number of its checks, or takes it away again.
import { auditDifference } from "../../core/accounts/audit-words.ts";
import { AppError } from "../../core/errors.ts";
import type { Instant } from "../../core/instant.ts";
import type { Database } from "../../store/db.ts";
import { type Account, findAccountByEmail, updateCheckLimit } from "../../store/accounts/projects.ts";
import { inTransaction, type Tx } from "../../store/transaction.ts";
import { normalEmail } from "../create-account.ts";
import { audit } from "./audit.ts";

/** By the command line. Null returns to the limit of the installation. AppError `not_found` when the address has no account. */
export async function setCheckLimit(
  database: Database,
  { email, checkLimit, now }: { email: string; checkLimit: number | null; now: Instant },
): Promise<void> {
  await inTransaction(database, async (tx) => {
    const account = await findAccountByEmail(tx, normalEmail(email));
    if (account === null) throw new AppError("not_found", `No account found for ${email}.`);
    await changeCheckLimit(tx, { account, checkLimit, actorId: null, now });
  });
}

export type LimitChange = {
  account: Account;
  checkLimit: number | null;
  /** Null: the command line. */
  actorId: number | null;
  now: Instant;
};

/** The same inside the caller's transaction. It is written down, unless nothing changes. */
export async function changeCheckLimit(
  tx: Tx,
  { account, checkLimit, actorId, now }: LimitChange,
): Promise<void> {
  const limits = auditDifference({ checkLimit: account.checkLimit }, { checkLimit });
  if (limits === null) return;
  await updateCheckLimit(tx, { accountId: account.id, checkLimit });
  const by = { projectId: null, accountId: actorId, keyId: null };
  await audit(tx, { ...by, what: "account.limitChanged", subject: account.email, ...limits, at: now });
}
