-- Everybody sees on their account page who came in as them: by which way, when, from where and with which browser; and
-- how often somebody tried in vain before.

create table sign_ins (
  id           bigint generated always as identity primary key,
  account_id   bigint not null references accounts on delete cascade,
  at           timestamptz not null,
  method       text not null check (method in ('link', 'password', 'passkey', 'oidc', 'proxy', 'setUp', 'admin')),
  ua           text not null,
  remote_addr  text,
  -- Wrong passwords and codes since the sign-in before it.
  failed_count integer not null
);
comment on table sign_ins is 'Who came into an account, for its owner. Bounded by number for each account, and by age.';
create index sign_ins_account on sign_ins (account_id, id);
comment on index sign_ins_account is 'Readers: sign_ins.list, sign_ins.trim, deleting an account.';

create table sign_in_failures (
  -- Null: of no account. Such a row is written so that it takes as long, and is gone before anybody can see it.
  account_id bigint unique references accounts on delete cascade,
  count      integer not null,
  last_at    timestamptz not null
);
comment on table sign_in_failures is 'Wrong passwords and codes since the last sign-in of an account. Bounded by the accounts.';
comment on index sign_in_failures_account_id_key is 'Readers: sign_in_failures.find, sign_in_failures.take, deleting an account.';
