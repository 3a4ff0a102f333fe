-- The page of the installation tells how many signals come in. Each intake says it with its beat, which it writes anyway:
-- nothing is added to the way of a signal.

alter table intakes
  -- Signals that it took in the minute before its last beat; null: it has not said, as the release before does not.
  add column signals_per_minute integer;
