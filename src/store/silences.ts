// Silences: their rows, the checks they cover, and alerts that they hold.
import type { Instant } from "../core/instant.ts";
import type { Silence, SilencePlan, SilenceScope } from "../core/silence.ts";
import { type Db, statement } from "./db.ts";
import type { Tx } from "./transaction.ts";
import { AT_ONCE, sqlInstant, toNumberArray, toTextArray, toTimestamp } from "./values.ts";

export type StoredSilence = Silence & {
  projectId: number;
  createdAt: Instant;
  /** The address of the account that created it, unless it was closed. */
  email: string | null;
};

type SilenceRow = {
  id: number;
  uuid: string;
  project_id: number;
  check_ids: number[] | null;
  tag: string | null;
  reason: string;
  account_id: number | null;
  created_at: Instant;
  from_at: Instant;
  until_at: Instant | null;
  until_success: boolean;
  schedule: string | null;
  tz: string | null;
  duration_seconds: number | null;
  hold_after_seconds: number;
  ended_at: Instant | null;
  version: number;
  email: string | null;
};

const COLUMNS = `s.id, s.uuid, s.project_id, s.check_ids, s.tag, s.reason, s.account_id, s.created_at, s.from_at,
  s.until_at, s.until_success, s.schedule, s.tz, s.duration_seconds, s.hold_after_seconds, s.ended_at, s.version,
  a.email`;

const FROM = "from silences s left join accounts a on a.id = s.account_id";

function toSilence(row: SilenceRow): StoredSilence {
  return {
    id: row.id,
    uuid: row.uuid,
    projectId: row.project_id,
    scope: toScope(row),
    reason: row.reason,
    accountId: row.account_id,
    createdAt: row.created_at,
    from: row.from_at,
    until: row.until_at,
    untilSuccess: row.until_success,
    schedule: row.schedule,
    tz: row.tz,
    durationSeconds: row.duration_seconds,
    holdAfterSeconds: row.hold_after_seconds,
    endedAt: row.ended_at,
    version: row.version,
    email: row.email,
  };
}

function toScope({ check_ids: checkIds, tag }: SilenceRow): SilenceScope {
  if (checkIds !== null) return { kind: "checks", checkIds };
  return tag === null ? { kind: "all" } : { kind: "tag", tag };
}

/** The values of the columns that a user chooses, in the order of the statements below. */
function planValues(plan: SilencePlan): (string | number | boolean | null)[] {
  const { scope } = plan;
  return [
    scope.kind === "checks" ? toNumberArray(scope.checkIds) : null,
    scope.kind === "tag" ? scope.tag : null,
    plan.reason,
    toTimestamp(plan.from),
    toTimestamp(plan.until),
    plan.untilSuccess,
    plan.schedule,
    plan.tz,
    plan.durationSeconds,
    plan.holdAfterSeconds,
  ];
}

const LOCK = statement<{ uuid: string }>({
  name: "silences.lock",
  text: "select uuid from projects where id = $1 for no key update",
});

/**
 * Serializes changes to the silences of a project until the transaction ends. Returns the UUID of the project, or null
 * if it does not exist.
 */
export async function lockSilencesOfProject(tx: Tx, projectId: number): Promise<string | null> {
  return (await tx.query(LOCK, [projectId])).rows[0]?.uuid ?? null;
}

const INSERT = statement({
  name: "silences.insert",
  text: `insert into silences (check_ids, tag, reason, from_at, until_at, until_success, schedule, tz, duration_seconds,
      hold_after_seconds, uuid, project_id, account_id, created_at, ends_at, version)
    values ($1::bigint[], $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, ${AT_ONCE}, 1)`,
});

export type NewSilence = SilencePlan & Pick<StoredSilence, "uuid" | "projectId" | "accountId" | "createdAt">;

export async function insertSilence(tx: Tx, silence: NewSilence): Promise<void> {
  const { uuid, projectId, accountId, createdAt } = silence;
  await tx.query(INSERT, [...planValues(silence), uuid, projectId, accountId, toTimestamp(createdAt)]);
}

const WRITE = statement({
  name: "silences.write",
  text: `update silences set check_ids = $1::bigint[], tag = $2, reason = $3, from_at = $4, until_at = $5,
      until_success = $6, schedule = $7, tz = $8, duration_seconds = $9, hold_after_seconds = $10,
      ends_at = ${AT_ONCE}, version = version + 1
    where id = $11`,
});

