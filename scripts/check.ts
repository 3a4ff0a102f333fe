// Runs the steps of the check in order, for developers and CI: one line per step, and a last line with the totals. A
// step that fails does not stop the others. Failed tests are not run again.
import { spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs, stripVTControlCharacters } from "node:util";
import { endWithUs } from "../test/support/end-with-us.ts";
import { type Count, countTests, failureLines, NO_TESTS } from "./test-report.ts";

export type Step = {
  name: string;
  what: string;
  /** npm package and the program in it, or a script of ours. */
  program: readonly [string, string] | string;
  args: readonly string[];
  minutesMax: number;
  /** Where the program writes vitest's report; its tests are then counted one by one. */
  report?: string;
};

const ROOT = join(import.meta.dirname, "..");
const REPORT_PATH = join(ROOT, "test-results/vitest.json");

/** Time for output to arrive after a step was stopped, before it is killed. */
const KILL_GRACE_MS = 5_000;

/** Lines of a failed step that are shown: of failed tests the first, of anything else the last ones. */
const LINES_MAX = 400;

/** Where vitest begins to list failures; the passed tests are before it. */
const FAILURES_BEGIN = /^⎯+ (?:Failed|Unhandled) /m;

/** The exit code that a shell expects of an interrupted program. */
const INTERRUPTED = 130;

const STEPS: readonly Step[] = [
  {
    name: "format",
    what: "formatting is correct (fix with: npm run format)",
    program: ["@biomejs/biome", "biome"],
    args: ["format", "."],
    minutesMax: 2,
  },
  {
    name: "lint",
    what: "oxlint, with type information, reports nothing",
    program: ["oxlint", "oxlint"],
    args: ["--deny-warnings"],
    minutesMax: 5,
  },
  {
    name: "types",
    what: "there are no type errors",
    program: ["typescript", "tsc"],
    args: ["-p", "."],
    minutesMax: 5,
  },
  {
    name: "types-web",
    what: "the dashboard has no type errors",
    program: ["typescript", "tsc"],
    args: ["-p", "web"],
    minutesMax: 5,
  },
  {
    name: "types-docs",
    what: "the documentation site has no type errors",
    program: ["typescript", "tsc"],
    args: ["-p", "docs"],
    minutesMax: 5,
  },
  {
    name: "dead-code",
    what: "knip finds nothing unused",
    program: ["knip", "knip"],
    args: [],
    minutesMax: 5,
  },
  {
    name: "dead-code",
    what: "knip finds nothing in src and web that only tests use",
    program: ["knip", "knip"],
    args: ["--production"],
    minutesMax: 5,
  },
  {
    name: "fresh",
    what: "generated files are up to date (fix with: npm run generate)",
    program: "scripts/generate.ts",
    args: ["--check"],
    minutesMax: 5,
  },
  {
    name: "spelling",
    what: "documents and texts have no misspelled words (new words: docs/words.txt)",
    program: ["cspell", "cspell"],
    args: ["lint", "--no-progress", "--no-summary"],
    minutesMax: 5,
  },
  {
    name: "tests",
    what: "all tests pass",
    program: ["vitest", "vitest"],
    args: [
      "run",
      "--allowOnly=false",
      "--silent=passed-only",
      "--reporter=default",
      "--reporter=json",
      `--outputFile.json=${REPORT_PATH}`,
    ],
    minutesMax: 70,
    report: REPORT_PATH,
  },
];

const HELP = `Judges the whole repository, as CI does.

Usage: npm run check [-- --only NAME[,NAME...]]

  --only    run only these steps
  --help    show this text

Steps, in order:
${STEPS.map(({ name, what }) => `  ${name.padEnd(10)}${what}`).join("\n")}

The last line is "N passed, N failed": each step counts as one, of the tests each counts for itself.
The exit code is 1 when anything failed, or when tests were asked for and none ran.
`;

type Outcome = { exitCode: number; output: string; seconds: number };

