// The documents: each statement of the specification and each answer to a gap has a test that exists, and no document
// mentions a file that does not exist.
import { existsSync, globSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { describe, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "..");

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

/** The table rows of a Markdown text whose first cell is an ID. */
function rowsOf(text: string): { id: string; cells: string[] }[] {
  return text.split("\n").flatMap((line) => {
    const cells = line.split(/(?<!\\)\|/).map((cell) => cell.trim());
    const id = cells[1] ?? "";
    return /^[SG]\d/.test(id) ? [{ id, cells: cells.slice(2, -1) }] : [];
  });
}

/** What is wrong with the last cell of a row: a list of test files or recorded cases, each with a title or none. */
function problemsOf({ id, cells }: { id: string; cells: string[] }): string[] {
  return (cells.at(-1) ?? "").split("; ").flatMap((part) => {
    const [, path, title] = /^`([^`]+)`(?: "(.+)")?$/.exec(part.replaceAll(String.raw`\|`, "|")) ?? [];
    if (path === undefined) return part.startsWith("planned: ") ? [] : [`${id}: "${part}" is not a test`];
    if (!existsSync(join(ROOT, path))) return [`${id}: ${path} does not exist`];
    return title === undefined || hasTest(path, title) ? [] : [`${id}: ${path} has no test "${title}"`];
  });
}

function hasTest(path: string, title: string): boolean {
  const text = read(path);
  if (path.endsWith(".json")) {
    return (JSON.parse(text) as { cases: { name: string }[] }).cases.some(({ name }) => name === title);
  }
  return ['"', "'", "`"].some((quote) => text.includes(quote + title + quote));
}

const idsOf = (path: string) => rowsOf(read(path)).map(({ id }) => id);

describe("docs/contribute/conformance.md", () => {
  test("lists each statement of docs/contribute/spec.md once, and nothing else", () => {
    const ids = idsOf("docs/contribute/spec.md");
    expect(new Set(ids).size).toBe(ids.length);
    expect(idsOf("docs/contribute/conformance.md")).toEqual(ids);
  });

  test.each(["docs/contribute/conformance.md", "docs/contribute/gaps.md"])(
    "%s names tests that exist",
    (page) => {
      expect(rowsOf(read(page)).flatMap(problemsOf)).toEqual([]);
    },
  );

  test.each([
    ["`test/docs.test.ts`", []],
    ['`test/docs.test.ts` "%s names tests that exist"', []],
    ['`test/tidy.test.ts` "gone"', ['S1: test/tidy.test.ts has no test "gone"']],
    ["`test/gone.test.ts`", ["S1: test/gone.test.ts does not exist"]],
    ["", ['S1: "" is not a test']],
  ])("the tests %j have these problems: %j", (cell, problems) => {
    expect(problemsOf({ id: "S1", cells: [cell] })).toEqual(problems);
  });

  test("every gap that a page mentions exists", () => {
    const gaps = new Set(idsOf("docs/contribute/gaps.md"));
    const mentioned = ["docs/contribute/spec.md", "docs/contribute/gaps.md"].flatMap(
      (page) => read(page).match(/\bG\d\d+\b/g) ?? [],
    );
    expect(mentioned.filter((id) => !gaps.has(id))).toEqual([]);
  });
});

test("the glossary is in alphabetical order, and defines each term once", () => {
  const terms = [...read("docs/contribute/glossary.md").matchAll(/^\*\*([^*]+)\*\*: /gm)].map(
    ([, term = ""]) => term.toLowerCase().replaceAll("_", " "),
  );
  expect(terms.length).toBeGreaterThan(0);
  expect(terms).toEqual([...new Set(terms)].toSorted());
});

/** The files that a document mentions: code that starts with a folder of the repository, and relative links. */
function mentionedPaths(text: string, document: string): string[] {
  const prose = text.replace(/^(```|~~~)[\s\S]*?^\1/gm, "");
  const code = [
    ...prose.matchAll(
      /`((?:src|test|docs|deploy|migrations|scripts|bench|web|\.ci|\.github)\/[^\s"`]*)[^`\n]*`/g,
    ),
  ];
  const links = [...prose.replace(/`[^`\n]+`/g, "").matchAll(/\]\((?![a-z]+:|#)([^)\s#]+)[^)]*\)/g)];
  return [
    ...code.map(([, path = ""]) => path),
    ...links.map(([, path = ""]) => posix.join(posix.dirname(document), path)),
  ].map((path) => path.replace(/:\d+(?:-\d+)?$|[/.,;]+$/g, "").replace(/<[^>]+>|NNNN|…/g, "*"));
}

function exists(path: string): boolean {
  return /[*{]/.test(path) ? globSync(path, { cwd: ROOT }).length > 0 : existsSync(join(ROOT, path));
}

test.each(globSync(["*.md", "docs/**/*.md"], { cwd: ROOT }).toSorted())(
  "%s mentions only files that exist",
  (document) => {
    const missing = mentionedPaths(read(document), document).filter((path) => !exists(path));
    expect(missing).toEqual([]);
  },
);

test("a file that does not exist is found", () => {
  const text = "`src/main.ts:1`, `src/core/`, [spec](spec.md#3-states), `src/gone.ts`, [gone](gone.md)";
  const missing = mentionedPaths(text, "docs/contribute/page.md").filter((path) => !exists(path));
  expect(missing).toEqual(["src/gone.ts", "docs/contribute/gone.md"]);
});
