import { describe, expect, test } from "vitest";
import { Comparison, type GivenUp, type Received, type Tally } from "./comparison.ts";
import { type HasFired, Verdicts } from "./verdicts.ts";
import { readWorld } from "./world/text.ts";

const FROM = Date.parse("2026-11-16T00:00Z");
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** The world below owes channel 0 a down at 1:05, which is detected at 1:06. */
const DOWN = { at: FROM + HOUR_MS + 5 * MINUTE_MS, to: "down" as const };
const UP = { at: FROM + 2 * HOUR_MS, to: "up" as const };

const JOB = "check job simple 1h grace 5m\n  0.00:00 success";

function after(minutes: number): number {
  return FROM + HOUR_MS + minutes * MINUTE_MS;
}

function notified(
  trueAt: number,
  flips = [DOWN] as readonly { at: number; to: "up" | "down" }[],
  channel = 0,
): Received {
  return { channel, trueAt, about: "flips", check: 0, flips };
}

function countsOf(
  lines: string,
  { received = [], givenUp = [], hasFired = () => false }: Given = {},
): Partial<Tally> {
  const world = readWorld(`world from 2026-11-16T00:00Z days 2 intakes 2 channels 2 turns 60s\n${lines}`);
  const verdicts = new Verdicts(world);
  const comparison = new Comparison(verdicts);
  const { channels, notify, parents } = world.check(0);
  // In these worlds, the second check is the only parent.
  const related = parents.map(() => {
    const { channels: ofParent, notify: rules } = world.check(1);
    const { isTroubledAt } = verdicts.of(1, hasFired);
    return { isTroubledAt, hasChannels: ofParent.length > 0, notify: rules };
  });
  const verdict = verdicts.of(0, hasFired);
  comparison.addCheck({ index: 0, channels, notify, parents: related, verdict, received, givenUp });
  comparison.conclude(received);
  return Object.fromEntries(Object.entries(comparison.tally).filter(([, count]) => count !== 0));
}

type Given = { received?: readonly Received[]; givenUp?: readonly GivenUp[]; hasFired?: HasFired };

describe("an owed message", () => {
  test("that arrived in time is delivered", () => {
    expect(countsOf(JOB, { received: [notified(after(6))] })).toEqual({ owed: 1, delivered: 1 });
  });

  test("that never arrived is missed", () => {
    expect(countsOf(JOB)).toEqual({ owed: 1, missed: 1 });
  });

  test("is owed to each channel, and missed where it did not arrive", () => {
    const lines = JOB.replace("grace 5m", "grace 5m channels 0,1");
    expect(countsOf(lines, { received: [notified(after(6))] })).toEqual({ owed: 2, delivered: 1, missed: 1 });
  });

  test("that arrived two minutes after it could is in time, and late after that", () => {
    expect(countsOf(JOB, { received: [notified(after(8))] })).toEqual({ owed: 1, delivered: 1 });
    expect(countsOf(JOB, { received: [notified(after(9))] })).toEqual({ owed: 1, delivered: 1, late: 1 });
  });

  test("that arrived twice under different keys is duplicated", () => {
    const received = [notified(after(6)), notified(after(7))];
    expect(countsOf(JOB, { received })).toEqual({ owed: 1, delivered: 1, duplicated: 1 });
  });

  test("may be combined with the next one", () => {
    const later = ["0.02:00", "0.02:45", "0.03:30", "0.04:15"].map((time) => `  ${time} success`);
    const lines = `fault receiver-failing 0 0.01:00 0.02:30\n${JOB}\n${later.join("\n")}\n  0.05:00 delete`;
    const received = [notified(after(92), [DOWN, UP])];
    expect(countsOf(lines, { received })).toEqual({ owed: 2, delivered: 2 });
  });

  test("that was blocked by a receiver may take twice as long", () => {
    const lines = `fault receiver-failing 0 0.01:00 0.01:36\n${JOB}`;
    // Detected at 1:06, possible at 1:36: half an hour more, and two minutes.
    expect(countsOf(lines, { received: [notified(after(68))] })).toEqual({ owed: 1, delivered: 1 });
    expect(countsOf(lines, { received: [notified(after(69))] })).toEqual({ owed: 1, delivered: 1, late: 1 });
  });

  test("that was blocked by the notifier may take twice as long", () => {
    const lines = `fault notifier-down 0.01:00 0.01:36\n${JOB}`;
    expect(countsOf(lines, { received: [notified(after(68))] })).toEqual({ owed: 1, delivered: 1 });
  });

  test("to a receiver that is gone is dead", () => {
    expect(countsOf(`fault receiver-gone 0 0.00:30\n${JOB}`)).toEqual({ dead: 1 });
  });

  test("that was given up after hours of refusals is dead", () => {
    const lines = `fault receiver-failing 0 0.01:00 1.01:00\n${JOB}`;
    const givenUp = [{ check: 0, channel: 0, ...DOWN }];
    expect(countsOf(lines, { givenUp })).toEqual({ owed: 1, dead: 1 });
  });

  test("that was given up after minutes of refusals is missed", () => {
    const lines = `fault receiver-failing 0 0.01:00 0.01:30\n${JOB}`;
    const givenUp = [{ check: 0, channel: 0, ...DOWN }];
    expect(countsOf(lines, { givenUp })).toEqual({ owed: 1, missed: 1 });
  });

  test("that was given up without a single refusal is missed", () => {
    expect(countsOf(JOB, { givenUp: [{ check: 0, channel: 0, ...DOWN }] })).toEqual({ owed: 1, missed: 1 });
  });

  test("of a check that was deleted before it was late is optional", () => {
    const lines = `${JOB}\n  0.01:07 delete`;
    expect(countsOf(lines)).toEqual({});
    expect(countsOf(lines, { received: [notified(after(6))] })).toEqual({});
  });
});

