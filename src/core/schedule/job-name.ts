// Names of jobs, derived from their commands: the script, not the interpreter; the program with its
// subcommand, without wrappers. Users can change them.

/** What cron runs: everything before the first percent sign that is not escaped. */
const RUN = /^(?:[^\\%]+|\\[^])*\\?/;

/** The command that cron runs and its input, which together are the text. */
export function splitInput(text: string): { run: string; input: string } {
  const run = RUN.exec(text)?.[0] ?? "";
  return { run, input: text.slice(run.length) };
}

/** Leaves room for a number behind it. */
const NAME_LENGTH = 80;

/** Programs that only run another one, and which of their options have a value. */
export const WRAPPERS: ReadonlyMap<string, string> = new Map([
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
/** Programs that report the job they run. The job follows two hyphens. */
export const REPORTERS: ReadonlySet<string> = new Set(["overdue-run", "runitor"]);
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
  /^(?:ba|da|k|z|fi)?sh$|^\$SHELL$|^python[\d.]*$|^node$|^php[\d.]*$|^perl[\d.]*$|^ruby[\d.]*$|^java$|^Rscript$|^pwsh$|^deno$|^bun$/;
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

/** Whether a text is a word in lower case, as names of programs and users are. */
export function isShellWord(text: string): boolean {
  return PLAIN_WORD.test(text);
}

/** Never empty, and no longer than a check's name may be. */
export function jobName(command: string): string {
  const { run } = splitInput(command.slice(0, COMMAND_LENGTH_MAX));
  const name = nameWithin(run, DEPTH_MAX) ?? run.replace(/\s+/g, " ").trim();
  const points = Array.from(name === "" ? "job" : name);
  return points.slice(0, NAME_LENGTH).join("").trim();
}

/** The words of one command, without what it is wrapped in: the program comes first. */
export function commandWords(command: string): readonly string[] {
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
    if (after.length === 0 || count === WRAPPERS_MAX) return rest;
    if (REPORTERS.has(wrapper) || (wrapper === "overdue" && after[0] === "exec")) {
      rest = after.slice(after.indexOf("--") + 1);
      continue;
    }
    const valued = WRAPPERS.get(wrapper);
    if (valued === undefined) return rest;
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
