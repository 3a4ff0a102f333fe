// Who of the identity provider opens an account: added the first time they come, and taken away by its owner.
import { AppError } from "../../../core/errors.ts";
import type { Instant } from "../../../core/instant.ts";
import { lockAccount } from "../../../store/accounts/accounts.ts";
import { deleteIdentity, type IdentityName, insertIdentity } from "../../../store/accounts/identities.ts";
import { findAccountById } from "../../../store/accounts/projects.ts";
import type { Database } from "../../../store/db.ts";
import type { Tx } from "../../../store/transaction.ts";
import { inRetriedTransaction } from "../../changing/retried.ts";
import { audit } from "../audit.ts";
import { tellSecurity } from "../mail.ts";
import type { Person } from "./authenticator.ts";
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
  await note(tx, { person: { accountId, email: account.email }, what: "providerAdded", issuer, now });
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
      throw new AppError("not_found", "It does not open this account any more.");
    }
    await demandWayIn(tx, { accountId, offers });
    await note(tx, { person, what: "providerRemoved", issuer, now });
  });
}

type Noted = { person: Person; issuer: string; now: Instant; what: "providerAdded" | "providerRemoved" };

async function note(tx: Tx, { person, what, issuer, now: at }: Noted): Promise<void> {
  const { accountId, email: subject } = person;
  const sides =
    what === "providerAdded" ? { before: null, after: { issuer } } : { before: { issuer }, after: null };
  const by = { projectId: null, accountId, keyId: null };
  await audit(tx, { ...by, what: `account.${what}`, subject, ...sides, at });
  await tellSecurity(tx, { accountId, what, at });
}
