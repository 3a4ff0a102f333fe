// Looks up every test that docs/conformance.md names in the reports of the last run, and fails where one is
// missing, was skipped or failed. `npm run check` runs it after the tests; it runs no test itself.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gapRows, SPEC_PROOFS } from "../test/proofs/conformance-page.ts";
import { checkProofsPassed, rowsOf } from "../test/proofs/judgement.ts";
import { specRows } from "../test/support/documents.ts";

const ROOT = join(import.meta.dirname, "..");
const TESTS_PATH = "test-results/vitest.json";
const CONFORMANCE_PATH = "test-results/conformance.json";

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

/** All that keeps the last run from proving what is promised. */
function complaints(): string[] {
  const missing = [TESTS_PATH, CONFORMANCE_PATH].filter((path) => !existsSync(join(ROOT, path)));
  if (missing.length > 0) return missing.map((path) => `there is no ${path}: run the tests first`);
  const ids = specRows(read("docs/spec.md")).map(({ id }) => id);
  const { rows, complaints: unproved } = rowsOf(ids, SPEC_PROOFS);
  const all = [...rows, ...gapRows(read("docs/gaps.md"))];
  const reports = { tests: read(TESTS_PATH), conformance: read(CONFORMANCE_PATH), root: ROOT };
  return [...unproved, ...checkProofsPassed(all, reports)];
}

const found = complaints();
for (const complaint of found) process.stderr.write(`${complaint}\n`);
if (found.length > 0) {
  process.stderr.write(`This run does not prove docs/conformance.md: ${found.length} complaints.\n`);
  process.exitCode = 1;
}
