// Passwords and passkeys: what is kept of them. Whether one is right is found out elsewhere.
import type { Instant } from "../../core/instant.ts";
import { type Db, statement } from "../db.ts";
import type { Tx } from "../transaction.ts";
import { toTextArray, toTimestamp } from "../values.ts";

const FIND_PASSWORD = statement<{ hash: string }>({
  name: "passwords.find",
  text: "select hash from passwords where account_id = $1",
});

/** The hash of an account's password; null: it has none. */
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

/** Takes the password of an account away. False: it had none. */
export async function deletePassword(tx: Tx, accountId: number): Promise<boolean> {
  return (await tx.query(DELETE_PASSWORD, [accountId])).count === 1;
}

export type Passkey = {
  id: number;
  uuid: string;
  accountId: number;
  name: string;
  /** In base64url, as browsers say it. */
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

const COLUMNS =
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

/** Adds a passkey. One that is known already is a unique_violation. */
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
  text: `select ${COLUMNS} from passkeys where credential_id = $1`,
});

/** The passkey that a browser names. */
export async function findPasskey(db: Db, credentialId: string): Promise<Passkey | null> {
  const [row] = (await db.query(FIND_PASSKEY, [credentialId])).rows;
  return row === undefined ? null : toPasskey(row);
}

const LIST_PASSKEYS = statement<PasskeyRow>({
  name: "passkeys.list",
  text: `select ${COLUMNS} from passkeys where account_id = $1 order by id`,
});

/** The passkeys of an account, the oldest first. */
export async function listPasskeys(db: Db, accountId: number): Promise<Passkey[]> {
  return (await db.query(LIST_PASSKEYS, [accountId])).rows.map(toPasskey);
}

const USE_PASSKEY = statement({
  name: "passkeys.use",
  text: `update passkeys set use_count = $2, last_used_at = $3
    where id = $1 and (use_count < $2 or (use_count = 0 and $2 = 0))`,
});

/**
 * Writes down that a passkey was used, and what it has counted; many never count. False: it is gone, or has counted as
 * far before, so that two have the same one.
 */
export async function writePasskeyUse(
  tx: Tx,
  { passkeyId, useCount, at }: { passkeyId: number; useCount: number; at: Instant },
): Promise<boolean> {
  return (await tx.query(USE_PASSKEY, [passkeyId, useCount, toTimestamp(at)])).count === 1;
}

const DELETE_PASSKEY = statement<{ name: string }>({
  name: "passkeys.delete",
  text: "delete from passkeys where account_id = $1 and uuid = $2 returning name",
});

/** Takes a passkey away and returns its name; null: the account has no such passkey. */
export async function deletePasskey(
  tx: Tx,
  { accountId, uuid }: { accountId: number; uuid: string },
): Promise<string | null> {
  return (await tx.query(DELETE_PASSKEY, [accountId, uuid])).rows[0]?.name ?? null;
}
