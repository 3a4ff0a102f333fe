-- A refused ping used to excuse the silence of every check, so that one stranger could hold back everybody's alerts. It
-- is now attributed to the check that it named, or to the network of its sender where that is all that is known. A table
-- of its own, and not a column of blind_intervals: the release before would take its rows for times that excuse everybody.

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