/** Runs a step's program and collects its output; after its timeout it is stopped and counts as failed. */
async function run(step: Step): Promise<Outcome> {
  const startedAt = performance.now();
  const script = typeof step.program === "string" ? step.program : programPath(step.program);
  // A separate process group, so that everything it started is stopped with it.
  const child = spawn(process.execPath, [script, ...step.args], {
    cwd: ROOT,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  endWithUs(child, { signal: "TERM", group: true });
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => chunks.push(chunk));
  const endGroup = (signal: NodeJS.Signals) => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, signal);
  };
  const interrupt = () => {
    endGroup("SIGTERM");
    process.exit(INTERRUPTED);
  };
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  let isLate = false;
  const timers = [
    setTimeout(() => {
      isLate = true;
      endGroup("SIGTERM");
    }, step.minutesMax * 60_000),
    setTimeout(() => endGroup("SIGKILL"), step.minutesMax * 60_000 + KILL_GRACE_MS),
  ];
  const exitCode = await new Promise<number>((resolve) => {
    child.once("error", (error) => {
      chunks.push(Buffer.from(`${error.message}\n`));
      resolve(1);
    });
    child.once("close", (code, signal) => {
      if (signal !== null) chunks.push(Buffer.from(`Ended by ${signal}.\n`));
      resolve(code ?? 1);
    });
  });
  for (const timer of timers) clearTimeout(timer);
  process.off("SIGINT", interrupt).off("SIGTERM", interrupt);
  if (isLate) chunks.push(Buffer.from(`Ended after its limit of ${step.minutesMax} minutes.\n`));
  const output = Buffer.concat(chunks).toString("utf8");
  return { exitCode: isLate ? 1 : exitCode, output, seconds: (performance.now() - startedAt) / 1_000 };
}

/** The file of a package's program, so that it runs on the current Node. */
function programPath([packageName, program]: readonly [string, string]): string {
  const folder = join(ROOT, "node_modules", packageName);
  const { bin } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    bin: string | Record<string, string>;
  };
  return join(folder, typeof bin === "string" ? bin : (bin[program] ?? program));
}

/** Runs the steps one after the other, prints a line for each, and returns how many passed and failed. */
export async function runSteps(steps: readonly Step[], print: (text: string) => void): Promise<Count> {
  const total: Count = { ...NO_TESTS };
  for (const step of steps) {
    // Reports of an earlier run must not be counted.
    if (step.report !== undefined) rmSync(step.report, { force: true });
    const count = await judge(step, print);
    total.passed += count.passed;
    total.failed += count.failed;
    total.skipped += count.skipped;
  }
  // Programs read this line; skipped tests are in the line of their step.
  print(`${formatCount({ ...total, skipped: 0 })}\n`);
  return total;
}

/** Runs one step, prints its line and, if it failed, its output. */
async function judge(step: Step, print: (text: string) => void): Promise<Count> {
  const { exitCode, output, seconds } = await run(step);
  const report = step.report === undefined ? null : readReport(step.report);
  const count = step.report === undefined ? plainCount(exitCode) : countTests({ report, exitCode });
  const verdict = count.failed === 0 ? "ok" : "FAILED";
  const detail = step.report === undefined ? "" : `  ${formatCount(count)}`;
  print(`${step.name.padEnd(10)} ${verdict.padEnd(7)}${seconds.toFixed(1).padStart(6)} s${detail}\n`);
  if (count.failed === 0) return count;
  for (const line of failureLines(report)) print(`  ${line.replace(`${ROOT}/`, "")}\n`);
  print(`\n${whatFailed(output)}\n\n`);
  return count;
}

/** The part of a failed step's output that shows the failure, bounded. */
function whatFailed(output: string): string {
  const text = stripVTControlCharacters(output).trimEnd();
  const beginsAt = text.search(FAILURES_BEGIN);
  if (beginsAt < 0) return text.split("\n").slice(-LINES_MAX).join("\n");
  return text.slice(beginsAt).split("\n").slice(0, LINES_MAX).join("\n");
}

function readReport(path: string): string | null {
  return existsSync(path) ? readFileSync(path, "utf8") : null;
}

function plainCount(exitCode: number): Count {
  return exitCode === 0 ? { ...NO_TESTS, passed: 1 } : { ...NO_TESTS, failed: 1 };
}

function formatCount({ passed, failed, skipped }: Count): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

/** The named steps, or an error message for an unknown name. */
function chosenSteps(only: string | undefined): readonly Step[] | string {
  if (only === undefined) return STEPS;
  const names = only.split(",");
  const unknown = names.filter((name) => !STEPS.some((step) => step.name === name));
  if (unknown.length === 0) return STEPS.filter(({ name }) => names.includes(name));
  return `Unknown step ${unknown.join(", ")}. Valid steps: ${STEPS.map(({ name }) => name).join(", ")}.\n`;
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { only: { type: "string" }, help: { type: "boolean" } } });
  if (values.help === true) {
    process.stdout.write(HELP);
    return;
  }
  // Some tools print colors even if the output is not a terminal.
  const plain = (text: string) => (process.stdout.isTTY ? text : stripVTControlCharacters(text));
  const steps = chosenSteps(values.only);
  if (typeof steps === "string") {
    process.stderr.write(steps);
    process.exitCode = 2;
    return;
  }
  const { failed } = await runSteps(steps, (text) => process.stdout.write(plain(text)));
  process.exitCode = failed === 0 ? 0 : 1;
}

if (import.meta.main) await main();
