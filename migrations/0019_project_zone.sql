-- Messages to a chat name times in one zone for all readers: the zone of the project. Mail uses the zone of its reader,
-- and this one where the reader has chosen none.

alter table projects add column tz text not null default 'UTC';
