// Tests the model of tolerance, run timing and silences with small worlds whose results were computed by hand.
import { describe, expect, test } from "vitest";
import { detectedOf, notificationsOf } from "./notifications.ts";

/** A day with a turn per minute; deadlines are detected at the next full minute. */
function day(lines: string): string {
  return `world from 2026-11-16T00:00Z days 1 intakes 2 channels 1 turns 60s\n${lines}`;
}

/** A check that is expected every hour. */
function hourly(rules: string, ...actions: string[]): string {
  return day(`check job simple 1h grace 5m ${rules}\n${actions.map((action) => `  ${action}`).join("\n")}`);
}

describe("tolerance", () => {
  test("a failure opens no problem before the threshold, and a success in between sends nothing", () => {
    const text = hourly(
      "failures 3/3",
      "0.00:00 success",
      "0.00:10 fail",
      "0.00:20 success",
      "0.00:30 delete",
    );
    expect(notificationsOf(text)).toEqual([]);
  });

  test("the problem is dated at the flip that began it, and detected with the failure that opened it", () => {
    const text = hourly("failures 2/2", "0.00:00 success", "0.00:10 fail", "0.00:20 fail", "0.00:30 delete");
    expect(notificationsOf(text)).toEqual(["down 0.00:10"]);
    expect(detectedOf(text)).toEqual(["down 0.00:20"]);
  });

  test("two of three failures need not be in a row", () => {
    const actions = ["0.00:00 success", "0.00:10 fail", "0.00:20 success", "0.00:30 fail", "0.00:40 delete"];
    expect(notificationsOf(hourly("failures 2/3", ...actions))).toEqual(["down 0.00:30"]);
    expect(notificationsOf(hourly("failures 2/2", ...actions))).toEqual([]);
  });

  test("the window is cleared when the problem is over", () => {
    const actions = ["0.00:00 fail", "0.00:10 fail", "0.00:20 success", "0.00:30 fail", "0.00:40 delete"];
    expect(notificationsOf(hourly("failures 2/4", ...actions))).toEqual(["down 0.00:00", "up 0.00:20"]);
  });

  test("missed runs are counted from slot to slot, and the last one opens the problem", () => {
    const text = hourly("missed 3", "0.00:00 success", "0.04:00 delete");
    expect(notificationsOf(text)).toEqual(["down 0.01:05"]);
    expect(detectedOf(text)).toEqual(["down 0.03:06"]);
  });

  test("tolerated failures do not delay the notification of a missed run", () => {
    const text = hourly("failures 3/3", "0.00:00 fail", "0.01:30 delete");
    expect(notificationsOf(text)).toEqual(["down 0.00:00"]);
    expect(detectedOf(text)).toEqual(["down 0.01:06"]);
  });

  test("a tolerated run that overran counts once", () => {
    const text = hourly("missed 2", "0.00:00 success", "0.00:10 start", "0.01:10 delete");
    expect(notificationsOf(text)).toEqual([]);
  });

  test("recovery takes several successes, and a failure in between sends nothing", () => {
    const actions = ["0.00:00 fail", "0.00:10 success", "0.00:20 fail", "0.00:30 success", "0.00:40 success"];
    const text = hourly("recovery 2", ...actions, "0.01:00 delete");
    expect(notificationsOf(text)).toEqual(["down 0.00:00", "up 0.00:30"]);
    expect(detectedOf(text)).toEqual(["down 0.00:00", "up 0.00:40"]);
  });

  test("a lower threshold opens the problem with the edit", () => {
    const text = hourly("failures 3/3", "0.00:10 fail", "0.00:30 edit simple 1h grace 5m", "0.00:40 delete");
    expect(detectedOf(text)).toEqual(["down 0.00:30"]);
  });

  test("a deadline that an edit moves into the past counts after the edit", () => {
    const check = (missed: number) =>
      day(`check job cron "0 * * * *" UTC grace 5m failures 1/1 recovery 3 early 10m
  0.00:00 fail
  0.00:10 success
  0.00:55 success
  0.01:30 edit cron "0 * * * *" UTC grace 5m missed ${missed}
  0.01:50 delete`);
    expect(notificationsOf(check(2))).toEqual(["down 0.00:00", "up 0.00:10"]);
    expect(notificationsOf(check(1))).toEqual(["down 0.00:00", "up 0.00:10", "down 0.01:05"]);
  });

  test("a pause forgets failures and ends the problem without a message", () => {
    const actions = ["0.00:10 fail", "0.00:20 pause", "0.00:30 resume", "0.00:40 fail", "0.00:50 delete"];
    expect(notificationsOf(hourly("failures 2/2", ...actions))).toEqual([]);
  });
});

