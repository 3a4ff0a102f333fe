// The model against worlds that were computed by hand. Each of them is small enough to be followed with a finger.
import { describe, expect, test } from "vitest";
import { earliestOf, detectedOf, notificationsOf } from "./notifications.ts";

/** A day with a turn each minute; deadlines are then known at the next full minute. */
function day(lines: string, { intakes = 2, days = 1 }: { intakes?: number; days?: number } = {}): string {
  return `world from 2026-11-16T00:00Z days ${days} intakes ${intakes} channels 1 turns 60s\n${lines}`;
}

/** Expected each hour, down five minutes later. */
const HOURLY = "check job simple 1h grace 5m";
/** Its first success, after which it is expected at 1:00 and down at 1:05. */
const FIRST = "  0.00:00 success";
/** Nothing more is to be said about the rest of the day. */
const END = "  0.01:30 delete";

describe("silence", () => {
  test("a job that comes in time is nobody's business", () => {
    expect(notificationsOf(day(`${HOURLY}\n${FIRST}\n  0.01:00 success\n${END}`))).toEqual([]);
  });

  test("a job that does not come is down, dated at the deadline", () => {
    expect(notificationsOf(day(`${HOURLY}\n${FIRST}`))).toEqual(["down 0.01:05"]);
  });

  test("it is known at the first turn after the deadline has surely been seen", () => {
    expect(detectedOf(day(`${HOURLY}\n${FIRST}`))).toEqual(["down 0.01:06"]);
  });

  test("a signal at the very deadline is in time", () => {
    expect(notificationsOf(day(`${HOURLY}\n${FIRST}\n  0.01:05 success\n${END}`))).toEqual([]);
  });

  test("a signal well after it comes too late, and brings the check up again", () => {
    const text = day(`${HOURLY}\n${FIRST}\n  0.01:05:10 success\n${END}`);
    expect(notificationsOf(text)).toEqual(["down 0.01:05", "up 0.01:05:10"]);
  });

  test("a signal in the seconds after it may find the deadline noticed or not", () => {
    const text = day(`${HOURLY}\n${FIRST}\n  0.01:05:01 success\n${END}`);
    expect(notificationsOf(text, () => true)).toEqual(["down 0.01:05", "up 0.01:05:01"]);
    expect(notificationsOf(text, () => false)).toEqual([]);
  });

  test("a check that was never heard of is not awaited", () => {
    expect(notificationsOf(day(HOURLY))).toEqual([]);
  });

  test("down is told once, however long it lasts", () => {
    expect(notificationsOf(day(`${HOURLY}\n${FIRST}`, { days: 3 }))).toEqual(["down 0.01:05"]);
  });
});

