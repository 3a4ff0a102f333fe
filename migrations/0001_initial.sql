-- The schema of the first release, and the baseline of all later upgrades.
--
-- Contents: 1. the instance, 2. accounts and projects, 3. sign-in, 4. checks, 5. the ping log and the history of runs,
-- 6. receiving pings, 7. channels and notifications.
--
-- Conventions for this file and for later migrations:
-- * `id` is internal: rows stay narrow, and are locked in the order of their ids. URLs and API responses use `uuid`.
-- * Points in time are timestamptz and their names end in `_at`. Statements pass them as parameters; no default and no
--   trigger reads the clock.
-- * Tables that are written while pings are recorded have no foreign keys, except check_states: recording must not fail
--   because a row was deleted at the same time. The code that deletes a check deletes its rows.
-- * Tables bounded by age are pruned in the order of their ids, which needs no index on a time.
-- * Each table has a comment that says what limits its growth. Each index has a comment that names the statements that
--   use it (`Reader`, by statement name) or the rule that it enforces (`Guards`).


-- 1. The instance

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

-- Used unless OVERDUE_SECRET_KEY is set. Three random UUIDs have 366 random bits, more than the 256 bits of the digest.
insert into instance_settings (name, value)
values (
  'secret_key',
  encode(sha256(convert_to(concat(gen_random_uuid(), gen_random_uuid(), gen_random_uuid()), 'UTF8')), 'hex')
);

-- A restored or copied database must not send notifications before it is known to be the one in service. The first
-- start of a server writes this row. If a later start finds the data in another database, the state stops all processes
-- from sending.
create table database_identity (
  is_only           boolean primary key default true check (is_only),
  -- Of the cluster, from pg_control_system(); null if the role may not call it.
  system_identifier text,
  database_oid      bigint not null,
  -- OVERDUE_SITE_URL of the processes that listen; null until one has started.
  site_url          text,
  -- normal: in service. checking: the data has moved, and it is not known yet which database is in service.
  -- safe: not in service until an admin confirms it.
  state             text not null check (state in ('normal', 'checking', 'safe')),
  state_since_at    timestamptz not null,
  -- The newest heartbeat before the data moved; null in the state normal, and if there was no heartbeat.
  gap_from_at       timestamptz,
  -- Why the state is safe.
  reason            text,
  -- The delivery to the admin, the only one that may be sent in the state safe.
  notice_id         bigint
);
comment on table database_identity is
  'Which database the data was last in service in. Bounded: one row. Read by every process each second.';

create table identity_challenges (
  id         uuid primary key,
  answer     text not null,
  created_at timestamptz not null
);
comment on table identity_challenges is
  'Random values that a process stores before it asks the public URL for them. Bounded: minutes old at most.';
comment on index identity_challenges_pkey is 'Reader: identity_challenges.find, for whoever answers at the public URL.';


-- 2. Accounts and projects

create table accounts (
  id                     bigint generated always as identity primary key,
  uuid                   uuid not null unique,
  email                  text not null unique check (email = lower(email)),
  name                   text not null,
  -- Admin of the server.
  is_operator            boolean not null,
  -- Limits of the projects that the account owns; null: the limit of the server applies.
  check_limit            integer check (check_limit >= 0),
  ping_log_limit         integer check (ping_log_limit > 0),
  created_at             timestamptz not null,
  theme                  text not null default 'system' check (theme in ('system', 'light', 'dark')),
  -- The last sign-in; null: never.
  signed_in_at           timestamptz,
  -- Browsers that signed in before have their own limit of sign-in attempts. Browsers whose last sign-in is older than
  -- this do not count as known: it is set when other sessions are ended or the password changes. Null: all are known.
  browsers_known_from_at timestamptz,
  -- Height of the rows in the check list.
  density                text not null default 'comfortable' check (density in ('comfortable', 'compact'))
);
comment on table accounts is 'People who sign in, and the limits of what they own. Bounded by their number.';

create table preferences (
  account_id       bigint primary key references accounts on delete cascade,
  -- Null: pages use the time zone of the browser, and emails that of the project or UTC.
  tz               text,
  reports          text not null check (reports in ('off', 'daily', 'weekly', 'monthly')),
  reminders        text not null check (reminders in ('off', 'hourly', 'daily')),
  -- Null: not planned yet, or reports are off.
  next_report_at   timestamptz,
  -- Null: nothing is down, or reminders are off.
  next_reminder_at timestamptz,
  constraint no_report_when_off check (reports <> 'off' or next_report_at is null),
  constraint no_reminder_when_off check (reminders <> 'off' or next_reminder_at is null)
);
comment on table preferences is
  'What people want to be told by mail, and when next. Bounded by the accounts; whoever has no row has the defaults.';
create index preferences_report on preferences (next_report_at nulls first) where reports <> 'off';
comment on index preferences_report is 'Reader: preferences.lock_due_reports.';
create index preferences_reminder on preferences (account_id) where reminders <> 'off';
comment on index preferences_reminder is 'Reader: preferences.lock_reminded.';

