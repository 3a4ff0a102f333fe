// Wrong and jumping clocks of the processes and of the database. The database's time counts, it never goes backwards
// for a check, and no signal is lost or rejected.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { embeddedPostgres, type PostgresBinaries } from "../../support/postgres-binaries.ts";
import { conclude } from "../conclusion.ts";
import { bySize, type Result, type Run, type Scenario } from "../scenario.ts";
import { userAgentOf } from "../signals/outgoing.ts";
import { isAcknowledged } from "../signals/send.ts";
import { onStage, type Stage } from "../stage/stage.ts";
import { warmUp } from "../stage/warm-up.ts";

const LIBRARIES = [
  "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
  "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
];
const CHECKS = 120;
const PER_SECOND = 60;
/** How far the logged time may be from the time between request and response, on the true clock. */
const OFF_MS_MAX = 1_500;
/** The library reads its file once a second. */
const NOTICED_MS = 2_000;

/** Offset of a process's clock in seconds. */
const STEPS = [2, -300, 600, 0];

export const clocks: Scenario = {
  name: "clocks",
  about: "processes two seconds apart, steps of -5 and +10 minutes, of theirs and of the database's clock",
  run: async (run) => {
    const library = LIBRARIES.find((path) => existsSync(path));
    if (library === undefined) return { skipped: "libfaketime is not installed (apt-get install faketime)" };
    const folder = mkdtempSync(join(tmpdir(), "overdue-clock-"));
    // The database's user needs access.
    chmodSync(folder, 0o755);
    const remove = () => rmSync(folder, { recursive: true, force: true });
    process.once("exit", remove);
    const clock = new FakeClock({ library, path: join(folder, "database-clock") });
    try {
      const binaries = wrapped(clock, folder);
      return await onStage(run, { checks: CHECKS, binaries }, (stage) => play(stage, clock));
    } finally {
      remove();
      process.off("exit", remove);
    }
  },
};

/** A clock that follows a file. */
class FakeClock {
  readonly environment: Readonly<Record<string, string>>;
  readonly #path: string;

  constructor({ library, path }: { library: string; path: string }) {
    this.#path = path;
    this.environment = {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: path,
      FAKETIME_CACHE_DURATION: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
      DONT_FAKE_MONOTONIC: "1",
      FAKETIME_NO_CACHE: "0",
    };
    this.set(0);
  }

  /** Offset in seconds. */
  set(seconds: number): void {
    writeFileSync(this.#path, `${seconds < 0 ? "" : "+"}${seconds}.0\n`, { mode: 0o644 });
  }
}

/** The programs of PostgreSQL with another clock: a folder of links, and a script in place of the server. */
function wrapped(clock: FakeClock, folder: string): PostgresBinaries {
  const real = embeddedPostgres();
  const directory = join(folder, "postgres");
  const bin = join(directory, "bin");
  mkdirSync(bin, { recursive: true, mode: 0o755 });
  for (const name of readdirSync(real.directory).filter((one) => one !== "bin")) {
    symlinkSync(join(real.directory, name), join(directory, name));
  }
  for (const name of readdirSync(join(real.directory, "bin"))) {
    if (name !== "postgres") symlinkSync(join(real.directory, "bin", name), join(bin, name));
  }
  const settings = Object.entries(clock.environment).map(([name, value]) => `export ${name}='${value}'`);
  const script = `#!/bin/sh\n${settings.join("\n")}\nexec "${join(real.directory, "bin/postgres")}" "$@"\n`;
  writeFileSync(join(bin, "postgres"), script, { mode: 0o755 });
  return { ...real, directory };
}

async function play(stage: Stage, databaseClock: FakeClock): Promise<Result> {
  const library = databaseClock.environment["LD_PRELOAD"] ?? "";
  const clock = new FakeClock({ library, path: join(stage.folder, "process-clock") });
  const skewed = await stage.receiver({ name: "skewed", environment: { ...clock.environment } });
  const plain = await stage.receiver({ name: "plain" });
  clock.set(2);
  await Promise.all([skewed.start(), plain.start()]);
  await warmUp(stage, [skewed, plain]);
  const load = stage.ledger.startLoad({
    targets: stage.targets,
    ports: [skewed.port, plain.port],
    perSecond: PER_SECOND,
  });
  const lastsMs = bySize<number>(stage.run, { full: 10_000, quick: 5_000, tiny: 4_000 });
  await step(stage, { clock, whose: "one process's", lastsMs });
  const complaints = await farFromTruth(stage);
  await step(stage, { clock: databaseClock, whose: "the database's", lastsMs });
  await load.stop();
  const found = await conclude(stage);
  const replayed = [await skewed.replayedCount(), await plain.replayedCount()];
  const back = await backwards(stage, [skewed.port, plain.port]);
  for (const [index, { name }] of [skewed, plain].entries()) {
    const rows = back[index] ?? 0;
    if (rows <= (replayed[index] ?? 0)) continue;
    complaints.push(`${rows} log rows received by ${name} are older than a previous row`);
  }
  return {
    ...found,
    complaints: [...complaints, ...found.complaints],
    figures: { steps: STEPS.length * 2, replayed: sum(replayed), logged_back: sum(back), ...found.figures },
  };
}

async function step(
  { run }: { run: Run },
  { clock, whose, lastsMs }: { clock: FakeClock; whose: string; lastsMs: number },
): Promise<void> {
  for (const seconds of STEPS) {
    run.say(`${whose} clock is off by ${seconds} s`);
    clock.set(seconds);
    await sleep(NOTICED_MS + lastsMs);
  }
}

/** While only a process's clock was wrong, the logged times must be correct. */
async function farFromTruth(stage: Stage): Promise<string[]> {
  const rows = await stage.withClient(
    async (client) => (await client.query<{ ua: string; at: Date }>("select ua, at from pings")).rows,
  );
  const times = new Map(rows.map(({ ua, at }) => [ua, at.getTime()]));
  let farthestMs = 0;
  let seen = 0;
  for await (const entry of stage.ledger.entries()) {
    const at = times.get(userAgentOf(entry.marker));
    if (!isAcknowledged(entry) || at === undefined) continue;
    seen += 1;
    farthestMs = Math.max(farthestMs, entry.sentAt - at, at - entry.sentAt - entry.ms);
  }
  if (seen === 0) return ["no signal could be compared with the true time"];
  return farthestMs > OFF_MS_MAX ? [`a logged time is off by ${farthestMs} ms`] : [];
}

/**
 * Number of log rows that are older than a previous row in the order of n, by port. Directly recorded rows never are;
 * spooled signals keep their receive time, and may be.
 */
async function backwards(stage: Stage, ports: readonly number[]): Promise<number[]> {
  const rows = await stage.withClient(
    async (client) =>
      (
        await client.query<{ ua: string }>(`
          select ua from (
            select ua, at < max(at) over (partition by check_id order by n) as is_back from pings
          ) as steps where is_back`)
      ).rows,
  );
  const back = new Set(rows.map(({ ua }) => ua));
  const counts = ports.map(() => 0);
  for await (const { marker, port } of stage.ledger.entries()) {
    const index = ports.indexOf(port);
    if (back.has(userAgentOf(marker))) counts[index] = (counts[index] ?? 0) + 1;
  }
  return counts;
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
