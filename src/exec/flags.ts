// The flags of `overdue exec`, `overdue ping` and `overdue flush`: those of runitor, and ours. A mistake never keeps a
// job from running, so that reading flags returns problems instead of throwing.
import { DURATION_MS_MAX } from "./limits.ts";

export type Runner = "exec" | "ping" | "flush";

export type FlagKind = "text" | "list" | "on" | "duration" | "count" | "echo" | "ping";

export type Flag = {
  name: string;
  kind: FlagKind;
  /** How the help names the value. */
  value?: string;
  /** Read in this order if the flag is not given. */
  variables?: readonly string[];
  /** The value may be `file:PATH`. */
  isFile?: true;
  group: string;
  runners: readonly Runner[];
  help: string;
};

const REPORTING = ["exec", "ping"] as const;
const EXEC = ["exec"] as const;

const CHECK = "Check";
const JOB = "Job";
const OUTPUT = "Output";
const SENDING = "Reporting";
const NEW = "New checks (with -create; only the ping that creates the check applies them)";
const OTHER = "Other";

export const FLAGS = [
  {
    name: "api-url",
    kind: "text",
    value: "URL",
    variables: ["HC_API_URL"],
    isFile: true,
    group: CHECK,
    runners: REPORTING,
    help: "Base of the ping URLs, such as https://overdue.example.org/ping",
  },
  {
    name: "slug",
    kind: "text",
    value: "SLUG",
    variables: ["CHECK_SLUG"],
    isFile: true,
    group: CHECK,
    runners: EXEC,
    help: "Slug of the check. Needs a ping key",
  },
  {
    name: "ping-key",
    kind: "text",
    value: "KEY",
    variables: ["PING_KEY", "HC_PING_KEY"],
    isFile: true,
    group: CHECK,
    runners: REPORTING,
    help: "Ping key of the project. Prefer the variable, or file:PATH",
  },
  {
    name: "uuid",
    kind: "text",
    value: "UUID",
    variables: ["CHECK_UUID"],
    isFile: true,
    group: CHECK,
    runners: EXEC,
    help: "UUID of the check, instead of slug and ping key",
  },
  {
    name: "create",
    kind: "on",
    group: CHECK,
    runners: REPORTING,
    help: "Create the check if no check has the slug",
  },
  {
    name: "timeout",
    kind: "duration",
    value: "TIME",
    group: JOB,
    runners: EXEC,
    help: "Send SIGTERM to the job after this time; exit code 124",
  },
  {
    name: "kill-after",
    kind: "duration",
    value: "TIME",
    group: JOB,
    runners: EXEC,
    help: "Send SIGKILL this long after the SIGTERM of --timeout (default 30s)",
  },
  {
    name: "every",
    kind: "duration",
    value: "TIME",
    group: JOB,
    runners: EXEC,
    help: "Run the job immediately, then at this interval. SIGALRM starts a run",
  },
  {
    name: "jitter",
    kind: "duration",
    value: "TIME",
    group: JOB,
    runners: EXEC,
    help: "With -every, delay each run by a random time up to this",
  },
  {
    name: "strict",
    kind: "on",
    group: JOB,
    runners: EXEC,
    help: "Do not run the job if a flag, key or URL is invalid; exit code 2",
  },
  {
    name: "echo",
    kind: "echo",
    value: "WHEN",
    group: OUTPUT,
    runners: EXEC,
    help: "Print the output of the job: always (default), on-failure, never",
  },
  {
    name: "merge",
    kind: "on",
    group: OUTPUT,
    runners: EXEC,
    help: "Send stderr to stdout, which keeps the order of their lines",
  },
  {
    name: "no-output-in-ping",
    kind: "on",
    group: OUTPUT,
    runners: EXEC,
    help: "Do not capture and send the output of the job",
  },
  {
    name: "ping-body-limit",
    kind: "count",
    value: "BYTES",
    variables: ["PING_BODY_LIMIT"],
    group: OUTPUT,
    runners: REPORTING,
    help: "Send the last BYTES of output; 0: as much as the server accepts",
  },
  {
    name: "quiet",
    kind: "on",
    group: OUTPUT,
    runners: EXEC,
    help: "Discard stdout of the job: neither print nor send it",
  },
  {
    name: "silent",
    kind: "on",
    group: OUTPUT,
    runners: EXEC,
    help: "Discard stdout and stderr of the job",
  },
  {
    name: "no-start-ping",
    kind: "on",
    group: SENDING,
    runners: EXEC,
    help: "Send no ping when the job starts",
  },
  {
    name: "no-run-id",
    kind: "on",
    group: SENDING,
    runners: EXEC,
    help: "Send no run ID",
  },
  {
    name: "rid",
    kind: "text",
    value: "UUID",
    group: SENDING,
    runners: ["ping"],
    help: "Run ID that connects a start ping with its end",
  },
  {
    name: "on-success",
    kind: "ping",
    value: "PING",
    group: SENDING,
    runners: EXEC,
    help: "Ping for exit code 0: success (default), fail, log, exit-code",
  },
  {
    name: "on-nonzero-exit",
    kind: "ping",
    value: "PING",
    group: SENDING,
    runners: EXEC,
    help: "Ping for other exit codes (default exit-code)",
  },
  {
    name: "on-exec-fail",
    kind: "ping",
    value: "PING",
    group: SENDING,
    runners: EXEC,
    help: "Ping if the command cannot be started (default fail)",
  },
  {
    name: "api-timeout",
    kind: "duration",
    value: "TIME",
    group: SENDING,
    runners: REPORTING,
    help: "Time limit of one request (default 4s)",
  },
  {
    name: "api-retries",
    kind: "count",
    value: "N",
    group: SENDING,
    runners: REPORTING,
    help: "Retries after connection errors and HTTP 408, 429, 5xx (default 3)",
  },
  {
    name: "report-for",
    kind: "duration",
    value: "TIME",
    group: SENDING,
    runners: REPORTING,
    help: "Time for reporting after the job (default 15s), then queue it",
  },
  {
    name: "req-header",
    kind: "list",
    value: "HEADER",
    group: SENDING,
    runners: REPORTING,
    help: 'Additional request header, such as "X-Team: ops". Can be repeated',
  },
  {
    name: "name",
    kind: "text",
    value: "NAME",
    group: NEW,
    runners: REPORTING,
    help: "Name of the check",
  },
  {
    name: "tag",
    kind: "list",
    value: "TAG",
    group: NEW,
    runners: REPORTING,
    help: "Tag of the check. Can be repeated",
  },
  {
    name: "schedule",
    kind: "text",
    value: "EXPR",
    group: NEW,
    runners: REPORTING,
    help: 'Cron or OnCalendar expression, such as "30 2 * * *"',
  },
  {
    name: "tz",
    kind: "text",
    value: "ZONE",
    group: NEW,
    runners: REPORTING,
    help: "Time zone of the schedule, such as Europe/Berlin",
  },
  {
    name: "period",
    kind: "duration",
    value: "TIME",
    group: NEW,
    runners: REPORTING,
    help: "Interval between runs, instead of a schedule",
  },
  {
    name: "grace",
    kind: "duration",
    value: "TIME",
    group: NEW,
    runners: REPORTING,
    help: "Grace period",
  },
  {
    name: "dry-run",
    kind: "on",
    group: OTHER,
    runners: REPORTING,
    help: "Print the requests without secrets instead of sending them",
  },
  {
    name: "json",
    kind: "on",
    group: OTHER,
    runners: ["flush"],
    help: "Print the result as JSON",
  },
  {
    name: "version",
    kind: "on",
    group: OTHER,
    runners: EXEC,
    help: "Print the version",
  },
  {
    name: "help",
    kind: "on",
    group: OTHER,
    runners: ["exec", "ping", "flush"],
    help: "Print this help",
  },
] as const satisfies readonly Flag[];

