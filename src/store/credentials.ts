// Password hashes, passkeys, authenticator apps, recovery codes and linked identities. Verification is done
// elsewhere.
import type { Instant } from "../core/instant.ts";
import { type Db, statement } from "./db.ts";
import type { Tx } from "./transaction.ts";
import { toTextArray, toTimestamp } from "./values.ts";

const FIND_PASSWORD = statement<{ hash: string }>({
  name: "passwords.find",
  text: "select hash from passwords where account_id = $1",
});

/** The password hash of an account; null: it has none. */
export async function findPassword(db: Db, accountId: number): Promise<string | null> {
  return (await db.query(FIND_PASSWORD, [accountId])).rows[0]?.hash ?? null;
}

const WRITE_PASSWORD = statement({
  name: "passwords.write",
  text: `insert into passwords (account_id, hash, changed_at) values ($1, $2, $3)
    on conflict (account_id) do update set hash = excluded.hash, changed_at = excluded.changed_at`,
});

/** Sets the password of an account. */
export async function writePassword(
  tx: Tx,
  { accountId, hash, at }: { accountId: number; hash: string; at: Instant },
): Promise<void> {
  await tx.query(WRITE_PASSWORD, [accountId, hash, toTimestamp(at)]);
}

const DELETE_PASSWORD = statement({
  name: "passwords.delete",
  text: "delete from passwords where account_id = $1",
});

/** Removes the password of an account. False: it had none. */
export async function deletePassword(tx: Tx, accountId: number): Promise<boolean> {
  return (await tx.query(DELETE_PASSWORD, [accountId])).count === 1;
}

export type Passkey = {
  id: number;
  uuid: string;
  accountId: number;
  name: string;
  /** In base64url, as browsers send it. */
  credentialId: string;
  publicKey: Buffer;
  useCount: number;
  transports: string[];
  createdAt: Instant;
  lastUsedAt: Instant | null;
};

type PasskeyRow = {
  id: number;
  uuid: string;
  account_id: number;
  name: string;
  credential_id: string;
  public_key: Buffer;
  use_count: number;
  transports: string[];
  created_at: Instant;
  last_used_at: Instant | null;
};

const PASSKEY_COLUMNS =
  "id, uuid, account_id, name, credential_id, public_key, use_count, transports, created_at, last_used_at";

function toPasskey(row: PasskeyRow): Passkey {
  return {
    id: row.id,
    uuid: row.uuid,
    accountId: row.account_id,
    name: row.name,
    credentialId: row.credential_id,
    publicKey: row.public_key,
    useCount: row.use_count,
    transports: row.transports,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
  };
}

const INSERT_PASSKEY = statement({
  name: "passkeys.insert",
  text: `insert into passkeys
      (uuid, account_id, name, credential_id, public_key, use_count, transports, created_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8)`,
});

/** Inserts a passkey. One that is already registered is a unique_violation. */
export async function insertPasskey(tx: Tx, passkey: Omit<Passkey, "id" | "lastUsedAt">): Promise<void> {
  await tx.query(INSERT_PASSKEY, [
    passkey.uuid,
    passkey.accountId,
    passkey.name,
    passkey.credentialId,
    passkey.publicKey,
    passkey.useCount,
    toTextArray(passkey.transports),
    toTimestamp(passkey.createdAt),
  ]);
}

const FIND_PASSKEY = statement<PasskeyRow>({
  name: "passkeys.find",
  text: `select ${PASSKEY_COLUMNS} from passkeys where credential_id = $1`,
});

/** The passkey with this credential ID. */
export async function findPasskey(db: Db, credentialId: string): Promise<Passkey | null> {
  const [row] = (await db.query(FIND_PASSKEY, [credentialId])).rows;
  return row === undefined ? null : toPasskey(row);
}

const LIST_PASSKEYS = statement<PasskeyRow>({
  name: "passkeys.list",
  text: `select ${PASSKEY_COLUMNS} from passkeys where account_id = $1 order by id`,
});

/** The passkeys of an account, oldest first. */
export async function listPasskeys(db: Db, accountId: number): Promise<Passkey[]> {
  return (await db.query(LIST_PASSKEYS, [accountId])).rows.map(toPasskey);
}

