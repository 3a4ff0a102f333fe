// Fuzzes the real ping process: many malformed requests, a valid one among each hundred, and a verdict at the end. The
// valid ones go to checks of their own, so that what was recorded of them can be counted exactly.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { CheckSettings } from "../../src/core/check.ts";
import { type Database, openDatabase, statement } from "../../src/store/db.ts";
import { type PingProcess, startPingProcess } from "../../test/support/ping-process.ts";
import { freePort } from "../../test/support/ports.ts";
import { startPostgres } from "../../test/support/postgres.ts";
import { embeddedPostgres } from "../../test/support/postgres-binaries.ts";
import { sampleCheck, sampleProject } from "../../test/support/sample.ts";
import { chanceOf } from "../chance.ts";
import {
  emptyTally,
  judgeEnd,
  note,
  print,
  RESIDENT_BYTES_MAX,
  sendAll,
  SENDERS,
  type Tally,
} from "../tally.ts";
import { AGAIN_AFTER_MS, exchange, exchangePatiently, isServersFault, outcomeOf } from "./exchange.ts";
import { type Attempt, malformedAttempt, type Targets } from "./malformed.ts";

export type PingFuzzOptions = {
  seed: number;
  first: number;
  count: number;
  /** What the process may occupy at most. */
  residentBytesMax?: number;
  minutesMax?: number;
  /**
   * How often a request that is put off (503) is sent again. None in a run that is to show something; where the
   * machine may be too busy for its database, what is put off again and again is still a fault.
   */
  triesAgainMax?: number;
};

const VALID_EVERY = 100;
const MINUTES_MAX = 30;
/** Few enough for each to be hit often, many enough that none is rate-limited by its own signals. */
const VALID_CHECKS = 100;
const TARGET_CHECKS = 25;
const SLUG = "fuzzed";
/** What a process may take to get to know all checks, before anything is sent that counts. */
const ACQUAINTED_MS_MAX = 60_000;

type PingTally = Tally & {
  valid: number;
  /** Valid ones that were put off; such a request may have been recorded all the same. */
  validPutOff: number;
};

type World = {
  process: PingProcess;
  db: Database;
  targets: Targets;
  validUuids: readonly string[];
  /** Signals of the valid ones' checks that were recorded before anything counted. */
  recordedBefore: number;
};

/** Prints the distribution of answers and a verdict; true when nothing is wrong. */
export async function fuzzPing(options: PingFuzzOptions): Promise<boolean> {
  const { seed, first, count, triesAgainMax = 0 } = options;
  const { residentBytesMax = RESIDENT_BYTES_MAX, minutesMax = MINUTES_MAX } = options;
  console.log(`fuzz ping: seed ${seed}, requests ${first} to ${first + count - 1}`);
  const begin = performance.now();
  const postgres = await startPostgres({ binaries: embeddedPostgres() });
  const url = postgres.url();
  const db = openDatabase({ url, applicationName: "overdue-fuzz", onError: () => {} });
  const spool = mkdtempSync(join(tmpdir(), "overdue-fuzz-"));
  const removeSpool = () => rmSync(spool, { recursive: true, force: true });
  process.once("exit", removeSpool);
  let running: PingProcess | undefined;
  try {
    const settings = { OVERDUE_SPOOL_FOLDER: spool };
    running = await startPingProcess({ databaseUrl: url, port: await freePort(), settings });
    const checks = await makeChecks(db);
    await getKnown(running, checks);
    const recordedBefore = await countRecorded(db, checks.validUuids);
    const world = { process: running, db, ...checks, recordedBefore };
    const tally: PingTally = { ...emptyTally(), valid: 0, validPutOff: 0 };
    await sendAll(running, {
      tally,
      limits: { first, count, residentBytesMax, minutesMax },
      sendOne: (number) => sendOne(world, { seed, number, tally, triesAgainMax }),
    });
    await judgeEnd(running, tally);
    await judgeRecorded(world, tally);
    const more = `; ${tally.valid} valid requests answered 200 and recorded`;
    print(tally, { name: "ping", residentBytesMax, seconds: (performance.now() - begin) / 1_000, more });
    return tally.failures.length === 0;
  } finally {
    if (running?.end() === null) await running.stop();
    await db.close();
    await postgres.stop();
    removeSpool();
    process.off("exit", removeSpool);
  }
}

