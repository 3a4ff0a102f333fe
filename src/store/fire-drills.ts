// Fire drills: their rows, the messages of their channels, and weekly schedules.
import type { DrillOutcome, DrillSchedule, MessageOutcome } from "../core/fire-drill.ts";
import type { Instant } from "../core/instant.ts";
import { type Db, statement } from "./db.ts";
import type { Tx } from "./transaction.ts";
import { toTextArray, toTimestamp } from "./values.ts";

export type FireDrill = {
  id: number;
  uuid: string;
  projectId: number;
  /** The project and the check of the drill; null after they were removed. */
  drillProjectId: number | null;
  checkId: number | null;
  /** The check that it simulates; null: none, or it was deleted. */
  asCheck: { id: number; uuid: string } | null;
  asName: string;
  isSent: boolean;
  isScheduled: boolean;
  /** Address of the account that started it; null: an API key did, or the account was closed. */
  email: string | null;
  notes: readonly string[];
  startedAt: Instant;
  deadlineAt: Instant;
  foundAt: Instant | null;
  writtenAt: Instant | null;
  plannedAt: Instant | null;
  heldReason: string | null;
  heldUntilAt: Instant | null;
  closedAt: Instant | null;
  endedAt: Instant | null;
  outcome: DrillOutcome | null;
};

type DrillRow = {
  id: number;
  uuid: string;
  project_id: number;
  drill_project_id: number | null;
  check_id: number | null;
  as_check_id: number | null;
  as_check_uuid: string | null;
  as_name: string;
  is_sent: boolean;
  is_scheduled: boolean;
  email: string | null;
  notes: string[];
  started_at: Instant;
  deadline_at: Instant;
  found_at: Instant | null;
  written_at: Instant | null;
  planned_at: Instant | null;
  held_reason: string | null;
  held_until_at: Instant | null;
  closed_at: Instant | null;
  ended_at: Instant | null;
  outcome: DrillOutcome | null;
};

const COLUMNS = `f.id, f.uuid, f.project_id, f.drill_project_id, f.check_id, c.id as as_check_id,
  c.uuid as as_check_uuid, f.as_name, f.is_sent, f.is_scheduled, a.email, f.notes, f.started_at, f.deadline_at,
  f.found_at, f.written_at, f.planned_at, f.held_reason, f.held_until_at, f.closed_at, f.ended_at, f.outcome`;

const FROM = `from fire_drills f left join accounts a on a.id = f.account_id
  left join checks c on c.id = f.as_check_id and c.project_id = f.project_id and c.deleted_at is null`;

function toDrill(row: DrillRow): FireDrill {
  return {
    id: row.id,
    uuid: row.uuid,
    projectId: row.project_id,
    drillProjectId: row.drill_project_id,
    checkId: row.check_id,
    asCheck:
      row.as_check_id === null || row.as_check_uuid === null
        ? null
        : { id: row.as_check_id, uuid: row.as_check_uuid },
    asName: row.as_name,
    isSent: row.is_sent,
    isScheduled: row.is_scheduled,
    email: row.email,
    notes: row.notes,
    startedAt: row.started_at,
    deadlineAt: row.deadline_at,
    foundAt: row.found_at,
    writtenAt: row.written_at,
    plannedAt: row.planned_at,
    heldReason: row.held_reason,
    heldUntilAt: row.held_until_at,
    closedAt: row.closed_at,
    endedAt: row.ended_at,
    outcome: row.outcome,
  };
}

const LOCK_PROJECT = statement<{ id: number }>({
  name: "fire_drills.lock_project",
  text: "select id from projects where id = $1 for no key update",
});

/** Serializes the start of drills of a project, until the transaction ends. False: it does not exist. */
export async function lockDrillsOfProject(tx: Tx, projectId: number): Promise<boolean> {
  return (await tx.query(LOCK_PROJECT, [projectId])).rows.length > 0;
}

