// The model's own reading of schedules against the recorded answers, as far as it reads them: nothing in a world may
// be judged by a schedule that the model itself gets wrong.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Schedule } from "./model/schedule.ts";

type Line = { expr: string; tz: string; from: string; next: string[]; ideal?: string[]; end?: boolean };

/** A walk that has to go further than this says more about the calendar than about clocks. */
const DAYS_MAX = 6;
/** One in so many lines is asked: a walk takes its time. */
const EVERY = 8;
/** Clocks there were changed at one minute past the hour, and the model looks at them each quarter of an hour. */
const ODD_ZONES = ["America/St_Johns", "Canada/Newfoundland", "Antarctica/Casey"];
const DAY_MS = 86_400_000;

function linesOf(name: string): Line[] {
  const text = readFileSync(join(import.meta.dirname, "../vectors", name), "utf8");
  return text
    .trim()
    .split("\n")
    .filter((_, index) => index % EVERY === 0)
    .map((line) => JSON.parse(line) as Line)
    .filter(({ tz }) => !ODD_ZONES.includes(tz));
}

/** What the model says of a line; null when it does not read it, or would have to walk too far. */
function answersOf(kind: "cron" | "oncalendar", { expr, tz, from, next, ideal, end }: Line) {
  const right = ideal ?? next;
  const fromAt = Date.parse(from);
  if (end === true || Date.parse(right.at(-1) ?? from) - fromAt > DAYS_MAX * DAY_MS) return null;
  let schedule: Schedule;
  try {
    schedule = new Schedule({ kind, schedule: expr, tz, fromAt });
  } catch {
    return null;
  }
  const answers: string[] = [];
  for (let at: number | null = fromAt; answers.length < right.length; ) {
    at = schedule.nextAfter(at, DAYS_MAX);
    if (at === null) break;
    answers.push(new Date(at).toISOString().replace(".000", ""));
  }
  return { question: `${expr} ${tz} ${from}`, answers, right };
}

describe.each(["cron", "oncalendar"] as const)("%s", (kind) => {
  test("says what was recorded of every expression that it reads", () => {
    const answered = linesOf(`${kind}.jsonl`).flatMap((line) => answersOf(kind, line) ?? []);
    expect(answered.length).toBeGreaterThan(150);
    const wrong = answered.filter(({ answers, right }) => answers.join() !== right.join());
    expect(wrong).toEqual([]);
  });
});

test("what the model does not read is refused, and not guessed", () => {
  const make = (kind: "cron" | "oncalendar", schedule: string) => () =>
    new Schedule({ kind, schedule, tz: "UTC", fromAt: 0 });
  expect(make("cron", "0 0 L * *")).toThrow("does not read");
  expect(make("cron", "0 0 * *")).toThrow("not five fields");
  expect(make("oncalendar", "*-*~1 03:00")).toThrow("does not read");
  expect(make("oncalendar", "Mon..Fri *-*-* 03:00 UTC")).toThrow("more than");
});
