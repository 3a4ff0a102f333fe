-- Fire drills: a simulated outage that takes the path of a real alert. A drill has a check of its own in a project of
-- its own, which has no members and is removed with it. Everything that is listed by project or by member leaves it
-- out, also in the previous release. Its channels belong to the project that the drill is for; a notifier sends
-- nothing about a check of another project unless a row here allows it.

create table fire_drills (
  id               bigint generated always as identity primary key,
  uuid             uuid not null unique,
  project_id       bigint not null references projects on delete cascade,
  -- The project and the check of the drill; null after they were removed.
  drill_project_id bigint,
  check_id         bigint,
  -- The check that it simulates; null: one with all channels of the project. The name is kept if it is deleted.
  as_check_id      bigint,
  as_name          text not null,
  -- False: messages are rendered and not sent.
  is_sent          boolean not null,
  is_scheduled     boolean not null,
  account_id       bigint,
  -- What the policy of the check would do in addition, in sentences.
  notes            text[] not null,
  started_at       timestamptz not null,
  deadline_at      timestamptz not null,
  found_at         timestamptz,
  written_at       timestamptz,
  planned_at       timestamptz,
  held_reason      text,
  held_until_at    timestamptz,
  -- When the problem was closed again.
  closed_at        timestamptz,
  ended_at         timestamptz,
  outcome          text check (outcome in ('ok', 'failed', 'held', 'nobody', 'timedOut')),
  constraint ended_has_outcome check ((ended_at is null) = (outcome is null)),
  constraint drill_check_whole check ((check_id is null) = (drill_project_id is null))
);
comment on table fire_drills is 'Simulated outages and their results. Bounded: FIRE_DRILLS_KEPT for each project.';
create unique index fire_drills_running on fire_drills (project_id) where ended_at is null;
comment on index fire_drills_running is 'Guards one fire drill at a time for each project.';
create index fire_drills_project on fire_drills (project_id, id);
comment on index fire_drills_project is 'Readers: fire_drills.list, fire_drills.trim.';
create unique index fire_drills_check on fire_drills (check_id) where check_id is not null;
comment on index fire_drills_check is 'Readers: fire_drills.lock_next, fire_drills.find_of_checks, planning.alerts.';

create table fire_drill_messages (
  drill_id      bigint not null references fire_drills on delete cascade,
  channel_id    bigint not null,
  channel_uuid  uuid not null,
  channel_kind  text not null,
  channel_name  text not null,
  claimed_at    timestamptz,
  rendered_at   timestamptz,
  answered_at   timestamptz,
  outcome       text not null check (outcome in ('notSent', 'sent', 'retrying', 'failed', 'skipped')),
  reason        text,
  code          integer,
  title         text,
  body          text,
  requests      jsonb,
  -- The message that closes the problem again.
  closed_at     timestamptz,
  close_outcome text check (close_outcome in ('notSent', 'sent', 'retrying', 'failed', 'skipped')),
  close_reason  text,
  primary key (drill_id, channel_id)
);
comment on table fire_drill_messages is 'Channels of a fire drill: what they got, or why not. Goes with its drill.';

create table fire_drill_schedules (
  project_id  bigint primary key references projects on delete cascade,
  -- Monday is 0.
  weekday     integer not null,
  minute      integer not null,
  tz          text not null,
  as_check_id bigint,
  is_sent     boolean not null,
  account_id  bigint,
  next_at     timestamptz not null
);
comment on table fire_drill_schedules is 'Weekly fire drills. Bounded by the projects.';
create index fire_drill_schedules_next on fire_drill_schedules (next_at);
comment on index fire_drill_schedules_next is 'Readers: fire_drills.has_work, fire_drill_schedules.lock_due.';

-- When the sweeper found the missed deadline, and wrote the alert. Null: a ping or the previous release opened it.
alter table alerts
  add column found_at   timestamptz,
  add column written_at timestamptz;

-- Set for messages of a fire drill: they are not part of the delivery log.
alter table deliveries add column fire_drill text check (fire_drill in ('quiet', 'sent'));
