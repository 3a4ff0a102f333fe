// What prevents a release: versions that differ, and a changelog without the version.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { changelogSection, planRelease } from "../scripts/release.ts";

const SOURCES = {
  manifest: '{"version":"1.2.3"}',
  lock: '{"version":"1.2.3"}',
  chart: 'name: overdue\nversion: 1.2.3\nappVersion: "1.2.3"\n',
  changelog:
    "# Changelog\n\n## Unreleased\n\n- Next.\n\n## 1.2.3 (2026-11-17)\n\n- Done.\n\n## 1.2.2\n\n- Old.\n",
};

const planned = (changes: Partial<typeof SOURCES> = {}, { tag = "v1.2.3", isDryRun = false } = {}) =>
  planRelease({ ...SOURCES, ...changes }, { tag, isDryRun });

describe("planning a release", () => {
  test("a version that agrees everywhere is released with its part of the changelog", () => {
    expect(planned()).toEqual({ version: "1.2.3", notes: "- Done.\n", problems: [], warnings: [] });
  });

  test.each([
    ["The tag is 1.2.4", {}, "v1.2.4"],
    ["The version in package-lock.json is 1.2.2", { lock: '{"version":"1.2.2"}' }, "v1.2.3"],
    ["The version of the chart is 1.2.2", { chart: 'version: 1.2.2\nappVersion: "1.2.3"\n' }, "v1.2.3"],
    ["The appVersion of the chart is none", { chart: "version: 1.2.3\n" }, "v1.2.3"],
    ['CHANGELOG.md has no section "## 1.2.3"', { changelog: "## Unreleased\n\n- Next.\n" }, "v1.2.3"],
  ])("%s", (said, changes, tag) => {
    expect(planned(changes, { tag }).problems).toEqual([expect.stringContaining(said)]);
  });

  test("a dry run takes the notes of an unreleased version, and warns", () => {
    const plan = planned({ changelog: "## Unreleased\n\n- Next.\n" }, { isDryRun: true });
    expect(plan).toMatchObject({ notes: "- Next.\n", problems: [], warnings: [expect.any(String)] });
  });
});

test.each([
  ["## [1.2.3] - 2026-11-17\n\nText\n", "Text\n"],
  ["## 1.2.30\n\nText\n", null],
  ["## 1.2.3\n\n## 1.2.2\n\nText\n", null],
])("the section 1.2.3 of %j is %j", (changelog, section) => {
  expect(changelogSection(changelog, "1.2.3")).toBe(section);
});

test("the workflows use actions by commit, with the version in a comment", () => {
  for (const name of ["check.yml", "release.yml"]) {
    const text = readFileSync(join(import.meta.dirname, "../.github/workflows", name), "utf8");
    const uses = text.split("\n").filter((line) => /\buses: (?!\.\/)/.test(line));
    expect(uses.filter((line) => !/@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([]);
  }
});
