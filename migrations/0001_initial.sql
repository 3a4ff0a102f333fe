-- The first schema: who may do what, the checks with their running state, what is owed to whom, and the
-- clockwork of receiving. The signal log and the history are in the next file.
--
-- Conventions, here and in every later migration:
-- * `id` is internal (narrow rows, one lock order); `uuid` is what outsiders see.
-- * Instants are timestamptz, end in _at and are parameters of the statements; nothing here reads a clock.
-- * Tables that are written while signals are recorded have no foreign keys: a key that vanishes at the
--   wrong moment must never make a signal fail. Who deletes the parent deletes their rows.
-- * What is bounded by age is pruned from the lowest id on, which needs no index on its time.
-- * Every table and every index says who reads it.

create table migration_checksums (
  name     text primary key,
  checksum text not null
);
comment on table migration_checksums is
  'Digest of each applied migration, so that an altered one is refused. Read when a process starts.';

create table instance_settings (
  name  text primary key,
  value text not null
);
comment on table instance_settings is
  'What the installation itself must remember. Bounded: a handful of names. Read at start.';

-- Three random UUIDs hold 366 random bits, more than the 256 that the digest keeps.
insert into instance_settings (name, value)
values (
  'secret_key',
  encode(sha256(convert_to(concat(gen_random_uuid(), gen_random_uuid(), gen_random_uuid()), 'UTF8')), 'hex')
);

create table accounts (
  id             bigint generated always as identity primary key,
  uuid           uuid not null unique,
  email          text not null unique check (email = lower(email)),
  name           text not null,
  is_operator    boolean not null,
  -- Null: the instance's own limit applies.
  check_limit    integer check (check_limit >= 0),
  ping_log_limit integer check (ping_log_limit > 0),
  created_at     timestamptz not null
);
comment on table accounts is 'People who sign in, and the limits of what they own. Bounded by their number.';

create table projects (
  id         bigint generated always as identity primary key,
  uuid       uuid not null unique,
  name       text not null,
  -- Readable, because ping URLs show it; null when the project has none.
  ping_key   text unique,
  badge_key  text not null unique,
  created_at timestamptz not null
);
comment on table projects is 'A project owns checks, channels and keys. Bounded by what people create.';
comment on index projects_ping_key_key is 'Reader: checks.find_by_slug, for pings by key and slug.';
comment on index projects_badge_key_key is 'Reader: projects.find_by_badge_key, for badges of tags.';

create table members (
  project_id bigint not null references projects on delete cascade,
  account_id bigint not null references accounts,
  role       text not null check (role in ('owner', 'manager', 'member', 'readOnly')),
  created_at timestamptz not null,
  primary key (project_id, account_id)
);
comment on table members is 'Who may enter a project, and as what; its owner too. Bounded by people times projects.';
create unique index members_one_owner on members (project_id) where role = 'owner';
comment on index members_one_owner is 'Guards that a project has one owner. Reader: projects.find_owner, for limits.';
create index members_account on members (account_id);
comment on index members_account is 'Reader: projects.list_of_account, and the count of checks that an owner has.';

create table api_keys (
  id           bigint generated always as identity primary key,
  project_id   bigint not null references projects on delete cascade,
  kind         text not null check (kind in ('readWrite', 'readOnly')),
  name         text not null,
  -- The beginning of the key, to recognise it by; the rest exists only as a digest.
  prefix       text not null,
  digest       bytea not null unique check (octet_length(digest) = 32),
  created_at   timestamptz not null,
  last_used_at timestamptz,
  revoked_at   timestamptz
);
comment on table api_keys is 'Keys of the Management API, hashed. Bounded by what people create; revoked ones are pruned.';
comment on index api_keys_digest_key is 'Reader: keys.find_by_digest, on every API request.';
create index api_keys_project on api_keys (project_id);
comment on index api_keys_project is 'Reader: keys.list, for the project settings.';

