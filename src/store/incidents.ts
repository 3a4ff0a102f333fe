// Incidents of projects: their state, alerts, timeline and notes. The planner opens and resolves them.
import type { AlertCause, CloseCause } from "../core/alert.ts";
import type { IncidentActor, IncidentEventKind, IncidentStatus, Severity } from "../core/incident.ts";
import type { Instant } from "../core/instant.ts";
import type { HoldRule } from "../core/plan.ts";
import { type Db, statement } from "./db.ts";
import { type Delivery, DELIVERY_COLUMNS, type DeliveryRow, toDelivery } from "./deliveries.ts";
import type { Tx } from "./transaction.ts";
import { sqlInstant, toNumberArray, toTextArray, toTimestamp } from "./values.ts";

/** Due at once, independent of the clock. */
const AT_ONCE = "to_timestamp(0)";

export type Incident = IncidentStatus & {
  id: number;
  projectId: number;
  number: number;
  /** What its checks have in common, see core; null: an incident of one check. */
  key: string | null;
  openedAt: Instant;
  /** When a repeat is due, or an acknowledgement ends. */
  nextStepAt: Instant | null;
};

type IncidentRow = {
  id: number;
  project_id: number;
  number: number;
  key: string | null;
  state: Incident["state"];
  severity: Severity;
  opened_at: Instant;
  acknowledged_at: Instant | null;
  acknowledged_by: number | null;
  acknowledged_by_channel: number | null;
  resolved_at: Instant | null;
  next_step_at: Instant | null;
  reopen_count: number;
  flapping_at: Instant | null;
};

const INCIDENT_COLUMNS = `i.id, i.project_id, i.number, i.key, i.state, i.severity, i.opened_at, i.acknowledged_at,
  i.acknowledged_by, i.acknowledged_by_channel, i.resolved_at, i.next_step_at, i.reopen_count, i.flapping_at`;

function toIncident(row: IncidentRow): Incident {
  const by = { accountId: row.acknowledged_by, channelId: row.acknowledged_by_channel };
  return {
    id: row.id,
    projectId: row.project_id,
    number: row.number,
    key: row.key,
    state: row.state,
    severity: row.severity,
    openedAt: row.opened_at,
    acknowledged: row.acknowledged_at === null ? null : { at: row.acknowledged_at, by },
    resolvedAt: row.resolved_at,
    nextStepAt: row.next_step_at,
    reopenCount: row.reopen_count,
    flappingAt: row.flapping_at,
  };
}

/** An incident with numbers about its alerts. */
export type ListedIncident = Incident & {
  /** Of the first alert; null: no alert is left. */
  cause: AlertCause | null;
  checkCount: number;
  openCount: number;
};

type ListedRow = IncidentRow & { cause: AlertCause | null; check_count: number; open_count: number };

function toListed(row: ListedRow): ListedIncident {
  return {
    ...toIncident(row),
    cause: row.cause,
    checkCount: row.check_count,
    openCount: row.open_count,
  };
}

const LISTED_COLUMNS = `${INCIDENT_COLUMNS}, summary.cause, summary.check_count, summary.open_count`;

const SUMMARY = `cross join lateral (
    select (array_agg(a.cause order by a.id))[1] as cause, count(distinct a.check_id) as check_count,
      count(*) filter (where a.closed_at is null) as open_count
    from alerts a where a.incident_id = i.id
  ) as summary`;

const LIST_INCIDENTS = statement<ListedRow>({
  name: "incidents.list",
  text: `select ${LISTED_COLUMNS}
    from (
      select * from incidents
      where project_id = $1 and number < $2 and (state = 'resolved' or not $3)
      order by number desc limit $4
    ) as i ${SUMMARY}
    order by i.number desc`,
});

const LIST_OPEN_INCIDENTS = statement<ListedRow>({
  name: "incidents.list_open",
  text: `select ${LISTED_COLUMNS}
    from (
      select * from incidents
      where project_id = $1 and number < $2 and state <> 'resolved'
      order by number desc limit $3
    ) as i ${SUMMARY}
    order by i.number desc`,
});

/** Incidents of a project below a number, newest first. `open` includes acknowledged ones. */
export async function listProjectIncidents(
  db: Db,
  page: { projectId: number; state: "open" | "resolved" | "all"; before: number | null; limit: number },
): Promise<ListedIncident[]> {
  const { projectId, state, limit } = page;
  const before = page.before ?? Number.MAX_SAFE_INTEGER;
  const { rows } =
    state === "open"
      ? await db.query(LIST_OPEN_INCIDENTS, [projectId, before, limit])
      : await db.query(LIST_INCIDENTS, [projectId, before, state === "resolved", limit]);
  return rows.map(toListed);
}

