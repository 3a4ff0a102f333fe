// The keys by which read-only API keys name checks.
import { type Db, statement } from "../db.ts";
import type { Tx } from "../transaction.ts";
import { toNumberArray, toTextArray } from "../values.ts";

const FIND = statement<{ uuid: string }>({
  name: "checks.find_by_unique_key",
  text: `select uuid from checks
    where unique_key = $1 and project_id = any ($2::bigint[]) and deleted_at is null
    order by id limit 1`,
});

/** The UUID of the check with this key in one of these projects; null also when its key is not stored yet. */
export async function findUuidByUniqueKey(
  db: Db,
  { key, projectIds }: { key: string; projectIds: readonly number[] },
): Promise<string | null> {
  return (await db.query(FIND, [key, toNumberArray(projectIds)])).rows[0]?.uuid ?? null;
}

export type UuidOfCheck = { id: number; uuid: string; isDeleted: boolean };

const LIST_WITHOUT = statement<{ id: number; uuid: string; is_deleted: boolean }>({
  name: "checks.list_without_unique_key",
  text: `select id, uuid, deleted_at is not null as is_deleted from checks
    where project_id = any ($1::bigint[]) and unique_key is null and id > $2
    order by id limit $3`,
});

/** Checks of these projects whose key is not stored, oldest first; deleted ones too, since they can be restored. */
export async function listWithoutUniqueKey(
  db: Db,
  { projectIds, afterId, limit }: { projectIds: readonly number[]; afterId: number; limit: number },
): Promise<UuidOfCheck[]> {
  const { rows } = await db.query(LIST_WITHOUT, [toNumberArray(projectIds), afterId, limit]);
  return rows.map(({ id, uuid, is_deleted: isDeleted }) => ({ id, uuid, isDeleted }));
}

const WRITE = statement({
  name: "checks.write_unique_keys",
  text: `update checks c set unique_key = n.key
    from unnest($1::bigint[], $2::text[]) as n (id, key)
    where c.id = n.id and c.unique_key is null`,
});

/** Stores the keys of checks that have none. */
export async function writeUniqueKeys(tx: Tx, checks: readonly { id: number; key: string }[]): Promise<void> {
  await tx.query(WRITE, [
    toNumberArray(checks.map(({ id }) => id)),
    toTextArray(checks.map(({ key }) => key)),
  ]);
}
