-- Requests to ping URLs that reached no check but probably belong to a project, and further addresses of checks.

create table near_misses (
  id           bigint generated always as identity primary key,
  project_id   bigint not null references projects on delete cascade,
  kind         text not null check (kind in ('uuid', 'slug', 'deleted', 'method', 'suffix', 'http')),
  -- What the path has in place of a UUID (false) or after the ping key (true), with a suffix that is not valid.
  by_slug      boolean not null,
  address      text not null,
  -- The check that it was probably meant for; null: none is similar, or it was deleted since.
  check_id     bigint references checks on delete set null,
  -- Of a check that is no longer in the trash.
  deleted_name text,
  deleted_at   timestamptz,
  -- Of the newest request.
  method       text not null,
  remote_addr  text,
  ua           text not null,
  count        bigint not null,
  first_at     timestamptz not null,
  last_at      timestamptz not null,
  -- Requests per six hours for a week, up to the bar with this number since 1970.
  spark        bigint[] not null,
  spark_bar    integer not null,
  -- The times of the newest requests in milliseconds, to guess the schedule.
  arrivals     bigint[] not null,
  ignored_at   timestamptz,
  -- A check or an alias was made for it. The next request makes it open again.
  resolved_at  timestamptz,
  unique (project_id, kind, address)
);
comment on table near_misses is 'Requests that reached no check. Bounded: NEAR_MISSES_MAX for each project, and by age.';
create index near_misses_age on near_misses (last_at);
comment on index near_misses_age is 'Reader: near_misses.prune.';
create index near_misses_check on near_misses (check_id) where check_id is not null;
comment on index near_misses_check is 'Reader: the foreign key.';

create table check_aliases (
  id         bigint generated always as identity primary key,
  check_id   bigint not null references checks on delete cascade,
  -- One of the three: a UUID, a slug with the ping key of a project, or a text that is not a UUID.
  uuid       uuid unique,
  project_id bigint references projects on delete cascade,
  slug       text,
  malformed  text unique,
  account_id bigint references accounts on delete set null,
  created_at timestamptz not null,
  check (num_nonnulls(uuid, slug, malformed) = 1 and (slug is null) = (project_id is null))
);
comment on table check_aliases is 'Further addresses of checks. Bounded: ALIASES_PER_CHECK_MAX for each check.';
create unique index check_aliases_slug on check_aliases (project_id, slug) where slug is not null;
comment on index check_aliases_slug is 'Guards one check for each alias. Reader: check_aliases.by_slug.';
create index check_aliases_check on check_aliases (check_id, id);
comment on index check_aliases_check is 'Readers: check_aliases.list, and the foreign key.';
create index check_aliases_malformed on check_aliases (id) where malformed is not null;
comment on index check_aliases_malformed is 'Reader: check_aliases.list_malformed.';
create index check_aliases_account on check_aliases (account_id) where account_id is not null;
comment on index check_aliases_account is 'Reader: the foreign key.';

-- The four pieces of eight digits of each UUID, with their positions: a mistyped UUID has at least one of them. UUIDs
-- never change, so that only new checks write to it. Without a list of pending entries, which every search would read.
create index checks_uuid_pieces on checks using gin ((array[
  '0' || substr(replace(uuid::text, '-', ''), 1, 8), '1' || substr(replace(uuid::text, '-', ''), 9, 8),
  '2' || substr(replace(uuid::text, '-', ''), 17, 8), '3' || substr(replace(uuid::text, '-', ''), 25, 8)
])) with (fastupdate = off);
comment on index checks_uuid_pieces is 'Reader: near_misses.find_similar.';

create index audit_entries_deleted on audit_entries ((before ->> 'uuid')) where what = 'check.deleted';
comment on index audit_entries_deleted is 'Reader: near_misses.find_deletions.';
