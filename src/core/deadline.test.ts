// When a missing ping takes a check down, and when a monitoring gap excuses it.
import { describe, expect, test } from "vitest";
import { applyDeadline, type BlindTime, extendedDeadline, passDeadlines, visibilityOf } from "./deadline.ts";
import { type Interval, MINUTE_MS } from "./instant.ts";
import { EXCUSE_CHAIN_MS_MAX, EXCUSE_MS_MAX } from "./limits.ts";
import { type CheckState, NEW_STATE, type Timing, type WatchedCheck } from "./state.ts";

const AT = Date.UTC(2026, 4, 1, 12);
const TIMING: Timing = {
  kind: "simple",
  timeoutSeconds: 3600,
  graceSeconds: 600,
  schedule: "",
  tz: "UTC",
  manualResume: false,
  rules: null,
};

function minutes(count: number): number {
  return AT + count * MINUTE_MS;
}

/** Expected at minute 60, down at minute 70. */
function up(state: Partial<CheckState> = {}, timing: Partial<Timing> = {}): WatchedCheck {
  return {
    timing: { ...TIMING, ...timing },
    state: { ...NEW_STATE, status: "up", lastPingAt: AT, newestAt: AT, ...state },
  };
}

function blind(from: number, to: number | null): Interval {
  return { from: minutes(from), to: to === null ? null : minutes(to) };
}

function sweep(check: WatchedCheck, watermarkAt: number | null, intervals: BlindTime[] = []) {
  return applyDeadline(check, { watermarkAt, blind: intervals });
}

describe("a deadline", () => {
  test("fires only when the watermark has passed it", () => {
    expect(sweep(up(), minutes(70))).toEqual({ kind: "waits", untilAt: minutes(70) });
    expect(sweep(up(), minutes(70) + 1).kind).toBe("fired");
  });

  test("never fires while the watermark is unknown", () => {
    expect(sweep(up(), null)).toEqual({ kind: "waits", untilAt: minutes(70) });
  });

  test("dates the flip at the deadline, however late the sweeper is", () => {
    expect(sweep(up(), minutes(5000))).toMatchObject({
      flip: { at: minutes(70), from: "up", to: "down", reason: "timeout" },
      state: { status: "down", missed: { deadlineAt: minutes(70), from: "up" }, lastPingAt: AT },
    });
  });

  test("is that of the run in progress where the run ends sooner", () => {
    expect(sweep(up({ lastStartAt: minutes(5) }), minutes(16))).toMatchObject({
      flip: { at: minutes(15) },
      state: { lastStartAt: minutes(5) },
    });
  });

  test.each([
    ["down", { status: "down" as const }],
    ["new without a run", { status: "new" as const, lastPingAt: null }],
    ["paused without a run", { status: "paused" as const }],
  ])("does not exist for a check that is %s", (_, state) => {
    expect(sweep(up(state), minutes(5000))).toEqual({ kind: "none" });
  });

  test("does not exist for a check whose owner resumes by hand, even with a run in progress", () => {
    const deaf = up({ status: "paused", lastStartAt: AT }, { manualResume: true });
    expect(sweep(deaf, minutes(5000))).toEqual({ kind: "none" });
  });
});

describe("time in which we could not receive", () => {
  test.each([
    ["before the expected time", blind(58, 59), 70],
    ["ending exactly when the ping was expected", blind(58, 60), 70],
    ["between expectation and deadline", blind(61, 65), 75],
    ["beginning exactly at the deadline", blind(70, 80), 90],
    ["over all of it", blind(50, 200), 210],
    ["after the deadline", blind(71, 80), 70],
  ])("%s moves the deadline accordingly", (_, interval, deadline) => {
    expect(extendedDeadline(up(), [interval])?.firesAt).toBe(minutes(deadline));
  });

  test("gives retries an hour at most, whatever the grace", () => {
    const patient = up({}, { graceSeconds: 24 * 3600 });
    const interval = blind(1000, 1490);
    expect(extendedDeadline(patient, [interval])?.firesAt).toBe(minutes(1490) + EXCUSE_MS_MAX);
  });

  test("in the middle of the retries moves the deadline again", () => {
    expect(extendedDeadline(up(), [blind(61, 65), blind(74, 80)])?.firesAt).toBe(minutes(90));
  });

  test("of two intakes at once excuses until the last of them could see again", () => {
    const both = [blind(60, 100), blind(62, 64)];
    expect(sweep(up(), minutes(5000), both)).toMatchObject({
      kind: "excused",
      notice: { blind: blind(60, 100) },
      state: { expectFromAt: minutes(100) },
    });
  });

  test("that comes again and again cannot put the deadline off for ever", () => {
    const flapping = Array.from({ length: 1_000 }, (_, index) => blind(61 + 9 * index, 62 + 9 * index));
    const firesAt = extendedDeadline(up(), flapping)?.firesAt ?? Infinity;
    expect(firesAt).toBeLessThanOrEqual(minutes(70) + EXCUSE_CHAIN_MS_MAX + 11 * MINUTE_MS);
    expect(firesAt).toBeGreaterThan(minutes(70) + EXCUSE_CHAIN_MS_MAX);
  });

  test("that has not ended keeps the deadline from firing", () => {
    expect(sweep(up(), minutes(5000), [blind(65, null)])).toEqual({ kind: "waits", untilAt: null });
  });

  test("turns the alert into a notice, and expectation starts again at its end", () => {
    const outcome = sweep(up(), minutes(5000), [blind(61, 65)]);
    expect(outcome).toMatchObject({
      kind: "excused",
      notice: { blind: blind(61, 65), deadline: { from: minutes(60), at: minutes(70), cause: "missed" } },
      state: { status: "up", lastPingAt: AT, expectFromAt: minutes(65) },
    });
    if (outcome.kind !== "excused") throw new Error("unreachable");
    expect(extendedDeadline({ timing: TIMING, state: outcome.state }, [blind(61, 65)])?.firesAt).toBe(
      minutes(135),
    );
  });

  test("excuses once: the next missed deadline alerts", () => {
    const excused = sweep(up(), minutes(5000), [blind(61, 65)]);
    if (excused.kind !== "excused") throw new Error("unreachable");
    const again = sweep({ timing: TIMING, state: excused.state }, minutes(5000), [blind(61, 65)]);
    expect(again).toMatchObject({ kind: "fired", flip: { at: minutes(135) } });
  });

  test("drops the run whose end it may have hidden", () => {
    expect(sweep(up({ lastStartAt: minutes(5) }), minutes(5000), [blind(6, 7)])).toMatchObject({
      kind: "excused",
      state: { lastStartAt: null, expectFromAt: minutes(7) },
    });
  });

  test("leaves a run that began later to its own deadline", () => {
    const late = up({ lastStartAt: minutes(66) });
    expect(sweep(late, minutes(5000), [blind(61, 62)])).toMatchObject({
      kind: "excused",
      state: { lastStartAt: minutes(66), expectFromAt: minutes(62) },
    });
  });
});

