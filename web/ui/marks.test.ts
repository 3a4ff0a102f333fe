// The fuse's shares and the state that a row shows, at the boundaries.
import { describe, expect, test } from "vitest";
import { drawnAt, stateAt } from "../../src/contract/api/check-row.ts";
import { fuseShares, nextLateAt } from "./marks.tsx";

const fuse = { fromAt: 1_000, lateAt: 1_800, alertAt: 2_000 };
const up = { state: "up", fuse, runningSince: null } as const;

describe("The fuse", () => {
  test("is used up in proportion to time, and grace has its share", () => {
    expect(fuseShares(fuse, 1_500)).toEqual({ used: 0.5, grace: 0.8 });
  });

  test("is neither below zero nor above one", () => {
    expect(fuseShares(fuse, 0).used).toBe(0);
    expect(fuseShares(fuse, 9_999).used).toBe(1);
    expect(fuseShares({ fromAt: 5, lateAt: 5, alertAt: 5 }, 5)).toEqual({ used: 1, grace: 1 });
  });
});

describe("The displayed state", () => {
  test("turns late at the instant the server gave, and never down without the server", () => {
    expect(stateAt(up, 1_799)).toBe("up");
    expect(stateAt(up, 1_800)).toBe("late");
    expect(stateAt(up, 99_999)).toBe("late");
  });

  test("does not change with time in other states", () => {
    for (const state of ["new", "down", "paused"] as const) {
      expect(stateAt({ ...up, state }, 99_999)).toBe(state);
    }
  });

  test("is running during a run, unless there is a worse state", () => {
    const running = { ...up, runningSince: 1_100 };
    expect(drawnAt(running, 1_200)).toBe("running");
    expect(drawnAt(running, 1_900)).toBe("late");
    expect(drawnAt({ ...running, state: "down" }, 1_200)).toBe("down");
  });

  test("changes next at the earliest late instant to come", () => {
    const later = { ...up, fuse: { ...fuse, lateAt: 1_900 } };
    expect(nextLateAt([later, up], 1_000)).toBe(1_800);
    expect(nextLateAt([later, up], 1_850)).toBe(1_900);
    expect(nextLateAt([{ ...up, state: "down" }], 0)).toBe(Number.POSITIVE_INFINITY);
  });
});