describe("a message that was not owed", () => {
  test("is false", () => {
    const received = [notified(after(6)), notified(after(7), [{ at: after(7), to: "up" }])];
    expect(countsOf(JOB, { received })).toEqual({ owed: 1, delivered: 1, false: 1 });
  });

  test("is false when its date differs", () => {
    const received = [notified(after(6), [{ at: DOWN.at + 1, to: "down" }])];
    expect(countsOf(JOB, { received })).toEqual({ owed: 1, missed: 1, false: 1 });
  });

  test("is false when it was sent before the flip could be detected", () => {
    const lines = `fault intake-cut 0 0.01:01 0.01:09\n${JOB}`;
    expect(countsOf(lines, { received: [notified(after(7))] })).toEqual({ owed: 1, delivered: 1, false: 1 });
  });

  test("is false when it was sent to another channel", () => {
    const received = [notified(after(6)), notified(after(6), [DOWN], 1)];
    expect(countsOf(JOB, { received })).toEqual({ owed: 1, delivered: 1, false: 1 });
  });

  test("is optional in the seconds in which a deadline may or may not have been detected", () => {
    const lines = `${JOB}\n  0.01:05:01 success\n  0.01:30 delete`;
    const up = { at: after(5) + 1_000, to: "up" as const };
    const received = [notified(after(6), [DOWN, up])];
    expect(countsOf(lines)).toEqual({ doubtful: 1 });
    expect(countsOf(lines, { received, hasFired: () => true })).toEqual({
      owed: 2,
      delivered: 2,
      doubtful: 1,
    });
  });
});

describe("a notice", () => {
  const LINES = `fault all-stopped 0.00:58 0.01:02\n${JOB}\n  0.01:20 success\n  0.02:00 delete`;
  const blind = { from: after(-2), to: after(2) };
  const notice = (trueAt: number): Received => ({ channel: 0, trueAt, about: "notice", blind });

  test("is owed once per channel and blind interval", () => {
    expect(countsOf(LINES, { received: [notice(after(10))] })).toEqual({ owed: 1, delivered: 1, notices: 1 });
    expect(countsOf(LINES)).toEqual({ owed: 1, missed: 1, notices: 1 });
  });

  test("may wait a minute for other checks, but not much longer", () => {
    // Detected at 1:08, combined until 1:09, and two minutes.
    expect(countsOf(LINES, { received: [notice(after(11))] })).toEqual({ owed: 1, delivered: 1, notices: 1 });
    const counts = countsOf(LINES, { received: [notice(after(12))] });
    expect(counts).toEqual({ owed: 1, delivered: 1, late: 1, notices: 1 });
  });

  test("is duplicated when it is received twice", () => {
    const counts = countsOf(LINES, { received: [notice(after(10)), notice(after(11))] });
    expect(counts).toEqual({ owed: 1, delivered: 1, duplicated: 1, notices: 1 });
  });

  test("is false when no ping was expected", () => {
    const lines = "fault all-stopped 0.00:58 0.01:02\ncheck job simple 1h grace 5m";
    expect(countsOf(lines, { received: [notice(after(10))] })).toEqual({ false: 1 });
  });

  test("does not justify the alert that it replaces", () => {
    const counts = countsOf(LINES, { received: [notice(after(10)), notified(after(8))] });
    expect(counts).toEqual({ owed: 1, delivered: 1, false: 1, notices: 1 });
  });
});

