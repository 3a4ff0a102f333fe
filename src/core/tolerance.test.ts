// Thresholds: when failed and missed runs become an alert, when it closes, and what pauses, edits, resolving and late
// pings do to it.
import { describe, expect, test } from "vitest";
import type { AlertChange } from "./alert.ts";
import { passDeadlines, sweepCheck, type Visibility } from "./deadline.ts";
import { type Instant, MINUTE_MS } from "./instant.ts";
import { DEFAULT_RULES, type Rules } from "./rules.ts";
import type { SignalKind } from "./signal.ts";
import {
  type CheckState,
  deadlineOf,
  type Flip,
  isAlertOpen,
  NEW_STATE,
  type Timing,
  viewAt,
  type WatchedCheck,
} from "./state.ts";
import { toleranceOf } from "./tolerance.ts";
import { applySignal, pause, resolveAlert, resume, reviseTiming } from "./transition.ts";

const AT = Date.UTC(2026, 4, 1, 12);
const minutes = (count: number): Instant => AT + count * MINUTE_MS;
const after = (at: Instant): number => (at - AT) / MINUTE_MS;

/** Every hour, with ten minutes of grace. */
function timingWith(rules: Partial<Rules> | null): Timing {
  return {
    kind: "simple",
    timeoutSeconds: 3_600,
    graceSeconds: 600,
    schedule: "",
    tz: "UTC",
    manualResume: false,
    rules: rules === null ? null : { ...DEFAULT_RULES, ...rules },
  };
}

type Step = [SignalKind | "sweep" | "pause" | "resume" | "resolve", number];

/** What happened to a check, in minutes: `+` an alert opened, `-` it closed, with the cause. */
class Life {
  timing: Timing;
  state: CheckState = NEW_STATE;
  alerts: AlertChange[] = [];
  flips: Flip[] = [];
  retracted: (number | null)[] = [];
  repeated: number[] = [];

  constructor(rules: Partial<Rules> | null, steps: readonly Step[] = []) {
    this.timing = timingWith(rules);
    for (const step of steps) this.step(...step);
  }

  get check(): WatchedCheck {
    return { timing: this.timing, state: this.state };
  }

  step(what: Step[0], at: number): this {
    const moment = { at: minutes(at), visibility: { watermarkAt: minutes(at), blind: [] } };
    if (what === "sweep") this.take(passDeadlines(this.check, { ...moment, beforeAt: Infinity }));
    else if (what === "pause") this.take(pause(this.check, moment));
    else if (what === "resume") this.take(resume(this.check, moment));
    else if (what === "resolve") this.take(resolveAlert(this.check, moment));
    else this.send(what, at, moment.visibility);
    return this;
  }

  send(kind: SignalKind, at: number, visibility: Visibility, replayed = false): this {
    const signal = { kind, at: minutes(at), rid: null, replayed };
    const outcome = applySignal(this.check, { signal, visibility, rules: { ratePerMinute: 0 } });
    if (outcome.retractedAt !== null) this.retracted.push(after(outcome.retractedAt));
    this.take(outcome);
    return this;
  }

  edit(rules: Partial<Rules> | null, at: number): this {
    const timing = timingWith(rules);
    const visibility = { watermarkAt: minutes(at), blind: [] };
    this.take(reviseTiming(this.check, { timing, at: minutes(at), visibility }));
    this.timing = timing;
    return this;
  }

  take(
    passed: Pick<ReturnType<typeof passDeadlines>, "state" | "flips" | "alerts" | "repeated"> | null,
  ): void {
    if (passed === null) throw new Error("it was refused");
    this.state = passed.state;
    this.flips.push(...passed.flips);
    this.alerts.push(...passed.alerts);
    this.repeated.push(...passed.repeated.map(({ at }) => after(at)));
    for (const { flip } of passed.alerts) {
      if (flip !== null && !passed.flips.includes(flip)) throw new Error("the flip is another one");
    }
  }

  get story(): string[] {
    return this.alerts.map(({ kind, cause, at }) => `${kind === "opened" ? "+" : "-"}${cause} ${after(at)}`);
  }

  get flipTimes(): string[] {
    return this.flips.map(({ to, at }) => `${to} ${after(at)}`);
  }
}

