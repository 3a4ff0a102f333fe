// The violations that are laid over the small house to prove that every tidy rule can fail. Each plant says
// which lines must be reported, and nothing else may be.
import { FIRST_MIGRATION, HEAD, lockWith, MANIFEST, source } from "./tidy-house.ts";

/** Where a planted package begins: behind the manifest's packages, one line each, and the rest of the small lock file. */
const PLANTED_PACKAGE = `package-lock.json:${24 + Object.keys(MANIFEST.dependencies).length}`;

/** `caught` lists `path:line` of every finding that must appear; empty for what only looks suspicious. */
export type Plant = {
  rule: string;
  what: string;
  files: Record<string, string | null>;
  caught: readonly string[];
};

/** Two halves put together, so that this file does not contain what it plants. */
const joined = (...halves: string[]): string => halves.join("");

const inCore = (line: string, isCaught = true): Plant => ({
  rule: "core",
  what: line,
  files: { "src/core/planted.ts": source(line) },
  caught: isCaught ? ["src/core/planted.ts:2"] : [],
});

const importing = (path: string, line: string, isCaught = true): Plant => ({
  rule: "imports",
  what: `${path}: ${line}`,
  files: { [path]: source(line) },
  caught: isCaught ? [`${path}:2`] : [],
});

const IMPORTS: readonly Plant[] = [
  importing("src/core/planted.ts", 'import { readFileSync } from "node:fs";'),
  importing("src/core/planted.ts", 'import fs from "fs";'),
  importing("src/core/planted.ts", 'import { pino } from "pino";'),
  importing("src/core/planted.ts", 'import type { Pool } from "pg";'),
  importing("src/core/planted.ts", 'export { log } from "../lib/log.ts";'),
  importing("src/core/planted.ts", 'export * from "../lib/log.ts";'),
  importing("src/core/planted.ts", 'import "../lib/log.ts";'),
  importing("src/core/planted.ts", 'export const load = () => import("../lib/log.ts");'),
  importing("src/core/planted.ts", 'export type Log = import("../lib/log.ts").Log;'),
  importing("src/core/planted.ts", 'export type Log = typeof import("../lib/log.ts");'),
  importing("src/core/planted.ts", 'export const at = new URL("../lib/log.ts", import.meta.url);'),
  importing("src/core/planted.ts", "export const load = (name: string) => import(name);"),
  importing("src/core/planted.ts", 'export const a = require("./check.ts");'),
  importing("src/core/planted.ts", 'import { a } from "./missing.ts";'),
  importing("src/core/planted.ts", 'import { a } from "#core/check.ts";'),
  importing("src/core/planted.ts", 'import { a } from "./cast.ts";'),
  importing("src/core/planted.ts", 'import { test } from "vitest";'),
  importing("src/core/planted.test.ts", 'import { a } from "../lib/log.ts";'),
  importing("src/core/planted.test.ts", 'import { Cron } from "croner";'),
  importing("src/lib/planted.ts", 'import { createRequire } from "node:module";'),
  importing("src/lib/planted.ts", 'import pg from "pg";'),
  importing("src/operations/planted.ts", 'import { request } from "node:http";'),
  importing("src/operations/planted.ts", 'import pg from "pg";'),
  importing("src/services/api/planted.ts", 'import pg from "pg";'),
  importing("src/services/api/planted.ts", 'import { a } from "../../store/transaction.ts";'),
  importing("src/services/ping/planted.ts", 'import type { a } from "../../contract/check.ts";'),
  importing("src/store/planted.ts", 'import { connect } from "node:net";'),
  importing("src/store/planted.ts", 'import { a } from "./transaction.ts";'),
  importing("src/services/api/planted.ts", 'import type { a } from "../../store/transaction.ts";'),
  importing("src/store/planted.ts", 'import type { a } from "./transaction.ts";', false),
  importing("src/client/planted.ts", 'import { createHash } from "node:crypto";'),
  importing("src/core/planted.ts", 'import { a } from "./check.ts";', false),
  importing("src/core/planted.ts", "export const text = \"import { pino } from 'pino'\";", false),
  importing("src/core/planted.ts", '// import { pino } from "pino";', false),
  importing("src/core/planted.test.ts", 'import { readFileSync } from "node:fs";', false),
  importing("src/core/planted.test.ts", 'import fc from "fast-check";', false),
  importing("src/config.test.ts", 'import { port } from "./config.ts";', false),
  importing("src/roles.test.ts", 'import { a } from "./roles.ts";', false),
  importing("src/store/planted.ts", 'import { createHash } from "node:crypto";', false),
  importing("src/lib/planted.ts", 'export const at = new URL("../../migrations/", import.meta.url);', false),
  {
    rule: "imports",
    what: "a file that stands in no room",
    files: { "src/tools/planted.ts": source("export const a = 1;") },
    caught: ["src/tools/planted.ts:1"],
  },
  {
    rule: "imports",
    what: "a test that imports another test",
    files: {
      "src/core/one.test.ts": source("export const a = 1;"),
      "src/core/two.test.ts": source('import { a } from "./one.test.ts";'),
    },
    caught: ["src/core/two.test.ts:2"],
  },
  {
    rule: "imports",
    what: "a table that allows a package we do not depend on",
    files: {
      "package.json": JSON.stringify({
        ...MANIFEST,
        dependencies: { ...MANIFEST.dependencies, pg: undefined },
      }),
    },
    caught: ["test/support/import-rule.ts:1"],
  },
];

