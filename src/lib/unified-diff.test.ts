// Diffs as diff(1) prints them, and that patch(1) accepts them.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { unifiedDiff } from "./unified-diff.ts";

const numbers = (count: number) => Array.from({ length: count }, (_, index) => `line ${index + 1}\n`);
const hasPatch = spawnSync("patch", ["--version"]).status === 0;

test("equal texts have none", () => {
  expect(unifiedDiff("a\n", "a\n", { from: "x" })).toBe("");
});

test("changes are shown with three lines around them, and distant ones apart", () => {
  const before = numbers(20);
  const after = before.with(4, "changed\n").toSpliced(15, 1);
  expect(unifiedDiff(before.join(""), after.join(""), { from: "a", to: "b" })).toBe(
    "--- a\n+++ b\n@@ -2,7 +2,7 @@\n line 2\n line 3\n line 4\n-line 5\n+changed\n line 6\n line 7\n line 8\n" +
      "@@ -13,7 +13,6 @@\n line 13\n line 14\n line 15\n-line 16\n line 17\n line 18\n line 19\n",
  );
});

test("a new text, and one without a last line end", () => {
  expect(unifiedDiff("", "a\nb", { from: "/dev/null", to: "x" })).toBe(
    "--- /dev/null\n+++ x\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n",
  );
});

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "overdue-diff-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.skipIf(!hasPatch)("patch makes the new text of the old one", () => {
  const text = fc
    .array(fc.constantFrom("a\n", "b\n", "c\n", "\n", "d e\n"), { maxLength: 30 })
    .chain((lines) => fc.constantFrom(lines.join(""), `${lines.join("")}end`));
  const path = join(folder, "text");
  fc.assert(
    fc.property(text, text, (before, after) => {
      if (before === after || before === "" || after === "") return;
      writeFileSync(path, before);
      const { status, stdout } = spawnSync("patch", ["-s", path], {
        input: unifiedDiff(before, after, { from: "a" }),
        encoding: "utf8",
      });
      expect([status, stdout]).toEqual([0, ""]);
      expect(readFileSync(path, "utf8")).toBe(after);
    }),
    { numRuns: 50 },
  );
});
