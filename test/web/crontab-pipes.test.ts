// Lines with a pipe, as a pasted crontab comes back: run for real, as cron runs them, in each shell that is at hand.
// Each has to report how the job itself ended, and to write exactly what the line wrote before.
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { withReports } from "../../src/core/schedule/crontab-lines.ts";
import { readCrontab } from "../../src/core/schedule/crontab.ts";
import { splitInput } from "../../src/core/schedule/job-name.ts";

const SHELLS = ["/bin/dash", "/bin/bash"].filter((shell) => existsSync(shell));
const CODES = [0, 1, 7, 127];
const RUN_TIMEOUT_MS = 30_000;
const SPECIAL = `100% 'single' "double" $HOME \`date\` | ; & \\ #no ü é\ttab`;

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "overdue-pipes-"));
  writeFileSync(join(folder, "special.txt"), `${SPECIAL}\n`);
  mkdirSync(join(folder, "bin"));
  script("job", `cat "${folder}/special.txt"; echo "to stderr: $1" >&2; exit $1`);
  script("reads", 'cat; exit "$1"');
  script("logger", `cat > "${folder}/logged"; exit 0`);
  script("broken-logger", "cat > /dev/null; exit 5");
  script("daemon", "sleep 20 > /dev/null 2>&1 & exit $1");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function script(name: string, text: string): void {
  const path = join(folder, "bin", name);
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
}

type Ran = { stdout: string; stderr: string; reported: string | null };

/** As cron does: what follows an unescaped percent sign is the input, and further ones are line ends. */
function runLine(line: string, shell: string): Ran {
  const report = join(folder, "reported");
  rmSync(report, { force: true });
  const { run, input } = splitInput(line.split(" ").slice(5).join(" "));
  const { stdout, stderr, error } = spawnSync(shell, ["-c", run.replaceAll("\\%", "%")], {
    input: input.slice(1).replaceAll("%", "\n"),
    encoding: "utf8",
    env: { PATH: `${join(folder, "bin")}:/usr/bin:/bin`, REPORT: report },
    timeout: RUN_TIMEOUT_MS,
  });
  if (error !== undefined) throw error;
  return { stdout, stderr, reported: existsSync(report) ? readFileSync(report, "utf8").trim() : null };
}

/** The line as it comes back, with a file in place of the address. */
function reporting(line: string): string {
  const [job] = readCrontab(line, { hasUsers: false }).jobs;
  if (job === undefined) throw new Error("the line is no job");
  const reports = new Map([[1, { command: job.command, report: 'echo $? > "$REPORT"' }]]);
  return withReports(line, reports).text;
}

/** Commands in which %d is how the job ends; each has to report that. */
const COMMANDS = [
  "job %d | logger",
  "job %d 2>&1 | logger -t backup",
  "job %d | cat",
  "cd / && job %d | sed 's/x/y/' | cat",
  "job %d | grep -v 'no such line'",
  // Nothing is left of the output, and grep fails.
  "job %d | grep -v e",
  "job %d | gzip > /dev/null",
  "job %d | gzip > /dev/null && echo uploaded",
  'job %d | while read -r l; do echo "$l"; done',
  "( echo first; job %d ) | cat; ",
  "exec job %d | cat",
  "FOO=1 sh -c 'job %d' | cat",
  "job %d | tee /dev/null",
  "job %d | cat >> /dev/null",
  "echo hello | cat > /dev/null; job %d | cat",
  "job %d | daemon 0",
];

describe.each(SHELLS)("in %s", (shell) => {
  describe.each(CODES)("a job that ends with %i", (code) => {
    test.each(COMMANDS)("%s", (pattern) => {
      const line = `0 3 * * * ${pattern.replace("%d", String(code))}`;
      const before = runLine(line, shell);
      const after = runLine(reporting(line), shell);
      expect(after.reported).toBe(String(code));
      expect({ stdout: after.stdout, stderr: after.stderr }).toEqual({
        stdout: before.stdout,
        stderr: before.stderr,
      });
    });
  });

  test("a program that does not exist is 127, whatever its output goes through", () => {
    expect(runLine(reporting("0 3 * * * no-such-program | logger"), shell).reported).toBe("127");
  });

  test("a job that ends well although a program that takes its output fails", () => {
    expect(runLine(reporting("0 3 * * * job 0 | broken-logger"), shell).reported).toBe("5");
    expect(runLine(reporting("0 3 * * * job 0 | grep -c nothing"), shell).reported).toBe("0");
  });

  test("the input of the line still reaches the job, with escaped percent signs", () => {
    const line = "0 3 * * * printf '\\%s,' a; reads 7 | cat%first%second";
    expect(runLine(reporting(line), shell)).toMatchObject({ stdout: "a,first\nsecond", reported: "7" });
    expect(reporting(line)).toContain("'\\%s,'");
  });

  test("what the job leaves running does not keep the line from ending", () => {
    const started = Date.now();
    expect(runLine(reporting("0 3 * * * daemon 7 | cat"), shell).reported).toBe("7");
    expect(Date.now() - started).toBeLessThan(15_000);
  });

  test("what the output program receives is what the job wrote", () => {
    runLine(reporting("0 3 * * * job 7 | logger"), shell);
    expect(readFileSync(join(folder, "logged"), "utf8")).toBe(`${SPECIAL}\n`);
  });
});
