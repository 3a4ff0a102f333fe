// Compares the layouts of the signal log: while logs fill up, and at their limit, where every hundredth signal of a
// check trims a hundred. The tables are in one database, and all of them are measured alternately.
import { FREE_PING_LOG_ROWS } from "../../src/core/limits.ts";
import { median, megabytes, printTable, shown } from "./figures.ts";
import { aimAt, fillBusyLogs, fillLog, listNewest, LOG_LAYOUTS, type LogLayout } from "./log-layouts.ts";
import { reported, sizesOf } from "./meter.ts";
import { type Pair, printResults, race } from "./race.ts";
import { SHIPPED } from "./record.ts";
import { BATCH_SIZE, rebuildStates, type Scale } from "./scale.ts";
import type { Size } from "./sizes.ts";

const LISTS_READ = 60;

/** Measures every layout and prints the tables. The log of the schema stays filled; the others are dropped. */
export async function compareLogs(scales: Pair, size: Size): Promise<void> {
  const { pingsPerCheck, layoutRounds: rounds } = size;
  const candidates = LOG_LAYOUTS.map((layout) => ({
    about: layout.about,
    plan: { ...SHIPPED, aim: aimAt(layout) },
  }));
  for (const layout of LOG_LAYOUTS) {
    await reported(`filled: ${layout.about}`, fillAll(scales, layout, pingsPerCheck));
  }
  for (const scale of scales) await rebuildStates(scale, { pingsPerCheck, busyLimit: null });
  const filling = await reported("raced while logs fill", race(scales, candidates, { rounds }));
  printResults(`Log layouts, while logs fill: record ${BATCH_SIZE}, ${rounds} rounds`, filling);
  const sizes = await sizesAt(scales[1]);
  for (const scale of scales) {
    await rebuildStates(scale, { pingsPerCheck, busyLimit: FREE_PING_LOG_ROWS });
    for (const layout of LOG_LAYOUTS) await fillBusyLogs(scale, layout, pingsPerCheck);
  }
  const full = await reported("raced at the limit", race(scales, candidates, { rounds, onlyBusy: true }));
  const busy = size.busyCheckCount.toLocaleString("en");
  printResults(`Log layouts, ${busy} checks at a limit of ${FREE_PING_LOG_ROWS}: record ${BATCH_SIZE}`, full);
  await printUpkeep(scales[1], sizes);
  for (const { table, create } of LOG_LAYOUTS) {
    if (create !== null) for (const { admin } of scales) await admin.query(`drop table ${table}`);
  }
}

async function fillAll(scales: Pair, layout: LogLayout, pingsPerCheck: number): Promise<void> {
  for (const scale of scales) await fillLog(scale, layout, pingsPerCheck);
}

async function sizesAt(scale: Scale): Promise<string[]> {
  const sizes: string[] = [];
  for (const { table } of LOG_LAYOUTS) {
    const bytes = await sizesOf(scale, table);
    sizes.push(`${megabytes(bytes.table)} + ${megabytes(bytes.indexes)}`);
  }
  return sizes;
}

/** Other costs of the layouts: size, a list on the page of a check, and vacuuming trimmed rows. */
async function printUpkeep(scale: Scale, sizes: readonly string[]): Promise<void> {
  const rows: string[][] = [];
  for (const [index, layout] of LOG_LAYOUTS.entries()) {
    const listMs = await timeLists(scale, layout);
    const begin = performance.now();
    await scale.admin.query(`vacuum ${layout.table}`);
    const vacuumSeconds = (performance.now() - begin) / 1_000;
    rows.push([layout.about, sizes[index] ?? "", shown(listMs, 2), shown(vacuumSeconds)]);
  }
  const heads = ["", "table + indexes", `list ${FREE_PING_LOG_ROWS}, ms`, "vacuum, s"];
  printTable(`Log layouts, upkeep at ${scale.label} checks`, [heads, ...rows]);
}

async function timeLists(scale: Scale, layout: LogLayout): Promise<number> {
  const times: number[] = [];
  for (const checkId of scale.shuffled("busy").subarray(0, LISTS_READ)) {
    const begin = performance.now();
    const count = await listNewest(scale, layout, checkId);
    times.push(performance.now() - begin);
    // The layouts share the states, so a number may be in the log of another one.
    if (count < FREE_PING_LOG_ROWS / 2) throw new Error(`a full log lists ${count} pings`);
  }
  return median(times);
}
