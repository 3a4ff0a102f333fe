// A crontab whose jobs report: the same text, with one command behind each job that tells how it ended. Lines that
// cannot be continued safely stay as they are.
import { splitInput } from "./input.ts";
import { readPipelines } from "./pipeline.ts";

/** What is run by a line, as it was read there, and what shall follow it. A line that is not named stays as it is. */
export type ReportLines = ReadonlyMap<number, { command: string; report: string }>;
export type ReportingCrontab = {
  text: string;
  /** The lines that were to report and could not be changed. */
  unchanged: number[];
};

const IN_BACKGROUND = /(?<!&)&\s*$/;
/** The shell would take what is behind it for a comment, or for a part of the same word. */
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

/** What a person has to know about the exit code of a command with a pipe; null when there is nothing to say. */
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
