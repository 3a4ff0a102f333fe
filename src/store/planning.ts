// Creates deliveries: of alerts, by the planner; of notices and tests, with what they are about.
import type { Severity } from "../core/incident.ts";
import type { Instant, Interval } from "../core/instant.ts";
import type { StoredStatus } from "../core/state.ts";
import { statement } from "./db.ts";
import type { Tx } from "./transaction.ts";
import { AT_ONCE, sqlInstant, toNumberArray, toTextArray, toTimestamp } from "./values.ts";

/**
 * The channels behind a channel `ch`, as `target.id`: itself, or the members of a group, including disabled
 * ones. A malformed group configuration must not make a signal fail.
 */
const TARGETS = `
  left join lateral (
    select m.id
    from jsonb_array_elements_text(
        case when jsonb_typeof(ch.config -> 'members') = 'array' then ch.config -> 'members' else '[]' end
      ) as named (uuid)
      join channels m on m.uuid = case when named.uuid ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
        then named.uuid::uuid end
    where ch.kind = 'group' and m.project_id = ch.project_id and m.kind <> 'group'
  ) as member on true
  cross join lateral (
    select case when ch.kind = 'group' then member.id else ch.id end as id,
      case when ch.kind = 'group' then ch.id end as group_id
  ) as target`;

const OF_CHECK = `
  join check_channels cc on cc.check_id = n.check_id
  join channels ch on ch.id = cc.channel_id and ch.disabled_at is null
  ${TARGETS}`;

// To the channels of the check and those that rules add; for a closing also to all that an opening went to. A process
// of the previous release plans deliveries without an alert.
const INSERT_ALERT_DELIVERIES = statement({
  name: "planning.alerts",
  text: `with n as (
      select * from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::boolean[])
        with ordinality as n (alert_id, incident_id, check_id, flip_id, is_closing, position)
    ), routed as (
      select n.position, cc.channel_id from n join check_channels cc on cc.check_id = n.check_id
      union
      select n.position, added.channel_id
      from n join unnest($6::bigint[], $7::bigint[]) as added (alert_id, channel_id) on added.alert_id = n.alert_id
    ), recipient as (
      select routed.position, target.id as channel_id, target.group_id
      from routed join channels ch on ch.id = routed.channel_id and ch.disabled_at is null ${TARGETS}
      where target.id is not null
      union
      select n.position, d.channel_id, d.group_id
      from n join deliveries d on d.alert_id = n.alert_id and d.kind = 'flip' and d.flip_id <> n.flip_id
        join channels ch on ch.id = d.channel_id and (ch.disabled_at is null or d.group_id is not null)
      where n.is_closing and d.state not in ('withdrawn', 'skipped')
    )
    insert into deliveries (kind, dedupe_key, channel_id, group_id, check_id, flip_id, alert_id, incident_id, state,
      created_at, attempt_count, next_try_at, fire_drill)
    select 'flip', gen_random_uuid(), r.channel_id, r.group_id, n.check_id, n.flip_id, n.alert_id, n.incident_id,
      'pending', $8::timestamptz, 0, ${AT_ONCE},
      (select case when fd.is_sent then 'sent' else 'quiet' end from fire_drills fd where fd.check_id = n.check_id)
    from n join recipient r on r.position = n.position
    where not exists (
      select from deliveries old
      where old.flip_id = n.flip_id and old.channel_id = r.channel_id and old.kind = 'flip' and old.alert_id is null
    )
    order by n.position, r.channel_id, r.group_id
    on conflict do nothing`,
});

/** The opening or closing of an alert to notify. */
export type AlertNews = {
  alertId: number;
  incidentId: number;
  checkId: number;
  flipId: number;
  isClosing: boolean;
};

/** Inserts deliveries about alerts, in this order. `added` are channels in addition to those of the checks. */
export async function insertAlertDeliveries(
  tx: Tx,
  {
    news,
    added,
    at,
  }: { news: readonly AlertNews[]; added: readonly { alertId: number; channelId: number }[]; at: Instant },
): Promise<void> {
  await tx.query(INSERT_ALERT_DELIVERIES, [
    toNumberArray(news.map(({ alertId }) => alertId)),
    toNumberArray(news.map(({ incidentId }) => incidentId)),
    toNumberArray(news.map(({ checkId }) => checkId)),
    toNumberArray(news.map(({ flipId }) => flipId)),
    toTextArray(news.map(({ isClosing }) => String(isClosing))),
    toNumberArray(added.map(({ alertId }) => alertId)),
    toNumberArray(added.map(({ channelId }) => channelId)),
    toTimestamp(at),
  ]);
}

