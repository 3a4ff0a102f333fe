// Wrapped lines run what the lines ran before: random commands, as Debian's cron passes them to a real shell.
import { spawnSync } from "node:child_process";
import { chmodSync, closeSync, existsSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { withWrappers } from "../../src/core/schedule/crontab-lines.ts";
import { readCrontab } from "../../src/core/schedule/crontab.ts";
import { splitInput } from "../../src/core/schedule/job-name.ts";

const SHELLS = ["/bin/dash", "/bin/bash"].filter((shell) => existsSync(shell));
const RUN_TIMEOUT_MS = 30_000;
/** More than the file of a shell, which `cat $0` prints. */
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;
const TIMES = "0 1 * * * ";

let folder = "";
let wrapper = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "overdue-quoting-"));
  // Leaves out its own flags, as overdue-run does.
  wrapper = join(folder, "overdue-run");
  writeFileSync(wrapper, '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n');
  chmodSync(wrapper, 0o755);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A file: not every command reads its input. */
function openInput(input: string): number {
  const path = join(folder, "input");
  writeFileSync(
    path,
    input.slice(1).replaceAll(/\\%|%/g, (found) => (found === "%" ? "\n" : "%")),
  );
  return openSync(path, "r");
}

/** Debian's cron removes the backslash before a percent sign or another backslash. */
function runLine(line: string, shell: string) {
  const { run, input } = splitInput(line.slice(TIMES.length));
  const stdin = openInput(input);
  const { status, stdout, stderr, error } = spawnSync(shell, ["-c", run.replaceAll(/\\([%\\])/g, "$1")], {
    stdio: [stdin, "pipe", "pipe"],
    encoding: "utf8",
    cwd: folder,
    env: { PATH: "/usr/bin:/bin", HOME: "/nowhere", SHELL: shell },
    timeout: RUN_TIMEOUT_MS,
    maxBuffer: OUTPUT_BYTES_MAX,
  });
  closeSync(stdin);
  if (error !== undefined) throw error;
  // Commands of a pipe or in the background write at the same time, in the middle of a line, too.
  const isParallel = /[|&]/.test(line);
  const shown = (text: string) => (isParallel ? Array.from(text).toSorted().join("") : text);
  return { status, stdout: shown(stdout), stderr: shown(stderr) };
}

function wrapped(line: string): string {
  const [job] = readCrontab(line, { hasUsers: false }).jobs;
  if (job === undefined) return line;
  const given = new Map([[1, { job, wrapper: `${wrapper} -uuid U` }]]);
  return withWrappers(line, given, { ownStatus: false }).text;
}

const WORDS = (
  "echo,printf,cat,exit 3,false,true,cd /,FOO=1,set -e,test -e /,read x,',\",\\,$HOME,$FOO,$x,$(echo a),`echo b`," +
  "${HOME},$0,$#,$((1+2)),%,\\%,\\\\,%s,#,&&,||,;,|,(,),{ ,},!, * ,~,=,a,ü,\t,<<< x,<,2>&1,-c,--"
).split(",");
const command = fc
  .array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 12 })
  .chain((words) => fc.constantFrom(words.join(" "), words.join("")));

describe.each(SHELLS)("in %s", (shell) => {
  test("random commands", () => {
    let count = 0;
    fc.assert(
      fc.property(command, (text) => {
        const line = `${TIMES}${text.trim()}`;
        const changed = wrapped(line);
        if (changed === line) return;
        count += 1;
        expect(runLine(changed, shell)).toEqual(runLine(line, shell));
      }),
      { numRuns: 400, seed: 1 },
    );
    expect(count).toBeGreaterThan(100);
  });

  test.each([
    `echo "it's"; echo 'a"b' # comment`,
    "printf '\\%s|' a \"b c\" 'd''e'; exit 7",
    "cat%first%sec\\%ond%",
    "x='a b'; echo $x \"$x\"; cd / && pwd",
    "echo back\\\\slash \\'quoted\\' \\",
    "true && false || exit 9",
  ])("%s", (text) => {
    const line = `${TIMES}${text}`;
    expect(wrapped(line)).toContain("-- $SHELL -c '");
    expect(runLine(wrapped(line), shell)).toEqual(runLine(line, shell));
  });
});
