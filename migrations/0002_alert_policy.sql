-- Alert policy: how runs are judged, alerts as the record of what has to be notified, incidents, silences.
--
-- Every new column is nullable or has a constant default, and means the behavior of the previous release where it is
-- null. Processes of the previous release write flips with their deliveries and no alerts; the new release recognizes
-- both (store/alerts.ts).

-- 1. Judging runs

alter table checks
  -- The policy set for this check; fields that are absent are inherited.
  add column policy jsonb,
  -- What the state machine needs of the effective policy: thresholds and run limits. Null: the defaults. Derived from
  -- the policies of the check, its tags and its project, so that recording a ping reads no other table.
  add column rules jsonb;

alter table check_states
  -- Judged outcomes, while they matter: a window of outcomes, missed runs in a row, whether the problem is tolerated or
  -- recovering, and the start of the last run. Null: nothing to remember, and an alert is open exactly while the check
  -- is down.
  add column judged jsonb;

alter table flips drop constraint flips_reason_check;
alter table flips add constraint flips_reason_check
  check (reason in ('success', 'fail', 'timeout', 'tooFast', 'tooOften')) not valid;

-- 2. Policies of projects and tags

alter table projects
  add column policy jsonb,
  -- Whether problem notifications contain a link to acknowledge them.
  add column has_ack_links boolean not null default true,
  -- Number of the newest incident.
  add column incident_count bigint not null default 0;

create table tag_rules (
  project_id  bigint not null references projects on delete cascade,
  position    integer not null,
  tag         text not null,
  policy      jsonb not null,
  -- Channels that are notified for checks with the tag, in addition to those assigned.
  channel_ids bigint[] not null,
  primary key (project_id, position)
);
comment on table tag_rules is 'Policies and channels by tag, in order. Bounded: TAG_RULES_MAX for each project.';

create table check_parents (
  check_id  bigint not null references checks on delete cascade,
  parent_id bigint not null references checks on delete cascade,
  primary key (check_id, parent_id)
);
comment on table check_parents is 'A check depends on its parents. Bounded: PARENTS_MAX for each check.';
create index check_parents_parent on check_parents (parent_id);
comment on index check_parents_parent is 'Readers: policies.delete_links, and the foreign key.';

-- 3. Silences

create table silences (
  id                 bigint generated always as identity primary key,
  uuid               uuid not null unique,
  project_id         bigint not null references projects on delete cascade,
  -- The scope: these checks, checks with this tag, or all checks of the project.
  check_ids          bigint[],
  tag                text,
  reason             text not null,
  -- Null: created with an API key.
  account_id         bigint,
  created_at         timestamptz not null,
  -- Once: from and until. Recurring: from each firing of the schedule, for the duration.
  from_at            timestamptz not null,
  until_at           timestamptz,
  until_success      boolean not null,
  schedule           text,
  tz                 text,
  duration_seconds   integer,
  hold_after_seconds integer not null,
  -- When somebody ended it.
  ended_at           timestamptz,
  -- When its current or next window ends: problems that were notified before it are notified again. Null: not known yet.
  ends_at            timestamptz,
  version            integer not null,
  constraint once_or_recurring check (
    (schedule is null) = (until_at is not null) and (schedule is null) = (duration_seconds is null)
    and (schedule is null) = (tz is null)
  ),
  constraint one_scope check (check_ids is null or tag is null)
);
comment on table silences is
  'Times in which no notifications are sent. Bounded: SILENCES_MAX that have not ended for each project; ended ones by age.';
create index silences_project on silences (project_id, id);
comment on index silences_project is 'Readers: silences.list, silences.list_current.';
create index silences_end on silences (ends_at) where ends_at is not null;
comment on index silences_end is 'Readers: steps.has_due, steps.claim_silences.';

-- 4. Incidents and alerts