// Without members: no list contains it. Its keys are unusable.
const INSERT_DRILL_PROJECT = statement<{ id: number }>({
  name: "fire_drills.insert_project",
  text: `with copied as (
      insert into projects (uuid, name, ping_key, badge_key, created_at, tz, policy, has_ack_links)
      select $2, name, null, $3, $4, tz, policy, false from projects where id = $1 returning id
    ), rules as (
      insert into tag_rules (project_id, position, tag, policy, channel_ids)
      select copied.id, t.position, t.tag, t.policy, t.channel_ids
      from copied cross join tag_rules t where t.project_id = $1
    )
    select id from copied`,
});

/** Inserts the project of a drill: a copy of the policies, without members. */
export async function insertDrillProject(
  tx: Tx,
  { projectId, uuid, badgeKey, at }: { projectId: number; uuid: string; badgeKey: string; at: Instant },
): Promise<number> {
  const [row] = (await tx.query(INSERT_DRILL_PROJECT, [projectId, uuid, badgeKey, toTimestamp(at)])).rows;
  if (row === undefined) throw new Error("the insert returned no ID");
  return row.id;
}

const DELETE_DRILL_PROJECT = statement({
  name: "fire_drills.delete_project",
  text: `with unlinked as (
      update fire_drills set drill_project_id = null, check_id = null where drill_project_id = $1
    )
    delete from projects where id = $1`,
});

/** Deletes the project of a drill, whose check is gone. */
export async function deleteDrillProject(tx: Tx, drillProjectId: number): Promise<void> {
  await tx.query(DELETE_DRILL_PROJECT, [drillProjectId]);
}

export type NewDrill = Pick<
  FireDrill,
  "uuid" | "projectId" | "asName" | "isSent" | "isScheduled" | "notes" | "startedAt" | "deadlineAt"
> & { drillProjectId: number; checkId: number; asCheckId: number | null; accountId: number | null };

const INSERT_DRILL = statement({
  name: "fire_drills.insert",
  text: `insert into fire_drills (uuid, project_id, drill_project_id, check_id, as_check_id, as_name, is_sent,
      is_scheduled, account_id, notes, started_at, deadline_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::text[], $11, $12)`,
});

export async function insertDrill(tx: Tx, drill: NewDrill): Promise<void> {
  await tx.query(INSERT_DRILL, [
    drill.uuid,
    drill.projectId,
    drill.drillProjectId,
    drill.checkId,
    drill.asCheckId,
    drill.asName,
    drill.isSent,
    drill.isScheduled,
    drill.accountId,
    toTextArray(drill.notes),
    toTimestamp(drill.startedAt),
    toTimestamp(drill.deadlineAt),
  ]);
}

const FIND_DRILL = statement<DrillRow>({
  name: "fire_drills.find",
  text: `select ${COLUMNS} ${FROM} where f.project_id = $1 and f.uuid = $2`,
});

export async function findDrill(
  db: Db,
  { projectId, uuid }: { projectId: number; uuid: string },
): Promise<FireDrill | null> {
  const [row] = (await db.query(FIND_DRILL, [projectId, uuid])).rows;
  return row === undefined ? null : toDrill(row);
}

const LIST_DRILLS = statement<DrillRow>({
  name: "fire_drills.list",
  text: `select ${COLUMNS} ${FROM} where f.project_id = $1 order by f.id desc limit $2`,
});

/** The drills of a project, newest first. */
export async function listDrills(
  db: Db,
  { projectId, limit }: { projectId: number; limit: number },
): Promise<FireDrill[]> {
  return (await db.query(LIST_DRILLS, [projectId, limit])).rows.map(toDrill);
}

const FIND_LAST_OF_SERVER = statement<DrillRow & { project_name: string; project_uuid: string }>({
  name: "fire_drills.find_last",
  text: `select ${COLUMNS}, p.name as project_name, p.uuid as project_uuid ${FROM} join projects p on p.id = f.project_id
    where f.ended_at is not null order by f.id desc limit 1`,
});

/** The newest drill of the server that has ended, with its project. */
export async function findLastDrill(
  db: Db,
): Promise<(FireDrill & { projectName: string; projectUuid: string }) | null> {
  const [row] = (await db.query(FIND_LAST_OF_SERVER, [])).rows;
  if (row === undefined) return null;
  return { ...toDrill(row), projectName: row.project_name, projectUuid: row.project_uuid };
}

