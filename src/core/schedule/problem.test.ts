// Error texts for invalid schedules, and notes about misleading steps.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { expandMacro } from "./cron.ts";
import { problemSentence } from "./problem.ts";
import { findScheduleProblem, isValidSchedule } from "./schedule.ts";
import { noteSentence, scheduleNotes } from "./wording.ts";

const said = (text: string, kind: "cron" | "oncalendar" | null = null) => {
  const problem = findScheduleProblem(text, kind);
  return problem === null ? null : problemSentence(problem).replace("Invalid schedule: ", "");
};

describe("why a text is no schedule", () => {
  test.each([
    ["", "the expression is empty."],
    ["0 3 * *", "expected 5 fields, got 4."],
    ["0 0 3 * * *", "expected 5 fields, got 6."],
    ["61 3 * * *", "minute: 61 is out of range 0-59."],
    ["0 24 * * *", "hour: 24 is out of range 0-23."],
    ["0 3 0 * *", "day of month: 0 is out of range 1-31."],
    ["0 3 * 13 *", "month: 13 is out of range 1-12."],
    ["0 3 * * 8", "day of week: 8 is out of range 0-7."],
    [
      "0 3 * JAN-MARCH *",
      "month: unknown name MARCH, use JAN, FEB, MAR, APR, MAY, JUN, JUL, AUG, SEP, OCT, NOV, DEC.",
    ],
    ["0 3 * * MONDAY", "day of week: unknown name MONDAY, use SUN, MON, TUE, WED, THU, FRI, SAT."],
    [
      "0 3 * FOO *",
      "month: unknown name FOO, use JAN, FEB, MAR, APR, MAY, JUN, JUL, AUG, SEP, OCT, NOV, DEC.",
    ],
    ["*/0 * * * *", "minute: the step in */0 must be at least 1."],
    ["0 22-2 * * *", "hour: the range 22-2 ends before it begins."],
    ["0, * * * *", "minute: a value is missing."],
    ["0 3 ? * *", "day of month: “?” is not valid."],
    ["x 3 * * *", "minute: “X” is not valid."],
    ["0 0 30 2 *", "February has no day 30."],
    ["0 0 31 4,6 *", "none of these months has a day 31."],
    ["0 0 */20 * 1L", "it never matches a date."],
    ["0 3 * * 1#6", "day of week: “1#6” is not valid."],
    ["ü 3 * * *", "only ASCII letters, digits, and punctuation are allowed."],
    ["@reboot", "@reboot has no time of day, so no ping can be expected."],
    [
      "@often",
      "unknown macro @often, use @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually.",
    ],
    ["Mon..Fri *-*-* 25:00", "hour: 25 is out of range 0-23."],
    ["Mun *-*-* 09:00", "day of week: unknown name MUN, use Mon, Tue, Wed, Thu, Fri, Sat, Sun."],
    ["Sat..Mon 09:00", "day of week: the range SAT..MON ends before it begins."],
    ["*-*-* *:*/5", "minute: “*/5” is not valid, use 0/5."],
    ["*-02-30", "it never matches a date."],
    ["*-*-* 09:00\n*-*-* 9", "line 2: “9” is not valid here, expected weekdays, date, time, zone."],
    ["*-*-* 09:00 Mars/Base", "“Mars/Base” is not valid here, expected weekdays, date, time, zone."],
    ["x".repeat(101), "at most 100 characters are allowed."],
  ])("%j", (text, problem) => {
    expect(said(text)).toBe(problem);
  });

  test("a text is explained in the language that the user says it is in", () => {
    expect(said("daily", "cron")).toBe("expected 5 fields, got 1.");
    expect(said("0 3 * * *", "oncalendar")).toBe(
      "“3” is not valid here, expected weekdays, date, time, zone.",
    );
  });

  test("whatever is accepted has no problem, and whatever is refused has one", () => {
    const word = fc.constantFrom(
      "0",
      "*",
      "*/7",
      "61",
      "MON",
      "1-5",
      "L",
      "Mon..Fri",
      "*-*-*",
      "09:00",
      "UTC",
      "@daily",
      "~",
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 6 }), (words) => {
        const text = words.join(" ");
        expect(findScheduleProblem(text, null) === null).toBe(isValidSchedule(text, { oncalendar: true }));
      }),
    );
  });
});

test("macros expand to valid expressions", () => {
  expect(expandMacro(" @Daily ")).toBe("0 0 * * *");
  expect(expandMacro("@reboot")).toBeNull();
  expect(isValidSchedule("@daily", { oncalendar: true })).toBe(false);
});

describe("what a step does", () => {
  const notes = (text: string) => scheduleNotes(text).map(noteSentence);
  test.each([
    [
      "*/90 * * * *",
      "“*/90” matches minute 0 only, which is once every hour. For every 90 minutes, choose an interval instead of an expression.",
    ],
    [
      "0 */24 * * *",
      "“*/24” matches hour 0 only, which is once every day. For every 24 hours, choose an interval instead of an expression.",
    ],
    ["*/7 * * * *", "“*/7” restarts every hour: minute 56 is followed by minute 0."],
    ["0 */5 * * *", "“*/5” restarts every day: hour 20 is followed by hour 0."],
    ["0 0 */2 * *", "“*/2” restarts every month: day 31 is followed by day 1."],
    ["0 0 * * */7", "“*/7” matches Sunday only, which is once every week."],
    ["0 0 * */24 *", "“*/24” matches month 1 only, which is once every year."],
    ["*-*-* *:0/45", "“0/45” restarts every hour: minute 45 is followed by minute 0."],
    [
      "*-*-* 0/30:00",
      "“0/30” matches hour 0 only, which is once every day. For every 30 hours, choose an interval instead of an expression.",
    ],
    [
      "10-20/15 * * * *",
      "“10-20/15” matches minute 10 only, which is once every hour. For every 15 minutes, choose an interval instead of an expression.",
    ],
  ])("%s", (text, note) => {
    expect(notes(text)).toEqual([note]);
  });

  test.each(["*/15 * * * *", "0 */6 * * *", "* * * * *", "0-30/7 * * * *", "*/1 * * * *", "*-*-* *:0/15"])(
    "%s is as it reads",
    (text) => {
      expect(notes(text)).toEqual([]);
    },
  );
});
