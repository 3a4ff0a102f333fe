// Compares when a signal moves the sweeper's mark: only when it must, or always. The first leaves the index
// alone and lets the sweeper visit checks that are well; the second is an index on the deadline itself.
import type { Instant } from "../../src/core/instant.ts";
import { printRecordTable, recording } from "./compare-logs.ts";
import { median, printTable, type Samples, shown } from "./figures.ts";
import { hotShare, takeTurns, updatesOf } from "./meter.ts";
import { type Plan, SHIPPED } from "./record.ts";
import { BATCH_SIZE, rebuildStates, type Scale } from "./scale.ts";
import type { Size } from "./sizes.ts";
import { sweeping } from "./sweep.ts";

const MINUTE_MS = 60_000;
/** Signals of a job between two visits of the sweeper, for jobs that send far more often than they must. */
const FREQUENT = 10;

type Rule = { key: string; about: string; next: Plan["nextSweepAt"] };

const floorToMinute = (at: Instant | null) => (at === null ? null : at - (at % MINUTE_MS));

const RULES: readonly Rule[] = [
  { key: "lazy", about: "moved only when it must be (shipped)", next: SHIPPED.nextSweepAt },
  {
    key: "minute",
    about: "the deadline's minute, with every signal",
    next: ({ deadline }) => floorToMinute(deadline),
  },
  { key: "always", about: "the deadline itself, with every signal", next: ({ deadline }) => deadline },
];

type Result = { rule: Rule; samples: Samples[]; hot: number };

/** Measures every rule and prints the tables. Needs the shipped log to be filled. */
export async function compareSweeps(scales: readonly [Scale, Scale], size: Size): Promise<void> {
  const results: Result[] = [];
  for (const rule of RULES) results.push(await measureRule(rule, scales, size));
  printRecordTable(
    `When the sweeper's mark moves: record ${BATCH_SIZE}, ${size.layoutRounds} rounds`,
    results.map(({ rule, samples, hot }) => ({ about: rule.about, samples, more: [shown(hot, 3)] })),
    ["HOT share"],
  );
  const claims = await takeTurns(
    scales.map((scale) => sweeping(scale, { pingsPerCheck: size.pingsPerCheck, findMs: [] })),
    size.sweepRounds,
  );
  printSums(results, claims[1]?.wallMs ?? []);
}

async function measureRule(rule: Rule, scales: readonly [Scale, Scale], size: Size): Promise<Result> {
  const [, large] = scales;
  for (const scale of scales) {
    await rebuildStates(scale, { pingsPerCheck: size.pingsPerCheck, busyLimit: null });
  }
  const before = await updatesOf(large, "check_states");
  const plan = { ...SHIPPED, nextSweepAt: rule.next };
  const samples = await takeTurns(
    scales.map((scale) => recording(scale, plan)),
    size.layoutRounds,
  );
  return { rule, samples, hot: hotShare(before, await updatesOf(large, "check_states")) };
}

/**
 * A mark that waits is visited: once for every signal of a job that sends as often as it must, seldom for one
 * that sends far more often. The visit is part of the price.
 */
function printSums(results: readonly Result[], claimMs: readonly number[]): void {
  const claim = median(claimMs);
  printTable(`The same with the sweeper's visits, ms for ${BATCH_SIZE} signals in the large database`, [
    ["", "record", "visit", "one signal a period", `${FREQUENT} signals a period`],
    ...results.map(({ rule, samples }) => {
      const record = median(samples[1]?.wallMs ?? []);
      const visit = rule.key === "lazy" ? claim : 0;
      return [
        rule.about,
        shown(record),
        shown(visit),
        shown(record + visit),
        shown(record + visit / FREQUENT),
      ];
    }),
  ]);
}
