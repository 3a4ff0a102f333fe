// Reads the samples of a Markdown page: fenced blocks with the directives above them, and the headings.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");

/** Comment lines directly above a block. */
const DIRECTIVES = ["before", "untested", "status", "file", "until"] as const;
export type Directive = (typeof DIRECTIVES)[number];

export type Sample = {
  /** Of the opening fence. */
  line: number;
  /** The nearest heading above. */
  heading: string;
  /** Empty if there is none. */
  language: string;
  text: string;
  directives: Readonly<Partial<Record<Directive, string>>>;
};

const FENCE = /^(\s*)(`{3,}|~{3,})\s*([^\s`[{]*)/;
const COMMENT = /^\s*<!--\s*(?:([a-z]+)(?::\s*(.*?))?|.*?)\s*-->$/;
const HEADING = /^#{1,6}\s+(.*?)\s*$/;
/** Markers of generated parts. */
const MARKERS = ["generated", "end"];

/** The samples of a page in order, and what cannot be understood, each with its line. */
export function readSamples(page: string): { samples: Sample[]; problems: string[] } {
  const lines = page.split("\n");
  const samples: Sample[] = [];
  const problems: string[] = [];
  let heading = "";
  let directives: Partial<Record<Directive, string>> = {};
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] ?? "";
    const [, indent = "", fence, language = ""] = FENCE.exec(line) ?? [];
    if (fence !== undefined) {
      const end = lines.findIndex((one, at) => at > index && one.trim() === fence);
      if (end === -1) return { samples, problems: [...problems, `${index + 1}: the block has no end`] };
      const text = lines.slice(index + 1, end).map((one) => withoutIndent(one, indent.length));
      samples.push({ line: index + 1, heading, language, text: `${text.join("\n")}\n`, directives });
      directives = {};
      index = end;
      continue;
    }
    const [comment, name = "", value = ""] = COMMENT.exec(line) ?? [];
    if (comment !== undefined && isDirective(name)) {
      // A block may need more than one line of preparation.
      directives[name] = directives[name] === undefined ? value : `${directives[name]}\n${value}`;
      continue;
    }
    if (comment !== undefined && !MARKERS.includes(name)) problems.push(`${index + 1}: unknown directive`);
    if (Object.keys(directives).length > 0) problems.push(`${index + 1}: a directive is not above a block`);
    directives = {};
    heading = HEADING.exec(line)?.[1] ?? heading;
  }
  return { samples, problems };
}

function isDirective(name: string): name is Directive {
  return (DIRECTIVES as readonly string[]).includes(name);
}

/** Blocks in lists are indented. */
function withoutIndent(line: string, length: number): string {
  return line.slice(0, length).trim() === "" ? line.slice(length) : line;
}

/** The pages whose samples are tested. */
export function samplePages(): string[] {
  const pages = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/{guide,operate,contribute}/**/*.md"];
  return globSync(pages, { cwd: ROOT }).toSorted();
}

export function readPage(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

/** The language of shell commands in pages for contributors. */
export const CHECKOUT = "checkout";

export function samplesOf(page: string): { samples: Sample[]; problems: string[] } {
  const { samples, problems } = readSamples(readPage(page));
  const isForContributors = /^CONTRIBUTING|^docs\/contribute\//.test(page);
  const languageOf = ({ language }: Sample) => (isForContributors && language === "sh" ? CHECKOUT : language);
  return { samples: samples.map((sample) => ({ ...sample, language: languageOf(sample) })), problems };
}
