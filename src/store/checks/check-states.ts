// The running state of checks: locked and rewritten in batches by whoever records signals. What a state becomes is
// decided in core; what only the sweeper asks for is in sweeping.ts.
import type { DayTotals } from "../../core/machine/day-totals.ts";
import type { Instant } from "../../core/instant.ts";
import type { CheckState, StoredStatus } from "../../core/machine/state.ts";
import { statement } from "../db.ts";
import type { Tx } from "../transaction.ts";
import { sqlInstant, toNumberArray, toTextArray } from "../values.ts";

/** A state with what is stored beside it: for the sweeper, the log and the daily roll-ups. */
export type StoredState = {
  checkId: number;
  state: CheckState;
  /** When silence becomes down; null while no deadline runs. */
  downAt: Instant | null;
  /** Where the sweeper looks next; never after downAt. */
  sweepAt: Instant | null;
  /** Number of the newest logged success, whose body is kept when the log is trimmed. */
  lastSuccessN: number | null;
  /** The running day of the roll-ups; null before the first run. */
  today: DayTotals | null;
};

export type StateRow = {
  check_id: number;
  status: StoredStatus;
  last_ping_at: Instant | null;
  last_start_at: Instant | null;
  last_start_rid: string | null;
  last_duration_ms: number | null;
  ended_rids: string | null;
  newest_at: Instant | null;
  command_at: Instant | null;
  expect_from_at: Instant | null;
  silence_deadline_at: Instant | null;
  silence_from: StoredStatus | null;
  ping_count: number;
  coalesced_count: number;
  rate_minute_at: Instant | null;
  rate_count: number;
  down_at: Instant | null;
  sweep_at: Instant | null;
  last_success_n: number | null;
  day: string | null;
  day_success_count: number;
  day_fail_count: number;
  day_timed_count: number;
  day_duration_sum_ms: number;
  day_duration_max_ms: number;
};

/** The columns of a state, for the statements that read it together with its check. */
export const STATE_COLUMNS = `s.check_id, s.status, s.last_ping_at, s.last_start_at, s.last_start_rid,
  s.last_duration_ms, s.ended_rids, s.newest_at, s.command_at, s.expect_from_at, s.silence_deadline_at, s.silence_from,
  s.ping_count, s.coalesced_count, s.rate_minute_at, s.rate_count, s.down_at, s.sweep_at,
  s.last_success_n, s.day, s.day_success_count, s.day_fail_count, s.day_timed_count, s.day_duration_sum_ms,
  s.day_duration_max_ms`;

/** A row of these columns as a domain value. */
export function toStoredState(row: StateRow): StoredState {
  const silence =
    row.silence_deadline_at === null || row.silence_from === null
      ? null
      : { deadlineAt: row.silence_deadline_at, from: row.silence_from };
  return {
    checkId: row.check_id,
    state: {
      status: row.status,
      lastPingAt: row.last_ping_at,
      lastStartAt: row.last_start_at,
      lastStartRid: row.last_start_rid,
      lastDurationMs: row.last_duration_ms,
      endedRids: row.ended_rids?.split(" ") ?? [],
      newestAt: row.newest_at,
      commandAt: row.command_at,
      expectFromAt: row.expect_from_at,
      silence,
      pingCount: row.ping_count,
      coalescedCount: row.coalesced_count,
      rateMinuteAt: row.rate_minute_at,
      rateCount: row.rate_count,
    },
    downAt: row.down_at,
    sweepAt: row.sweep_at,
    lastSuccessN: row.last_success_n,
    today: toToday(row),
  };
}

function toToday(row: StateRow): DayTotals | null {
  if (row.day === null) return null;
  return {
    day: row.day,
    successCount: row.day_success_count,
    failCount: row.day_fail_count,
    timedCount: row.day_timed_count,
    durationSumMs: row.day_duration_sum_ms,
    durationMaxMs: row.day_duration_max_ms,
  };
}

const INSERT = statement({
  name: "check_states.insert",
  text: `insert into check_states (check_id, status, ping_count, coalesced_count, rate_count)
    values ($1, 'new', 0, 0, 0)`,
});

/** Gives a new check the state of one that nobody has heard of. */
export async function insertState(tx: Tx, checkId: number): Promise<void> {
  await tx.query(INSERT, [checkId]);
}

const LOCK = statement<StateRow>({
  name: "check_states.lock",
  text: `select ${STATE_COLUMNS} from check_states s
    where s.check_id = any ($1::bigint[]) order by s.check_id for update`,
});

