-- Share links of wall boards: a screen without an account reads the board of one project with such a link.

create table board_links (
  id           bigint generated always as identity primary key,
  uuid         uuid not null unique,
  project_id   bigint not null references projects on delete cascade,
  name         text not null,
  -- SHA-256 of the token in the link. The token itself is not stored.
  digest       bytea not null unique check (octet_length(digest) = 32),
  created_at   timestamptz not null,
  last_used_at timestamptz
);
comment on table board_links is
  'Share links of wall boards, hashed. Bounded by number for each project. Revoked links are deleted.';
comment on index board_links_digest_key is 'Reader: board_links.find, for every reading of a shared board.';
comment on index board_links_uuid_key is 'Reader: board_links.delete.';
create index board_links_project on board_links (project_id, id);
comment on index board_links_project is 'Readers: board_links.list, deleting a project.';