describe("failures", () => {
  test.each<[string, Partial<Rules>, string, string[]]>([
    ["one by default", {}, "sfs", ["+failed 1", "-recovered 2"]],
    ["three in a row", { failures: { count: 3, of: 3 } }, "sffsfffs", ["+failed 6", "-recovered 7"]],
    ["two of the last four", { failures: { count: 2, of: 4 } }, "fssfs", ["+failed 3", "-recovered 4"]],
    ["two of the last three, too far apart", { failures: { count: 2, of: 3 } }, "fssfss", []],
    ["absent history is no failure", { failures: { count: 20, of: 20 } }, "f".repeat(19), []],
    ["a full window", { failures: { count: 20, of: 20 } }, "f".repeat(21), ["+failed 19"]],
    ["recovery after three", { recovery: 3 }, "fssfsssf", ["+failed 0", "-recovered 6", "+failed 7"]],
    [
      "the window is cleared on recovery",
      { failures: { count: 2, of: 20 } },
      "ffsfsf",
      ["+failed 1", "-recovered 2", "+failed 5"],
    ],
  ])("%s", (_, rules, letters, story) => {
    const steps = letters.split("").map((letter, at): Step => [letter === "s" ? "success" : "fail", at]);
    const life = new Life(rules, steps);
    expect(life.story).toEqual(story);
    // Status and flips follow each run, tolerated or not.
    expect(life.state.status).toBe(letters.endsWith("s") ? "up" : "down");
  });

  test("that are tolerated leave the status down, the next ping empty, and the deadline armed", () => {
    const life = new Life({ failures: { count: 2, of: 2 } }, [
      ["success", 0],
      ["fail", 30],
    ]);
    expect(isAlertOpen(life.state)).toBe(false);
    expect(viewAt(life.check, minutes(500))).toEqual({ status: "down", nextPingAt: null, until: Infinity });
    expect(deadlineOf(life.check)).toEqual({ from: minutes(90), at: minutes(100), cause: "missed" });
  });

  test("a tolerated failure that ends in success sends nothing, and both flips are kept", () => {
    const life = new Life({ failures: { count: 2, of: 2 } }, [
      ["success", 0],
      ["fail", 30],
      ["success", 60],
    ]);
    expect([life.story, life.flipTimes]).toEqual([[], ["up 0", "down 30", "up 60"]]);
  });
});

