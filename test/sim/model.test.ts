// Tests the model with small worlds whose results were computed by hand.
import { describe, expect, test } from "vitest";
import { earliestOf, detectedOf, notificationsOf } from "./notifications.ts";

/** A day with a turn per minute; deadlines are detected at the next full minute. */
function day(lines: string, { intakes = 2, days = 1 }: { intakes?: number; days?: number } = {}): string {
  return `world from 2026-11-16T00:00Z days ${days} intakes ${intakes} channels 1 turns 60s\n${lines}`;
}

/** Expected every hour, down five minutes later. */
const HOURLY = "check job simple 1h grace 5m";
/** The first success. The next one is expected at 1:00, and the check is down at 1:05. */
const FIRST = "  0.00:00 success";
/** Excludes the rest of the day. */
const END = "  0.01:30 delete";

describe("missing pings", () => {
  test("a ping in time sends no notification", () => {
    expect(notificationsOf(day(`${HOURLY}\n${FIRST}\n  0.01:00 success\n${END}`))).toEqual([]);
  });

  test("a check without a ping goes down, dated at the deadline", () => {
    expect(notificationsOf(day(`${HOURLY}\n${FIRST}`))).toEqual(["down 0.01:05"]);
  });

  test("it is detected at the first turn after the deadline", () => {
    expect(detectedOf(day(`${HOURLY}\n${FIRST}`))).toEqual(["down 0.01:06"]);
  });

  test("a ping exactly at the deadline is in time", () => {
    expect(notificationsOf(day(`${HOURLY}\n${FIRST}\n  0.01:05 success\n${END}`))).toEqual([]);
  });

  test("a ping well after the deadline is late and brings the check up again", () => {
    const text = day(`${HOURLY}\n${FIRST}\n  0.01:05:10 success\n${END}`);
    expect(notificationsOf(text)).toEqual(["down 0.01:05", "up 0.01:05:10"]);
  });

  test("in the seconds after the deadline, both results are correct", () => {
    const text = day(`${HOURLY}\n${FIRST}\n  0.01:05:01 success\n${END}`);
    expect(notificationsOf(text, () => true)).toEqual(["down 0.01:05", "up 0.01:05:01"]);
    expect(notificationsOf(text, () => false)).toEqual([]);
  });

  test("a check without a first ping has no deadline", () => {
    expect(notificationsOf(day(HOURLY))).toEqual([]);
  });

  test("down is notified once, however long it lasts", () => {
    expect(notificationsOf(day(`${HOURLY}\n${FIRST}`, { days: 3 }))).toEqual(["down 0.01:05"]);
  });
});

