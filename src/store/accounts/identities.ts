// Who is who at the identity provider. Whether a stranger may come in is decided elsewhere.
import type { Instant } from "../../core/instant.ts";
import { type Db, statement } from "../db.ts";
import type { Tx } from "../transaction.ts";
import { toTimestamp } from "../values.ts";

/** Somebody at a provider: whom it calls by this name, and no two by the same. */
export type IdentityName = { issuer: string; subject: string };

export type Identity = IdentityName & { createdAt: Instant; lastUsedAt: Instant };

const USE = statement<{ account_id: number }>({
  name: "identities.use",
  text: `update oidc_identities set last_used_at = $3 where issuer = $1 and subject = $2 returning account_id`,
});

/** The account that somebody of the provider is, and that they came now; null: nobody yet. */
export async function useIdentity(
  tx: Tx,
  { issuer, subject, at }: IdentityName & { at: Instant },
): Promise<number | null> {
  return (await tx.query(USE, [issuer, subject, toTimestamp(at)])).rows[0]?.account_id ?? null;
}

const INSERT = statement({
  name: "identities.insert",
  text: `insert into oidc_identities (issuer, subject, account_id, created_at, last_used_at)
    values ($1, $2, $3, $4, $4) on conflict do nothing`,
});

/** From now on somebody of the provider is this account. False: they are one already. */
export async function insertIdentity(
  tx: Tx,
  { issuer, subject, accountId, at }: IdentityName & { accountId: number; at: Instant },
): Promise<boolean> {
  return (await tx.query(INSERT, [issuer, subject, accountId, toTimestamp(at)])).count === 1;
}

const DELETE = statement({
  name: "identities.delete",
  text: "delete from oidc_identities where account_id = $1 and issuer = $2 and subject = $3",
});

/** Somebody of the provider is this account no more. False: they were not. */
export async function deleteIdentity(
  tx: Tx,
  { issuer, subject, accountId }: IdentityName & { accountId: number },
): Promise<boolean> {
  return (await tx.query(DELETE, [accountId, issuer, subject])).count === 1;
}

const LIST = statement<{ issuer: string; subject: string; created_at: Instant; last_used_at: Instant }>({
  name: "identities.list",
  text: `select issuer, subject, created_at, last_used_at from oidc_identities
    where account_id = $1 order by created_at, issuer, subject`,
});

/** The providers by which an account may come in. */
export async function listIdentities(db: Db, accountId: number): Promise<Identity[]> {
  const { rows } = await db.query(LIST, [accountId]);
  return rows.map(({ issuer, subject, created_at: createdAt, last_used_at: lastUsedAt }) => ({
    issuer,
    subject,
    createdAt,
    lastUsedAt,
  }));
}
