-- How much room a row of the list takes: whoever watches hundreds of checks wants more of them on one screen.

alter table accounts
  add column density text not null default 'comfortable' check (density in ('comfortable', 'compact'));
