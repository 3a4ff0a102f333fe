// How large bodies leave for an object store: found, claimed by one mover, and emptied when the store has them.
// Nothing here waits for a lock: a signal that trims its log comes before us.
import type { Instant } from "../../core/instant.ts";
import { MOVABLE_BODY_BYTES_MIN } from "../../core/limits.ts";
import { type Db, statement } from "../db.ts";
import type { Tx } from "../transaction.ts";
import { toTimestamp } from "../values.ts";

export type MovableBody = {
  checkId: number;
  checkUuid: string;
  n: number;
  at: Instant;
  /** Set when somebody has tried before. */
  objectKey: string | null;
};

export type ClaimedBody = { checkId: number; n: number; objectKey: string };

type MovableRow = { check_id: number; uuid: string; n: number; at: Instant; object_key: string | null };

// The first of the two conditions is for the planner: it makes the index usable whatever the second asks for.
const FIND_MOVABLE = statement<MovableRow>({
  name: "ping_bodies.find_movable",
  text: `select b.check_id, c.uuid, b.n, b.at, b.object_key
    from ping_bodies b join checks c on c.id = b.check_id
    where octet_length(b.body) >= ${MOVABLE_BODY_BYTES_MIN} and octet_length(b.body) >= $1
      and (b.moving_until is null or b.moving_until <= $2)
    limit $3 for update of b skip locked`,
});

/** Locks at most `limit` bodies of at least `bytesMin` that nobody else is moving. */
export async function findMovableBodies(
  tx: Tx,
  { bytesMin, now, limit }: { bytesMin: number; now: Instant; limit: number },
): Promise<MovableBody[]> {
  const { rows } = await tx.query(FIND_MOVABLE, [bytesMin, toTimestamp(now), limit]);
  return rows.map((row) => {
    return { checkId: row.check_id, checkUuid: row.uuid, n: row.n, at: row.at, objectKey: row.object_key };
  });
}

const MINE = `mine as (
    select b.check_id, b.n, t.object_key
    from ping_bodies b
    join unnest($1::bigint[], $2::bigint[], $3::text[]) as t (check_id, n, object_key)
      on b.check_id = t.check_id and b.n = t.n
    where b.body is not null and coalesce(b.object_key, t.object_key) = t.object_key
    for update of b skip locked
  )`;

const CLAIM = statement({
  name: "ping_bodies.claim",
  text: `with ${MINE}
    update ping_bodies b set object_key = mine.object_key, moving_until = $4::timestamptz
    from mine where b.check_id = mine.check_id and b.n = mine.n`,
});

/**
 * Writes down where bodies will lie, before they are sent there, and until when the claim holds. An instant
 * that has come lets go of them again.
 */
export async function claimBodies(
  tx: Tx,
  { bodies, until }: { bodies: readonly ClaimedBody[]; until: Instant },
): Promise<number> {
  return (await tx.query(CLAIM, [...columnsOf(bodies), toTimestamp(until)])).count;
}

const MARK_MOVED = statement({
  name: "ping_bodies.mark_moved",
  text: `with ${MINE}
    update ping_bodies b set body = null
    from mine where b.check_id = mine.check_id and b.n = mine.n and b.object_key = mine.object_key`,
});

/** Drops the bytes of bodies whose objects were confirmed; returns how many. The rest is gone, or busy. */
export async function markBodiesMoved(tx: Tx, bodies: readonly ClaimedBody[]): Promise<number> {
  return (await tx.query(MARK_MOVED, columnsOf(bodies))).count;
}

function columnsOf(bodies: readonly ClaimedBody[]): unknown[] {
  return [
    bodies.map(({ checkId }) => checkId),
    bodies.map(({ n }) => n),
    bodies.map(({ objectKey }) => objectKey),
  ];
}

export type ObjectRemoval = { id: number; objectKey: string };

type RemovalRow = { id: number; object_key: string };

const FIND_REMOVALS = statement<RemovalRow>({
  name: "object_removals.find_due",
  text: "select id, object_key from object_removals where due_at <= $1 order by id limit $2",
});

/** Objects that nobody refers to any more, the longest known first. */
export async function findObjectRemovals(
  db: Db,
  { now, limit }: { now: Instant; limit: number },
): Promise<ObjectRemoval[]> {
  const { rows } = await db.query(FIND_REMOVALS, [toTimestamp(now), limit]);
  return rows.map(({ id, object_key: objectKey }) => ({ id, objectKey }));
}

const FORGET_REMOVALS = statement({
  name: "object_removals.forget",
  text: "delete from object_removals where id = any ($1::bigint[])",
});

/** The objects are gone; returns how many rows went with them. */
export async function forgetObjectRemovals(tx: Tx, ids: readonly number[]): Promise<number> {
  return (await tx.query(FORGET_REMOVALS, [ids])).count;
}