const CYCLES: readonly Plant[] = [
  {
    rule: "cycles",
    what: "three files in a circle",
    files: {
      "src/core/one.ts": source('import { b } from "./two.ts";'),
      "src/core/two.ts": source('import { c } from "./three.ts";'),
      "src/core/three.ts": source('import { a } from "./one.ts";'),
    },
    caught: ["src/core/three.ts:2"],
  },
  {
    rule: "cycles",
    what: "a circle of types alone",
    files: {
      "src/core/one.ts": source('import type { B } from "./two.ts";'),
      "src/core/two.ts": source('import type { A } from "./one.ts";'),
    },
    caught: ["src/core/two.ts:2"],
  },
  {
    rule: "cycles",
    what: "two ways to the same file are no circle",
    files: {
      "src/core/one.ts": source('import { b } from "./two.ts";\nimport { a } from "./check.ts";'),
      "src/core/two.ts": source('import { a } from "./check.ts";'),
    },
    caught: [],
  },
];

const CORE: readonly Plant[] = [
  inCore("export const now = Date.now();"),
  inCore('export const now = Date["now"]();'),
  inCore("export const now = (key: 'now') => Date[key]();"),
  inCore("export const now = new Date();"),
  inCore("export const now = new Date;"),
  inCore("export const now = (...parts: [number]) => new Date(...parts);"),
  inCore("export const now = Date();"),
  inCore("export const Clock = Date;"),
  inCore("export const { now } = Date;"),
  inCore("export const now = performance.now();"),
  inCore("export const later = (f: () => void) => setTimeout(f, 1);"),
  inCore("export const chance = Math.random();"),
  inCore("export const { random } = Math;"),
  inCore("export const id = crypto.randomUUID();"),
  inCore('export const say = () => console.log("x");'),
  inCore('export const get = () => fetch("/");'),
  inCore("export const pid = process.pid;"),
  inCore("export const now = globalThis.Date.now();"),
  inCore("export const day = (at: number) => new Date(at).getDay();"),
  inCore("export const local = new Date(2026, 0, 1);"),
  inCore("export const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;"),
  inCore('export const f = new Intl.DateTimeFormat("en", { hour: "numeric" });'),
  inCore("export const f = (format: Intl.DateTimeFormat) => format.formatToParts();"),
  inCore("export const sorted = (a: string, b: string) => a.localeCompare(b);"),
  inCore('export const f = new Intl.DateTimeFormat("en", { timeZone: "UTC" });', false),
  inCore("export const year = (at: number) => new Date(at).getUTCFullYear();", false),
  inCore("export const is = (at: unknown): at is Date => at instanceof Date;", false),
  inCore("export const at = Date.UTC(2026, 0, 1) + Math.floor(1.5);", false),
  inCore("export type Options = { fetch: string; process: number; console?: Date };", false),
  inCore("export const of = (options: { process: number }) => options.process;", false),
  inCore('export const text = "Date.now()"; // Date.now()', false),
  {
    rule: "core",
    what: "a clock in a test of core",
    files: { "src/core/planted.test.ts": source("export const now = Date.now();") },
    caught: [],
  },
];

const inLib = (line: string, isCaught = true): Plant => ({
  rule: "environment",
  what: line,
  files: { "src/lib/planted.ts": source(line) },
  caught: isCaught ? ["src/lib/planted.ts:2"] : [],
});

const ENVIRONMENT: readonly Plant[] = [
  inLib('export const port = process.env["PORT"];'),
  inLib('export const port = process["env"].PORT;'),
  inLib("export const { env } = process;"),
  inLib("export const whole = process;"),
  inLib("export const env = globalThis.process.env;"),
  inLib('import { env } from "node:process";'),
  inLib("export const mode = import.meta.env;"),
  inLib("process.loadEnvFile();"),
  inLib("export const pid = process.pid;", false),
  inLib('export const text = "process.env";', false),
  inLib("export const here = import.meta.dirname;", false),
  {
    rule: "environment",
    what: "a script that reads the environment",
    files: { "scripts/planted.ts": source("export const env = process.env;") },
    caught: ["scripts/planted.ts:2"],
  },
];