const TRIM_DRILLS = statement({
  name: "fire_drills.trim",
  text: `delete from fire_drills where check_id is null and ended_at is not null and id in (
      select id from fire_drills where project_id = $1 order by id desc offset $2
    )`,
});

/** Deletes the oldest results of a project beyond a number. */
export async function trimDrills(
  tx: Tx,
  { projectId, kept }: { projectId: number; kept: number },
): Promise<void> {
  await tx.query(TRIM_DRILLS, [projectId, kept]);
}

/** A drill by its check: what the notifier needs to know. */
export type DrillOfCheck = {
  checkId: number;
  drillId: number;
  projectId: number;
  projectUuid: string;
  asCheckId: number | null;
  isSent: boolean;
  startedAt: Instant;
};

const FIND_DRILLS_OF_CHECKS = statement<{
  check_id: number;
  id: number;
  project_id: number;
  project_uuid: string;
  as_check_id: number | null;
  is_sent: boolean;
  started_at: Instant;
}>({
  name: "fire_drills.find_of_checks",
  text: `select f.check_id, f.id, f.project_id, p.uuid as project_uuid, f.as_check_id, f.is_sent, f.started_at
    from fire_drills f join projects p on p.id = f.project_id where f.check_id = any ($1::bigint[])`,
});

export async function findDrillsOfChecks(db: Db, checkIds: readonly number[]): Promise<DrillOfCheck[]> {
  return (await db.query(FIND_DRILLS_OF_CHECKS, [checkIds])).rows.map((row) => ({
    checkId: row.check_id,
    drillId: row.id,
    projectId: row.project_id,
    projectUuid: row.project_uuid,
    asCheckId: row.as_check_id,
    isSent: row.is_sent,
    startedAt: row.started_at,
  }));
}

const HAS_WORK = statement<{ has: boolean }>({
  name: "fire_drills.has_work",
  text: `select exists (select from fire_drills where check_id is not null)
    or exists (select from fire_drill_schedules where next_at <= $1) as has`,
});

/** Whether a drill runs, or a weekly one is due. */
export async function hasDrillWork(db: Db, now: Instant): Promise<boolean> {
  return (await db.query(HAS_WORK, [toTimestamp(now)])).rows[0]?.has ?? false;
}

const LOCK_NEXT_DRILL = statement<{ id: number }>({
  name: "fire_drills.lock_next",
  text: `select id from fire_drills where check_id is not null and id > $1 order by id limit 1
    for update skip locked`,
});

const FIND_DRILL_BY_ID = statement<DrillRow>({
  name: "fire_drills.find_by_id",
  text: `select ${COLUMNS} ${FROM} where f.id = $1`,
});

/** Locks the next drill that has not been removed, unless another process has locked it. */
export async function lockNextDrill(tx: Tx, afterId: number): Promise<FireDrill | null> {
  const [locked] = (await tx.query(LOCK_NEXT_DRILL, [afterId])).rows;
  if (locked === undefined) return null;
  const [row] = (await tx.query(FIND_DRILL_BY_ID, [locked.id])).rows;
  return row === undefined ? null : toDrill(row);
}

/** The alert of a drill. */
export type DrillAlert = {
  openedFlipId: number;
  closedFlipId: number | null;
  foundAt: Instant | null;
  writtenAt: Instant | null;
  plannedAt: Instant | null;
  heldUntilAt: Instant | null;
  heldBy: string | null;
  silenceReason: string | null;
};

type AlertRow = {
  opened_flip_id: number;
  closed_flip_id: number | null;
  found_at: Instant | null;
  written_at: Instant | null;
  planned_at: Instant | null;
  plan_at: Instant;
  held_by: string | null;
  silence_reason: string | null;
};

// Locked, so that the planner does not plan it while the drill ends.
const LOCK_ALERT = statement<AlertRow>({
  name: "fire_drills.lock_alert",
  text: `select a.opened_flip_id, a.closed_flip_id, a.found_at, a.written_at, a.planned_at, a.plan_at, a.held_by,
      (select s.reason from silences s where s.id = a.silence_id) as silence_reason
    from alerts a where a.check_id = $1 order by a.id desc limit 1 for update of a`,
});

