// When the heap may grow, and when memory is returned, by the share of time that garbage collection takes.
import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { heapModes } from "./heap-growth.ts";

/** The modes after each check. */
function modesOf(shares: readonly number[]): string[] {
  const next = heapModes();
  return shares.map((share) => next(share));
}

const QUIET = Array.from({ length: 30 }, () => 0);

describe("the heap", () => {
  test("keeps its size at a moderate load", () => {
    expect(new Set(modesOf([0.01, 0.03, 0.02, 0.03, 0.01]))).toEqual(new Set(["keep"]));
  });

  test("grows while collections take much time, and not longer", () => {
    expect(modesOf([0.1, 0.1, 0.1, 0.03, 0.1])).toEqual(["keep", "grow", "grow", "keep", "grow"]);
  });

  test("does not grow because of a single full collection", () => {
    expect(modesOf([0.01, 0.1, 0.01, 0.01])).toEqual(["keep", "keep", "keep", "keep"]);
  });

  test("shrinks after a quiet time, and keeps its size again under load", () => {
    const modes = modesOf([...QUIET, 0.02]);
    expect(modes[5]).toBe("keep");
    expect(modes.at(-2)).toBe("save");
    expect(modes.at(-1)).toBe("keep");
  });
});

test("this Node has all flags, and they work after the start", () => {
  const code = `
    import v8 from "node:v8";
    import { FLAGS } from ${JSON.stringify(new URL("./heap-growth.ts", import.meta.url).href)};
    for (const flags of [FLAGS.grow, FLAGS.save, FLAGS.keep]) for (const flag of flags) v8.setFlagsFromString(flag);
    let kept = [];
    for (let i = 0; i < 3_000_000; i++) if (kept.push([i]) > 100_000) kept = [];
    console.log(v8.getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space").space_size);`;
  const args = ["--input-type=module", "--eval", code];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  expect(stderr).toBe("");
  // With a factor of 2, it grows to the limit of the machine: 64 MiB, or 32.
  expect(Number(stdout)).toBeLessThanOrEqual(8 * 1024 * 1024);
});