describe("missed runs", () => {
  test("become an alert in a row, counted from the missed slot, with one flip and events for the others", () => {
    const life = new Life({ missed: 3 }, [
      ["success", 0],
      ["sweep", 500],
    ]);
    expect(life.story).toEqual(["+missed 190"]);
    expect(life.flipTimes).toEqual(["up 0", "down 70"]);
    expect(life.repeated).toEqual([130, 190]);
    expect(deadlineOf(life.check)).toBeNull();
    expect(life.alerts[0]?.flip).toBeNull();
  });

  test("one by one are the same as all at once", () => {
    const life = new Life({ missed: 3 }, [["success", 0]]);
    for (let at = 1; at < 500; at += 10) life.step("sweep", at);
    const once = new Life({ missed: 3 }, [
      ["success", 0],
      ["sweep", 491],
    ]);
    expect([life.story, life.state]).toEqual([once.story, once.state]);
  });

  test("are never delayed by a tolerance for failures", () => {
    const life = new Life({ failures: { count: 5, of: 5 } }, [
      ["success", 0],
      ["fail", 30],
      ["sweep", 500],
    ]);
    expect(life.story).toEqual(["+missed 100"]);
    expect(life.flipTimes).toEqual(["up 0", "down 30"]);
    expect(life.repeated).toEqual([100]);
  });

  test("do not count for a threshold in a row with a failure in between, and count for failures", () => {
    const life = new Life({ missed: 2, failures: { count: 2, of: 2 } }, [
      ["success", 0],
      ["sweep", 100],
      ["fail", 110],
    ]);
    expect(life.story).toEqual(["+failed 110"]);
    const other = new Life({ missed: 2, failures: { count: 9, of: 9 } }, [
      ["success", 0],
      ["sweep", 100],
      ["fail", 110],
      ["sweep", 200],
    ]);
    expect(other.story).toEqual([]);
    expect(other.step("sweep", 300).story).toEqual(["+missed 240"]);
  });

  test("by a run that takes too long count once, and then the next slot", () => {
    const life = new Life({ missed: 2 }, [
      ["success", 0],
      ["start", 20],
      ["sweep", 80],
    ]);
    expect(life.flipTimes).toEqual(["up 0", "down 30"]);
    // An hour after the deadline of the run.
    expect(deadlineOf(life.check)).toEqual({ from: minutes(90), at: minutes(100), cause: "missed" });
    expect(life.step("sweep", 200).story).toEqual(["+missed 100"]);
  });

  test("by a run that began after the expected time count once, too", () => {
    const life = new Life({ missed: 2 }, [
      ["success", 0],
      ["start", 65],
      ["sweep", 79],
    ]);
    expect(life.flipTimes).toEqual(["up 0", "down 70"]);
    expect(deadlineOf(life.check)).toEqual({ from: minutes(120), at: minutes(130), cause: "missed" });
  });

  test("by a new run after a tolerated one are counted again", () => {
    const life = new Life({ missed: 2 }, [
      ["success", 0],
      ["start", 20],
      ["sweep", 40],
      ["start", 50],
      ["sweep", 70],
    ]);
    expect(life.story).toEqual(["+overrun 60"]);
    expect(life.repeated).toEqual([60]);
  });

  test("while recovering keep the alert open and notify no one", () => {
    const life = new Life({ recovery: 2 }, [
      ["fail", 0],
      ["success", 10],
      ["sweep", 100],
    ]);
    expect(life.story).toEqual(["+failed 0"]);
    expect(life.flipTimes).toEqual(["down 0", "up 10", "down 80"]);
    expect([isAlertOpen(life.state), deadlineOf(life.check)]).toEqual([true, null]);
  });

  test("that are excused or not observed are no outcomes, and failures during blindness are", () => {
    const rules = { missed: 2, failures: { count: 2, of: 2 } };
    const life = new Life(rules, [
      ["success", 0],
      ["sweep", 80],
    ]);
    const blind = [{ from: minutes(121), to: minutes(125) }];
    const swept = sweepCheck(life.check, {
      visibility: { watermarkAt: minutes(180), blind },
      now: minutes(180),
    });
    expect(swept.notices).toHaveLength(1);
    expect(swept.state.judged).toEqual(life.state.judged);
    expect(swept.alerts).toEqual([]);
    const unseen = life.send("success", 140, { watermarkAt: minutes(100), blind: [] });
    expect(unseen.story).toEqual([]);
    const failing = new Life(rules, [["success", 0]]);
    const away = [{ from: minutes(1), to: null }];
    failing.send("fail", 30, { watermarkAt: minutes(30), blind: away });
    failing.send("fail", 40, { watermarkAt: minutes(40), blind: away });
    expect(failing.story).toEqual(["+failed 40"]);
  });
});

