// Holds the documents to what they say: ids and their counts, a proof for every gap, no path that leads
// nowhere. Each check is also fed a broken text, which it must catch.
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  checkCitedGaps,
  checkGaps,
  checkGlossary,
  checkPaths,
  checkSpec,
  citedGaps,
  citedPaths,
  countBySection,
  gapsOf,
} from "./support/documents.ts";

const ROOT = join(import.meta.dirname, "..");

function read(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

function readOrNull(path: string): string | null {
  return existsSync(join(ROOT, path)) ? read(path) : null;
}

function exists(path: string): boolean {
  if (/[*{]/.test(path)) return globSync(path, { cwd: ROOT }).length > 0;
  return existsSync(join(ROOT, path));
}

const SPEC = read("docs/spec.md");
const GAPS = read("docs/gaps.md");

describe("docs/spec.md", () => {
  test("gives every statement one id, under its section, and says how many there are", () => {
    expect(checkSpec(SPEC)).toEqual([]);
  });

  test("has as many ids in each section as were agreed on", () => {
    const counts = countBySection(SPEC);
    expect(counts).toEqual({
      S0: 4,
      S1: 16,
      "S2.1": 44,
      "S2.2": 11,
      "S2.3": 3,
      "S2.4": 3,
      "S2.5": 13,
      S3: 18,
      S4: 5,
      "S4.1": 32,
      "S4.2": 37,
      "S4.3": 7,
      "S4.4": 5,
      "S4.5": 5,
      S5: 14,
      S7: 14,
      S8: 10,
      S9: 24,
      S10: 58,
    });
    expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(323);
  });

  test("points to gaps that exist, and to every question that is left open", () => {
    const gaps = gapsOf(GAPS);
    expect(checkCitedGaps(SPEC, gaps)).toEqual([]);
    const open = gaps.slice(0, 18).map((gap) => gap.id);
    expect(open.at(-1)).toBe("G18");
    expect(citedGaps(SPEC)).toEqual(expect.arrayContaining(open));
  });
});

describe("docs/gaps.md", () => {
  test("answers every question and proves every answer", () => {
    expect(checkGaps(GAPS, readOrNull)).toEqual([]);
    expect(checkCitedGaps(GAPS, gapsOf(GAPS))).toEqual([]);
  });

  test("has lost no question", () => {
    expect(gapsOf(GAPS)).toHaveLength(93);
  });
});

describe("docs/glossary.md", () => {
  test("defines each word once, in alphabetical order", () => {
    expect(checkGlossary(read("docs/glossary.md"))).toEqual([]);
  });

  test.each(["admin", "audit log", "fuse", "grace period", "monitoring gap", "trash"])(
    "defines %s, which pages use without explaining it",
    (word) => expect(read("docs/glossary.md")).toContain(`\n**${word}**: `),
  );
});

describe("every document", () => {
  const documents = globSync(["*.md", "docs/**/*.md"], { cwd: ROOT }).toSorted();

  test("is looked at", () => {
    expect(documents).toEqual(
      expect.arrayContaining([
        "CHANGELOG.md",
        "SECURITY.md",
        "docs/gaps.md",
        "docs/glossary.md",
        "docs/spec.md",
      ]),
    );
    expect(documents.flatMap((document) => citedPaths(read(document), document)).length).toBeGreaterThan(10);
  });

  test.each(documents)("%s cites only files that exist", (document) => {
    expect(checkPaths(read(document), document, exists)).toEqual([]);
  });
});

describe("a broken specification is caught", () => {
  const page = (rows: string, total = 2) =>
    `It holds ${total} ids.\n\n## 1. One\n\n| Id | Statement |\n|---|---|\n${rows}`;

  test("a sound one is not complained about", () => {
    expect(checkSpec(page("| S1-01 | A. |\n| S1-name | B. |"))).toEqual([]);
  });

  test("the same id twice", () => {
    expect(checkSpec(page("| S1-01 | A. |\n| S1-01 | B. |"))).toEqual(["S1-01 is given twice"]);
  });

  test("another number of ids than it says", () => {
    expect(checkSpec(page("| S1-01 | A. |\n| S1-02 | B. |", 3))).toEqual(["says 3 ids, has 2"]);
    expect(checkSpec("## 1. One\n\n| S1-01 | A. |")).toEqual(["says null ids, has 1"]);
  });

  test("an id that is none, or stands in another section, or states nothing", () => {
    expect(checkSpec(page("| S1.Name | A. |\n| S1-02 | B. |"))).toEqual(["line 7: S1.Name is no id"]);
    expect(checkSpec(page("| S2.1-01 | A. |\n| S1-02 | |"))).toEqual([
      "line 7: S2.1-01 stands outside section 2.1",
      "line 8: S1-02 states nothing",
    ]);
  });

  test("a row that was moved or dropped shows in the counts", () => {
    expect(countBySection(page("| S1-01 | A. |\n| S2.1-02 | B. |"))).toEqual({ S1: 1, "S2.1": 1 });
  });
});

describe("a broken page of gaps is caught", () => {
  const page = (proof: string, planned: number) =>
    `Rows with a planned proof: ${planned}.\n\n| Id | Question | Our answer | Proof |\n|---|---|---|---|\n| G01 | Why? | So. | ${proof} |\n`;
  const readTest = (path: string) => (path === "src/core/a.test.ts" ? 'test("it holds", () => {})' : null);

  test("a sound one is not complained about", () => {
    expect(checkGaps(page("planned: services/api", 1), readTest)).toEqual([]);
    expect(checkGaps(page("`src/core/a.test.ts`", 0), readTest)).toEqual([]);
    expect(checkGaps(page('`src/core/a.test.ts` "it holds"; planned: core', 1), readTest)).toEqual([]);
  });

  test("no proof, or words instead of one", () => {
    expect(checkGaps(page("", 0), readTest)).toEqual(["G01 has no proof"]);
    expect(checkGaps(page("by inspection", 0), readTest)).toEqual(['G01: "by inspection" is no proof']);
    expect(checkGaps(page("`src/core/a.ts`", 0), readTest)).toEqual(['G01: "`src/core/a.ts`" is no proof']);
  });

  test("a test that does not exist", () => {
    expect(checkGaps(page("`src/core/b.test.ts`", 0), readTest)).toEqual([
      "G01: src/core/b.test.ts does not exist",
    ]);
    expect(checkGaps(page('`src/core/a.test.ts` "it falls"', 0), readTest)).toEqual([
      'G01: src/core/a.test.ts has no test "it falls"',
    ]);
  });

  test("another number of planned proofs than it says", () => {
    expect(checkGaps(page("planned: core", 2), readTest)).toEqual(["says 2 planned proofs, has 1"]);
    expect(checkGaps(page("`src/core/a.test.ts`", 1), readTest)).toEqual(["says 1 planned proofs, has 0"]);
  });

  test("an id twice, a hole, a missing answer", () => {
    const twice = `${page("planned: core", 2)}| G01 | Why? | So. | planned: core |\n`;
    expect(checkGaps(twice, readTest)).toEqual(["line 6: G01 stands where G02 is due", "G01 is given twice"]);
    const hole = `${page("planned: core", 2)}| G03 | Why? | | planned: core |\n`;
    expect(checkGaps(hole, readTest)).toEqual([
      "line 6: G03 stands where G02 is due",
      "G03 lacks a question or an answer",
    ]);
  });

  test("a reference to a gap that is not there", () => {
    const gaps = gapsOf(page("planned: core", 1));
    expect(checkCitedGaps("see gap G01 and gap G02", gaps)).toEqual(["cites G02, which does not exist"]);
  });
});

describe("a broken glossary is caught", () => {
  test.each([
    ["", "defines nothing"],
    ["**b**: x\n\n**a**: y", '"a" stands after "b"'],
    ["**a**: x\n\n**A**: y", '"a" is defined twice'],
    ["**a**", '"**a**" is no definition'],
  ])("%j", (text, complaint) => {
    expect(checkGlossary(text)).toContain(complaint);
  });
});

describe("a path that leads nowhere is caught", () => {
  const here = (path: string) =>
    ["src/core/check.ts", "docs/spec.md", "src/core", "docs/decisions/*-*.md"].includes(path);

  test.each([
    "`src/core/check.ts`",
    "`src/core/check.ts:12`",
    "`src/core/`",
    "`docs/decisions/NNNN-<what>.md`",
    "[spec](spec.md#3-states)",
    "[spec](../docs/spec.md)",
    "[site](https://example.org/a.md) [below](#below)",
    "`npm run check`",
    "```\nsrc/absent.ts `src/absent.ts`\n```",
  ])("%j is fine", (text) => {
    expect(checkPaths(text, "docs/page.md", here)).toEqual([]);
  });

  test.each([
    ["`src/core/chekc.ts`", "src/core/chekc.ts"],
    ['`test/a.test.ts` "a name"', "test/a.test.ts"],
    ["`migrations/0001_initial.sql`", "migrations/0001_initial.sql"],
    ["`.ci/rum`", ".ci/rum"],
    ["`REDAME.md`", "REDAME.md"],
    ["[spec](sepc.md)", "docs/sepc.md"],
    ["[`code`](gone.md)", "docs/gone.md"],
    ["`docs/*.txt`", "docs/*.txt"],
  ])("%j is not", (text, path) => {
    expect(checkPaths(text, "docs/page.md", here)).toEqual([
      `docs/page.md cites ${path}, which does not exist`,
    ]);
  });
});
