// Alerts: confirmed problems of checks, written in the transaction of the state. The planner claims those that are
// not planned and creates their notifications.
import type { AlertCause, AlertChange, CloseCause } from "../core/alert.ts";
import type { Instant } from "../core/instant.ts";
import type { HoldRule } from "../core/plan.ts";
import { type Db, statement } from "./db.ts";
import type { Tx } from "./transaction.ts";
import { AT_ONCE, sqlInstant, toNumberArray, toTextArray, toTimestamp } from "./values.ts";

/** A change of an alert with the id of its flip; null: the newest flip of the check counts. */
export type WrittenChange = { checkId: number; change: AlertChange; flipId: number | null };

type Opening = {
  checkId: number;
  cause: AlertCause;
  openedAt: Instant;
  flipId: number | null;
  closing: Closing | null;
};
type Closing = { checkId: number; at: Instant; cause: CloseCause; flipId: number | null };

/** When the sweeper found missed deadlines, and when it writes the alerts. */
export type SweptTimes = { foundAt: Instant; writtenAt: Instant };

/**
 * Writes changes of alerts, in order. The states of the checks are locked by this transaction. An alert that opens
 * and closes in one transaction is inserted closed.
 */
export async function writeAlerts(
  tx: Tx,
  changes: readonly WrittenChange[],
  swept: SweptTimes | null = null,
): Promise<void> {
  const closings: Closing[] = [];
  const openings: Opening[] = [];
  const newest = new Map<number, Opening>();
  for (const { checkId, change, flipId } of changes) {
    if (change.kind === "opened") {
      const opening = { checkId, cause: change.cause, openedAt: change.at, flipId, closing: null };
      openings.push(opening);
      newest.set(checkId, opening);
    } else {
      const closing = { checkId, at: change.at, cause: change.cause, flipId };
      const opening = newest.get(checkId);
      if (opening === undefined) closings.push(closing);
      else opening.closing = closing;
    }
  }
  if (closings.length > 0) await closeAlerts(tx, closings);
  if (openings.length > 0) await openAlerts(tx, openings, swept);
}

/** The flip of a recovery: if it took several successes, that of the first one. */
function recoveryFlip({ cause, flipId, at }: { cause: string; flipId: string; at: string }): string {
  return `case when ${cause} = 'recovered' then coalesce(${flipId}, (
        select id from flips
        where check_id = n.check_id and to_status = 'up' and taken_back_at is null and at <= ${sqlInstant(at)}
        order by at desc, id desc limit 1
      )) else ${flipId} end`;
}

// A process of the previous release opens no alert, but has planned the deliveries of its flip. The closing is then
// inserted as a whole alert that was notified. Its flip may have been deleted by age.
const CLOSE_ALERTS = statement({
  name: "alerts.close",
  text: `with n as (
      select n.check_id, ${sqlInstant("n.at")} as at, n.cause,
        ${recoveryFlip({ cause: "n.cause", flipId: "n.flip_id", at: "n.at" })} as flip_id
      from unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[]) as n (check_id, at, cause, flip_id)
    ), closed as (
      update alerts a set closed_at = n.at, close_cause = n.cause, closed_flip_id = n.flip_id,
        planned_at = null, plan_at = ${AT_ONCE}
      from n where a.check_id = n.check_id and a.closed_at is null
      returning a.check_id
    )
    insert into alerts (check_id, cause, opened_at, opened_flip_id, closed_at, close_cause, closed_flip_id, notified_at,
      plan_at)
    select n.check_id, case when f.reason = 'fail' then 'failed' else 'missed' end, coalesce(f.at, n.at),
      coalesce(f.id, 0), n.at, n.cause, n.flip_id, coalesce(f.at, n.at), ${AT_ONCE}
    from n left join lateral (
      select id, at, reason from flips
      where check_id = n.check_id and to_status = 'down' and (n.cause = 'takenBack' or taken_back_at is null)
        and id <= n.flip_id
      order by at desc, id desc limit 1
    ) as f on true
    where (n.cause = 'recovered' or (n.cause = 'takenBack' and f.id is not null))
      and n.check_id not in (select check_id from closed)`,
});

