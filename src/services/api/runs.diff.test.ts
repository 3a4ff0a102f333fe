// Lines that are equal, added, or removed.
import fc from "fast-check";
import { expect, test } from "vitest";
import { diffLines } from "./runs.ts";

function markedLines(before: string, after: string): string[] {
  return diffLines({ before, after }).lines.map(({ mark, text }) => mark + text);
}

test("equal lines are kept, added and removed ones are marked", () => {
  expect(markedLines("a\nb\nc", "a\nx\nc")).toEqual([" a", "-b", "+x", " c"]);
  expect(markedLines("a\r\nb", "a\nb\nc")).toEqual([" a", " b", "+c"]);
});

test("together, the lines make up both texts", () => {
  const text = fc
    .array(fc.constantFrom("a", "b", "c", ""), { minLength: 1, maxLength: 12 })
    .map((lines) => lines.join("\n"));
  fc.assert(
    fc.property(text, text, (before, after) => {
      const { lines } = diffLines({ before, after });
      const side = (mark: string) =>
        lines
          .filter((line) => line.mark !== mark)
          .map((line) => line.text)
          .join("\n");
      expect([side("+"), side("-")]).toEqual([before, after]);
    }),
  );
});

test("of very long texts only the beginnings are compared, and the result says so", () => {
  const long = "line\n".repeat(5_000);
  const { lines, isTruncated } = diffLines({ before: long, after: `${long}more` });
  expect([lines.length, isTruncated]).toEqual([1_000, true]);
});