/** Deliveries about the opening of an alert, also those of a process of the previous release. */
const OF_OPENING =
  "(d.alert_id = n.alert_id or (d.alert_id is null and d.flip_id = n.flip_id)) and d.kind = 'flip'";

// Locked in id order, as settling does.
const WITHDRAW = statement({
  name: "planning.withdraw",
  text: `with held as (
      select d.id from unnest($1::bigint[], $2::bigint[]) as n (alert_id, flip_id)
        join deliveries d on d.flip_id = n.flip_id and ${OF_OPENING}
      where d.state = 'pending' and d.message_id is null
      order by d.id for update of d
    )
    update deliveries d set state = 'withdrawn', settled_at = $3, next_try_at = null, reason = $4
    from held where d.id = held.id`,
});

/** Withdraws unsent notifications about the opening of alerts. */
export async function withdrawOpenings(
  tx: Tx,
  {
    alerts,
    at,
    reason,
  }: { alerts: readonly Omit<TakenBackAlert, "incidentId">[]; at: Instant; reason: string },
): Promise<void> {
  await tx.query(WITHDRAW, [
    toNumberArray(alerts.map(({ alertId }) => alertId)),
    toNumberArray(alerts.map(({ flipId }) => flipId)),
    toTimestamp(at),
    reason,
  ]);
}

const PLAN_CORRECTIONS = statement({
  name: "planning.corrections",
  text: `insert into deliveries (kind, dedupe_key, channel_id, group_id, check_id, flip_id, alert_id, incident_id, state,
      created_at, attempt_count, next_try_at)
    select 'correction', gen_random_uuid(), d.channel_id, d.group_id, d.check_id, d.flip_id, n.alert_id, n.incident_id,
      'pending', $4::timestamptz, 0, ${AT_ONCE}
    from unnest($1::bigint[], $2::bigint[], $3::bigint[]) as n (alert_id, flip_id, incident_id)
      join deliveries d on d.flip_id = n.flip_id and ${OF_OPENING}
      join channels ch on ch.id = d.channel_id and (ch.disabled_at is null or d.group_id is not null)
    where d.state not in ('withdrawn', 'skipped') and (d.state in ('sent', 'merged') or d.message_id is not null)
    order by d.id
    on conflict do nothing`,
});

/** An alert that was taken back. */
export type TakenBackAlert = { alertId: number; flipId: number; incidentId: number | null };

/** Withdraws pending deliveries of taken-back alerts; for those that were, or may have been, sent, inserts corrections. */
export async function retractAlertDeliveries(
  tx: Tx,
  { alerts, at }: { alerts: readonly TakenBackAlert[]; at: Instant },
): Promise<void> {
  const alertIds = toNumberArray(alerts.map(({ alertId }) => alertId));
  const flipIds = toNumberArray(alerts.map(({ flipId }) => flipId));
  await withdrawOpenings(tx, { alerts, at, reason: "Corrected before it was sent" });
  const incidentIds = toNumberArray(alerts.map(({ incidentId }) => incidentId));
  await tx.query(PLAN_CORRECTIONS, [alertIds, flipIds, incidentIds, toTimestamp(at)]);
}

const INSERT_INCIDENTS = statement<{ id: number }>({
  name: "planning.incidents",
  text: `with n as (
      select *, row_number() over (partition by project_id order by position) as nth
      from unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::bigint[])
        with ordinality as n (project_id, opened_at, severity, key, next_step_at, position)
    ), counted as (
      update projects p set incident_count = p.incident_count + w.count
      from (select project_id, count(*) as count from n group by project_id) as w
      where p.id = w.project_id
      returning p.id, p.incident_count - w.count as before
    )
    insert into incidents (project_id, number, key, state, severity, opened_at, next_step_at, reopen_count)
    select n.project_id, c.before + n.nth, n.key, 'open', n.severity, ${sqlInstant("n.opened_at")},
      ${sqlInstant("n.next_step_at")}, 0
    from n join counted c on c.id = n.project_id
    order by n.position
    returning id`,
});

