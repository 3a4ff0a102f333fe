// What is left to come into an account by when one way is taken away. Asked after it was, in the same transaction.
import { hasWayIn, type OfferedWays } from "../../../core/accounts/ways-in.ts";
import { AppError } from "../../../core/errors.ts";
import type { Instant } from "../../../core/instant.ts";
import { findPassword, listPasskeys } from "../../../store/accounts/credentials.ts";
import { listIdentities } from "../../../store/accounts/identities.ts";
import type { Tx } from "../../../store/transaction.ts";
import type { Person } from "./authenticator.ts";

/** What is taken away from somebody's account, where there are these ways in. */
export type Removal = { person: Person; offers: OfferedWays; now: Instant };

/** AppError `conflict` when nobody could come into the account any more. Its row has to be locked. */
export async function demandWayIn(
  tx: Tx,
  { accountId, offers }: { accountId: number; offers: OfferedWays },
): Promise<void> {
  const [password, passkeys, identities] = [
    await findPassword(tx, accountId),
    await listPasskeys(tx, accountId),
    await listIdentities(tx, accountId),
  ];
  const issuers = identities.map(({ issuer }) => issuer);
  if (hasWayIn(offers, { hasPassword: password !== null, passkeyCount: passkeys.length, issuers })) return;
  throw new AppError(
    "conflict",
    "This is your only sign-in method, and this server cannot send email. Set a password or add a passkey first.",
  );
}
