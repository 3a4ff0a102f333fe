// The benchmarks by name: `npm run bench -- schedule store --json`. Tables come first; with --json the last line is one
// JSON object. It exits with an error when a benchmark fails.
import { parseArgs } from "node:util";
import { benchApi } from "./api/bench-api.ts";
import { API_SIZES } from "./api/sizes.ts";
import { benchCells } from "./cells/bench-cells.ts";
import { CELLS_SIZES } from "./cells/sizes.ts";
import { benchDeliver } from "./deliver/bench-deliver.ts";
import { DELIVER_SIZES } from "./deliver/sizes.ts";
import { benchGrowth } from "./growth/bench-growth.ts";
import { GROWTH_SIZES } from "./growth/sizes.ts";
import { benchLog } from "./log/bench-log.ts";
import { LOG_SIZES } from "./log/sizes.ts";
import { benchMemory } from "./memory/bench-memory.ts";
import { MEMORY_SIZES } from "./memory/sizes.ts";
import { benchPing } from "./ping/bench-ping.ts";
import { PING_SIZES } from "./ping/sizes.ts";
import { benchSchedule } from "./schedule.ts";
import { benchSmtp } from "./smtp/bench-smtp.ts";
import { SMTP_SIZES } from "./smtp/sizes.ts";
import { benchStatus } from "./status/bench-status.ts";
import { STATUS_SIZES } from "./status/sizes.ts";
import { benchStore } from "./store/bench-store.ts";
import { benchSweep } from "./sweep/bench-sweep.ts";
import { SWEEP_SIZES } from "./sweep/sizes.ts";
import { benchTimeline } from "./timeline/bench-timeline.ts";
import { TIMELINE_SIZES } from "./timeline/sizes.ts";
import { benchWeb } from "./web/bench-web.ts";
import { WEB_SIZES } from "./web/sizes.ts";
import { isSizeName, SIZES, type SizeName } from "./store/sizes.ts";

type Figures = Record<string, number>;
/** The configuration of a benchmark: its size, and where to register cleanup. */
type Occasion = { size: SizeName; whenInterrupted: (cleanUp: () => Promise<void>) => void };
type Benchmark = { about: string; run: (occasion: Occasion) => Promise<Figures> };

const BENCHMARKS: Record<string, Benchmark> = {
  schedule: {
    about: "how long the next firing of an expression takes to find, beside croner",
    run: benchSchedule,
  },
  store: {
    about: "how recording and sweeping grow with the number of checks; layouts compared",
    run: ({ size, whenInterrupted }) => benchStore(SIZES[size], whenInterrupted),
  },
  sweep: {
    about:
      "how fast deadlines that pass in the same minute become flips with queued deliveries, beside bare SQL",
    run: ({ size, whenInterrupted }) => benchSweep(SWEEP_SIZES[size], whenInterrupted),
  },
  ping: {
    about:
      "signals a second over HTTP, beside PostgreSQL alone, recording alone and HTTP alone; how long each takes",
    run: ({ size, whenInterrupted }) => benchPing(PING_SIZES[size], whenInterrupted),
  },
  log: {
    about:
      "signals a second through Kafka, beside HTTP alone, PostgreSQL directly, a bare produce and recording alone",
    run: ({ size, whenInterrupted }) => benchLog(LOG_SIZES[size], whenInterrupted),
  },
  api: {
    about:
      "requests a second to the API, beside the bare SQL of the same work and a server that does nothing",
    run: ({ size, whenInterrupted }) => benchApi(API_SIZES[size], whenInterrupted),
  },
  cells: {
    about:
      "two cells on the same cores beside one, one disturbed by another, and the processor time of the router",
    run: ({ size, whenInterrupted }) => benchCells(CELLS_SIZES[size], whenInterrupted),
  },
  smtp: {
    about: "signals a second by mail, beside the bare mail server that throws messages away",
    run: ({ size, whenInterrupted }) => benchSmtp(SMTP_SIZES[size], whenInterrupted),
  },
  deliver: {
    about:
      "how long messages take from a change of status to their receiver, and how many there are a second",
    run: ({ size, whenInterrupted }) => benchDeliver(DELIVER_SIZES[size], whenInterrupted),
  },
  growth: {
    about:
      "a simulated day of 1, 10 and 100 million checks, with costs measured now; one point beside a real run",
    run: ({ size, whenInterrupted }) => benchGrowth(GROWTH_SIZES[size], whenInterrupted),
  },
  memory: {
    about:
      "memory of one process: idle, with pings, with a large dashboard; its shortest command beside Node",
    run: ({ size, whenInterrupted }) => benchMemory(MEMORY_SIZES[size], whenInterrupted),
  },
  web: {
    about: "the dashboard's first page of a large project: weight, statements, first row, longest task",
    run: ({ size, whenInterrupted }) => benchWeb(WEB_SIZES[size], whenInterrupted),
  },
  status: {
    about: "requests a second for a public status page, beside a static file server in Node and nginx",
    run: ({ size, whenInterrupted }) => benchStatus(STATUS_SIZES[size], whenInterrupted),
  },
  timeline: {
    about: "the timeline of a large project: drawing, weight, statements, longest task, a month beside a day",
    run: ({ size, whenInterrupted }) => benchTimeline(TIMELINE_SIZES[size], whenInterrupted),
  },
};