export type NewIncident = {
  projectId: number;
  openedAt: Instant;
  severity: Severity;
  /** What its checks have in common; null: an incident of one check. */
  key: string | null;
  nextStepAt: Instant | null;
};

/** Inserts incidents and returns their ids in the same order. */
export async function insertIncidents(tx: Tx, incidents: readonly NewIncident[]): Promise<number[]> {
  const { rows } = await tx.query(INSERT_INCIDENTS, [
    toNumberArray(incidents.map(({ projectId }) => projectId)),
    toNumberArray(incidents.map(({ openedAt }) => openedAt)),
    toTextArray(incidents.map(({ severity }) => severity)),
    toTextArray(incidents.map(({ key }) => key)),
    toNumberArray(incidents.map(({ nextStepAt }) => nextStepAt)),
  ]);
  if (rows.length !== incidents.length)
    throw new Error("a project was deleted while its incident was planned");
  return rows.map(({ id }) => id);
}

const RESOLVE_INCIDENTS = statement({
  name: "planning.resolve",
  text: `update incidents i set state = 'resolved', resolved_at = coalesce(last.closed_at, i.opened_at), next_step_at = null, flapping_at = null
    from unnest($1::bigint[]) as n (id) cross join lateral (
      select max(closed_at) as closed_at, coalesce(bool_and(closed_at is not null), true) as is_over
      from alerts where incident_id = n.id
    ) as last
    where i.id = n.id and last.is_over and i.state <> 'resolved'`,
});

/** Resolves those of these incidents whose alerts are all closed. */
export async function resolveIncidents(tx: Tx, incidentIds: readonly number[]): Promise<void> {
  await tx.query(RESOLVE_INCIDENTS, [toNumberArray(incidentIds)]);
}

const NOTICES = `unnest($1::bigint[], $2::bigint[], $3::bigint[]) as given (check_id, from_ms, to_ms)
  cross join lateral (
    select given.check_id, ${sqlInstant("given.from_ms")} as from_at, ${sqlInstant("given.to_ms")} as to_at
  ) as n`;

// In a fixed order, so that concurrent transactions do not deadlock.
const PLAN_NOTICES = statement({
  name: "planning.notices",
  text: `insert into deliveries (kind, dedupe_key, channel_id, group_id, blind_from_at, blind_to_at, state,
      created_at, attempt_count, next_try_at)
    select 'notice', gen_random_uuid(), owed.channel_id, owed.group_id, owed.from_at, owed.to_at, 'pending',
      $4::timestamptz, 0, $5::timestamptz
    from (
      select distinct target.id as channel_id, target.group_id, n.from_at, n.to_at from ${NOTICES} ${OF_CHECK}
      where target.id is not null
    ) as owed
    order by owed.channel_id, owed.from_at, owed.to_at, owed.group_id
    on conflict do nothing`,
});

const ADD_CHECKS = statement({
  name: "planning.add_checks",
  text: `insert into notice_checks (delivery_id, check_id)
    select distinct d.id, n.check_id from ${NOTICES} ${OF_CHECK}
      join deliveries d on d.kind = 'notice' and d.channel_id = target.id and d.blind_from_at = n.from_at
        and d.blind_to_at = n.to_at
    where d.state = 'pending' and d.message_id is null
    on conflict do nothing`,
});

/**
 * Inserts one notice per blind interval and channel, due at `notifyAt`; a check is added to a pending one.
 */
export async function insertNoticeDeliveries(
  tx: Tx,
  given: { notices: readonly { checkId: number; blind: Interval }[]; at: Instant; notifyAt: Instant },
): Promise<void> {
  const { notices, at, notifyAt } = given;
  const about = [
    toNumberArray(notices.map(({ checkId }) => checkId)),
    toNumberArray(notices.map(({ blind }) => blind.from)),
    toNumberArray(notices.map(({ blind }) => blind.to)),
  ];
  await tx.query(PLAN_NOTICES, [...about, toTimestamp(at), toTimestamp(notifyAt)]);
  await tx.query(ADD_CHECKS, about);
}

const INSERT_MESSAGES = statement<{ id: number }>({
  name: "planning.sayings",
  text: `insert into deliveries (kind, dedupe_key, channel_id, about, state, created_at, attempt_count, next_try_at)
    select n.kind, gen_random_uuid(), n.channel_id, n.about, 'pending', $4::timestamptz, 0, ${AT_ONCE}
    from unnest($1::text[], $2::bigint[], $3::jsonb[]) with ordinality as n (kind, channel_id, about, position)
    order by n.position
    returning id`,
});

