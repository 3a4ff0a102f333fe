// Tidy rules about the database: where a table's name may stand, who may write it, and that a migration,
// once recorded, is never changed. The tables are read off the migrations; no list has to be kept.
import { createHash } from "node:crypto";
import { stringsOf } from "./tidy-syntax.ts";
import type { Finding, SourceFile, Tree, Verdict } from "./tidy-tree.ts";

export const CHECKSUMS_PATH = "migrations/checksums.json";

const MIGRATION = /^migrations\/(\d{4})_[a-z0-9]+(_[a-z0-9]+)*\.sql$/;

type Mention = { table: string; file: SourceFile; line: number; writes: boolean };

/** Names of all tables that the migrations leave behind. */
function tablesOf(tree: Tree): Set<string> {
  const tables = new Set<string>();
  const steps =
    /\b(create|drop|alter)\s+table\s+(?:if\s+(?:not\s+)?exists\s+)?(\w+)(?:\s+rename\s+to\s+(\w+))?/gi;
  for (const { text } of migrationFiles(tree)) {
    for (const [, verb, name, renamed] of withoutComments(text).matchAll(steps)) {
      if (verb === undefined || name === undefined) continue;
      if (verb.toLowerCase() === "drop" || renamed !== undefined) tables.delete(name);
      if (verb.toLowerCase() === "create") tables.add(name);
      if (renamed !== undefined) tables.add(renamed);
    }
  }
  return tables;
}

/** SQL that names a table stands in src/store, and each table is written by one file or folder there. */
export function checkTableNames(tree: Tree): Verdict {
  const tables = tablesOf(tree);
  const files = [...tree.files.values()].filter(
    ({ path }) => /^src\/.*\.ts$/.test(path) && !path.endsWith(".test.ts"),
  );
  const mentions = files.flatMap((file) => mentionsIn(file, tables));
  const outside = mentions.filter(({ file }) => !file.path.startsWith("src/store/"));
  const findings: Finding[] = outside.map(({ file, line, table }) => ({
    path: file.path,
    line,
    text: `names the table ${table} in SQL; SQL stands in src/store`,
  }));
  return {
    looked: tables.size === 0 ? 0 : files.length,
    findings: [...findings, ...secondWriters(mentions)],
  };
}

function secondWriters(mentions: readonly Mention[]): Finding[] {
  const inStore = mentions.filter(({ writes, file }) => writes && file.path.startsWith("src/store/"));
  const findings: Finding[] = [];
  for (const [table, writes] of Map.groupBy(inStore, (mention) => mention.table)) {
    const byHome = Map.groupBy(writes, (mention) => homeOf(mention.file.path));
    const rank = (home: string) =>
      Number(isNamedAfter(home, table)) * 1_000 + (byHome.get(home)?.length ?? 0);
    const [home, ...others] = [...byHome.keys()].toSorted((a, b) => rank(b) - rank(a));
    for (const { file, line } of others.flatMap((other) => byHome.get(other)?.slice(0, 1) ?? [])) {
      const text = `writes the table ${table}, whose home is ${home}; a table has one writer`;
      findings.push({ path: file.path, line, text });
    }
  }
  return findings;
}

/** A file of the store, or a folder in it where one subject fills several files. */
function homeOf(path: string): string {
  return path.split("/").slice(0, 3).join("/");
}

function isNamedAfter(home: string, table: string): boolean {
  return home.replace(/\.ts$/, "") === `src/store/${table.replaceAll("_", "-")}`;
}