create table checks (
  id                  bigint generated always as identity primary key,
  uuid                uuid not null unique,
  badge_uuid          uuid not null unique,
  project_id          bigint not null references projects,
  name                text not null,
  slug                text not null,
  tags                text not null,
  description         text not null,
  kind                text not null check (kind in ('simple', 'cron', 'oncalendar')),
  timeout_seconds     integer not null,
  grace_seconds       integer not null,
  schedule            text not null,
  tz                  text not null,
  manual_resume       boolean not null,
  methods             text not null check (methods in ('', 'POST')),
  start_kw            text not null,
  success_kw          text not null,
  failure_kw          text not null,
  filter_subject      boolean not null,
  filter_body         boolean not null,
  filter_http_body    boolean not null,
  filter_default_fail boolean not null,
  created_at          timestamptz not null,
  updated_at          timestamptz not null,
  -- Set from the dashboard: the check is gone for everyone but can be taken back for seven days.
  deleted_at          timestamptz
);
comment on table checks is 'Settings of a check: a few changes a year. Bounded by the owners'' check limits.';
comment on index checks_uuid_key is 'Reader: checks.find_by_uuid, for pings and the API.';
comment on index checks_badge_uuid_key is 'Reader: checks.find_by_badge_uuid, for the badge of one check.';
create index checks_project on checks (project_id, id) where deleted_at is null;
comment on index checks_project is 'Readers: checks.list, checks.list_uuids, checks.find_oldest_match, checks.count_owned.';
create index checks_slug on checks (project_id, slug) where deleted_at is null and slug <> '';
comment on index checks_slug is 'Reader: checks.find_by_slug, for pings by key and slug, and the list filter.';
create index checks_deleted on checks (deleted_at) where deleted_at is not null;
comment on index checks_deleted is 'Readers: checks.find_deleted_before, which ends the seven days, and checks.list_deleted.';

