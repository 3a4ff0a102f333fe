// What signals carried. A body is part of its signal: it is written in the same transaction, and trimmed with
// the log, except that the last success keeps its own for comparison.
import type { Instant } from "../../core/instant.ts";
import { type Db, statement } from "../db.ts";
import type { Tx } from "../transaction.ts";
import { toTimestamp } from "../values.ts";

export type PingBody = { checkId: number; n: number; at: Instant; body: Buffer };

type BodyRow = { check_id: number; n: number; at: Instant; body: Buffer };

const INSERT = statement({
  name: "ping_bodies.insert",
  text: `insert into ping_bodies (check_id, n, at, body)
    select * from unnest($1::bigint[], $2::bigint[], $3::timestamptz[], $4::bytea[])`,
});

/** Adds bodies of pings that this transaction logs. An empty body is none. */
export async function insertBodies(tx: Tx, bodies: readonly PingBody[]): Promise<void> {
  await tx.query(INSERT, [
    bodies.map((one) => one.checkId),
    bodies.map((one) => one.n),
    bodies.map((one) => toTimestamp(one.at)),
    bodies.map((one) => one.body),
  ]);
}

const FIND = statement<BodyRow>({
  name: "ping_bodies.find",
  text: "select check_id, n, at, body from ping_bodies where check_id = $1 and n = $2",
});

/** The body of one ping, or null when it had none or has been trimmed. */
export async function findBody(
  db: Db,
  { checkId, n }: { checkId: number; n: number },
): Promise<PingBody | null> {
  const { rows } = await db.query(FIND, [checkId, n]);
  const [row] = rows;
  return row === undefined ? null : { checkId: row.check_id, n: row.n, at: row.at, body: row.body };
}

const TRIM = statement({
  name: "ping_bodies.trim",
  text: `delete from ping_bodies b
    using unnest($1::bigint[], $2::bigint[], $3::bigint[]) as t (check_id, through, keep_n)
    where b.check_id = t.check_id and b.n <= t.through and b.n is distinct from t.keep_n`,
});

/** Removes the bodies up to a number, for several checks, but for the one that each wants to keep. */
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
  text: "delete from ping_bodies where check_id = $1",
});

/** Removes all bodies of a check that is deleted for good, or whose history is cleared. */
export async function deleteBodiesOfCheck(tx: Tx, checkId: number): Promise<void> {
  await tx.query(DELETE_OF_CHECK, [checkId]);
}