describe("signals", () => {
  test("a failure is down at once, and a success is up again", () => {
    const text = day(`${HOURLY}\n${FIRST}\n  0.00:10 fail\n  0.00:20 success\n  0.00:30 delete`);
    expect(notificationsOf(text)).toEqual(["down 0.00:10", "up 0.00:20"]);
  });

  test("a first signal that is a failure is told", () => {
    expect(notificationsOf(day(`${HOURLY}\n  0.00:10 fail`))).toEqual(["down 0.00:10"]);
  });

  test("a second failure says nothing new, and silence after it neither", () => {
    expect(notificationsOf(day(`${HOURLY}\n  0.00:10 fail\n  0.00:20 fail`))).toEqual(["down 0.00:10"]);
  });

  test("a log line does nothing, before a deadline and after it", () => {
    const text = day(`${HOURLY}\n${FIRST}\n  0.00:59 log\n  0.01:06:30 log`);
    expect(notificationsOf(text)).toEqual(["down 0.01:05"]);
  });

  test("a start without an end is down after grace", () => {
    expect(notificationsOf(day(`${HOURLY}\n${FIRST}\n  0.00:30 start`))).toEqual(["down 0.00:35"]);
  });

  test("a start of a check that was never heard of is awaited as well", () => {
    expect(notificationsOf(day(`${HOURLY}\n  0.00:30 start`))).toEqual(["down 0.00:35"]);
  });

  test("a run that ends within grace is fine, and expectation goes on from its end", () => {
    const text = day(`${HOURLY}\n${FIRST}\n  0.00:30 start\n  0.00:34 success`);
    expect(notificationsOf(text)).toEqual(["down 0.01:39"]);
  });

  test("of several starts the newest counts", () => {
    expect(notificationsOf(day(`${HOURLY}\n${FIRST}\n  0.00:30 start\n  0.00:33 start`))).toEqual([
      "down 0.00:38",
    ]);
  });

  test("a start after the expected time does not answer for the success that is missing", () => {
    const text = day(`${HOURLY}\n${FIRST}\n  0.01:04 start`);
    expect(notificationsOf(text)).toEqual(["down 0.01:05"]);
  });

  test("a success that names another run leaves this one running", () => {
    const text = day(`${HOURLY}\n${FIRST}\n  0.00:30 start rid=a\n  0.00:32 success rid=b`);
    expect(notificationsOf(text)).toEqual(["down 0.00:35"]);
  });

  test("a success that names none ends whatever runs", () => {
    const text = day(`${HOURLY}\n${FIRST}\n  0.00:30 start rid=a\n  0.00:32 success\n  0.00:40 delete`);
    expect(notificationsOf(text)).toEqual([]);
  });

  test("a failure ends whatever runs, whoever it names", () => {
    const text = day(
      `${HOURLY}\n${FIRST}\n  0.00:30 start rid=a\n  0.00:31 fail rid=b\n  0.00:32 success rid=c\n  0.00:40 delete`,
    );
    expect(notificationsOf(text)).toEqual(["down 0.00:31", "up 0.00:32"]);
  });
});

describe("owners", () => {
  test("a paused check is not awaited, and a success ends the pause without a word", () => {
    const text = day(`${HOURLY}\n${FIRST}\n  0.00:30 pause\n  0.05:00 success\n  0.05:30 delete`);
    expect(notificationsOf(text)).toEqual([]);
  });

  test("after that it is awaited again", () => {
    expect(notificationsOf(day(`${HOURLY}\n${FIRST}\n  0.00:30 pause\n  0.05:00 success`))).toEqual([
      "down 0.06:05",
    ]);
  });

  test("a failure during a pause alerts", () => {
    expect(notificationsOf(day(`${HOURLY}\n${FIRST}\n  0.00:30 pause\n  0.05:00 fail`))).toEqual([
      "down 0.05:00",
    ]);
  });

  test("a start during a pause is awaited", () => {
    expect(notificationsOf(day(`${HOURLY}\n${FIRST}\n  0.00:30 pause\n  0.05:00 start`))).toEqual([
      "down 0.05:05",
    ]);
  });

  test("a pause forgets the run", () => {
    expect(notificationsOf(day(`${HOURLY}\n${FIRST}\n  0.00:30 start\n  0.00:31 pause`))).toEqual([]);
  });

  test("with manual resume a paused check hears nothing until it is resumed", () => {
    const actions = "  0.00:30 pause\n  0.02:00 fail\n  0.03:00 start\n  0.04:00 resume\n  0.05:00 fail";
    expect(notificationsOf(day(`${HOURLY} manual\n${FIRST}\n${actions}`))).toEqual(["down 0.05:00"]);
  });

  test("a resumed check is as new: nothing is awaited before the next signal", () => {
    expect(notificationsOf(day(`${HOURLY}\n${FIRST}\n  0.00:30 pause\n  0.00:40 resume`))).toEqual([]);
  });

  test("a resume of what is not paused has never been", () => {
    expect(notificationsOf(day(`${HOURLY}\n${FIRST}\n  0.00:30 resume`))).toEqual(["down 0.01:05"]);
  });

  test("a deadline that passed before a pause still counts", () => {
    expect(notificationsOf(day(`${HOURLY}\n${FIRST}\n  0.01:06:30 pause`))).toEqual(["down 0.01:05"]);
  });

  test("an edit moves the deadline that is ahead", () => {
    const text = day(`${HOURLY}\n${FIRST}\n  0.00:30 edit simple 2h grace 10m`);
    expect(notificationsOf(text)).toEqual(["down 0.02:10"]);
  });

  test("an edit may move it into the past, and then it is known at the next turn", () => {
    const text = day(`check job simple 6h grace 1h\n${FIRST}\n  0.03:00:30 edit simple 1h grace 5m`);
    expect(notificationsOf(text)).toEqual(["down 0.01:05"]);
    expect(detectedOf(text)).toEqual(["down 0.03:01"]);
  });

  test("a deadline that passed before an edit counts by the old settings", () => {
    const text = day(`${HOURLY}\n${FIRST}\n  0.01:06:30 edit simple 6h grace 1h`);
    expect(notificationsOf(text)).toEqual(["down 0.01:05"]);
  });

  test("of a deleted check nothing more is told", () => {
    expect(notificationsOf(day(`${HOURLY}\n${FIRST}\n  0.00:30 delete`))).toEqual([]);
  });

  test("a deadline that nobody had looked at when the check was deleted is gone with it", () => {
    expect(notificationsOf(day(`${HOURLY}\n${FIRST}\n  0.01:05:30 delete`))).toEqual([]);
  });
});

