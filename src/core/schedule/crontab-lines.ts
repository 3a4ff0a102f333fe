// Lines of a crontab that report their jobs: with a command that follows the job, or with a wrapper that runs it.
import { CRON_COMMAND_BYTES_MAX } from "../limits.ts";
import { type CrontabJob, isInBackground, isPingTarget } from "./crontab.ts";
import { splitInput } from "./job-name.ts";
import { readPipelines } from "./pipeline.ts";

/** The command of a line, and the report to append. Lines that are not named stay as they are. */
export type ReportLines = ReadonlyMap<number, { command: string; report: string }>;
export type ReportingCrontab = {
  text: string;
  /** Lines that could not be changed. */
  unchanged: number[];
};

/** The shell would treat what follows as a comment or as part of the same word. */
const SWALLOWS = /(?:^|\s)#|\\$/;
/** Not the one that ends the command of `find -exec`. */
const LAST_SEMICOLON = /(?<!\\);$/;

/** Adds `; <report>` to each line that has one, so that `$?` in it is the status of the job. */
export function withReports(text: string, reports: ReportLines): ReportingCrontab {
  return changedLines(text, reports, continued);
}

/** `change` returns null for a line that cannot be changed. */
function changedLines<Change>(
  text: string,
  changes: ReadonlyMap<number, Change>,
  change: (raw: string, by: Change) => string | null,
): ReportingCrontab {
  const unchanged: number[] = [];
  const lines = text.split("\n").map((raw, index) => {
    const line = index + 1;
    const by = changes.get(line);
    if (by === undefined) return raw;
    const changed = change(raw, by);
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
  if (isInBackground(run) || SWALLOWS.test(run)) return null;
  const ended = withoutSemicolon(run);
  const pipelines = readPipelines(ended);
  if (pipelines.kind === "unsafe") return null;
  return `${before}${pipelines.kind === "none" ? ended : pipelines.command}; ${report}${input}${end}`;
}

function withOwnStatus(run: string): string | null {
  const pipelines = SWALLOWS.test(run) ? null : readPipelines(withoutSemicolon(run));
  return pipelines?.kind === "pipeline" ? pipelines.command : null;
}

function withoutSemicolon(run: string): string {
  return run.trimEnd().replace(LAST_SEMICOLON, "").trimEnd();
}

/** A note about the exit code of a pipeline; null if there is none. `isRewritten`: the new line reports its job. */
export function pipeWarning(command: string, { isRewritten }: { isRewritten: boolean }): string | null {
  const pipelines = readPipelines(splitInput(command).run);
  if (pipelines.kind === "none") return null;
  if (pipelines.kind === "unsafe") {
    return "This command contains a pipe that hides the exit code of the job. Move the command to a script and report at its end.";
  }
  const { jobs, last } = pipelines;
  const [first = ""] = jobs;
  const hidden = `This command contains a pipe, so its exit code is that of “${last}”.`;
  if (!isRewritten) {
    const others = jobs.filter((job) => job !== last).map((job) => `“${job}”`);
    return `${hidden} A failure of ${others.join(" or ")} is not reported.`;
  }
  const reported =
    jobs.length === 1
      ? `the exit code of “${first}”`
      : `a failure of any of ${jobs.map((job) => `“${job}”`).join(", ")}`;
  return `${hidden} The new line reports ${reported}.`;
}

// Wrapped lines. The job runs in the same shell as before, with the text that cron would have given to it: cron reads
// percent signs and backslashes before the shell reads quotes, so they stay as they are.

/** The command that reports what it runs, without the job, for each line. Without percent signs. */
export type WrapperLines = ReadonlyMap<
  number,
  { job: Pick<CrontabJob, "command" | "shell">; wrapper: string }
>;

/** In these, a text in single quotes has no special characters. */
const QUOTING_SHELLS = /^(?:\S*\/)?(?:a|ba|da|k|mk|lk|pdk|ya|z)?sh$/;

/**
 * Runs each job that has a wrapper as `<wrapper> -- $SHELL -c '<job>'`. With `ownStatus`, a pipeline ends with the exit
 * code of its job instead of its last command.
 */
export function withWrappers(
  text: string,
  wrappers: WrapperLines,
  { ownStatus }: { ownStatus: boolean },
): ReportingCrontab {
  return changedLines(text, wrappers, (raw, { job, wrapper }) => {
    if (!isWrappable(job)) return null;
    const end = raw.endsWith("\r") ? "\r" : "";
    const before = raw.slice(0, raw.trimEnd().length - job.command.length);
    const { run, input } = splitInput(raw.slice(before.length, raw.length - end.length));
    const kept = (ownStatus ? withOwnStatus(run) : null) ?? run;
    const command = `${wrapper} -- $SHELL -c ${quoted(kept)}${input}`;
    return utf8Length(command) > CRON_COMMAND_BYTES_MAX ? null : `${before}${command}${end}`;
  });
}

/** Whether the shell of a job has the quotes that a wrapped line needs. */
function isWrappable({ shell }: Pick<CrontabJob, "shell">): boolean {
  return shell === null || QUOTING_SHELLS.test(shell);
}

/** The text as one word of a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** cron counts bytes. */
function utf8Length(text: string): number {
  let bytes = 0;
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0;
    bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  }
  return bytes;
}

// Lines that send pings to another address.

/** Replaces the part of ping URLs before the UUID or the ping key, and the same URL as a setting of a wrapper. */
export function withPingBase(text: string, { from, to }: { from: string; to: string }): string {
  const old = withoutSlash(from);
  const parts = text.split(old);
  return parts
    .map((part, index) => {
      if (index === 0) return part;
      const isWhole = /^(?:\/|['"\s]|$)/.test(part);
      const next = /^\/([^/?#\s'"]*)/.exec(part)?.[1];
      const isPing = next === undefined || next === "" || isPingTarget(next);
      return `${isWhole && isPing ? withoutSlash(to) : old}${part}`;
    })
    .join("");
}

function withoutSlash(url: string): string {
  return url.replace(/(?<!\/)\/+$/, "");
}
