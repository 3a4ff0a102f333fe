// API keys. Only digests are stored.
import type { KeyKind } from "../core/identity.ts";
import type { Instant } from "../core/instant.ts";
import { type Db, statement } from "./db.ts";
import type { Tx } from "./transaction.ts";
import { toTimestamp } from "./values.ts";

export type ApiKey = {
  id: number;
  projectId: number;
  kind: KeyKind;
  name: string;
  /** The prefix of the key, shown in lists. */
  prefix: string;
  createdAt: Instant;
  lastUsedAt: Instant | null;
  revokedAt: Instant | null;
};

type KeyRow = {
  id: number;
  project_id: number;
  kind: KeyKind;
  name: string;
  prefix: string;
  created_at: Instant;
  last_used_at: Instant | null;
  revoked_at: Instant | null;
};

const COLUMNS = "id, project_id, kind, name, prefix, created_at, last_used_at, revoked_at";

function toKey(row: KeyRow): ApiKey {
  return {
    id: row.id,
    projectId: row.project_id,
    kind: row.kind,
    name: row.name,
    prefix: row.prefix,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    revokedAt: row.revoked_at,
  };
}

const INSERT = statement<KeyRow>({
  name: "keys.insert",
  text: `insert into api_keys (project_id, kind, name, prefix, digest, created_at)
    values ($1, $2, $3, $4, $5, $6) returning ${COLUMNS}`,
});

export type NewApiKey = Pick<ApiKey, "projectId" | "kind" | "name" | "prefix" | "createdAt"> & {
  digest: Buffer;
};

/** Inserts a key; a project may have several of each kind. */
export async function insertApiKey(tx: Tx, key: NewApiKey): Promise<ApiKey> {
  const { rows } = await tx.query(INSERT, [
    key.projectId,
    key.kind,
    key.name,
    key.prefix,
    key.digest,
    toTimestamp(key.createdAt),
  ]);
  const [row] = rows;
  if (row === undefined) throw new Error("the insert returned no row");
  return toKey(row);
}

const FIND_WITH_PROJECT = statement<
  KeyRow & { digest: Buffer; project_uuid: string; badge_key: string; at: Instant }
>({
  name: "keys.find_with_project",
  text: `select k.id, k.project_id, k.kind, k.name, k.prefix, k.created_at, k.last_used_at, k.revoked_at,
      k.digest, p.uuid as project_uuid, p.badge_key, clock_timestamp() as at
    from api_keys k join projects p on p.id = k.project_id
    where k.digest = $1 and k.revoked_at is null`,
});

export type KeyWithProject = {
  key: ApiKey;
  digest: Buffer;
  project: { id: number; uuid: string; badgeKey: string };
  /** The database's clock. */
  at: Instant;
};

/**
 * The key with this digest, unless it was revoked, with its project and the time. Looking up a keyed digest leaks
 * nothing through timing: clients cannot compute it, so they cannot control it.
 */
export async function findKeyWithProject(db: Db, digest: Buffer): Promise<KeyWithProject | null> {
  const { rows } = await db.query(FIND_WITH_PROJECT, [digest]);
  const [row] = rows;
  if (row === undefined) return null;
  const project = { id: row.project_id, uuid: row.project_uuid, badgeKey: row.badge_key };
  return { key: toKey(row), digest: row.digest, project, at: row.at };
}

const LIST = statement<KeyRow>({
  name: "keys.list",
  text: `select ${COLUMNS} from api_keys where project_id = $1 order by id`,
});

/** All keys of a project, including revoked ones. */
export async function listApiKeys(db: Db, projectId: number): Promise<ApiKey[]> {
  return (await db.query(LIST, [projectId])).rows.map(toKey);
}

const TOUCH = statement({
  name: "keys.touch",
  text: `update api_keys k set last_used_at = u.at
    from unnest($1::bigint[], $2::timestamptz[]) as u (id, at)
    where k.id = u.id and (k.last_used_at is null or k.last_used_at < u.at)`,
});

/** Records when keys were last used, for many at once. */
export async function touchApiKeys(tx: Tx, uses: readonly { keyId: number; at: Instant }[]): Promise<void> {
  await tx.query(TOUCH, [uses.map((use) => use.keyId), uses.map((use) => toTimestamp(use.at))]);
}

const REVOKE = statement({
  name: "keys.revoke",
  text: "update api_keys set revoked_at = $3 where id = $1 and project_id = $2 and revoked_at is null",
});

/** Revokes a key. False: the project has no such key, or it was revoked before. */
export async function revokeApiKey(
  tx: Tx,
  key: { keyId: number; projectId: number; at: Instant },
): Promise<boolean> {
  return (await tx.query(REVOKE, [key.keyId, key.projectId, toTimestamp(key.at)])).count === 1;
}

const PRUNE = statement({
  name: "keys.prune",
  text: `delete from api_keys
    where id in (select id from api_keys where revoked_at < $1 order by id limit $2)`,
});

/** Deletes at most `limit` keys revoked before an instant; returns how many. */
export async function pruneApiKeys(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE, [toTimestamp(before), limit])).count;
}
