-- Deliveries become their own queue: a row is claimed by whoever sends it, says what it is about, and knows which
-- message it was told in. No released version has written a row of this table yet, so columns need no defaults.

alter table deliveries
  -- flip: a change of status. correction: a flip that was taken back after it had been told. notice: time that we
  -- could not watch. disabled: another channel was given up. operator: something is the matter with the installation.
  -- test: somebody pressed the button.
  add column kind text not null
    check (kind in ('flip', 'correction', 'notice', 'disabled', 'operator', 'test')),
  -- The group that the channel was told by; it is told by a group even while it is disabled itself.
  add column group_id bigint,
  -- The blind time of a notice, by its ends and not by a row: intakes may have been blind together.
  add column blind_from_at timestamptz,
  add column blind_to_at timestamptz,
  -- What the message says, where no other row does.
  add column about jsonb,
  -- The oldest delivery of the message that this one is part of. Set before the message is sent, and taken away
  -- only when the receiver has surely not taken it: a repeated message must say the same as the first.
  add column message_id bigint,
  -- Whoever holds the claim, and until when nobody else may send. Rows of one message are claimed together.
  add column claimed_by uuid,
  add column claimed_until_at timestamptz,
  drop constraint about_one_thing,
  drop constraint deliveries_state_check,
  -- The index on it goes with it.
  drop column blind_interval_id,
  add constraint deliveries_state_check
    check (state in ('pending', 'sent', 'merged', 'withdrawn', 'skipped', 'dead')),
  add constraint about_one_thing check (
    (kind in ('flip', 'correction')) = (flip_id is not null)
    and (kind in ('flip', 'correction')) = (check_id is not null)
    and (kind = 'notice') = (blind_from_at is not null)
    and (kind = 'notice') = (blind_to_at is not null)
    and (kind in ('disabled', 'operator')) = (about is not null)
  ),
  add constraint claimed_whole check ((claimed_by is null) = (claimed_until_at is null)),
  add constraint claimed_pending check (claimed_by is null or state = 'pending');
comment on column deliveries.next_try_at is 'Before the first try it lies in 1970: due at once, whatever becomes of the clock.';

drop index deliveries_pending;
drop index deliveries_flip;
create unique index deliveries_flip on deliveries (flip_id, channel_id, kind) where flip_id is not null;
comment on index deliveries_flip is
  'Guards one message, and one correction, for each flip and channel. Readers: deliveries.list_of_flip, planning.withdraw.';
create unique index deliveries_notice on deliveries (channel_id, blind_from_at, blind_to_at) where kind = 'notice';
comment on index deliveries_notice is 'Guards one notice for each blind interval and channel. Reader: planning.add_checks.';
-- By channel first: a receiver with a long queue must not stand before the others.
create index deliveries_due on deliveries (channel_id, next_try_at, id) where state = 'pending';
comment on index deliveries_due is 'Readers: claims.find_channels, claims.claim, deliveries.count_unsent.';

create table notice_checks (
  check_id    bigint not null,
  delivery_id bigint not null,
  primary key (check_id, delivery_id)
);
comment on table notice_checks is
  'Which checks a notice tells of. Added until the notice is sent; goes with its delivery, or with its check.';
create index notice_checks_delivery on notice_checks (delivery_id);
comment on index notice_checks_delivery is 'Readers: message_facts.list_noticed, deliveries.prune.';

alter table channels
  -- Failed messages since the last good one: while there are some, the receiver gets one message at a time.
  add column failure_count integer not null default 0,
  -- The receiver asked to be left alone until then.
  add column hold_until_at timestamptz,
  -- When the channel's bucket of messages will be full again; null: it is full.
  add column bucket_full_at timestamptz;

-- The sweeper: where it looks again, what it could not judge, and what whoever runs the installation was told.

alter table check_states
  -- Our own blindness moves a deadline without moving down_at, by which grace is shown: until then the sweeper waits.
  add column held_until_at timestamptz,
  drop constraint swept_in_time,
  add constraint swept_in_time check (
    down_at is null or (sweep_at is not null and sweep_at <= greatest(down_at, held_until_at))
  );
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

alter table intakes
  -- When a beat of anybody last ended a time without any, as far as this intake knew at its own last one: silence is
  -- believed a minute after the newest of these.
  add column gap_ended_at timestamptz,
  -- How much of what its spool may hold is taken, from 0 to 1.
  add column spool_fill real not null default 0;

create table operator_incidents (
  trouble  text not null,
  -- Which intake or check it is about; empty where there can be only one.
  subject  text not null,
  since_at timestamptz not null,
  -- Written again while it lasts: it is over when nobody has seen it for a while.
  seen_at  timestamptz not null,
  said     text not null,
  primary key (trouble, subject)
);
comment on table operator_incidents is
  'Troubles of the installation that its operator was told of and that last. Bounded: a few for each process.';

-- Mail: who agreed to be written to, what people want to be told by mail, and the mails that no delivery is about.

alter table channels
  -- The address that has agreed. A channel whose address is another one has still to ask.
  add column verified_address text;

create table preferences (
  account_id       bigint primary key references accounts on delete cascade,
  tz               text not null,
  reports          text not null check (reports in ('off', 'daily', 'weekly', 'monthly')),
  reminders        text not null check (reminders in ('off', 'hourly', 'daily')),
  -- Null: it has not been planned yet, or nobody wants one.
  next_report_at   timestamptz,
  -- Null: nothing is down, or nobody wants one.
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

create table letters (
  id               bigint generated always as identity primary key,
  -- Names it outside: in its Message-ID, and in the address that it comes back to.
  uuid             uuid not null unique,
  -- verification: may we write to you? unverified: nobody has answered that. disabled: a channel was given up, and
  -- the project has no other. report, reminder: as people wish.
  kind             text not null check (kind in ('verification', 'unverified', 'disabled', 'report', 'reminder')),
  -- Who it is for, or the channel that it is about.
  account_id       bigint references accounts on delete cascade,
  channel_id       bigint references channels on delete cascade,
  -- What it says that is not read when it is sent.
  about            jsonb not null,
  state            text not null check (state in ('pending', 'sent', 'dead')),
  created_at       timestamptz not null,
  attempt_count    integer not null,
  next_try_at      timestamptz,
  claimed_by       uuid,
  settled_at       timestamptz,
  reason           text,
  constraint for_somebody check (
    (kind in ('report', 'reminder')) = (account_id is not null)
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

-- Channels whose chat is still to be connected: see the set-up of Telegram.
create index channels_set_up on channels ((config ->> 'setup_code'))
  where kind = 'telegram' and config ->> 'setup_code' <> '';
comment on index channels_set_up is 'Readers: chats.is_any_waiting, chats.connect.';
