// What a snippet is: lines to put into a job so that it sends its signals. Snippets are data; the same test runs each
// of them for real wherever its interpreter is at hand.
import { curlLine } from "../../../../src/contract/web/requests/signal-line.ts";

/** What the lines are filled in with. */
export type Facts = {
  /** The check's own address, without a slash at its end. */
  url: string;
  /** Null: signals by mail are not received. */
  mail: string | null;
  /** As cron and systemd say when the job runs. */
  cron: string;
  calendar: string;
  /** The check takes POST only. */
  isPostOnly: boolean;
};

/** Told on success only; told at the start and at the end; the same with an id, for runs that overlap. */
export type Variant = "success" | "whole" | "rid";

export const VARIANTS: readonly Variant[] = ["success", "whole", "rid"];

export type Snippet = {
  name: string;
  label: string;
  /** Said below the lines. */
  note?: string;
  /** Variants that make no sense for it are left out; null: not for this check. */
  texts: { [V in Variant]?: (facts: Facts) => string | null };
};

/** The placeholder that stands for the job in lines of a shell. */
export const JOB = "/usr/local/bin/job.sh";

/** A signal from a line of a shell. */
export function curl({ isPostOnly }: Facts, address: string): string {
  return curlLine(address, { onlyPost: isPostOnly, isQuiet: true });
}
