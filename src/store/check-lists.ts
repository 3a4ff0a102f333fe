// Lists of checks for badges, metrics, counts and the dashboard, with the snapshots they were read from. Changes are
// found by the ID of the transaction that wrote them.
import type { Instant } from "../core/instant.ts";
import {
  type FlipReason,
  type Judged,
  NEW_STATE,
  type StoredStatus,
  type Timing,
  type WatchedCheck,
} from "../core/state.ts";
import type { PageCheck } from "../core/status-view.ts";
import { type Db, statement } from "./db.ts";
import { toNumberArray, toTextArray, toTimestamp } from "./values.ts";

/**
 * Transactions below `xmin` have ended, none from `xmax` on has begun, and `running` of those between have not ended.
 */
export type Snapshot = { xmin: number; xmax: number; running: number };

export type SnapshotRow = { seen: string };

/** The snapshot of the statement that contains this, as text: `xmin:xmax:` and the IDs of running transactions. */
const SEEN = "pg_current_snapshot()::text as seen";

function toSnapshot({ seen }: SnapshotRow): Snapshot {
  const [xmin, xmax, running = ""] = seen.split(":");
  return {
    xmin: Number(xmin),
    xmax: Number(xmax),
    running: running === "" ? 0 : running.split(",").length,
  };
}

/** With more concurrent transactions, this number is used. */
const RUNNING_MAX = 1_023;

/**
 * A number that orders readings: a later snapshot has a larger one, because the next ID has grown or a running
 * transaction has ended. Transaction IDs alone have no such order: the first to begin may be the last to commit.
 */
function readingOrder({ xmax, running }: Snapshot): number {
  return xmax * (RUNNING_MAX + 1) + RUNNING_MAX - Math.min(running, RUNNING_MAX);
}

/** Rows contain the lower half of the ID of the transaction that wrote them. */
const XIDS = 2 ** 32;

export function lowerHalf(xid: number): number {
  return xid % XIDS;
}

/** The full ID, given one that is not smaller. */
function wholeXid(lower: number, xmax: number): number {
  const behind = (lowerHalf(xmax) - lower + XIDS) % XIDS;
  return Math.max(0, xmax - behind);
}

const READ_SNAPSHOT = statement<SnapshotRow>({ name: "snapshot.read", text: `select ${SEEN}` });

/** The snapshot of a statement executed now. */
export async function readSnapshot(db: Db): Promise<Snapshot> {
  const [row] = (await db.query(READ_SNAPSHOT, [])).rows;
  return toSnapshot(row ?? { seen: "0:0:" });
}

/** Columns of `checks` c and `check_states` s that core needs for the status. */
export type WatchedRow = {
  kind: Timing["kind"];
  timeout_seconds: number;
  grace_seconds: number;
  schedule: string;
  tz: string;
  manual_resume: boolean;
  rules: Timing["rules"];
  status: StoredStatus;
  last_ping_at: Instant | null;
  last_start_at: Instant | null;
  expect_from_at: Instant | null;
};

const WATCHED_COLUMNS = `c.kind, c.timeout_seconds, c.grace_seconds, c.schedule, c.tz, c.manual_resume, c.rules,
  s.status, s.last_ping_at, s.last_start_at, s.expect_from_at`;

/** The input of core's status rules, from a row with these columns. */
export function toWatched(row: WatchedRow): WatchedCheck {
  return {
    timing: {
      kind: row.kind,
      timeoutSeconds: row.timeout_seconds,
      graceSeconds: row.grace_seconds,
      schedule: row.schedule,
      tz: row.tz,
      manualResume: row.manual_resume,
      rules: row.rules,
    },
    state: {
      ...NEW_STATE,
      status: row.status,
      lastPingAt: row.last_ping_at,
      lastStartAt: row.last_start_at,
      expectFromAt: row.expect_from_at,
    },
  };
}

/** Counts of a project's checks. */
export type StatusTally = {
  total: number;
  /** Stored as down, which is final. */
  down: number;
  /** Ids of checks whose shown status may differ from the stored one: core's `mayBeLate` in SQL. */
  uncertain: readonly number[];
};

type StatusTallyRow = { total: number; down: number; uncertain: number[] | null };