describe("pings", () => {
  test("a failure goes down immediately, and a success brings the check up again", () => {
    const text = day(`${HOURLY}\n${FIRST}\n  0.00:10 fail\n  0.00:20 success\n  0.00:30 delete`);
    expect(notificationsOf(text)).toEqual(["down 0.00:10", "up 0.00:20"]);
  });

  test("a first ping that is a failure is notified", () => {
    expect(notificationsOf(day(`${HOURLY}\n  0.00:10 fail`))).toEqual(["down 0.00:10"]);
  });

  test("a second failure and a missing ping after it are not notified", () => {
    expect(notificationsOf(day(`${HOURLY}\n  0.00:10 fail\n  0.00:20 fail`))).toEqual(["down 0.00:10"]);
  });

  test("a log line has no effect, before and after a deadline", () => {
    const text = day(`${HOURLY}\n${FIRST}\n  0.00:59 log\n  0.01:06:30 log`);
    expect(notificationsOf(text)).toEqual(["down 0.01:05"]);
  });

  test("a run that does not end goes down after the grace period", () => {
    expect(notificationsOf(day(`${HOURLY}\n${FIRST}\n  0.00:30 start`))).toEqual(["down 0.00:35"]);
  });

  test("this also applies to the first ping of a check", () => {
    expect(notificationsOf(day(`${HOURLY}\n  0.00:30 start`))).toEqual(["down 0.00:35"]);
  });

  test("after a run that ends in time, the next ping is expected from its end", () => {
    const text = day(`${HOURLY}\n${FIRST}\n  0.00:30 start\n  0.00:34 success`);
    expect(notificationsOf(text)).toEqual(["down 0.01:39"]);
  });

  test("the newest of several starts counts", () => {
    expect(notificationsOf(day(`${HOURLY}\n${FIRST}\n  0.00:30 start\n  0.00:33 start`))).toEqual([
      "down 0.00:38",
    ]);
  });

  test("a start after the expected time does not replace the missing success", () => {
    const text = day(`${HOURLY}\n${FIRST}\n  0.01:04 start`);
    expect(notificationsOf(text)).toEqual(["down 0.01:05"]);
  });

  test("a success with the ID of another run does not end this one", () => {
    const text = day(`${HOURLY}\n${FIRST}\n  0.00:30 start rid=a\n  0.00:32 success rid=b`);
    expect(notificationsOf(text)).toEqual(["down 0.00:35"]);
  });

  test("a success without a run ID ends any run", () => {
    const text = day(`${HOURLY}\n${FIRST}\n  0.00:30 start rid=a\n  0.00:32 success\n  0.00:40 delete`);
    expect(notificationsOf(text)).toEqual([]);
  });

  test("a failure ends any run, whatever its run ID", () => {
    const text = day(
      `${HOURLY}\n${FIRST}\n  0.00:30 start rid=a\n  0.00:31 fail rid=b\n  0.00:32 success rid=c\n  0.00:40 delete`,
    );
    expect(notificationsOf(text)).toEqual(["down 0.00:31", "up 0.00:32"]);
  });
});

describe("commands", () => {
  test("a paused check has no deadline, and a success ends the pause without a notification", () => {
    const text = day(`${HOURLY}\n${FIRST}\n  0.00:30 pause\n  0.05:00 success\n  0.05:30 delete`);
    expect(notificationsOf(text)).toEqual([]);
  });

  test("after that, it has a deadline again", () => {
    expect(notificationsOf(day(`${HOURLY}\n${FIRST}\n  0.00:30 pause\n  0.05:00 success`))).toEqual([
      "down 0.06:05",
    ]);
  });

  test("a failure during a pause alerts", () => {
    expect(notificationsOf(day(`${HOURLY}\n${FIRST}\n  0.00:30 pause\n  0.05:00 fail`))).toEqual([
      "down 0.05:00",
    ]);
  });

  test("a start during a pause has a deadline", () => {
    expect(notificationsOf(day(`${HOURLY}\n${FIRST}\n  0.00:30 pause\n  0.05:00 start`))).toEqual([
      "down 0.05:05",
    ]);
  });

  test("a pause discards the run", () => {
    expect(notificationsOf(day(`${HOURLY}\n${FIRST}\n  0.00:30 start\n  0.00:31 pause`))).toEqual([]);
  });

  test("with manual resume, a paused check ignores pings until it is resumed", () => {
    const actions = "  0.00:30 pause\n  0.02:00 fail\n  0.03:00 start\n  0.04:00 resume\n  0.05:00 fail";
    expect(notificationsOf(day(`${HOURLY} manual\n${FIRST}\n${actions}`))).toEqual(["down 0.05:00"]);
  });

  test("a resumed check has no deadline before the next ping", () => {
    expect(notificationsOf(day(`${HOURLY}\n${FIRST}\n  0.00:30 pause\n  0.00:40 resume`))).toEqual([]);
  });

  test("resuming a check that is not paused has no effect", () => {
    expect(notificationsOf(day(`${HOURLY}\n${FIRST}\n  0.00:30 resume`))).toEqual(["down 0.01:05"]);
  });

  test("a deadline that passed before a pause still counts", () => {
    expect(notificationsOf(day(`${HOURLY}\n${FIRST}\n  0.01:06:30 pause`))).toEqual(["down 0.01:05"]);
  });

  test("an edit moves a future deadline", () => {
    const text = day(`${HOURLY}\n${FIRST}\n  0.00:30 edit simple 2h grace 10m`);
    expect(notificationsOf(text)).toEqual(["down 0.02:10"]);
  });

  test("an edit can move the deadline into the past; it is detected at the next turn", () => {
    const text = day(`check job simple 6h grace 1h\n${FIRST}\n  0.03:00:30 edit simple 1h grace 5m`);
    expect(notificationsOf(text)).toEqual(["down 0.01:05"]);
    expect(detectedOf(text)).toEqual(["down 0.03:01"]);
  });

  test("a deadline that passed before an edit uses the old settings", () => {
    const text = day(`${HOURLY}\n${FIRST}\n  0.01:06:30 edit simple 6h grace 1h`);
    expect(notificationsOf(text)).toEqual(["down 0.01:05"]);
  });

  test("a deleted check sends no notifications", () => {
    expect(notificationsOf(day(`${HOURLY}\n${FIRST}\n  0.00:30 delete`))).toEqual([]);
  });

  test("a deadline that was not swept before the check was deleted has no effect", () => {
    expect(notificationsOf(day(`${HOURLY}\n${FIRST}\n  0.01:05:30 delete`))).toEqual([]);
  });
});