const COUNT_OPEN_INCIDENTS = statement<{ open: number; acknowledged: number }>({
  name: "incidents.count_open",
  text: `select count(*) filter (where state = 'open') as open,
      count(*) filter (where state = 'acknowledged') as acknowledged
    from incidents where project_id = $1 and state <> 'resolved'`,
});

/** Numbers of incidents that are not resolved. */
export async function countOpenIncidents(
  db: Db,
  projectId: number,
): Promise<{ open: number; acknowledged: number }> {
  const { rows } = await db.query(COUNT_OPEN_INCIDENTS, [projectId]);
  return rows[0] ?? { open: 0, acknowledged: 0 };
}

const FIND_INCIDENT = statement<ListedRow>({
  name: "incidents.find",
  text: `select ${LISTED_COLUMNS} from incidents i ${SUMMARY} where i.project_id = $1 and i.number = $2`,
});

/** The incident of a project with this number. */
export async function findIncident(
  db: Db,
  { projectId, number }: { projectId: number; number: number },
): Promise<ListedIncident | null> {
  const { rows } = await db.query(FIND_INCIDENT, [projectId, number]);
  return rows[0] === undefined ? null : toListed(rows[0]);
}

/** An incident as the page of a link shows it. */
export type LinkedIncident = ListedIncident & {
  projectName: string;
  projectZone: string;
  hasAckLinks: boolean;
};

const FIND_INCIDENT_BY_ID = statement<
  ListedRow & { project_name: string; project_tz: string; has_ack_links: boolean }
>({
  name: "incidents.find_by_id",
  text: `select ${LISTED_COLUMNS}, p.name as project_name, p.tz as project_tz, p.has_ack_links
    from incidents i join projects p on p.id = i.project_id ${SUMMARY}
    where i.id = $1`,
});

/** The incident of a link, with what its project says about links. */
export async function findIncidentById(db: Db, incidentId: number): Promise<LinkedIncident | null> {
  const { rows } = await db.query(FIND_INCIDENT_BY_ID, [incidentId]);
  const [row] = rows;
  if (row === undefined) return null;
  return {
    ...toListed(row),
    projectName: row.project_name,
    projectZone: row.project_tz,
    hasAckLinks: row.has_ack_links,
  };
}

export type IncidentCheck = { incidentId: number; uuid: string; name: string; tags: string };

const LIST_INCIDENT_CHECKS = statement<{ incident_id: number; uuid: string; name: string; tags: string }>({
  name: "incidents.list_checks",
  text: `select n.id as incident_id, c.uuid, c.name, c.tags
    from unnest($1::bigint[]) as n (id)
      cross join lateral (
        select check_id, min(id) as alert_id from alerts where incident_id = n.id
        group by check_id order by alert_id limit $3
      ) as first
      join checks c on c.id = first.check_id and c.project_id = $2 and c.deleted_at is null
    order by n.id, first.alert_id`,
});

/** The first checks of each incident, without those that were deleted or moved. */
export async function listIncidentChecks(
  db: Db,
  of: { incidentIds: readonly number[]; projectId: number; limit: number },
): Promise<IncidentCheck[]> {
  const { rows } = await db.query(LIST_INCIDENT_CHECKS, [
    toNumberArray(of.incidentIds),
    of.projectId,
    of.limit,
  ]);
  return rows.map(({ incident_id: incidentId, uuid, name, tags }) => ({ incidentId, uuid, name, tags }));
}

const LOCK_INCIDENTS = statement<IncidentRow>({
  name: "incidents.lock",
  text: `select ${INCIDENT_COLUMNS} from incidents i
    where i.project_id = $1 and i.number = any ($2::bigint[]) order by i.id for update`,
});

/** Locks the incidents of a project with these numbers, in the order of their ids. */
export async function lockIncidents(
  tx: Tx,
  { projectId, numbers }: { projectId: number; numbers: readonly number[] },
): Promise<Incident[]> {
  return (await tx.query(LOCK_INCIDENTS, [projectId, toNumberArray(numbers)])).rows.map(toIncident);
}

