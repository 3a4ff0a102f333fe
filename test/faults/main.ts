// The fault tests: `npm run faults -- link-cut --json`. Breaks things on purpose and compares acknowledged signals
// with recorded ones. With --json the last line is a JSON object.
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { onOrphaned } from "../../src/cli/private-postgres.ts";
import { PLANTED, type Planted, seenOf } from "./planted.ts";
import { describeTally, type Report, runScenarios } from "./run-scenarios.ts";
import type { Run, Scenario, Size } from "./scenario.ts";
import { LOG_PARTS } from "./scenarios/log/log.ts";
import { SCENARIOS } from "./scenarios/scenarios.ts";

const SEED_MAX = 2 ** 31;
const BACKLOG_MAX = 2_000_000;

const HELP = `Usage: npm run faults -- [name ...] [options]

Scenarios, all of them by default:
${SCENARIOS.map(listed).join("\n")}

Parts of the scenario "log":
${LOG_PARTS.map(listed).join("\n")}

Options:
  --quick, --tiny   shorter outages and fewer of them; without it, as before a release
  --signals N       how many signals the scenario "backlog" has to replay
  --seed N          repeat the choices of an earlier run, which printed its seed
  --planted NAME    put a fault into the program, and succeed only if the run sees it:
${Object.entries(PLANTED)
  .map(([name, { about, scenario }]) => `                      ${name.padEnd(18)} ${about} (${scenario})`)
  .join("\n")}
  --keep            leave logs, ledgers and spools where they are
  --json            end with one line of JSON: acknowledged, recorded, lost, duplicated, refused in all, and
                    "<scenario>.<figure>" for each
  --help            this text

Everything runs on loopback with a PostgreSQL of its own, and only processes that were started here are killed.
The exit code is 1 when something did not hold.`;

function listed({ name, about }: Scenario): string {
  return `  ${name.padEnd(14)} ${about}`;
}

type Choice = { help: boolean; json: boolean; scenarios: Scenario[]; planted: Planted | null; run: Run };

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
  const { run, scenarios, planted } = choice;
  run.say(`size ${run.size}, seed ${run.seed}`);
  if (planted !== null) run.say(`planted: ${planted.about}`);
  const report = await runScenarios(scenarios, run);
  const isGood = conclude(report, planted);
  if (choice.json) console.log(JSON.stringify({ ...report.tally, ...report.figures }));
  return isGood ? 0 : 1;
}

/** Prints the result; false if it is not as expected. */
function conclude(report: Report, planted: Planted | null): boolean {
  const { tally, complaints, skipped } = report;
  console.log(`\n${describeTally(tally)}`);
  for (const one of skipped) console.log(`skipped   ${one}`);
  for (const one of complaints) console.log(`VIOLATED  ${one}`);
  if (planted === null) return complaints.length === 0;
  const seen = seenOf(planted, report);
  console.log(`The planted fault was ${seen > 0 ? "detected" : "NOT DETECTED"}: ${planted.shows} ${seen}`);
  return seen > 0;
}

const OPTIONS = {
  quick: { type: "boolean" },
  tiny: { type: "boolean" },
  signals: { type: "string" },
  seed: { type: "string" },
  planted: { type: "string" },
  keep: { type: "boolean" },
  json: { type: "boolean" },
  help: { type: "boolean" },
} as const;

/** Parses the arguments, or returns the problem. */
function readArguments(args: readonly string[]): Choice | string {
  let parsed;
  try {
    parsed = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  const { quick = false, tiny = false, keep = false, json = false, help = false } = parsed.values;
  const seed = wholeNumber(parsed.values.seed, SEED_MAX);
  const signals = wholeNumber(parsed.values.signals, BACKLOG_MAX);
  if (Number.isNaN(seed) || Number.isNaN(signals)) {
    return `--seed and --signals take a whole number, up to ${SEED_MAX} and ${BACKLOG_MAX}.`;
  }
  const planted = parsed.values.planted === undefined ? null : (PLANTED[parsed.values.planted] ?? undefined);
  if (planted === undefined) return `Available faults: ${Object.keys(PLANTED).join(", ")}.`;
  const names = parsed.positionals.length > 0 ? parsed.positionals : planted ? [planted.scenario] : null;
  const known = names === null ? SCENARIOS : [...SCENARIOS, ...LOG_PARTS];
  const unknown = names?.find((name) => !known.some((scenario) => scenario.name === name));
  if (unknown !== undefined) return `Unknown scenario "${unknown}".`;
  const size: Size = tiny ? "tiny" : quick || planted !== null ? "quick" : "full";
  const run: Run = {
    say: (text) => console.log(`${new Date().toISOString().slice(11, 19)} ${text}`),
    size,
    seed: seed ?? randomInt(1, SEED_MAX),
    backlogSignals: signals,
    preloads: planted === null ? [] : [planted.module],
    keepFiles: keep,
  };
  const scenarios = known.filter(({ name }) => names === null || names.includes(name));
  return { help, json, scenarios, planted, run };
}

/** Null if it is not given, NaN if it is not a number. */
function wholeNumber(text: string | undefined, max: number): number | null {
  if (text === undefined) return null;
  const value = Number(text);
  return Number.isInteger(value) && value >= 1 && value <= max ? value : Number.NaN;
}

// Everything that was started here ends with this process, however it ends; see stage/guardian.ts.
function endBecause(reason: string): void {
  console.error(`ended by ${reason}`);
  process.exit(130);
}
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, endBecause);
onOrphaned(() => endBecause("the end of npm"));

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(error);
  process.exitCode = 1;
}
