// What badges and scrapers need of the checks of a project: enough to tell their statuses, read for all of them
// at once. It only reads; which status a check shows is core's to say.
import type { Instant } from "../../core/instant.ts";
import { NEW_STATE, type StoredStatus } from "../../core/machine/state.ts";
import type { Timing, WatchedCheck } from "../../core/machine/status.ts";
import { type Db, statement } from "../db.ts";
import { toNumberArray, toTimestamp } from "../values.ts";

/** What core asks of a check to tell its status, as columns of `checks` c and `check_states` s. */
export type WatchedRow = {
  kind: Timing["kind"];
  timeout_seconds: number;
  grace_seconds: number;
  schedule: string;
  tz: string;
  manual_resume: boolean;
  status: StoredStatus;
  last_ping_at: Instant | null;
  last_start_at: Instant | null;
  expect_from_at: Instant | null;
};

export const WATCHED_COLUMNS = `c.kind, c.timeout_seconds, c.grace_seconds, c.schedule, c.tz, c.manual_resume,
  s.status, s.last_ping_at, s.last_start_at, s.expect_from_at`;

/** What core asks, of a row that has these columns. */
export function toWatched(row: WatchedRow): WatchedCheck {
  return {
    timing: {
      kind: row.kind,
      timeoutSeconds: row.timeout_seconds,
      graceSeconds: row.grace_seconds,
      schedule: row.schedule,
      tz: row.tz,
      manualResume: row.manual_resume,
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

/** The checks of a project in numbers. */
export type StatusTally = {
  total: number;
  /** Stored as down, which is final. */
  down: number;
  /** Ids of those that may show another status than the stored one: core's `mayBeLate`, asked in SQL. */
  uncertain: readonly number[];
};

type TallyRow = { total: number; down: number; uncertain: number[] | null };

// Checks are counted where they lie: of thousands of them, nearly none has to be looked at one by one. A project
// without checks gives a row of zeros; one that does not exist, none.
function tallyStatement(name: string, condition: string) {
  return statement<TallyRow>({
    name,
    text: `select count(c.id) as total, count(*) filter (where s.status = 'down') as down,
        array_agg(c.id) filter (where s.down_at <= $2::timestamptz + c.grace_seconds * interval '1 second')
          as uncertain
      from projects p
      left join checks c on c.project_id = p.id and c.deleted_at is null ${condition}
      left join check_states s on s.check_id = c.id
      where p.badge_key = $1 group by p.id`,
  });
}

const TALLY_ALL = tallyStatement("check_statuses.tally_all", "");
// An index on the tags would be half as large as the table, and what it saves is less than reading the states of
// those that match: looking through the tags of ten thousand checks takes a few milliseconds.
const TALLY_TAGGED = tallyStatement(
  "check_statuses.tally_tagged",
  "and strpos(' ' || c.tags || ' ', ' ' || $3::text || ' ') > 0",
);

/**
 * Counts the checks of a project, all of them or those that carry a tag; null when no project has this badge key.
 * `now` is the instant at which they will be asked for their status.
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

const FIND_WATCHED = statement<WatchedRow & { id: number }>({
  name: "check_statuses.find_watched",
  text: `select c.id, ${WATCHED_COLUMNS}
    from checks c join check_states s on s.check_id = c.id
    where c.id = any ($1::bigint[]) and c.deleted_at is null`,
});

/** What decides about the status of these checks; deleted ones are left out. In no particular order. */
export async function findWatchedChecks(
  db: Db,
  checkIds: readonly number[],
): Promise<(WatchedCheck & { id: number })[]> {
  const { rows } = await db.query(FIND_WATCHED, [toNumberArray(checkIds)]);
  return rows.map((row) => ({ id: row.id, ...toWatched(row) }));
}

/** A check as a scraper sees it. */
export type ScrapedCheck = WatchedCheck & {
  id: number;
  uuid: string;
  name: string;
  tags: string;
  downAt: Instant | null;
};

const LIST_SCRAPED = statement<
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
  const { rows } = await db.query(LIST_SCRAPED, [projectId, afterId, limit]);
  return rows.map((row) => {
    const { id, uuid, name, tags, down_at: downAt } = row;
    return { id, uuid, name, tags, downAt, ...toWatched(row) };
  });
}