const FIND_OPEN_NUMBERS = statement<{ number: number }>({
  name: "incidents.find_open_numbers",
  text: `select distinct i.number from checks c join alerts a on a.check_id = c.id and a.closed_at is null
      join incidents i on i.id = a.incident_id and i.project_id = c.project_id
    where c.project_id = $1 and c.uuid = any ($2::uuid[]) and c.deleted_at is null
    order by i.number`,
});

/** Numbers of the open incidents of these checks. */
export async function findOpenNumbers(
  db: Db,
  { projectId, checkUuids }: { projectId: number; checkUuids: readonly string[] },
): Promise<number[]> {
  const { rows } = await db.query(FIND_OPEN_NUMBERS, [projectId, toTextArray(checkUuids)]);
  return rows.map(({ number }) => number);
}

// The planner knows the policies, so it calculates when the next step is due.
const WRITE_INCIDENTS = statement({
  name: "incidents.write",
  text: `update incidents i set state = n.state, severity = n.severity,
      acknowledged_at = ${sqlInstant("n.acknowledged_at")}, acknowledged_by = n.acknowledged_by,
      acknowledged_by_channel = n.acknowledged_by_channel, resolved_at = ${sqlInstant("n.resolved_at")},
      reopen_count = n.reopen_count, flapping_at = ${sqlInstant("n.flapping_at")},
      next_step_at = case when n.state <> 'resolved' then ${AT_ONCE} end
    from unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
      $8::int[], $9::bigint[])
      as n (id, state, severity, acknowledged_at, acknowledged_by, acknowledged_by_channel, resolved_at,
        reopen_count, flapping_at)
    where i.id = n.id`,
});

/** Writes incidents that this transaction has locked. The planner is asked for the next step of those that are open. */
export async function writeIncidents(
  tx: Tx,
  incidents: readonly (IncidentStatus & { id: number })[],
): Promise<void> {
  const numbers = (value: (of: IncidentStatus & { id: number }) => number | null) =>
    toNumberArray(incidents.map(value));
  await tx.query(WRITE_INCIDENTS, [
    numbers(({ id }) => id),
    toTextArray(incidents.map(({ state }) => state)),
    toTextArray(incidents.map(({ severity }) => severity)),
    numbers(({ acknowledged }) => acknowledged?.at ?? null),
    numbers(({ acknowledged }) => acknowledged?.by.accountId ?? null),
    numbers(({ acknowledged }) => acknowledged?.by.channelId ?? null),
    numbers(({ resolvedAt }) => resolvedAt),
    numbers(({ reopenCount }) => reopenCount),
    numbers(({ flappingAt }) => flappingAt),
  ]);
}

export type NewIncidentEvent = {
  incidentId: number;
  at: Instant;
  kind: IncidentEventKind;
  /** Null: nobody did it. */
  by: IncidentActor | null;
  /** The text of a note. */
  text?: string;
};

const INSERT_INCIDENT_EVENTS = statement<{ id: number }>({
  name: "incidents.insert_events",
  text: `insert into incident_events (incident_id, at, kind, account_id, channel_id, detail)
    select n.incident_id, ${sqlInstant("n.at")}, n.kind, n.account_id, n.channel_id, n.detail
    from unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::jsonb[])
      with ordinality as n (incident_id, at, kind, account_id, channel_id, detail, position)
    order by n.position
    returning id`,
});

/** Adds events to the timelines; returns their ids. */
export async function insertIncidentEvents(tx: Tx, events: readonly NewIncidentEvent[]): Promise<number[]> {
  const numbers = (value: (of: NewIncidentEvent) => number | null) => toNumberArray(events.map(value));
  const { rows } = await tx.query(INSERT_INCIDENT_EVENTS, [
    numbers(({ incidentId }) => incidentId),
    numbers(({ at }) => at),
    toTextArray(events.map(({ kind }) => kind)),
    numbers(({ by }) => by?.accountId ?? null),
    numbers(({ by }) => by?.channelId ?? null),
    events.map(({ by, text }) =>
      JSON.stringify({ isByUser: by !== null, ...(text !== undefined && { text }) }),
    ),
  ]);
  return rows.map(({ id }) => id);
}

export type IncidentEvent = {
  id: number;
  at: Instant;
  kind: IncidentEventKind;
  by: IncidentActor | null;
  text: string | null;
};

