// Uneven load, always the same: projects of very different sizes in cells, and checks of different intervals in partitions.
import { LOG_PARTITIONS } from "../../src/core/log.ts";

/** A project is in one cell. The size of the largest one is limited; the next ones shrink with their rank (Zipf). */
export const PROJECT_CHECKS_MAX = 100_000;
const CHECKS_PER_PROJECT = 20;
const SMALL_CHECKS = 100;
const BISECTIONS = 60;
/** Some projects send more often than others. A cycle, 1 on average. */
const ACTIVITY = [0.4, 0.4, 0.7, 1, 2.5] as const;

/** The number of checks of each project, the largest first. Small ones count together, which hardly matters. */
export function projectSizes(checks: number): number[] {
  const count = Math.max(1, Math.round(checks / CHECKS_PER_PROJECT));
  let [low, high] = [1, checks];
  // The size that the largest one would have without a limit, so that all of them have this many checks.
  for (let step = 0; step < BISECTIONS; step += 1) {
    const largest = (low + high) / 2;
    if (sumOfSizes(count, largest) > checks) high = largest;
    else low = largest;
  }
  const large = Array.from({ length: Math.min(count, Math.floor(low / SMALL_CHECKS)) }, (_, index) =>
    Math.min(PROJECT_CHECKS_MAX, low / (index + 1)),
  );
  const rest = checks - large.reduce((sum, size) => sum + size, 0);
  return [...large, ...Array.from({ length: Math.ceil(rest / SMALL_CHECKS) }, () => SMALL_CHECKS)];
}

/** Some are as large as the limit, the next ones shrink with their rank, and the rest have one check. */
function sumOfSizes(count: number, largest: number): number {
  const limited = Math.min(count, Math.floor(largest / PROJECT_CHECKS_MAX));
  const shrinking = Math.min(count, Math.floor(largest));
  const between = largest * Math.log((shrinking + 0.5) / (limited + 0.5));
  return limited * PROJECT_CHECKS_MAX + between + (count - shrinking);
}

/**
 * The load of each cell, 1 on average. Each project is created in the cell that has the fewest checks. It is still small
 * then, and nothing is moved when it grows.
 */
export function cellLoads({ checks, cells }: { checks: number; cells: number }): number[] {
  const sizes = projectSizes(checks);
  const random = randomOf(cells);
  const counts = new Float64Array(cells);
  const loads = Array.from({ length: cells }, () => 0);
  shuffle(sizes, random);
  for (const [number, size] of sizes.entries()) {
    let emptiest = 0;
    for (let cell = 1; cell < cells; cell += 1) {
      if ((counts[cell] ?? 0) < (counts[emptiest] ?? 0)) emptiest = cell;
    }
    counts[emptiest] = (counts[emptiest] ?? 0) + size;
    loads[emptiest] = (loads[emptiest] ?? 0) + size * (ACTIVITY[number % ACTIVITY.length] ?? 1);
  }
  const mean = loads.reduce((sum, load) => sum + load, 0) / cells;
  return loads.map((load) => load / mean);
}

/** Intervals of checks, as shares of all checks: a minute, five minutes, an hour, a day. */
const INTERVALS = [
  { share: 0.12, seconds: 60 },
  { share: 0.3, seconds: 300 },
  { share: 0.4, seconds: 3_600 },
  { share: 0.18, seconds: 86_400 },
] as const;

/** The share of the pings that each applier gets: checks are in random partitions, which are divided among appliers. */
export function applierShares({ checks, appliers }: { checks: number; appliers: number }): number[] {
  const random = randomOf(appliers);
  const partitions = Array.from({ length: LOG_PARTITIONS }, () => 0);
  let begin = 0;
  for (const { share, seconds } of INTERVALS) {
    const end = begin + Math.round(share * checks);
    for (let check = begin; check < end; check += 1) {
      const partition = Math.floor(random() * LOG_PARTITIONS);
      partitions[partition] = (partitions[partition] ?? 0) + 1 / seconds;
    }
    begin = end;
  }
  const sum = partitions.reduce((total, one) => total + one, 0);
  const shares = Array.from({ length: appliers }, () => 0);
  for (const [partition, load] of partitions.entries()) {
    shares[partition % appliers] = (shares[partition % appliers] ?? 0) + load / sum;
  }
  return shares;
}

function shuffle(values: number[], random: () => number): void {
  for (let index = values.length - 1; index > 0; index -= 1) {
    const other = Math.floor(random() * (index + 1));
    [values[index], values[other]] = [values[other] ?? 0, values[index] ?? 0];
  }
}

/** Mulberry32: the same numbers in every run. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
