// A name for a job, made from its command as a person would: the script, not the interpreter; the program with what it
// is told to do, not what it is wrapped in. A guess that somebody may change afterwards.
import { splitInput } from "./input.ts";

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
/** Those that want a word of their own before the other program: a file, a span of time. */
const TAKES_A_WORD = new Set(["flock", "timeout"]);
/** What stands before the job proper, in the same line. */
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
/** Bound what is looked at: commands in commands in commands, and wrappers of wrappers, are nobody's crontab. */
const DEPTH_MAX = 3;
const WRAPPERS_MAX = 8;

/** Longer commands are looked at no further. */
const COMMAND_LENGTH_MAX = 2_000;

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
  const base = baseName(program);
  if (INTERPRETERS.test(base)) return interpreted(rest, depth) ?? base;
  const told = rest.find((word) => !word.startsWith("-"));
  const says = told === rest[0] && told !== undefined && PLAIN_WORD.test(told) ? ` ${told}` : "";
  return `${base}${says}`;
}

/** The command without what it is wrapped in. */
function unwrapped(words: readonly string[]): readonly string[] {
  let rest = words.filter((word) => word !== "!");
  for (let count = 0; ; count++) {
    const first = rest.findIndex((word) => !ASSIGNMENT.test(word));
    rest = first === -1 ? [] : rest.slice(first);
    const [program = "", ...after] = rest;
    const wrapper = baseName(program);
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
    if ((word === "-m" || word === "-jar") && next !== undefined) return baseName(next);
    if (!word.startsWith("-")) return baseName(word);
  }
  return null;
}

function baseName(path: string): string {
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
