// Signals that the database refused: moved here with the reason, so that they block nobody.
import type { Instant } from "../../core/instant.ts";
import { type Db, statement } from "../db.ts";
import { amongOldest } from "../pruning.ts";
import type { Tx } from "../transaction.ts";
import { toTimestamp } from "../values.ts";

export type RejectedSignal = {
  id: number;
  intakeId: string;
  /** Number of the batch that it came with. */
  seq: number;
  at: Instant;
  reason: string;
  /** The signal as the intake encoded it. */
  signal: Buffer;
};

type RejectedRow = {
  id: number;
  intake_id: string;
  seq: number;
  at: Instant;
  reason: string;
  signal: Buffer;
};

const INSERT = statement({
  name: "rejected_signals.insert",
  text: `insert into rejected_signals (intake_id, seq, at, reason, signal) values ($1, $2, $3, $4, $5)`,
});

/** Puts one signal aside. */
export async function insertRejectedSignal(tx: Tx, rejected: Omit<RejectedSignal, "id">): Promise<void> {
  await tx.query(INSERT, [
    rejected.intakeId,
    rejected.seq,
    toTimestamp(rejected.at),
    rejected.reason,
    rejected.signal,
  ]);
}

const LIST = statement<RejectedRow>({
  name: "rejected_signals.list",
  text: "select id, intake_id, seq, at, reason, signal from rejected_signals order by id desc limit $1",
});

/** The newest rejected signals, for the operator. */
export async function listRejectedSignals(db: Db, limit: number): Promise<RejectedSignal[]> {
  const { rows } = await db.query(LIST, [limit]);
  return rows.map(({ id, intake_id, seq, at, reason, signal }) => ({
    id,
    intakeId: intake_id,
    seq,
    at,
    reason,
    signal,
  }));
}

const PRUNE = statement({
  name: "rejected_signals.prune",
  text: `delete from rejected_signals where ${amongOldest("rejected_signals")}`,
});

/** Looks at the `limit` oldest rows and forgets those from before an instant; returns how many. */
export async function pruneRejectedSignals(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE, [toTimestamp(before), limit])).count;
}
