// What the flags and variables mean: where to report, and how to run the job. What is invalid is a problem and is left
// out; the job runs anyway.
import { closeSync, constants, openSync, readSync } from "node:fs";
import {
  type Flag,
  type FlagName,
  FLAGS,
  type Line,
  parseDuration,
  quote,
  readLine,
  type Runner,
} from "./flags.ts";
import {
  BODY_BYTES_MAX,
  DURATION_MS_MAX,
  KILL_AFTER_MS,
  REPORT_MS,
  REPORT_MS_MAX,
  TIMER_MS_MAX,
  TRY_MS,
  VALUE_FILE_BYTES_MAX,
} from "./limits.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** How the end of a run is reported. */
export const PING_TYPES = ["exit-code", "success", "fail", "log"] as const;
export type PingType = (typeof PING_TYPES)[number];

export const ECHOES = ["always", "on-failure", "never"] as const;
export type Echo = (typeof ECHOES)[number];

/** Where pings of a check go, and what they carry. */
export type Target = {
  /** Without a slash at the end. */
  baseUrl: string;
  /** The UUID, or ping key and slug. */
  handle: readonly string[];
  /** `create=1` and the settings of a new check. */
  query: readonly (readonly [string, string])[];
  headers: Readonly<Record<string, string>>;
};

export type Settings = {
  /** Null if it is not known where to report. */
  target: Target | null;
  tryMs: number;
  /** Null: as many as PAUSES_MS has. */
  retriesMax: number | null;
  reportMs: number;
  /** Null: that of the server. 0: no other than that of the server. */
  bodyLimit: number | null;
  isDryRun: boolean;
  isStrict: boolean;
  sendsStart: boolean;
  sendsRunId: boolean;
  sendsOutput: boolean;
  onSuccess: PingType;
  onNonzeroExit: PingType;
  onExecFail: PingType;
  echo: Echo;
  isMerged: boolean;
  dropsStdout: boolean;
  dropsStderr: boolean;
  timeoutMs: number | null;
  killAfterMs: number;
  everyMs: number | null;
  jitterMs: number;
};

export type Given = { settings: Settings; rest: string[]; line: Line; problems: string[] };

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The settings, and what is wrong with them. Never throws. */
export function readSettings(
  runner: Runner,
  { args, environment }: { args: readonly string[]; environment: Environment },
): Given {
  const line = readLine(runner, args);
  const { problems } = line;
  const text = (name: FlagName) => textOf(name, { line, environment });
  const isOn = (name: FlagName) => line.values.has(name);
  const duration = (name: FlagName, fallback: number, max = TIMER_MS_MAX) => {
    const given = line.values.get(name);
    if (given === undefined) return fallback;
    const ms = parseDuration(given);
    if (ms !== null) return Math.min(ms, max);
    problems.push(`-${name} ${quote(given)} is not a duration such as 90s or 1h30m, ignored.`);
    return fallback;
  };
  const count = (name: FlagName) => {
    const given = text(name);
    if (given === "") return null;
    if (/^\d{1,12}$/.test(given)) return Number(given);
    problems.push(`-${name} ${quote(given)} is not a whole number, ignored.`);
    return null;
  };
  const choice = <T extends string>(name: FlagName, choices: readonly T[], fallback: T): T => {
    const given = line.values.get(name)?.toLowerCase();
    if (given === undefined) return fallback;
    const chosen = choices.find((one) => one === given);
    if (chosen === undefined) problems.push(`-${name} must be one of ${choices.join(", ")}, ignored.`);
    return chosen ?? fallback;
  };
  const isSilent = isOn("silent");
  const bodyLimit = count("ping-body-limit");
  const settings: Settings = {
    target: null,
    tryMs: Math.max(1, duration("api-timeout", TRY_MS, REPORT_MS_MAX)),
    retriesMax: count("api-retries"),
    reportMs: duration("report-for", REPORT_MS, REPORT_MS_MAX),
    bodyLimit: bodyLimit === null ? null : Math.min(bodyLimit, BODY_BYTES_MAX),
    isDryRun: isOn("dry-run"),
    isStrict: isOn("strict"),
    sendsStart: !isOn("no-start-ping"),
    sendsRunId: !isOn("no-run-id"),
    sendsOutput: !isOn("no-output-in-ping"),
    onSuccess: choice("on-success", PING_TYPES, "success"),
    onNonzeroExit: choice("on-nonzero-exit", PING_TYPES, "exit-code"),
    onExecFail: choice("on-exec-fail", PING_TYPES, "fail"),
    echo: choice("echo", ECHOES, "always"),
    isMerged: isOn("merge"),
    dropsStdout: isSilent || isOn("quiet"),
    dropsStderr: isSilent,
    timeoutMs: duration("timeout", 0) || null,
    killAfterMs: duration("kill-after", KILL_AFTER_MS),
    everyMs: duration("every", 0, DURATION_MS_MAX) || null,
    jitterMs: duration("jitter", 0),
  };
  if (runner !== "flush") {
    const check = runner === "ping" ? (line.rest[0] ?? "") : "";
    const isUuid = UUID.test(check);
    settings.target = targetOf({
      baseUrl: text("api-url"),
      uuid: runner === "ping" ? (isUuid ? check : "") : text("uuid"),
      slug: runner === "ping" ? (isUuid ? "" : check) : text("slug"),
      pingKey: text("ping-key"),
      line,
    });
  }
  return { settings, rest: line.rest, line, problems };
}