// Notes are few, and none of them is left out because of other events.
const LIST_INCIDENT_EVENTS = statement<{
  id: number;
  at: Instant;
  kind: IncidentEventKind;
  account_id: number | null;
  channel_id: number | null;
  is_by_user: boolean;
  text: string | null;
}>({
  name: "incidents.list_events",
  text: `select id, at, kind, account_id, channel_id, coalesce((detail ->> 'isByUser')::boolean, false) as is_by_user,
      detail ->> 'text' as text
    from (
      (select * from incident_events where incident_id = $1 and kind <> 'note' order by id desc limit $2)
      union all
      select * from incident_events where incident_id = $1 and kind = 'note'
    ) as e
    order by id`,
});

/** The newest events of an incident and all its notes, oldest first. */
export async function listIncidentEvents(
  db: Db,
  { incidentId, limit }: { incidentId: number; limit: number },
): Promise<IncidentEvent[]> {
  const { rows } = await db.query(LIST_INCIDENT_EVENTS, [incidentId, limit]);
  return rows.map(({ id, at, kind, text, ...row }) => {
    const by = { accountId: row.account_id, channelId: row.channel_id };
    return { id, at, kind, text, by: row.is_by_user ? by : null };
  });
}

const COUNT_NOTES = statement<{ count: number }>({
  name: "incidents.count_notes",
  text: "select count(*) as count from incident_events where incident_id = $1 and kind = 'note'",
});

/** Number of notes of an incident. */
export async function countNotes(db: Db, incidentId: number): Promise<number> {
  return (await db.query(COUNT_NOTES, [incidentId])).rows[0]?.count ?? 0;
}

export type IncidentAlert = {
  id: number;
  checkId: number;
  /** Null: deleted, or moved to another project. */
  check: { uuid: string; name: string } | null;
  cause: AlertCause;
  openedAt: Instant;
  closed: { at: Instant; cause: CloseCause } | null;
  /** The rule that holds it, or because of which nothing was sent, with the reason of the silence. */
  held: { by: HoldRule; isDropped: boolean; reason: string | null } | null;
};

const LIST_INCIDENT_ALERTS = statement<{
  id: number;
  check_id: number;
  uuid: string | null;
  name: string;
  cause: AlertCause;
  opened_at: Instant;
  closed_at: Instant | null;
  close_cause: CloseCause;
  held_by: HoldRule | null;
  is_dropped: boolean;
  is_planned: boolean;
  reason: string | null;
}>({
  name: "incidents.list_alerts",
  text: `select a.id, a.check_id, c.uuid, c.name, a.cause, a.opened_at, a.closed_at, a.close_cause, a.held_by,
      a.dropped_at is not null as is_dropped, a.planned_at is not null as is_planned, s.reason
    from (select * from alerts where incident_id = $1 order by id limit $3) as a
      left join checks c on c.id = a.check_id and c.project_id = $2 and c.deleted_at is null
      left join silences s on s.id = a.silence_id
    order by a.id`,
});

/** The first alerts of an incident, oldest first. */
export async function listIncidentAlerts(
  db: Db,
  of: { incidentId: number; projectId: number; limit: number },
): Promise<IncidentAlert[]> {
  const { rows } = await db.query(LIST_INCIDENT_ALERTS, [of.incidentId, of.projectId, of.limit]);
  return rows.map((row) => ({
    id: row.id,
    checkId: row.check_id,
    check: row.uuid === null ? null : { uuid: row.uuid, name: row.name },
    cause: row.cause,
    openedAt: row.opened_at,
    closed: row.closed_at === null ? null : { at: row.closed_at, cause: row.close_cause },
    // After it was released, the rule is history.
    held:
      row.held_by === null || (row.is_planned && !row.is_dropped)
        ? null
        : { by: row.held_by, isDropped: row.is_dropped, reason: row.reason },
  }));
}

export type IncidentDelivery = Delivery & { check: { uuid: string; name: string } | null };

const LIST_INCIDENT_DELIVERIES = statement<
  DeliveryRow & { check_uuid: string | null; check_name: string | null }
>({
  name: "incidents.list_deliveries",
  text: `select ${DELIVERY_COLUMNS}, c.uuid as check_uuid, c.name as check_name
    from (select * from deliveries where incident_id = $1 order by id desc limit $3) as d
      left join checks c on c.id = d.check_id and c.project_id = $2 and c.deleted_at is null
    order by d.id`,
});

/** The newest deliveries of an incident, oldest first. */
export async function listIncidentDeliveries(
  db: Db,
  of: { incidentId: number; projectId: number; limit: number },
): Promise<IncidentDelivery[]> {
  const { rows } = await db.query(LIST_INCIDENT_DELIVERIES, [of.incidentId, of.projectId, of.limit]);
  return rows.map((row) => ({
    ...toDelivery(row),
    check: row.check_uuid === null ? null : { uuid: row.check_uuid, name: row.check_name ?? "" },
  }));
}

