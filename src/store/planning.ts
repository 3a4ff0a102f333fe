// Creates deliveries: of alerts, by the planner; of notices and tests, with what they are about.
import type { Instant, Interval } from "../core/instant.ts";
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
      created_at, attempt_count, next_try_at)
    select 'flip', gen_random_uuid(), r.channel_id, r.group_id, n.check_id, n.flip_id, n.alert_id, n.incident_id,
      'pending', $8::timestamptz, 0, ${AT_ONCE}
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
    update deliveries d set state = 'withdrawn', settled_at = $3, next_try_at = null,
      reason = 'Corrected before it was sent'
    from held where d.id = held.id`,
});

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
  await tx.query(WITHDRAW, [alertIds, flipIds, toTimestamp(at)]);
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

export type Severity = "low" | "normal" | "high";

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
  text: `update incidents i set state = 'resolved', resolved_at = coalesce(last.closed_at, i.opened_at), next_step_at = null
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
