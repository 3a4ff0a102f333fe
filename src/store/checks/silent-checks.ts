// Checks that are down without any channel being notified.
import { type Db, statement } from "../db.ts";
import { toNumberArray } from "../values.ts";

// Of ten thousand checks few are down, and they are found by the project's own index.
const LIST = statement<{ uuid: string; total: number }>({
  name: "silent_checks.list",
  text: `select c.uuid, (count(*) over ())::int as total
    from checks c join check_states s on s.check_id = c.id
    where c.project_id = $1 and c.deleted_at is null and s.status = 'down'
      and not exists (select from check_channels cc where cc.check_id = c.id and cc.channel_id = any ($2::bigint[]))
    order by c.id limit $3`,
});

/** The UUIDs of checks that are down and have none of these channels, at most `limit`, and how many there are. */
export async function listSilentChecks(
  db: Db,
  { projectId, channelIds, limit }: { projectId: number; channelIds: readonly number[]; limit: number },
): Promise<{ uuids: string[]; total: number }> {
  const { rows } = await db.query(LIST, [projectId, toNumberArray(channelIds), limit]);
  return { uuids: rows.map(({ uuid }) => uuid), total: rows[0]?.total ?? 0 };
}