create table projects (
  id         bigint generated always as identity primary key,
  uuid       uuid not null unique,
  name       text not null,
  -- In plain text, because ping URLs contain it; null: the project has none.
  ping_key   text unique,
  badge_key  text not null unique,
  created_at timestamptz not null,
  -- Time zone of messages to chats, and of emails to recipients who have not set one.
  tz         text not null default 'UTC'
);
comment on table projects is 'A project owns checks, channels and keys. Bounded by what people create.';
comment on index projects_ping_key_key is 'Reader: checks.find_by_slug, for pings by key and slug.';
comment on index projects_badge_key_key is 'Reader: projects.find_by_badge_key, for badges of tags.';

create table members (
  project_id bigint not null references projects on delete cascade,
  account_id bigint not null references accounts,
  role       text not null check (role in ('owner', 'manager', 'member', 'readOnly')),
  created_at timestamptz not null,
  -- When the member last had the project open, for "since you were away"; null: never.
  seen_at    timestamptz,
  primary key (project_id, account_id)
);
comment on table members is 'Who may enter a project, and as what; its owner too. Bounded by people times projects.';
create unique index members_one_owner on members (project_id) where role = 'owner';
comment on index members_one_owner is 'Guards that a project has one owner. Reader: projects.find_owner, for limits.';
create index members_account on members (account_id);
comment on index members_account is 'Reader: projects.list_of_account, and the count of checks that an owner has.';

create table invitations (
  id         bigint generated always as identity primary key,
  uuid       uuid not null unique,
  -- SHA-256 of the token in the link.
  digest     bytea not null unique check (octet_length(digest) = 32),
  -- Null: an invitation to the server, without a project.
  project_id bigint references projects on delete cascade,
  email      text not null check (email = lower(email)),
  role       text check (role in ('manager', 'member', 'readOnly')),
  invited_by bigint references accounts on delete set null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  constraint invited_as_something check ((project_id is null) = (role is null))
);
comment on table invitations is 'Who was asked to come and has not answered. Bounded by rate limits and by age.';
comment on index invitations_digest_key is 'Reader: invitations.find.';
comment on index invitations_uuid_key is 'Reader: invitations.find_by_uuid.';
create unique index invitations_once on invitations (project_id, email);
comment on index invitations_once is 'Guards one invitation for each project and address. Reader: invitations.list.';
create index invitations_age on invitations (expires_at);
comment on index invitations_age is 'Reader: invitations.prune.';
create index invitations_inviter on invitations (invited_by) where invited_by is not null;
comment on index invitations_inviter is 'Reader: deleting an account.';

create table transfers (
  project_id    bigint primary key references projects on delete cascade,
  to_account_id bigint not null references accounts on delete cascade,
  created_at    timestamptz not null
);
comment on table transfers is 'Projects that wait to be taken over. Bounded by the projects.';
create index transfers_to on transfers (to_account_id);
comment on index transfers_to is 'Readers: transfers.list_to, deleting an account.';

create table api_keys (
  id           bigint generated always as identity primary key,
  project_id   bigint not null references projects on delete cascade,
  kind         text not null check (kind in ('readWrite', 'readOnly')),
  name         text not null,
  -- The first characters, so that users can recognize the key. Only a digest of the whole key is stored.
  prefix       text not null,
  digest       bytea not null unique check (octet_length(digest) = 32),
  created_at   timestamptz not null,
  last_used_at timestamptz,
  revoked_at   timestamptz
);
comment on table api_keys is 'Keys of the Management API, hashed. Bounded by what people create; revoked ones are pruned.';
comment on index api_keys_digest_key is 'Readers: keys.find_with_project and keys.find_with_check, on every API request.';
create index api_keys_project on api_keys (project_id);
comment on index api_keys_project is 'Reader: keys.list, for the project settings.';

create table access_tokens (
  id           bigint generated always as identity primary key,
  uuid         uuid not null unique,
  account_id   bigint not null references accounts on delete cascade,
  name         text not null,
  scope        text not null check (scope in ('read', 'write', 'admin')),
  -- The first characters, so that users can recognize the token. Only a digest of the whole token is stored.
  prefix       text not null,
  digest       bytea not null unique check (octet_length(digest) = 32),
  created_at   timestamptz not null,
  expires_at   timestamptz not null,
  last_used_at timestamptz
);
comment on table access_tokens is
  'Personal access tokens, hashed. Bounded by number for each account, and by age. Revoked tokens are deleted.';
comment on index access_tokens_digest_key is 'Reader: access_tokens.find, on every API request with a token.';
comment on index access_tokens_uuid_key is 'Reader: access_tokens.delete.';
create index access_tokens_account on access_tokens (account_id, id);
comment on index access_tokens_account is 'Readers: access_tokens.list, deleting an account.';
create index access_tokens_age on access_tokens (expires_at);
comment on index access_tokens_age is 'Reader: access_tokens.prune.';

