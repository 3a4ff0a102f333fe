// Which secret key stored values were made with, and the key pair for Web Push. The values are in tables of other files.
import { SECRET_USES, type SecretCounts, type SecretUse } from "../core/secrets.ts";
import { type Db, statement } from "./db.ts";
import type { Tx } from "./transaction.ts";
import { toTimestamp } from "./values.ts";
import type { Instant } from "../core/instant.ts";

/** The rows of each kind that can still be used. $3 is the time. */
const USABLE: Readonly<Record<SecretUse, string>> = {
  apiKeys: "api_keys where revoked_at is null",
  accessTokens: "access_tokens where expires_at > $3",
  authenticators: "authenticators where true",
  recoveryCodes: "recovery_codes where used_at is null",
};

const COUNT = statement<{ name: SecretUse; previous: number; neither: number }>({
  name: "secrets.count",
  text: SECRET_USES.map(
    (name) => `select '${name}' as name,
      count(*) filter (where secret_id is null or secret_id = $2) as previous,
      count(*) filter (where secret_id not in ($1, coalesce($2, $1))) as neither
    from ${USABLE[name]}`,
  ).join(" union all "),
});

/** How many usable values need the previous key. Those whose key is not known may need it. */
export async function countSecretUses(
  db: Db,
  { currentId, previousId, now }: { currentId: string; previousId: string | null; now: Instant },
): Promise<Record<SecretUse, SecretCounts>> {
  const { rows } = await db.query(COUNT, [currentId, previousId, toTimestamp(now)]);
  const counts = rows.map(({ name, previous, neither }) => [name, { previous, neither }]);
  return Object.fromEntries(counts) as Record<SecretUse, SecretCounts>;
}

const LABEL = statement<{ count: number }>({
  name: "secrets.label",
  text: `with keys as (update api_keys set secret_id = $1 where secret_id is null returning 1),
      tokens as (update access_tokens set secret_id = $1 where secret_id is null returning 1),
      apps as (update authenticators set secret_id = $1 where secret_id is null returning 1),
      codes as (update recovery_codes set secret_id = $1 where secret_id is null returning 1)
    select (select count(*) from keys) + (select count(*) from tokens) + (select count(*) from apps)
      + (select count(*) from codes) as count`,
});

/** Labels all values whose key is not known; returns how many. */
export async function labelSecretUses(tx: Tx, secretId: string): Promise<number> {
  return (await tx.query(LABEL, [secretId])).rows[0]?.count ?? 0;
}

/** The sealed secret of an authenticator app. */
export type SealedApp = { accountId: number; sealed: Buffer };

const LOCK_OTHER_SEALS = statement<{ account_id: number; sealed: Buffer }>({
  name: "secrets.lock_seals",
  text: `select account_id, sealed from authenticators where secret_id is distinct from $1 and account_id > $2
    order by account_id limit $3 for update`,
});

/** Apps that are not sealed with this key, in the order of their accounts, locked. */
export async function lockOtherSeals(
  tx: Tx,
  { secretId, afterId, limit }: { secretId: string; afterId: number; limit: number },
): Promise<SealedApp[]> {
  const { rows } = await tx.query(LOCK_OTHER_SEALS, [secretId, afterId, limit]);
  return rows.map(({ account_id: accountId, sealed }) => ({ accountId, sealed }));
}

const WRITE_SEALS = statement({
  name: "secrets.write_seals",
  text: `update authenticators a set sealed = u.sealed, secret_id = $3
    from unnest($1::bigint[], $2::bytea[]) as u (account_id, sealed) where a.account_id = u.account_id`,
});

/** Replaces the sealed secrets of apps. */
export async function writeSeals(
  tx: Tx,
  { apps, secretId }: { apps: readonly SealedApp[]; secretId: string },
): Promise<void> {
  const values = [apps.map(({ accountId }) => accountId), apps.map(({ sealed }) => sealed)];
  await tx.query(WRITE_SEALS, [...values, secretId]);
}

const PUSH_KEY = "push_key";

const FIND_PUSH_KEY = statement<{ value: string }>({
  name: "secrets.find_push_key",
  text: "select value from instance_settings where name = $1",
});

/** The sealed private key for Web Push; null: none is stored yet. */
export async function findPushKey(db: Db): Promise<Buffer | null> {
  const [row] = (await db.query(FIND_PUSH_KEY, [PUSH_KEY])).rows;
  return row === undefined ? null : Buffer.from(row.value, "base64");
}

const WRITE_PUSH_KEY = statement({
  name: "secrets.write_push_key",
  text: `insert into instance_settings (name, value) values ($1, $2)
    on conflict (name) do update set value = excluded.value`,
});

/** Stores the sealed private key for Web Push. */
export async function writePushKey(tx: Tx, sealed: Buffer): Promise<void> {
  await tx.query(WRITE_PUSH_KEY, [PUSH_KEY, sealed.toString("base64")]);
}
