// API keys. Only digests are stored.
import type { KeyKind } from "../core/identity.ts";
import type { Instant } from "../core/instant.ts";
import {
  CHANNEL_UUIDS,
  SHOWN_COLUMNS,
  type ShownCheckWithChannels,
  type ShownRow,
  toShownCheck,
} from "./checks.ts";
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
  text: `insert into api_keys (project_id, kind, name, prefix, digest, secret_id, created_at)
    values ($1, $2, $3, $4, $5, $6, $7) returning ${COLUMNS}`,
});

/** The digest of a key, and the secret key that it was made with. */
export type KeyDigest = { digest: Buffer; secretId: string };

export type NewApiKey = Pick<ApiKey, "projectId" | "kind" | "name" | "prefix" | "createdAt"> & KeyDigest;

/** Inserts a key; a project may have several of each kind. */
export async function insertApiKey(tx: Tx, key: NewApiKey): Promise<ApiKey> {
  const { rows } = await tx.query(INSERT, [
    key.projectId,
    key.kind,
    key.name,
    key.prefix,
    key.digest,
    key.secretId,
    toTimestamp(key.createdAt),
  ]);
  const [row] = rows;
  if (row === undefined) throw new Error("the insert returned no row");
  return toKey(row);
}

/** A key that is in use, as requests present it. */
export type KeyWithProject = {
  key: Pick<ApiKey, "id" | "projectId" | "kind">;
  digest: Buffer;
  /** Null: not known. */
  secretId: string | null;
  project: { id: number; uuid: string; badgeKey: string };
  /** The database's clock. */
  at: Instant;
};

type KeyWithProjectRow = {
  key_id: number;
  key_kind: KeyKind;
  digest: Buffer;
  secret_id: string | null;
  key_project_id: number;
  project_uuid: string;
  badge_key: string;
  at: Instant;
};

const KEY_COLUMNS = `k.id as key_id, k.kind as key_kind, k.digest, k.secret_id, k.project_id as key_project_id,
  p.uuid as project_uuid, p.badge_key, clock_timestamp() as at`;

function toKeyWithProject(row: KeyWithProjectRow): KeyWithProject {
  return {
    key: { id: row.key_id, projectId: row.key_project_id, kind: row.key_kind },
    digest: row.digest,
    secretId: row.secret_id,
    project: { id: row.key_project_id, uuid: row.project_uuid, badgeKey: row.badge_key },
    at: row.at,
  };
}

const FIND_WITH_PROJECT = statement<KeyWithProjectRow>({
  name: "keys.find_with_project",
  text: `select ${KEY_COLUMNS} from api_keys k join projects p on p.id = k.project_id
    where k.digest = any($1) and k.revoked_at is null`,
});

/**
 * The key with one of these digests, the first if there are several, unless it was revoked, with its project and the
 * time. Looking up a keyed digest leaks nothing through timing: clients cannot compute it, so they cannot control it.
 */
export async function findKeyWithProject(db: Db, digests: readonly Buffer[]): Promise<KeyWithProject | null> {
  const row = firstOf((await db.query(FIND_WITH_PROJECT, [digests])).rows, digests);
  return row === undefined ? null : toKeyWithProject(row);
}

/** The row with the first of the digests that any row has. */
export function firstOf<Row extends { digest: Buffer }>(
  rows: readonly Row[],
  digests: readonly Buffer[],
): Row | undefined {
  if (rows.length < 2) return rows[0];
  return rows.find(({ digest }) => digests[0]?.equals(digest)) ?? rows[0];
}

/** A key by its possible digests, and the check that a request with it is about. */
export type CheckLookup = { digests: readonly Buffer[]; name: string };

/** How requests name a check: by UUID in any project, by unique key only in the project of the key. */
export type CheckNames = "uuid" | "uniqueKey";

/** The key, if it is in use, and the check, if it exists. */
export type KeyWithCheck = { found: KeyWithProject | null; check: ShownCheckWithChannels | null };

type Nullable<Row> = { [Column in keyof Row]: Row[Column] | null };
type KeyWithCheckRow = KeyWithProjectRow & Nullable<ShownRow> & { position: number; channel_uuids: string[] };

function keyWithCheckStatement(name: string, { type, condition }: { type: string; condition: string }) {
  return statement<KeyWithCheckRow>({
    name,
    text: `select n.position::int, ${KEY_COLUMNS}, ${SHOWN_COLUMNS}, ${CHANNEL_UUIDS}
      from unnest($1::bytea[], $2::${type}[]) with ordinality as n (digest, name, position)
      join api_keys k on k.digest = n.digest and k.revoked_at is null
      join projects p on p.id = k.project_id
      left join (checks c join check_states s on s.check_id = c.id) on ${condition} and c.deleted_at is null`,
  });
}

const FIND_WITH_CHECK: Readonly<Record<CheckNames, ReturnType<typeof keyWithCheckStatement>>> = {
  uuid: keyWithCheckStatement("keys.find_with_check", { type: "uuid", condition: "c.uuid = n.name" }),
  uniqueKey: keyWithCheckStatement("keys.find_with_unique_key", {
    type: "text",
    condition: "c.unique_key = n.name and c.project_id = k.project_id",
  }),
};

/**
 * Keys with their projects and checks, in the order of the lookups. In one statement, because a round trip costs more
 * than the lookups themselves.
 */
export async function findKeysWithChecks(
  db: Db,
  { namedBy, lookups }: { namedBy: CheckNames; lookups: readonly CheckLookup[] },
): Promise<KeyWithCheck[]> {
  const asked = lookups.flatMap(({ digests, name }, index) =>
    digests.map((digest) => ({ digest, name, index })),
  );
  const values = [asked.map(({ digest }) => digest), asked.map(({ name }) => name)];
  const { rows } = await db.query(FIND_WITH_CHECK[namedBy], values);
  const results = lookups.map((): KeyWithCheck => ({ found: null, check: null }));
  for (const row of rows) {
    const { digest, index = -1 } = asked[row.position - 1] ?? {};
    const isFirst = lookups[index]?.digests[0] === digest;
    if (isFirst || results[index]?.found === null) results[index] = toKeyWithCheck(row);
  }
  return results;
}

function toKeyWithCheck(row: KeyWithCheckRow): KeyWithCheck {
  const found = toKeyWithProject(row);
  if (row.id === null) return { found, check: null };
  return { found, check: { ...toShownCheck(row as ShownRow), channelUuids: row.channel_uuids } };
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

const RENEW = statement({
  name: "keys.renew",
  text: `update api_keys k set digest = u.digest, secret_id = u.secret_id
    from unnest($1::bigint[], $2::bytea[], $3::text[]) as u (id, digest, secret_id)
    where k.id = u.id and not exists (select 1 from api_keys o where o.digest = u.digest and o.id <> u.id)`,
});

/** Replaces the digests of keys by those made with the current secret key. */
export async function renewApiKeys(tx: Tx, keys: readonly ({ keyId: number } & KeyDigest)[]): Promise<void> {
  await tx.query(RENEW, [
    keys.map(({ keyId }) => keyId),
    keys.map(({ digest }) => digest),
    keys.map(({ secretId }) => secretId),
  ]);
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