export type FlagName = (typeof FLAGS)[number]["name"];

export type Line = {
  /** The value of each flag that was given, the last one if repeated. `on` for flags without a value. */
  values: Map<FlagName, string>;
  /** The values of flags that can be repeated. */
  lists: Map<FlagName, string[]>;
  /** What follows the flags: the command of the job, or the arguments of `ping`. */
  rest: string[];
  problems: string[];
};

const TRUE = ["1", "t", "true"];
const FALSE = ["0", "f", "false"];

/**
 * Reads flags up to `--` or the first word that is none. A flag takes one dash or two, and its value after `=` or as
 * the next word. Whether an unknown flag has a value is not known, so that words after it are skipped up to `--`, if
 * there is one.
 */
export function readLine(runner: Runner, args: readonly string[]): Line {
  const line: Line = { values: new Map(), lists: new Map(), rest: [], problems: [] };
  const words = [...args];
  let hasUnknown = false;
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (word === "--") break;
    const named = /^--?(?<name>[^-=][^=]*)(?:=(?<value>.*))?$/s.exec(word)?.groups;
    if (named === undefined) {
      if (hasUnknown && words.includes("--")) {
        line.problems.push(`Ignored argument ${quote(word)}.`);
        continue;
      }
      // `overdue ping` takes flags after its arguments, too.
      if (runner === "exec") words.unshift(word);
      line.rest.push(...(runner === "exec" ? words.splice(0) : [word]));
      continue;
    }
    const { name = "", value } = named;
    const flag: Flag | undefined = FLAGS.find(
      (known: Flag) => known.name === (name === "h" ? "help" : name) && known.runners.includes(runner),
    );
    if (flag === undefined) {
      hasUnknown = true;
      line.problems.push(`Unknown flag -${name}, ignored.`);
    } else readFlag(line, flag, flag.kind === "on" ? (value ?? "true") : (value ?? takeValue(words)));
  }
  line.rest.push(...words);
  // A second `--` is a mistake, not the name of a program.
  const first = line.rest.findIndex((word) => word !== "--");
  return runner === "exec" && first > 0 ? { ...line, rest: line.rest.slice(first) } : line;
}