describe("run timing", () => {
  test("a run must start in time, and then has the grace period", () => {
    const late = hourly("start-within 2m", "0.00:00 success", "0.01:04 success", "0.01:10 delete");
    expect(notificationsOf(late)).toEqual(["down 0.01:02", "up 0.01:04"]);
    const begun = hourly(
      "start-within 2m",
      "0.00:00 success",
      "0.01:01 start",
      "0.01:04 success",
      "0.01:10 delete",
    );
    expect(notificationsOf(begun)).toEqual([]);
  });

  test("a long run is limited by its own limit only", () => {
    const actions = ["0.00:00 success", "0.01:01 start", "0.02:50 success", "0.03:00 delete"];
    expect(notificationsOf(hourly("max-run 2h", ...actions))).toEqual([]);
    expect(notificationsOf(hourly("max-run 1h", ...actions))).toEqual(["down 0.02:01", "up 0.02:50"]);
  });

  test("a run without a limit is noticed when the next one does not begin", () => {
    const text = hourly("max-run 0s", "0.00:00 success", "0.01:01 start", "0.02:30 delete");
    expect(notificationsOf(text)).toEqual(["down 0.02:06"]);
  });

  test("a success of a run that was too short is a failure", () => {
    const actions = ["0.00:00 success", "0.00:58 start", "0.00:59 success", "0.01:10 delete"];
    expect(notificationsOf(hourly("min-run 2m", ...actions))).toEqual(["down 0.00:59"]);
    expect(notificationsOf(hourly("min-run 1m", ...actions))).toEqual([]);
  });

  test("so is one of a run that began too soon after the last one", () => {
    const actions = ["0.00:00 success", "0.00:20 success", "0.00:58 success", "0.01:10 delete"];
    expect(notificationsOf(hourly("min-gap 30m", ...actions))).toEqual(["down 0.00:20", "up 0.00:58"]);
  });

  test("the start of a run is known only with the same run ID", () => {
    const actions = ["0.00:00 success", "0.00:20 start rid=a", "0.00:20:30 success rid=b", "0.00:25 success"];
    expect(notificationsOf(hourly("min-gap 4m", ...actions, "0.00:30 delete"))).toEqual([]);
    const begun = ["0.00:00 success", "0.00:57 start rid=a", "0.00:58 success", "0.01:10 delete"];
    expect(notificationsOf(hourly("min-run 2m", ...begun))).toEqual([]);
  });

  test("an early run counts for the next slot, but not in the first half of the gap", () => {
    const check = (early: string) =>
      day(`check job cron "0 * * * *" UTC grace 5m early ${early}
  0.00:00 success
  0.00:50 success
  0.02:00 success
  0.02:20 success
  0.02:50 delete`);
    expect(notificationsOf(check("10m"))).toEqual([]);
    expect(notificationsOf(check("9m"))).toEqual(["down 0.01:05", "up 0.02:00"]);
    const late = day(`check job cron "0 * * * *" UTC grace 5m early 1h\n  0.00:29 success\n  0.01:30 delete`);
    expect(notificationsOf(late)).toEqual(["down 0.01:05"]);
  });
});
