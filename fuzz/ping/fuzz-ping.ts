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
import { type Exchange, exchange, isPutOff, isServersFault, outcomeOf } from "./exchange.ts";
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
const SENDERS = 24;
const RESIDENT_BYTES_MAX = 512 * 1024 * 1024;
const MINUTES_MAX = 30;
/** Few enough for each to be hit often, many enough that none is rate-limited by its own signals. */
const VALID_CHECKS = 100;
const TARGET_CHECKS = 25;
const SLUG = "fuzzed";
const MEMORY_EVERY_MS = 250;
const AGAIN_AFTER_MS = 1_000;
/** What a process may take to get to know all checks, before anything is sent that counts. */
const ACQUAINTED_MS_MAX = 60_000;
const FAILURES_SHOWN = 20;

type Tally = {
  sent: number;
  valid: number;
  /** Valid ones that were put off; such a request may have been recorded all the same. */
  validPutOff: number;
  /** How often each outcome was seen, over all faults and by fault. */
  outcomes: Map<string, number>;
  byFault: Map<string, Map<string, number>>;
  failures: string[];
  residentBytes: number;
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
  const { seed, first, count, residentBytesMax = RESIDENT_BYTES_MAX } = options;
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
    const tally = await sendAll(world, { ...options, residentBytesMax });
    await judgeEnd(world, tally);
    print(tally, { residentBytesMax, seconds: (performance.now() - begin) / 1_000 });
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

async function sendAll(
  world: World,
  options: PingFuzzOptions & { residentBytesMax: number },
): Promise<Tally> {
  const { seed, first, count, residentBytesMax, minutesMax = MINUTES_MAX, triesAgainMax = 0 } = options;
  const tally: Tally = {
    sent: 0,
    valid: 0,
    validPutOff: 0,
    outcomes: new Map(),
    byFault: new Map(),
    failures: [],
    residentBytes: 0,
  };
  const giveUpAt = performance.now() + minutesMax * 60_000;
  const watch = setInterval(() => void watchMemory(world, { tally, residentBytesMax }), MEMORY_EVERY_MS);
  let next = first;
  const sender = async () => {
    while (next < first + count && tally.failures.length < FAILURES_SHOWN) {
      if (world.process.end() !== null || performance.now() > giveUpAt) return;
      const number = next;
      next += 1;
      await sendOne(world, { seed, number, tally, triesAgainMax });
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, sender));
  clearInterval(watch);
  await watchMemory(world, { tally, residentBytesMax });
  if (performance.now() > giveUpAt) tally.failures.push(`not done after ${minutesMax} minutes`);
  return tally;
}

async function sendOne(
  world: World,
  {
    seed,
    number,
    tally,
    triesAgainMax,
  }: { seed: number; number: number; tally: Tally; triesAgainMax: number },
): Promise<void> {
  const chance = chanceOf({ seed, number });
  const { port } = world.process;
  tally.sent += 1;
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

/** The same again while it is put off, as often as is allowed. */
async function exchangePatiently(
  port: number,
  attempt: Omit<Attempt, "fault">,
  { triesAgainMax, onPutOff = () => {} }: { triesAgainMax: number; onPutOff?: () => void },
): Promise<Exchange> {
  for (let again = 0; ; again += 1) {
    const result = await exchange(port, attempt);
    if (!isPutOff(result)) return result;
    onPutOff();
    if (again >= triesAgainMax) return result;
    await pause(AGAIN_AFTER_MS);
  }
}

function note(tally: Tally, fault: string, outcome: string): void {
  tally.outcomes.set(outcome, (tally.outcomes.get(outcome) ?? 0) + 1);
  const mine = tally.byFault.get(fault) ?? new Map<string, number>();
  tally.byFault.set(fault, mine);
  mine.set(outcome, (mine.get(outcome) ?? 0) + 1);
}

async function watchMemory(
  world: World,
  { tally, residentBytesMax }: { tally: Tally; residentBytesMax: number },
): Promise<void> {
  if (world.process.end() !== null) return;
  const bytes = await world.process.residentBytes().catch(() => 0);
  tally.residentBytes = Math.max(tally.residentBytes, bytes);
  const complaint = `the process occupies more than ${megabytes(residentBytesMax)}`;
  if (bytes > residentBytesMax && !tally.failures.includes(complaint)) tally.failures.push(complaint);
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

/** Looks whether the process is alive, ends it in order, and counts what it recorded. */
async function judgeEnd(world: World, tally: Tally): Promise<void> {
  const { process: running, db, validUuids, recordedBefore } = world;
  const end = running.end();
  if (end === null) {
    try {
      await running.stop();
    } catch (error) {
      tally.failures.push(`the process did not stop well: ${String(error)}`);
    }
  } else {
    tally.failures.push(`the process died (${end}):\n${running.said()}`);
  }
  if (running.said().includes('"level":"error"'))
    tally.failures.push(`it logged an error:\n${running.said()}`);
  const recorded = (await countRecorded(db, validUuids)) - recordedBefore;
  if (recorded < tally.valid || recorded > tally.valid + tally.validPutOff) {
    tally.failures.push(`${tally.valid} valid requests were answered 200, and ${recorded} are recorded`);
  }
}

function print(
  tally: Tally,
  { residentBytesMax, seconds }: { residentBytesMax: number; seconds: number },
): void {
  const table = (counts: ReadonlyMap<string, number>) =>
    [...counts]
      .toSorted(([, one], [, other]) => other - one)
      .map(([outcome, count]) => `${outcome} ${count.toLocaleString("en")}`)
      .join(", ");
  const faults = [...tally.byFault].toSorted(([one], [other]) => (one < other ? -1 : 1));
  for (const [fault, counts] of faults) console.log(`  ${fault.padEnd(24)} ${table(counts)}`);
  console.log(`answers: ${table(tally.outcomes)}`);
  const memory = `${megabytes(tally.residentBytes)} of at most ${megabytes(residentBytesMax)}`;
  console.log(`memory: ${memory}; ${tally.valid} valid requests answered 200 and recorded`);
  for (const failure of tally.failures.slice(0, FAILURES_SHOWN)) console.log(`FAILED ${failure}`);
  const rate = Math.round(tally.sent / seconds);
  const verdict = tally.failures.length === 0 ? "ok" : `${tally.failures.length} failures`;
  console.log(
    `fuzz ping: ${tally.sent.toLocaleString("en")} requests in ${Math.round(seconds)} s (${rate}/s), ${verdict}`,
  );
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1024 / 1024)} MiB`;
}
