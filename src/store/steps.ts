// What becomes due by time alone: repeats of incidents, the end of acknowledgements, and the end of silences.
import type { AlertCause } from "../core/alert.ts";
import type { IncidentState } from "../core/incident.ts";
import type { Instant } from "../core/instant.ts";
import { type Db, statement } from "./db.ts";
import type { Tx } from "./transaction.ts";
import { AT_ONCE, sqlInstant, toNumberArray, toTimestamp } from "./values.ts";

// The first of each index: a generic plan of "exists" expects many rows that are due, and reads the whole table.
const HAS_DUE = statement<{ has: boolean | null }>({
  name: "steps.has_due",
  text: `select least((select min(next_step_at) from incidents), (select min(ends_at) from silences)) <= $1 as has`,
});

/** Whether something is due. */
export async function hasDueSteps(db: Db, now: Instant): Promise<boolean> {
  return (await db.query(HAS_DUE, [toTimestamp(now)])).rows[0]?.has ?? false;
}

/** An incident whose next step is due. */
export type DueIncident = {
  id: number;
  projectId: number;
  state: IncidentState;
  acknowledgedAt: Instant | null;
  /** A notification is not sent yet. */
  hasUnsent: boolean;
  lastSentAt: Instant | null;
};

const CLAIM_INCIDENTS = statement<{
  id: number;
  project_id: number;
  state: IncidentState;
  acknowledged_at: Instant | null;
  has_unsent: boolean;
  last_sent_at: Instant | null;
}>({
  name: "steps.claim_incidents",
  text: `select i.id, i.project_id, i.state, i.acknowledged_at, d.has_unsent, d.last_sent_at
    from incidents i cross join lateral (
      select coalesce(bool_or(state = 'pending' and (kind <> 'group' or held_until_at is null)), false) as has_unsent,
        max(settled_at) filter (where state = 'sent') as last_sent_at
      from deliveries where incident_id = i.id
    ) as d
    where i.next_step_at <= $1
    order by i.next_step_at limit $2
    for update of i skip locked`,
});

/** Locks incidents whose next step is due. */
export async function claimDueIncidents(
  tx: Tx,
  { now, limit }: { now: Instant; limit: number },
): Promise<DueIncident[]> {
  return (await tx.query(CLAIM_INCIDENTS, [toTimestamp(now), limit])).rows.map((row) => ({
    id: row.id,
    projectId: row.project_id,
    state: row.state,
    acknowledgedAt: row.acknowledged_at,
    hasUnsent: row.has_unsent,
    lastSentAt: row.last_sent_at,
  }));
}

/** An open alert that was notified. */
export type OpenAlert = {
  id: number;
  incidentId: number;
  checkId: number;
  projectId: number;
  tags: string;
  cause: AlertCause;
  openedAt: Instant;
  notifiedAt: Instant;
  isAcknowledged: boolean;
};

type OpenAlertRow = {
  id: number;
  incident_id: number;
  check_id: number;
  project_id: number;
  tags: string;
  cause: AlertCause;
  opened_at: Instant;
  notified_at: Instant;
  is_acknowledged: boolean;
};

const OPEN_ALERTS = `select a.id, a.incident_id, a.check_id, c.project_id, c.tags, a.cause, a.opened_at, a.notified_at,
    i.state = 'acknowledged' as is_acknowledged
  from alerts a join checks c on c.id = a.check_id and c.deleted_at is null join incidents i on i.id = a.incident_id
  where a.closed_at is null and a.notified_at is not null`;

const LIST_OF_INCIDENTS = statement<OpenAlertRow>({
  name: "steps.list_alerts",
  text: `${OPEN_ALERTS} and a.incident_id = any ($1::bigint[]) order by a.id`,
});

const LIST_OF_PROJECT = statement<OpenAlertRow>({
  name: "steps.list_alerts_of_project",
  text: `${OPEN_ALERTS} and i.project_id = $1 and i.state <> 'resolved' order by a.id limit $2`,
});

function toOpenAlert(row: OpenAlertRow): OpenAlert {
  return {
    id: row.id,
    incidentId: row.incident_id,
    checkId: row.check_id,
    projectId: row.project_id,
    tags: row.tags,
    cause: row.cause,
    openedAt: row.opened_at,
    notifiedAt: row.notified_at,
    isAcknowledged: row.is_acknowledged,
  };
}

/** The open alerts of incidents. */
export async function listOpenAlerts(tx: Tx, incidentIds: readonly number[]): Promise<OpenAlert[]> {
  return (await tx.query(LIST_OF_INCIDENTS, [toNumberArray(incidentIds)])).rows.map(toOpenAlert);
}

/** The open alerts of a project, at most `limit`. */
export async function listOpenAlertsOfProject(
  tx: Tx,
  { projectId, limit }: { projectId: number; limit: number },
): Promise<OpenAlert[]> {
  return (await tx.query(LIST_OF_PROJECT, [projectId, limit])).rows.map(toOpenAlert);
}

const SET_NEXT_STEPS = statement({
  name: "steps.set_next",
  text: `update incidents i set next_step_at = ${sqlInstant("n.at")},
      state = case when n.ends_ack then 'open' else i.state end,
      acknowledged_at = case when n.ends_ack then null else i.acknowledged_at end,
      acknowledged_by = case when n.ends_ack then null else i.acknowledged_by end,
      acknowledged_by_channel = case when n.ends_ack then null else i.acknowledged_by_channel end
    from unnest($1::bigint[], $2::bigint[], $3::boolean[]) as n (id, at, ends_ack) where i.id = n.id`,
});

