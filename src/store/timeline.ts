// What the timeline of a project reads: all its checks at once, and the history of those that are drawn. Never one
// statement per check.
import type { Instant } from "../core/instant.ts";
import type { FlipReason, WatchedCheck } from "../core/state.ts";
import { toWatched, type WatchedRow } from "./check-lists.ts";
import { type Db, statement } from "./db.ts";
import { type EndedRun, unpackRuns } from "./runs.ts";
import { toNumberArray, toTimestamp } from "./values.ts";

export type TimelineCheck = WatchedCheck & {
  id: number;
  uuid: string;
  name: string;
  tags: string;
  /** Null: before the range. */
  createdAt: Instant | null;
  downAt: Instant | null;
  lastDurationMs: number | null;
  /** The totals of the newest day with a run, `YYYY-MM-DD` in UTC. Null if they are not requested. */
  today: { day: string; successCount: number; failCount: number; durationSumMs: number } | null;
};

type CheckRow = Omit<WatchedRow, "timeout_seconds" | "schedule" | "tz" | "manual_resume"> & {
  id: number;
  uuid: string;
  name: string;
  tags: string;
  timeout_seconds: number | null;
  schedule: string | null;
  tz: string | null;
  created_at: Instant | null;
  down_at: Instant | null;
  last_duration_ms: number | null;
  day: string | null;
  day_success_count: number | null;
  day_fail_count: number | null;
  day_duration_sum_ms: number | null;
};

// Values that are not needed are null: with ten thousand rows, reading values takes longer than the statement.
const LIST_CHECKS = statement<CheckRow>({
  name: "timeline.list_checks",
  text: `select c.id, c.uuid, c.name, c.tags, c.kind, c.grace_seconds, c.rules,
      case when c.kind = 'simple' then c.timeout_seconds end as timeout_seconds,
      case when c.kind <> 'simple' then c.schedule end as schedule, case when c.kind <> 'simple' then c.tz end as tz,
      case when c.created_at > $2 then c.created_at end as created_at,
      s.status, s.last_ping_at, s.last_start_at, s.expect_from_at, s.down_at, s.last_duration_ms,
      case when $3 then s.day end as day, case when $3 then s.day_success_count end as day_success_count,
      case when $3 then s.day_fail_count end as day_fail_count,
      case when $3 then s.day_duration_sum_ms end as day_duration_sum_ms
    from checks c join check_states s on s.check_id = c.id
    where c.project_id = $1 and c.deleted_at is null order by c.id limit $4`,
});

/** The checks of a project, oldest first, at most `limit`. `from`: where the range begins. */
export async function listTimelineChecks(
  db: Db,
  { projectId, from, hasDays, limit }: { projectId: number; from: Instant; hasDays: boolean; limit: number },
): Promise<TimelineCheck[]> {
  const { rows } = await db.query(LIST_CHECKS, [projectId, toTimestamp(from), hasDays, limit]);
  return rows.map((row) => ({
    ...toWatched({
      ...row,
      timeout_seconds: row.timeout_seconds ?? 0,
      schedule: row.schedule ?? "",
      tz: row.tz ?? "UTC",
      manual_resume: false,
    }),
    id: row.id,
    uuid: row.uuid,
    name: row.name,
    tags: row.tags,
    createdAt: row.created_at,
    downAt: row.down_at,
    lastDurationMs: row.last_duration_ms,
    today: todayOf(row),
  }));
}

function todayOf(row: CheckRow): TimelineCheck["today"] {
  if (row.day === null) return null;
  return {
    day: row.day,
    successCount: row.day_success_count ?? 0,
    failCount: row.day_fail_count ?? 0,
    durationSumMs: row.day_duration_sum_ms ?? 0,
  };
}

/** A range of time of some checks. */
export type TimelineRead = { checkIds: readonly number[]; from: Instant; to: Instant };

export type LoggedRun = EndedRun & { checkId: number; n: number };

const LIST_LOGGED_RUNS = statement<{
  check_id: number;
  n: number;
  at: Instant;
  kind: string;
  duration_ms: number | null;
}>({
  name: "timeline.list_logged_runs",
  text: `select check_id, n, at, kind, duration_ms from pings
    where check_id = any ($1::bigint[]) and kind in ('s', 'f') and at >= $2 and at < $3`,
});

