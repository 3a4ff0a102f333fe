// Settings of checks: stored, found by what names them, changed field by field, and deleted in two ways.
// Running states are in check-states.ts, searches in check-search.ts; what a request means is core's.
import type { CheckSettings } from "../../core/check.ts";
import { uniqueKey } from "../../core/identity.ts";
import type { Instant } from "../../core/instant.ts";
import { sha1Hex } from "../../lib/secrets/hashes.ts";
import { STATE_COLUMNS, type StateRow, type StoredState, toStoredState } from "./check-states.ts";
import { type Db, statement } from "../db.ts";
import type { Tx } from "../transaction.ts";
import { toNumberArray, toTextArray, toTimestamp } from "../values.ts";

export type Check = {
  id: number;
  uuid: string;
  badgeUuid: string;
  projectId: number;
  settings: CheckSettings;
  createdAt: Instant;
  updatedAt: Instant;
};

/** A check and its running state, read in one statement and without a lock: for showing, not for changing. */
export type CheckWithState = Check & Omit<StoredState, "checkId">;

export type CheckRow = {
  id: number;
  uuid: string;
  badge_uuid: string;
  project_id: number;
  name: string;
  slug: string;
  tags: string;
  description: string;
  kind: CheckSettings["kind"];
  timeout_seconds: number;
  grace_seconds: number;
  schedule: string;
  tz: string;
  manual_resume: boolean;
  methods: CheckSettings["methods"];
  start_kw: string;
  success_kw: string;
  failure_kw: string;
  filter_subject: boolean;
  filter_body: boolean;
  filter_http_body: boolean;
  filter_default_fail: boolean;
  created_at: Instant;
  updated_at: Instant;
};

/** The columns of a check, for the statements that search for one. */
export const CHECK_COLUMNS = `c.id, c.uuid, c.badge_uuid, c.project_id, c.name, c.slug, c.tags, c.description, c.kind,
  c.timeout_seconds, c.grace_seconds, c.schedule, c.tz, c.manual_resume, c.methods, c.start_kw, c.success_kw,
  c.failure_kw, c.filter_subject, c.filter_body, c.filter_http_body, c.filter_default_fail, c.created_at,
  c.updated_at`;

/** The beginning of a statement that reads checks with their states. */
export const SELECT_WITH_STATE = `select ${CHECK_COLUMNS}, ${STATE_COLUMNS}
  from checks c join check_states s on s.check_id = c.id`;