// Counted in SQL: of thousands of checks, very few have to be evaluated individually. A project without checks has a
// row of zeros; one that does not exist has none.
function tallyStatement(name: string, condition: string) {
  return statement<StatusTallyRow>({
    name,
    text: `select count(c.id) as total, count(*) filter (where s.status = 'down') as down,
        array_agg(c.id) filter (where s.status <> 'down' and s.down_at <= $2::timestamptz
          + greatest(c.grace_seconds, (c.rules ->> 'startWithinSeconds')::int) * interval '1 second') as uncertain
      from projects p
      left join checks c on c.project_id = p.id and c.deleted_at is null ${condition}
      left join check_states s on s.check_id = c.id
      where p.badge_key = $1 group by p.id`,
  });
}

const TALLY_ALL = tallyStatement("check_statuses.tally_all", "");
// An index on the tags would be half as large as the table and save less than reading the matching states costs:
// scanning the tags of ten thousand checks takes a few milliseconds.
const TALLY_TAGGED = tallyStatement(
  "check_statuses.tally_tagged",
  "and strpos(' ' || c.tags || ' ', ' ' || $3::text || ' ') > 0",
);

/**
 * Counts the checks of a project, all of them or those with a tag; null if no project has this badge key. `now` is
 * the instant for their status.
 */
export async function tallyStatuses(
  db: Db,
  { badgeKey, tag, now }: { badgeKey: string; tag: string | null; now: Instant },
): Promise<StatusTally | null> {
  const values = [badgeKey, toTimestamp(now)];
  const { rows } = await (tag === null
    ? db.query(TALLY_ALL, values)
    : db.query(TALLY_TAGGED, [...values, tag]));
  const [row] = rows;
  return row === undefined ? null : { ...row, uncertain: row.uncertain ?? [] };
}

const FIND_WATCHED_CHECKS = statement<WatchedRow & { id: number }>({
  name: "check_statuses.find_watched",
  text: `select c.id, ${WATCHED_COLUMNS}
    from checks c join check_states s on s.check_id = c.id
    where c.id = any ($1::bigint[]) and c.deleted_at is null`,
});

/** The columns that determine the status of these checks, without deleted ones. In no particular order. */
export async function findWatchedChecks(
  db: Db,
  checkIds: readonly number[],
): Promise<(WatchedCheck & { id: number })[]> {
  const { rows } = await db.query(FIND_WATCHED_CHECKS, [toNumberArray(checkIds)]);
  return rows.map((row) => ({ id: row.id, ...toWatched(row) }));
}

const LIST_STATUS_CHECKS = statement<WatchedRow & { id: number; created_at: Instant; tags: string }>({
  name: "check_statuses.list_for_page",
  text: `select c.id, c.created_at, c.tags, ${WATCHED_COLUMNS}
    from checks c join check_states s on s.check_id = c.id
    where c.project_id = $1 and c.deleted_at is null
      and (c.id = any ($2::bigint[]) or string_to_array(c.tags, ' ') && $3::text[])
    order by s.status <> 'down', c.id limit $4`,
});

/** The checks of a project with these IDs, and those with one of these tags: first those that are down, then by ID. */
export async function listStatusChecks(
  db: Db,
  wanted: { projectId: number; checkIds: readonly number[]; tags: readonly string[]; limit: number },
): Promise<PageCheck[]> {
  const { rows } = await db.query(LIST_STATUS_CHECKS, [
    wanted.projectId,
    toNumberArray(wanted.checkIds),
    toTextArray(wanted.tags),
    wanted.limit,
  ]);
  return rows.map((row) => ({ id: row.id, createdAt: row.created_at, tags: row.tags, ...toWatched(row) }));
}

/** A check on the metrics page. */
export type ScrapedCheck = WatchedCheck & {
  id: number;
  uuid: string;
  name: string;
  tags: string;
  downAt: Instant | null;
};

const LIST_SCRAPED_CHECKS = statement<
  WatchedRow & { id: number; uuid: string; name: string; tags: string; down_at: Instant | null }