const WRITE_PASSKEY_USE = statement({
  name: "passkeys.use",
  text: `update passkeys set use_count = $2, last_used_at = $3
    where id = $1 and (use_count < $2 or (use_count = 0 and $2 = 0))`,
});

/**
 * Records the use of a passkey and its signature counter, which many passkeys never increase. False: it was deleted,
 * or the counter did not increase, so the passkey may have been cloned.
 */
export async function writePasskeyUse(
  tx: Tx,
  { passkeyId, useCount, at }: { passkeyId: number; useCount: number; at: Instant },
): Promise<boolean> {
  return (await tx.query(WRITE_PASSKEY_USE, [passkeyId, useCount, toTimestamp(at)])).count === 1;
}

const DELETE_PASSKEY = statement<{ name: string }>({
  name: "passkeys.delete",
  text: "delete from passkeys where account_id = $1 and uuid = $2 returning name",
});

/** Deletes a passkey and returns its name; null: the account has no such passkey. */
export async function deletePasskey(
  tx: Tx,
  { accountId, uuid }: { accountId: number; uuid: string },
): Promise<string | null> {
  return (await tx.query(DELETE_PASSKEY, [accountId, uuid])).rows[0]?.name ?? null;
}

export type Authenticator = { sealed: Buffer; confirmedAt: Instant | null; lastStep: number | null };

const FIND_AUTHENTICATOR = statement<{
  sealed: Buffer;
  confirmed_at: Instant | null;
  last_step: number | null;
}>({
  name: "authenticators.find",
  text: "select sealed, confirmed_at, last_step from authenticators where account_id = $1",
});

/** The authenticator app of an account, confirmed or not. */
export async function findAuthenticator(db: Db, accountId: number): Promise<Authenticator | null> {
  const [row] = (await db.query(FIND_AUTHENTICATOR, [accountId])).rows;
  if (row === undefined) return null;
  return { sealed: row.sealed, confirmedAt: row.confirmed_at, lastStep: row.last_step };
}

const WRITE_AUTHENTICATOR = statement({
  name: "authenticators.write",
  text: `insert into authenticators as t (account_id, sealed, secret_id, created_at) values ($1, $2, $3, $4)
    on conflict (account_id) do update set sealed = excluded.sealed, secret_id = excluded.secret_id,
      created_at = excluded.created_at, last_step = null
    where t.confirmed_at is null`,
});

/** Starts the setup of an app. False: a confirmed one exists and is kept. */
export async function writeAuthenticator(
  tx: Tx,
  { accountId, sealed, secretId, at }: { accountId: number; sealed: Buffer; secretId: string; at: Instant },
): Promise<boolean> {
  return (await tx.query(WRITE_AUTHENTICATOR, [accountId, sealed, secretId, toTimestamp(at)])).count === 1;
}

const CONFIRM_AUTHENTICATOR = statement({
  name: "authenticators.confirm",
  text: `update authenticators set confirmed_at = $2, last_step = $3
    where account_id = $1 and confirmed_at is null`,
});

/** Confirms the app, which is required from now on. False: there is none to confirm. */
export async function confirmAuthenticator(
  tx: Tx,
  { accountId, at, step }: { accountId: number; at: Instant; step: number },
): Promise<boolean> {
  return (await tx.query(CONFIRM_AUTHENTICATOR, [accountId, toTimestamp(at), step])).count === 1;
}

const USE_AUTHENTICATOR_STEP = statement({
  name: "authenticators.use_step",
  text: `update authenticators set last_step = $2
    where account_id = $1 and confirmed_at is not null and (last_step is null or last_step < $2)`,
});

/** Uses the code of a time step. False: this or a later one was already used. */
export async function useAuthenticatorStep(
  tx: Tx,
  { accountId, step }: { accountId: number; step: number },
): Promise<boolean> {
  return (await tx.query(USE_AUTHENTICATOR_STEP, [accountId, step])).count === 1;
}

const DELETE_AUTHENTICATOR = statement({
  name: "authenticators.delete",
  text: "delete from authenticators where account_id = $1",
});

/** Removes the app of an account. False: it had none. */
export async function deleteAuthenticator(tx: Tx, accountId: number): Promise<boolean> {
  return (await tx.query(DELETE_AUTHENTICATOR, [accountId])).count === 1;
}

