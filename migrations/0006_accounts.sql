-- How people get in and what they change: sessions, the ways to prove who one is, links and codes that are mailed,
-- invitations, projects that are handed over, and the record of every change. Of secrets only digests are kept, except
-- for the shared secret of an authenticator app, which is sealed with the instance's secret.

alter table accounts
  add column theme text not null default 'system' check (theme in ('system', 'light', 'dark')),
  -- When somebody came in last; null: nobody ever has.
  add column signed_in_at timestamptz;

create table sessions (
  id          bigint generated always as identity primary key,
  -- SHA-256 of what the cookie holds.
  digest      bytea not null unique check (octet_length(digest) = 32),
  account_id  bigint not null references accounts on delete cascade,
  method      text not null check (method in ('link', 'password', 'passkey', 'oidc', 'proxy', 'setUp', 'admin')),
  created_at  timestamptz not null,
  -- When it was used last, by the minute.
  seen_at     timestamptz not null,
  -- When its owner last proved who he is: dangerous acts ask for it anew.
  proven_at   timestamptz not null,
  ua          text not null,
  remote_addr text
);
comment on table sessions is 'Browsers that are signed in. Bounded by number for each account, and by age.';
comment on index sessions_digest_key is 'Reader: sessions.find, on every request of the dashboard.';
create index sessions_account on sessions (account_id, id);
comment on index sessions_account is 'Readers: sessions.list, sessions.trim, deleting an account.';
create index sessions_seen on sessions (seen_at);
comment on index sessions_seen is 'Reader: sessions.prune.';

create table passwords (
  account_id bigint primary key references accounts on delete cascade,
  -- Argon2id in its usual text form, with salt and costs.
  hash       text not null,
  changed_at timestamptz not null
);
comment on table passwords is 'Passwords, hashed. Bounded by the accounts; whoever has no row has none.';

create table passkeys (
  id            bigint generated always as identity primary key,
  uuid          uuid not null unique,
  account_id    bigint not null references accounts on delete cascade,
  name          text not null,
  credential_id text not null unique,
  public_key    bytea not null,
  -- What the authenticator counted last; 0 of those that do not count.
  use_count     bigint not null,
  transports    text[] not null,
  created_at    timestamptz not null,
  last_used_at  timestamptz
);
comment on table passkeys is 'Passkeys and security keys: public halves. Bounded by number for each account.';
comment on index passkeys_credential_id_key is 'Reader: passkeys.find, when somebody signs in with one.';
create index passkeys_account on passkeys (account_id, id);
comment on index passkeys_account is 'Readers: passkeys.list, deleting an account.';

create table authenticators (
  account_id   bigint primary key references accounts on delete cascade,
  -- The shared secret, sealed.
  sealed       bytea not null,
  created_at   timestamptz not null,
  -- Null: it was shown, but no code of it has come back yet; it is asked for nowhere.
  confirmed_at timestamptz,
  -- The last step of time whose code was used: none is taken twice.
  last_step    bigint
);
comment on table authenticators is 'Authenticator apps, one for each account at most.';

create table recovery_codes (
  account_id bigint not null references accounts on delete cascade,
  -- HMAC with the instance's secret: the codes are short.
  digest     bytea not null check (octet_length(digest) = 32),
  used_at    timestamptz,
  primary key (account_id, digest)
);
comment on table recovery_codes is 'Codes for whoever has lost the authenticator app. Bounded: ten for each account.';

create table oidc_identities (
  issuer       text not null,
  subject      text not null,
  account_id   bigint not null references accounts on delete cascade,
  created_at   timestamptz not null,
  last_used_at timestamptz not null,
  primary key (issuer, subject)
);
comment on table oidc_identities is 'Who is who at the identity provider. Bounded by the accounts.';
create index oidc_identities_account on oidc_identities (account_id);
comment on index oidc_identities_account is 'Readers: identities.list, deleting an account.';

create table sign_in_tokens (
  id         bigint generated always as identity primary key,
  -- What links and codes in mails are made from, together with the instance's secret.
  uuid       uuid not null unique,
  -- SHA-256 of what the link ends with.
  digest     bytea not null unique check (octet_length(digest) = 32),
  -- signIn: lets somebody in. register: makes an account first. setUp: makes the first one. confirm: a code that
  -- proves again who is there. changeEmail: proves that a new address is theirs.
  purpose    text not null check (purpose in ('signIn', 'register', 'setUp', 'confirm', 'changeEmail')),
  account_id bigint references accounts on delete cascade,
  -- The address that an account is made for, or moves to.
  email      text,
  -- Where to go afterwards, below the site.
  next_path  text,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at    timestamptz,
  constraint token_of_somebody check ((purpose in ('register', 'setUp')) = (account_id is null)),
  constraint token_for_address check ((purpose in ('register', 'changeEmail')) = (email is not null))
);
comment on table sign_in_tokens is 'Links and codes that were mailed or printed, each good for one use. Bounded by age and by rate limits.';
comment on index sign_in_tokens_digest_key is 'Reader: tokens.find.';
comment on index sign_in_tokens_uuid_key is 'Reader: tokens.find_by_uuid, when the letter is written.';
create index sign_in_tokens_account on sign_in_tokens (account_id, id) where account_id is not null;
comment on index sign_in_tokens_account is 'Readers: tokens.find_newest, tokens.void, deleting an account.';
create index sign_in_tokens_age on sign_in_tokens (expires_at);
comment on index sign_in_tokens_age is 'Reader: tokens.prune.';

