// The compact history of runs: what the log gives up when it is trimmed, a hundred runs to a row.
import type { Instant } from "../../core/instant.ts";
import { type Db, statement } from "../db.ts";
import { type EndedRun, packRuns, unpackRuns } from "./run-packing.ts";
import type { Tx } from "../transaction.ts";
import { toTimestamp } from "../values.ts";

/** Runs of one check that leave the log together; at least one. */
export type RunChunk = { checkId: number; runs: readonly EndedRun[] };

const INSERT = statement({
  name: "run_chunks.insert",
  text: `insert into run_chunks (check_id, from_at, to_at, run_count, runs)
    select * from unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::int[], $5::bytea[])`,
});

/** Adds chunks to the history. */
export async function insertRunChunks(tx: Tx, chunks: readonly RunChunk[]): Promise<void> {
  await tx.query(INSERT, [
    chunks.map((chunk) => chunk.checkId),
    chunks.map(({ runs }) => toTimestamp(Math.min(...runs.map((run) => run.endAt)))),
    chunks.map(({ runs }) => toTimestamp(Math.max(...runs.map((run) => run.endAt)))),
    chunks.map(({ runs }) => runs.length),
    chunks.map(({ runs }) => packRuns(runs)),
  ]);
}

const LIST = statement<{ runs: Buffer }>({
  name: "run_chunks.list",
  text: `select runs from (
      select runs, from_at, sum(run_count) over (order by to_at desc, from_at desc) - run_count as newer_count
      from run_chunks where check_id = $1 and to_at >= $2
    ) as chunk
    where newer_count < $3 order by from_at`,
});

/**
 * The newest runs of a check that ended since an instant and have left the log, at most `limit`, oldest first. A check
 * that is pinged every second has millions of them, of which no more are unpacked than are asked for.
 */
export async function listPackedRuns(
  db: Db,
  { checkId, from, limit }: { checkId: number; from: Instant; limit: number },
): Promise<EndedRun[]> {
  const { rows } = await db.query(LIST, [checkId, toTimestamp(from), limit]);
  const runs = rows.flatMap((row) => unpackRuns(row.runs)).filter((run) => run.endAt >= from);
  return runs.toSorted((a, b) => a.endAt - b.endAt).slice(-limit);
}

const TRIM = statement({
  name: "run_chunks.trim",
  text: "delete from run_chunks where check_id = any ($1::bigint[]) and to_at < $2",
});

/** Forgets the chunks of these checks that ended before an instant. Called whenever they get a new one. */
export async function trimRunChunks(
  tx: Tx,
  { checkIds, before }: { checkIds: readonly number[]; before: Instant },
): Promise<void> {
  await tx.query(TRIM, [checkIds, toTimestamp(before)]);
}

const PRUNE = statement({
  name: "run_chunks.prune",
  text: `delete from run_chunks
    where ctid = any (array(
      select ctid from run_chunks where check_id = any ($1::bigint[]) and to_at < $2
      for update skip locked
    ))`,
});

/**
 * Forgets the chunks of these checks that ended before an instant, for checks that get no new ones; returns how
 * many. What somebody else is about to remove is left to him.
 */
export async function pruneRunChunks(
  tx: Tx,
  { checkIds, before }: { checkIds: readonly number[]; before: Instant },
): Promise<number> {
  return (await tx.query(PRUNE, [checkIds, toTimestamp(before)])).count;
}

const DELETE_OF_CHECK = statement({
  name: "run_chunks.delete_of_check",
  text: "delete from run_chunks where check_id = $1",
});

/** Removes the history of a check that is deleted for good, or whose history is cleared. */
export async function deleteRunChunksOfCheck(tx: Tx, checkId: number): Promise<void> {
  await tx.query(DELETE_OF_CHECK, [checkId]);
}