describe("schedules", () => {
  /** Berlin changes to summer time on 29 March 2026 (2:00 to 3:00) and back on 25 October (3:00 to 2:00). */
  const berlin = (from: string, lines: string) =>
    `world from ${from}T00:00Z days 3 intakes 1 channels 1 turns 60s\n${lines}\n  0.03:00 success`;

  test("a cron job at a skipped time is expected at the end of the skipped hour", () => {
    const text = berlin("2026-03-28", 'check job cron "30 2 * * *" Europe/Berlin grace 1h');
    expect(notificationsOf(text)).toEqual(["down 1.02:00"]);
  });

  test("an interval cron job is not expected at skipped times", () => {
    const text = berlin("2026-03-28", 'check job cron "*/30 2 * * *" Europe/Berlin grace 1h');
    expect(notificationsOf(text)).toEqual(["down 2.01:00"]);
  });

  test("an OnCalendar job at a skipped time is not made up for", () => {
    const text = berlin("2026-03-28", 'check job oncalendar "02:30" Europe/Berlin grace 1h');
    expect(notificationsOf(text)).toEqual(["down 2.01:30"]);
  });

  test("a cron job at a repeated time is expected the first time only", () => {
    const text = berlin("2026-10-24", 'check job cron "30 2 * * *" Europe/Berlin grace 1h');
    expect(notificationsOf(`${text}\n  1.00:31 success`)).toEqual(["down 2.02:30"]);
  });

  test("an interval cron job is expected both times", () => {
    const text = berlin("2026-10-24", 'check job cron "*/30 2 * * *" Europe/Berlin grace 10m');
    expect(notificationsOf(`${text}\n  1.00:01 success\n  1.00:31 success`)).toEqual(["down 1.01:10"]);
  });

  test("Lord Howe skips half an hour", () => {
    const text = `world from 2026-10-03T00:00Z days 2 intakes 1 channels 1 turns 60s
check job cron "15 2 * * *" Australia/Lord_Howe grace 1h
  0.00:00 success`;
    // The clocks go from 2:00 to 2:30, which is 15:30 UTC.
    expect(notificationsOf(text)).toEqual(["down 0.16:30"]);
  });
});

