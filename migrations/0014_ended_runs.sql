-- Start and end of a run travel on separate connections, so a start can arrive after the end of its own run. The ids of
-- the runs that ended last tell such a start from a new one. Bounded: eight ids for each check, written by recording.

alter table check_states add column ended_rids text;

comment on column check_states.ended_rids is 'The newest ended run ids, separated by a space; null: none had an id.';
