// The secret keys of the server. Values made with the previous key are replaced by values made with the current one where
// that is possible without their owner, so that the previous key can be removed one day.
import {
  acceptedSecrets,
  isAnyNeeded,
  neededOf,
  ownSecrets,
  type SecretCounts,
  type Secrets,
  secretsFrom,
  type SecretUse,
} from "../core/secrets.ts";
import type { Signing } from "../core/email.ts";
import type { Instant } from "../core/instant.ts";
import { RESEALED_AT_ONCE_MAX } from "../core/limits.ts";
import {
  hmacSha256,
  hmacSha256Hex,
  isSameText,
  seal,
  type SealOf,
  secretIdOf,
  unseal,
} from "../lib/secrets.ts";
import type { Log } from "../lib/log.ts";
import { vapidKeysFrom, vapidKeysOf, type VapidKeys } from "../lib/web-push.ts";
import type { KeyDigest } from "../store/api-keys.ts";
import type { Database, Db } from "../store/db.ts";
import { findSecretKey } from "../store/instance.ts";
import {
  countSecretUses,
  findPushKey,
  labelSecretUses,
  lockOtherSeals,
  type SealedApp,
  writePushKey,
  writeSeals,
} from "../store/secrets.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";

/** The current secret key: the configured one, or the instance's own. */
export async function secretKeyOf(db: Db, configured: string | null): Promise<string> {
  return configured ?? (await findSecretKey(db));
}

/** The configured keys; null: not configured. */
export type SecretSettings = { secretKey: string | null; secretKeyPrevious: string | null };

/** The current and the previous secret key. */
export async function secretsOf(db: Db, settings: SecretSettings): Promise<Secrets> {
  const current = await secretKeyOf(db, settings.secretKey);
  return secretsFrom({ current, previous: settings.secretKeyPrevious });
}

/** The digest that a key is stored and looked up by: HMAC-SHA-256 with the instance's secret. */
export function digestOfKey({ key, secretKey }: { key: string; secretKey: string }): Buffer {
  return hmacSha256({ key: secretKey, message: key });
}

/** The digest of a new key. */
export function newKeyDigest(of: { key: string; secretKey: string }): KeyDigest {
  return { digest: digestOfKey(of), secretId: secretIdOf(of.secretKey) };
}

/** The digests by which a key may be stored, the one of the current secret first. */
export function digestsOfKey(key: string, secrets: Secrets): [Buffer, ...Buffer[]] {
  const [current, ...previous] = acceptedSecrets(secrets).map((secretKey) => digestOfKey({ key, secretKey }));
  if (current === undefined) throw new Error("there is no secret key");
  return [current, ...previous];
}

/** Signs with the current key, and accepts what a key of this server has signed; HMAC-SHA-256. */
export function signingWith(secrets: Secrets): Signing {
  const [, previous = null] = ownSecrets(secrets);
  const signer = (key: string) => ({ sign: (message: string) => hmacSha256Hex({ key, message }) });
  return {
    ...signer(secrets.current),
    previous: previous === null ? null : signer(previous),
    isSame: isSameText,
  };
}

/** Opens a seal made with a key of this server; null: it was made with another, or for another owner. */
export function unsealWith(
  sealed: Buffer,
  { secrets, ...of }: Omit<SealOf, "secretKey"> & { secrets: Secrets },
): string | null {
  for (const secretKey of ownSecrets(secrets)) {
    const text = unseal(sealed, { ...of, secretKey });
    if (text !== null) return text;
  }
  return null;
}

/** What the secret of an authenticator app is sealed for. */
export function appSeal(accountId: number): Omit<SealOf, "secretKey"> {
  return { purpose: "totp", owner: String(accountId) };
}

const PUSH_SEAL = { purpose: "web push", owner: "instance" } as const;

/**
 * The key pair for Web Push. It is derived from the first secret key of the server and then stored, because browsers
 * accept messages of no other. If it is not stored, or its secret key is gone, the pair of the current key is used.
 */
export async function pushKeysOf(db: Db, secrets: Secrets): Promise<VapidKeys> {
  const sealed = await findPushKey(db);
  const privateKey = sealed === null ? null : unsealWith(sealed, { secrets, ...PUSH_SEAL });
  return privateKey === null ? vapidKeysOf(secrets.current) : vapidKeysFrom(privateKey);
}