describe("pings in transit (rules 9 and 10)", () => {
  /** One intake after the other is cut off, so the deadline at 1:05 cannot be decided before 1:16. */
  const CUT = "fault intake-cut 0 0.01:00:30 0.01:08\nfault intake-cut 1 0.01:08:01 0.01:16";

  test("no deadline is detected while an intake cannot record accepted pings", () => {
    const [detected] = detectedOf(day(`fault intake-cut 0 0.01:04 0.01:12\n${HOURLY}\n${FIRST}`));
    expect(detected).toBe("down 0.01:13");
  });

  test("a ping that was received in time keeps the check up, however late it is recorded", () => {
    const actions = "  0.01:04 success\n  0.02:01 success\n  0.02:30 delete";
    const text = day(`fault database-away 0.01:00 0.02:00\n${HOURLY}\n${FIRST}\n${actions}`, { intakes: 1 });
    expect(notificationsOf(text)).toEqual([]);
  });

  test("a ping that arrives before the deadline could be decided prevents the alert", () => {
    const text = day(`${CUT}\n${HOURLY}\n${FIRST}\n  0.01:07 success\n${END}`);
    expect(notificationsOf(text)).toEqual([]);
  });

  test("a failure still alerts", () => {
    const text = day(`${CUT}\n${HOURLY}\n${FIRST}\n  0.01:07 fail`);
    expect(notificationsOf(text)).toEqual(["down 0.01:07"]);
  });

  test("a start in that time does not hide the missing success", () => {
    const text = day(`${CUT}\n${HOURLY}\n${FIRST}\n  0.01:07 start`);
    expect(notificationsOf(text)).toEqual(["down 0.01:05"]);
  });

  test("a deadline long before the hold has fired", () => {
    const text = day(`fault intake-cut 0 0.01:10 0.01:18\n${HOURLY}\n${FIRST}\n  0.01:15 success\n${END}`);
    expect(notificationsOf(text)).toEqual(["down 0.01:05", "up 0.01:15"]);
  });
});

describe("settling (rule 14)", () => {
  const AWAY = "fault database-away 0.01:00 0.01:20";

  test("after a database outage, missed deadlines are reported a minute after it ends", () => {
    const text = day(`${AWAY}\n${HOURLY}\n${FIRST}`, { intakes: 1 });
    expect(notificationsOf(text)).toEqual(["down 0.01:05"]);
    expect(earliestOf(text)).toEqual(["down 0.01:21"]);
    expect(detectedOf(text)).toEqual(["down 0.01:21:04"]);
  });

  test("a ping during the outage prevents the alert", () => {
    const text = day(`${AWAY}\n${HOURLY}\n${FIRST}\n  0.01:15 success\n  0.02:00 delete`, { intakes: 1 });
    expect(notificationsOf(text)).toEqual([]);
  });

  test("so does a ping before everything has settled", () => {
    const text = day(`${AWAY}\n${HOURLY}\n${FIRST}\n  0.01:20:50 success\n  0.02:00 delete`, { intakes: 1 });
    expect(notificationsOf(text)).toEqual([]);
  });

  test("a later ping is late", () => {
    const text = day(`${AWAY}\n${HOURLY}\n${FIRST}\n  0.01:22 success\n  0.02:00 delete`, { intakes: 1 });
    expect(notificationsOf(text)).toEqual(["down 0.01:05", "up 0.01:22"]);
  });

  test("the same applies when the only intake was cut off", () => {
    const text = day(`fault intake-cut 0 0.01:00 0.01:20\n${HOURLY}\n${FIRST}`, { intakes: 1 });
    expect(earliestOf(text)).toEqual(["down 0.01:21"]);
  });

  test("no settling is needed when one of several intakes was cut off", () => {
    const text = day(`fault intake-cut 0 0.01:01 0.01:09\n${HOURLY}\n${FIRST}`);
    expect(earliestOf(text)).toEqual(["down 0.01:09"]);
  });

  test("a failure is notified immediately", () => {
    const text = day(`${AWAY}\n${HOURLY}\n${FIRST}\n  0.01:20:10 fail`, { intakes: 1 });
    expect(detectedOf(text)).toEqual(["down 0.01:20:10"]);
  });
});

