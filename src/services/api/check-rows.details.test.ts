// The strip of a row: the letter of each run, and the usual duration.
import { describe, expect, test } from "vitest";
import { MINUTE_MS } from "../../core/instant.ts";
import { NEW_STATE } from "../../core/state.ts";
import type { LeanCheck, RecentMark } from "../../store/check-lists.ts";
import { detailOf } from "./check-rows.ts";

const NOON = Date.UTC(2026, 10, 16, 12);

const CHECK = {
  id: 1,
  uuid: "u",
  timing: {
    kind: "simple",
    timeoutSeconds: 3_600,
    graceSeconds: 1_200,
    schedule: "",
    tz: "UTC",
    manualResume: false,
    rules: null,
  },
  state: NEW_STATE,
} as LeanCheck;

function mark(kind: RecentMark["kind"], minutes: number, durationMs: number | null = null): RecentMark {
  return { checkId: 1, at: NOON + minutes * MINUTE_MS, kind, durationMs };
}

describe("the strip of a row", () => {
  test("has a letter for each run, the newest last", () => {
    const marks = [
      mark("success", 0),
      mark("fail", 60),
      mark("missed", 130),
      mark("success", 150),
      mark("paused", 200),
    ];
    expect(detailOf(CHECK, marks).recentRuns).toBe("ufmlp");
  });

  test("marks a success as late if it used more than half of its grace period, measured from its start", () => {
    expect(detailOf(CHECK, [mark("success", 0), mark("success", 70)]).recentRuns).toBe("uu");
    expect(detailOf(CHECK, [mark("success", 0), mark("success", 71)]).recentRuns).toBe("ul");
    expect(detailOf(CHECK, [mark("success", 0), mark("success", 71, 5 * MINUTE_MS)]).recentRuns).toBe("uu");
  });

  test("marks nothing as late after a time that was not monitored", () => {
    expect(detailOf(CHECK, [mark("success", 0), mark("unseen", 80), mark("success", 200)]).recentRuns).toBe(
      "uxu",
    );
    expect(detailOf(CHECK, [mark("success", 0), mark("paused", 10), mark("success", 900)]).recentRuns).toBe(
      "upu",
    );
  });

  test("ends with the run in progress, and has at most thirty letters and twenty-eight durations", () => {
    const running = { ...CHECK, state: { ...NEW_STATE, lastStartAt: NOON } };
    const marks = Array.from({ length: 60 }, (_, n) => mark("success", n * 60, n + 1));
    const detail = detailOf(running, marks);
    expect(detail.recentRuns).toBe(`${"u".repeat(29)}r`);
    expect(detail.durationsMs).toHaveLength(28);
    expect(detail.durationsMs.at(-1)).toBe(60);
    expect(detail.p95Ms).toBe(57);
  });

  test("is empty for a check without pings", () => {
    expect(detailOf(CHECK, [])).toEqual({ id: "u", recentRuns: "", durationsMs: [], p95Ms: null });
  });
});
