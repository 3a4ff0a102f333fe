// Fuzzing by name: `npm run fuzz -- ping --seed 7 --count 200000`. Sends invalid requests, and exits with an error if
// the server returns a server error, violates a guarantee, hangs, crashes or uses too much memory.
import { parseArgs } from "node:util";
import { onOrphaned } from "../src/cli/private-postgres.ts";
import { fuzzApi } from "./api/fuzz-api.ts";
import { fuzzPing } from "./ping/fuzz-ping.ts";
import { fuzzSmtp } from "./smtp/fuzz-smtp.ts";
import { fuzzWeb } from "./web/fuzz-web.ts";

type Numbers = Readonly<Record<string, number>>;

type Fuzzer = {
  /** Its numeric options and their defaults; `seed` is random. */
  defaults: Numbers;
  fuzz: (numbers: Numbers) => Promise<boolean>;
};

const PING_COUNT = 200_000;
const API_REQUESTS = 50_000;
const SMTP_COUNT = 20_000;
const WEB_COUNT = 50_000;
const NUMBER_MAX = 10_000_000;
const SEED_END = 2 ** 31;

const FUZZERS: Readonly<Record<string, Fuzzer>> = {
  ping: {
    defaults: { count: PING_COUNT, first: 0 },
    fuzz: ({ seed = 0, count = PING_COUNT, first = 0 }) => fuzzPing({ seed, count, first }),
  },
  smtp: {
    defaults: { count: SMTP_COUNT, first: 0 },
    fuzz: ({ seed = 0, count = SMTP_COUNT, first = 0 }) => fuzzSmtp({ seed, count, first }),
  },
  api: {
    defaults: { requests: API_REQUESTS },
    fuzz: ({ seed = 0, requests = API_REQUESTS }) => fuzzApi({ of: "management", seed, requests }),
  },
  overdue: {
    defaults: { requests: API_REQUESTS },
    fuzz: ({ seed = 0, requests = API_REQUESTS }) => fuzzApi({ of: "overdue", seed, requests }),
  },
  web: {
    defaults: { count: WEB_COUNT, first: 0 },
    fuzz: ({ seed = 0, count = WEB_COUNT, first = 0 }) => fuzzWeb({ seed, count, first }),
  },
};

const HELP = `Usage: npm run fuzz -- ping [--seed N] [--count N] [--first N]
       npm run fuzz -- smtp [--seed N] [--count N] [--first N]
       npm run fuzz -- api [--seed N] [--requests N]
       npm run fuzz -- overdue [--seed N] [--requests N]
       npm run fuzz -- web [--seed N] [--count N] [--first N]

Each starts PostgreSQL and the real process on loopback.

ping sends malformed requests; every hundredth is a valid one that has to be answered 200 and recorded. Ends with 1
when an answer is 5xx, an answer does not come, a valid request is not recorded, the process dies, or its memory
grows beyond the bound that is printed.

smtp holds malformed dialogues and sends malformed messages; every twentieth is a valid message from another network,
which has to be answered 250 and recorded. Ends with 1 when a connection is not closed in time, an answer has no code, a
valid message is not recorded, an error is logged, the process dies, or its memory grows beyond the bound.

api lets Schemathesis make requests from the OpenAPI document of the Management API that is served, valid and broken
ones, and compares every response with the document; overdue does the same for the Overdue API, with personal access
tokens and API keys. Ends with 1 on a 5xx, a status or content type that is not documented, or a body
or header that is not as documented. Schemathesis is installed by fuzz/api/install, at the first time, into
$OVERDUE_FUZZ_DIR, or overdue-fuzz in your cache folder.

web sends strange and malformed requests to every route of the dashboard, signed in and not. Ends with 1 when an answer
is 5xx, a request is neither answered nor closed within its deadline, the process dies or logs an error, or its memory
grows beyond the bound that is printed. Build the dashboard first, or its pages may answer 503.

Options:
  --seed N      what all choices follow from; drawn and printed when it is not given
  --count N     ping, web: how many requests (${PING_COUNT}, ${WEB_COUNT})
  --first N     ping, web: number of the first one (0), to see a certain request again: --first 4711 --count 1
  --requests N  api, overdue: how many requests at least (${API_REQUESTS})
  --help        this text`;

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
  return (await choice.fuzzer.fuzz(choice.numbers)) ? 0 : 1;
}

type Choice = { fuzzer: Fuzzer; numbers: Numbers };

/** What to do; null to show the help; an error message about the arguments. */
function readArguments(args: readonly string[]): Choice | string | null {
  const text = { type: "string" } as const;
  let parsed;
  try {
    parsed = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { seed: text, count: text, first: text, requests: text, help: { type: "boolean" } },
    });
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  const { help, ...given } = parsed.values;
  if (help === true) return null;
  const [name = "ping", ...others] = parsed.positionals;
  const fuzzer = Object.hasOwn(FUZZERS, name) ? FUZZERS[name] : undefined;
  if (fuzzer === undefined || others.length > 0) return `There are: ${Object.keys(FUZZERS).join(", ")}.`;
  const numbers: Record<string, number> = {
    seed: Math.floor(Math.random() * SEED_END),
    ...fuzzer.defaults,
  };
  for (const [option, value] of Object.entries(given)) {
    if (!Object.hasOwn(numbers, option)) return `${name} has no --${option}.`;
    numbers[option] = wholeNumber(value, option === "seed" ? SEED_END : NUMBER_MAX);
  }
  const isNumbers = Object.values(numbers).every((value) => !Number.isNaN(value));
  return isNumbers ? { fuzzer, numbers } : "--seed, --count, --first and --requests are whole numbers.";
}

function wholeNumber(text: string, max: number): number {
  const value = Number(text);
  return /^\d+$/.test(text) && value <= max ? value : Number.NaN;
}

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
onOrphaned(() => process.exit(130));

if (import.meta.main) {
  try {
    process.exitCode = await main(process.argv.slice(2));
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
  }
}
