-- Whoever has chosen no time zone is shown the one of the browser, and mails to them tell their times in UTC.

alter table preferences
  -- Null: none was chosen.
  alter column tz drop not null;

-- UTC is what accounts had until they chose something else. A mail says the same either way; whoever wanted UTC on
-- the pages chooses it once more.
update preferences set tz = null where tz = 'UTC';
