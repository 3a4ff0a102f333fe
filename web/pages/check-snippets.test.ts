// The crontab line of a job that runs as often as its check expects.
import { expect, test } from "vitest";
import { timesOf } from "./check-snippets.ts";

test.each([
  [60, "* * * * *", "*-*-* *:*:00"],
  [900, "*/15 * * * *", "*-*-* *:00/15:00"],
  [3_600, "0 * * * *", "*-*-* *:00:00"],
  [21_600, "0 */6 * * *", "*-*-* 00/6:00:00"],
  [86_400, "0 3 * * *", "*-*-* 03:00:00"],
  [604_800, "0 3 * * 0", "Sun *-*-* 03:00:00"],
])("every %i seconds", (seconds, cron, calendar) => {
  expect(timesOf(seconds)).toEqual({ cron, calendar });
});

test("a period without a crontab line of its own gets the daily one", () => {
  expect(timesOf(7 * 60).cron).toBe("0 3 * * *");
  expect(timesOf(90).cron).toBe("0 3 * * *");
  expect(timesOf(90 * 60).cron).toBe("0 3 * * *");
});
