// Judges the project's documents. Pure: texts in, complaints out, so that a test can feed a broken text
// and see it caught. Reading files is the caller's business.
import { posix } from "node:path";

/** What is wrong, in words that name the place. Empty means nothing. */
type Complaints = string[];

/** The cells of every table row of a Markdown text, head and rule included, with the line they stand on. */
function tableRows(text: string): { line: number; cells: string[] }[] {
  return text.split("\n").flatMap((content, index) => {
    if (!content.startsWith("|")) return [];
    const cells = content.split(/(?<!\\)\|/).slice(1, -1);
    return [{ line: index + 1, cells: cells.map((cell) => cell.trim()) }];
  });
}

/** Rows whose first cell begins as an id does. A mistyped id is still found here, and complained about. */
function idRows(text: string, letter: "S" | "G"): { line: number; id: string; cells: string[] }[] {
  return tableRows(text).flatMap(({ line, cells }) => {
    const id = cells[0] ?? "";
    return id.startsWith(letter) && /\d/.test(id) ? [{ line, id, cells }] : [];
  });
}

function duplicates(ids: readonly string[]): string[] {
  return [...new Set(ids.filter((id, index) => ids.indexOf(id) !== index))];
}

/** A number that a document states about itself, by the words around it; null if it does not. */
function statedNumber(text: string, around: RegExp): number | null {
  const found = around.exec(text)?.[1];
  return found === undefined ? null : Number(found);
}

const SPEC_ID = /^S(\d+(?:\.\d+)?)-[a-z0-9_]+(?:\.[a-z0-9_]+)*$/;

/** How many ids each section of the specification has, in the order of the page. */
export function countBySection(spec: string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { id } of idRows(spec, "S")) {
    const section = `S${SPEC_ID.exec(id)?.[1] ?? "?"}`;
    counts[section] = (counts[section] ?? 0) + 1;
  }
  return counts;
}

/** Ids well-formed, unique and under the heading of their section; a statement for each; the stated total. */
export function checkSpec(spec: string): Complaints {
  const rows = idRows(spec, "S");
  const complaints: Complaints = [];
  const headings = sectionStarts(spec);
  for (const { line, id, cells } of rows) {
    const section = SPEC_ID.exec(id)?.[1];
    if (section === undefined) complaints.push(`line ${line}: ${id} is no id`);
    else if (headings.findLast((heading) => heading.line < line)?.section !== section) {
      complaints.push(`line ${line}: ${id} stands outside section ${section}`);
    }
    if (cells.length < 2 || cells.at(-1) === "") complaints.push(`line ${line}: ${id} states nothing`);
  }
  for (const id of duplicates(rows.map((row) => row.id))) complaints.push(`${id} is given twice`);
  const stated = statedNumber(spec, /It holds (\d+) ids/);
  if (stated !== rows.length) complaints.push(`says ${stated} ids, has ${rows.length}`);
  return complaints;
}

function sectionStarts(text: string): { line: number; section: string }[] {
  return text.split("\n").flatMap((content, index) => {
    const section = /^##+ (\d+(?:\.\d+)?)\.? /.exec(content)?.[1];
    return section === undefined ? [] : [{ line: index + 1, section }];
  });
}

/** A statement of the specification, with the heading it stands under. */
type Statement = { id: string; heading: string; statement: string };

/** The statements in the order of the page. */
export function specRows(spec: string): Statement[] {
  const headings = spec.split("\n").flatMap((content, index) => {
    const heading = /^##+ (\d.*)$/.exec(content)?.[1];
    return heading === undefined ? [] : [{ line: index + 1, heading }];
  });
  return idRows(spec, "S").map(({ line, id, cells }) => ({
    id,
    heading: headings.findLast((one) => one.line < line)?.heading ?? "",
    statement: cells.at(-1) ?? "",
  }));
}

type Gap = { id: string; question: string; proof: string; planned: boolean };

/** The rows of the page of gaps. */
export function gapsOf(text: string): Gap[] {
  return idRows(text, "G").map(({ id, cells }) => {
    const proof = cells[3] ?? "";
    return { id, question: cells[1] ?? "", proof, planned: proof.includes("planned:") };
  });
}

const PROOF =
  /^(?:planned: [a-z]+(?:\/[a-z]+)*|`((?:src|test)\/[^`]+\.test\.ts|test\/conformance\/cases\/[^`]+\.json)`(?: "([^"]+)")?)$/;