>({
  name: "check_statuses.list_scraped",
  text: `select c.id, c.uuid, c.name, c.tags, ${WATCHED_COLUMNS}, s.down_at
    from checks c join check_states s on s.check_id = c.id
    where c.project_id = $1 and c.deleted_at is null and c.id > $2
    order by c.id limit $3`,
});

/** The checks of a project after `afterId`, oldest first, at most `limit`. */
export async function listScrapedChecks(
  db: Db,
  { projectId, afterId, limit }: { projectId: number; afterId: number; limit: number },
): Promise<ScrapedCheck[]> {
  const { rows } = await db.query(LIST_SCRAPED_CHECKS, [projectId, afterId, limit]);
  return rows.map((row) => {
    const { id, uuid, name, tags, down_at: downAt } = row;
    return { id, uuid, name, tags, downAt, ...toWatched(row) };
  });
}

/** The longest run in seconds: null for the grace period, 0 for no limit. */
const MAX_RUN = "(c.rules ->> 'maxRunSeconds')::int";
// Core's `storedDeadline` in SQL.
const IS_OVERRUN = `(s.last_start_at is not null and ${MAX_RUN} is distinct from 0
    and s.down_at = s.last_start_at + coalesce(${MAX_RUN}, c.grace_seconds) * interval '1 second')`;
const EXPECTED_AT = `(s.down_at - case when s.last_start_at is not null and ${MAX_RUN} is null then c.grace_seconds
    else coalesce((c.rules ->> 'startWithinSeconds')::int, c.grace_seconds) end * interval '1 second')`;

/**
 * SQL for status `grace`, where `$now` is the parameter of the instant. For a run in progress on a schedule, SQL
 * cannot decide before its deadline: those are IS_UNCERTAIN and decided by core. A run with its own limit is late only
 * after its deadline.
 */
const isLate = (now: string) => `(s.down_at is not null and (${now} > s.down_at or (s.status = 'up' and case
    when not ${IS_OVERRUN} then ${now} >= ${EXPECTED_AT}
    when c.kind = 'simple' and ${MAX_RUN} is null then ${now} >= greatest(s.last_ping_at, s.expect_from_at)
      + c.timeout_seconds * interval '1 second'
    else false end)))`;
const isUncertain = (now: string) =>
  `(${IS_OVERRUN} and s.status = 'up' and c.kind <> 'simple' and ${MAX_RUN} is null and ${now} <= s.down_at)`;

/** Checks that need attention have a low rank. */
const rank = (now: string) =>
  `case when s.status = 'down' then 0 when ${isLate(now)} then 1 when s.status = 'up' then 2
    when s.status = 'new' then 3 else 4 end`;

const RANKS = [0, 1, 2, 3, 4];

/** Number of checks of a project by status. */
export type Tally = {
  projectId: number;
  total: number;
  /** In rank order: down, late, up, new, paused. */
  byRank: readonly number[];
  /** How many of them have a run in progress. */
  runningByRank: readonly number[];
  /** Counted as up, but core may evaluate them as late. */
  uncertain: readonly number[];
};

type TallyRow = {
  project_id: number;
  rank: number;
  count: number;
  running: number;
  uncertain: number[] | null;
};

// The rank is computed once per check: `offset 0` prevents the planner from inlining it.
const TALLY_CHECKS = statement<TallyRow>({
  name: "check_tallies.count",
  text: `select project_id, rank, count(*)::int as count, count(*) filter (where is_running)::int as running,
      array_agg(id) filter (where is_uncertain) as uncertain
    from (select c.id, c.project_id, ${rank("$2::timestamptz")} as rank, s.last_start_at is not null as is_running,
        ${isUncertain("$2::timestamptz")} as is_uncertain
      from checks c join check_states s on s.check_id = c.id
      where c.deleted_at is null and c.project_id = any ($1::bigint[]) offset 0) as r
    group by project_id, rank`,
});

