// The restore drill: `npm run drill -- --json`. With --json the last line is a JSON object.
import { parseArgs } from "node:util";
import { onOrphaned } from "../../src/cli/private-postgres.ts";
import { figuresOf, isGood, runDrill } from "./drill.ts";

const HELP = `Usage: npm run drill -- [options]

Backs up a server that gets 500 pings per second, restores the backup into another database, starts a server on it,
confirms the restore, and simulates the next hour.

Options:
  --seconds N    time under load before the backup, from 5 to 600 (60)
  --healthy N    checks that are pinged all the time, from 400 to 10000 (2000)
  --owed N       alerts that are pending in the backup, and checks that go silent after it, from 100 to 1000 (100)
  --json         end with one line of JSON: drill.acknowledged, drill.missing, drill.owed, drill.delivered_once,
                 drill.false_alarms, and more
  --help         this text

Everything runs on loopback with a PostgreSQL of its own. The exit code is 1 if a ping is missing, an owed alert was not
delivered exactly once, or another message was sent.`;

function numberIn(text: string, { min, max }: { min: number; max: number }): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= min && number <= max) return number;
  throw new Error(`${text} is not a whole number from ${min} to ${max}`);
}

async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: "string", default: "60" },
      healthy: { type: "string", default: "2000" },
      owed: { type: "string", default: "100" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const result = await runDrill({
    healthy: numberIn(values.healthy, { min: 400, max: 10_000 }),
    owed: numberIn(values.owed, { min: 100, max: 1_000 }),
    loadMs: numberIn(values.seconds, { min: 5, max: 600 }) * 1_000,
    say: (text) => console.log(text),
  });
  if (values.json) console.log(JSON.stringify(figuresOf(result)));
  return isGood(result) ? 0 : 1;
}

onOrphaned(() => process.kill(process.pid, "SIGTERM"));
process.exitCode = await main(process.argv.slice(2));