create table incidents (
  id                      bigint generated always as identity primary key,
  project_id              bigint not null,
  -- Within the project, from 1.
  number                  bigint not null,
  -- What its checks have in common: a source address, a tag, the project, or a parent. Null: an incident of one check.
  key                     text,
  state                   text not null check (state in ('open', 'acknowledged', 'resolved')),
  severity                text not null check (severity in ('low', 'normal', 'high')),
  opened_at               timestamptz not null,
  acknowledged_at         timestamptz,
  -- Who acknowledged: an account, or the link sent to a channel.
  acknowledged_by         bigint,
  acknowledged_by_channel bigint,
  resolved_at             timestamptz,
  -- When a repeat is due, or an acknowledgement ends. Null: nothing is due.
  next_step_at            timestamptz,
  reopen_count            integer not null,
  -- Since when it has been flapping.
  flapping_at             timestamptz,
  constraint resolved_has_time check ((state = 'resolved') = (resolved_at is not null)),
  constraint acknowledged_has_time check (state <> 'acknowledged' or acknowledged_at is not null),
  unique (project_id, number)
);
comment on table incidents is 'Alerts that are handled together. Bounded by age after they were resolved.';
comment on index incidents_project_id_number_key is 'Readers: incidents.find, incidents.list.';
create index incidents_open on incidents (project_id, id) where state <> 'resolved';
comment on index incidents_open is 'Readers: incidents.list_open, incidents.count_open, planning.find_by_key.';
create index incidents_step on incidents (next_step_at) where next_step_at is not null;
comment on index incidents_step is 'Readers: steps.has_due, steps.claim_incidents.';

create table incident_events (
  id          bigint generated always as identity primary key,
  incident_id bigint not null references incidents on delete cascade,
  at          timestamptz not null,
  kind        text not null,
  account_id  bigint,
  channel_id  bigint,
  detail      jsonb not null
);
comment on table incident_events is 'The timeline of an incident: acknowledgements, notes and the like. Goes with its incident.';
create index incident_events_incident on incident_events (incident_id, id);
comment on index incident_events_incident is 'Reader: incidents.list_events.';

create table alerts (
  id             bigint generated always as identity primary key,
  check_id       bigint not null,
  -- Null until the opening is planned.
  incident_id    bigint,
  cause          text not null check (cause in ('failed', 'missed', 'overrun', 'tooFast', 'tooOften')),
  opened_at      timestamptz not null,
  -- The flip to down that began the problem. It can be older than the alert.
  opened_flip_id bigint not null,
  closed_at      timestamptz,
  close_cause    text check (close_cause in ('recovered', 'paused', 'takenBack', 'resolved', 'deleted', 'moved')),
  closed_flip_id bigint,
  -- When notifications about the opening were planned.
  notified_at    timestamptz,
  -- Null: the planner still has to create the notifications about the opening or the closing. It looks at plan_at, which
  -- lies in 1970 unless a rule holds the alert.
  planned_at     timestamptz,
  plan_at        timestamptz not null,
  -- The rule that holds the alert, or because of which nothing was sent.
  held_by        text check (held_by in ('silence', 'dependency', 'flapping', 'group')),
  silence_id     bigint,
  dropped_at     timestamptz,
  constraint closed_whole check ((closed_at is null) = (close_cause is null))
);
comment on table alerts is
  'Confirmed problems of checks, written with the state. An unplanned alert is a debt. Bounded by age after they were closed.';
create unique index alerts_open on alerts (check_id) where closed_at is null;
comment on index alerts_open is 'Guards one open alert for each check. Readers: alerts.close, planning.parents.';
create index alerts_unplanned on alerts (plan_at, id) where planned_at is null;
comment on index alerts_unplanned is 'Readers: alerts.has_unplanned, alerts.claim.';
create index alerts_check on alerts (check_id, id desc);
comment on index alerts_check is 'Reader: planning.last_incidents.';
create index alerts_incident on alerts (incident_id, id) where incident_id is not null;
comment on index alerts_incident is 'Readers: incidents.list_alerts, steps.list_alerts.';