describe("a silence", () => {
  const BEFORE = "silence 0 all at 0.00:30 from 0.01:00 until 0.02:00 hold 10m";
  const END = "  0.02:30 delete";
  const up = { at: after(30), to: "up" as const };
  const RECOVERED = "  0.01:30 success";

  test("withholds a message until it ends, plus the time for the next run and a minute", () => {
    const lines = `${BEFORE}\n${JOB}`;
    expect(countsOf(lines, { received: [notified(after(60))] })).toEqual({ owed: 1, delivered: 1 });
    expect(countsOf(lines, { received: [notified(after(73))] })).toEqual({ owed: 1, delivered: 1 });
    expect(countsOf(lines, { received: [notified(after(74))] })).toEqual({ owed: 1, delivered: 1, late: 1 });
    expect(countsOf(lines)).toEqual({ owed: 1, missed: 1 });
  });

  test("makes a message false that was sent during it", () => {
    const lines = `${BEFORE}\n${JOB}`;
    expect(countsOf(lines, { received: [notified(after(6))] })).toEqual({ owed: 1, delivered: 1, false: 1 });
  });

  test("drops a problem that is over before it ends, together with the recovery", () => {
    const lines = `${BEFORE}\n${JOB}\n${RECOVERED}\n  0.02:20 pause`;
    expect(countsOf(lines)).toEqual({ dropped: 1 });
    expect(countsOf(lines, { received: [notified(after(61), [DOWN, up])] })).toMatchObject({
      dropped: 1,
      false: 1,
    });
    expect(countsOf(lines, { received: [notified(after(31), [up])] })).toEqual({ dropped: 1, false: 1 });
  });

  test("drops it also if the check is deleted later", () => {
    expect(countsOf(`${BEFORE}\n${JOB}\n${RECOVERED}\n  0.02:20 pause\n  0.20:00 delete`)).toEqual({
      dropped: 1,
    });
    const later = RECOVERED.replace("0.01:30", "0.02:05");
    expect(countsOf(`${BEFORE}\n${JOB}\n${later}\n  0.02:20 pause\n  0.20:00 delete`)).toEqual({});
  });

  test("does not withhold the recovery of a problem that was notified before", () => {
    const lines = `silence 0 all at 0.01:10 from 0.01:10 until 0.02:00\n${JOB}\n${RECOVERED}\n  0.02:20 pause`;
    const down = notified(after(6));
    expect(countsOf(lines, { received: [down] })).toEqual({ owed: 2, delivered: 1, lost: 1 });
    expect(countsOf(lines, { received: [down, notified(after(30), [up])] })).toEqual({
      owed: 2,
      delivered: 2,
    });
  });

  test("withholds a message that waits for its next attempt when it begins", () => {
    const silence = "silence 0 all at 0.00:30 from 0.01:50 until 0.03:00";
    const lines = `fault receiver-failing 0 0.01:00 0.01:36\n${silence}\n${JOB}`;
    expect(countsOf(lines, { received: [notified(after(49))] })).toEqual({ owed: 1, delivered: 1 });
    expect(countsOf(lines, { received: [notified(after(123))] })).toEqual({ owed: 1, delivered: 1 });
    expect(countsOf(lines, { received: [notified(after(124))] })).toEqual({ owed: 1, delivered: 1, late: 1 });
    // The problem may be over before the next attempt.
    expect(countsOf(`${lines}\n  0.02:30 success\n  0.03:00 pause`)).toEqual({});
  });

  test("that is ended early, or changed, withholds messages until then", () => {
    const ended = `${BEFORE}\n  0.01:20 end\n${JOB}\n${END}`;
    expect(countsOf(ended, { received: [notified(after(20))] })).toEqual({ owed: 1, delivered: 1 });
    expect(countsOf(ended, { received: [notified(after(34))] })).toEqual({ owed: 1, delivered: 1, late: 1 });
    const changed = `${BEFORE}\n  0.01:20 change from 0.01:00 until 0.01:40\n${JOB}\n${END}`;
    expect(countsOf(changed, { received: [notified(after(40))] })).toEqual({ owed: 1, delivered: 1 });
    expect(countsOf(changed, { received: [notified(after(39))] })).toMatchObject({ false: 1 });
  });

  test("of other checks withholds nothing", () => {
    for (const scope of ["tag db", "checks other"]) {
      const lines = `${BEFORE.replace("all", scope)}\n${JOB}\n${END}`;
      expect(countsOf(lines, { received: [notified(after(6))] })).toEqual({ owed: 1, delivered: 1 });
    }
    const lines = `${BEFORE.replace("all", "tag db")}\n${JOB.replace("grace 5m", "grace 5m tags db")}\n${END}`;
    expect(countsOf(lines, { received: [notified(after(6))] })).toMatchObject({ false: 1 });
  });

  test("until the next success withholds nothing after one", () => {
    const silence = "silence 0 all at 0.00:00 from 0.00:00 until 0.12:00 until-success";
    const since = JOB.replace("0.00:00", "0.00:10");
    const down = { at: DOWN.at + 10 * MINUTE_MS, to: "down" as const };
    const received = [notified(after(16), [down])];
    expect(countsOf(`${silence}\n${since}\n${END}`, { received })).toEqual({ owed: 1, delivered: 1 });
  });

  test("that recurs follows the time zone, and its windows have the same length", () => {
    // Summer time begins in Berlin on March 29: 2:30 is skipped, so the window begins at 3:00, which is 1:00 UTC.
    const from = Date.parse("2026-03-29T00:00Z");
    const world = (received: Received[]) => {
      const text = `world from 2026-03-29T00:00Z days 1 intakes 2 channels 2 turns 60s
silence 0 all at 0.00:30 from 0.00:30 cron "30 2 * * *" Europe/Berlin for 1h\n${JOB}\n${END}`;
      const verdicts = new Verdicts(readWorld(text));
      const comparison = new Comparison(verdicts);
      comparison.addCheck({
        index: 0,
        channels: [0],
        verdict: verdicts.of(0, () => false),
        received,
        givenUp: [],
      });
      return comparison.tally;
    };
    const at = (minutes: number) => from + HOUR_MS + minutes * MINUTE_MS;
    const message = (minutes: number) => notified(at(minutes), [{ at: at(5), to: "down" }]);
    expect(world([message(59)])).toMatchObject({ owed: 1, false: 1 });
    expect(world([message(60)])).toMatchObject({ owed: 1, delivered: 1, false: 0, late: 0 });
  });
});