/** The next word; undefined if it is missing. */
function takeValue(words: string[]): string | undefined {
  return words[0] === "--" ? undefined : words.shift();
}

function readFlag(line: Line, flag: Flag, value: string | undefined): void {
  const name = flag.name as FlagName;
  if (value === undefined) line.problems.push(`-${name} needs a value, ignored.`);
  else if (flag.kind === "list") line.lists.set(name, [...(line.lists.get(name) ?? []), value]);
  else if (flag.kind !== "on") line.values.set(name, value);
  else if (TRUE.includes(value.toLowerCase())) line.values.set(name, "on");
  else if (FALSE.includes(value.toLowerCase())) line.values.delete(name);
  else line.problems.push(`-${name} takes no value other than true or false, ignored.`);
}

const UNITS_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};

/** `90`, `90s`, `1h30m` or `1.5h` in milliseconds; null if it is none of these, or longer than the limit. */
export function parseDuration(text: string): number | null {
  if (/^\d{1,9}(?:\.\d{1,9})?$/.test(text)) return bounded(Number(text) * 1_000);
  if (!/^(?:\d{1,9}(?:\.\d{1,9})?(?:ms|[smhdw])){1,6}$/.test(text)) return null;
  let total = 0;
  for (const [, amount = "", unit = ""] of text.matchAll(/(\d{1,9}(?:\.\d{1,9})?)(ms|[smhdw])/g)) {
    total += Number(amount) * (UNITS_MS[unit] ?? 0);
  }
  return bounded(total);
}

function bounded(ms: number): number | null {
  return ms <= DURATION_MS_MAX ? Math.round(ms) : null;
}

/** A word as a message shows it. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}
