-- What the dashboard remembers of its readers: when a member last had the page of a project open, so that it can tell
-- them what has happened since.

alter table members
  -- Null: never.
  add column seen_at timestamptz;
