// Rules about the sources that neither the compiler nor the linter can check. Each rule holds for the repository, and
// fails when a violation is planted in it.
import { describe, expect, test } from "vitest";
import {
  checkCore,
  checkImports,
  checkMigrations,
  checkPackages,
  checkSql,
  checkText,
  type Rule,
} from "./support/tidy-rules.ts";
import { readTree, type Tree } from "./support/tidy-tree.ts";

const repository = readTree(`${import.meta.dirname}/..`);

function planted(files: Readonly<Record<string, string>>): Tree {
  const added = Object.entries(files).map(([path, text]) => [path, { path, text }] as const);
  return { files: new Map([...repository.files, ...added]) };
}

const migration = [...repository.files.keys()].find((path) => path.startsWith("migrations/0001")) ?? "";

/** The rule, a file that violates it, its text, and what is reported. */
const RULES: readonly (readonly [string, Rule, string, string, string])[] = [
  [
    "imports follow docs/contribute/import-rules.md",
    checkImports,
    "src/core/planted.ts",
    'import { createLog } from "../lib/log.ts";',
    "src/core/planted.ts:1 core may not import src/lib/log.ts.",
  ],
  [
    "only operations open transactions",
    checkImports,
    "src/services/planted.ts",
    'import { inTransaction } from "../store/transaction.ts";',
    "src/services/planted.ts:1 services/* may not import inTransaction.",
  ],
  [
    "core uses no clock, randomness or I/O, and does not depend on the machine",
    checkCore,
    "src/core/planted.ts",
    "export const now = () => Date.now();",
    "src/core/planted.ts:1 time is an argument",
  ],
  [
    "SQL is in the store",
    checkSql,
    "src/operations/planted.ts",
    'export const sql = "select id from checks";',
    "src/operations/planted.ts:1 contains SQL on the table checks",
  ],
  ["migrations are numbered and do not change", checkMigrations, migration, "-- Other.", "was changed"],
  [
    "packages have exact versions, permissive licenses and no install script",
    checkPackages,
    "package.json",
    '{ "dependencies": { "pg": "^8.0.0" } }',
    'package.json: pg has the version "^8.0.0", which is not exact',
  ],
  [
    "no file contains a path of one machine or the URL of a registry",
    checkText,
    "docs/planted.md",
    ["See /ho", "me/alice/notes.md"].join(""),
    "docs/planted.md:1 contains a path of one machine",
  ],
];

describe("In this repository", () => {
  test.each(RULES)("%s", (_name, rule) => {
    expect(rule(repository)).toEqual([]);
  });
});

describe("A planted violation is found", () => {
  test.each(RULES)("%s", (_name, rule, path, text, reported) => {
    const found = rule(planted({ [path]: text }));
    expect(found).toEqual(expect.arrayContaining([expect.stringContaining(reported)]));
  });
});
