// What is done with a sample of each language: it runs, only its syntax is checked, or neither, with the reason.
import { basename } from "node:path";
import { CHECKOUT, type Sample } from "./markdown.ts";

export type State =
  | { kind: "run" }
  | { kind: "syntax"; by: string }
  | { kind: "untested"; reason: string }
  /** Not a sample: what a program prints. */
  | { kind: "output" };

const RUN: State = { kind: "run" };
const OUTPUT: State = { kind: "output" };
const syntax = (by: string): State => ({ kind: "syntax", by });
const untested = (reason: string): State => ({ kind: "untested", reason });

const LANGUAGES: Readonly<Record<string, State>> = {
  sh: RUN,
  bash: RUN,
  crontab: RUN,
  http: RUN,
  sql: RUN,
  python: RUN,
  js: RUN,
  ts: RUN,
  perl: RUN,
  json: syntax("JSON"),
  yaml: syntax("YAML"),
  ini: syntax("units by systemd-analyze, settings by the server"),
  nginx: syntax("nginx -t"),
  html: RUN,
  markdown: RUN,
  text: OUTPUT,
  diff: OUTPUT,
  powershell: untested("needs Windows"),
  bat: untested("needs Windows"),
  dockerfile: untested("needs Docker"),
  caddyfile: untested("needs Caddy"),
  php: untested("needs PHP"),
  ruby: untested("needs Ruby"),
  go: untested("needs Go"),
  tsx: untested("a part of the program"),
  css: untested("a part of the program"),
  // Commands for a checkout take minutes, and the check runs most of them.
  [CHECKOUT]: syntax("the npm scripts exist"),
};

/** Null for a language that is not in the list. A file that a later sample of the page uses runs with it. */
export function stateOf(sample: Sample, page: readonly Sample[]): State | null {
  const { language, directives } = sample;
  const state = LANGUAGES[language] ?? null;
  if (state === null || directives.untested === undefined) return isUsed(sample, page) ? RUN : state;
  return untested(directives.untested);
}

function isUsed({ line, directives: { file } }: Sample, page: readonly Sample[]): boolean {
  const users = page.filter((one) => one.line > line && one.directives.untested === undefined);
  return file !== undefined && users.some(({ text }) => text.includes(basename(file)));
}
