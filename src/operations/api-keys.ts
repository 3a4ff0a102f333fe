// API keys: creating, hashing and recording their use. A key is stored as a keyed digest, with its first
// characters for recognition.
import { AppError } from "../core/errors.ts";
import { type KeyKind, newApiKey } from "../core/identity.ts";
import type { Instant } from "../core/instant.ts";
import { API_KEY_NAME_LENGTH_MAX, API_KEY_PREFIX_LENGTH } from "../core/limits.ts";
import { randomText } from "../lib/secrets.ts";
import {
  insertApiKey,
  type KeyDigest,
  listApiKeys,
  renewApiKeys,
  revokeApiKey,
  touchApiKeys,
} from "../store/api-keys.ts";
import type { Database } from "../store/db.ts";
import { findProjectByUuid, type Project } from "../store/projects.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";
import { audit } from "./audit.ts";
import { newKeyDigest } from "./secrets.ts";

/** The part of a key that may be shown. */
export function prefixOf(key: string): string {
  return key.slice(0, API_KEY_PREFIX_LENGTH);
}

/** The name of a key in the audit log, or its first characters. */
export function keySubject({ name, prefix }: { name: string; prefix: string }): string {
  return name || `${prefix}…`;
}

export type KeyRequest = {
  project: Pick<Project, "id" | "uuid">;
  kind: KeyKind;
  name: string;
  secretKey: string;
  now: Instant;
};

/** Creates a key in the caller's transaction and returns its text, which is stored nowhere. */
export async function addApiKey(tx: Tx, request: KeyRequest): Promise<string> {
  const { project, kind } = request;
  const key = newApiKey({ kind, projectUuid: project.uuid }, randomText, tx.slots);
  await insertApiKey(tx, {
    projectId: project.id,
    kind,
    name: request.name,
    prefix: prefixOf(key),
    ...newKeyDigest({ key, secretKey: request.secretKey }),
    createdAt: request.now,
  });
  return key;
}

/**
 * `keyId` is the id of an API key or of a personal access token. `renewal` is its digest by the current secret key, if
 * another one is stored.
 */
export type KeyUse = { keyId: number; at: Instant; renewal?: KeyDigest | null };

/** Records when keys were last used; older uses change nothing. */
export async function recordKeyUses(database: Database, uses: readonly KeyUse[]): Promise<void> {
  // In id order, to avoid deadlocks.
  const ordered = uses.toSorted((a, b) => a.keyId - b.keyId);
  const renewals = renewalsIn(ordered);
  await inTransaction(database, async (tx) => {
    await touchApiKeys(tx, ordered);
    if (renewals.length > 0) await renewApiKeys(tx, renewals);
  });
}

/** The digests to replace. */
export function renewalsIn(uses: readonly KeyUse[]): ({ keyId: number } & KeyDigest)[] {
  return uses.flatMap(({ keyId, renewal }) => (renewal ? [{ keyId, ...renewal }] : []));
}

export type KeysRequest = {
  projectUuid: string;
  kinds: readonly KeyKind[];
  name: string;
  /** True: earlier keys of these kinds are revoked. */
  replace: boolean;
  secretKey: string;
  now: Instant;
};

export type CreatedKeys = {
  keys: Partial<Record<KeyKind, string>>;
  pingKey: string | null;
  revokedCount: number;
};

/**
 * Creates keys of these kinds for a project, for the command line. AppError `not_found` if there is no such
 * project.
 */
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
      const key = await addApiKey(tx, { ...request, project, kind });
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

/** The same audit entry as from the settings page. */
async function note(tx: Tx, { now: at, ...noted }: Noted): Promise<void> {
  await audit(tx, { ...noted, accountId: null, keyId: null, at });
}