create table idempotency_keys (
  project_id     bigint not null references projects on delete cascade,
  -- SHA-256 of the key, because clients may send keys of any length and content.
  key_digest     bytea not null check (octet_length(key_digest) = 32),
  -- SHA-256 of the request: tells a retry from another request with the same key.
  request_digest bytea not null check (octet_length(request_digest) = 32),
  channel_uuid   uuid not null,
  created_at     timestamptz not null,
  primary key (project_id, key_digest)
);
comment on table idempotency_keys is
  'Requests that have made a channel, by the name that their client gave them. Bounded by age, and by number for each project.';
create index idempotency_keys_age on idempotency_keys (created_at);
comment on index idempotency_keys_age is 'Reader: idempotency_keys.prune.';

create table audit_entries (
  id         bigint generated always as identity primary key,
  at         timestamptz not null,
  -- Null: about the server or an account. Entries are deleted with their project.
  project_id bigint references projects on delete cascade,
  -- The account or the API key that made the change. Both null: the command line, or an account that was deleted.
  account_id bigint references accounts on delete set null,
  key_id     bigint,
  what       text not null,
  -- The name, at that time, of the thing that was changed.
  subject    text not null,
  before     jsonb,
  after      jsonb
);
comment on table audit_entries is 'Who changed what, before and after; never a secret. Bounded by age.';
create index audit_entries_project on audit_entries (project_id, id desc);
comment on index audit_entries_project is 'Reader: audit.list.';
create index audit_entries_account on audit_entries (account_id) where account_id is not null;
comment on index audit_entries_account is 'Reader: deleting an account.';


-- 3. Sign-in
--
-- Secrets are stored as digests only, except for the shared secret of an authenticator app, which is encrypted with the
-- secret key of the server.

create table passwords (
  account_id bigint primary key references accounts on delete cascade,
  -- Argon2id in its usual text form, with salt and costs.
  hash       text not null,
  changed_at timestamptz not null
);
comment on table passwords is 'Passwords, hashed. Bounded by the accounts; whoever has no row has none.';

create table passkeys (
  id            bigint generated always as identity primary key,
  uuid          uuid not null unique,
  account_id    bigint not null references accounts on delete cascade,
  name          text not null,
  credential_id text not null unique,
  public_key    bytea not null,
  -- The last signature counter of the authenticator; 0 if it has none.
  use_count     bigint not null,
  transports    text[] not null,
  created_at    timestamptz not null,
  last_used_at  timestamptz
);
comment on table passkeys is 'Passkeys and security keys: public halves. Bounded by number for each account.';
comment on index passkeys_credential_id_key is 'Reader: passkeys.find, when somebody signs in with one.';
create index passkeys_account on passkeys (account_id, id);
comment on index passkeys_account is 'Readers: passkeys.list, deleting an account.';

create table authenticators (
  account_id   bigint primary key references accounts on delete cascade,
  -- The shared secret, encrypted.
  sealed       bytea not null,
  created_at   timestamptz not null,
  -- Null: set-up has not been completed with a code, so sign-in does not ask for one.
  confirmed_at timestamptz,
  -- The newest time step whose code was used: no code is accepted twice.
  last_step    bigint
);
comment on table authenticators is 'Authenticator apps, one for each account at most.';

create table recovery_codes (
  account_id bigint not null references accounts on delete cascade,
  -- HMAC with the secret key of the server, because the codes are short.
  digest     bytea not null check (octet_length(digest) = 32),
  used_at    timestamptz,
  primary key (account_id, digest)
);
comment on table recovery_codes is 'Codes for whoever has lost the authenticator app. Bounded: ten for each account.';

create table oidc_identities (
  issuer       text not null,
  subject      text not null,
  account_id   bigint not null references accounts on delete cascade,
  created_at   timestamptz not null,
  last_used_at timestamptz not null,
  primary key (issuer, subject)
);
comment on table oidc_identities is 'Who is who at the identity provider. Bounded by the accounts.';
create index oidc_identities_account on oidc_identities (account_id);
comment on index oidc_identities_account is 'Readers: identities.list, deleting an account.';

create table sessions (
  id          bigint generated always as identity primary key,
  -- SHA-256 of the value of the cookie.
  digest      bytea not null unique check (octet_length(digest) = 32),
  account_id  bigint not null references accounts on delete cascade,
  method      text not null check (method in ('link', 'password', 'passkey', 'oidc', 'proxy', 'setUp', 'admin')),
  created_at  timestamptz not null,
  -- The last request, updated once a minute at most.
  seen_at     timestamptz not null,
  -- The last authentication: dangerous actions require a recent one.
  proven_at   timestamptz not null,
  ua          text not null,
  remote_addr text
);
comment on table sessions is 'Browsers that are signed in. Bounded by number for each account, and by age.';
comment on index sessions_digest_key is 'Reader: sessions.find, on every request of the dashboard.';
create index sessions_account on sessions (account_id, id);
comment on index sessions_account is 'Readers: sessions.list, sessions.trim, deleting an account.';
create index sessions_seen on sessions (seen_at);
comment on index sessions_seen is 'Reader: sessions.prune.';