/** Counts the checks of projects; projects without checks are left out. */
export async function tallyChecks(
  db: Db,
  { projectIds, now }: { projectIds: readonly number[]; now: Instant },
): Promise<Tally[]> {
  const { rows } = await db.query(TALLY_CHECKS, [toNumberArray(projectIds), toTimestamp(now)]);
  return [...Map.groupBy(rows, (row) => row.project_id)].map(([projectId, mine]) => ({
    projectId,
    total: mine.reduce((sum, { count }) => sum + count, 0),
    byRank: RANKS.map((place) => mine.find((row) => row.rank === place)?.count ?? 0),
    runningByRank: RANKS.map((place) => mine.find((row) => row.rank === place)?.running ?? 0),
    uncertain: mine.flatMap(({ uncertain }) => uncertain ?? []),
  }));
}

const TALLY_TAGS = statement<{ tag: string; count: number; rank: number }>({
  name: "check_tallies.count_tags",
  text: `select t.tag, sum(r.count)::int as count, min(r.rank) as rank
    from (select tags, rank, count(*) as count
      from (select c.tags, ${rank("$2::timestamptz")} as rank
        from checks c join check_states s on s.check_id = c.id
        where c.deleted_at is null and c.project_id = $1 and c.tags <> '' offset 0) as each
      group by tags, rank) as r
    cross join lateral unnest(string_to_array(r.tags, ' ')) as t (tag)
    where t.tag <> ''
    group by t.tag order by 2 desc, t.tag limit $3`,
});

/** The most used tags of a project, each with its number of checks and the rank of the worst one. */
export async function tallyTags(
  db: Db,
  { projectId, now, limit }: { projectId: number; now: Instant; limit: number },
): Promise<{ tag: string; count: number; rank: number }[]> {
  return (await db.query(TALLY_TAGS, [projectId, toTimestamp(now), limit])).rows;
}

/** The checks of a project with the same first tag, by status. */
export type FirstTagTally = {
  /** Empty: checks without tags. */
  tag: string;
  /** In rank order: down, late, up, new, paused. */
  byRank: readonly number[];
};

const TALLY_FIRST_TAGS = statement<{ tag: string; by_rank: number[] }>({
  name: "check_tallies.count_first_tags",
  text: `select tag, array[${RANKS.map((place) => `count(*) filter (where rank = ${place})`).join(", ")}] as by_rank
    from (select split_part(ltrim(c.tags, ' '), ' ', 1) as tag, ${rank("$2::timestamptz")} as rank
      from checks c join check_states s on s.check_id = c.id
      where c.deleted_at is null and c.project_id = $1 offset 0) as each
    group by tag
    order by count(*) filter (where rank = 0) desc, count(*) filter (where rank = 1) desc, count(*) desc, tag limit $3`,
});

/** The first tags of a project's checks, those with problems first, then the most used. */
export async function tallyFirstTags(
  db: Db,
  { projectId, now, limit }: { projectId: number; now: Instant; limit: number },
): Promise<FirstTagTally[]> {
  const { rows } = await db.query(TALLY_FIRST_TAGS, [projectId, toTimestamp(now), limit]);
  return rows.map(({ tag, by_rank: byRank }) => ({ tag, byRank: byRank.map(Number) }));
}

const LIST_NEXT_EXPECTED = statement<{ name: string; at: Instant }>({
  name: "check_rows.list_next_expected",
  text: `select name, at
    from (select c.id, c.name, ${EXPECTED_AT} as at
      from checks c join check_states s on s.check_id = c.id
      where c.deleted_at is null and c.project_id = $1 and s.status = 'up' and s.down_at is not null
        and s.last_start_at is null) as expected
    where at > $2 order by at, id limit $3`,
});

/** The next expected pings of checks that are up and not running. */
export async function listNextExpected(
  db: Db,
  { projectId, now, limit }: { projectId: number; now: Instant; limit: number },
): Promise<{ name: string; at: Instant }[]> {
  return (await db.query(LIST_NEXT_EXPECTED, [projectId, toTimestamp(now), limit])).rows;
}

export type LeanCheck = WatchedCheck & {
  id: number;
  uuid: string;
  projectId: number;
  name: string;
  slug: string;
  tags: string;
  lastDurationMs: number | null;
  /** The stored deadline. */
  downAt: Instant | null;
  /** The flip that took it down; null if it is not down, or the flip was deleted. */
  down: { since: Instant; reason: FlipReason; exitStatus: number | null } | null;
  channelCount: number;
  /** The larger of the IDs of the transactions that wrote its settings and its state. */
  lastXid: number;
  /** The sum of both: changes with every write, even if the last writer had begun first. */
  change: number;
  /** When it was read: of two readings, the one with the larger number is newer. */
  readingOrder: number;
};

