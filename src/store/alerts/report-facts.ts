// What reports and reminders tell: the checks that a person may see, how they are, and how they have changed. It only
// reads, a portion at a time.
import type { StatusChange } from "../../core/alerts/downtime.ts";
import type { Instant } from "../../core/instant.ts";
import type { StoredStatus } from "../../core/machine/state.ts";
import type { StateRow } from "../checks/check-states.ts";
import { type CheckRow, type CheckWithState, SELECT_WITH_STATE, toCheckWithState } from "../checks/checks.ts";
import { type Db, statement } from "../db.ts";
import { toNumberArray, toTimestamp } from "../values.ts";

const LIST_CHECKS = statement<CheckRow & StateRow>({
  name: "report_facts.list_checks",
  text: `${SELECT_WITH_STATE}
    where c.project_id in (select m.project_id from members m where m.account_id = $1)
      and c.deleted_at is null and c.id > $2
    order by c.id limit $3`,
});

/** Checks of all projects that an account may enter, by their ids after `afterId`. */
export async function listChecksOfAccount(
  db: Db,
  { accountId, afterId, limit }: { accountId: number; afterId: number; limit: number },
): Promise<CheckWithState[]> {
  const { rows } = await db.query(LIST_CHECKS, [accountId, afterId, limit]);
  return rows.map(toCheckWithState);
}

type ChangeRow = {
  check_id: number;
  at: Instant;
  from_status: StoredStatus;
  to_status: StoredStatus;
  is_taken_back: boolean;
};

// Of an alarm and a pause at the same instant the alarm came first: commands let deadlines pass before them. Both parts
// are read from the end of their index, so that a check that never rests costs no more than the limit.
const LIST_CHANGES = statement<ChangeRow>({
  name: "report_facts.list_changes",
  text: `select wanted.check_id, newest.at, newest.from_status, newest.to_status, newest.is_taken_back
    from unnest($1::bigint[]) as wanted (check_id)
      cross join lateral (
        select * from (
          (select f.at, f.from_status, f.to_status, f.taken_back_at is not null as is_taken_back, 0 as sort, f.id
            from flips f where f.check_id = wanted.check_id and f.at >= $2
            order by f.at desc, f.id desc limit $3)
          union all
          (select e.at, case when e.kind = 'resumed' then 'paused' else coalesce(e.detail ->> 'from', 'up') end,
              case when e.kind = 'resumed' then 'new' else 'paused' end, false, 1, e.id
            from events e
            where e.check_id = wanted.check_id and e.at >= $2 and e.kind in ('paused', 'resumed')
            order by e.at desc, e.id desc limit $3)
        ) as changes
        order by at desc, sort desc, id desc limit $3
      ) as newest
    order by newest.at, newest.sort, newest.id`,
});

/** `isCut`: there may be more before the first of them. */
export type ReadChanges = { changes: StatusChange[]; isCut: boolean };

/**
 * The changes of checks since an instant, oldest first, by check; of each at most `limitEach`, the newest. Those that
 * never changed are left out.
 */
export async function listStatusChanges(
  db: Db,
  { checkIds, from, limitEach }: { checkIds: readonly number[]; from: Instant; limitEach: number },
): Promise<Map<number, ReadChanges>> {
  const { rows } = await db.query(LIST_CHANGES, [toNumberArray(checkIds), toTimestamp(from), limitEach]);
  const byCheck = Map.groupBy(rows, (row) => row.check_id);
  return new Map(
    [...byCheck].map(([checkId, changes]) => [
      checkId,
      { changes: changes.map(toChange), isCut: changes.length >= limitEach },
    ]),
  );
}

function toChange(row: ChangeRow): StatusChange {
  return { at: row.at, from: row.from_status, to: row.to_status, isTakenBack: row.is_taken_back };
}

type DownRow = {
  uuid: string;
  name: string;
  project_name: string;
  last_ping_at: Instant | null;
  down_since_at: Instant | null;
  count: number;
};

const LIST_DOWN = statement<DownRow>({
  name: "report_facts.list_down",
  text: `select c.uuid, c.name, p.name as project_name, s.last_ping_at, flip.at as down_since_at,
      count(*) over () as count
    from members m
      join projects p on p.id = m.project_id
      join checks c on c.project_id = p.id and c.deleted_at is null
      join check_states s on s.check_id = c.id and s.status = 'down'
      left join lateral (
        select f.at from flips f
        where f.check_id = c.id and f.to_status = 'down' and f.taken_back_at is null
        order by f.at desc, f.id desc limit 1
      ) as flip on true
    where m.account_id = $1
    order by p.name, c.name, c.id limit $2`,
});

export type DownCheck = {
  uuid: string;
  name: string;
  projectName: string;
  lastPingAt: Instant | null;
  downSinceAt: Instant | null;
};

/** Checks that are down, of all projects that an account may enter: the first by name, and how many there are. */
export async function listDownChecks(
  db: Db,
  { accountId, limit }: { accountId: number; limit: number },
): Promise<{ down: DownCheck[]; downCount: number }> {
  const { rows } = await db.query(LIST_DOWN, [accountId, limit]);
  const down = rows.map((row) => ({
    uuid: row.uuid,
    name: row.name,
    projectName: row.project_name,
    lastPingAt: row.last_ping_at,
    downSinceAt: row.down_since_at,
  }));
  return { down, downCount: rows[0]?.count ?? 0 };
}
