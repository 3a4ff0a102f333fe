-- A restored or copied database must not send notifications until it is certain that it is the one in service. The
-- first start of a server records which database the data is in. When a later start finds the data in another one, all
-- processes stop sending, and the state here says so to every one of them.

create table database_identity (
  is_only           boolean primary key default true check (is_only),
  -- Of the cluster, from pg_control_system(); null where the role may not call it.
  system_identifier text,
  database_oid      bigint not null,
  -- OVERDUE_SITE_URL of the processes that listen; null until one has started.
  site_url          text,
  -- normal: in service. checking: moved to another database, and it is unknown who is in service. safe: not in service
  -- until somebody confirms it.
  state             text not null check (state in ('normal', 'checking', 'safe')),
  state_since_at    timestamptz not null,
  -- The newest heartbeat in the data before it moved; null in the state normal, and where there was none.
  gap_from_at       timestamptz,
  -- Why the state is safe.
  reason            text,
  -- The one delivery to the admin that may be sent in the state safe.
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
