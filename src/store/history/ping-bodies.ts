// What signals carried. A body is part of its signal: it is written in the same transaction, and trimmed with
// the log, except that the last success keeps its own for comparison. How bodies leave for an object store is
// in moving-bodies.ts.
import type { Instant } from "../../core/instant.ts";
import { type Db, statement } from "../db.ts";
import type { Tx } from "../transaction.ts";
import { sqlInstant, toNumberArray } from "../values.ts";

export type PingBody = { checkId: number; n: number; at: Instant; body: Buffer };

/** A body as it is kept: its bytes, or, once they were moved, the key of the object that holds them. */
export type KeptBody = { checkId: number; n: number; at: Instant } & (
  | { body: Buffer }
  | { body: null; objectKey: string }
);

type BodyRow = { check_id: number; n: number; at: Instant } & (
  | { body: Buffer; object_key: string | null }
  | { body: null; object_key: string }
);

const INSERT = statement({
  name: "ping_bodies.insert",
  text: `insert into ping_bodies (check_id, n, at, body)
    select check_id, n, ${sqlInstant("at")}, substring($6::bytea from start for length)
    from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::int[], $5::int[])
      as b (check_id, n, at, start, length)`,
});

/** Adds bodies of pings that this transaction logs. An empty body is none. */
export async function insertBodies(tx: Tx, bodies: readonly PingBody[]): Promise<void> {
  // All of them as one value, which travels as bytes; an array would be spelled out in hexadecimal.
  const starts: number[] = [];
  let end = 1;
  for (const { body } of bodies) {
    starts.push(end);
    end += body.length;
  }
  await tx.query(INSERT, [
    toNumberArray(bodies.map((one) => one.checkId)),
    toNumberArray(bodies.map((one) => one.n)),
    toNumberArray(bodies.map((one) => one.at)),
    toNumberArray(starts),
    toNumberArray(bodies.map(({ body }) => body.length)),
    Buffer.concat(bodies.map(({ body }) => body)),
  ]);
}

const FIND = statement<BodyRow>({
  name: "ping_bodies.find",
  text: "select check_id, n, at, body, object_key from ping_bodies where check_id = $1 and n = $2",
});

/** The body of one ping or where it is, or null when it had none or has been trimmed. */
export async function findBody(
  db: Db,
  { checkId, n }: { checkId: number; n: number },
): Promise<KeptBody | null> {
  const { rows } = await db.query(FIND, [checkId, n]);
  const [row] = rows;
  if (row === undefined) return null;
  const at = { checkId: row.check_id, n: row.n, at: row.at };
  return row.body === null ? { ...at, body: null, objectKey: row.object_key } : { ...at, body: row.body };
}

const LIST_STARTS = statement<{ n: number; start: Buffer }>({
  name: "ping_bodies.list_starts",
  text: `select n, substring(body from 1 for $3) as start from ping_bodies
    where check_id = $1 and n = any ($2::bigint[]) and body is not null`,
});

/** How some bodies of a check begin, by the number of their ping; those that lie elsewhere are left out. */
export async function listBodyStarts(
  db: Db,
  { checkId, ns, bytes }: { checkId: number; ns: readonly number[]; bytes: number },
): Promise<Map<number, Buffer>> {
  const { rows } = await db.query(LIST_STARTS, [checkId, ns, bytes]);
  return new Map(rows.map(({ n, start }) => [n, start]));
}

// An object is not removed before whoever may still be sending it has given up.
const REMOVE_OBJECTS = `insert into object_removals (object_key, due_at)
  select object_key, moving_until from gone where object_key is not null`;

const TRIM = statement({
  name: "ping_bodies.trim",
  text: `with gone as (
      delete from ping_bodies b
      using unnest($1::bigint[], $2::bigint[], $3::bigint[]) as t (check_id, through, keep_n)
      where b.check_id = t.check_id and b.n <= t.through and b.n is distinct from t.keep_n
      returning b.object_key, b.moving_until
    ) ${REMOVE_OBJECTS}`,
});

/**
 * Removes the bodies up to a number, for several checks, but for the one that each wants to keep. Their objects
 * are noted for removal.
 */
export async function trimBodies(
  tx: Tx,
  trims: readonly { checkId: number; through: number; keepN: number | null }[],
): Promise<void> {
  await tx.query(TRIM, [
    trims.map((trim) => trim.checkId),
    trims.map((trim) => trim.through),
    trims.map((trim) => trim.keepN),
  ]);
}

const DELETE_OF_CHECK = statement({
  name: "ping_bodies.delete_of_check",
  text: `with gone as (
      delete from ping_bodies where check_id = $1 returning object_key, moving_until
    ) ${REMOVE_OBJECTS}`,
});

/**
 * Removes all bodies of a check that is deleted for good, or whose history is cleared. Their objects are noted
 * for removal.
 */
export async function deleteBodiesOfCheck(tx: Tx, checkId: number): Promise<void> {
  await tx.query(DELETE_OF_CHECK, [checkId]);
}
