// The simulation: `npm run sim -- --seconds 60 --json`. Plays a seeded world on the real database with a virtual
// clock, and holds what receivers got against what the model says was owed. docs/simulation.md explains the words.
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

/** The whole thing, and what is played when there is less time. */
const FULL = { seconds: 1_800, days: 90, checks: 10_000 };
const SHORT = { days: 14, checks: 200 };
/** From this on a run is not short. */
const LONG_SECONDS_MIN = 600;
/** Part of the time that is left for comparing. */
const COMPARING = 0.12;
const FINDINGS_SHOWN = 10;

const HELP = `Usage: npm run sim -- [options]

Plays jobs, owners, faults and receivers of a made-up world against the real database, with a virtual clock, and
compares the messages that arrived with those that an independent model says were owed.

Options:
  --seconds N    stop playing in time to end after about so many (default ${FULL.seconds})
  --days N       length of the world (default ${FULL.days}; ${SHORT.days} when there are less than ${LONG_SECONDS_MIN} s)
  --checks N     its checks (default ${FULL.checks}; ${SHORT.checks} likewise)
  --seed N       the world of an earlier run, which printed its seed
  --world FILE   a world that is written down, instead of one from a seed
  --plant NAME   put a fault between the simulation and the server, and succeed only if it is seen:
${Object.entries(PLANTED_FAULTS)
  .map(([name, { about, detectedBy }]) => `                   ${name.padEnd(17)} ${about} (${detectedBy})`)
  .join("\n")}
  --json         end with one line of JSON: owed, delivered, false, missed, late, duplicated and others
  --help         this text

It starts a PostgreSQL of its own, on loopback, and removes it. The exit code is 1 when an alert was false, missed,
late or duplicated; the checks concerned are then left behind as worlds of their own.`;

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
  const beganMs = performance.now();
  const log = (text: string) => console.log(`${new Date().toISOString().slice(11, 19)} ${text}`);
  if (choice.seed !== null) log(`seed ${choice.seed}`);
  if (plantedFault !== null) log(`planted: ${plantedFault.about}`);
  const world = choice.world();
  const environment = await startEnvironment();
  try {
    const endsAtMs = beganMs + seconds * 1_000 * (1 - COMPARING);
    const simulated = await simulate(world, { environment, server: realServer, plantedFault, endsAtMs, log });
    return conclude(simulated, choice);
  } finally {
    await environment.close();
  }
}

/** Says how it ended, and returns the exit code. */
function conclude(simulated: Simulated, { json, seed, plantedFault }: Choice): number {
  const { tally, world, findings } = simulated;
  const days = Math.round((world.head.to - world.head.from) / 8_640_000) / 10;
  const counts = Object.entries(tally).map(([name, count]) => `${name} ${count}`);
  console.log(`\n${days} days of ${world.checkCount} checks, ${simulated.signalCount} signals`);
  console.log(`alerts ${counts.join(", ")}${seed === null ? "" : `; seed ${seed}`}`);
  for (const { kind, checks, channel, text } of findings.slice(0, FINDINGS_SHOWN)) {
    const whose = checks.length === 0 ? "" : ` check ${checks.slice(0, 3).join(", ")}`;
    console.log(`${kind.toUpperCase().padEnd(10)}${whose} channel ${channel}: ${text}`);
  }
  const isClean = findings.length === 0;
  const seen = plantedFault === null ? 0 : tally[plantedFault.detectedBy];
  if (plantedFault !== null) {
    console.log(
      `The planted fault was ${seen > 0 ? "seen" : "NOT SEEN"}: ${plantedFault.detectedBy} ${seen}`,
    );
  } else if (!isClean) console.log(`Worlds with these checks alone: ${keepFindings(simulated, seed)}`);
  if (json) {
    const { repeatCount: repeated, signalCount: signals } = simulated;
    const size = { days, checks: world.checkCount, signals, repeated };
    const took = {
      play_seconds: round(simulated.runSeconds),
      compare_seconds: round(simulated.compareSeconds),
    };
    console.log(JSON.stringify({ ...tally, seed, ...size, ...took }));
  }
  return (plantedFault === null ? isClean : seen > 0) ? 0 : 1;
}

function round(seconds: number): number {
  return Math.round(seconds * 10) / 10;
}

/** Writes the world of each check that something is wrong with, so that it can be played by itself. */
function keepFindings({ findings, world }: Simulated, seed: number | null): string {
  const folder = join(tmpdir(), `overdue-sim-${seed ?? "world"}`);
  mkdirSync(folder, { recursive: true });
  for (const { kind, checks, text } of findings.slice(0, FINDINGS_SHOWN)) {
    const [check] = checks;
    if (check === undefined) continue;
    const path = join(folder, `${kind}-${check}.world`);
    writeFileSync(path, `# seed ${seed}, check ${check}: ${kind}, ${text}\n${describeWorld(world, [check])}`);
  }
  return folder;
}

const OPTIONS = {
  seconds: { type: "string" },
  days: { type: "string" },
  checks: { type: "string" },
  seed: { type: "string" },
  world: { type: "string" },
  plant: { type: "string" },
  json: { type: "boolean" },
  help: { type: "boolean" },
} as const;

/** What the arguments ask for, or what is wrong with them. */
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
    return `--seconds, --days, --checks and --seed take a whole number, up to ${SECONDS_MAX}, ${DAYS_MAX}, ${CHECKS_MAX} and ${SEED_MAX}.`;
  }
  const plantedFault = values.plant === undefined ? null : PLANTED_FAULTS[values.plant];
  if (plantedFault === undefined)
    return `Faults that can be planted: ${Object.keys(PLANTED_FAULTS).join(", ")}.`;
  const { world: path, json = false, help = false } = values;
  // Some of the faults need a second intake to be seen.
  const intakes = plantedFault === null ? {} : { intakes: 2 };
  const world = () =>
    path === undefined
      ? generateWorld({ seed, days, checks, ...intakes })
      : readWorld(readFileSync(path, "utf8"));
  return { help, json, seconds, seed: path === undefined ? seed : null, world, plantedFault };
}

/** Null when it is not given, NaN when it is none. */
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
