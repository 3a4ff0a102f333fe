// Quarantined signals: the database rejected them, they cannot be decoded, or an error in our code prevented
// recording. They are kept with the reason, so that they block no others and can be retried.
import type { Instant } from "../core/instant.ts";
import { amongOldest, type Db, statement } from "./db.ts";
import type { Tx } from "./transaction.ts";
import { toTimestamp } from "./values.ts";

export type RejectedSignal = {
  id: number;
  intakeId: string;
  /** Number of its batch. */
  seq: number;
  /** The check; null if unknown. */
  checkId: number | null;
  at: Instant;
  reason: string;
  /** The signal as the intake encoded it. */
  signal: Buffer;
};

type RejectedRow = {
  id: number;
  intake_id: string;
  seq: number;
  check_id: number | null;
  at: Instant;
  reason: string;
  signal: Buffer;
};

const INSERT = statement({
  name: "rejected_signals.insert",
  text: `insert into rejected_signals (intake_id, seq, at, reason, signal, check_id)
    values ($1, $2, $3, $4, $5, $6)`,
});

/** Quarantines one signal. */
export async function insertRejectedSignal(tx: Tx, rejected: Omit<RejectedSignal, "id">): Promise<void> {
  await tx.query(INSERT, [
    rejected.intakeId,
    rejected.seq,
    toTimestamp(rejected.at),
    rejected.reason,
    rejected.signal,
    rejected.checkId,
  ]);
}

const COLUMNS = "id, intake_id, seq, check_id, at, reason, signal";

function toRejectedSignal(row: RejectedRow): RejectedSignal {
  const { id, intake_id, seq, check_id, at, reason, signal } = row;
  return { id, intakeId: intake_id, seq, checkId: check_id, at, reason, signal };
}

const LIST = statement<RejectedRow>({
  name: "rejected_signals.list",
  text: `select ${COLUMNS} from rejected_signals order by id desc limit $1`,
});

/**
 * The newest quarantined signals.
 *
 * @internal Only tests use it.
 */
export async function listRejectedSignals(db: Db, limit: number): Promise<RejectedSignal[]> {
  return (await db.query(LIST, [limit])).rows.map(toRejectedSignal);
}

/** A quarantined signal as shown to the admin. */
export type QuarantinedPing = {
  id: number;
  at: Instant;
  reason: string;
  /** Null: the check is unknown or deleted. */
  check: { uuid: string; name: string } | null;
};

const LIST_TOLD = statement<{
  id: number;
  at: Instant;
  reason: string;
  uuid: string | null;
  name: string | null;
}>({
  name: "rejected_signals.list_told",
  text: `select r.id, r.at, r.reason, c.uuid, c.name
    from rejected_signals r left join checks c on c.id = r.check_id and c.deleted_at is null
    order by r.id desc limit $1`,
});

/** The newest quarantined signals, without their contents. */
export async function listQuarantinedPings(db: Db, limit: number): Promise<QuarantinedPing[]> {
  const { rows } = await db.query(LIST_TOLD, [limit]);
  return rows.map(({ id, at, reason, uuid, name }) => {
    return { id, at, reason, check: uuid === null ? null : { uuid, name: name ?? "" } };
  });
}

const COUNT = statement<{ count: number; oldest_at: Instant | null }>({
  name: "rejected_signals.count",
  text: "select count(*)::int as count, min(at) as oldest_at from rejected_signals",
});

// A separate statement: an optional condition would keep the plan from using the index.
const COUNT_OF_CHECK = statement<{ count: number; oldest_at: Instant | null }>({
  name: "rejected_signals.count_of_check",
  text: "select count(*)::int as count, min(at) as oldest_at from rejected_signals where check_id = $1",
});

/** How many signals are quarantined, of one check or of all, and when the oldest of them was received. */
export async function countRejectedSignals(
  db: Db,
  checkId: number | null = null,
): Promise<{ count: number; oldestAt: Instant | null }> {
  const found = checkId === null ? db.query(COUNT, []) : db.query(COUNT_OF_CHECK, [checkId]);
  const [row] = (await found).rows;
  return { count: row?.count ?? 0, oldestAt: row?.oldest_at ?? null };
}

const LOCK_AFTER = statement<RejectedRow>({
  name: "rejected_signals.lock_after",
  text: `select ${COLUMNS} from rejected_signals where id > $1 order by id limit 1 for update skip locked`,
});

/** Locks the first signal after an ID that no other process is retrying; null: there is none. */
export async function lockRejectedSignalAfter(tx: Tx, id: number): Promise<RejectedSignal | null> {
  const [row] = (await tx.query(LOCK_AFTER, [id])).rows;
  return row === undefined ? null : toRejectedSignal(row);
}

const DELETE = statement({
  name: "rejected_signals.delete",
  text: "delete from rejected_signals where id = $1",
});

/** Removes a signal from the quarantine. */
export async function deleteRejectedSignal(tx: Tx, id: number): Promise<void> {
  await tx.query(DELETE, [id]);
}

const DELETE_OF_CHECK = statement({
  name: "rejected_signals.delete_of_check",
  text: "delete from rejected_signals where check_id = $1",
});

export async function deleteRejectedOfCheck(tx: Tx, checkId: number): Promise<void> {
  await tx.query(DELETE_OF_CHECK, [checkId]);
}

const PRUNE = statement({
  name: "rejected_signals.prune",
  text: `delete from rejected_signals where ${amongOldest("rejected_signals")}`,
});

/** Deletes those of the `limit` oldest rows from before an instant; returns how many. */
export async function pruneRejectedSignals(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE, [toTimestamp(before), limit])).count;
}
