-- Browsers that were signed in to an account before have tries of their own. Whoever ends all other sessions, or sets a
-- password, makes strangers of the others.

alter table accounts
  -- Browsers that were signed in before this instant are strangers; null: none is for that.
  add column browsers_known_from_at timestamptz;

update accounts set browsers_known_from_at = changed_at
  from passwords where passwords.account_id = accounts.id;
