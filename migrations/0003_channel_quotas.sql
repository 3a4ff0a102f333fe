-- Accounts of the server at providers: monthly limits of what they bill, and keys that they refuse.

create table channel_quotas (
  account_id  bigint not null references accounts on delete cascade,
  -- What is counted together; see core/quota.ts.
  quota       text not null check (quota in ('messages', 'calls')),
  -- The start of the month that is counted, in UTC. A new month replaces the old one.
  month_at    timestamptz not null,
  used_count  bigint not null,
  -- When the owner was notified that the limit of the month is reached.
  notified_at timestamptz,
  primary key (account_id, quota)
);
comment on table channel_quotas is
  'How many text messages and calls an account has used this month. Bounded by accounts times quotas.';

create table provider_refusals (
  -- The kind of channel whose provider refuses the server's own key.
  kind     text primary key,
  reason   text not null,
  since_at timestamptz not null,
  last_at  timestamptz not null
);
comment on table provider_refusals is
  'Providers that refuse the key of the server; a success removes the row. Bounded by the kinds of channels.';
