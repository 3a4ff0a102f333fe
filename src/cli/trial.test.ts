// Error messages when a trial cannot start.
import { mkdtempSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { DataInUseError, NoProgramsError } from "./private-postgres.ts";
import { explainStart, refuseFullDisk } from "./trial.ts";

const coded = (code: string) => Object.assign(new Error(`${code}: it is so`), { code });
const explained = (error: unknown) => explainStart(error, "/srv/data")?.message ?? null;

describe("a start that failed", () => {
  test.each([
    [new DataInUseError("x"), "is already running with the data in /srv/data"],
    [new NoProgramsError("The trial database is not installed"), "OVERDUE_DATABASE_URL"],
    [coded("ENOENT"), "it requires glibc"],
    [coded("EACCES"), "Use a folder that you can write to"],
    [coded("EEXIST"), "Use a folder that you can write to"],
    [new Error("initdb: error: No space left on device"), "The disk that contains /srv/data is full"],
    [new Error("PostgreSQL failed to start:\nFATAL: data directory has wrong ownership"), "wrong ownership"],
  ])("%s", (error, expected) => {
    expect(explained(error)).toContain(expected);
  });

  test("other errors are left unchanged", () => {
    expect(explained("text")).toBeNull();
  });
});

test("a disk with free space is not the reason, also for a folder that does not exist yet", () => {
  const folder = mkdtempSync(join(tmpdir(), "overdue-disk-"));
  expect(() => refuseFullDisk(join(folder, "a/b"), { isFirst: true })).not.toThrow();
  rmdirSync(folder);
});
