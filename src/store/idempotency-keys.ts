// Requests that have made something, by the name that their client gave them, so that a repeated one makes nothing
// twice. What a name stands for is decided by the operation.
import type { Instant } from "../core/instant.ts";
import { type Db, statement } from "./db.ts";
import type { Tx } from "./transaction.ts";
import { toTimestamp } from "./values.ts";

/** A name that a client has given to a request, and the request; both as digests. */
export type NamedRequest = { projectId: number; keyDigest: Buffer; requestDigest: Buffer };

const CLAIM = statement<{ channel_uuid: string }>({
  name: "idempotency_keys.claim",
  text: `insert into idempotency_keys (project_id, key_digest, request_digest, channel_uuid, created_at)
    values ($1, $2, $3, $4, $5)
    on conflict (project_id, key_digest) do update
      set request_digest = excluded.request_digest, channel_uuid = excluded.channel_uuid,
        created_at = excluded.created_at
      where idempotency_keys.created_at < $6
    returning channel_uuid`,
});

/**
 * Takes a name for a channel that is being made. False: it was taken, not before `keptFrom`. Whoever takes the same
 * name meanwhile waits for the end of this transaction.
 */
export async function claimIdempotencyKey(
  tx: Tx,
  claim: NamedRequest & { channelUuid: string; at: Instant; keptFrom: Instant },
): Promise<boolean> {
  const { projectId, keyDigest, requestDigest, channelUuid, at, keptFrom } = claim;
  const values = [projectId, keyDigest, requestDigest, channelUuid, toTimestamp(at), toTimestamp(keptFrom)];
  return (await tx.query(CLAIM, values)).count === 1;
}

const FIND = statement<{ request_digest: Buffer; channel_uuid: string }>({
  name: "idempotency_keys.find",
  text: `select request_digest, channel_uuid from idempotency_keys where project_id = $1 and key_digest = $2`,
});

/** The request that has this name, and what it has made. */
export async function findIdempotencyKey(
  db: Db,
  { projectId, keyDigest }: Pick<NamedRequest, "projectId" | "keyDigest">,
): Promise<{ requestDigest: Buffer; channelUuid: string } | null> {
  const { rows } = await db.query(FIND, [projectId, keyDigest]);
  const [row] = rows;
  return row === undefined ? null : { requestDigest: row.request_digest, channelUuid: row.channel_uuid };
}

const TRIM = statement({
  name: "idempotency_keys.trim",
  text: `delete from idempotency_keys where project_id = $1 and key_digest in (
      select key_digest from idempotency_keys where project_id = $1 order by created_at desc, key_digest offset $2
    )`,
});

/** Forgets all but the newest names of a project. */
export async function trimIdempotencyKeys(
  tx: Tx,
  { projectId, keep }: { projectId: number; keep: number },
): Promise<number> {
  return (await tx.query(TRIM, [projectId, keep])).count;
}

const PRUNE = statement({
  name: "idempotency_keys.prune",
  text: `delete from idempotency_keys where (project_id, key_digest) in (
      select project_id, key_digest from idempotency_keys where created_at < $1 order by created_at limit $2
    )`,
});

/** Forgets at most `limit` names from before an instant; returns how many. */
export async function pruneIdempotencyKeys(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE, [toTimestamp(before), limit])).count;
}