const LIST_OPEN_ALERT_CHECKS = statement<{ check_id: number }>({
  name: "incidents.list_open_alert_checks",
  text: `select check_id from alerts where incident_id = $1 and closed_at is null order by check_id limit $2`,
});

/** Checks of an incident whose alert is open. */
export async function listOpenAlertChecks(
  db: Db,
  { incidentId, limit }: { incidentId: number; limit: number },
): Promise<number[]> {
  return (await db.query(LIST_OPEN_ALERT_CHECKS, [incidentId, limit])).rows.map(({ check_id: id }) => id);
}

const LIST_CHECKS_WITH_ALERT = statement<{ check_id: number }>({
  name: "incidents.list_checks_with_alert",
  text: `select a.check_id from checks c join alerts a on a.check_id = c.id and a.closed_at is null
    where c.project_id = $1 and c.deleted_at is null`,
});

/** Checks of a project whose alert is open, held ones too. */
export async function listChecksWithAlert(db: Db, projectId: number): Promise<Set<number>> {
  const { rows } = await db.query(LIST_CHECKS_WITH_ALERT, [projectId]);
  return new Set(rows.map(({ check_id: id }) => id));
}

// Planned at once: nothing is sent about it.
const CLOSE_RESOLVED_ALERTS = statement<{ check_id: number }>({
  name: "incidents.close_alerts",
  text: `update alerts set closed_at = $3, close_cause = 'resolved', planned_at = $3
    where id in (
      select id from alerts where incident_id = $1 and closed_at is null and check_id = any ($2::bigint[])
      order by id for update
    )
    returning check_id`,
});

/** Closes the open alerts of an incident for these checks, whose states are locked; returns those that had one. */
export async function closeResolvedAlerts(
  tx: Tx,
  { incidentId, checkIds, at }: { incidentId: number; checkIds: readonly number[]; at: Instant },
): Promise<number[]> {
  const { rows } = await tx.query(CLOSE_RESOLVED_ALERTS, [
    incidentId,
    toNumberArray(checkIds),
    toTimestamp(at),
  ]);
  return rows.map(({ check_id: id }) => id);
}

const WITHDRAW_REPEATS = statement({
  name: "incidents.withdraw_repeats",
  text: `with held as (
      select id from deliveries
      where incident_id = any ($1::bigint[]) and kind = 'repeat' and state = 'pending' and message_id is null
      order by id for update
    )
    update deliveries d set state = 'withdrawn', settled_at = $2, next_try_at = null, reason = $3
    from held where d.id = held.id`,
});

/** Withdraws repeats that have not been sent. */
export async function withdrawRepeats(
  tx: Tx,
  { incidentIds, at, reason }: { incidentIds: readonly number[]; at: Instant; reason: string },
): Promise<void> {
  await tx.query(WITHDRAW_REPEATS, [toNumberArray(incidentIds), toTimestamp(at), reason]);
}

const PRUNE_INCIDENTS = statement<{ count: number }>({
  name: "incidents.prune",
  text: `with gone as (
      delete from incidents
      where ctid = any (array(
        select ctid from (
          select ctid, resolved_at from incidents where state = 'resolved' order by id limit $2
        ) as oldest
        where resolved_at < $1
      ))
      returning id
    ), unlisted as (
      delete from alerts using gone where incident_id = gone.id
    )
    select count(*) as count from gone`,
});

/**
 * Deletes those of the `limit` oldest resolved incidents that were resolved before an instant, with their alerts and events;
 * returns how many.
 */
export async function pruneIncidents(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE_INCIDENTS, [toTimestamp(before), limit])).rows[0]?.count ?? 0;
}

const PRUNE_ALERTS = statement<{ count: number }>({
  name: "alerts.prune",
  text: `with gone as (
      delete from alerts
      where ctid = any (array(
        select ctid from (
          select ctid, closed_at from alerts
          where incident_id is null and closed_at is not null and planned_at is not null order by id limit $2
        ) as oldest
        where closed_at < $1
      ))
      returning id
    )
    select count(*) as count from gone`,
});

/** Deletes those of the `limit` oldest alerts without an incident that closed before an instant; returns how many. */
export async function pruneAlerts(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE_ALERTS, [toTimestamp(before), limit])).rows[0]?.count ?? 0;
}
