-- The log of signals and what remains of it. Layouts and settings were chosen by measurement at a million
-- checks; docs/decisions holds the figures.

create table pings (
  at          timestamptz not null,
  check_id    bigint not null,
  -- Counts the logged signals of a check without gap or repeat: exact by the lock on the state row.
  n           bigint not null,
  duration_ms bigint,
  body_size   integer,
  exit_status smallint,
  -- s success, b begin of a run, f failure, l log line, i ignored.
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

create table ping_bodies (
  check_id bigint not null,
  n        bigint not null,
  at       timestamptz not null,
  body     bytea not null,
  primary key (check_id, n)
);
comment on table ping_bodies is
  'What signals carried, for those that carried anything. Trimmed with the log, but for the last success.';

create table run_chunks (
  from_at   timestamptz not null,
  to_at     timestamptz not null,
  check_id  bigint not null,
  run_count integer not null,
  -- End, outcome and duration of each run, packed: see src/store/history/run-packing.ts.
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
