// Fuzzes the real ping process: many malformed requests, a valid one among each hundred, and a verdict at the end. The
// valid ones go to separate checks, so that their records can be counted exactly.
import { setTimeout as pause } from "node:timers/promises";
import type { Database } from "../../src/store/db.ts";
import type { PingProcess } from "../../test/support/ping-process.ts";
import { freePort } from "../../test/support/ports.ts";
import { sampleCheck, sampleProject } from "../../test/support/sample.ts";
import { chanceOf } from "../chance.ts";
import { countRecorded, type FuzzOptions, makeChecks, runFuzz } from "../run.ts";
import { emptyTally, note, RESIDENT_BYTES_MAX, SENDERS, type Tally } from "../tally.ts";
import { AGAIN_AFTER_MS, exchange, exchangePatiently, isServersFault, outcomeOf } from "./exchange.ts";
import { type Attempt, malformedAttempt, type Targets } from "./malformed.ts";

const VALID_EVERY = 100;
const MINUTES_MAX = 30;
/** Few enough for each to be hit often, many enough that none is rate-limited by its own pings. */
const VALID_CHECKS = 100;
const TARGET_CHECKS = 25;
const SLUG = "fuzzed";
/** The time for a process to cache all checks, before anything is sent that counts. */
const ACQUAINTED_MS_MAX = 60_000;

type PingTally = Tally & {
  valid: number;
  /** Valid ones that were deferred; such a request may still have been recorded. */
  validPutOff: number;
};

type World = {
  process: PingProcess;
  db: Database;
  targets: Targets;
  validUuids: readonly string[];
  /** Pings of the valid requests' checks that were recorded before the run. */
  recordedBefore: number;
};

/** Prints the distribution of responses and a verdict; true when nothing is wrong. */
export async function fuzzPing(options: FuzzOptions): Promise<boolean> {
  const { seed, triesAgainMax = 0 } = options;
  const tally: PingTally = { ...emptyTally(), valid: 0, validPutOff: 0 };
  return runFuzz(options, {
    name: "ping",
    port: await freePort(),
    residentBytesMax: RESIDENT_BYTES_MAX,
    minutesMax: MINUTES_MAX,
    tally,
    prepare: async ({ process, db }) => {
      const checks = await makeTargets(db);
      await getKnown(process, checks);
      const world = { process, db, ...checks, recordedBefore: await countRecorded(db, checks.validUuids) };
      return {
        sendOne: (number) => sendOne(world, { seed, number, tally, triesAgainMax }),
        judge: () => judgeRecorded(world, tally),
        more: () => `; ${tally.valid} valid requests answered 200 and recorded`,
      };
    },
  });
}

/** Pings of cached checks are spooled when the database is slow, as in a process that has run for days. */
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

async function makeTargets(db: Database): Promise<Pick<World, "targets" | "validUuids">> {
  const { id: projectId, pingKey } = await sampleProject(db);
  // Bodies are searched for keywords, too.
  const reading = { filterHttpBody: true, startKw: "begin", successKw: "done, ok", failureKw: "error" };
  const validUuids = await makeChecks(db, { projectId, count: VALID_CHECKS });
  const { uuid: first } = await sampleCheck(db, { projectId, slug: SLUG });
  const plain = await makeChecks(db, { projectId, count: TARGET_CHECKS });
  const read = await makeChecks(db, { projectId, count: TARGET_CHECKS, ...reading });
  return { targets: { uuids: [first, ...plain, ...read], pingKey: pingKey ?? "", slug: SLUG }, validUuids };
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

/** Counts the records of the valid requests. */
async function judgeRecorded({ db, validUuids, recordedBefore }: World, tally: PingTally): Promise<void> {
  const recorded = (await countRecorded(db, validUuids)) - recordedBefore;
  if (recorded < tally.valid || recorded > tally.valid + tally.validPutOff) {
    tally.failures.push(`${tally.valid} valid requests were answered 200, and ${recorded} are recorded`);
  }
}