describe("a check that depends on another", () => {
  const CHILD = `${JOB.replace("grace 5m", "grace 5m depends parent")}\n  0.03:00 pause`;
  const parent = (channels: string, ...actions: string[]) =>
    [`check parent simple 12h grace 1h channels ${channels}`, "0.00:10 success", ...actions].join("\n  ");

  test("may wait until the other one has recovered and ten minutes have passed, but not longer", () => {
    const lines = `${CHILD}\n${parent("0", "0.00:50 fail", "0.01:20 success")}`;
    expect(countsOf(lines, { received: [notified(after(6))] })).toEqual({ owed: 1, delivered: 1 });
    expect(countsOf(lines, { received: [notified(after(30))] })).toEqual({ owed: 1, delivered: 1 });
    expect(countsOf(lines, { received: [notified(after(60))] })).toMatchObject({ late: 1 });
    expect(countsOf(lines)).toEqual({ owed: 1, missed: 1 });
  });

  test("does not wait for one that is up, or has no channels", () => {
    for (const other of [parent("0"), parent("none", "0.00:50 fail")]) {
      const lines = `${CHILD}\n${other}`;
      expect(countsOf(lines, { received: [notified(after(8))] })).toEqual({ owed: 1, delivered: 1 });
      expect(countsOf(lines, { received: [notified(after(30))] })).toMatchObject({ late: 1 });
    }
  });
});

