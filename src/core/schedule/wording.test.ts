// Descriptions of schedules, row by row, in both languages.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseSchedule } from "./schedule.ts";
import { describeSchedule, shortScheduleText } from "./wording.ts";

function told(text: string, tz = "UTC"): string {
  const schedule = parseSchedule({ text, tz });
  return schedule === null ? "refused" : describeSchedule(schedule);
}

const CRON: [string, string][] = [
  ["* * * * *", "Every minute, UTC."],
  ["*/5 * * * *", "Every 5 minutes, UTC."],
  ["*/7 * * * *", "Every 7 minutes from minute 0 to minute 56 of every hour, UTC."],
  ["5/15 * * * *", "Every 15 minutes starting at minute 5 of every hour, UTC."],
  ["0 * * * *", "Every hour, on the hour, UTC."],
  ["30 * * * *", "At 30 minutes past every hour, UTC."],
  ["1 * * * *", "At 1 minute past every hour, UTC."],
  ["10-20 * * * *", "Every minute from minute 10 to minute 20 of every hour, UTC."],
  ["1-9,30 * * * *", "At minutes 1 to 9 and 30 of every hour, UTC."],
  ["0,15,30,45 * * * *", "Every 15 minutes, UTC."],
  ["0,30 * * * *", "Every 30 minutes, UTC."],
  ["5,35 * * * *", "Every 30 minutes starting at minute 5 of every hour, UTC."],
  ["0 */2 * * *", "Every 2 hours from 00:00 to 22:00 every day, UTC."],
  ["15 */5 * * *", "At 00:15, 05:15, 10:15, 15:15 and 20:15 every day, UTC."],
  ["0 9-17 * * *", "Every hour from 09:00 to 17:00 every day, UTC."],
  ["*/15 9-17 * * 1-5", "Every 15 minutes from 09:00 to 17:45, Monday to Friday, UTC."],
  ["*/5 3 * * *", "Every 5 minutes from 03:00 to 03:55 every day, UTC."],
  ["* 3 * * *", "Every minute from 03:00 to 03:59 every day, UTC."],
  ["* 9-17 * * *", "Every minute from 09:00 to 17:59 every day, UTC."],
  [
    "*/7 9-17 * * *",
    "Every 7 minutes from minute 0 to minute 56 of every hour between 09:00 and 17:59 every day, UTC.",
  ],
  ["*/10 */2 * * *", "Every 10 minutes during every 2nd hour from 0 to 22 every day, UTC."],
  ["* 1,3,9 * * *", "Every minute during hours 1, 3 and 9 every day, UTC."],
  ["0 3 * * 1-5", "At 03:00, Monday to Friday, UTC."],
  ["0 3 * * *", "At 03:00 every day, UTC."],
  ["0,30 3,15 * * *", "At 03:00, 03:30, 15:00 and 15:30 every day, UTC."],
  ["0 1,2,4,7,9,13,20 * * *", "At 01:00, 02:00, 04:00, 07:00, 09:00, 13:00 and 20:00 every day, UTC."],
  ["5,10 1,2,4,7,9,13,20 * * *", "At minutes 5 and 10 of hours 1, 2, 4, 7, 9, 13 and 20 every day, UTC."],
  ["0 0 1 * *", "At 00:00 on the 1st of every month, UTC."],
  ["0 0 1,15 * *", "At 00:00 on the 1st and 15th of every month, UTC."],
  ["0 0 1-7 * *", "At 00:00 on the 1st to 7th of every month, UTC."],
  ["0 0 */2 * *", "At 00:00 on the odd days of every month, UTC."],
  ["0 0 2/2 * *", "At 00:00 on the even days of every month, UTC."],
  ["0 0 */3 * *", "At 00:00 on every 3rd day from the 1st to the 31st of every month, UTC."],
  ["0 0 */10 * *", "At 00:00 on the 1st, 11th, 21st and 31st of every month, UTC."],
  ["0 0 29 2 *", "At 00:00 on February 29, UTC."],
  ["0 0 L * *", "At 00:00 on the last day of every month, UTC."],
  ["0 0 LW * *", "At 00:00 on the last weekday of every month, UTC."],
  ["0 0 1,L * *", "At 00:00 on the 1st and the last day of every month, UTC."],
  ["0 0 L,LW * *", "At 00:00 on the last day and the last weekday of every month, UTC."],
  ["0 0 * * 5L", "At 00:00 on the last Friday of every month, UTC."],
  ["0 0 * * MON#1", "At 00:00 on the first Monday of every month, UTC."],
  ["0 0 * 2 MON#5", "At 00:00 on the fifth Monday of February, UTC."],
  ["0 0 * * MON#1,MON#3", "At 00:00 on the first and third Monday of every month, UTC."],
  [
    "0 0 * * SUN#1,5L,3",
    "At 00:00 every Wednesday and on the last Friday and the first Sunday of every month, UTC.",
  ],
  ["0 0 * * 1L,1#1", "At 00:00 on the first and last Monday of every month, UTC."],
  ["0 0 13 * 5", "At 00:00 on the 13th of every month, and also every Friday, UTC."],
  ["0 0 */2 * 5", "At 00:00 every Friday, but only on the odd days of the month, UTC."],
  ["0 0 1-31 * 1", "At 00:00 every day, UTC."],
  ["0 0 13 6 5", "At 00:00 on the 13th, and also every Friday, in June, UTC."],
  ["0 0 13 * 1#1", "At 00:00 on the 13th of every month, and also on the first Monday of the month, UTC."],
  [
    "0 0 */28 2 SUN#5",
    "At 00:00 on the fifth Sunday of February, but only on the 1st and 29th of the month, UTC.",
  ],
  ["0 0 5,* * 1", "At 00:00 every day, UTC."],
  ["0 0 1 1 *", "At 00:00 on January 1, UTC."],
  ["0 0 * 6-8 *", "At 00:00 every day from June to August, UTC."],
  ["*/5 * * 6 *", "Every 5 minutes in June, UTC."],
  ["0 0 * 1,7 6,0", "At 00:00 every Saturday and Sunday in January and July, UTC."],
  ["0 0 * * 0", "At 00:00 every Sunday, UTC."],
  ["0 0 * * 7", "At 00:00 every Sunday, UTC."],
  ["0 0 * * */2", "At 00:00 every Tuesday, Thursday, Saturday and Sunday, UTC."],
  ["0 0 * * 1-5/2", "At 00:00 every Monday, Wednesday and Friday, UTC."],
  ["0 0 1 */3 *", "At 00:00 on the 1st of January, April, July and October, UTC."],
  ["0 12 L 2 *", "At 12:00 on the last day of February, UTC."],
  ["0-59 3 * * *", "Every minute from 03:00 to 03:59 every day, UTC."],
];

