// Words that pages for users and operators must not contain: files of this repository, and phrases that a machine can
// recognize as unclear.
import { globSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readPage } from "./markdown.ts";

const ROOT = join(import.meta.dirname, "../..");
const PAGES = globSync(["README.md", "docs/{guide,operate}/**/*.md"], { cwd: ROOT }).toSorted();

/** A user does not have the source. The README is also for contributors. */
const SOURCE_FILE = /(?<![\w/.-])(?:src|test|web|scripts|bench|fuzz)\/[\w*][\w*./-]*|[\w/-]+\.tsx?\b/g;

const PHRASES = [
  "nobody",
  "whoever",
  "is told",
  "are told",
  "at all",
  "besides",
  "meanwhile",
  "as a whole",
  "of its own",
  "that which",
  "hears of",
  "ways in",
  "ways out",
  "put aside",
  "record of changes",
];
const PHRASE = new RegExp(String.raw`\b(?:${PHRASES.join("|")})\b`, "gi");

/** Matches outside of samples, each with its line. */
function matches(text: string, pattern: RegExp): string[] {
  const prose = text.replaceAll(/^( *)(```|~~~)[\s\S]*?^\1\2/gm, (block) => block.replaceAll(/[^\n]/g, ""));
  return prose
    .split("\n")
    .flatMap((line, index) => [...line.matchAll(pattern)].map(([found]) => `${index + 1}: ${found}`));
}

const forReaders = PAGES.filter((page) => page !== "README.md");

test.each(forReaders)("%s names no source file", (page) => {
  expect(matches(readPage(page), SOURCE_FILE)).toEqual([]);
});

test.each(PAGES)("%s has no unclear phrases", (page) => {
  expect(matches(readPage(page), PHRASE)).toEqual([]);
});

test.each([
  ["See `src/core/check.ts`.", SOURCE_FILE, ["1: src/core/check.ts"]],
  ["one\n`test/store/` has it", SOURCE_FILE, ["2: test/store/"]],
  ["the page check.tsx", SOURCE_FILE, ["1: check.tsx"]],
  ["```sh\ncat src/main.ts\n```\n/usr/src/linux, https://example.org/test/x", SOURCE_FILE, []],
  ["Nobody\nis told of it.", PHRASE, ["1: Nobody", "2: is told"]],
  ["Users are notified.", PHRASE, []],
])("in %j, %s finds %j", (text, pattern, found) => {
  expect(matches(text, pattern)).toEqual(found);
});

test("the words for the spelling check are sorted", () => {
  const words = readPage("docs/words.txt").trim().split("\n");
  expect(words).toEqual([...new Set(words)].toSorted());
});