export async function writeSilence(tx: Tx, { id, ...plan }: SilencePlan & { id: number }): Promise<void> {
  await tx.query(WRITE, [...planValues(plan), id]);
}

const END = statement({
  name: "silences.end",
  text: `update silences set ended_at = $2, ends_at = $2, version = version + 1
    where id = $1 and ended_at is null`,
});

/** Ends a silence. One that was ended before keeps its end. */
export async function endSilence(tx: Tx, { id, at }: { id: number; at: Instant }): Promise<void> {
  await tx.query(END, [id, toTimestamp(at)]);
}

const FIND = statement<SilenceRow>({
  name: "silences.find",
  text: `select ${COLUMNS} ${FROM} where s.uuid = $1 and s.project_id = $2`,
});

export type SilenceName = { projectId: number; uuid: string };

export async function findSilence(db: Db, { projectId, uuid }: SilenceName): Promise<StoredSilence | null> {
  const { rows } = await db.query(FIND, [uuid, projectId]);
  return rows[0] === undefined ? null : toSilence(rows[0]);
}

const FIND_BY_IDS = statement<SilenceRow>({
  name: "silences.find_by_ids",
  text: `select ${COLUMNS} ${FROM} where s.id = any ($1::bigint[]) order by s.id`,
});

/** These silences, by id. */
export async function findSilencesByIds(db: Db, ids: readonly number[]): Promise<StoredSilence[]> {
  return (await db.query(FIND_BY_IDS, [toNumberArray(ids)])).rows.map(toSilence);
}

/** `$now` is the parameter of the instant. */
const isEnded = ($now: string) =>
  `(coalesce(s.ended_at <= ${$now}, false) or coalesce(s.until_at <= ${$now}, false))`;

const LIST = statement<SilenceRow>({
  name: "silences.list",
  text: `select ${COLUMNS} ${FROM}
    where s.project_id = $1 and s.id < $2 and ($4::boolean is null or ${isEnded("$3::timestamptz")} = $4)
    order by s.id desc limit $5`,
});

/** Silences of a project, newest first, before the ID `beforeId`. `ended` null: all of them. */
export async function listSilences(
  db: Db,
  page: { projectId: number; beforeId: number; ended: boolean | null; now: Instant; limit: number },
): Promise<StoredSilence[]> {
  const { projectId, beforeId, ended, now, limit } = page;
  const { rows } = await db.query(LIST, [projectId, beforeId, toTimestamp(now), ended, limit]);
  return rows.map(toSilence);
}

const COUNT = statement<{ count: number }>({
  name: "silences.count",
  text: `select count(*) as count from silences s where s.project_id = $1 and not ${isEnded("$2::timestamptz")}`,
});

/** How many silences of a project have not ended. */
export async function countSilences(
  db: Db,
  { projectId, now }: { projectId: number; now: Instant },
): Promise<number> {
  return (await db.query(COUNT, [projectId, toTimestamp(now)])).rows[0]?.count ?? 0;
}

const HOLD = "s.hold_after_seconds * interval '1 second'";

const LIST_CURRENT = statement<SilenceRow>({
  name: "silences.list_current",
  text: `select ${COLUMNS} ${FROM}
    where s.project_id = any ($1::bigint[])
      and (s.ended_at is null or s.ended_at + ${HOLD} > $2) and (s.until_at is null or s.until_at + ${HOLD} > $2)
    order by s.id`,
});

/**
 * The silences of projects that could hold an alert at or after `since`, by project, oldest first. A caller that judges
 * alerts which have closed already passes the time of the first closing.
 */
export async function listCurrentSilences(
  db: Db,
  { projectIds, since }: { projectIds: readonly number[]; since: Instant },
): Promise<Map<number, StoredSilence[]>> {
  const { rows } = await db.query(LIST_CURRENT, [toNumberArray(projectIds), toTimestamp(since)]);
  return Map.groupBy(rows.map(toSilence), ({ projectId }) => projectId);
}

const FIND_CHECKS_BY_UUID = statement<NamedCheck>({
  name: "silences.find_checks_by_uuid",
  text: `select id, uuid, name from checks
    where project_id = $1 and deleted_at is null and uuid = any ($2::uuid[]) order by id`,
});

export type NamedCheck = { id: number; uuid: string; name: string };

