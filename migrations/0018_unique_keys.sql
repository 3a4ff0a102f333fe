-- A read-only key names a check by its unique key, the SHA-1 of the first 16 hexadecimal digits of its UUID. Looking
-- one up by hashing every UUID of the project blocked the process. PostgreSQL has no SHA-1 without an extension, so
-- the program writes it: for a new check at once, for an older one when a key of its project is first looked up.

alter table checks add column unique_key text;
comment on column checks.unique_key is 'Null: made before there was this column, or by an older release.';

create index checks_unique_key on checks (unique_key) where unique_key is not null;
comment on index checks_unique_key is 'Reader: checks.find_by_unique_key.';
create index checks_without_unique_key on checks (project_id) where unique_key is null;
comment on index checks_without_unique_key is 'Reader: checks.list_without_unique_key.';