describe("schedules", () => {
  /** The clocks in Berlin go forward on 29 March 2026, from 2 to 3, and back on 25 October, from 3 to 2. */
  const berlin = (from: string, lines: string) =>
    `world from ${from}T00:00Z days 3 intakes 1 channels 1 turns 60s\n${lines}\n  0.03:00 success`;

  test("a cron job at a skipped time is expected when the gap is over", () => {
    const text = berlin("2026-03-28", 'check job cron "30 2 * * *" Europe/Berlin grace 1h');
    expect(notificationsOf(text)).toEqual(["down 1.02:00"]);
  });

  test("a cron job by interval is not expected at skipped times at all", () => {
    const text = berlin("2026-03-28", 'check job cron "*/30 2 * * *" Europe/Berlin grace 1h');
    expect(notificationsOf(text)).toEqual(["down 2.01:00"]);
  });

  test("an OnCalendar job at a skipped time is not caught up", () => {
    const text = berlin("2026-03-28", 'check job oncalendar "02:30" Europe/Berlin grace 1h');
    expect(notificationsOf(text)).toEqual(["down 2.01:30"]);
  });

  test("a cron job at a repeated time is expected the first time only", () => {
    const text = berlin("2026-10-24", 'check job cron "30 2 * * *" Europe/Berlin grace 1h');
    expect(notificationsOf(`${text}\n  1.00:31 success`)).toEqual(["down 2.02:30"]);
  });

  test("a cron job by interval is expected both times", () => {
    const text = berlin("2026-10-24", 'check job cron "*/30 2 * * *" Europe/Berlin grace 10m');
    expect(notificationsOf(`${text}\n  1.00:01 success\n  1.00:31 success`)).toEqual(["down 1.01:10"]);
  });

  test("half an hour is skipped on Lord Howe", () => {
    const text = `world from 2026-10-03T00:00Z days 2 intakes 1 channels 1 turns 60s
check job cron "15 2 * * *" Australia/Lord_Howe grace 1h
  0.00:00 success`;
    // The clocks go from 2:00 to 2:30, which is 15:30 UTC.
    expect(notificationsOf(text)).toEqual(["down 0.16:30"]);
  });
});

