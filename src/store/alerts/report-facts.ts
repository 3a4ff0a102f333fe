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

// Of an alarm and a pause at the same instant the alarm came first: commands let deadlines pass before them.
const LIST_CHANGES = statement<ChangeRow>({
  name: "report_facts.list_changes",
  text: `select check_id, at, from_status, to_status, is_taken_back
    from (
      select check_id, at, from_status, to_status, taken_back_at is not null as is_taken_back, 0 as sort, id
      from flips where check_id = any ($1::bigint[]) and at >= $2
      union all
      select check_id, at, case when kind = 'resumed' then 'paused' else coalesce(detail ->> 'from', 'up') end,
        case when kind = 'resumed' then 'new' else 'paused' end, false, 1, id
      from events where check_id = any ($1::bigint[]) and at >= $2 and kind in ('paused', 'resumed')
    ) as changes
    order by at, sort, id`,
});

/** The changes of checks since an instant, oldest first, by check. Those that never changed are left out. */
export async function listStatusChanges(
  db: Db,
  { checkIds, from }: { checkIds: readonly number[]; from: Instant },
): Promise<Map<number, StatusChange[]>> {
  const { rows } = await db.query(LIST_CHANGES, [toNumberArray(checkIds), toTimestamp(from)]);
  const byCheck = Map.groupBy(rows, (row) => row.check_id);
  return new Map([...byCheck].map(([checkId, changes]) => [checkId, changes.map(toChange)]));
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
