// What a wrapper costs: the delay before and after the job, its memory, and a large output.
import { spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Result } from "./run-cases.ts";
import type { Network, Servers } from "./servers.ts";
import { endGroup, type Environment, newFolder, start, type Wrapper } from "./wrapper.ts";

export type Figures = Record<string, number>;

/** In milliseconds and megabytes. After the job, the longest time without an answer. */
const LIMITS = {
  run: { before: 50, after: 20_000, memory: 10 },
  exec: { before: 40, after: 16_000, memory: 70 },
} as const;
/** Less than that is how the kernel counts; the limit of Linux for a pipe is of the same size. */
const GROWTH_MB_MAX = 2;
const MB = 1024 * 1024;

export type MeasureOptions = {
  servers: Servers;
  folder: string;
  repeats: number;
  /** Of the large output. */
  bytes: number;
  hasHole: boolean;
  /** How much longer than the limit it may take on a busy machine. */
  tolerance: number;
};

type Measured = { results: Result[]; figures: Figures };

/** Measures one wrapper. Times are judged by the shortest, because the machine may be busy. */
export async function measure(wrapper: Wrapper, options: MeasureOptions): Promise<Measured> {
  const figures: Figures = {};
  const results: Result[] = [];
  const limits = LIMITS[wrapper.kind];
  const judge = (name: string, value: number, max: number) => {
    const problem = value <= max ? null : `${value.toFixed(1)} is more than ${max}`;
    results.push({ case: name, wrapper: wrapper.name, problem });
  };
  const bare = wrapper.kind === "exec" ? [process.execPath, "-e", "0"] : null;
  const idle = bare === null ? 0 : least(await bareTimes(bare, options));
  const without = least((await delays([], "recorder", options)).map(({ before }) => before));
  for (const network of ["recorder", ...(options.hasHole ? (["hole"] as const) : [])] as const) {
    const times = await delays(wrapper.command, network, {
      ...options,
      repeats: network === "hole" ? 1 : options.repeats,
    });
    const before = times.map((time) => time.before - without);
    const after = times.map((time) => time.after);
    figures[`${wrapper.name}.${network}.before_ms`] = median(before);
    figures[`${wrapper.name}.${network}.after_ms`] = median(after);
    if (network === "recorder" || wrapper.kind === "run") {
      judge(`delay before the job (${network})`, least(before) - idle, limits.before * options.tolerance);
    }
    judge(`delay after the job (${network})`, least(after), limits.after);
  }
  if (bare !== null) figures[`${wrapper.name}.bare_node_ms`] = idle;
  const large = await largeOutput(wrapper, options);
  figures[`${wrapper.name}.memory_mb`] = large.peakMb;
  figures[`${wrapper.name}.memory_growth_mb`] = large.peakMb - large.firstMb;
  figures[`${wrapper.name}.large_output_s`] = large.seconds;
  judge("memory in MB", large.peakMb, limits.memory);
  judge(
    "growth of memory in MB",
    large.peakMb - large.firstMb,
    GROWTH_MB_MAX * (wrapper.kind === "exec" ? 4 : 1),
  );
  results.push({
    case: `${options.bytes} bytes pass unchanged`,
    wrapper: wrapper.name,
    problem: large.isSame ? null : `${large.count} bytes, or other ones`,
  });
  return { results, figures };
}

const least = (values: readonly number[]) => Math.min(...values);
const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

async function bareTimes(command: readonly string[], { folder, repeats }: MeasureOptions): Promise<number[]> {
  const times: number[] = [];
  for (let at = 0; at < repeats; at += 1) {
    const where = newFolder(folder);
    times.push((await start(command, { environment: where.environment, folder: where.path }).ended).ms);
  }
  return times;
}

/** Writes when it begins and ends, as milliseconds since the epoch. */
const CLOCK_JOB = 'date +%s%N >"$RUNS"; sleep 0.05; date +%s%N >>"$RUNS"';