describe("commands", () => {
  test("a pause closes the alert without a recovery, and forgets what was counted", () => {
    const life = new Life({ missed: 3, failures: { count: 2, of: 2 } }, [
      ["fail", 0],
      ["fail", 10],
      ["pause", 20],
    ]);
    expect(life.story).toEqual(["+failed 10", "-paused 20"]);
    expect(life.state.judged).toBeNull();
    life.step("resume", 30).step("fail", 40);
    expect(life.story).toHaveLength(2);
    expect(life.state.judged?.problem).toBe("tolerated");
  });

  test("a pause after a deadline counts it first", () => {
    const life = new Life(null, [
      ["success", 0],
      ["pause", 100],
    ]);
    expect(life.story).toEqual(["+missed 70", "-paused 100"]);
  });

  test("an edit opens an alert that a lower threshold is reached by, at the time of the edit", () => {
    const life = new Life({ failures: { count: 3, of: 3 } }, [
      ["success", 0],
      ["fail", 10],
    ]);
    expect(life.edit({ failures: { count: 2, of: 2 } }, 15).story).toEqual([]);
    expect(life.edit(null, 20).story).toEqual(["+failed 20"]);
    expect(life.state.judged).toBeNull();
    expect(life.step("success", 30).story).toEqual(["+failed 20", "-recovered 30"]);
  });

  test("an edit counts deadlines that have passed by the old thresholds", () => {
    const life = new Life({ missed: 3 }, [["success", 0]]);
    life.edit({ missed: 2 }, 140);
    expect(life.story).toEqual(["+missed 140"]);
    expect(life.repeated).toEqual([130]);
  });

  test("an edit never makes an alert tolerated, and ends a recovery that is long enough", () => {
    const life = new Life({ recovery: 3 }, [
      ["fail", 0],
      ["success", 10],
      ["success", 20],
    ]);
    expect(life.edit({ recovery: 4 }, 25).story).toEqual(["+failed 0"]);
    expect(life.edit({ recovery: 2 }, 30).story).toEqual(["+failed 0", "-recovered 30"]);
    expect(life.state).toMatchObject({ status: "up", judged: null });
    const open = new Life(null, [["fail", 0]]);
    expect(open.edit({ failures: { count: 5, of: 5 } }, 5).story).toEqual(["+failed 0"]);
    expect(isAlertOpen(open.state)).toBe(true);
    expect(open.edit({ recovery: 2 }, 6).step("success", 10).story).toEqual(["+failed 0"]);
  });

  test.each<[string, Partial<Rules> | null, string[]]>([
    ["the defaults", null, ["+missed 70", "-resolved 75", "+missed 145"]],
    ["a threshold", { missed: 2 }, ["+missed 130", "-resolved 135", "+missed 265"]],
  ])("resolving under %s leaves the check down and counts from then on", (_, rules, story) => {
    const life = new Life(rules, [["success", 0]]);
    const [first = 0] = rules === null ? [75] : [135];
    life.step("sweep", first).step("resolve", first);
    expect(life.state.status).toBe("down");
    expect(isAlertOpen(life.state)).toBe(false);
    expect(life.step("sweep", 500).story).toEqual(story);
    expect(life.flipTimes).toEqual(["up 0", "down 70"]);
    expect(
      resolveAlert(new Life(null, [["success", 0]]).check, { at: minutes(1), visibility: SEEN }),
    ).toBeNull();
  });

  test("resolving a run that took too long does not count it again", () => {
    const life = new Life({ maxRunSeconds: 600 }, [
      ["success", 0],
      ["start", 10],
      ["sweep", 25],
      ["resolve", 25],
    ]);
    expect(deadlineOf(life.check)).toMatchObject({ from: minutes(85), cause: "missed" });
    expect(life.step("success", 30).story).toEqual(["+overrun 20", "-resolved 25"]);
    expect(life.state.judged).toBeNull();
  });
});

const SEEN: Visibility = { watermarkAt: minutes(100_000), blind: [] };

