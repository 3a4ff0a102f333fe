// A burst of flips is announced as a few names and a number; a check without a name has a placeholder.
import { expect, test } from "vitest";
import { announcement } from "./flips.tsx";

const flips = (count: number) =>
  Array.from({ length: count }, (_, n) => ({
    checkName: `job ${n}`,
    from: "up" as const,
    to: "down" as const,
  }));

test("each flip is a sentence, also of a check without a name", () => {
  expect(announcement([{ checkName: "backup", from: "up", to: "down" }])).toBe("backup went down.");
  expect(announcement([...flips(1), { checkName: "", from: "down", to: "up" }])).toBe(
    "job 0 went down. unnamed is up again.",
  );
});

test('a check that comes up for the first time, or after a pause, is not "up again"', () => {
  for (const from of ["new", "paused"] as const)
    expect(announcement([{ checkName: "backup", from, to: "up" }])).toBe("backup is up.");
});

test("only the first of many are named", () => {
  expect(announcement(flips(5))).toMatch(/job 4 went down\.$/);
  expect(announcement(flips(6))).toMatch(/job 4 went down\. And 1 more\.$/);
  expect(announcement(flips(1_000))).toMatch(/And 995 more\.$/);
});
