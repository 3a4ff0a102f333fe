// Crontabs: reads their jobs, names them, and adds a command to each line that reports its exit code.
import { CRONTAB_JOBS_MAX } from "../limits.ts";
import { expandMacro } from "./cron.ts";
import { isValidSchedule } from "./schedule.ts";
import { zoneOf } from "./zone.ts";

export type CrontabJob = {
  /** Counted from 1, as editors do. */
  line: number;
  schedule: string;
  /** Time zone from `CRON_TZ`; null: the zone of the machine. */
  tz: string | null;
  command: string;
  /** Unique within the crontab. */
  name: string;
  /** The comment above it; empty without one. */
  about: string;
};

/** Why a line is left out: it has no time, its time or zone cannot be read, nothing is run, or there are too many. */
export type LeftOutReason = "reboot" | "schedule" | "zone" | "command" | "many";
export type LeftOutLine = { line: number; text: string; why: LeftOutReason };
export type Crontab = { jobs: CrontabJob[]; leftOut: LeftOutLine[] };

const SETTING = /^[A-Za-z_][A-Za-z0-9_]*\s*=/;
const ZONE_SETTING = /^CRON_TZ\s*=(.*)$/;
const QUOTED = /^(["'])(.*)\1$/;
const FIVE_FIELDS = /^((?:[^\s]+\s+){4}[^\s]+)(?:\s+(.*))?$/;
const ONE_FIELD = /^(@[a-z]+)(?:\s+(.*))?$/;
const USER_AND_COMMAND = /^[^\s]+\s+(.*)$/;
/** The columns of a system's crontab, as its usual heading names them, and the user nearly all of its jobs run as. */
const USERS_HEADING = /^#.*\buser(-name)?\s+command\b/m;
const ROOT_COLUMN = /^[ \t]*(?:@[a-z]+|[^\s#]+(?:[ \t]+[^\s]+){4})[ \t]+root[ \t]+\S/m;
/** The heading of a user's own: it describes no job. */
const COLUMNS_HEADING = /\bdom\s+mon\s+dow\b|^[-#*=.|\s]*$/;

/** Every line is a job, is left out for a reason, or is irrelevant to cron. */
export function readCrontab(text: string): Crontab {
  const found: Crontab = { jobs: [], leftOut: [] };
  const hasUsers = USERS_HEADING.test(text) || ROOT_COLUMN.test(text);
  const taken = new Set<string>();
  let tz: string | null = null;
  let about: string[] = [];
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const content = raw.trim();
    if (content.startsWith("#")) {
      about.push(...commentOf(content));
      continue;
    }
    tz = zoneSetBy(content) ?? tz;
    if (content !== "" && !SETTING.test(content)) {
      const read = readJob(content, { hasUsers, tz });
      const line = index + 1;
      if (typeof read === "string") found.leftOut.push({ line, text: content, why: read });
      else if (found.jobs.length === CRONTAB_JOBS_MAX)
        found.leftOut.push({ line, text: content, why: "many" });
      else {
        const name = uniqueName(taken, jobName(read.command));
        found.jobs.push({ line, ...read, name, about: about.join("\n") });
      }
    }
    about = [];
  }
  return found;
}

function zoneSetBy(content: string): string | null {
  const value = ZONE_SETTING.exec(content)?.[1]?.trim();
  return value === undefined ? null : (QUOTED.exec(value)?.[2] ?? value);
}

type Read = Pick<CrontabJob, "schedule" | "tz" | "command">;

function readJob(
  content: string,
  { hasUsers, tz }: { hasUsers: boolean; tz: string | null },
): Read | LeftOutReason {
  const [, when, rest = ""] = ONE_FIELD.exec(content) ?? FIVE_FIELDS.exec(content) ?? [];
  if (when === "@reboot") return "reboot";
  const schedule = when === undefined ? "" : (expandMacro(when) ?? when.replace(/\s+/g, " "));
  if (!isValidSchedule(schedule, { oncalendar: false })) return "schedule";
  if (tz !== null && zoneOf(tz) === null) return "zone";
  const command = hasUsers ? (USER_AND_COMMAND.exec(rest)?.[1] ?? "") : rest;
  return command === "" ? "command" : { schedule, tz, command };
}

/** The comment above a job. A commented-out job is not one. */
function commentOf(content: string): string[] {
  const said = content.replace(/^#+\s?/, "").trim();
  const isSaying =
    !COLUMNS_HEADING.test(said) && typeof readJob(said, { hasUsers: false, tz: null }) === "string";
  return isSaying ? [said] : [];
}

function uniqueName(taken: Set<string>, name: string): string {
  let free = name;
  for (let count = 2; taken.has(free); count++) free = `${name} ${count}`;
  taken.add(free);
  return free;
}

// Splits a line into the command that cron runs and its input: everything from an unescaped percent sign on.

const INPUT = /(?<!\\)%/;

/** Both parts, which together are the text. */
export function splitInput(text: string): { run: string; input: string } {
  const at = text.search(INPUT);
  return at === -1 ? { run: text, input: "" } : { run: text.slice(0, at), input: text.slice(at) };
}

/** The command of a line, and the report to append. Lines that are not named stay as they are. */
export type ReportLines = ReadonlyMap<number, { command: string; report: string }>;
export type ReportingCrontab = {
  text: string;
  /** Lines that could not be changed. */
  unchanged: number[];
};

const IN_BACKGROUND = /(?<!&)&\s*$/;
/** The shell would treat what follows as a comment or as part of the same word. */
const SWALLOWS = /(?:^|\s)#|\\$/;
/** Not the one that ends the command of `find -exec`. */
const LAST_SEMICOLON = /(?<!\\);$/;

/** Adds `; <report>` to each line that has one, so that `$?` in it is the status of the job. */
export function withReports(text: string, reports: ReportLines): ReportingCrontab {
  const unchanged: number[] = [];
  const lines = text.split("\n").map((raw, index) => {
    const line = index + 1;
    const job = reports.get(line);
    if (job === undefined) return raw;
    const changed = continued(raw, job);
    if (changed === null) unchanged.push(line);
    return changed ?? raw;
  });
  return { text: lines.join("\n"), unchanged };
}

function continued(raw: string, { command, report }: { command: string; report: string }): string | null {
  const end = raw.endsWith("\r") ? "\r" : "";
  const content = raw.slice(0, raw.length - end.length);
  const before = content.slice(0, content.trimEnd().length - command.length);
  const { run, input } = splitInput(content.slice(before.length));
  if (IN_BACKGROUND.test(run) || SWALLOWS.test(run)) return null;
  const ended = run.trimEnd().replace(LAST_SEMICOLON, "").trimEnd();
  const pipelines = readPipelines(ended);
  if (pipelines.kind === "unsafe") return null;
  return `${before}${pipelines.kind === "none" ? ended : pipelines.command}; ${report}${input}${end}`;
}

/** A note about the exit code of a pipeline; null if there is none. */
export function pipeWarning(command: string): string | null {
  const pipelines = readPipelines(splitInput(command).run);
  if (pipelines.kind === "none") return null;
  if (pipelines.kind === "unsafe") {
    return "This command contains a pipe that hides the exit code of the job. Move the command to a script and report at its end.";
  }
  const { jobs, last } = pipelines;
  const [first = ""] = jobs;
  const reported =
    jobs.length === 1
      ? `the exit code of “${first}”`
      : `a failure of any of ${jobs.map((job) => `“${job}”`).join(", ")}`;
  return `This command contains a pipe, so its exit code is that of “${last}”. The new line reports ${reported}.`;
}

// Pipelines in the command of a crontab line. A shell returns the exit code of the last command of a pipeline, so
// `backup.sh | logger; curl …/$?` reports how logger ended. cron runs commands with /bin/sh, which often has neither
// PIPESTATUS nor pipefail, so the exit codes are carried by a file descriptor.

export type PipelineReading =
  /** No pipeline decides what `$?` is at the end of the line. */
  | { kind: "none" }
  /** There is a pipe where the line cannot be changed safely, such as within a loop. */
  | { kind: "unsafe" }
  | {
      kind: "pipeline";
      /** The same command, with the exit code of the first command that failed. Portable to any POSIX shell. */
      command: string;
      /** The commands whose exit codes count, and the one whose exit code the shell would return. */
      jobs: string[];
      last: string;
    };

type Operator = "|" | "|&" | "||" | "&&" | ";" | "&" | "";

type Command = {
  text: string;
  /** What follows it; empty at the end of the line. */
  operator: Operator;
  /** There is a pipe in it: in a group, a loop or a condition. */
  isPipedWithin: boolean;
  isNegated: boolean;
};

type Pipeline = { commands: Command[]; operator: Operator };

/** Programs that process the output of a job. Their exit codes do not count: grep fails without a match. */
const OUTPUT_PROGRAMS = new Set(
  (
    "logger systemd-cat multilog svlogd cronolog rotatelogs mail mailx s-nail sendmail mutt grep egrep fgrep " +
    "tee ts cat head tail sed awk gawk mawk cut tr sort uniq wc nl fold column strings"
  ).split(" "),
);
const GREPS = new Set(["grep", "egrep", "fgrep"]);
const QUIET_OPTION = /^(?:-[A-Za-pr-z]*q[A-Za-z]*|--quiet|--silent)$/;

const OPENERS = new Set(["if", "while", "until", "for", "{"]);
const CLOSERS = new Set(["fi", "done", "}"]);
const BEFORE_COMMANDS = new Set(["then", "do", "else", "elif"]);
const UNREADABLE = new Set(["case", "select", "function", "coproc"]);

const OPERATOR = /\|\||\|&|&&|[|;&]/y;
const REDIRECTION = /[0-9]*(?:<<<|<<|<>|>>|>\||[<>]&|&>>|&>|[<>](?!\())/y;
const PLAIN = /[^\s\\'"`$()|;&<>]+/y;

/** How the command of a line, without its input, ends, and how it has to be written to report that. */
function readPipelines(text: string): PipelineReading {
  if (!text.includes("|")) return { kind: "none" };
  const commands = commandsOf(text);
  if (commands === null) return { kind: "unsafe" };
  const pipelines = pipelinesOf(commands);
  // Commands before the last semicolon do not determine the exit code of the line.
  const first = pipelines.findLastIndex(({ operator }, index) => {
    return (operator === ";" || operator === "&") && index < pipelines.length - 1;
  });
  const deciding = pipelines.slice(first + 1);
  const counted = deciding.filter(isCounted);
  if (deciding.some(({ commands: some }) => some.some(({ isPipedWithin }) => isPipedWithin))) {
    return { kind: "unsafe" };
  }
  const last = counted.at(-1)?.commands.at(-1);
  if (last === undefined) return { kind: "none" };
  const jobs = counted.flatMap(jobsOf);
  return {
    kind: "pipeline",
    command: reporting(pipelines, new Set(counted)),
    jobs: jobs.map((one) => jobName(one.text)),
    last: jobName(last.text),
  };
}

/** If a failure is handled, or the last command is the test itself, the shell's rule is intended. */
function isCounted({ commands, operator }: Pipeline): boolean {
  const last = commands.at(-1);
  if (commands.length < 2 || last === undefined || operator === "||") return false;
  return commands[0]?.isNegated !== true && !isTest(last);
}

function isTest({ text }: Command): boolean {
  const [program = "", ...options] = commandWords(text);
  return GREPS.has(baseName(program)) && options.some((option) => QUIET_OPTION.test(option));
}

/** The first is always a job. */
function jobsOf({ commands }: Pipeline): Command[] {
  return commands.filter((command, index) => index === 0 || !isOutputProgram(command));
}

function isOutputProgram({ text }: Command): boolean {
  return OUTPUT_PROGRAMS.has(baseName(commandWords(text)[0] ?? ""));
}

function baseName(path: string): string {
  return path.split("/").at(-1) ?? "";
}

/**
 * Descriptor 3 leads to the variable, 4 to the original output. Each job writes its exit code to 3 if it fails; the
 * exit code is the first one written, or else that of the whole line. Jobs inherit neither descriptor: a process left
 * behind would keep the line from ending.
 */
function reporting(pipelines: readonly Pipeline[], counted: ReadonlySet<Pipeline>): string {
  const body = pipelines
    .map((pipeline) => {
      const text = counted.has(pipeline) ? recorded(pipeline) : plain(pipeline);
      return `${text.trim()}${pipeline.operator === "" ? "" : ` ${pipeline.operator} `}`;
    })
    .join("");
  return `(exec 4>&1; s=$({ ${body}; } 3>&1 >&4 4>&-); set -- $s $?; exit $1)`;
}

function plain({ commands }: Pipeline): string {
  return commands
    .map(({ text, operator }, index) => (index < commands.length - 1 ? `${text}${operator}` : text))
    .join("");
}

function recorded(pipeline: Pipeline): string {
  const jobs = new Set(jobsOf(pipeline));
  const isLastOfAll = pipeline.operator !== "&&";
  return pipeline.commands
    .map((command, index) => {
      const isLast = index === pipeline.commands.length - 1;
      const errors = command.operator === "|&" && !isLast ? " 2>&1" : "";
      // Round brackets, so that an `exit` or `exec` in it does not end more than itself.
      const closed = `( ${command.text.trimStart()} )${errors} 3>&-`;
      if (isLast && isLastOfAll && !jobs.has(command)) return `{ ${closed} || :; }`;
      if (isLast) return closed;
      return jobs.has(command) ? `{ ${closed} || echo $? >&3; }` : closed;
    })
    .join(" | ");
}

function pipelinesOf(commands: readonly Command[]): Pipeline[] {
  const pipelines: Pipeline[] = [];
  let together: Command[] = [];
  for (const command of commands) {
    together.push(command);
    if (command.operator === "|" || command.operator === "|&") continue;
    pipelines.push({ commands: together, operator: command.operator });
    together = [];
  }
  return together.length === 0 ? pipelines : [...pipelines, { commands: together, operator: "" }];
}

/** The commands outside of every group; null if the line cannot be parsed with certainty. */
function commandsOf(text: string): Command[] | null {
  const commands: Command[] = [];
  let start = 0;
  let depth = 0;
  let isPipedWithin = false;
  let isNegated = false;
  // Words such as `if` are special only at the beginning of a command.
  let isAtCommand = true;
  const end = (to: number, operator: Operator) => {
    const own = text.slice(start, to);
    if (own.trim() !== "") commands.push({ text: own, operator, isPipedWithin, isNegated });
    isPipedWithin = false;
    isNegated = false;
    isAtCommand = true;
  };
  for (let at = 0; at < text.length; ) {
    const operator = matchAt(OPERATOR, text, at) as Operator | null;
    const redirection =
      operator === null || text.startsWith("&>", at) ? matchAt(REDIRECTION, text, at) : null;
    if (redirection !== null) {
      // Following lines would be part of it, and a crontab has none.
      if (redirection.endsWith("<<")) return null;
      at += redirection.length;
    } else if (operator !== null) {
      if (depth === 0) {
        end(at, operator);
        start = at + operator.length;
      } else {
        isPipedWithin ||= operator === "|" || operator === "|&";
        isAtCommand = true;
      }
      at += operator.length;
    } else if (text.charAt(at) === "(") {
      // A function, or a list of values.
      if (!isAtCommand) return null;
      depth += 1;
      at += 1;
    } else if (text.charAt(at) === ")") {
      depth -= 1;
      isAtCommand = false;
      at += 1;
    } else if (/\s/.test(text.charAt(at))) {
      at += 1;
    } else {
      const to = endOfWord(text, at);
      if (to === null) return null;
      const word = text.slice(at, to);
      at = to;
      if (!isAtCommand) continue;
      if (UNREADABLE.has(word)) return null;
      if (word === "!") isNegated ||= depth === 0;
      else if (word === "[[") {
        const closing = text.indexOf(" ]]", at);
        if (closing === -1) return null;
        at = closing + " ]]".length;
        isAtCommand = false;
      } else if (OPENERS.has(word)) {
        depth += 1;
        isAtCommand = word !== "for";
      } else if (CLOSERS.has(word)) {
        depth -= 1;
        isAtCommand = false;
      } else isAtCommand = BEFORE_COMMANDS.has(word);
    }
    if (depth < 0) return null;
  }
  if (depth !== 0) return null;
  end(text.length, "");
  return commands;
}

function matchAt(pattern: RegExp, text: string, at: number): string | null {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? null;
}

/**
 * The end of the word that begins here, including everything quoted or substituted in it; null if a quote is not
 * closed.
 */
function endOfWord(text: string, from: number): number | null {
  let at = from;
  while (at < text.length) {
    const letter = text.charAt(at);
    const plainText = matchAt(PLAIN, text, at);
    if (plainText !== null) at += plainText.length;
    else if (letter === "\\") at += 2;
    else if (text.startsWith("$'", at)) return null;
    else if (letter === "'" || letter === '"' || letter === "`" || letter === "$") {
      const to = endOfQuoted(text, at);
      if (to === null) return null;
      at = to;
    } else if ((letter === "<" || letter === ">") && text.charAt(at + 1) === "(" && at === from) {
      const to = endOfQuoted(text, at);
      if (to === null) return null;
      at = to;
    } else break;
  }
  // A character that no rule above accepts is a word by itself, so that parsing always advances.
  return Math.max(at, from + 1);
}

/**
 * The position after the quotes or the substitution that begins here. Not recursive: nesting may be as deep as the
 * text is long.
 */
function endOfQuoted(text: string, from: number): number | null {
  const open: string[] = [];
  let at = from;
  do {
    const letter = text.charAt(at);
    const inside = open.at(-1);
    const two = text.slice(at, at + 2);
    if (letter === "\\") at += 2;
    else if (letter === "'" && inside !== '"') {
      const closing = text.indexOf("'", at + 1);
      if (closing === -1) return null;
      at = closing + 1;
    } else if (inside !== undefined && letter === closingOf(inside)) {
      open.pop();
      at += 1;
    } else if (two === "$(" || two === "${" || two === "<(" || two === ">(") {
      open.push(two.charAt(1));
      at += 2;
    } else {
      if (letter === '"' || letter === "`" || (letter === "(" && inside === "(")) open.push(letter);
      at += 1;
    }
  } while (open.length > 0 && at < text.length);
  return open.length === 0 ? at : null;
}

function closingOf(opened: string): string {
  return opened === "(" ? ")" : opened === "{" ? "}" : opened;
}

// Names of jobs, derived from their commands: the script, not the interpreter; the program with its
// subcommand, without wrappers. Users can change them.

/** Leaves room for a number behind it. */
const NAME_LENGTH = 80;

/** Programs that only run another one, and which of their options have a value. */
const WRAPPERS: ReadonlyMap<string, string> = new Map([
  ["sudo", "ughpCT"],
  ["doas", "uC"],
  ["nice", "n"],
  ["ionice", "cnp"],
  ["nohup", ""],
  ["setsid", ""],
  ["exec", ""],
  ["time", "fo"],
  ["env", "uCS"],
  ["chronic", ""],
  ["cronic", ""],
  ["flock", "wE"],
  ["timeout", "ks"],
  ["systemd-cat", "tp"],
  ["run-one", ""],
  ["stdbuf", "ioe"],
]);
/** Those that take an argument before the other program: a file, a duration. */
const TAKES_A_WORD = new Set(["flock", "timeout"]);
/** What precedes the actual job in the same line. */
const PREPARES = new Set([
  "cd",
  "test",
  "[",
  "[[",
  "sleep",
  "export",
  "source",
  ".",
  "set",
  "umask",
  "mkdir",
  "true",
  ":",
  "command",
  "if",
  "then",
]);
const INTERPRETERS =
  /^(?:ba|da|k|z|fi)?sh$|^python[\d.]*$|^node$|^php[\d.]*$|^perl[\d.]*$|^ruby[\d.]*$|^java$|^Rscript$|^pwsh$|^deno$|^bun$/;
const ENDING = /\.(?:sh|bash|py|js|mjs|ts|php|pl|rb|jar|R|ps1)$/;
const BETWEEN_COMMANDS = /^(?:&&|\|\||[;|&(){}])/;
const BETWEEN_WORDS = /^\s+/;
const ASSIGNMENT = /^[A-Za-z_][A-Za-z0-9_]*=/;
const PLAIN_WORD = /^[a-z][a-z0-9]*(?:[-:_][a-z0-9]+)*$/;
/** Limits for nested commands and wrappers. */
const DEPTH_MAX = 3;
const WRAPPERS_MAX = 8;

/** Longer commands are not parsed. */
const COMMAND_LENGTH_MAX = 2_000;

/** Never empty, and no longer than a check's name may be. */
export function jobName(command: string): string {
  const { run } = splitInput(command.slice(0, COMMAND_LENGTH_MAX));
  const name = nameWithin(run, DEPTH_MAX) ?? run.replace(/\s+/g, " ").trim();
  const points = Array.from(name === "" ? "job" : name);
  return points.slice(0, NAME_LENGTH).join("").trim();
}

/** The words of one command, without what it is wrapped in: the program comes first. */
function commandWords(command: string): readonly string[] {
  return unwrapped(splitOutsideQuotes(command, { mark: BETWEEN_WORDS, keepsQuotes: false }));
}

function nameWithin(command: string, depth: number): string | null {
  for (const part of splitOutsideQuotes(command, { mark: BETWEEN_COMMANDS, keepsQuotes: true })) {
    const words = splitOutsideQuotes(part, { mark: BETWEEN_WORDS, keepsQuotes: false });
    const found = nameOfPart(words, depth);
    if (found !== null) return found;
  }
  return null;
}

function nameOfPart(words: readonly string[], depth: number): string | null {
  const [program, ...rest] = unwrapped(words);
  if (program === undefined || PREPARES.has(program)) return null;
  const base = programName(program);
  if (INTERPRETERS.test(base)) return interpreted(rest, depth) ?? base;
  const subcommand = rest.find((word) => !word.startsWith("-"));
  const says =
    subcommand === rest[0] && subcommand !== undefined && PLAIN_WORD.test(subcommand) ? ` ${subcommand}` : "";
  return `${base}${says}`;
}

/** The command without what it is wrapped in. */
function unwrapped(words: readonly string[]): readonly string[] {
  let rest = words.filter((word) => word !== "!");
  for (let count = 0; ; count++) {
    const first = rest.findIndex((word) => !ASSIGNMENT.test(word));
    rest = first === -1 ? [] : rest.slice(first);
    const [program = "", ...after] = rest;
    const wrapper = programName(program);
    const valued = WRAPPERS.get(wrapper);
    if (valued === undefined || after.length === 0 || count === WRAPPERS_MAX) return rest;
    rest = afterOptions(after, valued).slice(TAKES_A_WORD.has(wrapper) ? 1 : 0);
  }
}

function afterOptions(words: readonly string[], valued: string): readonly string[] {
  let at = 0;
  for (let word = words[at]; word?.startsWith("-"); word = words[at]) {
    at += word.length === 2 && valued.includes(word.charAt(1)) ? 2 : 1;
  }
  return words.slice(at);
}

/** What an interpreter is given: a script, a module, or the commands themselves. */
function interpreted(words: readonly string[], depth: number): string | null {
  for (const [index, word] of words.entries()) {
    const next = words[index + 1];
    if (/^-[a-z]*c$/.test(word) && next !== undefined) return depth > 1 ? nameWithin(next, depth - 1) : null;
    if ((word === "-m" || word === "-jar") && next !== undefined) return programName(next);
    if (!word.startsWith("-")) return programName(word);
  }
  return null;
}

function programName(path: string): string {
  const name = path.split("/").at(-1) ?? "";
  return name.replace(ENDING, "");
}

/** The parts between what `mark` finds outside of quotes; none of them is empty. */
function splitOutsideQuotes(
  text: string,
  { mark, keepsQuotes }: { mark: RegExp; keepsQuotes: boolean },
): string[] {
  const parts: string[] = [];
  let part = "";
  let quote = "";
  for (let at = 0; at < text.length; at++) {
    const letter = text.charAt(at);
    const found = quote === "" ? mark.exec(text.slice(at, at + 2)) : null;
    if (found !== null) {
      parts.push(part);
      part = "";
      at += found[0].length - 1;
    } else if (quote === "" ? letter === '"' || letter === "'" : letter === quote) {
      quote = quote === "" ? letter : "";
      if (keepsQuotes) part += letter;
    } else part += letter;
  }
  return [...parts, part].map((one) => one.trim()).filter((one) => one !== "");
}