create table sign_in_tokens (
  id         bigint generated always as identity primary key,
  -- Links and codes in emails are derived from it with the secret key of the server.
  uuid       uuid not null unique,
  -- SHA-256 of the token in the link.
  digest     bytea not null unique check (octet_length(digest) = 32),
  -- signIn: signs in. register: creates an account first. setUp: creates the first account. confirm: a code to
  -- re-authenticate. changeEmail: confirms a new email address.
  purpose    text not null check (purpose in ('signIn', 'register', 'setUp', 'confirm', 'changeEmail')),
  account_id bigint references accounts on delete cascade,
  -- The email address of the new account, or the new address of an existing one.
  email      text,
  -- The page to open afterwards, a path on this site.
  next_path  text,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at    timestamptz,
  constraint token_of_somebody check ((purpose in ('register', 'setUp')) = (account_id is null)),
  constraint token_for_address check ((purpose in ('register', 'changeEmail')) = (email is not null))
);
comment on table sign_in_tokens is 'Links and codes that were mailed or printed, each good for one use. Bounded by age and by rate limits.';
comment on index sign_in_tokens_digest_key is 'Reader: tokens.find.';
comment on index sign_in_tokens_uuid_key is 'Reader: tokens.find_by_uuid, when the letter is written.';
create index sign_in_tokens_account on sign_in_tokens (account_id, id) where account_id is not null;
comment on index sign_in_tokens_account is 'Readers: tokens.find_newest, tokens.void, deleting an account.';
create index sign_in_tokens_age on sign_in_tokens (expires_at);
comment on index sign_in_tokens_age is 'Reader: tokens.prune.';

create table sign_in_steps (
  -- SHA-256 of the value that the browser returns: a cookie, a state or a challenge.
  digest     bytea primary key check (octet_length(digest) = 32),
  kind       text not null check (kind in ('secondFactor', 'passkey', 'newPasskey', 'oidc')),
  account_id bigint references accounts on delete cascade,
  about      jsonb not null,
  created_at timestamptz not null,
  expires_at timestamptz not null
);
comment on table sign_in_steps is 'Signing in that has begun and not ended. Bounded by minutes and by rate limits.';
create index sign_in_steps_age on sign_in_steps (expires_at);
comment on index sign_in_steps_age is 'Reader: steps.prune.';
create index sign_in_steps_account on sign_in_steps (account_id) where account_id is not null;
comment on index sign_in_steps_account is 'Reader: deleting an account.';

create table sign_ins (
  id           bigint generated always as identity primary key,
  account_id   bigint not null references accounts on delete cascade,
  at           timestamptz not null,
  method       text not null check (method in ('link', 'password', 'passkey', 'oidc', 'proxy', 'setUp', 'admin')),
  ua           text not null,
  remote_addr  text,
  -- Wrong passwords and codes since the previous sign-in.
  failed_count integer not null
);
comment on table sign_ins is 'Who came into an account, for its owner. Bounded by number for each account, and by age.';
create index sign_ins_account on sign_ins (account_id, id);
comment on index sign_ins_account is 'Readers: sign_ins.list, sign_ins.trim, deleting an account.';

create table sign_in_failures (
  -- Null: the account does not exist. The row is written and deleted in one transaction, so that the response takes as
  -- long as for an existing account.
  account_id bigint unique references accounts on delete cascade,
  count      integer not null,
  last_at    timestamptz not null
);
comment on table sign_in_failures is 'Wrong passwords and codes since the last sign-in of an account. Bounded by the accounts.';
comment on index sign_in_failures_account_id_key is 'Readers: sign_in_failures.find, sign_in_failures.take, deleting an account.';

-- Rate limits, as token buckets.
create table attempts (
  kind    text not null,
  -- SHA-256 of the address or account that is limited, so that the table shows neither.
  digest  bytea not null check (octet_length(digest) = 32),
  -- When the bucket is full again.
  full_at timestamptz not null,
  primary key (kind, digest)
);
comment on table attempts is 'How often something was tried that may be tried so often only. Bounded: a row goes when its bucket is full.';
create index attempts_full on attempts (full_at);
comment on index attempts_full is 'Reader: attempts.prune.';


-- 4. Checks

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
  -- Set by the dashboard: the check is in the trash, from which it can be restored for seven days.
  deleted_at          timestamptz,
  -- The name of the check for read-only API keys: SHA-1 of the first 16 hexadecimal digits of the UUID. The program
  -- computes it, because PostgreSQL has no SHA-1 without an extension.
  unique_key          text not null
);
comment on table checks is 'Settings of a check: a few changes a year. Bounded by the owners'' check limits.';
comment on index checks_uuid_key is 'Readers: checks.find_by_uuid, for pings; keys.find_with_check, for the API.';
comment on index checks_badge_uuid_key is 'Reader: checks.find_by_badge_uuid, for the badge of one check.';
create index checks_project on checks (project_id, id) where deleted_at is null;
comment on index checks_project is 'Readers: checks.list, checks.list_uuids, checks.find_oldest_match, checks.count_owned.';
create index checks_slug on checks (project_id, slug) where deleted_at is null and slug <> '';
comment on index checks_slug is 'Reader: checks.find_by_slug, for pings by key and slug, and the list filter.';
create index checks_deleted on checks (deleted_at) where deleted_at is not null;
comment on index checks_deleted is 'Readers: checks.find_deleted_before, which ends the seven days, and checks.list_deleted.';
-- Includes deleted checks: without it, listing the trash of a project and deleting a project read the checks of others.
create index checks_with_deleted on checks (project_id, deleted_at);
comment on index checks_with_deleted is 'Readers: checks.list_deleted, for the bin of a project; projects.prune, and the foreign key that it wakes.';
create index checks_unique_key on checks (unique_key);
comment on index checks_unique_key is 'Readers: checks.find_by_unique_key, keys.find_with_unique_key.';

