// How each snippet is run: by its own interpreter where there is one on this machine, and by following what its
// scheduler does with the lines where the scheduler itself cannot be had in a test.
import { execFile, execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { JOB } from "../../web/pages/check-snippets.ts";

const run = promisify(execFile);
const RUN_MS_MAX = 290_000;
const EXIT_STATUS = 3;

/** `mailPort`: where the mail server listens that stands for the one of the machine. */
type Job = { text: string; isWell: boolean; mailPort: number };
type Runner = { needs: readonly string[]; run(job: Job, folder: string): Promise<void> };

/** Snippets that nothing on this machine can run, each with the reason. */
const NOT_RUN: Readonly<Record<string, string>> = {
  powershell: "PowerShell is not in Debian",
  "windows-task": "needs Windows",
  csharp: ".NET is not in Debian",
  borgmatic: "borgmatic of these lines is newer than Debian's; it runs in test/clients/real",
  mikrotik: "needs RouterOS",
};

/** Why a snippet is not run here; null: it is. */
export function reasonToSkip(name: string): string | null {
  const runner = RUNNERS[name];
  if (runner === undefined) return NOT_RUN[name] ?? "nobody knows how to run it";
  const missing = runner.needs.find((program) => !isInstalled(program));
  return missing === undefined ? null : `${missing} is not installed`;
}

/** Runs the lines in a folder of their own. A job that fails is expected to make its program fail as well. */
export async function runSnippet(name: string, job: Job): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "overdue-snippet-"));
  try {
    await RUNNERS[name]?.run(job, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const known = new Map<string, boolean>();

function isInstalled(program: string): boolean {
  let answer = known.get(program);
  if (answer === undefined) {
    try {
      execFileSync("/bin/sh", ["-c", `command -v ${program}`], { stdio: "ignore" });
      answer = true;
    } catch {
      answer = false;
    }
    known.set(program, answer);
  }
  return answer;
}

type Started = { folder: string; env?: Readonly<Record<string, string>> };

/** The exit status. */
async function start(
  program: string,
  args: readonly string[],
  { folder, env = {} }: Started,
): Promise<number> {
  // Stand-ins for programs, if there are any, lie in the folder.
  const inFolder = 'PATH="$0:$PATH"; export PATH; exec env "$@"';
  const given = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  try {
    await run("/bin/sh", ["-c", inFolder, folder, ...given, program, ...args], {
      cwd: folder,
      timeout: RUN_MS_MAX,
    });
    return 0;
  } catch (error) {
    const { code, stderr } = error as { code: unknown; stderr: string };
    if (typeof code !== "number") throw error;
    if (/syntax|SyntaxError|Parse error|error\[|cannot find|undefined:/i.test(stderr))
      throw new Error(stderr, { cause: error });
    return code;
  }
}

/** Puts a program into the folder that stands for the job. */
function standIn(folder: string, { name, isWell }: { name: string; isWell: boolean }): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\necho worked\nexit ${isWell ? 0 : EXIT_STATUS}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** Lines of a shell in which the job is called by `called`. */
function shell(program: string, called: string, lines: (text: string) => string = (text) => text): Runner {
  return {
    needs: [program, "curl"],
    run: async ({ text, isWell }, folder) => {
      const job = standIn(folder, { name: called.startsWith("/") ? "job" : called, isWell });
      const script = lines(text).replaceAll(called.startsWith("/") ? called : "\u0000", job);
      await start(program, ["-c", script], { folder });
    },
  };
}

/** A program in a file; what it prints is replaced by a failure where the job has to fail. */
function language(file: string, how: { command: readonly string[]; work: string; failing: string }): Runner {
  const [program = "", ...args] = how.command;
  return {
    needs: [program],
    run: async ({ text, isWell }, folder) => {
      const failing = text.replace(how.work, how.failing);
      if (failing === text) throw new Error("the work is not in the snippet");
      writeFileSync(join(folder, file), isWell ? text : failing);
      await start(program, args, { folder });
    },
  };
}

/** What systemd does with the lines of a oneshot service. */
async function runUnit({ text, isWell }: Job, folder: string): Promise<void> {
  const job = standIn(folder, { name: "job", isWell });
  const commands = (name: string) =>
    text
      .split("\n")
      .filter((line) => line.startsWith(`${name}=`))
      .map((line) =>
        line
          .slice(name.length + 1)
          .replace(/^-/, "")
          .replaceAll(JOB, job),
      );
  const shellOf = (line: string, env: Readonly<Record<string, string>> = {}) =>
    start("/bin/sh", ["-c", line.replaceAll("$$", "$")], {
      folder,
      env: { RUNTIME_DIRECTORY: folder, ...env },
    });
  for (const line of commands("ExecStartPre")) await shellOf(line);
  let status = 0;
  for (const line of commands("ExecStart")) status = await shellOf(line);
  if (status === 0) for (const line of commands("ExecStartPost")) await shellOf(line);
  const env = { EXIT_CODE: "exited", EXIT_STATUS: String(status) };
  for (const line of commands("ExecStopPost")) await shellOf(line, env);
}

/** What a workflow does: one step after the other, those for failures only after one. */
async function runWorkflow({ text, isWell }: Job, folder: string): Promise<void> {
  standIn(folder, { name: "job.sh", isWell });
  const variables = join(folder, "env");
  writeFileSync(variables, "");
  let hasFailed = false;
  for (const step of text.split(/^ {6}- /m).slice(1)) {
    const isForFailure = step.startsWith("if: failure()");
    const line = /run: (.*)/.exec(step)?.[1];
    if (line === undefined) throw new Error(`no command in ${step}`);
    if (isForFailure !== hasFailed) continue;
    const status = await start("bash", ["-ec", `. ${variables}; ${line}`], {
      folder,
      env: { GITHUB_ENV: variables },
    });
    hasFailed ||= status !== 0;
  }
}

/** What a GitLab runner does with before_script, script and after_script. */
async function runPipeline({ text, isWell }: Job, folder: string): Promise<void> {
  standIn(folder, { name: "job.sh", isWell });
  const linesOf = (part: string) =>
    (new RegExp(`^  ${part}:\n((?: {4}- .*\n?)+)`, "m").exec(text)?.[1] ?? "")
      .split("\n")
      .map((line) => line.replace(/^ {4}- /, ""))
      .join("\n");
  const main = await start("bash", ["-ec", `${linesOf("before_script")}\n${linesOf("script")}`], { folder });
  const env = { CI_JOB_STATUS: main === 0 ? "success" : "failed" };
  await start("bash", ["-c", linesOf("after_script")], { folder, env });
}

/** What Ansible does with the lines as the tasks of a play on this machine. */
async function runPlay({ text, isWell }: Job, folder: string): Promise<void> {
  standIn(folder, { name: "job.sh", isWell });
  const head = "- hosts: localhost\n  connection: local\n  gather_facts: false\n  tasks:\n";
  writeFileSync(join(folder, "play.yml"), head + text.replaceAll(/^/gm, "    "));
  const env = { HOME: folder, ANSIBLE_LOCALHOST_WARNING: "false", ANSIBLE_NOCOLOR: "1" };
  const status = await start("ansible-playbook", ["play.yml"], { folder, env });
  if ((status === 0) !== isWell) throw new Error(`the play ended with ${status}`);
}

/** Sends what it reads to our own mail server, called as `mail` is. */
const MAIL = `#!/usr/bin/env python3
import os, smtplib, sys
from email.message import EmailMessage
message = EmailMessage()
message["Subject"], message["To"], message["From"] = sys.argv[2], sys.argv[3], "root@localhost"
message.set_content(sys.stdin.read())
with smtplib.SMTP("127.0.0.1", int(os.environ["MAIL_PORT"]), timeout=10) as server:
    server.send_message(message)
`;

/** A line that pipes into mail, or what cron does with MAILTO: the output of the job is mailed. */
async function runMailed({ text, isWell, mailPort }: Job, folder: string): Promise<void> {
  const job = standIn(folder, { name: "job", isWell });
  writeFileSync(join(folder, "mail"), MAIL);
  chmodSync(join(folder, "mail"), 0o755);
  const [, to, command] = /^MAILTO=(.*)\n(?:\S+ ){5}(.*)/m.exec(text) ?? [];
  const line = to === undefined ? text : `(${command}) 2>&1 | mail -s "Cron <root@localhost>" ${to}`;
  const status = await start("bash", ["-c", line.replaceAll(JOB, job)], {
    folder,
    env: { MAIL_PORT: String(mailPort) },
  });
  if (status !== 0) throw new Error(`mail ended with ${status}`);
}

const argsOf = (text: string) => text.slice(text.indexOf("- |\n") + 4).replaceAll(/^ {18}/gm, "");

const RUNNERS: Readonly<Record<string, Runner>> = {
  crontab: shell("sh", JOB, (text) => text.replace("0 3 * * * ", "")),
  systemd: { needs: ["curl"], run: runUnit },
  bash: shell("bash", JOB),
  wget: { ...shell("sh", JOB), needs: ["wget"] },
  python: language("job.py", {
    command: ["python3", "job.py"],
    work: 'print("do the work here")',
    failing: "1 / 0",
  }),
  node: language("job.mjs", {
    command: ["node", "job.mjs"],
    work: 'console.log("do the work here");',
    failing: 'throw new Error("no");',
  }),
  ruby: language("job.rb", {
    command: ["ruby", "job.rb"],
    work: 'puts "do the work here"',
    failing: 'raise "no"',
  }),
  php: language("job.php", {
    command: ["php", "job.php"],
    work: 'echo "do the work here\\n";',
    failing: "throw new Exception('no');",
  }),
  go: language("job.go", {
    command: ["go", "run", "job.go"],
    work: "return nil",
    failing: 'return fmt.Errorf("no")',
  }),
  java: language("Job.java", {
    command: ["java", "Job.java"],
    work: 'System.out.println("do the work here");',
    failing: 'throw new IllegalStateException("no");',
  }),
  rust: {
    needs: ["rustc", "curl"],
    run: async ({ text, isWell }, folder) => {
      writeFileSync(join(folder, "job.rs"), isWell ? text : text.replace("Ok(())\n}", 'Err("no".into())\n}'));
      const status = await start("rustc", ["-o", "job", "job.rs"], { folder });
      if (status !== 0) throw new Error("it does not compile");
      await start("./job", [], { folder });
    },
  },
  docker: shell("bash", "docker"),
  kubernetes: shell("sh", "/job", argsOf),
  github: { needs: ["bash", "curl"], run: runWorkflow },
  gitlab: { needs: ["bash", "curl"], run: runPipeline },
  ansible: { needs: ["ansible-playbook"], run: runPlay },
  restic: shell("bash", "restic"),
  mail: { needs: ["bash", "python3"], run: runMailed },
};
