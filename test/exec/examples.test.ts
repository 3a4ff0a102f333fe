// Every example of the help runs as it is written, and docs/guide/jobs.md lists every flag.
import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FLAGS } from "../../src/exec/flags.ts";
import { helpOf } from "../../src/exec/help.ts";
import { environmentFor, newFolder, startRecorder } from "./recorder.ts";

const ROOT = join(import.meta.dirname, "../..");
const DOCUMENT = readFileSync(join(ROOT, "docs/guide/jobs.md"), "utf8");
const EXAMPLE_URL = "https://overdue.example.org/ping";

/** A host with a ping key, jobs, and the command. */
function newHost(): string {
  const folder = newFolder();
  const executable = (path: string, text: string) => {
    writeFileSync(join(folder, path), `#!/bin/sh\n${text}\n`);
    chmodSync(join(folder, path), 0o755);
  };
  mkdirSync(join(folder, "bin"));
  executable("bin/overdue", `exec '${process.execPath}' '${ROOT}/src/main.ts' "$@"`);
  for (const name of ["backup", "sync", "report", "poll", "cleanup"]) executable(`${name}.sh`, "echo ran");
  writeFileSync(join(folder, ".ping-key"), "secret-ping-key\n");
  writeFileSync(join(folder, "backup.log"), "a line\n");
  return folder;
}

async function runScript(script: string, url: string): Promise<{ code: number | null; output: string }> {
  const folder = newHost();
  const environment = environmentFor(url, {
    CHECK_SLUG: undefined,
    HOME: folder,
    PATH: `${folder}/bin:/usr/bin:/bin`,
  });
  const child = spawn("/bin/sh", ["-e", "-c", script.replaceAll(EXAMPLE_URL, url)], {
    cwd: folder,
    env: environment,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (output += String(chunk)));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, output };
}

const examples = (["exec", "ping", "flush"] as const).flatMap((runner) =>
  [...helpOf(runner).matchAll(/^ {2}\$ (overdue .*|echo .*)$/gm)].map(([, line = ""]) => line),
);

test.each(examples)("help: %s", async (line) => {
  const recorder = await startRecorder();
  // This one runs until it is stopped.
  const script = line.includes("-every") ? `timeout 10 ${line} || [ $? = 124 ]` : line;
  const { code, output } = await runScript(script, recorder.url);
  expect({ code, output }).toEqual({
    code: 0,
    output: expect.not.stringMatching(/Unknown|ignored|Not reported/),
  });
  if (!/flush|dry-run/.test(line)) expect(recorder.requests.length).toBeGreaterThan(0);
});

test("docs/guide/jobs.md lists every flag and its variables", () => {
  for (const flag of FLAGS) {
    const variables: readonly string[] = "variables" in flag ? flag.variables : [];
    for (const variable of variables) expect(DOCUMENT).toContain(`\`${variable}\``);
    expect(DOCUMENT).toMatch(new RegExp(`\`-${flag.name}[ \`]`));
  }
});