describe("blind intervals (rule 16)", () => {
  /** All processes are stopped around the expected time. */
  const STOPPED = "fault all-stopped 0.00:58 0.01:02";

  test("the deadline moves to the end of the interval plus the grace period", () => {
    const text = day(`${STOPPED}\n${HOURLY}\n${FIRST}\n  0.01:07 success\n${END}`);
    expect(notificationsOf(text)).toEqual([]);
  });

  test("without a ping by then, a notice replaces the alert and the next ping is expected from there", () => {
    const text = day(`${STOPPED}\n${HOURLY}\n${FIRST}`);
    expect(notificationsOf(text)).toEqual(["notice 0.00:58 0.01:02", "down 0.02:07"]);
    expect(detectedOf(text)).toEqual(["notice 0.01:08", "down 0.02:08"]);
  });

  test("a later ping needs no correction", () => {
    const text = day(`${STOPPED}\n${HOURLY}\n${FIRST}\n  0.01:20 success\n  0.02:00 delete`);
    expect(notificationsOf(text)).toEqual(["notice 0.00:58 0.01:02"]);
  });

  test("the extension is at most an hour, whatever the grace period", () => {
    const text = day(
      "fault all-stopped 0.05:00 0.05:10\ncheck job simple 1h grace 4h\n  0.00:00 success\n  0.06:12 delete",
    );
    expect(notificationsOf(text)).toEqual(["notice 0.05:00 0.05:10"]);
  });

  test("an interval that ended before the expected time excuses nothing", () => {
    const text = day(`fault all-stopped 0.00:50 0.00:59\n${HOURLY}\n${FIRST}`);
    expect(notificationsOf(text)).toEqual(["down 0.01:05"]);
  });

  test("an interval that ends exactly at the expected time does", () => {
    const text = day(`fault all-stopped 0.00:50 0.01:00\n${HOURLY}\n${FIRST}\n  0.01:30 delete`);
    expect(notificationsOf(text)).toEqual(["notice 0.00:50 0.01:00"]);
  });

  test("an interval that begins exactly at the deadline does", () => {
    const text = day(`fault all-stopped 0.01:05 0.01:10\n${HOURLY}\n${FIRST}\n  0.01:30 delete`);
    expect(notificationsOf(text)).toEqual(["notice 0.01:05 0.01:10"]);
  });

  test("an interval that begins after the deadline does not", () => {
    const text = day(`fault all-stopped 0.01:05:30 0.01:10\n${HOURLY}\n${FIRST}\n  0.02:00 delete`);
    expect(notificationsOf(text)).toEqual(["down 0.01:05"]);
  });

  test("an interval during a run excuses and discards the run", () => {
    const text = day(`fault all-stopped 0.00:31 0.00:33\n${HOURLY}\n${FIRST}\n  0.00:30 start`);
    // The run began at 0:30; after the excuse a success is expected an hour after 0:33.
    expect(notificationsOf(text)).toEqual(["notice 0.00:31 0.00:33", "down 0.01:38"]);
  });

  test("an interval during the extension extends it again, and the notice names the last interval", () => {
    const faults = `${STOPPED}\nfault all-stopped 0.01:06 0.01:09`;
    expect(notificationsOf(day(`${faults}\n${HOURLY}\n${FIRST}\n  0.01:13 success\n${END}`))).toEqual([]);
    expect(notificationsOf(day(`${faults}\n${HOURLY}\n${FIRST}\n${END}`))).toEqual([
      "notice 0.01:06 0.01:09",
    ]);
  });

  test("an interval that begins six hours after the deadline does not extend it", () => {
    const stops = Array.from({ length: 9 }, (_, hour) => `fault all-stopped 0.0${hour}:50 0.0${hour + 1}:40`);
    const text = day(`${stops.join("\n")}\ncheck job simple 1h grace 1h\n${FIRST}`);
    // Expected at 1:00, down at 2:00. The interval that begins at 7:50 extends the deadline to 9:40. The one at
    // 8:50 no longer does; it excuses the next expected ping, that of 9:40. The last one is that of 10:40.
    expect(notificationsOf(text)).toEqual([
      "notice 0.07:50 0.08:40",
      "notice 0.08:50 0.09:40",
      "down 0.11:40",
    ]);
  });

  test("a failure during the extension alerts", () => {
    expect(notificationsOf(day(`${STOPPED}\n${HOURLY}\n${FIRST}\n  0.01:06 fail`))).toEqual(["down 0.01:06"]);
  });

  test("one refusing intake makes an interval blind", () => {
    const text = day(`fault refusing 0 0.00:58 0.01:02\n${HOURLY}\n${FIRST}\n  0.01:30 delete`);
    expect(notificationsOf(text)).toEqual(["notice 0.00:58 0.01:02"]);
  });

  test("a database outage is not blind while a spool accepts everything", () => {
    const text = day(`fault database-away 0.00:50 0.01:20\n${HOURLY}\n${FIRST}`, { intakes: 1 });
    expect(notificationsOf(text)).toEqual(["down 0.01:05"]);
  });

  test("several intakes stop acknowledging before their leases end, and the rest is blind", () => {
    const text = day(`fault database-away 0.00:50 0.01:20\n${HOURLY}\n${FIRST}\n  0.02:00 delete`);
    expect(notificationsOf(text)).toEqual(["notice 0.00:59:30 0.01:20"]);
  });

  test("a forward clock step is a blind interval", () => {
    const text = day(`fault clock-step 0.00:59 120000ms\n${HOURLY}\n${FIRST}\n  0.01:30 delete`);
    expect(notificationsOf(text)).toEqual(["notice 0.00:59 0.01:01"]);
  });

  test("a backward clock step causes no false alert", () => {
    const text = day(`fault clock-step 0.00:30 -120000ms\n${HOURLY}\n${FIRST}`);
    expect(notificationsOf(text)).toEqual(["down 0.01:05"]);
    // It takes two more minutes until the database clock shows that time.
    expect(detectedOf(text)).toEqual(["down 0.01:08"]);
  });
});

