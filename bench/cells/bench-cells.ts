// The benchmark of cells: what several cells on the same cores cost, whether they disturb each other, and what the
// router costs. Everything that is compared takes turns, so that a busy moment affects all.
import { execFile } from "node:child_process";
import { createWriteStream, readFileSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { makeCertificates } from "../../test/support/certificates.ts";
import { type Router, type RunningCell, type RunningCells, startCells } from "../../test/support/cells.ts";
import { sampleCheck, sampleProject } from "../../test/support/sample.ts";
import { measureLatency } from "../ping/open-loop.ts";
import { countAnswered } from "../ping/wrk.ts";
import { median, printTable, rounded, shown } from "../store/figures.ts";
import type { CellsSize } from "./sizes.ts";

type Figures = Record<string, number>;

const run = promisify(execFile);
/** Of `utime` and `stime` in /proc, on every Linux. */
const TICK_MS = 10;
const MICROSECONDS = 1_000;
const END_GRACE_MS = 30_000;
/** Requests to the cell whose database is stopped, while the other one is measured. */
const DISTURBING_PAUSE_MS = 20;
const DIGITS = "0123456789abcdef";

const LIMITS: Readonly<Record<string, { atLeast?: number; atMost?: number }>> = {
  two_over_one: { atLeast: 0.9 },
  other_p99_ratio: { atMost: 1.5 },
  ping_cpu_spread: { atMost: 1.1 },
  router_cpu_spread: { atMost: 1.1 },
};

/** Prints the comparisons and returns the figures under flat keys. */
export async function benchCells(
  size: CellsSize,
  whenInterrupted: (cleanUp: () => Promise<void>) => void,
): Promise<Figures> {
  console.log(`cells: ${size.about}`);
  const running = await startCells({
    slots: slotsFor(size.cells.at(-1) ?? 1),
    roles: "ping",
    settings: { OVERDUE_SIGNALS_PER_MINUTE: "0" },
  });
  whenInterrupted(() => running.stop());
  try {
    const stage = await prepare(running, size);
    const figures = {
      ...(await measureSum(stage)),
      ...(await measurePingCpu(stage)),
      ...(await measureRouter(stage)),
      ...(await measureTls(stage)),
      // Last: it stops the database of a cell.
      ...(await measureDisturbance(stage)),
    };
    report(figures);
    return Object.fromEntries(
      Object.entries(figures).map(([name, value]) => [`cells.${name}`, rounded(value)]),
    );
  } finally {
    await running.stop();
  }
}

/** Equal shares of the slots, by their first digit. */
function slotsFor(count: number): Record<string, string> {
  const share = DIGITS.length / count;
  return Object.fromEntries(
    Array.from({ length: count }, (_, at) => [
      `c${at + 1}`,
      `${DIGITS[at * share]}00-${DIGITS[(at + 1) * share - 1]}ff`,
    ]),
  );
}

type Stage = {
  size: CellsSize;
  running: RunningCells;
  directory: string;
  router: Router;
  /** A file with the UUIDs of the first cells. */
  uuidsOf: (cellCount: number) => string;
  /** One check of each cell. */
  checks: readonly string[];
};

async function prepare(running: RunningCells, size: CellsSize): Promise<Stage> {
  const files: string[] = [];
  const checks: string[] = [];
  let lines = "";
  for (const [at, cell] of running.cells.entries()) {
    const uuids = await addChecks(cell, { count: size.checksPerCell, digit: digitOf(at, running) });
    lines += uuids.map((uuid) => `${uuid}\n`).join("");
    const file = join(running.folder, `uuids-${at + 1}`);
    writeFileSync(file, lines);
    files.push(file);
    checks.push(uuids[0] ?? "");
  }
  const directory = join(running.folder, "maps");
  await running.writeMaps(directory);
  const stage = { size, running, directory, checks, uuidsOf: (count: number) => files[count - 1] ?? "" };
  const router = await running.startRouter(directory);
  // Opens connections, and lets the processes know the checks.
  await countAnswered(loadOf({ ...stage, router }, { url: router.url, cells: running.cells.length }));
  return { ...stage, router };
}

function digitOf(at: number, { cells }: RunningCells): string {
  return DIGITS[(at * DIGITS.length) / cells.length] ?? "0";
}

async function addChecks(
  { database }: RunningCell,
  { count, digit }: { count: number; digit: string },
): Promise<string[]> {
  const project = await sampleProject(database);
  for (let made = 0; made < count; made += 1) await sampleCheck(database, { projectId: project.id });
  const { rows } = await database.pool.query<{ uuid: string }>(
    "update checks set uuid = ($1 || substr(uuid::text, 2))::uuid returning uuid",
    [digit],
  );
  return rows.map(({ uuid }) => uuid);
}

function loadOf({ size, uuidsOf }: Stage, { url, cells }: { url: string; cells: number }) {
  return {
    url,
    uuidsPath: uuidsOf(cells),
    bodyBytes: 0,
    connections: size.connections,
    seconds: size.seconds,
  };
}

/** As many pings as are answered: to one cell, and to two at once, with the same number of connections. */
async function measureSum(stage: Stage): Promise<Figures> {
  const rates: Record<number, number[]> = { 1: [], 2: [] };
  for (let round = 0; round < stage.size.rounds; round += 1) {
    for (const cells of round % 2 === 0 ? [1, 2] : [2, 1]) {
      const answered = await countAnswered(loadOf(stage, { url: stage.router.url, cells }));
      rates[cells]?.push(answered / stage.size.seconds);
    }
  }
  const [one, two] = [median(rates[1] ?? []), median(rates[2] ?? [])];
  printTable("As many pings as are answered, through the router", [
    ["", "pings/s"],
    ["one cell", shown(one, 0)],
    ["two cells at once", shown(two, 0)],
  ]);
  return { one_per_second: one, two_per_second: two, two_over_one: two / one };
}

/**
 * Processor time of a ping in the server and its PostgreSQL. Each cell gets the same number of pings at a time, not per
 * second: the size of a batch, which decides most of the cost, would otherwise depend on how busy the cores are.
 */
async function measurePingCpu(stage: Stage): Promise<Figures> {
  const { size, router } = stage;
  const samples = new Map(
    size.cells.map((count) => [count, { cpuUs: [] as number[], batch: [] as number[] }]),
  );
  for (let round = 0; round < size.rounds; round += 1) {
    for (const cells of round % 2 === 0 ? size.cells : size.cells.toReversed()) {
      const before = { cpuMs: await cpuOfCells(stage, cells), batches: await countBatches(stage) };
      const load = loadOf(stage, { url: router.url, cells });
      const answered = await countAnswered({ ...load, connections: size.connectionsPerCell * cells });
      const usedMs = (await cpuOfCells(stage, cells)) - before.cpuMs;
      samples.get(cells)?.cpuUs.push((usedMs * MICROSECONDS) / answered);
      samples.get(cells)?.batch.push(answered / ((await countBatches(stage)) - before.batches));
    }
  }
  const values = [...samples].map(([cells, { cpuUs, batch }]) => ({
    cells,
    cpuUs: median(cpuUs),
    batch: median(batch),
  }));
  printTable(`Processor time of a ping, ${size.connectionsPerCell} at a time to each cell`, [
    ["cells", "server and PostgreSQL", "pings per batch"],
    ...values.map(({ cells, cpuUs, batch }) => [String(cells), `${shown(cpuUs)} µs`, shown(batch, 1)]),
  ]);
  return {
    ...Object.fromEntries(values.map(({ cells, cpuUs }) => [`ping_cpu_us_${cells}`, cpuUs])),
    ...Object.fromEntries(values.map(({ cells, batch }) => [`ping_batch_${cells}`, batch])),
    ping_cpu_spread: spread(values.map(({ cpuUs }) => cpuUs)),
  };
}

/** Batches that all cells have recorded. */
async function countBatches({ running }: Stage): Promise<number> {
  let sum = 0;
  for (const { database } of running.cells) {
    const { rows } = await database.pool.query<{ batches: string }>(
      "select sum(last_seq) as batches from intake_lanes",
    );
    sum += Number(rows[0]?.batches);
  }
  return sum;
}

function spread(values: readonly number[]): number {
  return Math.max(...values) / Math.min(...values);
}

/** Processor time of HAProxy for a ping on a kept connection, with maps of different sizes. */
async function measureRouter(stage: Stage): Promise<Figures> {
  const { size, running, directory } = stage;
  const routers: { name: string; router: Router; samples: number[] }[] = [];
  for (const [name, count] of Object.entries(size.exceptions)) {
    const maps = join(running.folder, `maps-${name}`);
    await running.writeMaps(maps);
    await writeExceptions(join(maps, "exceptions.map"), count);
    routers.push({ name, router: await running.startRouter(maps), samples: [] });
  }
  for (let round = 0; round < size.rounds; round += 1) {
    for (const { router, samples } of round % 2 === 0 ? routers : routers.toReversed()) {
      const load = loadOf(stage, { url: router.url, cells: 1 });
      samples.push(await routerCpuUs(router, () => countAnswered(load)));
    }
  }
  for (const { router } of routers) await router.stop();
  const values = routers.map(({ name, samples }) => [name, median(samples)] as const);
  printTable(`Processor time of HAProxy for a ping on a kept connection (maps in ${directory})`, [
    ["exceptions", "HAProxy"],
    ...values.map(([name, value]) => [name, `${shown(value)} µs`]),
  ]);
  return {
    ...Object.fromEntries(values.map(([name, value]) => [`router_cpu_us_${name}`, value])),
    router_cpu_spread: spread(values.map(([, value]) => value)),
  };
}

async function writeExceptions(path: string, count: number): Promise<void> {
  const lines = function* () {
    for (let made = 0; made < count; made += 1) yield `${randomUUID()} cell_c1\n`;
  };
  await pipeline(Readable.from(lines()), createWriteStream(path));
}

async function routerCpuUs({ pid }: Router, load: () => Promise<number>): Promise<number> {
  const before = await cpuMs(pid);
  const answered = await load();
  return (((await cpuMs(pid)) - before) * MICROSECONDS) / answered;
}

/** The same with a new TLS connection for each ping, as cron jobs do. */
async function measureTls({ size, running, directory, checks }: Stage): Promise<Figures> {
  const made = makeCertificates(running.folder, { name: "router", host: "127.0.0.1" });
  const pem = join(running.folder, "router.pem");
  writeFileSync(pem, readFileSync(made.certificate, "utf8") + readFileSync(made.key, "utf8"));
  const router = await running.startRouter(directory, (port) => `127.0.0.1:${port} ssl crt ${pem}`);
  const samples: number[] = [];
  const url = `${router.url.replace("http:", "https:")}/ping/${checks[0]}`;
  for (let round = 0; round < size.rounds; round += 1) {
    samples.push(await routerCpuUs(router, () => countNewConnections(url, size)));
  }
  await router.stop();
  printTable("Processor time of HAProxy for a ping on a new TLS connection", [
    ["HAProxy", `${shown(median(samples))} µs`],
  ]);
  return { router_tls_us: median(samples) };
}

async function countNewConnections(url: string, { connections, seconds }: CellsSize): Promise<number> {
  const args = ["-t", "1", "-c", String(connections), "-d", `${seconds}s`, "--timeout", "5s"];
  const { stdout } = await run("wrk", [...args, "-H", "Connection: close", url], {
    timeout: seconds * 1_000 + END_GRACE_MS,
    killSignal: "SIGKILL",
  });
  const answered = /(\d+) requests in/.exec(stdout)?.[1];
  if (answered === undefined || stdout.includes("Non-2xx")) {
    throw new Error(`not all requests were answered well: ${stdout}`);
  }
  return Number(answered);
}

/** How long pings of the first cell take before and after the database of the last one was stopped. */
async function measureDisturbance({ size, running, router, uuidsOf, checks }: Stage): Promise<Figures> {
  const measure = async () => {
    const samples: number[] = [];
    for (let round = 0; round < size.rounds; round += 1) {
      const port = Number(new URL(router.url).port);
      const { perSecond, seconds } = size;
      const { p99Ms } = await measureLatency({
        port,
        uuidsPath: uuidsOf(1),
        bodyBytes: 0,
        perSecond,
        seconds,
      });
      samples.push(p99Ms);
    }
    return median(samples);
  };
  // The last cell is asked all the time.
  const ending = new AbortController();
  const asking = (async () => {
    const answers: Record<number, number> = {};
    while (!ending.signal.aborted) {
      const response = await fetch(`${router.url}/ping/${checks.at(-1)}`);
      await response.arrayBuffer();
      answers[response.status] = (answers[response.status] ?? 0) + 1;
      await pause(DISTURBING_PAUSE_MS);
    }
    return answers;
  })();
  const before = await measure();
  await running.cells.at(-1)?.server.stop();
  const after = await measure();
  ending.abort();
  const answers = await asking;
  printTable("99th percentile of pings to one cell", [
    ["with both databases", `${shown(before)} ms`],
    ["the database of another cell stopped", `${shown(after)} ms`],
    ["answers of the other cell", JSON.stringify(answers)],
  ]);
  return { p99_before_ms: before, p99_after_ms: after, other_p99_ratio: after / before };
}

function report(figures: Figures): void {
  for (const [name, { atLeast, atMost }] of Object.entries(LIMITS)) {
    const value = figures[name] ?? Number.NaN;
    const isReached =
      (atLeast === undefined || value >= atLeast) && (atMost === undefined || value <= atMost);
    const limit = atLeast === undefined ? `at most ${atMost}` : `at least ${atLeast}`;
    console.log(`${name}: ${shown(value, 2)} (${limit})${isReached ? "" : ": not reached"}`);
  }
}

// Processor time, from /proc.

/** Of the processes of the first cells and of their databases. */
async function cpuOfCells({ running }: Stage, count: number): Promise<number> {
  let sum = 0;
  for (const { program, server } of running.cells.slice(0, count)) {
    sum += (await cpuMs(program.pid)) + (await cpuOfTree(server.pid()));
  }
  return sum;
}

/** Of a process and its children, also of those that have ended. */
async function cpuOfTree(pid: number): Promise<number> {
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, "utf8").catch(() => "")).trim();
  const each = children === "" ? [] : children.split(" ").map((child) => cpuMs(Number(child)));
  return (await cpuMs(pid)) + (await Promise.all(each)).reduce((sum, one) => sum + one, 0);
}

/** With children that have ended; 0 if the process has. */
async function cpuMs(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  // After the name, which may contain spaces: state, and 10 numbers before utime, stime, cutime and cstime.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * TICK_MS, 0);
}