const HELP = `Usage: npm run bench -- [name ...] [--size full|small] [--json]

Names, all of them by default:
${Object.entries(BENCHMARKS)
  .map(([name, { about }]) => `  ${name.padEnd(10)} ${about}`)
  .join("\n")}

Options:
  --size full|small  full (default): ${SIZES.full.about}
                     small: ${SIZES.small.about}
  --json             end with one line of JSON: flat keys, "<benchmark>.<figure>_<unit>" or a bare ratio
  --help             this text

The store benchmark starts a PostgreSQL of its own in the system's folder for temporary files, refuses to
measure unless it is durable and lies on a disk, and removes it afterwards. A full run needs 15 GB there and
4 GB of memory. Figures of one run are comparable with each other, and hardly with those of another day:
everything that is compared takes turns, so that a busy moment hits all of it.`;

/** Runs the named benchmarks and returns the exit code. */
async function main(args: readonly string[]): Promise<number> {
  const choice = readArguments(args);
  if ("complaint" in choice) {
    console.error(`${choice.complaint}\n\n${HELP}`);
    return 2;
  }
  if (choice.help) {
    console.log(HELP);
    return 0;
  }
  const figures: Figures = {};
  for (const { name, benchmark } of choice.benchmarks) {
    const begin = performance.now();
    Object.assign(figures, await benchmark.run({ size: choice.size, whenInterrupted: rememberCleanUp }));
    console.log(`${name}: done in ${Math.round((performance.now() - begin) / 1_000)} s\n`);
  }
  if (choice.json) console.log(JSON.stringify(figures));
  return 0;
}

type Choice = {
  help: boolean;
  json: boolean;
  size: SizeName;
  benchmarks: { name: string; benchmark: Benchmark }[];
};

function readArguments(args: readonly string[]): Choice | { complaint: string } {
  const options = { json: { type: "boolean" }, help: { type: "boolean" }, size: { type: "string" } } as const;
  let parsed;
  try {
    parsed = parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    return { complaint: error instanceof Error ? error.message : String(error) };
  }
  const { json = false, help = false, size = "full" } = parsed.values;
  if (!isSizeName(size)) return { complaint: `There is no size "${size}"; sizes are full and small.` };
  const names = parsed.positionals.length > 0 ? [...new Set(parsed.positionals)] : Object.keys(BENCHMARKS);
  const benchmarks: Choice["benchmarks"] = [];
  for (const name of names) {
    const benchmark = BENCHMARKS[name];
    if (benchmark === undefined || !Object.hasOwn(BENCHMARKS, name)) {
      return {
        complaint: `There is no benchmark "${name}"; there are ${Object.keys(BENCHMARKS).join(", ")}.`,
      };
    }
    benchmarks.push({ name, benchmark });
  }
  return { help, json, size, benchmarks };
}

const cleanUps: (() => Promise<void>)[] = [];
let isInterrupted = false;

function rememberCleanUp(cleanUp: () => Promise<void>): void {
  cleanUps.push(cleanUp);
}

// Once: a second Ctrl-C does not wait. Even then the database stops, see test/support/postgres.ts.
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    isInterrupted = true;
    console.error("interrupted: cleaning up");
    void Promise.allSettled(cleanUps.map((cleanUp) => cleanUp())).then(() => process.exit(130));
  });
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  // Code that still uses a stopped resource fails during the cleanup; these errors are expected.
  if (!isInterrupted) console.error(error);
  process.exitCode = 1;
}
