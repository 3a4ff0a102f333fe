// Measures an import and simulates a move: `npm run move -- --json`.
import { parseArgs } from "node:util";
import { migrate } from "../../src/store/migrate.ts";
import { openDatabase } from "../../src/store/db.ts";
import { startPostgres } from "../support/postgres.ts";
import { embeddedPostgres } from "../support/postgres-binaries.ts";
import pg from "pg";
import { digestOf, killSteps, runChild, shortDigest } from "./kills.ts";
import { expectedOf, simulateMove } from "./move.ts";

const HELP = `Usage: npm run move -- [options]

Imports checks with history from a source in memory: time and memory; the same killed at steps and resumed; then a move
in simulated time with mirrored pings, in which nobody may be alarmed, and once more with a planted fault.

Options:
  --checks N   checks (10000)
  --pings N    pings for each check (100)
  --kills N    runs that are killed (8)
  --json       end with one line of JSON`;

const { values } = parseArgs({
  options: {
    checks: { type: "string", default: "10000" },
    pings: { type: "string", default: "100" },
    kills: { type: "string", default: "8" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

async function main(): Promise<number> {
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const [checkCount, pingsPerCheck, kills] = [values.checks, values.pings, values.kills].map(Number);
  if (!checkCount || !pingsPerCheck || kills === undefined) throw new Error(HELP);
  const postgres = await startPostgres({ binaries: embeddedPostgres() });
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
  try {
    const newDatabase = async (name: string) => {
      const client = new pg.Client({ connectionString: postgres.url() });
      await client.connect();
      await client.query(`create database ${name}`);
      await client.end();
      const url = postgres.url(name);
      await migrate({ url, applicationName: "overdue-test", onError: () => {} });
      return url;
    };
    const size = { checkCount, pingsPerCheck, now: Date.now() };
    const whole = await newDatabase("whole");
    const first = await runChild("import", { url: whole, ...size });
    const again = await runChild("import", { url: whole, ...size });
    if (first === null || again === null) throw new Error("the import was killed");
    const pings = first.projects?.reduce((sum, project) => sum + project.pings, 0) ?? 0;
    console.log(
      `import: ${checkCount} checks, ${pings} pings in ${first.ms} ms, ${first.peakMb} MB (${first.startMb} MB at the start); again without changes in ${again.ms} ms`,
    );
    const expected = await digestOf(whole);
    const killed = await newDatabase("killed");
    let killCount = 0;
    for (const killAt of killSteps(first.steps, kills)) {
      if ((await runChild("import", { url: killed, ...size, killAt })) === null) killCount += 1;
    }
    await runChild("import", { url: killed, ...size });
    const found = await digestOf(killed);
    const isSame = shortDigest(found) === shortDigest(expected);
    console.log(
      `kills: ${killCount} of the import, then resumed: ${isSame ? "same contents" : "DIFFERENT contents"}`,
    );
    const url = await newDatabase("move");
    const db = openDatabase({ url, applicationName: "overdue-test", onError: () => {} });
    const move = await simulateMove({ db, url }, { checkCount, first: 100_000 });
    const { down, stopped } = expectedOf(checkCount);
    console.log(
      `move: ${move.compared} checks compared, ${move.differing} differ; ${move.takenBack} deadlines during the move; ` +
        `alarms sent ${move.alarms}, repeated ${move.repeated}; recoveries ${move.recoveries} of ${down}; ` +
        `stopped jobs notified ${move.stopped} of ${stopped}; notices ${move.notices}`,
    );
    const faulty = await simulateMove(
      { db, url },
      { checkCount: Math.min(checkCount, 1_000), first: 900_000, withoutGap: true },
    );
    console.log(`planted fault (no gap recorded): alarms sent ${faulty.alarms}, repeated ${faulty.repeated}`);
    await db.close();
    const isGood =
      isSame &&
      killCount > 0 &&
      move.differing === 0 &&
      move.alarms + move.repeated === 0 &&
      move.recoveries === down &&
      move.stopped === stopped &&
      faulty.alarms + faulty.repeated > 0;
    console.log(isGood ? "move: good" : "move: FAILED");
    if (values.json)
      console.log(
        JSON.stringify({
          "import.ms": first.ms,
          "import.mb": first.peakMb,
          "again.ms": again.ms,
          kills: killCount,
          ...prefixed("move", move),
          ...prefixed("faulty", faulty),
          passed: isGood,
        }),
      );
    return isGood ? 0 : 1;
  } finally {
    await postgres.stop();
  }
}

function prefixed(prefix: string, figures: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(figures).map(([name, value]) => [`${prefix}.${name}`, value]));
}

process.exitCode = await main();
