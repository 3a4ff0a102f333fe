// API keys as they are stored: a digest that is worthless without the instance's secret, and the beginning
// by which people recognise a key. What a key looks like is said in core/identity.ts.
import { createHmac } from "node:crypto";
import { type KeyKind, newApiKey } from "../core/identity.ts";
import type { Instant } from "../core/instant.ts";
import { randomText } from "../lib/secrets/random-text.ts";
import type { Database, Db } from "../store/db.ts";
import { findSecretKey } from "../store/instance.ts";
import { insertApiKey, touchApiKeys } from "../store/keys.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";

/** The prefix that tells the kind, and eight characters more: enough to tell keys apart, useless to guess from. */
const SHOWN_LENGTH = 12;

/** What of a key may be shown and kept in sight. */
export function prefixOf(key: string): string {
  return key.slice(0, SHOWN_LENGTH);
}

/** What a key is called in the record of changes: without a name by its beginning, when made as well as when ended. */
export function keySubject({ name, prefix }: { name: string; prefix: string }): string {
  return name || `${prefix}…`;
}

/** The digest that a key is stored and looked up by: HMAC-SHA-256 with the instance's secret. */
export function digestOfKey({ key, secretKey }: { key: string; secretKey: string }): Buffer {
  return createHmac("sha256", secretKey).update(key).digest();
}

export type KeyRequest = { projectId: number; kind: KeyKind; name: string; secretKey: string; now: Instant };

/** Makes and stores a new key inside the caller's transaction. The returned text exists nowhere else. */
export async function addApiKey(tx: Tx, request: KeyRequest): Promise<string> {
  const key = newApiKey(request.kind, randomText);
  await insertApiKey(tx, {
    projectId: request.projectId,
    kind: request.kind,
    name: request.name,
    prefix: prefixOf(key),
    digest: digestOfKey({ key, secretKey: request.secretKey }),
    createdAt: request.now,
  });
  return key;
}

/** The secret that keys are hashed with: the configured one, or the one that the installation made itself. */
export async function secretKeyOf(db: Db, configured: string | null): Promise<string> {
  return configured ?? (await findSecretKey(db));
}

export type KeyUse = { keyId: number; at: Instant };

/** Writes down when keys were last used; an older use than the stored one changes nothing. */
export async function recordKeyUses(database: Database, uses: readonly KeyUse[]): Promise<void> {
  // In the order of the ids: two processes that write the same keys then wait for each other and never cross.
  const ordered = uses.toSorted((a, b) => a.keyId - b.keyId);
  await inTransaction(database, (tx) => touchApiKeys(tx, ordered));
}