describe("what is still in transit (rules 9 and 10)", () => {
  /** Check 0 is taken by this intake at one o'clock; the other one is free. */
  const CUT = "fault intake-cut 0 0.01:00:30 0.01:08\nfault intake-cut 1 0.01:08:01 0.01:16";

  test("no deadline is known while an intake cannot record what it accepted", () => {
    const [known] = detectedOf(day(`fault intake-cut 0 0.01:04 0.01:12\n${HOURLY}\n${FIRST}`));
    expect(known).toBe("down 0.01:13");
  });

  test("a signal that was received in time keeps the check up, however late it is applied", () => {
    const actions = "  0.01:04 success\n  0.02:01 success\n  0.02:30 delete";
    const text = day(`fault database-away 0.01:00 0.02:00\n${HOURLY}\n${FIRST}\n${actions}`, { intakes: 1 });
    expect(notificationsOf(text)).toEqual([]);
  });

  test("a job that comes back before its deadline could be judged is let off", () => {
    const text = day(`${CUT}\n${HOURLY}\n${FIRST}\n  0.01:07 success\n${END}`);
    expect(notificationsOf(text)).toEqual([]);
  });

  test("a failure alerts all the same", () => {
    const text = day(`${CUT}\n${HOURLY}\n${FIRST}\n  0.01:07 fail`);
    expect(notificationsOf(text)).toEqual(["down 0.01:07"]);
  });

  test("a start that comes meanwhile does not hide the missing success", () => {
    const text = day(`${CUT}\n${HOURLY}\n${FIRST}\n  0.01:07 start`);
    expect(notificationsOf(text)).toEqual(["down 0.01:05"]);
  });

  test("a deadline long before the hold has been judged", () => {
    const text = day(`fault intake-cut 0 0.01:10 0.01:18\n${HOURLY}\n${FIRST}\n  0.01:15 success\n${END}`);
    expect(notificationsOf(text)).toEqual(["down 0.01:05", "up 0.01:15"]);
  });
});

describe("settling (rule 14)", () => {
  const AWAY = "fault database-away 0.01:00 0.01:20";

  test("after the database was away, silence is believed a minute after it is back", () => {
    const text = day(`${AWAY}\n${HOURLY}\n${FIRST}`, { intakes: 1 });
    expect(notificationsOf(text)).toEqual(["down 0.01:05"]);
    expect(earliestOf(text)).toEqual(["down 0.01:21"]);
    expect(detectedOf(text)).toEqual(["down 0.01:21:04"]);
  });

  test("whoever has come back while it was away is let off", () => {
    const text = day(`${AWAY}\n${HOURLY}\n${FIRST}\n  0.01:15 success\n  0.02:00 delete`, { intakes: 1 });
    expect(notificationsOf(text)).toEqual([]);
  });

  test("so is whoever comes back before all is settled", () => {
    const text = day(`${AWAY}\n${HOURLY}\n${FIRST}\n  0.01:20:50 success\n  0.02:00 delete`, { intakes: 1 });
    expect(notificationsOf(text)).toEqual([]);
  });

  test("whoever comes later was too late", () => {
    const text = day(`${AWAY}\n${HOURLY}\n${FIRST}\n  0.01:22 success\n  0.02:00 delete`, { intakes: 1 });
    expect(notificationsOf(text)).toEqual(["down 0.01:05", "up 0.01:22"]);
  });

  test("when the only intake was cut off it is the same", () => {
    const text = day(`fault intake-cut 0 0.01:00 0.01:20\n${HOURLY}\n${FIRST}`, { intakes: 1 });
    expect(earliestOf(text)).toEqual(["down 0.01:21"]);
  });

  test("when one of several was, nobody has to settle", () => {
    const text = day(`fault intake-cut 0 0.01:01 0.01:09\n${HOURLY}\n${FIRST}`);
    expect(earliestOf(text)).toEqual(["down 0.01:09"]);
  });

  test("a failure is told at once", () => {
    const text = day(`${AWAY}\n${HOURLY}\n${FIRST}\n  0.01:20:10 fail`, { intakes: 1 });
    expect(detectedOf(text)).toEqual(["down 0.01:20:10"]);
  });
});