describe("all deadlines before an instant", () => {
  const visibility = { watermarkAt: minutes(5000), blind: [blind(61, 65)] };

  test("are processed in order: an excuse, and the alert that follows it", () => {
    const passage = passDeadlines(up(), { visibility, beforeAt: minutes(1000) });
    expect(passage.notices).toHaveLength(1);
    expect(passage.flips).toEqual([{ at: minutes(135), from: "up", to: "down", reason: "timeout" }]);
    expect(passage.state).toMatchObject({ status: "down", lastPingAt: AT });
  });

  test("leave those alone that lie at the instant or after it", () => {
    const passage = passDeadlines(up(), { visibility, beforeAt: minutes(135) });
    expect([passage.notices.length, passage.flips.length]).toEqual([1, 0]);
    expect(passDeadlines(up(), { visibility, beforeAt: minutes(75) }).notices).toEqual([]);
  });

  test("stop at the first one with an unknown outcome, and return it", () => {
    const near = { ...visibility, watermarkAt: minutes(100) };
    const passage = passDeadlines(up(), { visibility: near, beforeAt: minutes(1000) });
    expect(passage).toMatchObject({ flips: [], unobserved: { from: minutes(125), at: minutes(135) } });
  });
});

describe("a refused ping of the check itself", () => {
  const own = (at: number) => ({ from: minutes(at), to: minutes(at), isOwn: true });

  test("excuses the deadline that it may have met, also when it came before the expected time", () => {
    for (const at of [1, 30, 59, 60, 70]) {
      const outcome = sweep(up(), minutes(5_000), [own(at)]);
      expect(outcome).toMatchObject({
        kind: "excused",
        state: { status: "up", expectFromAt: minutes(at) },
        notice: { deadline: { at: minutes(70) }, blind: { from: minutes(at), to: minutes(at) } },
      });
    }
  });

  test("gives time for retries", () => {
    expect(sweep(up(), minutes(75), [own(69)])).toEqual({ kind: "waits", untilAt: minutes(79) });
  });

  test("excuses nothing after the deadline, nor what was answered since", () => {
    expect(sweep(up(), minutes(5_000), [own(71)]).kind).toBe("fired");
    expect(sweep(up({ lastPingAt: minutes(2) }), minutes(5_000), [own(1)]).kind).toBe("fired");
    expect(sweep(up({ lastPingAt: minutes(2) }), minutes(5_000), [own(2)]).kind).toBe("fired");
  });

  test("excuses once: the next missed deadline fires", () => {
    const { flips, notices } = passDeadlines(up(), {
      visibility: { watermarkAt: minutes(5_000), blind: [own(59)] },
      beforeAt: Infinity,
    });
    expect(notices).toHaveLength(1);
    expect(flips).toMatchObject([{ at: minutes(59 + 70), to: "down" }]);
  });

  test("of an earlier run does not excuse the run that is in progress", () => {
    const running = up({ lastStartAt: minutes(20) });
    expect(sweep(running, minutes(5_000), [own(10)]).kind).toBe("fired");
    expect(sweep(running, minutes(5_000), [own(25)]).kind).toBe("excused");
  });

  test("that others sent from the same network only counts between expectation and deadline", () => {
    expect(sweep(up(), minutes(5_000), [blind(59, 59)]).kind).toBe("fired");
    expect(sweep(up(), minutes(5_000), [blind(61, 61)]).kind).toBe("excused");
  });
});

test("the visibility of a check includes its own rejections in order of time, and no others", () => {
  const visibility = { watermarkAt: minutes(9), blind: [blind(1, 2), blind(5, 6)] };
  expect(visibilityOf(visibility, [])).toBe(visibility);
  expect(
    visibilityOf(visibility, [{ from: minutes(3), to: minutes(3), isOwn: true }]).blind.map(
      ({ from }) => from,
    ),
  ).toEqual([minutes(1), minutes(3), minutes(5)]);
});
