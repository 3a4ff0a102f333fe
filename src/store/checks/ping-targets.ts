// What a batch of signals has to find: the checks that its addresses name, and how long their logs may be.
import { type Db, statement } from "../db.ts";

const IDS_BY_UUID = statement<{ uuid: string; id: number }>({
  name: "ping_targets.by_uuid",
  text: "select c.uuid, c.id from checks c where c.uuid = any ($1::uuid[]) and c.deleted_at is null",
});

/** The ids of the checks with these UUIDs; unknown and deleted ones are not there. */
export async function findCheckIdsByUuids(db: Db, uuids: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await db.query(IDS_BY_UUID, [uuids]);
  return new Map(rows.map(({ uuid, id }) => [uuid, id]));
}

const IDS_BY_SLUG = statement<{ position: number; id: number; count: number }>({
  name: "ping_targets.by_slug",
  text: `select n.position, min(c.id) as id, count(*) as count
    from unnest($1::text[], $2::text[]) with ordinality as n (ping_key, slug, position)
    join projects p on p.ping_key = n.ping_key
    join checks c on c.project_id = p.id and c.slug = n.slug
    where c.deleted_at is null and c.slug <> ''
    group by n.position`,
});

/** For each pair, in order: the id of its check, "ambiguous" when several share the slug, or null. */
export async function findCheckIdsBySlugs(
  db: Db,
  pairs: readonly { pingKey: string; slug: string }[],
): Promise<(number | "ambiguous" | null)[]> {
  const found: (number | "ambiguous" | null)[] = pairs.map(() => null);
  const { rows } = await db.query(IDS_BY_SLUG, [
    pairs.map(({ pingKey }) => pingKey),
    pairs.map(({ slug }) => slug),
  ]);
  for (const { position, id, count } of rows) found[position - 1] = count === 1 ? id : "ambiguous";
  return found;
}

const LOG_LIMITS = statement<{ check_id: number; ping_log_limit: number }>({
  name: "ping_targets.log_limits",
  text: `select c.id as check_id, a.ping_log_limit
    from checks c
    join members m on m.project_id = c.project_id and m.role = 'owner'
    join accounts a on a.id = m.account_id
    where c.id = any ($1::bigint[]) and a.ping_log_limit is not null`,
});

/** How many pings are kept for these checks, where their owner has a limit of its own. */
export async function findLogLimits(db: Db, checkIds: readonly number[]): Promise<Map<number, number>> {
  const { rows } = await db.query(LOG_LIMITS, [checkIds]);
  return new Map(rows.map((row) => [row.check_id, row.ping_log_limit]));
}