function textOf(name: FlagName, { line, environment }: { line: Line; environment: Environment }): string {
  const flag: Flag | undefined = FLAGS.find((known) => known.name === name);
  const fromFlag = line.values.get(name);
  let source = `-${name}`;
  let value = fromFlag ?? "";
  for (const variable of flag?.variables ?? []) {
    if (value !== "") break;
    source = variable;
    value = environment[variable] ?? "";
  }
  if (flag?.isFile !== true || !value.startsWith("file:")) return value.trim();
  const path = value.slice("file:".length);
  try {
    const read = readStart(path).trim();
    if (read === "") line.problems.push(`${source}: the file ${path} is empty.`);
    return read;
  } catch (error) {
    line.problems.push(`${source}: cannot read the file: ${messageOf(error)}`);
    return "";
  }
}

/** The start of a file. A pipe without a writer must not block the job. */
function readStart(path: string): string {
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const buffer = Buffer.alloc(VALUE_FILE_BYTES_MAX);
    return buffer.toString("utf8", 0, readSync(file, buffer, 0, buffer.length, null));
  } finally {
    closeSync(file);
  }
}

function targetOf(given: {
  baseUrl: string;
  uuid: string;
  slug: string;
  pingKey: string;
  line: Line;
}): Target | null {
  const { uuid, slug, pingKey, line } = given;
  const { problems } = line;
  const baseUrl = checkedUrl(given.baseUrl, problems);
  let handle: readonly string[] = [];
  if (uuid !== "") handle = [uuid];
  else if (slug !== "" && pingKey !== "") handle = [pingKey, slug];
  else if (slug !== "") problems.push("Not reported: no ping key. Set PING_KEY or -ping-key.");
  else problems.push("Not reported: no check. Set -slug and a ping key, or -uuid.");
  const query = createQuery(line, handle.length === 2);
  const headers = headersOf(line);
  return baseUrl === null || handle.length === 0 ? null : { baseUrl, handle, query, headers };
}

function checkedUrl(text: string, problems: string[]): string | null {
  if (text === "") {
    problems.push("Not reported: no URL. Set HC_API_URL or -api-url.");
    return null;
  }
  const url = URL.parse(text);
  if (url === null || !["http:", "https:"].includes(url.protocol) || url.search !== "" || url.hash !== "") {
    problems.push("Not reported: the URL of HC_API_URL or -api-url is not a valid HTTP URL.");
    return null;
  }
  let end = text.length;
  while (text[end - 1] === "/") end -= 1;
  return text.slice(0, end);
}

function createQuery(line: Line, isBySlug: boolean): [string, string][] {
  const { values, lists, problems } = line;
  const names = ["name", "schedule", "tz", "period", "grace"] as const;
  if (!values.has("create")) {
    const unused = [...names, "tag" as const].filter((name) => values.has(name) || lists.has(name));
    if (unused.length > 0) problems.push(`-${unused.join(", -")} ignored: without -create.`);
    return [];
  }
  if (!isBySlug) {
    problems.push("-create ignored: it needs a slug and a ping key.");
    return [];
  }
  const query: [string, string][] = [["create", "1"]];
  const tags = (lists.get("tag") ?? []).join(" ");
  if (tags !== "") query.push(["tags", tags]);
  for (const name of names) {
    const value = values.get(name);
    if (value === undefined) continue;
    if (name !== "period" && name !== "grace") {
      query.push([name, value]);
      continue;
    }
    const ms = parseDuration(value);
    if (ms === null)
      problems.push(`-${name} ${quote(value)} is not a duration such as 90s or 1h30m, ignored.`);
    else query.push([name === "period" ? "timeout" : name, String(Math.round(ms / 1_000))]);
  }
  return query;
}

function headersOf({ lists, problems }: Line): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const header of lists.get("req-header") ?? []) {
    const parts = /^([\w!#$%&'*+.^`|~-]{1,100}):([\t\x20-\x7e\x80-\xff]{0,8000})$/.exec(header);
    if (parts === null) problems.push("-req-header must look like 'Name: value', ignored.");
    else headers[parts[1] ?? ""] = (parts[2] ?? "").trim();
  }
  return headers;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