/** A message whose contents are in no other row. */
export type NewMessage = { channelId: number; kind: "disabled" | "operator"; about: object };

/** Inserts messages with the given contents; returns their ids. */
export async function insertMessages(
  tx: Tx,
  { messages, at }: { messages: readonly NewMessage[]; at: Instant },
): Promise<number[]> {
  const { rows } = await tx.query(INSERT_MESSAGES, [
    messages.map(({ kind }) => kind),
    messages.map(({ channelId }) => channelId),
    messages.map(({ about }) => JSON.stringify(about)),
    toTimestamp(at),
  ]);
  return rows.map(({ id }) => id);
}

const INSERT_TEST_DELIVERIES = statement<{ id: number }>({
  name: "planning.tests",
  text: `insert into deliveries (kind, dedupe_key, channel_id, state, created_at, attempt_count, next_try_at)
    select 'test', gen_random_uuid(), target.id, 'pending', $2::timestamptz, 0, ${AT_ONCE}
    from channels ch ${TARGETS}
    where ch.id = $1 and target.id is not null
    order by target.id
    returning id`,
});

/** Inserts a test for a channel, or for each member of a group, even if disabled; returns the ids. */
export async function insertTestDeliveries(
  tx: Tx,
  { channelId, at }: { channelId: number; at: Instant },
): Promise<number[]> {
  return (await tx.query(INSERT_TEST_DELIVERIES, [channelId, toTimestamp(at)])).rows.map(({ id }) => id);
}

/** A channel to notify about an alert. */
export type Recipient = { alertId: number; channelId: number; groupId: number | null };

const LIST_RECIPIENTS = statement<{ alert_id: number; channel_id: number; group_id: number | null }>({
  name: "planning.recipients",
  text: `with n as (select * from unnest($1::bigint[], $2::bigint[]) as n (alert_id, check_id)), routed as (
      select n.alert_id, cc.channel_id from n join check_channels cc on cc.check_id = n.check_id
      union
      select * from unnest($3::bigint[], $4::bigint[]) as added (alert_id, channel_id)
    )
    select distinct on (routed.alert_id, target.id) routed.alert_id, target.id as channel_id, target.group_id
    from routed join channels ch on ch.id = routed.channel_id and ch.disabled_at is null ${TARGETS}
    where target.id is not null
    order by routed.alert_id, target.id, target.group_id`,
});

/** The channels to notify about alerts that are part of a group. */
export async function listRecipients(
  tx: Tx,
  {
    alerts,
    added,
  }: {
    alerts: readonly { alertId: number; checkId: number }[];
    added: readonly { alertId: number; channelId: number }[];
  },
): Promise<Recipient[]> {
  const { rows } = await tx.query(LIST_RECIPIENTS, [
    toNumberArray(alerts.map(({ alertId }) => alertId)),
    toNumberArray(alerts.map(({ checkId }) => checkId)),
    toNumberArray(added.map(({ alertId }) => alertId)),
    toNumberArray(added.map(({ channelId }) => channelId)),
  ]);
  return rows.map((row) => ({ alertId: row.alert_id, channelId: row.channel_id, groupId: row.group_id }));
}

/** The group messages of an incident to a channel so far. */
export type GroupQueue = {
  incidentId: number;
  channelId: number;
  /** A message that is not being sent and takes more alerts; null: there is none. */
  openId: number | null;
  lastSentAt: Instant | null;
};

// Locked in id order, as settling does, so that none is claimed meanwhile.
const LOCK_GROUP_DELIVERIES = statement<{
  id: number;
  incident_id: number;
  channel_id: number;
}>({
  name: "planning.lock_groups",
  text: `select id, incident_id, channel_id from deliveries
    where incident_id = any ($1::bigint[]) and kind = 'group' and state = 'pending' and message_id is null
    order by id for update`,
});

const LAST_GROUP_SENT = statement<{ incident_id: number; channel_id: number; sent_at: Instant }>({
  name: "planning.last_group_sent",
  text: `select incident_id, channel_id, max(settled_at) as sent_at from deliveries
    where incident_id = any ($1::bigint[]) and kind = 'group' and state = 'sent'
    group by incident_id, channel_id`,
});