/** Ids without a hole, an answer and a proof for each, every proof real, and the stated number of planned ones. */
export function checkGaps(text: string, readTest: (path: string) => string | null): Complaints {
  const complaints: Complaints = [];
  const rows = idRows(text, "G");
  rows.forEach(({ id, line, cells }, index) => {
    const due = `G${String(index + 1).padStart(2, "0")}`;
    if (id !== due) complaints.push(`line ${line}: ${id} stands where ${due} is due`);
    const [, question = "", answer = "", proof = ""] = cells;
    if (cells.length !== 4 || question === "" || answer === "")
      complaints.push(`${id} lacks a question or an answer`);
    complaints.push(...checkProof(id, proof, readTest));
  });
  for (const id of duplicates(rows.map((row) => row.id))) complaints.push(`${id} is given twice`);
  const planned = gapsOf(text).filter((gap) => gap.planned).length;
  const stated = statedNumber(text, /Rows with a planned proof: (\d+)/);
  if (stated !== planned) complaints.push(`says ${stated} planned proofs, has ${planned}`);
  return complaints;
}

function checkProof(id: string, proof: string, readTest: (path: string) => string | null): Complaints {
  if (proof === "") return [`${id} has no proof`];
  return proof.split("; ").flatMap((part) => {
    const found = PROOF.exec(part);
    if (found === null) return [`${id}: "${part}" is no proof`];
    const [, path, name] = found;
    if (path === undefined) return [];
    const source = readTest(path);
    if (source === null) return [`${id}: ${path} does not exist`];
    return name === undefined || hasTestNamed(source, name) ? [] : [`${id}: ${path} has no test "${name}"`];
  });
}

/** Whether the source names a test so: as the text of a `test`, `test.each` or `describe`, in any quotes. */
function hasTestNamed(source: string, name: string): boolean {
  return ['"', "'", "`"].some((quote) => source.includes(quote + name + quote));
}

/** The gaps that a text refers to. */
export function citedGaps(text: string): string[] {
  return [...new Set([...text.matchAll(/\bG\d\d+\b/g)].map(([id]) => id))];
}

/** References to gaps that the page of gaps does not have. */
export function checkCitedGaps(text: string, gaps: readonly Gap[]): Complaints {
  const known = new Set(gaps.map((gap) => gap.id));
  return citedGaps(text).flatMap((id) => (known.has(id) ? [] : [`cites ${id}, which does not exist`]));
}

const TERM = /^\*\*([^*]+)\*\*: \S/;

/** The glossary's words: each defined once, in alphabetical order. */
export function checkGlossary(text: string): Complaints {
  const complaints: Complaints = [];
  const terms = text.split("\n").flatMap((line) => {
    if (!line.startsWith("**")) return [];
    const term = TERM.exec(line)?.[1];
    if (term === undefined) complaints.push(`"${line.slice(0, 30)}" is no definition`);
    return term === undefined ? [] : [term];
  });
  if (terms.length === 0) complaints.push("defines nothing");
  const keys = terms.map((term) => term.toLowerCase().replaceAll("_", " "));
  keys.forEach((key, index) => {
    const before = keys[index - 1];
    if (before !== undefined && key < before) complaints.push(`"${key}" stands after "${before}"`);
  });
  for (const key of duplicates(keys)) complaints.push(`"${key}" is defined twice`);
  return complaints;
}

const PATH = /^(?:(?:src|test|docs|migrations|scripts|bench|\.ci|\.github)\/[^\s"]*|[A-Z]+\.md\b)/;

/**
 * The files that a document cites, as paths from the root: code spans that begin with a folder of ours,
 * and relative links. Where a path stands for many (`<name>`, `NNNN`, `*`), it is given as a pattern.
 */
export function citedPaths(text: string, document: string): string[] {
  const prose = text.replace(/^(```|~~~)[\s\S]*?^\1/gm, "");
  const spans = [...prose.matchAll(/`([^`\n]+)`/g)].flatMap(([, code = ""]) => PATH.exec(code)?.[0] ?? []);
  const links = [...prose.replace(/`[^`\n]+`/g, "code").matchAll(/\]\(([^)\s]+)[^)]*\)/g)].flatMap(
    ([, target = ""]) => {
      if (/^(?:[a-z][a-z0-9+.-]*:|#)/i.test(target)) return [];
      return posix.join(posix.dirname(document), target);
    },
  );
  const plain = [...spans, ...links].map((path) => {
    const bare = path
      .replace(/#.*$/, "")
      .replace(/:\d+(?:-\d+)?$/, "")
      .replace(/[/.,;]+$/, "");
    return bare.replace(/<[^>]+>|NNNN|…/g, "*");
  });
  return [...new Set(plain)];
}

/** Citations of files that do not exist. `exists` is asked with a path from the root, or a pattern. */
export function checkPaths(text: string, document: string, exists: (path: string) => boolean): Complaints {
  return citedPaths(text, document).flatMap((path) =>
    exists(path) ? [] : [`${document} cites ${path}, which does not exist`],
  );
}
