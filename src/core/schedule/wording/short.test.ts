// A few words for a list: true, short, and the expression where words are many.
import { describe, expect, test } from "vitest";
import { expectedInShort } from "./short.ts";

const simple = (timeoutSeconds: number) =>
  expectedInShort({ kind: "simple", timeoutSeconds, schedule: "* * * * *", tz: "UTC" });
const cron = (schedule: string, tz = "UTC") =>
  expectedInShort({ kind: "cron", timeoutSeconds: 60, schedule, tz });

describe("what is expected, in a few words", () => {
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

  test("a schedule is told with the place of its zone, and without a full stop", () => {
    expect(cron("0 3 * * *", "Europe/Riga")).toBe("at 03:00 every day, Riga");
    expect(cron("*/5 * * * *")).toBe("every 5 minutes, UTC");
  });

  test("times that follow each other evenly are told by their stride where all of them would be many words", () => {
    expect(cron("15 */4 * * *")).toBe("every 4 hours from 00:15 to 20:15 every day, UTC");
    expect(cron("15 */8 * * *")).toBe("at 00:15, 08:15 and 16:15 every day, UTC");
  });

  test("where the words would be many, the expression is shown", () => {
    const words = cron("1,7,13,29,44 3,7,9,15 1,5,9 * *", "America/New_York");
    expect(words).toBe("1,7,13,29,44 3,7,9,15 1,5,9 * *, New York");
  });
});