describe("checks that are combined", () => {
  test("may wait for others", () => {
    const lines = `${JOB.replace("grace 5m", "grace 5m grouped group-wait 1m group-interval 5m")}\n  0.03:00 pause`;
    expect(countsOf(lines, { received: [notified(after(15))] })).toEqual({ owed: 1, delivered: 1 });
    expect(countsOf(lines, { received: [notified(after(16))] })).toMatchObject({ late: 1 });
  });

  test("may wait for others after a silence", () => {
    const job = JOB.replace("grace 5m", "grace 5m grouped group-wait 5m group-interval 1m");
    const lines = `silence 0 all at 0.00:30 from 0.01:00 until 0.02:00 hold 10m\n${job}\n  0.04:00 pause`;
    expect(countsOf(lines, { received: [notified(after(80))] })).toEqual({ owed: 1, delivered: 1 });
    expect(countsOf(lines, { received: [notified(after(81))] })).toMatchObject({ late: 1 });
  });
});

describe("a repeat", () => {
  const REPEATED = `${JOB.replace("grace 5m", "grace 5m repeat 1h")}\n  0.02:30 pause`;
  const down = notified(after(6));
  const repeat = (minutes: number): Received => ({
    channel: 0,
    trueAt: after(minutes),
    about: "repeat",
    check: 0,
  });
  const sent = { owed: 1, delivered: 1 };

  test("is expected after its time, and not before", () => {
    expect(countsOf(REPEATED, { received: [down, repeat(66)] })).toEqual({ ...sent, repeats: 1 });
    expect(countsOf(REPEATED, { received: [down] })).toEqual({ ...sent, missed: 1 });
    expect(countsOf(REPEATED, { received: [down, repeat(65)] })).toMatchObject({ false: 1 });
    expect(countsOf(REPEATED, { received: [down, repeat(66), repeat(67)] })).toMatchObject({ false: 1 });
  });

  test("is false after the problem is over, and without one", () => {
    expect(countsOf(REPEATED, { received: [down, repeat(66), repeat(126)] })).toMatchObject({ false: 1 });
    expect(countsOf(JOB, { received: [down, repeat(66)] })).toMatchObject({ false: 1 });
  });

  test("is neither sent nor expected after somebody has acknowledged the problem, until that ends", () => {
    const lines = `${REPEATED}\n  0.01:30 ack`;
    expect(countsOf(lines, { received: [down] })).toEqual(sent);
    expect(countsOf(lines, { received: [down, repeat(66)] })).toMatchObject({ false: 1 });
    const ending = lines.replace("repeat 1h", "repeat 1h ack-timeout 30m");
    expect(countsOf(ending, { received: [down, repeat(66)] })).toEqual({ ...sent, repeats: 1 });
    // Another one does not extend it.
    const again = `${ending}\n  0.01:55 ack`;
    expect(countsOf(again, { received: [down, repeat(66)] })).toEqual({ ...sent, repeats: 1 });
    const later = `${ending}\n  0.02:03 ack`;
    expect(countsOf(later, { received: [down, repeat(66)] })).toMatchObject({ false: 1 });
  });

  test("is expected after its time on the database clock", () => {
    const lines = REPEATED.replace("0.02:30", "0.02:15");
    expect(countsOf(lines, { received: [down] })).toEqual({ ...sent, missed: 1 });
    const setBack = `fault clock-step 0.01:40 -600000ms\n${lines}`;
    expect(countsOf(setBack, { received: [down] })).toEqual(sent);
  });

  test("may follow the end of a silence at once", () => {
    const lines = `silence 0 all at 0.01:10 from 0.01:10 until 0.01:40\n${REPEATED}`;
    expect(countsOf(lines, { received: [down, repeat(40)] })).toEqual({ ...sent, repeats: 1 });
    expect(countsOf(lines, { received: [down, repeat(20)] })).toMatchObject({ false: 2 });
  });
});

describe("a check that flaps", () => {
  test("is owed messages until its third reopening", () => {
    const flips = ["05", "10", "15", "20"].flatMap((minute) => [
      { at: after(Number(minute)), to: "down" as const },
      { at: after(Number(minute) + 2), to: "up" as const },
    ]);
    const actions = flips.map(({ at, to }) => {
      const time = new Date(at).toISOString().slice(11, 16);
      return `  0.${time} ${to === "down" ? "fail" : "success"}`;
    });
    const job = "check job simple 6h grace 1h reopen-within 10m\n  0.00:00 success";
    const received = flips.slice(0, 6).map((flip) => notified(flip.at, [flip]));
    const lines = `${job}\n${actions.join("\n")}\n  0.02:00 pause`;
    expect(countsOf(lines, { received })).toEqual({ owed: 6, delivered: 6 });
    expect(countsOf(lines.replace(" reopen-within 10m", ""), { received })).toMatchObject({ missed: 2 });
  });
});
