// Who of the identity provider opens an account: added the first time they come, and taken away by its owner.
import { AppError } from "../../../core/errors.ts";
import type { Instant } from "../../../core/instant.ts";
import { lockAccount } from "../../../store/accounts/accounts.ts";
import { deleteIdentity, type IdentityName, insertIdentity } from "../../../store/accounts/identities.ts";
import { findAccountById } from "../../../store/accounts/projects.ts";
import type { Database } from "../../../store/db.ts";
import type { Tx } from "../../../store/transaction.ts";
import { inRetriedTransaction } from "../../changing/retried.ts";
import { noteWay } from "./note-way.ts";
import { demandWayIn, type Removal } from "./ways-in.ts";

/** A way into an account that was there before: its owner hears of it, like of every other. */
export async function linkIdentity(
  tx: Tx,
  { identity, accountId, now }: { identity: IdentityName; accountId: number; now: Instant },
): Promise<void> {
  const account = await findAccountById(tx, accountId);
  const { issuer, subject } = identity;
  // Two windows may come back at once: the other one has told it.
  if (account === null || !(await insertIdentity(tx, { issuer, subject, accountId, at: now }))) return;
  const person = { accountId, email: account.email };
  await noteWay(tx, { person, what: "providerAdded", after: { issuer }, at: now });
}

/** Takes one of the provider's people away. AppError `not_found`, or `conflict` for the last way into the account. */
export async function unlinkIdentity(
  database: Database,
  { person, identity, offers, now }: Removal & { identity: IdentityName },
): Promise<void> {
  const { accountId } = person;
  const { issuer, subject } = identity;
  await inRetriedTransaction(database, async (tx) => {
    await lockAccount(tx, accountId);
    if (!(await deleteIdentity(tx, { issuer, subject, accountId }))) {
      throw new AppError("not_found", "This identity is no longer linked to your account.");
    }
    await demandWayIn(tx, { accountId, offers });
    await noteWay(tx, { person, what: "providerRemoved", before: { issuer }, at: now });
  });
}
