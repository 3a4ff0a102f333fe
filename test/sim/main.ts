// `npm run sim -- --seconds 60 --json`: runs a seeded world on a real database with a virtual clock and compares
// the received messages with the model. docs/contribute/simulation.md defines the terms.
import { randomInt } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startEnvironment } from "./driver/environment.ts";
import { type PlantedFault, PLANTED_FAULTS } from "./planted-faults.ts";
import { realServer } from "./real-server.ts";
import { type Simulated, simulate } from "./simulate.ts";
import { generateWorld } from "./world/generate.ts";
import { describeWorld, readWorld } from "./world/text.ts";
import type { World } from "./world/world.ts";

const SEED_MAX = 2 ** 31;
const SECONDS_MAX = 86_400;
const DAYS_MAX = 365;
const CHECKS_MAX = 100_000;

/** The default size, and the size of short runs. */
const FULL = { seconds: 1_800, days: 90, checks: 10_000 };
const SHORT = { days: 14, checks: 200 };
/** Shorter runs use SHORT. */
const LONG_SECONDS_MIN = 600;
/** Fraction of the time reserved for the comparison. */
const COMPARING = 0.12;
const FINDINGS_SHOWN = 10;

const HELP = `Usage: npm run sim -- [options]

Simulate jobs, users, faults and receivers on a real database with a virtual clock, and compare the received
messages with those that an independent model computes.

Options:
  --seconds N    approximate duration of the run (default ${FULL.seconds})
  --days N       simulated days (default ${FULL.days}; ${SHORT.days} if --seconds is less than ${LONG_SECONDS_MIN})
  --checks N     simulated checks (default ${FULL.checks}; ${SHORT.checks} if --seconds is less than ${LONG_SECONDS_MIN})
  --seed N       repeat a run with the seed that it printed
  --policies     give checks policies and silences; without it, the worlds of a seed stay what they were
  --world FILE   run a world from a file
  --plant NAME   plant a fault; succeed only if it is detected:
${Object.entries(PLANTED_FAULTS)
  .map(([name, { about, detectedBy }]) => `                   ${name.padEnd(17)} ${about} (${detectedBy})`)
  .join("\n")}
  --json         print a JSON object as the last line
  --help         print this help

The run starts a private PostgreSQL on loopback and removes it afterwards. The exit code is 1 if an alert was false,
missed, late or duplicated. The world of each affected check is then written to a file.`;

type Choice = {
  help: boolean;
  json: boolean;
  seconds: number;
  seed: number | null;
  world: () => World;
  plantedFault: PlantedFault | null;
};

async function main(args: readonly string[]): Promise<number> {
  const choice = readArguments(args);
  if (typeof choice === "string") {
    console.error(`${choice}\n\n${HELP}`);
    return 2;
  }
  if (choice.help) {
    console.log(HELP);
    return 0;
  }
  const { plantedFault, seconds } = choice;
  const startedMs = performance.now();
  const log = (text: string) => console.log(`${new Date().toISOString().slice(11, 19)} ${text}`);
  if (choice.seed !== null) log(`seed ${choice.seed}`);
  if (plantedFault !== null) log(`planted fault: ${plantedFault.about}`);
  const world = choice.world();
  const environment = await startEnvironment();
  try {
    const endsAtMs = startedMs + seconds * 1_000 * (1 - COMPARING);
    const simulated = await simulate(world, { environment, server: realServer, plantedFault, endsAtMs, log });
    return conclude(simulated, choice);
  } finally {
    await environment.close();
  }
}

