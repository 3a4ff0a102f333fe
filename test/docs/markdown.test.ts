// Reading samples and directives, and what is done with each.
import { expect, test } from "vitest";
import { stateOf } from "./languages.ts";
import { readSamples } from "./markdown.ts";

const FENCE = "```";

/** Directives and language, in short. */
function read(...lines: string[]): { samples: string[]; problems: string[] } {
  const { samples, problems } = readSamples(lines.join("\n"));
  const shown = samples.map(({ line, heading, language, text, directives }) =>
    [line, heading, language, JSON.stringify(text), JSON.stringify(directives)].join(" "),
  );
  return { samples: shown, problems };
}

test("a block has a line, a heading, a language, a text, and the directives above it", () => {
  expect(
    read(
      "# One",
      "## Two",
      "<!-- before: mkdir a -->",
      "<!-- status: 7 -->",
      `${FENCE}sh [curl]`,
      "a",
      "b",
      FENCE,
    ),
  ).toEqual({ samples: [String.raw`5 Two sh "a\nb\n" {"before":"mkdir a","status":"7"}`], problems: [] });
});

test("a block in a list loses its indent, and a comment in a block is not a directive", () => {
  expect(read("1. x", `   ${FENCE}sh`, "   a", "     b", "", "   <!-- gone: 1 -->", `   ${FENCE}`)).toEqual({
    samples: [String.raw`2  sh "a\n  b\n\n<!-- gone: 1 -->\n" {}`],
    problems: [],
  });
});

test.each([
  [["<!-- gone: 1 -->"], ["1: unknown directive"]],
  [["<!-- a sentence -->"], ["1: unknown directive"]],
  [["<!-- status: 1 -->", "text"], ["2: a directive is not above a block"]],
  [["<!-- generated: kinds -->", "<!-- end -->"], []],
  [[`${FENCE}sh`, "a"], ["1: the block has no end"]],
])("%j has these problems: %j", (lines, problems) => {
  expect(read(...lines).problems).toEqual(problems);
});

test.each([
  [[`${FENCE}sh`, "a", FENCE], ["run"]],
  [["<!-- untested: needs Docker -->", `${FENCE}sh`, "a", FENCE], ["untested"]],
  [[`${FENCE}yaml`, "a: 1", FENCE], ["syntax"]],
  [[`${FENCE}text`, "a", FENCE], ["output"]],
  [[`${FENCE}cobol`, "a", FENCE], [null]],
  [[FENCE, "a", FENCE], [null]],
  [
    ["<!-- file: a.yml -->", `${FENCE}yaml`, "a: 1", FENCE, "", `${FENCE}sh`, "cat a.yml", FENCE],
    ["run", "run"],
  ],
  [
    ["<!-- file: a.yml -->", `${FENCE}yaml`, "a: 1", FENCE, "", `${FENCE}sh`, "ls", FENCE],
    ["syntax", "run"],
  ],
])("the samples of %j are %j", (lines, kinds) => {
  const { samples } = readSamples(lines.join("\n"));
  expect(samples.map((sample) => stateOf(sample, samples)?.kind ?? null)).toEqual(kinds);
});