async function closeAlerts(tx: Tx, closings: readonly Closing[]): Promise<void> {
  await tx.query(CLOSE_ALERTS, [
    toNumberArray(closings.map(({ checkId }) => checkId)),
    toNumberArray(closings.map(({ at }) => at)),
    toTextArray(closings.map(({ cause }) => cause)),
    toNumberArray(closings.map(({ flipId }) => flipId)),
  ]);
}

// Left open by a process of the previous release, which has planned the deliveries of its flips, or paused the check.
const CLOSE_STALE_ALERTS = statement({
  name: "alerts.close_stale",
  text: `update alerts a set closed_at = coalesce(f.at, ${sqlInstant("n.at")}), closed_flip_id = f.id,
      close_cause = case when f.id is null then 'paused' else 'recovered' end, planned_at = null, plan_at = ${AT_ONCE}
    from unnest($1::bigint[], $2::bigint[]) as n (check_id, at)
      join alerts o on o.check_id = n.check_id and o.closed_at is null
      left join lateral (
        select id, at from flips where check_id = o.check_id and to_status = 'up' and id > o.opened_flip_id
        order by id limit 1
      ) as f on true
    where a.id = o.id`,
});

const OPEN_ALERTS = statement({
  name: "alerts.open",
  text: `insert into alerts (check_id, cause, opened_at, opened_flip_id, closed_at, close_cause, closed_flip_id, plan_at,
      found_at, written_at)
    select n.check_id, n.cause, ${sqlInstant("n.opened_at")}, coalesce(n.flip_id, (
        select id from flips
        where check_id = n.check_id and to_status = 'down' and taken_back_at is null
        order by at <= ${sqlInstant("n.opened_at")} desc, at desc, id desc limit 1
      ), 0), ${sqlInstant("n.closed_at")}, n.close_cause,
      ${recoveryFlip({ cause: "n.close_cause", flipId: "n.closed_flip_id", at: "n.closed_at" })}, ${AT_ONCE},
      $8::timestamptz, $9::timestamptz
    from unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[])
      with ordinality as n (check_id, cause, opened_at, flip_id, closed_at, close_cause, closed_flip_id, position)
    order by n.position`,
});

async function openAlerts(tx: Tx, openings: readonly Opening[], swept: SweptTimes | null): Promise<void> {
  const checkIds = toNumberArray(openings.map(({ checkId }) => checkId));
  const openedAt = toNumberArray(openings.map((opening) => opening.openedAt));
  await Promise.all([
    tx.query(CLOSE_STALE_ALERTS, [checkIds, openedAt]),
    tx.query(OPEN_ALERTS, [
      checkIds,
      toTextArray(openings.map(({ cause }) => cause)),
      openedAt,
      toNumberArray(openings.map(({ flipId }) => flipId)),
      toNumberArray(openings.map(({ closing }) => closing?.at ?? null)),
      toTextArray(openings.map(({ closing }) => closing?.cause ?? null)),
      toNumberArray(openings.map(({ closing }) => closing?.flipId ?? null)),
      toTimestamp(swept?.foundAt ?? null),
      toTimestamp(swept?.writtenAt ?? null),
    ]),
  ]);
}

/** An arbitrary number that no other advisory lock in the database uses. */
const PLANNER_LOCK = 7_305_022;

const LOCK_PLANNER = statement<{ taken: boolean }>({
  name: "alerts.lock_planner",
  text: `select pg_try_advisory_xact_lock(${PLANNER_LOCK}) as taken`,
});

/** One planner at a time, so that incidents are created once. False: another one is planning. */
export async function lockPlanner(tx: Tx): Promise<boolean> {
  return (await tx.query(LOCK_PLANNER, [])).rows[0]?.taken ?? false;
}

const HAS_UNPLANNED = statement<{ has: boolean }>({
  name: "alerts.has_unplanned",
  text: "select exists (select from alerts where planned_at is null and plan_at <= $1) as has",
});

/** Whether alerts are due to be planned. */
export async function hasUnplannedAlerts(db: Db, now: Instant): Promise<boolean> {
  return (await db.query(HAS_UNPLANNED, [toTimestamp(now)])).rows[0]?.has ?? false;
}

