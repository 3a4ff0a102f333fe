// What the drawer of one run says.
import type { Run } from "../../../src/contract/web/history.ts";
import { plural } from "../number.ts";

const KINDS: Readonly<Record<Run["kind"], string>> = {
  success: "Success",
  fail: "Failure",
  start: "Start of a run",
  log: "Log entry",
  ign: "Ignored request",
};

/** "Failure, exit code 3" */
export function runTitle({ kind, exitStatus }: Pick<Run, "kind" | "exitStatus">): string {
  const isTold = kind === "fail" && exitStatus !== null && exitStatus !== 0;
  return isTold ? `${KINDS[kind]}, exit code ${exitStatus}` : KINDS[kind];
}

export const runWords = {
  title: "Run",
  number: (n: number) => `number ${n}`,
  older: "Older",
  newer: "Newer",
  facts: {
    started: "Started",
    ended: "Ended",
    at: "Came",
    elsewhere: "In other zones",
    took: "Took",
    exit: "Exit code",
    from: "From",
    by: "By",
    agent: "Program",
    rid: "Run id",
  },
  usual: "as usual",
  against: (text: string) => `${text} against usual`,
  mail: "mail",
  output: "Output",
  noBody: "It carried no output.",
  binary: (size: string) => `${size} that are no text. They can be downloaded.`,
  trouble: (why: string) => `The output cannot be read just now: ${why}`,
  size: (size: string) => size,
  search: "Search in the output",
  found: (count: number) => plural(count, "match", "matches"),
  next: "Next match",
  download: "Download",
  tabs: {
    text: "Text",
    diff: "Against the last success",
    mail: "As mail",
    html: "As the mail looks",
    raw: "Raw",
  },
  diff: {
    against: "Lines that are new are marked with +, lines that are gone with −, against the success of",
    same: "The output is the same as that of the last success.",
    cut: "Only the beginning is compared: the rest is too long.",
    hidden: (count: number) => `${plural(count, "line")} the same`,
    added: (count: number) => `${count} new`,
    gone: (count: number) => `${count} gone`,
  },
  from: "From",
  subject: "Subject",
  caused: "What it caused",
  wentDown: "The check went down.",
  cameUp: "The check came up.",
  takenBack: "That was taken back later.",
  toldNobody: "Nobody was told.",
  explain: "Explain this",
} as const;
