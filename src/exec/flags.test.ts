import { describe, expect, test } from "vitest";
import { FLAGS, parseDuration, readLine } from "./flags.ts";
import { helpOf } from "./help.ts";

/** The flags of runitor 1.4. */
const RUNITOR = [
  "api-retries",
  "api-timeout",
  "api-url",
  "create",
  "every",
  "no-output-in-ping",
  "no-run-id",
  "no-start-ping",
  "on-exec-fail",
  "on-nonzero-exit",
  "on-success",
  "ping-body-limit",
  "ping-key",
  "quiet",
  "req-header",
  "silent",
  "slug",
  "uuid",
  "version",
];

test("every flag of runitor is known", () => {
  expect(
    FLAGS.filter(({ runners }) => (runners as readonly string[]).includes("exec")).map(({ name }) => name),
  ).toEqual(expect.arrayContaining(RUNITOR));
});

describe("a command line", () => {
  test.each([
    [["-slug", "a", "--", "x", "-y"], { slug: "a" }, ["x", "-y"]],
    [["--slug", "a", "x", "--", "-y"], { slug: "a" }, ["x", "--", "-y"]],
    [["-slug=a=b", "x"], { slug: "a=b" }, ["x"]],
    [["--slug=", "x"], { slug: "" }, ["x"]],
    [["-slug", "a", "-slug", "b", "x"], { slug: "b" }, ["x"]],
    [["-slug", "-create", "x"], { slug: "-create" }, ["x"]],
    [["-create", "x"], { create: "on" }, ["x"]],
    [["-create=false", "x"], {}, ["x"]],
    [["-create=T", "x"], { create: "on" }, ["x"]],
    [["--", "--", "x"], {}, ["x"]],
    [["-", "x"], {}, ["-", "x"]],
    [["-h"], { help: "on" }, []],
    [[], {}, []],
  ])("%j", (args, values, rest) => {
    const line = readLine("exec", args);
    expect({ values: Object.fromEntries(line.values), rest: line.rest, problems: line.problems }).toEqual({
      values,
      rest,
      problems: [],
    });
  });

  test.each([
    [["-banana", "--", "x"], ["x"], ["Unknown flag -banana, ignored."]],
    [["-banana", "split", "--", "x"], ["x"], ["Unknown flag -banana, ignored.", 'Ignored argument "split".']],
    [["-banana=split", "x"], ["x"], ["Unknown flag -banana, ignored."]],
    [["-slug", "--", "x"], ["x"], ["-slug needs a value, ignored."]],
    [["-slug"], [], ["-slug needs a value, ignored."]],
    [["-create=maybe", "x"], ["x"], ["-create takes no value other than true or false, ignored."]],
    [["---slug", "--", "x"], ["---slug", "--", "x"], []],
  ])("with mistakes: %j", (args, rest, problems) => {
    expect(readLine("exec", args)).toMatchObject({ rest, problems });
  });

  test("overdue ping takes flags after its arguments", () => {
    const line = readLine("ping", ["job", "-create", "fail", "--rid", "x"]);
    expect(line.rest).toEqual(["job", "fail"]);
    expect(Object.fromEntries(line.values)).toEqual({ create: "on", rid: "x" });
  });
});

test.each([
  ["90", 90_000],
  ["0.5", 500],
  ["90s", 90_000],
  ["1h30m", 5_400_000],
  ["1.5h", 5_400_000],
  ["250ms", 250],
  ["2d", 172_800_000],
  ["1w", 604_800_000],
  ["0", 0],
  ["", null],
  ["-1s", null],
  ["1x", null],
  ["1h 30m", null],
  ["9999w", null],
  ["NaN", null],
])("the duration %j is %j ms", (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

describe.each(["exec", "ping", "flush"] as const)("the help of %s", (runner) => {
  const help = helpOf(runner);

  test("fits into 80 columns", () => {
    expect(help.split("\n").filter((line) => line.length > 80)).toEqual([]);
  });

  test("lists every flag, has examples, and exit codes", () => {
    for (const { name, runners } of FLAGS) {
      if ((runners as readonly string[]).includes(runner)) expect(help).toContain(`  -${name}`);
    }
    expect(help).toContain("Examples:");
    expect(help).toContain("Exit codes:");
  });
});