/**
 * Locks the states of these checks in the order of their ids, which is the order of every writer, and
 * returns them in it. Missing ones are left out. Settings must be read after this, not with it: a statement
 * that had to wait sees newer rows only of the table that it locks.
 */
export async function lockStates(tx: Tx, checkIds: readonly number[]): Promise<StoredState[]> {
  return (await tx.query(LOCK, [checkIds])).rows.map(toStoredState);
}

const WRITE = statement({
  name: "check_states.write",
  text: `update check_states s set
      status = n.status, last_ping_at = ${sqlInstant("n.last_ping_at")},
      last_start_at = ${sqlInstant("n.last_start_at")}, last_start_rid = n.last_start_rid,
      last_duration_ms = n.last_duration_ms, newest_at = ${sqlInstant("n.newest_at")},
      command_at = ${sqlInstant("n.command_at")}, expect_from_at = ${sqlInstant("n.expect_from_at")},
      silence_deadline_at = ${sqlInstant("n.silence_deadline_at")}, silence_from = n.silence_from,
      ping_count = n.ping_count, coalesced_count = n.coalesced_count,
      rate_minute_at = ${sqlInstant("n.rate_minute_at")}, rate_count = n.rate_count,
      down_at = ${sqlInstant("n.down_at")}, sweep_at = ${sqlInstant("n.sweep_at")},
      last_success_n = n.last_success_n, day = n.day,
      day_success_count = n.day_success_count, day_fail_count = n.day_fail_count,
      day_timed_count = n.day_timed_count, day_duration_sum_ms = n.day_duration_sum_ms,
      day_duration_max_ms = n.day_duration_max_ms, ended_rids = n.ended_rids
    from unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::uuid[], $6::bigint[], $7::bigint[],
      $8::bigint[], $9::bigint[], $10::bigint[], $11::text[], $12::bigint[], $13::bigint[], $14::bigint[],
      $15::int[], $16::bigint[], $17::bigint[], $18::bigint[], $19::date[], $20::int[], $21::int[], $22::int[],
      $23::bigint[], $24::bigint[], $25::text[])
      as n (check_id, status, last_ping_at, last_start_at, last_start_rid, last_duration_ms, newest_at,
        command_at, expect_from_at, silence_deadline_at, silence_from, ping_count, coalesced_count,
        rate_minute_at, rate_count, down_at, sweep_at, last_success_n, day, day_success_count,
        day_fail_count, day_timed_count, day_duration_sum_ms, day_duration_max_ms,
        ended_rids)
    where s.check_id = n.check_id`,
});

/** Writes the states of checks that this transaction has locked; each at most once. */
export async function writeStates(tx: Tx, states: readonly StoredState[]): Promise<void> {
  const texts = (value: (of: StoredState) => string | null) => toTextArray(states.map(value));
  const numbers = (value: (of: StoredState) => number | null) => toNumberArray(states.map(value));
  const { count } = await tx.query(WRITE, [
    numbers((of) => of.checkId),
    texts(({ state }) => state.status),
    numbers(({ state }) => state.lastPingAt),
    numbers(({ state }) => state.lastStartAt),
    texts(({ state }) => state.lastStartRid),
    numbers(({ state }) => state.lastDurationMs),
    numbers(({ state }) => state.newestAt),
    numbers(({ state }) => state.commandAt),
    numbers(({ state }) => state.expectFromAt),
    numbers(({ state }) => state.silence?.deadlineAt ?? null),
    texts(({ state }) => state.silence?.from ?? null),
    numbers(({ state }) => state.pingCount),
    numbers(({ state }) => state.coalescedCount),
    numbers(({ state }) => state.rateMinuteAt),
    numbers(({ state }) => state.rateCount),
    numbers((of) => of.downAt),
    numbers((of) => of.sweepAt),
    numbers((of) => of.lastSuccessN),
    texts(({ today }) => today?.day ?? null),
    numbers(({ today }) => today?.successCount ?? null),
    numbers(({ today }) => today?.failCount ?? null),
    numbers(({ today }) => today?.timedCount ?? null),
    numbers(({ today }) => today?.durationSumMs ?? null),
    numbers(({ today }) => today?.durationMaxMs ?? null),
    texts(({ state }) => (state.endedRids.length === 0 ? null : state.endedRids.join(" "))),
  ]);
  // A locked row cannot vanish, so a difference means that the caller forgot to lock.
  if (count !== states.length) throw new Error(`wrote ${count} of ${states.length} states`);
}