const inOperation = (sql: string, isCaught = true): Plant => ({
  rule: "tables",
  what: sql,
  files: { "src/operations/planted.ts": source(`export const text = ${JSON.stringify(sql)};`) },
  caught: isCaught ? ["src/operations/planted.ts:2"] : [],
});

const TABLES: readonly Plant[] = [
  inOperation("select id from checks"),
  inOperation("SELECT c.id FROM ONLY Jobs c"),
  inOperation("copy jobs (id) from stdin"),
  inOperation("with a as (select 1) select * from a, jobs"),
  inOperation("select 1 from a join check_state s on true"),
  inOperation("update jobs as j set id = 1"),
  inOperation("delete from public.jobs"),
  inOperation('insert into "jobs" values (1)'),
  inOperation("truncate jobs"),
  inOperation("select 1 from old", false),
  inOperation("select 1 from work", false),
  inOperation("No such entry among the jobs: choose one from jobs, or update jobs later.", false),
  {
    rule: "tables",
    what: "a template with holes",
    files: {
      "src/cli/planted.ts": source(
        "export const sql = (x: string) => `select ${x}\n  from jobs where id = $1`;",
      ),
    },
    caught: ["src/cli/planted.ts:2"],
  },
  {
    rule: "tables",
    what: "a second file of the store that writes a table",
    files: { "src/store/planted.ts": source('export const sql = "update jobs set id = 1";') },
    caught: ["src/store/planted.ts:2"],
  },
  {
    rule: "tables",
    what: "a folder of the store that shares a table among its files",
    files: {
      "src/store/check-state/beats.ts": source('export const sql = "update check_state set id = 1";'),
      "src/store/check-state/rows.ts": source('export const sql = "delete from check_state";'),
    },
    caught: [],
  },
  {
    rule: "tables",
    what: "a folder of the store beside a file that is the home of the table",
    files: { "src/store/work/planted.ts": source('export const sql = "delete from jobs";') },
    caught: ["src/store/work/planted.ts:2"],
  },
  {
    rule: "tables",
    what: "a second file of the store that reads a table",
    files: { "src/store/planted.ts": source('export const sql = "select id from jobs";') },
    caught: [],
  },
];

const MIGRATIONS: readonly Plant[] = [
  {
    rule: "migrations",
    what: "a migration changed after it was recorded",
    files: { "migrations/0001_initial.sql": `${FIRST_MIGRATION} ` },
    caught: ["migrations/0001_initial.sql:1"],
  },
  {
    rule: "migrations",
    what: "a migration that is gone",
    files: { "migrations/0002_names.sql": null },
    caught: ["migrations/0002_names.sql:1"],
  },
  {
    rule: "migrations",
    what: "a gap in the numbers, and nothing recorded",
    files: { "migrations/0004_later.sql": "-- Later.\n" },
    caught: ["migrations/0004_later.sql:0", "migrations/0004_later.sql:1"],
  },
  {
    rule: "migrations",
    what: "a number given twice",
    files: { "migrations/0002_other.sql": "-- Other.\n" },
    caught: ["migrations/0002_other.sql:0", "migrations/0002_other.sql:1"],
  },
  {
    rule: "migrations",
    what: "a file that is no migration",
    files: { "migrations/fix.sql": "-- Fix.\n" },
    caught: ["migrations/fix.sql:0"],
  },
];

const named = (path: string, isCaught = true): Plant => ({
  rule: "names",
  what: path,
  files: { [path]: source("export const a = 1;") },
  caught: isCaught ? [`${path}:0`] : [],
});

const exporting = (line: string, isCaught = true): Plant => ({
  rule: "exports",
  what: line,
  files: { "src/core/planted.ts": source(line) },
  caught: isCaught ? ["src/core/planted.ts:2"] : [],
});

const SHAPES: readonly Plant[] = [
  named("src/lib/utils.ts"),
  named("src/lib/string-helpers.ts"),
  named("src/core/types.ts"),
  named("src/common/text.ts"),
  named("src/core/index.ts"),
  named("src/core/checkState.ts"),
  named("test/support/Cast.ts"),
  named("src/core/check-types.ts", false),
  named("src/core/state.properties.test.ts", false),
  named("vitest.config.ts", false),
  exporting("export default 1;"),
  exporting("const a = 1; export { a as default };"),
  exporting('export * from "./check.ts";'),
  exporting('export { a } from "./check.ts";'),
  exporting('export type { A } from "./check.ts";'),
  exporting("const a = 1; export { a };", false),
];