describe("the sweeper (rule 17)", () => {
  test("a late sweep detects the flip later, with the same date", () => {
    const text = day(`fault sweeper-down 0.01:00 0.01:30\n${HOURLY}\n${FIRST}`);
    expect(notificationsOf(text)).toEqual(["down 0.01:05"]);
    expect(detectedOf(text)).toEqual(["down 0.01:30"]);
  });

  test("a ping before the sweep fires the deadline", () => {
    const text = day(
      `fault sweeper-down 0.01:00 0.01:30\n${HOURLY}\n${FIRST}\n  0.01:20 success\n  0.02:00 delete`,
    );
    expect(notificationsOf(text)).toEqual(["down 0.01:05", "up 0.01:20"]);
    expect(detectedOf(text)).toEqual(["down 0.01:20", "up 0.01:20"]);
  });

  test("so does an edit", () => {
    const text = day(
      `fault sweeper-down 0.01:00 0.01:30\n${HOURLY}\n${FIRST}\n  0.01:20 edit simple 6h grace 1h`,
    );
    expect(notificationsOf(text)).toEqual(["down 0.01:05"]);
  });

  test("but not a deletion", () => {
    const text = day(`fault sweeper-down 0.01:00 0.01:30\n${HOURLY}\n${FIRST}\n  0.01:20 delete`);
    expect(notificationsOf(text)).toEqual([]);
  });

  test("a sweeper that starts before the intakes reports nothing", () => {
    const text = day(
      `fault all-stopped 0.01:01 0.01:31 sweeper-first\n${HOURLY}\n${FIRST}\n  0.01:40 delete`,
    );
    expect(earliestOf(text)).toEqual(["notice 0.01:37"]);
  });
});