function toCheck(row: CheckRow): Check {
  return {
    id: row.id,
    uuid: row.uuid,
    badgeUuid: row.badge_uuid,
    projectId: row.project_id,
    settings: {
      name: row.name,
      slug: row.slug,
      tags: row.tags,
      desc: row.description,
      kind: row.kind,
      timeoutSeconds: row.timeout_seconds,
      graceSeconds: row.grace_seconds,
      schedule: row.schedule,
      tz: row.tz,
      manualResume: row.manual_resume,
      methods: row.methods,
      startKw: row.start_kw,
      successKw: row.success_kw,
      failureKw: row.failure_kw,
      filterSubject: row.filter_subject,
      filterBody: row.filter_body,
      filterHttpBody: row.filter_http_body,
      filterDefaultFail: row.filter_default_fail,
    },
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/** A row of a check and its state as a domain value. */
export function toCheckWithState(row: CheckRow & StateRow): CheckWithState {
  const { checkId: _, ...state } = toStoredState(row);
  return { ...toCheck(row), ...state };
}

/** In the order of the parameters of `insert` and `update`; an absent field is null there. */
function settingValues(settings: Partial<CheckSettings>): unknown[] {
  const { name, slug, tags, desc, kind, timeoutSeconds, graceSeconds, schedule, tz, manualResume } = settings;
  const { methods, startKw, successKw, failureKw } = settings;
  const { filterSubject, filterBody, filterHttpBody, filterDefaultFail } = settings;
  const timing = [kind, timeoutSeconds, graceSeconds, schedule, tz, manualResume, methods];
  const filters = [
    startKw,
    successKw,
    failureKw,
    filterSubject,
    filterBody,
    filterHttpBody,
    filterDefaultFail,
  ];
  return [name, slug, tags, desc, ...timing, ...filters].map((value) => value ?? null);
}

const INSERT = statement<{ id: number }>({
  name: "checks.insert",
  text: `insert into checks (uuid, badge_uuid, project_id, created_at, updated_at, unique_key, name, slug, tags,
      description, kind, timeout_seconds, grace_seconds, schedule, tz, manual_resume, methods, start_kw,
      success_kw, failure_kw, filter_subject, filter_body, filter_http_body, filter_default_fail)
    values ($1, $2, $3, $4, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
      $21, $22, $23)
    returning id`,
});

export type NewCheck = Omit<Check, "id" | "updatedAt">;

/** Adds a check and returns its id. It has no state yet: `insertState` belongs into the same transaction. */
export async function insertCheck(tx: Tx, check: NewCheck): Promise<number> {
  const { rows } = await tx.query(INSERT, [
    check.uuid,
    check.badgeUuid,
    check.projectId,
    toTimestamp(check.createdAt),
    uniqueKey(check.uuid, sha1Hex),
    ...settingValues(check.settings),
  ]);
  const [row] = rows;
  if (row === undefined) throw new Error("an insert that must return an id returned none");
  return row.id;
}

const UPDATE = statement<CheckRow>({
  name: "checks.update",
  text: `update checks c set
      name = coalesce($3, name), slug = coalesce($4, slug), tags = coalesce($5, tags),
      description = coalesce($6, description), kind = coalesce($7, kind),
      timeout_seconds = coalesce($8, timeout_seconds), grace_seconds = coalesce($9, grace_seconds),
      schedule = coalesce($10, schedule), tz = coalesce($11, tz),
      manual_resume = coalesce($12, manual_resume), methods = coalesce($13, methods),
      start_kw = coalesce($14, start_kw), success_kw = coalesce($15, success_kw),
      failure_kw = coalesce($16, failure_kw), filter_subject = coalesce($17, filter_subject),
      filter_body = coalesce($18, filter_body), filter_http_body = coalesce($19, filter_http_body),
      filter_default_fail = coalesce($20, filter_default_fail), updated_at = $2
    where id = $1 and deleted_at is null
    returning ${CHECK_COLUMNS}`,
});

/** Writes the given fields and no others, so that two people's edits do not undo each other. */
export async function updateCheck(
  tx: Tx,
  change: { checkId: number; patch: Partial<CheckSettings>; at: Instant },
): Promise<Check | null> {
  const { rows } = await tx.query(UPDATE, [
    change.checkId,
    toTimestamp(change.at),
    ...settingValues(change.patch),
  ]);
  return rows[0] === undefined ? null : toCheck(rows[0]);
}

const UPDATE_SCHEDULES = statement({
  name: "checks.update_schedules",
  text: `update checks c set kind = n.kind, timeout_seconds = n.timeout_seconds, grace_seconds = n.grace_seconds,
      schedule = n.schedule, tz = n.tz, updated_at = $1
    from unnest($2::bigint[], $3::text[], $4::int[], $5::int[], $6::text[], $7::text[])
      as n (id, kind, timeout_seconds, grace_seconds, schedule, tz)
    where c.id = n.id and c.deleted_at is null`,
});

/** When each of these checks expects signals from now on. Returns how many were there to be changed. */
export async function updateSchedules(
  tx: Tx,
  { changes, at }: { changes: readonly { checkId: number; settings: CheckSettings }[]; at: Instant },
): Promise<number> {
  const { count } = await tx.query(UPDATE_SCHEDULES, [
    toTimestamp(at),
    toNumberArray(changes.map(({ checkId }) => checkId)),
    toTextArray(changes.map(({ settings }) => settings.kind)),
    toNumberArray(changes.map(({ settings }) => settings.timeoutSeconds)),
    toNumberArray(changes.map(({ settings }) => settings.graceSeconds)),
    toTextArray(changes.map(({ settings }) => settings.schedule)),
    toTextArray(changes.map(({ settings }) => settings.tz)),
  ]);
  return count;
}

const FIND_BY_UUID = statement<CheckRow & StateRow>({
  name: "checks.find_by_uuid",
  text: `${SELECT_WITH_STATE} where c.uuid = $1 and c.deleted_at is null`,
});

/** The check with this UUID, in whatever project. */
export async function findCheckByUuid(db: Db, uuid: string): Promise<CheckWithState | null> {
  const { rows } = await db.query(FIND_BY_UUID, [uuid]);
  return rows[0] === undefined ? null : toCheckWithState(rows[0]);
}

const FIND_BY_BADGE_UUID = statement<CheckRow & StateRow>({
  name: "checks.find_by_badge_uuid",
  text: `${SELECT_WITH_STATE} where c.badge_uuid = $1 and c.deleted_at is null`,
});

/** The check that a badge address names. */
export async function findCheckByBadgeUuid(db: Db, badgeUuid: string): Promise<CheckWithState | null> {
  const { rows } = await db.query(FIND_BY_BADGE_UUID, [badgeUuid]);
  return rows[0] === undefined ? null : toCheckWithState(rows[0]);
}

const FIND_BY_IDS = statement<CheckRow>({
  name: "checks.find_by_ids",
  text: `select ${CHECK_COLUMNS} from checks c where c.id = any ($1::bigint[]) and c.deleted_at is null`,
});

/** The settings of these checks as they are now; deleted ones are left out. In no particular order. */
export async function findChecksByIds(db: Db, checkIds: readonly number[]): Promise<Check[]> {
  return (await db.query(FIND_BY_IDS, [checkIds])).rows.map(toCheck);
}

/** What lists of events show of a check. */
export type NamedCheck = { id: number; uuid: string; name: string; tz: string };

const FIND_NAMES = statement<NamedCheck>({
  name: "checks.find_names",
  text: "select id, uuid, name, tz from checks where id = any ($1::bigint[]) and deleted_at is null",
});

/** The names of these checks, without what may be long; deleted ones are left out. In no particular order. */
export async function findCheckNames(db: Db, checkIds: readonly number[]): Promise<NamedCheck[]> {
  return (await db.query(FIND_NAMES, [checkIds])).rows;
}

const LOCK_CREATION = statement({
  name: "checks.lock_creation",
  text: "select pg_advisory_xact_lock(hashtextextended($1, 0))",
});

/** Lets only one transaction at a time create the check that `what` names in a project. Held until its end. */
export async function lockCreation(
  tx: Tx,
  { projectId, what }: { projectId: number; what: string },
): Promise<void> {
  await tx.query(LOCK_CREATION, [`checks:${projectId}:${what}`]);
}

const MARK_DELETED = statement({
  name: "checks.mark_deleted",
  text: "update checks set deleted_at = $2 where id = $1 and deleted_at is null",
});

/** Hides a check from everyone. False: there is none, or it was marked before. */
export async function markCheckDeleted(
  tx: Tx,
  { checkId, at }: { checkId: number; at: Instant },
): Promise<boolean> {
  return (await tx.query(MARK_DELETED, [checkId, toTimestamp(at)])).count === 1;
}

const RESTORE = statement({
  name: "checks.restore",
  text: "update checks set deleted_at = null where id = $1 and deleted_at is not null",
});

/** Takes the mark back. False: the check is not marked, or is gone for good. */
export async function restoreCheck(tx: Tx, checkId: number): Promise<boolean> {
  return (await tx.query(RESTORE, [checkId])).count === 1;
}

const MOVE = statement({
  name: "checks.move",
  text: "update checks set project_id = $2, updated_at = $3 where id = $1 and deleted_at is null",
});

/** Puts a check into another project. False: there is none, or it is marked as deleted. */
export async function moveCheck(
  tx: Tx,
  { checkId, projectId, at }: { checkId: number; projectId: number; at: Instant },
): Promise<boolean> {
  return (await tx.query(MOVE, [checkId, projectId, toTimestamp(at)])).count === 1;
}

const DELETE = statement({ name: "checks.delete", text: "delete from checks where id = $1" });

/**
 * Removes a check for good, its state and its channel assignments with it. The caller holds the lock on the
 * state: every writer takes that one first. False: it was gone already.
 */
export async function deleteCheck(tx: Tx, checkId: number): Promise<boolean> {
  return (await tx.query(DELETE, [checkId])).count === 1;
}

const LOCK_OWNED = statement({
  name: "checks.lock_owned",
  text: "select pg_advisory_xact_lock(hashtextextended($1, 0))",
});

/** Lets only one transaction at a time add to the checks that an account owns. Held until its end. */
export async function lockOwnedChecks(tx: Tx, accountId: number): Promise<void> {
  await tx.query(LOCK_OWNED, [`checks of account:${accountId}`]);
}