/** An alert whose opening or closing has to be planned. */
export type UnplannedAlert = {
  id: number;
  checkId: number;
  /** Null: the check no longer exists. */
  check: { projectId: number; tags: string; isDeleted: boolean } | null;
  incidentId: number | null;
  cause: AlertCause;
  openedAt: Instant;
  openedFlipId: number;
  closed: { at: Instant; cause: CloseCause; flipId: number | null } | null;
  /** When notifications about the opening were planned. */
  notifiedAt: Instant | null;
  heldBy: HoldRule | null;
};

type UnplannedRow = {
  id: number;
  check_id: number;
  project_id: number | null;
  tags: string;
  is_deleted: boolean;
  incident_id: number | null;
  cause: AlertCause;
  opened_at: Instant;
  opened_flip_id: number;
  closed_at: Instant | null;
  close_cause: CloseCause;
  closed_flip_id: number | null;
  notified_at: Instant | null;
  held_by: HoldRule | null;
};

const CLAIM_ALERTS = statement<UnplannedRow>({
  name: "alerts.claim",
  text: `select a.id, a.check_id, c.project_id, c.tags, c.deleted_at is not null as is_deleted, a.incident_id, a.cause,
      a.opened_at, a.opened_flip_id, a.closed_at, a.close_cause, a.closed_flip_id, a.notified_at, a.held_by
    from alerts a left join checks c on c.id = a.check_id
    where a.planned_at is null and a.plan_at <= $1
    order by a.plan_at, a.id limit $2
    for update of a skip locked`,
});

/** Locks alerts that are due to be planned, oldest first. */
export async function claimAlerts(
  tx: Tx,
  { now, limit }: { now: Instant; limit: number },
): Promise<UnplannedAlert[]> {
  return (await tx.query(CLAIM_ALERTS, [toTimestamp(now), limit])).rows.map((row) => ({
    id: row.id,
    checkId: row.check_id,
    check:
      row.project_id === null
        ? null
        : { projectId: row.project_id, tags: row.tags, isDeleted: row.is_deleted },
    incidentId: row.incident_id,
    cause: row.cause,
    openedAt: row.opened_at,
    openedFlipId: row.opened_flip_id,
    closed:
      row.closed_at === null
        ? null
        : { at: row.closed_at, cause: row.close_cause, flipId: row.closed_flip_id },
    notifiedAt: row.notified_at,
    heldBy: row.held_by,
  }));
}

/** How the planner leaves an alert. */
export type PlannedAlert = {
  alertId: number;
  incidentId: number | null;
  notifiedAt: Instant | null;
  /** Nothing is sent, because of `heldBy` or because it was taken back. */
  isDropped: boolean;
};

const MARK_PLANNED = statement({
  name: "alerts.mark_planned",
  text: `update alerts a set incident_id = n.incident_id, notified_at = ${sqlInstant("n.notified_at")},
      planned_at = $5, dropped_at = case when n.is_dropped then $5::timestamptz end
    from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::boolean[]) as n (id, incident_id, notified_at, is_dropped)
    where a.id = n.id`,
});

/** Marks claimed alerts as planned. */
export async function markPlanned(tx: Tx, planned: readonly PlannedAlert[], at: Instant): Promise<void> {
  await tx.query(MARK_PLANNED, [
    toNumberArray(planned.map(({ alertId }) => alertId)),
    toNumberArray(planned.map(({ incidentId }) => incidentId)),
    toNumberArray(planned.map(({ notifiedAt }) => notifiedAt)),
    toTextArray(planned.map(({ isDropped }) => String(isDropped))),
    toTimestamp(at),
  ]);
}

export type HeldAlert = { alertId: number; until: Instant; rule: HoldRule; silenceId: number | null };

const HOLD_ALERTS = statement({
  name: "alerts.hold",
  text: `update alerts a set plan_at = ${sqlInstant("n.until")}, held_by = n.rule, silence_id = n.silence_id
    from unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[]) as n (id, until, rule, silence_id)
    where a.id = n.id`,
});

/** Lets claimed alerts wait because of a rule. */
export async function holdAlerts(tx: Tx, held: readonly HeldAlert[]): Promise<void> {
  await tx.query(HOLD_ALERTS, [
    toNumberArray(held.map(({ alertId }) => alertId)),
    toNumberArray(held.map(({ until }) => until)),
    toTextArray(held.map(({ rule }) => rule)),
    toNumberArray(held.map(({ silenceId }) => silenceId)),
  ]);
}

