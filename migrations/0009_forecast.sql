-- Surprises of schedules that users have marked as intended, and calendar feeds of the forecast. The forecast itself is
-- computed from the schedules, and not stored.

create table forecast_marks (
  project_id bigint not null references projects on delete cascade,
  -- Null: the mark is about the project, such as a crowded minute.
  check_id   bigint references checks on delete cascade,
  kind       text not null
    check (kind in ('missed', 'repeated', 'moved', 'skipped', 'either', 'last', 'ended', 'crowded')),
  -- The schedule and its zone: a mark ends with the schedule. Of a project, the minute or the day.
  subject    text not null,
  account_id bigint references accounts on delete set null,
  created_at timestamptz not null,
  unique nulls not distinct (project_id, check_id, kind, subject)
);
comment on table forecast_marks is
  'Surprises that are intended. Bounded: one for each kind of a check, and CROWD_MARKS_MAX for each project.';
create index forecast_marks_check on forecast_marks (check_id);
comment on index forecast_marks_check is 'Readers: the foreign key.';
create index forecast_marks_account on forecast_marks (account_id);
comment on index forecast_marks_account is 'Readers: the foreign key.';

create table forecast_feeds (
  project_id bigint not null references projects on delete cascade,
  account_id bigint not null references accounts on delete cascade,
  -- SHA-256 of a random token.
  digest     bytea not null unique check (octet_length(digest) = 32),
  created_at timestamptz not null,
  primary key (project_id, account_id)
);
comment on table forecast_feeds is 'Calendar feeds. Bounded: one for each member of a project.';
create index forecast_feeds_account on forecast_feeds (account_id);
comment on index forecast_feeds_account is 'Readers: the foreign key.';
