// Runs a sample on a host, or checks its syntax.
import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseAllDocuments } from "yaml";
import { loadConfig } from "../../src/config/config.ts";
import { splitInput } from "../../src/core/schedule/job-name.ts";
import { isValidSchedule } from "../../src/core/schedule/schedule.ts";
import { makeCertificates } from "../support/certificates.ts";
import { endWithUs } from "../support/end-with-us.ts";
import type { Host } from "./host.ts";
import { CHECKOUT, readPage, type Sample } from "./markdown.ts";

/** Time for one sample. */
const SAMPLE_MS_MAX = 60_000;
/** Output that is shown with a failure. */
const SHOWN_LENGTH_MAX = 4_000;
/** cron starts jobs with it, unless the crontab sets another. */
const CRON_PATH = "/usr/bin:/bin";
/** Long enough for every secret. */
const CONTENT_OF_FILE = "x".repeat(64);

/** A sample that is to run, the response that is shown after it, and the text to wait for if it does not end. */
type Job = { text: string; host: Host; sample: Sample; next: Sample | undefined };
type Result = { code: number | null; output: string };

const OK: Result = { code: 0, output: "" };
const failed = (output: string): Result => ({ code: 1, output });

/** A wrapper ends with the exit code of the job, whatever happens to the pings. */
const COMPLAINT = /^overdue-run: .*|.*\b(?:Not reported|, ignored)\b.*/m;

function reported(result: Result): Result {
  const [complaint] = COMPLAINT.exec(result.output) ?? [];
  return complaint === undefined || result.code !== 0 ? result : failed(result.output);
}

const RUNNERS: Readonly<Record<string, (job: Job) => Promise<Result>>> = {
  sh: runShell,
  bash: runShell,
  crontab: runCrontab,
  http: sendRequest,
  sql: ({ text, host }) =>
    start(host, ["psql", "-qv", "ON_ERROR_STOP=1", host.environment["DATABASE_URL"] ?? "", "-c", text]),
  python: (job) => runFile(job, { file: "sample.py", program: "/usr/bin/python3" }),
  js: (job) => runFile(job, { file: "sample.mjs", program: "node" }),
  ts: (job) => runFile(job, { file: "sample.ts", program: "node" }),
  perl: (job) => runFile(job, { file: "sample.pl", program: "perl" }),
  html: openImages,
  markdown: openImages,
  json: async ({ text }) => (JSON.parse(text), OK),
  yaml: async ({ text }) => {
    const errors = parseAllDocuments(text).flatMap((document) => document.errors);
    return errors.length === 0 ? OK : failed(errors.join("\n"));
  },
  ini: ({ text, host, sample }) =>
    /^\[/m.test(text) ? checkUnit(text, { host, sample }) : checkSettings(text),
  nginx: checkNginx,
  [CHECKOUT]: checkScripts,
};

/** Null if the sample works, otherwise what is wrong. */
export async function problemOf(
  sample: Sample,
  { host, next }: { host: Host; next: Sample | undefined },
): Promise<string | null> {
  const { directives } = sample;
  if (directives.before !== undefined) {
    const { code, output } = await start(host, ["bash", "-e", "-c", host.localized(directives.before)]);
    if (code !== 0) return `The preparation ended with exit code ${code}.\n${directives.before}\n${output}`;
  }
  const text = host.localized(sample.text);
  const isScript = sample.language === "sh" || sample.language === "bash";
  if (directives.file !== undefined) writeSample(host, directives.file, text);
  if (directives.file !== undefined && (isScript || !(sample.language in RUNNERS))) return null;
  const expected = Number(directives.status ?? 0);
  const { code, output } = await resultOf({ text, host, sample, next });
  if (code === expected) return null;
  return `Exit code ${code}, expected ${expected}.\n${sample.text}${output.slice(-SHOWN_LENGTH_MAX)}`;
}

async function resultOf(job: Job): Promise<Result> {
  const runner = RUNNERS[job.sample.language];
  if (runner === undefined) return failed("There is no runner for this language.");
  try {
    return await runner(job);
  } catch (error) {
    return failed(String(error));
  }
}

/** Starts a program in the folder of the host, and ends it and its children after its time or at a text. */
async function start(
  host: Host,
  [program = "", ...args]: readonly string[],
  {
    until,
    input = "",
    env = {},
  }: { until?: string | undefined; input?: string; env?: Record<string, string> } = {},
): Promise<Result> {
  const child = spawn(program, args, {
    cwd: host.folder,
    detached: true,
    env: { ...host.environment, ...env },
  });
  endWithUs(child, { group: true });
  const endGroup = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // All of it has ended.
    }
  };
  let output = "";
  let isSeen = false;
  const read = (chunk: string) => {
    output += chunk;
    if (isSeen || until === undefined || !output.includes(until)) return;
    isSeen = true;
    if (child.pid !== undefined) process.kill(-child.pid, "SIGTERM");
  };
  child.stdout.setEncoding("utf8").on("data", read);
  child.stderr.setEncoding("utf8").on("data", read);
  // A program may end without reading it.
  child.stdin.on("error", () => {}).end(input);
  const timer = setTimeout(() => {
    output += `\nEnded after ${SAMPLE_MS_MAX} ms.`;
    endGroup();
  }, SAMPLE_MS_MAX);
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", resolve);
    });
    if (until === undefined) return { code, output };
    return isSeen ? { code: 0, output } : failed(`${output}\nIt did not print "${until}".`);
  } finally {
    clearTimeout(timer);
    endGroup();
  }
}

