// A run against the real process, with its own database and spool: sets it up, sends, judges, prints, and cleans up.
// Each target defines what is sent and what else is judged.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CheckSettings } from "../src/core/check.ts";
import { type Database, openDatabase, statement } from "../src/store/db.ts";
import { type PingProcess, startPingProcess } from "../test/support/ping-process.ts";
import { embeddedPostgres } from "../test/support/postgres-binaries.ts";
import { startPostgres } from "../test/support/postgres.ts";
import { sampleCheck } from "../test/support/sample.ts";
import { judgeEnd, print, sendAll, type Tally } from "./tally.ts";

export type FuzzOptions = {
  seed: number;
  /** Number of the first request. */
  first: number;
  count: number;
  /** The memory limit of the process. */
  residentBytesMax?: number;
  minutesMax?: number;
  /**
   * How often a deferred request (503, or 4xx by mail) is sent again. Zero in a real run; where the machine may be too
   * busy for its database, a request that is deferred every time is still a fault.
   */
  triesAgainMax?: number;
};

export type Stage = { process: PingProcess; db: Database };

export type Target = {
  name: string;
  port: number;
  roles?: string;
  /** Settings of the process in addition to its database and its spool. */
  settings?: Readonly<Record<string, string>>;
  residentBytesMax: number;
  minutesMax: number;
  senders?: number;
  tally: Tally;
  prepare: (stage: Stage) => Promise<{
    sendOne: (number: number) => Promise<void>;
    /** Called after the process has ended. */
    judge?: () => Promise<void>;
    /** Additional lines to print. */
    more?: () => string;
  }>;
};

/** Prints the distribution of responses and a verdict; true when nothing is wrong. */
export async function runFuzz(options: FuzzOptions, target: Target): Promise<boolean> {
  const { seed, first, count } = options;
  const { residentBytesMax = target.residentBytesMax, minutesMax = target.minutesMax } = options;
  const { name, port, roles, tally, senders } = target;
  console.log(`fuzz ${name}: seed ${seed}, requests ${first} to ${first + count - 1}`);
  const begin = performance.now();
  const postgres = await startPostgres({ binaries: embeddedPostgres() });
  const databaseUrl = postgres.url();
  const db = openDatabase({ url: databaseUrl, applicationName: "overdue-fuzz", onError: () => {} });
  const spool = mkdtempSync(join(tmpdir(), "overdue-fuzz-"));
  const removeSpool = () => rmSync(spool, { recursive: true, force: true });
  process.once("exit", removeSpool);
  let running: PingProcess | undefined;
  try {
    const settings = { ...target.settings, OVERDUE_SPOOL_FOLDER: spool };
    running = await startPingProcess({
      databaseUrl,
      port,
      settings,
      ...(roles !== undefined && { roles }),
    });
    const { sendOne, judge, more } = await target.prepare({ process: running, db });
    const limits = { first, count, residentBytesMax, minutesMax, ...(senders !== undefined && { senders }) };
    await sendAll(running, { tally, limits, sendOne });
    await judgeEnd(running, tally);
    await judge?.();
    const seconds = (performance.now() - begin) / 1_000;
    print(tally, { name, residentBytesMax, seconds, ...(more !== undefined && { more: more() }) });
    return tally.failures.length === 0;
  } finally {
    if (running?.end() === null) await running.stop();
    await db.close();
    await postgres.stop();
    removeSpool();
    process.off("exit", removeSpool);
  }
}

/** The UUIDs of this many new checks. */
export async function makeChecks(
  db: Database,
  { count, ...settings }: { projectId: number; count: number } & Partial<CheckSettings>,
): Promise<string[]> {
  const made = await Promise.all(Array.from({ length: count }, () => sampleCheck(db, settings)));
  return made.map(({ uuid }) => uuid);
}

const COUNT_RECORDED = statement<{ sum: number }>({
  name: "fuzz.count_recorded",
  text: `select sum(s.ping_count)::bigint as sum
    from check_states s join checks c on c.id = s.check_id where c.uuid = any ($1::uuid[])`,
});

/** How many signals of these checks are recorded. */
export async function countRecorded(db: Database, uuids: readonly string[]): Promise<number> {
  return (await db.query(COUNT_RECORDED, [uuids])).rows[0]?.sum ?? 0;
}