create table check_states (
  check_id            bigint primary key references checks on delete cascade,
  last_ping_at        timestamptz,
  last_start_at       timestamptz,
  newest_at           timestamptz,
  command_at          timestamptz,
  expect_from_at      timestamptz,
  silence_deadline_at timestamptz,
  rate_minute_at      timestamptz,
  -- When silence becomes down; null when no deadline is running.
  down_at             timestamptz,
  -- When the sweeper looks next: at or before down_at, so that a later deadline leaves the index alone.
  sweep_at            timestamptz,
  last_duration_ms    bigint,
  ping_count          bigint not null,
  coalesced_count     bigint not null,
  -- Number of the newest success that is logged: its body outlives the trimming of the log.
  last_success_n      bigint,
  -- The running day of the daily roll-ups. It moves to check_days with the first signal of another day.
  day_duration_sum_ms bigint,
  day_duration_max_ms bigint,
  day                 date,
  day_success_count   integer,
  day_fail_count      integer,
  day_timed_count     integer,
  rate_count          integer not null,
  last_start_rid      uuid,
  status              text not null check (status in ('new', 'up', 'down', 'paused')),
  silence_from        text check (silence_from in ('new', 'up', 'down', 'paused')),
  constraint silence_is_whole check ((silence_deadline_at is null) = (silence_from is null)),
  constraint swept_in_time check (down_at is null or (sweep_at is not null and sweep_at <= down_at)),
  constraint day_is_whole check (
    num_nulls(day, day_success_count, day_fail_count, day_timed_count, day_duration_sum_ms,
      day_duration_max_ms) in (0, 6)
  )
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
comment on table check_states is
  'Running state, one row for each check, rewritten by every signal: narrow, with room for HOT updates.';
create index check_states_sweep on check_states (sweep_at) where sweep_at is not null;
comment on index check_states_sweep is 'Reader: check_states.find_due, the sweeper. The only index besides the key.';

create table channels (
  id                      bigint generated always as identity primary key,
  uuid                    uuid not null unique,
  project_id              bigint not null references projects on delete cascade,
  kind                    text not null,
  name                    text not null,
  -- What the kind needs to send: addresses, tokens, switches. Secrets are in here.
  config                  jsonb not null,
  created_at              timestamptz not null,
  disabled_at             timestamptz,
  disabled_reason         text,
  last_notify_at          timestamptz,
  last_notify_duration_ms integer,
  last_error              text
);
comment on table channels is 'Where messages go. Bounded by what people create.';
create index channels_project on channels (project_id, id);
comment on index channels_project is 'Reader: channels.list, for the API and the channels parameter.';

create table check_channels (
  check_id   bigint not null references checks on delete cascade,
  channel_id bigint not null references channels on delete cascade,
  primary key (check_id, channel_id)
);
comment on table check_channels is 'Which channels hear of which check. Bounded by checks times channels.';
create index check_channels_channel on check_channels (channel_id);
comment on index check_channels_channel is 'Readers: deleting a channel, and the list of checks that use one.';

create table flips (
  id            bigint generated always as identity primary key,
  check_id      bigint not null,
  at            timestamptz not null,
  from_status   text not null check (from_status in ('new', 'up', 'down', 'paused')),
  to_status     text not null check (to_status in ('up', 'down')),
  reason        text not null check (reason in ('success', 'fail', 'timeout')),
  -- A success that was received in time but applied late takes the flip of its deadline back.
  taken_back_at timestamptz
);
comment on table flips is 'Changes to up or down. Bounded by age.';
create index flips_check on flips (check_id, at desc, id desc);
comment on index flips_check is 'Readers: flips.list, flips.take_back, and downtime on the check page.';

create table events (
  id         bigint generated always as identity primary key,
  check_id   bigint not null,
  at         timestamptz not null,
  kind       text not null,
  -- Who did it; null when nobody did.
  account_id bigint,
  detail     jsonb not null
);
comment on table events is
  'What happened to a check besides signals and flips: pause, resume, edits, time not observed. Bounded by age.';
create index events_check on events (check_id, at desc, id desc);
comment on index events_check is 'Reader: events.list, for the history of a check.';

create table blind_intervals (
  id        bigint generated always as identity primary key,
  intake_id uuid,
  from_at   timestamptz not null,
  -- Null while it lasts.
  to_at     timestamptz,
  reason    text not null,
  constraint blind_forwards check (to_at is null or to_at >= from_at)
);
comment on table blind_intervals is 'Time in which we could not receive: it excuses silence. Bounded by age.';
create index blind_intervals_to on blind_intervals (to_at);
comment on index blind_intervals_to is 'Readers: blind_intervals.list_overlapping on every sweep, blind_intervals.prune.';

create table deliveries (
  id                bigint generated always as identity primary key,
  -- Sent to receivers that can use it: the same for every attempt.
  dedupe_key        uuid not null,
  channel_id        bigint not null,
  check_id          bigint,
  -- What it is about: a flip, or a blind interval (then it is a notice). Neither: a test.
  flip_id           bigint,
  blind_interval_id bigint,
  state             text not null check (state in ('pending', 'sent', 'merged', 'withdrawn', 'dead')),
  created_at        timestamptz not null,
  attempt_count     integer not null,
  next_try_at       timestamptz,
  attempted_at      timestamptz,
  settled_at        timestamptz,
  request_summary   text,
  response_code     integer,
  response_excerpt  text,
  reason            text,
  constraint about_one_thing check (num_nonnulls(flip_id, blind_interval_id) <= 1),
  constraint pending_has_next_try check ((state = 'pending') = (next_try_at is not null)),
  constraint settled_once check ((state = 'pending') = (settled_at is null))
);
comment on table deliveries is 'The record of each message owed: attempts, next try, what was said. Bounded by age.';
create unique index deliveries_flip on deliveries (flip_id, channel_id) where flip_id is not null;
comment on index deliveries_flip is 'Guards one message for each flip and channel. Reader: deliveries.list_of_flip.';
create unique index deliveries_notice on deliveries (blind_interval_id, channel_id)
  where blind_interval_id is not null;
comment on index deliveries_notice is 'Guards one notice for each blind interval and channel.';
create index deliveries_pending on deliveries (next_try_at) where state = 'pending';
comment on index deliveries_pending is 'Readers: deliveries.find_pending, and the age of the oldest unsent one.';
create index deliveries_in_turn on deliveries (check_id, channel_id, id) where state = 'pending';
comment on index deliveries_in_turn is 'Reader: deliveries.lock_in_turn: one sender for each check and channel.';
create index deliveries_channel on deliveries (channel_id, id desc);
comment on index deliveries_channel is 'Reader: deliveries.list_of_channel, the delivery log.';

create table intakes (
  -- Random for each start of a process that receives.
  id             uuid primary key,
  name           text not null,
  started_at     timestamptz not null,
  -- Number of the newest batch that was applied.
  last_seq       bigint not null,
  -- Everything accepted up to here is applied.
  watermark_at   timestamptz not null,
  beat_at        timestamptz not null,
  -- Without another beat before this instant it may be declared lost.
  lease_until_at timestamptz not null,
  spool_empty    boolean not null,
  closed_at      timestamptz,
  lost           boolean not null default false
) with (fillfactor = 50);
comment on table intakes is
  'Processes that receive: sequence, watermark, lease. Rewritten each second; closed ones are pruned. A few rows.';

create table rejected_signals (
  id        bigint generated always as identity primary key,
  intake_id uuid not null,
  seq       bigint not null,
  at        timestamptz not null,
  reason    text not null,
  -- The signal as it came, encoded by the intake: bytes, because text may be what the database refused.
  signal    bytea not null
);
comment on table rejected_signals is 'Signals that the database refused, with the reason. Bounded by age.';
