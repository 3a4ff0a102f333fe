-- Importing other installations: which rows an import has written, so that it can be repeated, finished and undone.

create table imports (
  id          bigint generated always as identity primary key,
  uuid        uuid not null unique,
  -- The installation that is imported, in words and without secrets. A repeated import has the same.
  source      text not null,
  created_at  timestamptz not null,
  -- The start of the last run that has written something.
  run_at      timestamptz not null,
  finished_at timestamptz,
  undone_at   timestamptz
);
comment on table imports is 'Imports of other installations. Bounded by the runs of an admin.';
create unique index imports_current on imports (source) where undone_at is null;
comment on index imports_current is 'Guards one import for each source. Reader: imports.find.';

create table import_items (
  import_id     bigint not null references imports on delete cascade,
  kind          text not null check (kind in ('account', 'project', 'key', 'member', 'channel', 'check', 'silence')),
  -- What identifies it in the source: a UUID, an address, or a text of the reader.
  source_ref    text not null,
  -- The id of our row. The row may have been deleted since.
  target_id     bigint not null,
  -- False: it was here before, so undoing the import leaves it.
  is_created    boolean not null,
  -- SHA-256 of what was written. If the row has another one now, somebody has edited it.
  fingerprint   text,
  -- Of checks: status, number of pings, and when they were read.
  source_status text check (source_status in ('new', 'up', 'down', 'paused')),
  ping_count    bigint,
  read_at       timestamptz,
  -- Of accounts: preferences that are set when the import is finished, because reports are emails.
  detail        jsonb,
  primary key (import_id, kind, source_ref)
);
comment on table import_items is 'What an import has written. Bounded by the size of the source; goes with the import.';
create index import_items_target on import_items (import_id, kind, target_id, source_ref);
comment on index import_items_target is 'Reader: import_items.list.';

-- The time of a move, in which pings of a check went to another server. As with a blind interval, it excuses the check
-- only if a ping was due then. The previous release treats it as rejected pings, which excuse more.
alter table refused_intervals add column is_gap boolean not null default false;
