// Runs every example in the help, against a real server. An example of a new command runs by itself; if it needs something
// that is not there, add a hook below. Samples of pages are run by test/docs/.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { readCommands, withSubcommands } from "../../scripts/render-commands.ts";
import { environmentWith } from "../../src/config/config.ts";
import { COMPILE_CACHE } from "../support/compile-cache.ts";
import { freePort } from "../support/ports.ts";
import { isS3ServerInstalled, S3Server } from "../support/s3-server.ts";
import {
  callOverdue,
  type Ended,
  endOf,
  type Environment,
  startOverdue,
  useDurablePostgres,
} from "./run-overdue.ts";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const ROOT = join(import.meta.dirname, "../..");
const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const EMAIL = "you@example.org";
const WAIT_MS = 200;
const READY_MS = 120_000;

// Finding the examples.

type Example = { line: string; where: string };

/** The command lines of a text: `prefix` begins each, and a backslash continues it. */
function linesOf(text: string, prefix: RegExp): string[] {
  const joined = text.replaceAll(/\\\n\s*/g, "");
  const lines = joined.split("\n").flatMap((line) => prefix.exec(line)?.[1] ?? []);
  const assignments = lines.filter((line) => /^[A-Z]+=\S+$/.test(line)).map((line) => `${line}; `);
  const commands = lines.map(withoutComment).filter((line) => line.startsWith("overdue"));
  // Each line runs on its own, so variables that were set above it are set again.
  return commands.map(
    (line) => assignments.filter((one) => line.includes(`$${one.split("=")[0]}`)).join("") + line,
  );
}

