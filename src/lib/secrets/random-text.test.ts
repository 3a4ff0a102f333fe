// Random text cannot be compared with an expectation, but its shape and its spread can.
import { expect, test } from "vitest";
import { randomText } from "./random-text.ts";

test("it has the length asked for and nothing but the alphabet's characters", () => {
  expect(randomText({ alphabet: "ab", length: 50 })).toMatch(/^[ab]{50}$/);
  expect(randomText({ alphabet: "ab", length: 0 })).toBe("");
});

test("every character of the alphabet comes, about equally often", () => {
  const counts = Map.groupBy(
    randomText({ alphabet: "abcdefghij", length: 20_000 }),
    (character) => character,
  );
  expect(counts.size).toBe(10);
  // 2000 expected of each; seven standard deviations are about 300.
  for (const [, all] of counts) expect(Math.abs(all.length - 2_000)).toBeLessThan(300);
});

test("no two are the same", () => {
  const texts = Array.from({ length: 1_000 }, () => randomText({ alphabet: "0123456789", length: 22 }));
  expect(new Set(texts).size).toBe(1_000);
});
