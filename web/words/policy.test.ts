// Policies in words: inherited values with their origin, and summaries of tag rules.
import { expect, test } from "vitest";
import { inheritedText, policySummary } from "./policy.ts";

test.each([
  [inheritedText("failures", { count: 1, of: 1 }, "default"), "Default: every failure"],
  [inheritedText("failures", { count: 3, of: 3 }, "project"), "From the project: 3 in a row"],
  [inheritedText("failures", { count: 2, of: 5 }, "tag:prod"), "From tag prod: 2 of the last 5"],
  [inheritedText("maxRun", null, "default"), "Default: the grace period"],
  [inheritedText("maxRun", 0, "project"), "From the project: no limit"],
  [inheritedText("repeat", 3_600, "tag:a:b"), "From tag a:b: 1 h"],
  [
    inheritedText("groupBy", ["source", "tag:host-"], "project"),
    "From the project: by source address, by tag host-…",
  ],
])("%s", (text, expected) => {
  expect(text).toBe(expected);
});

test("a summary has the fields that are set, also those that switch something off", () => {
  expect(policySummary({ repeat: 0, missed: 2, severity: { failed: "high", missed: "low" } })).toEqual([
    "notify after missed runs: 2 in a row",
    "repeat until acknowledged: never",
    "severity: high for failures, low for missed runs",
  ]);
  expect(policySummary({})).toEqual([]);
});
