// The upgrade test: `npm run upgrade -- --json`. With --json the last line is a JSON object.
import { parseArgs } from "node:util";
import { runUpgrade, type UpgradeResult } from "./run-upgrade.ts";

const PINGS_PER_SECOND = 300;
const PINGS_PER_SECOND_MAX = 5_000;
const PHASE_SECONDS = 20;
const PHASE_SECONDS_MAX = 600;

const HELP = `Usage: npm run upgrade -- [options]

Replaces two processes of this version, one after the other, by two of a version with one more migration, under load.

Options:
  --rate N       pings per second (${PINGS_PER_SECOND})
  --seconds N    load before, between and after the replacements (${PHASE_SECONDS})
  --planted      plant a migration that breaks the version before, and succeed only if that is seen
  --json         end with one line of JSON: upgrade.pings, upgrade.refused, upgrade.server_errors, upgrade.lost, …
  --help         this text

Everything runs on loopback with a PostgreSQL of its own. The exit code is 1 if a request failed or a ping was lost.`;

function isGood({ refused, serverErrors, apiFailed, lost }: UpgradeResult): boolean {
  return refused + serverErrors + apiFailed + lost === 0;
}

function numberOf(text: string | undefined, { fallback, max }: { fallback: number; max: number }): number {
  const value = text === undefined ? fallback : Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= max) return value;
  throw new Error(`expected a whole number from 1 to ${max}`);
}

async function main(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      rate: { type: "string" },
      seconds: { type: "string" },
      planted: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const seconds = numberOf(values.seconds, { fallback: PHASE_SECONDS, max: PHASE_SECONDS_MAX });
  const result = await runUpgrade({
    pingsPerSecond: numberOf(values.rate, { fallback: PINGS_PER_SECOND, max: PINGS_PER_SECOND_MAX }),
    phaseMs: seconds * 1_000,
    planted: values.planted,
    say: (line) => console.log(line),
  });
  for (const complaint of result.complaints) console.log(`complaint: ${complaint}`);
  const figures = {
    "upgrade.pings": result.pings,
    "upgrade.refused": result.refused,
    "upgrade.server_errors": result.serverErrors,
    "upgrade.lost": result.lost,
    "upgrade.api_requests": result.apiRequests,
    "upgrade.api_failed": result.apiFailed,
    "upgrade.seconds": result.seconds,
  };
  console.log(values.json ? JSON.stringify(figures) : Object.entries(figures).join("\n"));
  return isGood(result) === values.planted ? 1 : 0;
}

process.exitCode = await main(process.argv.slice(2));
