// `overdue completion`: scripts for bash, zsh, and fish, made from the words of all commands.
import { Argument, type Command } from "commander";
import type { CommandContext } from "./command-context.ts";
import { COMMAND_WORDS, type CommandWords, type OptionWords } from "./command-words.ts";

const AFTER_HELP = `
Load the script in the start-up file of your shell, or save it where the shell looks for completions.

Examples:
  $ overdue completion bash > overdue.bash     # load with: source overdue.bash
  $ overdue completion zsh > _overdue          # into a folder of $fpath
  $ overdue completion fish > overdue.fish     # into completions/`;

const SHELLS = { bash: bashScript, zsh: zshScript, fish: fishScript };
type Shell = keyof typeof SHELLS;

/** Adds the argument and the action. */
export function defineCompletion(command: Command, context: CommandContext): void {
  command
    .addArgument(new Argument("<shell>", "Shell").choices(Object.keys(SHELLS)))
    .addHelpText("after", AFTER_HELP)
    .action((shell: Shell) => context.out(SHELLS[shell](COMMAND_WORDS)));
}

/** Every command that consists of words, such as `checks list`. */
const pathsIn = (all: CommandWords) => Object.keys(all).filter((path) => path !== "");

/** A text in single quotes, for bash and zsh. */
const quoted = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** A pattern of `case` that matches one text of at most two parts: what was found, and the next word. */
const caseOf = (path: string) => {
  const at = path.lastIndexOf(" ");
  return quoted(at === -1 ? ` ${path}` : path);
};

type ValueCase = { pattern: string; values: NonNullable<OptionWords["values"]> };

/** The options that take a value, by command. */
function valueCases(all: CommandWords): ValueCase[] {
  return Object.entries(all).flatMap(([path, { options }]) =>
    options.flatMap(({ names, values }) =>
      values === null ? [] : [{ pattern: names.map((name) => quoted(`${path} ${name}`)).join("|"), values }],
    ),
  );
}

function bashScript(all: CommandWords): string {
  const values = valueCases(all).map(({ pattern, values: of }) => {
    if (of === "file") return `    ${pattern}) compopt -o default; return ;;`;
    return of === "other"
      ? `    ${pattern}) return ;;`
      : `    ${pattern}) COMPREPLY=($(compgen -W ${quoted(of.join(" "))} -- "$cur")); return ;;`;
  });
  const words = Object.entries(all).map(([path, { words: next, options }]) => {
    const names = next.map(([name]) => name).join(" ");
    const flags = options.flatMap((one) => one.names).join(" ");
    return `    ${quoted(path)}) words=${quoted(names)}; flags=${quoted(flags)} ;;`;
  });
  return `# Completion of overdue for bash. Load it with: source <(overdue completion bash)
_overdue() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]} at= i words flags
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at \${COMP_WORDS[i]}" in
      ${pathsIn(all).map(caseOf).join("|")}) at=\${at:+$at }\${COMP_WORDS[i]} ;;
    esac
  done
  case "$at $prev" in
${values.join("\n")}
  esac
  case "$at" in
${words.join("\n")}
  esac
  [[ $cur == -* ]] && words=$flags
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -F _overdue overdue
`;
}

/** A word with its summary for _describe, in which a colon separates the two. */
const described = (name: string, summary: string) =>
  quoted(`${name.replaceAll(":", String.raw`\:`)}:${summary}`);

function zshScript(all: CommandWords): string {
  const values = valueCases(all).map(({ pattern, values: of }) => {
    if (of === "file") return `    ${pattern}) _files; return ;;`;
    return of === "other"
      ? `    ${pattern}) return ;;`
      : `    ${pattern}) compadd -- ${of.map(quoted).join(" ")}; return ;;`;
  });
  const words = Object.entries(all).map(([path, { words: next, options }]) => {
    const names = next.map(([name, summary]) => described(name, summary)).join(" ");
    const flags = options.flatMap(({ names: own, summary }) => own.map((name) => described(name, summary)));
    return `    ${quoted(path)}) list=(${names}); flags=(${flags.join(" ")}) ;;`;
  });
  return `#compdef overdue
# Completion of overdue for zsh. Save it as _overdue in a folder of $fpath, or load it with:
#   source <(overdue completion zsh)
_overdue() {
  local at= i
  local -a list flags
  for ((i = 2; i < CURRENT; i++)); do
    case "$at \${words[i]}" in
      ${pathsIn(all).map(caseOf).join("|")}) at=\${at:+$at }\${words[i]} ;;
    esac
  done
  case "$at \${words[CURRENT - 1]}" in
${values.join("\n")}
  esac
  case "$at" in
${words.join("\n")}
  esac
  if [[ \${words[CURRENT]} == -* ]]; then _describe option flags; else _describe command list; fi
}
if [[ \${funcstack[1]} == _overdue ]]; then _overdue "$@"; else compdef _overdue overdue; fi
`;
}

/** A text in single quotes, for fish. */
const fishQuoted = (text: string) => `'${text.replaceAll(/[\\']/g, String.raw`\$&`)}'`;

function fishScript(all: CommandWords): string {
  const lines = Object.entries(all).flatMap(([path, { words, options }]) => {
    const begin = `complete -c overdue -n ${fishQuoted(`__overdue_at ${quoted(path)}`)}`;
    return [
      ...words.map(([name, summary]) => `${begin} -a ${fishQuoted(name)} -d ${fishQuoted(summary)}`),
      ...options.map(({ names, summary, values }) => {
        const flags = names.map((name) =>
          name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`,
        );
        return `${begin} ${flags.join(" ")}${fishValues(values)} -d ${fishQuoted(summary)}`;
      }),
    ];
  });
  return `# Completion of overdue for fish. Save it as overdue.fish in ~/.config/fish/completions, or load it with:
#   overdue completion fish | source
function __overdue_at
    set -l at ''
    for word in (commandline -opc)[2..-1]
        switch "$at $word"
            case ${pathsIn(all).map(caseOf).join(" ")}
                set at (string trim -- "$at $word")
        end
    end
    test "$at" = "$argv[1]"
end
complete -c overdue -f
${lines.join("\n")}
`;
}

function fishValues(values: OptionWords["values"]): string {
  if (values === null) return "";
  if (values === "file") return " -r -F";
  return values === "other" ? " -x" : ` -x -a ${fishQuoted(values.join(" "))}`;
}
