// Gives an account a limit of its own for the number of its checks, or takes it away again.
import { AppError } from "../../core/errors.ts";
import type { Database } from "../../store/db.ts";
import { findAccountByEmail, updateCheckLimit } from "../../store/accounts/projects.ts";
import { inTransaction } from "../../store/transaction.ts";
import { normalEmail } from "../create-account.ts";

/** Null returns to the limit of the installation. AppError `not_found` when the address has no account. */
export async function setCheckLimit(
  database: Database,
  { email, checkLimit }: { email: string; checkLimit: number | null },
): Promise<void> {
  await inTransaction(database, async (tx) => {
    const account = await findAccountByEmail(tx, normalEmail(email));
    if (account === null) throw new AppError("not_found", `There is no account for ${email}.`);
    await updateCheckLimit(tx, { accountId: account.id, checkLimit });
  });
}
