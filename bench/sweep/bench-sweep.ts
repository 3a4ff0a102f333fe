// The sweep benchmark: many deadlines pass in the same minute, and all of them have to be flipped with their deliveries
// queued. Compared with the same writes as bare SQL, alternately.
import { BATCH_ROWS, sweepDeadlines } from "../../src/operations/sweep.ts";
import { openDatabase } from "../../src/store/db.ts";
import { startEngine } from "../store/engine.ts";
import { median, printTable, rounded, shown } from "../store/figures.ts";
import { bareSweep } from "./bare-sweep.ts";
import type { SweepSize } from "./sizes.ts";
import {
  type Counted,
  createSweepScale,
  DUE_TO,
  readCounts,
  resetStates,
  type SweepScale,
} from "./sweep-scale.ts";

type Figures = Record<string, number>;

/** As the sweeper role opens it. */
const CONNECTIONS_MAX = 3;

/** Prints a table and returns the figures under flat keys. */
export async function benchSweep(
  size: SweepSize,
  whenInterrupted: (cleanUp: () => Promise<void>) => void,
): Promise<Figures> {
  console.log(`sweep: ${size.about}`);
  const engine = await startEngine();
  whenInterrupted(engine.stop);
  try {
    const scale = await createSweepScale(engine, size);
    const [ours, bare]: [number[], number[]] = [[], []];
    for (let round = 0; round < size.rounds; round += 1) {
      ours.push(await measured(scale, () => sweepAll(scale)));
      bare.push(await measured(scale, () => sweepBare(scale)));
    }
    await scale.close();
    return report(size, { ours, bare });
  } finally {
    await engine.stop();
  }
}

async function measured(scale: SweepScale, sweep: () => Promise<number>): Promise<number> {
  await resetStates(scale);
  const seconds = await sweep();
  const { dueCount } = scale.size;
  const expected: Counted = { down: dueCount, flips: dueCount, owed: dueCount };
  const counted = await readCounts(scale);
  if (JSON.stringify(counted) !== JSON.stringify(expected)) {
    throw new Error(`swept wrongly: ${JSON.stringify(counted)} instead of ${JSON.stringify(expected)}`);
  }
  return seconds;
}

async function sweepAll({ url }: SweepScale): Promise<number> {
  const database = openDatabase({
    url,
    applicationName: "overdue-bench",
    connectionsMax: CONNECTIONS_MAX,
    plansOnce: true,
    onError: () => {},
  });
  try {
    // The connections are open before the minute begins.
    await Promise.all(Array.from({ length: CONNECTIONS_MAX }, () => database.pool.query("select 1")));
    const begin = performance.now();
    for (;;) {
      const { isComplete } = await sweepDeadlines(database, {
        now: DUE_TO + 1_000,
        visibility: { watermarkAt: DUE_TO, blind: [] },
      });
      if (isComplete) return (performance.now() - begin) / 1_000;
    }
  } finally {
    await database.close();
  }
}

async function sweepBare(scale: SweepScale): Promise<number> {
  const client = await scale.connect();
  try {
    const begin = performance.now();
    await bareSweep(client, { through: new Date(DUE_TO - 1), limit: BATCH_ROWS });
    return (performance.now() - begin) / 1_000;
  } finally {
    await client.end();
  }
}

function report(size: SweepSize, { ours, bare }: { ours: number[]; bare: number[] }): Figures {
  const row = (about: string, seconds: number[]) => [
    about,
    ...seconds.map((one) => shown(one, 2)),
    shown(median(seconds), 2),
    Math.round(size.dueCount / median(seconds)).toLocaleString("en"),
  ];
  printTable(`${size.dueCount.toLocaleString("en")} deadlines in the same minute, seconds by round`, [
    ["", ...ours.map((_, round) => `round ${round + 1}`), "median", "per second"],
    row("sweeper", ours),
    row("bare SQL", bare),
  ]);
  return {
    "sweep.seconds": rounded(median(ours)),
    "sweep.per_second": Math.round(size.dueCount / median(ours)),
    "sweep.over_bare_sql": rounded(median(ours) / median(bare)),
  };
}