/** Rows, and a cursor: reading changes since the cursor misses nothing. */
export type LeanPage = { checks: LeanCheck[]; cursor: number };

type LeanRow = WatchedRow & {
  id: number;
  uuid: string;
  project_id: number;
  name: string;
  slug: string;
  tags: string;
  last_duration_ms: number | null;
  judged: Judged | null;
  down_at: Instant | null;
  channel_count: number;
  down_since: Instant | null;
  down_reason: FlipReason | null;
  exit_status: number | null;
  check_xmin: number;
  state_xmin: number;
};

const LEAN_COLUMNS = `c.id, c.uuid, c.project_id, c.name, c.slug, c.tags, ${WATCHED_COLUMNS}, s.last_duration_ms,
  s.judged, s.down_at, (select count(*)::int from check_channels cc where cc.check_id = c.id) as channel_count,
  d.at as down_since, d.reason as down_reason, e.exit_status,
  c.xmin::text::bigint as check_xmin, s.xmin::text::bigint as state_xmin`;

/** Only for checks that are down; nothing is looked up for others. */
const DOWN_BECAUSE = `left join lateral (
      select f.at, f.reason from flips f
      where s.status = 'down' and f.check_id = c.id and f.to_status = 'down' and f.taken_back_at is null
      order by f.at desc, f.id desc limit 1
    ) as d on true
    left join lateral (
      select p.exit_status from pings p
      where d.reason = 'fail' and p.check_id = c.id and p.kind = 'f' and p.at = d.at limit 1
    ) as e on true`;

/** The rows for a list of IDs, in its order, with their snapshot. Null if there are no rows. */
function leanStatement(name: string, { chosen, order }: { chosen: string; order: string }) {
  return statement<LeanRow & SnapshotRow>({
    name,
    text: `with chosen as materialized (${chosen})
      select ${SEEN}, ${LEAN_COLUMNS}
      from chosen
      join checks c on c.id = chosen.id join check_states s on s.check_id = c.id
      ${DOWN_BECAUSE}
      order by ${order}`,
  });
}

const THERE = "from checks c where c.deleted_at is null";
const WITH_STATE = "from checks c join check_states s on s.check_id = c.id where c.deleted_at is null";

const LIST_LEAN_CHECKS = leanStatement("check_rows.list", {
  chosen: `select c.id ${THERE} and c.project_id = $1 and c.id > $2 order by c.id limit $3`,
  order: "c.id",
});

/** The checks of a project after `afterId`, oldest first, at most `limit`. */
export async function listLeanChecks(
  db: Db,
  { projectId, afterId, limit }: { projectId: number; afterId: number; limit: number },
): Promise<LeanCheck[]> {
  return toPage((await db.query(LIST_LEAN_CHECKS, [projectId, afterId, limit])).rows).checks;
}

const LIST_URGENT_CHECKS = leanStatement("check_rows.list_urgent", {
  // Numbered after the limit: only the first hundred are sorted.
  chosen: `select id, row_number() over () as place from (
      select c.id ${WITH_STATE} and c.project_id = $1
      order by ${rank("$2::timestamptz")},
        case when s.status = 'down' then coalesce(s.silence_deadline_at, s.last_ping_at) end desc,
        case when ${rank("$2::timestamptz")} = 1 then s.down_at end, lower(c.name), c.id
      limit $3
    ) as first`,
  order: "chosen.place",
});

/** The checks of a project by urgency: down, late, and then by name. */
export async function listUrgentChecks(
  db: Db,
  { projectId, now, limit }: { projectId: number; now: Instant; limit: number },
): Promise<LeanPage> {
  const { rows } = await db.query(LIST_URGENT_CHECKS, [projectId, toTimestamp(now), limit]);
  return rows.length > 0 ? toPage(rows) : { checks: [], cursor: (await readSnapshot(db)).xmin };
}

const FIND_LEAN_CHECKS = leanStatement("check_rows.find", {
  chosen: `select c.id ${THERE} and c.uuid = any ($1::uuid[])`,
  order: "c.id",
});