/** The group messages of these incidents, with those that take more alerts locked. */
export async function lockGroupQueues(tx: Tx, incidentIds: readonly number[]): Promise<GroupQueue[]> {
  const ids = toNumberArray(incidentIds);
  const [open, sent] = await Promise.all([
    tx.query(LOCK_GROUP_DELIVERIES, [ids]),
    tx.query(LAST_GROUP_SENT, [ids]),
  ]);
  const queues = new Map<string, GroupQueue>();
  for (const row of sent.rows) {
    const { incident_id: incidentId, channel_id: channelId, sent_at: lastSentAt } = row;
    queues.set(`${incidentId} ${channelId}`, { incidentId, channelId, openId: null, lastSentAt });
  }
  for (const { id, incident_id: incidentId, channel_id: channelId } of open.rows) {
    const known = queues.get(`${incidentId} ${channelId}`);
    const lastSentAt = known?.lastSentAt ?? null;
    queues.set(`${incidentId} ${channelId}`, { incidentId, channelId, openId: id, lastSentAt });
  }
  return [...queues.values()];
}

const INSERT_GROUP_DELIVERIES = statement<{ id: number }>({
  name: "planning.groups",
  text: `insert into deliveries (kind, dedupe_key, channel_id, group_id, incident_id, state, created_at, attempt_count,
      next_try_at)
    select 'group', gen_random_uuid(), n.channel_id, n.group_id, n.incident_id, 'pending', $5::timestamptz, 0,
      ${sqlInstant("n.due_at")}
    from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
      with ordinality as n (incident_id, channel_id, group_id, due_at, position)
    order by n.position
    returning id`,
});

export type NewGroupDelivery = {
  incidentId: number;
  channelId: number;
  groupId: number | null;
  dueAt: Instant;
};

/** Inserts group messages; returns their ids in the same order. */
export async function insertGroupDeliveries(
  tx: Tx,
  { deliveries, at }: { deliveries: readonly NewGroupDelivery[]; at: Instant },
): Promise<number[]> {
  const { rows } = await tx.query(INSERT_GROUP_DELIVERIES, [
    toNumberArray(deliveries.map(({ incidentId }) => incidentId)),
    toNumberArray(deliveries.map(({ channelId }) => channelId)),
    toNumberArray(deliveries.map(({ groupId }) => groupId)),
    toNumberArray(deliveries.map(({ dueAt }) => dueAt)),
    toTimestamp(at),
  ]);
  return rows.map(({ id }) => id);
}

export type ListedAlert = { deliveryId: number; alertId: number; change: "opened" | "closed" };

const LIST_IN_DELIVERIES = statement({
  name: "planning.list_alerts",
  text: `insert into delivery_alerts (delivery_id, alert_id, change)
    select * from unnest($1::bigint[], $2::bigint[], $3::text[]) on conflict do nothing`,
});

/** Adds alerts to group messages. */
export async function addToDeliveries(tx: Tx, alerts: readonly ListedAlert[]): Promise<void> {
  await tx.query(LIST_IN_DELIVERIES, [
    toNumberArray(alerts.map(({ deliveryId }) => deliveryId)),
    toNumberArray(alerts.map(({ alertId }) => alertId)),
    toTextArray(alerts.map(({ change }) => change)),
  ]);
}

/** Where the opening of an alert is listed. */
export type ListedOpening = {
  alertId: number;
  deliveryId: number;
  channelId: number;
  groupId: number | null;
  /**
   * `unsaid`: not sent so far. `claimed`: a sender has it, and sends or holds it. `said`: it was, or may have been, sent,
   * or the channel gets only recoveries. `over`: given up, or withdrawn.
   */
  state: "unsaid" | "claimed" | "said" | "over";
};

const LIST_OPENINGS = statement<{
  alert_id: number;
  delivery_id: number;
  channel_id: number;
  group_id: number | null;
  state: ListedOpening["state"];
}>({
  name: "planning.openings",
  text: `select da.alert_id, d.id as delivery_id, d.channel_id, d.group_id,
      case when d.state = 'pending' and d.claimed_until_at > $2 then 'claimed'
        when d.state in ('sent', 'skipped') or (d.state in ('pending', 'dead') and d.message_id is not null) then 'said'
        when d.state = 'pending' then 'unsaid' else 'over' end as state
    from delivery_alerts da join deliveries d on d.id = da.delivery_id
    where da.alert_id = any ($1::bigint[]) and da.change = 'opened'
    order by d.id`,
});

