-- The optional log between the processes that receive pings (edges) and PostgreSQL. Without one, these tables are empty.

create table log_partitions (
  partition    smallint primary key,
  -- The topic that the position belongs to. Another one under the same name is never read.
  topic_id     uuid not null,
  -- The intake that represents the partition: while it is open, no deadline after its watermark fires.
  intake_id    uuid not null,
  -- The position of the next record to apply. It changes in the transaction that applies the records before it.
  next_offset  bigint not null default 0,
  -- The edges of the partition, as of that position: numbers, watermarks, ends. Bounded: EDGES_MAX.
  edges        jsonb not null default '{}',
  -- All pings that edges accepted until then are applied.
  watermark_at timestamptz not null,
  -- When an edge last ended a time in which none received pings.
  gap_ended_at timestamptz not null,
  -- The end of the partition and the time when it was read, to report how far recorders are behind.
  end_offset   bigint not null default 0,
  read_at      timestamptz,
  -- Why no record is applied until an admin decides; null: they are.
  stopped      text
) with (fillfactor = 50);
comment on table log_partitions is
  'Positions in the log. One row per partition; rewritten with every batch.';

-- Apart from log_partitions, so that claims do not wait for batches.
create table log_claims (
  partition        smallint primary key references log_partitions on delete cascade,
  recorder_id      uuid,
  claimed_until_at timestamptz
) with (fillfactor = 50);
comment on table log_claims is
  'Which recorder reads which partition, so that two do not do the same work. One row per partition.';

create table log_recorders (
  id      uuid primary key,
  name    text not null,
  seen_at timestamptz not null
) with (fillfactor = 50);
comment on table log_recorders is
  'Running recorders, to divide the partitions among them. A few rows; expired ones are deleted.';

create table log_unknown (
  id   bigint generated always as identity primary key,
  uuid uuid not null,
  at   timestamptz not null
);
comment on table log_unknown is
  'UUIDs that edges accepted although the check no longer exists; edges read them each second. Kept for a minute.';
create index log_unknown_at on log_unknown (at);
comment on index log_unknown_at is 'Reader: log_unknown.prune.';
