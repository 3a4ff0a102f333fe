// Pipelines in the command of a crontab line. A shell returns the exit code of the last command of a pipeline, so
// `backup.sh | logger; curl …/$?` reports how logger ended. cron runs commands with /bin/sh, which often has neither
// PIPESTATUS nor pipefail, so the exit codes are carried by a file descriptor.

import { commandWords, jobName } from "./job-name.ts";

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
export function readPipelines(text: string): PipelineReading {
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