/** The group messages that say, or will say, that these alerts opened. A claim counts that ends after an instant. */
export async function listOpenings(
  tx: Tx,
  { alertIds, claimedAfter }: { alertIds: readonly number[]; claimedAfter: Instant },
): Promise<ListedOpening[]> {
  const { rows } = await tx.query(LIST_OPENINGS, [toNumberArray(alertIds), toTimestamp(claimedAfter)]);
  return rows.map((row) => ({
    alertId: row.alert_id,
    deliveryId: row.delivery_id,
    channelId: row.channel_id,
    groupId: row.group_id,
    state: row.state,
  }));
}

const REMOVE_OPENINGS = statement({
  name: "planning.remove_openings",
  text: `delete from delivery_alerts da using unnest($1::bigint[], $2::bigint[]) as n (delivery_id, alert_id)
    where da.delivery_id = n.delivery_id and da.alert_id = n.alert_id and da.change = 'opened'`,
});

const WITHDRAW_EMPTY = statement({
  name: "planning.withdraw_empty",
  text: `update deliveries d set state = 'withdrawn', settled_at = $2, next_try_at = null,
      reason = 'The checks have recovered before it was sent'
    where d.id = any ($1::bigint[]) and d.state = 'pending' and d.message_id is null
      and not exists (select from delivery_alerts where delivery_id = d.id)`,
});

/** Removes openings from unsent messages, which are withdrawn if they are empty then. */
export async function removeOpenings(
  tx: Tx,
  { openings, at }: { openings: readonly { deliveryId: number; alertId: number }[]; at: Instant },
): Promise<void> {
  const deliveryIds = toNumberArray(openings.map(({ deliveryId }) => deliveryId));
  await tx.query(REMOVE_OPENINGS, [deliveryIds, toNumberArray(openings.map(({ alertId }) => alertId))]);
  await tx.query(WITHDRAW_EMPTY, [deliveryIds, toTimestamp(at)]);
}

const RESCHEDULE_GROUPS = statement({
  name: "planning.reschedule_groups",
  text: `update deliveries d set next_try_at = ${sqlInstant("n.due_at")}
    from unnest($1::bigint[], $2::bigint[]) as n (incident_id, due_at)
    where d.incident_id = n.incident_id and d.kind = 'group' and d.state = 'pending' and d.message_id is null`,
});

/** Sets when unsent group messages of incidents are due. */
export async function rescheduleGroups(
  tx: Tx,
  due: readonly { incidentId: number; dueAt: Instant }[],
): Promise<void> {
  await tx.query(RESCHEDULE_GROUPS, [
    toNumberArray(due.map(({ incidentId }) => incidentId)),
    toNumberArray(due.map(({ dueAt }) => dueAt)),
  ]);
}

const HASTEN_GROUPS = statement({
  name: "planning.hasten_groups",
  text: `update deliveries d set next_try_at = least(d.next_try_at, ${sqlInstant("n.due_at")})
    from unnest($1::bigint[], $2::bigint[]) as n (id, due_at)
    where d.id = n.id and d.state = 'pending' and d.message_id is null`,
});

/** Makes unsent group messages due earlier, unless they are. */
export async function hastenGroups(
  tx: Tx,
  due: readonly { deliveryId: number; dueAt: Instant }[],
): Promise<void> {
  await tx.query(HASTEN_GROUPS, [
    toNumberArray(due.map(({ deliveryId }) => deliveryId)),
    toNumberArray(due.map(({ dueAt }) => dueAt)),
  ]);
}

const FIND_BY_KEY = statement<{ id: number; project_id: number; key: string; opened_at: Instant }>({
  name: "planning.find_by_key",
  text: `select i.id, i.project_id, i.key, i.opened_at
    from unnest($1::bigint[], $2::text[]) as n (project_id, key)
      join incidents i on i.project_id = n.project_id and i.key = n.key and i.state <> 'resolved'
    order by i.id`,
});

