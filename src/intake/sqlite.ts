// Requirements of local files: a SQLite version without known bugs, verified pragmas, and errors classified by what
// they mean for the file.
import type { DatabaseSync } from "node:sqlite";

/** Older versions can lose a commit when the write-ahead log starts over. */
const VERSION_MIN = "3.51.3";

/** SQLite, or the file system below it, does not meet the requirements of durability. */
export class UnfitError extends Error {
  override readonly name = "UnfitError";
}

export type PragmaValue = string | number;

/** Why this version of SQLite may not be used, or null. */
export function versionRefusal(version: string): string | null {
  const parts = (text: string) => text.split(".").map(Number);
  const [major = 0, minor = 0, patch = 0] = parts(version);
  const [majorMin = 0, minorMin = 0, patchMin = 0] = parts(VERSION_MIN);
  const difference = major - majorMin || minor - minorMin || patch - patchMin;
  return difference >= 0 ? null : `SQLite ${version} is too old; ${VERSION_MIN} or newer is required`;
}

/** The version in use; throws UnfitError when it is too old. */
export function requireVersion(db: DatabaseSync): string {
  const version = String(firstValue(db, "select sqlite_version()"));
  const refusal = versionRefusal(version);
  if (refusal !== null) throw new UnfitError(refusal);
  return version;
}

/**
 * Sets each pragma and verifies it; throws UnfitError if one was not applied. SQLite ignores unknown and unsupported
 * pragmas.
 */
export function setPragmas(db: DatabaseSync, wanted: Readonly<Record<string, PragmaValue>>): void {
  for (const [name, value] of Object.entries(wanted)) {
    db.exec(`pragma ${name} = ${value}`);
    const found = firstValue(db, `pragma ${name}`);
    if (found !== value) throw new UnfitError(`SQLite has ${name} = ${String(found)}, not ${value}`);
  }
}

/** The first column of the first row. */
export function firstValue(db: DatabaseSync, sql: string): unknown {
  const statement = db.prepare(sql);
  statement.setReturnArrays(true);
  const row: unknown = statement.get();
  return Array.isArray(row) ? row[0] : undefined;
}

/**
 * The kind of error: no space, the lock is held by another process, the content is damaged or not SQLite, or the disk
 * failed. Unknown errors count as the last, to be safe.
 */
export type SqliteFault = "full" | "locked" | "corrupt" | "io";

const FAULT_OF_CODE: Readonly<Record<number, SqliteFault>> = {
  5: "locked",
  6: "locked",
  11: "corrupt",
  13: "full",
  26: "corrupt",
};

/** Classifies an error of node:sqlite. */
export function faultOf(error: unknown): SqliteFault {
  if (!(error instanceof Error && "errcode" in error && typeof error.errcode === "number")) return "io";
  // The upper bits of an extended code only add detail.
  return FAULT_OF_CODE[error.errcode & 0xff] ?? "io";
}

/** The text of an error with SQLite's error code, for logs. */
export function describeFault(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "errcode" in error ? `${error.message} (SQLite ${String(error.errcode)})` : error.message;
}

/** Runs the steps in one transaction; if one throws, it is rolled back and the error is rethrown. */
export function inTransaction(db: DatabaseSync, steps: () => void): void {
  db.exec("begin immediate");
  try {
    steps();
    db.exec("commit");
  } catch (error) {
    // After an I/O error SQLite has already rolled back.
    if (db.isTransaction) db.exec("rollback");
    throw error;
  }
}
