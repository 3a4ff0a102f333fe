// Compares ways to record: in every round each candidate records a batch of random checks in the small and in the large
// database. Prints the cost.
import { MINUTE_MS } from "../../src/core/instant.ts";
import { mean, median, printTable, quantile, type Samples, shown } from "./figures.ts";
import { type Contender, takeTurns } from "./meter.ts";
import type { Profile } from "./profile.ts";
import { type Plan, recordBatch } from "./record.ts";
import { BATCH_SIZE, NOON, type Scale } from "./scale.ts";

/** Batches lie this far apart in simulated time: no check comes near its rate limit. */
const BATCH_DISTANCE_MS = 1_000;

export type Pair = readonly [small: Scale, large: Scale];
export type Candidate = { about: string; plan: Plan };
export type Result = { about: string; samples: readonly [small: Samples, large: Samples] };

export type Pace = {
  /** Only checks whose log is at its limit. */
  onlyBusy?: boolean;
  /** Minutes between two signals of a check. Without it, batches follow each other without delay. */
  gapMinutes?: number;
};

/** Batches of checks in a random order, which is repeated, recorded by one plan. */
export function recording(
  scale: Scale,
  plan: Plan,
  { onlyBusy, gapMinutes, profile }: Pace & { profile?: Profile } = {},
): Contender {
  const ids = scale.shuffled(onlyBusy === true ? "busy" : "all");
  const distanceMs =
    gapMinutes === undefined
      ? BATCH_DISTANCE_MS
      : Math.round((gapMinutes * MINUTE_MS * BATCH_SIZE) / ids.length);
  let [at, next] = [NOON, 0];
  return {
    scale,
    prepare: () => {
      const checkIds = [...ids.subarray(next, next + BATCH_SIZE)];
      next = (next + BATCH_SIZE) % ids.length;
      at += distanceMs;
      return () => recordBatch(scale, { checkIds, at, plan, ...(profile && { profile }) });
    },
  };
}

/** Runs the candidates; returns their samples in the same order. */
export async function race(
  [small, large]: Pair,
  candidates: readonly Candidate[],
  { rounds, ...pace }: Pace & { rounds: number },
): Promise<Result[]> {
  const contenders = candidates.flatMap(({ plan }) => [
    recording(small, plan, pace),
    recording(large, plan, pace),
  ]);
  const samples = await takeTurns(contenders, rounds);
  return candidates.map(({ about }, index) => {
    const [ofSmall, ofLarge] = samples.slice(index * 2);
    if (ofSmall === undefined || ofLarge === undefined) throw new Error(`${about} was not measured`);
    return { about, samples: [ofSmall, ofLarge] };
  });
}

/** A table with a row for each candidate: time, processor time and bytes, small database beside large. */
export function printResults(
  title: string,
  results: readonly (Result & { more?: readonly string[] })[],
  moreHeads: readonly string[] = [],
): void {
  printTable(title, [
    ["", "small ms", "large ms", "ratio", "p95", "cpu small", "cpu large", "WAL/check", ...moreHeads],
    ...results.map(({ about, samples: [small, large], more = [] }) => [
      about,
      shown(median(small.wallMs)),
      shown(median(large.wallMs)),
      shown(median(large.wallMs) / median(small.wallMs), 2),
      shown(quantile(large.wallMs, 0.95)),
      shown(median(small.cpuMs)),
      shown(median(large.cpuMs)),
      large.walBytes.length === 0 ? "-" : `${shown(mean(large.walBytes) / BATCH_SIZE, 0)} B`,
      ...more,
    ]),
  ]);
}