/** The checks with these UUIDs in any project, without deleted ones. */
export async function findLeanChecks(db: Db, uuids: readonly string[]): Promise<LeanCheck[]> {
  return toPage((await db.query(FIND_LEAN_CHECKS, [toTextArray(uuids)])).rows).checks;
}

const LIST_CHANGED_CHECKS = leanStatement("check_rows.list_changed", {
  // Project by project, and sorted afterwards: very few rows have changed, and searching for the first of them in ID
  // order reads the checks of all projects. With 400,000 checks that took 390 ms, this way 50 ms.
  chosen: `select changed.id from unnest($1::bigint[]) as p (id) cross join lateral (
      select c.id ${WITH_STATE} and c.project_id = p.id
        and (age(c.xmin) <= age($2::text::xid) or age(s.xmin) <= age($2::text::xid)) offset 0
    ) as changed
    order by changed.id limit $3`,
  order: "c.id",
});

/** The checks of these projects written since a cursor, at most `limit`. Some may have been returned before. */
export async function listChangedChecks(
  db: Db,
  { projectIds, since, limit }: { projectIds: readonly number[]; since: number; limit: number },
): Promise<LeanCheck[]> {
  const { rows } = await db.query(LIST_CHANGED_CHECKS, [
    toNumberArray(projectIds),
    String(lowerHalf(since)),
    limit,
  ]);
  return toPage(rows).checks;
}

function toPage(rows: readonly (LeanRow & SnapshotRow)[]): LeanPage {
  const [first] = rows;
  if (first === undefined) return { checks: [], cursor: 0 };
  const snapshot = toSnapshot(first);
  return { checks: rows.map((row) => toLean(row, snapshot)), cursor: snapshot.xmin };
}

function toLean(row: LeanRow, snapshot: Snapshot): LeanCheck {
  const { down_since: since, down_reason: reason } = row;
  const checkXid = wholeXid(row.check_xmin, snapshot.xmax);
  const stateXid = wholeXid(row.state_xmin, snapshot.xmax);
  const { timing, state } = toWatched(row);
  return {
    id: row.id,
    uuid: row.uuid,
    projectId: row.project_id,
    name: row.name,
    slug: row.slug,
    tags: row.tags,
    timing,
    state: { ...state, judged: row.judged },
    lastDurationMs: row.last_duration_ms,
    downAt: row.down_at,
    down: since === null || reason === null ? null : { since, reason, exitStatus: row.exit_status },
    channelCount: row.channel_count,
    lastXid: Math.max(checkXid, stateXid),
    change: checkXid + stateXid,
    readingOrder: readingOrder(snapshot),
  };
}

const COUNT_CHECKS = statement<{ project_id: number; count: number }>({
  name: "check_rows.count",
  text: `select project_id, count(*)::int as count from checks
    where project_id = any ($1::bigint[]) and deleted_at is null group by project_id`,
});

/** Number of checks of these projects; projects without checks are left out. */
export async function countChecks(db: Db, projectIds: readonly number[]): Promise<Map<number, number>> {
  const { rows } = await db.query(COUNT_CHECKS, [toNumberArray(projectIds)]);
  return new Map(rows.map(({ project_id, count }) => [project_id, count]));
}

const COUNT_DOWN = statement<{ project_id: number; count: number }>({
  name: "check_rows.count_down",
  text: `select c.project_id, count(*)::int as count from checks c join check_states s on s.check_id = c.id
    where c.project_id = any ($1::bigint[]) and c.deleted_at is null and s.status = 'down' group by c.project_id`,
});

/** Number of down checks of these projects; projects without one are left out. */
export async function countDown(db: Db, projectIds: readonly number[]): Promise<Map<number, number>> {
  const { rows } = await db.query(COUNT_DOWN, [toNumberArray(projectIds)]);
  return new Map(rows.map(({ project_id, count }) => [project_id, count]));
}

const LIST_CHECK_NAMES = statement<{ project_id: number; uuid: string }>({
  name: "check_rows.list_ids",
  text: "select project_id, uuid from checks where project_id = any ($1::bigint[]) and deleted_at is null",
});

