// Compares the forecast with the recorded schedule vectors: at each clock change that a vector covers, the recorded runs
// say whether a time is missed, moved or repeated. Prints how many changes were compared.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { surprisesOf } from "./forecast.ts";
import { DAY_MS, type Instant, SECOND_MS } from "./instant.ts";
import { nextAfter, parseSchedule } from "./schedule/schedule.ts";
import { type ClockChange, clockChanges, zoneOf } from "./schedule/zone.ts";

type Vector = { expr: string; tz: string; from: string; next: string[] | null; ideal?: string[] };
type Outcome = "as usual" | "missed" | "moved" | "repeated";
type Compared = { expr: string; tz: string; at: string; recorded: Outcome[]; forecast: Outcome };

/** More times than this around a change: a vector of five runs does not cover them. */
const TIMES_MAX = 10;
/** Vectors of rare runs cover decades, whose changes are alike. */
const SECONDS_MAX = (400 * DAY_MS) / SECOND_MS;
const BY_CLOCK: readonly string[] = ["missed", "moved", "repeated"] satisfies Outcome[];

function vectorsOf(file: string): Vector[] {
  const text = readFileSync(new URL(`../../test/vectors/${file}`, import.meta.url), "utf8");
  return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Vector]));
}

/** The times of an expression where clocks never change, in seconds from `from` up to `to`. */
function timesIn(expr: string, { from, to }: { from: number; to: number }): number[] {
  const schedule = parseSchedule({ text: expr, tz: "UTC" });
  const times: number[] = [];
  if (schedule === null) return times;
  let at = nextAfter(schedule, (from - 1) * SECOND_MS);
  while (at !== null && at < to * SECOND_MS && times.length <= TIMES_MAX) {
    times.push(at / SECOND_MS);
    at = nextAfter(schedule, at);
  }
  return times;
}

/** What the recorded runs say about a change: several outcomes if they cannot tell. Null if they do not cover it. */
function recordedOutcomes(
  { expr, from, next, ideal }: Vector,
  { at, before, after }: ClockChange,
): Outcome[] | null {
  const runs = (ideal ?? next ?? []).map((text) => Date.parse(text) / SECOND_MS);
  const isGap = after > before;
  const size = Math.abs(after - before);
  const start = at + Math.min(before, after);
  const affected = { from: isGap ? at : at - size, to: at + size };
  const isCovered = Date.parse(from) / SECOND_MS < affected.from && (runs.at(-1) ?? 0) >= affected.to;
  if (!isCovered) return null;
  const around = [-size, 0, size].map((shift) =>
    timesIn(expr, { from: start + shift, to: start + size + shift }).map((time) => time - shift),
  );
  const [, inside = [], later = []] = around;
  if (inside.length === 0) return ["as usual"];
  const isEven = new Set(around.map((times) => times.join())).size === 1;
  if (isEven) return ["as usual"];
  if (isGap) {
    if (!runs.includes(at)) return ["missed"];
    // The run when the clocks change may be the usual one of that time.
    return later[0] === start ? ["missed", "moved"] : ["moved"];
  }
  const count = runs.filter((run) => run >= affected.from && run < affected.to).length;
  return [count > inside.length ? "repeated" : "as usual"];
}

function forecastOutcome({ expr, tz }: Vector, at: Instant): Outcome {
  const window = { from: at - DAY_MS, until: at + DAY_MS };
  const found = surprisesOf({ schedule: expr, tz }, window).find(
    (surprise) => BY_CLOCK.includes(surprise.kind) && surprise.at === at,
  );
  return (found?.kind as Outcome | undefined) ?? "as usual";
}

function compared(vector: Vector): Compared[] {
  const { expr, tz, from, next, ideal } = vector;
  const zone = zoneOf(tz);
  const schedule = parseSchedule({ text: expr, tz });
  const last = (ideal ?? next ?? []).at(-1);
  if (zone === null || last === undefined || schedule === null) return [];
  // An expression may name its own zones.
  if (schedule.lines.length > 1 || schedule.lines[0]?.zone.name !== tz) return [];
  const start = Date.parse(from) / SECOND_MS;
  const near = { from: start, to: Math.min(Date.parse(last) / SECOND_MS, start + SECONDS_MAX) };
  return clockChanges(zone, near).flatMap((change) => {
    const recorded = recordedOutcomes(vector, change);
    const at = change.at * SECOND_MS;
    return recorded === null
      ? []
      : [{ expr, tz, at: new Date(at).toISOString(), recorded, forecast: forecastOutcome(vector, at) }];
  });
}

test.each(["cron.jsonl", "oncalendar.jsonl"])(
  "the forecast agrees with the runs recorded in %s",
  { timeout: 60_000 },
  (file) => {
    const all = vectorsOf(file).flatMap(compared);
    const wrong = all.filter(({ recorded, forecast }) => !recorded.includes(forecast));
    const in2027 = all.filter(({ at }) => at.startsWith("2027"));
    const counts = Map.groupBy(all, ({ forecast }) => forecast);
    const printed = [...counts].map(([outcome, some]) => `${some.length} ${outcome}`).join(", ");
    process.stdout.write(
      `forecast: ${all.length} clock changes of ${file}, ${in2027.length} in 2027: ${printed}\n`,
    );
    expect(wrong.slice(0, 10)).toEqual([]);
    expect(in2027.length).toBeGreaterThan(0);
  },
);
