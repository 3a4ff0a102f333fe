// Compares our evaluator with every line of the recorded schedule vectors. Prints the number of matching lines per
// file, to show that the files were read.

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { detectKind, isValidSchedule, nextAfter, parseSchedule } from "./schedule.ts";
import { isZone } from "./zone.ts";

type Verdict = { expr: string; ok: boolean; api?: boolean };
type Firings = { expr: string; tz: string; from: string; next: string[] | null; ideal?: string[] };

const FIRINGS_ASKED = 5;

/** The result of our evaluator, in the format of the expected list. */
function firings({ expr, tz, from }: Firings): (string | null)[] {
  const schedule = parseSchedule({ text: expr, tz });
  const found: (string | null)[] = [];
  if (schedule === null) return ["refused"];
  let at = Date.parse(from);
  while (found.length < FIRINGS_ASKED && found.at(-1) !== null) {
    const next = nextAfter(schedule, at);
    found.push(next === null ? null : new Date(next).toISOString().replace(".000Z", "Z"));
    at = next ?? at;
  }
  return found;
}

function firingsHold(line: Firings): boolean {
  const expected: (string | null)[] = [...(line.ideal ?? line.next ?? [])];
  // A list shorter than five ends there, whether or not the line says so.
  if (expected.length < FIRINGS_ASKED) expected.push(null);
  return JSON.stringify(firings(line)) === JSON.stringify(expected);
}

function cronVerdictHolds({ expr, ok, api = ok }: Verdict): boolean {
  return (
    isValidSchedule(expr, { oncalendar: false }) === ok && isValidSchedule(expr, { oncalendar: true }) === api
  );
}

/** Lines that are meant as OnCalendar and happen to have five words are rejected as cron, which is correct, too. */
function onCalendarVerdictHolds({ expr, ok }: Verdict): boolean {
  return isValidSchedule(expr, { oncalendar: true }) === ok;
}

function detectionHolds(line: { schedule: string; kind: string; ok: boolean }): boolean {
  return (
    detectKind(line.schedule) === line.kind &&
    isValidSchedule(line.schedule, { oncalendar: true }) === line.ok
  );
}

type Check = { file: string; holds: (line: string) => boolean; spoil: (line: string) => string };

const CHECKS: Check[] = [
  { file: "cron.jsonl", holds: (line) => firingsHold(JSON.parse(line) as Firings), spoil: laterStart },
  {
    file: "cron-invalid.jsonl",
    holds: (line) => cronVerdictHolds(JSON.parse(line) as Verdict),
    spoil: turned,
  },
  { file: "oncalendar.jsonl", holds: (line) => firingsHold(JSON.parse(line) as Firings), spoil: laterStart },
  {
    file: "oncalendar-invalid.jsonl",
    holds: (line) => onCalendarVerdictHolds(JSON.parse(line) as Verdict),
    spoil: turned,
  },
  {
    file: "detect.jsonl",
    holds: (line) => detectionHolds(JSON.parse(line) as { schedule: string; kind: string; ok: boolean }),
    spoil: turned,
  },
  {
    file: "tz.jsonl",
    holds: (line) => {
      const { tz, ok } = JSON.parse(line) as { tz: string; ok: boolean };
      return isZone(tz) === ok && (parseSchedule({ text: "0 0 * * *", tz }) !== null) === ok;
    },
    spoil: turned,
  },
];

/** The same search starting from the previous answer: every firing moves up by one. */
function laterStart(line: string): string {
  const parsed = JSON.parse(line) as Firings;
  return JSON.stringify({ ...parsed, from: (parsed.ideal ?? parsed.next ?? [])[0] });
}

function turned(line: string): string {
  const parsed = JSON.parse(line) as { ok: boolean };
  return JSON.stringify({ ...parsed, ok: !parsed.ok });
}

function linesOf(file: string): string[] {
  const text = readFileSync(new URL(`../../../test/vectors/${file}`, import.meta.url), "utf8");
  return text.split("\n").filter((line) => line !== "");
}

describe("the recorded vectors", () => {
  for (const { file, holds } of CHECKS) {
    test(`every line of ${file} holds`, { timeout: 60_000 }, () => {
      const lines = linesOf(file);
      const failing = lines.filter((line) => !holds(line));
      process.stdout.write(`vectors: ${lines.length - failing.length} of ${lines.length} ${file}\n`);
      expect(failing.slice(0, 10)).toEqual([]);
      expect(lines.length).toBeGreaterThan(0);
    });
  }

  for (const { file, holds, spoil } of CHECKS) {
    test(`one altered line of ${file} makes the count fall by one`, { timeout: 60_000 }, () => {
      const lines = linesOf(file);
      const place = Math.floor(lines.length / 2);
      const altered = lines.map((line, index) => (index === place ? spoil(line) : line));
      expect(altered.filter(holds).length).toBe(lines.length - 1);
    });
  }
});