/** Open incidents of projects by what their checks have in common. */
export async function findIncidentsByKey(
  tx: Tx,
  keys: readonly { projectId: number; key: string }[],
): Promise<{ id: number; projectId: number; key: string; openedAt: Instant }[]> {
  const { rows } = await tx.query(FIND_BY_KEY, [
    toNumberArray(keys.map(({ projectId }) => projectId)),
    toTextArray(keys.map(({ key }) => key)),
  ]);
  return rows.map((row) => ({
    id: row.id,
    projectId: row.project_id,
    key: row.key,
    openedAt: row.opened_at,
  }));
}

/** The last incident of a check, and when it was reopened in the last hour. */
export type LastIncident = {
  checkId: number;
  /** The newest alert of the check in it. */
  alertId: number;
  closedAt: Instant | null;
  incidentId: number;
  resolvedAt: Instant | null;
  flappingAt: Instant | null;
  reopenedAts: readonly Instant[];
};

const FIND_LAST_INCIDENTS = statement<{
  check_id: number;
  alert_id: number;
  closed_at: Instant | null;
  id: number;
  resolved_at: Instant | null;
  flapping_at: Instant | null;
  reopened: number[] | null;
}>({
  name: "planning.last_incidents",
  text: `select n.check_id, last.id as alert_id, last.closed_at, i.id, i.resolved_at, i.flapping_at, (
        select array_agg((extract(epoch from e.at) * 1000)::bigint) from incident_events e
        where e.incident_id = i.id and e.kind = 'reopened' and e.at > $2
      ) as reopened
    from unnest($1::bigint[]) as n (check_id) cross join lateral (
      select id, closed_at, incident_id from alerts where check_id = n.check_id and incident_id is not null
      order by id desc limit 1
    ) as last join incidents i on i.id = last.incident_id`,
});

/** The last incident of each of these checks that has had one. */
export async function findLastIncidents(
  tx: Tx,
  { checkIds, reopenedSince }: { checkIds: readonly number[]; reopenedSince: Instant },
): Promise<LastIncident[]> {
  const values = [toNumberArray(checkIds), toTimestamp(reopenedSince)];
  return (await tx.query(FIND_LAST_INCIDENTS, values)).rows.map((row) => ({
    checkId: row.check_id,
    alertId: row.alert_id,
    closedAt: row.closed_at,
    incidentId: row.id,
    resolvedAt: row.resolved_at,
    flappingAt: row.flapping_at,
    reopenedAts: row.reopened ?? [],
  }));
}

const REOPEN_INCIDENTS = statement({
  name: "planning.reopen",
  text: `update incidents i set state = 'open', resolved_at = null, acknowledged_at = null, acknowledged_by = null,
      acknowledged_by_channel = null, reopen_count = i.reopen_count + 1,
      flapping_at = coalesce(i.flapping_at, ${sqlInstant("n.flapping_at")}),
      next_step_at = ${sqlInstant("n.next_step_at")}
    from unnest($1::bigint[], $2::bigint[], $3::bigint[]) as n (id, flapping_at, next_step_at)
    where i.id = n.id`,
});

/** Opens incidents again. */
export async function reopenIncidents(
  tx: Tx,
  incidents: readonly { incidentId: number; flappingAt: Instant | null; nextStepAt: Instant | null }[],
): Promise<void> {
  await tx.query(REOPEN_INCIDENTS, [
    toNumberArray(incidents.map(({ incidentId }) => incidentId)),
    toNumberArray(incidents.map(({ flappingAt }) => flappingAt)),
    toNumberArray(incidents.map(({ nextStepAt }) => nextStepAt)),
  ]);
}

const RAISE_INCIDENTS = statement<{ id: number }>({
  name: "planning.raise",
  text: `update incidents i set severity = n.severity, state = 'open', acknowledged_at = null, acknowledged_by = null,
      acknowledged_by_channel = null, next_step_at = ${AT_ONCE}
    from unnest($1::bigint[], $2::text[]) as n (id, severity)
    where i.id = n.id and i.state <> 'resolved'
      and array_position(array['low', 'normal', 'high'], n.severity)
        > array_position(array['low', 'normal', 'high'], i.severity)
    returning i.id`,
});

/** Raises the severity of incidents, which ends an acknowledgement; returns those that had a lower one. */
export async function raiseIncidents(
  tx: Tx,
  incidents: readonly { incidentId: number; severity: Severity }[],
): Promise<number[]> {
  const { rows } = await tx.query(RAISE_INCIDENTS, [
    toNumberArray(incidents.map(({ incidentId }) => incidentId)),
    toTextArray(incidents.map(({ severity }) => severity)),
  ]);
  return rows.map(({ id }) => id);
}