/** Returns the full path. */
function writeSample(host: Host, path: string, text: string): string {
  const file = join(host.folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  if (text.startsWith("#!")) chmodSync(file, 0o755);
  return file;
}

/** As in the shell of a reader, later samples see variables that were exported. */
const KEEP_EXPORTS = `trap 'export -p | grep -Ev "^declare -x (OLD)?PWD|SHLVL" >"$HOME/.exports"' EXIT
[ ! -e "$HOME/.exports" ] || . "$HOME/.exports"
`;

async function runShell({ text, host, sample }: Job): Promise<Result> {
  return reported(
    await start(host, ["bash", "-e", "-c", KEEP_EXPORTS + text], { until: sample.directives.until }),
  );
}

function runFile({ text, host }: Job, { file, program }: { file: string; program: string }): Promise<Result> {
  return start(host, [program, writeSample(host, file, text)]);
}

const CRON_SETTING = /^([A-Za-z_]\w*)\s*=\s*"?(.*?)"?$/;
const CRON_LINE = /^(@[a-z]+|(?:\S+\s+){4}\S+)\s+(.+)$/;

/** Runs each line as cron does, except for the time. In /etc, each line names a user. */
async function runCrontab({ text, host, sample }: Job): Promise<Result> {
  let env: Record<string, string> = { PATH: CRON_PATH, SHELL: "/bin/sh" };
  const hasUsers = /^# \/etc\/cron/m.test(sample.text);
  for (const line of text.split("\n")) {
    if (line.trim() === "" || line.startsWith("#")) continue;
    const [, name, value = ""] = CRON_SETTING.exec(line) ?? [];
    if (name !== undefined) {
      env = { ...env, [name]: value };
      continue;
    }
    const [, schedule = "", rest = ""] = CRON_LINE.exec(line) ?? [];
    if (!schedule.startsWith("@") && !isValidSchedule(schedule, { oncalendar: false })) {
      return failed(`Not a line of a crontab: ${line}`);
    }
    const { run, input } = splitInput(hasUsers ? rest.replace(/^\S+\s+/, "") : rest);
    const command = run.replaceAll(String.raw`\%`, "%");
    const stdin = input.slice(1).replaceAll(/(?<!\\)%/g, "\n");
    const result = reported(await start(host, ["/bin/sh", "-c", command], { env, input: stdin }));
    if (result.code !== 0) return { ...result, output: `${line}\n${result.output}` };
  }
  return OK;
}

/** A raw request. Any success is fine, unless the page shows the response. */
async function sendRequest({ text, host, next }: Job): Promise<Result> {
  if (text.startsWith("HTTP/")) return OK;
  const expanded = text.replaceAll(/\$(OVERDUE_\w+)/g, (_, name: string) => host.environment[name] ?? "");
  const [head = "", ...body] = expanded.split("\n\n");
  const [first = "", ...lines] = head.trim().split("\n");
  const [method = "", path = ""] = first.split(" ");
  const headers = lines.map((line): [string, string] => {
    const [name = "", ...value] = line.split(":");
    return [name, value.join(":").trim()];
  });
  const response = await fetch(new URL(path, host.site), {
    method,
    headers: headers.filter(([name]) => !/^(host|content-length|connection)$/i.test(name)),
    ...(body.length > 0 && { body: body.join("\n\n").trimEnd() }),
    redirect: "manual",
    signal: AbortSignal.timeout(SAMPLE_MS_MAX),
  });
  const shown = next?.language === "http" ? /^HTTP\/\S+ (\d+)/.exec(next.text)?.[1] : undefined;
  const isExpected = shown === undefined ? response.ok : response.status === Number(shown);
  return isExpected ? OK : failed(`The server answered ${response.status}: ${await response.text()}`);
}

/** Every image of the server in a text exists. */
async function openImages({ text, host }: Job): Promise<Result> {
  for (const [url] of text.matchAll(/http:\/\/127\.0\.0\.1:[^\s"')]+/g)) {
    const { status } = await fetch(url, { signal: AbortSignal.timeout(SAMPLE_MS_MAX) });
    if (status !== 200) return failed(`${url.replace(host.site, "")} answered ${status}`);
  }
  return OK;
}

async function checkScripts({ text, host }: Job): Promise<Result> {
  const { scripts } = JSON.parse(readPage("package.json")) as { scripts: Record<string, string> };
  const named = [...text.matchAll(/npm run ([\w:-]+)/g)].map(([, name = ""]) => name);
  const unknown = named.filter((name) => !(name in scripts));
  if (unknown.length > 0) return failed(`No such script: ${unknown.join(", ")}`);
  return start(host, ["bash", "-n", "-c", text]);
}

/** A drop-in is checked with its unit, by a sample that names both. */
async function checkUnit(text: string, { host, sample }: { host: Host; sample: Sample }): Promise<Result> {
  const name = sample.directives.file ?? (text.includes("[Timer]") ? "sample.timer" : "sample.service");
  if (name.endsWith(".conf")) return OK;
  const path = writeSample(host, name, text);
  return start(host, ["systemd-analyze", "verify", "--man=no", path]);
}

/** Settings of the server have known names and valid values. */
async function checkSettings(text: string): Promise<Result> {
  const lines = text.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("#"));
  const given = lines.map((line) => /^(\w+)\s*=\s*(.*)$/.exec(line));
  if (given.includes(null)) return failed("Not a line with a name and a value.");
  const settings = given.flatMap((found) => {
    const [, name = "", value = ""] = found ?? [];
    if (!name.startsWith("OVERDUE_")) return [];
    return [name.endsWith("_FILE") ? [name.replace(/_FILE$/, ""), CONTENT_OF_FILE] : [name, value]];
  });
  loadConfig(Object.fromEntries(settings));
  return OK;
}

async function checkNginx({ text, host }: Job): Promise<Result> {
  const { certificate, key } = makeCertificates(host.folder, { name: "nginx", host: "overdue.example.org" });
  const local = text
    .replaceAll(/(ssl_certificate) \S+;/g, `$1 ${certificate};`)
    .replaceAll(/(ssl_certificate_key) \S+;/g, `$1 ${key};`)
    // Only root may bind the ports of the sample, and not every machine has IPv6.
    .replaceAll(/listen (\[::\]:)?(\d+)/g, (_, isSixth: string | undefined, port: string) => {
      return `listen 127.0.0.${isSixth === undefined ? 1 : 2}:${Number(port) + 20_000}`;
    });
  const inServer = /^location /m.test(text) && !/^server /m.test(text) ? `server {\n${local}}` : local;
  const config = `pid nginx.pid;\nerror_log stderr;\nevents {}\nhttp {\n${inServer}\n}\n`;
  const file = writeSample(host, "nginx.conf", config);
  return start(host, ["nginx", "-t", "-p", host.folder, "-c", file]);
}