describe("a ping that was received in time and applied late", () => {
  const late = (life: Life, kind: SignalKind, at: number) => life.send(kind, at, SEEN, true);

  test("takes back the alert that its deadline opened", () => {
    const life = new Life(null, [
      ["success", 0],
      ["sweep", 100],
    ]);
    late(life, "success", 60);
    expect(life.story).toEqual(["+missed 70", "-takenBack 60"]);
    expect(life.retracted).toEqual([70]);
    expect([isAlertOpen(life.state), life.state.judged]).toEqual([false, null]);
  });

  test("as a failure takes it back, too, and opens its own", () => {
    const life = late(
      new Life(null, [
        ["success", 0],
        ["sweep", 100],
      ]),
      "fail",
      60,
    );
    expect(life.story).toEqual(["+missed 70", "-takenBack 60", "+failed 60"]);
  });

  test("removes all misses after it, and later deadlines fire again", () => {
    const life = new Life({ missed: 3 }, [
      ["success", 0],
      ["sweep", 200],
    ]);
    late(life, "success", 60);
    expect(life.story).toEqual(["+missed 190", "-takenBack 60"]);
    expect(life.retracted).toEqual([70]);
    // 130 and 190 are already known to have passed.
    expect(life.state).toMatchObject({ status: "down", missed: { deadlineAt: minutes(130) } });
    expect(life.step("sweep", 500).story.slice(2)).toEqual(["+missed 250"]);
  });

  test("keeps the misses before it", () => {
    const life = new Life({ missed: 3, failures: { count: 2, of: 5 } }, [
      ["success", 0],
      ["sweep", 200],
    ]);
    late(life, "success", 140);
    expect(life.story).toEqual(["+missed 190", "-takenBack 140"]);
    expect(life.retracted).toEqual([]);
    expect(life.flipTimes).toEqual(["up 0", "down 70", "up 140"]);
    expect(life.state.judged?.outcomes).toBe(0b110);
    // Two missed runs and a failure among the last five.
    expect(life.step("fail", 150).story.at(-1)).toBe("+failed 150");
  });

  test("does not close an alert that was open before", () => {
    const life = new Life({ recovery: 3 }, [
      ["fail", 0],
      ["success", 10],
      ["sweep", 100],
    ]);
    late(life, "success", 60);
    expect(life.story).toEqual(["+failed 0"]);
    expect(life.state).toMatchObject({ status: "up", judged: { problem: "recovering" } });
    expect(life.step("success", 110).story).toEqual(["+failed 0", "-recovered 110"]);
  });

  test("takes back a miss of a check that was down", () => {
    const life = new Life({ failures: { count: 3, of: 3 }, missed: 2 }, [
      ["success", 0],
      ["fail", 10],
      ["sweep", 150],
    ]);
    expect(life.story).toEqual(["+missed 140"]);
    late(life, "fail", 60);
    expect(life.story).toEqual(["+missed 140", "-takenBack 60"]);
    expect(life.retracted).toEqual([]);
    expect(life.flipTimes).toEqual(["up 0", "down 10"]);
    // Failed, failed, missed at 130.
    expect(life.state.judged).toMatchObject({ outcomes: 0b111, missed: 1, problem: "tolerated" });
  });

  test("as a start takes back a missed start", () => {
    const life = new Life({ startWithinSeconds: 300, maxRunSeconds: 3_600 }, [
      ["success", 0],
      ["sweep", 70],
    ]);
    expect(life.story).toEqual(["+missed 65"]);
    late(life, "start", 62);
    expect(life.story).toEqual(["+missed 65", "-takenBack 62"]);
    expect(life.retracted).toEqual([65]);
    expect(deadlineOf(life.check)).toEqual({ from: minutes(62), at: minutes(122), cause: "overrun" });
  });

  test("as a start takes back nothing that only an end satisfies", () => {
    for (const rules of [null, { missed: 1, recovery: 2 }]) {
      const life = new Life(rules, [
        ["success", 0],
        ["sweep", 100],
      ]);
      late(life, "start", 65);
      expect(life.story).toEqual(["+missed 70"]);
      expect(life.state).toMatchObject({ status: "down", missed: { deadlineAt: minutes(70), from: "up" } });
    }
  });
});

describe("how far a check is from an alert", () => {
  const rules = { failures: { count: 3, of: 5 }, missed: 2, recovery: 2 };
  const shown = (...steps: Step[]) => {
    const { state, check } = new Life(rules, steps);
    const tolerance = toleranceOf(state, check.timing.rules);
    return tolerance === null ? null : Object.values(tolerance).join(" ");
  };

  test("counts failures, missed runs, and successes of a recovery", () => {
    expect(shown(["success", 0])).toBeNull();
    expect(shown(["success", 0], ["fail", 10])).toBe("tolerated failures 1 3");
    expect(shown(["fail", 0], ["success", 10], ["fail", 20])).toBe("tolerated failures 2 3");
    expect(shown(["success", 0], ["sweep", 75])).toBe("tolerated missed 1 2");
    expect(shown(["success", 0], ["sweep", 145])).toBeNull();
    expect(shown(["success", 0], ["sweep", 145], ["success", 150])).toBe("recovering successes 1 2");
    expect(shown(["success", 0], ["sweep", 145], ["success", 150], ["success", 160])).toBeNull();
  });

  test("is 0 after the incident was resolved while the check was down", () => {
    const life = new Life(null, [
      ["success", 0],
      ["fail", 10],
      ["resolve", 20],
    ]);
    expect(toleranceOf(life.state, null)).toMatchObject({ kind: "tolerated", count: 0, needed: 1 });
  });
});
