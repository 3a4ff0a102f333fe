// Measures candidates alternately: time at the client, processor time of the server process, and bytes written to the
// write-ahead log. Every measurement includes a checkpoint.
import { readFile } from "node:fs/promises";
import { emptySamples, type Samples } from "./figures.ts";
import type { Scale } from "./scale.ts";

/** Something that runs once in every round. */
export type Contender = {
  scale: Scale;
  /** Prepares, which is not measured, and returns the function to measure. */
  prepare: () => Promise<() => Promise<void>> | (() => Promise<void>);
};

/** Runs the candidates alternately, so that a busy moment affects all; returns their samples in the same order. */
export async function takeTurns(contenders: readonly Contender[], rounds: number): Promise<Samples[]> {
  // Pages that are still to be written from filling would otherwise be charged to the first rounds.
  await contenders[0]?.scale.admin.query("checkpoint");
  const pairs = contenders.map((contender) => ({ contender, samples: emptySamples() }));
  for (let round = 0; round < rounds; round++) {
    if (round === checkpointRound(rounds)) await contenders[0]?.scale.admin.query("checkpoint");
    const order = round % 2 === 0 ? pairs : pairs.toReversed();
    for (const { contender, samples } of order) await measureOnce(contender, samples);
  }
  return pairs.map(({ samples }) => samples);
}

/** The round before which the checkpoint runs. */
export function checkpointRound(rounds: number): number {
  return Math.floor(rounds / 3);
}

async function measureOnce({ scale, prepare }: Contender, samples: Samples): Promise<void> {
  const run = await prepare();
  const pid = await scale.backendPid();
  const walBefore = await walPosition(scale);
  const cpuBefore = await processorMs(pid);
  const begin = performance.now();
  await run();
  samples.wallMs.push(performance.now() - begin);
  const cpuAfter = await processorMs(pid);
  if (cpuBefore !== null && cpuAfter !== null) samples.cpuMs.push(cpuAfter - cpuBefore);
  samples.walBytes.push((await walPosition(scale)) - walBefore);
}

async function walPosition({ admin }: Scale): Promise<number> {
  const { rows } = await admin.query<{ at: string }>(
    "select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::text as at",
  );
  return Number(rows[0]?.at);
}

/** The processor time of a process; null if there is no /proc. */
async function processorMs(pid: number): Promise<number | null> {
  try {
    const text = await readFile(`/proc/${pid}/schedstat`, "utf8");
    return Number(text.split(" ")[0]) / 1_000_000;
  } catch {
    return null;
  }
}

export type Updates = { all: number; hot: number };

/** Row updates of a table so far, and those among them that touched no index. */
export async function updatesOf(scale: Scale, table: string): Promise<Updates> {
  // The server process reports its counts with a delay; this makes it report them now.
  await scale.database.query({ name: "bench.flush", text: "select pg_stat_force_next_flush()" }, []);
  const { rows } = await scale.admin.query<{ all: string; hot: string }>(
    `select n_tup_upd as all, n_tup_hot_upd as hot from pg_stat_user_tables where relname = $1`,
    [table],
  );
  return { all: Number(rows[0]?.all), hot: Number(rows[0]?.hot) };
}

/** The share of updates between two readings that touched no index. */
export function hotShare(before: Updates, after: Updates): number {
  return (after.hot - before.hot) / (after.all - before.all);
}

/** Bytes of a table and of its indexes. */
export async function sizesOf(scale: Scale, table: string): Promise<{ table: number; indexes: number }> {
  const { rows } = await scale.admin.query<{ size: string; indexes: string }>(
    "select pg_table_size($1::regclass) as size, pg_indexes_size($1::regclass) as indexes",
    [table],
  );
  return { table: Number(rows[0]?.size), indexes: Number(rows[0]?.indexes) };
}

/** Prints the progress: minutes pass before the first table. */
export async function reported<T>(what: string, measuring: Promise<T>): Promise<T> {
  const begin = performance.now();
  const result = await measuring;
  console.log(`  ${what} (${Math.round((performance.now() - begin) / 1_000)} s)`);
  return result;
}
