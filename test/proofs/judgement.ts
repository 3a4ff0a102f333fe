// Judges proofs: whether each statement has one, whether what it names exists, and whether it has passed in a
// run whose reports are given. Pure: texts in, complaints out.
import { type Proof, type Proofs, topicOf } from "./proof.ts";

/** What is wrong, in words that name the row. Empty means nothing. */
type Complaints = string[];

/** A row of docs/conformance.md: a statement of the specification, or an answer to a gap. */
export type Row = { id: string; proofs: readonly Proof[] };

/** How a test ended. */
type Ending = "passed" | "failed" | "skipped";
type Run = { path: string; titles: readonly string[]; ending: Ending };

/** The part of vitest's JSON report that is read here. */
type TestReport = {
  testResults: {
    name: string;
    assertionResults: { ancestorTitles: string[]; title: string; status: string }[];
  }[];
};

/** What `npm run conformance` writes; cases are judged in the standard dialect. */
type ConformanceReport = { standard: { cases: { topic: string; case: string; result: Ending }[] } };

/** The rows of a specification, each with its proofs, and what is missing or too many. */
export function rowsOf(ids: readonly string[], proofs: Proofs): { rows: Row[]; complaints: Complaints } {
  const known = new Set(ids);
  const rows = ids.map((id) => ({ id, proofs: proofs[id] ?? [] }));
  const unproved = rows.filter((row) => row.proofs.length === 0).map(({ id }) => `${id} has no proof`);
  const strays = Object.keys(proofs).filter((id) => !known.has(id));
  return { rows, complaints: [...unproved, ...strays.map((id) => `${id} is proved, but is no statement`)] };
}

/** Proofs that name a file or a title that is not there. `read` gives a file's text, or null. */
export function checkProofsExist(rows: readonly Row[], read: (path: string) => string | null): Complaints {
  return rows.flatMap(({ id, proofs }) =>
    proofs.flatMap((proof) => {
      const text = read(proof.path);
      if (text === null) return [`${id}: ${proof.path} does not exist`];
      if (proof.title === null || hasTitle(proof, text)) return [];
      return [`${id}: ${proof.path} has no test "${proof.title}"`];
    }),
  );
}

function hasTitle(proof: Proof, text: string): boolean {
  const { title } = proof;
  if (title === null) return true;
  if (topicOf(proof) === null) return ['"', "'", "`"].some((quote) => text.includes(quote + title + quote));
  const { cases } = JSON.parse(text) as { cases: readonly { name: string }[] };
  return cases.some(({ name }) => name === title);
}

/**
 * Rows that the reports do not prove: a named test did not run, was skipped or failed. `root` is what the
 * report's paths begin with.
 */
export function checkProofsPassed(
  rows: readonly Row[],
  { tests, conformance, root }: { tests: string; conformance: string; root: string },
): Complaints {
  const runs = [...runsOf(tests, root), ...casesOf(conformance)];
  const byPath = Map.groupBy(runs, ({ path }) => path);
  return rows.flatMap(({ id, proofs }) =>
    proofs.flatMap((proof) => {
      const named = (byPath.get(proof.path) ?? []).filter(({ titles }) => isNamed(proof.title, titles));
      const problem = problemWith(named);
      return problem === null ? [] : [`${id}: ${written(proof)} ${problem}`];
    }),
  );
}

/** A test that is skipped on this machine may stand beside one that ran, but not instead of it. */
function problemWith(named: readonly Run[]): string | null {
  if (named.length === 0) return "did not run";
  if (named.some(({ ending }) => ending === "failed")) return "failed";
  return named.some(({ ending }) => ending === "passed") ? null : "was skipped";
}

function runsOf(report: string, root: string): Run[] {
  const { testResults } = JSON.parse(report) as TestReport;
  return testResults.flatMap(({ name, assertionResults }) => {
    const path = name.startsWith(`${root}/`) ? name.slice(root.length + 1) : name;
    return assertionResults.map(({ ancestorTitles, title, status }) => {
      const ending = status === "passed" || status === "failed" ? status : "skipped";
      return { path, titles: [...ancestorTitles, title], ending };
    });
  });
}

function casesOf(report: string): Run[] {
  const { standard } = JSON.parse(report) as ConformanceReport;
  return standard.cases.map(({ topic, case: name, result }) => ({
    path: `test/conformance/cases/${topic}.json`,
    titles: [name],
    ending: result,
  }));
}

/** The holes that vitest fills in the titles of a table of tests. */
const HOLES = /%[sdifjo#$]|\$[\w.]+/g;

function isNamed(title: string | null, titles: readonly string[]): boolean {
  if (title === null || titles.includes(title)) return true;
  if (title.search(HOLES) === -1) return false;
  const literal = title.split(HOLES).map((part) => part.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`));
  const pattern = new RegExp(`^${literal.join(".*")}$`, "s");
  return titles.some((one) => pattern.test(one));
}

/** A proof as the documents write it. */
export function written({ path, title }: Proof): string {
  return title === null ? `\`${path}\`` : `\`${path}\` "${title}"`;
}