/** Locks the alert of the check of a drill. */
export async function lockDrillAlert(tx: Tx, checkId: number): Promise<DrillAlert | null> {
  const [row] = (await tx.query(LOCK_ALERT, [checkId])).rows;
  if (row === undefined) return null;
  const isHeld = row.held_by !== null && row.planned_at === null;
  return {
    openedFlipId: row.opened_flip_id,
    closedFlipId: row.closed_flip_id,
    foundAt: row.found_at,
    writtenAt: row.written_at,
    plannedAt: row.planned_at,
    heldUntilAt: isHeld ? row.plan_at : null,
    heldBy: isHeld ? row.held_by : null,
    silenceReason: row.silence_reason,
  };
}

export type DrillDeliveryRow = { flipId: number; state: string; attemptCount: number; createdAt: Instant };

const LIST_DRILL_DELIVERIES = statement<{
  flip_id: number;
  state: string;
  attempt_count: number;
  created_at: Instant;
}>({
  name: "fire_drills.list_deliveries",
  text: `select d.flip_id, d.state, d.attempt_count, d.created_at
    from flips f join deliveries d on d.flip_id = f.id where f.check_id = $1 order by d.id`,
});

/** The messages of a drill. */
export async function listDrillDeliveries(db: Db, checkId: number): Promise<DrillDeliveryRow[]> {
  return (await db.query(LIST_DRILL_DELIVERIES, [checkId])).rows.map((row) => ({
    flipId: row.flip_id,
    state: row.state,
    attemptCount: row.attempt_count,
    createdAt: row.created_at,
  }));
}

export type DrillProgress = Pick<
  FireDrill,
  "foundAt" | "writtenAt" | "plannedAt" | "heldReason" | "heldUntilAt" | "closedAt" | "endedAt" | "outcome"
>;

const WRITE_PROGRESS = statement({
  name: "fire_drills.write_progress",
  text: `update fire_drills set found_at = $2, written_at = $3, planned_at = $4, held_reason = $5, held_until_at = $6,
      closed_at = $7, ended_at = $8, outcome = $9
    where id = $1`,
});

export async function writeDrillProgress(
  tx: Tx,
  { drillId, ...progress }: DrillProgress & { drillId: number },
): Promise<void> {
  await tx.query(WRITE_PROGRESS, [
    drillId,
    toTimestamp(progress.foundAt),
    toTimestamp(progress.writtenAt),
    toTimestamp(progress.plannedAt),
    progress.heldReason,
    toTimestamp(progress.heldUntilAt),
    toTimestamp(progress.closedAt),
    toTimestamp(progress.endedAt),
    progress.outcome,
  ]);
}

const END_OVERDUE_DRILLS = statement({
  name: "fire_drills.end_overdue",
  text: `update fire_drills set ended_at = $3, outcome = 'timedOut'
    where project_id = $1 and ended_at is null and started_at < $2`,
});

/** Ends drills of a project that no notifier has ended. */
export async function endOverdueDrills(
  tx: Tx,
  { projectId, startedBefore, at }: { projectId: number; startedBefore: Instant; at: Instant },
): Promise<void> {
  await tx.query(END_OVERDUE_DRILLS, [projectId, toTimestamp(startedBefore), toTimestamp(at)]);
}

/** A request as it was, or would have been, sent; without secrets. */
export type DrillRequest = { method: string; url: string; body: string };

/** What a channel got in a drill, or why not. */
export type DrillMessage = {
  drillId: number;
  channel: { id: number; uuid: string; kind: string; name: string };
  claimedAt: Instant | null;
  renderedAt: Instant | null;
  answeredAt: Instant | null;
  outcome: MessageOutcome;
  reason: string | null;
  code: number | null;
  title: string | null;
  body: string | null;
  requests: readonly DrillRequest[];
};

