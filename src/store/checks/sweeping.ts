// What the sweeper asks for: checks that are due, what decides about their deadlines, where to look again, and those
// that it could not judge. What becomes of them is decided in core.
import type { Instant } from "../../core/instant.ts";
import type { Timing } from "../../core/machine/status.ts";
import { type Db, statement } from "../db.ts";
import type { Tx } from "../transaction.ts";
import { sqlInstant, toNumberArray, toTimestamp } from "../values.ts";
import { STATE_COLUMNS, type StateRow, type StoredState, toStoredState } from "./check-states.ts";
import type { CheckRow } from "./checks.ts";

/** Which checks are due. */
export type DueRange = {
  through: Instant;
  /** Checks that the sweeper was to look at before this are left out: it has been there. */
  from?: Instant;
  /** Checks that are left out, because they are put aside. */
  except?: readonly number[];
  limit: number;
};

// The range has a beginning so that what a sweep has moved, and vacuum not yet removed, is not read again.
const DUE = `check_states s
    where s.sweep_at <= $1 and s.sweep_at >= $2 and s.check_id <> all ($3::bigint[])
    order by s.sweep_at limit $4`;

function dueValues({ through, from = 0, except = [], limit }: DueRange): unknown[] {
  return [toTimestamp(through), toTimestamp(from), toNumberArray(except), limit];
}

const FIND_DUE = statement<StateRow>({
  name: "sweeping.find_due",
  text: `select ${STATE_COLUMNS} from ${DUE} for update skip locked`,
});

/**
 * Locks and returns at most `limit` checks that the sweeper has to look at, the longest due first. Those
 * that another transaction holds are left to it, so that several sweepers share the work.
 */
export async function findDueStates(tx: Tx, range: DueRange): Promise<StoredState[]> {
  return (await tx.query(FIND_DUE, dueValues(range))).rows.map(toStoredState);
}

export type DueCheck = { checkId: number; sweepAt: Instant };

const LOCK_DUE = statement<{ check_id: number; sweep_at: Instant }>({
  name: "sweeping.lock_due",
  text: `select s.check_id, s.sweep_at from ${DUE} for update skip locked`,
});

/** The same, for a row of which something cannot be read: only what names it. */
export async function lockDueChecks(tx: Tx, range: DueRange): Promise<DueCheck[]> {
  return (await tx.query(LOCK_DUE, dueValues(range))).rows.map(toDueCheck);
}

const LIST_DUE = statement<{ check_id: number; sweep_at: Instant }>({
  name: "sweeping.list_due",
  text: `select s.check_id, s.sweep_at from ${DUE}`,
});

/** The same without a lock: after a sweep, those that somebody else holds. */
export async function listDueChecks(db: Db, range: DueRange): Promise<DueCheck[]> {
  return (await db.query(LIST_DUE, dueValues(range))).rows.map(toDueCheck);
}

function toDueCheck(row: { check_id: number; sweep_at: Instant }): DueCheck {
  return { checkId: row.check_id, sweepAt: row.sweep_at };
}

type TimingRow = Pick<
  CheckRow,
  "id" | "kind" | "timeout_seconds" | "grace_seconds" | "schedule" | "tz" | "manual_resume"
>;

const TIMINGS = statement<TimingRow>({
  name: "sweeping.timings",
  text: `select c.id, c.kind, c.timeout_seconds, c.grace_seconds, c.schedule, c.tz, c.manual_resume
    from checks c where c.id = any ($1::bigint[]) and c.deleted_at is null`,
});

/** What decides when signals of these checks are due. To be read after their locks; deleted ones are left out. */
export async function findTimings(db: Db, checkIds: readonly number[]): Promise<Map<number, Timing>> {
  const { rows } = await db.query(TIMINGS, [toNumberArray(checkIds)]);
  return new Map(
    rows.map((row) => [
      row.id,
      {
        kind: row.kind,
        timeoutSeconds: row.timeout_seconds,
        graceSeconds: row.grace_seconds,
        schedule: row.schedule,
        tz: row.tz,
        manualResume: row.manual_resume,
      },
    ]),
  );
}

const MOVE_SWEEP = statement({
  name: "sweeping.move",
  text: `update check_states s set sweep_at = ${sqlInstant("n.sweep_at")},
      held_until_at = ${sqlInstant("n.held_until_at")}
    from unnest($1::bigint[], $2::bigint[], $3::bigint[]) as n (check_id, sweep_at, held_until_at)
    where s.check_id = n.check_id`,
});

export type SweepMove = {
  checkId: number;
  sweepAt: Instant | null;
  /** Set where the sweeper waits beyond the deadline; it must not look after this. */
  heldUntilAt?: Instant | null;
};

/** Moves only the sweeper's mark of checks that this transaction has locked, and nothing else of them. */
export async function moveSweep(tx: Tx, moves: readonly SweepMove[]): Promise<void> {
  await tx.query(MOVE_SWEEP, [
    toNumberArray(moves.map((move) => move.checkId)),
    toNumberArray(moves.map((move) => move.sweepAt)),
    toNumberArray(moves.map((move) => move.heldUntilAt ?? null)),
  ]);
}

export type PoisonedCheck = { checkId: number; sinceAt: Instant; untilAt: Instant; reason: string };

const PUT_ASIDE = statement({
  name: "sweeping.put_aside",
  text: `insert into poisoned_checks (check_id, since_at, until_at, reason) values ($1, $2, $3, $4)
    on conflict (check_id) do update set until_at = excluded.until_at, reason = excluded.reason`,
});

/** Puts a check aside that could not be judged; since when that is so stays what it was. */
export async function putAside(tx: Tx, poisoned: PoisonedCheck): Promise<void> {
  const { checkId, sinceAt, untilAt, reason } = poisoned;
  await tx.query(PUT_ASIDE, [checkId, toTimestamp(sinceAt), toTimestamp(untilAt), reason]);
}

const FORGET = statement({
  name: "sweeping.forget_poisoned",
  text: "delete from poisoned_checks where until_at <= $1",
});

/** Forgets those whose time is over: what could not be judged again has a new one. */
export async function forgetPoisoned(tx: Tx, { through }: { through: Instant }): Promise<void> {
  await tx.query(FORGET, [toTimestamp(through)]);
}

const DELETE_OF_CHECK = statement({
  name: "sweeping.delete_of_check",
  text: "delete from poisoned_checks where check_id = $1",
});

/** Forgets that a check was put aside which is deleted for good. */
export async function deletePoisonOfCheck(tx: Tx, checkId: number): Promise<void> {
  await tx.query(DELETE_OF_CHECK, [checkId]);
}

const LIST_POISONED = statement<{ check_id: number; since_at: Instant; until_at: Instant; reason: string }>({
  name: "sweeping.list_poisoned",
  text: "select check_id, since_at, until_at, reason from poisoned_checks order by since_at, check_id limit $1",
});

/** Checks that are put aside, the longest first. */
export async function listPoisonedChecks(db: Db, limit: number): Promise<PoisonedCheck[]> {
  const { rows } = await db.query(LIST_POISONED, [limit]);
  return rows.map(({ check_id, since_at, until_at, reason }) => ({
    checkId: check_id,
    sinceAt: since_at,
    untilAt: until_at,
    reason,
  }));
}
