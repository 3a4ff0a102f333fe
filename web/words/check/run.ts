// Texts of the run drawer.
import type { Run } from "../../../src/contract/web/history.ts";
import { plural } from "../number.ts";

const KINDS: Readonly<Record<Run["kind"], string>> = {
  success: "Success",
  fail: "Failure",
  start: "Start",
  log: "Log entry",
  ign: "Ignored ping",
};

/** "Failure, exit code 3" */
export function runTitle({ kind, exitStatus }: Pick<Run, "kind" | "exitStatus">): string {
  const isTold = kind === "fail" && exitStatus !== null && exitStatus !== 0;
  return isTold ? `${KINDS[kind]}, exit code ${exitStatus}` : KINDS[kind];
}

export const runWords = {
  title: "Run",
  number: (n: number) => `#${n}`,
  older: "Older",
  newer: "Newer",
  facts: {
    started: "Started",
    ended: "Ended",
    at: "Received",
    elsewhere: "In other time zones",
    took: "Duration",
    exit: "Exit code",
    from: "From",
    by: "Method",
    agent: "User agent",
    rid: "Run ID",
  },
  usual: "as usual",
  against: (text: string) => `${text} vs. usual`,
  mail: "email",
  output: "Output",
  noBody: "No output.",
  binary: (size: string) => `${size} of binary data. Download it to view it.`,
  trouble: (why: string) => `The output can't be loaded right now: ${why}`,
  size: (size: string) => size,
  search: "Search output",
  found: (count: number) => plural(count, "match", "matches"),
  next: "Next match",
  download: "Download",
  tabs: {
    text: "Text",
    diff: "Compare with last success",
    mail: "Email",
    html: "Email (HTML)",
    raw: "Raw",
  },
  diff: {
    against: "Added lines are marked with +, removed lines with −, compared with the success of",
    same: "Same output as the last success.",
    cut: "Only the beginning is compared because the output is too long.",
    hidden: (count: number) => plural(count, "unchanged line"),
    added: (count: number) => `${count} added`,
    gone: (count: number) => `${count} removed`,
  },
  from: "From",
  subject: "Subject",
  caused: "Effect",
  wentDown: "The check went down.",
  cameUp: "The check is up.",
  takenBack: "This was corrected later.",
  toldNobody: "No notifications were sent.",
  explain: "Explain",
} as const;
