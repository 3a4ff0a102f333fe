// Compares the layouts of the signal log: while logs fill up, and at their limit, where every hundredth
// signal of a check trims a hundred. Layouts are measured one after another, the two databases by turns.
import { FREE_PING_LOG_ROWS } from "../../src/core/limits.ts";
import { mean, median, megabytes, printTable, quantile, type Samples, shown } from "./figures.ts";
import { fillBusyLogs, fillLog, LOG_LAYOUTS, type LogLayout, listNewest, logPlan } from "./log-layouts.ts";
import { type Contender, sizesOf, takeTurns } from "./meter.ts";
import type { Profile } from "./profile.ts";
import { type Plan, recordBatch, SHIPPED } from "./record.ts";
import { BATCH_SIZE, NOON, rebuildStates, type Scale } from "./scale.ts";
import type { Size } from "./sizes.ts";

/** Batches lie this far apart in simulated time: no check comes near its rate limit. */
const BATCH_DISTANCE_MS = 1_000;
const LISTS_READ = 60;

type Pair = readonly [small: Scale, large: Scale];
type Result = {
  layout: LogLayout;
  filling: Samples[];
  full: Samples[];
  sizes: string;
  listMs: number;
  vacuumMs: number;
};

/** Batches of random checks, recorded by one plan. */
export function recording(
  scale: Scale,
  plan: Plan,
  { draw = scale.draw, profile }: { draw?: () => number[]; profile?: Profile } = {},
): Contender {
  let at = NOON;
  return {
    scale,
    prepare: () => {
      const checkIds = draw();
      at += BATCH_DISTANCE_MS;
      return () => recordBatch(scale, { checkIds, at, plan, ...(profile && { profile }) });
    },
  };
}

/** Measures every layout and prints the tables. The shipped one comes last and stays filled. */
export async function compareLogs(scales: Pair, size: Size): Promise<void> {
  const results: Result[] = [];
  for (const layout of LOG_LAYOUTS) {
    results.push(await measureLayout(layout, scales, size));
    if (layout.create !== null)
      for (const { admin } of scales) await admin.query(`drop table ${layout.table}`);
  }
  const [, large] = scales;
  const title = (what: string) => `Log layouts, ${what}: record ${BATCH_SIZE}, ${size.layoutRounds} rounds`;
  printRecordTable(
    title("while logs fill"),
    results.map(({ layout, filling }) => ({ about: layout.about, samples: filling })),
  );
  printRecordTable(
    title(`${size.busyCheckCount.toLocaleString("en")} busy checks at a limit of ${FREE_PING_LOG_ROWS}`),
    results.map(({ layout, full }) => ({ about: layout.about, samples: full })),
  );
  printTable(`Log layouts, what they hold at ${large.label} checks`, [
    ["layout", "table + indexes", `list ${FREE_PING_LOG_ROWS} ms`, "vacuum s"],
    ...results.map((of) => [of.layout.about, of.sizes, shown(of.listMs, 2), shown(of.vacuumMs / 1_000)]),
  ]);
}

async function measureLayout(layout: LogLayout, scales: Pair, size: Size): Promise<Result> {
  const { pingsPerCheck } = size;
  const plan = { ...SHIPPED, ...logPlan(layout) };
  for (const scale of scales) {
    await rebuildStates(scale, { pingsPerCheck, busyLimit: null });
    await fillLog(scale, layout, pingsPerCheck);
  }
  const filling = await takeTurns(
    scales.map((scale) => recording(scale, plan)),
    size.layoutRounds,
  );
  const [, large] = scales;
  const { table, indexes } = await sizesOf(large, layout.table);
  for (const scale of scales) {
    await rebuildStates(scale, { pingsPerCheck, busyLimit: FREE_PING_LOG_ROWS });
    await fillBusyLogs(scale, layout, pingsPerCheck);
  }
  const busy = scales.map((scale) => recording(scale, plan, { draw: scale.drawBusy }));
  const full = await takeTurns(busy, size.layoutRounds);
  const listMs = await timeLists(large, layout);
  const begin = performance.now();
  await large.admin.query(`vacuum ${layout.table}`);
  const vacuumMs = performance.now() - begin;
  return { layout, filling, full, sizes: `${megabytes(table)} + ${megabytes(indexes)}`, listMs, vacuumMs };
}

async function timeLists(scale: Scale, layout: LogLayout): Promise<number> {
  const times: number[] = [];
  for (const checkId of scale.drawBusy().slice(0, LISTS_READ)) {
    const begin = performance.now();
    const count = await listNewest(scale, layout, checkId);
    times.push(performance.now() - begin);
    if (count !== FREE_PING_LOG_ROWS) throw new Error(`a full log lists ${count} pings`);
  }
  return median(times);
}

/** A table with a row for each candidate: time, processor time and bytes, small database beside large. */
export function printRecordTable(
  title: string,
  results: readonly { about: string; samples: readonly Samples[]; more?: readonly string[] }[],
  moreHeads: readonly string[] = [],
): void {
  printTable(title, [
    ["", "small ms", "large ms", "ratio", "p95", "cpu small", "cpu large", "WAL/ping", ...moreHeads],
    ...results.map(({ about, samples: [small, large], more = [] }) => {
      if (small === undefined || large === undefined) throw new Error("a candidate was not measured");
      return [
        about,
        shown(median(small.wallMs)),
        shown(median(large.wallMs)),
        shown(median(large.wallMs) / median(small.wallMs), 2),
        shown(quantile(large.wallMs, 0.95)),
        shown(median(small.cpuMs)),
        shown(median(large.cpuMs)),
        `${shown(mean(large.walBytes) / BATCH_SIZE, 0)} B`,
        ...more,
      ];
    }),
  ]);
}