/** The runs of checks that ended in a range and are still in the log, in order of their end. */
export async function listLoggedRunsOfChecks(
  db: Db,
  { checkIds, from, to }: TimelineRead,
): Promise<LoggedRun[]> {
  const { rows } = await db.query(LIST_LOGGED_RUNS, [
    toNumberArray(checkIds),
    toTimestamp(from),
    toTimestamp(to),
  ]);
  return rows
    .map(
      (row): LoggedRun => ({
        checkId: row.check_id,
        n: row.n,
        endAt: row.at,
        outcome: row.kind === "s" ? "success" : "fail",
        durationMs: row.duration_ms,
      }),
    )
    .toSorted((one, other) => one.endAt - other.endAt || one.n - other.n);
}

export type PackedHistory = {
  runs: (EndedRun & { checkId: number })[];
  /** Older runs that were not unpacked. */
  sums: { checkId: number; from: Instant; to: Instant; count: number }[];
};

const LIST_PACKED_RUNS = statement<{
  check_id: number;
  from_at: Instant;
  to_at: Instant;
  run_count: number;
  runs: Buffer | null;
}>({
  name: "timeline.list_packed_runs",
  text: `select check_id, from_at, to_at, run_count, case when newer_count < $4 then runs end as runs from (
      select check_id, from_at, to_at, run_count, runs,
        sum(run_count) over (order by to_at desc, from_at desc, check_id) - run_count as newer_count
      from run_chunks where check_id = any ($1::bigint[]) and to_at >= $2 and from_at < $3
    ) as chunk
    order by from_at`,
});

/**
 * The runs of checks in a range that have left the log, in order of their end. About `limit` of the newest are unpacked;
 * of those before, only the number is read.
 */
export async function listPackedRunsOfChecks(
  db: Db,
  { checkIds, from, to, limit }: TimelineRead & { limit: number },
): Promise<PackedHistory> {
  const { rows } = await db.query(LIST_PACKED_RUNS, [
    toNumberArray(checkIds),
    toTimestamp(from),
    toTimestamp(to),
    limit,
  ]);
  const found: PackedHistory = { runs: [], sums: [] };
  for (const row of rows) {
    const checkId = row.check_id;
    if (row.runs === null) {
      found.sums.push({ checkId, from: row.from_at, to: row.to_at, count: row.run_count });
      continue;
    }
    for (const run of unpackRuns(row.runs)) {
      if (run.endAt >= from && run.endAt < to) found.runs.push({ ...run, checkId });
    }
  }
  found.runs.sort((one, other) => one.endAt - other.endAt);
  return found;
}

export type TimelineFlipRow = { checkId: number; at: Instant; to: "up" | "down"; reason: FlipReason };

const LIST_FLIPS = statement<{ check_id: number; at: Instant; to_status: "up" | "down"; reason: FlipReason }>(
  {
    name: "timeline.list_flips",
    text: `select f.check_id, f.at, f.to_status, f.reason
    from unnest($1::bigint[]) as c (id)
    cross join lateral (
      select check_id, at, id, to_status, reason from flips
      where check_id = c.id and at >= $2 and at < $3 and taken_back_at is null
      order by at desc, id desc limit $4
    ) as f
    order by f.at desc, f.id desc limit $5`,
  },
);

/**
 * The flips of checks in a range without retracted ones, oldest first: the newest `limit`, and no more than `limitEach` of
 * one check.
 */
export async function listFlipsOfChecks(
  db: Db,
  { checkIds, from, to, limit, limitEach }: TimelineRead & { limit: number; limitEach: number },
): Promise<TimelineFlipRow[]> {
  const { rows } = await db.query(LIST_FLIPS, [
    toNumberArray(checkIds),
    toTimestamp(from),
    toTimestamp(to),
    limitEach,
    limit,
  ]);
  return rows
    .map((row) => ({ checkId: row.check_id, at: row.at, to: row.to_status, reason: row.reason }))
    .toReversed();
}

export type TimelineEvent = {
  checkId: number;
  at: Instant;
  kind: "missed" | "paused" | "resumed" | "edited";
  detail: Readonly<Record<string, unknown>>;
};

