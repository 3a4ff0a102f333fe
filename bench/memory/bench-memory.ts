// The memory benchmark: the memory of the built program with all roles in one process and default settings, when it is
// idle, receives pings, and shows a dashboard; and how long its shortest command takes, beside Node alone.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { build } from "../../scripts/build.ts";
import { seedAccount, seedProject } from "../../scripts/seed.ts";
import { openDatabase } from "../../src/store/db.ts";
import { openBrowser } from "../../test/support/browser.ts";
import { BUILT_PROGRAM } from "../../test/support/ping-process.ts";
import { createSiteDatabase, type Site, startSite } from "../../test/support/site.ts";
import { measureLatency } from "../ping/open-loop.ts";
import { createPingScale } from "../ping/ping-scale.ts";
import { type Engine, onEngine } from "../store/engine.ts";
import { median, printTable, rounded, shown } from "../store/figures.ts";
import { longestTask } from "../web/opening.ts";
import type { MemorySize } from "./sizes.ts";

type Figures = Record<string, number>;

const BYTES_PER_MB = 1_000_000;
const SECOND_MS = 1_000;
const SAMPLE_MS = 200;

const ALLOWED: Readonly<Record<string, string>> = {
  "memory.idle_mb": "up to 150",
  "memory.pings_1000_mb": "up to 250",
  "memory.dashboard_10k_mb": "up to 300",
  "memory.version_over_bare_node_ms": "up to 50",
};

/** Prints the figures beside their limits, and returns them under flat keys. */
export async function benchMemory(
  size: MemorySize,
  whenInterrupted: (cleanUp: () => Promise<void>) => void,
): Promise<Figures> {
  console.log(`memory: ${size.about}`);
  await build();
  return onEngine(whenInterrupted, async (engine, folder) => {
    const figures = {
      ...(await measurePings(engine, { size, folder })),
      ...(await measureDashboard(engine, size)),
      "memory.version_over_bare_node_ms": await measureVersion(size.starts),
    };
    const result = Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, rounded(value)]));
    printTable("memory: resident size of the process, and its shortest command", [
      ["figure", "measured", "allowed"],
      ...Object.entries(result).map(([name, value]) => [name, shown(value), ALLOWED[name] ?? ""]),
    ]);
    return result;
  });
}

/** The same process, first idle and then with pings. */
async function measurePings(
  engine: Engine,
  { size, folder }: { size: MemorySize; folder: string },
): Promise<Figures> {
  const scale = await createPingScale(engine, { checkCount: size.checks, pingsPerCheck: 5, folder });
  try {
    return await onSite(scale.url, async (site) => {
      await sleep(size.settleSeconds * SECOND_MS);
      const idle = await site.program.residentBytes();
      const pings = await largestDuring(site, () =>
        measureLatency({
          port: site.program.port,
          uuidsPath: scale.uuidsPath,
          bodyBytes: 0,
          perSecond: size.pingsPerSecond,
          seconds: size.pingSeconds,
        }),
      );
      return { "memory.idle_mb": idle / BYTES_PER_MB, "memory.pings_1000_mb": pings / BYTES_PER_MB };
    });
  } finally {
    await scale.close();
  }
}

/** A large project is opened, scrolled, and filtered, and stays open. */
async function measureDashboard(engine: Engine, size: MemorySize): Promise<Figures> {
  const databaseUrl = await createSiteDatabase(engine.url("postgres"), "web");
  const database = openDatabase({ url: databaseUrl, applicationName: "overdue-bench", onError: () => {} });
  const { id } = await seedAccount(database);
  const project = { ownerId: id, name: "Fleet", secretKey: null, checkCount: size.checks };
  const { uuid } = await seedProject(database, project);
  await database.close();
  const bytes = await onSite(databaseUrl, async (site) => {
    const cookie = await site.signIn(id);
    const url = `${site.url}/projects/${uuid}/checks/`;
    const browser = await openBrowser();
    try {
      await sleep(size.settleSeconds * SECOND_MS);
      const stay = () => sleep(size.openSeconds * SECOND_MS);
      return await largestDuring(site, () => longestTask(browser, { url, cookie, stay }));
    } finally {
      await browser.close();
    }
  });
  return { "memory.dashboard_10k_mb": bytes / BYTES_PER_MB };
}

async function onSite<T>(databaseUrl: string, work: (site: Site) => Promise<T>): Promise<T> {
  const site = await startSite({ databaseUrl, isBuilt: true });
  try {
    return await work(site);
  } finally {
    await site.stop();
  }
}

/** The largest size of the process while something runs. */
async function largestDuring(site: Site, work: () => Promise<unknown>): Promise<number> {
  let largest = 0;
  const over = work().then(() => true);
  do {
    largest = Math.max(largest, await site.program.residentBytes());
  } while (!(await Promise.race([over, sleep(SAMPLE_MS, false)])));
  return largest;
}

/** Both run alternately, so that a busy moment affects both. */
async function measureVersion(starts: number): Promise<number> {
  const version: number[] = [];
  const bare: number[] = [];
  for (let i = 0; i < starts; i += 1) {
    version.push(await runMs([BUILT_PROGRAM, "--version"]));
    bare.push(await runMs(["-e", "0"]));
  }
  return median(version) - median(bare);
}

async function runMs(args: readonly string[]): Promise<number> {
  const begin = performance.now();
  const child = spawn(process.execPath, args, { stdio: "ignore", env: {} });
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`node ${args.join(" ")} ended with code ${code}`);
  return performance.now() - begin;
}
