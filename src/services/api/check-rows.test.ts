// The fuse of a row: where it starts, when the row turns late, and when it alerts, according to core.
import { describe, expect, test } from "vitest";
import { MINUTE_MS } from "../../core/instant.ts";
import { type CheckState, downAtOf, NEW_STATE } from "../../core/state.ts";
import type { LeanCheck } from "../../store/check-lists.ts";
import { rowsOf } from "./check-rows.ts";

const NOON = Date.UTC(2026, 10, 16, 12);
const minute = (count: number) => NOON + count * MINUTE_MS;
/** Every hour, with a grace period of twenty minutes. */
const HOURLY = {
  kind: "simple",
  timeoutSeconds: 3_600,
  graceSeconds: 1_200,
  schedule: "",
  tz: "UTC",
  manualResume: false,
  rules: null,
} as const;

function rowOf(change: Partial<CheckState>, now = NOON) {
  const watched = { timing: HOURLY, state: { ...NEW_STATE, ...change } };
  const stored = { ...watched, name: "", slug: "", tags: "a b a", downAt: downAtOf(watched), down: null };
  const [row] = rowsOf([stored as unknown as LeanCheck], now);
  return row;
}

describe("the fuse", () => {
  test("starts at the last signal, turns late when the next one is due, and ends with the grace period", () => {
    const row = rowOf({ status: "up", lastPingAt: NOON }, minute(59));
    expect(row?.fuse).toEqual({ fromAt: NOON, lateAt: minute(60), alertAt: minute(80) });
    expect([row?.state, rowOf({ status: "up", lastPingAt: NOON }, minute(60))?.state]).toEqual([
      "up",
      "late",
    ]);
  });

  test("of a run in progress ends with the time limit of the run, and is late if another run was due before", () => {
    const early = rowOf({ status: "up", lastPingAt: NOON, lastStartAt: minute(10) });
    expect(early?.fuse).toEqual({ fromAt: minute(10), lateAt: minute(30), alertAt: minute(30) });
    const close = rowOf({ status: "up", lastPingAt: NOON, lastStartAt: minute(50) });
    expect(close?.fuse).toEqual({ fromAt: minute(50), lateAt: minute(60), alertAt: minute(70) });
  });

  test("of a run that started after it was due is that of the missed signal before it", () => {
    const row = rowOf({ status: "up", lastPingAt: NOON, lastStartAt: minute(65) });
    expect(row?.fuse).toEqual({ fromAt: NOON, lateAt: minute(60), alertAt: minute(80) });
  });

  test("restarts when monitoring restarts, and is absent if no signal is expected", () => {
    const anew = rowOf({ status: "up", lastPingAt: NOON, expectFromAt: minute(30) });
    expect(anew?.fuse).toEqual({ fromAt: minute(30), lateAt: minute(90), alertAt: minute(110) });
    for (const status of ["new", "down", "paused"] as const)
      expect(rowOf({ status })?.fuse, status).toBeNull();
  });
});

test("a duplicate tag is listed once, at its first position", () => {
  expect(rowOf({})?.tags).toEqual(["a", "b"]);
});