describe("blindness (rule 16)", () => {
  /** Everything is stopped around the expected time. */
  const STOPPED = "fault all-stopped 0.00:58 0.01:02";

  test("a job has until the end of the blindness plus grace", () => {
    const text = day(`${STOPPED}\n${HOURLY}\n${FIRST}\n  0.01:07 success\n${END}`);
    expect(notificationsOf(text)).toEqual([]);
  });

  test("if nothing has come by then there is a notice and no alarm, and expectation starts anew", () => {
    const text = day(`${STOPPED}\n${HOURLY}\n${FIRST}`);
    expect(notificationsOf(text)).toEqual(["notice 0.00:58 0.01:02", "down 0.02:07"]);
    expect(detectedOf(text)).toEqual(["notice 0.01:08", "down 0.02:08"]);
  });

  test("whoever comes after that was excused, and nothing is retracted", () => {
    const text = day(`${STOPPED}\n${HOURLY}\n${FIRST}\n  0.01:20 success\n  0.02:00 delete`);
    expect(notificationsOf(text)).toEqual(["notice 0.00:58 0.01:02"]);
  });

  test("retries get an hour at most, whatever the grace", () => {
    const text = day(
      "fault all-stopped 0.05:00 0.05:10\ncheck job simple 1h grace 4h\n  0.00:00 success\n  0.06:12 delete",
    );
    expect(notificationsOf(text)).toEqual(["notice 0.05:00 0.05:10"]);
  });

  test("blindness that was over before the expected time excuses nothing", () => {
    const text = day(`fault all-stopped 0.00:50 0.00:59\n${HOURLY}\n${FIRST}`);
    expect(notificationsOf(text)).toEqual(["down 0.01:05"]);
  });

  test("blindness that ends at the very expected time does", () => {
    const text = day(`fault all-stopped 0.00:50 0.01:00\n${HOURLY}\n${FIRST}\n  0.01:30 delete`);
    expect(notificationsOf(text)).toEqual(["notice 0.00:50 0.01:00"]);
  });

  test("blindness that begins at the very deadline does", () => {
    const text = day(`fault all-stopped 0.01:05 0.01:10\n${HOURLY}\n${FIRST}\n  0.01:30 delete`);
    expect(notificationsOf(text)).toEqual(["notice 0.01:05 0.01:10"]);
  });

  test("blindness that begins after the deadline does not", () => {
    const text = day(`fault all-stopped 0.01:05:30 0.01:10\n${HOURLY}\n${FIRST}\n  0.02:00 delete`);
    expect(notificationsOf(text)).toEqual(["down 0.01:05"]);
  });

  test("blindness during a run excuses it, and the run is forgotten", () => {
    const text = day(`fault all-stopped 0.00:31 0.00:33\n${HOURLY}\n${FIRST}\n  0.00:30 start`);
    // The run began at 0:30; after the excuse a success is expected an hour after 0:33.
    expect(notificationsOf(text)).toEqual(["notice 0.00:31 0.00:33", "down 0.01:38"]);
  });

  test("blindness during the retries gives more time for them, and the notice names the last one", () => {
    const faults = `${STOPPED}\nfault all-stopped 0.01:06 0.01:09`;
    expect(notificationsOf(day(`${faults}\n${HOURLY}\n${FIRST}\n  0.01:13 success\n${END}`))).toEqual([]);
    expect(notificationsOf(day(`${faults}\n${HOURLY}\n${FIRST}\n${END}`))).toEqual([
      "notice 0.01:06 0.01:09",
    ]);
  });

  test("but not for ever: what begins six hours after the deadline moves it no further", () => {
    const stops = Array.from({ length: 9 }, (_, hour) => `fault all-stopped 0.0${hour}:50 0.0${hour + 1}:40`);
    const text = day(`${stops.join("\n")}\ncheck job simple 1h grace 1h\n${FIRST}`);
    // Due at 1:00, down at 2:00. The one that begins at 7:50 gives time until 9:40, the one at 8:50 none any more;
    // it excuses the next expectation, which is that of 9:40. The last one is that of 10:40.
    expect(notificationsOf(text)).toEqual([
      "notice 0.07:50 0.08:40",
      "notice 0.08:50 0.09:40",
      "down 0.11:40",
    ]);
  });

  test("a failure during the retries alerts", () => {
    expect(notificationsOf(day(`${STOPPED}\n${HOURLY}\n${FIRST}\n  0.01:06 fail`))).toEqual(["down 0.01:06"]);
  });

  test("one intake that refuses is enough", () => {
    const text = day(`fault refusing 0 0.00:58 0.01:02\n${HOURLY}\n${FIRST}\n  0.01:30 delete`);
    expect(notificationsOf(text)).toEqual(["notice 0.00:58 0.01:02"]);
  });

  test("the database being away is not blind while a spool takes everything", () => {
    const text = day(`fault database-away 0.00:50 0.01:20\n${HOURLY}\n${FIRST}`, { intakes: 1 });
    expect(notificationsOf(text)).toEqual(["down 0.01:05"]);
  });

  test("several intakes stop promising before their leases end, and the rest of that time is blind", () => {
    const text = day(`fault database-away 0.00:50 0.01:20\n${HOURLY}\n${FIRST}\n  0.02:00 delete`);
    expect(notificationsOf(text)).toEqual(["notice 0.00:59:30 0.01:20"]);
  });

  test("a clock that jumps ahead leaves a time that nobody lived through", () => {
    const text = day(`fault clock-step 0.00:59 120000ms\n${HOURLY}\n${FIRST}\n  0.01:30 delete`);
    expect(notificationsOf(text)).toEqual(["notice 0.00:59 0.01:01"]);
  });

  test("a clock that is set back makes nobody late", () => {
    const text = day(`fault clock-step 0.00:30 -120000ms\n${HOURLY}\n${FIRST}`);
    expect(notificationsOf(text)).toEqual(["down 0.01:05"]);
    // Two minutes more go by until the database's clock shows that time.
    expect(detectedOf(text)).toEqual(["down 0.01:08"]);
  });
});