create table sign_in_steps (
  -- SHA-256 of what the browser brings back: a cookie, a state or a challenge.
  digest     bytea primary key check (octet_length(digest) = 32),
  kind       text not null check (kind in ('secondFactor', 'passkey', 'newPasskey', 'oidc')),
  account_id bigint references accounts on delete cascade,
  about      jsonb not null,
  created_at timestamptz not null,
  expires_at timestamptz not null
);
comment on table sign_in_steps is 'Signing in that has begun and not ended. Bounded by minutes and by rate limits.';
create index sign_in_steps_age on sign_in_steps (expires_at);
comment on index sign_in_steps_age is 'Reader: steps.prune.';
create index sign_in_steps_account on sign_in_steps (account_id) where account_id is not null;
comment on index sign_in_steps_account is 'Reader: deleting an account.';

create table attempts (
  kind    text not null,
  -- SHA-256 of an address or an account: whom it counts is nobody's business.
  digest  bytea not null check (octet_length(digest) = 32),
  -- When the bucket will be full again.
  full_at timestamptz not null,
  primary key (kind, digest)
);
comment on table attempts is 'How often something was tried that may be tried so often only. Bounded: a row goes when its bucket is full.';
create index attempts_full on attempts (full_at);
comment on index attempts_full is 'Reader: attempts.prune.';

create table invitations (
  id         bigint generated always as identity primary key,
  uuid       uuid not null unique,
  -- SHA-256 of what the link ends with.
  digest     bytea not null unique check (octet_length(digest) = 32),
  -- Null: into the installation, and no project of it.
  project_id bigint references projects on delete cascade,
  email      text not null check (email = lower(email)),
  role       text check (role in ('manager', 'member', 'readOnly')),
  invited_by bigint references accounts on delete set null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  constraint invited_as_something check ((project_id is null) = (role is null))
);
comment on table invitations is 'Who was asked to come and has not answered. Bounded by rate limits and by age.';
comment on index invitations_digest_key is 'Reader: invitations.find.';
comment on index invitations_uuid_key is 'Reader: invitations.find_by_uuid.';
create unique index invitations_once on invitations (project_id, email);
comment on index invitations_once is 'Guards one invitation for each project and address. Reader: invitations.list.';
create index invitations_age on invitations (expires_at);
comment on index invitations_age is 'Reader: invitations.prune.';
create index invitations_inviter on invitations (invited_by) where invited_by is not null;
comment on index invitations_inviter is 'Reader: deleting an account.';

create table transfers (
  project_id    bigint primary key references projects on delete cascade,
  to_account_id bigint not null references accounts on delete cascade,
  created_at    timestamptz not null
);
comment on table transfers is 'Projects that wait to be taken over. Bounded by the projects.';
create index transfers_to on transfers (to_account_id);
comment on index transfers_to is 'Readers: transfers.list_to, deleting an account.';

create table audit_entries (
  id         bigint generated always as identity primary key,
  at         timestamptz not null,
  -- Null: about the installation, or an account. It goes with its project.
  project_id bigint references projects on delete cascade,
  -- Who did it: a person, a key, or (both null) the command line or somebody whose account is closed.
  account_id bigint references accounts on delete set null,
  key_id     bigint,
  what       text not null,
  -- The name of what was changed, as it was called then.
  subject    text not null,
  before     jsonb,
  after      jsonb
);
comment on table audit_entries is 'Who changed what, before and after; never a secret. Bounded by age.';
create index audit_entries_project on audit_entries (project_id, id desc);
comment on index audit_entries_project is 'Reader: audit.list.';
create index audit_entries_account on audit_entries (account_id) where account_id is not null;
comment on index audit_entries_account is 'Reader: deleting an account.';

-- Letters about accounts. They are for whom their row names: a token, an invitation, or an account.
alter table letters
  drop constraint letters_kind_check,
  drop constraint for_somebody,
  add constraint letters_kind_check check (kind in (
    'verification', 'unverified', 'disabled', 'report', 'reminder',
    'signIn', 'confirm', 'changeEmail', 'invitation', 'transfer', 'security'
  )),
  add constraint for_somebody check (
    (kind in ('report', 'reminder', 'transfer', 'security')) = (account_id is not null)
    and (kind in ('verification', 'unverified', 'disabled')) = (channel_id is not null)
  );