/** Stores the key pair for Web Push, or seals it again with the current key. */
async function renewPushKey(tx: Tx, secrets: Secrets): Promise<number> {
  const of = { ...PUSH_SEAL, secretKey: secrets.current };
  const sealed = await findPushKey(tx);
  if (sealed !== null && unseal(sealed, of) !== null) return 0;
  // One that cannot be opened is kept: while processes are restarted one by one, another may have sealed it.
  if (sealed !== null && unsealWith(sealed, { ...PUSH_SEAL, secrets }) === null) return 0;
  const { privateKey } = await pushKeysOf(tx, secrets);
  await writePushKey(tx, seal(privateKey, of));
  return sealed === null ? 0 : 1;
}

export type Renewal = {
  /** Values that are now made with the current key. */
  renewed: number;
  /** Where to continue; null: all values have been visited. */
  appsThrough: number | null;
};

/**
 * One step of replacing what was made with the previous key: seals are made again with the current one, in bounded
 * batches. Digests are not: they are replaced when their keys are used.
 */
export async function renewSeals(
  database: Database,
  { secrets, appsAfter = 0 }: { secrets: Secrets; appsAfter?: number },
): Promise<Renewal> {
  const secretId = secretIdOf(secrets.current);
  return inTransaction(database, async (tx) => {
    let renewed = 0;
    if (appsAfter === 0) {
      renewed += await renewPushKey(tx, secrets);
      // Without a previous key, rows of earlier releases can only be of the current one.
      if (secrets.previous === null) await labelSecretUses(tx, secretId);
    }
    const limit = RESEALED_AT_ONCE_MAX;
    const found = await lockOtherSeals(tx, { secretId, afterId: appsAfter, limit });
    const apps = found.flatMap((app) => resealed(app, secrets));
    if (apps.length > 0) await writeSeals(tx, { apps, secretId });
    const last = found.at(-1)?.accountId ?? null;
    return { renewed: renewed + apps.length, appsThrough: found.length < limit ? null : last };
  });
}

/** Nothing if the seal was made with another key: its owner has to set up the app again. */
function resealed({ accountId, sealed }: SealedApp, secrets: Secrets): SealedApp[] {
  const of = appSeal(accountId);
  const text = unsealWith(sealed, { secrets, ...of });
  return text === null ? [] : [{ accountId, sealed: seal(text, { ...of, secretKey: secrets.current }) }];
}

/** How many stored values need the previous key, and how many were made with neither. */
export async function readSecretUses(
  db: Db,
  { secrets, now }: { secrets: Secrets; now: Instant },
): Promise<Record<SecretUse, SecretCounts>> {
  const { current, previous } = secrets;
  const previousId = previous === null ? null : secretIdOf(previous);
  return countSecretUses(db, { currentId: secretIdOf(current), previousId, now });
}

/**
 * Returns a function that does one step of the above and logs progress; true: there is nothing more to do for now. What
 * still needs the previous key is logged when it changes.
 */
export function secretRenewal(
  database: Database,
  { settings, log }: { settings: SecretSettings; log: Pick<Log, "info"> },
): (now: Instant) => Promise<boolean> {
  let appsAfter = 0;
  let renewedCount = 0;
  let reported = "";
  return async (now) => {
    const secrets = await secretsOf(database, settings);
    const { renewed, appsThrough } = await renewSeals(database, { secrets, appsAfter });
    appsAfter = appsThrough ?? 0;
    renewedCount += renewed;
    if (renewed > 0)
      log.info({ renewed: renewedCount }, "secrets encrypted again with the current secret key");
    if (appsThrough !== null) return false;
    if (secrets.previous === null) return true;
    const needed = neededOf(await readSecretUses(database, { secrets, now }));
    if (JSON.stringify(needed) !== reported) {
      reported = JSON.stringify(needed);
      const said = isAnyNeeded(needed)
        ? "OVERDUE_SECRET_KEY_PREVIOUS is still needed"
        : "OVERDUE_SECRET_KEY_PREVIOUS is only needed for badge URLs and links that were made with it";
      log.info({ needed }, said);
    }
    return true;
  };
}