// A later attempt replaces an earlier one. The first claim counts, and what was rendered is kept.
const WRITE_MESSAGE = statement({
  name: "fire_drill_messages.write",
  text: `insert into fire_drill_messages as m (drill_id, channel_id, channel_uuid, channel_kind, channel_name,
      claimed_at, rendered_at, answered_at, outcome, reason, code, title, body, requests)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14::jsonb)
    on conflict (drill_id, channel_id) do update set claimed_at = coalesce(m.claimed_at, excluded.claimed_at),
      rendered_at = coalesce(excluded.rendered_at, m.rendered_at),
      answered_at = excluded.answered_at, outcome = excluded.outcome, reason = excluded.reason, code = excluded.code,
      title = coalesce(excluded.title, m.title), body = coalesce(excluded.body, m.body),
      requests = coalesce(excluded.requests, m.requests)`,
});

export async function writeDrillMessage(tx: Tx, message: DrillMessage): Promise<void> {
  const { channel } = message;
  await tx.query(WRITE_MESSAGE, [
    message.drillId,
    channel.id,
    channel.uuid,
    channel.kind,
    channel.name,
    toTimestamp(message.claimedAt),
    toTimestamp(message.renderedAt),
    toTimestamp(message.answeredAt),
    message.outcome,
    message.reason,
    message.code,
    message.title,
    message.body,
    message.requests.length === 0 ? null : JSON.stringify(message.requests),
  ]);
}

const WRITE_CLOSING = statement({
  name: "fire_drill_messages.write_closing",
  text: `update fire_drill_messages set closed_at = $3, close_outcome = $4, close_reason = $5
    where drill_id = $1 and channel_id = $2`,
});

/** The message that closes the problem again. */
export async function writeDrillClosing(
  tx: Tx,
  closing: {
    drillId: number;
    channelId: number;
    at: Instant;
    outcome: MessageOutcome;
    reason: string | null;
  },
): Promise<void> {
  await tx.query(WRITE_CLOSING, [
    closing.drillId,
    closing.channelId,
    toTimestamp(closing.at),
    closing.outcome,
    closing.reason,
  ]);
}

export type StoredDrillMessage = Omit<DrillMessage, "drillId"> & {
  closing: { at: Instant; outcome: MessageOutcome; reason: string | null } | null;
};

type MessageRow = {
  drill_id: number;
  channel_id: number;
  channel_uuid: string;
  channel_kind: string;
  channel_name: string;
  claimed_at: Instant | null;
  rendered_at: Instant | null;
  answered_at: Instant | null;
  outcome: MessageOutcome;
  reason: string | null;
  code: number | null;
  title: string | null;
  body: string | null;
  requests: DrillRequest[] | null;
  closed_at: Instant | null;
  close_outcome: MessageOutcome | null;
  close_reason: string | null;
};

const LIST_MESSAGES = statement<MessageRow>({
  name: "fire_drill_messages.list",
  text: `select drill_id, channel_id, channel_uuid, channel_kind, channel_name, claimed_at, rendered_at, answered_at,
      outcome, reason, code, title, body, requests, closed_at, close_outcome, close_reason
    from fire_drill_messages where drill_id = any ($1::bigint[]) order by drill_id, channel_id`,
});

/** The messages of drills, by the ids of the drills. */
export async function listDrillMessages(
  db: Db,
  drillIds: readonly number[],
): Promise<Map<number, StoredDrillMessage[]>> {
  const { rows } = await db.query(LIST_MESSAGES, [drillIds]);
  const byDrill = Map.groupBy(rows, (row) => row.drill_id);
  return new Map([...byDrill].map(([drillId, some]) => [drillId, some.map(toMessage)]));
}

function toMessage(row: MessageRow): StoredDrillMessage {
  return {
    channel: { id: row.channel_id, uuid: row.channel_uuid, kind: row.channel_kind, name: row.channel_name },
    claimedAt: row.claimed_at,
    renderedAt: row.rendered_at,
    answeredAt: row.answered_at,
    outcome: row.outcome,
    reason: row.reason,
    code: row.code,
    title: row.title,
    body: row.body,
    requests: row.requests ?? [],
    closing:
      row.closed_at === null || row.close_outcome === null
        ? null
        : { at: row.closed_at, outcome: row.close_outcome, reason: row.close_reason },
  };
}

export type StoredDrillSchedule = DrillSchedule & {
  projectId: number;
  asCheckId: number | null;
  asCheck: { uuid: string; name: string } | null;
  isSent: boolean;
  accountId: number | null;
  nextAt: Instant;
};