const ONCALENDAR: [string, string][] = [
  ["minutely", "Every minute, UTC."],
  ["hourly", "Every hour, on the hour, UTC."],
  ["daily", "At 00:00 every day, UTC."],
  ["weekly", "At 00:00 every Monday, UTC."],
  ["monthly", "At 00:00 on the 1st of every month, UTC."],
  ["quarterly", "At 00:00 on the 1st of January, April, July and October, UTC."],
  ["semiannually", "At 00:00 on the 1st of January and July, UTC."],
  ["yearly", "At 00:00 on January 1, UTC."],
  ["12:34:56", "At 12:34:56 every day, UTC."],
  ["*:*:*", "Every second, UTC."],
  ["*:*:0/10", "Every 10 seconds, UTC."],
  ["*:*:30", "At second 30 of every minute, UTC."],
  ["*:30:15", "At second 15 of minute 30 of every hour, UTC."],
  [
    "9..17:0/5:30",
    "At second 30 of every 5th minute from 0 to 55 of every hour between 09:00 and 17:59 every day, UTC.",
  ],
  ["*:0/15:0/10", "Every 10 seconds in every 15th minute from 0 to 45 of every hour, UTC."],
  ["*:0/15", "Every 15 minutes, UTC."],
  ["8..18:00", "Every hour from 08:00 to 18:00 every day, UTC."],
  ["Mon,Fri 09:00", "At 09:00 every Monday and Friday, UTC."],
  ["Mon..Wed,Sat 09:00", "At 09:00 every Monday, Tuesday, Wednesday and Saturday, UTC."],
  [
    "Sat,Sun *-1..3-1 12:00",
    "At 12:00 every Saturday and Sunday from January to March, but only on the 1st of the month, UTC.",
  ],
  ["Mon *-*-1..7 09:00", "At 09:00 every Monday, but only on the 1st to 7th of the month, UTC."],
  ["*-*~1", "At 00:00 on the last day of every month, UTC."],
  ["*-*~1..7", "At 00:00 on the last 7 days of every month, UTC."],
  ["*-*~3", "At 00:00 on the 3rd-to-last day of every month, UTC."],
  ["*-*~5/2", "At 00:00 on the last, 3rd-to-last and 5th-to-last day of every month, UTC."],
  ["*-02~03 12:00", "At 12:00 on the 3rd-to-last day of February, UTC."],
  ["Sun *-*~1..7 23:00", "At 23:00 every Sunday, but only on the last 7 days of the month, UTC."],
  ["2030-01-01", "At 00:00 on January 1, 2030, UTC."],
  ["2030-01-01 12:00 Europe/Riga", "At 12:00 on January 1, 2030, Europe/Riga time."],
  ["2020/4-02-29", "At 00:00 on February 29 every 4 years starting in 2020, UTC."],
  ["2020..2030-1-1", "At 00:00 on January 1 from 2020 to 2030, UTC."],
  ["2024,2026-*-1", "At 00:00 on the 1st of every month in 2024 and 2026, UTC."],
  ["2025/1-*-* 06:00", "At 06:00 every day starting in 2025, UTC."],
  ["2025-*-* 06:00", "At 06:00 every day in 2025, UTC."],
  ["12:34\n13:45", "At 12:34 every day; and at 13:45 every day (all in UTC)."],
  ["12:34 Europe/Riga\n13:45 UTC", "At 12:34 every day, Europe/Riga time; and at 13:45 every day, UTC."],
  ["daily\nMon 12:00 Europe/Riga", "At 00:00 every day, UTC; and at 12:00 every Monday, Europe/Riga time."],
  ["daily\n00:00", "At 00:00 every day, UTC."],
  ["*-*~27,2", "At 00:00 on the 2nd-to-last and 27th-to-last day of every month, UTC."],
  ["*:*:5..20", "Every second from second 5 to second 20 of every minute, UTC."],
  ["4..4:5,10:7,9", "At 04:05:07, 04:05:09, 04:10:07 and 04:10:09 every day, UTC."],
  [
    "*-*-* 1,5,7,9,13,22,23:00:10",
    "At second 10 of minute 0 of hours 1, 5, 7, 9, 13, 22 and 23 every day, UTC.",
  ],
];