const LIST_EVENTS = statement<{
  check_id: number;
  at: Instant;
  kind: TimelineEvent["kind"];
  detail: Record<string, unknown>;
}>({
  name: "timeline.list_events",
  text: `select e.check_id, e.at, e.kind, e.detail
    from unnest($1::bigint[]) as c (id)
    cross join lateral (
      select check_id, at, id, kind, detail from events
      where check_id = c.id and at >= $2 and at < $3
        and (kind in ('missed', 'paused', 'resumed')
          or kind = 'edited' and detail -> 'after' ?| '{kind,schedule,timeoutSeconds,tz}')
      order by at desc, id desc limit $4
    ) as e
    order by e.at, e.id`,
});

/**
 * Missed runs of checks that were down already or tolerated, pauses, and changes of the schedule in a range, oldest first:
 * the newest `limitEach` of each check.
 */
export async function listTimelineEvents(
  db: Db,
  { checkIds, from, to, limitEach }: TimelineRead & { limitEach: number },
): Promise<TimelineEvent[]> {
  const { rows } = await db.query(LIST_EVENTS, [
    toNumberArray(checkIds),
    toTimestamp(from),
    toTimestamp(to),
    limitEach,
  ]);
  return rows.map(({ check_id: checkId, at, kind, detail }) => ({ checkId, at, kind, detail }));
}

export type TagDay = {
  /** The first tag of the checks; null: they have none, or a tag that is not among the most frequent. */
  tag: string | null;
  day: string;
  successCount: number;
  failCount: number;
  durationSumMs: number;
  /** How often a check went down because nothing came. */
  missedCount: number;
};

const SUM_DAYS = statement<{
  tag: string | null;
  day: string;
  success_count: number;
  fail_count: number;
  duration_sum_ms: number;
  missed_count: number;
}>({
  name: "timeline.sum_days",
  // The most frequent tags are found first, so that the result is small whatever the tags are.
  text: `with chosen as materialized (
      select c.id, nullif(split_part(ltrim(c.tags, ' '), ' ', 1), '') as tag from checks c
      where c.project_id = $1 and c.deleted_at is null
        and ($4::text is null or strpos(' ' || c.tags || ' ', ' ' || $4 || ' ') > 0)
        and ($5::bigint[] is null or c.id = any ($5))
    ), frequent as (
      select tag from chosen where tag is not null group by tag order by count(*) desc, tag collate "C" limit $6
    )
    select f.tag, d.day, sum(d.success_count) as success_count, sum(d.fail_count) as fail_count,
      sum(d.duration_sum_ms::float8) as duration_sum_ms, 0 as missed_count
    from chosen c join check_days d on d.check_id = c.id left join frequent f on f.tag = c.tag
    where d.day between $2 and $3
    group by f.tag, d.day
    union all
    select f.tag, missed.at::date, 0, 0, 0, count(*)
    from chosen c cross join lateral (
      select at from flips
      where check_id = c.id and at >= $2::date and at < $3::date + 1 and to_status = 'down' and reason = 'timeout'
        and taken_back_at is null
    ) as missed left join frequent f on f.tag = c.tag
    group by f.tag, missed.at::date`,
});

/**
 * The daily totals and missed deadlines of the checks of a project, added up by their first tag. Without the newest day of each check, which is
 * in its state. `tag` and `checkIds` limit the checks; null: all. Only the `tagsMax` most frequent tags are told apart.
 */
export async function sumTagDays(
  db: Db,
  chosen: {
    projectId: number;
    fromDay: string;
    toDay: string;
    tag: string | null;
    checkIds: readonly number[] | null;
    tagsMax: number;
  },
): Promise<TagDay[]> {
  const { projectId, fromDay, toDay, tag, checkIds, tagsMax } = chosen;
  const ids = checkIds && toNumberArray(checkIds);
  const { rows } = await db.query(SUM_DAYS, [projectId, fromDay, toDay, tag, ids, tagsMax]);
  return rows.map((row) => ({
    tag: row.tag,
    day: row.day,
    successCount: row.success_count,
    failCount: row.fail_count,
    durationSumMs: row.duration_sum_ms,
    missedCount: row.missed_count,
  }));
}