/** A string is taken for SQL only if it has the shape of a statement: prose may speak of checks and pings. */
const STATEMENT =
  /\bselect\b[^]+\bfrom\b|\binsert\s+into\b|\bupdate\s+(only\s+)?[\w."?]+(\s+(as\s+)?\w+)?\s+set\b|\bdelete\s+from\b|\bmerge\s+into\b|\btruncate\s+\w|\bcopy\s+[^;]+\b(stdin|stdout)\b|\b(alter|create|drop|lock)\s+table\b/i;

const POSITION =
  /(?:\b(from|join|into|update|table|truncate|copy|using)|,)\s+(?:only\s+)?(?:"?\w+"?\.)?"?(\w+)"?/gi;

const WRITE =
  /\b(?:insert\s+into|merge\s+into|delete\s+from|truncate(?:\s+table)?|update)\s+(?:only\s+)?(?:"?\w+"?\.)?"?(\w+)"?/gi;

function mentionsIn(file: SourceFile, tables: ReadonlySet<string>): Mention[] {
  return stringsOf(file).flatMap(({ text, line }) => {
    const sql = withoutComments(text);
    if (!STATEMENT.test(sql)) return [];
    const named = new Set([...sql.matchAll(POSITION)].map((match) => (match[2] ?? "").toLowerCase()));
    const written = new Set([...sql.matchAll(WRITE)].map((match) => (match[1] ?? "").toLowerCase()));
    const found = new Set([...named, ...written]);
    return [...found]
      .filter((table) => tables.has(table))
      .map((table) => ({ table, file, line, writes: written.has(table) }));
  });
}

function withoutComments(sql: string): string {
  return sql.replace(/--[^\n]*/g, "").replace(/\/\*[^]*?\*\//g, "");
}

function migrationFiles(tree: Tree): SourceFile[] {
  const files = [...tree.files.values()].filter(({ path }) => MIGRATION.test(path));
  return files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** What is recorded of a migration; the file's name without its folder, and the digest of its text. */
export function checksumsOf(tree: Tree): Record<string, string> {
  const entries = migrationFiles(tree).map(({ path, text }): [string, string] => [
    path.replace("migrations/", ""),
    // Line ends are left out, as when a database records what was applied.
    createHash("sha256").update(text.replaceAll("\r\n", "\n")).digest("hex"),
  ]);
  return Object.fromEntries(entries);
}

/** Numbers run without a gap, and what was recorded once is still the same. */
export function checkMigrations(tree: Tree): Verdict {
  const files = migrationFiles(tree);
  const findings: Finding[] = [];
  for (const path of tree.files.keys()) {
    const isKnown = MIGRATION.test(path) || ["migrations/schema.sql", CHECKSUMS_PATH].includes(path);
    if (path.startsWith("migrations/") && !isKnown) {
      findings.push({ path, line: 0, text: "is not named like a migration: 0001_what_it_does.sql" });
    }
  }
  for (const [index, { path }] of files.entries()) {
    const wanted = String(index + 1).padStart(4, "0");
    if (MIGRATION.exec(path)?.[1] === wanted) continue;
    findings.push({
      path,
      line: 0,
      text: `should have the number ${wanted}: numbers have no gap and no double`,
    });
    break;
  }
  return { looked: files.length, findings: [...findings, ...changedMigrations(tree)] };
}

function changedMigrations(tree: Tree): Finding[] {
  const recorded = JSON.parse(tree.files.get(CHECKSUMS_PATH)?.text ?? "{}") as Record<string, string>;
  const actual = checksumsOf(tree);
  const missing = Object.keys(actual).filter((name) => !(name in recorded));
  const gone = Object.keys(recorded).filter((name) => !(name in actual));
  const changed = Object.keys(actual).filter((name) => name in recorded && recorded[name] !== actual[name]);
  return [
    ...missing.map((name) => atMigration(name, `is not in ${CHECKSUMS_PATH}; npm run generate adds it`)),
    ...gone.map((name) => atMigration(name, `is recorded in ${CHECKSUMS_PATH}, but the file is gone`)),
    ...changed.map((name) =>
      atMigration(
        name,
        "was changed after it was recorded; write a new migration. " +
          `Only while no release has it: delete its line in ${CHECKSUMS_PATH}, then npm run generate`,
      ),
    ),
  ];
}

function atMigration(name: string, text: string): Finding {
  return { path: `migrations/${name}`, line: 1, text };
}