const ELSEWHERE: [string, string][] = [
  ["0 9 * * 1-5", "At 09:00, Monday to Friday, America/New_York time."],
  [
    "1-9,30 3 * * *",
    "At minutes 1 to 9 and 30 of the hour between 03:00 and 03:59 every day, America/New_York time.",
  ],
  ["5/20 9-17 * * 1-5", "Every 20 minutes from 09:05 to 17:45, Monday to Friday, America/New_York time."],
  ["10:00 UTC", "At 10:00 every day, UTC."],
  [
    "10:00\n15:00 Asia/Tokyo",
    "At 10:00 every day, America/New_York time; and at 15:00 every day, Asia/Tokyo time.",
  ],
  ["10:00\nSat 15:00", "At 10:00 every day; and at 15:00 every Saturday (all in America/New_York time)."],
];

describe("sentences", () => {
  test.each(CRON)("cron %j", (text, sentence) => {
    expect(told(text)).toBe(sentence);
  });

  test.each(ONCALENDAR)("OnCalendar %j", (text, sentence) => {
    expect(told(text)).toBe(sentence);
  });

  test.each(ELSEWHERE)("in another zone %j", (text, sentence) => {
    expect(told(text, "America/New_York")).toBe(sentence);
  });

  test("the same times read the same, however they are written", () => {
    const alike = [
      "*/15 * * * *",
      "0,15,30,45 * * * *",
      "0-59/15 * * * *",
      "0/15 * * * *",
      "*:0/15",
      "*:00,15,30,45",
    ];
    expect(new Set(alike.map((text) => told(text))).size).toBe(1);
  });

  test("day fields that must both hold never read like day fields of which one is enough", () => {
    expect(told("0 0 */2 * 5")).not.toBe(told("0 0 1/2 * 5"));
    expect(told("0 0 1/2 * 5")).toBe("At 00:00 on the odd days of every month, and also every Friday, UTC.");
  });

  test("every schedule that can be read has a sentence", () => {
    const field = fc.stringMatching(/^[0-9*,/L#-]{1,5}$/);
    const text = fc.oneof(
      fc.tuple(field, field, field, field, field).map((fields) => fields.join(" ")),
      fc.stringMatching(/^(Mon|Sat,Sun|)( [0-9*]{1,2}[-~][0-9./]{1,4}|) [0-9*./]{1,4}:[0-9*./]{1,4}$/),
    );
    fc.assert(
      fc.property(text, (candidate) => {
        const sentence = told(candidate);
        expect(sentence).toMatch(/^(?:refused|(?:At|Every) .+\.)$/);
        expect(sentence).not.toMatch(/undefined|NaN| {2}|,,/);
      }),
      { numRuns: 2_000 },
    );
  });
});

// Short descriptions for lists: correct, short, and the expression itself if the description would be long.

const simple = (timeoutSeconds: number) =>
  shortScheduleText({ kind: "simple", timeoutSeconds, schedule: "* * * * *", tz: "UTC" });
const cron = (schedule: string, tz = "UTC") =>
  shortScheduleText({ kind: "cron", timeoutSeconds: 60, schedule, tz });

describe("short descriptions", () => {
  test.each([
    [60, "every minute"],
    [300, "every 5 minutes"],
    [3_600, "every hour"],
    [90, "every 90 seconds"],
    [86_400, "every day"],
    [129_600, "every 36 hours"],
    [604_800, "every week"],
    [100_000, "every 1 day 4 hours"],
    [31_536_000, "every 52 weeks 1 day"],
  ])("a period of %i seconds is %s", (seconds, words) => {
    expect(simple(seconds)).toBe(words);
  });

  test("a schedule is described with the city of its zone, and without a period", () => {
    expect(cron("0 3 * * *", "Europe/Riga")).toBe("at 03:00 every day, Riga");
    expect(cron("*/5 * * * *")).toBe("every 5 minutes, UTC");
  });

  test("evenly spaced times are described by their interval if listing them would be long", () => {
    expect(cron("15 */4 * * *")).toBe("every 4 hours from 00:15 to 20:15 every day, UTC");
    expect(cron("15 */8 * * *")).toBe("at 00:15, 08:15 and 16:15 every day, UTC");
  });

  test("where the words would be many, the expression is shown", () => {
    const words = cron("1,7,13,29,44 3,7,9,15 1,5,9 * *", "America/New_York");
    expect(words).toBe("1,7,13,29,44 3,7,9,15 1,5,9 * *, New York");
  });
});