/** From the start of the wrapper to that of the job, and from the end of the job to that of the wrapper. */
async function delays(
  command: readonly string[],
  network: Network,
  { servers, folder, repeats }: MeasureOptions,
): Promise<{ before: number; after: number }[]> {
  const times: { before: number; after: number }[] = [];
  for (let at = 0; at < repeats; at += 1) {
    const where = newFolder(folder);
    const environment = { ...where.environment, HC_API_URL: servers.url(network), CHECK_UUID: randomUUID() };
    const job = ["/bin/sh", "-c", CLOCK_JOB];
    const startedAt = Date.now();
    const { ms } = await start([...command, ...(command.length === 0 ? [] : ["--"]), ...job], {
      environment,
      folder: where.path,
    }).ended;
    const [begun = 0, ended = 0] = readFileSync(where.runs, "utf8")
      .split("\n")
      .map((line) => Number(line) / 1e6);
    times.push({ before: begun - startedAt, after: startedAt + ms - ended });
  }
  return times;
}

const LINE = "The quick brown fox jumps over the lazy dog, and 0123456789.";

/** How long the output may take for each of its megabytes. */
const MS_PER_MB_MAX = 500;
const SAMPLE_MS = 200;

async function largeOutput(
  { command }: Wrapper,
  { servers, folder, bytes }: MeasureOptions,
): Promise<{ isSame: boolean; count: number; peakMb: number; firstMb: number; seconds: number }> {
  const where = newFolder(folder);
  const environment: Environment = {
    ...where.environment,
    HC_API_URL: servers.url("recorder"),
    CHECK_UUID: randomUUID(),
  };
  const [program = "", ...args] = command;
  const job = ["/bin/sh", "-c", `yes '${LINE}' | head -c ${bytes}; sleep 0.5`, "large-output-job"];
  const startedAt = performance.now();
  const child = spawn(program, [...args, "--", ...job], {
    env: environment,
    cwd: where.path,
    detached: true,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const timer = setTimeout(() => endGroup(child), 30_000 + (bytes / MB) * MS_PER_MB_MAX);
  const hash = createHash("sha256");
  let count = 0;
  child.stdout.on("data", (chunk: Buffer) => {
    hash.update(chunk);
    count += chunk.length;
  });
  const closed = new Promise((resolve) => child.once("close", resolve));
  const samples: number[] = [];
  let isOpen = true;
  void closed.then(() => (isOpen = false));
  while (isOpen) {
    await Promise.race([sleep(SAMPLE_MS), closed]);
    // Only while the job runs: afterwards there are short-lived processes that report it.
    const size = isOpen && child.pid !== undefined ? memoryOf(child.pid) : null;
    if (size !== null) samples.push(size / MB);
  }
  clearTimeout(timer);
  const expected = createHash("sha256");
  const block = `${LINE}\n`.repeat(10_000);
  let rest = bytes;
  for (; rest >= block.length; rest -= block.length) expected.update(block);
  expected.update(block.slice(0, rest));
  return {
    isSame: count === bytes && hash.digest("hex") === expected.digest("hex"),
    count,
    peakMb: Math.max(0, ...samples),
    firstMb: samples[1] ?? samples[0] ?? 0,
    seconds: (performance.now() - startedAt) / 1_000,
  };
}

/** The memory of a wrapper and its helpers, without the job; null if the job does not run, or a request is being sent. */
function memoryOf(root: number): number | null {
  const processes = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const at = join("/proc", name);
        const parent = Number(/\) \S (\d+)/.exec(readFileSync(join(at, "stat"), "utf8"))?.[1]);
        const args = readFileSync(join(at, "cmdline"), "utf8").split("\0");
        const kilobytes = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(join(at, "status"), "utf8"))?.[1] ?? 0);
        return [{ pid: Number(name), parent, args, kilobytes }];
      } catch {
        return [];
      }
    });
  const mine = processes.filter(({ pid }) => pid === root);
  for (let at = 0; at < mine.length; at += 1) {
    const isJob = mine[at]?.args[0] === "/bin/sh" && mine[at]?.args[3] === "large-output-job";
    if (!isJob) mine.push(...processes.filter(({ parent }) => parent === mine[at]?.pid));
  }
  const isJob = ({ args }: { args: readonly string[] }) =>
    args[0] === "/bin/sh" && args[3] === "large-output-job";
  if (!mine.some(isJob) || mine.some(({ args }) => /curl|wget/.test(args[0] ?? ""))) return null;
  return mine.filter((one) => !isJob(one)).reduce((sum, { kilobytes }) => sum + kilobytes * 1024, 0);
}
