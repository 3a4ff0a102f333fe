// A crontab whose jobs report: the same text, with one command behind each job that tells how it ended. Lines that
// cannot be continued safely stay as they are.
import { splitInput } from "./input.ts";

/** What a job is followed by, for its line; a line that is not asked about stays as it is. */
export type ReportLines = ReadonlyMap<number, string>;
export type ReportingCrontab = {
  text: string;
  /** The lines that were to report and could not be changed. */
  unchanged: number[];
};

const IN_BACKGROUND = /(?<!&)&\s*$/;
/** The shell would take what is behind it for a comment, or for a part of the same word. */
const SWALLOWS = /(?:^|\s)#|\\$/;

/** Adds `; <report>` to each line that has one, so that `$?` in it is the status of the job. */
export function withReports(text: string, reports: ReportLines): ReportingCrontab {
  const unchanged: number[] = [];
  const lines = text.split("\n").map((raw, index) => {
    const line = index + 1;
    const report = reports.get(line);
    if (report === undefined) return raw;
    const changed = continued(raw, report);
    if (changed === null) unchanged.push(line);
    return changed ?? raw;
  });
  return { text: lines.join("\n"), unchanged };
}

function continued(raw: string, report: string): string | null {
  const end = raw.endsWith("\r") ? "\r" : "";
  const content = raw.slice(0, raw.length - end.length);
  const { run, input } = splitInput(content);
  if (IN_BACKGROUND.test(run) || SWALLOWS.test(run)) return null;
  const ended = run.trimEnd().replace(/;$/, "").trimEnd();
  return `${ended}; ${report}${input}${end}`;
}