const POSTPONE_ALERT = statement({
  name: "alerts.postpone",
  text: "update alerts set plan_at = $2 where id = $1 and planned_at is null",
});

/** Lets an alert wait that could not be planned. */
export async function postponeAlert(
  tx: Tx,
  { alertId, until }: { alertId: number; until: Instant },
): Promise<void> {
  await tx.query(POSTPONE_ALERT, [alertId, toTimestamp(until)]);
}

const CLOSE_ALERT_OF_TRASHED = statement<{ incident_id: number | null }>({
  name: "alerts.close_of_trashed",
  text: `update alerts set closed_at = $2, close_cause = 'deleted', planned_at = $2
    where check_id = $1 and closed_at is null returning incident_id`,
});

/** Closes the alert of a check that is moved to the trash, without a message; returns its incident. */
export async function closeAlertOfTrashed(
  tx: Tx,
  { checkId, at }: { checkId: number; at: Instant },
): Promise<number | null> {
  return (await tx.query(CLOSE_ALERT_OF_TRASHED, [checkId, toTimestamp(at)])).rows[0]?.incident_id ?? null;
}

const REOPEN_ALERT_OF_RESTORED = statement({
  name: "alerts.reopen_of_restored",
  text: `with reopened as (
      update alerts set closed_at = null, close_cause = null, plan_at = ${AT_ONCE},
        planned_at = case when notified_at is null then null else planned_at end
      where id = (select max(id) from alerts where check_id = $1) and close_cause = 'deleted'
      returning incident_id
    )
    update incidents i set state = 'open', resolved_at = null, next_step_at = ${AT_ONCE}
    from reopened where i.id = reopened.incident_id and i.state = 'resolved'`,
});

/** Opens the alert again that was closed when the check was moved to the trash. */
export async function reopenAlertOfRestored(tx: Tx, checkId: number): Promise<void> {
  await tx.query(REOPEN_ALERT_OF_RESTORED, [checkId]);
}

const MOVE_ALERT = statement<{ incident_id: number; opened_at: Instant }>({
  name: "alerts.find_moved",
  text: "select incident_id, opened_at from alerts where check_id = $1 and closed_at is null and incident_id is not null",
});

/** The open alert of a check that is moved to another project, if it is part of an incident. */
export async function findMovedAlert(
  tx: Tx,
  checkId: number,
): Promise<{ incidentId: number; openedAt: Instant } | null> {
  const [row] = (await tx.query(MOVE_ALERT, [checkId])).rows;
  return row === undefined ? null : { incidentId: row.incident_id, openedAt: row.opened_at };
}

const SET_INCIDENT = statement({
  name: "alerts.set_incident",
  text: "update alerts set incident_id = $2 where check_id = $1 and closed_at is null",
});

/** Makes the open alert of a check part of another incident. */
export async function setIncidentOfAlert(
  tx: Tx,
  { checkId, incidentId }: { checkId: number; incidentId: number },
): Promise<void> {
  await tx.query(SET_INCIDENT, [checkId, incidentId]);
}

const DELETE_ALERTS_OF_CHECK = statement<{ incident_id: number }>({
  name: "alerts.delete_of_check",
  text: `with gone as (
      delete from alerts where check_id = $1 returning id, incident_id
    ), unlisted as (
      delete from delivery_alerts using gone where alert_id = gone.id
    )
    select distinct incident_id from gone where incident_id is not null`,
});

const DELETE_EMPTY_INCIDENTS = statement({
  name: "alerts.delete_empty_incidents",
  text: `delete from incidents i
    where i.id = any ($1::bigint[]) and not exists (select from alerts where incident_id = i.id)`,
});

/** Deletes the alerts of a check, and incidents without other alerts; returns the incidents that are left. */
export async function deleteAlertsOfCheck(tx: Tx, checkId: number): Promise<number[]> {
  const { rows } = await tx.query(DELETE_ALERTS_OF_CHECK, [checkId]);
  const incidentIds = rows.map((row) => row.incident_id);
  if (incidentIds.length > 0) await tx.query(DELETE_EMPTY_INCIDENTS, [toNumberArray(incidentIds)]);
  return incidentIds;
}
