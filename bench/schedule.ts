// How long it takes to find the next firing, compared with croner in the same run. Both get a parsed object and random
// starts that were chosen beforehand; no result is cached. Needs no database.

import { Cron } from "croner";
import { nextAfter, parseSchedule } from "../src/core/schedule/schedule.ts";

type Case = { key: string; text: string; tz: string };

const CASES: readonly Case[] = [
  { key: "every_5_minutes_utc", text: "*/5 * * * *", tz: "UTC" },
  { key: "every_5_minutes_new_york", text: "*/5 * * * *", tz: "America/New_York" },
  { key: "workdays_new_york", text: "0 3 * * 1-5", tz: "America/New_York" },
  { key: "monthly_london", text: "0 0 1 * *", tz: "Europe/London" },
  { key: "leap_day_utc", text: "0 0 29 2 *", tz: "UTC" },
  { key: "fifth_monday_of_february_utc", text: "0 0 * 2 MON#5", tz: "UTC" },
];

const FIRST_START = Date.UTC(2024, 0, 1);
const LAST_START = Date.UTC(2026, 11, 31);

/** A single call of ours is too short for the clock, so calls are timed in batches. */
const OUR_BATCH = 64;
const CRONER_BATCH = 8;
const WARM_UP_ROUNDS = 40;
const ROUNDS = 300;

type Contender = { next: (at: number) => unknown; batch: number; samples: number[] };

/** Prints the table and returns medians in microseconds under flat keys. */
export async function benchSchedule(): Promise<Record<string, number>> {
  const results: Record<string, number> = {};
  const ours: number[] = [];
  const croners: number[] = [];
  console.log(`schedule: nextAfter, ${ROUNDS} rounds, random starts 2024 to 2026, medians in microseconds`);
  console.log(row(["expression", "zone", "ours", "p99", "croner", "times"]));
  for (const contest of CASES) {
    const { key, text, tz } = contest;
    const our = ourContender(contest);
    const croner = cronerContender(contest);
    race([our, croner]);
    const [ourMedian, cronerMedian] = [quantile(our.samples, 0.5), quantile(croner.samples, 0.5)];
    ours.push(ourMedian);
    croners.push(cronerMedian);
    const p99 = quantile(our.samples, 0.99);
    results[`schedule.${key}_us`] = round(ourMedian);
    results[`schedule.${key}_croner_us`] = round(cronerMedian);
    const numbers = [ourMedian, p99, cronerMedian].map((value) => value.toFixed(2));
    console.log(row([text, tz, ...numbers, (cronerMedian / ourMedian).toFixed(0), differences(contest)]));
    // The measurement takes seconds: print the lines as they are ready.
    await new Promise((resolve) => setImmediate(resolve));
  }
  results["schedule.median_us"] = round(quantile(ours, 0.5));
  results["schedule.croner_over_ours"] = round(quantile(croners, 0.5) / quantile(ours, 0.5));
  return results;
}

function ourContender({ text, tz }: Case): Contender {
  const schedule = parseSchedule({ text, tz });
  if (schedule === null) throw new Error(`${text} was refused`);
  return { next: (at) => nextAfter(schedule, at), batch: OUR_BATCH, samples: [] };
}

function cronerContender({ text, tz }: Case): Contender {
  const cron = new Cron(text, { timezone: tz });
  return { next: (at) => cron.nextRun(new Date(at)), batch: CRONER_BATCH, samples: [] };
}

/** Runs the candidates alternately, so that a busy moment of the machine affects both. */
function race(contenders: readonly Contender[]): void {
  for (let turn = -WARM_UP_ROUNDS; turn < ROUNDS; turn += 1) {
    for (const contender of contenders) {
      const starts = randomStarts(contender.batch);
      const begin = performance.now();
      let last: unknown;
      for (const at of starts) last = contender.next(at);
      const elapsed = performance.now() - begin;
      if (last === undefined) throw new Error("no answer");
      if (turn >= 0) contender.samples.push((elapsed * 1_000) / contender.batch);
    }
  }
}

/** Reports when the results of croner differ from ours, which are verified by recorded vectors. */
function differences(contest: Case): string {
  const ours = ourContender(contest);
  const croner = cronerContender(contest);
  const starts = randomStarts(50);
  const differing = starts.filter((at) => {
    const answer = croner.next(at);
    return (answer instanceof Date ? answer.getTime() : null) !== ours.next(at);
  });
  return differing.length === 0 ? "" : `croner differs in ${differing.length} of ${starts.length}`;
}

function randomStarts(count: number): number[] {
  return Array.from({ length: count }, () =>
    Math.floor(FIRST_START + Math.random() * (LAST_START - FIRST_START)),
  );
}

function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const place = (sorted.length - 1) * part;
  const [low = 0, high = 0] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]];
  return (low + high) / 2;
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}

function row(cells: readonly string[]): string {
  return cells.map((cell, index) => (index < 2 ? cell.padEnd(18) : cell.padStart(9))).join(" ");
}