/** Prints the results and returns the exit code. */
function conclude(simulated: Simulated, { json, seed, plantedFault }: Choice): number {
  const { tally, world, findings } = simulated;
  const days = Math.round((world.head.to - world.head.from) / 8_640_000) / 10;
  const counts = Object.entries(tally).map(([name, count]) => `${name} ${count}`);
  console.log(`\n${days} days of ${world.checkCount} checks, ${simulated.signalCount} pings`);
  console.log(`alerts ${counts.join(", ")}${seed === null ? "" : `; seed ${seed}`}`);
  for (const { kind, checks, channel, text } of findings.slice(0, FINDINGS_SHOWN)) {
    const whose = checks.length === 0 ? "" : ` check ${checks.slice(0, 3).join(", ")}`;
    console.log(`${kind.toUpperCase().padEnd(10)}${whose} channel ${channel}: ${text}`);
  }
  const isClean = findings.length === 0;
  const detected = plantedFault === null ? 0 : tally[plantedFault.detectedBy];
  if (plantedFault !== null) {
    console.log(
      `The planted fault was ${detected > 0 ? "detected" : "NOT DETECTED"}: ${plantedFault.detectedBy} ${detected}`,
    );
  } else if (!isClean) console.log(`Worlds of the affected checks: ${writeFindings(simulated, seed)}`);
  if (json) {
    const { repeatCount: repeated, signalCount: signals } = simulated;
    const size = { days, checks: world.checkCount, signals, repeated };
    const took = {
      play_seconds: round(simulated.runSeconds),
      compare_seconds: round(simulated.compareSeconds),
    };
    const digests = {
      flips_digest: simulated.flipsDigest,
      messages_digest: simulated.messagesDigest,
      records_digest: simulated.recordsDigest,
    };
    console.log(JSON.stringify({ ...tally, seed, ...size, ...digests, ...took }));
  }
  return (plantedFault === null ? isClean : detected > 0) ? 0 : 1;
}

function round(seconds: number): number {
  return Math.round(seconds * 10) / 10;
}

/** Writes the world of each affected check to a file, so that it can be run alone, with those related to it. */
function writeFindings({ findings, world }: Simulated, seed: number | null): string {
  const folder = join(tmpdir(), `overdue-sim-${seed ?? "world"}`);
  mkdirSync(folder, { recursive: true });
  const all = Array.from({ length: world.checkCount }, (_, index) => {
    const { name, parents } = world.check(index);
    return { index, name, parents };
  });
  for (const { kind, checks, text } of findings.slice(0, FINDINGS_SHOWN)) {
    const [check] = checks;
    if (check === undefined) continue;
    const { name = "", parents = [] } = all[check] ?? {};
    const family = new Set([name, ...parents]);
    const related = all.filter(
      (one) => family.has(one.name) || one.parents.some((parent) => family.has(parent)),
    );
    const described = describeWorld(
      world,
      related.map(({ index }) => index),
    );
    const path = join(folder, `${kind}-${check}.world`);
    writeFileSync(path, `# seed ${seed}, check ${name}: ${kind}, ${text}\n${described}`);
  }
  return folder;
}

const OPTIONS = {
  seconds: { type: "string" },
  days: { type: "string" },
  checks: { type: "string" },
  seed: { type: "string" },
  world: { type: "string" },
  policies: { type: "boolean" },
  plant: { type: "string" },
  json: { type: "boolean" },
  help: { type: "boolean" },
} as const;

/** The parsed arguments, or an error message. */
function readArguments(args: readonly string[]): Choice | string {
  let values;
  try {
    ({ values } = parseArgs({ args: [...args], options: OPTIONS }));
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  const seconds = wholeNumber(values.seconds, SECONDS_MAX) ?? FULL.seconds;
  const size = seconds < LONG_SECONDS_MIN ? SHORT : FULL;
  const days = wholeNumber(values.days, DAYS_MAX) ?? size.days;
  const checks = wholeNumber(values.checks, CHECKS_MAX) ?? size.checks;
  const seed = wholeNumber(values.seed, SEED_MAX) ?? randomInt(1, SEED_MAX);
  if ([seconds, days, checks, seed].some(Number.isNaN)) {
    return `--seconds, --days, --checks and --seed take a whole number of at most ${SECONDS_MAX}, ${DAYS_MAX}, ${CHECKS_MAX} and ${SEED_MAX}.`;
  }
  const plantedFault = values.plant === undefined ? null : PLANTED_FAULTS[values.plant];
  if (plantedFault === undefined)
    return `Unknown planted fault. Available: ${Object.keys(PLANTED_FAULTS).join(", ")}.`;
  const { world: path, json = false, help = false, policies = false } = values;
  // Some planted faults are detectable only with a second intake.
  const intakes = plantedFault === null ? {} : { intakes: 2 };
  const world = () =>
    path === undefined
      ? generateWorld({
          seed,
          days,
          checks,
          policies: policies || plantedFault?.needsPolicies === true,
          ...intakes,
        })
      : readWorld(readFileSync(path, "utf8"));
  return { help, json, seconds, seed: path === undefined ? seed : null, world, plantedFault };
}

/** Null if the option is missing, NaN if it is invalid. */
function wholeNumber(text: string | undefined, max: number): number | null {
  if (text === undefined) return null;
  const value = Number(text);
  return Number.isInteger(value) && value >= 1 && value <= max ? value : Number.NaN;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(error);
  process.exitCode = 1;
}