/** A check that others depend on. */
export type ParentRow = {
  checkId: number;
  status: StoredStatus;
  downAt: Instant | null;
  problem: string | null;
  /** An enabled channel is assigned. */
  hasChannel: boolean;
  /** Its open alert. */
  alert: {
    incidentId: number | null;
    /** It was combined with others. */
    isCombined: boolean;
    heldBy: string | null;
    planAt: Instant;
    hasDelivery: boolean;
  } | null;
};

const LIST_PARENTS = statement<{
  check_id: number;
  status: StoredStatus;
  down_at: Instant | null;
  problem: string | null;
  alert_id: number | null;
  incident_id: number | null;
  is_combined: boolean;
  held_by: string | null;
  plan_at: Instant;
  has_delivery: boolean;
  has_channel: boolean;
}>({
  name: "planning.parents",
  text: `select s.check_id, s.status, s.down_at, s.judged ->> 'problem' as problem, a.id as alert_id, a.incident_id,
      exists (select from incidents i where i.id = a.incident_id and i.key is not null) as is_combined,
      a.held_by, a.plan_at, exists (
        select from deliveries d
        where d.flip_id = a.opened_flip_id and d.kind = 'flip' and (d.alert_id = a.id or d.alert_id is null)
          and d.state in ('pending', 'sent', 'merged')
        union all
        select from delivery_alerts da join deliveries d on d.id = da.delivery_id
        where da.alert_id = a.id and d.state in ('pending', 'sent')
      ) as has_delivery, exists (
        select from check_channels cc join channels ch on ch.id = cc.channel_id and ch.disabled_at is null
        where cc.check_id = s.check_id
      ) as has_channel
    from check_states s left join alerts a on a.check_id = s.check_id and a.closed_at is null
    where s.check_id = any ($1::bigint[])`,
});

/** These checks as parents of others. */
export async function listParents(tx: Tx, checkIds: readonly number[]): Promise<ParentRow[]> {
  return (await tx.query(LIST_PARENTS, [toNumberArray(checkIds)])).rows.map((row) => ({
    checkId: row.check_id,
    status: row.status,
    downAt: row.down_at,
    problem: row.problem,
    hasChannel: row.has_channel,
    alert:
      row.alert_id === null
        ? null
        : {
            incidentId: row.incident_id,
            isCombined: row.is_combined,
            heldBy: row.held_by,
            planAt: row.plan_at,
            hasDelivery: row.has_delivery,
          },
  }));
}

const LIST_OVER = statement<{ incident_id: number }>({
  name: "planning.list_over",
  text: `select incident_id from alerts where incident_id = any ($1::bigint[])
    group by incident_id
    having bool_and(closed_at is not null and (planned_at is not null or id = any ($2::bigint[])))`,
});

/** Those of these incidents whose alerts are all closed and planned, or being planned. */
export async function listOverIncidents(
  tx: Tx,
  { incidentIds, planningIds }: { incidentIds: readonly number[]; planningIds: readonly number[] },
): Promise<Set<number>> {
  const { rows } = await tx.query(LIST_OVER, [toNumberArray(incidentIds), toNumberArray(planningIds)]);
  return new Set(rows.map((row) => row.incident_id));
}

const LIST_QUEUED_CHECKS = statement<{ incident_id: number; check_id: number }>({
  name: "planning.queued_checks",
  text: `select distinct d.incident_id, a.check_id
    from deliveries d join incidents i on i.id = d.incident_id and i.key is null
      join delivery_alerts da on da.delivery_id = d.id and da.change = 'opened'
      join alerts a on a.id = da.alert_id and a.closed_at is null
    where d.incident_id = any ($1::bigint[]) and d.kind = 'group' and d.state = 'pending' and d.message_id is null`,
});

/**
 * Checks that are down and named in unsent group messages of incidents. Where checks are combined by what they have in
 * common, none waits for another.
 */
export async function listQueuedChecks(
  tx: Tx,
  incidentIds: readonly number[],
): Promise<{ incidentId: number; checkId: number }[]> {
  const { rows } = await tx.query(LIST_QUEUED_CHECKS, [toNumberArray(incidentIds)]);
  return rows.map((row) => ({ incidentId: row.incident_id, checkId: row.check_id }));
}
