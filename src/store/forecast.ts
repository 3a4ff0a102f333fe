// What the forecast of a project needs: schedules with usual durations, marks of users, and calendar feeds.
import type { Instant } from "../core/instant.ts";
import type { EntryKind, ForecastCheck } from "../core/project-forecast.ts";
import { type Db, statement } from "./db.ts";
import type { Tx } from "./transaction.ts";
import { toNumberArray, toTextArray, toTimestamp } from "./values.ts";

const LIST_CHECKS = statement<{
  id: number;
  uuid: string;
  name: string;
  schedule: string;
  tz: string;
  duration_ms: number | null;
}>({
  name: "forecast.list_checks",
  text: `select c.id, c.uuid, c.name, c.schedule, c.tz,
      (select (sum(d.duration_sum_ms) / nullif(sum(d.timed_count), 0))::bigint
        from check_days d where d.check_id = c.id and d.day >= $2) as duration_ms
    from checks c join check_states s on s.check_id = c.id
    where c.project_id = $1 and c.deleted_at is null and c.kind <> 'simple' and s.status <> 'paused'
    order by c.id limit $3`,
});

/**
 * Checks of a project with an expression, oldest first, without paused ones. The duration is the mean of the runs since
 * a day.
 */
export async function listForecastChecks(
  db: Db,
  { projectId, sinceDay, limit }: { projectId: number; sinceDay: string; limit: number },
): Promise<ForecastCheck[]> {
  const { rows } = await db.query(LIST_CHECKS, [projectId, sinceDay, limit]);
  return rows.map(({ duration_ms, ...check }) => ({ ...check, durationMs: duration_ms }));
}

/** `checkId` null: about the project. */
export type ForecastMark = { checkId: number | null; kind: EntryKind; subject: string };

const LIST_MARKS = statement<{ check_id: number | null; kind: EntryKind; subject: string }>({
  name: "forecast.list_marks",
  text: "select check_id, kind, subject from forecast_marks where project_id = $1",
});

export async function listForecastMarks(db: Db, projectId: number): Promise<ForecastMark[]> {
  const { rows } = await db.query(LIST_MARKS, [projectId]);
  return rows.map(({ check_id, kind, subject }) => ({ checkId: check_id, kind, subject }));
}

const columns = (marks: readonly ForecastMark[]) => [
  toNumberArray(marks.map(({ checkId }) => checkId)),
  toTextArray(marks.map(({ kind }) => kind)),
  toTextArray(marks.map(({ subject }) => subject)),
];

const INSERT_MARKS = statement({
  name: "forecast.insert_marks",
  text: `insert into forecast_marks (project_id, check_id, kind, subject, account_id, created_at)
    select $1, check_id, kind, subject, $5, $6
    from unnest($2::bigint[], $3::text[], $4::text[]) as m (check_id, kind, subject)
    where check_id is null or check_id in (select id from checks where project_id = $1)
    on conflict do nothing`,
});

/** Adds marks; existing ones stay as they are. Returns how many are new. */
export async function insertForecastMarks(
  tx: Tx,
  to: { projectId: number; marks: readonly ForecastMark[]; accountId: number | null; at: Instant },
): Promise<number> {
  const { projectId, marks, accountId, at } = to;
  return (await tx.query(INSERT_MARKS, [projectId, ...columns(marks), accountId, toTimestamp(at)])).count;
}

const DELETE_MARKS = statement({
  name: "forecast.delete_marks",
  text: `delete from forecast_marks f
    using unnest($2::bigint[], $3::text[], $4::text[]) as m (check_id, kind, subject)
    where f.project_id = $1 and f.check_id is not distinct from m.check_id and f.kind = m.kind
      and f.subject = m.subject`,
});

/** Deletes marks; returns how many there were. */
export async function deleteForecastMarks(
  tx: Tx,
  { projectId, marks }: { projectId: number; marks: readonly ForecastMark[] },
): Promise<number> {
  return (await tx.query(DELETE_MARKS, [projectId, ...columns(marks)])).count;
}

const DELETE_OLD_MARKS = statement({
  name: "forecast.delete_old_marks",
  text: `delete from forecast_marks f
    using unnest($2::bigint[], $3::text[], $4::text[]) as m (check_id, kind, subject)
    where f.project_id = $1 and f.check_id = m.check_id and f.kind = m.kind and f.subject <> m.subject`,
});

/** Deletes marks of the same checks and kinds about earlier schedules. */
export async function deleteOldForecastMarks(
  tx: Tx,
  { projectId, marks }: { projectId: number; marks: readonly ForecastMark[] },
): Promise<void> {
  await tx.query(DELETE_OLD_MARKS, [projectId, ...columns(marks)]);
}

const TRIM_MARKS = statement({
  name: "forecast.trim_marks",
  text: `delete from forecast_marks where project_id = $1 and check_id is null and subject not in (
      select subject from forecast_marks where project_id = $1 and check_id is null
      order by created_at desc, subject limit $2
    )`,
});

/** Keeps the newest marks that are about the project. */
export async function trimForecastMarks(
  tx: Tx,
  { projectId, keep }: { projectId: number; keep: number },
): Promise<void> {
  await tx.query(TRIM_MARKS, [projectId, keep]);
}

const WRITE_FEED = statement({
  name: "forecast.write_feed",
  text: `insert into forecast_feeds (project_id, account_id, digest, created_at) values ($1, $2, $3, $4)
    on conflict (project_id, account_id) do update set digest = excluded.digest, created_at = excluded.created_at`,
});

export type FeedOwner = { projectId: number; accountId: number };

/** Creates the feed of a member, or replaces its token. */
export async function writeForecastFeed(
  tx: Tx,
  { projectId, accountId, digest, at }: FeedOwner & { digest: Buffer; at: Instant },
): Promise<void> {
  await tx.query(WRITE_FEED, [projectId, accountId, digest, toTimestamp(at)]);
}

const DELETE_FEED = statement({
  name: "forecast.delete_feed",
  text: "delete from forecast_feeds where project_id = $1 and account_id = $2",
});

/** Returns whether there was one. */
export async function deleteForecastFeed(tx: Tx, { projectId, accountId }: FeedOwner): Promise<boolean> {
  return (await tx.query(DELETE_FEED, [projectId, accountId])).count > 0;
}

const FIND_FEED = statement<{ created_at: Instant }>({
  name: "forecast.find_feed",
  text: "select created_at from forecast_feeds where project_id = $1 and account_id = $2",
});

/** When the feed of a member was created; null if there is none. */
export async function findForecastFeed(db: Db, { projectId, accountId }: FeedOwner): Promise<Instant | null> {
  return (await db.query(FIND_FEED, [projectId, accountId])).rows[0]?.created_at ?? null;
}

const FIND_FEED_OWNER = statement<{ project_id: number; account_id: number }>({
  name: "forecast.find_feed_owner",
  text: "select project_id, account_id from forecast_feeds where digest = $1",
});

/** The owner of the feed with this digest. Timing reveals nothing about tokens, because only digests are compared. */
export async function findForecastFeedOwner(db: Db, digest: Buffer): Promise<FeedOwner | null> {
  const [row] = (await db.query(FIND_FEED_OWNER, [digest])).rows;
  return row === undefined ? null : { projectId: row.project_id, accountId: row.account_id };
}
