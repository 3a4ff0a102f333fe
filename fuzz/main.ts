// Fuzzing by name: `npm run fuzz -- ping --seed 7 --count 200000`. Sends what no client should send, and ends with an
// error if the server answers with its own failure, hangs, dies or grows.
import { parseArgs } from "node:util";
import { fuzzPing } from "./ping/fuzz-ping.ts";

export type FuzzOptions = { seed: number; first: number; count: number };

const FUZZERS: Readonly<Record<string, (options: FuzzOptions) => Promise<boolean>>> = { ping: fuzzPing };

const COUNT = 200_000;
const COUNT_MAX = 10_000_000;
const SEED_END = 2 ** 31;

const HELP = `Usage: npm run fuzz -- ping [--seed N] [--count N] [--first N]

Starts PostgreSQL and the real process on loopback and sends malformed requests; every hundredth is a valid one
that has to be answered 200 and recorded.

Options:
  --seed N    what all choices follow from; drawn and printed when it is not given
  --count N   how many requests (${COUNT})
  --first N   number of the first one (0), to see a certain request again: --first 4711 --count 1
  --help      this text

Ends with 1 when an answer is 5xx, an answer does not come, a valid request is not recorded, the process dies, or
its memory grows beyond the bound that is printed.`;

async function main(args: readonly string[]): Promise<number> {
  const choice = readArguments(args);
  if (typeof choice === "string") {
    console.error(`${choice}\n\n${HELP}`);
    return 2;
  }
  if (choice === null) {
    console.log(HELP);
    return 0;
  }
  return (await choice.fuzz(choice.options)) ? 0 : 1;
}

type Choice = { fuzz: (options: FuzzOptions) => Promise<boolean>; options: FuzzOptions };

/** What to do; null to show the help; a complaint about the arguments. */
function readArguments(args: readonly string[]): Choice | string | null {
  const text = { type: "string" } as const;
  let parsed;
  try {
    parsed = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { seed: text, count: text, first: text, help: { type: "boolean" } },
    });
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  const { values, positionals } = parsed;
  if (values.help === true) return null;
  const [name = "ping", ...others] = positionals;
  const fuzz = Object.hasOwn(FUZZERS, name) ? FUZZERS[name] : undefined;
  if (fuzz === undefined || others.length > 0) return `There are: ${Object.keys(FUZZERS).join(", ")}.`;
  const options = {
    seed: wholeNumber(values.seed ?? String(Math.floor(Math.random() * SEED_END)), SEED_END),
    count: wholeNumber(values.count ?? String(COUNT), COUNT_MAX),
    first: wholeNumber(values.first ?? "0", COUNT_MAX),
  };
  const isNumbers = Object.values(options).every((value) => !Number.isNaN(value));
  return isNumbers ? { fuzz, options } : "--seed, --count and --first are whole numbers.";
}

function wholeNumber(text: string, max: number): number {
  const value = Number(text);
  return /^\d+$/.test(text) && value <= max ? value : Number.NaN;
}

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));

if (import.meta.main) {
  try {
    process.exitCode = await main(process.argv.slice(2));
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
  }
}
