// What messages tell besides their flips: the check as it is now, how its neighbours are, and which checks a notice
// is about. It only reads, and for many messages at once.
import type { OtherChecks } from "../../core/alerts/message.ts";
import type { Instant } from "../../core/instant.ts";
import type { StateRow } from "../checks/check-states.ts";
import { type CheckRow, type CheckWithState, SELECT_WITH_STATE, toCheckWithState } from "../checks/checks.ts";
import { type Db, statement } from "../db.ts";
import { toNumberArray, toTimestamp } from "../values.ts";

const FIND_CHECKS = statement<CheckRow & StateRow>({
  name: "message_facts.find_checks",
  text: `${SELECT_WITH_STATE} where c.id = any ($1::bigint[]) and c.deleted_at is null`,
});

/** The checks that messages are about, with their states; deleted ones are left out. In no particular order. */
export async function findToldChecks(db: Db, checkIds: readonly number[]): Promise<CheckWithState[]> {
  return (await db.query(FIND_CHECKS, [toNumberArray(checkIds)])).rows.map(toCheckWithState);
}

type ProjectRow = {
  project_id: number;
  total: number;
  down_count: number;
  uuids: string[] | null;
  names: string[] | null;
};

const LIST_DOWN = statement<ProjectRow>({
  name: "message_facts.list_down",
  text: `select tally.project_id, tally.total, tally.down_count, listed.uuids, listed.names
    from (
      select c.project_id, count(*) as total, count(*) filter (where s.status = 'down') as down_count
      from checks c join check_states s on s.check_id = c.id
      where c.project_id = any ($1::bigint[]) and c.deleted_at is null
      group by c.project_id
    ) as tally
    left join lateral (
      select array_agg(c.uuid::text) as uuids, array_agg(c.name) as names
      from checks c join check_states s on s.check_id = c.id
      where c.project_id = tally.project_id and c.deleted_at is null and s.status = 'down'
    ) as listed on tally.down_count <= $2`,
});

/** How the checks of projects are, by project; those that are down are listed where they are at most `listedMax`. */
export async function findProjectHealth(
  db: Db,
  { projectIds, listedMax }: { projectIds: readonly number[]; listedMax: number },
): Promise<Map<number, OtherChecks>> {
  const { rows } = await db.query(LIST_DOWN, [toNumberArray(projectIds), listedMax]);
  return new Map(
    rows.map((row) => {
      const down = (row.uuids ?? []).map((uuid, index) => ({ uuid, name: row.names?.[index] ?? "" }));
      return [row.project_id, { total: row.total, downCount: row.down_count, down }];
    }),
  );
}

type NoticedRow = { uuid: string; name: string; count: number };

// Besides the checks that were excused by then, those of the channel that still wait because of the same time: they
// are excused later, when the notice has long been sent, and nothing has come of them either. What was moved to another
// project is no longer the channel's to tell.
const LIST_NOTICED = statement<NoticedRow>({
  name: "message_facts.list_noticed",
  // The checks are found first and asked for their project afterwards (`offset 0`): the other way round the planner
  // goes through all checks of the project for each of them.
  text: `with told as materialized (
      select check_id from notice_checks where delivery_id = $1
      union
      select s.check_id
      from channels ch
      join channels heard on heard.project_id = ch.project_id
        and (heard.id = ch.id or (heard.kind = 'group' and heard.config -> 'members' ? ch.uuid::text))
      join check_channels cc on cc.channel_id = heard.id
      join check_states s on s.check_id = cc.check_id
      join checks w on w.id = s.check_id
      where ch.id = $2 and s.down_at >= $3 and s.down_at - w.grace_seconds * interval '1 second' <= $4
    )
    select uuid, name, count(*) over () as count
    from (select c.id, c.uuid, c.name, c.project_id
      from told join checks c on c.id = told.check_id where c.deleted_at is null offset 0) as found
    where project_id = (select project_id from channels where id = $2)
    order by name, id limit $5`,
});

/** The checks that a notice tells of: the first of them by name, and how many there are. */
export async function findNoticedChecks(
  db: Db,
  notice: { deliveryId: number; channelId: number; blindFromAt: Instant; blindToAt: Instant; limit: number },
): Promise<{ checks: { uuid: string; name: string }[]; checkCount: number }> {
  const { rows } = await db.query(LIST_NOTICED, [
    notice.deliveryId,
    notice.channelId,
    toTimestamp(notice.blindFromAt),
    toTimestamp(notice.blindToAt),
    notice.limit,
  ]);
  return { checks: rows.map(({ uuid, name }) => ({ uuid, name })), checkCount: rows[0]?.count ?? 0 };
}
