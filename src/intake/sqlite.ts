// What every local file of an intake asks of SQLite: a version without known holes, settings that were read
// back, and errors sorted by what they mean for the file. Knows no table.
import type { DatabaseSync } from "node:sqlite";

/** Older versions can lose a commit when the write-ahead log starts over. */
const VERSION_MIN = "3.51.3";

/** SQLite, or the file system beneath it, does not do what a promise rests on. */
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
 * Sets each pragma and reads it back; throws UnfitError when one did not take. SQLite ignores what it does
 * not know or cannot do, so a setting that nobody read back is a hope.
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
 * What went wrong: no room, the lock is with somebody else, the content is damaged or not SQLite's, or the
 * disk did not do as told. What has no name of its own counts as the last, on the safe side.
 */
export type SqliteFault = "full" | "locked" | "corrupt" | "io";

const FAULT_OF_CODE: Readonly<Record<number, SqliteFault>> = {
  5: "locked",
  6: "locked",
  11: "corrupt",
  13: "full",
  26: "corrupt",
};

/** Sorts an error that node:sqlite threw. */
export function faultOf(error: unknown): SqliteFault {
  if (!(error instanceof Error && "errcode" in error && typeof error.errcode === "number")) return "io";
  // The upper bits of an extended code only say more about the same thing.
  return FAULT_OF_CODE[error.errcode & 0xff] ?? "io";
}

/** An error's text with SQLite's number, for logs. */
export function describeFault(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "errcode" in error ? `${error.message} (SQLite ${String(error.errcode)})` : error.message;
}

/** Runs the steps in one transaction; when one throws, nothing of it stays, and the error is passed on. */
export function inTransaction(db: DatabaseSync, steps: () => void): void {
  db.exec("begin immediate");
  try {
    steps();
    db.exec("commit");
  } catch (error) {
    // After an I/O error SQLite has already rolled back by itself.
    if (db.isTransaction) db.exec("rollback");
    throw error;
  }
}