describe("the sweeper (rule 17)", () => {
  test("when it is late the flip is known later, and dated the same", () => {
    const text = day(`fault sweeper-down 0.01:00 0.01:30\n${HOURLY}\n${FIRST}`);
    expect(notificationsOf(text)).toEqual(["down 0.01:05"]);
    expect(detectedOf(text)).toEqual(["down 0.01:30"]);
  });

  test("a job that comes meanwhile lets the deadline fire itself", () => {
    const text = day(
      `fault sweeper-down 0.01:00 0.01:30\n${HOURLY}\n${FIRST}\n  0.01:20 success\n  0.02:00 delete`,
    );
    expect(notificationsOf(text)).toEqual(["down 0.01:05", "up 0.01:20"]);
    expect(detectedOf(text)).toEqual(["down 0.01:20", "up 0.01:20"]);
  });

  test("so does an owner who edits the check", () => {
    const text = day(
      `fault sweeper-down 0.01:00 0.01:30\n${HOURLY}\n${FIRST}\n  0.01:20 edit simple 6h grace 1h`,
    );
    expect(notificationsOf(text)).toEqual(["down 0.01:05"]);
  });

  test("but not one who deletes it", () => {
    const text = day(`fault sweeper-down 0.01:00 0.01:30\n${HOURLY}\n${FIRST}\n  0.01:20 delete`);
    expect(notificationsOf(text)).toEqual([]);
  });

  test("started before anybody listens, it has nothing to report", () => {
    const text = day(
      `fault all-stopped 0.01:01 0.01:31 sweeper-first\n${HOURLY}\n${FIRST}\n  0.01:40 delete`,
    );
    expect(earliestOf(text)).toEqual(["notice 0.01:37"]);
  });
});