create table check_states (
  check_id            bigint primary key references checks on delete cascade,
  last_ping_at        timestamptz,
  last_start_at       timestamptz,
  newest_at           timestamptz,
  command_at          timestamptz,
  expect_from_at      timestamptz,
  silence_deadline_at timestamptz,
  rate_minute_at      timestamptz,
  -- When the check goes down without a ping; null: no deadline is running.
  down_at             timestamptz,
  -- When the sweeper examines the check next. It may be earlier than down_at, so that moving a deadline to a later time
  -- does not change the index.
  sweep_at            timestamptz,
  last_duration_ms    bigint,
  ping_count          bigint not null,
  coalesced_count     bigint not null,
  -- Number of the newest logged success. Its body is kept when the log is trimmed.
  last_success_n      bigint,
  -- Totals of the current day. The first ping of another day moves them to check_days.
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
  -- A monitoring gap postpones going down without moving down_at, which the displayed grace period is based on: the
  -- sweeper waits until then.
  held_until_at       timestamptz,
  -- The start and the end of a run are separate requests, so a start can arrive after the end of its run. These ids
  -- distinguish it from the start of a new run. At most eight for each check.
  ended_rids          text,
  constraint silence_is_whole check ((silence_deadline_at is null) = (silence_from is null)),
  constraint swept_in_time check (
    down_at is null or (sweep_at is not null and sweep_at <= greatest(down_at, held_until_at))
  ),
  constraint day_is_whole check (
    num_nulls(day, day_success_count, day_fail_count, day_timed_count, day_duration_sum_ms,
      day_duration_max_ms) in (0, 6)
  )
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
comment on table check_states is
  'Running state, one row for each check, rewritten by every signal: narrow, with room for HOT updates.';
comment on column check_states.ended_rids is 'The newest ended run ids, separated by a space; null: none had an id.';
create index check_states_sweep on check_states (sweep_at) where sweep_at is not null;
comment on index check_states_sweep is
  'Readers: sweeping.find_due, sweeping.lock_due, sweeping.list_due. The only index besides the key.';

create table poisoned_checks (
  check_id bigint primary key,
  since_at timestamptz not null,
  until_at timestamptz not null,
  reason   text not null
);
comment on table poisoned_checks is
  'Checks that the sweeper could not judge, put aside so that they hold up nobody. Bounded by the checks; a row goes when its time is over.';

create table flips (
  id            bigint generated always as identity primary key,
  check_id      bigint not null,
  at            timestamptz not null,
  from_status   text not null check (from_status in ('new', 'up', 'down', 'paused')),
  to_status     text not null check (to_status in ('up', 'down')),
  reason        text not null check (reason in ('success', 'fail', 'timeout')),
  -- A success that was received before the deadline but recorded after it reverts the flip of that deadline.
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
  -- The account that caused the event; null: not caused by an account.
  account_id bigint,
  detail     jsonb not null
);
comment on table events is
  'What happened to a check besides signals and flips: pause, resume, edits, time not observed. Bounded by age.';
create index events_check on events (check_id, at desc, id desc);
comment on index events_check is 'Reader: events.list, for the history of a check.';


-- 5. The ping log and the history of runs
--
-- Layouts and settings were chosen by measurements with a million checks: docs/decisions/0005-ping-log-layout.md.

create table pings (
  at          timestamptz not null,
  check_id    bigint not null,
  -- Numbers the logged pings of a check without gaps or duplicates. The lock on the row in check_states ensures this.
  n           bigint not null,
  duration_ms bigint,
  body_size   integer,
  exit_status smallint,
  -- s: success, b: start of a run, f: failure, l: log, i: ignored.
  kind        "char" not null check (kind in ('s', 'b', 'f', 'l', 'i')),
  rid         uuid,
  scheme      text not null,
  method      text not null,
  remote_addr text,
  ua          text not null
) with (
  autovacuum_vacuum_scale_factor = 0.05,
  autovacuum_vacuum_insert_scale_factor = 0.2,
  autovacuum_analyze_scale_factor = 0.05
);
comment on table pings is
  'The newest signals of each check. Bounded: every hundredth ping trims what is beyond the owner''s limit.';
create index pings_check on pings (check_id);
comment on index pings_check is
  'Readers: pings.list, pings.find, pings.trim. On the check alone: it deduplicates to a quarter of (check_id, n).';

-- Large bodies can be moved to an object store. The bytes are removed from this table only after the object store has
-- confirmed them, and the key of an object is stored from before its upload until after its removal.
create table ping_bodies (
  check_id     bigint not null,
  n            bigint not null,
  at           timestamptz not null,
  -- Null: the bytes are in the object store, under object_key.
  body         bytea,
  -- Set before the first upload: from then on the object may exist.
  object_key   text,
  -- Until then one mover may be uploading the body, and no other mover takes it.
  moving_until timestamptz,
  primary key (check_id, n),
  constraint ping_bodies_somewhere check (body is not null or object_key is not null),
  constraint ping_bodies_claimed check ((object_key is null) = (moving_until is null))
);
comment on table ping_bodies is
  'What signals carried, for those that carried anything, or where it is. Trimmed with the log, but for the last success.';
-- By size, because the configured threshold may be higher than 2,000 bytes. Smaller bodies are stored in the row itself
-- and never moved, so pings with a small body do not write to this index.
create index ping_bodies_movable on ping_bodies (octet_length(body)) where octet_length(body) >= 2000;
comment on index ping_bodies_movable is
  'Reader: ping_bodies.find_movable. Holds large bodies that have not been moved: none for long while they are.';

create table object_removals (
  id         bigint generated always as identity primary key,
  object_key text not null,
  -- Before that, an upload of the object may still be running.
  due_at     timestamptz not null
);
comment on table object_removals is
  'Objects whose bodies are gone. Written in the transaction that removes the body; a row goes when its object has.';

create table run_chunks (
  from_at   timestamptz not null,
  to_at     timestamptz not null,
  check_id  bigint not null,
  run_count integer not null,
  -- End, outcome and duration of each run, packed by src/store/runs.ts.
  runs      bytea not null
);
comment on table run_chunks is
  'Runs that have left the log, packed by the hundred. Bounded by age: writing a chunk drops the check''s old ones.';
create index run_chunks_check on run_chunks (check_id);
comment on index run_chunks_check is 'Readers: run_chunks.list, run_chunks.trim.';

create table check_days (
  check_id        bigint not null,
  day             date not null,
  success_count   integer not null,
  fail_count      integer not null,
  timed_count     integer not null,
  duration_sum_ms bigint not null,
  duration_max_ms bigint not null,
  primary key (check_id, day)
);
comment on table check_days is
  'Daily roll-ups of the runs of a check, in UTC; the running day is in its state. Bounded by age, as run_chunks is.';


-- 6. Receiving pings

create table intakes (
  -- Random, new for each start of a receiving process.
  id                 uuid primary key,
  name               text not null,
  started_at         timestamptz not null,
  -- All pings accepted until then are recorded.
  watermark_at       timestamptz not null,
  -- The last heartbeat.
  beat_at            timestamptz not null,
  -- Without another heartbeat until then, the intake may be declared lost.
  lease_until_at     timestamptz not null,
  spool_empty        boolean not null,
  closed_at          timestamptz,
  lost               boolean not null default false,
  -- The last end of a gap in the heartbeats of all intakes, as known to this intake at its last heartbeat. Deadlines
  -- are enforced only a minute after the newest of these.
  gap_ended_at       timestamptz,
  -- Used share of the spool, from 0 to 1.
  spool_fill         real not null default 0,
  -- Pings accepted in the minute before the last heartbeat; null: not reported yet.
  signals_per_minute integer
) with (fillfactor = 50);
comment on table intakes is
  'Processes that receive: watermark, lease. Rewritten each second; closed ones are pruned. A few rows.';

create table intake_lanes (
  intake_id uuid not null references intakes on delete cascade,
  lane      smallint not null,
  -- Number of the newest batch of the lane that was recorded.
  last_seq  bigint not null default 0,
  primary key (intake_id, lane)
) with (fillfactor = 50);
comment on table intake_lanes is
  'Batch numbers of intakes, apart from intakes so that batches wait neither for each other nor for heartbeats.';

create table blind_intervals (
  id        bigint generated always as identity primary key,
  intake_id uuid,
  from_at   timestamptz not null,
  -- Null: not over yet.
  to_at     timestamptz,
  reason    text not null,
  constraint blind_forwards check (to_at is null or to_at >= from_at)
);
comment on table blind_intervals is 'Time in which we could not receive: it excuses silence. Bounded by age.';
create index blind_intervals_to on blind_intervals (to_at);
comment on index blind_intervals_to is 'Readers: blind_intervals.list_overlapping on every sweep, blind_intervals.prune.';

-- A refused ping excuses only the check that it was for or, if that is unknown, checks that are pinged from the same
-- network: docs/decisions/0022-attributed-refusals.md. A blind interval excuses all checks.
create table refused_intervals (
  id        bigint generated always as identity primary key,
  intake_id uuid not null,
  check_id  bigint,
  network   text,
  from_at   timestamptz not null,
  to_at     timestamptz not null,
  constraint refused_of_one check (num_nonnulls(check_id, network) = 1),
  constraint refused_forwards check (to_at >= from_at)
);
comment on table refused_intervals is 'Times in which pings of a check or of a network were refused: they excuse its silence. Bounded by age.';
create index refused_intervals_check on refused_intervals (check_id, to_at) where check_id is not null;
comment on index refused_intervals_check is 'Readers: refused_intervals.list on every sweep, refused_intervals.insert.';
create index refused_intervals_network on refused_intervals (network, to_at) where network is not null;
comment on index refused_intervals_network is 'Readers: refused_intervals.list on every sweep, refused_intervals.insert.';
create index refused_intervals_to on refused_intervals (to_at);
comment on index refused_intervals_to is 'Reader: refused_intervals.prune.';

-- The quarantine.
create table rejected_signals (
  id        bigint generated always as identity primary key,
  intake_id uuid not null,
  seq       bigint not null,
  at        timestamptz not null,
  reason    text not null,
  -- The ping as the intake encoded it. Bytes, because its text may be the reason why it could not be recorded.
  signal    bytea not null,
  -- The check is not reported as down because of a quarantined ping, and its page shows the ping. Null: unknown.
  check_id  bigint
);
comment on table rejected_signals is 'Signals that the database refused, with the reason. Bounded by age.';
create index rejected_signals_check on rejected_signals (check_id, at) where check_id is not null;
comment on index rejected_signals_check is 'Readers: refused_intervals.list on every sweep, rejected_signals.count, rejected_signals.delete_of_check.';


-- 7. Channels and notifications

create table channels (
  id                      bigint generated always as identity primary key,
  uuid                    uuid not null unique,
  project_id              bigint not null references projects on delete cascade,
  kind                    text not null,
  name                    text not null,
  -- Settings of the kind: addresses, tokens, switches. Contains secrets.
  config                  jsonb not null,
  created_at              timestamptz not null,
  disabled_at             timestamptz,
  disabled_reason         text,
  last_notify_at          timestamptz,
  last_notify_duration_ms integer,
  last_error              text,
  -- Failed messages since the last successful one. Unless it is 0, messages are sent one at a time.
  failure_count           integer not null default 0,
  -- The receiver asked not to be sent messages until then.
  hold_until_at           timestamptz,
  -- When the rate limit of the channel, a token bucket, is full again; null: it is full.
  bucket_full_at          timestamptz,
  -- The email address that was confirmed. A channel with another address needs a new confirmation.
  verified_address        text,
  -- Increases with each change to the settings. Entity tags are based on it, because they must not reveal anything
  -- about the secrets in config, not even a digest.
  revision                integer not null default 1
);
comment on table channels is 'Where messages go. Bounded by what people create.';
create index channels_project on channels (project_id, id);
comment on index channels_project is 'Reader: channels.list, for the API and the channels parameter.';
-- Telegram channels that are not connected to a chat yet.
create index channels_set_up on channels ((config ->> 'setup_code'))
  where kind = 'telegram' and config ->> 'setup_code' <> '';
comment on index channels_set_up is 'Readers: chats.is_any_waiting, chats.connect.';

create table check_channels (
  check_id   bigint not null references checks on delete cascade,
  channel_id bigint not null references channels on delete cascade,
  primary key (check_id, channel_id)
);
comment on table check_channels is 'Which channels hear of which check. Bounded by checks times channels.';
create index check_channels_channel on check_channels (channel_id);
comment on index check_channels_channel is 'Readers: deleting a channel, and the list of checks that use one.';

-- The queue and the log of notifications: docs/decisions/0011-deliveries-are-the-queue.md.
create table deliveries (
  id               bigint generated always as identity primary key,
  -- Sent to receivers that support deduplication; the same for every attempt.
  dedupe_key       uuid not null,
  channel_id       bigint not null,
  check_id         bigint,
  flip_id          bigint,
  state            text not null check (state in ('pending', 'sent', 'merged', 'withdrawn', 'skipped', 'dead')),
  created_at       timestamptz not null,
  attempt_count    integer not null,
  next_try_at      timestamptz,
  attempted_at     timestamptz,
  settled_at       timestamptz,
  request_summary  text,
  response_code    integer,
  response_excerpt text,
  reason           text,
  -- flip: a change of status. correction: a flip that was reverted after it had been sent. notice: a monitoring gap.
  -- disabled: another channel was disabled. operator: a health problem of the server. test: a test notification.
  kind             text not null
    check (kind in ('flip', 'correction', 'notice', 'disabled', 'operator', 'test')),
  -- The group that the channel is notified through, even if the channel itself is disabled.
  group_id         bigint,
  -- The monitoring gap of a notice. Times instead of a reference, because several intakes may have been blind at once.
  blind_from_at    timestamptz,
  blind_to_at      timestamptz,
  -- Content of the message that is in no other table.
  about            jsonb,
  -- The oldest delivery of the message that contains this one. Set before the message is sent, and cleared only if the
  -- receiver has certainly not accepted it: a retry must send the same message.
  message_id       bigint,
  -- The process that is sending, and until when no other process may. All rows of a message are claimed together.
  claimed_by       uuid,
  claimed_until_at timestamptz,
  constraint about_one_thing check (
    (kind in ('flip', 'correction')) = (flip_id is not null)
    and (kind in ('flip', 'correction')) = (check_id is not null)
    and (kind = 'notice') = (blind_from_at is not null)
    and (kind = 'notice') = (blind_to_at is not null)
    and (kind in ('disabled', 'operator')) = (about is not null)
  ),
  constraint pending_has_next_try check ((state = 'pending') = (next_try_at is not null)),
  constraint settled_once check ((state = 'pending') = (settled_at is null)),
  constraint claimed_whole check ((claimed_by is null) = (claimed_until_at is null)),
  constraint claimed_pending check (claimed_by is null or state = 'pending')
);
comment on table deliveries is 'The record of each message owed: attempts, next try, what was said. Bounded by age.';
comment on column deliveries.next_try_at is 'Before the first try it lies in 1970: due at once, whatever becomes of the clock.';
create unique index deliveries_flip on deliveries (flip_id, channel_id, kind) where flip_id is not null;
comment on index deliveries_flip is
  'Guards one message, and one correction, for each flip and channel. Readers: deliveries.list_of_flip, planning.withdraw.';
create unique index deliveries_notice on deliveries (channel_id, blind_from_at, blind_to_at) where kind = 'notice';
comment on index deliveries_notice is 'Guards one notice for each blind interval and channel. Reader: planning.add_checks.';
-- By channel first, so that a channel with a long queue does not delay the others.
create index deliveries_due on deliveries (channel_id, next_try_at, id) where state = 'pending';
comment on index deliveries_due is 'Readers: claims.find_channels, claims.claim, deliveries.count_unsent.';
create index deliveries_in_turn on deliveries (check_id, channel_id, id) where state = 'pending';
comment on index deliveries_in_turn is 'Reader: deliveries.lock_in_turn: one sender for each check and channel.';
create index deliveries_channel on deliveries (channel_id, id desc);
comment on index deliveries_channel is 'Reader: deliveries.list_of_channel, the delivery log.';

create table notice_checks (
  check_id    bigint not null,
  delivery_id bigint not null,
  primary key (check_id, delivery_id)
);
comment on table notice_checks is
  'Which checks a notice tells of. Added until the notice is sent; goes with its delivery, or with its check.';
create index notice_checks_delivery on notice_checks (delivery_id);
comment on index notice_checks_delivery is 'Readers: message_facts.list_noticed, deliveries.prune.';

-- Emails about accounts and channels.
create table letters (
  id            bigint generated always as identity primary key,
  -- Part of the Message-ID, and of the address for bounces.
  uuid          uuid not null unique,
  -- About channels. verification: asks to confirm an email address. unverified: it was not confirmed. disabled: a
  -- channel was disabled, and the project has no other.
  -- About accounts. report, reminder: as set in preferences. signIn, confirm, changeEmail: a row in sign_in_tokens.
  -- invitation: a row in invitations. transfer: a project to take over. security: a change to the account.
  kind          text not null check (kind in (
    'verification', 'unverified', 'disabled', 'report', 'reminder',
    'signIn', 'confirm', 'changeEmail', 'invitation', 'transfer', 'security'
  )),
  -- The recipient, or the channel that the email is about.
  account_id    bigint references accounts on delete cascade,
  channel_id    bigint references channels on delete cascade,
  -- Content that is not read from other tables when the email is sent.
  about         jsonb not null,
  state         text not null check (state in ('pending', 'sent', 'dead')),
  created_at    timestamptz not null,
  attempt_count integer not null,
  next_try_at   timestamptz,
  claimed_by    uuid,
  settled_at    timestamptz,
  reason        text,
  constraint for_somebody check (
    (kind in ('report', 'reminder', 'transfer', 'security')) = (account_id is not null)
    and (kind in ('verification', 'unverified', 'disabled')) = (channel_id is not null)
  ),
  constraint letter_has_next_try check ((state = 'pending') = (next_try_at is not null)),
  constraint letter_settled_once check ((state = 'pending') = (settled_at is null))
);
comment on table letters is
  'Mails that no delivery is about: each is its own queue entry, and tried until it is sent or given up. Bounded by age.';
comment on index letters_uuid_key is 'Reader: letters.find_by_uuid, for bounces.';
create index letters_due on letters (next_try_at, id) where state = 'pending';
comment on index letters_due is 'Reader: letters.claim.';
create index letters_channel on letters (channel_id, id) where channel_id is not null;
comment on index letters_channel is 'Readers: deleting a channel, and how often an address was asked.';
create index letters_account on letters (account_id) where account_id is not null;
comment on index letters_account is 'Reader: deleting an account.';

-- Health problems of the server that the admin was notified of and that are not over.
create table operator_incidents (
  trouble  text not null,
  -- The intake or check with the problem; empty if there can be only one.
  subject  text not null,
  since_at timestamptz not null,
  -- Updated while the problem lasts: it is over if this was long ago.
  seen_at  timestamptz not null,
  said     text not null,
  primary key (trouble, subject)
);
comment on table operator_incidents is
  'Troubles of the installation that its operator was told of and that last. Bounded: a few for each process.';
