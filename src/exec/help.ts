// The help texts, at most 80 columns wide.
import { type Flag, FLAGS, type Runner } from "./flags.ts";

const WIDTH = 80;
const INDENT = 27;

const TEXTS: Readonly<Record<Runner, { usage: string; intro: string; after: string }>> = {
  exec: {
    usage: "overdue exec [flags] -- command [arguments]",
    intro:
      "Run a job and report its start, end, exit code and output. The job always runs,\n" +
      "and the exit code is that of the job.",
    after: `
A flag takes one dash or two: -slug x, --slug x, --slug=x. TIME is 90s, 1h30m or
a number of seconds. -api-url, -slug, -ping-key, -uuid and their variables can
also be file:PATH, which reads the value from a file.

Examples:
  $ export HC_API_URL=https://overdue.example.org/ping
  $ export PING_KEY=file:$HOME/.ping-key
  $ overdue exec -slug backup -- ./backup.sh --all
  $ overdue exec -slug sync -create --schedule "0 * * * *" -- ./sync.sh
  $ overdue exec -slug report --timeout 2h --echo on-failure -- ./report.sh
  $ overdue exec -slug poll -every 5m --jitter 20s -- ./poll.sh
  $ overdue exec -slug sync --dry-run -- ./sync.sh

Exit codes: that of the job; 124 time limit, 126 not executable, 127 not found,
128+n killed by signal n (the signal is raised again); 2 invalid arguments.
Reports that cannot be sent are queued, see overdue flush --help.
`,
  },
  ping: {
    usage: "overdue ping [flags] SLUG|UUID [start|success|fail|log|CODE]",
    intro:
      "Send one ping, by default a success. Standard input, if it is not a terminal,\n" +
      "becomes the body; a start has none.",
    after: `
Examples:
  $ export HC_API_URL=https://overdue.example.org/ping
  $ export PING_KEY=file:$HOME/.ping-key
  $ overdue ping backup </dev/null
  $ overdue ping backup start
  $ overdue ping backup 3 <backup.log
  $ echo "2 files skipped" | overdue ping backup log

Exit codes: 0 sent or queued, 1 not sent, 2 invalid arguments.
`,
  },
  flush: {
    usage: "overdue flush [flags]",
    intro:
      "Send reports that could not be sent before. The next successful report of\n" +
      "overdue exec does that, too.",
    after: `
The queue is in OVERDUE_QUEUE, $STATE_DIRECTORY/overdue/queue,
/var/lib/overdue/queue (root) or ~/.local/state/overdue/queue. It keeps up to
1,000 reports, 10 MB and 7 days. OVERDUE_QUEUE=off turns it off.

Examples:
  $ overdue flush
  $ overdue flush --json

Exit codes: 0 the queue is empty, 1 reports are left, 2 invalid arguments.
`,
  },
};

export function helpOf(runner: Runner): string {
  const { usage, intro, after } = TEXTS[runner];
  const flags = (FLAGS as readonly Flag[]).filter((flag) => flag.runners.includes(runner));
  const groups = [...new Set(flags.map(({ group }) => group))];
  const sections = groups.map((group) => {
    const lines = flags.filter((flag) => flag.group === group).map(lineOf);
    return `${wrap(`${group}:`, "").join("\n")}\n${lines.join("\n")}\n`;
  });
  return `Usage: ${usage}\n\n${intro}\n\n${sections.join("\n")}${after}`;
}

/** What follows the flags. */
export function notesOf(runner: Runner): string {
  return TEXTS[runner].after;
}

function lineOf({ name, value, help, variables }: Flag): string {
  const term = `  -${name}${value === undefined ? "" : ` ${value}`}`;
  const source =
    variables === undefined ? "" : ` (${variables.map((variable) => `$${variable}`).join(", ")})`;
  const [first = "", ...more] = wrap(`${help}${source}`, " ".repeat(INDENT));
  const start = term.padEnd(INDENT);
  return [
    start.length > INDENT ? `${start}\n${" ".repeat(INDENT)}${first}` : `${start}${first}`,
    ...more,
  ].join("\n");
}

/** Lines of at most the width; all but the first are indented. */
function wrap(text: string, indent: string): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && indent.length + line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = "";
    }
    line = line === "" ? word : `${line} ${word}`;
  }
  lines.push(line);
  return lines.map((one, index) => (index === 0 ? one : `${indent}${one}`));
}