/** What it knows it takes into its spool when the database is slow, as it would after a few days of its life. */
async function getKnown(
  { port }: PingProcess,
  { targets, validUuids }: Pick<World, "targets" | "validUuids">,
): Promise<void> {
  const { uuids, pingKey, slug } = targets;
  const paths = [...validUuids, ...uuids, `${pingKey}/${slug}`];
  const giveUpAt = performance.now() + ACQUAINTED_MS_MAX;
  const sender = async () => {
    for (let path = paths.pop(); path !== undefined; path = paths.pop()) {
      while (outcomeOf(await exchange(port, validAttempt(path))) !== "200") {
        if (performance.now() > giveUpAt) throw new Error("the process does not take valid requests");
        await pause(AGAIN_AFTER_MS);
      }
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, sender));
}

function validAttempt(path: string | undefined): Omit<Attempt, "fault"> {
  const bytes = Buffer.from(`GET /ping/${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
  return { pieces: [bytes], end: "finish" };
}

async function makeChecks(db: Database): Promise<Pick<World, "targets" | "validUuids">> {
  const { id: projectId, pingKey } = await sampleProject(db);
  const make = async (count: number, settings: Partial<CheckSettings>) => {
    const made = await Promise.all(
      Array.from({ length: count }, () => sampleCheck(db, { projectId, ...settings })),
    );
    return made.map(({ uuid }) => uuid);
  };
  // What bodies say is searched, too.
  const reading = { filterHttpBody: true, startKw: "begin", successKw: "done, ok", failureKw: "error" };
  const validUuids = await make(VALID_CHECKS, {});
  const { uuid: first } = await sampleCheck(db, { projectId, slug: SLUG });
  const uuids = [...(await make(TARGET_CHECKS, {})), ...(await make(TARGET_CHECKS, reading))];
  return { targets: { uuids: [first, ...uuids], pingKey: pingKey ?? "", slug: SLUG }, validUuids };
}

async function sendOne(
  world: World,
  {
    seed,
    number,
    tally,
    triesAgainMax,
  }: { seed: number; number: number; tally: PingTally; triesAgainMax: number },
): Promise<void> {
  const chance = chanceOf({ seed, number });
  const { port } = world.process;
  if (number % VALID_EVERY === 0) {
    const attempt = validAttempt(world.validUuids[(number / VALID_EVERY) % world.validUuids.length]);
    const onPutOff = () => (tally.validPutOff += 1);
    const result = await exchangePatiently(port, attempt, { triesAgainMax, onPutOff });
    note(tally, "valid", outcomeOf(result));
    if (outcomeOf(result) === "200") tally.valid += 1;
    else tally.failures.push(`request ${number}, valid, was not answered 200: ${JSON.stringify(result)}`);
    return;
  }
  const attempt = malformedAttempt(chance, world.targets);
  const result = await exchangePatiently(port, attempt, { triesAgainMax });
  note(tally, attempt.fault, outcomeOf(result));
  if (isServersFault(result))
    tally.failures.push(`request ${number} (${attempt.fault}): ${JSON.stringify(result)}`);
}

const COUNT_RECORDED = statement<{ sum: number }>({
  name: "fuzz.count_recorded",
  text: `select sum(s.ping_count)::bigint as sum
    from check_states s join checks c on c.id = s.check_id where c.uuid = any ($1::uuid[])`,
});

async function countRecorded(db: Database, uuids: readonly string[]): Promise<number> {
  const { rows } = await db.query(COUNT_RECORDED, [uuids]);
  return rows[0]?.sum ?? 0;
}

/** Counts what was recorded of the valid requests. */
async function judgeRecorded({ db, validUuids, recordedBefore }: World, tally: PingTally): Promise<void> {
  const recorded = (await countRecorded(db, validUuids)) - recordedBefore;
  if (recorded < tally.valid || recorded > tally.valid + tally.validPutOff) {
    tally.failures.push(`${tally.valid} valid requests were answered 200, and ${recorded} are recorded`);
  }
}