/** Those of the named checks that belong to the project. */
export async function findChecksToSilence(
  db: Db,
  { projectId, uuids }: { projectId: number; uuids: readonly string[] },
): Promise<NamedCheck[]> {
  return (await db.query(FIND_CHECKS_BY_UUID, [projectId, toTextArray(uuids)])).rows;
}

const FIND_CHECKS_BY_ID = statement<NamedCheck>({
  name: "silences.find_checks_by_id",
  text: `select id, uuid, name from checks
    where project_id = $1 and deleted_at is null and id = any ($2::bigint[]) order by name, id`,
});

/** Those of these checks that still belong to the project, by name. */
export async function findChecksOfSilences(
  db: Db,
  { projectId, checkIds }: { projectId: number; checkIds: readonly number[] },
): Promise<NamedCheck[]> {
  return (await db.query(FIND_CHECKS_BY_ID, [projectId, toNumberArray(checkIds)])).rows;
}

const LIST_COVERED = statement<NamedCheck & { total: number }>({
  name: "silences.list_covered",
  text: `select c.id, c.uuid, c.name, (count(*) over ())::int as total from checks c
    where c.project_id = $1 and c.deleted_at is null
      and ($2::bigint[] is null or c.id = any ($2))
      and ($3::text is null or strpos(' ' || c.tags || ' ', ' ' || $3 || ' ') > 0)
    order by c.name, c.id limit $4`,
});

/** The checks of a scope, by name: the first ones, and how many there are. */
export async function listCoveredChecks(
  db: Db,
  { projectId, scope, limit }: { projectId: number; scope: SilenceScope; limit: number },
): Promise<{ checks: NamedCheck[]; total: number }> {
  const { rows } = await db.query(LIST_COVERED, [
    projectId,
    scope.kind === "checks" ? toNumberArray(scope.checkIds) : null,
    scope.kind === "tag" ? scope.tag : null,
    limit,
  ]);
  return { checks: rows.map(({ id, uuid, name }) => ({ id, uuid, name })), total: rows[0]?.total ?? 0 };
}

const RELEASE_HELD_ALERTS = statement({
  name: "silences.release_alerts",
  text: `update alerts set plan_at = to_timestamp(0)
    where planned_at is null and held_by is not null
      and check_id in (select id from checks where project_id = $1)`,
});

/** Makes the planner look again at the held alerts of a project. */
export async function releaseHeldAlerts(tx: Tx, projectId: number): Promise<void> {
  await tx.query(RELEASE_HELD_ALERTS, [projectId]);
}

// A success that breaks a rule of its check leaves it down, or takes it down.
const FIND_LAST_SUCCESSES = statement<{ at: Instant | null }>({
  name: "silences.find_last_successes",
  text: `with wanted as (
      select check_id, ${sqlInstant("before_at")} as before_at, position
      from unnest($1::bigint[], $2::bigint[]) with ordinality as w (check_id, before_at, position)
    )
    select (select max(p.at) from pings p
        where p.check_id = w.check_id and p.kind = 's' and p.at < coalesce(down.at, w.before_at)) as at
    from wanted w left join lateral (
        select max(f.at) as at from flips f
        where f.check_id = w.check_id and f.at < w.before_at and f.to_status = 'up' and f.taken_back_at is null
      ) up on true left join lateral (
        select min(f.at) as at from flips f
        where f.check_id = w.check_id and f.at < w.before_at and f.to_status = 'down' and f.taken_back_at is null
          and f.at >= coalesce(up.at, '-infinity')
      ) down on true
    order by w.position`,
});

/**
 * For each check, the last logged success before an instant that did not count as a failure; null if there is none in
 * the log. In the given order.
 */
export async function findLastSuccesses(
  db: Db,
  wanted: readonly { checkId: number; beforeAt: Instant }[],
): Promise<(Instant | null)[]> {
  if (wanted.length === 0) return [];
  const { rows } = await db.query(FIND_LAST_SUCCESSES, [
    toNumberArray(wanted.map(({ checkId }) => checkId)),
    toNumberArray(wanted.map(({ beforeAt }) => beforeAt)),
  ]);
  return rows.map(({ at }) => at);
}

const PRUNE = statement({
  name: "silences.prune",
  text: `delete from silences where id in (
      select id from silences where least(ended_at, until_at) < $1 order by id limit $2
    )`,
});

/** Deletes at most `limit` silences that ended before an instant; returns how many. */
export async function pruneSilences(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE, [toTimestamp(before), limit])).count;
}