/** When the next step of an incident is due; null: nothing is. */
export type NextStep = { incidentId: number; at: Instant | null; endsAcknowledgement: boolean };

/** Sets the next steps of locked incidents. */
export async function setNextSteps(tx: Tx, steps: readonly NextStep[]): Promise<void> {
  await tx.query(SET_NEXT_STEPS, [
    toNumberArray(steps.map(({ incidentId }) => incidentId)),
    toNumberArray(steps.map(({ at }) => at)),
    steps.map(({ endsAcknowledgement }) => endsAcknowledgement),
  ]);
}

const REVIEW_STEPS = statement({
  name: "steps.review",
  text: `update incidents set next_step_at = ${AT_ONCE} where project_id = $1 and state <> 'resolved'`,
});

/** Makes the next steps of open incidents due, because the policies or silences of the project have changed. */
export async function reviewSteps(tx: Tx, projectId: number): Promise<void> {
  await tx.query(REVIEW_STEPS, [projectId]);
}

const REVIEW_INCIDENTS = statement({
  name: "steps.review_incidents",
  text: `update incidents set next_step_at = ${AT_ONCE} where id = any ($1::bigint[]) and state <> 'resolved'`,
});

/** Makes the next steps of these incidents due, because alerts have joined them. */
export async function reviewIncidents(tx: Tx, incidentIds: readonly number[]): Promise<void> {
  await tx.query(REVIEW_INCIDENTS, [toNumberArray(incidentIds)]);
}

// To the channels that have got the opening, also from a process of the previous release, which plans without alerts. A
// group of alerts has one message for all of them.
const INSERT_REPEATS = statement({
  name: "steps.insert_repeats",
  text: `insert into deliveries (kind, dedupe_key, channel_id, group_id, check_id, flip_id, alert_id, incident_id, state,
      created_at, attempt_count, next_try_at)
    select 'repeat', gen_random_uuid(), d.channel_id, d.group_id, a.check_id, a.opened_flip_id, a.id, a.incident_id,
      'pending', $2::timestamptz, 0, ${AT_ONCE}
    from alerts a join deliveries d on d.flip_id = a.opened_flip_id and d.kind = 'flip'
        and (d.alert_id = a.id or d.alert_id is null)
      join channels ch on ch.id = d.channel_id and (ch.disabled_at is null or d.group_id is not null)
    where a.id = any ($1::bigint[]) and d.state in ('sent', 'merged')
    order by d.id`,
});

const INSERT_GROUP_REPEATS = statement({
  name: "steps.insert_group_repeats",
  text: `with said as (
      select d.incident_id, d.channel_id, min(d.group_id) as group_id, array_agg(distinct da.alert_id) as alert_ids
      from alerts a join delivery_alerts da on da.alert_id = a.id and da.change = 'opened'
        join deliveries d on d.id = da.delivery_id and d.state = 'sent'
        join channels ch on ch.id = d.channel_id and (ch.disabled_at is null or d.group_id is not null)
      where a.id = any ($1::bigint[]) and not exists (
          select from deliveries unsent
          where unsent.incident_id = d.incident_id and unsent.channel_id = d.channel_id and unsent.kind = 'group'
            and unsent.state = 'pending'
        )
      group by d.incident_id, d.channel_id
    ), created as (
      insert into deliveries (kind, dedupe_key, channel_id, group_id, incident_id, state, created_at, attempt_count,
        next_try_at)
      select 'group', gen_random_uuid(), channel_id, group_id, incident_id, 'pending', $2::timestamptz, 0, ${AT_ONCE}
      from said order by incident_id, channel_id
      returning id, incident_id, channel_id
    )
    insert into delivery_alerts (delivery_id, alert_id, change)
    select created.id, unnest(said.alert_ids), 'opened'
    from created join said on said.incident_id = created.incident_id and said.channel_id = created.channel_id`,
});

/** Inserts reminders about open alerts. */
export async function insertRepeats(
  tx: Tx,
  { alertIds, at }: { alertIds: readonly number[]; at: Instant },
): Promise<void> {
  const values = [toNumberArray(alertIds), toTimestamp(at)];
  await tx.query(INSERT_REPEATS, values);
  await tx.query(INSERT_GROUP_REPEATS, values);
}

const CLAIM_SILENCES = statement<{ id: number; ends_at: Instant }>({
  name: "steps.claim_silences",
  text: `select id, ends_at from silences where ends_at <= $1 order by ends_at limit $2 for update skip locked`,
});

/** Locks silences of which a window has ended, or that have changed; then the end lies in 1970. */
export async function claimEndedWindows(
  tx: Tx,
  { now, limit }: { now: Instant; limit: number },
): Promise<{ silenceId: number; endsAt: Instant }[]> {
  return (await tx.query(CLAIM_SILENCES, [toTimestamp(now), limit])).rows.map((row) => ({
    silenceId: row.id,
    endsAt: row.ends_at,
  }));
}

const SET_ENDS = statement({
  name: "steps.set_ends",
  text: `update silences s set ends_at = ${sqlInstant("n.at")}
    from unnest($1::bigint[], $2::bigint[]) as n (id, at) where s.id = n.id`,
});

/** Sets when the current or next windows of silences end; null: there are no more. */
export async function setWindowEnds(
  tx: Tx,
  ends: readonly { silenceId: number; at: Instant | null }[],
): Promise<void> {
  await tx.query(SET_ENDS, [
    toNumberArray(ends.map(({ silenceId }) => silenceId)),
    toNumberArray(ends.map(({ at }) => at)),
  ]);
}
