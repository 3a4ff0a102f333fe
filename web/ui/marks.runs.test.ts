// The text of the strip of runs and the line of durations.
import { describe, expect, test } from "vitest";
import { runPaths, runsSentence, sparkPoints, TREND_NOTABLE } from "./marks.tsx";

const BOX = { width: 72, height: 20 };

describe("The strip of runs as text", () => {
  test("counts each outcome, the most frequent first", () => {
    expect(runsSentence(["u", "f", "u", "u", "r"])).toBe("last 5 runs: 3 success, 1 failure, 1 running");
    expect(runsSentence([])).toBe("no runs yet");
  });
});

describe("The strip of runs", () => {
  const box = { width: 120, height: 20, count: 30 };
  const linesOf = (path: string) => path.split("M").length - 1;

  test("has one path for each kind, and as many lines as places", () => {
    const paths = runPaths(["u", "f", "u"], box);
    expect(paths.map(({ kind, path }) => [kind, linesOf(path)])).toEqual([
      ["none", 27],
      ["u", 2],
      ["f", 1],
    ]);
  });

  test("is aligned to the new end", () => {
    expect(runPaths(["u"], box).at(-1)?.path).toMatch(/^M118\.0 /);
  });
});

describe("The line of durations", () => {
  test("stays inside its box, whatever the durations are", () => {
    for (const ms of [
      [1, 1_000_000],
      [5, 5, 5],
      [9, 1],
      [0, 0],
    ]) {
      const { points } = sparkPoints(ms, BOX);
      for (const [x, y] of points.split(" ").map((pair) => pair.split(",").map(Number))) {
        expect(x).toBeGreaterThanOrEqual(0);
        expect(x).toBeLessThanOrEqual(BOX.width);
        expect(y).toBeGreaterThanOrEqual(0);
        expect(y).toBeLessThanOrEqual(BOX.height);
      }
    }
  });

  test("is not drawn for fewer than two runs", () => {
    expect(sparkPoints([5], BOX).end).toBeNull();
  });

  test("detects that the last runs took clearly longer", () => {
    expect(sparkPoints([10, 10, 10, 10, 14, 15, 14], BOX).trend).toBeGreaterThan(TREND_NOTABLE);
    expect(sparkPoints([10, 11, 10, 9, 10, 11, 10], BOX).trend).toBeLessThan(TREND_NOTABLE);
  });
});