const worded = (rule: string, path: string, line: string, isCaught = true): Plant => ({
  rule,
  what: `${path}: ${line.length} characters`,
  files: { [path]: `${HEAD}${line}\n` },
  caught: isCaught ? [`${path}:2`] : [],
});

const WORDS: readonly Plant[] = [
  worded("notes", "src/core/planted.ts", joined("// TO", "DO: finish this")),
  worded("notes", "migrations/0003_more.sql", joined("-- FIX", "ME")),
  worded("notes", ".ci/planted", joined("# X", "XX")),
  worded("notes", "docs/planted.md", joined("TO", "DO: write this chapter")),
  worded("notes", "docs/planted.md", joined("There is no TO", "DO in the main branch."), false),
  worded("paths", "docs/planted.md", joined("see /wo", "rk/main/notes.md")),
  worded("paths", "src/core/planted.ts", joined('export const a = "/ro', 'ot/.npm";')),
  worded("paths", "src/core/planted.ts", joined('export const a = "/ho', 'me/alice/x";')),
  worded(
    "paths",
    "docs/planted.md",
    joined("https://example.org/ho", "me/ and team/wo", "rk/plan.md"),
    false,
  ),
  worded("registries", ".ci/planted", joined("npm ci --registry https://registry.npm", "js.org/")),
  worded("registries", "docs/planted.md", joined("from deb.deb", "ian.org")),
];

const FOREIGN = { integrity: undefined, dev: true, optional: true, os: ["darwin"], cpu: ["arm64"] };

const PACKAGES: readonly Plant[] = [
  ...["^8.0.0", "~8.0.0", "8", "latest", "*", "github:a/b"].map((version) => ({
    rule: "versions",
    what: version,
    files: { "package.json": JSON.stringify({ devDependencies: { pg: version } }) },
    caught: ["package.json:1"],
  })),
  {
    rule: "lock",
    what: "a download address",
    files: { "package-lock.json": lockWith("node_modules/a", { resolved: "https://example.org/a.tgz" }) },
    caught: [PLANTED_PACKAGE],
  },
  {
    rule: "lock",
    what: "a package that cannot be verified",
    files: { "package-lock.json": lockWith("node_modules/a", { integrity: undefined }) },
    caught: [PLANTED_PACKAGE],
  },
  {
    rule: "lock",
    what: "a binary for another platform that is not in the lock file",
    files: {
      "package-lock.json": lockWith("node_modules/a", {
        optionalDependencies: { "a-darwin-arm64": "1.0.0" },
      }),
    },
    caught: [PLANTED_PACKAGE],
  },
  {
    rule: "lock",
    what: "a shipped binary for another platform without a digest",
    files: { "package-lock.json": lockWith("node_modules/a", { ...FOREIGN, dev: undefined }) },
    caught: [PLANTED_PACKAGE],
  },
  {
    rule: "lock",
    what: "a tool without a digest that is for CI's own platform",
    files: { "package-lock.json": lockWith("node_modules/a", { ...FOREIGN, os: ["linux"], cpu: ["x64"] }) },
    caught: [PLANTED_PACKAGE],
  },
  {
    rule: "lock",
    what: "a tool for another platform without a digest",
    files: { "package-lock.json": lockWith("node_modules/a", FOREIGN) },
    caught: [],
  },
  {
    rule: "scripts",
    what: "a shipped package with an install script",
    files: { "package-lock.json": lockWith("node_modules/a", { hasInstallScript: true }) },
    caught: [PLANTED_PACKAGE],
  },
  {
    rule: "scripts",
    what: "a test tool with an install script",
    files: { "package-lock.json": lockWith("node_modules/a", { hasInstallScript: true, dev: true }) },
    caught: [],
  },
  ...["GPL-3.0", "AGPL-3.0-only", "MIT AND GPL-2.0", "SEE LICENSE IN LICENSE", undefined].map((license) => ({
    rule: "licences",
    what: license ?? "no licence at all",
    files: { "package-lock.json": lockWith("node_modules/a", { license, dev: true }) },
    caught: [PLANTED_PACKAGE],
  })),
  {
    rule: "licences",
    what: "a licence for test tools only, in something shipped",
    files: { "package-lock.json": lockWith("node_modules/css", { license: "MPL-2.0" }) },
    caught: [PLANTED_PACKAGE],
  },
  {
    rule: "licences",
    what: "a choice of licences of which one is permissive",
    files: { "package-lock.json": lockWith("node_modules/a", { license: "(MPL-2.0 OR Apache-2.0)" }) },
    caught: [],
  },
];

export const PLANTS: readonly Plant[] = [
  ...IMPORTS,
  ...CYCLES,
  ...CORE,
  ...ENVIRONMENT,
  ...TABLES,
  ...MIGRATIONS,
  ...SHAPES,
  ...WORDS,
  ...PACKAGES,
];