/** The UUIDs of all checks of projects. */
export async function listCheckNames(
  db: Db,
  projectIds: readonly number[],
): Promise<{ projectId: number; uuid: string }[]> {
  const { rows } = await db.query(LIST_CHECK_NAMES, [toNumberArray(projectIds)]);
  return rows.map(({ project_id, uuid }) => ({ projectId: project_id, uuid }));
}

/** The fields needed to change a check together with others. */
export type BulkCheck = { id: number; uuid: string; status: StoredStatus };

const FIND_BULK_CHECKS = statement<BulkCheck>({
  name: "check_rows.find_bulk",
  text: `select c.id, c.uuid, s.status from checks c join check_states s on s.check_id = c.id
    where c.uuid = any ($1::uuid[]) and c.project_id = $2`,
});

/** The checks of a project with these UUIDs, including those marked as deleted. */
export async function findBulkChecks(
  db: Db,
  { uuids, projectId }: { uuids: readonly string[]; projectId: number },
): Promise<BulkCheck[]> {
  const { rows } = await db.query(FIND_BULK_CHECKS, [toTextArray(uuids), projectId]);
  return rows;
}

// Of ten thousand checks few are down, and they are found by an index on the project.
const LIST_SILENT_CHECKS = statement<{ uuid: string; total: number }>({
  name: "silent_checks.list",
  text: `select c.uuid, (count(*) over ())::int as total
    from checks c join check_states s on s.check_id = c.id
    where c.project_id = $1 and c.deleted_at is null and s.status = 'down'
      and not exists (select from check_channels cc where cc.check_id = c.id and cc.channel_id = any ($2::bigint[]))
    order by c.id limit $3`,
});

/** The UUIDs of down checks that have none of these channels, at most `limit`, and their total number. */
export async function listSilentChecks(
  db: Db,
  { projectId, channelIds, limit }: { projectId: number; channelIds: readonly number[]; limit: number },
): Promise<{ uuids: string[]; total: number }> {
  const { rows } = await db.query(LIST_SILENT_CHECKS, [projectId, toNumberArray(channelIds), limit]);
  return { uuids: rows.map(({ uuid }) => uuid), total: rows[0]?.total ?? 0 };
}

export type RecentMark = {
  checkId: number;
  at: Instant;
  /** A finished run, a missed deadline, a monitoring gap, a pause. */
  kind: "success" | "fail" | "missed" | "unseen" | "paused";
  durationMs: number | null;
};

// The pings of a check are found by the check alone; their number is bounded by the log limit.
const LIST_RECENT_MARKS = statement<{
  check_id: number;
  at: Instant;
  kind: RecentMark["kind"];
  duration_ms: number | null;
}>({
  name: "recent_marks.list",
  text: `select c.id as check_id, m.at, m.kind, m.duration_ms
    from unnest($1::bigint[]) as c (id)
    cross join lateral (
      (select p.at, case p.kind when 's' then 'success' else 'fail' end as kind, p.duration_ms
        from pings p where p.check_id = c.id and p.kind in ('s', 'f') order by p.n desc limit $2)
      union all
      (select f.at, 'missed', null from flips f
        where f.check_id = c.id and f.to_status = 'down' and f.reason = 'timeout' and f.taken_back_at is null
        order by f.at desc, f.id desc limit $2)
      union all
      (select e.at, case e.kind when 'not_observed' then 'unseen' else e.kind end, null from events e
        where e.check_id = c.id and e.kind in ('missed', 'not_observed', 'paused')
        order by e.at desc, e.id desc limit $2)
    ) as m
    order by c.id, m.at`,
});

/** For each of these checks the newest of each kind, at most `limit`, all ordered by time. */
export async function listRecentMarks(
  db: Db,
  { checkIds, limit }: { checkIds: readonly number[]; limit: number },
): Promise<RecentMark[]> {
  if (checkIds.length === 0) return [];
  const { rows } = await db.query(LIST_RECENT_MARKS, [toNumberArray(checkIds), limit]);
  return rows.map((row) => ({
    checkId: row.check_id,
    at: row.at,
    kind: row.kind,
    durationMs: row.duration_ms,
  }));
}
