// The test of the job wrappers: `npm run wrappers -- --quick`. With --json the line before the last one is a JSON object.
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { onOrphaned } from "../../src/cli/private-postgres.ts";
import { runWrappers } from "./run-wrappers.ts";

const SEED_MAX = 2 ** 31;

const HELP = `Usage: npm run wrappers -- [options]

Runs overdue-run in dash, bash, busybox and mksh, and overdue exec: a table of jobs, signals and broken environments,
against servers that answer, reject, hang or do not exist; their requests beside those of runitor; delays, memory and
1 GB of output; 200 wrappers that are killed while the network comes and goes; random flags and environments.

Options:
  --quick     a minute instead of ten
  --seed N    repeat the random choices of an earlier run, which printed its seed
  --json      print the figures as JSON, too
  --help      this text

Everything is on loopback. The exit code is 1 if a case failed.`;

async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: "boolean" },
      seed: { type: "string" },
      json: { type: "boolean" },
      help: { type: "boolean" },
    },
  });
  if (values.help === true) {
    console.log(HELP);
    return 0;
  }
  const seed = Number(values.seed ?? randomInt(1, SEED_MAX));
  console.log(`seed ${seed}`);
  const report = await runWrappers({
    size: values.quick === true ? "quick" : "full",
    seed,
    say: (text) => console.log(text),
  });
  const { results, figures, kills, missing } = report;
  for (const name of missing) console.log(`skipped: ${name} is not installed`);
  for (const [name, value] of Object.entries(figures)) console.log(`${name} ${value.toFixed(1)}`);
  console.log(
    `kills: ${kills.killed} wrappers killed, ${kills.harmed} jobs harmed, ${kills.queued} ends queued, ${kills.delivered} delivered, ${kills.repeated} more than once`,
  );
  const passed = results.filter(({ problem }) => problem === null).length;
  if (values.json === true)
    console.log(JSON.stringify({ ...figures, ...kills, cases: results.length, passed }));
  console.log(`wrappers: ${passed} of ${results.length} cases`);
  return passed === results.length ? 0 : 1;
}

onOrphaned(() => process.kill(process.pid, "SIGTERM"));
process.exitCode = await main(process.argv.slice(2));
