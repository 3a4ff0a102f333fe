-- A quarantined ping names its check: the check is not reported as down because of it, and its page shows it.

alter table rejected_signals add column check_id bigint;
create index rejected_signals_check on rejected_signals (check_id, at) where check_id is not null;
comment on index rejected_signals_check is 'Readers: refused_intervals.list on every sweep, rejected_signals.count, rejected_signals.delete_of_check.';