const DELETE_CODES = statement({
  name: "recovery_codes.delete",
  text: "delete from recovery_codes where account_id = $1",
});
const INSERT_CODES = statement({
  name: "recovery_codes.insert",
  text: "insert into recovery_codes (account_id, digest, secret_id) select $1, unnest($2::bytea[]), $3",
});

/** Deletes the recovery codes of an account. */
export async function deleteRecoveryCodes(tx: Tx, accountId: number): Promise<void> {
  await tx.query(DELETE_CODES, [accountId]);
}

/** Replaces the recovery codes of an account. */
export async function writeRecoveryCodes(
  tx: Tx,
  { accountId, digests, secretId }: { accountId: number; digests: readonly Buffer[]; secretId: string },
): Promise<void> {
  await tx.query(DELETE_CODES, [accountId]);
  await tx.query(INSERT_CODES, [accountId, digests, secretId]);
}

const USE_RECOVERY_CODE = statement({
  name: "recovery_codes.use",
  text: "update recovery_codes set used_at = $3 where account_id = $1 and digest = any($2) and used_at is null",
});

/** Uses a recovery code, by its possible digests. False: the account has no such code, or it was already used. */
export async function useRecoveryCode(
  tx: Tx,
  { accountId, digests, at }: { accountId: number; digests: readonly Buffer[]; at: Instant },
): Promise<boolean> {
  return (await tx.query(USE_RECOVERY_CODE, [accountId, digests, toTimestamp(at)])).count === 1;
}

const COUNT_RECOVERY_CODES = statement<{ count: number }>({
  name: "recovery_codes.count",
  text: "select count(*) as count from recovery_codes where account_id = $1 and used_at is null",
});

/** How many recovery codes are left. */
export async function countRecoveryCodes(db: Db, accountId: number): Promise<number> {
  return (await db.query(COUNT_RECOVERY_CODES, [accountId])).rows[0]?.count ?? 0;
}

/** An identity at a provider: issuer and subject. */
export type IdentityName = { issuer: string; subject: string };

export type Identity = IdentityName & { createdAt: Instant; lastUsedAt: Instant };

const USE_IDENTITY = statement<{ account_id: number }>({
  name: "identities.use",
  text: `update oidc_identities set last_used_at = $3 where issuer = $1 and subject = $2 returning account_id`,
});

/** The account linked to an identity, and records its use; null: none is linked. */
export async function useIdentity(
  tx: Tx,
  { issuer, subject, at }: IdentityName & { at: Instant },
): Promise<number | null> {
  return (await tx.query(USE_IDENTITY, [issuer, subject, toTimestamp(at)])).rows[0]?.account_id ?? null;
}

const INSERT_IDENTITY = statement({
  name: "identities.insert",
  text: `insert into oidc_identities (issuer, subject, account_id, created_at, last_used_at)
    values ($1, $2, $3, $4, $4) on conflict do nothing`,
});

/** Links an identity to an account. False: it is already linked. */
export async function insertIdentity(
  tx: Tx,
  { issuer, subject, accountId, at }: IdentityName & { accountId: number; at: Instant },
): Promise<boolean> {
  return (await tx.query(INSERT_IDENTITY, [issuer, subject, accountId, toTimestamp(at)])).count === 1;
}

const DELETE_IDENTITY = statement({
  name: "identities.delete",
  text: "delete from oidc_identities where account_id = $1 and issuer = $2 and subject = $3",
});

/** Unlinks an identity from an account. False: it was not linked. */
export async function deleteIdentity(
  tx: Tx,
  { issuer, subject, accountId }: IdentityName & { accountId: number },
): Promise<boolean> {
  return (await tx.query(DELETE_IDENTITY, [accountId, issuer, subject])).count === 1;
}

const LIST_IDENTITIES = statement<{
  issuer: string;
  subject: string;
  created_at: Instant;
  last_used_at: Instant;
}>({
  name: "identities.list",
  text: `select issuer, subject, created_at, last_used_at from oidc_identities
    where account_id = $1 order by created_at, issuer, subject`,
});

/** The identities linked to an account. */
export async function listIdentities(db: Db, accountId: number): Promise<Identity[]> {
  const { rows } = await db.query(LIST_IDENTITIES, [accountId]);
  return rows.map(({ issuer, subject, created_at: createdAt, last_used_at: lastUsedAt }) => ({
    issuer,
    subject,
    createdAt,
    lastUsedAt,
  }));
}
