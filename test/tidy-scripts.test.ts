// The scripts that judge the repository are judged here: what is stale is found, what fails is counted, and
// nothing passes by not being run.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { runSteps, type Step } from "../scripts/check.ts";
import { completeLock, type Lock } from "../scripts/complete-lock.ts";
import { generate, section } from "../scripts/generate.ts";
import { countTests } from "../scripts/test-report.ts";

const folder = mkdtempSync(join(tmpdir(), "overdue-scripts-"));
afterAll(() => rmSync(folder, { recursive: true }));

function place(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

const reportOf = (...files: { status: string; tests: string[]; name?: string }[]): string =>
  JSON.stringify({
    testResults: files.map(({ status, tests, name = "some.test.ts" }) => ({
      name,
      status,
      message: "",
      assertionResults: tests.map((one, at) => ({
        status: one,
        fullName: `test ${at}`,
        failureMessages: one === "failed" ? ["too late\nat a line"] : [],
      })),
    })),
  });

describe("Counting tests", () => {
  test("counts each test of a good run", () => {
    const report = reportOf({ status: "passed", tests: ["passed", "passed", "pending"] });
    expect(countTests({ report, exitCode: 0 })).toEqual({ passed: 2, failed: 0, skipped: 1 });
  });

  test("counts each failed test once", () => {
    const report = reportOf({ status: "failed", tests: ["passed", "failed", "failed"] });
    expect(countTests({ report, exitCode: 1 })).toEqual({ passed: 1, failed: 2, skipped: 0 });
  });

  test.each([
    [
      "a file that could not be loaded",
      reportOf({ status: "failed", tests: [] }, { status: "passed", tests: ["passed"] }),
      1,
    ],
    ["a run that ended badly without a failed test", reportOf({ status: "passed", tests: ["passed"] }), 1],
    ["a run without tests", reportOf(), 0],
    ["a run in which every test was skipped", reportOf({ status: "passed", tests: ["pending"] }), 0],
    ["a run that left no report", null, 0],
  ])("counts a failure for %s", (_what, report, exitCode) => {
    expect(countTests({ report, exitCode }).failed).toBe(1);
  });
});

const step = (name: string, code: string, more: Partial<Step> = {}): Step => ({
  name,
  what: "planted",
  program: place(`${name}.ts`, code),
  args: [],
  minutesMax: 1,
  ...more,
});

async function printed(...steps: Step[]): Promise<string[]> {
  let text = "";
  await runSteps(steps, (more) => (text += more));
  return text.split("\n").map((line) => line.replace(/ +[\d.]+ s/, "").trimEnd());
}

describe("Running the steps", () => {
  test("prints one line for each and counts them at the end", async () => {
    expect(await printed(step("one", 'console.log("unseen")'), step("two", ""))).toEqual([
      "one        ok",
      "two        ok",
      "2 passed, 0 failed",
      "",
    ]);
  });

  test("shows what a failed step said, and runs the next one all the same", async () => {
    const bad = step("bad", 'console.log("out"); console.error("err"); process.exitCode = 3');
    const lines = await printed(bad, step("good", ""));
    expect(lines).toEqual(expect.arrayContaining(["bad        FAILED", "out", "err", "good       ok"]));
    expect(lines.at(-2)).toBe("1 passed, 1 failed");
  });

  test("counts the tests of a step that reports them; what was skipped stands in its line, not in the last one", async () => {
    const report = join(folder, "report.json");
    const text = reportOf({ status: "passed", tests: ["passed", "passed", "pending"] });
    const code = `import { writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(report)}, ${JSON.stringify(text)});`;
    expect(await printed(step("tests", code, { report }))).toEqual([
      "tests      ok  2 passed, 0 failed, 1 skipped",
      "2 passed, 0 failed",
      "",
    ]);
  });

  test("does not count a report that an earlier run left behind", async () => {
    const report = place("old.json", reportOf({ status: "passed", tests: ["passed"] }));
    expect((await printed(step("tests", "", { report }))).at(-2)).toBe("0 passed, 1 failed");
  });

  test("says so when a step was killed", async () => {
    const lines = await printed(step("killed", 'process.kill(process.pid, "SIGKILL")'));
    expect(lines).toContain("Ended by SIGKILL.");
    expect(lines.at(-2)).toBe("0 passed, 1 failed");
  });

  test("ends a step that takes too long", async () => {
    const lines = await printed(step("endless", "setInterval(() => {}, 1_000)", { minutesMax: 0.005 }));
    expect(lines).toContain("Ended after its limit of 0.005 minutes.");
    expect(lines.at(-2)).toBe("0 passed, 1 failed");
  });
});

test("a failed test is not run again, and of a failed run only the failures are shown", async () => {
  const report = join(folder, "failed.json");
  const text = reportOf({ status: "failed", tests: ["passed", "failed"] });
  const code = `
    import { appendFileSync, writeFileSync } from "node:fs";
    appendFileSync(${JSON.stringify(join(folder, "runs"))}, "run ");
    writeFileSync(${JSON.stringify(report)}, ${JSON.stringify(text)});
    console.log("✓ a test that passed");
    console.log("⎯⎯ Failed Tests 1 ⎯⎯");
    process.exitCode = 1;
  `;
  const lines = await printed(step("tests", code, { report }));
  expect(readFileSync(join(folder, "runs"), "utf8")).toBe("run ");
  expect(lines).toEqual(
    expect.arrayContaining([
      "tests      FAILED  1 passed, 1 failed",
      "  some.test.ts > test 1: too late",
      "⎯⎯ Failed Tests 1 ⎯⎯",
    ]),
  );
  expect(lines.join("\n")).not.toContain("✓");
  expect(lines.at(-2)).toBe("1 passed, 1 failed");
});

describe("Generating", () => {
  const files = [
    { path: "whole.txt", render: () => "fresh\n" },
    section("doc.md", "one", () => "| table |\n"),
    section("doc.md", "two", () => "text"),
  ];
  const document =
    "# Head\n<!-- generated: one -->old<!-- end -->\nBetween.\n<!-- generated: two --><!-- end -->\nEnd.\n";

  test("finds what is stale and writes nothing when it is only asked to check", async () => {
    place("doc.md", document);
    expect(await generate({ root: folder, files, write: false })).toEqual(["whole.txt", "doc.md"]);
    expect(readFileSync(join(folder, "doc.md"), "utf8")).toBe(document);
  });

  test("replaces sections, keeps the rest, and finds everything fresh afterwards", async () => {
    place("doc.md", document);
    await generate({ root: folder, files, write: true });
    expect(readFileSync(join(folder, "doc.md"), "utf8")).toBe(
      "# Head\n<!-- generated: one -->\n\n| table |\n\n<!-- end -->\nBetween.\n" +
        "<!-- generated: two -->\n\ntext\n\n<!-- end -->\nEnd.\n",
    );
    expect(await generate({ root: folder, files, write: false })).toEqual([]);
  });

  test("sees a generated file that was edited by hand", async () => {
    await generate({ root: folder, files, write: true });
    place("whole.txt", "fresh, and edited\n");
    expect(await generate({ root: folder, files, write: false })).toEqual(["whole.txt"]);
  });

  test("refuses a document that has lost its section", async () => {
    place("doc.md", "# Head\n");
    await expect(generate({ root: folder, files, write: true })).rejects.toThrow(
      'no section between "<!-- generated: one',
    );
  });
});

describe("Completing the lock file", () => {
  const lockOf = (optionalDependencies: Record<string, string>): Lock => ({
    packages: {
      "": {},
      "node_modules/tool": { version: "1.0.0", license: "MIT", dev: true, optionalDependencies },
      "node_modules/@tool/linux-x64": { version: "1.0.0" },
    },
  });

  test("adds what is missing with its platform, and leaves the rest alone", () => {
    const names = {
      "@tool/linux-x64": "1.0.0",
      "@tool/binding-linux-arm64-musl": "1.0.0",
      "@tool/darwin-arm64": "1.0.0",
    };
    const before = lockOf(names);
    const { lock, added } = completeLock(before);
    expect(added).toEqual(["@tool/binding-linux-arm64-musl", "@tool/darwin-arm64"]);
    expect(lock.packages).toEqual({
      ...before.packages,
      "node_modules/@tool/binding-linux-arm64-musl": {
        version: "1.0.0",
        cpu: ["arm64"],
        dev: true,
        libc: ["musl"],
        license: "MIT",
        optional: true,
        os: ["linux"],
      },
      "node_modules/@tool/darwin-arm64": {
        version: "1.0.0",
        cpu: ["arm64"],
        dev: true,
        license: "MIT",
        optional: true,
        os: ["darwin"],
      },
    });
    expect(completeLock(lock).added).toEqual([]);
  });

  test.each([{ "@tool/darwin-arm64": "^1.0.0" }, { "@tool/extras": "1.0.0" }])(
    "refuses to guess: %j",
    (names) => {
      expect(() => completeLock(lockOf(names))).toThrow("has no version or platform");
    },
  );
});
