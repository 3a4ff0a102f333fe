// The list of tidy rules: what the repository promises about itself. CONTRIBUTING.md says the same in words.
import { checkEnvironment, checkExports, checkFileNames } from "./tidy-code.ts";
import { checkCorePurity } from "./tidy-core.ts";
import { checkCycles, checkImports } from "./tidy-imports.ts";
import { checkExactVersions, checkInstallScripts, checkLicences, checkLockFile } from "./tidy-packages.ts";
import { checkMigrations, checkTableNames } from "./tidy-sql.ts";
import { checkMachinePaths, checkNoNotes, checkRegistryHosts } from "./tidy-text.ts";
import type { Rule } from "./tidy-tree.ts";

export const RULES: readonly Rule[] = [
  { name: "imports", promise: "rooms import only what the table allows", check: checkImports },
  { name: "cycles", promise: "imports never run in a circle", check: checkCycles },
  { name: "core", promise: "core has no clock, no chance, no input or output", check: checkCorePurity },
  { name: "environment", promise: "the environment is read in src/config.ts only", check: checkEnvironment },
  { name: "tables", promise: "SQL stands in the store, and a table has one writer", check: checkTableNames },
  { name: "migrations", promise: "migrations have no gap and never change", check: checkMigrations },
  { name: "names", promise: "files are named for what is inside", check: checkFileNames },
  { name: "exports", promise: "exports have names and are not passed on", check: checkExports },
  { name: "notes", promise: "nothing is left for later", check: checkNoNotes },
  { name: "paths", promise: "no file names a path of one machine", check: checkMachinePaths },
  { name: "registries", promise: "no file names the address of a registry", check: checkRegistryHosts },
  { name: "versions", promise: "package.json names exact versions", check: checkExactVersions },
  { name: "lock", promise: "the lock file names no download address", check: checkLockFile },
  { name: "scripts", promise: "what is shipped has no install script", check: checkInstallScripts },
  { name: "licences", promise: "licences are permissive", check: checkLicences },
];