-- 5. Deliveries of alerts

alter table deliveries
  add column alert_id      bigint,
  add column incident_id   bigint,
  -- A silence that began before the message was sent held it until then.
  add column held_until_at timestamptz,
  drop constraint deliveries_kind_check,
  drop constraint about_one_thing;
-- repeat: the problem is still open. group: alerts of several checks, listed in delivery_alerts.
alter table deliveries
  add constraint deliveries_kind_check
    check (kind in ('flip', 'correction', 'repeat', 'group', 'notice', 'disabled', 'operator', 'test')) not valid,
  add constraint about_one_thing check (
    (kind in ('flip', 'correction', 'repeat')) = (flip_id is not null)
    and (kind in ('flip', 'correction', 'repeat')) = (check_id is not null)
    and (kind = 'group') = (check_id is null and incident_id is not null)
    and (kind = 'notice') = (blind_from_at is not null)
    and (kind = 'notice') = (blind_to_at is not null)
    and (kind in ('disabled', 'operator')) = (about is not null)
  ) not valid;

-- A flip can belong to two alerts: one that somebody resolved while the check was down, and the next one.
drop index deliveries_flip;
create index deliveries_flip on deliveries (flip_id) where flip_id is not null;
comment on index deliveries_flip is 'Readers: deliveries.list_of_flip, planning.withdraw, planning.parents, steps.insert_repeats.';
create unique index deliveries_flip_once on deliveries (flip_id, channel_id, kind)
  where flip_id is not null and alert_id is null;
comment on index deliveries_flip_once is
  'Guards one message, and one correction, for each flip and channel planned by the previous release.';
create unique index deliveries_alert_once on deliveries (alert_id, flip_id, channel_id, kind)
  where alert_id is not null and kind in ('flip', 'correction');
comment on index deliveries_alert_once is 'Guards one message about the opening, the closing and a correction of an alert, for each channel.';
create index deliveries_incident on deliveries (incident_id, channel_id, id) where incident_id is not null;
comment on index deliveries_incident is 'Readers: incidents.list_deliveries, planning.lock_groups, steps.claim_incidents.';

create table delivery_alerts (
  delivery_id bigint not null,
  alert_id    bigint not null,
  -- What the message says about the alert.
  change      text not null check (change in ('opened', 'closed')),
  primary key (delivery_id, alert_id, change)
);
comment on table delivery_alerts is 'Which alerts a group message is about. Goes with its delivery.';
create index delivery_alerts_alert on delivery_alerts (alert_id);
comment on index delivery_alerts_alert is 'Readers: planning.openings, message_facts.list_group, alerts.prune.';

-- Checks that are down now have been notified by the previous release.
with down as (
  select s.check_id, c.project_id, f.id as flip_id, f.at, f.reason,
    p.incident_count + row_number() over (partition by c.project_id order by f.at, s.check_id) as number
  from check_states s
    join checks c on c.id = s.check_id and c.deleted_at is null
    join projects p on p.id = c.project_id
    cross join lateral (
      select id, at, reason from flips
      where check_id = s.check_id and to_status = 'down' and taken_back_at is null
      order by at desc, id desc limit 1
    ) as f
  where s.status = 'down'
), opened as (
  insert into incidents (project_id, number, state, severity, opened_at, reopen_count)
  select project_id, number, 'open', 'normal', at, 0 from down
  returning id, project_id, number
), numbered as (
  update projects p set incident_count = last.number
  from (select project_id, max(number) as number from opened group by project_id) as last
  where p.id = last.project_id
)
insert into alerts (check_id, incident_id, cause, opened_at, opened_flip_id, notified_at, planned_at, plan_at)
select d.check_id, o.id, case when d.reason = 'fail' then 'failed' else 'missed' end, d.at, d.flip_id, d.at, d.at,
  to_timestamp(0)
from down d join opened o on o.project_id = d.project_id and o.number = d.number;
