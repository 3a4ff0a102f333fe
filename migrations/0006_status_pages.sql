-- Public status pages: what they show, what was published on them, and who is told about changes.

create table status_pages (
  id                bigint generated always as identity primary key,
  uuid              uuid not null unique,
  project_id        bigint not null references projects on delete cascade,
  -- Of the public path. A deleted page keeps it until it is gone, so that it can be restored.
  slug              text not null unique,
  title             text not null,
  description       text not null,
  -- Colors by token; see core/status-page.ts.
  brand             jsonb not null,
  -- Groups of entries; see core/status-page.ts. Checks are named by id, and may have been deleted since.
  groups            jsonb not null,
  -- Null: anyone can read the page.
  password_hash     text,
  domain            text,
  -- What the owner of the domain has to publish in DNS.
  domain_token      text,
  domain_proved_at  timestamptz,
  domain_checked_at timestamptz,
  -- When DNS is asked next.
  domain_check_at   timestamptz,
  -- Since when the record is missing, or DNS does not answer. Null: it was found.
  domain_lost_at    timestamptz,
  -- The states of the entries that subscribers know; see core/status-page.ts.
  announced         jsonb not null default '{}',
  created_at        timestamptz not null,
  deleted_at        timestamptz,
  version           integer not null,
  constraint domain_is_whole check ((domain is null) = (domain_token is null))
);
comment on table status_pages is
  'Status pages of projects, with those in the trash. Bounded by STATUS_PAGES_MAX for each project.';
create index status_pages_project on status_pages (project_id, id);
comment on index status_pages_project is 'Readers: status_pages.list and the deletion of projects.';
create unique index status_pages_domain on status_pages (domain) where domain_proved_at is not null;
comment on index status_pages_domain is 'Guards one page for each proved domain. Others may claim it and fail to prove it.';
create index status_pages_domain_check on status_pages (domain_check_at) where domain_check_at is not null;
comment on index status_pages_domain_check is 'Reader: status_pages.claim_domains.';

create table status_logos (
  page_id bigint primary key references status_pages on delete cascade,
  type    text not null check (type in ('image/png', 'image/jpeg', 'image/webp')),
  -- SHA-256 of the bytes, in its address and its entity tag.
  digest  text not null,
  bytes   bytea not null
);
comment on table status_logos is 'Logos, apart from the pages, which are read every second. One for each page.';

create table status_posts (
  id          bigint generated always as identity primary key,
  uuid        uuid not null unique,
  page_id     bigint not null references status_pages on delete cascade,
  kind        text not null check (kind in ('incident', 'maintenance')),
  title       text not null,
  -- The affected entries, by their ids on the page.
  entries     jsonb not null,
  -- Beginning of the incident, or of the planned window.
  from_at     timestamptz not null,
  -- End of the window; of an incident, when it was resolved.
  until_at    timestamptz,
  -- The incident or silence that it was made from, for members. Not a reference, because those are deleted sooner.
  incident_number bigint,
  silence_uuid    uuid,
  created_at  timestamptz not null,
  updated_at  timestamptz not null,
  constraint window_is_whole check (kind = 'incident' or until_at is not null)
);
comment on table status_posts is
  'Published incidents and planned maintenance. Bounded by STATUS_POSTS_MAX for each page, and STATUS_POST_DAYS after the end.';
create index status_posts_page on status_posts (page_id, from_at, id);
comment on index status_posts_page is 'Reader: status_posts.list.';
create index status_posts_until on status_posts (until_at) where until_at is not null;
comment on index status_posts_until is 'Reader: status_posts.prune.';

create table status_notes (
  id         bigint generated always as identity primary key,
  uuid       uuid not null unique,
  post_id    bigint not null references status_posts on delete cascade,
  at         timestamptz not null,
  -- Written for the public. Notes of incidents in the dashboard are never copied here.
  text       text not null,
  account_id bigint
);
comment on table status_notes is 'The texts of published incidents. Bounded by STATUS_NOTES_MAX for each.';
create index status_notes_post on status_notes (post_id, id);
comment on index status_notes_post is 'Readers: status_notes.list and the deletion of posts.';

create table status_subscribers (
  id           bigint generated always as identity primary key,
  uuid         uuid not null unique,
  page_id      bigint not null references status_pages on delete cascade,
  kind         text not null check (kind in ('email', 'webhook')),
  -- The email address, or the URL of the webhook.
  address      text not null,
  created_at   timestamptz not null,
  -- Null: the address was not confirmed yet. Such a row is deleted after STATUS_CONFIRM_DAYS.
  confirmed_at timestamptz,
  -- Failed messages in a row. Too many of them end the subscription.
  failed_count integer not null default 0,
  constraint one_for_address unique (page_id, kind, address)
);
comment on table status_subscribers is
  'Who is told about changes of a page. Bounded by STATUS_SUBSCRIBERS_MAX for each page.';
create index status_subscribers_unconfirmed on status_subscribers (created_at) where confirmed_at is null;
comment on index status_subscribers_unconfirmed is 'Reader: status_subscribers.prune.';

create table status_messages (
  id            bigint generated always as identity primary key,
  uuid          uuid not null unique,
  subscriber_id bigint not null references status_subscribers on delete cascade,
  -- What happened, once for each subscriber.
  dedupe_key    text not null,
  -- What is told; see core/status-page.ts.
  about         jsonb not null,
  state         text not null check (state in ('pending', 'sent', 'dead')),
  created_at    timestamptz not null,
  settled_at    timestamptz,
  attempt_count integer not null,
  -- When it is tried; of a claimed one, when the claim expires.
  next_try_at   timestamptz,
  claimed_by    text,
  reason        text,
  constraint once_for_subscriber unique (subscriber_id, dedupe_key)
);
comment on table status_messages is
  'Messages to subscribers: pending ones, and settled ones until DELIVERY_DAYS. Bounded by subscribers times what is published.';
create index status_messages_due on status_messages (next_try_at, id) where state = 'pending';
comment on index status_messages_due is 'Reader: status_messages.claim.';
create index status_messages_created on status_messages (created_at);
comment on index status_messages_created is 'Reader: status_messages.prune.';
