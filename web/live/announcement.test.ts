// A burst of flips is read out as a few names and a number, and a check without a name by a word for it.
import { expect, test } from "vitest";
import { announcement } from "./announcement.ts";

const flips = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ name: `job ${n}`, to: "down" as const }));

test("each flip is a sentence, also of a check without a name", () => {
  expect(announcement([{ name: "backup", to: "down" }])).toBe("backup went down.");
  expect(announcement([...flips(1), { name: "", to: "up" }])).toBe("job 0 went down. unnamed is up again.");
});

test("of many only the first are named", () => {
  expect(announcement(flips(5))).toMatch(/job 4 went down\.$/);
  expect(announcement(flips(6))).toMatch(/job 4 went down\. And 1 more\.$/);
  expect(announcement(flips(1_000))).toMatch(/And 995 more\.$/);
});
