-- What our own API needs to let several people and programs change channels: a number that grows with every change
-- of a channel, and the names that clients give to their requests so that a repeated one makes nothing twice.

alter table channels
  -- Grows whenever something changes that its owner can see and set. Entity tags are made of it: they must tell
  -- nothing of the secrets in the configuration, not even by their digest.
  add column revision integer not null default 1;

create table idempotency_keys (
  project_id     bigint not null references projects (id) on delete cascade,
  -- SHA-256 of what the client has sent: keys have any length and content.
  key_digest     bytea not null check (octet_length(key_digest) = 32),
  -- SHA-256 of the request, to tell a repetition from a mistake.
  request_digest bytea not null check (octet_length(request_digest) = 32),
  channel_uuid   uuid not null,
  created_at     timestamptz not null,
  primary key (project_id, key_digest)
);
comment on table idempotency_keys is
  'Requests that have made a channel, by the name that their client gave them. Bounded by age, and by number for each project.';
create index idempotency_keys_age on idempotency_keys (created_at);
comment on index idempotency_keys_age is 'Reader: idempotency_keys.prune.';
