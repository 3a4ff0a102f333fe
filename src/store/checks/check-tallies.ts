// How many checks of a project read what, counted where they lie: of ten thousand, nearly none is looked at one by one.
// The SQL says what core/machine/status.ts says; where it cannot, it names the checks that core has to be asked about.
import type { Instant } from "../../core/instant.ts";
import { type Db, statement } from "../db.ts";
import { toNumberArray, toTimestamp } from "../values.ts";

const GRACE = "c.grace_seconds * interval '1 second'";
const IS_OVERRUN = `(s.last_start_at is not null and s.down_at = s.last_start_at + ${GRACE})`;

/**
 * SQL for `status.ts` saying grace, and `$now` the parameter of the instant. Of a run in progress on a schedule it
 * cannot be told here before its deadline: those are IS_UNCERTAIN, and core is asked.
 */
const isLate = (now: string) => `(s.down_at is not null and (${now} > s.down_at or (s.status = 'up' and case
    when not ${IS_OVERRUN} then ${now} >= s.down_at - ${GRACE}
    when c.kind = 'simple' then ${now} >= greatest(s.last_ping_at, s.expect_from_at)
      + c.timeout_seconds * interval '1 second'
    else false end)))`;
const isUncertain = (now: string) =>
  `(${IS_OVERRUN} and s.status = 'up' and c.kind <> 'simple' and ${now} <= s.down_at)`;

/** What needs somebody has a small number. */
export const rank = (now: string) =>
  `case when s.status = 'down' then 0 when ${isLate(now)} then 1 when s.status = 'up' then 2
    when s.status = 'new' then 3 else 4 end`;

/** How many checks of a project read what. */
export type Tally = {
  projectId: number;
  total: number;
  /** In the order of the ranks: down, late, up, new, paused. */
  byRank: readonly number[];
  /** How many of them have a run in progress. */
  runningByRank: readonly number[];
  /** Counted as up, though core may say that they are late. */
  uncertain: readonly number[];
};

type TallyRow = {
  project_id: number;
  rank: number;
  count: number;
  running: number;
  uncertain: number[] | null;
};

// The rank is worked out once for each check: `offset 0` keeps it from being written out wherever it is used.
const TALLY = statement<TallyRow>({
  name: "check_tallies.count",
  text: `select project_id, rank, count(*)::int as count, count(*) filter (where is_running)::int as running,
      array_agg(id) filter (where is_uncertain) as uncertain
    from (select c.id, c.project_id, ${rank("$2::timestamptz")} as rank, s.last_start_at is not null as is_running,
        ${isUncertain("$2::timestamptz")} as is_uncertain
      from checks c join check_states s on s.check_id = c.id
      where c.deleted_at is null and c.project_id = any ($1::bigint[]) offset 0) as r
    group by project_id, rank`,
});

/** Counts the checks of projects; one without checks is left out. */
export async function tallyChecks(
  db: Db,
  { projectIds, now }: { projectIds: readonly number[]; now: Instant },
): Promise<Tally[]> {
  const { rows } = await db.query(TALLY, [toNumberArray(projectIds), toTimestamp(now)]);
  return [...Map.groupBy(rows, (row) => row.project_id)].map(([projectId, mine]) => ({
    projectId,
    total: mine.reduce((sum, { count }) => sum + count, 0),
    byRank: RANKS.map((place) => mine.find((row) => row.rank === place)?.count ?? 0),
    runningByRank: RANKS.map((place) => mine.find((row) => row.rank === place)?.running ?? 0),
    uncertain: mine.flatMap(({ uncertain }) => uncertain ?? []),
  }));
}

const RANKS = [0, 1, 2, 3, 4];

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

/** The tags of a project that are used most, each with its number of checks and the rank of the worst of them. */
export async function tallyTags(
  db: Db,
  { projectId, now, limit }: { projectId: number; now: Instant; limit: number },
): Promise<{ tag: string; count: number; rank: number }[]> {
  return (await db.query(TALLY_TAGS, [projectId, toTimestamp(now), limit])).rows;
}
