// Compares when a signal moves the next sweep of its check. If it is not moved, the index is not updated, but the
// sweeper also visits healthy checks; moving it to the deadline is equal to an index on the deadline.
import { emptySamples, median, megabytes, printTable, type Samples, shown } from "./figures.ts";
import { hotShare, reported, sizesOf, takeTurns, type Updates, updatesOf } from "./meter.ts";
import { type Pair, printResults, type Result, race } from "./race.ts";
import { type MarkedCheck, type Plan, SHIPPED } from "./record.ts";
import {
  BATCH_SIZE,
  GRACE_MINUTES,
  PERIOD_MINUTES,
  rebuildStates,
  type Scale,
  type States,
} from "./scale.ts";
import type { Size } from "./sizes.ts";
import { sweeping } from "./sweep.ts";

type Rule = {
  about: string;
  table: string;
  next: Plan["nextSweepAt"];
  /** Whether the sweeper visits healthy checks. */
  isVisited: boolean;
};

function onlyWhenItMust({ current, deadline }: MarkedCheck) {
  return deadline !== null && (current === null || current > deadline) ? deadline : current;
}

/** At the rate of the last two signals, will the next one arrive before the sweeper? If not, move now. */
function beforeTheVisit(check: MarkedCheck) {
  const { current, deadline, lastPingAt: heardAt, at } = check;
  const isVisitedFirst = current !== null && heardAt !== null && current < at + (at - heardAt);
  return isVisitedFirst ? deadline : onlyWhenItMust(check);
}

const RULES: readonly Rule[] = [
  { about: "only when it must", table: "states_must", next: onlyWhenItMust, isVisited: true },
  { about: "with every signal", table: "states_always", next: ({ deadline }) => deadline, isVisited: false },
  {
    about: "when the sweeper would come before the next signal",
    table: "states_pace",
    next: beforeTheVisit,
    isVisited: false,
  },
];

type Jobs = { about: string; gapMinutes: number } & Pick<States, "heardAgo" | "sweepIn">;

const DEADLINE_MINUTES = PERIOD_MINUTES + GRACE_MINUTES;

/** Jobs that signal once in their period, and jobs that signal ten times as often. */
const JOBS: readonly Jobs[] = [
  { about: "one signal a period", gapMinutes: PERIOD_MINUTES, heardAgo: [54, 60], sweepIn: [10, 16] },
  {
    about: "ten signals a period",
    gapMinutes: PERIOD_MINUTES / 10,
    heardAgo: [5.4, 6],
    sweepIn: [0, DEADLINE_MINUTES - 6],
  },
];

/** Measures every rule with both kinds of jobs and prints the tables. Needs a filled log. */
export async function compareSweeps(scales: Pair, size: Size): Promise<void> {
  const [, large] = scales;
  const { pingsPerCheck } = size;
  const contender = sweeping(large, { pingsPerCheck, profile: new Map() });
  const [visit = emptySamples()] = await takeTurns([contender], size.sweepRounds);
  for (const jobs of JOBS) {
    const { results, more } = await measureRules(jobs, scales, size);
    printResults(
      `When a signal moves the sweeper's mark, ${jobs.about}: record ${BATCH_SIZE}, ${size.layoutRounds} rounds`,
      results.map((result, index) => ({ ...result, more: more[index] ?? [] })),
      ["HOT share", "states + indexes"],
    );
    printSums(results, { jobs, visit });
  }
}

async function measureRules(jobs: Jobs, scales: Pair, size: Size) {
  const [, large] = scales;
  const before: Updates[] = [];
  for (const { table } of RULES) {
    for (const scale of scales)
      await makeStates(scale, { ...jobs, table, pingsPerCheck: size.pingsPerCheck });
    before.push(await updatesOf(large, table));
  }
  const candidates = RULES.map(({ about, table, next }) => ({
    about,
    plan: { ...SHIPPED, nextSweepAt: next, aim: { key: table, tables: { check_states: table } } },
  }));
  const { gapMinutes } = jobs;
  const racing = race(scales, candidates, { rounds: size.layoutRounds, gapMinutes });
  const results = await reported(`raced: the sweeper's mark, ${jobs.about}`, racing);
  const more: string[][] = [];
  for (const [index, { table }] of RULES.entries()) {
    const after = await updatesOf(large, table);
    const bytes = await sizesOf(large, table);
    const share = hotShare(before[index] ?? after, after);
    more.push([shown(share, 3), `${megabytes(bytes.table)} + ${megabytes(bytes.indexes)}`]);
    for (const { admin } of scales) await admin.query(`drop table ${table}`);
  }
  return { results, more };
}

async function makeStates(
  scale: Scale,
  states: Omit<States, "busyLimit"> & { table: string },
): Promise<void> {
  const { table } = states;
  await scale.admin.query(`create table ${table} (like check_states including all) with (fillfactor = 70)`);
  await rebuildStates(scale, { ...states, busyLimit: null });
}

/** The visit is part of the cost of a rule that does not move it: one in every period. */
function printSums(results: readonly Result[], { jobs, visit }: { jobs: Jobs; visit: Samples }): void {
  const visitsPerSignal = jobs.gapMinutes / PERIOD_MINUTES;
  const rows = results.map(({ about, samples: [, large] }, index) => {
    const visits = RULES[index]?.isVisited === true ? visitsPerSignal : 0;
    const sum = (of: keyof Samples) => median(large[of]) + visits * median(visit[of]);
    return [about, shown(visits), shown(sum("wallMs")), shown(sum("cpuMs"))];
  });
  printTable(`With the sweeper's visits to checks that are well, ${jobs.about}, large database`, [
    ["", "visits a signal", `${BATCH_SIZE} signals, ms`, "cpu"],
    ...rows,
  ]);
}
