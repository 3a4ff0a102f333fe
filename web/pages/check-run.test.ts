// Folding equal lines, and searching.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { DiffLine } from "../../src/contract/api/history.ts";
import { foldSame, splitByMatches } from "./check-run.tsx";

const same = (count: number): DiffLine[] =>
  Array.from({ length: count }, (_, k) => ({ mark: " ", text: String(k) }));

test("long runs of equal lines are folded, with three lines left beside each change", () => {
  const parts = foldSame([...same(10), { mark: "+", text: "new" }, ...same(5)]);
  expect(parts.map(({ kind, lines }) => [kind, lines.length])).toEqual([
    ["folded", 7],
    ["shown", 7],
    ["shown", 2],
  ]);
});

test("no line is lost by folding", () => {
  const line = fc.record({
    mark: fc.constantFrom(" " as const, "+" as const, "-" as const),
    text: fc.string(),
  });
  fc.assert(
    fc.property(fc.array(line), (lines) => {
      expect(foldSame(lines).flatMap((part) => part.lines)).toEqual(lines);
    }),
  );
});

test("matches ignore letter case", () => {
  expect(splitByMatches("Error: no ERROR", "error")).toEqual(["", "Error", ": no ", "ERROR", ""]);
  expect(splitByMatches("text", "")).toEqual(["text"]);
  expect(splitByMatches("İstanbul", "stan")).toEqual(["İ", "stan", "bul"]);
});

test("the parts joined together are the text", () => {
  fc.assert(
    fc.property(fc.string(), fc.string({ minLength: 1, maxLength: 2 }), (text, search) => {
      expect(splitByMatches(text, search).join("")).toBe(text);
    }),
  );
});
