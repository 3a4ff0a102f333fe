-- Which secret key a digest or a seal was made with, so that a server can say when the previous key is no longer needed.
-- Null: unknown, because a release before this one wrote the row. The housekeeper labels such rows.

alter table api_keys add column secret_id text;
alter table access_tokens add column secret_id text;
alter table authenticators add column secret_id text;
alter table recovery_codes add column secret_id text;
