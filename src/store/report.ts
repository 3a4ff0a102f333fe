// What the reports page reads about the checks of a project: alerts, and average durations by day.
import type { CloseCause } from "../core/alert.ts";
import type { Instant } from "../core/instant.ts";
import type { RankedAlert } from "../core/noise.ts";
import { type Db, statement } from "./db.ts";
import { toNumberArray, toTimestamp } from "./values.ts";

type AlertRow = {
  check_id: number;
  opened_at: Instant;
  closed_at: Instant | null;
  close_cause: CloseCause | null;
  is_acknowledged: boolean;
  is_edited: boolean;
};

// Limited first, so that acknowledgments and edits are looked up for the returned alerts only.
const LIST_ALERTS = statement<AlertRow>({
  name: "report.list_alerts",
  text: `select a.check_id, a.opened_at, a.closed_at, a.close_cause,
      exists (select from incident_events e where e.incident_id = a.incident_id and e.kind = 'acknowledged'
        and e.at >= a.opened_at and e.at <= a.closed_at) as is_acknowledged,
      exists (select from events e where e.check_id = a.check_id and e.kind = 'edited'
        and e.at >= a.opened_at and e.at <= a.closed_at) as is_edited
    from (select a.* from checks c join alerts a on a.check_id = c.id
      where c.project_id = $1 and c.deleted_at is null and a.opened_at >= $2 and a.dropped_at is null
      order by a.opened_at desc, a.id desc limit $3) as a`,
});

/** The alerts of a project that opened since an instant and were not dropped by a silence; the newest, at most `limit`. */
export async function listReportAlerts(
  db: Db,
  { projectId, from, limit }: { projectId: number; from: Instant; limit: number },
): Promise<RankedAlert[]> {
  const { rows } = await db.query(LIST_ALERTS, [projectId, toTimestamp(from), limit]);
  return rows.map((row) => ({
    checkId: row.check_id,
    openedAt: row.opened_at,
    closedAt: row.closed_at,
    closeCause: row.close_cause,
    isAcknowledged: row.is_acknowledged,
    isEdited: row.is_edited,
  }));
}

const AVERAGE = "(d.duration_sum_ms / d.timed_count)";

// A preselection for projects with many checks, in one pass without sorting their days. Logarithms weaken extreme days.
const LIST_RISING = statement<{ id: number; compared: number }>({
  name: "report.list_rising",
  text: `with lines as (
      select d.check_id, regr_slope(ln(greatest(${AVERAGE}, 1)), d.day - date '2000-01-01')
          * (max(d.day) - min(d.day)) as rise
      from checks c join check_days d on d.check_id = c.id
      where c.project_id = $1 and c.deleted_at is null and d.day >= $2 and d.timed_count > 0
      group by d.check_id having count(*) >= $3
    )
    select check_id as id, (select count(*) from lines)::int as compared
    from lines order by rise desc nulls last, check_id limit $4`,
});

/** Checks with runs on enough days, those whose durations rose most first; and how many there are. */
export async function listRisingChecks(
  db: Db,
  wanted: { projectId: number; fromDay: string; daysMin: number; limit: number },
): Promise<{ ids: number[]; comparedCount: number }> {
  const { projectId, fromDay, daysMin, limit } = wanted;
  const { rows } = await db.query(LIST_RISING, [projectId, fromDay, daysMin, limit]);
  return { ids: rows.map(({ id }) => id), comparedCount: rows[0]?.compared ?? 0 };
}

const LIST_AVERAGES = statement<{ check_id: number; day: string; average: number }>({
  name: "report.list_averages",
  text: `select d.check_id, d.day, ${AVERAGE} as average
    from check_days d where d.check_id = any ($1::bigint[]) and d.day >= $2 and d.timed_count > 0
    order by d.check_id, d.day`,
});

/** The average duration of each day of these checks, oldest first. Days without a measured run are missing. */
export async function listDayAverages(
  db: Db,
  { checkIds, fromDay }: { checkIds: readonly number[]; fromDay: string },
): Promise<{ checkId: number; day: string; averageMs: number }[]> {
  const { rows } = await db.query(LIST_AVERAGES, [toNumberArray(checkIds), fromDay]);
  return rows.map(({ check_id, day, average }) => ({ checkId: check_id, day, averageMs: average }));
}
