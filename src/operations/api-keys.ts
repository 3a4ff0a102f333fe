// API keys as they are stored: a digest that is worthless without the instance's secret, and the beginning
// by which people recognise a key. What a key looks like is said in core/identity.ts.
import { createHmac } from "node:crypto";
import { AppError } from "../core/errors.ts";
import { type KeyKind, newApiKey } from "../core/identity.ts";
import type { Instant } from "../core/instant.ts";
import { API_KEY_NAME_LENGTH_MAX } from "../core/limits.ts";
import { randomText } from "../lib/secrets.ts";
import { insertApiKey, listApiKeys, revokeApiKey, touchApiKeys } from "../store/api-keys.ts";
import type { Database, Db } from "../store/db.ts";
import { findSecretKey } from "../store/instance.ts";
import { findProjectByUuid } from "../store/projects.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";
import { audit } from "./audit.ts";

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

// Makes further API keys for a project by the command line, or new ones in the place of those it has.

export type KeysRequest = {
  projectUuid: string;
  kinds: readonly KeyKind[];
  name: string;
  /** True: earlier keys of these kinds stop working the moment the new ones exist. */
  replace: boolean;
  secretKey: string;
  now: Instant;
};

export type CreatedKeys = {
  keys: Partial<Record<KeyKind, string>>;
  pingKey: string | null;
  revokedCount: number;
};

/** Adds one key of each kind asked for. AppError `not_found` when there is no such project. */
export async function createKeys(database: Database, request: KeysRequest): Promise<CreatedKeys> {
  if (request.name.length > API_KEY_NAME_LENGTH_MAX) {
    throw new AppError(
      "invalid",
      `The name of an API key can have at most ${API_KEY_NAME_LENGTH_MAX} characters.`,
    );
  }
  return inTransaction(database, async (tx) => {
    const project = await findProjectByUuid(tx, request.projectUuid);
    if (project === null) throw new AppError("not_found", `No project with UUID ${request.projectUuid}.`);
    const revokedCount = request.replace ? await revokeEarlier(tx, { ...request, projectId: project.id }) : 0;
    const keys: Partial<Record<KeyKind, string>> = {};
    for (const kind of request.kinds) {
      const key = await addApiKey(tx, { ...request, projectId: project.id, kind });
      keys[kind] = key;
      const subject = keySubject({ name: request.name, prefix: prefixOf(key) });
      const after = { kind, name: request.name };
      const { now } = request;
      await note(tx, { now, projectId: project.id, subject, what: "key.created", before: null, after });
    }
    return { keys, pingKey: project.pingKey, revokedCount };
  });
}

async function revokeEarlier(tx: Tx, request: KeysRequest & { projectId: number }): Promise<number> {
  let count = 0;
  for (const key of await listApiKeys(tx, request.projectId)) {
    if (!request.kinds.includes(key.kind)) continue;
    const revoked = await revokeApiKey(tx, { keyId: key.id, projectId: request.projectId, at: request.now });
    if (!revoked) continue;
    count += 1;
    const before = { kind: key.kind, name: key.name };
    const { projectId, now } = request;
    await note(tx, { now, projectId, subject: keySubject(key), what: "key.revoked", before, after: null });
  }
  return count;
}

type KeySide = { kind: KeyKind; name: string };
type Noted = { projectId: number; now: Instant; subject: string } & (
  | { what: "key.created"; before: null; after: KeySide }
  | { what: "key.revoked"; before: KeySide; after: null }
);

/** In the same words as what is done on the page of settings. */
async function note(tx: Tx, { now: at, ...noted }: Noted): Promise<void> {
  await audit(tx, { ...noted, accountId: null, keyId: null, at });
}
