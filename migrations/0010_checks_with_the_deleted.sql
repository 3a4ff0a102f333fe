-- Finds all checks of a project, the deleted ones, too: without it the list of what was deleted goes through the bin of
-- the whole installation, and whoever forgets a removed project reads the checks of everybody.

create index checks_with_deleted on checks (project_id, deleted_at);
comment on index checks_with_deleted is 'Readers: checks.list_deleted, for the bin of a project; projects.prune, and the foreign key that it wakes.';
