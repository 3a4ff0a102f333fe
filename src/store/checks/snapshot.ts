// What a statement has seen, in the words of PostgreSQL: transactions have numbers, and a snapshot says which of them
// had ended. Changes are found by the number that wrote them, and of two readings the later one is known.
import { type Db, statement } from "../db.ts";

/** Transactions below `xmin` have ended, none from `xmax` on has begun, and `running` of those between have not ended. */
export type Snapshot = { xmin: number; xmax: number; running: number };

export type SnapshotRow = { seen: string };

/** The snapshot of the statement that this is part of, as text: `xmin:xmax:` and the numbers of those that run. */
export const SEEN = "pg_current_snapshot()::text as seen";

export function toSnapshot({ seen }: SnapshotRow): Snapshot {
  const [xmin, xmax, running = ""] = seen.split(":");
  return {
    xmin: Number(xmin),
    xmax: Number(xmax),
    running: running === "" ? 0 : running.split(",").length,
  };
}

/** More transactions at once are counted as these. */
const RUNNING_MAX = 1_023;

/**
 * A number for the order of readings: a later snapshot has a larger one, because the next number has grown or one that
 * ran has ended. The numbers of the writers have no such order: who began first may write last.
 */
export function readingOrder({ xmax, running }: Snapshot): number {
  return xmax * (RUNNING_MAX + 1) + RUNNING_MAX - Math.min(running, RUNNING_MAX);
}

/** Rows know the lower half of the number of the transaction that wrote them. */
const XIDS = 2 ** 32;

export function lowerHalf(xid: number): number {
  return xid % XIDS;
}

/** The whole number, given one that is not smaller. */
export function wholeXid(lower: number, xmax: number): number {
  const behind = (lowerHalf(xmax) - lower + XIDS) % XIDS;
  return Math.max(0, xmax - behind);
}

const READ = statement<SnapshotRow>({ name: "snapshot.read", text: `select ${SEEN}` });

/** What a statement would see now. */
export async function readSnapshot(db: Db): Promise<Snapshot> {
  const [row] = (await db.query(READ, [])).rows;
  return toSnapshot(row ?? { seen: "0:0:" });
}