type ScheduleRow = {
  project_id: number;
  weekday: number;
  minute: number;
  tz: string;
  as_check_id: number | null;
  as_check_uuid: string | null;
  as_check_name: string | null;
  is_sent: boolean;
  account_id: number | null;
  next_at: Instant;
};

const SCHEDULE_COLUMNS = `w.project_id, w.weekday, w.minute, w.tz, w.as_check_id, w.is_sent, w.account_id, w.next_at,
  (select c.uuid from checks c where c.id = w.as_check_id and c.project_id = w.project_id and c.deleted_at is null)
    as as_check_uuid,
  (select c.name from checks c where c.id = w.as_check_id) as as_check_name`;

function toSchedule(row: ScheduleRow): StoredDrillSchedule {
  return {
    projectId: row.project_id,
    weekday: row.weekday,
    minute: row.minute,
    tz: row.tz,
    asCheckId: row.as_check_id,
    asCheck: row.as_check_uuid === null ? null : { uuid: row.as_check_uuid, name: row.as_check_name ?? "" },
    isSent: row.is_sent,
    accountId: row.account_id,
    nextAt: row.next_at,
  };
}

const FIND_SCHEDULE = statement<ScheduleRow>({
  name: "fire_drill_schedules.find",
  text: `select ${SCHEDULE_COLUMNS} from fire_drill_schedules w where w.project_id = $1`,
});

/** The weekly drill of a project; null: there is none. */
export async function findDrillSchedule(db: Db, projectId: number): Promise<StoredDrillSchedule | null> {
  const [row] = (await db.query(FIND_SCHEDULE, [projectId])).rows;
  return row === undefined ? null : toSchedule(row);
}

const WRITE_SCHEDULE = statement({
  name: "fire_drill_schedules.write",
  text: `insert into fire_drill_schedules (project_id, weekday, minute, tz, as_check_id, is_sent, account_id, next_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8)
    on conflict (project_id) do update set weekday = excluded.weekday, minute = excluded.minute, tz = excluded.tz,
      as_check_id = excluded.as_check_id, is_sent = excluded.is_sent, account_id = excluded.account_id,
      next_at = excluded.next_at`,
});

export async function writeDrillSchedule(
  tx: Tx,
  schedule: Omit<StoredDrillSchedule, "asCheck">,
): Promise<void> {
  await tx.query(WRITE_SCHEDULE, [
    schedule.projectId,
    schedule.weekday,
    schedule.minute,
    schedule.tz,
    schedule.asCheckId,
    schedule.isSent,
    schedule.accountId,
    toTimestamp(schedule.nextAt),
  ]);
}

const DELETE_SCHEDULE = statement({
  name: "fire_drill_schedules.delete",
  text: "delete from fire_drill_schedules where project_id = $1",
});

export async function deleteDrillSchedule(tx: Tx, projectId: number): Promise<void> {
  await tx.query(DELETE_SCHEDULE, [projectId]);
}

const LOCK_DUE_SCHEDULE = statement<ScheduleRow>({
  name: "fire_drill_schedules.lock_due",
  text: `select ${SCHEDULE_COLUMNS} from fire_drill_schedules w where w.next_at <= $1
    order by w.next_at limit 1 for update of w skip locked`,
});

/** Locks a weekly drill that is due. */
export async function lockDueSchedule(tx: Tx, now: Instant): Promise<StoredDrillSchedule | null> {
  const [row] = (await tx.query(LOCK_DUE_SCHEDULE, [toTimestamp(now)])).rows;
  return row === undefined ? null : toSchedule(row);
}

const FIND_AS_CHECK = statement<{ id: number; name: string }>({
  name: "fire_drills.find_as_check",
  text: "select id, name from checks where project_id = $1 and uuid = $2 and deleted_at is null",
});

/** The check of a project that a drill simulates. */
export async function findAsCheck(
  db: Db,
  { projectId, uuid }: { projectId: number; uuid: string },
): Promise<{ id: number; name: string } | null> {
  return (await db.query(FIND_AS_CHECK, [projectId, uuid])).rows[0] ?? null;
}
