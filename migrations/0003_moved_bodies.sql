-- Large bodies may live in an object store. Bytes leave the database only after the store has confirmed them,
-- and an object is remembered here from before it is sent until it is removed again.

alter table ping_bodies
  -- Null: the bytes are in the object store, under the key.
  alter column body drop not null,
  -- Set before the first attempt to store the bytes: from then on an object may exist.
  add column object_key text,
  -- Until then one mover has the body to itself, and may still be sending it.
  add column moving_until timestamptz,
  add constraint ping_bodies_somewhere check (body is not null or object_key is not null),
  add constraint ping_bodies_claimed check ((object_key is null) = (moving_until is null));
comment on table ping_bodies is
  'What signals carried, for those that carried anything, or where it is. Trimmed with the log, but for the last success.';
-- By size, because the setting may ask for larger ones than these. What is smaller stays in its row's page
-- anyway, and a ping that carries it pays nothing for the index.
create index ping_bodies_movable on ping_bodies (octet_length(body)) where octet_length(body) >= 2000;
comment on index ping_bodies_movable is
  'Reader: ping_bodies.find_movable. Holds large bodies that have not been moved: none for long while they are.';

create table object_removals (
  id         bigint not null generated always as identity primary key,
  object_key text not null,
  -- The object may still be on its way there until then.
  due_at     timestamptz not null
);
comment on table object_removals is
  'Objects whose bodies are gone. Written in the transaction that removes the body; a row goes when its object has.';