const withoutComment = (line: string) =>
  line
    .replace(/ +# .*$/, "")
    .replace(/ &$/, "")
    .trim();

async function examplesInHelp(): Promise<Example[]> {
  return withSubcommands(await readCommands()).flatMap(({ path, notes }) =>
    linesOf(notes, /^ {2}\$ (.*)$/).map((line) => ({ line, where: `overdue help ${path}`.trim() })),
  );
}

// Running them.

const postgres = useDurablePostgres();
let sandbox = "";
let store: S3Server | null = null;
const stage = {
  site: "",
  database: "",
  project: "",
  apiKey: "",
  otherProject: "",
  check: "",
  channel: "",
  silence: "",
  /** Where backups are; a new place for each example, because none is overwritten. */
  place: 0,
};
const servers: ChildProcess[] = [];

/** What a server or a client on this machine has in its environment. */
const onServer = (): Environment => ({
  OVERDUE_DATABASE_URL: stage.database,
  OVERDUE_SITE_URL: stage.site,
  OVERDUE_SPOOL_FOLDER: "off",
});
const asClient = (): Environment => ({ OVERDUE_SITE_URL: stage.site, OVERDUE_API_KEY: stage.apiKey });
const inTrial = async (): Promise<Environment> => ({ OVERDUE_LISTEN: `127.0.0.1:${await freePort()}` });

async function query(sql: string, url = stage.database): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

async function jsonOf(args: readonly string[], environment: Environment): Promise<Record<string, string>> {
  const { code, out, err } = await callOverdue([...args, "--json"], environment);
  expect([code, err]).toEqual([0, ""]);
  return JSON.parse(out) as Record<string, string>;
}

/** One check, one silence, and the incidents of the examples. */
async function newChecks(): Promise<Environment> {
  await query("delete from incidents; delete from silences; delete from checks");
  const name = ["--name", "Nightly backup", "--tags", "db prod"];
  stage.check = (await jsonOf(["checks", "create", ...name], asClient()))["id"] ?? "";
  stage.silence = (await jsonOf(["silence", "--tag", "db", "--for", "1h"], asClient()))["id"] ?? "";
  await query(`insert into incidents (project_id, number, state, severity, opened_at, reopen_count)
    select id, n, 'open', 'normal', now(), 0 from projects, unnest(array[217, 218]) n`);
  return asClient();
}

/** A status page on which an incident is published. */
async function newStatusPage(): Promise<Environment> {
  const environment = await newChecks();
  await query("delete from status_pages");
  const page = ["--slug", "nordlight", "--title", "Nordlight", "--tag", "db=Database"];
  await jsonOf(["status-pages", "create", ...page], environment);
  const post = ["--title", "Invoices are late", "--text", "We are on it."];
  await jsonOf(["status-pages", "publish", "nordlight", ...post], environment);
  return environment;
}

async function newChannel(): Promise<Environment> {
  const of = ["--project", stage.project, "--kind", "email", "--set", `value=${EMAIL}`];
  stage.channel = (await jsonOf(["admin", "channel", "create", ...of], onServer()))["uuid"] ?? "";
  return onServer();
}

async function emptyDatabase(): Promise<Environment> {
  return { ...onServer(), OVERDUE_DATABASE_URL: await postgres.newDatabase() };
}

/** A place for backups in which there is none. */
function newPlace(environment: Environment = onServer()): Environment {
  stage.place += 1;
  mkdirSync(folderOf());
  return environment;
}

const folderOf = () => join(sandbox, "backups", String(stage.place));
const bucketOf = () => `s3://bodies/${stage.place}`;
const RESTORED = "overdue-2026-11-01.tar";

async function newBackup(): Promise<Environment> {
  newPlace();
  await jsonOf(["backup", "--to", join(folderOf(), RESTORED)], onServer());
  return emptyDatabase();
}

async function newBackupInStore(): Promise<Environment> {
  newPlace();
  await jsonOf(["backup", "--to", `${bucketOf()}/${RESTORED}`], { ...onServer(), ...objectStore() });
  return { ...(await emptyDatabase()), ...objectStore() };
}

/** The file that the example writes was written by another one. */
async function inTrialWithoutBackup(): Promise<Environment> {
  rmSync(join(sandbox, "trial.tar"), { force: true });
  return inTrial();
}

type Hook = {
  of: RegExp;
  /** Prepares what the example expects, and returns its environment. Default: that of a server. */
  prepare?: () => Promise<Environment> | Environment;
  /** It runs until it prints this. */
  until?: string;
  /** Done every now and then while it runs. */
  meanwhile?: () => Promise<unknown>;
  /** Exit codes that are fine besides 0. */
  codes?: readonly number[];
  input?: () => string;
};

const asKey = () => stage.apiKey;
const here = (): Environment => ({ OVERDUE_SITE_URL: stage.site });
const ping = () => fetch(`${stage.site}/ping/${stage.check}`);

/** The first that matches. */
const HOOKS: readonly Hook[] = [
  { of: /^overdue trial/, prepare: inTrial, until: "Ctrl-C" },
  { of: /--data overdue-data/, prepare: inTrialWithoutBackup },
  { of: /--data new-trial/, prepare: inTrial },
  {
    of: /^overdue serve/,
    prepare: async () => ({
      ...onServer(),
      OVERDUE_LISTEN: `127.0.0.1:${await freePort()}`,
      OVERDUE_ADMIN_LISTEN: "127.0.0.1:0",
      OVERDUE_LOG_LEVEL: "info",
    }),
    until: "ready",
  },
  // It finds that this machine sends no email, and that the URL is not public.
  { of: /^overdue doctor/, codes: [1] },
  { of: /^overdue restore .*s3:/, prepare: newBackupInStore },
  { of: /^overdue backup .*s3:/, prepare: () => newPlace({ ...onServer(), ...objectStore() }) },
  { of: /^overdue backup/, prepare: () => newPlace() },
  { of: /^overdue restore .*trial.tar/, prepare: emptyDatabase },
  { of: /^overdue restore/, prepare: newBackup },
  {
    of: /^overdue admin restore confirm/,
    prepare: async () => {
      const environment = await emptyDatabase();
      await callOverdue(["migrate"], environment);
      await query(
        "insert into database_identity (database_oid, state, state_since_at) values (1, 'safe', now())",
        environment["OVERDUE_DATABASE_URL"],
      );
      return environment;
    },
  },
  // The server has no mail server.
  { of: /admin channel test/, prepare: newChannel, codes: [1] },
  { of: /admin channel/, prepare: newChannel },
  {
    of: /^overdue admin account create/,
    prepare: async () => ({ ...onServer(), ...(await noSuchAccount()) }),
  },
  // Not those of the project that the other examples use.
  {
    of: /^overdue admin key/,
    prepare: async () => {
      stage.otherProject = (await jsonOf(["admin", "project", "create"], onServer()))["uuid"] ?? "";
      return onServer();
    },
  },
  { of: /^overdue login/, prepare: here, input: asKey },
  {
    of: /^overdue logout/,
    prepare: async () => {
      const environment = { ...here(), XDG_CONFIG_HOME: join(sandbox, "config") };
      for (const name of ["default", "staging"]) {
        await callOverdue(["login", "--profile", name], environment, { input: stage.apiKey });
      }
      return environment;
    },
  },
  { of: /^overdue tail.*--count/, prepare: newChecks, meanwhile: ping },
  { of: /^overdue tail.*jq/, prepare: newChecks, meanwhile: ping, until: "Nightly backup" },
  { of: /^overdue tail/, prepare: newChecks, meanwhile: ping, until: "Nightly backup" },
  { of: /^overdue runs/, prepare: async () => (await newChecks(), await ping(), asClient()) },
  // A paused check can be resumed.
  {
    of: /^overdue checks resume/,
    prepare: async () => (
      await newChecks(), await callOverdue(["checks", "pause", stage.check], asClient()), asClient()
    ),
  },
  {
    of: /^overdue status-pages restore/,
    prepare: async () => {
      const environment = await newStatusPage();
      await jsonOf(["status-pages", "delete", "nordlight"], environment);
      return environment;
    },
  },
  { of: /^overdue status-pages/, prepare: newStatusPage },
  { of: /^overdue (?:checks|incidents|ack|silence|whoami)/, prepare: newChecks },
];

async function noSuchAccount(): Promise<Environment> {
  const environment = await emptyDatabase();
  await callOverdue(["migrate"], environment);
  return environment;
}

function objectStore(): Environment {
  if (store === null) throw new Error("there is no object store");
  return store.settings();
}

/** The addresses and paths of this machine in place of those in an example. */
async function localized(line: string): Promise<string> {
  const tomorrow = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
  const replacements: [string, string][] = [
    ["5c2bbd30-6b2e-4a0f-9d3b-0f6f2f3c8a11", line.includes("admin key") ? stage.otherProject : stage.project],
    ["9b1f6a52-40a8-4c4d-8f2e-6f0b4a3f7d10", stage.channel],
    ["f618072a-7bde-4eee-af63-71a77c5723bc", stage.check],
    ["1f0c6a7e-52d1-4f6b-8a53-6a1f6d0f7c21", stage.silence],
    ["https://overdue.example.org", stage.site],
    ["s3://backups/", `${bucketOf()}/`],
    ["/backups/", `${folderOf()}/`],
    ["/run/secrets/", `${sandbox}/`],
    ["/srv/overdue-trial", `${sandbox}/other-trial`],
    ["8001", String(await freePort())],
    ["2026-12-01", tomorrow(1)],
    ["2026-12-02", tomorrow(2)],
  ];
  // Without going through the results again.
  const pattern = new RegExp(
    replacements.map(([from]) => from.replaceAll(".", String.raw`\.`)).join("|"),
    "g",
  );
  const by = new Map(replacements);
  return line.replace(pattern, (found) => by.get(found) ?? found);
}

/** What a shell does that a call inside this process cannot: pipes, substitutions, and paths in the working folder. */
const NEEDS_SHELL = /[|<>`]|\$\(|command:|slack\.json|\.tar\b|overdue-data|new-trial/;

async function run(line: string, hook: Hook, environment: Environment): Promise<Ended> {
  const typed = { input: hook.input?.() ?? "" };
  if (!NEEDS_SHELL.test(line) && hook.until === undefined) {
    return callOverdue(
      argumentsOf(line),
      { XDG_CONFIG_HOME: join(sandbox, "config"), ...environment },
      typed,
    );
  }
  const child = spawn("bash", ["--norc", "-euo", "pipefail", "-c", line], {
    cwd: sandbox,
    detached: true,
    env: {
      ...COMPILE_CACHE,
      PATH: `${join(sandbox, "bin")}:${environmentWith({})["PATH"]}`,
      HOME: sandbox,
      XDG_CONFIG_HOME: join(sandbox, "config"),
      ...environment,
    },
  });
  child.stdin.end(typed.input);
  return hook.until === undefined ? endOf(child) : stoppedAt(child, hook.until);
}

/** The words of a command line as the shell separates them. */
function argumentsOf(line: string): string[] {
  const script = line.replace(/(^|; )overdue(?= |$)/, "$1set --") + String.raw`; printf '%s\0' "$@"`;
  return execFileSync("bash", ["--norc", "-euc", script], { encoding: "utf8" }).split("\0").slice(0, -1);
}

/** Waits for a text, then stops the program and whatever reads its output. */
async function stoppedAt(child: ReturnType<typeof startOverdue>, text: string): Promise<Ended> {
  const ended = endOf(child);
  let printed = "";
  const seen = new Promise<void>((resolve) => {
    const look = (chunk: string) => {
      printed += chunk;
      if (printed.includes(text)) resolve();
    };
    child.stdout.on("data", look);
    child.stderr.on("data", look);
  });
  const late = new Promise<"late">((resolve) => setTimeout(() => resolve("late"), READY_MS).unref());
  const how = await Promise.race([seen, ended, late]);
  const isSeen = printed.includes(text);
  if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGTERM");
  const { out, err } = await ended;
  return {
    code: isSeen && how !== "late" ? 0 : 1,
    out,
    err: `${err}${isSeen ? "" : `It did not print "${text}".`}`,
  };
}

async function runExample({ line }: Example): Promise<Ended> {
  const bare = line.replace(/^(?:[A-Z]+=\S+; )+/, "");
  const hook = HOOKS.find(({ of }) => of.test(bare)) ?? { of: /^/ };
  const environment = await (hook.prepare ?? onServer)();
  const timer = setInterval(() => void hook.meanwhile?.().catch(() => {}), WAIT_MS * 5);
  try {
    const ended = await run(await localized(line), hook, environment);
    return hook.codes?.includes(ended.code ?? -1) ? { ...ended, code: 0 } : ended;
  } finally {
    clearInterval(timer);
  }
}

beforeAll(async () => {
  sandbox = mkdtempSync(join(tmpdir(), "overdue-examples-"));
  // PostgreSQL runs as another user if this is root.
  chmodSync(sandbox, 0o755);
  for (const folder of ["bin", "backups", "config"]) mkdirSync(join(sandbox, folder));
  const port = await freePort();
  stage.site = `http://127.0.0.1:${port}`;
  stage.database = await postgres.newDatabase();
  await callOverdue(["migrate"], onServer());
  await jsonOf(["admin", "account", "create", "--email", EMAIL], onServer());
  const project = await jsonOf(["admin", "project", "create", "--name", "Backups"], onServer());
  stage.project = project["uuid"] ?? "";
  stage.apiKey = project["api_key"] ?? "";
  for (const name of ["key.txt", "overdue-key"]) writeFileSync(join(sandbox, name), stage.apiKey);
  writeFileSync(
    join(sandbox, "slack.json"),
    JSON.stringify({ url: "https://hooks.slack.com/services/T0/B0/x" }),
  );
  const programs: [string, string][] = [
    ["overdue", `exec ${process.execPath} ${MAIN} "$@"`],
    ["pass", `cat ${join(sandbox, "key.txt")}`],
  ];
  for (const [name, script] of programs) {
    writeFileSync(join(sandbox, "bin", name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
  const server = startOverdue(["serve", "--roles", "api,ping"], {
    ...onServer(),
    OVERDUE_LISTEN: `127.0.0.1:${port}`,
    OVERDUE_ADMIN_LISTEN: "127.0.0.1:0",
    OVERDUE_API_RATE_LIMIT: "0",
  });
  servers.push(server);
  await vi.waitFor(() => fetch(stage.site), { timeout: READY_MS, interval: WAIT_MS });
  if (!isS3ServerInstalled) return;
  store = await S3Server.make();
  await store.start();
});

afterAll(async () => {
  for (const server of servers) server.kill("SIGTERM");
  await store?.remove();
  rmSync(sandbox, { recursive: true, force: true });
});

const inHelp = await examplesInHelp();
/** They need a job, another installation, or the crontabs of a machine: test/exec, test/wrappers, test/import, test/discover. */
const RUN_ELSEWHERE =
  /(?:^|[ ;|])overdue(?:-run| (?:exec|ping|flush|import|export|discover|fire-drill|log|router))\b/;
const isRunnable = ({ line }: Example) =>
  !RUN_ELSEWHERE.test(line) && (isS3ServerInstalled || !line.includes("s3://"));

test.each(inHelp.filter(isRunnable))("$where: $line", async (example) => {
  const { code, out, err } = await runExample(example);
  expect({ code, err: code === 0 ? "" : err, out: code === 0 ? "" : out }).toEqual({
    code: 0,
    err: "",
    out: "",
  });
  if (example.line.endsWith("--json")) expect(keysOf(JSON.parse(out))).toEqual([]);
  expect(`${out}${err}`).not.toContain(stage.apiKey);
});

/** The former keys of `overdue prune`. */
const FORMER_KEYS = ["removed", "isComplete"];

/** Keys that are not in snake_case. */
function keysOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(keysOf);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value)
    .filter(([key]) => !FORMER_KEYS.includes(key))
    .flatMap(([key, one]) => [...(/^[a-z][a-z0-9_]*$/.test(key) ? [] : [key]), ...keysOf(one)]);
}

test("examples are found in the help", () => {
  expect(inHelp.length).toBeGreaterThan(60);
  expect(linesOf("  $ A=1\n  $ overdue x $A \\\n      --y  # z\n  $ curl\n", /^ {2}\$ (.*)$/)).toEqual([
    "A=1; overdue x $A --y",
  ]);
  expect(dirname(MAIN)).toBe(join(ROOT, "src"));
});
