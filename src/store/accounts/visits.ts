// When a member last had the page of a project open.
import type { Instant } from "../../core/instant.ts";
import { type Db, statement } from "../db.ts";
import type { Tx } from "../transaction.ts";
import { toTimestamp } from "../values.ts";

export type Visitor = { projectId: number; accountId: number };

const FIND = statement<{ seen_at: Instant | null }>({
  name: "visits.find",
  text: "select seen_at from members where project_id = $1 and account_id = $2",
});

/** When somebody was seen in a project last; null: never. */
export async function findVisit(db: Db, { projectId, accountId }: Visitor): Promise<Instant | null> {
  return (await db.query(FIND, [projectId, accountId])).rows[0]?.seen_at ?? null;
}

const WRITE = statement({
  name: "visits.write",
  text: `update members set seen_at = $3
    where project_id = $1 and account_id = $2 and (seen_at is null or seen_at < $3)`,
});

/** Writes down that somebody is there. */
export async function writeVisit(tx: Tx, visit: Visitor & { at: Instant }): Promise<void> {
  await tx.query(WRITE, [visit.projectId, visit.accountId, toTimestamp(visit.at)]);
}

const COUNT_MADE = statement<{ count: number }>({
  name: "visits.count_made",
  text: `select count(*)::int as count from checks
    where project_id = $1 and deleted_at is null and created_at > $2`,
});

/** How many checks were made in a project since an instant. */
export async function countChecksMadeSince(
  db: Db,
  { projectId, since }: { projectId: number; since: Instant },
): Promise<number> {
  return (await db.query(COUNT_MADE, [projectId, toTimestamp(since)])).rows[0]?.count ?? 0;
}
