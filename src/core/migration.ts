// What a migration does to tables that already contain data, read from its SQL: which it locks, reads or rewrites.

/**
 * brief: locks the table for a moment. scan: no row can be written while the table is read. rewrite: the table cannot be
 * used while it is written anew. rows: each changed row stays locked until the migration ends.
 */
export type MigrationEffect = "brief" | "scan" | "rewrite" | "rows";

export type TableWork = { table: string; effect: MigrationEffect };

const CREATE_TABLE = /^create\s+(?:unlogged\s+)?table\s+(?:if\s+not\s+exists\s+)?(?:public\.)?"?(\w+)"?/;
const CREATE_INDEX = /^create\s+(?:unique\s+)?index\b[^(]*?\son\s+(?:only\s+)?(?:public\.)?"?(\w+)"?/;
const ALTER_TABLE = /^alter\s+table\s+(?:if\s+exists\s+)?(?:only\s+)?(?:public\.)?"?(\w+)"?/;
const CHANGED_ROWS = /^(?:update|delete\s+from)\s+(?:only\s+)?(?:public\.)?"?(\w+)"?/;
const DROPPED = /^(?:drop\s+table|truncate(?:\s+table)?)\s+(?:if\s+exists\s+)?(?:public\.)?"?(\w+)"?/;

/** New values for existing rows that differ from row to row, or another representation of the old ones. */
const REWRITES =
  /\b(?:set\s+data\s+type|alter\s+(?:column\s+)?"?\w+"?\s+type|generated\s+always\s+as\s+\(|generated\s+\w+(?:\s+default)?\s+as\s+identity|\w*serial\b|default\s+(?:gen_random_uuid|uuid\w*|random|clock_timestamp|timeofday|nextval)\b)/;
/** Every row has to be checked. */
const SCANS =
  /\b(?:set\s+not\s+null|add\s+(?:constraint\s+"?\w+"?\s+)?(?:check|foreign\s+key|unique|primary\s+key|exclude))\b/;
const UNCHECKED = /\bnot\s+valid\b|\busing\s+index\b/;

/**
 * The work on existing tables, in order, one entry for each table and effect. Tables that the same text creates are left
 * out, because they are empty. Bodies of functions are read as statements, which can only add entries.
 */
export function workOf(sql: string): TableWork[] {
  const created = new Set<string>();
  const found: TableWork[] = [];
  const statements = sql
    .replaceAll(/--[^\n]*/g, "")
    .toLowerCase()
    .split(";")
    .map((text) => text.trim());
  for (const text of statements) {
    const made = CREATE_TABLE.exec(text)?.[1];
    if (made !== undefined) created.add(made);
    const work = made === undefined ? workOfStatement(text) : null;
    if (work === null || created.has(work.table)) continue;
    if (!found.some(({ table, effect }) => table === work.table && effect === work.effect)) found.push(work);
  }
  return found;
}

function workOfStatement(text: string): TableWork | null {
  const indexed = CREATE_INDEX.exec(text)?.[1];
  if (indexed !== undefined) return { table: indexed, effect: "scan" };
  const altered = ALTER_TABLE.exec(text)?.[1];
  if (altered !== undefined) return { table: altered, effect: effectOfAlter(text) };
  const changed = CHANGED_ROWS.exec(text)?.[1];
  if (changed !== undefined) return { table: changed, effect: "rows" };
  const dropped = DROPPED.exec(text)?.[1];
  return dropped === undefined ? null : { table: dropped, effect: "brief" };
}

function effectOfAlter(text: string): MigrationEffect {
  if (REWRITES.test(text)) return "rewrite";
  return SCANS.test(text) && !UNCHECKED.test(text) ? "scan" : "brief";
}

/** A cautious figure for a small server; a warm cache or a fast disk is several times faster. */
const BYTES_PER_SECOND = { scan: 100 * 1024 ** 2, rewrite: 25 * 1024 ** 2, rows: 10 * 1024 ** 2 };

/** How long a table of this size is locked, roughly. */
export function lockedSeconds(effect: MigrationEffect, bytes: number): number {
  return effect === "brief" ? 0 : bytes / BYTES_PER_SECOND[effect];
}
